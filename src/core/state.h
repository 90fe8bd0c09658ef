/* state.h: the core as a whole, and how its records are reached. Private to core/. */
#pragma once

#include "base/id_map.h"
#include "base/slab.h"
#include "base/timer_heap.h"
#include "core/core.h"
#include "core/records.h"

struct core {
    struct symbol_table symbols;
    struct policy policy;
    time_ms now;
    bool paused, clock_told;
    bool loading;       /* rows are told: nothing follows from them yet */
    struct pause pause; /* with paused */
    amount budget;
    struct money_budget money_budget;
    int64_t host_disk, host_memory, host_load;

    struct slab tasks, runs, keys, parks, classes, crowds, domains, edges, resource_lists;
    struct id_map task_map, class_map, crowd_map, serial_map;
    struct by_symbol project_of, kind_of, agent_of, limiter_of, resource_of, workspace_of;
    struct project *projects;
    struct kind *kinds;
    struct agent *agents;
    struct limiter *limiters;
    struct group *groups;
    size_t project_count, project_capacity, kind_count, kind_capacity, agent_count, agent_capacity,
        limiter_count, limiter_capacity, group_count, group_capacity;
    uint32_t *active; /* projects with a class in the queue, in no order */
    size_t active_count, active_capacity;
    uint32_t roster_count; /* agents that are workers of a roster */
    uint32_t list_count;   /* agents that name others to fail over to */

    uint32_t key_runs, key_roots;
    uint32_t live_roots;      /* live tasks without a parent */
    uint32_t waiting_runs;    /* runs in PHASE_WAITING: those that may lend */
    uint32_t full_keys;       /* keys without a place, `runs` apart */
    uint32_t full_workspaces; /* first of those without a place */
    struct timer_heap timers;
    uint32_t by_state[TASK_STATE_MAX];
    uint32_t ready;
    int64_t reserved, external_charge;  /* charges of all live runs */
    struct bucket window_sum;           /* of all projects */
    struct window unowned;              /* usage of no project */
    int64_t window_bucket;              /* number of the newest bucket */
    int64_t share_weight, share_tokens; /* W and T */
    uint32_t share_count;
    uint32_t walk; /* the number of the last one: see `seen` */
    int64_t document_weight, document_tokens, document_count; /* W and T of this decision */

    uint64_t
        epoch; /* rises when a shared key gets a free place: cached bests are looked at again */
    struct claim_spec told_claim; /* while loading */
    struct claim claim;
    time_ms overdue_from; /* no ready task is overdue before */
    time_ms tick_began, last_start;
    amount tick_starts;
    uint32_t tick_number;
    bool tick_running, tick_asked, ticked; /* ticked: last_start is one */
    struct {
        bool is_extra; /* this tick began only because one was asked for; before that: */
        bool was_running;
        time_ms began;
        amount starts;
    } tick_before;
    bool pace_changed; /* noted for core_take_changes */

    struct order_list waiting; /* those that lack a prerequisite, by age */
    struct changes changes;

    struct order *orders;
    size_t order_count, order_capacity;
    bool orders_given; /* the list was returned; the next order begins a new one */
    uint32_t *adopted; /* draining tasks that were added: looked at when their children are there */
    size_t adopted_count, adopted_capacity;
    uint32_t *seen; /* per task: the last walk that saw it */
    size_t seen_capacity;
    uint32_t *pending; /* tasks to be looked at again before the fact is done */
    size_t pending_count, pending_capacity;
};

static inline struct task *task_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->tasks, handle);
}
static inline struct run *run_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->runs, handle);
}
static inline struct key *key_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->keys, handle);
}
static inline struct queue_class *class_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->classes, handle);
}
static inline struct crowd *crowd_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->crowds, handle);
}
static inline struct park *park_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->parks, handle);
}
static inline struct domain *domain_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->domains, handle);
}
static inline struct edge *edge_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->edges, handle);
}

uint32_t by_symbol_get(const struct by_symbol *map, sym name); /* 0: not there */
void by_symbol_set(struct by_symbol *map, sym name, uint32_t index);
