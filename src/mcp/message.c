/* message.c: JSON-RPC as it goes out.
 *
 * Every text that leaves here is one line of valid UTF-8: a log or a title may hold any bytes, and a
 * client that reads lines must never see a second one. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "mcp/mcp_internal.h"

json_t *message_result(const json_t *id, json_t *result) {
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *message_error(const json_t *id, int code, const char *text, json_t *data) {
    json_t *error = json_pack("{s:i, s:s}", "code", code, "message", text);
    if (data)
        (void)json_object_set_new(error, "data", data);
    json_t *message = json_pack("{s:s}", "jsonrpc", "2.0");
    (void)json_object_set_new(message, "id", id ? json_incref((json_t *)id) : json_null());
    (void)json_object_set_new(message, "error", error);
    return message;
}

void message_send(struct mcp *mcp, enum mcp_kind kind, json_t *message) {
    /* 15 digits: 0.1 as it was, and not 0.10000000000000001 */
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(message);
    if (!text)
        return; /* only what was packed here is dumped: it cannot fail */
    mcp->backend.send(mcp->backend.ctx, kind, text, strlen(text));
    free(text);
}

void message_notify(struct mcp *mcp, const char *method, json_t *params) {
    message_send(
        mcp, MCP_NOTICE,
        json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

static bool is_plain(const char *text, size_t length) {
    unsigned char first = (unsigned char)text[0];
    if (length == 1)
        return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
    return !(length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0); /* C1 controls */
}

json_t *message_text(const char *bytes, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(bytes + at, size - at);
        if (length > 0 && is_plain(bytes + at, length))
            strbuf_add(&clean, bytes + at, length);
        else if (bytes[at] != '\r' && bytes[at] != '\0') /* a hole in a log reads as NULs */
            strbuf_puts(&clean, "\xEF\xBF\xBD");
        at += length ? length : 1;
    }
    return json_stringn(strbuf_text(&clean), clean.length);
}

json_t *message_dump(const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_t *string = json_string(text ? text : "null");
    free(text);
    return string;
}

struct message_quoted message_quote(const char *text) {
    struct message_quoted quoted = { "" };
    size_t at = 0;
    const size_t most = sizeof(quoted.text) - sizeof("...");
    for (size_t left = strlen(text); left > 0;) {
        size_t length = utf8_length(text, left);
        bool plain = length > 0 && is_plain(text, length) && *text != '\n' && *text != '\t';
        size_t add = plain ? length : 1;
        if (at + add > most) {
            memcpy(quoted.text + at, "...", sizeof("..."));
            break;
        }
        if (plain)
            memcpy(quoted.text + at, text, length);
        else
            quoted.text[at] = '?';
        at += add;
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    return quoted;
}
