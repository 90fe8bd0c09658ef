/* sqlite_copy.c: a copy that can be trusted, and the way back.
 *
 * A copy is made beside its place, checked, synced, and only then renamed: a file with the name that
 * was asked for is whole. Before a migration and for a restore, when nobody waits, it is VACUUM INTO;
 * of a store that is in use sqlite_backup.c makes it.
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

#define STEPS_TO_STOP 10000   /* of SQLite's machine: some microseconds each hundred */
#define EPOCH_LEAP    1000000 /* beyond every epoch of a store that cannot be read any more */

static void db_close(sqlite3 **db) {
    (void)sqlite3_close(*db);
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

void sqlite_copy_remove(const char *path) {
    static const char *const suffixes[] = { "-journal", "-wal", "-shm", "" };
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        _cleanup_(freep) char *name = with_suffix(path, suffixes[i]);
        (void)unlink(name);
    }
}

/* An empty file for nobody else: SQLite would make it readable for all. */
static int make_private(const char *path, struct error *err) {
    sqlite_copy_remove(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, "make", path);
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

static int is_stopped(void *stop) {
    return *(atomic_bool *)stop;
}

/* A copy page by page says of itself that it has a log, as the store has. */
static int open_copy(const char *path, atomic_bool *stop, sqlite3 **ret_db) {
    int rc = sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (stop)
        sqlite3_progress_handler(*ret_db, STEPS_TO_STOP, is_stopped, stop);
    return sqlite3_exec(*ret_db,
                        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;"
                        "PRAGMA journal_mode = DELETE",
                        NULL, NULL, NULL);
}

int sqlite_copy_seal(const char *path, int64_t epoch, atomic_bool *stop, struct error *err) {
    _cleanup_(db_close) sqlite3 *db = NULL;
    int rc = open_copy(path, stop, &db);
    char found[150] = "";
    if (rc == SQLITE_OK)
        rc = sqlite_look_whole(db, "PRAGMA quick_check(1)", found);
    if (rc == SQLITE_OK && found[0])
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

int sqlite_copy_put_in_place(const char *partial, const char *path, struct error *err) {
    int r = place_sync_file(partial, err);
    if (r >= 0 && rename(partial, path) < 0)
        r = error_set_errno(err, "make", path);
    return r < 0 ? r : sync_folder_of(path, err);
}

int sqlite_copy_prepare(struct sqlite_store *store, const char *path, char **ret_partial,
                        struct error *err) {
    struct stat st;
    if (is_same_file(path, store->place.path))
        return error_set(err, -EINVAL, "'%s' is the store itself: give the copy another name",
                         path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "'%s' is no regular file: give the copy another name", path);
    _cleanup_(freep) char *partial = with_suffix(path, ".partial");
    int r = make_private(partial, err);
    if (r < 0)
        return r;
    *ret_partial = TAKE_PTR(partial);
    return 0;
}

int sqlite_copy(struct sqlite_store *store, const char *path, struct error *err) {
    _cleanup_(freep) char *partial = NULL;
    int r = sqlite_copy_prepare(store, path, &partial, err);
    if (r < 0)
        return r;
    r = vacuum_into(store->db, store->place.path, partial, err);
    if (r >= 0)
        r = sqlite_copy_seal(partial, 0, NULL, err);
    if (r >= 0)
        r = sqlite_copy_put_in_place(partial, path, err);
    if (r < 0)
        sqlite_copy_remove(partial);
    return r;
}

/* --- restore ----------------------------------------------------------------------------------- */

/* An epoch that no earlier start of this place has had. */
static int64_t next_epoch(const struct place *place, int64_t of_copy) {
    struct stat st;
    if (stat(place->path, &st) < 0)
        return of_copy + 1;
    _cleanup_(sqlite_look_finish) struct sqlite_looked_at old = { 0 };
    int64_t of_old = 0;
    if (sqlite_look_at(place->path, &old, NULL) < 0
        || sqlite_meta(old.db, "epoch", &of_old) != SQLITE_OK)
        return of_copy + EPOCH_LEAP;
    return (of_old > of_copy ? of_old : of_copy) + 1;
}

/* The copy, whole, checked and synced, as PATH-restored. */
static int prepare(const struct place *place, const char *path, struct error *err) {
    _cleanup_(sqlite_look_finish) struct sqlite_looked_at copy = { 0 };
    int64_t epoch = 0;
    _cleanup_(freep) char *restored = place_beside(place, "-restored");
    _cleanup_(freep) char *partial = place_beside(place, "-restored.partial");
    int r = sqlite_look_at(path, &copy, err);
    if (r >= 0)
        r = sqlite_look_source(copy.db, path, &epoch, err);
    if (r >= 0)
        r = make_private(partial, err);
    if (r < 0)
        return r;
    r = vacuum_into(copy.db, path, partial, err);
    if (r >= 0)
        r = sqlite_copy_seal(partial, next_epoch(place, epoch), NULL, err);
    if (r >= 0)
        r = sqlite_copy_put_in_place(partial, restored, err);
    if (r < 0)
        sqlite_copy_remove(partial);
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
        return error_set_errno(err, "move", from);
    return 0;
}

int sqlite_finish_restore(const struct place *place, char ret_kept[512], struct error *err) {
    /* The log first: until the database itself has moved, another try chooses the same name. */
    static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
    struct stat st;
    ret_kept[0] = '\0';
    _cleanup_(freep) char *restored = place_beside(place, "-restored");
    if (lstat(restored, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, "look at", restored);
    bool had_old = lstat(place->path, &st) == 0;
    char kept[512];
    int r = choose_kept(place, kept, err);
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(suffixes); i++)
        r = move_old(place, kept, suffixes[i], err);
    /* The old log must not be found beside the new database after a power cut. */
    if (r >= 0)
        r = place_sync_folder(place->folder, err);
    if (r >= 0 && rename(restored, place->path) < 0)
        r = error_set_errno(err, "move", restored);
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
