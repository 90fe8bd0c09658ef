/* server.c: who may come in, through which door, and how many?
 *
 * The mode of a socket is not its only guard, because a folder may be opened by mistake: the kernel says
 * who is at the other end. A process of a run is not let in at the owner's door: it has one of its own,
 * where its token decides. */
#include "api/server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "base/alloc.h"
#include "os/home.h"

#define ACCEPTS_PER_ROUND 64

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
    owner_socket_close(server);
}

/* --- accepting ------------------------------------------------------------------------------- */

/* Best effort: the client is not waited for. */
static void turn_away(struct server *server, int fd, int status, const char *word,
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

/* Which of the two who may ask us is at the other end; NULL: neither. */
static const char *user_of(const struct server *server, int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return NULL;
    return peer.uid == geteuid() ? server->owner : peer.uid == 0 ? "root" : NULL;
}

/* Whatever runs and clients by TCP do, there is room for the owner. */
static bool is_full(const struct server *server, const struct listener *listener) {
    unsigned most = server->options.connections_max;
    size_t others = server->run_connections + server->tcp_connections;
    return server->stats.connections >= most
           || (listener->of_runs && server->run_connections >= most / 2)
           || (listener->tcp && server->tcp_connections >= most / 2)
           || ((listener->of_runs || listener->tcp) && others >= most - most / 8);
}

/* Who may ask is found out later, by the token. */
static void take_tcp_client(struct listener *listener, int fd) {
    struct server *server = listener->server;
    int one = 1;
    struct tcp_address peer, other;
    unsigned count = 0;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    if (tcp_peer(fd, &peer) < 0) { /* gone already */
        close(fd);
        return;
    }
    char text[TCP_TEXT_MAX], others[TCP_TEXT_MAX];
    (void)tcp_print_host(&peer, text);
    for (const struct connection *c = server->connections; c; c = c->next) {
        other = c->peer;
        count += c->tcp && strcmp(tcp_print_host(&other, others), text) == 0;
    }
    if (is_full(server, listener) || count >= server->options.peer_max)
        turn_away(server, fd, 503, "busy", "too many connections: try again in a moment");
    else
        connection_new(listener, fd, NULL);
}

static void take_client(struct listener *listener, int fd) {
    struct server *server = listener->server;
    const char *refusal = NULL;
    server->stats.accepted++;
    if (listener->tcp) {
        take_tcp_client(listener, fd);
        return;
    }
    const char *user = user_of(server, fd);
    if (!user)
        turn_away(server, fd, 403, "refused", "only the owner of this daemon may ask it");
    else if (is_full(server, listener))
        turn_away(server, fd, 503, "busy", "too many connections: try again in a moment");
    else if (!listener->of_runs && (refusal = owner_socket_refusal(server, fd)))
        turn_away(server, fd, 403, "refused", refusal);
    else
        connection_new(listener, fd, user);
}

static void listener_ready(void *ctx, int fd, unsigned events) {
    struct listener *listener = ctx;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
        /* cppcheck-suppress nullPointer ; nobody asks for the address */
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0) {
            take_client(listener, client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* No descriptor is left: the listener would wake the loop without end. */
            listener_pause(listener, listener->server->options.accept_pause);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
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
    loop_timer_free(server->loop, server->look_timer);
    free(server->owner);
    free(server);
    return NULL;
}

void server_stats(const struct server *server, struct server_stats *ret) {
    *ret = server->stats;
}
