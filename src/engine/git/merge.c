/* merge.c: merge: direct. Finished work becomes part of the base branch.
 *
 * One at a time per repository: jobs share a lane, other programs the lock file sluice-merge.lock
 * in the repository. Rebase onto the base, run the task's checks again if that changed anything,
 * then fast-forward the base, only from the commit that was seen. If it moved meanwhile, all of
 * this is repeated, at most three times. Each step checks before it acts, so after a crash the same
 * steps converge, and merged work is not merged twice.
 *
 * A base that is checked out somewhere is moved there by a fast-forward merge, with index and
 * files; local changes there are never overwritten. If they are in the way, that is a conflict. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "os/outside.h"
#include "workspace/repository.h"

#define TRIES_MAX   3
#define LOCK_AGAIN  100 /* ms */
#define NAMES_SHOWN 5
#define CHECK_MAX   HOURS(24) /* of a check that has no timeout of its own */
#define FORWARD_MAX HOURS(24) /* git.timeout_s would leave files of a checkout half updated */

#define CHECK_OUTPUT (64u << 10)

static void compare_with_base(struct job *job);

static void try_merge_again(struct job *job) {
    worktree_end_again(job, "%s", job->err.text);
}

/* --- moving the base -------------------------------------------------------------------------- */

static void set_merged(struct job *job) {
    job->record.rebasing = false;
    job->is_merged = true;
    WORKTREE_END_NOTE(job, "merged into '%s' at %.12s", job->record.base, job->head);
    worktree_end_finish(job);
}

/* Another program has moved the base meanwhile. */
static void base_moved(struct job *job) {
    if (++job->tries < TRIES_MAX)
        compare_with_base(job);
    else
        worktree_end_again(job, "'%s' moved %d times while it was tried", job->record.base,
                           TRIES_MAX);
}

static void base_updated(struct job *job) {
    if (job->result.code != 0
        && strstr(job->result.output, "but expected")) /* "is at A but expected B" */
        base_moved(job);
    else if (job_worked(job, "git update-ref", try_merge_again))
        set_merged(job);
}

/* If a fast-forward is still possible, files in that work tree were in the way, and git names them;
 * if it names none, git failed. */
static void refusal_explained(struct job *job) {
    if (job->result.code != 0) {
        base_moved(job);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT, message = STRBUF_INIT;
    git_error_message(strbuf_text(&job->output), &message);
    if (git_blockers(strbuf_text(&job->output), NAMES_SHOWN, &names) == 0)
        worktree_end_again(job, "git merge --ff-only: %s", strbuf_text(&message));
    else
        worktree_end_fail(
            job, OUTCOME_CONFLICT,
            "'%s' is checked out with changes that are in the way: %.120s; branch '%s' "
            "is kept",
            job->record.base, strbuf_text(&names), job->branch);
}

/* The checkout may have switched to another branch at this moment. */
static void arrival_checked(struct job *job) {
    if (job->result.code == 0)
        set_merged(job);
    else
        base_moved(job);
}

static void checkout_forwarded(struct job *job) {
    if (job->result.code == 0) {
        job_git(job, WORDS("merge-base", "--is-ancestor", job->head, job->base_ref),
                arrival_checked);
        return;
    }
    if (job->result.timed_out || job->result.error || job->result.signal) {
        (void)job_worked(job, "git merge --ff-only", try_merge_again);
        return;
    }
    strbuf_clear(&job->output);
    strbuf_puts(&job->output, job->result.output);
    job_git(job, WORDS("merge-base", "--is-ancestor", job->base_ref, job->branch_ref),
            refusal_explained);
}

/* The checkout that git named, if it belongs to this repository: the name comes from files that a
 * run can write. Git names the main checkout of some repositories (submodules) by their git folder;
 * then it is where the project is. */
static bool find_checkout(const struct job *job, const char *named,
                          struct repository_checkout *ret) {
    const char *const folders[] = { named, job->record.repository };
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (repository_find(folders[i], ret) < 0)
            continue;
        bool is_meant = i == 0 ? repository_is_same(strbuf_text(&ret->top), named)
                               : repository_is_same(strbuf_text(&ret->git_dir), named);
        if (is_meant && repository_is_same(strbuf_text(&ret->common_dir), job->record.common_dir))
            return true;
        repository_checkout_finish(ret);
    }
    return false;
}

static void forward_checkout(struct job *job, const char *named) {
    struct repository_checkout checkout;
    if (!find_checkout(job, named, &checkout)) {
        worktree_end_again(job,
                           "'%s' is checked out in '%.100s', which does not belong to '%.100s'",
                           job->record.base, named, job->record.repository);
        return;
    }
    const char *top = job_text(job, "%s", strbuf_text(&checkout.top));
    const struct job_call call = { .git = WORDS("merge", "--ff-only", "--quiet", job->branch_ref),
                                   .cwd = top,
                                   .git_dir = strbuf_text(&checkout.git_dir),
                                   .work_tree = top,
                                   .timeout = FORWARD_MAX,
                                   .outlives = true };
    job_call(job, &call, checkout_forwarded);
    repository_checkout_finish(&checkout);
}

#define LISTS_MAX  20
#define LIST_PAUSE 100 /* ms */

static void list_checkouts(struct job *job);

static void list_again(void *ctx) {
    list_checkouts(ctx);
}

static void checkouts_listed(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf where = STRBUF_INIT;
    /* Git reads the files of every worktree and fails if one is being created or removed: by a job in
     * another lane, or by another program. */
    if (job->result.code > 0 && job->lists++ < LISTS_MAX) {
        job_wait(job, LIST_PAUSE, list_again);
        return;
    }
    if (!job_worked(job, "git worktree list", try_merge_again))
        return;
    if (git_find_checkout(job->result.output, job->record.base, &where))
        forward_checkout(job, strbuf_text(&where));
    else
        job_git_for_others(job,
                           WORDS("update-ref", "-m", job_text(job, "sluice: %s", job->id),
                                 job->base_ref, job->head, job->base_hash),
                           base_updated);
}

static void list_checkouts(struct job *job) {
    job_git(job, WORDS("worktree", "list", "--porcelain"), checkouts_listed);
}

static void move_base(struct job *job) {
    job->doing = "moves the base branch";
    job->can_stop = false;
    job->lists = 0;
    diff_keep_merge(job);
    list_checkouts(job);
}

/* --- checks after a rebase -------------------------------------------------------------------- */

static void next_check(struct job *job);

/* Where the next iteration and people look for it. */
static void append_log(struct job *job) {
    const struct live_run *run = run_find(job->e, job->key.task);
    if (!run)
        return;
    _cleanup_(freep) char *path =
        xasprintf("%s/%s/check.log", job->e->runs_folder, run->view.folder);
    _cleanup_(fd_closep) int fd =
        outside_open(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT, NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    if (!engine_redact(job->e, job->result.output, job->result.size, &shown))
        strbuf_add(&shown, job->result.output, job->result.size);
    if (fd >= 0 && shown.length > 0 && write(fd, shown.text, shown.length) < 0)
        return; /* it is reported anyway */
}

static void checks_passed(struct job *job) {
    job->record.rebasing = false;
    if (job_write_record(job, try_merge_again))
        move_base(job);
}

static void check_ended(struct job *job) {
    append_log(job);
    if (job->result.code == 0) {
        job->check++;
        next_check(job);
        return;
    }
    job->end.kind = RUN_END_CHECK;
    job->end.check = (int)job->check;
    job->end.code = job->result.code;
    job->end.signal = job->result.signal;
    job->record.rebasing = false; /* the next iteration works on the new base */
    (void)job_write_record(job, NULL);
    diff_keep_rebase(job, job->head);
    WORKTREE_END_EXPLAIN(job, "not merged: on top of '%s' its check %zu fails%s", job->record.base,
                         job->check + 1, job->result.timed_out ? " (it took too long)" : "");
    worktree_import_discard(job, worktree_end_finish); /* with the commits of its checks */
}

static void next_check(struct job *job) {
    if (job->check >= job->shim_spec->spec.check_count) {
        worktree_import_discard(job, checks_passed);
        return;
    }
    if (worktree_make_private_git(job) < 0) {
        try_merge_again(job);
        return;
    }
    const struct run_command *check = &job->shim_spec->spec.checks[job->check];
    const struct job_call call = {
        .argv = check->argv,
        .cwd = job->shim_spec->spec.cwd,
        .env = secrets_check_env(job->e, job->key, &job->shim_spec->spec, &job->arena),
        .timeout = check->timeout > 0 ? check->timeout : CHECK_MAX,
        .output_max = CHECK_OUTPUT,
        .as_run = true,
        .in_sandbox = true,
    };
    job->can_stop = true;
    job_call(job, &call, check_ended);
}

static void check_again(struct job *job) {
    job->doing = "runs its checks again, on the new base";
    job->check = 0;
    if (job->skips_checks)
        worktree_import_discard(job, checks_passed);
    else if (job_read_spec(job, job->key.attempt, &job->err) < 0)
        worktree_end_again(job, "its checks and its sandbox are not known: %s", job->err.text);
    else
        next_check(job);
}

/* --- rebase ----------------------------------------------------------------------------------- */

static void rebase_abandoned(struct job *job) {
    if (!job_worked(job, "git checkout", try_merge_again)) /* started over, it is aborted again */
        return;
    if (job->conflict_files) {
        conflict_describe(job, compare_with_base);
        return;
    }
    job->record.rebasing = false;
    (void)job_write_record(job, NULL);
    worktree_end_again(job, "%s", job->merge_error);
}

static void conflicts_listed(struct job *job) {
    bool are_there = job->result.code == 0 && *job->result.output;
    job->conflict_files = are_there ? job_text(job, "%s", job->result.output) : NULL;
    worktree_abandon_rebase(job, rebase_abandoned);
}

/* The commands that follow replace the error of the rebase. */
static void list_conflicts(struct job *job) {
    job->merge_error = job_text(job, "%s", job->err.text);
    job_git_in_worktree(
        job, WORDS("diff", "--no-ext-diff", "--no-textconv", "--name-only", "--diff-filter=U"),
        conflicts_listed);
}

static void head_read(struct job *job) {
    if (!job_worked(job, "git rev-parse", try_merge_again))
        return;
    if (git_hash(job->result.output, job->head))
        check_again(job);
    else
        worktree_end_again(job, "git told no commit for '%s'", job->branch);
}

static void branch_rebased(struct job *job) {
    if (job->result.code != 0 && !job->anonymous && !job->result.timed_out && !job->result.error
        && strstr(job->result.output, "empty ident")) {
        job->anonymous = true;
        compare_with_base(job);
        return;
    }
    if (!job_worked(job, "git rebase", list_conflicts))
        return;
    job->is_rebased = true;
    job_git(job, WORDS("rev-parse", "--verify", job->branch_ref), head_read);
}

static void rebase_branch(struct job *job) {
    job->doing = "rebases onto the base branch";
    job->record.rebasing = true;
    if (job_write_record(job, try_merge_again))
        worktree_as_run(job, WORDS("rebase", "--quiet", job->base_hash), false, branch_rebased);
}

/* --- current state ---------------------------------------------------------------------------- */

static void compare_commits(struct job *job, job_step then) {
    job->base_ref = job_text(job, "refs/heads/%s", job->record.base);
    job_git(job,
            WORDS("rev-parse", job->branch_ref, job->base_ref,
                  job_text(job, "%s...%s", job->base_ref, job->branch_ref), "--"),
            then);
}

/* Reads the output of compare_commits. `ret_fork`: where the branch left the base; "": there is no
 * common commit. */
static bool take_commits(struct job *job, char ret_fork[GIT_HASH_MAX]) {
    const char *output = job->result.output;
    if (!git_output_hash(output, 4, ret_fork))
        ret_fork[0] = '\0';
    return git_output_hash(output, 0, job->head) && git_output_hash(output, 1, job->base_hash);
}

static void compared_with_base(struct job *job) {
    char fork[GIT_HASH_MAX];
    if (!job_worked(job, "git rev-parse", try_merge_again))
        return;
    if (!take_commits(job, fork)) {
        worktree_end_again(job, "git told no commits for '%s' and '%s'", job->branch,
                           job->record.base);
    } else if (strcmp(fork, job->head) == 0) {
        if (delivery_is_empty(&job->changes))
            WORKTREE_END_NOTE(job, "no changes: there is nothing to merge into '%s'",
                              job->record.base);
        else
            WORKTREE_END_NOTE(job, "'%s' has all of it (%.12s)", job->record.base, job->base_hash);
        job->base_hash[0] = '\0'; /* its commits are counted from where it left the base */
        job->is_merged = job->was_merged = true;
        job->record.rebasing = false;
        worktree_end_finish(job);
    } else if (strcmp(fork, job->base_hash) != 0) {
        rebase_branch(job);
    } else if (job->is_rebased) {
        check_again(job);
    } else {
        move_base(job);
    }
}

static void compare_with_base(struct job *job) {
    job->doing = "compares with the base branch";
    compare_commits(job, compared_with_base);
}

/* --- start ------------------------------------------------------------------------------------ */

static void try_lock(void *ctx) {
    struct job *job = ctx;
    const char *message = job_text(job, "%s\n\nSluice-Task: %s",
                                   *job->record.title ? job->record.title : job->id, job->id);
    if (flock(job->lock, LOCK_EX | LOCK_NB) == 0)
        worktree_commit(job, message, compare_with_base);
    else if (errno != EWOULDBLOCK && errno != EINTR)
        worktree_end_again(job, "cannot lock the repository: %s", strerror(errno));
    else if (loop_now_steady(job->e->loop) >= job->lock_until)
        worktree_end_again(job, "another process has held sluice-merge.lock of the repository for "
                                "longer than git.timeout_s");
    else {
        job->doing = "waits for another merge in this repository";
        job_wait(job, LOCK_AGAIN, try_lock);
    }
}

void merge_begin(struct job *job) {
    struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_printf(&path, "%s/sluice-merge.lock", job->record.common_dir);
    job->lock = outside_open(AT_FDCWD, strbuf_text(&path),
                             O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS | OUTSIDE_SHARED, NULL, &err);
    strbuf_finish(&path);
    job->can_stop = true;
    job->lock_until = time_add(loop_now_steady(job->e->loop),
                               config_number(job->e->config, "git.timeout_s", NULL));
    if (job->lock < 0)
        worktree_end_again(job, "cannot lock the repository: %s", err.text);
    else
        try_lock(job);
}

/* --- merges on request ------------------------------------------------------------------------ */

/* Merges a finished task's branch on request. See worktrees.h. Two jobs in sequence: JOB_MAKE finds
 * the worktree, aborts what a killed daemon left half done in it, or creates it again from the
 * branch; JOB_MERGE does what `merge: direct` does after a run (worktree_end.c, merge.c). Meanwhile
 * no run of the task is launched and nothing is cleaned up. After a crash the person asks again;
 * merging is idempotent. */

#define MANUAL_NAMES_SHOWN 20

struct merging {
    merge_ready ready; /* NULL: already called */
    void *ctx;
    char *into;     /* NULL: the branch that it came from */
    char *old_base; /* the recorded base, while merging into another branch; or NULL */
    enum merge_result result;
};

const char *merge_result_name(enum merge_result result) {
    static const char *const names[] = {
        [MERGE_DONE] = "merged", [MERGE_ALREADY] = "already",   [MERGE_POSSIBLE] = "mergeable",
        [MERGE_EMPTY] = "empty", [MERGE_CONFLICT] = "conflict", [MERGE_FAILED] = "failed",
    };
    return names[result];
}

void merging_finish(struct job *job) {
    struct merging *m = TAKE_PTR(job->merging);
    if (!m)
        return;
    if (m->ready)
        m->ready(m->ctx, NULL);
    free(m->into);
    free(m->old_base);
    free(m);
}

bool merge_waits_for_person(const struct engine *e, task_id task, const char *merge) {
    struct task_spec spec;
    return strcmp(merge, "direct") == 0 && core_task_spec(e->core, task, &spec)
           && (spec.review || spec.until == UNTIL_EXTERNAL);
}

/* A person who has taken it over calls it done: its work was not delivered when the run ended. */
static bool is_taken(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) && view.state == TASK_HELD && view.hold == HOLD_TAKEN;
}

bool engine_merges_on_approval(const struct engine *e, task_id task) {
    struct worktree_record record = { 0 };
    char id[ENGINE_ID_MAX];
    if (worktree_record_read(e->data, engine_task_id(e, task, id), &record, NULL) < 0)
        return false;
    bool waits = record.made
                 && (is_taken(e, task) ? strcmp(record.merge, "none") != 0
                                       : merge_waits_for_person(e, task, record.merge));
    worktree_record_finish(&record);
    return waits;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void answer_merge(struct job *job) {
    struct merging *m = job->merging;
    const struct merge_answer what = {
        .result = m->result,
        .branch = job->branch,
        .into = job->record.base,
        .message = job->note[0] ? job->note : job->end.message,
        .commit = job->is_merged && job->head[0] ? job->head : NULL,
    };
    merge_ready ready = TAKE_PTR(m->ready);
    ready(m->ctx, &what);
}

/* --- repairs ---------------------------------------------------------------------------------- */

/* A conflict found by a merge on request begins the next iteration of its task, in a turn. */
struct repair {
    struct engine_request request; /* must be first */
    task_id task;
    char *conflict;
};

/* The fact that begins it; FACT_KIND_MAX: none may. The children of a finished task would be
 * invalidated, so only a person can do that. */
static enum fact_kind repair_fact(const struct engine *e, task_id task) {
    struct task_view view;
    task_id child;
    if (!core_task(e->core, task, &view))
        return FACT_KIND_MAX;
    if (view.state == TASK_HELD && (view.hold == HOLD_REVIEW || view.hold == HOLD_EXTERNAL))
        return FACT_REJECT;
    return view.state == TASK_DONE && core_task_children(e->core, task, &child, 1) == 0
               ? FACT_AGAIN
               : FACT_KIND_MAX;
}

static int begin_repair(struct engine *e, struct engine_request *request) {
    const struct repair *repair = (const struct repair *)request;
    struct fact fact = { .kind = repair_fact(e, repair->task), .task = repair->task };
    if (fact.kind != FACT_KIND_MAX && engine_apply(e, &fact, NULL) == 0)
        feedback_write_conflict(e, repair->task, repair->conflict);
    return 0;
}

static void repair_begun(struct engine *e, struct engine_request *request,
                         enum store_outcome outcome, const struct error *err) {
    (void)e;
    (void)outcome;
    (void)err;
    free(((struct repair *)request)->conflict);
    free(request);
}

/* A merge into another branch than its base is not repaired: the worktree belongs to the base. */
static bool repair_conflict(struct job *job) {
    enum fact_kind fact = repair_fact(job->e, job->key.task);
    if (!job->has_conflict || !job->record.iterates || fact == FACT_KIND_MAX)
        return false;
    struct repair *repair = xcalloc(1, sizeof(*repair));
    *repair = (struct repair){ .request = { .run = begin_repair, .done = repair_begun },
                               .task = job->key.task,
                               .conflict = xstrdup(job->conflict_text) };
    engine_request(job->e, &repair->request);
    WORKTREE_END_NOTE(job, "%.150s; its next iteration repairs that%s", job->end.message,
                      fact == FACT_REJECT ? ", then it waits for approval again" : "");
    return true;
}

static enum merge_result result_of(const struct job *job) {
    if (job->is_forced)
        return job->outcome == OUTCOME_CONFLICT ? MERGE_CONFLICT : MERGE_FAILED;
    if (job->is_delivery && strcmp(job->record.merge, "direct") != 0)
        return MERGE_DONE; /* as far as it is configured: on its branch, or handed over */
    if (!job->is_merged)
        return MERGE_FAILED;
    return !job->was_merged                   ? MERGE_DONE
           : delivery_is_empty(&job->changes) ? MERGE_EMPTY
                                              : MERGE_ALREADY;
}

/* A run that was ordered meanwhile has waited for it. */
static void resume_task(struct engine *e, task_id task) {
    if (run_find(e, task)) {
        launch_later(e, task);
        turn_wake(e);
    } else if (task_state_is_final(state_of(e, task)))
        workspace_task_final(e, task);
}

static void merge_done(struct job *job) {
    struct merging *m = job->merging;
    if (!job->is_merged && m->old_base) { /* its base is the one it was made from */
        free(job->record.base);
        job->record.base = TAKE_PTR(m->old_base);
        if (job->has_conflict) {
            freep(&job->record.conflict);
            job->record.conflict = NULL;
        }
        job->has_conflict = false;
        (void)worktree_record_write(job->e->data, job->id, &job->record, NULL);
    }
    delivery_keep_merge(job);
    bool is_repaired = repair_conflict(job);
    m->result = result_of(job);
    answer_merge(job);
    if (!is_repaired) /* else its worktree is needed */
        resume_task(job->e, job->key.task);
}

/* --- a worktree to merge from ----------------------------------------------------------------- */

static void begin_merge(struct job *job) {
    job->doing = "is merged";
    worktree_deliver(job);
}

/* Work that was merged before has neither worktree nor branch. */
static void no_worktree(struct job *job) {
    struct delivery delivery = { 0 };
    job->merging->result = MERGE_FAILED;
    /* A branch is removed when the base has all of it, no matter who merged it. */
    if (job->err.code == -ENOENT && engine_delivery(job->e, job->key.task, &delivery)
        && (delivery.merged || strstr(delivery.removed, "branch"))) {
        job->merging->result = delivery_is_empty(&delivery.changes) ? MERGE_EMPTY : MERGE_ALREADY;
        WORKTREE_END_NOTE(job, "'%s' has all of it", delivery.base);
    } else
        WORKTREE_END_NOTE(job, "%.250s", job->err.text);
    delivery_finish(&delivery);
    answer_merge(job);
    resume_task(job->e, job->key.task);
}

static void worktree_made(struct job *made) {
    struct engine *e = made->e;
    if (made->err.code < 0) {
        no_worktree(made);
        return;
    }
    struct job *job = job_new(e, JOB_MERGE, made->id, begin_merge, merge_done);
    job->key = (struct run_key){ .task = made->key.task, .attempt = made->key.attempt - 1 };
    job->record = made->record;
    made->record = (struct worktree_record){ 0 };
    job->merging = TAKE_PTR(made->merging);
    job->skips_checks = made->skips_checks;
    job->is_delivery = made->is_delivery;
    if (job->merging->into && strcmp(job->merging->into, job->record.base) != 0) {
        job->merging->old_base = job->record.base;
        job->record.base = xstrdup(job->merging->into);
    }
    job->outcome = OUTCOME_OK;
    job->end = (struct run_end){ .kind = RUN_END_EXIT };
    job->doing = "waits for another merge in this repository";
    job_set_lane(job, "merges", job->record.repository);
    job_begin(job);
}

/* --- dry run ---------------------------------------------------------------------------------- */

static void dry_run_end(struct job *job, enum merge_result result) {
    job->merging->result = result;
    job_end(job);
}

static void dry_run_merged(struct job *job) {
    const char *names = strchr(job->result.output, '\n');
    enum merge_result result = MERGE_FAILED;
    if (job->result.code == 0) {
        result = MERGE_POSSIBLE;
        WORKTREE_END_NOTE(job, "can be merged into '%s'", job->record.base);
    } else if (job->result.code == 1 && names) {
        result = MERGE_CONFLICT;
        (void)git_names(names + 1, MANUAL_NAMES_SHOWN, &job->output);
        WORKTREE_END_NOTE(job, "conflicts with '%s' in %.200s", job->record.base,
                          strbuf_text(&job->output));
    } else {
        (void)job_worked(job, "git merge-tree, which needs git 2.38 or later", NULL);
        WORKTREE_END_NOTE(job, "%.250s", job->err.text);
    }
    dry_run_end(job, result);
}

static void dry_run_compared(struct job *job) {
    char fork[GIT_HASH_MAX];
    if (job->result.code != 0 || !take_commits(job, fork)) {
        WORKTREE_END_NOTE(job, "there is no branch '%s' or no branch '%s' in '%.100s'", job->branch,
                          job->record.base, job->record.repository);
        dry_run_end(job, MERGE_FAILED);
    } else if (strcmp(fork, job->head) == 0) {
        WORKTREE_END_NOTE(job, "'%s' has all of it", job->record.base);
        dry_run_end(job, MERGE_ALREADY);
    } else
        job_git_read(job,
                     WORDS("merge-tree", "--write-tree", "--name-only", "--no-messages",
                           job->base_ref, job->branch_ref),
                     dry_run_merged);
}

static void dry_run_begin(struct job *job) {
    compare_commits(job, dry_run_compared);
}

/* --- start ------------------------------------------------------------------------------------ */

/* What was recorded when it ran; else the project's current settings. */
static void fill_record(struct engine *e, struct job *job) {
    const struct engine_project *project = project_of_task(e, job->key.task);
    struct delivery delivery = { 0 };
    struct diff_record diff = { 0 };
    if (worktree_record_read(e->data, job->id, &job->record, NULL) == 0)
        return;
    (void)engine_delivery(e, job->key.task, &delivery);
    (void)diff_find_record(job, 0, &diff);
    const char *base = delivery.base && *delivery.base ? delivery.base
                       : diff.base && *diff.base       ? diff.base
                       : project ? config_text(e->config, "projects.P.base_branch", project->name)
                                 : "";
    const char *repository = diff.repository && *diff.repository ? diff.repository
                             : project && project->path          ? project->path
                                                                 : "";
    job->record = (struct worktree_record){
        .repository = xstrdup(repository),
        .base = xstrdup(base),
        .prefix = xstrdup(""),
        .merge = xstrdup(delivery.strategy ? delivery.strategy : "none"),
        .title = xstrdup(job->id),
        .git_dir = xstrdup(""),
        .common_dir = xstrdup(""),
        .iterates = delivery.iterates,
    };
    delivery_finish(&delivery);
    diff_record_finish(&diff);
}

static int check_mergeable(const struct engine *e, const struct merge_question *q,
                           struct task_view *view, struct error *err) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, q->task, id);
    if (!core_task(e->core, q->task, view))
        return error_set(err, -ENOENT, "there is no task '%s'", id);
    bool is_judged =
        view->state == TASK_HELD
        && (view->hold == HOLD_REVIEW || view->hold == HOLD_EXTERNAL || view->hold == HOLD_TAKEN);
    if (run_find(e, q->task) || (!task_state_is_final(view->state) && !is_judged))
        return error_set(err, -EBUSY, "task '%s' is %s: only finished work can be merged", id,
                         task_state_name(view->state));
    if (job_find(e, JOB_MERGE, q->task) || job_find(e, JOB_MAKE, q->task))
        return error_set(err, -EBUSY, "task '%s' is being merged already", id);
    if (q->into && !git_branch_is_valid(q->into))
        return error_set(err, -EINVAL, "'%.100s' is not the name of a branch", q->into);
    return 0;
}

/* A task that never ran in a worktree has no branch. */
static int check_branch(const struct engine *e, const struct job *job, struct error *err) {
    const struct engine_project *project = project_of_task(e, job->key.task);
    struct task_view view;
    if (*job->record.repository && core_task(e->core, job->key.task, &view) && view.attempt > 0
        && (engine_has_diff(e, job->key.task)
            || (project && workspace_makes_worktrees(e, project))))
        return 0;
    return error_set(err, -ENOENT, "'%s' has no branch to merge: it has not run in a worktree",
                     job->id);
}

int engine_merge(struct engine *e, const struct merge_question *q, merge_ready ready, void *ctx,
                 struct error *err) {
    struct task_view view;
    char id[ENGINE_ID_MAX];
    int r = check_mergeable(e, q, &view, err);
    if (r < 0)
        return r;
    engine_task_id(e, q->task, id);
    struct job *job = q->dry_run ? job_new(e, JOB_MERGE, id, dry_run_begin, answer_merge)
                                 : job_new(e, JOB_MAKE, id, worktree_make_begin, worktree_made);
    job->key = (struct run_key){ .task = q->task, .attempt = view.attempt + 1 };
    fill_record(e, job);
    r = check_branch(e, job, err);
    if (r < 0) {
        job_free(job);
        return r;
    }
    job->merging = xcalloc(1, sizeof(*job->merging));
    *job->merging =
        (struct merging){ .ready = ready, .ctx = ctx, .into = q->into ? xstrdup(q->into) : NULL };
    job->is_delivery = q->is_delivery;
    job->skips_checks = q->skips_checks;
    job->needs_branch = true;
    if (q->dry_run && q->into) {
        free(job->record.base);
        job->record.base = xstrdup(q->into);
    }
    job->doing = "waits until others have their worktrees";
    job_set_lane(job, q->dry_run ? "diffs" : "worktrees", job->record.repository);
    job_begin(job);
    return 0;
}
