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

/* In quotes, escaped. */
static void put_value(struct strbuf *out, const char *value) {
    strbuf_putc(out, '"');
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_putc(out, '\\');
        if (*value == '\n')
            strbuf_puts(out, "\\n");
        else
            strbuf_putc(out, *value);
    }
    strbuf_putc(out, '"');
}

/* name{label="value",other="value"} */
static void put_name(struct strbuf *out, const char *name, const struct metric_label *labels,
                     size_t count) {
    strbuf_printf(out, "sluice_%s", name);
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(out, "%s%s=", i ? "," : "{", labels[i].name);
        put_value(out, labels[i].value);
    }
    strbuf_puts(out, count > 0 ? "} " : " ");
}

void metric_series(struct strbuf *out, const char *name, const struct metric_label *labels,
                   size_t count, int64_t number) {
    put_name(out, name, labels, count);
    strbuf_printf(out, "%" PRId64 "\n", number);
}

void metric_series_micro(struct strbuf *out, const char *name, const struct metric_label *labels,
                         size_t count, int64_t micro) {
    put_name(out, name, labels, count);
    strbuf_printf(out, "%.6f\n", (double)micro / 1e6);
}

void metric_labeled(struct strbuf *out, const char *name, const char *label, const char *value,
                    int64_t number) {
    struct metric_label one = { label, value };
    metric_series(out, name, &one, 1, number);
}

void metric_histogram(struct strbuf *out, const char *name, const char *help,
                      const struct metric_histogram *h) {
    metric_head(out, name, "histogram", help);
    for (size_t i = 0; i < h->bounds; i++)
        strbuf_printf(out, "sluice_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                      (double)h->bounds_us[i] / 1e6, h->up_to[i]);
    strbuf_printf(out, "sluice_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, h->count);
    strbuf_printf(out, "sluice_%s_sum %.6f\nsluice_%s_count %" PRIu64 "\n", name,
                  (double)h->sum_us / 1e6, name, h->count);
}

const int64_t latency_bounds[LATENCY_BOUNDS] = { 100,   500,    1000,   5000,    10000,
                                                 50000, 100000, 500000, 1000000, 5000000 };

void latency_add(struct latency *latency, int64_t us) {
    latency->count++;
    latency->sum_us += us;
    for (size_t i = 0; i < LATENCY_BOUNDS; i++)
        latency->up_to[i] += us <= latency_bounds[i];
}
