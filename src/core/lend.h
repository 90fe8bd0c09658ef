/* lend.h: a run that waits for its own descendants lends them its places. Private to core/.
 *
 * A run in PHASE_WAITING does nothing, yet it holds its places: at a cap of one its child could never
 * start, and both would wait for ever. So it lends to one descendant at a time the places that both need
 * (enum lend). The place is passed on: the one has it no more, the other has it, and how many are
 * taken never changes. What the borrower gives back goes to its lender, before anybody else.
 *
 * lender and borrower name each other by their runs. When a run ends that has itself lent what it
 * borrowed, its own lender and its borrower are made known to each other: nobody's place is lost in
 * the middle of a chain. */
#pragma once

#include "core/state.h"

/* The task of a run, or 0. */
task_id lend_task(const struct core *c, uint32_t run);

/* A run begins with the places of another that waits; lease_take_all then asks lend_pass for each key. */
void lend_link(struct core *c, uint32_t lender, uint32_t borrower);
/* True: the run has its lender's place on this key now. */
bool lend_pass(struct core *c, uint32_t run, uint32_t key);

/* The run is about to give up everything, or what it has at its limiter: what is lent goes back. */
void lend_finish(struct core *c, uint32_t run);
void lend_finish_limiter(struct core *c, uint32_t run);

/* A live run was told with a lender; that one may come later while rows are told. */
void lend_told(struct core *c, uint32_t run, const struct task_spec *spec);
void lend_loaded(struct core *c);

/* The oldest waiting run that lends to nobody and has a descendant that only lacks places it could get
 * from it; of its descendants the first in order. Returns that task, or 0. `ret_agent`: who takes it. */
uint32_t lend_find(struct core *c, bool (*before)(const struct core *c, uint32_t a, uint32_t b),
                   uint32_t *ret_lender, uint32_t *ret_agent);
