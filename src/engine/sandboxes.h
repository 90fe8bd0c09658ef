/* sandboxes.h: which sandbox do runs get here, and which has a run?
 *
 * What `auto` means is decided once, when the daemon starts: a real command is run as a run would be. From then on a
 * sandbox that cannot be made is a failed launch; nothing runs without one that should have it. */
#pragma once

#include "engine/engine.h"

/* Before engine_start. Waits for the trial, a few milliseconds; without it `auto` is `none`. */
void engine_try_sandbox(struct engine *engine);

struct engine_sandboxes {
    const char *automatic; /* "bubblewrap", or "none" */
    const char *why;       /* it is "none"; or NULL */
    bool is_missing;       /* because bubblewrap is not installed */
    bool is_scoped; /* the kernel can keep a run from abstract sockets while it has the network */
};
void engine_sandboxes(const struct engine *engine, struct engine_sandboxes *ret);

/* The sandbox of a live run: "none" "bubblewrap" "podman" "wrap"; NULL: none lives, or it is not known. `ret_root`: the folder
 * that it may write; may be NULL. */
const char *engine_run_sandbox(const struct engine *engine, task_id task, const char **ret_root);
/* The same of one that has ended, by what was in force (run_row.applied); NULL: not known. */
const char *engine_sandbox_applied(const char *applied);
/* How many live runs are in each kind. */
#define ENGINE_SANDBOX_KINDS 4
void engine_count_sandboxes(const struct engine *engine,
                            const char *ret_names[ENGINE_SANDBOX_KINDS],
                            int64_t ret_counts[ENGINE_SANDBOX_KINDS]);
