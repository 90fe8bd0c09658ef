/* op_usage_list.c: usage over time, by project or agent.
 *
 * Reads sums that are written at the end of each run and outlive it, so a year of days costs a few
 * thousand rows regardless of the number of runs. Unreported usage is counted beside the sums:
 * unknown is not zero. */
#include <string.h>

#include "ops/print.h"

struct usage_page {
    bool days, by_agent;
    time_ms since, until;
    uint64_t skip, next; /* sums before this page; before the next one, 0: none */
};

/* clang-format off */
#define USAGE_SUM(X) \
    X(json_put_int, "at", T_TIME, "when the span began", NULL, s->at) \
    X(json_put_string, "name", T_TEXT | T_NULL, "the project or agent; null: none", "web", page->by_agent ? s->agent : s->project) \
    X(json_put_int, "runs", T_INT, "runs", NULL, s->runs) \
    X(json_put_int, "ok", T_INT, "those that succeeded", NULL, s->ok) \
    X(json_put_int, "busy_ms", T_SPAN, "how long they took together", NULL, s->busy_ms) \
    X(json_put_int, "tokens_in", T_INT, "tokens read", NULL, s->tokens_in) \
    X(json_put_int, "tokens_out", T_INT, "tokens written", NULL, s->tokens_out) \
    X(json_put_int, "tokens_cached", T_INT, "tokens read from a cache", NULL, s->tokens_cached) \
    X(json_put_int, "unknown_tokens", T_INT, "runs that reported none", NULL, s->unknown_tokens) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what was reported; null: no run has reported any", NULL, s->unknown_cost < s->runs ? s->cost_micro_usd : -1) \
    X(json_put_int, "unknown_cost", T_INT, "runs that reported none", NULL, s->unknown_cost)
static const struct shape usage_sum_shape = { "UsageSum", "what runs that ended in a span have used", .members = SHAPE_ALL(USAGE_SUM) };

#define USAGE_TARGET(X) \
    X(json_put_string, "name", T_TEXT, "the project", "web", p->name) \
    X(json_put_double, "weight", T_NUMBER, "its weight of today", NULL, (double)share.weight_milli / 1000.0, 3) \
    X(json_put_double, "target", T_NUMBER, "its part", NULL, target_share(&share, &sums), 4)
static const struct shape usage_target_shape = { "UsageTarget", "the part of a project", .members = SHAPE_ALL(USAGE_TARGET) };

#define USAGE(X) \
    X(json_put_string, "by", T_TEXT, "`day` or `hour`", "day", page->days ? "day" : "hour") \
    X(json_put_string, "group", T_TEXT, "`project` or `agent`", "project", page->by_agent ? "agent" : "project") \
    X(json_put_int, "since", T_TIME, "the first span", NULL, page->since) \
    X(json_put_int, "until", T_TIME, "spans that began before", NULL, page->until)
static const struct shape usage_shape = { .members = SHAPE_ROWS(
    USAGE(SHAPE_ROW)
    SHAPE_PAGE(&usage_sum_shape),
    { "targets", T_OBJECT | T_LIST | T_MAYBE,
                         "by project: what each active one should get of all tokens",
                         &usage_target_shape }) };
/* clang-format on */

static void take_sums(struct op_call *call, const struct store_answer *answer) {
    struct usage_page *page = op_state(call, sizeof(*page), NULL);
    size_t limit = op_limit(call);
    bool more = answer->count > limit || answer->count == STORE_ANSWER_MAX;
    size_t count = answer->count > limit ? limit : answer->count;
    struct json_writer w;
    json_write_init(&w, op_part(call), false);
    json_write_array_begin(&w);
    for (const struct spent_row *s = answer->spent; s < answer->spent + count; s++) {
        SHAPE_OBJECT_TO(USAGE_SUM)
    }
    json_write_array_end(&w);
    page->next = more ? page->skip + count : 0;
}

static int print(struct op_call *call) {
    const struct usage_page *page = op_state(call, sizeof(*page), NULL);
    struct json_writer w = op_begin(call);
    USAGE(SHAPE_PRINT_TO)
    print_json(&w, "items", strbuf_text(op_part(call)));
    if (!page->by_agent) {
        struct share_sums sums;
        sum_shares(call->engine, &sums);
        json_put_array(&w, "targets");
        for (size_t i = 0; i < engine_project_count(call->engine); i++) {
            const struct engine_project *p = engine_project_at(call->engine, i);
            struct share_view share;
            if (!core_share(engine_core(call->engine), p->symbol, &share) || !share.open)
                continue;
            SHAPE_OBJECT_TO(USAGE_TARGET)
        }
        json_write_array_end(&w);
    }
    op_print_next(&w, 'u', page->next);
    return op_end(&w);
}

static bool is_word(const struct op_call *call, const char *param, const char *word) {
    const char *given = op_text(call, param);
    return given && strcmp(given, word) == 0;
}

static int run(struct op_call *call) {
    struct usage_page *page = op_state(call, sizeof(*page), NULL);
    bool given;
    time_ms now = engine_now(call->engine);
    page->days = !is_word(call, "by", "hour");
    page->by_agent = is_word(call, "group", "agent");
    time_ms span = page->days ? DAYS(1) : HOURS(1);
    page->since = op_number(call, "since", now - (page->days ? DAYS(30) : DAYS(2)));
    page->since -= page->since % span;
    page->until = op_number(call, "until", now + 1);
    int r = op_cursor(call, 'u', &page->skip, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call);
    struct store_query question = { .kind = QUERY_SPENT,
                                    .days = page->days,
                                    .by_agent = page->by_agent,
                                    .since = page->since,
                                    .before_time = page->until,
                                    .after = page->skip,
                                    .limit = limit < STORE_ANSWER_MAX ? limit + 1 : limit };
    return op_query(call, &question, take_sums, print);
}

static const char *const spans[] = { "day", "hour", NULL };
static const char *const groups[] = { "project", "agent", NULL };

const struct op op_usage_list = {
    OP("usage.list", "GET", "/v1/usage", "sum up what runs have used, by day or hour"),
    .text = "A run counts in the span in which it ended. Days are kept for 800 days and hours for "
            "40, also when the runs are gone. Up to 1,000 sums in one answer, oldest first.",
    .params =
        PARAMS(PARAM(TEXT, QUERY, "by", .text = "sums of days (of UTC; when not given) or of hours",
                     .choices = spans),
               PARAM(TEXT, QUERY, "group",
                     .text = "one sum for each project (when not given) or for each agent",
                     .choices = groups),
               PARAM(NUMBER, QUERY, "since", .spelled = MEMBER_MOMENT,
                     .text = "a time (ms): spans from that in which it lies; 30 days or 48 hours "
                             "ago when not given"),
               PARAM(NUMBER, QUERY, "until", .spelled = MEMBER_MOMENT,
                     .text = "a time (ms): spans that began before; now when not given"),
               OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = &usage_shape,
    OP_READS(READ, NONE, run),
};
