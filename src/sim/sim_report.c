/* sim_report.c: the report of one play or the comparison of two, as text and as JSON. */
#include "sim/sim_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_write.h"
#include "sim/text.h"

#define NAME_MAX_COLUMNS 28
#define GROUPS_MAX       40 /* rows of a table; the rest is in the JSON */
#define LEFT_ROWS_MAX    12

/* --- cells ----------------------------------------------------------------------------------- */

/* Adds a cell with what `print` (text.h) prints. */
#define CELL(table, print, ...)                                                                    \
    do {                                                                                           \
        _cleanup_(strbuf_finish) struct strbuf cell_ = STRBUF_INIT;                                \
        print(&cell_, __VA_ARGS__);                                                                \
        table_cell(table, "%s", strbuf_text(&cell_));                                              \
    } while (0)

static time_ms rounded(double span) {
    return (time_ms)(span + 0.5);
}

static void cells(struct table *table, const char *const *texts) {
    for (; *texts; texts++)
        table_cell(table, "%s", *texts);
}

/* --- the summary ----------------------------------------------------------------------------- */

static const char *const end_texts[SIM_END_MAX] = {
    [SIM_DRAINED] = "every task has ended",
    [SIM_STUCK] = "tasks are left that nothing will start",
    [SIM_HORIZON] = "stopped at the horizon (--until-h)",
    [SIM_STEPS] = "stopped: too many steps, the queue goes round in circles",
};

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
        { "mean ", rounded(waits->mean) },
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
    strbuf_printf(out, "%s%s\n", separator(style), end_texts[r->how]);
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

/* --- projects, kinds, remaining tasks -------------------------------------------------------- */

static void print_groups(const struct sim_result *r, bool projects, const struct gantt_style *style,
                         struct strbuf *out) {
    static const char *const project_heading[] = { "project", "weight",    "tasks",  "done",
                                                   "runs",    "peak",      "tokens", "share",
                                                   "target",  "mean wait", NULL };
    static const char *const kind_heading[] = { "kind",   "tasks",    "done",      "runs", "peak",
                                                "tokens", "mean run", "mean wait", NULL };
    const struct sim_group_result *groups = projects ? r->projects : r->kinds;
    size_t count = projects ? r->project_count : r->kind_count;
    _cleanup_(table_finish) struct table table;
    table_begin(&table, projects ? "lrrrrrrrrr" : "lrrrrrrr");
    cells(&table, projects ? project_heading : kind_heading);
    for (size_t i = 0; i < count && i < GROUPS_MAX; i++) {
        const struct sim_group_result *g = &groups[i];
        if (g->tasks == 0)
            continue;
        CELL(&table, text_name, g->name, NAME_MAX_COLUMNS, style->unicode);
        if (projects && g->weight < 0)
            table_cell(&table, "paused");
        else if (projects)
            table_cell(&table, "%g", (double)g->weight / 1000);
        CELL(&table, text_count, g->tasks);
        CELL(&table, text_count, g->done);
        CELL(&table, text_count, g->runs);
        CELL(&table, text_count, g->peak);
        CELL(&table, text_count, g->tokens);
        if (projects) {
            CELL(&table, text_percent, g->share);
            CELL(&table, text_percent, g->target);
        } else {
            CELL(&table, text_duration, rounded(g->mean_run));
        }
        CELL(&table, text_duration, rounded(g->mean_wait));
    }
    table_print(&table, "  ", style->unicode, out);
    if (projects && count > GROUPS_MAX)
        strbuf_printf(out, "  and %zu more projects (--json lists all)\n", count - GROUPS_MAX);
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
        CELL(&table, text_count, r->left[i].count);
        CELL(&table, text_name, r->left[i].code, NAME_MAX_COLUMNS, style->unicode);
        CELL(&table, text_name, c->world->name(c->world->ctx, r->left[i].example), NAME_MAX_COLUMNS,
             style->unicode);
        CELL(&table, text_name, r->left[i].message, 100, style->unicode);
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
    print_groups(c->result, true, style, out);
    strbuf_putc(out, '\n');
    print_groups(c->result, false, style, out);
    print_left(c, style, out);
    strbuf_putc(out, '\n');
    gantt_print(c->world, c->play, 0, style, out);
}

/* --- comparison --------------------------------------------------------------------------------
 *
 * Both plays draw the same numbers for the same attempt of the same task, so only the settings cause
 * differences. */

#define TITLE_MAX_COLUMNS 44

struct compare {
    const struct sim_result *now, *with;
    const struct gantt_style *style;
    struct table table;
};

static void row_texts(struct compare *c, const char *name, const struct strbuf *now,
                      const struct strbuf *with, const struct strbuf *change) {
    const char *const texts[] = { name, strbuf_text(now), strbuf_text(with),
                                  change->length ? strbuf_text(change) : "=", NULL };
    cells(&c->table, texts);
}

static void put_relative(struct strbuf *out, double now, double with) {
    if (now <= 0)
        return;
    double percent = (with - now) / now * 100;
    strbuf_printf(out, " (%+.0f %%)", percent > -0.5 && percent < 0.5 ? 0.0 : percent);
}

static void row_duration(struct compare *c, const char *name, double now, double with) {
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT, d = STRBUF_INIT;
    time_ms first = rounded(now), second = rounded(with);
    text_duration(&a, first);
    text_duration(&b, second);
    if (first != second) {
        strbuf_puts(&d, second > first ? "+" : "");
        text_duration(&d, second - first);
        put_relative(&d, now, with);
    }
    row_texts(c, name, &a, &b, &d);
}

static void row_count(struct compare *c, const char *name, int64_t now, int64_t with) {
    if (now == 0 && with == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT, d = STRBUF_INIT;
    text_count(&a, now);
    text_count(&b, with);
    if (now != with) {
        strbuf_puts(&d, with > now ? "+" : "");
        text_count(&d, with - now);
    }
    row_texts(c, name, &a, &b, &d);
}

static void row_percent(struct compare *c, const char *name, double now, double with) {
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT, d = STRBUF_INIT;
    text_percent(&a, now);
    text_percent(&b, with);
    double points = (with - now) * 100;
    if (points <= -0.05 || points >= 0.05)
        strbuf_printf(&d, "%+.1f points", points);
    row_texts(c, name, &a, &b, &d);
}

static void rows_project(struct compare *c, const struct sim_group_result *now) {
    const struct sim_group_result *with = NULL;
    for (size_t i = 0; i < c->with->project_count && !with; i++)
        if (strcmp(c->with->projects[i].name, now->name) == 0)
            with = &c->with->projects[i];
    if (!with)
        return;
    _cleanup_(strbuf_finish) struct strbuf share = STRBUF_INIT, wait = STRBUF_INIT;
    text_name(&share, now->name, NAME_MAX_COLUMNS, c->style->unicode);
    strbuf_puts(&wait, strbuf_text(&share));
    strbuf_puts(&share, ": share");
    strbuf_puts(&wait, ": mean wait");
    row_percent(c, strbuf_text(&share), now->share, with->share);
    row_duration(c, strbuf_text(&wait), now->mean_wait, with->mean_wait);
}

static uint32_t left_over(const struct sim_result *r) {
    uint32_t left = 0;
    for (int state = 0; state < TASK_STATE_MAX; state++)
        if (!task_state_is_final((enum task_state)state))
            left += r->by_state[state];
    return left;
}

static void rows_all(struct compare *c) {
    const struct sim_result *now = c->now, *with = c->with;
    row_duration(c, "makespan", (double)now->makespan, (double)with->makespan);
    row_percent(c, "utilisation", now->utilisation, with->utilisation);
    row_count(c, "runs at once, peak", now->peak, with->peak);
    row_duration(c, "waiting, mean", now->waits.mean, with->waits.mean);
    row_duration(c, "waiting, median", (double)now->waits.p50, (double)with->waits.p50);
    row_duration(c, "waiting, 95 %", (double)now->waits.p95, (double)with->waits.p95);
    row_duration(c, "waiting, longest", (double)now->waits.max, (double)with->waits.max);
    row_count(c, "tasks done", now->by_state[TASK_DONE], with->by_state[TASK_DONE]);
    row_count(c, "tasks failed", now->by_state[TASK_FAILED], with->by_state[TASK_FAILED]);
    row_count(c, "tasks left", left_over(now), left_over(with));
    row_count(c, "attempts", now->attempts, with->attempts);
    row_count(c, "failed attempts", now->failed_attempts, with->failed_attempts);
    row_count(c, "rate limited", now->limited, with->limited);
    row_count(c, "tokens", now->tokens, with->tokens);
    for (size_t i = 0; i < now->project_count && i < GROUPS_MAX; i++)
        rows_project(c, &now->projects[i]);
}

static void print_chart(const struct sim_case *c, time_ms span, const struct gantt_style *style,
                        struct strbuf *out) {
    strbuf_putc(out, '\n');
    text_name(out, c->title, style->width, style->unicode);
    strbuf_puts(out, "\n\n");
    gantt_print(c->world, c->play, span, style, out);
}

void report_compare(const struct sim_case *now, const struct sim_case *with,
                    const struct gantt_style *style, struct strbuf *out) {
    struct compare c = { .now = now->result, .with = with->result, .style = style };
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    text_name(&title, with->title, TITLE_MAX_COLUMNS, style->unicode);
    table_begin(&c.table, "lrrr");
    const char *const heading[] = { "", "now", strbuf_text(&title), "change", NULL };
    cells(&c.table, heading);
    rows_all(&c);
    table_print(&c.table, "  ", style->unicode, out);
    table_finish(&c.table);
    time_ms span = time_max(now->result->makespan, with->result->makespan);
    print_chart(now, span, style, out);
    print_chart(with, span, style, out);
}

/* --- JSON --------------------------------------------------------------------------------------
 *
 * The members are described in docs/reference/cli/sim.md and never change their meaning. Times are
 * milliseconds since the beginning of the play, fractions are between 0 and 1. */

/* Null if negative. */
static void put_fraction(struct json_writer *w, const char *key, double value, int decimals) {
    if (value < 0)
        json_put_null(w, key);
    else
        json_put_double(w, key, value, decimals);
}

/* Null unless `given`. */
static void put_optional(struct json_writer *w, const char *key, bool given, int64_t value) {
    if (given)
        json_put_int(w, key, value);
    else
        json_put_null(w, key);
}

static void put_groups(struct json_writer *w, const struct sim_group_result *groups, size_t count,
                       bool projects) {
    json_put_array(w, projects ? "projects" : "kinds");
    for (size_t i = 0; i < count; i++) {
        const struct sim_group_result *g = &groups[i];
        json_write_object_begin(w);
        json_put_string(w, projects ? "project" : "kind", g->name);
        if (projects)
            put_fraction(w, "weight", (double)g->weight / 1000, 3);
        json_put_int(w, "tasks", g->tasks);
        json_put_int(w, "done", g->done);
        json_put_int(w, "failed", g->failed);
        json_put_int(w, "runs", g->runs);
        json_put_int(w, "peak", g->peak);
        json_put_int(w, "tokens", g->tokens);
        json_put_int(w, "busy_ms", g->busy);
        put_fraction(w, "share", g->share, 4);
        if (projects) {
            put_fraction(w, "target_share", g->target, 4);
            put_fraction(w, "contested_share", g->contested_share, 4);
            put_fraction(w, "contested_target", g->contested_target, 4);
        }
        json_put_int(w, "mean_run_ms", rounded(g->mean_run));
        json_put_int(w, "mean_wait_ms", rounded(g->mean_wait));
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_left(struct json_writer *w, const struct sim_case *c) {
    json_put_array(w, "left");
    for (size_t i = 0; i < c->result->left_count; i++) {
        const struct sim_left *left = &c->result->left[i];
        json_write_object_begin(w);
        json_put_string(w, "gate", left->code);
        json_put_int(w, "tasks", left->count);
        json_put_string(w, "example", c->world->name(c->world->ctx, left->example));
        json_put_string(w, "reason", left->message);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_runs(struct json_writer *w, const struct sim_case *c) {
    const struct sim_play *play = c->play;
    const struct symbol_table *symbols = core_symbols(c->world->core);
    json_put_array(w, "runs");
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        const struct sim_task *task = &play->tasks[run->task];
        json_write_object_begin(w);
        json_put_string(w, "task", c->world->name(c->world->ctx, run->task));
        json_put_string(w, "project", symbol_name(symbols, play->projects[task->project].id));
        sym kind = play->kinds[task->kind].id;
        json_put_string(w, "kind", kind ? symbol_name(symbols, kind) : NULL);
        json_put_int(w, "attempt", run->attempt);
        json_put_int(w, "start_ms", run->start - play->begin);
        json_put_int(w, "end_ms", run->end - play->begin);
        json_put_string(w, "outcome", run->live ? "running" : outcome_name(run->outcome));
        put_optional(w, "tokens", !run->live && run->tokens >= 0, run->tokens);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_numbers(struct json_writer *w, const struct sim_result *r) {
    json_put_int(w, "makespan_ms", r->makespan);
    json_put_string(w, "end", sim_end_name(r->how));
    put_fraction(w, "utilisation", r->utilisation, 4);
    json_put_int(w, "peak", r->peak);
    put_optional(w, "runs_cap", r->runs_cap != UNLIMITED, r->runs_cap);
    json_put_int(w, "busy_ms", r->busy);
    json_put_object(w, "wait_ms");
    json_put_int(w, "mean", rounded(r->waits.mean));
    json_put_int(w, "p50", r->waits.p50);
    json_put_int(w, "p95", r->waits.p95);
    json_put_int(w, "max", r->waits.max);
    json_put_int(w, "count", (int64_t)r->waits.count);
    json_write_object_end(w);
    json_put_object(w, "tasks");
    json_put_int(w, "total", r->tasks);
    for (int state = TASK_DRAFT; state < TASK_STATE_MAX; state++)
        json_put_int(w, task_state_name((enum task_state)state), r->by_state[state]);
    json_write_object_end(w);
    json_put_int(w, "attempts", r->attempts);
    json_put_int(w, "retries", r->retries);
    json_put_int(w, "failed_attempts", r->failed_attempts);
    json_put_int(w, "limited", r->limited);
    json_put_int(w, "stopped", r->stopped);
    json_put_int(w, "tokens", r->tokens);
    json_put_int(w, "steps", (int64_t)r->steps);
}

static void put_case(struct json_writer *w, const struct sim_case *c) {
    json_write_object_begin(w);
    put_numbers(w, c->result);
    put_groups(w, c->result->projects, c->result->project_count, true);
    put_groups(w, c->result->kinds, c->result->kind_count, false);
    put_left(w, c);
    put_runs(w, c);
    json_write_object_end(w);
}

static void put_change(struct json_writer *w, const struct sim_result *now,
                       const struct sim_result *with) {
    json_write_object_begin(w);
    json_put_int(w, "makespan_ms", with->makespan - now->makespan);
    json_put_double(w, "utilisation", with->utilisation - now->utilisation, 4);
    json_put_int(w, "wait_mean_ms", rounded(with->waits.mean) - rounded(now->waits.mean));
    json_put_int(w, "wait_p95_ms", with->waits.p95 - now->waits.p95);
    json_put_int(w, "wait_max_ms", with->waits.max - now->waits.max);
    json_put_int(w, "done", (int64_t)with->by_state[TASK_DONE] - now->by_state[TASK_DONE]);
    json_put_int(w, "failed", (int64_t)with->by_state[TASK_FAILED] - now->by_state[TASK_FAILED]);
    json_put_int(w, "attempts", (int64_t)with->attempts - now->attempts);
    json_put_int(w, "tokens", with->tokens - now->tokens);
    json_write_object_end(w);
}

void report_json(const struct sim_case *now, const struct sim_case *with,
                 const char *const *overrides, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_put_int(&w, "seed", (int64_t)now->result->seed);
    json_write_key(&w, "result");
    put_case(&w, now);
    if (with) {
        json_put_array(&w, "overrides");
        for (; overrides && *overrides; overrides++)
            json_write_string(&w, *overrides);
        json_write_array_end(&w);
        json_write_key(&w, "with");
        put_case(&w, with);
        json_write_key(&w, "change");
        put_change(&w, now->result, with->result);
    }
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}
