/* core.c: creates, copies and frees a core; counters and views. See core.h. */
#include "core/core.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/decide.h"
#include "core/escalate.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_first.h"
#include "core/ready_queue.h"
#include "core/task.h"
#include "core/task_rank.h"

uint32_t by_symbol_get(const struct by_symbol *map, sym name) {
    return name < map->capacity ? map->index[name] : 0;
}

void by_symbol_set(struct by_symbol *map, sym name, uint32_t index) {
    size_t before = map->capacity;
    map->index = xgrow(map->index, &map->capacity, (size_t)name + 1, sizeof(*map->index));
    memset(map->index + before, 0, (map->capacity - before) * sizeof(*map->index));
    map->index[name] = index;
}

/* clang-format off */
#define SLAB(member, type) { offsetof(struct core, member), sizeof(struct type) }
/* clang-format on */

static const struct {
    size_t offset, size; /* of the records */
} slabs[] = {
    SLAB(tasks, task),
    SLAB(links, task_links),
    SLAB(histories, task_history),
    SLAB(runs, run),
    SLAB(keys, key),
    SLAB(parks, park),
    SLAB(lanes, lane),
    SLAB(classes, queue_class),
    SLAB(crowds, crowd),
    SLAB(domains, domain),
    SLAB(edges, edge),
    SLAB(resource_lists, resource_list),
    SLAB(escalations, escalation),
};

static struct slab *slab_of(const struct core *c, size_t i) {
    return (struct slab *)((uintptr_t)c + slabs[i].offset);
}

/* X(items, count, capacity): the arrays that free and copy treat alike. */
#define SYMBOL_MAP(X, map) X(map.index, map.capacity, map.capacity)
#define PLAIN_ARRAYS(X)                                                                            \
    X(kinds, kind_count, kind_capacity)                                                            \
    X(agents, agent_count, agent_capacity)                                                         \
    X(limiters, limiter_count, limiter_capacity)                                                   \
    X(groups, group_count, group_capacity)                                                         \
    X(active, active_count, active_capacity)                                                       \
    X(orders, order_count, order_capacity)                                                         \
    X(adopted, adopted_count, adopted_capacity)                                                    \
    X(pending, pending_count, pending_capacity)                                                    \
    X(taken, taken_count, taken_capacity)                                                          \
    SYMBOL_MAP(X, project_of)                                                                      \
    SYMBOL_MAP(X, kind_of)                                                                         \
    SYMBOL_MAP(X, agent_of)                                                                        \
    SYMBOL_MAP(X, limiter_of)                                                                      \
    SYMBOL_MAP(X, resource_of)                                                                     \
    SYMBOL_MAP(X, workspace_of)

#define ADD_NEUTRAL_ENTRY(items, count, capacity)                                                  \
    do {                                                                                           \
        c->items = xgrow(NULL, &c->capacity, 1, sizeof(*c->items));                                \
        memset(c->items, 0, sizeof(*c->items));                                                    \
        c->count = 1;                                                                              \
    } while (0)

struct core *core_new(void) {
    struct core *c = xcalloc(1, sizeof(*c));
    symbol_table_init(&c->symbols);
    policy_default(&c->policy);
    for (size_t i = 0; i < ARRAY_SIZE(slabs); i++)
        slab_init(slab_of(c, i), slabs[i].size);
    number_map_init(&c->task_map);
    id_map_init(&c->lane_map, lane_same, c);
    id_map_init(&c->class_map, queue_class_same, c);
    id_map_init(&c->crowd_map, crowd_same, c);
    id_map_init(&c->serial_map, lease_serial_same, c);
    id_map_init(&c->escalation_map, escalation_same, c);
    timer_heap_init(&c->timers, task_timer_moved, c);
    ADD_NEUTRAL_ENTRY(projects, project_count, project_capacity);
    ADD_NEUTRAL_ENTRY(kinds, kind_count, kind_capacity);
    ADD_NEUTRAL_ENTRY(agents, agent_count, agent_capacity);
    ADD_NEUTRAL_ENTRY(limiters, limiter_count, limiter_capacity);
    ADD_NEUTRAL_ENTRY(groups, group_count, group_capacity);
    c->projects[0].spec.budget = UNLIMITED;
    c->host = (struct host_spec){ -1, -1, -1 };
    c->key_runs = key_new(c, LEASE_RUNS, 0, c->policy.runs);
    c->key_roots = key_new(c, LEASE_ROOTS, 0, c->policy.roots);
    c->epoch = 1;
    c->overdue_from = TIME_NEVER;
    return c;
}

static void free_lists(struct core *c) {
    for (uint32_t h = 1; h < c->classes.next; h++)
        if (class_at(c, h)->domain)
            queue_class_finish(class_at(c, h));
    for (uint32_t h = 1; h < c->parks.next; h++)
        if (park_at(c, h)->cls)
            park_finish(park_at(c, h));
    order_list_finish(&c->waiting);
    for (uint32_t h = 1; h < c->lanes.next; h++) /* none is ever freed */
        winner_tree_finish(&lane_at(c, h)->class_tree);
    winner_tree_finish(&c->project_tree);
    for (size_t i = 0; i < c->project_count; i++) {
        winner_tree_finish(&c->projects[i].lane_tree);
        free(c->projects[i].window.buckets);
    }
}

void core_free(struct core *c) {
    if (!c)
        return;
    free_lists(c);
    for (size_t i = 0; i < ARRAY_SIZE(slabs); i++)
        slab_finish(slab_of(c, i));
    number_map_finish(&c->task_map);
    id_map_finish(&c->lane_map);
    id_map_finish(&c->class_map);
    id_map_finish(&c->crowd_map);
    id_map_finish(&c->serial_map);
    id_map_finish(&c->escalation_map);
    timer_heap_finish(&c->timers);
#define FREE_ARRAY(items, count, capacity) free(c->items);
    PLAIN_ARRAYS(FREE_ARRAY)
    free(c->projects);
    free(c->seen);
    free(c->changes.tasks);
    free(c->changes.usage);
    symbol_table_finish(&c->symbols);
    free(c);
}

/* --- copies ------------------------------------------------------------------------------------
 *
 * Handles stay valid in a copy, so copying duplicates memory and rebuilds nothing. The code below
 * duplicates everything that points into the core; the rest is copied with the struct. */

static void *items_copy(const void *items, size_t count, size_t size, size_t *ret_capacity) {
    *ret_capacity = count;
    if (count == 0)
        return NULL;
    void *copy = xmalloc(count * size);
    memcpy(copy, items, count * size);
    return copy;
}

#define COPY_ITEMS(to, from, items, count, capacity)                                               \
    ((to)->items =                                                                                 \
         items_copy((from)->items, (from)->count, sizeof(*(from)->items), &(to)->capacity))

static void copy_projects(struct core *to, const struct core *from) {
    COPY_ITEMS(to, from, projects, project_count, project_capacity);
    for (size_t i = 0; i < from->project_count; i++) {
        struct project *p = &to->projects[i];
        winner_tree_copy(&from->projects[i].lane_tree, &p->lane_tree);
        const struct window *w = &from->projects[i].window;
        p->window.buckets =
            items_copy(w->buckets + w->first, w->count, sizeof(*w->buckets), &p->window.capacity);
        p->window.first = 0;
    }
}

static void copy_lists(struct core *to, const struct core *from) {
    for (uint32_t h = 1; h < from->classes.next; h++) {
        const struct queue_class *k = class_at(from, h);
        if (!k->domain)
            continue;
#define COPY_CLASS_LIST(list) order_list_copy(&k->list, &class_at(to, h)->list);
        CLASS_LISTS(COPY_CLASS_LIST)
    }
    for (uint32_t h = 1; h < from->parks.next; h++) {
        const struct park *p = park_at(from, h);
        if (!p->cls)
            continue;
#define COPY_PARK_LIST(list) order_list_copy(&p->list, &park_at(to, h)->list);
        PARK_LISTS(COPY_PARK_LIST)
    }
    order_list_copy(&from->waiting, &to->waiting);
    for (uint32_t h = 1; h < from->lanes.next; h++)
        winner_tree_copy(&lane_at(from, h)->class_tree, &lane_at(to, h)->class_tree);
    winner_tree_copy(&from->project_tree, &to->project_tree);
}

struct core *core_copy(const struct core *from) {
    struct core *to = xmalloc(sizeof(*to));
    *to = *from;
    for (size_t i = 0; i < ARRAY_SIZE(slabs); i++)
        slab_copy(slab_of(from, i), slab_of(to, i));
    number_map_copy(&from->task_map, &to->task_map);
    id_map_copy(&from->lane_map, to, &to->lane_map);
    id_map_copy(&from->class_map, to, &to->class_map);
    id_map_copy(&from->crowd_map, to, &to->crowd_map);
    id_map_copy(&from->serial_map, to, &to->serial_map);
    id_map_copy(&from->escalation_map, to, &to->escalation_map);
    timer_heap_copy(&from->timers, to, &to->timers);
    symbol_table_copy(&from->symbols, &to->symbols);
    copy_projects(to, from);
    copy_lists(to, from);
#define COPY_ARRAY(items, count, capacity) COPY_ITEMS(to, from, items, count, capacity);
    PLAIN_ARRAYS(COPY_ARRAY)
    to->changes = (struct changes){ 0 }; /* until core_watch */
    to->seen = NULL;                     /* only used during a walk */
    to->seen_capacity = 0;
    to->walk = 0;
    return to;
}

struct symbol_table *core_symbols(struct core *c) {
    return &c->symbols;
}

const struct order *core_decide(struct core *c, size_t *ret_count) {
    if (c->orders_given) {
        c->order_count = 0;
        c->orders_given = false;
    }
    if (!c->loading) {
        decide_timers(c);
        decide_starts(c);
    }
    c->orders_given = true;
    *ret_count = c->order_count;
    return c->orders;
}

static time_ms projects_open_at(const struct core *c) {
    time_ms at = TIME_NEVER;
    bool closed = !gate_budget_open(c, 0);
    if (closed)
        at = fair_budget_opens(c, 0);
    for (uint32_t p = 1; p < c->project_count; p++) {
        if (c->projects[p].ready == 0)
            continue;
        if (c->projects[p].spec.hours_until > c->now)
            at = time_min(at, c->projects[p].spec.hours_until);
        if (gate_budget_open(c, p))
            continue;
        at = time_min(at, fair_budget_opens(c, p));
        closed = true;
    }
    /* Estimates, and with them the reserved amounts, change when a bucket leaves the window. */
    return closed && (c->reserved > 0 || fair_money_reserved(c, 0) > 0)
               ? time_min(at, fair_next_leaving(c))
               : at;
}

/* The earliest time at which a closed gate with waiting tasks opens without a fact. */
static time_ms gates_open_at(const struct core *c) {
    time_ms at = TIME_NEVER;
    for (uint32_t l = 1; l < c->limiter_count; l++) {
        const struct limiter *limiter = &c->limiters[l];
        if (limiter->ready == 0 && c->roster_count == 0 && c->list_count == 0)
            continue;
        if (limiter_opens_at(limiter) > c->now)
            at = time_min(at, limiter_opens_at(limiter));
        at = time_min(at, limiter_rises_at(c, l));
    }
    for (uint32_t a = 1; a < c->agent_count; a++) {
        if (agent_opens_at(&c->agents[a]) > c->now)
            at = time_min(at, agent_opens_at(&c->agents[a]));
    }
    return time_min(at, projects_open_at(c));
}

time_ms core_next_wakeup(const struct core *c) {
    time_ms at = timer_heap_next(&c->timers);
    if (c->ready == 0)
        return at;
    at = time_min(at, gates_open_at(c));
    if (!c->paused && !pace_open(c))
        at = time_min(at, pace_opens_at(c));
    return at;
}

/* --- views ----------------------------------------------------------------------------------- */

bool core_task(const struct core *c, task_id id, struct task_view *ret) {
    uint32_t handle = task_find_added(c, id);
    if (!handle)
        return false;
    const struct task *t = task_at(c, handle);
    const struct task_history *history = history_of(c, t);
    uint32_t parent = links_of(c, t)->parent;
    *ret = (struct task_view){
        .id = t->id,
        .state = t->state,
        .hold = t->hold,
        .reason = t->reason,
        .until = t->until,
        .project = c->projects[t->project].spec.id,
        .kind = c->kinds[t->kind].spec.id,
        .agent = c->agents[t->agent].spec.id,
        .limiter = c->limiters[t->limiter].spec.id,
        .workspace = t->workspace_key ? key_at(c, t->workspace_key)->name : 0,
        .priority = t->priority,
        .score = score_of(c, t),
        .depth = t->depth,
        .iteration = iteration_of(c, t),
        .attempt = t->attempt,
        .failures = history->failures,
        .launch_failures = history->launch_failures,
        .losses = history->losses,
        .restarts = history->restarts,
        .parent = parent ? task_at(c, parent)->id : 0,
        .created_at = t->created_at,
        .not_before = history->not_before,
        .tokens = -1,
        .money = -1,
    };
    if (t->state == TASK_READY) {
        ret->waited = queue_waited(c, t);
        ret->overdue = queue_overdue(c, t);
    }
    if (t->run) {
        ret->phase = run_at(c, t->run)->phase;
        ret->started_at = run_at(c, t->run)->started_at;
        ret->agent = c->agents[run_at(c, t->run)->agent].spec.id;
        if (ret->phase != PHASE_DRAINING) {
            ret->tokens = run_at(c, t->run)->reported;
            ret->money = run_at(c, t->run)->money;
            ret->expected = run_at(c, t->run)->expected;
        }
        ret->lender = lend_task(c, run_at(c, t->run)->lender);
        ret->borrower = lend_task(c, run_at(c, t->run)->borrower);
    }
    return true;
}

void core_each_run(const struct core *c, void (*each)(void *ctx, task_id task), void *ctx) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].runs, next; h; h = next) {
            next = run_at(c, h)->next;
            each(ctx, task_at(c, run_at(c, h)->task)->id);
        }
    }
}

static size_t memory_of(const struct core *c) {
    size_t bytes = sizeof(*c) + number_map_bytes(&c->task_map) + id_map_bytes(&c->class_map)
                   + id_map_bytes(&c->lane_map) + winner_tree_bytes(&c->project_tree)
                   + id_map_bytes(&c->crowd_map) + id_map_bytes(&c->serial_map)
                   + id_map_bytes(&c->escalation_map) + c->symbols.arena.total;
    for (size_t i = 0; i < ARRAY_SIZE(slabs); i++)
        bytes += slab_bytes(slab_of(c, i));
    for (uint32_t h = 1; h < c->classes.next; h++) {
        const struct queue_class *k = class_at(c, h);
#define ADD_CLASS_LIST(list) bytes += k->domain ? order_list_bytes(&k->list) : 0;
        CLASS_LISTS(ADD_CLASS_LIST)
    }
    for (uint32_t h = 1; h < c->parks.next; h++) {
        const struct park *p = park_at(c, h);
#define ADD_PARK_LIST(list) bytes += p->cls ? order_list_bytes(&p->list) : 0;
        PARK_LISTS(ADD_PARK_LIST)
    }
    for (uint32_t h = 1; h < c->lanes.next; h++)
        bytes += winner_tree_bytes(&lane_at(c, h)->class_tree);
    for (size_t p = 1; p < c->project_count; p++)
        bytes += winner_tree_bytes(&c->projects[p].lane_tree);
    bytes += order_list_bytes(&c->waiting) + c->timers.capacity * sizeof(struct timer_entry);
    bytes += c->order_capacity * sizeof(*c->orders) + c->pending_capacity * sizeof(*c->pending);
    return bytes + c->project_capacity * sizeof(*c->projects);
}

void core_count(const struct core *c, struct core_counts *ret) {
    *ret = (struct core_counts){
        .classes = c->classes.used,
        .projects = (uint32_t)c->project_count - 1,
        .keys = c->keys.used,
        .runs_used = key_at(c, c->key_runs)->held + key_at(c, c->key_runs)->external,
        .runs_cap = key_at(c, c->key_runs)->cap,
        .bytes = memory_of(c),
    };
    for (int i = 0; i < TASK_STATE_MAX; i++)
        ret->by_state[i] = c->by_state[i];
    for (size_t i = 1; i < c->project_count; i++)
        ret->hopeless += c->projects[i].lacking[LACK_DEPENDENCY_HOPELESS]
                         + c->projects[i].lacking[LACK_PARENT_HOPELESS];
}

static uint32_t find_key(const struct core *c, enum lease_kind kind, sym name) {
    const struct project *project = &c->projects[by_symbol_get(&c->project_of, name)];
    switch ((int)kind) {
    case LEASE_RUNS:
        return c->key_runs;
    case LEASE_ROOTS:
        return c->key_roots;
    case LEASE_PROJECT:
        return project->key;
    case LEASE_WORKSPACES:
        return project->key_workspaces;
    case LEASE_REVIEW:
        return project->key_review;
    case LEASE_KIND:
        return c->kinds[by_symbol_get(&c->kind_of, name)].key;
    case LEASE_AGENT:
        return c->agents[by_symbol_get(&c->agent_of, name)].key;
    case LEASE_LIMITER:
        return c->limiters[by_symbol_get(&c->limiter_of, name)].key;
    case LEASE_RESOURCE:
        return by_symbol_get(&c->resource_of, name);
    case LEASE_WORKSPACE:
        return by_symbol_get(&c->workspace_of, name);
    default:
        return 0;
    }
}

bool core_lease(const struct core *c, enum lease_kind kind, sym name, amount *ret_used,
                amount *ret_cap) {
    uint32_t key = find_key(c, kind, name);
    if (!key)
        return false;
    *ret_used = key_at(c, key)->held + key_at(c, key)->external;
    *ret_cap = key_at(c, key)->cap;
    return true;
}

bool core_share(const struct core *c, sym project, struct share_view *ret) {
    uint32_t index = by_symbol_get(&c->project_of, project);
    if (!index)
        return false;
    const struct project *p = &c->projects[index];
    *ret = (struct share_view){
        .tokens = p->window.sum.tokens + p->window.sum.unreported,
        .reserved = p->reserved,
        .starts = (uint32_t)p->window.sum.starts,
        .completions = (uint32_t)p->window.sum.completions,
        .ready = p->ready,
        .live = p->live,
        .weight_milli = p->spec.weight_milli,
        .open = p->spec.active && !p->spec.paused,
    };
    memcpy(ret->by_state, p->by_state, sizeof(ret->by_state));
    return true;
}

bool core_limiter(const struct core *c, sym limiter, struct limiter_view *ret) {
    uint32_t index = by_symbol_get(&c->limiter_of, limiter);
    if (!index)
        return false;
    const struct limiter *l = &c->limiters[index];
    const struct key *k = key_at(c, l->key);
    *ret = (struct limiter_view){
        .backoff_until = l->spec.backoff_until > c->now ? l->spec.backoff_until : 0,
        .hits = l->spec.hits,
        .used = k->held + k->external,
        .cap = k->cap,
        .full_cap = l->spec.policy.max_running,
        .closed = l->spec.closed,
        .probing = limiter_probing(l),
        .last_success = l->spec.last_success,
        .reserved_until = l->reserved_until > c->now ? l->reserved_until : 0,
        .hours_until = l->spec.hours_until > c->now ? l->spec.hours_until : 0,
    };
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++) {
        ret->windows[w].reserve = limiter_reserve(&l->spec.policy, w);
        ret->windows[w].reserved = limiter_is_reserved(c, l, w);
        if (l->spec.quota[w].resets_at > c->now)
            ret->windows[w].quota = l->spec.quota[w];
    }
    return true;
}

struct group_view core_group(const struct core *c, uint32_t group) {
    return group < c->group_count ? c->groups[group].view : (struct group_view){ 0 };
}

bool core_host_is_open(const struct core *c) {
    return gate_host_open(c);
}

amount core_queue_depth(const struct core *c, sym kind) {
    if (!kind)
        return (amount)c->by_state[TASK_WAITING] + c->by_state[TASK_READY];
    uint32_t index = by_symbol_get(&c->kind_of, kind);
    return index ? c->kinds[index].queued : 0;
}
