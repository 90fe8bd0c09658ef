/* sling_pick.c: which tasks are slung: those that are named, all drafts of a group, all drafts
 * below a task. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "ops/sling_internal.h"

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct slinging *)ctx)->items[handle - 1].task == *(const task_id *)key;
}

/* --- which tasks ----------------------------------------------------------------------------- */

struct sling_item *sling_push(struct slinging *s, task_id task) {
    uint32_t known = id_map_find(&s->seen, hash_u64(task), &task);
    if (known)
        return &s->items[known - 1];
    if (s->count == OP_LIST_MAX)
        return NULL;
    s->items = xgrow(s->items, &s->capacity, s->count + 1, sizeof(*s->items));
    s->items[s->count++] = (struct sling_item){ .task = task };
    id_map_add(&s->seen, hash_u64(task), (uint32_t)s->count);
    return &s->items[s->count - 1];
}

struct sling_item *sling_item_of(const struct slinging *s, task_id task) {
    uint32_t handle = id_map_find(&s->seen, hash_u64(task), &task);
    return handle ? &s->items[handle - 1] : NULL;
}

int sling_too_many(struct op_call *call) {
    return op_fail(call, -E2BIG, "more than %d tasks at once; sling them in parts", OP_LIST_MAX);
}

static bool is_draft(const struct op_call *call, task_id task) {
    struct task_view t;
    return core_task(engine_core(call->engine), task, &t) && t.state == TASK_DRAFT;
}

static int compare_tasks(const void *a, const void *b) {
    const task_id *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* All its drafts, oldest first. */
static int push_group(struct op_call *call, struct slinging *s, const struct engine_group *group) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_group_members(core, group->id, true, NULL, 0);
    if (count > OP_LIST_MAX)
        return op_fail(call, -E2BIG,
                       "group '%s' has %zu drafts, and %d tasks can be slung at once; 'sluice "
                       "sling --all --group' slings them in parts",
                       op_quote(group->name).text, count, OP_LIST_MAX);
    task_id *drafts = arena_alloc(op_arena(call), (count + 1) * sizeof(*drafts));
    (void)core_group_members(core, group->id, true, drafts, count);
    qsort(drafts, count, sizeof(*drafts), compare_tasks);
    for (size_t i = 0; i < count; i++)
        if (!sling_push(s, drafts[i]))
            return sling_too_many(call);
    return 0;
}

/* All drafts below it, level by level. */
static int push_below(struct op_call *call, struct slinging *s, task_id top) {
    const struct core *core = engine_core(call->engine);
    task_id first;
    if (core_task_children(core, top, &first, 1) == 0)
        return 0;
    _cleanup_(freep) task_id *walk = xcalloc(OP_LIST_MAX + 1, sizeof(*walk));
    size_t count = core_task_children(core, top, walk, OP_LIST_MAX + 1);
    bool drafts = false;
    for (size_t i = 0; i < count; i++) {
        if (count > OP_LIST_MAX)
            return sling_too_many(call);
        if (is_draft(call, walk[i])) {
            drafts = true;
            if (!sling_push(s, walk[i]))
                return sling_too_many(call);
        }
        count += core_task_children(core, walk[i], walk + count, OP_LIST_MAX + 1 - count);
    }
    struct sling_item *epic = drafts ? sling_push(s, top) : NULL;
    if (epic)
        epic->epic = true;
    return 0;
}

static int push_named(struct op_call *call, struct slinging *s, const char *name) {
    task_id task = op_named_task(call, name);
    const struct engine_group *group = task ? NULL : engine_find_group(call->engine, name);
    if (group)
        return push_group(call, s, group);
    if (!task && engine_find_project(call->engine, name))
        return op_fail(call, -ENOENT,
                       "'%s' is a project, and no task or group: 'sluice sling --all --project' "
                       "slings its drafts",
                       op_quote(name).text);
    if (!task && call->err.code == -EINVAL) /* it does not even look like an id */
        return op_fail(call, -ENOENT, "there is no task and no group '%s'", op_quote(name).text);
    if (!task)
        return call->err.code;
    return sling_push(s, task) ? push_below(call, s, task) : sling_too_many(call);
}

static int push_steps(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "steps");
    size_t named = s->count;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        task_id task = op_named_task(call, name);
        if (!task)
            return call->err.code;
        struct sling_item *step = sling_push(s, task);
        if (!step)
            return sling_too_many(call);
        step->step = true;
    }
    if (list && (named != 1 || s->count < 2 || s->items[0].step))
        return op_fail(call, -EINVAL, "'steps' are of one task, without children, and not itself");
    return 0;
}

int sling_collect(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "tasks");
    id_map_init(&s->seen, same_task, s);
    s->has_map = true;
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t before = s->count;
        int r = push_named(call, s, json_string_value(json_array_get(list, i)));
        if (r < 0) {
            call->index = (int64_t)i;
            return r;
        }
        for (size_t k = before; k < s->count; k++)
            s->items[k].unit = (uint32_t)i;
    }
    return push_steps(call, s);
}
