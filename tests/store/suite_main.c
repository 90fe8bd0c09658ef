/* suite_main.c: runs every rule of the suite on every backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "suite.h"

#define TESTS_MOST 512

/* The URL of the n-th store. */
static void memory_url(const char *folder, size_t n, char url[256]) {
    (void)folder;
    (void)snprintf(url, 256, "memory:%zu", n);
}

static void sqlite_url(const char *folder, size_t n, char url[256]) {
    (void)snprintf(url, 256, "%s/%zu/store.db", folder, n);
}

static void postgres_url(const char *folder, size_t n, char url[256]) {
    (void)folder;
    kit_postgres_url(n, url);
}

/* PostgreSQL is tested only if SLUICE_TEST_POSTGRES names a server; without a loop, as in tools, and with one, as in the
 * daemon. */
static const struct {
    const char *name;
    void (*url)(const char *folder, size_t n, char url[256]);
    bool needs_server, has_loop;
} backends[] = {
    { "memory", memory_url, false, false },
    { "sqlite", sqlite_url, false, false },
    { "sqlite with a loop", sqlite_url, false, true },
    { "postgresql", postgres_url, true, false },
    { "postgresql with a loop", postgres_url, true, true },
};

static struct suite_rule *rules;

struct test {
    char name[128], url[256];
    const struct suite_rule *rule;
    bool has_loop;
};

static struct test tests[TESTS_MOST];
static struct CMUnitTest units[TESTS_MOST];
static size_t count;

void suite_register(struct suite_rule *rule) {
    rule->next = rules;
    rules = rule;
}

void suite_reopen(struct suite *suite) {
    suite->store = store_close(suite->store);
    suite->store = kit_open(suite->url, &suite->report);
}

void suite_expect_dump(struct suite *suite, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT;
    kit_dump(suite->store, &now);
    assert_string_equal(strbuf_text(&now), expected);
}

void suite_expect_failed(struct suite *suite, int code) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    kit_dump(suite->store, &before);
    struct error err = { 0 };
    assert_string_equal(store_outcome_name(kit_try(suite->store, suite->batch, &err)), "failed");
    if (err.code != code)
        fail_msg("the code is %d instead of %d: %s", err.code, code, err.text);
    suite_expect_dump(suite, strbuf_text(&before));
}

static void run_one(void **state) {
    const struct test *test = *state;
    struct suite suite = { .url = test->url, .batch = store_batch_new() };
    struct error err = { 0 };
    if (test->has_loop && loop_new(&kit_loop, &err) < 0)
        fail_msg("%s", err.text);
    suite.store = kit_open(test->url, &suite.report);
    test->rule->check(&suite);
    store_close(suite.store);
    store_batch_free(suite.batch);
    kit_loop = loop_free(kit_loop);
}

static void add_test(const char *folder, size_t backend, const struct suite_rule *rule) {
    if (count == TESTS_MOST) {
        (void)fprintf(stderr, "more than %d tests: raise TESTS_MOST\n", TESTS_MOST);
        abort();
    }
    struct test *test = &tests[count];
    test->rule = rule;
    test->has_loop = backends[backend].has_loop;
    (void)snprintf(test->name, sizeof(test->name), "%s: %s", backends[backend].name, rule->name);
    backends[backend].url(folder, count, test->url);
    units[count++] =
        (struct CMUnitTest){ .name = test->name, .test_func = run_one, .initial_state = test };
}

static void add_tests(const char *folder) {
    for (size_t b = 0; b < ARRAY_SIZE(backends); b++)
        for (const struct suite_rule *rule = rules; rule; rule = rule->next)
            if (!backends[b].needs_server || kit_postgres())
                add_test(folder, b, rule);
}

int main(void) {
    _cleanup_(freep) char *folder = kit_folder();
    add_tests(folder);
    int failed = _cmocka_run_group_tests("store", units, count, NULL, NULL);
    kit_remove_folder(folder);
    kit_postgres_finish();
    return failed;
}
