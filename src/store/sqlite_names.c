/* sqlite_names.c: names that many rows share, as small numbers.
 *
 * All names are in memory: there are as many as projects, kinds, agents, hosts and words, not as
 * many as tasks. So a million rows are read without a join. A name is written with the first batch
 * that uses it; if that batch fails, with the next one.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite_internal.h"

static const char *word(enum word_list list, unsigned value) {
    switch (list) {
    case WORDS_STATE:
        return task_state_name((enum task_state)value);
    case WORDS_HOLD:
        return hold_name((enum hold)value);
    case WORDS_PHASE:
        return run_phase_name((enum run_phase)value);
    case WORDS_UNTIL:
        return until_name((enum until)value);
    case WORDS_PARENT_GATE:
        return parent_gate_name((enum parent_gate)value);
    case WORDS_OUTCOME:
        return outcome_name((enum outcome)value);
    case WORDS_REASON:
        return reason_name((enum reason)value);
    case WORDS_STOP:
        return stop_wish_name((enum stop_wish)value);
    case WORD_LISTS:
        break;
    }
    return "";
}

static const unsigned word_counts[] = {
    [WORDS_STATE] = TASK_STATE_MAX,
    [WORDS_HOLD] = HOLD_MAX,
    [WORDS_PHASE] = PHASE_MAX,
    [WORDS_UNTIL] = UNTIL_MAX,
    [WORDS_PARENT_GATE] = PARENT_GATE_MAX,
    [WORDS_OUTCOME] = OUTCOME_MAX,
    [WORDS_REASON] = REASON_MAX,
    [WORDS_STOP] = STOP_WISH_MAX,
};
_Static_assert(ARRAY_SIZE(word_counts) == WORD_LISTS, "a list of words has no length");
_Static_assert(REASON_MAX <= WORDS_MOST, "an enum has more values than WORDS_MOST");

sym sqlite_name(struct sqlite_store *store, const char *name) {
    return name ? symbol_intern(&store->names, name, strlen(name)) : 0;
}

const char *sqlite_name_text(const struct sqlite_store *store, int64_t number, bool *damaged) {
    if (number == 0)
        return NULL;
    if (number < 0 || number > store->names.count) {
        *damaged = true;
        return NULL;
    }
    return symbol_name(&store->names, (sym)number);
}

static void learn_words(struct sqlite_store *store) {
    struct sqlite_words *words = &store->words;
    for (unsigned list = 0; list < WORD_LISTS; list++) {
        assert(word_counts[list] <= WORDS_MOST);
        for (unsigned value = 0; value < word_counts[list]; value++) {
            sym number = sqlite_name(store, word((enum word_list)list, value));
            words->of_value[list][value] = number;
            if (number > words->highest)
                words->highest = number;
        }
    }
    for (unsigned list = 0; list < WORD_LISTS; list++) {
        words->value_of[list] = xmalloc((size_t)words->highest + 1);
        memset(words->value_of[list], -1, (size_t)words->highest + 1);
        for (unsigned value = 0; value < word_counts[list]; value++)
            words->value_of[list][words->of_value[list][value]] = (int8_t)value;
    }
}

sym sqlite_word(const struct sqlite_store *store, enum word_list list, unsigned value) {
    assert(list < WORD_LISTS && value < word_counts[list]);
    return store->words.of_value[list][value];
}

unsigned sqlite_word_value(const struct sqlite_store *store, enum word_list list, int64_t number,
                           bool *damaged) {
    if (number >= 0 && number <= store->words.highest) {
        int8_t value = store->words.value_of[list][number];
        if (value >= 0)
            return (unsigned)value;
    }
    *damaged = true;
    return 0;
}

int sqlite_names_load(struct sqlite_store *store, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc =
        sqlite3_prepare_v2(store->db, "SELECT id, text FROM name ORDER BY id", -1, &stmt, NULL);
    bool dense = true;
    while (rc == SQLITE_OK && dense && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 1);
        dense = text && sqlite3_column_int64(stmt, 0) == sqlite_name(store, text);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    if (!dense)
        return sqlite_damaged(store, "the table of names has a gap", err);
    if (rc != SQLITE_DONE)
        return sqlite_fault(store, "read", rc, err);
    store->names_stored = store->names.count;
    learn_words(store);
    return 0;
}

int sqlite_names_write(struct sqlite_store *store) {
    int rc = SQLITE_OK;
    for (sym number = store->names_stored + 1; rc == SQLITE_OK && number <= store->names.count;
         number++) {
        sqlite3_stmt *stmt = sqlite_statement(store, STATEMENT_ADD_NAME);
        if (!stmt)
            return sqlite3_extended_errcode(store->db);
        sqlite3_bind_int64(stmt, 1, number);
        sqlite3_bind_text(stmt, 2, symbol_name(&store->names, number), -1, SQLITE_STATIC);
        rc = sqlite_finish(stmt);
    }
    return rc;
}

void sqlite_names_settle(struct sqlite_store *store) {
    store->names_stored = store->names.count;
}

void sqlite_names_finish(struct sqlite_store *store) {
    symbol_table_finish(&store->names);
    for (unsigned list = 0; list < WORD_LISTS; list++)
        free(store->words.value_of[list]);
    store->words = (struct sqlite_words){ 0 };
}
