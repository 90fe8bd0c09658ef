/* iteration.c: the folders of an iteration, and its prompt.
 *
 * Attempts have run folders; what belongs to the work itself is kept by iteration, because a retry
 * continues the same work and the next iteration starts over. Only the feedback is fsynced: a
 * prompt is written again with each launch, and artifacts are the run's own. */
#include "engine/runs/runs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"
#include "engine/agents/agents_internal.h"
#include "engine/follow_ups.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/outside.h"
#include "rundir/remove.h"
#include "rundir/rundir.h"

#define FEEDBACK_MAX (64u * 1024u)
#define ENTRIES_MAX  10000u /* deleted here, if they cannot be moved */

#define SPARES 32u
#define BELOW  3  /* folders in that of a task: iterations, 001, artifacts */
#define TAKEN  64 /* of later ones the folders are read */

/* When the folders in that of a task were changed last (ctime), while they were known to be empty. */
struct changes {
    bool are_known;
    struct timespec at[BELOW];
};

struct iterations {
    uint32_t spares; /* bit N: tasks/.spare/N exists */
    struct changes of_spare[SPARES];
    struct taken {
        char id[ENGINE_ID_MAX];
        struct changes changes;
    } taken[TAKEN]; /* a ring */
    unsigned next;
    bool is_local; /* else another host may change them, and their attributes are cached */
};

PART_STATE(iterations, struct iterations, iterations_of)

static char *task_folder(const struct engine *e, const char *id) {
    return xasprintf("%s/tasks/%s", e->data, id);
}

char *iteration_path(const struct engine *e, const char *id, uint32_t iteration, const char *name) {
    return xasprintf("%s/tasks/%s/iterations/%03" PRIu32 "%s%s", e->data, id, iteration,
                     name ? "/" : "", name ? name : "");
}

void engine_iteration_folder(const struct engine *e, task_id task, uint32_t iteration,
                             struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "%s/tasks/%s/iterations", e->data, engine_task_id(e, task, id));
    if (iteration > 0)
        strbuf_printf(out, "/%03" PRIu32, iteration);
}

/* --- reused folders --------------------------------------------------------------------------- */

/* Most commands leave nothing. Their folders are as good as new: the next task gets them by one
 * rename, instead of creating four and deleting four for each.
 *
 * They are read only when they may have changed. Each entry that is created or removed in a folder,
 * and each change of its mode, sets its ctime to the time of the kernel's clock, and no program can
 * set it to another one. So a folder is unchanged if its ctime was in the past when it was seen to be
 * empty, and is still the same. That of the task itself is always read: moving it changes its
 * ctime. */

static char *spare_path(const struct engine *e, unsigned number) {
    return xasprintf("%s/tasks/.spare/%u", e->data, number);
}

static const char *const names_below[] = { "iterations", "001", ITERATION_ARTIFACTS };

static bool is_before(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Not known if one is as late as the present tick: a change that follows may get the same time. */
static void read_changes(struct engine *e, const char *id, struct changes *ret) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const struct timespec now = clock_read_tick();
    strbuf_printf(&path, "%s/tasks/%s", e->data, id);
    ret->are_known = iterations_of(e)->is_local;
    for (size_t i = 0; i < BELOW; i++) {
        struct stat st = { 0 };
        strbuf_printf(&path, "/%s", names_below[i]);
        ret->are_known =
            ret->are_known && lstat(strbuf_text(&path), &st) == 0 && is_before(&st.st_ctim, &now);
        ret->at[i] = st.st_ctim;
    }
}

static void remember_taken(struct engine *e, const char *id, unsigned number) {
    struct iterations *iterations = iterations_of(e);
    struct changes *changes = &iterations->of_spare[number];
    if (!changes->are_known)
        return;
    struct taken *taken = &iterations->taken[iterations->next++ % TAKEN];
    (void)snprintf(taken->id, sizeof(taken->id), "%s", id);
    taken->changes = *changes;
    changes->are_known = false;
}

/* The changes of before are forgotten. */
static bool are_unchanged(struct engine *e, const char *id, const struct changes *found) {
    struct iterations *iterations = iterations_of(e);
    for (size_t i = 0; i < TAKEN; i++) {
        struct taken *taken = &iterations->taken[i];
        if (!taken->changes.are_known || strcmp(taken->id, id) != 0)
            continue;
        taken->changes.are_known = false;
        bool is_same = found->are_known;
        for (size_t n = 0; n < BELOW; n++)
            is_same = is_same && found->at[n].tv_sec == taken->changes.at[n].tv_sec
                      && found->at[n].tv_nsec == taken->changes.at[n].tv_nsec;
        return is_same;
    }
    return false;
}

/* Finds the existing spares. */
static void iterations_start(struct engine *e) {
    iterations_of(e)->is_local = !file_system_of(e->data);
    for (unsigned i = 0; i < SPARES; i++) {
        _cleanup_(freep) char *path = spare_path(e, i);
        if (access(path, F_OK) == 0)
            iterations_of(e)->spares |= 1u << i;
    }
}

static bool take_spare(struct engine *e, const char *id) {
    if (iterations_of(e)->spares == 0)
        return false;
    unsigned number = (unsigned)__builtin_ctz(iterations_of(e)->spares);
    _cleanup_(freep) char *from = spare_path(e, number), *to = task_folder(e, id);
    bool is_taken = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
    if (is_taken || errno == ENOENT)
        iterations_of(e)->spares &= ~(1u << number);
    if (is_taken)
        remember_taken(e, id, number);
    return is_taken;
}

/* Whether this is the only entry of the folder; NULL: whether it is empty. */
static bool has_only(const char *path, const char *only) {
    struct outside_list folder;
    struct stat st;
    bool there = outside_list_open(&folder, path, 2) == 0 && fstat(folder.folder.fd, &st) == 0
                 && (st.st_mode & 07777) == 0700;
    for (const char *name; there && (name = outside_list_next(&folder));)
        there = only && strcmp(name, only) == 0;
    outside_list_close(&folder);
    return there;
}

/* The folders of a first iteration, and nothing else. */
static bool is_untouched(struct engine *e, const char *id, struct changes *ret) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/tasks/%s", e->data, id);
    read_changes(e, id, ret); /* before the folders are read: a later change is not missed */
    bool is_empty = are_unchanged(e, id, ret);
    for (size_t i = 0; i <= BELOW && (i == 0 || !is_empty); i++) {
        const char *only = i < BELOW ? names_below[i] : NULL;
        if (!has_only(strbuf_text(&path), only))
            return false;
        if (only)
            strbuf_printf(&path, "/%s", only);
    }
    return true;
}

static bool keep_spare(struct engine *e, const char *id) {
    struct changes changes;
    if (iterations_of(e)->spares == UINT32_MAX || !is_untouched(e, id, &changes))
        return false;
    unsigned number = (unsigned)__builtin_ctz(~iterations_of(e)->spares);
    _cleanup_(freep) char *from = task_folder(e, id), *to = spare_path(e, number);
    if (rename(from, to) < 0) {
        _cleanup_(freep) char *folder = xasprintf("%s/tasks/.spare", e->data);
        (void)mkdir(folder, 0700); /* for the next one */
        return false;
    }
    iterations_of(e)->spares |= 1u << number;
    iterations_of(e)->of_spare[number] = changes;
    return true;
}

/* --- the folders of a task -------------------------------------------------------------------- */

int iteration_prepare(struct engine *e, const char *id, uint32_t iteration, struct error *err) {
    if (iteration == 1 && take_spare(e, id))
        return 0;
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_ARTIFACTS);
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return folders_make(path, strlen(e->data), err);
}

bool iteration_has_feedback(const struct engine *e, const char *id, uint32_t iteration) {
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_FEEDBACK);
    return access(path, F_OK) == 0;
}

/* --- the prompt ------------------------------------------------------------------------------ */

#define FEEDBACK_PROMPT                                                                            \
    "You have ended your turn, but your result is not accepted yet. Repair what is wrong, then "   \
    "end "                                                                                         \
    "your turn again.\n\n"

static int add_feedback(const struct engine *e, const char *id, uint32_t iteration,
                        struct strbuf *out, struct error *err) {
    if (!iteration_has_feedback(e, id, iteration)
        || strcmp(config_text(e->config, "loop.feedback", NULL), "prompt") != 0)
        return 0;
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_FEEDBACK);
    strbuf_puts(out, "\n\n");
    return outside_read(AT_FDCWD, path, 0, FEEDBACK_MAX, out, err);
}

/* Without a sync: the next launch would write the same. */
static int write_plainly(const char *path, const struct strbuf *text, struct error *err) {
    _cleanup_(fd_closep) int fd = outside_create(AT_FDCWD, path, err);
    if (fd < 0)
        return fd;
    errno = ENOSPC; /* for a short write */
    if (write(fd, strbuf_text(text), text->length) != (ssize_t)text->length)
        return error_set_errno(err, "write", path);
    return 0;
}

/* An agent that takes over in the same folder must not mistake its state for the initial one. */
static void add_predecessor(const struct engine *e, const struct live_run *run,
                            struct strbuf *out) {
    struct agent_state agents[FAILOVER_MAX + 1];
    const char *other = session_predecessor(e, run);
    if (other && core_task_agents(e->core, run->task, agents) > 1)
        strbuf_printf(out,
                      "Another agent (%s) has begun this task and was interrupted: look at what it "
                      "has left in this folder, and go on from there.\n\n",
                      other);
}

int iteration_prompt(const struct engine *e, const struct live_run *run, const char *prompt,
                     struct strbuf *out, struct error *err) {
    char id[ENGINE_ID_MAX];
    const char *prefix = config_text(e->config, "loop.prefix", NULL);
    const char *done_line = config_text(e->config, "loop.done_line", NULL);
    struct task_spec spec = { 0 };
    (void)core_task_spec(e->core, run->task, &spec);
    engine_task_id(e, run->task, id);
    if (run->view.attempt > 1 && prefix && *prefix)
        strbuf_printf(out, "%s\n\n", prefix);
    add_predecessor(e, run, out);
    strbuf_puts(out, prompt);
    follow_up_context(e, run, out);
    /* Without it no agent knows of the marker, and one that has finished is launched again. */
    if (spec.until == UNTIL_DONE && done_line && *done_line)
        strbuf_printf(out, "\n\n%s\n", done_line);
    int r = add_feedback(e, id, run->iteration, out, err);
    if (r < 0)
        return r;
    _cleanup_(freep) char *path = iteration_path(e, id, run->iteration, ITERATION_PROMPT);
    return write_plainly(path, out, err);
}

/* The session has had the earlier ones. */
static void cut_history(struct strbuf *text) {
    const char *history = strstr(strbuf_text(text), FEEDBACK_HISTORY);
    if (!history)
        return;
    text->length = (size_t)(history - text->text);
    text->text[text->length] = '\0';
}

bool iteration_feedback_prompt(const struct engine *e, const struct live_run *run,
                               struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *done_line = config_text(e->config, "loop.done_line", NULL);
    struct task_spec spec = { 0 };
    (void)core_task_spec(e->core, run->task, &spec);
    engine_task_id(e, run->task, id);
    _cleanup_(freep) char *path = iteration_path(e, id, run->iteration, ITERATION_FEEDBACK);
    if (outside_read(AT_FDCWD, path, 0, FEEDBACK_MAX, &text, NULL) < 0 || text.length == 0)
        return false;
    strbuf_puts(out, FEEDBACK_PROMPT);
    if (strcmp(config_text(e->config, "loop.feedback", NULL), "prompt") == 0) {
        cut_history(&text);
        strbuf_puts(out, strbuf_text(&text));
    } else
        strbuf_printf(out, "Read what is wrong: %s\n", path);
    if (spec.until == UNTIL_DONE && done_line && *done_line)
        strbuf_printf(out, "\n%s\n", done_line);
    _cleanup_(freep) char *copy = iteration_path(e, id, run->iteration, ITERATION_PROMPT);
    (void)write_plainly(copy, out, NULL); /* for people; the agent gets it from the spec */
    return true;
}

bool iteration_message_prompt(const struct engine *e, const struct live_run *run,
                              struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    const char *message = follow_up_of_run(e, run);
    const char *done_line = config_text(e->config, "loop.done_line", NULL);
    struct task_spec spec = { 0 };
    if (!message)
        return false;
    (void)core_task_spec(e->core, run->task, &spec);
    strbuf_puts(out, message);
    if (spec.until == UNTIL_DONE && done_line && *done_line)
        strbuf_printf(out, "\n\n%s\n", done_line);
    engine_task_id(e, run->task, id);
    _cleanup_(freep) char *copy = iteration_path(e, id, run->iteration, ITERATION_PROMPT);
    (void)write_plainly(copy, out, NULL); /* for people; the agent gets it from the spec */
    return true;
}

char *iteration_spawn_path(const struct engine *e, const char *id, uint32_t iteration,
                           const char *spawn) {
    _cleanup_(freep) char *folder = iteration_path(e, id, iteration, ITERATION_ARTIFACTS);
    return *spawn == '/' ? xstrdup(spawn) : xasprintf("%s/%s", folder, spawn);
}

void iteration_tidy(struct engine *e, task_id task, uint32_t iteration) {
    char id[ENGINE_ID_MAX];
    task_id child;
    engine_task_id(e, task, id);
    /* Children may watch the folder. */
    if (iteration == 1 && core_task_children(e->core, task, &child, 1) == 0 && keep_spare(e, id))
        return;
    _cleanup_(freep) char *own = xasprintf("%s/tasks/%s/" ITERATION_OWN, e->data, id);
    (void)rmdir(own); /* usually empty */
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_ARTIFACTS);
    for (int level = 0; level < 4 && rmdir(path) == 0; level++)
        *strrchr(path, '/') = '\0';
}

/* Into its run folder, which is deleted as one. Tasks that never ran usually have none. */
void iteration_forget(const struct engine *e, const char *id) {
    _cleanup_(freep) char *from = task_folder(e, id);
    _cleanup_(freep) char *folder = xasprintf("%s/%s", e->runs_folder, id);
    _cleanup_(freep) char *to = xasprintf("%s/tasks", folder);
    if (access(from, F_OK) != 0 || (mkdir(folder, 0700) < 0 && errno != EEXIST))
        return;
    if (rename(from, to) < 0 && errno == EXDEV) {
        unsigned budget = ENTRIES_MAX; /* the runs are on another file system */
        (void)remove_tree_at(AT_FDCWD, from, &budget);
    }
}

const struct engine_part iterations_part = {
    .state_size = sizeof(struct iterations),
    .at = { [STEP_START] = iterations_start },
};

/* --- retention -------------------------------------------------------------------------------- */

/* Bounds how many folders a loop leaves that runs for weeks. The first run and the newest
 * retention.iterations keep their folders, and so do the iterations. The others are deleted when a
 * run of the task ends, a few each time: usually one, more only after the setting was lowered. The
 * newest attempt stays, because a start reads numbers from the folders. */

#define EACH_END 16u /* folders deleted */

static bool drop_run(struct engine *e, const char *id, uint32_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    rundir_name(&folder, id, attempt);
    _cleanup_(freep) char *path = xasprintf("%s/%s", e->runs_folder, strbuf_text(&folder));
    if (access(path, F_OK) < 0)
        return false;
    executor_forget_folder(e->executor, strbuf_text(&folder));
    return true;
}

/* Moved among the run folders first, which are deleted gradually, beside the loop. */
static bool drop_iteration(struct engine *e, const char *id, uint32_t iteration) {
    _cleanup_(freep) char *from = iteration_path(e, id, iteration, NULL);
    _cleanup_(freep) char *name = xasprintf("%s/iteration-%" PRIu32, id, iteration);
    _cleanup_(freep) char *to = xasprintf("%s/%s", e->runs_folder, name);
    if (rename(from, to) == 0) {
        executor_forget_folder(e->executor, name);
        return true;
    }
    unsigned budget = ENTRIES_MAX;
    return errno == EXDEV && remove_tree_at(AT_FDCWD, from, &budget) == 0;
}

void iterations_keep_newest(struct engine *e, const struct live_run *run) {
    struct task_view t;
    char id[ENGINE_ID_MAX];
    int64_t keep = config_number(e->config, "retention.iterations", NULL);
    if (keep == 0 || !core_task(e->core, run->task, &t) || task_state_is_final(t.state))
        return;
    engine_task_id(e, run->task, id);
    int64_t last = (int64_t)run->view.attempt - keep;
    for (int64_t n = last; n > 1 && last - n < EACH_END && drop_run(e, id, (uint32_t)n);)
        n--;
    last = (int64_t)run->iteration - keep;
    for (int64_t n = last; n > 1 && last - n < EACH_END && drop_iteration(e, id, (uint32_t)n);)
        n--;
}
