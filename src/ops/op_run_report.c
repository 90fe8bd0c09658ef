/* op_run_report.c: a run tells of itself: what it used, that it is done, that it must wait.
 *
 * Numbers are what the run has used so far in all. What comes from an attempt that is over is refused,
 * so that a process that was left behind cannot charge the one after it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "ops/print.h"

#define TOKENS_MAX INT64_C(1000000000000000)

struct reporter {
    task_id task;
    int64_t attempt; /* -1: not said */
};

/* "web-17.2": the task and the attempt behind the last point. */
static int take_caller(struct op_call *call, struct reporter *ret) {
    const char *point = strrchr(call->caller, '.');
    if (!point || number_parse_int(point + 1, &ret->attempt, NULL) < 0)
        return op_fail(call, -EINVAL, "'%s' is no run (example: web-17.2)",
                       op_quote(call->caller).text);
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
    ret->task = engine_task_of_id(call->engine, id, &call->err); /* as a run knows it */
    if (!ret->task) {
        call->err.code = 0;
        ret->task = op_named_task(call, id);
    }
    return ret->task ? 0 : call->err.code;
}

static int check_attempt(struct op_call *call, const struct reporter *r, uint32_t *ret_attempt) {
    struct engine_run live;
    char id[ENGINE_ID_MAX];
    if (!engine_live_run(call->engine, r->task, &live))
        return op_fail(call, -EBUSY, "task '%s' does not run: nothing can be reported of it",
                       engine_task_id(call->engine, r->task, id));
    if (r->attempt >= 0 && r->attempt != live.attempt)
        return op_fail(call, -EBUSY, "attempt %" PRId64 " of task '%s' is not the one that runs",
                       r->attempt, engine_task_id(call->engine, r->task, id));
    *ret_attempt = live.attempt;
    return 0;
}

static int64_t cost_of(struct op_call *call) {
    const json_t *cost = op_json(call, "cost_usd");
    return cost ? (int64_t)(json_number_value(cost) * 1e6 + 0.5) : -1;
}

/* What no run can have used is not booked, and `refused` says so: an alert tells the owner. */
static int book(struct op_call *call, task_id task, const struct engine_usage *usage,
                struct strbuf *refused) {
    struct error why = { 0 };
    int r = engine_report_usage(call->engine, task, usage, &why);
    if (r < 0)
        return op_fail(call, r, "%s", why.text);
    if (r > 0)
        strbuf_puts(refused, why.text);
    return 0;
}

static int report(struct op_call *call, const struct reporter *who, struct strbuf *refused) {
    struct engine_usage usage = {
        .tokens_in = op_number(call, "tokens_in", -1),
        .tokens_out = op_number(call, "tokens_out", -1),
        .tokens_total = op_number(call, "tokens", 0),
        .cost_micro_usd = cost_of(call),
    };
    if (op_json(call, "tokens") && usage.tokens_total == 0)
        usage.tokens_out = 0; /* it used none, which is not the same as unknown */
    bool used = usage.tokens_total > 0 || usage.tokens_in >= 0 || usage.tokens_out >= 0
                || usage.cost_micro_usd >= 0;
    bool limited = op_json(call, "rate_limited_s") != NULL;
    uint32_t attempt = 0;
    int r = used || limited ? check_attempt(call, who, &attempt) : 0;
    if (r == 0 && used)
        r = book(call, who->task, &usage, refused);
    if (r >= 0 && limited) {
        struct fact fact = { .kind = FACT_RUN_LIMITED, .task = who->task, .attempt = attempt };
        fact.limited.retry_after = SECONDS(op_number(call, "rate_limited_s", 0));
        r = engine_tell(call->engine, &fact, &call->err);
    }
    if (r >= 0 && op_flag(call, "done"))
        r = engine_mark_done(call->engine, who->task, &call->err);
    return r < 0 ? r : 0;
}

static int run(struct op_call *call) {
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
    struct json_writer w = op_begin(call);
    print_bool(&w, "ok", true);
    if (refused.length > 0)
        print_text(&w, "refused", strbuf_text(&refused));
    return op_end(&w);
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
    .right = OP_RUN,
    .reach = OP_REACH_SELF,
    .writes = true,
    .run = run,
};
