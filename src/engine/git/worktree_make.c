/* worktree_make.c: creates a task's worktree before its run.
 *
 * Created once and used by every attempt. The record shows whether git has finished it: an
 * unfinished one was never used by a run, so it is discarded and created again; a finished one is
 * never discarded here. A folder without a record is foreign, and in the way. So is a branch of
 * that name if this home has neither a record nor a run of it: each home counts ids, and the
 * foreign commits would be merged as this task's.
 *
 * The worktree is locked while a run is live, so that a manual `git worktree prune` spares it. */
#include <errno.h>
#include <string.h>

#include "engine/git/git_internal.h"
#include "os/copy_files.h"

static void fail(struct job *job) {
    (void)error_prefix(&job->err, "no worktree for '%s'", job->id);
    job_end(job);
}

static bool worked(struct job *job, const struct helper_end *end, const char *what) {
    bool ok = job_worked(job, end, what);
    if (!ok)
        fail(job);
    return ok;
}

static void locked(struct job *job, const struct helper_end *end) {
    (void)end; /* the lock only protects it from people; run without it */
    job_end(job);
}

static const char *lock_reason(struct job *job) {
    return job_text(job, "sluice: %s runs here", job->id);
}

static void lock(struct job *job) {
    if (worktree_is_locked(&job->record)) { /* by the previous attempt, whose daemon was killed */
        job_end(job);
        return;
    }
    job_git(job, WORDS("worktree", "lock", "--reason", lock_reason(job), job->path), locked);
}

/* --- a new one -------------------------------------------------------------------------------- */

static void made(struct job *job) {
    job->record.made = true;
    if (job_write_record(job))
        job_end(job);
}

/* In a new worktree only what was just copied can be untracked. Work is saved with `git add --all`,
 * and agents do the same: what git does not ignore would be committed and merged. */
static void untracked_listed(struct job *job, const struct helper_end *end) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    if (!worked(job, end, "git ls-files"))
        return;
    if (git_output_line(end->output, 0, &name) && name.length > 0) {
        error_set(&job->err, -EINVAL,
                  "'%.150s' was copied, but git does not ignore it, so it would be committed: add "
                  "it to .gitignore or .git/info/exclude, or remove it from projects.P.copy",
                  strbuf_text(&name));
        fail(job);
        return;
    }
    made(job);
}

static void copy(struct job *job) {
    const struct engine_project *project = project_of_task(job->e, job->key.task);
    struct copy_files what = { job->record.repository, job->path, job->record.prefix, NULL, 0 };
    if (project)
        what.count = config_words(job->e->config, "projects.P.copy", project->name, &what.patterns);
    int copied = what.count > 0 ? copy_files(&what, &job->err) : 0;
    if (copied < 0) {
        fail(job);
    } else if (copied == 0) {
        made(job);
    } else {
        job_git_in_worktree(job, WORDS("ls-files", "--others", "--exclude-standard"),
                            untracked_listed);
    }
}

/* No run has used it yet: record what its `.git` says now. */
static void added(struct job *job, const struct helper_end *end) {
    if (!worked(job, end, "git worktree add"))
        return;
    if (worktree_find(job->path, &job->record) < 0) {
        error_set(&job->err, -EUCLEAN, "git made '%s' in another repository than '%s'", job->path,
                  job->record.repository);
        fail(job);
        return;
    }
    copy(job);
}

static void add(struct job *job) {
    job->doing = "makes its worktree";
    if (!job_write_record(job))
        return;
    if (job->has_record) /* the git that created it may have been killed */
        worktree_break_locks(&job->record, job->branch);
    const struct job_call call = { .git = job->branch_is_there
                                              ? WORDS("worktree", "add", "--lock", "--reason",
                                                      lock_reason(job), job->path, job->branch)
                                              : WORDS("worktree", "add", "--lock", "--reason",
                                                      lock_reason(job), "--no-track", "-b",
                                                      job->branch, job->path, job->record.base),
                                   .cwd = job->record.repository,
                                   .git_dir = job->record.common_dir };
    job_call(job, &call, added);
}

/* An unknown name is printed unchanged, and ends the list. */
static void branches_resolved(struct job *job, const struct helper_end *end) {
    char hash[GIT_HASH_MAX];
    if (end->code < 0) {
        (void)job_worked(job, end, "git rev-parse");
        fail(job);
        return;
    }
    if (!git_output_hash(end->output, 0, hash)) {
        error_set(&job->err, -ENOENT, "'%s' has no %s '%s'", job->record.repository,
                  strcmp(job->record.merge, "direct") == 0 ? "branch" : "commit", job->record.base);
        fail(job);
        return;
    }
    job->branch_is_there = git_output_hash(end->output, 1, hash);
    if (job->needs_branch && !job->branch_is_there) {
        error_set(&job->err, -ENOENT, "there is no branch '%s' in '%s'", job->branch,
                  job->record.repository);
        job_end(job);
        return;
    }
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

static void resolve_branches(struct job *job) {
    bool is_direct = strcmp(job->record.merge, "direct") == 0;
    job_git_read(
        job,
        WORDS("rev-parse",
              job_text(job, "%s%s^{commit}", is_direct ? "refs/heads/" : "", job->record.base),
              job->branch_ref, "--"),
        branches_resolved);
}

static void repository_not_found(struct job *job, const struct helper_end *end) {
    if (job_worked(job, end, "git rev-parse"))
        error_set(&job->err, -EIO, "git does not say where the repository of '%s' is",
                  job->record.repository);
    fail(job);
}

/* Only here git finds the repository itself: the owner's folder; git refuses other users' ones. */
static void find_git(struct job *job, bool reads, const char *const *words, job_step then) {
    const struct job_call call = {
        .git = words, .cwd = job->record.repository, .is_offline = true, .reads = reads
    };
    job_call(job, &call, then);
}

/* "/repo/.git", "sub/dir/", "refs/heads/main" */
static void repository_found(struct job *job, const struct helper_end *end) {
    static const char heads[] = "refs/heads/";
    _cleanup_(strbuf_finish) struct strbuf common = STRBUF_INIT, prefix = STRBUF_INIT,
                                           head = STRBUF_INIT;
    if (!git_output_line(end->output, 0, &common) || *strbuf_text(&common) != '/'
        || !git_output_line(end->output, 1, &prefix)) {
        find_git(job, false, (const char *const[]){ "rev-parse", "--git-dir", NULL },
                 repository_not_found);
        return;
    }
    (void)git_output_line(end->output, 2, &head);
    free(job->record.common_dir);
    free(job->record.prefix);
    job->record.common_dir = strbuf_take(&common);
    job->record.prefix = strbuf_take(&prefix);
    if (!*job->record.base && strncmp(strbuf_text(&head), heads, strlen(heads)) != 0) {
        error_set(&job->err, -ENOENT,
                  "'%s' has no branch checked out: say which with projects.P.base_branch",
                  job->record.repository);
        fail(job);
        return;
    }
    if (!*job->record.base) {
        free(job->record.base);
        job->record.base = xstrdup(strbuf_text(&head) + strlen(heads));
    }
    resolve_branches(job);
}

static void find_repository(struct job *job) {
    static const char *const words[] = { "rev-parse",
                                         "--path-format=absolute",
                                         "--git-common-dir",
                                         "--show-prefix",
                                         "--symbolic-full-name",
                                         "HEAD",
                                         NULL };
    find_git(job, true, words, repository_found);
}

/* --- unfinished worktrees --------------------------------------------------------------------- */

static void pruned(struct job *job, const struct helper_end *end) {
    (void)end; /* the next steps report what is wrong with the repository */
    find_repository(job);
}

static void prune(struct job *job, const struct helper_end *end) {
    (void)end;
    job_git(job, WORDS("worktree", "prune"), pruned);
}

static void removed(struct job *job, const struct helper_end *end) {
    (void)end; /* git may not know it */
    worktree_delete(job, prune);
}

/* --- start ------------------------------------------------------------------------------------ */

static void abandoned(struct job *job, const struct helper_end *end) {
    if (!worked(job, end, "git checkout"))
        return;
    job->record.rebasing = job->record.removing = false;
    if (job_write_record(job))
        lock(job);
}

/* Continues with what an earlier attempt left. */
static void use(struct job *job) {
    worktree_break_locks(&job->record, job->branch);
    if (job->record.rebasing || job->record.removing) /* of the latter files may be missing */
        worktree_abandon_rebase(job, abandoned);
    else if (job_write_record(job)) /* the merge mode may have changed */
        lock(job);
}

static void take_text(char **to, char **from) {
    free(*to);
    *to = TAKE_PTR(*from);
}

/* The record has the current settings; for an existing worktree its origin takes precedence. */
static void take_old(struct worktree_record *record, struct worktree_record *old) {
    take_text(&record->repository, &old->repository);
    take_text(&record->base, &old->base);
    take_text(&record->prefix, &old->prefix);
    take_text(&record->git_dir, &old->git_dir);
    take_text(&record->common_dir, &old->common_dir);
    record->made = true;
    record->rebasing = old->rebasing;
    record->prepared = old->prepared;
    record->removing = old->removing;
}

/* 0: missing, or unfinished. */
static int check_old(struct job *job, int there) {
    if (there == -EXDEV)
        return error_set(
            &job->err, -EBUSY,
            "'%s' is a copy, and its branch is checked out where it was copied from: this home "
            "is a copy of another, remove the folder and its .json",
            job->path);
    if (there == -EPERM)
        return error_set(&job->err, -EPERM, WORKTREE_FOREIGN "; move the folder away", job->path);
    if (!job->has_record && there != -ENOENT)
        return error_set(&job->err, -EEXIST, "'%s' is in the way: it was not made here, move it",
                         job->path);
    return 0;
}

void worktree_make_begin(struct job *job) {
    struct worktree_record old = { 0 };
    struct strbuf git_dir = STRBUF_INIT;
    job->doing = "looks at its worktree";
    job->has_record = worktree_record_read(job->e->data, job->id, &old, NULL) == 0;
    int there =
        job->has_record ? worktree_find(job->path, &old) : worktree_git_dir(job->path, &git_dir);
    strbuf_finish(&git_dir);
    bool is_made = job->has_record && old.made && there == 0;
    if (is_made)
        take_old(&job->record, &old);
    worktree_record_finish(&old);
    if (is_made)
        use(job);
    else if (check_old(job, there) < 0)
        fail(job);
    else if (job->has_record) {
        job->doing = "makes its worktree again";
        job_git(job, WORDS("worktree", "remove", "--force", "--force", job->path), removed);
    } else
        find_repository(job);
}
