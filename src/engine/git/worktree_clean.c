/* worktree_clean.c: removes worktrees that are no longer needed.
 *
 * Checked when their task has ended or is deleted, and all of them at the start. A worktree is
 * removed when nothing in it would be lost: nothing uncommitted, and no commit that its base branch
 * lacks, after retention.merged_days; or, if its branch was the result (merge: local, mr), nothing
 * that is not on that branch. The branch is deleted too in the first case. Everything else stays
 * for retention.worktree_days: failed work until it is retried, work of a deleted task until a
 * person looks at it.
 *
 * After these days, and while the disk is low, the folder of a finished task is removed if
 * everything in it is committed on its branch. The branch stays, and a retry creates the folder
 * again from it. Ignored files (build folders, packages) are what fills disks. */
#include <errno.h>
#include <string.h>

#include "engine/git/git_internal.h"
#include "os/log.h"

static void keep(struct job *job, const char *format, ...) _printf_(2, 3);
static void keep(struct job *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&job->kept, format, args);
    va_end(args);
    job_end(job);
}

static void keep_with_error(struct job *job) {
    keep(job, "%s", job->err.text);
}

/* --- removing --------------------------------------------------------------------------------- */

/* Failures are retried together with the record. */
static void remove_record(struct job *job) {
    if (!job->is_orphan)
        delivery_keep_removed(job, job->branch_is_there ? "worktree" : "worktree and branch");
    if (!job->keeps_record)
        worktree_record_remove(job->e->data, job->id);
    job_end(job);
}

static void finish_removal(struct job *job) {
    worktree_import_discard(job, remove_record);
}

/* A branch that was moved meanwhile stays. */
static void delete_branch(struct job *job) {
    job_git_for_others(job, WORDS("update-ref", "-d", job->branch_ref, job->head), finish_removal);
}

static void worktree_removed(struct job *job) {
    if (job->result.code > 0) { /* git refused; a killed git may have begun */
        job->record.removing = false;
        (void)job_write_record(job, NULL);
    }
    if (!job_worked(job, "git worktree remove", keep_with_error))
        return;
    if (job->branch_is_there)
        finish_removal(job);
    else
        delete_branch(job);
}

/* Without --force git would check the status once more, outside the sandbox of the run. If the
 * worktree is still locked, git reports it. */
static void remove_worktree(struct job *job) {
    job->record.removing = true;
    if (job_write_record(job, keep_with_error))
        job_git(job, WORDS("worktree", "remove", "--force", job->path), worktree_removed);
}

static void submodules_listed(struct job *job) {
    if (job->result.code != 1) {
        keep(job, job->result.code == 0 ? "it has submodules, whose commits may be nowhere else"
                                        : "git cannot tell whether it has submodules");
    } else if (worktree_is_locked(&job->record)) {
        job_git(job, WORDS("worktree", "unlock", job->path), remove_worktree);
    } else {
        remove_worktree(job);
    }
}

/* `branch_is_there`: it stays. */
static void remove_now(struct job *job, bool with_branch) {
    static const char script[] = "{ \"$@\" || echo '160000 '; } | grep -q '^160000 '";
    job->branch_is_there = !with_branch;
    const struct job_call call = { .argv = WORDS("sh", "-c", script, "sh"),
                                   .git = WORDS("ls-files", "--stage"),
                                   .git_dir = job->record.git_dir,
                                   .work_tree = job->path,
                                   .is_offline = true };
    job_call(job, &call, submodules_listed);
}

/* --- may it be removed? ----------------------------------------------------------------------- */

static void keep_commits(struct job *job) {
    keep(job, "%s commit%s not in '%s'", job->count, strcmp(job->count, "1") == 0 ? " is" : "s are",
         job->record.base);
}

/* Merged work is kept for retention.merged_days; deleted tasks have no record of it. */
static void remove_merged(struct job *job) {
    bool is_kept = !job->is_orphan && !host_of(job->e)->disk_low
                   && config_number(job->e->config, "retention.merged_days", NULL) > 0
                   && !delivery_is_old(job->e, job->key.task, "retention.merged_days");
    if (is_kept)
        keep(job, "it is kept for retention.merged_days");
    else
        remove_now(job, true);
}

/* Nothing is lost if the branch has what is checked out. */
static void tip_resolved(struct job *job) {
    char tip[GIT_HASH_MAX];
    if (job->result.code != 0 || !git_hash(job->result.output, tip)
        || strcmp(tip, job->head) != 0) {
        keep_commits(job);
        return;
    }
    if (!job->is_handed_over) {
        log_info("worktree '%s' goes, branch '%s' has its commits", job->path, job->branch);
        job->keeps_record = !job->is_orphan;
    }
    remove_now(job, false);
}

static void commits_counted(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf count = STRBUF_INIT;
    if (!job_worked(job, "git rev-list", keep_with_error))
        return;
    (void)git_output_line(job->result.output, 0, &count);
    job->count = job_text(job, "%s", strbuf_text(&count));
    job->is_handed_over =
        (strcmp(job->record.merge, "local") == 0 || strcmp(job->record.merge, "mr") == 0)
        && state_of(job->e, job->key.task) == TASK_DONE;
    bool may_go = job->is_handed_over || host_of(job->e)->disk_low
                  || delivery_is_old(job->e, job->key.task, "retention.worktree_days");
    if (strcmp(strbuf_text(&count), "0") == 0)
        remove_merged(job);
    else if (may_go && !worktree_in_progress(job->record.git_dir)) /* only the folder */
        job_git(job, WORDS("rev-parse", "--verify", "--quiet", job->branch_ref), tip_resolved);
    else
        keep_commits(job);
}

/* Its fourth line is where it left the base. If that equals HEAD, the base has all of it. */
static void head_read(struct job *job) {
    char from[GIT_HASH_MAX];
    if (!git_output_hash(job->result.output, 0, job->head)) {
        keep(job, "git cannot tell what is checked out there");
        return;
    }
    if (git_output_hash(job->result.output, 3, from) && strcmp(job->head, from) == 0)
        remove_merged(job);
    else
        job_git(job,
                WORDS("rev-list", "--count", job->head, job_text(job, "^%s", job->record.base)),
                commits_counted);
}

static void status_read(struct job *job) {
    if (!job_worked(job, "git status", keep_with_error))
        return;
    job->lacks_files = job->record.removing && git_status_only_lacks_files(job->result.output);
    if (job->result.size > 0 && !job->lacks_files) {
        keep(job, "it has changes that are not committed");
        return;
    }
    const struct job_call call = { .git = WORDS("rev-parse", "HEAD",
                                                job_text(job, "%s...HEAD", job->record.base), "--"),
                                   .git_dir = job->record.git_dir,
                                   .work_tree = job->path,
                                   .is_offline = true,
                                   .reads = true };
    job_call(job, &call, head_read);
}

/* --- worktrees that git created or removed only in part --------------------------------------- */

static void prune(struct job *job) {
    job_git(job, WORDS("worktree", "prune"), job->after_discard);
}

static void delete_folder(struct job *job) {
    const char *const argv[] = { "rm", "-rf", "--", job->path, NULL };
    job_call(job, &(struct job_call){ .argv = argv, .cwd = "/" }, prune);
}

/* Git may not know the worktree: then it refuses to remove it. */
void worktree_discard(struct job *job, job_step then) {
    job->after_discard = then;
    job_git(job, WORDS("worktree", "remove", "--force", "--force", job->path), delete_folder);
}

/* Its commits may be all that is left. */
static void branch_counted(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf count = STRBUF_INIT;
    (void)git_output_line(job->result.output, 0, &count);
    if (job->result.code == 0 && strcmp(strbuf_text(&count), "0") == 0)
        delete_branch(job);
    else
        finish_removal(job);
}

static void branch_resolved(struct job *job) {
    if (job->result.code != 0 || !git_hash(job->result.output, job->head))
        finish_removal(job);
    else
        job_git(job,
                WORDS("rev-list", "--count", job->head, job_text(job, "^%s", job->record.base)),
                branch_counted);
}

static void resolve_branch(struct job *job) {
    job_git(job, WORDS("rev-parse", "--verify", "--quiet", job->branch_ref), branch_resolved);
}

/* --- start ------------------------------------------------------------------------------------ */

void worktree_clean_begin(struct job *job) {
    struct strbuf git_dir = STRBUF_INIT;
    struct task_view view;
    if (!job->is_orphan && core_task(job->e->core, job->key.task, &view)
        && !task_state_is_final(view.state)) { /* it was retried meanwhile */
        job_end(job);
        return;
    }
    int found = job->has_record ? worktree_find(job->path, &job->record)
                                : worktree_git_dir(job->path, &git_dir);
    strbuf_finish(&git_dir);
    if (!job->has_record) {
        if (found != -ENOENT)
            keep(job, "it was not made here");
        else
            job_end(job);
    } else if (found == -ENOENT) {
        job->after_discard = resolve_branch;
        prune(job);
    } else if (!job->record.made || (job->record.removing && found == -EUCLEAN)) {
        worktree_discard(job, resolve_branch);
    } else if (found == -EPERM) {
        keep(job, WORKTREE_REPLACED, job->path);
    } else if (found < 0) {
        keep(job, "its repository '%s' does not know it", job->record.repository);
    } else {
        /* Git would read a nested repository with the settings of that. Uncommitted work there is
         * not lost: a worktree with a nested repository is never removed. */
        worktree_as_run(
            job,
            WORDS("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"),
            false, status_read);
    }
}
