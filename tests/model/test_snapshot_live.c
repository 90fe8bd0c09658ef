/* test_snapshot_live.c: does a core that is read from a live snapshot decide as the one that it was written from?
 *
 * Random worlds and histories (generate.h), with settings that a configuration may have. At random moments the core
 * is written and read again; from then on both get the same facts, and every decision is compared until the next
 * snapshot or the end. Every second snapshot is an anonymous one.
 *
 *   test_snapshot_live [--seeds N] [--first S]     many seeds
 *   test_snapshot_live --seed S                    one seed, with every fact, order and snapshot */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/order_print.h"
#include "base/alloc.h"
#include "base/money.h"
#include "config/settings.h"
#include "generate.h"
#include "snapshot/snapshot.h"
#include "snapshot/write.h"

#define SEEDS      1000
#define EACH       8       /* every n-th decision is followed by a snapshot */
#define NEW_NUMBER 1000000 /* tasks that come after the snapshot are behind all of it */

struct totals {
    uint64_t snapshots, decisions, starts, bytes, claims, failures;
};

struct game {
    uint64_t seed;
    struct rng rng;
    struct core *core;
    struct model *model; /* for the generator alone */
    struct snapshot *snapshot;
    bool anonymous;
    bool shows; /* every fact, decision and snapshot as text */
    struct strbuf file, text;
    struct totals *totals;
};

/* --- settings that a file can have ----------------------------------------------------------- */

/* The nearest value that can be written. */
static int64_t writable(const struct setting *row, int64_t value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int64_t read = 0;
    setting_print(row, value, &text);
    return setting_parse(row, strbuf_text(&text), &read) ? read : row->min;
}

static void make_writable(enum setting_section section, void *spec) {
    size_t first, count = settings_of(section, &first);
    for (size_t i = 0; i < count; i++)
        if (settings[first + i].size > 0)
            setting_store(&settings[first + i],
                          writable(&settings[first + i], setting_load(&settings[first + i], spec)),
                          spec);
}

/* Only what has a row; the rest is as in every configuration. The jitter of a delay is drawn from the task's number,
 * which a snapshot does not keep. */
static struct policy writable_policy(const struct policy *policy) {
    size_t first, count = settings_of(SECTION_ROOT, &first);
    struct policy result;
    policy_default(&result);
    for (size_t i = 0; i < count; i++)
        if (settings[first + i].size > 0)
            setting_store(&settings[first + i], setting_load(&settings[first + i], policy),
                          &result);
    make_writable(SECTION_ROOT, &result);
    for (int i = 0; i < RETRY_CLASS_MAX; i++) {
        result.retry[i].jitter_milli = 0;
        result.retry[i].cap = time_max(result.retry[i].cap, result.retry[i].delay);
    }
    return result;
}

/* A configuration refuses circles, and names that stand twice. */
static void drop_circles(struct agent_spec *spec) {
    unsigned kept = 0;
    for (unsigned i = 0; i < spec->failover_count; i++) {
        bool twice = false;
        for (unsigned k = 0; k < kept; k++)
            twice |= spec->failover[k] == spec->failover[i];
        if (spec->failover[i] > spec->id && !twice)
            spec->failover[kept++] = spec->failover[i];
    }
    spec->failover_count = (uint8_t)kept;
}

static struct fact writable_fact(const struct fact *fact, struct policy *policy) {
    struct fact result = *fact;
    if (fact->kind == FACT_POLICY) {
        *policy = writable_policy(fact->policy);
        result.policy = policy;
    } else if (fact->kind == FACT_PROJECT) {
        make_writable(SECTION_PROJECTS, &result.project);
    } else if (fact->kind == FACT_KIND) {
        make_writable(SECTION_KINDS, &result.kind_spec);
    } else if (fact->kind == FACT_LIMITER) {
        make_writable(SECTION_LIMITERS, &result.limiter);
    } else if (fact->kind == FACT_AGENT) {
        make_writable(SECTION_AGENTS, &result.agent);
        drop_circles(&result.agent);
    } else if (fact->kind == FACT_TASK_ADDED) {
        /* The other core is asked by its own numbers and names: task_of, name_of. */
    }
    return result;
}

/* --- the two cores --------------------------------------------------------------------------- */

static void task_name(const void *ctx, const struct core *core, task_id task, struct strbuf *out) {
    (void)ctx, (void)core;
    strbuf_printf(out, "%" PRIu64, task);
}

static task_id task_of(const struct game *g, task_id task) {
    char name[32];
    if (task == 0)
        return 0;
    (void)snprintf(name, sizeof(name), "%s%" PRIu64, g->anonymous ? "task-" : "", task);
    task_id found = snapshot_find(g->snapshot, name);
    return found ? found : NEW_NUMBER + task;
}

enum role { PROJECT, KIND, AGENT, LIMITER, RESOURCE, WORKSPACE, PHASE };

static sym name_of(const struct game *g, enum role role, sym name) {
    static const char *const roles[] = { "project",  "kind",      "agent", "limiter",
                                         "resource", "workspace", "phase" };
    struct symbol_table *symbols = core_symbols(snapshot_core(g->snapshot));
    const char *text = symbol_name(core_symbols(g->core), name);
    char neutral[32];
    (void)snprintf(neutral, sizeof(neutral), "%s-%" PRIu32, roles[role], name);
    if (g->anonymous)
        text = neutral;
    return name ? symbol_intern(symbols, text, strlen(text)) : 0;
}

struct lists {
    struct task_spec spec;
    task_id tasks[64];
    sym resources[32];
};

static void map_tasks(const struct game *g, const task_id *from, size_t count, task_id *to) {
    for (size_t i = 0; i < count && i < 64; i++)
        to[i] = task_of(g, from[i]);
}

static void map_spec(const struct game *g, const struct task_spec *from, struct lists *to) {
    struct task_spec *spec = &to->spec;
    *spec = *from;
    spec->id = task_of(g, from->id);
    spec->parent = task_of(g, from->parent);
    spec->lender = task_of(g, from->lender);
    map_tasks(g, from->depends_on, from->depends_on_count, to->tasks);
    spec->depends_on = to->tasks;
    for (size_t i = 0; i < from->resource_count && i < ARRAY_SIZE(to->resources); i++)
        to->resources[i] = name_of(g, RESOURCE, from->resources[i]);
    spec->resources = to->resources;
    spec->project = name_of(g, PROJECT, from->project);
    spec->kind = name_of(g, KIND, from->kind);
    spec->agent = name_of(g, AGENT, from->agent);
    spec->limiter = name_of(g, LIMITER, from->limiter);
    spec->workspace = name_of(g, WORKSPACE, from->workspace);
    spec->serial = name_of(g, PHASE, from->serial);
    spec->run_agent = name_of(g, AGENT, from->run_agent);
    spec->run_limiter = name_of(g, LIMITER, from->run_limiter);
    spec->escalation.own_agent = name_of(g, AGENT, from->escalation.own_agent);
    for (unsigned i = 0; i < from->escalation.count; i++)
        spec->escalation.agents[i] = name_of(g, AGENT, from->escalation.agents[i]);
}

static void map_agent(const struct game *g, struct agent_spec *spec) {
    spec->id = name_of(g, AGENT, spec->id);
    spec->limiter = name_of(g, LIMITER, spec->limiter);
    for (unsigned i = 0; i < spec->failover_count; i++)
        spec->failover[i] = name_of(g, AGENT, spec->failover[i]);
    for (unsigned i = 0; i < spec->escalate_count; i++)
        spec->escalate[i] = name_of(g, AGENT, spec->escalate[i]);
}

/* The same fact for the other core. */
static struct fact map_fact(const struct game *g, const struct fact *from, struct lists *lists) {
    struct fact f = *from;
    f.task = task_of(g, from->task);
    if (f.kind == FACT_PROJECT) {
        f.project.id = name_of(g, PROJECT, f.project.id);
    } else if (f.kind == FACT_KIND) {
        f.kind_spec.id = name_of(g, KIND, f.kind_spec.id);
    } else if (f.kind == FACT_AGENT) {
        map_agent(g, &f.agent);
    } else if (f.kind == FACT_LIMITER) {
        f.limiter.id = name_of(g, LIMITER, f.limiter.id);
    } else if (f.kind == FACT_LIMITER_CLEAR) {
        f.limiter_clear = name_of(g, LIMITER, f.limiter_clear);
    } else if (f.kind == FACT_LIMITER_USED) {
        f.used.limiter = name_of(g, LIMITER, f.used.limiter);
    } else if (f.kind == FACT_HOURS) {
        f.hours.id = name_of(g,
                             f.hours.scope == LEASE_PROJECT ? PROJECT
                             : f.hours.scope == LEASE_AGENT ? AGENT
                                                            : LIMITER,
                             f.hours.id);
    } else if (f.kind == FACT_AGENT_CLEAR) {
        f.agent_clear = name_of(g, AGENT, f.agent_clear);
    } else if (f.kind == FACT_RESOURCE) {
        f.resource.id = name_of(g, RESOURCE, f.resource.id);
    } else if (f.kind == FACT_WORKSPACE) {
        f.workspace.id = name_of(g, WORKSPACE, f.workspace.id);
        f.workspace.locked_by = task_of(g, f.workspace.locked_by);
    } else if (f.kind == FACT_USAGE) {
        f.usage.project = name_of(g, PROJECT, f.usage.project);
    } else if (f.kind == FACT_EXTERNAL) {
        f.external.project = name_of(g, PROJECT, f.external.project);
        f.external.limiter = name_of(g, LIMITER, f.external.limiter);
    } else if (f.kind == FACT_SLING) {
        f.sling.agent = name_of(g, AGENT, f.sling.agent);
        f.sling.limiter = name_of(g, LIMITER, f.sling.limiter);
    } else if (f.kind == FACT_DEPENDENCIES) {
        map_tasks(g, from->dependencies.items, from->dependencies.count, lists->tasks);
        f.dependencies.items = lists->tasks;
    } else if (f.kind == FACT_RUN_ENDED) {
        f.ended.workspace = name_of(g, WORKSPACE, f.ended.workspace);
    } else if (f.kind == FACT_TASK_ADDED) {
        map_spec(g, from->spec, lists);
        f.spec = &lists->spec;
    }
    return f;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool fail(struct game *g, const char *what) {
    printf("seed %" PRIu64 ": %s: %s; reproduce: build/tests/model/test_snapshot_live --seed "
           "%" PRIu64 "\n",
           g->seed, what, strbuf_text(&g->text), g->seed);
    return false;
}

static bool is_effect(const struct order *o) {
    return o->kind == ORDER_START || o->kind == ORDER_STOP;
}

static bool same_order(const struct game *g, const struct order *a, const struct order *b) {
    if (a->kind != b->kind || task_of(g, a->task) != b->task || a->attempt != b->attempt)
        return false;
    return a->kind == ORDER_STOP
           || (name_of(g, PROJECT, a->project) == b->project
               && name_of(g, AGENT, a->agent) == b->agent
               && name_of(g, LIMITER, a->limiter) == b->limiter
               && name_of(g, AGENT, a->instead_of) == b->instead_of
               && name_of(g, WORKSPACE, a->workspace) == b->workspace && a->score == b->score
               && task_of(g, a->lender) == b->lender);
}

static const struct order *next_effect(const struct order *list, size_t count, size_t *at) {
    while (*at < count && !is_effect(&list[*at]))
        (*at)++;
    return *at < count ? &list[(*at)++] : NULL;
}

static bool decide(struct game *g) {
    size_t count, other_count, i = 0, k = 0;
    (void)model_decide(g->model, &count);
    const struct order *orders = core_decide(g->core, &count);
    if (g->shows)
        printf("decide\n");
    for (size_t at = 0; g->shows && at < count; at++) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
        order_print(&orders[at], core_symbols(g->core), &line);
        printf("    %s\n", strbuf_text(&line));
    }
    if (!g->snapshot)
        return true;
    struct core *other = snapshot_core(g->snapshot);
    const struct order *others = core_decide(other, &other_count);
    g->totals->decisions++;
    for (;;) {
        const struct order *a = next_effect(orders, count, &i);
        const struct order *b = next_effect(others, other_count, &k);
        if (!a && !b)
            return true;
        g->totals->starts += a && a->kind == ORDER_START;
        if (a && b && same_order(g, a, b))
            continue;
        strbuf_clear(&g->text);
        if (a)
            order_print(a, core_symbols(g->core), &g->text);
        strbuf_puts(&g->text, " | ");
        if (b)
            order_print(b, core_symbols(other), &g->text);
        return fail(g, "other orders");
    }
}

static void print_code(struct core *core, const struct verdict *v, struct strbuf *out) {
    verdict_code(v, core_symbols(core), out);
    strbuf_printf(out, " used %" PRId64 " of %" PRId64 " opens %" PRId64, v->used, v->cap,
                  v->opens_at);
}

/* Why each task waits is the same, and how long it has waited. */
static bool compare_tasks(struct game *g) {
    struct core *other = snapshot_core(g->snapshot);
    for (size_t i = 0; i < model_task_count(g->model); i++) {
        task_id task = model_task_at(g->model, i).id;
        struct task_view a = { 0 }, b = { 0 };
        struct verdict va = { 0 }, vb = { 0 };
        bool known = core_task(g->core, task, &a);
        if (known != core_task(other, task_of(g, task), &b))
            return fail(g, "a task is missing");
        bool closed = known && core_blocked(g->core, task, &va);
        bool same = !known
                    || (closed == core_blocked(other, task_of(g, task), &vb) && a.state == b.state
                        && a.hold == b.hold && a.waited == b.waited && a.overdue == b.overdue
                        && a.score == b.score && a.tokens == b.tokens && a.money == b.money
                        && va.gate == vb.gate && va.used == vb.used && va.cap == vb.cap
                        && va.opens_at == vb.opens_at
                        && core_queue_position(g->core, task)
                               == core_queue_position(other, task_of(g, task)));
        if (same)
            continue;
        strbuf_clear(&g->text);
        strbuf_printf(&g->text, "task %" PRIu64 ": %s waited %" PRId64 " score %d %s", task,
                      task_state_name(a.state), a.waited, a.score, a.overdue ? "overdue " : "");
        if (closed)
            print_code(g->core, &va, &g->text);
        strbuf_printf(&g->text, " | %s waited %" PRId64 " score %d %s", task_state_name(b.state),
                      b.waited, b.score, b.overdue ? "overdue " : "");
        if (closed)
            print_code(other, &vb, &g->text);
        return fail(g, "a task differs");
    }
    return true;
}

/* --- a game ---------------------------------------------------------------------------------- */

static int keep(void *ctx, const char *bytes, size_t size) {
    strbuf_add(ctx, bytes, size);
    return 0;
}

static bool take_snapshot(struct game *g) {
    struct error err = { 0 };
    g->snapshot = snapshot_free(g->snapshot);
    g->anonymous = rng_below(&g->rng, 2);
    strbuf_clear(&g->file);
    struct core *copy = core_copy(g->core); /* as the daemon does */
    struct snapshot_source source = {
        .core = copy, .preset = "sluice", .anonymous = g->anonymous, .task_name = task_name
    };
    int r = snapshot_write(&source, keep, &g->file, &err);
    core_free(copy);
    if (r == 0) {
        FILE *in = fmemopen(g->file.text, g->file.length, "r");
        r = snapshot_read(in, "live", NULL, &g->snapshot, &err);
        (void)fclose(in);
    }
    strbuf_clear(&g->text);
    strbuf_puts(&g->text, err.text);
    if (g->shows)
        printf("%s", strbuf_text(&g->file));
    if (r < 0)
        return fail(g, "refused");
    g->totals->snapshots++;
    g->totals->bytes += g->file.length;
    g->totals->claims += strstr(g->file.text, "\"claim\":") != NULL;
    return compare_tasks(g);
}

static int class_of(int r) {
    return r < 0 ? -1 : r;
}

/* As after a restart (docs/internals/invariants.md): a start that was counted in a tick is not given back to it when it is
 * refused afterwards, and how far a pace was that comes into force only now is not known. */
static bool is_exempt(const struct game *g, const struct fact *fact) {
    if (fact->kind != FACT_POLICY)
        return fact->kind == FACT_ORDER_REFUSED;
    const struct policy *p = fact->policy;
    bool paced = p->runs != UNLIMITED && (p->pace.batch != UNLIMITED || p->pace.spawn_delay > 0);
    return paced && !strstr(strbuf_text(&g->file), "\"pace\":");
}

/* A task that was only named when the snapshot was taken has a number of its own there, in another order. */
static bool was_only_named(const struct game *g, const struct fact *fact) {
    return fact->kind == FACT_TASK_ADDED && task_of(g, fact->spec->id) < NEW_NUMBER
           && task_of(g, fact->spec->id) > snapshot_task_count(g->snapshot);
}

static bool apply_fact(struct game *g, const struct fact *drawn) {
    struct policy policy;
    struct fact fact = writable_fact(drawn, &policy);
    struct error err = { 0 }, other_err = { 0 };
    struct lists lists;
    if (g->shows) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
        fact_print(&fact, core_symbols(g->core), &line);
        printf("%s\n", strbuf_text(&line));
    }
    if (g->snapshot && (was_only_named(g, &fact) || is_exempt(g, &fact)))
        g->snapshot = snapshot_free(g->snapshot);
    int r = class_of(core_apply(g->core, &fact, &err));
    (void)model_apply(g->model, &fact, &(struct error){ 0 });
    if (!g->snapshot)
        return true;
    struct fact mapped = map_fact(g, &fact, &lists);
    int other = class_of(core_apply(snapshot_core(g->snapshot), &mapped, &other_err));
    if (r == other)
        return true;
    strbuf_clear(&g->text);
    strbuf_printf(&g->text, "%s: %d %s | %d %s", fact_kind_name(fact.kind), r, err.text, other,
                  other_err.text);
    return fail(g, "another answer");
}

static bool step(struct game *g, const struct step *step) {
    if (step->kind == STEP_FACT)
        return apply_fact(g, &step->fact);
    /* The daemon looks when a turn is over: its orders are given, and those that were not are no part of the state. */
    return decide(g) && (rng_below(&g->rng, EACH) > 0 || take_snapshot(g));
}

static bool run_seed(uint64_t seed, bool shows, struct totals *totals) {
    struct history h;
    struct generator generator;
    struct names names;
    struct game g = { .seed = seed,
                      .rng = { .state = hash_u64(~seed) },
                      .core = core_new(),
                      .model = model_new(),
                      .shows = shows,
                      .totals = totals };
    names_intern(&names, core_symbols(g.core));
    for (unsigned i = 0; i < WORLD_AGENTS; i++) { /* a configuration names none that is not there */
        struct fact agent = { .kind = FACT_AGENT };
        agent.agent = (struct agent_spec){ .id = names.agents[i], .slots = UNLIMITED };
        (void)apply_fact(&g, &agent);
    }
    history_init(&h);
    generate_world(&generator, seed, &h);
    size_t applied = 0;
    bool same = true;
    do {
        for (; same && applied < h.count; applied++)
            same = step(&g, &h.steps[applied]);
    } while (same && generate_next(&generator, g.model));
    same = same && decide(&g) && take_snapshot(&g) && decide(&g);
    snapshot_free(g.snapshot);
    core_free(g.core);
    model_free(g.model);
    strbuf_finish(&g.file);
    strbuf_finish(&g.text);
    history_finish(&h);
    return same;
}

int main(int argc, char **argv) {
    uint64_t seeds = SEEDS, first = 1;
    bool shows = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        shows |= strcmp(argv[i], "--seed") == 0;
        if (strcmp(argv[i], "--seeds") == 0)
            seeds = value;
        else
            first = value;
    }
    if (shows)
        seeds = 1;
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
    struct totals totals = { 0 };
    uint64_t done = 0;
    for (; done < seeds && totals.failures < 5; done++)
        totals.failures += !run_seed(first + done, shows, &totals);
    printf("%" PRIu64 " worlds, %" PRIu64 " snapshots (%" PRIu64 " with a claim, %" PRIu64
           " KB), %" PRIu64 " decisions with %" PRIu64 " starts after them: %" PRIu64 " differ\n",
           done, totals.snapshots, totals.claims, totals.bytes / 1000, totals.decisions,
           totals.starts, totals.failures);
    return totals.failures > 0;
}
