/* job.c: a row of asides around one worktree. See job.h.
 *
 * Two commands that make or remove worktrees of one repository at the same time would meet in its
 * files, and two merges would race for its branch: so each kind has a lane per repository. */
#include "engine/job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/diff_internal.h"
#include "engine/workspace_internal.h"

struct job *job_new(struct engine *e, enum job_kind kind, const char *id) {
    struct job *job = xcalloc(1, sizeof(*job));
    job->e = e;
    job->kind = kind;
    job->lock = -1;
    (void)snprintf(job->id, sizeof(job->id), "%s", id);
    struct strbuf text = STRBUF_INIT;
    worktree_path(e->data, id, &text);
    job->path = arena_strdup(&job->arena, strbuf_text(&text));
    strbuf_clear(&text);
    git_branch_of_task(id, &text);
    job->branch = arena_strdup(&job->arena, strbuf_text(&text));
    job->branch_ref = job_text(job, "refs/heads/%s", job->branch);
    strbuf_finish(&text);
    return job;
}

void job_set_lane(struct job *job, const char *what, const char *repository) {
    job->lane = job_text(job, "%s %s", what, repository);
}

char *job_text(struct job *job, const char *format, ...) {
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    char *copy = arena_strdup(&job->arena, strbuf_text(&text));
    strbuf_finish(&text);
    return copy;
}

struct job *job_find(const struct engine *e, enum job_kind kind, task_id task) {
    for (struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == kind && job->key.task == task)
            return job;
    return NULL;
}

/* --- lanes ------------------------------------------------------------------------------------ */

static bool lane_is_taken(const struct job *job) {
    for (const struct job *other = workspaces_of(job->e)->jobs; other; other = other->next)
        if (other->running && other->lane && strcmp(other->lane, job->lane) == 0)
            return true;
    return false;
}

static void job_start(struct job *job) {
    if (job->lane && lane_is_taken(job))
        return;
    job->running = true;
    job->begin(job);
}

/* One may end at once, and the list is another then. */
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
    aside_kill(job->aside);
    loop_timer_free(job->e->loop, job->timer);
    if (job->lock >= 0)
        close(job->lock);
    worktree_record_finish(&job->record);
    run_spec_read_free(&job->told);
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

/* --- pauses, ends ---------------------------------------------------------------------------- */

void job_wait(struct job *job, time_ms span, loop_due due) {
    loop_timer_free(job->e->loop, job->timer);
    job->timer = loop_timer_new(job->e->loop, due, job);
    loop_timer_set(job->e->loop, job->timer, time_add(loop_now_steady(job->e->loop), span));
}

bool job_worked(struct job *job, const struct aside_end *end, const char *what) {
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
        _cleanup_(strbuf_finish) struct strbuf sentence = STRBUF_INIT;
        git_sentence(end->output, &sentence);
        error_set(&job->err, -EIO, "%s: %.180s", what, strbuf_text(&sentence));
    }
    return false;
}

bool job_write_record(struct job *job) {
    if (worktree_record_write(job->e->data, job->id, &job->record, &job->err) == 0)
        return true;
    job_end(job);
    return false;
}
