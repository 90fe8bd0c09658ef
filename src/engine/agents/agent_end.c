/* agent_end.c: from the final message of an agent to the outcome of its run.
 *
 * The exit code alone never decides: real agents exit with 0 when interrupted, and with 1 when
 * their account must only wait. What does not come from the agent stays: a run stopped on purpose
 * is canceled, one without a recorded end is lost, and a DONE marker counts.
 *
 * An account gets the reset time that its provider named, plus a margin: providers are early by up
 * to a minute, and the tasks of one account should not all return in the same second. */
#include "engine/agents/agents_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/settings.h"
#include "engine/budget.h"
#include "engine/denied.h"
#include "engine/note.h"
#include "engine/tasks/tasks_internal.h"

#define NOTE "limited."

/* --- outcome --------------------------------------------------------------------------------- */

static enum until until_of(const struct engine *e, task_id task) {
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, task, &view);
    return view.until;
}

/* Without an account nothing holds the task back: it would start again at once. */
static bool has_account(const struct engine *e, task_id task) {
    struct task_spec told = { 0 };
    return core_task_spec(e->core, task, &told) && told.run_limiter != 0;
}

/* The agent succeeded: now the task's own conditions apply. Checks run only after exit code 0. */
static enum outcome outcome_of_ok(const struct engine *e, const struct live_run *run,
                                  const struct run_end *end, enum outcome plain) {
    if (end->kind == RUN_END_CHECK)
        return OUTCOME_INVALID;
    switch (until_of(e, run->task)) {
    case UNTIL_DONE:
        return plain == OUTCOME_FAILED && marker_look(e, run->task) == MARKER_NO_FILE
                   ? OUTCOME_FAILED
                   : OUTCOME_UNFINISHED;
    case UNTIL_VALIDATE:
        return end->kind == RUN_END_EXIT && end->code == 0 ? OUTCOME_OK : OUTCOME_UNFINISHED;
    case UNTIL_EXIT:
    case UNTIL_EXTERNAL:
    case UNTIL_MAX:
        break;
    }
    return OUTCOME_OK;
}

static enum outcome outcome_of_result(const struct engine *e, const struct live_run *run,
                                      const struct run_end *end, const struct agent_outcome *said,
                                      enum outcome plain) {
    switch (said->result) {
    case AGENT_OK:
        return outcome_of_ok(e, run, end, plain);
    case AGENT_LIMITED:
    case AGENT_OVERLOADED:
        return has_account(e, run->task) ? OUTCOME_LIMITED : OUTCOME_BUDGET;
    case AGENT_AUTH:
    case AGENT_BILLING:
        return has_account(e, run->task) ? OUTCOME_CLOSED : OUTCOME_FAILED;
    case AGENT_BUDGET:
        return OUTCOME_BUDGET;
    case AGENT_CANCELLED: /* by whom? A machine that shuts down cancels no task. */
        return end->kind == RUN_END_STOPPED ? OUTCOME_LOST : OUTCOME_CANCELED;
    case AGENT_TIMEOUT:
        return OUTCOME_TIMEOUT;
    case AGENT_DENIED:
        return denied_outcome(e, run, end);
    case AGENT_CONTEXT_FULL:
    case AGENT_REFUSED:
    case AGENT_MAX_TURNS:
    case AGENT_CRASHED:
    case AGENT_FAILED:
    case AGENT_RESULT_MAX:
        break;
    }
    return OUTCOME_FAILED;
}

/* Whether the outcome does not depend on the agent's report. */
static bool is_settled(const struct engine *e, const struct live_run *run,
                       const struct run_end *end, enum outcome plain) {
    if (plain == OUTCOME_CANCELED || plain == OUTCOME_LAUNCH || end->kind == RUN_END_LOST
        || end->kind == RUN_END_OUTPUT)
        return true;
    return plain == OUTCOME_OK && until_of(e, run->task) == UNTIL_DONE; /* its marker exists */
}

enum outcome agent_end_outcome(const struct engine *e, const struct live_run *run,
                               const struct run_end *end, const struct agent_outcome *said,
                               enum outcome plain) {
    if (said->session_is_lost && run->resumes)
        return OUTCOME_NEW_SESSION;
    if (is_settled(e, run, end, plain))
        return plain;
    /* Without a final message, the cause of the end is known better than by the adapter. */
    bool has_word = said->result != AGENT_CRASHED && said->result != AGENT_CANCELLED
                    && said->result != AGENT_TIMEOUT;
    if (!has_word && (end->kind == RUN_END_STOPPED || end->kind == RUN_END_TIMEOUT))
        return plain;
    return outcome_of_result(e, run, end, said, plain);
}

/* Never inside a character. */
static void copy_cut(char *to, size_t size, const char *text) {
    size_t length = strlen(text);
    if (length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void agent_end_explain(const struct agent_outcome *said, enum outcome outcome,
                       struct run_end *end) {
    _cleanup_(strbuf_finish) struct strbuf denied = STRBUF_INIT;
    if (outcome == OUTCOME_DENIED) { /* it may have reported success: the denial is what matters */
        denied_message(&said->denial, &denied);
        copy_cut(end->message, sizeof(end->message), strbuf_text(&denied));
    } else if (!end->message[0]) {
        copy_cut(end->message, sizeof(end->message), said->message);
    }
}

/* --- money ----------------------------------------------------------------------------------- */

/* Thousandths of a dollar per million tokens; -1: not configured. */
static int64_t price_of(const struct engine *e, const char *pattern, const char *model) {
    return config_is_set(e->config, pattern, model) ? config_number(e->config, pattern, model) : -1;
}

/* In millionths of a dollar; -1: unknown. */
static int64_t cost_of(const struct engine *e, const char *model, const struct agent_usage *used) {
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

int64_t agent_end_guess(const struct engine *e, const struct live_run *run,
                        const struct agent_usage *used) {
    const char *model = config_text(e->config, "agents.A.model", run->agent);
    return *model ? cost_of(e, model, used) : -1;
}

static const char *model_of(const struct engine *e, const struct live_run *run,
                            const struct agent_outcome *said) {
    return said->model[0] ? said->model : config_text(e->config, "agents.A.model", run->agent);
}

/* The conversation may be the cause of the failure: then a new one begins. */
static bool is_resumable(const struct agent_outcome *said) {
    switch (said->result) {
    case AGENT_LIMITED:
    case AGENT_OVERLOADED:
    case AGENT_AUTH:
    case AGENT_BILLING:
    case AGENT_MAX_TURNS:
    case AGENT_BUDGET:
    case AGENT_CANCELLED:
    case AGENT_TIMEOUT:
    case AGENT_CRASHED:
    case AGENT_DENIED:
        return true;
    case AGENT_OK:
    case AGENT_CONTEXT_FULL:
    case AGENT_REFUSED:
    case AGENT_FAILED:
    case AGENT_RESULT_MAX:
        break;
    }
    return false;
}

static void set_text(char **field, const char *text) {
    if (!*text)
        return;
    free(*field);
    *field = xstrdup(text);
}

/* An unreported session may never have begun; only a lost run may have lost its log. */
static bool can_go_on(const struct run_end *end, const struct agent_outcome *said) {
    return is_resumable(said) && (said->session[0] || end->kind == RUN_END_LOST);
}

/* By the prices of its tokens: plausible tokens may still be expensive. */
static int64_t plausible_cost(struct engine *e, const struct live_run *run, time_ms until,
                              int64_t cost) {
    struct agent_usage claim = { -1, -1, -1, cost };
    (void)plausible_bound(e, run, until, &claim, NULL);
    return claim.cost_micro_usd;
}

void agent_end_book(struct engine *e, struct live_run *run, const struct run_end *end,
                    const struct agent_outcome *said) {
    struct agent_usage own = said->usage, booked = { -1, -1, -1, -1 };
    struct agent_outcome believed = *said;
    const char *model = model_of(e, run, said);
    time_ms until = end->ended_at ? end->ended_at : e->now;
    if (plausible_bound(e, run, until, &own, NULL))
        believed.session_usage = booked; /* nor does the session get it */
    if (!said->is_short)
        telemetry_yield(run, &own);
    if (run->cost_is_guessed && own.cost_micro_usd >= 0)
        run->cost_micro_usd = -1; /* its own number takes precedence */
    if (own.cost_micro_usd < 0 && *model)
        own.cost_micro_usd = plausible_cost(e, run, until, cost_of(e, model, &own));
    run->view.tokens_in = usage_larger(run->view.tokens_in, own.in);
    run->view.tokens_out = usage_larger(run->view.tokens_out, own.out);
    run->tokens_cached = usage_larger(run->tokens_cached, own.cached);
    run->cost_micro_usd = usage_larger(run->cost_micro_usd, own.cost_micro_usd);
    if (said->is_short && run->is_metered)
        booked = (struct agent_usage){ run->view.tokens_in, run->view.tokens_out,
                                       run->tokens_cached, run->cost_micro_usd };
    struct session_end left = { .interrupted = is_resumable(said),
                                .resumable = can_go_on(end, said) };
    session_ended(e, run, &believed, &booked, &left);
    set_text(&run->session, said->session);
    set_text(&run->model, model);
    run->said = agent_result_name(said->result);
}

/* --- limits ---------------------------------------------------------------------------------- */

struct limited_since {
    char *limiter;
    time_ms at; /* 0: unknown */
    bool out;   /* closed because it was limited for too long */
};

struct accounts {
    LIST(struct limited_since) limited;
};

static struct accounts *accounts_of(const struct engine *e) {
    return e->part[PART_accounts];
}

static struct limited_since *find_since(struct engine *e, const char *limiter) {
    for (size_t i = 0; i < accounts_of(e)->limited.count; i++)
        if (strcmp(accounts_of(e)->limited.items[i].limiter, limiter) == 0)
            return &accounts_of(e)->limited.items[i];
    struct limited_since *since = LIST_ADD(&accounts_of(e)->limited);
    *since = (struct limited_since){ .limiter = xstrdup(limiter) };
    return since;
}

static void limits_free(struct engine *e) {
    for (size_t i = 0; i < accounts_of(e)->limited.count; i++)
        free(accounts_of(e)->limited.items[i].limiter);
    free(accounts_of(e)->limited.items);
    memset(&accounts_of(e)->limited, 0, sizeof(accounts_of(e)->limited));
}

/* Since when accounts are limited; across restarts. */
static void limits_load(struct engine *e, const struct note_row *row) {
    int64_t at = 0;
    const char *limiter = note_number(row, NOTE, &at);
    if (limiter)
        find_since(e, limiter)->at = at;
}

/* When the account was first limited since it last worked. */
static time_ms limited_since(struct engine *e, const char *limiter, bool is_first) {
    struct limited_since *since = find_since(e, limiter);
    if (since->at && !is_first)
        return since->at;
    since->at = e->now;
    note_put_number(e, NOTE, limiter, since->at);
    turn_wrote(e);
    return since->at;
}

bool limits_waited_out(const struct engine *e, const char *limiter) {
    for (size_t i = 0; i < accounts_of(e)->limited.count; i++)
        if (strcmp(accounts_of(e)->limited.items[i].limiter, limiter) == 0)
            return accounts_of(e)->limited.items[i].out;
    return false;
}

void limits_opened(struct engine *e, const char *limiter) {
    if (limits_waited_out(e, limiter))
        find_since(e, limiter)->out = false;
}

/* The reset time of the provider on the engine's clock, plus a margin; 0: none. */
static time_ms reset_of(const struct engine *e, task_id task, const struct agent_outcome *said) {
    time_ms left = said->reset_at - loop_now(e->loop);
    if (said->reset_at == 0 || left <= 0)
        return 0;
    time_ms jitter = config_number(e->config, "limiter.jitter_s", NULL);
    time_ms more = jitter > 0 ? (time_ms)(hash_u64(task) % ((uint64_t)jitter + 1)) : 0;
    time_ms at = time_add(e->now, left);
    return time_add(at, config_number(e->config, "limiter.margin_s", NULL) + more);
}

static void close_for_wait(struct fact *ended, struct run_end *end, const char *limiter) {
    ended->ended.outcome = OUTCOME_CLOSED;
    snprintf(end->message, sizeof(end->message),
             "account '%.60s' is limited for longer than limiter.max_wait_s allows; when it works "
             "again: sluice limiter clear %.60s",
             limiter, limiter);
}

static void bound_wait(struct engine *e, sym limiter, struct fact *ended, struct run_end *end) {
    struct limiter_view account = { 0 };
    const char *name = symbol_name(core_symbols(e->core), limiter);
    (void)core_limiter(e->core, limiter, &account);
    time_ms most = config_number(e->config, "limiters.L.max_wait_s", name);
    time_ms since = limited_since(e, name, account.hits == 0);
    time_ms until = time_max(e->now, ended->ended.reset_at);
    if (most == TIME_NEVER || until - since <= most)
        return;
    find_since(e, name)->out = true;
    close_for_wait(ended, end, name);
}

void agent_end_limit(struct engine *e, const struct live_run *run, const struct agent_outcome *said,
                     struct fact *ended, struct run_end *end) {
    struct task_spec told = { 0 };
    enum outcome outcome = ended->ended.outcome;
    if (outcome != OUTCOME_LIMITED && outcome != OUTCOME_BUDGET)
        return;
    ended->ended.reset_at = reset_of(e, run->task, said);
    if (outcome == OUTCOME_LIMITED && ended->ended.reset_at > 0)
        ended->ended.limit_reported = false;
    if (outcome == OUTCOME_BUDGET && said->result != AGENT_BUDGET && !ended->ended.reset_at)
        ended->ended.reset_at = time_add(e->now, config_number(e->config, "limiter.max_s", NULL));
    if (outcome == OUTCOME_LIMITED && core_task_spec(e->core, run->task, &told) && told.run_limiter)
        bound_wait(e, told.run_limiter, ended, end);
}

/* --- repeated failures ----------------------------------------------------------------------- */

enum outcome agent_end_repeated(struct engine *e, const struct live_run *run, struct run_end *end,
                                enum outcome outcome) {
    int64_t most = config_number(e->config, "retry.same_text", NULL);
    bool counts = outcome == OUTCOME_FAILED || outcome == OUTCOME_INVALID;
    char text[sizeof(end->message) + 64];
    if (most == 0 || !counts)
        return outcome;
    if (end->message[0])
        copy_cut(text, sizeof(text), end->message);
    else if (end->kind == RUN_END_CHECK)
        snprintf(text, sizeof(text), "check %d: exit code %d", end->check + 1, end->code);
    else
        snprintf(text, sizeof(text), "exit code %d, signal %d", end->code, end->signal);
    uint32_t same = session_same_text(e, run->task, text);
    if ((int64_t)same < most)
        return outcome;
    char sentence[sizeof(text) + 96];
    snprintf(sentence, sizeof(sentence), "the same failure %" PRIu32 " times (retry.same_text): %s",
             same, text);
    copy_cut(end->message, sizeof(end->message), sentence);
    return OUTCOME_STUCK;
}

const struct engine_part accounts_part = {
    .state_size = sizeof(struct accounts),
    .at = { [STEP_UNLOAD] = limits_free, [STEP_FREE] = limits_free },
    .load_note = limits_load,
};
