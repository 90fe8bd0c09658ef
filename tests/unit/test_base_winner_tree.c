/* test_base_winner_tree.c: compares the winner tree with a search through all items.
 *
 * Seeds are fixed, so a failure is reproducible. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/winner_tree.h"
#include "harness/test.h"

#define ITEMS_MAX 2000u

/* An item costs `cost − slope · ratio`; it is urgent from `urgent_at` on and then comes before all
 * that are not, and takes part only from `from` on. */
struct item {
    int64_t cost, slope;
    time_ms urgent_at, from;
    uint32_t slot; /* in the tree */
};

struct winner_test {
    struct winner_tree tree;
    struct item items[ITEMS_MAX + 1]; /* from 1 */
    uint32_t count;
    time_ms now;
    int64_t ratio;
    uint64_t comparisons, renewals;
};

static bool renew(void *ctx, uint32_t item, time_ms *until) {
    struct winner_test *t = ctx;
    t->renewals++;
    if (t->now >= t->items[item].from)
        return true;
    *until = t->items[item].from;
    return false;
}

static bool is_urgent(const struct winner_test *t, const struct item *k) {
    return t->now >= k->urgent_at;
}

static time_ms changes_at(const struct winner_test *t, const struct item *k) {
    return is_urgent(t, k) ? TIME_NEVER : k->urgent_at;
}

static bool before(const void *ctx, uint32_t a, uint32_t b, struct winner_bounds *bounds) {
    const struct winner_test *t = ctx;
    const struct item *ka = &t->items[a], *kb = &t->items[b];
    ((struct winner_test *)(uintptr_t)ctx)->comparisons++;
    time_ms at = time_min(changes_at(t, ka), changes_at(t, kb));
    bounds->until = time_min(bounds->until, at);
    if (is_urgent(t, ka) != is_urgent(t, kb))
        return is_urgent(t, ka);
    int64_t cost = ka->cost - kb->cost, slope = ka->slope - kb->slope;
    int64_t gap = cost - slope * t->ratio;
    if (slope != 0) {
        double turn = (double)cost / (double)slope;
        if (gap == 0)
            winner_bounds_narrow(bounds, INFINITY, -INFINITY);
        else if ((gap < 0) == (slope > 0))
            winner_bounds_narrow(bounds, turn, INFINITY);
        else
            winner_bounds_narrow(bounds, -INFINITY, turn);
    }
    return gap != 0 ? gap < 0 : a < b;
}

static const struct winner_rules rules = { renew, before };

static uint32_t first_of(struct winner_test *t) {
    return winner_tree_first(&t->tree, &rules, t, t->now, (double)t->ratio);
}

static uint32_t first_by_search(struct winner_test *t) {
    uint32_t best = 0;
    struct winner_bounds unused = { 0 };
    for (uint32_t i = 1; i <= t->count; i++)
        if (t->now >= t->items[i].from && (!best || before(t, i, best, &unused)))
            best = i;
    return best;
}

static void draw(struct winner_test *t, struct rng *rng, uint32_t item) {
    struct item *k = &t->items[item];
    k->cost = (int64_t)rng_below(rng, 1000);
    k->slope = (int64_t)rng_below(rng, 4);
    k->from = rng_below(rng, 4) == 0 ? t->now + (time_ms)rng_below(rng, 200) : 0;
    k->urgent_at = t->now + (time_ms)rng_below(rng, 400);
}

static void add(struct winner_test *t, struct rng *rng) {
    uint32_t item = ++t->count;
    draw(t, rng, item);
    t->items[item].slot = winner_tree_add(&t->tree, item);
}

/* The last item gets the number of the removed one, so that those in use are 1 to count. */
static void remove_item(struct winner_test *t, uint32_t item) {
    uint32_t slot = t->items[item].slot, moved = winner_tree_remove(&t->tree, slot);
    if (moved)
        t->items[moved].slot = slot;
    uint32_t last = t->count--;
    if (item == last)
        return;
    slot = t->items[last].slot;
    moved = winner_tree_remove(&t->tree, slot);
    if (moved)
        t->items[moved].slot = slot;
    t->items[item] = t->items[last];
    t->items[item].slot = winner_tree_add(&t->tree, item);
}

static struct winner_test *winner_test_new(uint32_t count, struct rng *rng) {
    struct winner_test *t = xcalloc(1, sizeof(*t));
    for (uint32_t i = 0; i < count; i++)
        add(t, rng);
    return t;
}

static void winner_test_free(struct winner_test *t) {
    winner_tree_finish(&t->tree);
    assert_int_equal(winner_tree_bytes(&t->tree), 0);
    free(t);
}

static void change(struct winner_test *t, struct rng *rng) {
    uint64_t what = rng_below(rng, 8);
    uint32_t item = t->count ? 1 + (uint32_t)rng_below(rng, t->count) : 0;
    if (what == 0 && t->count < 60) {
        add(t, rng);
    } else if (what == 1 && item) {
        remove_item(t, item);
    } else if (what < 5 && item) {
        draw(t, rng, item);
        (void)winner_tree_touch(&t->tree, t->items[item].slot);
    } else if (what == 5) {
        t->now += (time_ms)rng_below(rng, 20);
    } else if (what == 6) {
        t->ratio = (int64_t)rng_below(rng, 300);
    } else if (what == 7 && rng_below(rng, 20) == 0) {
        winner_tree_touch_all(&t->tree);
    }
}

TEST(winner_tree_finds_what_a_search_finds_after_every_change) {
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = { seed };
        struct winner_test *t = winner_test_new((uint32_t)(seed % 40), &rng);
        for (int i = 0; i < 400; i++) {
            for (uint64_t n = rng_below(&rng, 4); n > 0; n--)
                change(t, &rng);
            assert_int_equal(first_of(t), first_by_search(t));
        }
        winner_test_free(t);
    }
}

TEST(winner_tree_copy_goes_its_own_way) {
    struct rng rng = { 7 };
    struct winner_test *t = winner_test_new(33, &rng), *copy = xmalloc(sizeof(*copy));
    (void)first_of(t);
    *copy = *t;
    winner_tree_copy(&t->tree, &copy->tree);
    for (int i = 0; i < 300; i++) {
        change(i % 2 ? t : copy, &rng);
        assert_int_equal(first_of(t), first_by_search(t));
        assert_int_equal(first_of(copy), first_by_search(copy));
    }
    winner_test_free(copy);
    winner_test_free(t);
}

TEST(winner_tree_says_until_when_the_first_stays) {
    struct rng rng = { 3 };
    struct winner_test *t = winner_test_new(50, &rng);
    for (uint32_t i = 1; i <= t->count; i++)
        t->items[i].slope = 0;
    for (int i = 0; i < 200; i++) {
        uint32_t first = first_of(t);
        time_ms until = winner_tree_until(&t->tree);
        if (until == TIME_NEVER)
            break;
        t->now = until - 1;
        assert_int_equal(first_by_search(t), first);
        t->now = until;
    }
    assert_int_equal(winner_tree_until(&t->tree), TIME_NEVER);
    winner_test_free(t);
}

TEST(winner_tree_compares_along_one_path_for_one_change) {
    struct rng rng = { 5 };
    struct winner_test *t = winner_test_new(1024, &rng);
    t->now = 1000;   /* all take part, all are urgent: nothing changes by itself */
    t->ratio = 1001; /* no two items are equal */
    (void)first_of(t);
    t->comparisons = t->renewals = 0;
    (void)first_of(t);
    assert_int_equal(t->comparisons + t->renewals, 0);
    for (int i = 0; i < 100; i++) {
        uint32_t item = 1 + (uint32_t)rng_below(&rng, t->count);
        t->items[item].cost = (int64_t)rng_below(&rng, 1000);
        assert_true(winner_tree_touch(&t->tree, t->items[item].slot));
        assert_false(winner_tree_touch(&t->tree, t->items[item].slot));
        t->comparisons = t->renewals = 0;
        (void)first_of(t);
        assert_int_equal(t->renewals, 1);
        assert_true(t->comparisons <= 11);
    }
    winner_test_free(t);
}

TEST(winner_tree_that_is_zeroed_is_empty) {
    struct winner_test t = { 0 };
    assert_int_equal(first_of(&t), 0);
    assert_int_equal(winner_tree_until(&t.tree), TIME_NEVER);
    assert_int_equal(winner_tree_bytes(&t.tree), 0);
    winner_tree_touch_all(&t.tree);
    winner_tree_finish(&t.tree);
}
