/* crash.c: the daemon dies and a new core is built from what was written down.
 *
 * The books go on: a restart must not be seen. What it does not keep (docs/internals/invariants.md, I23) is
 * forgotten here too. The core that died is kept long enough to be
 * compared with the new one, before that decides anything. */
#include <stdlib.h>

#include "books_internal.h"
#include "world.h"

static void lose_some_runs(struct world *w) {
    for (size_t i = 1; i < w->process_count; i++) {
        struct process *process = &w->processes[i];
        if (process->alive && world_chance(w, process->refused ? 50 : 25))
            process->lost = true;
    }
}

/* Who has started is not taken back from its tick by the next daemon; a pace that is not in force is not kept. */
static void forget_pace(struct books *b) {
    const struct policy *p = &b->policy;
    b->tick_requested = false;
    for (size_t i = 1; i < b->count; i++)
        b->rows[i].tick = UINT64_MAX; /* of none that is counted */
    if (p->runs != UNLIMITED && (p->pace.batch != UNLIMITED || p->pace.spawn_delay > 0))
        return;
    b->tick_running = b->ever_started = false;
    b->tick_starts = 0;
    b->tick_began = b->last_start = 0;
}

static void observe(void *ctx, const struct fact *fact) {
    struct world *w = ctx;
    recorder_fact(&w->recorder, fact);
    w->steps++;
}

/* In the place of the old one; false: it is not the same. */
static bool rebuild_core(struct world *w) {
    struct error err = { 0 };
    struct strbuf difference = STRBUF_INIT;
    struct core *old = w->core;
    struct core *core = disk_rebuild(&w->disk, old, observe, w, &err);
    if (!core) {
        breach_set(&w->breach, "I23", "a row was refused after a restart: %s", err.text);
        return false;
    }
    if (w->options.checks && !core_compare(old, core, false, &difference))
        breach_set(&w->breach, "I23", "a restart changed %s", strbuf_text(&difference));
    strbuf_finish(&difference);
    w->core = core;
    core_watch(core);
    core_free(old);
    return !w->breach.found;
}

void crash_and_restart(struct world *w, bool before_commit) {
    if (!before_commit)
        world_decide(w);
    if (w->breach.found)
        return;
    if (before_commit) { /* the orders are given, and never read */
        size_t count;
        struct core *doomed = core_copy(w->core);
        const struct order *orders = core_decide(doomed, &count);
        recorder_decision(&w->recorder, orders, count, core_symbols(doomed));
        core_free(doomed);
    }
    if (w->recorder.on)
        recorder_replay(&w->recorder, &w->breach);
    recorder_clear(&w->recorder);
    lose_some_runs(w);
    world_trace(w, "crash%s", before_commit ? " before the commit" : "");
    if (!rebuild_core(w))
        return;
    forget_pace(&w->books);
    world_decide(w);
    for (size_t i = 1; i < w->process_count && !w->breach.found; i++) {
        if (w->processes[i].lost)
            process_adopt(w, i, w->processes[i].attempt);
    }
}
