/* op_task_change.c: changes the budget, priority and dependencies of tasks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "core/core.h"
#include "engine/allowance.h"
#include "ops/print.h"
#include "ops/rights.h"
#include "ops/task_batch.h"

/* --- budget ---------------------------------------------------------------------------------- */

/* Omitted values do not change. A task held because its budget was used up continues if the new
 * budget has some left. One that has used more than its new budget is held; a running one at the
 * end of its run. */

static int take_amount(struct op_call *call, const char *name, int64_t *ret) {
    const struct task_member *m = task_member_find(name);
    const json_t *value = op_json(call, name);
    json_t *other = NULL;
    if (!value)
        return 0;
    if (json_is_string(value) && strcmp(json_string_value(value), "unlimited") == 0) {
        *ret = UNLIMITED;
        return 0;
    }
    int r = task_member_check(m, name, value, &(struct task_source){ 0 }, &other, &call->err);
    if (r == 0)
        *ret = task_member_number(m, other ? other : value);
    json_decref(other);
    return r < 0 ? error_prefix(&call->err, "parameter '%s', unless it is unlimited", name) : 0;
}

static int take_limits(struct op_call *call, struct engine_limits *ret) {
    *ret = ENGINE_LIMITS_NONE;
    ret->on_budget = submission_on_budget(op_text(call, "on_budget"));
    int r = take_amount(call, "tokens", &ret->task.tokens);
    if (r == 0)
        r = take_amount(call, "run_tokens", &ret->run.tokens);
    if (r == 0)
        r = take_amount(call, "usd", &ret->task.usd);
    return r == 0 ? take_amount(call, "run_usd", &ret->run.usd) : r;
}

static int run_budget(struct op_call *call) {
    struct engine_limits limits;
    task_id task = op_task(call);
    struct task_view view;
    if (!task)
        return call->err.code;
    int r = take_limits(call, &limits);
    if (r < 0)
        return r;
    if (!submission_has_limits(&limits))
        return op_fail(
            call, -EINVAL,
            "give at least one of 'tokens', 'usd', 'run_tokens', 'run_usd', 'on_budget'");
    engine_set_limits(call->engine, task, &limits);
    (void)core_task(engine_core(call->engine), task, &view);
    struct json_writer w = op_begin(call);
    print_id(&w, "id", call->engine, task);
    json_put_string(&w, "state", task_state_name(view.state));
    json_put_string(&w, "hold", view.state == TASK_HELD ? hold_name(view.hold) : NULL);
    print_task_budget(&w, call->engine, task);
    return op_end(&w);
}

#define AMOUNT(name_, text_)                                                                       \
    { .name = (name_), .type = OP_VALUE, .place = OP_IN_BODY, .text = (text_) }

static const char *const modes[] = { "hold", "stop", NULL };

const struct op op_task_budget = {
    OP("task.budget", "POST", "/v1/tasks/{id}/budget", "change how much a task may use"),
    .text = "What is not given stays as it is. A task that is held because it has used up its "
            "budget goes on when it may use more now. What it has used so far is in `budget` of "
            "task.show, too.",
    .params =
        PARAMS(OP_PARAM_ID,
               AMOUNT("tokens", "how many all its runs may use: a whole number, or `unlimited`"),
               AMOUNT("usd", "dollars that all its runs may cost, or `unlimited`"),
               AMOUNT("run_tokens", "how many one of its runs may use, or `unlimited`"),
               AMOUNT("run_usd", "dollars that one of its runs may cost, or `unlimited`"),
               PARAM(TEXT, BODY, "on_budget",
                     .text = "a run that passes a budget goes on to its end, or is stopped",
                     .min = 1, .choices = modes)),
    .answers = ANSWERS({ "id", T_ID, "the task" }, { "state", T_WORD, "its state", &words_state },
                       { "hold", T_WORD | T_NULL, "why it is held", &words_hold },
                       { "budget", T_OBJECT, "its budget now", &shape_task_budget }),
    OP_WRITES(SUBMIT, NONE, run_budget),
};

/* --- priority -------------------------------------------------------------------------------- */

/* `front` is one less than the lowest priority of waiting tasks, `back` one more than the highest,
 * so the task promoted last is first. */

#define PRIORITY_MAX 1000000
#define SCANNED_MAX  20000u

/* What a run imports does not go before its own task. */
static int take_priority_of_run(struct op_call *call, int32_t *ret) {
    struct task_view own;
    if (op_text(call, "to"))
        return op_fail(call, -EACCES, "'to': a run that imports gives a number");
    (void)core_task(engine_core(call->engine), call->run.task, &own);
    *ret = (int32_t)op_number(call, "priority", 0);
    if (*ret >= own.priority)
        return 0;
    return op_fail(call, -EACCES, "'priority': %d would go before '%s', which has %d", *ret,
                   op_id(call, own.id), own.priority);
}

static int take_priority(struct op_call *call, int32_t *ret) {
    const char *to = op_text(call, "to");
    bool given = op_json(call, "priority") != NULL;
    if (given == (to != NULL))
        return op_fail(call, -EINVAL, "give 'priority', or 'to' with front or back");
    if (call->run.token[0])
        return take_priority_of_run(call, ret);
    int64_t low = 100, high = 100, wanted = op_number(call, "priority", 0);
    if (to) {
        /* The sample includes every class of tasks. */
        const struct core *core = engine_core(call->engine);
        task_id *waiting = arena_alloc(op_arena(call), SCANNED_MAX * sizeof(*waiting));
        size_t count = core_waiting(core, waiting, SCANNED_MAX);
        for (size_t i = 0; i < count; i++) {
            struct task_view t;
            if (!core_task(core, waiting[i], &t))
                continue;
            low = t.priority < low ? t.priority : low;
            high = t.priority > high ? t.priority : high;
        }
        wanted = strcmp(to, "front") == 0 ? low - 1 : high + 1;
    }
    *ret = (int32_t)(wanted < -PRIORITY_MAX  ? -PRIORITY_MAX
                     : wanted > PRIORITY_MAX ? PRIORITY_MAX
                                             : wanted);
    return 0;
}

static int run_priority(struct op_call *call) {
    task_id *tasks = NULL;
    size_t count = 0;
    int32_t priority = 0;
    int r = op_tasks(call, "tasks", &tasks, &count);
    if (r == 0)
        r = take_priority(call, &priority);
    if (r < 0)
        return r;
    bool *already = arena_alloc(op_arena(call), count + 1);
    for (size_t i = 0; i < count; i++) {
        struct task_view t;
        (void)core_task(engine_core(call->engine), tasks[i], &t);
        already[i] = t.priority == priority;
        if (!task_state_is_final(t.state))
            continue;
        call->index = (int64_t)i;
        return op_fail(call, -EBUSY, "task '%s' is %s: its priority no longer matters",
                       op_id(call, tasks[i]), task_state_name(t.state));
    }
    for (size_t i = 0; i < count; i++) {
        struct fact fact = { .kind = FACT_PRIORITY, .task = tasks[i], .priority = priority };
        if (!already[i])
            (void)engine_apply(call->engine, &fact, NULL);
    }
    bool compared = config_policy(engine_config(call->engine))->order & ORDER_BY_PRIORITY;
    print_states(call, op_ids(call, tasks, count), tasks, count, already,
                 compared ? NULL : SUBMISSION_PRIORITY_NOTE);
    return 0;
}

static const char *const ends[] = { "front", "back", NULL };

const struct op op_task_priority = {
    OP("task.priority", "POST", "/v1/tasks/priority", "change the priority of tasks"),
    .text = "Where the setting `order` does not name the priority, as under most presets, the "
            "number is stored and changes nothing.",
    .params = PARAMS(
        OP_PARAM_TASKS,
        PARAM(NUMBER, BODY, "priority", .text = "lower starts first", .min = -PRIORITY_MAX,
              .max = PRIORITY_MAX),
        PARAM(TEXT, BODY, "to", .text = "before, or behind, all that wait", .choices = ends)),
    .answers = &shape_changed,
    OP_WRITES(SUBMIT, NONE, run_priority),
    .imports = true,
};

/* --- dependencies ---------------------------------------------------------------------------- */

/* The core refuses a cycle; it is searched for again here, because the message names the tasks in
 * it. */

#define WALK_MAX    20000u
#define CYCLE_SHOWN 8 /* longer cycles are truncated */

struct reached {
    task_id task;
    uint32_t from; /* position + 1 of the previous one; 0: the beginning */
};

struct walk {
    const struct core *core;
    struct reached *items;
    size_t count, capacity;
    struct id_map seen;
};

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct walk *)ctx)->items[handle - 1].task == *(const task_id *)key;
}

static void walk_finish(struct walk *w) {
    free(w->items);
    id_map_finish(&w->seen);
}

static void reach(struct walk *w, task_id task, uint32_t from) {
    if (task == 0 || id_map_find(&w->seen, hash_u64(task), &task))
        return;
    w->items = xgrow(w->items, &w->capacity, w->count + 1, sizeof(*w->items));
    w->items[w->count++] = (struct reached){ task, from };
    id_map_add(&w->seen, hash_u64(task), (uint32_t)w->count);
}

static void reach_needs(struct walk *w, uint32_t at) {
    task_id task = w->items[at - 1].task;
    size_t count = core_task_depends(w->core, task, NULL, 0);
    _cleanup_(freep) task_id *needs = xcalloc(count + 1, sizeof(*needs));
    (void)core_task_depends(w->core, task, needs, count);
    for (size_t i = 0; i < count; i++)
        reach(w, needs[i], at);
    struct task_spec spec;
    if (core_task_spec(w->core, task, &spec) && spec.parent_gate == PARENT_DONE)
        reach(w, spec.parent, at);
}

/* "a -> b -> a"; false: no cycle, or it is too long. */
static bool print_cycle(struct op_call *call, task_id task, const task_id *on, size_t count,
                        struct strbuf *out) {
    _cleanup_(walk_finish) struct walk w = { .core = engine_core(call->engine) };
    id_map_init(&w.seen, same_task, &w);
    for (size_t i = 0; i < count; i++)
        reach(&w, on[i], 0);
    uint32_t at = 1;
    while (at <= w.count && at < WALK_MAX && w.items[at - 1].task != task)
        reach_needs(&w, at++);
    if (at > w.count || w.items[at - 1].task != task)
        return false;
    _cleanup_(freep) uint32_t *cycle = NULL; /* last first */
    size_t length = 0, capacity = 0;
    for (uint32_t p = w.items[at - 1].from; p; p = w.items[p - 1].from) {
        cycle = xgrow(cycle, &capacity, length + 1, sizeof(*cycle));
        cycle[length++] = p;
    }
    strbuf_printf(out, "%s -> ", op_id(call, task));
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++)
        strbuf_printf(out, "%s -> ", op_id(call, w.items[cycle[length - 1 - i] - 1].task));
    if (length > CYCLE_SHOWN)
        strbuf_printf(out, "… (%zu tasks) -> ", length + 1);
    strbuf_puts(out, op_id(call, task));
    return true;
}

static bool is_among(task_id task, const task_id *tasks, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (tasks[i] == task)
            return true;
    return false;
}

/* A run that imports adds and removes dependencies between tasks that it finds. Others stay. */
static int check_depends_of_run(struct op_call *call, task_id task, const task_id *on,
                                size_t count) {
    size_t had_count = 0;
    task_id *had = op_depends(call, task, 0, &had_count);
    for (size_t i = 0; i < count; i++)
        if (!is_among(on[i], had, had_count) && !capability_finds(call, on[i]))
            return op_fail(call, -EACCES,
                           "'depends_on': '%s' is not a task that run '%s' may import",
                           op_id(call, on[i]), call->caller);
    for (size_t i = 0; i < had_count; i++)
        if (!is_among(had[i], on, count) && !capability_finds(call, had[i]))
            return op_fail(call, -EACCES,
                           "'depends_on': the dependency on '%s' is the owner's, and stays",
                           op_id(call, had[i]));
    return 0;
}

static int run_depends(struct op_call *call) {
    task_id *on = NULL;
    size_t count = 0;
    task_id task = op_named_task(call, op_text(call, "task"));
    if (!task)
        return call->err.code;
    int r = op_tasks(call, "depends_on", &on, &count);
    if (r == 0 && call->run.token[0])
        r = check_depends_of_run(call, task, on, count);
    if (r < 0)
        return r;
    struct task_view t;
    (void)core_task(engine_core(call->engine), task, &t);
    if (task_state_is_live(t.state) || task_state_is_final(t.state))
        return op_fail(call, -EBUSY, "task '%s' is %s: what it depends on no longer matters",
                       op_id(call, task), task_state_name(t.state));
    r = op_set_depends(call, task, on, count);
    if (r < 0) {
        _cleanup_(strbuf_finish) struct strbuf cycle = STRBUF_INIT;
        if (r == -ELOOP && print_cycle(call, task, on, count, &cycle))
            return op_fail(call, r, "dependency cycle detected: %s", strbuf_text(&cycle));
        return r;
    }
    bool already = r == 1;
    print_states(call, op_ids(call, &task, 1), &task, 1, &already, NULL);
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
    OP_WRITES(SUBMIT, NONE, run_depends),
    .imports = true,
};
