/* op_task_budget.c: somebody says how much a task may use.
 *
 * What is not given stays as it is. A task that was held because nothing was left goes on when now something
 * is; one that has used more than the new budget already is held, or, while it runs, at its end. */
#include <errno.h>
#include <string.h>

#include "ops/budgets.h"

/* As the member of this name, or unlimited. */
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
    const char *mode = op_text(call, "on_budget");
    *ret = ENGINE_LIMITS_NONE;
    if (mode)
        ret->on_budget = strcmp(mode, "stop") == 0 ? ON_BUDGET_STOP : ON_BUDGET_HOLD;
    int r = take_amount(call, "tokens", &ret->task.tokens);
    if (r == 0)
        r = take_amount(call, "run_tokens", &ret->run.tokens);
    if (r == 0)
        r = take_amount(call, "usd", &ret->task.usd);
    return r == 0 ? take_amount(call, "run_usd", &ret->run.usd) : r;
}

static bool says_anything(const struct engine_limits *l) {
    return l->task.tokens != ALLOWANCE_NONE || l->task.usd != ALLOWANCE_NONE
           || l->run.tokens != ALLOWANCE_NONE || l->run.usd != ALLOWANCE_NONE
           || l->on_budget != ON_BUDGET_AS_CONFIGURED;
}

static int run(struct op_call *call) {
    struct engine_limits limits;
    task_id task = op_task(call);
    struct task_view view;
    if (!task)
        return call->err.code;
    int r = take_limits(call, &limits);
    if (r < 0)
        return r;
    if (!says_anything(&limits))
        return op_fail(
            call, -EINVAL,
            "give at least one of 'tokens', 'usd', 'run_tokens', 'run_usd', 'on_budget'");
    engine_set_limits(call->engine, task, &limits);
    (void)core_task(engine_core(call->engine), task, &view);
    struct json_writer w = op_begin(call);
    print_id(&w, "id", call->engine, task);
    print_text(&w, "state", task_state_name(view.state));
    print_text(&w, "hold", view.state == TASK_HELD ? hold_name(view.hold) : NULL);
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
    .right = OP_SUBMIT,
    .reach = OP_REACH_NONE,
    .writes = true,
    .run = run,
};
