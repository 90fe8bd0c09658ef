/* sqlite_copy.c: a copy that can be trusted, and the way back.
 *
 * A copy is VACUUM INTO beside its place, checked, synced, and only then renamed: a file with the
 * name that was asked for is whole.
 *
 * A restore first puts the whole copy beside the database as PATH-restored. From that moment it is
 * decided: whoever comes next, this call or the next start after a crash, moves the old files away
 * and the copy into their place. Without that, a crash in the middle would leave no database, or
 * the log of the old one beside the new one, which SQLite would believe.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "store/sqlite_internal.h"

#define EPOCH_LEAP 1000000 /* beyond every epoch of a store that cannot be read any more */

static void db_close(sqlite3 **db) {
    (void)sqlite3_close(*db);
}

static int set_errno(struct error *err, const char *what, const char *path) {
    int code = errno;
    return error_set(err, -code, "cannot %s '%s': %s", what, path, strerror(code));
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static char *with_suffix(const char *path, const char *suffix) {
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s%s", path, suffix);
    return strbuf_take(&text);
}

static void remove_copy(const char *path) {
    _cleanup_(freep) char *journal = with_suffix(path, "-journal");
    (void)unlink(journal);
    (void)unlink(path);
}

/* An empty file for nobody else: SQLite would make it readable for all. */
static int make_private(const char *path, struct error *err) {
    remove_copy(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return set_errno(err, "make", path);
    (void)close(fd);
    return 0;
}

static int vacuum_into(sqlite3 *db, const char *from, const char *to, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, to, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    int r = 0;
    if (rc != SQLITE_DONE && ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB))
        r = sqlite_error(db, from, "copy", rc, err);
    else if (rc != SQLITE_DONE)
        r = sqlite_error(db, to, "write", rc, err);
    sqlite3_finalize(stmt);
    return r;
}

/* Checks a copy and marks it as closed; `epoch` 0: as it is. */
static int seal(const char *path, int64_t epoch, struct error *err) {
    _cleanup_(db_close) sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    sqlite3_stmt *stmt = NULL;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt) == SQLITE_ROW ? SQLITE_OK : sqlite3_extended_errcode(db);
    const char *found = rc == SQLITE_OK ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    bool fine = found && strcmp(found, "ok") == 0;
    sqlite3_finalize(stmt);
    if (rc == SQLITE_OK && !fine)
        return error_set(err, -EUCLEAN, "the copy '%s' is damaged: try another place", path);
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_puts(&sql, "UPDATE meta SET value = 1 WHERE key = 'clean';");
    if (epoch > 0)
        strbuf_printf(&sql, "UPDATE meta SET value = %" PRId64 " WHERE key = 'epoch';", epoch);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql.text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_error(db, path, "write", rc, err);
}

/* The folder of a path, as place_sync_folder wants it. */
static int sync_folder_of(const char *path, struct error *err) {
    const char *slash = strrchr(path, '/');
    _cleanup_(freep) char *folder =
        slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    return place_sync_folder(folder, err);
}

/* `partial` is whole from now on. */
static int put_in_place(const char *partial, const char *path, struct error *err) {
    int r = place_sync_file(partial, err);
    if (r >= 0 && rename(partial, path) < 0)
        r = set_errno(err, "make", path);
    return r < 0 ? r : sync_folder_of(path, err);
}

int sqlite_backup(struct store *base, const char *path, struct error *err) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct stat st;
    if (is_same_file(path, store->place.path))
        return error_set(err, -EINVAL, "'%s' is the store itself: give the copy another name",
                         path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "'%s' is no regular file: give the copy another name", path);
    _cleanup_(freep) char *partial = with_suffix(path, ".partial");
    int r = make_private(partial, err);
    if (r >= 0)
        r = vacuum_into(store->db, store->place.path, partial, err);
    if (r >= 0)
        r = seal(partial, 0, err);
    if (r >= 0)
        r = put_in_place(partial, path, err);
    if (r < 0)
        remove_copy(partial);
    return r;
}

/* --- restore ----------------------------------------------------------------------------------- */

/* A database that is only looked at. Its log, if it has one, is read and stays as it is: for that
 * SQLite wants to be alone, and alone it wants to be able to write. */
struct looked_at {
    sqlite3 *db;
    char *log; /* an empty one that SQLite makes, or NULL */
};

static void look_finish(struct looked_at *look) {
    if (look->db)
        (void)sqlite3_db_config(look->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(look->db);
    if (look->log)
        (void)unlink(look->log);
    free(look->log);
}

static int look_at(const char *path, struct looked_at *ret_look, struct error *err) {
    struct stat st;
    _cleanup_(freep) char *log = with_suffix(path, "-wal");
    if (lstat(log, &st) < 0 && errno == ENOENT)
        ret_look->log = TAKE_PTR(log);
    int rc =
        sqlite3_open_v2(path, &ret_look->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(ret_look->db,
                          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF", NULL,
                          NULL, NULL);
    int64_t tables;
    if (rc == SQLITE_OK)
        rc = sqlite_number(ret_look->db, "SELECT count(*) FROM sqlite_schema", 0, &tables);
    if ((rc & 0xff) == SQLITE_NOTADB)
        return error_set(err, -EUCLEAN, "'%s' is no copy of a store, or damaged", path);
    return rc == SQLITE_OK ? 0 : sqlite_error(ret_look->db, path, "read", rc, err);
}

static int check_source(sqlite3 *db, const char *path, int64_t *ret_epoch, struct error *err) {
    int64_t id = 0, version = 0;
    int rc = sqlite_number(db, "PRAGMA application_id", 0, &id);
    if (rc == SQLITE_OK)
        rc = sqlite_number(db, "PRAGMA user_version", 0, &version);
    if (rc != SQLITE_OK)
        return sqlite_error(db, path, "read", rc, err);
    if (id != SQLITE_APPLICATION_ID)
        return error_set(err, -EINVAL, "'%s' is no copy of a store", path);
    if (version < 1 || version > STORE_VERSION)
        return error_set(err, -EPROTO,
                         "'%s' has version %" PRId64 ", this program knows 1 to %u: "
                         "use the newer program",
                         path, version, STORE_VERSION);
    rc = sqlite_number(db, "SELECT value FROM meta WHERE key = 'epoch'", 0, ret_epoch);
    return rc == SQLITE_OK ? 0 : sqlite_error(db, path, "read", rc, err);
}

/* An epoch that no earlier start of this place has had. */
static int64_t next_epoch(const struct place *place, int64_t of_copy) {
    struct stat st;
    if (stat(place->path, &st) < 0)
        return of_copy + 1;
    _cleanup_(look_finish) struct looked_at old = { 0 };
    int64_t of_old = 0;
    if (look_at(place->path, &old, NULL) < 0
        || sqlite_number(old.db, "SELECT value FROM meta WHERE key = 'epoch'", 0, &of_old)
               != SQLITE_OK)
        return of_copy + EPOCH_LEAP;
    return (of_old > of_copy ? of_old : of_copy) + 1;
}

/* The copy, whole, checked and synced, as PATH-restored. */
static int prepare(const struct place *place, const char *path, struct error *err) {
    _cleanup_(look_finish) struct looked_at copy = { 0 };
    int64_t epoch = 0;
    _cleanup_(freep) char *restored = place_beside(place, "-restored");
    _cleanup_(freep) char *partial = place_beside(place, "-restored.partial");
    int r = look_at(path, &copy, err);
    if (r >= 0)
        r = check_source(copy.db, path, &epoch, err);
    if (r >= 0)
        r = make_private(partial, err);
    if (r < 0)
        return r;
    r = vacuum_into(copy.db, path, partial, err);
    if (r >= 0)
        r = seal(partial, next_epoch(place, epoch), err);
    if (r >= 0)
        r = put_in_place(partial, restored, err);
    if (r < 0)
        remove_copy(partial);
    return r;
}

/* The first name for old files that is free. */
static int choose_kept(const struct place *place, char kept[512], struct error *err) {
    struct stat st;
    for (unsigned n = 1;; n++) {
        int length = snprintf(kept, 512, "%s.before-restore.%u", place->path, n);
        if (length < 0 || length >= 512 - (int)strlen("-journal"))
            return error_set(err, -ENAMETOOLONG, "path '%s' is too long for a restore",
                             place->path);
        if (lstat(kept, &st) < 0 && errno == ENOENT)
            return 0;
    }
}

static int move_old(const struct place *place, const char *kept, const char *suffix,
                    struct error *err) {
    _cleanup_(freep) char *from = place_beside(place, suffix);
    _cleanup_(freep) char *to = with_suffix(kept, suffix);
    if (rename(from, to) < 0 && errno != ENOENT)
        return set_errno(err, "move", from);
    return 0;
}

int sqlite_finish_restore(const struct place *place, char ret_kept[512], struct error *err) {
    /* The log first: until the database itself has moved, another try chooses the same name. */
    static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
    struct stat st;
    ret_kept[0] = '\0';
    _cleanup_(freep) char *restored = place_beside(place, "-restored");
    if (lstat(restored, &st) < 0)
        return errno == ENOENT ? 0 : set_errno(err, "look at", restored);
    bool had_old = lstat(place->path, &st) == 0;
    char kept[512];
    int r = choose_kept(place, kept, err);
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(suffixes); i++)
        r = move_old(place, kept, suffixes[i], err);
    /* The old log must not be found beside the new database after a power cut. */
    if (r >= 0)
        r = place_sync_folder(place->folder, err);
    if (r >= 0 && rename(restored, place->path) < 0)
        r = set_errno(err, "move", restored);
    if (r >= 0)
        r = place_sync_folder(place->folder, err);
    if (r >= 0 && had_old)
        memcpy(ret_kept, kept, sizeof(kept));
    return r;
}

static int restore_at(struct place *place, const char *path, char ret_kept[512],
                      struct error *err) {
    char earlier[512], kept[512];
    int r = place_lock(place, err);
    if (r >= 0 && is_same_file(path, place->path))
        r = error_set(err, -EINVAL, "'%s' is the store itself: give the path of a copy", path);
    if (r >= 0)
        r = choose_kept(place, kept, err);
    if (r >= 0)
        r = sqlite_finish_restore(place, earlier, err);
    if (r >= 0)
        r = prepare(place, path, err);
    if (r >= 0)
        r = sqlite_finish_restore(place, kept, err);
    if (r >= 0)
        memcpy(ret_kept, kept, sizeof(kept));
    return r;
}

int sqlite_restore(const char *url, const char *path, char ret_kept[512], struct error *err) {
    struct place place = PLACE_INIT;
    int r = place_find(url, &place, err);
    if (r >= 0)
        r = restore_at(&place, path, ret_kept, err);
    place_finish(&place);
    return r;
}
