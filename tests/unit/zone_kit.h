/* zone_kit.h: zones of the system for tests, and the C library's localtime_r to compare with. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calendar/zone.h"
#include "harness/test.h"

/* Both hemispheres, half-hour changes, changes of the standard time, no changes, negative DST. */
static const char *const kit_zones[] = { "Europe/Berlin",       "America/New_York",
                                         "Australia/Lord_Howe", "Pacific/Apia",
                                         "Asia/Kolkata",        "Europe/Dublin",
                                         "America/Santiago" };

static inline struct zone *kit_zone(const char *name) {
    static unsigned char data[1 << 16];
    char path[256];
    struct zone *zone = NULL;
    struct error err = { 0 };
    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof(data), file);
    (void)fclose(file);
    assert_int_equal(zone_parse(name, data, size, &zone, &err), 0);
    setenv("TZ", name, 1);
    tzset();
    return zone;
}

/* What the C library thinks, for the zone of the last kit_zone. */
static inline struct tm kit_libc(int64_t utc) {
    time_t t = (time_t)utc;
    struct tm tm;
    assert_non_null(localtime_r(&t, &tm));
    return tm;
}

static inline int64_t kit_utc(int year, int month, int day, int hour, int minute) {
    return calendar_local(year, month, day) + hour * 3600 + minute * 60;
}
