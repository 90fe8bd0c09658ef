/* table.c: columns that line up, whatever is in them. */
#include "sim/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sim/text.h"

void table_begin(struct table *table, const char *columns) {
    *table = (struct table){ .column_count = strlen(columns) };
    assert(table->column_count <= TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < table->column_count; i++)
        table->right[i] = columns[i] == 'r';
}

void table_finish(struct table *table) {
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct table){ 0 };
}

void table_cell(struct table *table, const char *format, ...) {
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    table->cells =
        xgrow(table->cells, &table->cell_capacity, table->cell_count + 1, sizeof(*table->cells));
    strbuf_puts(&text, ""); /* never NULL */
    table->cells[table->cell_count++] = strbuf_take(&text);
}

static void print_row(const struct table *table, const size_t *widths, size_t row,
                      struct strbuf *out) {
    for (size_t i = 0; i < table->column_count; i++) {
        const char *cell = table->cells[row * table->column_count + i];
        size_t pad = widths[i] - text_columns(cell);
        bool last = i + 1 == table->column_count;
        if (table->right[i])
            strbuf_repeat(out, " ", pad);
        strbuf_puts(out, cell);
        if (!table->right[i] && !last)
            strbuf_repeat(out, " ", pad);
        if (!last)
            strbuf_puts(out, "  ");
    }
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->length--; /* the last cell may be empty */
    strbuf_putc(out, '\n');
}

void table_print(const struct table *table, const char *indent, bool unicode, struct strbuf *out) {
    size_t widths[TABLE_COLUMNS_MAX] = { 0 };
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = text_columns(table->cells[i]);
        size_t *column = &widths[i % table->column_count];
        *column = width > *column ? width : *column;
    }
    size_t total = 2 * (table->column_count - 1);
    for (size_t i = 0; i < table->column_count; i++)
        total += widths[i];
    for (size_t row = 0; row * table->column_count < table->cell_count; row++) {
        strbuf_puts(out, indent);
        print_row(table, widths, row, out);
        if (row > 0)
            continue;
        strbuf_puts(out, indent);
        strbuf_repeat(out, unicode ? "─" : "-", total);
        strbuf_putc(out, '\n');
    }
}
