/* op_usage_tasks.c: which tasks have used the most.
 *
 * Adds up the runs that ended in a span, and apart from them what live runs have used so far. Runs
 * go with their tasks (`retention`), so a long span may have less than usage.list, whose sums
 * remain. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "engine/runs.h"
#include "ops/print.h"

#define SCANNED_MAX 100000u /* ended runs */

struct used_task {
    task_id task;
    int64_t runs, ok, busy_ms;
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd;
    int64_t unknown_cost;
    bool lives;
    int64_t live_micro_usd; /* -1: not reported */
};

struct used_page {
    struct op_rows rows; /* of the tasks in the answer */
    time_ms since, until;
    sym project;
    struct store_cursor cursor;
    size_t scanned;
    bool more;
    struct {
        struct used_task *items;
        size_t count, capacity;
    } tasks;
    struct id_map map;
};

static void used_finish(void *state) {
    struct used_page *page = state;
    id_map_finish(&page->map);
    free(page->tasks.items);
}

static struct used_page *used_of(struct op_call *call) {
    return op_state(call, sizeof(struct used_page), used_finish);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    const struct used_page *page = ctx;
    return page->tasks.items[handle - 1].task == *(const task_id *)key;
}

static struct used_task *task_of(struct used_page *page, task_id task) {
    uint32_t handle = id_map_find(&page->map, hash_u64(task), &task);
    if (handle)
        return &page->tasks.items[handle - 1];
    page->tasks.items = xgrow(page->tasks.items, &page->tasks.capacity, page->tasks.count + 1,
                              sizeof(*page->tasks.items));
    struct used_task *one = &page->tasks.items[page->tasks.count++];
    *one = (struct used_task){ .task = task, .live_micro_usd = -1 };
    id_map_add(&page->map, hash_u64(task), (uint32_t)page->tasks.count);
    return one;
}

static bool fits(const struct op_call *call, const struct used_page *page, task_id task) {
    struct task_view t;
    return !page->project
           || (core_task(engine_core(call->engine), task, &t) && t.project == page->project);
}

static void add_known(int64_t *sum, int64_t reported) {
    *sum += reported > 0 ? reported : 0;
}

static void add_ended(struct used_page *page, const struct run_row *run) {
    struct used_task *one = task_of(page, run->task);
    one->runs++;
    one->ok += run->outcome == OUTCOME_OK;
    if (run->started_at > 0)
        add_known(&one->busy_ms, run->ended_at - run->started_at);
    add_known(&one->tokens_in, run->tokens_in);
    add_known(&one->tokens_out, run->tokens_out);
    add_known(&one->tokens_cached, run->tokens_cached);
    add_known(&one->cost_micro_usd, run->cost_micro_usd);
    one->unknown_cost += run->cost_micro_usd < 0;
}

static void take_ended(struct op_call *call, const struct store_answer *answer) {
    struct used_page *page = used_of(call);
    for (size_t i = 0; i < answer->count; i++) {
        const struct run_row *run = &answer->runs[i];
        page->cursor = (struct store_cursor){ run->ended_at, run->task, run->attempt };
        if (run->ended_at < page->until && fits(call, page, run->task))
            add_ended(page, run);
    }
    page->scanned += answer->count;
    page->more = answer->count == STORE_ANSWER_MAX;
}

static void add_live(struct op_call *call, struct used_page *page) {
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    task_id *live = arena_alloc(op_arena(call), (count + 1) * sizeof(*live));
    (void)engine_live_tasks(call->engine, live, count);
    for (size_t i = 0; i < count; i++) {
        struct engine_live_details more;
        if (!fits(call, page, live[i]) || !engine_live_details(call->engine, live[i], &more))
            continue;
        struct used_task *one = task_of(page, live[i]);
        one->lives = true;
        one->live_micro_usd = more.cost_micro_usd;
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define USED_TASK(X) \
    X(print_id, "task", T_ID, "the task", NULL, call->engine, one->task) \
    X(json_put_string, "title", T_TEXT | T_NULL, "its title", "write the parser", page->rows.titles[i]) \
    X(json_put_string, "project", T_TEXT | T_NULL, "its project; null: it was deleted", "web", op_name_of(call->engine, t.project)) \
    X(json_put_string, "state", T_WORD | T_NULL, "its state; null: it was deleted", &words_state, there ? task_state_name(t.state) : NULL) \
    X(json_put_int, "runs", T_INT, "ended runs", NULL, one->runs) \
    X(json_put_int, "ok", T_INT, "those that succeeded", NULL, one->ok) \
    X(json_put_int, "busy_ms", T_SPAN, "how long they took together", NULL, one->busy_ms) \
    X(json_put_int, "tokens_in", T_INT, "tokens read", NULL, one->tokens_in) \
    X(json_put_int, "tokens_out", T_INT, "tokens written", NULL, one->tokens_out) \
    X(json_put_int, "tokens_cached", T_INT, "tokens read from a cache", NULL, one->tokens_cached) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what ended runs have cost; null: no run has reported any", NULL, one->unknown_cost < one->runs ? one->cost_micro_usd : -1) \
    X(json_put_int, "unknown_cost", T_INT, "ended runs that reported none", NULL, one->unknown_cost) \
    X(json_put_bool, "live", T_BOOL, "it has a live run", NULL, one->lives) \
    X(print_usd, "live_usd", T_USD | T_NULL, "what its live run has cost so far; null: not reported, or none", NULL, one->live_micro_usd)
static const struct shape used_task_shape = { "UsageTask", "what a task has used", .members = SHAPE_ALL(USED_TASK) };
/* clang-format on */

static int64_t cost_of(const struct used_task *one) {
    return one->cost_micro_usd + (one->live_micro_usd > 0 ? one->live_micro_usd : 0);
}

static int by_cost(const void *a, const void *b) {
    const struct used_task *x = a, *y = b;
    int64_t left = cost_of(x), right = cost_of(y);
    if (left == right) {
        left = x->tokens_in + x->tokens_out;
        right = y->tokens_in + y->tokens_out;
    }
    if (left != right)
        return left > right ? -1 : 1;
    return x->task > y->task ? -1 : x->task < y->task;
}

/* Of all tasks, also those that are not in the answer. */
static void print_sums(const struct used_page *page, struct json_writer *w) {
    int64_t ended = 0, live = 0, runs = 0, unknown = 0;
    bool reported = false;
    for (size_t i = 0; i < page->tasks.count; i++) {
        const struct used_task *one = &page->tasks.items[i];
        ended += one->cost_micro_usd;
        runs += one->runs;
        unknown += one->unknown_cost;
        add_known(&live, one->live_micro_usd);
        reported |= one->live_micro_usd >= 0;
    }
    print_usd(w, "cost_usd", unknown < runs ? ended : -1);
    print_usd(w, "live_usd", reported ? live : -1);
}

static int print(struct op_call *call) {
    const struct used_page *page = used_of(call);
    struct json_writer writer = op_begin(call), *w = &writer;
    json_put_array(w, "items");
    for (size_t i = 0; i < page->rows.count; i++) {
        const struct used_task *one = &page->tasks.items[i];
        struct task_view t = { 0 };
        bool there = core_task(engine_core(call->engine), one->task, &t);
        SHAPE_OBJECT(USED_TASK)
    }
    json_write_array_end(w);
    json_put_int(w, "tasks", (int64_t)page->tasks.count);
    print_sums(page, w);
    json_put_bool(w, "partial", page->more);
    return op_end(w);
}

static int sort(struct op_call *call) {
    struct used_page *page = used_of(call);
    add_live(call, page);
    if (page->tasks.count > 1)
        qsort(page->tasks.items, page->tasks.count, sizeof(*page->tasks.items), by_cost);
    size_t limit = op_limit(call);
    page->rows.count = page->tasks.count < limit ? page->tasks.count : limit;
    page->rows.tasks =
        arena_alloc(op_arena(call), (page->rows.count + 1) * sizeof(*page->rows.tasks));
    for (size_t i = 0; i < page->rows.count; i++)
        page->rows.tasks[i] = page->tasks.items[i].task;
    return op_query_titles(call, &page->rows, print);
}

static int read_more(struct op_call *call);

static int next_read(struct op_call *call) {
    const struct used_page *page = used_of(call);
    return page->more && page->scanned < SCANNED_MAX ? read_more(call) : sort(call);
}

static int read_more(struct op_call *call) {
    const struct used_page *page = used_of(call);
    struct store_query question = {
        .kind = QUERY_ENDED, .since = page->since, .place = page->cursor, .limit = STORE_ANSWER_MAX
    };
    return op_query(call, &question, take_ended, next_read);
}

static int run(struct op_call *call) {
    struct used_page *page = used_of(call);
    const char *project = op_text(call, "project");
    id_map_init(&page->map, same_task, page);
    page->since = op_number(call, "since", engine_now(call->engine) - DAYS(30));
    page->until = op_number(call, "until", TIME_NEVER);
    page->cursor.ended_at = TIME_NEVER;
    if (project) {
        const struct engine_project *found = op_project(call, project);
        if (!found)
            return call->err.code;
        page->project = found->symbol;
    }
    return read_more(call);
}

const struct op op_usage_tasks = {
    OP("usage.tasks", "GET", "/v1/usage/tasks", "list the tasks that have used the most"),
    .text = "Sums of the runs that ended in a span, the most expensive task first. Runs go with "
            "their tasks (`retention`); the sums of `usage.list` stay.",
    .params = PARAMS(PARAM(NUMBER, QUERY, "since", .spelled = MEMBER_MOMENT,
                           .text = "runs that ended at this time (ms) or later; 30 days ago when "
                                   "not given"),
                     PARAM(NUMBER, QUERY, "until", .spelled = MEMBER_MOMENT,
                           .text = "runs that ended before this time (ms)"),
                     OP_PARAM_FILTER("project", "only of this project"), OP_PARAM_LIMIT),
    .answers = ANSWERS({ "items", T_OBJECT | T_LIST, "tasks", &used_task_shape },
                       { "tasks", T_INT, "how many tasks have used something" },
                       { "cost_usd", T_USD | T_NULL,
                         "what the ended runs of all of them have cost; null: no run has reported "
                         "any" },
                       { "live_usd", T_USD | T_NULL,
                         "what live runs have cost so far, in no other sum; null: none has "
                         "reported any" },
                       { "partial", T_BOOL,
                         "true: there are more than 100,000 runs, and only the "
                         "latest are counted" }),
    OP_READS(READ, NONE, run),
};
