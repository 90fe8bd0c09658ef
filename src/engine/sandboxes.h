/* sandboxes.h: which sandbox runs get, and which one a run has. `auto` is resolved once, when the
 * daemon starts, by running a real command as a run would be. From then on a sandbox that cannot be
 * created is a failed launch; a run that should have one never runs without it. */
#pragma once

#include "engine/engine.h"

/* Before engine_start. Blocks for a few milliseconds; without it `auto` is `none`. */
void engine_try_sandbox(struct engine *engine);

struct engine_sandboxes {
    const char *automatic; /* "bubblewrap", or "none" */
    const char *why;       /* why it is "none"; or NULL */
    bool is_missing;       /* because bubblewrap is not installed */
    bool is_scoped;        /* the kernel can block abstract sockets of a run that has the network */
};
void engine_sandboxes(const struct engine *engine, struct engine_sandboxes *ret);

/* The sandbox of a live run: "none" "bubblewrap" "podman" "wrap"; NULL: no live run, or unknown.
 * `ret_root`: the folder that it may write; may be NULL. */
const char *engine_run_sandbox(const struct engine *engine, task_id task, const char **ret_root);
/* The same for an ended run, from what was applied (run_row.applied); NULL: unknown. */
const char *engine_sandbox_applied(const char *applied);
/* The number of live runs of each kind. */
#define ENGINE_SANDBOX_KINDS 4
void engine_count_sandboxes(const struct engine *engine,
                            const char *ret_names[ENGINE_SANDBOX_KINDS],
                            int64_t ret_counts[ENGINE_SANDBOX_KINDS]);
