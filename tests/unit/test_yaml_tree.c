/* test_yaml_tree.c: positions of all nodes in a YAML text, and which texts are refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "harness/test.h"
#include "yaml/yaml.h"

static const struct yaml_limits limits = { .bytes = 100000, .levels = 8, .nodes = 1000 };
static struct yaml yaml;
static const char *source;

static int tear_down(void **state) {
    (void)state;
    yaml_finish(&yaml);
    return 0;
}

static const struct yaml_node *reads(const char *text) {
    struct error err = { 0 };
    yaml_finish(&yaml);
    source = text;
    if (yaml_parse("t", text, strlen(text), &limits, &yaml, &err) < 0)
        fail_msg("%s in:\n%s", err.text, text);
    return yaml.root;
}

static void refused(const char *text, const char *message) {
    struct error err = { 0 };
    assert_int_equal(yaml_parse("t", text, strlen(text), &limits, &yaml, &err), -EINVAL);
    assert_string_equal(err.text, message);
    assert_null(yaml.root);
    assert_int_equal(yaml_parse("t", text, strlen(text), &limits, &yaml, NULL), -EINVAL);
}

/* The tree in one line: plain 'quoted' |block| [list] {key: value}, with < > around block ones. */
static void print(const struct yaml_node *node, struct strbuf *out) {
    static const char *const open[][YAML_STYLE_MAX] = {
        [YAML_SCALAR] = { "", "'", "|", "" },
        [YAML_LIST] = { "", "", "<[", "[" },
        [YAML_MAPPING] = { "", "", "<{", "{" },
    };
    static const char *const close[][YAML_STYLE_MAX] = {
        [YAML_SCALAR] = { "", "'", "|", "" },
        [YAML_LIST] = { "", "", "]>", "]" },
        [YAML_MAPPING] = { "", "", "}>", "}" },
    };
    strbuf_printf(out, "%s%s", open[node->kind][node->style], node->text);
    size_t count = 0;
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        strbuf_puts(out, count++ ? ", " : "");
        print(child, out);
        if (child->value) {
            strbuf_puts(out, ": ");
            print(child->value, out);
        }
    }
    assert_int_equal(count, node->count);
    strbuf_puts(out, close[node->kind][node->style]);
}

static void tree(const char *text, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    print(reads(text), &out);
    assert_string_equal(strbuf_text(&out), expected);
}

static const struct yaml_node *value_of(const struct yaml_node *mapping, const char *name) {
    for (const struct yaml_node *key = mapping->first; key; key = key->next)
        if (strcmp(key->text, name) == 0)
            return key->value;
    fail_msg("there is no '%s'", name);
    return NULL;
}

/* The bytes of the text that the value of a key spans. */
static void stands(const char *text, const char *name, const char *expected) {
    const struct yaml_node *value = value_of(reads(text), name);
    assert_int_equal(value->end - value->start, strlen(expected));
    assert_memory_equal(source + value->start, expected, strlen(expected));
}

/* --- trees ----------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, NULL, tear_down)

FIXTURE_TEST(texts_become_trees) {
    tree("a: 1\nb:\n  - x\n  - y: z\n", "<{a: 1, b: <[x, <{y: z}>]>}>");
    tree("{a: [1, 'two', {}], \"b\": }", "{a: [1, 'two', {}], 'b': }");
    tree("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "<{a: |x\ny\n|, b: |x y|}>");
    tree("- a\n-\n- - b\n", "<[a, , <[b]>]>");
    tree("--- # c\na: &x b # d\n...\n", "<{a: b}>");
    tree("plain", "plain");
    tree("\xef\xbb\xbf\"a\\tb\": c\r\n", "<{'a\tb': c}>");
}

FIXTURE_TEST(a_text_that_says_nothing_has_no_root) {
    static const char *const empty[] = { "", "\n", "# c", "---", "~", "null", "---\n...\n" };
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        assert_null(reads(empty[i]));
    assert_non_null(reads("''"));
}

/* --- positions ------------------------------------------------------------------------------- */

FIXTURE_TEST(every_value_knows_its_bytes) {
    stands("a: 12 # c\n", "a", "12");
    stands("a: 'x y' # c\n", "a", "'x y'");
    stands("a: \"x\\\"y\"\n", "a", "\"x\\\"y\"");
    stands("a: ''\n", "a", "''");
    stands("a:\n  x\n  y  # c\n", "a", "x\n  y");
    stands("a: &n x\n", "a", "x");
    stands("a: [1, [2]] # c\n", "a", "[1, [2]]");
    stands("a: {b: {c: 1}, d: } # c\n", "a", "{b: {c: 1}, d: }");
    stands("a: {\n  b: 1,\n  }\nz: 1\n", "a", "{\n  b: 1,\n  }");
    stands("a:\n  b: 1 # x\n  c: 2 # y\n# z\nd: 3\n", "a", "b: 1 # x\n  c: 2");
    stands("a:\n- b\n- c # y\n\nd: 3\n", "a", "- b\n- c");
    stands("a:\n  - b: 1\n    c: 'x' # y\nd: 3\n", "a", "- b: 1\n    c: 'x'");
    stands("\xc3\xa9: 1\na: \xc3\xa9\r\n", "a", "\xc3\xa9");
}

FIXTURE_TEST(block_texts_begin_with_their_mark) {
    stands("a: |\n  x\n  y\n\n\nb: 1\n", "a", "|\n  x\n  y");
    stands("a: >- # | c\n  x\nb: 1\n", "a", ">- # | c\n  x");
    stands("a: # | c\n  |+\n  x\n\nb: 1\n", "a", "|+\n  x");
    stands("a: &n |2\n   x\n", "a", "|2\n   x");
    stands("a: |\nb: 1\n", "a", "|");
    stands("a: |\r\n  x\r\nb: 1\r\n", "a", "|\r\n  x");
}

FIXTURE_TEST(what_is_not_written_has_no_bytes) {
    static const char *const texts[] = { "a:\n",      "a: # c\n", "a: &n\n",   "{a: , b: 1}",
                                         "{a, b: 1}", "? a\n",    "a:\nb: 1\n" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct yaml_node *value = value_of(reads(texts[i]), "a");
        assert_int_equal(value->start, value->end);
        assert_int_equal(value->anchored, i == 2);
        assert_int_equal(yaml_type(value), YAML_NULL);
        assert_int_equal(value->line, 1);
    }
}

FIXTURE_TEST(lines_and_columns_count_from_one) {
    const struct yaml_node *root = reads("# c\na: 1\nb:\n  \xc3\xa9: 'x'\n  d: \"y\"\n");
    const struct yaml_node *b = value_of(root, "b");
    assert_int_equal(root->line, 2);
    assert_int_equal(b->line, 4);
    assert_int_equal(b->column, 3);
    assert_int_equal(value_of(b, "\xc3\xa9")->column, 6); /* characters, and the quote itself */
    assert_int_equal(value_of(b, "d")->line, 5);
    assert_int_equal(value_of(b, "d")->column, 6);
}

/* --- types ----------------------------------------------------------------------------------- */

static enum yaml_type type_of(const char *scalar) {
    char text[64];
    (void)snprintf(text, sizeof(text), "a: %s\n", scalar);
    return yaml_type(value_of(reads(text), "a"));
}

FIXTURE_TEST(plain_scalars_have_types) {
    static const char *const texts[] = { "yes",
                                         "no",
                                         "on",
                                         "off",
                                         "0x10",
                                         ".inf",
                                         ".nan",
                                         "1_0",
                                         "1e",
                                         "e3",
                                         "1.2.3",
                                         "'1'",
                                         "''",
                                         "1e999",
                                         "+-1",
                                         "\"~\"",
                                         "99999999999999999999" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(type_of(texts[i]), YAML_TEXT);
    assert_int_equal(type_of("~"), YAML_NULL);
    assert_int_equal(type_of("Null"), YAML_NULL);
    assert_int_equal(type_of("true"), YAML_TRUE);
    assert_int_equal(type_of("FALSE"), YAML_FALSE);
    assert_int_equal(type_of("-7"), YAML_INTEGER);
    assert_int_equal(yaml_integer(yaml.root->first->value), -7);
    assert_int_equal(type_of("9223372036854775807"), YAML_INTEGER);
    assert_int_equal(type_of("1.5"), YAML_REAL);
    assert_true(yaml_real(yaml.root->first->value) == 1.5);
    assert_int_equal(type_of("-2e3"), YAML_REAL);
    assert_true(yaml_real(yaml.root->first->value) == -2000);
    assert_int_equal(type_of(".5"), YAML_REAL);
}

FIXTURE_TEST(nouns_are_short_and_harmless) {
    assert_string_equal(yaml_noun(reads("[1]")).text, "a list");
    assert_string_equal(yaml_noun(reads("{a: 1}")).text, "a mapping");
    assert_string_equal(yaml_noun(value_of(reads("a:\n"), "a")).text, "nothing");
    assert_string_equal(yaml_noun(reads("\"a\\e\\nb\"")).text, "'a??b'");
    struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "\xc3\xa9", 29);
    strbuf_puts(&text, "x");
    strbuf_repeat(&text, "\xc3\xa9", 10); /* byte 60 is inside a character */
    const struct yaml_noun noun = yaml_noun(reads(strbuf_text(&text)));
    assert_int_equal(strlen(noun.text), 1 + 59 + 3 + 1);
    assert_string_equal(noun.text + 1 + 58, "x...'");
    strbuf_finish(&text);
}

/* --- refusing -------------------------------------------------------------------------------- */

FIXTURE_TEST(what_could_mean_something_else_is_refused) {
    refused("a: &x 1\nb: *x\n", "t:2: aliases (*name) are not supported; write the value out");
    refused("a: !!str 1\n", "t:1: tags (!name) are not supported");
    refused("a\n---\nb\n", "t:2: expected one document, got a second one");
    refused("---\n...\na: 1\n", "t:3: expected one document, got a second one");
    refused("[a]: 1\n", "t:1: expected a key, got a list or a mapping");
    refused(": 1\n", "t:1: expected a key, got nothing");
    refused("a: [1\n", "t:2: not valid YAML: flow sequence without a closing bracket");
    refused("a: \"\\0\"\n", "t:1: a text contains a NUL character");
    refused("a: 'x''''y'\n",
            "t:1: two quotes in a row inside single quotes; use double quotes around them");
}

FIXTURE_TEST(invalid_utf8_is_refused) {
    refused("a: \xff\n", "t:1: not UTF-8 text (byte 0xff)");
    refused("a\nb: \x01\n", "t:2: not UTF-8 text (byte 0x01)");
    refused("a: \x7f\n", "t:1: not UTF-8 text (byte 0x7f)");
}

FIXTURE_TEST(input_is_bounded) {
    struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "#", limits.bytes + 1);
    refused(strbuf_text(&text), "t: larger than 100000 bytes");
    strbuf_clear(&text);
    strbuf_repeat(&text, "[", 8);
    strbuf_repeat(&text, "]", 8);
    (void)reads(strbuf_text(&text));
    yaml_finish(&yaml);
    strbuf_clear(&text);
    strbuf_repeat(&text, "[", 9);
    strbuf_repeat(&text, "]", 9);
    refused(strbuf_text(&text), "t:1: more than 8 levels");
    strbuf_clear(&text);
    strbuf_repeat(&text, "- a\n", 1000); /* and the list itself */
    refused(strbuf_text(&text), "t:1000: more than 1000 values");
    strbuf_clear(&text);
    strbuf_repeat(&text, "[", 1001);
    refused(strbuf_text(&text), "t:1: more than 1000 open brackets");
    strbuf_finish(&text);
}

/* --- characters ------------------------------------------------------------------------------ */

FIXTURE_TEST(characters_have_their_shortest_form) {
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        { "a", 1 },
        { "\xc2\x80", 2 },
        { "\xdf\xbf", 2 },
        { "\xe0\xa0\x80", 3 },
        { "\xef\xbf\xbf", 3 },
        { "\xf0\x90\x80\x80", 4 },
        { "\xf4\x8f\xbf\xbf", 4 },
        { "\x80", 0 },
        { "\xc0\x80", 0 },
        { "\xc1\xbf", 0 },
        { "\xe0\x9f\xbf", 0 },
        { "\xed\xa0\x80", 0 },
        { "\xf0\x8f\xbf\xbf", 0 },
        { "\xf4\x90\x80\x80", 0 },
        { "\xf8\x88\x80\x80", 0 },
        { "\xc3", 0 },
        { "\xe2\x82", 0 },
        { "\xc3(", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(utf8_length(cases[i].bytes, strlen(cases[i].bytes)), cases[i].length);
}
