/* model_lend.h: who waits for its descendants lends them its places (rules, 3 "lending"). */
#pragma once

#include "model_internal.h"

unsigned model_lend_bit(enum lease_kind kind); /* enum lend, or 0 */
bool model_has_lent(const struct model *m, const struct model_task *t, unsigned bit);
struct model_task *model_lend_find(const struct model *m, struct model_task **ret_lender,
                                   sym *ret_agent);
/* Before its run counts. */
unsigned model_lend_bits(const struct model *m, const struct model_task *lender,
                         const struct model_task *t, sym agent);
void model_lend_end(struct model *m, struct model_task *t); /* its run is over */
void model_lend_settle(struct model *m);

/* model_gate.c */
amount model_key_used(const struct model *m, const struct model_key *key,
                      const struct model_task *asking);
bool model_holds(const struct model *m, const struct model_task *t, const struct model_key *key);
bool model_pace_open(const struct model *m);
