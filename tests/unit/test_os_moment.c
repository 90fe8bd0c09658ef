/* test_os_moment.c: parses times and durations as users write them, in a fixed time zone. */
#include <stdlib.h>
#include <time.h>

#include "base/macros.h"
#include "harness/test.h"
#include "os/moment.h"

/* 2027-03-27 12:00:00 in Berlin, the day before summer time begins there. */
#define NOON INT64_C(1806145200000)

static int in_berlin(void **state) {
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

TEST_GROUP(in_berlin, NULL)

TEST(spans_are_exact) {
    static const struct {
        const char *text;
        time_ms span;
    } rows[] = {
        { "0s", 0 },        { "90s", SECONDS(90) },    { "30m", MINUTES(30) },
        { "2h", HOURS(2) }, { "1d", DAYS(1) },         { "1.5h", MINUTES(90) },
        { "0.001s", 1 },    { "36500d", DAYS(36500) },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        time_ms span = -1;
        assert_int_equal(moment_parse_span(rows[i].text, &span, NULL), 0);
        assert_int_equal(span, rows[i].span);
    }
}

TEST(an_invalid_span_is_refused) {
    static const char *const texts[] = { "",        "s",    "5",      "5x",
                                         "-1h",     "+1h",  " 1h",    "1h ",
                                         "1.2345s", "1e3s", "36501d", "99999999999999d",
                                         "1.h",     "h1" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        time_ms span = 42;
        struct error err = { 0 };
        if (moment_parse_span(texts[i], &span, &err) == 0)
            fail_msg("'%s' was taken for a span", texts[i]);
        assert_int_equal(span, 42); /* untouched */
        assert_true(err.text[0] != '\0');
    }
}

TEST(moments_are_local) {
    static const struct {
        const char *text;
        time_ms at;
    } rows[] = {
        { "30m", NOON + MINUTES(30) },
        { "18:30", NOON + HOURS(6) + MINUTES(30) },
        { "12:00:01", NOON + SECONDS(1) },
        { "12:00", NOON + HOURS(23) }, /* tomorrow, a day with 23 hours */
        { "11:59", NOON + HOURS(23) - MINUTES(1) },
        { "2027-03-27", NOON - HOURS(12) },
        { "2027-03-28", NOON + HOURS(12) },
        { "2027-03-29", NOON + HOURS(35) },
        { "2027-03-28T18:30", NOON + HOURS(29) + MINUTES(30) },
        { "2027-03-28 18:30:05", NOON + HOURS(29) + MINUTES(30) + SECONDS(5) },
        { "2028-02-29", INT64_C(1835391600000) },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        time_ms at = -1;
        struct error err = { 0 };
        if (moment_parse(rows[i].text, NOON, &at, &err) < 0)
            fail_msg("'%s': %s", rows[i].text, err.text);
        if (at != rows[i].at)
            fail_msg("'%s' is %lld, not %lld", rows[i].text, (long long)at, (long long)rows[i].at);
    }
}

TEST(past_moments_are_the_last_ones) {
    static const struct {
        const char *text;
        time_ms at;
    } rows[] = {
        { "30m", NOON - MINUTES(30) },
        { "11:00", NOON - HOURS(1) },
        { "18:30", NOON - HOURS(17) - MINUTES(30) },
        { "2027-03-27", NOON - HOURS(12) },
    };
    time_ms at = 42;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(moment_parse_past(rows[i].text, NOON, &at, NULL), 0);
        assert_int_equal(at, rows[i].at);
    }
    at = 42;
    assert_true(moment_parse_past("2027-03-28", NOON, &at, &err) < 0);
    assert_true(moment_parse_past("0s", NOON, &at, &err) < 0);
    assert_true(moment_parse_past("36500d", NOON, &at, &err) < 0);
    assert_true(moment_parse_past("soon", NOON, &at, &err) < 0);
    assert_int_equal(at, 42);
}

TEST(an_invalid_time_is_refused) {
    static const char *const texts[] = {
        "",           "soon",       "5",          "24:00",       "12:60",
        "1:00",       "12:00:60",   "12:00:",     "12:00x",      "2027-02-29",
        "2027-00-10", "2027-13-01", "2027-01-32", "2027-01-31T", "2027-01-31T1",
        "27-01-31",   "2027-1-31",  "1969-12-31", "2027/01/31",  "2027-01-31 x",
        "tomorrow",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        time_ms at = 42;
        struct error err = { 0 };
        if (moment_parse(texts[i], NOON, &at, &err) == 0)
            fail_msg("'%s' was taken for a moment", texts[i]);
        assert_int_equal(at, 42);
        assert_true(err.text[0] != '\0');
    }
}
