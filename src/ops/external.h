/* external.h: external ids that were brought and that a question to the store may not have seen. Private to
 * ops/.
 *
 * The store shows what was committed when it was asked. Two calls that bring the same external id could
 * both be told that it is new, and the commit of the second, with all of its turn, would fail. So who
 * brings one notes it here, and everybody looks here after the store has answered.
 *
 * Life:   externals_begin before the first question → external_add → externals_settle when it is on disk,
 *         or externals_drop when it never will be */
#pragma once

#include <stdbool.h>

#include "core/model.h"

struct engine;

/* Those of one call; zeroed: none. */
struct externals {
    uint32_t first;
    bool asks; /* since externals_begin */
};

void externals_begin(struct externals *of);
/* Texts are borrowed until the end of the call. */
void external_add(struct externals *of, const struct engine *engine, const char *project,
                  const char *id, task_id task);
task_id external_find(const struct engine *engine, const char *project, const char *id); /* or 0 */
/* They stay as long as somebody has asked the store before: its answer may not know them. */
void externals_settle(struct externals *of);
void externals_drop(struct externals *of); /* may be called twice */
