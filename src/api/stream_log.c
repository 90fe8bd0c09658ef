/* stream_log.c: the bytes of a run's log, from an offset to its end, or onwards while the run is
 * live.
 *
 * Reads at the pace of the client: a log of a gigabyte is never in memory, and a reader that stops
 * (`| less`) costs nothing. Long logs have holes punched into their middle, so offsets stay valid;
 * a hole, and the NULs that punching leaves in the blocks at its edges, become one line that says
 * how much is missing. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/transcript.h"
#include "api/server_internal.h"
#include "base/alloc.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine/redaction.h"
#include "os/outside.h"

struct log_stream {
    struct stream stream;
    struct exchange *exchange;
    struct log_stream *next, *previous;
    task_id task;
    uint32_t attempt;
    char *path;
    int fd, watch;              /* <0: the file does not exist yet, or is polled without inotify */
    uint64_t offset, cut;       /* of the next byte; bytes skipped since the last ones sent */
    bool after_hole;            /* NULs that follow belong to the hole */
    bool follow, grows, broken; /* until the run has ended; the run lives; the server stops */
    struct transcript *transcript; /* of an agent's events; NULL: raw bytes */
    unsigned quiet;                /* pieces since it last printed something */
};

/* --- who is woken when a log grows ----------------------------------------------------------- */

/* One inotify descriptor, which exists only while a client follows. The kernel gives the same
 * number to every watch on the same file, so a watch is removed with its last follower. A file that
 * does not exist yet is waited for in its folder. Where inotify has no watch left (a limit of the
 * user), and where another machine writes the file, it is polled once per second. */

#define POLL_EVERY SECONDS(1)

static void inotify_ready(void *ctx, int fd, unsigned events) {
    struct server *server = ctx;
    _Alignas(struct inotify_event) char buffer[4096];
    (void)events;
    ssize_t n = read(fd, buffer, sizeof(buffer));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(buffer + at);
        at += (ssize_t)(sizeof(*event) + event->len);
        /* Events were lost: any file may have grown. */
        bool all = event->mask & IN_Q_OVERFLOW;
        for (struct log_stream *log = server->log_streams; log; log = log->next)
            if (log->follow && (all || log->watch == event->wd))
                connection_wake(log->exchange->connection);
    }
}

static void poll_due(void *ctx) {
    struct server *server = ctx;
    bool unwatched = false;
    for (struct log_stream *log = server->log_streams; log; log = log->next)
        if (log->follow && log->watch < 0) {
            unwatched = true;
            connection_wake(log->exchange->connection);
        }
    if (unwatched)
        loop_timer_set(server->loop, server->poll_timer,
                       time_add(loop_now_steady(server->loop), POLL_EVERY));
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

static void log_watch_add(struct server *server, struct log_stream *log) {
    assert(log->watch < 0);
    struct engine_host_state host;
    bool is_elsewhere = engine_executor_kind(server->engine, log->task) != EXECUTOR_LOCAL
                        || engine_unreachable_run(server->engine, log->task, &host);
    if (!is_elsewhere && open_inotify(server) == 0)
        log->watch = watch_path(server, log);
    if (log->watch >= 0)
        return;
    if (!server->poll_timer)
        server->poll_timer = loop_timer_new(server->loop, poll_due, server);
    loop_timer_set(server->loop, server->poll_timer,
                   time_add(loop_now_steady(server->loop), POLL_EVERY));
}

static void log_watch_remove(struct server *server, struct log_stream *log) {
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

#define PIECE        ((size_t)32 * 1024)
#define QUIET_PIECES 16 /* pieces without output, in one go */

static char log_space[REDACT_FILE_SPACE(PIECE)];

/* --- reading --------------------------------------------------------------------------------- */

/* Data from `offset` on, and whether a hole follows. Empty: the end. */
struct span {
    uint64_t begin, end;
    bool hole_follows;
};

static struct span find_data(int fd, uint64_t offset) {
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < 0)
        return (struct span){ offset, offset, false };
    uint64_t size = (uint64_t)st.st_size;
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    if (data < 0 && errno == ENXIO) /* a hole up to the end, or empty */
        return (struct span){ size > offset ? size : offset, size > offset ? size : offset, false };
    if (data < 0)
        return (struct span){ offset, size > offset ? size : offset, false };
    off_t hole = lseek(fd, data, SEEK_HOLE);
    uint64_t end = hole < 0 ? size : (uint64_t)hole;
    return (struct span){ (uint64_t)data, end, end < size };
}

/* An empty chunk ends the answer, so a transcript that prints nothing sends none. */
static void send_bytes(struct log_stream *log, const char *bytes, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!log->transcript) {
        exchange_send(log->exchange, bytes, size);
        return;
    }
    transcript_feed(log->transcript, bytes, size, &text);
    log->quiet = text.length > 0 ? 0 : log->quiet + 1;
    if (text.length > 0)
        exchange_send(log->exchange, strbuf_text(&text), text.length);
}

static void send_cut(struct log_stream *log) {
    char line[80];
    int length =
        snprintf(line, sizeof(line), "\n[... %" PRIu64 " bytes were cut here ...]\n", log->cut);
    send_bytes(log, line, (size_t)length);
    log->cut = 0;
}

/* Reads one piece of the span. 0: it must grow first; <0: an error. */
static int read_piece(struct log_stream *log, const struct span *span) {
    struct server *server = log->exchange->connection->server;
    uint64_t left = span->end - span->begin;
    const struct redact_range range = { (off_t)span->begin, left < PIECE ? (size_t)left : PIECE,
                                        log->grows, !log->follow };
    const char *buffer;
    ssize_t n = engine_read_log(server->engine, log->fd, &range, log_space, &buffer);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    size_t begin = 0, end = (size_t)n;
    log->offset = span->begin + end;
    while (log->after_hole && begin < end && buffer[begin] == '\0')
        begin++;
    log->after_hole &= begin == end;
    size_t before = end;
    while (span->hole_follows && log->offset == span->end && end > begin && buffer[end - 1] == '\0')
        end--;
    log->cut += begin;
    if (end > begin) {
        if (log->cut > 0)
            send_cut(log);
        send_bytes(log, buffer + begin, end - begin);
    }
    log->cut += before - end;
    return 1;
}

static enum stream_state log_end(struct log_stream *log) {
    if (log->cut > 0)
        send_cut(log);
    if (log->broken)
        return STREAM_BROKEN;
    if (log->follow)
        return STREAM_WAITS;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (log->transcript)
        transcript_end(log->transcript, &text);
    if (text.length > 0)
        exchange_send(log->exchange, strbuf_text(&text), text.length);
    exchange_send(log->exchange, "", 0);
    return STREAM_ENDED;
}

static enum stream_state log_fill(struct stream *stream) {
    struct log_stream *log = (struct log_stream *)stream;
    struct server *server = log->exchange->connection->server;
    if (log->fd < 0) {
        log->fd = outside_open(AT_FDCWD, log->path, O_RDONLY, NULL, NULL);
        if (log->fd < 0)
            return log_end(log);
        log_watch_remove(server, log); /* of the folder */
        if (log->follow)
            log_watch_add(server, log);
    }
    struct span span = find_data(log->fd, log->offset);
    if (span.begin > log->offset) {
        log->cut += span.begin - log->offset;
        log->after_hole = true;
        log->offset = span.begin;
    }
    if (span.begin == span.end)
        return log_end(log);
    int r = read_piece(log, &span);
    if (r <= 0)
        return r < 0 ? STREAM_BROKEN : log_end(log);
    /* A client that is sent nothing gives no back pressure; other clients get their turn. */
    return log->quiet > 0 && log->quiet % QUIET_PIECES == 0 ? STREAM_PAUSES : STREAM_GOES_ON;
}

/* --- life ------------------------------------------------------------------------------------ */

static void log_free(struct stream *stream) {
    struct log_stream *log = (struct log_stream *)stream;
    struct server *server = log->exchange->connection->server;
    log_watch_remove(server, log);
    LIST_REMOVE(server->log_streams, log);
    server->stats.log_streams--;
    if (log->fd >= 0)
        close(log->fd);
    transcript_free(log->transcript);
    free(log->path);
    free(log);
}

static struct log_stream *log_new(struct exchange *exchange, struct op_call *call) {
    struct server *server = exchange->connection->server;
    struct log_stream *log = xcalloc(1, sizeof(*log));
    log->stream = (struct stream){ log_fill, log_free };
    log->exchange = exchange;
    log->task = call->log.task;
    log->attempt = call->log.attempt;
    log->path = xstrdup(call->log.path);
    log->fd = log->watch = -1;
    log->offset = call->log.offset;
    /* The end of a run is published once: later followers must not wait for it. */
    struct engine_run run;
    log->grows = engine_live_run(server->engine, log->task, &run) && run.attempt == log->attempt;
    log->follow = call->log.follow && log->grows;
    log->broken = log->follow && server->stopping;
    LIST_PUSH(server->log_streams, log);
    server->stats.log_streams++;
    return log;
}

/* The offset may be inside a line: a partial event cannot be parsed. */
static void begin_transcript(struct log_stream *log, const struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf none = STRBUF_INIT;
    char before = '\n';
    if (!call->log.as_text || !call->log.adapter)
        return;
    log->transcript = transcript_new(agent_adapter_find(call->log.adapter), TRANSCRIPT_PLAIN);
    if (log->transcript && log->fd >= 0 && log->offset > 0
        && pread(log->fd, &before, 1, (off_t)log->offset - 1) == 1 && before != '\n')
        transcript_skip(log->transcript, &none);
}

void log_begin(struct exchange *exchange, struct op_call *call) {
    char headers[256];
    struct log_stream *log = log_new(exchange, call);
    struct error err = { 0 };
    log->fd = outside_open(AT_FDCWD, log->path, O_RDONLY, NULL, &err);
    /* A run that is about to start has no file yet; one that ended without output has an empty
     * log. */
    if (log->fd < 0 && log->fd != -ENOENT) {
        log_free(&log->stream);
        exchange_fail(exchange, 500, "internal", err.text);
        return;
    }
    if (log->follow)
        log_watch_add(exchange->connection->server, log);
    if (call->op->answer == OP_ANSWER_FILE) {
        exchange_begin_stream(exchange, "application/json", NULL, &log->stream);
        return;
    }
    begin_transcript(log, call);
    (void)snprintf(headers, sizeof(headers),
                   "X-Sluice-Attempt: %" PRIu32 "\r\nX-Sluice-Offset: %" PRIu64 "\r\n%s%s%s"
                   /* Browsers must not render what an agent has printed. */
                   "Content-Disposition: attachment\r\n"
                   "Content-Security-Policy: sandbox; default-src 'none'\r\n",
                   log->attempt, log->offset, call->log.adapter ? "X-Sluice-Adapter: " : "",
                   call->log.adapter ? call->log.adapter : "", call->log.adapter ? "\r\n" : "");
    exchange_begin_stream(
        exchange, log->transcript ? "text/plain; charset=utf-8" : "application/octet-stream",
        headers, &log->stream);
}

void server_run_ended(struct server *server, task_id task, uint32_t attempt) {
    for (struct log_stream *log = server->log_streams; log; log = log->next)
        if (log->grows && log->task == task && log->attempt == attempt) {
            log->follow = log->grows = false;
            connection_wake(log->exchange->connection);
        }
}

void log_stop(struct server *server) {
    for (struct log_stream *log = server->log_streams; log; log = log->next)
        if (log->follow) {
            log->broken = true;
            connection_wake(log->exchange->connection);
        }
}
