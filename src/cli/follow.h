/* follow.h: follows a running task: its logs as they are written, and its events.
 *
 *     struct follow f; follow_init(&f, id); f.logs[0] = …; f.log_count = 1;
 *     r = follow_connect(&f, &err);
 *     while (r >= 0) {
 *         … read the task; follow_attempt(&f, n, &err) opens its logs …
 *         r = follow_wait(&f, &err);
 *     }
 *     follow_finish(&f);
 *
 * A daemon restart does not end it: follow_wait waits until a daemon answers (a run outlives it)
 * and continues with the next byte. Events in between are not lost. A daemon that died is
 * restarted; for one that was stopped on purpose, it waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/transcript.h"
#include "base/error.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/client.h"

/* Streams one log of one run to standard output or error.
 *
 *     struct log_stream log = { .task = id, .attempt = 2, .name = "out", .to = stdout };
 *     log_stream_begin → poll log_stream_fd → log_stream_pump … → log_stream_finish
 *
 * The stream knows its offset. After it broke, log_stream_begin continues with the next byte.
 *
 * For agents that print events, `text` shows the transcript (agent/transcript.h): the daemon names
 * the adapter. Offsets refer to the log. */
struct log_stream {
    const char *task;   /* its id; borrowed */
    uint32_t attempt;   /* 0: the latest, which begin fills in */
    const char *name;   /* "out", "err", "check" or "prepare" */
    FILE *to;           /* NULL: into `kept` */
    bool raw;           /* unchanged; else sanitized for a terminal */
    bool text;          /* agent events as a transcript, even if `raw` */
    bool follow;        /* until the run has ended */
    uint64_t offset;    /* of the next byte */
    uint64_t tail;      /* start this many bytes before the end; 0: at `offset` */
    uint64_t leave;     /* lines to skip at the start of a transcript */
    bool only_counts;   /* prints nothing */
    const char *prefix; /* before each line, which is written when it is complete; or NULL */
    char last;          /* the last byte that was written to `to` */

    /* Private: */
    struct client *client; /* NULL: not begun, or ended */
    struct sanitizer sanitizer;
    struct transcript *transcript; /* NULL: the log is shown unchanged */
    struct strbuf kept;
    uint64_t received, lines; /* bytes of the log; lines of its transcript */
};

/* 0; -ENODATA: no such log; an error of client_is_absent: no daemon; -EIO: refused. log_stream_pump
 * reads the bytes; call it once before the first poll. */
int log_stream_begin(struct log_stream *log, struct error *err);
bool log_stream_is_open(const struct log_stream *log);
int log_stream_fd(const struct log_stream *log);
/* 1: continues. 0: ended, everything was written. <0: it broke. */
int log_stream_pump(struct log_stream *log, struct error *err);
/* From the beginning of the run that is set then. */
void log_stream_restart(struct log_stream *log);
/* Pumps until the end. 0, or <0. */
int log_stream_drain(struct log_stream *log, struct error *err);
void log_stream_close(struct log_stream *log);  /* keeps the offset */
void log_stream_finish(struct log_stream *log); /* safe on a zeroed struct */

/* --- events ----------------------------------------------------------------------------------- */

/* Connects *events, which may be open, to the daemon's new events: each sets *news. `timeout` of an
 * answer; 0: the default. On failure *events is NULL. */
int follow_open_events(struct client **events, const char *path, time_ms timeout, bool *news,
                       struct error *err);
/* The client_each that sets the bool at `ctx`. */
int follow_note_event(void *ctx, const struct client_event *event);

/* --- following -------------------------------------------------------------------------------- */

#define FOLLOW_LOGS_MAX 32

/* Results of follow_wait. */
enum {
    FOLLOW_NEWS = 1u << 0,   /* the task changed: read it */
    FOLLOW_ENDED = 1u << 1,  /* the logs of this attempt have ended */
    FOLLOW_SIGNAL = 1u << 2, /* `signal_fd` is readable */
    FOLLOW_UNREAD = 1u << 3, /* the reader of `reader_fd` has closed it */
    FOLLOW_CLOSED = 1u << 4, /* at least one log has ended */
};

struct follow {
    const char *task;                        /* its id; borrowed. NULL: events of all tasks */
    struct log_stream logs[FOLLOW_LOGS_MAX]; /* the caller sets name, to and raw */
    size_t log_count;                        /* one without a task is not in use */
    int signal_fd;                           /* also watched; -1: none */
    int reader_fd;    /* closing of its other end is also watched; -1: none */
    uint32_t attempt; /* whose logs are followed; 0: none yet */

    /* Private: */
    struct client *events; /* NULL: not connected */
    bool news, logs_open;
};

void follow_init(struct follow *f, const char *task);
void follow_finish(struct follow *f);

/* Subscribes to events. Read the task after this, not before. */
int follow_connect(struct follow *f, struct error *err);
/* Opens the logs of an attempt from their start. */
int follow_attempt(struct follow *f, uint32_t attempt, struct error *err);
/* Opens the log that the caller has prepared. -ENODATA: it does not exist. If the daemon is shutting
 * down, follow_wait opens it. */
int follow_open_log(struct follow *f, struct log_stream *log, struct error *err);
bool follow_has_logs(const struct follow *f);
/* Waits for any event. Returns the bits above, or <0 on a permanent failure. */
int follow_wait(struct follow *f, struct error *err);
