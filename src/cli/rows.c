/* rows.c: see rows.h. */
#include "cli/rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/sanitize.h"

void rows_add(struct rows *rows, const char *const *cells) {
    rows->cells =
        xgrow(rows->cells, &rows->capacity, rows->count + rows->column_count, sizeof(*rows->cells));
    for (size_t i = 0; i < rows->column_count; i++) {
        struct strbuf cell = STRBUF_INIT;
        if (cells[i])
            sanitize_line(cells[i], &cell);
        if (cell.length == 0)
            strbuf_putc(&cell, '-');
        rows->cells[rows->count++] = strbuf_take(&cell);
    }
}

void rows_print(struct rows *rows, struct strbuf *out) {
    size_t width = rows->column_count;
    for (size_t at = 0; at < rows->count; at += width)
        output_measure(rows->columns, width, (const char *const *)&rows->cells[at]);
    if (rows->count > 0)
        output_head(rows->columns, width, out);
    for (size_t at = 0; at < rows->count; at += width) {
        output_row(rows->columns, width, (const char *const *)&rows->cells[at], out);
        output_some(out);
    }
}

void rows_finish(struct rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        free(rows->cells[i]);
    free(rows->cells);
    rows->cells = NULL;
    rows->count = rows->capacity = 0;
}
