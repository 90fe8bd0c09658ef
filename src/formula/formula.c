/* formula.c: parses a file into variables and steps, and expands these into tasks.
 *
 * The task file reader reads the steps, so a formula accepts whatever a task file does, with the
 * same error messages. Values are inserted after parsing, so quotes, colons and newlines in a value
 * cannot change the structure. */
#include "formula/formula.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "os/files.h"
#include "taskfile/taskfile.h"
#include "yaml/yaml.h"

struct formula {
    char *file; /* for messages */
    char *name;
    const char *description; /* borrowed from the tree */
    struct yaml yaml;
    struct formula_var *vars;
    size_t var_count;
    struct taskfile *steps;
    json_t *body;
};

static const struct yaml_limits limits = {
    .bytes = FORMULA_BYTES_MAX,
    .levels = 32,
    .nodes = 100000,
};

#define fail(f, line, ...) yaml_fail((struct yaml_position){ (f)->file, line, 0 }, __VA_ARGS__)

static bool name_fits(const char *name, size_t length) {
    bool good = length > 0 && length <= 64 && !isdigit((unsigned char)name[0]) && name[0] != '-';
    for (size_t i = 0; i < length; i++)
        good = good && (isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-');
    return good;
}

static const struct formula_var *find_var(const struct formula *f, const char *name,
                                          size_t length) {
    for (size_t i = 0; i < f->var_count; i++)
        if (strlen(f->vars[i].name) == length && memcmp(f->vars[i].name, name, length) == 0)
            return &f->vars[i];
    return NULL;
}

/* --- variables ------------------------------------------------------------------------------- */

static int read_var_member(const struct formula *f, const struct yaml_node *key,
                           struct formula_var *var, bool *required, struct error *err) {
    bool is_required = strcmp(key->text, "required") == 0;
    bool is_default = strcmp(key->text, "default") == 0;
    if (!is_required && !is_default && strcmp(key->text, "description") != 0)
        return fail(f, key->line, err,
                    "a variable has no '%.60s'; it has description, default and required",
                    key->text);
    if (key->value->kind != YAML_SCALAR)
        return fail(f, key->line, err, "'%s' of variable '%s': expected a text, got %s", key->text,
                    var->name, yaml_noun(key->value).text);
    if (is_required) {
        enum yaml_type type = yaml_type(key->value);
        if (type != YAML_TRUE && type != YAML_FALSE)
            return fail(f, key->line, err, "'required': expected true or false, got %s",
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
    if (!name_fits(key->text, key->length))
        return fail(f, key->line, err,
                    "%s is not the name of a variable: letters, digits, - and _, a letter first",
                    yaml_noun(key).text);
    const struct formula_var *other = find_var(f, key->text, key->length);
    if (other)
        return fail(f, key->line, err, "'%s' is given twice, first in line %u", key->text,
                    other->line);
    if (key->value->kind == YAML_LIST)
        return fail(f, key->value->line, err,
                    "'%s': expected a default, or description, default and required, got a "
                    "list",
                    key->text);
    if (key->value->kind == YAML_SCALAR && yaml_type(key->value) != YAML_NULL)
        var->standard = key->value->text;
    int r = 0;
    if (key->value->kind == YAML_MAPPING)
        for (const struct yaml_node *m = key->value->first; r == 0 && m; m = m->next)
            r = read_var_member(f, m, var, &required, err);
    if (r == 0 && required && var->standard)
        return fail(f, key->line, err, "variable '%s' is required and has a default; leave one out",
                    key->text);
    if (r == 0 && key->value->kind == YAML_MAPPING && !required && !var->standard)
        var->standard = "";
    f->var_count++;
    return r;
}

static int read_vars(struct formula *f, const struct yaml_node *value, struct error *err) {
    if (!value || yaml_type(value) == YAML_NULL)
        return 0;
    if (value->kind != YAML_MAPPING)
        return fail(f, value->line, err, "'vars': expected names and defaults, got %s",
                    yaml_noun(value).text);
    if (value->count > FORMULA_VARS_MAX)
        return fail(f, value->line, err, "%zu variables are too many; maximum is %u", value->count,
                    FORMULA_VARS_MAX);
    f->vars = xcalloc(value->count + 1, sizeof(*f->vars));
    int r = 0;
    for (const struct yaml_node *key = value->first; r == 0 && key; key = key->next)
        r = read_var(f, key, err);
    return r;
}

/* --- reading --------------------------------------------------------------------------------- */

struct head {
    const struct yaml_node *name, *description, *vars, *defaults, *steps;
};

static int take_head_key(const struct formula *f, const struct yaml_node *key, struct head *head,
                         struct error *err) {
    const struct {
        const char *name;
        const struct yaml_node **value;
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
        if (*known[i].value)
            return fail(f, key->line, err, "'%s' is given twice", key->text);
        *known[i].value = key->value;
        return 0;
    }
    if (nearest.best)
        return fail(f, key->line, err, "a formula has no %s; did you mean '%s'?",
                    yaml_noun(key).text, nearest.best);
    return fail(f, key->line, err,
                "a formula has no %s; it has name, description, vars, defaults and steps",
                yaml_noun(key).text);
}

static int read_text_key(const struct formula *f, const struct yaml_node *value, const char *key,
                         const char **ret_text, struct error *err) {
    if (!value || yaml_type(value) == YAML_NULL)
        return 0;
    if (value->kind != YAML_SCALAR)
        return fail(f, value->line, err, "'%s': expected a text, got %s", key,
                    yaml_noun(value).text);
    *ret_text = value->text;
    return 0;
}

/* "formulas/release.yaml" gives "release". */
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
        return fail(f, root ? root->line : 1, err, "expected a formula with vars and steps, got %s",
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
    if (!head.steps || yaml_type(head.steps) == YAML_NULL)
        return fail(f, root->line, err, "there are no steps in it");
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

/* --- expansion ------------------------------------------------------------------------------- */

struct expansion {
    const struct formula *f;
    const struct formula_value *values;
    size_t count;
    bool only_check; /* variables may lack a value */
    unsigned line;   /* of the current member */
    struct error *err;
};

static const struct formula_value *find_value(const struct expansion *x, const char *name,
                                              size_t length) {
    for (size_t i = x->count; i-- > 0;) /* the last value wins */
        if (strlen(x->values[i].name) == length && memcmp(x->values[i].name, name, length) == 0)
            return &x->values[i];
    return NULL;
}

static const char *nearest_var(const struct formula *f, const char *typed) {
    struct nearest nearest = nearest_to(typed);
    for (size_t i = 0; i < f->var_count; i++)
        nearest_offer(&nearest, f->vars[i].name);
    return nearest.best;
}

static int refuse_unknown(const struct expansion *x, const char *name, size_t length) {
    char typed[72];
    size_t size = length < sizeof(typed) - 1 ? length : sizeof(typed) - 1;
    memcpy(typed, name, size);
    typed[size] = '\0';
    const char *nearest = nearest_var(x->f, typed);
    if (nearest)
        return fail(x->f, x->line, x->err, "variable '%s' is not declared; did you mean '%s'?",
                    typed, nearest);
    return fail(x->f, x->line, x->err, "variable '%s' is not declared in 'vars'", typed);
}

static int put_value(const struct expansion *x, const char *name, size_t length,
                     struct strbuf *out) {
    const struct formula_var *var = find_var(x->f, name, length);
    const struct formula_value *value = find_value(x, name, length);
    if (!var && !(value && value->offered))
        return refuse_unknown(x, name, length);
    const char *text = value ? value->value : var ? var->standard : NULL;
    if (!text && !x->only_check)
        return fail(x->f, x->line, x->err,
                    "variable '%.*s' has no value: it is required (--var %.*s=VALUE)", (int)length,
                    name, (int)length, name);
    strbuf_puts(out, text ? text : "");
    return 0;
}

/* `text` starts after the opening braces; *ret_end is after the closing ones. */
static int put_reference(const struct expansion *x, const char *text, const char **ret_end,
                         struct strbuf *out) {
    const char *name = text + strspn(text, " ");
    size_t length = strcspn(name, " }\n");
    const char *end = name + length + strspn(name + length, " ");
    if (strncmp(end, "}}", 2) != 0 || !name_fits(name, length))
        return fail(x->f, x->line, x->err,
                    "'{{%.20s' is no variable like {{name}}; write {{{{ for {{", text);
    *ret_end = end + 2;
    return put_value(x, name, length, out);
}

static int expand_text(const struct expansion *x, const char *text, struct strbuf *out) {
    int r = 0;
    while (r == 0) {
        const char *open = strstr(text, "{{");
        if (!open)
            break;
        strbuf_add(out, text, (size_t)(open - text));
        if (strncmp(open, "{{{{", 4) == 0) {
            strbuf_puts(out, "{{");
            text = open + 4;
        } else {
            r = put_reference(x, open + 2, &text, out);
        }
    }
    if (r == 0)
        strbuf_puts(out, text);
    return r;
}

static int expand_value(const struct expansion *x, json_t *value, json_t **ret_value) {
    if (json_is_string(value)) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        int r = expand_text(x, json_string_value(value), &out);
        if (r < 0)
            return r;
        *ret_value = json_stringn(strbuf_text(&out), out.length);
        return *ret_value ? 0 : fail(x->f, x->line, x->err, "a value is not UTF-8");
    }
    json_auto_t *copy = json_copy(value); /* of an array or object; else the value itself */
    const char *key;
    json_t *entry, *item = NULL;
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
        r = expand_value(x, json_array_get(value, i), &item);
        if (r == 0)
            json_array_set_new(copy, i, item);
    }
    json_object_foreach(value, key, entry) {
        r = r < 0 ? r : expand_value(x, entry, &item);
        if (r == 0)
            json_object_set_new(copy, key, item);
    }
    if (r == 0)
        *ret_value = json_incref(copy);
    return r;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void put_meta(const struct expansion *x, json_t *task) {
    json_t *meta = json_object_get(task, "meta"), *vars = json_object();
    if (!json_is_object(meta))
        json_object_set_new(task, "meta", meta = json_object());
    for (size_t i = 0; i < x->f->var_count; i++) {
        const struct formula_var *var = &x->f->vars[i];
        const struct formula_value *value = find_value(x, var->name, strlen(var->name));
        const char *text = value ? value->value : var->standard;
        json_object_set_new(vars, var->name, json_string(text ? text : ""));
    }
    json_object_set_new(meta, "formula", json_string(x->f->name));
    json_object_set_new(meta, "vars", vars);
    if (json_object_get(task, "name"))
        json_object_set(meta, "step", json_object_get(task, "name"));
}

static int expand_step(struct expansion *x, size_t index, json_t **ret_task) {
    json_t *step = json_array_get(json_object_get(x->f->body, "tasks"), index), *value;
    json_auto_t *task = json_copy(step);
    const char *member;
    json_object_foreach(step, member, value) {
        unsigned line = taskfile_member_line(x->f->steps, index, member);
        x->line = line ? line : taskfile_line(x->f->steps, index);
        if (strcmp(member, "name") == 0 || strcmp(member, "depends_on") == 0
            || strcmp(member, "parent") == 0)
            continue; /* links between steps are not expanded */
        json_t *item = NULL;
        int r = expand_value(x, value, &item);
        if (r < 0)
            return r;
        json_object_set_new(task, member, item);
    }
    put_meta(x, task);
    *ret_task = json_incref(task);
    return 0;
}

static int expand_all(struct expansion *x, json_t **ret_body) {
    json_auto_t *tasks = json_array();
    for (size_t i = 0; i < taskfile_count(x->f->steps); i++) {
        json_t *task = NULL;
        int r = expand_step(x, i, &task);
        if (r < 0)
            return r;
        json_array_append_new(tasks, task);
    }
    *ret_body = json_pack("{s:O}", "tasks", tasks);
    return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

static int check_values(const struct expansion *x) {
    for (size_t i = 0; i < x->count; i++) {
        const struct formula_value *v = &x->values[i];
        if (v->offered || find_var(x->f, v->name, strlen(v->name)))
            continue;
        const char *nearest = nearest_var(x->f, v->name);
        if (nearest)
            return error_set(x->err, -EINVAL,
                             "formula '%.60s' has no variable '%.60s'; did you mean '%s'?",
                             x->f->name, v->name, nearest);
        return error_set(x->err, -EINVAL, "formula '%.60s' has no variable '%.60s'", x->f->name,
                         v->name);
    }
    return 0;
}

/* Includes variables that no step uses. */
static int check_required(const struct expansion *x) {
    for (size_t i = 0; i < x->f->var_count; i++) {
        const struct formula_var *var = &x->f->vars[i];
        if (!var->standard && !find_value(x, var->name, strlen(var->name)))
            return fail(x->f, var->line, x->err,
                        "variable '%s' has no value: it is required (--var %s=VALUE)", var->name,
                        var->name);
    }
    return 0;
}

int formula_check(const struct formula *f, const struct formula_value *offered, size_t count,
                  struct error *err) {
    struct expansion x = {
        .f = f, .values = offered, .count = count, .only_check = true, .err = err
    };
    json_t *body = NULL;
    int r = expand_all(&x, &body);
    json_decref(body);
    return r;
}

int formula_expand(const struct formula *f, const struct formula_value *values, size_t count,
                   json_t **ret_body, struct error *err) {
    struct expansion x = { .f = f, .values = values, .count = count, .err = err };
    int r = check_values(&x);
    if (r == 0)
        r = check_required(&x);
    return r < 0 ? r : expand_all(&x, ret_body);
}
