/* journal_internal.h: what the scheduler says in the log. Private to engine/.
 *
 * Lines have the words and the members of the schedulers that they come from, as key=value behind the
 * sentence: docs/daemon.md lists them. */
#pragma once

#include "engine/engine_internal.h"

void journal_see_limiter(struct engine *e, const struct limiter_row *row);
void journal_see_start(struct engine *e, const struct order *order);
