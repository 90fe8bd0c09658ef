/* ready_first.c: winner trees of classes, lanes and projects. See ready_first.h. */
#include "core/ready_first.h"

#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_queue.h"
#include "core/task_rank.h"

/* --- what is touched ------------------------------------------------------------------------- */

void ready_touch_project(struct core *c, uint32_t project) {
    (void)winner_tree_touch(&c->project_tree, project - 1);
}

static void touch_lane(struct core *c, const struct lane *lane) {
    if (winner_tree_touch(&c->projects[lane->key.project].lane_tree, lane->slot))
        ready_touch_project(c, lane->key.project);
}

void ready_touch_class(struct core *c, uint32_t cls) {
    struct lane *lane = lane_at(c, class_at(c, cls)->lane);
    if (winner_tree_touch(&lane->class_tree, class_at(c, cls)->slot))
        touch_lane(c, lane);
}

void ready_reopen_project(struct core *c, uint32_t project) {
    c->lanes_may_open = true;
    ready_touch_project(c, project);
}

void ready_touch_all(struct core *c) {
    for (uint32_t h = 1; h < c->lanes.next; h++) {
        winner_tree_touch_all(&lane_at(c, h)->class_tree);
        touch_lane(c, lane_at(c, h));
    }
}

void ready_add_project(struct core *c, uint32_t project) {
    (void)winner_tree_add(&c->project_tree, project);
}

/* A new item is touched, and so are those above it: a touch stops at what is touched already. */
void ready_add_lane(struct core *c, uint32_t handle) {
    struct lane *lane = lane_at(c, handle);
    lane->slot = winner_tree_add(&c->projects[lane->key.project].lane_tree, handle);
    ready_touch_project(c, lane->key.project);
}

void ready_add_class(struct core *c, uint32_t cls) {
    struct lane *lane = lane_at(c, class_at(c, cls)->lane);
    class_at(c, cls)->slot = winner_tree_add(&lane->class_tree, cls);
    touch_lane(c, lane);
}

void ready_remove_class(struct core *c, uint32_t cls) {
    struct lane *lane = lane_at(c, class_at(c, cls)->lane);
    uint32_t moved = winner_tree_remove(&lane->class_tree, class_at(c, cls)->slot);
    if (moved)
        class_at(c, moved)->slot = class_at(c, cls)->slot;
    touch_lane(c, lane);
}

/* --- what is open ---------------------------------------------------------------------------- */

/* Do the keys that every task of a lane needs, except those of its project, have slots? `worker`:
 * the roster agent that would take it; 0: there is no roster. */
static bool lane_open(const struct core *c, const struct lane *lane, uint32_t worker) {
    if (worker && lane->key.agent && lane->key.agent != worker)
        return false;
    uint32_t agent = lane->key.agent ? lane->key.agent : worker;
    uint32_t limiter = lane->key.limiter ? lane->key.limiter : c->agents[agent].limiter;
    if (failover_chooser(c, agent, lane->key.bound)) {
        struct runner with = failover_pick(c, agent, 0);
        agent = with.agent;
        limiter = with.limiter;
    }
    if (limiter && (!limiter_open(c, limiter) || !key_has_slot(c, c->limiters[limiter].key, 0)))
        return false;
    if (agent && (!gate_agent_open(c, agent) || !key_has_slot(c, c->agents[agent].key, 0)))
        return false;
    if (lane->key.kind && !key_has_slot(c, c->kinds[lane->key.kind].key, 0))
        return false;
    const struct project *p = &c->projects[lane->key.project];
    if ((lane->key.needs_kept & TASK_KEEPS_ROOTS) && !key_has_slot(c, c->key_roots, 0))
        return false;
    if ((lane->key.needs_kept & TASK_KEEPS_REVIEW) && !key_has_slot(c, p->key_review, 0))
        return false;
    return !(lane->key.needs_kept & TASK_KEEPS_WORKSPACE) || key_has_slot(c, p->key_workspaces, 0);
}

static bool project_has_slots(const struct core *c, uint32_t project) {
    const struct project *p = &c->projects[project];
    const struct project_spec *spec = &p->spec;
    /* Most projects have no limits; skip reading the key. */
    return gate_project_open(p) && gate_hours_open(c, spec->hours_until)
           && (spec->max_running == UNLIMITED || key_has_slot(c, p->key, 0))
           && (spec->workspaces == UNLIMITED || spec->workspaces_kept
               || key_has_slot(c, p->key_workspaces, 0))
           && ((spec->budget == UNLIMITED && !spec->money.is_set) || gate_budget_open(c, project));
}

/* --- classes --------------------------------------------------------------------------------- */

#define CACHE_LINE 64
#define PREFETCH_RECORD(record)                                                                    \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < sizeof(*(record)); i_ += CACHE_LINE)                              \
            __builtin_prefetch((const char *)(record) + i_, 1);                                    \
    } while (0)

static bool class_renew(void *ctx, uint32_t cls, time_ms *until) {
    const struct core *c = ctx;
    struct queue_class *k = class_at(c, cls);
    k->head = queue_head(c, k);
    if (k->head) /* its record was not read for long, and will be when it starts */
        PREFETCH_RECORD(task_at(c, k->head));
    /* Another task will be its head when it becomes overdue. */
    if (k->head && k->head != order_list_first(&k->by_ready))
        *until = queue_class_overdue_from(c, k);
    return k->head != 0;
}

static bool class_before(const void *ctx, uint32_t a, uint32_t b, struct winner_bounds *bounds) {
    const struct core *c = ctx;
    return task_before_in_project(c, class_at(c, a)->head, class_at(c, b)->head, &bounds->until);
}

static const struct winner_rules class_rules = { class_renew, class_before };

static uint32_t first_class(struct core *c, struct lane *lane) {
    return winner_tree_first(&lane->class_tree, &class_rules, c, c->now, 0);
}

/* --- lanes ----------------------------------------------------------------------------------- */

static uint32_t lane_head(const struct core *c, uint32_t lane) {
    return class_at(c, lane_at(c, lane)->best)->head;
}

static bool lane_renew(void *ctx, uint32_t handle, time_ms *until) {
    struct core *c = ctx;
    struct lane *lane = lane_at(c, handle);
    lane->best = first_class(c, lane);
    *until = winner_tree_until(&lane->class_tree);
    return lane->best && !lane->shut;
}

static bool lane_before(const void *ctx, uint32_t a, uint32_t b, struct winner_bounds *bounds) {
    return task_before_in_project(ctx, lane_head(ctx, a), lane_head(ctx, b), &bounds->until);
}

static const struct winner_rules lane_rules = { lane_renew, lane_before };

/* --- projects -------------------------------------------------------------------------------- */

static bool project_renew(void *ctx, uint32_t project, time_ms *until) {
    struct core *c = ctx;
    struct project *p = &c->projects[project];
    if (p->ready == 0)
        return false;
    if (!project_has_slots(c, project)) { /* only its hours open by themselves */
        *until = p->spec.hours_until > c->now ? p->spec.hours_until : TIME_NEVER;
        return false;
    }
    uint32_t lane = winner_tree_first(&p->lane_tree, &lane_rules, c, c->now, 0);
    *until = winner_tree_until(&p->lane_tree);
    p->best = lane ? lane_head(c, lane) : 0;
    return lane != 0;
}

static bool project_before(const void *ctx, uint32_t a, uint32_t b, struct winner_bounds *bounds) {
    const struct core *c = ctx;
    const struct project *pa = &c->projects[a], *pb = &c->projects[b];
    int order = project_compare(c, a, b, bounds);
    return order != 0 ? order < 0 : task_before_in_project(c, pa->best, pb->best, &bounds->until);
}

static const struct winner_rules project_rules = { project_renew, project_before };

/* --- what closes and opens ------------------------------------------------------------------- */

/* Leaves the lane out if it is closed. */
static bool lane_shut(struct core *c, uint32_t handle) {
    struct lane *lane = lane_at(c, handle);
    if (lane->shut || lane_open(c, lane, 0))
        return lane->shut;
    lane->shut = true;
    lane->next_shut = c->shut_lanes;
    c->shut_lanes = handle;
    touch_lane(c, lane);
    return true;
}

static void lanes_reopen(struct core *c) {
    for (uint32_t h = c->shut_lanes; h; h = lane_at(c, h)->next_shut) {
        lane_at(c, h)->shut = false;
        touch_lane(c, lane_at(c, h));
    }
    c->shut_lanes = 0;
    c->lanes_may_open = false;
}

/* Touches what may have opened or compares differently, but was not touched by its name. */
static void touch_what_changed(struct core *c, bool weights_equal) {
    if (c->lanes_may_open || c->known_epoch != c->epoch)
        lanes_reopen(c);
    if (c->known_epoch == c->epoch && c->weights_equal == weights_equal)
        return;
    for (size_t i = 0; i < c->active_count; i++)
        winner_tree_touch_all(&c->projects[c->active[i]].lane_tree);
    winner_tree_touch_all(&c->project_tree);
    c->known_epoch = c->epoch;
    c->weights_equal = weights_equal;
}

/* The gates and keys of the winner may have closed since it was compared. */
static bool still_open(struct core *c, uint32_t project) {
    const struct project *p = &c->projects[project];
    if (!project_has_slots(c, project)) {
        ready_touch_project(c, project);
        return false;
    }
    return !lane_shut(c, class_at(c, task_at(c, p->best)->cls)->lane);
}

/* After this number of closed winners, looking at every lane once is faster. */
#define CLOSED_MAX 32

uint32_t ready_first(struct core *c) {
    struct fair_totals totals = fair_totals(c);
    double ratio = (double)totals.tokens / (double)totals.weight;
    touch_what_changed(c, totals.equal);
    for (unsigned closed = 0;;) {
        uint32_t project = winner_tree_first(&c->project_tree, &project_rules, c, c->now, ratio);
        if (!project)
            return 0;
        uint32_t task = c->projects[project].best;
        bool open = still_open(c, project);
        uint32_t key = open ? queue_refusing_key(c, task) : 0;
        if (open && !key)
            return task;
        if (key)
            queue_park(c, task, key);
        else if (++closed == CLOSED_MAX)
            for (uint32_t h = 1; h < c->lanes.next; h++)
                (void)lane_shut(c, h);
    }
}

/* --- for a worker of a roster ---------------------------------------------------------------- */

/* The first task of a project's open lanes; parks those that a rare key refuses. */
static uint32_t first_of_lanes(struct core *c, uint32_t project, uint32_t worker) {
    struct project *p = &c->projects[project];
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < p->lane_tree.count; i++) {
            struct lane *lane = lane_at(c, winner_tree_item(&p->lane_tree, i));
            uint32_t cls = lane_open(c, lane, worker) ? first_class(c, lane) : 0;
            uint32_t head = cls ? class_at(c, cls)->head : 0;
            if (head && (!best || task_before_in_project(c, head, best, NULL)))
                best = head;
        }
        uint32_t key = best ? queue_refusing_key(c, best) : 0;
        if (!key)
            return best;
        queue_park(c, best, key);
    }
}

uint32_t ready_first_for(struct core *c, uint32_t worker) {
    uint32_t best = 0;
    for (size_t i = 0; i < c->active_count; i++) {
        uint32_t project = c->active[i];
        uint32_t task = project_has_slots(c, project) ? first_of_lanes(c, project, worker) : 0;
        if (task && (!best || task_before(c, task, best)))
            best = task;
    }
    return best;
}
