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
 * news. A daemon that died is started again; one that was stopped by somebody is waited for. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"
#include "cli/client.h"
#include "cli/log_stream.h"

#define FOLLOW_LOGS_MAX 2

/* What follow_wait saw. */
enum {
    FOLLOW_NEWS = 1u << 0,   /* something happened to the task: look at it */
    FOLLOW_ENDED = 1u << 1,  /* the logs of this attempt are over */
    FOLLOW_SIGNAL = 1u << 2, /* `signal` has one to read */
    FOLLOW_UNREAD = 1u << 3, /* nobody reads from `reader_fd` any more */
};

struct follow {
    const char *task;                        /* its id; borrowed */
    struct log_stream logs[FOLLOW_LOGS_MAX]; /* name, to and raw are the caller's */
    size_t log_count;
    int signal_fd;    /* watched too; -1: none */
    int reader_fd;    /* the other end of it is watched too; -1: nobody asks */
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
