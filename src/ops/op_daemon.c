/* op_daemon.c: is it there, pause, resume, tick, stop. */
#include <unistd.h>

#include "executor/executor.h"
#include "ops/print.h"

/* clang-format off */
#define HEALTH(X) \
    X(print_text, "role", T_TEXT | T_MAYBE, "`active` or `standby`", "active", "active") \
    X(print_text, "version", T_TEXT | T_MAYBE, "its version", "0.1.0", engine_version(e)) \
    X(print_int, "pid", T_INT | T_MAYBE, "its process", NULL, getpid()) \
    X(print_int, "uptime_s", T_INT | T_MAYBE, "since when, in seconds", NULL, (engine_now(e) - engine_started_at(e)) / 1000) \
    X(print_bool, "paused", T_BOOL | T_MAYBE, "nothing starts", NULL, engine_is_paused(e)) \
    X(print_text, "store", T_TEXT | T_MAYBE, "what keeps its state", "sqlite", store.backend)
static const struct shape health_shape = { .members = SHAPE_ROWS(
    HEALTH(SHAPE_ROW)
    { "ok", T_BOOL, "it works" },
    { "degraded", T_TEXT | T_LIST | T_MAYBE,
                  "what the kernel does not let it do; see `GET /v1/doctor`", "cgroup.kill" }) };
/* clang-format on */

/* --- health ---------------------------------------------------------------------------------- */

static void print_more_health(struct op_call *call, struct json_writer *w) {
    struct engine *e = call->engine;
    struct store_info store;
    store_info(engine_store(e), &store);
    const struct executor_feature *features = NULL;
    size_t count = executor_features(engine_executor(e), &features);
    HEALTH(SHAPE_PRINT)
    print_list(w, "degraded");
    for (size_t i = 0; i < count; i++)
        if (!features[i].there)
            json_write_string(w, features[i].name);
    json_write_array_end(w);
}

static int run_health(struct op_call *call) {
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    struct json_writer w = op_begin(call);
    print_bool(&w, "ok", !store.broken);
    if (!call->access.remote || call->access.scope != ACCESS_NONE) /* not for anybody */
        print_more_health(call, &w);
    json_write_object_end(&w);
    if (store.broken)
        call->status = 503;
    return 0;
}

const struct op op_daemon_health = {
    OP("daemon.health", "GET", "/healthz", "say whether the daemon works"),
    .text = "Status 503 when it does not. Over TCP without a token only `ok` is told.",
    .answers = &health_shape,
    .right = OP_READ,
    .open = true,
    .reach = OP_REACH_ALL,
    .run = run_health,
};

/* --- pause and resume ------------------------------------------------------------------------ */

static int set_paused(struct op_call *call, bool paused) {
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
    print_bool(&w, "paused", paused);
    print_bool(&w, "already", r == 1);
    if (paused)
        print_pause(&w, project ? &engine_find_project(e, project)->pause : engine_paused(e));
    return op_end(&w);
}

static int run_pause(struct op_call *call) {
    return set_paused(call, true);
}

static int run_resume(struct op_call *call) {
    return set_paused(call, false);
}

static const struct op_param pause_params[] = {
    PARAM(TEXT, BODY, "project", .text = "only this project; all of them when not given", .min = 1,
          .max = 128),
    { .name = NULL }
};

const struct op op_daemon_pause = {
    OP("daemon.pause", "POST", "/v1/pause", "start nothing until resumed"),
    .text = "What runs goes on. The pause outlives the daemon, and keeps who asked for it: the run "
            "of the header `X-Sluice-Run`, else the user at the other end of the socket.",
    .params = pause_params,
    .answers = ANSWERS({ "paused", T_BOOL, "nothing starts" }, SHAPE_ALREADY,
                       { "paused_by", T_TEXT | T_NULL, "who paused it", "ann" },
                       { "paused_at", T_TIME | T_NULL, "when" }),
    .right = OP_ADMIN,
    .writes = true,
    .run = run_pause,
};

const struct op op_daemon_resume = {
    OP("daemon.resume", "POST", "/v1/resume", "start again what may start"),
    .params = pause_params,
    .answers = ANSWERS({ "paused", T_BOOL, "nothing starts" }, SHAPE_ALREADY),
    .right = OP_ADMIN,
    .writes = true,
    .run = run_resume,
};

/* --- tick ------------------------------------------------------------------------------------ */

struct ticking {
    struct json_writer w;
    task_id *before; /* what was live when the tick was told; in the arena, rising */
    size_t count;
};

/* clang-format off */
#define START(X) \
    X(print_id, "id", T_ID, "the task", NULL, engine, task) \
    X(print_text, "project", T_TEXT, "its project", "web", op_name_of(engine, t.project)) \
    X(print_text, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, agent ? agent : t.agent)) \
    X(print_int, "score", T_INT, "its place in the order", NULL, score) \
    X(print_time, "at", T_TIME, "when; later than now for those that follow after `pace.spawn_delay_s`, if nothing changes until then", NULL, at)
static const struct shape start_shape = { "Start", "a start", .members = SHAPE_ALL(START) };
/* clang-format on */

static void print_start(struct json_writer *w, const struct engine *engine, task_id task, sym agent,
                        int32_t score, time_ms at) {
    struct task_view t;
    if (!core_task(engine_core(engine), task, &t))
        return;
    json_write_object_begin(w);
    START(SHAPE_PRINT)
    json_write_object_end(w);
}

static void begin_starts(struct op_call *call, struct ticking *t) {
    strbuf_clear(&call->answer);
    json_write_init(&t->w, &call->answer, false);
    json_write_object_begin(&t->w);
    print_list(&t->w, "start");
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
    int r = dry ? 0 : engine_tell(call->engine, &fact, &call->err);
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

/* What lives now and did not before was started by this turn. */
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
    OP("daemon.tick", "POST", "/v1/tick", "decide now, whatever the pace says"),
    .text = "A tick in which nothing can start has no effect.",
    .params = PARAMS(PARAM(BOOLEAN, BODY, "dry_run", .text = "only say what would start")),
    .answers = ANSWERS({ "start", T_OBJECT | T_LIST, "what starts in this tick", &start_shape }),
    .right = OP_ADMIN,
    .writes = true,
    .run = run_tick,
    .finish = finish_tick,
};

/* --- stop ------------------------------------------------------------------------------------ */

static int run_stop(struct op_call *call) {
    call->stops_daemon = true;
    strbuf_puts(&call->answer, "{\"ok\":true}");
    return 0;
}

const struct op op_daemon_stop = {
    OP("daemon.stop", "POST", "/v1/shutdown", "end the daemon"),
    .text = "Runs go on without it, and are found again by the next one.",
    .answers = ANSWERS({ "ok", T_BOOL, "it ends" }),
    .right = OP_ADMIN,
    .run = run_stop,
};
