/* kit.h: one client of the protocol and a backend that the test plays.
 *
 *     KIT(k, .run = "web-1.1");
 *     kit_say(&k, "{…}");               a message comes in
 *     kit_answer(&k, "task.show", "{}"); the question for this operation is answered
 *     json_t *m = kit_next(&k);          the next message that went out
 *     kit_text(m, "result|tools|0|name") a member, names and positions between bars
 * At the end nothing may be left: no message that was not looked at, no question. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcp/mcp.h"

#define KIT_ASKS_MAX 128

struct kit {
    struct mcp *mcp;
    struct mcp_question *asks[KIT_ASKS_MAX];
    size_t ask_count, dropped;
    bool watching;
    time_ms now;
    json_t *sent; /* [{"kind", "message"}] */
    size_t seen;
};

void kit_start(struct kit *k, const struct mcp_options *options);
void kit_finish(struct kit *k);
#define KIT(name, ...)                                                                             \
    __attribute__((cleanup(kit_finish))) struct kit name = { 0 };                                  \
    kit_start(&(name), &(struct mcp_options){ __VA_ARGS__ })

void kit_say(struct kit *k, const char *text);
/* A request of the modern way: `params` without _meta, "" for none. */
void kit_modern(struct kit *k, int id, const char *method, const char *params);
/* The next message that was not read; fails without one. */
json_t *kit_next(struct kit *k);
json_t *kit_answer_of(struct kit *k); /* the same; fails unless it is an answer */
json_t *kit_notice_of(struct kit *k, const char *method);
void kit_silent(struct kit *k); /* nothing more has come */

/* The oldest question for this operation; fails without one. Its parameters as JSON text, sorted. */
void kit_asked(struct kit *k, const char *op, const char *params);
void kit_answer(struct kit *k, const char *op, const char *json);
void kit_bytes(struct kit *k, const char *op, const char *bytes, size_t size);
void kit_refuse(struct kit *k, const char *op, int code, const char *message, bool absent);

json_t *kit_at(const json_t *value, const char *path); /* NULL: not there */
const char *kit_text(const json_t *value, const char *path);
json_int_t kit_int(const json_t *value, const char *path);
bool kit_true(const json_t *value, const char *path);
bool kit_false(const json_t *value, const char *path);
#define ASSERT_TEXT(value, path, expected) assert_string_equal(kit_text(value, path), expected)
#define ASSERT_INT(value, path, expected)  assert_int_equal(kit_int(value, path), expected)

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
