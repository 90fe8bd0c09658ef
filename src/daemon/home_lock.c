/* home_lock.c: who has this home?
 *
 * The store has a lock of its own, but the configuration may put the store anywhere: two daemons with
 * two stores in one home would adopt each other's runs and take each other's socket away. The pid in
 * the file is for people; what counts is the lock. */
#include "daemon/home_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/outside.h"
#include "os/proc.h"

#define TRIES_MAX 500 /* of 10 ms */

/* Whom the file names; 0: nobody. */
static long named_pid(int fd) {
    char text[32] = "";
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

/* A daemon that was killed while it spawned something leaves a child that has its locks until its
 * exec, which comes in a moment, on a busy machine in a long one: that is waited for when the one that the file
 * names is dead. */
static int lock_soon(int fd) {
    int r;
    for (int tries = 0; (r = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK; tries++) {
        long pid = named_pid(fd);
        if (tries >= TRIES_MAX || pid <= 0 || !proc_has_ended(pid)) {
            errno = EWOULDBLOCK;
            break;
        }
        (void)poll(NULL, 0, 10);
    }
    return r;
}

static int refuse(const struct home *home, int fd, struct error *err) {
    long pid = named_pid(fd);
    if (pid > 0)
        return error_set(err, -EBUSY,
                         "the home '%s' is in use by another process (pid %ld): stop that daemon "
                         "first",
                         home->data, pid);
    return error_set(err, -EBUSY, "the home '%s' is in use by another process", home->data);
}

int home_lock(const struct home *home, int *ret_fd, struct error *err) {
    int fd =
        outside_open(AT_FDCWD, home->pid_lock, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS, NULL, err);
    if (fd < 0)
        return fd;
    if (lock_soon(fd) == 0) {
        if (ftruncate(fd, 0) == 0)
            (void)dprintf(fd, "%d\n", (int)getpid()); /* nobody needs it */
        *ret_fd = fd;
        return 0;
    }
    int r =
        errno == EWOULDBLOCK ? refuse(home, fd, err) : error_set_errno(err, "lock", home->pid_lock);
    close(fd);
    return r;
}
