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

/* A rule for what is there: `path` may be a link, what is shown is what it leads to. False: it is not there. */
bool box_show(struct launch_box *box, enum sandbox_access access, const char *path);
/* Where `path` is in a folder that is hidden, it leads to `full`. */
void box_link(struct launch_box *box, const char *path, const char *full);
/* Hides a file or a folder that is there. */
void box_hide(struct launch_box *box, const char *path);
char *box_text(struct launch_box *box, const char *format, ...) _printf_(2, 3);
/* The value of a variable of the run; NULL: it has none. */
const char *box_variable(const struct run_spec *spec, const char *name);

void box_add_system(struct launch_box *box);
void box_add_home(struct launch_box *box, const struct run_spec *spec);
int box_add_caches(struct launch_box *box, struct error *err);
void box_add_agent(struct launch_box *box, const struct run_spec *spec);
int box_add_settings(struct launch_box *box, struct error *err);
int box_add_sluice(struct launch_box *box, const struct run_spec *spec, struct error *err);
int box_add_repository(struct launch_box *box, struct error *err); /* launch_git.c */
