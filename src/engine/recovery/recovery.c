/* recovery.c: finds out after a restart what became of the runs.
 *
 * For every run of this host that is live in the rows, its folder decides: its lock is held → it
 * continues and is watched; its end is recorded → that is applied; neither → lost. A live task
 * without a run row is impossible (both are in one commit), but would be lost too: nothing stays
 * live by mistake. Folders without a row were created after a backup that was restored. Those of an
 * unfinished task are its runs. Of the others, live ones keep their slot as external until they
 * end, dead ones are removed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json_write.h"
#include "base/number.h"
#include "engine/alert.h"
#include "engine/budget/budget_internal.h"
#include "engine/note.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "os/clock.h"

/* A live run of a finished or unknown task. */
struct external {
    char *id;     /* of its task; owned */
    task_id task; /* 0: unknown */
    uint32_t attempt;
};

/* A run folder of a known, unfinished task, with an unknown attempt. */
struct claim {
    task_id task;
    uint32_t attempt;
    enum executor_kind executor;
    enum adopted what;
    struct run_started who;
    bool is_taken; /* a person works at its terminal */
    bool counts;   /* in the current core it is the run of its task; then: */
    enum task_state state_before;
    uint32_t attempt_before;
};

struct recovery {
    LIST(struct external) externals; /* live runs that are not ours */
    LIST(struct claim) claims;       /* runs that the rows do not know */
    task_id last_folder;             /* the highest task number of any run folder */
};

PART_STATE(recovery, struct recovery, recovery_of)

/* --- runs without a row ----------------------------------------------------------------------- */

/* Life: note_claim for each (the sweep at start) → load_claimed → load_core, which calls claim_task
 * and recovery_loaded. They are kept: until their rows are on disk, every rebuilt core needs them;
 * after that they have no effect. */

/* After a restore, tasks are as in the backup but their run folders are newer. An attempt without a
 * row was started by a daemon that knew more than the rows do: if its task stayed in the queue, the
 * same work would be done twice, perhaps concurrently. So the newest such attempt becomes the run
 * of its task, as if its start had just been committed. Then the usual rules apply: it is watched
 * if live, its end is recorded if it has one, else it is lost. Earlier attempts are only recorded.
 * The failure count stays as in the rows. */

static char *folder_of(const struct engine *e, task_id task, uint32_t attempt) {
    struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, task, id), attempt);
    return strbuf_take(&folder);
}

/* Adopted at once: the sweep spares what the executor watches. */
static void note_claim(struct engine *e, task_id task, uint32_t attempt) {
    _cleanup_(freep) char *folder = folder_of(e, task, attempt);
    struct claim *claim = LIST_ADD(&recovery_of(e)->claims);
    *claim = (struct claim){ .task = task, .attempt = attempt };
    claim->executor = executors_of(e)->sweeping;
    /* Rows that do not know a run do not have its key. */
    (void)rundir_read_started(e->runs_folder, folder, NULL, &claim->who, NULL); /* else unknown */
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    claim->is_taken = rundir_read_spec(e->runs_folder, folder, NULL, &read, NULL) == 0
                      && read->spec.terminal != NULL;
    struct run_key key = { .task = task, .attempt = attempt };
    struct executor_known known = { .boot_id = claim->who.boot_id };
    claim->what = executors_adopt(e, claim->executor, key, folder, &known);
}

/* The last one of a task is its run: the live one, else the newest. */
static int by_task(const void *a, const void *b) {
    const struct claim *x = a, *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    bool x_lives = x->what == ADOPTED_ALIVE, y_lives = y->what == ADOPTED_ALIVE;
    if (x_lives != y_lives)
        return x_lives ? 1 : -1;
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static struct claim *find_claim(const struct engine *e, task_id task) {
    struct recovery *r = recovery_of(e);
    size_t low = 0, high = r->claims.count; /* the first after this task */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->claims.items[middle].task > task)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && r->claims.items[low - 1].task == task ? &r->claims.items[low - 1] : NULL;
}

/* Adjusts a row before it is applied, as if it were as new as its claimed run. */
static void claim_task(struct engine *e, struct task_spec *spec) {
    struct claim *claim = find_claim(e, spec->id);
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
    spec->hold = claim->is_taken ? HOLD_TAKEN : HOLD_NONE;
    spec->phase = PHASE_WORKING;
    spec->stop = STOP_NONE;
    spec->started_at = claim->who.at;
    spec->not_before = spec->ready_since = spec->ready_clock = 0;
    spec->run_agent = spec->run_limiter = 0; /* unknown: those of its task */
    spec->run_unlimited = false;
    spec->lender = 0;
    spec->borrowed = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The rows do not have its token; its folder does, in its environment. */
static void take_token(const struct engine *e, struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (run_read_spec(e, run, &read, NULL) < 0)
        return;
    const char *token = run_spec_variable(&read->spec, "SLUICE_TOKEN");
    if (token)
        run_token_adopt(&run->token, token);
}

/* With only what its folder provides. */
static struct live_run *add_run(struct engine *e, const struct claim *claim) {
    struct task_spec spec;
    struct live_run *run = run_add(e, claim->task, claim->attempt);
    run->view.folder = folder_of(e, claim->task, claim->attempt);
    run->view.ordered_at = claim->who.at ? claim->who.at : e->now;
    run->executor = claim->executor;
    run->boot_id = xstrdup(claim->who.boot_id);
    take_token(e, run);
    if (core_task_spec(e->core, claim->task, &spec)) {
        run->iteration = spec.iteration;
        run->agent = spec.run_agent ? xstrdup(name_of(e, spec.run_agent)) : NULL;
    }
    return run;
}

/* It has ended, since another has followed. */
static void record_end(struct engine *e, struct live_run *run) {
    struct run_end end = { 0 };
    if (rundir_read_end(e->runs_folder, run->view.folder, run_proof_key(&run->proof), &end, NULL)
        < 0)
        end = (struct run_end){ .kind = RUN_END_LOST, .code = -1 };
    if (run->view.started_at == 0)
        run->view.started_at = end.started_at;
    run_end_record(e, run, &end);
    run_remove(e, run->task);
}

static void write_found(struct engine *e, const struct claim *claim) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_bool(w, "alive", claim->what == ADOPTED_ALIVE);
    event_end(e, &data, "run.found", claim->task, claim->attempt);
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
    if (run) /* the rows have an earlier live one */
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

/* --- the start -------------------------------------------------------------------------------- */

/* Live tasks must have a run, except draining ones. */
static void add_missing_run(void *ctx, task_id task) {
    struct engine *e = ctx;
    struct task_view view;
    if (!core_task(e->core, task, &view) || view.phase == PHASE_DRAINING || run_find(e, task))
        return;
    struct live_run *run = run_add(e, task, view.attempt);
    run->view.folder = folder_of(e, task, view.attempt);
    run->view.ordered_at = e->now;
    run->iteration = view.iteration;
    run->boot_id = xstrdup("");
    run->executor = engine_executor_kind(e, task);
}

/* The stop was ordered but perhaps not sent before the daemon died. A second one is harmless. */
static void stop_again(struct engine *e, const struct live_run *run) {
    struct task_spec spec;
    bool wished = core_task_spec(e->core, run->task, &spec) && spec.stop != STOP_NONE;
    if (wished || budget_is_stopping(e, run))
        (void)executors_stop(e, run_key_of(run),
                             run->stop_now ? STOP_IMMEDIATELY : STOP_GRACEFULLY);
}

static void count_adopted(struct engine *e, enum adopted what) {
    e->report.adopted += what == ADOPTED_ALIVE;
    e->report.ended += what == ADOPTED_ENDED;
    e->report.lost += what == ADOPTED_LOST;
}

static void adopt_all(struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++) {
        struct live_run *run = run_live_at(e, i);
        if (run->is_unreachable)
            continue;
        struct executor_known known = { .boot_id = run->boot_id,
                                        .key = run_proof_key(&run->proof),
                                        .shim = run->proof.shim };
        enum adopted what =
            executors_adopt(e, run->executor, run_key_of(run), run->view.folder, &known);
        count_adopted(e, what);
        run->is_alive = what == ADOPTED_ALIVE;
        if (run->is_alive)
            stop_again(e, run);
    }
}

/* --- runs that are not ours ------------------------------------------------------------------ */

struct external_count {
    uint32_t running, roots;
};

static void apply_external(struct engine *e, sym project, struct external_count count) {
    struct fact fact = { .kind = FACT_EXTERNAL };
    fact.external.project = project; /* 0: unknown */
    fact.external.running = count.running;
    fact.external.roots = count.roots;
    (void)core_apply(e->core, &fact, NULL);
}

/* Counted by id, because ids outlive a core and its projects. */
static void apply_externals(struct engine *e) {
    struct recovery *r = recovery_of(e);
    struct task_view view;
    struct external_count *counts = xcalloc(engine_project_count(e) + 1, sizeof(*counts));
    for (size_t i = 0; i < r->externals.count; i++) {
        const struct engine_project *project = project_of_id(e, r->externals.items[i].id);
        struct external_count *count =
            &counts[project ? (size_t)(project - project_at(e, 0)) : engine_project_count(e)];
        count->running++;
        /* A run folder does not name the parent: unknown tasks count as roots. */
        count->roots += !core_task(e->core, r->externals.items[i].task, &view) || view.parent == 0;
    }
    for (size_t i = 0; i < engine_project_count(e); i++) {
        struct engine_project *project = project_at(e, i);
        if (counts[i].running == project->external)
            continue;
        project->external = counts[i].running;
        apply_external(e, project->symbol, counts[i]);
    }
    apply_external(e, 0, counts[engine_project_count(e)]);
    free(counts);
}

const char *engine_external_at(const struct engine *e, size_t index) {
    return index < recovery_of(e)->externals.count ? recovery_of(e)->externals.items[index].id
                                                   : NULL;
}

uint32_t engine_external_attempt(const struct engine *e, task_id task) {
    struct recovery *r = recovery_of(e);
    uint32_t attempt = 0;
    for (size_t i = 0; i < r->externals.count; i++)
        if (r->externals.items[i].task == task && r->externals.items[i].attempt > attempt)
            attempt = r->externals.items[i].attempt;
    return attempt;
}

static void external_found(void *ctx, const char *task, uint32_t attempt,
                           const struct run_started *who) {
    struct engine *e = ctx;
    (void)who;
    e->report.external++;
    *LIST_ADD(&recovery_of(e)->externals) = (struct external){
        .id = xstrdup(task), .task = engine_task_of_id(e, task, NULL), .attempt = attempt
    };
}

static void external_ended(void *ctx, const char *task, uint32_t attempt) {
    struct engine *e = ctx;
    for (size_t i = 0; i < recovery_of(e)->externals.count; i++) {
        struct external *external = &recovery_of(e)->externals.items[i];
        if (external->attempt != attempt || strcmp(external->id, task) != 0)
            continue;
        free(external->id);
        *external = recovery_of(e)->externals.items[--recovery_of(e)->externals.count];
        break;
    }
    apply_externals(e);
    e->start_pending = true; /* a slot is free */
    turn_wake(e);
}

/* --- folders --------------------------------------------------------------------------------- */

#define NUMBER_MAX ((int64_t)1 << 40) /* larger numbers were not made by a daemon */

/* Task numbers are never reused, even if the rows have forgotten the task. */
static void note_folder_number(struct engine *e, const char *task) {
    const char *dash = strrchr(task, '-');
    int64_t number = 0;
    if (dash && number_parse_int(dash + 1, &number, NULL) == 0 && number < NUMBER_MAX
        && number > (int64_t)recovery_of(e)->last_folder)
        recovery_of(e)->last_folder = (task_id)number;
}

/* Never assigns a number that a run folder has. */
static void raise_numbers(struct engine *e) {
    if (recovery_of(e)->last_folder <= e->last_task)
        return;
    e->last_task = recovery_of(e)->last_folder;
    store_assign_numbers(e->turn.batch, e->last_task);
}

/* Whether the rows know a run folder. A newer attempt is the run of its task, unless that is
 * finished or has a live run: then it is not ours. */
static bool is_known(void *ctx, const char *task, uint32_t attempt) {
    struct engine *e = ctx;
    struct task_view view;
    note_folder_number(e, task);
    task_id id = engine_task_of_id(e, task, NULL);
    if (id == 0 || !core_task(e->core, id, &view))
        return false;
    if (attempt <= view.attempt)
        return true;
    if (engine_executor_kind(e, id) != executors_of(e)->sweeping)
        return true; /* the executor that has it is asked, too */
    const struct live_run *run = run_find(e, id);
    if (task_state_is_final(view.state) || (run && (run->is_alive || run->is_unreachable)))
        return false;
    note_claim(e, id, attempt);
    return true;
}

/* Rebuilds the core with what was found. */
static int load_claimed(struct engine *e, struct error *err) {
    struct recovery *recovery = recovery_of(e);
    if (recovery->claims.count > 1)
        qsort(recovery->claims.items, recovery->claims.count, sizeof(*recovery->claims.items),
              by_task);
    store_batch_clear(e->turn.batch); /* everything in it comes from loading */
    int r = load_core(e, err);
    for (size_t i = 0; r == 0 && i < recovery->claims.count; i++) {
        const struct claim *claim = &recovery->claims.items[i];
        if (!claim->counts)
            continue;
        e->report.found++;
        count_adopted(e, claim->what);
    }
    return r;
}

static bool some_external_is_known(const struct engine *e) {
    for (size_t i = 0; i < recovery_of(e)->externals.count; i++)
        if (recovery_of(e)->externals.items[i].task)
            return true;
    return false;
}

static int examine_folders(struct engine *e, struct error *err) {
    struct executor_sweep sweep = {
        .known = is_known,
        .external = external_found,
        .external_ended = external_ended,
        .ctx = e,
    };
    int r = executors_sweep(e, &sweep, err);
    e->report.swept = sweep.removed;
    if (r == 0 && (recovery_of(e)->claims.count > 0 || some_external_is_known(e)))
        r = load_claimed(e, err);
    raise_numbers(e);
    apply_externals(e);
    return r;
}

/* --- the start ------------------------------------------------------------------------------- */

/* The event of the start, with what it found. */
static void write_report(struct engine *e) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        { "tasks", e->report.tasks },      { "unfinished", e->report.unfinished },
        { "adopted", e->report.adopted },  { "ended", e->report.ended },
        { "lost", e->report.lost },        { "external", e->report.external },
        { "found", e->report.found },      { "swept", e->report.swept },
        { "away", e->report.unreachable }, { "killed", e->report.killed },
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put_int(w, members[i].name, (int64_t)members[i].value);
    event_end(e, &data, "daemon.started", 0, 0);
}

static int make_marker_folder(const struct engine *e, struct error *err) {
    _cleanup_(freep) char *path = xasprintf("%s/done", e->data);
    return mkdir(path, 0700) == 0 || errno == EEXIST
               ? 0
               : error_set(err, -errno, "%s: %s", path, strerror(errno));
}

int engine_start(struct engine *e, struct engine_report *ret_report, struct error *err) {
    time_ms began = loop_now_steady(e->loop);
    int r = make_marker_folder(e, err);
    if (r == 0)
        r = load_core(e, err);
    if (r == 0)
        r = parts_try(e, TRY_START, err);
    if (r < 0)
        return r;
    adopt_all(e);
    r = examine_folders(e, err);
    if (r < 0)
        return r;
    parts_step(e, STEP_START);
    e->report.took = clock_read_steady() - began;
    write_report(e);
    e->started = true;
    e->start_pending = true;
    turn_wake(e);
    *ret_report = e->report;
    return 0;
}

static void recovery_load_task(struct engine *e, struct task_spec *spec) {
    claim_task(e, spec);
    /* The next attempt of a finished task must not be that of a live run that is not ours. */
    uint32_t attempt = engine_external_attempt(e, spec->id);
    if (task_state_is_final(spec->state) && attempt > spec->attempt)
        spec->attempt = attempt;
}

/* The commit that reported the start has failed. */
static void recovery_rebuilt(struct engine *e) {
    if (e->stats.commits == 0)
        write_report(e);
}

static void recovery_loaded(struct engine *e) {
    const struct recovery *r = recovery_of(e);
    apply_externals(e);
    raise_numbers(e);
    for (size_t i = 0; i < r->claims.count; i++)
        if (r->claims.items[i].counts) /* its run is live from now on: write the missing rows */
            write_claim(e, &r->claims.items[i]);
    core_each_run(e->core, add_missing_run, e);
}

static void recovery_free(struct engine *e) {
    struct recovery *r = recovery_of(e);
    for (size_t i = 0; i < r->externals.count; i++)
        free(r->externals.items[i].id);
    free(r->externals.items);
    free(r->claims.items);
}

const struct engine_part recovery_part = {
    .state_size = sizeof(struct recovery),
    .at = { [STEP_LOADED] = recovery_loaded,
            [STEP_REBUILT] = recovery_rebuilt,
            [STEP_FREE] = recovery_free },
    .load_task = recovery_load_task,
};
