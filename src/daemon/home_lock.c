/* home_lock.c: who has this home?
 *
 * The store has a lock of its own, but the configuration may put the store anywhere: two daemons with
 * two stores in one home would adopt each other's runs and take each other's socket away. The pid in
 * the file is for people; what counts is the lock. */
#include "daemon/home_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int refuse(const struct home *home, int fd, struct error *err) {
    char text[32] = "";
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    long pid = length > 0 ? strtol(text, NULL, 10) : 0;
    if (pid > 0)
        return error_set(err, -EBUSY,
                         "the home '%s' is in use by another process (pid %ld): stop that daemon "
                         "first",
                         home->data, pid);
    return error_set(err, -EBUSY, "the home '%s' is in use by another process", home->data);
}

int home_lock(const struct home *home, int *ret_fd, struct error *err) {
    int fd = open(home->pid_lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, -errno, "cannot open '%s': %s", home->pid_lock, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (ftruncate(fd, 0) == 0)
            (void)dprintf(fd, "%d\n", (int)getpid()); /* nobody needs it */
        *ret_fd = fd;
        return 0;
    }
    int r = errno == EWOULDBLOCK
                ? refuse(home, fd, err)
                : error_set(err, -errno, "cannot lock '%s': %s", home->pid_lock, strerror(errno));
    close(fd);
    return r;
}
