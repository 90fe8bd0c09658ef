/* test_base_order_list.c: compares the ordered list with a sorted array.
 *
 * Seeds are fixed, so a failure is reproducible. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/order_list.h"
#include "harness/test.h"

#define ITEMS_MAX 120001u

/* Items are ordered by key, then by handle; `sorted` is the naive copy. */
struct order_test {
    struct order_list list;
    uint64_t key[ITEMS_MAX];
    uint32_t sorted[ITEMS_MAX];
    uint32_t count;
    uint32_t next_item;
    uint64_t comparisons;
};

static bool key_before(const void *ctx, uint32_t a, uint32_t b) {
    const struct order_test *t = ctx;
    ((struct order_test *)(uintptr_t)ctx)->comparisons++;
    return t->key[a] != t->key[b] ? t->key[a] < t->key[b] : a < b;
}

static struct order_test *order_test_new(void) {
    struct order_test *t = xcalloc(1, sizeof(*t));
    t->next_item = 1;
    return t;
}

static void order_test_free(struct order_test *t) {
    order_list_finish(&t->list);
    assert_int_equal(order_list_bytes(&t->list), 0);
    free(t);
}

static void order_test_insert(struct order_test *t, uint64_t key) {
    uint32_t item = t->next_item++;
    t->key[item] = key;
    order_list_insert(&t->list, item, key_before, t);
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (key_before(t, t->sorted[middle], item))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(t->sorted + low + 1, t->sorted + low, (t->count - low) * sizeof(uint32_t));
    t->sorted[low] = item;
    t->count++;
}

static void order_test_forget(struct order_test *t, uint32_t index) {
    t->count--;
    memmove(t->sorted + index, t->sorted + index + 1, (t->count - index) * sizeof(uint32_t));
}

static void order_test_remove(struct order_test *t, uint32_t index) {
    order_list_remove(&t->list, t->sorted[index], key_before, t);
    order_test_forget(t, index);
}

static void order_test_pop(struct order_test *t) {
    assert_int_equal(order_list_pop(&t->list), t->count ? t->sorted[0] : ORDER_LIST_NONE);
    if (t->count > 0)
        order_test_forget(t, 0);
}

static void order_test_check_ends(const struct order_test *t) {
    assert_int_equal(t->list.count, t->count);
    assert_int_equal(order_list_first(&t->list), t->count > 0 ? t->sorted[0] : ORDER_LIST_NONE);
}

static void order_test_check_all(const struct order_test *t) {
    struct order_cursor cursor = { 0 };
    uint32_t item, seen = 0;
    while ((item = order_list_next(&t->list, &cursor))) {
        assert_true(seen < t->count);
        assert_int_equal(item, t->sorted[seen++]);
    }
    assert_int_equal(seen, t->count);
}

/* One step; `growth` percent of the steps insert. Keys near `clock` arrive nearly in order. */
static void order_test_step(struct order_test *t, struct rng *rng, unsigned growth,
                            uint64_t clock) {
    if (rng_below(rng, 100) < growth || t->count == 0) {
        switch (rng_below(rng, 8)) {
        case 0: /* anywhere */
            order_test_insert(t, rng_below(rng, clock + 1));
            break;
        case 1: /* at the front; later items go further to the front */
            order_test_insert(t, (1u << 20) - clock);
            break;
        case 2: /* the same key as another item */
            order_test_insert(t, t->count ? t->key[t->sorted[rng_below(rng, t->count)]] : clock);
            break;
        default: /* at the end or near it */
            order_test_insert(t, (1u << 20) + clock - rng_below(rng, 3));
            break;
        }
    } else if (rng_below(rng, 2)) {
        order_test_pop(t);
    } else {
        order_test_remove(t, (uint32_t)rng_below(rng, t->count));
    }
}

TEST(order_list_keeps_order_under_random_inserts_and_removals) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct order_test *t = order_test_new();
        struct rng rng = { seed };
        for (unsigned step = 0; step < 100000; step++) {
            /* the length varies between zero and a few thousand items */
            unsigned growth = step / 12500 % 2 ? 25 : 75;
            order_test_step(t, &rng, growth, step);
            order_test_check_ends(t);
            if (step % 1000 == 0)
                order_test_check_all(t);
        }
        while (t->count > 0)
            order_test_remove(t, (uint32_t)rng_below(&rng, t->count));
        order_test_check_all(t);
        order_test_free(t);
    }
}

TEST(order_list_keeps_order_when_the_length_stays_small) {
    struct order_test *t = order_test_new();
    struct rng rng = { 7 };
    for (unsigned step = 0; step < 100000; step++) {
        order_test_step(t, &rng, t->count < 6 ? 60 : 30, step);
        order_test_check_ends(t);
        if (step % 16 == 0)
            order_test_check_all(t);
    }
    order_test_free(t);
}

TEST(order_list_keeps_order_when_all_arrive_in_reverse) {
    struct order_test *t = order_test_new();
    for (uint64_t i = 0; i < 10000; i++) {
        order_test_insert(t, 10000 - i);
        order_test_check_ends(t);
    }
    order_test_check_all(t);
    assert_true(order_list_bytes(&t->list) < 10000 * 6);
    order_test_free(t);
}

TEST(order_list_appends_with_one_comparison_and_pops_with_none) {
    struct order_test *t = order_test_new();
    for (uint32_t item = 1; item <= 100000; item++) {
        t->key[item] = item;
        order_list_insert(&t->list, item, key_before, t);
        assert_true(t->comparisons <= item);
    }
    t->comparisons = 0;
    for (uint32_t item = 1; item <= 100000; item++)
        assert_int_equal(order_list_pop(&t->list), item);
    assert_int_equal(t->comparisons, 0);
    order_test_free(t);
}

TEST(order_list_costs_about_four_bytes_per_item_in_order) {
    struct order_test *t = order_test_new();
    for (uint32_t item = 1; item <= 100000; item++) {
        t->key[item] = item;
        order_list_insert(&t->list, item, key_before, t);
    }
    assert_true(order_list_bytes(&t->list) < 100000 * 4.2);
    order_test_free(t);
}

TEST(order_list_with_one_item_is_small) {
    struct order_test *t = order_test_new();
    order_test_insert(t, 1);
    assert_true(order_list_bytes(&t->list) <= 64);
    order_test_free(t);
}

TEST(order_list_that_becomes_empty_gives_its_memory_back) {
    struct order_test *t = order_test_new();
    for (uint64_t i = 0; i < 5000; i++)
        order_test_insert(t, i);
    while (t->count > 0)
        order_test_pop(t);
    assert_true(order_list_bytes(&t->list) <= 256);
    order_test_free(t);
}

TEST(order_list_between_none_and_one_item_keeps_its_chunk) {
    struct order_test *t = order_test_new();
    order_test_insert(t, 1);
    struct order_chunk *chunk = t->list.chunks[0];
    for (uint64_t i = 2; i < 100; i++) {
        order_test_pop(t);
        order_test_check_all(t);
        order_test_insert(t, i);
        assert_ptr_equal(t->list.chunks[t->list.first_chunk], chunk);
    }
    order_test_free(t);
}

TEST(order_list_queue_of_steady_length_does_not_grow) {
    struct order_test *t = order_test_new();
    for (uint64_t i = 0; i < 100; i++)
        order_test_insert(t, i);
    for (uint64_t i = 100; i < 50000; i++) {
        order_test_pop(t);
        order_test_insert(t, i);
    }
    order_test_check_all(t);
    assert_true(order_list_bytes(&t->list) <= 2200);
    order_test_free(t);
}

TEST(order_list_thinned_out_in_the_middle_does_not_stay_large) {
    struct order_test *t = order_test_new();
    struct rng rng = { 11 };
    for (uint64_t i = 0; i < 50000; i++)
        order_test_insert(t, i);
    while (t->count > 500)
        order_test_remove(t, 1 + (uint32_t)rng_below(&rng, t->count - 1));
    order_test_check_all(t);
    assert_true(order_list_bytes(&t->list) < 500 * 32);
    order_test_free(t);
}

TEST(order_list_loses_a_chunk_whose_only_item_is_removed) {
    struct order_test *t = order_test_new();
    for (uint64_t i = 0; i <= 2 * ORDER_LIST_CHUNK; i++)
        order_test_insert(t, i);
    size_t before = order_list_bytes(&t->list);
    order_test_remove(t, t->count - 1);
    assert_true(order_list_bytes(&t->list) < before);
    order_test_check_all(t);
    order_test_insert(t, 9999);
    order_test_check_all(t);
    order_test_free(t);
}

TEST(order_list_that_is_zeroed_is_empty) {
    struct order_list list = { 0 };
    struct order_cursor cursor = { 0 };
    assert_int_equal(order_list_first(&list), ORDER_LIST_NONE);
    assert_int_equal(order_list_pop(&list), ORDER_LIST_NONE);
    assert_int_equal(order_list_next(&list, &cursor), ORDER_LIST_NONE);
    assert_int_equal(order_list_bytes(&list), 0);
    order_list_finish(&list);
}
