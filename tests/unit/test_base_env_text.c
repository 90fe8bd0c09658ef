/* test_base_env_text.c: parses environment variables from files and command output. */
#include <errno.h>
#include <string.h>

#include "base/env_text.h"
#include "base/macros.h"
#include "harness/test.h"

/* With '|' instead of each NUL. Static memory, until the next call. */
static const char *parsed(const char *text) {
    static struct strbuf out;
    strbuf_clear(&out);
    assert_int_equal(env_text_parse(text, strlen(text), &out, NULL), 0);
    for (size_t i = 0; i < out.length; i++)
        out.text[i] = (char)(out.text[i] ? out.text[i] : '|');
    return strbuf_text(&out);
}

TEST(plain_values_go_to_the_end_of_their_line) {
    assert_string_equal(parsed(""), "");
    assert_string_equal(parsed("A=1\nB=two words # and this\n"), "A=1|B=two words # and this|");
    assert_string_equal(parsed("A=1  \t\r\nB=\nC==="), "A=1|B=|C===|");
    assert_string_equal(parsed("_a1=x"), "_a1=x|");
}

TEST(comments_and_empty_lines_are_skipped) {
    assert_string_equal(parsed("\n# A=1\n  \n\t# B\nC=3\n#"), "C=3|");
}

TEST(export_may_stand_before_a_name) {
    assert_string_equal(parsed("export A=1\n  export\tB=2\nexport=3"), "A=1|B=2|export=3|");
}

TEST(quotes_keep_what_is_inside) {
    assert_string_equal(parsed("A='a \"b\" \\n '\nB=\"x\\ty\\\"\\\\\\$z\\q\"  \nC=''"),
                        "A=a \"b\" \\n |B=x\ty\"\\$z\\q|C=|");
    assert_string_equal(parsed("A=\"one\ntwo\"\nB='\n'\n"), "A=one\ntwo|B=\n|");
}

/* The message names the line and contains no text of it, which may be a secret. */
TEST(errors_never_show_the_text) {
    const struct {
        const char *text, *message;
    } cases[] = {
        { "A=1\nsecret\n", "line 2 is not NAME=VALUE" },
        { "=secret", "line 1 is not NAME=VALUE" },
        { "1A=secret", "line 1 is not NAME=VALUE" },
        { "A B=secret", "line 1 is not NAME=VALUE" },
        { "A", "line 1 is not NAME=VALUE" },
        { "export ", "line 1 is not NAME=VALUE" },
        { "\nA=\"secret\n\n", "line 2: the quote is not closed" },
        { "A='\n' secret", "line 2: there is more behind the closing quote" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct error err = { 0 };
        assert_int_equal(env_text_parse(cases[i].text, strlen(cases[i].text), &out, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_null(strstr(strbuf_text(&out), "secret"));
    }
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    assert_int_equal(env_text_parse("A=1\0B", 5, &out, &err), -EINVAL);
    assert_string_equal(err.text, "there is a NUL in it");
}
