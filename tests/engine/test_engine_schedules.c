/* test_engine_schedules.c: schedules with the complete engine, on clocks that the test sets. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "engine/schedules.h"
#include "engine_kit.h"
#include "harness/no_waits.h"
#include "harness/test.h"
#include "os/clock.h"

#define MANY 10000

static struct kit kit;
static unsigned fired;
static char last[128];

static int fire(void *ctx, struct engine *e, const struct engine_firing *firing,
                struct error *err) {
    (void)ctx;
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"true\"]}");
    struct submission task = ask.draft;
    task.external_id = firing->external_id;
    int r = engine_add_tasks(e, &task, 1, err);
    *firing->ret_first = task.spec.id;
    *firing->ret_count = 1;
    fired++;
    (void)snprintf(last, sizeof(last), "%s", firing->external_id);
    return r;
}

static void set_firing(struct kit *k) {
    engine_set_firing(k->engine, fire, NULL);
}

/* "2027-03-28 01:00", UTC */
static time_ms utc(const char *text) {
    struct tm tm = { 0 };
    const char *end = strptime(text, "%Y-%m-%d %H:%M", &tm);
    assert_true(end && *end == '\0');
    return (time_ms)timegm(&tm) * 1000;
}

static void set_wall(time_ms at) {
    clock_shift_wall(at - clock_read());
}

/* A daemon that starts at this time. */
static void begin(const char *schedules, time_ms at) {
    static char text[4096];
    (void)snprintf(text, sizeof(text),
                   KIT_CALM "limits: {runs: 0}\nprojects: {web: }\nretention: {days: never}\n"
                            "schedules:\n%s",
                   schedules);
    set_wall(at);
    fired = 0;
    last[0] = '\0';
    kit_open_late(&kit, text);
    kit.before_start = set_firing;
    set_firing(&kit);
    kit_settle(&kit);
    assert_int_equal(fired, 0);
}

/* Time passes until then. */
static void sleep_until(time_ms at) {
    clock_skip(at - clock_read());
    kit_settle(&kit);
}

static void expect_fired(unsigned count, const char *name, const char *due) {
    char id[128];
    (void)snprintf(id, sizeof(id), "%s@%.10sT%s:00Z", name, due, due + 11);
    if (fired != count || strcmp(last, id) != 0)
        fail_msg("%u firings, the last is %s; expected %u and %s", fired, last, count, id);
}

static struct engine_schedule shown(const char *name) {
    struct engine_schedule s;
    assert_true(engine_find_schedule(kit.engine, name, &s));
    return s;
}

static void cancel_all(void) {
    for (task_id task = 1; task <= engine_last_task(kit.engine); task++)
        if (!task_state_is_final(kit_state(&kit, task)))
            (void)kit_apply(&kit, FACT_CANCEL, task);
}

/* A local time that is jumped over is due at the jump; of one that occurs twice, the first counts. */
static const struct change {
    const char *zone, *cron;
    const char *due, *next; /* UTC, from the rules of the zone */
} changes[] = {
    { "Europe/Berlin", "30 2 * * *", "2027-03-28 01:00", "2027-03-29 00:30" },
    { "Europe/Berlin", "30 2 * * *", "2027-10-31 00:30", "2027-11-01 01:30" },
    { "America/New_York", "30 2 * * *", "2027-03-14 07:00", "2027-03-15 06:30" },
    { "America/New_York", "30 1 * * *", "2027-11-07 05:30", "2027-11-08 06:30" },
    { "Australia/Lord_Howe", "15 2 * * *", "2027-10-02 15:30", "2027-10-03 15:15" },
    { "Australia/Lord_Howe", "45 1 * * *", "2027-04-03 14:45", "2027-04-04 15:15" },
    { "America/Santiago", "30 0 * * *", "2027-09-05 04:00", "2027-09-06 03:30" },
    { "America/Santiago", "30 23 * * *", "2027-04-04 02:30", "2027-04-05 03:30" },
    { "Pacific/Auckland", "30 2 * * *", "2027-09-25 14:00", "2027-09-26 13:30" },
    { "Pacific/Auckland", "30 2 * * *", "2027-04-03 13:30", "2027-04-04 14:30" },
};

TEST(both_clock_changes_of_five_zones) {
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        const struct change *c = &changes[i];
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "  s: {cron: '%s', timezone: '%s', overlap: queue, task: '{}'}\n", c->cron,
                       c->zone);
        begin(text, utc(c->due) - HOURS(4));
        assert_int_equal(shown("s").next_due, utc(c->due));
        sleep_until(utc(c->due) - 1000);
        assert_int_equal(fired, 0);
        sleep_until(utc(c->due));
        expect_fired(1, "s", c->due);
        for (time_ms at = utc(c->due); at < utc(c->next) - MINUTES(15); at += MINUTES(15))
            sleep_until(at); /* the hour that occurs twice, too */
        assert_int_equal(fired, 1);
        sleep_until(utc(c->next));
        expect_fired(2, "s", c->next);
        assert_int_equal(shown("s").skipped, 0);
        kit_close(&kit);
    }
}

TEST(every_quarter_of_an_hour_stays_one_when_clocks_change) {
    begin("  s: {cron: '*/15 * * * *', timezone: Europe/Berlin, overlap: queue, task: '{}'}\n",
          utc("2027-10-30 22:05"));
    for (int i = 1; i <= 24; i++)
        sleep_until(utc("2027-10-30 22:00") + i * MINUTES(15));
    expect_fired(24, "s", "2027-10-31 04:00");
    kit_close(&kit);
}

TEST(a_leap_day) {
    begin("  s: {cron: '0 3 29 2 *', timezone: UTC, task: '{}'}\n", utc("2027-02-27 00:00"));
    sleep_until(utc("2027-03-02 00:00"));
    sleep_until(utc("2028-02-29 02:59"));
    assert_int_equal(fired, 0);
    sleep_until(utc("2028-02-29 03:00"));
    expect_fired(1, "s", "2028-02-29 03:00");
    assert_int_equal(shown("s").next_due, utc("2032-02-29 03:00"));
    kit_close(&kit);
}

TEST(a_clock_that_is_set_back_by_a_day) {
    begin("  s: {every: 1h, overlap: queue, task: '{}'}\n", utc("2027-05-01 00:30"));
    sleep_until(utc("2027-05-01 03:00")); /* 01:00 and 02:00 passed unseen */
    expect_fired(1, "s", "2027-05-01 03:00");
    set_wall(utc("2027-04-30 03:00"));
    kit_settle(&kit);
    for (int hour = 1; hour <= 24; hour++) {
        sleep_until(utc("2027-04-30 03:00") + HOURS(hour));
        if (hour == 12)
            kit_restart(&kit);
    }
    assert_int_equal(fired, 1);
    sleep_until(utc("2027-05-01 04:00"));
    expect_fired(2, "s", "2027-05-01 04:00");
    assert_int_equal(shown("s").skipped, 2);
    kit_close(&kit);
}

TEST(a_clock_that_is_set_forward_by_a_day_and_back_again) {
    begin("  last: {every: 1h, overlap: queue, task: '{}'}\n"
          "  all: {every: 6h, overlap: queue, catch_up: all, task: '{}'}\n",
          utc("2027-05-01 00:30"));
    set_wall(utc("2027-05-02 00:30"));
    kit_settle(&kit); /* without a timer: the loop wakes when the clock is set */
    assert_int_equal(shown("last").fired, 1);
    assert_int_equal(shown("last").skipped, 23);
    assert_int_equal(shown("last").skips[0].first, utc("2027-05-01 01:00"));
    assert_int_equal(shown("last").skips[0].last, utc("2027-05-01 23:00"));
    assert_int_equal(shown("all").fired, 4);
    set_wall(utc("2027-05-01 00:31"));
    kit_settle(&kit);
    sleep_until(utc("2027-05-02 00:59"));
    assert_int_equal(fired, 5);
    sleep_until(utc("2027-05-02 01:00"));
    expect_fired(6, "last", "2027-05-02 01:00");
    kit_close(&kit);
}

TEST(a_week_of_suspend) {
    begin("  last: {every: 10m, task: '{}'}\n"
          "  none: {cron: '0 12 * * *', timezone: UTC, catch_up: none, task: '{}'}\n"
          "  old: {cron: '0 12 * * *', timezone: UTC, catch_up: all, catch_up_max_s: 2d, overlap: "
          "queue, task: '{}'}\n",
          utc("2027-05-01 00:05"));
    sleep_until(utc("2027-05-08 00:05"));
    assert_int_equal(shown("last").fired, 1);
    assert_int_equal(shown("last").skipped, 7 * 144 - 1);
    assert_int_equal(shown("last").skip_count, 1);
    assert_int_equal(shown("none").fired, 0);
    assert_int_equal(shown("none").skipped, 7);
    assert_int_equal(shown("old").fired, 2); /* of the last two days */
    assert_int_equal(shown("old").skipped, 5);
    assert_string_equal(shown("old").skips[0].reason, "too_old");
    cancel_all();
    sleep_until(utc("2027-05-08 00:10"));
    expect_fired(4, "last", "2027-05-08 00:10");
    kit_close(&kit);
}

static void stop(void *ctx) {
    loop_stop(ctx);
}

/* Nothing but the loop's own timers ends the sleep. */
static void run_until(time_ms at) {
    struct error err = { 0 };
    struct loop_timer *timer = loop_timer_new(kit.loop, stop, kit.loop);
    loop_timer_set(kit.loop, timer, clock_read_steady() + at - clock_read());
    assert_int_equal(loop_run(kit.loop, &err), 0);
    loop_timer_free(kit.loop, timer);
}

/* `count` schedules, a tenth of them due in each hour from 12:00 on. */
static char *many_schedules(int count) {
    size_t size = (size_t)count * 100 + 1000;
    char *text = malloc(size);
    assert_non_null(text);
    size_t used = (size_t)snprintf(
        text, size, KIT_CALM "limits: {runs: 0}\nprojects: {web: }\ntimezone: UTC\n%s",
        count > 0 ? "schedules:\n" : "");
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "  n%d: {cron: '0 %d * * *', task: '{}'}\n", i, 12 + i % 10);
    set_wall(utc("2027-05-01 00:00"));
    fired = 0;
    kit_open_late(&kit, text);
    kit.before_start = set_firing;
    set_firing(&kit);
    for (int i = 0; i < 12; i++) /* 1000 are looked at in each turn */
        kit_settle(&kit);
    return text;
}

TEST(ten_thousand_schedules_cost_no_wakeups_between_due_times) {
    uint64_t turns[2], wakeups[2];
    for (int i = 0; i < 2; i++) {
        char *text = many_schedules(i * MANY);
        uint64_t first_turn = kit_stats(&kit).turns, first_wakeup = loop_wakeups(kit.loop);
        run_until(utc("2027-05-01 11:59"));
        turns[i] = kit_stats(&kit).turns - first_turn;
        wakeups[i] = loop_wakeups(kit.loop) - first_wakeup;
        assert_int_equal(fired, 0);
        if (i == 1) {
            uint64_t commits = kit_stats(&kit).commits;
            run_until(utc("2027-05-01 12:10"));
            assert_int_equal(fired, MANY / 10);
            assert_true(kit_stats(&kit).commits - commits <= 3);
            run_until(utc("2027-05-01 21:30"));
            assert_int_equal(fired, MANY);
        }
        kit_close(&kit);
        free(text);
    }
    assert_int_equal(turns[1], turns[0]); /* as many as without a schedule */
    assert_int_equal(wakeups[1], wakeups[0]);
}
