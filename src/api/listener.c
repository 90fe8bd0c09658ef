/* listener.c: see listener.h. The mode of a socket is not its only guard, because a folder may be opened by
 * mistake: the kernel says who is at the other end (server.c). */
#include "api/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/tcp_door.h"
#include "base/alloc.h"
#include "base/strbuf.h"

#define BACKLOG 256

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
        return errno == ENOENT ? 0 : error_set_errno(err, "look at", path);
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, -EEXIST, "'%s' is there and is no socket: move it away", path);
    if (unlink(path) < 0)
        return error_set_errno(err, "remove the old socket", path);
    return 0;
}

static int bind_socket(const struct sockaddr_un *address, int *ret_fd, struct error *err) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    /* The file gets the mode of the socket. The umask is not changed: it is that of all threads. */
    if (fchmod(fd, 0600) == 0 && bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0
        && listen(fd, BACKLOG) == 0) {
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

int listener_open(struct listener *listener, const char *path, loop_ready ready,
                  struct error *err) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;
    int fd = -1;
    assert(listener->fd < 0);
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
        r = loop_watch(listener->loop, fd, LOOP_READ, ready, listener, &listener->watch);
        if (r < 0)
            (void)error_set(err, r, "cannot watch '%s': %s", path, strerror(-r));
    }
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    listener->fd = fd;
    listener->timer = loop_timer_new(listener->loop, accept_due, listener);
    listener->path = xstrdup(path);
    if (lstat(path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    return 0;
}

int listener_take(struct listener *listener, int fd, struct tcp_door *door, loop_ready ready,
                  struct error *err) {
    assert(listener->fd < 0);
    int r = loop_watch(listener->loop, fd, LOOP_READ, ready, listener, &listener->watch);
    if (r < 0) {
        (void)error_set(err, r, "cannot watch '%s': %s", tcp_door_url(door), strerror(-r));
        close(fd);
        tcp_door_free(door);
        return r;
    }
    listener->fd = fd;
    listener->tcp = door;
    listener->timer = loop_timer_new(listener->loop, accept_due, listener);
    return 0;
}

void listener_pause(struct listener *listener, time_ms span) {
    loop_watch_change(listener->loop, listener->watch, 0);
    loop_timer_set(listener->loop, listener->timer,
                   time_add(loop_now_steady(listener->loop), span));
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
    listener->tcp = tcp_door_free(listener->tcp);
    listener->timer = NULL;
    listener->path = NULL;
}
