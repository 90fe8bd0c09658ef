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

#define GENERATIONS_MAX 256 /* nobody can make the daemon look for long */

/* 0: it has none, or is gone. */
static pid_t parent_of(pid_t pid) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    /* The name is in parentheses and may hold anything. */
    const char *rest = strrchr(text, ')');
    int parent = 0;
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_shim(const struct local *ex, pid_t pid) {
    for (size_t i = 1; i < ex->run_count; i++)
        if (ex->runs[i] && ex->runs[i]->shim == pid)
            return true;
    return false;
}

enum executor_kin executor_kin(const struct executor *ex, pid_t pid) {
    const struct local *local = (const struct local *)ex;
    if (ex->live == 0 || pid <= 1) /* 0: it lives outside of our own pid namespace; no run does */
        return KIN_NONE;
    for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
        if (is_shim(local, pid))
            return KIN_RUN;
        pid_t parent = parent_of(pid);
        if (parent <= 1)
            return parent == 1 || i > 0 ? KIN_NONE : KIN_UNKNOWN;
        pid = parent;
    }
    return KIN_UNKNOWN;
}
