/* lease.c: places on limited keys. See lease.h.
 *
 * What a freed place means differs by how many tasks may want it: rare keys (serial, workspace,
 * resource) know who waits and wake one of each class; shared keys only raise the epoch, and the
 * next decision looks at the classes again. */
#include "core/lease.h"

#include <assert.h>

#include "base/hash.h"
#include "core/lend.h"
#include "core/queue.h"
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

/* A place became free for others. */
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
        c->projects[k->owner].best_epoch = 0;
        break;
    case LEASE_KIND:
    case LEASE_AGENT:
    case LEASE_LIMITER:
    case LEASE_ROOTS:
        c->epoch++;
        break;
    case LEASE_TASK:
    case LEASE_PROJECT: /* asked anew in every decision */
    case LEASE_AGENTS:
    case LEASE_RUNS:
    case LEASE_KIND_MAX:
        break;
    }
}

/* Workspaces without a place form a list: crowds of tasks are stopped by them (crowd.h). */
static void workspace_filled(struct core *c, uint32_t handle, bool has_place) {
    struct key *k = key_at(c, handle);
    if (!has_place) {
        k->prev_full = 0;
        k->next_full = c->full_workspaces;
        if (k->next_full)
            key_at(c, k->next_full)->prev_full = handle;
        c->full_workspaces = handle;
        return;
    }
    if (k->prev_full)
        key_at(c, k->prev_full)->next_full = k->next_full;
    else
        c->full_workspaces = k->next_full;
    if (k->next_full)
        key_at(c, k->next_full)->prev_full = k->prev_full;
}

/* After a change: wakes who waited, and keeps count of the keys that are full. */
static void key_changed(struct core *c, uint32_t handle, bool had_place) {
    bool has_place = key_has_place(c, handle, 0);
    if (had_place == has_place)
        return;
    if (key_at(c, handle)->kind == LEASE_WORKSPACE)
        workspace_filled(c, handle, has_place);
    if (handle != c->key_runs)
        c->full_keys += has_place ? UINT32_MAX : 1;
    if (has_place)
        key_opened(c, handle);
}

void key_take(struct core *c, uint32_t handle) {
    bool had_place = key_has_place(c, handle, 0);
    key_at(c, handle)->held++;
    key_changed(c, handle, had_place);
}

void key_give(struct core *c, uint32_t handle) {
    bool had_place = key_has_place(c, handle, 0);
    assert(key_at(c, handle)->held > 0);
    key_at(c, handle)->held--;
    key_changed(c, handle, had_place);
    if (key_at(c, handle)->outside_task) /* free for the one who locked it */
        queue_recheck_parked(c, task_find(c, key_at(c, handle)->outside_task), handle);
}

void key_set_cap(struct core *c, uint32_t handle, amount cap) {
    bool had_place = key_has_place(c, handle, 0);
    key_at(c, handle)->cap = cap;
    key_changed(c, handle, had_place);
}

void key_set_outside(struct core *c, uint32_t handle, amount outside) {
    bool had_place = key_has_place(c, handle, 0);
    key_at(c, handle)->outside = outside;
    key_changed(c, handle, had_place);
}

void key_set_claimed(struct core *c, uint32_t handle, bool claimed) {
    bool had_place = key_has_place(c, handle, 0);
    key_at(c, handle)->claimed = claimed;
    key_changed(c, handle, had_place);
}

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

uint32_t key_workspace(struct core *c, sym name) {
    uint32_t handle = by_symbol_get(&c->workspace_of, name);
    if (!handle) {
        handle = key_new(c, LEASE_WORKSPACE, name, 1);
        by_symbol_set(&c->workspace_of, name, handle);
    }
    return handle;
}

uint32_t key_resource(struct core *c, sym name) {
    uint32_t handle = by_symbol_get(&c->resource_of, name);
    if (!handle) {
        handle = key_new(c, LEASE_RESOURCE, name, UNLIMITED);
        by_symbol_set(&c->resource_of, name, handle);
    }
    return handle;
}

void key_use(struct core *c, uint32_t key) {
    if (key)
        key_at(c, key)->users++;
}

void key_drop_if_unused(struct core *c, uint32_t key) {
    struct key *k = key_at(c, key);
    if (k->users || k->told || k->outside)
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
        need |= TASK_KEEPS_PLACE;
    return need & (uint16_t)~t->flags;
}

void lease_keep(struct core *c, uint32_t task, unsigned keeps) {
    struct task *t = task_at(c, task);
    unsigned which = keeps << TASK_KEEPS_SHIFT & lease_missing_kept(c, t);
    if (which & TASK_KEEPS_ROOTS)
        key_take(c, c->key_roots);
    if (which & TASK_KEEPS_REVIEW)
        key_take(c, c->projects[t->project].key_review);
    if (which & TASK_KEEPS_PLACE)
        key_take(c, c->projects[t->project].key_workspaces);
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
    if (!p->spec.workspaces_kept || (missing & TASK_KEEPS_PLACE))
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

/* Which task-long bit a key belongs to, or 0. */
static uint16_t kept_bit(const struct core *c, const struct task *t, const struct key *k) {
    if (k->kind == LEASE_WORKSPACES && c->projects[t->project].spec.workspaces_kept)
        return TASK_KEEPS_PLACE;
    if (k->kind == LEASE_REVIEW)
        return TASK_KEEPS_REVIEW;
    return k->kind == LEASE_ROOTS ? TASK_KEEPS_ROOTS : 0;
}

void lease_take_all(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    struct task *t = task_at(c, r->task);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, r->agent, r->limiter, needs);
    r->key_count = 0;
    r->kept_new = TASK_KEEPS_LEASE & (uint16_t)~t->flags;
    for (size_t i = 0; i < count; i++) {
        uint16_t kept = kept_bit(c, t, key_at(c, needs[i]));
        if (!r->lender || !lend_pass(c, run, needs[i]))
            key_take(c, needs[i]);
        if (kept)
            r->kept_new |= kept;
        else
            r->keys[r->key_count++] = needs[i];
    }
    t->flags |= r->kept_new;
}

void lease_remove_key(struct run *r, unsigned at) {
    for (unsigned i = at; i + 1 < r->key_count; i++)
        r->keys[i] = r->keys[i + 1];
    r->key_count--;
}

void lease_add_key(const struct core *c, struct run *r, uint32_t key) {
    unsigned at = r->key_count++;
    for (; at > 0 && key_at(c, r->keys[at - 1])->kind > key_at(c, key)->kind; at--)
        r->keys[at] = r->keys[at - 1];
    r->keys[at] = key;
}

void lease_give_run(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    lend_finish(c, run);
    for (unsigned i = 0; i < r->key_count; i++)
        key_give(c, r->keys[i]);
    r->key_count = 0;
}

void lease_give_limiter(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    r->no_api = true;
    lend_finish_limiter(c, run);
    for (unsigned i = 0; i < r->key_count; i++) {
        if (key_at(c, r->keys[i])->kind != LEASE_LIMITER)
            continue;
        key_give(c, r->keys[i]);
        lease_remove_key(r, i);
        return;
    }
}

void lease_give_kept(struct core *c, uint32_t task, uint16_t which) {
    struct task *t = task_at(c, task);
    struct project *p = &c->projects[t->project];
    which &= t->flags & TASK_KEEPS;
    t->flags &= (uint16_t)~which;
    if (which & TASK_KEEPS_ROOTS)
        key_give(c, c->key_roots);
    if (which & TASK_KEEPS_REVIEW)
        key_give(c, p->key_review);
    if (which & TASK_KEEPS_PLACE)
        key_give(c, p->key_workspaces);
}
