/* page.c: the public files of the dashboard.
 *
 * They need no token: they are the same in every daemon, and the page has no token yet when it is
 * loaded. All its data comes through the operations. Its Content-Security-Policy allows only our
 * own scripts and styles, no framing, and no connections to other addresses, so that agent output
 * cannot act even if the page rendered it unescaped. */
#include <string.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "os/outside.h"
#include "web/web.h"

#define FILE_MAX ((size_t)16 * 1024 * 1024) /* of a file in --web-dir */

#define PAGE_HEADERS                                                                               \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; "               \
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"         \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                                \
    "X-Frame-Options: DENY\r\n"

static const char without[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<meta charset=\"utf-8\">\n"
    "<title>Sluice</title>\n"
    "<h1>Sluice runs, without its dashboard</h1>\n"
    "<p>This program was built without the page that belongs here. Build it with npm at hand, "
    "<code>meson setup build -Dweb=enabled &amp;&amp; ninja -C build</code>, or start the daemon "
    "with <code>sluiced --web-dir web/dist</code>.</p>\n"
    "<p>The command line shows the same: <code>sluice status</code>, <code>sluice top</code>.</p>\n"
    "</html>\n";

static void answer_file(struct connection *c, const struct web_file *file, const char *path) {
    const char *known = http_request_header(&c->parser.request, "if-none-match");
    _cleanup_(strbuf_finish) struct strbuf headers = STRBUF_INIT, tag = STRBUF_INIT;
    strbuf_printf(&tag, "\"%s\"", file->hash);
    strbuf_printf(&headers, PAGE_HEADERS "Vary: Accept-Encoding\r\nETag: %s\r\n",
                  strbuf_text(&tag));
    if (file->encoding)
        strbuf_printf(&headers, "Content-Encoding: %s\r\n", file->encoding);
    route_answer(
        c, &(struct response){
               .status = known && strcmp(known, strbuf_text(&tag)) == 0 ? 304 : 200,
               .type = web_type(path),
               .cache = web_is_immutable(path) ? "public, max-age=31536000, immutable" : "no-cache",
               .headers = strbuf_text(&headers),
               .body = (const char *)file->bytes,
               .size = file->size });
}

static void answer_bytes(struct connection *c, const char *type, const char *bytes, size_t size) {
    route_answer(c, &(struct response){ .status = 200,
                                        .type = type,
                                        .cache = "no-cache",
                                        .headers = PAGE_HEADERS,
                                        .body = bytes,
                                        .size = size });
}

bool page_answer(struct connection *c) {
    const struct http_request *request = &c->parser.request;
    const char *path = request->path;
    bool is_get = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (!c->tcp || !is_get)
        return false;
    if (c->server->options.web_dir) {
        _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
        _cleanup_(fd_closep) int folder =
            outside_open(AT_FDCWD, c->server->options.web_dir,
                         O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, NULL);
        if (folder < 0
            || outside_read(folder, web_path(path) + 1, O_RDONLY, FILE_MAX, &bytes, NULL) < 0)
            return false;
        answer_bytes(c, web_type(path), strbuf_text(&bytes), bytes.length);
        return true;
    }
    const char *encodings = http_request_header(request, "accept-encoding");
    const struct web_file *file = web_find(path, encodings && http_value_has(encodings, "gzip"));
    if (file) {
        answer_file(c, file, path);
        return true;
    }
    if (strcmp(path, "/") != 0)
        return false;
    answer_bytes(c, "text/html; charset=utf-8", without, strlen(without));
    return true;
}
