/* metric.h: metrics in the text format of Prometheus (version 0.0.4).
 *
 * Names get the prefix "sluice_"; counters end in _total, units are seconds and bytes. No label is
 * the id of a task or a run: the number of series grows with the configuration, never with the
 * work. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* One series with its head. */
void metric_gauge(struct strbuf *out, const char *name, int64_t value, const char *help);
void metric_counter(struct strbuf *out, const char *name, uint64_t value, const char *help);
void metric_seconds(struct strbuf *out, const char *name, int64_t us, const char *help);

/* Several: the head once, then each; `type`: "gauge", "counter" or "histogram". */
void metric_head(struct strbuf *out, const char *name, const char *type, const char *help);
void metric_labeled(struct strbuf *out, const char *name, const char *label, const char *value,
                    int64_t number);
/* Same with several labels, and in millionths: 1500000 is 1.5. */
struct metric_label {
    const char *name, *value;
};
void metric_series(struct strbuf *out, const char *name, const struct metric_label *labels,
                   size_t count, int64_t number);
void metric_series_micro(struct strbuf *out, const char *name, const struct metric_label *labels,
                         size_t count, int64_t micro);

/* A histogram of seconds, with its head. */
struct metric_histogram {
    const int64_t *bounds_us; /* ascending */
    const uint64_t *up_to;    /* cumulative count per bound */
    size_t bounds;
    uint64_t count;
    int64_t sum_us;
};
void metric_histogram(struct strbuf *out, const char *name, const char *help,
                      const struct metric_histogram *histogram);

/* Durations from a tenth of a millisecond to seconds, counted in buckets; engine/spans.h is for
 * longer ones. */
#define LATENCY_BOUNDS 10u
extern const int64_t latency_bounds[LATENCY_BOUNDS]; /* microseconds */

struct latency {
    uint64_t count, up_to[LATENCY_BOUNDS]; /* up_to: cumulative */
    int64_t sum_us;
};
void latency_add(struct latency *latency, int64_t us);
