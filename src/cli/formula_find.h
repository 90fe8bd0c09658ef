/* formula_find.h: finds formulas and collects values of their variables.
 *
 * NAME is searched in the project's folder, PATH/.sluice/formulas/NAME.yaml, then next to the
 * configuration, formulas/NAME.yaml. A word with a slash, or ending in .yaml, is a file. No daemon
 * is needed: the configuration has the project's folder. */
#pragma once

#include "cli/cmd.h"
#include "formula/formula.h"

struct formula_dirs {
    char *folders[2]; /* search order; NULL: none */
    char *work;       /* working directory of steps: the project's folder, else the current one */
};

/* `project` NULL: none. */
int formula_dirs_find(const char *project, struct formula_dirs *ret, struct error *err);
void formula_dirs_finish(struct formula_dirs *dirs); /* usable with _cleanup_ */

/* Reads it; -ENOENT lists all places searched. */
int formula_find(const struct formula_dirs *dirs, const char *name, struct formula **ret,
                 struct error *err);

/* Values of variables; owns names and texts. */
struct formula_values {
    struct formula_value *items;
    size_t count, capacity;
};
void formula_values_finish(struct formula_values *values);
void formula_values_offer(struct formula_values *values, const char *name, const char *value);
/* All --var of the call. CMD_OK, or as cmd_usage_error. */
int formula_values_take(const struct cmd_call *call, struct formula_values *values);

#define FORMULA_VAR_OPTION                                                                         \
    { "var", 'v', "NAME=VALUE", "gives a variable of the formula its value; repeatable" }
