/* postgres_internal.h: the parts of the PostgreSQL backend, for each other. Private to store/.
 *
 *   postgres.c          open, close, info         postgres_place.c       a URL, its schema, its lock
 *   postgres_session.c  what a connection must be postgres_link.c        a connection and its answers
 *   postgres_schema.c   migrations, rights        postgres_statements.c  every statement as text
 *   postgres_bulk.c     many rows as arrays       postgres_write.c       a batch as few statements
 *   postgres_commit.c   one of three outcomes     postgres_read.c        rows out of answers
 *   postgres_ask.c      questions                 postgres_load.c        everything, once
 *   postgres_await.c    whoever waits; who has it postgres_look.c        a store that is not changed
 *
 * Two connections: the writer has the lock, commits and loads; the reader answers questions, so that they
 * need not wait for a commit. When either is lost, the store has broken: see store_why_broken. */
#pragma once

#include "store/names.h"
#include "store/postgres_statements.h"

#define PG_FIRST_VERSION 7u /* of the schema: what there was before is SQLite's */

/* --- postgres_schema.c ------------------------------------------------------------------------ */

/* steps[n] leads to version PG_FIRST_VERSION + n. */
struct pg_schema {
    const char *const *steps;
    uint32_t version;
};
extern const struct pg_schema pg_schema;

/* 0: there is none yet. Refuses a foreign schema and a version above `newest`. */
int pg_schema_inspect(struct pg_link *link, uint32_t newest, uint32_t *ret_version,
                      struct error *err);
int pg_schema_migrate(struct pg_link *link, const struct pg_schema *schema, uint32_t from,
                      struct error *err);
/* Is everything allowed that will be needed? */
int pg_schema_check_rights(struct pg_link *link, struct error *err);

/* --- the store -------------------------------------------------------------------------------- */

struct pg_sent {
    enum pg_statement statement;
    uint32_t write; /* whose it is; UINT32_MAX: of many */
};

/* A batch on its way. */
struct pg_commit {
    const struct store_batch *batch;
    struct pg_sent *sent;
    size_t sent_count, sent_capacity, answered;
    size_t written;  /* of the batch's writes that specs need not wait for */
    bool begun;      /* BEGIN was sent */
    bool one_by_one; /* the second time: so that the first rule that is broken is the one told */
    bool rolling_back;
    bool over;      /* the server said COMMIT */
    unsigned again; /* how often something passing was in the way */
    struct pg_sent failed;
    char state[6]; /* the SQLSTATE of what failed; "": nothing */
    char rule[32]; /* the name of the constraint */
    char text[300];
    task_id last_task;
    uint64_t last_event;
};

/* What is noted of a batch by task; see postgres_write.c. */
struct pg_touched {
    struct pg_touch {
        uint64_t key;
        unsigned bits;
    } * slots;
    size_t capacity, count;
};

struct pg_asked;

struct pg_store {
    struct store base;
    struct pg_place place;
    struct pg_link writer, reader;
    struct store_options options;
    struct error opening; /* what went wrong while statements were prepared */
    struct names names;
    int64_t epoch;
    task_id last_task;   /* highest ever given */
    uint64_t last_event; /* highest ever given */
    struct pg_bulk bulks[PG_WRITES];
    struct pg_commit commit;
    struct pg_touched touched;
    struct pg_touched fresh;                   /* tasks that the batch adds: in which project */
    struct pg_asked *first_asked, *last_asked; /* that wait for their answers */
    int64_t bytes;                             /* when it was last asked */
    uint64_t bytes_commits;                    /* then */
    time_ms bytes_at;                          /* of the steady clock */
};

/* Opens as a program that knows these versions (tests: those to come). */
int pg_open_as(const struct pg_schema *schema, const struct store_options *options,
               struct store **ret_store, struct store_report *ret_report, struct error *err);

/* Sends the writes of a batch behind a BEGIN: those that are there; then, once, the rest and COMMIT. */
void pg_write_ahead(struct pg_store *store, const struct store_batch *batch);
void pg_write_batch(struct pg_store *store, const struct store_batch *batch, bool one_by_one);
/* Its next statement: whoever answers for it. */
void pg_commit_note(struct pg_commit *commit, enum pg_statement statement, uint32_t write);
void pg_commit_ahead(struct store *base, const struct store_batch *batch);
void pg_commit(struct store *base, const struct store_batch *batch);
void pg_commit_result(struct pg_store *store, const PGresult *result);
void pg_commit_synced(struct pg_store *store);
void pg_commit_finish(struct pg_commit *commit); /* frees */
void pg_write_finish(struct pg_store *store);    /* frees */

/* --- postgres_read.c --------------------------------------------------------------------------- */

/* One row in the binary format; texts end in NUL and live as long as what it was taken from. */
struct pg_row {
    const char *values[PG_COLUMNS_MAX]; /* NULL: none */
    int lengths[PG_COLUMNS_MAX];
    const struct names *names;
    bool damaged; /* a number named nothing */
};
void pg_row_of_result(struct pg_row *row, const PGresult *result, int index);
/* A row of COPY, which is changed; false: it is none (any more). */
bool pg_row_of_copy(struct pg_row *row, char *bytes, int size);
int64_t pg_int(const struct pg_row *row, unsigned column); /* 0 when there is none */
int64_t pg_int_or(const struct pg_row *row, unsigned column, int64_t usual);
bool pg_flag(const struct pg_row *row, unsigned column);
const char *pg_text(const struct pg_row *row, unsigned column);
const char *pg_name(struct pg_row *row, unsigned column);
unsigned pg_word(struct pg_row *row, enum word_list list, unsigned column);
unsigned pg_word_or(struct pg_row *row, enum word_list list, unsigned column, unsigned usual);
void pg_read_run(struct pg_row *row, struct run_row *ret_row);
/* A bigint[]; false: it is none. The caller frees, or NULL. */
bool pg_numbers(const struct pg_row *row, unsigned column, task_id **numbers, size_t *capacity,
                size_t *ret_count);
int pg_damaged(struct pg_store *store, const char *what, struct error *err);

/* --- the rest ---------------------------------------------------------------------------------- */

void pg_ask(struct store *base, const struct store_question *question, store_answered done,
            void *ctx);
void pg_ask_size(struct pg_store *store);
void pg_ask_result(struct pg_store *store, const PGresult *result);
void pg_ask_lose_first(struct pg_store *store, const struct error *err); /* of those who wait */
void pg_ask_forget(struct pg_store *store);                              /* tells nobody */
int pg_load(struct store *base, const struct store_reader *reader, struct store_totals *ret_totals,
            struct error *err);
int pg_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
             struct store_await **ret_await, struct error *err);
void pg_await_cancel(struct store_await *await);
int pg_await_holder(struct store_await *await, char ret_who[STORE_WHO_MAX]);
/* The connection with the lock; the rest of it is gone. */
void pg_await_take(struct store_await *await, struct pg_place *ret_place, struct pg_link *ret_link);
int pg_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
int pg_look(const char *url, struct store_look *ret_look, struct error *err);
