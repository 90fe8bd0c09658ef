/* changes.c: which rows are old? See changes.h and core_take_changes in core.h.
 *
 * Orders alone do not say it: a stronger wish to stop gives no order, nor does a dependency that is
 * forgotten change the state of those that named it, yet their rows must follow. */
#include "core/changes.h"

#include "base/alloc.h"
#include "core/core.h"
#include "core/gates.h"
#include "core/queue.h"
#include "core/task.h"

#define LOOK_BACK 64 /* for the same bucket; one that is farther back is told twice */

void changes_note_task(struct core *c, uint32_t task) {
    struct changes *ch = &c->changes;
    struct task *t = task_at(c, task);
    ch->tasks = xgrow(ch->tasks, &ch->task_capacity, ch->task_count + 1, sizeof(*ch->tasks));
    ch->tasks[ch->task_count++] = t->id;
    t->flags |= TASK_CHANGED;
}

void change_usage(struct core *c, uint32_t project, time_ms at, const struct bucket *what,
                  int sign) {
    struct changes *ch = &c->changes;
    if (!ch->on || c->loading)
        return;
    sym name = c->projects[project].spec.id;
    size_t i = ch->usage_count, last = i > LOOK_BACK ? i - LOOK_BACK : 0;
    while (i > last && (ch->usage[i - 1].project != name || ch->usage[i - 1].at != at))
        i--;
    if (i == last) {
        ch->usage = xgrow(ch->usage, &ch->usage_capacity, ch->usage_count + 1, sizeof(*ch->usage));
        ch->usage[ch->usage_count++] = (struct usage_spec){ .project = name, .at = at };
        i = ch->usage_count;
    }
    struct usage_spec *u = &ch->usage[i - 1];
    u->tokens += sign * what->reported;
    u->unreported += sign * (what->share - what->reported);
    u->starts += sign * (int32_t)what->starts; /* one that is taken back wraps to -1 */
    u->completions += sign * (int32_t)what->completions;
    u->reports += sign * (int32_t)what->reports;
    u->money += sign * what->money;
    u->priced += sign * (int32_t)what->priced;
    u->unpriced += sign * (int32_t)what->unpriced;
}

void core_watch(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++)
        task_at(c, h)->flags &=
            (uint16_t) ~(TASK_CHANGED | TASK_REWIRED); /* of whom it is a copy */
    c->changes.on = true;
}

static void take_tasks(struct core *c, const struct core_changes *calls) {
    for (size_t i = 0; i < c->changes.task_count; i++) {
        uint32_t task = task_find(c, c->changes.tasks[i]);
        bool rewired = task && (task_at(c, task)->flags & TASK_REWIRED);
        if (task)
            task_at(c, task)->flags &= (uint16_t) ~(TASK_CHANGED | TASK_REWIRED);
        if (rewired && calls->depends)
            calls->depends(calls->ctx, c->changes.tasks[i]);
        if (calls->task)
            calls->task(calls->ctx, c->changes.tasks[i]);
    }
    c->changes.task_count = 0;
}

static void take_agents_and_limiters(struct core *c, const struct core_changes *calls) {
    for (uint32_t a = 1; a < c->agent_count; a++) {
        if (c->agents[a].changed && calls->agent)
            calls->agent(calls->ctx, c->agents[a].spec.id);
        c->agents[a].changed = false;
    }
    for (uint32_t l = 1; l < c->limiter_count; l++) {
        if (c->limiters[l].changed && calls->limiter)
            calls->limiter(calls->ctx, c->limiters[l].spec.id);
        c->limiters[l].changed = false;
    }
}

static void take_waits(struct core *c, const struct core_changes *calls) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].domains; h; h = domain_at(c, h)->next) {
            struct domain *d = domain_at(c, h);
            struct wait_spec wait = queue_wait_spec(c, p, d);
            if (d->changed && calls->wait)
                calls->wait(calls->ctx, &wait);
            d->changed = false;
        }
    }
}

/* What decides nothing is not written down: most never have a pace. */
static void take_pace(struct core *c, const struct core_changes *calls) {
    if (!c->pace_changed || !pace_in_force(c))
        return;
    struct pace_spec pace = core_pace(c);
    if (calls->pace)
        calls->pace(calls->ctx, &pace);
    c->pace_changed = false;
}

void core_take_changes(struct core *c, const struct core_changes *calls) {
    take_tasks(c, calls);
    take_agents_and_limiters(c, calls);
    for (size_t i = 0; i < c->changes.usage_count && calls->usage; i++)
        calls->usage(calls->ctx, &c->changes.usage[i]);
    c->changes.usage_count = 0;
    queue_clocks_look(c);
    take_waits(c, calls);
    take_pace(c, calls);
}
