/* test_json_scan.c: few values out of a stream, whatever the stream is and however it comes. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/json_scan.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/test.h"

static const struct json_want wants[] = {
    { "type", 16 },           { "is_error", 2 }, { "usage/in", 32 },    { "usage/cache/read", 32 },
    { "message/*/text", 12 }, { "denials", 8 },  { "models/*/in", 32 }, { "models", 16 },
};

static void write_event(void *ctx, const struct json_value *values) {
    static const char *const kinds[] = { "none",   "null",   "false", "true",
                                         "number", "string", "list",  "object" };
    struct strbuf *out = ctx;
    strbuf_puts(out, "event");
    for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
        const struct json_value *v = &values[i];
        assert_int_equal(v->length, strlen(v->text));
        assert_true(v->length < wants[i].size);
        if (v->kind == SCAN_NONE)
            continue;
        strbuf_printf(out, " %s=%s", wants[i].path, kinds[v->kind]);
        if (v->kind == SCAN_STRING || v->kind == SCAN_OBJECT)
            strbuf_printf(out, "'%s'%s", v->text, v->is_cut ? "…" : "");
        if (v->kind == SCAN_NUMBER)
            strbuf_printf(out, "(%lld)", (long long)v->micro);
        if (v->count != 1)
            strbuf_printf(out, "*%u", v->count);
    }
    strbuf_puts(out, "\n");
}

static void write_text(void *ctx, const char *line) {
    strbuf_printf(ctx, "text %s\n", line);
}

static void scan_pieces(const char *bytes, size_t size, size_t first, size_t piece,
                        struct strbuf *out) {
    struct json_scan *scan = json_scan_new(
        wants, ARRAY_SIZE(wants), &(struct json_scan_calls){ write_event, write_text, out });
    for (size_t at = 0, next = first; at < size; at += next, next = piece) {
        next = next < size - at ? next : size - at;
        /* A copy of exactly these bytes: the address checks see who reads behind them. */
        char *copy = xmalloc(next + 1);
        memcpy(copy, bytes + at, next);
        json_scan_feed(scan, copy, next);
        free(copy);
    }
    json_scan_end(scan);
    json_scan_free(scan);
}

/* The same, however the stream is cut into pieces. */
static void expect_bytes(const char *bytes, size_t size, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (size_t first = 1; first <= size; first++)
        for (size_t piece = 1; piece <= size; piece = piece == 1 ? size : size + 1) {
            strbuf_clear(&out);
            scan_pieces(bytes, size, first, piece, &out);
            if (strcmp(strbuf_text(&out), expected) != 0)
                fail_msg("cut at %zu, then in pieces of %zu:\n%s\nexpected:\n%s\nof:\n%s", first,
                         piece, strbuf_text(&out), expected, bytes);
        }
}

static void expect(const char *text, const char *expected) {
    expect_bytes(text, strlen(text), expected);
}

TEST(the_order_of_keys_does_not_matter) {
    const char *expected = "event type=string'result' is_error=false usage/in=number(12000000)\n";
    expect("{\"type\":\"result\",\"is_error\":false,\"usage\":{\"in\":12}}\n", expected);
    expect("{\"usage\":{\"in\":12},\"is_error\":false,\"type\":\"result\"}\n", expected);
    expect("  { \"usage\" : { \"in\" : 12 } , \"is_error\":false,\r\"type\" :\"result\" } \r\n",
           expected);
}

TEST(what_is_not_wanted_is_passed_over) {
    const char *expected = "event type=string'a' usage/cache/read=number(7000000)\n";
    expect("{\"x\":{\"type\":\"no\",\"y\":[\"}\\\"]\",{\"type\":[]}]},\"type\":\"a\",\"usage\":{"
           "\"type\":1,"
           "\"cache\":{\"in\":3,\"read\":7,\"z\":null}}}\n",
           expected);
    expect("{\"is\":true,\"types\":\"no\",\"typ\":\"no\",\"t\\\"ype\":\"\\\\\",\"type\":\"a\","
           "\"usage\":{\"cache\":{\"read\":7}},\"n\":-1.5e+3}\n",
           expected);
    /* Of another kind than on the way to a value. */
    expect("{\"usage\":\"in\",\"message\":7,\"models\":null}\n", "event models=null\n");
    expect("{\"usage\":[{\"in\":1}]}\n", "event\n");
    expect("{}\n", "event\n");
}

TEST(a_key_may_be_written_with_escapes) {
    expect("{\"\\u0074ype\":\"a\"}\n", "event type=string'a'\n");
    expect("{\"this key is far longer than any that is wanted, and so it is none of them at all"
           "\":\"no\",\"type\":\"a\"}\n",
           "event type=string'a'\n");
}

TEST(escapes_become_characters) {
    expect("{\"type\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}\n", "event type=string'\"\\/\b\f\n\r\t'\n");
    expect("{\"type\":\"\\u00e9\\u20ac\\ud83d\\ude00\"}\n", "event type=string'é€😀'\n");
    expect("{\"type\":\"a\\ud83d\"}\n", "event type=string'a\xef\xbf\xbd'\n");
    expect("{\"type\":\"\\ud83dx\\ude00\"}\n", "event type=string'\xef\xbf\xbdx\xef\xbf\xbd'\n");
    expect("{\"type\":\"\\ud83d\\ud83d\\ude00\"}\n", "event type=string'\xef\xbf\xbd😀'\n");
    expect("{\"type\":\"a\\u0000b\"}\n", "event type=string'a\xef\xbf\xbd"
                                         "b'\n");
    expect("{\"type\":\"a\tb\"}\n", "event type=string'a\tb'\n");
}

TEST(a_long_value_is_cut_in_front_of_a_character) {
    expect("{\"type\":\"123456789012345\"}\n", "event type=string'123456789012345'\n");
    expect("{\"type\":\"1234567890123456\"}\n", "event type=string'123456789012345'…\n");
    expect("{\"type\":\"12345678901234é\",\"is_error\":true}\n",
           "event type=string'12345678901234'… is_error=true\n");
    expect("{\"type\":\"1234567890123😀z\"}\n", "event type=string'1234567890123'…\n");
    expect("{\"type\":\"1234567890123\\ud83d\\ude00z\\\"\",\"is_error\":true}\n",
           "event type=string'1234567890123'… is_error=true\n");
}

TEST(a_star_is_any_key_and_any_place) {
    expect("{\"message\":[{\"text\":\"one\"},{\"id\":1},{\"text\":\"two\"}]}\n",
           "event message/*/text=string'two'*2\n");
    expect("{\"models\":{\"opus\":{\"in\":1.5},\"sonnet\":{\"in\":2,\"out\":9}}}\n",
           "event models/*/in=number(3500000)*2 models=object'opus'*2\n");
}

TEST(lists_and_objects_have_their_size) {
    expect("{\"denials\":[]}\n", "event denials=list*0\n");
    expect("{\"denials\":[{\"a\":[1,2]},[],\"x\",null,3]}\n", "event denials=list*5\n");
    expect("{\"models\":{}}\n", "event models=object''*0\n");
    expect("{\"models\":{\"a model with a long name\":1}}\n",
           "event models=object'a model with a '…\n");
}

TEST(a_broken_line_costs_itself_alone) {
    static const char *const broken[] = {
        "{\"type\":\"no\"",
        "{\"type\":\"no",
        "{\"type\":\"no\\",
        "{\"type\":\"no\\u12",
        "{\"type\":",
        "{\"type\"",
        "{\"ty",
        "{",
        "{\"type\":tru}",
        "{\"type\":01}",
        "{\"type\":1.}",
        "{\"type\":-}",
        "{\"type\":\"a\",}",
        "{,}",
        "{\"type\" \"a\"}",
        "{type:1}",
        "{\"type\":\"a\"}}",
        "{\"type\":\"a\"} x",
        "{\"type\":\"a\"}{\"type\":\"b\"}",
        "{\"denials\":[1,]}",
        "{\"denials\":[1}",
        "{\"denials\":]}",
        "{\"denials\":[",
        "{\"type\":\"\\x\"}",
        "{\"type\":\"\\ud83g\"}",
        "{\"x\":[[[\"",
        "{\"x\":{\"y\":1,",
        "{\"type\":1234567890123456789012345678901234567890123456789012345678901234567890}",
        "{\"usage\":{\"in\":1",
        "{\"x\":\"\\",
    };
    char text[512];
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        (void)snprintf(text, sizeof(text), "{\"type\":\"a\"}\n%s\n{\"type\":\"b\"}\n", broken[i]);
        expect(text, "event type=string'a'\nevent type=string'b'\n");
        (void)snprintf(text, sizeof(text), "{\"type\":\"a\"}\n%s", broken[i]);
        expect(text, "event type=string'a'\n"); /* and as the end of the stream */
    }
}

TEST(an_object_may_be_printed_over_several_lines) {
    expect("{\n  \"type\": \"a\",\n  \"usage\": {\n    \"in\": 12\n  },\n  \"x\": [\n    1,\n    "
           "{\n    }\n  ]\n}\n"
           "{\n  \"type\": \"b\"\n}",
           "event type=string'a' usage/in=number(12000000)\nevent type=string'b'\n");
}

TEST(a_hole_breaks_the_line_that_it_is_in) {
    static const char in_string[] = "{\"type\":\"a\0\0\"}\n{\"type\":\"b\"}\n";
    static const char in_passed[] = "{\"x\":[\0\0],\"type\":\"a\"}\n{\"type\":\"b\"}\n";
    static const char in_key[] = "{\"type\0\":\"a\"}\n{\"type\":\"b\"}\n";
    static const char at_start[] = "\0\0\0{\"type\":\"a\"}\n{\"type\":\"b\"}\n";
    static const char in_text[] = "some\0text\n{\"type\":\"b\"}\n";
    const char *expected = "event type=string'b'\n";
    expect_bytes(in_string, sizeof(in_string) - 1, expected);
    expect_bytes(in_passed, sizeof(in_passed) - 1, expected);
    expect_bytes(in_key, sizeof(in_key) - 1, expected);
    expect_bytes(at_start, sizeof(at_start) - 1, expected);
    expect_bytes(in_text, sizeof(in_text) - 1, expected);
}

TEST(other_lines_are_texts) {
    expect("Error: no\r\n\n  \n{\"type\":\"a\"}\n [1]\nlast",
           "text Error: no\nevent type=string'a'\ntext [1]\n"
           "text last\n");
    char line[JSON_SCAN_LINE + 100], expected[JSON_SCAN_LINE + 100];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    (void)snprintf(expected, sizeof(expected), "text %.*s\n", JSON_SCAN_LINE - 1, line);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    scan_pieces(line, strlen(line), 700, 100, &out);
    assert_string_equal(strbuf_text(&out), expected);
}

TEST(the_last_line_needs_no_end_but_must_be_whole) {
    expect("{\"type\":\"a\"}", "event type=string'a'\n");
    expect("{\"type\":\"a\"} ", "event type=string'a'\n");
    expect("{\"type\":\"a\"", "");
    expect("{\"type\":\"a\"}x", "");
}

TEST(where_nothing_is_wanted_every_line_is_a_text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_scan *scan =
        json_scan_new(NULL, 0, &(struct json_scan_calls){ write_event, write_text, &out });
    json_scan_feed(scan, "{\"a\":1}\nb\n", 10);
    json_scan_end(scan);
    json_scan_free(scan);
    assert_string_equal(strbuf_text(&out), "text {\"a\":1}\ntext b\n");
}

TEST(numbers_are_exact) {
    static const struct {
        const char *text;
        int64_t micro;
    } good[] = {
        { "0", 0 },
        { "-0", 0 },
        { "12", 12000000 },
        { "-3", -3000000 },
        { "0.001424", 1424 },
        { "0.0027359999999999997", 2736 },
        { "1.424e-3", 1424 },
        { "1E2", 100000000 },
        { "5e-7", 1 },
        { "4e-7", 0 },
        { "5e-8", 0 },
        { "0.0000005", 1 },
        { "1794716932", 1794716932000000 },
        { "1794716932000", INT64_C(1794716932000000000) },
        { "1e300", INT64_MAX },
        { "-1e300", INT64_MIN },
        { "1e-300", 0 },
        { "123456789012345678901234567890", INT64_MAX },
        { "0e999999999999", 0 },
        { "0.1000000000000000000000000000000000001", 100000 },
        { "1e+2", 100000000 },
        { "100000000000000000000e-20", 1000000 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        int64_t micro = 77;
        if (!json_number_micro(good[i].text, &micro) || micro != good[i].micro)
            fail_msg("'%s' is %lld, expected %lld", good[i].text, (long long)micro,
                     (long long)good[i].micro);
    }
    static const char *const bad[] = { "",   "-",   "+1",  "01", "1.",  ".5",
                                       "1e", "1e+", "0x1", "1 ", "nan", "--1" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t micro = 77;
        if (json_number_micro(bad[i], &micro) || micro != 77)
            fail_msg("'%s' is no number", bad[i]);
    }
}

/* Lines of 32 MB, in every place where one can be. */
TEST(a_line_of_any_length_costs_no_memory) {
    static const char *const lines[][2] = {
        { "{\"x\":\"", "\",\"type\":\"a\"}\n" },       { "{\"type\":\"a\",\"x\":[\"", "\"]}\n" },
        { "{\"type\":\"", "\",\"is_error\":true}\n" }, { "{\"is_error\":", "}\n" },
        { "{\"", "\":1,\"type\":\"a\"}\n" },           { "text ", "\n" },
    };
    static char piece[64 * 1024];
    memset(piece, 'x', sizeof(piece));
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < 8192; i++)
        strbuf_putc(&out, ' ');
    strbuf_clear(&out);
    struct json_scan *scan = json_scan_new(
        wants, ARRAY_SIZE(wants), &(struct json_scan_calls){ write_event, write_text, &out });
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        json_scan_feed(scan, lines[i][0], strlen(lines[i][0]));
        for (int n = 0; n < 512; n++)
            json_scan_feed(scan, piece, sizeof(piece));
        json_scan_feed(scan, lines[i][1], strlen(lines[i][1]));
    }
    assert_int_equal(mallinfo2().uordblks, before);
    json_scan_free(scan);
    assert_non_null(strstr(strbuf_text(&out), "event type=string'a'\nevent type=string'a'\n"
                                              "event type=string'xxxxxxxxxxxxxxx'… is_error=true\n"
                                              "event type=string'a'\ntext text xxx"));
}

/* Mutations of valid lines: the events of all bytes at once are those of any pieces. */
TEST(junk_is_read_the_same_in_any_pieces) {
    static const char good[] =
        "{\"type\":\"a\",\"x\":[{\"y\":\"\\u00e9\\\"\"}],\"usage\":{\"in\":1}}\ntext\n"
        "{\n \"denials\":[1,2],\"message\":[{\"text\":\"b\"}]\n}\n";
    static const char marks[] = "{}[]\",:\\\n\0 u1tfn-e.";
    struct rng rng = { 20261115 };
    for (int round = 0; round < 3000; round++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(text));
        size_t size = sizeof(good) - 1;
        for (uint64_t i = rng_next(&rng) % 6; i > 0; i--)
            text[rng_next(&rng) % size] = marks[rng_next(&rng) % sizeof(marks)];
        _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT, pieces = STRBUF_INIT;
        scan_pieces(text, size, size, size, &whole);
        scan_pieces(text, size, 1 + rng_next(&rng) % size, 1 + rng_next(&rng) % 7, &pieces);
        assert_string_equal(strbuf_text(&whole), strbuf_text(&pieces));
    }
}
