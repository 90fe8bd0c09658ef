/* sqlite_internal.h: shared by the parts of the SQLite backend. Private to store/.
 *
 *   sqlite.c         open, close, maintain, wait  sqlite_write.c   batches, queries, loading
 *   sqlite_schema.c  migrations                   sqlite_copy.c    copies and restore
 *   sqlite_file.c    path, lock, holder
 *
 * Beside the database PATH there are PATH-wal (SQLite's log), PATH-lock (held while the store is
 * open; may name the holder, and vouch for the database) and PATH-reserve (reserved disk space). An unfinished restore is in
 * PATH-restored. */
#pragma once

#include <sqlite3.h>

#include "base/queue.h"
#include "base/strbuf.h"
#include "store/sql.h"

#define SQLITE_RESTORE_HINT   "restore a copy with 'sluice restore --yes FILE'"
#define SQLITE_APPLICATION_ID 0x536c7563 /* "Sluc" */

struct sqlite_file {
    char *path; /* of the database: absolute, no symlink in its folder */
    int lock;   /* descriptor; -1: not held */
};

/* The second line of the lock file, which vouches for the database: all that was written to this
 * file in this boot of the kernel, since the epoch began, was written without an error. */
#define SQLITE_VOUCHER_MAX 160u

#define SQLITE_FILE_INIT                                                                           \
    { NULL, -1 }

struct sqlite_reserve {
    char *path;
    int64_t size; /* 0: no reserve */
    bool used;
};

struct sqlite_store {
    struct store base;
    struct sqlite_file file;
    char voucher[SQLITE_VOUCHER_MAX]; /* found in the lock file when it was opened */
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_MAX]; /* prepared when first needed */
    struct names names;
    struct sqlite_reserve reserve;
    struct sqlite_backup *backup; /* in progress; or NULL */
    int backup_pages;             /* per step; 0: default (tests) */
    struct store_options options;
    struct sqlite_thread *thread;         /* commits if that is slow; NULL: not needed yet */
    QUEUE(struct sqlite_waiting) waiting; /* queries, while the thread has the connection */
    struct strbuf messages;               /* of SQLite, logged by the thread */
    int64_t mean_us;  /* of recent small commits, without waiting for a thread */
    bool is_slow;     /* the thread makes every commit */
    char *empty_log;  /* created by reading, and removed again; or NULL */
    int log_pages;    /* in the write-ahead log and not yet in the database */
    bool log_is_long; /* the log has pages, copied or not */
};

/* steps[n] leads from version n to n + 1, up to `version`; NULL: only new columns. */
struct sqlite_schema {
    const char *const *steps;
    uint32_t version;
};
extern const struct sqlite_schema sqlite_schema;

/* --- sqlite.c -------------------------------------------------------------------------------- */

bool sqlite_is_damage(int rc);
/* A negative errno for a SQLite result, and its message: "cannot WHAT 'PATH': …" */
int sqlite_error(sqlite3 *db, const char *path, const char *what, int rc, struct error *err);
/* The same; a result after which nothing can be trusted also breaks the store. */
int sqlite_fault(struct sqlite_store *store, const char *what, int rc, struct error *err);
/* Damage not detected by SQLite: an invalid value in the file. */
int sqlite_damaged(struct store *base, const char *what, struct error *err);

/* Opens as a program that knows these versions (tests: future ones). */
int sqlite_open_as(const struct sqlite_schema *schema, const struct store_options *options,
                   struct store **ret_store, struct store_report *ret_report, struct error *err);
/* NULL: it could not be prepared; sqlite3_errcode has the reason. */
sqlite3_stmt *sqlite_statement(struct sqlite_store *store, enum statement statement);
/* Runs a statement without rows; returns SQLITE_OK or the error. */
int sqlite_run(struct sqlite_store *store, enum statement statement);
/* Steps the bound statement and resets it; returns SQLITE_OK or the error. */
int sqlite_finish(sqlite3_stmt *stmt);
/* The first columns of the first row. A missing number (no row, NULL) stays unchanged. */
int sqlite_numbers(sqlite3 *db, const char *sql, int count, int64_t *ret_numbers);
/* The highest numbers ever assigned, as expressions. */
#define SQLITE_LAST(table, column, key)                                                            \
    "max(ifnull((SELECT max(" column ") FROM " table "), 0),"                                      \
    " (SELECT value FROM meta WHERE key = '" key "'))"
#define SQLITE_LAST_TASK  SQLITE_LAST("task", "number", "last_task")
#define SQLITE_LAST_EVENT SQLITE_LAST("event", "seq", "last_event")
/* Runs a check of SQLite. *ret_problem: the first problem on one line, or "". */
#define SQLITE_PROBLEM_MAX 151u
int sqlite_find_problem(sqlite3 *db, const char *sql, char ret_problem[SQLITE_PROBLEM_MAX]);
/* A number in the table `meta`; 0 if missing. */
int sqlite_meta(sqlite3 *db, const char *key, int64_t *ret_number);
void sqlite_progress(const struct sqlite_store *store, const char *what, unsigned percent);

/* --- commits in a thread --------------------------------------------------------------------- */

/* True: the thread commits this batch, and store_finish_commit is called from the loop. Until then
 * the connection must not be used. */
bool sqlite_thread_takes(struct sqlite_store *store, const struct store_batch *batch);
bool sqlite_thread_is_busy(const struct sqlite_store *store);
/* Queues a query until the commit is done. It is copied. */
void sqlite_thread_keep(struct sqlite_store *store, const struct store_query *question,
                        store_answered done, void *ctx);

/* --- sqlite_schema.c ------------------------------------------------------------------------- */

/* Identifies the file and its version; refuses a file of another program, and a version above
 * `newest`. Fills `created` and `was_unclean`. */
int sqlite_inspect(struct sqlite_store *store, uint32_t newest, struct store_report *report,
                   uint32_t *ret_version, struct error *err);
int sqlite_migrate(struct sqlite_store *store, const struct sqlite_schema *schema, uint32_t from,
                   struct store_report *report, struct error *err);

/* --- sqlite_write.c -------------------------------------------------------------------------- */

void sqlite_commit(struct store *base, const struct store_batch *batch);
/* In the calling thread; `err` is filled unless it is OK. */
enum store_outcome sqlite_commit_now(struct sqlite_store *store, const struct store_batch *batch,
                                     struct error *err);
/* The same, and decides whether later ones are made in the thread. */
enum store_outcome sqlite_commit_timed(struct sqlite_store *store, const struct store_batch *batch,
                                       struct error *err);
int sqlite_put_meta(struct sqlite_store *store, const char *key, int64_t value);
/* Writes the names that are not stored yet. */
int sqlite_names_write(struct sqlite_store *store);
int sqlite_names_load(struct sqlite_store *store, struct error *err);
void sqlite_query(struct store *base, const struct store_query *question, store_answered done,
                  void *ctx);
int sqlite_load(struct store *base, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err);

/* --- maintenance ----------------------------------------------------------------------------- */

/* Checkpoints a long log; 0 or a SQLite result that breaks the store. */
int sqlite_checkpoint_if_long(struct sqlite_store *store);
/* Frees the reserved disk space; false: there was none. */
bool sqlite_reserve_release(struct sqlite_store *store);

/* --- sqlite_file.c --------------------------------------------------------------------------- */

void sqlite_file_finish(struct sqlite_file *file); /* releases the lock; safe on SQLITE_FILE_INIT */

/* Finds the folder, creates its last component if missing, and refuses file systems without
 * reliable sync or locks (-ENOTSUP). */
int sqlite_file_find(const char *path, struct sqlite_file *ret_file, struct error *err);
/* Retries for a while if the holder seems to have ended. -EBUSY: another process has it. */
int sqlite_file_lock(struct sqlite_file *file, struct error *err);
/* The same without retries: -EAGAIN, without a message, while another process has it. */
int sqlite_file_try_lock(struct sqlite_file *file, struct error *err);
/* Writes the holder into the lock file; NULL: none. The content is valid only while the file is
 * locked. */
void sqlite_file_set_holder(const struct sqlite_file *file, const char *who);
/* The holder's `who`; "": not held, or unknown. */
void sqlite_file_read_holder(const struct sqlite_file *file, char *ret_who, size_t size);
/* Before sqlite_file_set_holder, which removes it. */
void sqlite_file_read_voucher(const struct sqlite_file *file, char ret[SQLITE_VOUCHER_MAX]);
bool sqlite_file_is_vouched(const struct sqlite_file *file, const char *voucher, uint64_t epoch);
/* The same for the epoch in the voucher: its holder has seen no error. */
bool sqlite_file_had_no_error(const struct sqlite_file *file, const char *voucher);
void sqlite_file_vouch(const struct sqlite_file *file, uint64_t epoch);
void sqlite_file_revoke(const struct sqlite_file *file); /* an error was seen */
/* Writes the log again, so that nothing of it is only in memory. Not while SQLite has it open. */
int sqlite_file_renew_log(const struct sqlite_file *file, struct error *err);

/* PATH + suffix; the caller frees. */
char *path_with_suffix(const char *path, const char *suffix);
/* The path of the database's log, which SQLite creates even to read; NULL: it exists. The caller
 * frees. */
char *path_of_missing_log(const char *path);
/* The first free name "PATH.WHAT.N"; -ENAMETOOLONG: "", and no message. */
int sqlite_file_choose_name(const struct sqlite_file *file, const char *what, char ret_path[512]);
/* Makes renamed and created files survive a power failure. */
int path_sync_folder(const char *path, struct error *err);
int path_sync(const char *path, struct error *err);

/* --- sqlite_copy.c --------------------------------------------------------------------------- */

/* Synchronously, when nothing else waits. */
int sqlite_copy(struct sqlite_store *store, const char *path, struct error *err);
int sqlite_restore(const char *url, const char *path, char ret_kept[512], struct error *err);
/* Completes an interrupted restore, if any. */
int sqlite_finish_restore(const struct sqlite_file *file, char ret_kept[512], struct error *err);
int sqlite_summary(const char *url, struct store_summary *ret_summary, struct error *err);
int sqlite_backup_begin(struct store *base, const char *path, struct error *err);
int sqlite_backup_go_on(struct store *base, time_ms *ret_again, struct error *err);
bool sqlite_backup_cancel(struct store *base);
