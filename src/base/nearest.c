/* nearest.c: edit distance with swaps (optimal string alignment), on three rows. */
#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 48 /* longer words are never typing errors of a name */

struct nearest nearest_to(const char *typed) {
    return (struct nearest){ .typed = typed, .best = NULL, .distance = (size_t)-1 };
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t distance_of(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

void nearest_offer(struct nearest *nearest, const char *word) {
    size_t typed_length = strlen(nearest->typed), length = strlen(word);
    if (typed_length == 0 || typed_length > WORD_MAX || length > WORD_MAX)
        return;
    size_t distance = distance_of(nearest->typed, typed_length, word, length);
    size_t far = length / 3 > 1 ? length / 3 : 1;
    if (distance <= far && distance < nearest->distance) {
        nearest->best = word;
        nearest->distance = distance;
    }
}
