/* bottleneck.c: see bottleneck.h. */
#include "sim/bottleneck.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define SAMPLES_EACH  256u  /* before the stride is doubled */
#define EXPLAINED_MAX 1000u /* tasks, in one sample */

/* These open when time passes or runs end. The others wait for a person, a file or another task. */
static bool has_capacity(const struct verdict *v) {
    static const bool capacity[GATE_MAX] = {
        [GATE_HOURS] = true,  [GATE_LIMITER] = true,        [GATE_HOST] = true,
        [GATE_BUDGET] = true, [GATE_PROJECT_BUDGET] = true, [GATE_LEASE] = true,
        [GATE_PACE] = true,
    };
    return capacity[v->gate] && (v->gate != GATE_LEASE || v->lease != LEASE_TASK);
}

struct sampling {
    struct gate_waits *waits;
    struct core *core;
};

static struct gate_wait *wait_of(struct gate_waits *waits, const char *code) {
    for (size_t i = 0; i < waits->count; i++)
        if (strcmp(waits->gates[i].code, code) == 0)
            return &waits->gates[i];
    if (waits->count == BOTTLENECK_GATES)
        return NULL;
    struct gate_wait *wait = &waits->gates[waits->count++];
    *wait = (struct gate_wait){ .code = xstrdup(code) };
    return wait;
}

static void count_more(void *ctx, const struct verdict *first, int64_t more) {
    const struct sampling *s = ctx;
    if (!has_capacity(first))
        return;
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    verdict_code(first, core_symbols(s->core), &code);
    struct gate_wait *wait = wait_of(s->waits, strbuf_text(&code));
    if (!wait)
        return;
    wait->gate = *first;
    wait->tasks += more;
}

/* What the last sample counted held until `now`. Nothing counts after the last end of a run. */
static void add_span(struct gate_waits *waits, time_ms now) {
    for (size_t i = 0; i < waits->count; i++) {
        struct gate_wait *wait = &waits->gates[i];
        if (wait->tasks > 0)
            wait->pending += now - waits->sampled_at;
        if (waits->run_ended) {
            wait->span += wait->pending;
            wait->pending = 0;
        }
    }
    waits->run_ended = false;
    waits->sampled_at = now;
}

static bool is_due(struct gate_waits *waits, time_ms now) {
    if (waits->stride == 0) {
        waits->stride = 1;
        waits->sampled_at = now;
    } else if (now == waits->sampled_at || ++waits->skipped < waits->stride) {
        return false;
    }
    waits->skipped = 0;
    if (++waits->samples == SAMPLES_EACH) {
        waits->samples = 0;
        waits->stride *= 2;
    }
    return true;
}

static void count(struct gate_waits *waits, struct core *core) {
    struct sampling sampling = { waits, core };
    for (size_t i = 0; i < waits->count; i++)
        waits->gates[i].tasks = 0;
    (void)core_waiting_by_gate(core, EXPLAINED_MAX, count_more, &sampling);
    for (size_t i = 0; i < waits->count; i++)
        if (waits->gates[i].tasks > waits->gates[i].peak)
            waits->gates[i].peak = waits->gates[i].tasks;
}

void bottleneck_sample(struct gate_waits *waits, struct core *core, time_ms now) {
    if (!is_due(waits, now))
        return;
    add_span(waits, now);
    count(waits, core);
}

bool bottleneck_is_waiting(const struct gate_waits *waits) {
    for (size_t i = 0; i < waits->count; i++)
        if (waits->gates[i].tasks > 0)
            return true;
    return false;
}

static bool is_worse(const struct gate_wait *a, const struct gate_wait *b) {
    return a->span != b->span ? a->span > b->span : a->peak > b->peak;
}

struct forecast_bottleneck bottleneck_end(struct gate_waits *waits, struct core *core,
                                          time_ms now) {
    struct gate_wait *worst = NULL;
    add_span(waits, now);
    for (size_t i = 0; i < waits->count; i++)
        if (waits->gates[i].span > 0 && (!worst || is_worse(&waits->gates[i], worst)))
            worst = &waits->gates[i];
    struct forecast_bottleneck ret = { 0 };
    if (worst) {
        ret.code = TAKE_PTR(worst->code);
        ret.name = xstrdup(symbol_name(core_symbols(core), worst->gate.key));
        ret.gate = worst->gate;
        ret.span = worst->span;
        ret.tasks = worst->peak;
    }
    for (size_t i = 0; i < waits->count; i++)
        free(waits->gates[i].code);
    *waits = (struct gate_waits){ 0 };
    return ret;
}
