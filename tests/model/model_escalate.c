/* model_escalate.c: stronger agents after verified failures (rules, 5 "escalation"). */
#include "model_internal.h"

/* The agent that the task had before its first step. */
static sym own_agent(const struct model_task *t) {
    return t->s.escalation.step == 0 ? t->s.agent : t->s.escalation.own_agent;
}

/* Entry number `n`, from 1, of the list that applies. False: the list has no such entry. */
static bool entry(const struct model *m, const struct model_task *t, unsigned n, sym *ret) {
    const struct escalation_spec *x = &t->s.escalation;
    const struct agent_spec *own = model_agent(m, own_agent(t));
    if (x->count > 0) {
        *ret = n <= x->count ? x->agents[n - 1] : 0;
        return n <= x->count;
    }
    if (t->s.bound || !own || n > own->escalate_count)
        return false;
    *ret = own->escalate[n - 1];
    return true;
}

static unsigned failures_per_step(const struct model *m, const struct model_task *t) {
    const struct agent_spec *own = model_agent(m, own_agent(t));
    if (t->s.escalation.after > 0)
        return t->s.escalation.after == ESCALATE_NEVER ? 0 : t->s.escalation.after;
    return own && own->escalate_after != ESCALATE_NEVER ? own->escalate_after : 0;
}

void model_not_accepted(struct model *m, struct model_task *t, enum reason reason) {
    struct escalation_spec *x = &t->s.escalation;
    unsigned per_step = failures_per_step(m, t), n = x->step + 1u;
    sym agent = 0;
    while (entry(m, t, n, &agent) && agent && !model_agent(m, agent))
        n++; /* "Agents that are not known are passed over." */
    if (per_step == 0 || !entry(m, t, n, &agent))
        return; /* "Without a step that is left, nothing is counted." */
    x->failed++;
    if (x->failed < per_step)
        return;
    sym last = t->s.agent;
    x->own_agent = own_agent(t);
    x->step = (uint16_t)n;
    if (agent)
        t->s.agent = agent;
    model_push(m, &(struct order){ .kind = ORDER_ESCALATE,
                                   .task = t->s.id,
                                   .attempt = t->s.attempt,
                                   .iteration = t->s.iteration,
                                   .step = n,
                                   .failures = x->failed,
                                   .agent = t->s.agent,
                                   .instead_of = last,
                                   .reason = reason });
    x->failed = 0;
}

void model_own_agent_again(struct model_task *t) {
    t->s.agent = own_agent(t);
    t->s.escalation.step = 0;
    t->s.escalation.own_agent = 0;
    t->s.escalation.failed = 0;
}
