/* test_sqlite_crash.c: acknowledged batches are there after a crash or a power cut at any
 * operation.
 *
 * The history is written once for every operation that changes the disk, and is interrupted there.
 *   test_sqlite_crash [HISTORY [CUTS]]   another history; CUTS power cuts per operation */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "crash.h"
#include "harness/test.h"

#define SECOND_SAMPLE 37 /* at every 37th crash point, all points of the recovery */

static int64_t history_seed = 4711, cuts = 2;
static struct crash crash;
static uint64_t operations; /* of the complete history */
static uint64_t crash_points, recovery_points;

static int set_up(void **state) {
    (void)state;
    fault_install();
    crash_init(&crash, (uint64_t)history_seed);
    crash_play(&crash, FAULT_NONE, 0, 0);
    operations = crash.report->operations;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    printf("  %" PRIu64 " crash points, %" PRIu64 " recovery points\n", crash_points,
           recovery_points);
    crash_finish(&crash);
    return 0;
}

TEST_GROUP(set_up, tear_down)

TEST(a_history_without_a_fault_is_all_there) {
    assert_true(crash.report->finished);
    assert_int_equal(crash.report->steps, CRASH_STEPS);
    assert_true(operations > 300); /* else the tests below cover too few operations */
    crash_check(&crash, crash.path, "no fault", 0);
    assert_string_not_equal(crash.expected[CRASH_STEPS], crash.expected[0]);
}

struct deaths {
    enum fault_plan plan;
    uint64_t died, points;
};

static void check_death(struct crash *of, uint64_t at, void *ctx) {
    struct deaths *deaths = ctx;
    deaths->points++;
    deaths->died += !of->report->finished;
    crash_check(of, of->path, fault_plan_name(deaths->plan), at);
}

static void die_everywhere(enum fault_plan plan, uint64_t seed) {
    struct deaths deaths = { .plan = plan };
    crash_play_each(&crash, plan, CRASH_STRIDE, seed, check_death, &deaths);
    assert_int_equal(deaths.points, (operations + CRASH_STRIDE - 1) / CRASH_STRIDE);
    assert_int_equal(deaths.died, deaths.points);
    crash_points += deaths.points;
}

TEST(a_kill_at_any_moment_loses_nothing) {
    die_everywhere(FAULT_KILL, 0);
}

TEST(a_kill_inside_any_write_loses_nothing) {
    die_everywhere(FAULT_KILL_TORN, 0);
}

TEST(a_power_cut_at_any_moment_loses_nothing) {
    for (int64_t seed = 1; seed <= cuts; seed++)
        die_everywhere(FAULT_POWER, (uint64_t)seed * 1000000);
}

/* A store after a crash, with a second crash at every operation of the next start. */
TEST(a_crash_of_the_recovery_loses_nothing) {
    _cleanup_(freep) char *folder = kit_folder();
    _cleanup_(freep) char *path = kit_path(folder, "store.db");
    unsigned points = 0;
    for (uint64_t first = 5; first <= operations; first += (uint64_t)SECOND_SAMPLE * CRASH_STRIDE) {
        crash_play(&crash, first % 2 ? FAULT_POWER : FAULT_KILL, first, first);
        bool through = false;
        for (uint64_t at = 1; !through; at++) {
            kit_remove_files(folder);
            kit_copy_folder(crash.folder, folder);
            through = crash_recover(&crash, path, at % 2 ? FAULT_KILL : FAULT_POWER, at);
            crash_check(&crash, path, "a second crash", at);
            points++;
        }
    }
    assert_true(points > 100 / CRASH_STRIDE);
    crash_points += points;
    recovery_points += points;
    kit_remove_folder(folder);
}

int main(int argc, char **argv) {
    struct error err = { 0 };
    if ((argc > 1 && number_parse_int(argv[1], &history_seed, &err) < 0)
        || (argc > 2 && number_parse_int(argv[2], &cuts, &err) < 0)) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    return tests_run();
}
