/* test_executor_run_table.c: a run is found by its key while it is in the table, and its folder is not taken for
 * another's. */

#include "executor/run_table.h"
#include "harness/test.h"

static struct run_table table;
static int runs[8]; /* the table does not dereference it */

static int open_table(void **state) {
    (void)state;
    run_table_init(&table);
    return 0;
}

static int close_table(void **state) {
    (void)state;
    run_table_finish(&table);
    return 0;
}

static struct run_key key(task_id task, uint32_t attempt) {
    return (struct run_key){ .task = task, .attempt = attempt };
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, open_table, close_table)

FIXTURE_TEST(a_run_is_found_while_it_is_in_the_table) {
    assert_null(run_table_find(&table, key(7, 1)));
    uint32_t first = run_table_add(&table, &runs[0], key(7, 1), "web-7/1");
    uint32_t second = run_table_add(&table, &runs[1], key(7, 2), "web-7/2");
    assert_ptr_equal(run_table_find(&table, key(7, 1)), &runs[0]);
    assert_ptr_equal(run_table_find(&table, key(7, 2)), &runs[1]);
    run_table_remove(&table, first);
    assert_null(run_table_find(&table, key(7, 1)));
    assert_null(run_table_at(&table, first));
    assert_ptr_equal(run_table_at(&table, second), &runs[1]);
    assert_false(run_table_has_folder(&table, "web-7/1"));
}

FIXTURE_TEST(numbers_are_given_again_and_never_0) {
    uint32_t first = run_table_add(&table, &runs[0], key(1, 1), "web-1/1");
    uint32_t second = run_table_add(&table, &runs[1], key(2, 1), "web-2/1");
    assert_true(first > 0 && second > 0 && first != second);
    run_table_remove(&table, first);
    assert_int_equal(run_table_add(&table, &runs[2], key(3, 1), "web-3/1"), first);
    assert_ptr_equal(run_table_find(&table, key(3, 1)), &runs[2]);
    assert_null(run_table_find(&table, key(1, 1)));
    assert_int_equal(table.count, 3);
}

/* Two runs with the same key that only the sweep has found: no result. */
FIXTURE_TEST(a_run_without_a_task_is_found_by_its_folder_alone) {
    uint32_t first = run_table_add(&table, &runs[0], key(0, 0), "old-1/1");
    (void)run_table_add(&table, &runs[1], key(0, 0), "old-2/1");
    assert_null(run_table_find(&table, key(0, 0)));
    assert_true(run_table_has_folder(&table, "old-2/1"));
    run_table_remove(&table, first);
    assert_true(run_table_has_folder(&table, "old-2/1"));
}

/* Folders of tasks that are not in the table are deleted: a live web-17 protects neither web-1 nor web-171. */
FIXTURE_TEST(a_task_is_not_taken_for_one_whose_name_begins_like_it) {
    (void)run_table_add(&table, &runs[0], key(17, 2), "web-17/2");
    assert_true(run_table_has_task(&table, "web-17"));
    assert_false(run_table_has_task(&table, "web-1"));
    assert_false(run_table_has_task(&table, "web-171"));
    assert_true(run_table_has_folder(&table, "web-17/2"));
    assert_false(run_table_has_folder(&table, "web-17/20"));
    assert_false(run_table_has_folder(&table, "web-17"));
}
