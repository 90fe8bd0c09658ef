/* position.h: the list of those that lack a prerequisite. Private to core/.
 *
 * Ready tasks are in their classes; the others are nowhere but here, so that a place in the queue can
 * be told without counting. Whoever is looked at and still waits is listed; whoever leaves `waiting`
 * is not. */
#pragma once

#include "core/state.h"

void position_list(struct core *c, uint32_t task);
void position_unlist(struct core *c, uint32_t task);
void position_unlist_all(struct core *c); /* the order is about to change */
