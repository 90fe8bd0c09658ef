/* sqlite_look.c: what is in a file that is not to be changed?
 *
 * A copy before it is restored, and a store whose daemon does not run. Its log, if it has one, is read and
 * stays as it is: for that SQLite wants to be alone, and alone it wants to be able to write.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "store/sqlite_internal.h"

#define FIRST_WITH_NOTES 3 /* version */

void sqlite_look_finish(struct sqlite_looked_at *look) {
    if (look->db)
        (void)sqlite3_db_config(look->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(look->db);
    if (look->log)
        (void)unlink(look->log);
    free(look->log);
}

int sqlite_look_at(const char *path, struct sqlite_looked_at *ret_look, struct error *err) {
    struct stat st;
    _cleanup_(strbuf_finish) struct strbuf log = STRBUF_INIT;
    strbuf_printf(&log, "%s-wal", path);
    if (lstat(log.text, &st) < 0 && errno == ENOENT)
        ret_look->log = strbuf_take(&log);
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

int sqlite_look_source(sqlite3 *db, const char *path, int64_t *ret_epoch, struct error *err) {
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
    rc = sqlite_meta(db, "epoch", ret_epoch);
    return rc == SQLITE_OK ? 0 : sqlite_error(db, path, "read", rc, err);
}

int sqlite_look_whole(sqlite3 *db, const char *sql, char ret_found[150]) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt) == SQLITE_ROW ? SQLITE_OK : sqlite3_extended_errcode(db);
    const char *found = rc == SQLITE_OK ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    bool fine = found && strcmp(found, "ok") == 0;
    (void)snprintf(ret_found, 150, "%s", fine ? "" : found ? found : "its check says nothing");
    for (char *c = ret_found; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    sqlite3_finalize(stmt);
    return rc;
}

static int look_into(sqlite3 *db, const char *path, struct store_look *ret_look,
                     struct error *err) {
    int64_t epoch, version = 0, clean = 1, tasks = 0, last_event = 0, copying = 0;
    int r = sqlite_look_source(db, path, &epoch, err);
    if (r < 0)
        return r;
    char found[150];
    int rc = sqlite_look_whole(db, "PRAGMA integrity_check(1)", found);
    if (rc == SQLITE_OK && found[0])
        return error_set(err, -EUCLEAN, "store '%s' is damaged (%s): " SQLITE_RESTORE_HINT, path,
                         found);
    if (rc == SQLITE_OK)
        rc = sqlite_number(db, "PRAGMA user_version", 0, &version);
    if (rc == SQLITE_OK)
        rc = sqlite_meta(db, "clean", &clean);
    if (rc == SQLITE_OK)
        rc = sqlite_number(db, "SELECT count(*) FROM task", 0, &tasks);
    if (rc == SQLITE_OK)
        rc = sqlite_number(db,
                           "SELECT max(ifnull((SELECT max(seq) FROM event), 0),"
                           " (SELECT value FROM meta WHERE key = 'last_event'))",
                           0, &last_event);
    if (rc == SQLITE_OK && version >= FIRST_WITH_NOTES)
        rc = sqlite_number(db, "SELECT count(*) FROM note WHERE name = '" STORE_COPY_NOTE "'", 0,
                           &copying);
    if (rc != SQLITE_OK)
        return sqlite_error(db, path, "read", rc, err);
    *ret_look = (struct store_look){ .there = true,
                                     .was_unclean = clean == 0,
                                     .unfinished = copying != 0,
                                     .version = (uint32_t)version,
                                     .tasks = (uint64_t)tasks,
                                     .last_event = (uint64_t)last_event };
    return 0;
}

int sqlite_look(const char *url, struct store_look *ret_look, struct error *err) {
    struct stat st;
    _cleanup_(strbuf_finish) struct strbuf restored = STRBUF_INIT;
    strbuf_printf(&restored, "%s-restored", url);
    /* Whole, and decided: the next start puts it in place. */
    const char *path = lstat(restored.text, &st) == 0 ? restored.text : url;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return 0;
    struct place place = PLACE_INIT;
    struct sqlite_looked_at look = { 0 };
    int r = place_find(url, &place, err);
    if (r >= 0)
        r = place_lock(&place, err);
    if (r >= 0)
        r = sqlite_look_at(path, &look, err);
    if (r == -EUCLEAN)
        error_set(err, r, "store '%s' is damaged (no database): " SQLITE_RESTORE_HINT, path);
    if (r >= 0)
        r = look_into(look.db, path, ret_look, err);
    sqlite_look_finish(&look);
    place_finish(&place); /* the lock last */
    return r;
}
