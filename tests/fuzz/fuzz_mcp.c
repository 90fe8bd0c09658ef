/* fuzz_mcp.c: arbitrary lines as the messages of a client, over stdio or HTTP.
 *
 * The first byte selects the headers and the behaviour of the backend. Beyond not crashing: each response is
 * one line of JSON with "2.0" in it, every unanswered request is counted as pending, the clock reaches every
 * requested wake-up, and no request is left after the client has disconnected. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "mcp/mcp.h"

#define ASKS_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct backend {
    struct mcp_question *asks[ASKS_MAX];
    size_t count;
    bool at_once, watching;
    unsigned answers;
    time_ms now;
};

static void answer(struct backend *b, struct mcp_question *ask) {
    static const char *const texts[] = {
        "{\"id\":\"web-1\",\"state\":\"running\",\"runs\":[]}",
        "{\"id\":\"web-1\",\"state\":\"done\",\"runs\":[{\"attempt\":1}]}",
        "{}",
        "[1,null]",
    };
    unsigned which = b->answers++ % 6;
    struct mcp_reply reply = { .index = -1 };
    if (ask->op->bytes && which < 4) {
        reply.bytes = "a log\xff\0\033[1m";
        reply.size = 11;
    } else if (which < 4) {
        reply.value = json_loads(texts[which], 0, NULL);
    } else {
        reply.code = which == 4 ? -ENOENT : -ECONNREFUSED;
        reply.message = "it did not work";
        reply.absent = which == 5;
    }
    mcp_answer(ask, &reply, b->now);
    json_decref(reply.value);
}

static void on_ask(void *ctx, struct mcp_question *ask) {
    struct backend *b = ctx;
    assert(ask->op && json_is_object(ask->params));
    if (b->at_once || b->count == ASKS_MAX)
        answer(b, ask);
    else
        b->asks[b->count++] = ask;
}

static void on_drop(void *ctx, struct mcp_question *ask) {
    struct backend *b = ctx;
    size_t at = 0;
    while (at < b->count && b->asks[at] != ask)
        at++;
    assert(at < b->count);
    b->asks[at] = b->asks[--b->count];
}

static void on_watch(void *ctx, bool wanted) {
    struct backend *b = ctx;
    assert(wanted != b->watching);
    b->watching = wanted;
}

static void on_send(void *ctx, enum mcp_kind kind, const char *text, size_t size) {
    (void)ctx, (void)kind;
    assert(size > 0 && !memchr(text, '\n', size) && !memchr(text, '\0', size));
    json_t *message = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert(message);
    const json_t *one = json_is_array(message) ? json_array_get(message, 0) : message;
    assert(json_is_string(json_object_get(one, "jsonrpc")));
    json_decref(message);
}

static void answer_some(struct backend *b) {
    for (size_t i = b->count; i > 0 && b->count > 0; i--)
        answer(b, b->asks[--b->count]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    static const char *const versions[] = { NULL, "2026-07-28", "2025-06-18", "nonsense" };
    struct backend b = { .at_once = data[0] & 1, .answers = data[0] >> 4, .now = 1000 };
    const struct mcp_headers headers = {
        .version = versions[data[0] >> 2 & 3],
        .method = "tools/call",
        .name = "=?base64?c3RhdHVz?=",
    };
    const struct mcp_backend backend = { on_ask, on_drop, on_watch, on_send, &b };
    const struct mcp_options options = {
        .run = data[0] & 0x80 ? "web-1.1" : NULL,
        .headers = data[0] & 2 ? &headers : NULL,
    };
    struct mcp *mcp = mcp_new(&backend, &options);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
        mcp_receive(mcp, at, length, b.now);
        assert(mcp_status(mcp) >= 200 && mcp_status(mcp) < 500);
        mcp_event(mcp, length % 2 ? "web-1" : NULL, b.now);
        answer_some(&b);
        time_ms next = mcp_next_tick(mcp);
        if (next != TIME_NEVER)
            b.now = next > b.now ? next : b.now;
        mcp_tick(mcp, b.now);
        at += length + 1;
    }
    if (data[0] & 0x40)
        mcp_stop(mcp, b.now);
    mcp_free(mcp);
    assert(b.count == 0 && !b.watching);
    return 0;
}
