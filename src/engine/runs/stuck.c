/* stuck.c: whether an iteration changed anything.
 *
 * A loop whose agent no longer does anything could run all night. With `loop.stuck_iterations` the
 * end of each iteration is withheld while git hashes its work tree: uncommitted and new files
 * count, ignored ones and empty commits do not. The repository is not touched: index and objects
 * are temporary. Without git the answer is unknown, and the loop continues. */
#include "engine/runs/runs_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "engine/launch/launch_internal.h"
#include "workspace/git.h"

struct stuck {
    struct engine *e;
    struct run_key key;
    struct run_end end;
    struct aside *aside;
    bool is_done;
    char tree[GIT_HASH_MAX]; /* "": unknown */
};

struct all_stuck {
    LIST(struct stuck *) all; /* work trees being examined */
};

static struct all_stuck *stuck_of(const struct engine *e) {
    return e->part[PART_stuck];
}

static const char script[] =
    "exec 2>/dev/null; top=$(git rev-parse --show-toplevel) && cd \"$top\" || exit 1\n"
    "objects=$(git rev-parse --path-format=absolute --git-path objects) || exit 1\n"
    "index=$(git rev-parse --path-format=absolute --git-path index) || exit 1\n"
    "aside=$(mktemp -d) || exit 1\n"
    "trap 'rm -rf \"$aside\"' EXIT\n"
    "[ ! -f \"$index\" ] || cp \"$index\" \"$aside/index\" || exit 1\n"
    "export GIT_INDEX_FILE=\"$aside/index\" GIT_OBJECT_DIRECTORY=\"$aside\"\n"
    "export GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$objects\"\n"
    "git -c core.fsmonitor=false -c core.hooksPath=/dev/null add -A && git write-tree\n";

static struct stuck *find(const struct engine *e, struct run_key key) {
    for (size_t i = 0; i < stuck_of(e)->all.count; i++)
        if (stuck_of(e)->all.items[i]->key.task == key.task
            && stuck_of(e)->all.items[i]->key.attempt == key.attempt)
            return stuck_of(e)->all.items[i];
    return NULL;
}

static void looked(void *ctx, const struct helper_end *end) {
    struct stuck *one = ctx;
    one->aside = NULL;
    one->is_done = true;
    if (end->code != 0 || !git_hash(end->output, one->tree))
        one->tree[0] = '\0';
    finish_take_end(one->e, one->key, &one->end);
}

/* The repository of the run's work tree is unknown, so git finds it, below a guard. */
static bool start(struct stuck *one, const struct run_spec *run) {
    struct engine *e = one->e;
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    const char *const argv[] = { "sh", "-c", script, NULL };
    const char *env[8] = { "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0" };
    size_t n = 3;
    for (char *const *pair = e->options.environment; pair && *pair && n < 6; pair++)
        if (strncmp(*pair, "PATH=", 5) == 0 || strncmp(*pair, "HOME=", 5) == 0
            || strncmp(*pair, "TMPDIR=", 7) == 0)
            env[n++] = *pair;
    helper_mark(e->data, &mark);
    env[n] = strbuf_text(&mark);
    const struct guard_call call = {
        .command = { .argv = argv,
                     .cwd = run->cwd,
                     .env = env,
                     .timeout = config_number(e->config, "git.timeout_s", NULL) },
        .run = run,
        .ended = looked,
        .ctx = one,
    };
    return guard_start(e, &call, &one->aside, NULL) == 0;
}

/* Only if another iteration may follow. */
static bool is_asked_for(const struct engine *e, struct run_key key, const struct run_end *end) {
    struct task_view view;
    if (config_number(e->config, "loop.stuck_iterations", NULL) == 0
        || !core_task(e->core, key.task, &view))
        return false;
    return (view.until == UNTIL_DONE || view.until == UNTIL_VALIDATE)
           && (end->kind == RUN_END_EXIT || end->kind == RUN_END_CHECK);
}

bool stuck_look(struct engine *e, struct run_key key, const struct run_end *end) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    const struct live_run *run = run_find(e, key.task);
    if (!run || run->view.attempt != key.attempt || !is_asked_for(e, key, end) || find(e, key)
        || run_read_spec(e, run, &read, NULL) < 0)
        return false;
    struct stuck *one = xcalloc(1, sizeof(*one));
    *one = (struct stuck){ .e = e, .key = key, .end = *end };
    if (!start(one, &read->spec)) {
        free(one);
        return false;
    }
    *LIST_ADD(&stuck_of(e)->all) = one;
    return true;
}

enum outcome stuck_judge(struct engine *e, const struct live_run *run, struct run_end *end,
                         enum outcome outcome) {
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    const struct stuck *one = find(e, key);
    int64_t most = config_number(e->config, "loop.stuck_iterations", NULL);
    bool iterates = outcome == OUTCOME_UNFINISHED || outcome == OUTCOME_INVALID;
    if (!one || !one->is_done || !one->tree[0] || !iterates || most == 0)
        return outcome;
    uint32_t same = session_same_tree(e, run->task, one->tree);
    if ((int64_t)same < most)
        return outcome;
    snprintf(end->message, sizeof(end->message),
             "%" PRIu32 " iterations have changed nothing in its work tree (loop.stuck_iterations)",
             same);
    return OUTCOME_STUCK;
}

static bool is_over(const struct engine *e, const struct stuck *one) {
    const struct live_run *run = run_find(e, one->key.task);
    bool lives = run && run->view.attempt == one->key.attempt;
    return !lives && !e->committing && !one->aside && e->turn.told == 0;
}

void stuck_drop_over(struct engine *e) {
    for (size_t i = 0; i < stuck_of(e)->all.count;) {
        if (!is_over(e, stuck_of(e)->all.items[i])) {
            i++;
            continue;
        }
        free(stuck_of(e)->all.items[i]);
        stuck_of(e)->all.items[i] = stuck_of(e)->all.items[--stuck_of(e)->all.count];
    }
}

/* Kills running checks; the end is applied again. */
static void stuck_free(struct engine *e) {
    for (size_t i = 0; i < stuck_of(e)->all.count; i++) {
        helper_kill(stuck_of(e)->all.items[i]->aside);
        free(stuck_of(e)->all.items[i]);
    }
    free(stuck_of(e)->all.items);
    *stuck_of(e) = (struct all_stuck){ 0 };
}

const struct engine_part stuck_part = {
    .state_size = sizeof(struct all_stuck),
    .at = { [STEP_FREE] = stuck_free },
};
