/* model_claim.h: places that are reserved for an overdue task (rules, 3 "claim"). */
#pragma once

#include "model_internal.h"

/* Drops it if its task may not hold it any more. True: it did. */
bool model_claim_expire(struct model *m);
bool model_claim_update(struct model *m); /* true: something reserved was given up */
bool model_reserved_for_another(const struct model *m, const struct model_key *key,
                                const struct model_task *asking);
