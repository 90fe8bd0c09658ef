/* turn.c: turns what happened and what was requested into one commit, then into answers and
 * effects.
 *
 * Everything is applied to the core first, so one transaction holds the requests of this turn,
 * their consequences and the starts they allow: a submit that starts at once costs one fsync.
 * Nothing is answered, started or stopped before that commit is known to be on disk.
 *
 * The price: when the commit FAILED, the core knows things that never happened. It is rebuilt from
 * the rows by the code that runs after a crash; reports of the executor are kept and applied
 * again. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/event_kinds.h"
#include "engine/note.h"
#include "engine/redaction.h"
#include "os/clock.h"
#include "os/log.h"

#define RETRY_AFTER  SECONDS(1)
#define RETRY_MOST   MINUTES(1)
#define REBUILD_LONG 100 /* ms; if it is faster, every request may try */
#define RETRY_PART   10  /* at most a tenth of the time goes into rebuilds that may be in vain */

/* A commit takes requests until it has this many rows; the rest follows in the next round, after
 * ends and clients that arrived meanwhile. One request may bring 10,000 tasks, two rows each. */
#define ROWS_PER_TURN     20000u
#define REQUESTS_PER_TURN 4096u

void turn_wake(struct engine *e) {
    loop_again(e->loop);
}

void turn_wrote(struct engine *e) {
    if (e->turn.current)
        e->turn.current->wrote = true;
}

time_ms turn_wall_clock(const struct engine *e) {
    return loop_now(e->loop);
}

time_ms turn_clock_offset(const struct engine *e) {
    return loop_now(e->loop) - (e->wall_at_start + loop_now_steady(e->loop) - e->steady_at_start);
}

char *turn_text(struct engine *e, const char *text) {
    return text ? arena_strdup(&e->turn.arena, text) : NULL;
}

void turn_break(struct engine *e, const struct error *why) {
    if (e->broken.code == 0)
        e->broken = *why;
    if (e->broken.code >= 0)
        e->broken.code = -EIO;
    if (!e->committing) /* else the end of that commit does: the store still owns the batch */
        loop_stop(e->loop);
}

bool turn_is_over(const struct engine *e) {
    return e->broken.code != 0 || store_why_broken(e->store);
}

/* Calls `done` of requests that were not abandoned, so that their owners can free them. */
void turn_refuse_queued(struct engine *e) {
    struct error err = { 0 };
    error_set(&err, -ESHUTDOWN, "the daemon ends");
    while (e->queue) {
        struct engine_request *request = e->queue;
        e->queue = request->next;
        request->done(e, request, STORE_FAILED, &err);
    }
    e->queue_end = &e->queue;
}

void turn_finish(struct engine *e) {
    struct turn *t = &e->turn;
    store_batch_free(t->batch);
    arena_finish(&t->arena);
    free(t->starts.items);
    free(t->stops.items);
    free(t->events.items);
    free(t->finals.items);
}

/* --- requests -------------------------------------------------------------------------------- */

void engine_request(struct engine *e, struct engine_request *request) {
    request->next = NULL;
    request->wrote = request->cancels = false;
    *e->queue_end = request;
    e->queue_end = &request->next;
    turn_wake(e);
}

bool request_unlink(struct engine_request **list, struct engine_request *request) {
    for (; *list; list = &(*list)->next)
        if (*list == request) {
            *list = request->next;
            return true;
        }
    return false;
}

void engine_request_abandon(struct engine *e, struct engine_request *request) {
    if (request_unlink(&e->queue, request)) {
        e->queue_end = &e->queue;
        while (*e->queue_end)
            e->queue_end = &(*e->queue_end)->next;
    } else if (!request_unlink(&e->turn.requests, request)) {
        PARTS_CALL(abandoned, e, request);
    }
}

static void run_requests(struct engine *e) {
    struct engine_request **end = &e->turn.requests;
    while (*end)
        end = &(*end)->next;
    for (unsigned n = 0;
         e->queue && n < REQUESTS_PER_TURN && store_batch_count(e->turn.batch) < ROWS_PER_TURN;
         n++) {
        struct engine_request *request = e->queue;
        e->queue = request->next;
        if (!e->queue)
            e->queue_end = &e->queue;
        request->next = NULL;
        *end = request;
        end = &request->next;
        e->turn.current = request;
        (void)request->run(e, request); /* its own `done` reports the refusal */
        e->turn.current = NULL;
    }
}

static void answer_requests(struct engine *e, enum store_outcome outcome, const struct error *err) {
    while (e->turn.requests) {
        struct engine_request *request = e->turn.requests;
        e->turn.requests = request->next;
        request->next = NULL;
        if (outcome == STORE_OK && parts_hold_answer(e, request))
            continue;
        bool concerned = request->wrote && outcome != STORE_OK;
        request->done(e, request, concerned ? outcome : STORE_OK, concerned ? err : NULL);
    }
}

/* --- doing ----------------------------------------------------------------------------------- */

int engine_apply(struct engine *e, const struct fact *fact, struct error *err) {
    PARTS_CALL(applying, e, fact);
    int r = core_apply(e->core, fact, err);
    e->stats.facts++;
    if (fact->kind == FACT_CANCEL && r >= 0 && e->turn.current) /* the second cancel waits, too */
        e->turn.current->cancels = true;
    if (r != 0)
        return r;
    PARTS_CALL(applied, e, fact);
    turn_wrote(e);
    return 0;
}

void engine_event(struct engine *e, const char *kind, task_id task, uint32_t attempt,
                  const char *data) {
    assert(event_kind_is_known(kind));
    struct event_row *row = LIST_ADD(&e->turn.events);
    *row = (struct event_row){
        .seq = ++e->last_event,
        .at = e->now,
        .kind = turn_text(e, kind),
        .task = task,
        .attempt = attempt,
        .data = redaction_turn_text(e, data),
    };
    if (e->first_event == 0)
        e->first_event = row->seq;
    store_add_event(e->turn.batch, row);
    turn_wrote(e);
}

void engine_store_answer(struct engine *e, const char *key, int status, const char *answer) {
    struct key_row row = { .key = key, .at = e->now, .status = status, .answer = answer };
    store_add_key(e->turn.batch, &row);
    turn_wrote(e);
}

/* --- orders ---------------------------------------------------------------------------------- */

/* Another agent takes over, and until when. */
static void put_replacement(const struct engine *e, const struct order *o, struct json_writer *w) {
    const struct symbol_table *symbols = core_symbols(e->core);
    json_put_string(w, "agent", symbol_name(symbols, o->agent));
    json_put_string(w, "instead_of", symbol_name(symbols, o->instead_of));
    json_write_key(w, "instead_until");
    if (o->instead_until == TIME_NEVER)
        json_write_null(w);
    else
        json_write_int(w, o->instead_until);
}

void turn_write_state(struct engine *e, const struct order *o) {
    /* `task.added` already covers a task that was added in this turn. */
    if (o->task >= e->turn.first_added && o->from == TASK_WAITING && o->to == TASK_READY)
        return;
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "from", task_state_name(o->from));
    json_put_string(w, "to", task_state_name(o->to));
    json_put_string(w, "reason", reason_name(o->reason));
    if (o->to == TASK_HELD) {
        json_put_string(w, "hold", hold_name(o->hold));
        if (o->until)
            json_put_int(w, "until", o->until);
    }
    if (o->instead_of)
        put_replacement(e, o, w);
    event_end(e, &data, "task.state", o->task, o->attempt);
}

/* Writes the orders of the core; effects are kept until after the commit. */
static void take_orders(struct engine *e) {
    char id[ENGINE_ID_MAX];
    size_t count = 0;
    const struct order *orders = core_decide(e->core, &count);
    for (size_t i = 0; i < count; i++) {
        const struct order *o = &orders[i];
        switch (o->kind) {
        case ORDER_START:
            *LIST_ADD(&e->turn.starts) = *o;
            turn_write_state(e, o);
            break;
        case ORDER_STOP:
            *LIST_ADD(&e->turn.stops) = *o;
            engine_event(e, "run.stopping", o->task, o->attempt, NULL);
            break;
        case ORDER_CHANGE:
            turn_write_state(e, o);
            if (task_state_is_final(o->to))
                *LIST_ADD(&e->turn.finals) = o->task;
            /* The event has it too; this helps a person who searches the log for a cause. */
            if (o->to == TASK_DONE && o->reason == REASON_DRAIN_TIMEOUT)
                log_warning("task '%s' is done although its children are not: it has waited for "
                            "drain_s",
                            engine_task_id(e, o->task, id));
            break;
        case ORDER_ESCALATE:
        case ORDER_GROUP:
        case ORDER_KIND_MAX:
            break;
        }
        PARTS_CALL(ordered, e, o, count - i);
    }
    e->stats.orders += count;
}

/* --- the commit ------------------------------------------------------------------------------ */

static void clear_turn(struct engine *e) {
    struct turn *t = &e->turn;
    store_batch_clear(t->batch);
    t->rewired = 0;
    t->configured = false;
    t->ends = 0;
    t->ran = (struct engine_spans){ 0 };
    t->starts.count = t->stops.count = t->events.count = t->finals.count = 0;
    arena_reset(&t->arena);
}

static void carry_out(struct engine *e) {
    for (size_t i = 0; i < e->turn.events.count; i++)
        if (e->publish)
            e->publish(e->publish_ctx, &e->turn.events.items[i]);
    e->committed_event = e->last_event;
    e->stats.starts += e->turn.starts.count;
    struct task_spec spec; /* it is starting, but ready_since is still set */
    for (size_t i = 0; i < e->turn.starts.count; i++)
        if (core_task_spec(e->core, e->turn.starts.items[i].task, &spec) && spec.ready_since)
            spans_add(&e->stats.queued, e->now - spec.ready_since);
    e->stats.ends += e->turn.ends;
    spans_add_all(&e->stats.ran, &e->turn.ran);
    /* Before the answers: a client that knows that a task is canceled must not see it begin. */
    parts_step(e, STEP_STOP);
    answer_requests(e, STORE_OK, NULL);
    for (size_t i = 0; i < e->turn.events.count; i++)
        PARTS_CALL(publish, e, &e->turn.events.items[i]);
    parts_step(e, STEP_CARRY_OUT);
}

/* Rolls back the turn: rebuilds the core from the rows. */
static void undo(struct engine *e, const struct error *why) {
    struct error err = { 0 };
    bool configured = e->turn.configured;
    time_ms began = clock_read_steady();
    e->stats.failed_commits++;
    if (e->retries++ == 0)
        log_warning("what happened cannot be stored; it is kept and tried again: %s", why->text);
    clear_turn(e);
    parts_step(e, STEP_UNDONE);
    if (load_core(e, &err) < 0)
        turn_break(e, &err);
    else
        parts_step(e, STEP_REBUILT);
    if (configured && e->broken.code == 0)
        engine_event(e, "config.changed", 0, 0, NULL); /* the configuration stays */
    time_ms took = clock_read_steady() - began;
    e->start_pending = true;
    e->refused = *why;
    e->rebuild = took;
    e->retry_at = time_add(e->now, time_min(time_max(RETRY_AFTER, RETRY_PART * took), RETRY_MOST));
    answer_requests(e, STORE_FAILED, why);
}

bool engine_is_failing(const struct engine *e, struct error *ret_why) {
    if (e->retries == 0 || e->retry_at <= e->now || e->rebuild < REBUILD_LONG)
        return false;
    *ret_why = e->refused;
    return true;
}

static void stored(struct engine *e) {
    bool wrote = store_batch_count(e->turn.batch) > 0;
    e->stats.commits += wrote;
    if (wrote && e->retries > 0) {
        log_info("the store takes commits again; %u have failed", e->retries);
        e->retries = 0;
    }
    if (wrote)
        e->retry_at = 0;
    parts_step(e, STEP_STORED);
    carry_out(e);
    clear_turn(e);
}

/* --- the turn -------------------------------------------------------------------------------- */

static time_ms next_wakeup(const struct engine *e) {
    time_ms next = time_min(core_next_wakeup(e->core), parts_next_wakeup(e));
    if (e->retry_at > e->now) /* the store refused: retry then, with what was kept */
        next = e->retry_at;
    return next;
}

static void arm_timer(struct engine *e) {
    time_ms next = next_wakeup(e);
    if (next != TIME_NEVER)
        next = time_add(time_max(next - e->wall_at_start, 0), e->steady_at_start);
    loop_timer_set(e->loop, e->timer, next);
}

static bool has_work(const struct engine *e) {
    if (e->queue)
        return true;
    if (e->retry_at > e->now)
        return false;
    return e->start_pending || next_wakeup(e) <= e->now || parts_have_work(e);
}

static void committed(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct engine *e = ctx;
    e->committing = false;
    if (e->broken.code && outcome != STORE_UNKNOWN) { /* the next start finds what it did */
        outcome = STORE_UNKNOWN;
        err = &e->broken;
    }
    switch (outcome) {
    case STORE_OK:
        stored(e);
        break;
    case STORE_FAILED:
        undo(e, err);
        break;
    case STORE_UNKNOWN:
    case STORE_OUTCOME_MAX:
        /* It may be on disk or not: only a restart shows which. Nothing is carried out. */
        turn_break(e, err);
        answer_requests(e, STORE_UNKNOWN, err);
        return;
    }
    if (e->broken.code)
        return;
    int64_t took = clock_read_steady_us() - e->turn.began_us;
    e->stats.last_turn_us = took;
    if (took > e->stats.slowest_turn_us)
        e->stats.slowest_turn_us = took;
    parts_step(e, STEP_TURN_END);
    if (has_work(e))
        turn_wake(e);
    arm_timer(e);
}

static void make_turn(struct engine *e) {
    if (!e->started || e->committing || turn_is_over(e))
        return;
    /* Wall-clock time at the start, advanced by the monotonic clock: a jump of the wall clock
     * neither stops a timer nor opens a gate early. */
    e->now = time_max(e->now, e->wall_at_start + loop_now_steady(e->loop) - e->steady_at_start);
    if (!has_work(e)) {
        arm_timer(e);
        return;
    }
    e->stats.turns++;
    e->start_pending = false;
    e->turn.began_us = clock_read_steady_us();
    e->turn.first_added = e->last_task + 1;
    struct fact clock = { .kind = FACT_CLOCK, .now = e->now };
    (void)core_apply(e->core, &clock, NULL);
    parts_step(e, STEP_BEGIN);
    if (e->retry_at <= e->now)
        parts_step(e, STEP_FACTS);
    run_requests(e);
    parts_step(e, STEP_BEFORE_DECIDE);
    take_orders(e);
    rows_write_all(e);
    parts_step(e, STEP_AFTER_DECIDE);
    e->committing = true;
    store_commit(e->store, e->turn.batch, committed, e);
    /* While the commit is in flight, what a request does does not delay its answer. */
    for (struct engine_request *r = e->turn.requests; r && e->committing; r = r->next)
        if (r->decided)
            r->decided(e, r);
}

void engine_turn(struct engine *e) {
    /* A store may break while idle: its server is down, or another daemon has taken over. A commit
     * in flight reports this itself. */
    const struct error *why = store_why_broken(e->store);
    if (why && !e->committing && e->broken.code == 0)
        turn_break(e, why);
    make_turn(e);
    parts_step(e, STEP_ROUND_END);
}
