/* recover.c: the daemon was away; what became of the runs?
 *
 * For every run that the rows call live, its folder decides: somebody holds the lock → it goes on and
 * is watched; its end is recorded → that is what happened; neither → lost. A live task without a run
 * row cannot be (both are in one commit), but if it is, it is lost too: nothing stays live by mistake.
 * Folders that no row knows are a restored backup or a damaged store: what lives there keeps its place
 * as external until it ends, what is dead is removed. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/engine_internal.h"
#include "os/clock.h"

/* Live tasks must have a run. Draining ones have none any more. */
static void find_runless(void *ctx, task_id task) {
    struct engine *e = ctx;
    struct task_view view;
    if (!core_task(e->core, task, &view) || view.phase == PHASE_DRAINING || run_find(e, task))
        return;
    struct live_run *run = run_add(e, task, view.attempt);
    struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, task, id), view.attempt);
    run->view.folder = strbuf_take(&folder);
    run->view.ordered_at = e->now;
    run->iteration = view.iteration;
    run->boot_id = xstrdup("");
}

/* The stop was ordered and may never have been sent: the daemon could die between the two. A second
 * one does no harm. */
static void stop_again(struct engine *e, const struct live_run *run, struct run_key key) {
    struct task_spec told;
    if (core_task_spec(e->core, run->task, &told) && told.stop != STOP_NONE)
        (void)executor_stop(e->executor, key, STOP_POLITELY);
}

static void adopt_all(struct engine *e) {
    core_each_run(e->core, find_runless, e);
    for (size_t i = 0; i < e->live.count; i++) {
        struct live_run *run = run_live_at(e, i);
        struct run_key key = { .task = run->task, .attempt = run->view.attempt };
        switch (executor_adopt(e->executor, key, run->view.folder, run->boot_id)) {
        case ADOPTED_ALIVE:
            e->report.adopted++;
            stop_again(e, run, key);
            break;
        case ADOPTED_ENDED:
            e->report.ended++;
            break;
        case ADOPTED_LOST:
        case ADOPTED_MAX:
            e->report.lost++;
            break;
        }
    }
}

/* --- runs that are not ours ------------------------------------------------------------------ */

/* The project whose prefix an id has; ids are "<prefix>-<number>". */
static struct project *project_of_id(struct engine *e, const char *task) {
    const char *dash = strrchr(task, '-');
    for (size_t i = 0; dash && i < e->projects.count; i++) {
        const char *prefix = engine_project_at(e, i)->prefix;
        if (strlen(prefix) == (size_t)(dash - task) && strncmp(prefix, task, strlen(prefix)) == 0)
            return &e->projects.items[i];
    }
    return NULL;
}

static bool is_known(void *ctx, const char *task, uint32_t attempt) {
    struct engine *e = ctx;
    task_id id = engine_find_task(e, task, NULL);
    struct task_view view;
    return id != 0 && core_task(e->core, id, &view) && attempt <= view.attempt;
}

/* They are counted by their ids, which outlive a core and its projects. */
void recover_tell_externals(struct engine *e) {
    assert(e->projects.items || e->projects.count == 0);
    for (size_t i = 0; i < e->projects.count; i++) {
        struct project *project = &e->projects.items[i];
        uint32_t count = 0;
        for (size_t k = 0; k < e->externals.count; k++)
            count += project_of_id(e, e->externals.items[k]) == project;
        if (count == project->view.external)
            continue;
        project->view.external = count;
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.project = project->view.symbol;
        fact.external.running = count;
        (void)core_apply(e->core, &fact, NULL);
    }
}

static void found_external(void *ctx, const char *task, uint32_t attempt,
                           const struct run_started *who) {
    struct engine *e = ctx;
    (void)attempt;
    (void)who;
    e->report.external++;
    *LIST_ADD(&e->externals) = xstrdup(task);
}

static void external_ended(void *ctx, const char *task, uint32_t attempt) {
    struct engine *e = ctx;
    (void)attempt;
    for (size_t i = 0; i < e->externals.count; i++) {
        if (strcmp(e->externals.items[i], task) != 0)
            continue;
        free(e->externals.items[i]);
        e->externals.items[i] = e->externals.items[--e->externals.count];
        break;
    }
    recover_tell_externals(e);
    e->start_pending = true; /* there is a place more */
    turn_wake(e);
}

/* --- the start ------------------------------------------------------------------------------- */

void recover_write_report(struct engine *e) {
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        { "tasks", e->report.tasks },     { "unfinished", e->report.unfinished },
        { "adopted", e->report.adopted }, { "ended", e->report.ended },
        { "lost", e->report.lost },       { "external", e->report.external },
        { "swept", e->report.swept },
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_write_key(&w, members[i].name);
        json_write_int(&w, (int64_t)members[i].value);
    }
    json_write_object_end(&w);
    engine_event(e, "daemon.started", 0, 0, strbuf_text(&data));
    strbuf_finish(&data);
}

static int make_marker_folder(const struct engine *e, struct error *err) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/done", e->home);
    int r = mkdir(strbuf_text(&path), 0700) == 0 || errno == EEXIST
                ? 0
                : error_set(err, -errno, "%s: %s", strbuf_text(&path), strerror(errno));
    strbuf_finish(&path);
    return r;
}

int engine_start(struct engine *e, struct engine_report *ret_report, struct error *err) {
    time_ms began = loop_now_steady(e->loop);
    int r = make_marker_folder(e, err);
    if (r == 0)
        r = load_core(e, err);
    if (r < 0)
        return r;
    adopt_all(e);
    struct executor_sweep sweep = {
        .known = is_known,
        .external = found_external,
        .external_ended = external_ended,
        .ctx = e,
    };
    r = executor_sweep(e->executor, &sweep, err);
    if (r < 0)
        return r;
    recover_tell_externals(e);
    e->report.swept = sweep.removed;
    e->report.took = clock_read_steady() - began;
    recover_write_report(e);
    e->started = true;
    e->start_pending = true;
    turn_wake(e);
    *ret_report = e->report;
    return 0;
}
