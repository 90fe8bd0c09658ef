/* merges.c: a finished task's branch is merged because a person says so. See merges.h.
 *
 * Two jobs, one after the other: JOB_MAKE finds the worktree, gives up what a killed daemon has left half done in it, or
 * makes it again from the branch; JOB_MERGE does what `merge: direct` does after a run (worktree_end.c, merge.c). Meanwhile
 * no run of the task is launched and nothing is cleaned up. After a crash the person asks again, and what is merged is
 * merged once. */
#include "engine/merges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/deliveries.h"
#include "engine/diff_internal.h"
#include "engine/job.h"
#include "engine/workspace_internal.h"

#define NAMES_SHOWN 20

struct merging {
    merge_ready ready; /* NULL: it was called */
    void *ctx;
    char *into;     /* NULL: the branch that it came from */
    char *old_base; /* what the record says, while another branch is merged into; or NULL */
    enum merge_result result;
    bool is_known; /* `result` is */
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

bool engine_merges_on_approval(const struct engine *e, task_id task) {
    struct worktree_record record = { 0 };
    char id[ENGINE_ID_MAX];
    if (worktree_record_read(e->data, engine_task_id(e, task, id), &record, NULL) < 0)
        return false;
    bool waits = record.made && merge_waits_for_person(e, task, record.merge);
    worktree_record_finish(&record);
    return waits;
}

/* --- the answer --------------------------------------------------------------------------------- */

static void answer(struct job *job) {
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

static void conclude(struct job *job, enum merge_result result) {
    job->merging->result = result;
    job->merging->is_known = true;
}

static enum merge_result result_of(const struct job *job) {
    if (job->merging->is_known)
        return job->merging->result;
    if (job->is_forced)
        return job->outcome == OUTCOME_CONFLICT ? MERGE_CONFLICT : MERGE_FAILED;
    if (!job->is_merged)
        return MERGE_FAILED;
    return !job->was_merged                   ? MERGE_DONE
           : delivery_is_empty(&job->changes) ? MERGE_EMPTY
                                              : MERGE_ALREADY;
}

/* A run that was ordered meanwhile has waited for it. */
static void let_go_on(struct engine *e, task_id task) {
    struct task_view view;
    if (run_find(e, task)) {
        launch_later(e, task);
        turn_wake(e);
    } else if (core_task(e->core, task, &view) && task_state_is_final(view.state))
        workspace_task_final(e, task);
}

static void hand_merged(struct job *job) {
    struct merging *m = job->merging;
    if (!job->is_merged && m->old_base) { /* its base is the one it was made from */
        free(job->record.base);
        job->record.base = TAKE_PTR(m->old_base);
        (void)worktree_record_write(job->e->data, job->id, &job->record, NULL);
    }
    delivery_keep_merge(job);
    conclude(job, result_of(job));
    answer(job);
    let_go_on(job->e, job->key.task);
}

/* --- a worktree to merge from --------------------------------------------------------------------- */

static void begin_merge(struct job *job) {
    job->doing = "is merged";
    worktree_deliver(job);
}

/* What was merged before has neither worktree nor branch any more. */
static void no_worktree(struct job *job) {
    struct delivery delivery = { 0 };
    /* A branch is removed when the base has all of it, whoever has merged it. */
    if (job->err.code == -ENOENT && engine_delivery(job->e, job->key.task, &delivery)
        && (delivery.merged || strstr(delivery.removed, "branch"))) {
        conclude(job, delivery_is_empty(&delivery.changes) ? MERGE_EMPTY : MERGE_ALREADY);
        (void)snprintf(job->note, sizeof(job->note), "'%s' has all of it", delivery.base);
    } else {
        conclude(job, MERGE_FAILED);
        (void)snprintf(job->note, sizeof(job->note), "%.250s", job->err.text);
    }
    delivery_finish(&delivery);
    answer(job);
    let_go_on(job->e, job->key.task);
}

static void hand_made(struct job *made) {
    struct engine *e = made->e;
    if (made->err.code < 0) {
        no_worktree(made);
        return;
    }
    struct job *job = job_new(e, JOB_MERGE, made->id);
    job->key = (struct run_key){ .task = made->key.task, .attempt = made->key.attempt - 1 };
    job->record = made->record;
    made->record = (struct worktree_record){ 0 };
    job->merging = TAKE_PTR(made->merging);
    job->skips_checks = made->skips_checks;
    if (job->merging->into && strcmp(job->merging->into, job->record.base) != 0) {
        job->merging->old_base = job->record.base;
        job->record.base = xstrdup(job->merging->into);
    }
    job->outcome = OUTCOME_OK;
    job->end = (struct run_end){ .kind = RUN_END_EXIT };
    job->begin = begin_merge;
    job->done = hand_merged;
    job->doing = "waits for another merge in this repository";
    job_set_lane(job, "merges", job->record.repository);
    job_begin(job);
}

/* --- what would happen ---------------------------------------------------------------------------- */

static void tried(struct job *job, const struct aside_end *end) {
    const char *names = strchr(end->output, '\n');
    if (end->code == 0) {
        conclude(job, MERGE_POSSIBLE);
        worktree_end_note(job, "can be merged into '%s'", job->record.base);
    } else if (end->code == 1 && names) {
        conclude(job, MERGE_CONFLICT);
        (void)git_names(names + 1, NAMES_SHOWN, &job->output);
        worktree_end_note(job, "conflicts with '%s' in %.200s", job->record.base,
                          strbuf_text(&job->output));
    } else {
        (void)job_worked(job, end, "git merge-tree, which needs git 2.38 or later");
        conclude(job, MERGE_FAILED);
        worktree_end_note(job, "%.250s", job->err.text);
    }
    job_end(job);
}

static void compared(struct job *job, const struct aside_end *end) {
    char head[GIT_HASH_MAX], base[GIT_HASH_MAX], fork[GIT_HASH_MAX] = "";
    struct git_line line;
    if (end->code != 0 || !git_output_hash(end->output, 0, head)
        || !git_output_hash(end->output, 1, base)) {
        worktree_end_note(job, "there is no branch '%s' or no branch '%s' in '%.100s'", job->branch,
                          job->record.base, job->record.repository);
        conclude(job, MERGE_FAILED);
        job_end(job);
        return;
    }
    (void)git_output_hash(end->output, 4, fork);
    if (strcmp(fork, head) == 0) {
        conclude(job, MERGE_ALREADY);
        worktree_end_note(job, "'%s' has all of it", job->record.base);
        job_end(job);
        return;
    }
    GIT_LINE(&line, "merge-tree", "--write-tree", "--name-only", "--no-messages", job->base_ref,
             job->branch_ref);
    job_git_ask(job, &line, tried);
}

static void begin_trial(struct job *job) {
    struct git_line line;
    job->base_ref = job_text(job, "refs/heads/%s", job->record.base);
    GIT_LINE(&line, "rev-parse", job->branch_ref, job->base_ref,
             job_text(job, "%s...%s", job->base_ref, job->branch_ref), "--");
    job_git_ask(job, &line, compared);
}

static void trial_done(struct job *job) {
    answer(job);
}

/* --- the beginning -------------------------------------------------------------------------------- */

/* What was written down when it ran; else what the project says now. */
static void fill_record(struct engine *e, struct job *job) {
    const struct project *project = workspace_project(e, job->key.task);
    struct delivery delivery = { 0 };
    struct diff_record diff = { 0 };
    if (worktree_record_read(e->data, job->id, &job->record, NULL) == 0)
        return;
    (void)engine_delivery(e, job->key.task, &delivery);
    (void)diff_find_record(job, 0, &diff);
    const char *base = delivery.base && *delivery.base ? delivery.base
                       : diff.base && *diff.base       ? diff.base
                       : project
                           ? config_text(e->config, "projects.P.base_branch", project->view.name)
                           : "";
    const char *repository = diff.repository && *diff.repository ? diff.repository
                             : project && project->view.path     ? project->view.path
                                                                 : "";
    job->record = (struct worktree_record){
        .repository = xstrdup(repository),
        .base = xstrdup(base),
        .prefix = xstrdup(""),
        .merge = xstrdup(delivery.strategy ? delivery.strategy : "none"),
        .title = xstrdup(job->id),
        .git_dir = xstrdup(""),
        .common_dir = xstrdup(""),
    };
    delivery_finish(&delivery);
    diff_record_finish(&diff);
}

static int check(const struct engine *e, const struct merge_question *q, struct task_view *view,
                 struct error *err) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, q->task, id);
    if (!core_task(e->core, q->task, view))
        return error_set(err, -ENOENT, "there is no task '%s'", id);
    bool is_judged =
        view->state == TASK_HELD && (view->hold == HOLD_REVIEW || view->hold == HOLD_EXTERNAL);
    if (run_find(e, q->task) || (!task_state_is_final(view->state) && !is_judged))
        return error_set(err, -EBUSY, "task '%s' is %s: only finished work can be merged", id,
                         task_state_name(view->state));
    if (job_find(e, JOB_MERGE, q->task) || job_find(e, JOB_MAKE, q->task))
        return error_set(err, -EBUSY, "task '%s' is being merged already", id);
    if (q->into && !git_branch_is_valid(q->into))
        return error_set(err, -EINVAL, "'%.100s' is not the name of a branch", q->into);
    return 0;
}

/* A task that never ran in a worktree has nothing of this. */
static int check_place(const struct engine *e, const struct job *job, struct error *err) {
    const struct project *project = workspace_project(e, job->key.task);
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
    int r = check(e, q, &view, err);
    if (r < 0)
        return r;
    struct job *job = job_new(e, q->dry_run ? JOB_MERGE : JOB_MAKE, engine_task_id(e, q->task, id));
    job->key = (struct run_key){ .task = q->task, .attempt = view.attempt + 1 };
    fill_record(e, job);
    r = check_place(e, job, err);
    if (r < 0) {
        job_free(job);
        return r;
    }
    job->merging = xcalloc(1, sizeof(*job->merging));
    *job->merging =
        (struct merging){ .ready = ready, .ctx = ctx, .into = q->into ? xstrdup(q->into) : NULL };
    job->skips_checks = q->skips_checks;
    job->needs_branch = true;
    if (q->dry_run && q->into) {
        free(job->record.base);
        job->record.base = xstrdup(q->into);
    }
    job->begin = q->dry_run ? begin_trial : worktree_make_begin;
    job->done = q->dry_run ? trial_done : hand_made;
    job->doing = "waits until others have their worktrees";
    job_set_lane(job, q->dry_run ? "diffs" : "worktrees", job->record.repository);
    job_begin(job);
    return 0;
}
