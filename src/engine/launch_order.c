/* launch_order.c: a start order that is on disk becomes a process; a stop order reaches it.
 *
 * A few at a time: each makes files. Between two of these rounds everything else is heard, so a round ends when its time
 * is over. A stop that comes before the launch finds no process; the launch sees that it was wished for and does not happen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/executors_internal.h"
#include "engine/iteration.h"
#include "engine/secrets.h"
#include "engine/watch.h"
#include "engine/workspace.h"
#include "os/clock.h"

#define LAUNCHES_EACH 8    /* in one round of the loop; */
#define LAUNCHES_US   4000 /* after so long no other begins */

/* --- the DONE marker ------------------------------------------------------------------------- */

struct launch {
    LIST(task_id) tasks; /* start orders that are on disk, */
    size_t done;         /* of which so many are carried out */
    size_t questions;    /* to the store, about others */
    time_ms look_at;     /* no launch is late before */
};

static struct launch *launch_of(const struct engine *e) {
    return e->part[PART_launch];
}

void launch_remove_marker(const struct engine *e, const char *id) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/done/%s", e->data, id);
    (void)unlink(strbuf_text(&path)); /* most have none */
    strbuf_clear(&path);
    strbuf_printf(&path, "%s/tasks/%s/" ITERATION_OWN "/%s", e->data, id, id);
    (void)unlink(strbuf_text(&path));
    strbuf_finish(&path);
}

void launch_marker_path(const struct engine *e, task_id task, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "%s/done/%s", e->data, engine_task_id(e, task, id));
}

/* No new attempt once its marker is there (marker_hold looks for something else of that name). True: it is not
 * launched. */
static bool is_ended_by_marker(struct engine *e, struct live_run *run) {
    struct error err = { 0 };
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, run->task, &view);
    if (view.until != UNTIL_DONE || marker_look(e, run->task) != MARKER_FILE)
        return false;
    error_set(&err, -EALREADY, "its DONE marker was there before it was launched");
    finish_note_end(e, run, RUN_END_EXIT, &err);
    return true;
}

/* --- starts ---------------------------------------------------------------------------------- */

/* What could not be launched is told like any other end, in the next turn. */
static void launch_task(struct engine *e, task_id task, const struct spec_row *row) {
    struct error err = { 0 };
    struct live_run *run = run_find(e, task);
    struct task_spec told;
    if (!run || !core_task_spec(e->core, task, &told))
        return;
    if (told.stop != STOP_NONE) {
        error_set(&err, -ECANCELED, "it was stopped before it was launched");
        finish_note_end(e, run, RUN_END_STOPPED, &err);
    } else if (!is_ended_by_marker(e, run) && launch_spec(e, run, row, &err) < 0) {
        finish_note_end(e, run, RUN_END_LAUNCH, &err);
    }
}

/* The question behind a few starts; the store answers now or later. */
struct launch_question {
    struct engine *e;
    size_t count;
    task_id tasks[LAUNCHES_EACH];
};

/* They are the next ones again. */
static void put_back(struct engine *e, const task_id *tasks, size_t count) {
    size_t left = launch_of(e)->tasks.count - launch_of(e)->done;
    for (size_t i = 0; i < count; i++)
        *LIST_ADD(&launch_of(e)->tasks) = 0; /* room */
    task_id *begin = launch_of(e)->tasks.items + launch_of(e)->done;
    memmove(begin + count, begin, left * sizeof(*begin));
    memcpy(begin, tasks, count * sizeof(*begin));
    turn_wake(e);
}

static void specs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct launch_question *q = ctx;
    launch_of(q->e)->questions--;
    if (err)
        turn_break(q->e, err); /* a store that cannot be read stops scheduling loudly */
    int64_t began = clock_read_steady_us();
    for (size_t i = 0, k = 0; !turn_is_over(q->e) && i < q->count; i++) {
        if (i > 0 && clock_read_steady_us() - began > LAUNCHES_US) {
            put_back(q->e, q->tasks + i, q->count - i);
            break;
        }
        bool there = k < answer->count && answer->specs[k].id == q->tasks[i];
        launch_task(q->e, q->tasks[i], there ? &answer->specs[k] : NULL);
        k += there;
    }
    free(q);
}

void launch_later(struct engine *e, task_id task) {
    *LIST_ADD(&launch_of(e)->tasks) = task;
}

static void launch_some(struct engine *e) {
    size_t left = launch_of(e)->tasks.count - launch_of(e)->done;
    if (left == 0 || turn_is_over(e) || executor_is_busy(e->executor))
        return; /* each start that is done begins a turn */
    struct launch_question *q = xcalloc(1, sizeof(*q));
    q->e = e;
    q->count = left < LAUNCHES_EACH ? left : LAUNCHES_EACH;
    memcpy(q->tasks, launch_of(e)->tasks.items + launch_of(e)->done, q->count * sizeof(*q->tasks));
    launch_of(e)->done += q->count;
    if (launch_of(e)->done == launch_of(e)->tasks.count)
        launch_of(e)->done = launch_of(e)->tasks.count = 0;
    else
        turn_wake(e);
    struct store_question question = { .kind = ASK_SPECS,
                                       .tasks = q->tasks,
                                       .task_count = q->count };
    launch_of(e)->questions++;
    store_ask(e->store, &question, specs_answered, q);
}

/* --- stops ----------------------------------------------------------------------------------- */

void launch_stop(struct engine *e, const struct order *order) {
    struct live_run *run = run_find(e, order->task);
    struct run_key key = { .task = order->task, .attempt = order->attempt };
    if (!run || run->view.attempt != order->attempt || run->is_away || turn_is_over(e))
        return;
    if (executors_stop(e, key, run->stop_now ? STOP_AT_ONCE : STOP_POLITELY) == 0)
        stopping_told(e, run);
    workspace_stop(e, order->task);
    secrets_stop(e, order->task);
}

void engine_stop_at_once(struct engine *e, task_id task) {
    struct live_run *run = run_find(e, task);
    struct task_spec told;
    if (!run || !core_task_spec(e->core, task, &told))
        return;
    run->stop_now = true;
    if (told.stop != STOP_NONE) { /* the core orders a stop once; this one is ours */
        *LIST_ADD(&e->turn.stops) =
            (struct order){ .kind = ORDER_STOP, .task = task, .attempt = run->view.attempt };
        rows_write_run(e, run);
    }
}

/* --- deadlines ------------------------------------------------------------------------------- */

/* how long may a command take to be seen?
 *
 * On this machine a shim starts at once, or something is wrong with it. Its command starts when its worktree is
 * prepared, which has a time-out of its own. In Slurm a run may wait for a place for days: its executor knows when
 * it cannot begin any more. */
void launch_set_deadline(struct engine *e, struct live_run *run) {
    if (run->executor != EXECUTOR_LOCAL)
        return;
    run->launch_deadline = time_add(e->now, config_number(e->config, "tasks.launch_s", NULL));
    launch_of(e)->look_at = time_min(launch_of(e)->look_at, run->launch_deadline);
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
static void launch_check_deadlines(struct engine *e) {
    if (launch_of(e)->look_at > e->now)
        return;
    launch_of(e)->look_at = TIME_NEVER;
    for (size_t i = 0; i < run_count(e); i++) {
        struct live_run *run = run_live_at(e, i);
        struct run_key key = { .task = run->task, .attempt = run->view.attempt };
        if (run->launch_deadline <= e->now && !move_deadline(e, run)) {
            run->launch_deadline = TIME_NEVER;
            (void)executors_stop(e, key, STOP_AT_ONCE); /* see outcome_of_stop */
        }
        launch_of(e)->look_at = time_min(launch_of(e)->look_at, run->launch_deadline);
    }
}

/* --- the part -------------------------------------------------------------------------------- */

static void launch_reset(struct engine *e) {
    launch_of(e)->look_at = TIME_NEVER;
}

static void launch_ordered(struct engine *e) {
    for (size_t i = 0; i < e->turn.starts.count; i++)
        launch_later(e, e->turn.starts.items[i].task);
}

static time_ms launch_next_look(const struct engine *e) {
    return launch_of(e)->look_at;
}

static bool launch_is_busy(const struct engine *e) {
    return launch_of(e)->tasks.count > 0 || launch_of(e)->questions > 0;
}

static void launch_free(struct engine *e) {
    free(launch_of(e)->tasks.items);
}

const struct engine_part launch_part = {
    .name = "launch",
    .state_size = sizeof(struct launch),
    .at = { [STEP_INIT] = launch_reset,
            [STEP_UNLOAD] = launch_reset,
            [STEP_FACTS] = launch_check_deadlines,
            [STEP_CARRY_OUT] = launch_ordered,
            [STEP_ROUND_END] = launch_some,
            [STEP_FREE] = launch_free },
    .next_wakeup = launch_next_look,
    .is_launching = launch_is_busy,
};
