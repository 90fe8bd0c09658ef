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

static const char *word(enum word_list list, unsigned value) {
#define WORD(LIST, type, count)                                                                    \
    case WORDS_##LIST:                                                                             \
        return type##_name((enum type)value);
    switch (list) {
        WORD_LISTS_OF(WORD)
    case WORD_LISTS:
        break;
    }
#undef WORD
    return "";
}

#define COUNT(LIST, type, count) count,
static const unsigned word_counts[] = { WORD_LISTS_OF(COUNT) };
#undef COUNT

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
        assert(word_counts[list] <= WORD_VALUES_MAX);
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
