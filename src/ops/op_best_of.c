/* op_best_of.c: compares the candidates of a task, and picks one. The rules are in engine/best_of.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/allowance.h"
#include "engine/best_of.h"
#include "engine/worktrees.h"
#include "ops/print.h"

#define REASON_MOST 10000

struct comparing {
    task_id task;      /* the parent */
    task_id candidate; /* to be picked; 0: none */
    size_t next;       /* whose last run is read */
    const char *messages[BEST_OF_MAX];
    bool has_failed_check[BEST_OF_MAX];
};

/* clang-format off */
#define CANDIDATE(X) \
    X(print_id, "id", T_ID, "its id", NULL, engine, task) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, t.agent)) \
    X(json_put_string, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(json_put_string, "hold", T_WORD | T_NULL, "why it is held", &words_hold, t.state == TASK_HELD ? hold_name(t.hold) : NULL) \
    X(json_put_int, "attempt", T_INT, "number of its runs", NULL, t.attempt) \
    X(json_put_int, "tokens", T_INT, "tokens that its runs have used", NULL, spent.tokens) \
    X(print_usd, "usd", T_NUMBER | T_NULL, "cost of its runs; null: its agent does not report it", NULL, spent.usd) \
    X(json_put_string, "branch", T_TEXT | T_NULL, "its branch; null: it has not run", "sluice/web-18", t.attempt > 0 ? strbuf_text(&branch) : NULL) \
    X(print_count, "files", T_INT | T_NULL, "number of changed files; null: not known yet", NULL, changes.known ? changes.files : -1) \
    X(print_count, "insertions", T_INT | T_NULL, "lines added", NULL, changes.known ? changes.insertions : -1) \
    X(print_count, "deletions", T_INT | T_NULL, "lines removed", NULL, changes.known ? changes.deletions : -1) \
    X(json_put_bool, "has_diff", T_BOOL, "`task.diff` can show what it changed", NULL, engine_has_diff(engine, task)) \
    X(json_put_bool, "picked", T_BOOL, "it is the pick", NULL, v->picked == task)
static const struct shape candidate_shape = { "Candidate", "a candidate of a task with `best_of`", .members = SHAPE_ROWS(
    CANDIDATE(SHAPE_ROW)
    { "checks", T_TEXT | T_NULL | T_MAYBE, "`passed`: it is done; `failed`: a check of its last run failed; null: neither. Not in `task.show`", "passed" },
    { "message", T_TEXT | T_NULL | T_MAYBE, "the reason its last run failed. Not in `task.show`", "check 1 failed with exit code 1" }) };

#define BEST_OF(X) \
    X(print_id, "task", T_ID, "the task", NULL, engine, v->task) \
    X(print_id, "chooser", T_ID | T_NULL, "the task whose agent picks; null: a person picks", NULL, engine, v->chooser) \
    X(print_id, "picked", T_ID | T_NULL, "the pick", NULL, engine, v->picked) \
    X(json_put_string, "by", T_TEXT | T_NULL, "who picked it; `checks`: it was the only candidate that is done", "ann", v->by) \
    X(json_put_string, "reason", T_TEXT | T_NULL, "the reason for the pick", "It has tests.", v->why) \
    X(print_time, "picked_at", T_TIME | T_NULL, "when it was picked", NULL, v->picked_at) \
    X(json_put_string, "refused", T_TEXT | T_NULL, "the reason the last pick could not be merged", "conflicts with 'main' in a.c", v->refused) \
    X(json_put_int, "tokens", T_INT, "tokens that all candidates and the chooser have used", NULL, all.tokens) \
    X(print_usd, "usd", T_NUMBER, "their cost, as far as it is known", NULL, all.usd)
const struct shape shape_best_of = { "BestOf", "the candidates of a task, side by side", .members = SHAPE_ROWS(
    BEST_OF(SHAPE_ROW)
    { "candidates", T_OBJECT | T_LIST, "in the order in which they were added", &candidate_shape }) };
/* clang-format on */

/* usd ALLOWANCE_NONE: no run has a known cost. */
static struct engine_amounts spent_by(const struct engine *engine, task_id task) {
    struct engine_budget budget = { 0 };
    if (task)
        engine_budget(engine, task, &budget);
    struct engine_amounts spent = {
        budget.used.tokens + (budget.live.tokens > 0 ? budget.live.tokens : 0),
        budget.used.usd + (budget.live.usd > 0 ? budget.live.usd : 0),
    };
    if (budget.unknown > 0 && spent.usd == 0)
        spent.usd = ALLOWANCE_NONE;
    return spent;
}

/* False: it was deleted. The object is not ended. */
static bool begin_candidate(struct json_writer *w, const struct engine *engine,
                            const struct engine_best_of *v, task_id task) {
    struct task_view t;
    struct delivery_changes changes = { 0 };
    struct engine_amounts spent = spent_by(engine, task);
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf branch = STRBUF_INIT;
    if (!core_task(engine_core(engine), task, &t))
        return false;
    (void)engine_changes(engine, task, &changes);
    strbuf_printf(&branch, "sluice/%s", engine_task_id(engine, task, id));
    json_write_object_begin(w);
    CANDIDATE(SHAPE_PRINT)
    return true;
}

static void print_sums(struct json_writer *w, const struct engine *engine,
                       const struct engine_best_of *v) {
    struct engine_amounts all = { 0 };
    for (size_t i = 0; i <= v->count; i++) {
        struct engine_amounts one = spent_by(engine, i < v->count ? v->candidates[i] : v->chooser);
        all.tokens += one.tokens;
        all.usd += one.usd > 0 ? one.usd : 0;
    }
    BEST_OF(SHAPE_PRINT)
}

void print_best_of(struct json_writer *w, const struct engine *engine,
                   const struct engine_best_of *v) {
    print_sums(w, engine, v);
    json_put_array(w, "candidates");
    for (size_t i = 0; i < v->count; i++)
        if (begin_candidate(w, engine, v, v->candidates[i]))
            json_write_object_end(w);
    json_write_array_end(w);
}

/* --- task.candidates -------------------------------------------------------------------------- */

static int print_compared(struct op_call *call) {
    const struct comparing *s = op_state(call, sizeof(*s), NULL);
    const struct engine *engine = call->engine;
    const struct engine_best_of *v = engine_best_of(engine, s->task);
    struct task_view t;
    if (!v)
        return op_fail(call, -ENOENT, "the task has been deleted");
    struct json_writer w = op_begin(call);
    print_sums(&w, engine, v);
    json_put_array(&w, "candidates");
    for (size_t i = 0; i < v->count; i++) {
        if (!begin_candidate(&w, engine, v, v->candidates[i]))
            continue;
        (void)core_task(engine_core(engine), v->candidates[i], &t);
        json_put_string(&w, "checks",
                        t.state == TASK_DONE     ? "passed"
                        : s->has_failed_check[i] ? "failed"
                                                 : NULL);
        json_put_string(&w, "message", t.state == TASK_DONE ? NULL : s->messages[i]);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    return op_end(&w);
}

static int query_runs(struct op_call *call);

static void take_run(struct op_call *call, const struct store_answer *answer) {
    struct comparing *s = op_state(call, sizeof(*s), NULL);
    const struct run_row *run = answer->count > 0 ? &answer->runs[0] : NULL;
    size_t i = s->next++;
    if (!run || !run->ended || run->outcome == OUTCOME_OK)
        return;
    s->has_failed_check[i] = run->how && strcmp(run->how, "check") == 0;
    s->messages[i] =
        run->message           ? op_keep(call, run->message)
        : run->exit_signal > 0 ? arena_printf(op_arena(call), "signal %" PRId32, run->exit_signal)
        : run->exit_code > 0   ? arena_printf(op_arena(call), "exit code %" PRId32, run->exit_code)
                               : outcome_name(run->outcome);
}

static int query_runs(struct op_call *call) {
    const struct comparing *s = op_state(call, sizeof(*s), NULL);
    const struct engine_best_of *v = engine_best_of(call->engine, s->task);
    if (!v || s->next >= v->count)
        return print_compared(call);
    struct store_query question = { .kind = QUERY_RUNS,
                                    .task = v->candidates[s->next],
                                    .limit = 1 };
    return op_query(call, &question, take_run, query_runs);
}

/* Of the task itself, a candidate, or the chooser. */
static int find_parent(struct op_call *call) {
    struct comparing *s = op_state(call, sizeof(*s), NULL);
    task_id task = op_task(call);
    if (!task)
        return call->err.code;
    task_id parent = engine_candidate_of(call->engine, task);
    s->task = parent ? parent : task;
    return engine_best_of(call->engine, s->task)
               ? 0
               : op_fail(call, -EINVAL, "task '%s' has no candidates; add a task with --best-of",
                         op_id(call, task));
}

static int run_candidates(struct op_call *call) {
    int r = find_parent(call);
    return r < 0 ? r : query_runs(call);
}

const struct op op_task_candidates = {
    OP("task.candidates", "GET", "/v1/tasks/{id}/candidates", "compare the candidates of a task"),
    .text =
        "For a task that was added with `best_of`, or for one of its candidates: the state, the "
        "changes and the cost of each candidate. `task.diff` shows what one of them changed.",
    .params = PARAMS(OP_PARAM_ID),
    .answers = &shape_best_of,
    OP_READS(READ, SUBTREE, run_candidates),
};

/* --- task.pick -------------------------------------------------------------------------------- */

static int picked(struct op_call *call) {
    const struct comparing *s = op_state(call, sizeof(*s), NULL);
    const struct engine_best_of *v = engine_best_of(call->engine, s->task);
    if (!v)
        return op_fail(call, -ENOENT, "the task has been deleted");
    if (v->picked != s->candidate)
        return op_fail(call, -EBUSY, "candidate '%s' was not merged: %s", op_id(call, s->candidate),
                       v->refused ? v->refused : "the pick was withdrawn");
    return query_runs(call);
}

static void merge_over(void *ctx, bool is_ending) {
    op_wake(ctx, is_ending ? -ESHUTDOWN : 0, NULL);
}

/* A run finds out nothing about other tasks. */
static int find_candidate(struct op_call *call) {
    struct comparing *s = op_state(call, sizeof(*s), NULL);
    const char *word = op_text(call, "candidate");
    struct error err = { 0 };
    s->candidate = op_find_task(NULL, call->engine, word, &err);
    if (s->candidate && engine_candidate_of(call->engine, s->candidate) == s->task)
        return 0;
    if (!call->run.token[0] && !s->candidate) {
        call->err = err;
        return err.code;
    }
    return op_fail(call, -EINVAL, "'%s' is not a candidate of '%s'", utf8_quote(word).text,
                   op_id(call, s->task));
}

static int run_pick(struct op_call *call) {
    struct comparing *s = op_state(call, sizeof(*s), NULL);
    bool is_run = call->run.token[0];
    int r = find_parent(call);
    if (r == 0 && is_run && engine_best_of(call->engine, s->task)->chooser != call->run.task)
        r = op_fail(call, -EACCES, "run '%s' is not the chooser of the task, so it cannot pick",
                    call->caller);
    if (r == 0)
        r = find_candidate(call);
    if (r < 0)
        return r;
    const struct engine_pick pick = {
        .task = s->task,
        .candidate = s->candidate,
        .by = is_run ? op_id(call, call->run.task) : op_actor(call),
        .why = op_text(call, "reason"),
        .by_person = !is_run,
    };
    r = engine_pick(call->engine, &pick, &call->err);
    if (r < 0)
        return r;
    if (is_run)
        return query_runs(call);
    r = op_wait(call, picked);
    engine_pick_wait(call->engine, s->task, merge_over, call);
    return r;
}

const struct op op_task_pick = {
    OP("task.pick", "POST", "/v1/tasks/{id}/pick", "pick a candidate of a task"),
    .text = "Only a candidate that is done can be picked. Candidates that have not ended are "
            "canceled, the branch of the pick is merged into the base branch unless the task has "
            "`merge: none` or `local`, and the task is done. The response waits for that. If the "
            "pick cannot be merged, the response is 409 with the reason, and the task waits for "
            "another pick. The events are `task.picked` and `task.pick_refused`. A run can pick "
            "only if it is the chooser of the task: `id` is then its own task.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(TEXT, BODY, "candidate", .required = true, .min = 1, .max = 255,
              .text = "the candidate"),
        PARAM(TEXT, BODY, "reason", .lines = true, .min = 1, .max = REASON_MOST, .text = "why")),
    .answers = &shape_best_of,
    OP_WRITES(SUBMIT, SELF, run_pick),
};
