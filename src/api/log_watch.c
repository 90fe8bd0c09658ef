/* log_watch.c: who is woken when a log grows?
 *
 * One inotify descriptor, which exists only while somebody follows. The kernel gives the same number to
 * every watch on the same file, so a watch is given back when its last follower leaves. A file that
 * is not there yet is waited for in its folder. Where inotify has no watch left (it is a limit of the
 * user, not ours), and where another machine writes the file, it is looked at once per second: late, but
 * never silent. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "api/server_internal.h"
#include "base/alloc.h"
#include "engine/away.h"
#include "engine/executors.h"

#define LOOK_EVERY SECONDS(1)

static void wake(struct log_stream *log) {
    connection_wake(log->exchange->connection);
}

static void inotify_ready(void *ctx, int fd, unsigned events) {
    struct server *server = ctx;
    _Alignas(struct inotify_event) char buffer[4096];
    (void)events;
    ssize_t n = read(fd, buffer, sizeof(buffer));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(buffer + at);
        at += (ssize_t)(sizeof(*event) + event->len);
        /* Some were lost: any of them may have grown. */
        bool all = event->mask & IN_Q_OVERFLOW;
        for (struct log_stream *log = server->log_streams; log; log = log->next)
            if (log->follow && (all || log->watch == event->wd))
                wake(log);
    }
}

static void look_due(void *ctx) {
    struct server *server = ctx;
    bool unwatched = false;
    for (struct log_stream *log = server->log_streams; log; log = log->next)
        if (log->follow && log->watch < 0) {
            unwatched = true;
            wake(log);
        }
    if (unwatched)
        loop_timer_set(server->loop, server->look_timer,
                       time_add(loop_now_steady(server->loop), LOOK_EVERY));
}

static int open_inotify(struct server *server) {
    if (server->inotify >= 0)
        return 0;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (loop_watch(server->loop, fd, LOOP_READ, inotify_ready, server, &server->inotify_watch)
        < 0) {
        close(fd);
        return -ENOSPC;
    }
    server->inotify = fd;
    return 0;
}

static int watch_path(struct server *server, const struct log_stream *log) {
    if (log->fd >= 0)
        return inotify_add_watch(server->inotify, log->path, IN_MODIFY | IN_CLOSE_WRITE);
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    const char *slash = strrchr(log->path, '/');
    assert(slash);
    strbuf_add(&folder, log->path, (size_t)(slash - log->path));
    return inotify_add_watch(server->inotify, strbuf_text(&folder),
                             IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
}

void log_watch_add(struct server *server, struct log_stream *log) {
    assert(log->watch < 0);
    struct engine_host_state host;
    bool is_elsewhere = engine_executor_kind(server->engine, log->task) != EXECUTOR_LOCAL
                        || engine_away_run(server->engine, log->task, &host);
    if (!is_elsewhere && open_inotify(server) == 0)
        log->watch = watch_path(server, log);
    if (log->watch >= 0)
        return;
    if (!server->look_timer)
        server->look_timer = loop_timer_new(server->loop, look_due, server);
    loop_timer_set(server->loop, server->look_timer,
                   time_add(loop_now_steady(server->loop), LOOK_EVERY));
}

void log_watch_remove(struct server *server, struct log_stream *log) {
    int watch = log->watch;
    log->watch = -1;
    if (watch < 0)
        return;
    bool any = false, same = false;
    for (const struct log_stream *other = server->log_streams; other; other = other->next) {
        any |= other->watch >= 0;
        same |= other->watch == watch;
    }
    if (!same)
        (void)inotify_rm_watch(server->inotify, watch);
    if (any)
        return;
    loop_unwatch(server->loop, server->inotify_watch);
    server->inotify_watch = NULL;
    close(server->inotify);
    server->inotify = -1;
}
