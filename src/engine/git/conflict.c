/* conflict.c: work that conflicts with its base branch, and its repair by the next iteration.
 *
 * Three moments, each in the job that has the worktree at that time:
 *
 *   conflict_describe   a rebase has found conflicts. What the next run has to know is collected: the
 *                       files, and the commits of both sides. The worktree stays clean; the record
 *                       names the commit of the base.
 *   conflict_place      before the next run: that commit is merged into the worktree, and conflicts
 *                       are left in the files. A merge, and not a rebase, because it is resolved at
 *                       once and not commit by commit, the branch stays checked out, and an agent
 *                       that cannot use git needs only to edit files.
 *   conflict_conclude   after that run: files without conflict markers conclude the merge. The
 *                       history of the base stays a line, so the result becomes one commit on it.
 *
 * Nothing is lost if the run undoes the merge: its earlier commits are on the branch, and the next
 * delivery finds the same conflict. Every step checks before it acts: after a crash the job starts
 * over. See docs/internals/decisions/0046. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "engine/git/git_internal.h"
#include "os/log.h"
#include "os/outside.h"

#define NAMES_SHOWN    5 /* in messages for people */
#define FILES_SHOWN    50
#define COMMITS_SHOWN  20
#define SUBJECTS_KEPT  "50"  /* in the message of the one commit */
#define SUBJECT_MAX    120u  /* bytes */
#define MERGE_HEAD_MAX 1024u /* bytes of the file */

bool conflict_is_known(const struct worktree_record *record) {
    return record->conflict && *record->conflict;
}

static void set_conflict(struct worktree_record *record, const char *commit, bool is_placed) {
    char *copy = xstrdup(commit);
    free(record->conflict);
    record->conflict = copy;
    record->repairing = is_placed;
}

/* As the run: merge drivers and filters of the repository are executed. */
static void merge_base(struct job *job, const char *commit, job_step then) {
    worktree_as_run(job,
                    WORDS("-c", "merge.conflictStyle=diff3", "merge", "--no-commit", "--no-ff",
                          "--no-edit", "--no-stat", "--quiet", commit),
                    false, then);
}

static bool lacks_identity(struct job *job) {
    if (job->result.code == 0 || job->anonymous || job->result.timed_out || job->result.error
        || !strstr(job->result.output, "empty ident"))
        return false;
    job->anonymous = true;
    return true;
}

static void list_unmerged(struct job *job, job_step then) {
    job_git_in_worktree(
        job, WORDS("diff", "--no-ext-diff", "--no-textconv", "--name-only", "--diff-filter=U"),
        then);
}

static void deliver_again(struct job *job) {
    worktree_end_again(job, "%s", job->err.text);
}

/* --- what the next run has to know ------------------------------------------------------------ */

/* Lines of git as a list; texts of others are cut and have no control characters. */
static void put_list(struct strbuf *out, const char *lines, size_t most) {
    size_t shown = 0, more = 0;
    for (const char *at = lines; *at; at += *at == '\n') {
        size_t length = strcspn(at, "\n"), cut = length;
        if (length > 0 && shown == most)
            more++;
        if (cut > SUBJECT_MAX)
            for (cut = SUBJECT_MAX; cut > 0 && ((unsigned char)at[cut] & 0xC0) == 0x80;)
                cut--;
        if (length > 0 && shown < most) {
            strbuf_puts(out, "- ");
            for (size_t i = 0; i < cut; i++)
                if ((unsigned char)at[i] >= 0x20 && at[i] != 0x7f)
                    strbuf_putc(out, at[i]);
            strbuf_puts(out, cut < length ? "…\n" : "\n");
            shown++;
        }
        at += length;
    }
    if (more > 0)
        strbuf_printf(out, "- and %zu more\n", more);
}

static void fail_with_conflict(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    (void)git_names(job->conflict_files, NAMES_SHOWN, &names);
    strbuf_clear(&job->output);
    strbuf_puts(&job->output, strbuf_text(&names));
    job->record.rebasing = false;
    (void)job_write_record(job, NULL);
    job->has_conflict = true;
    worktree_end_fail(job, OUTCOME_CONFLICT, "conflicts with '%s' in %.150s; branch '%s' is kept",
                      job->record.base, strbuf_text(&names), job->branch);
}

static void write_description(struct job *job, const char *theirs, const char *own) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text,
                  "Your work could not be merged: it conflicts with the branch '%s', which has "
                  "changed since you began.\n\nCommit %.12s of '%s' has been merged into this "
                  "worktree, and the merge is not finished. These files have conflicts:\n\n",
                  job->record.base, job->base_hash, job->record.base);
    put_list(&text, job->conflict_files, FILES_SHOWN);
    strbuf_printf(&text, "\nCommits on '%s' since you began:\n\n", job->record.base);
    put_list(&text, theirs, COMMITS_SHOWN);
    strbuf_puts(&text, "\nYour commits:\n\n");
    put_list(&text, own, COMMITS_SHOWN);
    strbuf_puts(
        &text,
        "\nResolve every conflict so that both changes keep their purpose, and remove all conflict "
        "markers (<<<<<<<, |||||||, =======, >>>>>>>). A file without markers was deleted or "
        "renamed on one side, or is binary: leave it as it should be. Do not abort the merge, "
        "reset or rebase. You need not commit: what you leave in the worktree is committed and "
        "merged.\n");
    job->conflict_text = job_text(job, "%s", strbuf_text(&text));
}

/* The output of git log, in the arena: the next command replaces the result. */
static void own_commits_listed(struct job *job) {
    write_description(job, job->their_commits, job->result.code == 0 ? job->result.output : "");
    diff_keep_rebase(job, job->base_hash); /* the next iteration shows its work on the new base */
    set_conflict(&job->record, job->base_hash, false);
    fail_with_conflict(job);
}

static void list_commits(struct job *job, const char *from, const char *to, job_step then) {
    job_git_read(job,
                 WORDS("log", "--no-merges", "--no-color", "--no-decorate", "--no-show-signature",
                       "--format=%h %s", "--max-count=100", to, job_text(job, "^%s", from), "--"),
                 then);
}

static void their_commits_listed(struct job *job) {
    job->their_commits = job_text(job, "%s", job->result.code == 0 ? job->result.output : "");
    list_commits(job, job->base_hash, job->branch_ref, own_commits_listed);
}

static void trial_abandoned(struct job *job) {
    if (job_worked(job, "git checkout", deliver_again))
        list_commits(job, job->branch_ref, job->base_hash, their_commits_listed);
}

static void trial_concluded(struct job *job) {
    job->is_rebased = true; /* its checks have not passed */
    job->after_conflict(job);
}

static void trial_unmerged_listed(struct job *job) {
    if (job->result.code != 0 || !*job->result.output) {
        const char *why = job->merge_error;
        error_set(&job->err, -EIO, "%s", why && *why ? why : "git merge: no conflict is named");
        deliver_again(job);
        return;
    }
    job->conflict_files = job_text(job, "%s", job->result.output);
    worktree_abandon_rebase(job, trial_abandoned);
}

/* A rebase can conflict in an intermediate state although the results do not. Then no run is
 * needed: the merge is concluded as after a repair. */
static void trial_merged(struct job *job) {
    if (lacks_identity(job)) {
        merge_base(job, job->base_hash, trial_merged);
        return;
    }
    if (job_worked(job, "git merge", NULL)) {
        set_conflict(&job->record, job->base_hash, true);
        if (job_write_record(job, deliver_again))
            conflict_conclude(job, trial_concluded);
        return;
    }
    job->merge_error = job_text(job, "%s", job->err.text);
    list_unmerged(job, trial_unmerged_listed);
}

void conflict_describe(struct job *job, job_step merged) {
    job->doing = "collects what conflicts";
    job->after_conflict = merged;
    job->record.rebasing = true; /* after a crash the merge is abandoned, like a rebase */
    if (job_write_record(job, deliver_again))
        merge_base(job, job->base_hash, trial_merged);
}

/* --- before the run --------------------------------------------------------------------------- */

/* A run without the merge finds the conflict again when it has ended: better than no run. */
static void place_nothing(struct job *job) {
    log_warning("the conflict of '%s' with '%s' cannot be left in its worktree: %s", job->id,
                job->record.base, job->merge_error);
    set_conflict(&job->record, "", false);
    job->record.rebasing = false;
    job->err = (struct error){ 0 };
    if (job_write_record(job, job_end))
        job->after_repair(job);
}

/* Git names a tree there that was left in the sandbox. */
static void tree_forgotten(struct job *job) {
    job->err = (struct error){ 0 };
    job->after_repair(job);
}

static void set_placed(struct job *job) {
    job->record.rebasing = false;
    job->record.repairing = true;
    job->err = (struct error){ 0 };
    if (job_write_record(job, job_end))
        job_git_in_worktree(job, WORDS("update-ref", "-d", "AUTO_MERGE"), tree_forgotten);
}

static void place_unmerged_listed(struct job *job) {
    if (job->result.code == 0 && *job->result.output)
        set_placed(job);
    else
        worktree_abandon_rebase(job, place_nothing);
}

static void placed(struct job *job) {
    if (lacks_identity(job)) {
        merge_base(job, job->record.conflict, placed);
        return;
    }
    bool is_imported = job->err.code == 0; /* the objects that the index names */
    if (is_imported && job_worked(job, "git merge", NULL)) {
        set_placed(job);
        return;
    }
    job->merge_error = job_text(job, "%s", job->err.text);
    if (is_imported)
        list_unmerged(job, place_unmerged_listed);
    else
        worktree_abandon_rebase(job, place_nothing);
}

void conflict_place(struct job *job, job_step then) {
    if (!conflict_is_known(&job->record) || job->record.repairing || job->merging) {
        then(job);
        return;
    }
    job->doing = "merges the base branch into its worktree";
    job->after_repair = then;
    job->record.rebasing = true;
    if (job_write_record(job, job_end))
        merge_base(job, job->record.conflict, placed);
}

/* --- after the run ---------------------------------------------------------------------------- */

bool conflict_is_open(const struct worktree_record *record) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    char head[GIT_HASH_MAX];
    if (!conflict_is_known(record) || !record->repairing)
        return false;
    _cleanup_(freep) char *path = xasprintf("%s/MERGE_HEAD", record->git_dir);
    return outside_read(AT_FDCWD, path, OUTSIDE_PARENT_LINKS, MERGE_HEAD_MAX, &text, NULL) == 0
           && git_output_hash(strbuf_text(&text), 0, head) && strcmp(head, record->conflict) == 0;
}

static void set_repaired(struct job *job) {
    set_conflict(&job->record, "", false);
    if (job_write_record(job, deliver_again))
        job->after_repair(job);
}

static void branch_moved(struct job *job) {
    if (job_worked(job, "git update-ref", deliver_again))
        set_repaired(job);
}

static void squash(struct job *job);

static void squashed(struct job *job) {
    char commit[GIT_HASH_MAX];
    if (lacks_identity(job)) {
        squash(job);
        return;
    }
    if (!job_worked(job, "git commit-tree", deliver_again))
        return;
    if (git_output_hash(job->result.output, 0, commit))
        job_git_for_others(job,
                           WORDS("update-ref", "-m",
                                 job_text(job, "sluice: %s on '%s'", job->id, job->record.base),
                                 job->branch_ref, commit, job->head),
                           branch_moved);
    else
        worktree_end_again(job, "git commit-tree told no commit");
}

static void squash(struct job *job) {
    job_git(job,
            WORDS("commit-tree", "-p", job->record.conflict, "-m", job->message,
                  job_text(job, "%s^{tree}", job->head)),
            squashed);
}

static void subjects_listed(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    if (job->result.code == 0)
        put_list(&list, job->result.output, SIZE_MAX);
    job->message =
        job_text(job, "%s\n\n%s%sSluice-Task: %s", *job->record.title ? job->record.title : job->id,
                 strbuf_text(&list), list.length ? "\n" : "", job->id);
    squash(job);
}

/* The run may have made a line of its commits itself. */
static void merges_listed(struct job *job) {
    char merge[GIT_HASH_MAX];
    if (!job_worked(job, "git rev-list", deliver_again))
        return;
    if (!git_output_hash(job->result.output, 0, merge))
        set_repaired(job);
    else
        job_git_read(job,
                     WORDS("log", "--no-merges", "--no-color", "--no-decorate",
                           "--no-show-signature", "--reverse", "--format=%s",
                           ("--max-count=" SUBJECTS_KEPT), job->head,
                           job_text(job, "^%s", job->record.conflict), "--"),
                     subjects_listed);
}

/* "head", "commit", "^merge-base": a run that has undone the merge has another merge base. */
static void tips_compared(struct job *job) {
    char base[GIT_HASH_MAX];
    if (!job_worked(job, "git rev-parse", deliver_again))
        return;
    if (!git_output_hash(job->result.output, 0, job->head)) {
        worktree_end_again(job, "git told no commit for '%s'", job->branch);
        return;
    }
    bool is_merged =
        git_output_hash(job->result.output, 3, base) && strcmp(base, job->record.conflict) == 0;
    if (is_merged)
        job_git_read(job,
                     WORDS("rev-list", "--merges", "--max-count=1", job->head,
                           job_text(job, "^%s", job->record.conflict), "--"),
                     merges_listed);
    else
        set_repaired(job); /* the merge that follows finds the conflict again */
}

static void merge_committed(struct job *job) {
    job->head[0] = '\0';
    job_git_read(job,
                 WORDS("rev-parse", job->branch_ref,
                       job_text(job, "%s...%s", job->record.conflict, job->branch_ref), "--"),
                 tips_compared);
}

void conflict_conclude(struct job *job, job_step then) {
    job->after_repair = then;
    if (!conflict_is_known(&job->record)) {
        then(job);
        return;
    }
    if (!job->record.repairing) { /* of an earlier delivery: this one compares again */
        set_repaired(job);
        return;
    }
    job->doing = "concludes the repair of a conflict";
    worktree_commit(job, job_text(job, "Merge '%s'\n\nSluice-Task: %s", job->record.base, job->id),
                    merge_committed);
}

/* --- conflict markers ------------------------------------------------------------------------- */

static void fail_with_markers(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT, text = STRBUF_INIT;
    const char *files = job->result.output;
    (void)git_names(files, NAMES_SHOWN, &names);
    strbuf_clear(&job->output);
    strbuf_puts(&job->output, strbuf_text(&names));
    strbuf_printf(&text,
                  "The conflicts with the branch '%s' are not resolved. These files still have "
                  "conflict markers (<<<<<<<, |||||||, =======, >>>>>>>):\n\n",
                  job->record.base);
    put_list(&text, files, FILES_SHOWN);
    strbuf_puts(&text,
                "\nResolve every conflict so that both changes keep their purpose, and remove all "
                "markers. You need not commit.\n");
    job->conflict_text = job_text(job, "%s", strbuf_text(&text));
    job->has_conflict = true;
    worktree_end_fail(job, OUTCOME_CONFLICT,
                      "conflict markers of '%s' are left in %.150s; branch '%s' is kept",
                      job->record.base, strbuf_text(&names), job->branch);
}

/* The marker names the commit, so no other text looks like it. */
static void markers_searched(struct job *job) {
    if (job->result.code == 0)
        fail_with_markers(job);
    else if ((job->result.code == 1 && !job->result.signal && !job->result.timed_out)
             || job_worked(job, "git grep", deliver_again))
        job->after_repair(job);
}

void conflict_check_markers(struct job *job, job_step then) {
    job->after_repair = then;
    if (!conflict_is_known(&job->record) || !job->record.repairing) {
        then(job);
        return;
    }
    job_git_in_worktree(job,
                        WORDS("grep", "--no-recurse-submodules", "--no-textconv", "-l", "-I", "-F",
                              "-e", job_text(job, ">>>>>>> %s", job->record.conflict), "--"),
                        markers_searched);
}
