/* op_usage_list.c: usage over time, by project or agent.
 *
 * Reads sums that are written at the end of each run and outlive it, so a year of days costs a few
 * thousand rows regardless of the number of runs. Unreported usage is counted beside the sums:
 * unknown is not zero. What live runs have used so far is shown apart and is in no sum.
 *
 * The store sums days of UTC and hours. Days of another zone are summed from hours; before the
 * hours that are kept, they are days of UTC. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/zones.h"
#include "engine/runs.h"
#include "ops/print.h"

#define HOURS_MAX DAYS(39) /* of the 40 days for which hours are kept (prune.c) */

struct usage_live {
    int64_t runs, tokens_in, tokens_out, tokens_cached, cost_micro_usd;
    int64_t unknown_tokens, unknown_cost;
};

struct usage_name {
    const char *name; /* NULL: none */
    struct spent_row sum;
    struct usage_live live;
};

struct usage_page {
    bool days, by_agent;
    time_ms since, until;
    uint64_t skip;
    struct zones zones;
    const struct zone *zone; /* NULL: UTC */
    time_ms hours_from;      /* with a zone: sums before it are of UTC days */
    /* What the store is asked next. */
    bool reads_days;
    time_ms from, to;
    uint64_t read;
    bool more;

    struct {
        struct spent_row *items;
        size_t count, capacity;
    } sums; /* oldest first */
    struct {
        struct usage_name *items;
        size_t count, capacity;
    } names;
    struct spent_row total;
    struct usage_live live;
};

static void usage_finish(void *state) {
    struct usage_page *page = state;
    zones_finish(&page->zones);
    free(page->sums.items);
    free(page->names.items);
}

static struct usage_page *usage_of(struct op_call *call) {
    return op_state(call, sizeof(struct usage_page), usage_finish);
}

/* clang-format off */
#define USAGE_TOTAL(X) \
    X(json_put_int, "runs", T_INT, "runs", NULL, s->runs) \
    X(json_put_int, "ok", T_INT, "those that succeeded", NULL, s->ok) \
    X(json_put_int, "busy_ms", T_SPAN, "how long they took together", NULL, s->busy_ms) \
    X(json_put_int, "tokens_in", T_INT, "tokens read", NULL, s->tokens_in) \
    X(json_put_int, "tokens_out", T_INT, "tokens written", NULL, s->tokens_out) \
    X(json_put_int, "tokens_cached", T_INT, "tokens read from a cache", NULL, s->tokens_cached) \
    X(json_put_int, "unknown_tokens", T_INT, "runs that reported none", NULL, s->unknown_tokens) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what was reported; null: no run has reported any", NULL, s->unknown_cost < s->runs ? s->cost_micro_usd : -1) \
    X(json_put_int, "unknown_cost", T_INT, "runs that reported none", NULL, s->unknown_cost)
static const struct shape usage_total_shape = { "UsageTotal", "what ended runs have used", .members = SHAPE_ALL(USAGE_TOTAL) };

#define USAGE_SUM(X) \
    X(json_put_int, "at", T_TIME, "when the span began", NULL, s->at) \
    X(json_put_string, "name", T_TEXT | T_NULL, "the project or agent; null: none", "web", s->project)
static const struct shape usage_sum_shape = { "UsageSum", "what runs that ended in a span have used", &usage_total_shape, SHAPE_ALL(USAGE_SUM) };

#define USAGE_LIVE(X) \
    X(json_put_int, "runs", T_INT, "live runs", NULL, l->runs) \
    X(json_put_int, "tokens_in", T_INT, "tokens read so far", NULL, l->tokens_in) \
    X(json_put_int, "tokens_out", T_INT, "tokens written so far", NULL, l->tokens_out) \
    X(json_put_int, "tokens_cached", T_INT, "tokens read from a cache so far", NULL, l->tokens_cached) \
    X(json_put_int, "unknown_tokens", T_INT, "runs that have reported none yet", NULL, l->unknown_tokens) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what they have cost so far; null: no run has reported any", NULL, l->unknown_cost < l->runs ? l->cost_micro_usd : -1) \
    X(json_put_int, "unknown_cost", T_INT, "runs that have reported none yet", NULL, l->unknown_cost)
static const struct shape usage_live_shape = { "UsageLive", "what live runs have used so far; in no other sum", .members = SHAPE_ALL(USAGE_LIVE) };

static const struct shape usage_name_shape = { "UsageName", "what a project or agent has used in all spans", &usage_total_shape, SHAPE_ROWS(
    { "name", T_TEXT | T_NULL, "the project or agent; null: none", "web" },
    { "live", T_OBJECT, "its live runs", &usage_live_shape }) };

#define USAGE_TARGET(X) \
    X(json_put_string, "name", T_TEXT, "the project", "web", p->name) \
    X(json_put_double, "weight", T_NUMBER, "its weight of today", NULL, (double)share.weight_milli / 1000.0, 3) \
    X(json_put_double, "target", T_NUMBER, "its part", NULL, target_share(&share, &sums), 4)
static const struct shape usage_target_shape = { "UsageTarget", "the part of a project", .members = SHAPE_ALL(USAGE_TARGET) };

#define USAGE(X) \
    X(json_put_string, "by", T_TEXT, "`day` or `hour`", "day", page->days ? "day" : "hour") \
    X(json_put_string, "group", T_TEXT, "`project` or `agent`", "project", page->by_agent ? "agent" : "project") \
    X(json_put_int, "since", T_TIME, "the first span", NULL, page->since) \
    X(json_put_int, "until", T_TIME, "spans that began before", NULL, page->until) \
    X(json_put_string, "timezone", T_TEXT, "the time zone of the days", "Europe/Berlin", page->zone ? zone_name(page->zone) : "UTC") \
    X(print_time, "utc_before", T_TIME | T_NULL, "days before this time are of UTC: hours are no longer known; null: none", NULL, page->zone && page->since < page->hours_from ? page->hours_from : 0)
static const struct shape usage_shape = { .members = SHAPE_ROWS(
    USAGE(SHAPE_ROW)
    SHAPE_PAGE(&usage_sum_shape),
    { "totals", T_OBJECT, "all spans, also those of other pages", &usage_total_shape },
    { "live", T_OBJECT, "what live runs have used so far; in no other sum", &usage_live_shape },
    { "names", T_OBJECT | T_LIST, "the same for each project or agent, the most expensive first; up to 1,000", &usage_name_shape },
    { "targets", T_OBJECT | T_LIST | T_MAYBE,
                         "by project: what each active one should get of all tokens",
                         &usage_target_shape }) };
/* clang-format on */

/* --- sums ------------------------------------------------------------------------------------ */

static void add_up(struct spent_row *sum, const struct spent_row *more) {
    sum->runs += more->runs;
    sum->ok += more->ok;
    sum->busy_ms += more->busy_ms;
    sum->tokens_in += more->tokens_in;
    sum->tokens_out += more->tokens_out;
    sum->tokens_cached += more->tokens_cached;
    sum->cost_micro_usd += more->cost_micro_usd;
    sum->unknown_tokens += more->unknown_tokens;
    sum->unknown_cost += more->unknown_cost;
}

static bool same_name(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct usage_name *name_of(struct op_call *call, struct usage_page *page, const char *name) {
    for (size_t i = 0; i < page->names.count; i++)
        if (same_name(page->names.items[i].name, name))
            return &page->names.items[i];
    page->names.items = xgrow(page->names.items, &page->names.capacity, page->names.count + 1,
                              sizeof(*page->names.items));
    struct usage_name *one = &page->names.items[page->names.count++];
    *one = (struct usage_name){ .name = op_keep(call, name) };
    return one;
}

/* Where the span of a sum begins, for the client. */
static time_ms span_of(const struct usage_page *page, time_ms at) {
    if (!page->zone)
        return at;
    int64_t local = page->reads_days ? at / 1000 : zone_local(page->zone, at / 1000);
    return zone_find(page->zone, local - local % (DAYS(1) / 1000)).first * 1000;
}

/* Sums come oldest first, so that of the same span and name is among the last. */
static void add_sum(struct usage_page *page, const struct usage_name *name,
                    const struct spent_row *row) {
    time_ms at = span_of(page, row->at);
    for (size_t i = page->sums.count; i-- > 0 && page->sums.items[i].at == at;)
        if (page->sums.items[i].project == name->name) {
            add_up(&page->sums.items[i], row);
            return;
        }
    page->sums.items = xgrow(page->sums.items, &page->sums.capacity, page->sums.count + 1,
                             sizeof(*page->sums.items));
    struct spent_row *sum = &page->sums.items[page->sums.count++];
    *sum = *row;
    sum->at = at;
    sum->agent = NULL;
    sum->project = name->name; /* of whichever group */
}

static void take_sums(struct op_call *call, const struct store_answer *answer) {
    struct usage_page *page = usage_of(call);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spent_row *row = &answer->spent[i];
        struct usage_name *name = name_of(call, page, page->by_agent ? row->agent : row->project);
        add_up(&name->sum, row);
        add_up(&page->total, row);
        add_sum(page, name, row);
    }
    page->read += answer->count;
    page->more = answer->count == STORE_ANSWER_MAX;
}

/* --- live runs ------------------------------------------------------------------------------- */

static void add_reported(int64_t *sum, int64_t reported) {
    *sum += reported > 0 ? reported : 0;
}

static void add_live(struct usage_live *sum, const struct engine_run *run,
                     const struct engine_live_details *more) {
    sum->runs++;
    add_reported(&sum->tokens_in, run->tokens_in);
    add_reported(&sum->tokens_out, run->tokens_out);
    add_reported(&sum->tokens_cached, more->tokens_cached);
    add_reported(&sum->cost_micro_usd, more->cost_micro_usd);
    sum->unknown_tokens += run->tokens_in < 0 && run->tokens_out < 0;
    sum->unknown_cost += more->cost_micro_usd < 0;
}

static void sum_live(struct op_call *call, struct usage_page *page) {
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    task_id *live = arena_alloc(op_arena(call), (count + 1) * sizeof(*live));
    (void)engine_live_tasks(call->engine, live, count);
    for (size_t i = 0; i < count; i++) {
        struct engine_run run;
        struct engine_live_details more;
        struct task_view t;
        if (!engine_live_run(call->engine, live[i], &run)
            || !engine_live_details(call->engine, live[i], &more)
            || !core_task(engine_core(call->engine), live[i], &t))
            continue;
        const char *name = page->by_agent ? more.agent : op_name_of(call->engine, t.project);
        add_live(&name_of(call, page, name)->live, &run, &more);
        add_live(&page->live, &run, &more);
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

static int by_cost(const void *a, const void *b) {
    const struct usage_name *x = a, *y = b;
    int64_t left = x->sum.cost_micro_usd + x->live.cost_micro_usd;
    int64_t right = y->sum.cost_micro_usd + y->live.cost_micro_usd;
    if (left == right) {
        left = x->sum.tokens_in + x->sum.tokens_out;
        right = y->sum.tokens_in + y->sum.tokens_out;
    }
    if (left != right)
        return left > right ? -1 : 1;
    return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static void print_total(struct json_writer *w, const struct spent_row *s) {
    USAGE_TOTAL(SHAPE_PRINT)
}

static void print_live(struct json_writer *w, const struct usage_live *l) {
    json_write_key(w, "live");
    SHAPE_OBJECT(USAGE_LIVE)
}

static void print_names(struct json_writer *w, struct usage_page *page) {
    if (page->names.count > 1)
        qsort(page->names.items, page->names.count, sizeof(*page->names.items), by_cost);
    json_put_array(w, "names");
    for (size_t i = 0; i < page->names.count && i < OP_LIMIT_MAX; i++) {
        const struct usage_name *name = &page->names.items[i];
        json_write_object_begin(w);
        json_put_string(w, "name", name->name);
        print_total(w, &name->sum);
        print_live(w, &name->live);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void print_targets(struct json_writer *w, const struct engine *engine) {
    struct share_sums sums;
    sum_shares(engine, &sums);
    json_put_array(w, "targets");
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        const struct engine_project *p = engine_project_at(engine, i);
        struct share_view share;
        if (!core_share(engine_core(engine), p->symbol, &share) || !share.open)
            continue;
        SHAPE_OBJECT(USAGE_TARGET)
    }
    json_write_array_end(w);
}

static void print_sum(struct json_writer *w, const struct spent_row *s) {
    json_write_object_begin(w);
    USAGE_SUM(SHAPE_PRINT)
    print_total(w, s);
    json_write_object_end(w);
}

static int print(struct op_call *call) {
    struct usage_page *page = usage_of(call);
    size_t limit = op_limit(call), end = page->sums.count;
    if (page->skip > end)
        page->skip = end;
    if (end - page->skip > limit)
        end = page->skip + limit;
    struct json_writer writer = op_begin(call), *w = &writer;
    USAGE(SHAPE_PRINT)
    json_put_array(w, "items");
    for (size_t i = page->skip; i < end; i++)
        print_sum(w, &page->sums.items[i]);
    json_write_array_end(w);
    op_print_next(w, 'u', end < page->sums.count ? end : 0);
    json_put_object(w, "totals");
    print_total(w, &page->total);
    json_write_object_end(w);
    sum_live(call, page);
    print_live(w, &page->live);
    print_names(w, page);
    if (!page->by_agent)
        print_targets(w, call->engine);
    return op_end(w);
}

/* --- reading --------------------------------------------------------------------------------- */

static int read_more(struct op_call *call);

static int next_read(struct op_call *call) {
    struct usage_page *page = usage_of(call);
    if (page->more)
        return read_more(call);
    if (page->zone && page->reads_days) { /* the days of UTC are there, the hours follow */
        page->reads_days = false;
        page->from = page->hours_from;
        page->to = page->until;
        page->read = 0;
        return read_more(call);
    }
    return print(call);
}

static int read_more(struct op_call *call) {
    const struct usage_page *page = usage_of(call);
    struct store_query question = { .kind = QUERY_SPENT,
                                    .days = page->reads_days,
                                    .by_agent = page->by_agent,
                                    .since = page->from,
                                    .before_time = page->to,
                                    .after = page->read,
                                    .limit = STORE_ANSWER_MAX };
    return op_query(call, &question, take_sums, next_read);
}

/* Days of UTC before the last hours that are kept, then hours. */
static void begin_zoned(struct usage_page *page, time_ms now) {
    int64_t local = zone_local(page->zone, page->since / 1000);
    page->since = zone_find(page->zone, local - local % (DAYS(1) / 1000)).first * 1000;
    page->hours_from = now - HOURS_MAX;
    page->hours_from -= page->hours_from % DAYS(1);
    page->reads_days = page->since < page->hours_from;
    if (page->reads_days) {
        page->from = (local - local % (DAYS(1) / 1000)) * 1000; /* the day with the same date */
        page->to = page->hours_from < page->until ? page->hours_from : page->until;
    } else {
        page->from = page->since - page->since % HOURS(1);
        page->to = page->until;
    }
}

static int take_zone(struct op_call *call, struct usage_page *page) {
    const char *zone = op_text(call, "timezone");
    if (!zone || strcmp(zone, "UTC") == 0 || !page->days)
        return 0;
    return zones_find(&page->zones, strcmp(zone, "system") == 0 ? "" : zone, &page->zone,
                      &call->err);
}

static bool is_word(const struct op_call *call, const char *param, const char *word) {
    const char *given = op_text(call, param);
    return given && strcmp(given, word) == 0;
}

static int run(struct op_call *call) {
    struct usage_page *page = usage_of(call);
    bool given;
    time_ms now = engine_now(call->engine);
    page->days = !is_word(call, "by", "hour");
    page->by_agent = is_word(call, "group", "agent");
    time_ms span = page->days ? DAYS(1) : HOURS(1);
    page->since = op_number(call, "since", now - (page->days ? DAYS(30) : DAYS(2)));
    page->until = op_number(call, "until", now + 1);
    int r = op_cursor(call, 'u', &page->skip, &given);
    if (r == 0)
        r = take_zone(call, page);
    if (r < 0)
        return r;
    if (page->zone) {
        begin_zoned(page, now);
    } else {
        page->since -= page->since % span;
        page->reads_days = page->days;
        page->from = page->since;
        page->to = page->until;
    }
    return read_more(call);
}

static const char *const spans[] = { "day", "hour", NULL };
static const char *const groups[] = { "project", "agent", NULL };

const struct op op_usage_list = {
    OP("usage.list", "GET", "/v1/usage", "sum up what runs have used, by day or hour"),
    .text = "A run counts in the span in which it ended; `live` shows apart what live runs have "
            "used so far. Days are kept for 800 days and hours for 40, also when the runs are "
            "gone. Days of a time zone are sums of hours: an hour belongs to the day in which it "
            "begins. Up to 1,000 sums in one answer, oldest first; `totals`, `live` and `names` "
            "are the same on every page.",
    .params =
        PARAMS(PARAM(TEXT, QUERY, "by", .text = "sums of days (when not given) or of hours",
                     .choices = spans),
               PARAM(TEXT, QUERY, "group",
                     .text = "one sum for each project (when not given) or for each agent",
                     .choices = groups),
               PARAM(TEXT, QUERY, "timezone",
                     .text = "the time zone of the days: a name such as `Europe/Berlin`, `system` "
                             "for that of the daemon, UTC when not given",
                     .min = 1, .max = 64),
               PARAM(NUMBER, QUERY, "since", .spelled = MEMBER_MOMENT,
                     .text = "a time (ms): spans from that in which it lies; 30 days or 48 hours "
                             "ago when not given"),
               PARAM(NUMBER, QUERY, "until", .spelled = MEMBER_MOMENT,
                     .text = "a time (ms): spans that began before; now when not given"),
               OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = &usage_shape,
    OP_READS(READ, NONE, run),
};
