/* ancestry.c: does a process belong to one of our runs?
 *
 * A shim is the reaper of everything below it, so whoever is born in a run has its shim among its
 * ancestors, however often it forked and whoever of them has ended. Looked up from the process to the top:
 * a few lines of /proc for each generation. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executor/executor_internal.h"
#include "executor/local.h"

#define GENERATIONS_MAX 256 /* nobody can make the daemon look for long, */
#define LOOKS_MAX       8   /* nor again and again */
#define GONE            (-1)

/* 0: it lives in another pid namespace, as that of `docker exec` does. */
static pid_t parent_of(const char *proc, pid_t pid) {
    char path[256], text[1024];
    (void)snprintf(path, sizeof(path), "%.200s/%d/stat", proc, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return GONE;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0)
        return GONE;
    text[size] = '\0';
    /* The name is in parentheses and may hold anything. */
    const char *rest = strrchr(text, ')');
    int parent = GONE;
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : GONE;
}

static bool is_shim(const struct local *ex, pid_t pid) {
    for (size_t i = 1; i < ex->runs.count; i++)
        if (local_at(ex, i) && local_at(ex, i)->shim == pid)
            return true;
    return false;
}

/* One look from the process to the top. */
static enum executor_kin look_up(const struct local *ex, const char *proc, pid_t pid) {
    for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
        if (is_shim(ex, pid))
            return KIN_RUN;
        pid = parent_of(proc, pid);
        if (pid == 0 || pid == 1)
            return KIN_NONE;
        if (pid < 0)
            return KIN_UNKNOWN;
    }
    return KIN_UNKNOWN;
}

/* An ancestor that ends while we look leaves a hole, and its children have another parent by now: whoever
 * lives is looked at again. Who is gone, or ends one ancestor after the other, stays unknown. */
enum executor_kin kin_in(const struct executor *ex, const char *proc, pid_t pid) {
    enum executor_kin kin = KIN_UNKNOWN;
    if (ex->live == 0 || pid <= 1) /* 0: it lives outside of our own pid namespace; no run does */
        return KIN_NONE;
    for (unsigned i = 0; i < LOOKS_MAX && kin == KIN_UNKNOWN; i++)
        kin = look_up((const struct local *)ex, proc, pid);
    return kin;
}

enum executor_kin executor_kin(const struct executor *ex, pid_t pid) {
    return kin_in(ex, "/proc", pid);
}
