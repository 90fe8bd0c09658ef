/* cmd_formula.c: lists, shows and validates formulas.
 *
 * No daemon is needed: formulas are files, and are expanded here on submission. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cli/formula_find.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "config/config.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

int formula_dirs_find(const char *project, struct formula_dirs *ret, struct error *err) {
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(config_freep) struct config *config = config_new();
    *ret = (struct formula_dirs){ 0 };
    int r = home_find(&home, err);
    if (r < 0)
        return r;
    r = config_read_file(config, home.config_file, err);
    if (r < 0 && r != -ENOENT)
        return r;
    const char *path = project ? config_text(config, "projects.P.path", project) : "";
    const char *slash = strrchr(home.config_file, '/');
    ret->folders[0] = *path ? xasprintf("%s/.sluice/formulas", path) : NULL;
    ret->folders[1] =
        xasprintf("%.*s/formulas", slash ? (int)(slash - home.config_file) : 0, home.config_file);
    ret->work = *path ? xstrdup(path) : getcwd(NULL, 0);
    return ret->work
               ? 0
               : error_set(err, -errno, "the current folder has no path: %s", strerror(errno));
}

void formula_dirs_finish(struct formula_dirs *dirs) {
    free(dirs->folders[0]);
    free(dirs->folders[1]);
    free(dirs->work);
}

static bool ends_in_yaml(const char *name) {
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".yaml") == 0;
}

int formula_find(const struct formula_dirs *dirs, const char *name, struct formula **ret,
                 struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf looked = STRBUF_INIT, text = STRBUF_INIT;
    if (strchr(name, '/') || ends_in_yaml(name)) {
        int r = file_read_any(name, FORMULA_BYTES_MAX, &text, err); /* may be a pipe */
        return r < 0
                   ? r
                   : formula_read_text(name, dirs->work, strbuf_text(&text), text.length, ret, err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(dirs->folders); i++) {
        if (!dirs->folders[i])
            continue;
        _cleanup_(freep) char *path = xasprintf("%s/%s.yaml", dirs->folders[i], name);
        if (access(path, F_OK) == 0)
            return formula_read(path, dirs->work, ret, err);
        strbuf_printf(&looked, "%s%s", looked.length ? " and not " : "", path);
    }
    return error_set(err, -ENOENT, "there is no formula '%.60s': not %s", name,
                     strbuf_text(&looked));
}

void formula_values_finish(struct formula_values *values) {
    for (size_t i = 0; i < values->count; i++) {
        free((char *)values->items[i].name);
        free((char *)values->items[i].value);
    }
    free(values->items);
}

/* Takes both texts. */
static void add_value(struct formula_values *values, const char *name, const char *value,
                      bool offered) {
    values->items =
        xgrow(values->items, &values->capacity, values->count + 1, sizeof(*values->items));
    values->items[values->count++] = (struct formula_value){ name, value, offered };
}

void formula_values_offer(struct formula_values *values, const char *name, const char *value) {
    add_value(values, xstrdup(name), xstrdup(value ? value : ""), true);
}

int formula_values_take(const struct cmd_call *call, struct formula_values *values) {
    const char *pair;
    for (size_t n = 0; (pair = cmd_value_at(call, "var", n)); n++) {
        const char *equals = strchr(pair, '=');
        if (!equals || equals == pair)
            return cmd_usage_error(call->cmd, "option '--var': expected NAME=VALUE, got '%s'",
                                   pair);
        add_value(values, xstrndup(pair, (size_t)(equals - pair)), xstrdup(equals + 1), false);
    }
    return CMD_OK;
}

/* Set by `sling --on` in addition to --var. */
static const struct formula_value offered[] = {
    { "task", "", true }, { "title", "", true }, { "prompt", "", true }, { "project", "", true }
};

static json_t *vars_of(const struct formula *f) {
    json_t *vars = json_array();
    for (size_t i = 0; i < formula_var_count(f); i++) {
        const struct formula_var *var = formula_var_at(f, i);
        json_array_append_new(vars, json_pack("{s:s, s:b, s:s?, s:s?}", "name", var->name,
                                              "required", !var->standard, "default", var->standard,
                                              "description", var->description));
    }
    return vars;
}

static size_t step_count(const struct formula *f) {
    return json_array_size(json_object_get(formula_body(f), "tasks"));
}

struct listing {
    json_t *items;
    bool broken;
};

static void list_one(struct listing *l, const char *folder, const char *work, const char *file) {
    _cleanup_(formula_freep) struct formula *f = NULL;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(freep) char *name = xstrndup(file, strlen(file) - strlen(".yaml"));
    struct error err = { 0 };
    EACH_ITEM(item, l->items) {
        if (strcmp(get_text(item, "name", ""), name) == 0)
            return; /* the project's takes precedence */
    }
    strbuf_printf(&path, "%s/%s", folder, file);
    if (formula_read(strbuf_text(&path), work, &f, &err) < 0
        || formula_check(f, offered, ARRAY_SIZE(offered), &err) < 0) {
        cmd_warn("%s", err.text);
        l->broken = true;
        return;
    }
    json_array_append_new(l->items, json_pack("{s:o, s:s, s:s, s:i, s:o}", "name", json_text(name),
                                              "description", formula_description(f), "path",
                                              strbuf_text(&path), "steps", (int)step_count(f),
                                              "vars", vars_of(f)));
}

static void list_folder(struct listing *l, const char *folder, const char *work) {
    struct dirent **entries = NULL;
    int count = folder ? scandir(folder, &entries, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        if (ends_in_yaml(entries[i]->d_name) && entries[i]->d_name[0] != '.')
            list_one(l, folder, work, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void put_vars(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    EACH_ITEM(var, json_object_get(item, "vars")) {
        strbuf_printf(out, "%s%s%s", out->length > 0 ? " " : "", get_text(var, "name", ""),
                      get_true(var, "required") ? "*" : "");
    }
}

static void print_list(const struct listing *l) {
    static const struct column columns[] = {
        { "NAME", "name" },
        { "STEPS", "steps", CELL_NUMBER },
        { "VARS", .put = put_vars },
        { "ABOUT", "description" },
        { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    EACH_ITEM(item, l->items) {
        rows_add_item(&rows, item, 0);
    }
    rows_print(&rows, &out);
    if (json_array_size(l->items) == 0 && !l->broken)
        strbuf_puts(&out,
                    "no formulas found; 'sluice formula --help' shows where they are searched\n");
}

static int list_run(const struct cmd_call *call) {
    _cleanup_(formula_dirs_finish) struct formula_dirs dirs = { 0 };
    struct error err = { 0 };
    if (formula_dirs_find(cmd_value(call, "project"), &dirs, &err) < 0)
        return cmd_error(&err);
    struct listing l = { .items = json_array() };
    for (size_t i = 0; i < ARRAY_SIZE(dirs.folders); i++)
        list_folder(&l, dirs.folders[i], dirs.work);
    if (call->json)
        (void)output_json(json_pack("{s:O}", "items", l.items));
    else
        print_list(&l);
    json_decref(l.items);
    return l.broken ? CMD_USAGE : CMD_OK;
}

static void print_step(const json_t *step, size_t index, struct strbuf *out) {
    const char *name = get_text(step, "name", NULL);
    const char *what = get_text(step, "title", get_text(step, "prompt", NULL));
    const json_t *argv = json_object_get(step, "argv");
    if (!what)
        what = json_string_value(json_array_get(argv, json_array_size(argv) - 1));
    _cleanup_(strbuf_finish) struct strbuf after = STRBUF_INIT;
    char number[24];
    (void)snprintf(number, sizeof(number), "%zu", index + 1);
    EACH_ITEM(need, json_object_get(step, "depends_on")) {
        strbuf_printf(&after, "%s%s", after.length > 0 ? ", " : " (after ",
                      json_string_value(need));
    }
    cmd_put_line(out, "  %s%s%s%s%s", name ? name : number, what ? ": " : "", what ? what : "",
                 strbuf_text(&after), after.length > 0 ? ")" : "");
}

static void print_formula(const struct formula *f) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    const char *about = formula_description(f);
    cmd_put_line(&out, "%s%s%s", formula_name(f), *about ? ": " : "", about);
    for (size_t i = 0; i < formula_var_count(f); i++) {
        const struct formula_var *var = formula_var_at(f, i);
        cmd_put_line(&out, "  --var %s=%s%s%s", var->name,
                     var->standard ? var->standard : "VALUE (required)",
                     var->description ? "  " : "", var->description ? var->description : "");
    }
    for (size_t i = 0; i < step_count(f); i++)
        print_step(json_array_get(json_object_get(formula_body(f), "tasks"), i), i, &out);
}

static int read_named(const struct cmd_call *call, const char *name, struct formula **ret,
                      struct error *err) {
    _cleanup_(formula_dirs_finish) struct formula_dirs dirs = { 0 };
    int r = formula_dirs_find(cmd_value(call, "project"), &dirs, err);
    if (r >= 0)
        r = formula_find(&dirs, name, ret, err);
    return r < 0 ? r : formula_check(*ret, offered, ARRAY_SIZE(offered), err);
}

static int show_run(const struct cmd_call *call) {
    _cleanup_(formula_freep) struct formula *f = NULL;
    struct error err = { 0 };
    if (read_named(call, call->args[0], &f, &err) < 0)
        return cmd_error(&err);
    if (!call->json) {
        print_formula(f);
        return CMD_OK;
    }
    return output_json(json_pack("{s:s, s:s, s:o, s:O}", "name", formula_name(f), "description",
                                 formula_description(f), "vars", vars_of(f), "steps",
                                 json_object_get(formula_body(f), "tasks")));
}

static int check_run(const struct cmd_call *call) {
    json_auto_t *items = json_array();
    int code = CMD_OK;
    for (size_t i = 0; i < call->arg_count; i++) {
        _cleanup_(formula_freep) struct formula *f = NULL;
        struct error err = { 0 };
        bool good = read_named(call, call->args[i], &f, &err) == 0;
        if (!good)
            code = cmd_error(&err);
        else if (!call->json)
            (void)cmd_print_line("%s is valid: %zu steps", formula_name(f), step_count(f));
        json_array_append_new(items, json_pack("{s:o, s:b, s:s?}", "name", json_text(call->args[i]),
                                               "good", good, "error", good ? NULL : err.text));
    }
    if (call->json)
        (void)output_json(json_pack("{s:O}", "items", items));
    return code;
}

static const struct cmd_option options[] = {
    { "project", 'p', "NAME", "search the folder of this project first" },
    { NULL },
};

const struct cmd cmd_formula = {
    "formula", .subs = CMD_LIST(CMD_SUB("formula check", check_run, 1, CMD_ANY_ARGS, options),
                                CMD_SUB("formula list", list_run, 0, 0, options),
                                CMD_SUB("formula show", show_run, 1, 1, options))
};
