/* kit.c: the backend that the test plays. */
#include "kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/strbuf.h"

static void on_ask(void *ctx, struct mcp_question *ask) {
    struct kit *k = ctx;
    assert_non_null(ask->op);
    assert_true(k->ask_count < KIT_ASKS_MAX);
    k->asks[k->ask_count++] = ask;
}

static void remove_ask(struct kit *k, const struct mcp_question *ask) {
    size_t at = 0;
    while (at < k->ask_count && k->asks[at] != ask)
        at++;
    assert_true(at < k->ask_count);
    memmove(&k->asks[at], &k->asks[at + 1], (--k->ask_count - at) * sizeof(k->asks[0]));
}

static void on_drop(void *ctx, struct mcp_question *ask) {
    struct kit *k = ctx;
    remove_ask(k, ask);
    k->dropped++;
}

static void on_watch(void *ctx, bool wanted) {
    struct kit *k = ctx;
    assert_int_not_equal(wanted, k->watching); /* only changes are reported */
    k->watching = wanted;
}

static void on_send(void *ctx, enum mcp_kind kind, const char *text, size_t size) {
    struct kit *k = ctx;
    assert_null(memchr(text, '\n', size));
    json_t *message = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!message)
        fail_msg("this is not JSON: %.*s", (int)size, text);
    (void)json_array_append_new(k->sent,
                                json_pack("{s:i, s:o}", "kind", (int)kind, "message", message));
}

void kit_start(struct kit *k, const struct mcp_options *options) {
    const struct mcp_backend backend = { on_ask, on_drop, on_watch, on_send, k };
    k->sent = json_array();
    k->now = 1000;
    k->mcp = mcp_new(&backend, options);
}

void kit_finish(struct kit *k) {
    kit_silent(k);
    k->mcp = mcp_free(k->mcp);
    assert_int_equal(k->ask_count, 0);
    assert_false(k->watching);
    json_decref(k->sent);
}

void kit_say(struct kit *k, const char *text) {
    mcp_receive(k->mcp, text, strlen(text), k->now);
}

void kit_modern(struct kit *k, int id, const char *method, const char *params) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s%s%s}}",
                  id, method, params, *params ? "," : "", META);
    kit_say(k, strbuf_text(&text));
}

static json_t *next_of(struct kit *k, int kind) {
    const json_t *entry = json_array_get(k->sent, k->seen);
    if (!entry)
        fail_msg("nothing more was sent");
    k->seen++;
    json_t *message = json_object_get(entry, "message");
    if (kind >= 0 && json_integer_value(json_object_get(entry, "kind")) != kind)
        fail_msg("sent another kind of message: %s", json_dumps(message, 0));
    return message;
}

json_t *kit_next(struct kit *k) {
    return next_of(k, -1);
}

json_t *kit_answer_of(struct kit *k) {
    return next_of(k, MCP_ANSWER);
}

json_t *kit_notice_of(struct kit *k, const char *method) {
    json_t *message = next_of(k, MCP_NOTICE);
    ASSERT_TEXT(message, "method", method);
    return message;
}

void kit_silent(struct kit *k) {
    const json_t *entry = json_array_get(k->sent, k->seen);
    if (entry)
        fail_msg("nobody asked for this message: %s", json_dumps(entry, 0));
}

/* --- questions ------------------------------------------------------------------------------- */

static struct mcp_question *find_ask(struct kit *k, const char *op) {
    for (size_t i = 0; i < k->ask_count; i++)
        if (strcmp(k->asks[i]->op->name, op) == 0)
            return k->asks[i];
    fail_msg("nobody has asked for %s (%zu questions are open)", op, k->ask_count);
    return NULL;
}

void kit_asked(struct kit *k, const char *op, const char *params) {
    const struct mcp_question *ask = find_ask(k, op);
    char *text = json_dumps(ask->params, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, params);
    free(text);
}

static void reply(struct kit *k, const char *op, const struct mcp_reply *reply) {
    struct mcp_question *ask = find_ask(k, op);
    remove_ask(k, ask);
    mcp_answer(ask, reply, k->now);
}

void kit_answer(struct kit *k, const char *op, const char *json) {
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    reply(k, op, &(struct mcp_reply){ .value = value, .index = -1 });
    json_decref(value);
}

void kit_bytes(struct kit *k, const char *op, const char *bytes, size_t size) {
    reply(k, op, &(struct mcp_reply){ .bytes = bytes, .size = size, .index = -1 });
}

void kit_refuse(struct kit *k, const char *op, int code, const char *message, bool absent) {
    reply(k, op,
          &(struct mcp_reply){ .code = code, .message = message, .index = -1, .absent = absent });
}

/* --- looking --------------------------------------------------------------------------------- */

json_t *kit_at(const json_t *value, const char *path) {
    while (value && *path) {
        char name[128] = "";
        size_t size = strcspn(path, "|");
        assert_true(size < sizeof(name));
        memcpy(name, path, size);
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
        path += size + (path[size] == '|');
    }
    return (json_t *)value;
}

const char *kit_text(const json_t *value, const char *path) {
    const char *text = json_string_value(kit_at(value, path));
    if (!text)
        fail_msg("no text at '%s' in %s", path, json_dumps(value, JSON_ENCODE_ANY));
    return text;
}

json_int_t kit_int(const json_t *value, const char *path) {
    const json_t *number = kit_at(value, path);
    if (!json_is_integer(number))
        fail_msg("no number at '%s' in %s", path, json_dumps(value, JSON_ENCODE_ANY));
    return json_integer_value(number);
}

bool kit_true(const json_t *value, const char *path) {
    const json_t *found = kit_at(value, path);
    return json_is_true(found);
}

bool kit_false(const json_t *value, const char *path) {
    const json_t *found = kit_at(value, path);
    return json_is_false(found);
}
