/* test_add.c: which tasks can be added, which are refused with which message, and what the answer contains. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "harness/test.h"

static struct reply add(struct ops *o, const char *body) {
    return ops_ask(o, "POST", "/v1/tasks", body, NULL);
}

/* Adds one task with these members alone; expects the status and the error message. */
static void refused_task(struct ops *o, int status, const char *members, const char *message) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    struct ops_trace before, after;
    strbuf_printf(&body, "{\"tasks\":[{%s}]}", members);
    ops_trace(o, &before);
    struct reply r = add(o, strbuf_text(&body));
    if (r.status != status || strcmp(reply_text(&r, "error.message"), message) != 0)
        fail_msg("{%s}: status %d, '%s'", members, r.status, reply_text(&r, "error.message"));
    assert_int_equal(reply_int(&r, "error.index"), 0);
    ops_trace(o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    reply_finish(&r);
}

TEST(f097_the_answer_says_started_or_queued_and_where) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL); /* two slots */
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]},{\"argv\":[\"c\"]},"
                "{\"argv\":[\"d\"]},{\"argv\":[\"e\"],\"hold\":true},"
                "{\"argv\":[\"f\"],\"draft\":true}]}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.id"), "t-1");
    static const char *const results[] = {
        "started", "started", "queued", "queued", "held", "draft"
    };
    for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "tasks.%zu.result", i);
        assert_string_equal(reply_text(&r, path), results[i]);
    }
    assert_string_equal(reply_text(&r, "tasks.0.state"), "starting");
    assert_string_equal(reply_text(&r, "tasks.2.state"), "ready");
    assert_true(reply_is_null(&r, "tasks.0.queue_position"));
    assert_int_equal(reply_int(&r, "tasks.2.queue_position"), 1);
    assert_int_equal(reply_int(&r, "tasks.3.queue_position"), 2);
    assert_true(reply_is_null(&r, "tasks.4.queue_position"));
    assert_true(reply_is_null(&r, "group"));
    assert_true(reply_is_null(&r, "warning"));
}

TEST(f010_f115_a_batch_is_added_whole_or_not_at_all) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct ops_trace before, after;
    ops_trace(&o, &before);
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"group\":\"g\",\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]},"
                "{\"argv\":[\"c\"],\"agent\":\"clade\"}]}");
    assert_int_equal(r.status, 404);
    assert_int_equal(reply_int(&r, "error.index"), 2);
    assert_string_equal(reply_text(&r, "error.message"),
                        "task 3: there is no agent 'clade'; did you mean 'claude'?");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
}

TEST(a_batch_can_have_a_new_group_whose_name_is_made_up) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const char two[] = "{\"new_group\":true,\"tasks\":[{\"argv\":[\"a\"],\"external_id\":"
                              "\"x\"},{\"argv\":[\"b\"],\"external_id\":\"y\"}]}";
    _cleanup_(reply_finish) struct reply r = add(&o, two);
    assert_string_equal(reply_text(&r, "group"), "group-1");
    _cleanup_(reply_finish) struct reply shown =
        ops_ask(&o, "GET", "/v1/groups/group-1", NULL, NULL);
    assert_int_equal(reply_int(&shown, "total"), 2);
    /* Nothing is added, so there is no group. */
    struct ops_trace before, after;
    ops_trace(&o, &before);
    _cleanup_(reply_finish) struct reply again = add(&o, two);
    assert_true(reply_is_null(&again, "group"));
    _cleanup_(reply_finish) struct reply refused =
        add(&o, "{\"new_group\":true,\"tasks\":[{\"argv\":[\"a\"],\"agent\":\"clade\"}]}");
    assert_int_equal(refused.status, 404);
    _cleanup_(reply_finish) struct reply both =
        add(&o, "{\"new_group\":true,\"group\":\"g\",\"tasks\":[{\"argv\":[\"a\"]}]}");
    assert_int_equal(both.status, 400);
    assert_string_equal(reply_text(&both, "error.message"),
                        "'group' and 'new_group' cannot be used together");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
}

TEST(f019_dependencies_are_trimmed_split_and_each_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, "");
    task_id a = ops_add(&o, "\"depends_on\":\" t-1 , t-2,,t-1, 2 \",");
    task_id b = ops_add(&o, "\"depends_on\":[\"t-3 \",\"t-1, t-3\"],");
    task_id on[4];
    assert_int_equal(core_task_depends(engine_core(o.engine), a, on, 4), 2);
    assert_int_equal(core_task_depends(engine_core(o.engine), b, on, 4), 2);
    refused_task(
        &o, 404, "\"argv\":[\"a\"],\"depends_on\":\"t-99\"",
        "it depends on 't-99', which does not exist; use force to let it wait for that task");
    refused_task(&o, 400, "\"argv\":[\"a\"],\"depends_on\":\"build\"",
                 "it depends on 'build', which is neither an id nor a name of this batch");
    refused_task(&o, 400, "\"name\":\"me\",\"argv\":[\"a\"],\"depends_on\":\"me\"",
                 "task 'me' depends on itself");
}

TEST(f020_a_ring_is_refused_and_printed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct ops_trace before, after;
    ops_trace(&o, &before);
    ops_refused(&o, 400, "/v1/tasks",
                "{\"tasks\":[{\"name\":\"x\",\"argv\":[\"x\"]},"
                "{\"name\":\"a\",\"argv\":[\"a\"],\"depends_on\":\"b\"},"
                "{\"name\":\"b\",\"argv\":[\"b\"],\"depends_on\":[\"x\",\"a\"]}]}",
                "dependency cycle detected: a -> b -> a");
    /* a child waits for its parent too */
    ops_refused(&o, 400, "/v1/tasks",
                "{\"tasks\":[{\"name\":\"p\",\"argv\":[\"p\"],\"depends_on\":\"c\"},"
                "{\"name\":\"c\",\"argv\":[\"c\"],\"parent\":\"p\"}]}",
                "dependency cycle detected: p -> c -> p");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"name\":\"p\",\"argv\":[\"p\"],\"depends_on\":\"c\"},"
               "{\"name\":\"c\",\"argv\":[\"c\"],\"parent\":\"p\",\"parent_gate\":\"none\"}]}");
}

TEST(f020_a_ring_through_stored_tasks_is_printed_too) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"hold\":true,");
    (void)ops_add(&o, "\"depends_on\":\"t-1\",");
    (void)ops_add(&o, "\"depends_on\":\"t-2\",");
    ops_refused(&o, 400, "/v1/tasks/depends", "{\"task\":\"t-1\",\"depends_on\":[\"t-3\"]}",
                "dependency cycle detected: t-1 -> t-3 -> t-2 -> t-1");
    ops_refused(&o, 400, "/v1/tasks/depends", "{\"task\":\"t-1\",\"depends_on\":[\"t-1\"]}",
                "dependency cycle detected: t-1 -> t-1");
    for (int i = 4; i <= 12; i++) {
        char members[40];
        (void)snprintf(members, sizeof(members), "\"depends_on\":\"t-%d\",", i - 1);
        (void)ops_add(&o, members);
    }
    ops_refused(&o, 400, "/v1/tasks/depends", "{\"task\":\"t-1\",\"depends_on\":[\"t-12\"]}",
                "dependency cycle detected: t-1 -> t-12 -> t-11 -> t-10 -> t-9 -> t-8 -> t-7 -> "
                "t-6 -> t-5 -> … (12 tasks) -> t-1");
}

TEST(names_of_the_batch_win_over_ids) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "");
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"tasks\":[{\"name\":\"t-1\",\"argv\":[\"a\"]},"
                "{\"argv\":[\"b\"],\"depends_on\":\"t-1\",\"parent\":\"t-1\"}]}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.name"), "t-1");
    assert_string_equal(reply_text(&r, "tasks.0.id"), "t-2");
    task_id on = 0;
    assert_int_equal(core_task_depends(engine_core(o.engine), 3, &on, 1), 1);
    assert_int_equal(on, 2);
    ops_refused(&o, 400, "/v1/tasks",
                "{\"tasks\":[{\"name\":\"a\",\"argv\":[\"a\"]},{\"name\":\"a\",\"argv\":[\"b\"]}]}",
                "task 'a': two tasks of this batch are called 'a': 0 and 1");
}

TEST(f099_a_prefix_of_another_project_is_refused_unless_forced) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    refused_task(&o, 403, "\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"api-7\"",
                 "external id 'api-7' has the prefix of project 'api', but the task is for 'web'; "
                 "force overrides");
    task_id parent = ops_add(&o, "\"project\":\"api\",");
    assert_int_equal(parent, 1);
    refused_task(&o, 403, "\"argv\":[\"a\"],\"project\":\"web\",\"parent\":\"api-1\"",
                 "parent 'api-1' is in another project than 'web'; force overrides");
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"force\":true,\"tasks\":[{\"argv\":[\"a\"],\"project\":\"web\","
               "\"external_id\":\"api-7\",\"parent\":\"api-1\"}]}");
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"web-7\"},"
               "{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"elsewhere-7\"}]}");
}

TEST(f100_an_external_id_is_scheduled_once) {
    for (int store = OPS_MEMORY; store <= OPS_SQLITE; store++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        ops_open(&o, (enum ops_store)store, NULL);
        static const char body[] =
            "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"card 7\",\"name\":\"a\"},"
            "{\"argv\":[\"b\"],\"depends_on\":\"a\"}]}";
        _cleanup_(reply_finish) struct reply a = add(&o, body), b = add(&o, body);
        assert_false(reply_bool(&a, "tasks.0.already"));
        assert_true(reply_bool(&b, "tasks.0.already"));
        assert_string_equal(reply_text(&b, "tasks.0.result"), "already");
        assert_string_equal(reply_text(&b, "tasks.0.id"), "t-1");
        assert_string_equal(reply_text(&b, "tasks.1.id"), "t-3");
        task_id on = 0; /* the second depends on the existing task */
        assert_int_equal(core_task_depends(engine_core(o.engine), 3, &on, 1), 1);
        assert_int_equal(on, 1);
        /* another project, another task */
        _cleanup_(reply_finish) struct reply c = add(
            &o, "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"card 7\",\"project\":\"web\"}]}");
        assert_false(reply_bool(&c, "tasks.0.already"));
    }
}

TEST(f100_also_twice_in_one_batch_and_in_one_turn) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    static const char body[] = "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"x\"},"
                               "{\"argv\":[\"b\"],\"external_id\":\"x\"}]}";
    struct reply a, b;
    ops_begin(&o, "/v1/tasks", body, NULL, &a);
    ops_begin(&o, "/v1/tasks", body, NULL, &b);
    ops_turn(&o);
    assert_int_equal(a.status, 200);
    assert_int_equal(b.status, 200);
    assert_false(reply_bool(&a, "tasks.0.already"));
    assert_true(reply_bool(&a, "tasks.1.already"));
    assert_true(reply_bool(&b, "tasks.0.already"));
    assert_true(reply_bool(&b, "tasks.1.already"));
    assert_string_equal(reply_text(&b, "tasks.1.id"), "t-1");
    assert_int_equal(engine_last_task(o.engine), 1);
    reply_finish(&a);
    reply_finish(&b);
}

TEST(a_refused_batch_leaves_no_external_id_behind) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply a, b;
    ops_begin(
        &o, "/v1/tasks",
        "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"x\"},{\"argv\":[\"b\"],\"kind\":\"k\"}]}",
        NULL, &a);
    ops_begin(&o, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"x\"}]}", NULL, &b);
    ops_turn(&o);
    assert_int_equal(a.status, 404);
    assert_int_equal(b.status, 200);
    assert_false(reply_bool(&b, "tasks.0.already"));
    reply_finish(&a);
    reply_finish(&b);
}

TEST(f116_what_was_written_is_kept_word_for_word) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\" : [ {\"argv\":[\"sh\", \"-c\", \"echo  \\\"hi\\\" \\u00e4\"],\n"
               "  \"timeout_s\": 0.1, \"meta\": {\"z\": 1.10, \"a\": [null, {\"deep\": 1e2}]},\n"
               "\"env\":{\"A\":\"b\"}} ], \"draft\": true}");
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL);
    assert_non_null(strstr(r.text,
                           "\"spec\":{\"argv\":[\"sh\",\"-c\",\"echo  \\\"hi\\\" \\u00e4\"],"
                           "\"timeout_s\":0.1,\"meta\":{\"z\":1.10,\"a\":[null,{\"deep\":1e2}]},"
                           "\"env\":{\"A\":\"[not shown]\"}},"));
}

TEST(names_must_be_known_and_the_near_one_is_offered) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const struct {
        const char *members, *message;
    } rows[] = {
        { "\"project\":\"wbe\"", "there is no project 'wbe'; did you mean 'web'?" },
        { "\"project\":\"zebra\"",
          "there is no project 'zebra'; 'sluice project add zebra' makes it" },
        { "\"kind\":\"plna\"", "there is no kind 'plna'; did you mean 'plan'?" },
        { "\"agent\":\"clod\"",
          "there is no agent 'clod'; 'sluice config set agents.clod.command=PROGRAM' makes it" },
        { "\"limiter\":\"antropic\"", "there is no limiter 'antropic'; did you mean 'anthropic'?" },
        { "\"resources\":[\"gpu\",\"licence\"]",
          "there is no resource 'licence'; did you mean 'license'?" },
        { "\"parent\":\"t-9\"", "parent 't-9': there is no task 't-9'" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf members = STRBUF_INIT;
        strbuf_printf(&members, "\"argv\":[\"a\"],%s", rows[i].members);
        refused_task(&o, 404, strbuf_text(&members), rows[i].message);
    }
}

TEST(a_missing_dependency_may_be_forced) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"force\":true,\"tasks\":[{\"argv\":[\"a\"],\"depends_on\":\"t-40\"}]}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.state"), "waiting");
    _cleanup_(reply_finish) struct reply why = ops_ask(&o, "GET", "/v1/tasks/1/why", NULL, NULL);
    assert_string_equal(reply_text(&why, "first"), "dependency");
}

TEST(members_of_a_task_are_checked) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const struct {
        const char *members, *message;
    } rows[] = {
        { "", "a task needs an 'argv', or a 'prompt' for its agent" },
        { "\"argv\":null", "a task needs an 'argv', or a 'prompt' for its agent" },
        { "\"argv\":[\"a\"],\"prompt\":\"b\"", "a task has a 'prompt' or an 'argv', not both" },
        { "\"prompt\":\"b\"",
          "a 'prompt' needs an 'agent', or a roster of workers that take it: agents.NAME.roster" },
        { "\"prompt\":\"\",\"agent\":\"claude\"",
          "'prompt': expected a text that is not empty, got ''" },
        { "\"prompt\":\"b\",\"agent\":\"mute\"", "agent 'mute' has no command to be told a prompt: "
                                                 "set agents.mute.command, or give an 'argv'" },
        { "\"argv\":[]", "'argv': expected a list of words, the program first, got a list" },
        { "\"argv\":\"ls\"", "'argv': expected a list of words, the program first, got 'ls'" },
        { "\"argv\":[\"\"]", "'argv': expected a program as the first word, got ''" },
        { "\"argv\":[\"a\",7]", "'argv': expected a text as word 2, got 7" },
        { "\"argv\":[\"a\"],\"depend_on\":\"b\"",
          "a task has no 'depend_on'; did you mean 'depends_on'?" },
        { "\"argv\":[\"a\"],\"colour\":\"b\"",
          "a task has no 'colour'; your own data belongs under 'meta'" },
        { "\"argv\":[\"a\"],\"priority\":\"high\"",
          "'priority': expected a whole number from -1000000 to 1000000, got 'high'" },
        { "\"argv\":[\"a\"],\"priority\":1.5",
          "'priority': expected a whole number from -1000000 to 1000000, got 1.5" },
        { "\"argv\":[\"a\"],\"priority\":1000001",
          "'priority': expected a whole number from -1000000 to 1000000, got 1000001" },
        { "\"argv\":[\"a\"],\"timeout_s\":0", "'timeout_s': expected a time span like 90s, 30m, 2h "
                                              "or 1d from 0.1 s to 87600 h, got 0" },
        { "\"argv\":[\"a\"],\"timeout\":\"soon\"",
          "'timeout': expected a time span like 90s, 30m, 2h or 1d, got 'soon'" },
        { "\"argv\":[\"a\"],\"timeout\":\"1h\",\"timeout_s\":60",
          "'timeout' and 'timeout_s' are the same; remove one" },
        { "\"argv\":[\"a\"],\"usd\":\"$x\"",
          "'usd': expected dollars like 2.50 or $2.50, got '$x'" },
        { "\"argv\":[\"a\"],\"memory\":\"1XB\"",
          "'memory': expected a size like 512MB or 1.5GB, got '1XB'" },
        { "\"argv\":[\"a\"],\"not_before\":\"24:00\"",
          "'not_before': expected a time like 30m, 18:30 or 2027-01-31T18:30, got '24:00'" },
        { "\"argv\":[\"a\"],\"draft\":1", "'draft': expected true or false, got 1" },
        { "\"argv\":[\"a\"],\"until\":\"soon\"",
          "'until': expected one of exit, done, validate, external, got 'soon'" },
        { "\"argv\":[\"a\"],\"until\":\"validate\"", "'until' is validate: that needs 'checks'" },
        { "\"argv\":[\"a\"],\"checks\":[{\"argv\":[\"a\"],\"time\":1}]",
          "'checks': expected 'argv' or 'run', 'timeout_s', 'every_s' and 'pending_timeout_s' in a "
          "check, got 'time'" },
        { "\"argv\":[\"a\"],\"checks\":[{}]",
          "'checks': expected a list of words, the program first, got nothing" },
        { "\"argv\":[\"a\"],\"checks\":[7]", "'checks': expected a command for the shell, got 7" },
        { "\"argv\":[\"a\"],\"gate\":7", "'gate': expected a command: a text for the shell, a list "
                                         "of words, or 'argv' or 'run' with "
                                         "'every' and 'timeout', got 7" },
        { "\"argv\":[\"a\"],\"gate\":{\"run\":\"b\",\"often\":1}",
          "'gate': expected 'argv' or 'run', 'every_s' and 'timeout_s' in a gate, got 'often'" },
        { "\"argv\":[\"a\"],\"gate\":{\"run\":\"b\",\"every\":\"-1s\"}",
          "'gate': 'every_s': expected a time span like 90s, 30m, 2h or 1d, got '-1s'" },
        { "\"argv\":[\"a\"],\"env\":{\"1A\":\"b\"}",
          "'env': expected names of letters, digits and _, got '1A'" },
        { "\"argv\":[\"a\"],\"env\":{\"SLUICE_TASK\":\"b\"}",
          "'env': expected no names that begin with SLUICE_, which Sluice sets itself, got "
          "'SLUICE_TASK'" },
        { "\"argv\":[\"a\"],\"env\":{\"A\":7}", "'env': expected a text for 'A', got 7" },
        { "\"argv\":[\"a\"],\"cwd\":\"src\"", "'cwd': expected an absolute path, got 'src'" },
        { "\"argv\":[\"a\"],\"title\":\"a\\nb\"",
          "'title': expected one line of at most 500 bytes without control characters, got 'a?b'" },
        { "\"argv\":[\"a\"],\"name\":\" a\"",
          "'name': expected a name of 1 to 128 bytes without control characters, got ' a'" },
        { "\"argv\":[\"a\"],\"stop_signal\":\"KILL\"",
          "'stop_signal': expected one of TERM, INT, got 'KILL'" },
        { "\"argv\":[\"a\"],\"meta\":[]", "'meta': expected an object, got a list" },
        { "\"argv\":[\"a\"],\"depends_on\":[7]", "'depends_on': expected a text as name 1, got 7" },
        { "\"argv\":[\"a\"],\"resources\":{}",
          "'resources': expected a list of names, or one text with commas, got an object" },
        { "\"argv\":[\"a\"],\"nice\":20", "'nice': expected a whole number from 0 to 19, got 20" },
        { "\"argv\":[\"a\"],\"iteration\":0",
          "'iteration': expected a whole number from 1 to 1000000, got 0" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        refused_task(&o, 400, rows[i].members, rows[i].message);
    ops_refused(&o, 400, "/v1/tasks", "{\"tasks\":[7]}", "a task must be an object");
}

/* --- limits ---------------------------------------------------------------------------------- */

/* `before`, `unit` repeated, `after`: accepted with `most` units, refused with one more. */
static void check_limit(struct ops *o, const char *before, const char *unit, size_t most,
                        const char *after, const char *message) {
    for (size_t more = 0; more < 2; more++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_puts(&body, before);
        strbuf_repeat(&body, unit, most + more);
        strbuf_puts(&body, after);
        struct reply r = add(o, strbuf_text(&body));
        if (more == 0 && r.status != 200)
            fail_msg("%zu of '%s' are refused: %s", most, unit, r.text);
        if (more == 1 && (r.status != 400 || strcmp(reply_text(&r, "error.message"), message) != 0))
            fail_msg("%zu of '%s': %s", most + 1, unit, r.text);
        reply_finish(&r);
    }
}

TEST(input_that_is_too_large_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"a\"", ",\"b\"", 127, "]}]}",
                "'argv': expected at most 128 words, got 129");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"", "x", 65536 - 13, "\"]}]}",
                "the task has 65537 bytes; maximum is 65536");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"a\"],\"env\":{\"A\":\"", "x", 32768 - 3, "\"}}]}",
                "'env': expected at most 32768 bytes, got 32769");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"a\"],\"title\":\"", "x", 500, "\"}]}",
                "'title': expected at most 500 bytes, got 501");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"a\"],\"checks\":[[\"a\"]", ",[\"a\"]", 31, "]}]}",
                "'checks': expected at most 32 commands, got 33");
    check_limit(&o, "{\"tasks\":[{\"argv\":[\"a\"]}", ",{\"argv\":[\"a\"]}", 9999, "]}",
                "parameter 'tasks' must be from 1 to 10000 entries");
}

TEST(a_task_has_at_most_256_dependencies) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    for (int count = 256; count <= 257; count++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT, on = STRBUF_INIT;
        strbuf_puts(&body, "{\"tasks\":[");
        for (int i = 0; i < count; i++) {
            strbuf_printf(&body, "{\"name\":\"n%d\",\"argv\":[\"a\"]},", i);
            strbuf_printf(&on, "n%d,", i);
        }
        strbuf_printf(&body, "{\"argv\":[\"a\"],\"depends_on\":\"%s\"}]}", strbuf_text(&on));
        _cleanup_(reply_finish) struct reply r = add(&o, strbuf_text(&body));
        assert_int_equal(r.status, count == 256 ? 200 : 400);
        if (r.status == 400)
            assert_string_equal(reply_text(&r, "error.message"),
                                "task 258: 'depends_on': expected at most 256 names, got more");
    }
}

/* --- results --------------------------------------------------------------------------------- */

TEST(members_reach_the_scheduler) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    task_id parent = ops_add(&o, "\"project\":\"web\",");
    task_id task =
        ops_add(&o, "\"project\":\"web\",\"kind\":\"plan\",\"agent\":\"claude\",\"priority\":7,"
                    "\"parent\":\"web-1\",\"parent_gate\":\"none\",\"until\":\"done\","
                    "\"retries\":2,\"review\":true,\"parallelizable\":false,\"serial\":\"p\","
                    "\"workspace\":\"w\",\"resources\":\"gpu, license\",\"iteration\":3,"
                    "\"limiter\":\"anthropic\",");
    struct task_spec spec;
    struct task_view view;
    assert_true(core_task_spec(engine_core(o.engine), task, &spec));
    assert_true(core_task(engine_core(o.engine), task, &view));
    assert_int_equal(spec.priority, 7);
    assert_int_equal(spec.parent, parent);
    assert_int_equal(spec.parent_gate, PARENT_NONE);
    assert_int_equal(spec.until, UNTIL_DONE);
    assert_int_equal(spec.retry_max, 2);
    assert_int_equal(spec.iteration, 3);
    assert_true(spec.review && !spec.parallelizable);
    sym resources[4];
    assert_int_equal(core_task_resources(engine_core(o.engine), task, resources, 4), 2);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-2", NULL, NULL);
    assert_string_equal(reply_text(&r, "agent"), "claude");
    assert_string_equal(reply_text(&r, "kind"), "plan");
    assert_string_equal(reply_text(&r, "parent"), "web-1");
}

/* An imported task keeps its age and its outcome. */
TEST(a_task_can_be_older_and_can_have_ended) {
    static const char *const ends[] = { "done", "failed", "canceled", "invalidated", "held" };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    _cleanup_(reply_finish) struct reply r = ops_ask(
        &o, "POST", "/v1/tasks",
        "{\"tasks\":[{\"name\":\"d\",\"argv\":[\"a\"],\"state\":\"done\",\"created_at\":1000},"
        "{\"argv\":[\"a\"],\"state\":\"failed\"},{\"argv\":[\"a\"],\"state\":\"canceled\"},"
        "{\"argv\":[\"a\"],\"state\":\"invalidated\"},{\"argv\":[\"a\"],\"state\":\"review\"},"
        "{\"name\":\"x\",\"argv\":[\"a\"],\"depends_on\":[\"d\"],"
        "\"created_at\":253402300799999}]}",
        NULL);
    assert_int_equal(r.status, 200);
    struct task_view t;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        assert_true(core_task(engine_core(o.engine), i + 1, &t));
        assert_string_equal(task_state_name(t.state), ends[i]);
    }
    assert_int_equal(t.hold, HOLD_REVIEW);
    assert_string_equal(reply_text(&r, "tasks.0.result"), "done");
    assert_true(core_task(engine_core(o.engine), 1, &t));
    assert_int_equal(t.created_at, 1000);
    assert_true(core_task(engine_core(o.engine), 6, &t)); /* never later than now */
    assert_true(t.created_at <= engine_now(o.engine) && t.state != TASK_WAITING);
    ops_expect(&o, 200, "POST", "/v1/tasks/approve", "{\"tasks\":[\"t-5\"]}");
    assert_true(core_task(engine_core(o.engine), 5, &t));
    assert_int_equal(t.state, TASK_DONE);
    ops_expect(&o, 200, "POST", "/v1/tasks/retry", "{\"tasks\":[\"t-2\"]}");
    ops_expect(&o, 400, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"a\"],\"state\":\"running\"}]}");
}

TEST(a_task_without_a_title_is_called_after_what_it_does) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"make\",\"-j2\",\"all\"]},"
               "{\"prompt\":\"  fix the parser\\nand more\",\"agent\":\"claude\"},"
               "{\"argv\":[\"a\"],\"title\":\"mine\"}]}");
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/v1/tasks?order=old", NULL, NULL);
    assert_string_equal(reply_text(&r, "items.0.title"), "make -j2 all");
    assert_string_equal(reply_text(&r, "items.1.title"), "fix the parser");
    assert_string_equal(reply_text(&r, "items.2.title"), "mine");
}

TEST(a_time_in_the_future_holds_a_task_until_then) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    int64_t later = engine_now(o.engine) + HOURS(1);
    char members[64];
    (void)snprintf(members, sizeof(members), "\"not_before\":%" PRId64 ",", later);
    (void)ops_add(&o, members);
    (void)ops_add(&o, "\"not_before\":1000,");
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL);
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "GET", "/v1/tasks/2", NULL, NULL);
    assert_string_equal(reply_text(&a, "state"), "held");
    assert_int_equal(reply_int(&a, "not_before"), later);
    assert_string_equal(reply_text(&b, "state"), "starting");
}

TEST(the_default_project_is_made_by_its_first_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 404, "GET", "/v1/projects/default", NULL);
    (void)ops_add(&o, "");
    ops_expect(&o, 200, "GET", "/v1/projects/default", NULL);
    ops_restart(&o);
    ops_expect(&o, 200, "GET", "/v1/projects/default", NULL);
}

TEST(a_batch_may_be_a_group) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"group\":\"night\",\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]}]}");
    assert_string_equal(reply_text(&r, "group"), "night");
    _cleanup_(reply_finish) struct reply g = ops_ask(&o, "GET", "/v1/groups/night", NULL, NULL);
    assert_int_equal(reply_int(&g, "total"), 2);
    assert_int_equal(reply_count(&g, "tasks"), 2);
}
