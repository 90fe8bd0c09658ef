/* test_base_redact.c: finds the bytes of a text that belong to secret values.
 *
 * Compares the search with a naive one on random texts of two digits, in which values often overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/redact.h"
#include "harness/test.h"

#define VALUE(name, text)                                                                          \
    { name, sizeof(name) - 1, text, sizeof(text) - 1 }

static struct redact_value two[] = { VALUE("KEY", "hunter2-hunter2"),
                                     VALUE("OTHER_KEY", "correct horse") };

static const struct redact_shape shape = { "token", "sl_", "0123456789abcdef_", 12 };

/* Static memory, until the next call. */
static const char *redacted(struct redact_value *values, size_t count, const char *text) {
    static struct strbuf out;
    struct redact_index index;
    redact_index_init(&index, values, count, &shape);
    strbuf_clear(&out);
    (void)redact_text(&index, text, strlen(text), &out);
    return strbuf_text(&out);
}

static const char *covered(struct redact_value *values, size_t count, const char *text) {
    static char out[256];
    struct redact_index index;
    redact_index_init(&index, values, count, &shape);
    (void)snprintf(out, sizeof(out), "%s", text);
    (void)redact_in_place(&index, out, strlen(out));
    return out;
}

TEST(a_value_is_replaced_by_its_name) {
    assert_string_equal(redacted(two, 2, "a hunter2-hunter2 b"), "a [redacted KEY] b");
    assert_string_equal(redacted(two, 2, "hunter2-hunter2"), "[redacted KEY]");
    assert_string_equal(redacted(two, 2, "correct horsecorrect horse"),
                        "[redacted OTHER_KEY][redacted OTHER_KEY]");
}

TEST(other_texts_stay_as_they_are) {
    assert_string_equal(redacted(two, 2, ""), "");
    assert_string_equal(redacted(two, 2, "hunter2-hunter"), "hunter2-hunter");
    assert_string_equal(redacted(two, 2, "Hunter2-hunter2"), "Hunter2-hunter2");
    assert_string_equal(redacted(NULL, 0, "hunter2-hunter2"), "hunter2-hunter2");
}

TEST(short_values_are_ignored) {
    struct redact_value values[] = { VALUE("A", "1234567"), VALUE("B", "12345678") };
    assert_string_equal(redacted(values, 1, "01234567"), "01234567");
    assert_string_equal(redacted(values, 2, "0123456789"), "0[redacted B]9");
}

TEST(of_values_that_begin_alike_the_longest_counts) {
    struct redact_value values[] = { VALUE("SHORT", "abcdefgh"), VALUE("LONG", "abcdefghijkl") };
    assert_string_equal(redacted(values, 2, "xabcdefghijkly"), "x[redacted LONG]y");
    assert_string_equal(redacted(values, 2, "xabcdefghijk"), "x[redacted SHORT]ijk");
}

TEST(nothing_is_left_of_values_that_overlap) {
    struct redact_value values[] = { VALUE("A", "abcdefgh"), VALUE("B", "efghijkl"),
                                     VALUE("C", "ijklmnop") };
    assert_string_equal(redacted(values, 3, "-abcdefghijklmnop-"), "-[redacted A]-");
    assert_string_equal(redacted(values, 1, "-abcdefghijklmnop-"), "-[redacted A]ijklmnop-");
    struct redact_value inside[] = { VALUE("OUTER", "0123456789abcdef"),
                                     VALUE("INNER", "456789ab") };
    assert_string_equal(redacted(inside, 2, "0123456789abcdef"), "[redacted OUTER]");
}

TEST(what_looks_like_a_token_is_replaced) {
    assert_string_equal(redacted(NULL, 0, "Bearer sl_0123_abcd."), "Bearer [redacted token].");
    assert_string_equal(redacted(NULL, 0, "sl_0123_abc."), "sl_0123_abc.");
    assert_string_equal(redacted(NULL, 0, "sl_0123_abcz"), "sl_0123_abcz");
    assert_string_equal(redacted(NULL, 0, "sl_"), "sl_");
}

TEST(a_cover_has_the_size_of_the_value) {
    assert_string_equal(covered(two, 2, "a hunter2-hunter2 b"), "a [redacted KEY]* b");
    assert_string_equal(covered(two, 2, "a correct horse b"), "a ************* b");
    struct redact_value exact[] = { VALUE("K", "123456789012") };
    assert_string_equal(covered(exact, 1, "123456789012"), "[redacted K]");
}

/* The beginning of a value at the end of a growing text. */
TEST(an_incomplete_value_is_open) {
    struct redact_index index;
    redact_index_init(&index, two, 2, &shape);
    const struct {
        const char *text;
        size_t open;
    } cases[] = {
        { "", 0 },
        { "nothing", 7 },
        { "a hunter2-", 2 },
        { "a hunter2-hunter2", 10 }, /* it may begin again */
        { "a hunter2-hunter", 2 },
        { "what h", 5 },
        { "corr", 0 },
        { "corr ", 5 },
        { "x sl_0", 2 },
        { "x sl_0 ", 7 },
        { "hunter2-hunter2-hunter2-h", 16 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(redact_open(&index, cases[i].text, strlen(cases[i].text)), cases[i].open);
}

TEST(a_value_is_known_inside_json) {
    char out[64];
    assert_int_equal(redact_json_form("plain/ü", 8, out, sizeof(out)), 0);
    size_t size = redact_json_form("a\"b\\c\n\x01", 7, out, sizeof(out));
    out[size] = '\0';
    assert_string_equal(out, "a\\\"b\\\\c\\n\\u0001");
    assert_int_equal(redact_json_form("a\"b", 3, out, 3), 0); /* no room for it */
}

/* --- at random ------------------------------------------------------------------------------- */

static uint64_t luck = 4711;

static unsigned random_below(unsigned limit) {
    luck = luck * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((luck >> 33) % limit);
}

static void random_text(char *out, size_t size) {
    for (size_t i = 0; i < size; i++)
        out[i] = "01"[random_below(2)];
}

#define TEXT_SIZE 200u

/* Every byte of every occurrence, and no other. */
static void mark_plainly(const struct redact_value *values, size_t count, const char *text,
                         bool ret_marked[TEXT_SIZE]) {
    memset(ret_marked, 0, TEXT_SIZE * sizeof(*ret_marked));
    for (size_t at = 0; at < TEXT_SIZE; at++)
        for (size_t i = 0; i < count; i++)
            if (at + values[i].size <= TEXT_SIZE
                && memcmp(text + at, values[i].bytes, values[i].size) == 0)
                memset(ret_marked + at, 1, values[i].size);
}

TEST(the_search_finds_what_a_naive_search_finds) {
    for (unsigned round = 0; round < 2000; round++) {
        char bytes[3][16], text[TEXT_SIZE], shown[TEXT_SIZE];
        struct redact_value values[3];
        bool marked[TEXT_SIZE];
        struct redact_index index;
        for (size_t i = 0; i < 3; i++) {
            values[i] = (struct redact_value){ "V", 1, bytes[i], REDACT_LEAST + random_below(5) };
            random_text(bytes[i], values[i].size);
        }
        random_text(text, sizeof(text));
        memcpy(text + random_below(150), bytes[0], values[0].size);
        memcpy(text + random_below(150), bytes[1], values[1].size);
        mark_plainly(values, 3, text, marked);
        redact_index_init(&index, values, 3, NULL);
        memcpy(shown, text, sizeof(text));
        (void)redact_in_place(&index, shown, sizeof(shown));
        for (size_t i = 0; i < sizeof(text); i++)
            assert_int_equal(shown[i] != '0' && shown[i] != '1', marked[i]);
    }
}
