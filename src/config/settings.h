/* settings.h: every key of the configuration, in one table.
 *
 * A row says what may be written, what it means, what holds when nothing is written, and where the
 * value goes. Parsing, `config show`, `config explain` and docs/config.md all read the same rows. A
 * value is kept as one int64_t: spans in ms, decimals in thousandths, choices as their position,
 * the order as its bits, names, texts and words as a symbol of the config. INT64_MAX is `unlimited`
 * or `never`.
 *
 * Adding a setting
 *   1. its row in the file of config/rows that has its group (settings.c lists them), behind the others
 *      of the group; the field it fills. A new group: at the end of the file that answers its question
 *   2. presets.c, where a preset differs from the default
 *   3. `sluice config reference > docs/config.md`
 * test_config_table tries every row at its limits, and that groups stand together;
 * test_config_reference compares the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum setting_type {
    SETTING_CAP,     /* whole number, or `unlimited` */
    SETTING_WHOLE,   /* whole number */
    SETTING_SPAN,    /* seconds, hours or days; with SETTING_OR_NEVER also `never` */
    SETTING_SIZE,    /* MB or GB, or with a unit: 512MB, 1.5GB; kept in MB */
    SETTING_DECIMAL, /* number with up to three decimals */
    SETTING_MONEY,   /* dollars with up to six decimals, or `unlimited`; kept in millionths */
    SETTING_BOOLEAN,
    SETTING_CHOICE, /* one of a few words */
    SETTING_ORDER,  /* which parts the order compares */
    SETTING_NAME,   /* the name of something else */
    SETTING_TEXT,   /* any text on one line */
    SETTING_WORDS,  /* a list of texts (words.h) */
    SETTING_TYPE_MAX,
};

enum {
    SETTING_OR_NEVER = 1u << 0,
    SETTING_OR_AUTO = 1u << 1,  /* the word `auto`, kept as SETTING_AUTO */
    SETTING_INVERTED = 1u << 2, /* the field holds the opposite */
    SETTING_LOCAL =
        1u << 3, /* grants rights: not changed over TCP; nor is any text, name or word */
    SETTING_DOLLARS = 1u << 4, /* DECIMAL: a dollar sign may precede it */
};

#define SETTING_AUTO (-1)

/* What the capital part of a key names. The rows of one section stand together. */
enum setting_section {
    SECTION_ROOT, /* no name: there is one value */
    SECTION_RESOURCES,
    SECTION_KINDS,
    SECTION_LIMITERS,
    SECTION_AGENTS,
    SECTION_PROJECTS,
    SECTION_PRICES, /* of models */
    SECTION_MAX,
};

/* What a text, or each word of a list, must look like. */
struct setting_form {
    bool (*fits)(const char *text);
    const char *what; /* "an absolute path"; of a list: "words KEY=VALUE" */
};

struct setting {
    const char *key; /* dotted; a part in capitals stands for a name: kinds.K.base */
    enum setting_section section;
    enum setting_type type;
    unsigned flags;
    int64_t min, max; /* as kept */
    int64_t unit;     /* SPAN, SIZE, DECIMAL: what "1" is kept as; 0: 1, whole numbers alone */
    const char *const *choices;      /* CHOICE: ends with NULL */
    const struct setting_form *form; /* TEXT, WORDS; NULL: anything */
    const char *standard;            /* when nothing is written; NULL: as the key `inherits` says */
    const char *inherits;
    /* The field of struct policy (root) or of the section's spec. Size 0: none. */
    size_t offset, size;
    const char *text; /* one sentence */
};

extern const struct setting settings[];
extern const size_t settings_count;

/* The rows of one section: settings[*ret_first .. *ret_first + returned count). */
size_t settings_of(enum setting_section section, size_t *ret_first);
/* The row with exactly this pattern, or NULL. */
const struct setting *settings_row(const char *pattern);

/* --- keys ------------------------------------------------------------------------------------- */

enum setting_match {
    MATCH_NOTHING,
    MATCH_ABOVE,   /* keys lie below it: `limits`, `retry.failed` */
    MATCH_NAME,    /* names a thing and says nothing of it: `projects.web` */
    MATCH_SETTING, /* a complete key */
};

/* A key taken apart. The name is a part of the key's own text. */
struct setting_key {
    enum setting_match match;
    const struct setting *setting; /* with MATCH_SETTING */
    enum setting_section section;
    const char *name;
    size_t name_length; /* 0: the key has no name */
};

/* `joints` are the places of the dots that join two levels of a file, rising, or NULL when the key
 * was written as one text. A name may contain dots, but not joints. */
struct setting_joints {
    size_t at[8];
    size_t count;
};
struct setting_key settings_match(const char *key, const struct setting_joints *joints);

/* The known key that was probably meant, or false. */
bool settings_suggest(const char *key, struct strbuf *out);

/* --- values ----------------------------------------------------------------------------------- */

/* Anything that is kept as a number with a range. */
bool setting_is_number(const struct setting *setting);
/* Names, texts and words: kept as a symbol, so only a config can turn them into a value. */
bool setting_is_symbol(const struct setting *setting);
/* May this be its text? For names and texts. */
bool setting_takes_text(const struct setting *setting, const char *text);
/* May this be one of its words? */
bool setting_takes_word(const struct setting *setting, const char *word);

/* False: not a value of this setting. Not for symbols. */
bool setting_parse(const struct setting *setting, const char *text, int64_t *ret_value);
/* The text that setting_parse turns into this value. Not for symbols. */
void setting_print(const struct setting *setting, int64_t value, struct strbuf *out);
/* "a whole number from 0 to 100 or unlimited". */
void setting_expected(const struct setting *setting, struct strbuf *out);
/* Puts the value into its field of `target`; nothing if the row has no field. */
void setting_store(const struct setting *setting, int64_t value, void *target);
/* What its field of `target` holds; the row has one. */
int64_t setting_load(const struct setting *setting, const void *target);

#define SETTING_TEXT_MAX 4096
