/* report_compare.c: what would be different?
 *
 * Both plays draw the same luck for the same attempt of the same task, so a difference here comes
 * from the settings alone.
 */
#include "sim/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/table.h"
#include "sim/text.h"

#define NAME_MAX_COLUMNS  28
#define TITLE_MAX_COLUMNS 44
#define PROJECTS_MAX      40

struct compare {
    const struct sim_result *now, *with;
    const struct gantt_style *style;
    struct table table;
};

static void row_texts(struct compare *c, const char *name, const struct strbuf *now,
                      const struct strbuf *with, const struct strbuf *change) {
    table_cell(&c->table, "%s", name);
    table_cell(&c->table, "%s", strbuf_text(now));
    table_cell(&c->table, "%s", strbuf_text(with));
    table_cell(&c->table, "%s", strbuf_text(change));
}

static void put_relative(struct strbuf *out, double now, double with) {
    if (now <= 0)
        return;
    double percent = (with - now) / now * 100;
    strbuf_printf(out, " (%+.0f %%)", percent > -0.5 && percent < 0.5 ? 0.0 : percent);
}

static void row_duration(struct compare *c, const char *name, double now, double with) {
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT, d = STRBUF_INIT;
    time_ms first = (time_ms)(now + 0.5), second = (time_ms)(with + 0.5);
    text_duration(&a, first);
    text_duration(&b, second);
    if (first == second) {
        strbuf_puts(&d, "=");
    } else {
        strbuf_puts(&d, second > first ? "+" : "");
        text_duration(&d, second - first);
        put_relative(&d, now, with);
    }
    row_texts(c, name, &a, &b, &d);
}

static void row_count(struct compare *c, const char *name, int64_t now, int64_t with) {
    if (now == 0 && with == 0)
        return; /* nobody asks */
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT, d = STRBUF_INIT;
    text_count(&a, now);
    text_count(&b, with);
    if (now == with) {
        strbuf_puts(&d, "=");
    } else {
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
    if (points > -0.05 && points < 0.05)
        strbuf_puts(&d, "=");
    else
        strbuf_printf(&d, "%+.1f points", points);
    row_texts(c, name, &a, &b, &d);
}

static const struct sim_group_result *project_named(const struct sim_result *result,
                                                    const char *name) {
    for (size_t i = 0; i < result->project_count; i++)
        if (strcmp(result->projects[i].name, name) == 0)
            return &result->projects[i];
    return NULL;
}

static void rows_project(struct compare *c, const struct sim_group_result *now) {
    const struct sim_group_result *with = project_named(c->with, now->name);
    if (!with)
        return;
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    text_name(&name, now->name, NAME_MAX_COLUMNS, c->style->unicode);
    size_t length = name.length;
    strbuf_puts(&name, ": share");
    row_percent(c, strbuf_text(&name), now->share, with->share);
    name.text[name.length = length] = '\0';
    strbuf_puts(&name, ": mean wait");
    row_duration(c, strbuf_text(&name), now->mean_wait, with->mean_wait);
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
    for (size_t i = 0; i < now->project_count && i < PROJECTS_MAX; i++)
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
    table_cell(&c.table, "%s", "");
    table_cell(&c.table, "now");
    table_cell(&c.table, "%s", strbuf_text(&title));
    table_cell(&c.table, "change");
    rows_all(&c);
    table_print(&c.table, "  ", style->unicode, out);
    table_finish(&c.table);
    time_ms span = time_max(now->result->makespan, with->result->makespan);
    print_chart(now, span, style, out);
    print_chart(with, span, style, out);
}
