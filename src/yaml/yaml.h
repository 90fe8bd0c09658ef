/* yaml.h: parses YAML into a tree with source positions.
 *
 * Life:      yaml_parse → use root → yaml_finish (frees the tree)
 * JSON is YAML, so it is accepted. Refused, with the line: a second document, aliases and tags (a
 * small file could expand without bound, or have a hidden meaning), keys that are not scalars,
 * invalid characters, and input beyond the caller's limits. Duplicate keys are not detected here:
 * the caller defines equality.
 *
 * Scalars are strings. yaml_type returns the type of a plain one; quoted ones are always
 * strings. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/macros.h"

enum yaml_kind {
    YAML_SCALAR,
    YAML_LIST,
    YAML_MAPPING,
    YAML_KIND_MAX,
};

enum yaml_style {
    YAML_PLAIN,  /* no quotes */
    YAML_QUOTED, /* '…' or "…" */
    YAML_BLOCK,  /* text after | or >; block lists and mappings */
    YAML_FLOW,   /* […] and {…} */
    YAML_STYLE_MAX,
};

struct yaml_node {
    enum yaml_kind kind;
    enum yaml_style style;
    bool anchored;         /* preceded by &name */
    unsigned line, column; /* from 1; for an unwritten scalar: where it would be */
    /* Bytes [start, end) of the text, with quotes, brackets and the header of a block. An unwritten
     * scalar has start == end, somewhere after its key. */
    size_t start, end;
    const char *text; /* SCALAR; "" for the others */
    size_t length;
    size_t count;            /* LIST: items, MAPPING: pairs */
    struct yaml_node *first; /* the first item, or the first key */
    struct yaml_node *next;  /* the next item, or the next key */
    struct yaml_node *value; /* of a key */
};

struct yaml {
    struct yaml_node *root; /* NULL: the text is empty */
    struct arena arena;
};

struct yaml_limits {
    size_t bytes;
    unsigned levels; /* nesting of lists and mappings */
    size_t nodes;
};

/* `name` begins each message: "NAME:LINE: …". Errors are -EINVAL. */
int yaml_parse(const char *name, const char *text, size_t size, const struct yaml_limits *limits,
               struct yaml *ret_yaml, struct error *err);
void yaml_finish(struct yaml *yaml); /* safe on a zeroed one; usable with _cleanup_ */

/* "NAME:LINE: …", or "NAME:LINE:COLUMN: …" unless `column` is 0; -EINVAL. The message may quote the
 * file: control characters become '?'. */
struct yaml_position {
    const char *name;
    unsigned line, column;
};
int yaml_fail(struct yaml_position at, struct error *err, const char *format, ...) _printf_(3, 4);

/* The type of a scalar in YAML 1.2: only these words and numbers, never yes, no, on, off. */
enum yaml_type {
    YAML_NULL, /* empty, ~ or null */
    YAML_TRUE,
    YAML_FALSE,
    YAML_INTEGER, /* decimal, in 64 bits */
    YAML_REAL,    /* with a decimal point or an exponent; finite */
    YAML_TEXT,
    YAML_TYPE_MAX,
};
enum yaml_type yaml_type(const struct yaml_node *scalar); /* YAML_TEXT for the others */
int64_t yaml_integer(const struct yaml_node *scalar);     /* of YAML_INTEGER */
double yaml_real(const struct yaml_node *scalar);         /* of YAML_REAL */

/* The node with its descendants as JSON, null if it is NULL: scalars as texts, or with `typed` by
 * their type. `name`: of the file, for the error of a repeated key; NULL: the last one counts. */
int yaml_json(const char *name, const struct yaml_node *node, bool typed, json_t **ret_value,
              struct error *err);

/* "a list", "nothing", or the quoted text, shortened and sanitized: for messages. */
struct yaml_noun {
    char text[80];
};
struct yaml_noun yaml_noun(const struct yaml_node *node);
