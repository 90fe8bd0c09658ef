#include "engine/agents/agents_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json_write.h"
#include "base/money.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/budget.h"

#define AHEAD MINUTES(10) /* a run may begin with a burst, and reports may be late */

struct refusal {
    int64_t tokens, most_tokens; /* tokens -1: not refused */
    int64_t usd, most_usd;       /* in millionths; the same */
    time_ms lived;
};

static int64_t known(int64_t told) {
    return told > 0 ? told : 0;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The maximum that a run of this age may book. */
static int64_t most_of(const struct engine *e, const char *cap, const char *rate, time_ms lived) {
    int64_t most = config_number(e->config, cap, NULL);
    int64_t per_minute = config_number(e->config, rate, NULL);
    if (per_minute == UNLIMITED)
        return most;
    double by_now = (double)per_minute * (double)time_add(lived, AHEAD) / (double)MINUTES(1);
    return by_now < (double)USAGE_MOST ? smaller(most, (int64_t)by_now) : most;
}

/* What just exceeds the budget of the run or of its task; -1: no budget. */
static int64_t passes(int64_t run_limit, int64_t task_limit, int64_t task_used) {
    int64_t left = task_limit == UNLIMITED ? UNLIMITED : larger(0, task_limit - task_used);
    int64_t least = smaller(run_limit, left);
    return least == UNLIMITED ? -1 : least + 1;
}

/* Booked for an implausible claim; never less than before, never more than is plausible. */
static int64_t booked_instead(int64_t passing, int64_t most, int64_t before) {
    int64_t instead = passing < 0 ? -1 : smaller(passing, most);
    return instead > before ? instead : -1;
}

static void bound_tokens(const struct engine *e, const struct live_run *run, struct refusal *r,
                         struct agent_usage *claim) {
    const struct allowance *a = allowance_find(e, run->task);
    int64_t in = known(run->view.tokens_in), out = known(run->view.tokens_out);
    int64_t told =
        larger(in, smaller(claim->in, USAGE_MOST)) + larger(out, smaller(claim->out, USAGE_MOST));
    if (told <= r->most_tokens || told <= in + out)
        return;
    int64_t passing =
        passes(allowance_run_limit(e, run->task).tokens, allowance_limit(e, run->task).tokens,
               a ? a->used.tokens + a->handed.tokens : 0);
    int64_t instead = booked_instead(passing, r->most_tokens, in + out);
    r->tokens = told;
    claim->in = claim->cached = -1;
    claim->out = instead < 0 ? -1 : instead - in;
}

static void bound_money(const struct engine *e, const struct live_run *run, struct refusal *r,
                        struct agent_usage *claim) {
    const struct allowance *a = allowance_find(e, run->task);
    int64_t before = known(run->cost_micro_usd);
    if (claim->cost_micro_usd <= r->most_usd || claim->cost_micro_usd <= before)
        return;
    int64_t passing =
        passes(allowance_run_limit(e, run->task).usd, allowance_limit(e, run->task).usd,
               a ? a->used.usd + a->handed.usd : 0);
    r->usd = claim->cost_micro_usd;
    claim->cost_micro_usd = booked_instead(passing, r->most_usd, before);
}

/* --- reporting ------------------------------------------------------------------------------- */

static void print_key(const struct engine *e, task_id task, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "usage:%s", engine_task_id(e, task, id));
}

static void put_claim(const struct refusal *r, struct strbuf *out) {
    if (r->tokens >= 0)
        strbuf_printf(out, "%" PRId64 " tokens", r->tokens);
    if (r->tokens >= 0 && r->usd >= 0)
        strbuf_puts(out, " and ");
    if (r->usd >= 0)
        money_put(out, r->usd);
}

static void put_settings(const struct refusal *r, struct strbuf *out) {
    if (r->tokens >= 0)
        strbuf_puts(out, "report.run_tokens, report.tokens_per_min");
    if (r->tokens >= 0 && r->usd >= 0)
        strbuf_puts(out, ", ");
    if (r->usd >= 0)
        strbuf_puts(out, "report.run_usd, report.usd_per_min");
}

static void put_number(struct json_writer *w, const char *key, int64_t number) {
    json_write_key(w, key);
    if (number < 0 || number == UNLIMITED)
        json_write_null(w);
    else
        json_write_int(w, number);
}

static void write_event(struct engine *e, const struct live_run *run, const struct refusal *r) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    put_number(&w, "tokens", r->tokens);
    put_number(&w, "most_tokens", r->most_tokens);
    put_number(&w, "micro_usd", r->usd);
    put_number(&w, "most_micro_usd", r->most_usd);
    put_number(&w, "lived_ms", r->lived);
    json_write_object_end(&w);
    engine_event(e, "run.usage_refused", run->task, run->view.attempt, strbuf_text(&data));
}

/* Once for a task, until it was corrected. */
static void tell(struct engine *e, const struct live_run *run, const struct refusal *r,
                 struct error *err) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, claim = STRBUF_INIT, by = STRBUF_INIT;
    print_key(e, run->task, &key);
    put_claim(r, &claim);
    put_settings(r, &by);
    engine_task_id(e, run->task, id);
    (void)error_set(err, -ERANGE,
                    "%s after %" PRId64 " s is more than one run may book (%s): it was not booked",
                    strbuf_text(&claim), r->lived / 1000, strbuf_text(&by));
    if (alert_raise(e, strbuf_text(&key), run->task, run->view.attempt,
                    "'%s' reported %s after %" PRId64 " s, more than one run may book (%s): it was "
                    "not booked; 'sluice budget %s --booked-tokens N --booked-usd X' books what is "
                    "true",
                    id, strbuf_text(&claim), r->lived / 1000, strbuf_text(&by), id))
        write_event(e, run, r);
}

bool plausible_bound(struct engine *e, const struct live_run *run, time_ms until,
                     struct agent_usage *claim, struct error *err) {
    time_ms lived = run->view.started_at > 0 ? larger(0, until - run->view.started_at) : 0;
    struct refusal r = {
        .tokens = -1,
        .usd = -1,
        .most_tokens = most_of(e, "report.run_tokens", "report.tokens_per_min", lived),
        .most_usd = most_of(e, "report.run_usd", "report.usd_per_min", lived),
        .lived = lived,
    };
    bound_tokens(e, run, &r, claim);
    bound_money(e, run, &r, claim);
    if (r.tokens < 0 && r.usd < 0)
        return false;
    tell(e, run, &r, err);
    return true;
}

/* --- end of the alert ------------------------------------------------------------------------ */

/* Usage outside the window no longer counts. */
bool plausible_alert_is_over(const struct engine *e, const struct alert *alert) {
    struct task_view view;
    return !core_task(e->core, alert->view.task, &view)
           || e->now >= time_add(alert->view.since, config_policy(e->config)->fair_window);
}

void plausible_corrected(struct engine *e, task_id task) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    print_key(e, task, &key);
    alert_clear(e, strbuf_text(&key));
}
