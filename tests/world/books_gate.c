/* books_gate.c: gates, places and the order, as docs/internals/rules.md §2 and §3 have them. */
#include "books_internal.h"

bool gate_project(const struct books *b, unsigned p) {
    return b->project[p].spec.active && !b->project[p].spec.paused;
}

bool gate_host(const struct books *b) {
    const struct policy *p = &b->policy;
    if (p->host.disk_min_mb != 0 && b->disk >= 0 && b->disk < p->host.disk_min_mb)
        return false;
    if (p->host.memory_min_mb != 0 && b->memory >= 0 && b->memory < p->host.memory_min_mb)
        return false;
    return p->host.load_max_milli == 0 || b->load < 0 || b->load <= p->host.load_max_milli;
}

bool gate_budget(const struct books *b, unsigned p) {
    amount budget = p ? b->project[p].spec.budget : b->budget;
    struct money_budget money = p ? b->project[p].spec.money : b->money_budget;
    return (budget == UNLIMITED || share_budget_used(b, p) < budget)
           && (!money.is_set || share_money_used(b, p) < money.micro);
}

bool gate_agent(const struct books *b, unsigned a) {
    return b->now >= b->agent[a].closed_until;
}

bool gate_hours(const struct books *b, unsigned a, unsigned l) {
    return b->now >= b->agent[a].hours_until && b->now >= b->limiter[l].hours_until;
}

/* Of the tick that has begun. */
bool gate_pace(const struct books *b) {
    if (b->policy.runs == UNLIMITED)
        return true;
    if (b->tick_starts >= b->policy.pace.batch)
        return false;
    return !b->ever_started || b->now >= time_add(b->last_start, b->policy.pace.spawn_delay);
}

time_ms books_wait_clock(const struct books *b, const struct row *row) {
    return b->wait_clock[row->project][books_limiter_of(b, row)][books_clock_agent(b, row)];
}

time_ms books_waited(const struct books *b, const struct row *row) {
    return books_wait_clock(b, row) - row->ready_clock;
}

bool books_overdue(const struct books *b, const struct row *row) {
    return (b->policy.order & ORDER_BY_OVERDUE) && row->state == TASK_READY
           && books_waited(b, row) >= b->policy.max_wait;
}

bool books_anyone_overdue(const struct books *b) {
    if (!(b->policy.order & ORDER_BY_OVERDUE) || b->policy.max_wait == TIME_NEVER)
        return false;
    for (size_t i = 1; i < b->count; i++) {
        if (books_overdue(b, &b->rows[i]))
            return true;
    }
    return false;
}

static int64_t at_most(__int128 value, int64_t limit) {
    return value > limit ? limit : (int64_t)value;
}

static int64_t penalty_of(const struct books *b, const struct row *row) {
    return at_most((__int128)b->policy.score.per_retry * (row->iteration - 1),
                   b->policy.score.retry_max);
}

int32_t books_score(const struct books *b, const struct row *row) {
    const struct policy *p = &b->policy;
    time_ms age = row->created_at >= b->now ? 0 : (b->now - row->created_at) / MINUTES(1);
    int64_t score = row->kind ? b->kind_base[row->kind] : p->score.base;
    score += at_most((__int128)p->score.age_per_minute * age, p->score.age_max);
    score += p->score.per_depth * books_depth(b, row);
    return (int32_t)(score - penalty_of(b, row));
}

/* In the order in which the gates are shown. */
size_t books_needs(const struct books *b, const struct row *row, unsigned agent, unsigned limiter,
                   uint16_t ret[HELD_KEYS_MAX]) {
    size_t n = 0;
    unsigned missing = books_kept_needed(b, row) & ~(unsigned)row->kept;
    if (!row->parallelizable)
        ret[n++] = (uint16_t)serial_key(row->project, row->phase_name, row->kind);
    if (row->workspace)
        ret[n++] = (uint16_t)(KEY_WORKSPACE + row->workspace);
    if (!b->project[row->project].spec.workspaces_kept || (missing & KEPT_PLACE))
        ret[n++] = (uint16_t)(KEY_PLACES + row->project);
    ret[n++] = (uint16_t)(KEY_PROJECT + row->project);
    if (row->kind)
        ret[n++] = (uint16_t)(KEY_KIND + row->kind);
    if (agent)
        ret[n++] = (uint16_t)(KEY_AGENT + agent);
    if (limiter)
        ret[n++] = (uint16_t)(KEY_LIMITER + limiter);
    for (unsigned r = 1; r <= RESOURCES; r++) {
        if (row->resources & (1u << r))
            ret[n++] = (uint16_t)(KEY_RESOURCE + r);
    }
    if (missing & KEPT_REVIEW)
        ret[n++] = (uint16_t)(KEY_REVIEW + row->project);
    if (missing & KEPT_ROOT)
        ret[n++] = KEY_ROOTS;
    ret[n++] = KEY_RUNS;
    return n;
}

bool books_has_place(const struct books *b, const struct row *row, unsigned key) {
    amount cap = b->cap[key], used = b->used[key] + b->outside[key];
    if (key > KEY_LIMITER && key <= KEY_LIMITER + LIMITERS)
        cap = limiter_cap(b, key - KEY_LIMITER);
    if (key > KEY_WORKSPACE && key <= KEY_WORKSPACE + WORKSPACES
        && b->locked_by[key - KEY_WORKSPACE] == row->id)
        used -= b->outside[key]; /* locked, but for itself */
    return cap == UNLIMITED || used < cap;
}

static enum gate closed_before_leases(const struct books *b, const struct row *row, unsigned agent,
                                      unsigned limiter) {
    const struct row *parent = books_task(b, row->parent);
    bool was_done = row->parent && b->rows[row->parent].was_done;
    bool breaker = row->state == TASK_HELD && row->hold == HOLD_BREAKER;
    if (b->paused)
        return GATE_PAUSED;
    if (!gate_project(b, row->project))
        return GATE_PROJECT;
    if (row->state == TASK_HELD && !breaker)
        return GATE_HELD;
    for (unsigned i = 0; i < row->dependency_count; i++) {
        const struct row *on = books_task(b, row->depends_on[i]);
        if (!on || on->state != TASK_DONE)
            return GATE_DEPENDENCY;
    }
    if (row->parent && row->parent_gate == PARENT_DONE
        && (parent ? parent->state != TASK_DONE : !was_done))
        return GATE_PARENT;
    if (row->artifact_missing)
        return GATE_ARTIFACT;
    if (row->probe_closed)
        return GATE_PROBE;
    if (b->now < b->project[row->project].spec.hours_until || !gate_hours(b, agent, limiter))
        return GATE_HOURS;
    if (breaker || !gate_agent(b, agent))
        return GATE_BREAKER;
    if (!limiter_is_open(b, limiter))
        return GATE_LIMITER;
    if (!gate_host(b))
        return GATE_HOST;
    if (!gate_budget(b, 0))
        return GATE_BUDGET;
    return gate_budget(b, row->project) ? GATE_MAX : GATE_PROJECT_BUDGET;
}

enum gate books_closed_gate(const struct books *b, const struct row *row, unsigned agent,
                            unsigned *ret_key) {
    unsigned limiter = row->limiter ? row->limiter : b->agent[agent].limiter;
    enum gate gate = closed_before_leases(b, row, agent, limiter);
    *ret_key = KEY_MAX;
    if (gate != GATE_MAX)
        return gate;
    uint16_t keys[HELD_KEYS_MAX];
    size_t count = books_needs(b, row, agent, limiter, keys);
    for (size_t i = 0; i < count; i++) {
        if (books_has_place(b, row, keys[i]))
            continue;
        *ret_key = keys[i];
        return GATE_LEASE;
    }
    return gate_pace(b) ? GATE_MAX : GATE_PACE;
}

/* --- the order ------------------------------------------------------------------------------- */

/* <0: the first; >0: the other. */
static int compare_projects(const struct books *b, unsigned one, unsigned other) {
    unsigned order = b->policy.order;
    if (one == other)
        return 0;
    const struct bucket *s1 = &b->project[one].window.sum, *s2 = &b->project[other].window.sum;
    bool by_start = b->policy.guarantee == GUARANTEE_START;
    if ((order & ORDER_BY_GUARANTEE) && b->policy.guarantee != GUARANTEE_OFF) {
        bool owed1 = by_start ? s1->starts == 0 : s1->completions == 0;
        bool owed2 = by_start ? s2->starts == 0 : s2->completions == 0;
        if (owed1 != owed2)
            return owed1 ? -1 : 1;
    }
    if ((order & ORDER_BY_DEFICIT) && b->policy.fair != FAIR_OFF) {
        __int128 d1 = share_deficit(b, one), d2 = share_deficit(b, other);
        if (d1 != d2)
            return d1 < d2 ? -1 : 1;
    }
    return order & ORDER_BY_POSITION ? (int)one - (int)other : 0;
}

bool books_before(const struct books *b, const struct row *one, const struct row *other) {
    unsigned order = b->policy.order;
    bool taken1 = one->hold == HOLD_TAKEN, taken2 = other->hold == HOLD_TAKEN;
    if (taken1 || taken2) /* a person waits for it */
        return taken1 && (!taken2 || one->id < other->id);
    int by_project = compare_projects(b, one->project, other->project);
    if (by_project != 0)
        return by_project < 0;
    bool late1 = books_overdue(b, one), late2 = books_overdue(b, other);
    if (late1 != late2)
        return late1;
    if (late1 && books_waited(b, one) != books_waited(b, other))
        return books_waited(b, one) > books_waited(b, other);
    if ((order & ORDER_BY_PRIORITY) && one->priority != other->priority)
        return one->priority < other->priority;
    if (order & ORDER_BY_SCORE) {
        int32_t s1 = books_score(b, one), s2 = books_score(b, other);
        if (s1 != s2)
            return s1 > s2;
    }
    if ((order & ORDER_BY_ENQUEUED) && one->enqueued_at != other->enqueued_at)
        return one->enqueued_at < other->enqueued_at;
    if ((order & ORDER_BY_CREATED) && one->created_at != other->created_at)
        return one->created_at < other->created_at;
    return one->id < other->id;
}
