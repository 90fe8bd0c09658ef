/* test_base_text.c: errors, string buffers, JSON output and number parsing.
 *
 * JSON texts are compared byte by byte, because scripts and stored fixtures depend on them. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "harness/test.h"

/* ---- error ---- */

TEST(error_set_returns_its_code_and_keeps_the_message) {
    struct error err = { 0 };
    assert_int_equal(error_set(&err, -ENOENT, "no task '%s'", "parser"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_string_equal(err.text, "no task 'parser'");
}

TEST(error_functions_accept_a_null_error) {
    assert_int_equal(error_set(NULL, -EPERM, "no"), -EPERM);
    assert_true(error_prefix(NULL, "line %d", 3) < 0);
}

TEST(error_prefix_says_where_and_keeps_the_code) {
    struct error err = { 0 };
    (void)error_set(&err, -EINVAL, "unknown key 'colour'");
    assert_int_equal(error_prefix(&err, "line %d", 3), -EINVAL);
    assert_int_equal(error_prefix(&err, "file '%s'", "a.toml"), -EINVAL);
    assert_string_equal(err.text, "file 'a.toml': line 3: unknown key 'colour'");
}

TEST(error_may_be_wrapped_in_its_own_message) {
    struct error err = { 0 };
    (void)error_set(&err, -EIO, "disk gone");
    (void)error_set(&err, -EIO, "cannot save: %s", err.text);
    assert_string_equal(err.text, "cannot save: disk gone");
    (void)error_prefix(&err, "again %s", err.text);
    assert_string_equal(err.text, "again cannot save: disk gone: cannot save: disk gone");
}

TEST(error_truncates_a_message_that_is_too_long) {
    struct error err = { 0 };
    char text[2 * ERROR_TEXT_MAX];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    (void)error_set(&err, -EINVAL, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    (void)error_prefix(&err, "here");
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "here: xxx", 9);
    (void)error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

/* ---- alloc ---- */

TEST(xgrow_makes_room_and_keeps_the_items) {
    size_t capacity = 0;
    uint32_t *items = NULL;
    int moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        size_t before = capacity;
        items = xgrow(items, &capacity, i + 1, sizeof(*items));
        assert_true(capacity >= i + 1);
        assert_true(capacity == before || capacity >= before + before / 2);
        moves += capacity != before;
        items[i] = i;
    }
    assert_true(moves < 30);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(items[i], i);
    free(items);
}

TEST(xstrndup_stops_at_the_size_or_at_the_end) {
    _cleanup_(freep) char *part = xstrndup("parser", 3);
    _cleanup_(freep) char *whole = xstrndup("parser", 30);
    _cleanup_(freep) char *copy = xstrdup("");
    assert_string_equal(part, "par");
    assert_string_equal(whole, "parser");
    assert_string_equal(copy, "");
}

/* ---- strbuf ---- */

TEST(strbuf_that_is_zeroed_reads_as_empty) {
    struct strbuf buf = STRBUF_INIT;
    assert_string_equal(strbuf_text(&buf), "");
    strbuf_clear(&buf);
    assert_string_equal(buf.text, "");
    strbuf_finish(&buf);
    strbuf_finish(&buf);
}

TEST(strbuf_grows_in_every_way_and_always_ends_in_nul) {
    _cleanup_(strbuf_finish) struct strbuf buf = STRBUF_INIT;
    strbuf_add(&buf, NULL, 0);
    strbuf_puts(&buf, "run");
    strbuf_putc(&buf, ' ');
    strbuf_printf(&buf, "%d of %s", 7, "nine");
    strbuf_add(&buf, "!?", 1);
    strbuf_repeat(&buf, "ab", 3);
    strbuf_repeat(&buf, "ab", 0);
    assert_string_equal(strbuf_text(&buf), "run 7 of nine!ababab");
    assert_int_equal(buf.length, strlen(buf.text));
    strbuf_clear(&buf);
    assert_string_equal(strbuf_text(&buf), "");
}

TEST(strbuf_printf_is_right_at_every_edge_of_the_capacity) {
    for (size_t filled = 0; filled < 200; filled++) {
        _cleanup_(strbuf_finish) struct strbuf buf = STRBUF_INIT;
        strbuf_repeat(&buf, "x", filled);
        strbuf_printf(&buf, "%s-%d", "a text of some length", 42);
        assert_int_equal(buf.length, filled + 24);
        assert_string_equal(buf.text + filled, "a text of some length-42");
    }
}

TEST(strbuf_take_hands_the_text_over) {
    struct strbuf buf = STRBUF_INIT;
    strbuf_puts(&buf, "mine");
    _cleanup_(freep) char *text = strbuf_take(&buf);
    _cleanup_(freep) char *empty = strbuf_take(&buf);
    assert_string_equal(text, "mine");
    assert_string_equal(empty, "");
    assert_null(buf.text);
}

/* ---- arena ---- */

TEST(arena_memory_is_zeroed_aligned_and_apart) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            unsigned char *piece = arena_alloc(&arena, size);
            assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(piece[i], 0); /* an overlap would show 0xff */
            memset(piece, 0xff, size);
            char *text = arena_strdup(&arena, "odd");
            assert_string_equal(text, "odd");
            memset(text, 0xff, 3);
        }
        arena_reset(&arena);
    }
}

TEST(arena_texts_stay_as_they_were) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    char *texts[2000];
    for (int i = 0; i < 2000; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "text %d", i);
        texts[i] = arena_strndup(&arena, text, sizeof(text));
        if (i % 100 == 0)
            memset(arena_alloc(&arena, 100000), 0xff, 100000);
    }
    for (int i = 0; i < 2000; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "text %d", i);
        assert_string_equal(texts[i], text);
    }
    assert_string_equal(arena_strndup(&arena, "parser", 3), "par");
}

TEST(arena_reset_keeps_one_block_only) {
    struct arena arena = ARENA_INIT;
    arena_reset(&arena);
    for (int i = 0; i < 10000; i++)
        (void)arena_alloc(&arena, 300);
    size_t full = arena.total;
    assert_true(full >= 3000000 && full < 3600000);
    arena_reset(&arena);
    size_t kept = arena.total;
    assert_true(kept > 0 && kept < full / 8);
    (void)arena_alloc(&arena, 1);
    assert_int_equal(arena.total, kept);
    arena_finish(&arena);
    assert_int_equal(arena.total, 0);
}

/* ---- json_write ---- */

static void write_sample(struct json_writer *w) {
    json_write_object_begin(w);
    json_write_key(w, "name");
    json_write_string(w, "parser");
    json_write_key(w, "runs");
    json_write_array_begin(w);
    json_write_int(w, 1);
    json_write_object_begin(w);
    json_write_key(w, "ok");
    json_write_bool(w, true);
    json_write_key(w, "late");
    json_write_bool(w, false);
    json_write_object_end(w);
    json_write_array_begin(w);
    json_write_array_end(w);
    json_write_array_end(w);
    json_write_key(w, "none");
    json_write_object_begin(w);
    json_write_object_end(w);
    json_write_key(w, "owner");
    json_write_null(w);
    json_write_object_end(w);
}

TEST(json_write_prints_compact_documents) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    write_sample(&w);
    assert_string_equal(out.text,
                        "{\"name\":\"parser\",\"runs\":[1,{\"ok\":true,\"late\":false},[]],"
                        "\"none\":{},\"owner\":null}");
}

TEST(json_write_prints_pretty_documents) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, true);
    write_sample(&w);
    assert_string_equal(out.text, "{\n"
                                  "  \"name\": \"parser\",\n"
                                  "  \"runs\": [\n"
                                  "    1,\n"
                                  "    {\n"
                                  "      \"ok\": true,\n"
                                  "      \"late\": false\n"
                                  "    },\n"
                                  "    []\n"
                                  "  ],\n"
                                  "  \"none\": {},\n"
                                  "  \"owner\": null\n"
                                  "}");
}

static void expect_printed(const char *text, const char *json) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_string(&w, text);
    assert_string_equal(out.text, json);
}

TEST(json_write_escapes_what_json_cannot_hold) {
    expect_printed("", "\"\"");
    expect_printed(NULL, "null");
    expect_printed("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    expect_printed("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    expect_printed("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
}

TEST(json_write_keeps_valid_utf8) {
    expect_printed("\xc3\xa4", "\"\xc3\xa4\"");                 /* 2 bytes */
    expect_printed("\xe2\x82\xac!", "\"\xe2\x82\xac!\"");       /* 3 bytes */
    expect_printed("\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""); /* 4 bytes */
    expect_printed("\xed\x9f\xbf", "\"\xed\x9f\xbf\"");         /* below the surrogates */
    expect_printed("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""); /* U+10FFFF */
}

#define BAD "\xef\xbf\xbd"

TEST(json_write_replaces_each_invalid_byte) {
    expect_printed("a\x80z", "\"a" BAD "z\"");                     /* no lead byte */
    expect_printed("\xc3", "\"" BAD "\"");                         /* truncated at the end */
    expect_printed("\xe2\x82", "\"" BAD BAD "\"");                 /* truncated at the end */
    expect_printed("\xf0\x9f\x98", "\"" BAD BAD BAD "\"");         /* truncated at the end */
    expect_printed("\xe2\x82\"", "\"" BAD BAD "\\\"\"");           /* truncated by a quote */
    expect_printed("\xc0\xaf", "\"" BAD BAD "\"");                 /* overlong */
    expect_printed("\xe0\x9f\xbf", "\"" BAD BAD BAD "\"");         /* overlong */
    expect_printed("\xf0\x8f\xbf\xbf", "\"" BAD BAD BAD BAD "\""); /* overlong */
    expect_printed("\xed\xa0\x80", "\"" BAD BAD BAD "\"");         /* surrogate */
    expect_printed("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""); /* beyond Unicode */
    expect_printed("\xff\xc3\xa4", "\"" BAD "\xc3\xa4\"");         /* the next one is fine */
}

TEST(json_write_packs_the_same_document_in_one_call_or_in_several) {
    _cleanup_(strbuf_finish) struct strbuf calls = STRBUF_INIT, one = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf several = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &calls, true);
    write_sample(&w);
    json_write_init(&w, &one, true);
    json_write_pack(&w, "{s:s, s:[i, {s:b, s:b}, []], s:{}, s:s}", "name", "parser", "runs", 1,
                    "ok", true, "late", false, "none", "owner", NULL);
    assert_string_equal(one.text, calls.text);
    json_write_init(&w, &several, true);
    json_write_pack(&w, "{s:s, s:[I", "name", "parser", "runs", (int64_t)1);
    json_write_pack(&w, "{s:b, s", "ok", true, "late");
    json_write_bool(&w, false);
    json_write_pack(&w, "}, []], s:{}, s:s}", "none", "owner", NULL);
    assert_string_equal(several.text, calls.text);
}

TEST(json_write_escapes_keys_too) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_object_begin(&w);
    json_write_key(&w, "a\"b");
    json_write_int(&w, 0);
    json_write_object_end(&w);
    assert_string_equal(out.text, "{\"a\\\"b\":0}");
}

TEST(json_write_prints_exact_numbers) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_array_begin(&w);
    json_write_int(&w, 0);
    json_write_int(&w, -10);
    json_write_int(&w, INT64_MAX);
    json_write_int(&w, INT64_MIN);
    json_write_double(&w, 1.25, 1);
    json_write_double(&w, -0.5, 3);
    json_write_double(&w, 2, 0);
    json_write_double(&w, NAN, 2);
    json_write_double(&w, -INFINITY, 2);
    json_write_array_end(&w);
    assert_string_equal(out.text, "[0,-10,9223372036854775807,-9223372036854775808,"
                                  "1.2,-0.500,2,null,null]");
}

TEST(json_write_puts_no_comma_between_documents) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    for (int i = 0; i < 3; i++) {
        json_write_array_begin(&w);
        json_write_int(&w, i);
        json_write_array_end(&w);
        strbuf_putc(&out, '\n');
    }
    assert_string_equal(out.text, "[0]\n[1]\n[2]\n");
}

TEST(json_write_nests_as_deep_as_promised) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    for (int i = 0; i < JSON_WRITE_DEPTH - 1; i++)
        json_write_array_begin(&w);
    for (int i = 0; i < JSON_WRITE_DEPTH - 1; i++)
        json_write_array_end(&w);
    assert_int_equal(out.length, 2 * (JSON_WRITE_DEPTH - 1));
}

static void value_without_a_key(struct json_writer *w) {
    json_write_object_begin(w);
    json_write_int(w, 1);
}

static void key_in_an_array(struct json_writer *w) {
    json_write_array_begin(w);
    json_write_key(w, "a");
}

static void key_without_a_value(struct json_writer *w) {
    json_write_object_begin(w);
    json_write_key(w, "a");
    json_write_object_end(w);
}

static void object_closed_as_array(struct json_writer *w) {
    json_write_object_begin(w);
    json_write_array_end(w);
}

static void one_end_too_many(struct json_writer *w) {
    json_write_array_end(w);
}

static void too_deep(struct json_writer *w) {
    for (int i = 0; i < JSON_WRITE_DEPTH; i++)
        json_write_array_begin(w);
}

static void expect_abort(void (*wrong)(struct json_writer *w)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct strbuf out = STRBUF_INIT;
        struct json_writer w;
        (void)signal(SIGABRT, SIG_DFL); /* the test library has its own handler */
        (void)close(STDERR_FILENO);
        json_write_init(&w, &out, false);
        wrong(&w);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(json_write_stops_at_a_wrong_shape) {
    expect_abort(value_without_a_key);
    expect_abort(key_in_an_array);
    expect_abort(key_without_a_value);
    expect_abort(object_closed_as_array);
    expect_abort(one_end_too_many);
    expect_abort(too_deep);
}

/* ---- number ---- */

static void expect_int(const char *text, int64_t value) {
    int64_t parsed = ~value;
    assert_int_equal(number_parse_int(text, &parsed, NULL), 0);
    assert_true(parsed == value);
}

static void expect_milli(const char *text, int64_t value) {
    int64_t parsed = ~value;
    assert_int_equal(number_parse_milli(text, &parsed, NULL), 0);
    assert_true(parsed == value);
}

typedef int (*parse_function)(const char *text, int64_t *ret_value, struct error *err);

static void expect_refused(parse_function parse, const char *text, int code) {
    int64_t value = 77;
    struct error err = { 0 };
    assert_int_equal(parse(text, &value, &err), code);
    assert_int_equal(err.code, code);
    assert_true(value == 77); /* untouched on failure */
}

TEST(number_parse_int_reads_exact_integers) {
    expect_int("0", 0);
    expect_int("-0", 0);
    expect_int("+7", 7);
    expect_int("007", 7);
    expect_int("-42", -42);
    expect_int("9223372036854775807", INT64_MAX);
    expect_int("-9223372036854775808", INT64_MIN);
}

TEST(number_parse_int_refuses_junk_and_overflow) {
    static const char *const junk[] = { "",   " ",    "1 ", " 1",  "+",   "-",   "--1",
                                        "1a", "0x10", "1.", "1.0", "1e3", "1_0", "\n1" };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++)
        expect_refused(number_parse_int, junk[i], -EINVAL);
    expect_refused(number_parse_int, "9223372036854775808", -ERANGE);
    expect_refused(number_parse_int, "-9223372036854775809", -ERANGE);
    expect_refused(number_parse_int, "99999999999999999999999999999999999999", -ERANGE);
    expect_refused(number_parse_int, "99999999999999999999999999999999999999x", -EINVAL);
}

TEST(number_parse_milli_reads_up_to_three_places) {
    expect_milli("0", 0);
    expect_milli("1", 1000);
    expect_milli("1.5", 1500);
    expect_milli("1.05", 1050);
    expect_milli("1.005", 1005);
    expect_milli("-0.25", -250);
    expect_milli("+2.500", 2500);
    expect_milli("9223372036854775.807", INT64_MAX);
    expect_milli("-9223372036854775.808", INT64_MIN);
}

TEST(number_parse_milli_refuses_junk_and_overflow) {
    static const char *const junk[] = { "",    ".",    ".5",    "1.",     "1..2",   "1.2.3",
                                        "1,5", "1.5 ", "1.-5",  "1.5000", "1.2345", "1e3",
                                        "-",   "nan",  "1.5kg", "-.5" };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++)
        expect_refused(number_parse_milli, junk[i], -EINVAL);
    expect_refused(number_parse_milli, "9223372036854775.808", -ERANGE);
    expect_refused(number_parse_milli, "-9223372036854775.809", -ERANGE);
    expect_refused(number_parse_milli, "9223372036854776", -ERANGE);
}

TEST(number_print_span_takes_the_largest_whole_unit) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = { { 86400000, "24 h" },  { 3600000, "1 h" }, { 5400000, "90 min" },
                 { 1800000, "30 min" }, { 1500, "1.5 s" },  { 0, "0 s" } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct strbuf out = STRBUF_INIT;
        number_print_span(&out, rows[i].ms);
        assert_string_equal(strbuf_text(&out), rows[i].text);
        strbuf_finish(&out);
    }
}

TEST(number_parse_span_reads_units_and_bare_seconds) {
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = { { "90", 90000 },     { "90s", 90000 },   { "30m", 1800000 },
                 { "1.5h", 5400000 }, { "1d", 86400000 }, { "0.001s", 1 },
                 { "0", 0 },          { "0.5", 500 },     { "36500d", INT64_C(3153600000000) } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t ms = -1;
        assert_int_equal(number_parse_span(rows[i].text, &ms, NULL), 0);
        assert_true(ms == rows[i].ms);
    }
    static const char *const junk[] = { "", "s", "m5", "5x", "1h30m", "-1h", " 1h", "1h ", "1.h" };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++)
        expect_refused(number_parse_span, junk[i], -EINVAL);
    expect_refused(number_parse_span, "36501d", -ERANGE);
    expect_refused(number_parse_span, "99999999999999999999999999s", -ERANGE);
}

TEST(number_parse_size_reads_units_and_bare_megabytes) {
    static const struct {
        const char *text;
        int64_t mb;
    } rows[] = { { "512", 512 },
                 { "512MB", 512 },
                 { "512M", 512 },
                 { "1.5GB", 1536 },
                 { "2G", 2048 },
                 { "1TB", 1 << 20 },
                 { "2048KB", 2 },
                 { "1K", 1 },
                 { "0.5MB", 1 },
                 { "0", 0 },
                 { "1000000T", INT64_C(1048576000000) } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t mb = -1;
        assert_int_equal(number_parse_size(rows[i].text, &mb, NULL), 0);
        assert_true(mb == rows[i].mb);
    }
    static const char *const junk[] = {
        "", "MB", "5 MB", "5B", "5kb", "-1MB", "1.GB", "1GBB", "5s"
    };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++)
        expect_refused(number_parse_size, junk[i], -EINVAL);
    expect_refused(number_parse_size, "99999999999999999T", -ERANGE);
}

TEST(number_message_names_the_expected_form_even_for_long_junk) {
    char junk[1000];
    int64_t value;
    struct error err = { 0 };
    memset(junk, 'x', sizeof(junk));
    junk[sizeof(junk) - 1] = '\0';
    (void)number_parse_int(junk, &value, &err);
    assert_non_null(strstr(err.text, "is not a whole number"));
}

/* ---- time_ms ---- */

TEST(time_add_never_overflows) {
    assert_true(time_add(SECONDS(1), MINUTES(1)) == 61000);
    assert_true(time_add(TIME_NEVER, 0) == TIME_NEVER);
    assert_true(time_add(0, TIME_NEVER) == TIME_NEVER);
    assert_true(time_add(TIME_NEVER - 1, DAYS(1)) == TIME_NEVER);
    assert_true(time_add(-5, TIME_NEVER) == TIME_NEVER);
}
