/* model.c: the lists of the model, and which file answers which fact. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_internal.h"

struct model *model_new(void) {
    struct model *m = xcalloc(1, sizeof(*m));
    policy_default(&m->policy);
    m->budget = UNLIMITED;
    m->disk_free_mb = m->memory_free_mb = m->load_milli = -1;
    return m;
}

void model_free(struct model *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->tasks_count; i++) {
        free(m->tasks[i].dependencies);
        free(m->tasks[i].resources);
    }
    free(m->tasks);
    free(m->projects);
    free(m->kinds);
    free(m->agents);
    free(m->breakers);
    free(m->limiters);
    free(m->resources);
    free(m->workspaces);
    free(m->clocks);
    free(m->events);
    free(m->starts);
    free(m->orders);
    free(m);
}

struct model_task *model_find(const struct model *m, task_id id) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.id == id)
            return &m->tasks[i];
    return NULL;
}

struct model_project *model_project(const struct model *m, sym id) {
    for (size_t i = 0; i < m->projects_count; i++)
        if (m->projects[i].spec.id == id)
            return &m->projects[i];
    return NULL;
}

const struct kind_spec *model_kind(const struct model *m, sym id) {
    for (size_t i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].id == id)
            return &m->kinds[i];
    return NULL;
}

const struct agent_spec *model_agent(const struct model *m, sym id) {
    for (size_t i = 0; i < m->agents_count; i++)
        if (m->agents[i].id == id)
            return &m->agents[i];
    return NULL;
}

struct model_breaker *model_breaker(struct model *m, sym agent) {
    for (size_t i = 0; i < m->breakers_count; i++)
        if (m->breakers[i].agent == agent)
            return &m->breakers[i];
    struct model_breaker *b = MODEL_ADD(m, breakers);
    b->agent = agent;
    return b;
}

struct model_limiter *model_limiter(const struct model *m, sym id) {
    for (size_t i = 0; i < m->limiters_count; i++)
        if (m->limiters[i].id == id)
            return &m->limiters[i];
    return NULL;
}

static int apply(struct model *m, const struct fact *fact, struct error *err) {
    if (fact->kind < FACT_TASK_ADDED || fact->kind == FACT_LIMITER_CLEAR)
        return model_apply_world(m, fact, err);
    if (fact->kind == FACT_TASK_ADDED)
        return model_apply_added(m, fact->spec, err);
    if (fact->kind < FACT_ORDER_REFUSED)
        return model_apply_asked(m, fact, err);
    return model_apply_run(m, fact, err);
}

int model_apply(struct model *m, const struct fact *fact, struct error *err) {
    int r = apply(m, fact, err);
    if (r == 0)
        model_settle(m);
    return r;
}

void model_restart(struct model *m) {
    const struct policy *p = &m->policy;
    m->claim = (struct model_claim){ 0 };
    m->tick_wanted = false;
    for (size_t i = 0; i < m->starts_count; i++)
        m->starts[i].task = 0; /* they are counted, and are not taken back any more */
    if (p->runs != UNLIMITED && (p->pace.batch != UNLIMITED || p->pace.spawn_delay > 0))
        return;
    m->starts_count = 0; /* nothing depended on it */
    m->ticked = false;
}

size_t model_task_count(const struct model *m) {
    return m->tasks_count;
}

struct model_view model_task_at(const struct model *m, size_t index) {
    const struct model_task *t = &m->tasks[index];
    bool ready = t->s.state == TASK_READY;
    return (struct model_view){
        .id = t->s.id,
        .parent = t->s.parent,
        .state = t->s.state,
        .hold = t->s.hold,
        .phase = t->s.phase,
        .until = t->s.until,
        .stopping = t->run.stop != STOP_NONE,
        .depth = model_depth(m, t),
        .iteration = t->s.iteration,
        .attempt = t->s.attempt,
        .failures = t->s.failures,
        .launch_failures = t->s.launch_failures,
        .losses = t->s.losses,
        .restarts = t->s.restarts,
        .priority = t->s.priority,
        .score = model_score(m, t),
        .not_before = model_is_draining(t) ? t->drain_until : t->s.not_before,
        .waited = ready ? model_waited(m, t) : 0,
        .overdue = ready && model_overdue(m, t),
    };
}

time_ms model_now(const struct model *m) {
    return m->now;
}

time_ms model_backoff_until(const struct model *m, sym limiter) {
    const struct model_limiter *l = model_limiter(m, limiter);
    return l ? l->until : 0;
}

bool model_knows_project(const struct model *m, sym project) {
    return model_project(m, project) != NULL;
}
