/* explain.c: why does a task not run, and how many tasks wait for what?
 *
 * Calls the same functions as the decision, gate by gate, in display order. Most callers want only
 * the first closed gate; later gates are then not evaluated. */
#include <inttypes.h>

#include "base/money.h"
#include "base/number.h"
#include "core/core.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/task.h"

struct explaining {
    const struct core *c;
    uint32_t handle;
    const struct task *t;
    struct runner with;
    struct verdict *list;
    size_t count;
};

static struct verdict *add(struct explaining *x, enum gate gate, bool open) {
    struct verdict *v = &x->list[x->count++];
    *v = (struct verdict){ .gate = gate, .open = open, .opens_at = TIME_NEVER };
    return v;
}

static void explain_state(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    const struct project *p = &c->projects[t->project];
    struct verdict *v = add(x, GATE_PAUSED, !c->paused);
    if (c->paused)
        v->pause = c->pause;
    v = add(x, GATE_PROJECT, gate_project_open(p));
    v->key = p->spec.id;
    v->inactive = !p->spec.active;
    if (p->spec.paused)
        v->pause = p->spec.pause;
    bool held = t->state == TASK_HELD && t->hold != HOLD_BREAKER;
    v = add(x, GATE_HELD, !held);
    v->hold = t->hold;
    if (held && history_of(c, t)->not_before > 0)
        v->opens_at = history_of(c, t)->not_before;
}

static void explain_prerequisites(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    const struct task_links *links = links_of(c, t);
    struct verdict *v = add(x, GATE_DEPENDENCY, links->unmet == 0);
    uint32_t unmet = links->unmet > 0 ? depend_first_unmet(c, x->handle) : 0;
    v->count = links->unmet;
    if (unmet) {
        v->about = task_at(c, unmet)->id;
        v->about_state = task_at(c, unmet)->state;
    }
    v = add(x, GATE_PARENT, task_parent_passed(c, t));
    if (links->parent) {
        v->about = task_at(c, links->parent)->id;
        v->about_state = task_at(c, links->parent)->state;
    }
    v = add(x, GATE_ARTIFACT, !(t->flags & TASK_ARTIFACT_MISSING));
    v->about = links->parent ? task_at(c, links->parent)->id : 0;
    add(x, GATE_PROBE, !(t->flags & TASK_PROBE_CLOSED));
}

/* Names the first that is closed; opens when the last of them does. */
static void explain_hours(struct explaining *x, time_ms others_at, uint32_t others) {
    const struct core *c = x->c;
    const struct project_spec *project = &c->projects[x->t->project].spec;
    const struct agent_spec *agent = &c->agents[x->with.agent].spec;
    const struct limiter_spec *limiter = &c->limiters[x->with.limiter].spec;
    bool by_agent = !gate_hours_open(c, agent->hours_until);
    bool by_limiter = !gate_hours_open(c, limiter->hours_until);
    struct verdict *v = add(x, GATE_HOURS, gate_hours_open(c, project->hours_until));
    v->lease = LEASE_PROJECT;
    v->key = project->id;
    v->opens_at = project->hours_until;
    if (by_agent || by_limiter) {
        if (v->open) {
            v->lease = by_agent ? LEASE_AGENT : LEASE_LIMITER;
            v->key = by_agent ? agent->id : limiter->id;
            v->count = others;
        }
        time_ms both = time_max(agent->hours_until, limiter->hours_until);
        v->opens_at = time_max(v->opens_at, time_min(both, others_at));
        v->open = false;
    }
}

static void explain_limiter(struct explaining *x, time_ms others_at, uint32_t others) {
    const struct limiter *l = &x->c->limiters[x->with.limiter];
    struct verdict *v = add(x, GATE_LIMITER, x->c->now >= limiter_usable_at(l));
    v->key = l->spec.id;
    v->closed = l->spec.closed;
    if (v->open)
        return;
    v->count = others;
    v->opens_at = time_min(limiter_usable_at(l), others_at);
    v->reserved = !v->closed && l->reserved_until > l->spec.backoff_until;
    if (v->reserved) {
        v->window = limiter_reserved_window(x->c, l);
        v->used = l->spec.quota[v->window].used_milli / 10;
        v->cap = limiter_reserve(&l->spec.policy, v->window);
    }
}

static void explain_agent_and_account(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    bool own = t->state == TASK_HELD && t->hold == HOLD_BREAKER;
    bool agent = c->now < c->agents[x->with.agent].spec.closed_until;
    uint32_t chooser = failover_chooser(c, t->agent, failover_is_bound(t));
    /* The listed agent that opens first takes it; an open one would be in x->with. */
    time_ms others_at = chooser ? failover_others_open_at(c, chooser) : TIME_NEVER;
    uint32_t others = chooser && c->roster_count == 0 ? c->agents[chooser].spec.failover_count : 0;
    explain_hours(x, others_at, others);
    struct verdict *v = add(x, GATE_BREAKER, !own && !agent);
    time_ms own_opens_at = history_of(c, t)->not_before;
    if (own)
        v->opens_at = own_opens_at > 0 ? own_opens_at : TIME_NEVER;
    if (agent) {
        time_ms opens_at = time_min(c->agents[t->agent].spec.closed_until, others_at);
        v->key = own ? 0 : c->agents[t->agent].spec.id;
        v->opens_at = own ? time_max(v->opens_at, opens_at) : opens_at;
        v->count = others;
    }
    explain_limiter(x, others_at, others);
}

static void explain_host(struct explaining *x) {
    struct verdict *v = add(x, GATE_HOST, true);
    for (unsigned floor = 0; floor < HOST_FLOOR_MAX; floor++) {
        amount is, wanted;
        if (gate_floor_open(x->c, floor, &is, &wanted))
            continue;
        if (v->open) {
            v->used = is;
            v->cap = wanted;
        }
        v->open = false;
        v->floors |= 1u << floor;
    }
}

static void explain_budget(struct explaining *x, enum gate gate, uint32_t project) {
    const struct core *c = x->c;
    struct verdict *v = add(x, gate, gate_budget_open(c, project));
    v->money = !v->open && gate_tokens_open(c, project);
    v->used = v->money ? fair_money_used(c, project) : fair_budget_used(c, project);
    v->cap = v->money ? c->projects[project].spec.money.micro : c->projects[project].spec.budget;
    v->span = c->policy.fair_window;
    v->key = c->projects[project].spec.id;
    if (!v->open)
        v->opens_at = fair_budget_opens(c, project);
}

static void explain_budgets(struct explaining *x) {
    explain_budget(x, GATE_BUDGET, 0);
    explain_budget(x, GATE_PROJECT_BUDGET, x->t->project);
}

static void explain_key(struct explaining *x, uint32_t key) {
    const struct core *c = x->c;
    const struct key *k = key_at(c, key);
    struct verdict *v = add(x, GATE_LEASE, key_has_slot(c, key, x->handle));
    v->lease = k->kind;
    v->key = k->name;
    v->key_project = k->project;
    v->key_kind = k->kind_name;
    v->used = k->held + k->external;
    v->cap = k->cap;
    if (k->claimed && c->claim.task != x->handle)
        v->about = task_at(c, c->claim.task)->id;
    if (k->locked_by && k->locked_by != x->t->id)
        v->about = k->locked_by;
    if (k->kind != LEASE_LIMITER)
        return;
    v->ramping = k->cap < c->limiters[x->with.limiter].spec.policy.max_running;
    if (!v->open && v->used <= v->cap)
        v->opens_at = limiter_rises_at(c, x->with.limiter);
}

/* With a roster, the named agent must be idle; without a name, any agent. */
static bool roster_has_idle(const struct core *c, const struct task *t) {
    for (uint32_t agent = 1; agent < c->agent_count; agent++) {
        if (!c->agents[agent].spec.roster)
            continue;
        uint32_t limiter =
            t->limiter ? 0 : c->agents[agent].limiter; /* its own limiter has its own gates */
        if (key_has_slot(c, c->agents[agent].key, 0) && gate_agent_open(c, agent)
            && limiter_open(c, limiter)
            && (!limiter || key_has_slot(c, c->limiters[limiter].key, 0)))
            return true;
    }
    return false;
}

static void explain_roster(struct explaining *x) {
    const struct core *c = x->c;
    if (x->t->agent && !c->agents[x->t->agent].spec.roster) {
        struct verdict *v = add(x, GATE_LEASE, false);
        v->lease = LEASE_AGENT;
        v->key = c->agents[x->t->agent].spec.id;
    } else if (!x->t->agent) {
        add(x, GATE_LEASE, roster_has_idle(c, x->t))->lease = LEASE_AGENTS;
    }
}

static void explain_leases(struct explaining *x) {
    const struct core *c = x->c;
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, x->t, x->with.agent, x->with.limiter, needs);
    add(x, GATE_LEASE, true)->lease = LEASE_TASK;
    bool roster_done = c->roster_count == 0;
    for (size_t i = 0; i < count; i++) {
        if (!roster_done && key_at(c, needs[i])->kind > LEASE_KIND) {
            explain_roster(x);
            roster_done = true;
        }
        explain_key(x, needs[i]);
    }
}

static void explain_pace(struct explaining *x) {
    struct verdict *v = add(x, GATE_PACE, pace_open(x->c));
    if (!v->open)
        v->opens_at = pace_opens_at(x->c);
}

static void (*const explainers[])(struct explaining *x) = {
    explain_state,  explain_prerequisites, explain_agent_and_account, explain_host, explain_budgets,
    explain_leases, explain_pace,
};

/* `task` 0: for any task like `t`, which need not be in the core. False: no gate is closed. */
static bool explain_first(const struct core *c, uint32_t task, const struct task *t,
                          struct verdict *ret) {
    struct verdict list[VERDICT_MAX];
    struct explaining x = {
        .c = c, .handle = task, .t = t, .with = failover_runner(c, task, t), .list = list
    };
    for (size_t i = 0; i < ARRAY_SIZE(explainers); i++) {
        size_t at = x.count;
        for (explainers[i](&x); at < x.count; at++) {
            if (x.list[at].open)
                continue;
            *ret = x.list[at];
            return true;
        }
    }
    return false;
}

size_t core_explain(const struct core *c, task_id id, struct verdict ret[VERDICT_MAX]) {
    uint32_t handle = task_find_added(c, id);
    if (!handle)
        return 0;
    const struct task *t = task_at(c, handle);
    struct explaining x = {
        .c = c, .handle = handle, .t = t, .with = failover_runner(c, handle, t), .list = ret
    };
    for (size_t i = 0; i < ARRAY_SIZE(explainers); i++)
        explainers[i](&x);
    return x.count;
}

bool core_blocked(const struct core *c, task_id id, struct verdict *ret) {
    uint32_t handle = task_find_added(c, id);
    if (!handle)
        return false;
    enum task_state state = task_at(c, handle)->state;
    if (state != TASK_WAITING && state != TASK_READY && state != TASK_HELD)
        return false;
    return explain_first(c, handle, task_at(c, handle), ret);
}

/* --- in words -------------------------------------------------------------------------------- */

void verdict_code(const struct verdict *v, const struct symbol_table *symbols, struct strbuf *out) {
    strbuf_puts(out, gate_name(v->gate));
    if (v->gate != GATE_LEASE)
        return;
    strbuf_printf(out, ":%s", lease_kind_name(v->lease));
    if (v->lease == LEASE_SERIAL)
        strbuf_printf(out, ":%s/%s/%s", symbol_name(symbols, v->key_project),
                      v->key ? symbol_name(symbols, v->key) : "-",
                      v->key_kind ? symbol_name(symbols, v->key_kind) : "-");
    else if (v->key)
        strbuf_printf(out, ":%s", symbol_name(symbols, v->key));
}

static const char *task_name(const struct task_names *names, task_id task) {
    return names->name(names->ctx, task);
}

static void put_pauser(const struct verdict *v, const struct symbol_table *symbols,
                       struct strbuf *out) {
    if (v->pause.by)
        strbuf_printf(out, " by '%s'", symbol_name(symbols, v->pause.by));
}

static void put_project(const struct verdict *v, const struct symbol_table *symbols,
                        struct strbuf *out) {
    const char *key = symbol_name(symbols, v->key);
    if (v->inactive) {
        strbuf_printf(out, "project '%s' is not active; change it with: ", key);
        strbuf_printf(out, "sluice project set %s active=true", key);
    } else if (v->pause.cause == PAUSE_REQUESTED) {
        strbuf_printf(out, "project '%s' is paused", key);
        put_pauser(v, symbols, out);
        strbuf_printf(out, "; go on with: sluice resume %s", key);
    } else if (v->pause.cause == PAUSE_SECTION_REMOVED) {
        strbuf_printf(out, "project '%s' is paused: projects.%s was removed from the ", key, key);
        strbuf_printf(out,
                      "configuration, and its caps with it; put the section back, or set its caps "
                      "with: sluice project set %s max_running=N",
                      key);
    } else if (v->pause.cause == PAUSE_DELETED) {
        strbuf_printf(out, "project '%s' was deleted; bring it back with: sluice project add %s",
                      key, key);
    } else {
        strbuf_printf(out, "project '%s' is paused by the configuration; go on with: ", key);
        strbuf_printf(out, "sluice config set projects.%s.paused=false", key);
    }
}

/* The first violated floor with its numbers; the others by name. */
static void put_host(const struct verdict *v, struct strbuf *out) {
    static const char *const names[] = { "disk", "memory", "processor time" };
    _Static_assert(ARRAY_SIZE(names) == HOST_FLOOR_MAX, "a floor has no name");
    unsigned first = v->floors ? (unsigned)__builtin_ctz(v->floors) : HOST_LOAD;
    if (first == HOST_DISK)
        strbuf_printf(out,
                      "%" PRId64 " MB of disk are free, a start needs %" PRId64
                      " MB; free disk space, or lower host.disk_free_gb",
                      v->used, v->cap);
    else if (first == HOST_MEMORY)
        strbuf_printf(out,
                      "%" PRId64 " MB of memory are free, a start needs %" PRId64
                      " MB; free memory, or lower host.memory_free_mb",
                      v->used, v->cap);
    else
        strbuf_printf(out,
                      "the load is %.2f, nothing starts above %.2f; it falls by itself, or raise "
                      "host.load",
                      (double)v->used / 1000.0, (double)v->cap / 1000.0);
    for (unsigned floor = first + 1; floor < HOST_FLOOR_MAX; floor++)
        if (v->floors & (1u << floor))
            strbuf_printf(out, "; %s is short too", names[floor]);
}

static void put_hold(const struct verdict *v, struct strbuf *out) {
    static const char *const texts[HOLD_MAX] = {
        [HOLD_NONE] = "held",
        [HOLD_PERSON] = "held until its time",
        [HOLD_BACKOFF] = "waits before the next attempt",
        [HOLD_RESTART] = "waits before the next iteration",
        [HOLD_BREAKER] = "held",
        [HOLD_BUDGET] = "its agent ran out of budget",
        [HOLD_REVIEW] = "finished and waits for review; approve or reject it",
        [HOLD_EXTERNAL] = "finished its run and waits to be closed",
        [HOLD_MARKER] = "its DONE marker is not a file; remove it, and it goes on",
        [HOLD_DENIED] = "its agent was not permitted to do something",
        [HOLD_QUESTION] = "its agent asked a question and waits for the answer",
        [HOLD_CHECK] = "a check has no result yet; it is asked again",
        [HOLD_CANDIDATES] = "its candidates work on it; one of them will be picked",
        [HOLD_TAKEN] = "taken over by a person; release it to let it go on, or approve it",
    };
    bool for_ever = v->opens_at == TIME_NEVER;
    if (for_ever && v->hold == HOLD_PERSON)
        strbuf_puts(out, "held; release it to let it go on");
    else if (for_ever && v->hold == HOLD_BUDGET)
        strbuf_puts(out, "it has used up its own budget; raise that with: sluice budget");
    else
        strbuf_puts(out, texts[v->hold]);
}

/* For dependencies and parents: the task that must be done first, and what to do if it ended
 * otherwise. */
static void put_other_task(const struct verdict *v, const struct task_names *names,
                           struct strbuf *out) {
    strbuf_puts(out, v->gate == GATE_PARENT ? "waits for its parent '" : "waits for '");
    strbuf_puts(out, v->about ? task_name(names, v->about) : "");
    strbuf_puts(out, "', which ");
    switch ((int)v->about_state) {
    case TASK_ABSENT:
        strbuf_puts(out, "does not exist; cancel and retry this task to run it without");
        break;
    case TASK_INVALIDATED: /* cannot be retried: its parent has a new iteration */
        strbuf_puts(out, "is invalidated; cancel this task, or change its dependencies");
        break;
    case TASK_FAILED:
    case TASK_CANCELED:
        strbuf_printf(out, "is %s; retry it", task_state_name(v->about_state));
        break;
    default:
        strbuf_puts(out, "is ");
        strbuf_puts(out, task_state_name(v->about_state));
        break;
    }
    if (v->count > 1)
        strbuf_printf(out, " (and %" PRIu32 " more)", v->count - 1);
}

static void put_failover_count(const struct verdict *v, struct strbuf *out) {
    if (v->count > 0)
        strbuf_printf(out, ", and no agent it fails over to is open (%" PRIu32 " named)", v->count);
}

void verdict_account(const struct verdict *v, const struct symbol_table *symbols,
                     struct strbuf *out) {
    static const char *const windows[] = {
        [QUOTA_FIVE_HOUR] = "5-hour window", [QUOTA_WEEKLY] = "weekly window"
    };
    const char *name = symbol_name(symbols, v->key);
    if (v->reserved)
        strbuf_printf(out,
                      "account '%s' has used %" PRId64 " %% of its %s; %" PRId64
                      " %% is reserved for you",
                      name, v->used, windows[v->window], v->cap);
    else
        strbuf_printf(out, v->closed ? "account '%s' is closed" : "account '%s' is rate limited",
                      name);
    put_failover_count(v, out);
}

/* `plan` explains every task, and printf takes most of the time of these texts. */
static void put_in_use(const struct verdict *v, struct strbuf *out) {
    char text[NUMBER_TEXT_MAX];
    strbuf_puts(out, " (");
    strbuf_puts(out, number_text(v->used, text));
    strbuf_puts(out, " of ");
    strbuf_puts(out, number_text(v->cap, text));
    strbuf_puts(out, " in use)");
}

static void put_lease(const struct verdict *v, const struct symbol_table *symbols,
                      const struct task_names *names, struct strbuf *out) {
    /* Text before and after the name of the key. */
    static const struct {
        const char *before, *after;
    } texts[LEASE_KIND_MAX] = {
        [LEASE_TASK] = { "the task runs already", NULL },
        [LEASE_SERIAL] = { "another task of phase '", "' runs, and it is not parallelizable" },
        [LEASE_WORKSPACE] = { "workspace '", "' is in use" },
        [LEASE_WORKSPACES] = { "project '", "' has no free workspace" },
        [LEASE_PROJECT] = { "project '", "' is at its limit" },
        [LEASE_KIND] = { "kind '", "' is at its limit" },
        [LEASE_AGENT] = { "agent '", "' is busy" },
        [LEASE_AGENTS] = { "no agent is idle", NULL },
        [LEASE_LIMITER] = { "account '", "' is at its limit" },
        [LEASE_RESOURCE] = { "resource '", "' is in use" },
        [LEASE_REVIEW] = { "too much of project '", "' waits for review" },
        [LEASE_ROOTS] = { "the limit of root tasks is reached", NULL },
        [LEASE_RUNS] = { "the limit of runs is reached", NULL },
    };
    const char *key = symbol_name(symbols, v->key), *after = texts[v->lease].after;
    if (v->cap == 0 && v->lease == LEASE_AGENT) {
        strbuf_printf(out, "agent '%s' takes no work: it has no slots, or is not listed", key);
        return;
    }
    if (v->cap == 0 && v->lease != LEASE_AGENTS && v->lease != LEASE_WORKSPACES) {
        strbuf_printf(out, "the cap of %s%s%s is 0; raise it to let it start",
                      lease_kind_name(v->lease), *key ? " " : "", key);
        return;
    }
    if (v->lease == LEASE_LIMITER && v->ramping)
        after = "' comes back slowly after a rate limit";
    if (v->lease == LEASE_SERIAL && !v->key)
        key = "-";
    strbuf_puts(out, texts[v->lease].before);
    if (after) {
        strbuf_puts(out, key);
        strbuf_puts(out, after);
    }
    if (v->lease == LEASE_WORKSPACE && v->about)
        strbuf_printf(out, " by '%s'", task_name(names, v->about));
    if (v->lease == LEASE_TASK || v->lease == LEASE_AGENTS || v->lease == LEASE_SERIAL
        || v->lease == LEASE_WORKSPACE)
        return;
    if (v->about && v->used < v->cap)
        strbuf_printf(out, "; the free place is reserved for '%s'", task_name(names, v->about));
    else
        put_in_use(v, out);
}

static void put_budget(const struct verdict *v, const char *project, struct strbuf *out) {
    if (v->money) {
        if (project)
            strbuf_printf(out, "project '%s' has used ", project);
        else
            strbuf_puts(out, "all projects together have used ");
        money_put(out, v->used);
        strbuf_puts(out, " of ");
        money_put(out, v->cap);
        strbuf_puts(out, " in ");
        number_print_span(out, v->span);
        return;
    }
    strbuf_puts(out, "the token budget");
    if (project)
        strbuf_printf(out, " of project '%s'", project);
    strbuf_printf(out, " is used up (%" PRId64 " of %" PRId64 ")", v->used, v->cap);
}

void verdict_message(const struct verdict *v, const struct symbol_table *symbols,
                     const struct task_names *names, struct strbuf *out) {
    const char *key = symbol_name(symbols, v->key);
    switch (v->gate) {
    case GATE_PAUSED:
        strbuf_puts(out, "everything is paused");
        put_pauser(v, symbols, out);
        strbuf_puts(out, "; go on with: sluice resume");
        break;
    case GATE_PROJECT:
        put_project(v, symbols, out);
        break;
    case GATE_HELD:
        put_hold(v, out);
        break;
    case GATE_DEPENDENCY:
    case GATE_PARENT:
        put_other_task(v, names, out);
        break;
    case GATE_ARTIFACT:
        strbuf_puts(out, "the artifact it is made from does not exist yet");
        break;
    case GATE_PROBE:
        strbuf_puts(out, "its gate has not said yes yet");
        break;
    case GATE_HOURS:
        strbuf_printf(out, "%s '%s' is outside its opening hours",
                      v->lease == LEASE_LIMITER ? "account" : lease_kind_name(v->lease), key);
        put_failover_count(v, out);
        break;
    case GATE_BREAKER:
        if (v->key) {
            strbuf_printf(out, "agent '%s' could not be launched several times in a row", key);
            put_failover_count(v, out);
        } else
            strbuf_puts(out, "could not be launched several times in a row");
        break;
    case GATE_LIMITER:
        verdict_account(v, symbols, out);
        if (v->closed)
            strbuf_printf(out, "; clear it with: sluice limiter clear %s", key);
        break;
    case GATE_HOST:
        put_host(v, out);
        break;
    case GATE_BUDGET:
        put_budget(v, NULL, out);
        break;
    case GATE_PROJECT_BUDGET:
        put_budget(v, key, out);
        break;
    case GATE_LEASE:
        put_lease(v, symbols, names, out);
        break;
    case GATE_PACE:
        strbuf_puts(out, "this tick has started its share; the next one goes on");
        break;
    case GATE_MAX:
        break;
    }
}

/* --- samples of the waiting tasks --------------------------------------------------------------
 *
 * A bounded part of the queue without walking all tasks. Within a class the order is by age, so the
 * first tasks of every class include those that start next. */

struct sample {
    const struct core *c;
    task_id *tasks;
    size_t count, max;
};

/* Items `skip` to `most` of the list, while there is room. */
static void take(struct sample *s, const struct order_list *list, size_t skip, size_t most) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    for (size_t n = 0; n < most && s->count < s->max && (task = order_list_next(list, &cursor));
         n++)
        if (n >= skip)
            s->tasks[s->count++] = task_at(s->c, task)->id;
}

static void take_all(struct sample *s, size_t skip, size_t most) {
    const struct core *c = s->c;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (!class_at(c, h)->domain)
            continue;
        take(s, &class_at(c, h)->by_created, skip, most);
        take(s, &class_at(c, h)->parked_by_created, skip, most);
    }
    take(s, &c->waiting, skip, most);
}

size_t core_waiting(const struct core *c, task_id *ret, size_t max) {
    struct sample s = { .c = c, .max = max };
    s.tasks = ret;
    size_t lists = 2 * (size_t)c->classes.used + 1;
    size_t share = max / lists > 0 ? max / lists : 1;
    take_all(&s, 0, share);
    take_all(&s, share, max);
    return s.count;
}

size_t core_waiting_first(const struct core *c, size_t each, task_id *ret, size_t max) {
    if (each > max / (4 * (size_t)c->classes.used + 1))
        return core_waiting(c, ret, max);
    struct sample s = { .c = c, .max = max };
    s.tasks = ret;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        const struct queue_class *k = class_at(c, h);
        if (!k->domain)
            continue;
        take(&s, &k->by_created, 0, each);
        take(&s, &k->parked_by_created, 0, each);
        take(&s, &k->by_ready, 0, each);
        take(&s, &k->parked_by_ready, 0, each);
    }
    return s.count;
}

/* --- heads ----------------------------------------------------------------------------------- */

#define VISITED_PER_LACKING 20

struct heads {
    const struct core *c;
    void (*head)(void *ctx, task_id task);
    void *ctx;
};

static void visit_first(const struct heads *h, const struct order_list *list, size_t each) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    for (size_t n = 0; n < each && (task = order_list_next(list, &cursor)); n++)
        h->head(h->ctx, task_at(h->c, task)->id);
}

static void visit_lacking(const struct heads *h, size_t most) {
    struct order_cursor cursor = { 0 };
    size_t left = most * VISITED_PER_LACKING;
    uint32_t task;
    while (most > 0 && left-- > 0 && (task = order_list_next(&h->c->waiting, &cursor))) {
        unsigned lack = task_at(h->c, task)->lack;
        if (lack == LACK_DEPENDENCY_HOPELESS || lack == LACK_PARENT_HOPELESS)
            continue;
        h->head(h->ctx, task_at(h->c, task)->id);
        most--;
    }
}

void core_each_queue_head(const struct core *c, size_t each, size_t lacking,
                          void (*head)(void *ctx, task_id task), void *ctx) {
    struct heads heads = { .c = c, .head = head, .ctx = ctx };
    for (uint32_t h = 1; h < c->classes.next; h++)
        if (class_at(c, h)->domain)
            visit_first(&heads, &class_at(c, h)->by_created, each);
    for (uint32_t h = 1; h < c->parks.next; h++)
        if (park_at(c, h)->cls)
            visit_first(&heads, &park_at(c, h)->by_created, each);
    visit_lacking(&heads, lacking);
}

/* --- counts by gate ----------------------------------------------------------------------------
 *
 * Similar tasks are stopped by the same gate, so one synthetic task per crowd is explained.
 * Exceptions are a reservation for one task and a workspace locked by one task; they are corrected
 * at the end. */

struct counting {
    const struct core *c;
    core_waiting_visitor each;
    void *ctx;
    size_t left; /* how many more crowds may be explained */
};

static void report(struct counting *n, const struct verdict *first, int64_t more) {
    if (more != 0)
        n->each(n->ctx, first, more);
}

/* A project's tasks that lack a prerequisite: few gates precede that one. */
static void count_lacking(struct counting *n, const struct project *p) {
    static const enum gate gates[LACK_MAX] = {
        [LACK_DEPENDENCY] = GATE_DEPENDENCY, [LACK_DEPENDENCY_HOPELESS] = GATE_DEPENDENCY,
        [LACK_PARENT] = GATE_PARENT,         [LACK_PARENT_HOPELESS] = GATE_PARENT,
        [LACK_ARTIFACT] = GATE_ARTIFACT,     [LACK_PROBE] = GATE_PROBE,
    };
    for (int lack = LACK_NOTHING + 1; lack < LACK_MAX; lack++) {
        struct verdict first = { .gate = n->c->paused            ? GATE_PAUSED
                                         : !gate_project_open(p) ? GATE_PROJECT
                                                                 : gates[lack],
                                 .key = p->spec.id,
                                 .opens_at = TIME_NEVER };
        report(n, &first, p->lacking[lack]);
    }
}

/* A synthetic task of the class that names no rare key. */
static struct task one_of_class(const struct core *c, const struct queue_class *cls) {
    const struct lane_key *k = &lane_at(c, cls->lane)->key;
    unsigned flags = 0;
    if (!(k->needs_kept & TASK_KEEPS_ROOTS))
        flags |= TASK_HAS_PARENT;
    if (k->needs_kept & TASK_KEEPS_REVIEW)
        flags |= TASK_REVIEW;
    if (!(k->needs_kept & TASK_KEEPS_WORKSPACE))
        flags |= TASK_KEEPS_WORKSPACE;
    if (k->bound)
        flags |= TASK_BOUND;
    return (struct task){ .state = TASK_READY,
                          .project = k->project,
                          .kind = k->kind,
                          .agent = k->agent,
                          .limiter = k->limiter,
                          .parent_gate = PARENT_NONE,
                          .flags = (uint16_t)flags };
}

static struct task one_of_crowd(const struct core *c, const struct crowd *crowd) {
    struct task like = one_of_class(c, class_at(c, crowd->cls));
    like.serial_key = crowd->serial;
    like.resources = crowd->resources;
    return like;
}

/* Counts as if no workspace were in use. */
static bool count_class(struct counting *n, const struct queue_class *k) {
    const struct core *c = n->c;
    struct task like = one_of_class(c, k);
    struct verdict first, other;
    if (n->left-- == 0)
        return false;
    bool closed = explain_first(c, 0, &like, &first);
    int64_t rest = (int64_t)k->by_created.count + k->parked_by_created.count;
    bool alike = closed && first.gate < GATE_LEASE; /* rare keys come later */
    for (uint32_t h = alike ? 0 : k->crowds; h; h = crowd_at(c, h)->next) {
        if (n->left-- == 0)
            return false;
        const struct crowd *crowd = crowd_at(c, h);
        like = one_of_crowd(c, crowd);
        if (explain_first(c, 0, &like, &other))
            report(n, &other, crowd->count);
        rest -= crowd->count;
    }
    if (closed)
        report(n, &first, rest);
    return true;
}

/* Moves `count` tasks from the gate of `was` to the gate of `is`, which is `task` (0: any like
 * it). */
static void move(struct counting *n, const struct task *was, const struct task *is, uint32_t task,
                 int64_t count) {
    struct verdict from, to;
    bool was_closed = explain_first(n->c, 0, was, &from);
    bool is_closed = explain_first(n->c, task, is, &to);
    if (was_closed)
        report(n, &from, -count);
    if (is_closed)
        report(n, &to, count);
}

static bool count_workspace(struct counting *n, uint32_t workspace) {
    const struct core *c = n->c;
    for (uint32_t h = key_at(c, workspace)->crowds; h; h = crowd_at(c, h)->next) {
        if (n->left-- == 0)
            return false;
        struct task without = one_of_crowd(c, crowd_at(c, h)), with = without;
        with.workspace_key = workspace;
        move(n, &without, &with, 0, crowd_at(c, h)->count);
    }
    return true;
}

/* Corrects a task that was counted like the rest of its crowd. */
static void count_itself(struct counting *n, uint32_t task) {
    const struct task *t = task_at(n->c, task);
    if (t->state == TASK_READY)
        move(n, t, t, task, 1);
}

/* Corrects slots that only one task can have. */
static void count_exceptions(struct counting *n) {
    const struct core *c = n->c;
    if (c->claim.task)
        count_itself(n, c->claim.task);
    for (uint32_t w = c->full_workspaces; w; w = key_at(c, w)->next_full) {
        task_id by = key_at(c, w)->locked_by;
        uint32_t task = by ? task_find_added(c, by) : 0;
        if (task && task != c->claim.task && task_at(c, task)->workspace_key == w)
            count_itself(n, task);
    }
}

bool core_waiting_by_gate(const struct core *c, size_t max, core_waiting_visitor each, void *ctx) {
    struct counting n = { .c = c, .each = each, .ctx = ctx, .left = max };
    for (size_t p = 1; p < c->project_count; p++)
        count_lacking(&n, &c->projects[p]);
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (class_at(c, h)->domain && !count_class(&n, class_at(c, h)))
            return false;
    }
    for (uint32_t w = c->full_workspaces; w; w = key_at(c, w)->next_full) {
        if (!count_workspace(&n, w))
            return false;
    }
    count_exceptions(&n);
    return !c->loading;
}
