/* core_compare.c: are two cores the same, whatever their handles?
 *
 * Walks both: each task as a new core would load it and as users see it, what it waits for, each
 * key, window, limiter, agent, clock and group. A list inside (classes, parks) is not compared: it is
 * made of these, and the order it gives shows in the next decisions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/gates.h"
#include "core/state.h"
#include "core/task.h"
#include "rebuild.h"

struct comparison {
    const struct core *a, *b;
    struct strbuf *out;
    const char *about; /* what the numbers belong to */
    task_id task;
    bool same;
};

static void check(struct comparison *x, const char *what, int64_t a, int64_t b) {
    if (a == b || !x->same)
        return;
    x->same = false;
    strbuf_puts(x->out, x->about);
    if (x->task)
        strbuf_printf(x->out, " %" PRIu64, x->task);
    strbuf_printf(x->out, ": %s %" PRId64 ", then %" PRId64, what, a, b);
}

#define CHECK(x, left, right, field)                                                               \
    check(x, #field, (int64_t)(left)->field, (int64_t)(right)->field)

/* --- tasks ----------------------------------------------------------------------------------- */

static void compare_spec(struct comparison *x, const struct task_spec *a,
                         const struct task_spec *b) {
    CHECK(x, a, b, project);
    CHECK(x, a, b, kind);
    CHECK(x, a, b, agent);
    CHECK(x, a, b, limiter);
    CHECK(x, a, b, workspace);
    CHECK(x, a, b, serial);
    CHECK(x, a, b, priority);
    CHECK(x, a, b, parent);
    CHECK(x, a, b, parent_iteration);
    CHECK(x, a, b, created_at);
    CHECK(x, a, b, ready_since);
    CHECK(x, a, b, enqueued_at);
    CHECK(x, a, b, not_before);
    CHECK(x, a, b, iteration);
    CHECK(x, a, b, attempt);
    CHECK(x, a, b, state);
    CHECK(x, a, b, hold);
    CHECK(x, a, b, phase);
    CHECK(x, a, b, started_at);
    CHECK(x, a, b, until);
    CHECK(x, a, b, parent_gate);
    CHECK(x, a, b, parallelizable);
    CHECK(x, a, b, bound);
    CHECK(x, a, b, review);
    CHECK(x, a, b, artifact_missing);
    CHECK(x, a, b, probe_closed);
    CHECK(x, a, b, keeps);
    CHECK(x, a, b, retry_max);
    CHECK(x, a, b, group);
    CHECK(x, a, b, failures);
    CHECK(x, a, b, launch_failures);
    CHECK(x, a, b, losses);
    CHECK(x, a, b, restarts);
    CHECK(x, a, b, breaker_openings);
    CHECK(x, a, b, stop);
    CHECK(x, a, b, reason);
    CHECK(x, a, b, run_agent);
    CHECK(x, a, b, run_limiter);
    CHECK(x, a, b, run_unlimited);
    CHECK(x, a, b, lender);
    CHECK(x, a, b, borrowed);
    CHECK(x, a, b, escalation.count);
    CHECK(x, a, b, escalation.after);
    CHECK(x, a, b, escalation.step);
    CHECK(x, a, b, escalation.own_agent);
    CHECK(x, a, b, escalation.failed);
    for (unsigned i = 0; i < ESCALATE_MAX; i++)
        CHECK(x, a, b, escalation.agents[i]);
    CHECK(x, a, b, depends_on_count);
    CHECK(x, a, b, resource_count);
}

static void compare_run(struct comparison *x, const struct run *a, const struct run *b) {
    CHECK(x, a, b, phase);
    CHECK(x, a, b, stop);
    CHECK(x, a, b, borrowed);
    CHECK(x, a, b, key_count);
    CHECK(x, a, b, children_unknown);
    CHECK(x, a, b, started_at);
    if (a->phase != PHASE_DRAINING) { /* then its tokens are settled */
        CHECK(x, a, b, reported);
        CHECK(x, a, b, money);
        CHECK(x, a, b, expected);
    }
    for (unsigned i = 0; i < a->key_count && x->same; i++) {
        const struct key *ka = key_at(x->a, a->keys[i]), *kb = key_at(x->b, b->keys[i]);
        CHECK(x, ka, kb, kind);
        CHECK(x, ka, kb, name);
    }
}

static void compare_task(struct comparison *x, task_id id) {
    struct stored_task a, b;
    struct task_view va, vb;
    x->about = "task";
    x->task = id;
    bool known = stored_task_read(x->b, id, &b) && core_task(x->b, id, &vb);
    if (!stored_task_read(x->a, id, &a) || !core_task(x->a, id, &va) || !known) {
        check(x, "known", true, false);
        return;
    }
    compare_spec(x, &a.spec, &b.spec);
    for (size_t i = 0; i < a.spec.depends_on_count && x->same; i++)
        check(x, "dependency", (int64_t)a.depends_on[i], (int64_t)b.depends_on[i]);
    for (size_t i = 0; i < a.spec.resource_count && x->same; i++)
        check(x, "resource", a.resources[i], b.resources[i]);
    CHECK(x, &va, &vb, score);
    CHECK(x, &va, &vb, depth);
    CHECK(x, &va, &vb, waited);
    CHECK(x, &va, &vb, overdue);
    CHECK(x, &va, &vb, limiter);
    const struct task *ta = task_at(x->a, task_find(x->a, id));
    const struct task *tb = task_at(x->b, task_find(x->b, id));
    CHECK(x, links_of(x->a, ta), links_of(x->b, tb), unmet);
    check(x, "kept places", ta->flags & TASK_KEEPS, tb->flags & TASK_KEEPS);
    check(x, "place in the queue", core_queue_position(x->a, id), core_queue_position(x->b, id));
    if (x->same && ta->run)
        compare_run(x, run_at(x->a, ta->run), run_at(x->b, tb->run));
    x->task = 0;
}

/* Why it does not run. Places that are reserved are not kept by a restart: then only the gates before. */
static void compare_gate(struct comparison *x, task_id id) {
    struct verdict a, b;
    bool claimed = x->a->claim.task || x->b->claim.task;
    bool closed_a = core_blocked(x->a, id, &a), closed_b = core_blocked(x->b, id, &b);
    if (closed_a && a.gate >= GATE_LEASE && claimed)
        return;
    x->about = "task";
    x->task = id;
    check(x, "a closed gate", closed_a, closed_b);
    if (closed_a && closed_b) {
        CHECK(x, &a, &b, gate);
        CHECK(x, &a, &b, lease);
        CHECK(x, &a, &b, key);
        CHECK(x, &a, &b, used);
        CHECK(x, &a, &b, opens_at);
    }
    x->task = 0;
}

static void compare_tasks(struct comparison *x) {
    x->about = "tasks";
    check(x, "known", x->a->tasks.used, x->b->tasks.used);
    for (int s = 0; s < TASK_STATE_MAX; s++)
        check(x, task_state_name(s), x->a->by_state[s], x->b->by_state[s]);
    for (uint32_t h = 1; h < x->a->tasks.next && x->same; h++) {
        if (task_at(x->a, h)->state != TASK_ABSENT)
            compare_task(x, task_at(x->a, h)->id);
    }
    for (uint32_t h = 1; h < x->a->tasks.next && x->same; h++) {
        if (task_at(x->a, h)->state != TASK_ABSENT)
            compare_gate(x, task_at(x->a, h)->id);
    }
}

/* --- keys and windows ------------------------------------------------------------------------- */

static const struct key *find_key(const struct core *c, const struct key *wanted) {
    static const struct key unused;
    for (uint32_t h = 1; h < c->keys.next; h++) {
        const struct key *k = key_at(c, h);
        if (k->kind == wanted->kind && k->name == wanted->name && k->project == wanted->project
            && k->kind_name == wanted->kind_name && k->cap > 0)
            return k;
    }
    return &unused;
}

static bool is_used(const struct key *k) {
    return k->held > 0 || k->external > 0;
}

static void compare_keys(struct comparison *x) {
    x->about = "keys";
    if (!x->a->claim.task && !x->b->claim.task) /* a reserved slot is not free */
        check(x, "without a place", x->a->full_keys, x->b->full_keys);
    for (uint32_t h = 1; h < x->a->keys.next && x->same; h++) {
        const struct key *a = key_at(x->a, h);
        if (!is_used(a) || a->cap == 0)
            continue;
        const struct key *b = find_key(x->b, a);
        x->about = lease_kind_name(a->kind);
        CHECK(x, a, b, cap);
        CHECK(x, a, b, held);
        CHECK(x, a, b, external);
        CHECK(x, a, b, locked_by);
    }
    x->about = "keys";
    check(x, "live roots", x->a->live_roots, x->b->live_roots);
}

static void compare_bucket(struct comparison *x, const struct usage_spec *a,
                           const struct usage_spec *b) {
    CHECK(x, a, b, tokens);
    CHECK(x, a, b, unreported);
    CHECK(x, a, b, reports);
    CHECK(x, a, b, starts);
    CHECK(x, a, b, completions);
    CHECK(x, a, b, money);
    CHECK(x, a, b, priced);
    CHECK(x, a, b, unpriced);
}

static const struct usage_spec *next_bucket(const struct window *w, size_t *at) {
    while (*at < w->count) {
        const struct usage_spec *b = &w->buckets[w->first + (*at)++];
        if (b->tokens || b->unreported || b->reports || b->starts || b->completions || b->money
            || b->priced || b->unpriced)
            return b;
    }
    return NULL;
}

static void compare_window(struct comparison *x, const struct window *a, const struct window *b) {
    size_t i = 0, k = 0;
    compare_bucket(x, &a->sum, &b->sum);
    for (;;) {
        const struct usage_spec *left = next_bucket(a, &i), *right = next_bucket(b, &k);
        check(x, "one more bucket", left != NULL, right != NULL);
        if (!left || !right || !x->same)
            return;
        CHECK(x, left, right, at);
        compare_bucket(x, left, right);
    }
}

static void compare_projects(struct comparison *x) {
    x->about = "project";
    check(x, "count", (int64_t)x->a->project_count, (int64_t)x->b->project_count);
    for (size_t i = 1; i < x->a->project_count && x->same; i++) {
        const struct project *a = &x->a->projects[i], *b = &x->b->projects[i];
        x->about = symbol_name(&x->a->symbols, a->spec.id);
        check(x, "name", a->spec.id, b->spec.id);
        CHECK(x, a, b, ready);
        CHECK(x, a, b, live);
        for (int s = 0; s < TASK_STATE_MAX; s++)
            check(x, task_state_name((enum task_state)s), a->by_state[s], b->by_state[s]);
        CHECK(x, a, b, external);
        CHECK(x, a, b, external_roots);
        CHECK(x, a, b, spec.hours_until);
        CHECK(x, a, b, reserved);
        CHECK(x, a, b, counted);
        compare_window(x, &a->window, &b->window);
    }
    x->about = "shares";
    compare_window(x, &x->a->projects[0].window, &x->b->projects[0].window);
    compare_bucket(x, &x->a->window_sum, &x->b->window_sum);
    CHECK(x, x->a, x->b, reserved);
    CHECK(x, x->a, x->b, share_weight);
    CHECK(x, x->a, x->b, share_tokens);
    CHECK(x, x->a, x->b, share_count);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void compare_limiters(struct comparison *x) {
    for (size_t i = 1; i < x->a->limiter_count && x->same; i++) {
        const struct limiter *a = &x->a->limiters[i], *b = &x->b->limiters[i];
        x->about = symbol_name(&x->a->symbols, a->spec.id);
        CHECK(x, a, b, spec.backoff_until);
        CHECK(x, a, b, spec.hits);
        CHECK(x, a, b, spec.closed);
        CHECK(x, a, b, spec.last_success);
        CHECK(x, a, b, spec.in_backoff);
        CHECK(x, a, b, spec.hours_until);
        check(x, "reserved_until", time_max(a->reserved_until, x->a->now),
              time_max(b->reserved_until, x->b->now));
        for (int w = 0; w < QUOTA_WINDOW_MAX; w++) {
            CHECK(x, a, b, spec.quota[w].used_milli);
            CHECK(x, a, b, spec.quota[w].resets_at);
        }
        CHECK(x, a, b, ready);
        if (a->spec.in_backoff) {
            CHECK(x, a, b, spec.backoff_since);
            CHECK(x, a, b, spec.last_hit);
        }
        CHECK(x, a, b, ramping);
        if (a->ramping)
            CHECK(x, a, b, spec.ramp_since);
        check(x, "cap", key_at(x->a, a->key)->cap, key_at(x->b, b->key)->cap);
    }
}

static void compare_agents(struct comparison *x) {
    for (size_t i = 1; i < x->a->agent_count && x->same; i++) {
        const struct agent *a = &x->a->agents[i], *b = &x->b->agents[i];
        x->about = symbol_name(&x->a->symbols, a->spec.id);
        CHECK(x, a, b, limiter);
        CHECK(x, a, b, spec.launch_failures);
        CHECK(x, a, b, spec.openings);
        CHECK(x, a, b, spec.closed_until);
        CHECK(x, a, b, spec.hours);
        CHECK(x, a, b, spec.hours_until);
        CHECK(x, a, b, spec.roster);
        CHECK(x, a, b, spec.idle);
        CHECK(x, a, b, spec.failover_count);
    }
}

static void compare_groups(struct comparison *x) {
    x->about = "group";
    size_t most = x->a->group_count > x->b->group_count ? x->a->group_count : x->b->group_count;
    for (uint32_t g = 1; g < most; g++) {
        struct group_view a = core_group(x->a, g), b = core_group(x->b, g);
        check(x, "open", a.open, b.open);
        check(x, "total", a.total, b.total);
        check(x, "failed", a.failed, b.failed);
        check(x, "drafts", core_group_members(x->a, g, true, NULL, 0),
              core_group_members(x->b, g, true, NULL, 0));
    }
}

static void compare_pace(struct comparison *x) {
    if (!pace_in_force(x->a))
        return;
    CHECK(x, x->a, x->b, tick_running);
    CHECK(x, x->a, x->b, tick_starts);
    CHECK(x, x->a, x->b, ticked);
    CHECK(x, x->a, x->b, last_start);
    if (x->a->policy.pace.tick > 0)
        CHECK(x, x->a, x->b, tick_began);
}

static void compare_others(struct comparison *x, bool all) {
    x->about = "the core";
    CHECK(x, x->a, x->b, now);
    CHECK(x, x->a, x->b, paused);
    CHECK(x, x->a, x->b, ready);
    CHECK(x, x->a, x->b, roster_count);
    CHECK(x, x->a, x->b, waiting_runs);
    check(x, "timers", x->a->timers.count, x->b->timers.count);
    check(x, "next timer", timer_heap_next(&x->a->timers), timer_heap_next(&x->b->timers));
    check(x, "waiting", x->a->waiting.count, x->b->waiting.count);
    for (size_t k = 1; k < x->a->kind_count; k++)
        check(x, "queued of a kind", x->a->kinds[k].queued, x->b->kinds[k].queued);
    compare_pace(x);
    if (!all) {
        check(x, "orders by telling rows", 0, (int64_t)x->b->order_count);
        return;
    }
    CHECK(x, x->a, x->b, tick_began);
    CHECK(x, x->a, x->b, claim.task);
    CHECK(x, x->a, x->b, claim.count);
    CHECK(x, x->a, x->b, epoch);
    check(x, "wake-up", core_next_wakeup(x->a), core_next_wakeup(x->b));
}

bool core_compare(const struct core *a, const struct core *b, bool all, struct strbuf *difference) {
    struct comparison x = { .a = a, .b = b, .out = difference, .same = true };
    compare_tasks(&x);
    compare_keys(&x);
    compare_projects(&x);
    compare_limiters(&x);
    compare_agents(&x);
    compare_groups(&x);
    compare_others(&x, all);
    return x.same;
}
