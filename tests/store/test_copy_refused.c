/* test_copy_refused.c: copies that are refused, and that reading a store does not change it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "copy_kit.h"
#include "harness/test.h"
#include "os/files.h"

static struct store *open_for(struct copy_kit *f, const char *url, enum store_use use) {
    struct store_options options = { .url = url, .reserve_bytes = -1, .use = use };
    struct store *store = NULL;
    (void)store_open(&options, &store, NULL, &f->err);
    return store;
}

static void expect_refused(struct copy_kit *f, const char *from, const char *to, int code,
                           const char *part) {
    struct store_copy_report report = { .written = 99 };
    int r = copy_kit_try(f, from, to, 0, NULL, &report);
    if (r != code)
        fail_msg("the code is %d instead of %d: %s", r, code, f->err.text);
    if (!strstr(f->err.text, part))
        fail_msg("'%s' should say '%s'", f->err.text, part);
    assert_int_equal(report.written, 99);
}

/* --- refused copies -------------------------------------------------------------------------------- */

static void interrupt(struct copy_kit *f, const char *from, const char *to) {
    struct stopping stopping = { .left = 2 };
    struct store_copy_report report;
    assert_int_equal(copy_kit_try(f, from, to, 10, &stopping, &report), -ECANCELED);
}

TEST_WITH(a_copy_is_not_resumed_when_from_has_changed, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to),
                   *other = copy_kit_place(f, from);
        copy_kit_make_rich(f, a);
        copy_kit_make_rich(f, other);
        interrupt(f, a, b);
        expect_refused(f, other, b, -ESTALE, "is another store");
        store_close(kit_open(a, NULL)); /* it may have been written to */
        expect_refused(f, a, b, -ESTALE, "has changed");
        copy_kit_expect_unfinished(f, b);
    }
}

TEST_WITH(a_place_that_is_not_empty_is_refused, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        copy_kit_make_rich(f, a);
        struct store *store = kit_open(b, NULL);
        store_put_limiter(f->batch, &(struct limiter_row){ .name = "one" });
        kit_commit(store, f->batch);
        store_close(store);
        _cleanup_(freep) char *before = copy_kit_dump(b);
        expect_refused(f, a, b, -ENOTEMPTY, "is not empty: give another place");
        _cleanup_(freep) char *after = copy_kit_dump(b);
        assert_string_equal(before, after);
    }
}

TEST_WITH(a_copy_that_is_finished_is_a_store_like_any_other, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, a);
    copy_kit_copy(f, a, b);
    expect_refused(f, a, b, -ENOTEMPTY, "is not empty");
    copy_kit_expect_same(a, b);
}

TEST_WITH(a_store_in_use_is_neither_read_nor_written, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to);
        copy_kit_make_rich(f, a);
        struct store *used = kit_open(a, NULL);
        expect_refused(f, a, b, -EBUSY, "store '");
        store_close(used);
        used = kit_open(b, NULL);
        expect_refused(f, a, b, -EBUSY, "store '");
        store_close(used);
        copy_kit_copy(f, a, b);
    }
}

TEST_WITH(nothing_is_made_when_there_is_nothing_to_copy, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    for (enum kind kind = 0; kind < copy_kit_kinds(); kind++) {
        f->url_count = 0;
        const char *b = copy_kit_place(f, SQLITE);
        expect_refused(f, copy_kit_place(f, kind), b, -ENOENT, "");
        assert_int_equal(access(b, F_OK), -1);
    }
}

TEST_WITH(a_store_is_not_copied_into_itself, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, a);
    expect_refused(f, a, a, -EINVAL, "into itself");
}

TEST_WITH(an_unfinished_copy_is_not_copied, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, a);
    interrupt(f, a, b);
    expect_refused(f, b, copy_kit_place(f, SQLITE), -EINPROGRESS, "is not finished");
}

static void put_into_copy(struct copy_kit *f, const char *url, const struct note_row *note) {
    struct store *store = open_for(f, url, STORE_USE_COPY);
    assert_non_null(store);
    store_put_note(f->batch, note);
    kit_commit(store, f->batch);
    store_close(store);
}

TEST_WITH(a_copy_that_differs_stays_unfinished, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    FOR_PAIRS(from, to) {
        f->url_count = 0;
        const char *a = copy_kit_place(f, from), *b = copy_kit_place(f, to),
                   *c = copy_kit_place(f, to);
        copy_kit_make_rich(f, a);
        interrupt(f, a, b);
        interrupt(f, a, c);
        put_into_copy(f, b, &(struct note_row){ .name = "one", .text = "more" });
        expect_refused(f, a, b, -EUCLEAN, "of 2 notes it has 3");
        copy_kit_expect_unfinished(f, b);
        expect_refused(f, a, b, -EUCLEAN, "of 2 notes it has 3");
        put_into_copy(f, c, &(struct note_row){ .name = "alert:disk", .text = "another" });
        expect_refused(f, a, c, -EUCLEAN, "differs in its notes");
        copy_kit_expect_unfinished(f, c);
    }
}

TEST_WITH(a_mark_that_says_nothing_is_refused, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    static const char *const texts[] = { "", "2 1 1 1 tasks 5 x", "1 1 1 1 nonsense 5 x",
                                         "1 1 1 tasks 5 x", "1 1 1 1 tasks 5" };
    const char *a = copy_kit_place(f, SQLITE), *b = copy_kit_place(f, MEMORY);
    copy_kit_make_rich(f, a);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        put_into_copy(f, b, &(struct note_row){ .name = "store.copy", .text = texts[i] });
        expect_refused(f, a, b, -EUCLEAN, "cannot be read");
    }
}

/* --- reading changes nothing ----------------------------------------------------------------------- */

static void expect_same_bytes(const char *a, const char *b) {
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT;
    strbuf_printf(&command, "diff -r -x '*-lock' '%s' '%s' >&2", a, b);
    if (system(strbuf_text(&command)) != 0)
        fail_msg("'%s' was changed by being read", a);
}

static char *sub_folder(struct copy_kit *f, const char *name) {
    char *path = kit_path(f->folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

/* Also if its last user did not close it: then most of the data is in the log. */
TEST_WITH(reading_leaves_every_byte_as_it_was, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    _cleanup_(freep) char *home = sub_folder(f, "home");
    _cleanup_(freep) char *crashed = sub_folder(f, "crashed");
    _cleanup_(freep) char *kept = sub_folder(f, "kept");
    _cleanup_(freep) char *a = kit_path(home, "store.db");
    _cleanup_(freep) char *b = kit_path(crashed, "store.db");
    copy_kit_make_rich(f, a);
    struct store *store = kit_open(a, NULL);
    copy_kit_add_tasks(f->batch, 40, 44);
    kit_commit(store, f->batch);
    kit_copy_folder(home, crashed);
    kit_copy_folder(home, kept);
    struct store_copy_report report = copy_kit_copy(f, b, copy_kit_place(f, MEMORY));
    assert_int_equal(report.digest.rows[STORE_TASKS], 24);
    expect_same_bytes(crashed, kept);

    store_close(store);
    kit_remove_files(kept);
    kit_copy_folder(home, kept);
    copy_kit_copy(f, a, copy_kit_place(f, MEMORY));
    expect_same_bytes(home, kept);
}

TEST_WITH(what_is_no_store_is_not_read, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    const char *a = copy_kit_place(f, SQLITE);
    static const char text[] = "a text that is long enough to be no database of anybody's";
    assert_int_equal(file_write(a, "", 0, &f->err), 0);
    expect_refused(f, a, copy_kit_place(f, MEMORY), -EUCLEAN, "is no store");
    assert_int_equal(file_write(a, text, strlen(text), &f->err), 0);
    expect_refused(f, a, copy_kit_place(f, MEMORY), -EUCLEAN, "is damaged");
}
