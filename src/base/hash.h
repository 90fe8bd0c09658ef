/* hash.h: one mixing function for hash tables, and a seeded random number generator.
 *
 * Deterministic on every machine: a replay must give the same result. Not for secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t hash_u64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t hash_mix(uint64_t seed, uint64_t value) {
    return hash_u64(seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2)));
}

/* For sequential numbers: eight neighbors stay in one cache line, so that iterating over a million
 * of them does not miss a million times; groups are spread. */
static inline uint64_t hash_sequence(uint64_t number) {
    return (hash_u64(number >> 3) << 3) | (number & 7);
}

uint64_t hash_bytes(const void *bytes, size_t size);

/* Random numbers from one seed. */
struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng) {
    rng->state += 0x9e3779b97f4a7c15u;
    return hash_u64(rng->state);
}

/* 0 .. bound-1; bound > 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound) {
    return (uint64_t)(((unsigned __int128)rng_next(rng) * bound) >> 64);
}

/* low .. high, inclusive. */
static inline int64_t rng_between(struct rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)rng_below(rng, (uint64_t)(high - low) + 1);
}
