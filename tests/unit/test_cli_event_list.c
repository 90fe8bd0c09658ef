/* test_cli_event_list.c: an event is printed on one line, whatever its data; numbers as short texts. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/event_list.h"
#include "cli/print_task.h"
#include "harness/test.h"

static int in_utc(void **state) {
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

static void expect_line(const char *json, const char *line) {
    json_t *event = json_loads(json, 0, NULL);
    assert_non_null(event);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    event_list_line(event, &out);
    json_decref(event);
    assert_string_equal(strbuf_text(&out), line);
}

TEST_GROUP(in_utc, NULL)

TEST(an_event_is_one_line) {
    expect_line("{\"seq\":1207,\"at\":1801506605000,\"kind\":\"task.state\",\"task\":\"web-17\","
                "\"attempt\":2,\"data\":{\"from\":\"ready\",\"to\":\"starting\"}}",
                "2027-02-01 18:30:05  1207    task.state        web-17.2  from=ready  "
                "to=starting\n");
    expect_line("{\"seq\":1,\"at\":0,\"kind\":\"config.changed\",\"task\":null,\"attempt\":null,"
                "\"data\":null}",
                "1970-01-01 00:00:00  1       config.changed\n");
    expect_line("{\"seq\":2,\"at\":0,\"kind\":\"task.added\",\"task\":\"web-1\",\"attempt\":0}",
                "1970-01-01 00:00:00  2       task.added        web-1\n");
}

TEST(values_are_printed_by_type) {
    expect_line("{\"seq\":3,\"at\":0,\"kind\":\"x\",\"data\":{\"a\":\"two words\",\"b\":\"\","
                "\"c\":null,\"d\":[1,\"x\"],\"e\":false,\"f\":1.5}}",
                "1970-01-01 00:00:00  3       x                 a=\"two words\"  b=\"\"  "
                "d=[1,\"x\"]  e=false  f=1.5\n");
}

TEST(nothing_reaches_the_terminal) {
    expect_line(
        "{\"seq\":4,\"at\":0,\"kind\":\"x\\u001b[2J\",\"task\":\"t\\u001b]0;evil\\u0007\","
        "\"data\":{\"k\\u001b[31m\":\"red\\u001b[0m\",\"n\":\"a\\nb\",\"l\":[\"\\u009b1m\"]}}",
        "1970-01-01 00:00:00  4       x                 t  k=red  n=\"a b\"  l=[\"\\u009b1m\"]\n");
}

TEST(numbers_are_short) {
    json_t *o = json_loads("{\"i\":42,\"r\":2.5,\"whole\":3.0,\"share\":0.256,\"none\":null,"
                           "\"text\":\"unlimited\",\"zero\":0}",
                           0, NULL);
    assert_string_equal(cell_number(o, "i").text, "42");
    assert_string_equal(cell_number(o, "r").text, "2.5");
    assert_string_equal(cell_number(o, "whole").text, "3");
    assert_string_equal(cell_number(o, "none").text, "-");
    assert_string_equal(cell_number(o, "absent").text, "-");
    assert_string_equal(cell_percent(o, "share").text, "26%");
    assert_string_equal(cell_percent(o, "none").text, "-");
    assert_string_equal(cell_cap(o, "i").text, "42");
    assert_string_equal(cell_cap(o, "zero").text, "0");
    assert_string_equal(cell_cap(o, "none").text, "unlimited");
    assert_string_equal(cell_cap(o, "text").text, "unlimited");
    assert_string_equal(cell_when(o, "none", 0).text, "-");
    json_decref(o);
}
