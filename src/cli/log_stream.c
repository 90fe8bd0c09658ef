/* log_stream.c: see log_stream.h.
 *
 * Each piece is written and flushed when it comes: somebody watches. */
#include "cli/log_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/daemon.h"
#include "cli/output.h"
#include "os/terminal.h"

static void write_out(struct log_stream *log, const char *bytes, size_t size) {
    if (log->only_counts || size == 0)
        return;
    if (!log->to) {
        strbuf_add(&log->kept, bytes, size);
        return;
    }
    /* A failed write is told by the program's end (output.h); that of the standard error is not. */
    (void)!fwrite(bytes, 1, size, log->to);
    (void)fflush(log->to);
}

/* Counts the lines, and passes over the first `leave` of them. */
static void write_transcript(struct log_stream *log, const struct strbuf *text) {
    const char *at = strbuf_text(text), *end = at + text->length, *shown = at;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end)
            break;
        at = line_end + 1;
        log->lines++;
        if (log->lines <= log->leave)
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
        return 0;
    }
    if (log->raw) {
        write_out(log, bytes, size);
        return 0;
    }
    sanitizer_feed(&log->sanitizer, bytes, size, &safe);
    write_out(log, strbuf_text(&safe), safe.length);
    return 0;
}

static uint64_t header_number(const struct client *client, const char *name, uint64_t otherwise) {
    const char *text = client_header(client, name);
    int64_t number;
    return text && number_parse_int(text, &number, NULL) == 0 && number >= 0 ? (uint64_t)number
                                                                             : otherwise;
}

static void build_path(const struct log_stream *log, struct strbuf *path) {
    strbuf_puts(path, "/v1/tasks/");
    client_escape(path, log->task);
    strbuf_printf(path, "/log?stream=%s", log->name);
    if (log->attempt > 0)
        strbuf_printf(path, "&attempt=%" PRIu32, log->attempt);
    if (log->tail > 0)
        strbuf_printf(path, "&tail=%" PRIu64, log->tail);
    else if (log->offset > 0)
        strbuf_printf(path, "&offset=%" PRIu64, log->offset);
    if (log->follow)
        strbuf_puts(path, "&follow=true");
}

/* It begins inside a line, unless at the beginning: an event without its own says nothing. After a broken connection it
 * goes on with what is there. */
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
    if (r < 0) {
        log->client = NULL;
        return r;
    }
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
    if (log->client)
        client_end(log->client);
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
