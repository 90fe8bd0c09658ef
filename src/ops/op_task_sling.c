/* op_task_sling.c: schedules drafts: single ones, all of a group, or all descendants of an epic.
 *
 * All checks come before anything is applied, so a batch is slung completely or not at all.
 * Slinging a scheduled task changes nothing, and the answer says so. Refused unless `force`: a
 * running or final task, a task of a project other than the one named, a task of another group.
 * Tasks of a project that only coordinates are skipped with a warning.
 *
 * Parameters of the sling (agent, account, merge …) are stored beside the submission, which never
 * changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "core/task_graph.h"
#include "engine/agents.h"
#include "ops/op_internal.h"
#include "ops/queue_room.h"
#include "ops/task_batch.h"

/* --- the tasks of a sling -------------------------------------------------------------------- */

struct sling_work {
    task_id task;
    const char *formula;
    json_t *steps;       /* of the parameter */
    uint32_t generation; /* of this sling; set before work_check */
    struct batch batch;
    task_id *before; /* what the task depended on */
    size_t before_count;
    bool applied; /* its dependencies have changed */
};

struct sling_works {
    struct sling_work *items;
    size_t count;
};

struct sling_item {
    task_id task;
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
    const char *moved_from;        /* its previous id; NULL: it has not moved */
    json_t *spec;                  /* the submission of a task that moves; or NULL */
    bool cleared;                  /* it was removed from the queue */
    time_ms not_before;
    uint32_t unit;       /* the parameter that named it: a group, or a task with its drafts */
    const char *skipped; /* why it is not slung; sling_deferred: the queue has no room */
};

/* Drafts that move to another project. */
struct sling_move {
    struct {
        task_id from, to;
    } * items;
    size_t count;
    json_t *read, *kept; /* the submissions, as parsed and as stored */
    struct batch batch;
};

struct slinging {
    struct sling_item *items;
    size_t count, capacity;
    struct id_map seen;
    struct queue_room room;
    uint32_t group; /* 0: none */
    size_t fresh;   /* will be slung */
    size_t queried; /* items whose submissions were read from the store */
    struct sling_works works;
    struct sling_move move;
};

static bool is_fresh(const struct sling_item *item) {
    return !item->already && !item->skipped;
}

static bool same_sling_item(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct slinging *)ctx)->items[handle - 1].task == *(const task_id *)key;
}

/* --- which tasks ----------------------------------------------------------------------------- */

static struct sling_item *sling_push(struct slinging *s, task_id task) {
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

static struct sling_item *sling_item_of(const struct slinging *s, task_id task) {
    uint32_t handle = id_map_find(&s->seen, hash_u64(task), &task);
    return handle ? &s->items[handle - 1] : NULL;
}

static int sling_too_many(struct op_call *call) {
    return op_fail(call, -E2BIG, "more than %d tasks at once; sling them in parts", OP_LIST_MAX);
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
                       op_quote(group->name).text, count, OP_LIST_MAX);
    task_id *drafts = arena_alloc(op_arena(call), (count + 1) * sizeof(*drafts));
    (void)core_group_members(core, group->id, true, drafts, count);
    qsort(drafts, count, sizeof(*drafts), compare_tasks);
    for (size_t i = 0; i < count; i++)
        if (!sling_push(s, drafts[i]))
            return sling_too_many(call);
    return 0;
}

static int push_descendants(struct op_call *call, struct slinging *s, task_id top) {
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
        struct task_view t;
        if (core_task(core, walk[i], &t) && t.state == TASK_DRAFT) {
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
    if (!task && call->err.code == -EINVAL) /* not even in the form of an id */
        return op_fail(call, -ENOENT, "there is no task and no group '%s'", op_quote(name).text);
    if (!task)
        return call->err.code;
    return sling_push(s, task) ? push_descendants(call, s, task) : sling_too_many(call);
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

const char sling_deferred[] = "the queue is full (queue.hard)";

struct sling_graph {
    uint32_t *starts, *targets;
    size_t edges, capacity;
    bool *waits, *deferred;
};

static void add_edge(struct sling_graph *g, size_t target) {
    g->targets = xgrow(g->targets, &g->capacity, g->edges + 1, sizeof(*g->targets));
    g->targets[g->edges++] = (uint32_t)target;
}

static void add_edge_to(struct sling_graph *g, const struct slinging *s, task_id task) {
    const struct sling_item *item = task ? sling_item_of(s, task) : NULL;
    if (item)
        add_edge(g, (size_t)(item - s->items));
}

static void defer_some(struct op_call *call, struct slinging *s) {
    struct sling_graph g = { 0 };
    const struct core *core = engine_core(call->engine);
    g.starts = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*g.starts));
    g.waits = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*g.waits));
    g.deferred = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*g.deferred));
    for (size_t i = 0; i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        struct task_view view = { 0 };
        g.starts[i] = (uint32_t)g.edges;
        g.waits[i] = is_fresh(item);
        /* The tasks of a unit need each other: connect them in a cycle. */
        uint32_t unit = s->items[i].unit;
        size_t next = i + 1;
        if (next == s->count || s->items[next].unit != unit)
            for (next = i; next > 0 && s->items[next - 1].unit == unit;)
                next--;
        if (next != i)
            add_edge(&g, next);
        if (!is_fresh(item) || !core_task(core, item->task, &view))
            continue;
        add_edge_to(&g, s, view.parent);
        size_t count;
        const task_id *needs = op_depends(call, item->task, 0, &count);
        for (size_t k = 0; k < count; k++)
            add_edge_to(&g, s, needs[k]);
    }
    g.starts[s->count] = (uint32_t)g.edges;
    struct admit_request request = { .starts = g.starts,
                                     .targets = g.targets,
                                     .waits = g.waits,
                                     .node_count = (uint32_t)s->count,
                                     .room = queue_room_left(call) };
    (void)admit_fill(&request, g.deferred);
    for (size_t i = 0; i < s->count; i++) {
        if (!g.deferred[i] || !is_fresh(&s->items[i]))
            continue;
        s->items[i].skipped = sling_deferred;
        s->fresh--;
    }
    free(g.targets);
}

static size_t count_steps(const struct slinging *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->works.count; i++) {
        const struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        count += item && is_fresh(item) ? json_array_size(s->works.items[i].steps) : 0;
    }
    return count;
}

static int sling_admit(struct op_call *call, struct slinging *s) {
    size_t all = s->fresh, steps = count_steps(s);
    if (op_flag(call, "partial") && (amount)s->fresh > queue_room_left(call))
        defer_some(call, s);
    int r = queue_room_check(call, (s->fresh > 0 ? s->fresh : all) + steps, &s->room);
    for (size_t i = 0; r == 0 && i < s->count; i++)
        s->room.deferred += s->items[i].skipped == sling_deferred;
    if (r == 0 && op_text(call, "base_branch")) {
        struct task_view view;
        for (size_t i = 0; i < s->count && !s->room.note; i++)
            if (is_fresh(&s->items[i])
                && core_task(engine_core(call->engine), s->items[i].task, &view))
                s->room.note =
                    submission_branch_note(engine_config(call->engine),
                                           op_name_of(call->engine, view.project), op_arena(call));
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

/* Makes the task also wait for `others`. -ELOOP: one of them waits for it, directly or not. */
static int wait_for(struct op_call *call, task_id task, const task_id *others, size_t count) {
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
    return all == before ? 0 : op_set_depends(call, task, on, all);
}

/* `r`: the result of adding steps to the dependencies of their task. */
static int check_step_cycle(struct op_call *call, int r) {
    if (r == -ELOOP)
        return op_fail(call, r, "a step waits for the task that it is a step of");
    return r < 0 ? r : 0;
}

static int sling_wait_for_children(struct op_call *call, const struct sling_item *item) {
    task_id *children;
    bool gated = false;
    size_t count = children_of(call, item->task, &children, &gated);
    int r = wait_for(call, item->task, children, count);
    if (r == -ELOOP)
        return op_fail(call, r, "a child of epic '%s' waits for it", op_id(call, item->task));
    return r < 0 ? r : 0;
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

static void sling_move_finish(struct sling_move *move) {
    batch_finish(&move->batch);
    json_decref(move->read);
    json_decref(move->kept);
    free(move->items);
    *move = (struct sling_move){ 0 };
}

/* Children that stay would lose their parent. */
static int check_children(struct op_call *call, const struct slinging *s, task_id task) {
    const struct core *core = engine_core(call->engine);
    _cleanup_(freep) task_id *children = xcalloc(OP_LIST_MAX, sizeof(*children));
    size_t count = core_task_children(core, task, children, OP_LIST_MAX);
    char id[ENGINE_ID_MAX], child[ENGINE_ID_MAX];
    for (size_t i = 0; i < count; i++) {
        const struct sling_item *item = sling_item_of(s, children[i]);
        if (!item || !item->moves)
            return op_fail(
                call, -EBUSY, "task '%s' cannot move to project '%s': '%s' is below it and stays",
                engine_task_id(call->engine, task, id), op_quote(op_text(call, "project")).text,
                engine_task_id(call->engine, children[i], child));
    }
    return 0;
}

/* A folder of the old project is dropped: the task works in the folder of the new one. */
static bool is_of_old_project(const struct op_call *call, const struct sling_item *item) {
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

/* Parent and dependencies are known as numbers; names of the original batch are meaningless now. */
static void read_again(struct op_call *call, struct sling_move *move,
                       const struct sling_item *item) {
    static const char *const links[] = { "name", "parent", "depends_on" };
    json_t *kept = json_deep_copy(item->spec);
    if (is_of_old_project(call, item))
        json_object_del(kept, "cwd");
    json_object_set_new(kept, "project", json_string(op_text(call, "project")));
    json_t *read = json_deep_copy(kept);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        json_object_del(read, links[i]);
    json_array_append_new(move->kept, kept);
    json_array_append_new(move->read, read);
}

static task_id new_number(const struct slinging *s, task_id task) {
    const struct sling_move *move = &s->move;
    for (size_t i = 0; i < move->count; i++)
        if (move->items[i].from == task)
            return move->items[i].to;
    return task;
}

static int check_move(struct op_call *call, struct slinging *s) {
    struct sling_move *move = &s->move;
    int r = batch_read(&move->batch, move->read, NULL, &call->err);
    for (size_t i = 0; r == 0 && i < move->count; i++)
        move->batch.entries[i].json = json_array_get(move->kept, i);
    if (r == 0)
        r = batch_check(&move->batch, &call->err);
    if (r < 0) {
        (void)error_prefix(&call->err, "task '%s' in project '%s'",
                           op_id(call, move->items[move->batch.index].from),
                           op_quote(op_text(call, "project")).text);
        return r;
    }
    for (size_t i = 0; i < move->count; i++) {
        move->items[i].to = move->batch.entries[i].spec.id;
        if (move->batch.entries[i].already)
            return op_fail(call, -EEXIST, "project '%s' has '%s' already: '%s'",
                           op_quote(op_text(call, "project")).text,
                           op_quote(move->batch.entries[i].external_id).text,
                           op_id(call, move->batch.entries[i].spec.id));
    }
    for (size_t i = 0; i < move->count; i++) {
        const struct core *core = engine_core(call->engine);
        struct task_spec *spec = &move->batch.entries[i].spec, old;
        task_id from = move->items[i].from;
        (void)core_task_spec(core, from, &old);
        task_id *on = op_depends(call, from, 0, &spec->depends_on_count);
        for (size_t k = 0; k < spec->depends_on_count; k++)
            on[k] = new_number(s, on[k]);
        spec->depends_on = on;
        spec->parent = new_number(s, old.parent);
        spec->parent_gate = old.parent_gate;
        spec->parent_iteration = old.parent_iteration;
        spec->created_at = old.created_at;
        spec->priority = old.priority;
        spec->group = old.group;
    }
    return 0;
}

static int sling_move_check(struct op_call *call, struct slinging *s) {
    struct sling_move *move = &s->move;
    int r = 0;
    sling_move_finish(move);
    move->items = xcalloc(s->count + 1, sizeof(*move->items));
    move->read = json_array();
    move->kept = json_array();
    move->batch = (struct batch){
        .engine = call->engine, .arena = op_arena(call), .draft = true, .force = true
    };
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        if (!item->moves || item->already || item->skipped)
            continue;
        move->items[move->count++].from = item->task;
        read_again(call, move, item);
        if (move->count > MOVES_MAX)
            return op_fail(call, -E2BIG, "more than %d tasks move at once; sling them in parts",
                           MOVES_MAX);
        r = check_children(call, s, item->task);
    }
    return r == 0 && move->count > 0 ? check_move(call, s) : r;
}

static void rename_item(struct op_call *call, struct slinging *s, task_id from, task_id to) {
    uint32_t handle = id_map_find(&s->seen, hash_u64(from), &from);
    struct sling_item *item = &s->items[handle - 1];
    id_map_remove(&s->seen, hash_u64(from), &from);
    item->task = to;
    item->moved_from = op_id(call, from);
    id_map_add(&s->seen, hash_u64(to), handle);
    for (size_t i = 0; i < s->works.count; i++)
        if (s->works.items[i].task == from)
            s->works.items[i].task = to;
}

static int sling_move_add(struct op_call *call, struct slinging *s) {
    struct sling_move *move = &s->move;
    if (move->count == 0)
        return 0;
    int r = engine_add_tasks(call->engine, move->batch.entries, move->count, &call->err);
    if (r < 0)
        return r;
    batch_set_budgets(&move->batch);
    for (size_t i = 0; i < move->count; i++)
        rename_item(call, s, move->items[i].from, move->items[i].to);
    return 0;
}

static void delete_task(struct op_call *call, task_id task) {
    (void)engine_apply(call->engine, &(struct fact){ .kind = FACT_DELETE, .task = task }, NULL);
}

static void rewire(struct op_call *call, const struct slinging *s, task_id from) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_task_dependants(core, from, NULL, 0);
    _cleanup_(freep) task_id *waiters = xcalloc(count + 1, sizeof(*waiters));
    (void)core_task_dependants(core, from, waiters, count);
    for (size_t i = 0; i < count; i++) {
        size_t needs;
        task_id *on = op_depends(call, waiters[i], 0, &needs);
        for (size_t k = 0; k < needs; k++)
            on[k] = new_number(s, on[k]);
        (void)op_set_depends(call, waiters[i], on, needs);
    }
}

/* --- formulas -------------------------------------------------------------------------------- */

#define GENERATION_MAX 100000u

static int work_read(struct op_call *call, struct sling_works *works) {
    const json_t *list = op_json(call, "work");
    works->count = json_array_size(list);
    works->items = xcalloc(works->count + 1, sizeof(*works->items));
    for (size_t i = 0; i < works->count; i++) {
        const json_t *entry = json_array_get(list, i);
        struct sling_work *work = &works->items[i];
        const char *name = json_string_value(json_object_get(entry, "task"));
        work->formula = json_string_value(json_object_get(entry, "formula"));
        work->steps = json_object_get(entry, "steps");
        size_t steps = json_array_size(work->steps);
        if (!name || !work->formula || !*work->formula || steps == 0 || steps > 256)
            return op_fail(call, -EINVAL,
                           "an entry of 'work' must have 'task', 'formula' and 1 to 256 'steps'");
        work->task = op_named_task(call, name);
        if (!work->task)
            return call->err.code;
        for (size_t k = 0; k < i; k++)
            if (works->items[k].task == work->task)
                return op_fail(call, -EINVAL, "task '%s' is twice in 'work'", op_quote(name).text);
    }
    return 0;
}

/* Steps belong to the project of their task, and are named after it. */
static int complete_steps(struct op_call *call, struct sling_work *work) {
    char id[ENGINE_ID_MAX];
    struct task_view t = { 0 };
    (void)core_task(engine_core(call->engine), work->task, &t);
    engine_task_id(call->engine, work->task, id);
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
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        const char *own = json_string_value(json_object_get(step, "name"));
        strbuf_printf(&name, "%s/%s", id, work->formula);
        if (work->generation > 1)
            strbuf_printf(&name, ".%u", work->generation);
        if (own)
            strbuf_printf(&name, "/%s", own);
        else
            strbuf_printf(&name, "/%zu", i + 1);
        json_t *meta = json_object_get(step, "meta");
        if (!meta)
            json_object_set_new(step, "meta", meta = json_object());
        json_object_set_new(meta, "on", json_string(id));
        json_object_set_new(step, "external_id", json_string(strbuf_text(&name)));
        json_object_set_new(step, "project", json_string(op_name_of(call->engine, t.project)));
    }
    return 0;
}

static int refuse_step(struct op_call *call, const struct sling_work *work, int code) {
    const struct submission *entry =
        work->batch.entries ? &work->batch.entries[work->batch.index] : NULL;
    call->index = (int64_t)work->batch.index;
    if (entry && entry->name)
        (void)error_prefix(&call->err, "step '%s' of task '%s'", op_quote(entry->name).text,
                           op_id(call, work->task));
    else
        (void)error_prefix(&call->err, "step %zu of task '%s'", work->batch.index + 1,
                           op_id(call, work->task));
    return code;
}

static int check_once(struct op_call *call, struct sling_work *work, size_t skip) {
    batch_finish(&work->batch);
    work->batch = (struct batch){
        .engine = call->engine, .arena = op_arena(call), .draft = true, .skip = skip
    };
    int r = complete_steps(call, work);
    if (r < 0)
        return r;
    r = batch_read(&work->batch, work->steps, NULL, &call->err);
    const char *agent = op_text(call, "agent");
    for (size_t i = 0; r == 0 && agent && i < work->batch.count; i++) {
        work->batch.index = i;
        if (work->batch.entries[i].prompt)
            r = engine_check_agent(call->engine, agent, &call->err);
    }
    if (r == 0)
        r = batch_check(&work->batch, &call->err);
    return r < 0 ? refuse_step(call, work, r) : 0;
}

/* Names of earlier steps that have started belong to an earlier generation. */
static int check_one(struct op_call *call, struct sling_work *work, size_t skip) {
    int r = check_once(call, work, skip);
    while (r == 0 && work->batch.added < work->batch.count && work->generation < GENERATION_MAX) {
        work->generation++;
        r = check_once(call, work, skip);
    }
    return r;
}

static int work_check(struct op_call *call, struct sling_works *works) {
    size_t skip = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < works->count; i++) {
        r = check_one(call, &works->items[i], skip);
        skip += works->items[i].batch.added;
    }
    if (r == 0 && skip > 0 && engine_is_full(call->engine))
        r = op_fail(call, -ENOSPC,
                    "the disk is nearly full: no new tasks until there is room again");
    return r;
}

static int add_one(struct op_call *call, struct sling_work *work) {
    task_id *on = work->before =
        op_depends(call, work->task, work->batch.added, &work->before_count);
    int r = engine_add_tasks(call->engine, work->batch.entries, work->batch.count, &call->err);
    if (r < 0)
        return r;
    work->applied = true;
    batch_set_budgets(&work->batch);
    for (size_t i = 0; i < work->batch.added; i++)
        on[work->before_count + i] = work->batch.first + i;
    return check_step_cycle(
        call, op_set_depends(call, work->task, on, work->before_count + work->batch.added));
}

/* Within this turn: restores dependencies and deletes the steps. */
static void remove_works(struct op_call *call, struct sling_works *works) {
    struct error why = call->err;
    for (size_t i = works->count; i-- > 0;) {
        struct sling_work *work = &works->items[i];
        if (!work->applied)
            continue;
        (void)op_set_depends(call, work->task, work->before, work->before_count);
        for (size_t k = work->batch.added; k-- > 0;)
            delete_task(call, work->batch.first + k);
    }
    call->err = why;
}

/* --- the slung tasks ------------------------------------------------------------------------- */

/* Formulas of already scheduled tasks are ignored. */
static int sling_find_works(struct op_call *call, struct slinging *s) {
    int r = work_read(call, &s->works);
    for (size_t i = 0; r == 0 && i < s->works.count; i++) {
        struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        if (!item)
            return op_fail(call, -EINVAL, "task '%s' of 'work' is not in 'tasks'",
                           op_id(call, s->works.items[i].task));
        item->work = &s->works.items[i];
    }
    if (r == 0 && s->works.count > 0 && op_json(call, "steps"))
        r = op_fail(call, -EINVAL, "'work' does not go with 'steps'");
    if (r == 0 && s->works.count > 0 && op_flag(call, "partial"))
        r = op_fail(call, -EINVAL, "'work' does not go with 'partial': formulas are slung whole");
    return r;
}

static int push_added(struct op_call *call, struct slinging *s) {
    for (size_t i = 0; i < s->works.count; i++)
        for (size_t k = 0; k < s->works.items[i].batch.count; k++) {
            const struct submission *entry = &s->works.items[i].batch.entries[k];
            struct sling_item *item = sling_push(s, entry->spec.id);
            if (!item)
                return sling_too_many(call);
            item->step = true;
            item->agent = entry->agent;
            item->limiter = entry->limiter;
            item->prompted = entry->prompt != NULL;
            item->hold = entry->hold == 1;
            item->not_before = entry->not_before > 0 ? entry->not_before : 0;
            s->fresh++;
        }
    return 0;
}

static int sling_check_works(struct op_call *call, struct slinging *s) {
    if (s->works.count == 0)
        return 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->works.count; i++) {
        struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        item->work = NULL;
        if (item->already || item->skipped)
            continue;
        s->works.items[kept] = s->works.items[i];
        s->works.items[kept].generation = item->generation + 1;
        item->work = &s->works.items[kept++];
    }
    s->works.count = kept;
    return s->count + 256 * s->works.count > OP_LIST_MAX ? sling_too_many(call)
                                                         : work_check(call, &s->works);
}

static int sling_add_works(struct op_call *call, struct slinging *s) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < s->works.count; i++)
        r = add_one(call, &s->works.items[i]);
    if (r < 0)
        remove_works(call, &s->works);
    return r < 0 ? r : push_added(call, s);
}

#define SPECS_EACH 500u /* per query of the store */

static void slinging_finish(void *state) {
    struct slinging *s = state;
    for (size_t i = 0; i < s->count; i++)
        json_decref(s->items[i].spec);
    freep(&s->items);
    sling_move_finish(&s->move);
    for (size_t i = 0; i < s->works.count; i++)
        batch_finish(&s->works.items[i].batch);
    freep(&s->works.items);
    id_map_finish(&s->seen);
}

static struct slinging *slinging_of(struct op_call *call) {
    return op_state(call, sizeof(struct slinging), slinging_finish);
}

/* --- guards ---------------------------------------------------------------------------------- */

static int check_sling_item(struct op_call *call, struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    const char *named = op_text(call, "project");
    struct task_view t;
    struct task_spec spec;
    if (!core_task(engine_core(call->engine), item->task, &t)
        || !core_task_spec(engine_core(call->engine), item->task, &spec))
        return op_fail(call, -ENOENT, "task '%s' was deleted meanwhile", op_id(call, item->task));
    const char *project = op_name_of(call->engine, t.project);
    item->moves = named && t.state == TASK_DRAFT && strcmp(project, named) != 0;
    item->already =
        item->already || t.state != TASK_DRAFT; /* stay already: its spec was not requested */
    item->group = spec.group;
    item->cleared = t.reason == REASON_CLEARED;
    if (!op_flag(call, "force")) {
        if (named && strcmp(project, named) != 0)
            return op_fail(call, -EPERM,
                           "task '%s' is of project '%s', not of '%s'; force moves a draft there",
                           op_id(call, item->task), project, op_quote(named).text);
        if (!item->epic && (task_state_is_live(t.state) || task_state_is_final(t.state)))
            return op_fail(call, -EBUSY, "task '%s' is %s: only a draft can be slung",
                           op_id(call, item->task), task_state_name(t.state));
    }
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
    struct submission_merge wanted = { project, merge ? merge : "none",
                                       op_text(call, "base_branch") };
    int r = submission_check_merge(config, &wanted, &call->err);
    const char *group = op_text(call, "group"), *other = op_group_name(call->engine, item->group);
    if (r == 0 && group && other && strcmp(group, other) != 0 && !op_flag(call, "force"))
        r = op_fail(call, -EPERM, "task '%s' is in group '%s' already; force moves it",
                    op_id(call, item->task), op_quote(other).text);
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
        return op_fail(call, -EINVAL, "'no_group' does not go with 'group' or 'owned'");
    if (there && there->owned && there->closed)
        return op_fail(call, -EBUSY, "group '%s' was closed by its owner: choose another name",
                       op_quote(group).text);
    return 0;
}

static int check_all(struct op_call *call, struct slinging *s) {
    int r = check_names(call);
    s->fresh = 0;
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        r = check_sling_item(call, &s->items[i]);
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

static void put_event(struct op_call *call, const struct sling_item *item, uint32_t group,
                      const json_t *context) {
    json_t *data =
        json_pack("{s:s*, s:s*, s:O*}", "group", op_group_name(call->engine, group), "by",
                  op_actor(call), "context", json_object_size(context) > 0 ? context : NULL);
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(15));
    engine_event(call->engine, "task.slung", item->task, 0, text);
    freep(&text);
    json_decref(data);
}

/* First, because it may be refused. */
static int wait_for_steps(struct op_call *call, const struct slinging *s) {
    task_id *steps = arena_alloc(op_arena(call), s->count * sizeof(*steps));
    for (size_t i = 1; i < s->count; i++)
        steps[i - 1] = s->items[i].task;
    return check_step_cycle(call, wait_for(call, s->items[0].task, steps, s->count - 1));
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
        json_array_append_new(numbers, json_integer((json_int_t)(work->batch.first + i)));
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
    put_event(call, item, item->group, own);
    freep(&text);
    json_decref(own);
}

static int sling(struct op_call *call, struct slinging *s) {
    if (op_json(call, "steps") && is_fresh(&s->items[0])) {
        int r = wait_for_steps(call, s);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].container && is_fresh(&s->items[i]) && !s->items[i].work) {
            int r = sling_wait_for_children(call, &s->items[i]);
            if (r < 0)
                return r;
        }
    if (needs_group(call, s)) {
        int r = engine_open_group(call->engine, op_text(call, "group"), op_flag(call, "owned"),
                                  &s->group, &call->err);
        if (r < 0)
            return r;
    }
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
    X(print_text, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(print_bool, "already", T_BOOL, "it was scheduled before", NULL, item->already) \
    X(print_text, "result", T_TEXT, "`slung`, `already`, `skipped` or `deferred`", "slung", item->already ? "already" : item->skipped == sling_deferred ? "deferred" : item->skipped ? "skipped" : "slung") \
    X(print_text, "group", T_TEXT | T_NULL, "the group that follows it", "group-3", op_group_name(call->engine, item->group))
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
        print_text(w, "moved_from", item->moved_from);
    if (item->skipped)
        print_text(w, "why", item->skipped);
    json_write_object_end(w);
}

static void print_answer(struct op_call *call, const struct slinging *s) {
    struct json_writer w = op_begin(call);
    print_list(&w, "tasks");
    for (size_t i = 0; i < s->count; i++)
        print_item(call, &w, &s->items[i]);
    if (op_flag(call, "dry_run")) {
        for (size_t i = 0; i < s->works.count; i++)
            for (size_t k = 0; k < s->works.items[i].batch.count; k++) {
                json_write_object_begin(&w);
                print_text(&w, "id", s->works.items[i].batch.entries[k].external_id);
                print_text(&w, "state", task_state_name(TASK_DRAFT));
                print_bool(&w, "already", false);
                print_text(&w, "result", "slung");
                print_text(&w, "group", NULL);
                json_write_object_end(&w);
            }
    }
    json_write_array_end(&w);
    print_text(&w, "group", op_group_name(call->engine, s->group));
    print_bool(&w, "dry_run", op_flag(call, "dry_run"));
    queue_room_print(call, &w, &s->room);
    json_write_object_end(&w);
}

/* --- what was submitted ---------------------------------------------------------------------- */

/* An earlier sling may have set others: the submission and this call take precedence. */
static void take_specs(struct op_call *call, const struct store_answer *answer) {
    struct slinging *s = slinging_of(call);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spec_row *row = &answer->specs[i];
        uint32_t handle = id_map_find(&s->seen, hash_u64(row->id), &row->id);
        json_t *spec = json_loadb(row->json, row->json_size, 0, NULL);
        if (handle) {
            struct sling_item *item = &s->items[handle - 1];
            item->agent = op_keep(call, json_string_value(json_object_get(spec, "agent")));
            item->limiter = op_keep(call, json_string_value(json_object_get(spec, "limiter")));
            item->prompted = json_object_get(spec, "prompt") != NULL;
            item->hold = json_is_true(json_object_get(spec, "hold"));
            item->not_before = json_integer_value(json_object_get(spec, "not_before"));
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
static int check_item(struct op_call *call, const struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    const char *agent = op_text(call, "agent");
    bool no_agent = item->agent && !agent && !config_has_agent(config, item->agent);
    bool no_limiter =
        item->limiter && !op_text(call, "limiter") && !config_has_limiter(config, item->limiter);
    bool fresh = is_fresh(item);
    if (no_agent || no_limiter)
        return op_fail(call, -ENOENT, "%s '%s' of task '%s' is not configured any more",
                       no_agent ? "agent" : "limiter",
                       op_quote(no_agent ? item->agent : item->limiter).text,
                       op_id(call, item->task));
    if (agent && fresh && item->prompted && engine_check_agent(call->engine, agent, NULL) != 0)
        return op_fail(call, -EINVAL,
                       "task '%s' is a prompt, and agent '%s' has no command to be told it",
                       op_id(call, item->task), op_quote(agent).text);
    if (op_text(call, "args") && fresh && !item->prompted && !item->work && !item->container
        && !op_json(call, "steps"))
        return op_fail(call, -EINVAL,
                       "task '%s' is a command: 'args' is a text that follows a prompt",
                       op_id(call, item->task));
    return 0;
}

/* Formulas are expanded for the tasks as they are after the move. */
static int sling_all(struct op_call *call, struct slinging *s) {
    int r = sling_move_add(call, s);
    if (r < 0)
        return r;
    r = sling_check_works(call, s);
    if (r == 0)
        r = sling_add_works(call, s);
    if (r == 0) {
        r = sling(call, s);
        if (r < 0)
            remove_works(call, &s->works);
    }
    if (r == 0) {
        const struct sling_move *move = &s->move;
        for (size_t i = 0; i < move->count; i++)
            (void)op_set_depends(call, move->items[i].from, NULL, 0);
        for (size_t i = 0; i < move->count; i++)
            rewire(call, s, move->items[i].from);
        for (size_t i = move->count; i-- > 0;) /* descendants come after their ancestors */
            delete_task(call, move->items[i].from);
    } else {
        struct error why = call->err;
        for (size_t i = s->move.count; i-- > 0;)
            delete_task(call, s->move.items[i].to);
        call->err = why;
    }
    return r;
}

static int query_specs(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    task_id *tasks = arena_alloc(op_arena(call), SPECS_EACH * sizeof(*tasks));
    size_t count = 0;
    for (; s->queried < s->count && count < SPECS_EACH; s->queried++)
        if (is_fresh(&s->items[s->queried]))
            tasks[count++] = s->items[s->queried].task;
    if (count == 0) {
        int r = check_all(call, s);
        for (size_t i = 0; r == 0 && i < s->count; i++)
            r = check_item(call, &s->items[i]);
        if (r == 0)
            r = sling_move_check(call, s);
        if (r == 0 && op_flag(call, "dry_run"))
            r = sling_check_works(call, s);
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
        r = sling_find_works(call, s);
    if (r == 0)
        r = check_all(call, s);
    return r < 0 ? r : query_specs(call);
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
        FLAG_PARAM("owned", "a group that is made is closed by hand only"),
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
