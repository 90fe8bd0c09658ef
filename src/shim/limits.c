/* limits.c: what this run may use, and which of it the kernel really holds back.
 *
 * A limit that cannot be set is no reason not to run: it is watched instead where that is possible, and
 * `applied` tells the difference. The daemon has made the cgroup; only this run is ever in it. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "rundir/record.h"
#include "shim/shim.h"

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
    char text[32];
    struct record_out out = { .text = text, .size = sizeof(text) };
    record_put_number(&out, value);
    int fd = openat(cgroup, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = write(fd, text, out.length) == (ssize_t)out.length;
    close(fd);
    return good;
}

static bool limit(struct shim *s, const char *name, int64_t value, bool *ret_watch) {
    if (value <= 0)
        return false;
    bool held = s->cgroup >= 0 && write_limit(s->cgroup, name, value);
    *ret_watch = !held;
    return held;
}

void limits_open(struct shim *s) {
    if (s->spec.cgroup)
        s->cgroup = open(s->spec.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->cgroup >= 0) /* ours, also while nobody is in it (executor/cgroup.h) */
        (void)flock(s->cgroup, LOCK_SH | LOCK_NB);
    s->cgroup_kill = s->cgroup >= 0;
    if (limit(s, "memory.max", s->spec.memory_max, &s->watch_memory)) {
        (void)write_limit(s->cgroup, "memory.oom.group", 1); /* all of it or nothing */
        limits_note(s, "memory.max");
    } else if (s->watch_memory) {
        limits_note(s, "memory.watch");
    }
    if (limit(s, "pids.max", s->spec.processes_max, &s->watch_processes))
        limits_note(s, "pids.max");
    else if (s->watch_processes)
        limits_note(s, "pids.watch");
}

/* Up to the slash before `end`; its name from there. */
static const char *last_name(const char *path, const char *end) {
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

static void remove_in(int folder, const char *name, const char *end) {
    char copy[NAME_MAX + 1];
    size_t length = (size_t)(end - name);
    if (length == 0 || length >= sizeof(copy))
        return;
    memcpy(copy, name, length);
    copy[length] = '\0';
    (void)unlinkat(folder, copy, AT_REMOVEDIR);
}

void limits_close(struct shim *s) {
    int above = s->cgroup < 0 ? -1 : openat(s->cgroup, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return;
    int top = -1;
    if (flock(above, LOCK_EX | LOCK_NB) == 0)
        top = openat(above, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top >= 0) {
        const char *path = s->spec.cgroup, *end = path + strlen(path);
        const char *slot = last_name(path, end);
        remove_in(above, slot, end);
        if (slot > path)
            remove_in(top, last_name(path, slot - 1),
                      slot - 1); /* refused while others are in it */
        close(top);
    }
    close(above);
}

bool limits_were_hit(const struct shim *s) {
    char text[512];
    if (s->cgroup < 0 || s->spec.memory_max == 0 || s->watch_memory)
        return false;
    int fd = openat(s->cgroup, "memory.events", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *kills = strstr(text, "oom_kill ");
    return kills && kills[strlen("oom_kill ")] != '0';
}
