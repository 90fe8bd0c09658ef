/* test_rules.c: random states, decided as the documents' own code decides.
 *
 * Rows 28-31, 33, 37, 38, 39, 41, 46, 48, 50, 58, 61-64, 95, 141, 159, 160. The selections of documents 000, 003 and
 * 004 are written down here a second time, line by line as their code or text has them, and asked about states drawn
 * at random. Does the core start the same tasks, in the same order? Where a document leaves it open, or where Sluice
 * differs on purpose (docs/migrate), the states avoid it; a comment says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "harness/test.h"
#include "harness/world.h"

#define MOST 48

/* What a document starts: indexes of tasks. */
struct picks {
    size_t task[MOST], agent[MOST], count;
};

static const char *number(struct world *w, int64_t n) {
    return world_text(w, "%lld", (long long)n);
}

static bool chance(struct rng *rng, unsigned percent) {
    return rng_below(rng, 100) < percent;
}

static const char *task_name(struct world *w, size_t i) {
    return world_text(w, "task %zu", i);
}

/* The core has started exactly what the document starts. */
static void expect_picks(struct world *w, const struct picks *picks, uint64_t seed) {
    const char *names[MOST + 1] = { NULL };
    bool same = w->started == picks->count;
    for (size_t i = 0; i < picks->count; i++) {
        names[i] = task_name(w, picks->task[i]);
        same = same && strcmp(world_name(w, world_start(w, i)->task), names[i]) == 0;
    }
    if (!same)
        print_error("state %llu\n", (unsigned long long)seed);
    expect_started(w, names, HERE);
}

/* --- document 000: select_runnable ------------------------------------------------------------- */

static const char *const loop_kinds[] = { "plan", "spec", "phase", "ralph" };
static const int bases[] = { 40, 60, 80, 100 };

enum { NO_PARENT = -1, MISSING = -2 };

struct loop {
    unsigned kind, iteration;
    time_ms age;
    enum task_state state; /* TASK_WAITING: pending */
    int parent;
    bool artifact_missing;
};

static int loop_depth(const struct loop *loops, size_t i) {
    int depth = 0, parent = loops[i].parent;
    while (parent != NO_PARENT) {
        depth++;
        if (parent == MISSING)
            break;
        parent = loops[parent].parent;
    }
    return depth;
}

static int loop_priority(const struct loop *loops, size_t i) {
    const struct loop *l = &loops[i];
    int age = (int)(l->age / MINUTES(1)), penalty = ((int)l->iteration - 1) * 5;
    return bases[l->kind] + (age < 50 ? age : 50) + loop_depth(loops, i) * 10
           - (penalty < 30 ? penalty : 30);
}

static bool loop_runnable(const struct loop *loops, size_t i) {
    const struct loop *l = &loops[i];
    if (l->state != TASK_WAITING || l->parent == MISSING || l->artifact_missing)
        return false;
    return l->parent == NO_PARENT || loops[l->parent].state == TASK_DONE;
}

/* The higher priority, then the older: "FIFO within priority". */
static bool loop_before(const struct loop *loops, size_t a, size_t b) {
    int pa = loop_priority(loops, a), pb = loop_priority(loops, b);
    if (pa != pb)
        return pa > pb;
    return loops[a].age != loops[b].age ? loops[a].age > loops[b].age : a < b;
}

static void select_runnable(const struct loop *loops, size_t count, size_t max,
                            const size_t *type_max, struct picks *picks) {
    size_t order[MOST], found = 0, running = 0, of_type[4] = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (loops[i].state == TASK_RUNNING) {
            running++;
            of_type[loops[i].kind]++;
        }
        if (loop_runnable(loops, i))
            order[found++] = i;
    }
    for (size_t i = 1; i < found; i++)
        for (size_t k = i; k > 0 && loop_before(loops, order[k], order[k - 1]); k--) {
            size_t swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    for (size_t i = 0; i < found && running < max; i++) {
        unsigned kind = loops[order[i]].kind;
        if (of_type[kind] >= type_max[kind])
            continue;
        of_type[kind]++;
        running++;
        picks->task[picks->count++] = order[i];
    }
}

static void draw_loop(struct rng *rng, struct loop *loops, size_t i) {
    static const enum task_state states[] = { TASK_WAITING, TASK_WAITING, TASK_WAITING,
                                              TASK_RUNNING, TASK_DONE,    TASK_DONE,
                                              TASK_FAILED,  TASK_CANCELED };
    loops[i] = (struct loop){ .kind = (unsigned)rng_below(rng, 4),
                              .iteration = (unsigned)rng_between(rng, 1, 9),
                              .age = rng_between(rng, 0, 240) * 30 * SECONDS(1),
                              .state = states[rng_below(rng, ARRAY_SIZE(states))],
                              .parent = NO_PARENT };
    if (i > 0 && chance(rng, 60))
        loops[i].parent = (int)rng_below(rng, i);
    else if (chance(rng, 10) && loops[i].state == TASK_WAITING)
        loops[i].parent = MISSING;
    loops[i].artifact_missing = loops[i].state == TASK_WAITING && chance(rng, 15);
}

static void decide_000(uint64_t seed) {
    struct rng rng = { seed };
    struct loop loops[MOST];
    struct picks picks = { 0 };
    size_t count = (size_t)rng_between(&rng, 1, MOST), max = (size_t)rng_below(&rng, 20),
           type_max[4];
    WORLD(w, "loopr");
    world_set(w, "limits.runs", number(w, (int64_t)max));
    for (int i = 0; i < 4; i++) {
        type_max[i] = chance(&rng, 50) ? MOST : (size_t)rng_below(&rng, 6);
        world_set(w, world_text(w, "kinds.%s.max_running", loop_kinds[i]),
                  number(w, (int64_t)type_max[i]));
    }
    for (size_t i = 0; i < count; i++) {
        draw_loop(&rng, loops, i);
        const struct loop *l = &loops[i];
        const char *parent = l->parent == NO_PARENT ? NULL
                             : l->parent == MISSING ? "nowhere"
                                                    : task_name(w, (size_t)l->parent);
        world_add(w, task_name(w, i),
                  (struct given){ .kind = loop_kinds[l->kind],
                                  .iteration = l->iteration,
                                  .created_ago = l->age,
                                  .state = l->state == TASK_WAITING ? 0 : l->state,
                                  .attempt = l->state == TASK_WAITING ? 0 : 1,
                                  .parent = parent,
                                  .artifact_missing = l->artifact_missing });
    }
    bool low_disk = chance(&rng, 5);
    world_disk(w, low_disk ? 4999 : 5000);
    if (!low_disk)
        select_runnable(loops, count, max, type_max, &picks);
    world_decide(w);
    expect_picks(w, &picks, seed);
}

TEST(f141_random_states_are_decided_as_document_000_selects) {
    for (uint64_t seed = 1; seed <= 1000; seed++)
        decide_000(seed);
}

/* --- document 003: drainQueues ----------------------------------------------------------------- */

static const char *const flows[] = { "implement", "review", "research" };

struct card {
    unsigned flow, phase;
    time_ms age;
    bool parallel, running;
};

/* Of another running item. */
static bool phase_is_locked(const struct card *cards, size_t count, const struct card *card) {
    for (size_t i = 0; i < count; i++)
        if (cards[i].running && !cards[i].parallel && cards[i].flow == card->flow
            && cards[i].phase == card->phase)
            return true;
    return false;
}

/* The document says "the oldest", and not of which flow first: the oldest of all. */
static void drain_queues(struct card *cards, size_t count, size_t max, const size_t *per_flow,
                         struct picks *picks) {
    size_t total = 0, of_flow[3] = { 0 };
    for (size_t i = 0; i < count; i++)
        if (cards[i].running) {
            total++;
            of_flow[cards[i].flow]++;
        }
    while (total < max) {
        size_t oldest = count;
        for (size_t i = 0; i < count; i++) {
            struct card *c = &cards[i];
            if (c->running || of_flow[c->flow] >= per_flow[c->flow])
                continue;
            if (!c->parallel && phase_is_locked(cards, count, c))
                continue;
            if (oldest == count || c->age > cards[oldest].age)
                oldest = i;
        }
        if (oldest == count)
            return;
        cards[oldest].running = true;
        total++;
        of_flow[cards[oldest].flow]++;
        picks->task[picks->count++] = oldest;
    }
}

static void decide_003(uint64_t seed) {
    struct rng rng = { seed };
    struct card cards[MOST] = { 0 };
    struct picks picks = { 0 };
    size_t count = (size_t)rng_between(&rng, 1, MOST), max = (size_t)rng_between(&rng, 1, 12),
           per_flow[3];
    WORLD(w, "agency");
    world_set(w, "limits.runs", number(w, (int64_t)max));
    for (int i = 0; i < 3; i++) {
        per_flow[i] = (size_t)rng_between(&rng, 1, 6);
        world_set(w, world_text(w, "kinds.%s.max_running", flows[i]),
                  number(w, (int64_t)per_flow[i]));
    }
    for (size_t i = 0; i < count; i++) {
        struct card c = { .flow = (unsigned)rng_below(&rng, 3),
                          .phase = (unsigned)rng_below(&rng, 4),
                          .age = rng_between(&rng, 0, 500) * SECONDS(1),
                          .parallel = chance(&rng, 40) };
        /* a running card has its phase for itself */
        c.running = chance(&rng, 15) && (c.parallel || !phase_is_locked(cards, i, &c));
        cards[i] = c;
        world_add(w, task_name(w, i),
                  (struct given){ .kind = flows[c.flow],
                                  .phase = world_text(w, "phase-%u", c.phase),
                                  .created_ago = c.age,
                                  .parallel = c.parallel ? YES : NO,
                                  .state = c.running ? TASK_RUNNING : 0,
                                  .attempt = c.running });
    }
    drain_queues(cards, count, max, per_flow, &picks);
    world_decide(w);
    expect_picks(w, &picks, seed);
}

TEST(f095_random_states_are_decided_as_document_003_drains) {
    for (uint64_t seed = 1; seed <= 1000; seed++)
        decide_003(seed);
}

/* --- document 004: schedule -------------------------------------------------------------------- */

#define PROJECTS 6

struct project {
    int64_t weight, used, budget; /* −1: none */
    size_t completed, running, cap;
    bool active, full; /* no workspace is free */
};

struct work {
    size_t project;
    int32_t priority;
    bool ready, locked; /* the workspace it wants */
};

struct queue {
    struct project projects[PROJECTS];
    struct work tasks[MOST];
    bool idle[8];
    size_t task_count, agent_count;
    int64_t budget; /* −1: none */
    bool counts_workspaces;
};

static bool has_ready(const struct queue *q, size_t project) {
    for (size_t i = 0; i < q->task_count; i++)
        if (q->tasks[i].project == project && q->tasks[i].ready)
            return true;
    return false;
}

/* project_sort_key. Its ratios have the same denominators for all projects, so that the deficits are compared exactly;
 * with its floating-point numbers the order of equal ones is chance. */
static bool project_before(const struct queue *q, size_t a, size_t b, int64_t weight,
                           int64_t tokens) {
    const struct project *pa = &q->projects[a], *pb = &q->projects[b];
    if ((pa->completed > 0) != (pb->completed > 0))
        return pa->completed == 0;
    int64_t da = pa->used * weight - pa->weight * tokens;
    int64_t db = pb->used * weight - pb->weight * tokens;
    return da != db ? da < db : a < b;
}

static size_t best_task(const struct queue *q, size_t project, const bool *assigned) {
    size_t best = q->task_count;
    for (size_t i = 0; i < q->task_count; i++) {
        const struct work *t = &q->tasks[i];
        if (t->project != project || !t->ready || t->locked || assigned[i])
            continue;
        if (best == q->task_count || t->priority < q->tasks[best].priority)
            best = i; /* of equal ones the first: its id is lower */
    }
    return best;
}

static bool is_skipped(const struct queue *q, const struct project *p, size_t running) {
    return (p->budget >= 0 && p->used >= p->budget) || running >= p->cap
           || (q->counts_workspaces && p->full);
}

static void schedule(const struct queue *q, struct picks *picks) {
    size_t ranked[PROJECTS], count = 0, running[PROJECTS];
    bool assigned[MOST] = { false };
    int64_t weight = 0, tokens = 0;
    for (size_t i = 0; i < PROJECTS; i++)
        tokens += q->projects[i].used;
    if (q->budget >= 0 && tokens >= q->budget)
        return;
    for (size_t i = 0; i < PROJECTS; i++) {
        running[i] = q->projects[i].running;
        if (!q->projects[i].active || !has_ready(q, i))
            continue;
        weight += q->projects[i].weight;
        ranked[count++] = i;
    }
    tokens = tokens ? tokens : 1;
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && project_before(q, ranked[k], ranked[k - 1], weight, tokens);
             k--) {
            size_t swap = ranked[k];
            ranked[k] = ranked[k - 1];
            ranked[k - 1] = swap;
        }
    for (size_t agent = 0; agent < q->agent_count; agent++)
        for (size_t i = 0; q->idle[agent] && i < count; i++) {
            size_t project = ranked[i], task = best_task(q, project, assigned);
            if (is_skipped(q, &q->projects[project], running[project]) || task == q->task_count)
                continue;
            assigned[task] = true;
            running[project]++;
            picks->agent[picks->count] = agent;
            picks->task[picks->count++] = task;
            break;
        }
}

/* Weights are at least 1: their sum of 0, a division by zero there, is no state of the document. A project has no free
 * workspace or plenty, and each task wishes one of its own: the document does not count them down inside a round. */
static void draw_project(struct rng *rng, struct project *p) {
    *p = (struct project){ .weight = rng_between(rng, 1, 5),
                           .used = chance(rng, 30) ? 0 : rng_between(rng, 0, 8) * 250,
                           .budget = chance(rng, 70) ? -1 : rng_between(rng, 0, 8) * 250,
                           .completed = (size_t)rng_below(rng, 3),
                           .running = (size_t)rng_below(rng, 3),
                           .cap = (size_t)rng_between(rng, 0, 5),
                           .active = chance(rng, 80),
                           .full = chance(rng, 20) };
}

static void apply_project_004(struct world *w, const struct queue *q, size_t i) {
    const struct project *p = &q->projects[i];
    const char *name = world_text(w, "p%zu", i);
    world_set(w, world_text(w, "projects.%s.weight", name), number(w, p->weight));
    world_set(w, world_text(w, "projects.%s.max_running", name), number(w, (int64_t)p->cap));
    world_set(w, world_text(w, "projects.%s.active", name), p->active ? "true" : "false");
    if (p->budget >= 0)
        world_set(w, world_text(w, "projects.%s.budget", name), number(w, p->budget));
    if (q->counts_workspaces)
        world_set(w, world_text(w, "projects.%s.workspaces", name), p->full ? "0" : "100");
    world_usage(w, name, p->used, (unsigned)p->completed, 0);
    world_external(w, name, (unsigned)p->running);
}

static void draw_work(struct rng *rng, struct world *w, struct queue *q, size_t i) {
    struct work *t = &q->tasks[i];
    *t = (struct work){ .project = (size_t)rng_below(rng, PROJECTS),
                        .priority = (int32_t)rng_between(rng, 1, 4),
                        .ready = chance(rng, 80) };
    const char *workspace = chance(rng, 40) ? world_text(w, "workspace %zu", i) : NULL;
    t->locked = workspace && chance(rng, 50);
    if (workspace)
        world_workspace(w, workspace, t->locked ? "somebody" : NULL);
    world_add(w, task_name(w, i),
              (struct given){ .project = world_text(w, "p%zu", t->project),
                              .priority = t->priority,
                              .workspace = workspace,
                              .state = t->ready ? 0 : TASK_DRAFT });
}

static void decide_004(uint64_t seed) {
    struct rng rng = { seed };
    struct queue q = { .task_count = (size_t)rng_between(&rng, 1, MOST),
                       .agent_count = (size_t)rng_between(&rng, 1, ARRAY_SIZE(q.idle)),
                       .budget = chance(&rng, 80) ? -1 : rng_between(&rng, 0, 8) * 1000,
                       .counts_workspaces = chance(&rng, 50) };
    struct picks picks = { 0 };
    WORLD(w, "agent-queue");
    if (q.budget >= 0)
        world_set(w, "budget", number(w, q.budget));
    for (size_t i = 0; i < PROJECTS; i++) {
        draw_project(&rng, &q.projects[i]);
        apply_project_004(w, &q, i);
    }
    for (size_t i = 0; i < q.agent_count; i++) {
        q.idle[i] = chance(&rng, 70);
        world_worker(w, world_text(w, "agent %zu", i), q.idle[i]);
    }
    for (size_t i = 0; i < q.task_count; i++)
        draw_work(&rng, w, &q, i);
    schedule(&q, &picks);
    world_decide(w);
    expect_picks(w, &picks, seed);
    for (size_t i = 0; i < picks.count; i++)
        assert_string_equal(symbol_name(core_symbols(w->core), world_start(w, i)->agent),
                            world_text(w, "agent %zu", picks.agent[i]));
}

TEST(f160_random_states_are_decided_as_document_004_schedules) {
    for (uint64_t seed = 1; seed <= 2000; seed++)
        decide_004(seed);
}
