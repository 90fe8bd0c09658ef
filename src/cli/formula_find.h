/* formula_find.h: where formulas are, and the values of their variables.
 *
 * NAME is looked for in the folder of the project, PATH/.sluice/formulas/NAME.yaml, then beside the
 * configuration, formulas/NAME.yaml. A word with a slash in it, or one that ends in .yaml, is a
 * file. No daemon is needed: where a project is, the configuration says. */
#pragma once

#include "cli/cmd.h"
#include "formula/formula.h"

struct formula_dirs {
    char *folders[2]; /* searched in this order; NULL: none */
    char *work;       /* where steps run: the project's folder, else this one */
};

/* `project` NULL: none. */
int formula_dirs_find(const char *project, struct formula_dirs *ret, struct error *err);
void formula_dirs_finish(struct formula_dirs *dirs); /* usable with _cleanup_ */

/* Reads it; -ENOENT with all the places where it is not. */
int formula_find(const struct formula_dirs *dirs, const char *name, struct formula **ret,
                 struct error *err);

/* The values of variables, each with a name and a text of its own. */
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
