/* costs.c: what a run is likely to cost, by its model. See budget_internal.h.
 *
 * The mean of the runs of its project with the same agent and model; where none has ended yet, what
 * the mean usage of its project costs at the price of the model. Means are lost with the daemon:
 * until a run ends, the core uses the mean of the project, which is stored. */
#include <stdlib.h>
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "engine/budget/budget_internal.h"

#define NEW_PART 8 /* the newest run has a weight of one eighth, as in forecast.c */

struct mean {
    char *project, *agent, *model;
    int64_t usd; /* millionths; -1: unknown */
    bool has_usage;
    int64_t in, out, cached; /* with has_usage */
};

struct costs {
    LIST(struct mean) means;
};

PART_STATE(costs, struct costs, costs_of)

static void costs_free(struct engine *e) {
    struct costs *c = costs_of(e);
    for (size_t i = 0; i < c->means.count; i++) {
        free(c->means.items[i].project);
        free(c->means.items[i].agent);
        free(c->means.items[i].model);
    }
    free(c->means.items);
}

static struct mean *find(const struct costs *c, const struct run_cost *run) {
    for (size_t i = 0; i < c->means.count; i++) {
        struct mean *m = &c->means.items[i];
        if (strcmp(m->project, run->project) == 0 && strcmp(m->agent, run->agent) == 0
            && strcmp(m->model, run->model) == 0)
            return m;
    }
    return NULL;
}

static void blend(int64_t *mean, int64_t value, bool is_first) {
    *mean = is_first ? value : *mean + (value - *mean) / NEW_PART;
}

void costs_learn(struct engine *e, const struct run_cost *run) {
    struct costs *c = costs_of(e);
    bool has_usage = run->used.in >= 0 && run->used.out >= 0;
    if (run->used.cost_micro_usd < 0 && !has_usage)
        return;
    struct mean *m = find(c, run);
    if (!m) {
        m = LIST_ADD(&c->means);
        *m = (struct mean){ .project = xstrdup(run->project),
                            .agent = xstrdup(run->agent),
                            .model = xstrdup(run->model),
                            .usd = -1 };
    }
    if (run->used.cost_micro_usd >= 0)
        blend(&m->usd, run->used.cost_micro_usd, m->usd < 0);
    if (!has_usage)
        return;
    blend(&m->in, run->used.in, !m->has_usage);
    blend(&m->out, run->used.out, !m->has_usage);
    blend(&m->cached, known_amount(run->used.cached), !m->has_usage);
    m->has_usage = true;
}

/* Of the runs of the project, whatever model they had: the mean of the means. */
static bool mean_usage(const struct costs *c, const char *project, struct agent_usage *ret) {
    int64_t count = 0;
    *ret = (struct agent_usage){ 0 };
    for (size_t i = 0; i < c->means.count; i++) {
        const struct mean *m = &c->means.items[i];
        if (!m->has_usage || strcmp(m->project, project) != 0)
            continue;
        ret->in += m->in;
        ret->out += m->out;
        ret->cached += m->cached;
        count++;
    }
    if (count == 0)
        return false;
    ret->in /= count;
    ret->out /= count;
    ret->cached /= count;
    return true;
}

int64_t costs_expected(const struct engine *e, const struct run_cost *run) {
    const struct costs *c = costs_of(e);
    const struct mean *own = find(c, run);
    struct agent_usage usual;
    if (own && own->usd >= 0)
        return own->usd;
    return *run->model && mean_usage(c, run->project, &usual)
               ? known_amount(usage_price(e, run->model, &usual))
               : 0;
}

const struct engine_part costs_part = {
    .state_size = sizeof(struct costs),
    .at = { [STEP_FREE] = costs_free },
};
