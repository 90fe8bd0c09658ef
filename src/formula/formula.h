/* formula.h: recurring work as a file with variables.
 *
 *   name: release                      # that of the file when not given
 *   description: build, test and publish
 *   vars:
 *     version: {required: true, description: what is released}
 *     channel: stable                  # a default; nothing behind the name: required
 *   defaults: {agent: claude}          # as in a file of tasks
 *   steps:                             # tasks as in a file of tasks (taskfile.h)
 *     - id: build
 *       run: make VERSION={{version}}
 *     - id: publish
 *       needs: build
 *       prompt: Publish {{version}} to {{channel}}.
 *
 * {{name}} stands for the value of a variable, in texts only: not in ids, in needs, or in numbers.
 * A value is inserted as it is and not expanded again. {{{{ is {{. A variable that is not declared,
 * one without a value, and a value for an unknown variable are errors, with the line; as are the
 * errors of a task file: unknown members, repeated names, cycles.
 *
 * Everything is checked and expanded when it is submitted: queued tasks do not change when the file
 * does.
 *
 * Life: formula_read → formula_expand … → formula_locate for a refusal → formula_free */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macros.h"

#define FORMULA_VARS_MAX 100u

struct formula;

struct formula_var {
    const char *name, *description; /* description: or NULL */
    const char *standard;           /* its default; NULL: none, it is required */
    unsigned line;
};

struct formula_value {
    const char *name, *value;
    bool offered; /* no error if the formula does not declare the variable */
};

#define FORMULA_BYTES_MAX (1u << 20)

/* `folder` (absolute): base of relative paths in its steps, and where they run. -EINVAL: the file
 * has an error. */
int formula_read(const char *path, const char *folder, struct formula **ret_formula,
                 struct error *err);
/* `name` is for messages. */
int formula_read_text(const char *name, const char *folder, const char *text, size_t size,
                      struct formula **ret_formula, struct error *err);
struct formula *formula_free(struct formula *formula); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct formula, formula_free);

const char *formula_name(const struct formula *formula);
const char *formula_description(const struct formula *formula); /* "": none */
size_t formula_var_count(const struct formula *formula);
const struct formula_var *formula_var_at(const struct formula *formula, size_t index);
/* {"tasks": […]} before the expansion; borrowed. */
const json_t *formula_body(const struct formula *formula);

/* Is every variable of the steps declared, or among `offered`? */
int formula_check(const struct formula *formula, const struct formula_value *offered, size_t count,
                  struct error *err);
/* {"tasks": […]} ready for POST /v1/tasks: a new reference. Each task has formula, vars and step in
 * its meta. */
int formula_expand(const struct formula *formula, const struct formula_value *values, size_t count,
                   json_t **ret_body, struct error *err);
/* As taskfile_locate: puts the position of a step into an error message of the daemon. */
int formula_locate(const struct formula *formula, size_t index, struct error *err);
