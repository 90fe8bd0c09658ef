/* server.h: HTTP/1.1 on a Unix socket and over TCP, answered by the operations table.
 *
 * Life:      server_new → server_listen_unix, server_listen_tcp → the loop runs →
 *            server_stop_accepting → server_free, before the engine and the loop are freed.
 * Clients:   the owner of the daemon and root; other users get 403. Runs have their own socket
 *            (server_listen_runs) and rights (op.h: reach). TCP clients have a token, with the
 *            rights of its scope.
 * Requests:  are read, checked (guard.h), routed (op_route), validated (op_check), and queued for
 *            the engine's next turn. Answers are sent in request order, after the
 *            commit. If a client disconnects, its request still completes.
 * Streams:   events (text/event-stream) and logs (chunks). They need server_publish for every
 *            committed event, in order, and server_run_ended for every committed end of a run.
 * Bounds:    every size, count and time is limited; no client can make the daemon wait or grow.
 *            Without connections there is no timer: an idle daemon sleeps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/time_ms.h"
#include "core/model.h"

struct engine;
struct event_row;
struct loop;
struct server;

enum server_peer {
    SERVER_PEER_OWNER,
    SERVER_PEER_RUN,     /* a process of a run */
    SERVER_PEER_UNKNOWN, /* it has ended, or is not visible from here */
};

/* Answers of a daemon without an engine: another daemon is active, and this one is its standby.
 * Over TCP no client can be identified without a store, so only that is revealed there. */
struct server_standby {
    const char *status;  /* JSON: the answer to /healthz and /v1/daemon */
    const char *message; /* the error message for all other requests */
    const char *active;  /* JSON: a list of the addresses of the active daemon */
};

/* 0: the default in the comment. */
struct server_options {
    unsigned connections_max; /* 256; one more gets 503 */
    unsigned streams_max;     /* 64 streams of events; one more gets 503 */
    time_ms head_timeout;     /* 10 s from the first byte of a request to the end of its head */
    time_ms body_timeout;     /* 30 s for a body, and a second more for every KiB that came */
    time_ms idle_timeout;     /* 60 s between requests */
    time_ms write_timeout;    /* 60 s without the client reading a byte of an answer */
    time_ms linger_timeout;   /* 2 s for a refused client to read the reason */
    time_ms comment_every;    /* 15 s of silence in a stream of events */
    time_ms refusal_delay;    /* 1 s for a wrong token over TCP, from the 11th in a minute */
    unsigned peer_max;        /* 64 connections of one address over TCP; one more gets 503 */
    time_ms accept_pause;     /* 1 s, when file descriptors run out */
    size_t body_max;          /* 1 MiB; POST /v1/tasks: bulk_body_max */
    size_t bulk_body_max;     /* 16 MiB */
    size_t bodies_max;        /* 256 MiB of bodies at once, over all connections; then 503 */
    size_t queue_max;         /* 1 MiB of unsent events, then the stream is dropped */
    const char *web_dir;      /* directory of the dashboard's files; NULL: built in. Not copied */
    /* A client requested the daemon to stop, and its answer is being sent. Called inside the loop;
     * may call server_stop_accepting, not server_free. Or NULL. */
    void (*stop_asked)(void *ctx);
    /* Called when a client connects to the owner's socket, and again at its next request if
     * `identities` has changed. Only SERVER_PEER_OWNER is served there. NULL: every client is the
     * owner. */
    enum server_peer (*identify)(void *ctx, pid_t pid);
    uint64_t (*identities)(void *ctx); /* with `identify` */
    void (*standby)(void *ctx, struct server_standby *ret);
    void *ctx;
};

/* `options` may be NULL. So may `engine`: the server is a standby (docs/guide/high-availability.md)
 * until it gets one. Connections at the owner's socket then end: a standby had accepted them. */
struct server *server_new(struct loop *loop, struct engine *engine,
                          const struct server_options *options);
void server_set_engine(struct server *server, struct engine *engine);
/* Connections and streams of events at once, from now on; open ones stay. */
void server_set_limits(struct server *server, unsigned connections, unsigned streams);
struct server *server_free(struct server *server); /* accepts NULL, returns NULL */

/* Creates the folder (0700) if it is missing, and the socket (0600). An existing socket belongs to
 * a dead daemon and is removed: the caller holds the lock of the data folder. Refused: a path of
 * more than 107 bytes (-ENAMETOOLONG), a folder that others may write to (-EPERM), anything at the
 * path that is not a socket (-EEXIST). */
int server_listen_unix(struct server *server, const char *path, struct error *err);
/* The same for runs: every request needs a run's token. */
int server_listen_runs(struct server *server, const char *path, struct error *err);

/* TCP listener for clients with a token (engine/access.h) and for the dashboard. One address at a
 * time: the old listener and its connections end when the new one is open. An error changes
 * nothing: an invalid address, one that is not loopback without TLS (-EPERM), and what the kernel
 * or TLS refuses. */
struct server_tcp {
    const char *address;      /* "127.0.0.1:7878"; port 0: any free one */
    const char *const *hosts; /* additional host names, ends with NULL; or NULL */
    /* PEM files. certificate "": no TLS; key "": in the certificate file. */
    const char *certificate, *key;
};
int server_listen_tcp(struct server *server, const struct server_tcp *tcp, struct error *err);
/* Closes the TCP listener and its connections; a no-op without one. */
void server_close_tcp(struct server *server);
/* "http://127.0.0.1:7878"; NULL: there is no TCP listener. */
const char *server_url(const struct server *server);
/* The token was revoked or expired (token.ended): closes its connections. */
void server_access_ended(struct server *server, const char *id);

/* Accepts no new connections, removes the socket, closes idle connections and endless streams; the
 * others end with their answer. Wait for server_is_idle, with a timeout. */
void server_stop_accepting(struct server *server);
bool server_is_idle(const struct server *server);

/* For engine_set_publisher: a committed event. Nearly free without streams. */
void server_publish(struct server *server, const struct event_row *event);
/* The end of a run is committed: followers of its logs get the rest and end. */
void server_run_ended(struct server *server, task_id task, uint32_t attempt);

struct server_stats {
    size_t connections, event_streams, log_streams; /* now */
    uint64_t accepted, refused;            /* connections; refused: too many or not allowed */
    uint64_t requests;                     /* answered or refused */
    uint64_t client_errors, server_errors; /* answers 4xx and 5xx */
    uint64_t timeouts, dropped_slow;
};
void server_stats(const struct server *server, struct server_stats *ret);
