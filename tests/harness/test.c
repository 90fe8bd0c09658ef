#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

static struct test_case *cases;
static size_t count;
static CMFixtureFunction before, after;

/* Sorts by file, then by line: constructors run in the order of the linker. */
static int compare(const struct test_case *a, const struct test_case *b) {
    int by_file = strcmp(a->file, b->file);
    return by_file ? by_file : (a->line > b->line) - (a->line < b->line);
}

void test_register(struct test_case *test) {
    struct test_case **at = &cases;
    while (*at && compare(*at, test) <= 0)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
    count++;
}

void test_group(CMFixtureFunction before_all, CMFixtureFunction after_all) {
    before = before_all;
    after = after_all;
}

int tests_run(void) {
    struct CMUnitTest *units = calloc(count + 1, sizeof(*units));
    size_t n = 0;
    if (!units)
        abort();
    for (const struct test_case *test = cases; test; test = test->next)
        units[n++] = test->unit;
    int failed = _cmocka_run_group_tests("tests", units, n, before, after);
    free(units);
    return failed;
}
