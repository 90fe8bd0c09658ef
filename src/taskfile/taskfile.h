/* taskfile.h: tasks as people write them in a file, ready for POST /v1/tasks.
 *
 *   project: web                     # all of this is optional; a plain list of tasks is a file, too
 *   group: night
 *   defaults: {agent: claude, timeout: 30m}
 *   tasks:
 *     - id: build
 *       run: make all                # sh -c; or `argv: [make, all]`, or `prompt: …`
 *     - id: test
 *       needs: build                 # or a list; ids of tasks that exist already are good, too
 *       prompt: Make the tests pass.
 *
 * A task has the members of the submission object, and these for people:
 *   id           name            run      argv ["sh", "-c", text]       needs   depends_on
 *   timeout      timeout_s, as 90s, 30m, 2h or 1d; the same for idle_timeout and grace
 *   checks       each a list of words, a text for the shell, or {run or argv, timeout}
 *   env          values may be numbers and words like true: they are taken as they are written
 * Paths (cwd, stdin, artifact) count from the folder of the file, that of the standard input from the
 * current one. A task that says neither cwd nor workspace runs in that folder; `cwd:` with nothing
 * behind it is the project's. What a task does not say it takes from `defaults`; env of both is joined,
 * and a member with nothing behind it takes no default. Names are local to the file.
 *
 * Errors are reported by file, line and column: unknown members (with the nearest known one), wrong
 * types, names given twice, a task that needs itself, a cycle. Whether projects, agents and ids of
 * older tasks exist, and whether numbers are in range, the daemon says; taskfile_locate adds the
 * location to its message.
 *
 * Life: taskfile_read → taskfile_body → taskfile_locate for a refusal → taskfile_free */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macros.h"

#define TASKFILE_BYTES_MAX (16u * 1024u * 1024u)
#define TASKFILE_TASKS_MAX 10000u

struct taskfile;

/* `path` "-" is the standard input. -EINVAL: the file is wrong, or larger than TASKFILE_BYTES_MAX. */
int taskfile_read(const char *path, struct taskfile **ret_file, struct error *err);
/* `name` is for phrases; `folder` (absolute) is where relative paths begin. */
int taskfile_read_text(const char *name, const char *folder, const char *text, size_t size,
                       struct taskfile **ret_file, struct error *err);
struct yaml_node;
/* A list of tasks, and `defaults` or NULL, in a tree that the caller has read and keeps. */
int taskfile_read_list(const char *name, const char *folder, const struct yaml_node *list,
                       const struct yaml_node *defaults, struct taskfile **ret_file,
                       struct error *err);
struct taskfile *taskfile_free(struct taskfile *file); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct taskfile, taskfile_free);

/* {"tasks": […], "group", "draft"}: a new reference; the caller may add to it. */
json_t *taskfile_body(const struct taskfile *file);

size_t taskfile_count(const struct taskfile *file);
/* Where a task begins, counted from 1; 0: there is no such task. */
unsigned taskfile_line(const struct taskfile *file, size_t index);
/* Where it says this member, under whatever name it was written; 0: it does not. */
unsigned taskfile_member_line(const struct taskfile *file, size_t index, const char *member);

/* Puts "NAME:LINE: " before a sentence about a task: the line of the member that it names in quotes
 * first, else that of the task. Returns its code. */
int taskfile_locate(const struct taskfile *file, size_t index, struct error *err);
