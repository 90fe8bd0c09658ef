/* test_sqlite_open.c: which files are opened, which are refused, and with which message. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "harness/test.h"
#include "kit.h"
#include "os/files.h"
#include "store/sqlite_internal.h"

static void add_tasks(struct store *store, task_id first, task_id last) {
    struct store_batch *batch = store_batch_new();
    for (task_id id = first; id <= last; id++) {
        struct task_row row = kit_task(id);
        struct spec_row spec = kit_spec(id);
        store_add_task(batch, &row);
        store_add_spec(batch, &spec);
    }
    struct run_row run = kit_run(first, 2);
    store_put_run(batch, &run);
    kit_commit(store, batch);
    store_batch_free(batch);
}

static void make_store(struct kit_file *f) {
    struct store *store = kit_open(f->path, &f->report);
    add_tasks(store, 1, 300);
    store_close(store);
}

/* Through a separate connection, as a user of the sqlite3 program would. */
static void run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

static int try_open(struct kit_file *f) {
    struct store_options options = { .url = f->path, .reserve_bytes = -1 };
    struct store *store = NULL;
    int r = store_open(&options, &store, &f->report, &f->err);
    store_close(store);
    return r;
}

/* Asserts that the file is refused with this code and not changed. */
static void expect_untouched(struct kit_file *f, int code) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    assert_int_equal(file_read(f->path, 64 << 20, &before, &f->err), 0);
    assert_int_equal(try_open(f), code);
    struct error err = { 0 };
    assert_int_equal(file_read(f->path, 64 << 20, &after, &err), 0);
    assert_int_equal(after.length, before.length);
    assert_memory_equal(after.text, before.text, before.length);
}

static void expect_text(const struct kit_file *f, const char *part) {
    if (!strstr(f->err.text, part))
        fail_msg("the sentence '%s' does not say '%s'", f->err.text, part);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, kit_file_open, kit_file_close)

FIXTURE_TEST(the_folder_is_made_and_the_files_are_private) {
    struct kit_file *f = *state;
    _cleanup_(freep) char *folder = kit_path(f->folder, "data");
    _cleanup_(freep) char *path = kit_path(folder, "store.db");
    _cleanup_(freep) char *log = kit_path(folder, "store.db-wal");
    struct store_options options = { .url = path, .reserve_bytes = 1 << 20 };
    struct store *store = NULL;
    assert_int_equal(store_open(&options, &store, &f->report, &f->err), 0);
    assert_true(f->report.created);
    static const char *const files[] = { "store.db", "store.db-wal", "store.db-lock",
                                         "store.db-reserve" };
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        _cleanup_(freep) char *file = kit_path(folder, files[i]);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    store_close(store);
    assert_int_equal(stat(log, &st), -1); /* a clean close leaves no log */
}

FIXTURE_TEST(a_missing_folder_of_the_folder_is_an_error) {
    struct kit_file *f = *state;
    free(f->path);
    f->path = kit_path(f->folder, "a/b/store.db");
    assert_int_equal(try_open(f), -ENOENT);
    expect_text(f, "cannot make folder '");
}

FIXTURE_TEST(a_folder_is_no_store) {
    struct kit_file *f = *state;
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_true(try_open(f) < 0);
    expect_text(f, f->path);
}

FIXTURE_TEST(a_symbolic_link_is_no_store) {
    struct kit_file *f = *state;
    make_store(f);
    _cleanup_(freep) char *link = kit_path(f->folder, "link.db");
    assert_int_equal(symlink(f->path, link), 0);
    free(f->path);
    f->path = TAKE_PTR(link);
    assert_int_equal(try_open(f), -ELOOP);
    expect_text(f, "is a symbolic link");
}

/* A folder that is a link is resolved: /home may be one. */
FIXTURE_TEST(a_link_to_the_folder_is_followed) {
    struct kit_file *f = *state;
    make_store(f);
    _cleanup_(freep) char *link = kit_path(f->folder, "link");
    assert_int_equal(symlink(f->folder, link), 0);
    free(f->path);
    f->path = kit_path(link, "store.db");
    assert_int_equal(try_open(f), 0);
    assert_false(f->report.created);
}

FIXTURE_TEST(another_process_is_refused) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int r = try_open(f);
        bool is_named = strstr(f->err.text, "is in use by another process: stop that daemon first");
        _exit(r == -EBUSY && is_named ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_close(store);
    assert_int_equal(try_open(f), 0);
}

/* Another program has the file open. */
FIXTURE_TEST(a_foreign_program_excludes_the_store) {
    struct kit_file *f = *state;
    make_store(f);
    int ready[2], done[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(done, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sqlite3 *db = NULL;
        char byte = sqlite3_open(f->path, &db) == SQLITE_OK
                    && sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
        if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    assert_int_equal(try_open(f), -EBUSY);
    expect_text(f, "is in use by another program");
    assert_int_equal(write(done[1], &byte, 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (size_t i = 0; i < 2; i++) {
        close(ready[i]);
        close(done[i]);
    }
    assert_int_equal(try_open(f), 0);
}

FIXTURE_TEST(and_the_store_excludes_a_foreign_program) {
    struct kit_file *f = *state;
    struct store *store = kit_open(f->path, NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sqlite3 *db = NULL;
        int64_t count = 0;
        int rc = sqlite3_open(f->path, &db);
        if (rc == SQLITE_OK)
            rc = sqlite_numbers(db, "SELECT count(*) FROM task", 1, &count);
        _exit((rc & 0xff) == SQLITE_BUSY ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_close(store);
}

FIXTURE_TEST(a_newer_version_is_refused) {
    struct kit_file *f = *state;
    make_store(f);
    char newer[40];
    (void)snprintf(newer, sizeof(newer), "PRAGMA user_version = %u", STORE_VERSION + 1);
    run_sql(f->path, newer);
    expect_untouched(f, -EPROTO);
    char expected[96];
    (void)snprintf(expected, sizeof(expected),
                   "has version %u, this program knows up to %u: use the", STORE_VERSION + 1,
                   STORE_VERSION);
    expect_text(f, expected);
    (void)snprintf(newer, sizeof(newer), "PRAGMA user_version = %u", STORE_VERSION);
    run_sql(f->path, newer);
    assert_int_equal(try_open(f), 0);
}

FIXTURE_TEST(a_database_of_another_program_is_refused) {
    struct kit_file *f = *state;
    run_sql(f->path, "CREATE TABLE recipe (name TEXT)");
    expect_untouched(f, -EUCLEAN);
    expect_text(f, "is a database of another program: give the store another place");
}

FIXTURE_TEST(a_file_that_is_no_database_is_refused) {
    struct kit_file *f = *state;
    int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write(fd, "not a database\n", 15), 15);
    close(fd);
    expect_untouched(f, -EUCLEAN);
    expect_text(f, "is damaged");
    expect_text(f, "restore a copy with 'sluice restore --yes FILE'");
}

static void spoil(const char *path, off_t offset, size_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(pwrite(fd, "\xa5", 1, offset + (off_t)i), 1);
    close(fd);
}

/* Damages each page of the file in turn: no crash, and structural damage is detected. */
FIXTURE_TEST(a_damaged_file_is_refused) {
    struct kit_file *f = *state;
    make_store(f);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    _cleanup_(freep) char *copy = kit_path(f->folder, "good");
    assert_int_equal(rename(f->path, copy), 0);
    unsigned refused = 0, pages = (unsigned)(st.st_size / 4096);
    for (unsigned page = 0; page < pages; page++) {
        _cleanup_(freep) char *folder = kit_path(f->folder, "spoiled");
        assert_int_equal(mkdir(folder, 0700), 0);
        free(f->path);
        f->path = kit_path(folder, "store.db");
        kit_copy_file(copy, f->path);
        spoil(f->path, (off_t)page * 4096, 64);
        int r = try_open(f);
        if (r < 0) {
            assert_int_equal(r, -EUCLEAN);
            expect_text(f, "restore a copy with 'sluice restore --yes FILE'");
            refused++;
        }
        kit_remove_folder(folder);
    }
    assert_true(pages > 20);
    assert_int_equal(refused, pages);
}

static int read_on(void *ctx, const struct task_row *row, struct error *err) {
    (void)ctx;
    (void)err;
    assert_true(row->id > 0 && row->project);
    assert_true(row->spec.state < TASK_STATE_MAX && row->reason < REASON_MAX);
    return 0;
}

static void read_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    (void)ctx;
    assert_true(!err || answer->count == 0);
}

/* Flips bytes anywhere: the file is refused or read, without a crash. */
FIXTURE_TEST(random_damage_does_no_harm) {
    struct kit_file *f = *state;
    struct rng rng = { 99 };
    struct stat st;
    unsigned refused = 0, rounds = 150;
    make_store(f);
    assert_int_equal(stat(f->path, &st), 0);
    _cleanup_(freep) char *copy = kit_path(f->folder, "good");
    assert_int_equal(rename(f->path, copy), 0);
    for (unsigned i = 0; i < rounds; i++) {
        kit_copy_file(copy, f->path);
        for (uint64_t k = rng_below(&rng, 20); k < 20; k++)
            spoil(f->path, (off_t)rng_below(&rng, (uint64_t)st.st_size), 1 + rng_below(&rng, 3));
        struct store_options options = { .url = f->path, .reserve_bytes = -1 };
        struct store *store = NULL;
        struct store_totals totals;
        int r = store_open(&options, &store, NULL, &f->err);
        if (r == 0)
            r = store_load(store, &(struct store_reader){ .task = read_on }, &totals, &f->err);
        refused += r < 0;
        for (task_id task = 1; store && task <= 300; task += 7) {
            struct store_query question = { .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 };
            store_query(store, &question, read_answer, NULL);
        }
        store_close(store);
    }
    assert_true(refused > rounds / 3); /* most bytes belong to texts, which may have any value */
}

/* Damage that the structural check cannot detect is detected when the rows are read. */
FIXTURE_TEST(a_value_that_cannot_be_is_damage) {
    static const char *const spoilers[] = {
        "UPDATE task SET state = 100000 WHERE number = 7",
        "UPDATE task SET state = (SELECT id FROM name WHERE text = 'ralph') WHERE number = 7",
        "UPDATE task SET agent = 100000 WHERE number = 7",
        "UPDATE task SET project = -1 WHERE number = 7",
        "UPDATE task SET project = 0 WHERE number = 7",
        "UPDATE progress SET hold = 100000 WHERE task = 7",
        "UPDATE progress SET run_agent = 100000 WHERE task = 7",
        "INSERT INTO wait VALUES (100000, 0, 0, 0, 0)",
        "INSERT INTO limiter VALUES (100000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
        "UPDATE run SET outcome = 100000",
        "UPDATE run SET host = 100000",
    };
    struct kit_file *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(spoilers); i++) {
        kit_remove_files(f->folder);
        make_store(f);
        run_sql(f->path, spoilers[i]);
        struct store *store = kit_open(f->path, NULL);
        struct store_totals totals;
        assert_int_equal(store_load(store, &(struct store_reader){ 0 }, &totals, &f->err),
                         -EUCLEAN);
        expect_text(f, "holds a number that names nothing");
        struct store_info info;
        store_info(store, &info);
        assert_true(info.broken);
        store_close(store);
    }
}

FIXTURE_TEST(a_gap_in_the_names_is_damage) {
    struct kit_file *f = *state;
    make_store(f);
    run_sql(f->path, "DELETE FROM name WHERE id = 3");
    assert_int_equal(try_open(f), -EUCLEAN);
    expect_text(f, "the table of names has a gap");
}

/* An enum gets a new value in the middle: rows of older versions keep their meaning, because names are
 * stored, not positions. */
FIXTURE_TEST(words_keep_their_meaning) {
    struct kit_file *f = *state;
    make_store(f);
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct store *store = kit_open(f->path, NULL);
    kit_dump(store, &before);
    store_close(store);
    /* Renumbers all names, as if an older version had had them in another order. */
    static const char *const columns[][2] = {
        { "task", "state" },
        { "task", "reason" },
        { "task", "until" },
        { "task", "parent_gate" },
        { "task", "project" },
        { "task", "kind" },
        { "task", "agent" },
        { "task", "limiter" },
        { "progress", "hold" },
        { "progress", "phase" },
        { "progress", "stop" },
        { "progress", "run_agent" },
        { "progress", "run_limiter" },
        { "spec", "project" },
        { "run", "phase" },
        { "run", "outcome" },
        { "run", "agent" },
        { "run", "executor" },
        { "run", "host" },
        { "run", "boot_id" },
        { "run", "how" },
    };
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_puts(&sql, "CREATE TEMP TABLE shifted AS SELECT id, text, row_number() OVER"
                      " (ORDER BY text DESC) AS new FROM name;"
                      "UPDATE name SET text = text || '-old';"
                      "UPDATE name SET text = (SELECT text FROM shifted WHERE new = name.id);");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_printf(&sql,
                      "UPDATE %s SET %s = ifnull((SELECT new FROM shifted WHERE id = %s), 0);",
                      columns[i][0], columns[i][1], columns[i][1]);
    run_sql(f->path, sql.text);
    store = kit_open(f->path, NULL);
    kit_dump(store, &after);
    store_close(store);
    assert_string_equal(strbuf_text(&after), strbuf_text(&before));
}

FIXTURE_TEST(a_start_without_a_close_is_noticed) {
    struct kit_file *f = *state;
    make_store(f);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *store = kit_open(f->path, NULL);
        add_tasks(store, 301, 310);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    struct store *store = kit_open(f->path, &f->report);
    assert_true(f->report.was_unclean);
    assert_int_equal(f->report.epoch, 3);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 310);
    store_close(store);
    assert_int_equal(try_open(f), 0);
    assert_false(f->report.was_unclean);
}

/* --- the check of a large file -------------------------------------------------------------- */

static unsigned checks;

static void count_checks(void *ctx, const char *what, unsigned percent) {
    (void)ctx;
    checks += percent == 0 && strcmp(what, "checking") == 0;
}

/* Every file is large here. */
static struct store *open_as_large(struct kit_file *f) {
    struct store_options options = {
        .url = f->path, .reserve_bytes = -1, .small_bytes = 1, .progress = count_checks
    };
    struct store *store = NULL;
    assert_int_equal(store_open(&options, &store, &f->report, &f->err), 0);
    return store;
}

/* A process opens it and is killed. */
static void use_and_kill(struct kit_file *f) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)open_as_large(f);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool is_checked(struct kit_file *f) {
    checks = 0;
    struct store *store = open_as_large(f);
    assert_true(f->report.was_unclean);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 300);
    store_close(store);
    return checks > 0;
}

static void spoil_voucher(struct kit_file *f, const char *word) {
    _cleanup_(freep) char *path = path_with_suffix(f->path, "-lock");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(path, 4096, &text, &f->err), 0);
    char *at = strstr(strbuf_text(&text), word);
    assert_non_null(at);
    at[strlen(word)] = 'z';
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(strbuf_text(&text), file) < 0, false);
    assert_int_equal(fclose(file), 0);
}

FIXTURE_TEST(a_large_file_is_not_checked_after_a_kill) {
    struct kit_file *f = *state;
    make_store(f);
    use_and_kill(f);
    assert_false(is_checked(f));
}

FIXTURE_TEST(a_large_file_is_checked_after_an_end_of_the_machine) {
    static const char *const words[] = { "boot ", "mount ", "device ", "inode ", "epoch " };
    struct kit_file *f = *state;
    make_store(f);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        use_and_kill(f);
        spoil_voucher(f, words[i]);
        assert_true(is_checked(f));
    }
}

/* The pages of the file are new, too. */
static bool is_log_replaced(struct kit_file *f) {
    _cleanup_(freep) char *log = path_with_suffix(f->path, "-wal");
    _cleanup_(freep) char *copy = path_with_suffix(f->path, "-wal-copy");
    struct stat before, after;
    int old = open(log, O_RDONLY | O_CLOEXEC); /* keeps its number from being used again */
    assert_true(old >= 0 && fstat(old, &before) == 0 && before.st_size > 0);
    struct store *store = kit_open(f->path, NULL);
    assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 300);
    assert_int_equal(stat(log, &after), 0);
    assert_int_equal(access(copy, F_OK), -1);
    store_close(store);
    close(old);
    return before.st_ino != after.st_ino;
}

FIXTURE_TEST(the_log_is_replaced_after_an_error_but_not_after_a_kill) {
    struct kit_file *f = *state;
    _cleanup_(freep) char *lock = path_with_suffix(f->path, "-lock");
    _cleanup_(freep) char *copy = path_with_suffix(f->path, "-wal-copy");
    make_store(f);
    use_and_kill(f);
    assert_false(is_log_replaced(f));
    use_and_kill(f);
    assert_int_equal(truncate(lock, 0), 0); /* as after an error */
    FILE *file = fopen(copy, "we");         /* and a copy that was interrupted */
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_true(is_log_replaced(f));
}

FIXTURE_TEST(a_large_file_that_is_a_copy_is_checked) {
    struct kit_file *f = *state;
    _cleanup_(freep) char *copy = kit_path(f->folder, "copy.db");
    make_store(f);
    use_and_kill(f);
    kit_copy_file(f->path, copy);
    assert_int_equal(rename(copy, f->path), 0);
    assert_true(is_checked(f));
}

FIXTURE_TEST(a_large_file_is_checked_after_an_error) {
    struct kit_file *f = *state;
    make_store(f);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *store = open_as_large(f);
        (void)sqlite_fault((struct sqlite_store *)store, "read", SQLITE_IOERR_READ, &f->err);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_checked(f));
}

FIXTURE_TEST(network_file_systems_are_not_trusted) {
    static const unsigned long refused[] = { NFS_SUPER_MAGIC,  SMB2_SUPER_MAGIC, V9FS_MAGIC,
                                             FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC, 0xff534d42 };
    static const unsigned long fine[] = { EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC,
                                          BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
                                          OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        assert_non_null(file_system_shared(refused[i]));
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
        assert_null(file_system_shared(fine[i]));
}

/* Files cannot be created in /proc either; the kernel reports it. */
FIXTURE_TEST(a_place_without_room_for_files_is_an_error) {
    struct kit_file *f = *state;
    free(f->path);
    f->path = xstrdup("/proc/store.db");
    assert_true(try_open(f) < 0);
    expect_text(f, "/proc/store.db");
}

static char logged[512];

static void keep_last_word(void *ctx, const char *text) {
    (void)ctx;
    (void)snprintf(logged, sizeof(logged), "%s", text);
}

/* Must be the first test: SQLite accepts the function only before its first use. */
FIXTURE_TEST(what_the_database_says_is_passed_on) {
    struct kit_file *f = *state;
    struct store_options options = { .url = f->path, .reserve_bytes = -1, .log = keep_last_word };
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        add_tasks(kit_open(f->path, NULL), 1, 10);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct store *store = NULL;
    assert_int_equal(store_open(&options, &store, NULL, &f->err), 0);
    assert_non_null(strstr(logged, "recovered"));
    store_close(store);
}

static unsigned progress_calls;

static void count_progress(void *ctx, const char *what, unsigned percent) {
    (void)ctx;
    assert_non_null(what);
    assert_true(percent <= 100);
    progress_calls++;
}

FIXTURE_TEST(a_long_start_tells_how_far_it_is) {
    struct kit_file *f = *state;
    make_store(f);
    struct store_options options = { .url = f->path,
                                     .reserve_bytes = -1,
                                     .progress = count_progress };
    struct store *store = NULL;
    assert_int_equal(store_open(&options, &store, NULL, &f->err), 0);
    kit_load(store, &(struct store_reader){ 0 });
    assert_true(progress_calls >= 2); /* the check and the load */
    store_close(store);
}
