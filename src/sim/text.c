/* text.c: see text.h. Widths do not depend on the locale: a report is the same on every machine. */
#include "sim/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const struct {
    time_ms size;
    const char *name;
} units[] = {
    { DAYS(1), "d" },
    { HOURS(1), "h" },
    { MINUTES(1), "min" },
    { SECONDS(1), "s" },
};

void text_duration(struct strbuf *out, time_ms span) {
    if (span < 0) {
        strbuf_putc(out, '-');
        span = -span;
    }
    if (span < SECONDS(1)) {
        strbuf_printf(out, "%" PRId64 " %s", span, span == 0 ? "s" : "ms");
        return;
    }
    if (span < SECONDS(10) && span % 1000 >= 50) {
        strbuf_printf(out, "%.1f s", (double)span / 1000);
        return;
    }
    size_t first = 0;
    while (span < units[first].size)
        first++;
    time_ms small = first + 1 < ARRAY_SIZE(units) ? units[first + 1].size : units[first].size;
    span = (span + small / 2) / small * small;
    if (first > 0 && span >= units[first - 1].size)
        first--; /* 59 min 59.9 s */
    strbuf_printf(out, "%" PRId64 " %s", span / units[first].size, units[first].name);
    time_ms rest = span % units[first].size;
    if (rest > 0 && first + 1 < ARRAY_SIZE(units) && rest >= units[first + 1].size)
        strbuf_printf(out, " %" PRId64 " %s", rest / units[first + 1].size, units[first + 1].name);
}

void text_count(struct strbuf *out, int64_t count) {
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count < 0 ? -count : count);
    if (count < 0)
        strbuf_putc(out, '-');
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            strbuf_putc(out, ',');
        strbuf_putc(out, digits[i]);
    }
}

void text_percent(struct strbuf *out, double part) {
    int64_t tenths = (int64_t)(part * 1000 + 0.5);
    if (tenths < 100 && tenths % 10 != 0)
        strbuf_printf(out, "%" PRId64 ".%" PRId64 " %%", tenths / 10, tenths % 10);
    else
        strbuf_printf(out, "%" PRId64 " %%", (tenths + 5) / 10);
}

/* Returns the bytes of the first character. An invalid byte is one character of one column. */
static size_t character_length(const char *text, size_t *ret_columns) {
    const unsigned char *u = (const unsigned char *)text;
    size_t length = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : u[0] >= 0xc2 ? 2 : 1;
    uint32_t code = length == 1 ? u[0] : u[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) {
            *ret_columns = 1;
            return 1;
        }
        code = code << 6 | (u[i] & 0x3f);
    }
    bool none = (code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f)
                || (code >= 0xfe00 && code <= 0xfe0f);
    bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf)
                || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff)
                || (code >= 0xff00 && code <= 0xff60) || (code >= 0x1f300 && code <= 0x1faff)
                || (code >= 0x20000 && code <= 0x3fffd);
    *ret_columns = none ? 0 : wide ? 2 : 1;
    return length;
}

size_t text_columns(const char *text) {
    size_t total = 0, columns;
    while (*text) {
        text += character_length(text, &columns);
        total += columns;
    }
    return total;
}

/* Control characters (C0, DEL, C1), and bytes that are not UTF-8. */
static bool is_unsafe(const char *text, size_t length) {
    unsigned char first = (unsigned char)text[0];
    if (length == 1)
        return first < 0x20 || first >= 0x7f;
    return length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

size_t text_name(struct strbuf *out, const char *name, size_t columns, bool unicode) {
    bool fits = text_columns(name) <= columns;
    size_t used = 0, width;
    while (*name) {
        size_t length = character_length(name, &width);
        if (!fits && used + width + 1 > columns)
            break;
        if (is_unsafe(name, length))
            strbuf_putc(out, '?');
        else
            strbuf_add(out, name, length);
        used += width;
        name += length;
    }
    if (!fits && columns > 0) {
        strbuf_puts(out, unicode ? "…" : "~");
        used++;
    }
    return used;
}

/* --- tables ---------------------------------------------------------------------------------- */

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
