/* op_usage_list.c: what was used over time, by project or by agent?
 *
 * From sums that are written with the end of each run and outlive it, so that a year of days costs a few
 * thousand rows whatever has run. What nobody reported is counted beside the sums: unknown is not zero. */
#include <errno.h>
#include <string.h>

#include "ops/world.h"

struct asking {
    bool days, by_agent;
    time_ms since, until;
    uint64_t skip, next;
    struct strbuf items; /* printed as they came */
};

static void asking_finish(void *state) {
    strbuf_finish(&((struct asking *)state)->items);
}

static struct asking *asking_of(struct op_call *call) {
    return op_state(call, sizeof(struct asking), asking_finish);
}

static void print_sum(struct json_writer *w, const struct spent_row *s, bool by_agent) {
    json_write_object_begin(w);
    print_int(w, "at", s->at);
    print_text(w, "name", by_agent ? s->agent : s->project);
    print_int(w, "runs", s->runs);
    print_int(w, "ok", s->ok);
    print_int(w, "busy_ms", s->busy_ms);
    print_int(w, "tokens_in", s->tokens_in);
    print_int(w, "tokens_out", s->tokens_out);
    print_int(w, "tokens_cached", s->tokens_cached);
    print_int(w, "unknown_tokens", s->unknown_tokens);
    print_cost(w, "cost_usd", s->unknown_cost < s->runs ? s->cost_micro_usd : -1);
    print_int(w, "unknown_cost", s->unknown_cost);
    json_write_object_end(w);
}

static void take(struct op_call *call, const struct store_answer *answer) {
    struct asking *a = asking_of(call);
    size_t limit = op_limit(call);
    bool more = answer->count > limit || answer->count == STORE_ANSWER_MAX;
    size_t count = answer->count > limit ? limit : answer->count;
    struct json_writer w;
    json_write_init(&w, &a->items, false);
    json_write_array_begin(&w);
    for (size_t i = 0; i < count; i++)
        print_sum(&w, &answer->spent[i], a->by_agent);
    json_write_array_end(&w);
    a->next = more ? a->skip + count : 0;
}

/* What each project ought to get of the tokens, by the weights of today. */
static void print_targets(struct op_call *call, struct json_writer *w) {
    struct world_sums sums;
    world_sum(call->engine, &sums);
    print_list(w, "targets");
    for (size_t i = 0; i < engine_project_count(call->engine); i++) {
        const struct engine_project *p = engine_project_at(call->engine, i);
        struct share_view share;
        if (!core_share(engine_core(call->engine), p->symbol, &share) || !share.open)
            continue;
        json_write_object_begin(w);
        print_text(w, "name", p->name);
        json_write_key(w, "weight");
        json_write_double(w, (double)share.weight_milli / 1000.0, 3);
        json_write_key(w, "target");
        json_write_double(w, world_target(&share, &sums), 4);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static int print(struct op_call *call) {
    const struct asking *a = asking_of(call);
    struct json_writer w = op_begin(call);
    print_text(&w, "by", a->days ? "day" : "hour");
    print_text(&w, "group", a->by_agent ? "agent" : "project");
    print_int(&w, "since", a->since);
    print_int(&w, "until", a->until);
    print_json(&w, "items", strbuf_text(&a->items));
    if (!a->by_agent)
        print_targets(call, &w);
    op_print_next(&w, 'u', a->next);
    return op_end(&w);
}

static bool is_word(const struct op_call *call, const char *param, const char *word) {
    const char *given = op_text(call, param);
    return given && strcmp(given, word) == 0;
}

static int run(struct op_call *call) {
    struct asking *a = asking_of(call);
    bool given;
    time_ms now = engine_now(call->engine);
    a->days = !is_word(call, "by", "hour");
    a->by_agent = is_word(call, "group", "agent");
    time_ms span = a->days ? DAYS(1) : HOURS(1);
    a->since = op_number(call, "since", now - (a->days ? DAYS(30) : DAYS(2)));
    a->since -= a->since % span;
    a->until = op_number(call, "until", now + 1);
    int r = op_cursor(call, 'u', &a->skip, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call);
    struct store_question question = { .kind = ASK_SPENT,
                                       .days = a->days,
                                       .by_agent = a->by_agent,
                                       .since = a->since,
                                       .before_time = a->until,
                                       .after = a->skip,
                                       .limit = limit < STORE_ANSWER_MAX ? limit + 1 : limit };
    return op_ask(call, &question, take, print);
}

static const char *const spans[] = { "day", "hour", NULL };
static const char *const groups[] = { "project", "agent", NULL };

/* clang-format off */
static const struct shape usage_target_shape = { "UsageTarget", "the part of a project", .members = SHAPE_ROWS(
    { "name", T_TEXT, "the project", "web" },
    { "weight", T_NUMBER, "its weight of today" },
    { "target", T_NUMBER, "its part" }) };

static const struct shape usage_sum_shape = { "UsageSum", "what runs that ended in a span have used", .members = SHAPE_ROWS(
    { "at", T_TIME, "when the span began" },
    { "name", T_TEXT | T_NULL, "the project or agent; null: none", "web" },
    { "runs", T_INT, "runs" },
    { "ok", T_INT, "those that succeeded" },
    { "busy_ms", T_SPAN, "how long they took together" },
    { "tokens_in", T_INT, "tokens read" },
    { "tokens_out", T_INT, "tokens written" },
    { "tokens_cached", T_INT, "tokens read from a cache" },
    { "unknown_tokens", T_INT, "runs that reported none" },
    { "cost_usd", T_USD | T_NULL, "what was reported; null: no run has reported any" },
    { "unknown_cost", T_INT, "runs that reported none" }) };
/* clang-format on */

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
               PARAM(NUMBER, QUERY, "since",
                     .text = "a time (ms): spans from that in which it lies; 30 days or 48 hours "
                             "ago when not given"),
               PARAM(NUMBER, QUERY, "until",
                     .text = "a time (ms): spans that began before; now when not given"),
               OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS({ "by", T_TEXT, "`day` or `hour`", "day" },
                       { "group", T_TEXT, "`project` or `agent`", "project" },
                       { "since", T_TIME, "the first span" },
                       { "until", T_TIME, "spans that began before" }, SHAPE_PAGE(&usage_sum_shape),
                       { "targets", T_OBJECT | T_LIST | T_MAYBE,
                         "by project: what each active one should get of all tokens",
                         &usage_target_shape }),
    .right = OP_READ,
    .run = run,
};
