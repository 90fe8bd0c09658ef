/* no_waits.c: linked into a test program, its clocks jump to the next timer when nothing else can happen.
 *
 * A loop that would sleep until its next timer does not: if it has no process and no thread that could wake it, all
 * clocks go forward by that time at once. Timers, pauses and deadlines come in the same order as ever, and a wait for
 * something that never comes ends at its deadline without the wait. So is a pause between two tries (poll of nothing).
 * With processes or threads it sleeps as usual. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long skipped; /* ms */

int clock_gettime(clockid_t id, struct timespec *ret) {
    int r = (int)syscall(SYS_clock_gettime, id, ret);
    if (r < 0 || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME))
        return r;
    ret->tv_sec += (time_t)(skipped / 1000);
    ret->tv_nsec += (long)(skipped % 1000) * 1000000;
    if (ret->tv_nsec >= 1000000000) {
        ret->tv_nsec -= 1000000000;
        ret->tv_sec++;
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

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout) {
    int count = (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, NULL, 0);
    if (count != 0 || timeout == 0)
        return count;
    if (timeout < 0 || has_processes() || has_threads())
        return (int)syscall(SYS_epoll_pwait, epoll, events, max, timeout, NULL, 0);
    skipped += timeout;
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout) {
    if (count == 0 && timeout > 0 && !has_processes() && !has_threads()) {
        skipped += timeout;
        return 0;
    }
    struct timespec limit = { timeout / 1000, (long)(timeout % 1000) * 1000000 };
    return (int)syscall(SYS_ppoll, fds, count, timeout < 0 ? NULL : &limit, NULL, 0);
}
