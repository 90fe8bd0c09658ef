/* postgres_internal.h: shared by the parts of the PostgreSQL backend. Private to store/.
 *
 *   postgres.c         open, close, info, wait   postgres_link.c    a URL, a connection
 *   postgres_schema.c  migrations, rights        postgres_bulk.c    many rows as arrays
 *   postgres_write.c   a batch, and its outcome  postgres_read.c    queries, loading
 *
 * Two connections: the writer has the lock, commits and loads; the reader answers queries, so
 * that they do not wait for a commit. If either is lost, the store is broken: see
 * store_why_broken. */
#pragma once

#include "base/queue.h"
#include "store/postgres_link.h"

#define PG_FIRST_VERSION 7u /* of the schema: earlier versions exist only in SQLite */

/* --- postgres_schema.c ----------------------------------------------------------------------- */

/* steps[n] leads to version PG_FIRST_VERSION + n; NULL: only new columns. */
struct pg_schema {
    const char *const *steps;
    uint32_t version;
};
extern const struct pg_schema pg_schema;

/* 0: none yet. Refuses the schema of another program, and a version above `newest`. */
int pg_schema_inspect(struct pg_link *link, uint32_t newest, uint32_t *ret_version,
                      struct error *err);
int pg_schema_migrate(struct pg_link *link, const struct pg_schema *schema, uint32_t from,
                      struct error *err);
/* Checks all required privileges. */
int pg_schema_check_rights(struct pg_link *link, struct error *err);

/* --- postgres_bulk.c ------------------------------------------------------------------------- */

/* The values of one statement: rows of columns, or one of each. */
struct pg_bulk {
    enum statement statement;
    bool is_rows;   /* otherwise one value of each */
    bool has_usual; /* the statement has the form SQL_USUAL */
    uint32_t rows;
    size_t size; /* bytes of texts */
    unsigned count, next;
    struct pg_column {
        struct sql_column of;
        bool has_null;
        bool is_alike; /* all rows have the value of the first, which alone is kept */
        struct strbuf bytes;
    } columns[SQL_COLUMNS_MAX];
};
void pg_bulk_init(struct pg_bulk *bulk, enum statement statement);
void pg_bulk_finish(struct pg_bulk *bulk);
/* Appends the next value of the current row. */
void pg_put_int(struct pg_bulk *bulk, int64_t value);
void pg_put_text(struct pg_bulk *bulk, const char *text);
/* All columns of a row; those of its progress are NULL where they are usual. */
void pg_put_row(struct pg_bulk *bulk, const struct row_type *type, const void *row,
                struct names *names);
void pg_put_numbers(struct pg_bulk *bulk, const task_id *numbers, size_t count);
/* Sends it and empties the bulk. */
void pg_bulk_send(struct pg_bulk *bulk, struct pg_link *link);
bool pg_statement_has(enum statement statement, enum sql_form form);
void pg_statements_prepare(struct pg_link *link, enum statement first, enum statement end);

/* --- the store ------------------------------------------------------------------------------- */

struct pg_sent {
    enum statement statement;
    uint32_t write; /* its index; UINT32_MAX: several */
};

/* A batch being committed. */
struct pg_commit {
    const struct store_batch *batch;
    struct pg_sent *sent;
    size_t sent_count, sent_capacity, answered;
    size_t written;  /* writes of the batch that specs need not wait for */
    uint32_t write;  /* being sent: its index; UINT32_MAX: many at once */
    bool begun;      /* BEGIN was sent */
    bool one_by_one; /* second attempt: reports the first rule that is broken */
    bool rolling_back;
    bool confirmed;   /* the server has confirmed COMMIT */
    unsigned retries; /* after transient errors */
    struct pg_sent failed;
    char state[6]; /* the SQLSTATE of the failure; "": none */
    char rule[32]; /* the name of the constraint */
    struct error err;
};

/* What a batch has touched, by task; see postgres_write.c. */
struct pg_touched {
    struct pg_touch {
        uint64_t key;
        unsigned bits;
    } * slots;
    size_t capacity, count;
};

struct pg_pending;

struct pg_store {
    struct store base;
    struct pg_target target;
    struct pg_link writer, reader;
    struct store_options options;
    struct error opening; /* error while preparing statements */
    struct names names;
    int64_t epoch;
    struct pg_bulk bulks[STATEMENT_WRITES];
    struct pg_commit commit;
    struct pg_touched touched;
    struct pg_touched fresh;          /* tasks added by the batch, with their project */
    QUEUE(struct pg_pending) pending; /* waiting for answers */
    int64_t bytes;                    /* when last queried */
    uint64_t bytes_commits;           /* number of commits at that time */
    time_ms bytes_at;                 /* steady clock */
};

/* Opens as a program that knows these versions (tests: future ones). */
int pg_open_as(const struct pg_schema *schema, const struct store_options *options,
               struct store **ret_store, struct store_report *ret_report, struct error *err);

void pg_commit_ahead(struct store *base, const struct store_batch *batch);
void pg_commit(struct store *base, const struct store_batch *batch);
/* Callbacks of the writer; ctx: struct pg_store. */
void pg_commit_result(void *ctx, const PGresult *result);
void pg_commit_synced(void *ctx);
void pg_write_finish(struct pg_store *store); /* frees */

/* --- postgres_read.c ------------------------------------------------------------------------- */

int pg_damaged(struct store *base, const char *what, struct error *err);
void pg_query(struct store *base, const struct store_query *question, store_answered done,
              void *ctx);
void pg_query_size(struct pg_store *store);
void pg_query_result(void *ctx, const PGresult *result); /* callback of the reader, as above */
/* Ends the first query that waits; `err` NULL: without its callback. */
void pg_query_end_first(struct pg_store *store, const struct error *err);
int pg_load(struct store *base, const struct store_reader *reader, struct store_totals *ret_totals,
            struct error *err);
int pg_summary(const char *url, struct store_summary *ret_summary, struct error *err);
