/* rebuild.c: what a daemon does at its start. See rebuild.h. */
#include "rebuild.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/gates.h"
#include "core/state.h"

bool stored_task_read(const struct core *core, task_id task, struct stored_task *ret) {
    struct task_view view;
    if (!core_task_spec(core, task, &ret->spec) || !core_task(core, task, &view))
        return false;
    ret->tokens = view.tokens;
    ret->money = view.money;
    ret->expected = view.expected;
    ret->spec.depends_on_count =
        core_task_depends(core, task, ret->depends_on, ARRAY_SIZE(ret->depends_on));
    ret->spec.resource_count =
        core_task_resources(core, task, ret->resources, ARRAY_SIZE(ret->resources));
    assert(ret->spec.depends_on_count <= ARRAY_SIZE(ret->depends_on));
    assert(ret->spec.resource_count <= ARRAY_SIZE(ret->resources));
    return true;
}

void rebuild_apply(struct rebuilder *rb, struct fact fact) {
    if (rb->r != 0)
        return;
    if (rb->observe)
        rb->observe(rb->ctx, &fact);
    rb->r = core_apply(rb->core, &fact, &rb->err);
}

void rebuild_task(struct rebuilder *rb, const struct stored_task *row) {
    struct task_spec spec = row->spec;
    spec.depends_on = row->depends_on;
    spec.resources = row->resources;
    rebuild_apply(rb, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
    if (row->tokens >= 0 || row->money >= 0 || row->expected > 0)
        rebuild_apply(rb, (struct fact){ .kind = FACT_RUN_TOKENS,
                                         .task = spec.id,
                                         .attempt = spec.attempt,
                                         .tokens = row->tokens,
                                         .money = row->money,
                                         .expected = row->expected });
}

/* --- the world ------------------------------------------------------------------------------- */

void rebuild_begin(struct rebuilder *rb) {
    const struct core *old = rb->old;
    rb->core = core_new();
    for (sym name = 1; name <= old->symbols.count; name++) {
        const char *text = symbol_name(&old->symbols, name);
        symbol_intern(core_symbols(rb->core), text, strlen(text));
    }
    rebuild_apply(rb, (struct fact){ .kind = FACT_LOADING });
    rebuild_apply(rb, (struct fact){ .kind = FACT_CLOCK, .now = old->now });
    rebuild_apply(rb, (struct fact){ .kind = FACT_POLICY, .policy = &old->policy });
    for (size_t i = 1; i < old->project_count; i++)
        rebuild_apply(rb, (struct fact){ .kind = FACT_PROJECT, .project = old->projects[i].spec });
    for (size_t i = 1; i < old->kind_count; i++)
        rebuild_apply(rb, (struct fact){ .kind = FACT_KIND, .kind_spec = old->kinds[i].spec });
}

static void export_keys(struct rebuilder *rb) {
    const struct core *old = rb->old;
    for (sym name = 1; name <= old->symbols.count; name++) {
        uint32_t resource = by_symbol_get(&old->resource_of, name);
        uint32_t workspace = by_symbol_get(&old->workspace_of, name);
        if (resource && key_at(old, resource)->configured)
            rebuild_apply(rb, (struct fact){ .kind = FACT_RESOURCE,
                                             .resource = { name, key_at(old, resource)->cap } });
        if (!workspace || key_at(old, workspace)->external == 0)
            continue;
        task_id locked_by = key_at(old, workspace)->locked_by;
        rebuild_apply(rb, (struct fact){ .kind = FACT_WORKSPACE,
                                         .workspace = { .id = name,
                                                        .locked_by = locked_by,
                                                        .locked = locked_by == 0 } });
    }
}

static void apply_outsiders(struct rebuilder *rb) {
    const struct core *old = rb->old;
    rebuild_apply(rb, (struct fact){ .kind = FACT_EXTERNAL,
                                     .external = { .running = old->projects[0].external,
                                                   .roots = old->projects[0].external_roots } });
    for (size_t i = 1; i < old->project_count; i++)
        rebuild_apply(rb,
                      (struct fact){ .kind = FACT_EXTERNAL,
                                     .external = { .project = old->projects[i].spec.id,
                                                   .running = old->projects[i].external,
                                                   .roots = old->projects[i].external_roots } });
    for (size_t i = 1; i < old->limiter_count; i++) {
        amount running = key_at(old, old->limiters[i].key)->external;
        rebuild_apply(rb, (struct fact){ .kind = FACT_EXTERNAL,
                                         .external = { .limiter = old->limiters[i].spec.id,
                                                       .running = (uint32_t)running } });
    }
}

void rebuild_world(struct rebuilder *rb) {
    const struct core *old = rb->old;
    export_keys(rb);
    rebuild_apply(rb, (struct fact){ .kind = old->paused ? FACT_PAUSE : FACT_RESUME });
    rebuild_apply(rb, (struct fact){ .kind = FACT_BUDGET,
                                     .budget = old->projects[0].spec.budget,
                                     .money_budget = old->projects[0].spec.money });
    rebuild_apply(rb, (struct fact){ .kind = FACT_HOST, .host = old->host });
    apply_outsiders(rb);
}

struct core *rebuild_end(struct rebuilder *rb) {
    rebuild_apply(rb, (struct fact){ .kind = FACT_LOADED });
    if (rb->r == 0)
        return rb->core;
    core_free(rb->core);
    return NULL;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void apply_limiters_and_agents(struct rebuilder *rb) {
    for (size_t i = 1; i < rb->old->limiter_count; i++) {
        struct fact limiter = { .kind = FACT_LIMITER };
        core_limiter_spec(rb->old, rb->old->limiters[i].spec.id, &limiter.limiter);
        rebuild_apply(rb, limiter);
    }
    for (size_t i = 1; i < rb->old->agent_count; i++) {
        struct fact agent = { .kind = FACT_AGENT };
        core_agent_spec(rb->old, rb->old->agents[i].spec.id, &agent.agent);
        rebuild_apply(rb, agent);
    }
}

static void apply_usage(void *ctx, const struct usage_spec *bucket) {
    rebuild_apply(ctx, (struct fact){ .kind = FACT_USAGE, .usage = *bucket });
}

static void export_wait(void *ctx, const struct wait_spec *wait) {
    rebuild_apply(ctx, (struct fact){ .kind = FACT_WAIT, .wait = *wait });
}

static int by_number(const void *a, const void *b) {
    task_id left = *(const task_id *)a, right = *(const task_id *)b;
    return left < right ? -1 : left > right;
}

static void export_tasks(struct rebuilder *rb) {
    task_id *ids = xcalloc(rb->old->tasks.next + 1, sizeof(*ids));
    size_t count = 0;
    for (uint32_t h = 1; h < rb->old->tasks.next; h++) {
        if (task_at(rb->old, h)->state != TASK_ABSENT)
            ids[count++] = task_at(rb->old, h)->id;
    }
    qsort(ids, count, sizeof(*ids), by_number);
    for (size_t i = 0; i < count; i++) {
        struct stored_task row;
        if (stored_task_read(rb->old, ids[i], &row))
            rebuild_task(rb, &row);
    }
    free(ids);
}

struct core *rebuild(const struct core *old, struct error *err) {
    struct rebuilder rb = { .old = old };
    rebuild_begin(&rb);
    apply_limiters_and_agents(&rb);
    rebuild_world(&rb);
    core_usage(old, 0, apply_usage, &rb);
    for (size_t i = 1; i < old->project_count; i++)
        core_usage(old, old->projects[i].spec.id, apply_usage, &rb);
    core_waits(old, export_wait, &rb);
    if (pace_in_force(old))
        rebuild_apply(&rb, (struct fact){ .kind = FACT_PACE, .pace = core_pace(old) });
    export_tasks(&rb);
    struct core *core = rebuild_end(&rb);
    *err = rb.err;
    return core;
}
