/* ancestry.c: does a process belong to a run?
 *
 * Any of three marks is enough:
 *   - one of its ancestors is called sluice-shim. A shim is the reaper of everything below it, so a process that
 *     was born in a run has its shim among its ancestors, however often it forked and whichever of them have ended
 *   - one of its ancestors is the shim of a run of this executor, whatever that program is called
 *   - its cgroup is the slot of a run, or below it. That mark stays when the shim is killed
 * The first and the last need no table: they hold while a daemon starts, on a standby, and for runs of the other
 * daemons of this user.
 *
 * A daemon may itself be in a run. What is above the daemon, too, says nothing about those who ask it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/executor_internal.h"
#include "executor/local.h"
#include "os/proc.h"

#define SHIM_NAME       "sluice-shim" /* and what follows it: sluice-shim-checked */
#define GENERATIONS_MAX 256           /* bounds one walk, */
#define LOOKS_MAX       8             /* and how often it is repeated */

static bool is_in_table(const struct local *ex, pid_t pid) {
    for (size_t i = 1; ex && i < ex->runs.count; i++)
        if (local_at(ex, i) && local_at(ex, i)->shim == pid)
            return true;
    return false;
}

static bool is_called_shim(const struct proc_stat *process) {
    return strncmp(process->name, SHIM_NAME, strlen(SHIM_NAME)) == 0;
}

/* With the mount option hidepid the processes of others cannot be seen, nor those of our own user that are not dumpable,
 * as sshd and every shim are. What is above such a process cannot be known. */
static bool is_hidden(const char *proc, pid_t pid) {
    struct proc_stat init = { 0 };
    return proc_read(proc, 1, &init) < 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Is `pid` this daemon or one of its ancestors? */
static bool is_above_daemon(const char *proc, pid_t pid) {
    pid_t at = getpid();
    struct proc_stat process = { 0 };
    for (unsigned i = 0; i < GENERATIONS_MAX && at > 1; i++) {
        if (at == pid)
            return true;
        if (proc_read(proc, at, &process) < 0)
            return false;
        at = process.parent;
    }
    return false;
}

/* One walk from the process to the top. */
static enum executor_kin walk(const struct local *ex, const char *proc, pid_t pid) {
    uint64_t child_start = UINT64_MAX;
    for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
        struct proc_stat process = { 0 };
        if (is_in_table(ex, pid))
            return KIN_RUN;
        if (proc_read(proc, pid, &process) < 0)
            return i > 0 && is_hidden(proc, pid) ? KIN_NONE : KIN_UNKNOWN;
        if (is_called_shim(&process) && !is_above_daemon(proc, pid))
            return KIN_RUN;
        /* A parent that is younger than its child: another process has its number by now. */
        if (process.start > child_start)
            return KIN_UNKNOWN;
        child_start = process.start;
        pid = process.parent;
        if (pid <= 1)
            return KIN_NONE;
    }
    return KIN_UNKNOWN;
}

static char *read_cgroup(const char *proc, const char *process) {
    char file[256];
    (void)snprintf(file, sizeof(file), "%.200s/%s/cgroup", proc, process);
    return cgroup_read_path(file);
}

static enum executor_kin look_at_cgroup(const char *proc, pid_t pid) {
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", (int)pid);
    _cleanup_(freep) char *path = read_cgroup(proc, number);
    if (path && !cgroup_is_in_slot(path, "/")) /* most are in none */
        return KIN_NONE;
    _cleanup_(freep) char *own = read_cgroup(proc, "self");
    if (!own) /* no cgroup v2 here */
        return KIN_NONE;
    if (!path)
        return KIN_UNKNOWN;
    return cgroup_is_in_slot(path, own) ? KIN_RUN : KIN_NONE;
}

/* An ancestor that ends during the walk leaves a gap, and its children have another parent by now: a process that
 * lives is looked at again. One that has ended, or whose ancestors end one after the other, stays unknown. */
enum executor_kin kin_in(const struct executor *ex, const char *proc, pid_t pid) {
    enum executor_kin kin = KIN_UNKNOWN;
    if (pid < 1) /* it is outside of our pid namespace */
        return KIN_UNKNOWN;
    if (pid == 1)
        return KIN_NONE;
    for (unsigned i = 0; i < LOOKS_MAX && kin == KIN_UNKNOWN; i++)
        kin = walk((const struct local *)ex, proc, pid);
    return kin == KIN_NONE ? look_at_cgroup(proc, pid) : kin;
}

enum executor_kin executor_kin(const struct executor *ex, pid_t pid) {
    return kin_in(ex, "/proc", pid);
}

uint64_t executor_kin_epoch(const struct executor *ex) {
    return ex->kin_epoch;
}
