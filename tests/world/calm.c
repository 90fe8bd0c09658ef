/* calm.c: the second phase. Nothing goes wrong any more, people are friendly, and everything that can
 * be finished must be finished, within a time that is computed beforehand. */
#include <inttypes.h>

#include "books_internal.h"
#include "world.h"

#define SLOWEST_START  SECONDS(60)
#define SLOWEST_STOP   MINUTES(5)
#define LONGEST_HOLD   HOURS(3) /* breaker, budget and backoff of runs that began before */
#define VERDICTS_EVERY SECONDS(30)

static void apply_fact(struct world *w, struct fact fact) {
    (void)world_apply_fact(w, &fact);
}

static amount at_least_one(amount cap) {
    return cap < 1 ? 1 : cap;
}

/* Only runs go on. */
static void forget_plans(struct world *w) {
    struct agenda old = w->agenda;
    w->agenda = (struct agenda){ .sequence = old.sequence };
    while (old.count > 0) {
        struct event event = agenda_take(&old);
        if (event.what >= HAPPENS_ORDER_REFUSED)
            agenda_add(&w->agenda, event);
    }
    agenda_finish(&old);
}

static void open_caps(struct world *w) {
    const struct books *b = &w->books;
    w->policy.runs = at_least_one(w->policy.runs);
    w->policy.roots = UNLIMITED;
    apply_fact(w, (struct fact){ .kind = FACT_POLICY, .policy = &w->policy });
    for (unsigned p = 1; p <= w->projects; p++) {
        struct project_spec spec = b->project[p].spec;
        spec.active = true;
        spec.paused = false;
        spec.budget = spec.workspaces = spec.review = UNLIMITED;
        spec.money.is_set = false;
        spec.max_running = at_least_one(spec.max_running);
        apply_fact(w, (struct fact){ .kind = FACT_PROJECT, .project = spec });
    }
    for (unsigned k = 1; k <= w->kinds; k++)
        apply_fact(
            w, (struct fact){ .kind = FACT_KIND,
                              .kind_spec = { .id = sym_of(SYM_KIND, k),
                                             .base = b->kind_base[k],
                                             .max_running = at_least_one(b->cap[KEY_KIND + k]) } });
    for (unsigned r = 1; r <= w->resources; r++)
        apply_fact(w,
                   (struct fact){ .kind = FACT_RESOURCE,
                                  .resource = { .id = sym_of(SYM_RESOURCE, r),
                                                .cap = at_least_one(b->cap[KEY_RESOURCE + r]) } });
}

static void open_accounts(struct world *w) {
    for (unsigned l = 1; l <= w->limiters; l++) {
        w->outage_until[l] = 0;
        w->limiter_policies[l].max_running = at_least_one(w->limiter_policies[l].max_running);
        apply_fact(w, (struct fact){ .kind = FACT_LIMITER,
                                     .limiter = { .id = sym_of(SYM_LIMITER, l),
                                                  .policy = w->limiter_policies[l] } });
        apply_fact(w, (struct fact){ .kind = FACT_LIMITER_CLEAR,
                                     .limiter_clear = sym_of(SYM_LIMITER, l) });
        apply_fact(w, (struct fact){ .kind = FACT_EXTERNAL,
                                     .external = { .limiter = sym_of(SYM_LIMITER, l) } });
    }
    for (unsigned a = 1; a <= w->agents; a++) {
        w->agent_specs[a].slots = at_least_one(w->agent_specs[a].slots);
        w->agent_specs[a].idle = true;
        apply_fact(w, (struct fact){ .kind = FACT_AGENT, .agent = w->agent_specs[a] });
    }
}

static void open_hours(struct world *w, enum lease_kind scope, unsigned kind, unsigned count) {
    for (unsigned i = 1; i <= count; i++)
        apply_fact(w, (struct fact){ .kind = FACT_HOURS,
                                     .hours = { .scope = scope, .id = sym_of(kind, i) } });
}

static void remove_obstacles(struct world *w) {
    open_hours(w, LEASE_PROJECT, SYM_PROJECT, w->projects);
    open_hours(w, LEASE_AGENT, SYM_AGENT, w->agents);
    open_hours(w, LEASE_LIMITER, SYM_LIMITER, w->limiters);
    apply_fact(w, (struct fact){ .kind = FACT_RESUME });
    apply_fact(w, (struct fact){ .kind = FACT_BUDGET, .budget = UNLIMITED });
    apply_fact(
        w, (struct fact){ .kind = FACT_HOST,
                          .host = { .disk_free_mb = -1, .memory_free_mb = -1, .load_milli = -1 } });
    for (unsigned p = 1; p <= w->projects; p++)
        apply_fact(w, (struct fact){ .kind = FACT_EXTERNAL,
                                     .external = { .project = sym_of(SYM_PROJECT, p) } });
    for (unsigned i = 1; i <= w->workspaces; i++)
        apply_fact(w, (struct fact){ .kind = FACT_WORKSPACE,
                                     .workspace = { .id = sym_of(SYM_WORKSPACE, i) } });
    for (task_id id = 1; id < w->books.count; id++) {
        if (books_task(&w->books, id) && w->books.rows[id].artifact_missing)
            apply_fact(
                w, (struct fact){ .kind = FACT_ARTIFACT, .task = id, .artifact_present = true });
        if (books_task(&w->books, id) && w->books.rows[id].probe_closed)
            apply_fact(w, (struct fact){ .kind = FACT_PROBE, .task = id, .probe_open = true });
    }
}

void calm_begin(struct world *w) {
    w->calm = true;
    forget_plans(w);
    world_plan(w, HAPPENS_VERDICT, VERDICTS_EVERY);
    open_caps(w);
    open_accounts(w);
    remove_obstacles(w);
    world_decide(w);
}

bool calm_is_over(const struct world *w) {
    const uint32_t *n = w->books.by_state;
    return w->calm
           && n[TASK_DRAFT] + n[TASK_READY] + n[TASK_STARTING] + n[TASK_RUNNING] + n[TASK_HELD]
                  == 0;
}

/* If all tasks ran one after the other, each as long as it can, after the longest hold. */
time_ms calm_longest(const struct world *w) {
    time_ms each = SLOWEST_START + w->run_longest + SLOWEST_STOP + VERDICTS_EVERY + w->policy.drain
                   + w->policy.pace.tick + w->policy.pace.spawn_delay;
    return w->now + LONGEST_HOLD + (time_ms)w->books.count * each;
}

/* --- what may be left ------------------------------------------------------------------------ */

static bool waits_for_ever(const struct books *b, const struct row *row);

/* Something a task waits for that will never come by itself. */
static bool never_comes(const struct books *b, task_id id) {
    const struct row *row = books_task(b, id);
    if (!row)
        return !(books_row(b, id) && books_row(b, id)->was_done);
    if (task_state_is_final(row->state))
        return row->state != TASK_DONE;
    return row->state == TASK_WAITING && waits_for_ever(b, row);
}

static bool waits_for_ever(const struct books *b, const struct row *row) {
    for (unsigned i = 0; i < row->dependency_count; i++) {
        if (never_comes(b, row->depends_on[i]))
            return true;
    }
    return row->parent && row->parent_gate == PARENT_DONE && never_comes(b, row->parent);
}

static void report_unfinished(struct world *w, const struct row *row) {
    struct verdict verdict = { .gate = GATE_MAX };
    bool blocked = core_blocked(w->core, row->id, &verdict);
    strbuf_clear(&w->text);
    if (blocked)
        verdict_code(&verdict, core_symbols(w->core), &w->text);
    breach_set(&w->breach, "I24", "task %" PRIu64 " is still %s (%s) in calm weather%s%s", row->id,
               task_state_name(row->state), hold_name(row->hold), blocked ? ", behind " : "",
               strbuf_text(&w->text));
}

void calm_check_done(struct world *w) {
    const struct books *b = &w->books;
    for (size_t i = 1; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        bool final = row->state == TASK_ABSENT || task_state_is_final(row->state);
        if (!final && !(row->state == TASK_WAITING && waits_for_ever(b, row)))
            report_unfinished(w, row);
    }
    amount used, cap;
    if (core_lease(w->core, LEASE_RUNS, 0, &used, &cap) && used != 0)
        breach_set(&w->breach, "I24", "nothing runs, but %" PRId64 " places are taken", used);
    if (core_next_wakeup(w->core) != TIME_NEVER)
        breach_set(&w->breach, "I24", "all is done, but a wake-up is set");
}
