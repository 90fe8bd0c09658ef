/* ask.c: maps daemon answers and failures to exit codes.
 *
 * Exit codes are decided here and not in the client: they are a contract of the command line. */
#include "cli/ask.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/json_write.h"
#include "base/utf8.h"
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

bool ask_was_answered(const struct ask *ask) {
    return ask->client && client_status(ask->client) >= 400;
}

int ask_failed(const struct ask *ask) {
    cmd_warn("%s", ask->err.text);
    return ask_was_answered(ask) && ask->err.code == -ENOENT ? CMD_FAILED
                                                             : exit_code(ask->err.code);
}

int ask_refused(const struct cmd_call *call, const struct ask *ask) {
    if (call->json && ask_was_answered(ask))
        (void)ask_print(ask);
    return ask_failed(ask);
}

int ask_open(struct ask *ask, enum ask_how how) {
    if (ask->client)
        return CMD_OK;
    bool quiet = how == ASK_TRY || how == ASK_HOME;
    int r = how == ASK_HOME ? daemon_connect_home(&ask->client, &ask->err)
                            : daemon_connect(how == ASK_START, &ask->client, &ask->err);
    if (r >= 0)
        return CMD_OK;
    ask->client = NULL;
    if (client_is_absent(r) && quiet)
        return CMD_NO_DAEMON;
    cmd_warn("%s", ask->err.text);
    return quiet ? CMD_FAILED : CMD_NO_DAEMON; /* a daemon may exist but not answer */
}

void ask_finish(struct ask *ask) {
    json_decref(ask->answer);
    ask->answer = NULL;
    ask->client = client_close(ask->client);
}

static int ask_send(struct ask *ask, const char *method, const char *path, json_t *body) {
    json_decref(ask->answer);
    ask->answer = NULL;
    ask->err = (struct error){ 0 };
    int status = client_call(ask->client, method, path, body, &ask->answer, &ask->err);
    if (status >= 200 && status < 300)
        return 0;
    ask->index = ask_int(json_object_get(ask->answer, "error"), "index", -1);
    json_decref(ask->answer);
    ask->answer = NULL;
    if (ask->err.code >= 0)
        error_set(&ask->err, status < 0 ? status : -EIO,
                  "the daemon answered with status %d and no sentence", status);
    return -ask->err.code;
}

int ask_try_get(struct ask *ask, const char *path) {
    return ask_send(ask, "GET", path, NULL);
}

int ask_try_post(struct ask *ask, json_t *body, const char *path) {
    return ask_send(ask, "POST", path, body);
}

int ask_try_named(struct ask *ask, const char *before, const char *name, const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, before, name, after);
    return ask_try_get(ask, strbuf_text(&path));
}

int ask_try_task(struct ask *ask, const char *id) {
    return ask_try_named(ask, "/v1/tasks/", id, "");
}

int ask_get(struct ask *ask, const char *path) {
    int code = ask_open(ask, ASK_RUNNING);
    return code != CMD_OK || ask_try_get(ask, path) == 0 ? code : ask_failed(ask);
}

int ask_post(struct ask *ask, json_t *body, const char *path) {
    int code = ask_open(ask, ASK_START);
    if (code == CMD_OK)
        return ask_try_post(ask, body, path) == 0 ? CMD_OK : ask_failed(ask);
    json_decref(body);
    return code;
}

int ask_get_named(struct ask *ask, const struct cmd_call *call, const char *before,
                  const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, before, call->args[0], after);
    int code = ask_name(call, call->args[0]);
    return code == CMD_OK ? ask_get(ask, strbuf_text(&path)) : code;
}

int ask_post_named(struct ask *ask, const struct cmd_call *call, json_t *body, const char *before,
                   const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, before, call->args[0], after);
    if (ask_name(call, call->args[0]) == CMD_OK)
        return ask_post(ask, body, strbuf_text(&path));
    json_decref(body);
    return CMD_USAGE;
}

int ask_run(const struct cmd_call *call) {
    const struct ask_command *c = call->cmd->data;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    json_auto_t *body = json_object();
    int code = c->after ? ask_name(call, call->args[0]) : CMD_OK;
    ask_path(&path, c->before, c->after ? call->args[0] : "", c->after ? c->after : "");
    ask_take_members(call, body);
    if (code == CMD_OK && c->query)
        code = c->query(call, &path);
    if (code == CMD_OK && c->body)
        code = c->body(call, body);
    if (code == CMD_OK)
        code = c->is_post ? ask_post(&ask, json_incref(body), strbuf_text(&path))
                          : ask_get(&ask, strbuf_text(&path));
    if (ask_ended(call, &ask, &code))
        return code;
    c->print(call, ask.answer, &out);
    output_rest(&out);
    return CMD_OK;
}

void ask_warn_standby(const struct ask *ask) {
    if (client_standby(ask->client))
        cmd_warn("%s; this is what '%s' says", client_standby(ask->client),
                 client_address_text(ask->client));
}

int ask_print(const struct ask *ask) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    strbuf_puts(&out, client_text(ask->client));
    if (out.length == 0 || out.text[out.length - 1] != '\n')
        strbuf_putc(&out, '\n');
    output_rest(&out);
    return CMD_OK;
}

bool ask_ended(const struct cmd_call *call, const struct ask *ask, int *code) {
    return *code != CMD_OK || (call->json && (*code = ask_print(ask)) == CMD_OK);
}

static int dump_piece(const char *bytes, size_t size, void *out) {
    strbuf_add(out, bytes, size);
    return 0;
}

/* 15 digits: 0.1 stays 0.1 instead of 0.10000000000000001. */
void ask_dump(const json_t *value, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    (void)json_dump_callback(value, dump_piece, &text,
                             JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_escape_controls(strbuf_text(&text), text.length, out);
    strbuf_putc(out, '\n');
}

int ask_print_json(json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    ask_dump(value, &out);
    output_rest(&out);
    json_decref(value);
    return CMD_OK;
}

int ask_name(const struct cmd_call *call, const char *name) {
    return *name ? CMD_OK : cmd_usage_error(call->cmd, "a name is empty");
}

int ask_names(const struct cmd_call *call, const char *message) {
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "%s", message);
    return CMD_OK;
}

json_t *ask_string(const char *text) {
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = utf8_length(text, left);
        if (length > 0)
            strbuf_add(&clean, text, length);
        else
            strbuf_puts(&clean, "\xEF\xBF\xBD");
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    return json_stringn(strbuf_text(&clean), clean.length);
}

json_t *ask_args(const struct cmd_call *call, size_t from, size_t to) {
    json_t *list = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append_new(list, ask_string(call->args[i]));
    return list;
}

void ask_put(json_t *object, const char *key, const char *text) {
    if (text)
        json_object_set_new(object, key, ask_string(text));
}

void ask_copy(json_t *to, const json_t *from, const char *names) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    for (; *names; names += strspn(names, " ")) {
        strbuf_clear(&name);
        strbuf_add(&name, names, strcspn(names, " "));
        names += name.length;
        json_t *value = json_object_get(from, strbuf_text(&name));
        if (value && !json_is_null(value) && !json_object_get(to, strbuf_text(&name)))
            json_object_set(to, strbuf_text(&name), value);
    }
}

void ask_take_members(const struct cmd_call *call, json_t *body) {
    for (size_t i = 0; i < call->given_count; i++) {
        const struct cmd_given *given = &call->given[i];
        if (given->option->member)
            json_object_set_new(body, given->option->member,
                                given->value ? ask_string(given->value) : json_true());
    }
}

void ask_take_options(const struct cmd_call *call, const char *const (*list)[2], json_t *body) {
    for (; (*list)[0]; list++) {
        const char *value = cmd_value(call, (*list)[0]);
        if (cmd_has(call, (*list)[0]))
            json_object_set_new(body, (*list)[1], value ? ask_string(value) : json_true());
    }
}

int ask_add_pair(const struct cmd_call *call, const char *pair, json_t *object) {
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return cmd_usage_error(call->cmd, "expected KEY=VALUE, got '%.200s'", pair);
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_add(&key, pair, (size_t)(equals - pair));
    if (json_object_get(object, strbuf_text(&key)))
        return cmd_usage_error(call->cmd, "'%.200s' is given twice", strbuf_text(&key));
    if (json_object_set_new(object, strbuf_text(&key), ask_string(equals + 1)) < 0)
        return cmd_usage_error(call->cmd, "a key is no UTF-8");
    return CMD_OK;
}

void ask_path(struct strbuf *out, const char *before, const char *name, const char *after) {
    strbuf_puts(out, before);
    client_escape(out, name);
    strbuf_puts(out, after);
}

void ask_append(void *array, const json_t *item) {
    json_array_append(array, (json_t *)(uintptr_t)item);
}

int ask_pages(struct ask *ask, const char *path, size_t most, ask_each each, void *ctx) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    strbuf_puts(&page, path);
    for (size_t seen = 0; seen < most;) {
        int code = ask_get(ask, strbuf_text(&page));
        if (code != CMD_OK)
            return code;
        ASK_EACH(item, json_object_get(ask->answer, "items")) {
            if (seen++ < most)
                each(ctx, item);
        }
        const char *next = ask_text(ask->answer, "next", NULL);
        if (!next)
            break;
        strbuf_clear(&page);
        strbuf_puts(&page, path);
        client_query(&page, "cursor", next);
    }
    return CMD_OK;
}

void ask_join(struct strbuf *out, const char *between, const json_t *list) {
    ASK_EACH(item, list) {
        const char *text = json_string_value(item);
        strbuf_printf(out, "%s%s", out->length > 0 ? between : "", text ? text : "?");
    }
}

const json_t *ask_items(const struct ask *ask) {
    return json_is_array(ask->answer) ? ask->answer : json_object_get(ask->answer, "items");
}

const char *ask_text(const json_t *object, const char *key, const char *otherwise) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : otherwise;
}

int64_t ask_int(const json_t *object, const char *key, int64_t otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double ask_real(const json_t *object, const char *key, double otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool ask_true(const json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

bool ask_is_word(const char *word, const char *words) {
    size_t length = strlen(word);
    for (const char *at = words; length > 0 && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

bool ask_is(const json_t *object, const char *key, const char *words) {
    return ask_is_word(ask_text(object, key, ""), words);
}
