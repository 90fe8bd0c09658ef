/* test_os_zoneinfo.c: names of time zones cannot leave the zoneinfo folder. */
#include "os/zoneinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"

TEST(names_are_paths_below_the_folder) {
    static const char *const good[] = { "UTC", "Europe/Berlin", "America/Argentina/Ushuaia",
                                        "Etc/GMT+5" };
    static const char *const bad[] = { "",        "/etc/passwd",    "../UTC", "Europe/../UTC",
                                       "Europe/", "Europe//Berlin", "-x",     "Europe/Berlin\n",
                                       "a.b" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(zoneinfo_is_name(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(zoneinfo_is_name(bad[i]));
}

TEST(the_file_of_a_zone_is_read) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    assert_int_equal(zoneinfo_read("Europe/Berlin", &data, NULL), 0);
    assert_memory_equal(data.text, "TZif", 4);
}

TEST(unknown_zones_are_refused) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    static const char *const bad[] = { "Mars/Base", "Europe", "/etc/passwd" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = { 0 };
        assert_int_equal(zoneinfo_read(bad[i], &data, &err), -EINVAL);
        assert_non_null(strstr(err.text, bad[i]));
    }
    assert_int_equal(data.length, 0);
}

TEST(the_own_zone_comes_from_the_environment_first) {
    _cleanup_(strbuf_finish) struct strbuf own = STRBUF_INIT, named = STRBUF_INIT;
    setenv("TZ", ":Asia/Kolkata", 1);
    assert_int_equal(zoneinfo_read("", &own, NULL), 0);
    assert_int_equal(zoneinfo_read("Asia/Kolkata", &named, NULL), 0);
    assert_int_equal(own.length, named.length);
    assert_memory_equal(own.text, named.text, named.length);
    setenv("TZ", "Nowhere/At_all", 1);
    assert_int_equal(zoneinfo_read("", &own, NULL), 1); /* UTC */
}

TEST(the_own_zone_has_a_name) {
    static const char *const names[][2] = {
        { ":Asia/Kolkata", "Asia/Kolkata" },
        { "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin" },
        { "Nowhere/At_all", "UTC" },
        { "EST5EDT4,M3.2.0,M11.1.0", "UTC" }, /* rules are not read: zoneinfo_read */
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        setenv("TZ", names[i][0], 1);
        assert_true(zoneinfo_own_name(&name));
        assert_string_equal(strbuf_text(&name), names[i][1]);
    }
}
