/* op_task_runs.c: the attempts of one task, newest first. */
#include "ops/print.h"

struct running {
    task_id task;
    uint64_t before; /* attempts below this one; 0: all */
};

static void take(struct op_call *call, const struct store_answer *answer) {
    size_t limit = op_limit(call);
    bool more = answer->count > limit;
    size_t count = more ? limit : answer->count;
    struct json_writer w = op_begin(call);
    print_list(&w, "items");
    for (size_t i = 0; i < count; i++)
        print_run(&w, call->engine, &answer->runs[i]);
    json_write_array_end(&w);
    op_print_next(&w, 'r', more ? answer->runs[count - 1].attempt : 0);
    json_write_object_end(&w);
}

static int run(struct op_call *call) {
    struct running *s = op_state(call, sizeof(*s), NULL);
    bool given;
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    int r = op_cursor(call, 'r', &s->before, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call);
    struct store_question question = { .kind = ASK_RUNS,
                                       .task = s->task,
                                       .before = s->before,
                                       .limit = limit < STORE_ANSWER_MAX ? limit + 1 : limit };
    return op_ask(call, &question, take, op_done);
}

const struct op op_task_runs = {
    OP("task.runs", "GET", "/v1/tasks/{id}/runs", "list the runs of a task, newest first"),
    .params = PARAMS(OP_PARAM_ID, OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_run)),
    .right = OP_READ,
    .reach = OP_REACH_SUBTREE,
    .run = run,
};
