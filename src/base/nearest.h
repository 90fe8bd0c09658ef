/* nearest.h: suggests a known word for a misspelt one.
 *
 *   struct nearest n = nearest_to(typed); for each word: nearest_offer(&n, word); use n.best
 * Counts inserted, deleted, changed and swapped letters. A distance of more than a third of the
 * length (at least one letter) is not suggested. */
#pragma once

#include <stddef.h>

struct nearest {
    const char *typed;
    const char *best; /* NULL: none is near */
    size_t distance;
};

struct nearest nearest_to(const char *typed);
void nearest_offer(struct nearest *nearest, const char *word);
