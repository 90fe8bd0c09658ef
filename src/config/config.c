/* config.c: the values of a configuration, and the single function that sets them.
 *
 * Presets, files and command lines all end in config_assign, so a value is checked once and in one
 * way. A refused value changes nothing. Names, texts and word lists are symbols of the config;
 * everything else is a number that only its row can interpret (settings_value.c). A list is
 * interned by its printed form, so each is parsed once. */
#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/config_internal.h"

/* --- sections --------------------------------------------------------------------------------- */

static void section_init(struct section *section, enum setting_section which) {
    *section = (struct section){ 0 };
    symbol_table_init(&section->names);
    section->row_count = settings_of(which, &section->first_row);
}

static void section_finish(struct section *section) {
    symbol_table_finish(&section->names);
    free(section->entries);
}

static size_t section_add(struct section *section) {
    section->entries = xgrow(section->entries, &section->capacity, section->count + 1,
                             section->row_count * sizeof(*section->entries));
    memset(section->entries + section->count * section->row_count, 0,
           section->row_count * sizeof(*section->entries));
    return section->count++;
}

/* The index of the item; added when it is new. */
static size_t section_item(struct section *section, const char *name, size_t length) {
    sym symbol = symbol_intern(&section->names, name, length);
    return symbol > section->count ? section_add(section) : symbol - 1;
}

struct entry *config_entry(const struct config *config, const struct setting *setting,
                           size_t item) {
    const struct section *section = &config->sections[setting->section];
    size_t row = (size_t)(setting - settings) - section->first_row;
    return &section->entries[item * section->row_count + row];
}

size_t config_name_count(const struct config *config, enum setting_section section) {
    return section == SECTION_ROOT ? 0 : config->sections[section].count;
}

const char *config_name(const struct config *config, enum setting_section section, size_t index) {
    return symbol_name(&config->sections[section].names, (sym)index + 1);
}

size_t config_item(const struct config *config, enum setting_section which, const char *name) {
    const struct section *section = &config->sections[which];
    if (which == SECTION_ROOT)
        return 0;
    sym symbol = name ? symbol_find(&section->names, name, strlen(name)) : 0;
    return symbol != 0 ? symbol - 1 : section->count;
}

/* Adds the name, or nothing if there are too many. */
static void add_name(struct config *config, enum setting_section which, const char *name) {
    struct section *section = &config->sections[which];
    if (section->count < CONFIG_NAMES_MAX)
        (void)section_item(section, name, strlen(name));
}

/* --- texts and words -------------------------------------------------------------------------- */

/* Into a scratch arena first: a refused or known list leaves nothing behind. */
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
    sym symbol = symbol_find(&config->lists, strbuf_text(&printed), printed.length);
    if (symbol == 0 && words.count > 0) {
        if (!words_split(strbuf_text(&printed), &config->words_arena, &words))
            assert(!"what is printed can be read");
        symbol = symbol_intern(&config->lists, strbuf_text(&printed), printed.length);
        config->words = xgrow(config->words, &config->words_capacity, (size_t)symbol + 1,
                              sizeof(*config->words));
        config->words[symbol] = words;
    }
    *ret_value = symbol;
    return true;
}

/* Parses a text. False: not a value of this setting; nothing has changed. */
static bool parse_value(struct config *config, const struct setting *setting, const char *text,
                        int64_t *ret_value) {
    int64_t number;
    if (setting->type == SETTING_WORDS)
        return parse_words(config, setting, text, ret_value);
    if (setting_is_symbol(setting)) {
        bool is_valid = setting_takes_text(setting, text);
        *ret_value = is_valid ? symbol_intern(&config->texts, text, strlen(text)) : 0;
        return is_valid;
    }
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

/* --- built-in agents -------------------------------------------------------------------------- */

/* Built-in agents are defaults of their names, not rows of a preset: an unused agent costs nothing
 * and is not shown, and one line about it in a file (its slots, its model) keeps the rest. An agent
 * with its own command shares only the name: its output format is unknown. */

/* The default of a row for a built-in agent, if it differs from the row's; else false. */
static bool builtin_value(const struct config *config, const struct setting *setting,
                          const char *name, int64_t *ret_value) {
    bool differs = setting->section == SECTION_AGENTS
                   && (strcmp(setting->key, "agents.A.adapter") == 0
                       || strcmp(setting->key, "agents.A.limiter") == 0);
    if (!differs || !name || !agent_has_builtin(name)
        || config_is_set(config, "agents.A.command", name))
        return false;
    *ret_value = symbol_find(&config->texts, name, strlen(name));
    return true;
}

/* --- values in effect ------------------------------------------------------------------------- */

/* The entry of a value that is set, or NULL. */
static const struct entry *set_entry(const struct config *config, const struct setting *setting,
                                     const char *name) {
    size_t item = config_item(config, setting->section, name);
    const struct entry *entry = item < config->sections[setting->section].count
                                    ? config_entry(config, setting, item)
                                    : NULL;
    return entry && entry->origin ? entry : NULL;
}

int64_t config_effective(const struct config *config, const struct setting *setting,
                         const char *name, const char **ret_origin) {
    const struct entry *entry = set_entry(config, setting, name);
    const char *origin = "default";
    int64_t value;
    if (entry) {
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

/* The row that a caller names; it must exist, and have a name or not, as given. */
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
    return set_entry(config, row_of(pattern, name), name);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool has_name(const struct config *config, enum setting_section section, const char *name) {
    return config_item(config, section, name) < config->sections[section].count;
}

bool config_has_agent(const struct config *config, const char *name) {
    return has_name(config, SECTION_AGENTS, name) || agent_has_builtin(name);
}

bool config_has_kind(const struct config *config, const char *name) {
    return has_name(config, SECTION_KINDS, name);
}

bool config_has_limiter(const struct config *config, const char *name) {
    return has_name(config, SECTION_LIMITERS, name);
}

bool config_has_project(const struct config *config, const char *name) {
    return has_name(config, SECTION_PROJECTS, name);
}

bool config_has_schedule(const struct config *config, const char *name) {
    return has_name(config, SECTION_SCHEDULES, name);
}

#define SECTION_NAMES(what, section)                                                               \
    size_t config_##what##_count(const struct config *config) {                                    \
        return config_name_count(config, section);                                                 \
    }                                                                                              \
    const char *config_##what##_name(const struct config *config, size_t index) {                  \
        return config_name(config, section, index);                                                \
    }
SECTION_NAMES(agent, SECTION_AGENTS)
SECTION_NAMES(kind, SECTION_KINDS)
SECTION_NAMES(limiter, SECTION_LIMITERS)
SECTION_NAMES(resource, SECTION_RESOURCES)
SECTION_NAMES(project, SECTION_PROJECTS)
SECTION_NAMES(schedule, SECTION_SCHEDULES)
#undef SECTION_NAMES

void config_add_builtin_agent(struct config *config, const char *name) {
    if (!agent_has_builtin(name))
        return;
    add_name(config, SECTION_AGENTS, name);
    const char *limiter = config_text(config, "agents.A.limiter", name);
    if (*limiter)
        add_name(config, SECTION_LIMITERS, limiter);
}

/* --- folders ---------------------------------------------------------------------------------- */

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

/* --- the policy ------------------------------------------------------------------------------- */

static amount times(amount count, amount factor) {
    amount product;
    return __builtin_mul_overflow(count, factor, &product) ? UNLIMITED : product;
}

/* Values that depend on another key: `auto`, and a cap that is never below its delay. */
static void policy_resolve_auto(struct policy *policy) {
    if (policy->queue.soft == SETTING_AUTO) {
        policy->queue.soft = times(policy->runs, 4);
        if (policy->queue.soft < 8)
            policy->queue.soft = 8;
    }
    if (policy->queue.hard == SETTING_AUTO)
        policy->queue.hard = times(policy->queue.soft, 2);
    for (int i = 0; i < RETRY_CLASS_MAX; i++) {
        struct retry_policy *retry = &policy->retry[i];
        retry->cap = time_max(retry->cap, retry->delay);
    }
}

bool config_is_chosen(const struct config *config, const char *key) {
    const struct entry *entry = config_entry(config, settings_row(key), 0);
    const char *origin = symbol_name(&config->texts, entry->origin);
    return strcmp(origin, "default") != 0 && strncmp(origin, "preset ", strlen("preset ")) != 0;
}

bool config_max_wait_has_no_effect(const struct config *config) {
    return config_is_chosen(config, "max_wait_s") && config->policy.max_wait != TIME_NEVER
           && !(config->policy.order & ORDER_BY_OVERDUE);
}

bool config_tick_has_no_effect(const struct config *config) {
    return config_is_chosen(config, "pace.tick_s") && config->policy.pace.tick > 0
           && config->policy.pace.batch == UNLIMITED;
}

static void policy_update(struct config *config) {
    const struct section *root = &config->sections[SECTION_ROOT];
    policy_default(&config->policy); /* for the few fields without a key */
    for (size_t i = 0; i < root->row_count; i++) {
        const struct setting *setting = &settings[root->first_row + i];
        setting_store(setting, root->entries[i].value, &config->policy);
    }
    policy_resolve_auto(&config->policy);
    /* max_wait_s takes effect under every preset, unless the order is also set. */
    if (config_is_chosen(config, "max_wait_s") && !config_is_chosen(config, "order"))
        config->policy.order |= ORDER_BY_OVERDUE;
}

/* --- presets ---------------------------------------------------------------------------------- */

static void put_defaults(struct config *config) {
    for (int i = 0; i < SECTION_MAX; i++) {
        section_finish(&config->sections[i]);
        section_init(&config->sections[i], (enum setting_section)i);
    }
    struct section *root = &config->sections[SECTION_ROOT];
    section_add(root);
    for (size_t i = 0; i < root->row_count; i++) {
        root->entries[i].value = config->standards[root->first_row + i];
        root->entries[i].origin = symbol_intern(&config->texts, "default", strlen("default"));
    }
    policy_update(config);
}

static void put_preset(struct config *config, const struct preset *preset) {
    char origin[64];
    (void)snprintf(origin, sizeof(origin), "preset %s", preset->name);
    config->preset = preset;
    put_defaults(config);
    for (const struct preset_row *row = preset->rows; row->key; row++)
        if (config_set(config, row->key, row->value, origin, NULL) < 0)
            assert(!"a row of a preset is no setting");
}

/* --- life ------------------------------------------------------------------------------------- */

/* An empty default of a name or text means no value. */
static int64_t parse_standard(struct config *config, const struct setting *setting) {
    int64_t value = 0;
    if (setting->inherits || (setting_is_symbol(setting) && *setting->standard == '\0'))
        return 0;
    if (!parse_value(config, setting, setting->standard, &value))
        assert(!"a default is not a value of its own setting");
    return value;
}

struct config *config_new(void) {
    static const char *const no_words[] = { NULL };
    struct config *config = xcalloc(1, sizeof(*config));
    config->preset = &presets[0];
    symbol_table_init(&config->texts);
    symbol_table_init(&config->lists);
    config->words = xgrow(NULL, &config->words_capacity, 1, sizeof(*config->words));
    config->words[0] = (struct words){ .items = no_words };
    config->standards = xcalloc(settings_count, sizeof(*config->standards));
    for (size_t i = 0; i < settings_count; i++)
        config->standards[i] = parse_standard(config, &settings[i]);
    /* A const config must already have the names of the built-in agents, their adapters and
     * accounts. */
    const char *name;
    for (size_t i = 0; (name = agent_builtin(i)); i++)
        (void)symbol_intern(&config->texts, name, strlen(name));
    for (int i = 0; i < SECTION_MAX; i++)
        section_init(&config->sections[i], (enum setting_section)i);
    put_preset(config, &presets[0]);
    return config;
}

struct config *config_free(struct config *config) {
    if (!config)
        return NULL;
    for (int i = 0; i < SECTION_MAX; i++)
        section_finish(&config->sections[i]);
    symbol_table_finish(&config->texts);
    symbol_table_finish(&config->lists);
    arena_finish(&config->words_arena);
    free(config->words);
    free(config->standards);
    free(config);
    return NULL;
}

const char *config_preset(const struct config *config) {
    return config->preset->name;
}

const char *config_preset_text(const struct config *config, enum preset_text text) {
    return config->preset->texts[text] ? config->preset->texts[text] : presets[0].texts[text];
}

bool config_snapshot_lists_all_workspaces(const struct config *config) {
    return config->preset->snapshot_lists_all_workspaces;
}

const struct policy *config_policy(const struct config *config) {
    return &config->policy;
}

/* --- setting ---------------------------------------------------------------------------------- */

int config_unknown_key(const char *key, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf nearest = STRBUF_INIT;
    if (settings_suggest(key, &nearest))
        return error_set(err, -EINVAL, "unknown key '%s'; did you mean '%s'?", utf8_quote(key).text,
                         utf8_quote(strbuf_text(&nearest)).text);
    return error_set(err, -EINVAL, "unknown key '%s'; 'sluice config keys' lists them",
                     utf8_quote(key).text);
}

static int refuse_value(const struct assignment *a, const struct setting *setting,
                        struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    setting_expected(setting, &expected);
    struct utf8_quoted key = utf8_quote(a->key);
    if (!a->value)
        return error_set(err, -EINVAL, "key '%s': expected %s, got nothing", key.text,
                         strbuf_text(&expected));
    struct nearest nearest = nearest_to(a->value);
    for (const char *const *c = setting->choices; c && *c; c++)
        nearest_offer(&nearest, *c);
    return error_set(err, -EINVAL, "key '%s': expected %s, got '%s'%s%s%s", key.text,
                     strbuf_text(&expected), utf8_quote(a->value).text,
                     nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                     nearest.best ? "'?" : "");
}

/* The item that a key names, added if it is new. */
static int find_item(struct config *config, const struct assignment *a,
                     const struct setting_key *key, size_t *ret_item, struct error *err) {
    if (key->section == SECTION_ROOT) {
        *ret_item = 0;
        return 0;
    }
    struct section *section = &config->sections[key->section];
    if (!utf8_is_name(key->name, key->name_length))
        return error_set(err, -EINVAL,
                         "key '%s': expected a name of 1 to %d bytes without control characters",
                         utf8_quote(a->key).text, NAME_BYTES_MAX);
    if (section->count >= CONFIG_NAMES_MAX
        && symbol_find(&section->names, key->name, key->name_length) == 0)
        return error_set(err, -EINVAL, "key '%s': more than %u names", utf8_quote(a->key).text,
                         CONFIG_NAMES_MAX);
    *ret_item = section_item(section, key->name, key->name_length);
    return 0;
}

/* Only after all checks: refused names leave no trace. */
static int store_value(struct config *config, const struct assignment *a,
                       const struct setting_key *key, int64_t value, struct error *err) {
    size_t item = 0;
    int r = find_item(config, a, key, &item, err);
    if (r < 0)
        return r;
    struct entry *entry = config_entry(config, key->setting, item);
    if (a->line && entry->reading == config->reading)
        return error_set(err, -EINVAL, "key '%s' is set twice, first in line %u",
                         utf8_quote(a->key).text, (unsigned)entry->line);
    if (strcmp(key->setting->key, "preset") == 0)
        put_preset(config, &presets[value]);
    entry = config_entry(config, key->setting, item); /* a preset replaces all */
    entry->value = value;
    entry->origin = symbol_intern(&config->texts, a->origin, strlen(a->origin));
    entry->line = a->line;
    entry->reading = a->line ? config->reading : 0;
    if (key->section == SECTION_ROOT)
        policy_update(config);
    /* An account that an agent names needs no section: it exists with all defaults. */
    if (strcmp(key->setting->key, "agents.A.limiter") == 0)
        add_name(config, SECTION_LIMITERS, a->value);
    return 0;
}

int config_assign(struct config *config, const struct assignment *a, struct error *err) {
    struct setting_key key = settings_match(a->key, a->joints);
    size_t item = 0;
    if (!a->value && key.match == MATCH_ABOVE)
        return 0;
    if (!a->value && key.match == MATCH_NAME)
        return find_item(config, a, &key, &item, err);
    if (key.match == MATCH_ABOVE || key.match == MATCH_NAME)
        return error_set(err, -EINVAL, "key '%s': expected keys below it, got '%s'",
                         utf8_quote(a->key).text, utf8_quote(a->value).text);
    if (key.match != MATCH_SETTING)
        return config_unknown_key(a->key, err);
    int64_t value = 0;
    if (!a->value || !parse_value(config, key.setting, a->value, &value))
        return refuse_value(a, key.setting, err);
    return store_value(config, a, &key, value, err);
}

int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct error *err) {
    assert(config && key && value);
    struct assignment a = { .key = key,
                            .value = value,
                            .origin = origin && *origin ? origin : "set" };
    return config_assign(config, &a, err);
}
