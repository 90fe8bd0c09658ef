/* test_cli_top_log.c: a log on the screen: wrapped into rows, scrolled, searched, and limited in size. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/top.h"
#include "harness/test.h"

static void feed(struct top_log *log, const char *text) {
    top_log_feed(log, text, strlen(text));
}

static void log_begin(struct top_log *log, unsigned width, size_t height) {
    *log = (struct top_log){ 0 };
    top_log_open(log, "web-1", "out");
    top_log_size(log, width, height, true);
}

static void check_seen(const struct top_log *log, const char *seen) {
    struct top_cells cells = { .unicode = true };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    top_cells_size(&cells, log->width, (unsigned)log->height);
    top_log_draw(log, &cells, 0, (unsigned)log->height);
    top_cells_print(&cells, &out);
    assert_string_equal(strbuf_text(&out), seen);
    top_cells_finish(&cells);
}

TEST(lines_are_broken_and_pieces_do_not_matter) {
    static const char text[] = "one\n\nabcdefghijkl\n日本語日本語\nend";
    static const char seen[] = "one\n\nabcdefgh\nijkl\n日本語日\n本語\nend\n";
    struct top_log log;
    log_begin(&log, 8, 7);
    feed(&log, text);
    check_seen(&log, seen);
    top_log_finish(&log);
    /* Split in two at every character boundary. */
    for (size_t cut = 0; cut < strlen(text); cut++) {
        if (((unsigned char)text[cut] & 0xc0) == 0x80)
            continue;
        log_begin(&log, 8, 7);
        top_log_feed(&log, text, cut);
        feed(&log, text + cut);
        check_seen(&log, seen);
        top_log_finish(&log);
    }
}

TEST(another_width_wraps_again_and_keeps_the_position) {
    struct top_log log;
    log_begin(&log, 10, 2);
    feed(&log, "0123456789abcdef\nsecond\nthird\nfourth\n");
    top_log_move(&log, -TOP_FAR);
    top_log_move(&log, 2);
    check_seen(&log, "second\nthird\n");
    top_log_size(&log, 4, 2, true);
    check_seen(&log, "seco\nnd\n");
    top_log_size(&log, 80, 2, true);
    check_seen(&log, "second\nthird\n");
    /* The match stays visible. */
    assert_int_equal(top_log_search(&log, "third", false), 1);
    top_log_move(&log, -TOP_FAR);
    top_log_size(&log, 40, 2, true);
    check_seen(&log, "0123456789abcdef\nsecond\n"); /* it was not found */
    top_log_move(&log, 1);
    top_log_size(&log, 3, 2, true);
    check_seen(&log, "ond\nthi\n");
    top_log_size(&log, 3, 1, true); /* also with fewer lines */
    check_seen(&log, "thi\n");
    top_log_finish(&log);
}

TEST(tabs_go_to_the_next_eighth_column) {
    struct top_log log;
    log_begin(&log, 20, 2);
    feed(&log, "a\tb\n\tc");
    check_seen(&log, "a       b\n        c\n");
    top_log_finish(&log);
}

TEST(the_end_is_followed_until_the_user_scrolls_up) {
    struct top_log log;
    log_begin(&log, 20, 2);
    feed(&log, "1\n2\n3\n");
    check_seen(&log, "2\n3\n");
    top_log_move(&log, -1);
    assert_false(log.follow);
    feed(&log, "4\n");
    check_seen(&log, "1\n2\n");
    top_log_move(&log, 99);
    assert_true(log.follow);
    feed(&log, "5\n");
    check_seen(&log, "4\n5\n");
    top_log_finish(&log);
}

TEST(a_line_of_ten_megabytes_costs_little_and_is_cut) {
    struct top_log log;
    static char piece[16384];
    memset(piece, 'x', sizeof(piece));
    log_begin(&log, 80, 2);
    for (int i = 0; i < 640; i++)
        top_log_feed(&log, piece, sizeof(piece));
    feed(&log, "the end");
    assert_true(log.cut);
    assert_true(log.text.length <= TOP_LOG_MOST + TOP_LOG_MOST / 4);
    assert_true(log.count <= log.text.length / 80 + 2);
    assert_int_equal(top_log_search(&log, "THE END", false), 1);
    top_log_finish(&log);
}

TEST(a_search_continues_and_wraps_around) {
    struct top_log log;
    log_begin(&log, 10, 1);
    feed(&log, "an error\nfine\nanother Error here\nlast\n");
    top_log_move(&log, -TOP_FAR);
    assert_int_equal(top_log_search(&log, "error", false), 1);
    check_seen(&log, "an error\n");
    assert_int_equal(top_log_search(&log, "error", false), 1);
    check_seen(&log, "another Er\n"); /* found across the end of a row */
    assert_int_equal(top_log_search(&log, "error", false), 2);
    check_seen(&log, "an error\n");
    assert_int_equal(top_log_search(&log, "error", true), 2);
    check_seen(&log, "another Er\n");
    assert_int_equal(top_log_search(&log, "error", true), 1);
    assert_int_equal(top_log_search(&log, "nothing", false), 0);
    assert_int_equal(top_log_search(&log, "", false), 0);
    assert_int_equal(top_log_search(&log, "a text that is longer than all that is there is", false),
                     0);
    top_log_finish(&log);
}

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77; /* skipped: the widths depend on the C library */
    return tests_run();
}
