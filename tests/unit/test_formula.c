/* test_formula.c: a formula becomes tasks; values are substituted only in texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formula/formula.h"
#include "harness/test.h"

static struct formula *read_formula(const char *text) {
    struct formula *formula = NULL;
    struct error err = { 0 };
    if (formula_read_text("dir/f.yaml", "/srv", text, strlen(text), &formula, &err) < 0)
        fail_msg("%s", err.text);
    return formula;
}

static void expect_unread(const char *text, const char *message) {
    struct formula *formula = NULL;
    struct error err = { 0 };
    assert_int_equal(formula_read_text("f.yaml", "/srv", text, strlen(text), &formula, &err),
                     -EINVAL);
    assert_null(formula);
    assert_string_equal(err.text, message);
}

static void expect_unexpanded(const char *text, const struct formula_value *values, size_t count,
                              const char *message) {
    _cleanup_(formula_freep) struct formula *formula = read_formula(text);
    struct error err = { 0 };
    json_t *body = NULL;
    assert_int_equal(formula_expand(formula, values, count, &body, &err), -EINVAL);
    assert_null(body);
    assert_string_equal(err.text, message);
}

static const json_t *task_of(const json_t *body, size_t index) {
    return json_array_get(json_object_get(body, "tasks"), index);
}

static const char *text_of(const json_t *task, const char *member) {
    return json_string_value(json_object_get(task, member));
}

TEST(f102_values_stand_in_texts_alone) {
    _cleanup_(formula_freep) struct formula *formula = read_formula(
        "vars: {who: , what: tea}\n"
        "defaults: {priority: 7}\n"
        "steps:\n"
        "  - {id: make, title: '{{what}} for {{ who }}', argv: [cook, '{{what}}'],"
        " env: {W: 'a{{who}}b'}}\n"
        "  - {id: bring, needs: make, run: 'echo {{{{who}} {{who}}', meta: {x: ['{{who}}', 3]}}\n");
    struct formula_value values[] = { { .name = "who", .value = "\"ann\": {{what}}\n- x" } };
    struct error err = { 0 };
    json_t *body = NULL;
    assert_int_equal(formula_expand(formula, values, 1, &body, &err), 0);
    const json_t *make = task_of(body, 0), *bring = task_of(body, 1);
    assert_string_equal(text_of(make, "title"), "tea for \"ann\": {{what}}\n- x");
    assert_string_equal(json_string_value(json_array_get(json_object_get(make, "argv"), 1)), "tea");
    assert_string_equal(text_of(json_object_get(make, "env"), "W"), "a\"ann\": {{what}}\n- xb");
    assert_int_equal(json_integer_value(json_object_get(make, "priority")), 7);
    assert_string_equal(text_of(make, "cwd"), "/srv");
    assert_string_equal(json_string_value(json_array_get(json_object_get(bring, "argv"), 2)),
                        "echo {{who}} \"ann\": {{what}}\n- x");
    const json_t *meta = json_object_get(bring, "meta");
    assert_string_equal(json_string_value(json_array_get(json_object_get(meta, "x"), 0)),
                        "\"ann\": {{what}}\n- x");
    assert_string_equal(text_of(meta, "formula"), "f");
    assert_string_equal(text_of(meta, "step"), "bring");
    assert_string_equal(text_of(json_object_get(meta, "vars"), "what"), "tea");
    json_decref(body);
}

TEST(f102_the_last_value_of_a_variable_counts) {
    _cleanup_(formula_freep) struct formula *formula =
        read_formula("vars: {a: 1}\nsteps: [{run: 'echo {{a}}'}]\n");
    struct formula_value values[] = { { .name = "a", .value = "2" },
                                      { .name = "a", .value = "3" } };
    struct error err = { 0 };
    json_t *body = NULL;
    assert_int_equal(formula_expand(formula, values, 2, &body, &err), 0);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(task_of(body, 0), "argv"), 2)), "echo 3");
    json_decref(body);
}

TEST(f102_missing_or_unknown_variables_are_reported_with_their_line) {
    struct formula_value none[] = { { .name = "nmae", .value = "x" } };
    expect_unexpanded("vars:\n  name:\nsteps:\n  - run: echo {{name}}\n", NULL, 0,
                      "dir/f.yaml:2: variable 'name' has no value: it is required (--var "
                      "name=VALUE)");
    expect_unexpanded("vars: {name: x}\nsteps: [{run: x}]\n", none, 1,
                      "formula 'f' has no variable 'nmae'; did you mean 'name'?");
    expect_unexpanded("steps:\n  - id: a\n    run: x\n  - id: b\n    run: echo {{prompt}}\n", NULL,
                      0, "dir/f.yaml:5: variable 'prompt' is not declared in 'vars'");
    expect_unread("steps:\n  - {id: a, run: x, needs: b}\n  - {id: b, run: x, needs: a}\n",
                  "f.yaml:2:5: dependency cycle detected: a -> b -> a (lines 2, 3)");
    expect_unread("vars: {a: 1, a: 2}\nsteps: [{run: x}]\n",
                  "f.yaml:1: 'a' is given twice, first in line 1");
    expect_unread("steps: []\n", "f.yaml:1:8: it contains no tasks");
}

TEST(f145_what_a_sling_offers_need_not_be_declared) {
    _cleanup_(formula_freep) struct formula *formula =
        read_formula("steps: [{run: 'echo {{task}}'}]\n");
    struct formula_value values[] = { { .name = "task", .value = "web-1", .offered = true },
                                      { .name = "title", .value = "x", .offered = true } };
    struct error err = { 0 };
    json_t *body = NULL;
    assert_int_equal(formula_check(formula, values, 2, &err), 0);
    assert_int_equal(formula_expand(formula, values, 2, &body, &err), 0);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(task_of(body, 0), "argv"), 2)),
        "echo web-1");
    json_decref(body);
}

TEST(variables_say_whether_they_are_required) {
    _cleanup_(formula_freep) struct formula *formula = read_formula(
        "name: other\nvars:\n  a:\n  b: x\n  c: {description: said}\n  d: {required: true}\n"
        "steps: [{run: x}]\n");
    assert_string_equal(formula_name(formula), "other");
    assert_int_equal(formula_var_count(formula), 4);
    assert_null(formula_var_at(formula, 0)->standard);
    assert_string_equal(formula_var_at(formula, 1)->standard, "x");
    assert_string_equal(formula_var_at(formula, 2)->standard, "");
    assert_string_equal(formula_var_at(formula, 2)->description, "said");
    assert_null(formula_var_at(formula, 3)->standard);
}
