/* webhook_line.c: see webhook_line.h. One message at a time goes to the thread, one result comes back. */
#include "daemon/webhook_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/thread.h"

#define END_PATIENCE SECONDS(1) /* for a thread that was canceled */

/* Of the thread and of who made it; whoever goes last frees it. */
struct desk {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned users;
    int told;   /* an eventfd: there is a result */
    int cancel; /* an eventfd: give up */
    bool stop;
    struct webhook_message *todo;
    struct webhook_result result;
};

struct webhook_line {
    struct loop *loop;
    webhook_posted came_back;
    void *ctx;
    struct desk *desk;
    struct loop_watch *watch;
    pthread_t thread;
};

static void leave(struct desk *desk) {
    pthread_mutex_lock(&desk->lock);
    bool last = --desk->users == 0;
    pthread_mutex_unlock(&desk->lock);
    if (!last)
        return;
    webhook_message_free(desk->todo);
    fd_closep(&desk->told);
    fd_closep(&desk->cancel);
    pthread_cond_destroy(&desk->wake);
    pthread_mutex_destroy(&desk->lock);
    free(desk);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void speak(const struct webhook_message *m, int cancel, struct webhook_result *ret) {
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    struct http_post post = { .headers = (const char *const *)(uintptr_t)m->headers,
                              .body = m->body,
                              .size = m->size,
                              .timeout = m->timeout,
                              .cancel = cancel };
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

static void *thread_run(void *ctx) {
    struct desk *desk = ctx;
    pthread_mutex_lock(&desk->lock);
    for (;;) {
        while (!desk->todo && !desk->stop)
            pthread_cond_wait(&desk->wake, &desk->lock);
        if (desk->stop)
            break;
        struct webhook_message *message = TAKE_PTR(desk->todo);
        struct webhook_result result;
        pthread_mutex_unlock(&desk->lock);
        speak(message, desk->cancel, &result);
        webhook_message_free(message);
        pthread_mutex_lock(&desk->lock);
        desk->result = result;
        uint64_t one = 1;
        (void)!write(desk->told, &one, sizeof(one));
    }
    pthread_mutex_unlock(&desk->lock);
    leave(desk);
    return NULL;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void has_come(void *ctx, int fd, unsigned events) {
    struct webhook_line *line = ctx;
    uint64_t count;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    pthread_mutex_lock(&line->desk->lock);
    struct webhook_result result = line->desk->result;
    pthread_mutex_unlock(&line->desk->lock);
    line->came_back(line->ctx, &result);
}

void webhook_line_post(struct webhook_line *line, struct webhook_message *message) {
    pthread_mutex_lock(&line->desk->lock);
    line->desk->todo = message;
    pthread_cond_signal(&line->desk->wake);
    pthread_mutex_unlock(&line->desk->lock);
}

int webhook_line_new(struct loop *loop, webhook_posted came_back, void *ctx,
                     struct webhook_line **ret_line, struct error *err) {
    struct webhook_line *line = xcalloc(1, sizeof(*line));
    struct desk *desk = line->desk = xcalloc(1, sizeof(*desk));
    *line = (struct webhook_line){ .loop = loop, .came_back = came_back, .ctx = ctx, .desk = desk };
    desk->users = 2;
    pthread_mutex_init(&desk->lock, NULL);
    pthread_cond_init(&desk->wake, NULL);
    desk->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    desk->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = desk->told < 0 || desk->cancel < 0 ? -errno : 0;
    if (r == 0)
        r = loop_watch(loop, desk->told, LOOP_READ, has_come, line, &line->watch);
    if (r == 0)
        r = thread_start(&line->thread, thread_run, desk);
    if (r == 0) {
        *ret_line = line;
        return 0;
    }
    loop_unwatch(loop, line->watch);
    desk->users = 1;
    leave(desk);
    free(line);
    return error_set(err, r, "cannot start a thread for the webhook: %s", strerror(-r));
}

struct webhook_line *webhook_line_free(struct webhook_line *line) {
    if (!line)
        return NULL;
    uint64_t one = 1;
    loop_unwatch(line->loop, line->watch);
    pthread_mutex_lock(&line->desk->lock);
    line->desk->stop = true;
    (void)!write(line->desk->cancel, &one, sizeof(one));
    pthread_cond_signal(&line->desk->wake);
    pthread_mutex_unlock(&line->desk->lock);
    time_ms until = clock_read() + END_PATIENCE;
    struct timespec at = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };
    if (pthread_timedjoin_np(line->thread, NULL, &at) != 0) {
        log_debug("the webhook's name is still being looked up; nobody waits for that");
        (void)pthread_detach(line->thread);
    }
    leave(line->desk);
    free(line);
    return NULL;
}
