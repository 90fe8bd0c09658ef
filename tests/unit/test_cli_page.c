/* test_cli_page.c: escapes text for Markdown and HTML pages, and parses times in the past. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "cli/page.h"
#include "harness/test.h"

static const char hostile[] =
    "# <img src=x onerror=\"a()\"> [x](javascript:b) `c` | *d* & \x1b[31me\n1. f";

TEST(in_markdown_nothing_is_markup) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct page page = { .out = &out };
    page_begin(&page, "T");
    page_heading(&page, "H", 2);
    page_item(&page, "a_b", hostile, "run `x`");
    page_line(&page, "1. no list");
    page_table(&page, (const char *[]){ "x|y", "z" }, 2);
    page_row(&page, (const char *[]){ "-", "2.5" });
    page_end(&page);
    assert_string_equal(
        strbuf_text(&out),
        "# T\n\n## H (2)\n\n"
        "- **a\\_b** \\# \\<img src=x onerror=\"a()\"\\> \\[x\\](javascript:b) \\`c\\` \\| "
        "\\*d\\* \\& e 1. f `run 'x'`\n\n"
        "1\\. no list\n\n"
        "| x\\|y | z |\n|---|---|\n| \\- | 2.5 |\n\n");
}

TEST(in_html_nothing_is_markup) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct page page = { .html = true, .out = &out };
    page_begin(&page, "<T>'");
    page_item(&page, hostile, hostile, hostile);
    page_table(&page, (const char *[]){ hostile }, 1);
    page_row(&page, (const char *[]){ hostile });
    page_end(&page);
    const char *text = strbuf_text(&out);
    assert_non_null(strstr(text, "<title>&lt;T&gt;&#39;</title>"));
    assert_non_null(strstr(text, "default-src 'none'"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "\x1b"));
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "&lt;img src=x onerror=&quot;a()&quot;&gt;"));
         at++)
        count++;
    assert_int_equal(count, 5);
    static const char *const pairs[][2] = { { "<ul>", "</ul>" },
                                            { "<table>", "</table>" },
                                            { "<tbody>", "</tbody>" },
                                            { "<body>", "</body>" } };
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        assert_true(strstr(text, pairs[i][0]) < strstr(text, pairs[i][1]));
}

TEST(times_in_the_past_are_parsed) {
    (void)setenv("TZ", "UTC0", 1);
    tzset();
    const time_ms now = DAYS(20000) + HOURS(7);
    static const struct {
        const char *text;
        time_ms since; /* 0: refused */
    } rows[] = {
        { "12h", DAYS(19999) + HOURS(19) },
        { "today", DAYS(20000) },
        { "yesterday", DAYS(19999) },
        { "06:30", DAYS(20000) + HOURS(6) + MINUTES(30) },
        { "22:00", DAYS(19999) + HOURS(22) },
        { "2024-10-03", DAYS(19999) },
        { "2999-01-01", 0 },
        { "tomorrow", 0 },
        { "0s", 0 },
        { "12", 0 },
        { "", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err = { 0 };
        time_ms since = 0;
        int r = digest_since(rows[i].text, now, &since, &err);
        if ((r == 0) != (rows[i].since != 0) || since != rows[i].since)
            fail_msg("'%s' was read as %lld (%s)", rows[i].text, (long long)since, err.text);
    }
}
