/* listener.h: a socket that clients connect to. Private to api/.
 *
 * A Unix socket gets its mode before its name: between bind and chmod any user could connect. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/guard.h"
#include "api/tls.h"
#include "base/error.h"
#include "base/time_ms.h"
#include "os/loop.h"
#include "os/tcp.h"

struct server;

#define TCP_FAILURES_MAX    10u /* per peer in TCP_WINDOW; further refusals are delayed */
#define TCP_FAILURES_WINDOW MINUTES(1)
#define TCP_PEERS_MAX       64u /* with counted failures; then the oldest is dropped */

struct tcp_names {
    char **items; /* NULL-terminated */
    size_t count, capacity;
};

struct tcp_failures {
    struct in6_addr address;
    time_ms since; /* of the first of `failures` */
    unsigned failures;
};

/* Every local user, every web page open on the machine and, with TLS, every host of the network can
 * connect. So every request of every method passes guard.h with fixed lists of hosts and origins,
 * and then needs a token; requests without a token reveal nothing about the queue. */
struct tcp_guard {
    struct guard guard;
    struct tcp_names hosts, origins;
    struct tls_server *tls; /* NULL: none */
    char *url;              /* "https://127.0.0.1:7878" */
    struct tcp_failures peers[TCP_PEERS_MAX];
};

/* A client at this address sent a wrong token. True: too often; its answer is delayed. */
bool tcp_guard_failed(struct tcp_guard *guard, const struct tcp_address *peer, time_ms now);

struct listener {
    struct server *server;
    struct loop *loop;
    bool of_runs; /* clients need the token of a run */
    int fd;       /* -1: not listening */
    struct loop_watch *watch;
    struct loop_timer *timer; /* set while accepting pauses */
    struct tcp_guard *tcp;    /* over TCP; else NULL */
    char *path;               /* NULL: over TCP */
    uint64_t device, inode;   /* of the socket we bound: no other is removed */
};

/* See server_listen_unix. `ready` is called with the listener when a client waits. */
int listener_open(struct listener *listener, const char *path, loop_ready ready, struct error *err);
void listener_pause(struct listener *listener, time_ms span);
/* Stops accepting, and removes the socket. */
void listener_stop(struct listener *listener);
void listener_finish(struct listener *listener);
