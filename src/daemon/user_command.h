/* user_command.h: environment and result of the commands that a user has configured: alerts.notify,
 * groups.notify, notify.command, on_end. Private to daemon/.
 *
 * A command gets only the variables that are named here and in tasks.env, no other variable of the
 * daemon: no secrets. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "engine/engine.h"
#include "executor/helper_process.h"

#define USER_COMMAND_VARIABLES 256u
#define USER_COMMAND_OUTPUT    2000u /* bytes kept from the end of its output */

/* Empty if zeroed; release the arena. */
struct user_environment {
    struct arena arena;
    const char *pairs[USER_COMMAND_VARIABLES + 1]; /* NULL-terminated */
    size_t count;
};

/* NULL is the empty text. */
void user_environment_put(struct user_environment *env, const char *name, const char *value);
void user_environment_put_number(struct user_environment *env, const char *name, int64_t number);
/* The daemon's own value, if it has one. */
void user_environment_pass(struct user_environment *env, const char *name);
/* The mark by which the next daemon finds a command that outlived this one, the socket, and the
 * variables of tasks.env. Comes last: if there are too many variables, these are dropped. */
void user_environment_put_common(struct user_environment *env, const struct engine *engine);

/* Did the command succeed? `out`: appends how it ended (" ended with exit code 1: …"), with the end
 * of its redacted output if it failed. `program`: printed if it could not be run, or "". */
struct user_command {
    const char *program;
    time_ms timeout;
};
bool user_command_describe(const struct engine *engine, const struct user_command *command,
                           const struct helper_end *end, struct strbuf *out);
