/* alert_cause.c: what are people told, and when is it over?
 *
 * Most causes are seen where they come up, in the turn that changes a task, an account, an agent or the
 * disk; whether one is over is asked of all open alerts in every turn that changed something. There are few
 * of them, and nothing walks over the tasks. */
#include <string.h>

#include "base/alloc.h"
#include "engine/agent_end.h"
#include "engine/alert_internal.h"
#include "engine/away_internal.h"
#include "engine/denied.h"
#include "engine/plausible.h"
#include "engine/runaway.h"
#include "engine/trouble.h"
#include "engine/watch.h"
#include "os/log.h"

#define EXAMPLES        3u
#define LOOK_WHILE_FULL MINUTES(1) /* nothing else would tell us that there is room again */
#define CALM_FOR        MINUTES(1) /* memory and load must be fine for so long */

/* --- the causes ------------------------------------------------------------------------------ */

static bool breaker_is_open(const struct task_spec *t) {
    if (t->state == TASK_FAILED)
        return t->reason == REASON_BREAKER;
    return t->breaker_openings > 0 && !task_state_is_final(t->state);
}

static void touch(void *ctx, task_id task) {
    struct engine *e = ctx;
    *LIST_ADD(&alerts_of(e)->touched) = task;
}

void alerts_see_task(struct engine *e, const struct task_spec *told) {
    core_each_failed_prerequisite(e->core, told->id, touch,
                                  e); /* it may have come to wait for them */
    if (task_state_is_failure(told->state) || breaker_is_open(told) || alert_budget_is_held(told)
        || denied_is_held(told))
        touch(e, told->id);
}

static void account_closed(struct engine *e, const char *key, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    engine_put_trouble(e, TROUBLE_ACCOUNT, name, &why);
    if (why.length == 0)
        strbuf_puts(&why, "; its login or its bill was refused");
    alert_raise(
        e, key, 0, 0,
        "account '%s' is closed, and nothing that uses it starts%s; then: sluice limiter clear %s",
        name, strbuf_text(&why), name);
}

void alerts_see_limiter(struct engine *e, const struct limiter_row *row) {
    if (!row->told.closed) {
        limits_opened(e, row->name);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "account:%s", row->name);
    if (limits_waited_out(e, row->name))
        alert_raise(
            e, strbuf_text(&key), 0, 0,
            "account '%s' is limited for longer than limiter.max_wait_s allows: nothing that "
            "uses it starts; when it works again, 'sluice limiter clear %s'",
            row->name, row->name);
    else
        account_closed(e, strbuf_text(&key), row->name);
}

void alerts_see_agent(struct engine *e, const struct agent_row *row) {
    if (row->told.openings == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, why = STRBUF_INIT;
    strbuf_printf(&key, "agent:%s", row->name);
    engine_put_trouble(e, TROUBLE_AGENT, row->name, &why);
    alert_raise(
        e, strbuf_text(&key), 0, 0,
        "agent '%s' could not be launched %u times in a row, whatever the task%s; look at its "
        "program "
        "('sluice agent list', agents.%s.command), then 'sluice agent clear %s'; else it is tried "
        "again by itself, later each time",
        row->name, row->told.launch_failures, strbuf_text(&why), row->name, row->name);
}

/* A group with a member that waits for what has failed will not finish by itself. */
static void see_groups(struct engine *e, task_id failed, const task_id *users, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct task_spec told;
        if (!core_task_spec(e->core, users[i], &told) || told.group == 0
            || told.group > engine_group_count(e))
            continue;
        char id[2][ENGINE_ID_MAX];
        const char *name = engine_group_at(e, told.group - 1)->name;
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
        strbuf_printf(&key, "group:%s", name);
        alert_raise(
            e, strbuf_text(&key), failed, 0,
            "group '%s' cannot finish: '%s' waits for '%s', which did not end well: retry that, or "
            "cancel what waits",
            name, engine_task_id(e, users[i], id[0]), engine_task_id(e, failed, id[1]));
    }
}

static void see_chain(struct engine *e, task_id task, enum task_state state) {
    task_id users[EXAMPLES + 1];
    size_t count = core_task_waiters(e->core, task, users, EXAMPLES + 1);
    if (count == 0)
        return;
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, waiting = STRBUF_INIT;
    for (size_t i = 0; i < count && i < EXAMPLES; i++)
        strbuf_printf(&waiting, "%s'%s'", i ? ", " : "", engine_task_id(e, users[i], id));
    strbuf_printf(&key, "chain:%s", engine_task_id(e, task, id));
    alert_raise(e, strbuf_text(&key), task, 0,
                "'%s' is %s, and %s%s wait%s for it: retry it, or cancel what waits", id,
                task_state_name(state), strbuf_text(&waiting),
                count > EXAMPLES ? " and others" : "", count == 1 ? "s" : "");
    see_groups(e, task, users, count);
}

static void see_breaker(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "breaker:%s", engine_task_id(e, t->id, id));
    alert_raise(e, strbuf_text(&key), t->id, t->attempt,
                "'%s' could not be launched %u times in a row: %s; 'sluice why %s' says why", id,
                t->launch_failures,
                t->state == TASK_FAILED ? "it has failed, and goes on only with 'sluice retry'"
                                        : "its breaker is open, and it is tried again by itself",
                id);
}

static void see_touched(struct engine *e) {
    for (size_t i = 0; i < alerts_of(e)->touched.count; i++) {
        struct task_spec told;
        if (!core_task_spec(e->core, alerts_of(e)->touched.items[i], &told))
            continue;
        if (task_state_is_failure(told.state))
            see_chain(e, told.id, told.state);
        if (breaker_is_open(&told))
            see_breaker(e, &told);
        alert_budget_see_task(e, &told);
        denied_see_task(e, &told);
    }
    alerts_of(e)->touched.count = 0;
}

static void see_disk(struct engine *e) {
    if (e->retries > 0) /* the store takes nothing: not this either */
        return;
    int64_t floor = config_policy(e->config)->host.disk_min_mb;
    if (host_of(e)->disk_low
        && alert_raise(
            e, "disk", 0, 0,
            "%lld MB of disk are free, the floor is %lld MB (host.disk_free_gb): nothing starts "
            "until %lld MB more are free; old finished work is being removed",
            (long long)host_of(e)->disk_free_mb, (long long)floor,
            (long long)(floor - host_of(e)->disk_free_mb)))
        log_warning("Low disk space, pausing new loop creation available_gb=%.1f",
                    (double)host_of(e)->disk_free_mb / 1000.0);
    int64_t least = config_number(e->config, "store.min_free_mb", NULL);
    if (host_of(e)->full)
        alert_raise(
            e, "store", 0, 0,
            "%lld MB of disk are free, the store needs %lld MB (store.min_free_mb): no new task is "
            "taken until %lld MB more are free; what runs goes on, and its end is recorded",
            (long long)host_of(e)->disk_free_mb, (long long)least,
            (long long)(least - host_of(e)->disk_free_mb));
}

/* True: it is low, somebody waits for it, and nobody was told. */
static bool must_tell(struct engine *e, struct floor_watch *floor, bool low, const char *key) {
    struct core_counts counts;
    if (floor->since == 0 || floor->low != low)
        *floor = (struct floor_watch){ .low = low, .since = e->now };
    if (!low || alert_is_open(e, key))
        return false;
    core_count(e->core, &counts); /* walks over the classes */
    return counts.by_state[TASK_READY] > 0;
}

static void see_memory_and_load(struct engine *e) {
    const struct policy *policy = config_policy(e->config);
    int64_t floor = policy->host.memory_min_mb, most = policy->host.load_max_milli;
    if (must_tell(e, &alerts_of(e)->memory,
                  host_of(e)->memory_free_mb >= 0 && host_of(e)->memory_free_mb < floor, "memory"))
        alert_raise(e, "memory", 0, 0,
                    "%lld MB of memory are available, the floor is %lld MB (host.memory_free_mb): "
                    "nothing starts until there is more; what runs goes on",
                    (long long)host_of(e)->memory_free_mb, (long long)floor);
    if (must_tell(e, &alerts_of(e)->load, most > 0 && host_of(e)->load_milli > most, "load"))
        alert_raise(e, "load", 0, 0,
                    "the load is %.1f, the most is %.1f (host.load): nothing starts until it is "
                    "lower; what runs goes on",
                    (double)host_of(e)->load_milli / 1000.0, (double)most / 1000.0);
}

/* --- is it over? ----------------------------------------------------------------------------- */

/* What the key is about: "web-3" of "chain:web-3". */
static const char *subject_of(const struct alert *alert) {
    const char *colon = strchr(alert->view.key, ':');
    return colon ? colon + 1 : "";
}

static bool chain_is_over(const struct engine *e, const struct alert *alert) {
    struct task_view view;
    task_id user;
    return !core_task(e->core, alert->view.task, &view) || !task_state_is_failure(view.state)
           || core_task_waiters(e->core, alert->view.task, &user, 1) == 0;
}

static bool group_is_over(const struct engine *e, const struct alert *alert) {
    const struct engine_group *group = engine_find_group(e, subject_of(alert));
    return !group || group->closed || group->open == 0 || chain_is_over(e, alert);
}

static bool breaker_is_over(const struct engine *e, const struct alert *alert) {
    struct task_spec told;
    return !core_task_spec(e->core, alert->view.task, &told) || !breaker_is_open(&told);
}

static bool account_is_over(const struct engine *e, const struct alert *alert) {
    struct limiter_view view;
    const char *name = subject_of(alert);
    sym symbol = symbol_find(core_symbols(e->core), name, strlen(name));
    return !symbol || !core_limiter(e->core, symbol, &view) || !view.closed;
}

static bool agent_is_over(const struct engine *e, const struct alert *alert) {
    struct agent_spec told;
    const char *name = subject_of(alert);
    sym symbol = symbol_find(core_symbols(e->core), name, strlen(name));
    return !symbol || !core_agent_spec(e->core, symbol, &told) || told.openings == 0;
}

static bool run_is_over(const struct engine *e, const struct alert *alert) {
    const struct live_run *run = run_find(e, alert->view.task);
    return !run || run->view.attempt != alert->attempt || alert_stuck_after(e) == 0;
}

static bool disk_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !host_of(e)->disk_low;
}

static bool floor_is_over(const struct engine *e, const struct floor_watch *floor, int64_t wanted) {
    return wanted == 0 || (floor->since > 0 && !floor->low && e->now - floor->since >= CALM_FOR);
}

static bool memory_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return floor_is_over(e, &alerts_of(e)->memory, config_policy(e->config)->host.memory_min_mb);
}

static bool load_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return floor_is_over(e, &alerts_of(e)->load, config_policy(e->config)->host.load_max_milli);
}

static bool store_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !host_of(e)->full;
}

/* Who delivers to it clears them, while there is one. */
static bool webhook_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !*config_text(e->config, "notify.webhook", NULL);
}

/* The look for what is stuck clears those of its own. */
static bool stuck_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return alert_stuck_after(e) == 0;
}

static bool host_is_over(const struct engine *e, const struct alert *alert) {
    return away_alert_is_over(e, subject_of(alert));
}

static bool many_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return alerts_of(e)->open.count <= ALERTS_MAX / 2;
}

static bool section_is_over(const struct engine *e, const struct alert *alert) {
    const struct engine_project *p = engine_find_project(e, subject_of(alert));
    return !p || p->standing != PROJECT_ORPHANED;
}

static const struct {
    const char *kind;
    bool (*is_over)(const struct engine *e, const struct alert *alert);
} kinds[] = {
    { "account", account_is_over },
    { "agent", agent_is_over },
    { "breaker", breaker_is_over },
    { "budget", alert_budget_is_over },
    { "window", alert_window_is_over },
    { "chain", chain_is_over },
    { "denied", denied_is_over },
    { "disk", disk_is_over },
    { "group", group_is_over },
    { "load", load_is_over },
    { "many", many_is_over },
    { "marker", marker_alert_is_over },
    { "memory", memory_is_over },
    { "run", run_is_over },
    { "runaway", runaway_alert_is_over },
    { "section", section_is_over },
    { "store", store_is_over },
    { "stuck", stuck_is_over },
    { "webhook", webhook_is_over },
    { "host", host_is_over },
    { "usage", plausible_alert_is_over },
};

/* A kind that nobody knows any more is over. */
static bool is_over(const struct engine *e, const struct alert *alert) {
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (alert_key_is(alert->view.key, kinds[i].kind))
            return kinds[i].is_over(e, alert);
    return true;
}

static bool clear_what_is_over(struct engine *e) {
    bool any = false;
    for (size_t i = alerts_of(e)->open.count; i-- > 0;) {
        if (i >= alerts_of(e)->open.count || !is_over(e, &alerts_of(e)->open.items[i]))
            continue;
        alert_clear(e, alerts_of(e)->open.items[i].view.key);
        any = true;
    }
    return any;
}

/* A group may wait for two that have failed, and the one that was told has recovered. */
static void see_chains_again(struct engine *e) {
    for (size_t i = 0; i < alerts_of(e)->open.count; i++) {
        struct alert alert = alerts_of(e)->open.items[i];
        task_id users[EXAMPLES + 1];
        if (alert_key_is(alert.view.key, "chain"))
            see_groups(e, alert.view.task, users,
                       core_task_waiters(e->core, alert.view.task, users, EXAMPLES + 1));
    }
}

void alerts_turn(struct engine *e) {
    struct alerts *a = alerts_of(e);
    a->changed = a->changed || store_batch_count(e->turn.batch) > 0;
    see_disk(e);
    see_memory_and_load(e);
    see_touched(e);
    if (store_batch_count(e->turn.batch) > 0)
        alert_budget_see_windows(e);
    alert_look_for_stuck(e);
    away_see_alerts(e);
    if (a->open.count > 0 && clear_what_is_over(e))
        see_chains_again(e);
}

time_ms alerts_next(const struct engine *e) {
    time_ms next = alert_stuck_next(e);
    if (host_of(e)->disk_low || host_of(e)->full)
        next = time_min(next, time_add(host_of(e)->disk_read_at, LOOK_WHILE_FULL));
    if (alert_is_open(e, "memory") || alert_is_open(e, "load"))
        next = time_min(next, time_add(host_of(e)->read_at, LOOK_WHILE_FULL));
    return next;
}
