/* launch_deadline.c: how long may a command take to be seen?
 *
 * On this machine a shim starts at once, or something is wrong with it. Its command starts when its worktree is
 * prepared, which has a time-out of its own. In Slurm a run may wait for a place for days: its executor knows when
 * it cannot begin any more. */
#include "engine/executors_internal.h"

void launch_set_deadline(struct engine *e, struct live_run *run) {
    if (run->executor != EXECUTOR_LOCAL)
        return;
    run->launch_deadline = time_add(e->now, config_number(e->config, "tasks.launch_s", NULL));
    e->launch_look = time_min(e->launch_look, run->launch_deadline);
}

/* True: its worktree is being prepared, and it has more time for that. */
static bool move_deadline(const struct engine *e, struct live_run *run) {
    time_ms more = run->deadline_moved ? 0 : launch_prepare_time(e, run);
    if (more == 0)
        return false;
    run->prepares = run->deadline_moved = true;
    run->launch_deadline = time_add(e->now, more);
    return true;
}

/* Looks at the runs only when the earliest of these deadlines has passed, whosever it was. */
void launch_check_deadlines(struct engine *e) {
    if (e->launch_look > e->now)
        return;
    e->launch_look = TIME_NEVER;
    for (size_t i = 0; i < e->live.count; i++) {
        struct live_run *run = run_live_at(e, i);
        struct run_key key = { .task = run->task, .attempt = run->view.attempt };
        if (run->launch_deadline <= e->now && !move_deadline(e, run)) {
            run->launch_deadline = TIME_NEVER;
            (void)executors_stop(e, key, STOP_AT_ONCE); /* see outcome_of_stop */
        }
        e->launch_look = time_min(e->launch_look, run->launch_deadline);
    }
}
