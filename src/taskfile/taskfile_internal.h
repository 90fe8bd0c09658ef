/* taskfile_internal.h: shared by the files of this folder. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "taskfile/task_member.h"
#include "taskfile/taskfile.h"
#include "yaml/yaml.h"

struct taskfile {
    char *name;                /* for sentences */
    struct task_source source; /* its folder, and the time at which it is read */
    json_t *here;              /* the folder */
    struct yaml yaml;
    const struct yaml_node **tasks; /* in the tree; as many as the body has */
    json_t *body, *list;            /* list: borrowed from the body */
};

/* "NAME:LINE:COLUMN: …", -EINVAL. */
int taskfile_fail(const struct taskfile *file, const struct yaml_node *where, struct error *err,
                  const char *format, ...) _printf_(4, 5);

/* --- members (taskfile_member.c) ------------------------------------------------------------- */

/* Which tasks share a mapping with; what must not stand there. */
enum member_place {
    MEMBER_OF_TASK,
    MEMBER_OF_DEFAULTS,
};

/* Reads every member of a task, or of the defaults, into a new object. A member that is written
 * with nothing behind it becomes null. */
int taskfile_members(const struct taskfile *file, const struct yaml_node *mapping,
                     enum member_place place, json_t **ret_object, struct error *err);
/* The key that says this member of the submission object, under whatever name; or NULL. */
const struct yaml_node *taskfile_key_of(const struct yaml_node *mapping, const char *member);
/* The value of a key, as the member `m` has it. */
int taskfile_value(const struct taskfile *file, const struct task_member *m,
                   const struct yaml_node *key, json_t **ret_value, struct error *err);

/* --- links (taskfile_links.c) ---------------------------------------------------------------- */

/* Names that are there once, nobody that needs itself, no cycle. */
int taskfile_check_links(const struct taskfile *file, struct error *err);
