/* sqlite_internal.h: the parts of the SQLite backend, for each other. Private to store/.
 *
 *   sqlite.c         open, close, maintain, wait  sqlite_write.c   batches, questions, loading
 *   sqlite_schema.c  migrations                   sqlite_copy.c    copies and restore */
#pragma once

#include <sqlite3.h>

#include "base/queue.h"
#include "base/strbuf.h"
#include "store/place.h"
#include "store/sql.h"

#define SQLITE_RESTORE_HINT   "restore a copy with 'sluice restore --yes FILE'"
#define SQLITE_APPLICATION_ID 0x536c7563 /* "Sluc" */

struct sqlite_reserve {
    char *path;
    int64_t size; /* 0: none is kept */
    bool used;
};

struct sqlite_store {
    struct store base;
    struct place place;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_MAX]; /* prepared when first needed */
    struct names names;
    struct sqlite_reserve reserve;
    struct sqlite_backup *backup; /* that is being made; or NULL */
    int backup_pages;             /* in one step; 0: the usual number (tests) */
    struct store_options options;
    struct sqlite_thread *thread;         /* that commits when that is slow; NULL: not needed yet */
    QUEUE(struct sqlite_waiting) waiting; /* questions, while it has the connection */
    struct strbuf words;                  /* what SQLite said meanwhile */
    time_ms slow_until;                   /* steady clock: as long the thread commits */
    char *empty_log;                      /* that reading has made, and that goes again; or NULL */
    task_id last_task;                    /* highest ever given */
    uint64_t last_event;                  /* highest ever given */
    int log_pages;                        /* in the write-ahead log and not yet in the database */
    bool log_is_long;                     /* the log has pages, copied or not */
};

/* steps[n] leads from version n to n + 1, up to `version`; NULL: nothing beside new columns. */
struct sqlite_schema {
    const char *const *steps;
    uint32_t version;
};
extern const struct sqlite_schema sqlite_schema;

/* --- sqlite.c --------------------------------------------------------------------------------- */

/* A negative errno for a result of SQLite, and its sentence. "cannot WHAT 'PATH': …" */
int sqlite_error(sqlite3 *db, const char *path, const char *what, int rc, struct error *err);
/* The same; a result after which nothing can be trusted also ends the store. */
int sqlite_fault(struct sqlite_store *store, const char *what, int rc, struct error *err);
/* A fault that is not SQLite's: a value in the file that cannot be. */
int sqlite_damaged(struct sqlite_store *store, const char *what, struct error *err);

/* Opens as a program that knows these versions (tests: those to come). */
int sqlite_open_as(const struct sqlite_schema *schema, const struct store_options *options,
                   struct store **ret_store, struct store_report *ret_report, struct error *err);
/* NULL: it could not be prepared; sqlite3_errcode says why. */
sqlite3_stmt *sqlite_statement(struct sqlite_store *store, enum statement statement);
/* Runs a statement without rows; SQLITE_OK or what went wrong. */
int sqlite_run(struct sqlite_store *store, enum statement statement);
/* Steps what is bound, resets it, and gives SQLITE_OK or what went wrong. */
int sqlite_finish(sqlite3_stmt *stmt);
/* One number; `fallback` when there is no row. */
int sqlite_number(sqlite3 *db, const char *sql, int64_t fallback, int64_t *ret_number);
/* A number of the table `meta`; 0 when there is none. */
int sqlite_meta(sqlite3 *db, const char *key, int64_t *ret_number);
void sqlite_progress(const struct sqlite_store *store, const char *what, unsigned percent);

/* --- commits in a thread ------------------------------------------------------------------------ */

/* True: it commits this batch, and store_finish_commit is called from the loop. Until then the connection is not to be used. */
bool sqlite_thread_takes(struct sqlite_store *store, const struct store_batch *batch);
bool sqlite_thread_is_busy(const struct sqlite_store *store);
/* A question for later: when the commit is done. It is copied. */
void sqlite_thread_keep(struct sqlite_store *store, const struct store_question *question,
                        store_answered done, void *ctx);

/* --- sqlite_schema.c ------------------------------------------------------------------------- */

/* Whose file it is, and of which version; refuses a foreign one and one above `newest`. Fills
 * `created` and `was_unclean`. */
int sqlite_inspect(struct sqlite_store *store, uint32_t newest, struct store_report *report,
                   uint32_t *ret_version, struct error *err);
int sqlite_migrate(struct sqlite_store *store, const struct sqlite_schema *schema, uint32_t from,
                   struct store_report *report, struct error *err);

/* --- sqlite_write.c ----------------------------------------------------------------------------- */

void sqlite_commit(struct store *base, const struct store_batch *batch);
/* In the calling thread; `err` is filled unless it is OK. */
enum store_outcome sqlite_commit_now(struct sqlite_store *store, const struct store_batch *batch,
                                     struct error *err);
int sqlite_put_meta(struct sqlite_store *store, const char *key, int64_t value);
/* Writes the names that are not on disk yet. */
int sqlite_names_write(struct sqlite_store *store);
int sqlite_names_load(struct sqlite_store *store, struct error *err);
void sqlite_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx);
int sqlite_load(struct store *base, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err);

/* --- maintenance -------------------------------------------------------------------------------- */

/* When the log has grown long; 0 or a result of SQLite that ends the store. */
int sqlite_checkpoint_if_long(struct sqlite_store *store);
/* Gives the disk back; false: there was nothing to give. */
bool sqlite_reserve_release(struct sqlite_store *store);

/* --- sqlite_copy.c --------------------------------------------------------------------------- */

/* At once, while nobody waits. */
int sqlite_copy(struct sqlite_store *store, const char *path, struct error *err);
int sqlite_restore(const char *url, const char *path, char ret_kept[512], struct error *err);
/* Ends a restore that a crash has interrupted; nothing to do: 0. */
int sqlite_finish_restore(const struct place *place, char ret_kept[512], struct error *err);
int sqlite_look(const char *url, struct store_look *ret_look, struct error *err);
int sqlite_backup_begin(struct store *base, const char *path, struct error *err);
int sqlite_backup_go_on(struct store *base, time_ms *ret_again, struct error *err);
bool sqlite_backup_cancel(struct store *base);
