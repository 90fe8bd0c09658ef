/* formula.h: a formula is a file of task templates with variables, for recurring work.
 *
 *   name: release                      # default: the file's name
 *   description: build, test and publish
 *   vars:
 *     version: {required: true, description: what is released}
 *     channel: stable                  # a default; without a value: required
 *   defaults: {agent: claude}          # as in a task file
 *   steps:                             # tasks as in a task file (taskfile.h)
 *     - id: build
 *       run: make VERSION={{version}}
 *     - id: publish
 *       needs: build
 *       prompt: Publish {{version}} to {{channel}}.
 *
 * {{name}} is replaced by the value of a variable, in texts only: not in ids, needs or numbers. A
 * value is not expanded again. {{{{ is an escaped {{. An undeclared variable, one without a value,
 * and a value for an unknown variable are errors with a line number, like those of a task file:
 * unknown members, repeated names, cycles.
 *
 * Formulas are checked and expanded on submission: editing the file does not change queued tasks.
 *
 * Life: formula_read → formula_expand … → formula_locate if refused → formula_free */
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
    const char *standard;           /* default; NULL: required */
    unsigned line;
};

struct formula_value {
    const char *name, *value;
    bool offered; /* not an error if the formula does not declare the variable */
};

#define FORMULA_BYTES_MAX (1u << 20)

/* `folder` (absolute): base of relative paths in the steps, and their working directory. -EINVAL:
 * the file has an error. */
int formula_read(const char *path, const char *folder, struct formula **ret_formula,
                 struct error *err);
/* `name` is used in messages. */
int formula_read_text(const char *name, const char *folder, const char *text, size_t size,
                      struct formula **ret_formula, struct error *err);
struct formula *formula_free(struct formula *formula); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct formula, formula_free);

const char *formula_name(const struct formula *formula);
const char *formula_description(const struct formula *formula); /* "" if none */
size_t formula_var_count(const struct formula *formula);
const struct formula_var *formula_var_at(const struct formula *formula, size_t index);
/* {"tasks": […]} before expansion; borrowed. */
const json_t *formula_body(const struct formula *formula);

/* Checks that every variable in the steps is declared or in `offered`. */
int formula_check(const struct formula *formula, const struct formula_value *offered, size_t count,
                  struct error *err);
/* Returns a new {"tasks": […]} for POST /v1/tasks. Each task's meta has formula, vars and step. */
int formula_expand(const struct formula *formula, const struct formula_value *values, size_t count,
                   json_t **ret_body, struct error *err);
/* As taskfile_locate: adds the location of a step to the daemon's error message. */
int formula_locate(const struct formula *formula, size_t index, struct error *err);
