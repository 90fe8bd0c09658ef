/* output.h: how results look: large outputs in large pieces, colour only where it is wanted. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

/* Writes what has gathered to stdout when it is much, and empties the buffer. Call it per line. */
void output_some(struct strbuf *out);
/* Writes the rest. */
void output_rest(struct strbuf *out);
/* At the end of the program: everything is out (0), or what went wrong first (negative errno). */
int output_flush(void);

/* Waits for the timeout, or until the reader of stdout has closed it: true. */
bool output_is_unread(int timeout_ms);

/* Escape sequences, or empty texts: no terminal, NO_COLOR, TERM=dumb. */
struct output_style {
    const char *bold, *dim, *green, *yellow, *red, *cyan, *reset;
};
const struct output_style *output_style(void);

/* A span for people, at most 4 letters for years to come: 12s 5m 3h 9d. */
struct output_span {
    char text[24];
};
struct output_span output_span(time_ms span);

/* --- tables ---------------------------------------------------------------------------------- */

struct output_column {
    const char *title;
    bool right; /* numbers */
    size_t width;
};

/* First measure the rows, then print the head and the rows: nothing is stored between. The last
 * column is never padded; a cell wider than OUTPUT_WIDTH_MAX makes its own row wider only. */
#define OUTPUT_WIDTH_MAX 48

/* A table of `count` rows in two passes: `fill` gives the cells of a row, which are used before its next call; false: there is no
 * such row. `printing`: the second time; in the first the last column has no width yet. */
struct output_table {
    struct output_column *columns;
    size_t column_count;
    bool (*fill)(void *ctx, size_t row, bool printing, const char **cells);
    void *ctx;
};
void output_table(const struct output_table *table, size_t count, struct strbuf *out);

void output_measure(struct output_column *columns, size_t count, const char *const *cells);
void output_head(const struct output_column *columns, size_t count, struct strbuf *out);
void output_row(const struct output_column *columns, size_t count, const char *const *cells,
                struct strbuf *out);
/* The same with a colour for each cell, of output_style(); NULL: none. */
void output_row_in(const struct output_column *columns, size_t count, const char *const *cells,
                   const char *const *colours, struct strbuf *out);
