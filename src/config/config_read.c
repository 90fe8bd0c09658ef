/* config_read.c: from a YAML file to assignments.
 *
 * The complete file is parsed before the first value is set, so that `preset` comes first and a
 * syntax error changes nothing. Duplicate keys are detected by the entry they set, whatever their
 * notation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/utf8.h"
#include "config/config_internal.h"
#include "os/files.h"
#include "yaml/yaml.h"

#define KEY_MAX 512 /* of all levels together */

const struct yaml_limits config_limits = {
    .bytes = CONFIG_FILE_MAX,
    .levels = ARRAY_SIZE(((struct setting_joints *)NULL)->at),
    .nodes = CONFIG_FILE_MAX,
};

struct reader {
    struct config_file *file;
    const char *name;
    struct error *err;
    struct strbuf path; /* the keys so far, joined by dots */
    struct setting_joints joints;
    unsigned line; /* of the key */
};

#define fail(r, ...)                                                                               \
    yaml_fail((struct yaml_position){ (r)->name, (r)->line, 0 }, (r)->err, __VA_ARGS__)

/* --- values ----------------------------------------------------------------------------------- */

static void add_assignment(struct reader *r, const char *value) {
    struct config_file *file = r->file;
    struct setting_joints *joints = arena_alloc(&file->arena, sizeof(*joints));
    *joints = r->joints;
    file->items = xgrow(file->items, &file->capacity, file->count + 1, sizeof(*file->items));
    file->items[file->count++] = (struct assignment){
        .key = arena_strndup(&file->arena, r->path.text, r->path.length),
        .joints = joints,
        .value = value,
        .line = r->line,
    };
}

static int refuse_shape(struct reader *r, const char *got) {
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    if (key.match == MATCH_SETTING)
        setting_expected(key.setting, &expected);
    else
        strbuf_puts(&expected, "keys below it");
    return fail(r, "key '%s': expected %s, got %s", utf8_quote(strbuf_text(&r->path)).text,
                strbuf_text(&expected), got);
}

/* The items as one string: of an order, or of words. */
static int read_items(struct reader *r, const struct yaml_node *list, bool is_words) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char **items = arena_alloc(&r->file->arena, (list->count + 1) * sizeof(*items));
    size_t count = 0;
    for (const struct yaml_node *item = list->first; item; item = item->next) {
        if (item->kind != YAML_SCALAR)
            return refuse_shape(r, item->kind == YAML_LIST ? "a list in a list"
                                                           : "a mapping in a list");
        if (is_words && yaml_type(item) == YAML_NULL)
            return refuse_shape(r, "nothing in a list");
        strbuf_printf(&text, "%s%s", count ? ", " : "", item->text);
        items[count++] = item->text;
    }
    if (is_words) {
        strbuf_clear(&text);
        words_print(&(struct words){ .items = items, .count = count }, &text);
    }
    add_assignment(r, arena_strndup(&r->file->arena, strbuf_text(&text), text.length));
    return 0;
}

static int read_list(struct reader *r, const struct yaml_node *list) {
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    if (key.match == MATCH_NOTHING) { /* the key is wrong, not the list */
        add_assignment(r, NULL);
        return 0;
    }
    bool is_words = key.match == MATCH_SETTING && key.setting->type == SETTING_WORDS;
    bool is_order = key.match == MATCH_SETTING && key.setting->type == SETTING_ORDER;
    return is_words || is_order ? read_items(r, list, is_words) : refuse_shape(r, "a list");
}

static int read_mapping(struct reader *r, const struct yaml_node *mapping);

static int read_value(struct reader *r, const struct yaml_node *value) {
    if (value->kind == YAML_SCALAR) {
        add_assignment(r, yaml_type(value) == YAML_NULL ? NULL : value->text);
        return 0;
    }
    if (value->kind == YAML_LIST)
        return read_list(r, value);
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    if (key.match == MATCH_SETTING)
        return refuse_shape(r, "a mapping");
    if (value->count == 0) /* {}: only declares a name */
        add_assignment(r, NULL);
    return read_mapping(r, value);
}

static int push_key(struct reader *r, const struct yaml_node *key) {
    r->line = key->line;
    if (r->path.length + key->length + 1 > KEY_MAX)
        return fail(r, "a key is longer than %d bytes", KEY_MAX);
    if (r->path.length > 0) {
        r->joints.at[r->joints.count++] = r->path.length;
        strbuf_putc(&r->path, '.');
    }
    strbuf_puts(&r->path, key->text);
    return 0;
}

static int read_mapping(struct reader *r, const struct yaml_node *mapping) {
    struct setting_joints joints = r->joints;
    size_t length = r->path.length;
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        int result = push_key(r, key);
        if (result >= 0)
            result = read_value(r, key->value);
        if (result < 0)
            return result;
        r->joints = joints;
        strbuf_cut(&r->path, length);
    }
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

int config_file_parse(struct config_file *ret_file, const char *name, const struct strbuf *text,
                      struct error *err) {
    struct config_file file = { .count = 0 };
    struct reader r = { .file = &file, .name = name, .err = err };
    int result =
        yaml_parse(name, strbuf_text(text), text->length, &config_limits, &file.yaml, r.err);
    const struct yaml_node *root = result >= 0 ? file.yaml.root : NULL;
    if (root && root->kind == YAML_MAPPING) {
        result = read_mapping(&r, root);
    } else if (root) {
        r.line = root->line;
        result = fail(&r, "expected keys and values, got %s", yaml_noun(root).text);
    }
    strbuf_finish(&r.path);
    if (result < 0)
        config_file_finish(&file);
    else
        *ret_file = file;
    return result;
}

void config_file_finish(struct config_file *file) {
    free(file->items);
    arena_finish(&file->arena);
    yaml_finish(&file->yaml);
    *file = (struct config_file){ .count = 0 };
}

static int apply(struct config *config, const char *name, struct assignment *a, struct error *err) {
    char origin[128];
    const char *slash = strrchr(name, '/');
    (void)snprintf(origin, sizeof(origin), "%.100s:%u", slash ? slash + 1 : name, a->line);
    a->origin = origin;
    int result = config_assign(config, a, err);
    a->origin = NULL;
    if (result < 0 && err)
        (void)error_prefix(err, "%.160s:%u", name, a->line);
    return result;
}

/* The preset resets all values, so it is applied first wherever it is. */
int config_file_apply(struct config_file *file, const char *name, struct config *config,
                      struct error *err) {
    config->reading++;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < file->count; i++) {
            bool is_preset = strcmp(file->items[i].key, "preset") == 0;
            int result = is_preset == (pass == 0) ? apply(config, name, &file->items[i], err) : 0;
            if (result < 0)
                return result;
        }
    return 0;
}

int config_read_text(struct config *config, const char *name, const char *text, size_t size,
                     struct error *err) {
    _cleanup_(config_file_finish) struct config_file file = { .count = 0 };
    struct strbuf borrowed = { .text = (char *)(uintptr_t)text, .length = size };
    int result = config_file_parse(&file, name, &borrowed, err);
    if (result >= 0)
        result = config_file_apply(&file, name, config, err);
    if (result >= 0)
        result = config_check_failover(config, err);
    return result < 0 ? result : config_check_escalation(config, err);
}

int config_read_file(struct config *config, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int result = file_read(path, CONFIG_FILE_MAX, &text, err);
    if (result == -EFBIG && err)
        result = err->code = -EINVAL; /* as for a text: invalid input */
    return result < 0 ? result
                      : config_read_text(config, path, strbuf_text(&text), text.length, err);
}
