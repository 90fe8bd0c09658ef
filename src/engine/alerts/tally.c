/* tally.c: see tally.h. Ends of a turn that failed are applied again, so count after the commit. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/alerts/alerts_internal.h"
#include "engine/engine.h"

struct noted {
    struct engine_tally sums; /* owns its names */
    enum outcome outcome;
};

struct tally {
    LIST(struct engine_tally) pairs; /* own their names */
    LIST(struct noted) noted;
    uint64_t outcomes[OUTCOME_MAX];
    struct latency turns;
};

PART_STATE(tally, struct tally, tally_of)

static void names_free(struct engine_tally *pair) {
    free((char *)(uintptr_t)pair->project);
    free((char *)(uintptr_t)pair->agent);
}

/* The commit failed. */
static void tally_drop(struct engine *e) {
    struct tally *t = tally_of(e);
    for (size_t i = 0; i < t->noted.count; i++)
        names_free(&t->noted.items[i].sums);
    t->noted.count = 0;
}

static void tally_free(struct engine *e) {
    struct tally *t = tally_of(e);
    tally_drop(e);
    for (size_t i = 0; i < t->pairs.count; i++)
        names_free(&t->pairs.items[i]);
    free(t->pairs.items);
    free(t->noted.items);
}

static void tally_run_ended(struct engine *e, const struct spent_row *spent, enum outcome outcome) {
    *LIST_ADD(&tally_of(e)->noted) = (struct noted){
        .sums = { .project = xstrdup(spent->project ? spent->project : ""),
                  .agent = xstrdup(spent->agent ? spent->agent : ""),
                  .runs = (uint64_t)spent->runs,
                  .unknown_tokens = (uint64_t)spent->unknown_tokens,
                  .unknown_cost = (uint64_t)spent->unknown_cost,
                  .tokens_in = spent->tokens_in,
                  .tokens_out = spent->tokens_out,
                  .tokens_cached = spent->tokens_cached,
                  .cost_micro_usd = spent->cost_micro_usd },
        .outcome = outcome,
    };
}

static struct engine_tally *pair_of(struct tally *t, const char *project, const char *agent) {
    for (size_t i = 0; i < t->pairs.count; i++)
        if (strcmp(t->pairs.items[i].project, project) == 0
            && strcmp(t->pairs.items[i].agent, agent) == 0)
            return &t->pairs.items[i];
    if (t->pairs.count >= TALLY_MAX - 1 && strcmp(project, "other") != 0)
        return pair_of(t, "other", "other");
    struct engine_tally *pair = LIST_ADD(&t->pairs);
    *pair = (struct engine_tally){ .project = xstrdup(project), .agent = xstrdup(agent) };
    return pair;
}

/* The commit is on disk. */
static void tally_settle(struct engine *e) {
    struct tally *t = tally_of(e);
    for (size_t i = 0; i < t->noted.count; i++) {
        const struct engine_tally *more = &t->noted.items[i].sums;
        struct engine_tally *pair = pair_of(t, more->project, more->agent);
        pair->runs += more->runs;
        pair->unknown_tokens += more->unknown_tokens;
        pair->unknown_cost += more->unknown_cost;
        pair->tokens_in += more->tokens_in;
        pair->tokens_out += more->tokens_out;
        pair->tokens_cached += more->tokens_cached;
        pair->cost_micro_usd += more->cost_micro_usd;
        t->outcomes[t->noted.items[i].outcome]++;
    }
    tally_drop(e);
}

static void tally_turn(struct engine *e) {
    latency_add(&tally_of(e)->turns, e->stats.last_turn_us);
}

size_t engine_tally_count(const struct engine *e) {
    return tally_of(e)->pairs.count;
}

const struct engine_tally *engine_tally_at(const struct engine *e, size_t index) {
    return &tally_of(e)->pairs.items[index];
}

uint64_t engine_ended_as(const struct engine *e, enum outcome outcome) {
    return tally_of(e)->outcomes[outcome];
}

const struct latency *engine_turn_latency(const struct engine *e) {
    return &tally_of(e)->turns;
}

const struct engine_part tally_part = {
    .state_size = sizeof(struct tally),
    .at = { [STEP_STORED] = tally_settle,
            [STEP_UNDONE] = tally_drop,
            [STEP_TURN_END] = tally_turn,
            [STEP_FREE] = tally_free },
    .run_ended = tally_run_ended,
};

/* --- spans ------------------------------------------------------------------------------------ */

/* The bounds are those of Prometheus histograms: from a turn to a day. */

const time_ms engine_bounds[ENGINE_BOUNDS] = { 10,         100,        SECONDS(1),  SECONDS(10),
                                               MINUTES(1), MINUTES(5), MINUTES(15), HOURS(1),
                                               HOURS(4),   DAYS(1) };

void spans_add(struct engine_spans *spans, time_ms span) {
    span = time_max(span, 0);
    spans->count++;
    spans->sum_ms += span;
    for (size_t i = 0; i < ENGINE_BOUNDS; i++)
        spans->up_to[i] += span <= engine_bounds[i];
}

void spans_add_all(struct engine_spans *spans, const struct engine_spans *more) {
    spans->count += more->count;
    spans->sum_ms += more->sum_ms;
    for (size_t i = 0; i < ENGINE_BOUNDS; i++)
        spans->up_to[i] += more->up_to[i];
}
