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
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    json_write_key(&w, "items");
    json_write_array_begin(&w);
    for (size_t i = 0; i < count; i++)
        print_run(&w, call->engine, &answer->runs[i]);
    json_write_array_end(&w);
    op_print_next(&w, 'r', more ? answer->runs[count - 1].attempt : 0);
    json_write_object_end(&w);
}

static int end(struct op_call *call) {
    (void)call;
    return 0; /* printed as it came */
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
    return op_ask(call, &question, take, end);
}

const struct op op_task_runs = {
    .name = "task.runs",
    .method = "GET",
    .path = "/v1/tasks/{id}/runs",
    .summary = "list the runs of a task, newest first",
    .params = PARAMS(OP_PARAM_ID, OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .result =
        "{\"items\":[{\"task\":\"web-17\",\"attempt\":1,\"iteration\":1,\"phase\":null,"
        "\"agent\":\"claude\",\"executor\":\"local\",\"host\":\"box\",\"folder\":\"web-17/1\","
        "\"ordered_at\":1760000000000,\"started_at\":1760000000100,\"ended_at\":1760000060000,"
        "\"outcome\":\"ok\",\"how\":\"exit\",\"exit_code\":0,\"signal\":null,\"tokens_in\":1200,"
        "\"tokens_out\":300,\"tokens_cached\":1000,\"cost_usd\":0.012000,\"applied\":null,"
        "\"message\":\"All tests pass.\",\"said\":\"ok\",\"session\":\"1d66c3a0-5b1e\","
        "\"resumed\":false,\"model\":\"sonnet-5\"}],"
        "\"next\":null}",
    .right = OP_READ,
    .reach = OP_REACH_SUBTREE,
    .run = run,
};
