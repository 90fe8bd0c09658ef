/* formula_internal.h: shared by the files of this folder. */
#pragma once

#include "formula/formula.h"
#include "taskfile/taskfile.h"
#include "yaml/yaml.h"

struct formula {
    char *file; /* for sentences */
    char *name;
    const char *description; /* in the tree */
    struct yaml yaml;
    struct formula_var *vars;
    size_t var_count;
    struct taskfile *steps;
    json_t *body;
};

/* "FILE:LINE: …", -EINVAL. */
int formula_fail(const struct formula *formula, unsigned line, struct error *err,
                 const char *format, ...) _printf_(4, 5);
const struct formula_var *formula_find_var(const struct formula *formula, const char *name,
                                           size_t length);
bool formula_name_fits(const char *name, size_t length); /* of a variable */
