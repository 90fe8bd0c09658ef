/* op_config.c: shows, explains, changes and reloads the settings in force.
 *
 * A change applies to both the file and the daemon, or to neither: the new text is parsed first,
 * then put in force, then written. If the file cannot be written, the old configuration is
 * restored. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_edit.h"
#include "config/config_show.h"
#include "config/settings.h"
#include "ops/print.h"
#include "ops/rights.h"
#include "os/files.h"

/* --- changes --------------------------------------------------------------------------------- */

#define FILE_MAX (4u << 20)

void change_finish(struct change *change) {
    strbuf_finish(&change->before);
    strbuf_finish(&change->after);
    (void)config_free(change->config);
}

static int read_text(struct op_call *call, const struct strbuf *text, struct config **ret) {
    struct config *config = config_new();
    int r = config_read_text(config, engine_config_file(call->engine), strbuf_text(text),
                             text->length, &call->err);
    if (r < 0)
        (void)config_free(config);
    else
        *ret = config;
    return r < 0 ? r : 0;
}

int change_prepare(struct op_call *call, const struct config_change *items, size_t count,
                   struct change *ret) {
    const char *path = engine_config_file(call->engine);
    ret->items = items;
    ret->count = count;
    if (!path || !*path)
        return op_fail(call, -ENOTSUP, "the daemon was started without a configuration file");
    int r = access_check_changes(call, items, count);
    if (r < 0)
        return r;
    r = file_read(path, FILE_MAX, &ret->before, &call->err);
    if (r < 0 && r != -ENOENT)
        return r;
    call->err.code = 0;
    r = config_edit_text(path, &ret->before, items, count, &ret->after, &call->err);
    if (r == 0)
        r = read_text(call, &ret->after, &ret->config);
    return r < 0 ? r : access_check_listen(call, ret->config);
}

int change_apply(struct op_call *call, struct change *change) {
    int r = engine_set_config(call->engine, change->config, &call->err);
    if (r < 0)
        return r;
    change->config = NULL; /* owned by the engine now */
    r = config_write_file(engine_config_file(call->engine), &change->after,
                          engine_config(call->engine), &call->err);
    if (r < 0) {
        struct error why = call->err;
        struct config *old = NULL;
        if (read_text(call, &change->before, &old) == 0
            && engine_set_config(call->engine, old, &call->err) < 0)
            (void)config_free(old);
        call->err = why;
    }
    return r;
}

const char *change_value(struct op_call *call, const json_t *value) {
    char text[64];
    if (!value)
        return NULL;
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        (void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
    else
        (void)snprintf(text, sizeof(text), "%.15g", json_real_value(value));
    return arena_strdup(op_arena(call), text);
}

const char *section_key(struct op_call *call, const char *pattern, const char *name,
                        const char *own) {
    return arena_printf(op_arena(call), "%.*s%s.%s", (int)(strchr(pattern, '.') - pattern) + 1,
                        pattern, name, own);
}

size_t section_changes(struct op_call *call, const char *pattern, const char *name,
                       bool empty_removes, struct config_change **ret_items) {
    const char *own;
    json_t *value;
    size_t count = 0;
    *ret_items =
        arena_alloc(op_arena(call), (json_object_size(call->params) + 1) * sizeof(**ret_items));
    json_object_foreach(call->params, own, value) {
        const struct op_param *p = op_find_param(call->op, own);
        if (!p || p->type != OP_SETTINGS)
            continue;
        const char *text = change_value(call, value);
        (*ret_items)[count++] =
            (struct config_change){ .key = section_key(call, pattern, name, own),
                                    .value = empty_removes && !*text ? NULL : text };
    }
    return count;
}

size_t section_removal(struct op_call *call, const char *pattern, const char *name,
                       struct config_change **ret_items) {
    size_t count = 0;
    *ret_items = arena_alloc(op_arena(call), (settings_count + 1) * sizeof(**ret_items));
    for (size_t i = 0; i < settings_count; i++) {
        const char *key = settings[i].key;
        if (strncmp(key, pattern, strlen(pattern)) == 0
            && config_is_set(engine_config(call->engine), key, name))
            (*ret_items)[count++] =
                (struct config_change){ .key = section_key(call, pattern, name,
                                                           key + strlen(pattern)) };
    }
    const char *section = arena_printf(op_arena(call), "%.*s%s",
                                       (int)(strchr(pattern, '.') - pattern) + 1, pattern, name);
    (*ret_items)[count++] = (struct config_change){ .key = section, .is_section = true };
    return count;
}

int change_prepare_params(struct op_call *call, struct change *ret) {
    const json_t *set = op_json(call, "set"), *unset = op_json(call, "unset");
    size_t count = 0, most = json_object_size(set) + json_array_size(unset);
    if (most == 0)
        return op_fail(call, -EINVAL, "nothing to change: 'set' or 'unset' is required");
    struct config_change *items = arena_alloc(op_arena(call), most * sizeof(*items));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)set, key, value) {
        if (!json_is_string(value) && !json_is_number(value) && !json_is_boolean(value))
            return op_fail(call, -EINVAL,
                           "the value of '%s' must be a text, a number, or true or false",
                           utf8_quote(key).text);
        items[count++] = (struct config_change){ .key = key, .value = change_value(call, value) };
    }
    for (size_t i = 0; i < json_array_size(unset); i++)
        items[count++] =
            (struct config_change){ .key = json_string_value(json_array_get(unset, i)) };
    return change_prepare(call, items, count, ret);
}

#define HIDDEN "***"

/* --- looking --------------------------------------------------------------------------------- */

/* Set by a user: not a default, not from the preset, not inherited from another key. */
static bool is_chosen(const char *origin) {
    return origin && strcmp(origin, "default") != 0
           && strncmp(origin, "preset", strlen("preset")) != 0 && !settings_row(origin);
}

static int run_list(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    config_show(engine_config(call->engine), true, &text);
    json_t *shown = json_loadb(text.text, text.length, 0, NULL);
    json_t *items = json_array(), *all = json_object_get(shown, "settings"), *item;
    size_t i;
    json_array_foreach(all, i, item) {
        if (!op_flag(call, "all") && !is_chosen(json_string_value(json_object_get(item, "origin"))))
            continue;
        if (access_hides(call, json_string_value(json_object_get(item, "key"))))
            (void)json_object_set_new(item, "value", json_string(HIDDEN));
        (void)json_array_append(items, item);
    }
    char *printed = json_dumps(items, JSON_COMPACT | JSON_REAL_PRECISION(15));
    struct json_writer w = op_begin(call);
    json_put_string(&w, "preset", config_preset(engine_config(call->engine)));
    json_put_string(&w, "file", engine_config_file(call->engine));
    print_json(&w, "items", printed);
    json_write_object_end(&w);
    free(printed);
    json_decref(items);
    json_decref(shown);
    return 0;
}

static int run_get(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *key = op_text(call, "key");
    if (config_explain(engine_config(call->engine), key, true, &text, &call->err) < 0)
        return call->err.code = -ENOENT;
    json_t *shown = json_loadb(text.text, text.length, 0, NULL);
    if (access_hides(call, key))
        (void)json_object_set_new(shown, "value", json_string(HIDDEN));
    struct json_writer w = op_begin(call);
    static const char *const members[] = {
        "key", "value", "origin", "text", "expected", "default"
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        char *printed = json_dumps(json_object_get(shown, members[i]),
                                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        print_json(&w, members[i], printed);
        free(printed);
    }
    json_write_object_end(&w);
    json_decref(shown);
    return 0;
}

static int run_set(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    int r = change_prepare_params(call, &change);
    if (r == 0)
        r = change_apply(call, &change);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    json_put_array(&w, "changed");
    bool same =
        change.before.length == change.after.length
        && memcmp(strbuf_text(&change.before), strbuf_text(&change.after), change.after.length)
               == 0;
    for (size_t i = 0; !same && i < change.count; i++)
        json_write_string(&w, change.items[i].key);
    json_write_array_end(&w);
    return op_end(&w);
}

static int run_reload(struct op_call *call) {
    const char *path = engine_config_file(call->engine);
    if (!path || !*path)
        return op_fail(call, -ENOTSUP, "the daemon was started without a configuration file");
    struct config *config = config_new();
    int r = config_read_file(config, path, &call->err);
    if (r >= 0)
        r = engine_set_config(call->engine, config, &call->err);
    if (r < 0) {
        (void)config_free(config);
        return r;
    }
    return op_answer(call, "s:s, s:s", "file", path, "preset",
                     config_preset(engine_config(call->engine)));
}

/* --- the operations -------------------------------------------------------------------------- */

/* clang-format off */
static const struct shape setting_shape = { "Setting", "a setting", .members = SHAPE_ROWS(
    { "key", T_TEXT, "its name", "limits.runs" },
    { "value", T_JSON | T_NULL, "its value in force" },
    { "resolved", T_JSON | T_MAYBE, "what `auto` stands for" },
    { "origin", T_TEXT | T_NULL, "the origin of the value", "sluice.yaml:3" }) };
/* clang-format on */

const struct op op_config_list = {
    OP("config.list", "GET", "/v1/config", "show the settings in force and their origin"),
    .params =
        PARAMS(PARAM(BOOLEAN, QUERY, "all", .text = "all settings, not only those that were set")),
    .answers = ANSWERS({ "preset", T_TEXT, "the preset in force", "sluice" },
                       { "file", T_TEXT | T_NULL, "the configuration file",
                         "/home/me/.config/sluice/sluice.yaml" },
                       { "items", T_OBJECT | T_LIST, "the settings", &setting_shape }),
    OP_READS(READ, NONE, run_list),
};

const struct op op_config_get = {
    OP("config.get", "GET", "/v1/config/{key}", "show one setting"),
    .params =
        PARAMS(PARAM(TEXT, PATH, "key", .text = "the setting: `limits.runs`, `agents.claude.slots`",
                     .required = true, .min = 1, .max = 256)),
    .answers = ANSWERS({ "key", T_TEXT, "its name", "limits.runs" },
                       { "value", T_JSON | T_NULL, "its value in force" },
                       { "origin", T_TEXT | T_NULL, "the origin of the value", "sluice.yaml:3" },
                       { "text", T_TEXT, "what it does", "Most runs at once." },
                       { "expected", T_TEXT | T_NULL, "the values it accepts",
                         "a whole number from 0 to 1000000000 or unlimited" },
                       { "default", T_JSON | T_NULL, "its default" }),
    OP_READS(READ, NONE, run_get),
};

const struct op op_config_set = {
    OP("config.set", "POST", "/v1/config", "change settings in the file and in the running daemon"),
    .text = "All settings are changed, or none; comments and order of the file are kept. Raising a "
            "cap starts tasks immediately; lowering one stops nothing.",
    .params = PARAMS(
        PARAM(OBJECT, BODY, "set", .text = "settings and their new values", .max = 1000),
        PARAM(LIST, BODY, "unset", .text = "settings to reset to their default", .max = 1000)),
    .answers = ANSWERS(
        { "changed", T_TEXT | T_LIST, "the settings whose value has changed", "limits.runs" }),
    OP_WRITES(ADMIN, NONE, run_set),
    .counts = true,
};

const struct op op_config_reload = {
    OP("config.reload", "POST", "/v1/config/reload", "reload the configuration file"),
    .answers =
        ANSWERS({ "file", T_TEXT, "the file that was read", "/home/me/.config/sluice/sluice.yaml" },
                { "preset", T_TEXT, "the preset in force", "sluice" }),
    OP_WRITES(ADMIN, NONE, run_reload),
    .counts = true,
};
