/* test_cli_print.c: how tasks, sizes and times are printed. */
#include <stdlib.h>

#include "base/macros.h"
#include "cli/print_task.h"
#include "harness/test.h"

#define NOW INT64_C(1800000000000)

TEST(times_are_printed_relative_to_now) {
    static const struct {
        time_ms from_now;
        const char *text;
    } rows[] = {
        { 0, "now" },
        { -999, "now" },
        { -1000, "1 s ago" },
        { MINUTES(-3), "3 m ago" },
        { HOURS(-5), "5 h ago" },
        { DAYS(-9), "9 d ago" },
        { 1, "in 1 s" }, /* a future time is never "in 0 s" */
        { SECONDS(27), "in 27 s" },
        { MINUTES(90), "in 90 m" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(print_when(NOW + rows[i].from_now, NOW).text, rows[i].text);
    assert_string_equal(print_when(0, NOW).text, "-");
    assert_string_equal(print_span(-5).text, "0 s");
}

TEST(sizes_are_short) {
    static const struct {
        int64_t count;
        const char *text;
    } rows[] = {
        { -1, "-" },
        { 0, "0" },
        { 999, "999" },
        { 1000, "1.0k" },
        { 12345, "12.3k" },
        { 99999, "99.9k" },
        { 123456, "123k" },
        { 1234567, "1.2M" },
        { 999999999, "999M" },
        { 1000000000, "1.0G" },
        { INT64_MAX, "9223372T" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(print_short(rows[i].count).text, rows[i].text);
    static const struct {
        double usd;
        const char *text;
    } costs[] = {
        { 0, "$0.00" },          { 1.256, "$1.26" },        { 0.1, "$0.10" },
        { 0.05, "$0.05" },       { 0.0031, "$0.0031" },     { 0.012, "$0.012" },
        { 0.00009, "$0.00009" }, { 0.000001, "$0.000001" }, { 1e-9, "<$0.000001" },
    };
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
        assert_string_equal(print_usd(costs[i].usd).text, costs[i].text);
    assert_string_equal(print_count(1234567).text, "1,234,567");
    assert_string_equal(print_count(-1).text, "-");
}

static void check_state(const char *json, const char *text) {
    json_t *task = json_loads(json, 0, NULL);
    assert_non_null(task);
    assert_string_equal(print_state(task).text, text);
    json_decref(task);
}

TEST(a_state_shows_its_hold_and_phase) {
    check_state("{\"state\":\"ready\",\"hold\":null,\"run\":null}", "ready");
    check_state("{\"state\":\"held\",\"hold\":\"review\"}", "held:review");
    check_state("{\"state\":\"running\",\"run\":{\"phase\":\"working\"}}", "running");
    check_state("{\"state\":\"running\",\"run\":{\"phase\":\"stopping\"}}", "running:stopping");
    check_state("{}", "?");
}

TEST(lines_are_cut_and_safe) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    (void)setenv("LC_ALL", "C", 1);
    print_line(&out, "one\x1b[31m two\nthree", 0);
    assert_string_equal(strbuf_text(&out), "one two three");
    strbuf_clear(&out);
    print_line(&out, "one two three", 8);
    assert_string_equal(strbuf_text(&out), "one two~");
}

TEST(texts_are_wrapped_at_blanks) {
    (void)setenv("LC_ALL", "C", 1);
    (void)setenv("COLUMNS", "30", 1);
    static const struct {
        const char *text;
        unsigned lines;
        const char *wrapped;
    } rows[] = {
        { "short", 9, "short" },
        { "twenty letters in two lines", 9, "twenty letters in two\n        lines" },
        { "onewordthatislongerthanaline and", 9, "onewordthatislongertha\n        naline and" },
        { "a text that needs three lines or more of it", 2,
          "a text that needs\n        three lines or more o~" },
        { "日本語のタイトルを持つとても", 9, "日本語のタイトルを持つ\n        とても" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        print_wrapped(&out, rows[i].text, 8, rows[i].lines);
        assert_string_equal(strbuf_text(&out), rows[i].wrapped);
    }
    (void)unsetenv("COLUMNS");
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    print_wrapped(&out, "in a pipe everything stays on one line, however long", 8, 2);
    assert_string_equal(strbuf_text(&out), "in a pipe everything stays on one line, however long");
}

TEST(a_list_is_printed_in_pieces_with_one_head) {
    (void)unsetenv("COLUMNS");
    struct rows list = rows_new(task_list_columns);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    json_t *task =
        json_pack("{s:s, s:s, s:s, s:I, s:s}", "id", "web-1", "state", "ready", "project", "web",
                  "changed_at", (json_int_t)(NOW - 5000), "title", "a\x1b[2Jb");
    rows_add_item(&list, task, NOW);
    rows_flush(&list, &out);
    rows_add_item(&list, task, NOW);
    rows_flush(&list, &out);
    rows_finish(&list);
    json_decref(task);
    assert_string_equal(strbuf_text(&out), "  ID     STATE  PROJECT  AGENT  AGE  GATE  TITLE\n"
                                           "  web-1  ready  web      -      5 s  -     ab\n"
                                           "  web-1  ready  web      -      5 s  -     ab\n");
}
