/* poster.c: a worker thread that appends messages from the loop.
 *
 * Appended messages are synced and answered when the queue is empty, when there are UNSYNCED_MAX,
 * and before a wait for a lock: no message waits for the file of another. Shutdown interrupts such
 * a wait. Unposted messages that came from events are posted by the next daemon. */
#include "bus/poster.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "os/log.h"
#include "os/worker.h"

#define UNSYNCED_MAX 64u /* messages, and so files that are open */

enum posting_kind { POST, REMOVE, RETIRE };

struct posting {
    struct worker_job base;
    struct arena arena;
    enum posting_kind kind;
    struct bus_message message; /* REMOVE, RETIRE: which file; its time is `before` */
    bool once;
    bus_posted done;
    void *ctx;
    int result;
    char id[BUS_ID_MAX];
    struct error err;
};

struct bus_poster {
    struct worker *worker;
    size_t open;    /* submitted and not answered; owned by the loop */
    struct bus bus; /* owned by the thread */
};

/* --- the thread ------------------------------------------------------------------------------ */

static void sync_all(void *ctx, struct worker_job *jobs) {
    struct bus_poster *poster = ctx;
    struct error err = { 0 };
    int r = bus_sync(&poster->bus, &err);
    for (; r < 0 && jobs; jobs = jobs->next) {
        struct posting *p = (struct posting *)jobs;
        if (p->result >= 0) { /* which of them are not durable is unknown */
            p->result = r;
            p->err = err;
        }
    }
}

static bool wait_or_stop(void *ctx, time_ms span) {
    struct bus_poster *poster = ctx;
    if (!poster->worker) /* bus_finish writes its counts, or skips them */
        return false;
    worker_settle(poster->worker);
    struct pollfd stop = { .fd = worker_cancel_fd(poster->worker), .events = POLLIN };
    return poll(&stop, 1, (int)span) <= 0;
}

static int carry_out(struct bus *bus, struct posting *p) {
    const struct bus_place place = { .project = p->message.project, .task = p->message.task };
    switch (p->kind) {
    case REMOVE:
        return bus_remove(bus, &place, &p->err);
    case RETIRE:
        return bus_retire(bus, place.project, p->message.at, &p->err);
    case POST:
        break;
    }
    return bus_append(bus, &p->message, p->once, p->id, &p->err);
}

static void run(void *ctx, struct worker_job *job) {
    struct posting *p = (struct posting *)job;
    p->result = carry_out(&((struct bus_poster *)ctx)->bus, p);
}

static void flush_counts(void *ctx) {
    bus_counts_flush(&((struct bus_poster *)ctx)->bus);
}

/* --- the loop -------------------------------------------------------------------------------- */

static void posted(void *ctx, struct worker_job *job, bool was_run) {
    struct bus_poster *poster = ctx;
    struct posting *p = (struct posting *)job;
    poster->open--;
    if (!was_run)
        p->result =
            error_set(&p->err, -ESHUTDOWN, "the daemon is stopping: the message was not posted");
    if (!p->done && p->result < 0 && p->result != -ECANCELED && p->result != -ESHUTDOWN)
        log_warning("cannot remove old messages: %s", p->err.text);
    if (p->done)
        p->done(p->ctx, p->result, p->result == 0 ? p->id : NULL, p->result < 0 ? &p->err : NULL);
    arena_finish(&p->arena);
    free(p);
}

int bus_poster_new(struct loop *loop, const char *home, struct bus_poster **ret_poster,
                   struct error *err) {
    static const struct worker_calls calls = {
        .run = run, .settle = sync_all, .batch = UNSYNCED_MAX, .idle = flush_counts, .done = posted
    };
    struct bus_poster *poster = xcalloc(1, sizeof(*poster));
    _cleanup_(freep) char *root = xasprintf("%s/" BUS_FOLDER, home);
    bus_init(&poster->bus, root);
    poster->bus.clock.wait = wait_or_stop;
    poster->bus.clock.ctx = poster;
    poster->worker = worker_new(loop, &calls, poster);
    int r = worker_start(poster->worker);
    if (r < 0) {
        bus_poster_free(poster);
        return error_set(err, r, "cannot create the message bus: %s", strerror(-r));
    }
    *ret_poster = poster;
    return 0;
}

struct bus_poster *bus_poster_free(struct bus_poster *poster) {
    if (!poster)
        return NULL;
    poster->worker = worker_free(poster->worker, WORKER_DROP, 0);
    bus_finish(&poster->bus);
    free(poster);
    return NULL;
}

/* Copies the texts of the message. */
static void enqueue(struct bus_poster *poster, struct posting what) {
    struct posting *p = xcalloc(1, sizeof(*p));
    *p = what;
    for (const struct bus_key *key = bus_keys; key->key; key++) {
        const char **text = bus_member(&p->message, key);
        *text = *text ? arena_strdup(&p->arena, *text) : NULL;
    }
    p->message.body = what.message.body ? arena_strdup(&p->arena, what.message.body) : NULL;
    poster->open++;
    (void)worker_submit(poster->worker, &p->base); /* the worker has started */
}

void bus_post(struct bus_poster *poster, const struct bus_message *message, bool once,
              bus_posted done, void *ctx) {
    enqueue(poster,
            (struct posting){
                .kind = POST, .message = *message, .once = once, .done = done, .ctx = ctx });
}

/* Most have no file: avoids waking the thread. */
static bool has_file(const struct bus_poster *poster, const struct bus_place *place) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    return bus_path(&poster->bus, place, &path, NULL) == 0 && access(strbuf_text(&path), F_OK) == 0;
}

void bus_remove_later(struct bus_poster *poster, const char *project, const char *task) {
    if (poster->open > 0 || has_file(poster, &(struct bus_place){ project, task }))
        enqueue(poster, (struct posting){ .kind = REMOVE,
                                          .message = { .project = project, .task = task } });
}

void bus_retire_later(struct bus_poster *poster, const char *project, time_ms before) {
    _cleanup_(freep) char *old = xasprintf("%s/" BUS_OLD_FOLDER, poster->bus.root);
    if (poster->open > 0 || has_file(poster, &(struct bus_place){ .project = project })
        || access(old, F_OK) == 0)
        enqueue(poster, (struct posting){ .kind = RETIRE,
                                          .message = { .project = project, .at = before } });
}

bool bus_poster_is_idle(const struct bus_poster *poster) {
    return poster->open == 0;
}
