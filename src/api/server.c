/* server.c: who may come in, and how many?
 *
 * The socket is made with a umask, not changed afterwards: between bind and chmod anybody could
 * connect. Its mode is not the only guard, because a folder may be opened by mistake: the kernel says
 * who is at the other end. */
#include "api/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "base/alloc.h"
#include "os/home.h"

#define ACCEPTS_PER_ROUND 64
#define BACKLOG           256

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
    o->accept_pause = o->accept_pause ? o->accept_pause : second;
    o->body_max = o->body_max ? o->body_max : mib;
    o->bulk_body_max = o->bulk_body_max ? o->bulk_body_max : 16 * mib;
    o->bodies_max = o->bodies_max ? o->bodies_max : 256 * mib;
    o->queue_max = o->queue_max ? o->queue_max : mib;
}

struct server *server_new(struct loop *loop, struct engine *engine,
                          const struct server_options *options) {
    struct server *server = xcalloc(1, sizeof(*server));
    server->loop = loop;
    server->engine = engine;
    if (options)
        server->options = *options;
    set_defaults(&server->options);
    server->listen_fd = server->inotify = -1;
    server->owner = home_user_name(geteuid());
    return server;
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

static void take_client(struct server *server, int fd) {
    const char *user = user_of(server, fd);
    server->stats.accepted++;
    if (!user)
        turn_away(server, fd, 403, "refused", "only the owner of this daemon may ask it");
    else if (server->stats.connections >= server->options.connections_max)
        turn_away(server, fd, 503, "busy", "too many connections: try again in a moment");
    else
        connection_new(server, fd, user);
}

/* No descriptor is left: the listener would wake the loop without end. */
static void pause_accepting(struct server *server) {
    loop_watch_change(server->loop, server->listen_watch, 0);
    loop_timer_set(server->loop, server->accept_timer,
                   time_add(loop_now_steady(server->loop), server->options.accept_pause));
}

static void accept_due(void *ctx) {
    struct server *server = ctx;
    if (server->listen_watch)
        loop_watch_change(server->loop, server->listen_watch, LOOP_READ);
}

static void listener_ready(void *ctx, int fd, unsigned events) {
    struct server *server = ctx;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
        /* cppcheck-suppress nullPointer ; nobody asks for the address */
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0) {
            take_client(server, client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* --- listening ------------------------------------------------------------------------------- */

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
        return error_set(err, -errno, "cannot make the folder '%s': %s", name, strerror(errno));
    if (stat(name, &st) < 0)
        return error_set(err, -errno, "cannot look at the folder '%s': %s", name, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "'%s' is no folder", name);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, -EPERM,
                         "the folder '%s' belongs to somebody else: choose another one", name);
    bool group = (st.st_mode & S_IWGRP) && st.st_gid != getegid();
    if ((group || (st.st_mode & S_IWOTH)) && !(st.st_mode & S_ISVTX))
        return error_set(err, -EPERM, "others may write to the folder '%s': chmod go-w '%s'", name,
                         name);
    return 0;
}

static int remove_dead_socket(const char *path, struct error *err) {
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT
                   ? 0
                   : error_set(err, -errno, "cannot look at '%s': %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, -EEXIST, "'%s' is there and is no socket: move it away", path);
    if (unlink(path) < 0)
        return error_set(err, -errno, "cannot remove the old socket '%s': %s", path,
                         strerror(errno));
    return 0;
}

static int bind_socket(const struct sockaddr_un *address, int *ret_fd, struct error *err) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    mode_t mask = umask(0177);
    int r = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    int code = errno;
    (void)umask(mask);
    if (r == 0 && listen(fd, BACKLOG) == 0) {
        *ret_fd = fd;
        return 0;
    }
    code = r == 0 ? errno : code;
    close(fd);
    return error_set(err, -code, "cannot listen on '%s': %s", address->sun_path, strerror(code));
}

int server_listen_unix(struct server *server, const char *path, struct error *err) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;
    int fd = -1;
    assert(server->listen_fd < 0);
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
    if (r >= 0) {
        r = loop_watch(server->loop, fd, LOOP_READ, listener_ready, server, &server->listen_watch);
        if (r < 0)
            (void)error_set(err, r, "cannot watch '%s': %s", path, strerror(-r));
    }
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    server->listen_fd = fd;
    server->accept_timer = loop_timer_new(server->loop, accept_due, server);
    server->path = xstrdup(path);
    if (lstat(path, &st) == 0) {
        server->path_device = st.st_dev;
        server->path_inode = st.st_ino;
    }
    return 0;
}

static void stop_listening(struct server *server) {
    struct stat st;
    if (server->listen_fd < 0)
        return;
    loop_unwatch(server->loop, server->listen_watch);
    server->listen_watch = NULL;
    close(server->listen_fd);
    server->listen_fd = -1;
    if (lstat(server->path, &st) == 0 && st.st_dev == server->path_device
        && st.st_ino == server->path_inode)
        (void)unlink(server->path);
}

/* --- ending ---------------------------------------------------------------------------------- */

void server_stop_accepting(struct server *server) {
    server->stopping = true;
    stop_listening(server);
    events_stop(server);
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
    stop_listening(server);
    while (server->connections)
        connection_free(server->connections);
    loop_timer_free(server->loop, server->accept_timer);
    loop_timer_free(server->loop, server->comment_timer);
    loop_timer_free(server->loop, server->look_timer);
    free(server->path);
    free(server->owner);
    free(server);
    return NULL;
}

void server_stats(const struct server *server, struct server_stats *ret) {
    *ret = server->stats;
}
