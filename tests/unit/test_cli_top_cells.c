/* test_cli_top_cells.c: any text stays within its area and its columns. */
#include <locale.h>
#include <string.h>

#include "cli/top.h"
#include "harness/test.h"

/* Draws the text in one line of `width` columns, followed by a '|'. */
static void check_put(bool unicode, unsigned width, const char *text, const char *seen) {
    struct top_cells cells = { .unicode = unicode };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, want = STRBUF_INIT;
    top_cells_size(&cells, width + 1, 1);
    (void)top_cells_put(&cells, 0, 0, width, TOP_PLAIN, text);
    (void)top_cells_put(&cells, 0, width, 1, TOP_PLAIN, "|");
    top_cells_print(&cells, &out);
    strbuf_printf(&want, "%s|\n", seen);
    assert_string_equal(strbuf_text(&out), strbuf_text(&want));
    top_cells_finish(&cells);
}

TEST(a_text_is_cut_with_a_mark) {
    check_put(true, 8, "short", "short   ");
    check_put(true, 5, "fives", "fives");
    check_put(true, 5, "longer", "long…");
    check_put(false, 5, "longer", "long~");
    check_put(true, 1, "longer", "…");
}

TEST(wide_characters_have_two_columns_or_none) {
    check_put(true, 6, "日本", "日本  ");
    check_put(true, 4, "日本", "日本");
    check_put(true, 4, "日本語", "日… "); /* half of a wide character would shift the line */
    check_put(true, 3, "日本", "日…");
    check_put(true, 6, "🚀 go", "🚀 go ");
}

TEST(combining_characters_stay_with_their_letter) {
    check_put(true, 4, "e\u0301a", "e\u0301a  ");
    check_put(true, 3, "\u0301ab", "ab "); /* no base character */
    check_put(true, 4, "日\u0301x", "日\u0301x ");
    /* Combining marks are cut to two. */
    check_put(true, 3, "a\u0300\u0301\u0302\u0303\u0304b", "a\u0300\u0301b ");
}

TEST(what_terminals_disagree_about_is_left_out) {
    check_put(true, 6, "a\u200db\u200fc", "abc   ");  /* a joiner, right to left */
    check_put(true, 4, "\u2600\ufe0fx", "\u2600x  "); /* a variation */
    check_put(true, 4, "a\U0001f3fbb", "ab  ");       /* a skin tone */
    check_put(true, 6, "a\u202eb\u2066c", "abc   ");
}

TEST(nothing_is_obeyed) {
    check_put(true, 8, "\x1b[31mr\x07", "?[31mr? ");
    check_put(true, 6, "a\tb\nc", "a b c ");
    check_put(true, 5, "a\xff\xc2\x9b", "a??  "); /* invalid UTF-8; the C1 control CSI */
    check_put(false, 6, "caf\u00e9 \u65e5", "caf? ?");
}

TEST(a_text_never_leaves_the_grid) {
    struct top_cells cells = { .unicode = true };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    top_cells_size(&cells, 3, 2);
    assert_int_equal(top_cells_put(&cells, 2, 0, 3, TOP_PLAIN, "below"), 0);
    assert_int_equal(top_cells_put(&cells, 0, 3, 3, TOP_PLAIN, "right"), 0);
    assert_int_equal(top_cells_put(&cells, 1, 2, 9, TOP_PLAIN, "日"), 1);
    top_cells_style(&cells, 1, 2, 99, TOP_BOLD);
    top_cells_style(&cells, 9, 0, 9, TOP_BOLD);
    top_cells_print(&cells, &out);
    assert_string_equal(strbuf_text(&out), "\n  …\n");
    top_cells_size(&cells, 0, 0);
    top_cells_finish(&cells);
}

TEST(long_lines_are_broken_at_blanks) {
    struct top_cells cells = { .unicode = true };
    struct top_text text = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    top_text_add(&text, TOP_PLAIN, 4, "why %s", "one two three");
    top_text_add(&text, TOP_PLAIN, 0, "%s", "abcdefghijklmnopq");
    top_cells_size(&cells, 13, 5);
    assert_int_equal(top_text_draw(&text, &cells, 0, 5), 4);
    top_cells_print(&cells, &out);
    assert_string_equal(strbuf_text(&out), "why one two\n    three\nabcdefghijklm\nnopq\n\n");
    /* Scrolling stops at the end. */
    text.top = 99;
    assert_int_equal(top_text_draw(&text, &cells, 0, 3), 4);
    assert_int_equal(text.top, 1);
    top_text_finish(&text);
    top_cells_finish(&cells);
}

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77; /* skipped: the widths depend on the C library */
    return tests_run();
}
