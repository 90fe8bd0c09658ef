/* disk.c: see disk.h. */
#include "disk.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void disk_finish(struct disk *disk) {
    free(disk->tasks);
    free(disk->usage);
    free(disk->reporting);
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_task(void *ctx, task_id id) {
    struct disk *disk = ctx;
    size_t before = disk->task_count;
    if (id >= before) {
        disk->tasks = xgrow(disk->tasks, &disk->task_capacity, id + 1, sizeof(*disk->tasks));
        memset(disk->tasks + before, 0, (id + 1 - before) * sizeof(*disk->tasks));
        disk->task_count = id + 1;
    }
    struct stored_task row;
    if (!stored_task_read(disk->core, id, &row)) {
        disk->tasks[id] = (struct stored_task){ 0 };
        return;
    }
    if (disk->rewired != id) { /* what it depends on is in rows of its own */
        memcpy(row.depends_on, disk->tasks[id].depends_on, sizeof(row.depends_on));
        row.spec.depends_on_count = disk->tasks[id].spec.depends_on_count;
    }
    disk->tasks[id] = row;
}

static void put_depends(void *ctx, task_id id) {
    struct disk *disk = ctx;
    disk->rewired = id;
}

static void put_agent(void *ctx, sym agent) {
    struct disk *disk = ctx;
    core_agent_spec(disk->core, agent, &disk->agents[index_of(SYM_AGENT, agent)]);
}

static void put_limiter(void *ctx, sym limiter) {
    struct disk *disk = ctx;
    core_limiter_spec(disk->core, limiter, &disk->limiters[index_of(SYM_LIMITER, limiter)]);
}

static void add_usage(void *ctx, const struct usage_spec *added) {
    struct disk *disk = ctx;
    size_t i = disk->usage_count; /* mostly one of the last */
    while (i > 0
           && (disk->usage[i - 1].project != added->project || disk->usage[i - 1].at != added->at))
        i--;
    if (i == 0) {
        disk->usage =
            xgrow(disk->usage, &disk->usage_capacity, disk->usage_count + 1, sizeof(*disk->usage));
        disk->usage[disk->usage_count++] = *added;
        return;
    }
    struct usage_spec *u = &disk->usage[i - 1];
    u->tokens += added->tokens;
    u->unreported += added->unreported;
    u->starts += added->starts;
    u->completions += added->completions;
    u->reports += added->reports;
    u->money += added->money;
    u->priced += added->priced;
    u->unpriced += added->unpriced;
}

static void put_wait(void *ctx, const struct wait_spec *wait) {
    struct disk *disk = ctx;
    size_t i = 0;
    while (i < disk->wait_count
           && (disk->waits[i].project != wait->project || disk->waits[i].limiter != wait->limiter
               || disk->waits[i].agent != wait->agent))
        i++;
    disk->wait_count += i == disk->wait_count;
    disk->waits[i] = *wait;
}

static void put_pace(void *ctx, const struct pace_spec *pace) {
    struct disk *disk = ctx;
    disk->pace = *pace;
}

void disk_note_tokens(struct disk *disk, task_id task) {
    disk->reporting = xgrow(disk->reporting, &disk->reporting_capacity, disk->reporting_count + 1,
                            sizeof(*disk->reporting));
    disk->reporting[disk->reporting_count++] = task;
}

static void put_tokens(struct disk *disk) {
    for (size_t i = 0; i < disk->reporting_count; i++) {
        struct task_view view;
        if (!core_task(disk->core, disk->reporting[i], &view))
            continue;
        disk->tasks[disk->reporting[i]].tokens = view.tokens;
        disk->tasks[disk->reporting[i]].money = view.money;
        disk->tasks[disk->reporting[i]].expected = view.expected;
    }
    disk->reporting_count = 0;
}

void disk_commit(struct disk *disk, struct core *core) {
    disk->core = core;
    disk->rewired = 0;
    core_take_changes(core, &(struct core_changes){ .task = put_task,
                                                    .depends = put_depends,
                                                    .agent = put_agent,
                                                    .limiter = put_limiter,
                                                    .usage = add_usage,
                                                    .wait = put_wait,
                                                    .pace = put_pace,
                                                    .ctx = disk });
    put_tokens(disk);
    disk->core = NULL;
}

/* --- reading --------------------------------------------------------------------------------- */

/* What it is comes from the configuration, how it was left from its row. */
static void apply_limiter(struct rebuilder *rb, const struct limiter_spec *row, sym name) {
    struct fact limiter = { .kind = FACT_LIMITER };
    struct limiter_spec now;
    if (!core_limiter_spec(rb->old, name, &now))
        return;
    limiter.limiter = *row;
    limiter.limiter.id = name;
    limiter.limiter.policy = now.policy;
    limiter.limiter.hours_until = now.hours_until; /* from the calendar, not from a row */
    rebuild_apply(rb, limiter);
}

static void apply_agent(struct rebuilder *rb, const struct agent_spec *row, sym name) {
    struct fact agent = { .kind = FACT_AGENT };
    if (!core_agent_spec(rb->old, name, &agent.agent))
        return;
    agent.agent.launch_failures = row->launch_failures;
    agent.agent.openings = row->openings;
    agent.agent.closed_until = row->closed_until;
    rebuild_apply(rb, agent);
}

struct core *disk_rebuild(const struct disk *disk, const struct core *old,
                          void (*observe)(void *ctx, const struct fact *fact), void *ctx,
                          struct error *err) {
    struct rebuilder rb = { .old = old, .observe = observe, .ctx = ctx };
    rebuild_begin(&rb);
    for (unsigned l = 1; l <= LIMITERS; l++)
        apply_limiter(&rb, &disk->limiters[l], sym_of(SYM_LIMITER, l));
    for (unsigned a = 1; a <= AGENTS; a++)
        apply_agent(&rb, &disk->agents[a], sym_of(SYM_AGENT, a));
    rebuild_world(&rb);
    for (size_t i = 0; i < disk->usage_count; i++)
        rebuild_apply(&rb, (struct fact){ .kind = FACT_USAGE, .usage = disk->usage[i] });
    for (size_t i = 0; i < disk->wait_count; i++)
        rebuild_apply(&rb, (struct fact){ .kind = FACT_WAIT, .wait = disk->waits[i] });
    rebuild_apply(&rb, (struct fact){ .kind = FACT_PACE, .pace = disk->pace });
    for (size_t i = 1; i < disk->task_count; i++) {
        if (disk->tasks[i].spec.id)
            rebuild_task(&rb, &disk->tasks[i]);
    }
    struct core *core = rebuild_end(&rb);
    *err = rb.err;
    return core;
}
