/* op_runs.c: runs of one task or of all, their logs, their reports, and corrections of reports. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/money.h"
#include "base/nearest.h"
#include "base/number.h"
#include "engine/hosts.h"
#include "engine/runs.h"
#include "ops/print.h"

static void take_runs(struct op_call *call, const struct store_answer *answer) {
    size_t limit = op_limit(call);
    bool more = answer->count > limit;
    size_t count = more ? limit : answer->count;
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    for (size_t i = 0; i < count; i++)
        print_run(&w, call->engine, &answer->runs[i]);
    json_write_array_end(&w);
    op_print_next(&w, 'r', more ? answer->runs[count - 1].attempt : 0);
    json_write_object_end(&w);
}

static int run_task_runs(struct op_call *call) {
    uint64_t before = 0;
    bool given;
    task_id task = op_task(call);
    if (!task)
        return call->err.code;
    int r = op_cursor(call, 'r', &before, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call);
    struct store_query question = { .kind = QUERY_RUNS,
                                    .task = task,
                                    .before = before,
                                    .limit = limit < STORE_ANSWER_MAX ? limit + 1 : limit };
    return op_query(call, &question, take_runs, op_done);
}

const struct op op_task_runs = {
    OP("task.runs", "GET", "/v1/tasks/{id}/runs", "list the runs of a task, newest first"),
    .params = PARAMS(OP_PARAM_ID, OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_run)),
    OP_READS(READ, SUBTREE, run_task_runs),
};

/* Live runs come first, from the engine; ended ones come from the store, latest end first, back to
 * `since`. The core, not the store, knows the projects of runs, so rows are filtered here. One call
 * reads at most SCANNED_MAX ended runs, so a page may have fewer items than requested, or none, and
 * still a `next`. */

#define SCANNED_MAX 5000u

enum which { RUNS_ALL, RUNS_LIVE, RUNS_ENDED };

struct run_page {
    struct op_rows rows; /* first: op_query_titles */
    time_ms since, until;
    sym project;
    const char *agent;
    enum which which;
    int outcome;          /* enum outcome, or -1: any */
    task_id live_before;  /* only live runs with smaller numbers; 0: no live runs */
    struct run_row *runs; /* one for each row; their texts are in the arena */
    size_t limit;
    struct store_cursor cursor; /* of the last ended run that was read */
    size_t requested;           /* rows requested from the store */
    unsigned scanned;           /* ended runs read so far */
    bool over;                  /* no more ended runs */
    bool more_live;             /* the page ended among the live runs */
};

/* --- parameters ------------------------------------------------------------------------------ */

static int take_state(struct op_call *call, struct run_page *page) {
    const char *word = op_text(call, "state");
    page->outcome = -1;
    if (!word)
        return 0;
    page->which = strcmp(word, "live") == 0 ? RUNS_LIVE : RUNS_ENDED;
    if (page->which == RUNS_LIVE || strcmp(word, "ended") == 0)
        return 0;
    struct nearest nearest = nearest_to(word);
    nearest_offer(&nearest, "live");
    nearest_offer(&nearest, "ended");
    for (int o = 0; o < OUTCOME_MAX; o++) {
        nearest_offer(&nearest, outcome_name((enum outcome)o));
        if (strcmp(word, outcome_name((enum outcome)o)) == 0)
            page->outcome = o;
    }
    if (page->outcome >= 0)
        return 0;
    return op_fail(call, -EINVAL, "no run is '%s'; did you mean '%s'?", utf8_quote(word).text,
                   nearest.best ? nearest.best : "ended");
}

static bool read_part(const char **text, char end, uint64_t *ret) {
    char digits[24];
    size_t size = strcspn(*text, end ? (char[]){ end, '\0' } : "");
    int64_t number;
    if (size == 0 || size >= sizeof(digits) || (*text)[size] != end)
        return false;
    memcpy(digits, *text, size);
    digits[size] = '\0';
    if (digits[0] < '0' || digits[0] > '9' || number_parse_int(digits, &number, NULL) < 0)
        return false;
    *ret = (uint64_t)number;
    *text += size + (end != '\0');
    return true;
}

/* "l17": after the live run of task 17; "e1760000060000.17.2": after an ended run. */
static int take_cursor(struct op_call *call, struct run_page *page) {
    const char *given = op_text(call, "after"), *text = given;
    uint64_t at, task, attempt;
    page->live_before = UINT64_MAX;
    page->cursor = (struct store_cursor){ .ended_at = time_min(page->until, TIME_NEVER) };
    if (!text)
        return 0;
    if (*text == 'l' && (text++, read_part(&text, '\0', &page->live_before)))
        return 0;
    text = given + 1;
    page->live_before = 0;
    if (*given == 'e' && read_part(&text, '.', &at) && read_part(&text, '.', &task)
        && read_part(&text, '\0', &attempt) && attempt <= UINT32_MAX) {
        page->cursor = (struct store_cursor){ (time_ms)at, task, (uint32_t)attempt };
        return 0;
    }
    return op_fail(call, -EINVAL, "'%s' is not a cursor of this list: take `next` of its answer",
                   utf8_quote(given).text);
}

/* A project without runs lists none; an unknown name is an error. */
static int take_names(struct op_call *call, struct run_page *page) {
    const char *project = op_text(call, "project");
    page->agent = op_text(call, "agent");
    if (!project)
        return 0;
    const struct engine_project *p = op_project(call, project);
    page->project = p ? p->symbol : 0;
    return p ? 0 : call->err.code;
}

/* --- choosing -------------------------------------------------------------------------------- */

static bool fits(const struct op_call *call, const struct run_page *page,
                 const struct run_row *run) {
    struct task_view t;
    if (page->agent && (!run->agent || strcmp(run->agent, page->agent) != 0))
        return false;
    if (page->outcome >= 0 && (int)run->outcome != page->outcome)
        return false;
    return !page->project
           || (core_task(engine_core(call->engine), run->task, &t) && t.project == page->project);
}

static void keep_run(struct op_call *call, struct run_page *page, const struct run_row *run) {
    struct run_row *copy = &page->runs[page->rows.count];
    *copy = *run;
    copy->agent = op_keep(call, run->agent);
    copy->how = op_keep(call, run->how);
    copy->model = op_keep(call, run->model);
    copy->message = op_keep(call, run->message);
    page->rows.tasks[page->rows.count++] = run->task;
}

static bool live_row(const struct op_call *call, task_id task, struct run_row *ret) {
    struct engine_run run;
    struct engine_live_details more;
    if (!engine_live_run(call->engine, task, &run)
        || !engine_live_details(call->engine, task, &more))
        return false;
    *ret = (struct run_row){ .task = task,
                             .attempt = run.attempt,
                             .iteration = more.iteration,
                             .agent = more.agent,
                             .ordered_at = run.ordered_at,
                             .started_at = run.started_at,
                             .tokens_in = run.tokens_in,
                             .tokens_out = run.tokens_out,
                             .tokens_cached = more.tokens_cached,
                             .cost_micro_usd = more.cost_micro_usd };
    return true;
}

static void take_live(struct op_call *call, struct run_page *page) {
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    task_id *live = arena_alloc(op_arena(call), (count + 1) * sizeof(*live));
    (void)engine_live_tasks(call->engine, live, count);
    for (size_t i = count; i-- > 0;) {
        struct run_row run;
        if (live[i] >= page->live_before || !live_row(call, live[i], &run)
            || !fits(call, page, &run))
            continue;
        if (page->rows.count == page->limit) {
            page->more_live = true;
            return;
        }
        keep_run(call, page, &run);
    }
}

static void take_ended(struct op_call *call, const struct store_answer *answer) {
    struct run_page *page = op_state(call, sizeof(*page), NULL);
    size_t i = 0;
    for (; i < answer->count && page->rows.count < page->limit; i++) {
        const struct run_row *run = &answer->runs[i];
        page->cursor = (struct store_cursor){ run->ended_at, run->task, run->attempt };
        if (fits(call, page, run))
            keep_run(call, page, run);
    }
    page->scanned += (unsigned)answer->count;
    page->over = i == answer->count && answer->count < page->requested;
}

/* clang-format off */
#define LISTED_RUN(X) \
    X(json_put_string, "title", T_TEXT | T_NULL, "the title of its task", "write the parser", page->rows.titles[i]) \
    X(json_put_string, "project", T_TEXT | T_NULL, "its project", "web", op_name_of(call->engine, t.project)) \
    X(json_put_string, "kind", T_TEXT | T_NULL, "its kind", "implement", op_name_of(call->engine, t.kind)) \
    X(json_put_string, "state", T_WORD | T_NULL, "the state of its task; null: it was deleted", &words_state, there ? task_state_name(t.state) : NULL)
static const struct shape listed_run_shape = { "ListedRun", "a run with what its task is called", &shape_any_run, SHAPE_ALL(LISTED_RUN) };
/* clang-format on */

/* --- the answer ------------------------------------------------------------------------------ */

static int print_listing(struct op_call *call) {
    const struct run_page *page = op_state(call, sizeof(*page), NULL);
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    for (size_t i = 0; i < page->rows.count; i++) {
        const struct run_row *run = &page->runs[i];
        struct task_view t = { 0 };
        bool there = core_task(engine_core(call->engine), run->task, &t);
        json_write_object_begin(&w);
        print_run_members(&w, call->engine, run,
                          t.state == TASK_STARTING ? "starting" : run_phase_name(t.phase));
        LISTED_RUN(SHAPE_PRINT_TO)
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    char text[80];
    if (page->more_live)
        (void)snprintf(text, sizeof(text), "l%" PRIu64, page->rows.tasks[page->rows.count - 1]);
    else
        (void)snprintf(text, sizeof(text), "e%" PRId64 ".%" PRIu64 ".%" PRIu32,
                       page->cursor.ended_at, page->cursor.task, page->cursor.attempt);
    json_put_string(&w, "next", page->over && !page->more_live ? NULL : text);
    return op_end(&w);
}

static int query_ended(struct op_call *call) {
    struct run_page *page = op_state(call, sizeof(*page), NULL);
    bool filtered = page->project || page->agent || page->outcome >= 0;
    if (page->over || page->more_live || page->rows.count == page->limit
        || page->scanned >= SCANNED_MAX)
        return op_query_titles(call, &page->rows, print_listing);
    page->requested = page->limit - page->rows.count + 1;
    if (filtered || page->requested > STORE_ANSWER_MAX)
        page->requested = STORE_ANSWER_MAX;
    struct store_query question = {
        .kind = QUERY_ENDED, .since = page->since, .place = page->cursor, .limit = page->requested
    };
    return op_query(call, &question, take_ended, query_ended);
}

static int run_list(struct op_call *call) {
    struct run_page *page = op_state(call, sizeof(*page), NULL);
    page->since = op_number(call, "since", 0);
    page->until = op_number(call, "until", TIME_NEVER);
    page->limit = op_limit(call);
    int r = take_state(call, page);
    if (r == 0)
        r = take_names(call, page);
    if (r == 0)
        r = take_cursor(call, page);
    if (r < 0)
        return r;
    page->runs = arena_alloc(op_arena(call), page->limit * sizeof(*page->runs));
    page->rows.tasks = arena_alloc(op_arena(call), page->limit * sizeof(*page->rows.tasks));
    if (page->which != RUNS_ENDED && page->until > engine_now(call->engine))
        take_live(call, page);
    page->over = page->which == RUNS_LIVE;
    return query_ended(call);
}

const struct op op_run_list = {
    OP("run.list", "GET", "/v1/runs",
       "list runs of all tasks, those that live first, then by their end, latest first"),
    .text = "For a picture of the time. A run that was still going on at `until` is not among "
            "those that ended before: ask for a later time to see it. One call looks at up to "
            "5,000 ended runs: a page may have fewer items than asked for, or none, and still a "
            "`next`. Runs go with their tasks (`retention`); what they used stays (`usage.list`).",
    .params = PARAMS(
        PARAM(NUMBER, QUERY, "since", .spelled = MEMBER_MOMENT,
              .text = "those that live, or ended at this time (ms) or later"),
        PARAM(NUMBER, QUERY, "until", .spelled = MEMBER_MOMENT,
              .text =
                  "those that ended before this time (ms); when not given also those that live"),
        OP_PARAM_FILTER("project", "only of this project"),
        OP_PARAM_FILTER("agent", "only by this agent"),
        OP_PARAM_FILTER("state", "`live`, `ended`, or an outcome: `ok`, `failed`, `limited` …"),
        OP_PARAM_LIMIT,
        PARAM(TEXT, QUERY, "after", .text = "`next` of the answer before: goes on behind it",
              .min = 1, .max = 80)),
    .answers = ANSWERS(SHAPE_PAGE(&listed_run_shape)),
    OP_READS(READ, NONE, run_list),
};

/* --- logs ------------------------------------------------------------------------------------ */

/* Finds the file and the offset. The front end sends the bytes, and optionally follows the file
 * while the run is live. */

static const char *const streams[] = { "out", "err", "check", "prepare", "all", NULL };

static const char *const formats[] = { [OP_LOG_RAW] = "raw",
                                       [OP_LOG_TEXT] = "text",
                                       [OP_LOG_ENTRIES] = "entries",
                                       [OP_LOG_PIECES] = "pieces",
                                       NULL };

/* The front end finds where a tail of both begins. */
static void set_merged(struct op_call *call, task_id task, uint32_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf order = STRBUF_INIT;
    engine_run_order(call->engine, task, attempt, &order);
    call->log.order = strbuf_take(&order);
    call->log.err_offset = (uint64_t)op_number(call, "err_offset", 0);
    call->log.tail = (uint64_t)op_number(call, "tail", 0);
}

static int check_offsets(struct op_call *call, bool is_merged) {
    if (op_json(call, "offset") && op_json(call, "tail"))
        return op_fail(call, -EINVAL, "'offset' and 'tail' cannot be used together");
    if (op_json(call, "err_offset") && op_json(call, "tail"))
        return op_fail(call, -EINVAL, "'err_offset' and 'tail' cannot be used together");
    if (op_json(call, "err_offset") && !is_merged)
        return op_fail(call, -EINVAL, "'err_offset' needs 'stream' to be 'all'");
    return 0;
}

static int run_log(struct op_call *call) {
    task_id task = op_task(call);
    struct task_view t;
    if (!task || !core_task(engine_core(call->engine), task, &t))
        return call->err.code;
    int64_t attempt = op_number(call, "attempt", t.attempt);
    if (attempt < 1 || attempt > t.attempt)
        return op_fail(call, -ENOENT,
                       attempt < 1 ? "task '%s' has not run yet"
                                   : "task '%s' has had no such attempt",
                       utf8_quote(op_text(call, "id")).text);
    const char *stream = op_text(call, "stream");
    bool is_merged = stream && strcmp(stream, "all") == 0;
    if (check_offsets(call, is_merged) < 0)
        return call->err.code;
    stream = stream && !is_merged ? stream : "out";
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    engine_run_folder(call->engine, task, (uint32_t)attempt, &path);
    strbuf_printf(&path, "/%s.log", stream);
    struct stat st;
    bool there = stat(strbuf_text(&path), &st) == 0;
    struct engine_run live;
    bool lives = engine_live_run(call->engine, task, &live) && live.attempt == (uint32_t)attempt;
    struct engine_host_state host;
    if (!there && lives && engine_unreachable_run(call->engine, task, &host))
        return op_fail(call, -EBUSY,
                       "the log of attempt %" PRId64
                       " of task '%s' is on host '%s', which is unreachable; with 'data.folder' on "
                       "a file system of both it would be here",
                       attempt, utf8_quote(op_text(call, "id")).text, host.name);
    int64_t keep = config_number(engine_config(call->engine), "retention.iterations", NULL);
    if (!there && !lives && attempt > 1 && keep > 0 && t.attempt - attempt >= keep)
        return op_fail(call, -ENOENT,
                       "the log of attempt %" PRId64
                       " of task '%s' was removed by retention.iterations, which keeps the first "
                       "and the newest %" PRId64,
                       attempt, utf8_quote(op_text(call, "id")).text, keep);
    if (!there && !lives)
        return op_fail(call, -ENOENT,
                       "there is no log of attempt %" PRId64 " of task '%s' (any more)", attempt,
                       utf8_quote(op_text(call, "id")).text);
    int64_t size = there ? st.st_size : 0, tail = op_number(call, "tail", size);
    call->log.path = strbuf_take(&path);
    call->log.offset =
        (uint64_t)op_number(call, "offset", tail < size && !is_merged ? size - tail : 0);
    if (is_merged)
        set_merged(call, task, (uint32_t)attempt);
    call->log.follow = op_flag(call, "follow");
    call->log.task = task;
    call->log.attempt = (uint32_t)attempt;
    if (strcmp(stream, "out") == 0)
        call->log.adapter = engine_run_adapter(call->engine, task, (uint32_t)attempt);
    const char *format = op_text(call, "format");
    while (format && strcmp(format, formats[call->log.format]) != 0)
        call->log.format++;
    return 0;
}

const struct op op_task_log = {
    OP("task.log", "GET", "/v1/tasks/{id}/log", "read what a run printed"),
    .text =
        "The bytes as they were printed, `application/octet-stream`; secrets of the run are "
        "replaced by the same number of bytes. `X-Sluice-Attempt` and `X-Sluice-Offset` say "
        "what they are; adding their number to the offset is where to go on. The middle of a "
        "long log may be gone; a line says how many bytes were cut there. `X-Sluice-Adapter` "
        "names the agent whose events the output is, if it is one. With `format=text` these "
        "events come as a transcript, `text/plain`: what the agent says, each tool call with "
        "its main argument and the first lines of its result, without control characters. "
        "Other output is the same in both formats. `offset` and `tail` count bytes of the log; "
        "a transcript begins with the next complete line. `stream=all` is output and errors in the "
        "order in which they were written, as far as the run has recorded it: writes that follow "
        "each "
        "other within milliseconds may come as output first. With `format=entries` and `pieces` "
        "the "
        "answer is `application/x-ndjson`, one JSON object per line. A piece of a stream is "
        "`{\"stream\": \"err\", \"offset\": 512, \"text\": \"...\"}`; `offset` is where to go on "
        "in this "
        "stream. An entry of a transcript has a `kind`: `say`, `think`, `prompt`, `call`, "
        "`result`, "
        "`note`, or `text` (a line that is no event), and its `text`. A call has its `tool`, the "
        "main "
        "argument as `text`, and `arguments`. A call and its results have the same `id`, if the "
        "agent "
        "gives one. `cut` (the text is longer), `failed`, `nested` (of a subagent) and `continues` "
        "(the entry before) are only there if they are true.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(NUMBER, QUERY, "attempt", .text = "which run; the last when not given", .min = 1,
              .max = UINT32_MAX),
        PARAM(TEXT, QUERY, "stream",
              .text = "its output (the default), its errors, the output of its checks, or the "
                      "output of `projects.P.prepare`; `all`: its output and errors, merged",
              .choices = streams),
        PARAM(NUMBER, QUERY, "offset", .text = "bytes to leave out at the beginning"),
        PARAM(NUMBER, QUERY, "err_offset",
              .text =
                  "with `stream=all`: bytes of the errors to leave out; `offset` is that of the "
                  "output"),
        PARAM(NUMBER, QUERY, "tail", .text = "only so many bytes of the end"),
        PARAM(BOOLEAN, QUERY, "follow", .text = "go on until the run has ended"),
        PARAM(
            TEXT, QUERY, "format",
            .text =
                "`raw` (the default): the bytes. `text`: what an agent says and does, for people. "
                "`entries`: the same as objects. `pieces`: the bytes as objects",
            .choices = formats)),
    OP_READS(READ, SUBTREE, run_log),
    .answer = OP_ANSWER_LOG,
};

/* --- reports --------------------------------------------------------------------------------- */

/* Numbers are totals of the run so far. A report of an ended attempt is refused, so a leftover
 * process cannot charge the next attempt. */

#define TOKENS_MAX INT64_C(1000000000000000)

struct reporter {
    task_id task;
    int64_t attempt; /* -1: not given */
};

/* "web-17.2": task and attempt. */
static int take_caller(struct op_call *call, struct reporter *ret) {
    const char *point = strrchr(call->caller, '.');
    if (!point || number_parse_int(point + 1, &ret->attempt, NULL) < 0)
        return op_fail(call, -EINVAL, "'%s' is not a run (example: web-17.2)",
                       utf8_quote(call->caller).text);
    const char *id = arena_strndup(op_arena(call), call->caller, (size_t)(point - call->caller));
    ret->task = engine_task_of_id(call->engine, id, &call->err);
    return call->err.code;
}

static int take_reporter(struct op_call *call, struct reporter *ret) {
    const char *id = op_text(call, "task");
    if (!id && call->caller)
        return take_caller(call, ret);
    if (!id)
        return op_fail(call, -EINVAL, "parameter 'task' is missing: the task that reports");
    ret->attempt = op_number(call, "attempt", -1);
    ret->task = engine_task_of_id(call->engine, id, &call->err); /* the id as a run knows it */
    if (!ret->task) {
        call->err.code = 0;
        ret->task = op_named_task(call, id);
    }
    return ret->task ? 0 : call->err.code;
}

static int check_attempt(struct op_call *call, const struct reporter *r, uint32_t *ret_attempt) {
    struct engine_run live;
    if (!engine_live_run(call->engine, r->task, &live))
        return op_fail(call, -EBUSY, "task '%s' does not run: nothing can be reported of it",
                       op_id(call, r->task));
    if (r->attempt >= 0 && r->attempt != live.attempt)
        return op_fail(call, -EBUSY, "attempt %" PRId64 " of task '%s' is not the one that runs",
                       r->attempt, op_id(call, r->task));
    *ret_attempt = live.attempt;
    return 0;
}

/* In millionths of a dollar; -1: not given. */
static int64_t cost_of(const struct op_call *call) {
    const json_t *cost = op_json(call, "cost_usd");
    return cost ? (int64_t)(json_number_value(cost) * (double)MONEY_DOLLAR + 0.5) : -1;
}

/* Implausible numbers are not recorded, and `refused` says why; the owner gets an alert. */
static int report(struct op_call *call, const struct reporter *who, struct strbuf *refused) {
    struct error why = { 0 };
    struct engine_usage usage = {
        .tokens_in = op_number(call, "tokens_in", -1),
        .tokens_out = op_number(call, "tokens_out", -1),
        .tokens_total = op_number(call, "tokens", 0),
        .cost_micro_usd = cost_of(call),
    };
    if (op_json(call, "tokens") && usage.tokens_total == 0)
        usage.tokens_out = 0; /* none used, as opposed to unknown */
    bool used = usage.tokens_total > 0 || usage.tokens_in >= 0 || usage.tokens_out >= 0
                || usage.cost_micro_usd >= 0;
    bool limited = op_json(call, "rate_limited_s") != NULL;
    uint32_t attempt = 0;
    int r = used || limited ? check_attempt(call, who, &attempt) : 0;
    if (r == 0 && used)
        r = engine_report_usage(call->engine, who->task, &usage, &why);
    if (r < 0 && why.code)
        return op_fail(call, r, "%s", why.text);
    if (r > 0)
        strbuf_puts(refused, why.text);
    if (r >= 0 && limited) {
        struct fact fact = { .kind = FACT_RUN_LIMITED, .task = who->task, .attempt = attempt };
        fact.limited.retry_after = SECONDS(op_number(call, "rate_limited_s", 0));
        r = engine_apply(call->engine, &fact, &call->err);
    }
    if (r >= 0 && op_flag(call, "done"))
        r = engine_mark_done(call->engine, who->task, &call->err);
    return r < 0 ? r : 0;
}

static int run_report(struct op_call *call) {
    struct reporter who = { .attempt = -1 };
    _cleanup_(strbuf_finish) struct strbuf refused = STRBUF_INIT;
    int r = take_reporter(call, &who);
    if (r == 0 && op_json(call, "tokens") && op_json(call, "tokens_out"))
        r = op_fail(call, -EINVAL,
                    "'tokens' is the total: give it, or 'tokens_in' and 'tokens_out'");
    if (r == 0)
        r = report(call, &who, &refused);
    if (r < 0)
        return r;
    return op_answer(call, refused.length > 0 ? "s:b, s:s" : "s:b", "ok", true, "refused",
                     strbuf_text(&refused));
}

#define TOKENS(name_, text_) PARAM(NUMBER, BODY, name_, .text = (text_), .max = TOKENS_MAX)

const struct op op_run_report = {
    OP("run.report", "POST", "/v1/report", "tell from inside a run what it used and how it goes"),
    .text = "Numbers above the limits of `report.*` are not booked, and the owner gets an alert.",
    .params = PARAMS(
        PARAM(TEXT, BODY, "task",
              .text = "who reports; the run of the header `X-Sluice-Run` when not given", .min = 1,
              .max = 160),
        PARAM(NUMBER, BODY, "attempt",
              .text = "which attempt; a report of one that is over is refused", .min = 1,
              .max = UINT32_MAX),
        TOKENS("tokens_in", "tokens read so far"), TOKENS("tokens_out", "tokens written so far"),
        TOKENS("tokens", "tokens used so far, read and written together"),
        PARAM(DECIMAL, BODY, "cost_usd", .spelled = MEMBER_MONEY, .text = "what it cost so far",
              .max = 1000000000),
        PARAM(BOOLEAN, BODY, "done", .text = "makes the DONE marker of the task"),
        PARAM(NUMBER, BODY, "rate_limited_s", .spelled = MEMBER_SPAN,
              .text = "its provider said wait; so many seconds, 0: not said how long",
              .max = 315360000)),
    .answers = ANSWERS({ "ok", T_BOOL, "it was taken" },
                       { "refused", T_TEXT | T_MAYBE, "why numbers were not booked" }),
    OP_WRITES(RUN, SELF, run_report),
};

/* --- corrections ----------------------------------------------------------------------------- */

struct correcting {
    task_id task;
    int64_t attempt; /* 0: the last ended one */
    struct engine_correction what;
    struct run_row *row; /* owned; NULL: none */
};

static void correcting_finish(void *state) {
    free(((struct correcting *)state)->row);
}

/* Newest first; the last attempt may be live. */
static void take_row(struct op_call *call, const struct store_answer *answer) {
    struct correcting *s = op_state(call, sizeof(*s), correcting_finish);
    for (size_t i = 0; i < answer->count && !s->row; i++)
        if (s->attempt ? answer->runs[i].attempt == s->attempt : answer->runs[i].ended)
            s->row = run_row_clone(&answer->runs[i]);
}

static int correct(struct op_call *call) {
    struct correcting *s = op_state(call, sizeof(*s), correcting_finish);
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
    json_write_pack(&w, "s:s, s:I", "id", id, "attempt", (int64_t)s->row->attempt);
    print_task_budget(&w, call->engine, s->task);
    return op_end(&w);
}

static int take_amounts(struct op_call *call, struct engine_correction *ret) {
    int64_t all = op_number(call, "tokens", -1);
    *ret = (struct engine_correction){
        .tokens_in = op_number(call, "tokens_in", all < 0 ? -1 : 0),
        .tokens_out = op_number(call, "tokens_out", all),
        .cost_micro_usd = cost_of(call),
        .by = call->user,
    };
    if (all >= 0 && (op_json(call, "tokens_in") || op_json(call, "tokens_out")))
        return op_fail(call, -EINVAL,
                       "'tokens' cannot be used together with 'tokens_in' and 'tokens_out'");
    if (ret->tokens_in < 0 && ret->tokens_out < 0 && ret->cost_micro_usd < 0)
        return op_fail(call, -EINVAL,
                       "give at least one of 'tokens', 'tokens_in', 'tokens_out', 'cost_usd'");
    return 0;
}

static int run_correct(struct op_call *call) {
    struct correcting *s = op_state(call, sizeof(*s), correcting_finish);
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    int r = take_amounts(call, &s->what);
    if (r < 0)
        return r;
    s->attempt = op_number(call, "attempt", 0);
    struct store_query question = { .kind = QUERY_RUNS,
                                    .task = s->task,
                                    .before = s->attempt ? (uint64_t)s->attempt + 1 : 0,
                                    .limit = 2 };
    return op_query(call, &question, take_row, correct);
}

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
    OP_WRITES(ADMIN, NONE, run_correct),
};
