/* sling_epic.c: an epic runs nothing: slinging it slings its children, and it is done when they are.
 *
 * It waits for them as for dependencies, and its context says that others do its work. */
#include <errno.h>

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

/* An epic with children is slung as what contains them. A child that waits for an epic that never runs is left out, with a
 * warning: it would wait for ever. */
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

/* Refused by the core: then a child waits for the epic, through others. */
int sling_wait_for_children(struct op_call *call, const struct sling_item *item) {
    const struct core *core = engine_core(call->engine);
    task_id *children, *on;
    bool gated = false;
    size_t count = children_of(call, item->task, &children, &gated);
    size_t before = core_task_depends(core, item->task, NULL, 0), all = before;
    on = arena_alloc(op_arena(call), (before + count + 1) * sizeof(*on));
    (void)core_task_depends(core, item->task, on, before);
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < before; k++)
            known = known || on[k] == children[i];
        if (!known)
            on[all++] = children[i];
    }
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = item->task };
    fact.dependencies.items = on;
    fact.dependencies.count = all;
    int r = engine_tell(call->engine, &fact, &call->err);
    char id[ENGINE_ID_MAX];
    if (r == -ELOOP)
        return op_fail(call, r, "a child of epic '%s' waits for it",
                       engine_task_id(call->engine, item->task, id));
    return r < 0 ? r : 0;
}
