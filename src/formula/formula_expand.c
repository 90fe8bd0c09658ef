/* formula_expand.c: variables become their values, in texts alone.
 *
 * The tree has been read already, so a value cannot change what the file means: quotes, colons and line ends in
 * it are only text. */
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "formula/formula_internal.h"

struct expansion {
    const struct formula *f;
    const struct formula_value *values;
    size_t count;
    bool only_check; /* what has no value stands for itself */
    unsigned line;   /* of the member that is looked at */
    struct error *err;
};

static const struct formula_value *find_value(const struct expansion *x, const char *name,
                                              size_t length) {
    for (size_t i = x->count; i-- > 0;) /* the last one counts */
        if (strlen(x->values[i].name) == length && memcmp(x->values[i].name, name, length) == 0)
            return &x->values[i];
    return NULL;
}

static int refuse_unknown(const struct expansion *x, const char *name, size_t length) {
    char typed[72];
    size_t size = length < sizeof(typed) - 1 ? length : sizeof(typed) - 1;
    memcpy(typed, name, size);
    typed[size] = '\0';
    struct nearest nearest = nearest_to(typed);
    for (size_t i = 0; i < x->f->var_count; i++)
        nearest_offer(&nearest, x->f->vars[i].name);
    if (nearest.best)
        return formula_fail(x->f, x->line, x->err,
                            "variable '%s' is not declared; did you mean '%s'?", typed,
                            nearest.best);
    return formula_fail(x->f, x->line, x->err, "variable '%s' is not declared in 'vars'", typed);
}

static int put_value(const struct expansion *x, const char *name, size_t length,
                     struct strbuf *out) {
    const struct formula_var *var = formula_find_var(x->f, name, length);
    const struct formula_value *value = find_value(x, name, length);
    if (!var && !(value && value->offered))
        return refuse_unknown(x, name, length);
    const char *text = value ? value->value : var ? var->standard : NULL;
    if (!text && !x->only_check)
        return formula_fail(x->f, x->line, x->err,
                            "variable '%.*s' has no value: it is required (--var %.*s=VALUE)",
                            (int)length, name, (int)length, name);
    strbuf_puts(out, text ? text : "");
    return 0;
}

/* `text` behind the opening braces; *ret_end is behind the closing ones. */
static int put_reference(const struct expansion *x, const char *text, const char **ret_end,
                         struct strbuf *out) {
    const char *name = text + strspn(text, " ");
    size_t length = strcspn(name, " }\n");
    const char *end = name + length + strspn(name + length, " ");
    if (strncmp(end, "}}", 2) != 0 || !formula_name_fits(name, length))
        return formula_fail(x->f, x->line, x->err,
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

static int expand_value(const struct expansion *x, json_t *value, json_t **ret_value);

static int expand_string(const struct expansion *x, json_t *value, json_t **ret_value) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int r = expand_text(x, json_string_value(value), &out);
    if (r < 0)
        return r;
    *ret_value = json_stringn(strbuf_text(&out), out.length);
    return *ret_value ? 0 : formula_fail(x->f, x->line, x->err, "a value is not UTF-8");
}

static int expand_array(const struct expansion *x, const json_t *array, json_t **ret_value) {
    json_t *copy = json_array();
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *item = NULL;
        int r = expand_value(x, json_array_get(array, i), &item);
        if (r < 0) {
            json_decref(copy);
            return r;
        }
        json_array_append_new(copy, item);
    }
    *ret_value = copy;
    return 0;
}

static int expand_object(const struct expansion *x, json_t *object, json_t **ret_value) {
    json_t *copy = json_object(), *value;
    const char *key;
    json_object_foreach(object, key, value) {
        json_t *item = NULL;
        int r = expand_value(x, value, &item);
        if (r < 0) {
            json_decref(copy);
            return r;
        }
        json_object_set_new(copy, key, item);
    }
    *ret_value = copy;
    return 0;
}

static int expand_value(const struct expansion *x, json_t *value, json_t **ret_value) {
    if (json_is_string(value))
        return expand_string(x, value, ret_value);
    if (json_is_array(value))
        return expand_array(x, value, ret_value);
    if (json_is_object(value))
        return expand_object(x, value, ret_value);
    *ret_value = json_incref(value);
    return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Names join the steps; they mean the same whatever the values are. */
static bool is_name(const char *member) {
    return strcmp(member, "name") == 0 || strcmp(member, "depends_on") == 0
           || strcmp(member, "parent") == 0;
}

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
    json_t *task = json_object();
    const char *member;
    json_object_foreach(step, member, value) {
        json_t *item = NULL;
        unsigned line = taskfile_member_line(x->f->steps, index, member);
        x->line = line ? line : taskfile_line(x->f->steps, index);
        int r = 0;
        if (is_name(member))
            item = json_incref(value);
        else
            r = expand_value(x, value, &item);
        if (r < 0) {
            json_decref(task);
            return r;
        }
        json_object_set_new(task, member, item);
    }
    put_meta(x, task);
    *ret_task = task;
    return 0;
}

static int expand_all(struct expansion *x, json_t **ret_body) {
    json_t *tasks = json_array();
    for (size_t i = 0; i < taskfile_count(x->f->steps); i++) {
        json_t *task = NULL;
        int r = expand_step(x, i, &task);
        if (r < 0) {
            json_decref(tasks);
            return r;
        }
        json_array_append_new(tasks, task);
    }
    *ret_body = json_pack("{s:o}", "tasks", tasks);
    return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

static int check_values(const struct expansion *x) {
    for (size_t i = 0; i < x->count; i++) {
        const struct formula_value *v = &x->values[i];
        if (v->offered || formula_find_var(x->f, v->name, strlen(v->name)))
            continue;
        struct nearest nearest = nearest_to(v->name);
        for (size_t k = 0; k < x->f->var_count; k++)
            nearest_offer(&nearest, x->f->vars[k].name);
        if (nearest.best)
            return error_set(x->err, -EINVAL,
                             "formula '%.60s' has no variable '%.60s'; did you mean '%s'?",
                             x->f->name, v->name, nearest.best);
        return error_set(x->err, -EINVAL, "formula '%.60s' has no variable '%.60s'", x->f->name,
                         v->name);
    }
    return 0;
}

/* Also those that no step names: who wrote `required` meant it. */
static int check_required(const struct expansion *x) {
    for (size_t i = 0; i < x->f->var_count; i++) {
        const struct formula_var *var = &x->f->vars[i];
        if (!var->standard && !find_value(x, var->name, strlen(var->name)))
            return formula_fail(x->f, var->line, x->err,
                                "variable '%s' has no value: it is required (--var %s=VALUE)",
                                var->name, var->name);
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
