/* decode.h: objects described by tables of their keys. Private to snapshot/ and its tests.
 *
 * A `struct object` lists the keys an object may have and the offsets of their values in the record
 * that is being filled. decode_token walks along a stack of frames, one per open bracket; it
 * refuses unknown and repeated keys, wrong types and values out of range, for all objects. Null
 * means "not given". */
#pragma once

#include "base/strbuf.h"
#include "snapshot/draft.h"

#define TEXT_MAX   255 /* bytes of a name or an id */
#define FIELDS_MAX 64  /* keys of one object */
#define OBJECT_MAX 16  /* kinds of object */

enum field_type {
    FIELD_SKIP,  /* anything, ignored */
    FIELD_BOOL,  /* int8_t */
    FIELD_INT64, /* whole numbers within min .. max */
    FIELD_INT32,
    FIELD_UINT32,
    FIELD_COUNTED, /* uint32_t, stored + 1 so that 0 is "not given" */
    FIELD_MILLI,   /* int64_t, thousandths within min .. max */
    FIELD_USD,     /* int64_t, dollars with up to six decimals, as millionths */
    FIELD_CAP,     /* int64_t, not negative, or "unlimited" */
    FIELD_SYMBOL,  /* sym: a name */
    FIELD_ID,      /* uint32_t: entry of a task id */
    FIELD_WORD,    /* int8_t: one of `words`, from number min up to max */
    FIELD_RANGE,   /* int64_t[2]: a number or a list of two; whole */
    FIELD_SPAN,    /* int64_t[2]: the same, with up to three decimals, as thousandths */
    FIELD_IDS,     /* list of task ids */
    FIELD_SYMBOLS, /* list of names */
    FIELD_WORDS,   /* uint32_t: list of `words`; the bit 1 << number of each */
    FIELD_OBJECT,
    FIELD_OBJECTS, /* list of objects */
    FIELD_LOCKS,   /* object: name → task id, null or true */
    FIELD_HINTS,   /* object: name → object */
    FIELD_CONFIG,  /* the configuration: any names, any depth */
};

struct reader;

struct field {
    const char *name;
    size_t length; /* of the name */
    enum field_type type;
    size_t offset; /* in the record */
    int64_t min, max;
    const char *(*word)(int number);
    const struct object *object;
};

struct object {
    unsigned number;  /* of the kind of object, below OBJECT_MAX */
    const char *noun; /* "a task" */
    const struct field *fields;
    unsigned count;
    size_t target;                                   /* offset of the record in struct reader */
    const void *initial;                             /* value of the record at first, or NULL */
    size_t size;                                     /* of the record */
    void (*begin)(struct reader *r);                 /* or NULL */
    int (*end)(struct reader *r, struct error *err); /* or NULL */
    void (*given)(struct reader *r, const struct field *field); /* a list began; or NULL */
};

enum frame_kind {
    FRAME_OBJECT,
    FRAME_LIST,
    FRAME_MAP, /* FIELD_LOCKS, FIELD_HINTS */
    FRAME_SKIP,
    FRAME_CONFIG,
    FRAME_CONFIG_LIST,
};

/* One open bracket. */
struct frame {
    enum frame_kind kind;
    const struct object *object; /* FRAME_OBJECT: this one; else the one around it */
    const struct field *field;   /* FRAME_OBJECT: the key at hand; else the field this belongs to */
    uint64_t seen;               /* keys given so far */
    unsigned last;               /* number of the last key + 1 */
    uint32_t count;              /* FRAME_LIST: items so far */
    size_t path_length;          /* FRAME_CONFIG: of the path around it */
};

struct reader {
    struct draft draft;
    struct json_stream *stream;
    const struct object *root;
    struct frame frames[JSON_DEPTH_MAX + 1];
    unsigned depth;
    /* Files repeat their keys in the same order: which key came after which, last time. */
    uint8_t follows[OBJECT_MAX][FIELDS_MAX + 1];

    /* the records that are being filled */
    struct task_record task;
    struct project_record project;
    struct agent_record agent;
    struct limiter_record limiter;
    struct usage_spec usage;
    struct wait_spec wait;
    struct hint hint;
    sym map_key; /* FRAME_MAP */

    uint8_t *symbol_seen; /* `enum seen_as` bits by symbol */
    size_t symbol_capacity;
    struct strbuf path, value;        /* of the configuration */
    struct symbol_table config_paths; /* to find a path given twice */
};

enum seen_as {
    SEEN_PROJECT = 1u << 0,
    SEEN_AGENT = 1u << 1,
    SEEN_LIMITER = 1u << 2,
    SEEN_WORKSPACE = 1u << 3,
    SEEN_HINT = 1u << 4,
};

/* True the first time. */
bool reader_first(struct reader *r, sym name, enum seen_as as);

/* A json_handler; ctx is a struct reader. */
int decode_token(void *ctx, struct json_stream *stream, const struct json_token *token,
                 struct error *err);

/* --- schema.c: every key a snapshot may have
 * --------------------------------------------------- */

/* The bits of enum keep and enum lend, as words; from 0. */
#define SCHEMA_KEEPS 4
#define SCHEMA_LENDS 5
const char *schema_keep_word(int number);
const char *schema_lend_word(int number);
const char *schema_lease_word(int number);

/* The object around everything. */
const struct object *schema_root(void);

/* Key number `key` of object number `object`, both from 0, or NULL: to compare with the manual. */
const char *schema_key(size_t object, size_t key, const char **ret_noun);
