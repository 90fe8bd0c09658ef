/* owner_socket.c: see owner_socket.h.
 *
 * A socket names the process that has connected it by its number. When that process has ended, the number may be another
 * process's, and another process may hold the connection. So it must still live after it was looked at: then its number was
 * its own meanwhile. Linux 6.5 and later can tell. */
#include "api/owner_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/server_internal.h"

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

static enum server_peer identify(const struct server *server, int fd) {
    const struct server_options *options = &server->options;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!options->identify)
        return SERVER_PEER_OWNER;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return SERVER_PEER_UNKNOWN;
    enum server_peer who = options->identify(options->ctx, peer.pid);
    return who == SERVER_PEER_OWNER && has_ended(fd) ? SERVER_PEER_UNKNOWN : who;
}

const char *owner_socket_refusal(const struct server *server, int fd) {
    switch (identify(server, fd)) {
    case SERVER_PEER_OWNER:
        return NULL;
    case SERVER_PEER_RUN:
        return OWNERS_DOOR;
    case SERVER_PEER_UNKNOWN:
        break;
    }
    return UNIDENTIFIED;
}

static uint64_t identities(const struct server *server) {
    const struct server_options *options = &server->options;
    return options->identities ? options->identities(options->ctx) : 0;
}

void owner_socket_note(struct connection *c) {
    c->identities = identities(c->server);
}

static bool is_of_owner_socket(const struct connection *c) {
    return !c->tcp && !c->of_run;
}

bool owner_socket_check(struct connection *c) {
    if (!is_of_owner_socket(c) || c->identities == identities(c->server))
        return true;
    const char *refusal = owner_socket_refusal(c->server, c->fd);
    if (refusal) {
        route_refuse(c, 403, "refused", refusal, true);
        return false;
    }
    owner_socket_note(c);
    return true;
}

void owner_socket_close(struct server *server) {
    for (struct connection *c = server->connections, *next; c; c = next) {
        next = c->next;
        if (is_of_owner_socket(c))
            connection_stop(c);
    }
}
