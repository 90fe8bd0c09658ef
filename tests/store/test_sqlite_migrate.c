/* test_sqlite_migrate.c: files of every released version can be opened.
 *
 * fixtures/version-N.sql is a database of version N, fixtures/version-N.txt its contents. They are
 * generated once, when the version is released, and never again:
 *   test_sqlite_migrate --make FOLDER   writes both for the current version. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "crash.h"
#include "harness/test.h"
#include "os/files.h"
#include "store/sqlite_internal.h"

#define FIXTURES     SOURCE_ROOT "/tests/store/fixtures"
#define FIXTURE_SEED 2024

static void read_fixture(const char *kind, unsigned version, struct strbuf *out) {
    char path[512];
    struct error err = { 0 };
    (void)snprintf(path, sizeof(path), FIXTURES "/version-%u.%s", version, kind);
    if (file_read(path, 4 << 20, out, &err) < 0)
        fail_msg("%s: every released version has its fixtures", err.text);
}

static void build_fixture(const char *path, unsigned version) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    read_fixture("sql", version, &sql);
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql.text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("version-%u.sql: %s", version, message);
    sqlite3_close(db);
}

static void dump_file(const char *path, struct strbuf *out) {
    struct store *store = kit_open(path, NULL);
    kit_dump(store, out);
    store_close(store);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, kit_file_open, kit_file_close)

FIXTURE_TEST(every_version_holds_what_it_held) {
    struct kit_file *f = *state;
    for (unsigned version = 1; version <= STORE_VERSION; version++) {
        _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT, then = STRBUF_INIT;
        kit_remove_files(f->folder);
        build_fixture(f->path, version);
        dump_file(f->path, &now);
        read_fixture("txt", version, &then);
        assert_string_equal(strbuf_text(&now), strbuf_text(&then));
    }
}

/* Read-only; "fault" has no shared memory, so it must be the only connection. */
static sqlite3 *open_alone(const char *path) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

static int64_t number_in(const char *path, const char *sql) {
    int64_t number = -1;
    sqlite3 *db = open_alone(path);
    assert_int_equal(sqlite_numbers(db, sql, 1, &number), SQLITE_OK);
    sqlite3_close(db);
    return number;
}

/* Version 7 added the sums: those of an older file are calculated from its runs. */
FIXTURE_TEST(an_older_file_gets_the_sums_of_its_runs) {
    struct kit_file *f = *state;
    build_fixture(f->path, 6);
    store_close(kit_open(f->path, NULL));
    static const char *const runs =
        "SELECT count(*) FROM run JOIN task ON number = run.task WHERE ended = 1";
    int64_t wanted = number_in(f->path, runs);
    assert_true(wanted > 1);
    assert_int_equal(number_in(f->path, "SELECT sum(runs) FROM spent WHERE days = 0"), wanted);
    assert_int_equal(number_in(f->path, "SELECT sum(runs) FROM spent WHERE days = 1"), wanted);
    assert_int_equal(number_in(f->path, "SELECT sum(tokens_in) FROM spent WHERE days = 1"),
                     number_in(f->path, "SELECT sum(tokens_in) FROM run JOIN task"
                                        " ON number = run.task WHERE ended = 1"
                                        " AND tokens_in > 0"));
    assert_int_equal(number_in(f->path, "SELECT count(*) FROM spent WHERE days = 1"
                                        " AND at % 86400000 <> 0"),
                     0);
}

/* `sluice doctor` reads a store without migrating it. */
FIXTURE_TEST(a_look_migrates_nothing) {
    struct kit_file *f = *state;
    struct store_summary look = { 0 };
    assert_int_equal(store_summary(f->path, &look, &f->err), 0);
    assert_false(look.there);
    assert_int_equal(access(f->path, F_OK), -1);
    for (unsigned version = 1; version <= STORE_VERSION; version++) {
        _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
        kit_remove_files(f->folder);
        build_fixture(f->path, version);
        assert_int_equal(file_read(f->path, 64 << 20, &before, &f->err), 0);
        assert_int_equal(store_summary(f->path, &look, &f->err), 0);
        assert_int_equal(file_read(f->path, 64 << 20, &after, &f->err), 0);
        assert_int_equal(after.length, before.length);
        assert_memory_equal(after.text, before.text, before.length);
        assert_true(look.there);
        assert_int_equal(look.version, version);
        struct store *store = kit_open(f->path, NULL);
        struct store_totals totals = kit_load(store, &(struct store_reader){ 0 });
        assert_int_equal(look.tasks, totals.tasks);
        assert_int_equal(look.last_event, totals.last_event);
        assert_int_equal(store_summary(f->path, &look, &f->err), -EBUSY);
        store_close(store);
    }
}

/* A copy does not migrate it either. */
FIXTURE_TEST(a_reader_migrates_nothing) {
    struct kit_file *f = *state;
    struct store_options options = { .url = f->path, .use = STORE_USE_READ };
    for (unsigned version = 1; version < STORE_VERSION; version++) {
        _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
        struct store *store = NULL;
        build_fixture(f->path, version);
        assert_int_equal(file_read(f->path, 64 << 20, &before, &f->err), 0);
        assert_int_equal(store_open(&options, &store, NULL, &f->err), -EPROTO);
        assert_non_null(strstr(f->err.text, "start the daemon on it once"));
        assert_int_equal(file_read(f->path, 64 << 20, &after, &f->err), 0);
        assert_int_equal(after.length, before.length);
        assert_memory_equal(after.text, before.text, before.length);
        kit_remove_files(f->folder);
    }
}

/* Every column of every table, in order except for columns that a version added, and every index. Defaults are left out: a
 * migration needs one for existing rows. */
static void schema_of(const char *path, struct strbuf *out) {
    sqlite3 *db = open_alone(path);
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(
            db,
            "SELECT format('%s.%s %s%s%s', t.name, c.name, c.type, iif(c.\"notnull\", ' not null', "
            "''),"
            " iif(c.pk, ' key ' || c.pk, '')) AS line FROM pragma_table_list t"
            " JOIN pragma_table_info(t.name) c WHERE t.schema = 'main' AND t.name NOT LIKE "
            "'sqlite%'"
            " UNION ALL SELECT format('%s strict %d rowid %d', name, strict, wr = 0)"
            " FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'"
            " UNION ALL SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
            " ORDER BY line",
            -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        strbuf_printf(out, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

/* Tables that are created from columns.h equal those that the migration steps produce. */
FIXTURE_TEST(a_new_file_is_as_a_migrated_one) {
    struct kit_file *f = *state;
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    struct store *store = kit_open(f->path, NULL);
    store_close(store);
    schema_of(f->path, &made);
    assert_true(made.length > 0);
    for (unsigned version = 1; version <= STORE_VERSION; version++) {
        _cleanup_(strbuf_finish) struct strbuf migrated = STRBUF_INIT;
        kit_remove_files(f->folder);
        build_fixture(f->path, version);
        store_close(kit_open(f->path, NULL));
        schema_of(f->path, &migrated);
        assert_string_equal(strbuf_text(&migrated), strbuf_text(&made));
    }
}

/* Compares `since` of every column with the files of each version. */
FIXTURE_TEST(every_version_has_the_columns_of_its_time) {
    struct kit_file *f = *state;
    for (unsigned version = 1; version <= STORE_VERSION; version++) {
        kit_remove_files(f->folder);
        build_fixture(f->path, version);
        for (enum row_kind kind = 0; kind < ROW_KIND_MAX; kind++)
            ROW_COLUMNS(c, &row_types[kind]) {
                char sql[256];
                (void)snprintf(sql, sizeof(sql),
                               "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
                               row_types[kind].table, c->name);
                if (kind != ROW_PAUSE && number_in(f->path, sql) != (c->since <= version))
                    fail_msg("%s.%s and version %u", row_types[kind].table, c->name, version);
            }
    }
}

/* The step to version 8 was written manually; later ones are generated like this. */
FIXTURE_TEST(new_columns_are_added_by_a_migration) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    sql_add_columns(SQL_SQLITE, 8, &sql);
    assert_string_equal(strbuf_text(&sql), sqlite_schema.steps[7]);
}

/* --- migration to the next version, with steps of a future version --------------------------------- */

static const char *const good_step =
    "ALTER TABLE task ADD COLUMN colour INTEGER NOT NULL DEFAULT 7;"
    "CREATE TABLE paint (colour INTEGER PRIMARY KEY) STRICT;"
    "INSERT INTO paint SELECT number FROM task";
static const char *const bad_step = "CREATE TABLE paint (colour INTEGER PRIMARY KEY) STRICT;"
                                    "INSERT INTO paint SELECT number FROM no_such_table";

static const char *steps_to_come[STORE_VERSION + 1];
static const struct sqlite_schema schema_to_come = { steps_to_come, STORE_VERSION + 1 };

static int open_to_come(const struct store_options *options, struct store **ret_store,
                        struct store_report *ret_report, struct error *err) {
    return sqlite_open_as(&schema_to_come, options, ret_store, ret_report, err);
}

/* Opens like a program of the next version. */
static int open_next(struct kit_file *f, const char *step, struct store **ret_store) {
    static struct store_backend next;
    next = sqlite_backend;
    next.open = open_to_come;
    for (unsigned i = 0; i < STORE_VERSION; i++)
        steps_to_come[i] = sqlite_schema.steps[i];
    steps_to_come[STORE_VERSION] = step;
    struct store_options options = { .url = f->path, .reserve_bytes = -1 };
    return store_open_backend(&next, &options, ret_store, &f->report, &f->err);
}

static void make_old_file(struct kit_file *f, struct strbuf *ret_dump) {
    kit_remove_files(f->folder);
    build_fixture(f->path, STORE_VERSION);
    dump_file(f->path, ret_dump);
}

static void expect_dump(struct store *store, const struct strbuf *expected) {
    _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT;
    kit_dump(store, &now);
    assert_string_equal(strbuf_text(&now), strbuf_text(expected));
}

FIXTURE_TEST(a_migration_keeps_everything_and_a_copy) {
    struct kit_file *f = *state;
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    make_old_file(f, &before);
    struct store *store = NULL;
    assert_int_equal(open_next(f, good_step, &store), 0);
    assert_int_equal(f->report.migrated_from, STORE_VERSION);
    assert_false(f->report.created);
    expect_dump(store, &before);
    int64_t colours = 0;
    assert_int_equal(sqlite_numbers(((struct sqlite_store *)store)->db,
                                    "SELECT count(*) FROM task WHERE colour = 7", 1, &colours),
                     SQLITE_OK);
    assert_int_equal(colours, kit_load(store, &(struct store_reader){ 0 }).tasks);
    store_close(store);

    /* The backup has the old version: the current program opens it, and refuses the migrated file. */
    char copy[512];
    memcpy(copy, f->report.backup, sizeof(copy));
    _cleanup_(strbuf_finish) struct strbuf of_copy = STRBUF_INIT;
    dump_file(copy, &of_copy);
    assert_string_equal(strbuf_text(&of_copy), strbuf_text(&before));
    struct store_options options = { .url = f->path, .reserve_bytes = -1 };
    assert_int_equal(store_open(&options, &store, NULL, &f->err), -EPROTO);

    /* The second start has nothing to migrate. */
    assert_int_equal(open_next(f, good_step, &store), 0);
    assert_int_equal(f->report.migrated_from, 0);
    assert_string_equal(f->report.backup, "");
    store_close(store);
}

FIXTURE_TEST(a_new_file_needs_no_copy) {
    struct kit_file *f = *state;
    struct store *store = NULL;
    assert_int_equal(open_next(f, good_step, &store), 0);
    assert_true(f->report.created);
    assert_int_equal(f->report.migrated_from, 0);
    assert_string_equal(f->report.backup, "");
    store_close(store);
}

FIXTURE_TEST(a_failed_migration_changes_nothing) {
    struct kit_file *f = *state;
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    make_old_file(f, &before);
    struct store *store = NULL;
    assert_true(open_next(f, bad_step, &store) < 0);
    assert_null(store);
    assert_non_null(strstr(f->err.text, "cannot migrate '"));
    assert_non_null(strstr(f->err.text, "no_such_table"));
    store = kit_open(f->path, &f->report);
    assert_false(f->report.was_unclean);
    expect_dump(store, &before);
    store_close(store);
    assert_int_equal(open_next(f, good_step, &store), 0);
    expect_dump(store, &before);
    store_close(store);
}

/* Whether the table of the step exists and is complete. */
static unsigned version_of(const char *path) {
    sqlite3 *db = open_alone(path);
    int64_t version = 0, paint = 0, tasks = 0;
    assert_int_equal(sqlite_numbers(db, "PRAGMA user_version", 1, &version), SQLITE_OK);
    if (version > STORE_VERSION) {
        assert_int_equal(sqlite_numbers(db, "SELECT count(*) FROM paint", 1, &paint), SQLITE_OK);
        assert_int_equal(sqlite_numbers(db, "SELECT count(*) FROM task", 1, &tasks), SQLITE_OK);
        assert_int_equal(paint, tasks);
    }
    sqlite3_close(db);
    return (unsigned)version;
}

static bool migrate_until(struct kit_file *f, enum fault_plan plan, uint64_t at) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *store = NULL;
        fault_set(plan, at, at);
        int r = open_next(f, good_step, &store);
        store_close(store);
        _exit(r < 0 ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 1);
    return WEXITSTATUS(status) == 0;
}

/* Crashes at every operation of backup and migration; the next start completes them. */
static void die_in_migration(struct kit_file *f, enum fault_plan plan) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    _cleanup_(freep) char *old_file = kit_folder();
    bool through = false;
    unsigned old = 0, new = 0;
    fault_set(FAULT_NONE, 0, 0);
    make_old_file(f, &before);
    kit_copy_folder(f->folder, old_file);
    for (uint64_t at = 1; !through; at += (CRASH_STRIDE + 1) / 2) {
        fault_set(FAULT_NONE, 0, 0);
        kit_remove_files(f->folder);
        kit_copy_folder(old_file, f->folder);
        through = migrate_until(f, plan, at);
        if (version_of(f->path) == STORE_VERSION)
            old++;
        else
            new ++;
        struct store *store = NULL;
        if (open_next(f, good_step, &store) < 0)
            fail_msg("%s at operation %u: %s", fault_plan_name(plan), (unsigned)at, f->err.text);
        expect_dump(store, &before);
        store_close(store);
    }
    assert_true(old > 5 && new >= 1); /* crashes before and after the step were tested */
    kit_remove_folder(old_file);
}

FIXTURE_TEST(a_crash_in_a_migration_loses_nothing) {
    struct kit_file *f = *state;
    die_in_migration(f, FAULT_KILL);
    die_in_migration(f, FAULT_POWER);
}

/* --- writing the fixtures ------------------------------------------------------------------------- */

static void fill(struct store *store) {
    struct history history = history_begin(FIXTURE_SEED, true);
    struct store_batch *batch = store_batch_new();
    for (unsigned i = 0; i < 30; i++) {
        history_next(&history, batch);
        (void)kit_try(store, batch, NULL);
    }
    for (task_id id = 2000; id < 2040; id++) {
        struct task_row row = kit_task(id);
        store_add_task(batch, &row);
    }
    kit_commit(store, batch);
    store_batch_free(batch);
}

static int make_fixtures(const char *folder) {
    _cleanup_(freep) char *path = kit_path(folder, "fixture.db");
    _cleanup_(strbuf_finish) struct strbuf dump = STRBUF_INIT;
    struct store *store = kit_open(path, NULL);
    fill(store);
    kit_dump(store, &dump);
    store_close(store);
    char text[512];
    struct error err = { 0 };
    (void)snprintf(text, sizeof(text), "%s/version-%u.txt", folder, STORE_VERSION);
    if (file_write(text, strbuf_text(&dump), dump.length, &err) < 0)
        return 1;
    (void)printf("(sqlite3 %s .dump; echo 'PRAGMA application_id = %d; PRAGMA user_version = %u;')"
                 " > %s/version-%u.sql\n",
                 path, SQLITE_APPLICATION_ID, STORE_VERSION, folder, STORE_VERSION);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--make") == 0)
        return make_fixtures(argv[2]);
    fault_install();
    return tests_run();
}
