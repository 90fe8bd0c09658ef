/* op_task_priority.c: who comes first is changed by hand.
 *
 * `front` is one less than the lowest priority of those that wait, `back` one more than the highest, so
 * that the last one who was promoted is the very first. */
#include <errno.h>
#include <string.h>

#include "core/waiting.h"
#include "ops/print.h"
#include "ops/submission.h"

#define PRIORITY_MAX 1000000
#define LOOKED_MAX   20000u

static int64_t clamp(int64_t priority) {
    return priority < -PRIORITY_MAX  ? -PRIORITY_MAX
           : priority > PRIORITY_MAX ? PRIORITY_MAX
                                     : priority;
}

/* The lowest and the highest of those that wait; every class has one among those that are looked at. */
static void range(struct op_call *call, int64_t *ret_low, int64_t *ret_high) {
    const struct core *core = engine_core(call->engine);
    task_id *waiting = arena_alloc(op_arena(call), LOOKED_MAX * sizeof(*waiting));
    size_t count = core_waiting(core, waiting, LOOKED_MAX);
    *ret_low = *ret_high = 100;
    for (size_t i = 0; i < count; i++) {
        struct task_view t;
        if (!core_task(core, waiting[i], &t))
            continue;
        *ret_low = t.priority < *ret_low ? t.priority : *ret_low;
        *ret_high = t.priority > *ret_high ? t.priority : *ret_high;
    }
}

static int take_priority(struct op_call *call, int32_t *ret) {
    const char *to = op_text(call, "to");
    bool given = op_json(call, "priority") != NULL;
    if (given == (to != NULL))
        return op_fail(call, -EINVAL, "give 'priority', or 'to' with front or back");
    int64_t low, high, wanted = op_number(call, "priority", 0);
    if (to) {
        range(call, &low, &high);
        wanted = strcmp(to, "front") == 0 ? low - 1 : high + 1;
    }
    *ret = (int32_t)clamp(wanted);
    return 0;
}

static int run(struct op_call *call) {
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
        char id[ENGINE_ID_MAX];
        (void)core_task(engine_core(call->engine), tasks[i], &t);
        already[i] = t.priority == priority;
        if (!task_state_is_final(t.state))
            continue;
        call->index = (int64_t)i;
        return op_fail(call, -EBUSY, "task '%s' is %s: its priority no longer matters",
                       engine_task_id(call->engine, tasks[i], id), task_state_name(t.state));
    }
    for (size_t i = 0; i < count; i++) {
        struct fact fact = { .kind = FACT_PRIORITY, .task = tasks[i], .priority = priority };
        if (!already[i])
            (void)engine_tell(call->engine, &fact, NULL);
    }
    bool compared = config_policy(engine_config(call->engine))->order & ORDER_BY_PRIORITY;
    print_states_warned(call, op_ids(call, tasks, count), tasks, count, already,
                        compared ? NULL : SUBMISSION_PRIORITY_NOTE);
    return 0;
}

static const char *const places[] = { "front", "back", NULL };

const struct op op_task_priority = {
    OP("task.priority", "POST", "/v1/tasks/priority", "change the priority of tasks"),
    .text = "Where the setting `order` does not name the priority, as under most presets, the "
            "number is stored and changes nothing.",
    .params = PARAMS(
        OP_PARAM_TASKS,
        PARAM(NUMBER, BODY, "priority", .text = "lower starts first", .min = -PRIORITY_MAX,
              .max = PRIORITY_MAX),
        PARAM(TEXT, BODY, "to", .text = "before, or behind, all that wait", .choices = places)),
    .answers = &shape_changed,
    .right = OP_SUBMIT,
    .writes = true,
    .run = run,
};
