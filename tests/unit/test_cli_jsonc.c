/* test_cli_jsonc.c: edits one value of a JSONC file and no other byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "cli/jsonc.h"
#include "harness/test.h"

static json_t *value;

static int make_value(void **state) {
    (void)state;
    value = json_pack("{s:s, s:[s]}", "c", "x", "a", "mcp");
    return 0;
}

static int free_value(void **state) {
    (void)state;
    json_decref(value);
    return 0;
}

static void expect(const char *before, const char *after) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_puts(&text, before);
    if (jsonc_set(&text, "mcp", "sluice", value, &out, &err) < 0)
        fail_msg("refused: %s: %s", before, err.text);
    assert_string_equal(strbuf_text(&out), after);
    /* A second edit changes nothing. */
    strbuf_clear(&text);
    strbuf_puts(&text, after);
    strbuf_clear(&out);
    assert_int_equal(jsonc_set(&text, "mcp", "sluice", value, &out, &err), 0);
    assert_string_equal(strbuf_text(&out), after);
}

TEST_GROUP(make_value, free_value)

TEST(a_file_of_nothing_gets_an_object) {
    static const char whole[] =
        "{\n  \"mcp\": {\n    \"sluice\": {\n      \"c\": \"x\",\n      \"a\": [\n        "
        "\"mcp\"\n      ]\n    }\n  }\n}\n";
    expect("", whole);
    expect("{}\n", whole);
    expect("{\n}\n", whole);
}

TEST(the_indentation_of_the_neighbours_is_kept) {
    expect("{\n\t\"b\":1 ,\n\t\"mcp\" : {\n\t\t\"z\": [1,2 , 3]\n\t}\n}",
           "{\n\t\"b\":1 ,\n\t\"mcp\" : {\n\t\t\"z\": [1,2 , 3],\n\t\t\"sluice\": {\n\t\t\t\"c\": "
           "\"x\",\n\t\t\t\"a\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t}\n}");
    expect("{\n   \"b\": 1\n}\n",
           "{\n   \"b\": 1,\n   \"mcp\": {\n      \"sluice\": {\n         \"c\": \"x\",\n         "
           "\"a\": [\n            \"mcp\"\n         ]\n      }\n   }\n}\n");
}

TEST(what_is_on_one_line_stays_on_one_line) {
    expect("{\"b\": 1}", "{\"b\": 1, \"mcp\": {\"sluice\": {\"c\": \"x\", \"a\": [\"mcp\"]}}}");
    expect("{\"mcp\":{\"z\":1},\"b\":2}\n",
           "{\"mcp\":{\"z\":1, \"sluice\": {\"c\": \"x\", \"a\": [\"mcp\"]}},\"b\":2}\n");
    expect("{\"mcp\":{\"sluice\":{\"old\":[{}]}}}",
           "{\"mcp\":{\"sluice\":{\"c\": \"x\", \"a\": [\"mcp\"]}}}");
}

TEST(crlf_line_ends_are_kept) {
    expect(
        "{\r\n  \"mcp\": {\r\n    \"z\": 1\r\n  }\r\n}\r\n",
        "{\r\n  \"mcp\": {\r\n    \"z\": 1,\r\n    \"sluice\": {\r\n      \"c\": \"x\",\r\n      "
        "\"a\": [\r\n        \"mcp\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n");
}

TEST(comments_and_commas_at_the_end_stay_where_they_are) {
    expect(
        "// mine {\n{\n  /* \"mcp\": no */\n  \"mcp\": {\n    \"z\": 1 // note, with {\n    // "
        "last\n  "
        "},\n}\n",
        "// mine {\n{\n  /* \"mcp\": no */\n  \"mcp\": {\n    \"z\": 1, // note, with {\n    // "
        "last\n    \"sluice\": {\n      \"c\": \"x\",\n      \"a\": [\n        \"mcp\"\n      ]\n  "
        "  }\n  },\n}\n");
    expect(
        "{\n  \"a\": 1,\n}\n",
        "{\n  \"a\": 1,\n  \"mcp\": {\n    \"sluice\": {\n      \"c\": \"x\",\n      \"a\": [\n    "
        "    \"mcp\"\n      ]\n    }\n  }\n}\n");
    expect(
        "{\n  \"mcp\": {\n    // nothing yet\n  }\n}",
        "{\n  \"mcp\": {\n    // nothing yet\n    \"sluice\": {\n      \"c\": \"x\",\n      \"a\": "
        "[\n        \"mcp\"\n      ]\n    }\n  }\n}");
}

TEST(an_existing_entry_is_replaced_and_nothing_else) {
    expect(
        "{\n  \"mcp\": {\n    \"sluice\": {\n      // old\n      \"c\": \"y\"\n    }, // mine\n    "
        "\"z\": 1.50e3\n  }\n}\n",
        "{\n  \"mcp\": {\n    \"sluice\": {\n      \"c\": \"x\",\n      \"a\": [\n        "
        "\"mcp\"\n "
        "     ]\n    }, // mine\n    \"z\": 1.50e3\n  }\n}\n");
    /* A key may be escaped, and a string may contain our key. */
    expect("{\"s\": \"\\\"mcp\\\": {\", \"m\\u0063p\": {\"slu\\u0069ce\": 1}}",
           "{\"s\": \"\\\"mcp\\\": {\", \"m\\u0063p\": {\"slu\\u0069ce\": {\"c\": \"x\", \"a\": "
           "[\"mcp\"]}}}");
}

TEST(a_byte_order_mark_is_kept) {
    expect("\xEF\xBB\xBF{\"b\": 1}\n",
           "\xEF\xBB\xBF{\"b\": 1, \"mcp\": {\"sluice\": {\"c\": \"x\", \"a\": [\"mcp\"]}}}\n");
}

TEST(invalid_json_is_refused_with_its_line) {
    static const struct {
        const char *text, *line;
    } bad[] = { { "[]", "line 1: expected an object" },
                { "{\n\"mcp\": 3}", "line 2: expected an object" },
                { "{\"mcp\": {}, \"mcp\": {}}", "line 1: a name is there twice" },
                { "{\"mcp\": {\"sluice\": 1, \"sluice\": 2}}", "line 1: a name is there twice" },
                { "{\n\n\"a\" 1}", "line 3: expected a colon" },
                { "{\"a\": }", "line 1: expected a value" },
                { "{\"a\": 1 \"b\": 2}", "line 1: expected a comma" },
                { "{\"a\": \"b\n\"}", "line 1: a text has no end" },
                { "{\"a\": 1}\n}", "line 2: something stands behind the end" },
                { "{\"a\": 1 /* ", "line 1: expected a comma" },
                { "{", "line 1: expected a name" },
                { "{\"a\\", "line 1: a text has no end" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
        struct error err = { 0 };
        strbuf_puts(&text, bad[i].text);
        assert_int_equal(jsonc_set(&text, "mcp", "sluice", value, &out, &err), -EINVAL);
        if (strncmp(err.text, bad[i].line, strlen(bad[i].line)) != 0)
            fail_msg("'%s' says: %s", bad[i].text, err.text);
        assert_int_equal(out.length, 0);
    }
}

/* Every prefix of a valid file, and a deeply nested one: refused or changed, never read past the end. */
TEST(a_truncated_file_is_refused) {
    static const char whole[] =
        "{ // a\n \"b\": [1, {\"c\": \"\\\"\"}], /* d */ \"mcp\": {\"e\": null,},}";
    (void)state;
    for (size_t size = 0; size <= strlen(whole); size++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
        strbuf_add(&text, whole, size);
        int r = jsonc_set(&text, "mcp", "sluice", value, &out, NULL);
        assert_int_equal(r, size == 0 || size == strlen(whole) ? 0 : -EINVAL);
    }
    _cleanup_(strbuf_finish) struct strbuf deep = STRBUF_INIT, out = STRBUF_INIT;
    strbuf_puts(&deep, "{\"a\": ");
    for (int i = 0; i < 100000; i++)
        strbuf_putc(&deep, '[');
    assert_int_equal(jsonc_set(&deep, "mcp", "sluice", value, &out, NULL), -EINVAL);
}
