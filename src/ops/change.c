/* change.c: see change.h.
 *
 * The new text is read as a configuration before anything happens. Then it is put in force, then written:
 * a file that cannot be written puts the old one in force again, which it was a moment ago. */
#include "ops/change.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "config/config_secret.h"
#include "ops/access.h"
#include "os/files.h"

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
    if (!path || !*path)
        return op_fail(call, -ENOTSUP, "the daemon was started without a configuration file");
    int r = access_check_changes(call, items, count);
    if (r < 0)
        return r;
    r = file_read(path, FILE_MAX, &ret->before, &call->err);
    ret->existed = r == 0;
    if (r < 0 && r != -ENOENT)
        return r;
    call->err.code = 0;
    r = config_edit_text(path, &ret->before, items, count, &ret->after, &call->err);
    if (r == 0)
        r = read_text(call, &ret->after, &ret->config);
    return r < 0 ? r : access_check_listen(call, ret->config);
}

static void go_back(struct op_call *call, const struct change *change) {
    struct error why = call->err;
    struct config *old = NULL;
    if (read_text(call, &change->before, &old) == 0
        && engine_set_config(call->engine, old, &call->err) < 0)
        (void)config_free(old);
    call->err = why;
}

int change_apply(struct op_call *call, struct change *change) {
    int r = engine_set_config(call->engine, change->config, &call->err);
    if (r < 0)
        return r;
    change->config = NULL; /* the engine's now */
    r = config_write_file(engine_config_file(call->engine), &change->after,
                          engine_config(call->engine), &call->err);
    if (r < 0)
        go_back(call, change);
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

int change_collect(struct op_call *call, struct config_change **ret_items, size_t *ret_count) {
    const json_t *set = op_json(call, "set"), *unset = op_json(call, "unset");
    size_t count = 0, most = json_object_size(set) + json_array_size(unset);
    if (most == 0)
        return op_fail(call, -EINVAL, "nothing to change: give 'set' or 'unset'");
    struct config_change *items = arena_alloc(op_arena(call), most * sizeof(*items));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)set, key, value) {
        if (!json_is_string(value) && !json_is_number(value) && !json_is_boolean(value))
            return op_fail(call, -EINVAL,
                           "the value of '%s' must be a text, a number, or true or false",
                           op_quote(key).text);
        items[count++] = (struct config_change){ .key = key, .value = change_value(call, value) };
    }
    for (size_t i = 0; i < json_array_size(unset); i++)
        items[count++] =
            (struct config_change){ .key = json_string_value(json_array_get(unset, i)) };
    *ret_items = items;
    *ret_count = count;
    return 0;
}
