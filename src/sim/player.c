/* player.c: plays a queue in virtual time. See player.h.
 *
 * Each turn is one point in time: the clock is set, the runs that are due end, the core decides,
 * and its orders are carried out by drawing how each run will go. Then time jumps to the next point
 * at which anything can happen. Runs that end together end in the order of their starts, so the
 * same seed always gives the same record. */
#include "sim/player.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/timer_heap.h"

/* A child that waits for an artifact of its parent. */
struct sim_awaited {
    uint32_t parent, child;
};

struct player {
    const struct sim_world *world;
    const struct sim_options *options;
    struct sim_play *play;
    time_ms now;
    struct timer_heap ends;      /* handles: index of the run + 1 */
    struct timer_heap approvals; /* handles: task numbers */
    struct order *orders;        /* of this turn, to be carried out */
    size_t order_count, order_capacity;
    struct sim_awaited *awaited; /* by parent */
    size_t awaited_count;
    struct {
        double per_weight; /* tokens of contested runs so far, per weight of those that compete */
        double per_head;   /* the same, per project, while all weights are 0 */
        int64_t weight;    /* of the projects that compete now */
        uint32_t projects;
    } contest;
    bool acted;        /* a fact was applied after the decision, which must be repeated */
    struct error *err; /* of this turn */
};

#define STEPS_BASE     50000000u
#define STEPS_PER_TASK 200u

static const char *const end_names[] = {
    [SIM_DRAINED] = "drained",
    [SIM_STUCK] = "stuck",
    [SIM_HORIZON] = "horizon",
    [SIM_STEPS] = "steps",
};
_Static_assert(ARRAY_SIZE(end_names) == SIM_END_MAX, "an end has no name");

const char *sim_end_name(enum sim_end end) {
    return end_names[end];
}

static int player_apply(struct player *p, const struct fact *fact, struct error *err) {
    p->play->steps++;
    int r = core_apply(p->world->core, fact, err);
    if (r < 0)
        return error_prefix(err, "internal error: the scheduler refused '%s'",
                            fact_kind_name(fact->kind));
    return 0;
}

/* --- projects that compete ------------------------------------------------------------------- */

static bool group_competes(const struct sim_group *project) {
    return project->ready > 0 && project->weight >= 0;
}

/* Adds the project's part by weight since it began to compete. When all weights are 0, all projects
 * count the same, as in the core. */
static void contest_settle(const struct player *p, struct sim_group *project) {
    project->contested_target +=
        (double)project->weight * (p->contest.per_weight - project->joined_weight);
    project->contested_target += p->contest.per_head - project->joined_head;
}

/* Updates the projects that compete. */
static void player_set_ready(struct player *p, task_id id, bool ready) {
    struct sim_task *task = &p->play->tasks[id];
    if (task->is_ready == ready)
        return;
    task->is_ready = ready;
    if (ready && task->ready_at == TIME_NEVER)
        task->ready_at = p->now;
    struct sim_group *project = &p->play->projects[task->project];
    bool changes = ready ? project->ready++ == 0 : --project->ready == 0;
    if (!changes || project->weight < 0)
        return;
    if (ready) {
        project->joined_weight = p->contest.per_weight;
        project->joined_head = p->contest.per_head;
    } else {
        contest_settle(p, project);
    }
    p->contest.weight += ready ? project->weight : -project->weight;
    p->contest.projects += ready ? 1 : UINT32_MAX;
}

/* A slot went to this project while others had ready tasks too. */
static void contest_charge(struct player *p, const struct sim_run *run) {
    struct sim_group *project = &p->play->projects[p->play->tasks[run->task].project];
    if (p->contest.projects < 2 || !group_competes(project) || run->tokens <= 0)
        return;
    project->contested += (double)run->tokens;
    if (p->contest.weight > 0)
        p->contest.per_weight += (double)run->tokens / (double)p->contest.weight;
    else
        p->contest.per_head += (double)run->tokens / (double)p->contest.projects;
}

/* --- runs ------------------------------------------------------------------------------------ */

static enum outcome outcome_of_failure(const struct player *p, task_id task) {
    struct task_view view;
    enum until until = core_task(p->world->core, task, &view) ? view.until : UNTIL_EXIT;
    return until == UNTIL_DONE       ? OUTCOME_UNFINISHED
           : until == UNTIL_VALIDATE ? OUTCOME_INVALID
                                     : OUTCOME_FAILED;
}

/* Every number is drawn, needed or not, so that a change of one hint does not change the others. */
static void run_draw(const struct player *p, struct sim_run *run, bool has_limiter) {
    const struct sim_world *world = p->world;
    struct sim_hint hint;
    world->hint(world->ctx, run->task, &hint);
    const char *name = world->name(world->ctx, run->task);
    uint64_t key = hash_mix(p->options->seed, hash_bytes(name, strlen(name)));
    struct rng rng = { .state = hash_mix(key, run->attempt) };
    time_ms duration = rng_between(&rng, hint.duration_min, hint.duration_max);
    int64_t tokens = rng_between(&rng, hint.tokens_min, hint.tokens_max);
    bool limited = (int64_t)rng_below(&rng, 1000) < hint.limited_milli;
    bool failed = (int64_t)rng_below(&rng, 1000) < hint.failure_milli;
    run->end = time_max(p->now, time_add(run->start, time_max(duration, 1)));
    run->tokens = tokens;
    run->money = hint.money;
    if (limited && has_limiter)
        run->outcome = OUTCOME_LIMITED;
    else if (failed)
        run->outcome = outcome_of_failure(p, run->task);
    else
        run->outcome = OUTCOME_OK;
}

static void add_live(uint32_t *live, uint32_t *peak, int by) {
    *live += (uint32_t)by;
    *peak = *live > *peak ? *live : *peak;
}

static void count_live(struct sim_play *play, const struct sim_task *task, int by) {
    struct sim_group *project = &play->projects[task->project], *kind = &play->kinds[task->kind];
    add_live(&play->live, &play->peak, by);
    add_live(&project->live, &project->peak, by);
    add_live(&kind->live, &kind->peak, by);
}

/* Records a run that begins at `start` and draws how it goes. */
static void player_add_run(struct player *p, const struct task_view *view, time_ms start) {
    struct sim_play *play = p->play;
    play->runs = xgrow(play->runs, &play->run_capacity, play->run_count + 1, sizeof(*play->runs));
    struct sim_run *run = &play->runs[play->run_count++];
    *run = (struct sim_run){
        .start = start,
        .task = (uint32_t)view->id,
        .attempt = view->attempt,
        .live = true,
    };
    run_draw(p, run, view->limiter != 0);
    struct sim_task *task = &play->tasks[view->id];
    task->live_run = (uint32_t)play->run_count;
    count_live(play, task, 1);
    timer_heap_add(&p->ends, run->end, 0, (uint32_t)play->run_count);
}

static int start_run(struct player *p, const struct order *order, struct error *err) {
    struct sim_task *task = &p->play->tasks[order->task];
    if (task->first_start == TIME_NEVER && order->attempt == 1)
        task->first_start = p->now;
    const struct task_view view = {
        .id = order->task,
        .attempt = order->attempt,
        .limiter = order->limiter,
    };
    player_add_run(p, &view, p->now);
    player_set_ready(p, order->task, true); /* no order may have reported it as ready */
    contest_charge(p, &p->play->runs[p->play->run_count - 1]);
    player_set_ready(p, order->task, false);
    return player_apply(
        p,
        &(struct fact){ .kind = FACT_RUN_STARTED, .task = order->task, .attempt = order->attempt },
        err);
}

/* Ends the task's live run, if it has one, after the grace period. */
static void player_stop_run(struct player *p, task_id id) {
    struct sim_task *task = &p->play->tasks[id];
    if (task->live_run == 0)
        return; /* draining: its process has ended */
    struct sim_run *run = &p->play->runs[task->live_run - 1];
    time_ms stopped = time_add(p->now, SIM_STOP_DURATION);
    if (run->end <= stopped)
        return;
    run->end = stopped;
    run->outcome = OUTCOME_CANCELED;
    timer_heap_remove(&p->ends, run->heap_position);
    timer_heap_add(&p->ends, stopped, 0, task->live_run);
}

static int end_run(struct player *p, uint32_t handle, struct error *err) {
    struct sim_run *run = &p->play->runs[handle - 1];
    struct sim_task *task = &p->play->tasks[run->task];
    run->live = false;
    task->live_run = 0;
    count_live(p->play, task, -1);
    p->play->end = run->end;
    const struct fact ended = {
        .kind = FACT_RUN_ENDED,
        .task = run->task,
        .attempt = run->attempt,
        .ended = { .outcome = run->outcome,
                   .tokens = run->tokens,
                   .money = run->money,
                   .output = true },
    };
    int r = player_apply(p, &ended, err);
    if (r < 0 || !run->listed || run->workspace == 0)
        return r;
    /* The snapshot may list the workspace as locked by this run. */
    return player_apply(
        p, &(struct fact){ .kind = FACT_WORKSPACE, .workspace = { .id = run->workspace } }, err);
}

/* --- orders ---------------------------------------------------------------------------------- */

/* A task that is done leaves the artifacts that its children wait for. */
static int leave_artifacts(struct player *p, task_id parent, struct error *err) {
    size_t low = 0, high = p->awaited_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->awaited[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->awaited_count && p->awaited[low].parent == parent; low++) {
        const struct fact there = { .kind = FACT_ARTIFACT,
                                    .task = p->awaited[low].child,
                                    .artifact_present = true };
        p->acted = true;
        int r = player_apply(p, &there, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool awaits_verdict(enum hold hold) {
    return hold == HOLD_REVIEW || hold == HOLD_EXTERNAL;
}

static void plan_approval(struct player *p, task_id task, enum hold hold) {
    if (p->options->approve_after != TIME_NEVER && awaits_verdict(hold))
        timer_heap_add(&p->approvals, time_add(p->now, p->options->approve_after), 0,
                       (uint32_t)task);
}

static int follow_change(struct player *p, const struct order *change, struct error *err) {
    if (change->to != TASK_STARTING) /* START orders are handled by start_run */
        player_set_ready(p, change->task, change->to == TASK_READY);
    if (change->to == TASK_HELD)
        plan_approval(p, change->task, change->hold);
    if (change->to == TASK_DONE)
        return leave_artifacts(p, change->task, err);
    return 0;
}

/* The next fact invalidates the core's list, so orders that cause facts are copied first. */
static int decide(struct player *p, struct error *err) {
    size_t count;
    const struct order *orders = core_decide(p->world->core, &count);
    p->play->steps += count;
    p->orders = xgrow(p->orders, &p->order_capacity, count + 1, sizeof(*p->orders));
    p->order_count = 0;
    for (size_t i = 0; i < count; i++)
        if (orders[i].kind != ORDER_GROUP && orders[i].kind != ORDER_ESCALATE
            && orders[i].task <= p->play->task_count)
            p->orders[p->order_count++] = orders[i];
    for (size_t i = 0; i < p->order_count; i++) {
        const struct order *order = &p->orders[i];
        int r = 0;
        if (order->kind == ORDER_START)
            r = start_run(p, order, err);
        else if (order->kind == ORDER_STOP)
            player_stop_run(p, order->task);
        else
            r = follow_change(p, order, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- setup -------------------------------------------------------------------------------------
 *
 * Assigns tasks to projects and kinds, finds ready tasks, draws an end for live runs, and notes
 * which children wait for an artifact of their parent. */

struct group_index {
    uint32_t *by_symbol; /* index + 1; 0: not seen */
    size_t capacity;
};

static uint32_t group_of(struct group_index *index, struct sim_group **groups, size_t *count,
                         sym id) {
    if (index->by_symbol[id] == 0) {
        *groups = xgrow(*groups, &index->capacity, *count + 1, sizeof(**groups));
        (*groups)[(*count)++] = (struct sim_group){ .id = id };
        index->by_symbol[id] = (uint32_t)*count;
    }
    return index->by_symbol[id] - 1;
}

static bool waits_for_artifact(const struct player *p, task_id task) {
    struct verdict verdicts[VERDICT_MAX];
    size_t count = core_explain(p->world->core, task, verdicts);
    for (size_t i = 0; i < count; i++)
        if (verdicts[i].gate == GATE_ARTIFACT)
            return !verdicts[i].open;
    return false;
}

static int awaited_compare(const void *left, const void *right) {
    const struct sim_awaited *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->child < b->child ? -1 : a->child > b->child;
}

static int setup_live(struct player *p, const struct task_view *view, struct error *err) {
    if (view->phase == PHASE_DRAINING)
        return 0; /* it has no process; the core ends it */
    if (view->state == TASK_STARTING) {
        const struct fact started = { .kind = FACT_RUN_STARTED,
                                      .task = view->id,
                                      .attempt = view->attempt };
        int r = player_apply(p, &started, err);
        if (r < 0)
            return r;
    }
    bool known = view->started_at > 0 && view->started_at < p->now;
    player_add_run(p, view, known ? view->started_at : p->now);
    struct sim_run *run = &p->play->runs[p->play->run_count - 1];
    run->listed = true;
    run->workspace = view->workspace;
    if (view->phase == PHASE_STOPPING)
        player_stop_run(p, view->id);
    return 0;
}

static int setup_task(struct player *p, const struct task_view *view, size_t *awaited_capacity,
                      struct error *err) {
    if (view->state == TASK_READY)
        player_set_ready(p, view->id, true);
    if (task_state_is_live(view->state))
        return setup_live(p, view, err);
    if (view->state == TASK_HELD)
        plan_approval(p, view->id, view->hold);
    if (view->parent != 0 && view->parent <= p->play->task_count
        && !task_state_is_final(view->state) && waits_for_artifact(p, view->id)) {
        p->awaited = xgrow(p->awaited, awaited_capacity, p->awaited_count + 1, sizeof(*p->awaited));
        p->awaited[p->awaited_count++] = (struct sim_awaited){
            .parent = (uint32_t)view->parent,
            .child = (uint32_t)view->id,
        };
    }
    return 0;
}

static void setup_groups(struct player *p) {
    struct sim_play *play = p->play;
    size_t symbols = (size_t)core_symbols(p->world->core)->count + 1;
    struct group_index projects = { .by_symbol = xcalloc(symbols, sizeof(uint32_t)) };
    struct group_index kinds = { .by_symbol = xcalloc(symbols, sizeof(uint32_t)) };
    const struct coming *coming = p->world->coming;
    for (size_t i = 0; coming && i < coming->task_count; i++) {
        const struct task_spec *spec = &coming->tasks[i].spec;
        play->tasks[spec->id].arrival = (uint32_t)i + 1;
    }
    for (size_t i = 1; i <= play->task_count; i++) {
        struct task_view view = { 0 };
        (void)core_task(p->world->core, i, &view); /* unknown: no project, no kind */
        struct sim_task *task = &play->tasks[i];
        if (coming && task->arrival > 0) {
            view.project = coming->tasks[task->arrival - 1].spec.project;
            view.kind = coming->tasks[task->arrival - 1].spec.kind;
        }
        task->ready_at = task->first_start = TIME_NEVER;
        task->project = group_of(&projects, &play->projects, &play->project_count, view.project);
        task->kind = group_of(&kinds, &play->kinds, &play->kind_count, view.kind);
        task->listed = view.state != TASK_ABSENT && view.state != TASK_DRAFT
                       && !task_state_is_final(view.state);
    }
    for (size_t i = 0; i < play->project_count; i++) {
        struct share_view view;
        bool open = core_share(p->world->core, play->projects[i].id, &view) && view.open;
        play->projects[i].weight = open ? view.weight_milli : -1;
    }
    free(projects.by_symbol);
    free(kinds.by_symbol);
}

static int player_setup(struct player *p, struct error *err) {
    struct sim_play *play = p->play;
    play->tasks = xcalloc(play->task_count + 1, sizeof(*play->tasks));
    setup_groups(p);
    size_t awaited_capacity = 0;
    for (size_t i = 1; i <= play->task_count; i++) {
        struct task_view view;
        if (!core_task(p->world->core, i, &view))
            continue;
        int r = setup_task(p, &view, &awaited_capacity, err);
        if (r < 0)
            return r;
    }
    if (p->awaited_count > 0)
        qsort(p->awaited, p->awaited_count, sizeof(*p->awaited), awaited_compare);
    return 0;
}

/* --- turns ----------------------------------------------------------------------------------- */

static int approve(struct player *p, task_id task, struct error *err) {
    struct task_view view;
    if (!core_task(p->world->core, task, &view) || view.state != TASK_HELD
        || !awaits_verdict(view.hold))
        return 0; /* its state changed meanwhile */
    return player_apply(p, &(struct fact){ .kind = FACT_APPROVE, .task = task }, err);
}

static int apply_coming(void *ctx, const struct fact *fact) {
    struct player *p = ctx;
    struct error ignored = { 0 };
    return player_apply(p, fact, p->err ? p->err : &ignored);
}

/* One point in time. *ret_happened: something ended, started or changed. */
static int turn(struct player *p, bool *ret_happened, struct error *err) {
    uint64_t quiet = p->play->steps + 1; /* only the clock was set */
    int r = player_apply(p, &(struct fact){ .kind = FACT_CLOCK, .now = p->now }, err);
    uint32_t handle;
    p->err = err;
    if (r >= 0 && p->world->coming)
        r = coming_apply(p->world->coming, p->world->core, p->now, apply_coming, p);
    while (r >= 0 && (handle = timer_heap_pop(&p->ends, p->now)) != 0)
        r = end_run(p, handle, err);
    while (r >= 0 && (handle = timer_heap_pop(&p->approvals, p->now)) != 0)
        r = approve(p, handle, err);
    do {
        p->acted = false;
        if (r >= 0)
            r = decide(p, err);
    } while (r >= 0 && p->acted);
    *ret_happened = p->play->steps != quiet;
    return r;
}

static time_ms next_arrival(const struct player *p) {
    return p->world->coming ? coming_next_task(p->world->coming) : TIME_NEVER;
}

static int play_loop(struct player *p, struct error *err) {
    const time_ms horizon = time_add(p->world->now, p->options->horizon);
    const uint64_t steps_max = p->options->max_steps
                                   ? p->options->max_steps
                                   : STEPS_BASE + (uint64_t)STEPS_PER_TASK * p->play->task_count;
    unsigned idle = 0;
    for (;;) {
        bool happened;
        int r = turn(p, &happened, err);
        if (r < 0)
            return r;
        time_ms next = time_min(timer_heap_next(&p->ends), timer_heap_next(&p->approvals));
        next = time_min(next, core_next_wakeup(p->world->core));
        next = time_max(p->now, time_min(next, next_arrival(p)));
        if (next == TIME_NEVER && p->play->live == 0) {
            p->play->how = SIM_STUCK; /* or SIM_DRAINED: see play_close */
            return 0;
        }
        if (p->world->coming) /* hours that only change do not keep a play going */
            next = time_max(p->now, time_min(next, coming_next_change(p->world->coming)));
        if (next > horizon) {
            p->play->how = SIM_HORIZON;
            p->now = horizon;
            return 0;
        }
        if (p->play->steps > steps_max) {
            p->play->how = SIM_STEPS;
            return 0;
        }
        idle = next == p->now && !happened ? idle + 1 : 0;
        if (idle > SIM_IDLE_TURNS_MAX)
            return error_set(err, -ENOTRECOVERABLE,
                             "internal error: the scheduler asks to be woken at once, %" PRId64
                             " ms after the beginning, and then does nothing",
                             p->now - p->world->now);
        p->now = next;
    }
}

static void play_close(struct player *p) {
    struct sim_play *play = p->play;
    for (size_t i = 0; i < play->project_count; i++)
        if (group_competes(&play->projects[i]))
            contest_settle(p, &play->projects[i]);
    if (play->live > 0)
        play->end = p->now;
    for (size_t i = 0; i < play->run_count; i++)
        if (play->runs[i].live)
            play->runs[i].end = p->now;
    bool drained = true;
    for (size_t i = 1; i <= play->task_count; i++) {
        struct task_view view;
        play->tasks[i].state = core_task(p->world->core, i, &view) ? view.state : TASK_ABSENT;
        if (play->tasks[i].arrival > 0)
            play->tasks[i].listed = play->tasks[i].state != TASK_ABSENT;
        if (play->tasks[i].state != TASK_ABSENT && play->tasks[i].state != TASK_DRAFT)
            drained = drained && task_state_is_final(play->tasks[i].state);
    }
    if (drained)
        play->how = SIM_DRAINED;
}

static void run_moved(void *ctx, uint32_t handle, uint32_t position) {
    struct sim_play *play = ctx;
    play->runs[handle - 1].heap_position = position;
}

int sim_play_run(const struct sim_world *world, const struct sim_options *options,
                 struct sim_play *ret_play, struct error *err) {
    assert(world->task_count < UINT32_MAX);
    struct sim_play play = { .task_count = world->task_count,
                             .begin = world->now,
                             .end = world->now };
    struct player p = { .world = world, .options = options, .play = &play, .now = world->now };
    timer_heap_init(&p.ends, run_moved, &play);
    timer_heap_init(&p.approvals, NULL, NULL);
    int r = player_setup(&p, err);
    if (r >= 0)
        r = play_loop(&p, err);
    if (r >= 0)
        play_close(&p);
    timer_heap_finish(&p.ends);
    timer_heap_finish(&p.approvals);
    free(p.orders);
    free(p.awaited);
    if (r < 0) {
        sim_play_finish(&play);
        return r;
    }
    *ret_play = play;
    return 0;
}

void sim_play_finish(struct sim_play *play) {
    free(play->runs);
    free(play->tasks);
    free(play->projects);
    free(play->kinds);
    *play = (struct sim_play){ 0 };
}
