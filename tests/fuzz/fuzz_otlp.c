/* fuzz_otlp.c: arbitrary bytes as telemetry of an agent. The first byte selects the signal.
 *
 * Beyond not crashing: an error has a message and counts nothing; a count is not negative, or -1 for unknown;
 * counts never decrease, neither after the same body again nor in a meter with earlier counts. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "otel/otlp_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_valid(const struct otlp_usage *usage) {
    assert(usage->in >= -1 && usage->out >= -1 && usage->cached >= -1
           && usage->cost_micro_usd >= -1);
    assert(usage->cached <= usage->in);
}

static void expect_grown(const struct otlp_usage *before, const struct otlp_usage *after) {
    assert(after->in >= before->in && after->out >= before->out && after->cached >= before->cached
           && after->cost_micro_usd >= before->cost_micro_usd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct otlp_usage known = { .in = 7, .out = 5, .cached = 3, .cost_micro_usd = 1 };
    if (size < 1)
        return 0;
    enum otlp_signal signal = data[0] % 2 == 'm' % 2 ? OTLP_METRICS : OTLP_LOGS;
    const char *body = (const char *)data + 1;
    struct otlp_meter *fresh = otlp_meter_new(NULL), *old = otlp_meter_new(&known);
    struct otlp_usage first, second;
    struct error err = { 0 };
    int r = otlp_meter_read(fresh, signal, body, size - 1, &err);
    assert((r < 0) == (err.text[0] != '\0') && err.code == r);
    otlp_meter_usage(fresh, &first);
    expect_valid(&first);
    if (r < 0)
        assert(first.in == -1 && first.out == -1 && first.cost_micro_usd == -1);
    assert(otlp_meter_read(fresh, signal, body, size - 1, NULL) == r);
    otlp_meter_usage(fresh, &second);
    expect_valid(&second);
    expect_grown(&first, &second);
    assert(otlp_meter_read(old, signal, body, size - 1, NULL) == r);
    otlp_meter_usage(old, &second);
    expect_valid(&second);
    expect_grown(&known, &second);
    otlp_meter_free(fresh);
    otlp_meter_free(old);
    return 0;
}
