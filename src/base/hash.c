/* hash.c: hashes a block of bytes.
 *
 * Eight bytes per step, always read as little endian, so that every machine gets the same hash. The
 * size is the seed: blocks that differ only in trailing zero bytes get different hashes. */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

uint64_t hash_bytes(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint64_t hash = hash_u64(size);
    uint64_t word;
    for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = hash_mix(hash, le64toh(word));
    }
    if (size > 0) {
        word = 0;
        memcpy(&word, at, size);
        hash = hash_mix(hash, le64toh(word));
    }
    return hash;
}
