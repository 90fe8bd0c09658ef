/* fake_ops.c: just enough of ops/op.h to be asked over HTTP.
 *
 * A call is run at the end of the round, as in the engine's turn, never inside op_submit. */
#include "fake_ops.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine/redaction.h"

struct fake_world fake;

struct op_private {
    struct op_call *next;
    bool abandoned, waits;
    char key[129];
};

void fake_reset(void) {
    memset(&fake, 0, sizeof(fake));
    fake.first_event = 1;
    fake.run_lives = true;
}

/* --- the operations ------------------------------------------------------------------------------ */

static int add_piece(const char *bytes, size_t size, void *out) {
    strbuf_add(out, bytes, size);
    return 0;
}

static int run_echo(struct op_call *call) {
    memcpy(fake.token, call->run.token, sizeof(fake.token));
    fake.access = call->access;
    strbuf_printf(&call->answer,
                  "{\"op\":\"%s\",\"key\":\"%s\",\"caller\":\"%s\",\"params\":", call->op->name,
                  call->key ? call->key : "", call->caller ? call->caller : "");
    (void)json_dump_callback(call->params, add_piece, &call->answer, JSON_COMPACT | JSON_SORT_KEYS);
    strbuf_puts(&call->answer, "}");
    return 0;
}

static int run_tasks(struct op_call *call) {
    strbuf_printf(&call->answer, "{\"count\":%zu}",
                  json_array_size(json_object_get(call->params, "tasks")));
    return 0;
}

static int run_wait(struct op_call *call) {
    assert(fake.waiting_count < ARRAY_SIZE(fake.waiting));
    fake.waiting[fake.waiting_count++] = call;
    call->own->waits = true;
    strbuf_puts(&call->answer, "{\"waited\":true}");
    return 0;
}

static int run_big(struct op_call *call) {
    json_int_t size = json_integer_value(json_object_get(call->params, "size"));
    strbuf_puts(&call->answer, "\"");
    strbuf_repeat(&call->answer, "x", (size_t)size - 3); /* with quotes and newline */
    strbuf_puts(&call->answer, "\"");
    return 0;
}

static int run_fail(struct op_call *call) {
    const char *code = json_string_value(json_object_get(call->params, "code"));
    int number = strcmp(code, "ENOENT") == 0   ? -ENOENT
                 : strcmp(code, "EAGAIN") == 0 ? -EAGAIN
                                               : -EIO;
    return error_set(&call->err, number, "it failed with '%s'", code);
}

/* The code "good" is valid. */
static int run_link(struct op_call *call) {
    const char *form = json_string_value(json_object_get(call->params, "form"));
    if (strcmp(json_string_value(json_object_get(call->params, "id")), "good") != 0)
        return error_set(&call->err, -ENOENT, "this link is not valid");
    strbuf_printf(&call->answer, "<p>%s</p>", form ? form : "a form");
    return 0;
}

static int run_once(struct op_call *call) {
    static char last_key[129];
    call->replayed = call->key && strcmp(call->key, last_key) == 0;
    (void)snprintf(last_key, sizeof(last_key), "%s", call->key ? call->key : "");
    fake.done_once += !call->replayed;
    strbuf_printf(&call->answer, "{\"count\":%zu}", fake.done_once);
    return 0;
}

/* The code is 1234. */
static int run_open(struct op_call *call) {
    const char *code = json_string_value(json_object_get(call->params, "code"));
    if (!code || strcmp(code, "1234") != 0)
        return error_set(&call->err, -EKEYREJECTED, "this link was used already");
    strbuf_puts(&call->answer, "{\"token\":\"" FAKE_TOKEN "\"}");
    return 0;
}

static int run_metrics(struct op_call *call) {
    strbuf_puts(&call->answer, "sluice_up 1\n");
    return 0;
}

static int run_shutdown(struct op_call *call) {
    call->stops_daemon = true;
    strbuf_puts(&call->answer, "{\"ok\":true}");
    return 0;
}

static int run_log(struct op_call *call) {
    if (strcmp(json_string_value(json_object_get(call->params, "id")), "1") != 0)
        return error_set(&call->err, -ENOENT, "there is no such task");
    call->log.path = xstrdup(fake.log_path);
    call->log.offset = fake.log_offset;
    call->log.follow = fake.log_follow;
    call->log.format = fake.log_format;
    if (fake.log_is_merged)
        call->log.order = xasprintf(
            "%.*sorder", (int)(strrchr(fake.log_path, '/') + 1 - fake.log_path), fake.log_path);
    call->log.tail = fake.log_tail;
    call->log.task = 1;
    call->log.attempt = 2;
    if (fake.ends_in_turn) {
        fake.run_lives = false;
        fake.run_ended();
    }
    return 0;
}

void op_print_event(const struct engine *engine, const struct event_row *event,
                    struct strbuf *out) {
    (void)engine;
    strbuf_printf(out,
                  "{\"seq\":%" PRIu64 ",\"at\":%" PRId64 ",\"kind\":\"%s\",\"task\":", event->seq,
                  event->at, event->kind);
    if (event->task)
        strbuf_printf(out, "\"web-%" PRIu64 "\"", (uint64_t)event->task);
    else
        strbuf_puts(out, "null");
    strbuf_printf(out, ",\"attempt\":null,\"data\":%s}", event->data ? event->data : "null");
}

static int run_events(struct op_call *call) {
    uint64_t after = (uint64_t)json_integer_value(json_object_get(call->params, "after"));
    json_int_t limit = json_integer_value(json_object_get(call->params, "limit"));
    const char *name = json_string_value(json_object_get(call->params, "task"));
    task_id task = name ? engine_find_task(NULL, name, NULL) : 0;
    json_int_t count = 0;
    if (name && task == 0)
        return error_set(&call->err, -ENOENT, "there is no task '%s'", name);
    for (; fake.events_in_turn > 0; fake.events_in_turn--)
        (void)fake_add_event(1, NULL);
    strbuf_puts(&call->answer, "{\"items\":[");
    uint64_t seq = after + 1 > fake.first_event ? after + 1 : fake.first_event;
    for (; seq <= fake.last_event && count < (limit ? limit : 50); seq++)
        if (task == 0 || fake.events[seq].task == task) {
            struct event_row event = fake_event_row(seq);
            strbuf_puts(&call->answer, count++ ? "," : "");
            op_print_event(NULL, &event, &call->answer);
        }
    strbuf_puts(&call->answer, "],\"next\":null}");
    return 0;
}

static int run_show(struct op_call *call) {
    if (!fake.task_state)
        return run_wait(call);
    strbuf_printf(&call->answer, "{\"id\":\"web-1\",\"state\":\"%s\",\"runs\":[]}",
                  fake.task_state);
    return 0;
}

static const struct op_param no_params[] = { { .name = NULL } };
#define OP(name_, method_, path_, run_, ...)                                                       \
    static const struct op op_##name_ = { .name = #name_,                                          \
                                          .method = method_,                                       \
                                          .path = path_,                                           \
                                          .run = run_,                                             \
                                          .params = no_params,                                     \
                                          __VA_ARGS__ }
OP(echo, "GET", "/v1/echo", run_echo, .writes = false);
OP(echo_post, "POST", "/v1/echo", run_echo, .writes = true);
OP(tasks, "POST", "/v1/tasks", run_tasks, .writes = true);
OP(wait, "GET", "/v1/wait", run_wait, .writes = false);
OP(big, "GET", "/v1/big", run_big, .writes = false);
OP(fail, "GET", "/v1/fail", run_fail, .writes = false);
OP(once, "POST", "/v1/once", run_once, .writes = true);
OP(metrics, "GET", "/metrics", run_metrics, .answer = OP_ANSWER_TEXT);
OP(events, "GET", "/v1/events", run_events, .answer = OP_ANSWER_EVENTS);
OP(log, "GET", "/v1/tasks/{id}/log", run_log, .answer = OP_ANSWER_LOG);
OP(shutdown, "POST", "/v1/shutdown", run_shutdown, .writes = false);
OP(open, "POST", "/v1/session", run_open, .open = true);
OP(health, "GET", "/healthz", run_echo, .open = true);
OP(link, "GET", "/answer/{id}", run_link, .open = true, .form = true, .answer = OP_ANSWER_PAGE);
OP(link_post, "POST", "/answer/{id}", run_link, .open = true, .form = true, .writes = true,
   .answer = OP_ANSWER_PAGE);

const struct op *const op_table[] = { &op_big,      &op_echo,    &op_echo_post, &op_events,
                                      &op_fail,     &op_health,  &op_link,      &op_link_post,
                                      &op_log,      &op_metrics, &op_once,      &op_open,
                                      &op_shutdown, &op_tasks,   &op_wait,      NULL };

/* What the protocol of /mcp asks for by name. */
const struct op *op_find(const char *name) {
    static const struct op status = { .name = "daemon.status", .run = run_echo },
                           show = { .name = "task.show", .run = run_show };
    return strcmp(name, status.name) == 0  ? &status
           : strcmp(name, show.name) == 0  ? &show
           : strcmp(name, "task.log") == 0 ? &op_log
                                           : NULL;
}

/* --- routing and parameters ---------------------------------------------------------------------- */

static bool matches(const char *pattern, const char *path, json_t *params) {
    const char *brace = strchr(pattern, '{');
    if (!brace)
        return strcmp(pattern, path) == 0;
    size_t before = (size_t)(brace - pattern);
    const char *after = strchr(brace, '}') + 1;
    if (strncmp(pattern, path, before) != 0)
        return false;
    size_t size = strcspn(path + before, "/");
    if (strcmp(path + before + size, after) != 0)
        return false;
    json_object_set_new(params, "id", json_stringn(path + before, size));
    return true;
}

const struct op *op_route(const char *method, const char *path, json_t **ret_params,
                          const char **ret_allowed) {
    *ret_allowed = NULL;
    for (const struct op *const *op = op_table; *op; op++) {
        json_t *params = json_object();
        if (matches((*op)->path, path, params)) {
            if (strcmp((*op)->method, method) == 0) {
                *ret_params = params;
                *ret_allowed = NULL;
                return *op;
            }
            *ret_allowed = (*op)->method;
        }
        json_decref(params);
    }
    return NULL;
}

int op_take_query(const struct op *op, const char *query, json_t *params, struct error *err) {
    (void)op;
    while (*query) {
        size_t size = strcspn(query, "&"), name = strcspn(query, "=&");
        if (name == size)
            return error_set(err, -EINVAL, "a parameter without a value");
        char key[32];
        _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
        (void)snprintf(key, sizeof(key), "%.*s", (int)name, query);
        strbuf_add(&value, query + name + 1, size - name - 1);
        if (value.length > 0 && strspn(value.text, "0123456789") == value.length)
            json_object_set_new(params, key, json_integer(strtoll(value.text, NULL, 10)));
        else
            json_object_set_new(params, key, json_string(strbuf_text(&value)));
        query += size + (query[size] == '&');
    }
    return 0;
}

int op_take_body(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err) {
    (void)op;
    json_t *object = json_loadb(body, size, 0, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(err, -EINVAL, "the body is not a JSON object");
    }
    json_object_update(params, object);
    json_decref(object);
    return 0;
}

int op_take_form(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err) {
    (void)op;
    (void)err;
    json_object_set_new(params, "form", json_stringn(body, size));
    return 0;
}

int op_check(const struct op *op, json_t *params, struct error *err) {
    if (strcmp(op->name, "fail") == 0 && !json_object_get(params, "code"))
        return error_set(err, -EINVAL, "'code' is missing");
    return 0;
}

bool op_key_is_valid(const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (key[i] <= ' ' || key[i] >= 0x7f)
            return false;
    return length >= 8 && length <= 128;
}

/* --- calls --------------------------------------------------------------------------------------- */

struct op_call *op_call_new(const struct op *op, struct engine *engine, json_t *params,
                            const char *key) {
    struct op_call *call = xcalloc(1, sizeof(*call));
    call->own = xcalloc(1, sizeof(*call->own));
    call->op = op;
    call->engine = engine;
    call->params = params;
    (void)snprintf(call->own->key, sizeof(call->own->key), "%s", key ? key : "");
    call->key = key ? call->own->key : NULL;
    return call;
}

void op_call_free(struct op_call *call) {
    json_decref(call->params);
    strbuf_finish(&call->answer);
    free(call->log.path);
    free(call->log.order);
    free(call->caller);
    free(call->user);
    free(call->own);
    free(call);
}

void op_submit(struct op_call *call) {
    if (fake.last)
        fake.last->own->next = call;
    else
        fake.first = call;
    fake.last = call;
}

void op_abandon(struct op_call *call) {
    fake.abandoned++;
    if (!call->own->waits) {
        call->own->abandoned = true; /* still in the queue: freed there */
        return;
    }
    size_t at = 0;
    while (fake.waiting[at] != call)
        at++;
    fake.waiting[at] = fake.waiting[--fake.waiting_count];
    op_call_free(call);
}

static void finish(struct op_call *call) {
    if (call->err.code < 0)
        op_print_error(&call->err, &call->answer);
    call->status = call->err.code < 0 ? op_error_status(call->err.code) : 200;
    call->answered(call, call->ctx);
}

void fake_turn(void) {
    while (fake.first) {
        struct op_call *call = fake.first;
        fake.first = call->own->next;
        if (!fake.first)
            fake.last = NULL;
        uint64_t before = fake.last_event;
        if (call->own->abandoned) {
            op_call_free(call);
            continue;
        }
        if (call->op->run(call) == 0 && call->own->waits)
            continue;
        finish(call);
        while (before < fake.last_event)
            fake.publish(++before);
    }
}

void fake_release(void) {
    /* The last first: answers must leave in the order of the requests nevertheless. */
    while (fake.waiting_count > 0)
        finish(fake.waiting[--fake.waiting_count]);
}

int op_error_status(int code) {
    return code == -EINVAL         ? 400
           : code == -EKEYREJECTED ? 401
           : code == -ENOENT       ? 404
           : code == -EAGAIN       ? 429
                                   : 503;
}

const char *op_error_word(int code) {
    return code == -EINVAL   ? "bad_request"
           : code == -ENOENT ? "not_found"
           : code == -EAGAIN ? "deferred"
                             : "outcome_unknown";
}

void op_print_error(const struct error *err, struct strbuf *out) {
    strbuf_printf(out, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", op_error_word(err->code),
                  err->text);
}

void op_print_error_page(const struct error *err, struct strbuf *out) {
    strbuf_clear(out);
    strbuf_printf(out, "<p>%s</p>", err->text);
}

/* --- the engine ---------------------------------------------------------------------------------- */

uint64_t fake_add_event(task_id task, const char *data) {
    uint64_t seq = ++fake.last_event;
    assert(seq <= FAKE_EVENTS_MAX);
    fake.events[seq].task = task;
    (void)snprintf(fake.events[seq].data, sizeof(fake.events[seq].data), "%s", data ? data : "");
    return seq;
}

struct event_row fake_event_row(uint64_t seq) {
    const struct fake_event *event = &fake.events[seq];
    return (struct event_row){ .seq = seq,
                               .at = (time_ms)(1000 + seq),
                               .kind = "task.state",
                               .task = event->task,
                               .data = event->data[0] ? event->data : NULL };
}

uint64_t engine_first_event(const struct engine *engine) {
    (void)engine;
    return fake.first_event;
}

uint64_t engine_last_event(const struct engine *engine) {
    (void)engine;
    return fake.last_event;
}

task_id engine_find_task(const struct engine *engine, const char *id, struct error *err) {
    (void)engine;
    (void)err;
    return strncmp(id, "web-", 4) == 0 ? (task_id)strtoul(id + 4, NULL, 10) : 0;
}

task_id engine_task_of_id(const struct engine *engine, const char *id, struct error *err) {
    return engine_find_task(engine, id, err);
}

bool engine_live_run(const struct engine *engine, task_id task, struct engine_run *ret) {
    (void)engine;
    *ret = (struct engine_run){ .attempt = 2 };
    return task == 1 && fake.run_lives;
}

bool op_run_sees(const struct engine *engine, const struct op_run *run, task_id task) {
    (void)engine;
    return !run->token[0] || task == 1;
}

ssize_t engine_read_log(const struct engine *engine, int fd, const struct redact_range *range,
                        char *space, const char **ret_bytes) {
    (void)engine;
    struct redact_value value = { "KEY", 3, FAKE_SECRET, sizeof(FAKE_SECRET) - 1, 0 };
    struct redact_index index;
    redact_index_init(&index, &value, 1, NULL);
    return redact_pread(&index, fd, range, space, ret_bytes);
}

const char *engine_task_id(const struct engine *engine, task_id task, char buf[ENGINE_ID_MAX]) {
    (void)engine;
    (void)snprintf(buf, ENGINE_ID_MAX, "web-%" PRIu64, (uint64_t)task);
    return buf;
}

/* --- tokens ---------------------------------------------------------------------------------------- */

bool engine_run_is_remote(const struct engine *engine, const char *token) {
    (void)engine;
    return fake.in_slurm && strcmp(token, FAKE_RUN_TOKEN) == 0;
}

enum executor_kind engine_executor_kind(const struct engine *engine, task_id task) {
    (void)engine;
    return fake.in_slurm && task == 1 ? EXECUTOR_SLURM : EXECUTOR_LOCAL;
}

bool engine_unreachable_run(const struct engine *engine, task_id task,
                            struct engine_host_state *ret) {
    (void)engine;
    (void)task;
    (void)ret;
    return false;
}

const struct engine_access *engine_find_page(const struct engine *engine, const char *id) {
    (void)engine;
    return fake.page.has_key && strcmp(id, fake.page.id) == 0 ? &fake.page : NULL;
}

const char *engine_boot(const struct engine *engine) {
    (void)engine;
    return FAKE_BOOT;
}

const struct engine_access *engine_find_access(const struct engine *engine, const char *token) {
    static char name[] = "phone";
    static const char first[] = "sl_abcdefghi",
                      rest[] = "_0123456789012345678901234567890123456789012";
    static struct engine_access access = { .id = "abcdefghij", .name = name, .scope = ACCESS_READ };
    size_t at = sizeof(first) - 1;
    (void)engine;
    access.expires_at = fake.access_left ? fake.access_left : TIME_NEVER;
    if (strncmp(token, first, at) != 0 || token[at] < 'j' || token[at] > 'z'
        || strcmp(token + at + 1, rest) != 0 || (fake.access_ended && token[at] == 'j'))
        return NULL;
    access.id[9] = token[at];
    return &access;
}

time_ms engine_access_left(const struct engine *engine, const struct engine_access *access) {
    (void)engine;
    return access->expires_at;
}

void engine_use_access(struct engine *engine, const char *id) {
    (void)engine;
    assert(strncmp(id, "abcdefghi", 9) == 0);
    fake.access_uses++;
}
