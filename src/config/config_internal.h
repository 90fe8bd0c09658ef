/* config_internal.h: how the values lie in a config; for the files of this folder only.
 *
 * Each section is a list of named items, each item one entry per row of the section. The root
 * section has one item without a name. An entry without an origin is not set: its value is the
 * row's default, or that of the key it inherits from. Root entries are always set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/symbol_table.h"
#include "config/config.h"
#include "config/presets.h"
#include "config/settings.h"

/* Names in one section; a file that has more is a mistake, and every name costs memory. */
#define CONFIG_NAMES_MAX 100000u

struct entry {
    int64_t value;
    sym origin;       /* 0: not set */
    uint32_t line;    /* of the file that set it */
    uint32_t reading; /* which reading of a file set it; 0: none */
};

struct section {
    struct symbol_table names; /* name n is item n - 1 */
    struct entry *entries;     /* items one behind the other */
    size_t count, capacity;    /* items */
    size_t first_row, row_count;
};

struct config {
    const struct preset *preset;
    struct policy policy;      /* follows the root entries */
    struct symbol_table texts; /* origins, and the values of names */
    struct section sections[SECTION_MAX];
    uint32_t reading; /* number of the file being read; 0: none was */
};

/* One key and its value, from a file or a caller. */
struct assignment {
    const char *key;
    const struct setting_joints *joints; /* NULL: the key was written as one text */
    const char *value;                   /* NULL: nothing was written */
    const char *origin;
    uint32_t line; /* 0: not from a file */
};

/* config_set for both: checks, stores, and keeps the policy in step. */
int config_assign(struct config *config, const struct assignment *assignment, struct error *err);

/* What holds for a row and a name (NULL or unknown: no name). `ret_origin`, if not NULL: where it
 * came from; "default", or "as KEY" when it is inherited. Borrowed. */
int64_t config_effective(const struct config *config, const struct setting *setting,
                         const char *name, const char **ret_origin);
/* As text that config_set takes. */
void config_print(const struct config *config, const struct setting *setting, int64_t value,
                  struct strbuf *out);

size_t config_name_count(const struct config *config, enum setting_section section);
const char *config_name(const struct config *config, enum setting_section section, size_t index);

/* The key of a row with a name in place of the capital part. */
void config_print_key(const struct setting *setting, const char *name, struct strbuf *out);

/* Text as it may stand in a sentence: at most 60 bytes, nothing that moves the cursor. */
struct quoted {
    char text[64];
};
struct quoted config_quote(const char *text);
