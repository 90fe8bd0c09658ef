/* alert_stuck.c: who waits, or runs, for longer than alerts.stuck_s?
 *
 * One alert for each gate at which somebody does, not one for each task: a thousand tasks behind one lock have
 * one cause. Nothing is looked at before something can be stuck; then the oldest of each class,
 * which stand for all that wait at their gate (core/waiting.h), and the store is asked since when they are as
 * they are, some of them in each turn. One that has just come back hides those behind it until it has waited as
 * long itself: an alert may be late, by alerts.stuck_s at the most, and is not missed. What a person stopped on
 * purpose is not stuck. An alert is over when nobody waits there for half as long: a queue that moves slowly
 * is told once, not once for each of its tasks. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/waiting.h"
#include "engine/alert_internal.h"

#define ASKED_EACH 200u       /* tasks, in one turn */
#define LOOK_AGAIN MINUTES(1) /* while somebody waits for long, and something has changed */

time_ms alert_stuck_after(const struct engine *e) {
    return alerts_of(e)->stuck_after;
}

static time_ms look_again(time_ms limit) {
    return time_min(LOOK_AGAIN, limit / 2);
}

time_ms alert_stuck_next(const struct engine *e) {
    const struct alerts *a = alerts_of(e);
    time_ms limit = alert_stuck_after(e);
    if (limit == 0)
        return TIME_NEVER;
    if (a->asking)
        return TIME_NEVER; /* the answer wakes us */
    if (a->answered || a->asked < a->heads.count)
        return e->now;
    if (a->overdue && a->changed)
        return time_min(a->look_at, time_add(a->looked_at, look_again(limit)));
    return a->look_at;
}

static void sooner(struct engine *e, time_ms at) {
    alerts_of(e)->look_at = time_min(alerts_of(e)->look_at, at);
}

/* --- runs ------------------------------------------------------------------------------------ */

static void look_at_runs(struct engine *e, time_ms limit) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        time_ms start = run->view.started_at ? run->view.started_at : run->view.ordered_at;
        time_ms due = time_add(start, limit);
        if (due > e->now) {
            sooner(e, due);
            continue;
        }
        char id[ENGINE_ID_MAX];
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
        strbuf_printf(&key, "run:%s", engine_task_id(e, run->task, id));
        alert_raise(e, strbuf_text(&key), run->task, run->view.attempt,
                    "'%s' runs for %lld min already: 'sluice logs -f %s' shows what it does", id,
                    (long long)((e->now - start) / MINUTES(1)), id);
    }
}

/* --- those that wait ------------------------------------------------------------------------- */

static bool account_is_closed(const struct engine *e, sym account) {
    struct limiter_view view;
    return core_limiter(e->core, account, &view) && view.closed;
}

/* A person stopped it, or another alert says it better: one cause, one alert. */
static bool is_meant(const struct engine *e, const struct verdict *v) {
    if (v->gate == GATE_PAUSED || v->gate == GATE_PROJECT || v->gate == GATE_HELD
        || v->gate == GATE_HOST || v->gate == GATE_BREAKER)
        return true;
    if (v->gate == GATE_LIMITER && account_is_closed(e, v->key))
        return true;
    return (v->gate == GATE_DEPENDENCY || v->gate == GATE_PARENT)
           && task_state_is_failure(v->about_state);
}

static bool waits_where(const struct engine *e, task_id task, struct verdict *ret) {
    return core_blocked(e->core, task, ret) && !is_meant(e, ret);
}

static void key_of(const struct engine *e, const struct verdict *v, struct strbuf *ret) {
    strbuf_clear(ret);
    strbuf_puts(ret, "stuck:");
    verdict_code(v, core_symbols(e->core), ret);
}

static void raise_for(struct engine *e, const struct waiter *waiter, const struct verdict *v,
                      const char *key) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    if (alert_is_open(e, key))
        return;
    verdict_sentence(v, core_symbols(e->core), &e->names, &why);
    alert_raise(e, key, waiter->task, 0, "'%s' waits for %lld min already: %s",
                engine_task_id(e, waiter->task, id),
                (long long)((e->now - waiter->since) / MINUTES(1)), strbuf_text(&why));
}

static bool somebody_waits(struct engine *e, const char *key, time_ms limit) {
    _cleanup_(strbuf_finish) struct strbuf other = STRBUF_INIT;
    for (size_t i = 0; i < alerts_of(e)->waiters.count; i++) {
        const struct waiter *waiter = &alerts_of(e)->waiters.items[i];
        struct verdict v;
        if (e->now - waiter->since < limit / 2 || !waits_where(e, waiter->task, &v))
            continue;
        key_of(e, &v, &other);
        if (strcmp(strbuf_text(&other), key) == 0)
            return true;
    }
    return false;
}

static void clear_stuck(struct engine *e, time_ms limit) {
    for (size_t i = alerts_of(e)->open.count; i-- > 0;) {
        const char *key = alerts_of(e)->open.items[i].view.key;
        if (alert_key_is(key, "stuck") && !somebody_waits(e, key, limit))
            alert_clear(e, key);
    }
}

/* The store has said since when they wait. */
static void take_answer(struct engine *e, time_ms limit) {
    struct alerts *a = alerts_of(e);
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    a->answered = false;
    for (size_t i = 0; i < a->waiters.count; i++) {
        const struct waiter *waiter = &a->waiters.items[i];
        struct verdict v;
        if (!waits_where(e, waiter->task, &v))
            continue;
        if (e->now - waiter->since < limit) {
            sooner(e, time_add(waiter->since, limit));
            continue;
        }
        a->overdue = true;
        key_of(e, &v, &key);
        raise_for(e, waiter, &v, strbuf_text(&key));
    }
    clear_stuck(e, limit);
    a->heads.count = a->waiters.count = a->asked = 0;
}

/* Of each slice. All that is asked for is here before anything is concluded. */
static void answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct engine *e = ctx;
    struct alerts *a = alerts_of(e);
    a->asking = false;
    a->answered = a->asked == a->heads.count;
    for (size_t i = 0; !err && i < answer->count; i++)
        if (answer->specs[i].changed_at)
            *LIST_ADD(&a->waiters) = (struct waiter){ .task = answer->specs[i].id,
                                                      .since = answer->specs[i].changed_at };
    turn_wake(e);
}

/* The next slice: whoever is served by the loop waits no longer than that takes. */
static void ask_some(struct engine *e) {
    struct alerts *a = alerts_of(e);
    size_t left = a->heads.count - a->asked;
    struct store_question question = { .kind = ASK_CHANGED,
                                       .tasks = a->heads.items + a->asked,
                                       .task_count = left < ASKED_EACH ? left : ASKED_EACH };
    a->asked += question.task_count;
    a->asking = true;
    if (question.task_count > 0)
        store_ask(e->store, &question, answered, e);
    else
        answered(e, &(struct store_answer){ 0 }, NULL);
}

/* Those that are too young to wait for long, and those that nobody need be told of, are not asked about. */
static void see_head(void *ctx, task_id task) {
    struct engine *e = ctx;
    time_ms limit = alert_stuck_after(e);
    struct task_view view;
    struct verdict v;
    if (!core_task(e->core, task, &view))
        return;
    if (e->now - view.created_at < limit)
        sooner(e, time_add(view.created_at, limit));
    if (e->now - view.created_at >= limit / 2 && waits_where(e, task, &v))
        *LIST_ADD(&alerts_of(e)->heads) = task;
}

static void look(struct engine *e, time_ms limit) {
    struct alerts *a = alerts_of(e);
    struct core_counts counts;
    a->changed = a->overdue = false;
    a->looked_at = e->now;
    a->look_at = TIME_NEVER;
    a->heads.count = a->waiters.count = a->asked = 0;
    look_at_runs(e, limit);
    core_count(e->core, &counts);
    size_t each = ASKED_EACH / (counts.classes + 1);
    core_each_head(e->core, each > 0 ? each : 1, ASKED_EACH, see_head, e);
    ask_some(e);
}

void alert_look_for_stuck(struct engine *e) {
    struct alerts *a = alerts_of(e);
    time_ms limit = alert_stuck_after(e);
    if (limit == 0 || a->asking)
        return;
    if (a->changed) /* whoever comes to wait now can be stuck then */
        sooner(e, time_add(e->now, limit));
    if (!a->answered && a->asked < a->heads.count)
        ask_some(e);
    else if (!a->answered && alert_stuck_next(e) <= e->now)
        look(e, limit);
    if (a->answered) /* at once: what was seen is still so */
        take_answer(e, limit);
}
