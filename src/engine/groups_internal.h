/* groups_internal.h: groups, as the turn knows them. Private to engine/.
 *
 * Part of engine_internal.h, which includes it. */
#pragma once

#include "engine/engine_internal.h"

/* At the beginning of a turn. */
void group_from_row(struct engine *e, const struct group_row *row);
/* A task of it is no more: it goes with the last one. 0: of none. */
void group_left(struct engine *e, uint32_t id);
void groups_on_order(struct engine *e, const struct order *order);
