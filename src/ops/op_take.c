/* op_take.c: a person takes a task over. */
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#include "core/action.h"
#include "engine/agents.h"
#include "engine/best_of.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine/takeover.h"
#include "ops/print.h"

#define TERM_MAX  64
#define SHELL_MAX 1000

struct taking {
    task_id task;
    bool has_prompt;               /* else it has a command of its own */
    bool has_steps;                /* it runs nothing itself */
    struct engine_session session; /* of its last run that has one; session NULL: none */
};

static bool is_path(const char *text) {
    return *text == '/' && !strchr(text, '\n');
}

static int check_task(struct op_call *call, const struct taking *s, struct task_view *t) {
    const char *id = op_id(call, s->task);
    if (!core_task(engine_core(call->engine), s->task, t))
        return op_fail(call, -ENOENT, "task '%s' was deleted meanwhile", id);
    if (t->state == TASK_DRAFT || t->state == TASK_INVALIDATED)
        return op_fail(call, -EBUSY, "task '%s' is %s: only what was queued can be taken over", id,
                       task_state_name(t->state));
    if (engine_best_of(call->engine, s->task) || s->has_steps)
        return op_fail(call, -EBUSY,
                       "task '%s' runs nothing itself: take over one of its %s instead", id,
                       s->has_steps ? "steps" : "candidates");
    if (engine_executor_kind(call->engine, s->task) != EXECUTOR_LOCAL)
        return op_fail(call, -EBUSY,
                       "task '%s' runs in Slurm: only runs on the host of the daemon can be taken "
                       "over",
                       id);
    struct engine_host_state host;
    if (engine_unreachable_run(call->engine, s->task, &host))
        return op_fail(call, -EBUSY, "the run of task '%s' is on host '%s', which is unreachable",
                       id, host.name);
    const struct engine_taken *taken = engine_taken(call->engine, s->task);
    if (taken && t->state != TASK_HELD)
        return op_fail(call, -EBUSY, "task '%s' is taken over%s%s already", id,
                       taken->by ? " by " : "", taken->by ? taken->by : "");
    return 0;
}

static int take(struct op_call *call) {
    const struct taking *s = op_state(call, sizeof(*s), NULL);
    struct task_view t;
    int r = check_task(call, s, &t);
    if (r < 0)
        return r;
    const struct engine_taken how = { .task = s->task,
                                      .by = (char *)(uintptr_t)op_actor(call),
                                      .terminal = (char *)(uintptr_t)op_text(call, "terminal"),
                                      .term = (char *)(uintptr_t)op_text(call, "term"),
                                      .shell = (char *)(uintptr_t)op_text(call, "shell"),
                                      .has_prompt = s->has_prompt };
    r = engine_take(call->engine, &how, &call->err);
    if (r < 0)
        return r;
    if (task_state_is_final(t.state) && s->session.session) /* what it remembers is gone by now */
        engine_continue_session(call->engine, s->task, &s->session);
    struct json_writer w = op_begin(call);
    (void)core_task(engine_core(call->engine), s->task, &t);
    json_put_string(&w, "id", op_id(call, s->task));
    json_put_string(&w, "state", task_state_name(t.state));
    json_put_int(&w, "attempt", t.attempt);
    json_put_bool(&w, "command", !s->has_prompt);
    return op_end(&w);
}

static void take_runs(struct op_call *call, const struct store_answer *answer) {
    struct taking *s = op_state(call, sizeof(*s), NULL);
    for (size_t i = 0; i < answer->count && !s->session.session; i++) {
        const struct run_row *run = &answer->runs[i];
        if (!run->session || !run->agent)
            continue;
        s->session.session = op_keep(call, run->session);
        s->session.agent = op_keep(call, run->agent);
        s->session.used = (struct agent_usage){ -1, -1, -1, -1 };
    }
}

static int query_runs(struct op_call *call) {
    const struct taking *s = op_state(call, sizeof(*s), NULL);
    struct store_query question = { .kind = QUERY_RUNS, .task = s->task };
    return op_query(call, &question, take_runs, take);
}

static void take_spec(struct op_call *call, const struct store_answer *answer) {
    struct taking *s = op_state(call, sizeof(*s), NULL);
    const struct spec_row *row = answer->count > 0 ? &answer->specs[0] : NULL;
    json_t *spec = row && row->json ? json_loadb(row->json, row->json_size, 0, NULL) : NULL;
    json_t *context = row && row->context ? json_loads(row->context, 0, NULL) : NULL;
    const json_t *steps = json_object_get(context, "steps");
    s->has_prompt = json_object_get(spec, "prompt") && !json_object_get(spec, "argv");
    s->has_steps = json_is_true(steps) || json_array_size(steps) > 0;
    json_decref(spec);
    json_decref(context);
}

static int run_take(struct op_call *call) {
    struct taking *s = op_state(call, sizeof(*s), NULL);
    const char *shell = op_text(call, "shell");
    struct task_view t;
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    if (!is_path(op_text(call, "terminal")) || (shell && !is_path(shell)))
        return op_fail(call, -EINVAL, "'terminal' and 'shell' are absolute paths");
    int r = check_task(call, s, &t);
    if (r < 0)
        return r;
    struct store_query question = {
        .kind = QUERY_SPECS, .tasks = &s->task, .task_count = 1, .limit = 1
    };
    return op_query(call, &question, take_spec, query_runs);
}

const struct op op_task_take = {
    OP("task.take", "POST", "/v1/tasks/{id}/take", "take a task over"),
    .text = "For a program at a terminal on the host of the daemon, such as `sluice take`, which "
            "waits on a Unix socket. A live run is stopped, and the task starts before all others "
            "as soon as no gate stops it: its shim opens the agent at a terminal, with the session "
            "of the task, in its workspace and sandbox, and connects to the socket. However that "
            "run ends, the task is held then (`hold: taken`), and nothing is counted: "
            "`task.approve` makes it done, `task.release` lets the agent go on. The events are "
            "`task.taken` and `task.returned`. Refused over TCP and for runs.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(TEXT, BODY, "terminal", .required = true, .min = 2,
              .max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1,
              .text = "the path of the socket on which the program waits"),
        PARAM(TEXT, BODY, "term", .min = 1, .max = TERM_MAX,
              .text = "the kind of the terminal, as in `TERM`"),
        PARAM(TEXT, BODY, "shell", .min = 2, .max = SHELL_MAX,
              .text = "the program that opens a task with a command of its own; /bin/sh when not "
                      "given")),
    .answers = ANSWERS({ "id", T_ID, "the task" }, { "state", T_WORD, "its state", &words_state },
                       { "attempt", T_INT, "how many runs it has had" },
                       { "command", T_BOOL, "it has a command of its own: a shell opens" }),
    OP_WRITES(ADMIN, NONE, run_take),
    .local = true,
};
