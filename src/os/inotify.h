/* inotify.h: changes of files, as the loop hears of them. What is watched is the caller's business (inotify_add_watch). */
#pragma once

#include <sys/inotify.h>

#include "os/loop.h"

/* A descriptor that never waits; `ready` is called when there are events. Or a negative errno: nothing is open. Close
 * it after loop_unwatch. */
int inotify_open(struct loop *loop, loop_ready ready, void *ctx, struct loop_watch **ret_watch);

/* All events that are there, in order. The event lives as long as the call of `heard`, which must not close the
 * descriptor. A negative descriptor has none. */
typedef void (*inotify_heard)(void *ctx, const struct inotify_event *event);
void inotify_read(int fd, inotify_heard heard, void *ctx);
