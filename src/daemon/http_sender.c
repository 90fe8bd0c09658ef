/* http_sender.c: see http_sender.h. */
#include "daemon/http_sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"

#define END_PATIENCE SECONDS(1) /* for a canceled POST; a name lookup cannot be canceled */

struct http_sender {
    const struct engine *engine;
    struct worker *worker;
    http_posted posted;
    void *ctx;
};

/* --- messages --------------------------------------------------------------------------------- */

struct http_message *http_message_new(const struct engine *engine) {
    struct http_message *m = xcalloc(1, sizeof(*m));
    http_message_add(m, xstrdup("Content-Type: application/json"));
    http_message_add(m, xasprintf("User-Agent: sluice/%s", engine_version(engine)));
    return m;
}

void http_message_add(struct http_message *m, char *header) {
    m->headers[m->header_count++] = header;
}

void http_message_free(struct http_message *m) {
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

/* --- the thread ------------------------------------------------------------------------------- */

/* Uses only the message, because it may outlive the sender. */
static void run(void *ctx, struct worker_job *job) {
    struct http_message *m = (struct http_message *)job;
    struct http_result *ret = &m->result;
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    struct http_post post = { .headers = (const char *const *)(uintptr_t)m->headers,
                              .body = m->body,
                              .size = m->size,
                              .timeout = m->timeout,
                              .cancel = m->cancel,
                              .ca = m->ca,
                              .ca_setting = "notify.ca_file",
                              .proxy = m->proxy };
    (void)ctx;
    time_ms began = clock_read_steady();
    int r = http_client_post(&m->url, &post, &answer, &err);
    *ret = (struct http_result){ .canceled = r == -ECANCELED };
    if (r < 0) {
        (void)snprintf(ret->text, sizeof(ret->text), "%.390s", err.text);
        return;
    }
    ret->status = answer.status;
    ret->ok = answer.status >= 200 && answer.status < 300;
    ret->retry_after = answer.retry_after;
    bool quiet = answer.status < 300 || !*answer.text;
    (void)snprintf(ret->text, sizeof(ret->text), "answered %d in %" PRId64 " ms%s%s", answer.status,
                   clock_read_steady() - began, quiet ? "" : ": ", quiet ? "" : answer.text);
}

static void abandon(struct worker_job *job) {
    http_message_free((struct http_message *)job);
}

static void job_done(void *ctx, struct worker_job *job, bool was_run) {
    struct http_sender *s = ctx;
    struct http_result result = ((struct http_message *)job)->result;
    (void)was_run;
    abandon(job);
    if (s->worker) /* else http_sender_free drops it */
        s->posted(s->ctx, &result);
}

/* --- https ------------------------------------------------------------------------------------ */

static const char *variable(const void *ctx, const char *name) {
    (void)ctx;
    return getenv(name);
}

/* notify.https_command was a program that posted, with its options. Those that apply here still
 * count. */
static int take_old_options(const struct config *config, const char **ca, const char **proxy,
                            struct error *err) {
    const char *const *words = NULL;
    size_t count = config_words(config, "notify.https_command", NULL, &words);
    for (size_t i = 1; i < count; i++) {
        bool is_ca = strcmp(words[i], "--cacert") == 0;
        bool is_proxy = strcmp(words[i], "--proxy") == 0 || strcmp(words[i], "-x") == 0;
        if ((!is_ca && !is_proxy) || i + 1 == count)
            return error_set(err, -ENOTSUP,
                             "notify.https_command: '%.100s' is not supported any more: the daemon "
                             "speaks https itself (notify.ca_file, HTTPS_PROXY)",
                             words[i]);
        *(is_ca ? ca : proxy) = words[++i];
    }
    return 0;
}

static int prepare_tls(const struct http_sender *s, struct http_message *m, struct error *err) {
    const struct config *config = engine_config(s->engine);
    const char *file = config_text(config, "notify.ca_file", NULL);
    const char *ca = getenv("CURL_CA_BUNDLE");
    const char *proxy = http_proxy_find(&m->url, variable, NULL);
    int r = take_old_options(config, &ca, &proxy, err);
    if (*file)
        ca = file;
    m->ca = r == 0 && ca && *ca ? xstrdup(ca) : NULL;
    m->proxy = r == 0 && proxy ? xstrdup(proxy) : NULL;
    return r;
}

/* --- life ------------------------------------------------------------------------------------- */

int http_sender_post(struct http_sender *s, struct http_message *m, struct error *err) {
    int r = m->url.tls ? prepare_tls(s, m, err) : 0;
    if (r < 0)
        return r;
    r = worker_start(s->worker);
    if (r < 0)
        return error_set(err, r, "cannot start a thread for the webhook: %s", strerror(-r));
    m->cancel = worker_cancel_fd(s->worker);
    return worker_submit(s->worker, &m->base);
}

struct http_sender *http_sender_new(const struct engine *engine, struct loop *loop,
                                    http_posted posted, void *ctx) {
    static const struct worker_calls calls = { .run = run, .done = job_done, .abandon = abandon };
    struct http_sender *s = xcalloc(1, sizeof(*s));
    *s = (struct http_sender){ .engine = engine, .posted = posted, .ctx = ctx };
    s->worker = worker_new(loop, &calls, s);
    return s;
}

struct http_sender *http_sender_free(struct http_sender *s) {
    if (s)
        worker_free(TAKE_PTR(s->worker), WORKER_DROP, END_PATIENCE);
    free(s);
    return NULL;
}
