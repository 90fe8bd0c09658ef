/* op_run_correct.c: the owner says what a run has really used. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/money.h"
#include "engine/correct.h"
#include "ops/budgets.h"

#define TOKENS_MOST INT64_C(1000000000000000)

struct correcting {
    task_id task;
    int64_t attempt; /* 0: the last that has ended */
    struct engine_correction what;
    struct run_row *row; /* owned; NULL: there is none */
};

static void finish(void *state) {
    free(((struct correcting *)state)->row);
}

static struct correcting *state_of(struct op_call *call) {
    return op_state(call, sizeof(struct correcting), finish);
}

/* The newest first: of the last attempt the row may be of a live run. */
static void take(struct op_call *call, const struct store_answer *answer) {
    struct correcting *s = state_of(call);
    for (size_t i = 0; i < answer->count && !s->row; i++)
        if (s->attempt ? answer->runs[i].attempt == s->attempt : answer->runs[i].ended)
            s->row = run_row_clone(&answer->runs[i]);
}

static int correct(struct op_call *call) {
    struct correcting *s = state_of(call);
    char id[ENGINE_ID_MAX];
    engine_task_id(call->engine, s->task, id);
    if (!s->row && s->attempt)
        return op_fail(call, -ENOENT, "task '%s' has no attempt %" PRId64, id, s->attempt);
    if (!s->row)
        return op_fail(call, -ENOENT, "task '%s' has no run that has ended", id);
    int r = engine_correct_run(call->engine, s->row, &s->what, &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    print_id(&w, "id", call->engine, s->task);
    print_int(&w, "attempt", s->row->attempt);
    print_task_budget(&w, call->engine, s->task);
    return op_end(&w);
}

static int take_amounts(struct op_call *call, struct engine_correction *ret) {
    const json_t *cost = op_json(call, "cost_usd");
    int64_t all = op_number(call, "tokens", -1);
    *ret = (struct engine_correction){
        .tokens_in = op_number(call, "tokens_in", all < 0 ? -1 : 0),
        .tokens_out = op_number(call, "tokens_out", all),
        .cost_micro_usd = -1,
        .by = call->user,
    };
    if (all >= 0 && (op_json(call, "tokens_in") || op_json(call, "tokens_out")))
        return op_fail(call, -EINVAL,
                       "'tokens' cannot be used together with 'tokens_in' and 'tokens_out'");
    if (ret->tokens_in < 0 && ret->tokens_out < 0 && !cost)
        return op_fail(call, -EINVAL,
                       "give at least one of 'tokens', 'tokens_in', 'tokens_out', 'cost_usd'");
    if (cost)
        ret->cost_micro_usd = (int64_t)(json_number_value(cost) * (double)MONEY_DOLLAR + 0.5);
    return 0;
}

static int run(struct op_call *call) {
    struct correcting *s = state_of(call);
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    int r = take_amounts(call, &s->what);
    if (r < 0)
        return r;
    s->attempt = op_number(call, "attempt", 0);
    struct store_question question = { .kind = ASK_RUNS,
                                       .task = s->task,
                                       .before = s->attempt ? (uint64_t)s->attempt + 1 : 0,
                                       .limit = 2 };
    return op_ask(call, &question, take, correct);
}

#define TOKENS(name_, text_) PARAM(NUMBER, BODY, name_, .text = (text_), .max = TOKENS_MOST)

const struct op op_run_correct = {
    OP("run.correct", "POST", "/v1/tasks/{id}/usage", "correct the usage that a run has booked"),
    .text = "Replaces the usage that an ended run reported: in its row, in the usage of its task, "
            "in the project and global windows, and in the daily totals. Values that are not given "
            "do not change. A task that was held because its budget was used up continues if some "
            "of the budget is left.",
    .params = PARAMS(OP_PARAM_ID,
                     PARAM(NUMBER, BODY, "attempt",
                           .text = "the number of the run; the last ended run if not given",
                           .min = 1, .max = UINT32_MAX),
                     TOKENS("tokens", "tokens used, input and output together"),
                     TOKENS("tokens_in", "input tokens"), TOKENS("tokens_out", "output tokens"),
                     PARAM(DECIMAL, BODY, "cost_usd", .spelled = MEMBER_MONEY,
                           .text = "cost in dollars", .max = 1000000000)),
    .answers = ANSWERS({ "id", T_ID, "the task" }, { "attempt", T_INT, "the run" },
                       { "budget", T_OBJECT, "what the task has used now", &shape_task_budget }),
    .right = OP_ADMIN,
    .writes = true,
    .run = run,
};
