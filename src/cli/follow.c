/* follow.c: see follow.h.
 *
 * One loop over all connections. The daemon resets its streams when it stops and ends them properly
 * when the run has ended, so the two can be distinguished. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cli/daemon.h"
#include "cli/follow.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/terminal.h"

#define LINE_MAX_BYTES 65536u /* a longer line is written in parts */

static void write_line(struct log_stream *log, const char *line, size_t size) {
    (void)fputs(log->prefix, log->to);
    (void)!fwrite(line, 1, size, log->to);
    (void)putc('\n', log->to);
    (void)fflush(log->to);
}

/* Lines of several logs must not be mixed. */
static void write_prefixed(struct log_stream *log, const char *bytes, size_t size) {
    strbuf_add(&log->kept, bytes, size);
    const char *at = strbuf_text(&log->kept), *end = at + log->kept.length, *stop;
    for (; (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
        write_line(log, at, (size_t)(stop - at));
    size_t left = (size_t)(end - at);
    if (left >= LINE_MAX_BYTES) {
        write_line(log, at, left);
        left = 0;
    }
    memmove(log->kept.text, end - left, left);
    strbuf_cut(&log->kept, left);
}

static void write_out(struct log_stream *log, const char *bytes, size_t size) {
    if (log->only_counts || size == 0)
        return;
    if (!log->to) {
        strbuf_add(&log->kept, bytes, size);
        return;
    }
    if (log->prefix) {
        write_prefixed(log, bytes, size);
        return;
    }
    /* A failed write to stdout is reported at exit (output.h); to stderr it is ignored. */
    (void)!fwrite(bytes, 1, size, log->to);
    log->last = bytes[size - 1];
    (void)fflush(log->to);
}

/* Counts lines and skips the first `leave`. */
static void write_transcript(struct log_stream *log, const struct strbuf *text) {
    const char *at = strbuf_text(text), *end = at + text->length, *shown = at;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (++log->lines <= log->leave)
            shown = at;
    }
    if (log->lines >= log->leave)
        write_out(log, shown, (size_t)(end - shown));
}

static int bytes_came(void *ctx, const char *bytes, size_t size) {
    struct log_stream *log = ctx;
    log->offset += size;
    log->received += size;
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    if (log->transcript) {
        transcript_feed(log->transcript, bytes, size, &safe);
        write_transcript(log, &safe);
    } else if (log->raw) {
        write_out(log, bytes, size);
    } else {
        sanitizer_feed(&log->sanitizer, bytes, size, &safe);
        write_out(log, strbuf_text(&safe), safe.length);
    }
    return 0;
}

static uint64_t header_number(const struct client *client, const char *name, uint64_t otherwise) {
    const char *text = client_header(client, name);
    int64_t number;
    return text && number_parse_int(text, &number, NULL) == 0 && number >= 0 ? (uint64_t)number
                                                                             : otherwise;
}

static void build_path(const struct log_stream *log, struct strbuf *path) {
    request_path(path, "/v1/tasks/", log->task, "/log?stream=");
    strbuf_puts(path, log->name);
    if (log->attempt > 0)
        strbuf_printf(path, "&attempt=%" PRIu32, log->attempt);
    if (log->tail > 0)
        strbuf_printf(path, "&tail=%" PRIu64, log->tail);
    else if (log->offset > 0)
        strbuf_printf(path, "&offset=%" PRIu64, log->offset);
    if (log->follow)
        strbuf_puts(path, "&follow=true");
}

/* A stream that does not start at byte 0 starts inside a line: an event without its beginning is
 * useless. A reconnected stream continues where it was. */
static void begin_transcript(struct log_stream *log) {
    _cleanup_(strbuf_finish) struct strbuf none = STRBUF_INIT;
    const char *name = client_header(log->client, "X-Sluice-Adapter");
    bool colour = log->to && terminal_has_colour(log->to);
    if (!log->text || !name || log->transcript || log->received > 0)
        return;
    log->transcript =
        transcript_new(agent_adapter_find(name), colour ? TRANSCRIPT_COLOUR : TRANSCRIPT_PLAIN);
    if (log->transcript && log->offset > 0)
        transcript_skip(log->transcript, &none);
}

int log_stream_begin(struct log_stream *log, struct error *err) {
    log_stream_close(log);
    int r = daemon_connect(false, &log->client, err);
    if (r < 0)
        return r;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    build_path(log, &path);
    int status = client_begin_bytes(log->client, strbuf_text(&path), bytes_came, log, err);
    if (status != 200) {
        log_stream_close(log);
        if (status < 0)
            return status;
        return status == 404 ? -ENODATA : -EIO;
    }
    log->offset = header_number(log->client, "X-Sluice-Offset", log->offset);
    log->attempt = (uint32_t)header_number(log->client, "X-Sluice-Attempt", log->attempt);
    log->tail = 0;
    begin_transcript(log);
    return 0;
}

bool log_stream_is_open(const struct log_stream *log) {
    return log->client;
}

int log_stream_fd(const struct log_stream *log) {
    return log->client ? client_fd(log->client) : -1;
}

int log_stream_pump(struct log_stream *log, struct error *err) {
    int r = client_pump(log->client, err);
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    if (r == 0 && log->transcript) {
        transcript_end(log->transcript, &safe);
        write_transcript(log, &safe);
    } else if (r == 0 && !log->raw) {
        sanitizer_finish(&log->sanitizer, &safe);
        write_out(log, strbuf_text(&safe), safe.length);
    }
    if (r == 0 && log->prefix && log->kept.length > 0)
        write_out(log, "\n", 1);
    if (r <= 0)
        log_stream_close(log);
    return r;
}

int log_stream_drain(struct log_stream *log, struct error *err) {
    for (;;) {
        int r = log_stream_pump(log, err);
        if (r <= 0)
            return r;
        struct pollfd fd = { .fd = log_stream_fd(log), .events = POLLIN };
        (void)poll(&fd, 1, -1);
    }
}

void log_stream_close(struct log_stream *log) {
    log->client = client_close(log->client);
}

void log_stream_restart(struct log_stream *log) {
    log_stream_close(log);
    log->transcript = transcript_free(log->transcript);
    log->sanitizer = (struct sanitizer)SANITIZER_INIT;
    log->offset = log->received = log->lines = 0;
}

void log_stream_finish(struct log_stream *log) {
    log_stream_close(log);
    log->transcript = transcript_free(log->transcript);
    strbuf_finish(&log->kept);
}

#define START_AFTER SECONDS(1) /* another process may be restarting a daemon that died */

void follow_init(struct follow *f, const char *task) {
    *f = (struct follow){ .task = task, .signal_fd = -1, .reader_fd = -1 };
}

void follow_finish(struct follow *f) {
    client_close(f->events);
    for (size_t i = 0; i < f->log_count; i++)
        log_stream_finish(&f->logs[i]);
}

int follow_note_event(void *ctx, const struct client_event *event) {
    (void)event;
    *(bool *)ctx = true;
    return 0;
}

int follow_open_events(struct client **events, const char *path, time_ms timeout, bool *news,
                       struct error *err) {
    *events = client_close(*events);
    int r = daemon_connect(false, events, err);
    if (r < 0)
        return r;
    if (timeout > 0)
        client_set_timeout(*events, timeout);
    int status =
        client_begin_events(*events, path, CLIENT_EVENTS_NEW, follow_note_event, news, err);
    if (status == 200)
        return 0;
    *events = client_close(*events);
    return status < 0 ? status : err->code < 0 ? err->code : -EIO;
}

int follow_connect(struct follow *f, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/events");
    client_query(&path, "task", f->task);
    return follow_open_events(&f->events, strbuf_text(&path), 0, &f->news, err);
}

/* --- logs ------------------------------------------------------------------------------------ */

/* Opens all logs at their offsets. A missing one counts as ended. */
static int open_logs(struct follow *f, struct error *err) {
    f->logs_open = true;
    for (size_t i = 0; i < f->log_count; i++) {
        int r = f->logs[i].task ? log_stream_begin(&f->logs[i], err) : 0;
        if (r < 0 && r != -ENODATA)
            return r;
    }
    return 0;
}

static int not_if_stopping(struct follow *f, int r) {
    if (!client_is_absent(r) && r != -ECONNRESET)
        return r;
    f->events = client_close(f->events); /* shutting down: follow_wait reconnects */
    return 0;
}

int follow_attempt(struct follow *f, uint32_t attempt, struct error *err) {
    for (size_t i = 0; i < f->log_count; i++) {
        struct log_stream *log = &f->logs[i];
        log->task = f->task;
        log->attempt = attempt;
        log->follow = true;
        log_stream_restart(log);
    }
    f->attempt = attempt;
    return not_if_stopping(f, open_logs(f, err));
}

int follow_open_log(struct follow *f, struct log_stream *log, struct error *err) {
    f->logs_open = true;
    return not_if_stopping(f, log_stream_begin(log, err));
}

bool follow_has_logs(const struct follow *f) {
    return f->logs_open;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Processes available data. <0: a connection broke. */
static int pump_all(struct follow *f, struct error *err) {
    int r = f->events ? client_pump(f->events, err) : -ECONNRESET;
    if (r <= 0)
        return r < 0 ? r : -ECONNRESET; /* events never end */
    for (size_t i = 0; i < f->log_count; i++)
        if (log_stream_is_open(&f->logs[i])) {
            r = log_stream_pump(&f->logs[i], err);
            if (r < 0)
                return r;
        }
    return 0;
}

/* Waits for a signal, a closed reader, or `timeout` ms. Returns FOLLOW_SIGNAL, FOLLOW_UNREAD. */
static int wait_signal(const struct follow *f, int timeout) {
    struct pollfd fds[] = {
        { .fd = f->signal_fd, .events = POLLIN },
        { .fd = f->reader_fd }, /* poll always reports errors and hang-ups */
    };
    if (poll(fds, ARRAY_SIZE(fds), timeout) <= 0)
        return 0;
    return (int)((fds[0].revents ? FOLLOW_SIGNAL : 0u) | (fds[1].revents ? FOLLOW_UNREAD : 0u));
}

/* Until a daemon answers. 1: interrupted by a signal, or the reader closed. */
static int reconnect(struct follow *f, struct error *err) {
    struct daemon_lost lost = { .since = clock_read_steady() };
    _cleanup_(freep) char *continues =
        f->task ? xasprintf("%s continues", f->task) : xstrdup("the tasks continue");
    for (;;) {
        int r = follow_connect(f, err);
        if (r >= 0 && f->logs_open)
            r = open_logs(f, err);
        if (r >= 0) {
            f->news = true;
            return 0;
        }
        if (!client_is_absent(r) && r != -ECONNRESET && r != -ESHUTDOWN)
            return r;
        time_ms passed = clock_read_steady() - lost.since;
        /* A stopped daemon removes its socket; one that died leaves it. */
        if (r == -ECONNREFUSED && passed >= START_AFTER && !daemon_has_peers()) {
            struct daemon_found found;
            r = daemon_start(&found, err);
            if (r < 0)
                return r;
            if (!found.already)
                cmd_warn("started the daemon (pid %d)", (int)found.pid);
            continue;
        }
        (void)daemon_lost_retry(&lost, continues);
        if (wait_signal(f, DAEMON_RETRY_MS))
            return 1;
    }
}

static void poll_all(const struct follow *f) {
    struct pollfd fds[FOLLOW_LOGS_MAX + 3] = {
        { .fd = client_fd(f->events), .events = POLLIN },
        { .fd = f->signal_fd, .events = POLLIN },
        { .fd = f->reader_fd },
    };
    for (size_t i = 0; i < f->log_count; i++)
        fds[3 + i] = (struct pollfd){ .fd = log_stream_fd(&f->logs[i]), .events = POLLIN };
    (void)poll(fds, 3 + f->log_count, -1);
}

static size_t count_open(const struct follow *f) {
    size_t count = 0;
    for (size_t i = 0; i < f->log_count; i++)
        count += log_stream_is_open(&f->logs[i]);
    return count;
}

int follow_wait(struct follow *f, struct error *err) {
    for (;;) {
        int seen = 0;
        size_t before = count_open(f);
        int r = pump_all(f, err);
        if (r < 0 && r != -EINTR) {
            r = reconnect(f, err);
            if (r < 0)
                return r;
        }
        seen |= wait_signal(f, 0);
        size_t open = count_open(f);
        if (open < before)
            seen |= FOLLOW_CLOSED;
        if (f->events && f->logs_open && open == 0) {
            f->logs_open = false;
            seen |= FOLLOW_ENDED;
        }
        if (f->news)
            seen |= FOLLOW_NEWS;
        f->news = false;
        if (seen)
            return seen;
        poll_all(f);
    }
}
