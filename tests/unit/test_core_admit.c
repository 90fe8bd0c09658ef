/* test_core_admit.c: which of several new tasks fit into the queue. */

#include "base/macros.h"
#include "core/task_graph.h"
#include "harness/test.h"

#define MOST 16

/* Edges are pairs "task → dependency", sorted by task; a pair of equal numbers ends the list. */
struct arrow {
    uint32_t from, to;
};

static bool deferred[MOST];

static uint32_t fill(uint32_t nodes, amount room, const struct arrow *arrows, const char *waits) {
    uint32_t starts[MOST + 1] = { 0 }, targets[MOST] = { 0 }, count = 0;
    bool takes[MOST];
    for (uint32_t node = 0; node < nodes; node++) {
        starts[node] = count;
        for (const struct arrow *a = arrows; a->from != a->to; a++)
            if (a->from == node)
                targets[count++] = a->to;
        takes[node] = !waits || waits[node] == 'w';
    }
    starts[nodes] = count;
    struct admit_request request = { starts, targets, takes, nodes, room };
    return admit_fill(&request, deferred);
}

static const struct arrow none[] = { { 0, 0 } };

static void assert_deferred(const char *pattern) {
    for (size_t i = 0; pattern[i]; i++)
        assert_int_equal(deferred[i], pattern[i] == 'd');
}

TEST(independent_tasks_fill_the_room_in_their_order) {
    assert_int_equal(fill(5, 3, none, NULL), 2);
    assert_deferred("...dd");
    assert_int_equal(fill(5, 5, none, NULL), 0);
    assert_int_equal(fill(5, 0, none, NULL), 5);
    assert_int_equal(fill(5, UNLIMITED, none, NULL), 0);
    assert_int_equal(fill(0, 0, none, NULL), 0);
}

TEST(drafts_take_no_room) {
    assert_int_equal(fill(5, 1, none, "dwwdw"), 2);
    assert_deferred("..d.d");
}

TEST(a_task_comes_with_what_it_needs_or_not_at_all) {
    static const struct arrow chain[] = { { 0, 1 }, { 1, 2 }, { 4, 0 }, { 0, 0 } };
    assert_int_equal(fill(5, 3, chain, NULL), 2); /* 0 requires 1 and 2 */
    assert_deferred("...dd");
    assert_int_equal(fill(5, 2, chain, NULL), 3); /* 0 does not fit; 1 with 2 does */
    assert_deferred("d..dd");
    static const struct arrow on_deferred[] = { { 1, 0 }, { 0, 0 } };
    assert_int_equal(fill(2, 0, on_deferred, "wd"),
                     2); /* a draft that depends on a deferred task */
}

TEST(tasks_that_need_each_other_stay_together) {
    static const struct arrow ring[] = { { 0, 1 }, { 1, 2 }, { 2, 0 }, { 0, 0 } };
    assert_int_equal(fill(4, 2, ring, NULL), 3);
    assert_deferred("ddd."); /* the next task that fits is accepted */
    assert_int_equal(fill(4, 3, ring, NULL), 1);
    assert_deferred("...d");
}

TEST(what_is_outside_does_not_matter) {
    static const struct arrow outside[] = { { 0, 9 }, { 1, 1000 }, { 0, 0 } };
    assert_int_equal(fill(2, 2, outside, NULL), 0);
}
