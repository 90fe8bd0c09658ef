/* listener.h: a socket that clients come in through. Private to api/.
 *
 * That of Unix has its mode before it has its name: between bind and chmod anybody could
 * connect. */
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

#define TCP_FAILURES_MAX    10u /* of one peer in TCP_WINDOW; then every refusal is delayed */
#define TCP_FAILURES_WINDOW MINUTES(1)
#define TCP_PEERS_MAX       64u /* whose failures are counted; then the oldest is forgotten */

struct tcp_listener_names {
    char **items; /* NULL-terminated */
    size_t count, capacity;
};

struct tcp_listener_peer {
    struct in6_addr address;
    time_ms since; /* the first of `failures` */
    unsigned failures;
};

/* Every user of the machine, every web page that is open there, and with TLS every host of the
 * network can connect. So every request of every method passes guard.h with fixed lists of hosts
 * and origins, and then shows a token; what needs none reveals nothing of the queue. */
struct tcp_listener {
    struct guard guard;
    struct tcp_listener_names hosts, origins;
    struct tls_server *tls; /* NULL: none */
    char *url;              /* "https://127.0.0.1:7878" */
    struct tcp_listener_peer peers[TCP_PEERS_MAX];
};

/* A client at this address has shown a wrong token. True: too often, and its answer is delayed. */
bool tcp_listener_failed(struct tcp_listener *guard, const struct tcp_address *peer, time_ms now);

struct listener {
    struct server *server;
    struct loop *loop;
    bool of_runs; /* who comes in here has the token of a run, or is turned away */
    int fd;       /* -1: it does not listen */
    struct loop_watch *watch;
    struct loop_timer *timer; /* set while accepting pauses */
    struct tcp_listener *tcp; /* over TCP; else NULL */
    char *path;               /* NULL: over TCP */
    uint64_t device, inode;   /* what we bound: no other socket is removed */
};

/* See server_listen_unix. `ready` is called with the listener when a client waits. */
int listener_open(struct listener *listener, const char *path, loop_ready ready, struct error *err);
/* Accepts no clients for this time. */
void listener_pause(struct listener *listener, time_ms span);
/* Accepts no more clients, and removes the socket. */
void listener_stop(struct listener *listener);
void listener_finish(struct listener *listener);
