/* books_lend.c: who lends its places to whom (docs/internals/rules.md §3, lending), from orders and facts alone. */
#include "books_internal.h"

/* The LEND bit of a key, or 0. */
unsigned books_lend_bit(unsigned key) {
    if (key == KEY_RUNS)
        return LEND_RUNS;
    if (key > KEY_PROJECT && key <= KEY_PROJECT + PROJECTS)
        return LEND_PROJECT;
    if (key > KEY_KIND && key <= KEY_KIND + KINDS)
        return LEND_KIND;
    if (key > KEY_AGENT && key <= KEY_AGENT + AGENTS)
        return LEND_AGENT;
    return key > KEY_LIMITER && key <= KEY_LIMITER + LIMITERS ? LEND_LIMITER : 0;
}

static bool has_run(const struct row *row) {
    return task_state_is_live(row->state) && row->phase != PHASE_DRAINING;
}

/* Does a borrower down the chain use that slot of it? A validating run uses no limiter. */
bool books_has_lent(const struct books *b, const struct row *row, unsigned bit) {
    const struct row *borrower = row->borrower ? &b->rows[row->borrower] : NULL;
    if (!borrower || !(borrower->borrowed & bit))
        return false;
    return bit != LEND_LIMITER || !borrower->limiter_given || books_has_lent(b, borrower, bit);
}

bool books_can_lend(const struct books *b, const struct row *lender, unsigned key) {
    uint16_t held[HELD_KEYS_MAX];
    size_t count = books_held(b, lender, held);
    amount cap = b->cap[key];
    if (books_lend_bit(key) == LEND_LIMITER)
        cap = limiter_cap(b, key - KEY_LIMITER);
    for (size_t i = 0; i < count; i++) {
        if (held[i] == key)
            return books_lend_bit(key) && cap > 0;
    }
    return false;
}

bool books_may_lend(const struct row *row) {
    return has_run(row) && row->phase == PHASE_WAITING && row->wish == WISH_NONE && !row->borrower;
}

bool books_is_descendant(const struct books *b, const struct row *row, task_id above) {
    while (row && row->parent != above)
        row = books_task(b, row->parent);
    return row != NULL;
}

bool books_only_lacks(const struct books *b, const struct row *lender, const struct row *row,
                      unsigned agent) {
    unsigned key, limiter = row->limiter ? row->limiter : b->agent[agent].limiter;
    enum gate gate = books_closed_gate(b, row, agent, &key);
    if ((gate != GATE_MAX && gate != GATE_LEASE) || !gate_pace(b))
        return false;
    uint16_t needs[HELD_KEYS_MAX];
    size_t count = books_needs(b, row, agent, limiter, needs);
    for (size_t i = 0; i < count; i++) {
        if (!books_can_lend(b, lender, needs[i]) && !books_has_place(b, row, needs[i]))
            return false;
    }
    return true;
}

/* What a row holds follows from those down the chain: a change of one concerns all above it. */
void books_leave_chain(struct books *b, const struct row *row) {
    for (; row; row = row->lender ? &b->rows[row->lender] : NULL)
        books_leave_places(b, row);
}

void books_take_chain(struct books *b, const struct row *row) {
    for (; row; row = row->lender ? &b->rows[row->lender] : NULL)
        books_take_places(b, row);
}

/* Its places are still its own: call it before it counts as started. */
void books_lend(struct books *b, struct row *lender, struct row *row, unsigned agent) {
    unsigned limiter = row->limiter ? row->limiter : b->agent[agent].limiter;
    uint16_t needs[HELD_KEYS_MAX];
    size_t count = books_needs(b, row, agent, limiter, needs);
    row->borrowed = 0;
    for (size_t i = 0; i < count; i++) {
        if (books_can_lend(b, lender, needs[i]))
            row->borrowed |= (uint8_t)books_lend_bit(needs[i]);
    }
    row->lender = lender->id;
    lender->borrower = row->id;
}

/* The run is over: what it has lent on is its own lender's; what was its own stays where it is. */
void books_lend_ended(struct books *b, struct row *row) {
    struct row *lender = row->lender ? &b->rows[row->lender] : NULL;
    struct row *borrower = row->borrower ? &b->rows[row->borrower] : NULL;
    uint8_t passed_on = row->borrowed;
    if (lender)
        lender->borrower = 0;
    row->lender = row->borrower = 0;
    row->borrowed = 0;
    if (!borrower)
        return;
    passed_on &= borrower->borrowed;
    if (borrower->limiter_given && !books_has_lent(b, borrower, LEND_LIMITER))
        passed_on &= (uint8_t)~LEND_LIMITER;
    borrower->lender = 0;
    borrower->borrowed = 0;
    if (!lender || !passed_on)
        return;
    borrower->lender = lender->id;
    borrower->borrowed = passed_on;
    lender->borrower = borrower->id;
}
