/* account_limits.c: how long an account stays limited.
 *
 * An account gets the reset time that its provider named, plus a margin: providers are early by up
 * to a minute, and the tasks of one account should not all return in the same second. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/agents/agents_internal.h"
#include "engine/note.h"

#define NOTE "limited."

struct limited_since {
    char *limiter;
    time_ms at; /* 0: unknown */
    bool out;   /* closed because it was limited for too long */
};

struct accounts {
    LIST(struct limited_since) limited;
};

PART_STATE(accounts, struct accounts, accounts_of)

static struct limited_since *find_since(const struct engine *e, const char *limiter) {
    for (size_t i = 0; i < accounts_of(e)->limited.count; i++)
        if (strcmp(accounts_of(e)->limited.items[i].limiter, limiter) == 0)
            return &accounts_of(e)->limited.items[i];
    return NULL;
}

static struct limited_since *find_or_add_since(struct engine *e, const char *limiter) {
    struct limited_since *since = find_since(e, limiter);
    if (!since) {
        since = LIST_ADD(&accounts_of(e)->limited);
        *since = (struct limited_since){ .limiter = xstrdup(limiter) };
    }
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
        find_or_add_since(e, limiter)->at = at;
}

bool limits_waited_out(const struct engine *e, const char *limiter) {
    const struct limited_since *since = find_since(e, limiter);
    return since && since->out;
}

void limits_opened(struct engine *e, const char *limiter) {
    struct limited_since *since = find_since(e, limiter);
    if (since)
        since->out = false;
}

/* The reset time of the provider on the engine's clock, plus a margin; 0: none. */
static time_ms reset_of(const struct engine *e, task_id task,
                        const struct agent_outcome *reported) {
    time_ms left = reported->reset_at - loop_now(e->loop);
    if (reported->reset_at == 0 || left <= 0)
        return 0;
    time_ms jitter = config_number(e->config, "limiter.jitter_s", NULL);
    time_ms more = jitter > 0 ? (time_ms)(hash_u64(task) % ((uint64_t)jitter + 1)) : 0;
    time_ms at = time_add(e->now, left);
    return time_add(at, config_number(e->config, "limiter.margin_s", NULL) + more);
}

/* The account of the run, and since when it is limited; NULL: none. */
static const char *account_of(const struct engine *e, const struct live_run *run,
                              time_ms *ret_since) {
    struct task_spec spec = { 0 };
    struct limiter_view account = { 0 };
    if (!core_task_spec(e->core, run->task, &spec) || !spec.run_limiter)
        return NULL;
    (void)core_limiter(e->core, spec.run_limiter, &account);
    const char *name = name_of(e, spec.run_limiter);
    const struct limited_since *since = find_since(e, name);
    *ret_since = since && since->at && account.hits > 0 ? since->at : e->now;
    return name;
}

const char *limits_exhausted_account(const struct engine *e, const struct live_run *run,
                                     const struct agent_outcome *reported) {
    time_ms since;
    const char *account = account_of(e, run, &since);
    time_ms most = account ? config_number(e->config, "limiters.L.max_wait_s", account) : 0;
    time_ms until = time_max(e->now, reset_of(e, run->task, reported));
    return account && most != TIME_NEVER && until - since > most ? account : NULL;
}

/* Keeps since when the account is limited, until it works again. */
static void note_limited(struct engine *e, const struct live_run *run, bool closes) {
    time_ms at;
    const char *account = account_of(e, run, &at);
    if (!account)
        return;
    struct limited_since *since = find_or_add_since(e, account);
    since->out |= closes;
    if (since->at == at)
        return;
    since->at = at;
    note_put_number(e, NOTE, account, at);
    turn_wrote(e);
}

void limits_ended(struct engine *e, const struct live_run *run,
                  const struct agent_outcome *reported, bool closes, struct fact *ended) {
    bool is_limited = ended->ended.outcome == OUTCOME_LIMITED || closes;
    if (!is_limited && ended->ended.outcome != OUTCOME_BUDGET)
        return;
    ended->ended.reset_at = reset_of(e, run->task, reported);
    if (is_limited) {
        if (ended->ended.reset_at > 0)
            ended->ended.limit_reported = false;
        note_limited(e, run, closes);
    } else if (reported->result != AGENT_BUDGET && !ended->ended.reset_at)
        ended->ended.reset_at = time_add(e->now, config_number(e->config, "limiter.max_s", NULL));
}

const struct engine_part accounts_part = {
    .state_size = sizeof(struct accounts),
    .at = { [STEP_UNLOAD] = limits_free, [STEP_FREE] = limits_free },
    .load_note = limits_load,
};
