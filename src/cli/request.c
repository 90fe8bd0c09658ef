/* request.c: maps daemon answers and failures to exit codes.
 *
 * Exit codes are decided here and not in the client: they are a contract of the command line. */
#include "cli/request.h"

#include <errno.h>
#include <string.h>

#include "base/json_write.h"
#include "cli/daemon.h"

static int exit_code(int code) {
    if (client_is_absent(code))
        return CMD_NO_DAEMON;
    switch (-code) {
    case EINVAL:
    case ERANGE:
    case E2BIG:
    case ELOOP:
        return CMD_USAGE;
    case EPERM:
    case EACCES:
    case EBUSY:
    case ENOTUNIQ:
    case EAGAIN:
        return CMD_REFUSED;
    default:
        return CMD_FAILED;
    }
}

bool request_was_answered(const struct request *req) {
    return req->client && client_status(req->client) >= 400;
}

int request_failed(const struct request *req) {
    cmd_warn("%s", req->err.text);
    return request_was_answered(req) && req->err.code == -ENOENT ? CMD_FAILED
                                                                 : exit_code(req->err.code);
}

int request_refused(const struct cmd_call *call, const struct request *req) {
    if (call->json && request_was_answered(req))
        (void)request_print(req);
    return request_failed(req);
}

int request_open(struct request *req, enum request_mode how) {
    if (req->client)
        return CMD_OK;
    bool quiet = how == REQUEST_TRY || how == REQUEST_HOME;
    int r = how == REQUEST_HOME ? daemon_connect_home(&req->client, &req->err)
                                : daemon_connect(how == REQUEST_START, &req->client, &req->err);
    if (r >= 0)
        return CMD_OK;
    req->client = NULL;
    if (client_is_absent(r) && quiet)
        return CMD_NO_DAEMON;
    cmd_warn("%s", req->err.text);
    return quiet ? CMD_FAILED : CMD_NO_DAEMON; /* a daemon may exist but not answer */
}

void request_finish(struct request *req) {
    json_decref(req->answer);
    req->answer = NULL;
    req->client = client_close(req->client);
}

static int request_send(struct request *req, const char *method, const char *path, json_t *body) {
    json_decref(req->answer);
    req->answer = NULL;
    req->err = (struct error){ 0 };
    int status = client_call(req->client, method, path, body, &req->answer, &req->err);
    if (status >= 200 && status < 300)
        return 0;
    req->index = get_int(json_object_get(req->answer, "error"), "index", -1);
    json_decref(req->answer);
    req->answer = NULL;
    if (req->err.code >= 0)
        error_set(&req->err, status < 0 ? status : -EIO,
                  "the daemon answered with status %d and no message", status);
    return -req->err.code;
}

int request_try_get(struct request *req, const char *path) {
    return request_send(req, "GET", path, NULL);
}

int request_try_post(struct request *req, json_t *body, const char *path) {
    return request_send(req, "POST", path, body);
}

int request_try_named(struct request *req, const char *before, const char *name,
                      const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, before, name, after);
    return request_try_get(req, strbuf_text(&path));
}

int request_try_task(struct request *req, const char *id) {
    return request_try_named(req, "/v1/tasks/", id, "");
}

int request_get(struct request *req, const char *path) {
    int code = request_open(req, REQUEST_RUNNING);
    return code != CMD_OK || request_try_get(req, path) == 0 ? code : request_failed(req);
}

int request_post(struct request *req, json_t *body, const char *path) {
    int code = request_open(req, REQUEST_START);
    if (code == CMD_OK)
        return request_try_post(req, body, path) == 0 ? CMD_OK : request_failed(req);
    json_decref(body);
    return code;
}

int request_named(struct request *req, const struct cmd_call *call, json_t *body,
                  const char *before, const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, before, call->args[0], after);
    int code = request_check_name(call, call->args[0]);
    if (code == CMD_OK)
        return body ? request_post(req, body, strbuf_text(&path))
                    : request_get(req, strbuf_text(&path));
    json_decref(body);
    return code;
}

int request_run(const struct cmd_call *call) {
    const struct request_command *c = call->cmd->data;
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    json_auto_t *body = json_object();
    int code = c->after ? request_check_name(call, call->args[0]) : CMD_OK;
    request_path(&path, c->before, c->after ? call->args[0] : "", c->after ? c->after : "");
    request_take_members(call, body);
    if (code == CMD_OK && c->query)
        code = c->query(call, &path);
    if (code == CMD_OK && c->body)
        code = c->body(call, body);
    if (code == CMD_OK)
        code = request_open(&req, c->is_post ? c->mode : REQUEST_RUNNING);
    if (code == CMD_OK && c->timeout > 0)
        client_set_timeout(req.client, c->timeout);
    if (code == CMD_OK)
        code = c->is_post ? request_post(&req, json_incref(body), strbuf_text(&path))
                          : request_get(&req, strbuf_text(&path));
    if (code != CMD_OK)
        return code;
    if (call->json)
        (void)request_print(&req);
    else
        c->print(call, req.answer, &out);
    return c->exit_code ? c->exit_code(req.answer) : CMD_OK;
}

void request_warn_standby(const struct request *req) {
    if (client_standby(req->client))
        cmd_warn("%s (answer of '%s')", client_standby(req->client),
                 client_address_text(req->client));
}

int request_print(const struct request *req) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    const char *text = client_text(req->client);
    json_escape_controls(text, strlen(text), &out); /* parts of it are as a submitter wrote them */
    if (out.length == 0 || out.text[out.length - 1] != '\n')
        strbuf_putc(&out, '\n');
    return CMD_OK;
}

bool request_ended(const struct cmd_call *call, const struct request *req, int *code) {
    return *code != CMD_OK || (call->json && (*code = request_print(req)) == CMD_OK);
}

int request_check_name(const struct cmd_call *call, const char *name) {
    return *name ? CMD_OK : cmd_usage_error(call->cmd, "a name is empty");
}

int request_check_names(const struct cmd_call *call, const char *message) {
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "%s", message);
    return CMD_OK;
}

json_t *request_args(const struct cmd_call *call, size_t from, size_t to) {
    json_t *list = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append_new(list, json_text(call->args[i]));
    return list;
}

void request_take_members(const struct cmd_call *call, json_t *body) {
    for (size_t i = 0; i < call->given_count; i++) {
        const struct cmd_given *given = &call->given[i];
        if (given->option->member)
            json_object_set_new(body, given->option->member,
                                given->value ? json_text(given->value) : json_true());
    }
}

void request_take_options(const struct cmd_call *call, const char *const (*list)[2], json_t *body) {
    for (; (*list)[0]; list++) {
        const char *value = cmd_value(call, (*list)[0]);
        if (cmd_has(call, (*list)[0]))
            json_object_set_new(body, (*list)[1], value ? json_text(value) : json_true());
    }
}

int request_add_pair(const struct cmd_call *call, const char *pair, json_t *object) {
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return cmd_usage_error(call->cmd, "expected KEY=VALUE, got '%.200s'", pair);
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_add(&key, pair, (size_t)(equals - pair));
    if (json_object_get(object, strbuf_text(&key)))
        return cmd_usage_error(call->cmd, "'%.200s' is given twice", strbuf_text(&key));
    if (json_object_set_new(object, strbuf_text(&key), json_text(equals + 1)) < 0)
        return cmd_usage_error(call->cmd, "a key is not UTF-8");
    return CMD_OK;
}

void request_path(struct strbuf *out, const char *before, const char *name, const char *after) {
    strbuf_puts(out, before);
    client_escape(out, name);
    strbuf_puts(out, after);
}

void request_append(void *array, const json_t *item) {
    json_array_append(array, (json_t *)(uintptr_t)item);
}

static int read_pages(struct request *req, const char *path, size_t most, request_each each,
                      void *ctx) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    strbuf_puts(&page, path);
    for (size_t seen = 0; seen < most;) {
        int r = request_try_get(req, strbuf_text(&page));
        if (r != 0)
            return r;
        EACH_ITEM(item, json_object_get(req->answer, "items")) {
            if (seen++ < most)
                each(ctx, item);
        }
        const char *next = get_text(req->answer, "next", NULL);
        if (!next)
            break;
        strbuf_clear(&page);
        strbuf_puts(&page, path);
        client_query(&page, "cursor", next);
    }
    return 0;
}

int request_pages(struct request *req, const char *path, size_t most, request_each each,
                  void *ctx) {
    int code = request_open(req, REQUEST_RUNNING);
    return code != CMD_OK || read_pages(req, path, most, each, ctx) == 0 ? code
                                                                         : request_failed(req);
}

int request_try_group(struct request *req, const char *group, json_t *tasks) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/tasks?limit=1000&state=all&order=old");
    client_query(&path, "group", group);
    return read_pages(req, strbuf_text(&path), SIZE_MAX, request_append, tasks);
}

int request_group(struct request *req, const char *group, json_t *tasks) {
    int code = request_open(req, REQUEST_RUNNING);
    return code != CMD_OK || request_try_group(req, group, tasks) == 0 ? code : request_failed(req);
}

const json_t *request_items(const struct request *req) {
    return json_is_array(req->answer) ? req->answer : json_object_get(req->answer, "items");
}
