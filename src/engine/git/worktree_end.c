/* worktree_end.c: after a run in a worktree its work is saved, committed, delivered.
 *
 * The end is withheld from the core meanwhile: dependent tasks must find the work where it belongs.
 * Unfinished work is committed as it is before another attempt, so nothing written is ever lost. An
 * iteration that continues finds its files as it left them.
 *
 * A good result that cannot be delivered costs no second run of the agent, which is not at fault.
 * The delivery is retried from its beginning; each step checks before it acts. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/policy.h"
#include "engine/git/git_internal.h"
#include "os/log.h"

#define WIP       "WIP: saved before recovery"
#define PAUSE_MAX MINUTES(5)

void worktree_end_fail(struct job *job, enum outcome outcome, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(job->end.message, sizeof(job->end.message), format, args);
    va_end(args);
    job->outcome = outcome;
    job->is_forced = true;
    worktree_end_finish(job);
}

static void unlock_merges(struct job *job) {
    if (job->lock >= 0)
        close(job->lock);
    job->lock = -1;
}

void worktree_end_again(struct job *job, const char *format, ...) {
    const struct config *config = job->e->config;
    unsigned most = (unsigned)config_number(config, "git.retries", NULL);
    char why[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    unlock_merges(job);
    if (job->merging) { /* the person decides whether to retry */
        worktree_end_fail(job, OUTCOME_UNMERGED, "%.200s", why);
        return;
    }
    if (job->deliveries++ >= most && job->record.implied) {
        WORKTREE_END_NOTE(job, "not committed: %.159s; its files are in '%.60s'", why, job->path);
        worktree_end_finish(job);
        return;
    }
    if (job->deliveries > most) {
        worktree_end_fail(job, OUTCOME_UNMERGED,
                          "not merged, tried %u time%s: %.160s; branch '%.60s' is kept",
                          job->deliveries, job->deliveries == 1 ? "" : "s", why, job->branch);
        return;
    }
    log_warning("task '%s' could not be merged, %u more tr%s: %s", job->id,
                most - job->deliveries + 1, most == job->deliveries ? "y" : "ies", why);
    job->doing = job_text(job, "waits to try again: %s", why);
    job->can_stop = true;
    job->tries = 0;
    job->err = (struct error){ 0 };
    job_pause(job, backoff_doubled(config_number(config, "git.retry_s", NULL), job->deliveries,
                                   PAUSE_MAX));
}

static void try_delivery_again(struct job *job) {
    worktree_end_again(job, "%s", job->err.text);
}

/* --- the last step ---------------------------------------------------------------------------- */

static void worktree_unlocked(struct job *job) {
    job->err.code = 0;
    job_end(job);
}

static void unlock_worktree(struct job *job) {
    job_git(job, WORDS("worktree", "unlock", job->path), worktree_unlocked);
}

void worktree_end_finish(struct job *job) {
    job->can_stop = false;
    unlock_merges(job);
    delivery_count_commits(job, unlock_worktree);
}

/* --- committing ------------------------------------------------------------------------------- */

static void try_commit(struct job *job);

/* A failed result stays in the worktree as it is. */
static void commit_failed(struct job *job) {
    if (job->outcome == OUTCOME_OK)
        try_delivery_again(job);
    else
        worktree_end_finish(job);
}

static void committed(struct job *job) {
    if (job->result.code != 0 && !job->anonymous && !job->result.timed_out && !job->result.error) {
        job->anonymous = true; /* git may lack a committer identity */
        try_commit(job);
        return;
    }
    if (job_worked(job, "git commit", commit_failed))
        job->after_commit(job);
}

static void try_commit(struct job *job) {
    worktree_as_run(job, WORDS("commit", "--quiet", "--no-verify", "-m", job->message), false,
                    committed);
}

static void index_imported(struct job *job) {
    if (job->err.code == 0)
        job->after_commit(job);
    else
        commit_failed(job);
}

static void index_compared(struct job *job) {
    bool is_clean = job->result.code == 0;
    if (job->result.code == 1 || (is_clean && conflict_is_open(&job->record)))
        try_commit(job);
    else if (job_worked(job, "git diff", commit_failed)) /* nothing to commit */
        worktree_import(job, index_imported);
}

static void all_added(struct job *job) {
    if (job_worked(job, "git add", commit_failed))
        worktree_as_run(job, WORDS("diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"),
                        true, index_compared);
}

void worktree_commit(struct job *job, const char *message, job_step after) {
    job->message = message;
    job->after_commit = after;
    worktree_as_run(job, WORDS("add", "--all"), true, all_added);
}

/* --- unfinished rebases ----------------------------------------------------------------------- */

/* `git rebase --abort` would refuse to overwrite the files that the rebase itself wrote. There may
 * have been no rebase to quit. */
static void rebase_quit(struct job *job) {
    worktree_as_run(job, WORDS("checkout", "--quiet", "--force", job->branch), false,
                    job->after_abandon);
}

void worktree_abandon_rebase(struct job *job, job_step then) {
    job->after_abandon = then;
    job_git_in_worktree(job, WORDS("rebase", "--quit"), rebase_quit);
}

/* --- merge: local, mr ------------------------------------------------------------------------- */

static void left_on_branch(struct job *job) {
    if (delivery_is_empty(&job->changes))
        WORKTREE_END_NOTE(job, "no changes: no file on branch '%s' differs from '%s'", job->branch,
                          job->record.base);
    else
        WORKTREE_END_NOTE(
            job, "its commits are on branch '%s'%s", job->branch,
            strcmp(job->record.merge, "direct") == 0 ? ", and are merged when it is approved" : "");
    worktree_end_finish(job);
}

static void handed_over(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf last = STRBUF_INIT;
    strbuf_puts(&job->output, job->result.output);
    git_error_message(job->result.output, &last);
    if (job->result.code == 0) {
        WORKTREE_END_NOTE(job, "merge request for '%s': %.150s", job->branch,
                          last.length ? strbuf_text(&last) : "done");
        worktree_end_finish(job);
        return;
    }
    const char *why = job->result.timed_out ? "it took longer than git.timeout_s"
                      : job->result.error
                          ? (*job->result.why ? job->result.why : strerror(job->result.error))
                          : strbuf_text(&last);
    worktree_end_again(job, "projects.P.mr_command failed: %s", why);
}

static void hand_over(struct job *job) {
    const struct engine *e = job->e;
    const struct engine_project *project = project_of_task(e, job->key.task);
    /* Commands of the repository have run since the last check; the delivery command is the owner's
     * and finds git itself. */
    if (worktree_find(job->path, &job->record) < 0) {
        worktree_end_fail(job, OUTCOME_FAILED, WORKTREE_REPLACED ": nothing is delivered",
                          job->path);
        return;
    }
    const char *const *words = NULL;
    size_t count =
        project ? config_words(e->config, "projects.P.mr_command", project->name, &words) : 0;
    if (count == 0) {
        worktree_end_again(job, "merge 'mr' needs projects.P.mr_command");
        return;
    }
    const struct git_variable variables[] = {
        { "branch", job->branch },
        { "base", job->record.base },
        { "id", job->id },
        { "title", job->record.title },
        { "repository", job->record.repository },
        { NULL, NULL },
    };
    const char **argv = arena_alloc(&job->arena, (count + 1) * sizeof(*argv));
    for (size_t i = 0; i < count; i++) {
        struct strbuf word = STRBUF_INIT;
        git_fill(words[i], variables, &word);
        argv[i] = arena_strdup(&job->arena, strbuf_text(&word));
        strbuf_finish(&word);
    }
    job->doing = "asks for a merge";
    job->can_stop = true;
    job_call(job, &(struct job_call){ .argv = argv }, handed_over);
}

/* --- start ------------------------------------------------------------------------------------ */

/* No branch of that name was requested: the rest is committed where the agent committed. */
static void left_elsewhere(struct job *job) {
    WORKTREE_END_NOTE(job,
                      "its worktree '%.120s' is not on its branch '%.60s': its commits are there",
                      job->path, job->branch);
    worktree_end_finish(job);
}

static void commit_and_deliver(struct job *job) {
    const char *message = job_text(job, "%s\n\nSluice-Task: %s",
                                   *job->record.title ? job->record.title : job->id, job->id);
    bool is_direct = strcmp(job->record.merge, "direct") == 0;
    bool merges =
        job->merging
            ? is_direct || !job->is_delivery
            : is_direct && !merge_waits_for_person(job->e, job->key.task, job->record.merge);
    if (merges)
        merge_begin(job);
    else
        worktree_commit(job, message,
                        strcmp(job->record.merge, "mr") == 0 ? hand_over : left_on_branch);
}

static void head_read(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
    if (job->result.code != 1 && !job_worked(job, "git symbolic-ref", try_delivery_again))
        return;
    (void)git_output_line(job->result.output, 0, &head);
    const char *message = job_text(job, "%s\n\nSluice-Task: %s",
                                   *job->record.title ? job->record.title : job->id, job->id);
    bool is_elsewhere = job->result.code != 0 || strcmp(strbuf_text(&head), job->branch) != 0;
    if (is_elsewhere && job->record.implied && !job->merging) {
        worktree_commit(job, message, left_elsewhere);
        return;
    }
    if (is_elsewhere) {
        worktree_end_fail(job, OUTCOME_FAILED,
                          "its worktree is on '%.80s' and not on its branch '%s': there is nothing "
                          "to merge",
                          job->result.code == 0 ? strbuf_text(&head) : "no branch", job->branch);
        return;
    }
    conflict_conclude(job, commit_and_deliver);
}

static void read_head(struct job *job) {
    job->doing = "commits its work";
    job_git_in_worktree(job, WORDS("symbolic-ref", "--quiet", "--short", "HEAD"), head_read);
}

void worktree_deliver(struct job *job) {
    bool is_ours = conflict_is_open(&job->record);
    const char *busy = is_ours ? NULL : worktree_in_progress(job->record.git_dir);
    if (busy && job->record.implied && !job->merging) {
        WORKTREE_END_NOTE(job, "not committed: a %s is unfinished in its worktree '%s'", busy,
                          job->path);
        worktree_end_finish(job);
        return;
    }
    if (busy) {
        worktree_end_fail(job, OUTCOME_FAILED, "a %s is unfinished in its worktree '%s'", busy,
                          job->path);
        return;
    }
    conflict_check_markers(job, read_head);
}

static void continue_with_outcome(struct job *job) {
    const struct engine_project *project = project_of_task(job->e, job->key.task);
    bool delivers = job->outcome == OUTCOME_OK && strcmp(job->record.merge, "none") != 0;
    bool must_change =
        project
        && strcmp(config_text(job->e->config, "projects.P.no_changes", project->name), "fail") == 0;
    bool is_over = job->outcome == OUTCOME_FAILED || job->outcome == OUTCOME_TIMEOUT
                   || job->outcome == OUTCOME_LOST || job->outcome == OUTCOME_CANCELED;
    if (delivers && must_change && delivery_is_empty(&job->changes))
        worktree_end_fail(job, OUTCOME_INVALID,
                          "it changed no file, and projects.P.no_changes is 'fail'");
    else if (delivers)
        worktree_deliver(job);
    else if (is_over && !worktree_in_progress(job->record.git_dir)) {
        job->doing = "saves what it has left";
        worktree_commit(job, WIP, worktree_end_finish);
    } else
        worktree_end_finish(job);
}

static void count_changes(struct job *job) {
    delivery_count_changes(job, continue_with_outcome);
}

static void rebase_abandoned(struct job *job) {
    if (!job_worked(job, "git checkout", try_delivery_again))
        return;
    job->is_rebased = true; /* or was, before the daemon was killed: its checks have not passed */
    diff_keep(job, count_changes);
}

/* A killed daemon was about to launch it: the next launch aborts what that left half done. */
static bool was_launched(struct job *job) {
    return job->outcome == OUTCOME_OK || job_read_spec(job, job->key.attempt, NULL) != -ENOENT;
}

static void commits_imported(struct job *job) {
    if (job->err.code < 0 && job->outcome == OUTCOME_OK)
        try_delivery_again(job);
    else if (job->err.code < 0) { /* not lost: the next run of the task continues with it */
        log_warning("what '%s' has committed is not saved: %s", job->id, job->err.text);
        worktree_end_finish(job);
    } else if (job->record.rebasing && !was_launched(job))
        worktree_end_finish(job);
    else if (job->record.rebasing)
        worktree_abandon_rebase(job, rebase_abandoned);
    else
        diff_keep(job, count_changes);
}

void worktree_end_begin(struct job *job) {
    int there = job->record.made ? worktree_find(job->path, &job->record) : -ENOENT;
    if (there < 0) {
        if (job->outcome == OUTCOME_OK && strcmp(job->record.merge, "none") != 0
            && !job->record.implied) {
            job->outcome = OUTCOME_FAILED;
            job->is_forced = true;
            if (there == -EPERM)
                WORKTREE_END_EXPLAIN(job, WORKTREE_REPLACED ": nothing is delivered", job->path);
            else
                WORKTREE_END_EXPLAIN(job, "its worktree '%.180s' is %s", job->path,
                                     there == -EXDEV ? "a copy of another" : "gone");
        }
        if (there == -EPERM) {
            log_warning("what '%s' has left is not saved: " WORKTREE_REPLACED, job->id, job->path);
            worktree_end_finish(job);
        } else
            job_end(job);
        return;
    }
    worktree_break_locks(&job->record, job->branch);
    worktree_import(job, commits_imported);
}
