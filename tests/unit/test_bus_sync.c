/* test_bus_sync.c: which files and folders are synced so that messages survive a power cut, and how many syncs that
 * takes; retention. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "bus/bus.h"
#include "bus/reader.h"
#include "harness/scratch.h"
#include "harness/test.h"

#define DAY_ONE ((time_ms)1731667252000)

static char home[SCRATCH_PATH], root[80];
static unsigned synced_files, synced_folders;
static int fail_with;            /* 0: no sync fails */
static const char *append_while; /* a path that must not be locked during the sync */

static int counted_sync(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    synced_files += S_ISREG(st.st_mode);
    synced_folders += S_ISDIR(st.st_mode);
    if (append_while) {
        int other = open(append_while, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
        close(other);
    }
    errno = fail_with;
    return fail_with ? -1 : 0;
}

static int open_home(void **state) {
    (void)state;
    scratch_make(home, "bus");
    snprintf(root, sizeof(root), "%s/bus", home);
    synced_files = synced_folders = 0;
    fail_with = 0;
    append_while = NULL;
    return 0;
}

static int close_home(void **state) {
    (void)state;
    scratch_remove(home);
    return 0;
}

static struct bus counted_bus(void) {
    struct bus bus;
    bus_init(&bus, root);
    bus.sync = counted_sync;
    return bus;
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static bool is_there(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

static int post(struct bus *bus, const char *task, const char *id, time_ms at) {
    struct bus_message message = {
        .id = id, .at = at, .type = "FACT", .project = "web", .task = task, .body = "x"
    };
    return bus_append(bus, &message, id != NULL, NULL, NULL);
}

static unsigned count_in(const char *name) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    unsigned count = 0;
    assert_int_equal(bus_reader_open(&reader, path_of(name), NULL), 0);
    while (bus_reader_next(&reader, &message, NULL) > 0)
        count++;
    return count;
}

static void expect_synced(unsigned files, unsigned folders) {
    assert_int_equal(synced_files, files);
    assert_int_equal(synced_folders, folders);
    synced_files = synced_folders = 0;
}

/* --- a power cut ----------------------------------------------------------------------------- */

#define BUS_TEST(name_) TEST_WITH(name_, open_home, close_home)

BUS_TEST(many_messages_cost_one_sync_of_each_file) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(post(&bus, i % 2 ? "web-1" : NULL, NULL, 0), 0);
    expect_synced(0, 0);
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(2, 3); /* bus/web, bus, and the home, in which bus was created */
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(0, 0);
}

BUS_TEST(a_folder_is_synced_again_only_for_a_file_that_is_new) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    assert_int_equal(post(&bus, "web-1", NULL, 0), 0);
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(1, 3);
    assert_int_equal(post(&bus, "web-1", NULL, 0), 0);
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(1, 0);
    assert_int_equal(post(&bus, "web-2", NULL, 0), 0);
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(1, 3);
}

/* The process that created the file may have died before it synced the folder. */
BUS_TEST(each_process_syncs_the_folders_once) {
    for (unsigned i = 0; i < 2; i++) {
        _cleanup_(bus_finish) struct bus bus = counted_bus();
        assert_int_equal(post(&bus, NULL, NULL, 0), 0);
        assert_int_equal(bus_sync(&bus, NULL), 0);
        expect_synced(1, 2);
    }
}

BUS_TEST(an_existing_message_is_synced_as_well) {
    _cleanup_(bus_finish) struct bus killed = counted_bus(), bus = counted_bus();
    assert_int_equal(post(&killed, NULL, "E1", DAY_ONE), 0);
    assert_int_equal(post(&bus, NULL, "E1", DAY_ONE), 1);
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(1, 2);
}

BUS_TEST(other_writers_do_not_wait_for_a_sync) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    assert_int_equal(post(&bus, NULL, NULL, 0), 0);
    char path[128];
    snprintf(path, sizeof(path), "%s", path_of("web.md"));
    append_while = path;
    assert_int_equal(bus_sync(&bus, NULL), 0);
}

BUS_TEST(a_failed_sync_is_reported_and_the_next_one_is_complete) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    struct error err = { 0 };
    assert_int_equal(post(&bus, NULL, NULL, 0), 0);
    fail_with = EIO;
    assert_int_equal(bus_sync(&bus, &err), -EIO);
    assert_non_null(strstr(err.text, "web.md"));
    assert_int_equal(count_in("web.md"), 1);
    fail_with = 0;
    assert_int_equal(post(&bus, NULL, NULL, 0), 0);
    synced_files = synced_folders = 0;
    assert_int_equal(bus_sync(&bus, NULL), 0);
    expect_synced(1, 2); /* the folders were never synced */
}

/* --- retention ------------------------------------------------------------------------------- */

BUS_TEST(the_bus_of_a_task_is_removed_alone) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    const struct bus_place task = { "web", "web-1" };
    assert_int_equal(post(&bus, NULL, NULL, 0), 0);
    assert_int_equal(post(&bus, "web-1", NULL, 0), 0);
    assert_int_equal(post(&bus, "web-2", NULL, 0), 0);
    assert_int_equal(bus_remove(&bus, &task, NULL), 0);
    assert_false(is_there("web/web-1.md"));
    assert_true(is_there("web/web-2.md") && is_there("web.md"));
    assert_int_equal(bus_remove(&bus, &task, NULL), 0);
    assert_false(is_there("web/web-1.md"));
}

BUS_TEST(a_file_is_not_removed_from_under_a_writer) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    bus.limits.lock_timeout = 1;
    assert_int_equal(post(&bus, "web-1", NULL, 0), 0);
    int writer = open(path_of("web/web-1.md"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(writer, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(bus_remove(&bus, &(struct bus_place){ "web", "web-1" }, NULL), -ETIMEDOUT);
    assert_true(is_there("web/web-1.md"));
    close(writer);
}

BUS_TEST(messages_of_a_project_are_kept_for_the_retention_time) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    const time_ms keep = DAYS(30);
    assert_int_equal(post(&bus, NULL, NULL, DAY_ONE), 0);
    assert_int_equal(post(&bus, NULL, NULL, DAY_ONE + DAYS(29)), 0);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + DAYS(30) - keep, NULL), 0);
    assert_int_equal(count_in("web.md"), 2);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + DAYS(31) - keep, NULL), 1);
    assert_false(is_there("web.md"));
    assert_int_equal(count_in(".old/web.md"), 2);
    assert_int_equal(post(&bus, NULL, NULL, DAY_ONE + DAYS(32)), 0);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + DAYS(61) - keep, NULL), 0);
    assert_int_equal(count_in(".old/web.md"), 2);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + DAYS(63) - keep, NULL), 1);
    assert_int_equal(count_in(".old/web.md"), 1); /* it has replaced the older ones */
}

BUS_TEST(an_old_file_is_removed_when_nothing_is_posted_any_more) {
    _cleanup_(bus_finish) struct bus bus = counted_bus();
    assert_int_equal(post(&bus, NULL, NULL, DAY_ONE), 0);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + 1, NULL), 1);
    const struct timespec written[2] = { { .tv_sec = DAY_ONE / 1000 },
                                         { .tv_sec = DAY_ONE / 1000 } };
    assert_int_equal(utimensat(AT_FDCWD, path_of(".old/web.md"), written, 0), 0);
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE - SECONDS(1), NULL), 0);
    assert_true(is_there(".old/web.md"));
    assert_int_equal(bus_retire(&bus, "web", DAY_ONE + SECONDS(1), NULL), 0);
    assert_false(is_there(".old/web.md"));
}
