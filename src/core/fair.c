/* fair.c: usage, shares and budgets over a rolling window. See fair.h.
 *
 * Shares are compared exactly, as tokens·W − weight·T in 128 bits: two machines never disagree, and
 * no rounding error favors a project. W and T are updated incrementally, so a decision need not sum
 * them. */
#include "core/fair.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "core/core.h"
#include "core/gates.h"
#include "core/ready_first.h"

static int64_t bucket_width(time_ms window) {
    return window / WINDOW_BUCKETS > 0 ? window / WINDOW_BUCKETS : 1;
}

/* The beginning of the bucket; rounds down for negative times too. */
static time_ms bucket_begin(time_ms at, int64_t width) {
    return at - (at % width + width) % width;
}

/* Finds or creates the bucket; usually it is the last one. */
static struct usage_spec *window_bucket(struct window *w, time_ms begin) {
    size_t at = w->count;
    while (at > 0 && w->buckets[w->first + at - 1].at > begin)
        at--;
    if (at > 0 && w->buckets[w->first + at - 1].at == begin)
        return &w->buckets[w->first + at - 1];
    if (w->first > 0) { /* reuse the room of expired buckets */
        memmove(w->buckets, w->buckets + w->first, w->count * sizeof(*w->buckets));
        w->first = 0;
    }
    w->buckets = xgrow(w->buckets, &w->capacity, w->count + 1, sizeof(*w->buckets));
    memmove(w->buckets + at + 1, w->buckets + at, (w->count - at) * sizeof(*w->buckets));
    w->buckets[at] = (struct usage_spec){ .at = begin };
    w->count++;
    return &w->buckets[at];
}

/* Buckets that begin before or at this time have left the window. */
static time_ms window_begin(const struct core *c) {
    return c->window_end - WINDOW_BUCKETS * bucket_width(c->policy.fair_window);
}

static void estimates_changed(struct core *c, uint32_t project);
static void prices_changed(struct core *c);

static void window_expire(struct core *c, uint32_t project) {
    struct window *w = &c->projects[project].window;
    while (w->count > 0 && w->buckets[w->first].at <= window_begin(c)) {
        bucket_add(&w->sum, &w->buckets[w->first], -1);
        if (project)
            bucket_add(&c->window_sum, &w->buckets[w->first], -1);
        w->first++;
        w->count--;
    }
}

void fair_record(struct core *c, uint32_t project, time_ms at, const struct usage_spec *what) {
    time_ms begin = bucket_begin(at, bucket_width(c->policy.fair_window));
    if (begin <= window_begin(c))
        return;
    struct window *w = &c->projects[project].window;
    bucket_add(window_bucket(w, begin), what, 1);
    bucket_add(&w->sum, what, 1);
    usage_changed(c, project, begin, what, 1);
    if (!project)
        return;
    bucket_add(&c->window_sum, what, 1);
    fair_count_project(c, project);
    if (what->reports || what->tokens)
        estimates_changed(c, project);
    if (what->priced || what->money)
        prices_changed(c);
}

bool fair_has(const struct core *c, uint32_t project, time_ms at, const struct usage_spec *less) {
    time_ms begin = bucket_begin(at, bucket_width(c->policy.fair_window));
    const struct window *w = &c->projects[project].window;
    for (size_t i = 0; i < w->count; i++) {
        struct usage_spec rest = w->buckets[w->first + i];
        if (rest.at != begin)
            continue;
        bucket_add(&rest, less, 1);
        return rest.tokens >= 0 && rest.unreported >= 0 && rest.money >= 0 && rest.reports >= 0
               && rest.priced >= 0 && rest.unpriced >= 0;
    }
    return false;
}

void fair_expire(struct core *c) {
    time_ms newest = bucket_begin(c->now, bucket_width(c->policy.fair_window));
    if (newest == c->window_end)
        return;
    c->window_end = newest;
    for (uint32_t p = 0; p < c->project_count; p++) {
        window_expire(c, p);
        if (p)
            fair_count_project(c, p);
    }
    fair_recharge(c);
}

/* Moves each old bucket to where its end falls in the new window, so that nothing expires early. */
static void window_restamp(struct core *c, uint32_t project, int64_t old_width, int64_t new_width) {
    struct window *w = &c->projects[project].window;
    struct window old = *w;
    *w = (struct window){ .sum = old.sum };
    for (size_t i = 0; i < old.count; i++) {
        const struct usage_spec *b = &old.buckets[old.first + i];
        time_ms begin = bucket_begin(time_min(b->at + old_width - 1, c->now), new_width);
        bucket_add(window_bucket(w, begin), b, 1);
        usage_changed(c, project, b->at, b, -1);
        usage_changed(c, project, begin, b, 1);
    }
    freep(&old.buckets);
}

void fair_rewindow(struct core *c, time_ms old_window) {
    int64_t old_width = bucket_width(old_window), new_width = bucket_width(c->policy.fair_window);
    if (old_width == new_width)
        return;
    for (uint32_t p = 0; p < c->project_count; p++)
        window_restamp(c, p, old_width, new_width);
    c->window_end = INT64_MIN;
    fair_expire(c);
}

static int64_t fair_estimate(const struct core *c, uint32_t project) {
    const struct usage_spec *own = &c->projects[project].window.sum;
    if (own->reports > 0)
        return own->tokens / own->reports;
    if (c->window_sum.reports > 0)
        return c->window_sum.tokens / c->window_sum.reports;
    return c->policy.run_tokens;
}

int64_t fair_charge(const struct core *c, const struct run *r) {
    int64_t reported = r->reported > 0 ? r->reported : 0;
    if (c->policy.fair == FAIR_DOCUMENT)
        return reported;
    int64_t estimate = c->projects[task_at(c, r->task)->project].estimate;
    return reported > estimate ? reported : estimate;
}

static void add_reserved(struct core *c, uint32_t project, int64_t tokens) {
    c->projects[project].reserved += tokens;
    c->reserved += tokens;
    fair_count_project(c, project);
}

/* Charges live and external runs at the current estimate. */
static void recharge(struct core *c, uint32_t project) {
    struct project *p = &c->projects[project];
    p->estimate = fair_estimate(c, project);
    int64_t charge = c->policy.fair == FAIR_DOCUMENT ? 0 : p->external * p->estimate;
    for (uint32_t h = p->runs; h; h = run_at(c, h)->next)
        charge += fair_charge(c, run_at(c, h));
    add_reserved(c, project, charge - p->reserved);
}

static struct project *project_at(struct core *c, uint32_t project) {
    return &c->projects[project];
}

/* Most projects have a mean of their own, or no live runs. The others are in a list, so the end of a
 * run does not visit all projects. */
static void update_guessing(struct core *c, uint32_t project) {
    struct project *p = project_at(c, project);
    bool guesses =
        (p->runs || p->external)
        && (p->window.sum.reports <= 0 || (p->spec.money.is_set && p->window.sum.priced <= 0));
    if (guesses == p->guesses)
        return;
    p->guesses = guesses;
    if (guesses)
        SLAB_LIST_PUSH(project_at, c, c->guessing, project, next_guessing, prev_guessing);
    else
        SLAB_LIST_REMOVE(project_at, c, c->guessing, project, next_guessing, prev_guessing);
}

/* The mean of all projects has changed: so have charges of projects that have no mean of their own,
 * and with them their budgets of money. */
static void prices_changed(struct core *c) {
    for (uint32_t p = c->guessing; p; p = project_at(c, p)->next_guessing)
        if (project_at(c, p)->spec.money.is_set)
            ready_touch_project(c, p);
}

/* Call when the mean of a project, and so that of all projects, may have changed. */
static void estimates_changed(struct core *c, uint32_t project) {
    if (fair_estimate(c, project) != c->projects[project].estimate)
        recharge(c, project);
    for (uint32_t p = c->guessing; p; p = project_at(c, p)->next_guessing)
        if (fair_estimate(c, p) != project_at(c, p)->estimate)
            recharge(c, p);
}

void fair_recharge(struct core *c) {
    for (uint32_t p = 1; p < c->project_count; p++)
        recharge(c, p);
}

void fair_reserve(struct core *c, uint32_t run) {
    uint32_t project = task_at(c, run_at(c, run)->task)->project;
    SLAB_LIST_PUSH(run_at, c, c->projects[project].runs, run, next, prev);
    c->projects[project].estimate = fair_estimate(c, project);
    add_reserved(c, project, fair_charge(c, run_at(c, run)));
}

void fair_release(struct core *c, uint32_t run) {
    uint32_t project = task_at(c, run_at(c, run)->task)->project;
    SLAB_LIST_REMOVE(run_at, c, c->projects[project].runs, run, next, prev);
    add_reserved(c, project, -fair_charge(c, run_at(c, run)));
}

void fair_report(struct core *c, uint32_t run, int64_t tokens, int64_t money, int64_t expected) {
    struct run *r = run_at(c, run);
    int64_t before = fair_charge(c, r);
    if (tokens > r->reported)
        r->reported = tokens;
    if (money > r->money)
        r->money = money;
    if (expected > 0)
        r->expected = expected;
    add_reserved(c, task_at(c, r->task)->project, fair_charge(c, r) - before);
}

void fair_set_external(struct core *c, uint32_t project, uint32_t running) {
    c->projects[project].external = running;
    recharge(c, project);
}

static int64_t project_tokens(const struct project *p) {
    return p->window.sum.tokens + p->window.sum.unreported + p->reserved;
}

void fair_count_project(struct core *c, uint32_t project) {
    struct project *p = &c->projects[project];
    if (p->counted) {
        c->share_weight -= p->counted_weight;
        c->share_tokens -= p->counted_tokens;
        c->share_count--;
    }
    ready_touch_project(c, project);
    update_guessing(c, project);
    p->counted = p->spec.active && !p->spec.paused && p->ready > 0;
    if (!p->counted)
        return;
    p->counted_weight = p->spec.weight_milli;
    p->counted_tokens = project_tokens(p);
    c->share_weight += p->counted_weight;
    c->share_tokens += p->counted_tokens;
    c->share_count++;
}

void fair_begin_decision(struct core *c) {
    c->document_weight = c->share_weight;
    c->document_count = c->share_count;
    c->document_tokens = 0;
    if (c->policy.fair != FAIR_DOCUMENT)
        return;
    for (uint32_t p = 1; p < c->project_count; p++)
        c->document_tokens += project_tokens(&c->projects[p]);
}

/* Larger than the rounding errors of both sides of a comparison with T/W. */
#define RATIO_MARGIN 1e-14

/* The deficits differ by (tokens of a − tokens of b)·W − (weight of a − weight of b)·T, so a comes
 * first on one side of the ratio T/W = tokens / weight of these differences. Numbers with a
 * fraction only bound the range, with a margin; what decides is the exact difference. */
int fair_compare_weighted(const struct core *c, const struct project *a, const struct project *b,
                          struct winner_bounds *bounds) {
    struct fair_totals totals = fair_totals(c);
    __int128 tokens = (__int128)a->counted_tokens - b->counted_tokens;
    int64_t weight = totals.equal ? 0 : a->counted_weight - b->counted_weight;
    __int128 gap = tokens * totals.weight - (__int128)weight * totals.tokens;
    if (weight == 0)
        return (tokens > 0) - (tokens < 0);
    /* A difference of more than 2^63 tokens is not worth a range: compare again. */
    if (gap == 0 || (int64_t)tokens != tokens) {
        winner_bounds_narrow(bounds, INFINITY, -INFINITY);
        return (gap > 0) - (gap < 0);
    }
    double ratio = (double)(int64_t)tokens / (double)weight;
    double margin = RATIO_MARGIN * (ratio < 0 ? -ratio : ratio);
    if ((gap < 0) == (weight > 0))
        winner_bounds_narrow(bounds, ratio + margin, INFINITY);
    else
        winner_bounds_narrow(bounds, -INFINITY, ratio - margin);
    return gap < 0 ? -1 : 1;
}

int64_t fair_budget_used(const struct core *c, uint32_t project) {
    const struct project *p = &c->projects[project];
    int64_t reserved = project ? p->reserved : c->reserved;
    return p->window.sum.tokens + (project ? 0 : c->window_sum.tokens)
           + (c->policy.budget_counts_reserved ? reserved : 0);
}

/* --- money ----------------------------------------------------------------------------------- */

static int64_t fair_money_estimate(const struct core *c, uint32_t project) {
    const struct usage_spec *own = &c->projects[project].window.sum;
    if (own->priced > 0)
        return own->money / own->priced;
    return c->window_sum.priced > 0 ? c->window_sum.money / c->window_sum.priced : 0;
}

static int64_t money_reserved_in(const struct core *c, uint32_t project) {
    const struct project *p = &c->projects[project];
    bool document = c->policy.fair == FAIR_DOCUMENT;
    int64_t estimate = document ? 0 : fair_money_estimate(c, project);
    int64_t sum = p->external * estimate;
    for (uint32_t h = p->runs; h; h = run_at(c, h)->next) {
        const struct run *r = run_at(c, h);
        int64_t own = !document && r->expected > 0 ? r->expected : estimate;
        sum += r->money > own ? r->money : own;
    }
    return sum;
}

int64_t fair_money_reserved(const struct core *c, uint32_t project) {
    if (project)
        return money_reserved_in(c, project);
    int64_t sum = 0;
    for (uint32_t p = 1; p < c->project_count; p++)
        sum += money_reserved_in(c, p);
    return sum;
}

int64_t fair_money_used(const struct core *c, uint32_t project) {
    return c->projects[project].window.sum.money + (project ? 0 : c->window_sum.money)
           + (c->policy.budget_counts_reserved ? fair_money_reserved(c, project) : 0);
}

/* --- when a budget opens --------------------------------------------------------------------- */

struct leaving {
    int64_t tokens, money;
};

/* Adds what leaves with each bucket, oldest first. */
static void add_leaving(const struct window *w, time_ms oldest, int64_t width,
                        struct leaving leaving[WINDOW_BUCKETS]) {
    for (size_t i = 0; i < w->count; i++) {
        const struct usage_spec *b = &w->buckets[w->first + i];
        int64_t at = (b->at - oldest) / width;
        if (at >= WINDOW_BUCKETS)
            return;
        leaving[at < 0 ? 0 : at].tokens += b->tokens;
        leaving[at < 0 ? 0 : at].money += b->money;
    }
}

time_ms fair_budget_opens(const struct core *c, uint32_t project) {
    amount budget = c->projects[project].spec.budget;
    struct money_budget money = c->projects[project].spec.money;
    int64_t used = fair_budget_used(c, project);
    int64_t spent = money.is_set ? fair_money_used(c, project) : 0;
    int64_t width = bucket_width(c->policy.fair_window);
    time_ms oldest = window_begin(c) + width;
    struct leaving leaving[WINDOW_BUCKETS] = { 0 };
    add_leaving(&c->projects[project].window, oldest, width, leaving);
    for (uint32_t p = 1; !project && p < c->project_count; p++)
        add_leaving(&c->projects[p].window, oldest, width, leaving);
    for (int i = 0; i < WINDOW_BUCKETS; i++) {
        used -= leaving[i].tokens;
        spent -= leaving[i].money;
        if ((budget == UNLIMITED || used < budget) && (!money.is_set || spent < money.micro))
            return oldest + (i + WINDOW_BUCKETS) * width;
    }
    return TIME_NEVER;
}

time_ms fair_next_leaving(const struct core *c) {
    time_ms oldest = TIME_NEVER;
    for (uint32_t p = 0; p < c->project_count; p++) {
        const struct window *w = &c->projects[p].window;
        if (w->count > 0)
            oldest = time_min(oldest, w->buckets[w->first].at);
    }
    return oldest == TIME_NEVER ? TIME_NEVER
                                : oldest + WINDOW_BUCKETS * bucket_width(c->policy.fair_window);
}

/* --- views ----------------------------------------------------------------------------------- */

static void add_window(const struct usage_spec *sum, struct budgets_view *ret) {
    ret->tokens.used += sum->tokens;
    ret->money.used += sum->money;
    ret->priced += (uint32_t)sum->priced;
    ret->unpriced += (uint32_t)sum->unpriced;
}

static void add_used(const struct core *c, uint32_t project, struct budgets_view *ret) {
    add_window(&c->projects[project].window.sum, ret);
    if (!project)
        add_window(&c->window_sum, ret);
    uint32_t first = project ? project : 1;
    size_t end = project ? project + 1 : c->project_count;
    for (uint32_t p = first; p < end; p++) {
        for (uint32_t h = c->projects[p].runs; h; h = run_at(c, h)->next) {
            const struct run *r = run_at(c, h);
            ret->tokens.live += r->reported > 0 ? r->reported : 0;
            ret->money.live += r->money > 0 ? r->money : 0;
        }
    }
}

bool core_budgets(const struct core *c, sym project, struct budgets_view *ret) {
    uint32_t index = by_symbol_get(&c->project_of, project);
    if (project && !index)
        return false;
    const struct project *p = &c->projects[index];
    *ret = (struct budgets_view){
        .tokens = { .reserved = index ? p->reserved : c->reserved, .budget = p->spec.budget },
        .money = { .reserved = fair_money_reserved(c, index),
                   .budget = p->spec.money.is_set ? p->spec.money.micro : UNLIMITED },
        .counts_reserved = c->policy.budget_counts_reserved,
        .open = gate_budget_open(c, index),
        .span = c->policy.fair_window,
    };
    if (!ret->open)
        ret->opens_at = fair_budget_opens(c, index);
    add_used(c, index, ret);
    return true;
}

bool core_budget_is_reached(const struct core *c, sym project) {
    uint32_t index = by_symbol_get(&c->project_of, project);
    amount tokens = c->projects[index].spec.budget;
    const struct money_budget *money = &c->projects[index].spec.money;
    struct budgets_view v = { 0 };
    if ((project && !index) || (tokens == UNLIMITED && !money->is_set))
        return false;
    add_used(c, index, &v);
    return (tokens != UNLIMITED && v.tokens.used + v.tokens.live >= tokens)
           || (money->is_set && v.money.used + v.money.live >= money->micro);
}
