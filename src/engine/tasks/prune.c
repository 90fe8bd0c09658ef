/* prune.c: retention of finished tasks, events, keys and usage.
 *
 * One pass an hour, in small pieces: one per turn, a second apart, so that no request waits for it.
 * A finished task is deleted when it is older than retention.days, or when more than
 * retention.tasks have finished; not while another task needs it. Its run folders are deleted with
 * it. While the disk is short of host.disk_free_gb, retention.low_disk_days is the age, the pass is
 * immediate, and worktrees of finished tasks are removed if nothing is lost.
 *
 * The store knows what is old. It answers in the same turn or later; the next turn acts on the
 * answer, so nothing here depends on when that is. */
#include <stdlib.h>

#include "engine/git/git_internal.h"

#define PASS_EVERY     HOURS(1)
#define MORE_AFTER     SECONDS(1)
#define PASS_WHILE_LOW MINUTES(1)
#define TASKS_EACH     200u
#define EVENTS_EACH    5000u
#define HOURS_KEPT     DAYS(40)  /* hourly sums of usage */
#define DAYS_KEPT      DAYS(800) /* daily sums */

struct pruning {
    time_ms at; /* the next pass */
    bool querying_tasks, querying_events;
    LIST(task_id) expired; /* finished tasks beyond their age or number */
    size_t requested;      /* how many were requested */
    bool more_tasks;       /* there may be more after them */
    uint64_t needed;       /* those before them that others need */
    time_ms old_before;
    uint64_t low, middle, high; /* the first event that is not old is in low … high */
    uint64_t first_kept;        /* found: those before it may be deleted */
};

PART_STATE(prune, struct pruning, pruning_of)

void prune_now(struct engine *e) {
    pruning_of(e)->at = e->now;
}

static time_ms prune_next(const struct engine *e) {
    return pruning_of(e)->expired.count > 0 ? e->now : pruning_of(e)->at;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void expired_answered(void *ctx, const struct store_answer *answer,
                             const struct error *err) {
    struct engine *e = ctx;
    struct pruning *p = pruning_of(e);
    p->querying_tasks = false;
    p->more_tasks = !err && answer->count >= p->requested;
    for (size_t i = 0; !err && i < answer->count; i++)
        *LIST_ADD(&p->expired) = answer->tasks[i];
    turn_wake(e);
}

static void query_expired(struct engine *e) {
    struct pruning *p = pruning_of(e);
    time_ms keep = config_number(e->config, "retention.days", NULL);
    if (host_of(e)->disk_low)
        keep = time_min(keep, config_number(e->config, "retention.low_disk_days", NULL));
    struct core_counts counts;
    core_count(e->core, &counts);
    int64_t excess = -config_number(e->config, "retention.tasks", NULL);
    for (int state = TASK_DONE; state < TASK_STATE_MAX; state++)
        excess += counts.by_state[state]; /* the final states are the last ones */
    struct store_query query = { .kind = QUERY_EXPIRED, .after = p->needed };
    query.before_time = keep == TIME_NEVER ? 0 : e->now - keep;
    p->requested = TASKS_EACH;
    if (excess > 0) { /* the oldest, at any age */
        query.before_time = TIME_NEVER;
        p->requested = excess < TASKS_EACH ? (size_t)excess : TASKS_EACH;
    }
    query.limit = p->requested;
    p->querying_tasks = query.before_time > 0;
    if (p->querying_tasks)
        store_query(e->store, &query, expired_answered, e);
}

/* True: there are more. Needed tasks are excluded from the next query. */
static bool forget_expired(struct engine *e) {
    struct pruning *p = pruning_of(e);
    bool more = p->more_tasks;
    for (size_t i = 0; i < p->expired.count; i++) {
        struct fact fact = { .kind = FACT_FORGET, .task = p->expired.items[i] };
        p->needed += core_is_needed(e->core, fact.task) || engine_apply(e, &fact, NULL) != 0;
    }
    p->expired.count = 0;
    p->more_tasks = false;
    if (!more && !p->querying_tasks)
        p->needed = 0;
    return more;
}

/* --- events ---------------------------------------------------------------------------------- */

static void query_middle(struct engine *e);

/* Numbers are dense and rise with time: a binary search finds the first young one. */
static void middle_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct engine *e = ctx;
    struct pruning *p = pruning_of(e);
    p->querying_events = false;
    if (err || answer->count == 0)
        return;
    if (answer->events[0].at < p->old_before)
        p->low = answer->events[0].seq + 1;
    else
        p->high = p->middle;
    query_middle(e);
}

static void query_middle(struct engine *e) {
    struct pruning *p = pruning_of(e);
    if (p->low >= p->high) {
        p->first_kept = p->low;
        return;
    }
    p->middle = p->low + (p->high - p->low) / 2;
    p->querying_events = true;
    struct store_query query = { .kind = QUERY_EVENTS, .after = p->middle - 1, .limit = 1 };
    store_query(e->store, &query, middle_answered, e);
}

static void query_old_events(struct engine *e) {
    struct pruning *p = pruning_of(e);
    time_ms keep = config_number(e->config, "events.keep_days", NULL);
    if (keep == TIME_NEVER || e->first_event == 0)
        return;
    p->old_before = e->now - keep;
    p->low = e->first_event;
    p->high = e->committed_event + 1;
    query_middle(e);
}

/* True: there are more. The last event stays, so that there is always one to continue from. */
static bool prune_events(struct engine *e) {
    int64_t most = config_number(e->config, "events.keep", NULL);
    uint64_t first = pruning_of(e)->first_kept;
    if (most != UNLIMITED && e->last_event > (uint64_t)most
        && e->last_event + 1 - (uint64_t)most > first)
        first = e->last_event + 1 - (uint64_t)most;
    if (first > e->committed_event)
        first = e->committed_event;
    if (e->first_event == 0 || first <= e->first_event)
        return false;
    bool more = first - e->first_event > EVENTS_EACH;
    if (more)
        first = e->first_event + EVENTS_EACH;
    store_prune_events(e->turn.batch, first);
    e->first_event = first;
    return more;
}

/* --- all ------------------------------------------------------------------------------------- */

static void prune_some(struct engine *e) {
    struct pruning *p = pruning_of(e);
    bool due = p->at <= e->now;
    if (due && !p->querying_tasks)
        query_expired(e);
    if (due && !p->querying_events)
        query_old_events(e);
    if (due && host_of(e)->disk_low)
        workspaces_make_room(e);
    if (due)
        workspaces_expire(e);
    if (!due && p->expired.count == 0)
        return;
    bool more = forget_expired(e);
    more = prune_events(e) || more;
    if (due && !more && e->committed_event > 0) {
        time_ms keys = config_number(e->config, "keys.keep_h", NULL);
        store_prune_keys(e->turn.batch, e->now - keys);
        store_prune_usage(e->turn.batch, e->now - 2 * config_policy(e->config)->fair_window);
        store_prune_spent(e->turn.batch, false, e->now - HOURS_KEPT);
        store_prune_spent(e->turn.batch, true, e->now - DAYS_KEPT);
    }
    if (due || more)
        p->at = time_add(e->now, more                   ? MORE_AFTER
                                 : host_of(e)->disk_low ? PASS_WHILE_LOW
                                                        : PASS_EVERY);
}

static void prune_free(struct engine *e) {
    free(pruning_of(e)->expired.items);
}

const struct engine_part prune_part = {
    .state_size = sizeof(struct pruning),
    .at = { [STEP_BEFORE_DECIDE] = prune_some, [STEP_FREE] = prune_free },
    .next_wakeup = prune_next,
};
