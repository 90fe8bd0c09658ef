/* postgres_bulk.c: turns a thousand rows into one statement.
 *
 * Each column is an array in PostgreSQL's binary format: a header, then each value after its
 * length. The server expands them with unnest(), which is half of its work. So a column with the
 * same value in every row is sent once, as a single value beside a missing array; unnest() yields
 * NULL for it, and coalesce() replaces that by the value. The first column is always an array and
 * determines the number of rows. Where even that is too slow, columns.h says which columns usually
 * differ, and the statement has a second form in which the others are single values from the start.
 *
 * PostgreSQL cannot store invalid UTF-8 or NUL: invalid bytes become U+FFFD, because the output of
 * an agent may contain anything, and the end of its run must be recorded anyway. */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "store/postgres_internal.h"

#define KEPT_MAX   ((size_t)1 << 20)
#define ARRAY_HEAD 20u /* dimensions, "has NULLs", type, length, first index */

/* The type of a value, or of an array of them. */
static Oid oid_of(char type, bool is_array) {
    static const struct {
        char type;
        Oid oid, array;
    } oids[] = { { 'b', 16, 1000 }, { 'i', 23, 1007 }, { 'l', 20, 1016 }, { 'L', 20, 1016 } };
    for (size_t i = 0; i < ARRAY_SIZE(oids); i++)
        if (oids[i].type == type)
            return is_array ? oids[i].array : oids[i].oid;
    return is_array ? 1009 : 25; /* text */
}

/* Keeps the memory. */
static void pg_bulk_clear(struct pg_bulk *bulk) {
    static const char head[ARRAY_HEAD];
    bulk->rows = 0;
    bulk->size = 0;
    bulk->next = 0;
    for (unsigned i = 0; i < bulk->count; i++) {
        struct pg_column *column = &bulk->columns[i];
        if (column->bytes.capacity > KEPT_MAX)
            strbuf_finish(&column->bytes); /* large batches are rare */
        strbuf_clear(&column->bytes);
        column->has_null = false;
        column->is_alike = bulk->is_rows && i > 0;
        if (bulk->is_rows)
            strbuf_add(&column->bytes, head, sizeof(head));
    }
}

void pg_bulk_init(struct pg_bulk *bulk, enum statement statement) {
    struct sql_column columns[SQL_COLUMNS_MAX];
    *bulk = (struct pg_bulk){ .statement = statement,
                              .is_rows = statement_texts[statement].bulk,
                              .has_usual = pg_statement_has(statement, SQL_USUAL) };
    bulk->count = sql_columns(statement, columns);
    for (unsigned i = 0; i < bulk->count; i++)
        bulk->columns[i].of = columns[i];
    pg_bulk_clear(bulk);
}

void pg_bulk_finish(struct pg_bulk *bulk) {
    for (unsigned i = 0; i < bulk->count; i++)
        strbuf_finish(&bulk->columns[i].bytes);
    *bulk = (struct pg_bulk){ 0 };
}

/* --- values ---------------------------------------------------------------------------------- */

static void add_u32(struct strbuf *out, uint32_t value) {
    uint32_t big = htobe32(value);
    strbuf_add(out, (const char *)&big, sizeof(big));
}

/* One array element; NULL: none. */
static void add_element(struct strbuf *out, const char *bytes, size_t size) {
    add_u32(out, bytes ? (uint32_t)size : UINT32_MAX);
    if (bytes)
        strbuf_add(out, bytes, size);
}

static bool is_first(const struct pg_column *column, const char *bytes, size_t size) {
    const struct strbuf *out = &column->bytes;
    if (!bytes)
        return column->has_null;
    return !column->has_null && out->length == ARRAY_HEAD + sizeof(uint32_t) + size
           && memcmp(out->text + out->length - size, bytes, size) == 0;
}

/* The first different value has arrived: expands the value of the first row for all `rows` before
 * it. */
static void write_out(struct pg_column *column, uint32_t rows) {
    _cleanup_(strbuf_finish) struct strbuf first = STRBUF_INIT;
    struct strbuf *out = &column->bytes;
    strbuf_add(&first, out->text + ARRAY_HEAD, out->length - ARRAY_HEAD);
    for (uint32_t row = 1; row < rows; row++)
        strbuf_add(out, first.text, first.length);
    column->is_alike = false;
}

static void put(struct pg_bulk *bulk, const char *bytes, size_t size) {
    assert(bulk->next < bulk->count);
    struct pg_column *column = &bulk->columns[bulk->next++];
    if (!bulk->is_rows) {
        strbuf_add(&column->bytes, bytes ? bytes : "", size);
    } else if (bulk->rows == 0 || !column->is_alike) {
        add_element(&column->bytes, bytes, size);
    } else if (!is_first(column, bytes, size)) {
        write_out(column, bulk->rows);
        add_element(&column->bytes, bytes, size);
    }
    column->has_null |= !bytes;
    if (bulk->next == bulk->count) {
        bulk->next = 0;
        bulk->rows++;
    }
}

void pg_put_int(struct pg_bulk *bulk, int64_t value) {
    uint64_t large = htobe64((uint64_t)value);
    uint32_t small = htobe32((uint32_t)value);
    char flag = value != 0;
    switch (bulk->columns[bulk->next].of.type) {
    case 'l':
        put(bulk, (const char *)&large, sizeof(large));
        break;
    case 'i':
        assert(value >= INT32_MIN && value <= INT32_MAX);
        put(bulk, (const char *)&small, sizeof(small));
        break;
    default:
        assert(bulk->columns[bulk->next].of.type == 'b');
        put(bulk, &flag, sizeof(flag));
    }
}

static void pg_put_text_size(struct pg_bulk *bulk, const char *text, size_t size) {
    if (!text) {
        put(bulk, NULL, 0);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf cleaned = STRBUF_INIT;
    if (!utf8_is_clean(text, size)) {
        utf8_clean(text, size, &cleaned);
        text = strbuf_text(&cleaned);
        size = cleaned.length;
    }
    bulk->size += size;
    put(bulk, text, size);
}

void pg_put_text(struct pg_bulk *bulk, const char *text) {
    pg_put_text_size(bulk, text, text ? strlen(text) : 0);
}

void pg_put_row(struct pg_bulk *bulk, const struct row_type *type, const void *row,
                struct names *names) {
    bool is_progress = type == &row_types[ROW_PROGRESS];
    ROW_COLUMNS(c, type) {
        if (!column_is_written(c) || (is_progress && c->flags & COLUMN_ID))
            continue;
        bool is_usual =
            is_progress
            && (c->type == COLUMN_NAME ? !column_text(c, row) : column_number(c, row) == c->usual);
        if (is_usual || column_is_null(c, row)) {
            put(bulk, NULL, 0);
        } else if (column_is_text(c)) {
            const char *text = column_text(c, row);
            pg_put_text_size(bulk, text, column_text_size(c, row, text));
        } else {
            pg_put_int(bulk, column_store(c, row, names));
        }
    }
}

static void write_head(char *head, char type, uint32_t count, bool nulls) {
    uint32_t words[] = { htobe32(1), htobe32(nulls), htobe32(oid_of(type, false)), htobe32(count),
                         htobe32(1) };
    _Static_assert(sizeof(words) == ARRAY_HEAD, "the head of an array has five words");
    memcpy(head, words, sizeof(words));
}

void pg_put_numbers(struct pg_bulk *bulk, const task_id *numbers, size_t count) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (bulk->columns[bulk->next].of.type == 'L') {
        char head[ARRAY_HEAD];
        write_head(head, 'L', (uint32_t)count, false);
        strbuf_add(&out, head, sizeof(head));
        for (size_t i = 0; i < count; i++) {
            uint64_t big = htobe64((uint64_t)sql_number(numbers[i]));
            add_element(&out, (const char *)&big, sizeof(big));
        }
    } else {
        for (size_t i = 0; i < count; i++)
            strbuf_printf(&out, "%c%" PRIu64, i ? ',' : '{', numbers[i]);
        if (count > 0)
            strbuf_putc(&out, '}');
    }
    put(bulk, out.text, out.length);
}

/* --- statements ------------------------------------------------------------------------------ */

/* Do all columns that usually have one value have one? */
static bool is_usual(const struct pg_bulk *bulk) {
    for (unsigned i = 0; bulk->has_usual && i < bulk->count; i++)
        if (!bulk->columns[i].of.varies && !bulk->columns[i].is_alike)
            return false;
    return bulk->has_usual;
}

static const char *name_of(enum statement statement, enum sql_form form, char buf[64]) {
    const char *name = statement_texts[statement].name;
    (void)snprintf(buf, 64, "%s%s", name, form == SQL_USUAL ? "_usual" : "");
    return buf;
}

/* Parameters of rows: in the general form the arrays of all columns, then the single values of all
 * but the first; in the usual form one parameter for each column. */
void pg_bulk_send(struct pg_bulk *bulk, struct pg_link *link) {
    static const size_t single = ARRAY_HEAD + sizeof(uint32_t);
    const char *values[PG_VALUES_MAX] = { 0 };
    int lengths[PG_VALUES_MAX] = { 0 };
    char name[64];
    assert(bulk->next == 0 && (bulk->rows > 0 || bulk->count == 0));
    enum sql_form form = is_usual(bulk) ? SQL_USUAL : SQL_GENERAL;
    bool has_both = bulk->is_rows && form == SQL_GENERAL;
    for (unsigned i = 0; i < bulk->count; i++) {
        struct pg_column *column = &bulk->columns[i];
        if (form == SQL_USUAL && column->of.varies && column->is_alike)
            write_out(column, bulk->rows);
        bool is_array = bulk->is_rows && !column->is_alike;
        unsigned at = has_both && !is_array ? bulk->count + i - 1 : i;
        size_t head = bulk->is_rows && !is_array ? single : 0;
        if (is_array)
            write_head(column->bytes.text, column->of.type, bulk->rows, column->has_null);
        values[at] = column->has_null && !is_array ? NULL : strbuf_text(&column->bytes) + head;
        lengths[at] = (int)(column->bytes.length - head);
    }
    int count = (int)(has_both ? 2 * bulk->count - 1 : bulk->count);
    pg_link_send(link, name_of(bulk->statement, form, name),
                 &(struct pg_values){ values, lengths, count });
    pg_bulk_clear(bulk);
}

bool pg_statement_has(enum statement statement, enum sql_form form) {
    const struct statement_text *text = &statement_texts[statement];
    struct sql_column columns[SQL_COLUMNS_MAX];
    bool has = form == SQL_GENERAL;
    for (unsigned i = 0, count = text->bulk ? sql_columns(statement, columns) : 0; i < count; i++)
        has |= columns[i].varies;
    return has && text->postgres;
}

/* The types of the statement's values. */
static int put_types(enum statement statement, enum sql_form form, Oid types[PG_VALUES_MAX]) {
    const struct statement_text *text = &statement_texts[statement];
    struct sql_column columns[SQL_COLUMNS_MAX];
    unsigned count = sql_columns(statement, columns);
    int put = 0;
    for (unsigned i = 0; i < count; i++) {
        bool array = text->bulk ? sql_is_array(&columns[i], form) : columns[i].type == 'L';
        types[put++] = oid_of(columns[i].type, array);
    }
    for (unsigned i = 1; text->bulk && form == SQL_GENERAL && i < count; i++)
        types[put++] = oid_of(columns[i].type, false);
    return put;
}

void pg_statements_prepare(struct pg_link *link, enum statement first, enum statement end) {
    for (enum statement statement = first; statement < end; statement++)
        for (enum sql_form form = 0; form < SQL_FORMS; form++) {
            _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
            Oid types[PG_VALUES_MAX];
            char name[64];
            if (!pg_statement_has(statement, form))
                continue;
            int count = put_types(statement, form, types);
            sql_build(statement, SQL_POSTGRES, form, &sql);
            pg_link_prepare(link, name_of(statement, form, name), sql.text, types, count);
        }
}
