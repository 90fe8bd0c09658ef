/* workspace.c: who works where, before the launch and after the end. See workspace.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/job.h"
#include "engine/workspace_internal.h"
#include "engine/worktrees.h"
#include "os/files.h"
#include "os/log.h"

#define LOOK_IF_OLD    MINUTES(10)
#define LOOK_WHILE_LOW MINUTES(10) /* somebody may have merged, or committed */

static void workspace_place_finish(struct workspace_place *place) {
    fd_closep(&place->claim);
    free(place->path);
    free(place->prefix);
    free(place->branch);
    free(place->base);
}

/* Ends what is being done; it is begun again */
static void workspaces_free(struct engine *e) {
    struct workspaces *all = workspaces_of(e);
    for (const struct job *job = all->jobs; job; job = job->next)
        if (job->aside)
            aside_stop(job->aside); /* all at once: each is waited for below */
    while (all->jobs) {
        struct job *job = all->jobs;
        all->jobs = job->next;
        job_free(job);
    }
    for (size_t i = 0; i < all->places.count; i++)
        workspace_place_finish(&all->places.items[i]);
    for (size_t i = 0; i < all->habits.count; i++)
        free(all->habits.items[i].path);
    for (size_t i = 0; i < all->leftovers.count; i++) {
        free(all->leftovers.items[i].path);
        free(all->leftovers.items[i].why);
    }
    free(all->places.items);
    free(all->habits.items);
    free(all->leftovers.items);
}

/* A new core: which paths of a pool are taken by tasks that have not wished for them. */
static bool workspaces_are_preparing(const struct engine *e) {
    for (const struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == JOB_MAKE)
            return true;
    return false;
}

/* --- places ----------------------------------------------------------------------------------- */

struct workspace_place *workspace_find(const struct engine *e, task_id task) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (workspaces_of(e)->places.items[i].task == task)
            return &workspaces_of(e)->places.items[i];
    return NULL;
}

struct workspace_place *workspace_take(struct engine *e, struct run_key key, const char *path) {
    workspace_release(e, key.task);
    struct workspace_place *place = LIST_ADD(&workspaces_of(e)->places);
    *place = (struct workspace_place){
        .task = key.task, .attempt = key.attempt, .path = xstrdup(path), .claim = -1
    };
    return place;
}

void workspace_tell_lock(struct engine *e, const char *path, task_id task) {
    struct fact fact = { .kind = FACT_WORKSPACE };
    fact.workspace.id = symbol_intern(core_symbols(e->core), path, strlen(path));
    fact.workspace.locked_by = task;
    (void)core_apply(e->core, &fact, NULL);
}

void workspace_release(struct engine *e, task_id task) {
    struct workspace_place *place = workspace_find(e, task);
    if (!place)
        return;
    if (place->is_told)
        workspace_tell_lock(e, place->path, 0);
    workspace_unclaim(place->path, place->claim);
    place->claim = -1;
    workspace_place_finish(place);
    *place = workspaces_of(e)->places.items[--workspaces_of(e)->places.count];
}

static void workspaces_tell(struct engine *e) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (workspaces_of(e)->places.items[i].is_told)
            workspace_tell_lock(e, workspaces_of(e)->places.items[i].path,
                                workspaces_of(e)->places.items[i].task);
}

const struct project *workspace_project(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) ? project_of_symbol(e, view.project) : NULL;
}

/* Where a run works, from the file that its shim was given. The key of one that has ended is gone. */
char *workspace_of_run(const struct engine *e, const char *id, uint32_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    const struct live_run *run = run_find(e, engine_task_of_id(e, id, NULL));
    bool is_live = run && run->view.attempt == attempt;
    rundir_name(&folder, id, attempt);
    if (attempt == 0
        || rundir_read_spec(e->runs_folder, strbuf_text(&folder),
                            is_live ? run_proof_key(&run->proof) : NULL, &read, NULL)
               < 0)
        return NULL;
    return xstrdup(read->spec.cwd);
}

/* --- worktrees -------------------------------------------------------------------------------- */

static void made(struct job *job) {
    struct engine *e = job->e;
    struct live_run *run = run_find(e, job->key.task);
    if (!run || run->view.attempt != job->key.attempt)
        return;
    if (job->err.code < 0) {
        run->launch_cause = LAUNCH_WORKSPACE;
        finish_note_end(e, run, RUN_END_LAUNCH, &job->err);
        return;
    }
    struct workspace_place *place = workspace_take(e, job->key, job->path);
    place->prefix = xstrdup(job->record.prefix);
    place->branch = xstrdup(job->branch);
    place->base = xstrdup(job->record.base);
    place->is_new = !job->record.prepared;
    launch_set_deadline(e, run);
    launch_later(e, run->task);
    turn_wake(e);
}

static const char *member(const json_t *spec, const char *name) {
    return json_string_value(json_object_get(spec, name));
}

static const char *merge_of(const struct engine *e, const struct project *project,
                            const json_t *spec) {
    const char *merge = member(spec, "merge");
    if (json_is_true(json_object_get(spec, "no_merge")))
        return "none";
    return merge ? merge : engine_project_merge(e->config, project->view.name);
}

/* The owner has said nothing about it, so what goes wrong with it is reported and fails nothing. */
static bool merge_is_implied(const struct engine *e, const struct project *project,
                             const json_t *spec) {
    return !member(spec, "merge") && !json_is_true(json_object_get(spec, "no_merge"))
           && !config_is_set(e->config, "projects.P.merge", project->view.name);
}

static int prepare_worktree(struct engine *e, const struct live_run *run, const json_t *spec,
                            const char *title, struct error *err) {
    const struct project *project = workspace_project(e, run->task);
    const char *base = member(spec, "base_branch");
    if (!base)
        base = config_text(e->config, "projects.P.base_branch", project->view.name);
    if (*base && !git_branch_is_valid(base))
        return error_set(err, -EINVAL, "'%s' is no name of a branch", base);
    if (!project->view.path)
        return error_set(err, -EINVAL,
                         "project '%s' makes worktrees but has no repository: set projects.%s.path",
                         project->view.name, project->view.name);
    char id[ENGINE_ID_MAX];
    struct job *job = job_new(e, JOB_MAKE, engine_task_id(e, run->task, id));
    job->key = (struct run_key){ .task = run->task, .attempt = run->view.attempt };
    job->begin = worktree_make_begin;
    job->doing = "waits until others have their worktrees";
    job->done = made;
    job->record = (struct worktree_record){
        .repository = xstrdup(project->view.path),
        .base = xstrdup(base),
        .prefix = xstrdup(""),
        .merge = xstrdup(merge_of(e, project, spec)),
        .implied = merge_is_implied(e, project, spec),
        .title = xstrndup(title ? title : id, strcspn(title ? title : id, "\n")),
        .git_dir = xstrdup(""),
        .common_dir = xstrdup(""),
    };
    job_set_lane(job, "worktrees", project->view.path);
    job_begin(job);
    return 1;
}

/* --- before the launch ------------------------------------------------------------------------ */

bool workspace_makes_worktrees(const struct engine *e, const struct project *project) {
    return strcmp(config_text(e->config, "projects.P.workspace_mode", project->view.name),
                  "worktree")
           == 0;
}

int workspace_prepare(struct engine *e, struct live_run *run, const json_t *spec, const char *title,
                      struct error *err) {
    const struct project *project = workspace_project(e, run->task);
    const struct workspace_place *place = workspace_find(e, run->task);
    if (place && place->attempt == run->view.attempt)
        return 0;
    const char *merge = merge_of(e, project, spec);
    const char *const *words = NULL;
    if (!workspace_makes_worktrees(e, project)) {
        if (strcmp(merge, "none") != 0)
            return error_set(err, -EINVAL,
                             "merge '%s' needs a branch to merge: set "
                             "projects.%s.workspace_mode to worktree",
                             merge, project->view.name);
        if (engine_check_worktrees(e, project->view.name, err) < 0)
            return err->code;
        return pool_prepare(e, run, member(spec, "workspace"), err);
    }
    if (strcmp(merge, "mr") == 0
        && config_words(e->config, "projects.P.mr_command", project->view.name, &words) == 0)
        return error_set(err, -EINVAL, "merge 'mr' needs projects.%s.mr_command",
                         project->view.name);
    if (job_find(e, JOB_MAKE, run->task) || job_find(e, JOB_MERGE, run->task))
        return 1;
    return prepare_worktree(e, run, spec, title, err);
}

bool workspace_folder(const struct engine *e, const struct live_run *run, const char *cwd,
                      struct strbuf *out) {
    const struct workspace_place *place = workspace_find(e, run->task);
    const struct project *project = workspace_project(e, run->task);
    if (!place)
        return false;
    _cleanup_(strbuf_finish) struct strbuf top = STRBUF_INIT;
    strbuf_puts(&top, place->path);
    if (place->prefix && *place->prefix)
        strbuf_printf(&top, "/%s", place->prefix);
    worktree_map_folder(cwd, project->view.path ? project->view.path : place->path,
                        strbuf_text(&top), out);
    while (out->length > 1 && out->text[out->length - 1] == '/')
        out->text[--out->length] = '\0';
    return true;
}

const char *workspace_path(const struct engine *e, task_id task, const char **ret_branch,
                           const char **ret_base) {
    const struct workspace_place *place = workspace_find(e, task);
    *ret_branch = place ? place->branch : NULL;
    *ret_base = place ? place->base : NULL;
    return place ? place->path : NULL;
}

/* --- after the end ---------------------------------------------------------------------------- */

static void finished(struct job *job) {
    delivery_keep(job);
    const struct finish_note note = { .outcome = job->is_forced ? &job->outcome : NULL,
                                      .text = job->note,
                                      .is_empty = delivery_is_empty(&job->changes) };
    finish_note_outcome(job->e, job->key, &job->end, &note);
}

static bool is_below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    return strncmp(folder, path, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* The task may have had a worktree before, and this run worked elsewhere. */
static bool ran_in(const struct engine *e, const char *id, struct run_key key, const char *path) {
    _cleanup_(freep) char *folder = workspace_of_run(e, id, key.attempt);
    _cleanup_(freep) char *real = realpath(path, NULL); /* a run in a sandbox is told this one */
    return folder && (is_below(path, folder) || (real && is_below(real, folder)));
}

bool workspace_has_run_in(const struct engine *e, const char *id, uint32_t before,
                          const char *path) {
    for (uint32_t attempt = before; attempt-- > 1;)
        if (ran_in(e, id, (struct run_key){ .attempt = attempt }, path))
            return true;
    return false;
}

/* Has the run done what prepares its worktree? Its shim says so at the end. Of one that was lost it is known by its
 * command, which does not start before. */
static bool has_prepared(const struct engine *e, const struct live_run *run,
                         const struct run_end *end) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (strstr(end->applied, "prepared"))
        return true;
    return (run->view.started_at || end->started_at) && run_read_spec(e, run, &read, NULL) == 0
           && read->spec.prepare.argv;
}

/* Did the run that ends work in this worktree? Without a sandbox it can have changed what its shim was told: then the daemon
 * that has launched it knows, and any other does not take it for one that worked elsewhere. */
static bool has_worked_in(const struct engine *e, const struct live_run *run, const char *id,
                          const char *path) {
    const struct workspace_place *place = workspace_find(e, run->task);
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    if (place && place->attempt == run->view.attempt)
        return strcmp(place->path, path) == 0;
    return ran_in(e, id, key, path) || run_read_spec(e, run, &read, NULL) < 0;
}

bool workspace_finish(struct engine *e, struct run_key key, const struct run_end *end) {
    const struct live_run *run = run_find(e, key.task);
    struct worktree_record record = { 0 };
    char id[ENGINE_ID_MAX];
    if (!run || run->view.attempt != key.attempt
        || worktree_record_read(e->data, engine_task_id(e, key.task, id), &record, NULL) < 0)
        return false;
    struct job *job = job_new(e, JOB_FINISH, id);
    if (!has_worked_in(e, run, id, job->path)) {
        worktree_record_finish(&record);
        job_free(job);
        return false;
    }
    job->key = key;
    job->record = record;
    job->end = *end;
    if (!record.prepared && has_prepared(e, run, end)) {
        job->record.prepared = true;
        /* If this fails it is prepared once more. */
        (void)worktree_record_write(e->data, id, &job->record, NULL);
    }
    /* What was not merged because of its spawn file must not be good later: the file could be by then. */
    job->outcome = finish_outcome(e, run, &job->end, &job->is_forced);
    job->begin = worktree_end_begin;
    job->done = finished;
    bool is_good = job->outcome == OUTCOME_OK && strcmp(record.merge, "none") != 0;
    if (is_good && strcmp(record.merge, "direct") == 0
        && !merge_waits_for_person(e, key.task, record.merge)) {
        job_set_lane(job, "merges", record.repository);
        job->doing = "waits for another merge in this repository";
        job->can_stop = true;
    }
    if (is_good)
        finish_note_validating(e, key);
    job_begin(job);
    return true;
}

void workspace_stop(struct engine *e, task_id task) {
    struct job *make = job_find(e, JOB_MAKE, task);
    if (make && !make->running)
        job_end(make); /* its launch follows, and sees that it shall stop */
    struct job *job = job_find(e, JOB_FINISH, task);
    if (!job || !job->can_stop)
        return;
    loop_timer_free(e->loop, TAKE_PTR(job->timer));
    job->end.kind = RUN_END_STOPPED;
    job->end.message[0] = '\0';
    if (job->running || job->paused)
        job_stop(job);
    else
        job_end(job);
}

/* --- cleaning --------------------------------------------------------------------------------- */

static void remove_leftover(struct engine *e, const char *path) {
    struct workspaces *all = workspaces_of(e);
    for (size_t i = 0; i < all->leftovers.count; i++)
        if (strcmp(all->leftovers.items[i].path, path) == 0) {
            free(all->leftovers.items[i].path);
            free(all->leftovers.items[i].why);
            all->leftovers.items[i] = all->leftovers.items[--all->leftovers.count];
            return;
        }
}

static void cleaned(struct job *job) {
    if (!job->is_orphan)
        return;
    remove_leftover(job->e, job->path); /* it may have been looked at before */
    if (job->kept.length == 0)
        return;
    *LIST_ADD(&workspaces_of(job->e)->leftovers) =
        (struct leftover){ .path = xstrdup(job->path), .why = xstrdup(strbuf_text(&job->kept)) };
    log_warning("worktree '%s' belongs to no task and is kept: %s", job->path,
                strbuf_text(&job->kept));
}

static struct job *find_cleaning(const struct engine *e, const char *id) {
    for (struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == JOB_CLEAN && strcmp(job->id, id) == 0)
            return job;
    return NULL;
}

static bool is_merged_by_person(const struct engine *e, task_id task) {
    const struct job *make = job_find(e, JOB_MAKE, task);
    return (make && make->merging) || job_find(e, JOB_MERGE, task);
}

static void clean(struct engine *e, const char *id, task_id task, bool is_orphan) {
    struct worktree_record record = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    worktree_path(e->data, id, &path);
    struct job *cleaning = find_cleaning(e, id);
    if (task && is_merged_by_person(e, task))
        return; /* it is looked at after that */
    if (cleaning) {
        cleaning->is_orphan |= is_orphan; /* its task was deleted meanwhile: say what is kept */
        return;
    }
    bool has_record = worktree_record_read(e->data, id, &record, NULL) == 0;
    if (!has_record && access(strbuf_text(&path), F_OK) != 0)
        return; /* most have none */
    struct job *job = job_new(e, JOB_CLEAN, id);
    job->key.task = task;
    job->has_record = has_record;
    job->record = record;
    job->is_orphan = is_orphan;
    job->begin = worktree_clean_begin;
    job->done = cleaned;
    job_set_lane(job, "worktrees", has_record ? record.repository : strbuf_text(&path));
    job_begin(job);
}

void workspace_task_final(struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    clean(e, engine_task_id(e, task, id), task, false);
}

static void clean_final_tasks(struct engine *e) {
    for (size_t i = 0; i < e->turn.finals.count; i++)
        workspace_task_final(e, e->turn.finals.items[i]);
}

void workspace_forget(struct engine *e, const char *id) {
    clean(e, id, 0, true);
}

static void look_at(void *ctx, const char *id) {
    struct engine *e = ctx;
    struct task_view view;
    task_id task = engine_task_of_id(e, id, NULL);
    if (task == 0 || !core_task(e->core, task, &view))
        clean(e, id, 0, true);
    else if (task_state_is_final(view.state))
        clean(e, id, task, false);
}

/* Finished work whose days are over. */
static void look_if_old(void *ctx, const char *id) {
    const struct engine *e = ctx;
    struct task_view view;
    task_id task = engine_task_of_id(e, id, NULL);
    if (task && core_task(e->core, task, &view) && task_state_is_final(view.state)
        && (delivery_is_old(e, task, "retention.worktree_days")
            || delivery_is_old(e, task, "retention.merged_days")))
        clean(ctx, id, task, false);
}

void workspaces_expire(struct engine *e) {
    bool are_kept = config_number(e->config, "retention.merged_days", NULL) > 0
                    || config_number(e->config, "retention.worktree_days", NULL) != TIME_NEVER;
    if (!are_kept || workspaces_of(e)->expire_at > e->now)
        return;
    workspaces_of(e)->expire_at = time_add(e->now, LOOK_IF_OLD);
    worktree_each(e->data, look_if_old, e);
}

void workspaces_make_room(struct engine *e) {
    if (workspaces_of(e)->room_at > e->now)
        return;
    workspaces_of(e)->room_at = time_add(e->now, LOOK_WHILE_LOW);
    worktree_each(e->data, look_at, e);
}

/* --- the start -------------------------------------------------------------------------------- */

/* At the start, when the runs are adopted: who lives where; then what nobody needs goes. */
static void workspaces_start(struct engine *e) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    for (size_t i = 0; i < run_count(e); i++)
        pool_adopt(e, run_live_at(e, i));
    strbuf_printf(&folder, "%s/worktrees", e->data);
    if (access(strbuf_text(&folder), F_OK) != 0)
        return;
    (void)aside_sweep(e->data); /* git must not work there twice at once */
    worktree_each(e->data, look_at, e);
}

const struct engine_part workspaces_part = {
    .name = "workspaces",
    .state_size = sizeof(struct workspaces),
    .at = { [STEP_LOADED] = workspaces_tell,
            [STEP_START] = workspaces_start,
            [STEP_CARRY_OUT] = clean_final_tasks,
            [STEP_FREE] = workspaces_free },
    .is_launching = workspaces_are_preparing,
};
