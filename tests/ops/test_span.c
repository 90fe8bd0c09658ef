/* test_span.c: finds parts of a JSON text without changing their bytes. */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_span.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/test.h"

/* The entries of "tasks", copied and joined by a bar. */
static const char *parts(const char *text) {
    static char out[1024];
    const char *list = json_span_member(text, "tasks"), *at = NULL;
    struct json_span item;
    size_t length = 0;
    if (!list)
        return "none";
    while (json_span_next(list, &at, &item)) {
        if (length > 0)
            out[length++] = '|';
        length += json_span_copy(&item, out + length, sizeof(out) - length);
    }
    out[length] = '\0';
    return out;
}

TEST(entries_are_found_whatever_stands_around_them) {
    assert_string_equal(parts("{\"tasks\":[]}"), "");
    assert_string_equal(parts("{ }"), "none");
    assert_string_equal(parts("{\"a\":{\"tasks\":[1]}}"), "none");
    assert_string_equal(parts("{\"tasks\":[1,2]}"), "1|2");
    assert_string_equal(
        parts(" { \"a\" : [ \"tasks\" , { } ] , \"tasks\" : [ 1 , \"x , y\" ,\n null ] } "),
        "1|\"x , y\"|null");
    assert_string_equal(
        parts("{\"s\":\"\\\"tasks\\\":[9]\",\"tasks\":[{\"a\":\"]}\\\\\"},[[]],-1.5e3]}"),
        "{\"a\":\"]}\\\\\"}|[[]]|-1.5e3");
    assert_string_equal(parts("{\"tasks\":[ {\"a\" : [ 1 , 2 ] } , true ]}"), "{\"a\":[1,2]}|true");
    assert_string_equal(parts("{\"task\\u0073\":[1]}"), "none");
}

TEST(a_copy_that_does_not_fit_says_how_large_it_is) {
    struct json_span span = { .from = "[ 1, 22 ]", .size = 9 };
    char out[8] = "zzzzzzz";
    assert_int_equal(json_span_copy(&span, out, 3), 6);
    assert_int_equal(out[3], 'z');
    assert_int_equal(json_span_copy(&span, out, 6), 6);
    assert_memory_equal(out, "[1,22]", 6);
}

/* --- the tokenizer ------------------------------------------------------------------------------ */

static bool is_value(const char *text, bool is_jsonc) {
    struct json_cursor c = { .at = text, .end = text + strlen(text), .is_jsonc = is_jsonc };
    bool read = json_skip_value(&c, 3) && json_peek(&c) == '\0';
    assert_true(read || c.problem || *c.at);
    return read;
}

TEST(comments_and_last_commas_are_for_jsonc_alone) {
    static const char *const json[] = { "1", " -1.5e+3 ", "\"\\u00e4\\n\"", "{\"a\":[[true]]}",
                                        "[]" };
    static const char *const jsonc[] = { "[1,]", "{\"a\":1,}", "// x\n1",
                                         "[1 /* , */ , 2] // end" };
    static const char *const bad[] = { "",          "[1 2]",     "[,]",       "{1:2}",
                                       "{\"a\" 1}", "\"\\x\"",   "\"\\u12\"", "\"a",
                                       "[[[[]]]]",  "/* open 1", "1 1",       "-" };
    for (size_t i = 0; i < ARRAY_SIZE(json); i++)
        assert_true(is_value(json[i], false) && is_value(json[i], true));
    for (size_t i = 0; i < ARRAY_SIZE(jsonc); i++)
        assert_true(!is_value(jsonc[i], false) && is_value(jsonc[i], true));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_true(!is_value(bad[i], false) && !is_value(bad[i], true));
}

/* --- against the parser ---------------------------------------------------------------------- */

static json_t *make(struct rng *rng, unsigned depth) {
    static const char *const texts[] = {
        "", "a", "\"", "\\", "[x]", "{,}", "\xc3\xa4\n\t", ": \\\""
    };
    json_t *made = NULL;
    switch (rng_below(rng, depth > 3 ? 5 : 7)) {
    case 0:
        return json_integer(rng_between(rng, -1000, 1000));
    case 1:
        return json_real((double)rng_between(rng, -1000, 1000) / 7);
    case 2:
        return json_null();
    case 3:
        return json_true();
    case 4:
        return json_string(texts[rng_below(rng, ARRAY_SIZE(texts))]);
    case 5:
        made = json_array();
        for (uint64_t n = rng_below(rng, 4); n > 0; n--)
            (void)json_array_append_new(made, make(rng, depth + 1));
        return made;
    default:
        made = json_object();
        for (uint64_t n = rng_below(rng, 4); n > 0; n--)
            (void)json_object_set_new(made, texts[rng_below(rng, ARRAY_SIZE(texts))],
                                      make(rng, depth + 1));
        return made;
    }
}

TEST(every_part_is_the_same_value_as_the_parser_sees) {
    struct rng rng = { .state = 7 };
    for (int round = 0; round < 2000; round++) {
        json_t *list = json_array(), *object = json_object();
        for (uint64_t n = rng_below(&rng, 5); n > 0; n--)
            (void)json_array_append_new(list, make(&rng, 0));
        (void)json_object_set_new(object, "before", make(&rng, 0));
        (void)json_object_set_new(object, "tasks", list);
        (void)json_object_set_new(object, "behind", make(&rng, 0));
        char *text = json_dumps(object, round % 2 ? JSON_INDENT(2) : 0);
        const char *found = json_span_member(text, "tasks"), *at = NULL;
        struct json_span item;
        size_t count = 0;
        assert_non_null(found);
        for (; json_span_next(found, &at, &item); count++) {
            char copy[4096];
            size_t size = json_span_copy(&item, copy, sizeof(copy));
            json_t *value = json_loadb(copy, size, JSON_DECODE_ANY, NULL);
            if (!json_equal(value, json_array_get(list, count)))
                fail_msg("entry %zu of round %d is not the same: %.*s", count, round, (int)size,
                         copy);
            json_decref(value);
        }
        assert_int_equal(count, json_array_size(list));
        free(text);
        json_decref(object);
    }
}
