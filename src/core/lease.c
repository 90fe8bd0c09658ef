/* lease.c: slots on limited keys, and how runs lend them. See lease.h.
 *
 * A freed slot is handled by how many tasks may want it. Rare keys (serial, workspace, resource)
 * track their waiters and wake one of each class. For shared keys, the next decision checks the
 * lanes again that were found shut. */
#include "core/lease.h"

#include <assert.h>

#include "base/hash.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/ready_first.h"
#include "core/ready_queue.h"
#include "core/task.h"

uint32_t key_new(struct core *c, enum lease_kind kind, sym name, amount cap) {
    uint32_t handle = slab_alloc(&c->keys);
    struct key *k = key_at(c, handle);
    k->kind = (uint8_t)kind;
    k->name = name;
    k->cap = cap;
    if (cap == 0)
        c->full_keys++;
    return handle;
}

static void key_opened(struct core *c, uint32_t handle) {
    const struct key *k = key_at(c, handle);
    switch ((enum lease_kind)k->kind) {
    case LEASE_SERIAL:
    case LEASE_WORKSPACE:
    case LEASE_RESOURCE:
        queue_wake(c, handle);
        break;
    case LEASE_WORKSPACES:
    case LEASE_REVIEW:
        ready_reopen_project(c, k->owner);
        break;
    case LEASE_KIND:
    case LEASE_AGENT:
    case LEASE_LIMITER:
    case LEASE_ROOTS:
        c->lanes_may_open = true;
        break;
    case LEASE_PROJECT:
        ready_touch_project(c, k->owner);
        break;
    case LEASE_TASK:
    case LEASE_AGENTS:
    case LEASE_RUNS:
    case LEASE_KIND_MAX:
        break;
    }
}

/* Call after a change: wakes waiting tasks and counts full keys. */
static void key_changed(struct core *c, uint32_t handle, bool had_slot) {
    bool has_slot = key_has_slot(c, handle, 0);
    if (had_slot == has_slot)
        return;
    if (key_at(c, handle)->kind == LEASE_WORKSPACE && has_slot)
        SLAB_LIST_REMOVE(key_at, c, c->full_workspaces, handle, next_full, prev_full);
    else if (key_at(c, handle)->kind == LEASE_WORKSPACE)
        SLAB_LIST_PUSH(key_at, c, c->full_workspaces, handle, next_full, prev_full);
    if (handle != c->key_runs)
        c->full_keys += has_slot ? UINT32_MAX : 1;
    if (has_slot)
        key_opened(c, handle);
}

static void key_acquire(struct core *c, uint32_t handle) {
    bool had_slot = key_has_slot(c, handle, 0);
    key_at(c, handle)->held++;
    key_changed(c, handle, had_slot);
}

static void key_release(struct core *c, uint32_t handle) {
    bool had_slot = key_has_slot(c, handle, 0);
    assert(key_at(c, handle)->held > 0);
    key_at(c, handle)->held--;
    key_changed(c, handle, had_slot);
    if (key_at(c, handle)->locked_by) /* free for the task that locked it */
        queue_recheck_parked(c, task_find(c, key_at(c, handle)->locked_by), handle);
}

#define DEFINE_KEY_SETTER(member, type)                                                            \
    void key_set_##member(struct core *c, uint32_t handle, type value) {                           \
        bool had_slot = key_has_slot(c, handle, 0);                                                \
        key_at(c, handle)->member = value;                                                         \
        key_changed(c, handle, had_slot);                                                          \
    }
DEFINE_KEY_SETTER(cap, amount)
DEFINE_KEY_SETTER(external, amount)
DEFINE_KEY_SETTER(claimed, bool)

struct serial_key {
    sym project, phase, kind;
};

static uint64_t serial_hash(sym project, sym phase, sym kind) {
    return hash_mix(hash_mix(project, phase), kind);
}

bool lease_serial_same(const void *ctx, uint32_t handle, const void *wanted) {
    const struct key *k = key_at(ctx, handle);
    const struct serial_key *w = wanted;
    return k->project == w->project && k->name == w->phase && k->kind_name == w->kind;
}

uint32_t key_serial(struct core *c, uint32_t project, sym phase, uint32_t kind) {
    struct serial_key wanted = { c->projects[project].spec.id, phase, c->kinds[kind].spec.id };
    uint64_t hash = serial_hash(wanted.project, wanted.phase, wanted.kind);
    uint32_t handle = id_map_find(&c->serial_map, hash, &wanted);
    if (handle)
        return handle;
    handle = key_new(c, LEASE_SERIAL, phase, 1);
    struct key *k = key_at(c, handle);
    k->project = wanted.project;
    k->kind_name = wanted.kind;
    id_map_add(&c->serial_map, hash, handle);
    return handle;
}

static uint32_t key_named(struct core *c, struct by_symbol *map, enum lease_kind kind, sym name,
                          amount cap) {
    uint32_t handle = by_symbol_get(map, name);
    if (!handle) {
        handle = key_new(c, kind, name, cap);
        by_symbol_set(map, name, handle);
    }
    return handle;
}

uint32_t key_workspace(struct core *c, sym name) {
    return key_named(c, &c->workspace_of, LEASE_WORKSPACE, name, 1);
}

uint32_t key_resource(struct core *c, sym name) {
    return key_named(c, &c->resource_of, LEASE_RESOURCE, name, UNLIMITED);
}

void key_use(struct core *c, uint32_t key) {
    if (key)
        key_at(c, key)->users++;
}

void key_drop_if_unused(struct core *c, uint32_t key) {
    struct key *k = key_at(c, key);
    if (k->users || k->configured || k->external)
        return;
    assert(k->held == 0 && k->parks == 0 && !k->claimed);
    struct serial_key wanted = { k->project, k->name, k->kind_name };
    if (k->kind == LEASE_SERIAL)
        id_map_remove(&c->serial_map, serial_hash(wanted.project, wanted.phase, wanted.kind),
                      &wanted);
    else
        by_symbol_set(k->kind == LEASE_WORKSPACE ? &c->workspace_of : &c->resource_of, k->name, 0);
    slab_free(&c->keys, key);
}

void key_unuse(struct core *c, uint32_t key) {
    if (!key)
        return;
    key_at(c, key)->users--;
    key_drop_if_unused(c, key);
}

uint16_t lease_missing_kept(const struct core *c, const struct task *t) {
    uint16_t need = TASK_KEEPS_LEASE;
    if (!(t->flags & TASK_HAS_PARENT))
        need |= TASK_KEEPS_ROOTS;
    if (t->flags & TASK_REVIEW)
        need |= TASK_KEEPS_REVIEW;
    if (c->projects[t->project].spec.workspaces_kept)
        need |= TASK_KEEPS_WORKSPACE;
    return need & (uint16_t)~t->flags;
}

void lease_keep(struct core *c, uint32_t task, unsigned keeps) {
    struct task *t = task_at(c, task);
    unsigned which = keeps << TASK_KEEPS_SHIFT & lease_missing_kept(c, t);
    if (which & TASK_KEEPS_ROOTS)
        key_acquire(c, c->key_roots);
    if (which & TASK_KEEPS_REVIEW)
        key_acquire(c, c->projects[t->project].key_review);
    if (which & TASK_KEEPS_WORKSPACE)
        key_acquire(c, c->projects[t->project].key_workspaces);
    t->flags |= (uint16_t)which;
}

size_t lease_needs(const struct core *c, const struct task *t, uint32_t agent, uint32_t limiter,
                   uint32_t ret[NEEDS_MAX]) {
    const struct project *p = &c->projects[t->project];
    uint16_t missing = lease_missing_kept(c, t);
    size_t n = 0;
    if (t->serial_key)
        ret[n++] = t->serial_key;
    if (t->workspace_key)
        ret[n++] = t->workspace_key;
    if (!p->spec.workspaces_kept || (missing & TASK_KEEPS_WORKSPACE))
        ret[n++] = p->key_workspaces;
    ret[n++] = p->key;
    if (t->kind)
        ret[n++] = c->kinds[t->kind].key;
    if (agent)
        ret[n++] = c->agents[agent].key;
    if (limiter)
        ret[n++] = c->limiters[limiter].key;
    if (t->resources) {
        const struct resource_list *list = slab_at(&c->resource_lists, t->resources);
        for (unsigned i = 0; i < list->count; i++)
            ret[n++] = list->keys[i];
    }
    if (missing & TASK_KEEPS_REVIEW)
        ret[n++] = p->key_review;
    if (missing & TASK_KEEPS_ROOTS)
        ret[n++] = c->key_roots;
    ret[n++] = c->key_runs;
    return n;
}

/* The TASK_KEEPS bit of a key, or 0. */
static uint16_t kept_bit(const struct core *c, const struct task *t, const struct key *k) {
    if (k->kind == LEASE_WORKSPACES && c->projects[t->project].spec.workspaces_kept)
        return TASK_KEEPS_WORKSPACE;
    if (k->kind == LEASE_REVIEW)
        return TASK_KEEPS_REVIEW;
    return k->kind == LEASE_ROOTS ? TASK_KEEPS_ROOTS : 0;
}

static void run_remove_key(struct run *r, unsigned at) {
    for (unsigned i = at; i + 1 < r->key_count; i++)
        r->keys[i] = r->keys[i + 1];
    r->key_count--;
}

static void run_add_key(const struct core *c, struct run *r, uint32_t key) {
    unsigned at = r->key_count++;
    for (; at > 0 && key_at(c, r->keys[at - 1])->kind > key_at(c, key)->kind; at--)
        r->keys[at] = r->keys[at - 1];
    r->keys[at] = key;
}

/* --- lending and borrowing ------------------------------------------------------------------- */

task_id lend_task(const struct core *c, uint32_t run) {
    return run ? task_at(c, run_at(c, run)->task)->id : 0;
}

static uint8_t lend_bit(const struct key *k) {
    static const uint8_t bits[LEASE_KIND_MAX] = {
        [LEASE_RUNS] = LEND_RUNS,   [LEASE_PROJECT] = LEND_PROJECT, [LEASE_KIND] = LEND_KIND,
        [LEASE_AGENT] = LEND_AGENT, [LEASE_LIMITER] = LEND_LIMITER,
    };
    return bits[k->kind];
}

static int key_index(const struct run *r, uint32_t key) {
    for (unsigned i = 0; i < r->key_count; i++) {
        if (r->keys[i] == key)
            return (int)i;
    }
    return -1;
}

/* With a cap of 0 nothing may start, so nothing is lent. */
static bool can_lend(const struct core *c, const struct run *lender, uint32_t key) {
    const struct key *k = key_at(c, key);
    return lend_bit(k) && k->cap > 0 && key_index(lender, key) >= 0;
}

void lend_link(struct core *c, uint32_t lender, uint32_t borrower) {
    assert(!run_at(c, lender)->borrower && !run_at(c, borrower)->lender);
    run_at(c, lender)->borrower = borrower;
    run_at(c, borrower)->lender = lender;
}

static void lend_unlink(struct core *c, uint32_t borrower) {
    struct run *r = run_at(c, borrower);
    run_at(c, r->lender)->borrower = 0;
    r->lender = 0;
    r->borrowed = 0;
    task_changed(c, r->task);
}

static bool lend_pass(struct core *c, uint32_t run, uint32_t key) {
    struct run *r = run_at(c, run), *lender = run_at(c, r->lender);
    if (!can_lend(c, lender, key))
        return false;
    run_remove_key(lender, (unsigned)key_index(lender, key));
    r->borrowed |= lend_bit(key_at(c, key));
    return true;
}

/* The slot goes to the first lender up the chain that still needs it; a validating run does not. */
static void give_up_chain(struct core *c, uint32_t run, uint32_t key) {
    uint8_t bit = lend_bit(key_at(c, key));
    struct run *r = run_at(c, run);
    for (; r->borrowed & bit; r = run_at(c, r->lender)) {
        struct run *lender = run_at(c, r->lender);
        r->borrowed &= (uint8_t)~bit;
        task_changed(c, r->task);
        if (bit == LEND_LIMITER && lender->no_api)
            continue;
        run_add_key(c, lender, key);
        return;
    }
    key_release(c, key);
}

/* Returns the borrowed slots that have one of the bits. */
static void give_back(struct core *c, uint32_t run, unsigned bits) {
    struct run *r = run_at(c, run);
    for (unsigned i = r->key_count; i-- > 0;) {
        uint32_t key = r->keys[i];
        if (!(r->borrowed & bits & lend_bit(key_at(c, key))))
            continue;
        run_remove_key(r, i);
        give_up_chain(c, run, key);
    }
}

static void lend_finish(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    uint32_t lender = r->lender, borrower = r->borrower;
    if (lender)
        give_back(c, run, LEND_ALL);
    uint8_t passed_on = r->borrowed; /* the rest was lent on to its borrower */
    if (lender)
        lend_unlink(c, run);
    if (!borrower)
        return;
    passed_on &= run_at(c, borrower)->borrowed;
    lend_unlink(c, borrower); /* it keeps the slots of this run, which has ended */
    if (!lender || !passed_on)
        return;
    lend_link(c, lender, borrower);
    run_at(c, borrower)->borrowed = passed_on;
}

/* --- runs ------------------------------------------------------------------------------------ */

void lease_acquire_all(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    struct task *t = task_at(c, r->task);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, r->agent, r->limiter, needs);
    r->key_count = 0;
    r->kept_new = TASK_KEEPS_LEASE & (uint16_t)~t->flags;
    for (size_t i = 0; i < count; i++) {
        uint16_t kept = kept_bit(c, t, key_at(c, needs[i]));
        if (!r->lender || !lend_pass(c, run, needs[i]))
            key_acquire(c, needs[i]);
        if (kept)
            r->kept_new |= kept;
        else
            r->keys[r->key_count++] = needs[i];
    }
    t->flags |= r->kept_new;
}

void lease_release_run(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    lend_finish(c, run);
    for (unsigned i = 0; i < r->key_count; i++)
        key_release(c, r->keys[i]);
    r->key_count = 0;
}

void lease_release_limiter(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    r->no_api = true;
    if (r->lender)
        give_back(c, run, LEND_LIMITER);
    for (unsigned i = 0; i < r->key_count; i++) {
        if (key_at(c, r->keys[i])->kind != LEASE_LIMITER)
            continue;
        key_release(c, r->keys[i]);
        run_remove_key(r, i);
        return;
    }
}

void lease_release_kept(struct core *c, uint32_t task, uint16_t which) {
    struct task *t = task_at(c, task);
    struct project *p = &c->projects[t->project];
    which &= t->flags & TASK_KEEPS;
    t->flags &= (uint16_t)~which;
    if (which & TASK_KEEPS_ROOTS)
        key_release(c, c->key_roots);
    if (which & TASK_KEEPS_REVIEW)
        key_release(c, p->key_review);
    if (which & TASK_KEEPS_WORKSPACE)
        key_release(c, p->key_workspaces);
}

/* --- loading --------------------------------------------------------------------------------- */

static bool is_descendant(const struct core *c, uint32_t task, uint32_t above) {
    do
        task = links_at(c, task)->parent;
    while (task && task != above);
    return task != 0;
}

static bool needs_key(const struct core *c, const struct run *r, uint32_t key) {
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, task_at(c, r->task), r->agent, r->limiter, needs);
    for (size_t i = 0; i < count; i++) {
        if (needs[i] == key)
            return true;
    }
    return false;
}

/* Both have acquired all they need, so lent slots were acquired twice. */
static void lend_restore(struct core *c, uint32_t lender, uint32_t borrower, unsigned bits) {
    struct run *l = run_at(c, lender), *b = run_at(c, borrower);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, task_at(c, b->task), b->agent, b->limiter, needs);
    lend_link(c, lender, borrower);
    for (size_t i = 0; i < count; i++) {
        uint8_t bit = lend_bit(key_at(c, needs[i]));
        if (!(bits & bit) || !needs_key(c, l, needs[i]))
            continue;
        b->borrowed |= bit;
        int index = key_index(l, needs[i]);
        if (index < 0)
            continue; /* it is validating */
        run_remove_key(l, (unsigned)index);
        key_release(c, needs[i]);
    }
}

void lend_load(struct core *c, uint32_t run, const struct task_spec *spec) {
    struct run *r = run_at(c, run);
    if (!c->loading || !spec->borrowed)
        return;
    r->loaded_lender = spec->lender;
    r->borrowed = (uint8_t)spec->borrowed;
}

static void restore_lender(struct core *c, uint32_t borrower) {
    struct run *b = run_at(c, borrower);
    uint32_t task = task_find(c, b->loaded_lender);
    uint32_t lender = task ? task_at(c, task)->run : 0;
    uint8_t bits = b->borrowed;
    b->borrowed = 0;
    b->loaded_lender = 0;
    if (lender && run_at(c, lender)->phase != PHASE_DRAINING && !run_at(c, lender)->borrower
        && is_descendant(c, b->task, task))
        lend_restore(c, lender, borrower, bits);
}

void lend_loaded(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        uint32_t run = task_at(c, h)->run;
        if (run && run_at(c, run)->loaded_lender)
            restore_lender(c, run);
    }
}

/* --- what to lend to ------------------------------------------------------------------------- */

/* The named agent or its failover agent; with a roster and no named agent, the lender's agent. */
static struct runner runner_for(const struct core *c, uint32_t task, const struct run *lender) {
    const struct task *t = task_at(c, task);
    if (c->roster_count == 0)
        return failover_runner(c, task, t);
    uint32_t agent = t->agent ? t->agent : lender->agent;
    return (struct runner){ agent, t->limiter ? t->limiter : c->agents[agent].limiter };
}

/* Could the task start with this run's slots? A reservation for an overdue task does not prevent
 * it: that task may be waiting for the lender to end. */
static bool only_lacks(const struct core *c, const struct run *lender, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = runner_for(c, task, lender);
    if (c->roster_count > 0 && !c->agents[with.agent].spec.roster)
        return false;
    if (!gates_before_leases(c, t->project, with.limiter) || !gate_agent_open(c, with.agent))
        return false;
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, with.agent, with.limiter, needs);
    for (size_t i = 0; i < count; i++) {
        const struct key *k = key_at(c, needs[i]);
        bool own_lock = k->locked_by && k->locked_by == t->id;
        if (!can_lend(c, lender, needs[i]) && k->cap != UNLIMITED
            && k->held + (own_lock ? 0 : k->external) >= k->cap)
            return false;
    }
    return true;
}

static uint32_t first_descendant(struct core *c, const struct run *lender,
                                 bool (*before)(const struct core *c, uint32_t a, uint32_t b)) {
    uint32_t best = 0, top = lender->task;
    for (uint32_t h = tree_next_descendant(c, top, top); h; h = tree_next_descendant(c, top, h)) {
        if (task_at(c, h)->state != TASK_READY || !only_lacks(c, lender, h))
            continue;
        if (!best || before(c, h, best))
            best = h;
    }
    return best;
}

static bool older(const struct core *c, const struct run *a, const struct run *b) {
    if (a->started_at != b->started_at)
        return a->started_at < b->started_at;
    return task_at(c, a->task)->id < task_at(c, b->task)->id;
}

/* The oldest run that could lend and started after `last` (0: any). */
static uint32_t next_lender(const struct core *c, uint32_t last) {
    uint32_t next = 0;
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].runs; h; h = run_at(c, h)->next) {
            const struct run *r = run_at(c, h);
            if (r->phase != PHASE_WAITING || r->borrower || (last && !older(c, run_at(c, last), r)))
                continue;
            if (!next || older(c, r, run_at(c, next)))
                next = h;
        }
    }
    return next;
}

uint32_t lend_find(struct core *c, bool (*before)(const struct core *c, uint32_t a, uint32_t b),
                   uint32_t *ret_lender, uint32_t *ret_agent) {
    for (uint32_t h = next_lender(c, 0); h; h = next_lender(c, h)) {
        const struct run *lender = run_at(c, h);
        uint32_t task = first_descendant(c, lender, before);
        if (!task)
            continue;
        *ret_lender = h;
        *ret_agent = runner_for(c, task, lender).agent;
        return task;
    }
    return 0;
}
