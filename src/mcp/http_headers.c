/* http_headers.c: do the headers of a request say what its body says?
 *
 * Whoever stands between client and server may have looked at the headers alone; acting on a body that
 * says otherwise would let a client walk round them. */
#include <string.h>

#include "base/macros.h"
#include "mcp/mcp_internal.h"

#define ENCODED_BEGIN "=?base64?"
#define ENCODED_END   "?="

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* False: it is none. Padding must be there, as the clients write it. */
static bool decode_base64(const char *text, size_t size, struct strbuf *out) {
    if (size % 4 != 0)
        return false;
    for (size_t at = 0; at < size; at += 4) {
        unsigned bits = 0, padding = 0;
        for (size_t i = 0; i < 4; i++) {
            bool pad = text[at + i] == '=' && at + 4 == size && i >= 2;
            int digit = pad ? 0 : base64_digit(text[at + i]);
            if (digit < 0 || (padding > 0 && !pad))
                return false;
            padding += pad;
            bits = bits << 6 | (unsigned)digit;
        }
        const char bytes[] = { (char)(bits >> 16), (char)(bits >> 8 & 0xff), (char)(bits & 0xff) };
        strbuf_add(out, bytes, 3 - padding);
    }
    return true;
}

/* The value as it was meant. False: it cannot be read. */
static bool decode_value(const char *value, struct strbuf *out) {
    size_t length = strlen(value), begin = strlen(ENCODED_BEGIN), end = strlen(ENCODED_END);
    bool encoded = length >= begin + end && strncmp(value, ENCODED_BEGIN, begin) == 0
                   && strcmp(value + length - end, ENCODED_END) == 0;
    if (encoded)
        return decode_base64(value + begin, length - begin - end, out);
    strbuf_puts(out, value);
    return true;
}

/* What Mcp-Name must say; NULL: nothing is asked for. */
static const char *named_by(const struct mcp_request *request) {
    static const struct {
        const char *method, *member;
    } names[] = {
        { "tools/call", "name" },
        { "resources/read", "uri" },
        { "prompts/get", "name" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i].method, request->method) == 0)
            return json_string_value(json_object_get(request->params, names[i].member));
    return NULL;
}

bool headers_hold(struct mcp_request *request) {
    const struct mcp *mcp = request->mcp;
    if (!mcp->http)
        return true;
    if (!mcp->header_method || strcmp(mcp->header_method, request->method) != 0) {
        request_fail(request, RPC_HEADERS, NULL, "the header Mcp-Method %s",
                     mcp->header_method ? "is not the method of the body" : "is missing");
        return false;
    }
    const char *name = named_by(request);
    if (!name)
        return true; /* what is missing there is told as such */
    _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
    if (!mcp->header_name || !decode_value(mcp->header_name, &value) || strlen(name) != value.length
        || memcmp(strbuf_text(&value), name, value.length) != 0) {
        request_fail(request, RPC_HEADERS, NULL, "the header Mcp-Name %s",
                     mcp->header_name ? "is not the name in the body" : "is missing");
        return false;
    }
    return true;
}
