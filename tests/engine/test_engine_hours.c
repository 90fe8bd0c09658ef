/* test_engine_hours.c: opening hours with the complete engine; the clocks jump to the next timer. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/opening_hours.h"
#include "engine_kit.h"
#include "harness/test.h"
#include "os/clock.h"

static char config[512];

/* Open for two hours each day, and not for the next two. */
static const char *later_hours(const char *more) {
    int hour = (int)(clock_read() / HOURS(1) % 24);
    (void)snprintf(config, sizeof(config),
                   KIT_CALM "timezone: UTC\nprojects: {web: {hours: '%02d:00-%02d:00'}}\n%s",
                   (hour + 3) % 24, (hour + 5) % 24, more);
    return config;
}

static struct kit kit;

/* Deadlines are on the clock that jumps. */
static int setup(void **state) {
    (void)state;
    return setenv("SLUICE_TEST_PATIENCE", "86000", 1);
}

static int teardown(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, setup, teardown)

static struct engine_hours hours_of_web(void) {
    struct engine_hours hours;
    assert_true(engine_hours(kit.engine, LEASE_PROJECT, "web", &hours));
    return hours;
}

FIXTURE_TEST(a_task_starts_when_the_hours_open) {
    kit_open(&kit, later_hours(""));
    time_ms begin = clock_read();
    task_id task = kit_web(&kit, "{\"argv\":[\"true\"]}");
    assert_false(hours_of_web().open);
    time_ms opens = hours_of_web().until;
    assert_true(opens > begin + HOURS(2));
    kit_wait_starts(&kit, 1);
    assert_true(clock_read() >= opens);
    assert_true(clock_read() < opens + MINUTES(1));
    assert_int_equal(kit_events(&kit, "hours.opened", 0), 1);
    assert_true(hours_of_web().open);
    assert_true(kit_view(&kit, task).state == TASK_STARTING
                || kit_view(&kit, task).state == TASK_RUNNING);
}

FIXTURE_TEST(a_restart_keeps_them_closed) {
    kit_open(&kit, later_hours(""));
    task_id task = kit_web(&kit, "{\"argv\":[\"true\"]}");
    time_ms opens = hours_of_web().until;
    for (int i = 0; i < 3; i++) {
        kit_restart(&kit);
        assert_int_equal(hours_of_web().until, opens);
        assert_int_equal(kit_state(&kit, task), TASK_READY);
    }
    kit_wait_starts(&kit, 1);
    assert_true(clock_read() >= opens);
}

/* Neither age nor max_wait continues while the project is closed: the older task of the closed project is not overdue. */
FIXTURE_TEST(time_outside_hours_is_not_waiting) {
    kit_open(&kit, later_hours("max_wait_s: 3600\nlimits: {runs: 1}\n"));
    task_id task = kit_web(&kit, "{\"argv\":[\"true\"]}");
    kit_wait_starts(&kit, 1);
    assert_true(kit_view(&kit, task).waited < SECONDS(30));
}
