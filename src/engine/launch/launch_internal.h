/* launch_internal.h: what a launch is made of: sandbox, secrets, helper processes. Private to engine/. */
#pragma once

#include <jansson.h>

#include "agent/agent.h"
#include "base/arena.h"
#include "engine/engine_internal.h"
#include "engine/sandboxes.h"
#include "executor/aside.h"
#include "sandbox/sandbox.h"

/* --- launch box ----------------------------------------------------------------------------------- */

/* The sandbox of one run, while it is launched. */
struct launch_box {
    struct engine *e;
    struct live_run *run;
    const json_t *task; /* as it was submitted */
    const char *id, *project;
    const struct agent_adapter *adapter; /* NULL: none */
    struct arena *arena;

    enum sandbox_kind kind;
    const char *const *wrap; /* SANDBOX_WRAP */
    const char *root;        /* the folder that the run may write, absolute, without links */
    const char *user;        /* the home directory, the same */
    const char *data;        /* Sluice's folder, the same */
    bool is_inside; /* a run in a sandbox has added the task: nothing in it opens anything */
    struct sandbox_plan plan;
    bool is_trial; /* there is no run, and nothing is made for it */
};

/* What kind, from the task and the configuration. */
int launch_box_choose(struct launch_box *box, struct error *err);
/* The words for `spec`, whose command, folder and environment are known. Texts live in the arena of the box. */
int launch_box_build(struct launch_box *box, struct run_spec *spec, struct error *err);
void launch_box_finish(struct launch_box *box);

/* SLUICE_SOCKET and SLUICE_PEERS. Inside, the socket of this machine is in a folder of its own (os/home.h): what is mounted
 * there follows when the daemon is started again and makes another one. */
const char *launch_box_socket(struct launch_box *box);
const char *launch_box_peers(struct launch_box *box); /* NULL: none */

/* Hides a file or a folder that is there. */
char *box_text(struct launch_box *box, const char *format, ...) _printf_(2, 3);

/* --- guard ---------------------------------------------------------------------------------------- */

/* Helper processes that may execute what a run wrote.
 *
 * They have a shim above them and a cgroup of their own (src/executor/aside.h), so they count as a run. */

struct guard_call {
    struct helper_spec command;
    const struct run_spec *run; /* whose limits it gets; NULL: it belongs to no run */
    bool in_sandbox;            /* and its sandbox, if that has one */
    const char *name;           /* what `ps` shows of it then */
    helper_ended ended;
    void *ctx;
};
/* As helper_start. */
int guard_start(struct engine *e, const struct guard_call *call, struct aside **ret_aside,
                struct error *err);

/* --- context -------------------------------------------------------------------------------------- */

/* What was said when a task was slung, laid over what was submitted.
 *
 * The submission never changes. The context stands beside it as a JSON object and holds only what the
 * slinger said:
 *   agent, limiter                    for people; the core has taken them already
 *   merge, base_branch                instead of those of the task
 *   args                              a text that is put behind the prompt
 *   steps                             the numbers of the tasks that do the work, or true: it runs nothing of its own
 *   meta                              joined with the task's
 *   allow                             rules of what its agent may do, added by retries; a submission has none */

/* Changes `spec`, which is a copy of the submission. `context` NULL: nothing was said. */
void context_apply(json_t *spec, const char *context);

/* --- secrets -------------------------------------------------------------------------------------- */

/* Variables of a run that are read when it is launched, and stored nowhere.
 *
 * The configuration names where they come from: `env_file`, `env_command` and `env_credential`, of the agent and of the
 * project. They are read for each launch. A source that cannot be read is a launch failure, whose message names
 * the source. The executor hands the values to the shim (rundir.h); the daemon keeps them while the run lives, for
 * checks after a merge, and to recognize them in what it shows (redaction.h).
 *
 * A command that is run is waited for as a worktree that is made: the launch is ordered again when it has ended. */

/* At the start, when the runs are adopted: those of live runs are read again. */
bool secrets_are_read_for(const struct engine *e, task_id task);

/* --- before the launch ------------------------------------------------------------------------ */

/* `task`: as it was submitted. 0: it may be launched. 1: later, the launch is ordered again. <0: it cannot. */
int secrets_prepare(struct engine *e, struct live_run *run, const json_t *task, struct error *err);
/* For the spec of the run: NAME=VALUE, ends with NULL; NULL: none. Without those that the task sets itself. They live as
 * long as the run, the list as long as the arena. */
const char *const *secrets_list(const struct engine *e, struct run_key key, const json_t *task,
                                struct arena *arena);
/* It gets this token: nobody else shall see it. */
void secrets_note_token(struct engine *e, const struct live_run *run);

/* --- afterwards ------------------------------------------------------------------------------- */

/* It shall stop: a command that is run for it is killed, and its launch follows, which sees that. */
void secrets_stop(struct engine *e, task_id task);
/* Its end was told. */
void secrets_release(struct engine *e, task_id task);
/* `env` of the run's spec with its secrets, for a command that is run on its behalf. Ends with NULL. */
const char *const *secrets_add_to(const struct engine *e, struct run_key key,
                                  const struct run_spec *spec, struct arena *arena);

/* --- sandboxes ------------------------------------------------------------------------------------ */

const char *sandboxes_home(const struct engine *e);
