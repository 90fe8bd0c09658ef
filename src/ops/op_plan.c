/* op_plan.c: a snapshot for `sluice plan` and `sluice sim`, and what-if. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/outlook.h"
#include "ops/print.h"

/* The engine writes a file; the front end opens it when it answers, and sends it as the client
 * reads. The file is unlinked with the call, so nothing is left behind whatever the client does. */

static void snapshot_remove(void *state) {
    char **path = state;
    (void)unlink(*path);
    free(*path);
}

static void take_snapshot(void *ctx, const char *path, const struct error *err) {
    struct op_call *call = ctx;
    if (path) {
        char **file = op_state(call, sizeof(*file), snapshot_remove);
        *file = xstrdup(path);
        call->log.path = xstrdup(path);
    }
    op_wake(call, path ? 0 : err->code, err);
}

static int run_snapshot(struct op_call *call) {
    int waits = op_wait(call, op_done);
    int r =
        engine_snapshot(call->engine, op_flag(call, "anonymous"), take_snapshot, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_plan_snapshot = {
    OP("plan.snapshot", "GET", "/v1/snapshot", "get the live queue as a snapshot for plan and sim"),
    .text = "Everything the next decision depends on, as of one moment, in the format of "
            "docs/reference/snapshot.md. Titles, prompts and commands are not in it. The answer "
            "may be large "
            "(about 200 bytes for each task) and comes in chunks. One at a time: another one "
            "meanwhile is refused with 409. Above 1 GB of scheduler state (about 3 million tasks) "
            "it is refused with 413.",
    .params = PARAMS(
        PARAM(BOOLEAN, QUERY, "anonymous",
              .text = "names and ids are replaced by neutral ones; the decisions stay the same")),
    OP_READS(ADMIN, NONE, run_snapshot),
    .answer = OP_ANSWER_FILE,
};

/* The settings are parsed as in config.set, but not written. */

/* clang-format off */
#define OUTLOOK_PROJECT(X) \
    X(json_put_string, "name", T_TEXT, "the project", "web", outlook->projects[i].name) \
    X(json_put_int, "tasks", T_INT, "how many of its tasks will be finished", NULL, outlook->projects[i].tasks) \
    X(json_put_int, "finish_at", T_TIME, "when the last of them is", NULL, outlook->projects[i].finish)
static const struct shape outlook_project_shape = { "OutlookProject", "the tasks of a project in a forecast", .members = SHAPE_ALL(OUTLOOK_PROJECT) };

#define BOTTLENECK(X) \
    X(json_put_string, "gate", T_TEXT, "the gate", "lease:runs", b->code) \
    X(json_put_string, "name", T_TEXT | T_NULL, "the account, project or agent that it belongs to, where `gate` does not name it", "anthropic", strchr(b->code, ':') || !*b->name ? NULL : b->name) \
    X(json_put_string, "setting", T_TEXT | T_NULL, "the setting that would widen it; null: none does", "limits.runs", setting) \
    X(print_amount, "cap", T_INT | T_NULL, "its slots; null: it is not counted in slots", NULL, b->gate.gate == GATE_LEASE ? b->gate.cap : UNLIMITED) \
    X(json_put_int, "waits_ms", T_SPAN, "how long at least one task waits there", NULL, b->span) \
    X(json_put_int, "tasks", T_INT, "how many wait there at the same time, at most", NULL, b->tasks)
static const struct shape bottleneck_shape = { "Bottleneck", "the gate at which tasks wait for the longest part of a forecast", .members = SHAPE_ALL(BOTTLENECK) };

#define OUTLOOK(X) \
    X(json_put_int, "finish_at", T_TIME, "when everything is finished", NULL, outlook->finish) \
    X(json_put_int, "makespan_ms", T_SPAN, "how long that takes", NULL, outlook->finish - outlook->at) \
    X(json_put_int, "tasks", T_INT, "how many tasks will be finished", NULL, outlook->tasks) \
    X(json_put_int, "others", T_INT, "those that will not, because they wait for a person, a file or a task that failed", NULL, outlook->others) \
    X(json_put_int, "later", T_INT, "those that may be finished after the end of the forecast", NULL, outlook->later) \
    X(json_put_bool, "paused", T_BOOL, "everything is paused: it begins with a resume", NULL, outlook->paused) \
    X(json_put_bool, "complete", T_BOOL, "false: it was ended after 30 days or 2,000,000 steps, and more would follow", NULL, outlook->complete)
static const struct shape outlook_shape = { "Outlook", "what would come of the queue", .members = SHAPE_ROWS(
    OUTLOOK(SHAPE_ROW)
    { "bottleneck", T_OBJECT | T_NULL, "where tasks wait longest; null: none waits for a limit", &bottleneck_shape },
    { "projects", T_OBJECT | T_LIST, "by project", &outlook_project_shape },
    { "points", T_PAIR | T_LIST, "times, and how many tasks are left then; at most 120" }) };
/* clang-format on */

/* The setting that has the slots of a gate; in the arena. */
static const char *setting_of(struct op_call *call, const struct forecast_bottleneck *b) {
    static const char *const formats[LEASE_KIND_MAX] = {
        [LEASE_RUNS] = "limits.runs",
        [LEASE_ROOTS] = "limits.roots",
        [LEASE_PROJECT] = "projects.%s.max_running",
        [LEASE_KIND] = "kinds.%s.max_running",
        [LEASE_AGENT] = "agents.%s.slots",
        [LEASE_LIMITER] = "limiters.%s.max_running",
        [LEASE_RESOURCE] = "limits.resource.%s",
    };
    const char *format = b->gate.gate == GATE_LEASE ? formats[b->gate.lease] : NULL;
    const char *mark = format ? strstr(format, "%s") : NULL;
    if (!mark)
        return format;
    char text[256];
    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(mark - format), format, b->name, mark + 2);
    return op_keep(call, text);
}

static void print_bottleneck(struct op_call *call, struct json_writer *w,
                             const struct forecast_bottleneck *b) {
    json_write_key(w, "bottleneck");
    if (!b->code) {
        json_write_null(w);
        return;
    }
    const char *setting = setting_of(call, b);
    SHAPE_OBJECT(BOTTLENECK)
}

static void print_outlook(struct op_call *call, struct json_writer *w,
                          const struct outlook *outlook) {
    json_write_object_begin(w);
    OUTLOOK(SHAPE_PRINT)
    print_bottleneck(call, w, &outlook->bottleneck);
    json_put_array(w, "projects");
    for (size_t i = 0; i < outlook->project_count; i++) {
        SHAPE_OBJECT(OUTLOOK_PROJECT)
    }
    json_write_array_end(w);
    json_put_array(w, "points");
    for (size_t i = 0; i < outlook->point_count; i++)
        json_write_pack(w, "[I, I]", outlook->points[i].at, (int64_t)outlook->points[i].left);
    json_write_pack(w, "]}");
}

static void take_outlooks(void *ctx, const struct outlook *now, const struct outlook *then) {
    struct op_call *call = ctx;
    if (!now) {
        op_wake(call, -ESHUTDOWN, NULL);
        return;
    }
    struct json_writer w = op_begin(call);
    json_put_int(&w, "at", now->at);
    json_write_key(&w, "now");
    print_outlook(call, &w, now);
    json_write_key(&w, "then");
    print_outlook(call, &w, then);
    json_write_object_end(&w);
    op_wake(call, 0, NULL);
}

static int run_whatif(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    int r = change_prepare_params(call, &change);
    int waits = op_wait(call, op_done);
    if (r == 0)
        r = engine_whatif(call->engine, change.config, take_outlooks, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_plan_whatif = {
    OP("plan.whatif", "POST", "/v1/whatif", "simulate the queue as it is and with other settings"),
    .text = "Changes nothing. Each run takes as long as runs of its project and kind took on "
            "average (five minutes when none has ended yet) and succeeds; no task is added, "
            "approved or canceled. `now` is the forecast of all other answers (`plan.forecast`). "
            "A queue that is too large to be copied at once is refused with 413 (above 32 "
            "MB of scheduler state, about 100,000 tasks).",
    .params = PARAMS(
        PARAM(OBJECT, BODY, "set", .text = "settings and the values that they would have",
              .max = 100),
        PARAM(LIST, BODY, "unset", .text = "settings that would have their default", .max = 100)),
    .answers = ANSWERS({ "at", T_TIME, "when it was played" },
                       { "now", T_OBJECT, "with the settings in force", &outlook_shape },
                       { "then", T_OBJECT, "with those of `set`", &outlook_shape }),
    OP_READS(READ, NONE, run_whatif),
};

/* --- the forecast ---------------------------------------------------------------------------- */

struct forecast_page {
    struct op_rows rows;
    uint64_t from, next; /* runs before this page; before the next one, 0: none */
    time_ms until;
    sym project;
};

struct expected_run {
    task_id task;
    time_ms start, end;
    bool live;
};

/* clang-format off */
#define FORECAST_RUN(X) \
    X(print_id, "task", T_ID, "its task", NULL, call->engine, one.task) \
    X(json_put_string, "title", T_TEXT | T_NULL, "the title of its task", "write the parser", page->rows.titles[i]) \
    X(json_put_string, "project", T_TEXT | T_NULL, "its project", "web", op_name_of(call->engine, t.project)) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(call->engine, t.agent)) \
    X(json_put_string, "state", T_WORD, "the state of its task", &words_state, task_state_name(t.state)) \
    X(json_put_int, "start", T_TIME, "when it starts, or started", NULL, one.start) \
    X(json_put_int, "end", T_TIME, "when it ends", NULL, one.end) \
    X(json_put_bool, "live", T_BOOL, "it is live", NULL, one.live)
static const struct shape forecast_run_shape = { "ForecastRun", "an expected run", .members = SHAPE_ALL(FORECAST_RUN) };

#define FORECAST_ALL(X) \
    X(json_put_int, "at", T_TIME, "when it was made", NULL, info.at) \
    X(json_put_bool, "available", T_BOOL, "false: the queue is too large for a forecast, and the rest is empty", NULL, made != NULL) \
    X(json_put_bool, "paused", T_BOOL, "everything is paused: it begins with a resume", NULL, info.paused) \
    X(json_put_int, "finish_at", T_TIME, "when everything is finished", NULL, finish) \
    X(json_put_int, "tasks", T_INT, "how many tasks will be finished", NULL, made ? made->end_count : 0) \
    X(json_put_int, "others", T_INT, "those that will not, because they wait for a person, a file or a task that failed", NULL, made ? made->others : 0) \
    X(json_put_int, "later", T_INT, "those that may be finished after the end of the forecast", NULL, made ? made->later : 0) \
    X(json_put_bool, "complete", T_BOOL, "false: it was ended after 30 days or 2,000,000 steps, and more would follow", NULL, made && made->complete)
static const struct shape forecast_shape = { .members = SHAPE_ROWS(
    FORECAST_ALL(SHAPE_ROW)
    { "bottleneck", T_OBJECT | T_NULL, "where tasks wait longest; null: none waits for a limit", &bottleneck_shape },
    SHAPE_PAGE(&forecast_run_shape)) };
/* clang-format on */

/* Live runs, then the others in the order in which they start. False: after the last. */
static bool run_at(const struct op_call *call, const struct forecast *made, uint64_t index,
                   struct expected_run *ret) {
    if (index < made->live_count) {
        struct engine_run run;
        *ret = (struct expected_run){ made->live[index].task, 0, made->live[index].end, true };
        if (engine_live_run(call->engine, ret->task, &run))
            ret->start = run.started_at ? run.started_at : run.ordered_at;
        return true;
    }
    index -= made->live_count;
    if (index >= made->count)
        return false;
    *ret = (struct expected_run){ .task = made->order[index] };
    const struct forecast_entry *entry = forecast_entry(made, ret->task);
    ret->start = entry->start;
    ret->end = entry->end;
    return true;
}

/* A task that has started, ended or changed since is left out. */
static bool fits(const struct op_call *call, const struct forecast_page *page,
                 const struct expected_run *one) {
    struct task_view t;
    return core_task(engine_core(call->engine), one->task, &t)
           && (!page->project || t.project == page->project)
           && (one->live ? one->start > 0 && task_state_is_live(t.state)
                         : one->start < page->until && !task_state_is_live(t.state)
                               && !task_state_is_final(t.state));
}

static int print_forecast(struct op_call *call) {
    const struct forecast_page *page = op_state(call, sizeof(*page), NULL);
    struct engine_forecast_info info = { .at = engine_now(call->engine) };
    const struct forecast *made = engine_forecast_made(call->engine, &info);
    time_ms finish = made && made->end_count > 0 ? made->ends[made->end_count - 1].at : info.at;
    struct json_writer writer = op_begin(call), *w = &writer;
    FORECAST_ALL(SHAPE_PRINT)
    print_bottleneck(call, w, made ? &made->bottleneck : &(struct forecast_bottleneck){ 0 });
    json_put_array(w, "items");
    for (size_t i = 0; made && i < page->rows.count; i++) {
        struct expected_run one;
        struct task_view t;
        uint64_t index = forecast_index(made, page->rows.tasks[i]);
        if (!run_at(call, made, index, &one) || !core_task(engine_core(call->engine), one.task, &t)
            || !fits(call, page, &one))
            continue;
        SHAPE_OBJECT(FORECAST_RUN)
    }
    json_write_array_end(w);
    op_print_next(w, 'f', page->next);
    return op_end(w);
}

static int list_forecast(struct op_call *call) {
    struct forecast_page *page = op_state(call, sizeof(*page), NULL);
    struct engine_forecast_info info;
    const struct forecast *made = engine_forecast_made(call->engine, &info);
    size_t limit = op_limit(call);
    struct expected_run one;
    uint64_t at = page->from;
    page->rows.tasks = arena_alloc(op_arena(call), limit * sizeof(*page->rows.tasks));
    for (; made && page->rows.count < limit && run_at(call, made, at, &one); at++)
        if (fits(call, page, &one))
            page->rows.tasks[page->rows.count++] = one.task;
    page->next = made && run_at(call, made, at, &one) ? at : 0;
    return op_query_titles(call, &page->rows, print_forecast);
}

static int run_forecast(struct op_call *call) {
    struct forecast_page *page = op_state(call, sizeof(*page), NULL);
    const char *project = op_text(call, "project");
    bool given;
    int r = op_cursor(call, 'f', &page->from, &given);
    if (r < 0)
        return r;
    page->until = op_number(call, "until", TIME_NEVER);
    if (project) {
        const struct engine_project *found = op_project(call, project);
        if (!found)
            return call->err.code;
        page->project = found->symbol;
    }
    return op_wait_ready(call, engine_forecast, list_forecast);
}

const struct op op_plan_forecast = {
    OP("plan.forecast", "GET", "/v1/forecast", "show which runs are expected, and when"),
    .text = "The forecast that `task.why`, `task.graph` and `plan.whatif` show as well: it is made "
            "at most every ten seconds, and less often for a long queue. Each run takes as long as "
            "runs of its project and kind took on average (five minutes when none has ended yet) "
            "and succeeds; no task is added, approved or canceled, except by schedules. Live runs "
            "come first, then the others in the order in which they start.",
    .params = PARAMS(OP_PARAM_FILTER("project", "runs of this project"),
                     PARAM(NUMBER, QUERY, "until", .spelled = MEMBER_MOMENT,
                           .text = "runs that start before this time (ms)"),
                     OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = &forecast_shape,
    OP_READS(READ, NONE, run_forecast),
};
