/* books_answer.c: what core_apply must say to a fact: docs/internals/rules.md §4, the table and its
 * exceptions. Asked only while the books know every state. */
#include <string.h>

#include "books_internal.h"

#define NO_OPINION 2
#define IN(state)  (1u << TASK_##state)
#define REST       (IN(WAITING) | IN(READY) | IN(HELD))
#define FINAL      (IN(DONE) | IN(FAILED) | IN(CANCELED) | IN(INVALIDATED))

static int only_in(const struct row *row, unsigned states) {
    return (states >> row->state) & 1u ? 0 : -1;
}

static bool waits_for_verdict(const struct row *row) {
    return row->state == TASK_HELD && (row->hold == HOLD_REVIEW || row->hold == HOLD_EXTERNAL);
}

static int answer_dependencies(struct books *b, const struct row *row, const struct fact *fact) {
    if (only_in(row, IN(DRAFT) | REST) < 0)
        return -1;
    for (size_t i = 0; i < fact->dependencies.count; i++) {
        if (books_waits_for(b, fact->dependencies.items[i], row->id, false))
            return -1;
    }
    return 0;
}

static int answer_forget(const struct books *b, const struct row *row) {
    if (only_in(row, FINAL) < 0 || (row->group && b->group[row->group].open > 0))
        return -1;
    for (size_t i = 1; i < b->count; i++) {
        const struct row *other = &b->rows[i];
        if (other->state == TASK_ABSENT || task_state_is_final(other->state))
            continue;
        if (other->parent == row->id)
            return -1;
        for (unsigned k = 0; k < other->dependency_count; k++) {
            if (other->depends_on[k] == row->id)
                return -1;
        }
    }
    return 0;
}

static int answer_spent(const struct row *row) {
    bool known = row->hold == HOLD_BUDGET && row->not_before == 0;
    if (row->state == TASK_HELD
        && (known || row->hold == HOLD_PERSON || row->hold == HOLD_QUESTION
            || row->hold == HOLD_CHECK || row->hold == HOLD_CANDIDATES || row->hold == HOLD_TAKEN
            || waits_for_verdict(row)))
        return 1;
    return only_in(row, REST);
}

static int answer_candidates(const struct row *row, enum candidates what) {
    bool queued = row->state == TASK_WAITING || row->state == TASK_READY;
    bool held = row->state == TASK_HELD && row->hold == HOLD_CANDIDATES;
    if (what == CANDIDATES_WORK)
        return queued ? 0 : -1;
    return held || (queued && what == CANDIDATES_REVIEW) ? 0 : -1;
}

static int answer_take(const struct row *row) {
    if (task_state_is_live(row->state))
        return row->hold == HOLD_TAKEN || row->wish != WISH_NONE || row->phase == PHASE_DRAINING
                       || row->phase == PHASE_STOPPING
                   ? -1
                   : 0;
    if (row->state == TASK_HELD)
        return row->hold == HOLD_CANDIDATES ? -1 : 0;
    if (row->state == TASK_WAITING || row->state == TASK_READY)
        return row->hold == HOLD_TAKEN ? -1 : 0;
    return only_in(row, IN(DONE) | IN(FAILED) | IN(CANCELED));
}

static int answer_marked(const struct row *row) {
    bool counts = only_in(row, REST) == 0 && row->until == UNTIL_DONE && row->hold != HOLD_TAKEN;
    return counts ? 0 : 1;
}

static int answer_approve(const struct row *row) {
    bool is_taken = row->state == TASK_HELD && row->hold == HOLD_TAKEN;
    return waits_for_verdict(row) || is_taken ? 0 : -1;
}

static int answer_unanswered(const struct row *row) {
    if (row->state == TASK_HELD)
        return row->hold == HOLD_QUESTION ? 0 : -1;
    return row->state == TASK_WAITING && row->probe_closed ? 0 : -1;
}

static int answer_task(struct books *b, const struct row *row, const struct fact *fact) {
    switch ((int)fact->kind) {
    case FACT_SLING:
        return row->state == TASK_DRAFT ? 0 : 1;
    case FACT_HOLD:
    case FACT_CLEAR:
        return only_in(row, REST);
    case FACT_RELEASE:
        return waits_for_verdict(row) ? -1 : only_in(row, IN(HELD));
    case FACT_SPENT:
        return answer_spent(row);
    case FACT_CANCEL:
        return task_state_is_final(row->state) ? 1 : 0;
    case FACT_RETRY:
        return only_in(row, IN(FAILED) | IN(CANCELED));
    case FACT_AGAIN:
        return only_in(row, IN(DONE));
    case FACT_TAKE:
        return answer_take(row);
    case FACT_APPROVE:
        return answer_approve(row);
    case FACT_REJECT:
        return waits_for_verdict(row) ? 0 : -1;
    case FACT_MARKED:
        return answer_marked(row);
    case FACT_PRIORITY:
        return task_state_is_final(row->state) ? -1 : 0;
    case FACT_DEPENDENCIES:
        return answer_dependencies(b, row, fact);
    case FACT_ARTIFACT:
    case FACT_PROBE:
        return 0;
    case FACT_UNANSWERED:
        return answer_unanswered(row);
    case FACT_CANDIDATES:
        return answer_candidates(row, fact->candidates);
    case FACT_DELETE:
        return task_state_is_live(row->state) ? -1 : 0;
    case FACT_FORGET:
        return answer_forget(b, row);
    default:
        return NO_OPINION;
    }
}

static int answer_run(const struct row *row, const struct fact *fact) {
    bool starts = fact->kind == FACT_ORDER_REFUSED || fact->kind == FACT_RUN_STARTED;
    if (!task_state_is_live(row->state) || row->attempt != fact->attempt
        || row->phase == PHASE_DRAINING || (starts && row->state != TASK_STARTING))
        return 1;
    bool works = row->phase == PHASE_WORKING || row->phase == PHASE_WAITING;
    if (fact->kind == FACT_RUN_PHASE)
        return works && fact->phase != row->phase ? 0 : 1;
    if (fact->kind == FACT_RUN_LIMITED)
        return row->run_limiter ? 0 : 1;
    return 0;
}

int books_answer(struct books *b, const struct fact *fact) {
    if (fact->kind == FACT_CLOCK)
        return b->clock_applied && fact->now < b->now ? 1 : 0;
    if (fact->kind == FACT_TASK_ADDED)
        return books_task(b, fact->spec->id) ? -1 : NO_OPINION;
    if (fact->kind < FACT_TASK_ADDED || fact->kind == FACT_LIMITER_CLEAR)
        return NO_OPINION;
    const struct row *row = books_task(b, fact->task);
    if (!row)
        return -1;
    return fact->kind < FACT_ORDER_REFUSED ? answer_task(b, row, fact) : answer_run(row, fact);
}
