/* test_json.c: our JSON reader gives the same value as jansson, or leaves the text to it. */
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "harness/test.h"
#include "ops/op_internal.h"

#define MUTATIONS 200000
#define DEPTH     64u

static json_t *by_jansson(const char *text, size_t size) {
    json_error_t why;
    return json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
}

static const char *const plain[] = {
    "{}",
    "[]",
    " { } \n",
    "[\t1 , -2,0,\r\n-0, 123456789012345678, true, false, null ]",
    "{\"tasks\":[{\"argv\":[\"/bin/true\"],\"title\":\"task number 1\",\"cwd\":\"/\"}]}",
    "{\"a\":{\"b\":[[],[{}]]},\"\":\"\"}",
    "{\"prompt\":\"a \\\"b\\\" \\\\ \\/ \\b\\f\\n\\r\\t end\",\"k\\n\":1}",
    "{\"text\":\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80\x7f\"}",
};

TEST(plain_texts_are_read_without_jansson) {
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        json_t *ours = json_read(plain[i], strlen(plain[i]), DEPTH);
        json_t *theirs = by_jansson(plain[i], strlen(plain[i]));
        if (!ours || !json_equal(ours, theirs))
            fail_msg("not read as it should be: %s", plain[i]);
        json_decref(ours);
        json_decref(theirs);
    }
}

/* Left to jansson, or read as jansson reads them. */
static const char *const others[] = {
    "",
    "1",
    "\"a\"",
    "{",
    "[1,]",
    "[1 2]",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{a:1}",
    "[01]",
    "[-]",
    "[+1]",
    "[1.5]",
    "[1e3]",
    "[1E400]",
    "[9223372036854775807]",
    "[9223372036854775808]",
    "[truex]",
    "[tru]",
    "[nul",
    "[\"\\u00e4\\ud83d\\ude80\"]",
    "[\"\\u0000\"]",
    "[\"\\x\"]",
    "[\"a",
    "[\"a\\",
    "[\"\n\"]",
    "[\"\xff\"]",
    "[\"\xc0\x80\"]",
    "[\"\xed\xa0\x80\"]",
    "[\"\xe2\x82\"]",
    "{\"a\":1,\"a\":2}",
    "{} {}",
    "[]x",
    "\xef\xbb\xbf[]",
    "{\"a name that is longer than any that an operation has, so that it is left to jansson\":1}",
};

static void compare(const char *text, size_t size) {
    json_t *ours = json_read(text, size, DEPTH), *theirs = by_jansson(text, size);
    if (ours && (!theirs || !json_equal(ours, theirs)))
        fail_msg("read in another way than jansson does: %.*s", (int)size, text);
    json_decref(ours);
    json_decref(theirs);
}

TEST(jansson_decides_the_rest) {
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        compare(others[i], strlen(others[i]));
    compare("[\"a\0b\"]", 8);
    compare("[1\0]", 4);
}

TEST(deeply_nested_texts_are_left_to_jansson) {
    char text[400];
    for (size_t depth = 60; depth < 70; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        compare(text, 2 * depth);
        json_t *ours = json_read(text, 2 * depth, DEPTH);
        assert_int_equal(ours != NULL, depth <= DEPTH);
        json_decref(ours);
    }
}

/* Changes, removes or duplicates a few bytes of a valid text. */
TEST(no_mutation_is_read_differently) {
    static const char bytes[] = "{}[],:\"\\ntrue0-1.eu\xc3\xa4 \x01";
    struct rng rng = { .state = 7 };
    for (int n = 0; n < MUTATIONS; n++) {
        char text[256];
        const char *from = plain[rng_below(&rng, ARRAY_SIZE(plain))];
        size_t size = strlen(from);
        memcpy(text, from, size + 1);
        for (uint64_t changes = 1 + rng_below(&rng, 4); changes > 0 && size > 1; changes--) {
            size_t at = (size_t)rng_below(&rng, size);
            switch (rng_below(&rng, 3)) {
            case 0:
                text[at] = bytes[rng_below(&rng, sizeof(bytes))];
                break;
            case 1:
                memmove(text + at, text + at + 1, --size - at);
                break;
            default:
                memmove(text + at + 1, text + at, size++ - at);
            }
        }
        compare(text, size);
    }
}
