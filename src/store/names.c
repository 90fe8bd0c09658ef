/* names.c: maps names to numbers.
 *
 * All names are in memory: there are as many as projects, kinds, agents, hosts and words, not as
 * many as tasks. So a million rows are read without a join. A name is written with the first batch
 * that uses it or, if that batch fails, with the next one. */
#include "store/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

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
        return stop_request_name((enum stop_request)value);
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
    [WORDS_STOP] = STOP_REQUEST_MAX,
};
_Static_assert(ARRAY_SIZE(word_counts) == WORD_LISTS, "a list of words has no length");
_Static_assert(REASON_MAX <= WORDS_MOST, "an enum has more values than WORDS_MOST");

void names_init(struct names *names) {
    *names = (struct names){ 0 };
    symbol_table_init(&names->table);
}

void names_finish(struct names *names) {
    symbol_table_finish(&names->table);
    for (unsigned list = 0; list < WORD_LISTS; list++)
        free(names->value_of[list]);
    *names = (struct names){ 0 };
}

bool names_read(struct names *names, int64_t number, const char *text) {
    if (!text || number != names_number(names, text))
        return false;
    names->stored = names->table.count;
    return true;
}

void names_learn(struct names *names) {
    for (unsigned list = 0; list < WORD_LISTS; list++) {
        assert(word_counts[list] <= WORDS_MOST);
        for (unsigned value = 0; value < word_counts[list]; value++) {
            sym number = names_number(names, word((enum word_list)list, value));
            names->of_value[list][value] = number;
            if (number > names->highest)
                names->highest = number;
        }
    }
    for (unsigned list = 0; list < WORD_LISTS; list++) {
        names->value_of[list] = xmalloc((size_t)names->highest + 1);
        memset(names->value_of[list], -1, (size_t)names->highest + 1);
        for (unsigned value = 0; value < word_counts[list]; value++)
            names->value_of[list][names->of_value[list][value]] = (int8_t)value;
    }
}

sym names_number(struct names *names, const char *name) {
    return name ? symbol_intern(&names->table, name, strlen(name)) : 0;
}

sym names_word(const struct names *names, enum word_list list, unsigned value) {
    assert(list < WORD_LISTS && value < word_counts[list]);
    return names->of_value[list][value];
}
