/* names.h: shared names and the words of enums as small numbers. Private to store/.
 *
 * Enums are stored as the number of their word among the names, so that a new value in the middle
 * of an enum does not change the meaning of stored rows. */
#pragma once

#include "base/symbol_table.h"
#include "store/rows.h"

/* The enums that rows contain: X(LIST, enum, number of its values). */
#define WORD_LISTS_OF(X)                                                                           \
    X(STATE, task_state, TASK_STATE_MAX)                                                           \
    X(HOLD, hold, HOLD_MAX)                                                                        \
    X(PHASE, run_phase, PHASE_MAX)                                                                 \
    X(UNTIL, until, UNTIL_MAX)                                                                     \
    X(PARENT_GATE, parent_gate, PARENT_GATE_MAX)                                                   \
    X(OUTCOME, outcome, OUTCOME_MAX)                                                               \
    X(REASON, reason, REASON_MAX)                                                                  \
    X(STOP, stop_request, STOP_REQUEST_MAX)

#define WORD_LIST(LIST, type, count) WORDS_##LIST,
enum word_list { WORD_LISTS_OF(WORD_LIST) WORD_LISTS };
#undef WORD_LIST
#define WORD_VALUES_MAX 64 /* of one enum */

struct names {
    struct symbol_table table;
    uint32_t stored; /* table[1 .. stored] are in the database */
    sym of_value[WORD_LISTS][WORD_VALUES_MAX];
    int8_t *value_of[WORD_LISTS]; /* by name number; -1: not a word of this list */
    sym highest;                  /* of all words */
};

void names_init(struct names *names);
void names_finish(struct names *names); /* safe on zeroed ones */
/* Adds the next stored name; false: the numbers have a gap. */
bool names_read(struct names *names, int64_t number, const char *text);
/* Call after all are read: finds the words, and numbers new ones. */
void names_learn(struct names *names);

sym names_number(struct names *names, const char *name); /* 0 for NULL and "" */
sym names_word(const struct names *names, enum word_list list, unsigned value);

/* NULL for 0. Sets *damaged if there is no such name. */
static inline const char *names_text(const struct names *names, int64_t number, bool *damaged) {
    if (number == 0)
        return NULL;
    if (number > 0 && number <= names->table.count)
        return symbol_name(&names->table, (sym)number);
    *damaged = true;
    return NULL;
}

static inline unsigned names_value(const struct names *names, enum word_list list, int64_t number,
                                   bool *damaged) {
    int value = number >= 0 && number <= names->highest ? names->value_of[list][number] : -1;
    *damaged |= value < 0;
    return value < 0 ? 0 : (unsigned)value;
}
