/* engine_kit.c: see engine_kit.h. */
#include "engine_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "late_store.h"
#include "os/clock.h"

static void open_store(struct kit *kit) {
    struct error err = { 0 };
    struct store_options options = { .url = kit->url };
    struct store_report report;
    int r = kit->late ? store_open_backend(&late_backend, &options, &kit->store, &report, &err)
                      : store_open(&options, &kit->store, &report, &err);
    if (r < 0)
        fail_msg("store: %s", err.text);
}

void kit_start(struct kit *kit) {
    struct error err = { 0 };
    struct config *config = config_new();
    if (config_read_text(config, "test", kit->config_text, strlen(kit->config_text), &err) < 0)
        fail_msg("configuration: %s", err.text);
    if (loop_new(&kit->loop, &err) < 0)
        fail_msg("%s", err.text);
    open_store(kit);
    struct engine_options options = {
        .loop = kit->loop,
        .config = config,
        .store = kit->store,
        .home = kit->home,
        .shim_path = "/nowhere",
        .socket_path = "/nowhere/sock",
        .environment = environ,
    };
    if (engine_new(&options, &kit->engine, &err) < 0)
        fail_msg("engine: %s", err.text);
    if (kit->before_start)
        kit->before_start(kit);
    if (engine_start(kit->engine, &kit->report, &err) < 0)
        fail_msg("engine: %s", err.text);
}

void kit_stop(struct kit *kit) {
    kit->engine = engine_free(kit->engine);
    kit->store = store_close(kit->store);
    kit->loop = loop_free(kit->loop);
}

static void make_home(struct kit *kit, const char *config_text) {
    *kit = (struct kit){ .config_text = config_text };
    fake_forget_everything();
    late_reset();
    scratch_make(kit->home, "engine");
    snprintf(kit->url, sizeof(kit->url), "%s/sluice.db", kit->home);
}

void kit_open(struct kit *kit, const char *config_text) {
    make_home(kit, config_text);
    kit_start(kit);
}

void kit_open_late(struct kit *kit, const char *config_text) {
    make_home(kit, config_text);
    kit->late = true;
    snprintf(kit->url, sizeof(kit->url), "memory:%s", kit->home);
    kit_start(kit);
}

void kit_close(struct kit *kit) {
    kit_stop(kit);
    scratch_remove(kit->home);
}

void kit_restart(struct kit *kit) {
    kit_stop(kit);
    kit_start(kit);
}

static void stored(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)ctx;
    if (outcome != STORE_OK)
        fail_msg("the test's own commit: %s", err->text);
}

void kit_store(struct kit *kit, void (*write)(struct store_batch *batch)) {
    struct store_batch *batch = store_batch_new();
    open_store(kit);
    write(batch);
    store_commit(kit->store, batch, stored, NULL);
    store_batch_free(batch);
    kit->store = store_close(kit->store);
}

/* --- waiting --------------------------------------------------------------------------------- */

struct wait {
    struct kit *kit;
    bool (*until)(struct kit *kit, void *ctx);
    void *ctx;
    bool late;
};

static void give_up(void *ctx) {
    struct wait *wait = ctx;
    wait->late = true;
    loop_stop(wait->kit->loop);
}

static void look(void *ctx) {
    struct wait *wait = ctx;
    if (wait->until(wait->kit, wait->ctx))
        loop_stop(wait->kit->loop);
}

void kit_wait(struct kit *kit, bool (*until)(struct kit *kit, void *ctx), void *ctx,
              const char *what) {
    struct wait wait = { .kit = kit, .until = until, .ctx = ctx };
    struct loop_timer *timer = loop_timer_new(kit->loop, give_up, &wait);
    loop_timer_set(kit->loop, timer, clock_read_steady() + patience_ms());
    engine_set_after_turn(kit->engine, look, &wait);
    struct error err = { 0 };
    assert_int_equal(loop_run(kit->loop, &err), 0);
    engine_set_after_turn(kit->engine, NULL, NULL);
    loop_timer_free(kit->loop, timer);
    if (wait.late)
        fail_msg("waited in vain for: %s", what);
    if (!until(kit, ctx))
        fail_msg("the engine has stopped: %s", engine_why_broken(kit->engine));
}

struct wish {
    task_id task;
    enum task_state state;
};

static bool has_state(struct kit *kit, void *ctx) {
    const struct wish *wish = ctx;
    return kit_state(kit, wish->task) == wish->state;
}

void kit_wait_state(struct kit *kit, task_id task, enum task_state state) {
    struct wish wish = { task, state };
    char what[64];
    snprintf(what, sizeof(what), "task %d is %s", (int)task, task_state_name(state));
    kit_wait(kit, has_state, &wish, what);
}

static bool has_starts(struct kit *kit, void *ctx) {
    (void)kit;
    return fake_start_count() >= *(size_t *)ctx;
}

void kit_wait_starts(struct kit *kit, size_t starts) {
    kit_wait(kit, has_starts, &starts, "runs are started");
}

static bool has_failures(struct kit *kit, void *ctx) {
    return kit_stats(kit).failed_commits >= *(uint64_t *)ctx;
}

void kit_wait_failures(struct kit *kit, uint64_t failed_commits) {
    kit_wait(kit, has_failures, &failed_commits, "commits fail");
}

static bool some_rounds(struct kit *kit, void *ctx) {
    int *rounds = ctx;
    loop_again(kit->loop);
    return --*rounds <= 0;
}

void kit_settle(struct kit *kit) {
    int rounds = 6;
    kit_wait(kit, some_rounds, &rounds, "a few rounds");
}

void kit_wait_broken(struct kit *kit) {
    struct wait wait = { .kit = kit };
    struct loop_timer *timer = loop_timer_new(kit->loop, give_up, &wait);
    loop_timer_set(kit->loop, timer, clock_read_steady() + patience_ms());
    struct error err = { 0 };
    assert_int_equal(loop_run(kit->loop, &err), 0);
    loop_timer_free(kit->loop, timer);
    if (wait.late)
        fail_msg("the loop goes on: the daemon would live and do nothing");
    assert_true(engine_is_broken(kit->engine));
}

/* --- requests -------------------------------------------------------------------------------- */

static int run_fact(struct engine *engine, struct kit_ask *ask) {
    return engine_apply(engine, &ask->fact, &ask->err);
}

static int run_pause(struct engine *engine, struct kit_ask *ask) {
    return engine_pause(engine, ask->text != NULL, NULL, &ask->err);
}

static int run_add(struct engine *engine, struct kit_ask *ask) {
    int r = engine_find_project(engine, ask->draft.project)
                ? 0
                : engine_add_project(engine, ask->draft.project, NULL, &ask->err);
    if (r < 0)
        return r;
    struct submission *tasks = xcalloc(ask->count, sizeof(*tasks));
    for (size_t i = 0; i < ask->count; i++)
        tasks[i] = ask->draft;
    r = engine_add_tasks(engine, tasks, ask->count, &ask->err);
    if (r == 0)
        ask->first = tasks[0].spec.id;
    free(tasks);
    return r;
}

static int ask_run(struct engine *engine, struct engine_request *request) {
    struct kit_ask *ask = (struct kit_ask *)request;
    return ask->result = ask->run(engine, ask);
}

static void ask_done(struct engine *engine, struct engine_request *request,
                     enum store_outcome outcome, const struct error *err) {
    struct kit_ask *ask = (struct kit_ask *)request;
    (void)engine;
    assert_false(ask->answered); /* once */
    ask->answered = true;
    ask->outcome = outcome;
    if (err)
        ask->err = *err;
}

static bool is_answered(struct kit *kit, void *ctx) {
    (void)kit;
    return ((struct kit_ask *)ctx)->answered;
}

struct kit_ask kit_ask_add(struct kit *kit, const char *project, const char *json) {
    return (struct kit_ask){
        .run = run_add,
        .count = 1,
        .draft = { .project = project,
                   .title = "a task",
                   .stored = json,
                   .spec = { .priority = 100,
                             .iteration = 1,
                             .state = TASK_WAITING,
                             .parallelizable = true,
                             .retry_max = -1,
                             .created_at = engine_now(kit->engine),
                             .ready_since = engine_now(kit->engine) } },
    };
}

struct kit_ask kit_ask_apply(enum fact_kind kind, task_id task) {
    return (struct kit_ask){ .run = run_fact, .fact = { .kind = kind, .task = task } };
}

void kit_send(struct kit *kit, struct kit_ask *ask) {
    ask->request.run = ask_run;
    ask->request.done = ask_done;
    ask->kit = kit;
    engine_request(kit->engine, &ask->request);
}

int kit_do(struct kit *kit, struct kit_ask *ask) {
    kit_send(kit, ask);
    kit_wait(kit, is_answered, ask, "the answer of a request");
    kit->outcome = ask->outcome;
    kit->err = ask->err;
    return kit->result = ask->result;
}

int kit_add(struct kit *kit, const char *project, const char *json, task_id *ret_task) {
    struct kit_ask ask = kit_ask_add(kit, project, json);
    int r = kit_do(kit, &ask);
    *ret_task = ask.first;
    return r;
}

int kit_add_for(struct kit *kit, const char *agent, const char *json, task_id *ret_task) {
    struct kit_ask ask = kit_ask_add(kit, "web", json);
    ask.draft.agent = agent;
    int r = kit_do(kit, &ask);
    *ret_task = ask.first;
    return r;
}

int kit_add_after(struct kit *kit, task_id before, task_id *ret_task) {
    struct kit_ask ask = kit_ask_add(kit, "web", "{\"argv\":[\"next\"]}");
    ask.draft.spec.depends_on = &before;
    ask.draft.spec.depends_on_count = 1;
    int r = kit_do(kit, &ask);
    *ret_task = ask.first;
    return r;
}

int kit_apply(struct kit *kit, enum fact_kind kind, task_id task) {
    struct kit_ask ask = kit_ask_apply(kind, task);
    return kit_do(kit, &ask);
}

void kit_clear_limiter(struct kit *kit, const char *name) {
    struct kit_ask ask = kit_ask_apply(FACT_LIMITER_CLEAR, 0);
    struct symbol_table *symbols = core_symbols((struct core *)engine_core(kit->engine));
    ask.fact.limiter_clear = symbol_find(symbols, name, strlen(name));
    assert_int_equal(kit_do(kit, &ask), 0);
}

int kit_run(struct kit *kit, int (*run)(struct engine *engine, struct kit_ask *ask),
            const char *text) {
    struct kit_ask ask = { .run = run, .text = text };
    return kit_do(kit, &ask);
}

int kit_pause(struct kit *kit, bool paused) {
    return kit_run(kit, run_pause, paused ? "paused" : NULL);
}

task_id kit_web(struct kit *kit, const char *json) {
    task_id task = 0;
    assert_int_equal(kit_add(kit, "web", json, &task), 0);
    if (kit->outcome != STORE_OK)
        fail_msg("the commit failed: %s", kit->err.text);
    return task;
}

/* --- queries --------------------------------------------------------------------------------- */

struct task_view kit_view(struct kit *kit, task_id task) {
    struct task_view view = { 0 };
    (void)core_task(engine_core(kit->engine), task, &view);
    return view;
}

enum task_state kit_state(struct kit *kit, task_id task) {
    return kit_view(kit, task).state;
}

struct engine_stats kit_stats(struct kit *kit) {
    struct engine_stats stats;
    engine_stats(kit->engine, &stats);
    return stats;
}

struct counting {
    const char *kind;
    size_t found;
    uint64_t last;
};

static void count_events(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct counting *counting = ctx;
    assert_null(err);
    counting->last = answer->count > 0 ? answer->events[answer->count - 1].seq : 0;
    for (size_t i = 0; i < answer->count; i++)
        counting->found += strcmp(answer->events[i].kind, counting->kind) == 0;
}

size_t kit_events(struct kit *kit, const char *kind, task_id task) {
    struct counting counting = { .kind = kind };
    struct store_query question = { .kind = QUERY_EVENTS, .task = task };
    do {
        store_query(kit->store, &question, count_events, &counting);
        question.after = counting.last;
    } while (counting.last > 0);
    return counting.found;
}

static void take_run(void *ctx, const struct store_answer *answer, const struct error *err) {
    static char how[32], message[256], executor[32],
        boot_id[64]; /* the strings of the row are no longer valid */
    struct run_row *row = ctx;
    assert_null(err);
    if (answer->count == 0)
        return;
    *row = answer->runs[0];
    snprintf(how, sizeof(how), "%s", row->how ? row->how : "");
    snprintf(message, sizeof(message), "%s", row->message ? row->message : "");
    snprintf(executor, sizeof(executor), "%s", row->executor ? row->executor : "");
    snprintf(boot_id, sizeof(boot_id), "%s", row->boot_id ? row->boot_id : "");
    row->how = how;
    row->message = message;
    row->executor = executor;
    row->boot_id = boot_id;
}

bool kit_last_run(struct kit *kit, task_id task, struct run_row *ret) {
    struct store_query question = { .kind = QUERY_RUNS, .task = task, .limit = 1 };
    *ret = (struct run_row){ 0 };
    store_query(kit->store, &question, take_run, ret);
    return ret->task == task;
}
