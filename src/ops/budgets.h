/* budgets.h: money and tokens of budgets, printed. Private to ops/. */
#pragma once

#include "engine/allowance.h"
#include "ops/print.h"

/* "cost_usd": 0.42; null below 0 and for UNLIMITED. */
void print_usd(struct json_writer *w, const char *key, int64_t micro);

/* {"tokens":{"used","reserved","budget"},"usd":{…},"unknown_cost_runs","window_h","open","opens_at"}
 * of the window; project NULL: of all. */
void print_window(struct json_writer *w, const struct engine *engine,
                  const struct engine_project *project);

/* The member "budget" of a task: of its run, of itself, of its project and of all. */
void print_task_budget(struct json_writer *w, const struct engine *engine, task_id task);
