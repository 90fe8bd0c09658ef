/* import_sqlite.c: reads a SQLite database of another program.
 *
 * The database and its write-ahead log are copied to a private folder, and the copy is opened. So
 * nothing is written beside the original, not even a lock, and rows that are only in the log are
 * found. The content is not trusted: only plain tables are read, and no function, view or trigger
 * of the schema runs. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "os/outside.h"

#define COPY_MAX (INT64_C(4) << 30)
#define ROWS_MAX 1000000u

static void statement_freep(sqlite3_stmt **statement) {
    (void)sqlite3_finalize(*statement);
}

static int refuse(const char *path, sqlite3 *db, struct error *err) {
    return error_set(err, -EINVAL, "'%.200s' cannot be read: %s", path, sqlite3_errmsg(db));
}

/* --- the copy -------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to) {
    char bytes[1 << 16];
    ssize_t size;
    while ((size = read(from, bytes, sizeof(bytes))) > 0)
        for (ssize_t done = 0, n; done < size; done += n)
            if ((n = write(to, bytes + done, (size_t)(size - done))) < 0)
                return -errno;
    return size < 0 ? -errno : 0;
}

static int copy_file(const char *from, const char *to, struct error *err) {
    _cleanup_(fd_closep) int source = -1;
    _cleanup_(fd_closep) int target = -1;
    off_t size = 0;
    source = outside_open(AT_FDCWD, from, O_RDONLY, &size, err);
    if (source < 0)
        return source;
    if (size > COPY_MAX)
        return error_set(err, -EFBIG, "'%.200s' has more than 4 GiB", from);
    target = outside_create(AT_FDCWD, to, err);
    if (target < 0)
        return target;
    int r = copy_bytes(source, target);
    return r < 0 ? error_set(err, r, "cannot copy '%.200s': %s", from, strerror(-r)) : 0;
}

/* The log may be missing. */
static int copy_database(const char *path, const char *copy, struct error *err) {
    _cleanup_(freep) char *log = xasprintf("%s-wal", path);
    _cleanup_(freep) char *log_copy = xasprintf("%s-wal", copy);
    int r = copy_file(path, copy, err);
    return r == 0 && access(log, F_OK) == 0 ? copy_file(log, log_copy, err) : r;
}

static void remove_copy(const char *copy) {
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        _cleanup_(freep) char *path = xasprintf("%s%s", copy, suffixes[i]);
        (void)unlink(path);
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

static json_t *value_of(sqlite3_stmt *row, int column) {
    const char *text;
    json_t *value = NULL;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
        return json_real(sqlite3_column_double(row, column));
    case SQLITE_TEXT:
        text = (const char *)sqlite3_column_text(row, column);
        value = json_stringn(text ? text : "", (size_t)sqlite3_column_bytes(row, column));
        break;
    default:
        break;
    }
    return value ? value : json_pack("{s:i}", "bytes", sqlite3_column_bytes(row, column));
}

static int read_table(const char *path, sqlite3 *db, const char *table, json_t *rows,
                      struct error *err) {
    _cleanup_(statement_freep) sqlite3_stmt *statement = NULL;
    char *query = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    int r = query ? sqlite3_prepare_v2(db, query, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(query);
    while (r == SQLITE_OK || r == SQLITE_ROW) {
        r = sqlite3_step(statement);
        if (r != SQLITE_ROW || json_array_size(rows) >= ROWS_MAX)
            break;
        json_t *row = json_object();
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            json_object_set_new(row, sqlite3_column_name(statement, i), value_of(statement, i));
        json_array_append_new(rows, row);
    }
    return r == SQLITE_DONE || r == SQLITE_ROW ? 0 : refuse(path, db, err);
}

/* No virtual tables, because they run module code. Views and triggers have other types. */
static const char tables[] =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'"
    " ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'";

static int read_tables(const char *path, sqlite3 *db, json_t *all, struct error *err) {
    _cleanup_(statement_freep) sqlite3_stmt *list = NULL;
    if (sqlite3_prepare_v2(db, tables, -1, &list, NULL) != SQLITE_OK)
        return refuse(path, db, err);
    int r = 0, step;
    while (r == 0 && (step = sqlite3_step(list)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(list, 0);
        json_t *rows = json_array();
        r = read_table(path, db, name, rows, err);
        json_object_set_new(all, name, rows);
    }
    return r == 0 && step != SQLITE_DONE ? refuse(path, db, err) : r;
}

int import_sqlite_read(const char *path, json_t **ret_tables, struct error *err) {
    const char *given = getenv("TMPDIR");
    const char *temporary = given && *given == '/' ? given : "/tmp";
    _cleanup_(freep) char *folder = xasprintf("%s/sluice-import.XXXXXX", temporary);
    if (!mkdtemp(folder))
        return error_set(err, -errno, "cannot make a folder for a copy: %s", strerror(errno));
    _cleanup_(freep) char *copy = xasprintf("%s/copy.db", folder);
    json_auto_t *all = json_object();
    sqlite3 *db = NULL;
    int r = copy_database(path, copy, err);
    if (r == 0 && sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        r = refuse(path, db, err);
    if (r == 0) {
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        r = read_tables(path, db, all, err);
    }
    (void)sqlite3_close_v2(db);
    remove_copy(copy);
    (void)rmdir(folder);
    if (r == 0)
        *ret_tables = json_incref(all);
    return r;
}
