/* webhook_send.c: what is sent, signed how, by whom, and what came back?
 *
 * The secret is read for each try: it can be changed without a restart, and is in memory only as long as it
 * is needed. It stands in no argument, no environment of a command and no log. */
#include "daemon/webhook_send.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sha256.h"
#include "daemon/notify_env.h"
#include "daemon/webhook_line.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/outside.h"

#define SECRET_MAX 4096u

struct webhook_sender {
    struct engine *engine;
    struct loop *loop;
    char *const *environment;
    struct webhook_line *line;
    struct loop_timer *soon; /* tells `result` from the loop */
    struct webhook_result result;
    webhook_posted posted; /* with a try on its way */
    void *ctx;
};

/* --- the secret ------------------------------------------------------------------------------ */

static int read_secret_file(const char *path, struct strbuf *ret, struct error *err) {
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY | OUTSIDE_LINKS, NULL, err);
    char bytes[SECRET_MAX + 1];
    if (fd < 0)
        return error_prefix(err, "cannot read the secret");
    ssize_t size = read(fd, bytes, sizeof(bytes));
    if (size < 0)
        return error_set_errno(err, "read the secret", path);
    if ((size_t)size > SECRET_MAX || memchr(bytes, '\0', (size_t)size))
        return error_set(err, -EINVAL, "the secret '%s' has more than %u bytes, or a NUL", path,
                         SECRET_MAX);
    while (size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r'))
        size--; /* of the editor */
    strbuf_add(ret, bytes, (size_t)size);
    explicit_bzero(bytes, sizeof(bytes));
    return size > 0 ? 0 : error_set(err, -EINVAL, "the secret '%s' is empty", path);
}

/* 1: there is none to sign with. */
static int read_secret(const struct webhook_sender *s, struct strbuf *ret, struct error *err) {
    const struct config *config = engine_config(s->engine);
    const char *path = config_text(config, "notify.secret_file", NULL);
    const char *name = config_text(config, "notify.secret_env", NULL);
    const struct notify_env env = { .daemon = s->environment };
    if (*path)
        return read_secret_file(path, ret, err);
    if (!*name)
        return 1;
    const char *value = notify_env_of_daemon(&env, name);
    if (!value || !*value)
        return error_set(err, -ENOENT,
                         "the daemon has no variable '%s' (notify.secret_env): start it again with "
                         "that in its environment",
                         name);
    strbuf_puts(ret, value);
    return 0;
}

void webhook_sign(const char *secret, const char *timestamp, const char *body, struct strbuf *out) {
    struct hmac_sha256 hmac;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    hmac_sha256_init(&hmac, secret, strlen(secret));
    hmac_sha256_add(&hmac, timestamp, strlen(timestamp));
    hmac_sha256_add(&hmac, ".", 1);
    hmac_sha256_add(&hmac, body, strlen(body));
    hmac_sha256_end(&hmac, digest);
    sha256_hex(digest, hex);
    strbuf_printf(out, "v1=%s", hex);
    explicit_bzero(&hmac, sizeof(hmac));
}

/* --- the message ----------------------------------------------------------------------------- */

_printf_(2, 3) static void add_header(struct webhook_message *m, const char *format, ...) {
    struct strbuf line = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&line, format, args);
    va_end(args);
    m->headers[m->header_count++] = strbuf_take(&line);
}

static int sign(const struct webhook_sender *s, struct webhook_message *m, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf secret = STRBUF_INIT, signature = STRBUF_INIT;
    char timestamp[24];
    int r = read_secret(s, &secret, err);
    if (r != 0)
        return r < 0 ? r : 0;
    (void)snprintf(timestamp, sizeof(timestamp), "%" PRId64, loop_now(s->loop) / 1000);
    webhook_sign(strbuf_text(&secret), timestamp, m->body, &signature);
    if (secret.length > 0)
        explicit_bzero(secret.text, secret.length);
    add_header(m, "Sluice-Timestamp: %s", timestamp);
    add_header(m, "Sluice-Signature: %s", strbuf_text(&signature));
    return 0;
}

static int make_message(const struct webhook_sender *s, const struct news *news,
                        struct webhook_message *m, struct error *err) {
    const struct config *config = engine_config(s->engine);
    struct strbuf body = STRBUF_INIT;
    news_print(news, &body);
    m->size = body.length;
    m->body = strbuf_take(&body);
    m->timeout = config_number(config, "notify.timeout_s", NULL);
    add_header(m, "Content-Type: application/json");
    add_header(m, "User-Agent: sluice/%s", engine_version(s->engine));
    add_header(m, "Sluice-Id: %s", news->id);
    add_header(m, "Sluice-Kind: %s", news_kind_name(news->kind));
    int r = http_url_parse(config_text(config, "notify.webhook", NULL), &m->url, err);
    if (r < 0)
        return error_prefix(err, "notify.webhook");
    return sign(s, m, err);
}

void webhook_message_free(struct webhook_message *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->header_count; i++)
        free(m->headers[i]);
    http_url_finish(&m->url);
    free(m->body);
    free(m->ca);
    free(m->proxy);
    free(m);
}

/* --- one try --------------------------------------------------------------------------------- */

static void tell(struct webhook_sender *s) {
    webhook_posted posted = s->posted;
    struct webhook_result result = s->result;
    s->posted = NULL;
    posted(s->ctx, &result);
}

static void came_back(void *ctx, const struct webhook_result *result) {
    struct webhook_sender *s = ctx;
    s->result = *result;
    s->result.ok = result->status >= 200 && result->status < 300;
    tell(s);
}

static void is_due(void *ctx) {
    tell(ctx);
}

void webhook_sender_post(struct webhook_sender *s, const struct news *news, webhook_posted posted,
                         void *ctx) {
    struct error err = { 0 };
    struct webhook_message *m = xcalloc(1, sizeof(*m));
    s->posted = posted;
    s->ctx = ctx;
    int r = make_message(s, news, m, &err);
    if (r == 0)
        r = webhook_line_post(s->line, m, &err); /* it is theirs, if that went well */
    if (r == 0)
        return;
    webhook_message_free(m);
    s->result = (struct webhook_result){ 0 };
    (void)snprintf(s->result.text, sizeof(s->result.text), "%.390s", err.text);
    loop_timer_set(s->loop, s->soon, loop_now_steady(s->loop));
}

struct webhook_sender *webhook_sender_new(struct engine *engine, struct loop *loop,
                                          char *const *environment) {
    struct webhook_sender *s = xcalloc(1, sizeof(*s));
    s->engine = engine;
    s->loop = loop;
    s->environment = environment;
    s->line = webhook_line_new(engine, loop, environment, came_back, s);
    s->soon = loop_timer_new(loop, is_due, s);
    return s;
}

struct webhook_sender *webhook_sender_free(struct webhook_sender *s) {
    if (!s)
        return NULL;
    webhook_line_free(s->line);
    loop_timer_free(s->loop, s->soon);
    free(s);
    return NULL;
}
