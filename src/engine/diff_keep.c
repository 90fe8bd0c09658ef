/* diff_keep.c: a run in a worktree has ended: what has its iteration changed?
 *
 * The files as they are become a tree, through an index of our own; nothing of the worktree is touched.
 * Its name is noted beside the task, with that of the state before: the tree of the iteration before, or
 * where the branch left its base. This is for people, so it never fails a run: what could not be done
 * in time, or while the disk is short, is noted as not known, and the end of the run goes on.
 *
 * After a crash the end is told again, perhaps when the base has this work already: then what was noted
 * just before the merge stays. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/diff_internal.h"
#include "engine/iteration.h"
#include "os/log.h"

static void go_on(struct job *job) {
    void (*after)(struct job * job) = job->diff->after;
    job->err = (struct error){ 0 };
    after(job);
}

static void write_record(const struct job *job, uint32_t iteration,
                         const struct diff_record *record) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    diff_record_path(job->e, job->id, iteration, &path);
    if (diff_record_write(strbuf_text(&path), record, &err) < 0)
        log_warning("what '%s' has changed is not recorded: %s", job->id, err.text);
}

/* `to` of both is known, or "". */
static void write_both(struct job *job) {
    struct diff_work *work = job->diff;
    _cleanup_(strbuf_finish) struct strbuf next = STRBUF_INIT;
    write_record(job, 0, &work->all);
    write_record(job, work->iteration, &work->one);
    diff_record_path(job->e, job->id, work->iteration + 1, &next);
    (void)unlink(strbuf_text(&next)); /* of an earlier life of the task */
}

static void give_up(struct job *job, const struct aside_end *end, const char *what) {
    (void)job_worked(job, end, what);
    log_warning("what '%s' has changed is not recorded: %s", job->id,
                job->err.code < 0 ? job->err.text : "git has told nothing");
    job->diff->all.to[0] = job->diff->one.to[0] = '\0';
    write_both(job);
    go_on(job);
}

static void held(struct job *job, const struct aside_end *end) {
    (void)end; /* git keeps the tree for a while all the same */
    write_both(job);
    go_on(job);
}

static void tree_written(struct job *job, const struct aside_end *end) {
    struct diff_work *work = job->diff;
    struct git_line line;
    if (end->code != 0 || !git_hash(end->output, work->one.to)) {
        give_up(job, end, "git write-tree");
        return;
    }
    memcpy(work->all.to, work->one.to, sizeof(work->all.to));
    GIT_LINE(&line, "update-ref", job_text(job, "refs/worktree/sluice/%" PRIu32, work->iteration),
             work->one.to);
    diff_run(job, line.argv, held);
}

static void added(struct job *job, const struct aside_end *end) {
    struct git_line line;
    if (end->code != 0) {
        give_up(job, end, "git update-index");
        return;
    }
    GIT_LINE(&line, "write-tree");
    diff_read(job, line.argv, GIT_HASH_MAX, tree_written);
}

static void copied(struct job *job, const struct aside_end *end) {
    if (end->code != 0)
        give_up(job, end, "the index");
    else
        diff_add_all(job, added);
}

/* Where this iteration began. What was noted when its base changed, or by an attempt before, counts first. */
static void find_begin(struct job *job) {
    struct diff_work *work = job->diff;
    struct diff_record own = { 0 }, before = { 0 };
    const char *from = "";
    if (work->iteration == 1)
        from = work->all.from;
    else if (diff_find_record(job, work->iteration, &own) && own.from[0])
        from = own.from;
    else if (diff_find_record(job, work->iteration - 1, &before))
        from = before.to;
    memcpy(work->one.from, from, strlen(from) + 1);
    diff_record_finish(&own);
    diff_record_finish(&before);
}

static void base_told(struct job *job, const struct aside_end *end) {
    struct diff_work *work = job->diff;
    struct diff_record old = { 0 };
    char head[GIT_HASH_MAX];
    if (end->code != 0 || !diff_take_base(end->output, head, work->all.from)) {
        give_up(job, end, "git rev-parse");
        return;
    }
    bool is_merged = strcmp(head, work->all.from) == 0 && diff_find_record(job, 0, &old)
                     && strcmp(old.to, head) == 0 && strcmp(old.from, head) != 0;
    if (is_merged) {
        memcpy(work->all.from, old.from, sizeof(old.from));
        memcpy(work->all.to, old.to, sizeof(old.to));
    }
    diff_record_finish(&old);
    if (is_merged) {
        go_on(job);
        return;
    }
    find_begin(job);
    diff_copy_index(job, "sluice-index-end", copied);
}

/* What an attempt before this one has noted is not true any more. */
static void forget(const struct job *job, uint32_t iteration) {
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT, one = STRBUF_INIT;
    diff_record_path(job->e, job->id, 0, &all);
    diff_record_path(job->e, job->id, iteration, &one);
    (void)unlink(strbuf_text(&all));
    (void)unlink(strbuf_text(&one));
}

void diff_keep(struct job *job, void (*after)(struct job *job)) {
    const struct live_run *run = run_find(job->e, job->key.task);
    struct git_line line;
    if (job->diff || !run) { /* a delivery that is tried again has it */
        after(job);
        return;
    }
    if (host_of(job->e)->disk_low) {
        forget(job, run->iteration);
        after(job);
        return;
    }
    struct diff_work *work = diff_work_new(job);
    work->after = after;
    work->iteration = run->iteration;
    work->all.repository = xstrdup(job->record.repository);
    work->all.base = xstrdup(job->record.base);
    job->doing = "notes what it has changed";
    GIT_LINE(&line, "rev-parse", "HEAD", job_text(job, "%s...HEAD", job->record.base));
    diff_run(job, line.argv, base_told);
}

void diff_keep_merge(struct job *job) {
    struct diff_record record = { .repository = job->record.repository, .base = job->record.base };
    memcpy(record.from, job->base_hash, sizeof(record.from));
    memcpy(record.to, job->head, sizeof(record.to));
    if (job->diff)
        write_record(job, 0, &record);
}

void diff_keep_rebase(struct job *job) {
    struct diff_record record = { 0 };
    struct error err = { 0 };
    memcpy(record.from, job->head, sizeof(record.from));
    if (job->diff && iteration_prepare(job->e, job->id, job->diff->iteration + 1, &err) == 0)
        write_record(job, job->diff->iteration + 1, &record);
}
