/* crash.c: the daemon dies and a new core is built from what was written down.
 *
 * Written down are the configuration, one row per task, the state of the limiters and what was used in
 * the window. The books of the new life begin empty and are filled from the same facts, so what is
 * not durable is gone from them as well: how an agent's launches failed, ramps, the pace, reservations
 * for the overdue, what a live run had reported. docs/invariants.md, I23, lists it.
 *
 * core.h, "Restart": first the world, then the tasks in the order of their numbers. */
#include <stdlib.h>
#include <string.h>

#include "books_internal.h"
#include "world.h"

static void tell(struct world *w, struct fact fact) {
    if (world_tell(w, &fact) != 0)
        breach_set(&w->breach, "I23", "%s was refused after a restart", fact_kind_name(fact.kind));
}

/* --- the world ------------------------------------------------------------------------------- */

static void tell_limiters_and_agents(struct world *w, const struct books *old) {
    for (unsigned l = 1; l <= w->limiters; l++) {
        const struct limiter_book *limiter = &old->limiter[l];
        tell(w, (struct fact){ .kind = FACT_LIMITER,
                               .limiter = { .id = sym_of(SYM_LIMITER, l),
                                            .policy = limiter->policy,
                                            .backoff_until = limiter->until,
                                            .hits = limiter->hits,
                                            .closed = limiter->closed } });
    }
    for (unsigned a = 1; a <= w->agents; a++)
        tell(w, (struct fact){ .kind = FACT_AGENT, .agent = w->agent_specs[a] });
}

static void tell_caps(struct world *w, const struct books *old) {
    for (unsigned k = 1; k <= w->kinds; k++)
        tell(w, (struct fact){ .kind = FACT_KIND,
                               .kind_spec = { .id = sym_of(SYM_KIND, k),
                                              .base = old->kind_base[k],
                                              .max_running = old->cap[KEY_KIND + k] } });
    for (unsigned r = 1; r <= w->resources; r++)
        tell(w, (struct fact){ .kind = FACT_RESOURCE,
                               .resource = { .id = sym_of(SYM_RESOURCE, r),
                                             .cap = old->cap[KEY_RESOURCE + r] } });
    for (unsigned i = 1; i <= w->workspaces; i++) {
        bool locked = old->outside[KEY_WORKSPACE + i] > 0;
        if (locked)
            tell(w, (struct fact){ .kind = FACT_WORKSPACE,
                                   .workspace = { .id = sym_of(SYM_WORKSPACE, i),
                                                  .locked_by = old->locked_by[i],
                                                  .locked = old->locked_by[i] == 0 } });
    }
    tell(w, (struct fact){ .kind = FACT_HOST,
                           .host = { .disk_free_mb = old->disk,
                                     .memory_free_mb = old->memory,
                                     .load_milli = old->load } });
    tell(w, (struct fact){ .kind = FACT_BUDGET, .budget = old->budget });
}

/* The starts of live runs are counted again when they are adopted. */
static void take_live_starts(struct books *old, int64_t width) {
    for (size_t i = 1; i < old->count; i++) {
        const struct row *row = &old->rows[i];
        int64_t number = row->started_at / width;
        if (task_state_is_live(row->state) && number > old->newest_bucket - BUCKETS)
            old->project[row->project].window.ring[number % BUCKETS].starts--;
    }
}

static void tell_usage(struct world *w, struct books *old) {
    int64_t width = old->policy.fair_window / BUCKETS;
    take_live_starts(old, width);
    for (unsigned p = 0; p <= w->projects; p++) {
        const struct window *window = p ? &old->project[p].window : &old->unowned;
        for (int64_t n = old->newest_bucket - BUCKETS + 1; n <= old->newest_bucket; n++) {
            const struct bucket *bucket = &window->ring[n % BUCKETS];
            if (!bucket->reported && !bucket->starts && !bucket->completions)
                continue;
            tell(w, (struct fact){ .kind = FACT_USAGE,
                                   .usage = { .project = sym_of(SYM_PROJECT, p),
                                              .tokens = bucket->reported,
                                              .starts = bucket->starts,
                                              .completions = bucket->completions,
                                              .at = n * width } });
        }
    }
}

static void tell_outsiders(struct world *w, const struct books *old) {
    for (unsigned p = 1; p <= w->projects; p++) {
        if (old->project[p].external > 0)
            tell(w, (struct fact){ .kind = FACT_EXTERNAL,
                                   .external = { .project = sym_of(SYM_PROJECT, p),
                                                 .running = old->project[p].external } });
    }
    for (unsigned l = 1; l <= w->limiters; l++) {
        if (old->outside[KEY_LIMITER + l] > 0)
            tell(w, (struct fact){
                        .kind = FACT_EXTERNAL,
                        .external = { .limiter = sym_of(SYM_LIMITER, l),
                                      .running = (uint32_t)old->outside[KEY_LIMITER + l] } });
    }
}

static void tell_world(struct world *w, struct books *old) {
    tell(w, (struct fact){ .kind = FACT_POLICY, .policy = &old->policy });
    tell(w, (struct fact){ .kind = FACT_CLOCK, .now = w->now });
    for (unsigned p = 1; p <= w->projects; p++)
        tell(w, (struct fact){ .kind = FACT_PROJECT, .project = old->project[p].spec });
    tell_limiters_and_agents(w, old);
    tell_caps(w, old);
    tell_usage(w, old);
    tell_outsiders(w, old);
    if (old->paused)
        tell(w, (struct fact){ .kind = FACT_PAUSE });
}

/* --- the tasks ------------------------------------------------------------------------------- */

static bool older_than_parent(const struct books *b, const struct row *row) {
    const struct row *parent = &b->rows[row->parent]; /* it may be told after its child */
    return row->parent && row->parent_gate == PARENT_DONE
           && row->parent_iteration < parent->iteration;
}

static void tell_row(struct world *w, const struct row *row, time_ms waited) {
    sym resources[RESOURCES];
    size_t resource_count = 0;
    for (unsigned r = 1; r <= RESOURCES; r++) {
        if (row->resources & (1u << r))
            resources[resource_count++] = sym_of(SYM_RESOURCE, r);
    }
    struct task_spec spec = {
        .id = row->id,
        .project = sym_of(SYM_PROJECT, row->project),
        .kind = sym_of(SYM_KIND, row->kind),
        .agent = sym_of(SYM_AGENT, row->agent),
        .limiter = sym_of(SYM_LIMITER, row->limiter),
        .workspace = sym_of(SYM_WORKSPACE, row->workspace),
        .serial = sym_of(SYM_PHASE, row->phase_name),
        .priority = row->priority,
        .parent = row->parent,
        .parent_iteration = row->parent_iteration,
        .depends_on = row->depends_on,
        .depends_on_count = row->dependency_count,
        .resources = resources,
        .resource_count = resource_count,
        .created_at = row->created_at,
        .ready_since = w->now - waited,
        .not_before = row->state == TASK_HELD ? row->not_before : 0,
        .started_at = task_state_is_live(row->state) ? row->started_at : 0,
        .iteration = row->iteration,
        .attempt = row->attempt,
        .state = row->state,
        .hold = row->hold,
        .phase = row->phase,
        .until = row->until,
        .parent_gate = row->parent_gate,
        .parallelizable = row->parallelizable,
        .review = row->review,
        .artifact_missing = row->artifact_missing,
        .keeps = row->kept & KEPT_TASK,
        .retry_max = row->retry_max,
        .failures = row->failures,
        .launch_failures = row->launch_failures,
        .losses = row->losses,
        .restarts = row->restarts,
        .group = row->group,
    };
    struct fact added = { .kind = FACT_TASK_ADDED, .spec = &spec };
    if (world_tell_core(w, &added) != 0)
        breach_set(&w->breach, "I23", "a stored task was refused after a restart");
}

/* What of a row is not the same after a restart. */
static void adapt_row(struct books *b, struct row *row) {
    row->openings = 0;
    row->asked = 0;
    row->end = (struct expected_end){ 0 };
    if (row->parent && b->rows[row->parent].was_done)
        row->parent_gate = PARENT_NONE; /* the store knows that this parent was done */
    bool spared =
        row->of_older_iteration || (task_state_is_final(row->state) && row->state != TASK_DONE);
    if (spared && row->parent && row->parent_iteration < b->rows[row->parent].iteration) {
        /* an older child that was spared, and may be taken up again, is told as a new one */
        row->parent_iteration = b->rows[row->parent].iteration;
        row->of_older_iteration = false;
    }
    if ((row->kept & KEPT_TASK) && !task_state_is_final(row->state))
        row->kept =
            books_kept_needed(b, row); /* also the place for review that a reject gave back */
    if (!task_state_is_live(row->state))
        return;
    if (row->phase == PHASE_STOPPING) { /* it was canceled: no other wish is written down */
        row->wish = older_than_parent(b, row) ? WISH_INVALIDATE : WISH_CANCEL;
        row->limiter_given = false;
    }
    row->agent = row->run_agent; /* with a roster: it stays with the one that had it */
    row->run_limiter = (uint8_t)books_limiter_of(b, row);
    row->reported = -1;
    if (row->phase == PHASE_DRAINING)
        row->not_before = time_add(b->now, b->policy.drain);
}

/* Puts the row into the books as the core will find it when it is added in its turn. */
static void restore_row(struct world *w, struct row *row, enum task_state state, time_ms waited) {
    struct books *b = &w->books;
    row->state = state;
    adapt_row(b, row);
    tell_row(w, row, waited);
    if (row->workspace)
        b->told[KEY_WORKSPACE + row->workspace] = true;
    row->state = TASK_ABSENT;
    if (state == TASK_WAITING || state == TASK_READY)
        state = books_prerequisites(b, row) && !books_launches_spent(b, row) ? TASK_READY
                                                                             : TASK_WAITING;
    b->by_state[TASK_ABSENT]++;
    books_set_state(b, row, state);
    if (state == TASK_READY)
        row->ready_clock -= waited;
    books_take_places(b, row);
    if (!task_state_is_live(state))
        return;
    if (row->phase == PHASE_DRAINING)
        share_record(b, row->project, b->now, &(struct bucket){ .starts = 1 });
    else
        share_start(b, row);
}

static void restore_rows(struct world *w, struct books *old) {
    struct books *b = &w->books;
    enum task_state *states = xcalloc(old->count, sizeof(*states));
    time_ms *waited = xcalloc(old->count, sizeof(*waited));
    for (size_t i = 1; i < old->count; i++) {
        struct row *row = &old->rows[i];
        states[i] = row->state;
        waited[i] = row->state == TASK_READY ? books_waited(old, row) : 0;
        row->state = TASK_ABSENT;
    }
    b->rows = old->rows;
    b->count = old->count;
    b->capacity = old->capacity;
    b->touched = old->touched;
    b->touched_capacity = old->touched_capacity;
    b->searches = old->searches;
    for (size_t i = 1; i < b->count; i++) {
        if (states[i] != TASK_ABSENT)
            restore_row(w, &b->rows[i], states[i], waited[i]);
    }
    free(states);
    free(waited);
}

/* --- the crash ------------------------------------------------------------------------------- */

static void lose_some_runs(struct world *w) {
    for (size_t i = 1; i < w->process_count; i++) {
        if (w->processes[i].alive && (w->processes[i].refused || world_chance(w, 25)))
            w->processes[i].lost = true;
    }
}

void crash_and_restart(struct world *w, bool before_commit) {
    if (before_commit) { /* the orders are given, and nobody ever reads them */
        size_t count;
        const struct order *orders = core_decide(w->core, &count);
        recorder_decision(&w->recorder, orders, count, core_symbols(w->core));
    } else {
        world_decide(w);
    }
    if (w->breach.found)
        return;
    if (w->recorder.on)
        recorder_replay(&w->recorder, &w->breach);
    recorder_clear(&w->recorder);
    lose_some_runs(w);
    world_trace(w, "crash%s", before_commit ? " before the commit" : "");

    core_free(w->core);
    w->core = core_new();
    names_intern(core_symbols(w->core));
    struct books *old = xmalloc(sizeof(*old));
    *old = w->books;
    books_init(&w->books, &w->breach, old->audit);
    memcpy(w->books.group, old->group, sizeof(old->group));
    for (unsigned g = 0; g <= GROUPS; g++)
        w->books.group[g].open = w->books.group[g].total = 0;
    w->books.quiet = false;
    tell_world(w, old);
    restore_rows(w, old);
    for (unsigned p = 0; p <= PROJECTS; p++)
        free(old->project[p].charged);
    free(old);

    world_decide(w);
    w->books.quiet = true;
    for (size_t i = 1; i < w->process_count && !w->breach.found; i++) {
        if (w->processes[i].lost)
            process_adopt(w, i, w->processes[i].attempt);
    }
}
