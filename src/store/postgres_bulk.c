/* postgres_bulk.c: how do a thousand rows become one statement?
 *
 * Each column is an array in the binary format of PostgreSQL: a head, then each value behind its length.
 * The server takes them apart with unnest(). A text that is no UTF-8, or has a NUL in it, is nothing that
 * PostgreSQL can keep: what is wrong in it becomes U+FFFD, because the output of an agent may hold
 * anything, and its end must be recorded all the same.
 */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "store/postgres_statements.h"

#define KEPT_MOST  ((size_t)1 << 20)
#define ARRAY_HEAD 20u /* dimensions, "has NULLs", type, length, first index */

enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };

static Oid oid_of(char type) {
    switch (type) {
    case 'b':
        return OID_BOOL;
    case 'i':
        return OID_INT4;
    case 'l':
    case 'L':
        return OID_INT8;
    default:
        return OID_TEXT;
    }
}

static Oid array_oid_of(char type) {
    switch (type) {
    case 'b':
        return 1000;
    case 'i':
        return 1007;
    case 'l':
    case 'L':
        return 1016;
    default:
        return 1009;
    }
}

static bool is_bulk(const struct pg_bulk *bulk) {
    return pg_texts[bulk->statement].bulk;
}

static void begin_column(struct pg_bulk *bulk, unsigned column) {
    static const char head[ARRAY_HEAD];
    if (bulk->bytes[column].capacity > KEPT_MOST)
        strbuf_finish(&bulk->bytes[column]); /* a large batch does not come often */
    strbuf_clear(&bulk->bytes[column]);
    bulk->nulls[column] = false;
    if (is_bulk(bulk))
        strbuf_add(&bulk->bytes[column], head, sizeof(head));
}

void pg_bulk_init(struct pg_bulk *bulk, enum pg_statement statement) {
    *bulk = (struct pg_bulk){ .statement = statement };
    for (const char *at = pg_texts[statement].columns; (at = strchr(at, ':')); at++) {
        assert(bulk->columns < PG_COLUMNS_MAX);
        bulk->types[bulk->columns++] = at[1];
    }
    pg_bulk_clear(bulk);
}

void pg_bulk_finish(struct pg_bulk *bulk) {
    for (unsigned i = 0; i < bulk->columns; i++)
        strbuf_finish(&bulk->bytes[i]);
    *bulk = (struct pg_bulk){ 0 };
}

void pg_bulk_clear(struct pg_bulk *bulk) {
    bulk->rows = 0;
    bulk->size = 0;
    bulk->next = 0;
    for (unsigned i = 0; i < bulk->columns; i++)
        begin_column(bulk, i);
}

/* --- values ---------------------------------------------------------------------------------------- */

static void add_u32(struct strbuf *out, uint32_t value) {
    uint32_t big = htobe32(value);
    strbuf_add(out, (const char *)&big, sizeof(big));
}

static void add_u64(struct strbuf *out, uint64_t value) {
    uint64_t big = htobe64(value);
    strbuf_add(out, (const char *)&big, sizeof(big));
}

/* The buffer of the next value, whose length is written first when it is one of many. */
static struct strbuf *next(struct pg_bulk *bulk, uint32_t size) {
    assert(bulk->next < bulk->columns);
    struct strbuf *out = &bulk->bytes[bulk->next++];
    if (is_bulk(bulk))
        add_u32(out, size);
    if (bulk->next == bulk->columns) {
        bulk->next = 0;
        bulk->rows++;
    }
    return out;
}

void pg_put_null(struct pg_bulk *bulk) {
    bulk->nulls[bulk->next] = true;
    (void)next(bulk, UINT32_MAX);
}

void pg_put_int(struct pg_bulk *bulk, int64_t value) {
    switch (bulk->types[bulk->next]) {
    case 'l':
        add_u64(next(bulk, 8), (uint64_t)value);
        break;
    case 'i':
        assert(value >= INT32_MIN && value <= INT32_MAX);
        add_u32(next(bulk, 4), (uint32_t)value);
        break;
    default:
        assert(bulk->types[bulk->next] == 'b');
        strbuf_putc(next(bulk, 1), value != 0);
    }
}

void pg_put_int_unless(struct pg_bulk *bulk, int64_t value, int64_t usual) {
    if (value == usual)
        pg_put_null(bulk);
    else
        pg_put_int(bulk, value);
}

static bool is_clean(const char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t length = text[i] ? utf8_length(text + i, size - i) : 0;
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static void clean(const char *text, size_t size, struct strbuf *out) {
    for (size_t i = 0; i < size;) {
        size_t length = text[i] ? utf8_length(text + i, size - i) : 0;
        if (length == 0)
            strbuf_puts(out, "\xef\xbf\xbd");
        else
            strbuf_add(out, text + i, length);
        i += length ? length : 1;
    }
}

void pg_put_text_size(struct pg_bulk *bulk, const char *text, size_t size) {
    if (!text) {
        pg_put_null(bulk);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf cleaned = STRBUF_INIT;
    if (!is_clean(text, size)) {
        clean(text, size, &cleaned);
        text = strbuf_text(&cleaned);
        size = cleaned.length;
    }
    bulk->size += size;
    strbuf_add(next(bulk, (uint32_t)size), text, size);
}

void pg_put_text(struct pg_bulk *bulk, const char *text) {
    pg_put_text_size(bulk, text, text ? strlen(text) : 0);
}

static void write_head(char *head, char type, uint32_t count, bool nulls) {
    uint32_t words[] = { htobe32(1), htobe32(nulls), htobe32(oid_of(type)), htobe32(count),
                         htobe32(1) };
    _Static_assert(sizeof(words) == ARRAY_HEAD, "the head of an array has five words");
    memcpy(head, words, sizeof(words));
}

void pg_put_numbers(struct pg_bulk *bulk, const task_id *numbers, size_t count) {
    if (bulk->types[bulk->next] == 'L') {
        char head[ARRAY_HEAD];
        struct strbuf *out = next(bulk, 0);
        write_head(head, 'L', (uint32_t)count, false);
        strbuf_add(out, head, sizeof(head));
        for (size_t i = 0; i < count; i++) {
            add_u32(out, 8);
            add_u64(out, numbers[i] > INT64_MAX ? INT64_MAX : numbers[i]);
        }
        return;
    }
    if (count == 0) {
        pg_put_null(bulk);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%c%" PRIu64, i ? ',' : '{', numbers[i]);
    strbuf_putc(&text, '}');
    strbuf_add(next(bulk, (uint32_t)text.length), text.text, text.length);
}

/* --- statements -------------------------------------------------------------------------------------- */

void pg_bulk_send(struct pg_bulk *bulk, struct pg_link *link) {
    const char *values[PG_COLUMNS_MAX];
    int lengths[PG_COLUMNS_MAX];
    assert(bulk->next == 0 && (bulk->rows > 0 || bulk->columns == 0));
    for (unsigned i = 0; i < bulk->columns; i++) {
        bool none = !is_bulk(bulk) && bulk->nulls[i];
        if (is_bulk(bulk))
            write_head(bulk->bytes[i].text, bulk->types[i], bulk->rows, bulk->nulls[i]);
        values[i] = none ? NULL : strbuf_text(&bulk->bytes[i]);
        lengths[i] = (int)bulk->bytes[i].length;
    }
    struct pg_values all = { values, lengths, (int)bulk->columns };
    pg_link_send(link, pg_texts[bulk->statement].name, &all);
    pg_bulk_clear(bulk);
}

/* The names of the columns, each behind `before`; to be selected: with the type that it has in the table. */
static void add_columns(const char *columns, const char *before, bool selected,
                        struct strbuf *out) {
    for (const char *at = columns; *at;) {
        size_t size = strcspn(at, ":");
        strbuf_printf(out, "%s%s%.*s%s", at == columns ? "" : ", ", before, (int)size, at,
                      selected && at[size + 1] == 'n' ? "::bigint[]" : "");
        at += size + 2;
        at += *at == ' ';
    }
}

static void add_rows(const char *columns, struct strbuf *out) {
    static const char *const types[] = { "boolean", "integer", "bigint", "text" };
    strbuf_puts(out, "unnest(");
    unsigned n = 0;
    for (const char *at = columns; (at = strchr(at, ':')); at++) {
        const char *type = types[at[1] == 'b' ? 0 : at[1] == 'i' ? 1 : at[1] == 'l' ? 2 : 3];
        strbuf_printf(out, "%s$%u::%s[]", n ? ", " : "", n + 1, type);
        n++;
    }
    strbuf_puts(out, ") AS n (");
    add_columns(columns, "", false, out);
    strbuf_putc(out, ')');
}

void pg_statement_build(enum pg_statement statement, struct strbuf *ret_sql) {
    const struct pg_statement_text *text = &pg_texts[statement];
    for (const char *c = text->text; *c; c++) {
        if (*c == '@')
            add_rows(text->columns, ret_sql);
        else if (*c == '#')
            add_columns(text->columns, "", false, ret_sql);
        else if (*c == '!')
            add_columns(text->columns, "n.", true, ret_sql);
        else
            strbuf_putc(ret_sql, *c);
    }
}

void pg_statements_prepare(struct pg_link *link, enum pg_statement first, enum pg_statement end) {
    for (enum pg_statement statement = first; statement < end; statement++) {
        _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
        Oid types[PG_COLUMNS_MAX];
        int count = 0;
        for (const char *at = pg_texts[statement].columns; (at = strchr(at, ':')); at++)
            types[count++] =
                pg_texts[statement].bulk || at[1] == 'L' ? array_oid_of(at[1]) : oid_of(at[1]);
        pg_statement_build(statement, &sql);
        pg_link_prepare(link, pg_texts[statement].name, sql.text, types, count);
    }
}
