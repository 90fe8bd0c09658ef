/* chart.h: what both charts, text and SVG, need to know about a play before they draw it. */
#pragma once

#include "sim/player.h"

#define CHART_ALL UINT32_MAX

/* Tasks that took part, by project, inside one by their first start; those that never started are
 * last. `ret` has room for task_count; returns how many. */
size_t chart_tasks(const struct sim_play *play, uint32_t *ret);

/* How many runs of one project (or CHART_ALL) lived on average in each of `columns` equal parts of
 * `span` from the beginning. */
void chart_concurrency(const struct sim_play *play, uint32_t project, time_ms span, size_t columns,
                       double *ret);

/* Puts each run of a project on the lowest lane that is free: ret_lanes[run], and the number of
 * lanes of each project. */
void chart_lanes(const struct sim_play *play, uint32_t *ret_lanes, uint32_t *ret_counts);

/* Calls `each` for every stretch in which the task was ready or between two attempts. */
typedef void (*chart_stretch)(void *ctx, time_ms from, time_ms to);
void chart_waits(const struct sim_play *play, uint32_t id, chart_stretch each, void *ctx);
