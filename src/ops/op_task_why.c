/* op_task_why.c: why does this task not run?
 *
 * Shows all gates in the order in which they are checked; the first closed one is the reason. For a
 * task that waits behind others, also shows how many, and when it may start if that can be
 * predicted. */
#include <inttypes.h>
#include <string.h>

#include "core/core.h"
#include "engine/best_of.h"
#include "engine/escalation.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine/loops.h"
#include "engine/probes.h"
#include "engine/runs.h"
#include "engine/takeover.h"
#include "ops/print.h"

struct last_end {
    const char *cause; /* how its last run ended; NULL: unknown */
    bool not_launched; /* `cause` is why it could not be launched */
};

/* For a breaker, adds the error of the last launch. */
static void put_reason(struct op_call *call, task_id task, const struct verdict *v,
                       struct strbuf *out) {
    const struct last_end *last = op_state(call, sizeof(*last), NULL);
    print_verdict(call->engine, task, v, out);
    if (v->gate == GATE_LEASE && v->lease == LEASE_RESOURCE) {
        /* Explains a cap that follows a partition. */
        _cleanup_(strbuf_finish) struct strbuf size = STRBUF_INIT;
        if (engine_partition_size(call->engine, op_name_of(call->engine, v->key), &size))
            strbuf_printf(out, "; %s", strbuf_text(&size));
    }
    if (v->gate != GATE_BREAKER)
        return;
    if (v->key) {
        const char *agent = op_name_of(call->engine, v->key);
        strbuf_printf(out, "; look at agents.%s.command, then: sluice agent clear %s", agent,
                      agent);
        return;
    }
    if (last->not_launched)
        strbuf_printf(out, ": %s", last->cause);
    strbuf_puts(out, "; release it to try again at once");
}

static bool waits(enum task_state state) {
    return state == TASK_WAITING || state == TASK_READY || state == TASK_HELD;
}

/* The summary of a task that no gate stops. */
static const char *summary_of(const struct task_view *t) {
#define STARTS_NEXT "nothing is in its way: it starts with the next decision"
    static const char *const states[TASK_STATE_MAX] = {
        [TASK_ABSENT] = "",
        [TASK_DRAFT] = "a draft: sling it to have it scheduled",
        [TASK_WAITING] = STARTS_NEXT,
        [TASK_READY] = STARTS_NEXT,
        [TASK_HELD] = STARTS_NEXT,
        [TASK_STARTING] = "its command is being started",
        [TASK_RUNNING] = "it runs",
        [TASK_DONE] = "it has succeeded",
        [TASK_FAILED] = "failed: retry it when the cause is gone",
        [TASK_CANCELED] = "canceled: retry it to have it back",
        [TASK_INVALIDATED] = "invalidated: its parent began a new iteration",
    };
    static const char *const phases[PHASE_MAX] = {
        [PHASE_STOPPING] = "it runs and was told to stop",
        [PHASE_DRAINING] = "its run has ended; it waits for its children",
        [PHASE_VALIDATING] = "its command has ended; its checks run",
        [PHASE_WAITING] = "it runs and waits for tasks below it",
    };
    return t->state == TASK_RUNNING && phases[t->phase] ? phases[t->phase] : states[t->state];
}

/* Several quick ends in a row explain the pause. */
static void put_quick_ends(struct op_call *call, const struct task_view *t, struct strbuf *out) {
    const struct config *config = engine_config(call->engine);
    uint32_t count = engine_quick_ends(call->engine, t->id);
    if (count < 2 || task_state_is_final(t->state))
        return;
    strbuf_printf(out,
                  "; its last %" PRIu32
                  " runs have each ended in less than %g s (runaway.quick_s, runaway.pause_s)",
                  count, (double)config_number(config, "runaway.quick_s", NULL) / 1000.0);
}

static void print_summary(struct json_writer *w, struct op_call *call, const struct task_view *t) {
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT, text = STRBUF_INIT;
    struct verdict first;
    bool blocked = waits(t->state) && core_blocked(engine_core(call->engine), t->id, &first);
    if (blocked) {
        verdict_code(&first, op_symbols(call->engine), &code);
        put_reason(call, t->id, &first, &text);
    }
    _cleanup_(strbuf_finish) struct strbuf taken = STRBUF_INIT;
    struct engine_host_state host;
    if (!blocked
        && !(t->state == TASK_STARTING && engine_executor_activity(call->engine, t->id, &text)))
        strbuf_puts(&text, summary_of(t));
    if (t->state != TASK_HELD && engine_explain_taken(call->engine, t->id, &taken))
        strbuf_printf(&text, "; it is %s", strbuf_text(&taken));
    _cleanup_(strbuf_finish) struct strbuf candidates = STRBUF_INIT;
    if (t->state == TASK_FAILED && engine_explain_candidates(call->engine, t->id, &candidates))
        strbuf_printf(&text, "; %s", strbuf_text(&candidates));
    _cleanup_(strbuf_finish) struct strbuf probe = STRBUF_INIT;
    if (t->state == TASK_FAILED && engine_explain_probe(call->engine, t->id, &probe))
        strbuf_printf(&text, "; %s", strbuf_text(&probe));
    if (!blocked && engine_question(call->engine, t->id)) {
        _cleanup_(strbuf_finish) struct strbuf question = STRBUF_INIT;
        if (engine_explain_question(call->engine, t->id, &question))
            strbuf_printf(&text, "; it %s", strbuf_text(&question));
    }
    if (engine_unreachable_run(call->engine, t->id, &host)) {
        strbuf_puts(&text, "; ");
        print_unreachable_host(&host, &text);
        strbuf_printf(&text,
                      ": it keeps its places until the daemon of that host is the active one, or "
                      "you run 'sluice host forget %s'",
                      host.name);
    }
    put_quick_ends(call, t, &text);
    _cleanup_(strbuf_finish) struct strbuf steps = STRBUF_INIT;
    struct engine_escalation escalation;
    engine_escalation(call->engine, t->id, &escalation);
    if ((escalation.step > 0 || escalation.failed > 0)
        && engine_escalation_text(call->engine, t->id, &steps))
        strbuf_printf(&text, "; %s", strbuf_text(&steps));
    _cleanup_(strbuf_finish) struct strbuf shared = STRBUF_INIT;
    if (engine_shared_folder(call->engine, t->id, &shared))
        strbuf_printf(&text, "; %s", strbuf_text(&shared));
    const struct last_end *last = op_state(call, sizeof(*last), NULL);
    if (last->cause
        && !(blocked
             && (first.gate == GATE_BREAKER || (first.gate == GATE_LIMITER && first.closed)
                 || (first.gate == GATE_HELD
                     && (first.hold == HOLD_DENIED || first.hold == HOLD_CHECK
                         || first.hold == HOLD_QUESTION || first.hold == HOLD_TAKEN)))))
        strbuf_printf(&text, "; its last run: %s", last->cause);
    json_put_string(w, "first", blocked ? strbuf_text(&code) : NULL);
    json_put_string(w, "summary", strbuf_text(&text));
}

static const struct words words_agent = { "AgentState",
                                          (const char *const[]){ "open", "limited", "reserved",
                                                                 "closed", "not launched", NULL } };

/* clang-format off */
#define AGENT_CHOICE(X) \
    X(json_put_string, "name", T_TEXT, "its name", "claude", op_name_of(call->engine, agents[i].agent)) \
    X(json_put_string, "limiter", T_TEXT | T_NULL, "its account", "anthropic", op_name_of(call->engine, agents[i].limiter)) \
    X(json_put_string, "state", T_WORD, "`reserved`: only the reserve of its account is left; `closed`: until its account is cleared", &words_agent, agents[i].closed ? "closed" : agents[i].limited ? "limited" : agents[i].reserved ? "reserved" : agents[i].broken ? "not launched" : "open") \
    X(print_time, "opens_at", T_TIME | T_NULL, "when it opens, if it is known", NULL, known ? agents[i].opens_at : 0)
static const struct shape agent_choice_shape = { "AgentChoice", "an agent that a task may use", .members = SHAPE_ALL(AGENT_CHOICE) };

#define GATE(X) \
    X(json_put_string, "gate", T_TEXT, "its code", "lease:runs", strbuf_text(&code)) \
    X(json_put_bool, "open", T_BOOL, "it does not stop the task", NULL, open) \
    X(json_put_string, "reason", T_TEXT | T_NULL, "why it is closed; behind a breaker with the error of the last launch", "all 8 places for runs are taken", open ? NULL : strbuf_text(&reason)) \
    X(print_time, "opens_at", T_TIME | T_NULL, "when it opens, if it is known", NULL, open ? 0 : list[i].opens_at) \
    X(json_put_string, "limiter", T_TEXT | T_NULL, "of the gate `limiter`: the account", "anthropic", list[i].gate == GATE_LIMITER ? op_name_of(call->engine, list[i].key) : NULL) \
    X(print_time, "since", T_TIME | T_NULL, "when it was paused", NULL, open ? 0 : list[i].pause.at)
static const struct shape gate_shape = { "Gate", "a condition for the start of a task", .members = SHAPE_ALL(GATE) };

#define FORECAST(X) \
    X(print_time, "starts_at", T_TIME | T_NULL, "when", NULL, start) \
    X(print_count, "ahead", T_INT | T_NULL, "how many start before it", NULL, position > 0 ? position - 1 : -1) \
    X(json_put_string, "text", T_TEXT, "goes on with \"it should start …\"", "after about 2 others", strbuf_text(&text))
static const struct shape forecast_shape = { "Forecast", "when a task should start", .members = SHAPE_ALL(FORECAST) };
/* clang-format on */

static void print_agents(struct json_writer *w, struct op_call *call, task_id task) {
    struct agent_state agents[FAILOVER_MAX + 1];
    size_t count = core_task_agents(engine_core(call->engine), task, agents);
    json_put_array(w, "agents");
    for (size_t i = 0; count > 1 && i < count; i++) {
        bool known = !agents[i].open && agents[i].opens_at != TIME_NEVER;
        SHAPE_OBJECT(AGENT_CHOICE)
    }
    json_write_array_end(w);
}

/* --- when it may start ----------------------------------------------------------------------- */

/* The simulation predicts the start if everything succeeds (engine_forecast). Where it cannot (a
 * person must act, the queue is too long), the queue position or the opening time of the gate is
 * shown. */

/* When its first closed gate opens; 0: unknown. */
static time_ms gate_opens(const struct engine *engine, task_id task) {
    struct verdict first;
    if (!core_blocked(engine_core(engine), task, &first))
        return engine_now(engine);
    return first.opens_at == TIME_NEVER ? 0 : first.opens_at;
}

static void print_forecast(struct json_writer *w, const struct engine *engine, task_id task,
                           amount position) {
    struct task_view t;
    bool held = core_task(engine_core(engine), task, &t) && t.state == TASK_HELD;
    if (position <= 0 && !held) {
        json_write_null(w);
        return;
    }
    time_ms start = engine_forecast_start(engine, task);
    if (start == TIME_NEVER)
        start = position > 1 ? 0 : gate_opens(engine, task);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct verdict first;
    if (!core_blocked(engine_core(engine), task, &first))
        strbuf_puts(&text, "with the next decision");
    else if (engine_forecast_start(engine, task) != TIME_NEVER)
        strbuf_puts(&text, "if runs take as long as usual");
    else if (position > 1)
        strbuf_printf(&text, "after about %" PRId64 " other%s", position - 1,
                      position == 2 ? "" : "s");
    else if (first.opens_at != TIME_NEVER)
        strbuf_puts(&text, "when its gate opens");
    else
        strbuf_puts(&text, "as soon as its gate opens");
    SHAPE_OBJECT(FORECAST)
}

static int print_why(struct op_call *call) {
    const struct core *core = engine_core(call->engine);
    task_id task = op_task(call);
    struct task_view t;
    if (!task || !core_task(core, task, &t))
        return call->err.code;
    struct verdict list[VERDICT_MAX];
    size_t count = waits(t.state) ? core_explain(core, task, list) : 0;
    amount position = core_queue_position(core, task);
    struct json_writer w = op_begin(call);
    print_id(&w, "id", call->engine, task);
    json_put_string(&w, "state", task_state_name(t.state));
    print_summary(&w, call, &t);
    json_put_array(&w, "gates");
    for (size_t i = 0; i < count; i++) {
        _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT, reason = STRBUF_INIT;
        bool open = list[i].open;
        verdict_code(&list[i], op_symbols(call->engine), &code);
        if (!open)
            put_reason(call, task, &list[i], &reason);
        SHAPE_OBJECT_TO(GATE)
    }
    json_write_array_end(&w);
    print_agents(&w, call, task);
    json_put_int(&w, "quick_ends", engine_quick_ends(call->engine, task));
    print_count(&w, "queue_position", position > 0 ? position : -1);
    json_write_key(&w, "forecast");
    print_forecast(&w, call->engine, task, position);
    return op_end(&w);
}

static void take_run(struct op_call *call, const struct store_answer *answer) {
    const struct run_row *run = answer->count > 0 ? &answer->runs[0] : NULL;
    if (!run || !run->ended || run->outcome == OUTCOME_OK)
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct last_end *last = op_state(call, sizeof(*last), NULL);
    if (run->message)
        strbuf_puts(&text, run->message);
    else if (run->exit_signal > 0)
        strbuf_printf(&text, "signal %" PRId32, run->exit_signal);
    else if (run->exit_code > 0)
        strbuf_printf(&text, "exit code %" PRId32, run->exit_code);
    else
        strbuf_puts(&text, outcome_name(run->outcome));
    last->cause = arena_strdup(op_arena(call), strbuf_text(&text));
    last->not_launched = run->how && strcmp(run->how, "launch") == 0;
}

/* Only the start of a waiting task can be predicted. */
static int query_forecast(struct op_call *call) {
    struct task_view t;
    bool there = core_task(engine_core(call->engine), op_task(call), &t);
    return there && waits(t.state) ? op_wait_ready(call, engine_forecast, print_why)
                                   : print_why(call);
}

static int run(struct op_call *call) {
    task_id task = op_task(call);
    struct task_view t;
    if (!task || !core_task(engine_core(call->engine), task, &t))
        return call->err.code;
    if (t.state != TASK_FAILED && !(waits(t.state) && t.attempt > 0))
        return query_forecast(call);
    struct store_query question = { .kind = QUERY_RUNS, .task = task, .limit = 1 };
    return op_query(call, &question, take_run, query_forecast);
}

const struct op op_task_why = {
    OP("task.why", "GET", "/v1/tasks/{id}/why", "say why a task does not run"),
    .params = PARAMS(OP_PARAM_ID),
    .answers = ANSWERS(
        { "id", T_ID, "the task" }, { "state", T_WORD, "its state", &words_state },
        { "first", T_TEXT | T_NULL, "the first gate that is closed", "lease:runs" },
        { "summary", T_TEXT,
          "what that means, and how its last run ended unless that was a success",
          "all 8 places for runs are taken" },
        { "gates", T_OBJECT | T_LIST,
          "every condition, in the order in which they are checked; none for a task that runs or "
          "is final",
          &gate_shape },
        { "agents", T_OBJECT | T_LIST,
          "its agent and those it may fail over to, in order; empty for a task that has no choice",
          &agent_choice_shape },
        { "quick_ends", T_INT,
          "how many of its runs in a row have ended in less than `runaway.quick_s`" },
        { "queue_position", T_INT | T_NULL, "how many start before it, and it" },
        { "forecast", T_OBJECT | T_NULL, "when it should start", &forecast_shape }),
    OP_READS(READ, SUBTREE, run),
};
