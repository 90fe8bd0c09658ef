/* nearest.h: which of the known words was meant?
 *
 *   struct nearest n = nearest_to(typed); for each word: nearest_offer(&n, word); use n.best
 * Counts inserted, dropped, changed and swapped letters. A word further away than a third of its
 * length (at least one letter) is no help and is not offered. */
#pragma once

#include <stddef.h>

struct nearest {
    const char *typed;
    const char *best; /* NULL: none is near */
    size_t distance;
};

struct nearest nearest_to(const char *typed);
void nearest_offer(struct nearest *nearest, const char *word);
