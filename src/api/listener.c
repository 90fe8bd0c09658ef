/* listener.c: the sockets that clients connect to: Unix sockets, and TCP with its names, TLS and
 * failed tokens.
 *
 * File mode is not the only protection of a Unix socket, because a folder may be opened up by
 * mistake: the kernel identifies the peer (server.c). */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/server_internal.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "os/tcp.h"

/* --- TCP ------------------------------------------------------------------------------------- */

/* Names are assembled once, when listening begins, including the port: requests are compared with
 * complete strings. A host name configured by the owner is accepted with or without the port,
 * because a proxy in front of us has its own port; its pages may then use either scheme. */

static void add_name(struct tcp_names *names, const char *before, const char *name,
                     const char *after) {
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s%s%s", before, name, after);
    names->items = xgrow(names->items, &names->capacity, names->count + 2, sizeof(*names->items));
    names->items[names->count++] = strbuf_take(&text);
    names->items[names->count] = NULL;
}

static void free_names(struct tcp_names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

/* Browsers omit the default port of the scheme. */
static void add_own(struct tcp_guard *guard, const char *name, unsigned port) {
    const char *scheme = guard->tls ? "https://" : "http://";
    char after[8];
    (void)snprintf(after, sizeof(after), ":%u", port);
    add_name(&guard->hosts, "", name, after);
    add_name(&guard->origins, scheme, name, after);
    if (port == (guard->tls ? 443u : 80u)) {
        add_name(&guard->hosts, "", name, "");
        add_name(&guard->origins, scheme, name, "");
    }
}

/* Takes ownership of `tls`. */
static struct tcp_guard *tcp_guard_new(const struct tcp_address *address, const char *const *hosts,
                                       struct tls_server *tls) {
    struct tcp_guard *guard = xcalloc(1, sizeof(*guard));
    struct strbuf url = STRBUF_INIT;
    char text[TCP_TEXT_MAX];
    unsigned port = tcp_port(address);
    guard->tls = tls;
    add_own(guard, "localhost", port);
    add_own(guard, "127.0.0.1", port);
    add_own(guard, "[::1]", port);
    /* 0.0.0.0 is not added as a name: browsers can reach this machine with it. */
    if (!tcp_is_loopback(address) && !tcp_is_any(address))
        add_own(guard, tcp_print_host(address, text), port);
    for (; hosts && *hosts; hosts++) {
        const char *name = *hosts;
        const char *colon = strrchr(name, ':');
        bool has_port = colon && !strchr(colon, ']');
        char after[8];
        (void)snprintf(after, sizeof(after), ":%u", port);
        for (int with_port = 0; with_port < (has_port ? 1 : 2); with_port++) {
            add_name(&guard->hosts, "", name, with_port ? after : "");
            add_name(&guard->origins, "http://", name, with_port ? after : "");
            add_name(&guard->origins, "https://", name, with_port ? after : "");
        }
    }
    guard->guard.hosts = (const char *const *)guard->hosts.items;
    guard->guard.origins = (const char *const *)guard->origins.items;
    guard->guard.entrance = "/";
    guard->guard.link = OP_LINK_PATH;
    strbuf_printf(&url, "%s://", tls ? "https" : "http");
    if (tcp_is_any(address))
        strbuf_printf(&url, "127.0.0.1:%u", port);
    else
        strbuf_puts(&url, tcp_print(address, text));
    guard->url = strbuf_take(&url);
    return guard;
}

static struct tcp_guard *tcp_guard_free(struct tcp_guard *guard) {
    if (!guard)
        return NULL;
    free_names(&guard->hosts);
    free_names(&guard->origins);
    tls_server_free(guard->tls);
    free(guard->url);
    free(guard);
    return NULL;
}

/* IPv6 by its network: a client with one address has all of them. */
static struct in6_addr peer_key(const struct tcp_address *peer) {
    struct in6_addr key = { 0 };
    if (peer->any.sa_family == AF_INET6) {
        memcpy(&key, &peer->v6.sin6_addr, 8);
        return key;
    }
    memset(key.s6_addr + 10, 0xff, 2); /* IPv4-mapped IPv6 address */
    memcpy(key.s6_addr + 12, &peer->v4.sin_addr, 4);
    return key;
}

bool tcp_guard_failed(struct tcp_guard *guard, const struct tcp_address *address, time_ms now) {
    struct in6_addr key = peer_key(address);
    struct tcp_failures *peer = guard->peers;
    for (struct tcp_failures *other = guard->peers; other < guard->peers + TCP_PEERS_MAX; other++) {
        if (other->failures && memcmp(&other->address, &key, sizeof(key)) == 0) {
            peer = other;
            break;
        }
        if (!other->failures || (peer->failures && other->since < peer->since))
            peer = other;
    }
    bool known = peer->failures && memcmp(&peer->address, &key, sizeof(key)) == 0;
    if (!known || now >= time_add(peer->since, TCP_FAILURES_WINDOW))
        *peer = (struct tcp_failures){ .address = key, .since = now };
    peer->failures++;
    return peer->failures > TCP_FAILURES_MAX;
}

/* --- sockets --------------------------------------------------------------------------------- */

#define UNIX_BACKLOG      256
#define ACCEPTS_PER_ROUND 64

static int check_folder(const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (slash)
        strbuf_add(&folder, path, slash == path ? 1 : (size_t)(slash - path));
    else
        strbuf_puts(&folder, ".");
    const char *name = strbuf_text(&folder);
    if (mkdir(name, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make the folder", name);
    if (stat(name, &st) < 0)
        return error_set_errno(err, "look at the folder", name);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "'%s' is not a directory", name);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, -EPERM, "the folder '%s' belongs to another user: choose another one",
                         name);
    bool group = (st.st_mode & S_IWGRP) && st.st_gid != getegid();
    if ((group || (st.st_mode & S_IWOTH)) && !(st.st_mode & S_ISVTX))
        return error_set(err, -EPERM, "others may write to the folder '%s': chmod go-w '%s'", name,
                         name);
    return 0;
}

static int remove_dead_socket(const char *path, struct error *err) {
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, "look at", path);
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, -EEXIST, "'%s' exists but is not a socket: move it away", path);
    if (unlink(path) < 0)
        return error_set_errno(err, "remove the old socket", path);
    return 0;
}

static int bind_socket(const struct sockaddr_un *address, int *ret_fd, struct error *err) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    /* The file gets the mode of the socket. The umask is shared by all threads and stays
     * unchanged. */
    if (fchmod(fd, 0600) == 0 && bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0
        && listen(fd, UNIX_BACKLOG) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int code = errno;
    close(fd);
    return error_set(err, -code, "cannot listen on '%s': %s", address->sun_path, strerror(code));
}

static void accept_due(void *ctx) {
    struct listener *listener = ctx;
    if (listener->watch)
        loop_watch_change(listener->loop, listener->watch, LOOP_READ);
}

int listener_begin(struct listener *listener, int fd, const char *name, loop_ready ready,
                   struct error *err) {
    assert(listener->fd < 0);
    int r = loop_watch(listener->loop, fd, LOOP_READ, ready, listener, &listener->watch);
    if (r < 0) {
        close(fd);
        return error_set(err, r, "cannot watch '%s': %s", name, strerror(-r));
    }
    listener->fd = fd;
    listener->timer = loop_timer_new(listener->loop, accept_due, listener);
    return 0;
}

int listener_open(struct listener *listener, const char *path, loop_ready ready,
                  struct error *err) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;
    int fd = -1;
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, -ENAMETOOLONG,
                         "the socket's path '%s' has more than %zu bytes: use a shorter folder",
                         path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int r = check_folder(path, err);
    if (r >= 0)
        r = remove_dead_socket(path, err);
    if (r >= 0)
        r = bind_socket(&address, &fd, err);
    if (r >= 0)
        r = listener_begin(listener, fd, path, ready, err);
    if (r < 0)
        return r;
    listener->path = xstrdup(path);
    if (lstat(path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    return 0;
}

void listener_accept(struct listener *listener, time_ms pause,
                     void (*take)(struct listener *listener, int fd)) {
    for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
        /* cppcheck-suppress nullPointer ; the address is not needed */
        int client = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0) {
            take(listener, client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* No descriptor is left: the listener would wake the loop endlessly. */
            loop_watch_change(listener->loop, listener->watch, 0);
            loop_timer_set(listener->loop, listener->timer,
                           time_add(loop_now_steady(listener->loop), pause));
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

void listener_stop(struct listener *listener) {
    struct stat st;
    if (listener->fd < 0)
        return;
    loop_unwatch(listener->loop, listener->watch);
    listener->watch = NULL;
    close(listener->fd);
    listener->fd = -1;
    if (listener->path && lstat(listener->path, &st) == 0 && st.st_dev == listener->device
        && st.st_ino == listener->inode)
        (void)unlink(listener->path);
}

void listener_finish(struct listener *listener) {
    listener_stop(listener);
    loop_timer_free(listener->loop, listener->timer);
    free(listener->path);
    listener->tcp = tcp_guard_free(listener->tcp);
    listener->timer = NULL;
    listener->path = NULL;
}

/* --- the TCP listener of a server ------------------------------------------------------------ */

/* Opened, replaced and closed while the daemon runs. Only loopback addresses work without TLS:
 * anyone on a network can read a token in clear text. */

#define TCP_BACKLOG 128

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
    /* The same port with other names or another certificate: the old socket must close first. */
    r = tcp_listen(&address, TCP_BACKLOG, &fd, err);
    if (r == -EADDRINUSE && server->web.fd >= 0) {
        server_close_tcp(server);
        r = tcp_listen(&address, TCP_BACKLOG, &fd, err);
    }
    if (r < 0) {
        tls_server_free(tls);
        return r;
    }
    server_close_tcp(server);
    (void)tcp_local(fd, &address);
    struct tcp_guard *guard = tcp_guard_new(&address, tcp->hosts, tls);
    r = listener_begin(&server->web, fd, guard->url, server->accept_ready, err);
    server->web.tcp = r < 0 ? tcp_guard_free(guard) : guard;
    return r;
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
    return server->web.fd >= 0 ? server->web.tcp->url : NULL;
}

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
    static const enum op_peer peers[] = {
        [SOCKET_OF_OTHERS] = OP_PEER_PROGRAM,
        [SOCKET_BELONGS] = OP_PEER_RUN,
        [SOCKET_HIDDEN] = OP_PEER_ELSEWHERE,
        [SOCKET_LOST] = OP_PEER_UNKNOWN,
    };
    return peers[socket_holder(end.inode, end.user, is_of_run, &c->server->options)];
}
