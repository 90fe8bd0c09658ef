/* metric.h: numbers in the text format of Prometheus (version 0.0.4).
 *
 * Names get the prefix "sluice_"; counters end in _total, units are seconds and bytes, and no label is
 * the id of a task or a run: the number of series grows with the configuration, never with the work. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

/* One series with its head. */
void metric_gauge(struct strbuf *out, const char *name, int64_t value, const char *help);
void metric_counter(struct strbuf *out, const char *name, uint64_t value, const char *help);
void metric_seconds(struct strbuf *out, const char *name, int64_t us, const char *help);

/* Several: the head once, then each; `type`: "gauge" or "counter". */
void metric_head(struct strbuf *out, const char *name, const char *type, const char *help);
void metric_labeled(struct strbuf *out, const char *name, const char *label, const char *value,
                    int64_t number);
