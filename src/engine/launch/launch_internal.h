/* launch_internal.h: parts of a launch: sandbox, secrets, helper processes. Private to engine/. */
#pragma once

#include <jansson.h>

#include "agent/agent.h"
#include "base/arena.h"
#include "engine/engine_internal.h"
#include "engine/sandboxes.h"
#include "executor/helper_process.h"
#include "sandbox/sandbox.h"

/* --- launch box ------------------------------------------------------------------------------- */

/* The sandbox of one run, while it is launched. */
struct launch_box {
    struct engine *e;
    struct live_run *run;
    const json_t *task; /* as submitted */
    const char *id, *project;
    const struct agent_adapter *adapter; /* NULL: none */
    struct arena *arena;

    enum sandbox_kind kind;
    const char *const *wrap; /* SANDBOX_WRAP */
    const char *root;        /* the folder that the run may write, absolute, without links */
    const char *user;        /* the home directory, likewise */
    const char *data;        /* Sluice's folder, likewise */
    bool is_inside;          /* a run in a sandbox added the task: its settings open nothing */
    struct sandbox_plan plan;
    bool is_trial; /* no run, and nothing is created for it */
};

/* Chooses the kind, from the task and the configuration. */
int launch_box_choose(struct launch_box *box, struct error *err);
/* Builds the words for `spec`, whose command, folder and environment are set; in the box's arena.
 * The caller frees the plan. */
int launch_box_build(struct launch_box *box, struct run_spec *spec, struct error *err);

/* SLUICE_SOCKET and SLUICE_PEERS. Inside, the socket of this machine is in its own folder
 * (os/home.h): a mounted folder shows the new socket when the daemon restarts. */
const char *launch_box_socket(struct launch_box *box);
const char *launch_box_peers(struct launch_box *box); /* NULL: none */

/* The strings of a JSON array, NULL-terminated, in the arena; NULL: empty, or not an array. */
const char *const *json_words(const json_t *list, struct arena *arena);

/* A formatted text in the arena of the box. */
#define box_text(box_, ...) arena_printf((box_)->arena, __VA_ARGS__)

/* How much longer a launch may take because it prepares its worktree; 0: it does not. */
time_ms launch_prepare_time(const struct engine *e, const struct live_run *run);

/* --- guard ------------------------------------------------------------------------------------ */

/* Helper processes that may execute what a run wrote. They have a shim and a cgroup of their own
 * (src/executor/helper_process.h), so they count as a run. */

struct guard_call {
    struct helper_spec command;
    const struct run_spec *run; /* whose limits apply; NULL: no run */
    bool in_sandbox;            /* and its sandbox, if it has one */
    const char *name;           /* shown by `ps` then */
    helper_ended ended;
    void *ctx;
};
/* As helper_start. */
int guard_start(struct engine *e, const struct guard_call *call, struct helper_process **ret_helper,
                struct error *err);

/* --- secrets ---------------------------------------------------------------------------------- */

/* Variables of a run that are read at its launch and stored nowhere. The configuration names their
 * sources: `env_file`, `env_command` and `env_credential`, of the agent and of the project. They
 * are read for each launch. An unreadable source is a launch failure, whose message names the
 * source. The executor passes the values to the shim (rundir.h); the daemon keeps them while the
 * run is live, for checks after a merge and for redaction (redaction.h).
 *
 * The launch waits for a command as for a worktree: it is ordered again after the command. */

bool secrets_are_read_for(const struct engine *e, task_id task);

/* --- before the launch ------------------------------------------------------------------------ */

/* `task`: as submitted. 0: it may be launched. 1: later, the launch is ordered again. <0: error. */
int secrets_prepare(struct engine *e, struct live_run *run, const json_t *task, struct error *err);
/* For the spec of the run: NAME=VALUE, NULL-terminated; NULL: none. Without those that the task
 * sets itself. Values live as long as the run, the list as long as the arena. */
const char *const *secrets_list(const struct engine *e, struct run_key key, const json_t *task,
                                struct arena *arena);
/* Redacts the token of this run. */
void secrets_note_token(struct engine *e, const struct live_run *run);

/* --- afterwards ------------------------------------------------------------------------------- */

/* Stops the task: kills its command; its launch follows, and sees the stop. */
void secrets_stop(struct engine *e, task_id task);
/* Its end was applied. */
void secrets_release(struct engine *e, task_id task);
/* The environment of the run, for a check after its end: with its secrets, and without TMPDIR,
 * which no longer exists. NULL-terminated. */
const char *const *secrets_check_env(const struct engine *e, struct run_key key,
                                     const struct run_spec *spec, struct arena *arena);

/* --- without a run ---------------------------------------------------------------------------- */

/* The variables of a project, for a command that is not of a run. NULL: it has no source. Complete at
 * once, or when `ready` is called; the caller frees it, which kills a command that still runs. */
struct secrets;
struct secrets *secrets_of_project(struct engine *e, const char *project, void (*ready)(void *ctx),
                                   void *ctx);
bool secrets_are_complete(const struct secrets *secrets);
/* The environment with the secrets, in the arena, as long as both live; or the error of a source. */
int secrets_add_to(const struct secrets *secrets, const char *const *env, struct arena *arena,
                   const char *const **ret_env, struct error *err);
struct secrets *secrets_free_project(struct secrets *secrets); /* accepts NULL, returns NULL */

/* --- sandboxes -------------------------------------------------------------------------------- */

const char *sandboxes_home(const struct engine *e);
