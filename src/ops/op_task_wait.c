/* op_task_wait.c: waits until tasks have ended or the timeout expires.
 *
 * The answer comes later, outside the turn (engine/await.h). A run that waits for its descendants
 * lends them its slots meanwhile: otherwise, with no more slots than waiting runs, all would wait
 * forever. */

#include "ops/print.h"

#define TIMEOUT_S     60
#define TIMEOUT_MAX_S 3600

struct waiting {
    task_id *tasks;
    const char *const *ids; /* a task may be deleted by the end */
    size_t count, queried;
    struct run_row *runs; /* the last run of each task, if it has ended; its message is kept */
    time_ms began;
};

static bool put_why(const struct engine *engine, task_id task, struct strbuf *out) {
    struct verdict verdict;
    if (!core_blocked(engine_core(engine), task, &verdict))
        return false;
    print_verdict(engine, task, &verdict, out);
    return true;
}

/* clang-format off */
#define LAST_RUN(X) \
    X(json_put_string, "outcome", T_WORD, "how", &words_outcome, outcome_name(run->outcome)) \
    X(print_count, "exit_code", T_INT | T_NULL, "of its command", NULL, run->exit_code) \
    X(print_count, "signal", T_INT | T_NULL, "the signal that ended its command", NULL, run->exit_signal > 0 ? run->exit_signal : -1) \
    X(json_put_string, "message", T_TEXT | T_NULL, "its final message", "All tests pass.", run->message)
static const struct shape last_run_shape = { "LastRun", "the end of a run", .members = SHAPE_ALL(LAST_RUN) };

#define WAITED_TASK(X) \
    X(json_put_string, "id", T_ID, "its id", NULL, s->ids[index]) \
    X(json_put_string, "state", T_TEXT, "its state, or `deleted`", "done", there ? task_state_name(t.state) : "deleted") \
    X(json_put_string, "reason", T_TEXT | T_NULL, "why it is in this state", "succeeded", there && t.reason != REASON_NONE ? reason_name(t.reason) : NULL) \
    X(json_put_bool, "finished", T_BOOL, "it is final", NULL, finished) \
    X(json_put_bool, "needs_person", T_BOOL, "it is held without a time, a draft, or behind a closed account", NULL, person) \
    X(json_put_string, "why", T_TEXT | T_NULL, "what a person is needed for", "account 'claude' is closed", person && put_why(call->engine, t.id, &why) ? strbuf_text(&why) : NULL)
static const struct shape waited_task_shape = { "WaitedTask", "a task that was waited for", .members = SHAPE_ROWS(
    WAITED_TASK(SHAPE_ROW)
    { "run", T_OBJECT | T_NULL, "how the last run that ended has ended", &last_run_shape }) };
/* clang-format on */

static bool print_one(struct json_writer *w, struct op_call *call, size_t index) {
    const struct waiting *s = op_state(call, sizeof(*s), NULL);
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    struct task_view t = { 0 };
    bool there = core_task(engine_core(call->engine), s->tasks[index], &t);
    bool person = there && engine_await_needs_person(call->engine, &t);
    bool finished = !there || task_state_is_final(t.state);
    json_write_object_begin(w);
    WAITED_TASK(SHAPE_PRINT)
    const struct run_row *run = &s->runs[index];
    if (print_object_if(w, "run", run->ended)) {
        LAST_RUN(SHAPE_PRINT)
        json_write_object_end(w);
    }
    json_write_object_end(w);
    return finished || (person && !op_flag(call, "patient"));
}

static void take_run(struct op_call *call, const struct store_answer *answer) {
    struct waiting *s = op_state(call, sizeof(*s), NULL);
    const struct run_row *row = answer->count > 0 ? &answer->runs[0] : NULL;
    struct run_row *run = &s->runs[s->queried++];
    if (!row || !row->ended)
        return;
    *run = *row;
    run->message = op_keep(call, row->message);
}

static int query_runs(struct op_call *call) {
    const struct waiting *s = op_state(call, sizeof(*s), NULL);
    if (s->queried == s->count) {
        size_t settled = 0;
        struct json_writer w = op_begin(call);
        json_put_array(&w, "tasks");
        for (size_t i = 0; i < s->count; i++)
            settled += print_one(&w, call, i);
        bool timed_out = op_flag(call, "any") ? settled == 0 : settled < s->count;
        json_write_pack(&w, "], s:b, s:I", "timed_out", timed_out, "waited_ms",
                        engine_now(call->engine) - s->began);
        return op_end(&w);
    }
    struct store_query question = { .kind = QUERY_RUNS, .task = s->tasks[s->queried], .limit = 1 };
    return op_query(call, &question, take_run, query_runs);
}

static bool is_settled(const struct op_call *call, const struct waiting *s,
                       const struct engine_await_spec *spec) {
    size_t settled = 0;
    struct task_view t;
    for (size_t i = 0; i < s->count; i++)
        settled += spec->patient ? !core_task(engine_core(call->engine), s->tasks[i], &t)
                                       || task_state_is_final(t.state)
                                 : engine_await_settled(call->engine, s->tasks[i]);
    return spec->any ? settled > 0 : settled == s->count;
}

static int run(struct op_call *call) {
    struct waiting *s = op_state(call, sizeof(*s), NULL);
    int r = op_tasks(call, "tasks", &s->tasks, &s->count);
    if (r < 0)
        return r;
    s->ids = op_ids(call, s->tasks, s->count);
    s->runs = arena_alloc(op_arena(call), s->count * sizeof(*s->runs));
    s->began = engine_now(call->engine);
    struct engine_await_spec spec = {
        .tasks = s->tasks,
        .count = s->count,
        .any = op_flag(call, "any"),
        .patient = op_flag(call, "patient"),
        .timeout = SECONDS(op_number(call, "timeout_s", TIMEOUT_S)),
        .run = call->run.task,
        .attempt = call->run.attempt,
    };
    if (spec.timeout == 0 || is_settled(call, s, &spec))
        return query_runs(call);
    return op_wait_tasks(call, &spec, query_runs);
}

const struct op op_task_wait = {
    OP("task.wait", "POST", "/v1/wait", "wait until tasks have ended"),
    .text = "Answers when all of them (`any`: one) are final, or need a person (`patient` goes on "
            "waiting), or the time is over. A run that waits for tasks below it lends them its "
            "slots meanwhile, one at a time, and is answered when they are its own again. Closing "
            "the connection cancels the wait.",
    .params = PARAMS(
        PARAM(LIST, BODY, "tasks", .text = "task ids", .required = true, .min = 1,
              .max = ENGINE_AWAIT_MAX),
        PARAM(BOOLEAN, BODY, "any", .text = "until one of them has ended, instead of all"),
        PARAM(BOOLEAN, BODY, "patient", .text = "go on waiting for a task that needs a person"),
        PARAM(NUMBER, BODY, "timeout_s", .spelled = MEMBER_SPAN,
              .text = "most seconds to wait; 0 only looks; 60 when not given",
              .max = TIMEOUT_MAX_S)),
    .answers =
        ANSWERS({ "tasks", T_OBJECT | T_LIST, "in the order of the request", &waited_task_shape },
                { "timed_out", T_BOOL, "the time was over first" },
                { "waited_ms", T_SPAN, "how long it took" }),
    OP_READS(READ, DESCENDANTS, run),
};
