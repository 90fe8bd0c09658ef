/* check.c: see check.h. */
#include "check.h"

#include <inttypes.h>
#include <string.h>

#include "../model/gate_count.h"
#include "base/hash.h"
#include "books_internal.h"
#include "core/core.h"

/* --- tasks ----------------------------------------------------------------------------------- */

static const char *run_difference(const struct row *row, const struct task_view *v) {
    bool live = task_state_is_live(row->state);
    if (live && v->phase != row->phase)
        return "phase";
    if (v->lender != row->lender || v->borrower != row->borrower)
        return "who lends";
    return live && v->started_at != row->started_at ? "start of the run" : NULL;
}

static const char *difference(const struct books *b, const struct row *row,
                              const struct task_view *v) {
    bool live = task_state_is_live(row->state);
    bool ready = row->state == TASK_READY;
    if (v->state != row->state)
        return "state";
    if (v->hold != row->hold)
        return "hold";
    if (v->iteration != row->iteration || v->attempt != row->attempt)
        return "iteration or attempt";
    if (v->failures != row->failures || v->launch_failures != row->launch_failures
        || v->losses != row->losses || v->restarts != row->restarts)
        return "counters";
    if (run_difference(row, v))
        return run_difference(row, v);
    if ((row->state == TASK_HELD || (live && row->phase == PHASE_DRAINING))
        && v->not_before != row->not_before)
        return "time at which it goes on";
    if (v->priority != row->priority || v->created_at != row->created_at
        || v->project != sym_of(SYM_PROJECT, row->project) || v->kind != sym_of(SYM_KIND, row->kind)
        || v->workspace != sym_of(SYM_WORKSPACE, row->workspace)
        || v->limiter != sym_of(SYM_LIMITER, books_limiter_of(b, row)))
        return "what was submitted";
    if (v->agent != sym_of(SYM_AGENT, live ? row->run_agent : row->agent))
        return "agent";
    if (v->parent != row->parent)
        return "parent";
    if (v->depth != books_depth(b, row))
        return "depth";
    if (v->score != books_score(b, row))
        return "score";
    if (ready && (v->waited != books_waited(b, row) || v->overdue != books_overdue(b, row)))
        return "wait";
    return NULL;
}

static void check_task(const struct books *b, const struct core *core, const struct row *row) {
    struct task_view view;
    bool there = core_task(core, row->id, &view);
    if (there != (row->state != TASK_ABSENT)) {
        breach_set(b->breach, "I1", "task %" PRIu64 " is %s", row->id,
                   there ? "there although it went" : "gone");
        return;
    }
    if (!there)
        return;
    const char *what = difference(b, row, &view);
    if (what)
        breach_set(b->breach, "I7",
                   "task %" PRIu64
                   " (%s, %s): the %s differs; the core says %s, %s, attempt %" PRIu32
                   ", depth %" PRIu32 ", waited %" PRId64 ", until %" PRId64,
                   row->id, task_state_name(row->state), hold_name(row->hold), what,
                   task_state_name(view.state), hold_name(view.hold), view.attempt, view.depth,
                   view.waited, view.not_before);
}

/* I13, I15: what must hold for a task at rest, whatever happened to it. */
static void check_rest(const struct books *b, const struct row *row) {
    bool queued = row->state == TASK_WAITING || row->state == TASK_READY;
    if (queued && (row->state == TASK_READY) != books_prerequisites(b, row))
        breach_set(b->breach, "I13", "task %" PRIu64 " is %s, its prerequisites are %s", row->id,
                   task_state_name(row->state), row->state == TASK_READY ? "missing" : "met");
    for (unsigned i = 0; i < row->dependency_count && b->policy.dependency_fails; i++) {
        const struct row *on = books_task(b, row->depends_on[i]);
        bool waits =
            queued
            || (row->state == TASK_HELD && row->hold != HOLD_REVIEW && row->hold != HOLD_EXTERNAL);
        if (waits && on && task_state_is_final(on->state) && on->state != TASK_DONE)
            breach_set(b->breach, "I13",
                       "task %" PRIu64 " is %s, but its dependency %" PRIu64 " is %s", row->id,
                       task_state_name(row->state), on->id, task_state_name(on->state));
    }
    if (task_state_is_live(row->state) && row->phase == PHASE_DRAINING
        && !books_keeps_parent_draining(b, row))
        breach_set(b->breach, "I8", "task %" PRIu64 " drains, but no child keeps it", row->id);
    const struct row *parent = books_task(b, row->parent);
    bool older = parent && row->parent_gate == PARENT_DONE && !row->of_older_iteration
                 && row->parent_iteration < parent->iteration;
    bool stopping = task_state_is_live(row->state) && row->phase == PHASE_STOPPING;
    bool may_stay = stopping || row->state == TASK_FAILED || row->state == TASK_CANCELED
                    || row->state == TASK_INVALIDATED;
    if (older && !may_stay)
        breach_set(b->breach, "I15", "task %" PRIu64 " of an older iteration is still %s", row->id,
                   task_state_name(row->state));
}

/* --- counts and places ----------------------------------------------------------------------- */

static enum lease_kind lease_of(unsigned key, sym *ret_name) {
    static const struct {
        unsigned begin;
        enum lease_kind kind;
        sym range;
    } ranges[] = {
        { KEY_WORKSPACE, LEASE_WORKSPACE, SYM_WORKSPACE },
        { KEY_RESOURCE, LEASE_RESOURCE, SYM_RESOURCE },
        { KEY_LIMITER, LEASE_LIMITER, SYM_LIMITER },
        { KEY_AGENT, LEASE_AGENT, SYM_AGENT },
        { KEY_KIND, LEASE_KIND, SYM_KIND },
        { KEY_REVIEW, LEASE_REVIEW, SYM_PROJECT },
        { KEY_PLACES, LEASE_WORKSPACES, SYM_PROJECT },
        { KEY_PROJECT, LEASE_PROJECT, SYM_PROJECT },
    };
    *ret_name = 0;
    if (key >= KEY_SERIAL)
        return LEASE_SERIAL;
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        if (key < ranges[i].begin)
            continue;
        *ret_name = sym_of(ranges[i].range, key - ranges[i].begin);
        return ranges[i].kind;
    }
    return key == KEY_ROOTS ? LEASE_ROOTS : LEASE_RUNS;
}

/* I5: a place is held by exactly those that the lease table names. */
static void check_places(const struct books *b, const struct core *core) {
    for (unsigned key = 0; key < KEY_SERIAL; key++) {
        sym name;
        enum lease_kind kind = lease_of(key, &name);
        amount used, cap;
        if (!b->applied[key])
            continue;
        if (!core_lease(core, kind, name, &used, &cap)) {
            bool rare = kind == LEASE_WORKSPACE || kind == LEASE_RESOURCE;
            if (rare && b->used[key] + b->outside[key] == 0)
                continue; /* no task names it any more */
            breach_set(b->breach, "I5", "key %s %u is not known", lease_kind_name(kind), name);
            return;
        }
        if (used != b->used[key] + b->outside[key])
            breach_set(b->breach, "I5", "%" PRId64 " places of %s %u are taken instead of %" PRId64,
                       used, lease_kind_name(kind), name, b->used[key] + b->outside[key]);
        if (kind != LEASE_LIMITER && cap != b->cap[key])
            breach_set(b->breach, "I6", "%s %u has %" PRId64 " places instead of %" PRId64,
                       lease_kind_name(kind), name, cap, b->cap[key]);
    }
    for (unsigned key = KEY_WORKSPACE; key < KEY_MAX; key++) {
        if (b->used[key] > 1)
            breach_set(b->breach, "I11", "lock %u has %" PRId64 " holders", key, b->used[key]);
    }
}

/* I7: the core's counters are those of the rows. */
static void check_counts(const struct books *b, const struct core *core) {
    struct core_counts counts;
    core_count(core, &counts);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        if (counts.by_state[s] != b->by_state[s])
            breach_set(b->breach, "I7", "%u tasks are %s instead of %u", counts.by_state[s],
                       task_state_name((enum task_state)s), b->by_state[s]);
    }
    for (unsigned k = 1; k <= KINDS; k++) {
        if (core_queue_depth(core, sym_of(SYM_KIND, k)) != b->queued[k])
            breach_set(b->breach, "I7", "kind %u: %" PRId64 " are queued instead of %u", k,
                       core_queue_depth(core, sym_of(SYM_KIND, k)), b->queued[k]);
    }
    if (core_queue_depth(core, 0) != (amount)b->by_state[TASK_WAITING] + b->by_state[TASK_READY])
        breach_set(b->breach, "I7", "the queue is %" PRId64 " tasks long",
                   core_queue_depth(core, 0));
    for (unsigned g = 1; g <= GROUPS; g++) {
        const struct group_book *group = &b->group[g];
        if (group->total > 0 && group->reported_closed != (group->open == 0))
            breach_set(b->breach, "I7", "group %u was told to be %s with %u open tasks", g,
                       group->reported_closed ? "closed" : "open", group->open);
    }
}

/* I7, I14: tokens, starts and completions in the window. */
static void check_shares(const struct books *b, const struct core *core) {
    for (unsigned p = 1; p <= PROJECTS; p++) {
        const struct project_book *project = &b->project[p];
        struct share_view v;
        if (!b->applied[KEY_PROJECT + p])
            continue;
        (void)core_share(core, sym_of(SYM_PROJECT, p), &v);
        if (v.tokens != project->window.sum.share || v.reserved != share_reserved(b, p))
            breach_set(b->breach, "I14",
                       "project %u: %" PRId64 " tokens, %" PRId64 " reserved instead of %" PRId64
                       ", %" PRId64,
                       p, v.tokens, v.reserved, project->window.sum.share, share_reserved(b, p));
        struct budgets_view money = { 0 };
        (void)core_budgets(core, sym_of(SYM_PROJECT, p), &money);
        if (money.money.used != project->window.sum.money
            || money.money.reserved != share_money_reserved(b, p)
            || money.unpriced != project->window.sum.unpriced)
            breach_set(b->breach, "I14",
                       "project %u: %" PRId64 " spent, %" PRId64 " reserved, %u unknown instead of "
                       "%" PRId64 ", %" PRId64 ", %u",
                       p, money.money.used, money.money.reserved, money.unpriced,
                       project->window.sum.money, share_money_reserved(b, p),
                       project->window.sum.unpriced);
        if (v.starts != project->window.sum.starts
            || v.completions != project->window.sum.completions || v.ready != project->ready
            || v.live != project->live)
            breach_set(b->breach, "I7",
                       "project %u: %u starts, %u completions, %u ready, %u live"
                       " instead of %u, %u, %u, %u",
                       p, v.starts, v.completions, v.ready, v.live, project->window.sum.starts,
                       project->window.sum.completions, project->ready, project->live);
    }
}

/* I6, I18: backoff, hits and the cap of each limiter. */
static void check_limiters(const struct books *b, const struct core *core) {
    for (unsigned l = 1; l <= LIMITERS; l++) {
        const struct limiter_book *limiter = &b->limiter[l];
        struct limiter_view v;
        if (!b->applied[KEY_LIMITER + l])
            continue;
        (void)core_limiter(core, sym_of(SYM_LIMITER, l), &v);
        time_ms until = limiter->until > b->now ? limiter->until : 0;
        if (v.backoff_until != until || v.hits != limiter->hits || v.closed != limiter->closed)
            breach_set(b->breach, "I18",
                       "limiter %u: %u hits, until %" PRId64 " instead of %u, %" PRId64, l, v.hits,
                       v.backoff_until, limiter->hits, until);
        if (v.last_success != limiter->last_success)
            breach_set(b->breach, "I18",
                       "limiter %u: the last success was at %" PRId64 " instead of %" PRId64, l,
                       v.last_success, limiter->last_success);
        if (until == 0 && v.cap != limiter_cap(b, l))
            breach_set(b->breach, "I6", "limiter %u has %" PRId64 " places instead of %" PRId64, l,
                       v.cap, limiter_cap(b, l));
    }
}

void check_turn(const struct books *b, const struct core *core) {
    check_counts(b, core);
    check_places(b, core);
    check_shares(b, core);
    check_limiters(b, core);
    for (size_t i = 0; i < b->touched_count; i++) {
        const struct row *row = books_row(b, b->touched[i]);
        check_task(b, core, row);
        if (row->state != TASK_ABSENT)
            check_rest(b, row);
    }
}

/* I7: who waits at which gate is counted as if each were asked. */
static void check_gate_counts(const struct books *b, const struct core *core) {
    struct strbuf text = STRBUF_INIT;
    if (!gate_count_check(core, &text))
        breach_set(b->breach, "I7", "%s", strbuf_text(&text));
    strbuf_finish(&text);
}

void check_all(const struct books *b, const struct core *core) {
    amount used[KEY_MAX] = { 0 };
    uint32_t by_state[TASK_STATE_MAX] = { 0 };
    for (size_t i = 1; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        uint16_t keys[HELD_KEYS_MAX];
        check_task(b, core, row);
        if (row->state == TASK_ABSENT)
            continue;
        check_rest(b, row);
        by_state[row->state]++;
        size_t count = books_held(b, row, keys);
        for (size_t k = 0; k < count; k++)
            used[keys[k]]++;
    }
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        if (by_state[s] != b->by_state[s])
            breach_set(b->breach, "I7", "the books count %u tasks as %s, there are %u",
                       b->by_state[s], task_state_name((enum task_state)s), by_state[s]);
    }
    for (unsigned key = 0; key < KEY_MAX; key++) {
        if (used[key] != b->used[key])
            breach_set(b->breach, "I5",
                       "the books count %" PRId64 " places of key %u, %" PRId64 " are held",
                       b->used[key], key, used[key]);
    }
    check_gate_counts(b, core);
}

/* --- I21 ------------------------------------------------------------------------------------- */

/* With a roster, a free slot counts only if an idle agent may take the task. */
static bool roster_could_start(const struct books *b, const struct row *row) {
    for (unsigned a = 1; a <= AGENTS; a++) {
        unsigned key;
        if (b->agent[a].roster && (!row->agent || row->agent == a)
            && books_closed_gate(b, row, a, &key) == GATE_MAX)
            return true;
    }
    return false;
}

static bool same_gate(enum gate mine, unsigned key, const struct verdict *v) {
    sym name;
    if (mine != v->gate)
        return false;
    if (mine != GATE_LEASE)
        return true;
    return lease_of(key, &name) == v->lease && (v->lease == LEASE_SERIAL || name == v->key);
}

static void check_waiter(const struct books *b, const struct core *core, const struct row *row,
                         bool reserved) {
    struct verdict verdict = { .gate = GATE_MAX };
    unsigned key = KEY_MAX;
    if (b->roster > 0) {
        if (row->state == TASK_READY && roster_could_start(b, row))
            breach_set(b->breach, "I21",
                       "task %" PRIu64 " is ready and an idle agent could take it", row->id);
        return;
    }
    bool blocked = core_blocked(core, row->id, &verdict);
    if (row->state == TASK_READY && !blocked) {
        breach_set(b->breach, "I21", "task %" PRIu64 " is ready, all its gates are open", row->id);
        return;
    }
    enum gate gate = books_closed_gate(b, row, books_runner(b, row), &key);
    if (reserved && (gate == GATE_MAX || gate == GATE_LEASE || gate == GATE_PACE)
        && (verdict.gate == GATE_LEASE || verdict.gate == GATE_PACE))
        return;
    if (gate == GATE_MAX && row->state == TASK_READY)
        breach_set(b->breach, "I21", "task %" PRIu64 " could run, but waits for '%s' (%s)", row->id,
                   gate_name(verdict.gate), lease_kind_name(verdict.lease));
    else if (blocked && !same_gate(gate, key, &verdict))
        breach_set(b->breach, "I21",
                   "task %" PRIu64 " waits for '%s' (key %u), the reason shown is"
                   " '%s' (%s)",
                   row->id, gate == GATE_MAX ? "nothing" : gate_name(gate), key,
                   gate_name(verdict.gate), lease_kind_name(verdict.lease));
}

/* I28: a waiting run has no task left to lend to. */
static void check_lending(const struct books *b, const struct row *row) {
    for (size_t i = 1; i < b->count; i++) {
        const struct row *lender = &b->rows[i];
        if (lender->state == TASK_ABSENT || !books_may_lend(lender)
            || !books_is_descendant(b, row, lender->id))
            continue;
        unsigned agent = b->roster == 0 ? books_runner(b, row)
                         : row->agent   ? row->agent
                                        : lender->run_agent;
        if ((b->roster == 0 || b->agent[agent].roster) && books_only_lacks(b, lender, row, agent))
            breach_set(b->breach, "I28",
                       "task %" PRIu64 " could start with the places of task %" PRIu64, row->id,
                       lender->id);
    }
}

void check_no_task_waits_in_vain(const struct books *b, const struct core *core) {
    bool reserved = books_anyone_overdue(b);
    for (size_t i = 1; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        if (row->state == TASK_WAITING || row->state == TASK_READY || row->state == TASK_HELD)
            check_waiter(b, core, row, reserved);
        if (row->state == TASK_READY && row->parent)
            check_lending(b, row);
    }
}

/* --- digest ---------------------------------------------------------------------------------- */

uint64_t check_digest(const struct books *b, const struct core *core) {
    struct core_counts counts;
    core_count(core, &counts);
    uint64_t digest = hash_bytes(counts.by_state, sizeof(counts.by_state));
    for (unsigned key = 0; key < KEY_SERIAL; key++) {
        sym name;
        amount used = 0, cap = 0;
        enum lease_kind kind = lease_of(key, &name);
        if (b->applied[key] && core_lease(core, kind, name, &used, &cap))
            digest = hash_mix(digest, (uint64_t)used * 31 + (uint64_t)cap);
    }
    for (unsigned p = 1; p <= PROJECTS; p++) {
        struct share_view share = { 0 };
        if (core_share(core, sym_of(SYM_PROJECT, p), &share)) {
            digest = hash_mix(digest, (uint64_t)share.tokens);
            digest = hash_mix(digest, (uint64_t)share.reserved);
            digest = hash_mix(digest, ((uint64_t)share.starts << 32) | share.completions);
        }
    }
    for (size_t i = 1; i < b->count; i++) {
        struct task_view v;
        if (!core_task(core, i, &v))
            continue;
        digest = hash_mix(digest, ((uint64_t)v.state << 32) | v.attempt);
        digest = hash_mix(digest, ((uint64_t)v.iteration << 32) | v.failures);
        digest = hash_mix(digest, ((uint64_t)v.phase << 32) | v.launch_failures);
        digest = hash_mix(digest, (uint64_t)v.not_before);
    }
    return digest;
}
