/* tree.c: finds and ends all descendants of a command.
 *
 * The shim is the subreaper of the tree: orphans become its children. So ECHILD means that no
 * process is left, including those with their own session. They are killed through their cgroup if
 * there is one: that is atomic. Otherwise by walking down from the shim, stopping each process
 * before its children are read, until none is left.
 *
 * The pid of a deeper descendant may be reused between reading and signaling: such processes are
 * held by a pidfd whose parent is verified first. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/proc.h"
#include "shim/shim.h"

#define WALK_DEPTH     24
#define REAP_WAIT_MIN  1 /* ms between two attempts to kill the rest */
#define REAP_WAIT_MAX  200
#define STUBBORN_AFTER 2 /* rounds in which only the cgroup is killed */

bool tree_reap(struct shim *s) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return true;
        if (pid < 0)
            return false;
        if (pid == s->leader) {
            s->status = status;
            s->leader = 0;
        }
    }
}

void tree_signal_group(const struct shim *s, int signal) {
    pid_t group = s->inside.command > 0 ? s->inside.command : s->leader;
    if (group <= 1)
        return;
    /* Not our child: its pid may have been reused. The sandbox program ends with it. */
    if (s->inside.command > 0 && s->inside.handle >= 0 && proc_signal(s->inside.handle, 0) < 0)
        return;
    (void)kill(-group, signal);
    (void)kill(-group, SIGCONT); /* a stopped process would receive it too late */
}

/* --- the walk -------------------------------------------------------------------------------- */

struct walk {
    bool kill;
    pid_t own; /* of the sandbox program: not counted; or 0 */
    struct tree_sum sum;
};

static void visit_alive(struct walk *walk, pid_t pid, int handle, unsigned depth);

/* A pid that is not of our own child is held by a pidfd. Without pidfds such processes are left
 * until they become our children. */
static void visit(void *ctx, pid_t parent, pid_t pid, unsigned depth) {
    _cleanup_(fd_closep) int handle = depth > 1 ? proc_open(pid) : -1;
    struct proc_stat stat;
    if ((depth == 1 || handle >= 0) && proc_read("/proc", pid, &stat) == 0 && stat.parent == parent
        && stat.state != 'Z' && stat.state != 'X')
        visit_alive(ctx, pid, handle, depth);
}

static void send(pid_t pid, int handle, int signal) {
    (void)(handle >= 0 ? proc_signal(handle, signal) : kill(pid, signal));
}

static void visit_alive(struct walk *walk, pid_t pid, int handle, unsigned depth) {
    walk->sum.processes += pid != walk->own;
    if (walk->kill)
        send(pid, handle, SIGSTOP);
    else
        walk->sum.memory += proc_memory(pid);
    if (depth < WALK_DEPTH)
        proc_children(pid, visit, walk, depth + 1);
    if (walk->kill)
        send(pid, handle, SIGKILL);
}

struct tree_sum tree_measure(const struct shim *s) {
    struct walk walk = { .kill = false, .own = s->inside.parent };
    proc_children(s->self, visit, &walk, 1);
    walk.sum.processes -= s->inside.command > 0 && s->leader > 0 && walk.sum.processes > 0;
    return walk.sum;
}

static void walk_and_kill(struct shim *s) {
    struct walk walk = { .kill = true };
    proc_children(s->self, visit, &walk, 1);
}

/* --- killing --------------------------------------------------------------------------------- */

static bool kill_cgroup(struct shim *s) {
    if (!s->cgroup_kill)
        return false;
    _cleanup_(fd_closep) int fd = openat(s->cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    s->cgroup_kill = fd >= 0 && write(fd, "1", 1) == 1;
    s->cgroup_killed = s->cgroup_killed || s->cgroup_kill;
    return s->cgroup_kill;
}

void tree_kill(struct shim *s) {
    if (s->leader > 1)
        (void)kill(s->leader, SIGKILL); /* our child: its pid is not reused before it is reaped */
    if (kill_cgroup(s))
        limits_note(s, "cgroup.kill");
    else {
        walk_and_kill(s);
        limits_note(s, "subreaper.kill");
    }
}

void tree_end(struct shim *s) {
    if (!tree_reap(s))
        return;
    s->end.leftover += tree_measure(s).processes;
    time_ms wait = REAP_WAIT_MIN;
    for (unsigned round = 0;; round++) {
        tree_kill(s);
        if (round >= STUBBORN_AFTER && s->cgroup_kill)
            walk_and_kill(s); /* a process that left the cgroup is still our descendant */
        if (!tree_reap(s))
            return;
        (void)watch_for_signal(SIGCHLD, wait);
        if (!tree_reap(s))
            return;
        wait = time_min(wait * 2, REAP_WAIT_MAX);
    }
}
