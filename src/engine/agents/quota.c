/* quota.c: how much of an account's windows is used, as agents report it, and the reserve.
 *
 * The core closes an account while only its reserve is left, and its row keeps what is used. This
 * part applies the reports of runs, and writes the event `limiter.used` when a percentage or the
 * gate changes.
 *
 * An agent may report no end. Then it is the latest possible one, with a note that this is a guess: the
 * end that another agent reports corrects it.
 *
 * Reports come from programs that may be wrong, or lie. A window ends at most its own length from
 * now, so no report closes an account for longer than that. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "engine/note.h"
#include "os/log.h"

_Static_assert((int)AGENT_WINDOW_MAX == (int)QUOTA_WINDOW_MAX
                   && (int)AGENT_WINDOW_WEEKLY == (int)QUOTA_WEEKLY,
               "the windows of agents are those of the core");

static const time_ms lengths[QUOTA_WINDOW_MAX] = {
    [QUOTA_FIVE_HOUR] = HOURS(5),
    [QUOTA_WEEKLY] = DAYS(7),
};

/* An account as of the last event. */
struct quota_seen {
    char *limiter;
    struct {
        int32_t percent;
        bool reserved;
        time_ms guess; /* the end, if it was not reported; else 0 */
    } windows[QUOTA_WINDOW_MAX];
    bool reserved; /* one of them is */
};

struct quotas {
    LIST(struct quota_seen) seen;
    size_t reserved; /* accounts whose gate is closed */
};

#define NOTE "quota.guess." /* WINDOW.LIMITER: the end */

PART_STATE(quotas, struct quotas, quotas_of)

static void quotas_free(struct engine *e) {
    struct quotas *q = quotas_of(e);
    for (size_t i = 0; i < q->seen.count; i++)
        free(q->seen.items[i].limiter);
    free(q->seen.items);
    memset(q, 0, sizeof(*q));
}

static struct quota_seen *find_or_add(struct quotas *q, const char *limiter) {
    for (size_t i = 0; i < q->seen.count; i++)
        if (strcmp(q->seen.items[i].limiter, limiter) == 0)
            return &q->seen.items[i];
    struct quota_seen *seen = LIST_ADD(&q->seen);
    *seen = (struct quota_seen){ .limiter = xstrdup(limiter) };
    return seen;
}

static void remember(struct quotas *q, struct quota_seen *seen, const struct limiter_view *now) {
    bool reserved = now->reserved_until > 0;
    q->reserved += (size_t)reserved - (size_t)seen->reserved;
    seen->reserved = reserved;
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++) {
        seen->windows[w].percent = now->windows[w].quota.used_milli / 10;
        seen->windows[w].reserved = now->windows[w].reserved;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void write_event(struct engine *e, const char *limiter, const struct limiter_view *now,
                        enum quota_window window) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "limiter", limiter);
    json_put_string(w, "window", quota_window_name(window));
    json_put_int(w, "used", now->windows[window].quota.used_milli / 10);
    json_put_int(w, "reserve", now->windows[window].reserve);
    if (now->windows[window].quota.resets_at)
        json_put_int(w, "resets_at", now->windows[window].quota.resets_at);
    json_put_bool(w, "reserved", now->windows[window].reserved);
    event_end(e, &data, "limiter.used", 0, 0);
    turn_wrote(e);
}

static void log_gate(const struct engine *e, const char *limiter, const struct limiter_view *now) {
    if (now->reserved_until > 0)
        log_info(
            "account '%s': only its reserve is left, and nothing that uses it starts for %" PRId64
            " s",
            limiter, (now->reserved_until - e->now + 999) / 1000);
    else
        log_info("account '%s': its reserve is not in the way any more", limiter);
}

static void compare(struct engine *e, struct quota_seen *seen, const struct limiter_view *now) {
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++)
        if (seen->windows[w].percent != now->windows[w].quota.used_milli / 10
            || seen->windows[w].reserved != now->windows[w].reserved)
            write_event(e, seen->limiter, now, w);
    if (seen->reserved != (now->reserved_until > 0))
        log_gate(e, seen->limiter, now);
    remember(quotas_of(e), seen, now);
}

static void look_at(struct engine *e, const char *limiter, bool writes) {
    sym symbol = symbol_known(e, limiter);
    struct limiter_view now;
    if (!symbol || !core_limiter(e->core, symbol, &now))
        return;
    struct quota_seen *seen = find_or_add(quotas_of(e), limiter);
    if (writes)
        compare(e, seen, &now);
    else
        remember(quotas_of(e), seen, &now);
}

static void quotas_limiter_changed(struct engine *e, const struct limiter_row *row) {
    look_at(e, row->name, true);
}

static void quotas_loaded(struct engine *e) {
    for (size_t i = 0; i < config_limiter_count(e->config); i++)
        look_at(e, config_limiter_name(e->config, i), false);
}

/* Another reserve may close or open an account. */
static void quotas_configured(struct engine *e) {
    for (size_t i = 0; i < config_limiter_count(e->config); i++)
        look_at(e, config_limiter_name(e->config, i), true);
}

/* A window has ended: the gate opens without a fact. */
static void quotas_opened(struct engine *e) {
    struct quotas *q = quotas_of(e);
    for (size_t i = 0; q->reserved > 0 && i < q->seen.count; i++)
        if (q->seen.items[i].reserved)
            look_at(e, q->seen.items[i].limiter, true);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void put_guess(struct engine *e, enum quota_window window, const char *limiter,
                      time_ms guess) {
    struct quota_seen *seen = find_or_add(quotas_of(e), limiter);
    if (seen->windows[window].guess == guess)
        return;
    seen->windows[window].guess = guess;
    _cleanup_(freep) char *key = xasprintf("%s.%s", quota_window_name(window), limiter);
    if (guess)
        note_put_number(e, NOTE, key, guess);
    else
        note_put(e, NOTE, key, NULL);
    turn_wrote(e);
}

static void quotas_load(struct engine *e, const struct note_row *row) {
    int64_t guess = 0;
    const char *key = note_number(row, NOTE, &guess), *limiter = key ? strchr(key, '.') : NULL;
    for (unsigned w = 0; limiter && w < QUOTA_WINDOW_MAX; w++) {
        const char *name = quota_window_name(w);
        if (strlen(name) == (size_t)(limiter - key) && strncmp(name, key, strlen(name)) == 0)
            find_or_add(quotas_of(e), limiter + 1)->windows[w].guess = guess;
    }
}

/* On the engine's clock. Unknown: that of the current window, or the latest possible time. */
static time_ms end_of_window(const struct engine *e, const struct agent_quota *reported,
                             const struct quota *current, enum quota_window window) {
    time_ms latest = time_add(e->now, lengths[window]);
    if (reported->resets_at > 0)
        return time_min(time_add(e->now, reported->resets_at - loop_now(e->loop)), latest);
    return current->resets_at > e->now ? current->resets_at : latest;
}

void quota_report(struct engine *e, const struct live_run *run,
                  const struct agent_quota reported[AGENT_WINDOW_MAX]) {
    struct task_spec spec = { 0 };
    struct limiter_view account;
    const char *limiter;
    if (!core_task_spec(e->core, run->task, &spec) || !spec.run_limiter
        || !core_limiter(e->core, spec.run_limiter, &account))
        return;
    limiter = symbol_name(core_symbols(e->core), spec.run_limiter);
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++) {
        struct fact fact = { .kind = FACT_LIMITER_USED };
        if (!reported[w].is_known)
            continue;
        bool is_guess = reported[w].resets_at <= 0;
        time_ms end = account.windows[w].quota.resets_at;
        time_ms guess = find_or_add(quotas_of(e), limiter)->windows[w].guess;
        fact.used.limiter = spec.run_limiter;
        fact.used.window = w;
        fact.used.quota.used_milli = reported[w].used_milli;
        fact.used.quota.resets_at = end_of_window(e, &reported[w], &account.windows[w].quota, w);
        fact.used.corrects = !is_guess && guess && guess == end;
        if (engine_apply(e, &fact, NULL) == 0 && (!is_guess || fact.used.quota.resets_at != end))
            put_guess(e, w, limiter, is_guess ? fact.used.quota.resets_at : 0);
    }
}

bool quota_is_same(const struct agent_quota a[AGENT_WINDOW_MAX],
                   const struct agent_quota b[AGENT_WINDOW_MAX]) {
    for (unsigned w = 0; w < AGENT_WINDOW_MAX; w++)
        if (a[w].is_known != b[w].is_known || a[w].used_milli / 10 != b[w].used_milli / 10
            || a[w].resets_at != b[w].resets_at)
            return false;
    return true;
}

const struct engine_part quotas_part = {
    .state_size = sizeof(struct quotas),
    .at = { [STEP_UNLOAD] = quotas_free,
            [STEP_LOADED] = quotas_loaded,
            [STEP_CONFIGURED] = quotas_configured,
            [STEP_BEFORE_DECIDE] = quotas_opened,
            [STEP_FREE] = quotas_free },
    .limiter_changed = quotas_limiter_changed,
    .load_note = quotas_load,
};
