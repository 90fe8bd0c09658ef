/* test_calendar_schedule.c: each due time is fired once or skipped once, whatever the clock does. */
#include "calendar/schedule.h"

#include <string.h>

#include "harness/test.h"
#include "zone_kit.h"

/* Plays a schedule as the engine does: the tests set `now` and look at what it did. */
struct player {
    struct schedule s;
    int64_t cursor;
    bool open;           /* the task of each firing stays open */
    bool closes;         /* … or is done at once */
    int64_t fired[1000]; /* due times, in order */
    size_t fired_count, steps;
    struct schedule_step skips[100];
    size_t skip_count;
    uint64_t skipped;
    int64_t wake;
};

static void play(struct player *p, int64_t now) {
    for (;;) {
        struct schedule_step step = schedule_decide(&p->s, p->cursor, now, p->open);
        p->steps++;
        if (step.action == SCHEDULE_WAIT) {
            p->wake = step.wake;
            return;
        }
        assert_true(step.first > p->cursor && step.last >= step.first);
        p->cursor = step.last;
        if (step.action == SCHEDULE_FIRE) {
            assert_true(p->fired_count < 1000);
            p->fired[p->fired_count++] = step.first;
            p->open = !p->closes;
        } else {
            p->skips[p->skip_count++ % 100] = step;
            p->skipped += step.count;
        }
    }
}

static struct schedule daily(const struct zone *zone, const char *cron) {
    struct schedule s = { .kind = SCHEDULE_CRON, .zone = zone, .catch_up_max = INT64_MAX };
    assert_int_equal(cron_parse(cron, &s.cron, NULL), 0);
    return s;
}

static struct schedule every(int64_t span) {
    return (struct schedule){ .kind = SCHEDULE_EVERY, .every = span, .catch_up_max = INT64_MAX };
}

TEST(a_span_is_due_at_its_multiples) {
    struct schedule s = every(3600);
    assert_int_equal(schedule_next(&s, 7199), 7200);
    assert_int_equal(schedule_next(&s, 7200), 10800);
    assert_int_equal(schedule_next(&s, -1), 0);
    assert_int_equal(schedule_next(&s, -3601), -3600);
    assert_true(schedule_next(&s, INT64_MAX - 10) == INT64_MAX);
}

TEST(a_moment_is_due_once) {
    struct player p = { .s = { .kind = SCHEDULE_AT, .at = 5000, .catch_up_max = INT64_MAX },
                        .cursor = 1000,
                        .closes = true };
    play(&p, 4999);
    assert_int_equal(p.wake, 5000);
    play(&p, 5000);
    play(&p, 1 << 30);
    assert_int_equal(p.fired_count, 1);
    assert_true(p.wake == INT64_MAX);
}

TEST(moments_are_read_in_their_zone) {
    struct zone *berlin = kit_zone("Europe/Berlin");
    int64_t at = 0;
    static const struct {
        const char *text;
        int month, day, hour, minute; /* of 2026, UTC */
    } good[] = {
        { "2026-12-24 22:00", 12, 24, 21, 0 },    { "2026-07-01T22:00", 7, 1, 20, 0 },
        { "2026-07-01 22:00Z", 7, 1, 22, 0 },     { "2026-07-01 22:00+05:30", 7, 1, 16, 30 },
        { "2026-07-01 22:00-05:00", 7, 2, 3, 0 }, { "2026-10-25 02:30", 10, 25, 0, 30 },
        { "2026-03-29 02:30", 3, 29, 1, 0 },
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(schedule_parse_at(good[i].text, berlin, &at, NULL), 0);
        assert_int_equal(at,
                         kit_utc(2026, good[i].month, good[i].day, good[i].hour, good[i].minute));
    }
    static const char *const bad[] = { "",
                                       "tomorrow",
                                       "2026-02-29 10:00",
                                       "2026-13-01 10:00",
                                       "2026-01-01",
                                       "2026-01-01 24:00",
                                       "2026-01-01 10:00 ",
                                       "2026-01-01 10:00+1",
                                       "2026-01-01 10:00ZZ",
                                       "18:30" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = { 0 };
        assert_true(schedule_parse_at(bad[i], berlin, &at, &err) < 0);
        assert_non_null(strstr(err.text, "is not a time"));
    }
    zone_free(berlin);
}

/* In each zone, 02:30 is due once on every day of two years, also when clocks change. */
TEST(a_daily_time_is_due_once_a_day_in_all_zones) {
    for (size_t z = 0; z < sizeof(kit_zones) / sizeof(kit_zones[0]); z++) {
        struct zone *zone = kit_zone(kit_zones[z]);
        int64_t begin = kit_utc(2027, 1, 1, 0, 0) - zone_offset(zone, kit_utc(2027, 1, 1, 0, 0));
        struct player p = { .s = daily(zone, "30 2 * * *"), .cursor = begin, .closes = true };
        int64_t now = begin;
        for (int hour = 0; hour < 731 * 24; hour++) /* with February 29, 2028 */
            play(&p, now += 3600);
        assert_int_equal(p.fired_count, 731);
        assert_int_equal(p.skipped, 0);
        for (size_t i = 1; i < p.fired_count; i++)
            assert_true(p.fired[i] - p.fired[i - 1] >= 22 * 3600
                        && p.fired[i] - p.fired[i - 1] <= 26 * 3600);
        zone_free(zone);
    }
}

TEST(a_leap_day_is_due_in_leap_years) {
    struct zone *utc = zone_new_utc();
    struct player p = { .s = daily(utc, "0 3 29 2 *"),
                        .cursor = kit_utc(2026, 1, 1, 0, 0),
                        .closes = true };
    play(&p, kit_utc(2027, 12, 31, 0, 0));
    assert_int_equal(p.fired_count, 0);
    play(&p, kit_utc(2028, 2, 29, 3, 0));
    assert_int_equal(p.fired_count, 1);
    assert_int_equal(p.fired[0], kit_utc(2028, 2, 29, 3, 0));
    zone_free(utc);
}

TEST(a_clock_that_is_set_back_fires_nothing_twice) {
    struct zone *utc = zone_new_utc();
    struct player p = { .s = daily(utc, "0 * * * *"),
                        .cursor = kit_utc(2026, 5, 1, 0, 30),
                        .closes = true };
    for (int hour = 1; hour <= 24; hour++)
        play(&p, kit_utc(2026, 5, 1, hour, 0));
    assert_int_equal(p.fired_count, 24);
    for (int hour = 0; hour <= 24; hour++) /* a day back, and through the same day again */
        play(&p, kit_utc(2026, 5, 1, hour, 0));
    assert_int_equal(p.fired_count, 24);
    assert_int_equal(p.wake, kit_utc(2026, 5, 2, 1, 0));
    play(&p, kit_utc(2026, 5, 2, 1, 0));
    assert_int_equal(p.fired_count, 25);
    assert_int_equal(p.skipped, 0);
    zone_free(utc);
}

/* A clock set forward, downtime and suspend are the same: due times that passed unseen. */
TEST(catch_up_decides_after_a_day) {
    static const struct {
        enum schedule_catch_up catch_up;
        int64_t max;
        size_t fired;
        uint64_t skipped;
    } cases[] = {
        { CATCH_UP_LAST, INT64_MAX, 1, 23 }, { CATCH_UP_ALL, INT64_MAX, 24, 0 },
        { CATCH_UP_NONE, INT64_MAX, 0, 24 }, { CATCH_UP_ALL, 3 * 3600, 3, 21 },
        { CATCH_UP_LAST, 60, 0, 24 },
    };
    struct zone *utc = zone_new_utc();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct player p = { .s = daily(utc, "0 * * * *"),
                            .cursor = kit_utc(2026, 5, 1, 0, 0),
                            .closes = true };
        p.s.catch_up = cases[i].catch_up;
        p.s.catch_up_max = cases[i].max;
        play(&p, kit_utc(2026, 5, 2, 0, 10)); /* 01:00 to 00:00 passed */
        assert_int_equal(p.fired_count, cases[i].fired);
        assert_int_equal(p.skipped, cases[i].skipped);
        assert_int_equal(p.cursor, kit_utc(2026, 5, 2, 0, 0));
        if (p.fired_count > 0)
            assert_int_equal(p.fired[p.fired_count - 1], kit_utc(2026, 5, 2, 0, 0));
    }
    zone_free(utc);
}

TEST(the_reasons_of_skips_are_ranges_in_order) {
    struct zone *utc = zone_new_utc();
    struct player p = { .s = daily(utc, "0 * * * *"), .cursor = kit_utc(2026, 5, 1, 0, 0) };
    p.s.catch_up = CATCH_UP_ALL;
    p.s.catch_up_max = 4 * 3600;
    play(&p, kit_utc(2026, 5, 1, 10, 10));
    /* 1 to 6 are too old, 7 is fired and stays open, 8 to 10 overlap */
    assert_int_equal(p.skip_count, 2);
    assert_int_equal(p.skips[0].reason, SKIP_TOO_OLD);
    assert_int_equal(p.skips[0].count, 6);
    assert_int_equal(p.fired[0], kit_utc(2026, 5, 1, 7, 0));
    assert_int_equal(p.skips[1].reason, SKIP_OVERLAP);
    assert_int_equal(p.skips[1].first, kit_utc(2026, 5, 1, 8, 0));
    assert_int_equal(p.skips[1].last, kit_utc(2026, 5, 1, 10, 0));
    assert_int_equal(p.skips[1].count, 3);
    zone_free(utc);
}

TEST(none_fires_what_is_on_time) {
    struct player p = { .s = every(3600), .cursor = 0, .closes = true };
    p.s.catch_up = CATCH_UP_NONE;
    play(&p, 3600 + SCHEDULE_GRACE);
    assert_int_equal(p.fired_count, 1);
    play(&p, 7200 + SCHEDULE_GRACE + 1);
    assert_int_equal(p.fired_count, 1);
    assert_int_equal(p.skips[0].reason, SKIP_MISSED);
}

TEST(overlap_queue_and_replace_fire_beside_an_open_task) {
    for (int overlap = OVERLAP_QUEUE; overlap <= OVERLAP_REPLACE; overlap++) {
        struct player p = { .s = every(60), .cursor = 0 };
        p.s.overlap = (enum schedule_overlap)overlap;
        for (int i = 1; i <= 5; i++)
            play(&p, (int64_t)60 * i);
        assert_int_equal(p.fired_count, 5);
    }
}

TEST(a_week_of_suspend_costs_few_steps) {
    struct player p = { .s = every(1), .cursor = 1000000, .closes = true };
    play(&p, 1000000 + 604800);
    assert_int_equal(p.fired_count, 1);
    assert_int_equal(p.skipped, 604799);
    assert_true(p.steps < 100);
    struct zone *berlin = kit_zone("Europe/Berlin");
    struct player c = { .s = daily(berlin, "* * * * *"),
                        .cursor = kit_utc(2026, 10, 20, 0, 0),
                        .closes = true };
    play(&c, kit_utc(2026, 10, 27, 0, 0)); /* an hour of it occurs twice */
    assert_int_equal(c.fired_count + c.skipped, 7 * 1440);
    zone_free(berlin);
}

TEST(jitter_delays_and_is_the_same_every_time) {
    struct player p = { .s = every(3600), .cursor = 0, .closes = true };
    p.s.jitter = 600;
    p.s.seed = 42;
    int64_t at = schedule_fires_at(&p.s, 3600);
    assert_true(at >= 3600 && at <= 4200);
    assert_int_equal(schedule_fires_at(&p.s, 3600), at);
    play(&p, at - 1);
    assert_int_equal(p.fired_count, 0);
    assert_int_equal(p.wake, at);
    play(&p, at);
    assert_int_equal(p.fired_count, 1);
    assert_int_equal(p.fired[0], 3600);
    int64_t sum = 0;
    for (int64_t due = 3600; due <= 3600000; due += 3600)
        sum += schedule_fires_at(&p.s, due) - due;
    assert_true(sum / 1000 > 250 && sum / 1000 < 350);
}

/* Random clocks: forward, back, small and large steps. Every due time up to the cursor is counted
 * exactly once. */
TEST(every_due_time_is_fired_or_skipped_once) {
    struct zone *zone = kit_zone("America/New_York");
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * 0x9e3779b97f4a7c15u;
        int64_t begin = kit_utc(2026, 10, 30, 0, 0), now = begin;
        struct player p = { .s = seed % 2 ? every(600) : daily(zone, "*/10 * * * *"),
                            .cursor = begin };
        p.s.catch_up = (enum schedule_catch_up)(seed % 3);
        p.s.overlap = (enum schedule_overlap)(seed / 3 % 3);
        p.s.catch_up_max = seed % 5 ? INT64_MAX : 3600;
        p.s.jitter = seed % 7 ? 0 : 900;
        for (int i = 0; i < 60; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            now += (int64_t)(random % 7200) - 2400;
            p.open = p.open && random % 3 != 0;
            play(&p, now);
        }
        uint64_t due = 0;
        for (int64_t at = begin; (at = schedule_next(&p.s, at)) <= p.cursor;)
            due++;
        assert_int_equal(p.fired_count + p.skipped, due);
        for (size_t i = 1; i < p.fired_count; i++)
            assert_true(p.fired[i] > p.fired[i - 1]);
    }
    zone_free(zone);
}

TEST(ten_thousand_schedules_have_their_own_next_time) {
    struct zone *zone = kit_zone("Europe/Berlin");
    int64_t now = kit_utc(2026, 3, 28, 12, 0);
    for (int i = 0; i < 10000; i++) {
        char cron[64];
        snprintf(cron, sizeof(cron), "%d %d * * %d", i % 60, i / 60 % 24, i % 7);
        struct schedule s = daily(zone, cron);
        s.jitter = i % 2 ? 300 : 0;
        s.seed = (uint64_t)i;
        struct schedule_step step = schedule_decide(&s, now, now, false);
        assert_int_equal(step.action, SCHEDULE_WAIT);
        assert_true(step.wake > now && step.wake <= now + 8 * 86400);
    }
    zone_free(zone);
}

TEST(a_pause_is_one_range) {
    struct schedule s = every(60);
    struct schedule_step step = schedule_skip_all(&s, 0, 3600, SKIP_PAUSED);
    assert_int_equal(step.action, SCHEDULE_SKIP);
    assert_int_equal(step.count, 60);
    assert_int_equal(step.last, 3600);
    assert_int_equal(schedule_skip_all(&s, 3600, 3600, SKIP_PAUSED).action, SCHEDULE_WAIT);
}
