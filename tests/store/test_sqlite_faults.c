/* test_sqlite_faults.c: a disk error is distinguished from a full disk.
 *
 * The history is written once for every operation that changes the disk, and that operation fails. */
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "harness/test.h"

#define HISTORY_SEED 4711

static struct crash crash;
static uint64_t operations;

static int set_up(void **state) {
    (void)state;
    fault_install();
    crash_init(&crash, HISTORY_SEED);
    crash_play(&crash, FAULT_NONE, 0, 0);
    operations = crash.report->operations;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    crash_finish(&crash);
    return 0;
}

struct tally {
    enum fault_plan plan;
    unsigned points, unknown, refused, open_failed, finished;
};

/* The more steps the schema has, the more operations are part of creating a file. */
static unsigned opened(const struct tally *tally) {
    return tally->points - tally->open_failed;
}

static void count_fault(struct crash *of, uint64_t at, void *ctx) {
    struct tally *tally = ctx;
    tally->points++;
    tally->unknown += of->report->unknown;
    tally->refused += of->report->refused;
    tally->open_failed += of->report->open_failed;
    tally->finished += of->report->finished;
    crash_check(of, of->path, fault_plan_name(tally->plan), at);
}

/* At every `stride`-th operation. */
static struct tally fail_everywhere(enum fault_plan plan, unsigned stride) {
    struct tally tally = { .plan = plan };
    uint64_t step = (uint64_t)stride * CRASH_STRIDE;
    crash_play_each(&crash, plan, step, 0, count_fault, &tally);
    assert_int_equal(tally.points, (operations + step - 1) / step);
    return tally;
}

TEST_GROUP(set_up, tear_down)

/* After a failed write or sync it is unknown whether the batch is there. */
TEST(a_failing_disk_makes_the_outcome_unknown) {
    struct tally once = fail_everywhere(FAULT_EIO, 1);
    assert_true(once.unknown > opened(&once) / 2);
    assert_int_equal(once.refused, 0);
    struct tally always = fail_everywhere(FAULT_EIO_ALWAYS, 5);
    assert_true(always.unknown > opened(&always) / 2);
    assert_int_equal(always.refused, 0);
    assert_true(always.unknown + always.open_failed > always.points * 9 / 10);
}

/* Linux marks pages clean when their sync fails: the next daemon reads bytes that are not on disk, and a later sync of the
 * same file succeeds without them. What it has found and what it acknowledges must survive a power cut nevertheless. */
TEST(what_is_acknowledged_after_a_failed_sync_survives_a_power_cut) {
    crash.restarts = true;
    struct tally once = fail_everywhere(FAULT_EIO, 1);
    crash.restarts = false;
    assert_true(once.finished < once.points / 2);
}

/* On a full disk only the batch is refused: the store continues when there is space again. */
TEST(a_full_disk_refuses_and_the_store_goes_on) {
    struct tally once = fail_everywhere(FAULT_FULL, 1);
    assert_int_equal(once.unknown, 0);
    assert_true(once.refused > opened(&once) / 2);
    assert_int_equal(once.finished + once.open_failed, once.points);
    struct tally always = fail_everywhere(FAULT_FULL_ALWAYS, 5);
    assert_int_equal(always.unknown, 0);
    assert_true(always.refused > opened(&always) / 2);
}
