/* op_task_sling.c: schedules drafts: single ones, all of a group, or all descendants of an epic.
 *
 * A request is slung completely or not at all: all checks come before anything is applied, except
 * for cycles, which the core finds; undo_sling then restores what was changed before. Slinging a
 * scheduled task changes nothing, and the answer says so. Refused unless `force`: a running or
 * final task, a task of a project other than the one named, a task of another group. Tasks of a
 * project that only coordinates are skipped with a warning.
 *
 * Parameters of the sling (agent, account, merge …) are stored beside the submission, which never
 * changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "engine/agents.h"
#include "engine/edits.h"
#include "ops/op_internal.h"
#include "ops/queue_room.h"
#include "ops/task_batch.h"

/* --- the tasks of a sling -------------------------------------------------------------------- */

/* A formula: steps that do the work of a task. */
struct sling_work {
    task_id named; /* the task of the request */
    const char *formula;
    json_t *steps;       /* of the parameter */
    uint32_t generation; /* of this sling */
    struct batch batch;
};

struct sling_item {
    task_id named; /* as found in the request */
    task_id task;  /* the same, or its copy in another project */
    uint32_t group;
    bool already;
    bool epic;                     /* named for the drafts below it */
    bool container;                /* an epic: it waits for its children and runs nothing */
    bool step;                     /* does the work of the named task */
    uint32_t generation;           /* of the formula it was last slung with; 0: none */
    const struct sling_work *work; /* its formula; or NULL */
    const char *agent, *limiter;   /* as they were submitted; or NULL */
    bool prompted;                 /* it has a prompt: its agent needs a command */
    bool hold;                     /* as submitted */
    bool moves;                    /* to the named project */
    const struct submission *copy; /* of a task that moves; or NULL */
    const char *moved_from;        /* its previous id; NULL: it has not moved */
    json_t *spec;                  /* the submission of a task that moves; or NULL */
    bool cleared;                  /* it was removed from the queue */
    time_ms not_before;
    uint32_t unit;       /* the parameter that named it: a group, or a task with its drafts */
    const char *skipped; /* why it is not slung; sling_deferred: the queue has no room */
};

/* Dependencies of a task before this call has changed them. */
struct sling_change {
    task_id task;
    const task_id *depends;
    size_t count;
};

struct slinging {
    struct sling_item *items; /* found by `named` */
    size_t count, capacity;
    struct id_map seen;
    struct queue_room room;
    uint32_t group;  /* 0: none */
    size_t fresh;    /* will be slung */
    size_t queried;  /* items whose submissions were read from the store */
    uint64_t writes; /* of submissions and contexts, when the first was read */
    struct sling_work *works;
    size_t work_count;
    json_t *moved; /* submissions of the tasks that move */
    struct batch moves;
    task_id first_added; /* tasks from this number on were added by this call */
    struct sling_change *changes;
    size_t change_count, change_capacity;
};

static void slinging_finish(void *state) {
    struct slinging *s = state;
    for (size_t i = 0; i < s->count; i++)
        json_decref(s->items[i].spec);
    for (size_t i = 0; i < s->work_count; i++)
        batch_finish(&s->works[i].batch);
    batch_finish(&s->moves);
    json_decref(s->moved);
    freep(&s->items);
    freep(&s->works);
    freep(&s->changes);
    id_map_finish(&s->seen);
}

static struct slinging *slinging_of(struct op_call *call) {
    return op_state(call, sizeof(struct slinging), slinging_finish);
}

static bool is_fresh(const struct sling_item *item) {
    return !item->already && !item->skipped;
}

static bool same_sling_item(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct slinging *)ctx)->items[handle - 1].named == *(const task_id *)key;
}

/* --- which tasks ----------------------------------------------------------------------------- */

#define SLING_TOO_MANY "more than %d tasks at once; sling them in parts"

static struct sling_item *sling_item_of(const struct slinging *s, task_id named) {
    uint32_t handle = id_map_find(&s->seen, hash_u64(named), &named);
    return handle ? &s->items[handle - 1] : NULL;
}

/* NULL with call->err: too many. */
static struct sling_item *sling_push(struct op_call *call, struct slinging *s, task_id task) {
    struct sling_item *known = sling_item_of(s, task);
    if (known)
        return known;
    if (s->count == OP_LIST_MAX) {
        (void)op_fail(call, -E2BIG, SLING_TOO_MANY, OP_LIST_MAX);
        return NULL;
    }
    s->items = xgrow(s->items, &s->capacity, s->count + 1, sizeof(*s->items));
    s->items[s->count++] = (struct sling_item){ .named = task, .task = task };
    id_map_add(&s->seen, hash_u64(task), (uint32_t)s->count);
    return &s->items[s->count - 1];
}

static int compare_tasks(const void *a, const void *b) {
    const task_id *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int push_group(struct op_call *call, struct slinging *s, const struct engine_group *group) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_group_members(core, group->id, true, NULL, 0);
    if (count > OP_LIST_MAX)
        return op_fail(call, -E2BIG,
                       "group '%s' has %zu drafts, and %d tasks can be slung at once; 'sluice "
                       "sling --all --group' slings them in parts",
                       utf8_quote(group->name).text, count, OP_LIST_MAX);
    task_id *drafts = arena_alloc(op_arena(call), (count + 1) * sizeof(*drafts));
    (void)core_group_members(core, group->id, true, drafts, count);
    qsort(drafts, count, sizeof(*drafts), compare_tasks);
    for (size_t i = 0; i < count; i++)
        if (!sling_push(call, s, drafts[i]))
            return call->err.code;
    return 0;
}

/* The task, and all drafts below it. */
static int push_task(struct op_call *call, struct slinging *s, task_id top) {
    const struct core *core = engine_core(call->engine);
    task_id first;
    bool drafts = false;
    if (!sling_push(call, s, top))
        return call->err.code;
    if (core_task_children(core, top, &first, 1) == 0)
        return 0;
    _cleanup_(freep) task_id *walk = xcalloc(OP_LIST_MAX + 1, sizeof(*walk));
    size_t count = core_task_children(core, top, walk, OP_LIST_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        struct task_view t;
        if (count > OP_LIST_MAX)
            return op_fail(call, -E2BIG, SLING_TOO_MANY, OP_LIST_MAX);
        if (core_task(core, walk[i], &t) && t.state == TASK_DRAFT) {
            drafts = true;
            if (!sling_push(call, s, walk[i]))
                return call->err.code;
        }
        count += core_task_children(core, walk[i], walk + count, OP_LIST_MAX + 1 - count);
    }
    sling_item_of(s, top)->epic = drafts;
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
                       utf8_quote(name).text);
    if (!task && call->err.code == -EINVAL) /* not even in the form of an id */
        return op_fail(call, -ENOENT, "there is no task and no group '%s'", utf8_quote(name).text);
    return task ? push_task(call, s, task) : call->err.code;
}

static int push_steps(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "steps");
    size_t named = s->count;
    for (size_t i = 0; i < json_array_size(list); i++) {
        task_id task = op_named_task(call, json_string_value(json_array_get(list, i)));
        struct sling_item *step = task ? sling_push(call, s, task) : NULL;
        if (!step)
            return call->err.code;
        step->step = true;
    }
    if (list && (named != 1 || s->count < 2 || s->items[0].step))
        return op_fail(call, -EINVAL, "'steps' are of one task, without children, and not itself");
    return 0;
}

static int sling_collect(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "tasks");
    id_map_init(&s->seen, same_sling_item, s);
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

/* --- room in the queue ----------------------------------------------------------------------- */

static const char sling_deferred[] = "the queue is full (queue.hard)";

static void add_need(const struct slinging *s, task_id task, struct needs *needs) {
    const struct sling_item *item = task ? sling_item_of(s, task) : NULL;
    if (item)
        needs_add(needs, (size_t)(item - s->items));
}

static void defer_items(struct op_call *call, struct slinging *s) {
    _cleanup_(needs_finish) struct needs needs;
    const struct core *core = engine_core(call->engine);
    needs_init(&needs, s->count);
    for (size_t i = 0; i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        struct task_view view = { 0 };
        needs_begin(&needs, is_fresh(item));
        /* The tasks of a unit need each other: connect them in a cycle. */
        size_t next = i + 1;
        if (next == s->count || s->items[next].unit != item->unit)
            for (next = i; next > 0 && s->items[next - 1].unit == item->unit;)
                next--;
        if (next != i)
            needs_add(&needs, next);
        if (!is_fresh(item) || !core_task(core, item->task, &view))
            continue;
        add_need(s, view.parent, &needs);
        size_t count;
        const task_id *depends = op_depends(call, item->task, 0, &count);
        for (size_t k = 0; k < count; k++)
            add_need(s, depends[k], &needs);
    }
    (void)needs_defer(&needs, queue_room_left(call));
    for (size_t i = 0; i < s->count; i++) {
        if (!needs.deferred[i] || !is_fresh(&s->items[i]))
            continue;
        s->items[i].skipped = sling_deferred;
        s->fresh--;
    }
}

static int sling_admit(struct op_call *call, struct slinging *s) {
    size_t all = s->fresh, steps = 0;
    for (size_t i = 0; i < s->work_count; i++)
        if (is_fresh(sling_item_of(s, s->works[i].named)))
            steps += json_array_size(s->works[i].steps);
    if (op_flag(call, "partial") && (amount)s->fresh > queue_room_left(call))
        defer_items(call, s);
    int r = queue_room_check(call, (s->fresh > 0 ? s->fresh : all) + steps, &s->room);
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        struct task_view view;
        s->room.deferred += item->skipped == sling_deferred;
        if (op_text(call, "base_branch") && !s->room.note && is_fresh(item)
            && core_task(engine_core(call->engine), item->task, &view))
            s->room.note = submission_branch_note(engine_config(call->engine),
                                                  op_name_of(call->engine, view.project),
                                                  "base_branch", op_arena(call));
    }
    return r;
}

/* --- epics ----------------------------------------------------------------------------------- */

/* An epic runs nothing: slinging it slings its children, and it is done when they are. It waits for
 * them as for dependencies, including children added while it waits, and its context records that
 * others do its work. */

static bool is_epic(const struct op_call *call, const struct task_view *t) {
    return submission_is_epic(call->engine, op_name_of(call->engine, t->kind),
                              op_name_of(call->engine, t->project));
}

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

/* Makes the task also wait for `others`. -ELOOP: one of them waits for it, directly or not.
 * `s`: remembers its dependencies (undo_sling); or NULL. */
static int wait_for(struct op_call *call, struct slinging *s, task_id task, const task_id *others,
                    size_t count) {
    size_t before, all;
    task_id *on = op_depends(call, task, count, &before);
    all = before;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < before; k++)
            known = known || on[k] == others[i];
        if (!known)
            on[all++] = others[i];
    }
    if (all == before)
        return 0;
    if (s) {
        s->changes =
            xgrow(s->changes, &s->change_capacity, s->change_count + 1, sizeof(*s->changes));
        s->changes[s->change_count++] = (struct sling_change){ task, on, before };
    }
    int r = op_set_depends(call, task, on, all);
    return r < 0 ? r : 0;
}

static void delete_task(struct op_call *call, task_id task) {
    (void)engine_apply(call->engine, &(struct fact){ .kind = FACT_DELETE, .task = task }, NULL);
}

/* Within the turn: restores dependencies and deletes what was added. */
static void undo_sling(struct op_call *call, struct slinging *s) {
    struct error why = call->err;
    for (size_t i = s->change_count; i-- > 0;)
        (void)op_set_depends(call, s->changes[i].task, s->changes[i].depends, s->changes[i].count);
    for (task_id task = engine_last_task(call->engine); task >= s->first_added; task--)
        delete_task(call, task);
    call->err = why;
}

static int wait_for_steps(struct op_call *call, struct slinging *s, task_id task,
                          const task_id *steps, size_t count) {
    int r = wait_for(call, s, task, steps, count);
    return r == -ELOOP ? op_fail(call, r, "a step waits for the task that it is a step of") : r;
}

static int wait_for_children(struct op_call *call, struct slinging *s, task_id epic) {
    task_id *children;
    bool gated = false;
    size_t count = children_of(call, epic, &children, &gated);
    int r = wait_for(call, s, epic, children, count);
    return r == -ELOOP ? op_fail(call, r, "a child of epic '%s' waits for it", op_id(call, epic))
                       : r;
}

/* A child that itself waits for the epic is skipped. */
static void adopt_children(struct op_call *call, task_id epic) {
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
    if (wait_for(call, NULL, epic, children, count) < 0)
        for (size_t i = adopted = 0; i < count; i++)
            adopted += wait_for(call, NULL, epic, &children[i], 1) >= 0;
    call->err = before;
    if (adopted > 0)
        engine_put_context(call->engine, epic, "{\"steps\":true}");
}

void epic_adopt_children(struct op_call *call, const struct batch *batch) {
    _cleanup_(freep) task_id *parents = xcalloc(batch->count + 1, sizeof(*parents));
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (submission_is_new(&batch->entries[i]) && batch->entries[i].spec.parent)
            parents[count++] = batch->entries[i].spec.parent;
    qsort(parents, count, sizeof(*parents), compare_tasks);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || parents[i] != parents[i - 1])
            adopt_children(call, parents[i]);
}

/* --- into another project -------------------------------------------------------------------- */

/* A task's project never changes, so the draft is added again in the other project, with its age,
 * priority, group, parent, dependencies and external id. Tasks that waited for the old one wait for
 * the new one, and the old one is deleted, all in the turn of the sling. */

#define MOVES_MAX 1000

/* Children that stay would lose their parent. */
static int check_children_move(struct op_call *call, const struct slinging *s, task_id task) {
    const struct core *core = engine_core(call->engine);
    _cleanup_(freep) task_id *children = xcalloc(OP_LIST_MAX, sizeof(*children));
    size_t count = core_task_children(core, task, children, OP_LIST_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct sling_item *item = sling_item_of(s, children[i]);
        if (!item || !item->moves)
            return op_fail(call, -EBUSY,
                           "task '%s' cannot move to project '%s': '%s' is below it and stays",
                           op_id(call, task), utf8_quote(op_text(call, "project")).text,
                           op_id(call, children[i]));
    }
    return 0;
}

/* A folder of the old project is dropped: the task works in the folder of the new one. */
static bool works_in_old_project(const struct op_call *call, const struct sling_item *item) {
    const char *cwd = json_string_value(json_object_get(item->spec, "cwd"));
    struct task_view t;
    if (!cwd || !core_task(engine_core(call->engine), item->task, &t))
        return false;
    const struct engine_project *old =
        engine_find_project(call->engine, op_name_of(call->engine, t.project));
    size_t length = old && old->path ? strlen(old->path) : 0;
    return length > 0 && strncmp(cwd, old->path, length) == 0
           && (cwd[length] == '/' || cwd[length] == '\0');
}

/* The copy, or the task itself if it does not move. */
static task_id copy_of(const struct slinging *s, task_id task) {
    const struct sling_item *item = task ? sling_item_of(s, task) : NULL;
    return item && item->copy ? item->copy->spec.id : task;
}

/* What a copy keeps of the original; the names of its batch are meaningless now. */
static void keep_spec(struct op_call *call, const struct slinging *s, task_id task,
                      struct task_spec *spec) {
    struct task_spec old;
    (void)core_task_spec(engine_core(call->engine), task, &old);
    task_id *on = op_depends(call, task, 0, &spec->depends_on_count);
    for (size_t i = 0; i < spec->depends_on_count; i++)
        on[i] = copy_of(s, on[i]);
    spec->depends_on = on;
    spec->parent = copy_of(s, old.parent);
    spec->parent_gate = old.parent_gate;
    spec->parent_iteration = old.parent_iteration;
    spec->created_at = old.created_at;
    spec->priority = old.priority;
    spec->group = old.group;
}

static int check_copies(struct op_call *call, struct slinging *s, const task_id *tasks) {
    struct batch *batch = &s->moves;
    struct utf8_quoted project = utf8_quote(op_text(call, "project"));
    int r = batch_read(batch, s->moved, NULL, &call->err);
    if (r == 0)
        r = batch_check(batch, &call->err);
    if (r < 0)
        return error_prefix(&call->err, "task '%s' in project '%s'",
                            op_id(call, tasks[batch->index]), project.text);
    for (size_t i = 0; i < batch->count; i++) {
        const struct submission *copy = sling_item_of(s, tasks[i])->copy = &batch->entries[i];
        if (copy->already)
            return op_fail(call, -EEXIST, "project '%s' has '%s' already: '%s'", project.text,
                           utf8_quote(copy->external_id).text, op_id(call, copy->spec.id));
    }
    for (size_t i = 0; i < batch->count; i++)
        keep_spec(call, s, tasks[i], &batch->entries[i].spec);
    return 0;
}

static int check_moves(struct op_call *call, struct slinging *s) {
    task_id *tasks = arena_alloc(op_arena(call), MOVES_MAX * sizeof(*tasks));
    size_t count = 0;
    s->moved = json_array();
    s->moves = (struct batch){ .engine = call->engine,
                               .arena = op_arena(call),
                               .draft = true,
                               .force = true,
                               .keeps_links = true,
                               .no_best_of = true };
    for (size_t i = 0; i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        if (!item->moves || !is_fresh(item))
            continue;
        if (count == MOVES_MAX)
            return op_fail(call, -E2BIG, "more than %d tasks move at once; sling them in parts",
                           MOVES_MAX);
        tasks[count++] = item->task;
        json_t *spec = json_deep_copy(item->spec);
        if (works_in_old_project(call, item))
            json_object_del(spec, "cwd");
        json_object_set_new(spec, "project", json_string(op_text(call, "project")));
        json_array_append_new(s->moved, spec);
        int r = check_children_move(call, s, item->task);
        if (r < 0)
            return r;
    }
    return count > 0 ? check_copies(call, s, tasks) : 0;
}

static int add_copies(struct op_call *call, struct slinging *s) {
    int r = s->moves.count > 0 ? batch_add(&s->moves, NULL, &call->err) : 0;
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        struct sling_item *item = &s->items[i];
        if (!item->copy)
            continue;
        item->moved_from = op_id(call, item->named);
        item->task = item->copy->spec.id;
    }
    return r;
}

/* Tasks that wait for the original wait for the copy. */
static void replace_dependency(struct op_call *call, const struct slinging *s, task_id original) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_task_dependants(core, original, NULL, 0);
    _cleanup_(freep) task_id *waiters = xcalloc(count + 1, sizeof(*waiters));
    (void)core_task_dependants(core, original, waiters, count);
    for (size_t i = 0; i < count; i++) {
        size_t needs;
        task_id *on = op_depends(call, waiters[i], 0, &needs);
        for (size_t k = 0; k < needs; k++)
            on[k] = copy_of(s, on[k]);
        (void)op_set_depends(call, waiters[i], on, needs);
    }
}

/* First the dependencies of the originals, so that replace_dependency does not change them. */
static void delete_originals(struct op_call *call, const struct slinging *s) {
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].copy)
            (void)op_set_depends(call, s->items[i].named, NULL, 0);
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].copy)
            replace_dependency(call, s, s->items[i].named);
    for (size_t i = s->count; i-- > 0;) /* descendants come after their ancestors */
        if (s->items[i].copy)
            delete_task(call, s->items[i].named);
}

/* --- formulas -------------------------------------------------------------------------------- */

#define GENERATION_MAX 100000u
#define STEPS_MAX      256u /* of one formula */

static int read_works(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "work");
    size_t count = json_array_size(list);
    s->works = xcalloc(count + 1, sizeof(*s->works));
    for (; s->work_count < count; s->work_count++) {
        const json_t *entry = json_array_get(list, s->work_count);
        struct sling_work *work = &s->works[s->work_count];
        const char *name = json_string_value(json_object_get(entry, "task"));
        work->formula = json_string_value(json_object_get(entry, "formula"));
        work->steps = json_object_get(entry, "steps");
        size_t steps = json_array_size(work->steps);
        if (!name || !work->formula || !*work->formula || steps == 0 || steps > STEPS_MAX)
            return op_fail(call, -EINVAL,
                           "an entry of 'work' must have 'task', 'formula' and 1 to 256 'steps'");
        work->named = op_named_task(call, name);
        if (!work->named)
            return call->err.code;
        struct sling_item *item = sling_item_of(s, work->named);
        if (!item)
            return op_fail(call, -EINVAL, "task '%s' of 'work' is not in 'tasks'",
                           op_id(call, work->named));
        if (item->work)
            return op_fail(call, -EINVAL, "task '%s' is twice in 'work'", utf8_quote(name).text);
        item->work = work;
    }
    if (count > 0 && op_json(call, "steps"))
        return op_fail(call, -EINVAL, "'work' and 'steps' cannot be used together");
    if (count > 0 && op_flag(call, "partial"))
        return op_fail(
            call, -EINVAL,
            "'work' and 'partial' cannot be used together: formulas are slung completely");
    return 0;
}

/* Steps belong to the project of their task, and are named after it. */
static int complete_steps(struct op_call *call, const struct sling_work *work, task_id task) {
    struct arena *arena = op_arena(call);
    const char *id = op_id(call, task), *prefix = arena_printf(arena, "%s/%s", id, work->formula);
    struct task_view t = { 0 };
    (void)core_task(engine_core(call->engine), task, &t);
    if (work->generation > 1)
        prefix = arena_printf(arena, "%s.%u", prefix, work->generation);
    size_t i;
    json_t *step;
    bool changed;
    struct task_read_options reading = { .source.now = engine_now(call->engine) };
    json_array_foreach(work->steps, i, step) {
        if (!json_is_object(step))
            return op_fail(call, -EINVAL, "a step must be an object");
        int r = task_members_read(step, &reading, &changed, &call->err);
        if (r < 0)
            return r;
        const char *name = json_string_value(json_object_get(step, "name"));
        if (!name)
            name = arena_printf(arena, "%zu", i + 1);
        json_t *meta = json_object_get(step, "meta");
        if (!meta)
            json_object_set_new(step, "meta", meta = json_object());
        json_object_set_new(meta, "on", json_string(id));
        json_object_set_new(step, "external_id",
                            json_string(arena_printf(arena, "%s/%s", prefix, name)));
        json_object_set_new(step, "project", json_string(op_name_of(call->engine, t.project)));
    }
    return 0;
}

static int check_steps(struct op_call *call, struct sling_work *work, task_id task, size_t skip) {
    struct batch *batch = &work->batch;
    const char *agent = op_text(call, "agent");
    batch_finish(batch);
    *batch = (struct batch){
        .engine = call->engine,
        .arena = op_arena(call),
        .draft = true,
        .skip = skip,
        .no_best_of = true,
    };
    int r = complete_steps(call, work, task);
    if (r < 0)
        return r;
    r = batch_read(batch, work->steps, NULL, &call->err);
    for (size_t i = 0; r == 0 && agent && i < batch->count; i++) {
        batch->index = i;
        if (batch->entries[i].prompt)
            r = engine_check_agent(call->engine, agent, &call->err);
    }
    if (r == 0)
        r = batch_check(batch, &call->err);
    if (r == 0)
        return 0;
    const char *name = batch->entries ? batch->entries[batch->index].name : NULL;
    call->index = (int64_t)batch->index;
    return name ? error_prefix(&call->err, "step '%s' of task '%s'", utf8_quote(name).text,
                               op_id(call, task))
                : error_prefix(&call->err, "step %zu of task '%s'", batch->index + 1,
                               op_id(call, task));
}

/* Formulas of already scheduled tasks are ignored: their batches stay empty. */
static int check_works(struct op_call *call, struct slinging *s) {
    size_t fresh = 0, added = 0;
    for (size_t i = 0; i < s->work_count; i++)
        fresh += is_fresh(sling_item_of(s, s->works[i].named));
    if (fresh > 0 && s->count + STEPS_MAX * fresh > OP_LIST_MAX)
        return op_fail(call, -E2BIG, SLING_TOO_MANY, OP_LIST_MAX);
    for (size_t i = 0; i < s->work_count; i++) {
        struct sling_work *work = &s->works[i];
        const struct sling_item *item = sling_item_of(s, work->named);
        if (!is_fresh(item))
            continue;
        int r;
        work->generation = item->generation;
        do { /* names of earlier steps that have started belong to an earlier generation */
            work->generation++;
            r = check_steps(call, work, item->task, added);
        } while (r == 0 && work->batch.added < work->batch.count
                 && work->generation < GENERATION_MAX);
        if (r < 0)
            return r;
        added += work->batch.added;
    }
    if (added > 0 && engine_is_full(call->engine))
        return op_fail(call, -ENOSPC,
                       "the disk is nearly full: no new tasks until there is room again");
    return 0;
}

/* The values of the submission, which an earlier sling may have overridden. */
static void take_submission(struct op_call *call, const json_t *spec, struct sling_item *item) {
    item->agent = op_keep(call, json_string_value(json_object_get(spec, "agent")));
    item->limiter = op_keep(call, json_string_value(json_object_get(spec, "limiter")));
    item->prompted = json_is_string(json_object_get(spec, "prompt"));
    item->hold = json_is_true(json_object_get(spec, "hold"));
    item->not_before = json_integer_value(json_object_get(spec, "not_before"));
}

static int add_works(struct op_call *call, struct slinging *s) {
    for (size_t i = 0; i < s->work_count; i++) {
        struct batch *batch = &s->works[i].batch;
        task_id *steps = arena_alloc(op_arena(call), (batch->count + 1) * sizeof(*steps));
        if (batch->count == 0)
            continue;
        int r = batch_add(batch, NULL, &call->err);
        for (size_t k = 0; k < batch->added; k++)
            steps[k] = batch->first + k;
        task_id task = sling_item_of(s, s->works[i].named)->task;
        if (r == 0)
            r = wait_for_steps(call, s, task, steps, batch->added);
        if (r < 0)
            return r;
        for (size_t k = 0; k < batch->count; k++) {
            struct sling_item *item = sling_push(call, s, batch->entries[k].spec.id);
            if (!item)
                return call->err.code;
            take_submission(call, batch->entries[k].json, item);
            item->step = true;
            s->fresh++;
        }
    }
    return 0;
}

/* --- guards ---------------------------------------------------------------------------------- */

static int check_state(struct op_call *call, struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    const char *named = op_text(call, "project");
    bool force = op_flag(call, "force");
    struct task_view t;
    struct task_spec spec;
    if (!core_task(engine_core(call->engine), item->task, &t)
        || !core_task_spec(engine_core(call->engine), item->task, &spec))
        return op_fail(call, -ENOENT, "task '%s' was deleted meanwhile", op_id(call, item->task));
    const char *project = op_name_of(call->engine, t.project);
    item->moves = named && t.state == TASK_DRAFT && strcmp(project, named) != 0;
    item->already |= t.state != TASK_DRAFT; /* for good: its submission was not read */
    item->group = spec.group;
    item->cleared = t.reason == REASON_CLEARED;
    if (!force && named && strcmp(project, named) != 0)
        return op_fail(call, -EPERM,
                       "task '%s' is of project '%s', not of '%s'; force moves a draft there",
                       op_id(call, item->task), project, utf8_quote(named).text);
    if (!force && !item->epic && (task_state_is_live(t.state) || task_state_is_final(t.state)))
        return op_fail(call, -EBUSY, "task '%s' is %s: only a draft can be slung",
                       op_id(call, item->task), task_state_name(t.state));
    if (item->already)
        return 0;
    if (item->moves)
        project = named;
    /* An epic with children is slung as a container. A child that waits for an epic that never runs
     * is skipped with a warning. */
    struct task_view parent;
    task_id *children;
    bool gated = false;
    item->container = is_epic(call, &t) && children_of(call, t.id, &children, &gated) > 0 && !gated;
    if (spec.parent_gate == PARENT_DONE && t.parent
        && core_task(engine_core(call->engine), t.parent, &parent) && is_epic(call, &parent)
        && parent.state != TASK_DONE)
        item->skipped = "it waits for its parent (parent_gate: done), which runs nothing";
    if (!item->skipped && !item->container
        && config_number(config, "projects.P.coordination", project))
        item->skipped = "its project only coordinates (projects.P.coordination)";
    /* The steps do the work, so the task itself must not wait for a marker. */
    if (!item->step && (op_json(call, "steps") || item->work) && t.until != UNTIL_EXIT
        && t.until != UNTIL_VALIDATE)
        return op_fail(
            call, -EINVAL,
            "task '%s' is finished by '%s'; steps can do the work of one with 'exit' or 'validate'",
            op_id(call, t.id), until_name(t.until));
    if (item->skipped)
        return 0;
    /* The merge parameters must be valid as if the task had set them. */
    const char *merge = op_flag(call, "no_merge") ? "none" : op_text(call, "merge");
    int r =
        submission_check_merge(config, project, merge, op_text(call, "base_branch"), &call->err);
    const char *group = op_text(call, "group"), *other = op_group_name(call->engine, item->group);
    if (r == 0 && group && other && strcmp(group, other) != 0 && !force)
        r = op_fail(call, -EPERM, "task '%s' is in group '%s' already; force moves it",
                    op_id(call, item->task), utf8_quote(other).text);
    return r;
}

static int check_names(struct op_call *call) {
    const struct config *config = engine_config(call->engine);
    const char *agent = op_text(call, "agent"), *limiter = op_text(call, "limiter");
    const char *group = op_text(call, "group");
    const struct engine_group *there = group ? engine_find_group(call->engine, group) : NULL;
    if (op_text(call, "project") && !op_project(call, op_text(call, "project")))
        return call->err.code;
    if (agent && !config_has_agent(config, agent))
        return op_unknown(call->engine, "agent", agent, op_agent_at, &call->err);
    if (limiter && !config_has_limiter(config, limiter))
        return op_unknown(call->engine, "limiter", limiter, op_limiter_at, &call->err);
    if (op_flag(call, "no_group") && (group || op_flag(call, "owned")))
        return op_fail(call, -EINVAL, "'no_group' cannot be used with 'group' or 'owned'");
    if (there && there->owned && there->closed)
        return op_fail(call, -EBUSY, "group '%s' was closed by its owner: choose another name",
                       utf8_quote(group).text);
    return 0;
}

static int check_all(struct op_call *call, struct slinging *s) {
    int r = check_names(call);
    s->fresh = 0;
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        r = check_state(call, &s->items[i]);
        s->fresh += r == 0 && is_fresh(&s->items[i]);
    }
    return r < 0 ? r : sling_admit(call, s);
}

/* --- applying -------------------------------------------------------------------------------- */

/* The parameters that are stored in the context of each task. */
static json_t *context_of(struct op_call *call) {
    static const char *const members[] = { "agent",       "limiter", "merge",
                                           "base_branch", "args",    "meta" };
    json_t *context = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (op_json(call, members[i]))
            json_object_set(context, members[i], (json_t *)op_json(call, members[i]));
    if (op_flag(call, "no_merge"))
        json_object_set_new(context, "merge", json_string("none"));
    return context;
}

static bool needs_group(const struct op_call *call, const struct slinging *s) {
    bool untracked = op_text(call, "group") != NULL;
    for (size_t i = 0; i < s->count; i++)
        untracked = untracked || (is_fresh(&s->items[i]) && s->items[i].group == 0);
    return untracked && s->fresh > 0 && !op_flag(call, "no_group");
}

static void hold_as_submitted(struct op_call *call, const struct sling_item *item) {
    bool hold = item->hold && !item->cleared;
    struct fact fact = { .kind = FACT_HOLD, .task = item->task };
    fact.until = hold ? 0 : item->not_before;
    if (hold || item->not_before > engine_now(call->engine))
        (void)engine_apply(call->engine, &fact, NULL);
}

static json_t *step_numbers(const struct sling_work *work) {
    json_t *numbers = json_array();
    for (size_t i = 0; i < work->batch.added; i++)
        json_array_append_new(numbers, json_integer((json_int_t)work->batch.first + (json_int_t)i));
    return numbers;
}

static void sling_one(struct op_call *call, struct slinging *s, struct sling_item *item,
                      const json_t *context) {
    bool own_steps = item->container || ((op_json(call, "steps") || item->work) && !item->step);
    bool joins = s->group && (item->group == 0 || op_text(call, "group"));
    struct fact fact = { .kind = FACT_SLING, .task = item->task };
    fact.sling.renames = true;
    if (!own_steps) { /* it runs nothing */
        const char *agent = op_text(call, "agent"), *limiter = op_text(call, "limiter");
        agent = agent ? agent : item->agent;
        limiter = limiter ? limiter : item->limiter;
        if (agent)
            (void)engine_know_agent(call->engine, agent, NULL);
        fact.sling.agent = agent ? op_symbol(call->engine, agent) : 0;
        fact.sling.limiter = limiter ? op_symbol(call->engine, limiter) : 0;
    }
    fact.sling.group = joins ? s->group : 0;
    if (engine_apply(call->engine, &fact, NULL) != 0) {
        item->already = true;
        return;
    }
    item->group = joins ? s->group : item->group;
    hold_as_submitted(call, item);
    json_t *own = json_deep_copy(context);
    if (own_steps)
        json_object_set_new(own, "steps", item->work ? step_numbers(item->work) : json_true());
    if (item->work)
        item->generation = item->work->generation;
    if (item->generation > 0)
        json_object_set_new(own, "generation", json_integer(item->generation));
    char *text =
        json_object_size(own) > 0 ? json_dumps(own, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    /* NULL: drops the context of an earlier sling. */
    engine_put_context(call->engine, item->task, text);
    freep(&text);
    json_t *data =
        json_pack("{s:s*, s:s*, s:O*}", "group", op_group_name(call->engine, item->group), "by",
                  op_actor(call), "context", json_object_size(own) > 0 ? own : NULL);
    text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(15));
    engine_event(call->engine, "task.slung", item->task, 0, text);
    freep(&text);
    json_decref(data);
    json_decref(own);
}

/* The dependencies first, because they may be refused. */
static int sling(struct op_call *call, struct slinging *s) {
    int r = 0;
    if (op_json(call, "steps") && is_fresh(&s->items[0])) {
        task_id *steps = arena_alloc(op_arena(call), s->count * sizeof(*steps));
        for (size_t i = 1; i < s->count; i++)
            steps[i - 1] = s->items[i].task;
        r = wait_for_steps(call, s, s->items[0].task, steps, s->count - 1);
    }
    for (size_t i = 0; r == 0 && i < s->count; i++)
        if (s->items[i].container && is_fresh(&s->items[i]) && !s->items[i].work)
            r = wait_for_children(call, s, s->items[i].task);
    if (r == 0 && needs_group(call, s))
        r = engine_open_group(call->engine, op_text(call, "group"), op_flag(call, "owned"),
                              &s->group, &call->err);
    if (r < 0)
        return r;
    json_t *context = context_of(call);
    for (size_t i = 0; i < s->count; i++)
        if (is_fresh(&s->items[i]))
            sling_one(call, s, &s->items[i], context);
    json_decref(context);
    return 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define SLUNG_TASK(X) \
    X(print_id, "id", T_TEXT | T_NULL, "its id; of a step that would be added, its external id", "web-17", call->engine, item->task) \
    X(json_put_string, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(json_put_bool, "already", T_BOOL, "it was scheduled before", NULL, item->already) \
    X(json_put_string, "result", T_TEXT, "`slung`, `already`, `skipped` or `deferred`", "slung", item->already ? "already" : item->skipped == sling_deferred ? "deferred" : item->skipped ? "skipped" : "slung") \
    X(json_put_string, "group", T_TEXT | T_NULL, "the group that follows it", "group-3", op_group_name(call->engine, item->group))
static const struct shape slung_task_shape = { "SlungTask", "a task that was to be slung", .members = SHAPE_ROWS(
    SLUNG_TASK(SHAPE_ROW)
    { "moved_from", T_TEXT | T_MAYBE, "its id before it moved to another project", "api-17" },
    { "why", T_TEXT | T_MAYBE, "of one that is skipped or deferred" }) };
/* clang-format on */

static void print_item(struct op_call *call, struct json_writer *w, const struct sling_item *item) {
    struct task_view t = { .state = TASK_DRAFT };
    (void)core_task(engine_core(call->engine), item->task, &t);
    json_write_object_begin(w);
    SLUNG_TASK(SHAPE_PRINT)
    if (item->moved_from)
        json_put_string(w, "moved_from", item->moved_from);
    if (item->skipped)
        json_put_string(w, "why", item->skipped);
    json_write_object_end(w);
}

static void print_answer(struct op_call *call, const struct slinging *s) {
    struct json_writer w = op_begin(call);
    json_put_array(&w, "tasks");
    for (size_t i = 0; i < s->count; i++)
        print_item(call, &w, &s->items[i]);
    if (op_flag(call, "dry_run")) {
        for (size_t i = 0; i < s->work_count; i++)
            for (size_t k = 0; k < s->works[i].batch.count; k++) {
                json_write_object_begin(&w);
                json_put_string(&w, "id", s->works[i].batch.entries[k].external_id);
                json_put_string(&w, "state", task_state_name(TASK_DRAFT));
                json_put_bool(&w, "already", false);
                json_put_string(&w, "result", "slung");
                json_put_string(&w, "group", NULL);
                json_write_object_end(&w);
            }
    }
    json_write_array_end(&w);
    json_put_string(&w, "group", op_group_name(call->engine, s->group));
    json_put_bool(&w, "dry_run", op_flag(call, "dry_run"));
    queue_room_print(call, &w, &s->room);
    json_write_object_end(&w);
}

/* --- what was submitted ---------------------------------------------------------------------- */

static void take_specs(struct op_call *call, const struct store_answer *answer) {
    struct slinging *s = slinging_of(call);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spec_row *row = &answer->specs[i];
        struct sling_item *item = sling_item_of(s, row->id);
        json_t *spec = json_loadb(row->json, row->json_size, 0, NULL);
        if (item) {
            take_submission(call, spec, item);
            json_t *context = row->context ? json_loads(row->context, 0, NULL) : NULL;
            item->generation = (uint32_t)json_integer_value(json_object_get(context, "generation"));
            json_decref(context);
            json_decref(item->spec);
            item->spec = item->moves ? json_incref(spec) : NULL;
        }
        json_decref(spec);
    }
}

/* Agents and limiters of the submission may have been removed from the configuration. `args` follow
 * a prompt; steps get them where they have one. */
static int check_submission(struct op_call *call, const struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    const char *agent = op_text(call, "agent");
    bool no_agent = item->agent && !agent && !config_has_agent(config, item->agent);
    bool no_limiter =
        item->limiter && !op_text(call, "limiter") && !config_has_limiter(config, item->limiter);
    bool fresh = is_fresh(item);
    if (no_agent || no_limiter)
        return op_fail(call, -ENOENT, "%s '%s' of task '%s' is not configured any more",
                       no_agent ? "agent" : "limiter",
                       utf8_quote(no_agent ? item->agent : item->limiter).text,
                       op_id(call, item->task));
    if (agent && fresh && item->prompted && engine_check_agent(call->engine, agent, NULL) != 0)
        return op_fail(call, -EINVAL,
                       "task '%s' is a prompt, and agent '%s' has no command to be told it",
                       op_id(call, item->task), utf8_quote(agent).text);
    if (op_text(call, "args") && fresh && !item->prompted && !item->work && !item->container
        && !op_json(call, "steps"))
        return op_fail(call, -EINVAL,
                       "task '%s' is a command: 'args' is a text that follows a prompt",
                       op_id(call, item->task));
    return 0;
}

/* Formulas are expanded for the tasks as they are after the move. */
static int sling_all(struct op_call *call, struct slinging *s) {
    s->first_added = engine_next_task(call->engine);
    int r = add_copies(call, s);
    if (r == 0)
        r = check_works(call, s);
    if (r == 0)
        r = add_works(call, s);
    if (r == 0)
        r = sling(call, s);
    if (r == 0)
        delete_originals(call, s);
    else
        undo_sling(call, s);
    return r;
}

#define SPECS_EACH 500u /* per query of the store */

static int query_specs(struct op_call *call);

/* Was anything of what was read replaced meanwhile? */
static bool is_stale(const struct op_call *call, const struct slinging *s) {
    for (size_t i = 0; i < s->count; i++)
        if (is_fresh(&s->items[i])
            && engine_text_changed(call->engine, s->items[i].task, s->writes))
            return true;
    return false;
}

/* What was written in this turn is not in the store yet. */
static int query_first(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    for (size_t i = 0; i < s->count; i++)
        if (is_fresh(&s->items[i]) && engine_is_edited_now(call->engine, s->items[i].task))
            return op_yield(call, query_first);
    s->queried = 0;
    s->writes = engine_text_writes(call->engine);
    return query_specs(call);
}

static int query_specs(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    task_id *tasks = arena_alloc(op_arena(call), SPECS_EACH * sizeof(*tasks));
    size_t count = 0;
    for (; s->queried < s->count && count < SPECS_EACH; s->queried++)
        if (is_fresh(&s->items[s->queried]))
            tasks[count++] = s->items[s->queried].task;
    if (count == 0 && is_stale(call, s))
        return query_first(call);
    if (count == 0) {
        int r = check_all(call, s);
        for (size_t i = 0; r == 0 && i < s->count; i++)
            r = check_submission(call, &s->items[i]);
        if (r == 0)
            r = check_moves(call, s);
        if (r == 0 && op_flag(call, "dry_run"))
            r = check_works(call, s);
        else if (r == 0)
            r = sling_all(call, s);
        if (r == 0)
            print_answer(call, s);
        return r;
    }
    struct store_query question = { .kind = QUERY_SPECS, .tasks = tasks, .task_count = count };
    return op_query(call, &question, take_specs, query_specs);
}

static int run(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    int r = sling_collect(call, s);
    if (r == 0)
        r = read_works(call, s);
    if (r == 0)
        r = check_all(call, s);
    return r < 0 ? r : query_first(call);
}

static const char *const merges[] = { "none", "local", "direct", "mr", NULL };

#define TEXT_PARAM(name_, max_, text_)                                                             \
    PARAM(TEXT, BODY, name_, .min = 1, .max = (max_), .text = (text_))
#define FLAG_PARAM(name_, text_) PARAM(BOOLEAN, BODY, name_, .text = (text_))

const struct op op_task_sling = {
    OP("task.sling", "POST", "/v1/tasks/sling", "schedule drafts"),
    .text = "All or none, unless `partial`. What is scheduled already is `already`; tasks of a "
            "project that only coordinates are `skipped`. What is said of agent, account and "
            "merging stands beside the task as its `context`; what was submitted stays as it is.",
    .params = PARAMS(
        PARAM(LIST, BODY, "tasks",
              .text = "task ids, or names of groups: all drafts of them; with a task go all drafts "
                      "below it",
              .required = true, .min = 1, .max = OP_LIST_MAX),
        TEXT_PARAM("project", 128, "the project they must belong to, or move to with `force`"),
        FLAG_PARAM("force", "overrides the guards: another project (a draft moves there, with a "
                            "new id), another group, a task that is at work or final"),
        FLAG_PARAM("dry_run", "only says what would be slung"),
        FLAG_PARAM("partial", "each of `tasks` by itself: those that the queue has no room for are "
                              "`deferred`, the others slung"),
        TEXT_PARAM("group", 128,
                   "the group that follows them; a new one is made for those that none follows"),
        FLAG_PARAM("owned", "a group that is made is closed only manually"),
        FLAG_PARAM("no_group", "makes no group"),
        TEXT_PARAM("agent", 128, "who runs them, instead of the agent they name"),
        TEXT_PARAM("limiter", 128, "the provider account they use"),
        PARAM(TEXT, BODY, "merge",
              .text = "how the work is brought in, instead of what the task says",
              .choices = merges),
        TEXT_PARAM("base_branch", 255, "the branch they start from, instead of the task's"),
        FLAG_PARAM("no_merge", "the same as `merge: none`"),
        PARAM(TEXT, BODY, "args", .text = "a text that is put behind the prompt", .lines = true,
              .min = 1, .max = 65536),
        PARAM(OBJECT, BODY, "meta", .text = "anything to keep with them: formula, vars, mode …"),
        PARAM(LIST, BODY, "steps",
              .text = "drafts that do the work of the one task that is named: they are slung with "
                      "it, it waits for them and runs nothing of its own",
              .min = 1, .max = 256),
        PARAM(ARRAY, BODY, "work",
              .text = "formulas: `{task, formula, steps}`. The steps, objects as task.add takes "
                      "them, are added and slung with the task, all of the call or none; it waits "
                      "for them and runs nothing of its own",
              .max = 1000)),
    .answers = ANSWERS(
        { "tasks", T_OBJECT | T_LIST, "those that were named, and their steps", &slung_task_shape },
        { "group", T_TEXT | T_NULL, "the group that was made or named", "group-3" },
        { "dry_run", T_BOOL, "nothing was changed" }, SHAPE_ROOM),
    OP_WRITES(SUBMIT, NONE, run),
};
