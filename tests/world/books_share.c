/* books_share.c: tokens, starts and completions in the rolling window (docs/internals/rules.md §3). */
#include <string.h>

#include "books_internal.h"

static int64_t width_of(const struct books *b) {
    return b->policy.fair_window / BUCKETS > 0 ? b->policy.fair_window / BUCKETS : 1;
}

static void add(struct bucket *sum, const struct bucket *what) {
    sum->share += what->share;
    sum->reported += what->reported;
    sum->reports += what->reports;
    sum->starts += what->starts;
    sum->completions += what->completions;
    sum->money += what->money;
    sum->priced += what->priced;
    sum->unpriced += what->unpriced;
}

static void subtract(struct bucket *sum, const struct bucket *what) {
    sum->share -= what->share;
    sum->reported -= what->reported;
    sum->reports -= what->reports;
    sum->starts -= what->starts;
    sum->completions -= what->completions;
    sum->money -= what->money;
    sum->priced -= what->priced;
    sum->unpriced -= what->unpriced;
}

static void leave(struct books *b, unsigned project, int64_t number) {
    struct window *w = project ? &b->project[project].window : &b->unowned;
    struct bucket *bucket = &w->ring[number % BUCKETS];
    subtract(&w->sum, bucket);
    if (project)
        subtract(&b->all, bucket);
    *bucket = (struct bucket){ 0 };
}

/* The buckets that are reused from now on have left the window. */
void share_clock(struct books *b) {
    int64_t newest = b->now / width_of(b);
    int64_t first = b->newest_bucket + 1;
    if (newest - first >= BUCKETS)
        first = newest - BUCKETS + 1;
    for (int64_t number = first; number <= newest; number++) {
        for (unsigned p = 0; p <= PROJECTS; p++)
            leave(b, p, number);
    }
    b->newest_bucket = newest;
}

void share_record(struct books *b, unsigned project, time_ms at, const struct bucket *what) {
    int64_t number = at / width_of(b);
    if (number <= b->newest_bucket - BUCKETS)
        return;
    struct window *w = project ? &b->project[project].window : &b->unowned;
    add(&w->ring[number % BUCKETS], what);
    add(&w->sum, what);
    if (project)
        add(&b->all, what);
}

int64_t share_estimate(const struct books *b, unsigned project) {
    const struct bucket *own = &b->project[project].window.sum;
    if (own->reports > 0)
        return own->reported / own->reports;
    return b->all.reports > 0 ? b->all.reported / b->all.reports : b->policy.run_tokens;
}

/* With the estimate of the moment, not that of the start. */
int64_t share_charge(const struct books *b, const struct row *row) {
    int64_t estimate = b->policy.fair == FAIR_DOCUMENT ? 0 : share_estimate(b, row->project);
    return row->reported > estimate ? row->reported : estimate;
}

int64_t share_reserved(const struct books *b, unsigned p) {
    const struct project_book *project = &b->project[p];
    int64_t sum = b->policy.fair == FAIR_DOCUMENT ? 0 : project->external * share_estimate(b, p);
    for (size_t i = 0; i < project->charged_count; i++)
        sum += share_charge(b, &b->rows[project->charged[i]]);
    return sum;
}

static void charge(struct books *b, const struct row *row) {
    struct project_book *p = &b->project[row->project];
    p->charged = xgrow(p->charged, &p->charged_capacity, p->charged_count + 1, sizeof(*p->charged));
    p->charged[p->charged_count++] = row->id;
}

static void discharge(struct books *b, const struct row *row) {
    struct project_book *p = &b->project[row->project];
    for (size_t i = 0; i < p->charged_count; i++) {
        if (p->charged[i] == row->id) {
            p->charged[i] = p->charged[--p->charged_count];
            return;
        }
    }
}

void share_start(struct books *b, struct row *row) {
    charge(b, row);
    share_record(b, row->project, b->now, &(struct bucket){ .starts = 1 });
}

void share_refused(struct books *b, struct row *row) {
    discharge(b, row);
    share_record(b, row->project, row->started_at, &(struct bucket){ .starts = UINT32_MAX });
}

void share_end(struct books *b, struct row *row, const struct fact *fact) {
    int64_t tokens = fact->ended.tokens;
    int64_t money = fact->ended.money >= 0 ? fact->ended.money : row->money;
    discharge(b, row);
    if (tokens < 0)
        tokens = row->reported;
    struct bucket end = { .share = share_charge(b, row) };
    if (tokens >= 0)
        end = (struct bucket){ .share = tokens, .reported = tokens, .reports = 1 };
    end.money = money >= 0 ? money : 0;
    end.priced = money >= 0;
    end.unpriced = money < 0 && fact->ended.outcome != OUTCOME_LAUNCH;
    share_record(b, row->project, b->now, &end);
}

int64_t share_budget_used(const struct books *b, unsigned p) {
    bool reserved = b->policy.budget_counts_reserved;
    if (p)
        return b->project[p].window.sum.reported + (reserved ? share_reserved(b, p) : 0);
    int64_t used = b->all.reported + b->unowned.sum.reported;
    for (unsigned i = 1; i <= PROJECTS && reserved; i++)
        used += share_reserved(b, i);
    return used;
}

int64_t share_money_reserved(const struct books *b, unsigned p) {
    const struct project_book *project = &b->project[p];
    const struct bucket *own = &project->window.sum;
    int64_t estimate = 0;
    if (b->policy.fair != FAIR_DOCUMENT && own->priced > 0)
        estimate = own->money / own->priced;
    else if (b->policy.fair != FAIR_DOCUMENT && b->all.priced > 0)
        estimate = b->all.money / b->all.priced;
    int64_t sum = project->external * estimate;
    for (size_t i = 0; i < project->charged_count; i++) {
        const struct row *row = &b->rows[project->charged[i]];
        bool has_own = row->expected > 0 && b->policy.fair != FAIR_DOCUMENT;
        int64_t likely = has_own ? row->expected : estimate;
        sum += row->money > likely ? row->money : likely;
    }
    return sum;
}

int64_t share_money_used(const struct books *b, unsigned p) {
    bool reserved = b->policy.budget_counts_reserved;
    if (p)
        return b->project[p].window.sum.money + (reserved ? share_money_reserved(b, p) : 0);
    int64_t used = b->all.money + b->unowned.sum.money;
    for (unsigned i = 1; i <= PROJECTS && reserved; i++)
        used += share_money_reserved(b, i);
    return used;
}

static int64_t tokens_of(const struct books *b, unsigned p) {
    return b->project[p].window.sum.share + share_reserved(b, p);
}

static bool is_compared(const struct books *b, unsigned p) {
    return gate_project(b, p) && b->project[p].ready > 0;
}

void share_begin_decision(struct books *b) {
    b->document_weight = b->document_tokens = b->document_count = 0;
    for (unsigned p = 1; p <= PROJECTS; p++) {
        b->document_tokens += tokens_of(b, p);
        if (!is_compared(b, p))
            continue;
        b->document_weight += b->project[p].spec.weight_milli;
        b->document_count++;
    }
}

__int128 share_deficit(const struct books *b, unsigned project) {
    int64_t weight = b->project[project].spec.weight_milli, weights = 0, tokens = 0, count = 0;
    for (unsigned p = 1; p <= PROJECTS; p++) {
        if (!is_compared(b, p))
            continue;
        weights += b->project[p].spec.weight_milli;
        tokens += tokens_of(b, p);
        count++;
    }
    if (b->policy.fair == FAIR_DOCUMENT) {
        weights = b->document_weight;
        tokens = b->document_tokens;
        count = b->document_count;
    }
    if (weights == 0) {
        weights = 1000 * count;
        weight = 1000;
    }
    if (tokens < 1)
        tokens = 1;
    return (__int128)tokens_of(b, project) * weights - (__int128)weight * tokens;
}
