/* settings.h: every key of the configuration, in one table.
 *
 * A row has the accepted values, the description, the default, and the target field. Parsing,
 * `config show`, `config explain` and docs/reference/settings.md all use the same rows. A value is
 * stored as one int64_t: durations in ms, decimals in thousandths, choices as their index, the
 * order as its bits, names, texts and words as a symbol of the config. INT64_MAX is `unlimited` or
 * `never`.
 *
 * Adding a setting
 *   1. its row in the file of config/rows that has its group (settings.c lists them), after the
 *      others of the group; its field. A new group: at the end of the file with that topic
 *   2. presets.c, if a preset differs from the default
 *   3. `sluice config reference > docs/reference/settings.md`
 * test_config_table tries every row at its limits, and that groups are contiguous;
 * test_config_reference compares the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum setting_type {
    SETTING_CAP,     /* integer, or `unlimited` */
    SETTING_WHOLE,   /* integer */
    SETTING_SPAN,    /* seconds, hours or days; with SETTING_OR_NEVER also `never` */
    SETTING_SIZE,    /* MB or GB, or with a unit: 512MB, 1.5GB; kept in MB */
    SETTING_DECIMAL, /* number with up to three decimals */
    SETTING_MONEY,   /* dollars with up to six decimals, or `unlimited`; kept in millionths */
    SETTING_BOOLEAN,
    SETTING_CHOICE, /* one of a few words */
    SETTING_ORDER,  /* components that the order compares */
    SETTING_NAME,   /* the name of something else */
    SETTING_TEXT,   /* any text on one line */
    SETTING_WORDS,  /* a list of texts (words.h) */
    SETTING_TYPE_MAX,
};

enum {
    SETTING_OR_NEVER = 1u << 0,
    SETTING_OR_AUTO = 1u << 1,  /* the word `auto`, kept as SETTING_AUTO */
    SETTING_INVERTED = 1u << 2, /* the field holds the opposite */
    /* Grants rights: cannot be changed over TCP; neither can any text, name or word. */
    SETTING_LOCAL = 1u << 3,
    SETTING_DOLLARS = 1u << 4, /* DECIMAL: a dollar sign may precede it */
    /* A text that can be changed over TCP: it grants nothing that the scope `admin` does not. */
    SETTING_REMOTE = 1u << 5,
};

#define SETTING_AUTO (-1)

/* What the upper-case part of a key names. The rows of one section are contiguous. */
enum setting_section {
    SECTION_ROOT, /* no name: a single value */
    SECTION_RESOURCES,
    SECTION_KINDS,
    SECTION_LIMITERS,
    SECTION_AGENTS,
    SECTION_PROJECTS,
    SECTION_PRICES, /* of models */
    SECTION_SCHEDULES,
    SECTION_MAX,
};

/* Required format of a text, or of each word of a list. */
struct setting_form {
    bool (*fits)(const char *text);
    const char *what; /* "an absolute path"; for a list: "words KEY=VALUE" */
    bool or_empty;    /* an empty text is valid, too */
};

struct setting {
    const char *key; /* dotted; an upper-case part stands for a name: kinds.K.base */
    enum setting_section section;
    enum setting_type type;
    unsigned flags;
    int64_t min, max;           /* in the stored unit */
    int64_t unit;               /* SPAN, SIZE, DECIMAL: stored value of "1"; 0: 1, integers only */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const struct setting_form *form; /* TEXT, WORDS; NULL: anything */
    const char *standard;            /* default; NULL: as the key `inherits` */
    const char *inherits;
    /* The field of struct policy (root) or of the section's spec. Size 0: none. */
    size_t offset, size;
    const char *text; /* description */
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
    MATCH_ABOVE,   /* a prefix of keys: `limits`, `retry.failed` */
    MATCH_NAME,    /* names an item without a setting: `projects.web` */
    MATCH_SETTING, /* a complete key */
};

/* A parsed key. The name points into the key's own text. */
struct setting_key {
    enum setting_match match;
    const struct setting *setting; /* with MATCH_SETTING */
    enum setting_section section;
    const char *name;
    size_t name_length; /* 0: no name */
};

/* `joints` are the positions of the dots between two levels of a file, ascending, or NULL if the
 * key was one string. A name may contain dots, but not joints. */
struct setting_joints {
    size_t at[8];
    size_t count;
};
struct setting_key settings_match(const char *key, const struct setting_joints *joints);

/* The key with `name`, unless it is NULL, instead of its upper-case part. */
void setting_print_key(const struct setting *setting, const char *name, struct strbuf *out);

/* The known key that was probably meant, or false. */
bool settings_suggest(const char *key, struct strbuf *out);

/* --- values ----------------------------------------------------------------------------------- */

/* Stored as a number with a range. */
bool setting_is_number(const struct setting *setting);
/* Names, texts and words: stored as a symbol, so only a config can convert them. */
bool setting_is_symbol(const struct setting *setting);
/* Is this text valid? For names and texts. */
bool setting_takes_text(const struct setting *setting, const char *text);
/* Is this word valid? */
bool setting_takes_word(const struct setting *setting, const char *word);

/* False: not a value of this setting. Not for symbols. */
bool setting_parse(const struct setting *setting, const char *text, int64_t *ret_value);
/* The text that setting_parse turns into this value. Not for symbols. */
void setting_print(const struct setting *setting, int64_t value, struct strbuf *out);
/* The accepted values, for messages and documentation. */
void setting_expected(const struct setting *setting, struct strbuf *out);
/* Stores the value in its field of `target`, if the row has one. */
void setting_store(const struct setting *setting, int64_t value, void *target);
/* Loads its field of `target`; the row must have one. */
int64_t setting_load(const struct setting *setting, const void *target);

#define SETTING_TEXT_MAX 4096
