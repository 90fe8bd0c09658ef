/* rows.h: a small table that is gathered first and printed when it is complete.
 *
 *     struct output_column columns[] = { { "NAME" }, { "USED", true } };
 *     _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
 *     rows_add(&rows, (const char *[]){ name, used });
 *     rows_print(&rows, &out);
 *
 * Cells are copied, made safe for a terminal. For tables that fit on a few screens; what can be a
 * million lines measures and prints in two passes instead (output.h). */
#pragma once

#include "cli/output.h"

struct rows {
    struct output_column *columns;
    size_t column_count;
    char **cells;
    size_t count, capacity; /* of cells */
};

/* One text per column; NULL and "" are shown as "-". */
void rows_add(struct rows *rows, const char *const *cells);
/* Head and rows; nothing when there are none. */
void rows_print(struct rows *rows, struct strbuf *out);
void rows_finish(struct rows *rows);
