/* descendants.c: see descendants.h. Descendants are canceled in the turn that cancels their parent,
 * so that new children never start. */
#include "engine/descendants.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"

bool is_handed_down(const struct core *core, task_id task, task_id *ret_parent) {
    struct task_spec spec;
    if (!core_task_spec(core, task, &spec) || !spec.parent || spec.parent_gate != PARENT_NONE)
        return false;
    *ret_parent = spec.parent;
    return true;
}

bool is_added_by_run(struct core *core, task_id task) {
    sym resources[RESOURCES_MAX];
    size_t count = core_task_resources(core, task, resources, RESOURCES_MAX);
    for (size_t i = 0; i < count; i++)
        if (strncmp(symbol_name(core_symbols(core), resources[i]), CHILDREN_KEY,
                    strlen(CHILDREN_KEY))
            == 0)
            return true;
    return false;
}

void descendants_walk(const struct core *core, task_id top, bool (*each)(void *ctx, task_id task),
                      void *ctx) {
    LIST(task_id) open = { 0 };
    LIST(task_id) children = { 0 };
    task_id task = top, parent;
    bool goes_on = true;
    do {
        size_t most = 16;
        do {
            most *= 4;
            children.items =
                xgrow(children.items, &children.capacity, most, sizeof(*children.items));
            children.count = core_task_children(core, task, children.items, most);
        } while (children.count == most);
        for (size_t i = 0; goes_on && i < children.count; i++) {
            if (!is_handed_down(core, children.items[i], &parent))
                continue;
            goes_on = each(ctx, children.items[i]);
            *LIST_ADD(&open) = children.items[i];
        }
        task = goes_on && open.count > 0 ? open.items[--open.count] : 0;
    } while (task);
    free(open.items);
    free(children.items);
}

struct canceling {
    struct engine *engine;
    bool now;
};

static bool cancel_one(void *ctx, task_id task) {
    const struct canceling *c = ctx;
    struct fact fact = { .kind = FACT_CANCEL, .task = task };
    if (c->now)
        engine_stop_at_once(c->engine, task);
    (void)engine_apply(c->engine, &fact, NULL);
    return true;
}

void engine_cancel_descendants(struct engine *engine, task_id task, bool now) {
    struct canceling c = { .engine = engine, .now = now };
    descendants_walk(engine_core(engine), task, cancel_one, &c);
}
