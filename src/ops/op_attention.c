/* op_attention.c: what waits for a person, worst first, and the dismissal of failures. The kinds and
 * their order are in engine/attention.h. */
#include "engine/attention.h"

#include <errno.h>
#include <string.h>

#include "core/core.h"
#include "engine/allowance.h"
#include "engine/best_of.h"
#include "engine/runs.h"
#include "ops/print.h"

#define BLOCKED_MAX 1000u /* counted for one item */

static const char *kind_at(int index) {
    return attention_kind_name((enum attention_kind)index);
}

static const struct words words_attention = { "AttentionKind", .at = kind_at };

struct attending {
    struct op_rows rows; /* first: op_query_titles; one for each item with a task */
    struct engine_attention *items;
    const char **texts; /* of the items */
    size_t count, queried;
};

/* clang-format off */
#define RAISE(X) \
    X(print_count, "tokens", T_INT | T_NULL, "for all its runs; null: this limit was not reached", NULL, twice(b.limit.tokens, b.used.tokens)) \
    X(print_usd, "usd", T_USD | T_NULL, "the same in dollars", NULL, twice(b.limit.usd, b.used.usd)) \
    X(print_count, "run_tokens", T_INT | T_NULL, "of one run", NULL, b.is_over ? twice(b.run_limit.tokens, b.last.tokens) : -1) \
    X(print_usd, "run_usd", T_USD | T_NULL, "the same in dollars", NULL, b.is_over ? twice(b.run_limit.usd, b.last.usd) : -1) \
    X(json_put_string, "setting", T_TEXT | T_NULL, "for a project, or for all projects: the setting that `config.set` changes", "projects.web.budget", name.length ? strbuf_text(&name) : NULL) \
    X(print_value, "value", T_NUMBER | T_NULL, "its new value", NULL, value, is_money)
static const struct shape raise_shape = { "RaisedBudget", "a budget with which it can continue: twice what it has, or has used, as parameters of `task.budget`", .members = SHAPE_ALL(RAISE) };

#define ATTENTION(X) \
    X(json_put_string, "key", T_TEXT, "identifies the item while it exists", "review:web-17", strbuf_text(&key)) \
    X(json_put_string, "kind", T_WORD, "why it needs a person", &words_attention, attention_kind_name(item->kind)) \
    X(json_put_string, "label", T_TEXT, "the kind in words for people", "review", attention_kind_label(item->kind)) \
    X(json_put_string, "name", T_TEXT | T_NULL, "the account, agent, project or other subject, if it is not a task", "anthropic", name) \
    X(json_put_string, "text", T_TEXT | T_NULL, "the reason: for a failure its last error, for a review the final message", "no such table: runs", s->texts[i]) \
    X(print_time, "since", T_TIME | T_NULL, "since when", NULL, item->alert ? item->alert->since : changed_at) \
    X(json_put_int, "blocks", T_INT, "number of tasks that wait for it; at most 1,000 are counted", NULL, blocks)
static const struct shape attention_shape = { "Attention", "an item that waits for a person", .members = SHAPE_ROWS(
    ATTENTION(SHAPE_ROW)
    { "task", T_OBJECT | T_NULL, "its task", &shape_task },
    { "question", T_OBJECT | T_NULL, "its question", &shape_question },
    { "best_of", T_OBJECT | T_NULL, "for a task that waits for a pick: its candidates", &shape_best_of },
    { "raise", T_OBJECT | T_NULL, "for a task that has used up its budget", &raise_shape }) };
/* clang-format on */

/* --- texts ----------------------------------------------------------------------------------- */

static bool is_failure(const struct engine_attention *item) {
    return item->kind == ATTENTION_FAILED || item->kind == ATTENTION_BLOCKING;
}

/* The final message of its run is of more use than why the task is here. */
static bool is_explained_by_run(const struct engine_attention *item) {
    return is_failure(item) || item->kind == ATTENTION_REVIEW;
}

/* An agent explains itself in its final message, a command at the end of its log. */
static void take_run(struct op_call *call, const struct store_answer *answer) {
    struct attending *s = op_state(call, sizeof(*s), NULL);
    const struct run_row *run = answer->count > 0 ? &answer->runs[0] : NULL;
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    if (run && !run->agent)
        (void)engine_ended_line(call->engine, run->task, run->attempt, &line);
    if (run && line.length == 0 && run->message)
        strbuf_puts(&line, run->message);
    if (run && line.length == 0 && run->exit_code > 0)
        strbuf_printf(&line, "exit status %d", run->exit_code);
    if (line.length > 0)
        s->texts[s->queried] = op_keep(call, strbuf_text(&line));
    s->queried++;
}

static int print(struct op_call *call);

static int query_runs(struct op_call *call) {
    struct attending *s = op_state(call, sizeof(*s), NULL);
    while (s->queried < s->count && !is_explained_by_run(&s->items[s->queried]))
        s->queried++;
    if (s->queried == s->count)
        return print(call);
    struct store_query question = { .kind = QUERY_RUNS,
                                    .task = s->items[s->queried].task,
                                    .limit = 1 };
    return op_query(call, &question, take_run, query_runs);
}

/* Why it is held. */
static const char *reason_of(struct op_call *call, const struct engine_attention *item) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    struct verdict verdict;
    if (item->alert)
        return item->alert->text;
    if (is_failure(item) || !core_blocked(engine_core(call->engine), item->task, &verdict))
        return NULL;
    print_verdict(call->engine, item->task, &verdict, &why);
    return op_keep(call, strbuf_text(&why));
}

/* --- printing -------------------------------------------------------------------------------- */

static int64_t twice(int64_t limit, int64_t used) {
    bool is_reached = limit != UNLIMITED && limit != ALLOWANCE_NONE && used >= limit;
    return is_reached ? 2 * (used > limit ? used : limit) : -1;
}

static void print_value(struct json_writer *w, const char *key, int64_t value, bool is_money) {
    if (is_money)
        print_usd(w, key, value);
    else
        print_count(w, key, value);
}

static bool is_reached(const struct budget_view *v) {
    return v->budget != UNLIMITED && v->used + v->live >= v->budget;
}

/* Of the window of a project, or of all: its setting, and twice its value. -1: not used up. */
static int64_t raise_window(const struct op_call *call, const struct engine_attention *item,
                            struct strbuf *ret_name, bool *ret_is_money) {
    const char *colon = strchr(item->alert->key, ':');
    struct budgets_view v;
    sym symbol = colon ? op_symbol(call->engine, colon + 1) : 0;
    if ((colon && !symbol) || !core_budgets(engine_core(call->engine), symbol, &v))
        return -1;
    *ret_is_money = is_reached(&v.money);
    const struct budget_view *reached = *ret_is_money ? &v.money : &v.tokens;
    if (!is_reached(reached))
        return -1;
    strbuf_printf(ret_name, "%s%s%sbudget%s", colon ? "projects." : "", colon ? colon + 1 : "",
                  colon ? "." : "", *ret_is_money ? "_usd" : "");
    return twice(reached->budget, reached->used + reached->live);
}

static void print_raise(struct json_writer *w, const struct op_call *call,
                        const struct engine_attention *item) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    struct engine_budget b = { .limit = { -1, -1 }, .run_limit = { -1, -1 } };
    bool is_money = false, is_window = item->alert && item->kind == ATTENTION_WINDOW;
    if (!print_object_if(w, "raise", is_window || item->kind == ATTENTION_BUDGET))
        return;
    int64_t value = is_window ? raise_window(call, item, &name, &is_money) : -1;
    if (!is_window)
        engine_budget(call->engine, item->task, &b);
    RAISE(SHAPE_PRINT)
    json_write_object_end(w);
}

/* Of a question that was answered while the titles were read, nothing is left to do. */
static bool is_over(const struct op_call *call, const struct engine_attention *item) {
    const struct engine_question *q = engine_question(call->engine, item->task);
    struct task_view view;
    if (item->kind == ATTENTION_QUESTION)
        return !q || q->state != QUESTION_OPEN;
    return item->task && !core_task(engine_core(call->engine), item->task, &view);
}

static void print_details(struct json_writer *w, const struct op_call *call,
                          const struct engine_attention *item) {
    const struct engine_best_of *best_of =
        item->kind == ATTENTION_PICK ? engine_best_of(call->engine, item->task) : NULL;
    if (print_object_if(w, "question", item->kind == ATTENTION_QUESTION)) {
        print_question(w, call->engine, engine_question(call->engine, item->task));
        json_write_object_end(w);
    }
    if (print_object_if(w, "best_of", best_of != NULL)) {
        print_best_of(w, call->engine, best_of);
        json_write_object_end(w);
    }
    print_raise(w, call, item);
}

static size_t waiters_of(struct op_call *call, const struct engine_attention *item) {
    task_id *waiters = arena_alloc(op_arena(call), BLOCKED_MAX * sizeof(*waiters));
    return item->kind == ATTENTION_BLOCKING
               ? core_task_waiters(engine_core(call->engine), item->task, waiters, BLOCKED_MAX)
               : 0;
}

static void print_item(struct json_writer *w, struct op_call *call, size_t i, size_t row) {
    const struct attending *s = op_state(call, sizeof(*s), NULL);
    const struct engine_attention *item = &s->items[i];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    const char *colon = item->alert ? strchr(item->alert->key, ':') : NULL;
    const char *name = colon && !item->task ? colon + 1 : NULL;
    time_ms changed_at = item->task ? s->rows.changed[row] : 0;
    size_t blocks = waiters_of(call, item);
    if (item->alert)
        strbuf_puts(&key, item->alert->key);
    else
        strbuf_printf(&key, "%s:%s", attention_kind_name(item->kind), op_id(call, item->task));
    json_write_object_begin(w);
    ATTENTION(SHAPE_PRINT)
    struct task_view view;
    bool has_task = item->task && core_task(engine_core(call->engine), item->task, &view);
    if (print_object_if(w, "task", has_task)) {
        (void)print_task_members(w, call->engine, item->task, s->rows.titles[row], changed_at);
        json_write_object_end(w);
    }
    print_details(w, call, item);
    json_write_object_end(w);
}

static int print(struct op_call *call) {
    const struct attending *s = op_state(call, sizeof(*s), NULL);
    struct json_writer w = op_begin(call);
    size_t counts[ATTENTION_MAX], row = 0;
    json_put_int(&w, "total", (int64_t)engine_attention_count(call->engine, counts));
    json_put_object(&w, "counts");
    for (enum attention_kind kind = 0; kind < ATTENTION_MAX; kind++)
        if (counts[kind] > 0)
            json_put_int(&w, attention_kind_name(kind), (int64_t)counts[kind]);
    json_write_object_end(&w);
    json_put_array(&w, "items");
    for (size_t i = 0; i < s->count; i++) {
        size_t own = row;
        row += s->items[i].task ? 1 : 0;
        if (!is_over(call, &s->items[i]))
            print_item(&w, call, i, own);
    }
    json_write_array_end(&w);
    return op_end(&w);
}

/* --- attention.list -------------------------------------------------------------------------- */

static int run_list(struct op_call *call) {
    struct attending *s = op_state(call, sizeof(*s), NULL);
    size_t limit = (size_t)op_number(call, "limit", 50);
    s->items = arena_alloc(op_arena(call), limit * sizeof(*s->items));
    s->count = engine_attention(call->engine, s->items, limit);
    s->texts = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*s->texts));
    s->rows.tasks = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*s->rows.tasks));
    for (size_t i = 0; i < s->count; i++) {
        s->texts[i] = op_keep(call, reason_of(call, &s->items[i]));
        if (s->items[i].task)
            s->rows.tasks[s->rows.count++] = s->items[i].task;
    }
    /* An alert may be cleared while the store is read. */
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].alert) {
            struct engine_alert *copy = arena_alloc(op_arena(call), sizeof(*copy));
            *copy = *s->items[i].alert;
            copy->key = op_keep(call, copy->key);
            copy->text = s->texts[i];
            s->items[i].alert = copy;
        }
    return op_query_titles(call, &s->rows, query_runs);
}

const struct op op_attention_list = {
    OP("attention.list", "GET", "/v1/attention", "list everything that waits for a person"),
    .text = "Most urgent first: what stops everything, then accounts, agents and budgets, "
            "questions, denied permissions, failures that block other tasks, picks, reviews, tasks "
            "without budget, tasks that could not be launched, tasks to close, other failures "
            "(newest first), other alerts. Held tasks that continue automatically are not "
            "included, nor are those that a person holds or has taken over.",
    .params = PARAMS(PARAM(NUMBER, QUERY, "limit", .min = 1, .max = 200,
                           .text = "maximum number of items; default 50")),
    .answers = ANSWERS({ "total", T_INT, "total number of items" },
                       { "counts", T_INT | T_MAP, "number of items by kind", &words_attention },
                       { "items", T_OBJECT | T_LIST, "the most urgent items", &attention_shape }),
    OP_READS(READ, NONE, run_list),
};

/* --- attention.dismiss ----------------------------------------------------------------------- */

static int run_dismiss(struct op_call *call) {
    bool is_dismissed = !op_json(call, "dismissed") || op_flag(call, "dismissed");
    task_id *tasks = NULL;
    size_t count = 0, changed = 0;
    struct task_view view;
    int r = op_tasks(call, "tasks", &tasks, &count);
    for (size_t i = 0; i < count && r == 0; i++) {
        call->index = (int64_t)i;
        if (!core_task(engine_core(call->engine), tasks[i], &view)
            || !task_state_is_failure(view.state))
            return op_fail(call, -EBUSY, "task '%s' is %s: only failed tasks can be dismissed",
                           op_id(call, tasks[i]), task_state_name(view.state));
    }
    call->index = -1;
    for (size_t i = 0; i < count && r == 0; i++)
        changed += engine_dismiss(call->engine, tasks[i], is_dismissed, op_actor(call)) == 0;
    return r < 0 ? r
                 : op_answer(call, "s:I, s:b", "changed", (json_int_t)changed, "dismissed",
                             is_dismissed);
}

const struct op op_attention_dismiss = {
    OP("attention.dismiss", "POST", "/v1/attention/dismiss", "dismiss failures"),
    .text = "They stay failed, but are no longer listed as waiting for a person until they have "
            "run and failed again. All are dismissed, or none.",
    .params = PARAMS(OP_PARAM_TASKS, PARAM(BOOLEAN, BODY, "dismissed",
                                           .text = "false: list them again; default true")),
    .answers = ANSWERS({ "changed", T_INT, "number of tasks that changed" },
                       { "dismissed", T_BOOL, "whether they are dismissed now" }),
    OP_WRITES(SUBMIT, NONE, run_dismiss),
};
