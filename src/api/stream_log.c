/* stream_log.c: the bytes of a run's log, from an offset to its end, or onwards while the run is
 * live.
 *
 * Reads at the pace of the client: a log of a gigabyte is never in memory, and a reader that stops
 * (`| less`) costs nothing. Long logs have holes punched into their middle, so offsets stay valid;
 * a hole, and the NULs that punching leaves in the blocks at its edges, become one line that says
 * how much is missing. Output and errors can be merged: two files, read in the order that the shim
 * has recorded. */
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
#include "base/json_write.h"
#include "base/macros.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine/redaction.h"
#include "os/fd.h"
#include "os/outside.h"

/* One file. */
struct log_source {
    const char *stream; /* as the operation calls it */
    char *path;
    int fd, watch;        /* <0: the file does not exist yet, or is polled without inotify */
    uint64_t offset, cut; /* of the next byte; bytes skipped since the last ones sent */
    bool after_hole;      /* NULs that follow belong to the hole */
    struct transcript *transcript; /* of an agent's events; NULL: raw bytes */
};

/* Sizes of out.log and err.log at a moment. */
struct log_moment {
    uint64_t sizes[2];
};

struct log_stream {
    struct stream stream;
    struct exchange *exchange;
    struct log_stream *next, *previous;
    task_id task;
    uint32_t attempt;
    struct log_source sources[2];
    unsigned source_count;
    enum op_log_format format;
    /* Two sources: in the order of these moments, then as they grow. */
    struct log_moment *moments;
    size_t moment_count, moment;
    bool follow, grows, broken; /* until the run has ended; the run lives; the server stops */
    unsigned quiet;             /* pieces since it last printed something */
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
            for (unsigned i = 0; log->follow && i < log->source_count; i++)
                if (all || log->sources[i].watch == event->wd)
                    connection_wake(log->exchange->connection);
    }
}

static bool is_polled(const struct log_stream *log) {
    for (unsigned i = 0; log->follow && i < log->source_count; i++)
        if (log->sources[i].watch < 0)
            return true;
    return false;
}

static void poll_due(void *ctx) {
    struct server *server = ctx;
    bool unwatched = false;
    for (struct log_stream *log = server->log_streams; log; log = log->next)
        if (is_polled(log)) {
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

static int watch_path(struct server *server, const struct log_source *source) {
    if (source->fd >= 0)
        return inotify_add_watch(server->inotify, source->path, IN_MODIFY | IN_CLOSE_WRITE);
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    const char *slash = strrchr(source->path, '/');
    assert(slash);
    strbuf_add(&folder, source->path, (size_t)(slash - source->path));
    return inotify_add_watch(server->inotify, strbuf_text(&folder),
                             IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
}

static void log_watch_add(struct server *server, const struct log_stream *log,
                          struct log_source *source) {
    assert(source->watch < 0);
    struct engine_host_state host;
    bool is_elsewhere = engine_executor_kind(server->engine, log->task) != EXECUTOR_LOCAL
                        || engine_unreachable_run(server->engine, log->task, &host);
    if (!is_elsewhere && open_inotify(server) == 0)
        source->watch = watch_path(server, source);
    if (source->watch >= 0)
        return;
    if (!server->poll_timer)
        server->poll_timer = loop_timer_new(server->loop, poll_due, server);
    loop_timer_set(server->loop, server->poll_timer,
                   time_add(loop_now_steady(server->loop), POLL_EVERY));
}

static void log_watch_remove(struct server *server, struct log_source *source) {
    int watch = source->watch;
    source->watch = -1;
    if (watch < 0)
        return;
    bool any = false, same = false;
    for (const struct log_stream *log = server->log_streams; log; log = log->next)
        for (unsigned i = 0; i < log->source_count; i++) {
            any |= log->sources[i].watch >= 0;
            same |= log->sources[i].watch == watch;
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

/* --- the order of two files ------------------------------------------------------------------- */

/* The shim records the sizes of both whenever the command went back from its errors to its output
 * (rundir.h). The file is in the folder of the run, which may have changed it: sizes only grow, and
 * those beyond a file are skipped. */

#define ORDER_MAX ((size_t)1 << 20) /* the shim stops before */

static bool read_size(const char **at, const char *end, char separator, uint64_t *ret) {
    uint64_t size = 0;
    const char *begin = *at;
    for (; *at < end && **at >= '0' && **at <= '9' && *at - begin < 18; (*at)++)
        size = size * 10 + (uint64_t)(**at - '0');
    if (*at == begin || *at == end || **at != separator)
        return false;
    (*at)++;
    *ret = size;
    return true;
}

static void add_moment(struct log_stream *log, const uint64_t sizes[2]) {
    assert(log->moments);
    const struct log_moment *last =
        log->moment_count > 0 ? &log->moments[log->moment_count - 1] : NULL;
    if (!last || (sizes[0] >= last->sizes[0] && sizes[1] >= last->sizes[1]))
        log->moments[log->moment_count++] = (struct log_moment){ { sizes[0], sizes[1] } };
}

/* The last moment is now. */
static void read_order(struct log_stream *log, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    uint64_t sizes[2];
    (void)outside_read(AT_FDCWD, path, 0, ORDER_MAX, &text, NULL);
    const char *at = strbuf_text(&text), *end = at + text.length;
    log->moments = xcalloc(text.length / 4 + 1, sizeof(*log->moments)); /* "0 0\n" */
    while (read_size(&at, end, ' ', &sizes[0]) && read_size(&at, end, '\n', &sizes[1]))
        add_moment(log, sizes);
    for (unsigned i = 0; i < 2; i++) {
        struct stat st;
        bool is_there = log->sources[i].fd >= 0 && fstat(log->sources[i].fd, &st) == 0;
        sizes[i] = is_there && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    }
    for (size_t i = 0; i < log->moment_count; i++)
        for (unsigned k = 0; k < 2; k++)
            if (log->moments[i].sizes[k] > sizes[k])
                log->moments[i].sizes[k] = sizes[k];
    log->moments[log->moment_count++] = (struct log_moment){ { sizes[0], sizes[1] } };
}

/* Leaves out the beginning of both, in their order. */
static void skip_all_but(struct log_stream *log, uint64_t tail) {
    assert(log->moments && log->moment_count > 0);
    const struct log_moment *now = &log->moments[log->moment_count - 1];
    uint64_t all = now->sizes[0] + now->sizes[1], left = all > tail ? all - tail : 0;
    for (; left > 0 && log->moment < log->moment_count; log->moment++)
        for (unsigned i = 0; i < 2; i++) {
            uint64_t part = log->moments[log->moment].sizes[i] - log->sources[i].offset;
            uint64_t skipped = part < left ? part : left;
            log->sources[i].offset += skipped;
            left -= skipped;
            if (left == 0)
                return;
        }
}

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

static bool has_objects(const struct log_stream *log) {
    return log->format == OP_LOG_ENTRIES || log->format == OP_LOG_PIECES;
}

/* JSON strings end at NULs: they become their sign. */
static void put_piece(const struct log_source *source, const char *bytes, size_t size,
                      struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct json_writer w;
    for (size_t at = 0; at < size; at++) {
        size_t part = strnlen(bytes + at, size - at);
        strbuf_add(&text, bytes + at, part);
        at += part;
        if (at < size)
            strbuf_puts(&text, "\xe2\x90\x80");
    }
    json_write_init(&w, out, false);
    json_write_pack(&w, "{s:s, s:I, s:s}", "stream", source->stream, "offset",
                    (int64_t)source->offset, "text", strbuf_text(&text));
    strbuf_putc(out, '\n');
}

/* An empty chunk ends the answer, so a transcript that prints nothing sends none. */
static void send_bytes(struct log_stream *log, const struct log_source *source, const char *bytes,
                       size_t size) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!source->transcript && !has_objects(log)) {
        exchange_send(log->exchange, bytes, size);
        return;
    }
    if (source->transcript)
        transcript_feed(source->transcript, bytes, size, &text);
    else
        put_piece(source, bytes, size, &text);
    log->quiet = text.length > 0 ? 0 : log->quiet + 1;
    if (text.length > 0)
        exchange_send(log->exchange, strbuf_text(&text), text.length);
}

static void send_cut(struct log_stream *log, struct log_source *source) {
    char line[80];
    int length =
        snprintf(line, sizeof(line), "\n[... %" PRIu64 " bytes were cut here ...]\n", source->cut);
    send_bytes(log, source, line, (size_t)length);
    source->cut = 0;
}

/* Bytes at the end that are the beginning of a character. */
static size_t begun_character(const char *bytes, size_t size) {
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = (unsigned char)bytes[size - back];
        size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        if (c < 0x80 || c >= 0xc0)
            return wanted > back ? back : 0;
    }
    return 0;
}

/* Reads one piece of the span. 0: it must grow first; <0: an error. */
static int read_piece(struct log_stream *log, struct log_source *source, const struct span *span) {
    struct server *server = log->exchange->connection->server;
    uint64_t left = span->end - span->begin;
    const struct redact_range range = { (off_t)span->begin, left < PIECE ? (size_t)left : PIECE,
                                        log->grows, !log->follow };
    const char *buffer;
    ssize_t n = engine_read_log(server->engine, source->fd, &range, log_space, &buffer);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    size_t begin = 0, end = (size_t)n;
    size_t begun = has_objects(log) && !source->transcript && (log->grows || (uint64_t)n < left)
                       ? begun_character(buffer, end)
                       : 0;
    if (begun == end && log->grows)
        return 0;
    end -= begun < end ? begun : 0;
    source->offset = span->begin + end;
    while (source->after_hole && begin < end && buffer[begin] == '\0')
        begin++;
    source->after_hole &= begin == end;
    size_t before = end;
    while (span->hole_follows && source->offset == span->end && end > begin
           && buffer[end - 1] == '\0')
        end--;
    source->cut += begin;
    if (end > begin) {
        if (source->cut > 0)
            send_cut(log, source);
        send_bytes(log, source, buffer + begin, end - begin);
    }
    source->cut += before - end;
    return 1;
}

static enum stream_state log_end(struct log_stream *log) {
    for (unsigned i = 0; i < log->source_count; i++)
        if (log->sources[i].cut > 0)
            send_cut(log, &log->sources[i]);
    if (log->broken)
        return STREAM_BROKEN;
    if (log->follow)
        return STREAM_WAITS;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (log->sources[0].transcript)
        transcript_end(log->sources[0].transcript, &text);
    if (text.length > 0)
        exchange_send(log->exchange, strbuf_text(&text), text.length);
    exchange_send(log->exchange, "", 0);
    return STREAM_ENDED;
}

/* Opens the file as soon as it exists. */
static bool source_is_open(struct log_stream *log, struct log_source *source) {
    struct server *server = log->exchange->connection->server;
    if (source->fd >= 0)
        return true;
    source->fd = outside_open(AT_FDCWD, source->path, O_RDONLY, NULL, NULL);
    if (source->fd < 0)
        return false;
    log_watch_remove(server, source); /* of the folder */
    if (log->follow)
        log_watch_add(server, log, source);
    return true;
}

/* Reads up to this offset. 0: it must grow first, or the offset is reached; <0: an error. */
static int read_up_to(struct log_stream *log, struct log_source *source, uint64_t limit) {
    if (source->offset >= limit || !source_is_open(log, source))
        return 0;
    struct span span = find_data(source->fd, source->offset);
    if (span.begin > limit)
        span.begin = span.end = limit;
    if (span.end > limit) {
        span.end = limit;
        span.hole_follows = false;
    }
    if (span.begin > source->offset) {
        source->cut += span.begin - source->offset;
        source->after_hole = true;
        source->offset = span.begin;
    }
    return span.begin == span.end ? 0 : read_piece(log, source, &span);
}

/* Up to the moment at which the request came in their order; then what is new, errors first: there
 * are few of them, even while the output floods. */
static int read_next(struct log_stream *log) {
    int r = 0;
    for (; r == 0 && log->moment < log->moment_count; log->moment += r == 0)
        for (unsigned i = 0; r == 0 && i < log->source_count; i++)
            r = read_up_to(log, &log->sources[i], log->moments[log->moment].sizes[i]);
    for (unsigned i = log->source_count; r == 0 && i-- > 0;)
        r = read_up_to(log, &log->sources[i], UINT64_MAX);
    return r;
}

static enum stream_state log_fill(struct stream *stream) {
    struct log_stream *log = (struct log_stream *)stream;
    int r = read_next(log);
    if (r <= 0)
        return r < 0 ? STREAM_BROKEN : log_end(log);
    /* A client that is sent nothing gives no back pressure; other clients get their turn. */
    return log->quiet > 0 && log->quiet % QUIET_PIECES == 0 ? STREAM_PAUSES : STREAM_GOES_ON;
}

/* --- life ------------------------------------------------------------------------------------ */

static void log_free(struct stream *stream) {
    struct log_stream *log = (struct log_stream *)stream;
    struct server *server = log->exchange->connection->server;
    for (unsigned i = 0; i < log->source_count; i++)
        log_watch_remove(server, &log->sources[i]);
    LIST_REMOVE(server->log_streams, log);
    server->stats.log_streams--;
    for (unsigned i = 0; i < log->source_count; i++) {
        fd_closep(&log->sources[i].fd);
        transcript_free(log->sources[i].transcript);
        free(log->sources[i].path);
    }
    free(log->moments);
    free(log);
}

static void add_source(struct log_stream *log, const char *stream, const char *path,
                       uint64_t offset) {
    log->sources[log->source_count++] = (struct log_source){
        .stream = stream, .path = xstrdup(path), .fd = -1, .watch = -1, .offset = offset
    };
}

/* The name of the stream is that of its file. */
static void add_sources(struct log_stream *log, const struct op_call *call) {
    static const char *const streams[] = { "err", "check", "prepare" };
    const char *path = call->log.path, *name = strrchr(path, '/'), *stream = "out";
    name = name ? name + 1 : path;
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
        if (strncmp(name, streams[i], strlen(streams[i])) == 0)
            stream = streams[i];
    add_source(log, stream, path, call->log.offset);
    if (!call->log.order)
        return;
    _cleanup_(freep) char *errors = xasprintf("%.*serr.log", (int)(name - path), path);
    add_source(log, "err", errors, call->log.err_offset);
}

static struct log_stream *log_new(struct exchange *exchange, struct op_call *call) {
    struct server *server = exchange->connection->server;
    struct log_stream *log = xcalloc(1, sizeof(*log));
    log->stream = (struct stream){ log_fill, log_free };
    log->exchange = exchange;
    log->task = call->log.task;
    log->attempt = call->log.attempt;
    log->format = call->log.format;
    add_sources(log, call);
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
    struct log_source *source = &log->sources[0];
    bool has_entries = log->format == OP_LOG_ENTRIES;
    char before = '\n';
    if ((!has_entries && log->format != OP_LOG_TEXT) || !call->log.adapter)
        return;
    source->transcript = transcript_new(agent_adapter_find(call->log.adapter),
                                        has_entries ? TRANSCRIPT_ENTRIES : TRANSCRIPT_PLAIN);
    if (source->transcript && source->fd >= 0 && source->offset > 0
        && pread(source->fd, &before, 1, (off_t)source->offset - 1) == 1 && before != '\n')
        transcript_skip(source->transcript, &none);
}

/* A run that is about to start has no file yet; one that ended without output has an empty log. */
static int open_sources(struct log_stream *log, struct error *err) {
    for (unsigned i = 0; i < log->source_count; i++) {
        struct log_source *source = &log->sources[i];
        source->fd = outside_open(AT_FDCWD, source->path, O_RDONLY, NULL, err);
        if (source->fd < 0 && source->fd != -ENOENT)
            return source->fd;
    }
    return 0;
}

static const char *type_of(const struct log_stream *log) {
    return has_objects(log)             ? "application/x-ndjson"
           : log->sources[0].transcript ? "text/plain; charset=utf-8"
                                        : "application/octet-stream";
}

static void begin_answer(struct log_stream *log, const struct op_call *call) {
    char headers[320], of_errors[64] = "";
    const char *adapter = call->log.adapter;
    if (log->source_count > 1)
        (void)snprintf(of_errors, sizeof(of_errors), "X-Sluice-Err-Offset: %" PRIu64 "\r\n",
                       log->sources[1].offset);
    (void)snprintf(headers, sizeof(headers),
                   "X-Sluice-Attempt: %" PRIu32 "\r\nX-Sluice-Offset: %" PRIu64 "\r\n%s%s%s%s"
                   /* Browsers must not render what an agent has printed. */
                   "Content-Disposition: attachment\r\n"
                   "Content-Security-Policy: sandbox; default-src 'none'\r\n",
                   log->attempt, log->sources[0].offset, of_errors,
                   adapter ? "X-Sluice-Adapter: " : "", adapter ? adapter : "",
                   adapter ? "\r\n" : "");
    exchange_begin_stream(log->exchange, type_of(log), headers, &log->stream);
}

void log_begin(struct exchange *exchange, struct op_call *call) {
    struct log_stream *log = log_new(exchange, call);
    struct error err = { 0 };
    if (open_sources(log, &err) < 0) {
        log_free(&log->stream);
        exchange_fail(exchange, 500, "internal", err.text);
        return;
    }
    for (unsigned i = 0; log->follow && i < log->source_count; i++)
        log_watch_add(exchange->connection->server, log, &log->sources[i]);
    if (call->op->answer == OP_ANSWER_FILE) {
        exchange_begin_stream(exchange, "application/json", NULL, &log->stream);
        return;
    }
    if (log->source_count > 1) {
        read_order(log, call->log.order);
        if (call->log.tail > 0)
            skip_all_but(log, call->log.tail);
    }
    begin_transcript(log, call);
    begin_answer(log, call);
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
