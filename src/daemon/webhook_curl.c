/* webhook_curl.c: see webhook_curl.h.
 *
 * The daemon itself links no TLS library: docs/decisions says why. The body is a file of its own, because curl
 * reads no line of its options that is longer than 100 kB. Both files are gone with the program; those of a
 * daemon that was killed go with the start of the next one. */
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
#include "os/outside.h"

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
    char *options; /* paths: of its options, with headers that may be secret, */
    char *body;    /* and of what it sends */
};

/* --- its files ------------------------------------------------------------------------------- */

/* Needs no fsync: after a crash nobody reads it, and the next one takes its place. */
static int write_file(const char *path, const char *text, size_t size, struct error *err) {
    _cleanup_(fd_closep) int fd = outside_create(AT_FDCWD, path, err);
    if (fd < 0)
        return fd;
    ssize_t n = write(fd, text, size);
    if (n == (ssize_t)size)
        return 0;
    if (n >= 0)
        errno = ENOSPC;
    return error_set_errno(err, "write", path);
}

static void remove_files(const struct webhook_curl *c) {
    (void)unlink(c->options);
    (void)unlink(c->body);
}

/* --- its end --------------------------------------------------------------------------------- */

static void ended(void *ctx, const struct aside_end *end) {
    struct webhook_curl *c = ctx;
    struct webhook_result result;
    c->aside = NULL;
    remove_files(c);
    webhook_curl_read(c->program, end, loop_now(c->loop), &result);
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
    argv[count + 2] = c->options;
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
    webhook_curl_print(m, c->body, &text);
    int r = write_file(c->options, text.text, text.length, err);
    if (r == 0)
        r = write_file(c->body, m->body, m->size, err);
    if (r == 0)
        r = start(c, m->timeout, err);
    if (r < 0)
        remove_files(c);
    else
        webhook_message_free(m);
    return r;
}

static char *path_of(const struct engine *engine, const char *name, const char *end) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s.%s", engine_home(engine), name, end);
    return strbuf_take(&path);
}

struct webhook_curl *webhook_curl_new(struct engine *engine, struct loop *loop,
                                      char *const *environment, const char *name,
                                      webhook_posted came_back, void *ctx) {
    struct webhook_curl *c = xcalloc(1, sizeof(*c));
    *c = (struct webhook_curl){ .engine = engine,
                                .loop = loop,
                                .environment = environment,
                                .came_back = came_back,
                                .ctx = ctx,
                                .options = path_of(engine, name, "curl"),
                                .body = path_of(engine, name, "body") };
    remove_files(c);
    return c;
}

struct webhook_curl *webhook_curl_free(struct webhook_curl *c) {
    if (!c)
        return NULL;
    if (c->aside)
        remove_files(c);
    aside_kill(c->aside);
    free(c->program);
    free(c->options);
    free(c->body);
    free(c);
    return NULL;
}
