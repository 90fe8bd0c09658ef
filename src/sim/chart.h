/* chart.h: computations that the text chart and the SVG chart share: time axis, rows, lanes,
 * heights. */
#pragma once

#include "base/strbuf.h"
#include "sim/player.h"

struct axis {
    time_ms span; /* from 0 to here; at least 1 */
    time_ms step; /* between two marks */
};

/* At most `marks` marks besides the one at 0. */
struct axis axis_choose(time_ms span, unsigned marks);
/* The label of the mark at `at`: "250 ms", "1:30" (with the unit the axis has), "3 d". */
void axis_label(const struct axis *axis, time_ms at, struct strbuf *out);
/* The unit of the labels: "ms", "m:ss", "h:mm", "days". */
const char *axis_unit(const struct axis *axis);

#define CHART_ALL UINT32_MAX

/* The listed tasks, by project and then by first start; those that never started come last. `ret`
 * has room for task_count; returns the number filled. */
size_t chart_tasks(const struct sim_play *play, uint32_t *ret);

/* The average number of live runs of one project (or CHART_ALL) in each of `columns` equal parts of
 * `span` from the beginning. */
void chart_concurrency(const struct sim_play *play, uint32_t project, time_ms span, size_t columns,
                       double *ret);

/* Assigns each run of a project to its lowest free lane. Fills ret_lanes[run], and the number of
 * lanes of each project. */
void chart_lanes(const struct sim_play *play, uint32_t *ret_lanes, uint32_t *ret_counts);

/* Calls `each` for every interval in which the task was ready or between two attempts. */
typedef void (*chart_interval)(void *ctx, time_ms from, time_ms to);
void chart_waits(const struct sim_play *play, uint32_t id, chart_interval each, void *ctx);
