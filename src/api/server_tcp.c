/* server_tcp.c: where clients with a token come in: opened, replaced and closed while the daemon runs.
 *
 * Only what is of this machine alone goes without TLS: a token in clear text on a network is everybody's. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/server_internal.h"
#include "os/socket_holder.h"

#define BACKLOG 128

static int make_tls(const struct server_tcp *tcp, const struct tcp_address *address,
                    struct tls_server **ret_tls, struct error *err) {
    char text[TCP_TEXT_MAX];
    if (tcp->certificate && *tcp->certificate)
        return tls_server_new(tcp->certificate, tcp->key ? tcp->key : "", ret_tls, err);
    if (!tcp_is_loopback(address))
        return error_set(err, -EPERM,
                         "'%s' can be reached from other machines, and needs TLS: set "
                         "'http.tls_cert' and 'http.tls_key', or listen on 127.0.0.1",
                         tcp_print(address, text));
    *ret_tls = NULL;
    return 0;
}

int server_listen_tcp(struct server *server, const struct server_tcp *tcp, struct error *err) {
    struct tcp_address address;
    struct tls_server *tls = NULL;
    int fd = -1;
    int r = tcp_parse(tcp->address, &address, err);
    if (r == 0)
        r = make_tls(tcp, &address, &tls, err);
    if (r < 0)
        return r;
    /* The same port again, with other names or another certificate: the old socket is in the way. */
    r = tcp_listen(&address, BACKLOG, &fd, err);
    if (r == -EADDRINUSE && server->web.fd >= 0) {
        server_close_tcp(server);
        r = tcp_listen(&address, BACKLOG, &fd, err);
    }
    if (r < 0) {
        tls_server_free(tls);
        return r;
    }
    server_close_tcp(server);
    (void)tcp_local(fd, &address);
    return listener_take(&server->web, fd, tcp_door_new(&address, tcp->hosts, tls),
                         server->accept_ready, err);
}

void server_close_tcp(struct server *server) {
    for (struct connection *c = server->connections, *next; c; c = next) {
        next = c->next;
        if (c->tcp)
            connection_free(c);
    }
    listener_finish(&server->web);
}

void server_access_ended(struct server *server, const char *id) {
    for (struct connection *c = server->connections, *next; c; c = next) {
        next = c->next;
        if (c->tcp && strcmp(c->access.access.id, id) == 0)
            connection_free(c);
    }
}

const char *server_url(const struct server *server) {
    return server->web.fd >= 0 ? tcp_door_url(server->web.tcp) : NULL;
}

/* --- who is at the other end ------------------------------------------------------------------- */

static bool is_of_run(void *ctx, pid_t pid) {
    const struct server_options *options = ctx;
    return options->identify && options->identify(options->ctx, pid) != SERVER_PEER_OWNER;
}

enum op_peer server_find_peer(const struct op_call *call) {
    const struct exchange *exchange = call->ctx;
    struct connection *c = exchange->connection;
    struct tcp_end end;
    struct tcp_address here;
    if (tcp_peer_end(c->fd, &end) < 0)
        return tcp_local(c->fd, &here) < 0 || tcp_same_host(&here, &c->peer) ? OP_PEER_UNKNOWN
                                                                             : OP_PEER_ELSEWHERE;
    switch (socket_holder(end.inode, end.user, is_of_run, &c->server->options)) {
    case SOCKET_OF_OTHERS:
        return OP_PEER_PROGRAM;
    case SOCKET_BELONGS:
        return OP_PEER_RUN;
    case SOCKET_HIDDEN:
        return OP_PEER_ELSEWHERE;
    case SOCKET_LOST:
        break;
    }
    return OP_PEER_UNKNOWN;
}
