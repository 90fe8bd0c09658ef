/* sqlite.c: opens a database so that committed data is really on disk.
 *
 * Every setting is read back: SQLite silently ignores a misspelled or refused PRAGMA, and a
 * database that runs with synchronous=OFF loses work only when the power fails. The connection is
 * the only one (EXCLUSIVE): no shared memory file, and other programs get "database is locked".
 *
 * Only SQLite opens the database file: closing any other descriptor of it would drop SQLite's POSIX
 * locks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "os/clock.h"
#include "os/loop.h"
#include "os/outside.h"
#include "os/worker.h"
#include "store/sqlite_internal.h"

/* --- errors ---------------------------------------------------------------------------------- */

bool sqlite_is_damage(int rc) {
    int primary = rc & 0xff;
    return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT;
}

static int errno_of(sqlite3 *db, int rc) {
    static const struct {
        int primary, code;
    } codes[] = { { SQLITE_FULL, -ENOSPC },  { SQLITE_CONSTRAINT, -EEXIST },
                  { SQLITE_BUSY, -EBUSY },   { SQLITE_LOCKED, -EBUSY },
                  { SQLITE_NOMEM, -ENOMEM }, { SQLITE_READONLY, -EROFS } };
    int system = db ? sqlite3_system_errno(db) : 0;
    if (sqlite_is_damage(rc))
        return -EUCLEAN;
    if ((rc & 0xff) == SQLITE_CANTOPEN)
        return rc == SQLITE_CANTOPEN_SYMLINK ? -ELOOP : system > 0 ? -system : -EACCES;
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if ((rc & 0xff) == codes[i].primary)
            return codes[i].code;
    return -EIO;
}

int sqlite_error(sqlite3 *db, const char *path, const char *what, int rc, struct error *err) {
    int code = errno_of(db, rc);
    if (code == -EUCLEAN)
        return error_set(err, code, "store '%s' is damaged (%s): " SQLITE_RESTORE_HINT, path,
                         db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    if (code == -EBUSY)
        return error_set(err, code, "store '%s' is in use by another program: end that one first",
                         path);
    if (code == -ENOSPC)
        return error_set(err, code, "cannot %s '%s': the disk is full", what, path);
    if (code == -ELOOP)
        return error_set(err, code, "'%s' is a symbolic link: give the path of the file itself",
                         path);
    int system = db ? sqlite3_system_errno(db) : 0;
    return error_set(err, code, "cannot %s '%s': %s%s%s", what, path,
                     db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), system > 0 ? ", " : "",
                     system > 0 ? strerror(system) : "");
}

static void break_store(struct sqlite_store *store, const struct error *why) {
    sqlite_file_revoke(&store->file);
    store_break(&store->base, why);
}

int sqlite_fault(struct sqlite_store *store, const char *what, int rc, struct error *err) {
    struct error own = { 0 };
    int code = sqlite_error(store->db, store->file.path, what, rc, &own);
    if (sqlite_is_damage(rc) || (rc & 0xff) == SQLITE_IOERR)
        break_store(store, &own);
    return error_set(err, code, "%s", own.text);
}

static void join_lines(char *text) {
    for (; *text; text++)
        *text = *text == '\n' ? ' ' : *text;
}

/* SQLite's message may have several lines; the advice must be on the first. */
int sqlite_damaged(struct store *base, const char *what, struct error *err) {
    struct error own = { 0 };
    error_set(&own, -EUCLEAN, "store '%s' is damaged (%.150s): " SQLITE_RESTORE_HINT,
              ((struct sqlite_store *)base)->file.path, what);
    join_lines(own.text);
    break_store((struct sqlite_store *)base, &own);
    return error_set(err, own.code, "%s", own.text);
}

/* --- statements ------------------------------------------------------------------------------ */

sqlite3_stmt *sqlite_statement(struct sqlite_store *store, enum statement statement) {
    sqlite3_stmt **stmt = &store->statements[statement];
    if (!*stmt) {
        _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
        sql_build(statement, SQL_SQLITE, SQL_GENERAL, &sql);
        (void)sqlite3_prepare_v3(store->db, sql.text, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    }
    return *stmt;
}

int sqlite_finish(sqlite3_stmt *stmt) {
    int rc = sqlite3_step(stmt);
    int reset = sqlite3_reset(stmt);
    if (rc == SQLITE_DONE || rc == SQLITE_ROW)
        return reset;
    return rc;
}

int sqlite_run(struct sqlite_store *store, enum statement statement) {
    sqlite3_stmt *stmt = sqlite_statement(store, statement);
    return stmt ? sqlite_finish(stmt) : sqlite3_extended_errcode(store->db);
}

/* Prepares a statement and steps to its first row: SQLITE_ROW, SQLITE_DONE or the error. */
static int first_row(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt) {
    int rc = sqlite3_prepare_v2(db, sql, -1, ret_stmt, NULL);
    return rc == SQLITE_OK ? sqlite3_step(*ret_stmt) : rc;
}

int sqlite_numbers(sqlite3 *db, const char *sql, int count, int64_t *ret_numbers) {
    sqlite3_stmt *stmt = NULL;
    int rc = first_row(db, sql, &stmt);
    for (int i = 0; rc == SQLITE_ROW && i < count; i++)
        if (sqlite3_column_type(stmt, i) != SQLITE_NULL)
            ret_numbers[i] = sqlite3_column_int64(stmt, i);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The text in the first row; SQLITE_OK or the error. */
static int query_text(sqlite3 *db, const char *sql, char *ret_text, size_t size) {
    sqlite3_stmt *stmt = NULL;
    int rc = first_row(db, sql, &stmt);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    (void)snprintf(ret_text, size, "%s", text ? text : "");
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int sqlite_find_problem(sqlite3 *db, const char *sql, char ret_problem[SQLITE_PROBLEM_MAX]) {
    int rc = query_text(db, sql, ret_problem, SQLITE_PROBLEM_MAX);
    if (strcmp(ret_problem, "ok") == 0)
        ret_problem[0] = '\0';
    else if (!*ret_problem)
        (void)snprintf(ret_problem, SQLITE_PROBLEM_MAX, "its check says nothing");
    join_lines(ret_problem);
    return rc;
}

int sqlite_meta(sqlite3 *db, const char *key, int64_t *ret_number) {
    char sql[64];
    (void)snprintf(sql, sizeof(sql), "SELECT value FROM meta WHERE key = '%s'", key);
    *ret_number = 0;
    return sqlite_numbers(db, sql, 1, ret_number);
}

static bool is_read_only(const struct sqlite_store *store) {
    return store->options.use == STORE_USE_READ;
}

/* --- SQLite messages ------------------------------------------------------------------------- */

/* SQLite's log is per process: the last opened store receives it. */
static struct sqlite_store *log_listener;
static pthread_t log_thread;                          /* in which it was opened */
static _Thread_local struct sqlite_store *committing; /* in this thread, which is not that one */

static void receive_message(void *ctx, int code, const char *text) {
    (void)ctx;
    (void)code;
    if (committing) {
        strbuf_printf(&committing->messages, "%s\n", text);
        return;
    }
    const struct sqlite_store *store = log_listener;
    if (store && store->options.log && pthread_equal(pthread_self(), log_thread))
        store->options.log(store->options.ctx, text); /* messages of backups are dropped */
}

/* Passes what a commit in the thread logged to the program's log, in the loop's thread. */
static void log_kept_messages(struct sqlite_store *store) {
    char *at = store->messages.text;
    for (char *end; store->options.log && at && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        store->options.log(store->options.ctx, at);
    }
    strbuf_clear(&store->messages);
}

/* Both must precede SQLite's first use; otherwise it continues without them. */
static void configure_once(void) {
    static bool done;
    if (done)
        return;
    done = true;
    (void)sqlite3_config(SQLITE_CONFIG_LOG, receive_message, NULL);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* --- maintenance ----------------------------------------------------------------------------- */

/* Keeps a database healthy over months: checkpoints, checks, a reserve.
 *
 * The log is copied into the database while idle (PASSIVE above 1,000 pages), in any case before it
 * gets long (4,000 pages), and truncated after 30 s without activity. A full disk is not a fault
 * here: the log keeps what is not copied, and its file is already allocated.
 *
 * The startup check is as deep as startup time allows: see README.md. */

#define LOG_PAGES_IDLE     1000
#define LOG_PAGES_MAX      4000
#define LOG_TRUNCATE_AFTER SECONDS(30)
#define RESERVE_CHECK      SECONDS(60)
#define CHECK_ALL_BYTES    ((int64_t)128 << 20) /* about 0.3 s */
#define CHECK_QUICK_BYTES  ((int64_t)256 << 20) /* about 0.5 s */

/* --- the write-ahead log --------------------------------------------------------------------- */

static int log_grew(void *ctx, sqlite3 *db, const char *name, int pages) {
    (void)db;
    (void)name;
    struct sqlite_store *store = ctx;
    store->log_pages = pages;
    store->log_is_long = true;
    return SQLITE_OK;
}

/* SQLITE_OK also if it is currently impossible. */
static int checkpoint(struct sqlite_store *store, int mode) {
    int pages = 0, copied = 0;
    int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, mode, &pages, &copied);
    int primary = rc & 0xff;
    if (primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    if (copied == pages)
        store->log_pages = 0; /* the next commit restarts the log */
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        store->log_is_long = false;
    return SQLITE_OK;
}

int sqlite_checkpoint_if_long(struct sqlite_store *store) {
    return store->log_pages > LOG_PAGES_MAX ? checkpoint(store, SQLITE_CHECKPOINT_PASSIVE)
                                            : SQLITE_OK;
}

/* --- the reserve ----------------------------------------------------------------------------- */

static bool has_room(const char *path, int64_t bytes) {
    struct statvfs fs;
    return statvfs(path, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize >= (double)bytes;
}

static void sqlite_reserve_make(struct sqlite_store *store) {
    struct sqlite_reserve *reserve = &store->reserve;
    int64_t given = store->options.reserve_bytes, size = given ? given : STORE_RESERVE;
    if (size < 0)
        return;
    if (!reserve->path)
        reserve->path = path_with_suffix(store->file.path, "-reserve");
    reserve->size = size;
    reserve->used = true; /* until it is known to exist */
    int fd =
        outside_open(AT_FDCWD, reserve->path, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS, NULL, NULL);
    if (fd < 0)
        return;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size >= size && (int64_t)st.st_blocks * 512 >= size)
        reserve->used = false;
    else if (has_room(reserve->path, 2 * size)) { /* not the last bytes of a full disk */
        if (fallocate(fd, 0, 0, size) == 0)
            reserve->used = false;
        else if (errno == EOPNOTSUPP) { /* copy-on-write: it would reserve nothing */
            reserve->used = false;
            reserve->size = 0;
            (void)unlink(reserve->path);
        }
    }
    (void)close(fd);
}

static bool release_blocks(const char *path) {
    int fd = outside_open(AT_FDCWD, path, O_RDWR | OUTSIDE_PARENT_LINKS, NULL, NULL);
    if (fd < 0)
        return false;
    /* Only the sync frees the blocks for others. */
    bool given = ftruncate(fd, 0) == 0 && fsync(fd) == 0;
    (void)close(fd);
    return given;
}

bool sqlite_reserve_release(struct sqlite_store *store) {
    struct sqlite_reserve *reserve = &store->reserve;
    if (reserve->size == 0 || reserve->used)
        return false;
    bool given = release_blocks(reserve->path);
    reserve->used = true;
    return given;
}

static time_ms sqlite_maintain(struct store *base, time_ms idle_ms) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (store->reserve.used)
        sqlite_reserve_make(store);
    int rc = SQLITE_OK;
    if (store->log_is_long && idle_ms >= LOG_TRUNCATE_AFTER)
        rc = checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
    else if (store->log_pages > LOG_PAGES_IDLE)
        rc = checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
    if (rc != SQLITE_OK) {
        struct error err = { 0 };
        sqlite_error(store->db, store->file.path, "write", rc, &err);
        break_store(store, &err);
        return TIME_NEVER;
    }
    time_ms next = store->reserve.used ? RESERVE_CHECK : TIME_NEVER;
    if (store->log_is_long)
        next = time_min(next, idle_ms < LOG_TRUNCATE_AFTER ? LOG_TRUNCATE_AFTER - idle_ms
                                                           : LOG_TRUNCATE_AFTER);
    return next;
}

/* --- startup check --------------------------------------------------------------------------- */

static int check_with(struct sqlite_store *store, const char *sql, struct error *err) {
    char problem[SQLITE_PROBLEM_MAX];
    int rc = sqlite_find_problem(store->db, sql, problem);
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "check", rc, err);
    return *problem ? sqlite_damaged(&store->base, problem, err) : 0;
}

/* Tables that the daemon cannot run without. */
static int check_scheduling(struct sqlite_store *store, struct error *err) {
    static const char *const tables[] = { "name",    "meta",     "task",    "depend", "run",
                                          "project", "grp",      "limiter", "agent",  "usage",
                                          "wait",    "progress", "note" };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(tables); i++) {
        char sql[64];
        (void)snprintf(sql, sizeof(sql), "PRAGMA quick_check(%s)", tables[i]);
        sqlite_progress(store, "checking", (unsigned)(100 * i / ARRAY_SIZE(tables)));
        r = check_with(store, sql, err);
    }
    return r;
}

static int sqlite_check(struct sqlite_store *store, bool was_unclean, uint64_t epoch,
                        struct error *err) {
    int64_t bytes = 0;
    int rc = sqlite_numbers(
        store->db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", 1,
        &bytes);
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "check", rc, err);
    int64_t small = store->options.small_bytes ? store->options.small_bytes : CHECK_ALL_BYTES;
    bool is_small = bytes <= small;
    if (!is_small && (!was_unclean || sqlite_file_is_vouched(&store->file, store->voucher, epoch)))
        return 0;
    sqlite_progress(store, "checking", 0);
    if (was_unclean && is_small)
        return check_with(store, "PRAGMA integrity_check(1)", err);
    if (bytes <= CHECK_QUICK_BYTES)
        return check_with(store, "PRAGMA quick_check(1)", err);
    return check_scheduling(store, err);
}

/* --- commits in a thread --------------------------------------------------------------------- */

/* Commits in a thread while the loop continues.
 *
 * A disk with slow syncs, or a busy machine, would block the loop for the duration of a commit. So
 * the connection goes to a thread with the batch, and comes back with the outcome. Meanwhile
 * nothing else uses it: queries wait. A fast commit is made in the loop, which saves two thread
 * switches; the thread is used only while commits are slow, and for a batch that must be slow.
 *
 * A running mean decides, not one commit: on a busy machine one in a thousand is slow, and the
 * switches would cost every other more than the loop gains. */

#define SLOW_US    4000 /* the mean from which the thread is used, until it is half of that */
#define MEAN_OF    8    /* a commit counts one eighth */
#define ROWS_QUICK 256

struct sqlite_thread {
    struct worker_job job;
    struct sqlite_store *store;
    struct worker *worker;
    const struct store_batch *batch; /* being committed; NULL: none */
    enum store_outcome outcome;
    struct error err;
};

/* A query that arrived while the thread had the connection. */
struct sqlite_waiting {
    struct sqlite_waiting *next;
    struct store_query question;
    struct arena arena; /* of what the query points to */
    store_answered done;
    void *ctx;
};

enum store_outcome sqlite_commit_timed(struct sqlite_store *store, const struct store_batch *batch,
                                       struct error *err) {
    int64_t began = clock_read_steady_us();
    enum store_outcome outcome = sqlite_commit_now(store, batch, err);
    if (outcome == STORE_UNKNOWN)
        sqlite_file_revoke(&store->file);
    if (batch->count <= ROWS_QUICK)
        store->mean_us += (clock_read_steady_us() - began - store->mean_us) / MEAN_OF;
    store->is_slow = store->mean_us > (store->is_slow ? SLOW_US / 2 : SLOW_US);
    return outcome;
}

static void commit(void *ctx, struct worker_job *job) {
    struct sqlite_thread *t = ctx;
    (void)job;
    committing = t->store;
    t->err = (struct error){ 0 };
    t->outcome = sqlite_commit_timed(t->store, t->batch, &t->err);
}

/* --- queries ------------------------------------------------------------------------------- */

void sqlite_thread_keep(struct sqlite_store *store, const struct store_query *question,
                        store_answered done, void *ctx) {
    struct sqlite_waiting *w = xcalloc(1, sizeof(*w));
    size_t size = question->task_count * sizeof(*question->tasks);
    *w = (struct sqlite_waiting){ .question = *question, .done = done, .ctx = ctx };
    if (size > 0)
        w->question.tasks = memcpy(arena_alloc(&w->arena, size), question->tasks, size);
    if (question->key)
        w->question.key = arena_strdup(&w->arena, question->key);
    if (question->project)
        w->question.project = arena_strdup(&w->arena, question->project);
    QUEUE_ADD(&store->waiting, w);
}

/* `why` not NULL: the store is broken, and none is answered. */
static void answer_waiting(struct sqlite_store *store, const struct error *why) {
    QUEUE(struct sqlite_waiting) waiting = { 0 };
    QUEUE_MOVE(&waiting, &store->waiting); /* an answer may ask again */
    for (struct sqlite_waiting *w; (w = QUEUE_TAKE(&waiting));) {
        if (why)
            w->done(w->ctx, &(struct store_answer){ 0 }, why);
        else
            sqlite_query(&store->base, &w->question, w->done, w->ctx);
        arena_finish(&w->arena);
        free(w);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

bool sqlite_thread_is_busy(const struct sqlite_store *store) {
    return store->thread && store->thread->batch;
}

/* The connection is ours again. */
static void finish_thread_commit(void *ctx, struct worker_job *job, bool was_run) {
    struct sqlite_thread *t = ctx;
    struct sqlite_store *store = t->store;
    struct error err = t->err;
    enum store_outcome outcome = t->outcome;
    (void)job;
    (void)was_run; /* the store ends after its last commit */
    t->batch = NULL;
    log_kept_messages(store);
    if (outcome == STORE_UNKNOWN)
        store_break(&store->base, &err);
    answer_waiting(store, store_why_broken(&store->base));
    store_finish_commit(&store->base, outcome, &err);
}

bool sqlite_thread_takes(struct sqlite_store *store, const struct store_batch *batch) {
    static const struct worker_calls calls = { .run = commit, .done = finish_thread_commit };
    bool is_slow = store->is_slow || store->options.is_slow || batch->count > ROWS_QUICK;
    if (!store->options.loop || !is_slow)
        return false;
    if (!store->thread) {
        store->thread = xcalloc(1, sizeof(*store->thread));
        store->thread->store = store;
        store->thread->worker = worker_new(store->options.loop, &calls, store->thread);
    }
    if (worker_start(store->thread->worker) < 0)
        return false; /* the loop commits itself */
    store->thread->batch = batch;
    (void)worker_submit(store->thread->worker, &store->thread->job);
    return true;
}

/* --- connecting ------------------------------------------------------------------------------ */

struct setting {
    const char *name, *value;
    const char *answer; /* to the query of its value */
};

static const struct setting alone = { "locking_mode", "EXCLUSIVE", "exclusive" };
static const struct setting settings[] = {
    { "journal_mode", "WAL", "wal" },   { "synchronous", "FULL", "2" },
    { "foreign_keys", "ON", "1" },      { "trusted_schema", "OFF", "0" },
    { "cell_size_check", "ON", "1" },   { "mmap_size", "0", "0" },
    { "temp_store", "MEMORY", "2" },    { "journal_size_limit", "67108864", "67108864" },
    { "wal_autocheckpoint", "0", "0" }, { "cache_size", "-8192", "-8192" }, /* KiB */
    { "secure_delete", "FAST", "2" }, /* Debian's default writes every freed page again */
};

static int make_setting(sqlite3 *db, const struct setting *setting, const char *path,
                        struct error *err) {
    char sql[128], answer[64];
    (void)snprintf(sql, sizeof(sql), "PRAGMA %s = %s", setting->name, setting->value);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    (void)snprintf(sql, sizeof(sql), "PRAGMA %s", setting->name);
    if (rc == SQLITE_OK)
        rc = query_text(db, sql, answer, sizeof(answer));
    if (rc != SQLITE_OK)
        return sqlite_error(db, path, "open", rc, err);
    if (strcmp(answer, setting->answer) != 0)
        return error_set(err, -ENOTSUP,
                         "cannot open '%s': this SQLite answers %s = '%s' instead of '%s'", path,
                         setting->name, answer, setting->answer);
    return 0;
}

static int harden(sqlite3 *db, const char *path, struct error *err) {
    static const struct {
        int option, value;
    } options[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
        { SQLITE_DBCONFIG_DQS_DML, 0 },        { SQLITE_DBCONFIG_DQS_DDL, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        int value = -1;
        int rc = sqlite3_db_config(db, options[i].option, options[i].value, &value);
        if (rc != SQLITE_OK || value != options[i].value)
            return error_set(err, -ENOTSUP, "cannot open '%s': this SQLite has no option %d", path,
                             options[i].option);
    }
    return 0;
}

/* Exclusive, and nothing written yet: the file must first be identified. */
static int connect_to(const char *path, sqlite3 **ret_db, struct error *err) {
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
                                 | SQLITE_OPEN_EXRESCODE,
                             NULL);
    int r = rc == SQLITE_OK ? 0 : sqlite_error(db, path, "open", rc, err);
    if (r == 0)
        r = harden(db, path, err);
    if (r == 0)
        r = make_setting(db, &alone, path, err);
    if (r < 0) {
        (void)sqlite3_close(db);
        return r;
    }
    *ret_db = db;
    return 0;
}

/* --- waiting for the lock -------------------------------------------------------------------- */

/* The kernel can only block until a lock is free, which would take a thread that cannot be
 * interrupted. So the lock is tried ten times a second, which costs one system call. The store is
 * opened with the acquired lock: no other process gets in between. */

#define TRY_EVERY 100 /* ms */

struct sqlite_await {
    struct store_await base;
    struct loop *loop;
    struct loop_timer *timer;
    store_is_free free;
    void *ctx;
    struct sqlite_file file;
};

static void try_later(struct sqlite_await *await, time_ms span) {
    loop_timer_set(await->loop, await->timer, time_add(loop_now_steady(await->loop), span));
}

static void try_lock(void *ctx) {
    struct sqlite_await *await = ctx;
    struct error err = { 0 };
    int r = sqlite_file_try_lock(&await->file, &err);
    if (r == -EAGAIN)
        try_later(await, TRY_EVERY);
    else
        await->free(await->ctx, r, r < 0 ? &err : NULL);
}

static int sqlite_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                        struct store_await **ret_await, struct error *err) {
    struct sqlite_file file = SQLITE_FILE_INIT;
    int r = sqlite_file_find(url, &file, err);
    if (r < 0)
        return r;
    struct sqlite_await *await = xcalloc(1, sizeof(*await));
    *await = (struct sqlite_await){ .loop = loop, .free = free, .ctx = ctx, .file = file };
    await->timer = loop_timer_new(loop, try_lock, await);
    try_later(await, 0);
    *ret_await = &await->base;
    return 0;
}

static void sqlite_await_take(struct store_await *base, struct sqlite_file *ret_file) {
    struct sqlite_await *await = (struct sqlite_await *)base;
    *ret_file = await->file;
    loop_timer_free(await->loop, await->timer);
    free(await);
}

static void sqlite_await_cancel(struct store_await *base) {
    struct sqlite_file file;
    sqlite_await_take(base, &file);
    sqlite_file_finish(&file);
}

static int sqlite_await_holder(struct store_await *base, char ret_who[STORE_WHO_MAX]) {
    sqlite_file_read_holder(&((struct sqlite_await *)base)->file, ret_who, STORE_WHO_MAX);
    return 0;
}

static int sqlite_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err) {
    struct sqlite_file file = SQLITE_FILE_INIT;
    int r = sqlite_file_find(url, &file, err);
    if (r < 0)
        return r;
    sqlite_file_read_holder(&file, ret_who, STORE_WHO_MAX);
    sqlite_file_finish(&file);
    return 0;
}

/* --- open and close -------------------------------------------------------------------------- */

void sqlite_progress(const struct sqlite_store *store, const char *what, unsigned percent) {
    if (store->options.progress)
        store->options.progress(store->options.ctx, what, percent);
}

static void store_free(struct sqlite_store *store) {
    if (store->thread)
        worker_free(store->thread->worker, WORKER_DRAIN, 0); /* no commit is in progress */
    free(store->thread);
    if (log_listener == store)
        log_listener = NULL;
    for (size_t i = 0; i < STATEMENT_MAX; i++)
        sqlite3_finalize(store->statements[i]);
    if (store->db)
        (void)sqlite3_close(store->db);
    if (store->empty_log)
        (void)unlink(store->empty_log);
    free(store->empty_log);
    strbuf_finish(&store->messages);
    names_finish(&store->names);
    sqlite_file_finish(&store->file); /* the lock last */
    free(store->reserve.path);
    free(store);
}

/* The files stay as they were found: a log is left for a program that can read it. */
static void leave_untouched(struct sqlite_store *store) {
    if (store->db)
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static void store_freep(struct sqlite_store **store) {
    if (!*store)
        return;
    leave_untouched(*store);
    store_free(*store);
}

/* SQLite would make the file world-readable. */
static int make_file(const struct sqlite_file *file, struct error *err) {
    int fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return error_set_errno(err, "make", file->path);
    (void)close(fd); /* SQLite has no lock on it yet */
    return path_sync_folder(file->path, err);
}

static int read_epoch(struct sqlite_store *store, int64_t *ret_epoch, struct error *err) {
    int rc = sqlite_meta(store->db, "epoch", ret_epoch);
    return rc == SQLITE_OK ? 0 : sqlite_fault(store, "read", rc, err);
}

static int read_last(struct sqlite_store *store, struct error *err) {
    int64_t last[2] = { 0 };
    int rc = sqlite_numbers(store->db, "SELECT " SQLITE_LAST_TASK ", " SQLITE_LAST_EVENT, 2, last);
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "read", rc, err);
    store->base.last = (struct store_numbers){ (task_id)last[0], (uint64_t)last[1] };
    return 0;
}

/* The first commit after every open: raises the epoch, and clears "clean" until the close. */
static int begin_epoch(struct sqlite_store *store, int64_t epoch, struct error *err) {
    int rc = sqlite_run(store, STATEMENT_BEGIN);
    if (rc == SQLITE_OK)
        rc = sqlite_put_meta(store, "epoch", epoch);
    if (rc == SQLITE_OK)
        rc = sqlite_put_meta(store, "clean", 0);
    if (rc == SQLITE_OK)
        rc = sqlite_names_write(store);
    if (rc == SQLITE_OK)
        rc = sqlite_run(store, STATEMENT_COMMIT);
    if (rc != SQLITE_OK) {
        int r = sqlite_error(store->db, store->file.path, "write", rc, err);
        if (!sqlite3_get_autocommit(store->db))
            (void)sqlite_run(store, STATEMENT_ROLLBACK);
        return r;
    }
    store->names.stored = store->names.table.count;
    return 0;
}

/* For read-only use, instead of make_file: SQLite creates a missing log. */
static int find_file(struct sqlite_store *store, struct error *err) {
    struct stat st;
    store->empty_log = path_of_missing_log(store->file.path);
    return lstat(store->file.path, &st) < 0 ? error_set_errno(err, "read", store->file.path) : 0;
}

static int check_version(const struct sqlite_store *store, const struct sqlite_schema *schema,
                         uint32_t version, struct error *err) {
    if (version == 0)
        return error_set(err, -EUCLEAN, "'%s' is no store: it is empty", store->file.path);
    if (version != schema->version)
        return error_set(err, -EPROTO,
                         "store '%s' has version %" PRIu32 ", and only version %" PRIu32
                         " can be read: start the daemon on it once, which brings it there",
                         store->file.path, version, schema->version);
    return 0;
}

/* Raises the epoch: from now on the store is in use. */
static int begin_work(struct sqlite_store *store, bool created, int64_t *epoch, struct error *err) {
    if ((uint64_t)*epoch < store->options.epoch_above)
        *epoch = (int64_t)store->options.epoch_above;
    ++*epoch;
    (void)sqlite3_wal_hook(store->db, log_grew, store);
    sqlite_reserve_make(store);
    int r = begin_epoch(store, *epoch, err);
    if (r == -ENOSPC && sqlite_reserve_release(store))
        r = begin_epoch(store, *epoch, err);
    /* SQLite removes the journal of its first transaction without syncing the folder. If it came
     * back after a power failure, it would roll the new database back to nothing. */
    return r >= 0 && created ? path_sync_folder(store->file.path, err) : r;
}

static int open_database(struct sqlite_store *store, const struct sqlite_schema *schema,
                         struct store_report *report, struct error *err) {
    uint32_t version = 0;
    int64_t epoch = 0;
    bool reads = is_read_only(store);
    int r = reads ? find_file(store, err) : make_file(&store->file, err);
    if (r >= 0)
        r = connect_to(store->file.path, &store->db, err);
    if (r >= 0)
        r = sqlite_inspect(store, schema->version, report, &version, err);
    if (r >= 0 && reads)
        r = check_version(store, schema, version, err);
    /* The first setting, the journal mode, is written into the file: not for read-only use. */
    for (size_t i = reads ? 1 : 0; r >= 0 && i < ARRAY_SIZE(settings); i++)
        r = make_setting(store->db, &settings[i], store->file.path, err);
    if (r >= 0 && !report->created)
        r = read_epoch(store, &epoch, err);
    if (r >= 0 && !report->created)
        r = sqlite_check(store, report->was_unclean, (uint64_t)epoch, err);
    if (r >= 0 && !reads)
        r = sqlite_migrate(store, schema, version, report, err);
    if (r >= 0)
        r = sqlite_names_load(store, err);
    if (r >= 0)
        r = read_epoch(store, &epoch, err);
    if (r >= 0)
        r = read_last(store, err);
    if (r >= 0 && !reads)
        r = begin_work(store, report->created, &epoch, err);
    if (r >= 0 && !reads)
        sqlite_file_vouch(&store->file, (uint64_t)epoch);
    if (r >= 0)
        report->epoch = (uint64_t)epoch;
    return r;
}

/* Before SQLite opens the log. */
static int renew_log(const struct sqlite_store *store, struct error *err) {
    if (is_read_only(store) || sqlite_file_had_no_error(&store->file, store->voucher))
        return 0;
    int r = sqlite_file_renew_log(&store->file, err);
    _cleanup_(freep) char *reserve = path_with_suffix(store->file.path, "-reserve");
    return r == -ENOSPC && release_blocks(reserve) ? sqlite_file_renew_log(&store->file, err) : r;
}

/* Before any file is created. */
static int check_there(const char *path, struct error *err) {
    struct stat st;
    _cleanup_(freep) char *restored = path_with_suffix(path, "-restored");
    if (lstat(path, &st) == 0 || lstat(restored, &st) == 0)
        return 0;
    return error_set_errno(err, "read", path);
}

int sqlite_open_as(const struct sqlite_schema *schema, const struct store_options *options,
                   struct store **ret_store, struct store_report *ret_report, struct error *err) {
    configure_once();
    _cleanup_(store_freep) struct sqlite_store *store = xcalloc(1, sizeof(*store));
    store->file = (struct sqlite_file)SQLITE_FILE_INIT;
    store->options = *options;
    store->options.url = store->options.who = NULL; /* owned by the caller; `file` has it */
    names_init(&store->names);
    log_listener = store;
    log_thread = pthread_self();
    char kept[512];
    int r = is_read_only(store) ? check_there(options->url, err) : 0;
    if (r >= 0 && options->awaited)
        sqlite_await_take(options->awaited, &store->file);
    else if (r >= 0)
        r = sqlite_file_find(options->url, &store->file, err);
    if (r >= 0 && store->file.lock < 0)
        r = sqlite_file_lock(&store->file, err);
    if (r >= 0)
        sqlite_file_read_voucher(&store->file, store->voucher);
    if (r >= 0)
        sqlite_file_set_holder(&store->file, options->who);
    if (r >= 0)
        r = sqlite_finish_restore(&store->file, kept, err);
    if (r >= 0)
        r = renew_log(store, err);
    if (r >= 0)
        r = open_database(store, schema, ret_report, err);
    if (r < 0)
        return r;
    *ret_store = &TAKE_PTR(store)->base;
    return 0;
}

static int sqlite_open(const struct store_options *options, struct store **ret_store,
                       struct store_report *ret_report, struct error *err) {
    return sqlite_open_as(&sqlite_schema, options, ret_store, ret_report, err);
}

/* A broken store is left as it is: the next start reads the log. */
static void sqlite_close(struct store *base) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    bool fine = base->broken.code == 0 && !is_read_only(store);
    if (fine && sqlite_run(store, STATEMENT_BEGIN) == SQLITE_OK
        && sqlite_put_meta(store, "clean", 1) == SQLITE_OK)
        fine = sqlite_run(store, STATEMENT_COMMIT) == SQLITE_OK;
    if (!fine) {
        leave_untouched(store);
        sqlite_file_revoke(&store->file);
    }
    store_free(store);
}

static void sqlite_give_up(struct store *base, const struct error *why) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    (void)why;
    if (sqlite_thread_is_busy(store))
        worker_await(store->thread->worker);
}

static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static void sqlite_info(const struct store *base, struct store_info *ret) {
    const struct sqlite_store *store = (const struct sqlite_store *)base;
    _cleanup_(freep) char *log = path_with_suffix(store->file.path, "-wal");
    ret->place = store->file.path;
    ret->bytes = size_of(store->file.path);
    ret->log_bytes = size_of(log);
    ret->reserve_used = store->reserve.used;
}

const struct store_backend sqlite_backend = {
    .name = "sqlite",
    .open = sqlite_open,
    .summary = sqlite_summary,
    .close = sqlite_close,
    .load = sqlite_load,
    .commit = sqlite_commit,
    .query = sqlite_query,
    .maintain = sqlite_maintain,
    .backup_begin = sqlite_backup_begin,
    .backup_go_on = sqlite_backup_go_on,
    .backup_cancel = sqlite_backup_cancel,
    .restore = sqlite_restore,
    .info = sqlite_info,
    .give_up = sqlite_give_up,
    .await = sqlite_await,
    .await_cancel = sqlite_await_cancel,
    .await_holder = sqlite_await_holder,
    .holder = sqlite_holder,
};
