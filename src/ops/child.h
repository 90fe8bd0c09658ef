/* child.h: what may a task be that a run adds? Private to ops/.
 *
 * A run adds tasks in two ways: with its token (capability.h), and by a spawn file (spawn.h). The
 * column `child` of the table of members decides for both which members it may set. Nothing is
 * allowed there by default, so that a member that is added later does not become a right by
 * accident. No task that a run adds names a command that Sluice executes, unless the owner allows
 * it (`capability.commands`).
 *
 * A spawn file of a command that the owner named may say more than one that an agent has written:
 * that command can do all of it by itself. An agent has read what strangers wrote. What is in a
 * sandbox, agent or command, could leave it by what it says here. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "engine/engine.h"

/* Of a spawn file: CHILD_AGENT or CHILD_COMMAND. `spec`: the task that wrote it, as it was
 * submitted. */
unsigned child_source_of(const struct engine *engine, const json_t *spec, bool in_sandbox);

/* `source`: one of CHILD_…; the names of members are their own (task_members_read). 0, or -EACCES
 * with a message that names the member. */
int child_check_members(const struct engine *engine, unsigned source, const json_t *task,
                        struct error *err);
/* Does it name an agent that is configured, or that its parent uses (`own`, or NULL)? */
int child_check_agent(const struct engine *engine, const char *own, const json_t *task,
                      struct error *err);

/* Is the path in the folder, or the folder itself? Compares the texts; ".." is never inside. */
bool child_path_is_inside(const char *folder, const char *path);

/* How long may it take? Not longer than its agent may (agents.A.timeout_s), nor longer than the run
 * itself where its owner has given it less than the configuration: a run must not get around its
 * own deadline by handing its work to a child. */
struct child_spans {
    time_ms timeout, idle; /* of the parent; 0: nothing that counts for its children */
};
/* Of a live run. */
struct child_spans child_spans_of(const struct engine *engine, task_id parent);
/* A child that asks for more is refused (-EACCES); one that says nothing gets what its parent has,
 * if that is less than what it would have. */
int child_spans_bound(const struct engine *engine, const struct child_spans *parent, json_t *task,
                      struct error *err);

/* A task that a run in a sandbox has added must not get further than that run: it has a sandbox,
 * too, whatever its agent or project says, and works in the same folder or that of its project.
 * Both are in its member `inside`. {"sandbox", "root"}; NULL: the run of this task is in no
 * sandbox. */
json_t *child_inside_of(struct engine *engine, task_id task);
/* Of a submission: is it such an object? */
int child_check_inside(const json_t *value, struct error *err);
