/* fuzz_webhook.c: arbitrary bytes as the response of a webhook, and as its URL.
 *
 * Beyond not crashing: no prefix of a valid response is refused, and the response is complete exactly at the end
 * of its head. An accepted URL can be used in a request without changes. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "http_client/http_client.h"
#include "http_client/http_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_head(const char *bytes, size_t size) {
    int status = 0, part = 0;
    size_t head = 0, none = 0;
    if (http_head_check(bytes, size, &status, &head) != 1)
        return;
    assert(status >= 100 && status <= 599 && head <= size
           && head >= strlen("HTTP/1.1 200\r\n\r\n"));
    assert(http_head_check(bytes, head, &part, &none) == 1 && part == status && none == head);
    assert(http_head_check(bytes, head - 1, &part, &none) == 0);
    assert(http_head_check(bytes, head / 2, &part, &none) == 0);
}

static void check_part(const char *text) {
    for (; text && *text; text++)
        assert(*text > 0x20 && *text < 0x7f);
}

static void try_url(const char *bytes, size_t size) {
    _cleanup_(freep) char *text = xstrndup(bytes, size);
    struct http_url url = { 0 };
    struct error err = { 0 };
    if (http_url_parse(text, &url, &err) < 0) {
        assert(err.code == -EINVAL && !url.path && !url.host);
        return;
    }
    assert(url.path && url.path[0] == '/' && url.authority
           && (url.socket || (url.host && url.port)));
    check_part(url.path);
    check_part(url.authority);
    assert(!strchr(url.authority, '@'));
    http_url_finish(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_head((const char *)data, size);
    try_url((const char *)data, size);
    return 0;
}
