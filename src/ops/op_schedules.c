/* op_schedules.c: lists, adds, changes, pauses, runs and removes schedules.
 *
 * The configuration has their definitions, so every change is an edit of the file (as for projects);
 * the engine has what became of their due times. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "config/settings.h"
#include "engine/schedules.h"
#include "ops/print.h"
#include "store/store.h"

#define SCHEDULE_SETTINGS "schedules.S."
#define COMING_MAX        1000
#define PREVIEWED         10

/* --- printing -------------------------------------------------------------------------------- */

/* clang-format off */
static const struct shape skip_shape = { "ScheduleSkip", "due times that were skipped, one after the other", .members = SHAPE_ROWS(
    { "first", T_TIME, "the first of them" },
    { "last", T_TIME, "the last of them" },
    { "count", T_INT, "how many" },
    { "reason", T_TEXT, "`missed`, `too_old`, `overlap`, `paused` or `refused`", "overlap" }) };

#define SCHEDULE_MEMBERS(X) \
    X(json_put_string, "name", T_TEXT, "its name", "nightly", s.name) \
    X(json_put_string, "cron", T_TEXT | T_NULL, "the cron expression", "0 2 * * 1-5", setting_or_null(config, "schedules.S.cron", s.name)) \
    X(print_span, "every", T_SPAN | T_NULL, "the time between two due times", NULL, config_number(config, "schedules.S.every", s.name)) \
    X(json_put_string, "at", T_TEXT | T_NULL, "the only due time", NULL, setting_or_null(config, "schedules.S.at", s.name)) \
    X(json_put_string, "timezone", T_TEXT | T_NULL, "its time zone; null: that of the system", "Europe/Berlin", *s.timezone ? s.timezone : NULL) \
    X(json_put_string, "zone", T_TEXT | T_NULL, "the name of the time zone in use; null: that of the system has none", "Europe/Berlin", s.zone) \
    X(json_put_string, "task", T_TEXT | T_NULL, "the task that it adds, as JSON text", NULL, setting_or_null(config, "schedules.S.task", s.name)) \
    X(json_put_string, "file", T_TEXT | T_NULL, "the task file that it adds", NULL, setting_or_null(config, "schedules.S.file", s.name)) \
    X(json_put_string, "formula", T_TEXT | T_NULL, "the formula whose steps it adds", NULL, setting_or_null(config, "schedules.S.formula", s.name)) \
    X(json_put_string, "backup", T_TEXT | T_NULL, "the directory into which it writes backups, instead of adding tasks", NULL, s.backup) \
    X(json_put_int, "keep", T_INT, "how many backups are kept", NULL, (int64_t)s.keep) \
    X(json_put_string, "last_backup", T_TEXT | T_NULL, "its last backup", NULL, last_backup) \
    X(json_put_string, "overlap", T_TEXT, "`skip`, `queue` or `replace`", "skip", config_text(config, "schedules.S.overlap", s.name)) \
    X(json_put_string, "catch_up", T_TEXT, "`last`, `all` or `none`", "last", config_text(config, "schedules.S.catch_up", s.name)) \
    X(print_span, "catch_up_max", T_SPAN | T_NULL, "the age up to which missed due times are caught up; null: any", NULL, config_number(config, "schedules.S.catch_up_max_s", s.name)) \
    X(json_put_int, "jitter", T_SPAN, "the longest delay of a due time", NULL, config_number(config, "schedules.S.jitter_s", s.name)) \
    X(json_put_bool, "paused", T_BOOL, "whether it adds nothing", NULL, s.paused) \
    X(print_time, "next_due", T_TIME | T_NULL, "its next due time; null: none", NULL, s.next_due) \
    X(print_time, "next_at", T_TIME | T_NULL, "when that fires, with its jitter; null: never, or paused", NULL, s.next_at) \
    X(print_time, "last_due", T_TIME | T_NULL, "the due time of the last firing", NULL, s.last_due) \
    X(print_id, "last_task", T_ID | T_NULL, "the first task of the last firing", NULL, call->engine, s.last_task) \
    X(json_put_int, "last_count", T_INT, "how many tasks the last firing added", NULL, (int64_t)s.last_count) \
    X(json_put_bool, "open", T_BOOL, "whether one of these tasks is not finished", NULL, s.open) \
    X(json_put_int, "fired", T_INT, "how often it has fired", NULL, (int64_t)s.fired) \
    X(json_put_int, "skipped", T_INT, "how many due times were skipped", NULL, (int64_t)s.skipped) \
    X(json_put_string, "error", T_TEXT | T_NULL, "why its last task was refused, or its last backup failed; null: it was not", NULL, s.error)
static const struct shape schedule_shape = { "Schedule", "a schedule", .members = SHAPE_ROWS(
    SCHEDULE_MEMBERS(SHAPE_ROW)
    { "vars", T_TEXT | T_LIST, "values for the variables of the formula", "version=1.2" },
    { "skips", T_OBJECT | T_LIST, "the last records of skipped due times, newest first", &skip_shape },
    { "actions", T_TEXT | T_LIST, "what can be done to it now: operations `schedule.ACTION`", "pause" },
    { "due", T_TIME | T_LIST | T_MAYBE, "with `dry_run`: its next due times, without jitter; at most 10" }) };
/* clang-format on */

static const char *setting_or_null(const struct config *config, const char *pattern,
                                   const char *name) {
    const char *text = config_text(config, pattern, name);
    return *text ? text : NULL;
}

static void print_span(struct json_writer *w, const char *key, time_ms span) {
    if (span == INT64_MAX)
        json_put_null(w, key);
    else
        json_put_int(w, key, span);
}

static void print_times(struct json_writer *w, const char *key, const time_ms *times,
                        size_t count) {
    json_put_array(w, key);
    for (size_t i = 0; i < count; i++)
        json_write_int(w, times[i]);
    json_write_array_end(w);
}

/* Its members, without the braces. */
static void print_members(struct json_writer *w, struct op_call *call, const struct config *config,
                          struct engine_schedule s) {
    _cleanup_(freep) char *last_backup = engine_schedule_backup(&s);
    SCHEDULE_MEMBERS(SHAPE_PRINT)
    const char *const *vars = NULL;
    size_t var_count = config_words(config, "schedules.S.vars", s.name, &vars);
    print_words(w, "vars", vars, var_count);
    json_put_array(w, "skips");
    for (size_t i = 0; i < s.skip_count; i++) {
        json_write_object_begin(w);
        json_put_int(w, "first", s.skips[i].first);
        json_put_int(w, "last", s.skips[i].last);
        json_put_int(w, "count", (int64_t)s.skips[i].count);
        json_put_string(w, "reason", s.skips[i].reason);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    const char *const actions[] = { s.paused ? "resume" : "pause", "set", "remove", "run" };
    size_t count = ARRAY_SIZE(actions) - (s.backup ? 1 : 0); /* `sluice backup` makes one at once */
    print_words(w, "actions", actions, count);
}

static void print_schedule(struct json_writer *w, struct op_call *call, size_t index) {
    struct engine_schedule s;
    engine_schedule_at(call->engine, index, &s);
    json_write_object_begin(w);
    print_members(w, call, engine_config(call->engine), s);
    json_write_object_end(w);
}

static const char *schedule_at(const struct engine *engine, size_t index) {
    const struct config *config = engine_config(engine);
    return index < config_schedule_count(config) ? config_schedule_name(config, index) : NULL;
}

static int find(struct op_call *call, struct engine_schedule *ret) {
    const char *name = op_text(call, "name");
    return engine_find_schedule(call->engine, name, ret)
               ? 0
               : op_unknown(call->engine, "schedule", name, schedule_at, &call->err);
}

static int answer_schedule(struct op_call *call) {
    const char *name = op_text(call, "name");
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    for (size_t i = 0; i < engine_schedule_count(call->engine); i++)
        if (strcmp(schedule_at(call->engine, i), name) == 0)
            print_schedule(&w, call, i);
    return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static int run_list(struct op_call *call) {
    return names_list(call, engine_schedule_count(call->engine), print_schedule);
}

static int run_show(struct op_call *call) {
    struct engine_schedule s;
    int r = find(call, &s);
    return r < 0 ? r : answer_schedule(call);
}

static int run_next(struct op_call *call) {
    struct engine_schedule s;
    int r = find(call, &s);
    if (r < 0)
        return r;
    size_t max = (size_t)op_number(call, "count", 10);
    time_ms *due = arena_alloc(op_arena(call), max * sizeof(*due));
    size_t count = engine_schedule_coming(call->engine, s.name, due, max);
    struct json_writer w = op_begin(call);
    json_put_string(&w, "name", s.name);
    json_put_bool(&w, "paused", s.paused);
    print_times(&w, "due", due, count);
    return op_end(&w);
}

/* --- changing -------------------------------------------------------------------------------- */

extern const struct op op_schedule_add;

/* A due time would find it later, and raise an alert. */
static int check_backup(struct op_call *call, const char *folder) {
    struct store_info store;
    struct stat st;
    store_info(engine_store(call->engine), &store);
    if (strcmp(store.backend, "postgresql") == 0)
        return op_fail(call, -EINVAL,
                       "a store in PostgreSQL is copied by its own tools, such as pg_dump: see "
                       "docs/guide/postgresql.md");
    if (stat(folder, &st) < 0)
        return op_fail(call, -EINVAL, "cannot use the directory '%s': %s", utf8_quote(folder).text,
                       strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return op_fail(call, -EINVAL, "'%s' is not a directory", utf8_quote(folder).text);
    if (access(folder, W_OK | X_OK) < 0)
        return op_fail(call, -EINVAL, "cannot write to the directory '%s': %s",
                       utf8_quote(folder).text, strerror(errno));
    return 0;
}

/* The definition and its task are checked with the new configuration, before anything changes. */
static int check_new(struct op_call *call, const struct config *config, const char *name) {
    struct engine_firing firing = {
        .schedule = name,
        .config = config,
        .external_id = "check",
        .check_only = true,
    };
    struct engine_schedule s;
    time_ms due;
    int r = engine_check_schedules(call->engine, config, &call->err);
    if (r == 0 && call->op == &op_schedule_add
        && engine_checked_schedule(call->engine, config, name, &s, &due, 1) == 0)
        r = op_fail(call, -EINVAL, "schedule '%s' is never due: its time has passed",
                    utf8_quote(name).text);
    if (r == 0 && *config_text(config, "schedules.S.backup", name))
        return check_backup(call, config_text(config, "schedules.S.backup", name));
    if (r == 0)
        r = fire_tasks(NULL, call->engine, &firing, &call->err);
    if (r == -ENOENT) /* in the task, not in the path of the request */
        r = call->err.code = -EINVAL;
    return r;
}

/* After check_new: the schedule as it would be. */
static int answer_preview(struct op_call *call, const struct config *config, const char *name) {
    struct engine_schedule s = { .name = name };
    time_ms due[PREVIEWED];
    size_t count = engine_checked_schedule(call->engine, config, name, &s, due, PREVIEWED);
    struct json_writer w = op_begin(call);
    print_members(&w, call, config, s);
    print_times(&w, "due", due, count);
    return op_end(&w);
}

static int run_change(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct config_change *items = NULL;
    struct engine_schedule s;
    bool adds = call->op == &op_schedule_add;
    const char *name = op_text(call, "name");
    if (adds && !utf8_is_name(name, strlen(name)))
        return op_fail(call, -EINVAL,
                       "'%s' is not a name: it has control characters, or blanks at its ends",
                       utf8_quote(name).text);
    if (adds && config_has_schedule(engine_config(call->engine), name))
        return op_fail(call, -EEXIST, "schedule '%s' already exists", utf8_quote(name).text);
    int r = adds ? 0 : find(call, &s);
    size_t count = r == 0 ? section_changes(call, SCHEDULE_SETTINGS, name, true, &items) : 0;
    if (r == 0 && count == 0)
        r = op_fail(call, -EINVAL, "nothing to change: give a setting, such as cron");
    if (r == 0)
        r = change_prepare(call, items, count, &change);
    if (r == 0 && !config_has_schedule(change.config, name))
        r = op_fail(call, -EINVAL, "'%s' cannot be the name of a schedule", utf8_quote(name).text);
    if (r == 0)
        r = check_new(call, change.config, name);
    if (r < 0)
        return r;
    return op_flag(call, "dry_run") ? answer_preview(call, change.config, name)
                                    : change_apply(call, &change);
}

static int set_paused(struct op_call *call, bool paused) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct engine_schedule s;
    int r = find(call, &s);
    if (r < 0 || s.paused == paused)
        return r;
    struct config_change item = { .key = section_key(call, SCHEDULE_SETTINGS, op_text(call, "name"),
                                                     "paused"),
                                  .value = paused ? "true" : "false" };
    r = change_prepare(call, &item, 1, &change);
    return r < 0 ? r : change_apply(call, &change);
}

static int run_pause(struct op_call *call) {
    return set_paused(call, true);
}

static int run_resume(struct op_call *call) {
    return set_paused(call, false);
}

/* After the decision: the cursor of a new schedule is known. */
static void fill_schedule(struct op_call *call) {
    if (!op_flag(call, "dry_run"))
        (void)answer_schedule(call);
}

static int replay_schedule(struct op_call *call, const char *memo) {
    struct engine_schedule s;
    (void)memo;
    if (op_flag(call, "dry_run"))
        return run_change(call);
    int r = find(call, &s);
    return r < 0 ? r : answer_schedule(call);
}

static int run_now(struct op_call *call) {
    task_id first = 0;
    struct engine_schedule s;
    int r = find(call, &s);
    if (r == 0)
        r = engine_run_schedule(call->engine, op_text(call, "name"), &first, &call->err);
    if (r < 0)
        return r;
    (void)engine_find_schedule(call->engine, op_text(call, "name"), &s);
    struct json_writer w = op_begin(call);
    json_put_string(&w, "name", s.name);
    json_put_array(&w, "tasks");
    for (uint64_t i = 0; i < s.last_count; i++)
        json_write_string(&w, op_id(call, first + i));
    json_write_array_end(&w);
    return op_end(&w);
}

static int run_remove(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct engine_schedule s;
    int r = find(call, &s);
    if (r < 0)
        return r;
    const char *name = op_keep(call, op_text(call, "name"));
    struct config_change *items = NULL;
    size_t count = section_removal(call, SCHEDULE_SETTINGS, name, &items);
    r = change_prepare(call, items, count, &change);
    if (r == 0 && config_has_schedule(change.config, name))
        r = op_fail(call, -EINVAL,
                    "schedules.%s cannot be removed from the configuration here: edit the file",
                    utf8_quote(name).text);
    if (r == 0)
        r = change_apply(call, &change);
    return r < 0 ? r : op_answer(call, "s:s", "name", name);
}

/* --- the operations -------------------------------------------------------------------------- */

#define PARAM_NAME OP_PARAM_NAME("the schedule")
#define PARAM_SETTINGS                                                                             \
    PARAM(SETTINGS, BODY, "KEY", .settings = SCHEDULE_SETTINGS,                                    \
          .text = "any setting `schedules.S.KEY` of the configuration, such as `cron` or `task`; " \
                  "an empty text removes it")
#define PARAM_DRY_RUN                                                                              \
    PARAM(BOOLEAN, BODY, "dry_run",                                                                \
          .text =                                                                                  \
              "check only and change nothing; the answer is the schedule as it would be, with "    \
              "`due`")

const struct op op_schedule_list = {
    OP("schedule.list", "GET", "/v1/schedules", "list the schedules"),
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&schedule_shape)),
    OP_READS(READ, NONE, run_list),
};

const struct op op_schedule_show = {
    OP("schedule.show", "GET", "/v1/schedules/{name}", "show a schedule"),
    .params = PARAMS(PARAM_NAME),
    .answers = &schedule_shape,
    OP_READS(READ, NONE, run_show),
};

const struct op op_schedule_next = {
    OP("schedule.next", "GET", "/v1/schedules/{name}/next", "show when a schedule is due"),
    .params = PARAMS(PARAM_NAME, PARAM(NUMBER, QUERY, "count",
                                       .text = "most due times in the answer; 10 when not given",
                                       .min = 1, .max = COMING_MAX)),
    .answers = ANSWERS({ "name", T_TEXT, "the schedule", "nightly" },
                       { "paused", T_BOOL, "whether it adds nothing" },
                       { "due", T_TIME | T_LIST, "its next due times, without jitter" }),
    OP_READS(READ, NONE, run_next),
};

const struct op op_schedule_add = {
    OP("schedule.add", "POST", "/v1/schedules", "add a schedule"),
    .text = "It needs one of `cron`, `every` and `at`, and one of `task`, `file`, `formula` and "
            "`backup`. See [schedules.md](../guide/schedules.md).",
    .params = PARAMS(
        PARAM(TEXT, BODY, "name", .text = "its name", .required = true, .min = 1, .max = 128),
        PARAM_DRY_RUN, PARAM_SETTINGS),
    .answers = &schedule_shape,
    OP_WRITES(ADMIN, NONE, run_change),
    .fill = fill_schedule,
    .replay = replay_schedule,
};

const struct op op_schedule_set = {
    OP("schedule.set", "POST", "/v1/schedules/{name}/set", "change the settings of a schedule"),
    .text = "The same as changing `schedules.NAME.*` of the configuration. When its times change, "
            "the schedule starts from now: earlier due times are not caught up.",
    .params = PARAMS(PARAM_NAME, PARAM_DRY_RUN, PARAM_SETTINGS),
    .answers = &schedule_shape,
    OP_WRITES(ADMIN, NONE, run_change),
    .fill = fill_schedule,
    .replay = replay_schedule,
};

const struct op op_schedule_pause = {
    OP("schedule.pause", "POST", "/v1/schedules/{name}/pause", "pause a schedule"),
    .params = PARAMS(PARAM_NAME),
    .answers = &schedule_shape,
    OP_WRITES(ADMIN, NONE, run_pause),
    .fill = fill_schedule,
    .replay = replay_schedule,
};

const struct op op_schedule_resume = {
    OP("schedule.resume", "POST", "/v1/schedules/{name}/resume", "resume a schedule"),
    .text = "What was due while it was paused is recorded as skipped.",
    .params = PARAMS(PARAM_NAME),
    .answers = &schedule_shape,
    OP_WRITES(ADMIN, NONE, run_resume),
    .fill = fill_schedule,
    .replay = replay_schedule,
};

const struct op op_schedule_run = {
    OP("schedule.run", "POST", "/v1/schedules/{name}/run", "add the tasks of a schedule now"),
    .text = "Also while it is paused or its last task is not finished. Its due times stay as they "
            "are.",
    .params = PARAMS(PARAM_NAME),
    .answers = ANSWERS({ "name", T_TEXT, "the schedule", "nightly" },
                       { "tasks", T_ID | T_LIST, "the tasks that were added" }),
    OP_WRITES(ADMIN, NONE, run_now),
};

const struct op op_schedule_remove = {
    OP("schedule.remove", "POST", "/v1/schedules/{name}/remove", "remove a schedule"),
    .text = "Removes its section from the configuration. Its tasks stay.",
    .params = PARAMS(PARAM_NAME),
    .answers = ANSWERS({ "name", T_TEXT, "the schedule", "nightly" }),
    OP_WRITES(ADMIN, NONE, run_remove),
};
