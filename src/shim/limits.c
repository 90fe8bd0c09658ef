/* limits.c: resource limits of this run, and which of them the kernel enforces.
 *
 * A limit that cannot be set does not prevent the run: it is polled instead where possible, and
 * `applied` records the difference. The daemon created the cgroup; only this run is ever in it. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "os/fd.h"
#include "os/proc.h"
#include "shim/shim.h"

#define LOCK_TRIES        1000 /* 1 ms each */
#define SANDBOX_PROCESSES 2    /* of bubblewrap, added because the limit is for the command */

void limits_note(struct shim *s, const char *word) {
    char *applied = s->end.applied;
    size_t used = strlen(applied), length = strlen(word);
    for (const char *at = applied; (at = strstr(at, word)); at += length)
        if ((at == applied || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return;
    if (used + length + 2 > sizeof(s->end.applied))
        return;
    if (used > 0)
        applied[used++] = ' ';
    memcpy(applied + used, word, length + 1);
}

static bool write_limit(int cgroup, const char *name, int64_t value) {
    char buf[NUMBER_TEXT_MAX];
    const char *text = number_text(value, buf);
    _cleanup_(fd_closep) int fd = openat(cgroup, name, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool limit(struct shim *s, const char *name, int64_t value, bool *ret_watch) {
    if (value <= 0)
        return false;
    bool held = s->cgroup >= 0 && write_limit(s->cgroup, name, value);
    *ret_watch = !held;
    return held;
}

/* --- OOM score -------------------------------------------------------------------------------- */

void limits_oom_open(struct shim *s) {
    /* not by open: with O_CLOEXEC, musl sets the flag again */
    s->oom.file = dup_high(openat(AT_FDCWD, "/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
}

void limits_oom_lend(struct shim *s) {
    char buf[NUMBER_TEXT_MAX];
    const char *text = number_text(s->spec.oom_score_adj, buf);
    s->oom.is_lent = false;
    if (s->spec.oom_score_adj == 0 || s->oom.file < 0)
        return;
    memset(s->oom.own, 0, sizeof(s->oom.own));
    s->oom.is_lent = pread(s->oom.file, s->oom.own, sizeof(s->oom.own) - 1, 0) > 0
                     && pwrite(s->oom.file, text, strlen(text), 0) == (ssize_t)strlen(text);
}

void limits_oom_take_back(struct shim *s) {
    if (s->oom.is_lent)
        (void)!pwrite(s->oom.file, s->oom.own, strlen(s->oom.own), 0);
}

/* --- cgroup ----------------------------------------------------------------------------------- */

void limits_open(struct shim *s) {
    struct stat st;
    if (s->spec.cgroup && fstat(FD_CGROUP, &st) == 0 && S_ISDIR(st.st_mode))
        s->cgroup = FD_CGROUP;
    else if (s->spec.cgroup) /* from an older daemon */
        s->cgroup = open(s->spec.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->cgroup_kill = s->cgroup >= 0;
    if (limit(s, "memory.max", s->spec.memory_max, &s->watch_memory)) {
        (void)write_limit(s->cgroup, "memory.oom.group", 1); /* kill all or none */
        limits_note(s, "memory.max");
    } else if (s->watch_memory) {
        limits_note(s, "memory.watch");
    }
    int64_t processes = s->spec.processes_max;
    if (processes > 0 && s->spec.enter)
        processes += SANDBOX_PROCESSES;
    if (limit(s, "pids.max", processes, &s->watch_processes))
        limits_note(s, "pids.max");
    else if (s->watch_processes)
        limits_note(s, "pids.watch");
}

/* The last component of `path` before `end`. */
static const char *last_name(const char *path, const char *end) {
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

/* Skipped if the name now belongs to another directory. rmdir refuses a cgroup that has
 * processes. */
static void remove_in(int folder, const char *name, const char *end, int fd) {
    struct stat is, named;
    char copy[NAME_MAX + 1];
    size_t length = (size_t)(end - name);
    if (length == 0 || length >= sizeof(copy))
        return;
    memcpy(copy, name, length);
    copy[length] = '\0';
    if (fstat(fd, &is) == 0 && fstatat(folder, copy, &named, AT_SYMLINK_NOFOLLOW) == 0
        && is.st_ino == named.st_ino)
        (void)unlinkat(folder, copy, AT_REMOVEDIR);
}

/* The pipe has no reader: the daemon that started us has ended. */
static bool has_daemon_exited(void) {
    struct pollfd daemon = { .fd = FD_DAEMON };
    return poll(&daemon, 1, 0) == 1 && (daemon.revents & POLLERR);
}

/* A remover holds it exclusively and briefly, but the scheduler may take its processor: we wait. A
 * daemon that has adopted us holds it shared and permanently: we do not. The last try comes after the
 * shared lock, so of several removers that find each other's shared lock the last one gets it. */
static bool lock_soon(int folder) {
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        if (flock(folder, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (flock(folder, LOCK_SH | LOCK_NB) == 0)
            return flock(folder, LOCK_EX | LOCK_NB) == 0;
        (void)poll(NULL, 0, 1);
    }
    return false;
}

static void remove_cgroup(const struct shim *s, int above, int top) {
    const char *path = s->spec.cgroup, *end = path + strlen(path);
    const char *slot = last_name(path, end);
    remove_in(above, slot, end, s->cgroup);
    if (slot > path && lock_soon(above))
        remove_in(top, last_name(path, slot - 1), slot - 1, above);
}

void limits_close(struct shim *s) {
    if (s->cgroup < 0)
        return;
    /* Must come first: a daemon that exits examines our lock after it has closed the pipe. */
    (void)flock(s->cgroup, LOCK_UN);
    if (!has_daemon_exited())
        return;
    int above = openat(s->cgroup, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int top = above < 0 ? -1 : openat(above, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top >= 0)
        remove_cgroup(s, above, top);
}

bool limits_were_hit(const struct shim *s) {
    char text[512];
    if (s->cgroup < 0 || s->spec.memory_max == 0 || s->watch_memory)
        return false;
    const char *kills = proc_file(s->cgroup, "memory.events", text, sizeof(text)) > 0
                            ? strstr(text, "oom_kill ")
                            : NULL;
    return kills && kills[strlen("oom_kill ")] != '0';
}
