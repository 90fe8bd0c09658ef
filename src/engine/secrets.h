/* secrets.h: variables of a run that are read when it is launched, and stored nowhere. Private to engine/.
 *
 * The configuration names where they come from: `env_file`, `env_command` and `env_credential`, of the agent and of the
 * project. They are read for each launch. A source that cannot be read is a launch failure, whose message names
 * the source. The executor hands the values to the shim (rundir.h); the daemon keeps them while the run lives, for
 * checks after a merge, and to recognize them in what it shows (redaction.h).
 *
 * A command that is run is waited for as a worktree that is made: the launch is ordered again when it has ended. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "engine/engine_internal.h"

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
