/* taskfile_internal.h: shared by the files of this folder. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "taskfile/taskfile.h"
#include "yaml/yaml.h"

struct taskfile {
    char *name;   /* for sentences */
    char *folder; /* where relative paths begin */
    json_t *here; /* the same */
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
/* The member of the submission object that a name of the file stands for; or NULL. */
const char *taskfile_member(const char *name);

/* Scalars that are taken as they are written. */
int taskfile_text(const struct taskfile *file, const struct yaml_node *key, json_t **ret_text,
                  struct error *err);
int taskfile_switch(const struct taskfile *file, const struct yaml_node *key, json_t **ret_switch,
                    struct error *err);

/* --- values with a form of their own (taskfile_value.c) -------------------------------------- */

int taskfile_span(const struct taskfile *file, const struct yaml_node *key, json_t **ret_seconds,
                  struct error *err);
int taskfile_seconds(const struct taskfile *file, const struct yaml_node *key, json_t **ret_seconds,
                     struct error *err);
int taskfile_words(const struct taskfile *file, const struct yaml_node *list, json_t **ret_words,
                   struct error *err);
json_t *taskfile_shell(const struct yaml_node *text); /* ["sh", "-c", text] */
int taskfile_names(const struct taskfile *file, const struct yaml_node *key, json_t **ret_names,
                   struct error *err);
int taskfile_env(const struct taskfile *file, const struct yaml_node *key, json_t **ret_env,
                 struct error *err);
int taskfile_checks(const struct taskfile *file, const struct yaml_node *key, json_t **ret_checks,
                    struct error *err);
int taskfile_meta(const struct taskfile *file, const struct yaml_node *key, json_t **ret_meta,
                  struct error *err);

/* --- links (taskfile_links.c) ---------------------------------------------------------------- */

/* Names that are there once, nobody that needs itself, no cycle. */
int taskfile_check_links(const struct taskfile *file, struct error *err);
