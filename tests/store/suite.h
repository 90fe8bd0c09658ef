/* suite.h: the rules of a store, each written once and run on every backend.
 *
 * A rule gets a store that is new and open. It may close and open it again (suite_reopen). */
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
};

#define SUITE_RULE(function)                                                                       \
    { #function, function }

/* Each list ends with a rule without a name. */
extern const struct suite_rule suite_tasks[], suite_rest[], suite_questions[], suite_whole[],
    suite_history[];

void suite_reopen(struct suite *suite);
/* The text of the store equals `expected`. */
void suite_expect_dump(struct suite *suite, const char *expected);
/* The batch must fail with this code, and change nothing. */
void suite_expect_failed(struct suite *suite, int code);
