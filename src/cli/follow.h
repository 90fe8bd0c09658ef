/* follow.h: one task while it runs: its logs as they are written, and news about it.
 *
 *     struct follow f; follow_init(&f, id); f.logs[0] = …; f.log_count = 1;
 *     r = follow_connect(&f, &err);
 *     while (r >= 0) {
 *         … look at the task; follow_attempt(&f, n, &err) opens its logs …
 *         r = follow_wait(&f, &err);
 *     }
 *     follow_finish(&f);
 *
 * A daemon that goes away does not end it: follow_wait waits until one answers again (a run outlives
 * the daemon) and goes on with the next byte. Nothing is lost: news that came meanwhile count as
 * news. A daemon that died is started again; one that was stopped on purpose is waited for. */
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

/* One log of one run, on its way to the standard output or error.
 *
 *     struct log_stream log = { .task = id, .attempt = 2, .name = "out", .to = stdout };
 *     log_stream_begin → poll log_stream_fd → log_stream_pump … → log_stream_finish
 *
 * The stream knows how far it came. After it broke, log_stream_begin goes on with the next byte.
 *
 * Of an agent that prints events, `text` shows the transcript (agent/transcript.h) instead: the daemon names
 * the adapter. Offsets are those of the log. */
struct log_stream {
    const char *task; /* its id; borrowed */
    uint32_t attempt; /* 0: the last one, which begin fills in */
    const char *name; /* "out", "err", "check" or "prepare" */
    FILE *to;         /* NULL: into `kept` */
    bool raw;         /* as it is; else made safe for a terminal */
    bool text;        /* events of agents as a transcript, also when `raw` */
    bool follow;      /* until the run has ended */
    uint64_t offset;  /* of the next byte */
    uint64_t tail;    /* begin this many bytes before the end; 0: at `offset` */
    uint64_t leave;   /* lines to leave out at the beginning of a transcript */
    bool only_counts; /* prints nothing */

    /* The stream's own. */
    struct client *client; /* NULL: not begun, or over */
    struct sanitizer sanitizer;
    struct transcript *transcript; /* NULL: the log is shown as it is */
    struct strbuf kept;
    uint64_t received, lines; /* bytes of the log; lines of its transcript */
};

/* 0; -ENODATA: there is no such log; what client_is_absent knows: no daemon; -EIO: refused. The bytes
 * come with log_stream_pump; call it once before the first poll. */
int log_stream_begin(struct log_stream *log, struct error *err);
bool log_stream_is_open(const struct log_stream *log);
int log_stream_fd(const struct log_stream *log);
/* 1: goes on. 0: over, everything was written. <0: it broke. */
int log_stream_pump(struct log_stream *log, struct error *err);
/* From the beginning, of the run that is set then. */
void log_stream_restart(struct log_stream *log);
/* Pumps until it is over. 0, or <0. */
int log_stream_drain(struct log_stream *log, struct error *err);
void log_stream_close(struct log_stream *log);  /* keeps the offset */
void log_stream_finish(struct log_stream *log); /* safe on a zeroed one */

/* --- following ----------------------------------------------------------------------------------- */

#define FOLLOW_LOGS_MAX 2

/* What follow_wait saw. */
enum {
    FOLLOW_NEWS = 1u << 0,   /* something happened to the task: look at it */
    FOLLOW_ENDED = 1u << 1,  /* the logs of this attempt are over */
    FOLLOW_SIGNAL = 1u << 2, /* `signal` has one to read */
    FOLLOW_UNREAD = 1u << 3, /* the reader of `reader_fd` has closed it */
};

struct follow {
    const char *task;                        /* its id; borrowed */
    struct log_stream logs[FOLLOW_LOGS_MAX]; /* name, to and raw are the caller's */
    size_t log_count;
    int signal_fd;    /* watched too; -1: none */
    int reader_fd;    /* its other end is watched too; -1: none */
    uint32_t attempt; /* whose logs are followed; 0: none yet */

    /* Its own. */
    struct client *events; /* NULL: not connected */
    bool news, logs_open;
};

void follow_init(struct follow *f, const char *task);
void follow_finish(struct follow *f);

/* From now on news are seen. Ask for the task after this, not before. */
int follow_connect(struct follow *f, struct error *err);
/* Opens the logs of an attempt from their beginning. */
int follow_attempt(struct follow *f, uint32_t attempt, struct error *err);
/* Are there logs that have not come to their end? */
bool follow_has_logs(const struct follow *f);
/* Waits for anything. The bits above, or <0: nothing more can be done. */
int follow_wait(struct follow *f, struct error *err);
