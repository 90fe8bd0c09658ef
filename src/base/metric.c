/* metric.c: see metric.h. */
#include "base/metric.h"

#include <inttypes.h>

void metric_head(struct strbuf *out, const char *name, const char *type, const char *help) {
    strbuf_printf(out, "# HELP sluice_%s %s\n# TYPE sluice_%s %s\n", name, help, name, type);
}

void metric_gauge(struct strbuf *out, const char *name, int64_t value, const char *help) {
    metric_head(out, name, "gauge", help);
    strbuf_printf(out, "sluice_%s %" PRId64 "\n", name, value);
}

void metric_counter(struct strbuf *out, const char *name, uint64_t value, const char *help) {
    metric_head(out, name, "counter", help);
    strbuf_printf(out, "sluice_%s %" PRIu64 "\n", name, value);
}

void metric_seconds(struct strbuf *out, const char *name, int64_t us, const char *help) {
    metric_head(out, name, "gauge", help);
    strbuf_printf(out, "sluice_%s %.6f\n", name, (double)us / 1e6);
}

/* name{label="value"} */
void metric_labeled(struct strbuf *out, const char *name, const char *label, const char *value,
                    int64_t number) {
    strbuf_printf(out, "sluice_%s{%s=\"", name, label);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_putc(out, '\\');
        if (*value == '\n')
            strbuf_puts(out, "\\n");
        else
            strbuf_putc(out, *value);
    }
    strbuf_printf(out, "\"} %" PRId64 "\n", number);
}
