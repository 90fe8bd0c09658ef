/* model_share.c: what was used in the window (rules, 3), and what the budgets say of it (rules, 2).
 *
 * The window is a list of everything that ever happened; each question adds up what counts now. */
#include "model_internal.h"

#define BUCKETS 288

static bool in_window(const struct model *m, const struct model_event *e) {
    time_ms width = m->policy.fair_window / BUCKETS;
    if (width < 1)
        width = 1;
    time_ms bucket = e->at / width, current = m->now / width;
    return bucket > current - BUCKETS;
}

/* Does what the project has booked in the bucket of that time stay at or above nothing? */
bool model_can_correct(const struct model *m, const struct usage_spec *u) {
    time_ms width = m->policy.fair_window / BUCKETS, at = time_min(u->at, m->now);
    int64_t tokens = u->tokens, unreported = u->unreported, money = u->money;
    int64_t reports = u->reports, priced = u->priced, unpriced = u->unpriced;
    if (tokens >= 0 && unreported >= 0 && money >= 0 && reports >= 0 && priced >= 0
        && unpriced >= 0)
        return true;
    if (!u->project)
        return reports >= 0 && priced >= 0 && unpriced >= 0;
    if (width < 1)
        width = 1;
    for (size_t i = 0; i < m->events_count; i++) {
        const struct model_event *e = &m->events[i];
        if (e->project != u->project || e->at / width != at / width || !in_window(m, e))
            continue;
        tokens += e->reported;
        unreported += e->share - e->reported;
        money += e->money;
        reports += (int32_t)e->reports;
        priced += (int32_t)e->priced;
        unpriced += (int32_t)e->unpriced;
    }
    return tokens >= 0 && unreported >= 0 && money >= 0 && reports >= 0 && priced >= 0
           && unpriced >= 0;
}

struct model_event model_window(const struct model *m, sym project) {
    struct model_event sum = { .project = project };
    for (size_t i = 0; i < m->events_count; i++) {
        const struct model_event *e = &m->events[i];
        if (e->project != project || !in_window(m, e))
            continue;
        sum.share += e->share;
        sum.reported += e->reported;
        sum.reports += e->reports;
        sum.starts += e->starts;
        sum.completions += e->completions;
        sum.money += e->money;
        sum.priced += e->priced;
        sum.unpriced += e->unpriced;
    }
    return sum;
}

static int64_t estimate_of(const struct model *m, sym project) {
    struct model_event own = model_window(m, project);
    if (own.reports > 0)
        return own.reported / own.reports;
    int64_t tokens = 0, reports = 0;
    for (size_t i = 0; i < m->projects_count; i++) {
        struct model_event e = model_window(m, m->projects[i].spec.id);
        tokens += e.reported;
        reports += e.reports;
    }
    return reports > 0 ? tokens / reports : m->policy.run_tokens;
}

/* Document mode knows no estimates. */
static int64_t charge(const struct model *m, const struct model_task *t, int64_t estimate) {
    if (!model_has_run(t))
        return 0;
    bool applied = m->policy.fair == FAIR_DOCUMENT || t->run.reported > estimate;
    return applied ? t->run.reported : estimate;
}

/* What a live run counts for while it lives. */
int64_t model_charge(const struct model *m, const struct model_task *t) {
    return charge(m, t, estimate_of(m, t->s.project));
}

static int64_t charge_of_project(const struct model *m, const struct model_project *p) {
    int64_t estimate = m->policy.fair == FAIR_DOCUMENT ? 0 : estimate_of(m, p->spec.id);
    int64_t sum = p->external * estimate;
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.project == p->spec.id)
            sum += charge(m, &m->tasks[i], estimate);
    return sum;
}

static int64_t money_estimate_of(const struct model *m, sym project) {
    struct model_event own = model_window(m, project);
    if (own.priced > 0)
        return own.money / own.priced;
    int64_t money = 0, priced = 0;
    for (size_t i = 0; i < m->projects_count; i++) {
        struct model_event e = model_window(m, m->projects[i].spec.id);
        money += e.money;
        priced += e.priced;
    }
    return priced > 0 ? money / priced : 0;
}

static int64_t money_charge_of_project(const struct model *m, const struct model_project *p) {
    bool document = m->policy.fair == FAIR_DOCUMENT;
    int64_t estimate = document ? 0 : money_estimate_of(m, p->spec.id);
    int64_t sum = p->external * estimate;
    for (size_t i = 0; i < m->tasks_count; i++) {
        const struct model_task *t = &m->tasks[i];
        if (t->s.project != p->spec.id || !model_has_run(t))
            continue;
        int64_t likely = t->run.expected > 0 && !document ? t->run.expected : estimate;
        sum += t->run.money > likely ? t->run.money : likely;
    }
    return sum;
}

int64_t model_tokens(const struct model *m, sym project) {
    return model_window(m, project).share + charge_of_project(m, model_project(m, project));
}

struct model_share model_share(const struct model *m, sym project) {
    struct model_event e = model_window(m, project);
    return (struct model_share){
        .tokens = e.share,
        .reserved = charge_of_project(m, model_project(m, project)),
        .starts = e.starts,
        .completions = e.completions,
        .money = e.money,
        .money_reserved = money_charge_of_project(m, model_project(m, project)),
        .priced = e.priced,
        .unpriced = e.unpriced,
    };
}

/* Closed by tokens or by money. */
bool model_budget_open(const struct model *m) {
    int64_t used = 0, spent = 0;
    if (m->budget == UNLIMITED && !m->money_budget.is_set)
        return true;
    for (size_t i = 0; i < m->events_count; i++) {
        if (!in_window(m, &m->events[i]))
            continue;
        used += m->events[i].reported;
        spent += m->events[i].money;
    }
    for (size_t i = 0; i < m->projects_count && m->policy.budget_counts_reserved; i++) {
        used += charge_of_project(m, &m->projects[i]);
        spent += money_charge_of_project(m, &m->projects[i]);
    }
    return (m->budget == UNLIMITED || used < m->budget)
           && (!m->money_budget.is_set || spent < m->money_budget.micro);
}

bool model_project_budget_open(const struct model *m, const struct model_project *p) {
    if (p->spec.budget == UNLIMITED && !p->spec.money.is_set)
        return true;
    struct model_event e = model_window(m, p->spec.id);
    bool reserved = m->policy.budget_counts_reserved;
    int64_t used = e.reported + (reserved ? charge_of_project(m, p) : 0);
    int64_t spent = e.money + (reserved ? money_charge_of_project(m, p) : 0);
    return (p->spec.budget == UNLIMITED || used < p->spec.budget)
           && (!p->spec.money.is_set || spent < p->spec.money.micro);
}

static bool has_ready_task(const struct model *m, sym project) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.project == project && m->tasks[i].s.state == TASK_READY)
            return true;
    return false;
}

struct model_totals model_totals(const struct model *m) {
    struct model_totals sum = { .equal = true };
    int64_t compared = 0;
    for (size_t i = 0; i < m->projects_count; i++) {
        const struct project_spec *p = &m->projects[i].spec;
        bool is_compared = p->active && !p->paused && has_ready_task(m, p->id);
        if (is_compared) {
            compared++;
            sum.weight += p->weight_milli;
            sum.equal = sum.equal && p->weight_milli == 0;
        }
        if (is_compared || m->policy.fair == FAIR_DOCUMENT)
            sum.tokens += model_tokens(m, p->id);
    }
    if (sum.equal)
        sum.weight = 1000 * compared;
    if (sum.tokens < 1)
        sum.tokens = 1;
    return sum;
}
