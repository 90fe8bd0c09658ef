/* test_sqlite_copy.c: a backup has the contents of the store, and restoring it works. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "history.h"
#include "os/files.h"
#include "store/sqlite_internal.h"

struct fixture {
    char *folder, *path, *copy;
    struct store *store;
    struct error err;
    struct strbuf before; /* contents of the store when it was copied */
    unsigned answers;     /* of a copy in progress */
};

static void fill(struct store *store, uint64_t seed, unsigned batches) {
    struct history history = history_begin(seed, true);
    struct store_batch *batch = store_batch_new();
    for (unsigned i = 0; i < batches; i++) {
        history_next(&history, batch);
        (void)kit_try(store, batch, NULL);
    }
    store_batch_free(batch);
}

static int set_up(void **state) {
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->folder = kit_folder();
    f->path = kit_path(f->folder, "store.db");
    f->copy = kit_path(f->folder, "copy");
    f->store = kit_open(f->path, NULL);
    fill(f->store, 1, 40);
    kit_dump(f->store, &f->before);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    store_close(f->store);
    kit_remove_folder(f->folder);
    strbuf_finish(&f->before);
    free(f->folder);
    free(f->path);
    free(f->copy);
    free(f);
    return 0;
}

static bool is_there(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static void expect_held(struct fixture *f, const char *path, struct store_report *report) {
    _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT;
    struct store *store = kit_open(path, report);
    kit_dump(store, &now);
    store_close(store);
    assert_string_equal(strbuf_text(&now), strbuf_text(&f->before));
}

static void expect_text(const struct fixture *f, const char *part) {
    if (!strstr(f->err.text, part))
        fail_msg("the sentence '%s' does not say '%s'", f->err.text, part);
}

/* Adds a task, so that the store differs from the copy. */
static void go_on_with(struct fixture *f, task_id task) {
    struct store_batch *batch = store_batch_new();
    struct task_row row = kit_task(task);
    store_add_task(batch, &row);
    kit_commit(f->store, batch);
    store_batch_free(batch);
}

static void go_on(struct fixture *f) {
    go_on_with(f, 1000);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_copy_can_be_opened) {
    struct fixture *f = *state;
    struct store_report report;
    struct stat st;
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    go_on(f);
    assert_int_equal(stat(f->copy, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    _cleanup_(freep) char *partial = kit_path(f->folder, "copy.partial");
    assert_false(is_there(partial));
    expect_held(f, f->copy, &report);
    assert_false(report.was_unclean);
    assert_false(report.created);
}

FIXTURE_TEST(a_copy_takes_the_place_of_an_older_one) {
    struct fixture *f = *state;
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    go_on(f);
    strbuf_clear(&f->before);
    kit_dump(f->store, &f->before);
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    expect_held(f, f->copy, NULL);
}

static void copied(void *ctx, const struct error *err) {
    struct fixture *f = ctx;
    f->answers++;
    f->err = err ? *err : (struct error){ 0 };
}

/* Pages that were copied change again before the copy is complete. */
FIXTURE_TEST(a_copy_is_made_while_the_store_goes_on) {
    struct fixture *f = *state;
    ((struct sqlite_store *)f->store)->backup_pages = 1;
    store_backup(f->store, f->copy, copied, f);
    unsigned calls = 0;
    for (; f->answers == 0; calls++) {
        if (calls < 20) {
            fill(f->store, 2 + calls, 1);
            go_on_with(f, 1000 + calls);
            strbuf_clear(&f->before);
            kit_dump(f->store, &f->before); /* and it is asked */
            assert_false(is_there(f->copy));
        }
        assert_true(store_maintain(f->store, 0) != TIME_NEVER || f->answers == 1);
    }
    assert_int_equal(f->err.code, 0);
    assert_true(calls > 20);
    expect_held(f, f->copy, NULL);
}

FIXTURE_TEST(one_copy_at_a_time) {
    struct fixture *f = *state;
    _cleanup_(freep) char *other = kit_path(f->folder, "other");
    store_backup(f->store, f->copy, copied, f);
    assert_int_equal(kit_backup(f->store, other, &f->err), -EBUSY);
    expect_text(f, "another backup is being made");
    assert_false(is_there(other));
    while (f->answers == 0)
        (void)store_maintain(f->store, 0);
    expect_held(f, f->copy, NULL);
}

/* After any number of steps: while pages are copied, and while the copy is checked. */
FIXTURE_TEST(an_interrupted_copy_leaves_nothing) {
    struct fixture *f = *state;
    ((struct sqlite_store *)f->store)->backup_pages = 7;
    _cleanup_(freep) char *partial = kit_path(f->folder, "copy.partial");
    for (unsigned steps = 0; f->answers == 0; steps++) {
        store_backup(f->store, f->copy, copied, f);
        for (unsigned i = 0; i < steps && f->answers == 0; i++)
            (void)store_maintain(f->store, 0);
        bool was_whole = f->answers == 1 || is_there(f->copy);
        store_backup_cancel(f->store);
        assert_int_equal(f->answers, 1);
        assert_false(is_there(partial));
        if (!was_whole && !is_there(f->copy)) {
            assert_int_equal(f->err.code, -ESHUTDOWN);
            f->answers = 0;
        }
    }
    assert_int_equal(f->err.code, 0);
    expect_held(f, f->copy, NULL);
    go_on(f);
}

FIXTURE_TEST(a_close_ends_a_copy) {
    struct fixture *f = *state;
    _cleanup_(freep) char *partial = kit_path(f->folder, "copy.partial");
    store_backup(f->store, f->copy, copied, f);
    (void)store_maintain(f->store, 0); /* its thread is there */
    f->store = store_close(f->store);
    assert_int_equal(f->answers, 1);
    assert_false(is_there(partial));
    expect_held(f, f->path, NULL);
}

/* Left by a copy that was interrupted. */
FIXTURE_TEST(half_a_copy_is_in_nobodys_way) {
    struct fixture *f = *state;
    _cleanup_(freep) char *partial = kit_path(f->folder, "copy.partial");
    int fd = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "half", 4), 4);
    close(fd);
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    expect_held(f, f->copy, NULL);
}

FIXTURE_TEST(a_copy_is_not_made_in_wrong_places) {
    struct fixture *f = *state;
    assert_int_equal(kit_backup(f->store, f->path, &f->err), -EINVAL);
    expect_text(f, "is the store itself");
    assert_int_equal(kit_backup(f->store, f->folder, &f->err), -EINVAL);
    expect_text(f, "is no regular file");
    _cleanup_(freep) char *nowhere = kit_path(f->folder, "no/such/copy");
    assert_int_equal(kit_backup(f->store, nowhere, &f->err), -ENOENT);
    expect_text(f, "no/such/copy");
    go_on(f); /* and the store is not affected */
}

FIXTURE_TEST(restore_brings_the_copy_back) {
    struct fixture *f = *state;
    struct store_report report;
    char kept[512] = "";
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    go_on(f);
    f->store = store_close(f->store);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), 0);
    expect_held(f, f->path, &report);
    assert_false(report.was_unclean);
    assert_true(report.epoch > 2 && report.epoch < 10); /* higher than any that was given */
    /* The replaced store is kept, and can be opened. */
    assert_true(is_there(kept));
    struct store *old = kit_open(kept, NULL);
    assert_int_equal(kit_load(old, &(struct store_reader){ 0 }).last_task, 1000);
    store_close(old);
    assert_true(is_there(f->copy));
    _cleanup_(freep) char *log = kit_path(f->folder, "copy-wal");
    assert_false(is_there(log));
}

/* The old store was not closed: its last writes are in its log, which must stay with it and with no other file. */
FIXTURE_TEST(restore_removes_the_old_log) {
    struct fixture *f = *state;
    char kept[512] = "";
    _cleanup_(freep) char *log = kit_path(f->folder, "store.db-wal");
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    f->store = store_close(f->store);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        f->store = kit_open(f->path, NULL);
        go_on(f);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(is_there(log));
    struct store_report report;
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), 0);
    expect_held(f, f->path, &report);
    assert_true(report.epoch > 3 && report.epoch < 10);
    struct store *old = kit_open(kept, NULL);
    assert_int_equal(kit_load(old, &(struct store_reader){ 0 }).last_task, 1000);
    store_close(old);
}

/* A user has copied the file and its log after a crash of the daemon. */
FIXTURE_TEST(a_copy_with_its_log_is_read_and_left_alone) {
    struct fixture *f = *state;
    char kept[512];
    _cleanup_(freep) char *by_hand = kit_folder();
    _cleanup_(freep) char *path = kit_path(by_hand, "store.db");
    _cleanup_(freep) char *log = kit_path(by_hand, "store.db-wal");
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    kit_copy_folder(f->folder, by_hand); /* the store is open: its log is there */
    assert_int_equal(file_read(log, 64 << 20, &before, &f->err), 0);
    assert_true(before.length > 0);
    f->store = store_close(f->store);
    assert_int_equal(store_restore(f->path, path, kept, &f->err), 0);
    expect_held(f, f->path, NULL);
    assert_int_equal(file_read(log, 64 << 20, &after, &f->err), 0);
    assert_int_equal(after.length, before.length);
    assert_memory_equal(after.text, before.text, before.length);
    kit_remove_folder(by_hand);
}

static void spoil(const char *path, off_t offset) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t i = 0; i < 2000; i++)
        assert_int_equal(pwrite(fd, "\xa5", 1, offset + i), 1);
    close(fd);
}

/* After a crash of the daemon: the rows in the log are counted, and the log is not changed for the next start. */
FIXTURE_TEST(a_look_reads_the_log_and_leaves_it) {
    struct fixture *f = *state;
    _cleanup_(freep) char *dead = kit_folder();
    _cleanup_(freep) char *path = kit_path(dead, "store.db");
    _cleanup_(freep) char *log = kit_path(dead, "store.db-wal");
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    go_on(f);
    kit_copy_folder(f->folder, dead);
    assert_int_equal(file_read(log, 64 << 20, &before, &f->err), 0);
    assert_true(before.length > 0);
    struct store_summary look = { 0 };
    assert_int_equal(store_summary(path, &look, &f->err), 0);
    assert_true(look.was_unclean);
    assert_int_equal(look.tasks, kit_load(f->store, &(struct store_reader){ 0 }).tasks);
    assert_int_equal(file_read(log, 64 << 20, &after, &f->err), 0);
    assert_int_equal(after.length, before.length);
    assert_memory_equal(after.text, before.text, before.length);
    assert_int_equal(unlink(log), 0); /* that would repair it */
    spoil(path, 0);
    assert_int_equal(store_summary(path, &look, &f->err), -EUCLEAN);
    expect_text(f, "sluice restore --yes FILE");
    kit_remove_folder(dead);
}

FIXTURE_TEST(restore_works_where_nothing_is) {
    struct fixture *f = *state;
    char kept[512] = "x";
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    _cleanup_(freep) char *other = kit_path(f->folder, "other.db");
    assert_int_equal(store_restore(other, f->copy, kept, &f->err), 0);
    assert_string_equal(kept, "");
    expect_held(f, other, NULL);
}

FIXTURE_TEST(restore_heals_a_damaged_store) {
    struct fixture *f = *state;
    struct store_report report;
    char kept[512];
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    f->store = store_close(f->store);
    spoil(f->path, 0);
    struct store_options options = { .url = f->path, .reserve_bytes = -1 };
    assert_int_equal(store_open(&options, &f->store, NULL, &f->err), -EUCLEAN);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), 0);
    expect_held(f, f->path, &report);
    assert_true(report.epoch > 1000); /* those of the damaged store are unknown */
}

FIXTURE_TEST(restore_refuses_what_is_no_good_copy) {
    struct fixture *f = *state;
    char kept[512] = "as before";
    assert_int_equal(kit_backup(f->store, f->copy, &f->err), 0);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), -EBUSY);
    f->store = store_close(f->store);

    assert_int_equal(store_restore(f->path, f->path, kept, &f->err), -EINVAL);
    _cleanup_(freep) char *nowhere = kit_path(f->folder, "no-such-copy");
    assert_int_equal(store_restore(f->path, nowhere, kept, &f->err), -ENOENT);
    expect_text(f, "no-such-copy");
    assert_false(is_there(nowhere));

    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->copy, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 10", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), -EPROTO);
    expect_text(f, "has version 10");
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA user_version = 1; PRAGMA application_id = 5", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), -EINVAL);
    expect_text(f, "is no copy of a store");
    sqlite3_close(db);
    spoil(f->copy, 8192);
    spoil(f->copy, 0);
    assert_int_equal(store_restore(f->path, f->copy, kept, &f->err), -EUCLEAN);
    assert_string_equal(kept, "as before");
    expect_held(f, f->path, NULL); /* and the store is unchanged */
}

/* --- a restore that was interrupted after the copy was complete: PATH-restored exists -------------- */

static void interrupt(struct fixture *f) {
    _cleanup_(freep) char *restored = kit_path(f->folder, "store.db-restored");
    assert_int_equal(kit_backup(f->store, restored, &f->err), 0);
    go_on(f);
    f->store = store_close(f->store);
}

FIXTURE_TEST(a_restore_is_finished_by_the_next_start) {
    struct fixture *f = *state;
    interrupt(f);
    expect_held(f, f->path, NULL);
    _cleanup_(freep) char *restored = kit_path(f->folder, "store.db-restored");
    _cleanup_(freep) char *kept = kit_path(f->folder, "store.db.before-restore.1");
    assert_false(is_there(restored));
    assert_true(is_there(kept));
}

/* The log was already moved, the database was not. The log of the old store must not be used with the
 * new one, and must be with its own database again. */
FIXTURE_TEST(old_files_stay_together) {
    struct fixture *f = *state;
    interrupt(f);
    _cleanup_(freep) char *log = kit_path(f->folder, "store.db-wal");
    _cleanup_(freep) char *kept = kit_path(f->folder, "store.db.before-restore.1");
    _cleanup_(freep) char *kept_log = kit_path(f->folder, "store.db.before-restore.1-wal");
    int fd = open(kept_log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
    expect_held(f, f->path, NULL);
    assert_true(is_there(kept));
    assert_true(is_there(kept_log));
    assert_false(is_there(log));
}

/* All old files were moved: no database exists. It must not be taken for a new store. */
FIXTURE_TEST(a_store_that_is_between_two_files_is_not_empty) {
    struct fixture *f = *state;
    interrupt(f);
    _cleanup_(freep) char *kept = kit_path(f->folder, "store.db.before-restore.1");
    assert_int_equal(rename(f->path, kept), 0);
    struct store_report report;
    expect_held(f, f->path, &report);
    assert_false(report.created);
}

/* The copy was not complete: it is ignored. */
FIXTURE_TEST(half_a_restore_does_not_count) {
    struct fixture *f = *state;
    _cleanup_(freep) char *partial = kit_path(f->folder, "store.db-restored.partial");
    f->store = store_close(f->store);
    kit_copy_file(f->path, partial);
    spoil(partial, 4096);
    expect_held(f, f->path, NULL);
}
