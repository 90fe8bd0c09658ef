/* people.c: what people and their programs do to tasks. Mostly what makes sense for the state a task
 * is in; with `nonsense` also what must be refused. */
#include <inttypes.h>

#include "world.h"

struct habit {
    enum fact_kind fact;
    unsigned states;
    enum swarm_switch needs;
    bool alone; /* the books cannot follow it inside a burst */
};

#define IN(state) (1u << TASK_##state)
#define REST      (IN(WAITING) | IN(READY) | IN(HELD))
#define LIVE      (IN(STARTING) | IN(RUNNING))
#define FINAL     (IN(DONE) | IN(FAILED) | IN(CANCELED) | IN(INVALIDATED))
#define ANY       (~0u)

/* clang-format off */
static const struct habit habits[] = {
    { FACT_SLING, IN(DRAFT), HAS_DRAFTS, false },
    { FACT_SLING, IN(DRAFT), PEOPLE_HOLD, false },
    { FACT_HOLD, REST, PEOPLE_HOLD, false },
    { FACT_RELEASE, IN(HELD), PEOPLE_HOLD, false },
    { FACT_RELEASE, IN(HELD), PEOPLE_HOLD, false },
    { FACT_SPENT, REST, RUNS_SPEND_BUDGETS, false },
    { FACT_CLEAR, REST, PEOPLE_HOLD, false },
    { FACT_CANCEL, REST | LIVE, PEOPLE_HOLD, false },
    { FACT_RETRY, IN(FAILED) | IN(CANCELED), PEOPLE_JUDGE, false },
    { FACT_AGAIN, IN(DONE), PEOPLE_JUDGE, false },
    { FACT_APPROVE, IN(HELD), PEOPLE_JUDGE, false },
    { FACT_APPROVE, IN(HELD), PEOPLE_JUDGE, false },
    { FACT_REJECT, IN(HELD), PEOPLE_JUDGE, false },
    { FACT_MARKED, REST, PEOPLE_JUDGE, false },
    { FACT_ARTIFACT, ANY, HAS_ARTIFACTS, true },
    { FACT_ARTIFACT, REST, HAS_ARTIFACTS, true },
    { FACT_PROBE, ANY, HAS_PROBES, true },
    { FACT_PROBE, REST, HAS_PROBES, true },
    { FACT_UNANSWERED, IN(HELD), RUNS_ASK, false },
    { FACT_CANDIDATES, REST, PEOPLE_JUDGE, false },
    { FACT_CANDIDATES, REST, PEOPLE_JUDGE, false },
    { FACT_TAKE, REST | LIVE | IN(DONE) | IN(FAILED) | IN(CANCELED), PEOPLE_TAKE_OVER, true },
    { FACT_TAKE, REST | LIVE, PEOPLE_TAKE_OVER, true },
    { FACT_RELEASE, IN(HELD), PEOPLE_TAKE_OVER, false },
    { FACT_APPROVE, IN(HELD), PEOPLE_TAKE_OVER, false },
    { FACT_PRIORITY, REST | LIVE, PEOPLE_REORDER, false },
    { FACT_DEPENDENCIES, IN(DRAFT) | REST, PEOPLE_REORDER, true },
    { FACT_DELETE, IN(DRAFT) | REST | FINAL, PEOPLE_DELETE, true },
    { FACT_FORGET, FINAL, PEOPLE_DELETE, true },
    { FACT_FORGET, FINAL, PEOPLE_DELETE, true },
};
/* clang-format on */

static task_id draw_task(struct world *w) {
    uint64_t near = w->next_task < 60 ? w->next_task : 60;
    return w->next_task - rng_below(&w->rng, near);
}

static const struct habit *draw_habit(struct world *w, const struct row *row, bool nonsense) {
    for (unsigned tries = 0; tries < 12; tries++) {
        const struct habit *habit = &habits[rng_below(&w->rng, ARRAY_SIZE(habits))];
        bool fits = nonsense || ((habit->states >> (row ? row->state : 0)) & 1u);
        if (swarm_has(&w->swarm, habit->needs) && fits && (!habit->alone || w->books.synced))
            return habit;
    }
    return NULL;
}

/* Also a circle, which must be refused. */
static void rewire(struct world *w, const struct row *row, bool nonsense) {
    task_id items[DEPENDENCIES];
    size_t count = 0, wanted = rng_below(&w->rng, DEPENDENCIES);
    for (size_t i = 0; i < wanted; i++) {
        task_id on = draw_task(w);
        bool skip = !books_task(&w->books, on) || on == row->id;
        for (size_t k = 0; k < count; k++)
            skip |= items[k] == on;
        bool circle = !skip && books_waits_for(&w->books, on, row->id, false);
        if (!skip && (!circle || nonsense))
            items[count++] = on;
    }
    (void)world_apply_fact(w, &(struct fact){ .kind = FACT_DEPENDENCIES,
                                              .task = row->id,
                                              .dependencies = { .items = items, .count = count } });
}

static void act(struct world *w, const struct habit *habit, task_id task, bool nonsense) {
    const struct row *row = books_task(&w->books, task);
    struct fact fact = { .kind = habit->fact, .task = task };
    if (habit->fact == FACT_DEPENDENCIES && row) {
        rewire(w, row, nonsense);
        return;
    }
    if (habit->fact == FACT_HOLD && world_chance(w, 60))
        fact.until = w->now + world_span(w, 1, MINUTES(10));
    else if (habit->fact == FACT_RETRY || habit->fact == FACT_AGAIN || habit->fact == FACT_CLEAR)
        fact.own_agent = world_chance(w, 20);
    else if (habit->fact == FACT_PRIORITY)
        fact.priority = (int32_t)rng_between(&w->rng, 97, 103);
    else if (habit->fact == FACT_ARTIFACT)
        fact.artifact_present = world_chance(w, 70);
    else if (habit->fact == FACT_PROBE)
        fact.probe_open = world_chance(w, 75);
    else if (habit->fact == FACT_CANDIDATES)
        fact.candidates = (enum candidates)rng_below(&w->rng, CANDIDATES_MAX);
    (void)world_apply_fact(w, &fact);
    if (habit->fact == FACT_CANCEL && swarm_has(&w->swarm, FACTS_COME_TWICE) && world_chance(w, 30))
        (void)world_apply_fact(w, &fact);
}

void people_act(struct world *w) {
    bool nonsense = swarm_has(&w->swarm, FACTS_ARE_NONSENSE) && world_chance(w, 15);
    for (unsigned tries = 0; tries < 6; tries++) {
        task_id task = draw_task(w);
        const struct row *row = books_task(&w->books, task);
        const struct habit *habit = row || nonsense ? draw_habit(w, row, nonsense) : NULL;
        if (!habit)
            continue;
        act(w, habit, task, nonsense);
        return;
    }
}

/* --- the second phase ------------------------------------------------------------------------ */

void people_give_verdicts(struct world *w) {
    for (unsigned l = 1; l <= w->limiters; l++) { /* a run of the first phase may close one */
        if (w->books.limiter[l].closed)
            (void)world_apply_fact(w, &(struct fact){ .kind = FACT_LIMITER_CLEAR,
                                                      .limiter_clear = sym_of(SYM_LIMITER, l) });
    }
    for (task_id id = 1; id < w->books.count; id++) {
        const struct row *row = books_task(&w->books, id);
        if (!row)
            continue;
        struct fact fact = { .task = id };
        bool verdict = row->hold == HOLD_REVIEW || row->hold == HOLD_EXTERNAL;
        if (row->state == TASK_DRAFT)
            fact.kind = FACT_SLING;
        else if (row->state == TASK_HELD && verdict)
            fact.kind = FACT_APPROVE;
        else if (row->state == TASK_HELD && row->not_before == 0)
            fact.kind = FACT_RELEASE;
        else
            continue;
        (void)world_apply_fact(w, &fact);
    }
}
