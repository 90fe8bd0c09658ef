/* books.c: rows, places and the way of facts and orders into the books. See books.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "books_internal.h"

void books_init(struct books *b, struct breach *breach, bool audit) {
    memset(b, 0, sizeof(*b));
    b->breach = breach;
    b->audit = audit;
    b->budget = UNLIMITED;
    b->disk = b->memory = b->load = -1;
    b->count = 1;
    b->synced = true;
    policy_default(&b->policy);
    for (unsigned k = 0; k < KEY_MAX; k++)
        b->cap[k] = UNLIMITED;
    for (unsigned k = KEY_WORKSPACE; k < KEY_MAX; k++)
        b->cap[k] = 1;
    b->applied[KEY_RUNS] = b->applied[KEY_ROOTS] = true;
}

void books_finish(struct books *b) {
    for (unsigned p = 0; p <= PROJECTS; p++)
        free(b->project[p].charged);
    free(b->rows);
    free(b->touched);
}

struct row *books_named(struct books *b, task_id id) {
    size_t before = b->count;
    if (id >= before) {
        b->rows = xgrow(b->rows, &b->capacity, id + 1, sizeof(*b->rows));
        memset(b->rows + before, 0, (id + 1 - before) * sizeof(*b->rows));
        b->count = id + 1;
        for (size_t i = before; i <= id; i++)
            b->rows[i].id = i;
    }
    return &b->rows[id];
}

void books_touch(struct books *b, task_id id) {
    b->touched = xgrow(b->touched, &b->touched_capacity, b->touched_count + 1, sizeof(*b->touched));
    b->touched[b->touched_count++] = id;
}

static bool is_queued(enum task_state state) {
    return state == TASK_WAITING || state == TASK_READY;
}

static bool is_open(enum task_state state) {
    return state != TASK_ABSENT && !task_state_is_final(state);
}

/* Every change of a state goes through here: all counts are kept in one place. */
void books_set_state(struct books *b, struct row *row, enum task_state state) {
    enum task_state from = row->state;
    struct project_book *project = &b->project[row->project];
    row->state = state;
    b->by_state[from]--;
    b->by_state[state]++;
    b->queued[row->kind] += (uint32_t)is_queued(state) - (uint32_t)is_queued(from);
    project->ready += (uint32_t)(state == TASK_READY) - (uint32_t)(from == TASK_READY);
    project->live += (uint32_t)task_state_is_live(state) - (uint32_t)task_state_is_live(from);
    if (row->group) {
        struct group_book *group = &b->group[row->group];
        group->total += (uint32_t)(state != TASK_ABSENT) - (uint32_t)(from != TASK_ABSENT);
        group->open += (uint32_t)is_open(state) - (uint32_t)is_open(from);
        if (group->total == 0)
            group->reported_closed = false;
    }
    if (state == TASK_READY) {
        row->ready_clock = books_wait_clock(b, row);
        row->enqueued_at = b->now;
    }
    books_touch(b, row->id);
}

unsigned books_limiter_of(const struct books *b, const struct row *row) {
    return row->limiter ? row->limiter : b->agent[row->agent].limiter;
}

bool books_prerequisites(const struct books *b, const struct row *row) {
    if (row->artifact_missing || row->probe_closed)
        return false;
    for (unsigned i = 0; i < row->dependency_count; i++) {
        const struct row *on = books_row(b, row->depends_on[i]);
        if (!on || on->state != TASK_DONE)
            return false;
    }
    if (!row->parent || row->parent_gate == PARENT_NONE)
        return true;
    const struct row *parent = books_row(b, row->parent);
    return parent && (parent->state == TASK_DONE || parent->was_done);
}

/* With `count_launches`: it would be ready, but fails instead. */
bool books_launches_spent(const struct books *b, const struct row *row) {
    return b->policy.count_launches && (row->until == UNTIL_DONE || row->until == UNTIL_VALIDATE)
           && row->restarts >= b->policy.retry[RETRY_UNFINISHED].max;
}

uint32_t books_depth(const struct books *b, const struct row *row) {
    uint32_t depth = 0;
    while (row && row->state != TASK_ABSENT && row->parent) {
        depth++;
        row = books_row(b, row->parent);
    }
    return depth;
}

bool books_keeps_parent_draining(const struct books *b, const struct row *parent) {
    for (task_id id = parent->first_child; id; id = b->rows[id].next_sibling) {
        const struct row *child = &b->rows[id];
        if (child->parent_gate != PARENT_NONE || child->state == TASK_ABSENT)
            continue;
        if (b->policy.drain_active_only ? task_state_is_live(child->state)
                                        : !task_state_is_final(child->state))
            return true;
    }
    return false;
}

uint8_t books_kept_needed(const struct books *b, const struct row *row) {
    unsigned needed = KEPT_TASK;
    if (!row->parent)
        needed |= KEPT_ROOT;
    if (row->review)
        needed |= KEPT_REVIEW;
    if (b->project[row->project].spec.workspaces_kept)
        needed |= KEPT_PLACE;
    return (uint8_t)needed;
}

/* The lease table of docs/internals/rules.md §2, read as "who holds what right now". */
size_t books_held(const struct books *b, const struct row *row, uint16_t ret[HELD_KEYS_MAX]) {
    size_t n = 0;
    if (row->kept & KEPT_ROOT)
        ret[n++] = KEY_ROOTS;
    if (row->kept & KEPT_REVIEW)
        ret[n++] = (uint16_t)(KEY_REVIEW + row->project);
    if (row->kept & KEPT_PLACE)
        ret[n++] = (uint16_t)(KEY_PLACES + row->project);
    if (!task_state_is_live(row->state) || row->phase == PHASE_DRAINING)
        return n;
    if (!books_has_lent(b, row, LEND_RUNS))
        ret[n++] = KEY_RUNS;
    if (!books_has_lent(b, row, LEND_PROJECT))
        ret[n++] = (uint16_t)(KEY_PROJECT + row->project);
    if (row->kind && !books_has_lent(b, row, LEND_KIND))
        ret[n++] = (uint16_t)(KEY_KIND + row->kind);
    if (row->run_agent && !books_has_lent(b, row, LEND_AGENT))
        ret[n++] = (uint16_t)(KEY_AGENT + row->run_agent);
    if (row->run_limiter && !row->limiter_given && !books_has_lent(b, row, LEND_LIMITER))
        ret[n++] = (uint16_t)(KEY_LIMITER + row->run_limiter);
    if (row->workspace)
        ret[n++] = (uint16_t)(KEY_WORKSPACE + row->workspace);
    if (!row->parallelizable)
        ret[n++] = (uint16_t)serial_key(row->project, row->phase_name, row->kind);
    if (!b->project[row->project].spec.workspaces_kept)
        ret[n++] = (uint16_t)(KEY_PLACES + row->project);
    for (unsigned r = 1; r <= RESOURCES; r++) {
        if (row->resources & (1u << r))
            ret[n++] = (uint16_t)(KEY_RESOURCE + r);
    }
    return n;
}

void books_leave_places(struct books *b, const struct row *row) {
    uint16_t keys[HELD_KEYS_MAX];
    size_t count = b->audit ? books_held(b, row, keys) : 0;
    for (size_t i = 0; i < count; i++)
        b->used[keys[i]]--;
}

void books_take_places(struct books *b, const struct row *row) {
    uint16_t keys[HELD_KEYS_MAX];
    size_t count = b->audit ? books_held(b, row, keys) : 0;
    for (size_t i = 0; i < count; i++)
        b->used[keys[i]]++;
}

static bool search(struct books *b, task_id from, task_id goal, bool any_parent) {
    struct row *row = books_row(b, from);
    if (from == goal)
        return true;
    if (!row || row->mark == b->searches)
        return false;
    row->mark = b->searches;
    for (unsigned i = 0; i < row->dependency_count; i++) {
        if (search(b, row->depends_on[i], goal, any_parent))
            return true;
    }
    return row->parent && (any_parent || row->parent_gate == PARENT_DONE)
           && search(b, row->parent, goal, any_parent);
}

bool books_waits_for(struct books *b, task_id from, task_id goal, bool any_parent) {
    b->searches++;
    return search(b, from, goal, any_parent);
}

/* --- facts ----------------------------------------------------------------------------------- */

void books_applied(struct books *b, const struct fact *fact, int result) {
    if (result != 0)
        return;
    if (fact->kind < FACT_TASK_ADDED || fact->kind == FACT_LIMITER_CLEAR) {
        books_applied_world(b, fact);
    } else {
        if (fact->kind != FACT_TASK_ADDED) {
            struct row *row = books_task(b, fact->task);
            if (!row) {
                breach_set(b->breach, "I1", "%s of task %" PRIu64 ", which is gone, was accepted",
                           fact_kind_name(fact->kind), fact->task);
                return;
            }
            row->asked |= UINT64_C(1) << fact->kind;
            books_touch(b, fact->task);
        }
        if (fact->kind < FACT_ORDER_REFUSED)
            books_applied_task(b, fact);
        else
            books_applied_run(b, fact);
    }
    if (fact->kind != FACT_CLOCK)
        b->synced = false;
}

/* --- orders ---------------------------------------------------------------------------------- */

void books_begin_decision(struct books *b) {
    b->deciding = false;
}

/* Timers have run and the starts begin: what holds during the decision. */
static void begin_starts(struct books *b) {
    if (b->deciding)
        return;
    b->deciding = true;
    share_begin_decision(b);
    bool due = !b->tick_running || b->policy.pace.tick == 0
               || b->now >= time_add(b->tick_began, b->policy.pace.tick);
    bool by_itself = due && b->by_state[TASK_READY] > 0;
    b->tick_before.is_extra = false;
    if (!b->tick_requested && !by_itself)
        return; /* by itself a tick begins only when something waits */
    b->tick_before.is_extra = !by_itself;
    b->tick_before.was_running = b->tick_running;
    b->tick_before.began = b->tick_began;
    b->tick_before.starts = b->tick_starts;
    b->tick_running = true;
    b->ticks++;
    b->tick_requested = false;
    b->tick_began = b->now;
    b->tick_starts = 0;
}

static void ordered_start(struct books *b, struct row *row, const struct order *order) {
    begin_starts(b);
    if (b->audit)
        audit_start(b, row, order);
    struct row *lender = books_task(b, order->lender);
    books_leave_places(b, row);
    if (lender) {
        books_leave_chain(b, lender);
        books_lend(b, lender, row, index_of(SYM_AGENT, order->agent));
    }
    row->attempt++;
    row->run_agent = (uint8_t)index_of(SYM_AGENT, order->agent);
    row->run_limiter = (uint8_t)index_of(SYM_LIMITER, order->limiter);
    row->kept_new = (uint8_t)(books_kept_needed(b, row) & ~row->kept);
    row->kept |= row->kept_new;
    row->phase = PHASE_WORKING;
    row->alive = true;
    row->limiter_given = false;
    row->wish = WISH_NONE;
    row->started_at = b->now;
    row->reported = row->money = -1;
    row->expected = 0;
    row->tick = b->ticks;
    row->ready_clock_before = row->ready_clock;
    row->enqueued_before = row->enqueued_at;
    books_set_state(b, row, TASK_STARTING);
    books_take_chain(b, row);
    share_start(b, row);
    b->tick_starts++;
    b->last_start = b->now;
    b->ever_started = true;
}

/* The iteration of a task rose: live ones below are to be invalidated. */
static void wish_invalid(struct books *b, struct row *row) {
    if (task_state_is_live(row->state) && row->alive && row->wish < WISH_INVALIDATE)
        row->wish = WISH_INVALIDATE;
    for (task_id id = row->first_child; id; id = b->rows[id].next_sibling)
        wish_invalid(b, &b->rows[id]);
}

static void iteration_rose(struct books *b, const struct row *row) {
    for (task_id id = row->first_child; id; id = b->rows[id].next_sibling) {
        struct row *child = &b->rows[id];
        if (child->state == TASK_ABSENT || child->parent_gate != PARENT_DONE
            || child->parent_iteration >= row->iteration)
            continue;
        child->of_older_iteration = false;
        wish_invalid(b, child);
    }
}

static void reset_counters(struct row *row) {
    row->failures = row->launch_failures = row->losses = row->restarts = row->openings = 0;
}

/* In a burst, a stop may have been ordered before the end was reported: then nothing was counted. */
static void uncount_end(struct row *row) {
    row->failures = row->before_end[0];
    row->launch_failures = row->before_end[1];
    row->losses = row->before_end[2];
    row->restarts = row->before_end[3];
}

static void change_by_reason(struct books *b, struct row *row, const struct order *order) {
    bool by_wish = order->reason == REASON_INVALIDATED || order->reason == REASON_ORPHANED
                   || order->reason == REASON_CANCELED || order->reason == REASON_TAKEN;
    if (by_wish && (row->asked & (UINT64_C(1) << FACT_RUN_ENDED)) && task_state_is_live(order->from)
        && row->phase != PHASE_DRAINING)
        uncount_end(row);
    bool is_retried = order->reason == REASON_RETRIED
                      || (order->reason == REASON_TAKEN && task_state_is_failure(order->from));
    if (order->reason == REASON_CLEARED || is_retried)
        reset_counters(row);
    if (order->reason == REASON_REJECTED)
        row->kept &= (uint8_t)~KEPT_REVIEW;
    if (task_state_is_live(order->from) && (row->asked & (UINT64_C(1) << FACT_ORDER_REFUSED))) {
        row->kept &= (uint8_t)~row->kept_new;
        row->attempt--;
        row->undone = order->reason != REASON_TAKEN; /* which is a new wait */
    }
    if (is_retried && row->parent && row->parent_gate == PARENT_DONE) {
        const struct row *parent = books_task(b, row->parent);
        row->of_older_iteration = parent && row->parent_iteration < parent->iteration;
    }
}

static void ordered_change(struct books *b, struct row *row, const struct order *order) {
    if (b->audit)
        audit_change(b, row, order);
    bool drains = order->to == TASK_RUNNING && order->reason == REASON_DRAIN;
    bool ends = task_state_is_live(order->from) && row->phase != PHASE_DRAINING
                && (drains || !task_state_is_live(order->to));
    struct row *lender = books_task(b, row->lender);
    books_leave_chain(b, row);
    change_by_reason(b, row, order);
    if (drains) {
        row->phase = PHASE_DRAINING;
        row->not_before = time_add(b->now, b->policy.drain);
    } else {
        row->not_before = order->to == TASK_HELD ? order->until : 0;
        row->hold = order->to == TASK_HELD || order->hold == HOLD_TAKEN ? order->hold : HOLD_NONE;
    }
    if (task_state_is_final(order->to) || order->to == TASK_DRAFT)
        row->kept = 0;
    books_set_state(b, row, order->to);
    if (order->to == TASK_READY && row->undone) {
        row->ready_clock = row->ready_clock_before;
        row->enqueued_at = row->enqueued_before;
    }
    if (!task_state_is_live(order->to))
        row->alive = false;
    if (ends)
        books_lend_ended(b, row);
    books_take_places(b, row);
    books_take_chain(b, lender);
    if (order->to == TASK_DONE)
        share_record(b, row->project, b->now, &(struct bucket){ .completions = 1 });
    if (order->iteration > row->iteration) {
        row->iteration = order->iteration;
        iteration_rose(b, row);
    }
}

static void ordered_stop(struct books *b, struct row *row, const struct order *order) {
    if (b->audit)
        audit_stop(b, row, order);
    row->phase = PHASE_STOPPING;
    enum wish wish = order->reason == REASON_ORPHANED      ? WISH_ORPHAN
                     : order->reason == REASON_INVALIDATED ? WISH_INVALIDATE
                     : order->reason == REASON_TAKEN       ? WISH_TAKE
                                                           : WISH_CANCEL;
    if (row->alive && wish > row->wish)
        row->wish = wish;
    books_touch(b, row->id);
}

static void ordered_group(struct books *b, const struct order *order) {
    if (order->group == 0 || order->group > GROUPS) {
        breach_set(b->breach, "I7", "an order about group %" PRIu32, order->group);
        return;
    }
    struct group_book *group = &b->group[order->group];
    bool closed = order->to == TASK_DONE;
    if (closed == group->reported_closed)
        breach_set(b->breach, "I7", "group %" PRIu32 " was told to be %s twice", order->group,
                   closed ? "closed" : "open");
    group->reported_closed = closed;
}

void books_ordered(struct books *b, const struct order *order) {
    if (order->kind == ORDER_GROUP) {
        ordered_group(b, order);
        return;
    }
    struct row *row = books_task(b, order->task);
    if (!row) {
        breach_set(b->breach, "I1", "an order about task %" PRIu64 ", which is not there",
                   order->task);
        return;
    }
    if (order->kind == ORDER_ESCALATE)
        books_ordered_step(b, row, order);
    else if (order->kind == ORDER_START && row->step_due)
        breach_set(b->breach, "I32", "task %" PRIu64 " starts without the order for its step",
                   order->task);
    else if (order->kind == ORDER_START)
        ordered_start(b, row, order);
    else if (order->kind == ORDER_STOP)
        ordered_stop(b, row, order);
    else
        ordered_change(b, row, order);
}

void books_decided(struct books *b) {
    begin_starts(b);
    if (!b->tick_before.is_extra || b->tick_starts > 0)
        return;
    b->tick_before.is_extra =
        false; /* a tick that was asked for and started nothing has not been */
    b->tick_running = b->tick_before.was_running;
    b->tick_began = b->tick_before.began;
    b->tick_starts = b->tick_before.starts;
    b->ticks--;
}

void books_end_turn(struct books *b) {
    for (size_t i = 0; i < b->touched_count; i++) {
        struct row *row = books_row(b, b->touched[i]);
        row->asked = 0;
        row->undone = false;
        row->end = (struct expected_end){ 0 };
    }
    b->touched_count = 0;
    b->synced = true;
}
