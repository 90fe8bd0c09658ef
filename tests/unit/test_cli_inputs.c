/* test_cli_inputs.c: placeholders, and the rows that lists of inputs make. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "cli/inputs.h"
#include "harness/test.h"

/* --- placeholders ----------------------------------------------------------------------------- */

static const struct {
    const char *template;
    const char *inputs[3];
    const char *result;
} expansions[] = {
    { "{}", { "dir/a.tar.gz" }, "dir/a.tar.gz" },
    { "{.}", { "dir/a.tar.gz" }, "dir/a.tar" },
    { "{/}", { "dir/a.tar.gz" }, "a.tar.gz" },
    { "{//}", { "dir/a.tar.gz" }, "dir" },
    { "{/.}", { "dir/a.tar.gz" }, "a.tar" },
    { "{#}", { "x" }, "7" },
    { "to-{/.}.png, {}", { "/p/q.svg" }, "to-q.png, /p/q.svg" },

    /* extensions: only of the last part, and not its first dot */
    { "{.}", { "sub.dir/file" }, "sub.dir/file" },
    { "{.}", { "file." }, "file" },
    { "{.} {/.}", { "dir/.profile" }, "dir/.profile .profile" },
    { "{.} {/.}", { "dir/.profile.bak" }, "dir/.profile .profile" },
    { "{.}", { ".." }, ".." },
    { "{.}", { "sub.dir/" }, "sub.dir/" },

    /* paths: as basename and dirname */
    { "{/} {//} {/.}", { "sub.dir/" }, "sub.dir . sub" },
    { "{/} {//}", { "a//b//" }, "b a" },
    { "{/} {//}", { "/a" }, "a /" },
    { "{/} {//}", { "//a" }, "a /" },
    { "{/} {//}", { "/" }, "/ /" },
    { "{/}|{//}|{.}", { "" }, "|.|" },
    { "{//}", { "a" }, "." },

    /* several lists */
    { "{1}-{2}", { "a", "x" }, "a-x" },
    { "{2/.} {1//}", { "p/a.c", "q/x.h" }, "x p" },
    { "{2.}{2/}{2//}", { "a", "q/x.h" }, "q/xx.hq" },
    { "{}", { "a", "x y", "z" }, "a x y z" },
    { "{/}", { "p/a", "q/b" }, "a b" },

    /* other braces stay */
    { "{iteration} {{name}} {a} { } {1,2} {\"k\": 1}",
      { "x" },
      "{iteration} {{name}} {a} { } {1,2} {\"k\": 1}" },
    { "{{}}", { "x" }, "{x}" },
    { "{", { "x" }, "{" },
    { "{{", { "x" }, "{{" },
    { "{}{", { "x" }, "x{" },
    { "}{}", { "x" }, "}x" },
    { "${1} ${#} ${} $ {}", { "x" }, "${1} ${#} ${} $ x" },
    { "awk '{print $1}'", { "x" }, "awk '{print $1}'" },

    /* an input is never expanded itself */
    { "{1} {2}", { "{2}", "{#}" }, "{2} {#}" },
};

static size_t input_count(const char *const inputs[3]) {
    size_t count = 0;
    while (count < 3 && inputs[count])
        count++;
    return count;
}

TEST(a_placeholder_is_replaced_by_its_part_of_the_input) {
    for (size_t i = 0; i < ARRAY_SIZE(expansions); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct error err = { 0 };
        bool found = false;
        struct input_row row = { expansions[i].inputs, input_count(expansions[i].inputs), 7 };
        assert_int_equal(input_template_check(expansions[i].template, row.count, &found, &err), 0);
        input_template_expand(expansions[i].template, &row, &out);
        assert_string_equal(strbuf_text(&out), expansions[i].result);
        assert_int_equal(found, strcmp(expansions[i].template, expansions[i].result) != 0);
    }
}

TEST(what_looks_like_a_placeholder_and_is_none_is_refused) {
    static const struct {
        const char *template;
        size_t lists;
        const char *message;
    } bad[] = {
        { "x{%}", 1, "'{%}' is not a placeholder" },
        { "{..}", 1, "'{..}' is not a placeholder" },
        { "{+/}", 1, "'{+/}' is not a placeholder" },
        { "{-1}", 1, "'{-1}' is not a placeholder" },
        { "{0}", 1, "'{0}' is not a placeholder" },
        { "{1#}", 1, "'{1#}' is not a placeholder" },
        { "{1///}", 1, "'{1///}' is not a placeholder" },
        { "{100}", 1, "'{100}' is not a placeholder" },
        { "{99999999999999999999999}", 1, "'{99999999999999999999999}' is not a placeholder" },
        { "{} {2}", 1, "'{2}' takes an input of list 2, and there is 1" },
        { "{3.}", 2, "'{3.}' takes an input of list 3, and there are 2" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = { 0 };
        bool found = false;
        assert_int_equal(input_template_check(bad[i].template, bad[i].lists, &found, &err),
                         -EINVAL);
        assert_memory_equal(err.text, bad[i].message, strlen(bad[i].message));
    }
}

TEST(a_word_that_is_one_placeholder_is_a_word_per_list) {
    static const char *const each[] = { "{}", "{.}", "{/}", "{//}", "{/.}" };
    static const char *const joined[] = { "{#}", "{1}", "{} ", "x{}", "{}{}", "${}", "{a}", "" };
    for (size_t i = 0; i < ARRAY_SIZE(each); i++)
        assert_true(input_template_is_each(each[i]));
    for (size_t i = 0; i < ARRAY_SIZE(joined); i++)
        assert_false(input_template_is_each(joined[i]));
}

TEST(marks_of_lists_are_exact_words) {
    static const char *const marks[] = { ":::", ":::+", "::::", "::::+" };
    static const char *const others[] = {
        "", ":", "::", ":::::", ":::a", ":::++", "a:::", ":::+a"
    };
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        assert_true(inputs_is_mark(marks[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(inputs_is_mark(others[i]));
}

/* --- rows ------------------------------------------------------------------------------------- */

/* "a b, x y, +1 2": lists of words; + links. */
static void read_lists(struct inputs *inputs, const char *text) {
    while (*text) {
        text += strspn(text, ", ");
        bool linked = *text == '+';
        text += linked;
        assert_int_equal(inputs_begin(inputs, linked ? ":::+" : ":::", linked, NULL), 0);
        while (*text && *text != ',') {
            size_t size = strcspn(text, " ,");
            if (size > 0)
                inputs_add(inputs, text, size);
            text += size + (text[size] == ' ');
        }
    }
}

TEST(lists_are_a_product_and_linked_ones_advance_together) {
    static const struct {
        const char *lists, *rows;
        size_t unused;
    } cases[] = {
        { "a b c", "a; b; c; ", 0 },
        { "a b, x y", "a x; a y; b x; b y; ", 0 },
        { "a b, +x y", "a x; b y; ", 0 },
        { "a b, +x y, +1 2", "a x 1; b y 2; ", 0 },
        { "a b, +x y, 1 2", "a x 1; a x 2; b y 1; b y 2; ", 0 },
        { "a b, x y, +1 2", "a x 1; a y 2; b x 1; b y 2; ", 0 },
        { "a b c, +x y", "a x; b y; ", 1 },
        { "a, +x y z", "a x; ", 2 },
        { "", "", 0 },
        { "a b, ,", "", 0 },
        { "a b, +", "", 2 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(inputs_finish) struct inputs inputs = { 0 };
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        const char *texts[8];
        size_t rows = 99, unused = 99;
        read_lists(&inputs, cases[i].lists);
        assert_int_equal(inputs_count(&inputs, &rows, &unused, NULL), 0);
        for (size_t row = 0; row < rows; row++) {
            inputs_row(&inputs, row, texts);
            for (size_t n = 0; n < inputs.count; n++)
                strbuf_printf(&out, "%s%s", n > 0 ? " " : "", texts[n]);
            strbuf_puts(&out, "; ");
        }
        assert_string_equal(strbuf_text(&out), cases[i].rows);
        assert_int_equal(unused, cases[i].unused);
    }
}

TEST(more_rows_than_the_maximum_are_refused) {
    _cleanup_(inputs_finish) struct inputs inputs = { 0 };
    struct error err = { 0 };
    size_t rows = 0, unused = 0;
    for (size_t list = 0; list < 2; list++) {
        assert_int_equal(inputs_begin(&inputs, ":::", false, &err), 0);
        for (size_t i = 0; i < 1000; i++)
            inputs_add(&inputs, "x", 1);
    }
    assert_int_equal(inputs_count(&inputs, &rows, &unused, &err), 0);
    assert_int_equal(rows, INPUTS_ROWS_MAX);
    inputs_add(&inputs, "x", 1);
    assert_int_equal(inputs_count(&inputs, &rows, &unused, &err), -E2BIG);
    assert_string_equal(err.text, "the lists make more than 1000000 tasks, the maximum");
    for (size_t list = 2; list < 99; list++) {
        assert_int_equal(inputs_begin(&inputs, ":::", false, &err), 0);
        inputs_add(&inputs, "x", 1);
        inputs_add(&inputs, "y", 1);
    }
    assert_int_equal(inputs_count(&inputs, &rows, &unused, &err), -E2BIG); /* 2^97: no overflow */
    assert_int_equal(inputs_begin(&inputs, ":::", false, &err), -E2BIG);
}

TEST(the_first_list_cannot_be_linked) {
    _cleanup_(inputs_finish) struct inputs inputs = { 0 };
    struct error err = { 0 };
    assert_int_equal(inputs_begin(&inputs, ":::+", true, &err), -EINVAL);
    assert_string_equal(err.text, "':::+' is linked to the list before it; there is none");
}

/* --- files ------------------------------------------------------------------------------------ */

static int split(struct inputs *inputs, const char *bytes, size_t size, char separator,
                 struct error *err) {
    assert_int_equal(inputs_begin(inputs, "list", inputs->count > 0, err), 0);
    return inputs_split(inputs, bytes, size, separator, err);
}

TEST(a_file_has_an_input_per_line) {
    static const struct {
        const char *bytes;
        size_t size;
        char separator;
        const char *inputs;
    } cases[] = {
        { "", 0, '\n', "" },
        { "a\nb\n", 4, '\n', "[a][b]" },
        { "a\nb", 3, '\n', "[a][b]" },
        { " a \r\n\tb\r\n", 9, '\n', "[ a ][\tb]" },
        { "\n\na\n\n", 5, '\n', "[a]" },
        { "\r\n", 2, '\n', "" },
        { "a\nb\0c\r\0\0", 8, '\0', "[a\nb][c\r]" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(inputs_finish) struct inputs inputs = { 0 };
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct error err = { 0 };
        assert_int_equal(split(&inputs, cases[i].bytes, cases[i].size, cases[i].separator, &err),
                         0);
        for (size_t n = 0; n < inputs.lists[0].count; n++)
            strbuf_printf(&out, "[%s]", inputs.lists[0].texts[n]);
        assert_string_equal(strbuf_text(&out), cases[i].inputs);
    }
}

TEST(a_NUL_in_a_line_is_refused) {
    _cleanup_(inputs_finish) struct inputs inputs = { 0 };
    struct error err = { 0 };
    assert_int_equal(split(&inputs, "a\nb\0c\n", 6, '\n', &err), -EINVAL);
    assert_string_equal(err.text, "line 2 of 'list' has a NUL byte; --null reads inputs that are "
                                  "separated by NUL");
}

/* Skipping it would match the wrong lines with each other. */
TEST(an_empty_line_of_linked_files_is_refused) {
    _cleanup_(inputs_finish) struct inputs inputs = { 0 };
    struct error err = { 0 };
    size_t rows = 0, unused = 0;
    assert_int_equal(split(&inputs, "a\n\nb\n", 5, '\n', &err), 0);
    assert_int_equal(inputs_count(&inputs, &rows, &unused, &err), 0);
    assert_int_equal(split(&inputs, "x\ny\n", 4, '\n', &err), 0);
    assert_int_equal(inputs_count(&inputs, &rows, &unused, &err), -EINVAL);
    assert_string_equal(err.text, "line 2 of 'list' is empty; remove it: linked lists are matched "
                                  "line by line");
}
