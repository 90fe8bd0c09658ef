/* notify_env.h: the environment of a command that tells people. Private to daemon/.
 *
 * Nothing of the daemon's own gets in but what is named: its secrets stay where they are. */
#pragma once

#include "base/arena.h"
#include "engine/engine.h"

#define NOTIFY_VARIABLES 256u

struct notify_env {
    char *const *daemon; /* the daemon's own environment, or NULL */
    struct arena arena;
    const char *pairs[NOTIFY_VARIABLES + 1]; /* ends with NULL */
    size_t count;
};

void notify_env_finish(struct notify_env *env); /* usable with _cleanup_ */
void notify_env_put(struct notify_env *env, const char *name, const char *value); /* NULL: "" */
void notify_env_put_number(struct notify_env *env, const char *name, int64_t number);
/* As the daemon has it, if it has it. */
void notify_env_pass(struct notify_env *env, const char *name);
const char *notify_env_of_daemon(const struct notify_env *env, const char *name); /* or NULL */
/* The mark by which the next daemon finds a command that outlived this one, the socket, and the variables
 * of tasks.env. Comes last: if there are too many, these are left out. */
void notify_env_end(struct notify_env *env, const struct engine *engine);
