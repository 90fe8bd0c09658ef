/* json_scan_internal.h: the scanner's memory, shared by json_scan.c (the machine) and json_keep.c (paths, kept values
 * and texts). */
#pragma once

#include "agent/json_scan.h"

#define SCAN_KEY_SIZE   64 /* a longer key is no wanted one */
#define SCAN_TOKEN_SIZE 64 /* numbers and words */

enum scan_state {
    STATE_START,       /* before the first byte of a line that matters */
    STATE_TEXT,        /* in a line that is no JSON */
    STATE_BROKEN,      /* nothing until the end of the line */
    STATE_FIRST_KEY,   /* behind '{' */
    STATE_KEY,         /* behind ',' in an object */
    STATE_COLON,       /* behind a key */
    STATE_FIRST_VALUE, /* behind '[' */
    STATE_VALUE,       /* behind ':', or ',' in a list */
    STATE_AFTER,       /* behind a value */
    STATE_STRING,      /* in a string that is kept */
    STATE_ESCAPE,      /* behind its backslash */
    STATE_UNICODE,     /* in the digits of \u */
    STATE_TOKEN,       /* in a number or word */
    STATE_PASS_STRING, /* in a string that is not kept */
    STATE_PASS_ESCAPE, /* behind its backslash */
    STATE_PASS,        /* in a list or object that is not kept */
    STATE_DONE,        /* the object is whole; the line has not ended */
    STATE_MAX,
};

/* A key of the wanted paths. Node 0 is the whole object; as a link 0 is "none". */
struct scan_node {
    const char *key;
    size_t length;
    uint16_t child, next, any; /* first child by name; its neighbour; the child '*' */
    int16_t want;              /* -1: only on the way to one */
};

struct scan_level {
    uint16_t node;
    bool is_list;
    uint32_t members;
};

struct json_scan {
    enum scan_state state;
    bool at_line_start; /* the last byte was a line end inside an object */
    uint16_t node;      /* what the next value is of; 0: nothing that is wanted */
    uint32_t depth;     /* of `levels` */
    uint64_t pass_depth;
    struct scan_level levels[JSON_SCAN_DEPTH + 1];

    /* The string that is read now, or the key, or the text line. */
    char *to;
    size_t room, length;
    bool is_cut, is_key;
    uint32_t unicode, high;
    unsigned digits;

    char key[SCAN_KEY_SIZE], token[SCAN_TOKEN_SIZE], line[JSON_SCAN_LINE];
    size_t token_length;

    struct json_scan_calls calls;
    json_scan_match *match; /* or NULL */
    const struct json_want *wants;
    size_t want_count, node_count;
    uint64_t touched; /* values that this object has */
    struct scan_node *nodes;
    char *room_of_all;
    char *texts[JSON_SCAN_WANTS];
    struct json_value values[JSON_SCAN_WANTS];
};

/* Where in the wanted paths a key leads; 0: nowhere. */
uint16_t json_keep_find(const struct json_scan *s, uint16_t parent, const char *key, size_t length);
/* A new object: it has none of the values yet. */
void json_keep_forget(struct json_scan *s);
/* The value that the node wants, as one of this kind; NULL: it wants none. */
struct json_value *json_keep_value(struct json_scan *s, uint16_t node, enum json_kind kind);

/* One more number of the value that counts something; a negative one does not. */
void json_keep_number(struct json_value *value, int64_t micro);

/* One text at a time, into `size` bytes: what does not fit is cut off in front of a character. */
void json_keep_begin(struct json_scan *s, char *to, size_t size);
void json_keep_add(struct json_scan *s, const char *bytes, size_t size);
void json_keep_add_character(struct json_scan *s, uint32_t c); /* what is none: U+FFFD */
size_t json_keep_end(struct json_scan *s);                     /* its length */
