/* tell_world.c: projects, kinds, limiters, agents, workspaces, usage.
 *
 * The file's own projects and agents are told before the configuration's and once more after them:
 * before, because their order in the file is their position; after, because the fields of the file
 * win over its configuration. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "snapshot/tell.h"

#define TOKENS_MOST ((int64_t)1 << 61) /* half of it is left for what starts later */

int teller_apply(struct teller *t, const struct fact *fact) {
    int r = core_apply(t->core, fact, t->err);
    return r < 0 ? error_prefix(t->err, "%s", t->name) : 0;
}

struct known *teller_known(struct teller *t, sym name) {
    size_t old = t->known_capacity;
    t->known = xgrow(t->known, &t->known_capacity, (size_t)name + 1, sizeof(*t->known));
    if (t->known_capacity > old)
        memset(t->known + old, 0, (t->known_capacity - old) * sizeof(*t->known));
    return &t->known[name];
}

static const char *name_of(const struct teller *t, sym symbol) {
    return symbol_name(t->draft->symbols, symbol);
}

/* --- projects -------------------------------------------------------------------------------- */

static struct money_budget money_of(int64_t micro) {
    return (struct money_budget){ .is_set = true, .micro = micro };
}

void teller_project_spec(const struct teller *t, const struct project_record *record,
                         struct project_spec *ret) {
    config_project_spec(t->config, t->core, name_of(t, record->id), ret);
    if (record->weight_milli != ABSENT)
        ret->weight_milli = record->weight_milli;
    if (record->max_running != ABSENT)
        ret->max_running = record->max_running;
    if (record->budget != ABSENT)
        ret->budget = record->budget;
    if (record->budget_usd != ABSENT)
        ret->money = money_of(record->budget_usd);
    if (record->active != ABSENT)
        ret->active = record->active;
    if (record->paused != ABSENT)
        ret->paused = record->paused;
    if (record->free_workspaces != ABSENT)
        ret->workspaces = record->free_workspaces;
    else if (t->no_other_workspaces)
        ret->workspaces = 0;
}

static const struct project_record project_unlisted = {
    .weight_milli = ABSENT,
    .max_running = ABSENT,
    .budget = ABSENT,
    .budget_usd = ABSENT,
    .free_workspaces = ABSENT,
    .active = ABSENT,
    .paused = ABSENT,
};

static int tell_project(struct teller *t, const struct project_record *record) {
    struct fact fact = { .kind = FACT_PROJECT };
    teller_project_spec(t, record, &fact.project);
    teller_known(t, record->id)->project = true;
    return teller_apply(t, &fact);
}

static int tell_listed_projects(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->projects.count; i++)
        r = tell_project(t, &t->draft->projects.items[i]);
    return r;
}

static int tell_unlisted_project(struct teller *t, sym name) {
    struct project_record record = project_unlisted;
    record.id = name;
    return tell_project(t, &record);
}

static int tell_configured_projects(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_project_count(t->config); i++) {
        const char *text = config_project_name(t->config, i);
        sym name = symbol_intern(t->draft->symbols, text, strlen(text));
        if (!teller_known(t, name)->project)
            r = tell_unlisted_project(t, name);
    }
    return r;
}

/* Projects that only tasks name: the implicit `default`, or any when nothing lists projects. */
static int tell_named_projects(struct teller *t) {
    bool free_choice = !t->draft->projects_given && config_project_count(t->config) == 0;
    t->default_project = symbol_intern(t->draft->symbols, "default", 7);
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->tasks.count; i++) {
        const struct task_record *task = &t->draft->tasks.items[i];
        sym project = task->project ? task->project : t->default_project;
        if (teller_known(t, project)->project)
            continue;
        if (task->project && !free_choice)
            return error_set(t->err, -EINVAL, "%s: task '%s': unknown project '%s'", t->name,
                             id_table_text(&t->draft->ids, task->id), name_of(t, project));
        r = tell_unlisted_project(t, project);
    }
    return r;
}

/* --- limiters, agents, kinds, resources ------------------------------------------------------ */

static int tell_limiter(struct teller *t, sym name, const struct limiter_record *record) {
    struct fact fact = { .kind = FACT_LIMITER };
    config_limiter_spec(t->config, t->core, name_of(t, name), &fact.limiter);
    if (record) {
        fact.limiter.backoff_until = record->backoff_until;
        fact.limiter.hits = record->hits;
        fact.limiter.closed = record->closed;
        fact.limiter.in_backoff = record->in_backoff;
        fact.limiter.backoff_since = record->backoff_since;
        fact.limiter.last_hit = record->last_hit;
        fact.limiter.ramp_since = record->ramp_since;
    }
    teller_known(t, name)->limiter = true;
    return teller_apply(t, &fact);
}

static int tell_named_limiter(struct teller *t, sym name) {
    return name == 0 || teller_known(t, name)->limiter ? 0 : tell_limiter(t, name, NULL);
}

static int tell_limiters(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->limiters.count; i++)
        r = tell_limiter(t, t->draft->limiters.items[i].id, &t->draft->limiters.items[i]);
    if (t->draft->limiters.count == 1 && !t->draft->top.live)
        t->only_limiter = t->draft->limiters.items[0].id;
    return r;
}

static int tell_agent(struct teller *t, sym name, const struct agent_record *record) {
    struct fact fact = { .kind = FACT_AGENT };
    config_agent_spec(t->config, t->core, name_of(t, name), &fact.agent);
    if (record) {
        fact.agent.roster = fact.agent.roster || !t->draft->top.live;
        fact.agent.idle = record->idle;
        fact.agent.launch_failures = record->launch_failures;
        fact.agent.openings = record->openings;
        fact.agent.closed_until = record->closed_until;
        if (record->limiter)
            fact.agent.limiter = record->limiter;
    }
    struct known *known = teller_known(t, name);
    known->agent = true;
    known->agent_limiter = fact.agent.limiter;
    int r = tell_named_limiter(t, fact.agent.limiter);
    if (r == 0)
        r = teller_apply(t, &fact);
    /* A live snapshot lists all of them, in their order. */
    for (unsigned i = 0; r == 0 && !t->draft->top.live && i < fact.agent.failover_count; i++)
        if (!teller_known(t, fact.agent.failover[i])->agent)
            r = tell_agent(t, fact.agent.failover[i], NULL);
    return r;
}

static int tell_roster(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->agents.count; i++)
        r = tell_agent(t, t->draft->agents.items[i].id, &t->draft->agents.items[i]);
    if (r == 0 && t->draft->agents_given && t->draft->agents.count == 0) {
        /* A list without agents means that nobody can work; no list, that agents do not matter. */
        struct agent_record nobody = { .id = symbol_intern(t->draft->symbols, "-", 1) };
        r = tell_agent(t, nobody.id, &nobody);
    }
    return r;
}

static int tell_kind(struct teller *t, sym name) {
    struct known *known = teller_known(t, name);
    if (known->kind)
        return 0;
    known->kind = true;
    known->until = (int8_t)config_until(t->config, name_of(t, name));
    struct fact fact = { .kind = FACT_KIND };
    config_kind_spec(t->config, t->core, name_of(t, name), &fact.kind_spec);
    return name ? teller_apply(t, &fact) : 0;
}

/* Kinds, agents and limiters that tasks name. */
static int tell_named(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->tasks.count; i++) {
        const struct task_record *task = &t->draft->tasks.items[i];
        r = tell_kind(t, task->kind);
        if (r == 0)
            r = tell_named_limiter(t, task->limiter);
        if (r == 0 && task->agent && !teller_known(t, task->agent)->agent)
            r = tell_agent(t, task->agent, NULL);
    }
    return r;
}

/* Before the configuration: what it does not cap is unlimited. */
static int tell_resources(struct teller *t) {
    for (size_t i = 0; i < t->draft->resources.count; i++) {
        sym name = t->draft->resources.items[i];
        if (teller_known(t, name)->resource)
            continue;
        teller_known(t, name)->resource = true;
        struct fact fact = { .kind = FACT_RESOURCE };
        fact.resource.id = name;
        fact.resource.cap = UNLIMITED;
        int r = teller_apply(t, &fact);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- amounts --------------------------------------------------------------------------------- */

/* Sums of an entry of 'usage' are as large as its parts. */
static __int128 size_of(int64_t number) {
    return number < 0 ? -(__int128)number : number;
}

/* Tokens are added up in 64 bits: what is told must leave room for every run there could be. */
static int check_tokens(struct teller *t) {
    const struct draft *d = t->draft;
    __int128 used = 0, live = 0, spent = 0;
    uint64_t runs = d->tasks.count + d->top.running;
    for (size_t i = 0; i < d->projects.count; i++) {
        used += d->projects.items[i].tokens_used;
        runs += d->projects.items[i].running;
    }
    for (size_t i = 0; i < d->usage.count; i++) {
        const struct usage_record *u = &d->usage.items[i];
        used += size_of(u->tokens) + size_of(u->unreported);
        spent += size_of(u->usd);
    }
    for (size_t i = 0; i < d->tasks.count; i++) {
        if (d->tasks.items[i].tokens > 0)
            live += d->tasks.items[i].tokens;
        if (d->tasks.items[i].usd > 0)
            spent += d->tasks.items[i].usd;
    }
    int64_t usual = config_policy(t->config)->run_tokens;
    __int128 estimate = used > usual ? used : usual;
    if (spent > TOKENS_MOST)
        return error_set(t->err, -ERANGE, "%s: the amounts of 'usd' are too large together",
                         t->name);
    if (used > TOKENS_MOST || live > TOKENS_MOST || estimate * runs > TOKENS_MOST)
        return error_set(t->err, -ERANGE,
                         "%s: 'tokens_used', 'tokens' and 'running' are too large together",
                         t->name);
    return 0;
}

static int tell_runs_outside(struct teller *t) {
    const struct draft *d = t->draft;
    struct fact none = { .kind = FACT_EXTERNAL };
    none.external.running = d->top.running;
    none.external.roots = d->top.running_roots;
    int r = d->top.running || d->top.running_roots ? teller_apply(t, &none) : 0;
    for (size_t i = 0; r == 0 && i < d->projects.count; i++) {
        struct fact external = { .kind = FACT_EXTERNAL };
        external.external.project = d->projects.items[i].id;
        external.external.running = d->projects.items[i].running;
        external.external.roots = d->projects.items[i].running_roots;
        r = teller_apply(t, &external);
    }
    return r;
}

/* Of a live snapshot: the buckets of the window. */
static int tell_buckets(struct teller *t) {
    const struct draft *d = t->draft;
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->usage.count; i++) {
        const struct usage_record *u = &d->usage.items[i];
        struct fact fact = { .kind = FACT_USAGE };
        fact.usage = (struct usage_spec){ .project = u->project,
                                          .tokens = u->tokens,
                                          .unreported = u->unreported,
                                          .money = u->usd,
                                          .starts = (int32_t)u->starts,
                                          .completions = (int32_t)u->completed,
                                          .reports = (int32_t)u->reports,
                                          .priced = (int32_t)u->priced,
                                          .unpriced = (int32_t)u->unpriced,
                                          .at = u->at };
        r = teller_apply(t, &fact);
    }
    return r;
}

static int tell_usage(struct teller *t) {
    const struct draft *d = t->draft;
    int64_t sum = 0, spent = 0;
    int r = check_tokens(t);
    if (r == 0 && d->top.live)
        r = tell_buckets(t);
    if (r < 0 || d->top.live)
        return r < 0 ? r : tell_runs_outside(t);
    for (size_t i = 0; r == 0 && i < d->projects.count; i++) {
        const struct project_record *p = &d->projects.items[i];
        struct fact usage = { .kind = FACT_USAGE };
        usage.usage.project = p->id;
        usage.usage.tokens = p->tokens_used;
        usage.usage.completions = p->completed;
        usage.usage.starts = p->completed + p->running;
        usage.usage.money = p->usd_used;
        usage.usage.priced = p->usd_used > 0 ? (int32_t)p->completed : 0;
        usage.usage.at = d->top.now;
        sum += p->tokens_used;
        spent += p->usd_used;
        r = teller_apply(t, &usage);
    }
    /* The runs from outside are charged the mean, so all usage comes first. */
    if (r == 0)
        r = tell_runs_outside(t);
    /* The global budgets look at the numbers at the top, not at the sums of the projects. */
    struct fact rest = { .kind = FACT_USAGE };
    if (d->top.tokens_used != ABSENT)
        rest.usage.tokens = d->top.tokens_used - sum;
    if (d->top.usd_used != ABSENT)
        rest.usage.money = d->top.usd_used - spent;
    if (r < 0 || (rest.usage.tokens == 0 && rest.usage.money == 0))
        return r;
    rest.usage.at = d->top.now;
    return teller_apply(t, &rest);
}

static int tell_limiter_users(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->limiters.count; i++) {
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.limiter = t->draft->limiters.items[i].id;
        fact.external.running = t->draft->limiters.items[i].running;
        r = teller_apply(t, &fact);
    }
    return r;
}

static int tell_workspaces(struct teller *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->locks.count; i++) {
        const struct lock_record *lock = &t->draft->locks.items[i];
        struct fact fact = { .kind = FACT_WORKSPACE };
        fact.workspace.id = lock->workspace;
        fact.workspace.locked = lock->locked;
        if (lock->holder)
            fact.workspace.locked_by = t->draft->ids.entries[lock->holder].number;
        r = teller_apply(t, &fact);
    }
    return r;
}

static int tell_amounts(struct teller *t) {
    const struct top_record *top = &t->draft->top;
    int r = 0;
    int64_t micro = config_number(t->config, "budget_usd", NULL);
    if (top->budget != ABSENT || top->budget_usd != ABSENT) {
        struct fact budget = { .kind = FACT_BUDGET, .budget = config_budget(t->config) };
        if (top->budget != ABSENT)
            budget.budget = top->budget;
        if (top->budget_usd != ABSENT)
            budget.money_budget = money_of(top->budget_usd);
        else if (micro != UNLIMITED)
            budget.money_budget = (struct money_budget){ .is_set = true, .micro = micro };
        r = teller_apply(t, &budget);
    }
    if (r == 0
        && (top->disk_free_milli_gb != ABSENT || top->memory_free_mb != ABSENT
            || top->load_milli != ABSENT)) {
        struct fact host = { .kind = FACT_HOST };         /* -1, unknown, is ABSENT */
        host.host.disk_free_mb = top->disk_free_milli_gb; /* a GB is 1000 MB here */
        host.host.memory_free_mb = top->memory_free_mb;
        host.host.load_milli = top->load_milli;
        r = teller_apply(t, &host);
    }
    return r;
}

/* Of a live snapshot: how far the wait clocks and the pace are, and what is reserved. */
static int tell_clocks(struct teller *t) {
    const struct draft *d = t->draft;
    int r = 0;
    for (size_t i = 0; r == 0 && d->top.live && i < d->waits.count; i++) {
        const struct wait_record *w = &d->waits.items[i];
        struct fact fact = { .kind = FACT_WAIT };
        fact.wait =
            (struct wait_spec){ w->project, w->limiter, w->agent, w->lost, w->closed_since };
        r = teller_apply(t, &fact);
    }
    if (r < 0 || !d->top.live)
        return r;
    struct fact pace = { .kind = FACT_PACE };
    pace.pace.ticking = d->top.pace.ticking;
    pace.pace.started = d->top.pace.last_start != ABSENT_TIME;
    pace.pace.tick_began = d->top.pace.tick_began;
    pace.pace.tick_starts = d->top.pace.tick_starts;
    pace.pace.last_start = pace.pace.started ? d->top.pace.last_start : 0;
    r = teller_apply(t, &pace);
    if (r < 0 || !d->top.claim.task)
        return r;
    struct fact claim = { .kind = FACT_CLAIM };
    claim.claim.task = d->ids.entries[d->top.claim.task].number;
    claim.claim.leases = d->top.claim.leases;
    claim.claim.resource_count = (uint8_t)d->top.claim.resource_count;
    for (uint32_t i = 0; i < d->top.claim.resource_count; i++)
        claim.claim.resources[i] = d->resources.items[d->top.claim.resources + i];
    return teller_apply(t, &claim);
}

int tell_world(struct teller *t) {
    int (*const steps[])(struct teller *) = {
        /* the order in the file is the position */
        tell_listed_projects,
        tell_limiters,
        tell_roster,
        tell_resources,
    };
    int (*const fields[])(struct teller *) = {
        tell_amounts,        tell_listed_projects, tell_configured_projects,
        tell_named_projects, tell_limiters,        tell_roster,
        tell_named,          tell_usage,           tell_limiter_users,
        tell_workspaces,     tell_clocks,
    };
    if (strcmp(config_preset(t->config), "agent-queue") == 0)
        for (size_t i = 0; i < t->draft->projects.count; i++)
            if (t->draft->projects.items[i].free_workspaces != ABSENT)
                t->no_other_workspaces = true;
    struct fact policy = { .kind = FACT_POLICY, .policy = config_policy(t->config) };
    struct fact clock = { .kind = FACT_CLOCK, .now = t->draft->top.now };
    int r = teller_apply(t, &policy);
    if (r == 0)
        r = teller_apply(t, &clock);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
        r = steps[i](t);
    if (r == 0 && config_tell(t->config, t->core, t->err) < 0)
        r = error_prefix(t->err, "%s", t->name);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++)
        r = fields[i](t);
    return r;
}
