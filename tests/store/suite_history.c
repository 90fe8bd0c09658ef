/* suite_history.c: every store agrees with the reference after random batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "history.h"
#include "suite.h"

#define BATCHES 150

/* Writes the same batch to both stores. */
static void commit_both(struct suite *suite, struct store *reference, struct history *history,
                        struct store_batch *batch) {
    struct history again = *history;
    again.ahead = NULL;
    struct error err = { 0 }, wanted = { 0 };
    history_next(history, suite->batch);
    history_next(&again, batch);
    enum store_outcome expected = kit_try(reference, batch, &wanted);
    enum store_outcome outcome = kit_try(suite->store, suite->batch, &err);
    if (outcome != expected || err.code != wanted.code)
        fail_msg("a batch is %s (%s), the reference says %s (%s)", store_outcome_name(outcome),
                 err.text, store_outcome_name(expected), wanted.text);
}

static void expect_same(struct suite *suite, struct store *reference) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_dump(reference, &expected);
    suite_expect_dump(suite, strbuf_text(&expected));
}

static void play(struct suite *suite, uint64_t seed, bool ahead) {
    struct store *reference = kit_open("memory:", NULL);
    struct store_batch *batch = store_batch_new();
    struct history history = history_begin(seed, true);
    for (unsigned i = 0; i < BATCHES; i++) {
        history.ahead = ahead ? suite->store : NULL;
        commit_both(suite, reference, &history, batch);
        if (i % 10 == 9)
            expect_same(suite, reference);
        if (i % 25 == 24)
            suite_reopen(suite);
    }
    expect_same(suite, reference);
    store_batch_free(batch);
    store_close(reference);
}

#define HISTORY(seed)                                                                              \
    SUITE_RULE(history_##seed##_gives_what_the_reference_gives) {                                  \
        play(suite, seed, seed > 4);                                                               \
    }                                                                                              \
    struct history_needs_a_semicolon_
HISTORY(1);
HISTORY(2);
HISTORY(3);
HISTORY(4);
HISTORY(5); /* from here on, parts are sent ahead */
HISTORY(6);
