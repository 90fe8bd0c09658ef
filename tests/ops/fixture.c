/* fixture.c: see fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bus/poster.h"
#include "engine/schedules.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "os/files.h"
#include "os/loop.h"

#define TURNS_FREE 16

/* Two slots, a few names of each sort, and no host limit that stops anything. */
static const char config_base[] =
    "host: {disk_free_gb: 0}\n"
    "store: {min_free_mb: 0}\n"
    "limits:\n"
    "  runs: 2\n"
    "  resource: {gpu: 1, license: 3}\n"
    "kinds: {plan: {base: 40}, implement: {base: 60}}\n"
    "limiters: {anthropic: {max_running: 2}}\n"
    "agents:\n"
    "  claude: {command: [claude, -p], limiter: anthropic, slots: 4}\n"
    "  mute: {slots: 1}\n"
    "projects: {web: {weight: 2}, api: {}}\n";

static void fail_with(const char *what, const struct error *err) {
    fail_msg("%s: %s", what, err->text);
}

/* Once per test program. */
static void check_answers(void) {
    static bool checks;
    const char *path = getenv("SLUICE_TEST_ANSWERS");
    if (!checks && path)
        op_check_answers(open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
    checks = true;
}

static void start(struct ops *o) {
    struct error err = { 0 };
    check_answers();
    struct store_report report;
    struct engine_report started;
    struct config *config = config_new();
    if (config_read_file(config, o->config_file, &err) < 0)
        fail_with("config", &err);
    if (loop_new(&o->loop, &err) < 0)
        fail_with("loop", &err);
    struct store_options store = { .url = o->url };
    if (store_open(&store, &o->store, &report, &err) < 0)
        fail_with("store", &err);
    if (bus_poster_new(o->loop, o->home, &o->bus, &err) < 0)
        fail_with("bus", &err);
    struct engine_options options = {
        .loop = o->loop,
        .bus = o->bus,
        .config = config,
        .store = o->store,
        .home = o->home,
        .config_file = o->config_file,
        .socket_path = "/nonexistent/sluice.sock",
        .shim_path = SHIM_PATH, /* git runs below it */
        .version = "0.0-test",
    };
    if (engine_new(&options, &o->engine, &err) < 0)
        fail_with("engine", &err);
    engine_set_firing(o->engine, fire_tasks, NULL);
    if (engine_start(o->engine, &started, &err) < 0)
        fail_with("start", &err);
    ops_turn(o); /* commits what the start itself has written */
}

static void stop(struct ops *o) {
    o->bus = bus_poster_free(o->bus);
    o->engine = engine_free(o->engine);
    o->store = store_close(o->store);
    o->loop = loop_free(o->loop);
}

void ops_open(struct ops *o, enum ops_store store, const char *config) {
    scratch_make(o->home, "ops");
    (void)snprintf(o->config_file, sizeof(o->config_file), "%s/sluice.yaml", o->home);
    (void)snprintf(o->url, sizeof(o->url), "%s%s", store == OPS_MEMORY ? "memory:" : o->home,
                   store == OPS_MEMORY ? "" : "/sluice.db");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s%s", config_base, config ? config : "");
    assert_int_equal(file_write(o->config_file, strbuf_text(&text), text.length, NULL), 0);
    start(o);
}

void ops_close(struct ops *o) {
    stop(o);
    if (*o->home)
        scratch_remove(o->home);
}

void ops_restart(struct ops *o) {
    stop(o);
    start(o);
}

/* A turn ends after a slow launch, by the clock of the test: repeats until all are launched. */
void ops_turn(struct ops *o) {
    engine_turn(o->engine);
    for (int i = 0; i < TURNS_FREE && engine_is_launching(o->engine); i++)
        engine_turn(o->engine);
}

/* --- requests -------------------------------------------------------------------------------- */

static void take_answer(struct reply *r, int status, const struct strbuf *text) {
    r->status = status;
    r->answered = true;
    r->text = xstrdup(strbuf_text(text));
    r->json = json_loads(r->text, JSON_REJECT_DUPLICATES, NULL);
}

static void answered(struct op_call *call, void *ctx) {
    struct reply *r = ctx;
    r->replayed = call->replayed;
    r->stops_daemon = call->stops_daemon;
    r->call = NULL;
    if (r->waiting)
        loop_stop(r->waiting);
    if (call->op->answer == OP_ANSWER_LOG && call->err.code == 0)
        strbuf_printf(&call->answer, "{\"path\":\"%s\",\"offset\":%" PRIu64 "}", call->log.path,
                      call->log.offset);
    take_answer(r, call->status, &call->answer);
    op_call_free(call);
}

static void refuse(struct reply *r, int status) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    (void)error_set(&err, status == 405 ? -EPERM : -ENOENT, "there is no such path");
    op_print_error(&err, &text);
    take_answer(r, status, &text);
}

/* As a front end does; <0: refused before it reached the engine. */
static int read_params(const struct op *op, const char *query, const struct question *q,
                       json_t *params, struct error *err) {
    int r = query ? op_take_query(op, query, params, err) : 0;
    if (r == 0 && q->body)
        r = op_take_body(op, q->body, q->size ? q->size : strlen(q->body), params, err);
    return r < 0 ? r : op_check(op, params, err);
}

static const struct op *find_op(const struct question *q, json_t **ret_params, struct reply *r) {
    struct error err = { 0 };
    const char *allowed = NULL;
    char *route = xstrdup(q->path), *query = strchr(route, '?');
    if (query)
        *query++ = '\0';
    const struct op *op = op_route(q->method, route, ret_params, &allowed);
    if (!op) {
        refuse(r, allowed ? 405 : 404);
    } else if (read_params(op, query, q, *ret_params, &err) < 0) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        op_print_error(&err, &text);
        take_answer(r, op_error_status(err.code), &text);
        json_decref(*ret_params);
        op = NULL;
    }
    free(route);
    return op;
}

enum op_peer ops_peer = OP_PEER_PROGRAM;

static enum op_peer find_peer(const struct op_call *call) {
    (void)call;
    return ops_peer;
}

static void begin(struct ops *o, const struct question *q, struct reply *r) {
    json_t *params = NULL;
    *r = (struct reply){ 0 };
    const struct op *op = find_op(q, &params, r);
    if (!op)
        return;
    r->call = op_call_new(op, o->engine, params, q->key);
    r->call->user = xstrdup("ann");
    if (q->token)
        (void)snprintf(r->call->run.token, sizeof(r->call->run.token), "%s", q->token);
    if (q->access)
        r->call->access = *q->access;
    if (q->access)
        r->call->find_peer = find_peer;
    r->call->answered = answered;
    r->call->ctx = r;
    op_submit(r->call);
}

void ops_begin(struct ops *o, const char *path, const char *body, const char *key,
               struct reply *reply) {
    struct question q = { .method = "POST", .path = path, .body = body, .key = key };
    begin(o, &q, reply);
}

void ops_begin_get(struct ops *o, const char *path, struct reply *reply) {
    struct question q = { .method = "GET", .path = path };
    begin(o, &q, reply);
}

static void lost_patience(void *ctx) {
    loop_stop(ctx);
}

/* The answer depends on a helper process: runs the loop until it has arrived. */
static void wait_for(struct ops *o, struct reply *r) {
    struct loop_timer *deadline = loop_timer_new(o->loop, lost_patience, o->loop);
    loop_timer_set(o->loop, deadline, loop_now_steady(o->loop) + patience_ms());
    r->waiting = o->loop;
    (void)loop_run(o->loop, NULL);
    r->waiting = NULL;
    loop_timer_free(o->loop, deadline);
}

void ops_wait(struct ops *o, struct reply *r) {
    if (!r->answered)
        wait_for(o, r);
    if (!r->answered)
        fail_msg("there was no answer within %d s", patience_s());
}

static struct reply ask_question(struct ops *o, const struct question *q) {
    struct reply *r = xcalloc(1, sizeof(*r)); /* must not move until it is answered */
    begin(o, q, r);
    for (int turns = 0; !r->answered && turns < 4; turns++)
        ops_turn(o);
    ops_wait(o, r);
    struct reply copy = *r;
    free(r);
    return copy;
}

struct reply ops_ask_bytes(struct ops *o, const char *method, const char *path, const char *body,
                           size_t size, const char *key) {
    struct question q = { .method = method, .path = path, .body = body, .key = key, .size = size };
    return ask_question(o, &q);
}

struct reply ops_ask_as(struct ops *o, const char *token, const char *method, const char *path,
                        const char *body) {
    struct question q = { .method = method, .path = path, .body = body, .token = token };
    return ask_question(o, &q);
}

struct reply ops_ask_as_key(struct ops *o, const char *token, const char *path, const char *body,
                            const char *key) {
    struct question q = {
        .method = "POST", .path = path, .body = body, .key = key, .token = token
    };
    return ask_question(o, &q);
}

struct reply ops_ask_by(struct ops *o, enum access_scope scope, const char *path, const char *body,
                        const char *key) {
    struct op_access access = { .remote = true, .scope = scope };
    struct question q = {
        .method = body ? "POST" : "GET", .path = path, .body = body, .key = key, .access = &access
    };
    if (scope != ACCESS_NONE)
        memcpy(access.id, "scopescope", sizeof("scopescope"));
    return ask_question(o, &q);
}

void ops_begin_keyed(struct ops *o, const char *token, const char *path, const char *body,
                     const char *key, struct reply *reply) {
    struct question q = {
        .method = "POST", .path = path, .body = body, .token = token, .key = key
    };
    begin(o, &q, reply);
}

void ops_begin_as(struct ops *o, const char *token, const char *path, const char *body,
                  struct reply *reply) {
    ops_begin_keyed(o, token, path, body, NULL, reply);
}

struct reply ops_ask(struct ops *o, const char *method, const char *path, const char *body,
                     const char *key) {
    return ops_ask_bytes(o, method, path, body, 0, key);
}

void reply_finish(struct reply *r) {
    free(r->text);
    json_decref(r->json);
    *r = (struct reply){ 0 };
}

/* --- replies and state ----------------------------------------------------------------------- */

const json_t *reply_at(const struct reply *r, const char *path) {
    const json_t *at = r->json;
    while (at && *path) {
        size_t size = strcspn(path, ".");
        char part[64];
        assert_true(size < sizeof(part));
        memcpy(part, path, size);
        part[size] = '\0';
        at = json_is_array(at) ? json_array_get(at, strtoul(part, NULL, 10))
                               : json_object_get(at, part);
        path += size + (path[size] == '.');
    }
    if (!at)
        fail_msg("there is no such member in: %s", r->text);
    return at;
}

const char *reply_text(const struct reply *r, const char *path) {
    const json_t *value = reply_at(r, path);
    if (!json_is_string(value))
        fail_msg("'%s' is not text in: %s", path, r->text);
    return json_string_value(value);
}

int64_t reply_int(const struct reply *r, const char *path) {
    const json_t *value = reply_at(r, path);
    if (!json_is_integer(value))
        fail_msg("'%s' is no number in: %s", path, r->text);
    return json_integer_value(value);
}

bool reply_bool(const struct reply *r, const char *path) {
    const json_t *value = reply_at(r, path);
    if (!json_is_boolean(value))
        fail_msg("'%s' is no boolean in: %s", path, r->text);
    return json_is_true(value);
}

bool reply_is_null(const struct reply *r, const char *path) {
    return json_is_null(reply_at(r, path));
}

size_t reply_count(const struct reply *r, const char *path) {
    return json_array_size(reply_at(r, path));
}

void ops_check(struct ops *o, int status, const char *message, struct question q) {
    struct reply r = ops_ask(o, q.method, q.path, q.body, q.key);
    if (r.status != status)
        fail_msg("%s:%d: %s %s has status %d, expected %d: %s", q.file, q.line, q.method, q.path,
                 r.status, status, r.text);
    if (message && strcmp(reply_text(&r, "error.message"), message) != 0)
        fail_msg("%s:%d: %s says: %s", q.file, q.line, q.path, reply_text(&r, "error.message"));
    reply_finish(&r);
}

task_id ops_add(struct ops *o, const char *members) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"tasks\":[{%s\"argv\":[\"true\"]}]}", members);
    struct reply r = ops_ask(o, "POST", "/v1/tasks", strbuf_text(&body), NULL);
    if (r.status != 200)
        fail_msg("adding a task: %s", r.text);
    task_id task = engine_find_task(o->engine, reply_text(&r, "tasks.0.id"), NULL);
    reply_finish(&r);
    return task;
}

void ops_trace(struct ops *o, struct ops_trace *ret) {
    struct core_counts counts;
    struct store_info info;
    core_count(engine_core(o->engine), &counts);
    store_info(o->store, &info);
    for (int state = 0; state < TASK_STATE_MAX; state++)
        ret->by_state[state] = counts.by_state[state];
    ret->rows = info.rows;
    ret->last_event = engine_last_event(o->engine);
    ret->last_task = engine_last_task(o->engine);
    ret->projects = engine_project_count(o->engine);
    ret->groups = engine_group_count(o->engine);
    ret->paused = engine_is_paused(o->engine);
}

void reply_expect(struct reply r, int status, const char *has) {
    if (r.status != status || (has && !strstr(r.text, has)))
        fail_msg("expected %d with '%s', got %d: %s", status, has ? has : "", r.status, r.text);
    reply_finish(&r);
}
