/* poster.c: one thread that appends what the loop gives it.
 *
 * Two lists under one mutex: what is to be posted, and what was. The thread sleeps on a condition while there is
 * nothing to do; the loop hears of what was posted through an eventfd. A second eventfd interrupts a wait for a
 * lock when the daemon ends: what was not posted then is posted by the next one, if it came from the
 * events.
 *
 * What is appended and not synced yet is a list of the thread alone. It is synced and told when nothing more
 * is waiting, when it is long, and before a wait for a lock: nobody waits for the file of somebody else. */
#include "bus/poster.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/thread.h"

#define UNSYNCED_MAX 64u /* messages, and so files that are open */

enum posting_kind { POST, REMOVE, RETIRE };

struct posting {
    struct posting *next;
    struct arena arena;
    enum posting_kind kind;
    struct bus_message message; /* REMOVE, RETIRE: where; its time is `before` */
    bool once;
    bus_posted done;
    void *ctx;
    int result;
    char id[BUS_ID_MAX];
    struct error err;
};

struct list {
    struct posting *first, **end;
};

struct bus_poster {
    struct loop *loop;
    struct loop_watch *watch;
    int told_fd; /* the thread has posted something */
    int stop_fd; /* the thread shall end */
    size_t open; /* given and not answered; the loop's */
    bool started;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t more;
    struct list queue, posted;
    bool stopping;
    struct bus bus; /* the thread's, as what follows */
    struct list unsynced;
    unsigned unsynced_count;
};

static void list_add(struct list *list, struct posting *p) {
    p->next = NULL;
    *list->end = p;
    list->end = &p->next;
}

static struct posting *list_take(struct list *list) {
    struct posting *p = list->first;
    if (!p)
        return NULL;
    list->first = p->next;
    if (!list->first)
        list->end = &list->first;
    return p;
}

static void ring(int fd) {
    const uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof(one));
    (void)n; /* it is not full, and if it were it would be heard */
}

/* --- the thread ------------------------------------------------------------------------------ */

/* What is appended is synced, and told. */
static void sync_all(struct bus_poster *poster) {
    struct error err = { 0 };
    struct posting *p;
    if (poster->unsynced_count == 0)
        return;
    int r = bus_sync(&poster->bus, &err);
    pthread_mutex_lock(&poster->mutex);
    while ((p = list_take(&poster->unsynced))) {
        if (r < 0 && p->result >= 0) { /* which of them are not safe nobody knows */
            p->result = r;
            p->err = err;
        }
        list_add(&poster->posted, p);
    }
    pthread_mutex_unlock(&poster->mutex);
    poster->unsynced_count = 0;
    ring(poster->told_fd);
}

static bool wait_or_stop(void *ctx, time_ms span) {
    struct bus_poster *poster = ctx;
    sync_all(poster);
    struct pollfd stop = { .fd = poster->stop_fd, .events = POLLIN };
    return poll(&stop, 1, (int)span) <= 0;
}

static struct posting *next_posting(struct bus_poster *poster) {
    pthread_mutex_lock(&poster->mutex);
    while (!poster->queue.first && !poster->stopping)
        pthread_cond_wait(&poster->more, &poster->mutex);
    struct posting *p = poster->stopping ? NULL : list_take(&poster->queue);
    pthread_mutex_unlock(&poster->mutex);
    return p;
}

static bool has_more(struct bus_poster *poster) {
    pthread_mutex_lock(&poster->mutex);
    bool more = poster->queue.first != NULL && !poster->stopping;
    pthread_mutex_unlock(&poster->mutex);
    return more;
}

static int do_one(struct bus *bus, struct posting *p) {
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

static void *post_all(void *ctx) {
    struct bus_poster *poster = ctx;
    struct posting *p;
    while ((p = next_posting(poster))) {
        p->result = do_one(&poster->bus, p);
        list_add(&poster->unsynced, p);
        bool more = has_more(poster);
        if (++poster->unsynced_count >= UNSYNCED_MAX || !more)
            sync_all(poster);
        if (!more)
            bus_counts_flush(&poster->bus);
    }
    return NULL;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void finish_posting(struct bus_poster *poster, struct posting *p) {
    poster->open--;
    if (!p->done && p->result < 0 && p->result != -ECANCELED && p->result != -ESHUTDOWN)
        log_warning("old messages stay: %s", p->err.text);
    if (p->done)
        p->done(p->ctx, p->result, p->result == 0 ? p->id : NULL, p->result < 0 ? &p->err : NULL);
    arena_finish(&p->arena);
    free(p);
}

static void take_posted(void *ctx, int fd, unsigned events) {
    struct bus_poster *poster = ctx;
    uint64_t count;
    (void)events;
    ssize_t n = read(fd, &count, sizeof(count));
    (void)n;
    pthread_mutex_lock(&poster->mutex);
    struct posting *p = poster->posted.first;
    poster->posted.first = NULL;
    poster->posted.end = &poster->posted.first;
    pthread_mutex_unlock(&poster->mutex);
    while (p) {
        struct posting *next = p->next;
        finish_posting(poster, p);
        p = next;
    }
}

int bus_poster_new(struct loop *loop, const char *home, struct bus_poster **ret_poster,
                   struct error *err) {
    struct bus_poster *poster = xcalloc(1, sizeof(*poster));
    poster->loop = loop;
    poster->queue.end = &poster->queue.first;
    poster->posted.end = &poster->posted.first;
    poster->unsynced.end = &poster->unsynced.first;
    pthread_mutex_init(&poster->mutex, NULL);
    pthread_cond_init(&poster->more, NULL);
    struct strbuf root = STRBUF_INIT;
    strbuf_printf(&root, "%s/" BUS_FOLDER, home);
    bus_init(&poster->bus, strbuf_text(&root));
    strbuf_finish(&root);
    poster->bus.clock.wait = wait_or_stop;
    poster->bus.clock.ctx = poster;
    poster->told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    poster->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = poster->told_fd < 0 || poster->stop_fd < 0 ? -errno : 0;
    if (r == 0)
        r = loop_watch(loop, poster->told_fd, LOOP_READ, take_posted, poster, &poster->watch);
    if (r < 0) {
        bus_poster_free(poster);
        return error_set(err, r, "cannot make the message bus: %s", strerror(-r));
    }
    *ret_poster = poster;
    return 0;
}

static void stop_thread(struct bus_poster *poster) {
    if (!poster->started)
        return;
    pthread_mutex_lock(&poster->mutex);
    poster->stopping = true;
    pthread_cond_signal(&poster->more);
    pthread_mutex_unlock(&poster->mutex);
    ring(poster->stop_fd);
    pthread_join(poster->thread, NULL);
}

struct bus_poster *bus_poster_free(struct bus_poster *poster) {
    if (!poster)
        return NULL;
    stop_thread(poster);
    if (poster->watch)
        loop_unwatch(poster->loop, poster->watch);
    struct posting *p;
    while ((p = list_take(&poster->posted)))
        finish_posting(poster, p);
    while ((p = list_take(&poster->queue))) {
        p->result = error_set(&p->err, -ESHUTDOWN, "the daemon ends: the message was not posted");
        finish_posting(poster, p);
    }
    if (poster->told_fd >= 0)
        close(poster->told_fd);
    if (poster->stop_fd >= 0)
        close(poster->stop_fd);
    bus_finish(&poster->bus);
    pthread_cond_destroy(&poster->more);
    pthread_mutex_destroy(&poster->mutex);
    free(poster);
    return NULL;
}

static const char *copy_text(struct posting *p, const char *text) {
    return text ? arena_strdup(&p->arena, text) : NULL;
}

static struct posting *copy_message(const struct bus_message *from) {
    struct posting *p = xcalloc(1, sizeof(*p));
    p->message = (struct bus_message){
        .id = copy_text(p, from->id),
        .at = from->at,
        .type = copy_text(p, from->type),
        .project = copy_text(p, from->project),
        .task = copy_text(p, from->task),
        .run = copy_text(p, from->run),
        .issue = copy_text(p, from->issue),
        .to_project = from->to_project,
        .parents = copy_text(p, from->parents),
        .links = copy_text(p, from->links),
        .meta = copy_text(p, from->meta),
        .body = copy_text(p, from->body),
    };
    return p;
}

static void enqueue(struct bus_poster *poster, struct posting *p) {
    poster->open++;
    int r = poster->started ? 0 : thread_start(&poster->thread, post_all, poster);
    pthread_mutex_lock(&poster->mutex);
    if (r < 0) {
        p->result =
            error_set(&p->err, r, "cannot start the thread of the message bus: %s", strerror(-r));
        list_add(&poster->posted, p);
        ring(poster->told_fd);
    } else {
        poster->started = true;
        list_add(&poster->queue, p);
        pthread_cond_signal(&poster->more);
    }
    pthread_mutex_unlock(&poster->mutex);
}

void bus_post(struct bus_poster *poster, const struct bus_message *message, bool once,
              bus_posted done, void *ctx) {
    struct posting *p = copy_message(message);
    p->once = once;
    p->done = done;
    p->ctx = ctx;
    enqueue(poster, p);
}

/* Most have no file: nobody is woken for them. */
static bool has_file(const struct bus_poster *poster, const struct bus_place *place) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    return bus_path(&poster->bus, place, &path, NULL) == 0 && access(strbuf_text(&path), F_OK) == 0;
}

static void enqueue_order(struct bus_poster *poster, enum posting_kind kind,
                          const struct bus_message *where) {
    struct posting *p = copy_message(where);
    p->kind = kind;
    enqueue(poster, p);
}

void bus_forget(struct bus_poster *poster, const char *project, const char *task) {
    const struct bus_message where = { .project = project, .task = task };
    if (poster->open > 0 || has_file(poster, &(struct bus_place){ project, task }))
        enqueue_order(poster, REMOVE, &where);
}

void bus_retire_later(struct bus_poster *poster, const char *project, time_ms before) {
    const struct bus_message where = { .project = project, .at = before };
    _cleanup_(strbuf_finish) struct strbuf old = STRBUF_INIT;
    strbuf_printf(&old, "%s/" BUS_OLD_FOLDER, poster->bus.root);
    if (poster->open > 0 || has_file(poster, &(struct bus_place){ .project = project })
        || access(strbuf_text(&old), F_OK) == 0)
        enqueue_order(poster, RETIRE, &where);
}

bool bus_poster_is_idle(const struct bus_poster *poster) {
    return poster->open == 0;
}
