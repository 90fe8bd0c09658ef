/* sha256.c: SHA-256 and HMAC.
 *
 * Implemented here because no linked library has it: a TLS library for one hash would cost every
 * start of the daemon more than the hash itself (docs/internals/decisions/0019). */
#include "base/sha256.h"

#include <string.h>

#include "base/number.h"

#define BLOCK 64u

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by) {
    return x >> by | x << (32 - by);
}

static uint32_t read_word(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void write_word(uint32_t word, uint8_t *ret) {
    for (unsigned i = 0; i < 4; i++)
        ret[i] = (uint8_t)(word >> (24 - 8 * i));
}

static void fill_schedule(const uint8_t *block, uint32_t w[64]) {
    for (unsigned i = 0; i < 16; i++)
        w[i] = read_word(block + (size_t)4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

/* The eight words are variables, not an array, so that they are in registers in the shim, too,
 * which is compiled for size. */
static void take_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    fill_schedule(block, w);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t first = h + sum1 + choice + rounds[i] + w[i];
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t most = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + sum0 + most;
    }
    const uint32_t words[8] = { a, b, c, d, e, f, g, h };
    for (unsigned i = 0; i < 8; i++)
        state[i] += words[i];
}

void sha256_init(struct sha256 *h) {
    *h = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *h, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    size_t used = (size_t)(h->size % BLOCK);
    h->size += size;
    while (size > 0) {
        size_t part = BLOCK - used < size ? BLOCK - used : size;
        memcpy(h->block + used, at, part);
        used += part;
        at += part;
        size -= part;
        if (used == BLOCK) {
            take_block(h->state, h->block);
            used = 0;
        }
    }
}

void sha256_end(struct sha256 *h, uint8_t ret[SHA256_SIZE]) {
    static const uint8_t padding[BLOCK] = { 0x80 };
    uint64_t bits = h->size * 8;
    uint8_t length[8];
    write_word((uint32_t)(bits >> 32), length);
    write_word((uint32_t)bits, length + 4);
    /* 0x80 and zeros up to 8 bytes before the end of a block. */
    size_t used = (size_t)(h->size % BLOCK);
    sha256_add(h, padding, used < BLOCK - 8 ? BLOCK - 8 - used : 2 * BLOCK - 8 - used);
    sha256_add(h, length, sizeof(length));
    for (unsigned i = 0; i < 8; i++)
        write_word(h->state[i], ret + (size_t)4 * i);
}

bool sha256_same(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE]) {
    volatile uint8_t differs = 0; /* keeps the compiler from ending the loop early */
    for (size_t i = 0; i < SHA256_SIZE; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}

void sha256_hex(const uint8_t digest[SHA256_SIZE], char ret[SHA256_HEX_SIZE]) {
    number_hex_print(digest, SHA256_SIZE, ret);
}

void sha256_of(const void *bytes, size_t size, uint8_t ret[SHA256_SIZE]) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, ret);
}

bool sha256_from_hex(const char *hex, uint8_t ret[SHA256_SIZE]) {
    return number_hex_parse(hex, ret, SHA256_SIZE);
}

/* --- HMAC ------------------------------------------------------------------------------------- */

void hmac_sha256_init(struct hmac_sha256 *hmac, const void *key, size_t size) {
    uint8_t block[BLOCK] = { 0 };
    sha256_init(&hmac->inner);
    sha256_init(&hmac->outer);
    if (size > BLOCK) /* a longer key is replaced by its hash */
        sha256_of(key, size, block);
    else if (size > 0)
        memcpy(block, key, size);
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] ^= 0x36;
    sha256_add(&hmac->inner, block, BLOCK);
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    sha256_add(&hmac->outer, block, BLOCK);
}

void hmac_sha256_add(struct hmac_sha256 *hmac, const void *bytes, size_t size) {
    sha256_add(&hmac->inner, bytes, size);
}

void hmac_sha256_end(struct hmac_sha256 *hmac, uint8_t ret[SHA256_SIZE]) {
    uint8_t inner[SHA256_SIZE];
    sha256_end(&hmac->inner, inner);
    sha256_add(&hmac->outer, inner, sizeof(inner));
    sha256_end(&hmac->outer, ret);
}
