/* webhook_line.c: see webhook_line.h. */
#include "daemon/webhook_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/notify_env.h"
#include "os/clock.h"
#include "os/worker.h"

#define END_PATIENCE SECONDS(1) /* for a job that was canceled; a name lookup cannot be */

struct webhook_line {
    const struct engine *engine;
    char *const *environment;
    struct worker *worker;
    webhook_posted came_back;
    void *ctx;
};

static void speak(const struct webhook_message *m, struct webhook_result *ret) {
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
    time_ms began = clock_read_steady();
    int r = http_client_post(&m->url, &post, &answer, &err);
    *ret = (struct webhook_result){ .canceled = r == -ECANCELED };
    if (r < 0) {
        (void)snprintf(ret->text, sizeof(ret->text), "%.390s", err.text);
        return;
    }
    ret->status = answer.status;
    ret->retry_after = answer.retry_after;
    bool good = answer.status < 300;
    (void)snprintf(ret->text, sizeof(ret->text), "answered %d in %" PRId64 " ms%s%s", answer.status,
                   clock_read_steady() - began, good || !*answer.text ? "" : ": ",
                   good ? "" : answer.text);
}

/* Uses nothing but the message: it may outlive the line. */
static void run(void *ctx, struct worker_job *job) {
    struct webhook_message *m = (struct webhook_message *)job;
    (void)ctx;
    speak(m, &m->result);
}

static void abandon(struct worker_job *job) {
    webhook_message_free((struct webhook_message *)job);
}

static void has_come(void *ctx, struct worker_job *job, bool was_run) {
    struct webhook_line *line = ctx;
    struct webhook_result result = ((struct webhook_message *)job)->result;
    (void)was_run;
    abandon(job);
    if (line->worker) /* else this is the end */
        line->came_back(line->ctx, &result);
}

/* --- https ----------------------------------------------------------------------------------- */

static const char *variable(const void *line, const char *name) {
    const struct notify_env env = { .daemon = ((const struct webhook_line *)line)->environment };
    return notify_env_of_daemon(&env, name);
}

/* notify.https_command was the program that posted, with its options. Those that mean something here still do. */
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

static int prepare_tls(const struct webhook_line *line, struct webhook_message *m,
                       struct error *err) {
    const struct config *config = engine_config(line->engine);
    const char *file = config_text(config, "notify.ca_file", NULL);
    const char *ca = variable(line, "CURL_CA_BUNDLE");
    const char *proxy = http_proxy_find(&m->url, variable, line);
    int r = take_old_options(config, &ca, &proxy, err);
    if (*file)
        ca = file;
    m->ca = r == 0 && ca && *ca ? xstrdup(ca) : NULL;
    m->proxy = r == 0 && proxy ? xstrdup(proxy) : NULL;
    return r;
}

/* --- life ------------------------------------------------------------------------------------ */

int webhook_line_post(struct webhook_line *line, struct webhook_message *m, struct error *err) {
    int r = m->url.tls ? prepare_tls(line, m, err) : 0;
    if (r < 0)
        return r;
    r = worker_start(line->worker);
    if (r < 0)
        return error_set(err, r, "cannot start a thread for the webhook: %s", strerror(-r));
    m->cancel = worker_cancel_fd(line->worker);
    return worker_give(line->worker, &m->base);
}

struct webhook_line *webhook_line_new(const struct engine *engine, struct loop *loop,
                                      char *const *environment, webhook_posted came_back,
                                      void *ctx) {
    static const struct worker_calls calls = { .run = run, .done = has_come, .abandon = abandon };
    struct webhook_line *line = xcalloc(1, sizeof(*line));
    *line = (struct webhook_line){
        .engine = engine, .environment = environment, .came_back = came_back, .ctx = ctx
    };
    line->worker = worker_new(loop, &calls, line);
    return line;
}

struct webhook_line *webhook_line_free(struct webhook_line *line) {
    if (line)
        worker_free(TAKE_PTR(line->worker), WORKER_DROP, END_PATIENCE);
    free(line);
    return NULL;
}
