/* taskfile.h: reads task files and turns them into the body of POST /v1/tasks.
 *
 *   project: web                     # all optional; a plain list of tasks is valid, too
 *   group: night
 *   defaults: {agent: claude, timeout: 30m}
 *   tasks:
 *     - id: build
 *       run: make all                # sh -c; or `argv: [make, all]`, or `prompt: …`
 *     - id: test
 *       needs: build                 # or a list; ids of existing tasks work, too
 *       prompt: Make the tests pass.
 *
 * A task has the members of the submission object, and these shorthands:
 *   id           name            run      argv ["sh", "-c", text]       needs   depends_on
 *   timeout      timeout_s, as 90s, 30m, 2h or 1d; the same for idle_timeout and grace
 *   checks       each a list of words, a text for the shell, or {run or argv, timeout}
 *   env          numbers and words like true are kept as written
 * Paths (cwd, stdin, artifact) are relative to the folder of the file, for standard input to the
 * current one. A task without cwd and workspace runs in that folder; an empty `cwd:` means the
 * project's. Missing members come from `defaults`, and env is merged; an empty member suppresses
 * the default. Names are local to the file.
 *
 * Errors have file, line and column: unknown members (with the nearest known one), wrong types,
 * duplicate names, self-dependencies, cycles. The daemon checks that projects, agents and ids
 * exist, and ranges of numbers; taskfile_locate adds the location to its message.
 *
 * Life: taskfile_read → taskfile_body → taskfile_locate if refused → taskfile_free */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macros.h"

#define TASKFILE_BYTES_MAX (16u * 1024u * 1024u)
#define TASKFILE_TASKS_MAX 10000u

struct taskfile;

/* `path` "-" is standard input. -EINVAL: the file is invalid, or larger than TASKFILE_BYTES_MAX. */
int taskfile_read(const char *path, struct taskfile **ret_file, struct error *err);
/* `name` is used in messages; `folder` (absolute) is the base of relative paths. */
int taskfile_read_text(const char *name, const char *folder, const char *text, size_t size,
                       struct taskfile **ret_file, struct error *err);
struct yaml_node;
/* Reads a list of tasks, and `defaults` or NULL, from a tree that the caller owns and keeps. */
int taskfile_read_list(const char *name, const char *folder, const struct yaml_node *list,
                       const struct yaml_node *defaults, struct taskfile **ret_file,
                       struct error *err);
struct taskfile *taskfile_free(struct taskfile *file); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct taskfile, taskfile_free);

/* Returns a new reference to {"tasks": […], "group", "draft"}; the caller may add to it. */
json_t *taskfile_body(const struct taskfile *file);

size_t taskfile_count(const struct taskfile *file);
/* The line where a task begins, from 1; 0: no such task. */
unsigned taskfile_line(const struct taskfile *file, size_t index);
/* The line of this member, under any of its names; 0: not set. */
unsigned taskfile_member_line(const struct taskfile *file, size_t index, const char *member);

/* Puts "NAME:LINE: " before a message about a task: the line of the first member that it quotes, or
 * of the task. Returns the error's code. */
int taskfile_locate(const struct taskfile *file, size_t index, struct error *err);
