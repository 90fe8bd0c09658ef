/* worktree_make.c: makes a task's worktree before its run.
 *
 * It is made once and used by every attempt. The record shows whether git has finished it: an
 * unfinished one was never used by a run, so it is discarded and made again; a finished one is
 * never discarded here. A folder without a record was not made by this home, and is in the way. So
 * is a branch of that name if this home has neither a record nor a run of it: each home counts task
 * ids, and the commits of the other home would be merged as this task's.
 *
 * The worktree is locked while a run is live, so that a manual `git worktree prune` spares it. */
#include <errno.h>
#include <string.h>

#include "engine/git/git_internal.h"
#include "os/copy_files.h"

static void make_failed(struct job *job) {
    (void)error_prefix(&job->err, "no worktree for '%s'", job->id);
    job_end(job);
}

static const char *lock_reason(struct job *job) {
    return job_text(job, "sluice: %s runs here", job->id);
}

/* --- a new worktree --------------------------------------------------------------------------- */

static void set_made(struct job *job) {
    job->record.made = true;
    if (job_write_record(job, job_end))
        conflict_place(job, job_end);
}

/* In a new worktree only what was just copied can be untracked. Work is saved with `git add --all`,
 * and agents do the same: what git does not ignore would be committed and merged. */
static void untracked_listed(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    if (!job_worked(job, "git ls-files", make_failed))
        return;
    if (git_output_line(job->result.output, 0, &name) && name.length > 0) {
        error_set(&job->err, -EINVAL,
                  "'%.150s' was copied, but git does not ignore it, so it would be committed: add "
                  "it to .gitignore or .git/info/exclude, or remove it from projects.P.copy",
                  strbuf_text(&name));
        make_failed(job);
        return;
    }
    set_made(job);
}

/* projects.P.copy: ignored files that every worktree needs. */
static void copy_project_files(struct job *job) {
    const struct engine_project *project = project_of_task(job->e, job->key.task);
    struct copy_files what = { job->record.repository, job->path, job->record.prefix, NULL, 0 };
    if (project)
        what.count = config_words(job->e->config, "projects.P.copy", project->name, &what.patterns);
    int copied = what.count > 0 ? copy_files(&what, &job->err) : 0;
    if (copied < 0)
        make_failed(job);
    else if (copied == 0)
        set_made(job);
    else
        job_git_in_worktree(job, WORDS("ls-files", "--others", "--exclude-standard"),
                            untracked_listed);
}

/* No run has used it yet: record what its `.git` says now. */
static void worktree_added(struct job *job) {
    if (!job_worked(job, "git worktree add", make_failed))
        return;
    if (worktree_find(job->path, &job->record) < 0) {
        error_set(&job->err, -EUCLEAN, "git made '%s' in another repository than '%s'", job->path,
                  job->record.repository);
        make_failed(job);
        return;
    }
    copy_project_files(job);
}

static void add_worktree(struct job *job) {
    job->doing = "makes its worktree";
    if (!job_write_record(job, job_end))
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
    job_call(job, &call, worktree_added);
}

/* An unknown name is printed unchanged, and ends the list. */
static void branches_resolved(struct job *job) {
    char hash[GIT_HASH_MAX];
    const char *repository = job->record.repository;
    if (job->result.code < 0) {
        (void)job_worked(job, "git rev-parse", make_failed);
        return;
    }
    bool base_is_there = git_output_hash(job->result.output, 0, hash);
    job->branch_is_there = base_is_there && git_output_hash(job->result.output, 1, hash);
    if (base_is_there && job->needs_branch && !job->branch_is_there) {
        error_set(&job->err, -ENOENT, "there is no branch '%s' in '%s'", job->branch, repository);
        job_end(job);
        return;
    }
    if (!base_is_there)
        error_set(&job->err, -ENOENT, "'%s' has no %s '%s'", repository,
                  strcmp(job->record.merge, "direct") == 0 ? "branch" : "commit", job->record.base);
    else if (job->branch_is_there && !job->has_record
             && !workspace_has_run_in(job->e, job->id, job->key.attempt, job->path))
        error_set(&job->err, -EEXIST,
                  "branch '%s' of '%s' is not from here: another home works in this repository, or "
                  "has; rename the branch, or give the project another prefix",
                  job->branch, repository);
    else {
        add_worktree(job);
        return;
    }
    make_failed(job);
}

static void repository_not_found(struct job *job) {
    if (job_worked(job, "git rev-parse", make_failed)) {
        error_set(&job->err, -EIO, "git does not say where the repository of '%s' is",
                  job->record.repository);
        make_failed(job);
    }
}

/* Only here git finds the repository itself: the owner's folder; git refuses other users' ones. */
static void find_git(struct job *job, bool reads, const char *const *words, job_step then) {
    const struct job_call call = {
        .git = words, .cwd = job->record.repository, .is_offline = true, .reads = reads
    };
    job_call(job, &call, then);
}

/* "/repo/.git", "sub/dir/", "refs/heads/main" */
static void repository_found(struct job *job) {
    static const char heads[] = "refs/heads/";
    struct worktree_record *record = &job->record;
    _cleanup_(strbuf_finish) struct strbuf common = STRBUF_INIT, prefix = STRBUF_INIT,
                                           head = STRBUF_INIT;
    if (!git_output_line(job->result.output, 0, &common) || *strbuf_text(&common) != '/'
        || !git_output_line(job->result.output, 1, &prefix)) {
        find_git(job, false, WORDS("rev-parse", "--git-dir"), repository_not_found);
        return;
    }
    (void)git_output_line(job->result.output, 2, &head);
    free(record->common_dir);
    free(record->prefix);
    record->common_dir = strbuf_take(&common);
    record->prefix = strbuf_take(&prefix);
    if (!*record->base && strncmp(strbuf_text(&head), heads, strlen(heads)) != 0) {
        error_set(&job->err, -ENOENT,
                  "'%s' has no branch checked out: say which with projects.P.base_branch",
                  record->repository);
        make_failed(job);
        return;
    }
    if (!*record->base) {
        free(record->base);
        record->base = xstrdup(strbuf_text(&head) + strlen(heads));
    }
    const char *refs = strcmp(record->merge, "direct") == 0 ? heads : "";
    job_git_read(job,
                 WORDS("rev-parse", job_text(job, "%s%s^{commit}", refs, record->base),
                       job->branch_ref, "--"),
                 branches_resolved);
}

static void find_repository(struct job *job) {
    find_git(job, true,
             WORDS("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix",
                   "--symbolic-full-name", "HEAD"),
             repository_found);
}

/* --- the worktree of an earlier attempt ------------------------------------------------------- */

/* The lock only protects it from people: the run starts without it, too. */
static void lock_worktree(struct job *job) {
    if (worktree_is_locked(&job->record)) /* by the previous attempt, whose daemon was killed */
        job_end(job);
    else
        job_git(job, WORDS("worktree", "lock", "--reason", lock_reason(job), job->path), job_end);
}

static void rebase_abandoned(struct job *job) {
    if (!job_worked(job, "git checkout", make_failed))
        return;
    job->record.rebasing = job->record.removing = job->record.repairing = false;
    if (job_write_record(job, job_end))
        conflict_place(job, lock_worktree);
}

static void reuse_worktree(struct job *job) {
    worktree_break_locks(&job->record, job->branch);
    if (job->record.rebasing || job->record.removing) /* of the latter files may be missing */
        worktree_abandon_rebase(job, rebase_abandoned);
    else if (job_write_record(job, job_end)) /* the merge mode may have changed */
        conflict_place(job, lock_worktree);
}

/* The record has the current settings; for an existing worktree its origin takes precedence. */
static void keep_origin(struct worktree_record *record, struct worktree_record *old) {
    char **const texts[][2] = {
        { &record->repository, &old->repository }, { &record->base, &old->base },
        { &record->prefix, &old->prefix },         { &record->git_dir, &old->git_dir },
        { &record->common_dir, &old->common_dir }, { &record->conflict, &old->conflict },
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        free(*texts[i][0]);
        *texts[i][0] = TAKE_PTR(*texts[i][1]);
    }
    record->made = true;
    record->rebasing = old->rebasing;
    record->prepared = old->prepared;
    record->removing = old->removing;
    record->repairing = old->repairing;
}

/* 0: the folder is missing, or an unfinished worktree of ours. `found`: of worktree_find. */
static int check_folder(struct job *job, int found) {
    if (found == -EXDEV)
        return error_set(
            &job->err, -EBUSY,
            "'%s' is a copy, and its branch is checked out where it was copied from: this home "
            "is a copy of another, remove the folder and its .json",
            job->path);
    if (found == -EPERM)
        return error_set(&job->err, -EPERM, WORKTREE_REPLACED "; move the folder away", job->path);
    if (!job->has_record && found != -ENOENT)
        return error_set(&job->err, -EEXIST, "'%s' is in the way: it was not made here, move it",
                         job->path);
    return 0;
}

void worktree_make_begin(struct job *job) {
    struct worktree_record old = { 0 };
    struct strbuf git_dir = STRBUF_INIT;
    job->doing = "looks at its worktree";
    job->has_record = worktree_record_read(job->e->data, job->id, &old, NULL) == 0;
    int found =
        job->has_record ? worktree_find(job->path, &old) : worktree_git_dir(job->path, &git_dir);
    strbuf_finish(&git_dir);
    bool is_made = job->has_record && old.made && found == 0;
    if (is_made)
        keep_origin(&job->record, &old);
    else if (job->has_record) { /* a new one from its branch needs the merge again */
        freep(&job->record.conflict);
        job->record.conflict = TAKE_PTR(old.conflict);
        job->record.repairing = false;
    }
    worktree_record_finish(&old);
    if (is_made)
        reuse_worktree(job);
    else if (check_folder(job, found) < 0)
        make_failed(job);
    else if (job->has_record) {
        job->doing = "makes its worktree again";
        worktree_discard(job, find_repository);
    } else
        find_repository(job);
}
