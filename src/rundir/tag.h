/* tag.h: authenticates the records that the daemon and the shim of a run write.
 *
 * A run can write its own directory. So each run has a key that only the daemon, its store and the
 * shim know, and each record ends with a tag: HMAC-SHA-256 of its kind and of all bytes before the
 * tag. Compiled for the shim, too: no heap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

/* Passes the key to the shim: the only variable of its environment. */
#define TAG_VARIABLE "SLUICE_SHIM_KEY"
#define TAG_NAME     "tag" /* of the record, or of the member of end.json */

#define TAG_RECORD_SIZE (sizeof(TAG_NAME) + SHA256_HEX_SIZE)

struct tag_key {
    uint8_t bytes[SHA256_SIZE];
};

/* A record of one kind cannot be used as another. */
enum tag_kind { TAG_SPEC, TAG_STARTED, TAG_END, TAG_KIND_MAX };

void tag_print(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
               char ret_tag[SHA256_HEX_SIZE]);
bool tag_is_right(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                  const char *tag);
