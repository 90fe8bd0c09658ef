/* diff_steps.c: how git is asked for a diff. See diff_internal.h.
 *
 * What is compared was written by an agent, which may have configured the repository, too. Hooks, fsmonitor
 * and programs for diffs are turned off by words of the command line. Filters (`filter.X.clean`) have names
 * of their own, so they are asked for first, and each is turned off by its name; one that comes later is run below the
 * guard, as a run. `git add --all` would look into repositories below this one, with their filters: names are
 * listed and given one by one instead. Objects that a partial clone lacks are not fetched: no transport is allowed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/diff_internal.h"
#include "engine/iteration.h"

#define SPAN        SECONDS(60) /* git.timeout_s, if that is less */
#define FILTERS_MAX 200u        /* settings of filters; more are not believed */
#define OUTPUT_MAX  (64u << 10)
#define INDEX_MARK  "GIT_INDEX_FILE="

struct diff_work *diff_work_new(struct job *job) {
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
    error_set(&err, -ESHUTDOWN, "the daemon is ending");
    if (work->ready)
        work->ready(work->ctx, NULL, &err);
    diff_record_finish(&work->all);
    diff_record_finish(&work->one);
    strbuf_finish(&work->numstat);
    strbuf_finish(&work->patch);
    job->diff = NULL;
}

void diff_record_path(const struct engine *e, const char *id, uint32_t iteration,
                      struct strbuf *out) {
    if (iteration > 0)
        iteration_path(e, id, iteration, "diff.json", out);
    else
        strbuf_printf(out, "%s/tasks/%s/diff.json", e->data, id);
}

bool diff_find_record(const struct job *job, uint32_t iteration, struct diff_record *ret) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    diff_record_path(job->e, job->id, iteration, &path);
    return diff_record_read(strbuf_text(&path), ret) == 0;
}

/* --- running git ------------------------------------------------------------------------------- */

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
        env[n++] = job_text(job, INDEX_MARK "%s", work->index);
    env[n] = NULL;
    return env;
}

/* Of a worktree that has gone, git finds the repository. */
static void run(struct job *job, const char *const *argv, size_t most, job_step then) {
    time_ms span = config_number(job->e->config, "git.timeout_s", NULL);
    bool has_worktree = job->diff->cwd == job->path;
    const struct job_call call = {
        .argv = argv,
        .cwd = job->diff->cwd,
        .git_dir = has_worktree ? job->record.git_dir : NULL,
        .work_tree = has_worktree ? job->path : NULL,
        .more = build_env(job),
        .timeout = span < SPAN ? span : SPAN,
        .output_max = most > 0 ? most : OUTPUT_MAX,
        .as_run = has_worktree,
        .is_offline = true,
        .reads = most > 0,
    };
    job_call(job, &call, then);
}

void diff_run(struct job *job, const char *const *argv, job_step then) {
    run(job, argv, 0, then);
}

void diff_read(struct job *job, const char *const *argv, size_t most, job_step then) {
    run(job, argv, most, then);
}

/* --- filters, and the index -------------------------------------------------------------------- */

/* An empty command is none, and a filter that is not required may be none. */
static void turn_off(struct job *job, const struct aside_end *end) {
    const char **pairs = arena_alloc(&job->arena, (2 * FILTERS_MAX + 2) * sizeof(*pairs));
    size_t count = 0, n = 0;
    for (const char *at = end->output; at < end->output + end->size && count < FILTERS_MAX;
         at += strlen(at) + 1, count++) {
        const char *dot = strrchr(at, '.');
        const char *value = dot && strcmp(dot, ".required") == 0 ? "false" : "";
        pairs[n++] = job_text(job, "GIT_CONFIG_KEY_%zu=%s", count, at);
        pairs[n++] = job_text(job, "GIT_CONFIG_VALUE_%zu=%s", count, value);
    }
    pairs[n++] = job_text(job, "GIT_CONFIG_COUNT=%zu", count);
    pairs[n] = NULL;
    job->diff->filters = pairs;
}

static void filters_told(struct job *job, const struct aside_end *end) {
    struct diff_work *work = job->diff;
    size_t names = 0;
    for (size_t i = 0; i < end->size; i++)
        names += end->output[i] == '\0';
    if (end->code != 1 && (end->code != 0 || names >= FILTERS_MAX)) { /* 1: it has none */
        struct aside_end failed = *end;
        failed.code = end->code == 0 ? 1 : end->code;
        failed.output = end->code == 0 ? "fatal: it configures too many filters" : end->output;
        work->then(job, &failed);
        return;
    }
    turn_off(job, end);
    const char *from = job_text(job, "%s/index", job->record.git_dir);
    const char *const argv[] = { "cp", "--", from, work->index, NULL };
    remove_index(work);
    diff_run(job, argv, work->then);
}

void diff_copy_index(struct job *job, const char *name, job_step then) {
    struct git_line line;
    job->diff->then = then;
    job->diff->index = job_text(job, "%s/%s", job->record.git_dir, name);
    GIT_LINE(&line, "config", "--null", "--name-only", "--get-regexp",
             "^filter\\..*\\.(clean|smudge|process|required)$");
    diff_read(job, line.argv, OUTPUT_MAX, filters_told);
}

/* `$@` is git. A name that ends with a slash is a repository of its own. */
static void add_names(struct job *job, const char *script, job_step then) {
    struct git_line line;
    const char *argv[GIT_WORDS_MAX + 6] = { "sh", "-c", script, job->diff->index };
    GIT_LINE(&line, "-c", "core.safecrlf=false");
    memcpy(argv + 4, line.argv, (line.count + 1) * sizeof(*argv));
    diff_run(job, argv, then);
}

void diff_add_new(struct job *job, job_step then) {
    add_names(job,
              "\"$@\" ls-files -z --others --exclude-standard >\"$0.listed\" && "
              "sed -z '/\\/$/d' \"$0.listed\" >\"$0.names\" && exec \"$@\" add --intent-to-add "
              "--pathspec-from-file=\"$0.names\" --pathspec-file-nul",
              then);
}

void diff_add_all(struct job *job, job_step then) {
    add_names(job,
              "\"$@\" ls-files -z --others --modified --deleted --exclude-standard "
              ">\"$0.names\" && exec \"$@\" update-index -z --add --remove --stdin <\"$0.names\"",
              then);
}

/* HEAD, then both sides of BASE...HEAD, then "^" and where HEAD has left the base. */
bool diff_take_base(const char *output, char ret_head[GIT_HASH_MAX], char ret_from[GIT_HASH_MAX]) {
    char head[GIT_HASH_MAX], from[GIT_HASH_MAX];
    if (!git_output_hash(output, 0, head) || !git_output_hash(output, 3, from))
        return false;
    memcpy(ret_head, head, GIT_HASH_MAX);
    memcpy(ret_from, from, GIT_HASH_MAX);
    return true;
}
