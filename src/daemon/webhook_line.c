/* webhook_line.c: see webhook_line.h. One message at a time goes to the thread, one result comes back. */
#include "daemon/webhook_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/worker.h"

#define END_PATIENCE SECONDS(1) /* for a job that was canceled; a name lookup cannot be */

struct webhook_line {
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
                              .cancel = m->cancel };
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

void webhook_line_post(struct webhook_line *line, struct webhook_message *message) {
    message->cancel = worker_cancel_fd(line->worker);
    (void)worker_give(line->worker, &message->base); /* it has started */
}

int webhook_line_new(struct loop *loop, webhook_posted came_back, void *ctx,
                     struct webhook_line **ret_line, struct error *err) {
    static const struct worker_calls calls = { .run = run, .done = has_come, .abandon = abandon };
    struct webhook_line *line = xcalloc(1, sizeof(*line));
    *line = (struct webhook_line){ .came_back = came_back, .ctx = ctx };
    line->worker = worker_new(loop, &calls, line);
    int r = worker_start(line->worker);
    if (r == 0) {
        *ret_line = line;
        return 0;
    }
    webhook_line_free(line);
    return error_set(err, r, "cannot start a thread for the webhook: %s", strerror(-r));
}

struct webhook_line *webhook_line_free(struct webhook_line *line) {
    if (line)
        worker_free(TAKE_PTR(line->worker), WORKER_DROP, END_PATIENCE);
    free(line);
    return NULL;
}
