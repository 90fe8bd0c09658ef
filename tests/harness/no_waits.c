/* no_waits.c: linked into a test program, its clocks jump to the next timer when nothing else can happen.
 *
 * A loop that would sleep until its next timer skips the sleep: all clocks advance by that time at once. Timers, pauses
 * and deadlines keep their order, and a wait for an event that never comes ends at its deadline without the wait. A pause
 * between two tries (poll without descriptors) is skipped in the same way.
 *
 * The program sleeps as usual while something else could wake it or change what it waits for: a child process, a thread,
 * or the peer of a socket. The peer may be a server that another process runs, such as PostgreSQL. See no_waits.h for
 * tests that move the clocks themselves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/no_waits.h"

static long long skipped, wall_shift; /* ms */

void clock_skip(long long ms) {
    skipped += ms;
}

void clock_shift_wall(long long ms) {
    wall_shift += ms;
}

int clock_gettime(clockid_t id, struct timespec *ret) {
    int r = (int)syscall(SYS_clock_gettime, id, ret);
    if (r < 0 || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME))
        return r;
    long long ms = skipped + (id == CLOCK_REALTIME ? wall_shift : 0);
    ret->tv_sec += (time_t)(ms / 1000);
    ret->tv_nsec += (long)(ms % 1000) * 1000000;
    if (ret->tv_nsec >= 1000000000) {
        ret->tv_nsec -= 1000000000;
        ret->tv_sec++;
    } else if (ret->tv_nsec < 0) {
        ret->tv_nsec += 1000000000;
        ret->tv_sec--;
    }
    return 0;
}

static int has_processes(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static int has_threads(void) {
    DIR *dir = opendir("/proc/self/task");
    int count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count != 3; /* ".", ".." and this one */
}

/* Standard input, output and error belong to the program that started the test. */
static int has_sockets(void) {
    DIR *dir = opendir("/proc/self/fd");
    int found = !dir;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        struct stat st;
        found = strtol(entry->d_name, NULL, 10) > STDERR_FILENO
                && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISSOCK(st.st_mode);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

static int is_alone(void) {
    return !has_processes() && !has_threads() && !has_sockets();
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout) {
    int count = (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, NULL, 0);
    if (count != 0 || timeout == 0)
        return count;
    if (timeout < 0 || !is_alone())
        return (int)syscall(SYS_epoll_pwait, epoll, events, max, timeout, NULL, 0);
    skipped += timeout;
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout) {
    if (count == 0 && timeout > 0 && is_alone()) {
        skipped += timeout;
        return 0;
    }
    struct timespec limit = { timeout / 1000, (long)(timeout % 1000) * 1000000 };
    return (int)syscall(SYS_ppoll, fds, count, timeout < 0 ? NULL : &limit, NULL, 0);
}
