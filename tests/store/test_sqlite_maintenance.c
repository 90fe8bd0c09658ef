/* test_sqlite_maintenance.c: the log stays short, a full disk loses nothing, and queries use indexes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/small_disk.h"
#include "harness/test.h"
#include "kit.h"
#include "store/sqlite_internal.h"

static int tear_down(void **state) {
    const struct kit_file *f = *state;
    small_disk_unmount(f->folder);
    return kit_file_close(state);
}

static struct store_info info_of(const struct store *store) {
    struct store_info info;
    store_info(store, &info);
    return info;
}

/* A batch with this many bytes of specs. */
static enum store_outcome add_bytes(struct store *store, task_id first, size_t bytes,
                                    struct error *err) {
    static char json[4001];
    memset(json, 'x', sizeof(json) - 1);
    struct store_batch *batch = store_batch_new();
    for (size_t i = 0; i < bytes / sizeof(json) + 1; i++) {
        struct task_row row = kit_task(first + i);
        struct spec_row spec = { .id = first + i, .title = "t", .json = json };
        store_add_task(batch, &row);
        store_add_spec(batch, &spec);
    }
    enum store_outcome outcome = kit_try(store, batch, err);
    store_batch_free(batch);
    return outcome;
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, kit_file_open, tear_down)

FIXTURE_TEST(the_log_is_cut_off_when_nothing_happens) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    assert_int_equal(add_bytes(store, 1, 10000, &f->err), STORE_OK);
    assert_true(info_of(store).log_bytes > 10000);
    assert_int_equal(store_maintain(store, 0), SECONDS(30)); /* time of the next call */
    assert_int_equal(store_maintain(store, SECONDS(29)), SECONDS(1));
    assert_true(info_of(store).log_bytes > 10000);
    assert_true(store_maintain(store, SECONDS(30)) == TIME_NEVER);
    assert_int_equal(info_of(store).log_bytes, 0);
    assert_true(store_maintain(store, SECONDS(60)) == TIME_NEVER);
    assert_true(info_of(store).bytes > 10000);
    store_close(store);
}

FIXTURE_TEST(a_long_log_is_copied_and_used_again) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    assert_int_equal(add_bytes(store, 1, 6 << 20, &f->err), STORE_OK); /* > 1,000 pages */
    int64_t log = info_of(store).log_bytes;
    assert_true(log > 4 << 20);
    assert_int_equal(store_maintain(store, 0), SECONDS(30));
    assert_true(info_of(store).bytes > 6 << 20);
    assert_int_equal(add_bytes(store, 10000, 1 << 20, &f->err), STORE_OK);
    assert_int_equal(info_of(store).log_bytes, log); /* its file did not grow */
    store_close(store);
}

/* The store is never idle: the log still stays short. */
FIXTURE_TEST(the_log_is_bounded_without_maintenance) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    for (task_id i = 0; i < 24; i++)
        assert_int_equal(add_bytes(store, 1 + i * 1000, 2 << 20, &f->err), STORE_OK);
    assert_true(info_of(store).log_bytes < 24 << 20);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 24 * 525);
    store_close(store);
}

/* --- a real full disk: a small separate file system ------------------------------------------------ */

#define DISK_MB       6
#define RESERVE_BYTES (1 << 20)

static struct store *open_with_reserve(struct kit_file *f) {
    struct store_options options = { .url = f->path, .reserve_bytes = RESERVE_BYTES };
    struct store *store = NULL;
    if (store_open(&options, &store, NULL, &f->err) < 0)
        fail_msg("%s", f->err.text);
    return store;
}

/* Commits until the store refuses a batch. Returns the number of committed batches. */
static unsigned fill_up(struct kit_file *f, struct store *store, unsigned from,
                        bool until_reserve_used) {
    for (unsigned i = from;; i++) {
        assert_true(i < 4000);
        enum store_outcome outcome = add_bytes(store, 1 + i * 10, 16000, &f->err);
        if (outcome != STORE_OK) {
            assert_int_equal(outcome, STORE_FAILED);
            assert_int_equal(f->err.code, -ENOSPC);
            return i;
        }
        if (until_reserve_used && info_of(store).reserve_used)
            return i + 1;
    }
}

/* A small change, like the end of a run. */
static enum store_outcome end_a_run(struct store *store, uint32_t attempt) {
    struct store_batch *batch = store_batch_new();
    struct task_row row = kit_task(1);
    struct run_row run = kit_run(1, attempt);
    row.spec.state = TASK_DONE;
    store_change_task(batch, &row, STORE_CHANGE_SEEN);
    store_put_run(batch, &run);
    enum store_outcome outcome = kit_try(store, batch, NULL);
    store_batch_free(batch);
    return outcome;
}

static void fill_a_real_disk(struct kit_file *f) {
    struct store *store = open_with_reserve(f);
    assert_false(info_of(store).reserve_used);
    unsigned in = fill_up(f, store, 0, true);
    assert_true(in > 10);
    /* The batch that hit the full disk was committed with the reserve. Ends are recorded. */
    for (uint32_t attempt = 1; attempt <= 20; attempt++)
        assert_int_equal(end_a_run(store, attempt), STORE_OK);
    in = fill_up(f, store, in, false);
    /* The reserve is used up. Nothing is lost or damaged, also after a restart. */
    assert_false(info_of(store).broken);
    assert_int_equal(store_maintain(store, SECONDS(31)), SECONDS(30));
    assert_true(info_of(store).reserve_used);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, in * 4);
    store_close(store);
    /* A start needs a few bytes; without them it fails with a message, and with them the contents are unchanged. */
    struct store_options options = { .url = f->path, .reserve_bytes = RESERVE_BYTES };
    store = NULL;
    int r = store_open(&options, &store, NULL, &f->err);
    assert_true(r == 0 || (r == -ENOSPC && strstr(f->err.text, "the disk is full")));
    store_close(store);
    assert_true(small_disk_resize(f->folder, 2 * DISK_MB));
    store = open_with_reserve(f);
    assert_false(info_of(store).reserve_used);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, in * 4);
    store_close(store);
}

FIXTURE_TEST(a_really_full_disk_loses_nothing) {
    struct kit_file *f = *state;
    if (!small_disk_mount(f->folder, DISK_MB)) {
        print_message("no right to mount a small disk here: not tested\n");
        return; /* test_sqlite_faults.c fills a simulated one */
    }
    fill_a_real_disk(f);
}

/* A process adds tasks and is killed after an error. */
static void leave_log_behind(struct kit_file *f) {
    _cleanup_(freep) char *lock = kit_path(f->folder, "store.db-lock");
    pid_t pid = fork();
    int status = 1;
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *store = open_with_reserve(f);
        for (unsigned i = 0; i < 4; i++)
            if (add_bytes(store, 1 + i * 10, 16000, &f->err) != STORE_OK)
                _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(truncate(lock, 0), 0);
}

FIXTURE_TEST(the_log_is_renewed_on_a_full_disk_with_the_reserve) {
    struct kit_file *f = *state;
    if (!small_disk_mount(f->folder, DISK_MB)) {
        print_message("no right to mount a small disk here: not tested\n");
        return;
    }
    leave_log_behind(f);
    small_disk_fill(f->folder, "filler");
    struct store *store = open_with_reserve(f);
    assert_true(info_of(store).reserve_used);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 4 * 4);
    store_close(store);
}

FIXTURE_TEST(the_reserve_comes_back_with_the_space) {
    struct kit_file *f = *state;
    struct store *store = open_with_reserve(f);
    struct sqlite_store *sqlite = (struct sqlite_store *)store;
    struct stat st;
    assert_int_equal(stat(sqlite->reserve.path, &st), 0);
    assert_true(st.st_blocks * 512 >= RESERVE_BYTES);
    assert_true(sqlite_reserve_release(sqlite));
    assert_true(info_of(store).reserve_used);
    assert_int_equal(stat(sqlite->reserve.path, &st), 0);
    assert_int_equal(st.st_blocks, 0);
    assert_false(sqlite_reserve_release(sqlite)); /* there is one */
    (void)store_maintain(store, 0);
    assert_false(info_of(store).reserve_used);
    assert_int_equal(stat(sqlite->reserve.path, &st), 0);
    assert_true(st.st_blocks * 512 >= RESERVE_BYTES);
    store_close(store);
}

/* --- queries that must not scan a table ------------------------------------------------------------- */

/* `sql`: EXPLAIN QUERY PLAN … */
static void expect_plan(struct store *store, struct strbuf *sql, const char *plan) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = ((struct sqlite_store *)store)->db;
    assert_int_equal(sqlite3_prepare_v2(db, sql->text, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        strbuf_printf(&text, "%s;", (const char *)sqlite3_column_text(stmt, 3));
    sqlite3_finalize(stmt);
    assert_string_equal(strbuf_text(&text), plan);
}

FIXTURE_TEST(questions_use_their_index) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    static const struct {
        enum statement statement;
        const char *plan;
    } plans[] = {
        { STATEMENT_GET_SPEC, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?);"
                              "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN;" },
        { STATEMENT_GET_RUNS, "SEARCH run USING PRIMARY KEY (task=? AND attempt<?);" },
        { STATEMENT_GET_EVENTS, "SEARCH event USING INTEGER PRIMARY KEY (rowid>?);" },
        { STATEMENT_GET_EVENTS_BACK, "SEARCH event USING INTEGER PRIMARY KEY (rowid<?);" },
        { STATEMENT_GET_TASK_EVENTS, "SEARCH event USING INDEX event_task (task=? AND rowid>?);" },
        { STATEMENT_GET_TASK_EVENTS_BACK,
          "SEARCH event USING INDEX event_task (task=? AND rowid<?);" },
        { STATEMENT_GET_KEY, "SEARCH key USING INDEX sqlite_autoindex_key_1 (key=?);" },
        { STATEMENT_GET_EXTERNAL,
          "SEARCH s USING INDEX spec_external (project=? AND external_id=?);"
          "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN;" },
        { STATEMENT_GET_EXPIRED, "SEARCH task USING COVERING INDEX task_final (final_at<?);" },
        { STATEMENT_GET_TITLE, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?);"
                               "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN;" },
        { STATEMENT_GET_ENDED,
          "SEARCH run USING INDEX run_ended (ended_at>? AND (ended_at,task,attempt)<(?,?,?));" },
        { STATEMENT_GET_SPENT_BY_PROJECT,
          "SEARCH spent USING PRIMARY KEY (days=? AND at>? AND at<?);" },
        { STATEMENT_PRUNE_SPENT, "SEARCH spent USING PRIMARY KEY (days=? AND at<?);" },
        { STATEMENT_PRUNE_KEYS, "SEARCH key USING INDEX key_at (at<?);" },
        { STATEMENT_UNLINK_EVENTS, "SEARCH event USING INDEX event_task (task=?);" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
        _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
        strbuf_puts(&sql, "EXPLAIN QUERY PLAN ");
        sql_build(plans[i].statement, SQL_SQLITE, SQL_GENERAL, &sql);
        expect_plan(store, &sql, plans[i].plan);
    }
    _cleanup_(strbuf_finish) struct strbuf runs = STRBUF_INIT;
    strbuf_puts(&runs, "EXPLAIN QUERY PLAN ");
    assert_int_equal(sql_parts[SQL_PARTS - 1].kind, ROW_RUN);
    sql_load(&sql_parts[SQL_PARTS - 1], SQL_SQLITE, &runs);
    expect_plan(store, &runs, "SCAN run USING INDEX run_open;");
    store_close(store);
}

/* The settings that durability depends on, read from the open connection. */
FIXTURE_TEST(the_settings_are_those_of_the_design) {
    struct kit_file *f = *state;
    static const struct {
        const char *pragma;
        int64_t value;
    } settings[] = {
        { "PRAGMA synchronous", 2 },
        { "PRAGMA wal_autocheckpoint", 0 },
        { "PRAGMA cell_size_check", 1 },
        { "PRAGMA mmap_size", 0 },
        { "PRAGMA foreign_keys", 1 },
        { "PRAGMA trusted_schema", 0 },
        { "PRAGMA journal_size_limit", 67108864 },
        { "PRAGMA temp_store", 2 },
        { "PRAGMA application_id", SQLITE_APPLICATION_ID },
        { "PRAGMA user_version", STORE_VERSION },
    };
    struct store *store = kit_open(f->path, NULL);
    sqlite3 *db = ((struct sqlite_store *)store)->db;
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        int64_t value = -1;
        assert_int_equal(sqlite_numbers(db, settings[i].pragma, 1, &value), SQLITE_OK);
        if (value != settings[i].value)
            fail_msg("%s is %ld", settings[i].pragma, (long)value);
    }
    _cleanup_(freep) char *shared = kit_path(f->folder, "store.db-shm");
    assert_int_equal(access(shared, F_OK), -1); /* EXCLUSIVE: no other process may open it */
    store_close(store);
}
