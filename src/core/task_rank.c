/* task_rank.c: which task comes first. See task_rank.h. */
#include "core/task_rank.h"

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

int32_t score_of(const struct core *c, const struct task *t) {
    const struct policy *p = &c->policy;
    int64_t score = t->kind ? c->kinds[t->kind].spec.base : p->score.base;
    score += product_up_to(p->score.age_per_minute, age_minutes(c, t), p->score.age_max);
    score += product_up_to(p->score.per_depth, t->depth, INT32_MAX);
    score -= score_penalty(p, iteration_of(c, t));
    if (score > INT32_MAX)
        return INT32_MAX;
    return score < INT32_MIN ? INT32_MIN : (int32_t)score;
}

time_ms score_changes_at(const struct core *c, const struct task *t) {
    const struct policy *p = &c->policy;
    int64_t minutes = age_minutes(c, t);
    if (p->score.age_per_minute == 0
        || product_up_to(p->score.age_per_minute, minutes, p->score.age_max) >= p->score.age_max)
        return TIME_NEVER;
    return time_add(t->created_at, (minutes + 1) * MINUTES(1));
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

bool task_before_by_rank(const struct core *c, uint32_t a, uint32_t b) {
    const struct task *ta = task_at(c, a), *tb = task_at(c, b);
    unsigned order = c->policy.order;
    if ((order & ORDER_BY_PRIORITY) && ta->priority != tb->priority)
        return ta->priority < tb->priority;
    if (order & ORDER_BY_SCORE) {
        int32_t sa = score_of(c, ta), sb = score_of(c, tb);
        if (sa != sb)
            return sa > sb;
    }
    return task_before_by_age(c, a, b);
}

bool task_before_in_project(const struct core *c, uint32_t a, uint32_t b) {
    if (c->policy.order & ORDER_BY_OVERDUE) {
        time_ms wa = queue_waited(c, task_at(c, a)), wb = queue_waited(c, task_at(c, b));
        bool oa = wa >= c->policy.max_wait, ob = wb >= c->policy.max_wait;
        if (oa != ob)
            return oa;
        if (oa && wa != wb)
            return wa > wb;
    }
    return task_before_by_rank(c, a, b);
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

static bool project_before(const struct core *c, uint32_t a, uint32_t b, bool *ret_equal) {
    const struct project *pa = &c->projects[a], *pb = &c->projects[b];
    *ret_equal = false;
    if (c->policy.order & ORDER_BY_GUARANTEE) {
        bool ga = owed_a_start(c, pa), gb = owed_a_start(c, pb);
        if (ga != gb)
            return ga;
    }
    if ((c->policy.order & ORDER_BY_DEFICIT) && pa->deficit != pb->deficit)
        return pa->deficit < pb->deficit;
    if ((c->policy.order & ORDER_BY_POSITION) && a != b)
        return a < b;
    *ret_equal = true;
    return false;
}

bool task_before(const struct core *c, uint32_t a, uint32_t b) {
    bool equal;
    bool before = project_before(c, task_at(c, a)->project, task_at(c, b)->project, &equal);
    return equal ? task_before_in_project(c, a, b) : before;
}
