/* claim.c: the backup does not know this run. Whose is it?
 *
 * After a restore, tasks are as they were and their run folders are not. An attempt that the rows do not
 * have was started by a daemon that knew more than they do: were its task left in the queue, the same
 * work would be done twice, perhaps beside itself. So the newest such attempt becomes the run of its
 * task, as if its start had just been committed, and everything after that is the usual way: it is
 * watched if it lives, its end is recorded if it has one, else it is lost. Attempts before it are put on
 * record only. How often the task has failed is what the rows say. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/executors_internal.h"
#include "engine/recover_internal.h"

static char *folder_of(const struct engine *e, task_id task, uint32_t attempt) {
    struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, task, id), attempt);
    return strbuf_take(&folder);
}

void claim_note(struct engine *e, task_id task, uint32_t attempt) {
    _cleanup_(freep) char *folder = folder_of(e, task, attempt);
    struct claim *claim = LIST_ADD(&recovery_of(e)->claims);
    *claim = (struct claim){ .task = task, .attempt = attempt };
    claim->executor = executors_of(e)->sweeping;
    /* Rows that do not know a run do not have its key. */
    (void)rundir_read_started(e->runs_folder, folder, NULL, &claim->who, NULL); /* else none */
    struct run_key key = { .task = task, .attempt = attempt };
    struct executor_known known = { .boot_id = claim->who.boot_id };
    claim->what = executors_adopt(e, claim->executor, key, folder, &known);
}

/* The last one of a task is its run: who lives, else who came last. */
static int by_task(const void *a, const void *b) {
    const struct claim *x = a, *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    bool x_lives = x->what == ADOPTED_ALIVE, y_lives = y->what == ADOPTED_ALIVE;
    if (x_lives != y_lives)
        return x_lives ? 1 : -1;
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

void claims_settle(struct engine *e) {
    if (recovery_of(e)->claims.count > 1)
        qsort(recovery_of(e)->claims.items, recovery_of(e)->claims.count,
              sizeof(*recovery_of(e)->claims.items), by_task);
}

static struct claim *find_last(const struct engine *e, task_id task) {
    size_t low = 0, high = recovery_of(e)->claims.count; /* the first that is behind this task */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recovery_of(e)->claims.items[middle].task > task)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && recovery_of(e)->claims.items[low - 1].task == task
               ? &recovery_of(e)->claims.items[low - 1]
               : NULL;
}

void claim_task(struct engine *e, struct task_spec *spec) {
    struct claim *claim = find_last(e, spec->id);
    if (!claim)
        return;
    claim->counts = claim->attempt > spec->attempt && !task_state_is_final(spec->state);
    if (!claim->counts)
        return;
    claim->state_before = spec->state;
    claim->attempt_before = spec->attempt;
    spec->attempt = claim->attempt;
    spec->state = TASK_STARTING;
    spec->reason = REASON_FIRST_IN_ORDER;
    spec->hold = HOLD_NONE;
    spec->phase = PHASE_WORKING;
    spec->stop = STOP_NONE;
    spec->started_at = claim->who.at;
    spec->not_before = spec->ready_since = spec->ready_clock = 0;
    spec->run_agent = spec->run_limiter = 0; /* nobody knows: those of its task */
    spec->run_unlimited = false;
    spec->lender = 0;
    spec->borrowed = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The rows do not know its token; its folder does, with the rest of its environment. */
static void take_token(const struct engine *e, struct live_run *run) {
    static const char name[] = "SLUICE_TOKEN=";
    struct run_spec_read *spec = NULL;
    if (run_read_spec(e, run, &spec, NULL) < 0)
        return;
    for (const char *const *env = spec->spec.env; env && *env; env++)
        if (strncmp(*env, name, strlen(name)) == 0)
            run_token_adopt(&run->token, *env + strlen(name));
    run_spec_read_free(&spec);
}

/* With no more than its folder says. */
static struct live_run *add_run(struct engine *e, const struct claim *claim) {
    struct task_spec told;
    struct live_run *run = run_add(e, claim->task, claim->attempt);
    run->view.folder = folder_of(e, claim->task, claim->attempt);
    run->view.ordered_at = claim->who.at ? claim->who.at : e->now;
    run->executor = claim->executor;
    run->boot_id = xstrdup(claim->who.boot_id);
    take_token(e, run);
    if (core_task_spec(e->core, claim->task, &told)) {
        run->iteration = told.iteration;
        run->agent =
            told.run_agent ? xstrdup(symbol_name(core_symbols(e->core), told.run_agent)) : NULL;
    }
    return run;
}

/* It is over, since another has followed. */
static void record_end(struct engine *e, struct live_run *run) {
    struct run_end end = { 0 };
    if (rundir_read_end(e->runs_folder, run->view.folder, run_proof_key(&run->proof), &end, NULL)
        < 0)
        end = (struct run_end){ .kind = RUN_END_LOST, .code = -1 };
    if (run->view.started_at == 0)
        run->view.started_at = end.started_at;
    finish_record_end(e, run, &end);
    run_remove(e, run->task);
}

static void write_found(struct engine *e, const struct claim *claim) {
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_bool(&w, "alive", claim->what == ADOPTED_ALIVE);
    json_write_object_end(&w);
    engine_event(e, "run.found", claim->task, claim->attempt, strbuf_text(&data));
    strbuf_finish(&data);
    struct order order = { .kind = ORDER_CHANGE,
                           .task = claim->task,
                           .attempt = claim->attempt,
                           .from = claim->state_before,
                           .to = TASK_STARTING,
                           .reason = REASON_FIRST_IN_ORDER };
    turn_write_state(e, &order);
}

static void write_claim(struct engine *e, const struct claim *claim) {
    struct live_run *run = run_find(e, claim->task);
    if (run) /* the rows call an earlier one live */
        record_end(e, run);
    for (const struct claim *other = claim;
         other-- > recovery_of(e)->claims.items && other->task == claim->task;)
        if (other->what != ADOPTED_ALIVE && other->attempt > claim->attempt_before
            && other->attempt < claim->attempt)
            record_end(e, add_run(e, other));
    run = add_run(e, claim);
    launch_set_deadline(e, run);
    write_found(e, claim);
    rows_write_run(e, run);
    rows_write_task(e, claim->task);
}

void claims_write(struct engine *e) {
    for (size_t i = 0; i < recovery_of(e)->claims.count; i++)
        if (recovery_of(e)->claims.items[i].counts)
            write_claim(e, &recovery_of(e)->claims.items[i]);
}
