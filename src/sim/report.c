/* report.c: what a person wants to know after a play, most important first. */
#include "sim/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/table.h"
#include "sim/text.h"

#define NAME_MAX_COLUMNS 28
#define GROUPS_MAX       40 /* rows of a table; the rest is in the JSON */
#define LEFT_ROWS_MAX    12

/* --- cells ----------------------------------------------------------------------------------- */

static void cell_duration(struct table *table, double span) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    text_duration(&text, (time_ms)(span + 0.5));
    table_cell(table, "%s", strbuf_text(&text));
}

static void cell_count(struct table *table, int64_t count) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    text_count(&text, count);
    table_cell(table, "%s", strbuf_text(&text));
}

static void cell_percent(struct table *table, double part) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    text_percent(&text, part);
    table_cell(table, "%s", strbuf_text(&text));
}

static void cell_name(struct table *table, const char *name, bool unicode) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    text_name(&text, name, NAME_MAX_COLUMNS, unicode);
    table_cell(table, "%s", strbuf_text(&text));
}

static void cells(struct table *table, const char *const *texts) {
    for (; *texts; texts++)
        table_cell(table, "%s", *texts);
}

/* --- the summary ----------------------------------------------------------------------------- */

static const char *end_sentence(enum sim_end how) {
    switch (how) {
    case SIM_DRAINED:
        return "every task has ended";
    case SIM_STUCK:
        return "tasks are left that nothing will start";
    case SIM_HORIZON:
        return "stopped at the horizon (--until-h)";
    case SIM_STEPS:
        return "stopped: too many steps, the queue goes round in circles";
    case SIM_END_MAX:
        break;
    }
    return "";
}

static const char *separator(const struct gantt_style *style) {
    return style->unicode ? " · " : ", ";
}

static void print_line(struct strbuf *out, const char *name) {
    strbuf_printf(out, "  %-13s", name);
}

static void print_states(const struct sim_result *r, const struct gantt_style *style,
                         struct strbuf *out) {
    static const enum task_state finals[] = { TASK_DONE, TASK_FAILED, TASK_CANCELED,
                                              TASK_INVALIDATED };
    uint32_t ended = 0;
    const char *between = "";
    print_line(out, "tasks");
    for (size_t i = 0; i < ARRAY_SIZE(finals); i++) {
        ended += r->by_state[finals[i]];
        if (r->by_state[finals[i]] == 0)
            continue;
        strbuf_puts(out, between);
        text_count(out, r->by_state[finals[i]]);
        strbuf_printf(out, " %s", task_state_name(finals[i]));
        between = separator(style);
    }
    if (r->tasks > ended || r->tasks == 0) {
        strbuf_puts(out, between);
        text_count(out, r->tasks - ended);
        strbuf_puts(out, " left");
    }
    strbuf_putc(out, '\n');
}

static void print_waits(const struct sim_waits *waits, const struct gantt_style *style,
                        struct strbuf *out) {
    const struct {
        const char *name;
        time_ms value;
    } parts[] = {
        { "mean ", (time_ms)(waits->mean + 0.5) },
        { "median ", waits->p50 },
        { "95 % within ", waits->p95 },
        { "longest ", waits->max },
    };
    print_line(out, "waiting");
    if (waits->count == 0)
        strbuf_puts(out, "nothing was started");
    for (size_t i = 0; i < ARRAY_SIZE(parts) && waits->count > 0; i++) {
        strbuf_puts(out, i > 0 ? separator(style) : "");
        strbuf_puts(out, parts[i].name);
        text_duration(out, parts[i].value);
    }
    strbuf_putc(out, '\n');
}

static void print_summary(const struct sim_case *c, const struct gantt_style *style,
                          struct strbuf *out) {
    const struct sim_result *r = c->result;
    print_line(out, "makespan");
    text_duration(out, r->makespan);
    strbuf_printf(out, "%s%s\n", separator(style), end_sentence(r->how));
    print_line(out, "utilisation");
    text_percent(out, r->utilisation);
    if (r->runs_cap == UNLIMITED || r->peak > r->runs_cap)
        strbuf_printf(out, " of the peak of %u runs at once\n", r->peak);
    else
        strbuf_printf(out, " of %" PRId64 " places%speak %u\n", r->runs_cap, separator(style),
                      r->peak);
    print_states(r, style, out);
    print_waits(&r->waits, style, out);
    print_line(out, "attempts");
    text_count(out, r->attempts);
    strbuf_puts(out, separator(style));
    text_count(out, r->failed_attempts);
    strbuf_printf(out, " failed%s", separator(style));
    text_count(out, r->limited);
    strbuf_printf(out, " rate limited%s", separator(style));
    text_count(out, r->retries);
    strbuf_puts(out, " retries\n");
    print_line(out, "tokens");
    text_count(out, r->tokens);
    strbuf_putc(out, '\n');
}

/* --- projects, kinds, what is left ----------------------------------------------------------- */

static void print_projects(const struct sim_result *r, const struct gantt_style *style,
                           struct strbuf *out) {
    static const char *const heading[] = { "project", "weight",    "tasks",  "done",
                                           "runs",    "peak",      "tokens", "share",
                                           "target",  "mean wait", NULL };
    _cleanup_(table_finish) struct table table;
    table_begin(&table, "lrrrrrrrrr");
    cells(&table, heading);
    for (size_t i = 0; i < r->project_count && i < GROUPS_MAX; i++) {
        const struct sim_group_result *p = &r->projects[i];
        if (p->tasks == 0)
            continue; /* all its tasks were over before */
        cell_name(&table, p->name, style->unicode);
        if (p->weight < 0)
            table_cell(&table, "paused");
        else
            table_cell(&table, "%g", (double)p->weight / 1000);
        cell_count(&table, p->tasks);
        cell_count(&table, p->done);
        cell_count(&table, p->runs);
        cell_count(&table, p->peak);
        cell_count(&table, p->tokens);
        cell_percent(&table, p->share);
        cell_percent(&table, p->target);
        cell_duration(&table, p->mean_wait);
    }
    table_print(&table, "  ", style->unicode, out);
    if (r->project_count > GROUPS_MAX)
        strbuf_printf(out, "  and %zu more projects (--json lists all)\n",
                      r->project_count - GROUPS_MAX);
}

static void print_kinds(const struct sim_result *r, const struct gantt_style *style,
                        struct strbuf *out) {
    static const char *const heading[] = { "kind",   "tasks",    "done",      "runs", "peak",
                                           "tokens", "mean run", "mean wait", NULL };
    _cleanup_(table_finish) struct table table;
    table_begin(&table, "lrrrrrrr");
    cells(&table, heading);
    for (size_t i = 0; i < r->kind_count && i < GROUPS_MAX; i++) {
        const struct sim_group_result *k = &r->kinds[i];
        if (k->tasks == 0)
            continue;
        cell_name(&table, k->name, style->unicode);
        cell_count(&table, k->tasks);
        cell_count(&table, k->done);
        cell_count(&table, k->runs);
        cell_count(&table, k->peak);
        cell_count(&table, k->tokens);
        cell_duration(&table, k->mean_run);
        cell_duration(&table, k->mean_wait);
    }
    table_print(&table, "  ", style->unicode, out);
}

static void print_left(const struct sim_case *c, const struct gantt_style *style,
                       struct strbuf *out) {
    const struct sim_result *r = c->result;
    if (r->left_count == 0)
        return;
    strbuf_puts(out, "\nLeft, by the first gate that is closed\n\n");
    _cleanup_(table_finish) struct table table;
    table_begin(&table, "rlll");
    static const char *const heading[] = { "tasks", "gate", "for example", "", NULL };
    cells(&table, heading);
    for (size_t i = 0; i < r->left_count && i < LEFT_ROWS_MAX; i++) {
        cell_count(&table, r->left[i].count);
        cell_name(&table, r->left[i].code, style->unicode);
        cell_name(&table, c->world->name(c->world->ctx, r->left[i].example), style->unicode);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        text_name(&text, r->left[i].sentence, 100, style->unicode);
        table_cell(&table, "%s", strbuf_text(&text));
    }
    table_print(&table, "  ", style->unicode, out);
    if (r->left_count > LEFT_ROWS_MAX)
        strbuf_printf(out, "  and %zu more gates (--json lists all)\n",
                      r->left_count - LEFT_ROWS_MAX);
}

static void print_title(const struct sim_case *c, const struct gantt_style *style,
                        struct strbuf *out) {
    strbuf_puts(out, style->colour ? "\x1b[1m" : "");
    text_name(out, c->title, 60, style->unicode);
    strbuf_puts(out, style->colour ? "\x1b[0m" : "");
    size_t projects = 0;
    for (size_t i = 0; i < c->result->project_count; i++)
        projects += c->result->projects[i].tasks > 0;
    strbuf_puts(out, separator(style));
    text_count(out, c->result->tasks);
    strbuf_printf(out, " tasks%s%zu project%s%sseed %" PRIu64 "\n\n", separator(style), projects,
                  projects == 1 ? "" : "s", separator(style), c->result->seed);
}

void report_print(const struct sim_case *c, const struct gantt_style *style, struct strbuf *out) {
    print_title(c, style, out);
    print_summary(c, style, out);
    strbuf_putc(out, '\n');
    print_projects(c->result, style, out);
    strbuf_putc(out, '\n');
    print_kinds(c->result, style, out);
    print_left(c, style, out);
    strbuf_putc(out, '\n');
    gantt_print(c->world, c->play, 0, style, out);
}
