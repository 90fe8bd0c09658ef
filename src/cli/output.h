/* output.h: formatting and buffering of results. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

/* Writes the buffer to stdout if it is large, and empties it. Call it per line. */
void output_some(struct strbuf *out);
void output_rest(struct strbuf *out);
/* Writes and frees the buffer: _cleanup_(output_finish) struct strbuf out = STRBUF_INIT; */
void output_finish(struct strbuf *out);
/* At exit: 0 if everything was written, else the first error (negative errno). */
int output_flush(void);

/* Waits for the timeout; true at once if the reader of stdout closes it. */
bool output_is_unread(int timeout_ms);

/* Escape sequences; empty texts without a terminal, with NO_COLOR or TERM=dumb. */
struct output_style {
    const char *bold, *dim, *green, *yellow, *red, *cyan, *reset;
};
const struct output_style *output_style(void);

/* A short time span: 12s 5m 3h 9d. */
struct output_span {
    char text[24];
};
struct output_span output_span(time_ms span);

/* --- tables ---------------------------------------------------------------------------------- */

struct output_column {
    const char *title;
    bool right; /* for numbers */
    size_t width;
};

/* First measure all rows, then print the head and the rows; nothing is stored in between. The last
 * column is not padded; a cell wider than OUTPUT_WIDTH_MAX widens only its own row. */
#define OUTPUT_WIDTH_MAX 48

/* A table of `count` rows in two passes: `fill` provides the cells of a row, valid until its next
 * call; false: no such row. `printing`: the second pass, when widths are known. */
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
/* The same with a color per cell, of output_style(); NULL: none. */
void output_row_in(const struct output_column *columns, size_t count, const char *const *cells,
                   const char *const *colours, struct strbuf *out);

/* --- JSON ------------------------------------------------------------------------------------- */

/* Any value on one line, with controls escaped (utf8_is_control); without a newline. */
void output_add_json(const json_t *value, struct strbuf *out);
/* The same and a newline. */
void output_put_json(const json_t *value, struct strbuf *out);
/* The same to stdout; takes `value`. Returns CMD_OK. */
int output_json(json_t *value);
