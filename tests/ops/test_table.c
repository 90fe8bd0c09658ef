/* test_table.c: every operation follows the recipe in ops/op.h, and a request is routed to its operation. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "harness/test.h"
#include "ops/op.h"
#include "os/files.h"

#define EACH(at_) for (const struct op *const *at_ = op_table; *(at_); (at_)++)

/* --- the table ------------------------------------------------------------------------------- */

TEST(operations_are_in_order_and_found_by_name) {
    EACH(op) {
        if (op[1] && strcmp(op[0]->name, op[1]->name) >= 0)
            fail_msg("'%s' stands before '%s' in op_table.c", op[0]->name, op[1]->name);
        assert_ptr_equal(op_find((*op)->name), *op);
    }
    assert_null(op_find("task.dance"));
}

static void check_text(const char *whose, const char *what, const char *text) {
    if (!text || !*text) {
        fail_msg("%s has no %s", whose, what);
        return;
    }
    if (text[strlen(text) - 1] == '.' || strchr(text, '\n'))
        fail_msg("the %s of %s ends in a full stop or has two lines", what, whose);
    if (isupper((unsigned char)text[0]) && !isupper((unsigned char)text[1]))
        fail_msg("the %s of %s begins with a capital", what, whose);
}

static bool has_param(const struct op *op, const char *name, size_t size, enum op_place place) {
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (strlen(p->name) == size && memcmp(p->name, name, size) == 0 && p->place == place)
            return true;
    return false;
}

static void check_path(const struct op *op) {
    for (const char *at = strchr(op->path, '{'); at; at = strchr(at + 1, '{')) {
        size_t size = strcspn(at + 1, "}");
        if (!has_param(op, at + 1, size, OP_IN_PATH))
            fail_msg("%s: '%.*s' of its path is no parameter", op->name, (int)size, at + 1);
    }
    bool get = strcmp(op->method, "GET") == 0;
    assert_true(get || strcmp(op->method, "POST") == 0);
    for (const struct op_param *p = op->params; p && p->name; p++) {
        check_text(op->name, p->name, p->text);
        if (p->place == (get ? OP_IN_BODY : OP_IN_QUERY))
            fail_msg("%s: '%s' is in the wrong place for %s", op->name, p->name, op->method);
        if (p->place == OP_IN_PATH && !p->required)
            fail_msg("%s: '%s' is in the path and not required", op->name, p->name);
    }
}

/* Every member has a text, names are unique, and the example matches the shape. */
static void check_shape(const struct shape *shape, void *ctx) {
    const char *name = ctx ? ctx : shape->name;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    shape_print_example(shape, &text);
    json_t *example = json_loads(strbuf_text(&text), JSON_REJECT_DUPLICATES, NULL);
    if (!example || shape_check(shape, example, &err) < 0)
        fail_msg("the example of %s is wrong: %s", name, example ? err.text : strbuf_text(&text));
    json_decref(example);
    for (const struct shape_member *m = shape->members; m->name; m++) {
        check_text(name, m->name, m->text);
        unsigned type = m->type & T_TYPE;
        if ((type == T_OBJECT || type == T_WORD) != (m->of != NULL) && type != T_TEXT
            && !(m->type & T_MAP))
            fail_msg("'%s' of %s needs a shape or words, or must have none", m->name, name);
        if (type == T_OBJECT && !((const struct shape *)m->of)->name)
            fail_msg("the shape of '%s' of %s has no name", m->name, name);
    }
}

static void check_words(const struct words *words, void *ctx) {
    (void)ctx;
    assert_non_null(words_at(words, 0));
}

TEST(an_answer_of_another_shape_is_found) {
    static const struct {
        const char *answer, *why;
    } rows[] = {
        { "{\"name\":\"n\",\"already\":true}", "" },
        { "{\"name\":\"n\"}", "member 'already' is missing" },
        { "{\"name\":null,\"already\":true}", "member 'name' is null" },
        { "{\"name\":\"n\",\"already\":1}",
          "member 'already' has a value that its type does not allow" },
        { "{\"name\":\"n\",\"already\":true,\"more\":1}",
          "member 'more' is in no row of its shape" },
        { "[]", "not an object" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err = { 0 };
        json_t *answer = json_loads(rows[i].answer, 0, NULL);
        (void)shape_check(op_find("group.add")->answers, answer, &err);
        assert_string_equal(err.text, rows[i].why);
        json_decref(answer);
    }
}

TEST(every_operation_is_complete) {
    EACH(at) {
        const struct op *op = *at;
        check_text(op->name, "summary", op->summary);
        check_path(op);
        assert_non_null(op->run);
        if (op->writes && strcmp(op->method, "POST") != 0)
            fail_msg("%s writes and is no POST", op->name);
        if ((op->finish || op->replay) && !op->writes)
            fail_msg("%s does not write: it needs no finish and no replay", op->name);
        bool json = op->answer == OP_ANSWER_JSON || op->answer == OP_ANSWER_EVENTS;
        if (json != (op->answers != NULL))
            fail_msg("%s has no shape of its answer, or one though it is not JSON", op->name);
        if (op->answers)
            check_shape(op->answers, (void *)op->name);
    }
    shape_each(check_shape, NULL);
    words_each(check_words, NULL);
}

TEST(no_two_operations_have_the_same_route) {
    EACH(a) {
        for (const struct op *const *b = a + 1; *b; b++)
            if (strcmp((*a)->path, (*b)->path) == 0 && strcmp((*a)->method, (*b)->method) == 0)
                fail_msg("%s and %s are both %s %s", (*a)->name, (*b)->name, (*a)->method,
                         (*a)->path);
    }
}

/* --- the documents --------------------------------------------------------------------------- */

static void check_document(const char *path, const struct strbuf *made) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read(path, 4u << 20, &file, &err) < 0)
        fail_msg("%s: 'make docs' writes it", err.text);
    if (strcmp(strbuf_text(&file), strbuf_text(made)) != 0)
        fail_msg("%s is not what the table says: 'make docs' writes it again", path);
}

TEST(the_generated_page_is_up_to_date) {
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    op_print_markdown(&made);
    check_document(SOURCE_ROOT "/docs/reference/api.md", &made);
    EACH(op) {
        _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
        strbuf_printf(&head, "\n### %s\n\n`%s %s`: ", (*op)->name, (*op)->method, (*op)->path);
        if (!strstr(strbuf_text(&made), strbuf_text(&head)))
            fail_msg("%s has no section in the page", (*op)->name);
    }
}

TEST(the_generated_page_of_members_is_up_to_date) {
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    op_print_members(&made);
    check_document(SOURCE_ROOT "/docs/reference/members.md", &made);
    strbuf_clear(&made);
    op_print_form(&made);
    check_document(SOURCE_ROOT "/web/src/members.ts", &made);
}

TEST(the_generated_page_of_events_is_up_to_date) {
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    op_print_events(&made);
    check_document(SOURCE_ROOT "/docs/reference/events.md", &made);
}

TEST(the_description_for_programs_is_json_with_every_operation) {
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    op_print_openapi(&made, SLUICE_VERSION);
    check_document(SOURCE_ROOT "/docs/reference/openapi.json", &made);
    json_t *json = json_loads(strbuf_text(&made), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    EACH(op) {
        bool get = strcmp((*op)->method, "GET") == 0;
        const json_t *path = json_object_get(json_object_get(json, "paths"), (*op)->path);
        const json_t *id =
            json_object_get(json_object_get(path, get ? "get" : "post"), "operationId");
        assert_string_equal(json_string_value(id), (*op)->name);
        const json_t *answer = json_object_get(
            json_object_get(json_object_get(path, get ? "get" : "post"), "responses"), "200");
        const json_t *content = json_object_get(answer, "content");
        if ((*op)->answers
            && !json_object_get(json_object_get(content, "application/json"), "schema"))
            fail_msg("%s has no schema of its answer", (*op)->name);
    }
    json_decref(json);
}

TEST(the_generated_types_of_the_dashboard_are_up_to_date) {
    _cleanup_(strbuf_finish) struct strbuf made = STRBUF_INIT;
    op_print_typescript(&made);
    check_document(SOURCE_ROOT "/web/src/types.ts", &made);
    strbuf_clear(&made);
    op_print_css(&made);
    check_document(SOURCE_ROOT "/web/src/states.css", &made);
}

/* --- routes ---------------------------------------------------------------------------------- */

static const char *route(const char *method, const char *path, const char *param) {
    static char text[256];
    json_t *params = NULL;
    const char *allowed = NULL;
    const struct op *op = op_route(method, path, &params, &allowed);
    const char *value = json_string_value(json_object_get(params, param));
    (void)snprintf(text, sizeof(text), "%s %s",
                   op        ? op->name
                   : allowed ? allowed
                             : "-",
                   value ? value : "-");
    json_decref(params);
    return text;
}

TEST(a_path_finds_its_operation_and_its_parameters) {
    assert_string_equal(route("GET", "/v1/tasks", "id"), "task.list -");
    assert_string_equal(route("POST", "/v1/tasks", "id"), "task.add -");
    assert_string_equal(route("GET", "/v1/tasks/web-17/why", "id"), "task.why web-17");
    assert_string_equal(route("GET", "/v1/config/limits.runs", "key"), "config.get limits.runs");
    assert_string_equal(route("GET", "/v1/projects/a%2Fb%20%C3%A4", "name"), "project.show a/b ä");
    assert_string_equal(route("GET", "/v1/projects/a+b", "name"), "project.show a+b");
}

TEST(a_word_of_the_path_wins_over_a_parameter) {
    assert_string_equal(route("POST", "/v1/tasks/cancel", "id"), "task.cancel -");
    assert_string_equal(route("POST", "/v1/config/reload", "key"), "config.reload -");
    assert_string_equal(route("GET", "/v1/tasks/cancel", "id"), "task.show cancel");
}

TEST(a_wrong_method_names_the_right_one) {
    assert_string_equal(route("POST", "/v1/status", "-"), "GET -");
    assert_string_equal(route("GET", "/v1/pause", "-"), "POST -");
    assert_string_equal(route("DELETE", "/v1/tasks/web-1", "-"), "GET -");
}

TEST(an_invalid_path_finds_nothing) {
    static const char *const paths[] = {
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/tasks/",
        "/v1/tasks//why",
        "/v1/tasks/1/why/",
        "/v2/tasks",
        "v1/tasks",
        "/v1/taskss",
        "/v1/tasks/%00",
        "/v1/tasks/%ff",
        "/v1/tasks/%2",
        "/v1/tasks/%zz",
        "/v1/projects/%C3%28",
        "/v1/tasks/1/why/more",
    };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (strcmp(route("GET", paths[i], "id"), "- -") != 0)
            fail_msg("'%s' found %s", paths[i], route("GET", paths[i], "id"));
}

/* --- parameters ------------------------------------------------------------------------------ */

static const char *query(const char *op, const char *text) {
    static char result[512];
    struct error err = { 0 };
    json_t *params = json_object();
    int r = op_take_query(op_find(op), text, params, &err);
    if (r == 0)
        r = op_check(op_find(op), params, &err);
    char *dump = json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS);
    (void)snprintf(result, sizeof(result), "%s", r < 0 ? err.text : dump);
    free(dump);
    json_decref(params);
    return result;
}

TEST(a_query_is_decoded_and_typed) {
    assert_string_equal(query("task.list", ""), "{}");
    assert_string_equal(query("task.list", "limit=5&&project=a+b%26c"),
                        "{\"limit\":5,\"project\":\"a b&c\"}");
    assert_string_equal(query("config.list", "all=true"), "{\"all\":true}");
}

static bool ends_with(const char *name, const char *end) {
    size_t size = strlen(name), length = strlen(end);
    return size >= length && strcmp(name + size - length, end) == 0;
}

/* A time, a span or an amount of money may be a text with a unit. */
TEST(numbers_with_a_unit_may_be_texts) {
    EACH(op) {
        for (const struct op_param *p = (*op)->params; p && p->name; p++) {
            bool number = p->type == OP_NUMBER || p->type == OP_DECIMAL;
            bool unit = ends_with(p->name, "_s") || ends_with(p->name, "_usd")
                        || strcmp(p->name, "until") == 0 || strcmp(p->name, "since") == 0;
            if (number && unit && !p->spelled)
                fail_msg("%s: parameter '%s' needs .spelled", (*op)->name, p->name);
            if (!p->spelled)
                continue;
            const char *text = p->spelled == MEMBER_MONEY ? "$2.50" : "30s";
            json_t *params = json_pack("{s:s}", p->name, text);
            struct error err = { 0 };
            int r = op_check(*op, params, &err);
            if (r < 0 && !strstr(err.text, "is missing"))
                fail_msg("%s: %s=%s: %s", (*op)->name, p->name, text, err.text);
            assert_true(json_is_number(json_object_get(params, p->name)));
            json_object_set_new(params, p->name, json_string("soon"));
            assert_true(op_check(*op, params, &err) < 0);
            assert_non_null(strstr(err.text, "'soon'"));
            json_decref(params);
        }
    }
}

TEST(an_invalid_query_has_a_one_line_message) {
    static const struct {
        const char *op, *text, *message;
    } rows[] = {
        { "task.list", "limt=5", "unknown parameter 'limt'; did you mean 'limit'?" },
        { "task.list", "zebra=5", "unknown parameter 'zebra' of task.list" },
        { "task.list", "limit=5&limit=6", "parameter 'limit' is given twice" },
        { "task.list", "limit=", "parameter 'limit' is empty; leave it out" },
        { "task.list", "limit", "parameter 'limit' is empty; leave it out" },
        { "task.list", "limit=five", "parameter 'limit' must be a whole number" },
        { "task.list", "limit=0", "parameter 'limit' must be from 1 to 1000" },
        { "task.list", "limit=99999999999999999999", "parameter 'limit' must be a whole number" },
        { "task.list", "order=newest",
          "parameter 'order' is 'newest'; expected new, old or queue" },
        { "task.list", "project=a%0Ab", "parameter 'project' has a control character in it" },
        { "task.list", "project=%ff", "the query is not text: %XX must be bytes of UTF-8" },
        { "task.list", "project=%0", "the query is not text: %XX must be bytes of UTF-8" },
        { "config.list", "all=yes", "parameter 'all' must be true or false" },
        { "task.why", "id=web-1", "parameter 'id' belongs into the path" },
        { "task.add", "tasks=1", "parameter 'tasks' belongs into the body" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(query(rows[i].op, rows[i].text), rows[i].message);
}

TEST(every_error_has_its_status) {
    static const struct {
        int code, status;
        const char *word;
    } rows[] = {
        { -EINVAL, 400, "bad_request" }, { -ERANGE, 400, "bad_request" },
        { -E2BIG, 400, "bad_request" },  { -ELOOP, 400, "cycle" },
        { -ENOENT, 404, "not_found" },   { -EEXIST, 409, "exists" },
        { -EBUSY, 409, "conflict" },     { -EPERM, 403, "refused" },
        { -EACCES, 403, "refused" },     { -EAGAIN, 429, "deferred" },
        { -ENOSPC, 507, "disk_full" },   { -EIO, 503, "outcome_unknown" },
        { -ESHUTDOWN, 503, "stopping" }, { -ENOTSUP, 501, "not_supported" },
        { -EBADF, 500, "internal" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(op_error_status(rows[i].code), rows[i].status);
        assert_string_equal(op_error_word(rows[i].code), rows[i].word);
    }
}
