/* sling_epic.c: an epic runs nothing: slinging it slings its children, and it is done when they
 * are.
 *
 * It waits for them as for dependencies, also for those that are added while it waits, and its
 * context says that others do its work. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/sling_internal.h"

static bool is_epic(const struct op_call *call, const struct task_view *t) {
    return submission_is_epic(call->engine, op_name_of(call->engine, t->kind),
                              op_name_of(call->engine, t->project));
}

/* The children an epic waits for: all but those that can never be done. */
static size_t children_of(struct op_call *call, task_id task, task_id **ret, bool *ret_gated) {
    const struct core *core = engine_core(call->engine);
    task_id *children = arena_alloc(op_arena(call), OP_LIST_MAX * sizeof(*children));
    size_t all = core_task_children(core, task, children, OP_LIST_MAX), count = 0;
    for (size_t i = 0; i < all; i++) {
        struct task_spec spec;
        if (!core_task_spec(core, children[i], &spec)
            || (task_state_is_final(spec.state) && spec.state != TASK_DONE))
            continue;
        *ret_gated = *ret_gated || spec.parent_gate == PARENT_DONE;
        children[count++] = children[i];
    }
    *ret = children;
    return count;
}

/* An epic with children is slung as what contains them. A child that waits for an epic that never
 * runs is left out, with a warning: it would wait for ever. */
void sling_look_at_family(struct op_call *call, struct sling_item *item, const struct task_view *t,
                          const struct task_spec *spec) {
    struct task_view parent;
    task_id *children;
    bool gated = false;
    item->container = is_epic(call, t) && children_of(call, t->id, &children, &gated) > 0 && !gated;
    if (spec->parent_gate == PARENT_DONE && t->parent
        && core_task(engine_core(call->engine), t->parent, &parent) && is_epic(call, &parent)
        && parent.state != TASK_DONE)
        item->skipped = "it waits for its parent (parent_gate: done), which runs nothing";
}

/* The epic depends on these children, too. -ELOOP: one of them waits for the epic, through
 * others. */
static int wait_for(struct op_call *call, task_id epic, const task_id *children, size_t count) {
    const struct core *core = engine_core(call->engine);
    size_t before = core_task_depends(core, epic, NULL, 0), all = before;
    _cleanup_(freep) task_id *on = xcalloc(before + count + 1, sizeof(*on));
    (void)core_task_depends(core, epic, on, before);
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < before; k++)
            known = known || on[k] == children[i];
        if (!known)
            on[all++] = children[i];
    }
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = epic };
    fact.dependencies.items = on;
    fact.dependencies.count = all;
    return all == before ? 0 : engine_tell(call->engine, &fact, &call->err);
}

int sling_wait_for_children(struct op_call *call, const struct sling_item *item) {
    task_id *children;
    bool gated = false;
    char id[ENGINE_ID_MAX];
    size_t count = children_of(call, item->task, &children, &gated);
    int r = wait_for(call, item->task, children, count);
    if (r == -ELOOP)
        return op_fail(call, r, "a child of epic '%s' waits for it",
                       engine_task_id(call->engine, item->task, id));
    return r < 0 ? r : 0;
}

/* --- children that are added ------------------------------------------------------------------- */

static int compare_tasks(const void *a, const void *b) {
    const task_id *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* A child that itself waits for the epic comes after it: the epic waits for the others. */
static void adopt(struct op_call *call, task_id epic) {
    struct task_view t;
    task_id *children;
    bool gated = false;
    if (!core_task(engine_core(call->engine), epic, &t) || !is_epic(call, &t) || t.attempt > 0
        || t.state == TASK_DRAFT || task_state_is_live(t.state) || task_state_is_final(t.state))
        return;
    size_t count = children_of(call, epic, &children, &gated), adopted = count;
    struct error before = call->err;
    if (gated || count == 0)
        return;
    if (wait_for(call, epic, children, count) < 0)
        for (size_t i = adopted = 0; i < count; i++)
            adopted += wait_for(call, epic, &children[i], 1) >= 0;
    call->err = before;
    if (adopted > 0)
        engine_put_context(call->engine, epic, "{\"steps\":true}");
}

void epic_adopt_children(struct op_call *call, const struct batch *batch) {
    _cleanup_(freep) task_id *parents = xcalloc(batch->count + 1, sizeof(*parents));
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch_adds(&batch->entries[i]) && batch->entries[i].parent)
            parents[count++] = batch->entries[i].parent;
    qsort(parents, count, sizeof(*parents), compare_tasks);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || parents[i] != parents[i - 1])
            adopt(call, parents[i]);
}
