/* op_run_list.c: which runs were there, and which are? For a picture of the time.
 *
 * Those that live come first and are the engine's; those that have ended come from the store by their end,
 * latest first, as far back as `since`. The store knows no projects of runs, the core does: what does not
 * fit is left out here, so one call looks at so many ended runs and no more, and a page may have fewer
 * items than asked for, or none, and still a `next`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "engine/live.h"
#include "ops/print.h"

#define LOOKED_MAX 5000u

enum which { RUNS_ALL, RUNS_LIVE, RUNS_ENDED };

struct listing {
    time_ms since, until;
    sym project;
    const char *agent;
    enum which which;
    int outcome;          /* enum outcome, or -1: any */
    task_id live_below;   /* of those that live, only smaller numbers; 0: none of them */
    struct run_row *runs; /* their texts are in the arena */
    task_id *tasks;
    const char **titles;
    size_t count, limit;
    struct store_place place; /* of the last one that was looked at */
    size_t asked;
    unsigned looked;
    bool over;       /* there are no more that have ended */
    bool more_lives; /* the page ended among those that live */
};

static struct listing *listing_of(struct op_call *call) {
    return op_state(call, sizeof(struct listing), NULL);
}

/* --- what is asked for ----------------------------------------------------------------------- */

static int take_state(struct op_call *call, struct listing *l) {
    const char *word = op_text(call, "state");
    l->outcome = -1;
    if (!word)
        return 0;
    l->which = strcmp(word, "live") == 0 ? RUNS_LIVE : RUNS_ENDED;
    if (l->which == RUNS_LIVE || strcmp(word, "ended") == 0)
        return 0;
    struct nearest nearest = nearest_to(word);
    nearest_offer(&nearest, "live");
    nearest_offer(&nearest, "ended");
    for (int o = 0; o < OUTCOME_MAX; o++) {
        nearest_offer(&nearest, outcome_name((enum outcome)o));
        if (strcmp(word, outcome_name((enum outcome)o)) == 0)
            l->outcome = o;
    }
    if (l->outcome >= 0)
        return 0;
    return op_fail(call, -EINVAL, "no run is '%s'; did you mean '%s'?", op_quote(word).text,
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

/* "l17": behind the live run of task 17; "e1760000060000.17.2": behind one that has ended. */
static int take_place(struct op_call *call, struct listing *l) {
    const char *given = op_text(call, "after"), *text = given;
    uint64_t at, task, attempt;
    l->live_below = UINT64_MAX;
    l->place = (struct store_place){ .ended_at = time_min(l->until, TIME_NEVER) };
    if (!text)
        return 0;
    if (*text == 'l' && (text++, read_part(&text, '\0', &l->live_below)))
        return 0;
    text = given + 1;
    l->live_below = 0;
    if (*given == 'e' && read_part(&text, '.', &at) && read_part(&text, '.', &task)
        && read_part(&text, '\0', &attempt) && attempt <= UINT32_MAX) {
        l->place = (struct store_place){ (time_ms)at, task, (uint32_t)attempt };
        return 0;
    }
    return op_fail(call, -EINVAL, "'%s' is no place in this list: take `next` of its answer",
                   op_quote(given).text);
}

/* A project that is gone, or that no task ever had, has no runs; one that nobody knows is an error. */
static int take_names(struct op_call *call, struct listing *l) {
    const char *project = op_text(call, "project");
    l->agent = op_text(call, "agent");
    if (!project)
        return 0;
    const struct engine_project *p = op_project(call, project);
    l->project = p ? p->symbol : 0;
    return p ? 0 : call->err.code;
}

/* --- choosing -------------------------------------------------------------------------------- */

static bool fits(const struct op_call *call, const struct listing *l, const struct run_row *run) {
    struct task_view t;
    if (l->agent && (!run->agent || strcmp(run->agent, l->agent) != 0))
        return false;
    if (l->outcome >= 0 && (int)run->outcome != l->outcome)
        return false;
    return !l->project
           || (core_task(engine_core(call->engine), run->task, &t) && t.project == l->project);
}

static void keep(struct op_call *call, struct listing *l, const struct run_row *run) {
    struct run_row *copy = &l->runs[l->count];
    struct arena *arena = op_arena(call);
    *copy = *run;
    copy->agent = run->agent ? arena_strdup(arena, run->agent) : NULL;
    copy->how = run->how ? arena_strdup(arena, run->how) : NULL;
    copy->model = run->model ? arena_strdup(arena, run->model) : NULL;
    copy->message = run->message ? arena_strdup(arena, run->message) : NULL;
    l->tasks[l->count++] = run->task;
}

static bool live_row(const struct op_call *call, task_id task, struct run_row *ret) {
    struct engine_run run;
    struct engine_live more;
    if (!engine_live_run(call->engine, task, &run) || !engine_live(call->engine, task, &more))
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

/* Highest numbers first. */
static void take_live(struct op_call *call, struct listing *l) {
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    task_id *live = arena_alloc(op_arena(call), (count + 1) * sizeof(*live));
    (void)engine_live_tasks(call->engine, live, count);
    for (size_t i = count; i-- > 0;) {
        struct run_row run;
        if (live[i] >= l->live_below || !live_row(call, live[i], &run) || !fits(call, l, &run))
            continue;
        if (l->count == l->limit) {
            l->more_lives = true;
            return;
        }
        keep(call, l, &run);
    }
}

static void take_ended(struct op_call *call, const struct store_answer *answer) {
    struct listing *l = listing_of(call);
    size_t i = 0;
    for (; i < answer->count && l->count < l->limit; i++) {
        const struct run_row *run = &answer->runs[i];
        l->place = (struct store_place){ run->ended_at, run->task, run->attempt };
        if (fits(call, l, run))
            keep(call, l, run);
    }
    l->looked += (unsigned)answer->count;
    l->over = i == answer->count && answer->count < l->asked;
}

/* clang-format off */
#define LISTED_RUN(X) \
    X(print_text, "title", T_TEXT | T_NULL, "the title of its task", "write the parser", l->titles[i]) \
    X(print_text, "project", T_TEXT | T_NULL, "its project", "web", op_name_of(call->engine, t.project)) \
    X(print_text, "kind", T_TEXT | T_NULL, "its kind", "implement", op_name_of(call->engine, t.kind)) \
    X(print_text, "state", T_WORD | T_NULL, "the state of its task; null: it was deleted", &words_state, there ? task_state_name(t.state) : NULL)
static const struct shape listed_run_shape = { "ListedRun", "a run with what its task is called", &shape_any_run, SHAPE_ALL(LISTED_RUN) };
/* clang-format on */

/* --- the answer ------------------------------------------------------------------------------ */

static void print_one(struct op_call *call, struct json_writer *w, size_t i) {
    const struct listing *l = listing_of(call);
    const struct run_row *run = &l->runs[i];
    struct task_view t = { 0 };
    bool there = core_task(engine_core(call->engine), run->task, &t);
    json_write_object_begin(w);
    print_run_members(w, call->engine, run,
                      t.state == TASK_STARTING ? "starting" : run_phase_name(t.phase));
    LISTED_RUN(SHAPE_PRINT)
    json_write_object_end(w);
}

static void print_next(struct json_writer *w, const struct listing *l) {
    char text[80];
    if (l->more_lives)
        (void)snprintf(text, sizeof(text), "l%" PRIu64, l->tasks[l->count - 1]);
    else
        (void)snprintf(text, sizeof(text), "e%" PRId64 ".%" PRIu64 ".%" PRIu32, l->place.ended_at,
                       l->place.task, l->place.attempt);
    print_text(w, "next", l->over && !l->more_lives ? NULL : text);
}

static int print(struct op_call *call) {
    const struct listing *l = listing_of(call);
    struct json_writer w = op_begin(call);
    print_list(&w, "items");
    for (size_t i = 0; i < l->count; i++)
        print_one(call, &w, i);
    json_write_array_end(&w);
    print_next(&w, l);
    return op_end(&w);
}

/* A task may be there several times, and be gone meanwhile. */
static void take_titles(struct op_call *call, const struct store_answer *answer) {
    struct listing *l = listing_of(call);
    for (size_t i = 0, k = 0; i < l->count && k < answer->count; i++) {
        if (answer->specs[k].id != l->tasks[i])
            continue;
        const char *title = answer->specs[k++].title;
        l->titles[i] = title ? arena_strdup(op_arena(call), title) : NULL;
    }
}

static int ask_titles(struct op_call *call) {
    const struct listing *l = listing_of(call);
    if (l->count == 0)
        return print(call);
    struct store_question question = {
        .kind = ASK_TITLES, .tasks = l->tasks, .task_count = l->count, .limit = l->count
    };
    return op_ask(call, &question, take_titles, print);
}

static int ask_ended(struct op_call *call) {
    struct listing *l = listing_of(call);
    bool filtered = l->project || l->agent || l->outcome >= 0;
    if (l->over || l->more_lives || l->count == l->limit || l->looked >= LOOKED_MAX)
        return ask_titles(call);
    l->asked = l->limit - l->count + 1;
    if (filtered || l->asked > STORE_ANSWER_MAX)
        l->asked = STORE_ANSWER_MAX;
    struct store_question question = {
        .kind = ASK_ENDED, .since = l->since, .place = l->place, .limit = l->asked
    };
    return op_ask(call, &question, take_ended, ask_ended);
}

static int run(struct op_call *call) {
    struct listing *l = listing_of(call);
    l->since = op_number(call, "since", 0);
    l->until = op_number(call, "until", TIME_NEVER);
    l->limit = op_limit(call);
    int r = take_state(call, l);
    if (r == 0)
        r = take_names(call, l);
    if (r == 0)
        r = take_place(call, l);
    if (r < 0)
        return r;
    l->runs = arena_alloc(op_arena(call), l->limit * sizeof(*l->runs));
    l->tasks = arena_alloc(op_arena(call), l->limit * sizeof(*l->tasks));
    l->titles = arena_alloc(op_arena(call), l->limit * sizeof(*l->titles));
    if (l->which != RUNS_ENDED && l->until > engine_now(call->engine))
        take_live(call, l);
    l->over = l->which == RUNS_LIVE;
    return ask_ended(call);
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
    .right = OP_READ,
    .run = run,
};
