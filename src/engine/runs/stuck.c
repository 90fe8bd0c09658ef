/* stuck.c: whether an iteration changed anything.
 *
 * A loop whose agent no longer does anything could run all night. With `loop.stuck_iterations` the
 * end of each iteration is withheld while git hashes its work tree: uncommitted and new files
 * count, ignored ones and empty commits do not. The repository is not touched: index and objects
 * are temporary. Without git the answer is unknown, and the loop continues. */
#include "engine/runs/runs_internal.h"

#include <stdlib.h>
#include <string.h>

#include "engine/launch/launch_internal.h"
#include "workspace/git.h"

struct tree_hash {
    struct engine *e;
    struct run_key run;
    struct helper_process *helper;
};

struct stuck {
    LIST(struct tree_hash *) running;
};

PART_STATE(stuck, struct stuck, stuck_of)

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

static void hashed(void *ctx, const struct helper_end *end) {
    struct tree_hash *hash = ctx;
    struct stuck *stuck = stuck_of(hash->e);
    char tree[GIT_HASH_MAX];
    bool is_known = end->code == 0 && git_hash(end->output, tree);
    size_t i = 0;
    while (stuck->running.items[i] != hash)
        i++;
    stuck->running.items[i] = stuck->running.items[--stuck->running.count];
    run_end_continue(hash->e, hash->run, END_TREE,
                     &(struct end_result){ .tree = is_known ? tree : NULL });
    free(hash);
}

bool stuck_hash_tree(struct engine *e, const struct live_run *run, const struct run_end *end) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    struct task_view view;
    if (config_number(e->config, "loop.stuck_iterations", NULL) == 0
        || !core_task(e->core, run->task, &view)
        || (view.until != UNTIL_DONE && view.until != UNTIL_VALIDATE)
        || (end->kind != RUN_END_EXIT && end->kind != RUN_END_CHECK))
        return false; /* no other iteration follows */
    if (run_read_spec(e, run, &read, NULL) < 0)
        return false;
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    const char *env[8] = { "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0" };
    size_t n = 3;
    for (char *const *pair = e->options.environment; pair && *pair && n < 6; pair++)
        if (strncmp(*pair, "PATH=", 5) == 0 || strncmp(*pair, "HOME=", 5) == 0
            || strncmp(*pair, "TMPDIR=", 7) == 0)
            env[n++] = *pair;
    helper_mark(e->data, &mark);
    env[n] = strbuf_text(&mark);
    struct tree_hash *hash = xcalloc(1, sizeof(*hash));
    *hash = (struct tree_hash){ .e = e, .run = run_key_of(run) };
    /* The repository of its work tree is unknown: git finds it, below a guard. */
    const struct guard_call call = {
        .command = { .argv = (const char *const[]){ "sh", "-c", script, NULL },
                     .cwd = read->spec.cwd,
                     .env = env,
                     .timeout = config_number(e->config, "git.timeout_s", NULL) },
        .run = &read->spec,
        .ended = hashed,
        .ctx = hash,
    };
    if (guard_start(e, &call, &hash->helper, NULL) < 0) {
        free(hash);
        return false;
    }
    *LIST_ADD(&stuck_of(e)->running) = hash;
    return true;
}

/* The next daemon starts them again with the end of the run. */
static void stuck_free(struct engine *e) {
    struct stuck *stuck = stuck_of(e);
    for (size_t i = 0; i < stuck->running.count; i++) {
        helper_kill(stuck->running.items[i]->helper);
        free(stuck->running.items[i]);
    }
    free(stuck->running.items);
    *stuck = (struct stuck){ 0 };
}

const struct engine_part stuck_part = {
    .state_size = sizeof(struct stuck),
    .at = { [STEP_FREE] = stuck_free },
};
