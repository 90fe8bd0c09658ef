/* postgres_bulk.c: how do a thousand rows become one statement?
 *
 * Each column is an array in the binary format of PostgreSQL: a head, then each value behind its length.
 * The server takes them apart with unnest(), which is half of its work. So a column that says the same in
 * every row goes once, as a single value beside an array that is not there; unnest() makes NULL of what is
 * not there, and coalesce() the value of that. The first column is always an array: it tells how many rows
 * there are. A text that is no UTF-8, or has a NUL in it, is nothing that
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
    bulk->alike[column] = is_bulk(bulk) && column > 0;
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

/* One value of an array; NULL: none. */
static void add_element(struct strbuf *out, const char *bytes, size_t size) {
    add_u32(out, bytes ? (uint32_t)size : UINT32_MAX);
    if (bytes)
        strbuf_add(out, bytes, size);
}

/* The only element so far. */
static bool is_first(const struct pg_bulk *bulk, unsigned column, const char *bytes, size_t size) {
    const struct strbuf *out = &bulk->bytes[column];
    if (!bytes)
        return bulk->nulls[column];
    return !bulk->nulls[column] && out->length == ARRAY_HEAD + sizeof(uint32_t) + size
           && memcmp(out->text + out->length - size, bytes, size) == 0;
}

/* A value that differs has come: the rows before it have what the first one has. */
static void write_out(struct pg_bulk *bulk, unsigned column) {
    _cleanup_(strbuf_finish) struct strbuf first = STRBUF_INIT;
    struct strbuf *out = &bulk->bytes[column];
    strbuf_add(&first, out->text + ARRAY_HEAD, out->length - ARRAY_HEAD);
    for (uint32_t row = 1; row < bulk->rows; row++)
        strbuf_add(out, first.text, first.length);
    bulk->alike[column] = false;
}

static void put(struct pg_bulk *bulk, const char *bytes, size_t size) {
    assert(bulk->next < bulk->columns);
    unsigned column = bulk->next++;
    if (!is_bulk(bulk)) {
        strbuf_add(&bulk->bytes[column], bytes ? bytes : "", size);
    } else if (bulk->rows == 0 || !bulk->alike[column]) {
        add_element(&bulk->bytes[column], bytes, size);
    } else if (!is_first(bulk, column, bytes, size)) {
        write_out(bulk, column);
        add_element(&bulk->bytes[column], bytes, size);
    }
    bulk->nulls[column] |= !bytes;
    if (bulk->next == bulk->columns) {
        bulk->next = 0;
        bulk->rows++;
    }
}

void pg_put_null(struct pg_bulk *bulk) {
    put(bulk, NULL, 0);
}

void pg_put_int(struct pg_bulk *bulk, int64_t value) {
    uint64_t large = htobe64((uint64_t)value);
    uint32_t small = htobe32((uint32_t)value);
    char flag = value != 0;
    switch (bulk->types[bulk->next]) {
    case 'l':
        put(bulk, (const char *)&large, sizeof(large));
        break;
    case 'i':
        assert(value >= INT32_MIN && value <= INT32_MAX);
        put(bulk, (const char *)&small, sizeof(small));
        break;
    default:
        assert(bulk->types[bulk->next] == 'b');
        put(bulk, &flag, sizeof(flag));
    }
}

void pg_put_int_unless(struct pg_bulk *bulk, int64_t value, int64_t usual) {
    if (value == usual)
        pg_put_null(bulk);
    else
        pg_put_int(bulk, value);
}

void pg_put_text_size(struct pg_bulk *bulk, const char *text, size_t size) {
    if (!text) {
        pg_put_null(bulk);
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

static void write_head(char *head, char type, uint32_t count, bool nulls) {
    uint32_t words[] = { htobe32(1), htobe32(nulls), htobe32(oid_of(type)), htobe32(count),
                         htobe32(1) };
    _Static_assert(sizeof(words) == ARRAY_HEAD, "the head of an array has five words");
    memcpy(head, words, sizeof(words));
}

void pg_put_numbers(struct pg_bulk *bulk, const task_id *numbers, size_t count) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (bulk->types[bulk->next] == 'L') {
        char head[ARRAY_HEAD];
        write_head(head, 'L', (uint32_t)count, false);
        strbuf_add(&out, head, sizeof(head));
        for (size_t i = 0; i < count; i++) {
            add_u32(&out, 8);
            add_u64(&out, numbers[i] > INT64_MAX ? INT64_MAX : numbers[i]);
        }
    } else {
        for (size_t i = 0; i < count; i++)
            strbuf_printf(&out, "%c%" PRIu64, i ? ',' : '{', numbers[i]);
        if (count > 0)
            strbuf_putc(&out, '}');
    }
    put(bulk, out.text, out.length);
}

/* --- statements -------------------------------------------------------------------------------------- */

/* The arrays of all columns, then the single values of all but the first; see pg_statement_build. */
static struct pg_values rows_of(struct pg_bulk *bulk, const char **values, int *lengths) {
    unsigned columns = bulk->columns;
    for (unsigned i = 0; i < columns; i++) {
        char *array = bulk->bytes[i].text;
        bool alike = bulk->alike[i];
        if (i > 0) {
            bool one = alike && !bulk->nulls[i];
            values[columns + i - 1] = one ? array + ARRAY_HEAD + sizeof(uint32_t) : NULL;
            lengths[columns + i - 1] = (int)(bulk->bytes[i].length - ARRAY_HEAD - sizeof(uint32_t));
        }
        write_head(array, bulk->types[i], bulk->rows, bulk->nulls[i]);
        values[i] = alike ? NULL : array;
        lengths[i] = (int)bulk->bytes[i].length;
    }
    return (struct pg_values){ values, lengths, (int)(2 * columns - 1) };
}

static struct pg_values singles_of(struct pg_bulk *bulk, const char **values, int *lengths) {
    for (unsigned i = 0; i < bulk->columns; i++) {
        values[i] = bulk->nulls[i] ? NULL : strbuf_text(&bulk->bytes[i]);
        lengths[i] = (int)bulk->bytes[i].length;
    }
    return (struct pg_values){ values, lengths, (int)bulk->columns };
}

void pg_bulk_send(struct pg_bulk *bulk, struct pg_link *link) {
    const char *values[PG_VALUES_MAX];
    int lengths[PG_VALUES_MAX];
    assert(bulk->next == 0 && (bulk->rows > 0 || bulk->columns == 0));
    struct pg_values all =
        is_bulk(bulk) ? rows_of(bulk, values, lengths) : singles_of(bulk, values, lengths);
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

static const char *type_name(char type) {
    return type == 'b' ? "boolean" : type == 'i' ? "integer" : type == 'l' ? "bigint" : "text";
}

static unsigned count_columns(const char *columns) {
    unsigned count = 0;
    for (const char *at = columns; (at = strchr(at, ':')); at++)
        count++;
    return count;
}

/* (SELECT n.a AS a, coalesce(n.b, $3::text) AS b FROM unnest($1::bigint[], $2::text[]) AS n (a, b)) AS n */
static void add_rows(const char *columns, struct strbuf *out) {
    unsigned count = count_columns(columns), n = 0;
    strbuf_puts(out, "(SELECT ");
    for (const char *at = columns; *at; n++) {
        int size = (int)strcspn(at, ":");
        if (n == 0)
            strbuf_printf(out, "n.%.*s AS %.*s", size, at, size, at);
        else
            strbuf_printf(out, ", coalesce(n.%.*s, $%u::%s) AS %.*s", size, at, count + n,
                          type_name(at[size + 1]), size, at);
        at += size + 2;
        at += *at == ' ';
    }
    strbuf_puts(out, " FROM unnest(");
    n = 0;
    for (const char *at = columns; (at = strchr(at, ':')); at++, n++)
        strbuf_printf(out, "%s$%u::%s[]", n ? ", " : "", n + 1, type_name(at[1]));
    strbuf_puts(out, ") AS n (");
    add_columns(columns, "", false, out);
    strbuf_puts(out, ")) AS n");
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

/* Types of the values: as many as the statement takes. */
static int put_types(enum pg_statement statement, Oid types[PG_VALUES_MAX]) {
    const struct pg_statement_text *text = &pg_texts[statement];
    int count = 0;
    for (const char *at = text->columns; (at = strchr(at, ':')); at++)
        types[count++] = text->bulk || at[1] == 'L' ? array_oid_of(at[1]) : oid_of(at[1]);
    const char *second = text->bulk ? strchr(text->columns, ' ') : NULL;
    for (const char *at = second; at && (at = strchr(at, ':')); at++)
        types[count++] = oid_of(at[1]);
    return count;
}

void pg_statements_prepare(struct pg_link *link, enum pg_statement first, enum pg_statement end) {
    for (enum pg_statement statement = first; statement < end; statement++) {
        _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
        Oid types[PG_VALUES_MAX];
        int count = put_types(statement, types);
        pg_statement_build(statement, &sql);
        pg_link_prepare(link, pg_texts[statement].name, sql.text, types, count);
    }
}
