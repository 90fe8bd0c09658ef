/* tell_tasks.c: the tasks, numbered by their place in the file. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "snapshot/tell.h"

static sym limiter_of(struct teller *t, const struct task_record *task) {
    if (task->limiter)
        return task->limiter;
    if (task->agent && teller_known(t, task->agent)->agent_limiter)
        return 0; /* the core takes its agent's */
    return t->only_limiter;
}

/* Waiting tasks with a time to come are held until then; held ones whose time has come wait. */
static void fill_state(const struct task_record *task, time_ms now, struct task_spec *ret) {
    bool later = task->not_before > now;
    ret->state = (enum task_state)task->state;
    if (task->state == TASK_HELD && task->not_before > 0 && !later)
        ret->state = TASK_WAITING;
    if ((task->state == TASK_WAITING || task->state == TASK_READY) && later)
        ret->state = TASK_HELD;
    if (ret->state == TASK_HELD) {
        ret->hold = later ? HOLD_BACKOFF : HOLD_PERSON;
        ret->not_before = later ? task->not_before : 0;
    }
    bool live = task_state_is_live(ret->state);
    if (live) {
        ret->phase = (enum run_phase)task->phase;
        ret->started_at = task->started_at == ABSENT_TIME ? 0 : task->started_at;
    }
    ret->attempt = task->attempt_given ? task->attempt_given - 1 : live;
    if (ret->attempt > 0 && !task_state_is_final(ret->state) && ret->state != TASK_DRAFT)
        ret->keeps = KEEP_ALL;
}

/* Of a live snapshot: as the daemon had it. */
static void fill_live(const struct teller *t, const struct task_record *task,
                      struct task_spec *ret) {
    ret->state = (enum task_state)task->state;
    ret->hold = task->hold == ABSENT ? HOLD_NONE : (enum hold)task->hold;
    ret->not_before = task->not_before;
    ret->attempt = task->attempt_given ? task->attempt_given - 1 : 0;
    ret->phase = (enum run_phase)task->phase;
    ret->started_at = task->started_at == ABSENT_TIME ? 0 : task->started_at;
    ret->stop = (enum stop_wish)task->stop;
    ret->bound = task->bound;
    ret->parent_iteration = task->parent_iteration;
    ret->keeps = task->keeps;
    ret->borrowed = task->borrowed;
    ret->lender = task->lender ? t->draft->ids.entries[task->lender].number : 0;
    ret->failures = (uint16_t)task->failures;
    ret->launch_failures = (uint16_t)task->launch_failures;
    ret->losses = (uint16_t)task->losses;
    ret->restarts = (uint16_t)task->restarts;
    ret->breaker_openings = (uint16_t)task->breaker_openings;
    ret->retry_max = task->retry_max;
    ret->run_agent = task->run_agent;
    ret->run_limiter = task->run_limiter;
    ret->run_unlimited = task_state_is_live(ret->state) && !task->run_limiter;
    ret->enqueued_at = task->enqueued_at == ABSENT_TIME ? 0 : task->enqueued_at;
    /* Of a task that starts: without a wait, nobody knows how long it was. */
    ret->ready_since = task->ready_since == ABSENT_TIME ? 0 : task->ready_since;
    ret->ready_clock = task->ready_clock == ABSENT_TIME ? ret->ready_since : task->ready_clock;
}

static void fill_spec(struct teller *t, const struct task_record *task, struct task_spec *ret) {
    const struct draft *d = t->draft;
    const struct policy *policy = config_policy(t->config);
    int until = task->until == ABSENT ? teller_known(t, task->kind)->until : task->until;
    int gate = task->parent_gate == ABSENT ? (int)policy->parent_gate : task->parent_gate;
    *ret = (struct task_spec){
        .id = d->ids.entries[task->id].number,
        .project = task->project ? task->project : t->default_project,
        .kind = task->kind,
        .agent = task->agent,
        .limiter = limiter_of(t, task),
        .workspace = task->workspace,
        .serial = task->serial,
        .priority = task->priority,
        .parent = task->parent ? d->ids.entries[task->parent].number : 0,
        .resources = task->resource_count ? &d->resources.items[task->resources] : NULL,
        .resource_count = task->resource_count,
        .created_at = task->created_at == ABSENT_TIME ? d->top.now : task->created_at,
        .iteration = task->iteration ? task->iteration : 1,
        .until = (enum until)until,
        .parent_gate = (enum parent_gate)gate,
        .parallelizable =
            task->parallelizable == ABSENT ? !policy->serial : task->parallelizable != 0,
        .review = task->review,
        .artifact_missing = !task->artifact_present,
        .retry_max = -1,
    };
    ret->ready_since = task->ready_since == ABSENT_TIME ? ret->created_at : task->ready_since;
    if (d->top.live)
        fill_live(t, task, ret);
    else
        fill_state(task, d->top.now, ret);
}

static int task_error(struct teller *t, const struct task_record *task) {
    (void)error_prefix(t->err, "task '%s'", id_table_text(&t->draft->ids, task->id));
    return error_prefix(t->err, "%s", t->name);
}

/* `needs` has room for the dependencies of any task. */
static int tell_task(struct teller *t, const struct task_record *task, task_id *needs) {
    struct task_spec spec;
    fill_spec(t, task, &spec);
    for (uint32_t i = 0; i < task->depends_on_count; i++)
        needs[i] = t->draft->depends_on.items[task->depends_on + i];
    spec.depends_on = needs;
    spec.depends_on_count = task->depends_on_count;
    struct fact fact = { .kind = FACT_TASK_ADDED, .task = spec.id, .spec = &spec };
    int r = core_apply(t->core, &fact, t->err);
    if (r == -ELOOP) /* the reader has found the others itself, with their ids */
        return error_set(t->err, -ELOOP,
                         "%s: task '%s' would wait for itself through its dependencies and parents",
                         t->name, id_table_text(&t->draft->ids, task->id));
    bool told = task->tokens != ABSENT || task->usd != ABSENT;
    if (r >= 0 && told && task_state_is_live(spec.state)) {
        struct fact tokens = { .kind = FACT_RUN_TOKENS, .task = spec.id, .attempt = spec.attempt };
        tokens.tokens = task->tokens;
        tokens.money = task->usd; /* ABSENT is -1 */
        r = core_apply(t->core, &tokens, t->err);
    }
    return r < 0 ? task_error(t, task) : 0;
}

/* `free_workspaces` are those that nobody uses: the listed runs have theirs besides. */
static int tell_free_workspaces(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->projects.count; i++) {
        const struct project_record *record = &t->draft->projects.items[i];
        amount used, cap;
        if (record->free_workspaces == ABSENT
            || !core_lease(t->core, LEASE_WORKSPACES, record->id, &used, &cap) || used == 0)
            continue;
        struct fact fact = { .kind = FACT_PROJECT };
        teller_project_spec(t, record, &fact.project);
        fact.project.workspaces += used;
        r = teller_apply(t, &fact);
    }
    return r;
}

/* A live snapshot in the order of the file, as rows are told (core.h: Restart); else parents before their children, whatever the order in the file, so that the core knows the depth
 * of each task when it comes; else in the order of the file. */
static int tell_in_order(struct teller *t, task_id *needs) {
    const struct draft *d = t->draft;
    size_t count = d->tasks.count, depth = 0;
    uint8_t *told = xcalloc(count + 1, sizeof(*told));
    uint32_t *above = xcalloc(count + 1, sizeof(*above)); /* a task and its untold ancestors */
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        for (size_t at = i; at < count && !told[at];) {
            uint32_t parent = d->top.live ? 0 : d->tasks.items[at].parent;
            told[at] = 1;
            above[depth++] = (uint32_t)at;
            at = parent ? d->ids.entries[parent].number - 1 : count;
        }
        while (r == 0 && depth > 0)
            r = tell_task(t, &d->tasks.items[above[--depth]], needs);
    }
    free(told);
    free(above);
    return r;
}

int tell_tasks(struct teller *t) {
    const struct draft *d = t->draft;
    uint32_t most = 0;
    for (size_t i = 0; i < d->tasks.count; i++)
        if (d->tasks.items[i].depends_on_count > most)
            most = d->tasks.items[i].depends_on_count;
    task_id *needs = xcalloc((size_t)most + 1, sizeof(*needs));
    int r = tell_in_order(t, needs);
    free(needs);
    if (r == 0)
        r = tell_free_workspaces(t);
    if (r == 0 && d->top.paused) {
        struct fact pause = { .kind = FACT_PAUSE };
        r = teller_apply(t, &pause);
    }
    return r;
}
