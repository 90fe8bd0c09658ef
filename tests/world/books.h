/* books.h: what an observer outside the core knows, kept from facts and orders alone.
 *
 * The books are the durable rows of a daemon and the accounts of an auditor in one. They are never
 * filled from what the core says when it is asked: a fact that was accepted (books_told) and an
 * order that was given (books_ordered) change them, by the rules of docs/internals/rules.md, and the checks
 * then compare them with the core's own answers. What does not fit is a breach.
 *
 * A turn:  books_told for each fact; books_begin_decision, books_ordered for each order,
 *          books_decided; then the checks; then books_end_turn.
 * Synced:  after a decision the books know every state. After the first fact of a turn they know
 *          what was asked but not what became of it, so exact expectations hold for the first. */
#pragma once

#include "base/alloc.h"
#include "breach.h"
#include "core/core.h"
#include "names.h"

#define DEPENDENCIES 4
#define BUCKETS      288

/* What a task keeps between two runs. */
enum kept {
    KEPT_TASK = 1u << 0,
    KEPT_ROOT = 1u << 1,
    KEPT_REVIEW = 1u << 2,
    KEPT_PLACE = 1u << 3,
};

/* What is to become of a task whose run was ordered to stop; the stronger wins. */
enum wish { WISH_NONE, WISH_TAKE, WISH_CANCEL, WISH_INVALIDATE, WISH_ORPHAN };

/* What the rules say must follow the end of a run. */
struct expected_end {
    bool exact; /* else only legal */
    bool success;
    enum task_state to;
    enum hold hold;
    enum reason reason;
    time_ms until_from, until_to; /* with HELD */
    time_ms pause;                /* that the end asked for */
};

struct row {
    /* as it was submitted */
    task_id id, parent;
    time_ms created_at;
    task_id depends_on[DEPENDENCIES];
    uint8_t dependency_count;
    uint8_t project, kind, agent, limiter, workspace, phase_name;
    uint8_t resources; /* bit i: resource i */
    bool parallelizable, review, artifact_missing, probe_closed, bound;
    enum until until;
    enum parent_gate parent_gate;
    int32_t priority, retry_max;
    uint32_t group, parent_iteration;
    /* beside it */
    enum task_state state;
    enum hold hold;
    time_ms not_before, ready_clock, enqueued_at;
    uint32_t iteration, attempt;
    uint32_t confirmed_attempt; /* the highest that was not refused */
    uint16_t failures, launch_failures, losses, restarts, openings;
    uint8_t step, own_agent, agent_before; /* escalation: own_agent with step */
    bool step_due;                         /* an order for the step must follow */
    uint32_t rejected;                     /* verified failures since the last step */
    uint16_t before_end[4];                /* the first four, before the outcome was counted */
    uint8_t kept;
    bool was_done;           /* it is gone, and was done when it was forgotten */
    bool of_older_iteration; /* a person took it up again although its parent went on */
    uint64_t asked;          /* facts of this turn, by kind */
    /* the run */
    enum run_phase phase;
    bool alive; /* its end was not reported yet */
    bool limiter_given;
    enum wish wish;
    uint8_t kept_new, run_agent, run_limiter;
    time_ms started_at, ready_clock_before, enqueued_before;
    uint64_t tick;            /* in which it was started */
    int64_t reported;         /* -1: nothing yet */
    int64_t money;            /* the same */
    int64_t expected;         /* the same; 0: unknown */
    bool undone;              /* its order was refused in this turn */
    task_id lender, borrower; /* whose places it uses, and who uses its own; or 0 */
    uint8_t borrowed;         /* enum lend */
    struct expected_end end;
    /* the tree, in no order */
    task_id first_child, next_sibling;
    uint32_t mark; /* of the last search that came by */
};

struct bucket {
    int64_t share, reported, money;
    uint32_t reports, starts, completions, priced, unpriced;
};

struct window {
    struct bucket ring[BUCKETS], sum;
};

struct project_book {
    struct project_spec spec;
    struct window window;
    uint32_t external, external_roots, ready, live;
    task_id *charged; /* runs whose tokens are not settled, in no order */
    size_t charged_count, charged_capacity;
};

struct agent_book {
    uint8_t limiter;
    uint8_t others[FAILOVER_MAX], other_count; /* that it fails over to */
    uint8_t steps[ESCALATE_MAX], step_count;   /* 0: the same agent, with another model */
    uint32_t steps_after;
    bool roster, idle, has_hours;
    uint32_t launch_failures, openings;
    time_ms closed_until, hours_until;
};

struct limiter_book {
    struct limiter_policy policy;
    uint32_t hits;
    time_ms until, since, last_hit, ramp_since, last_success;
    bool hit; /* and no success cleared it since */
    bool closed, ramping;
    struct quota quota[QUOTA_WINDOW_MAX];
    time_ms hours_until;
};

struct group_book {
    uint32_t open, total;
    bool reported_closed;
};

struct books {
    struct breach *breach;
    bool audit; /* keep what only the checks need */
    struct policy policy;
    time_ms now;
    bool clock_applied, paused, synced;
    amount budget;
    struct money_budget money_budget;
    int64_t disk, memory, load;

    struct project_book project[PROJECTS + 1];
    struct agent_book agent[AGENTS + 1];
    struct limiter_book limiter[LIMITERS + 1];
    int64_t kind_base[KINDS + 1];
    struct window unowned;
    struct bucket all; /* of all projects */
    int64_t newest_bucket;
    time_ms wait_clock[PROJECTS + 1][LIMITERS + 1][AGENTS + 1]; /* agent 0: no list counts */

    amount used[KEY_MAX], outside[KEY_MAX], cap[KEY_MAX];
    bool applied[KEY_MAX]; /* that key was applied to the core */
    task_id locked_by[WORKSPACES + 1];
    unsigned roster;

    time_ms tick_began, last_start;
    amount tick_starts;
    uint64_t ticks;
    bool tick_running, tick_requested, ever_started, deciding;
    struct {
        bool is_extra, was_running; /* this one was asked for; as it was before */
        time_ms began;
        amount starts;
    } tick_before;
    int64_t document_weight, document_tokens, document_count;

    struct row *rows; /* rows[1 .. count - 1] */
    size_t count, capacity;
    uint32_t by_state[TASK_STATE_MAX];
    uint32_t queued[KINDS + 1];
    struct group_book group[GROUPS + 1];
    task_id *touched; /* this turn */
    size_t touched_count, touched_capacity;
    uint32_t searches;
};

void books_init(struct books *b, struct breach *breach, bool audit);
void books_finish(struct books *b);

static inline struct row *books_row(const struct books *b, task_id id) {
    return id > 0 && id < b->count ? &b->rows[id] : NULL;
}

/* NULL also for a task that is only named. */
static inline struct row *books_task(const struct books *b, task_id id) {
    struct row *row = books_row(b, id);
    return row && row->state != TASK_ABSENT ? row : NULL;
}

void books_applied(struct books *b, const struct fact *fact, int result);
void books_begin_decision(struct books *b);
void books_ordered(struct books *b, const struct order *order);
void books_decided(struct books *b); /* all orders of the decision were seen */
void books_end_turn(struct books *b);

/* Does `from` wait for `goal`, at any distance, through dependencies and parents with gate `done` (or any
 * parents)? */
bool books_waits_for(struct books *b, task_id from, task_id goal, bool any_parent);

/* 0, 1, -1 as core_apply must answer (any error is -1); 2: no opinion. Only while synced. */
int books_answer(struct books *b, const struct fact *fact);
