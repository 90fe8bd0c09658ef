/* deliveries.c: what became of the work of a run in a worktree. See worktrees.h.
 * Changes are counted from the trees that diff_keep recorded, so the worktree is not read again. A
 * failure to count them blocks nothing. */
#include "engine/worktrees.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "engine/git/git_internal.h"
#include "os/log.h"

#define STAT_MAX 1000u

static char *delivery_path(const struct engine *e, const char *id) {
    return xasprintf("%s/tasks/%s/delivery.json", e->data, id);
}

/* --- counting --------------------------------------------------------------------------------- */

static void shortstat_read(struct job *job) {
    job->changes.known =
        job->result.code == 0 && delivery_take_stat(job->result.output, &job->changes);
    job->diff->after(job);
}

void delivery_count_changes(struct job *job, job_step then) {
    struct diff_work *work = job->diff;
    if (job->outcome != OUTCOME_OK || job->changes.known || !work || !work->all.from[0]
        || !work->all.to[0]) {
        then(job);
        return;
    }
    work->after = then;
    diff_git(job,
             WORDS("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--shortstat",
                   work->all.from, work->all.to, "--"),
             STAT_MAX, shortstat_read);
}

static void commits_counted(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf count = STRBUF_INIT;
    if (job->result.code == 0 && git_output_line(job->result.output, 0, &count))
        job->changes.commits = strtoimax(strbuf_text(&count), NULL, 10);
    job->diff->then(job);
}

/* Merged work is counted from the base, everything else from where the branch left it. */
void delivery_count_commits(struct job *job, job_step then) {
    if (job->is_counted || !job->changes.known || !job->diff) {
        then(job);
        return;
    }
    job->is_counted = true;
    job->diff->then = then;
    diff_git(
        job,
        WORDS("rev-list", "--count", "HEAD",
              job_text(job, "^%s",
                       job->is_merged && job->base_hash[0] ? job->base_hash : job->diff->all.from),
              "--"),
        STAT_MAX, commits_counted);
}

/* --- the event -------------------------------------------------------------------------------- */

/* The result of the delivery is an event of its own, beside the end of the run. */
struct merge_event {
    struct engine_request request; /* must be first */
    struct run_key key;
    char *data;
};

static int put_merge_event(struct engine *e, struct engine_request *request) {
    const struct merge_event *event = (const struct merge_event *)request;
    engine_event(e, "run.merge", event->key.task, event->key.attempt, event->data);
    return 0;
}

static void merge_event_done(struct engine *e, struct engine_request *request,
                             enum store_outcome outcome, const struct error *err) {
    (void)e;
    (void)outcome;
    (void)err;
    free(((struct merge_event *)request)->data);
    free(request);
}

static const char *result_of(const struct job *job) {
    if (job->is_forced)
        return outcome_name(job->outcome);
    return job->end.kind == RUN_END_CHECK || job->end.kind == RUN_END_STOPPED
               ? run_end_kind_name(job->end.kind)
               : "ok";
}

static const char *message_of(const struct job *job) {
    return job->note[0] ? job->note : job->end.message;
}

static void write_event(struct job *job) {
    struct merge_event *event = xcalloc(1, sizeof(*event));
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    const char *const members[][2] = {
        { "strategy", job->record.merge }, { "result", result_of(job) },
        { "branch", job->branch },         { "base", job->record.base },
        { "message", message_of(job) },    { "output", strbuf_text(&job->output) },
    };
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put_string(&w, members[i][0], members[i][1]);
    if (job->has_conflict) {
        json_put_bool(&w, "iterates", job->record.iterates);
        json_put_string(&w, "commit", job->record.conflict);
    }
    if (job->changes.known) {
        json_put_object(&w, "changes");
        json_put_int(&w, "commits", job->changes.commits);
        json_put_int(&w, "files", job->changes.files);
        json_put_int(&w, "insertions", job->changes.insertions);
        json_put_int(&w, "deletions", job->changes.deletions);
        json_write_object_end(&w);
    }
    json_write_object_end(&w);
    event->request.run = put_merge_event;
    event->request.done = merge_event_done;
    event->key = job->key;
    event->data = strbuf_take(&data);
    engine_request(job->e, &event->request);
}

/* --- on disk ---------------------------------------------------------------------------------- */

static void write_file(const struct job *job) {
    struct error err = { 0 };
    struct delivery delivery = {
        .strategy = job->record.merge,
        .result = (char *)(uintptr_t)result_of(job),
        .message = (char *)(uintptr_t)message_of(job),
        .repository = job->record.repository,
        .branch = job->branch,
        .base = job->record.base,
        .merged = job->is_merged,
        .iterates = job->record.iterates,
        .at = job->e->now,
        .changes = job->changes,
    };
    memcpy(delivery.commit, job->head, sizeof(delivery.commit));
    _cleanup_(freep) char *path = delivery_path(job->e, job->id);
    if (delivery_write(path, &delivery, &err) < 0)
        log_warning("what became of the work of '%s' is not recorded: %s", job->id, err.text);
}

/* A record of an earlier run is no longer true. */
void delivery_keep(struct job *job) {
    bool is_delivery =
        strcmp(job->record.merge, "none") != 0 && (job->outcome == OUTCOME_OK || job->is_forced);
    if (is_delivery)
        write_event(job);
    if (is_delivery || job->changes.known) {
        write_file(job);
    } else {
        _cleanup_(freep) char *path = delivery_path(job->e, job->id);
        (void)unlink(path);
    }
}

void delivery_keep_merge(struct job *job) {
    struct delivery old = { 0 };
    write_event(job);
    if (!job->is_merged)
        return;
    _cleanup_(freep) char *path = delivery_path(job->e, job->id);
    if (delivery_read(path, &old) == 0)
        job->changes = old.changes;
    delivery_finish(&old);
    write_file(job);
}

void delivery_keep_removed(struct job *job, const char *removed) {
    struct delivery delivery = { 0 };
    _cleanup_(freep) char *path = delivery_path(job->e, job->id);
    if (delivery_read(path, &delivery) == 0) {
        free(delivery.removed);
        delivery.removed = xstrdup(removed);
        if (job->head[0])
            memcpy(delivery.commit, job->head, sizeof(delivery.commit));
        (void)delivery_write(path, &delivery, NULL);
    }
    delivery_finish(&delivery);
}

bool engine_delivery(const struct engine *e, task_id task, struct delivery *ret) {
    char id[ENGINE_ID_MAX];
    _cleanup_(freep) char *path = delivery_path(e, engine_task_id(e, task, id));
    return delivery_read(path, ret) == 0;
}

bool delivery_is_old(const struct engine *e, task_id task, const char *key) {
    time_ms span = config_number(e->config, key, NULL);
    struct delivery delivery = { 0 };
    if (span == TIME_NEVER || !engine_delivery(e, task, &delivery))
        return false;
    time_ms since = delivery.at;
    delivery_finish(&delivery);
    return since > 0 && time_add(since, span) <= e->now;
}

bool engine_changes(const struct engine *e, task_id task, struct delivery_changes *ret) {
    const struct engine_project *project = project_of_task(e, task);
    struct delivery delivery;
    if (!project || !workspace_makes_worktrees(e, project) || !engine_delivery(e, task, &delivery))
        return false;
    *ret = delivery.changes;
    delivery_finish(&delivery);
    return ret->known;
}
