/* test_base_utf8.c: what is text, and what is made of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/utf8.h"

/* Wherever it stands among letters that are read eight at a time. */
static void what_is_no_text_is_found_and_made_one(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *cleaned; /* NULL: it is text */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_text_is_found_and_made_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
