/* config_explain.c: everything there is to say about one key. */
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "config/config_show.h"
#include "config/config_show_internal.h"

struct config *show_preset(const char *name) {
    struct config *config = config_new();
    (void)config_set(config, "preset", name, "preset", NULL);
    return config;
}

void show_default(const struct setting *setting, struct strbuf *out) {
    if (setting->inherits)
        strbuf_printf(out, "as %s", setting->inherits);
    else
        strbuf_puts(out, *setting->standard ? setting->standard : "none");
}

static void print_one(const struct config *config, const struct setting *setting, const char *name,
                      struct strbuf *out) {
    config_print(config, setting, config_effective(config, setting, name, NULL), out);
}

void show_preset_value(const struct config *preset, const struct setting *setting, const char *name,
                       struct strbuf *out) {
    size_t before = out->length;
    if (setting->section == SECTION_ROOT || name) {
        print_one(preset, setting, name, out);
    } else {
        for (size_t i = 0; i < config_name_count(preset, setting->section); i++) {
            const char *known = config_name(preset, setting->section, i), *origin;
            (void)config_effective(preset, setting, known, &origin);
            if (strncmp(origin, "preset ", strlen("preset ")) != 0)
                continue;
            strbuf_printf(out, "%s%s ", out->length > before ? ", " : "", known);
            print_one(preset, setting, known, out);
        }
        if (out->length == before)
            show_default(setting, out);
    }
    if (out->length == before)
        strbuf_puts(out, "none");
}

/* A row and, if the key had one, the name in it; `name` lives in `out_name`. */
struct subject {
    const struct setting *setting;
    const char *name;
};

static int find_subject(const char *key, struct strbuf *out_name, struct subject *ret,
                        struct error *err) {
    *ret = (struct subject){ .setting = settings_row(key) };
    if (ret->setting)
        return 0;
    struct setting_key match = settings_match(key, NULL);
    if (match.match == MATCH_SETTING && utf8_is_name(match.name, match.name_length)) {
        strbuf_add(out_name, match.name, match.name_length);
        *ret = (struct subject){ .setting = match.setting, .name = strbuf_text(out_name) };
        return 0;
    }
    _cleanup_(strbuf_finish) struct strbuf nearest = STRBUF_INIT;
    if (settings_suggest(key, &nearest))
        return error_set(err, -EINVAL, "unknown key '%s'; did you mean '%s'?",
                         config_quote(key).text, config_quote(strbuf_text(&nearest)).text);
    return error_set(err, -EINVAL, "unknown key '%s'; 'sluice config keys' lists them",
                     config_quote(key).text);
}

/* A pattern has no value of its own, only those of the names in it. */
static bool has_value(const struct subject *s) {
    return s->setting->section == SECTION_ROOT || s->name;
}

static void explain_lines(const struct config *config, const struct subject *s,
                          struct strbuf *out) {
    config_print_key(s->setting, s->name, out);
    strbuf_printf(out, "\n  %s\n\n  value:    ", s->setting->text);
    setting_expected(s->setting, out);
    strbuf_puts(out, "\n  default:  ");
    show_default(s->setting, out);
    if (has_value(s)) {
        _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
        const char *origin;
        (void)config_effective(config, s->setting, s->name, &origin);
        print_one(config, s->setting, s->name, &value);
        strbuf_printf(out, "\n  now:      %s (%s)", value.length ? strbuf_text(&value) : "none",
                      origin);
    }
    strbuf_puts(out, "\n\n  in the presets:\n");
    for (size_t i = 0; i < presets_count; i++) {
        struct config *preset = show_preset(presets[i].name);
        strbuf_printf(out, "    %-11s  ", presets[i].name);
        show_preset_value(preset, s->setting, s->name, out);
        strbuf_putc(out, '\n');
        config_free(preset);
    }
}

static void write_text(struct json_writer *w, const char *key, struct strbuf *text) {
    json_put_string(w, key, strbuf_text(text));
    strbuf_clear(text);
}

static void explain_json(const struct config *config, const struct subject *s, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, out, true);
    json_write_object_begin(&w);
    config_print_key(s->setting, s->name, &text);
    write_text(&w, "key", &text);
    strbuf_puts(&text, s->setting->text);
    write_text(&w, "text", &text);
    setting_expected(s->setting, &text);
    write_text(&w, "expected", &text);
    show_default(s->setting, &text);
    write_text(&w, "default", &text);
    if (has_value(s)) {
        const char *origin;
        int64_t value = config_effective(config, s->setting, s->name, &origin);
        json_write_key(&w, "value");
        show_json_value(&w, config, s->setting, value);
        json_put_string(&w, "origin", origin);
    }
    json_put_object(&w, "presets");
    for (size_t i = 0; i < presets_count; i++) {
        struct config *preset = show_preset(presets[i].name);
        show_preset_value(preset, s->setting, s->name, &text);
        write_text(&w, presets[i].name, &text);
        config_free(preset);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}

int config_explain(const struct config *config, const char *key, bool json, struct strbuf *out,
                   struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    struct subject subject;
    int r = find_subject(key, &name, &subject, err);
    if (r < 0)
        return r;
    if (json)
        explain_json(config, &subject, out);
    else
        explain_lines(config, &subject, out);
    return 0;
}
