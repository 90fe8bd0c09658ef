/* formula.c: a file becomes variables and steps.
 *
 * The steps are read by the reader of task files, so that a formula can say whatever a task can, and is
 * told its mistakes in the same words. */
#include "formula/formula.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "formula/formula_internal.h"
#include "os/files.h"

static const struct yaml_limits limits = {
    .bytes = FORMULA_BYTES_MAX,
    .levels = 32,
    .nodes = 100000,
};

int formula_fail(const struct formula *f, unsigned line, struct error *err, const char *format,
                 ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c; c++) /* it may quote the file */
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return error_set(err, -EINVAL, "%.160s:%u: %s", f->file, line, text);
}

bool formula_name_fits(const char *name, size_t length) {
    bool good = length > 0 && length <= 64 && !isdigit((unsigned char)name[0]) && name[0] != '-';
    for (size_t i = 0; i < length; i++)
        good = good && (isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-');
    return good;
}

const struct formula_var *formula_find_var(const struct formula *f, const char *name,
                                           size_t length) {
    for (size_t i = 0; i < f->var_count; i++)
        if (strlen(f->vars[i].name) == length && memcmp(f->vars[i].name, name, length) == 0)
            return &f->vars[i];
    return NULL;
}

/* --- variables ------------------------------------------------------------------------------- */

static bool is_nothing(const struct yaml_node *node) {
    return node->kind == YAML_SCALAR && yaml_type(node) == YAML_NULL;
}

static int read_var_member(const struct formula *f, const struct yaml_node *key,
                           struct formula_var *var, bool *required, struct error *err) {
    bool is_required = strcmp(key->text, "required") == 0;
    bool is_default = strcmp(key->text, "default") == 0;
    if (!is_required && !is_default && strcmp(key->text, "description") != 0)
        return formula_fail(f, key->line, err,
                            "a variable has no '%.60s'; it has description, default and required",
                            key->text);
    if (key->value->kind != YAML_SCALAR)
        return formula_fail(f, key->line, err, "'%s' of variable '%s': expected a text, got %s",
                            key->text, var->name, yaml_noun(key->value).text);
    if (is_required) {
        enum yaml_type type = yaml_type(key->value);
        if (type != YAML_TRUE && type != YAML_FALSE)
            return formula_fail(f, key->line, err, "'required': expected true or false, got %s",
                                yaml_noun(key->value).text);
        *required = type == YAML_TRUE;
    } else if (is_default) {
        var->standard = key->value->text;
    } else {
        var->description = key->value->text;
    }
    return 0;
}

static int read_var(struct formula *f, const struct yaml_node *key, struct error *err) {
    struct formula_var *var = &f->vars[f->var_count];
    bool required = false;
    *var = (struct formula_var){ .name = key->text, .line = key->line };
    if (!formula_name_fits(key->text, key->length))
        return formula_fail(f, key->line, err,
                            "%s is no name of a variable: letters, digits, - and _, a letter first",
                            yaml_noun(key).text);
    const struct formula_var *other = formula_find_var(f, key->text, key->length);
    if (other)
        return formula_fail(f, key->line, err, "'%s' is said twice, first in line %u", key->text,
                            other->line);
    if (key->value->kind == YAML_LIST)
        return formula_fail(f, key->value->line, err,
                            "'%s': expected a default, or description, default and required, got a "
                            "list",
                            key->text);
    if (key->value->kind == YAML_SCALAR && !is_nothing(key->value))
        var->standard = key->value->text;
    int r = 0;
    if (key->value->kind == YAML_MAPPING)
        for (const struct yaml_node *m = key->value->first; r == 0 && m; m = m->next)
            r = read_var_member(f, m, var, &required, err);
    if (r == 0 && required && var->standard)
        return formula_fail(f, key->line, err,
                            "variable '%s' is required and has a default; leave one out",
                            key->text);
    if (r == 0 && key->value->kind == YAML_MAPPING && !required && !var->standard)
        var->standard = ""; /* it says that it is not required */
    f->var_count++;
    return r;
}

static int read_vars(struct formula *f, const struct yaml_node *value, struct error *err) {
    if (!value || is_nothing(value))
        return 0;
    if (value->kind != YAML_MAPPING)
        return formula_fail(f, value->line, err, "'vars': expected names and defaults, got %s",
                            yaml_noun(value).text);
    if (value->count > FORMULA_VARS_MAX)
        return formula_fail(f, value->line, err, "%zu variables are too many; the most are %u",
                            value->count, FORMULA_VARS_MAX);
    f->vars = xcalloc(value->count + 1, sizeof(*f->vars));
    int r = 0;
    for (const struct yaml_node *key = value->first; r == 0 && key; key = key->next)
        r = read_var(f, key, err);
    return r;
}

/* --- the file -------------------------------------------------------------------------------- */

struct head {
    const struct yaml_node *name, *description, *vars, *defaults, *steps;
};

static int take_head_key(const struct formula *f, const struct yaml_node *key, struct head *head,
                         struct error *err) {
    const struct {
        const char *name;
        const struct yaml_node **place;
    } known[] = { { "name", &head->name },
                  { "description", &head->description },
                  { "vars", &head->vars },
                  { "defaults", &head->defaults },
                  { "steps", &head->steps } };
    struct nearest nearest = nearest_to(key->text);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        nearest_offer(&nearest, known[i].name);
        if (strcmp(known[i].name, key->text) != 0)
            continue;
        if (*known[i].place)
            return formula_fail(f, key->line, err, "'%s' is said twice", key->text);
        *known[i].place = key->value;
        return 0;
    }
    if (nearest.best)
        return formula_fail(f, key->line, err, "a formula has no %s; did you mean '%s'?",
                            yaml_noun(key).text, nearest.best);
    return formula_fail(f, key->line, err,
                        "a formula has no %s; it has name, description, vars, defaults and steps",
                        yaml_noun(key).text);
}

static int read_text_key(const struct formula *f, const struct yaml_node *value, const char *key,
                         const char **ret_text, struct error *err) {
    if (!value || is_nothing(value))
        return 0;
    if (value->kind != YAML_SCALAR)
        return formula_fail(f, value->line, err, "'%s': expected a text, got %s", key,
                            yaml_noun(value).text);
    *ret_text = value->text;
    return 0;
}

/* "formulas/release.yaml" is called release. */
static char *name_of_file(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot && dot > base ? xstrndup(base, (size_t)(dot - base)) : xstrdup(base);
}

static int read_root(struct formula *f, const char *folder, struct error *err) {
    const struct yaml_node *root = f->yaml.root;
    struct head head = { NULL };
    const char *name = NULL;
    if (!root || root->kind != YAML_MAPPING)
        return formula_fail(f, root ? root->line : 1, err,
                            "expected a formula with vars and steps, got %s",
                            root ? yaml_noun(root).text : "nothing");
    int r = 0;
    for (const struct yaml_node *key = root->first; r == 0 && key; key = key->next)
        r = take_head_key(f, key, &head, err);
    if (r == 0)
        r = read_text_key(f, head.name, "name", &name, err);
    if (r == 0)
        r = read_text_key(f, head.description, "description", &f->description, err);
    if (r == 0)
        r = read_vars(f, head.vars, err);
    if (r < 0)
        return r;
    f->name = name ? xstrdup(name) : name_of_file(f->file);
    if (!head.steps || is_nothing(head.steps))
        return formula_fail(f, root->line, err, "there are no steps in it");
    r = taskfile_read_list(f->file, folder, head.steps, head.defaults, &f->steps, err);
    if (r == 0)
        f->body = taskfile_body(f->steps);
    return r;
}

int formula_read_text(const char *name, const char *folder, const char *text, size_t size,
                      struct formula **ret_formula, struct error *err) {
    _cleanup_(formula_freep) struct formula *f = xcalloc(1, sizeof(*f));
    f->file = xstrdup(name);
    f->description = "";
    int r = yaml_parse(name, text, size, &limits, &f->yaml, err);
    if (r >= 0)
        r = read_root(f, folder, err);
    if (r < 0)
        return r;
    *ret_formula = TAKE_PTR(f);
    return 0;
}

int formula_read(const char *path, const char *folder, struct formula **ret_formula,
                 struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read(path, FORMULA_BYTES_MAX, &text, err);
    return r < 0
               ? r
               : formula_read_text(path, folder, strbuf_text(&text), text.length, ret_formula, err);
}

struct formula *formula_free(struct formula *f) {
    if (!f)
        return NULL;
    json_decref(f->body);
    taskfile_free(f->steps);
    yaml_finish(&f->yaml);
    free(f->vars);
    free(f->file);
    free(f->name);
    free(f);
    return NULL;
}

const char *formula_name(const struct formula *f) {
    return f->name;
}

const char *formula_description(const struct formula *f) {
    return f->description;
}

size_t formula_var_count(const struct formula *f) {
    return f->var_count;
}

const struct formula_var *formula_var_at(const struct formula *f, size_t index) {
    return &f->vars[index];
}

const json_t *formula_body(const struct formula *f) {
    return f->body;
}

int formula_locate(const struct formula *f, size_t index, struct error *err) {
    return taskfile_locate(f->steps, index, err);
}
