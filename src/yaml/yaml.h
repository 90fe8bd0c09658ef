/* yaml.h: a YAML text as a tree that remembers where everything stands.
 *
 * Life:      yaml_parse → look at root → yaml_finish (frees the tree)
 * JSON is YAML, so it is read, too. Refused, with the line: a second document, aliases and tags (a
 * small file could grow without end, or mean something else than it says), keys that are no text,
 * bytes that are no text, and what is beyond the limits of the caller. A key given twice is not
 * noticed here: what counts as the same is the caller's business.
 *
 * Scalars are texts. yaml_type says what a plain one would be; quoted ones are always texts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum yaml_kind {
    YAML_SCALAR,
    YAML_LIST,
    YAML_MAPPING,
    YAML_KIND_MAX,
};

enum yaml_style {
    YAML_PLAIN,  /* without any mark */
    YAML_QUOTED, /* '…' or "…" */
    YAML_BLOCK,  /* text behind | or >; lists and mappings by indentation */
    YAML_FLOW,   /* […] and {…} */
    YAML_STYLE_MAX,
};

struct yaml_node {
    enum yaml_kind kind;
    enum yaml_style style;
    bool anchored;         /* &name stands before it */
    unsigned line, column; /* from 1; of a scalar that is not written: where it would be */
    /* Bytes [start, end) of the text, with quotes, brackets and the header of a block. An empty
     * scalar that is not written has start == end, somewhere behind its key. */
    size_t start, end;
    const char *text; /* SCALAR; "" for the others */
    size_t length;
    size_t count;            /* LIST: items, MAPPING: pairs */
    struct yaml_node *first; /* the first item, or the first key */
    struct yaml_node *next;  /* the next item, or the next key */
    struct yaml_node *value; /* of a key */
};

struct yaml {
    struct yaml_node *root; /* NULL: the text says nothing */
    struct arena arena;
};

struct yaml_limits {
    size_t bytes;
    unsigned levels; /* lists and mappings in one another */
    size_t nodes;
};

/* `name` begins each message: "NAME:LINE: …". Errors are -EINVAL. */
int yaml_parse(const char *name, const char *text, size_t size, const struct yaml_limits *limits,
               struct yaml *ret_yaml, struct error *err);
void yaml_finish(struct yaml *yaml); /* safe on a zeroed one; usable with _cleanup_ */

/* What a scalar is by the rules of YAML 1.2: only these words and numbers, never yes, no, on,
 * off. */
enum yaml_type {
    YAML_NULL, /* nothing, ~ or null */
    YAML_TRUE,
    YAML_FALSE,
    YAML_INTEGER, /* decimal, in 64 bits */
    YAML_REAL,    /* with a point or an exponent; not infinite */
    YAML_TEXT,
    YAML_TYPE_MAX,
};
enum yaml_type yaml_type(const struct yaml_node *scalar);
int64_t yaml_integer(const struct yaml_node *scalar); /* of YAML_INTEGER */
double yaml_real(const struct yaml_node *scalar);     /* of YAML_REAL */

/* "a list", "nothing", or the text in quotes, short and harmless: for messages. */
struct yaml_noun {
    char text[80];
};
struct yaml_noun yaml_noun(const struct yaml_node *node);
