/* text.h: formats numbers, names and tables for reports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

/* The two largest units: "250 ms", "42 s", "12 min 5 s", "4 h 12 min", "2 d 3 h". */
void text_duration(struct strbuf *out, time_ms span);
/* With a comma between thousands. */
void text_count(struct strbuf *out, int64_t count);
/* 0.5 as "50 %"; below ten percent with a decimal unless that is 0. */
void text_percent(struct strbuf *out, double part);

/* Columns on a terminal of UTF-8 text: wide characters count two, combining ones none. */
size_t text_columns(const char *text);
/* An untrusted name, without control characters, cut to `columns` with a mark at the end. Returns
 * the columns it uses. */
size_t text_name(struct strbuf *out, const char *name, size_t columns, bool unicode);

/* --- tables ------------------------------------------------------------------------------------
 *
 * Each column is as wide as its widest cell.
 * table_begin → for each row: table_cell for each column → table_print → table_finish */

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
/* Each line begins with `indent`; the heading is underlined. */
void table_print(const struct table *table, const char *indent, bool unicode, struct strbuf *out);
