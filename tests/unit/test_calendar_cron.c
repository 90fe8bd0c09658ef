/* test_calendar_cron.c: due times agree with a clock that is read every minute. */
#include "zone_kit.h"

#include <string.h>

#include "calendar/cron.h"

static struct cron parsed(const char *text) {
    struct cron cron;
    struct error err = { 0 };
    if (cron_parse(text, &cron, &err) < 0)
        fail_msg("%s", err.text);
    return cron;
}

static bool fits(const struct cron *cron, const struct tm *tm) {
    bool day = cron->days >> tm->tm_mday & 1, weekday = cron->weekdays >> tm->tm_wday & 1;
    bool date = cron->any_day || cron->any_weekday ? day && weekday : day || weekday;
    return date && cron->months >> (tm->tm_mon + 1) & 1 && cron->hours >> tm->tm_hour & 1
           && cron->minutes >> tm->tm_min & 1;
}

static bool fits_local(const struct cron *cron, int64_t local) {
    struct tm tm;
    time_t t = (time_t)local;
    return fits(cron, gmtime_r(&t, &tm));
}

/* Reads the clock of the C library every minute. With fixed hours only times that it shows for the
 * first time count, and what it jumps over is due at the jump. */
static bool is_due(const struct cron *cron, int64_t utc, int64_t *newest) {
    struct tm tm = kit_libc(utc);
    int64_t local = utc + tm.tm_gmtoff;
    bool due = fits(cron, &tm) && (cron->any_hour || local > *newest);
    if (!cron->any_hour)
        for (int64_t skipped = *newest + 60; !due && skipped < local; skipped += 60)
            due = fits_local(cron, skipped);
    if (local > *newest)
        *newest = local;
    return due;
}

static void compare(const char *zone_name, const char *text, int64_t from, int64_t until) {
    struct zone *zone = kit_zone(zone_name);
    struct cron cron = parsed(text);
    int64_t newest = from + kit_libc(from).tm_gmtoff;
    int64_t next = cron_next(&cron, zone, from);
    for (int64_t t = from + 60; t <= until; t += 60) {
        bool due = is_due(&cron, t, &newest);
        if (due != (t == next))
            fail_msg("%s, '%s': %s at %lld, expected next %lld", zone_name, text,
                     due ? "due" : "not due", (long long)t, (long long)next);
        if (due)
            next = cron_next(&cron, zone, t);
    }
    zone_free(zone);
}

TEST(both_clock_changes_of_seven_zones_agree_with_a_clock_read_every_minute) {
    static const char *const texts[] = {
        "30 2 * * *",  "*/15 * * * *", "0 */2 * * *", "5,35 1-3 * * *",        "0 0 * * *",
        "59 23 * * 0", "15 2 29 * 1",  "0 12 31 * *", "10 2,14 * 3-4,9-11 sun"
    };
    for (size_t z = 0; z < sizeof(kit_zones) / sizeof(kit_zones[0]); z++)
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            compare(kit_zones[z], texts[i], kit_utc(2026, 12, 30, 0, 0), kit_utc(2028, 1, 2, 0, 0));
}

TEST(a_day_that_does_not_exist_is_due_when_the_next_one_begins) {
    compare("Pacific/Apia", "0 12 * * *", kit_utc(2011, 12, 27, 0, 0), kit_utc(2012, 1, 3, 0, 0));
    compare("Pacific/Apia", "*/30 * * * *", kit_utc(2011, 12, 27, 0, 0), kit_utc(2012, 1, 3, 0, 0));
}

TEST(the_leap_day_comes_every_four_years_but_not_in_2100) {
    struct zone *zone = zone_new_utc();
    struct cron cron = parsed("0 0 29 2 *");
    assert_int_equal(cron_next(&cron, zone, kit_utc(2024, 3, 1, 0, 0)), kit_utc(2028, 2, 29, 0, 0));
    assert_int_equal(cron_next(&cron, zone, kit_utc(2096, 2, 29, 0, 0)),
                     kit_utc(2104, 2, 29, 0, 0));
    zone_free(zone);
}

TEST(shortcuts_and_names_mean_their_fields) {
    static const char *const pairs[][2] = {
        { "@hourly", "0 * * * *" },
        { "@daily", "0 0 * * *" },
        { "@MIDNIGHT", "0 0 * * *" },
        { "@weekly", "0 0 * * sun" },
        { "@monthly", "0 0 1 * *" },
        { "@yearly", "0 0 1 jan *" },
        { "@annually", "0 0 1 1 *" },
        { "0 2 * * 1-5", "0  2\t* * MON-FRI" },
        { "0 2 * * fri-sun", "0 2 * * 0,5,6" },
        { "0 2 * * 7", "0 2 * * 0" },
        { "5/20 * * * *", "5,25,45 * * * *" },
        { "10-30/10 * * * *", "10,20,30 * * * *" },
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct cron a = parsed(pairs[i][0]), b = parsed(pairs[i][1]);
        assert_true(a.minutes == b.minutes && a.hours == b.hours && a.days == b.days
                    && a.months == b.months && a.weekdays == b.weekdays);
    }
}

TEST(a_bad_expression_gets_one_message_that_names_the_field) {
    static const char *const bad[][2] = {
        { "", "it has 0 of 5 fields" },
        { "* * * *", "it has 4 of 5 fields" },
        { "* * * * * *", "more than 5 fields" },
        { "60 * * * *", "minute 60 is out of range: use 0 to 59" },
        { "* 24 * * *", "hour 24 is out of range: use 0 to 23" },
        { "* * 0 * *", "day of the month 0 is out of range: use 1 to 31" },
        { "* * * 13 *", "month 13 is out of range: use 1 to 12" },
        { "* * * * 8", "day of the week 8 is out of range: use 0 to 7" },
        { "* * * foo *", "month 'foo' is not a number or a name such as jan" },
        { "x * * * *", "minute 'x' is not a number" },
        { "99999999999999999999 * * * *", "out of range" },
        { "*/0 * * * *", "step '0' is not a number from 1 to 99" },
        { "*/ * * * *", "step '' is not a number" },
        { "1,,2 * * * *", "a value is missing beside a comma" },
        { ", * * * *", "a value is missing" },
        { "* 5-3 * * *", "range 5-3 is reversed" },
        { "* 5- * * *", "hour '' is not a number" },
        { "-1 * * * *", "minute '' is not a number" },
        { "0 0 30 2 *", "no month has such a day" },
        { "0 0 31 4,6,9,11 *", "no month has such a day" },
        { "@reboot", "use @hourly, @daily" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cron cron;
        struct error err = { 0 };
        assert_true(cron_parse(bad[i][0], &cron, &err) < 0);
        if (!strstr(err.text, bad[i][1]) || strncmp(err.text, "cron '", 6) != 0)
            fail_msg("'%s': %s", bad[i][0], err.text);
    }
}
