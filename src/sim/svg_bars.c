/* svg_bars.c: the runs of each project, as rows, as lanes or as an area.
 *
 * Which of the three depends on how much there is: a reader follows sixty rows, sees a pattern in
 * some thousand bars, and of more only the height. It also bounds the size of the file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sim/chart.h"
#include "sim/svg_internal.h"
#include "sim/text.h"

#define ROWS_MAX     60
#define BARS_MAX     1500
#define LANES_MAX    64
#define BANDS_MAX    60 /* projects, where a band is not as high as its tasks */
#define HEAD_HEIGHT  24.0
#define ROW_HEIGHT   20.0
#define BAR_HEIGHT   15.0
#define AREA_HEIGHT  56.0
#define BAND_GAP     6.0
#define AREA_COLUMNS 980
#define LETTER       5.9 /* pixels of one, about, in a bar */

enum look { LOOK_ROWS, LOOK_LANES, LOOK_AREAS };

static enum look look_of(const struct sim_case *c) {
    if (c->result->tasks <= ROWS_MAX && c->play->run_count <= BARS_MAX)
        return LOOK_ROWS;
    uint64_t lanes = 0;
    for (size_t i = 0; i < c->play->project_count; i++)
        lanes += c->play->projects[i].peak;
    return c->play->run_count <= BARS_MAX && lanes <= LANES_MAX ? LOOK_LANES : LOOK_AREAS;
}

bool svg_has_bars(const struct sim_case *c) {
    return look_of(c) != LOOK_AREAS;
}

bool svg_has_rows(const struct sim_case *c) {
    return look_of(c) == LOOK_ROWS;
}

/* A project whose tasks were all over before the beginning has nothing to show. */
static bool is_shown(const struct sim_case *c, uint32_t project, enum look look) {
    return c->result->projects[project].tasks > 0 && (look == LOOK_ROWS || project < BANDS_MAX);
}

static bool has_more(const struct sim_case *c, enum look look) {
    return look != LOOK_ROWS && c->play->project_count > BANDS_MAX;
}

static double band_height(const struct sim_case *c, uint32_t project, enum look look) {
    switch (look) {
    case LOOK_ROWS:
        return HEAD_HEIGHT + ROW_HEIGHT * c->result->projects[project].tasks;
    case LOOK_LANES:
        return HEAD_HEIGHT + ROW_HEIGHT * c->play->projects[project].peak;
    case LOOK_AREAS:
        break;
    }
    return HEAD_HEIGHT + AREA_HEIGHT;
}

double svg_bars_height(const struct sim_case *c) {
    enum look look = look_of(c);
    double height = 0;
    for (uint32_t i = 0; i < c->play->project_count; i++)
        if (is_shown(c, i, look))
            height += band_height(c, i, look) + BAND_GAP;
    return height + (has_more(c, look) ? ROW_HEIGHT : 0);
}

/* --- one bar --------------------------------------------------------------------------------- */

static void print_moment(struct svg *svg, time_ms at) {
    text_duration(svg->out, at - svg->c->play->begin);
}

static void print_tooltip(struct svg *svg, const struct sim_run *run) {
    const struct sim_task *task = &svg->c->play->tasks[run->task];
    struct strbuf *out = svg->out;
    strbuf_puts(out, "<title>");
    svg_escape(out, svg->c->world->name(svg->c->world->ctx, run->task));
    strbuf_puts(out, " · ");
    svg_escape(out, svg->c->result->kinds[task->kind].name);
    strbuf_printf(out, " · attempt %u · %s\n", run->attempt,
                  run->live ? "still running" : outcome_name(run->outcome));
    print_moment(svg, run->start);
    strbuf_puts(out, " to ");
    print_moment(svg, run->end);
    strbuf_puts(out, " (");
    text_duration(out, run->end - run->start);
    strbuf_putc(out, ')');
    if (!run->live && run->tokens >= 0) {
        strbuf_puts(out, "\n");
        text_count(out, run->tokens);
        strbuf_puts(out, " tokens");
    }
    strbuf_puts(out, "</title>");
}

/* `name`: written into the bar if there is room. */
static void print_bar(struct svg *svg, const struct sim_run *run, double y, const char *name) {
    const struct sim_task *task = &svg->c->play->tasks[run->task];
    double x = svg_x(svg, run->start), width = svg_x(svg, run->end) - x;
    bool failed = !run->live && sim_outcome_failed(run->outcome);
    bool limited = !run->live && run->outcome == OUTCOME_LIMITED;
    const double shown = width < 1.5 ? 1.5 : width;
    strbuf_printf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" ", x, y,
                  shown, BAR_HEIGHT);
    if (failed || limited)
        strbuf_printf(svg->out, "class=\"bar %s\" fill=\"url(#%s)\">",
                      failed ? "failed" : "limited", failed ? "failed" : "limited");
    else
        strbuf_printf(svg->out, "class=\"bar p%u%s\">", task->project % SVG_COLOURS,
                      run->live ? " live" : "");
    print_tooltip(svg, run);
    strbuf_puts(svg->out, "</rect>\n");
    if (failed || limited || !name)
        return;
    size_t room = shown > 10 ? (size_t)((shown - 10) / LETTER) : 0;
    if (room < 3 || (text_columns(name) > room && room < 8))
        return;
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    text_name(&cut, name, room, true);
    strbuf_printf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"in\">", x + 5, y + 11);
    svg_escape(svg->out, strbuf_text(&cut));
    strbuf_puts(svg->out, "</text>\n");
}

/* --- bands ----------------------------------------------------------------------------------- */

static void print_head(struct svg *svg, uint32_t project, double height) {
    const struct sim_group_result *p = &svg->c->result->projects[project];
    struct strbuf *out = svg->out;
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%.1f\" width=\"4\" height=\"%.1f\" class=\"bar p%u\"/>"
                  "<text x=\"%d\" y=\"%.1f\" class=\"head\">",
                  SVG_MARGIN, svg->y, height, project % SVG_COLOURS, SVG_MARGIN + 12, svg->y + 14);
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    text_name(&cut, p->name, 22, true);
    svg_escape(out, strbuf_text(&cut));
    strbuf_printf(out, "</text>\n<text x=\"%d\" y=\"%.1f\" class=\"note\" text-anchor=\"end\">",
                  SVG_PLOT_LEFT + SVG_PLOT_SIZE - 6, svg->y + 14);
    strbuf_printf(out, "%u of %u done", p->done, p->tasks);
    if (p->tokens > 0) {
        strbuf_puts(out, " · ");
        text_percent(out, p->share);
        strbuf_puts(out, " of all tokens, by weight ");
        text_percent(out, p->target);
    }
    strbuf_puts(out, "</text>\n");
}

struct wait_line {
    struct svg *svg;
    double y;
};

static void print_wait(void *ctx, time_ms from, time_ms to) {
    const struct wait_line *line = ctx;
    double x1 = svg_x(line->svg, from) + 2, x2 = svg_x(line->svg, to) - 2;
    if (x2 > x1)
        strbuf_printf(line->svg->out,
                      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"wait\"/>\n",
                      x1, line->y, x2, line->y);
}

static void print_rows(struct svg *svg, const uint32_t *tasks, size_t count) {
    const struct sim_play *play = svg->c->play;
    for (size_t i = 0; i < count; i++) {
        double y = svg->y + HEAD_HEIGHT + ROW_HEIGHT * (double)i;
        const char *name = svg->c->world->name(svg->c->world->ctx, tasks[i]);
        strbuf_printf(svg->out, "<text x=\"%d\" y=\"%.1f\" class=\"muted\">", SVG_MARGIN + 12,
                      y + 11.5);
        _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
        text_name(&cut, name, 24, true);
        svg_escape(svg->out, strbuf_text(&cut));
        strbuf_puts(svg->out, "</text>\n");
        struct wait_line line = { svg, y + BAR_HEIGHT / 2 };
        chart_waits(play, tasks[i], print_wait, &line);
        const char *kind = svg->c->result->kinds[play->tasks[tasks[i]].kind].name;
        for (size_t k = 0; k < play->run_count; k++)
            if (play->runs[k].task == tasks[i])
                print_bar(svg, &play->runs[k], y, kind);
    }
}

static void print_lanes(struct svg *svg, uint32_t project, const uint32_t *lanes) {
    const struct sim_play *play = svg->c->play;
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        if (play->tasks[run->task].project == project)
            print_bar(svg, run, svg->y + HEAD_HEIGHT + ROW_HEIGHT * lanes[i],
                      svg->c->world->name(svg->c->world->ctx, run->task));
    }
}

void svg_area(struct svg *svg, uint32_t project, double base, double height, double scale) {
    double *cells = xcalloc(AREA_COLUMNS, sizeof(*cells));
    chart_concurrency(svg->c->play, project, svg->span, AREA_COLUMNS, cells);
    strbuf_printf(svg->out, "M%d %.1f", SVG_PLOT_LEFT, base);
    double last = base;
    for (size_t i = 0; i < AREA_COLUMNS; i++) {
        double y = base - height * cells[i] / scale;
        if (y < last - 0.05 || y > last + 0.05) {
            double x = SVG_PLOT_LEFT + (double)i * SVG_PLOT_SIZE / AREA_COLUMNS;
            strbuf_printf(svg->out, "L%.1f %.1fL%.1f %.1f", x, last, x, y);
            last = y;
        }
    }
    int right = SVG_PLOT_LEFT + SVG_PLOT_SIZE;
    strbuf_printf(svg->out, "L%d %.1fL%d %.1fZ", right, last, right, base);
    free(cells);
}

static void print_area(struct svg *svg, uint32_t project, double scale) {
    strbuf_printf(svg->out, "<path class=\"p%u\" d=\"", project % SVG_COLOURS);
    svg_area(svg, project, svg->y + HEAD_HEIGHT + AREA_HEIGHT, AREA_HEIGHT, scale);
    strbuf_printf(svg->out, "\"><title>peak %u</title></path>\n",
                  svg->c->play->projects[project].peak);
}

static double peak_of_all(const struct sim_play *play) {
    uint32_t peak = 1;
    for (size_t i = 0; i < play->project_count; i++)
        peak = play->projects[i].peak > peak ? play->projects[i].peak : peak;
    return peak;
}

void svg_bars(struct svg *svg) {
    const struct sim_case *c = svg->c;
    enum look look = look_of(c);
    uint32_t *tasks = xcalloc(c->play->task_count + 1, sizeof(*tasks));
    uint32_t *lanes = xcalloc(c->play->run_count + 1, sizeof(*lanes));
    uint32_t *counts = xcalloc(c->play->project_count + 1, sizeof(*counts));
    if (look == LOOK_ROWS)
        (void)chart_tasks(c->play, tasks);
    else if (look == LOOK_LANES)
        chart_lanes(c->play, lanes, counts);
    const uint32_t *next = tasks; /* they come project after project */
    for (uint32_t i = 0; i < c->play->project_count; i++) {
        if (!is_shown(c, i, look))
            continue;
        double height = band_height(c, i, look);
        print_head(svg, i, height);
        if (look == LOOK_ROWS)
            print_rows(svg, next, c->result->projects[i].tasks);
        else if (look == LOOK_LANES)
            print_lanes(svg, i, lanes);
        else
            print_area(svg, i, peak_of_all(c->play));
        next += c->result->projects[i].tasks;
        svg->y += height + BAND_GAP;
    }
    if (has_more(c, look)) {
        strbuf_printf(svg->out,
                      "<text x=\"%d\" y=\"%.1f\" class=\"muted\">and %zu more projects</text>\n",
                      SVG_MARGIN + 12, svg->y + 12, c->play->project_count - BANDS_MAX);
        svg->y += ROW_HEIGHT;
    }
    free(tasks);
    free(lanes);
    free(counts);
}
