/* tag.c: see tag.h. */
#include "rundir/tag.h"

#include <string.h>

#include "base/macros.h"

static const char *const kind_names[] = {
    [TAG_SPEC] = "spec",
    [TAG_STARTED] = "started",
    [TAG_END] = "end",
};
_Static_assert(ARRAY_SIZE(kind_names) == TAG_KIND_MAX, "a kind of record has no name");

static void make(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                 uint8_t ret[SHA256_SIZE]) {
    struct hmac_sha256 hmac;
    hmac_sha256_init(&hmac, key->bytes, sizeof(key->bytes));
    hmac_sha256_add(&hmac, kind_names[kind], strlen(kind_names[kind]) + 1);
    hmac_sha256_add(&hmac, bytes, size);
    hmac_sha256_end(&hmac, ret);
}

void tag_print(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
               char ret_tag[SHA256_HEX_SIZE]) {
    uint8_t digest[SHA256_SIZE];
    make(key, kind, bytes, size, digest);
    sha256_hex(digest, ret_tag);
}

bool tag_is_right(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                  const char *tag) {
    uint8_t digest[SHA256_SIZE], told[SHA256_SIZE];
    if (!sha256_from_hex(tag, told))
        return false;
    make(key, kind, bytes, size, digest);
    return sha256_same(digest, told);
}
