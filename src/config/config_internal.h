/* config_internal.h: memory layout of a config; for this folder only.
 *
 * Each section is a list of named items, each with one entry per row of the section. The root
 * section has one item without a name. An entry without an origin is not set: its value is the
 * row's default, or that of the key it inherits from. Root entries are always set. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/symbol_table.h"
#include "config/config.h"
#include "config/presets.h"
#include "config/settings.h"
#include "config/words.h"
#include "yaml/yaml.h"

extern const struct yaml_limits config_limits; /* of a file (config_read.c) */

/* Names in one section: a file with more is a mistake, and every name costs memory. */
#define CONFIG_NAMES_MAX 100000u

struct entry {
    int64_t value;
    sym origin;       /* 0: not set */
    uint32_t line;    /* of the file that set it */
    uint32_t reading; /* file reading that set it; 0: none */
};

struct section {
    struct symbol_table names; /* name n is item n - 1 */
    struct entry *entries;     /* items, consecutive */
    size_t count, capacity;    /* items */
    size_t first_row, row_count;
};

struct config {
    const struct preset *preset;
    struct policy policy;      /* kept in step with the root entries */
    struct symbol_table texts; /* origins, and the values of names and texts */
    struct symbol_table lists; /* the values of words, as words_print prints them */
    struct words *words;       /* list n is words[n]; 0: no words */
    size_t words_capacity;
    struct arena words_arena;
    int64_t *standards; /* the defaults, by row; 0 for rows that inherit */
    struct section sections[SECTION_MAX];
    uint32_t reading; /* number of the file being read; 0: none */
};

/* One key and its value, from a file or a caller. */
struct assignment {
    const char *key;
    const struct setting_joints *joints; /* NULL: the key was one string */
    const char *value;                   /* NULL: no value */
    const char *origin;
    uint32_t line; /* 0: not from a file */
};

/* The assignments of a file, in order. The file owns the values. */
struct config_file {
    struct yaml yaml;
    struct assignment *items;
    size_t count, capacity;
    struct arena arena;
};
/* Checks only structure and keys, not values. */
int config_file_parse(struct config_file *ret_file, const char *name, const struct strbuf *text,
                      struct error *err);
int config_file_apply(struct config_file *file, const char *name, struct config *config,
                      struct error *err);
void config_file_finish(struct config_file *file); /* usable with _cleanup_ */

/* Checks and stores a value, and updates the policy. */
int config_assign(struct config *config, const struct assignment *assignment, struct error *err);

/* The effective value for a row and a name (NULL or unknown: no name). *ret_origin, if not NULL:
 * its origin, "default", or the key that it inherits from. Borrowed. */
int64_t config_effective(const struct config *config, const struct setting *setting,
                         const char *name, const char **ret_origin);
/* In the form that config_set accepts. */
void config_print(const struct config *config, const struct setting *setting, int64_t value,
                  struct strbuf *out);
/* The words of a SETTING_WORDS value. Borrowed. */
const struct words *config_value_words(const struct config *config, int64_t value);

/* The agents in `failover` lists exist, and no list leads back to its own agent (config_spec.c). */
int config_check_failover(const struct config *config, struct error *err);
/* Models and steps to escalate (config_spec.c). */
int config_check_escalation(const struct config *config, struct error *err);

/* --- keys and names --------------------------------------------------------------------------- */

/* The index of the item in its section; the section's count if not found. */
size_t config_item(const struct config *config, enum setting_section section, const char *name);
struct entry *config_entry(const struct config *config, const struct setting *setting, size_t item);

size_t config_name_count(const struct config *config, enum setting_section section);
const char *config_name(const struct config *config, enum setting_section section, size_t index);

/* "unknown key …", with the nearest known one. */
int config_unknown_key(const char *key, struct error *err);
