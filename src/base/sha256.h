/* sha256.h: SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for signatures.
 *
 * Small and simple: signed messages are about a kilobyte and rare. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE     32u
#define SHA256_HEX_SIZE (2 * SHA256_SIZE + 1) /* with the NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
};

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t size);
void sha256_end(struct sha256 *hash, uint8_t ret[SHA256_SIZE]);

/* Of one piece. */
void sha256_of(const void *bytes, size_t size, uint8_t ret[SHA256_SIZE]);

/* Takes a message in parts, without joining them first. */
struct hmac_sha256 {
    struct sha256 inner, outer;
};
void hmac_sha256_init(struct hmac_sha256 *hmac, const void *key, size_t size);
void hmac_sha256_add(struct hmac_sha256 *hmac, const void *bytes, size_t size);
void hmac_sha256_end(struct hmac_sha256 *hmac, uint8_t ret[SHA256_SIZE]);

/* In constant time. */
bool sha256_same(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE]);

/* In lower case. */
void sha256_hex(const uint8_t digest[SHA256_SIZE], char ret[SHA256_HEX_SIZE]);
/* Accepts exactly what sha256_hex prints. */
bool sha256_from_hex(const char *hex, uint8_t ret[SHA256_SIZE]);
