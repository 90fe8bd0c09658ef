/* test_cli_top_list.c: the cost of a list depends on its visible rows, not on its length; the selection is kept. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cli/top.h"
#include "harness/test.h"

#define PAGE 100

/* A daemon with tasks t-FIRST … t-LAST that returns pages of PAGE. */
struct world {
    int64_t first, last;
    unsigned asked;
    bool broken;
};

static int fetch(void *ctx, const char *cursor, json_t *page, char **ret_next, struct error *err) {
    struct world *w = ctx;
    int64_t at = w->first;
    w->asked++;
    if (w->broken)
        return error_set(err, -5, "it does not answer");
    assert_true(!cursor || number_parse_int(cursor, &at, NULL) == 0);
    for (; at <= w->last && json_array_size(page) < PAGE; at++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "t-%" PRId64, at);
        json_array_append_new(page, json_pack("{s:s}", "id", id));
    }
    if (at <= w->last) {
        char next[24];
        (void)snprintf(next, sizeof(next), "%" PRId64, at);
        *ret_next = xstrdup(next);
    }
    return 0;
}

static unsigned load_all(struct top_list *list, struct world *w) {
    unsigned before = w->asked;
    while (top_list_wants(list))
        assert_int_equal(top_list_load(list, fetch, w, NULL), 0);
    return w->asked - before;
}

static size_t loaded_pages(const struct top_list *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->page_count; i++)
        count += list->pages[i].rows != NULL;
    return count;
}

static void check_selected(const struct top_list *list, const char *id) {
    const json_t *task = top_list_selected(list);
    assert_non_null(task);
    assert_string_equal(get_text(task, "id", ""), id);
}

TEST(only_what_is_seen_is_asked_for) {
    struct world w = { .first = 1, .last = 100000 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    assert_int_equal(load_all(&list, &w), 1);
    assert_int_equal(top_list_known(&list), PAGE);
    assert_false(list.complete);
    check_selected(&list, "t-1");
    top_list_finish(&list);
}

TEST(going_down_loads_the_next_pages_and_drops_the_first) {
    struct world w = { .first = 1, .last = 100000 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    for (int i = 0; i < 999; i++) {
        top_list_move(&list, 1);
        (void)load_all(&list, &w);
        assert_true(loaded_pages(&list) <= 6);
    }
    check_selected(&list, "t-1000");
    assert_int_equal(list.top, 1000 - 20);
    /* Back to the beginning: its page is fetched again. */
    top_list_move(&list, -TOP_FAR);
    assert_null(top_list_row(&list, 0));
    assert_int_equal(load_all(&list, &w), 1);
    check_selected(&list, "t-1");
    top_list_finish(&list);
}

TEST(the_end_is_found_without_keeping_the_way) {
    struct world w = { .first = 1, .last = 100000 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    top_list_move(&list, TOP_FAR);
    while (top_list_wants(&list)) {
        assert_int_equal(top_list_load(&list, fetch, &w, NULL), 0);
        assert_true(loaded_pages(&list) <= 6);
    }
    assert_int_equal(w.asked, 100000 / PAGE);
    check_selected(&list, "t-100000");
    assert_true(list.complete && !list.to_end);
    top_list_finish(&list);
}

TEST(a_key_ends_the_way_to_the_end) {
    struct world w = { .first = 1, .last = 100000 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    top_list_move(&list, TOP_FAR);
    assert_int_equal(top_list_load(&list, fetch, &w, NULL), 0);
    top_list_move(&list, -1);
    assert_true(load_all(&list, &w) <= 1);
    top_list_finish(&list);
}

TEST(the_selection_stays_with_its_task) {
    struct world w = { .first = 10, .last = 60 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    top_list_move(&list, 5);
    check_selected(&list, "t-15");
    w.first = 3; /* seven new tasks above it */
    top_list_stale(&list);
    assert_int_equal(load_all(&list, &w), 1);
    check_selected(&list, "t-15");
    assert_int_equal(list.selected, 12);
    w.first = 16; /* the task was deleted: the next one takes its line */
    top_list_stale(&list);
    (void)load_all(&list, &w);
    assert_int_equal(list.selected, 12);
    w.last = 15; /* all tasks were deleted */
    top_list_stale(&list);
    (void)load_all(&list, &w);
    assert_null(top_list_selected(&list));
    assert_int_equal(top_list_known(&list), 0);
    top_list_finish(&list);
}

TEST(news_ask_only_for_what_is_seen) {
    struct world w = { .first = 1, .last = 100000 };
    struct top_list list = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    for (int i = 0; i < 50; i++) {
        top_list_move(&list, 19);
        (void)load_all(&list, &w);
    }
    char *id = xstrdup(get_text(top_list_selected(&list), "id", ""));
    top_list_stale(&list);
    assert_true(load_all(&list, &w) <= 2);
    check_selected(&list, id);
    free(id);
    top_list_finish(&list);
}

TEST(a_failure_keeps_the_rows_and_a_refusal_ends_the_asking) {
    struct world w = { .first = 1, .last = 50 };
    struct top_list list = { 0 };
    struct error err = { 0 };
    top_list_height(&list, 20);
    (void)load_all(&list, &w);
    w.broken = true;
    top_list_stale(&list);
    assert_int_equal(top_list_load(&list, fetch, &w, &err), -5);
    check_selected(&list, "t-1");
    assert_true(top_list_wants(&list));
    top_list_refuse(&list);
    assert_false(top_list_wants(&list));
    w.broken = false;
    top_list_stale(&list); /* after an event it may be known */
    (void)load_all(&list, &w);
    check_selected(&list, "t-1");
    top_list_finish(&list);
}

TEST(a_smaller_screen_keeps_the_selection_on_it) {
    struct world w = { .first = 1, .last = 50 };
    struct top_list list = { 0 };
    top_list_height(&list, 40);
    (void)load_all(&list, &w);
    top_list_move(&list, 35);
    top_list_height(&list, 10);
    assert_int_equal(list.top, 26);
    top_list_height(&list, 45); /* a larger screen has no empty lines while there are rows */
    assert_int_equal(list.top, 5);
    top_list_finish(&list);
}
