/* arrivals.c: tasks come in. */
#include <inttypes.h>

#include "world.h"

/* A task that was added lately and is still there; 0: none was found. */
static task_id draw_known(struct world *w) {
    for (unsigned tries = 0; tries < 8; tries++) {
        uint64_t near = w->next_task < 40 ? w->next_task : 40;
        task_id id = w->next_task - rng_below(&w->rng, near);
        if (books_task(&w->books, id))
            return id;
    }
    return 0;
}

/* An agent that runs adds work of its own. */
static task_id draw_live(struct world *w) {
    for (unsigned tries = 0; tries < 4; tries++) {
        task_id id = draw_known(w);
        if (id && task_state_is_live(w->books.rows[id].state))
            return id;
    }
    return 0;
}

static task_id draw_named(struct world *w) {
    if (swarm_has(&w->swarm, HAS_FORWARD) && !w->calm && world_chance(w, 10))
        return w->next_task + 1 + rng_below(&w->rng, 3);
    return draw_known(w);
}

static size_t draw_dependencies(struct world *w, task_id id, task_id ret[DEPENDENCIES]) {
    size_t count = 0;
    if (!swarm_has(&w->swarm, HAS_DEPENDENCIES) || !world_chance(w, 40))
        return 0;
    size_t wanted = 1 + rng_below(&w->rng, DEPENDENCIES);
    for (size_t i = 0; i < wanted; i++) {
        task_id on = draw_named(w);
        bool twice = on == 0 || on == id;
        for (size_t k = 0; k < count; k++)
            twice |= ret[k] == on;
        /* a task that waits for itself through its parent would wait for ever */
        if (!twice && !books_waits_for(&w->books, on, id, true))
            ret[count++] = on;
    }
    return count;
}

static size_t draw_resources(struct world *w, sym ret[RESOURCES]) {
    size_t count = 0;
    for (unsigned r = 1; r <= w->resources; r++) {
        if (world_chance(w, 25))
            ret[count++] = sym_of(SYM_RESOURCE, r);
    }
    return count;
}

static sym draw_name(struct world *w, sym range, unsigned count, unsigned percent) {
    if (count == 0 || !world_chance(w, percent))
        return 0;
    return sym_of(range, 1 + (unsigned)rng_below(&w->rng, count));
}

static void draw_kind_of_work(struct world *w, struct task_spec *spec) {
    const struct swarm *s = &w->swarm;
    spec->project = sym_of(SYM_PROJECT, 1 + (unsigned)rng_below(&w->rng, w->projects));
    spec->kind = draw_name(w, SYM_KIND, w->kinds, 80);
    spec->agent = draw_name(w, SYM_AGENT, w->agents, 50);
    spec->limiter = draw_name(w, SYM_LIMITER, w->limiters, 40);
    spec->bound = world_chance(w, 10);
    spec->workspace = draw_name(w, SYM_WORKSPACE, w->workspaces, 40);
    spec->parallelizable = !swarm_has(s, HAS_SERIAL) || world_chance(w, 60);
    if (!spec->parallelizable)
        spec->serial = draw_name(w, SYM_PHASE, PHASES, 70);
    spec->review = swarm_has(s, HAS_REVIEW) && world_chance(w, 30);
    spec->until = swarm_has(s, HAS_UNTIL) ? (enum until)rng_below(&w->rng, UNTIL_MAX) : UNTIL_EXIT;
    spec->artifact_missing = swarm_has(s, HAS_ARTIFACTS) && world_chance(w, 20);
    spec->probe_closed = swarm_has(s, HAS_PROBES) && world_chance(w, 20);
    spec->group = swarm_has(s, HAS_GROUPS) ? (uint32_t)rng_below(&w->rng, GROUPS + 1) : 0;
    spec->priority = (int32_t)rng_between(&w->rng, 98, world_chance(w, 50) ? 98 : 102);
    spec->retry_max = world_chance(w, 15) ? (int32_t)rng_below(&w->rng, 3) : -1;
    bool draft = swarm_has(s, HAS_DRAFTS) && world_chance(w, 20);
    spec->state = draft ? TASK_DRAFT : TASK_WAITING;
}

static void add_task(struct world *w) {
    task_id depends_on[DEPENDENCIES];
    sym resources[RESOURCES];
    struct task_spec spec = { .id = w->next_task, .iteration = 1 };
    draw_kind_of_work(w, &spec);
    bool waited_for = swarm_has(&w->swarm, RUNS_WAIT);
    bool free_child = (waited_for || swarm_has(&w->swarm, HAS_FREE_CHILDREN))
                      && world_chance(w, waited_for ? 90 : 50);
    spec.parent_gate = free_child ? PARENT_NONE : PARENT_DONE;
    if ((waited_for || swarm_has(&w->swarm, HAS_PARENTS)) && world_chance(w, waited_for ? 80 : 60))
        spec.parent =
            free_child && world_chance(w, waited_for ? 95 : 70) ? draw_live(w) : draw_named(w);
    if (books_waits_for(&w->books, spec.parent, spec.id, true))
        spec.parent = 0;
    spec.depends_on = depends_on;
    spec.depends_on_count = draw_dependencies(w, spec.id, depends_on);
    spec.resources = resources;
    spec.resource_count = draw_resources(w, resources);
    spec.created_at = w->now - (world_chance(w, 20) ? world_span(w, 0, HOURS(1)) : 0);
    spec.ready_since = world_chance(w, 80) ? w->now : spec.created_at;
    w->next_task++;
    struct fact added = { .kind = FACT_TASK_ADDED, .spec = &spec };
    if (world_apply_fact(w, &added) != 0)
        breach_set(&w->breach, "I1", "task %" PRIu64 " was refused", spec.id);
    if (swarm_has(&w->swarm, FACTS_COME_TWICE) && world_chance(w, 10)
        && world_apply_core(w, &added) >= 0)
        breach_set(&w->breach, "I2", "task %" PRIu64 " was added twice", spec.id);
}

void arrivals_happen(struct world *w) {
    uint32_t open = 0;
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        open += task_state_is_final((enum task_state)s) ? 0 : w->books.by_state[s];
    if (open < w->options.open_max)
        add_task(w);
    world_plan(w, HAPPENS_ARRIVAL, world_span(w, 1, w->arrival_every));
}
