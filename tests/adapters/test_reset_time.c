/* test_reset_time.c: finds the end of a limit in texts for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"
#include "harness/test.h"

#define NOW              INT64_C(1794709732000) /* Sunday, 2026-11-15 02:28:52 UTC */
#define TODAY            INT64_C(1794700800000) /* its midnight */
#define AT(hour, minute) (TODAY + HOURS(hour) + MINUTES(minute))

static void expect_at(const char *text, time_ms now, int32_t offset, time_ms expected) {
    time_ms at = -1;
    bool found = reset_time_find(text, now, offset, &at);
    if (found != (expected >= 0) || at != expected)
        fail_msg("'%s' gives %" PRId64 ", expected %" PRId64 ": %" PRId64 " minutes apart", text,
                 at, expected, (at - expected) / 60000);
}

static void expect(const char *text, time_ms expected) {
    expect_at(text, NOW, 0, expected);
}

TEST(a_time_of_day_is_the_next_one) {
    expect("You've hit your 5-hour limit · resets 4:28am (UTC)", AT(4, 28));
    expect("You've hit your session limit · resets 4am (UTC)", AT(4, 0));
    expect("Usage limit reached. Resets at 1am (UTC)", AT(25, 0));
    expect("limit · resets 12am (UTC)", AT(24, 0));
    expect("limit · resets 12:30pm (UTC)", AT(12, 30));
    expect("Your limit will reset at 16:05 UTC.", AT(16, 5));
    expect("or try again at 4:31 AM.", AT(4, 31));
    expect("try again at 11:59 P.M.", AT(23, 59));
}

/* The text was printed moments before the clock was read. */
TEST(a_time_that_just_passed_is_not_tomorrow) {
    expect("limit · resets 2:28am (UTC)", AT(2, 28));
    expect("limit · resets 2:14am (UTC)", AT(2, 14));
    expect("limit · resets 2:13am (UTC)", AT(26, 13));
    expect("limit · resets Sunday 2:28am (UTC)", AT(2, 28));
    expect("limit · resets Sunday 2am (UTC)", AT(7 * 24 + 2, 0));
}

TEST(local_time_is_that_of_the_machine) {
    expect_at("limit · resets 4:28am", NOW, 3600, AT(3, 28));
    expect_at("limit · resets 4:28am (Europe/Berlin)", NOW, 3600, AT(3, 28));
    expect_at("limit · resets 4:28am (UTC)", NOW, 3600, AT(4, 28));
    expect_at("limit · resets 4:28am GMT", NOW, -18000, AT(4, 28));
    expect_at("limit · resets 4:28am (UTC+2)", NOW, 0, AT(2, 28));
    expect_at("limit · resets 11pm (America/New_York)", NOW, -18000, AT(4, 0));
    expect_at("limit · resets 9pm (America/New_York)", NOW, -18000, AT(26, 0));
}

TEST(a_date_may_stand_before_it) {
    expect("You've hit your weekly limit · resets Nov 20, 4am (UTC)", AT(5 * 24 + 4, 0));
    expect("weekly limit · resets Nov 20 at 4:30pm (UTC)", AT(5 * 24 + 16, 30));
    expect("try again at Nov 20th, 2026 4:31 AM.", AT(5 * 24 + 4, 31));
    expect("resets November 20, 2026, 4am", AT(5 * 24 + 4, 0));
    expect("resets Jan 1, 12am (UTC)", AT(47 * 24, 0));
    expect("resets Nov 14, 11pm (UTC)", AT(-1, 0));
    expect("resets Nov 20 (UTC)", AT(5 * 24, 0));
    expect("resets tomorrow at 4am", AT(28, 0));
    expect("resets Mon 9am", AT(33, 0));
    expect("resets Saturday at 9:15am (UTC)", AT(6 * 24 + 9, 15));
    expect("resets Fri, Nov 20 at 4am", AT(5 * 24 + 4, 0));
    expect("Resets at 2026-11-20T04:00:00Z", AT(5 * 24 + 4, 0));
    expect("Resets at 2026-11-20T04:00:00.123+02:00", AT(5 * 24 + 2, 0));
    expect("reset: 2026-11-20 04:00 UTC", AT(5 * 24 + 4, 0));
    expect("resets Feb 29, 2028 at 1am", INT64_C(1835398800000));
}

TEST(a_span_counts_from_now) {
    expect("Please try again in 1.5s.", NOW + 1500);
    expect("Please try again in 20ms.", NOW + 20);
    expect("Please retry in 2s. Suggested", NOW + 2000);
    expect("try again in 2h 13m", NOW + HOURS(2) + MINUTES(13));
    expect("Try again in 3 days, 4 hours and 5 minutes.", NOW + DAYS(3) + HOURS(4) + MINUTES(5));
    expect("Retrying after 33013ms...", NOW + 33013);
    expect("resets in 1 week", NOW + DAYS(7));
    expect("your quota will reset after 9h59m58s.", NOW + HOURS(9) + MINUTES(59) + SECONDS(58));
    expect("wait for 30 seconds", NOW + SECONDS(30));
}

TEST(seconds_since_the_epoch_stand_behind_a_bar) {
    expect("Claude AI usage limit reached|1794716932", INT64_C(1794716932000));
    expect("a|12", -1);
    expect("limit reached|99999999999999", -1);
}

TEST(no_time_is_no_time) {
    static const char *const none[] = {
        "",
        "resets",
        "resets soon",
        "Hello at 4:28am",
        "This request would exceed your rate limit of 50,000 input tokens per minute.",
        "try again in a moment. If it persists, check your gateway (127.0.0.1:8931).",
        "try again later. It is 4:28am",
        "resets 25:00",
        "resets 13pm",
        "resets 0am",
        "resets 4:61am",
        "resets Nov 45, 4",
        "try again in 99999999999999 seconds",
        "try again in 5 apples",
        "retry 3 of 10",
        "retries at 4am are presets 4am",
        "wait 5",
        "resets Nov",
        "try again in 999999999 weeks",
    };
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        expect(none[i], -1);
}
