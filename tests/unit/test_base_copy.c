/* test_base_copy.c: deep copies share no memory with the original, and ranks. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/order_list.h"
#include "base/slab.h"
#include "base/symbol_table.h"
#include "base/timer_heap.h"
#include "harness/test.h"

static bool lower_first(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a < b;
}

static bool below(const void *ctx, uint32_t item) {
    return item < *(const uint32_t *)ctx;
}

TEST(rank_counts_the_items_before_at_any_length) {
    static const uint32_t lengths[] = { 0, 1, 7, 8, 9, 256, 257, 700, 3000 };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct order_list list = { 0 };
        struct rng rng = { .state = lengths[i] };
        for (uint32_t n = 0; n < lengths[i]; n++) /* even numbers, shuffled with a prime step */
            order_list_insert(&list, 2 + 2 * (n * 7919u % lengths[i]), lower_first, NULL);
        for (unsigned tries = 0; tries < 200; tries++) {
            uint32_t limit = (uint32_t)rng_below(&rng, 4 * lengths[i] + 6), naive = 0;
            struct order_cursor cursor = { 0 };
            uint32_t item;
            while ((item = order_list_next(&list, &cursor)))
                naive += item < limit;
            assert_int_equal(order_list_rank(&list, below, &limit), naive);
        }
        order_list_finish(&list);
    }
}

TEST(a_copied_order_list_is_independent) {
    struct order_list list = { 0 }, copy;
    for (uint32_t n = 1; n <= 1000; n++)
        order_list_insert(&list, n, lower_first, NULL);
    for (unsigned n = 0; n < 300; n++)
        (void)order_list_pop(&list);
    order_list_copy(&list, &copy);
    for (uint32_t n = 301; n <= 1000; n++)
        assert_int_equal(order_list_pop(&copy), n);
    for (uint32_t n = 1; n <= 600; n++)
        order_list_insert(&copy, n, lower_first, NULL);
    assert_int_equal(order_list_first(&list), 301);
    assert_int_equal(list.count, 700);
    order_list_finish(&list);
    assert_int_equal(copy.count, 600);
    order_list_finish(&copy);
}

TEST(a_copied_slab_gives_the_same_handles) {
    struct slab slab, copy;
    slab_init(&slab, sizeof(uint64_t));
    for (uint64_t n = 1; n <= 2000; n++)
        *(uint64_t *)slab_at(&slab, slab_alloc(&slab)) = n;
    slab_free(&slab, 17);
    slab_copy(&slab, &copy);
    assert_int_equal(*(uint64_t *)slab_at(&copy, 2000), 2000);
    assert_int_equal(slab_alloc(&copy), 17);
    assert_int_equal(slab_alloc(&slab), 17);
    assert_int_equal(slab_alloc(&copy), slab_alloc(&slab));
    *(uint64_t *)slab_at(&copy, 5) = 99;
    assert_int_equal(*(uint64_t *)slab_at(&slab, 5), 5);
    slab_finish(&slab);
    assert_int_equal(*(uint64_t *)slab_at(&copy, 1999), 1999);
    slab_finish(&copy);
}

static void note_position(void *ctx, uint32_t handle, uint32_t position) {
    ((uint32_t *)ctx)[handle] = position;
}

TEST(a_copied_heap_notifies_its_own_owner) {
    uint32_t first[8] = { 0 }, second[8] = { 0 };
    struct timer_heap heap, copy;
    timer_heap_init(&heap, note_position, first);
    for (uint32_t n = 1; n < 8; n++)
        timer_heap_add(&heap, 10 * (8 - (time_ms)n), 0, n);
    memcpy(second, first, sizeof(first));
    timer_heap_copy(&heap, second, &copy);
    timer_heap_remove(&copy, second[7]);
    assert_int_equal(second[7], 0);
    assert_int_not_equal(first[7], 0);
    assert_int_equal(timer_heap_pop(&heap, 10), 7);
    assert_int_equal(timer_heap_pop(&copy, 10), 0);
    assert_int_equal(timer_heap_pop(&copy, 20), 6);
    timer_heap_finish(&heap);
    timer_heap_finish(&copy);
}

TEST(copied_symbols_keep_their_numbers) {
    struct symbol_table table, copy;
    char name[16];
    symbol_table_init(&table);
    for (int i = 1; i <= 500; i++)
        (void)symbol_intern(&table, name, (size_t)snprintf(name, sizeof(name), "name-%d", i));
    symbol_table_copy(&table, &copy);
    symbol_table_finish(&table);
    assert_int_equal(symbol_find(&copy, "name-321", 8), 321);
    assert_string_equal(symbol_name(&copy, 500), "name-500");
    assert_int_equal(symbol_intern(&copy, "another", 7), 501);
    symbol_table_finish(&copy);
}
