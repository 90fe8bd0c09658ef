/* late_store.h: a store that answers when the test says so, as a database on the network would.
 *
 * The data is in a memory store behind it. Unless answers are held back, it answers at once. */
#pragma once

#include "store/store_internal.h"

extern const struct store_backend late_backend;

/* From now on commits, or answers, wait for the test. */
void late_hold_commits(bool hold);
void late_hold_answers(bool hold);
bool late_has_commit(void);
size_t late_answers(void); /* number of pending queries */

/* Answers the pending commit: OK commits it, FAILED and UNKNOWN do not. */
void late_finish_commit(enum store_outcome outcome);
void late_give_answers(void);
void late_fail_answers(void); /* of the pending queries */

/* The commit with this number, counted from now on, fails; 0: none. */
void late_fail_commit(unsigned number);
unsigned late_commits(void); /* since then */

/* The daemon dies in the commit with this number, counted from now on, before (`stored`: after) it is on disk: its outcome
 * is UNKNOWN. 0: none. */
void late_crash_commit(unsigned number, bool stored);

/* Simulates a lost connection, also without a pending query. Pending queries are answered. */
void late_lose_store(void);

/* The next load fails; specs are no longer found. */
void late_break_load(bool broken);
void late_lose_specs(bool lost);
void late_reset(void);
