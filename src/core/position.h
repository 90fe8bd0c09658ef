/* position.h: the list of those that lack a prerequisite. Private to core/.
 *
 * Ready tasks are in their classes; the others are nowhere but here, so that a place in the queue can
 * be told without counting. Whoever is looked at and still waits is listed; whoever leaves `waiting`
 * is not. Each project counts its own by what they lack first. */
#pragma once

#include "core/state.h"

void position_list(struct core *c, uint32_t task); /* or counts it anew */
/* It may lack something else than before, or none of its dependencies has failed any more. */
void position_recount(struct core *c, uint32_t task);
void position_unlist(struct core *c, uint32_t task);
void position_unlist_all(struct core *c); /* the order is about to change */
