/* log_stream.h: one log of one run, on its way to the standard output or error.
 *
 *     struct log_stream log = { .task = id, .attempt = 2, .name = "out", .to = stdout };
 *     log_stream_begin → poll log_stream_fd → log_stream_pump … → log_stream_finish
 *
 * The stream knows how far it came. After it broke, log_stream_begin goes on with the next byte.
 *
 * Of an agent that prints events, `text` shows the transcript (agent/transcript.h) in their place: the daemon says
 * whose events they are. Offsets are those of the log. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/transcript.h"
#include "base/error.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "cli/client.h"

struct log_stream {
    const char *task; /* its id; borrowed */
    uint32_t attempt; /* 0: the last one; then begin says which */
    const char *name; /* "out", "err", "check" or "prepare" */
    FILE *to;         /* NULL: into `kept` */
    bool raw;         /* as it is; else made safe for a terminal */
    bool text;        /* events of agents as a transcript, also when `raw` */
    bool follow;      /* until the run has ended */
    uint64_t offset;  /* of the next byte */
    uint64_t tail;    /* begin with so many bytes before the end; 0: at `offset` */
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
void log_stream_close(struct log_stream *log);  /* keeps the place */
void log_stream_finish(struct log_stream *log); /* safe on a zeroed one */
