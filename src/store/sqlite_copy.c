/* sqlite_copy.c: trustworthy copies, and restore.
 *
 * A file that must not change (a copy before it is restored, or a store whose daemon does not run)
 * is only inspected: its log, if any, is read and stays as it is. For that SQLite needs exclusive
 * access, and with it the ability to write.
 *
 * A copy is made beside its destination, checked, synced, and only then renamed: a file with the
 * requested name is complete. Before a migration and for a restore, when nothing else waits, it is
 * VACUUM INTO.
 *
 * A store in use is copied through its own connection, the only possible one (EXCLUSIVE): a few
 * pages at a time, between commits. SQLite applies commits to the pages already copied, so the copy
 * matches the store when the last page is done, and writers cannot delay it forever. The check of
 * the copy and its sync cannot be split. They touch only the copy, so a thread does them.
 *
 * A restore first puts the complete copy beside the database as PATH-restored. From then on it is
 * decided: this call, or the next start after a crash, moves the old files out of the way and the
 * copy into place. Otherwise a crash in the middle would leave no database, or the log of the old
 * one beside the new one, which SQLite would apply. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "os/worker.h"
#include "store/sqlite_internal.h"

#define STEPS_TO_STOP      10000   /* of SQLite's VM: some microseconds per hundred */
#define EPOCH_LEAP         1000000 /* beyond every epoch of a store that is no longer readable */
#define FIRST_WITH_NOTES   3       /* version */
#define PAGES_PER_STEP     256     /* a megabyte: about a millisecond */
#define CHECK_THREAD_EVERY 10      /* ms */

/* --- inspection ------------------------------------------------------------------------------ */

struct inspection {
    sqlite3 *db;
    char *log; /* an empty one created by SQLite, or NULL */
};

static void inspection_end(struct inspection *inspection) {
    if (inspection->db)
        (void)sqlite3_db_config(inspection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(inspection->db);
    if (inspection->log)
        (void)unlink(inspection->log);
    free(inspection->log);
}

/* Opens an existing database for this connection alone. Close *ret_db even after a failure. */
static int open_alone(const char *path, const char *pragmas, sqlite3 **ret_db) {
    int rc = sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(*ret_db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    return rc == SQLITE_OK ? sqlite3_exec(*ret_db, pragmas, NULL, NULL, NULL) : rc;
}

/* Zeroed at first; end with inspection_end, even after a failure. */
static int inspection_begin(const char *path, struct inspection *ret, struct error *err) {
    int64_t tables;
    ret->log = path_of_missing_log(path);
    int rc = open_alone(path, "PRAGMA trusted_schema = OFF", &ret->db);
    if (rc == SQLITE_OK)
        rc = sqlite_numbers(ret->db, "SELECT count(*) FROM sqlite_schema", 1, &tables);
    if ((rc & 0xff) == SQLITE_NOTADB)
        return error_set(err, -EUCLEAN, "'%s' is no copy of a store, or damaged", path);
    return rc == SQLITE_OK ? 0 : sqlite_error(ret->db, path, "read", rc, err);
}

/* Is it ours, in a known version? */
static int check_origin(sqlite3 *db, const char *path, int64_t *ret_version, int64_t *ret_epoch,
                        struct error *err) {
    int64_t found[2] = { 0 };
    int rc =
        sqlite_numbers(db, "SELECT * FROM pragma_application_id, pragma_user_version", 2, found);
    if (rc != SQLITE_OK)
        return sqlite_error(db, path, "read", rc, err);
    if (found[0] != SQLITE_APPLICATION_ID)
        return error_set(err, -EINVAL, "'%s' is no copy of a store", path);
    *ret_version = found[1];
    if (found[1] < 1 || found[1] > STORE_VERSION)
        return error_set(err, -EPROTO,
                         "'%s' has version %" PRId64 ", this program knows 1 to %u: "
                         "use the newer program",
                         path, found[1], STORE_VERSION);
    rc = sqlite_meta(db, "epoch", ret_epoch);
    return rc == SQLITE_OK ? 0 : sqlite_error(db, path, "read", rc, err);
}

static int read_summary(sqlite3 *db, const char *path, struct store_summary *ret_summary,
                        struct error *err) {
    int64_t epoch, version = 0, clean = 1, totals[2] = { 0 }, copying = 0;
    int r = check_origin(db, path, &version, &epoch, err);
    if (r < 0)
        return r;
    char problem[SQLITE_PROBLEM_MAX];
    int rc = sqlite_find_problem(db, "PRAGMA integrity_check(1)", problem);
    if (rc == SQLITE_OK && *problem)
        return error_set(err, -EUCLEAN, "store '%s' is damaged (%s): " SQLITE_RESTORE_HINT, path,
                         problem);
    if (rc == SQLITE_OK)
        rc = sqlite_meta(db, "clean", &clean);
    if (rc == SQLITE_OK)
        rc =
            sqlite_numbers(db, "SELECT (SELECT count(*) FROM task), " SQLITE_LAST_EVENT, 2, totals);
    if (rc == SQLITE_OK && version >= FIRST_WITH_NOTES)
        rc = sqlite_numbers(db, "SELECT count(*) FROM note WHERE name = '" STORE_COPY_NOTE "'", 1,
                            &copying);
    if (rc != SQLITE_OK)
        return sqlite_error(db, path, "read", rc, err);
    *ret_summary = (struct store_summary){ .there = true,
                                           .was_unclean = clean == 0,
                                           .unfinished = copying != 0,
                                           .version = (uint32_t)version,
                                           .tasks = (uint64_t)totals[0],
                                           .last_event = (uint64_t)totals[1] };
    return 0;
}

int sqlite_summary(const char *url, struct store_summary *ret_summary, struct error *err) {
    struct stat st;
    _cleanup_(freep) char *restored = path_with_suffix(url, "-restored");
    /* Complete and decided: the next start puts it in place. */
    const char *path = lstat(restored, &st) == 0 ? restored : url;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return 0;
    _cleanup_(sqlite_file_finish) struct sqlite_file file =
        SQLITE_FILE_INIT; /* the lock is released last */
    _cleanup_(inspection_end) struct inspection inspection = { 0 };
    int r = sqlite_file_find(url, &file, err);
    if (r >= 0)
        r = sqlite_file_lock(&file, err);
    if (r >= 0)
        r = inspection_begin(path, &inspection, err);
    if (r == -EUCLEAN)
        error_set(err, r, "store '%s' is damaged (no database): " SQLITE_RESTORE_HINT, path);
    return r < 0 ? r : read_summary(inspection.db, path, ret_summary, err);
}

/* --- copying --------------------------------------------------------------------------------- */

static void db_close(sqlite3 **db) {
    (void)sqlite3_close(*db);
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Including SQLite's files beside it. */
static void copy_remove(const char *path) {
    static const char *const suffixes[] = { "-journal", "-wal", "-shm", "" };
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        _cleanup_(freep) char *name = path_with_suffix(path, suffixes[i]);
        (void)unlink(name);
    }
}

/* An empty private file: SQLite would make it world-readable. */
static int make_private(const char *path, struct error *err) {
    copy_remove(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, "make", path);
    (void)close(fd);
    return 0;
}

struct side {
    sqlite3 *db;
    const char *path;
};

/* Either side of a copy may have failed. */
static int copy_failed(struct side from, struct side to, int rc, struct error *err) {
    return sqlite_is_damage(rc) ? sqlite_error(from.db, from.path, "copy", rc, err)
                                : sqlite_error(to.db, to.path, "write", rc, err);
}

static int vacuum_into(struct side from, const char *to, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(from.db, "VACUUM INTO ?1", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, to, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    int r = rc == SQLITE_DONE ? 0 : copy_failed(from, (struct side){ from.db, to }, rc, err);
    sqlite3_finalize(stmt);
    return r;
}

static int is_stopped(void *stop) {
    return *(atomic_bool *)stop;
}

/* Checks a copy and marks it as closed; `epoch` 0: unchanged. Ends early, with any result, when
 * another thread sets `stop` (may be NULL). */
static int copy_seal(const char *path, int64_t epoch, atomic_bool *stop, struct error *err) {
    _cleanup_(db_close) sqlite3 *db = NULL;
    /* A page-by-page copy is in WAL mode, like the store. */
    int rc = open_alone(path, "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = DELETE", &db);
    char problem[SQLITE_PROBLEM_MAX] = "";
    if (rc == SQLITE_OK && stop)
        sqlite3_progress_handler(db, STEPS_TO_STOP, is_stopped, stop);
    if (rc == SQLITE_OK)
        rc = sqlite_find_problem(db, "PRAGMA quick_check(1)", problem);
    if (rc == SQLITE_OK && *problem)
        return error_set(err, -EUCLEAN, "the copy '%s' is damaged: try another place", path);
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_puts(&sql, "UPDATE meta SET value = 1 WHERE key = 'clean';");
    if (epoch > 0)
        strbuf_printf(&sql, "UPDATE meta SET value = %" PRId64 " WHERE key = 'epoch';", epoch);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql.text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_error(db, path, "write", rc, err);
}

/* `partial` is complete: syncs and renames it. */
static int copy_put_in_place(const char *partial, const char *path, struct error *err) {
    int r = path_sync(partial, err);
    if (r >= 0 && rename(partial, path) < 0)
        r = error_set_errno(err, "make", path);
    return r < 0 ? r : path_sync_folder(path, err);
}

/* Into the empty file `partial`, which becomes `path`, or is removed. `epoch` as in copy_seal. */
static int copy_now(struct side from, const char *partial, const char *path, int64_t epoch,
                    struct error *err) {
    int r = vacuum_into(from, partial, err);
    if (r >= 0)
        r = copy_seal(partial, epoch, NULL, err);
    if (r >= 0)
        r = copy_put_in_place(partial, path, err);
    if (r < 0)
        copy_remove(partial);
    return r;
}

/* Checks the destination and creates an empty file beside it for the copy. */
static int copy_prepare(struct sqlite_store *store, const char *path, char **ret_partial,
                        struct error *err) {
    struct stat st;
    if (is_same_file(path, store->file.path))
        return error_set(err, -EINVAL, "'%s' is the store itself: give the copy another name",
                         path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "'%s' is no regular file: give the copy another name", path);
    _cleanup_(freep) char *partial = path_with_suffix(path, ".partial");
    int r = make_private(partial, err);
    if (r < 0)
        return r;
    *ret_partial = TAKE_PTR(partial);
    return 0;
}

int sqlite_copy(struct sqlite_store *store, const char *path, struct error *err) {
    _cleanup_(freep) char *partial = NULL;
    int r = copy_prepare(store, path, &partial, err);
    return r < 0 ? r
                 : copy_now((struct side){ store->db, store->file.path }, partial, path, 0, err);
}

/* --- copying a store in use ------------------------------------------------------------------ */

struct sqlite_backup {
    char *path, *partial;
    sqlite3 *to;          /* NULL: all pages are copied */
    sqlite3_backup *copy; /* with `to` */
    /* Owned by the thread while `sealing` and until it sets `over`. */
    bool sealing;
    pthread_t thread;
    atomic_bool over, stop;
    int result;
    struct error err;
};

static void end_copying(struct sqlite_backup *b) {
    if (b->copy)
        (void)sqlite3_backup_finish(b->copy);
    (void)sqlite3_close(b->to);
    b->copy = NULL;
    b->to = NULL;
}

static void backup_free(struct sqlite_store *store) {
    struct sqlite_backup *b = store->backup;
    store->backup = NULL;
    end_copying(b);
    free(b->path);
    free(b->partial);
    free(b);
}

static void discard_backup(struct sqlite_store *store) {
    copy_remove(store->backup->partial);
    backup_free(store);
}

/* An unfinished copy is worthless, so it is neither synced nor journaled until the end. */
static int open_target(struct sqlite_store *store, struct sqlite_backup *b, struct error *err) {
    int rc = open_alone(b->partial, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", &b->to);
    if (rc == SQLITE_OK)
        b->copy = sqlite3_backup_init(b->to, "main", store->db, "main");
    if (rc == SQLITE_OK && !b->copy)
        rc = sqlite3_extended_errcode(b->to);
    return rc == SQLITE_OK ? 0 : sqlite_error(b->to, b->partial, "write", rc, err);
}

int sqlite_backup_begin(struct store *base, const char *path, struct error *err) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    _cleanup_(freep) char *partial = NULL;
    int r = copy_prepare(store, path, &partial, err);
    if (r < 0)
        return r;
    struct sqlite_backup *b = store->backup = xcalloc(1, sizeof(*b));
    b->path = xstrdup(path);
    b->partial = TAKE_PTR(partial);
    r = open_target(store, b, err);
    if (r < 0)
        discard_backup(store);
    return r;
}

static void *seal(void *ctx) {
    struct sqlite_backup *b = ctx;
    b->result = copy_seal(b->partial, 0, &b->stop, &b->err);
    if (b->result >= 0)
        b->result = b->stop ? -ECANCELED : copy_put_in_place(b->partial, b->path, &b->err);
    b->over = true;
    return NULL;
}

/* 1: there is more. */
static int copy_some(struct sqlite_store *store, struct error *err) {
    struct sqlite_backup *b = store->backup;
    int rc =
        sqlite3_backup_step(b->copy, store->backup_pages ? store->backup_pages : PAGES_PER_STEP);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return 1;
    if (rc == SQLITE_DONE) {
        rc = sqlite3_backup_finish(b->copy);
        b->copy = NULL;
    }
    if (rc != SQLITE_OK)
        return copy_failed((struct side){ store->db, store->file.path },
                           (struct side){ b->to, b->partial }, rc, err);
    end_copying(b);
    int r = thread_start(&b->thread, seal, b);
    if (r < 0)
        return error_set(err, r, "cannot check the copy '%s': %s", b->partial, strerror(-r));
    b->sealing = true;
    return 1;
}

int sqlite_backup_go_on(struct store *base, time_ms *ret_again, struct error *err) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sqlite_backup *b = store->backup;
    int r = 1;
    if (!b->sealing) {
        r = copy_some(store, err);
    } else if (b->over) {
        pthread_join(b->thread, NULL);
        r = b->result;
        if (r < 0)
            error_set(err, r, "%s", b->err.text);
    }
    *ret_again = b->sealing ? CHECK_THREAD_EVERY : 0;
    if (r < 0)
        discard_backup(store);
    else if (r == 0)
        backup_free(store);
    return r;
}

bool sqlite_backup_cancel(struct store *base) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sqlite_backup *b = store->backup;
    bool was_complete = false;
    if (b->sealing) {
        b->stop = true;
        pthread_join(b->thread, NULL);
        was_complete = b->result >= 0;
    }
    discard_backup(store); /* a finished copy no longer has this name */
    return !was_complete;
}

/* --- restore --------------------------------------------------------------------------------- */

/* An epoch that no earlier start at this location has had. */
static int64_t next_epoch(const struct sqlite_file *file, int64_t of_copy) {
    struct stat st;
    if (stat(file->path, &st) < 0)
        return of_copy + 1;
    _cleanup_(inspection_end) struct inspection old = { 0 };
    int64_t of_old = 0;
    if (inspection_begin(file->path, &old, NULL) < 0
        || sqlite_meta(old.db, "epoch", &of_old) != SQLITE_OK)
        return of_copy + EPOCH_LEAP;
    return (of_old > of_copy ? of_old : of_copy) + 1;
}

/* The complete, checked and synced copy as PATH-restored. */
static int prepare(const struct sqlite_file *file, const char *path, struct error *err) {
    _cleanup_(inspection_end) struct inspection copy = { 0 };
    int64_t version = 0, epoch = 0;
    _cleanup_(freep) char *restored = path_with_suffix(file->path, "-restored");
    _cleanup_(freep) char *partial = path_with_suffix(file->path, "-restored.partial");
    int r = inspection_begin(path, &copy, err);
    if (r >= 0)
        r = check_origin(copy.db, path, &version, &epoch, err);
    if (r >= 0)
        r = make_private(partial, err);
    if (r < 0)
        return r;
    struct side from = { copy.db, path };
    return copy_now(from, partial, restored, next_epoch(file, epoch), err);
}

/* The name for the old files. */
static int choose_kept(const struct sqlite_file *file, char kept[512], struct error *err) {
    int r = sqlite_file_choose_name(file, "before-restore", kept);
    return r < 0 ? error_set(err, r, "path '%s' is too long for a restore", file->path) : 0;
}

int sqlite_finish_restore(const struct sqlite_file *file, char ret_kept[512], struct error *err) {
    /* The log first: until the database itself has moved, a retry chooses the same name. */
    static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
    struct stat st;
    ret_kept[0] = '\0';
    _cleanup_(freep) char *restored = path_with_suffix(file->path, "-restored");
    if (lstat(restored, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, "look at", restored);
    bool had_old = lstat(file->path, &st) == 0;
    char kept[512];
    int r = choose_kept(file, kept, err);
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(suffixes); i++) {
        _cleanup_(freep) char *from = path_with_suffix(file->path, suffixes[i]);
        _cleanup_(freep) char *to = path_with_suffix(kept, suffixes[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            r = error_set_errno(err, "move", from);
    }
    /* The old log must not be found beside the new database after a power failure. */
    if (r >= 0)
        r = path_sync_folder(file->path, err);
    if (r >= 0 && rename(restored, file->path) < 0)
        r = error_set_errno(err, "move", restored);
    if (r >= 0)
        r = path_sync_folder(file->path, err);
    if (r >= 0 && had_old)
        memcpy(ret_kept, kept, sizeof(kept));
    return r;
}

int sqlite_restore(const char *url, const char *path, char ret_kept[512], struct error *err) {
    _cleanup_(sqlite_file_finish) struct sqlite_file file = SQLITE_FILE_INIT;
    char earlier[512], kept[512];
    int r = sqlite_file_find(url, &file, err);
    if (r >= 0)
        r = sqlite_file_lock(&file, err);
    if (r >= 0 && is_same_file(path, file.path))
        r = error_set(err, -EINVAL, "'%s' is the store itself: give the path of a copy", path);
    if (r >= 0)
        r = choose_kept(&file, kept, err);
    if (r >= 0)
        r = sqlite_finish_restore(&file, earlier, err);
    if (r >= 0)
        r = prepare(&file, path, err);
    if (r >= 0)
        r = sqlite_finish_restore(&file, kept, err);
    if (r >= 0)
        memcpy(ret_kept, kept, sizeof(kept));
    return r;
}
