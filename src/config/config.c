/* config.c: the life of a config, and the one door through which values come in.
 *
 * Presets, files and command lines all end in config_assign, so a value is checked once and in one
 * way. A refused value changes nothing. */
#include "config/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "config/config_internal.h"

/* --- sections -------------------------------------------------------------------------------- */

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

/* The item's place; made when it is new. */
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

void config_print_key(const struct setting *setting, const char *name, struct strbuf *out) {
    for (const char *c = setting->key; *c; c++)
        if (isupper((unsigned char)*c) && name)
            strbuf_puts(out, name);
        else
            strbuf_putc(out, *c);
}

/* --- the policy ------------------------------------------------------------------------------ */

static amount times(amount count, amount factor) {
    amount product;
    return __builtin_mul_overflow(count, factor, &product) ? UNLIMITED : product;
}

/* What one key says depends on another: `auto`, and a cap that is never below its delay. */
static void policy_settle(struct policy *policy) {
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

/* Who says how long a task may wait means it, whatever preset he has. Who says the order too, means that. */
static void policy_settle_order(struct config *config) {
    if (config_is_chosen(config, "max_wait_s") && !config_is_chosen(config, "order"))
        config->policy.order |= ORDER_BY_OVERDUE;
}

bool config_wait_is_idle(const struct config *config) {
    return config_is_chosen(config, "max_wait_s") && config->policy.max_wait != TIME_NEVER
           && !(config->policy.order & ORDER_BY_OVERDUE);
}

bool config_tick_is_idle(const struct config *config) {
    return config_is_chosen(config, "pace.tick_s") && config->policy.pace.tick > 0
           && config->policy.pace.batch == UNLIMITED;
}

static void policy_follow(struct config *config) {
    const struct section *root = &config->sections[SECTION_ROOT];
    policy_default(&config->policy); /* for the few fields without a key */
    for (size_t i = 0; i < root->row_count; i++) {
        const struct setting *setting = &settings[root->first_row + i];
        setting_store(setting, root->entries[i].value, &config->policy);
    }
    policy_settle(&config->policy);
    policy_settle_order(config);
}

/* --- presets --------------------------------------------------------------------------------- */

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
    policy_follow(config);
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

/* --- life ------------------------------------------------------------------------------------ */

struct config *config_new(void) {
    struct config *config = xcalloc(1, sizeof(*config));
    config_values_init(config);
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
    config_values_finish(config);
    free(config);
    return NULL;
}

const char *config_preset(const struct config *config) {
    return config->preset->name;
}

const struct policy *config_policy(const struct config *config) {
    return &config->policy;
}

/* --- setting --------------------------------------------------------------------------------- */

struct quoted config_quote(const char *text) {
    struct quoted ret;
    size_t length = strlen(text), i;
    for (i = 0; i < length && i < 60; i++)
        ret.text[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    if (i < length) { /* cut: not inside a character */
        while (i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80)
            i--;
        memcpy(ret.text + i, "...", 3);
        i += 3;
    }
    ret.text[i] = '\0';
    return ret;
}

static int refuse_value(const struct assignment *a, const struct setting *setting,
                        struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    setting_expected(setting, &expected);
    struct quoted key = config_quote(a->key);
    if (!a->value)
        return error_set(err, -EINVAL, "key '%s': expected %s, got nothing", key.text,
                         strbuf_text(&expected));
    return error_set(err, -EINVAL, "key '%s': expected %s, got '%s'", key.text,
                     strbuf_text(&expected), config_quote(a->value).text);
}

static int refuse_key(const struct assignment *a, const struct setting_key *key,
                      struct error *err) {
    struct quoted quoted = config_quote(a->key);
    if (key->match == MATCH_ABOVE || key->match == MATCH_NAME)
        return error_set(err, -EINVAL, "key '%s': expected keys below it, got '%s'", quoted.text,
                         config_quote(a->value).text);
    _cleanup_(strbuf_finish) struct strbuf nearest = STRBUF_INIT;
    if (settings_suggest(a->key, &nearest))
        return error_set(err, -EINVAL, "unknown key '%s'; did you mean '%s'?", quoted.text,
                         config_quote(strbuf_text(&nearest)).text);
    return error_set(err, -EINVAL, "unknown key '%s'; 'sluice config keys' lists them",
                     quoted.text);
}

/* The item a key names, made when it is new. */
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
                         config_quote(a->key).text, NAME_BYTES_MAX);
    if (section->count >= CONFIG_NAMES_MAX
        && symbol_find(&section->names, key->name, key->name_length) == 0)
        return error_set(err, -EINVAL, "key '%s': more than %u names", config_quote(a->key).text,
                         CONFIG_NAMES_MAX);
    *ret_item = section_item(section, key->name, key->name_length);
    return 0;
}

static int check_twice(const struct config *config, const struct assignment *a,
                       const struct entry *entry, struct error *err) {
    if (a->line == 0 || entry->reading != config->reading)
        return 0;
    return error_set(err, -EINVAL, "key '%s' is set twice, first in line %u",
                     config_quote(a->key).text, (unsigned)entry->line);
}

void config_add_name(struct config *config, enum setting_section which, const char *name) {
    struct section *section = &config->sections[which];
    if (section->count < CONFIG_NAMES_MAX)
        (void)section_item(section, name, strlen(name));
}

/* Only after everything was checked: names that were refused leave no trace. */
static int store_value(struct config *config, const struct assignment *a,
                       const struct setting_key *key, int64_t value, struct error *err) {
    size_t item = 0;
    int r = find_item(config, a, key, &item, err);
    if (r < 0)
        return r;
    r = check_twice(config, a, config_entry(config, key->setting, item), err);
    if (r < 0)
        return r;
    if (strcmp(key->setting->key, "preset") == 0)
        put_preset(config, &presets[value]);
    struct entry *entry = config_entry(config, key->setting, item);
    entry->value = value;
    entry->origin = symbol_intern(&config->texts, a->origin, strlen(a->origin));
    entry->line = a->line;
    entry->reading = a->line ? config->reading : 0;
    if (key->section == SECTION_ROOT)
        policy_follow(config);
    /* An account that an agent names needs no section of its own: it is known with all its defaults. */
    if (strcmp(key->setting->key, "agents.A.limiter") == 0)
        config_add_name(config, SECTION_LIMITERS, a->value);
    return 0;
}

int config_assign(struct config *config, const struct assignment *a, struct error *err) {
    struct setting_key key = settings_match(a->key, a->joints);
    size_t item = 0;
    if (!a->value && key.match == MATCH_ABOVE)
        return 0;
    if (!a->value && key.match == MATCH_NAME)
        return find_item(config, a, &key, &item, err);
    if (key.match != MATCH_SETTING)
        return refuse_key(a, &key, err);
    int64_t value = 0;
    if (!a->value || !config_parse(config, key.setting, a->value, &value))
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
