/* test_copy.c: a copied history equals the original, also after interruptions. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/alloc.h"
#include "copy_kit.h"
#include "harness/test.h"
#include "history.h"

/* A backend with slow opens and commits. */
static bool has_server(enum kind from, enum kind to) {
    return from == POSTGRES || to == POSTGRES;
}

static uint64_t all_rows(const struct store_digest *digest) {
    uint64_t rows = 0;
    for (enum store_table table = 0; table < STORE_TABLE_MAX; table++)
        rows += digest->rows[table];
    return rows;
}

TEST_WITH(every_table_comes_over_as_it_was, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to),
                   *c = copy_kit_place(f, from);
        copy_kit_make_rich(f, a);
        struct store_copy_report there = copy_kit_copy(f, a, b), back = copy_kit_copy(f, b, c);
        for (enum store_table table = 0; table < STORE_TABLE_MAX; table++)
            if (there.digest.rows[table] == 0)
                fail_msg("the test has no rows of %s", store_table_name(table));
        assert_false(there.resumed);
        assert_int_equal(there.written, all_rows(&there.digest));
        assert_memory_equal(&there.digest, &back.digest, sizeof(back.digest));
        copy_kit_expect_same(a, b);
        copy_kit_expect_same(b, c);
    }
}

/* "task=19 progress=…", read directly from the file: a table that the scan does not know would be missing on both
 * sides of every other comparison. */
static void count_tables(const char *path, struct strbuf *out) {
    sqlite3 *db = NULL;
    sqlite3_stmt *list = NULL, *count = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                        " AND name <> 'name' AND name NOT LIKE 'sqlite%'"
                                        " ORDER BY name",
                                        -1, &list, NULL),
                     SQLITE_OK);
    while (sqlite3_step(list) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(list, 0);
        char sql[128];
        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"%s\"", table);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &count, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(count), SQLITE_ROW);
        int64_t rows = sqlite3_column_int64(count, 0);
        if (rows == 0)
            fail_msg(
                "table %s is empty: give copy_kit_make_rich rows of it, and bring them in scan.c "
                "and copy.c",
                table);
        strbuf_printf(out, "%s=%d ", table, (int)rows);
        sqlite3_finalize(count);
    }
    sqlite3_finalize(list);
    sqlite3_close(db);
}

TEST_WITH(no_table_of_the_file_is_left_out, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, SQLITE);
    _cleanup_(strbuf_finish) struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    copy_kit_make_rich(f, a);
    copy_kit_copy(f, a, b);
    count_tables(a, &from);
    count_tables(b, &to);
    assert_string_equal(strbuf_text(&from), strbuf_text(&to));
}

/* What kit_dump does not query: both sums, separately. */
static void keep_spent(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spent_row *row = &answer->spent[i];
        strbuf_printf(ctx, "%d %lld %s %s %lld %lld\n", (int)row->span, (long long)row->at,
                      row->project ? row->project : "-", row->agent ? row->agent : "-",
                      (long long)row->runs, (long long)row->tokens_in);
    }
}

static void spent_text(struct store *store, struct strbuf *out) {
    for (int days = 0; days <= 1; days++) {
        struct store_query question = {
            .kind = QUERY_SPENT, .days = days, .apart = true, .before_time = TIME_NEVER
        };
        store_query(store, &question, keep_spent, out);
    }
}

TEST_WITH(hours_and_days_are_copied_each_for_itself, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        copy_kit_make_rich(f, a);
        copy_kit_copy(f, a, b);
        struct store *store = kit_open(b, NULL);
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        spent_text(store, &out);
        store_close(store);
        assert_non_null(strstr(strbuf_text(&out), "2 259200000 - claude 3 20\n"));
        assert_null(
            strstr(strbuf_text(&out), "1 309600000 - claude")); /* its hourly sum is pruned */
        assert_non_null(strstr(strbuf_text(&out), "1 334800000 web - 3 30\n"));
    }
}

/* SQLite stores any bytes, PostgreSQL only characters (U+FFFD for invalid bytes): the histories are still equal. */
TEST_WITH(what_is_no_text_hinders_no_copy, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        struct run_row run = kit_run(1, 1);
        run.message = "cut in the middle of \xc3";
        struct store *store = kit_open(a, NULL);
        copy_kit_add_tasks(f->batch, 1, 1);
        store_put_run(f->batch, &run);
        kit_commit(store, f->batch);
        store_close(store);
        copy_kit_copy(f, a, b);
    }
}

TEST_WITH(numbers_that_were_given_are_not_given_again, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        struct store *store = kit_open(a, NULL);
        copy_kit_add_tasks(f->batch, 1, 3);
        store_prune_events(f->batch, 100);
        store_assign_numbers(f->batch, 40);
        kit_commit(store, f->batch);
        store_close(store);
        copy_kit_copy(f, a, b);
        store = kit_open(b, NULL);
        struct store_totals totals = kit_load(store, &(struct store_reader){ 0 });
        store_close(store);
        assert_int_equal(totals.last_task, 40);
        assert_int_equal(totals.last_event, 3);
        assert_int_equal(totals.first_event, 0);
    }
}

TEST_WITH(the_epoch_goes_on, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        for (unsigned i = 0; i < 5; i++)
            store_close(kit_open(a, NULL));
        copy_kit_copy(f, a, b);
        struct store_report report;
        store_close(kit_open(a, &report));
        assert_int_equal(report.epoch, 6); /* opening for reading is not counted */
        store_close(kit_open(b, &report));
        assert_true(report.epoch > 5);
    }
}

/* The same batches into both stores: the same batches are refused, and the contents stay equal. */
static void go_on(struct copy_kit *f, const char *a, const char *b, struct history *history) {
    struct store *left = kit_open(a, NULL), *right = kit_open(b, NULL);
    struct store_batch *other = store_batch_new();
    for (unsigned i = 0; i < 30; i++) {
        struct history again = *history;
        struct error x = { 0 }, y = { 0 };
        history_next(history, f->batch);
        history_next(&again, other);
        assert_int_equal(kit_try(left, f->batch, &x), kit_try(right, other, &y));
        assert_int_equal(x.code, y.code);
    }
    store_batch_free(other);
    store_close(left);
    store_close(right);
    copy_kit_expect_same(a, b);
}

TEST_WITH(any_history_goes_on_in_its_copy, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        for (uint64_t seed = 1; seed <= (has_server(from, to) ? 2 : 6); seed++) {
            f->url_count = 0;
            const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
            struct history history = history_begin(seed, true);
            struct store *store = kit_open(a, NULL);
            for (unsigned i = 0; i < 60; i++) {
                history_next(&history, f->batch);
                (void)kit_try(store, f->batch, NULL);
            }
            store_close(store);
            copy_kit_copy(f, a, b);
            copy_kit_expect_same(a, b);
            go_on(f, a, b, &history);
        }
    }
}

/* --- interrupted ----------------------------------------------------------------------------------- */

TEST_WITH(a_copy_that_ends_after_any_commit_is_resumed, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    static const size_t sizes[] = { 1, 7, 1000 };
    FOR_PAIRS(from, to) {
        unsigned ends = has_server(from, to) ? 3 : 12;
        for (size_t s = has_server(from, to) ? 1 : 0; s < ARRAY_SIZE(sizes); s++) {
            f->url_count = 0;
            const char *a = copy_kit_place(f, from);
            copy_kit_make_rich(f, a);
            unsigned commits = 1;
            for (unsigned n = 1; n <= commits; n += 1 + commits / ends) {
                f->url_count = 1;
                const char *b = copy_kit_place(f, to);
                struct stopping stopping = { .left = n };
                struct store_copy_report report = { 0 };
                assert_int_equal(copy_kit_try(f, a, b, sizes[s], &stopping, &report), -ECANCELED);
                assert_int_equal(stopping.reports, n);
                copy_kit_expect_unfinished(f, b);
                struct stopping rest = { 0 };
                if (copy_kit_try(f, a, b, sizes[s], &rest, &report) < 0)
                    fail_msg("after %u commits it does not go on: %s", n, f->err.text);
                assert_true(report.resumed);
                commits = n + rest.reports;
                uint64_t before = n * sizes[s]; /* at most: the totals are a separate commit */
                assert_true(report.written + before >= all_rows(&report.digest));
                assert_true(report.written < all_rows(&report.digest));
                copy_kit_expect_same(a, b);
            }
            assert_true(commits > 1);
        }
    }
}

TEST_WITH(a_copy_can_be_interrupted_again_and_again, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, a);
    struct store_copy_report report = { 0 };
    unsigned times = 0;
    int r;
    do {
        struct stopping stopping = { .left = 1 };
        r = copy_kit_try(f, a, b, 10, &stopping, &report);
        assert_true(r == 0 || r == -ECANCELED);
        assert_true(times++ < 100);
    } while (r < 0);
    assert_true(times > 5);
    copy_kit_expect_same(a, b);
}

TEST_WITH(a_copy_that_ends_before_it_was_compared_is_compared, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, a);
    struct stopping last = { 0 };
    struct store_copy_report report = { 0 };
    assert_int_equal(copy_kit_try(f, a, copy_kit_place(f, MEMORY), 1000, &last, &report), 0);
    struct stopping stopping = { .left = last.reports };
    assert_int_equal(copy_kit_try(f, a, b, 1000, &stopping, &report), -ECANCELED);
    report = copy_kit_copy(f, a, b);
    assert_true(report.resumed);
    assert_int_equal(report.written, 0);
    assert_true(all_rows(&report.digest) > 100);
    copy_kit_expect_same(a, b);
}
