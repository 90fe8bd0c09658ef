/* response.c: serializes an answer. */
#include "api/response.h"

#include <stdio.h>

#include "base/json_write.h"

static const char *status_text(int status) {
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 304, "Not Modified" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
        { 507, "Insufficient Storage" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Answer"; /* for people; programs read the number */
}

void response_print(const struct response *response, struct strbuf *out) {
    strbuf_printf(out, "HTTP/1.1 %d %s\r\n", response->status, status_text(response->status));
    bool nothing = response->status == 304; /* the client already has the description */
    if (!nothing)
        strbuf_printf(out, "Content-Type: %s\r\n", response->type);
    if (!response->stream && !nothing)
        strbuf_printf(out, "Content-Length: %zu\r\n", response->size);
    else if (response->stream && !response->old)
        strbuf_puts(out, "Transfer-Encoding: chunked\r\n");
    if (response->allow)
        strbuf_printf(out, "Allow: %s\r\n", response->allow);
    strbuf_printf(out, "Cache-Control: %s\r\nX-Content-Type-Options: nosniff\r\n",
                  response->cache ? response->cache : "no-store");
    if (response->headers)
        strbuf_puts(out, response->headers);
    if (response->close)
        strbuf_puts(out, "Connection: close\r\n");
    strbuf_puts(out, "\r\n");
    if (!response->stream && !response->head_only && !nothing)
        strbuf_add(out, response->body, response->size);
}

void response_print_error(const char *word, const char *message, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_pack(&w, "{s:{s:s, s:s}}", "error", "code", word, "message", message);
    strbuf_putc(out, '\n');
}

size_t response_frame_chunk(size_t size, bool old, char ret_head[RESPONSE_CHUNK_HEAD],
                            const char **ret_tail) {
    *ret_tail = old ? "" : "\r\n";
    return old ? 0 : (size_t)snprintf(ret_head, RESPONSE_CHUNK_HEAD, "%zx\r\n", size);
}

void response_print_chunk(const char *bytes, size_t size, bool old, struct strbuf *out) {
    char head[RESPONSE_CHUNK_HEAD];
    const char *tail;
    strbuf_add(out, head, response_frame_chunk(size, old, head, &tail));
    strbuf_add(out, bytes, size);
    strbuf_puts(out, tail);
}
