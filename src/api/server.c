/* server.c: which clients may connect, to which listener, and how many.
 *
 * File mode is not the only protection of a socket, because a folder may be opened up by mistake:
 * the kernel identifies the peer. A process of a run is refused at the owner's socket: runs have
 * their own socket, where their token decides. */
#include "api/server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "base/alloc.h"
#include "base/metric.h"
#include "os/home.h"

/* --- the peer of the owner's socket ---------------------------------------------------------- */

/* A socket names the connecting process by its pid. After that process has ended, the pid may
 * belong to another process, and another process may hold the connection. So it must still be alive
 * after the check, which Linux 6.5 and later can show. */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define UNIDENTIFIED                                                                               \
    "the process that has connected has ended or cannot be seen by the daemon, so it may belong "  \
    "to a run: ask from a process that the daemon can see, or over TCP with a token"

static bool has_ended(int fd) {
    int pidfd = -1;
    socklen_t size = sizeof(pidfd);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
        return errno != ENOPROTOOPT && errno != EMFILE && errno != ENFILE;
    struct pollfd end = { .fd = pidfd, .events = POLLIN };
    bool ended = poll(&end, 1, 0) != 0;
    close(pidfd);
    return ended;
}

const char *owner_socket_refusal(const struct server *server, int fd) {
    const struct server_options *options = &server->options;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!options->identify)
        return NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return UNIDENTIFIED;
    enum server_peer who = options->identify(options->ctx, peer.pid);
    if (who == SERVER_PEER_RUN)
        return OWNER_SOCKET_REFUSAL;
    return who == SERVER_PEER_OWNER && !has_ended(fd) ? NULL : UNIDENTIFIED;
}

void owner_socket_note(struct connection *c) {
    const struct server_options *options = &c->server->options;
    c->identities = options->identities ? options->identities(options->ctx) : 0;
}

static bool is_of_owner_socket(const struct connection *c) {
    return !c->tcp && !c->of_run;
}

bool owner_socket_check(struct connection *c) {
    uint64_t before = c->identities;
    owner_socket_note(c);
    const char *refusal = is_of_owner_socket(c) && c->identities != before
                              ? owner_socket_refusal(c->server, c->fd)
                              : NULL;
    if (refusal)
        route_refuse(c, 403, "refused", refusal, true);
    return !refusal;
}

void owner_socket_close(struct server *server) {
    for (struct connection *c = server->connections, *next; c; c = next) {
        next = c->next;
        if (is_of_owner_socket(c))
            connection_stop(c);
    }
}

/* --- shares of streams ----------------------------------------------------------------------- */

/* Connections are few, so they are counted on demand. */

#define PART_OF_TOKEN 8u
#define PART_OF_OWNER 8u

struct counts {
    size_t all, others, runs, token, address;
};

static size_t part(size_t all, size_t of) {
    return all / of > 0 ? all / of : 1;
}

static bool has_run_token(const struct connection *c) {
    return c->of_run || (c->tcp && c->access.token.token[0]);
}

static bool same_address(const struct tcp_address *a, const struct tcp_address *b) {
    char first[TCP_TEXT_MAX], second[TCP_TEXT_MAX];
    return strcmp(tcp_print_host(a, first), tcp_print_host(b, second)) == 0;
}

static const char *check_share(const struct connection *c, const struct stream_share *wanted) {
    size_t most = c->server->options.streams_max;
    struct counts sum = { 0 };
    for (const struct connection *o = c->server->connections; o; o = o->next) {
        if (o->share.kind != wanted->kind)
            continue;
        bool others = o->share.token[0] != '\0';
        sum.all++;
        sum.others += others;
        sum.runs += has_run_token(o);
        sum.token += others && strcmp(o->share.token, wanted->token) == 0;
        sum.address += o->tcp && c->tcp && same_address(&o->peer, &c->peer);
    }
    if (sum.all >= most)
        return "too many streams are open";
    if (!wanted->token[0])
        return NULL;
    if (sum.token >= part(most, PART_OF_TOKEN))
        return "this token has too many streams open: close one of them";
    if (c->tcp && sum.address >= part(most, 2))
        return "this address has too many streams open: close one of them";
    if (sum.others + part(most, PART_OF_OWNER) >= most
        || (has_run_token(c) && sum.runs >= most / 2))
        return "too many streams are open: the others are for the owner";
    return NULL;
}

const char *stream_share_take(struct connection *c, enum stream_kind kind,
                              const struct op_run *run) {
    struct stream_share wanted = { .kind = kind };
    const char *id = run->token[0] ? run->token : c->tcp ? c->access.access.id : "";
    (void)snprintf(wanted.token, sizeof(wanted.token), "%s", id);
    const char *why = check_share(c, &wanted);
    if (!why)
        c->share = wanted;
    return why;
}

void stream_share_give(struct connection *c) {
    c->share = (struct stream_share){ .kind = STREAM_OF_NOTHING };
}

/* --- the server ------------------------------------------------------------------------------ */

static void set_defaults(struct server_options *o) {
    const time_ms second = SECONDS(1);
    const size_t mib = (size_t)1024 * 1024;
    o->connections_max = o->connections_max ? o->connections_max : 256;
    o->streams_max = o->streams_max ? o->streams_max : 64;
    o->head_timeout = o->head_timeout ? o->head_timeout : 10 * second;
    o->body_timeout = o->body_timeout ? o->body_timeout : 30 * second;
    o->idle_timeout = o->idle_timeout ? o->idle_timeout : 60 * second;
    o->write_timeout = o->write_timeout ? o->write_timeout : 60 * second;
    o->linger_timeout = o->linger_timeout ? o->linger_timeout : 2 * second;
    o->comment_every = o->comment_every ? o->comment_every : 15 * second;
    o->refusal_delay = o->refusal_delay ? o->refusal_delay : second;
    o->peer_max = o->peer_max ? o->peer_max : 64;
    o->accept_pause = o->accept_pause ? o->accept_pause : second;
    o->body_max = o->body_max ? o->body_max : mib;
    o->bulk_body_max = o->bulk_body_max ? o->bulk_body_max : 16 * mib;
    o->bodies_max = o->bodies_max ? o->bodies_max : 256 * mib;
    o->queue_max = o->queue_max ? o->queue_max : mib;
}

static void listener_ready(void *ctx, int fd, unsigned events);

struct server *server_new(struct loop *loop, struct engine *engine,
                          const struct server_options *options) {
    struct server *server = xcalloc(1, sizeof(*server));
    server->loop = loop;
    server->engine = engine;
    if (options)
        server->options = *options;
    set_defaults(&server->options);
    server->inotify = -1;
    server->owners = (struct listener){ .server = server, .loop = loop, .fd = -1 };
    server->runs = (struct listener){ .server = server, .loop = loop, .fd = -1, .of_runs = true };
    server->web = (struct listener){ .server = server, .loop = loop, .fd = -1 };
    server->accept_ready = listener_ready;
    server->owner = home_user_name(geteuid());
    return server;
}

void server_set_engine(struct server *server, struct engine *engine) {
    server->engine = engine;
    freep(&server->boot_header);
    server->boot_header = NULL;
    owner_socket_close(server);
}

/* --- accepting ------------------------------------------------------------------------------- */

/* Best effort: does not wait for the client. */
static void refuse_client(struct server *server, int fd, int status, const char *word,
                          const char *message) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    response_print_error(word, message, &body);
    response_print(&(struct response){ .status = status,
                                       .type = "application/json",
                                       .body = body.text,
                                       .size = body.length,
                                       .close = true },
                   &out);
    (void)!send(fd, out.text, out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
    server->stats.refused++;
}

/* Reserves connections for the owner, whatever runs and TCP clients do. */
static bool is_full(const struct server *server, const struct listener *listener) {
    unsigned most = server->options.connections_max;
    size_t others = server->run_connections + server->tcp_connections;
    return server->stats.connections >= most
           || (listener->of_runs && server->run_connections >= most / 2)
           || (listener->tcp && server->tcp_connections >= most / 2)
           || ((listener->of_runs || listener->tcp) && others >= most - most / 8);
}

static void accept_tcp_client(struct listener *listener, int fd) {
    struct server *server = listener->server;
    int one = 1;
    struct tcp_address peer;
    unsigned count = 0;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    if (tcp_peer(fd, &peer) < 0) { /* already disconnected */
        close(fd);
        return;
    }
    for (const struct connection *c = server->connections; c; c = c->next)
        count += c->tcp && same_address(&c->peer, &peer);
    if (is_full(server, listener) || count >= server->options.peer_max)
        refuse_client(server, fd, 503, "busy", "too many connections: try again in a moment");
    else
        connection_new(listener, fd, NULL);
}

static void accept_client(struct listener *listener, int fd) {
    struct server *server = listener->server;
    const char *refusal = NULL;
    server->stats.accepted++;
    if (listener->tcp) {
        accept_tcp_client(listener, fd);
        return;
    }
    struct ucred peer;
    socklen_t size = sizeof(peer);
    bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const char *user = !is_known               ? NULL
                       : peer.uid == geteuid() ? server->owner
                       : peer.uid == 0         ? "root"
                                               : NULL;
    if (!user)
        refuse_client(server, fd, 403, "refused", "only the owner of this daemon may ask it");
    else if (is_full(server, listener))
        refuse_client(server, fd, 503, "busy", "too many connections: try again in a moment");
    else if (!listener->of_runs && (refusal = owner_socket_refusal(server, fd)))
        refuse_client(server, fd, 403, "refused", refusal);
    else
        connection_new(listener, fd, user);
}

static void listener_ready(void *ctx, int fd, unsigned events) {
    struct listener *listener = ctx;
    (void)fd, (void)events;
    listener_accept(listener, listener->server->options.accept_pause, accept_client);
}

int server_listen_unix(struct server *server, const char *path, struct error *err) {
    return listener_open(&server->owners, path, listener_ready, err);
}

int server_listen_runs(struct server *server, const char *path, struct error *err) {
    return listener_open(&server->runs, path, listener_ready, err);
}

/* --- ending ---------------------------------------------------------------------------------- */

void server_stop_accepting(struct server *server) {
    server->stopping = true;
    listener_stop(&server->owners);
    listener_stop(&server->runs);
    listener_stop(&server->web);
    events_stop(server);
    mcp_exchange_stop(server);
    log_stop(server);
    for (struct connection *c = server->connections, *next; c; c = next) {
        next = c->next;
        connection_stop(c);
    }
}

bool server_is_idle(const struct server *server) {
    return server->connections == NULL;
}

void server_set_limits(struct server *server, unsigned connections, unsigned streams) {
    server->options.connections_max = connections;
    server->options.streams_max = streams;
}

struct server *server_free(struct server *server) {
    if (!server)
        return NULL;
    while (server->connections)
        connection_free(server->connections);
    listener_finish(&server->owners);
    listener_finish(&server->runs);
    listener_finish(&server->web);
    loop_timer_free(server->loop, server->comment_timer);
    loop_timer_free(server->loop, server->flush_timer);
    loop_timer_free(server->loop, server->poll_timer);
    strbuf_finish(&server->burst);
    free(server->owner);
    free(server->boot_header);
    free(server);
    return NULL;
}

void server_stats(const struct server *server, struct server_stats *ret) {
    *ret = server->stats;
}

void server_print_metrics(const struct server *server, struct strbuf *out) {
    const struct server_stats *s = &server->stats;
    metric_gauge(out, "http_connections", (int64_t)s->connections, "Connections of clients.");
    metric_gauge(out, "http_connections_limit", server->options.connections_max,
                 "Most connections at once.");
    metric_head(out, "http_streams", "gauge", "Streams that clients follow, by what they carry.");
    metric_labeled(out, "http_streams", "of", "events", (int64_t)s->event_streams);
    metric_labeled(out, "http_streams", "of", "log", (int64_t)s->log_streams);
    metric_gauge(out, "http_body_bytes", (int64_t)server->body_bytes,
                 "Bodies of requests that are being read.");
    metric_counter(out, "http_connections_total", s->accepted, "Connections that were made.");
    metric_counter(out, "http_connections_refused_total", s->refused,
                   "Connections that were refused: too many, or not of the owner.");
    metric_counter(out, "http_requests_total", s->requests, "Requests, refused ones too.");
    metric_head(out, "http_errors_total", "counter", "Answers that were errors, by whose fault.");
    metric_labeled(out, "http_errors_total", "of", "client", (int64_t)s->client_errors);
    metric_labeled(out, "http_errors_total", "of", "server", (int64_t)s->server_errors);
    metric_counter(out, "http_timeouts_total", s->timeouts,
                   "Clients that took too long to send or to read.");
    metric_counter(out, "http_streams_dropped_total", s->dropped_slow,
                   "Streams of events that were ended because their reader was too slow.");
}
