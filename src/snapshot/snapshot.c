/* snapshot.c: reads a file into a core. See snapshot.h.
 *
 * Tasks may precede the configuration that they need, so the file is first read into records, which
 * are then applied in a fixed order. The records of the tasks are freed before snapshot_read
 * returns. */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/task_graph.h"
#include "snapshot/coming.h"
#include "snapshot/decode.h"

#define HINT_DURATION MINUTES(5)
#define HINT_TOKENS   10000
#define CYCLE_SHOWN   8                  /* ids of a cycle in the message */
#define TOKENS_MOST   ((int64_t)1 << 61) /* half of it is left for runs that start later */

struct snapshot {
    struct core *core;
    struct config *config;
    struct draft draft;
    uint32_t *hint_of; /* by task number - 1: index in draft.hints + 1; NULL: no task has one */
    struct coming coming;
};

/* Which roles a name has, by symbol. */
struct known {
    bool project, kind, agent, limiter, resource;
    int8_t until;      /* of a kind */
    sym agent_limiter; /* of an agent */
};

struct loader {
    struct core *core;
    const struct config *config;
    const struct draft *draft;
    const char *name; /* of the file */
    struct error *err;
    struct known *known;
    size_t known_capacity;
    bool no_other_workspaces; /* 0 workspaces without `free_workspaces` (document 004) */
    sym default_project;
    sym only_limiter; /* for tasks that name none; 0: the file lists none, or several */
    struct coming *coming;
};

/* --- reading --------------------------------------------------------------------------------- */

static void draft_finish(struct draft *draft) {
    void *const items[] = {
        draft->config.items,     draft->projects.items,   draft->agents.items,
        draft->limiters.items,   draft->locks.items,      draft->usage.items,
        draft->waits.items,      draft->tasks.items,      draft->numbers.items,
        draft->depends_on.items, draft->resources.items,  draft->hints.items,
        draft->by_number,        draft->kind_hints.items, draft->words.items,
    };
    for (size_t i = 0; i < ARRAY_SIZE(items); i++)
        free(items[i]);
    symbol_table_finish(&draft->ids);
    arena_finish(&draft->texts);
    *draft = (struct draft){ 0 };
}

static int draft_read(struct draft *draft, FILE *in, const char *name, struct error *err) {
    struct reader *r = xcalloc(1, sizeof(*r));
    r->draft = *draft;
    r->draft.top = top_initial;
    symbol_table_init(&r->draft.ids);
    symbol_table_init(&r->config_paths);
    int result = json_stream_read(in, name, decode_token, r, err);
    symbol_table_finish(&r->config_paths);
    strbuf_finish(&r->path);
    strbuf_finish(&r->value);
    free(r->symbol_seen);
    *draft = r->draft;
    draft->ids.map.ctx = &draft->ids; /* it moved */
    free(r);
    return result;
}

/* --- cycles ---------------------------------------------------------------------------------- */

static const char *task_text(const struct draft *draft, const struct listed_task *task) {
    return symbol_name(&draft->ids, task->id);
}

/* The number of the task with this id; 0: no id. */
static uint32_t number_of(const struct draft *draft, task_id id) {
    return id ? draft->numbers.items[id] : 0;
}

static int cycle_error(const struct draft *draft, const char *name, const char *what,
                       const uint32_t *path, size_t length, struct error *err) {
    const struct listed_task *tasks = draft->tasks.items;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++)
        strbuf_printf(&text, "%.60s -> ", task_text(draft, &tasks[path[i]]));
    if (length > CYCLE_SHOWN)
        strbuf_printf(&text, "... (%zu tasks) -> ", length);
    return error_set(err, -ELOOP, "%s: cycle in %s: %s%.60s", name, what, strbuf_text(&text),
                     task_text(draft, &tasks[path[0]]));
}

/* `parents`: follows the parents of the tasks, else their dependencies. */
static int check_cycles(const struct draft *draft, const char *name, bool parents,
                        struct error *err) {
    size_t count = draft->tasks.count, at = 0, length = 0;
    uint32_t *starts = xcalloc(count + 1, sizeof(*starts)), *path = NULL;
    uint32_t *targets = xcalloc((parents ? count : draft->depends_on.count) + 1, sizeof(*targets));
    for (size_t i = 0; i < count; i++) {
        const struct listed_task *task = &draft->tasks.items[i];
        starts[i] = (uint32_t)at;
        if (parents && task->parent)
            targets[at++] = number_of(draft, task->parent) - 1;
        for (size_t k = 0; !parents && k < task->depends_on_count; k++)
            targets[at++] = draft->depends_on.items[task->depends_on + k] - 1;
    }
    starts[count] = (uint32_t)at;
    int r = 0;
    if (at > 0 && cycle_find(starts, targets, (uint32_t)count, &path, &length))
        r = cycle_error(draft, name, parents ? "parent" : "depends_on", path, length, err);
    free(starts);
    free(targets);
    free(path);
    return r;
}

/* Keeps the first of each value in a list; `stamps[value] == stamp`: it occurred before. */
static size_t drop_repeated(uint32_t *items, size_t count, uint32_t *stamps, uint32_t stamp) {
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        uint32_t value = items[k];
        if (stamps[value] != stamp)
            items[kept++] = value;
        stamps[value] = stamp;
    }
    return kept;
}

static void resolve_lists(struct draft *draft) {
    uint32_t *ids = xcalloc((size_t)draft->ids.count + 1, sizeof(*ids));
    uint32_t *names = xcalloc((size_t)draft->symbols->count + 1, sizeof(*names));
    for (size_t i = 0; i < draft->depends_on.count; i++)
        draft->depends_on.items[i] = number_of(draft, draft->depends_on.items[i]);
    for (size_t i = 0; i < draft->tasks.count; i++) {
        struct listed_task *task = &draft->tasks.items[i];
        uint32_t stamp = (uint32_t)i + 1;
        if (task->depends_on_count > 1)
            task->depends_on_count = (uint32_t)drop_repeated(
                &draft->depends_on.items[task->depends_on], task->depends_on_count, ids, stamp);
        if (task->resource_count > 1)
            task->resource_count = (uint32_t)drop_repeated(&draft->resources.items[task->resources],
                                                           task->resource_count, names, stamp);
    }
    free(ids);
    free(names);
}

/* Numbers the ids of tasks that are not listed, and looks for cycles. Afterwards draft.depends_on
 * holds task numbers, without duplicates in one task. */
static int draft_resolve(struct draft *draft, const char *name, struct error *err) {
    size_t count = (size_t)draft->ids.count + 1;
    uint32_t next = (uint32_t)draft->tasks.count;
    draft->numbers.items =
        grow_zeroed(draft->numbers.items, &draft->numbers.capacity, count, sizeof(uint32_t));
    draft->by_number = xcalloc(count, sizeof(*draft->by_number));
    for (sym id = 1; id < count; id++) {
        uint32_t *number = &draft->numbers.items[id];
        if (*number == 0)
            *number = ++next;
        draft->by_number[*number] = id;
    }
    resolve_lists(draft);
    int r = check_cycles(draft, name, false, err);
    return r < 0 ? r : check_cycles(draft, name, true, err);
}

/* --- configuration -----------------------------------------------------------------------------
 *
 * Setting a preset sets all its values, so it comes first: the preset of the overrides, else that of
 * the file. */

static int set_record(struct config *config, const char *name, const struct config_record *record,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf origin = STRBUF_INIT;
    strbuf_printf(&origin, "%s:%llu", name, (unsigned long long)record->position.line);
    int r = config_set(config, record->key, record->value, strbuf_text(&origin), err);
    if (r < 0)
        return error_prefix(err, "%s:%llu:%llu", name, (unsigned long long)record->position.line,
                            (unsigned long long)record->position.column);
    return 0;
}

/* KEY=VALUE. */
static int set_override(struct config *config, const char *text, struct error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return error_set(err, -EINVAL, "'%s' is not KEY=VALUE", text);
    _cleanup_(freep) char *key = xstrndup(text, (size_t)(equals - text));
    return config_set(config, key, equals + 1, "--set", err);
}

static bool is_preset(const char *override) {
    return strncmp(override, "preset=", 7) == 0;
}

static int set_preset(struct snapshot *s, const char *name, const struct snapshot_options *options,
                      struct error *err) {
    for (size_t i = options ? options->override_count : 0; i > 0; i--)
        if (is_preset(options->overrides[i - 1]))
            return set_override(s->config, options->overrides[i - 1], err);
    for (size_t i = 0; i < s->draft.config.count; i++)
        if (strcmp(s->draft.config.items[i].key, "preset") == 0)
            return set_record(s->config, name, &s->draft.config.items[i], err);
    return 0;
}

static int apply_config(struct snapshot *s, const char *name,
                        const struct snapshot_options *options, struct error *err) {
    int r = set_preset(s, name, options, err);
    for (size_t i = 0; r == 0 && i < s->draft.config.count; i++)
        if (strcmp(s->draft.config.items[i].key, "preset") != 0)
            r = set_record(s->config, name, &s->draft.config.items[i], err);
    for (size_t i = 0; r == 0 && options && i < options->override_count; i++)
        if (!is_preset(options->overrides[i]))
            r = set_override(s->config, options->overrides[i], err);
    return r;
}

/* --- projects ----------------------------------------------------------------------------------
 *
 * The file's own projects and agents are applied before the configuration's and once more after
 * them: before, because their order in the file is their position; after, because the fields of the
 * file override its configuration. */

static int loader_apply(struct loader *t, const struct fact *fact) {
    int r = core_apply(t->core, fact, t->err);
    return r < 0 ? error_prefix(t->err, "%s", t->name) : 0;
}

static struct known *loader_known(struct loader *t, sym name) {
    t->known = grow_zeroed(t->known, &t->known_capacity, (size_t)name + 1, sizeof(*t->known));
    return &t->known[name];
}

static const char *name_of(const struct loader *t, sym symbol) {
    return symbol_name(t->draft->symbols, symbol);
}

static struct money_budget money_of(int64_t micro) {
    return (struct money_budget){ .is_set = true, .micro = micro };
}

static void project_spec_of(const struct loader *t, const struct project_record *record,
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

static int apply_project(struct loader *t, const struct project_record *record) {
    struct fact fact = { .kind = FACT_PROJECT };
    project_spec_of(t, record, &fact.project);
    fact.project.hours_until = record->hours_until;
    loader_known(t, record->id)->project = true;
    return loader_apply(t, &fact);
}

static int apply_listed_projects(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->projects.count; i++)
        r = apply_project(t, &t->draft->projects.items[i]);
    return r;
}

static int apply_unlisted_project(struct loader *t, sym name) {
    struct project_record record = project_initial;
    record.id = name;
    return apply_project(t, &record);
}

static int apply_configured_projects(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_project_count(t->config); i++) {
        const char *text = config_project_name(t->config, i);
        sym name = symbol_intern(t->draft->symbols, text, strlen(text));
        if (!loader_known(t, name)->project)
            r = apply_unlisted_project(t, name);
    }
    return r;
}

/* Projects that only tasks name: the implicit `default`, or any when nothing lists projects. */
static int apply_named_projects(struct loader *t) {
    bool free_choice = !t->draft->projects_given && config_project_count(t->config) == 0;
    t->default_project = symbol_intern(t->draft->symbols, "default", 7);
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->tasks.count; i++) {
        const struct listed_task *task = &t->draft->tasks.items[i];
        sym project = task->project ? task->project : t->default_project;
        if (loader_known(t, project)->project)
            continue;
        if (task->project && !free_choice)
            return error_set(t->err, -EINVAL, "%s: task '%s': unknown project '%s'", t->name,
                             task_text(t->draft, task), name_of(t, project));
        r = apply_unlisted_project(t, project);
    }
    return r;
}

/* --- limiters, agents, kinds, resources ------------------------------------------------------ */

static int apply_limiter(struct loader *t, sym name, const struct limiter_record *record) {
    struct fact fact = { .kind = FACT_LIMITER };
    config_limiter_spec(t->config, t->core, name_of(t, name), &fact.limiter);
    if (record) {
        struct limiter_policy policy = fact.limiter.policy;
        fact.limiter = record->spec;
        fact.limiter.policy = policy;
    }
    loader_known(t, name)->limiter = true;
    return loader_apply(t, &fact);
}

static int apply_named_limiter(struct loader *t, sym name) {
    return name == 0 || loader_known(t, name)->limiter ? 0 : apply_limiter(t, name, NULL);
}

static int apply_limiters(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->limiters.count; i++)
        r = apply_limiter(t, t->draft->limiters.items[i].spec.id, &t->draft->limiters.items[i]);
    if (t->draft->limiters.count == 1 && !t->draft->top.live)
        t->only_limiter = t->draft->limiters.items[0].spec.id;
    return r;
}

static int apply_agent(struct loader *t, sym name, const struct agent_record *record);

static int apply_step(struct loader *t, sym agent) {
    return agent && !loader_known(t, agent)->agent ? apply_agent(t, agent, NULL) : 0;
}

static int apply_agent(struct loader *t, sym name, const struct agent_record *record) {
    struct fact fact = { .kind = FACT_AGENT };
    config_agent_spec(t->config, t->core, name_of(t, name), &fact.agent);
    if (record) {
        fact.agent.roster = fact.agent.roster || !t->draft->top.live;
        fact.agent.idle = record->idle != false; /* ABSENT: idle */
        fact.agent.launch_failures = record->spec.launch_failures;
        fact.agent.openings = record->spec.openings;
        fact.agent.closed_until = record->spec.closed_until;
        fact.agent.hours |= record->spec.hours;
        fact.agent.hours_until = record->spec.hours_until;
        if (record->spec.limiter)
            fact.agent.limiter = record->spec.limiter;
    }
    struct known *known = loader_known(t, name);
    known->agent = true;
    known->agent_limiter = fact.agent.limiter;
    int r = apply_named_limiter(t, fact.agent.limiter);
    if (r == 0)
        r = loader_apply(t, &fact);
    /* A live snapshot lists all agents, in their order. */
    for (unsigned i = 0; r == 0 && !t->draft->top.live && i < fact.agent.failover_count; i++)
        if (!loader_known(t, fact.agent.failover[i])->agent)
            r = apply_agent(t, fact.agent.failover[i], NULL);
    for (unsigned i = 0; r == 0 && !t->draft->top.live && i < fact.agent.escalate_count; i++)
        r = apply_step(t, fact.agent.escalate[i]);
    return r;
}

static int apply_roster(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->agents.count; i++)
        r = apply_agent(t, t->draft->agents.items[i].spec.id, &t->draft->agents.items[i]);
    if (r == 0 && t->draft->agents_given && t->draft->agents.count == 0) {
        /* An empty list means that no agent can work; no list, that agents do not matter. */
        struct agent_record none = { .spec.id = symbol_intern(t->draft->symbols, "-", 1) };
        r = apply_agent(t, none.spec.id, &none);
    }
    return r;
}

static int apply_kind(struct loader *t, sym name) {
    struct known *known = loader_known(t, name);
    if (known->kind)
        return 0;
    known->kind = true;
    known->until = (int8_t)config_until(t->config, name_of(t, name));
    struct fact fact = { .kind = FACT_KIND };
    config_kind_spec(t->config, t->core, name_of(t, name), &fact.kind_spec);
    return name ? loader_apply(t, &fact) : 0;
}

/* Kinds, agents and limiters that tasks name. */
static int apply_named(struct loader *t) {
    struct task_record record;
    const struct task_spec *task = &record.spec;
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->tasks.count; i++) {
        draft_task(t->draft, i, &record);
        r = apply_kind(t, task->kind);
        if (r == 0)
            r = apply_named_limiter(t, task->limiter);
        if (r == 0 && task->agent && !loader_known(t, task->agent)->agent)
            r = apply_agent(t, task->agent, NULL);
        for (unsigned k = 0; r == 0 && k < task->escalation.count; k++)
            r = apply_step(t, task->escalation.agents[k]);
        if (r == 0)
            r = apply_step(t, task->escalation.own_agent);
    }
    return r;
}

/* Before the configuration: resources that it does not cap are unlimited. */
static int apply_resources(struct loader *t) {
    for (size_t i = 0; i < t->draft->resources.count; i++) {
        sym name = t->draft->resources.items[i];
        if (loader_known(t, name)->resource)
            continue;
        loader_known(t, name)->resource = true;
        int r = loader_apply(t, &(struct fact){ .kind = FACT_RESOURCE,
                                                .resource = { .id = name, .cap = UNLIMITED } });
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- amounts --------------------------------------------------------------------------------- */

static __int128 absolute(int64_t number) {
    return number < 0 ? -(__int128)number : number;
}

/* The core sums tokens in 64 bits: the sums must leave room for every possible run. */
static int check_tokens(struct loader *t) {
    const struct draft *d = t->draft;
    __int128 used = 0, live = d->run_tokens, spent = d->run_usd;
    uint64_t runs = d->tasks.count + d->top.running;
    for (size_t i = 0; i < d->projects.count; i++) {
        used += d->projects.items[i].tokens_used;
        runs += d->projects.items[i].running;
    }
    for (size_t i = 0; i < d->usage.count; i++) {
        const struct usage_spec *u = &d->usage.items[i];
        used += absolute(u->tokens) + absolute(u->unreported);
        spent += absolute(u->money);
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

static int apply_external(struct loader *t, sym project, sym limiter, uint32_t running,
                          uint32_t roots) {
    return loader_apply(t, &(struct fact){ .kind = FACT_EXTERNAL,
                                           .external = { .project = project,
                                                         .limiter = limiter,
                                                         .running = running,
                                                         .roots = roots } });
}

static int apply_external_runs(struct loader *t) {
    const struct top_record *top = &t->draft->top;
    int r = top->running || top->running_roots
                ? apply_external(t, 0, 0, top->running, top->running_roots)
                : 0;
    for (size_t i = 0; r == 0 && i < t->draft->projects.count; i++) {
        const struct project_record *p = &t->draft->projects.items[i];
        r = apply_external(t, p->id, 0, p->running, p->running_roots);
    }
    return r;
}

static int apply_usage(struct loader *t) {
    const struct draft *d = t->draft;
    int64_t sum = 0, spent = 0;
    int r = check_tokens(t);
    for (size_t i = 0; r == 0 && d->top.live && i < d->usage.count; i++)
        r = loader_apply(t, &(struct fact){ .kind = FACT_USAGE, .usage = d->usage.items[i] });
    if (r < 0 || d->top.live)
        return r < 0 ? r : apply_external_runs(t);
    for (size_t i = 0; r == 0 && i < d->projects.count; i++) {
        const struct project_record *p = &d->projects.items[i];
        const struct usage_spec usage = {
            .project = p->id,
            .tokens = p->tokens_used,
            .completions = (int32_t)p->completed,
            .starts = (int32_t)(p->completed + p->running),
            .money = p->usd_used,
            .priced = p->usd_used > 0 ? (int32_t)p->completed : 0,
            .at = d->top.now,
        };
        sum += p->tokens_used;
        spent += p->usd_used;
        r = loader_apply(t, &(struct fact){ .kind = FACT_USAGE, .usage = usage });
    }
    /* External runs are charged the mean, so all usage comes first. */
    if (r == 0)
        r = apply_external_runs(t);
    /* The global budgets use the top-level numbers, not the sums of the projects. */
    struct fact rest = { .kind = FACT_USAGE };
    if (d->top.tokens_used != ABSENT)
        rest.usage.tokens = d->top.tokens_used - sum;
    if (d->top.usd_used != ABSENT)
        rest.usage.money = d->top.usd_used - spent;
    if (r < 0 || (rest.usage.tokens == 0 && rest.usage.money == 0))
        return r;
    rest.usage.at = d->top.now;
    return loader_apply(t, &rest);
}

static int apply_limiter_users(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->limiters.count; i++) {
        const struct limiter_record *l = &t->draft->limiters.items[i];
        r = apply_external(t, 0, l->spec.id, l->running, 0);
    }
    return r;
}

static int apply_workspaces(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->locks.count; i++) {
        const struct lock_record *lock = &t->draft->locks.items[i];
        r = loader_apply(
            t, &(struct fact){ .kind = FACT_WORKSPACE,
                               .workspace = { .id = lock->workspace,
                                              .locked = lock->locked,
                                              .locked_by = number_of(t->draft, lock->holder) } });
    }
    return r;
}

static int apply_amounts(struct loader *t) {
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
            budget.money_budget = money_of(micro);
        r = loader_apply(t, &budget);
    }
    if (r == 0
        && (top->disk_free_milli_gb != ABSENT || top->memory_free_mb != ABSENT
            || top->load_milli != ABSENT)) {
        struct fact host = { .kind = FACT_HOST };         /* -1, unknown, is ABSENT */
        host.host.disk_free_mb = top->disk_free_milli_gb; /* a GB is 1000 MB here */
        host.host.memory_free_mb = top->memory_free_mb;
        host.host.load_milli = top->load_milli;
        r = loader_apply(t, &host);
    }
    return r;
}

/* Of a live snapshot: the wait clocks, the pace and the claim. */
static int apply_clocks(struct loader *t) {
    const struct draft *d = t->draft;
    int r = 0;
    for (size_t i = 0; r == 0 && d->top.live && i < d->waits.count; i++)
        r = loader_apply(t, &(struct fact){ .kind = FACT_WAIT, .wait = d->waits.items[i] });
    if (r < 0 || !d->top.live)
        return r;
    struct fact pace = { .kind = FACT_PACE, .pace = d->top.pace };
    pace.pace.started = pace.pace.last_start != ABSENT_TIME;
    if (!pace.pace.started)
        pace.pace.last_start = 0;
    r = loader_apply(t, &pace);
    if (r < 0 || !d->top.claim.task)
        return r;
    struct fact claim = { .kind = FACT_CLAIM, .claim = d->top.claim };
    claim.claim.task = number_of(d, d->top.claim.task);
    return loader_apply(t, &claim);
}

static int apply_world(struct loader *t) {
    int (*const steps[])(struct loader *) = {
        /* the order in the file is the position */
        apply_listed_projects,
        apply_limiters,
        apply_roster,
        apply_resources,
    };
    int (*const fields[])(struct loader *) = {
        apply_amounts,        apply_listed_projects, apply_configured_projects,
        apply_named_projects, apply_limiters,        apply_roster,
        apply_named,          apply_usage,           apply_limiter_users,
        apply_workspaces,     apply_clocks,
    };
    if (config_snapshot_lists_all_workspaces(t->config))
        for (size_t i = 0; i < t->draft->projects.count; i++)
            if (t->draft->projects.items[i].free_workspaces != ABSENT)
                t->no_other_workspaces = true;
    int r =
        loader_apply(t, &(struct fact){ .kind = FACT_POLICY, .policy = config_policy(t->config) });
    if (r == 0)
        r = loader_apply(t, &(struct fact){ .kind = FACT_CLOCK, .now = t->draft->top.now });
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
        r = steps[i](t);
    if (r == 0 && config_apply(t->config, t->core, t->err) < 0)
        r = error_prefix(t->err, "%s", t->name);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++)
        r = fields[i](t);
    return r;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Restores the state of the daemon. */
static void complete_live(const struct loader *t, struct task_spec *spec) {
    spec->attempt = spec->attempt == ABSENT_ATTEMPT ? 0 : spec->attempt;
    spec->lender = number_of(t->draft, spec->lender);
    spec->run_unlimited = task_state_is_live(spec->state) && !spec->run_limiter;
    spec->ready_since = spec->ready_since == ABSENT_TIME ? 0 : spec->ready_since;
    if (spec->ready_clock == ABSENT_TIME)
        spec->ready_clock = spec->ready_since;
}

/* Of a snapshot that is not live: drops the members that only a live one may set. A waiting task
 * with a future time is held until then; a held one whose time has come waits. */
static void complete_state(struct task_spec *spec, time_ms now) {
    bool later = spec->not_before > now;
    if (spec->state == TASK_HELD && spec->not_before > 0 && !later)
        spec->state = TASK_WAITING;
    else if ((spec->state == TASK_WAITING || spec->state == TASK_READY) && later)
        spec->state = TASK_HELD;
    bool held = spec->state == TASK_HELD, live = task_state_is_live(spec->state);
    spec->hold = !held ? HOLD_NONE : later ? HOLD_BACKOFF : HOLD_PERSON;
    spec->not_before = held && later ? spec->not_before : 0;
    if (!live) {
        spec->phase = PHASE_WORKING;
        spec->started_at = 0;
    }
    if (spec->attempt == ABSENT_ATTEMPT)
        spec->attempt = live;
    bool keeps = spec->attempt > 0 && !task_state_is_final(spec->state);
    spec->keeps = keeps && spec->state != TASK_DRAFT ? KEEP_ALL : 0;
    if (spec->ready_since == ABSENT_TIME)
        spec->ready_since = spec->created_at;
    spec->ready_clock = spec->enqueued_at = 0;
    spec->stop = STOP_NONE;
    spec->bound = false;
    spec->parent_iteration = 0;
    spec->retry_max = -1;
    spec->failures = spec->launch_failures = spec->losses = spec->restarts = 0;
    spec->breaker_openings = 0;
    spec->run_agent = spec->run_limiter = 0;
    spec->lender = 0;
    spec->borrowed = 0;
}

/* Fills in what the file does not give; ids become task numbers. */
static void complete_spec(struct loader *t, const struct task_record *task, struct task_spec *ret) {
    const struct draft *d = t->draft;
    const struct policy *policy = config_policy(t->config);
    *ret = task->spec;
    ret->id = number_of(d, ret->id);
    ret->parent = number_of(d, ret->parent);
    ret->project = ret->project ? ret->project : t->default_project;
    bool by_agent = ret->agent && loader_known(t, ret->agent)->agent_limiter;
    if (!ret->limiter && !by_agent) /* the core uses its agent's */
        ret->limiter = t->only_limiter;
    ret->resources = ret->resource_count ? &d->resources.items[task->resources] : NULL;
    ret->iteration = ret->iteration ? ret->iteration : 1;
    ret->artifact_missing = !task->artifact_present;
    ret->parallelizable = task->parallelizable == ABSENT ? !policy->serial : task->parallelizable;
    if (ret->state == TASK_ABSENT)
        ret->state = TASK_WAITING;
    if (ret->created_at == ABSENT_TIME)
        ret->created_at = d->top.now;
    if (ret->until == UNTIL_MAX)
        ret->until = (enum until)loader_known(t, ret->kind)->until;
    if (ret->parent_gate == PARENT_GATE_MAX)
        ret->parent_gate = policy->parent_gate;
    if (d->top.live)
        complete_live(t, ret);
    else
        complete_state(ret, d->top.now);
}

/* It is new when it arrives, whatever the file says. */
static void add_coming(struct loader *t, const struct task_record *task, struct task_spec *spec) {
    spec->state = TASK_WAITING;
    spec->hold = HOLD_NONE;
    spec->phase = PHASE_WORKING;
    spec->stop = STOP_NONE;
    spec->attempt = 0;
    spec->keeps = 0;
    spec->created_at = spec->ready_since = task->arrives_at;
    spec->not_before = spec->ready_clock = spec->enqueued_at = spec->started_at = 0;
    coming_add_task(t->coming, task->arrives_at, task->schedule, spec);
}

/* `needs` has room for the dependencies of any task. */
static int apply_task(struct loader *t, size_t index, task_id *needs) {
    struct task_record record;
    const struct task_record *task = &record;
    struct task_spec spec;
    draft_task(t->draft, index, &record);
    complete_spec(t, task, &spec);
    for (size_t i = 0; i < spec.depends_on_count; i++)
        needs[i] = t->draft->depends_on.items[task->depends_on + i];
    spec.depends_on = needs;
    if (task->arrives_at > t->draft->top.now) {
        add_coming(t, task, &spec);
        return 0;
    }
    if (task->schedule)
        coming_add_open(t->coming, task->schedule, spec.id);
    struct fact fact = { .kind = FACT_TASK_ADDED, .task = spec.id, .spec = &spec };
    int r = core_apply(t->core, &fact, t->err);
    if (r == -ELOOP) /* draft_resolve finds the other cycles, with their ids */
        return error_set(t->err, -ELOOP,
                         "%s: task '%s' would wait for itself through its dependencies and parents",
                         t->name, task_text(t->draft, &t->draft->tasks.items[index]));
    bool reported = task->tokens != ABSENT || task->usd != ABSENT || task->expected_usd != ABSENT;
    if (r >= 0 && reported && task_state_is_live(spec.state)) {
        struct fact tokens = { .kind = FACT_RUN_TOKENS, .task = spec.id, .attempt = spec.attempt };
        tokens.tokens = task->tokens;
        tokens.money = task->usd; /* ABSENT is -1 */
        tokens.expected = task->expected_usd;
        r = core_apply(t->core, &tokens, t->err);
    }
    if (r >= 0)
        return 0;
    (void)error_prefix(t->err, "task '%s'", task_text(t->draft, &t->draft->tasks.items[index]));
    return error_prefix(t->err, "%s", t->name);
}

/* `free_workspaces` excludes those that the listed runs use. */
static int apply_free_workspaces(struct loader *t) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->draft->projects.count; i++) {
        const struct project_record *record = &t->draft->projects.items[i];
        amount used, cap;
        if (record->free_workspaces == ABSENT
            || !core_lease(t->core, LEASE_WORKSPACES, record->id, &used, &cap) || used == 0)
            continue;
        struct fact fact = { .kind = FACT_PROJECT };
        project_spec_of(t, record, &fact.project);
        fact.project.workspaces += used;
        r = loader_apply(t, &fact);
    }
    return r;
}

/* A live snapshot in the order of the file, as a restart loads rows (core.h). Otherwise parents
 * before their children, so that the core knows the depth of each task when it is added. */
static int apply_in_order(struct loader *t, task_id *needs) {
    const struct draft *d = t->draft;
    size_t count = d->tasks.count, depth = 0;
    uint8_t *applied = xcalloc(count + 1, sizeof(*applied));
    uint32_t *above = xcalloc(count + 1, sizeof(*above)); /* a task and its ancestors */
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        for (size_t at = i; at < count && !applied[at];) {
            uint32_t parent = d->top.live ? 0 : number_of(d, d->tasks.items[at].parent);
            applied[at] = 1;
            above[depth++] = (uint32_t)at;
            at = parent ? parent - 1 : count;
        }
        while (r == 0 && depth > 0)
            r = apply_task(t, above[--depth], needs);
    }
    free(applied);
    free(above);
    return r;
}

static int apply_tasks(struct loader *t) {
    const struct draft *d = t->draft;
    size_t most = 0;
    for (size_t i = 0; i < d->tasks.count; i++)
        if (d->tasks.items[i].depends_on_count > most)
            most = d->tasks.items[i].depends_on_count;
    task_id *needs = xcalloc(most + 1, sizeof(*needs));
    int r = apply_in_order(t, needs);
    free(needs);
    if (r == 0)
        r = apply_free_workspaces(t);
    return r == 0 && d->top.paused ? loader_apply(t, &(struct fact){ .kind = FACT_PAUSE }) : r;
}

/* --- all ------------------------------------------------------------------------------------- */

DEFINE_FREEP(struct snapshot, snapshot_free);

struct snapshot *snapshot_free(struct snapshot *snapshot) {
    if (!snapshot)
        return NULL;
    draft_finish(&snapshot->draft);
    coming_finish(&snapshot->coming);
    if (snapshot->config)
        config_free(snapshot->config);
    if (snapshot->core)
        core_free(snapshot->core);
    free(snapshot->hint_of);
    free(snapshot);
    return NULL;
}

/* Keeps the hints and frees the records of the tasks. */
static void drop_records(struct snapshot *s) {
    struct draft *d = &s->draft;
    if (d->hints.count > 0) {
        s->hint_of = xcalloc(d->tasks.count, sizeof(*s->hint_of));
        for (size_t i = 0; i < d->tasks.count; i++)
            s->hint_of[i] = d->tasks.items[i].hint;
    }
    free(d->tasks.items);
    free(d->words.items);
    free(d->depends_on.items);
    free(d->resources.items);
    d->tasks.items = NULL;
    d->words.items = NULL;
    d->depends_on.items = NULL;
    d->resources.items = NULL;
}

static int apply_coming_fact(void *ctx, const struct fact *fact) {
    return loader_apply(ctx, fact);
}

/* Hours open and close as the settings say, from now on. */
static int begin_coming(struct loader *t) {
    int r = openings_read(t->config, &t->coming->hours, t->err);
    if (r < 0)
        return error_prefix(t->err, "%s", t->name);
    t->coming->offset = t->draft->top.clock_offset;
    for (size_t i = 0; i < config_schedule_count(t->config); i++) {
        const char *name = config_schedule_name(t->config, i);
        int64_t overlap = config_number(t->config, "schedules.S.overlap", name);
        coming_set_overlap(t->coming, symbol_intern(t->draft->symbols, name, strlen(name)),
                           (enum schedule_overlap)overlap);
    }
    return coming_begin(t->coming, t->core, t->draft->top.now, apply_coming_fact, t);
}

static int apply_draft(struct snapshot *s, const char *name, const struct snapshot_options *options,
                       struct error *err) {
    int r = apply_config(s, name, options, err);
    if (r < 0)
        return r;
    struct loader t = {
        .core = s->core,
        .config = s->config,
        .draft = &s->draft,
        .name = name,
        .err = err,
        .coming = &s->coming,
    };
    if (s->draft.top.live)
        r = loader_apply(&t, &(struct fact){ .kind = FACT_LOADING });
    if (r == 0)
        r = apply_world(&t);
    if (r == 0)
        r = apply_tasks(&t);
    if (r == 0 && s->draft.top.live)
        r = loader_apply(&t, &(struct fact){ .kind = FACT_LOADED });
    if (r == 0)
        r = begin_coming(&t);
    free(t.known);
    return r;
}

int snapshot_read(FILE *in, const char *name, const struct snapshot_options *options,
                  struct snapshot **ret, struct error *err) {
    _cleanup_(snapshot_freep) struct snapshot *s = xcalloc(1, sizeof(*s));
    s->core = core_new();
    s->config = config_new();
    s->draft.symbols = core_symbols(s->core);
    int r = draft_read(&s->draft, in, name, err);
    if (r == 0)
        r = draft_resolve(&s->draft, name, err);
    if (r == 0)
        r = apply_draft(s, name, options, err);
    if (r < 0)
        return r;
    drop_records(s);
    *ret = TAKE_PTR(s);
    return 0;
}

struct core *snapshot_core(struct snapshot *snapshot) {
    return snapshot->core;
}

struct coming *snapshot_coming(struct snapshot *snapshot) {
    return &snapshot->coming;
}

const struct config *snapshot_config(const struct snapshot *snapshot) {
    return snapshot->config;
}

time_ms snapshot_now(const struct snapshot *snapshot) {
    return snapshot->draft.top.now;
}

size_t snapshot_task_count(const struct snapshot *snapshot) {
    return snapshot->draft.tasks.count;
}

const char *snapshot_task_name(const struct snapshot *snapshot, task_id task) {
    const struct draft *d = &snapshot->draft;
    return task == 0 || task > d->ids.count ? "?" : symbol_name(&d->ids, d->by_number[task]);
}

static const char *name_for_core(const void *ctx, task_id task) {
    return snapshot_task_name(ctx, task);
}

struct task_names snapshot_names(const struct snapshot *snapshot) {
    return (struct task_names){ name_for_core, snapshot };
}

task_id snapshot_find(const struct snapshot *snapshot, const char *name) {
    const struct draft *d = &snapshot->draft;
    return number_of(d, symbol_find(&d->ids, name, strlen(name)));
}

/* Fills what `ret` does not have yet. */
static void add_hint(struct hint *ret, const struct hint *hint) {
    if (ret->duration[0] == ABSENT)
        memcpy(ret->duration, hint->duration, sizeof(ret->duration));
    if (ret->tokens[0] == ABSENT_TIME)
        memcpy(ret->tokens, hint->tokens, sizeof(ret->tokens));
    if (ret->failure_milli == ABSENT)
        ret->failure_milli = hint->failure_milli;
    if (ret->limited_milli == ABSENT)
        ret->limited_milli = hint->limited_milli;
    if (ret->usd == ABSENT)
        ret->usd = hint->usd;
}

static void add_kind_hint(const struct snapshot *s, sym kind, struct hint *ret) {
    for (size_t i = 0; kind && i < s->draft.kind_hints.count; i++)
        if (s->draft.kind_hints.items[i].kind == kind)
            add_hint(ret, &s->draft.kind_hints.items[i].hint);
}

void snapshot_hint(const struct snapshot *snapshot, task_id task, struct sim_hint *ret) {
    static const struct hint built_in = {
        .duration = { HINT_DURATION, HINT_DURATION },
        .tokens = { HINT_TOKENS, HINT_TOKENS },
        .usd = ABSENT,
    };
    const struct draft *d = &snapshot->draft;
    struct hint hint = hint_initial;
    if (snapshot->hint_of && task >= 1 && task <= d->tasks.count && snapshot->hint_of[task - 1])
        add_hint(&hint, &d->hints.items[snapshot->hint_of[task - 1] - 1]);
    struct task_view view;
    if (d->kind_hints.count > 0 && core_task(snapshot->core, task, &view))
        add_kind_hint(snapshot, view.kind, &hint);
    add_kind_hint(snapshot, symbol_find(d->symbols, "*", 1), &hint);
    add_hint(&hint, &built_in);
    *ret = (struct sim_hint){
        .duration_min = hint.duration[0],
        .duration_max = hint.duration[1],
        .tokens_min = hint.tokens[0],
        .tokens_max = hint.tokens[1],
        .failure_milli = hint.failure_milli,
        .limited_milli = hint.limited_milli,
        .money = hint.usd, /* ABSENT is -1 */
    };
}

uint64_t snapshot_seed(const struct snapshot *snapshot) {
    return (uint64_t)snapshot->draft.top.seed;
}
