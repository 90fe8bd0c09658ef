/* sling_move.c: a draft that is slung into another project by force moves there.
 *
 * The project of a task never changes, so the draft is added once more in the other project, with
 * everything it has: age, priority, group, parent, dependencies, external id. What waited for the
 * old one waits for the new one, and the old one is deleted, all in the turn of the sling. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "ops/sling_internal.h"

#define MOVES_MAX 1000

void sling_move_finish(struct sling_move *move) {
    batch_finish(&move->batch);
    json_decref(move->read);
    json_decref(move->kept);
    free(move->items);
    *move = (struct sling_move){ 0 };
}

/* Children that stay behind would belong to a task that is gone. */
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

/* A folder of the old project is none of the new one: it works in that one's folder. */
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

/* What it depends on and belongs to is known as numbers; names of the batch it came with mean
 * nothing any more. */
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

/* The number that a task has after the move. */
static task_id moved(const struct slinging *s, task_id task) {
    const struct sling_move *move = &s->move;
    for (size_t i = 0; i < move->count; i++)
        if (move->items[i].from == task)
            return move->items[i].to;
    return task;
}

static void link_draft(struct op_call *call, struct slinging *s, size_t i) {
    const struct core *core = engine_core(call->engine);
    struct engine_draft *draft = &s->move.batch.drafts[i];
    task_id from = s->move.items[i].from;
    struct task_spec old;
    (void)core_task_spec(core, from, &old);
    draft->depends_on_count = core_task_depends(core, from, NULL, 0);
    task_id *on = arena_alloc(op_arena(call), (draft->depends_on_count + 1) * sizeof(*on));
    (void)core_task_depends(core, from, on, draft->depends_on_count);
    for (size_t k = 0; k < draft->depends_on_count; k++)
        on[k] = moved(s, on[k]);
    draft->depends_on = on;
    draft->told.parent = moved(s, old.parent);
    draft->told.parent_gate = old.parent_gate;
    draft->told.parent_iteration = old.parent_iteration;
    draft->told.created_at = old.created_at;
    draft->told.priority = old.priority;
    draft->told.group = old.group;
}

static int refuse(struct op_call *call, const struct slinging *s, int code) {
    const struct sling_move *move = &s->move;
    char id[ENGINE_ID_MAX];
    (void)error_prefix(&call->err, "task '%s' in project '%s'",
                       engine_task_id(call->engine, move->items[move->batch.index].from, id),
                       op_quote(op_text(call, "project")).text);
    return code;
}

static int check_batch(struct op_call *call, struct slinging *s) {
    struct sling_move *move = &s->move;
    char id[ENGINE_ID_MAX];
    int r = batch_read(&move->batch, move->read, NULL, &call->err);
    for (size_t i = 0; r == 0 && i < move->count; i++)
        move->batch.entries[i].s.json = json_array_get(move->kept, i);
    if (r == 0)
        r = batch_check(&move->batch, &call->err);
    if (r < 0)
        return refuse(call, s, r);
    for (size_t i = 0; i < move->count; i++) {
        move->items[i].to = move->batch.entries[i].id;
        if (move->batch.entries[i].already)
            return op_fail(call, -EEXIST, "project '%s' has '%s' already: '%s'",
                           op_quote(op_text(call, "project")).text,
                           op_quote(move->batch.entries[i].s.external_id).text,
                           engine_task_id(call->engine, move->batch.entries[i].id, id));
    }
    for (size_t i = 0; i < move->count; i++)
        link_draft(call, s, i);
    return 0;
}

int sling_move_check(struct op_call *call, struct slinging *s) {
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
    return r == 0 && move->count > 0 ? check_batch(call, s) : r;
}

/* From here on the items, and their formulas, are the new tasks. */
static void rename_item(struct op_call *call, struct slinging *s, task_id from, task_id to) {
    char id[ENGINE_ID_MAX];
    uint32_t handle = id_map_find(&s->seen, hash_u64(from), &from);
    struct sling_item *item = &s->items[handle - 1];
    id_map_remove(&s->seen, hash_u64(from), &from);
    item->task = to;
    item->moved_from = arena_strdup(op_arena(call), engine_task_id(call->engine, from, id));
    id_map_add(&s->seen, hash_u64(to), handle);
    for (size_t i = 0; i < s->works.count; i++)
        if (s->works.items[i].task == from)
            s->works.items[i].task = to;
}

int sling_move_add(struct op_call *call, struct slinging *s) {
    struct sling_move *move = &s->move;
    task_id first = 0;
    if (move->count == 0)
        return 0;
    int r = engine_add_tasks(call->engine, move->batch.drafts, move->count, &first, &call->err);
    if (r < 0)
        return r;
    batch_give_budgets(&move->batch);
    for (size_t i = 0; i < move->count; i++)
        rename_item(call, s, move->items[i].from, move->items[i].to);
    return 0;
}

static void tell_depends(struct op_call *call, task_id task, const task_id *on, size_t count) {
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = task };
    fact.dependencies.items = on;
    fact.dependencies.count = count;
    (void)engine_tell(call->engine, &fact, NULL);
}

static void delete (struct op_call *call, task_id task) {
    (void)engine_tell(call->engine, &(struct fact){ .kind = FACT_DELETE, .task = task }, NULL);
}

/* What waited for the old one waits for the new one. */
static void rewire(struct op_call *call, const struct slinging *s, task_id from) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_task_dependants(core, from, NULL, 0);
    _cleanup_(freep) task_id *waiters = xcalloc(count + 1, sizeof(*waiters));
    (void)core_task_dependants(core, from, waiters, count);
    for (size_t i = 0; i < count; i++) {
        size_t needs = core_task_depends(core, waiters[i], NULL, 0);
        _cleanup_(freep) task_id *on = xcalloc(needs + 1, sizeof(*on));
        (void)core_task_depends(core, waiters[i], on, needs);
        for (size_t k = 0; k < needs; k++)
            on[k] = moved(s, on[k]);
        tell_depends(call, waiters[i], on, needs);
    }
}

void sling_move_leave(struct op_call *call, struct slinging *s) {
    const struct sling_move *move = &s->move;
    for (size_t i = 0; i < move->count; i++)
        tell_depends(call, move->items[i].from, NULL, 0);
    for (size_t i = 0; i < move->count; i++)
        rewire(call, s, move->items[i].from);
    for (size_t i = move->count; i-- > 0;) /* what is below a task comes after it */
        delete (call, move->items[i].from);
}

void sling_move_take_back(struct op_call *call, struct slinging *s) {
    struct error why = call->err;
    for (size_t i = s->move.count; i-- > 0;)
        delete (call, s->move.items[i].to);
    call->err = why;
}
