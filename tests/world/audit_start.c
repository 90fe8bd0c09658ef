/* audit_start.c: was this start allowed, and was it this task's turn?
 *
 * Checked before the books take the slots of the start, so that several starts of one decision are
 * looked at one after the other. */
#include <inttypes.h>

#include "books_internal.h"

/* I3: one run at a time, and no attempt twice. */
static bool audit_attempt(const struct books *b, const struct row *row, const struct order *o) {
    if (row->state != TASK_READY) {
        breach_set(b->breach, "I3", "task %" PRIu64 " starts although it is %s", row->id,
                   task_state_name(row->state));
        return false;
    }
    if (o->attempt != row->attempt + 1 || o->attempt <= row->confirmed_attempt)
        breach_set(b->breach, "I3",
                   "task %" PRIu64 " starts with attempt %" PRIu32 " after %" PRIu32 " (%" PRIu32
                   " was confirmed)",
                   row->id, o->attempt, row->attempt, row->confirmed_attempt);
    return true;
}

/* I13, I14, I18, I22: no gate is closed. */
static void audit_gates(const struct books *b, const struct row *row, unsigned agent) {
    static const char *const invariants[GATE_MAX] = {
        [GATE_PAUSED] = "I22",     [GATE_PROJECT] = "I22",        [GATE_HELD] = "I18",
        [GATE_DEPENDENCY] = "I13", [GATE_PARENT] = "I13",         [GATE_ARTIFACT] = "I13",
        [GATE_BREAKER] = "I18",    [GATE_LIMITER] = "I18",        [GATE_HOST] = "I6",
        [GATE_BUDGET] = "I14",     [GATE_PROJECT_BUDGET] = "I14", [GATE_LEASE] = "I6",
        [GATE_PACE] = "I6",        [GATE_PROBE] = "I13",          [GATE_HOURS] = "I29",
    };
    unsigned key;
    enum gate gate = books_closed_gate(b, row, agent, &key);
    if (gate == GATE_LEASE) {
        bool lock = key >= KEY_WORKSPACE;
        breach_set(b->breach, lock ? "I11" : "I6",
                   "task %" PRIu64 " starts although key %u has %" PRId64 " (+%" PRId64
                   " outside) of %" PRId64 " places taken",
                   row->id, key, b->used[key], b->outside[key], b->cap[key]);
    } else if (gate != GATE_MAX) {
        breach_set(b->breach, invariants[gate], "task %" PRIu64 " starts behind the gate '%s'",
                   row->id, gate_name(gate));
    }
}

/* I15: nothing of an older iteration, nothing below a parent that is gone. */
static void audit_tree(const struct books *b, const struct row *row) {
    const struct row *parent = books_task(b, row->parent);
    if (parent && row->parent_gate == PARENT_DONE && !row->of_older_iteration
        && row->parent_iteration < parent->iteration)
        breach_set(b->breach, "I15",
                   "task %" PRIu64 " of iteration %" PRIu32 " starts, its parent is at %" PRIu32,
                   row->id, row->parent_iteration, parent->iteration);
}

static void audit_names(const struct books *b, const struct row *row, const struct order *o) {
    unsigned agent = index_of(SYM_AGENT, o->agent), limiter = index_of(SYM_LIMITER, o->limiter);
    bool agent_fits = row->agent ? agent == books_runner(b, row) : (agent != 0) == (b->roster > 0);
    if (row->agent && !agent_fits) /* the place of one before it may be reserved */
        agent_fits = books_anyone_overdue(b) && books_may_stand_in(b, row, agent);
    unsigned wanted = row->limiter ? row->limiter : b->agent[agent].limiter;
    if (!agent_fits || limiter != wanted || o->project != sym_of(SYM_PROJECT, row->project)
        || o->workspace != sym_of(SYM_WORKSPACE, row->workspace) || o->score != books_score(b, row))
        breach_set(b->breach, "I7",
                   "task %" PRIu64 " starts with agent %u, limiter %u, score %d"
                   " instead of %u, %u, %d",
                   row->id, agent, limiter, (int)o->score, row->agent, wanted,
                   (int)books_score(b, row));
}

/* I28: its lender waits, is its ancestor and lends to no other; no task could start without that. While
 * a task is overdue, slots may be reserved for it. */
static void audit_lent(const struct books *b, const struct row *row, const struct order *o,
                       unsigned agent) {
    const struct row *lender = books_task(b, o->lender);
    if (!lender || !books_may_lend(lender) || !books_is_descendant(b, row, lender->id)
        || !books_only_lacks(b, lender, row, agent)) {
        breach_set(b->breach, "I28", "task %" PRIu64 " starts with places of %" PRIu64, row->id,
                   o->lender);
        return;
    }
    for (size_t i = 1; i < b->count && b->roster == 0 && !books_anyone_overdue(b); i++) {
        const struct row *other = &b->rows[i];
        unsigned key;
        if (other->state == TASK_READY
            && books_closed_gate(b, other, other->agent, &key) == GATE_MAX)
            breach_set(b->breach, "I28",
                       "task %" PRIu64 " starts with places of another, but task %" PRIu64
                       " needs none",
                       row->id, other->id);
    }
}

/* I16: no other task that could start comes before it. With a roster an agent chooses among its own;
 * while a task is overdue, slots may be reserved for it. */
static void audit_turn(const struct books *b, const struct row *row) {
    if (b->roster > 0 || books_anyone_overdue(b))
        return;
    for (size_t i = 1; i < b->count; i++) {
        const struct row *other = &b->rows[i];
        unsigned key;
        if (other == row || other->state != TASK_READY || !books_before(b, other, row)
            || books_closed_gate(b, other, books_runner(b, other), &key) != GATE_MAX)
            continue;
        breach_set(b->breach, "I16", "task %" PRIu64 " starts, but it is the turn of task %" PRIu64,
                   row->id, other->id);
        return;
    }
}

void audit_start(const struct books *b, const struct row *row, const struct order *o) {
    if (!audit_attempt(b, row, o))
        return;
    unsigned agent = index_of(SYM_AGENT, o->agent);
    audit_names(b, row, o);
    audit_tree(b, row);
    if (o->lender) {
        audit_lent(b, row, o, agent);
        return;
    }
    audit_gates(b, row, agent);
    audit_turn(b, row);
}
