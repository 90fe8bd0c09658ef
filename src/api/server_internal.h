/* server_internal.h: ownership of server, connection, exchange and stream. Private to api/.
 *
 * server      ─► connections: one per client, in a list
 * connection  ─► exchanges: requests whose answers are not sent yet, in the order they came
 * exchange    ─► a call that is being answered, or the bytes of its answer, or a stream
 * stream      ─► adds bytes to its connection as long as that has room
 *
 * Freeing goes downwards only: a connection frees its exchanges, an exchange abandons its call and
 * frees its stream. Lower levels never end a connection themselves: they set a flag, and the pump,
 * which is at the top of every entry into a connection, ends it. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "api/guard.h"
#include "api/server.h"
#include "api/tls.h"
#include "base/queue.h"
#include "base/sha256.h"
#include "base/strbuf.h"
#include "ops/op.h"
#include "os/loop.h"
#include "os/tcp.h"

#define READ_SIZE     ((size_t)64 * 1024)
#define IN_FLIGHT_MAX 32                   /* unanswered requests per connection */
#define OUT_HIGH      ((size_t)256 * 1024) /* no new request while this much is unsent */
#define OUT_LOW       ((size_t)64 * 1024)  /* a stream adds until this much is unsent */

struct response;

/* --- listeners (listener.c) ------------------------------------------------------------------- */

#define TCP_FAILURES_MAX    10u /* per peer in the window; further refusals are delayed */
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

/* A Unix socket gets its mode before its name: between bind and chmod any user could connect. See
 * server_listen_unix. `ready` is called with the listener when a client waits. */
int listener_open(struct listener *listener, const char *path, loop_ready ready, struct error *err);
/* Watches a socket that already listens, and takes ownership of it. `name`: for messages. */
int listener_begin(struct listener *listener, int fd, const char *name, loop_ready ready,
                   struct error *err);
/* For `ready`: passes the waiting clients to `take`, which owns the descriptor. Stops accepting for
 * `pause` when no descriptors are left. */
void listener_accept(struct listener *listener, time_ms pause,
                     void (*take)(struct listener *listener, int fd));
/* Stops accepting, and removes the socket. */
void listener_stop(struct listener *listener);
void listener_finish(struct listener *listener);

/* --- the server ------------------------------------------------------------------------------ */

/* Endless streams of one kind are counted together; there are streams_max of them. One token, of a
 * client or a run, gets at most an eighth, one TCP address half, all runs together half. An eighth
 * is reserved for the owner's socket. */
enum stream_kind { STREAM_OF_NOTHING, STREAM_OF_EVENTS, STREAM_OF_MCP };

struct stream_share {
    enum stream_kind kind;
    /* Its owner, as an id or a run's token; "": the owner of the daemon. */
    char token[ACCESS_TOKEN_SIZE];
};

struct server {
    struct loop *loop;
    struct engine *engine; /* NULL: a standby */
    struct server_options options;
    struct guard guard; /* of the Unix socket */
    char *owner;        /* the user who owns this daemon */
    char *boot_header;  /* says how requests are to be signed; or NULL */
    struct listener owners, runs, web;
    size_t run_connections, tcp_connections;
    loop_ready accept_ready; /* for every listener */
    bool stopping;
    struct connection *connections;
    size_t body_bytes; /* of all requests being read */

    struct event_stream *event_streams;
    size_t sharing;                   /* live ones without a filter */
    struct strbuf burst;              /* new events for them, as text */
    struct loop_timer *comment_timer; /* set while there is a stream */
    struct loop_timer *flush_timer;   /* set while flush_is_due */
    time_ms flushed_at;               /* when streams were last sent new events */
    bool flush_is_due;
    uint64_t published; /* the newest event; 0: none yet */

    struct mcp_exchange *mcp_exchanges;

    struct log_stream *log_streams;
    int inotify; /* -1: no follower */
    struct loop_watch *inotify_watch;
    struct loop_timer *poll_timer; /* set while a file that cannot be watched is followed */

    struct server_stats stats;
    char buffer[READ_SIZE]; /* of the current read */
};

/* For op_call.find_peer, whose ctx is an exchange. */
enum op_peer server_find_peer(const struct op_call *call);
void server_print_metrics(const struct server *server, struct strbuf *out);

#define OWNER_SOCKET_REFUSAL                                                                       \
    "this is the owner's socket: a run asks at SLUICE_SOCKET, with its SLUICE_TOKEN"

/* For a connected socket. NULL: accepted; else the refusal message. */
const char *owner_socket_refusal(const struct server *server, int fd);
/* Call after accepting. */
void owner_socket_note(struct connection *connection);
/* At the head of a request. False: refused, and the connection ends. */
bool owner_socket_check(struct connection *connection);
void owner_socket_close(struct server *server);
/* NULL: acquired, until stream_share_give. Else the refusal message. */
const char *stream_share_take(struct connection *connection, enum stream_kind kind,
                              const struct op_run *run);
void stream_share_give(struct connection *connection); /* no-op if it has none */

/* --- streams --------------------------------------------------------------------------------- */

enum stream_state {
    STREAM_WAITS,   /* nothing now; calls connection_wake when there is */
    STREAM_GOES_ON, /* added something; may have more */
    STREAM_PAUSES,  /* has more, but used up its time: continue in the next round */
    STREAM_ENDED,   /* complete */
    STREAM_DROPPED, /* complete, and the connection ends with it */
    STREAM_BROKEN,  /* the client must see that it is incomplete */
};

struct stream {
    enum stream_state (*fill)(struct stream *stream);
    void (*free)(struct stream *stream);
};

/* --- exchanges ------------------------------------------------------------------------------- */

enum exchange_kind { EXCHANGE_PLAIN, EXCHANGE_EVENTS, EXCHANGE_LOG, EXCHANGE_MCP };

struct exchange {
    struct exchange *next;
    struct connection *connection;
    enum exchange_kind kind;
    struct op_call *call;     /* until it is answered */
    struct strbuf bytes;      /* the answer, or the head of a stream */
    struct stream *stream;    /* what follows `bytes`; or NULL */
    struct mcp_exchange *mcp; /* EXCHANGE_MCP; or NULL */
    bool ready;               /* `bytes` is complete */
    bool head_only, old, close;
    struct loop_timer *delay; /* its answer waits for this; or NULL */
    bool hurry;               /* a stream at its end: the client must read it in time */
    uint64_t after;           /* EXCHANGE_EVENTS: start; EVENTS_NEW: the next event */
    uint64_t newest;          /* EXCHANGE_EVENTS: newest event at the time of the request */
    uint64_t published;       /* EXCHANGE_EVENTS: newest published event at that time */
};

#define EVENTS_NEW UINT64_MAX
/* At HTTP_GOT_HEAD: checks and routes; refuses, or calls http_parser_take_body. */
void route_head(struct connection *connection);
/* At HTTP_COMPLETE: makes the call. */
void route_request(struct connection *connection);
void route_refuse(struct connection *connection, int status, const char *word, const char *message,
                  bool close);
void exchange_free(struct exchange *exchange);
/* Only before it is ready. */
void exchange_fail(struct exchange *exchange, int status, const char *word, const char *message);
void exchange_begin_stream(struct exchange *exchange, const char *type, const char *headers,
                           struct stream *stream);
void exchange_answer(struct exchange *exchange, int status, const char *type, const char *body,
                     size_t size);

/* The caller named by the request. */
struct exchange_caller {
    char *run; /* X-Sluice-Run; or NULL */
    struct op_run token;
    struct op_access access;
    char name[ACCESS_NAME_MAX + sizeof("token ")]; /* of its token; "": the user is the name */
};
void exchange_take_caller(const struct exchange *exchange, const struct http_request *request,
                          struct exchange_caller *ret);
void exchange_caller_finish(struct exchange_caller *caller);
void exchange_set_caller(struct op_call *call, const struct exchange *exchange,
                         const struct exchange_caller *caller);
/* Sends its complete answer later. */
void exchange_delay(struct exchange *exchange, time_ms span);
/* standby.c, at HTTP_GOT_HEAD: answers if there is no engine. */
bool standby_answer(struct connection *connection);
/* page.c, at HTTP_GOT_HEAD: answers requests for dashboard files. */
bool page_answer(struct connection *connection);
/* At HTTP_GOT_HEAD. If the request has a body, it is not read, and the connection ends. */
void route_answer(struct connection *connection, struct response *response);
void exchange_send(struct exchange *exchange, const char *bytes, size_t size);
/* Of a stream that is up to date: sends without a copy, and keeps what the socket does not take.
 * `file`: has the bytes as a chunk of HTTP/1.1 (exchange_chunk_file); or -1. False: not now; nothing
 * was done. */
bool exchange_send_now(struct exchange *exchange, const char *bytes, size_t size, int file);
/* A file in memory for sending the same bytes to many; -1: it could not be made. The caller closes
 * it. */
int exchange_chunk_file(const char *bytes, size_t size);

/* --- connections ----------------------------------------------------------------------------- */

enum connection_phase { PHASE_IDLE, PHASE_HEAD, PHASE_BODY, PHASE_BUSY, PHASE_WRITE, PHASE_LINGER };

struct connection {
    struct connection *next, *previous;
    struct server *server;
    const char *user;      /* of the peer */
    bool of_run;           /* came to the socket of the runs */
    uint64_t identities;   /* when the process was last checked: owner_socket_check */
    struct tcp_guard *tcp; /* over TCP; else NULL, and the next members are unused */
    struct tls *tls;       /* or NULL */
    struct tcp_address peer;
    struct exchange_caller access;     /* of the current request */
    time_ms access_until;              /* steady clock: when its token expires; TIME_NEVER */
    char signed_body[SHA256_HEX_SIZE]; /* page_key.h; "": the request is not signed */
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer;
    time_ms deadline; /* what the timer is set to */
    enum connection_phase phase;
    uint64_t phase_mark; /* requests, or bytes sent, when the phase began */
    time_ms since;       /* when the phase began */

    struct http_parser parser;
    const struct op *op; /* of the current request; NULL: refused, or `mcp` */
    bool mcp;            /* it is a message to /mcp */
    json_t *params;
    struct strbuf in; /* read but not parsed yet */
    size_t in_taken;
    size_t body_counted; /* this connection's part of server->body_bytes */
    uint64_t requests;

    QUEUE(struct exchange) exchanges;
    size_t in_flight;
    struct strbuf out;
    size_t out_sent;
    uint64_t sent; /* total */

    struct stream_share share;
    bool owes_continue; /* 100 Continue, when it is this request's turn */
    bool streaming;     /* a stream is open or requested: later requests wait */
    bool eof;           /* the client will not send any more */
    bool closing;       /* no more requests */
    bool broken;        /* after a refusal: unread bytes of the client may come */
    bool lingering;     /* everything is sent; waits for the client to close */
    bool dead;          /* freed when the pump ends */
    bool stalled;       /* the stream had more than there was room for */
    bool pumping, woken;
};

/* Takes ownership of the descriptor. `user` lives as long as the server; NULL: over TCP. */
void connection_new(struct listener *listener, int fd, const char *user);
void connection_free(struct connection *connection);
/* Makes all possible progress: sends, parses, fills, sets watch and timer. May free it. */
void connection_pump(struct connection *connection);
/* Pumps in the next round; safe everywhere. */
void connection_wake(struct connection *connection);
void connection_queue(struct connection *connection, struct exchange *exchange);
size_t connection_unsent(const struct connection *connection);
/* Sends the parts, or as much as the socket takes, and queues the rest. `file` has the same bytes, or
 * is -1; it never changes again. False: other bytes come first, or the connection is encrypted or
 * lost; nothing was done. */
bool connection_send_now(struct connection *connection, const struct iovec *parts, size_t count,
                         int file);
/* The server stops: ends idle connections and endless streams. May free it. */
void connection_stop(struct connection *connection);

/* --- kinds of streams ------------------------------------------------------------------------ */

/* Sets `after`, `newest` and the parameters of the first page, before the call. */
int events_prepare(struct exchange *exchange, const struct http_request *request, json_t *params,
                   struct error *err);
void events_begin(struct exchange *exchange, struct op_call *call);
void events_stop(struct server *server);

void mcp_exchange_begin(struct exchange *exchange, const struct http_request *request);
void mcp_exchange_free(struct mcp_exchange *m); /* accepts NULL */
void mcp_exchange_stop(struct server *server);
void mcp_publish(struct server *server, const struct event_row *event);

void log_begin(struct exchange *exchange, struct op_call *call);
void log_stop(struct server *server);
