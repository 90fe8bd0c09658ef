/* gantt.c: a play as rows of blocks over a time axis.
 *
 * A row is first computed as marks, one byte per column. How a mark looks (block or letter, with or
 * without color) is decided when it is printed, so tests of one style hold for the other. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sim/chart.h"
#include "sim/sim_report.h"
#include "sim/text.h"

#define LABEL_MAX   26
#define COLUMNS_MIN 20
#define LANES_MAX   16

struct gantt {
    const struct sim_world *world;
    const struct sim_play *play;
    const struct gantt_style *style;
    struct strbuf *out;
    time_ms span;
    size_t label, columns;
    int lane_rows; /* lines of a lane; 0: there is a row per task */
    char *row;     /* columns marks */
};

/* Values of a row. */
enum { MARK_NONE, MARK_WAIT, MARK_RUN, MARK_BAD, MARK_FAILED, MARK_LIMITED };

static const struct {
    const char *unicode, *ascii;
    const char *colour; /* ANSI; NULL: that of the project */
} mark_looks[] = {
    [MARK_NONE] = { " ", " ", "0" },
    [MARK_WAIT] = { "·", ".", "90" },
    [MARK_RUN] = { "▇", "#", NULL },
    [MARK_BAD] = { "▒", "-", "31" }, /* part of an attempt that failed or was limited */
    [MARK_FAILED] = { "x", "x", "31" },
    [MARK_LIMITED] = { "!", "!", "33" },
};

static const char *const colours[] = { "34", "32", "36", "35", "33", "94", "92", "96" };

/* --- one row of marks ------------------------------------------------------------------------ */

static size_t column_of(const struct gantt *g, time_ms at) {
    time_ms since = time_max(0, at - g->play->begin);
    size_t column = (size_t)((double)since * (double)g->columns / (double)g->span);
    return column < g->columns ? column : g->columns - 1;
}

/* The last column of an interval; at least the column in which it begins. */
static size_t last_column(const struct gantt *g, time_ms from, time_ms to) {
    size_t first = column_of(g, from), last = column_of(g, time_max(from, to - 1));
    return last > first ? last : first;
}

static void mark_wait(void *ctx, time_ms from, time_ms to) {
    struct gantt *g = ctx;
    size_t last = last_column(g, from, to);
    for (size_t i = column_of(g, from); i <= last; i++)
        if (g->row[i] == MARK_NONE)
            g->row[i] = MARK_WAIT;
}

static void mark_run(struct gantt *g, const struct sim_run *run) {
    bool limited = !run->live && run->outcome == OUTCOME_LIMITED;
    bool failed = !run->live && sim_outcome_failed(run->outcome);
    size_t first = column_of(g, run->start), last = last_column(g, run->start, run->end);
    for (size_t i = first; i <= last; i++)
        if (g->row[i] != MARK_FAILED || i > first) /* the end of an earlier attempt stays */
            g->row[i] = limited || failed ? MARK_BAD : MARK_RUN;
    if (failed || limited)
        g->row[last] = failed ? MARK_FAILED : MARK_LIMITED;
}

/* --- printing -------------------------------------------------------------------------------- */

static const char *mark_text(const struct gantt *g, char mark) {
    return g->style->unicode ? mark_looks[(int)mark].unicode : mark_looks[(int)mark].ascii;
}

/* Removes trailing blanks. */
static void end_line(struct gantt *g) {
    struct strbuf *out = g->out;
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->length--;
    strbuf_putc(out, '\n');
}

static void print_marks(struct gantt *g, const char *project_colour) {
    size_t end = g->columns;
    while (end > 0 && g->row[end - 1] == MARK_NONE)
        end--;
    const char *now = NULL;
    for (size_t i = 0; i < end; i++) {
        const char *want = mark_looks[(int)g->row[i]].colour;
        if (!want)
            want = project_colour;
        if (g->style->colour && want != now && g->row[i] != MARK_NONE) {
            strbuf_printf(g->out, "\x1b[%sm", want);
            now = want;
        }
        strbuf_puts(g->out, mark_text(g, g->row[i]));
    }
    if (now)
        strbuf_puts(g->out, "\x1b[0m");
    end_line(g);
}

static void print_label(struct gantt *g, const char *text) {
    size_t used = text_name(g->out, text, g->label, g->style->unicode);
    strbuf_repeat(g->out, " ", g->label - used + 1);
}

static void print_axis(struct gantt *g) {
    struct axis axis = axis_choose(g->span, (unsigned)(g->columns / 9));
    strbuf_repeat(g->out, " ", g->label + 1);
    size_t *marks = xcalloc(g->columns + 2, sizeof(*marks));
    size_t count = 0;
    for (time_ms at = 0; at < axis.span; at += axis.step)
        marks[count++] = column_of(g, g->play->begin + at);
    for (size_t i = 0, next = 0; i < g->columns; i++) {
        bool mark = next < count && marks[next] == i;
        next += mark;
        if (g->style->unicode)
            strbuf_puts(g->out, !mark ? "─" : i == 0 ? "└" : "┴");
        else
            strbuf_putc(g->out, mark ? '+' : '-');
    }
    strbuf_putc(g->out, '\n');
    print_label(g, axis_unit(&axis));
    size_t used = 0;
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        strbuf_clear(&label);
        axis_label(&axis, (time_ms)i * axis.step, &label);
        if (marks[i] < used || marks[i] + label.length > g->columns)
            continue;
        strbuf_repeat(g->out, " ", marks[i] - used);
        strbuf_puts(g->out, strbuf_text(&label));
        used = marks[i] + label.length;
    }
    strbuf_putc(g->out, '\n');
    free(marks);
}

/* --- one row per task ------------------------------------------------------------------------ */

static void task_label(const struct gantt *g, uint32_t task, struct strbuf *out) {
    strbuf_puts(out, g->world->name(g->world->ctx, task));
    sym kind = g->play->kinds[g->play->tasks[task].kind].id;
    if (kind != 0)
        strbuf_printf(out, " %s", symbol_name(core_symbols(g->world->core), kind));
}

static void print_tasks(struct gantt *g, const uint32_t *tasks, size_t count) {
    bool failed = false, limited = false;
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        memset(g->row, MARK_NONE, g->columns);
        chart_waits(g->play, tasks[i], mark_wait, g);
        for (size_t k = 0; k < g->play->run_count; k++)
            if (g->play->runs[k].task == tasks[i])
                mark_run(g, &g->play->runs[k]);
        failed = failed || memchr(g->row, MARK_FAILED, g->columns);
        limited = limited || memchr(g->row, MARK_LIMITED, g->columns);
        strbuf_clear(&label);
        task_label(g, tasks[i], &label);
        print_label(g, strbuf_text(&label));
        print_marks(g, colours[g->play->tasks[tasks[i]].project % ARRAY_SIZE(colours)]);
    }
    print_axis(g);
    strbuf_repeat(g->out, " ", g->label + 1);
    strbuf_printf(g->out, "%s running   %s waiting", mark_text(g, MARK_RUN),
                  mark_text(g, MARK_WAIT));
    if (failed)
        strbuf_printf(g->out, "   %sx failed attempt", mark_text(g, MARK_BAD));
    if (limited)
        strbuf_printf(g->out, "   %s! rate limited", mark_text(g, MARK_BAD));
    strbuf_putc(g->out, '\n');
}

/* --- one lane per project -------------------------------------------------------------------- */

static const char *height_text(const struct gantt *g, double eighths) {
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    int level = (int)(eighths + 0.5);
    if (!g->style->unicode)
        return level >= 4 ? "#" : level > 0 ? "." : " ";
    return blocks[level < 0 ? 0 : level > 8 ? 8 : level];
}

/* The columns in which an attempt of the project failed. */
static bool mark_failures(struct gantt *g, uint32_t project) {
    bool any = false;
    memset(g->row, MARK_NONE, g->columns);
    for (size_t i = 0; i < g->play->run_count; i++) {
        const struct sim_run *run = &g->play->runs[i];
        if (run->live || g->play->tasks[run->task].project != project)
            continue;
        char *cell = &g->row[last_column(g, run->start, run->end)];
        if (sim_outcome_failed(run->outcome))
            *cell = MARK_FAILED;
        else if (run->outcome == OUTCOME_LIMITED && *cell == MARK_NONE)
            *cell = MARK_LIMITED;
        any = any || *cell != MARK_NONE;
    }
    return any;
}

static void lane_label(const struct gantt *g, uint32_t project, int row, struct strbuf *out) {
    const struct sim_group *group = &g->play->projects[project];
    if (row == g->lane_rows - 1)
        strbuf_puts(out, symbol_name(core_symbols(g->world->core), group->id));
    if (row == 0)
        strbuf_printf(out, "%speak %u", g->lane_rows == 1 ? ", " : "  ", group->peak);
}

/* True: it has a line with failures. */
static bool print_lane(struct gantt *g, uint32_t project, const double *cells, double scale) {
    const int rows = g->lane_rows;
    const char *colour = colours[project % ARRAY_SIZE(colours)];
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (int row = rows - 1; row >= 0; row--) {
        strbuf_clear(&label);
        lane_label(g, project, row, &label);
        print_label(g, strbuf_text(&label));
        if (g->style->colour)
            strbuf_printf(g->out, "\x1b[%sm", colour);
        for (size_t i = 0; i < g->columns; i++) {
            double eighths = cells[i] / scale * 8 * rows;
            if (row == 0 && eighths > 0 && eighths < 1)
                eighths = 1; /* a run must be visible */
            strbuf_puts(g->out, height_text(g, eighths - 8 * row));
        }
        strbuf_puts(g->out, g->style->colour ? "\x1b[0m" : "");
        end_line(g);
    }
    if (!mark_failures(g, project))
        return false;
    strbuf_repeat(g->out, " ", g->label + 1);
    print_marks(g, colour);
    return true;
}

static void print_lanes(struct gantt *g) {
    size_t projects = g->play->project_count, shown = projects < LANES_MAX ? projects : LANES_MAX;
    double *cells = xcalloc(shown * g->columns + 1, sizeof(*cells));
    double scale = 0;
    for (size_t i = 0; i < shown; i++)
        chart_concurrency(g->play, (uint32_t)i, g->span, g->columns, &cells[i * g->columns]);
    for (size_t i = 0; i < shown * g->columns; i++)
        scale = cells[i] > scale ? cells[i] : scale;
    bool failures = false;
    for (size_t i = 0; i < shown && scale > 0; i++)
        if (print_lane(g, (uint32_t)i, &cells[i * g->columns], scale))
            failures = true;
    print_axis(g);
    strbuf_repeat(g->out, " ", g->label + 1);
    strbuf_printf(g->out, "height: runs at once%s\n",
                  failures ? "   x failed attempts   ! rate limited" : "");
    if (projects > shown)
        strbuf_printf(g->out, "%zu more projects are not shown\n", projects - shown);
    free(cells);
}

/* --- all ------------------------------------------------------------------------------------- */

static size_t widest_label(const struct gantt *g, const uint32_t *tasks, size_t count) {
    size_t widest = strlen("h:mm");
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    size_t labels = g->lane_rows ? g->play->project_count * (size_t)g->lane_rows : count;
    for (size_t i = 0; i < labels; i++) {
        strbuf_clear(&label);
        if (g->lane_rows)
            lane_label(g, (uint32_t)(i / (size_t)g->lane_rows), (int)(i % (size_t)g->lane_rows),
                       &label);
        else
            task_label(g, tasks[i], &label);
        size_t columns = text_columns(strbuf_text(&label));
        widest = columns > widest ? columns : widest;
    }
    return widest < LABEL_MAX ? widest : LABEL_MAX;
}

void gantt_print(const struct sim_world *world, const struct sim_play *play, time_ms span,
                 const struct gantt_style *style, struct strbuf *out) {
    if (play->run_count == 0) {
        strbuf_puts(out, "nothing ran: there is no chart\n");
        return;
    }
    struct gantt g = { .world = world, .play = play, .style = style, .out = out };
    g.span = time_max(1, span > 0 ? span : play->end - play->begin);
    uint32_t *tasks = xcalloc(play->task_count + 1, sizeof(*tasks));
    size_t count = chart_tasks(play, tasks);
    size_t projects = play->project_count;
    if (count > GANTT_ROWS_MAX)
        g.lane_rows = projects <= 4 ? 3 : projects <= 8 ? 2 : 1;
    g.label = widest_label(&g, tasks, count);
    g.columns = style->width > g.label + 1 + COLUMNS_MIN ? style->width - g.label - 1 : COLUMNS_MIN;
    g.row = xcalloc(g.columns + 1, 1);
    if (g.lane_rows)
        print_lanes(&g);
    else
        print_tasks(&g, tasks, count);
    free(g.row);
    free(tasks);
}
