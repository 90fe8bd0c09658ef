/* top_daemon.h: what `sluice top` asks the daemon, and how it hears of news.
 *
 *     struct top_daemon d = { 0 };
 *     if (top_daemon_open(&d, &err) < 0) …        // once: there must be one at the beginning
 *     … poll top_daemon_events_fd, top_daemon_log_fd … top_daemon_listen(&d, top, ready) …
 *     top_daemon_refresh(&d, top); top_daemon_load(&d, top); top_daemon_do(&d, top);
 *     top_daemon_close(&d);
 *
 * Nothing here ends the program: when the daemon does not answer, top->away says so and everything
 * stays on the screen until top_daemon_listen has found one again. */
#pragma once

#include "base/error.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/log_stream.h"
#include "cli/top.h"

struct top_daemon {
    struct ask ask;
    struct client *events; /* NULL: not connected */
    struct log_stream log;
    bool log_open;   /* somebody looks at a log */
    bool news;       /* something has happened since the last refresh */
    time_ms heard;   /* steady: when the stream of events said anything */
    time_ms tried;   /* steady: when an absent daemon was looked for */
    time_ms asked;   /* steady: the last refresh */
    time_ms lasting; /* how long that took */
};

/* As daemon_connect, without starting one. */
int top_daemon_open(struct top_daemon *d, struct error *err);
void top_daemon_close(struct top_daemon *d);

/* -1: there is no such connection right now. */
int top_daemon_events_fd(const struct top_daemon *d);
int top_daemon_log_fd(const struct top_daemon *d);

/* Takes what has come. `ready`: the stream of events had something. */
void top_daemon_listen(struct top_daemon *d, struct top *top, bool ready);
/* Bytes of the log. True: something came, or it ended. */
bool top_daemon_pump_log(struct top_daemon *d, struct top *top);

/* How long nothing has to be done, from now on; 0: refresh. */
time_ms top_daemon_pause(const struct top_daemon *d, const struct top *top, time_ms steady);
/* Asks for the state of everything, and for the details that are seen; lists become stale. */
void top_daemon_refresh(struct top_daemon *d, struct top *top);
/* Loads one page, if one is wanted. True: it did. */
bool top_daemon_load(struct top_daemon *d, struct top *top);
/* Carries top->wish out. */
void top_daemon_do(struct top_daemon *d, struct top *top);

/* For --json: status, and the first page of each list. Returns a new object, or NULL. */
json_t *top_daemon_all(struct top_daemon *d, struct top *top);
