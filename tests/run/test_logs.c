/* test_logs.c: how often must the shim look at a log so that no flood fills the disk?
 *
 * The clock and the writer are the test's, so the answer is the same on every machine. That real floods are
 * held back is asked by test_output.c. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "os/clock.h"
#include "shim/shim.h"

#define MEGABYTE (UINT64_C(1) << 20)
#define HEAD     MEGABYTE
#define TAIL     (4 * MEGABYTE)
#define PROMISED (64 * MEGABYTE) /* on disk beyond head and tail */

static time_ms now;

time_ms clock_read_steady(void) {
    return now;
}

void limits_note(struct shim *s, const char *word) {
    (void)s;
    (void)word;
}

static char folder[SCRATCH_PATH];
static struct shim shim;
static struct shim_log log_;
static uint64_t size, most; /* of the log now; on disk at any time */
static enum verdict verdict;

static int set_up(void **state) {
    char path[SCRATCH_PATH + 16];
    (void)state;
    scratch_make_fast(folder, "logs"); /* holes are the same everywhere in memory */
    (void)snprintf(path, sizeof(path), "%s/out.log", folder);
    shim = (struct shim){ .spec = { .log_head = HEAD, .log_tail = TAIL } };
    log_ = (struct shim_log){ .name = "out.log",
                              .fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) };
    now = SECONDS(1000);
    size = most = 0;
    verdict = VERDICT_NONE;
    return log_.fd < 0;
}

static int tear_down(void **state) {
    (void)state;
    close(log_.fd);
    scratch_remove(folder);
    return 0;
}

/* The writer has this speed until the shim looks again; how long that is. */
static time_ms look(time_ms rest, uint64_t bytes_per_ms) {
    size += (uint64_t)rest * bytes_per_ms;
    now += rest;
    uint64_t on_disk = size - log_.punched + (log_.punched > HEAD ? HEAD : log_.punched);
    most = on_disk > most ? on_disk : most;
    assert_int_equal(ftruncate(log_.fd, (off_t)size), 0);
    return logs_trim(&shim, &log_, 1, &verdict);
}

static void flood(time_ms rest, uint64_t bytes_per_ms) {
    for (int i = 0; i < 200; i++)
        rest = look(rest, bytes_per_ms);
    assert_int_equal(verdict, VERDICT_NONE);
    assert_false(shim.cannot_punch);
    assert_true(most <= HEAD + TAIL + PROMISED);
    most = 0; /* it has seen how quick the writer is */
    for (int i = 0; i < 200; i++)
        rest = look(rest, bytes_per_ms);
    assert_true(most <= HEAD + TAIL + PROMISED / 4);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_sudden_flood_stays_below_what_is_promised) {
    for (int looks = 1; looks < 60; looks++) { /* after a few bytes now and then, at any time */
        time_ms rest = 1;
        for (int i = 0; i < looks; i++)
            rest = look(rest, 1);
        flood(rest, MEGABYTE);
    }
}

FIXTURE_TEST(a_flood_after_silence_is_seen_early) {
    (void)look(1, 1);
    flood(look(MINUTES(10), 0), MEGABYTE);
}

FIXTURE_TEST(the_first_flood_of_a_run_is_seen_early) {
    flood(look(1, 0), MEGABYTE);
}

/* Looking costs: who writes little is left alone. */
FIXTURE_TEST(a_slow_writer_is_looked_at_seldom) {
    time_ms rest = 1, begin;
    for (int i = 0; i < 20; i++)
        rest = look(rest, 100);
    begin = now;
    for (int i = 0; i < 100; i++)
        rest = look(rest, 100);
    assert_true(now - begin >= 100 * 50);
}

/* --- in which order both grew --------------------------------------------------------------------- */

static struct shim_log both[SHIM_LOGS_MAX];

static void grow(uint64_t out, uint64_t err, bool err_first) {
    both[0].size = out;
    both[1].size = err;
    (void)logs_note_order(&shim, both, err_first);
}

static void expect_order(const char *expected) {
    char text[256] = "";
    int fd = openat(FD_FOLDER, RUN_ORDER_NAME, O_RDONLY | O_CLOEXEC);
    assert_true(fd < 0 || read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, expected);
    if (fd >= 0)
        close(fd);
}

static int set_up_order(void **state) {
    int r = set_up(state);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r != 0 || fd < 0 || dup2(fd, FD_FOLDER) < 0)
        return 1;
    return fd != FD_FOLDER && close(fd) < 0;
}

static int tear_down_order(void **state) {
    if (shim.order.fd > 0)
        close(shim.order.fd);
    close(FD_FOLDER);
    return tear_down(state);
}

#define ORDER_TEST(name_) TEST_WITH(name_, set_up_order, tear_down_order)

ORDER_TEST(what_never_goes_back_to_its_output_needs_no_order) {
    grow(10, 0, false);
    grow(20, 0, false);
    grow(20, 5, false);
    grow(20, 9, false);
    expect_order("");
}

ORDER_TEST(each_way_back_to_the_output_is_a_line) {
    grow(10, 0, false);
    grow(10, 5, false);
    grow(15, 5, false);
    grow(15, 7, false);
    grow(30, 7, false);
    expect_order("10 5\n15 7\n");
}

/* Both have grown since it looked: inotify reports which was first. */
ORDER_TEST(errors_that_came_first_stay_first) {
    grow(10, 0, false);
    grow(20, 5, true);
    expect_order("10 5\n");
    grow(30, 8, false);
    grow(40, 8, false);
    expect_order("10 5\n30 8\n");
}

ORDER_TEST(a_command_that_truncates_a_log_has_no_order_from_then_on) {
    grow(10, 5, false);
    grow(20, 5, false);
    grow(0, 5, false);
    grow(5, 9, true);
    expect_order("10 5\n");
}

/* A command that alternates for days does not fill the disk. */
ORDER_TEST(the_order_is_bounded) {
    struct stat st;
    for (uint64_t i = 1; i < 60000; i++)
        grow(i * 1000000, i * 1000000, true);
    assert_int_equal(fstatat(FD_FOLDER, RUN_ORDER_NAME, &st, 0), 0);
    assert_true(st.st_size > 0 && (size_t)st.st_size <= RUN_ORDER_MAX);
}
