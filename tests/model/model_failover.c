/* model_failover.c: another agent takes over (rules, 2 "fail-over").
 *
 * Which agent a task would run with is computed for each query. */
#include "model_failover.h"

sym model_chooser(const struct model *m, const struct model_task *t) {
    const struct agent_spec *a = t->s.agent ? model_agent(m, t->s.agent) : NULL;
    return a && a->failover_count > 0 && !t->s.bound && !t->s.limiter ? t->s.agent : 0;
}

/* Whose clock counts for it, besides those of its project and account. */
sym model_clock_agent(const struct model *m, const struct model_task *t) {
    const struct agent_spec *a = t->s.agent ? model_agent(m, t->s.agent) : NULL;
    return a && a->failover_count == 0 && a->hours ? t->s.agent : model_chooser(m, t);
}

static bool is_open(const struct model *m, sym agent) {
    const struct agent_spec *a = model_agent(m, agent);
    return a && model_agent_open(m, agent) && model_agent_in_hours(m, agent)
           && (!a->limiter
               || (model_limiter_open(m, a->limiter) && model_limiter_in_hours(m, a->limiter)));
}

bool model_is_covered(const struct model *m, sym agent) {
    const struct agent_spec *a = model_agent(m, agent);
    if (!a || model_has_roster(m))
        return false;
    for (unsigned i = 0; i < a->failover_count; i++)
        if (is_open(m, a->failover[i]))
            return true;
    return false;
}

static bool has_place(const struct model *m, const struct model_task *t, enum lease_kind kind,
                      sym name) {
    struct model_key key = { .kind = kind, .name = name };
    return !name || model_has_place(m, &key, t);
}

sym model_runner(const struct model *m, const struct model_task *t) {
    sym own = t->s.agent, first_open = 0;
    if (!model_chooser(m, t) || model_has_roster(m) || is_open(m, own))
        return own;
    const struct agent_spec *a = model_agent(m, own);
    for (unsigned i = 0; i < a->failover_count; i++) {
        sym other = a->failover[i];
        if (!is_open(m, other))
            continue;
        if (has_place(m, t, LEASE_AGENT, other)
            && has_place(m, t, LEASE_LIMITER, model_agent(m, other)->limiter))
            return other;
        if (!first_open)
            first_open = other;
    }
    return first_open ? first_open : own;
}
