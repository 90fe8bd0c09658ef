/* tally.c: see tally.h. Ends of a turn that failed are applied again, so count after the commit. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/alerts/alerts_internal.h"
#include "engine/engine.h"

/* Its end is not committed yet. */
struct ended_run {
    struct spent_row spent; /* owns its names */
    enum outcome outcome;
};

struct tally {
    LIST(struct spent_row) pairs; /* own their names */
    LIST(struct ended_run) ended;
    uint64_t outcomes[OUTCOME_MAX];
    struct latency turns;
};

PART_STATE(tally, struct tally, tally_of)

static void names_free(struct spent_row *pair) {
    free((char *)(uintptr_t)pair->project);
    free((char *)(uintptr_t)pair->agent);
}

/* The commit failed. */
static void tally_drop(struct engine *e) {
    struct tally *t = tally_of(e);
    for (size_t i = 0; i < t->ended.count; i++)
        names_free(&t->ended.items[i].spent);
    t->ended.count = 0;
}

static void tally_free(struct engine *e) {
    struct tally *t = tally_of(e);
    tally_drop(e);
    for (size_t i = 0; i < t->pairs.count; i++)
        names_free(&t->pairs.items[i]);
    free(t->pairs.items);
    free(t->ended.items);
}

static void tally_run_ended(struct engine *e, const struct spent_row *spent, enum outcome outcome) {
    struct ended_run *ended = LIST_ADD(&tally_of(e)->ended);
    *ended = (struct ended_run){ .spent = *spent, .outcome = outcome };
    ended->spent.project = xstrdup(spent->project ? spent->project : "");
    ended->spent.agent = xstrdup(spent->agent ? spent->agent : "");
}

static struct spent_row *pair_of(struct tally *t, const char *project, const char *agent) {
    for (size_t i = 0; i < t->pairs.count; i++)
        if (strcmp(t->pairs.items[i].project, project) == 0
            && strcmp(t->pairs.items[i].agent, agent) == 0)
            return &t->pairs.items[i];
    if (t->pairs.count >= TALLY_MAX - 1 && strcmp(project, "other") != 0)
        return pair_of(t, "other", "other");
    struct spent_row *pair = LIST_ADD(&t->pairs);
    *pair = (struct spent_row){ .project = xstrdup(project), .agent = xstrdup(agent) };
    return pair;
}

/* The commit is on disk. */
static void tally_settle(struct engine *e) {
    struct tally *t = tally_of(e);
    for (size_t i = 0; i < t->ended.count; i++) {
        const struct spent_row *more = &t->ended.items[i].spent;
        struct spent_row *pair = pair_of(t, more->project, more->agent);
        SUMS_ADD(SPENT_COLUMNS, pair, more)
        t->outcomes[t->ended.items[i].outcome]++;
    }
    tally_drop(e);
}

static void tally_turn(struct engine *e) {
    latency_add(&tally_of(e)->turns, e->stats.last_turn_us);
}

size_t engine_tally_count(const struct engine *e) {
    return tally_of(e)->pairs.count;
}

const struct spent_row *engine_tally_at(const struct engine *e, size_t index) {
    return &tally_of(e)->pairs.items[index];
}

uint64_t engine_outcome_count(const struct engine *e, enum outcome outcome) {
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
