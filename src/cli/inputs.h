/* inputs.h: lists of inputs (`::: a b`) and the placeholders in a command that stand for them.
 *
 *     sluice add -- convert {} {.}.png ::: a.svg b.svg
 *
 * Each row makes one task. It has one input of each list. Lists form a product, in which the last
 * list varies fastest. A linked list (`:::+`) advances with the list before it, and the shorter of
 * the two determines the length. The rules are those of GNU parallel; docs/guide/lists.md has the
 * differences.
 *
 * Pure: no files, no output. Texts are copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

#define INPUTS_ROWS_MAX 1000000u

struct input_list {
    const char *name; /* for messages: ":::" or the path of its file */
    bool is_linked;
    const char **texts;
    size_t count, capacity;
    size_t empty_line; /* the first one, which was skipped; 0: none */
};

struct inputs {
    struct input_list *lists;
    size_t count, capacity;
    struct arena arena;
};

/* One input of each list; `number` counts from 1. */
struct input_row {
    const char *const *texts;
    size_t count;
    size_t number;
};

void inputs_finish(struct inputs *inputs); /* safe on a zeroed struct; usable with _cleanup_ */

/* Is the word `:::`, `:::+`, `::::` or `::::+`? */
bool inputs_is_mark(const char *word);

/* Begins a list; the inputs that follow belong to it. -EINVAL: the first list cannot be linked. */
int inputs_begin(struct inputs *inputs, const char *name, bool is_linked, struct error *err);
void inputs_add(struct inputs *inputs, const char *text, size_t size);
/* Adds the contents of a file: an input per line, without the line's end (LF or CR LF) and without
 * empty lines; with `separator` NUL everything between two of them. -EINVAL: a NUL in a line. */
int inputs_split(struct inputs *inputs, const char *bytes, size_t size, char separator,
                 struct error *err);

/* The number of rows; 0 if a list is empty. *ret_unused: inputs of linked lists that are in no row.
 * -E2BIG: more than INPUTS_ROWS_MAX. -EINVAL: a linked file has an empty line, so that its lines
 * would not belong together. */
int inputs_count(const struct inputs *inputs, size_t *ret_rows, size_t *ret_unused,
                 struct error *err);
/* Row `index` (from 0); `texts` has room for one per list. */
void inputs_row(const struct inputs *inputs, size_t index, const char **texts);

/* --- placeholders ----------------------------------------------------------------------------- */

/* {} {.} {/} {//} {/.}     the input; without extension; base name; directory; base name without
 *                          extension. Of several lists: those of all, separated by a blank
 * {1} {1.} {1/} {1//} {1/.} the same of one list
 * {#}                      the number of the row
 * Other text in braces, and braces directly after a $, stay as they are. Braces with nothing but
 * digits and the characters ./#%+- in them are refused if they are not in this list. */

/* Checks a text for `lists` lists. *ret_found is set to true if it has a placeholder. */
int input_template_check(const char *text, size_t lists, bool *ret_found, struct error *err);
/* Appends a checked text with the inputs of a row. */
void input_template_expand(const char *text, const struct input_row *row, struct strbuf *out);
/* Is the word a placeholder for all lists, and nothing else? It becomes one word per list. */
bool input_template_is_each(const char *word);
