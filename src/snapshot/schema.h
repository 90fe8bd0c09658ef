/* schema.h: every key a snapshot may have. Private to snapshot/ and its tests. */
#pragma once

#include <stddef.h>

struct object;

/* The bits of enum keep and enum lend, as words; from 0. */
#define SCHEMA_KEEPS 4
#define SCHEMA_LENDS 5
const char *schema_keep_word(int number);
const char *schema_lend_word(int number);

/* The object around everything. */
const struct object *schema_root(void);

/* Key number `key` of object number `object`, both from 0, or NULL: for comparing with the manual. */
const char *schema_key(size_t object, size_t key, const char **ret_noun);
