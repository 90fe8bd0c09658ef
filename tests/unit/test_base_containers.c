/* test_base_containers.c: compares the containers with naive implementations.
 *
 * Each random test keeps a naive copy (a sorted array, a plain table) and compares after every
 * step. Seeds are fixed, so a failure is reproducible. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "base/id_table.h"
#include "base/number_map.h"
#include "base/slab.h"
#include "base/symbol_table.h"
#include "base/timer_heap.h"
#include "harness/test.h"

/* ---- slab ---- */

struct record {
    uint64_t a;
    uint32_t b;
};

TEST(slab_never_hands_out_none_or_a_record_in_use) {
    struct slab slab;
    slab_init(&slab, sizeof(struct record));
    for (uint32_t i = 1; i <= 5000; i++) {
        uint32_t handle = slab_alloc(&slab);
        assert_int_not_equal(handle, SLAB_NONE);
        struct record *record = slab_at(&slab, handle);
        assert_int_equal(record->b, 0); /* another owner would have written here */
        record->b = handle;
    }
    assert_int_equal(slab.used, 5000);
    slab_finish(&slab);
}

TEST(slab_reuses_the_most_recently_freed_record_first) {
    struct slab slab;
    slab_init(&slab, sizeof(uint32_t));
    uint32_t a = slab_alloc(&slab), b = slab_alloc(&slab), c = slab_alloc(&slab);
    slab_free(&slab, a);
    slab_free(&slab, c);
    assert_int_equal(slab.used, 1);
    assert_int_equal(slab_alloc(&slab), c);
    assert_int_equal(slab_alloc(&slab), a);
    assert_int_equal(slab_alloc(&slab), b + 2);
    slab_finish(&slab);
}

TEST(slab_zeroes_a_record_that_is_used_again) {
    static const struct record zero;
    struct slab slab;
    slab_init(&slab, sizeof(struct record));
    uint32_t handle = slab_alloc(&slab);
    memset(slab_at(&slab, handle), 0xff, sizeof(struct record));
    slab_free(&slab, handle);
    assert_int_equal(slab_alloc(&slab), handle);
    assert_memory_equal(slab_at(&slab, handle), &zero, sizeof(zero));
    slab_finish(&slab);
}

TEST(slab_records_do_not_move_when_it_grows) {
    struct slab slab;
    slab_init(&slab, sizeof(struct record));
    uint32_t first = slab_alloc(&slab);
    void *address = slab_at(&slab, first);
    for (int i = 0; i < 100000; i++)
        (void)slab_alloc(&slab);
    assert_ptr_equal(slab_at(&slab, first), address);
    assert_true(slab_bytes(&slab) < 110000 * sizeof(struct record));
    slab_finish(&slab);
}

/* ---- timer_heap ---- */

#define TIMERS 300u

struct timer_test {
    struct timer_heap heap;
    uint32_t position[TIMERS + 1];
    time_ms at[TIMERS + 1]; /* the naive copy: TIME_NEVER when not in the heap */
};

static void timer_test_moved(void *ctx, uint32_t handle, uint32_t position) {
    ((struct timer_test *)ctx)->position[handle] = position;
}

static uint32_t timer_test_earliest(const struct timer_test *t) {
    uint32_t best = 0;
    for (uint32_t i = 1; i <= TIMERS; i++)
        if (t->at[i] != TIME_NEVER && (best == 0 || t->at[i] < t->at[best]))
            best = i;
    return best;
}

static void timer_test_check(const struct timer_test *t) {
    uint32_t earliest = timer_test_earliest(t);
    assert_true(timer_heap_next(&t->heap) == (earliest ? t->at[earliest] : TIME_NEVER));
    for (uint32_t i = 1; i <= TIMERS; i++) {
        assert_int_equal(t->position[i] != 0, t->at[i] != TIME_NEVER);
        if (t->position[i])
            assert_int_equal(t->heap.entries[t->position[i]].handle, i);
    }
}

TEST(timer_heap_fires_in_order_and_knows_every_position) {
    struct timer_test t = { 0 };
    struct rng rng = { 5 };
    timer_heap_init(&t.heap, timer_test_moved, &t);
    for (uint32_t i = 1; i <= TIMERS; i++)
        t.at[i] = TIME_NEVER;
    for (int step = 0; step < 20000; step++) {
        uint32_t handle = 1 + (uint32_t)rng_below(&rng, TIMERS);
        if (rng_below(&rng, 4) == 0) {
            uint32_t earliest = timer_test_earliest(&t);
            time_ms now = rng_between(&rng, -10, 60);
            bool due = earliest && t.at[earliest] <= now;
            assert_int_equal(timer_heap_pop(&t.heap, now), due ? earliest : 0);
            if (due)
                t.at[earliest] = TIME_NEVER;
        } else if (t.at[handle] == TIME_NEVER) {
            t.at[handle] = rng_between(&rng, 0, 100); /* few values: many ties */
            timer_heap_add(&t.heap, t.at[handle], 0, handle);
        } else {
            timer_heap_remove(&t.heap, t.position[handle]);
            t.at[handle] = TIME_NEVER;
        }
        timer_test_check(&t);
    }
    timer_heap_finish(&t.heap);
}

TEST(timer_heap_gives_ties_to_the_lower_rank_then_handle) {
    struct timer_heap heap = { 0 };
    timer_heap_add(&heap, 10, 7, 3);
    timer_heap_add(&heap, 10, 7, 1);
    timer_heap_add(&heap, 10, 7, 2);
    timer_heap_add(&heap, 10, 6, 4);
    assert_int_equal(timer_heap_pop(&heap, 9), 0);
    assert_int_equal(timer_heap_pop(&heap, 10), 4);
    assert_int_equal(timer_heap_pop(&heap, 10), 1);
    assert_int_equal(timer_heap_pop(&heap, 10), 2);
    assert_int_equal(timer_heap_pop(&heap, 10), 3);
    assert_int_equal(timer_heap_pop(&heap, 10), 0);
    timer_heap_finish(&heap);
}

TEST(timer_heap_that_is_zeroed_is_empty) {
    struct timer_heap heap = { 0 };
    assert_true(timer_heap_next(&heap) == TIME_NEVER);
    assert_int_equal(timer_heap_pop(&heap, TIME_NEVER), 0);
    timer_heap_remove(&heap, 0);
    timer_heap_finish(&heap);
}

/* ---- id_map ---- */

#define IDS 2000u

/* Record i has the key keys[i]. With `weak` all keys share a few hashes, so that clusters are long
 * and wrap around the end of the table. */
struct map_test {
    struct id_map map;
    uint64_t keys[IDS + 1];
    bool present[IDS + 1];
    bool weak;
};

static uint64_t map_test_hash_of(const struct map_test *t, uint64_t key) {
    return t->weak ? hash_u64(key) % 13 : hash_u64(key);
}

static bool map_test_same(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct map_test *)ctx)->keys[handle] == *(const uint64_t *)key;
}

static void map_test_check(const struct map_test *t, uint32_t ids) {
    uint32_t count = 0;
    for (uint32_t i = 1; i <= ids; i++) {
        uint32_t found = id_map_find(&t->map, map_test_hash_of(t, t->keys[i]), &t->keys[i]);
        assert_int_equal(found, t->present[i] ? i : 0);
        count += t->present[i];
    }
    assert_int_equal(t->map.count, count);
    assert_true(t->map.count <= t->map.capacity / 4 * 3);
}

static void map_test_run(bool weak, uint32_t ids, int steps) {
    struct map_test *t = xcalloc(1, sizeof(*t));
    struct rng rng = { ids };
    t->weak = weak;
    id_map_init(&t->map, map_test_same, t);
    for (uint32_t i = 1; i <= ids; i++)
        t->keys[i] = i * 1000003u;
    for (int step = 0; step < steps; step++) {
        uint32_t i = 1 + (uint32_t)rng_below(&rng, ids);
        uint64_t hash = map_test_hash_of(t, t->keys[i]);
        assert_int_equal(id_map_find(&t->map, hash, &t->keys[i]), t->present[i] ? i : 0);
        if (t->present[i])
            id_map_remove(&t->map, hash, &t->keys[i]);
        else
            id_map_add(&t->map, hash, i);
        t->present[i] = !t->present[i];
        if (weak || step % 500 == 0)
            map_test_check(t, ids);
    }
    map_test_check(t, ids);
    id_map_finish(&t->map);
    free(t);
}

TEST(id_map_finds_what_is_in_it_and_nothing_else) {
    map_test_run(false, IDS, 100000);
}

TEST(id_map_removal_loses_no_other_entry_of_its_cluster) {
    map_test_run(true, 40, 20000);
}

TEST(id_map_that_is_zeroed_is_empty) {
    struct id_map map = { 0 };
    uint64_t key = 1;
    assert_int_equal(id_map_find(&map, 1, &key), 0);
    id_map_remove(&map, 1, &key);
    assert_int_equal(id_map_bytes(&map), 0);
    id_map_finish(&map);
}

TEST(id_map_removal_of_an_unknown_key_changes_nothing) {
    struct map_test *t = xcalloc(1, sizeof(*t));
    id_map_init(&t->map, map_test_same, t);
    t->keys[1] = 5;
    t->present[1] = true;
    id_map_add(&t->map, map_test_hash_of(t, 5), 1);
    uint64_t unknown = 6;
    id_map_remove(&t->map, map_test_hash_of(t, unknown), &unknown);
    map_test_check(t, 1);
    id_map_finish(&t->map);
    free(t);
}

/* ---- number_map ---- */

#define NUMBERS 600u

/* Dense at first, then with gaps, and far apart at the end. */
static uint64_t number_at(uint32_t i) {
    return i < 200 ? i : i < 400 ? 1000 + (uint64_t)i * 5 : UINT64_MAX - (uint64_t)i * 1000;
}

static void check_numbers(const struct number_map *map, const uint32_t *handles) {
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < NUMBERS; i++)
        assert_int_equal(number_map_find(map, number_at(i)), handles[i]);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        bool first = handles[i] != 0;
        for (uint32_t k = 0; k < i; k++)
            first &= !handles[k] || number_at(k) / 8 != number_at(i) / 8;
        blocks += first;
    }
    assert_int_equal(map->blocks.used, blocks); /* an empty block is freed */
    assert_int_equal(map->map.count, blocks);
}

TEST(number_map_finds_what_is_in_it_and_nothing_else) {
    struct number_map map, copy;
    struct rng rng = { 3 };
    uint32_t handles[NUMBERS] = { 0 }, before[NUMBERS];
    number_map_init(&map);
    for (int step = 0; step < 20000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, NUMBERS);
        if (handles[i]) {
            number_map_remove(&map, number_at(i));
            number_map_remove(&map, number_at(i)); /* of an unknown number: nothing */
        } else {
            number_map_add(&map, number_at(i), (uint32_t)step + 1);
        }
        handles[i] = handles[i] ? 0 : (uint32_t)step + 1;
        if (step % 1000 == 0)
            check_numbers(&map, handles);
    }
    number_map_copy(&map, &copy);
    memcpy(before, handles, sizeof(handles));
    for (uint32_t i = 0; i < NUMBERS; i++) {
        number_map_remove(&map, number_at(i));
        handles[i] = 0;
    }
    check_numbers(&map, handles);
    number_map_finish(&map);
    check_numbers(&copy, before);
    number_map_finish(&copy);
}

TEST(number_map_that_is_zeroed_is_empty) {
    struct number_map map = { 0 };
    assert_int_equal(number_map_find(&map, 1), 0);
    number_map_remove(&map, 1);
    assert_int_equal(number_map_bytes(&map), 0);
    number_map_finish(&map);
}

/* ---- id_table ---- */

#define TABLE_IDS 500u

struct owner {
    uint64_t id;
    unsigned *cleared; /* NULL: not filled yet */
};

static void owner_clear(void *record) {
    const struct owner *owner = record;
    ++*owner->cleared;
}

TEST(id_table_finds_each_record_until_it_is_dropped) {
    struct id_table table;
    struct rng rng = { 11 };
    unsigned cleared = 0, dropped = 0, present = 0;
    struct owner *at[TABLE_IDS] = { 0 }; /* the naive copy */
    id_table_init(&table, sizeof(struct owner), owner_clear);
    for (int step = 0; step < 20000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, TABLE_IDS);
        uint64_t id = (uint64_t)i << 33 | i;
        assert_ptr_equal(id_table_find(&table, id), at[i]);
        if (rng_below(&rng, 2) == 0) {
            assert_int_equal(id_table_drop(&table, id), at[i] != NULL);
            dropped += at[i] != NULL;
            at[i] = NULL;
        } else {
            struct owner *owner = id_table_find_or_make(&table, id);
            assert_true(owner->id == id);
            assert_ptr_equal(owner->cleared, at[i] ? &cleared : NULL);
            owner->cleared = &cleared;
            at[i] = owner;
        }
        assert_int_equal(cleared, dropped);
    }
    for (uint32_t i = 0; i < TABLE_IDS; i++)
        present += at[i] != NULL;
    assert_int_equal(table.slab.used, present);
    id_table_finish(&table);
    assert_int_equal(cleared, dropped + present); /* none twice */
}

TEST(id_table_that_is_zeroed_is_empty) {
    struct id_table table = { 0 };
    assert_null(id_table_find(&table, 1));
    assert_false(id_table_drop(&table, 1));
    id_table_finish(&table);
}

/* ---- symbol_table ---- */

TEST(symbol_table_gives_each_name_one_number_in_order_of_first_use) {
    struct symbol_table table;
    symbol_table_init(&table);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 3000; i++) {
            char name[32];
            int size = snprintf(name, sizeof(name), "name-%u", i);
            assert_int_equal(symbol_intern(&table, name, (size_t)size), i);
        }
    }
    assert_int_equal(table.count, 3000);
    assert_string_equal(symbol_name(&table, 1), "name-1");
    assert_string_equal(symbol_name(&table, 3000), "name-3000");
    assert_int_equal(symbol_find(&table, "name-77", 7), 77);
    assert_int_equal(symbol_find(&table, "name-3001", 9), 0);
    symbol_table_finish(&table);
}

TEST(symbol_table_compares_whole_names) {
    struct symbol_table table;
    symbol_table_init(&table);
    sym longer = symbol_intern(&table, "review", 6);
    assert_int_equal(symbol_find(&table, "review", 3), 0);
    sym shorter = symbol_intern(&table, "review", 3);
    assert_int_not_equal(longer, shorter);
    assert_string_equal(symbol_name(&table, shorter), "rev");
    assert_int_equal(symbol_find(&table, "reviewer", 6), longer);
    symbol_table_finish(&table);
}

TEST(symbol_table_keeps_zero_for_no_name) {
    struct symbol_table table;
    symbol_table_init(&table);
    assert_string_equal(symbol_name(&table, 0), "");
    assert_int_equal(symbol_intern(&table, "", 0), 0);
    assert_int_equal(symbol_find(&table, "", 0), 0);
    assert_int_equal(table.count, 0);
    symbol_table_finish(&table);
}

TEST(symbol_table_ends_a_name_at_its_first_nul) {
    struct symbol_table table;
    symbol_table_init(&table);
    sym symbol = symbol_intern(&table, "a\0b", 3);
    assert_int_equal(symbol_intern(&table, "a\0b", 3), symbol);
    assert_int_equal(symbol_intern(&table, "a", 1), symbol);
    symbol_table_finish(&table);
}

/* ---- hash ---- */

TEST(hash_bytes_depends_on_every_byte_and_on_the_size) {
    unsigned char bytes[24] = { 0 };
    for (size_t size = 0; size < sizeof(bytes); size++) {
        uint64_t hash = hash_bytes(bytes, size);
        assert_true(hash != hash_bytes(bytes, size + 1));
        for (size_t i = 0; i < size; i++) {
            bytes[i] = 1;
            assert_true(hash != hash_bytes(bytes, size));
            bytes[i] = 0;
        }
    }
}

TEST(hash_bytes_gives_the_same_number_on_every_machine) {
    assert_true(hash_bytes("", 0) == 0xe220a8397b1dcdafu);
    assert_true(hash_bytes("sluice", 6) == 0x3019d727e0e9491u);
    assert_true(hash_bytes("write the parser", 16) == 0x92c85a90ce1fff07u);
    /* the alignment of the bytes must not matter */
    assert_true(hash_bytes(&"xwrite the parser"[1], 16) == 0x92c85a90ce1fff07u);
}

TEST(rng_stays_inside_its_bounds_and_repeats_from_its_seed) {
    struct rng a = { 3 }, b = { 3 };
    bool low = false, high = false;
    for (int i = 0; i < 1000; i++) {
        int64_t value = rng_between(&a, -2, 2);
        assert_true(value == rng_between(&b, -2, 2));
        assert_true(value >= -2 && value <= 2);
        low |= value == -2;
        high |= value == 2;
    }
    assert_true(low && high);
}
