/* webhook_curl.c: see webhook_curl.h.
 *
 * The daemon itself links no TLS library: docs/decisions says why. What curl prints behind everything else is
 * the status, 000 if there was none; before it stands its own sentence. */
#include "daemon/webhook_curl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/notify_env.h"
#include "os/files.h"
#include "os/loop.h"

#define FILE_NAME  "webhook.curl"
#define OUTPUT_MAX 2000u
#define SPARE      SECONDS(2) /* behind curl's own time-out, which says more */

struct webhook_curl {
    struct engine *engine;
    struct loop *loop;
    char *const *environment;
    webhook_posted came_back;
    void *ctx;
    struct aside *aside;
    time_ms began;
    char *program; /* of the one that runs */
    char *path;    /* of its file */
};

/* --- its file -------------------------------------------------------------------------------- */

/* A value in quotes, as curl reads it. */
static void print_option(struct strbuf *out, const char *option, const char *value) {
    strbuf_printf(out, "%s = \"", option);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *value);
    }
    strbuf_puts(out, "\"\n");
}

void webhook_curl_print(const struct webhook_message *m, struct strbuf *out) {
    print_option(out, "url", m->text);
    for (size_t i = 0; i < m->header_count; i++)
        print_option(out, "header", m->headers[i]);
    print_option(out, "header", "Expect:"); /* no pause before the body */
    print_option(out, "data-binary", m->body);
    strbuf_printf(out, "max-time = %" PRId64 ".%03" PRId64 "\n", m->timeout / 1000,
                  m->timeout % 1000);
    strbuf_puts(out, "proto = \"=https\"\n"
                     "silent\n"
                     "show-error\n"
                     "output = \"/dev/null\"\n"
                     "write-out = \"\\n%{http_code}\"\n");
}

/* Needs no fsync: after a crash nobody reads it, and the next one takes its place. */
static int write_file(const char *path, const struct strbuf *text, struct error *err) {
    (void)unlink(path);
    _cleanup_(fd_closep) int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, "write", path);
    ssize_t n = write(fd, text->text, text->length);
    if (n == (ssize_t)text->length)
        return 0;
    if (n >= 0)
        errno = ENOSPC;
    return error_set_errno(err, "write", path);
}

/* --- what it said ---------------------------------------------------------------------------- */

static void copy_sentence(const char *text, size_t size, char *ret, size_t room) {
    size_t at = 0;
    for (size_t i = 0; i < size && at + 1 < room; i++)
        ret[at++] = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f ? text[i] : ' ';
    while (at > 0 && ret[at - 1] == ' ')
        at--;
    ret[at] = '\0';
}

void webhook_curl_read(const char *program, const struct aside_end *end,
                       struct webhook_result *ret) {
    char said[300];
    const char *last = strrchr(end->output, '\n');
    const char *digits = last ? last + 1 : end->output;
    bool is_status = strlen(digits) == 3 && strspn(digits, "0123456789") == 3;
    copy_sentence(end->output, last && is_status ? (size_t)(last - end->output) : end->size, said,
                  sizeof(said));
    *ret = (struct webhook_result){ 0 };
    if (end->error)
        (void)snprintf(ret->text, sizeof(ret->text),
                       "https needs the program '%.100s' (notify.https_command), which cannot be "
                       "run: %s",
                       program, strerror(end->error));
    else if (end->timed_out)
        (void)snprintf(ret->text, sizeof(ret->text), "'%.100s' did not end in time", program);
    else if (is_status && strcmp(digits, "000") != 0)
        ret->status = 100 * (digits[0] - '0') + 10 * (digits[1] - '0') + (digits[2] - '0');
    else
        (void)snprintf(ret->text, sizeof(ret->text), "'%.60s' ended with exit code %d: %.250s",
                       program, end->code, said);
}

static void ended(void *ctx, const struct aside_end *end) {
    struct webhook_curl *c = ctx;
    struct webhook_result result;
    c->aside = NULL;
    (void)unlink(c->path);
    webhook_curl_read(c->program, end, &result);
    if (result.status)
        (void)snprintf(result.text, sizeof(result.text), "answered %d in %" PRId64 " ms",
                       result.status, loop_now_steady(c->loop) - c->began);
    c->came_back(c->ctx, &result);
}

/* --- one try --------------------------------------------------------------------------------- */

static void fill_env(struct webhook_curl *c, struct notify_env *env) {
    static const char *const names[] = { "HTTPS_PROXY",   "https_proxy",  "NO_PROXY",
                                         "no_proxy",      "ALL_PROXY",    "all_proxy",
                                         "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        notify_env_pass(env, names[i]);
    notify_env_end(env, c->engine);
}

static int start(struct webhook_curl *c, time_ms timeout, struct error *err) {
    const char *const *words = NULL;
    size_t count = config_words(engine_config(c->engine), "notify.https_command", NULL, &words);
    if (count == 0)
        return error_set(err, -ENOTSUP,
                         "https needs a program that speaks it: set 'notify.https_command'");
    _cleanup_(notify_env_finish) struct notify_env env = { .daemon = c->environment };
    fill_env(c, &env);
    /* -q must be the first: a .curlrc of somebody's would change what we read. */
    const char **argv = xcalloc(count + 4, sizeof(*argv));
    argv[0] = words[0];
    argv[1] = "-q";
    memcpy(argv + 2, words + 1, (count - 1) * sizeof(*argv));
    argv[count + 1] = "--config";
    argv[count + 2] = c->path;
    free(c->program);
    c->program = xstrdup(words[0]);
    struct aside_spec spec = { .argv = argv,
                               .env = env.pairs,
                               .timeout = time_add(timeout, SPARE),
                               .output_max = OUTPUT_MAX };
    c->began = loop_now_steady(c->loop);
    int r = aside_start(c->loop, &spec, ended, c, &c->aside, err);
    free(argv);
    return r;
}

int webhook_curl_post(struct webhook_curl *c, struct webhook_message *m, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    webhook_curl_print(m, &text);
    int r = write_file(c->path, &text, err);
    if (r == 0)
        r = start(c, m->timeout, err);
    if (r < 0)
        (void)unlink(c->path);
    else
        webhook_message_free(m);
    return r;
}

struct webhook_curl *webhook_curl_new(struct engine *engine, struct loop *loop,
                                      char *const *environment, webhook_posted came_back,
                                      void *ctx) {
    struct webhook_curl *c = xcalloc(1, sizeof(*c));
    struct strbuf path = STRBUF_INIT;
    *c = (struct webhook_curl){ .engine = engine,
                                .loop = loop,
                                .environment = environment,
                                .came_back = came_back,
                                .ctx = ctx };
    strbuf_printf(&path, "%s/" FILE_NAME, engine_home(engine));
    c->path = strbuf_take(&path);
    return c;
}

struct webhook_curl *webhook_curl_free(struct webhook_curl *c) {
    if (!c)
        return NULL;
    if (c->aside)
        (void)unlink(c->path);
    aside_kill(c->aside);
    free(c->program);
    free(c->path);
    free(c);
    return NULL;
}
