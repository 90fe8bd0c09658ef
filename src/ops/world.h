/* world.h: projects, agents, limiters, groups and what they use, in an answer. Private to ops/. */
#pragma once

#include "ops/print.h"

/* What all projects together have: the sums that shares are parts of. */
struct world_sums {
    int64_t tokens, weight_milli;
    int64_t open; /* projects that are */
};
/* The part that a project ought to get, by its weight among the open ones; without weights in equal parts. */
double world_target(const struct share_view *share, const struct world_sums *sums);
void world_sum(const struct engine *engine, struct world_sums *ret);

void world_print_project(struct json_writer *w, const struct engine *engine,
                         const struct engine_project *project, const struct world_sums *sums);
void world_print_limiter(struct json_writer *w, const struct engine *engine, const char *name);
void world_print_group(struct json_writer *w, const struct engine_group *group);

/* Tokens reported in the window, and those reserved for live runs. project NULL: all of them, and what
 * belongs to none. */
void world_tokens(const struct engine *engine, const struct engine_project *project,
                  int64_t *ret_used, int64_t *ret_reserved);

/* Every limit that has a cap or is used: "runs", "kind:plan". */
typedef void (*world_limit)(void *ctx, const char *key, amount used, amount cap);
void world_each_limit(const struct engine *engine, world_limit each, void *ctx);
/* [{"key","used","cap"}]: every limit that has a cap or is used. */
void world_print_limits(struct json_writer *w, const struct engine *engine);
/* [{"key","used","reserved","cap"}] */
void world_print_budgets(struct json_writer *w, const struct engine *engine);
