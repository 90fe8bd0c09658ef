/* config_show.c: the configuration as text, JSON and documentation.
 *
 * `config show` prints all rows of a named item, including those not set: effective values count.
 * docs/reference/settings.md groups rows by the first part of their key, in table order; rows
 * without a dot come first. */
#include "config/config_show.h"

#include <assert.h>
#include <string.h>

#include "base/json_write.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/config_internal.h"

/* --- one value as JSON ------------------------------------------------------------------------ */

/* Durations and decimals as JSON numbers with the decimals of the text. */
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

/* Numbers as numbers, `unlimited` etc. as strings, lists as arrays. */
static void write_value(struct json_writer *w, const struct config *config,
                        const struct setting *setting, int64_t value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    config_print(config, setting, value, &text);
    if (setting_is_number(setting)) {
        write_number(w, strbuf_text(&text));
    } else if (setting->type == SETTING_BOOLEAN) {
        json_write_bool(w, value != 0);
    } else if (setting->type == SETTING_ORDER) {
        write_list(w, text.text);
    } else if (setting->type == SETTING_WORDS) {
        words_write(config_value_words(config, value), w);
    } else { /* no name is null, not "" */
        json_write_string(w, text.length ? strbuf_text(&text) : NULL);
    }
}

/* --- show ------------------------------------------------------------------------------------- */

struct show {
    const struct config *config;
    struct json_writer *writer; /* NULL: print lines */
    struct strbuf *out;
    size_t key_width, value_width;
};

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

/* The policy has the resolved number of `auto`. */
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
    setting_print_key(setting, name, &key);
    print_value(show, setting, name, &value);
    if (key.length > show->key_width)
        show->key_width = key.length;
    /* Long values may exceed the column. */
    bool is_long = setting->type == SETTING_ORDER || setting->type == SETTING_TEXT
                   || setting->type == SETTING_WORDS;
    if (value.length > show->value_width && !is_long)
        show->value_width = value.length;
}

static void show_line(struct show *show, const struct setting *setting, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
    const char *origin;
    (void)config_effective(show->config, setting, name, &origin);
    setting_print_key(setting, name, &key);
    print_value(show, setting, name, &value);
    strbuf_printf(show->out, "%-*s  %-*s  %s\n", (int)show->key_width, strbuf_text(&key),
                  (int)show->value_width, strbuf_text(&value), origin);
}

static void show_json(struct show *show, const struct setting *setting, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    const char *origin;
    int64_t value = config_effective(show->config, setting, name, &origin);
    setting_print_key(setting, name, &key);
    json_write_object_begin(show->writer);
    json_put_string(show->writer, "key", strbuf_text(&key));
    json_write_key(show->writer, "value");
    write_value(show->writer, show->config, setting, value);
    if (is_auto(setting, value)) {
        json_write_key(show->writer, "resolved");
        write_value(show->writer, show->config, setting,
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

/* --- keys ------------------------------------------------------------------------------------- */

void config_keys(bool json, struct strbuf *out) {
    struct json_writer w;
    size_t width = 0;
    for (size_t i = 0; i < settings_count; i++)
        if (strlen(settings[i].key) > width)
            width = strlen(settings[i].key);
    json_write_init(&w, out, true);
    if (json)
        json_write_array_begin(&w);
    for (size_t i = 0; i < settings_count; i++) {
        if (!json) {
            strbuf_printf(out, "%-*s  %s\n", (int)width, settings[i].key, settings[i].text);
            continue;
        }
        json_write_object_begin(&w);
        json_put_string(&w, "key", settings[i].key);
        json_put_string(&w, "text", settings[i].text);
        json_write_object_end(&w);
    }
    if (json) {
        json_write_array_end(&w);
        strbuf_putc(out, '\n');
    }
}

/* --- explain ---------------------------------------------------------------------------------- */

static struct config *preset_config(const char *name) {
    struct config *config = config_new();
    (void)config_set(config, "preset", name, "preset", NULL);
    return config;
}

static void print_default(const struct setting *setting, struct strbuf *out) {
    if (setting->inherits)
        strbuf_printf(out, "as %s", setting->inherits);
    else
        strbuf_puts(out, *setting->standard ? setting->standard : "none");
}

static void print_one(const struct config *config, const struct setting *setting, const char *name,
                      struct strbuf *out) {
    config_print(config, setting, config_effective(config, setting, name, NULL), out);
}

/* The preset's value for a row. For a row with a name: the value of that name; with NULL those of
 * each name that the preset sets ("plan 40, spec 60"), or the default. */
static void print_preset_value(const struct config *preset, const struct setting *setting,
                               const char *name, struct strbuf *out) {
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
            print_default(setting, out);
    }
    if (out->length == before)
        strbuf_puts(out, "none");
}

/* A row and the name in the key, if any; `name` points into `out_name`. */
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
    return config_unknown_key(key, err);
}

/* A pattern itself has no value. */
static bool has_value(const struct subject *s) {
    return s->setting->section == SECTION_ROOT || s->name;
}

static void explain_lines(const struct config *config, const struct subject *s,
                          struct strbuf *out) {
    setting_print_key(s->setting, s->name, out);
    strbuf_printf(out, "\n  %s\n\n  value:    ", s->setting->text);
    setting_expected(s->setting, out);
    strbuf_puts(out, "\n  default:  ");
    print_default(s->setting, out);
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
        struct config *preset = preset_config(presets[i].name);
        strbuf_printf(out, "    %-11s  ", presets[i].name);
        print_preset_value(preset, s->setting, s->name, out);
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
    setting_print_key(s->setting, s->name, &text);
    write_text(&w, "key", &text);
    strbuf_puts(&text, s->setting->text);
    write_text(&w, "text", &text);
    setting_expected(s->setting, &text);
    write_text(&w, "expected", &text);
    print_default(s->setting, &text);
    write_text(&w, "default", &text);
    if (has_value(s)) {
        const char *origin;
        int64_t value = config_effective(config, s->setting, s->name, &origin);
        json_write_key(&w, "value");
        write_value(&w, config, s->setting, value);
        json_put_string(&w, "origin", origin);
    }
    json_put_object(&w, "presets");
    for (size_t i = 0; i < presets_count; i++) {
        struct config *preset = preset_config(presets[i].name);
        print_preset_value(preset, s->setting, s->name, &text);
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

/* --- docs/reference/settings.md --------------------------------------------------------------- */

static const char *const intro =
    "# Configuration\n"
    "\n"
    "<!-- Printed by `sluice config reference` from the settings table. Do not edit. -->\n"
    "\n"
    "A configuration is one YAML file: `$SLUICE_HOME/sluice.yaml`, or\n"
    "`~/.config/sluice/sluice.yaml`. Everything has a default; an empty file is a good one.\n"
    "\n"
    "```yaml\n"
    "preset: sluice\n"
    "limits:\n"
    "  runs: 4\n"
    "  resource:\n"
    "    gpu: 1\n"
    "kinds:\n"
    "  plan: {base: 40, max_running: 2}\n"
    "agents:\n"
    "  claude: {slots: 3}\n"
    "  mine:\n"
    "    command: [./agent.sh, --, \"{prompt}\"]\n"
    "    prompt: argument\n"
    "projects:\n"
    "  web: {weight: 3}\n"
    "  api:\n"
    "```\n"
    "\n"
    "- Keys are written here as dotted paths. In the file a dot is a level; `limits.runs: 4` on\n"
    "  one line means the same.\n"
    "- A part in capitals stands for a name: `kinds.K.base` is the base of the kind called K. A\n"
    "  name without any key (`api:` above) is known with all its defaults.\n"
    "- `limiter.*` holds for every provider account, `limiters.L.*` for the account L alone.\n"
    "- Caps are whole numbers or `unlimited`; 0 means nothing at all. Spans are in the unit that\n"
    "  ends their key (`_s` seconds, `_h` hours, `days`), with up to three decimals, or with a "
    "unit: `90s`, `30m`, `2h`, `1d`; sizes in\n"
    "  `_mb` count 1048576 bytes, and may have a unit, too: `512MB`, `1.5GB`. Money is in dollars: "
    "`2.50`, `$2.50`.\n"
    "- Words are a list, or one text that is parted as a shell does it: blanks, quotes and\n"
    "  backslashes. Nothing is expanded: no variables, no patterns, no pipes. On a command line a\n"
    "  JSON array is good, too.\n"
    "- `preset` takes effect first, wherever it stands in the file.\n"
    "- A key that does not exist, is given twice, or has a value out of its range is an error\n"
    "  with the line; aliases and tags of YAML are not supported.\n"
    "- Numbers that mean \"no limit\": under `conductor` every number from 0 down for\n"
    "  `limits.runs` and `limits.roots`, under `gastown` 0 and -1 for `limits.runs`; nowhere\n"
    "  else.\n"
    "\n"
    "`sluice config show` prints every value in force with its origin, `sluice config explain\n"
    "KEY` everything about one. `sluice config set` changes one value in the file and leaves "
    "every\n"
    "other byte of it as it is, comments included.\n";

static size_t group_length(const char *key) {
    const char *dot = strchr(key, '.');
    return dot ? (size_t)(dot - key) : 0;
}

static bool same_group(const struct setting *a, const struct setting *b) {
    size_t length = group_length(a->key);
    return length == group_length(b->key) && strncmp(a->key, b->key, length) == 0;
}

static bool opens_group(size_t row) {
    for (size_t i = 0; i < row; i++)
        if (same_group(&settings[i], &settings[row]))
            return false;
    return true;
}

static void print_group(size_t first, struct strbuf *out) {
    size_t length = group_length(settings[first].key);
    strbuf_puts(out, "\n### ");
    if (length)
        strbuf_add(out, settings[first].key, length);
    else
        strbuf_puts(out, "At the top");
    strbuf_puts(out, "\n\n| key | value | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = first; i < settings_count; i++) {
        if (!same_group(&settings[first], &settings[i]))
            continue;
        strbuf_printf(out, "| `%s` | ", settings[i].key);
        setting_expected(&settings[i], out);
        strbuf_puts(out, " | ");
        print_default(&settings[i], out);
        strbuf_printf(out, " | %s |\n", settings[i].text);
    }
}

/* One row for each key that differs between presets. */
static void print_differences(struct strbuf *out) {
    struct config *configs[6] = { NULL };
    assert(presets_count == ARRAY_SIZE(configs));
    strbuf_puts(out, "\nWhere they differ:\n\n| key |");
    for (size_t i = 0; i < presets_count; i++) {
        configs[i] = preset_config(presets[i].name);
        strbuf_printf(out, " `%s` |", presets[i].name);
    }
    strbuf_puts(out, "\n|---|---|---|---|---|---|---|\n");
    for (size_t row = 1; row < settings_count; row++) { /* 0 is the preset itself */
        struct strbuf line = STRBUF_INIT, first = STRBUF_INIT, value = STRBUF_INIT;
        bool differs = false;
        print_preset_value(configs[0], &settings[row], NULL, &first);
        for (size_t i = 0; i < presets_count; i++) {
            strbuf_clear(&value);
            print_preset_value(configs[i], &settings[row], NULL, &value);
            strbuf_printf(&line, " %s |", strbuf_text(&value));
            differs = differs || strcmp(strbuf_text(&first), strbuf_text(&value)) != 0;
        }
        if (differs)
            strbuf_printf(out, "| `%s` |%s\n", settings[row].key, strbuf_text(&line));
        strbuf_finish(&line);
        strbuf_finish(&first);
        strbuf_finish(&value);
    }
    for (size_t i = 0; i < presets_count; i++)
        config_free(configs[i]);
}

void config_reference(struct strbuf *out) {
    strbuf_puts(out, intro);
    strbuf_puts(out, "\n## Presets\n\n| preset | what it is |\n|---|---|\n");
    for (size_t i = 0; i < presets_count; i++)
        strbuf_printf(out, "| `%s` | %s |\n", presets[i].name, presets[i].text);
    print_differences(out);
    strbuf_puts(out, "\n## Keys\n");
    for (size_t i = 0; i < settings_count; i++)
        if (opens_group(i))
            print_group(i, out);
}
