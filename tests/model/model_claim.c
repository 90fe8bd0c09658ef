/* model_claim.c: one overdue task may reserve places (rules, 3 "claim"). */
#include <stdlib.h>

#include "model_claim.h"
#include "model_failover.h"

bool model_reserved_for_another(const struct model *m, const struct model_key *key,
                                const struct model_task *asking) {
    if (!m->claim.task || m->claim.task == asking->s.id)
        return false;
    for (size_t i = 0; i < m->claim.count; i++)
        if (model_key_same(&m->claim.reserved[i], key))
            return true;
    return false;
}

/* --- who may hold it -------------------------------------------------------------------------- */

static bool keeps_workspaces(const struct model *m, const struct model_task *t) {
    return model_project(m, t->s.project)->spec.workspaces_kept;
}

static bool a_root_is_live(const struct model *m) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (task_state_is_live(m->tasks[i].s.state) && m->tasks[i].s.parent == 0)
            return true;
    return false;
}

static bool one_of_the_project_is_live(const struct model *m, sym project) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (task_state_is_live(m->tasks[i].s.state) && m->tasks[i].s.project == project)
            return true;
    return false;
}

/* A slot that it lacks: could the end of a live run free it? */
static bool may_come_back(const struct model *m, const struct model_task *t,
                          const struct model_key *key) {
    if (model_key_cap(m, key) == 0 || key->kind == LEASE_REVIEW)
        return false;
    if (key->kind == LEASE_WORKSPACE)
        return !model_locked_outside(m, key->name, t);
    if (key->kind == LEASE_ROOTS)
        return a_root_is_live(m);
    if (key->kind == LEASE_WORKSPACES && keeps_workspaces(m, t))
        return one_of_the_project_is_live(m, t->s.project);
    return true;
}

static bool may_hold(const struct model *m, const struct model_task *t) {
    struct model_block block;
    if (!t || t->s.state != TASK_READY || !model_overdue(m, t)
        || model_stopped_before_leases(m, t, model_runner(m, t), &block))
        return false;
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, model_runner(m, t), keys);
    for (size_t i = 0; i < count; i++)
        if (model_lacks(m, &keys[i], t) && !may_come_back(m, t, &keys[i]))
            return false;
    return true;
}

static bool lacks_more_than_runs(const struct model *m, const struct model_task *t) {
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, model_runner(m, t), keys);
    for (size_t i = 0; i < count; i++)
        if (keys[i].kind != LEASE_RUNS && model_lacks(m, &keys[i], t))
            return true;
    return false;
}

/* The first task in order that may hold it. */
static void take(struct model *m) {
    size_t count;
    if (!model_has_overdue(m))
        return;
    size_t *sorted = model_sorted(m, &count);
    for (size_t i = 0; i < count; i++) {
        const struct model_task *t = &m->tasks[sorted[i]];
        if (!may_hold(m, t))
            continue;
        if (lacks_more_than_runs(m, t))
            m->claim = (struct model_claim){ .task = t->s.id };
        break;
    }
    free(sorted);
}

/* --- what it reserves ------------------------------------------------------------------------- */

/* The place of a kind of key in the order in which they are reserved. 0: never. */
static int rank(const struct model *m, const struct model_task *t, enum lease_kind kind) {
    static const int ranks[LEASE_KIND_MAX] = {
        [LEASE_ROOTS] = 1,    [LEASE_SERIAL] = 3,   [LEASE_WORKSPACE] = 4,
        [LEASE_RESOURCE] = 5, [LEASE_PROJECT] = 7,  [LEASE_KIND] = 8,
        [LEASE_AGENT] = 9,    [LEASE_LIMITER] = 10, [LEASE_RUNS] = 11,
    };
    if (kind == LEASE_WORKSPACES)
        return keeps_workspaces(m, t) ? 2 : 6;
    return ranks[kind];
}

static size_t ranked_keys(const struct model *m, const struct model_task *t,
                          struct model_key ret[MODEL_KEYS_MAX]) {
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, model_runner(m, t), keys), n = 0;
    for (int r = 1; r <= 11; r++)
        for (size_t i = 0; i < count; i++)
            if (rank(m, t, keys[i].kind) == r)
                ret[n++] = keys[i];
    return n;
}

static bool is_reserved(const struct model *m, const struct model_key *key) {
    for (size_t i = 0; i < m->claim.count; i++)
        if (model_key_same(&m->claim.reserved[i], key))
            return true;
    return false;
}

/* Reserves the first key it lacks, keeps what it has of those before, and gives up the rest: those
 * after, and keys that it does not need any more. True: it gave something up. */
static bool reserve(struct model *m, const struct model_task *t) {
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = ranked_keys(m, t, keys), kept = 0;
    struct model_claim next = { .task = t->s.id };
    bool lacks = false;
    for (size_t i = 0; i < count && !lacks; i++) {
        lacks = model_lacks(m, &keys[i], t);
        bool reserved = is_reserved(m, &keys[i]);
        kept += reserved;
        if (lacks || reserved)
            next.reserved[next.count++] = keys[i];
    }
    bool gave_up = kept < m->claim.count;
    m->claim = next;
    return gave_up;
}

bool model_claim_expire(struct model *m) {
    bool dropped = m->claim.task && !may_hold(m, model_find(m, m->claim.task));
    if (dropped)
        m->claim = (struct model_claim){ 0 };
    return dropped;
}

bool model_claim_update(struct model *m) {
    bool dropped = model_claim_expire(m);
    if (!m->claim.task)
        take(m);
    if (!m->claim.task)
        return dropped;
    bool gave_up = reserve(m, model_find(m, m->claim.task));
    return dropped || gave_up;
}
