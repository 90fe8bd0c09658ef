/* test_bad_input.c: any bad input to any operation is answered with a one-line error message and changes nothing.
 *
 * The calls are generated from the table of operations: a new operation needs no line here. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fixture.h"
#include "harness/test.h"

struct trial {
    struct ops ops;
    struct ops_trace before;
    const struct op *op;
    unsigned count;
};

static void trial_finish(struct trial *t) {
    ops_close(&t->ops);
}

static void begin(struct trial *t) {
    ops_open(&t->ops, OPS_MEMORY, NULL);
    for (int i = 0; i < 4; i++) /* two run, two wait */
        (void)ops_add(&t->ops, "");
    (void)ops_add(&t->ops, "\"draft\":true,");
    ops_trace(&t->ops, &t->before);
}

static void check_message(const struct trial *t, const struct reply *r, const char *what) {
    const char *text = reply_text(r, "error.message");
    size_t size = strlen(text);
    if (size < 8 || size > 300 || strchr(text, '\n') || text[size - 1] == '.')
        fail_msg("%s, %s: not a one-line message: '%s'", t->op->name, what, text);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            fail_msg("%s, %s: a control character in '%s'", t->op->name, what, text);
}

/* The path with a harmless value for each parameter. */
static void fill_path(const struct op *op, const char *value, struct strbuf *out) {
    for (const char *at = op->path; *at;) {
        if (*at == '{') {
            strbuf_puts(out, value);
            at += strcspn(at, "}") + 1;
        } else {
            strbuf_putc(out, *at++);
        }
    }
}

/* Refused with one of two statuses, without a change of state. */
static void refused(struct trial *t, const char *path, const char *body, size_t size,
                    const char *what) {
    struct reply r =
        ops_ask_bytes(&t->ops, t->op->method, path, body, size, "key-of-a-bad-request");
    struct ops_trace after;
    if (r.status != 400 && r.status != 404)
        fail_msg("%s, %s: status %d: %s", t->op->name, what, r.status, r.text);
    check_message(t, &r, what);
    ops_trace(&t->ops, &after);
    if (memcmp(&t->before, &after, sizeof(after)) != 0)
        fail_msg("%s, %s: it was refused and something has changed", t->op->name, what);
    reply_finish(&r);
    t->count++;
}

static void refused_body(struct trial *t, const char *body, const char *what) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    fill_path(t->op, "1", &path);
    refused(t, strbuf_text(&path), body, strlen(body), what);
}

static void refused_query(struct trial *t, const char *name, const char *value, const char *what) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    fill_path(t->op, "1", &path);
    strbuf_printf(&path, "?%s=%s", name, value);
    refused(t, strbuf_text(&path), NULL, 0, what);
}

/* --- one parameter --------------------------------------------------------------------------- */

/* JSON values of every type; `of` has a letter for each type that accepts it. */
static const struct {
    const char *json, *of;
} values[] = {
    { "\"text\"", "tv" }, { "7", "ndv" }, { "7.5", "dv" },      { "true", "bv" },
    { "[\"a\"]", "la" },  { "[7]", "a" }, { "[[\"a\"]]", "a" }, { "{\"a\":\"b\"}", "o" },
};

static char letter_of(enum op_type type) {
    static const char letters[OP_TYPE_MAX] = {
        [OP_TEXT] = 't', [OP_NUMBER] = 'n', [OP_DECIMAL] = 'd', [OP_BOOLEAN] = 'b',
        [OP_LIST] = 'l', [OP_OBJECT] = 'o', [OP_ARRAY] = 'a',   [OP_VALUE] = 'v',
    };
    return letters[type];
}

static void try_types(struct trial *t, const struct op_param *p) {
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (strchr(values[i].of, letter_of(p->type)))
            continue;
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_printf(&body, "{\"%s\":%s}", p->name, values[i].json);
        refused_body(t, strbuf_text(&body), "a wrong type");
    }
}

static void try_number(struct trial *t, const struct op_param *p, int64_t number) {
    char text[64];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    if (p->place == OP_IN_QUERY) {
        refused_query(t, p->name, text, "out of range");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"%s\":%s}", p->name, text);
    refused_body(t, strbuf_text(&body), "out of range");
}

static void try_text(struct trial *t, const struct op_param *p, const char *json,
                     const char *what) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"%s\":%s}", p->name, json);
    refused_body(t, strbuf_text(&body), what);
}

static void try_long_text(struct trial *t, const struct op_param *p) {
    size_t size = (size_t)(p->max ? p->max : 1024) + 1;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "x", size);
    if (p->place == OP_IN_QUERY) {
        refused_query(t, p->name, strbuf_text(&text), "too long");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf json = STRBUF_INIT;
    strbuf_printf(&json, "\"%s\"", strbuf_text(&text));
    try_text(t, p, strbuf_text(&json), "too long");
}

static void try_long_list(struct trial *t, const struct op_param *p) {
    size_t count = (size_t)(p->max ? p->max : 10000) + 1;
    _cleanup_(strbuf_finish) struct strbuf json = STRBUF_INIT;
    strbuf_puts(&json, "[\"1\"");
    strbuf_repeat(&json, ",\"1\"", count - 1);
    strbuf_putc(&json, ']');
    try_text(t, p, strbuf_text(&json), "too many");
}

static void try_body_param(struct trial *t, const struct op_param *p) {
    try_types(t, p);
    if (p->type == OP_TEXT || p->type == OP_VALUE) {
        try_long_text(t, p);
        if (!p->lines)
            try_text(t, p, "\"a\\nb\"", "a control character");
        try_text(t, p, "\"a\\u0000b\"", "a NUL");
        if (p->min > 0)
            try_text(t, p, "\"\"", "empty");
        if (p->choices)
            try_text(t, p, "\"neither\"", "no choice");
    }
    if (p->type == OP_LIST || p->type == OP_ARRAY)
        try_long_list(t, p);
    if (p->type == OP_LIST) {
        try_text(t, p, "[\"a\",7]", "an entry of a wrong type");
        try_text(t, p, "[\"\"]", "an empty entry");
        try_text(t, p, "[\"a\\u001bb\"]", "a control character in an entry");
    }
    if (p->min > 0 && (p->type == OP_LIST || p->type == OP_ARRAY))
        try_text(t, p, "[]", "empty");
}

static void try_query_param(struct trial *t, const struct op_param *p) {
    refused_query(t, p->name, "", "empty");
    refused_query(t, p->name, "%00", "a NUL");
    refused_query(t, p->name, "%ff%fe", "no UTF-8");
    refused_query(t, p->name, "%1b%5b2J", "a control character");
    if (p->type != OP_TEXT)
        refused_query(t, p->name, "neither", "a wrong type");
    if (p->type == OP_TEXT && !p->choices)
        try_long_text(t, p);
    if (p->choices)
        refused_query(t, p->name, "neither", "no choice");
}

static void try_param(struct trial *t, const struct op_param *p) {
    if (p->place == OP_IN_BODY)
        try_body_param(t, p);
    else if (p->place == OP_IN_QUERY)
        try_query_param(t, p);
    if (p->type == OP_NUMBER && p->place != OP_IN_PATH) {
        if (p->min > INT64_MIN)
            try_number(t, p, p->min - 1);
        if (p->max != 0 && p->max < INT64_MAX)
            try_number(t, p, p->max + 1);
    }
}

/* --- the body -------------------------------------------------------------------------------- */

static void try_no_json(struct trial *t) {
    static const char *const bodies[] = {
        "[]",
        "7",
        "\"a\"",
        "null",
        "true",
        "{",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{'a':1}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{} {}",
        "\xef\xbb\xbf{}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":1e999}",
        "{\"a\":99999999999999999999}",
        "{\"a\":\"\\ud800\"}",
        "nonsense",
        "{\"zebra\":1}",
        "{\"\":1}",
        "{\"a\\u0000b\":1}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        refused_body(t, bodies[i], bodies[i]);
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    fill_path(t->op, "1", &path);
    refused(t, strbuf_text(&path), "{\"a\":\0}", 7, "a NUL in the body");
}

static void try_twice(struct trial *t) {
    const struct op_param *p = t->op->params;
    while (p && p->name && p->place != OP_IN_BODY)
        p++;
    if (!p || !p->name)
        return;
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"%s\":null,\"%s\":null}", p->name, p->name);
    refused_body(t, strbuf_text(&body), "the same member twice");
}

static void try_deep(struct trial *t, unsigned depth) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":");
    strbuf_repeat(&body, "[", depth);
    strbuf_repeat(&body, "]", depth);
    strbuf_putc(&body, '}');
    refused_body(t, strbuf_text(&body), "deep nesting");
}

static void try_huge(struct trial *t) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":[\"");
    strbuf_repeat(&body, "0123456789abcdef", 1 << 16);
    strbuf_puts(&body,
                "\"],\"task\":\"x\",\"name\":7,\"set\":7,\"path\":7,\"dry_run\":7,\"project\":7}");
    refused_body(t, strbuf_text(&body), "a megabyte");
}

static void try_missing(struct trial *t) {
    bool required = false;
    for (const struct op_param *p = t->op->params; p && p->name; p++)
        required = required || (p->required && p->place == OP_IN_BODY);
    if (required)
        refused_body(t, "{}", "nothing given");
}

static void try_body(struct trial *t) {
    try_no_json(t);
    try_twice(t);
    try_deep(t, 65);
    try_deep(t, 5000);
    try_deep(t, 200000);
    try_huge(t);
    try_missing(t);
}

/* --- the path -------------------------------------------------------------------------------- */

static void try_path(struct trial *t) {
    static const char *const names[] = {
        "nobody", "999999", "web-999999",           "%ff", "%00", "a%0Ab", "..%2f..%2fetc",
        "-1",     "0",      "99999999999999999999", "1.5", "%20",
    };
    if (!strchr(t->op->path, '{'))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        fill_path(t->op, names[i], &path);
        refused(t, strbuf_text(&path), NULL, 0, names[i]);
    }
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, path = STRBUF_INIT;
    strbuf_repeat(&name, "x", 5000);
    fill_path(t->op, strbuf_text(&name), &path);
    refused(t, strbuf_text(&path), NULL, 0, "a long name");
}

TEST(bad_input_to_every_operation_changes_nothing) {
    _cleanup_(trial_finish) struct trial t = { 0 };
    begin(&t);
    for (const struct op *const *op = op_table; *op; op++) {
        t.op = *op;
        for (const struct op_param *p = t.op->params; p && p->name; p++)
            try_param(&t, p);
        if (strcmp(t.op->method, "POST") == 0)
            try_body(&t);
        else
            refused_query(&t, "zebra", "1", "an unknown parameter");
        try_path(&t);
    }
    assert_true(t.count > 500);
}

/* Every operation that takes ids, called with a task that does not exist. */
TEST(an_unknown_task_is_not_found_and_nothing_is_done) {
    _cleanup_(trial_finish) struct trial t = { 0 };
    begin(&t);
    static const char *const bodies[] = {
        "{\"tasks\":[\"1\",\"999999\"]}",          "{\"tasks\":[\"1\",\"999999\"],\"priority\":1}",
        "{\"task\":\"999999\",\"depends_on\":[]}", "{\"task\":\"1\",\"depends_on\":[\"999999\"]}",
        "{\"task\":\"999999\",\"done\":true}",
    };
    for (const struct op *const *op = op_table; *op; op++)
        for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
            t.op = *op;
            if (strcmp(t.op->method, "POST") != 0 || strcmp(t.op->name, "task.add") == 0)
                continue;
            struct reply r = ops_ask(&t.ops, "POST", t.op->path, bodies[i], NULL);
            struct ops_trace after;
            ops_trace(&t.ops, &after);
            if (r.status == 200 || memcmp(&t.before, &after, sizeof(after)) != 0)
                fail_msg("%s with %s: status %d: %s", t.op->name, bodies[i], r.status, r.text);
            reply_finish(&r);
        }
    ops_refused(&t.ops, 404, "/v1/tasks/cancel", "{\"tasks\":[\"1\",\"999999\"]}",
                "there is no task '999999'");
    ops_refused(&t.ops, 404, "/v1/tasks/hold", "{\"tasks\":[\"web-1\"]}",
                "there is no task 'web-1' (number 1 is 't-1')");
}
