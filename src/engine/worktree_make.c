/* worktree_make.c: a worktree for a task, before its run.
 *
 * Made once and used by every attempt. The record says whether git has finished it: what was begun and
 * not finished has never been run in, so it is thrown away and made again; what was finished is never
 * thrown away here. A folder without a record is somebody else's, and in the way; so is a branch of that
 * name when this home has neither a record nor a run of it: ids are counted by each home, and its commits
 * would be merged as this task's.
 *
 * While a run lives the worktree is locked, so that `git worktree prune` of a person leaves it alone. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/job.h"
#include "engine/workspace_internal.h"

static void fail(struct job *job) {
    (void)error_prefix(&job->err, "no worktree for '%s'", job->id);
    job_end(job);
}

static void locked(struct job *job, const struct aside_end *end) {
    (void)end; /* it may be locked already: by the attempt before, whose daemon was killed */
    job_end(job);
}

static void lock(struct job *job) {
    struct git_line line;
    GIT_LINE(&line, "worktree", "lock", "--reason", job_text(job, "sluice: %s runs here", job->id),
             job->path);
    job_run(job, NULL, line.argv, locked);
}

/* --- a new one -------------------------------------------------------------------------------- */

static void added(struct job *job, const struct aside_end *end) {
    if (!job_worked(job, end, "git worktree add")) {
        fail(job);
        return;
    }
    job->record.made = true;
    if (job_write_record(job))
        lock(job);
}

static void add(struct job *job) {
    struct git_line line;
    job->doing = "makes its worktree";
    if (!job_write_record(job))
        return;
    if (job->branch_is_there)
        GIT_LINE(&line, "worktree", "add", job->path, job->branch);
    else
        GIT_LINE(&line, "worktree", "add", "--no-track", "-b", job->branch, job->path,
                 job->record.base);
    job_run(job, job->record.repository, line.argv, added);
}

static void branch_asked(struct job *job, const struct aside_end *end) {
    job->branch_is_there = end->code == 0;
    if (job->branch_is_there && !job->has_record
        && !workspace_has_run_in(job->e, job->id, job->key.attempt, job->path)) {
        error_set(&job->err, -EEXIST,
                  "branch '%s' of '%s' is not from here: another home works in this repository, or "
                  "has; rename the branch, or give the project another prefix",
                  job->branch, job->record.repository);
        fail(job);
        return;
    }
    add(job);
}

static void base_asked(struct job *job, const struct aside_end *end) {
    struct git_line line;
    if (end->code != 0 && !end->error && !end->timed_out) {
        error_set(&job->err, -ENOENT, "'%s' has no %s '%s'", job->record.repository,
                  strcmp(job->record.merge, "direct") == 0 ? "branch" : "commit", job->record.base);
        fail(job);
        return;
    }
    if (!job_worked(job, end, "git rev-parse")) {
        fail(job);
        return;
    }
    GIT_LINE(&line, "rev-parse", "--verify", "--quiet", job->branch_ref);
    job_run(job, job->record.repository, line.argv, branch_asked);
}

static void ask_base(struct job *job) {
    struct git_line line;
    bool is_direct = strcmp(job->record.merge, "direct") == 0;
    GIT_LINE(&line, "rev-parse", "--verify", "--quiet",
             job_text(job, "%s%s^{commit}", is_direct ? "refs/heads/" : "", job->record.base));
    job_run(job, job->record.repository, line.argv, base_asked);
}

static void head_asked(struct job *job, const struct aside_end *end) {
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
    if (end->code != 0 || !git_output_line(end->output, 0, &head)) {
        error_set(&job->err, -ENOENT,
                  "'%s' has no branch checked out: say which with projects.P.base_branch",
                  job->record.repository);
        fail(job);
        return;
    }
    free(job->record.base);
    job->record.base = strbuf_take(&head);
    ask_base(job);
}

static void prefix_asked(struct job *job, const struct aside_end *end) {
    _cleanup_(strbuf_finish) struct strbuf prefix = STRBUF_INIT;
    struct git_line line;
    if (!job_worked(job, end, "git rev-parse")) {
        fail(job);
        return;
    }
    (void)git_output_line(end->output, 0, &prefix);
    free(job->record.prefix);
    job->record.prefix = xstrdup(strbuf_text(&prefix));
    if (*job->record.base) {
        ask_base(job);
        return;
    }
    GIT_LINE(&line, "symbolic-ref", "--quiet", "--short", "HEAD");
    job_run(job, job->record.repository, line.argv, head_asked);
}

static void ask_prefix(struct job *job) {
    struct git_line line;
    GIT_LINE(&line, "rev-parse", "--show-prefix");
    job_run(job, job->record.repository, line.argv, prefix_asked);
}

/* --- one that was not finished ---------------------------------------------------------------- */

static void pruned(struct job *job, const struct aside_end *end) {
    (void)end; /* what is wrong with the repository, the next steps will tell */
    ask_prefix(job);
}

static void prune(struct job *job, const struct aside_end *end) {
    struct git_line line;
    (void)end;
    GIT_LINE(&line, "worktree", "prune");
    job_run(job, job->record.repository, line.argv, pruned);
}

static void removed(struct job *job, const struct aside_end *end) {
    (void)end; /* git does not know it, perhaps */
    job_run(job, "/", (const char *const[]){ "rm", "-rf", "--", job->path, NULL }, prune);
}

static void discard(struct job *job) {
    struct git_line line;
    job->doing = "makes its worktree again";
    GIT_LINE(&line, "worktree", "remove", "--force", "--force", job->path);
    job_run(job, job->record.repository, line.argv, removed);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void abandoned(struct job *job, const struct aside_end *end) {
    if (!job_worked(job, end, "git checkout")) {
        fail(job);
        return;
    }
    job->record.rebasing = false;
    if (job_write_record(job))
        lock(job);
}

/* What an attempt before this one has left there. */
static void use(struct job *job) {
    worktree_break_locks(job->git_dir, job->branch);
    if (job->record.rebasing)
        worktree_abandon_rebase(job, abandoned);
    else if (job_write_record(job)) /* what is done with the work may be said anew */
        lock(job);
}

/* The record has what is wanted now; of one that is there, what it came from counts. */
void worktree_make_begin(struct job *job) {
    struct worktree_record old = { 0 };
    struct strbuf git_dir = STRBUF_INIT;
    job->doing = "looks at its worktree";
    int r = worktree_record_read(job->e->data, job->id, &old, NULL);
    int there = worktree_git_dir(job->path, &git_dir);
    job->git_dir = arena_strdup(&job->arena, strbuf_text(&git_dir));
    strbuf_finish(&git_dir);
    bool is_made = r == 0 && old.made && there == 0;
    job->has_record = r == 0;
    if (is_made) {
        free(job->record.repository);
        free(job->record.base);
        free(job->record.prefix);
        job->record.repository = TAKE_PTR(old.repository);
        job->record.base = TAKE_PTR(old.base);
        job->record.prefix = TAKE_PTR(old.prefix);
        job->record.made = true;
        job->record.rebasing = old.rebasing;
    }
    worktree_record_finish(&old);
    if (is_made) {
        use(job);
    } else if (there == -EXDEV) {
        error_set(
            &job->err, -EBUSY,
            "'%s' is a copy, and its branch is checked out where it was copied from: this home "
            "is a copy of another, remove the folder and its .json",
            job->path);
        fail(job);
    } else if (r < 0 && there != -ENOENT) {
        error_set(&job->err, -EEXIST, "'%s' is in the way: it was not made here, move it",
                  job->path);
        fail(job);
    } else if (r == 0) {
        discard(job);
    } else {
        ask_prefix(job);
    }
}
