/* local_lost.c: a run leaves no process behind, however its shim has ended.
 *
 * A shim that records an end has killed the tree before. Whoever is in the run's cgroup all the same has put itself there.
 * A shim that was killed has not: its command dies with it (parent death signal), what that has started does not. Before the
 * run is called lost, and perhaps started again in the same folder, those are killed: all of the run's cgroup,
 * then those of the shim's session and those with the TMPDIR of the run. The cgroup may be empty because the shim has
 * found none, or the command could not join it. */
#include "executor/local.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "executor/proc.h"

#define GIVE_UP SECONDS(30)

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
    return proc_kill_session(run->shim) + proc_kill_marked(mark.text) == 0;
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
