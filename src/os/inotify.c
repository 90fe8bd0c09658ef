/* inotify.c: see inotify.h. Events have the length of their names, so they cannot be read one by one. */
#include "os/inotify.h"

#include <errno.h>
#include <unistd.h>

int inotify_open(struct loop *loop, loop_ready ready, void *ctx, struct loop_watch **ret_watch) {
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return -errno;
    int r = loop_watch(loop, fd, LOOP_READ, ready, ctx, ret_watch);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

void inotify_read(int fd, inotify_heard heard, void *ctx) {
    _Alignas(struct inotify_event) char text[8192];
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const struct inotify_event *)(text + at);
            at += (ssize_t)(sizeof(*event) + event->len);
            heard(ctx, event);
        }
}
