/* player_setup.c: one look at every task before the clock moves.
 *
 * Sorts the tasks into projects and kinds, finds what is ready, gives an end to what runs already,
 * and remembers which children wait for something their parent has yet to leave.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "sim/player_internal.h"

struct group_index {
    uint32_t *by_symbol; /* index + 1; 0: not seen */
    size_t size;
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
        return 0; /* nothing runs; the core ends it */
    if (view->state == TASK_STARTING) {
        const struct fact started = { .kind = FACT_RUN_STARTED,
                                      .task = view->id,
                                      .attempt = view->attempt };
        int r = player_tell(p, &started, err);
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
    if (view->state == TASK_HELD && p->options->approve_after != TIME_NEVER
        && (view->hold == HOLD_REVIEW || view->hold == HOLD_EXTERNAL))
        timer_heap_add(&p->approvals, time_add(p->now, p->options->approve_after), 0,
                       (uint32_t)view->id);
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
    for (size_t i = 1; i <= play->task_count; i++) {
        struct task_view view = { 0 };
        (void)core_task(p->world->core, i, &view); /* unknown: no project, no kind */
        struct sim_task *task = &play->tasks[i];
        task->ready_at = task->first_start = TIME_NEVER;
        task->project = group_of(&projects, &play->projects, &play->project_count, view.project);
        task->kind = group_of(&kinds, &play->kinds, &play->kind_count, view.kind);
        task->listed = view.state != TASK_ABSENT && view.state != TASK_DRAFT
                       && !task_state_is_final(view.state);
    }
    for (size_t i = 0; i < play->project_count; i++)
        play->projects[i].weight = p->world->weight(p->world->ctx, play->projects[i].id);
    free(projects.by_symbol);
    free(kinds.by_symbol);
}

int player_setup(struct player *p, struct error *err) {
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
