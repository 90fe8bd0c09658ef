/* collector_address.c: where does a body go, and with which headers?
 *
 * Headers are in a file, because they hold secrets, and what is in the configuration is printed. The file is
 * read for each sending: a new secret needs no restart. */
#include "daemon/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "engine/engine.h"
#include "os/files.h"

#define HEADERS_FILE_MAX 16384u
#define OWN_HEADERS      2u /* Content-Type, User-Agent */

static void add_header(struct webhook_message *m, const char *name, const char *value) {
    struct strbuf line = STRBUF_INIT;
    strbuf_printf(&line, "%s: %s", name, value);
    m->headers[m->header_count++] = strbuf_take(&line);
}

static bool is_header(const char *line) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    static const char *const ours[] = { "host",         "content-length",    "connection",
                                        "content-type", "transfer-encoding", "user-agent" };
    size_t length = strspn(line, letters);
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (strlen(ours[i]) == length && strncasecmp(line, ours[i], length) == 0)
            return false;
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return length > 0 && line[length] == ':' && line[length + 1] == ' ' && line[length + 2];
}

/* `line` is ended with NUL. */
static int take_line(const char *path, unsigned number, char *line, struct webhook_message *m,
                     struct error *err) {
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        line[--length] = '\0';
    if (length == 0 || *line == '#')
        return 0;
    if (!is_header(line)) /* not shown: it may be a secret */
        return error_set(err, -EINVAL,
                         "otel.headers_file: line %u of '%s' is no header of yours (example: "
                         "Authorization: Bearer …)",
                         number, path);
    if (m->header_count == WEBHOOK_HEADERS_MAX)
        return error_set(err, -E2BIG, "otel.headers_file: '%s' has more than %u headers", path,
                         WEBHOOK_HEADERS_MAX - OWN_HEADERS);
    m->headers[m->header_count++] = xstrdup(line);
    return 0;
}

static int take_headers(const char *path, struct webhook_message *m, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read(path, HEADERS_FILE_MAX, &text, err);
    if (r < 0)
        return error_prefix(err, "otel.headers_file");
    if (strlen(strbuf_text(&text)) != text.length)
        return error_set(err, -EINVAL, "otel.headers_file: '%s' has a NUL in it", path);
    unsigned number = 1;
    for (char *line = text.text, *end; line && r == 0; line = end ? end + 1 : NULL, number++) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        r = take_line(path, number, line, m, err);
    }
    if (text.text)
        explicit_bzero(text.text, text.length);
    return r;
}

int collector_address(const struct engine *engine, const char *signal, struct webhook_message *m,
                      struct error *err) {
    const struct config *config = engine_config(engine);
    const char *file = config_text(config, "otel.headers_file", NULL);
    struct strbuf path = STRBUF_INIT;
    int r = http_url_parse(config_text(config, "otel.endpoint", NULL), &m->url, err);
    if (r < 0)
        return error_prefix(err, "otel.endpoint");
    size_t length = strlen(m->url.path);
    while (length > 0 && m->url.path[length - 1] == '/')
        length--;
    strbuf_printf(&path, "%.*s/v1/%s", (int)length, m->url.path, signal);
    free(m->url.path);
    m->url.path = strbuf_take(&path);
    strbuf_printf(&path, "sluice/%s", engine_version(engine));
    add_header(m, "Content-Type", "application/json");
    add_header(m, "User-Agent", strbuf_text(&path));
    strbuf_finish(&path);
    return *file ? take_headers(file, m, err) : 0;
}
