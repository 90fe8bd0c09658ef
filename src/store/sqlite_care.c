/* sqlite_care.c: what keeps a database healthy over months: checkpoints, checks, a reserve.
 *
 * The log is copied into the database while nobody waits (PASSIVE above 1,000 pages), in any case
 * before it is long (4,000 pages), and cut off when nothing happened for 30 s. A full disk is no
 * fault here: the log keeps what is not copied, and its file is already paid for.
 *
 * The check at the start is as deep as the restart can afford: see README.md.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/outside.h"
#include "store/sqlite_internal.h"

#define LOG_PAGES_IDLE  1000
#define LOG_PAGES_MOST  4000
#define LOG_CUT_AFTER   SECONDS(30)
#define RESERVE_LOOK    SECONDS(60)
#define CHECK_ALL_BYTES ((int64_t)128 << 20) /* about 0.3 s */
#define CHECK_MOST      ((int64_t)256 << 20) /* about 0.5 s */

/* --- the write-ahead log ------------------------------------------------------------------------ */

static int log_grew(void *ctx, sqlite3 *db, const char *name, int pages) {
    (void)db;
    (void)name;
    struct sqlite_store *store = ctx;
    store->log_pages = pages;
    store->log_is_long = true;
    return SQLITE_OK;
}

void sqlite_watch_log(struct sqlite_store *store) {
    (void)sqlite3_wal_hook(store->db, log_grew, store);
}

/* SQLITE_OK also when it could not be done now. */
static int checkpoint(struct sqlite_store *store, int mode) {
    int pages = 0, copied = 0;
    int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, mode, &pages, &copied);
    int primary = rc & 0xff;
    if (primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    if (copied == pages)
        store->log_pages = 0; /* the next commit begins the log again */
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        store->log_is_long = false;
    return SQLITE_OK;
}

int sqlite_checkpoint_if_long(struct sqlite_store *store) {
    return store->log_pages > LOG_PAGES_MOST ? checkpoint(store, SQLITE_CHECKPOINT_PASSIVE)
                                             : SQLITE_OK;
}

time_ms sqlite_maintain(struct store *base, time_ms idle_ms) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (store->reserve.used)
        sqlite_reserve_make(store);
    int rc = SQLITE_OK;
    if (store->log_is_long && idle_ms >= LOG_CUT_AFTER)
        rc = checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
    else if (store->log_pages > LOG_PAGES_IDLE)
        rc = checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
    if (rc != SQLITE_OK) {
        struct error err = { 0 };
        sqlite_error(store->db, store->place.path, "write", rc, &err);
        store_break(base, &err);
        return TIME_NEVER;
    }
    time_ms next = store->reserve.used ? RESERVE_LOOK : TIME_NEVER;
    if (store->log_is_long)
        next = time_min(next, idle_ms < LOG_CUT_AFTER ? LOG_CUT_AFTER - idle_ms : LOG_CUT_AFTER);
    return next;
}

/* --- the check at the start ---------------------------------------------------------------------- */

/* The first thing that is wrong, or 0. */
static int check_with(struct sqlite_store *store, const char *sql, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    int r;
    if (rc != SQLITE_ROW) {
        r = sqlite_fault(store, "check", rc, err);
    } else {
        const char *found = (const char *)sqlite3_column_text(stmt, 0);
        bool fine = found && strcmp(found, "ok") == 0;
        r = fine ? 0 : sqlite_damaged(store, found ? found : "its check says nothing", err);
    }
    sqlite3_finalize(stmt);
    return r;
}

/* What the daemon cannot do without. */
static int check_scheduling(struct sqlite_store *store, struct error *err) {
    static const char *const checks[] = {
        "PRAGMA quick_check(name)",   "PRAGMA quick_check(meta)",    "PRAGMA quick_check(task)",
        "PRAGMA quick_check(depend)", "PRAGMA quick_check(run)",     "PRAGMA quick_check(project)",
        "PRAGMA quick_check(grp)",    "PRAGMA quick_check(limiter)", "PRAGMA quick_check(agent)",
        "PRAGMA quick_check(usage)",  "PRAGMA quick_check(wait)",    "PRAGMA quick_check(progress)",
        "PRAGMA quick_check(note)",
    };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(checks); i++) {
        sqlite_progress(store, "checking", (unsigned)(100 * i / ARRAY_SIZE(checks)));
        r = check_with(store, checks[i], err);
    }
    return r;
}

int sqlite_check(struct sqlite_store *store, bool was_unclean, struct error *err) {
    int64_t pages = 0, page_size = 0;
    int rc = sqlite_number(store->db, "PRAGMA page_count", 0, &pages);
    if (rc == SQLITE_OK)
        rc = sqlite_number(store->db, "PRAGMA page_size", 0, &page_size);
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "check", rc, err);
    bool is_small = pages * page_size <= CHECK_ALL_BYTES;
    if (!was_unclean && !is_small)
        return 0;
    sqlite_progress(store, "checking", 0);
    if (was_unclean && is_small)
        return check_with(store, "PRAGMA integrity_check(1)", err);
    if (pages * page_size <= CHECK_MOST)
        return check_with(store, "PRAGMA quick_check(1)", err);
    return check_scheduling(store, err);
}

/* --- the reserve ---------------------------------------------------------------------------------- */

static bool has_room(const char *folder, int64_t bytes) {
    struct statvfs fs;
    return statvfs(folder, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize >= (double)bytes;
}

static int64_t wanted_size(const struct sqlite_store *store) {
    int64_t asked = store->options.reserve_bytes;
    return asked == 0 ? STORE_RESERVE : asked < 0 ? 0 : asked;
}

void sqlite_reserve_make(struct sqlite_store *store) {
    struct sqlite_reserve *reserve = &store->reserve;
    int64_t size = wanted_size(store);
    if (size == 0)
        return;
    if (!reserve->path)
        reserve->path = place_beside(&store->place, "-reserve");
    reserve->size = size;
    reserve->used = true; /* until it is known to be there */
    int fd =
        outside_open(AT_FDCWD, reserve->path, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS, NULL, NULL);
    if (fd < 0)
        return;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size >= size && (int64_t)st.st_blocks * 512 >= size)
        reserve->used = false;
    else if (has_room(store->place.folder, 2 * size)) { /* not the last bytes of a full disk */
        if (fallocate(fd, 0, 0, size) == 0)
            reserve->used = false;
        else if (errno == EOPNOTSUPP) { /* copy-on-write: it would keep nothing free */
            reserve->used = false;
            reserve->size = 0;
            (void)unlink(reserve->path);
        }
    }
    (void)close(fd);
}

bool sqlite_reserve_release(struct sqlite_store *store) {
    struct sqlite_reserve *reserve = &store->reserve;
    if (reserve->size == 0 || reserve->used)
        return false;
    int fd = outside_open(AT_FDCWD, reserve->path, O_RDWR | OUTSIDE_PARENT_LINKS, NULL, NULL);
    if (fd < 0)
        return false;
    /* The sync is what makes the blocks free for others. */
    bool given = ftruncate(fd, 0) == 0 && fsync(fd) == 0;
    (void)close(fd);
    reserve->used = true;
    return given;
}
