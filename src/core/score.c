/* score.c: see score.h. Integers only; a whole minute counts when it is over. */
#include "core/score.h"

static int64_t age_minutes(const struct core *c, const struct task *t) {
    return t->created_at >= c->now ? 0 : (c->now - t->created_at) / MINUTES(1);
}

/* a · b without overflow, at most `limit`; all not negative. */
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
    score -= score_penalty(p, t->iteration);
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
