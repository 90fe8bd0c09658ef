/* config_show.c: every value in force, with its origin.
 *
 * Named things show all their rows, also those nobody wrote: what counts is what holds. */
#include "config/config_show.h"

#include <string.h>

#include "base/json_write.h"
#include "base/number.h"
#include "config/config_internal.h"
#include "config/config_show_internal.h"

/* Spans and decimals as JSON numbers with no more places than the text has. */
static void write_number(struct json_writer *w, const char *text) {
    const char *dot = strchr(text, '.');
    int64_t milli;
    if (number_parse_milli(text, &milli, NULL) < 0)
        json_write_string(w, text); /* unlimited, never, auto */
    else if (dot)
        json_write_double(w, (double)milli / 1000, (int)strlen(dot + 1));
    else
        json_write_int(w, milli / 1000);
}

static void write_list(struct json_writer *w, char *text) {
    json_write_array_begin(w);
    for (char *rest = NULL, *part = strtok_r(text, ", ", &rest); part;
         part = strtok_r(NULL, ", ", &rest))
        json_write_string(w, part);
    json_write_array_end(w);
}

static void write_words(struct json_writer *w, const struct words *words) {
    json_write_array_begin(w);
    for (size_t i = 0; i < words->count; i++)
        json_write_string(w, words->items[i]);
    json_write_array_end(w);
}

void show_json_value(struct json_writer *w, const struct config *config,
                     const struct setting *setting, int64_t value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    config_print(config, setting, value, &text);
    switch (setting->type) {
    case SETTING_CAP:
    case SETTING_WHOLE:
    case SETTING_SPAN:
    case SETTING_SIZE:
    case SETTING_DECIMAL:
    case SETTING_MONEY:
        write_number(w, strbuf_text(&text));
        break;
    case SETTING_BOOLEAN:
        json_write_bool(w, value != 0);
        break;
    case SETTING_ORDER:
        write_list(w, text.text);
        break;
    case SETTING_WORDS:
        write_words(w, config_value_words(config, value));
        break;
    case SETTING_NAME: /* none is not the name "" */
    case SETTING_TEXT:
        json_write_string(w, text.length ? strbuf_text(&text) : NULL);
        break;
    case SETTING_CHOICE:
    case SETTING_TYPE_MAX:
        json_write_string(w, strbuf_text(&text));
    }
}

/* --- show ------------------------------------------------------------------------------------ */

struct show {
    const struct config *config;
    struct json_writer *writer; /* NULL: as lines */
    struct strbuf *out;
    size_t key_width, value_width;
};

/* Called for every value in force. */
typedef void (*visit)(struct show *show, const struct setting *setting, const char *name);

static void each_value(struct show *show, visit visit_value) {
    for (size_t i = 0; i < settings_count; i++)
        if (settings[i].section == SECTION_ROOT)
            visit_value(show, &settings[i], NULL);
    for (int section = SECTION_ROOT + 1; section < SECTION_MAX; section++) {
        size_t first, rows = settings_of((enum setting_section)section, &first);
        size_t names = config_name_count(show->config, (enum setting_section)section);
        for (size_t n = 0; n < names; n++)
            for (size_t i = 0; i < rows; i++)
                visit_value(show, &settings[first + i],
                            config_name(show->config, (enum setting_section)section, n));
    }
}

/* `auto` says little; what became of it stands in the policy. */
static bool is_auto(const struct setting *setting, int64_t value) {
    return setting->flags & SETTING_OR_AUTO && value == SETTING_AUTO;
}

static void print_value(const struct show *show, const struct setting *setting, const char *name,
                        struct strbuf *out) {
    int64_t value = config_effective(show->config, setting, name, NULL);
    config_print(show->config, setting, value, out);
    if (is_auto(setting, value)) {
        strbuf_puts(out, " = ");
        setting_print(setting, setting_load(setting, config_policy(show->config)), out);
    }
    if (out->length == 0)
        strbuf_puts(out, "-");
}

static void measure(struct show *show, const struct setting *setting, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
    config_print_key(setting, name, &key);
    print_value(show, setting, name, &value);
    if (key.length > show->key_width)
        show->key_width = key.length;
    /* these are longer than everything else; their own lines may stick out */
    bool is_long = setting->type == SETTING_ORDER || setting->type == SETTING_TEXT
                   || setting->type == SETTING_WORDS;
    if (value.length > show->value_width && !is_long)
        show->value_width = value.length;
}

static void show_line(struct show *show, const struct setting *setting, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
    const char *origin;
    (void)config_effective(show->config, setting, name, &origin);
    config_print_key(setting, name, &key);
    print_value(show, setting, name, &value);
    strbuf_printf(show->out, "%-*s  %-*s  %s\n", (int)show->key_width, strbuf_text(&key),
                  (int)show->value_width, strbuf_text(&value), origin);
}

static void show_json(struct show *show, const struct setting *setting, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    const char *origin;
    int64_t value = config_effective(show->config, setting, name, &origin);
    config_print_key(setting, name, &key);
    json_write_object_begin(show->writer);
    json_put_string(show->writer, "key", strbuf_text(&key));
    json_write_key(show->writer, "value");
    show_json_value(show->writer, show->config, setting, value);
    if (is_auto(setting, value)) {
        json_write_key(show->writer, "resolved");
        show_json_value(show->writer, show->config, setting,
                        setting_load(setting, config_policy(show->config)));
    }
    json_put_string(show->writer, "origin", origin);
    json_write_object_end(show->writer);
}

void config_show(const struct config *config, bool json, struct strbuf *out) {
    struct show show = { .config = config, .out = out };
    if (!json) {
        each_value(&show, measure);
        each_value(&show, show_line);
        return;
    }
    struct json_writer w;
    show.writer = &w;
    json_write_init(&w, out, true);
    json_write_object_begin(&w);
    json_put_string(&w, "preset", config_preset(config));
    json_put_array(&w, "settings");
    each_value(&show, show_json);
    json_write_array_end(&w);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}

/* --- keys ------------------------------------------------------------------------------------ */

static void write_keys(struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, true);
    json_write_array_begin(&w);
    for (size_t i = 0; i < settings_count; i++) {
        json_write_object_begin(&w);
        json_put_string(&w, "key", settings[i].key);
        json_put_string(&w, "text", settings[i].text);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    strbuf_putc(out, '\n');
}

void config_keys(bool json, struct strbuf *out) {
    if (json) {
        write_keys(out);
        return;
    }
    size_t width = 0;
    for (size_t i = 0; i < settings_count; i++)
        if (strlen(settings[i].key) > width)
            width = strlen(settings[i].key);
    for (size_t i = 0; i < settings_count; i++)
        strbuf_printf(out, "%-*s  %s\n", (int)width, settings[i].key, settings[i].text);
}
