/* test_clock.c: linked into a copy of the daemon, lets a test set its clocks while it is running.
 *
 * SLUICE_TEST_CLOCK names a folder; its file `ahead` has the milliseconds by which all clocks are ahead of the kernel's. The file is
 * replaced to move them: the loop wakes, and time has passed as during a suspend. Without the variable the clocks are those of the kernel. The
 * programs that are installed do not have this file. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_llong ahead; /* ms */

__attribute__((constructor)) static void read_ahead(void) {
    const char *folder = getenv("SLUICE_TEST_CLOCK");
    char path[512], text[32] = "";
    if (!folder)
        return;
    (void)snprintf(path, sizeof(path), "%s/ahead", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof(text) - 1) > 0)
        ahead = strtoll(text, NULL, 10);
    (void)close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ret) {
    int r = (int)syscall(SYS_clock_gettime, id, ret);
    if (r < 0 || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME))
        return r;
    long long ms = ahead;
    ret->tv_sec += (time_t)(ms / 1000);
    ret->tv_nsec += (long)(ms % 1000) * 1000000;
    if (ret->tv_nsec >= 1000000000) {
        ret->tv_nsec -= 1000000000;
        ret->tv_sec++;
    }
    return 0;
}

/* Later than the start: the daemon closes inherited descriptors. */
static int watch_folder(void) {
    static int fd = -1;
    const char *folder = getenv("SLUICE_TEST_CLOCK");
    if (fd < 0 && folder) {
        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        (void)inotify_add_watch(fd, folder, IN_MOVED_TO);
        read_ahead();
    }
    return fd;
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout) {
    struct pollfd fds[] = { { .fd = epoll, .events = POLLIN },
                            { .fd = watch_folder(), .events = POLLIN } };
    struct timespec limit = { timeout / 1000, (long)(timeout % 1000) * 1000000 };
    char news[4096];
    if (syscall(SYS_ppoll, fds, 2, timeout < 0 ? NULL : &limit, NULL, 0) < 0)
        return -1;
    if (fds[1].revents && read(fds[1].fd, news, sizeof(news)) > 0)
        read_ahead();
    return (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, NULL, 0);
}
