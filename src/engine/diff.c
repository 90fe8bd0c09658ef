/* diff.c: what did a task change in its worktree? See diff.h.
 *
 * While the worktree is there, all of a task is what its files are now against where its branch left the base:
 * commits, uncommitted and new files alike. New files get into a diff through a copy of the index that
 * knows their names, so nothing is written but that copy. When the worktree has gone, and of iterations that
 * are over, what was noted counts (diff_keep.c): two names of objects, if git still has them.
 *
 * One at a time in each repository, and not many at once: whoever only looks must not load the machine. */
#include "engine/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/diff_internal.h"
#include "engine/workspace_internal.h"
#include "os/outside.h"

#define WAITING_MAX 16u
#define NUMSTAT_MAX (1u << 20)

/* --- the answer -------------------------------------------------------------------------------- */

static void answer(struct job *job) {
    struct diff_work *work = job->diff;
    _cleanup_(freep) struct diff_file *files = xcalloc(DIFF_FILES_MAX, sizeof(*files));
    struct diff diff = {
        .base = work->one.from,
        .head = work->is_live ? NULL : work->one.to,
        .branch = work->all.base,
        .files = files,
        .patch = work->question.stat ? NULL : strbuf_text(&work->patch),
        .patch_size = work->patch.length,
        .truncated = work->cut,
    };
    struct diff_file more;
    const char *at = strbuf_text(&work->numstat), *end = at + work->numstat.length;
    while (diff.file_count < DIFF_FILES_MAX && diff_next_file(&at, end, &files[diff.file_count]))
        diff.file_count++;
    diff.truncated |= diff_next_file(&at, end, &more);
    diff_ready ready = TAKE_PTR(work->ready);
    ready(work->ctx, job->err.code < 0 ? NULL : &diff, &job->err);
}

/* A file that ends in the middle of a line would show half of it as if it were whole. */
static void take(struct strbuf *out, const struct aside_end *end, char separator) {
    size_t size = end->size;
    while (end->cut && size > 0 && end->output[size - 1] != separator)
        size--;
    strbuf_add(out, end->output, size > 0 ? size : end->size);
}

static bool fall_back(struct job *job);

/* Also of a git that was content: it may have seen a worktree that was being removed. */
static bool worked(struct job *job, const struct aside_end *end, const char *what) {
    if (fall_back(job))
        return false;
    if (end->code == 0 || end->cut)
        return true;
    if (end->timed_out)
        error_set(&job->err, -EBUSY,
                  "git took too long to compare what '%s' has changed: ask again", job->id);
    else if (!job->diff->is_live && end->code > 0)
        error_set(&job->err, -ENOENT,
                  "what '%s' has changed is no longer recorded: git has collected it in '%s'",
                  job->id, job->diff->cwd);
    else {
        (void)job_worked(job, end, what);
        job->err.code = -ENOENT; /* whatever it was: there is nothing to show */
        (void)error_prefix(&job->err, "what '%s' has changed cannot be told", job->id);
    }
    job_end(job);
    return false;
}

/* --- git diff ---------------------------------------------------------------------------------- */

static void ask(struct job *job, const char *how, size_t most, job_step then) {
    const struct diff_work *work = job->diff;
    struct git_line line;
    const char *to = work->is_live ? "--" : work->one.to;
    /* Names of a patch are quoted, those of a list end in NUL. */
    const char *more = strcmp(how, "--patch") == 0 ? "--abbrev=12" : "-z";
    GIT_LINE(&line, "-c", "core.quotePath=false", "-c", "core.safecrlf=false", "diff",
             "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--no-relative",
             "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=dirty",
             how, more, work->one.from, to, work->is_live ? NULL : "--");
    diff_read(job, line.argv, most, then);
}

static void patch_told(struct job *job, const struct aside_end *end) {
    if (!worked(job, end, "git diff"))
        return;
    take(&job->diff->patch, end, '\n');
    job->diff->cut |= end->cut;
    job_end(job);
}

static void files_told(struct job *job, const struct aside_end *end) {
    if (!worked(job, end, "git diff"))
        return;
    take(&job->diff->numstat, end, '\0');
    job->diff->cut |= end->cut;
    if (job->diff->question.stat)
        job_end(job);
    else
        ask(job, "--patch", DIFF_PATCH_MAX, patch_told);
}

/* --- the worktree as it is --------------------------------------------------------------------- */

static void names_added(struct job *job, const struct aside_end *end) {
    if (worked(job, end, "git add"))
        ask(job, "--numstat", NUMSTAT_MAX, files_told);
}

static void copied(struct job *job, const struct aside_end *end) {
    if (worked(job, end, "the index"))
        diff_add_new(job, names_added);
}

static void base_told(struct job *job, const struct aside_end *end) {
    struct diff_work *work = job->diff;
    char head[GIT_HASH_MAX], from[GIT_HASH_MAX];
    if (!worked(job, end, "git rev-parse"))
        return;
    if (!diff_take_base(end->output, head, from)) {
        error_set(&job->err, -ENOENT, "'%s' and its base '%s' have no commit in common", job->id,
                  job->record.base);
        job_end(job);
        return;
    }
    /* The base has it all: then what was merged is the change, and what came after. */
    bool is_merged = work->question.iteration == 0 && strcmp(head, from) == 0 && work->all.from[0]
                     && strcmp(work->all.to, head) == 0;
    if (work->one.from[0] == '\0')
        memcpy(work->one.from, is_merged ? work->all.from : from, sizeof(work->one.from));
    diff_copy_index(job, "sluice-index-diff", copied);
}

static void diff_begin(struct job *job) {
    struct git_line line;
    if (fall_back(job))
        return;
    if (!job->diff->is_live) {
        ask(job, "--numstat", NUMSTAT_MAX, files_told);
        return;
    }
    GIT_LINE(&line, "rev-parse", "HEAD", job_text(job, "%s...HEAD", job->record.base));
    diff_run(job, line.argv, base_told);
}

/* --- what is compared -------------------------------------------------------------------------- */

/* A record that a run has replaced is named. */
static int check_record(const struct job *job, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    diff_record_path(job->e, job->id, job->diff->question.iteration, &path);
    if (lstat(strbuf_text(&path), &st) < 0 || S_ISREG(st.st_mode))
        return 0;
    return outside_refuse(strbuf_text(&path), st.st_mode, err);
}

static int not_recorded(const struct job *job, struct error *err) {
    const struct diff_work *work = job->diff;
    int r = check_record(job, err);
    if (r < 0)
        return r;
    if (work->question.iteration > 0)
        return error_set(err, -ENOENT,
                         "what iteration %" PRIu32 " of '%s' changed was not recorded",
                         work->question.iteration, job->id);
    return error_set(err, -ENOENT, "what '%s' changed was not recorded, and its worktree has gone",
                     job->id);
}

/* An iteration that is not over is compared with the files as they are. */
static int choose_iteration(struct job *job, uint32_t now, struct error *err) {
    struct diff_work *work = job->diff;
    uint32_t n = work->question.iteration;
    struct diff_record before = { 0 };
    const struct live_run *run = run_find(job->e, job->key.task);
    if (n > now)
        return error_set(err, -ENOENT,
                         "'%s' has no iteration %" PRIu32 ": it is in iteration %" PRIu32, job->id,
                         n, now);
    (void)diff_find_record(job, n, &work->one);
    if (n > 1 && work->one.from[0] == '\0' && diff_find_record(job, n - 1, &before))
        memcpy(work->one.from, before.to, sizeof(before.to));
    diff_record_finish(&before);
    bool is_going_on = run && run->iteration == n && job->has_record;
    work->is_live = is_going_on;
    if ((n > 1 || !is_going_on) && work->one.from[0] == '\0')
        return not_recorded(job, err);
    if (!is_going_on && work->one.to[0] == '\0')
        return not_recorded(job, err);
    return 0;
}

static int choose(struct job *job, uint32_t now, struct error *err) {
    struct diff_work *work = job->diff;
    if (work->question.iteration > 0)
        return choose_iteration(job, now, err);
    work->is_live = job->has_record;
    if (work->is_live)
        return 0;
    memcpy(work->one.from, work->all.from, sizeof(work->one.from));
    memcpy(work->one.to, work->all.to, sizeof(work->one.to));
    return work->one.from[0] && work->one.to[0] ? 0 : not_recorded(job, err);
}

/* git takes a moment to remove it, and its files go first. */
static bool is_there(struct job *job) {
    struct worktree_record now = { 0 };
    bool is_there = worktree_record_read(job->e->data, job->id, &now, NULL) == 0 && !now.removing
                    && worktree_find(job->path, &job->record) == 0;
    worktree_record_finish(&now);
    return is_there;
}

/* The worktree goes when its task has ended, perhaps just now: then what was noted counts. True: it is
 * asked for, or there is none and the job has ended. */
static bool fall_back(struct job *job) {
    struct diff_work *work = job->diff;
    if (!job->has_record || is_there(job))
        return false;
    job->has_record = false;
    work->cwd = job->record.repository;
    work->index = NULL; /* gone with it */
    diff_record_finish(&work->all);
    diff_record_finish(&work->one);
    strbuf_clear(&work->numstat);
    strbuf_clear(&work->patch);
    work->cut = false;
    if (!diff_find_record(job, 0, &work->all))
        work->all = (struct diff_record){ .base = xstrdup(job->record.base) };
    if (choose(job, UINT32_MAX, &job->err) < 0)
        job_end(job);
    else
        ask(job, "--numstat", NUMSTAT_MAX, files_told);
    return true;
}

static int no_worktree(const struct engine *e, const struct job *job, struct error *err) {
    const struct project *project = workspace_project(e, job->key.task);
    const char *name = project ? project->view.name : "P";
    int r = check_record(job, err);
    if (r < 0)
        return r;
    if (project && workspace_makes_worktrees(e, project))
        return error_set(err, -ENOENT, "'%s' has no worktree yet: it has not run", job->id);
    return error_set(err, -ENOENT,
                     "'%s' has no git worktree of its own, so what it changed is not known; "
                     "projects.%s.workspace_mode: worktree gives its project's tasks one",
                     job->id, name);
}

static int prepare(struct job *job, struct error *err) {
    struct engine *e = job->e;
    struct diff_work *work = job->diff;
    struct task_view view;
    bool has_record = worktree_record_read(e->data, job->id, &job->record, NULL) == 0;
    int there = has_record && job->record.made ? worktree_find(job->path, &job->record) : -ENOENT;
    if (there == -EPERM)
        return error_set(err, -ENOENT, WORKTREE_FOREIGN, job->path);
    job->has_record = there == 0 && !job->record.removing;
    bool is_noted = diff_find_record(job, 0, &work->all);
    if (!job->has_record && !is_noted)
        return has_record ? not_recorded(job, err) : no_worktree(e, job, err);
    int r = choose(job, core_task(e->core, job->key.task, &view) ? view.iteration : 0, err);
    if (r < 0)
        return r;
    const char *repository = has_record ? job->record.repository : work->all.repository;
    if (access(repository, X_OK) < 0)
        return error_set(err, -ENOENT, "the repository '%s' of '%s' is gone", repository, job->id);
    if (!work->all.base || !*work->all.base) {
        free(work->all.base);
        work->all.base = xstrdup(job->record.base ? job->record.base : "");
    }
    work->cwd = job->has_record ? job->path : job_text(job, "%s", repository);
    job_set_lane(job, "diffs", repository);
    return 0;
}

static unsigned count_waiting(const struct engine *e) {
    unsigned count = 0;
    for (const struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        count += job->kind == JOB_DIFF;
    return count;
}

int engine_diff(struct engine *e, const struct diff_question *question, diff_ready ready, void *ctx,
                struct error *err) {
    char id[ENGINE_ID_MAX];
    if (count_waiting(e) >= WAITING_MAX)
        return error_set(err, -EAGAIN, "%u diffs are being made: ask again", WAITING_MAX);
    struct job *job = job_new(e, JOB_DIFF, engine_task_id(e, question->task, id));
    struct diff_work *work = diff_work_new(job);
    job->key.task = question->task;
    work->question = *question;
    int r = prepare(job, err);
    if (r < 0) {
        job_free(job);
        return r;
    }
    work->ready = ready;
    work->ctx = ctx;
    job->begin = diff_begin;
    job->done = answer;
    job_begin(job);
    return 0;
}

bool engine_has_diff(const struct engine *e, task_id task) {
    _cleanup_(strbuf_finish) struct strbuf record = STRBUF_INIT, path = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    engine_task_id(e, task, id);
    diff_record_path(e, id, 0, &record);
    worktree_record_path(e->data, id, &path);
    return access(strbuf_text(&record), F_OK) == 0 || access(strbuf_text(&path), F_OK) == 0;
}
