/* chart.c: see chart.h. */
#include "sim/chart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Round times: 5, 15 and 30 minutes, not 7. */
static const time_ms axis_steps[] = {
    1,           2,          5,          10,         20,          50,          100,
    200,         500,        SECONDS(1), SECONDS(2), SECONDS(5),  SECONDS(10), SECONDS(15),
    SECONDS(30), MINUTES(1), MINUTES(2), MINUTES(5), MINUTES(10), MINUTES(15), MINUTES(30),
    HOURS(1),    HOURS(2),   HOURS(3),   HOURS(6),   HOURS(12),   DAYS(1),     DAYS(2),
    DAYS(7),     DAYS(14),   DAYS(30),   DAYS(90),   DAYS(365),
};

struct axis axis_choose(time_ms span, unsigned marks) {
    struct axis axis = { .span = span < 1 ? 1 : span, .step = axis_steps[0] };
    if (marks < 1)
        marks = 1;
    for (size_t i = 0; i < ARRAY_SIZE(axis_steps) && axis.span / axis.step > (time_ms)marks; i++)
        axis.step = axis_steps[i];
    while (axis.span / axis.step > (time_ms)marks)
        axis.step *= 2;
    return axis;
}

void axis_label(const struct axis *axis, time_ms at, struct strbuf *out) {
    if (axis->step < SECONDS(1))
        strbuf_printf(out, "%" PRId64, at);
    else if (axis->step < MINUTES(1))
        strbuf_printf(out, "%" PRId64 ":%02" PRId64, at / MINUTES(1), at / 1000 % 60);
    else if (axis->step < DAYS(1))
        strbuf_printf(out, "%" PRId64 ":%02" PRId64, at / HOURS(1), at / MINUTES(1) % 60);
    else
        strbuf_printf(out, "%" PRId64 " d", at / DAYS(1));
}

const char *axis_unit(const struct axis *axis) {
    if (axis->step < SECONDS(1))
        return "ms";
    if (axis->step < MINUTES(1))
        return "m:ss";
    return axis->step < DAYS(1) ? "h:mm" : "days";
}

struct chart_row {
    uint32_t task, project;
    time_ms first;
};

static int row_compare(const void *left, const void *right) {
    const struct chart_row *a = left, *b = right;
    if (a->project != b->project)
        return a->project < b->project ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

size_t chart_tasks(const struct sim_play *play, uint32_t *ret) {
    struct chart_row *rows = xcalloc(play->task_count + 1, sizeof(*rows));
    time_ms *first = xcalloc(play->task_count + 1, sizeof(*first));
    for (size_t i = 0; i <= play->task_count; i++)
        first[i] = TIME_NEVER;
    for (size_t i = play->run_count; i > 0; i--)
        first[play->runs[i - 1].task] = play->runs[i - 1].start;
    size_t count = 0;
    for (uint32_t i = 1; i <= play->task_count; i++)
        if (play->tasks[i].listed)
            rows[count++] = (struct chart_row){ i, play->tasks[i].project, first[i] };
    if (count > 1)
        qsort(rows, count, sizeof(*rows), row_compare);
    for (size_t i = 0; i < count; i++)
        ret[i] = rows[i].task;
    free(rows);
    free(first);
    return count;
}

static void spread(double *cells, double *steps, size_t columns, double from, double to) {
    if (from < 0)
        from = 0;
    if (to > (double)columns)
        to = (double)columns;
    if (to <= from)
        return;
    size_t first = (size_t)from, last = (size_t)to;
    if (first == last) {
        cells[first] += to - from;
        return;
    }
    cells[first] += (double)(first + 1) - from;
    if (last < columns)
        cells[last] += to - (double)last;
    steps[first + 1] += 1; /* full columns in between, as differences that the caller sums */
    steps[last] -= 1;
}

void chart_concurrency(const struct sim_play *play, uint32_t project, time_ms span, size_t columns,
                       double *ret) {
    double *steps = xcalloc(columns + 2, sizeof(*steps));
    memset(ret, 0, columns * sizeof(*ret));
    double scale = (double)columns / (double)(span < 1 ? 1 : span);
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        if (project == CHART_ALL || play->tasks[run->task].project == project)
            spread(ret, steps, columns, (double)(run->start - play->begin) * scale,
                   (double)(run->end - play->begin) * scale);
    }
    double sum = 0;
    for (size_t i = 0; i < columns; i++) {
        sum += steps[i];
        ret[i] += sum;
    }
    free(steps);
}

void chart_lanes(const struct sim_play *play, uint32_t *ret_lanes, uint32_t *ret_counts) {
    time_ms **free_at = xcalloc(play->project_count + 1, sizeof(time_ms *));
    memset(ret_counts, 0, play->project_count * sizeof(*ret_counts));
    for (size_t i = 0; i < play->project_count; i++)
        free_at[i] = xcalloc((size_t)play->projects[i].peak + 1, sizeof(time_ms));
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        uint32_t project = play->tasks[run->task].project;
        uint32_t lane = 0;
        while (lane + 1 < play->projects[project].peak && free_at[project][lane] > run->start)
            lane++;
        free_at[project][lane] = run->end;
        ret_lanes[i] = lane;
        if (lane + 1 > ret_counts[project])
            ret_counts[project] = lane + 1;
    }
    for (size_t i = 0; i < play->project_count; i++)
        free(free_at[i]);
    free(free_at);
}

void chart_waits(const struct sim_play *play, uint32_t id, chart_interval each, void *ctx) {
    const struct sim_task *task = &play->tasks[id];
    time_ms since = task->ready_at; /* TIME_NEVER: it does not wait */
    bool final = task_state_is_final(task->state);
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        if (run->task != id)
            continue;
        if (since != TIME_NEVER && since < run->start)
            each(ctx, since, run->start);
        since = run->end;
    }
    if (since != TIME_NEVER && since < play->end && !final)
        each(ctx, since, play->end);
}
