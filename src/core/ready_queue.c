/* ready_queue.c: classes, parks and crowds of ready tasks, wait clocks, and positions. See
 * ready_queue.h.
 *
 * Each class has two lists of its tasks: by (enqueued_at, created_at, id), the order of tasks that
 * are not overdue, and by the time they became ready, whose first is overdue before all others.
 * Tasks arrive nearly in both orders, so both lists are mostly appended to and popped from the
 * front. */
#include "core/ready_queue.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_first.h"
#include "core/task.h"
#include "core/task_rank.h"

/* --- overdue tasks --------------------------------------------------------------------------- */

static time_ms overdue_from(const struct core *c, const struct task *t) {
    if (!(c->policy.order & ORDER_BY_OVERDUE) || c->policy.max_wait == TIME_NEVER)
        return TIME_NEVER;
    return time_add(c->now, time_max(0, c->policy.max_wait - queue_waited(c, t)));
}

time_ms queue_class_overdue_from(const struct core *c, const struct queue_class *cls) {
    uint32_t oldest = order_list_first(&cls->by_ready);
    uint32_t parked = order_list_first(&cls->parked_by_ready);
    time_ms at = oldest ? overdue_from(c, task_at(c, oldest)) : TIME_NEVER;
    return parked ? time_min(at, overdue_from(c, task_at(c, parked))) : at;
}

/* --- crowds ---------------------------------------------------------------------------------- */

/* All tasks of a class are stopped by the same gates, except for the rare keys that each names.
 * Tasks of a class that name the same rare keys form a crowd, so waiting tasks are counted without
 * visiting them.
 *
 * A task with a workspace is in two crowds: the one of its workspace, and the one without it (or
 * only its class, if it names nothing else). There may be as many workspaces as tasks, but few are
 * in use at a time: core_waiting_by_gate counts the crowds of the classes and corrects them by
 * those of the full workspaces. A task that names no rare key is in no crowd. */
struct common {
    uint32_t cls, serial, workspace;
    const struct resource_list *resources; /* or NULL */
};

static const struct resource_list *list_at(const struct core *c, uint32_t resources) {
    return resources ? slab_at(&c->resource_lists, resources) : NULL;
}

static uint64_t hash_of_crowd(const struct common *k) {
    uint64_t hash = hash_mix(((uint64_t)k->cls << 32) | k->serial, k->workspace);
    for (unsigned i = 0; k->resources && i < k->resources->count; i++)
        hash = hash_mix(hash, k->resources->keys[i]);
    return hash;
}

static bool same_resources(const struct resource_list *a, const struct resource_list *b) {
    if (!a || !b)
        return a == b;
    return a->count == b->count && memcmp(a->keys, b->keys, a->count * sizeof(*a->keys)) == 0;
}

bool crowd_same(const void *ctx, uint32_t handle, const void *wanted) {
    const struct crowd *k = crowd_at(ctx, handle);
    const struct common *w = wanted;
    return k->cls == w->cls && k->serial == w->serial && k->workspace == w->workspace
           && same_resources(list_at(ctx, k->resources), w->resources);
}

static uint32_t *first_of_list(struct core *c, const struct crowd *crowd) {
    return crowd->workspace ? &key_at(c, crowd->workspace)->crowds
                            : &class_at(c, crowd->cls)->crowds;
}

static uint32_t crowd_new(struct core *c, const struct common *k, uint64_t hash) {
    uint32_t handle = slab_alloc(&c->crowds), resources = 0;
    if (k->resources) {
        resources = slab_alloc(&c->resource_lists);
        *(struct resource_list *)slab_at(&c->resource_lists, resources) = *k->resources;
    }
    struct crowd *crowd = crowd_at(c, handle);
    *crowd = (struct crowd){
        .cls = k->cls, .serial = k->serial, .workspace = k->workspace, .resources = resources
    };
    SLAB_LIST_PUSH(crowd_at, c, *first_of_list(c, crowd), handle, next, prev);
    id_map_add(&c->crowd_map, hash, handle);
    return handle;
}

static void crowd_join(struct core *c, const struct common *k) {
    uint64_t hash = hash_of_crowd(k);
    uint32_t handle = id_map_find(&c->crowd_map, hash, k);
    if (!handle)
        handle = crowd_new(c, k, hash);
    crowd_at(c, handle)->count++;
}

static void crowd_leave(struct core *c, const struct common *k) {
    uint64_t hash = hash_of_crowd(k);
    uint32_t handle = id_map_find(&c->crowd_map, hash, k);
    assert(handle);
    struct crowd *crowd = crowd_at(c, handle);
    if (--crowd->count > 0)
        return;
    id_map_remove(&c->crowd_map, hash, k);
    SLAB_LIST_REMOVE(crowd_at, c, *first_of_list(c, crowd), handle, next, prev);
    if (crowd->resources)
        slab_free(&c->resource_lists, crowd->resources);
    slab_free(&c->crowds, handle);
}

static void each_crowd(struct core *c, uint32_t task,
                       void (*each)(struct core *c, const struct common *k)) {
    const struct task *t = task_at(c, task);
    struct common k = { t->cls, t->serial_key, 0, list_at(c, t->resources) };
    if (t->serial_key || t->resources)
        each(c, &k);
    k.workspace = t->workspace_key;
    if (t->workspace_key)
        each(c, &k);
}

/* --- classes --------------------------------------------------------------------------------- */

/* What distinguishes classes. */
struct class_key {
    struct lane_key lane;
    int32_t priority;
    uint32_t depth;
    int64_t penalty;
};

static uint64_t hash_of_lane(const struct lane_key *k) {
    uint64_t hash =
        hash_mix(((uint64_t)k->project << 32) | k->kind, ((uint64_t)k->agent << 32) | k->limiter);
    return hash_mix(hash, ((uint64_t)k->needs_kept << 1) | k->bound);
}

bool lane_same(const void *ctx, uint32_t handle, const void *wanted) {
    const struct lane_key *k = &lane_at(ctx, handle)->key, *w = wanted;
    return k->project == w->project && k->kind == w->kind && k->agent == w->agent
           && k->limiter == w->limiter && k->needs_kept == w->needs_kept && k->bound == w->bound;
}

static uint64_t hash_of_class(const struct class_key *k) {
    uint64_t hash = hash_mix(hash_of_lane(&k->lane), (uint64_t)k->penalty);
    return hash_mix(hash, ((uint64_t)(uint32_t)k->priority << 32) | k->depth);
}

bool queue_class_same(const void *ctx, uint32_t handle, const void *wanted) {
    const struct queue_class *k = class_at(ctx, handle);
    const struct class_key *w = wanted;
    return k->priority == w->priority && k->depth == w->depth && k->penalty == w->penalty
           && lane_same(ctx, k->lane, &w->lane);
}

static uint32_t find_domain(const struct core *c, struct wait_key key) {
    for (uint32_t h = c->projects[key.project].domains; h; h = domain_at(c, h)->next) {
        const struct domain *d = domain_at(c, h);
        if (d->limiter == key.limiter && d->agent == key.agent)
            return h;
    }
    return 0;
}

static uint32_t domain_of(struct core *c, struct wait_key key) {
    struct project *p = &c->projects[key.project];
    uint32_t handle = find_domain(c, key);
    if (handle)
        return handle;
    handle = slab_alloc(&c->domains);
    struct domain *d = domain_at(c, handle);
    d->limiter = key.limiter;
    d->agent = key.agent;
    d->next = p->domains;
    p->domains = handle;
    return handle;
}

/* With a failover list a task that is bound to its agent waits differently, and uses the clock of
 * tasks without an agent: then the agent's hours do not stop it. */
bool queue_agent_has_clock(const struct agent_spec *agent, bool bound) {
    return agent->failover_count > 0 ? !bound : agent->hours;
}

struct wait_key queue_wait_key(const struct core *c, const struct task *t) {
    uint32_t agent =
        queue_agent_has_clock(&c->agents[t->agent].spec, failover_is_bound(t)) ? t->agent : 0;
    return (struct wait_key){ t->project, t->limiter, agent };
}

time_ms queue_clock(const struct core *c, struct wait_key key) {
    uint32_t domain = find_domain(c, key);
    return domain ? domain_clock(c, domain_at(c, domain)) : c->now; /* same as a new clock */
}

void queue_clock_create(struct core *c, struct wait_key key) {
    (void)domain_of(c, key);
}

struct wait_spec queue_wait_spec(const struct core *c, uint32_t project, const struct domain *d) {
    return (struct wait_spec){ .project = c->projects[project].spec.id,
                               .limiter = c->limiters[d->limiter].spec.id,
                               .agent = c->agents[d->agent].spec.id,
                               .lost = d->lost,
                               .closed_since = d->closed ? d->closed_since : 0 };
}

void queue_set_wait(struct core *c, struct wait_key key, const struct wait_spec *w) {
    struct domain *d = domain_at(c, domain_of(c, key));
    d->lost = w->lost;
    d->closed = w->closed_since > 0;
    d->closed_since = w->closed_since;
    d->restored = true;
}

bool queue_wait_is_restored(const struct core *c, struct wait_key key) {
    uint32_t domain = find_domain(c, key);
    return domain && domain_at(c, domain)->restored;
}

/* A clock runs while only leases and pace can stop its tasks. */
static void domain_set_open(struct core *c, struct domain *d, bool open) {
    if (open == !d->closed)
        return;
    if (open)
        d->lost += c->now - d->closed_since;
    else
        d->closed_since = c->now;
    d->closed = !open;
    d->changed = true;
}

void queue_clocks_update(struct core *c) {
    bool world_open = !c->paused && gate_host_open(c) && gate_budget_open(c, 0);
    for (uint32_t p = 1; p < c->project_count; p++) {
        const struct project *project = &c->projects[p];
        bool open = project->domains && world_open && gate_project_open(project)
                    && gate_hours_open(c, project->spec.hours_until) && gate_budget_open(c, p);
        for (uint32_t h = project->domains; h; h = domain_at(c, h)->next) {
            struct domain *d = domain_at(c, h);
            bool closed = !limiter_open(c, d->limiter)
                          || !gate_hours_open(c, c->agents[d->agent].spec.hours_until);
            domain_set_open(c, d, open && (!closed || failover_is_covered(c, d->agent)));
        }
    }
}

void queue_clocks_start(struct core *c, time_ms at) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].domains; h; h = domain_at(c, h)->next)
            domain_at(c, h)->lost += at - c->now;
    }
}

static uint32_t lane_of(struct core *c, const struct lane_key *wanted) {
    uint64_t hash = hash_of_lane(wanted);
    uint32_t handle = id_map_find(&c->lane_map, hash, wanted);
    if (handle)
        return handle;
    handle = slab_alloc(&c->lanes);
    struct lane *lane = lane_at(c, handle);
    lane->key = *wanted;
    ready_add_lane(c, handle);
    id_map_add(&c->lane_map, hash, handle);
    return handle;
}

static uint32_t class_of(struct core *c, const struct task *t) {
    struct class_key wanted = {
        .lane = { .project = t->project,
                  .kind = t->kind,
                  .agent = t->agent,
                  .limiter = t->limiter,
                  .needs_kept = lease_missing_kept(c, t) & (uint16_t)~TASK_KEEPS_LEASE,
                  .bound = failover_is_bound(t) },
        .priority = t->priority,
        .depth = t->depth,
        .penalty = score_penalty(&c->policy, iteration_of(c, t)),
    };
    uint64_t hash = hash_of_class(&wanted);
    uint32_t handle = id_map_find(&c->class_map, hash, &wanted);
    if (handle)
        return handle;
    handle = slab_alloc(&c->classes);
    struct queue_class *k = class_at(c, handle);
    k->priority = t->priority;
    k->depth = t->depth;
    k->penalty = wanted.penalty;
    k->lane = lane_of(c, &wanted.lane);
    k->domain = domain_of(c, queue_wait_key(c, t));
    ready_add_class(c, handle);
    id_map_add(&c->class_map, hash, handle);
    return handle;
}

void queue_class_finish(struct queue_class *k) {
#define FINISH_CLASS_LIST(list) order_list_finish(&k->list);
    CLASS_LISTS(FINISH_CLASS_LIST)
}

void park_finish(struct park *park) {
    order_list_finish(&park->by_created);
    order_list_finish(&park->by_ready);
}

static void class_drop_if_empty(struct core *c, uint32_t handle) {
    struct queue_class *k = class_at(c, handle);
    if (k->by_created.count || k->parked_by_created.count || k->parks)
        return;
    struct class_key same = { lane_at(c, k->lane)->key, k->priority, k->depth, k->penalty };
    id_map_remove(&c->class_map, hash_of_class(&same), &same);
    ready_remove_class(c, handle);
    queue_class_finish(k);
    k->domain = 0;
    slab_free(&c->classes, handle);
}

static void project_activate(struct core *c, uint32_t project) {
    c->active = xgrow(c->active, &c->active_capacity, c->active_count + 1, sizeof(*c->active));
    c->projects[project].active_position = (uint32_t)c->active_count;
    c->active[c->active_count++] = project;
}

static void project_deactivate(struct core *c, uint32_t project) {
    uint32_t moved = c->active[--c->active_count];
    c->active[c->projects[project].active_position] = moved;
    c->projects[moved].active_position = c->projects[project].active_position;
}

/* Only its first task in either order is compared with those of other classes. */
static void class_changed(struct core *c, uint32_t handle, uint32_t task) {
    const struct queue_class *k = class_at(c, handle);
    uint32_t created = order_list_first(&k->by_created), ready = order_list_first(&k->by_ready);
    if (created == task || ready == task)
        ready_touch_class(c, handle);
}

static void class_insert(struct core *c, uint32_t task) {
    uint32_t handle = task_at(c, task)->cls;
    struct queue_class *k = class_at(c, handle);
    order_list_insert(&k->by_created, task, task_before_by_age, c);
    order_list_insert(&k->by_ready, task, task_before_by_wait, c);
    class_changed(c, handle, task);
}

static void class_remove(struct core *c, uint32_t task) {
    uint32_t handle = task_at(c, task)->cls;
    struct queue_class *k = class_at(c, handle);
    class_changed(c, handle, task);
    order_list_remove(&k->by_created, task, task_before_by_age, c);
    order_list_remove(&k->by_ready, task, task_before_by_wait, c);
}

uint32_t queue_head(const struct core *c, const struct queue_class *cls) {
    uint32_t oldest = order_list_first(&cls->by_ready), first = order_list_first(&cls->by_created);
    return oldest != first && queue_overdue(c, task_at(c, oldest)) ? oldest : first;
}

/* --- parks ----------------------------------------------------------------------------------- */

uint32_t queue_refusing_key(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    if (t->serial_key && !key_has_slot(c, t->serial_key, task))
        return t->serial_key;
    if (t->workspace_key && !key_has_slot(c, t->workspace_key, task))
        return t->workspace_key;
    if (!t->resources)
        return 0;
    const struct resource_list *list = slab_at(&c->resource_lists, t->resources);
    for (unsigned i = 0; i < list->count; i++) {
        if (!key_has_slot(c, list->keys[i], task))
            return list->keys[i];
    }
    return 0;
}

static uint32_t park_of(struct core *c, uint32_t key, uint32_t cls) {
    struct key *k = key_at(c, key);
    for (uint32_t p = k->parks; p; p = park_at(c, p)->next) {
        if (park_at(c, p)->cls == cls)
            return p;
    }
    uint32_t handle = slab_alloc(&c->parks);
    struct park *park = park_at(c, handle);
    park->key = key;
    park->cls = cls;
    SLAB_LIST_PUSH(park_at, c, k->parks, handle, next, prev);
    class_at(c, cls)->parks++;
    return handle;
}

static void park_drop_if_empty(struct core *c, uint32_t handle) {
    struct park *park = park_at(c, handle);
    if (park->by_created.count || park->awake)
        return;
    SLAB_LIST_REMOVE(park_at, c, key_at(c, park->key)->parks, handle, next, prev);
    park_finish(park);
    class_at(c, park->cls)->parks--;
    park->cls = 0; /* marks a free record */
    slab_free(&c->parks, handle);
}

static void park_insert(struct core *c, uint32_t task, uint32_t key) {
    struct task *t = task_at(c, task);
    t->park = park_of(c, key, t->cls);
    t->flags |= TASK_PARKED;
    struct park *park = park_at(c, t->park);
    order_list_insert(&park->by_created, task, task_before_by_age, c);
    order_list_insert(&park->by_ready, task, task_before_by_wait, c);
    order_list_insert(&class_at(c, t->cls)->parked_by_created, task, task_before_by_age, c);
    order_list_insert(&class_at(c, t->cls)->parked_by_ready, task, task_before_by_wait, c);
}

static void park_remove(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    struct park *park = park_at(c, t->park);
    order_list_remove(&park->by_created, task, task_before_by_age, c);
    order_list_remove(&park->by_ready, task, task_before_by_wait, c);
    order_list_remove(&class_at(c, t->cls)->parked_by_created, task, task_before_by_age, c);
    order_list_remove(&class_at(c, t->cls)->parked_by_ready, task, task_before_by_wait, c);
    t->flags &= (uint16_t)~TASK_PARKED;
}

static void wake(struct core *c, uint32_t handle, uint32_t task) {
    struct park *park = park_at(c, handle);
    park_remove(c, task);
    park->awake++;
    if (!park->awake_created || task_before_by_age(c, task, park->awake_created))
        park->awake_created = task;
    if (!park->awake_ready || task_before_by_wait(c, task, park->awake_ready))
        park->awake_ready = task;
    class_insert(c, task);
}

/* While the key has a free slot, the first of the park in each of the two orders is in its class's
 * queue, so that the head of the class is right whichever task becomes overdue. */
static void park_wake(struct core *c, uint32_t handle) {
    struct park *park = park_at(c, handle);
    if (!key_has_slot(c, park->key, 0))
        return;
    uint32_t task = order_list_first(&park->by_created);
    if (task && (!park->awake_created || task_before_by_age(c, task, park->awake_created)))
        wake(c, handle, task);
    task = order_list_first(&park->by_ready);
    if (task && (!park->awake_ready || task_before_by_wait(c, task, park->awake_ready)))
        wake(c, handle, task);
}

void queue_wake(struct core *c, uint32_t key) {
    for (uint32_t p = key_at(c, key)->parks; p; p = park_at(c, p)->next)
        park_wake(c, p);
}

/* A woken task left its class's queue for any reason: wakes the next one. */
static void park_left(struct core *c, uint32_t handle, uint32_t task) {
    if (!handle)
        return;
    struct park *park = park_at(c, handle);
    park->awake--;
    if (park->awake_created == task)
        park->awake_created = 0;
    if (park->awake_ready == task)
        park->awake_ready = 0;
    park_wake(c, handle);
    park_drop_if_empty(c, handle);
}

void queue_park(struct core *c, uint32_t task, uint32_t key) {
    class_remove(c, task);
    uint32_t woken_from = task_at(c, task)->park;
    park_insert(c, task, key);
    park_left(c, woken_from, task);
}

void queue_recheck_parked(struct core *c, uint32_t task, uint32_t key) {
    struct task *t = task ? task_at(c, task) : NULL;
    if (!t || !(t->flags & TASK_PARKED) || park_at(c, t->park)->key != key
        || queue_refusing_key(c, task) == key)
        return;
    uint32_t park = t->park;
    park_remove(c, task);
    t->park = 0;
    class_insert(c, task);
    park_drop_if_empty(c, park);
}

/* --- in and out ------------------------------------------------------------------------------ */

void queue_enter(struct core *c, uint32_t task, time_ms waited) {
    struct task *t = task_at(c, task);
    t->cls = class_of(c, t);
    t->park = 0;
    t->ready_clock = domain_clock(c, domain_at(c, class_at(c, t->cls)->domain)) - waited;
    uint32_t key = queue_refusing_key(c, task);
    if (key)
        park_insert(c, task, key);
    else
        class_insert(c, task);
    each_crowd(c, task, crowd_join);
    c->overdue_from = time_min(c->overdue_from, overdue_from(c, t));
    c->ready++;
    c->limiters[t->limiter].ready++;
    if (c->projects[t->project].ready++ > 0)
        return;
    project_activate(c, t->project);
    fair_count_project(c, t->project);
}

time_ms queue_leave(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    uint32_t cls = t->cls;
    time_ms waited = queue_waited(c, t);
    each_crowd(c, task, crowd_leave);
    if (t->flags & TASK_PARKED) {
        uint32_t park = t->park;
        park_remove(c, task);
        t->park = 0;
        park_drop_if_empty(c, park);
    } else {
        uint32_t woken_from = t->park;
        class_remove(c, task);
        t->park = 0;
        park_left(c, woken_from, task);
    }
    t->cls = 0;
    class_drop_if_empty(c, cls);
    c->ready--;
    c->limiters[t->limiter].ready--;
    if (--c->projects[t->project].ready > 0)
        return waited;
    project_deactivate(c, t->project);
    fair_count_project(c, t->project);
    return waited;
}

void queue_empty(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (task_at(c, h)->state == TASK_READY)
            task_at(c, h)->ready_clock = queue_leave(c, h); /* stores the wait until queue_fill */
    }
}

void queue_fill(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (task_at(c, h)->state == TASK_READY)
            queue_enter(c, h, task_at(c, h)->ready_clock);
    }
    c->epoch++;
}

/* --- positions ---------------------------------------------------------------------------------
 *
 * Within a class the order is by age, so one binary search counts the tasks before another; the
 * position is the sum over the classes and the waiting tasks. Shares are ignored: which project is
 * served next changes with every start, and a position that jumps is useless. */

static enum lack lack_of(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    bool unmet = links_of(c, t)->unmet > 0;
    bool hopeless = task_parent_failed(c, t) || (unmet && depend_has_failed(c, task));
    if (unmet)
        return hopeless ? LACK_DEPENDENCY_HOPELESS : LACK_DEPENDENCY;
    if (!task_parent_passed(c, t))
        return hopeless ? LACK_PARENT_HOPELESS : LACK_PARENT;
    return t->flags & TASK_ARTIFACT_MISSING ? LACK_ARTIFACT
           : t->flags & TASK_PROBE_CLOSED   ? LACK_PROBE
                                            : LACK_NOTHING;
}

static void set_lack(struct core *c, struct task *t, enum lack lack) {
    struct project *p = &c->projects[t->project];
    if (t->lack)
        p->lacking[t->lack]--;
    if (lack)
        p->lacking[lack]++;
    t->lack = (uint8_t)lack;
}

void waiting_recount(struct core *c, uint32_t task) {
    if (task_at(c, task)->flags & TASK_LISTED)
        set_lack(c, task_at(c, task), lack_of(c, task));
}

void waiting_add(struct core *c, uint32_t task) {
    if (!(task_at(c, task)->flags & TASK_LISTED)) {
        task_at(c, task)->flags |= TASK_LISTED;
        order_list_insert(&c->waiting, task, task_before_by_age, c);
    }
    waiting_recount(c, task);
}

void waiting_remove(struct core *c, uint32_t task) {
    if (!(task_at(c, task)->flags & TASK_LISTED))
        return;
    task_at(c, task)->flags &= (uint16_t)~TASK_LISTED;
    set_lack(c, task_at(c, task), LACK_NOTHING);
    order_list_remove(&c->waiting, task, task_before_by_age, c);
}

void waiting_clear(struct core *c) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    while ((task = order_list_next(&c->waiting, &cursor))) {
        task_at(c, task)->flags &= (uint16_t)~TASK_LISTED;
        set_lack(c, task_at(c, task), LACK_NOTHING);
    }
    order_list_finish(&c->waiting);
}

struct ranked {
    const struct core *c;
    uint32_t task;
};

static bool is_before_in_project(const void *ctx, uint32_t item) {
    const struct ranked *a = ctx;
    return task_before_in_project(a->c, item, a->task, NULL);
}

static bool is_overdue(const void *ctx, uint32_t item) {
    const struct ranked *a = ctx;
    return queue_overdue(a->c, task_at(a->c, item));
}

static bool is_before_by_rank(const void *ctx, uint32_t item) {
    const struct ranked *a = ctx;
    return task_before_by_rank(a->c, item, a->task, NULL);
}

static bool is_before_by_age(const void *ctx, uint32_t item) {
    const struct ranked *a = ctx;
    return task_before_by_age(a->c, item, a->task);
}

static amount before_in_class(const struct ranked *a, const struct queue_class *k) {
    const struct task *t = task_at(a->c, a->task);
    uint32_t project = lane_at(a->c, k->lane)->key.project;
    if ((a->c->policy.order & ORDER_BY_POSITION) && project != t->project)
        return project < t->project ? (amount)k->by_created.count + k->parked_by_created.count : 0;
    if (t->state == TASK_READY && queue_overdue(a->c, t))
        return (amount)order_list_rank(&k->by_ready, is_before_in_project, a)
               + order_list_rank(&k->parked_by_ready, is_before_in_project, a);
    amount by_rank = (amount)order_list_rank(&k->by_created, is_before_by_rank, a)
                     + order_list_rank(&k->parked_by_created, is_before_by_rank, a);
    amount overdue = (amount)order_list_rank(&k->by_ready, is_overdue, a)
                     + order_list_rank(&k->parked_by_ready, is_overdue, a);
    return by_rank > overdue ? by_rank : overdue; /* mostly the same, oldest tasks */
}

amount core_queue_position(const struct core *c, task_id id) {
    uint32_t task = task_find_added(c, id);
    if (!task)
        return 0;
    enum task_state state = task_at(c, task)->state;
    if (state != TASK_WAITING && state != TASK_READY)
        return 0;
    struct ranked a = { c, task };
    amount before = order_list_rank(&c->waiting, is_before_by_age, &a);
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (class_at(c, h)->domain)
            before += before_in_class(&a, class_at(c, h));
    }
    return before + 1;
}
