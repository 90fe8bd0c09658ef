/* svg.c: a play as an SVG file.
 *
 * Colors are classes with a second value for dark mode, not CSS variables: some viewers ignore
 * those. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "core/state_style.h"
#include "sim/chart.h"
#include "sim/sim_report.h"
#include "sim/text.h"

#define SVG_WIDTH     1200
#define SVG_MARGIN    24
#define SVG_PLOT_LEFT 196
#define SVG_PLOT_SIZE (SVG_WIDTH - SVG_MARGIN - SVG_PLOT_LEFT)
#define SVG_COLOURS   8

struct svg {
    struct strbuf *out;
    const struct sim_case *c;
    time_ms span;
    double y; /* of the next element */
};

/* Bytes of a character that XML 1.0 allows, else 0. Controls are allowed, but refused here. */
static size_t xml_character(const char *text) {
    const unsigned char *u = (const unsigned char *)text;
    bool control = (u[0] < 0x20 && u[0] != '\t') || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
    bool noncharacter = u[0] == 0xef && u[1] == 0xbf && u[2] >= 0xbe;
    return control || noncharacter ? 0 : utf8_length(text, strnlen(text, 4));
}

/* Escapes text for XML and replaces characters that XML forbids. */
static void svg_escape(struct strbuf *out, const char *text) {
    while (*text) {
        size_t length = xml_character(text);
        if (length == 0)
            strbuf_puts(out, "\xef\xbf\xbd"); /* the replacement character */
        else if (*text == '&')
            strbuf_puts(out, "&amp;");
        else if (*text == '<')
            strbuf_puts(out, "&lt;");
        else if (*text == '>')
            strbuf_puts(out, "&gt;");
        else if (*text == '"')
            strbuf_puts(out, "&quot;");
        else
            strbuf_add(out, text, length);
        text += length == 0 ? 1 : length;
    }
}

/* The position of a time on the axis. */
static double svg_x(const struct svg *svg, time_ms at) {
    double since = (double)time_max(0, at - svg->c->play->begin);
    return SVG_PLOT_LEFT + since * SVG_PLOT_SIZE / (double)svg->span;
}

/* Text that is cut to `columns`, and its end tag. Returns the columns it uses. */
static size_t svg_text_end(struct svg *svg, const char *text, size_t columns) {
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    size_t used = text_name(&cut, text, columns, true);
    svg_escape(svg->out, strbuf_text(&cut));
    strbuf_puts(svg->out, "</text>");
    return used;
}

/* --- bars ------------------------------------------------------------------------------------ */

/* The runs of each project, as rows, as lanes or as an area, depending on their number: a reader can
 * follow sixty rows, recognize a pattern in about a thousand bars, and of more only the height. This
 * also bounds the size of the file. */

#define ROWS_MAX     60
#define BARS_MAX     1500
#define LANES_MAX    64
#define BANDS_MAX    60 /* projects, unless each task has a row */
#define HEAD_HEIGHT  24.0
#define ROW_HEIGHT   20.0
#define BAR_HEIGHT   15.0
#define AREA_HEIGHT  56.0
#define BAND_GAP     6.0
#define AREA_COLUMNS 980
#define LETTER       5.9 /* approximate width of a letter in a bar, in pixels */

enum layout { LAYOUT_ROWS, LAYOUT_LANES, LAYOUT_AREAS };

static enum layout layout_of(const struct sim_case *c) {
    if (c->result->tasks <= ROWS_MAX && c->play->run_count <= BARS_MAX)
        return LAYOUT_ROWS;
    uint64_t lanes = 0;
    for (size_t i = 0; i < c->play->project_count; i++)
        lanes += c->play->projects[i].peak;
    return c->play->run_count <= BARS_MAX && lanes <= LANES_MAX ? LAYOUT_LANES : LAYOUT_AREAS;
}

static double band_height(const struct sim_case *c, uint32_t project, enum layout layout) {
    switch (layout) {
    case LAYOUT_ROWS:
        return HEAD_HEIGHT + ROW_HEIGHT * c->result->projects[project].tasks;
    case LAYOUT_LANES:
        return HEAD_HEIGHT + ROW_HEIGHT * c->play->projects[project].peak;
    case LAYOUT_AREAS:
        break;
    }
    return HEAD_HEIGHT + AREA_HEIGHT;
}

/* --- one bar --------------------------------------------------------------------------------- */

static void print_tooltip(struct svg *svg, const struct sim_run *run) {
    const struct sim_task *task = &svg->c->play->tasks[run->task];
    struct strbuf *out = svg->out;
    strbuf_puts(out, "<title>");
    svg_escape(out, svg->c->world->name(svg->c->world->ctx, run->task));
    strbuf_puts(out, " · ");
    svg_escape(out, svg->c->result->kinds[task->kind].name);
    strbuf_printf(out, " · attempt %u · %s\n", run->attempt,
                  run->live ? "still running" : outcome_name(run->outcome));
    text_duration(out, run->start - svg->c->play->begin);
    strbuf_puts(out, " to ");
    text_duration(out, run->end - svg->c->play->begin);
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

/* `name`: printed in the bar if it fits. */
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
    strbuf_printf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"in\">", x + 5, y + 11);
    svg_text_end(svg, name, room);
    strbuf_putc(svg->out, '\n');
}

/* --- bands ----------------------------------------------------------------------------------- */

static void print_head(struct svg *svg, uint32_t project, double height) {
    const struct sim_group_result *p = &svg->c->result->projects[project];
    struct strbuf *out = svg->out;
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%.1f\" width=\"4\" height=\"%.1f\" class=\"bar p%u\"/>"
                  "<text x=\"%d\" y=\"%.1f\" class=\"head\">",
                  SVG_MARGIN, svg->y, height, project % SVG_COLOURS, SVG_MARGIN + 12, svg->y + 14);
    svg_text_end(svg, p->name, 22);
    strbuf_printf(out, "\n<text x=\"%d\" y=\"%.1f\" class=\"note\" text-anchor=\"end\">",
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
        strbuf_printf(svg->out, "<text x=\"%d\" y=\"%.1f\" class=\"muted\">", SVG_MARGIN + 12,
                      y + 11.5);
        svg_text_end(svg, svg->c->world->name(svg->c->world->ctx, tasks[i]), 24);
        strbuf_putc(svg->out, '\n');
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

/* The number of live runs over time, `height` pixels for `scale` runs, as a path that begins and ends
 * on the base line. */
static void svg_area(struct svg *svg, uint32_t project, double base, double height, double scale) {
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

/* Prints all projects, each with its heading, and moves svg->y past them. */
static void svg_bars(struct svg *svg) {
    const struct sim_case *c = svg->c;
    enum layout layout = layout_of(c);
    uint32_t *tasks = xcalloc(c->play->task_count + 1, sizeof(*tasks));
    uint32_t *lanes = xcalloc(c->play->run_count + 1, sizeof(*lanes));
    uint32_t *counts = xcalloc(c->play->project_count + 1, sizeof(*counts));
    if (layout == LAYOUT_ROWS)
        (void)chart_tasks(c->play, tasks);
    else if (layout == LAYOUT_LANES)
        chart_lanes(c->play, lanes, counts);
    const uint32_t *next = tasks; /* sorted by project */
    uint32_t peak = 1;
    for (size_t i = 0; i < c->play->project_count; i++)
        peak = c->play->projects[i].peak > peak ? c->play->projects[i].peak : peak;
    for (uint32_t i = 0; i < c->play->project_count; i++) {
        /* A project whose tasks had all ended before the beginning is not shown. */
        if (c->result->projects[i].tasks == 0 || (layout != LAYOUT_ROWS && i >= BANDS_MAX))
            continue;
        double height = band_height(c, i, layout);
        print_head(svg, i, height);
        if (layout == LAYOUT_ROWS)
            print_rows(svg, next, c->result->projects[i].tasks);
        else if (layout == LAYOUT_LANES)
            print_lanes(svg, i, lanes);
        else
            print_area(svg, i, peak);
        next += c->result->projects[i].tasks;
        svg->y += height + BAND_GAP;
    }
    if (layout != LAYOUT_ROWS && c->play->project_count > BANDS_MAX) {
        strbuf_printf(svg->out,
                      "<text x=\"%d\" y=\"%.1f\" class=\"muted\">and %zu more projects</text>\n",
                      SVG_MARGIN + 12, svg->y + 12, c->play->project_count - BANDS_MAX);
        svg->y += ROW_HEIGHT;
    }
    free(tasks);
    free(lanes);
    free(counts);
}

#define TITLE_HEIGHT 84.0
#define AXIS_HEIGHT  26.0
#define STRIP_HEIGHT 64.0
#define STRIP_HEAD   22.0
#define PANEL_GAP    36.0
#define LEGEND_COUNT 12

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "font-size:11px;fill:#1f2328}\n"
    ".bg{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}\n"
    ".title{font-size:18px;font-weight:600}.head{font-size:12.5px;font-weight:600}\n"
    ".muted{fill:#59636e}.axis{fill:#59636e;font-variant-numeric:tabular-nums}\n"
    ".in{font-size:10px;fill:#ffffff;pointer-events:none}\n"
    ".wait{stroke:#8c959f;stroke-width:1.6;stroke-dasharray:.1 4.4;stroke-linecap:round}\n"
    ".note{fill:#59636e;paint-order:stroke;stroke:#ffffff;stroke-width:5px;stroke-linejoin:round}\n"
    ".cap{stroke:#59636e;stroke-width:1;stroke-dasharray:4 3}\n"
    ".total{fill:#8c959f;fill-opacity:.45;stroke:#59636e;stroke-width:1}\n"
    ".bar{rx:3px}.bar:hover{filter:brightness(1.12)}\n"
    ".live{fill-opacity:.55;stroke-dasharray:3 2}\n"
    ".failed{stroke-width:1}.limited{stroke:#bf8700;stroke-width:1}\n"
    ".hatch-failed{stroke-width:2.2}.hatch-limited{stroke:#bf8700;stroke-width:2.2}\n"
    ".hatch-bg{fill:#ffffff}\n"
    ".p0{fill:#3b6fd4}.p1{fill:#2a9d5c}.p2{fill:#d97b29}.p3{fill:#8a5cd6}\n"
    ".p4{fill:#1797a6}.p5{fill:#c74f8d}.p6{fill:#8d6e4f}.p7{fill:#7c8d1c}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.bg{fill:#0d1117}.grid{stroke:#2a313c}\n"
    ".note{fill:#9198a1;stroke:#0d1117}.muted,.axis{fill:#9198a1}.wait{stroke:#6e7681}.cap{stroke:#"
    "9198a1}.in{fill:#ffffff}\n"
    ".total{fill:#6e7681;stroke:#9198a1}.hatch-bg{fill:#0d1117}\n"
    ".limited,.hatch-limited{stroke:#d29922}\n"
    "}\n";
static const char definitions[] =
    "</style>\n"
    "<defs>\n"
    "<pattern id=\"failed\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" class=\"hatch-bg\"/>"
    "<line x1=\"1\" y1=\"0\" x2=\"1\" y2=\"6\" class=\"hatch-failed\"/></pattern>\n"
    "<pattern id=\"limited\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(-45)\"><rect width=\"6\" height=\"6\" class=\"hatch-bg\"/>"
    "<line x1=\"1\" y1=\"0\" x2=\"1\" y2=\"6\" class=\"hatch-limited\"/></pattern>\n"
    "</defs>\n";

/* --- title, legend, axis, panel -------------------------------------------------------------- */

static void print_subtitle(struct svg *svg) {
    const struct sim_result *r = svg->c->result;
    strbuf_puts(svg->out, "makespan ");
    text_duration(svg->out, r->makespan);
    strbuf_puts(svg->out, " · ");
    text_percent(svg->out, r->utilisation);
    if (r->runs_cap != UNLIMITED && r->peak <= r->runs_cap)
        strbuf_printf(svg->out, " of %" PRId64 " places used", r->runs_cap);
    else
        strbuf_printf(svg->out, " of the peak of %u runs used", r->peak);
    strbuf_printf(svg->out, " · %u of %u tasks done · waiting: mean ", r->by_state[TASK_DONE],
                  r->tasks);
    text_duration(svg->out, (time_ms)(r->waits.mean + 0.5));
    strbuf_puts(svg->out, ", longest ");
    text_duration(svg->out, r->waits.max);
    strbuf_puts(svg->out, " · ");
    text_count(svg->out, r->tokens);
    strbuf_puts(svg->out, " tokens");
}

/* Prints a sample and its name; returns the position of the next item. */
static double legend_item(struct svg *svg, double x, const char *sample, const char *name) {
    strbuf_printf(svg->out, "<g transform=\"translate(%.1f %.1f)\">%s<text x=\"20\" y=\"9\">", x,
                  svg->y, sample);
    size_t columns = svg_text_end(svg, name, 24);
    strbuf_puts(svg->out, "</g>\n");
    return x + 40 + 6.3 * (double)columns;
}

static void print_legend(struct svg *svg) {
    const struct sim_play *play = svg->c->play;
    double x = SVG_MARGIN;
    for (size_t i = 0; i < play->project_count && i < LEGEND_COUNT; i++) {
        char sample[80];
        (void)snprintf(sample, sizeof(sample),
                       "<rect width=\"14\" height=\"10\" class=\"bar p%zu\"/>", i % SVG_COLOURS);
        if (x < SVG_WIDTH - 480)
            x = legend_item(svg, x, sample, svg->c->result->projects[i].name);
    }
    if (layout_of(svg->c) == LAYOUT_AREAS)
        return;
    if (svg->c->result->failed_attempts > 0)
        x = legend_item(svg, x,
                        "<rect width=\"14\" height=\"10\" class=\"bar failed\" "
                        "fill=\"url(#failed)\"/>",
                        "failed attempt");
    if (svg->c->result->limited > 0)
        x = legend_item(svg, x,
                        "<rect width=\"14\" height=\"10\" class=\"bar limited\" "
                        "fill=\"url(#limited)\"/>",
                        "rate limited");
    if (layout_of(svg->c) == LAYOUT_ROWS)
        (void)legend_item(svg, x, "<line x1=\"0\" y1=\"5\" x2=\"14\" y2=\"5\" class=\"wait\"/>",
                          "ready, waiting");
}

static void print_title(struct svg *svg) {
    strbuf_printf(svg->out, "<text x=\"%d\" y=\"%.1f\" class=\"title\">", SVG_MARGIN, svg->y + 18);
    svg_text_end(svg, svg->c->title, 100);
    strbuf_printf(svg->out, "\n<text x=\"%d\" y=\"%.1f\" class=\"muted\">", SVG_MARGIN,
                  svg->y + 38);
    print_subtitle(svg);
    strbuf_puts(svg->out, "</text>\n");
    double top = svg->y;
    svg->y += 52;
    print_legend(svg);
    svg->y = top + TITLE_HEIGHT;
}

static void print_axis(struct svg *svg, double bottom) {
    struct axis axis = axis_choose(svg->span, 12);
    strbuf_printf(svg->out,
                  "<text x=\"%d\" y=\"%.1f\" class=\"axis\" text-anchor=\"end\">%s</text>\n",
                  SVG_PLOT_LEFT - 24, svg->y + 12, axis_unit(&axis));
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (time_ms at = 0; at <= axis.span; at += axis.step) {
        double x = svg_x(svg, svg->c->play->begin + at);
        strbuf_clear(&label);
        axis_label(&axis, at, &label);
        strbuf_printf(svg->out,
                      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>"
                      "<text x=\"%.1f\" y=\"%.1f\" class=\"axis\" text-anchor=\"middle\">%s</text>"
                      "\n",
                      x, svg->y + 18, x, bottom, x, svg->y + 12, strbuf_text(&label));
    }
}

/* The number of live runs of all projects, and its limit. */
static void print_strip(struct svg *svg) {
    const struct sim_result *r = svg->c->result;
    svg->y += STRIP_HEAD;
    double base = svg->y + STRIP_HEIGHT;
    bool capped = r->runs_cap != UNLIMITED && r->runs_cap > 0;
    double scale = r->peak > 0 ? r->peak : 1;
    if (capped && (double)r->runs_cap > scale)
        scale = (double)r->runs_cap;
    strbuf_printf(svg->out,
                  "<text x=\"%d\" y=\"%.1f\" class=\"head\">all runs</text>"
                  "<text x=\"%d\" y=\"%.1f\" class=\"muted\">peak %u</text>\n",
                  SVG_MARGIN, svg->y + 14, SVG_MARGIN, svg->y + 30, r->peak);
    strbuf_puts(svg->out, "<path class=\"total\" d=\"");
    svg_area(svg, CHART_ALL, base, STRIP_HEIGHT, scale);
    strbuf_puts(svg->out, "\"/>\n");
    if (capped) {
        double y = base - STRIP_HEIGHT * (double)r->runs_cap / scale;
        strbuf_printf(svg->out,
                      "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" class=\"cap\"/>"
                      "<text x=\"%d\" y=\"%.1f\" class=\"muted\" text-anchor=\"end\">limit "
                      "%" PRId64 "</text>\n",
                      SVG_PLOT_LEFT, y, SVG_PLOT_LEFT + SVG_PLOT_SIZE, y, SVG_PLOT_LEFT - 24, y + 4,
                      r->runs_cap);
    }
    svg->y = base;
}

/* The grid is behind the bars, and as high as they are: they are printed first, and added last. */
static void print_panel(struct svg *svg) {
    _cleanup_(strbuf_finish) struct strbuf bars = STRBUF_INIT;
    print_title(svg);
    struct strbuf *out = svg->out;
    double top = svg->y;
    svg->out = &bars;
    svg->y += AXIS_HEIGHT;
    svg_bars(svg);
    print_strip(svg);
    double bottom = svg->y;
    svg->out = out;
    svg->y = top;
    print_axis(svg, bottom);
    svg->y = bottom;
    strbuf_add(out, strbuf_text(&bars), bars.length);
}

void svg_print(const struct sim_case *now, const struct sim_case *with, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf panels = STRBUF_INIT;
    struct svg svg = { .out = &panels, .c = now, .y = SVG_MARGIN };
    svg.span = time_max(1, now->result->makespan);
    if (with)
        svg.span = time_max(svg.span, with->result->makespan);
    print_panel(&svg);
    if (with) {
        svg.c = with;
        svg.y += PANEL_GAP;
        print_panel(&svg);
    }
    double height = svg.y + SVG_MARGIN;
    strbuf_printf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" "
                  "height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n<title>",
                  SVG_WIDTH, height, SVG_WIDTH, height);
    svg_escape(out, now->title);
    const struct state_style *failed = state_style(TASK_FAILED);
    strbuf_printf(out,
                  "</title>\n%s.failed,.hatch-failed{stroke:%s}@media "
                  "(prefers-color-scheme:dark){.failed,.hatch-failed{stroke:%s}}\n%s",
                  style, failed->light, failed->dark, definitions);
    strbuf_printf(out, "<rect width=\"%d\" height=\"%.0f\" class=\"bg\"/>\n", SVG_WIDTH, height);
    strbuf_add(out, strbuf_text(&panels), panels.length);
    strbuf_puts(out, "</svg>\n");
}
