/* await.c: blocks a shell test until an event happens, so that waiting uses no processor time.
 *
 *   await change DIR DEADLINE    until something changes below the directory
 *   await exit PID DEADLINE      until the process and all its threads have exited
 *
 * DEADLINE is in seconds since the epoch; exit status 1 means that it has passed.
 *
 * `soon` in tests/cli/lib.sh calls `change` between two evaluations of its condition. Most conditions depend on a
 * file below
 * the temporary directory of the test: the store, a log, the output of an agent. `change` also returns after
 * RECHECK_MS. This covers other conditions, such as a row in PostgreSQL, and changes made before all watches were
 * set. */
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH       5
#define WATCHES_MAX 400
#define RECHECK_MS  50
#define EVENTS                                                                                     \
    (IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR)

static int watches;

static void watch(int fd, const char *path, int depth) {
    if (watches >= WATCHES_MAX || inotify_add_watch(fd, path, EVENTS) < 0)
        return;
    watches++;
    DIR *dir = depth > 0 ? opendir(path) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char inside[PATH_MAX];
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0
            || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, ".git") == 0
            || snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name)
                   >= (int)sizeof(inside))
            continue;
        watch(fd, inside, depth - 1);
    }
    (void)closedir(dir);
}

static int await_change(const char *dir) {
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd >= 0)
        watch(fd, dir, DEPTH);
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    (void)poll(&ready, 1, RECHECK_MS);
    return 0;
}

static int await_exit(pid_t pid, long left_s) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return 0; /* it has exited already */
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    return poll(&ready, 1, left_s > INT_MAX / 1000 ? -1 : (int)left_s * 1000) == 1 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 4) {
        long left_s = atol(argv[3]) - (long)time(NULL);
        if (left_s <= 0)
            return 1;
        if (strcmp(argv[1], "change") == 0)
            return await_change(argv[2]);
        if (strcmp(argv[1], "exit") == 0)
            return await_exit(atoi(argv[2]), left_s);
    }
    (void)fputs("usage: await change DIR DEADLINE\n"
                "       await exit PID DEADLINE\n",
                stderr);
    return 2;
}
