/* listener.h: a socket that clients come in through. Private to api/.
 *
 * That of Unix has its mode before it has its name: between bind and chmod anybody could connect. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time_ms.h"
#include "os/loop.h"

struct server;

struct listener {
    struct server *server;
    struct loop *loop;
    bool of_runs; /* who comes in here has the token of a run, or is turned away */
    int fd;       /* -1: it does not listen */
    struct loop_watch *watch;
    struct loop_timer *timer; /* set while accepting pauses */
    struct tcp_door *tcp;     /* by TCP; else NULL */
    char *path;               /* NULL: by TCP */
    uint64_t device, inode;   /* what we bound: somebody else's is not removed */
};

/* As server_listen_unix says. `ready` is called, with the listener, when somebody waits. */
int listener_open(struct listener *listener, const char *path, loop_ready ready, struct error *err);
/* By TCP: takes the descriptor, which listens, and the door. */
int listener_take(struct listener *listener, int fd, struct tcp_door *door, loop_ready ready,
                  struct error *err);
/* Nobody is let in for this time. */
void listener_pause(struct listener *listener, time_ms span);
/* Lets nobody in any more, and removes the socket. */
void listener_stop(struct listener *listener);
void listener_finish(struct listener *listener);
