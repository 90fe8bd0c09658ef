/* sql.h: statements for both databases, generated from the columns. Private to store/.
 *
 * A statement is written once where SQLite and PostgreSQL agree. {words} in it expand to text
 * derived from the columns of its row (columns.h); $1 becomes ?1 for SQLite. */
#pragma once

#include "base/strbuf.h"
#include "store/row_type.h"
#include "store/store_internal.h"

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };

#define STATEMENT(name, ...) STATEMENT_##name,
enum statement {
#include "store/statements.inc"
    STATEMENT_MAX,
    STATEMENT_WRITES = STATEMENT_GET_SPEC, /* the rest only reads */
};
#undef STATEMENT

/* How PostgreSQL gets rows: all columns as arrays, or only those that usually vary. See
 * postgres_bulk.c. */
enum sql_form { SQL_GENERAL, SQL_USUAL, SQL_FORMS };

struct statement_text {
    const char *name;                  /* under which PostgreSQL prepares it */
    const struct row_type *row, *more; /* whose columns it takes; or NULL */
    const char *params;                /* "name:type …": additional parameters in PostgreSQL */
    bool bulk;                         /* PostgreSQL gets many rows, each column as one array */
    const char *sqlite, *postgres;     /* NULL: no such statement */
};
extern const struct statement_text statement_texts[STATEMENT_MAX];
/* The statement that writes one row. */
enum statement sql_write_of(enum row_kind kind);
enum statement sql_prune_of(enum row_kind kind);

/* A parameter of a PostgreSQL statement. l bigint, i integer, t text, b boolean, n bigint[] as
 * text, L bigint[] (not a row column). */
struct sql_column {
    const char *name;
    int size; /* of the name */
    char type;
    bool varies; /* usually differs between the rows of a batch */
};
#define SQL_COLUMNS_MAX 48u
unsigned sql_columns(enum statement statement, struct sql_column ret_columns[SQL_COLUMNS_MAX]);
static inline bool sql_is_array(const struct sql_column *column, enum sql_form form) {
    return form == SQL_GENERAL || column->varies;
}

/* `form` is ignored for SQLite. */
void sql_build(enum statement statement, enum sql_dialect dialect, enum sql_form form,
               struct strbuf *out);

/* --- tables ---------------------------------------------------------------------------------- */

/* All tables of rows, as of STORE_VERSION. */
void sql_create_tables(enum sql_dialect dialect, struct strbuf *out);
/* Adds the columns of this version to tables of the previous one. */
void sql_add_columns(enum sql_dialect dialect, uint32_t version, struct strbuf *out);

/* --- reading --------------------------------------------------------------------------------- */

/* What store_load reads, in order; `more`: columns of another type after those of the first. */
struct sql_part {
    enum row_kind kind;
    const char *rest; /* of the statement: FROM … */
};
extern const struct sql_part sql_parts[];
#define SQL_PARTS    10u
#define SQL_EXTERNAL ROW_SPEC /* as `kind`: only struct external_row of specs */
void sql_load(const struct sql_part *part, enum sql_dialect dialect, struct strbuf *out);

/* State of loading, for both databases. */
struct sql_loader {
    struct store *store;
    const struct store_reader *reader;
    const struct store_options *options;
    struct error *err;
    struct row_names names;
    uint64_t tasks; /* loaded so far */
    /* Reports a damaged table: "table TABLE DAMAGE". */
    const char *damage;
    int (*damaged)(struct store *store, const char *what, struct error *err);
};
/* Passes a row other than a task to the reader; an error if names.damaged is set. */
int sql_load_row(struct sql_loader *loader, enum row_kind kind, const struct row_source *from,
                 const void *ctx);
/* The same for a task; reports progress at intervals. */
int sql_load_task(struct sql_loader *loader, const struct task_row *row);

/* As a signed number: one too large for a database is larger than every stored one. */
static inline int64_t sql_number(uint64_t number) {
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

struct sql_value {
    const char *text; /* NULL: the number */
    int64_t number;
};

#define SQL_VALUES_MAX 5u /* of a query */
struct sql_query {
    enum statement statement;
    struct sql_value values[SQL_VALUES_MAX];
    unsigned count;
};
/* False: no row can match. The tasks of a query are not among the values. */
bool sql_query(const struct store_query *question, const struct names *names,
               struct sql_query *ret);
/* One row of an answer, store_answer_row bytes. Inlined like row_read. */
static inline __attribute__((always_inline)) void sql_read(enum store_query_kind kind, void *row,
                                                           const struct row_source *from,
                                                           const void *ctx,
                                                           struct row_names *names) {
    if (kind == QUERY_EXPIRED) {
        *(task_id *)row = (task_id)from->number(ctx, 0);
        return;
    }
    enum row_kind of = store_answer_kind(kind);
    memset(row, 0, row_types[of].size);
    if (kind == QUERY_CHANGED || kind == QUERY_TITLES) {
        struct spec_row *spec = row;
        spec->id = (task_id)from->number(ctx, 0);
        spec->changed_at = from->number(ctx, 1);
        spec->title = kind == QUERY_TITLES ? from->text(ctx, 2) : NULL;
        return;
    }
    int next = row_read(&row_types[of], row, from, ctx, 0, names);
    if (of == ROW_SPEC)
        ((struct spec_row *)row)->changed_at = from->number(ctx, next);
}
