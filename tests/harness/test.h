/* test.h: tests that register themselves.
 *
 *     TEST(a_rule_in_words) { assert_true(...); }
 *     TEST_WITH(a_rule_in_words, set_up, tear_down) { ... *state ... }
 *     TEST_GROUP(before_all, after_all)
 *
 * No list of tests is needed: `main` of the harness runs all tests of a program in source order. Arguments of the
 * program select tests by name, with the wildcards * and ?. A program with its own `main` calls tests_run() at the
 * end. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct test_case {
    struct CMUnitTest unit;
    const char *file;
    int line;
    struct test_case *next;
};

void test_register(struct test_case *test);
void test_group(CMFixtureFunction before_all, CMFixtureFunction after_all);

/* Returns the number of failed tests. */
int tests_run(void);

/* Declares and registers one test; ends with a semicolon. A macro of a suite may register a function more than once. */
#define TEST_REGISTER(function_, id_, title_, set_up_, tear_down_, initial_)                       \
    __attribute__((constructor)) static void register_##id_(void) {                                \
        static struct test_case self = { .unit = { title_, function_, set_up_, tear_down_,         \
                                                   initial_ },                                     \
                                         .file = __FILE__,                                         \
                                         .line = __LINE__ };                                       \
        test_register(&self);                                                                      \
    }                                                                                              \
    struct test_case

#define TEST_FUNCTION(name_) static void name_(__attribute__((unused)) void **state)

#define TEST_WITH(name_, set_up_, tear_down_)                                                      \
    TEST_FUNCTION(name_);                                                                          \
    TEST_REGISTER(name_, name_, #name_, set_up_, tear_down_, NULL);                                \
    TEST_FUNCTION(name_)

#define TEST(name_) TEST_WITH(name_, NULL, NULL)

#define TEST_GROUP(before_all_, after_all_)                                                        \
    __attribute__((constructor)) static void register_group(void) {                                \
        test_group(before_all_, after_all_);                                                       \
    }
