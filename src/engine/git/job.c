/* job.c: a series of helper processes for one worktree. See git_internal.h. Concurrent commands
 * that create or remove worktrees of one repository would conflict in its files, and two merges
 * would race for its branch, so each kind has a lane per repository. */
#include "engine/git/git_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env_text.h"
#include "engine/launch/launch_internal.h"
#include "engine/runs/runs_internal.h"

struct job *job_new(struct engine *e, enum job_kind kind, const char *id, job_step begin,
                    job_step done) {
    struct job *job = xcalloc(1, sizeof(*job));
    *job = (struct job){ .e = e, .kind = kind, .begin = begin, .done = done, .lock = -1 };
    (void)snprintf(job->id, sizeof(job->id), "%s", id);
    _cleanup_(freep) char *path = worktree_path(e->data, id), *branch = git_branch_of_task(id);
    job->path = arena_strdup(&job->arena, path);
    job->branch = arena_strdup(&job->arena, branch);
    job->branch_ref = job_text(job, "refs/heads/%s", branch);
    return job;
}

void job_set_lane(struct job *job, const char *what, const char *repository) {
    job->lane = job_text(job, "%s %s", what, repository);
}

struct job *job_find(const struct engine *e, enum job_kind kind, task_id task) {
    for (struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == kind && job->key.task == task)
            return job;
    return NULL;
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* Unless another job has its lane. */
static void job_start(struct job *job) {
    for (const struct job *other = workspaces_of(job->e)->jobs; job->lane && other;
         other = other->next)
        if (other->running && other->lane && strcmp(other->lane, job->lane) == 0)
            return;
    job->running = true;
    job->begin(job);
}

/* A job may end at once, which changes the list. */
static void start_next(struct engine *e, const char *lane) {
    for (struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (!job->running && !job->paused && job->lane && strcmp(job->lane, lane) == 0) {
            job_start(job);
            return;
        }
}

void job_begin(struct job *job) {
    struct job **end = &workspaces_of(job->e)->jobs;
    while (*end)
        end = &(*end)->next;
    *end = job;
    job_start(job);
}

void job_free(struct job *job) {
    helper_kill(job->helper);
    loop_timer_free(job->e->loop, job->timer);
    if (job->lock >= 0)
        close(job->lock);
    worktree_record_finish(&job->record);
    run_spec_read_free(&job->shim_spec);
    strbuf_finish(&job->output);
    strbuf_finish(&job->kept);
    diff_work_finish(job);
    merging_finish(job);
    arena_finish(&job->arena);
    free(job);
}

void job_end(struct job *job) {
    struct engine *e = job->e;
    struct job **at = &workspaces_of(e)->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job->running = false;
    _cleanup_(freep) char *lane = job->lane ? xstrdup(job->lane) : NULL;
    job->done(job);
    job_free(job);
    if (lane)
        start_next(e, lane);
}

static void pause_over(void *ctx) {
    struct job *job = ctx;
    job->paused = false;
    job_start(job);
}

void job_pause(struct job *job, time_ms span) {
    job->running = false;
    job->paused = true;
    job_wait(job, span, pause_over);
    if (job->lane)
        start_next(job->e, job->lane);
}

/* --- pauses and ends ------------------------------------------------------------------------- */

void job_wait(struct job *job, time_ms span, loop_due due) {
    loop_timer_free(job->e->loop, job->timer);
    job->timer = loop_timer_new(job->e->loop, due, job);
    loop_timer_set(job->e->loop, job->timer, time_add(loop_now_steady(job->e->loop), span));
}

bool job_worked(struct job *job, const char *what, job_step fail) {
    const struct helper_end *end = &job->result;
    if (end->code == 0)
        return true;
    if (end->error)
        error_set(&job->err, -end->error, "%s: git cannot be run there: %s", what,
                  *end->why ? end->why : strerror(end->error));
    else if (end->timed_out)
        error_set(&job->err, -ETIMEDOUT, "%s: it took longer than git.timeout_s", what);
    else if (end->signal)
        error_set(&job->err, -EIO, "%s: signal %d", what, end->signal);
    else {
        _cleanup_(strbuf_finish) struct strbuf message = STRBUF_INIT;
        git_error_message(end->output, &message);
        error_set(&job->err, -EIO, "%s: %.180s", what, strbuf_text(&message));
    }
    if (fail)
        fail(job);
    return false;
}

bool job_write_record(struct job *job, job_step fail) {
    struct error *err = fail ? &job->err : NULL;
    bool is_written = worktree_record_write(job->e->data, job->id, &job->record, err) == 0;
    if (!is_written && fail)
        fail(job);
    return is_written;
}

/* --- git -------------------------------------------------------------------------------------- */

/* How a job runs git and other commands. See git_internal.h. Git gets all paths explicitly: the git
 * folder, the common folder, the work tree. It would otherwise find them through files that a run
 * can write. It still reads the configuration of the repository and the attributes of its files;
 * commands that these name are executed below the guard. */

#define OUTPUT_MAX (32u << 10)
#define ENV_FIXED  32 /* more variables than this file names */

/* --- the environment -------------------------------------------------------------------------- */

struct env {
    const char **pairs;
    size_t count;
};

static void add_pairs(struct env *env, const char *const *pairs, size_t count) {
    for (size_t i = 0; i < count; i++)
        env->pairs[env->count++] = pairs[i];
}

static void add_pair(struct env *env, const char *pair) {
    add_pairs(env, &pair, 1);
}

static void add_own(struct env *env, const struct engine *e, const char *name) {
    env->count += env_pick(daemon_env(e), &name, 1, env->pairs + env->count);
}

static size_t count_words(const char *const *words) {
    size_t count = 0;
    while (words && words[count])
        count++;
    return count;
}

/* The environment of a person, without what could make git prompt or wait for one. */
static void add_default(struct env *env, const struct job *job, const char *const *names,
                        size_t count) {
    static const char *const always[] = {
        "GIT_TERMINAL_PROMPT=0",
        "GIT_ASKPASS=true",
        "SSH_ASKPASS=true",
        "GIT_EDITOR=true",
        "GIT_SEQUENCE_EDITOR=true",
        "GIT_PAGER=cat",
        "LC_ALL=C",
        "EMAIL=sluice@localhost",
    };
    static const char *const identity[] = {
        "GIT_AUTHOR_NAME=Sluice",
        "GIT_AUTHOR_EMAIL=sluice@localhost",
        "GIT_COMMITTER_NAME=Sluice",
        "GIT_COMMITTER_EMAIL=sluice@localhost",
    };
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "LC_ALL") != 0)
            add_own(env, job->e, names[i]);
    add_own(env, job->e, "SSH_AUTH_SOCK");
    add_pairs(env, always, ARRAY_SIZE(always));
    if (job->anonymous)
        add_pairs(env, identity, ARRAY_SIZE(identity));
}

static const char *const *build_env(struct job *job, const struct job_call *call) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    const char *const *names = NULL;
    size_t count = call->env ? count_words(call->env)
                             : config_words(job->e->config, "tasks.env", NULL, &names);
    size_t more = count_words(call->more);
    struct env env = { 0 };
    env.pairs = arena_alloc(&job->arena, (count + more + ENV_FIXED) * sizeof(*env.pairs));
    if (call->env)
        add_pairs(&env, call->env, count);
    else
        add_default(&env, job, names, count);
    if (call->git_dir) {
        add_pair(&env, job_text(job, "GIT_DIR=%s", call->git_dir));
        add_pair(&env, job_text(job, "GIT_COMMON_DIR=%s", job->record.common_dir));
    }
    if (call->git_dir && call->work_tree)
        add_pair(&env, job_text(job, "GIT_WORK_TREE=%s", call->work_tree));
    if (call->is_offline) {
        add_pair(&env, "GIT_NO_LAZY_FETCH=1");
        add_pair(&env, "GIT_ALLOW_PROTOCOL=none");
    }
    add_pairs(&env, call->more, more);
    /* The mark lets the next daemon kill what this one has left. */
    helper_mark(call->outlives ? "" : job->e->data, &mark);
    add_pair(&env, job_text(job, "%s", strbuf_text(&mark)));
    return env.pairs;
}

/* --- as the run ------------------------------------------------------------------------------- */

/* The key of a run leaves the store when it ends, so the spec of an ended run is read unverified: a
 * run in a sandbox cannot change it, and one without has no sandbox to lose. */
int job_read_spec(struct job *job, uint32_t attempt, struct error *err) {
    const struct live_run *run =
        run_find_attempt(job->e, (struct run_key){ job->key.task, attempt });
    if (job->shim_spec)
        return 0;
    if (run)
        return run_read_spec(job->e, run, &job->shim_spec, err);
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    rundir_name(&folder, job->id, attempt);
    return rundir_read_spec(job->e->runs_folder, strbuf_text(&folder), NULL, &job->shim_spec, err);
}

/* Its number; 0: none has started, or its task is unknown. Then only `git status` runs, which does
 * not descend into nested repositories. For a worktree with several users, the last one counts. */
static uint32_t last_attempt(const struct job *job) {
    const struct live_run *run = run_find(job->e, job->key.task);
    struct task_view view;
    if (job->key.attempt > 0)
        return job->key.attempt;
    if (!core_task(job->e->core, job->key.task, &view))
        return 0;
    return run && !run->view.started_at && !run->sandbox ? view.attempt - 1 : view.attempt;
}

/* Without the spec its sandbox is unknown, so an error never means "no sandbox". */
int job_run_spec(struct job *job, const struct run_spec **ret, struct error *err) {
    struct error why = { 0 };
    *ret = NULL;
    bool is_new = job->kind == JOB_MAKE && !conflict_is_known(&job->record);
    uint32_t attempt = is_new ? 0 : last_attempt(job);
    if (attempt == 0)
        return 0;
    int r = job_read_spec(job, attempt, &why);
    while (r == -ENOENT && attempt > 1 && job->kind != JOB_FINISH) /* it could not be launched */
        r = job_read_spec(job, --attempt, &why);
    if (r < 0)
        return error_set(err, r, "it is not known in which sandbox its run was: %.150s", why.text);
    *ret = &job->shim_spec->spec;
    return 0;
}

/* --- starting --------------------------------------------------------------------------------- */

static void step_ended(void *ctx, const struct helper_end *end) {
    struct job *job = ctx;
    job->helper = NULL;
    if (turn_is_over(job->e)) /* the next daemon starts it over */
        return;
    job->result = *end;
    if (job->is_stopped) {
        job->is_stopped = false;
        worktree_end_finish(job);
    } else
        job->then(job);
}

void job_not_started(struct job *job, const struct error *err, job_step then) {
    job->result = (struct helper_end){
        .code = -1, .error = -err->code, .output = "", .why = job_text(job, "%s", err->text)
    };
    then(job);
}

void job_call(struct job *job, const struct job_call *call, job_step then) {
    struct error err = { 0 };
    const struct run_spec *run = NULL;
    job->then = then;
    if (turn_is_over(job->e))
        return;
    int r = call->as_run ? job_run_spec(job, &run, &err) : 0;
    if (r < 0 && !call->in_sandbox)
        r = 0;
    if (r == 0 && call->needs_sandbox && (!run || !run->wrap))
        r = error_set(&err, -ENOENT, "the sandbox of its run is not known any more");
    if (r < 0) {
        job_not_started(job, &err, then);
        return;
    }
    const char *argv[GIT_WORDS_MAX + 8];
    struct git_line line = { 0 };
    size_t words = count_words(call->argv);
    if (call->git) {
        git_line_make(&line, call->git);
        memcpy(argv + words, line.argv, (line.count + 1) * sizeof(*argv));
        for (size_t i = 0; i < words; i++)
            argv[i] = call->argv[i];
    }
    time_ms timeout = config_number(job->e->config, "git.timeout_s", NULL);
    const struct guard_call guarded = {
        .command = { .argv = call->git ? argv : call->argv,
                     .cwd = call->cwd ? call->cwd : job->path,
                     .env = build_env(job, call),
                     .timeout = call->timeout > 0 ? call->timeout : timeout,
                     .output_max = call->output_max > 0 ? call->output_max : OUTPUT_MAX,
                     .outlives = call->outlives,
                     .reads = call->reads },
        .run = run,
        .in_sandbox = call->in_sandbox,
        .name = job->id,
        .ended = step_ended,
        .ctx = job,
    };
    if (guard_start(job->e, &guarded, &job->helper, &err) < 0)
        job_not_started(job, &err, then);
}

static void call_repository(struct job *job, const char *const *words, struct job_call call,
                            job_step then) {
    call.git = words;
    call.cwd = job->record.repository;
    if (job->record.common_dir && *job->record.common_dir) /* else git searches for it */
        call.git_dir = job->record.common_dir;
    job_call(job, &call, then);
}

void job_git(struct job *job, const char *const *words, job_step then) {
    call_repository(job, words, (struct job_call){ .is_offline = true }, then);
}

void job_git_read(struct job *job, const char *const *words, job_step then) {
    call_repository(job, words, (struct job_call){ .is_offline = true, .reads = true }, then);
}

void job_git_for_others(struct job *job, const char *const *words, job_step then) {
    call_repository(job, words, (struct job_call){ .is_offline = true, .outlives = true }, then);
}

void job_git_in_worktree(struct job *job, const char *const *words, job_step then) {
    const struct job_call call = {
        .git = words, .git_dir = job->record.git_dir, .work_tree = job->path, .as_run = true
    };
    job_call(job, &call, then);
}

void job_stop(struct job *job) {
    if (job->helper) {
        job->is_stopped = true;
        helper_stop(job->helper);
    } else
        worktree_end_finish(job);
}
