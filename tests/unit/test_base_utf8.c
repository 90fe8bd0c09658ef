/* test_base_utf8.c: validates UTF-8 and replaces invalid bytes. */

#include <string.h>

#include "base/json_write.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "harness/test.h"

/* At every offset among ASCII characters, which are read eight at a time. */
TEST(invalid_utf8_is_found_and_replaced) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *cleaned; /* NULL: it is valid */
    } cases[] = {
        { "", 1, "\xef\xbf\xbd" },
        { "\xff", 1, "\xef\xbf\xbd" },
        { "\xc3", 1, "\xef\xbf\xbd" },
        { "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\x01", 1, NULL },
        { "\x7f", 1, NULL },
        { "\xc3\xa4", 2, NULL },
        { "\xf0\x9f\x9a\x80", 4, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t at = 0; at <= 20; at++) {
            _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
            _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
            _cleanup_(strbuf_finish) struct strbuf cleaned = STRBUF_INIT;
            strbuf_add(&text, "abcdefghijklmnopqrst", at);
            strbuf_add(&expected, text.text, text.length);
            strbuf_add(&text, cases[i].bytes, cases[i].size);
            strbuf_puts(&expected, cases[i].cleaned ? cases[i].cleaned : cases[i].bytes);
            strbuf_puts(&text, &"0123456789"[at % 10]);
            strbuf_puts(&expected, &"0123456789"[at % 10]);
            assert_int_equal(utf8_is_clean(text.text, text.length), !cases[i].cleaned);
            utf8_clean(text.text, text.length, &cleaned);
            assert_string_equal(strbuf_text(&cleaned), strbuf_text(&expected));
        }
}

TEST(control_characters_are_removed_from_a_line) {
    static const char *const controls[] = {
        "\x01",         "\t",           "\n",           "\x1b",
        "\x7f",         "\xc2\x80",     "\xc2\x9b",     "\xc2\x9f",
        "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8",
        "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9",
    };
    static const char *const others[] = {
        " ",
        "a",
        "\xc2\xa0",
        "\xc3\xa4",
        "\xd8\x9b",
        "\xd8\x9d",
        "\xe2\x80\x8d",
        "\xe2\x80\x90",
        "\xe2\x80\xaf",
        "\xe2\x81\xa5",
        "\xe2\x81\xaa",
        "\xf0\x9f\x9a\x80",
    };
    for (size_t i = 0; i < ARRAY_SIZE(controls); i++) {
        assert_true(utf8_is_control(controls[i], strlen(controls[i])));
        assert_false(utf8_is_line(controls[i], strlen(controls[i])));
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_false(utf8_is_control(others[i], strlen(others[i])));
        assert_true(utf8_is_line(others[i], strlen(others[i])));
    }
    assert_true(utf8_is_line("", 0));
    assert_false(utf8_is_line("a\xff", 2));
    assert_false(utf8_is_line("a\0b", 3));
}

TEST(json_has_no_control_in_it) {
    static const char text[] = "a\x7f\xc2\x9b\xe2\x80\xae\xc3\xa4\x1b";
    static const char want[] = "\"a\\u007f\\u009b\\u202e\xc3\xa4\\u001b\"";
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, escaped = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_string(&w, text);
    assert_string_equal(strbuf_text(&out), want);
    static const char printed[] = "{\"a\":\"\x7f\xc2\x9b\xe2\x80\xae\xc3\xa4\xf0\x9f\x9a\x80\"}";
    json_escape_controls(printed, strlen(printed), &escaped);
    assert_string_equal(strbuf_text(&escaped),
                        "{\"a\":\"\\u007f\\u009b\\u202e\xc3\xa4\xf0\x9f\x9a\x80\"}");
}
