/* task_rank.c: which task comes first. See task_rank.h. */
#include "core/task_rank.h"

#include "core/fair.h"
#include "core/ready_queue.h"

/* --- score ----------------------------------------------------------------------------------- */

static int64_t age_minutes(const struct core *c, const struct task *t) {
    return t->created_at >= c->now ? 0 : (c->now - t->created_at) / MINUTES(1);
}

/* min(a · b, limit) without overflow; arguments are not negative. */
static int64_t product_up_to(int64_t a, int64_t b, int64_t limit) {
    int64_t result;
    if (__builtin_mul_overflow(a, b, &result) || result > limit)
        return limit;
    return result;
}

int64_t score_penalty(const struct policy *policy, uint32_t iteration) {
    if (iteration <= 1)
        return 0;
    return product_up_to(policy->score.per_retry, (int64_t)iteration - 1, policy->score.retry_max);
}

struct score {
    int32_t is;
    time_ms until; /* when the part for age next grows; TIME_NEVER: it is at its maximum */
};

static struct score score_at(const struct core *c, const struct task *t) {
    const struct policy *p = &c->policy;
    int64_t minutes = age_minutes(c, t);
    int64_t age = product_up_to(p->score.age_per_minute, minutes, p->score.age_max);
    int64_t score = t->kind ? c->kinds[t->kind].spec.base : p->score.base;
    score += age;
    score += product_up_to(p->score.per_depth, t->depth, INT32_MAX);
    score -= score_penalty(p, iteration_of(c, t));
    score = score > INT32_MAX ? INT32_MAX : score < INT32_MIN ? INT32_MIN : score;
    bool grows = p->score.age_per_minute != 0 && age < p->score.age_max;
    return (struct score){ (int32_t)score, grows
                                               ? time_add(t->created_at, (minutes + 1) * MINUTES(1))
                                               : TIME_NEVER };
}

int32_t score_of(const struct core *c, const struct task *t) {
    return score_at(c, t).is;
}

/* --- order ----------------------------------------------------------------------------------- */

bool task_before_by_age(const void *ctx, uint32_t a, uint32_t b) {
    const struct core *c = ctx;
    const struct task *ta = task_at(c, a), *tb = task_at(c, b);
    if ((c->policy.order & ORDER_BY_ENQUEUED) && ta->enqueued_at != tb->enqueued_at)
        return ta->enqueued_at < tb->enqueued_at;
    if ((c->policy.order & ORDER_BY_CREATED) && ta->created_at != tb->created_at)
        return ta->created_at < tb->created_at;
    return ta->id < tb->id;
}

bool task_before_by_wait(const void *ctx, uint32_t a, uint32_t b) {
    const struct core *c = ctx;
    const struct task *ta = task_at(c, a), *tb = task_at(c, b);
    if (ta->ready_clock != tb->ready_clock)
        return ta->ready_clock < tb->ready_clock;
    return task_before_by_age(c, a, b);
}

bool task_before_by_rank(const struct core *c, uint32_t a, uint32_t b, time_ms *until) {
    const struct task *ta = task_at(c, a), *tb = task_at(c, b);
    unsigned order = c->policy.order;
    if ((order & ORDER_BY_PRIORITY) && ta->priority != tb->priority)
        return ta->priority < tb->priority;
    if (order & ORDER_BY_SCORE) {
        struct score sa = score_at(c, ta), sb = score_at(c, tb);
        if (until)
            *until = time_min(*until, time_min(sa.until, sb.until));
        if (sa.is != sb.is)
            return sa.is > sb.is;
    }
    return task_before_by_age(c, a, b);
}

/* When the task becomes overdue; TIME_NEVER: it is, or never will. */
static time_ms overdue_at(const struct core *c, time_ms waited) {
    if (c->policy.max_wait == TIME_NEVER || waited >= c->policy.max_wait)
        return TIME_NEVER;
    return time_add(c->now, c->policy.max_wait - waited);
}

bool task_before_in_project(const struct core *c, uint32_t a, uint32_t b, time_ms *until) {
    const struct task *ta = task_at(c, a), *tb = task_at(c, b);
    if (c->policy.order & ORDER_BY_OVERDUE) {
        time_ms wa = queue_waited(c, ta), wb = queue_waited(c, tb);
        bool oa = wa >= c->policy.max_wait, ob = wb >= c->policy.max_wait;
        if (until)
            *until = time_min(*until, time_min(overdue_at(c, wa), overdue_at(c, wb)));
        if (oa != ob)
            return oa;
        if (oa && wa != wb)
            return wa > wb;
    }
    return task_before_by_rank(c, a, b, until);
}

static bool owed_a_start(const struct core *c, const struct project *p) {
    switch (c->policy.guarantee) {
    case GUARANTEE_START:
        return p->window.sum.starts == 0;
    case GUARANTEE_COMPLETION:
        return p->window.sum.completions == 0;
    case GUARANTEE_OFF:
    case GUARANTEE_MAX:
        break;
    }
    return false;
}

int project_compare(const struct core *c, uint32_t a, uint32_t b, struct winner_bounds *bounds) {
    const struct project *pa = &c->projects[a], *pb = &c->projects[b];
    if (c->policy.order & ORDER_BY_GUARANTEE) {
        bool ga = owed_a_start(c, pa), gb = owed_a_start(c, pb);
        if (ga != gb)
            return ga ? -1 : 1;
    }
    int order = c->policy.order & ORDER_BY_DEFICIT ? fair_compare(c, pa, pb, bounds) : 0;
    if (order == 0 && (c->policy.order & ORDER_BY_POSITION))
        order = (a > b) - (a < b);
    return order;
}

bool task_before(const struct core *c, uint32_t a, uint32_t b) {
    uint32_t pa = task_at(c, a)->project, pb = task_at(c, b)->project;
    struct winner_bounds unused = { 0 };
    int order = pa == pb ? 0 : project_compare(c, pa, pb, &unused);
    return order != 0 ? order < 0 : task_before_in_project(c, a, b, NULL);
}
