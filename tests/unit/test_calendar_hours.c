/* test_calendar_hours.c: opening hours follow the local clock. */
#include "zone_kit.h"

#include <string.h>

#include "calendar/hours.h"

static struct hours parsed(const char *text) {
    struct hours hours;
    struct error err = { 0 };
    if (hours_parse(text, &hours, &err) < 0)
        fail_msg("%s", err.text);
    return hours;
}

TEST(a_window_past_midnight_belongs_to_the_day_on_which_it_begins) {
    struct zone *zone = zone_new_utc();
    struct hours hours = parsed("mon-fri 22:00-07:00");
    assert_false(hours_are_open(&hours, zone, kit_utc(2026, 11, 16, 6, 0))); /* Monday */
    assert_true(hours_are_open(&hours, zone, kit_utc(2026, 11, 16, 22, 0)));
    assert_true(hours_are_open(&hours, zone, kit_utc(2026, 11, 21, 6, 59))); /* Saturday */
    assert_false(hours_are_open(&hours, zone, kit_utc(2026, 11, 21, 7, 0)));
    assert_false(hours_are_open(&hours, zone, kit_utc(2026, 11, 21, 22, 0)));
    assert_int_equal(hours_next_change(&hours, zone, kit_utc(2026, 11, 21, 7, 0)),
                     kit_utc(2026, 11, 23, 22, 0));
    zone_free(zone);
}

TEST(days_times_or_both_and_several_windows) {
    struct zone *zone = zone_new_utc();
    struct hours hours = parsed(" sat , sun ; 00:00-6:30; fri-mon 12:00-24:00 ");
    assert_true(hours_are_open(&hours, zone, kit_utc(2026, 11, 21, 9, 0)));  /* Saturday */
    assert_true(hours_are_open(&hours, zone, kit_utc(2026, 11, 18, 6, 29))); /* Wednesday */
    assert_false(hours_are_open(&hours, zone, kit_utc(2026, 11, 18, 6, 30)));
    assert_true(hours_are_open(&hours, zone, kit_utc(2026, 11, 23, 23, 59))); /* Monday */
    assert_false(hours_are_open(&hours, zone, kit_utc(2026, 11, 23, 11, 59)));
    zone_free(zone);
}

TEST(each_change_of_a_year_is_found_in_every_zone) {
    static const char *const texts[] = { "mon-fri 22:00-07:00", "02:15-02:45", "01:30-02:30",
                                         "sun 02:00-03:00; sat 23:30-00:30", "sat,sun" };
    for (size_t z = 0; z < sizeof(kit_zones) / sizeof(kit_zones[0]); z++)
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
            struct zone *zone = kit_zone(kit_zones[z]);
            struct hours hours = parsed(texts[i]);
            int64_t t = kit_utc(2027, 1, 1, 0, 0), next = hours_next_change(&hours, zone, t);
            for (; t < kit_utc(2028, 1, 1, 0, 0); t += 900)
                if (hours_are_open(&hours, zone, t) != hours_are_open(&hours, zone, t + 900)) {
                    if (next != t + 900)
                        fail_msg("%s, '%s': %lld, not %lld", kit_zones[z], texts[i],
                                 (long long)next, (long long)t + 900);
                    next = hours_next_change(&hours, zone, next);
                }
            assert_true(next >= kit_utc(2028, 1, 1, 0, 0));
            zone_free(zone);
        }
}

TEST(hours_that_are_always_open_never_change) {
    struct zone *zone = kit_zone("Europe/Berlin");
    struct hours hours = parsed("00:00-24:00");
    assert_true(hours_next_change(&hours, zone, kit_utc(2027, 3, 1, 0, 0)) == INT64_MAX);
    hours = parsed("mon-sun");
    assert_true(hours_next_change(&hours, zone, kit_utc(2027, 3, 1, 0, 0)) == INT64_MAX);
    zone_free(zone);
}

TEST(bad_hours_get_one_message_that_names_the_fix) {
    static const char *const bad[][2] = {
        { "", "a window is empty" },
        { "mon-fri 22:00-07:00;", "a window is empty" },
        { "monday", "'monday' is not a day: use mon" },
        { "mon-", "'' is not a day" },
        { "mon,,tue", "'' is not a day" },
        { "22:00", "'22:00' has no end" },
        { "22:00-", "'' is not a time" },
        { "22-23", "'22' is not a time from 00:00 to 24:00" },
        { "24:01-25:00", "'24:01' is not a time" },
        { "12:60-13:00", "'12:60' is not a time" },
        { "08:00-08:00", "08:00-08:00 is empty" },
        { "mon 08:00-09:00 10:00-11:00", "is not a time" },
        { "1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1", "'1' has no end" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hours hours;
        struct error err = { 0 };
        assert_true(hours_parse(bad[i][0], &hours, &err) < 0);
        if (!strstr(err.text, bad[i][1]) || strncmp(err.text, "hours '", 7) != 0)
            fail_msg("'%s': %s", bad[i][0], err.text);
    }
}
