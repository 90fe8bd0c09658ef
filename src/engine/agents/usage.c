/* usage.c: the tokens and the money that runs have used: what a run may book (agents_internal.h),
 * its reports, its end, and corrections by the owner (runs.h). */
#include "engine/note.h"
#include "engine/runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/money.h"
#include "engine/agents/agents_internal.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/budget/budget_internal.h"
#include "engine/escalation.h"
#include "engine/runs/runs_internal.h"

/* --- plausible claims ------------------------------------------------------------------------- */

#define AHEAD MINUTES(10) /* a run may begin with a burst, and reports may be late */

struct refusal {
    int64_t tokens, most_tokens; /* tokens -1: not refused */
    int64_t usd, most_usd;       /* in millionths; the same */
    time_ms lived;
};

/* The maximum that a run of this age may book. */
static int64_t most_of(const struct engine *e, const char *cap, const char *rate, time_ms lived) {
    int64_t most = config_number(e->config, cap, NULL);
    int64_t per_minute = config_number(e->config, rate, NULL);
    if (per_minute == UNLIMITED)
        return most;
    double by_now = (double)per_minute * (double)time_add(lived, AHEAD) / (double)MINUTES(1);
    return by_now < (double)USAGE_MOST ? time_min(most, (int64_t)by_now) : most;
}

/* What just exceeds the budget of the run or of its task; -1: no budget. */
static int64_t passes(int64_t run_limit, int64_t task_limit, int64_t task_used) {
    int64_t left = task_limit == UNLIMITED ? UNLIMITED : usage_larger(0, task_limit - task_used);
    int64_t least = time_min(run_limit, left);
    return least == UNLIMITED ? -1 : least + 1;
}

/* Booked for an implausible claim; never less than before, never more than is plausible. */
static int64_t booked_instead(int64_t passing, int64_t most, int64_t before) {
    int64_t instead = passing < 0 ? -1 : time_min(passing, most);
    return instead > before ? instead : -1;
}

static void bound_tokens(const struct engine *e, const struct live_run *run, struct refusal *r,
                         struct agent_usage *claim) {
    const struct allowance *a = allowance_find(e, run->task);
    int64_t in = known_amount(run->view.tokens_in), out = known_amount(run->view.tokens_out);
    int64_t reported = usage_larger(in, time_min(claim->in, USAGE_MOST))
                       + usage_larger(out, time_min(claim->out, USAGE_MOST));
    if (reported <= r->most_tokens || reported <= in + out)
        return;
    int64_t passing =
        passes(allowance_run_limit(e, run->task).tokens, allowance_limit(e, run->task).tokens,
               a ? a->used.tokens + a->handed.tokens : 0);
    int64_t instead = booked_instead(passing, r->most_tokens, in + out);
    r->tokens = reported;
    claim->in = claim->cached = -1;
    claim->out = instead < 0 ? -1 : instead - in;
}

static void bound_money(const struct engine *e, const struct live_run *run, struct refusal *r,
                        struct agent_usage *claim) {
    const struct allowance *a = allowance_find(e, run->task);
    int64_t before = known_amount(run->cost_micro_usd);
    if (claim->cost_micro_usd <= r->most_usd || claim->cost_micro_usd <= before)
        return;
    int64_t passing =
        passes(allowance_run_limit(e, run->task).usd, allowance_limit(e, run->task).usd,
               a ? a->used.usd + a->handed.usd : 0);
    r->usd = claim->cost_micro_usd;
    claim->cost_micro_usd = booked_instead(passing, r->most_usd, before);
}

/* --- reporting ------------------------------------------------------------------------------- */

static char *alert_key(const struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    return xasprintf("usage:%s", engine_task_id(e, task, id));
}

static void write_number(struct json_writer *w, int64_t number) {
    if (number < 0 || number == UNLIMITED)
        json_write_null(w);
    else
        json_write_int(w, number);
}

static void put_number(struct json_writer *w, const char *key, int64_t number) {
    json_write_key(w, key);
    write_number(w, number);
}

static void write_event(struct engine *e, const struct live_run *run, const struct refusal *r) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_number(w, "tokens", r->tokens);
    put_number(w, "most_tokens", r->most_tokens);
    put_number(w, "micro_usd", r->usd);
    put_number(w, "most_micro_usd", r->most_usd);
    put_number(w, "lived_ms", r->lived);
    event_end(e, &data, "run.usage_refused", run->task, run->view.attempt);
}

/* Once for a task, until it was corrected. */
static void report_refusal(struct engine *e, const struct live_run *run, const struct refusal *r,
                           struct error *err) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf claim = STRBUF_INIT;
    _cleanup_(freep) char *key = alert_key(e, run->task);
    const char *and = r->tokens >= 0 && r->usd >= 0 ? " and " : "";
    if (r->tokens >= 0)
        strbuf_printf(&claim, "%" PRId64 " tokens%s", r->tokens, and);
    if (r->usd >= 0)
        money_put(&claim, r->usd);
    _cleanup_(freep) char *by =
        xasprintf("%s%s%s", r->tokens >= 0 ? "report.run_tokens, report.tokens_per_min" : "",
                  *and? ", " : "", r->usd >= 0 ? "report.run_usd, report.usd_per_min" : "");
    engine_task_id(e, run->task, id);
    (void)error_set(err, -ERANGE,
                    "%s after %" PRId64 " s is more than one run may book (%s): it was not booked",
                    strbuf_text(&claim), r->lived / 1000, by);
    if (alert_raise(e, key, run->task, run->view.attempt,
                    "'%s' reported %s after %" PRId64 " s, more than one run may book (%s): it was "
                    "not booked; 'sluice budget %s --booked-tokens N --booked-usd X' books what is "
                    "true",
                    id, strbuf_text(&claim), r->lived / 1000, by, id))
        write_event(e, run, r);
}

/* Replaces the claim by what is booked; -1: nothing. `until`: when it was claimed, or the run
 * ended. True: something was refused, and `err` has the message. */
static bool plausible_bound(struct engine *e, const struct live_run *run, time_ms until,
                            struct agent_usage *claim, struct error *err) {
    time_ms lived = run->view.started_at > 0 ? time_max(0, until - run->view.started_at) : 0;
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
    report_refusal(e, run, &r, err);
    return true;
}

/* --- end of the alert ------------------------------------------------------------------------ */

/* Usage outside the window no longer counts. */
bool plausible_alert_is_over(const struct engine *e, const struct alert *alert) {
    struct task_view view;
    return !core_task(e->core, alert->view.task, &view)
           || e->now >= time_add(alert->view.since, config_policy(e->config)->fair_window);
}

/* --- reports of live runs --------------------------------------------------------------------- */

/* Tokens are stored as input and output. A total that is not split is stored as output: the known
 * input is subtracted, whichever report comes first. */
static int64_t rest_of(int64_t total, int64_t in) {
    return total > in ? total - (in > 0 ? in : 0) : 0;
}

/* The stored output before this claim. If it is the rest of a total, a claim of input splits that
 * again. */
static int64_t written_of_total(const struct live_run *run, const struct agent_usage *claim) {
    int64_t in = run->view.tokens_in, out = run->view.tokens_out;
    if (run->tokens_total > 0 && out == rest_of(run->tokens_total, in))
        return rest_of(run->tokens_total, usage_larger(in, claim->in));
    bool was_total = in < 0 && claim->in > 0 && claim->out >= 0; /* of an earlier daemon */
    return was_total ? out - claim->in : out;
}

int engine_report_usage(struct engine *e, task_id task, const struct engine_usage *usage,
                        struct error *err) {
    struct live_run *run = run_find(e, task);
    char id[ENGINE_ID_MAX];
    if (!run)
        return error_set(err, -EBUSY, "task '%s' has no live run to report for",
                         engine_task_id(e, task, id));
    struct agent_usage claim = { .in = usage->tokens_in,
                                 .out = usage->tokens_out,
                                 .cached = -1,
                                 .cost_micro_usd = usage->cost_micro_usd };
    int64_t rest = rest_of(usage->tokens_total, usage_larger(run->view.tokens_in, claim.in));
    if (rest > 0)
        claim.out = usage_larger(claim.out, rest);
    bool refused = plausible_bound(e, run, e->now, &claim, err);
    run->view.tokens_out = usage_larger(written_of_total(run, &claim), claim.out);
    run->view.tokens_in = usage_larger(run->view.tokens_in, claim.in);
    if (usage->tokens_total > 0 && run->view.tokens_out == claim.out)
        run->tokens_total = claim.out + (run->view.tokens_in > 0 ? run->view.tokens_in : 0);
    run->cost_micro_usd = usage_larger(run->cost_micro_usd, claim.cost_micro_usd);
    struct fact fact = { .kind = FACT_RUN_TOKENS,
                         .task = task,
                         .attempt = run->view.attempt,
                         .tokens = run_tokens(run),
                         .money = run->cost_micro_usd };
    int r = fact.tokens >= 0 || fact.money >= 0 ? engine_apply(e, &fact, err) : 0;
    if (r < 0)
        return r;
    rows_write_run(e, run);
    budget_reported(e, run);
    return refused;
}

/* --- the end of a run ------------------------------------------------------------------------- */

/* Thousandths of a dollar per million tokens; -1: not configured. */
static int64_t price_of(const struct engine *e, const char *pattern, const char *model) {
    return config_is_set(e->config, pattern, model) ? config_number(e->config, pattern, model) : -1;
}

int64_t usage_price(const struct engine *e, const char *model, const struct agent_usage *used) {
    int64_t in = price_of(e, "prices.M.in", model), out = price_of(e, "prices.M.out", model);
    int64_t cached = price_of(e, "prices.M.cached", model);
    if (in < 0 || out < 0 || used->in < 0 || used->out < 0)
        return -1;
    int64_t hits = used->cached > 0 && used->cached <= used->in ? used->cached : 0;
    double sum = (double)(used->in - hits) * (double)in
                 + (double)hits * (double)(cached >= 0 ? cached : in)
                 + (double)used->out * (double)out;
    return sum / 1000.0 < (double)USAGE_MOST ? (int64_t)(sum / 1000.0 + 0.5) : USAGE_MOST;
}

int64_t usage_guess_cost(const struct engine *e, const struct live_run *run,
                         const struct agent_usage *used) {
    const char *model = escalation_model(e, run->task, run->agent);
    return *model ? usage_price(e, model, used) : -1;
}

/* The next run of the same sort will cost about as much. */
static struct run_cost cost_of(const struct engine *e, const struct live_run *run) {
    struct task_view view;
    bool is_known = core_task(e->core, run->task, &view);
    const char *project = is_known ? name_of(e, view.project) : NULL;
    return (struct run_cost){ .project = project ? project : "",
                              .agent = run->agent ? run->agent : "",
                              .model = escalation_model(e, run->task, run->agent),
                              .used = { run->view.tokens_in, run->view.tokens_out,
                                        run->tokens_cached, run->cost_micro_usd } };
}

void usage_expect(struct engine *e, const struct live_run *run) {
    struct run_cost cost = cost_of(e, run);
    struct fact fact = { .kind = FACT_RUN_TOKENS,
                         .task = run->task,
                         .attempt = run->view.attempt,
                         .tokens = -1,
                         .money = -1,
                         .expected = costs_expected(e, &cost) };
    if (fact.expected > 0)
        (void)engine_apply(e, &fact, NULL);
}

/* Others may have been caused by the conversation: then a new one begins. */
static const bool is_resumable[AGENT_RESULT_MAX] = {
    [AGENT_LIMITED] = true,  [AGENT_OVERLOADED] = true, [AGENT_AUTH] = true,
    [AGENT_BILLING] = true,  [AGENT_MAX_TURNS] = true,  [AGENT_BUDGET] = true,
    [AGENT_CANCELED] = true, [AGENT_TIMEOUT] = true,    [AGENT_CRASHED] = true,
    [AGENT_DENIED] = true,
};

static void set_text(char **field, const char *text) {
    if (!*text)
        return;
    free(*field);
    *field = xstrdup(text);
}

/* A question is answered in the session that asked it. */
static bool can_resume(enum agent_result result, bool has_asked) {
    return is_resumable[result] || (has_asked && (result == AGENT_OK || result == AGENT_FAILED));
}

void usage_book_end(struct engine *e, struct live_run *run, const struct run_end *end,
                    const struct agent_outcome *reported, bool has_asked) {
    struct agent_usage own = reported->usage, booked = { -1, -1, -1, -1 };
    struct agent_outcome believed = *reported;
    const char *model =
        reported->model[0] ? reported->model : escalation_model(e, run->task, run->agent);
    time_ms until = end->ended_at ? end->ended_at : e->now;
    if (plausible_bound(e, run, until, &own, NULL))
        believed.session_usage = booked; /* nor does the session get it */
    if (!reported->is_short)
        telemetry_yield(run, &own);
    if (run->cost_is_guessed && own.cost_micro_usd >= 0)
        run->cost_micro_usd = -1;           /* its own number takes precedence */
    if (own.cost_micro_usd < 0 && *model) { /* plausible tokens may still be expensive */
        struct agent_usage cost = { -1, -1, -1, usage_price(e, model, &own) };
        (void)plausible_bound(e, run, until, &cost, NULL);
        own.cost_micro_usd = cost.cost_micro_usd;
    }
    run->view.tokens_in = usage_larger(run->view.tokens_in, own.in);
    run->view.tokens_out = usage_larger(run->view.tokens_out, own.out);
    run->tokens_cached = usage_larger(run->tokens_cached, own.cached);
    run->cost_micro_usd = usage_larger(run->cost_micro_usd, own.cost_micro_usd);
    if (run->view.started_at) {
        struct run_cost cost = cost_of(e, run);
        costs_learn(e, &cost);
    }
    if (reported->is_short && run->is_metered)
        booked = (struct agent_usage){ run->view.tokens_in, run->view.tokens_out,
                                       run->tokens_cached, run->cost_micro_usd };
    /* An unreported session may never have begun; only a lost run may have lost its log. */
    bool has_session = reported->session[0] || end->kind == RUN_END_LOST;
    bool goes_on = can_resume(reported->result, has_asked);
    struct session_end left = { .interrupted = goes_on,
                                .resumable = goes_on && has_session,
                                .complete = reported->result == AGENT_OK && reported->session[0] };
    /* A run whose launch was interrupted has neither begun nor resumed a session. */
    if (run->session || reported->session[0] || run->view.started_at || end->started_at)
        session_ended(e, run, &believed, &booked, &left);
    set_text(&run->session, reported->session);
    set_text(&run->model, model);
    run->result = agent_result_name(reported->result);
}

/* --- corrections ------------------------------------------------------------------------------ */

/* A window is a list of buckets, and a run was booked into the one in which its end was applied: that
 * of its end or, if no daemon was running then, a later one. Amounts are taken back from the bucket
 * of its end, then from later ones, then from earlier ones, from none more than it has. */

static int64_t tokens_of(const struct agent_usage *u) {
    return u->in < 0 && u->out < 0 ? -1 : known_amount(u->in) + known_amount(u->out);
}

typedef LIST(struct usage_spec) bucket_list; /* oldest first */

static void add_bucket(void *ctx, const struct usage_spec *bucket) {
    *LIST_ADD((bucket_list *)ctx) = *bucket;
}

/* Takes up to `wanted` of `there`; subtracts it from `ret`. */
static int64_t take(int64_t there, int64_t wanted, int64_t *ret) {
    int64_t taken = known_amount(time_min(there, wanted));
    *ret -= taken;
    return taken;
}

static void take_from(struct engine *e, const struct usage_spec *bucket,
                      struct usage_spec *wanted) {
    int64_t unpriced = 0;
    struct fact fact = { .kind = FACT_USAGE,
                         .usage = { .project = bucket->project, .at = bucket->at } };
    wanted->tokens -= take(bucket->tokens, wanted->tokens, &fact.usage.tokens);
    wanted->money -= take(bucket->money, wanted->money, &fact.usage.money);
    wanted->unpriced -= (int32_t)take(bucket->unpriced, wanted->unpriced, &unpriced);
    fact.usage.unpriced = (int32_t)unpriced;
    if (fact.usage.tokens || fact.usage.money || fact.usage.unpriced)
        (void)engine_apply(e, &fact, NULL);
}

static void take_back(struct engine *e, sym project, time_ms at, struct usage_spec wanted) {
    bucket_list buckets = { 0 };
    core_usage(e->core, project, add_bucket, &buckets);
    size_t first = 0; /* the last one that began before its end */
    for (size_t i = 0; i < buckets.count; i++)
        first = buckets.items[i].at <= at ? i : first;
    for (size_t i = first; i < buckets.count; i++)
        take_from(e, &buckets.items[i], &wanted);
    for (size_t i = first; i-- > 0;)
        take_from(e, &buckets.items[i], &wanted);
    free(buckets.items);
}

static void correct_windows(struct engine *e, sym project, time_ms at,
                            const struct agent_usage *old, const struct agent_usage *now) {
    int64_t tokens = known_amount(tokens_of(now)) - known_amount(tokens_of(old));
    int64_t money = known_amount(now->cost_micro_usd) - known_amount(old->cost_micro_usd);
    bool priced = old->cost_micro_usd < 0 && now->cost_micro_usd >= 0;
    struct fact more = { .kind = FACT_USAGE,
                         .usage = { .project = project,
                                    .tokens = known_amount(tokens),
                                    .reports = tokens_of(old) < 0 && tokens_of(now) >= 0,
                                    .money = known_amount(money),
                                    .priced = priced,
                                    .at = at } };
    take_back(e, project, at,
              (struct usage_spec){ .tokens = known_amount(-tokens),
                                   .money = known_amount(-money),
                                   .unpriced = priced });
    if (more.usage.tokens || more.usage.reports || more.usage.money || more.usage.priced)
        (void)engine_apply(e, &more, NULL);
}

static void correct_task(struct engine *e, const struct run_row *row, const struct task_view *view,
                         const struct agent_usage *old, const struct agent_usage *now) {
    struct allowance *a = allowance_get(e, row->task);
    struct engine_amounts limit = allowance_run_limit(e, row->task);
    a->used.tokens =
        known_amount(a->used.tokens + known_amount(tokens_of(now)) - known_amount(tokens_of(old)));
    a->used.usd = known_amount(a->used.usd + known_amount(now->cost_micro_usd)
                               - known_amount(old->cost_micro_usd));
    if (old->cost_micro_usd < 0 && now->cost_micro_usd >= 0 && a->unknown > 0)
        a->unknown--;
    if (row->attempt == view->attempt) {
        a->last = (struct engine_amounts){ .tokens = tokens_of(now), .usd = now->cost_micro_usd };
        a->is_over = a->is_over && (a->last.tokens > limit.tokens || a->last.usd > limit.usd);
        a->by_agent = false;
    }
    allowance_write(e, a);
    allowance_state_changed(e, row->task, view->state); /* a final one returns the rest */
    budget_check(e, row->task);
}

static void correct_rows(struct engine *e, const struct run_row *row, const struct task_view *view,
                         const struct agent_usage *old, const struct agent_usage *now) {
    struct run_row changed = *row;
    changed.tokens_in = now->in;
    changed.tokens_out = now->out;
    changed.tokens_cached = now->cached;
    changed.cost_micro_usd = now->cost_micro_usd;
    store_put_run(e->turn.batch, &changed);
    store_add_spent(
        e->turn.batch,
        &(struct spent_row){
            .project = name_of(e, view->project),
            .agent = row->agent,
            .at = row->ended_at,
            .tokens_in = known_amount(now->in) - known_amount(old->in),
            .tokens_out = known_amount(now->out) - known_amount(old->out),
            .tokens_cached = known_amount(now->cached) - known_amount(old->cached),
            .cost_micro_usd = known_amount(now->cost_micro_usd) - known_amount(old->cost_micro_usd),
            .unknown_tokens = (tokens_of(now) < 0) - (tokens_of(old) < 0),
            .unknown_cost = (now->cost_micro_usd < 0) - (old->cost_micro_usd < 0),
        });
    turn_wrote(e);
}

static void put_pair(struct json_writer *w, const char *key, int64_t old, int64_t now) {
    json_put_array(w, key);
    write_number(w, old);
    write_number(w, now);
    json_write_array_end(w);
}

int engine_correct_run(struct engine *e, const struct run_row *row,
                       const struct engine_correction *c, struct error *err) {
    struct agent_usage old = { row->tokens_in, row->tokens_out, row->tokens_cached,
                               row->cost_micro_usd };
    struct agent_usage now = old;
    _cleanup_(freep) char *key = alert_key(e, row->task);
    struct task_view view;
    char id[ENGINE_ID_MAX];
    engine_task_id(e, row->task, id);
    if (!core_task(e->core, row->task, &view))
        return error_set(err, -ENOENT, "task '%s' is not known any more: no window has its runs",
                         id);
    if (!row->ended)
        return error_set(err, -EBUSY,
                         "attempt %u of task '%s' has not ended: wait for it, or cancel it",
                         row->attempt, id);
    if (c->tokens_in >= 0 || c->tokens_out >= 0) {
        now.in = known_amount(c->tokens_in);
        now.out = known_amount(c->tokens_out);
        now.cached = now.cached > now.in ? now.in : now.cached;
    }
    if (c->cost_micro_usd >= 0)
        now.cost_micro_usd = c->cost_micro_usd;
    correct_windows(e, view.project, row->ended_at, &old, &now);
    correct_rows(e, row, &view, &old, &now);
    correct_task(e, row, &view, &old, &now);
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_pair(w, "tokens", tokens_of(&old), tokens_of(&now));
    put_pair(w, "micro_usd", old.cost_micro_usd, now.cost_micro_usd);
    put_text(w, "by", c->by);
    event_end(e, &data, "run.corrected", row->task, row->attempt);
    engine_alert_clear(e, key);
    return 0;
}
