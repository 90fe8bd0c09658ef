/* op_daemon.c: health, role, pause, resume, tick, backup, notifications and stop of the daemon. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"
#include "executor/executor.h"
#include "ops/op_internal.h"
#include "ops/print.h"
#include "os/clock.h"

/* clang-format off */
#define HEALTH(X) \
    X(json_put_string, "role", T_TEXT | T_MAYBE, "`active` or `standby`", "active", "active") \
    X(json_put_string, "version", T_TEXT | T_MAYBE, "its version", "0.1.0", engine_version(e)) \
    X(json_put_int, "pid", T_INT | T_MAYBE, "its process", NULL, getpid()) \
    X(json_put_int, "uptime_s", T_INT | T_MAYBE, "uptime in seconds", NULL, (engine_now(e) - engine_started_at(e)) / 1000) \
    X(json_put_bool, "paused", T_BOOL | T_MAYBE, "dispatch is paused", NULL, engine_is_paused(e)) \
    X(json_put_string, "store", T_TEXT | T_MAYBE, "the type of its store", "sqlite", store.backend)
static const struct shape health_shape = { .members = SHAPE_ROWS(
    HEALTH(SHAPE_ROW)
    { "ok", T_BOOL, "it is healthy" },
    { "degraded", T_TEXT | T_LIST | T_MAYBE,
                  "missing kernel features; see `GET /v1/doctor`", "cgroup.kill" }) };
/* clang-format on */

static void print_more_health(struct op_call *call, struct json_writer *w) {
    struct engine *e = call->engine;
    struct store_info store;
    store_info(engine_store(e), &store);
    const struct executor_feature *features = NULL;
    size_t count = executor_features(engine_executor(e), &features);
    HEALTH(SHAPE_PRINT)
    json_put_array(w, "degraded");
    for (size_t i = 0; i < count; i++)
        if (!features[i].there)
            json_write_string(w, features[i].name);
    json_write_array_end(w);
}

static int run_health(struct op_call *call) {
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    struct json_writer w = op_begin(call);
    json_put_bool(&w, "ok", !store.broken);
    if (!call->access.remote || call->access.scope != ACCESS_NONE) /* only with a token */
        print_more_health(call, &w);
    json_write_object_end(&w);
    if (store.broken)
        call->status = 503;
    return 0;
}

const struct op op_daemon_health = {
    OP("daemon.health", "GET", "/healthz", "report whether the daemon is healthy"),
    .text = "Status 503 when it is not. Over TCP without a token the response has only `ok`.",
    .answers = &health_shape,
    OP_READS(READ, ALL, run_health),
    .open = true,
};

/* --- pause and resume ------------------------------------------------------------------------ */

extern const struct op op_daemon_pause;

static int run_pause(struct op_call *call) {
    bool paused = call->op == &op_daemon_pause;
    const char *project = op_text(call, "project");
    if (project && !op_project(call, project))
        return call->err.code;
    struct engine *e = call->engine;
    const char *by = op_actor(call);
    int r = project ? engine_pause_project(e, project, paused, by, &call->err)
                    : engine_pause(e, paused, by, &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    json_put_bool(&w, "paused", paused);
    json_put_bool(&w, "already", r == 1);
    if (paused)
        print_pause(&w, project ? &engine_find_project(e, project)->pause : engine_paused(e));
    return op_end(&w);
}

static const struct op_param pause_params[] = {
    PARAM(TEXT, BODY, "project", .text = "only this project; default: all projects", .min = 1,
          .max = 128),
    { .name = NULL }
};

const struct op op_daemon_pause = {
    OP("daemon.pause", "POST", "/v1/pause", "pause dispatch"),
    .text = "Nothing starts until it is resumed; running tasks continue. The pause survives a "
            "restart of the daemon and records who requested it: the run in the header "
            "`X-Sluice-Run`, else the user at the other end of the socket.",
    .params = pause_params,
    .answers = ANSWERS({ "paused", T_BOOL, "dispatch is paused" }, SHAPE_ALREADY,
                       { "paused_by", T_TEXT | T_NULL, "who paused it", "ann" },
                       { "paused_at", T_TIME | T_NULL, "when" }),
    OP_WRITES(ADMIN, NONE, run_pause),
};

const struct op op_daemon_resume = {
    OP("daemon.resume", "POST", "/v1/resume", "resume dispatch"),
    .params = pause_params,
    .answers = ANSWERS({ "paused", T_BOOL, "dispatch is paused" }, SHAPE_ALREADY),
    OP_WRITES(ADMIN, NONE, run_pause),
};

/* --- tick ------------------------------------------------------------------------------------ */

struct ticking {
    struct json_writer w;
    task_id *before; /* live before the tick, ascending; in the arena */
    size_t count;
};

/* clang-format off */
#define START(X) \
    X(print_id, "id", T_ID, "the task", NULL, engine, task) \
    X(json_put_string, "project", T_TEXT, "its project", "web", op_name_of(engine, t.project)) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, agent ? agent : t.agent)) \
    X(json_put_int, "score", T_INT, "its position in the order", NULL, score) \
    X(print_time, "at", T_TIME, "when it starts; later than now for tasks that wait for `pace.spawn_delay_s`, if nothing changes until then", NULL, at)
static const struct shape start_shape = { "Start", "a start", .members = SHAPE_ALL(START) };
/* clang-format on */

static void print_start(struct json_writer *w, const struct engine *engine, task_id task, sym agent,
                        int32_t score, time_ms at) {
    struct task_view t;
    if (!core_task(engine_core(engine), task, &t))
        return;
    SHAPE_OBJECT(START)
}

static void begin_starts(struct op_call *call, struct ticking *t) {
    strbuf_clear(&call->answer);
    t->w = op_begin(call);
    json_put_array(&t->w, "start");
}

static void end_starts(struct ticking *t) {
    json_write_array_end(&t->w);
    json_write_object_end(&t->w);
}

static void would_start(void *ctx, const struct order *order, time_ms at) {
    struct op_call *call = ctx;
    struct ticking *t = op_state(call, sizeof(*t), NULL);
    print_start(&t->w, call->engine, order->task, order->agent, order->score, at);
}

static task_id *live_tasks(struct op_call *call, size_t *ret_count) {
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    task_id *tasks = arena_alloc(op_arena(call), (count + 1) * sizeof(*tasks));
    *ret_count = engine_live_tasks(call->engine, tasks, count);
    return tasks;
}

static int run_tick(struct op_call *call) {
    struct ticking *t = op_state(call, sizeof(*t), NULL);
    struct fact fact = { .kind = FACT_TICK };
    bool dry = op_flag(call, "dry_run");
    int r = dry ? 0 : engine_apply(call->engine, &fact, &call->err);
    if (r < 0)
        return r;
    begin_starts(call, t);
    if (dry)
        engine_planned_starts(call->engine, true, would_start, call);
    else
        t->before = live_tasks(call, &t->count);
    end_starts(t);
    return 0;
}

/* Tasks that are live now and were not before were started in this turn. */
static void finish_tick(struct op_call *call) {
    struct ticking *t = op_state(call, sizeof(*t), NULL);
    if (op_flag(call, "dry_run"))
        return;
    size_t count, k = 0;
    const task_id *now = live_tasks(call, &count);
    begin_starts(call, t);
    for (size_t i = 0; i < count; i++) {
        struct task_view view;
        while (k < t->count && t->before[k] < now[i])
            k++;
        if ((k == t->count || t->before[k] != now[i])
            && core_task(engine_core(call->engine), now[i], &view))
            print_start(&t->w, call->engine, now[i], view.agent, view.score,
                        engine_now(call->engine));
    }
    engine_planned_starts(call->engine, false, would_start, call);
    end_starts(t);
}

const struct op op_daemon_tick = {
    OP("daemon.tick", "POST", "/v1/tick", "run a scheduling decision now, regardless of the pace"),
    .text = "A tick in which nothing can start has no effect.",
    .params = PARAMS(PARAM(BOOLEAN, BODY, "dry_run", .text = "only report what would start")),
    .answers = ANSWERS({ "start", T_OBJECT | T_LIST, "what starts in this tick", &start_shape }),
    OP_WRITES(ADMIN, NONE, run_tick),
    .finish = finish_tick,
};

static int run_stop(struct op_call *call) {
    call->stops_daemon = true;
    return op_answer(call, "s:b", "ok", true);
}

const struct op op_daemon_stop = {
    OP("daemon.stop", "POST", "/v1/shutdown", "stop the daemon"),
    .text = "Runs continue without it, and the next daemon adopts them.",
    .answers = ANSWERS({ "ok", T_BOOL, "it is stopping" }),
    OP_READS(ADMIN, NONE, run_stop),
};

/* --- which daemon answers -------------------------------------------------------------------- */

/* A standby answers the same path itself (daemon/standby.c), so a client may ask any daemon. */

/* clang-format off */
static const struct shape active_daemon_shape = { "ActiveDaemon", "the active daemon", .members = SHAPE_ROWS(
    { "who", T_TEXT | T_NULL, "host and process", "host/4711" },
    { "addresses", T_TEXT | T_LIST, "where it can be reached", "https://b.example:7878" }) };

#define DAEMON(X) \
    X(json_put_bool, "ok", T_BOOL, "it is healthy", NULL, true) \
    X(json_put_string, "role", T_TEXT, "`active` or `standby`", "active", "active") \
    X(json_put_string, "version", T_TEXT, "its version", "0.1.0", engine_version(e)) \
    X(json_put_int, "pid", T_INT, "its process", NULL, getpid()) \
    X(json_put_string, "host", T_TEXT, "its host", "a", executor_host(engine_executor(call->engine))) \
    X(json_put_int, "since", T_TIME, "when it took this role", NULL, engine_started_at(e)) \
    X(json_put_bool, "standby", T_BOOL | T_MAYBE, "for the active one: it becomes a standby again if it loses the store", NULL, config_number(engine_config(e), "daemon.standby", NULL) != 0)
static const struct shape daemon_shape = { .members = SHAPE_ROWS(
    DAEMON(SHAPE_ROW)
    { "addresses", T_TEXT | T_LIST | T_MAYBE, "for the active one: its addresses",
          "https://b.example:7878" },
    { "active", T_OBJECT | T_MAYBE, "for a standby: the active one", &active_daemon_shape },
    { "problem", T_TEXT | T_NULL | T_MAYBE, "for a standby: why it cannot use the store" }) };
/* clang-format on */

static int run_show(struct op_call *call) {
    const struct engine *e = call->engine;
    const char *const *addresses = NULL;
    size_t count = config_words(engine_config(e), "daemon.addresses", NULL, &addresses);
    struct json_writer w = op_begin(call);
    DAEMON(SHAPE_PRINT_TO)
    print_words(&w, "addresses", addresses, count);
    return op_end(&w);
}

const struct op op_daemon_show = {
    OP("daemon.show", "GET", "/v1/daemon",
       "show which daemon answers, and whether it is the active one"),
    .text = "Of several daemons that share a store, one is active. A standby answers this request, "
            "too, and every other request with 503, the code `standby` and the addresses of the "
            "active one as `active`. See [high-availability.md](../guide/high-availability.md).",
    .answers = &daemon_shape,
    OP_READS(READ, NONE, run_show),
};

/* --- backup ---------------------------------------------------------------------------------- */

static int print_backup(struct op_call *call) {
    const char *path = op_text(call, "path");
    time_ms began = *(const time_ms *)op_state(call, sizeof(time_ms), NULL);
    struct stat st = { 0 };
    (void)stat(path, &st);
    return op_answer(call, "s:s, s:I, s:I", "path", path, "bytes", (int64_t)st.st_size, "took_ms",
                     clock_read_steady() - began);
}

static void backup_is_over(void *ctx, const struct error *err) {
    op_wake(ctx, err ? err->code : 0, err);
}

static int run_backup(struct op_call *call) {
    const char *path = op_text(call, "path");
    if (path[0] != '/')
        return op_fail(call, -EINVAL,
                       "'%s' must be an absolute path: the daemon has another working directory",
                       utf8_quote(path).text);
    time_ms *began = op_state(call, sizeof(*began), NULL);
    *began = clock_read_steady();
    int r = op_wait(call, print_backup);
    engine_backup(call->engine, path, backup_is_over, call);
    return r;
}

/* Idempotent, so it takes no key and runs after the turn's commit. */
const struct op op_daemon_backup = {
    OP("daemon.backup", "POST", "/v1/backup", "write a backup of the store to a file"),
    .text = "The backup is verified and on disk when the response arrives; the daemon keeps "
            "serving other requests until then. `sluice restore` restores it. Only one backup runs "
            "at a time; another request is refused.",
    .params =
        PARAMS(PARAM(TEXT, BODY, "path", .text = "the path of the backup, on the daemon's machine",
                     .required = true, .min = 1, .max = 4096)),
    .answers = ANSWERS({ "path", T_TEXT, "the copy", "/backup/sluice.db" },
                       { "bytes", T_INT, "its size" }, { "took_ms", T_SPAN, "how long it took" }),
    OP_READS(ADMIN, NONE, run_backup),
    .local = true, /* writes a file at a path chosen by the client */
};

static void take_ways(void *ctx, const char *json) {
    struct op_call *call = ctx;
    if (json)
        strbuf_printf(&call->answer, "{\"ways\":%s}", json);
    op_wake(call, json ? 0 : -ESHUTDOWN, NULL);
}

static int run_notify_test(struct op_call *call) {
    int waits = op_wait(call, op_done);
    int r = engine_test_notify(call->engine, take_ways, call, &call->err);
    return r < 0 ? r : waits;
}

/* clang-format off */
static const struct shape way_shape = { "Way", "a way of notification", .members = SHAPE_ROWS(
    { "way", T_TEXT, "its setting", "notify.webhook" },
    { "ok", T_BOOL, "the sample was delivered" },
    { "text", T_TEXT, "the result, for people", "answered 204 in 12 ms" }) };
/* clang-format on */

const struct op op_notify_test = {
    OP("notify.test", "POST", "/v1/notify/test",
       "send a test through every configured notification channel"),
    .text = "The response comes when all of them have finished, which may take as long as their "
            "timeouts. Only one test runs at a time; another request is refused.",
    .answers = ANSWERS({ "ways", T_OBJECT | T_LIST, "the configured channels", &way_shape }),
    OP_READS(ADMIN, NONE, run_notify_test),
};
