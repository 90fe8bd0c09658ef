/* check.h: does the core say what the books say? Only between turns.
 *
 * docs/internals/invariants.md has each invariant with the function that checks it. */
#pragma once

#include "books.h"

/* After every turn: counts, places, shares, limiters, and every task the turn touched. */
void check_turn(const struct books *b, const struct core *core);

/* Now and then: every task, and everything counted again from the rows. */
void check_all(const struct books *b, const struct core *core);

/* After a decision: no task that could run waits, and the reason shown is the true one. */
void check_no_task_waits_in_vain(const struct books *b, const struct core *core);

/* Everything the core can be asked, as one number. */
uint64_t check_digest(const struct books *b, const struct core *core);
