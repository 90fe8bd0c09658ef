/* suite.h: the rules of a store, each written once and run on every backend.
 *
 * A rule gets a new, open store. It may close and open it again (suite_reopen). */
#pragma once

#include "kit.h"

struct suite {
    struct store *store;
    struct store_batch *batch; /* empty */
    struct store_report report;
    const char *url;
};

struct suite_rule {
    const char *name;
    void (*check)(struct suite *suite);
    struct suite_rule *next;
};

void suite_register(struct suite_rule *rule);

/* A rule registers itself, as TEST does. */
#define SUITE_RULE(name_)                                                                          \
    static void name_(struct suite *suite);                                                        \
    __attribute__((constructor)) static void register_##name_(void) {                              \
        static struct suite_rule self = { .name = #name_, .check = name_ };                        \
        suite_register(&self);                                                                     \
    }                                                                                              \
    static void name_(__attribute__((unused)) struct suite *suite)

void suite_reopen(struct suite *suite);
/* Asserts that the text of the store equals `expected`. */
void suite_expect_dump(struct suite *suite, const char *expected);
/* Asserts that the batch fails with this code and changes nothing. */
void suite_expect_failed(struct suite *suite, int code);
