/* table.h: rows of cells, each column as wide as its widest cell.
 *
 * table_begin → for each row: table_cell for each column → table_print → table_finish */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define TABLE_COLUMNS_MAX 16

struct table {
    size_t column_count;
    bool right[TABLE_COLUMNS_MAX]; /* numbers: aligned to the right */
    char **cells;                  /* row after row; the first row is the heading */
    size_t cell_count, cell_capacity;
};

/* One letter per column: 'l' or 'r'. */
void table_begin(struct table *table, const char *columns);
void table_finish(struct table *table); /* safe on a zeroed table; usable with _cleanup_ */
void table_cell(struct table *table, const char *format, ...) _printf_(2, 3);
/* Each line begins with `indent`; a line goes below the heading. */
void table_print(const struct table *table, const char *indent, bool unicode, struct strbuf *out);
