/* launch_box.h: the sandbox of one run, while it is launched. Private to engine/.
 *
 *   launch_sandbox.c  which one, and its words
 *   launch_paths.c    what it shows of system, home directory and Sluice's own folders
 *   launch_git.c      what it shows of a repository */
#pragma once

#include <jansson.h>

#include "agent/agent.h"
#include "engine/engine_internal.h"
#include "sandbox/sandbox.h"

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

/* --- rules -------------------------------------------------------------------------------------- */

/* Hides a file or a folder that is there. */
char *box_text(struct launch_box *box, const char *format, ...) _printf_(2, 3);
