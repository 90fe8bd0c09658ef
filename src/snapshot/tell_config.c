/* tell_config.c: sets the configuration a snapshot asks for.
 *
 * Setting a preset puts all its values in place, so the one that counts in the end is set first: that
 * of the overrides, else that of the file. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "snapshot/tell.h"

static int set_record(struct config *config, const char *name, const struct config_record *record,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf origin = STRBUF_INIT;
    strbuf_printf(&origin, "%s:%llu", name, (unsigned long long)record->place.line);
    int r = config_set(config, record->key, record->value, strbuf_text(&origin), err);
    if (r < 0)
        return error_prefix(err, "%s:%llu:%llu", name, (unsigned long long)record->place.line,
                            (unsigned long long)record->place.column);
    return 0;
}

/* KEY=VALUE. */
static int set_override(struct config *config, const char *text, struct error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return error_set(err, -EINVAL, "'%s' is not KEY=VALUE", text);
    _cleanup_(freep) char *key = xstrndup(text, (size_t)(equals - text));
    return config_set(config, key, equals + 1, "--set", err);
}

static bool is_preset(const char *override) {
    return strncmp(override, "preset=", 7) == 0;
}

static int set_preset(struct snapshot *s, const char *name, const struct snapshot_options *options,
                      struct error *err) {
    for (size_t i = options ? options->override_count : 0; i > 0; i--)
        if (is_preset(options->overrides[i - 1]))
            return set_override(s->config, options->overrides[i - 1], err);
    for (size_t i = 0; i < s->draft.config.count; i++)
        if (strcmp(s->draft.config.items[i].key, "preset") == 0)
            return set_record(s->config, name, &s->draft.config.items[i], err);
    return 0;
}

int tell_config(struct snapshot *s, const char *name, const struct snapshot_options *options,
                struct error *err) {
    int r = set_preset(s, name, options, err);
    for (size_t i = 0; r == 0 && i < s->draft.config.count; i++)
        if (strcmp(s->draft.config.items[i].key, "preset") != 0)
            r = set_record(s->config, name, &s->draft.config.items[i], err);
    for (size_t i = 0; r == 0 && options && i < options->override_count; i++)
        if (!is_preset(options->overrides[i]))
            r = set_override(s->config, options->overrides[i], err);
    return r;
}
