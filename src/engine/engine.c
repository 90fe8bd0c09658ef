/* engine.c: the life of the engine, and what may be read inside a turn. */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_internal.h"

static const char *name_of_task(const void *ctx, task_id task) {
    struct engine *e = (struct engine *)ctx; /* the buffer is ours to write */
    return engine_task_id(e, task, e->id_buffer);
}

static void timer_due(void *ctx) {
    (void)ctx; /* the end of this round runs the turn */
}

static void round_ends(void *ctx) {
    struct engine *e = ctx;
    engine_turn(e);
    if (e->after_turn)
        e->after_turn(e->after_turn_ctx);
}

int engine_new(const struct engine_options *options, struct engine **ret_engine,
               struct error *err) {
    struct engine *e = xcalloc(1, sizeof(*e));
    e->options = *options;
    e->loop = options->loop;
    e->config = options->config;
    e->store = options->store;
    e->home = xstrdup(options->home);
    e->data = config_data_folder(e->config, e->home);
    e->runs_folder = xasprintf("%s/runs", e->data);
    e->config_file = xstrdup(options->config_file ? options->config_file : "");
    e->socket_path = xstrdup(options->socket_path ? options->socket_path : "");
    e->run_socket_path =
        xstrdup(options->run_socket_path ? options->run_socket_path : e->socket_path);
    e->shim_path = xstrdup(options->shim_path);
    e->version = xstrdup(options->version ? options->version : "");
    e->names = (struct task_names){ .name = name_of_task, .ctx = e };
    e->wall_at_start = loop_now(e->loop);
    e->steady_at_start = loop_now_steady(e->loop);
    e->now = e->wall_at_start;
    e->queue_end = &e->queue;
    e->timer = loop_timer_new(e->loop, timer_due, e);
    e->turn.batch = store_batch_new();
    parts_step(e, STEP_INIT);
    int r = parts_try(e, TRY_OPEN, err);
    if (r < 0) {
        engine_free(e);
        return r;
    }
    loop_set_round(e->loop, round_ends, e);
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e) {
    if (!e)
        return NULL;
    loop_set_round(e->loop, NULL, NULL);
    turn_refuse_queued(e);
    parts_step(e, STEP_FREE);
    turn_finish(e);
    loop_timer_free(e->loop, e->timer);
    core_free(e->core);
    config_free(e->config);
    free(e->home);
    free(e->data);
    free(e->runs_folder);
    free(e->config_file);
    free(e->socket_path);
    free(e->run_socket_path);
    free(e->shim_path);
    free(e->version);
    free(e);
    return NULL;
}

/* What others may read of an engine. */
#define GETTER(type, name, engine, value)                                                          \
    type name(engine *e) {                                                                         \
        return value;                                                                              \
    }
GETTER(bool, engine_is_broken, const struct engine, e->broken.code != 0)
GETTER(const char *, engine_why_broken, const struct engine, e->broken.text)
GETTER(bool, engine_is_committing, const struct engine, e->committing)
GETTER(bool, engine_is_launching, const struct engine, parts_are_launching(e))
GETTER(const struct core *, engine_core, const struct engine, e->core)
GETTER(const struct config *, engine_config, const struct engine, e->config)
GETTER(struct store *, engine_store, struct engine, e->store)
GETTER(struct executor *, engine_executor, struct engine, e->executor)
GETTER(struct bus_poster *, engine_bus, const struct engine, e->options.bus)
GETTER(time_ms, engine_now, const struct engine, e->now)
GETTER(time_ms, engine_started_at, const struct engine, e->wall_at_start)
GETTER(const char *, engine_home, const struct engine, e->home)
GETTER(const char *, engine_config_file, const struct engine, e->config_file)
GETTER(const char *, engine_version, const struct engine, e->version)
GETTER(const char *, engine_socket_path, const struct engine, e->socket_path)
GETTER(const char *, engine_run_socket_path, const struct engine, e->run_socket_path)
GETTER(const char *, engine_shim_path, const struct engine, e->shim_path)
GETTER(const struct task_names *, engine_names, const struct engine, &e->names)
GETTER(uint64_t, engine_first_event, const struct engine, e->first_event)
GETTER(uint64_t, engine_last_event, const struct engine, e->committed_event)
GETTER(task_id, engine_last_task, const struct engine, e->last_task)
GETTER(task_id, engine_next_task, const struct engine, e->last_task + 1)
#undef GETTER

void engine_stats(const struct engine *e, struct engine_stats *ret) {
    *ret = e->stats;
}

#define CALLBACK_SETTER(name, type, member)                                                        \
    void name(struct engine *e, type call, void *ctx) {                                            \
        e->member = call;                                                                          \
        e->member##_ctx = ctx;                                                                     \
    }
CALLBACK_SETTER(engine_set_publisher, engine_published, publish)
CALLBACK_SETTER(engine_set_spawner, engine_spawn_tasks, spawn)
CALLBACK_SETTER(engine_set_firing, engine_fire_tasks, fire)
CALLBACK_SETTER(engine_set_after_turn, engine_after_turn, after_turn)
CALLBACK_SETTER(engine_set_run_variables, engine_run_variables, run_variables)
#undef CALLBACK_SETTER

/* --- notifications ---------------------------------------------------------------------------- */

void engine_set_notifier(struct engine *e, engine_notify_test test, void *notifier) {
    e->notify_test = test;
    e->notifier = notifier;
}

int engine_test_notify(struct engine *e, engine_notify_tested tested, void *ctx,
                       struct error *err) {
    if (!e->notify_test)
        return error_set(err, -ENOTSUP, "this daemon sends no notifications");
    return e->notify_test(e->notifier, tested, ctx, err);
}
