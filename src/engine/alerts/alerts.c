/* alerts.c: what needs a person's attention, reported once per cause. Open alerts are notes in the
 * store: the next daemon knows what was reported, and a failed commit rolls them back with
 * everything else. */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/money.h"
#include "base/number.h"
#include "core/core.h"
#include "engine/agents.h"
#include "engine/agents/agents_internal.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/budget/budget_internal.h"
#include "engine/note.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"
#include "os/log.h"

#define ALERTS_MAX 1000u /* open at once; then one more reports that there are too many */

/* Waits at a gate; the store knows since when. */
struct waiter {
    task_id task;
    time_ms since;
};

/* Memory and load fluctuate, so they must have recovered for a while. */
struct floor_watch {
    bool low;
    time_ms since; /* of `low`; 0: not measured yet */
};

struct alerts {
    LIST(struct alert) open;
    LIST(task_id) touched; /* changed in this turn, and may be a cause */
    LIST(task_id) heads;   /* representatives of the tasks that wait at a gate, during a scan */
    size_t queried;        /* how many of them the store was queried for */
    LIST(struct waiter) waiters;
    time_ms scan_at;    /* nothing can be stuck before */
    time_ms scanned_at; /* the last scan for stuck tasks */
    bool changed;       /* since the last scan */
    bool overdue;       /* the last scan found a long wait */
    bool is_querying, is_answered;
    struct floor_watch memory, load;
    time_ms stuck_after; /* alerts.stuck_s, cached because every turn needs it; 0: off */
};

PART_STATE(alerts, struct alerts, alerts_of)

#define NOTE_PREFIX "alert:"

/* After a new configuration. */
static void alerts_configure(struct engine *e) {
    alerts_of(e)->stuck_after = config_number(e->config, "alerts.stuck_s", NULL);
    alerts_of(e)->scan_at = 0; /* what was too young may be old now */
}

/* Drops what came from rows. */
static void alerts_forget(struct engine *e) {
    struct alerts *a = alerts_of(e);
    for (size_t i = 0; i < a->open.count; i++) {
        free((char *)a->open.items[i].view.key);
        free((char *)a->open.items[i].view.text);
    }
    a->open.count = a->touched.count = a->waiters.count = a->heads.count = a->queried = 0;
    a->scan_at = a->scanned_at = 0;
    a->is_answered = a->overdue = false;
}

static void alerts_free(struct engine *e) {
    struct alerts *a = alerts_of(e);
    alerts_forget(e);
    free(a->open.items);
    free(a->touched.items);
    free(a->waiters.items);
    free(a->heads.items);
}

size_t engine_alert_count(const struct engine *e) {
    return alerts_of(e)->open.count;
}

const struct engine_alert *engine_alert_at(const struct engine *e, size_t index) {
    return &alerts_of(e)->open.items[index].view;
}

/* The key is of this kind: "stuck", "run". */
static bool alert_key_is(const char *key, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(key, kind, length) == 0 && (key[length] == ':' || key[length] == '\0');
}

/* What the key is about: "web-3" of "chain:web-3". */
static const char *subject_of(const struct alert *alert) {
    const char *colon = strchr(alert->view.key, ':');
    return colon ? colon + 1 : "";
}

static struct alert *find_alert(const struct engine *e, const char *key) {
    struct alerts *a = alerts_of(e);
    for (size_t i = 0; i < a->open.count; i++)
        if (strcmp(a->open.items[i].view.key, key) == 0)
            return &a->open.items[i];
    return NULL;
}

bool engine_alert_is_open(const struct engine *e, const char *key) {
    return find_alert(e, key) != NULL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void write_note(struct engine *e, const struct alert *alert) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_int(w, "since", alert->view.since);
    json_put_int(w, "task", (int64_t)alert->view.task);
    json_put_int(w, "attempt", alert->attempt);
    json_put_string(w, "text", alert->view.text);
    note_end(e, &data, NOTE_PREFIX, alert->view.key);
}

/* An unreadable note was not written by us: the cause will be reported again. */
static void alerts_load_note(struct engine *e, const struct note_row *row) {
    const char *key = note_key(row, NOTE_PREFIX);
    if (!key)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    const char *text = json_string_value(json_object_get(note, "text"));
    if (text)
        *LIST_ADD(&alerts_of(e)->open) = (struct alert){
            .view = { .key = xstrdup(key),
                      .text = xstrdup(text),
                      .since = json_integer_value(json_object_get(note, "since")),
                      .task = (task_id)json_integer_value(json_object_get(note, "task")) },
            .attempt = (uint32_t)json_integer_value(json_object_get(note, "attempt")),
        };
    json_decref(note);
}

/* --- raise and clear ------------------------------------------------------------------------- */

static void write_event(struct engine *e, const char *kind, const struct alert *alert) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "key", alert->view.key);
    json_put_string(w, "text", alert->view.text);
    event_end(e, &data, kind, alert->view.task, alert->attempt);
}

bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                 const char *format, ...) {
    bool too_many = alerts_of(e)->open.count >= ALERTS_MAX;
    if (find_alert(e, key) || (too_many && find_alert(e, "many")))
        return false;
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    if (too_many)
        strbuf_printf(
            &text, "%zu alerts are open: further ones are not reported until half of them are over",
            alerts_of(e)->open.count);
    else
        strbuf_vprintf(&text, format, args);
    va_end(args);
    struct alert *alert = LIST_ADD(&alerts_of(e)->open);
    *alert = (struct alert){ .view = { .key = xstrdup(too_many ? "many" : key),
                                       .text = strbuf_take(&text),
                                       .since = e->now,
                                       .task = too_many ? 0 : task },
                             .attempt = too_many ? 0 : attempt };
    write_note(e, alert);
    write_event(e, "alert", alert);
    log_warning("alert %s: %s", alert->view.key, alert->view.text);
    return !too_many;
}

void engine_alert_clear(struct engine *e, const char *key) {
    struct alerts *a = alerts_of(e);
    struct alert *alert = find_alert(e, key);
    if (!alert)
        return;
    struct alert cleared = *alert;
    size_t left = a->open.count - (size_t)(alert - a->open.items) - 1;
    memmove(alert, alert + 1, left * sizeof(*alert));
    a->open.count--;
    note_put(e, NOTE_PREFIX, cleared.view.key, NULL);
    write_event(e, "alert.cleared", &cleared);
    log_info("alert %s is over", cleared.view.key);
    free((char *)cleared.view.key);
    free((char *)cleared.view.text);
}

void engine_alert_raise(struct engine *e, const char *key, const char *text) {
    (void)alert_raise(e, key, 0, 0, "%s", text);
}

/* --- budgets ---------------------------------------------------------------------------------- */

/* A task that waits for a larger budget, and a window that is used up. A window is reported when
 * reported usage reaches its budget, not when the estimates of live runs close its gate for a
 * moment: that comes and goes with every run. Once per closing. */

static bool is_held_by_budget(const struct task_spec *t) {
    return t->state == TASK_HELD && t->hold == HOLD_BUDGET && t->not_before == 0;
}

static void check_held_by_budget(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    if (!is_held_by_budget(t) || !engine_explain_budget_hold(e, t->id, &why))
        return;
    _cleanup_(freep) char *key = xasprintf("budget:%s", engine_task_id(e, t->id, id));
    alert_raise(e, key, t->id, t->attempt, "'%s' is held: %s", id, strbuf_text(&why));
}

static void put_amounts(struct strbuf *out, const struct budgets_view *v) {
    if (!budget_is_reached(&v->money)) {
        strbuf_printf(out, "%" PRId64 " of %" PRId64 " tokens", v->tokens.used + v->tokens.live,
                      v->tokens.budget);
        return;
    }
    money_put(out, v->money.used + v->money.live);
    strbuf_puts(out, " of ");
    money_put(out, v->money.budget);
    if (v->unpriced > 0)
        strbuf_printf(out, ", and %u run%s of unknown cost,", v->unpriced,
                      v->unpriced == 1 ? "" : "s");
}

static void check_budget_window(struct engine *e, sym symbol, const char *name) {
    struct budgets_view v;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, used = STRBUF_INIT;
    if (!core_budget_is_reached(e->core, symbol))
        return;
    strbuf_puts(&key, "window");
    if (name)
        strbuf_printf(&key, ":%s", name);
    if (engine_alert_is_open(e, strbuf_text(&key)) || !core_budgets(e->core, symbol, &v))
        return;
    put_amounts(&used, &v);
    strbuf_puts(&used, " in ");
    number_print_span(&used, v.span);
    alert_raise(e, strbuf_text(&key), 0, 0,
                "%s%s%s used %s: nothing more starts%s until the window frees; raise it "
                "with 'sluice config set %s%s%s=…'",
                name ? "project '" : "all projects together have", name ? name : "",
                name ? "' has" : "", strbuf_text(&used), name ? " there" : "",
                name ? "projects." : "", name ? name : "",
                budget_is_reached(&v.money) ? (name ? ".budget_usd" : "budget_usd")
                                            : (name ? ".budget" : "budget"));
}

/* Costs a pass over the projects and the runs of those that have a budget. */
static bool window_is_over(const struct engine *e, const struct alert *alert) {
    const char *project = subject_of(alert);
    sym symbol = symbol_known(e, project);
    return (*project && !symbol) || !core_budget_is_reached(e->core, symbol);
}

/* --- tasks that wait or run for too long ------------------------------------------------------ */

/* Which tasks wait or run for longer than alerts.stuck_s?
 *
 * One alert per gate, not per task: a thousand tasks behind one lock have one cause. No scan before
 * something can be stuck. A scan takes the oldest task of each class, which represents all that
 * wait at its gate (core/core.h), and asks the store since when it waits, some in each turn. A task
 * that has just come back hides those behind it until it has waited as long itself: an alert may be
 * late, by at most alerts.stuck_s, but is not missed. What a person stopped on purpose is not
 * stuck. An alert is over when no task there has waited for half as long, so a slowly moving queue
 * is reported once. */

#define QUERIED_EACH 200u       /* tasks per turn */
#define SCAN_AGAIN   MINUTES(1) /* while there is a long wait and something has changed */

/* The next scan. */
static time_ms alert_stuck_next(const struct engine *e) {
    const struct alerts *a = alerts_of(e);
    time_ms limit = a->stuck_after;
    if (limit == 0 || a->is_querying) /* the answer wakes us */
        return TIME_NEVER;
    if (a->is_answered || a->queried < a->heads.count)
        return e->now;
    if (a->overdue && a->changed)
        return time_min(a->scan_at, time_add(a->scanned_at, time_min(SCAN_AGAIN, limit / 2)));
    return a->scan_at;
}

static void scan_by(struct engine *e, time_ms at) {
    alerts_of(e)->scan_at = time_min(alerts_of(e)->scan_at, at);
}

static void check_runs(struct engine *e, time_ms limit) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        time_ms start = run->view.started_at ? run->view.started_at : run->view.ordered_at;
        time_ms due = time_add(start, limit);
        if (due > e->now) {
            scan_by(e, due);
            continue;
        }
        char id[ENGINE_ID_MAX];
        _cleanup_(freep) char *key = xasprintf("run:%s", engine_task_id(e, run->task, id));
        alert_raise(e, key, run->task, run->view.attempt,
                    "'%s' has been running for %lld min: 'sluice logs -f %s' shows what it does",
                    id, (long long)((e->now - start) / MINUTES(1)), id);
    }
}

/* A person stopped it, it opens at a configured time, or another alert covers it: one cause, one alert. */
static bool needs_no_alert(const struct engine *e, const struct verdict *v) {
    if (v->gate == GATE_PAUSED || v->gate == GATE_PROJECT || v->gate == GATE_HELD
        || v->gate == GATE_HOURS || v->gate == GATE_HOST || v->gate == GATE_BREAKER)
        return true;
    struct limiter_view account;
    if (v->gate == GATE_LIMITER && core_limiter(e->core, v->key, &account) && account.closed)
        return true;
    return (v->gate == GATE_DEPENDENCY || v->gate == GATE_PARENT)
           && task_state_is_failure(v->about_state);
}

static bool waits_at_gate(const struct engine *e, task_id task, struct verdict *ret) {
    return core_blocked(e->core, task, ret) && !needs_no_alert(e, ret);
}

static void stuck_key(const struct engine *e, const struct verdict *v, struct strbuf *ret) {
    strbuf_clear(ret);
    strbuf_puts(ret, "stuck:");
    verdict_code(v, core_symbols(e->core), ret);
}

static void raise_stuck(struct engine *e, const struct waiter *waiter, const struct verdict *v,
                        const char *key) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    if (engine_alert_is_open(e, key))
        return;
    verdict_message(v, core_symbols(e->core), &e->names, &why);
    alert_raise(e, key, waiter->task, 0, "'%s' has been waiting for %lld min: %s",
                engine_task_id(e, waiter->task, id),
                (long long)((e->now - waiter->since) / MINUTES(1)), strbuf_text(&why));
}

static bool any_task_waits(struct engine *e, const char *key, time_ms limit) {
    _cleanup_(strbuf_finish) struct strbuf other = STRBUF_INIT;
    for (size_t i = 0; i < alerts_of(e)->waiters.count; i++) {
        const struct waiter *waiter = &alerts_of(e)->waiters.items[i];
        struct verdict v;
        if (e->now - waiter->since < limit / 2 || !waits_at_gate(e, waiter->task, &v))
            continue;
        stuck_key(e, &v, &other);
        if (strcmp(strbuf_text(&other), key) == 0)
            return true;
    }
    return false;
}

/* The store has answered since when they wait. */
static void conclude_scan(struct engine *e, time_ms limit) {
    struct alerts *a = alerts_of(e);
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    a->is_answered = false;
    for (size_t i = 0; i < a->waiters.count; i++) {
        const struct waiter *waiter = &a->waiters.items[i];
        struct verdict v;
        if (!waits_at_gate(e, waiter->task, &v))
            continue;
        if (e->now - waiter->since < limit) {
            scan_by(e, time_add(waiter->since, limit));
            continue;
        }
        a->overdue = true;
        stuck_key(e, &v, &key);
        raise_stuck(e, waiter, &v, strbuf_text(&key));
    }
    for (size_t i = a->open.count; i-- > 0;) {
        const char *open = a->open.items[i].view.key;
        if (alert_key_is(open, "stuck") && !any_task_waits(e, open, limit))
            engine_alert_clear(e, open);
    }
    a->heads.count = a->waiters.count = a->queried = 0;
}

/* For each slice. All answers are in before anything is concluded. */
static void waits_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct engine *e = ctx;
    struct alerts *a = alerts_of(e);
    a->is_querying = false;
    a->is_answered = a->queried == a->heads.count;
    for (size_t i = 0; !err && i < answer->count; i++)
        if (answer->specs[i].changed_at)
            *LIST_ADD(&a->waiters) = (struct waiter){ .task = answer->specs[i].id,
                                                      .since = answer->specs[i].changed_at };
    turn_wake(e);
}

/* The next slice: it bounds how long the loop is blocked. */
static void query_some(struct engine *e) {
    struct alerts *a = alerts_of(e);
    size_t left = a->heads.count - a->queried;
    struct store_query query = { .kind = QUERY_CHANGED,
                                 .tasks = a->heads.items + a->queried,
                                 .task_count = left < QUERIED_EACH ? left : QUERIED_EACH };
    a->queried += query.task_count;
    a->is_querying = true;
    if (query.task_count > 0)
        store_query(e->store, &query, waits_answered, e);
    else
        waits_answered(e, &(struct store_answer){ 0 }, NULL);
}

/* Skips tasks that are too young to wait for long, and those that need no alert. */
static void add_head(void *ctx, task_id task) {
    struct engine *e = ctx;
    time_ms limit = alerts_of(e)->stuck_after;
    struct task_view view;
    struct verdict v;
    if (!core_task(e->core, task, &view))
        return;
    if (e->now - view.created_at < limit)
        scan_by(e, time_add(view.created_at, limit));
    if (e->now - view.created_at >= limit / 2 && waits_at_gate(e, task, &v))
        *LIST_ADD(&alerts_of(e)->heads) = task;
}

static void begin_scan(struct engine *e, time_ms limit) {
    struct alerts *a = alerts_of(e);
    struct core_counts counts;
    a->changed = a->overdue = false;
    a->scanned_at = e->now;
    a->scan_at = TIME_NEVER;
    a->heads.count = a->waiters.count = a->queried = 0;
    check_runs(e, limit);
    core_count(e->core, &counts);
    size_t each = QUERIED_EACH / (counts.classes + 1);
    core_each_queue_head(e->core, each > 0 ? each : 1, QUERIED_EACH, add_head, e);
    query_some(e);
}

static void scan_for_stuck(struct engine *e) {
    struct alerts *a = alerts_of(e);
    time_ms limit = a->stuck_after;
    if (limit == 0 || a->is_querying)
        return;
    if (a->changed) /* tasks that begin to wait now can be stuck then */
        scan_by(e, time_add(e->now, limit));
    if (!a->is_answered && a->queried < a->heads.count)
        query_some(e);
    else if (!a->is_answered && alert_stuck_next(e) <= e->now)
        begin_scan(e, limit);
    if (a->is_answered) /* at once: what was found is still true */
        conclude_scan(e, limit);
}

/* --- causes ----------------------------------------------------------------------------------- */

/* When they arise, and when they are over. Most causes are detected where they arise, in the turn that
 * changes a task, an account, an agent or the disk. All open alerts are checked in every turn that
 * changed something. There are few of them, and nothing iterates over the tasks. */

#define EXAMPLES         3u
#define CHECK_WHILE_FULL MINUTES(1) /* nothing else would wake us when there is space again */
#define CALM_FOR         MINUTES(1) /* memory and load must be fine for this long */

static bool breaker_is_open(const struct task_spec *t) {
    if (t->state == TASK_FAILED)
        return t->reason == REASON_BREAKER;
    return t->breaker_openings > 0 && !task_state_is_final(t->state);
}

static void touch(void *ctx, task_id task) {
    struct engine *e = ctx;
    *LIST_ADD(&alerts_of(e)->touched) = task;
}

static void alerts_task_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    if (!spec)
        return;
    core_each_failed_prerequisite(e->core, task, touch, e); /* it may wait for them now */
    if (task_state_is_failure(spec->state) || breaker_is_open(spec) || is_held_by_budget(spec)
        || denied_is_held(spec))
        touch(e, task);
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

static void alerts_limiter_changed(struct engine *e, const struct limiter_row *row) {
    if (!row->spec.closed) {
        limits_opened(e, row->name);
        return;
    }
    _cleanup_(freep) char *key = xasprintf("account:%s", row->name);
    if (limits_waited_out(e, row->name))
        alert_raise(
            e, key, 0, 0,
            "account '%s' is limited for longer than limiter.max_wait_s allows: nothing that "
            "uses it starts; when it works again, 'sluice limiter clear %s'",
            row->name, row->name);
    else
        account_closed(e, key, row->name);
}

static void alerts_agent_changed(struct engine *e, const struct agent_row *row) {
    if (row->spec.openings == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    _cleanup_(freep) char *key = xasprintf("agent:%s", row->name);
    engine_put_trouble(e, TROUBLE_AGENT, row->name, &why);
    alert_raise(
        e, key, 0, 0,
        "agent '%s' could not be launched %u times in a row, whatever the task%s; look at its "
        "program "
        "('sluice agent list', agents.%s.command), then 'sluice agent clear %s'; else it is tried "
        "again by itself, later each time",
        row->name, row->spec.launch_failures, strbuf_text(&why), row->name, row->name);
}

/* A group with a member that depends on a failed task will not finish by itself. */
static void check_groups_of(struct engine *e, task_id failed, const task_id *users, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct task_spec spec;
        if (!core_task_spec(e->core, users[i], &spec) || spec.group == 0
            || spec.group > engine_group_count(e))
            continue;
        char id[2][ENGINE_ID_MAX];
        const char *name = engine_group_at(e, spec.group - 1)->name;
        _cleanup_(freep) char *key = xasprintf("group:%s", name);
        alert_raise(
            e, key, failed, 0,
            "group '%s' cannot finish: '%s' waits for '%s', which did not end well: retry that, or "
            "cancel what waits",
            name, engine_task_id(e, users[i], id[0]), engine_task_id(e, failed, id[1]));
    }
}

static void check_chain(struct engine *e, task_id task, enum task_state state) {
    task_id users[EXAMPLES + 1];
    size_t count = core_task_waiters(e->core, task, users, EXAMPLES + 1);
    if (count == 0)
        return;
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf waiting = STRBUF_INIT;
    for (size_t i = 0; i < count && i < EXAMPLES; i++)
        strbuf_printf(&waiting, "%s'%s'", i ? ", " : "", engine_task_id(e, users[i], id));
    _cleanup_(freep) char *key = xasprintf("chain:%s", engine_task_id(e, task, id));
    alert_raise(e, key, task, 0,
                "'%s' is %s, and %s%s wait%s for it: retry it, or cancel what waits", id,
                task_state_name(state), strbuf_text(&waiting),
                count > EXAMPLES ? " and others" : "", count == 1 ? "s" : "");
    check_groups_of(e, task, users, count);
}

static void check_breaker(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(freep) char *key = xasprintf("breaker:%s", engine_task_id(e, t->id, id));
    alert_raise(e, key, t->id, t->attempt,
                "'%s' could not be launched %u times in a row: %s; 'sluice why %s' says why", id,
                t->launch_failures,
                t->state == TASK_FAILED ? "it has failed, and goes on only with 'sluice retry'"
                                        : "its breaker is open, and it is tried again by itself",
                id);
}

static void check_touched(struct engine *e) {
    struct alerts *a = alerts_of(e);
    for (size_t i = 0; i < a->touched.count; i++) {
        struct task_spec spec;
        if (!core_task_spec(e->core, a->touched.items[i], &spec))
            continue;
        if (task_state_is_failure(spec.state))
            check_chain(e, spec.id, spec.state);
        if (breaker_is_open(&spec))
            check_breaker(e, &spec);
        check_held_by_budget(e, &spec);
        denied_check_task(e, &spec);
    }
    a->touched.count = 0;
}

static void check_disk(struct engine *e) {
    if (e->retries > 0) /* the store refuses this too */
        return;
    int64_t floor = config_policy(e->config)->host.disk_min_mb;
    if (host_of(e)->disk_low
        && alert_raise(
            e, "disk", 0, 0,
            "%lld MB of disk are free, the floor is %lld MB (host.disk_free_gb): nothing starts "
            "until %lld MB more are free; old finished work is being removed",
            (long long)host_of(e)->disk_free_mb, (long long)floor,
            (long long)(floor - host_of(e)->disk_free_mb)))
        log_warning("%s available_gb=%.1f", config_preset_text(e->config, PRESET_TEXT_LOW_DISK),
                    (double)host_of(e)->disk_free_mb / 1000.0);
    int64_t least = config_number(e->config, "store.min_free_mb", NULL);
    if (host_of(e)->full)
        alert_raise(
            e, "store", 0, 0,
            "%lld MB of disk are free, the store needs %lld MB (store.min_free_mb): no new task is "
            "accepted until %lld MB more are free; running tasks continue, and its end is recorded",
            (long long)host_of(e)->disk_free_mb, (long long)least,
            (long long)(least - host_of(e)->disk_free_mb));
}

/* True: it is low, a task waits for it, and it was not reported. */
static bool is_low_unreported(struct engine *e, struct floor_watch *floor, bool low,
                              const char *key) {
    struct core_counts counts;
    if (floor->since == 0 || floor->low != low)
        *floor = (struct floor_watch){ .low = low, .since = e->now };
    if (!low || engine_alert_is_open(e, key))
        return false;
    core_count(e->core, &counts); /* iterates over the classes */
    return counts.by_state[TASK_READY] > 0;
}

static void check_memory_and_load(struct engine *e) {
    const struct policy *policy = config_policy(e->config);
    int64_t floor = policy->host.memory_min_mb, most = policy->host.load_max_milli;
    if (is_low_unreported(e, &alerts_of(e)->memory,
                          host_of(e)->memory_free_mb >= 0 && host_of(e)->memory_free_mb < floor,
                          "memory"))
        alert_raise(e, "memory", 0, 0,
                    "%lld MB of memory are available, the floor is %lld MB (host.memory_free_mb): "
                    "nothing starts until there is more; running tasks continue",
                    (long long)host_of(e)->memory_free_mb, (long long)floor);
    if (is_low_unreported(e, &alerts_of(e)->load, most > 0 && host_of(e)->load_milli > most,
                          "load"))
        alert_raise(e, "load", 0, 0,
                    "the load is %.1f, the maximum is %.1f (host.load): nothing starts until it is "
                    "lower; running tasks continue",
                    (double)host_of(e)->load_milli / 1000.0, (double)most / 1000.0);
}

/* --- is it over? ----------------------------------------------------------------------------- */

static bool chain_is_over(const struct engine *e, const struct alert *alert) {
    task_id user;
    return !task_state_is_failure(state_of(e, alert->view.task))
           || core_task_waiters(e->core, alert->view.task, &user, 1) == 0;
}

static bool group_is_over(const struct engine *e, const struct alert *alert) {
    const struct engine_group *group = engine_find_group(e, subject_of(alert));
    return !group || group->closed || group->open == 0 || chain_is_over(e, alert);
}

static bool account_is_over(const struct engine *e, const struct alert *alert) {
    struct limiter_view view;
    return !core_limiter(e->core, symbol_known(e, subject_of(alert)), &view) || !view.closed;
}

static bool agent_is_over(const struct engine *e, const struct alert *alert) {
    struct agent_spec spec;
    return !core_agent_spec(e->core, symbol_known(e, subject_of(alert)), &spec)
           || spec.openings == 0;
}

static bool run_is_over(const struct engine *e, const struct alert *alert) {
    const struct live_run *run = run_find(e, alert->view.task);
    return !run || run->view.attempt != alert->attempt || alerts_of(e)->stuck_after == 0;
}

static bool floor_is_over(const struct engine *e, const struct floor_watch *floor, int64_t wanted) {
    return wanted == 0 || (floor->since > 0 && !floor->low && e->now - floor->since >= CALM_FOR);
}

static bool host_is_over(const struct engine *e, const struct alert *alert) {
    return hosts_alert_is_over(e, subject_of(alert));
}

static bool schedule_is_over(const struct engine *e, const struct alert *alert) {
    return schedules_alert_is_over(e, subject_of(alert));
}

static bool section_is_over(const struct engine *e, const struct alert *alert) {
    const struct engine_project *p = engine_find_project(e, subject_of(alert));
    return !p || p->standing != PROJECT_ORPHANED;
}

/* Over as soon as the task is deleted, or not in this state any more. */
static const struct {
    const char *kind;
    bool (*lasts)(const struct task_spec *task);
} task_kinds[] = {
    { "breaker", breaker_is_open },
    { "budget", is_held_by_budget },
    { "denied", denied_is_held },
    { "marker", marker_is_held },
};

static const struct {
    const char *kind;
    bool (*is_over)(const struct engine *e, const struct alert *alert);
} kinds[] = {
    { "account", account_is_over },       { "agent", agent_is_over },
    { "window", window_is_over },         { "chain", chain_is_over },
    { "group", group_is_over },           { "run", run_is_over },
    { "runaway", runaway_alert_is_over }, { "schedule", schedule_is_over },
    { "section", section_is_over },       { "host", host_is_over },
    { "usage", plausible_alert_is_over },
};

/* An unknown kind is over. */
static bool is_over(const struct engine *e, const struct alert *alert) {
    const struct alerts *a = alerts_of(e);
    const struct policy *policy = config_policy(e->config);
    const struct {
        const char *kind;
        bool is_over;
    } without_subject[] = {
        { "disk", !host_of(e)->disk_low },
        { "store", !host_of(e)->full },
        { "memory", floor_is_over(e, &a->memory, policy->host.memory_min_mb) },
        { "load", floor_is_over(e, &a->load, policy->host.load_max_milli) },
        { "many", a->open.count <= ALERTS_MAX / 2 },
        { "stuck", a->stuck_after == 0 }, /* else the scan clears it */
        { "webhook", !*config_text(e->config, "notify.webhook", NULL) }, /* else its sender does */
    };
    for (size_t i = 0; i < ARRAY_SIZE(without_subject); i++)
        if (alert_key_is(alert->view.key, without_subject[i].kind))
            return without_subject[i].is_over;
    struct task_spec spec;
    for (size_t i = 0; i < ARRAY_SIZE(task_kinds); i++)
        if (alert_key_is(alert->view.key, task_kinds[i].kind))
            return !core_task_spec(e->core, alert->view.task, &spec) || !task_kinds[i].lasts(&spec);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (alert_key_is(alert->view.key, kinds[i].kind))
            return kinds[i].is_over(e, alert);
    return true;
}

static bool clear_ended_alerts(struct engine *e) {
    struct alerts *a = alerts_of(e);
    bool any = false;
    for (size_t i = a->open.count; i-- > 0;) {
        if (i >= a->open.count || !is_over(e, &a->open.items[i]))
            continue;
        engine_alert_clear(e, a->open.items[i].view.key);
        any = true;
    }
    return any;
}

/* A group may wait for two failed tasks, and the reported one has recovered. */
static void check_groups_again(struct engine *e) {
    for (size_t i = 0; i < alerts_of(e)->open.count; i++) {
        struct alert alert = alerts_of(e)->open.items[i];
        task_id users[EXAMPLES + 1];
        if (alert_key_is(alert.view.key, "chain"))
            check_groups_of(e, alert.view.task, users,
                            core_task_waiters(e->core, alert.view.task, users, EXAMPLES + 1));
    }
}

static void alerts_turn(struct engine *e) {
    struct alerts *a = alerts_of(e);
    a->changed = a->changed || store_batch_count(e->turn.batch) > 0;
    check_disk(e);
    check_memory_and_load(e);
    check_touched(e);
    if (store_batch_count(e->turn.batch) > 0) {
        check_budget_window(e, 0, NULL);
        for (size_t i = 0; i < engine_project_count(e); i++)
            check_budget_window(e, project_at(e, i)->symbol, project_at(e, i)->name);
    }
    scan_for_stuck(e);
    if (a->open.count > 0 && clear_ended_alerts(e))
        check_groups_again(e);
}

static time_ms alerts_next(const struct engine *e) {
    time_ms next = alert_stuck_next(e);
    if (host_of(e)->disk_low || host_of(e)->full)
        next = time_min(next, time_add(host_of(e)->disk_read_at, CHECK_WHILE_FULL));
    if (engine_alert_is_open(e, "memory") || engine_alert_is_open(e, "load"))
        next = time_min(next, time_add(host_of(e)->read_at, CHECK_WHILE_FULL));
    return next;
}

const struct engine_part alerts_part = {
    .state_size = sizeof(struct alerts),
    .at = { [STEP_INIT] = alerts_configure,
            [STEP_UNLOAD] = alerts_forget,
            [STEP_AFTER_DECIDE] = alerts_turn,
            [STEP_CONFIGURED] = alerts_configure,
            [STEP_FREE] = alerts_free },
    .task_changed = alerts_task_changed,
    .limiter_changed = alerts_limiter_changed,
    .agent_changed = alerts_agent_changed,
    .load_note = alerts_load_note,
    .next_wakeup = alerts_next,
};
