/* child_members.h: which members may a task have that a run adds? Private to ops/.
 *
 * A run adds tasks in two ways: with its token (capability.h), and by a spawn file (spawn.h). One table
 * decides for both. It is an allow-list: a member that is not in it is refused, so that one that is
 * added later does not become a right by accident. No task that a run adds names a command that Sluice
 * executes, unless the owner allows it (`capability.commands`).
 *
 * A spawn file of a command that the owner named may say more than one that an agent has written: that
 * command can do all of it by itself. An agent has read what strangers wrote. What is in a sandbox, agent or
 * command, could leave it by what it says here. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "engine/engine.h"

enum child_source {
    CHILD_OF_TOKEN,   /* a request with the token of a run */
    CHILD_OF_AGENT,   /* a spawn file that an agent, or a command in a sandbox, has written */
    CHILD_OF_COMMAND, /* a spawn file of any other command that the owner has named */
};

/* Of a spawn file; `spec`: the task that wrote it, as it was submitted. */
enum child_source child_source_of(const struct engine *engine, const json_t *spec, bool in_sandbox);

/* 0, or -EACCES with a message that names the member. */
int child_check_members(const struct engine *engine, enum child_source source, const json_t *task,
                        struct error *err);
/* Does it name an agent that is configured, or that its parent uses (`own`, or NULL)? */
int child_check_agent(const struct engine *engine, const char *own, const json_t *task,
                      struct error *err);

/* Is the path in the folder, or the folder itself? Compares the texts; ".." is never inside. */
bool child_path_is_inside(const char *folder, const char *path);
