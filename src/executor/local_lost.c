/* local_lost.c: a run leaves no process behind, however its shim has ended.
 *
 * A shim that records an end has killed the tree before. Whoever is in the run's cgroup all the same has put itself there.
 * A shim that was killed has not: its command dies with it (parent death signal), what that has started does not. Before the
 * run is called lost, and perhaps started again in the same folder, those are killed: all of the run's cgroup,
 * then those of the shim's session and those with the TMPDIR of the run. The cgroup may be empty because the shim has
 * found none, or the command could not join it.
 *
 * The number of a session is not given to another process while a process is in it. So if no process has it as its own,
 * all that have it as session are of the old one. A process with a session of its own still has the TMPDIR that it was
 * started with, unless it took care to lose it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/local.h"
#include "os/proc.h"

/* --- slots of helper processes --------------------------------------------------------------- */

/* A cgroup for a helper process that counts as a run (aside.h).
 *
 * Of the same pool as those of runs. So the kernel holds its limits, its tree is killed as a whole, and whatever it
 * starts is known as a run by its cgroup even after something has killed the guard. */

struct cgroup_slot *local_slot_take(struct executor *base, bool limited,
                                    struct executor_slot *ret_slot) {
    struct cgroup_slot *slot = cgroup_take(local_of(base)->cgroups);
    if (!slot)
        return NULL;
    slot->spoiled = limited;
    *ret_slot = (struct executor_slot){ .path = slot->path,
                                        .folder = cgroup_hold(slot),
                                        .daemon = local_of(base)->pipe_out };
    return slot;
}

void local_slot_give_back(struct executor *base, struct cgroup_slot *slot, pid_t guard,
                          enum guard_over how) {
    if (how == GUARD_LOST) {
        if (slot && cgroup_is_populated(slot->path))
            cgroup_kill(slot->path);
        (void)local_kill_session(guard);
    }
    if (slot && how == GUARD_LEFT) { /* it is still in use; the next daemon removes it */
        free(slot->path);
        free(slot);
        return;
    }
    if (slot && how != GUARD_ENDED)
        slot->spoiled = true;
    cgroup_give_back(local_of(base)->cgroups, slot);
}

#define GIVE_UP SECONDS(30)

static bool is_marked(void *variable, pid_t pid) {
    return !proc_has_ended(pid) && proc_has_text(pid, "environ", variable, NULL);
}

static bool is_in_session(void *leader, pid_t pid) {
    struct proc_stat stat;
    return proc_read("/proc", pid, &stat) == 0 && stat.state != 'Z'
           && stat.session == *(pid_t *)leader;
}

unsigned local_kill_session(pid_t leader) {
    bool is_dead = leader > 1 && proc_has_ended(leader);
    return is_dead ? proc_sweep(is_in_session, &leader, SIGKILL, NULL) : 0;
}

static bool kill_once(const struct local_run *run) {
    const char *cgroup = run->slot ? run->slot->path : run->old_cgroup;
    /* After an end that an earlier daemon has seen, its slot was given to another run. */
    if (cgroup && !run->slot && run->has_end && cgroup_is_held(cgroup))
        return true;
    if (cgroup && cgroup_is_populated(cgroup)) {
        cgroup_kill(cgroup);
        if (run->slot)
            run->slot->spoiled = true;
        return false; /* they need a moment */
    }
    if (run->has_end)
        return true;
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    strbuf_printf(&mark, "TMPDIR=%s/%s/tmp", run->ex->root_given, run->folder);
    return local_kill_session(run->shim) + proc_sweep(is_marked, mark.text, SIGKILL, NULL) == 0;
}

bool local_kill_rest(struct local_run *run) {
    if (kill_once(run))
        return true;
    time_ms now = loop_now_steady(run->ex->loop);
    if (run->give_up_at == 0)
        run->give_up_at = now + GIVE_UP;
    if (now < run->give_up_at)
        return false;
    size_t used = strlen(run->end.message);
    (void)snprintf(run->end.message + used, sizeof(run->end.message) - used,
                   "; some of its processes cannot be killed");
    return true;
}
