/* late_store.h: a store that answers when the test says so, as a database on the network would.
 *
 * What it keeps is in the memory store behind it. Until something is held back it answers at once. */
#pragma once

#include "store/store_internal.h"

extern const struct store_backend late_backend;

/* From now on commits, or answers, wait for the test. */
void late_hold_commits(bool hold);
void late_hold_answers(bool hold);
bool late_has_commit(void);
size_t late_answers(void); /* how many questions wait */

/* The commit that waits: OK does it, FAILED and UNKNOWN do not. */
void late_finish_commit(enum store_outcome outcome);
void late_give_answers(void);
void late_fail_answers(void); /* of the questions that wait */

/* The commit with this number, counted from here, fails; 0: none. */
void late_fail_commit(unsigned number);
unsigned late_commits(void); /* since then */

/* It is lost, as by a connection that ends, although no question is pending. Questions that wait are answered. */
void late_lose_store(void);

/* The next load fails; specs are not found any more. */
void late_break_load(bool broken);
void late_lose_specs(bool lost);
void late_reset(void);
