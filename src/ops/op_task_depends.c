/* op_task_depends.c: what a task waits for is replaced.
 *
 * The core refuses a ring; here it is walked once more to say which tasks it goes through, because
 * "somewhere" is no help in a project of a thousand. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "ops/print.h"

#define WALK_MAX   20000u
#define RING_SHOWN 8 /* a longer one is shown by its beginning */

/* Tasks that were reached, each with the one it was reached from. */
struct walk {
    const struct core *core;
    task_id *tasks;
    uint32_t *from; /* position + 1 of the one before; 0: the beginning */
    size_t count, capacity, from_capacity;
    struct id_map seen;
};

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct walk *)ctx)->tasks[handle - 1] == *(const task_id *)key;
}

static void walk_finish(struct walk *w) {
    free(w->tasks);
    free(w->from);
    id_map_finish(&w->seen);
}

static void reach(struct walk *w, task_id task, uint32_t from) {
    if (task == 0 || id_map_find(&w->seen, hash_u64(task), &task))
        return;
    w->tasks = xgrow(w->tasks, &w->capacity, w->count + 1, sizeof(*w->tasks));
    w->from = xgrow(w->from, &w->from_capacity, w->count + 1, sizeof(*w->from));
    w->tasks[w->count] = task;
    w->from[w->count++] = from;
    id_map_add(&w->seen, hash_u64(task), (uint32_t)w->count);
}

static void reach_needs(struct walk *w, uint32_t at) {
    task_id task = w->tasks[at - 1];
    size_t count = core_task_depends(w->core, task, NULL, 0);
    _cleanup_(freep) task_id *needs = xcalloc(count + 1, sizeof(*needs));
    (void)core_task_depends(w->core, task, needs, count);
    for (size_t i = 0; i < count; i++)
        reach(w, needs[i], at);
    struct task_spec spec;
    if (core_task_spec(w->core, task, &spec) && spec.parent_gate == PARENT_DONE)
        reach(w, spec.parent, at);
}

/* "a -> b -> a"; false: there is none, or it is too far away. */
static bool print_ring(struct op_call *call, task_id task, const task_id *on, size_t count,
                       struct strbuf *out) {
    _cleanup_(walk_finish) struct walk w = { .core = engine_core(call->engine) };
    id_map_init(&w.seen, same_task, &w);
    for (size_t i = 0; i < count; i++)
        reach(&w, on[i], 0);
    uint32_t at = 1;
    while (at <= w.count && at < WALK_MAX && w.tasks[at - 1] != task)
        reach_needs(&w, at++);
    if (at > w.count || w.tasks[at - 1] != task)
        return false;
    _cleanup_(freep) uint32_t *ring = NULL; /* its last first */
    size_t length = 0, capacity = 0;
    for (uint32_t p = w.from[at - 1]; p; p = w.from[p - 1]) {
        ring = xgrow(ring, &capacity, length + 1, sizeof(*ring));
        ring[length++] = p;
    }
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "%s -> ", engine_task_id(call->engine, task, id));
    for (size_t i = 0; i < length && i < RING_SHOWN; i++)
        strbuf_printf(out, "%s -> ",
                      engine_task_id(call->engine, w.tasks[ring[length - 1 - i] - 1], id));
    if (length > RING_SHOWN)
        strbuf_printf(out, "… (%zu tasks) -> ", length + 1);
    strbuf_puts(out, engine_task_id(call->engine, task, id));
    return true;
}

static int refuse(struct op_call *call, int code, task_id task, const task_id *on, size_t count) {
    _cleanup_(strbuf_finish) struct strbuf ring = STRBUF_INIT;
    if (code == -ELOOP && print_ring(call, task, on, count, &ring))
        return op_fail(call, code, "dependency cycle detected: %s", strbuf_text(&ring));
    return code;
}

static int run(struct op_call *call) {
    char id[ENGINE_ID_MAX];
    task_id *on = NULL;
    size_t count = 0;
    task_id task = op_named_task(call, op_text(call, "task"));
    if (!task)
        return call->err.code;
    int r = op_tasks(call, "depends_on", &on, &count);
    if (r < 0)
        return r;
    struct task_view t;
    (void)core_task(engine_core(call->engine), task, &t);
    if (task_state_is_live(t.state) || task_state_is_final(t.state))
        return op_fail(call, -EBUSY, "task '%s' is %s: what it depends on no longer matters",
                       engine_task_id(call->engine, task, id), task_state_name(t.state));
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = task };
    fact.dependencies.items = on;
    fact.dependencies.count = count;
    r = engine_tell(call->engine, &fact, &call->err);
    if (r < 0)
        return refuse(call, r, task, on, count);
    bool already = r == 1;
    print_states(call, op_ids(call, &task, 1), &task, 1, &already);
    return 0;
}

const struct op op_task_depends = {
    OP("task.depends", "POST", "/v1/tasks/depends", "replace what a task depends on"),
    .params = PARAMS(PARAM(TEXT, BODY, "task", .text = "whose dependencies they are",
                           .required = true, .min = 1, .max = 160),
                     PARAM(LIST, BODY, "depends_on",
                           .text = "ids of all tasks that must be done first; an empty list: none",
                           .required = true, .max = 256)),
    .answers = &shape_changed,
    .right = OP_SUBMIT,
    .writes = true,
    .run = run,
};
