/* test_calendar_zone.c: local time agrees with the C library, which reads the same files. */
#include "zone_kit.h"

#include <string.h>

TEST(every_hour_of_a_century_has_the_offset_of_the_c_library) {
    for (size_t i = 0; i < sizeof(kit_zones) / sizeof(kit_zones[0]); i++) {
        struct zone *zone = kit_zone(kit_zones[i]);
        for (int64_t t = kit_utc(1970, 1, 1, 0, 0); t < kit_utc(2070, 1, 1, 0, 0); t += 3600)
            if (zone_offset(zone, t) != kit_libc(t).tm_gmtoff)
                fail_msg("%s: %lld: %lld, not %ld", kit_zones[i], (long long)t,
                         (long long)zone_offset(zone, t), kit_libc(t).tm_gmtoff);
        zone_free(zone);
    }
}

TEST(the_fields_of_every_day_are_those_of_the_c_library) {
    struct zone *zone = kit_zone("UTC");
    for (int64_t t = kit_utc(1890, 1, 1, 0, 0); t < kit_utc(2410, 1, 1, 0, 0); t += 86400 - 61) {
        struct calendar_time f = calendar_fields(t);
        struct tm tm = kit_libc(t);
        assert_int_equal(f.year, tm.tm_year + 1900);
        assert_int_equal(f.month, tm.tm_mon + 1);
        assert_int_equal(f.day, tm.tm_mday);
        assert_int_equal(f.hour * 3600 + f.minute * 60 + f.second,
                         tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
        assert_int_equal(f.weekday, tm.tm_wday);
        assert_int_equal(calendar_local(f.year, f.month, f.day),
                         t - (f.hour * 3600 + f.minute * 60 + f.second));
    }
    zone_free(zone);
}

TEST(each_change_of_the_offset_is_found_and_nothing_else) {
    for (size_t i = 0; i < sizeof(kit_zones) / sizeof(kit_zones[0]); i++) {
        struct zone *zone = kit_zone(kit_zones[i]);
        int64_t t = kit_utc(1995, 1, 1, 0, 0), until = kit_utc(2060, 1, 1, 0, 0);
        int64_t next = zone_next_change(zone, t);
        for (; t < until; t += 900)
            if (zone_offset(zone, t) != zone_offset(zone, t + 900)) {
                assert_int_equal(next, t + 900);
                next = zone_next_change(zone, next);
            }
        assert_true(next >= until);
        zone_free(zone);
    }
}

TEST(a_skipped_time_is_the_jump_and_a_repeated_time_has_two_moments) {
    struct zone *zone = kit_zone("Europe/Berlin");
    struct zone_moment m = zone_find(zone, kit_utc(2027, 3, 28, 2, 30));
    assert_int_equal(m.fit, ZONE_SKIPPED);
    assert_int_equal(m.first, kit_utc(2027, 3, 28, 1, 0));
    m = zone_find(zone, kit_utc(2027, 10, 31, 2, 30));
    assert_int_equal(m.fit, ZONE_TWICE);
    assert_int_equal(m.first, kit_utc(2027, 10, 31, 0, 30));
    assert_int_equal(m.second, kit_utc(2027, 10, 31, 1, 30));
    m = zone_find(zone, kit_utc(2027, 7, 1, 12, 0));
    assert_int_equal(m.fit, ZONE_ONCE);
    assert_int_equal(m.first, kit_utc(2027, 7, 1, 10, 0));
    zone_free(zone);
    zone = kit_zone("Pacific/Apia"); /* it crossed the date line: December 30, 2011 is missing */
    m = zone_find(zone, kit_utc(2011, 12, 30, 12, 0));
    assert_int_equal(m.fit, ZONE_SKIPPED);
    assert_int_equal(m.first, kit_utc(2011, 12, 30, 10, 0));
    zone_free(zone);
}

TEST(every_local_time_leads_back_to_its_moment) {
    for (size_t i = 0; i < sizeof(kit_zones) / sizeof(kit_zones[0]); i++) {
        struct zone *zone = kit_zone(kit_zones[i]);
        for (int64_t t = kit_utc(2009, 1, 1, 0, 0); t < kit_utc(2013, 1, 1, 0, 0); t += 1800) {
            struct zone_moment m = zone_find(zone, zone_local(zone, t));
            assert_true(m.fit != ZONE_SKIPPED && (m.first == t || m.second == t));
        }
        zone_free(zone);
    }
}

TEST(a_damaged_file_is_refused) {
    static unsigned char data[1 << 16];
    struct zone *zone;
    struct error err = { 0 };
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "re");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof(data), file);
    (void)fclose(file);
    for (size_t cut = 0; cut < size; cut++)
        assert_true(zone_parse("Europe/Berlin", data, cut, &zone, &err) < 0);
    assert_string_equal(err.text, "the zoneinfo file of time zone 'Europe/Berlin' is damaged");
    data[0] = 'X';
    assert_true(zone_parse("Europe/Berlin", data, size, &zone, NULL) < 0);
}

TEST(utc_has_no_changes) {
    struct zone *zone = zone_new_utc();
    assert_string_equal(zone_name(zone), "UTC");
    assert_int_equal(zone_offset(zone, 0), 0);
    assert_true(zone_next_change(zone, 0) == INT64_MAX);
    zone_free(zone);
}
