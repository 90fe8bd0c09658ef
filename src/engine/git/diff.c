/* diff.c: what a task changed in its worktree. See worktrees.h.
 *
 * While the worktree exists, the diff of a task is its current files against where its branch left
 * the base: commits, uncommitted and new files alike. New files get into a diff through a copy of
 * the index that knows their names, so only that copy is written. Without the worktree, and for
 * past iterations, the record of the end of the run is used: two object names, if git still has
 * them.
 *
 * One at a time per repository, and few at once: reading must not load the machine. */
#include "engine/worktrees.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/git/git_internal.h"
#include "engine/runs/runs_internal.h"
#include "os/log.h"
#include "os/outside.h"

/* --- git commands ----------------------------------------------------------------------------- */

/* How git is run for a diff. See git_internal.h. The compared files were written by an agent, which
 * may have configured the repository, too. Hooks, fsmonitor and diff programs are disabled on the
 * command line. Filters (`filter.X.clean`) have arbitrary names, so they are listed first and each
 * is disabled by name; one that is added later runs under the guard, as a run. `git add --all`
 * would descend into nested repositories with their filters, so names are listed and passed one by
 * one instead. Objects that a partial clone lacks are not fetched: no transport is allowed. */

#define SPAN        SECONDS(60) /* or git.timeout_s, if that is less */
#define FILTERS_MAX 200u        /* settings of filters; more are refused */
#define OUTPUT_MAX  (64u << 10)

static struct diff_work *diff_work_new(struct job *job) {
    struct diff_work *work = arena_alloc(&job->arena, sizeof(*work));
    *work = (struct diff_work){ .cwd = job->path };
    job->diff = work;
    return work;
}

static void remove_index(const struct diff_work *work) {
    static const char *const endings[] = { "", ".lock", ".listed", ".names" };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    for (size_t i = 0; work->index && i < ARRAY_SIZE(endings); i++) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s%s", work->index, endings[i]);
        (void)unlink(strbuf_text(&path));
    }
}

void diff_work_finish(struct job *job) {
    struct diff_work *work = job->diff;
    struct error err = { 0 };
    if (!work)
        return;
    remove_index(work);
    error_set(&err, -ESHUTDOWN, "the daemon is stopping");
    if (work->ready)
        work->ready(work->ctx, NULL, &err);
    diff_record_finish(&work->all);
    diff_record_finish(&work->one);
    strbuf_finish(&work->numstat);
    strbuf_finish(&work->patch);
    job->diff = NULL;
}

/* The path of a record; iteration 0: that of the task. */
static char *diff_record_path(const struct engine *e, const char *id, uint32_t iteration) {
    return iteration > 0 ? iteration_path(e, id, iteration, "diff.json")
                         : xasprintf("%s/tasks/%s/diff.json", e->data, id);
}

bool diff_find_record(const struct job *job, uint32_t iteration, struct diff_record *ret) {
    _cleanup_(freep) char *path = diff_record_path(job->e, job->id, iteration);
    return diff_record_read(path, ret) == 0;
}

/* --- running git ------------------------------------------------------------------------------ */

static const char *const *build_env(struct job *job) {
    const struct diff_work *work = job->diff;
    size_t filters = 0, n = 0;
    while (work->filters && work->filters[filters])
        filters++;
    const char **env = arena_alloc(&job->arena, (filters + 4) * sizeof(*env));
    for (; n < filters; n++)
        env[n] = work->filters[n];
    env[n++] = "GIT_OPTIONAL_LOCKS=0";
    env[n++] = "GIT_LITERAL_PATHSPECS=1";
    if (work->index)
        env[n++] = job_text(job, "GIT_INDEX_FILE=%s", work->index);
    return env;
}

/* If the worktree was removed, git finds the repository. */
static void run_command(struct job *job, struct job_call call, size_t most, job_step then) {
    time_ms span = config_number(job->e->config, "git.timeout_s", NULL);
    bool has_worktree = job->diff->cwd == job->path;
    call.cwd = job->diff->cwd;
    call.git_dir = has_worktree ? job->record.git_dir : NULL;
    call.work_tree = has_worktree ? job->path : NULL;
    call.more = build_env(job);
    call.timeout = span < SPAN ? span : SPAN;
    call.output_max = most > 0 ? most : OUTPUT_MAX;
    call.as_run = has_worktree;
    call.is_offline = true;
    call.reads = most > 0;
    job_call(job, &call, then);
}

void diff_git(struct job *job, const char *const *words, size_t most, job_step then) {
    run_command(job, (struct job_call){ .git = words }, most, then);
}

/* --- filters and index ------------------------------------------------------------------------ */

/* An empty command disables a filter, unless the filter is required. */
static void filters_listed(struct job *job) {
    struct diff_work *work = job->diff;
    const struct helper_end *end = &job->result;
    const char **pairs = arena_alloc(&job->arena, (2 * FILTERS_MAX + 2) * sizeof(*pairs));
    size_t count = 0, n = 0, size = end->code == 0 ? end->size : 0;
    for (const char *at = end->output; at < end->output + size && count < FILTERS_MAX;
         at += strlen(at) + 1, count++) {
        const char *dot = strrchr(at, '.');
        const char *value = dot && strcmp(dot, ".required") == 0 ? "false" : "";
        pairs[n++] = job_text(job, "GIT_CONFIG_KEY_%zu=%s", count, at);
        pairs[n++] = job_text(job, "GIT_CONFIG_VALUE_%zu=%s", count, value);
    }
    if (count == FILTERS_MAX) {
        job->result.code = 2;
        job->result.output = "fatal: it configures too many filters";
    }
    if (end->code != 0 && end->code != 1) { /* 1: it has none */
        work->then(job);
        return;
    }
    pairs[n] = job_text(job, "GIT_CONFIG_COUNT=%zu", count);
    work->filters = pairs;
    const char *from = job_text(job, "%s/index", job->record.git_dir);
    remove_index(work);
    run_command(job, (struct job_call){ .argv = WORDS("cp", "--", from, work->index) }, 0,
                work->then);
}

/* Lists the filters and copies the index of the worktree. `then`: after the copy, or after the
 * command that failed. */
static void diff_copy_index(struct job *job, const char *name, job_step then) {
    job->diff->then = then;
    job->diff->index = job_text(job, "%s/%s", job->record.git_dir, name);
    diff_git(job,
             WORDS("config", "--null", "--name-only", "--get-regexp",
                   "^filter\\..*\\.(clean|smudge|process|required)$"),
             OUTPUT_MAX, filters_listed);
}

/* Runs a script that adds files to our index. In it `$@` is git and `$0` the index. A listed name
 * that ends with a slash is a nested repository. */
static void add_names(struct job *job, const char *script, job_step then) {
    const struct job_call call = { .argv = WORDS("sh", "-c", script, job->diff->index),
                                   .git = WORDS("-c", "core.safecrlf=false") };
    run_command(job, call, 0, then);
}

/* HEAD, then both sides of BASE...HEAD, then "^" and where HEAD left the base. */
static bool diff_take_base(const char *output, char ret_head[GIT_HASH_MAX],
                           char ret_from[GIT_HASH_MAX]) {
    return git_output_hash(output, 0, ret_head) && git_output_hash(output, 3, ret_from);
}

/* --- the end of a run ------------------------------------------------------------------------- */

/* Records what the iteration of an ended run changed. The current files become a tree, through an
 * index of our own; the worktree is not touched. Its name is recorded beside the task, with that of
 * the state before: the tree of the previous iteration, or where the branch left its base. This is
 * informational, so it never fails a run: what could not be done in time, or while the disk is low,
 * is recorded as unknown, and the end of the run continues.
 *
 * After a crash the end is processed again, perhaps when the base already has this work: then the
 * record made just before the merge stays. */

static void continue_end(struct job *job) {
    job->err = (struct error){ 0 };
    job->diff->after(job);
}

static void write_record(const struct job *job, uint32_t iteration,
                         const struct diff_record *record) {
    struct error err = { 0 };
    _cleanup_(freep) char *path = diff_record_path(job->e, job->id, iteration);
    if (diff_record_write(path, record, &err) < 0)
        log_warning("what '%s' has changed is not recorded: %s", job->id, err.text);
}

/* `to` of both is set, or "". */
static void write_both(struct job *job) {
    struct diff_work *work = job->diff;
    write_record(job, 0, &work->all);
    write_record(job, work->iteration, &work->one);
    _cleanup_(freep) char *next = diff_record_path(job->e, job->id, work->iteration + 1);
    (void)unlink(next); /* left from an earlier use of this task id */
}

static void record_unknown(struct job *job, const char *what) {
    (void)job_worked(job, what, NULL);
    log_warning("what '%s' has changed is not recorded: %s", job->id,
                job->err.code < 0 ? job->err.text : "git has told nothing");
    job->diff->all.to[0] = job->diff->one.to[0] = '\0';
    write_both(job);
    continue_end(job);
}

/* Without the ref, git keeps the tree for a while anyway. */
static void ref_written(struct job *job) {
    write_both(job);
    continue_end(job);
}

static void tree_written(struct job *job) {
    struct diff_work *work = job->diff;
    if (job->result.code != 0 || !git_hash(job->result.output, work->one.to)) {
        record_unknown(job, "git write-tree");
        return;
    }
    memcpy(work->all.to, work->one.to, sizeof(work->all.to));
    diff_git(job,
             WORDS("update-ref", job_text(job, "refs/worktree/sluice/%" PRIu32, work->iteration),
                   work->one.to),
             0, ref_written);
}

static void names_added_to_index(struct job *job) {
    if (job->result.code != 0)
        record_unknown(job, "git update-index");
    else
        diff_git(job, WORDS("write-tree"), GIT_HASH_MAX, tree_written);
}

static void index_copied(struct job *job) {
    if (job->result.code != 0)
        record_unknown(job, "the index");
    else
        add_names(
            job,
            "\"$@\" ls-files -z --others --modified --deleted --exclude-standard "
            ">\"$0.names\" && exec \"$@\" update-index -z --add --remove --stdin <\"$0.names\"",
            names_added_to_index);
}

/* Where this iteration began. A record of a base change or of an earlier attempt comes first. */
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

static void base_found(struct job *job) {
    struct diff_work *work = job->diff;
    struct diff_record old = { 0 };
    char head[GIT_HASH_MAX];
    if (job->result.code != 0 || !diff_take_base(job->result.output, head, work->all.from)) {
        record_unknown(job, "git rev-parse");
        return;
    }
    if (conflict_is_open(&job->record)) /* the files are on top of the commit that is merged */
        snprintf(work->all.from, sizeof(work->all.from), "%s", job->record.conflict);
    bool is_merged = strcmp(head, work->all.from) == 0 && diff_find_record(job, 0, &old)
                     && strcmp(old.to, head) == 0 && strcmp(old.from, head) != 0;
    if (is_merged) {
        memcpy(work->all.from, old.from, sizeof(old.from));
        memcpy(work->all.to, old.to, sizeof(old.to));
    }
    diff_record_finish(&old);
    if (is_merged) {
        continue_end(job);
        return;
    }
    find_begin(job);
    diff_copy_index(job, "sluice-index-end", index_copied);
}

/* A record of an earlier attempt is no longer true. */
static void remove_records(const struct job *job, uint32_t iteration) {
    _cleanup_(freep) char *all = diff_record_path(job->e, job->id, 0);
    _cleanup_(freep) char *one = diff_record_path(job->e, job->id, iteration);
    (void)unlink(all);
    (void)unlink(one);
}

void diff_keep(struct job *job, job_step after) {
    const struct live_run *run = run_find(job->e, job->key.task);
    if (job->diff || !run) { /* a retried delivery has it already */
        after(job);
        return;
    }
    if (host_of(job->e)->disk_low) {
        remove_records(job, run->iteration);
        after(job);
        return;
    }
    struct diff_work *work = diff_work_new(job);
    work->after = after;
    work->iteration = run->iteration;
    work->all.repository = xstrdup(job->record.repository);
    work->all.base = xstrdup(job->record.base);
    job->doing = "notes what it has changed";
    diff_git(job, WORDS("rev-parse", "HEAD", job_text(job, "%s...HEAD", job->record.base)), 0,
             base_found);
}

void diff_keep_merge(struct job *job) {
    struct diff_record record = { .repository = job->record.repository, .base = job->record.base };
    memcpy(record.from, job->base_hash, sizeof(record.from));
    memcpy(record.to, job->head, sizeof(record.to));
    if (job->diff)
        write_record(job, 0, &record);
}

void diff_keep_rebase(struct job *job, const char *commit) {
    struct diff_record record = { 0 };
    struct error err = { 0 };
    snprintf(record.from, sizeof(record.from), "%s", commit);
    if (job->diff && iteration_prepare(job->e, job->id, job->diff->iteration + 1, &err) == 0)
        write_record(job, job->diff->iteration + 1, &record);
}

/* --- queries ---------------------------------------------------------------------------------- */

#define WAITING_MAX 16u
#define NUMSTAT_MAX (1u << 20)

/* --- the answer ------------------------------------------------------------------------------- */

static void answer_diff(struct job *job) {
    struct diff_work *work = job->diff;
    _cleanup_(freep) struct diff_file *files = xcalloc(DIFF_FILES_MAX, sizeof(*files));
    struct diff diff = {
        .base = work->one.from,
        .head = work->is_live ? NULL : work->one.to,
        .branch = work->all.base,
        .files = files,
        .patch = work->question.stat ? NULL : strbuf_text(&work->patch),
        .patch_size = work->patch.length,
        .truncated = work->cut,
    };
    struct diff_file more;
    const char *at = strbuf_text(&work->numstat), *end = at + work->numstat.length;
    while (diff.file_count < DIFF_FILES_MAX && diff_next_file(&at, end, &files[diff.file_count]))
        diff.file_count++;
    diff.truncated |= diff_next_file(&at, end, &more);
    diff_ready ready = TAKE_PTR(work->ready);
    ready(work->ctx, job->err.code < 0 ? NULL : &diff, &job->err);
}

/* Drops a partial last record, which would look complete. */
static void append_records(struct job *job, struct strbuf *out, char separator) {
    const struct helper_end *end = &job->result;
    size_t size = end->size;
    while (end->cut && size > 0 && end->output[size - 1] != separator)
        size--;
    strbuf_add(out, end->output, size > 0 ? size : end->size);
    job->diff->cut |= end->cut;
}

static bool fall_back(struct job *job);

/* Also after a git that succeeded: it may have seen a worktree that was being removed. */
static bool diff_worked(struct job *job, const char *what) {
    if (fall_back(job))
        return false;
    if (job->result.code == 0 || job->result.cut)
        return true;
    if (job->result.timed_out)
        error_set(&job->err, -EBUSY,
                  "git took too long to compare what '%s' has changed: ask again", job->id);
    else if (!job->diff->is_live && job->result.code > 0)
        error_set(&job->err, -ENOENT,
                  "what '%s' has changed is no longer recorded: git has collected it in '%s'",
                  job->id, job->diff->cwd);
    else {
        (void)job_worked(job, what, NULL);
        job->err.code = -ENOENT; /* for any cause: there is nothing to show */
        (void)error_prefix(&job->err, "what '%s' has changed cannot be told", job->id);
    }
    job_end(job);
    return false;
}

/* --- git diff --------------------------------------------------------------------------------- */

static void run_diff(struct job *job, const char *how, size_t most, job_step then) {
    const struct diff_work *work = job->diff;
    const struct diff_question *question = &work->question;
    bool is_patch = strcmp(how, "--patch") == 0;
    const char *words[32];
    size_t n = 0;
    static const char *const first[] = {
        "-c",
        "core.quotePath=false",
        "-c",
        "core.safecrlf=false",
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--find-renames",
        "--no-relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--submodule=short",
        "--ignore-submodules=dirty",
    };
    for (; n < ARRAY_SIZE(first); n++)
        words[n] = first[n];
    words[n++] = how;
    /* Names in a patch are quoted, those in a list end in NUL. */
    words[n++] = is_patch ? "--abbrev=12" : "-z";
    if (is_patch)
        words[n++] = job_text(job, "--unified=%" PRIu32, question->context);
    words[n++] = work->one.from;
    if (!work->is_live)
        words[n++] = work->one.to;
    words[n++] = "--";
    if (question->path)
        words[n++] = question->path;
    if (question->old_path)
        words[n++] = question->old_path;
    words[n] = NULL;
    diff_git(job, words, most, then);
}

static void patch_read(struct job *job) {
    if (!diff_worked(job, "git diff"))
        return;
    append_records(job, &job->diff->patch, '\n');
    job_end(job);
}

static void files_listed(struct job *job) {
    if (!diff_worked(job, "git diff"))
        return;
    append_records(job, &job->diff->numstat, '\0');
    if (job->diff->question.stat)
        job_end(job);
    else
        run_diff(job, "--patch", DIFF_PATCH_MAX, patch_read);
}

/* --- the current worktree --------------------------------------------------------------------- */

static void names_added(struct job *job) {
    if (diff_worked(job, "git add"))
        run_diff(job, "--numstat", NUMSTAT_MAX, files_listed);
}

static void live_index_copied(struct job *job) {
    if (diff_worked(job, "the index"))
        add_names(job,
                  "\"$@\" ls-files -z --others --exclude-standard >\"$0.listed\" && "
                  "sed -z '/\\/$/d' \"$0.listed\" >\"$0.names\" && exec \"$@\" add --intent-to-add "
                  "--pathspec-from-file=\"$0.names\" --pathspec-file-nul",
                  names_added);
}

static void live_base_found(struct job *job) {
    struct diff_work *work = job->diff;
    char head[GIT_HASH_MAX], from[GIT_HASH_MAX];
    if (!diff_worked(job, "git rev-parse"))
        return;
    if (!diff_take_base(job->result.output, head, from)) {
        error_set(&job->err, -ENOENT, "'%s' and its base '%s' have no commit in common", job->id,
                  job->record.base);
        job_end(job);
        return;
    }
    if (conflict_is_open(&job->record)) /* the files are on top of the commit that is merged */
        snprintf(from, sizeof(from), "%s", job->record.conflict);
    /* The base has it all: the change is what was merged, and what came after. */
    bool is_merged = work->question.iteration == 0 && strcmp(head, from) == 0 && work->all.from[0]
                     && strcmp(work->all.to, head) == 0;
    if (work->one.from[0] == '\0')
        memcpy(work->one.from, is_merged ? work->all.from : from, sizeof(work->one.from));
    diff_copy_index(job, "sluice-index-diff", live_index_copied);
}

static void diff_begin(struct job *job) {
    if (fall_back(job))
        return;
    if (!job->diff->is_live)
        run_diff(job, "--numstat", NUMSTAT_MAX, files_listed);
    else
        diff_git(job, WORDS("rev-parse", "HEAD", job_text(job, "%s...HEAD", job->record.base)), 0,
                 live_base_found);
}

/* --- what is compared ------------------------------------------------------------------------- */

/* Reports a record that a run has replaced. */
static int check_record(const struct job *job, struct error *err) {
    struct stat st;
    _cleanup_(freep) char *path = diff_record_path(job->e, job->id, job->diff->question.iteration);
    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
        return 0;
    return outside_refuse(path, st.st_mode, err);
}

static int not_recorded(const struct job *job, struct error *err) {
    const struct diff_work *work = job->diff;
    int r = check_record(job, err);
    if (r < 0)
        return r;
    if (work->question.iteration > 0)
        return error_set(err, -ENOENT,
                         "what iteration %" PRIu32 " of '%s' changed was not recorded",
                         work->question.iteration, job->id);
    return error_set(err, -ENOENT, "what '%s' changed was not recorded, and its worktree has gone",
                     job->id);
}

/* An unfinished iteration is compared with the current files. */
static int choose_iteration(struct job *job, uint32_t now, struct error *err) {
    struct diff_work *work = job->diff;
    uint32_t n = work->question.iteration;
    struct diff_record before = { 0 };
    const struct live_run *run = run_find(job->e, job->key.task);
    if (n > now)
        return error_set(err, -ENOENT,
                         "'%s' has no iteration %" PRIu32 ": it is in iteration %" PRIu32, job->id,
                         n, now);
    (void)diff_find_record(job, n, &work->one);
    if (n > 1 && work->one.from[0] == '\0' && diff_find_record(job, n - 1, &before))
        memcpy(work->one.from, before.to, sizeof(before.to));
    diff_record_finish(&before);
    bool is_unfinished = run && run->iteration == n && job->has_record;
    work->is_live = is_unfinished;
    if ((n > 1 || !is_unfinished) && work->one.from[0] == '\0')
        return not_recorded(job, err);
    if (!is_unfinished && work->one.to[0] == '\0')
        return not_recorded(job, err);
    return 0;
}

static int choose_trees(struct job *job, uint32_t now, struct error *err) {
    struct diff_work *work = job->diff;
    if (work->question.iteration > 0)
        return choose_iteration(job, now, err);
    work->is_live = job->has_record;
    if (work->is_live)
        return 0;
    memcpy(work->one.from, work->all.from, sizeof(work->one.from));
    memcpy(work->one.to, work->all.to, sizeof(work->one.to));
    return work->one.from[0] && work->one.to[0] ? 0 : not_recorded(job, err);
}

/* git takes a moment to remove it, and deletes its files first. */
static bool worktree_exists(struct job *job) {
    struct worktree_record now = { 0 };
    bool worktree_exists = worktree_record_read(job->e->data, job->id, &now, NULL) == 0
                           && !now.removing && worktree_find(job->path, &job->record) == 0;
    worktree_record_finish(&now);
    return worktree_exists;
}

/* The worktree is removed after its task has ended, perhaps just now: then the record is used.
 * True: the query continues with that, or the record does not exist and the job has ended. */
static bool fall_back(struct job *job) {
    struct diff_work *work = job->diff;
    if (!job->has_record || worktree_exists(job))
        return false;
    job->has_record = false;
    work->cwd = job->record.repository;
    work->index = NULL; /* removed with it */
    diff_record_finish(&work->all);
    diff_record_finish(&work->one);
    strbuf_clear(&work->numstat);
    strbuf_clear(&work->patch);
    work->cut = false;
    if (!diff_find_record(job, 0, &work->all))
        work->all = (struct diff_record){ .base = xstrdup(job->record.base) };
    if (choose_trees(job, UINT32_MAX, &job->err) < 0)
        job_end(job);
    else
        run_diff(job, "--numstat", NUMSTAT_MAX, files_listed);
    return true;
}

static int no_worktree(const struct engine *e, const struct job *job, struct error *err) {
    const struct engine_project *project = project_of_task(e, job->key.task);
    const char *name = project ? project->name : "P";
    int r = check_record(job, err);
    if (r < 0)
        return r;
    if (project && workspace_makes_worktrees(e, project))
        return error_set(err, -ENOENT, "'%s' has no worktree yet: it has not run", job->id);
    return error_set(err, -ENOENT,
                     "'%s' has no git worktree of its own, so what it changed is not known; "
                     "projects.%s.workspace_mode: worktree gives its project's tasks one",
                     job->id, name);
}

static int prepare_diff(struct job *job, struct error *err) {
    struct engine *e = job->e;
    struct diff_work *work = job->diff;
    struct task_view view;
    bool has_record = worktree_record_read(e->data, job->id, &job->record, NULL) == 0;
    int there = has_record && job->record.made ? worktree_find(job->path, &job->record) : -ENOENT;
    if (there == -EPERM)
        return error_set(err, -ENOENT, WORKTREE_REPLACED, job->path);
    job->has_record = there == 0 && !job->record.removing;
    bool is_noted = diff_find_record(job, 0, &work->all);
    if (!job->has_record && !is_noted)
        return has_record ? not_recorded(job, err) : no_worktree(e, job, err);
    int r = choose_trees(job, core_task(e->core, job->key.task, &view) ? view.iteration : 0, err);
    if (r < 0)
        return r;
    const char *repository = has_record ? job->record.repository : work->all.repository;
    if (access(repository, X_OK) < 0)
        return error_set(err, -ENOENT, "the repository '%s' of '%s' is gone", repository, job->id);
    if (!work->all.base || !*work->all.base) {
        free(work->all.base);
        work->all.base = xstrdup(job->record.base ? job->record.base : "");
    }
    work->cwd = job->has_record ? job->path : job_text(job, "%s", repository);
    job_set_lane(job, "diffs", repository);
    return 0;
}

int engine_diff(struct engine *e, const struct diff_question *question, diff_ready ready, void *ctx,
                struct error *err) {
    char id[ENGINE_ID_MAX];
    unsigned waiting = 0;
    for (const struct job *other = workspaces_of(e)->jobs; other; other = other->next)
        waiting += other->kind == JOB_DIFF;
    if (waiting >= WAITING_MAX)
        return error_set(err, -EAGAIN, "%u diffs are being made: ask again", WAITING_MAX);
    struct job *job =
        job_new(e, JOB_DIFF, engine_task_id(e, question->task, id), diff_begin, answer_diff);
    struct diff_work *work = diff_work_new(job);
    job->key.task = question->task;
    work->question = *question;
    if (question->path)
        work->question.path = job_text(job, "%s", question->path);
    if (question->old_path)
        work->question.old_path = job_text(job, "%s", question->old_path);
    int r = prepare_diff(job, err);
    if (r < 0) {
        job_free(job);
        return r;
    }
    work->ready = ready;
    work->ctx = ctx;
    job_begin(job);
    return 0;
}

bool engine_has_diff(const struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, task, id);
    _cleanup_(freep) char *diff = diff_record_path(e, id, 0);
    _cleanup_(freep) char *worktree = worktree_record_path(e->data, id);
    return access(diff, F_OK) == 0 || access(worktree, F_OK) == 0;
}
