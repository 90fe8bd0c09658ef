/* config_value.c: from text to what is kept, and what holds for a key.
 *
 * Names, texts and lists of words are symbols of the config, everything else a number that the row
 * alone can read (settings_value.c). A list is interned by its printed form, so that each is taken
 * apart once, however often it is set and looked up. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/number.h"
#include "config/config_internal.h"

/* --- texts and words ------------------------------------------------------------------------- */

static sym intern_words(struct config *config, const struct words *words, const char *printed) {
    size_t known = config->lists.count;
    sym symbol = symbol_intern(&config->lists, printed, strlen(printed));
    if (symbol <= known)
        return symbol;
    config->words =
        xgrow(config->words, &config->words_capacity, (size_t)symbol + 1, sizeof(*config->words));
    config->words[symbol] = *words;
    return symbol;
}

/* Into a scratch arena first: what is refused or known already leaves nothing behind. */
static bool parse_words(struct config *config, const struct setting *setting, const char *text,
                        int64_t *ret_value) {
    _cleanup_(arena_finish) struct arena scratch = ARENA_INIT;
    _cleanup_(strbuf_finish) struct strbuf printed = STRBUF_INIT;
    struct words words;
    if (!words_split(text, &scratch, &words))
        return false;
    for (size_t i = 0; i < words.count; i++)
        if (!setting_takes_word(setting, words.items[i]))
            return false;
    words_print(&words, &printed);
    if (printed.length > WORDS_BYTES_MAX)
        return false;
    *ret_value = symbol_find(&config->lists, strbuf_text(&printed), printed.length);
    if (*ret_value == 0 && words.count > 0) {
        if (!words_split(strbuf_text(&printed), &config->words_arena, &words))
            assert(!"what is printed can be read");
        *ret_value = intern_words(config, &words, strbuf_text(&printed));
    }
    return true;
}

static bool parse_symbol(struct config *config, const struct setting *setting, const char *text,
                         int64_t *ret_value) {
    if (setting->type == SETTING_WORDS)
        return parse_words(config, setting, text, ret_value);
    if (!setting_takes_text(setting, text))
        return false;
    *ret_value = symbol_intern(&config->texts, text, strlen(text));
    return true;
}

bool config_parse(struct config *config, const struct setting *setting, const char *text,
                  int64_t *ret_value) {
    int64_t number;
    if (setting_is_symbol(setting))
        return parse_symbol(config, setting, text, ret_value);
    if (setting->type == SETTING_CAP && number_parse_int(text, &number, NULL) == 0
        && preset_means_unlimited(config->preset, setting->key, number)) {
        *ret_value = UNLIMITED;
        return true;
    }
    return setting_parse(setting, text, ret_value);
}

const struct words *config_value_words(const struct config *config, int64_t value) {
    return &config->words[value];
}

void config_print(const struct config *config, const struct setting *setting, int64_t value,
                  struct strbuf *out) {
    if (setting->type == SETTING_WORDS)
        strbuf_puts(out, symbol_name(&config->lists, (sym)value));
    else if (setting_is_symbol(setting))
        strbuf_puts(out, symbol_name(&config->texts, (sym)value));
    else
        setting_print(setting, value, out);
}

/* --- life ------------------------------------------------------------------------------------ */

/* An empty default of a name or text is no value, but nothing. */
static int64_t parse_standard(struct config *config, const struct setting *setting) {
    int64_t value = 0;
    if (setting->inherits || (setting_is_symbol(setting) && *setting->standard == '\0'))
        return 0;
    if (!config_parse(config, setting, setting->standard, &value))
        assert(!"a default is no value of its own setting");
    return value;
}

void config_values_init(struct config *config) {
    static const char *const no_words[] = { NULL };
    config->preset = &presets[0];
    symbol_table_init(&config->texts);
    symbol_table_init(&config->lists);
    config->words = xgrow(NULL, &config->words_capacity, 1, sizeof(*config->words));
    config->words[0] = (struct words){ .items = no_words };
    config->standards = xcalloc(settings_count, sizeof(*config->standards));
    for (size_t i = 0; i < settings_count; i++)
        config->standards[i] = parse_standard(config, &settings[i]);
    builtin_init(config);
}

void config_values_finish(struct config *config) {
    symbol_table_finish(&config->texts);
    symbol_table_finish(&config->lists);
    arena_finish(&config->words_arena);
    free(config->words);
    free(config->standards);
}

/* --- what holds ------------------------------------------------------------------------------ */

int64_t config_effective(const struct config *config, const struct setting *setting,
                         const char *name, const char **ret_origin) {
    size_t item = config_item(config, setting->section, name);
    const char *origin = "default";
    int64_t value;
    if (item < config->sections[setting->section].count
        && config_entry(config, setting, item)->origin != 0) {
        const struct entry *entry = config_entry(config, setting, item);
        origin = symbol_name(&config->texts, entry->origin);
        value = entry->value;
    } else if (setting->inherits) {
        value = config_effective(config, settings_row(setting->inherits), NULL, NULL);
        origin = setting->inherits;
    } else if (!builtin_value(config, setting, name, &value)) {
        value = config->standards[setting - settings];
    }
    if (ret_origin)
        *ret_origin = origin;
    return value;
}

/* The row that a caller in this program asks for: it must be there, and need a name or not. */
static const struct setting *row_of(const char *pattern, const char *name) {
    const struct setting *setting = settings_row(pattern);
    assert(setting);
    assert(name == NULL || setting->section != SECTION_ROOT);
    (void)name;
    return setting;
}

int64_t config_number(const struct config *config, const char *pattern, const char *name) {
    const struct setting *setting = row_of(pattern, name);
    assert(!setting_is_symbol(setting));
    return config_effective(config, setting, name, NULL);
}

const char *config_text(const struct config *config, const char *pattern, const char *name) {
    const struct setting *setting = row_of(pattern, name);
    int64_t value = config_effective(config, setting, name, NULL);
    if (setting->type == SETTING_CHOICE)
        return setting->choices[value];
    assert(setting_is_symbol(setting) && setting->type != SETTING_WORDS);
    return symbol_name(&config->texts, (sym)value);
}

size_t config_words(const struct config *config, const char *pattern, const char *name,
                    const char *const **ret_words) {
    const struct setting *setting = row_of(pattern, name);
    assert(setting->type == SETTING_WORDS);
    const struct words *words =
        config_value_words(config, config_effective(config, setting, name, NULL));
    *ret_words = words->items;
    return words->count;
}

bool config_is_set(const struct config *config, const char *pattern, const char *name) {
    const struct setting *setting = row_of(pattern, name);
    size_t item = config_item(config, setting->section, name);
    return item < config->sections[setting->section].count
           && config_entry(config, setting, item)->origin != 0;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool has(const struct config *config, enum setting_section section, const char *name) {
    return config_item(config, section, name) < config->sections[section].count;
}

bool config_has_agent(const struct config *config, const char *name) {
    return has(config, SECTION_AGENTS, name) || agent_is_builtin(name);
}

bool config_has_kind(const struct config *config, const char *name) {
    return has(config, SECTION_KINDS, name);
}

bool config_has_limiter(const struct config *config, const char *name) {
    return has(config, SECTION_LIMITERS, name);
}

bool config_has_project(const struct config *config, const char *name) {
    return has(config, SECTION_PROJECTS, name);
}

size_t config_agent_count(const struct config *config) {
    return config_name_count(config, SECTION_AGENTS);
}

const char *config_agent_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_AGENTS, index);
}

size_t config_kind_count(const struct config *config) {
    return config_name_count(config, SECTION_KINDS);
}

const char *config_kind_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_KINDS, index);
}

size_t config_limiter_count(const struct config *config) {
    return config_name_count(config, SECTION_LIMITERS);
}

const char *config_limiter_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_LIMITERS, index);
}

size_t config_resource_count(const struct config *config) {
    return config_name_count(config, SECTION_RESOURCES);
}

const char *config_resource_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_RESOURCES, index);
}

size_t config_project_count(const struct config *config) {
    return config_name_count(config, SECTION_PROJECTS);
}

const char *config_project_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_PROJECTS, index);
}

/* --- folders --------------------------------------------------------------------------------- */

char *config_data_folder(const struct config *config, const char *home) {
    const char *given = config_text(config, "data.folder", NULL);
    struct strbuf path = STRBUF_INIT;
    if (*given != '/')
        strbuf_puts(&path, home);
    if (*given && *given != '/')
        strbuf_putc(&path, '/');
    strbuf_puts(&path, given);
    while (path.length > 1 && path.text[path.length - 1] == '/')
        path.text[--path.length] = '\0';
    return strbuf_take(&path);
}
