/* stage.c: see stage.h. */
#include "stage.h"

#define BEGINNING INT64_C(1700000000000)

void stage_init(struct stage *s, uint64_t seed, struct breach *breach) {
    *s = (struct stage){ .core = core_new(),
                         .rng = { .state = hash_u64(seed) },
                         .breach = breach,
                         .now = BEGINNING,
                         .next_task = 1 };
    names_intern(core_symbols(s->core));
    stage_apply(s, (struct fact){ .kind = FACT_CLOCK, .now = s->now });
}

void stage_finish(struct stage *s) {
    core_free(s->core);
    agenda_finish(&s->agenda);
}

void stage_apply(struct stage *s, struct fact fact) {
    s->steps++;
    if (core_apply(s->core, &fact, NULL) != 0)
        breach_set(s->breach, "I1", "%s was refused on the stage", fact_kind_name(fact.kind));
}

void stage_add(struct stage *s, struct task_spec spec) {
    spec.id = s->next_task++;
    spec.iteration = 1;
    spec.created_at = spec.ready_since = s->now;
    spec.state = TASK_WAITING;
    spec.retry_max = -1;
    stage_apply(s, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

void stage_decide(struct stage *s) {
    size_t count;
    const struct order *orders = core_decide(s->core, &count);
    s->steps += count;
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind != ORDER_START)
            continue;
        agenda_add(&s->agenda,
                   (struct event){ .at = s->now + rng_between(&s->rng, s->shortest, s->longest),
                                   .what = HAPPENS_RUN_ENDED,
                                   .task = orders[i].task,
                                   .attempt = orders[i].attempt,
                                   .tokens = rng_between(&s->rng, s->least, s->most) });
        s->started(s->ctx, &orders[i]);
    }
}

bool stage_next(struct stage *s) {
    if (s->agenda.count == 0 || s->breach->found)
        return false;
    struct event e = agenda_take(&s->agenda);
    s->now = e.at;
    stage_apply(s, (struct fact){ .kind = FACT_CLOCK, .now = s->now });
    stage_apply(
        s, (struct fact){ .kind = FACT_RUN_ENDED,
                          .task = e.task,
                          .attempt = e.attempt,
                          .ended = { .outcome = OUTCOME_OK, .tokens = e.tokens, .output = true } });
    return !s->breach->found;
}
