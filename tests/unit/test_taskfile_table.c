/* test_taskfile_table.c: every row of the table of members, in every form in which its value may be written.
 *
 * The rows are not repeated here: a new member is tested according to its kind. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "harness/test.h"
#include "taskfile/task_member.h"
#include "taskfile/taskfile.h"

#define NOW INT64_C(1800000000000)

static const struct option {
    const char *member, *name;
    char letter;
    const char *argument, *help;
} options[] = {
#define OPTION(member, name, letter, argument, help) { #member, name, letter, argument, help },
#include "taskfile/task_members.inc"
};

#define EACH(m)                                                                                    \
    for (const struct task_member *m = task_members; m < task_members + task_member_count; m++)

/* --- the table ------------------------------------------------------------------------------- */

static size_t found(const char *name) {
    size_t count = 0;
    EACH(m) {
        count += strcmp(m->name, name) == 0;
        for (const char *const *alias = m->aliases; *alias; alias++)
            count += strcmp(*alias, name) == 0;
    }
    return count;
}

TEST(every_row_is_complete_and_every_name_is_there_once) {
    EACH(m) {
        if (found(m->name) != 1)
            fail_msg("'%s' is the name of two members", m->name);
        assert_ptr_equal(task_member_find(m->name), m);
        for (const char *const *alias = m->aliases; *alias; alias++) {
            if (found(*alias) != 1)
                fail_msg("'%s' is the name of two members", *alias);
            assert_ptr_equal(task_member_find(*alias), m);
        }
        if (!m->text || !*m->text || m->text[strlen(m->text) - 1] == '.')
            fail_msg("'%s' needs a text, without a full stop at its end", m->name);
        if ((m->kind == MEMBER_CHOICE) != (m->choices != NULL))
            fail_msg("'%s' needs choices, or is no choice", m->name);
        bool bounded = m->kind == MEMBER_WHOLE || m->kind == MEMBER_SIZE || m->kind == MEMBER_NAMES
                       || m->kind == MEMBER_LINE;
        if (bounded && m->max <= m->min)
            fail_msg("'%s' needs a maximum", m->name);
        if (m->tools & MCP_CHILDREN && !(m->child & (CHILD_TOKEN | CHILD_IF_ALLOWED)))
            fail_msg("add_children shows '%s', which a run may not set", m->name);
        if (m->child == CHILD_ALL && m->why)
            fail_msg("'%s' says why a run may not set it, and it may", m->name);
    }
    assert_null(task_member_find("no_such_thing"));
}

TEST(every_option_is_there_once_and_sets_a_member) {
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const struct option *o = &options[i];
        const struct task_member *m = task_member_find(o->member);
        assert_non_null(m);
        assert_string_equal(m->name, o->member);
        assert_true(o->help && *o->help && strlen(o->help) < 72);
        if ((m->kind == MEMBER_SWITCH) != (o->argument == NULL))
            fail_msg("--%s: switches alone have no argument", o->name);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(options[k].name, o->name);
            assert_true(o->letter == 0 || options[k].letter != o->letter);
        }
    }
}

/* --- values ---------------------------------------------------------------------------------- */

/* JSON texts with the same meaning; the first is the stored form. */
static const char *const *forms_of(const struct task_member *m, const char *choice[3]) {
    static const char *const forms[MEMBER_KIND_MAX][6] = {
        [MEMBER_NAME] = { "\"a b\"" },
        [MEMBER_LINE] = { "\"a b\"" },
        [MEMBER_BODY] = { "\"a\\nb\"" },
        [MEMBER_PATH] = { "\"/srv/x\"", "\"x\"", "\"./x\"" },
        [MEMBER_PLACE] = { "\"a/b\"" },
        [MEMBER_ARTIFACT] = { "\"/srv/x\"", "\"x\"" },
        [MEMBER_WHOLE] = { "7", "\"7\"", "\"+7\"" },
        [MEMBER_SPAN] = { "5400", "\"90m\"", "\"1.5h\"", "\"5400\"", "\"5400s\"" },
        [MEMBER_SIZE] = { "1536", "\"1.5GB\"", "\"1536\"", "\"1536MB\"", "\"1572864K\"" },
        [MEMBER_MONEY] = { "2.5", "\"$2.50\"", "\"2.5\"" },
        [MEMBER_MOMENT] = { "1800001800000", "\"30m\"", "\"1800001800000\"" },
        [MEMBER_SWITCH] = { "true", "\"true\"" },
        [MEMBER_NAMES] = { "[\"a\",\"b\"]", "\"a, b\"", "[\" a,b \",\"a\"]" },
        [MEMBER_WORDS] = { "[\"sh\",\"-c\",\"x\"]" },
        [MEMBER_CHECKS] = { "[[\"sh\",\"-c\",\"x\"]]", "\"x\"", "[\"x\"]" },
        [MEMBER_GATE] = { "{\"argv\":[\"sh\",\"-c\",\"x\"]}", "\"x\"", "[\"sh\",\"-c\",\"x\"]",
                          "{\"run\":\"x\"}" },
        [MEMBER_ENV] = { "{\"A\":\"1\"}" },
        [MEMBER_PAIRS] = { "{\"A\":\"1\"}" },
        [MEMBER_OBJECT] = { "{\"a\":[1,true]}" },
    };
    static char first[40];
    if (m->kind != MEMBER_CHOICE)
        return forms[m->kind];
    (void)snprintf(first, sizeof(first), "\"%s\"", m->choices[0]);
    choice[0] = first;
    choice[1] = NULL;
    return choice;
}

static json_t *json_of(const char *text) {
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!json)
        fail_msg("the test is wrong: %s", text);
    return json;
}

static void read_as(const char *key, const char *form, const struct task_member *m,
                    const json_t *kept) {
    struct task_read_options reading = { .source = { .folder = "/srv", .now = NOW } };
    struct error err = { 0 };
    bool changed;
    json_t *task = json_object();
    json_object_set_new(task, key, json_of(form));
    if (task_members_read(task, &reading, &changed, &err) < 0)
        fail_msg("%s: %s is refused: %s", key, form, err.text);
    if (json_object_size(task) != 1 || !json_equal(json_object_get(task, m->name), kept))
        fail_msg("%s: %s becomes %s", key, form, json_dumps(task, JSON_COMPACT));
    json_decref(task);
}

TEST(every_member_is_read_in_every_form_and_under_every_name) {
    EACH(m) {
        const char *choice[3] = { NULL };
        const char *const *forms = forms_of(m, choice);
        json_t *kept = json_of(forms[0]);
        for (const char *const *form = forms; *form; form++) {
            read_as(m->name, *form, m, kept);
            for (const char *const *alias = m->aliases; *alias; alias++)
                read_as(*alias, m->kind == MEMBER_WORDS ? "\"x\"" : *form, m, kept);
        }
        json_decref(kept);
    }
}

/* A file is YAML, and JSON is YAML. */
TEST(every_member_is_read_from_a_file) {
    EACH(m) {
        const char *choice[3] = { NULL };
        const char *const *forms = forms_of(m, choice);
        json_t *kept = json_of(forms[0]);
        for (const char *const *form = forms; *form; form++) {
            struct taskfile *file = NULL;
            struct error err = { 0 };
            char text[200];
            bool moves = m->kind == MEMBER_MOMENT && form != forms; /* a file has its own clock */
            (void)snprintf(text, sizeof(text), "[{\"%s\": %s}]", m->name, *form);
            int r = taskfile_read_text("t", "/srv", text, strlen(text), &file, &err);
            if ((r == 0) == (m->flags & MEMBER_INTERNAL))
                fail_msg("%s: %s", text, r < 0 ? err.text : "taken, and it is internal");
            if (r < 0)
                continue;
            json_t *body = taskfile_body(file);
            const json_t *task = json_array_get(json_object_get(body, "tasks"), 0);
            if (!moves && !json_equal(json_object_get(task, m->name), kept))
                fail_msg("%s becomes %s", text, json_dumps(task, JSON_COMPACT));
            json_decref(body);
            taskfile_free(file);
        }
        json_decref(kept);
    }
}

TEST(what_is_wrong_is_named_with_the_value_and_an_example) {
    static const char *const junk[] = { "7.25", "\"\\u0001\"", "[[7]]", "{\"1\":7}", "false" };
    EACH(m) {
        size_t refused = 0;
        for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
            struct task_read_options reading = { .source.now = NOW };
            struct error err = { 0 };
            bool changed;
            char begin[64];
            json_t *task = json_object();
            json_object_set_new(task, m->name, json_of(junk[i]));
            (void)snprintf(begin, sizeof(begin), "'%s': expected ", m->name);
            int r = task_members_read(task, &reading, &changed, &err);
            refused += r < 0;
            if (r < 0
                && (strncmp(err.text, begin, strlen(begin)) != 0 || !strstr(err.text, ", got ")))
                fail_msg("%s", err.text);
            json_decref(task);
        }
        if (refused < 3)
            fail_msg("'%s' takes anything", m->name);
    }
}

TEST(ranges_hold_for_numbers_and_for_texts) {
    EACH(m) {
        if (m->kind != MEMBER_WHOLE && m->kind != MEMBER_SIZE)
            continue;
        for (int text = 0; text < 2; text++)
            for (int beyond = -1; beyond <= 1; beyond += 2) {
                int64_t most = beyond > 0 ? m->max : m->min;
                for (int more = 0; more < 2; more++) {
                    json_t *other = NULL, *value = json_integer(most + more * beyond);
                    char digits[32];
                    (void)snprintf(digits, sizeof(digits), "%lld",
                                   (long long)json_integer_value(value));
                    if (text) {
                        json_decref(value);
                        value = json_string(digits);
                    }
                    int r = task_member_check(m, m->name, value,
                                              &(struct task_source){ .now = NOW }, &other, NULL);
                    if ((r == 0) != (more == 0))
                        fail_msg("%s: %s", m->name, digits);
                    json_decref(other);
                    json_decref(value);
                }
            }
    }
}

TEST(two_names_of_one_member_are_refused) {
    struct task_read_options reading = { .source.now = NOW };
    struct error err = { 0 };
    bool changed;
    json_t *task = json_of("{\"needs\":[\"a\"],\"after\":\"b\"}");
    assert_int_equal(task_members_read(task, &reading, &changed, &err), -EINVAL);
    assert_string_equal(err.text, "'after' and 'depends_on' are the same; remove one");
    json_decref(task);
}

TEST(texts_for_programs_have_no_links) {
    EACH(m) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        task_member_text(m, &text);
        assert_null(strstr(strbuf_text(&text), ".md"));
        assert_null(strchr(strbuf_text(&text), ']'));
    }
}
