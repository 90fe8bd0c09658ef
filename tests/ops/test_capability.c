/* test_capability.c: what a run may do with its token, and what it may not. The runs here try everything. */

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "engine/allowance.h"
#include "engine/run_token.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

/* Enough slots and children, so that no setting of the owner interferes. */
static void open_roomy(struct ops *o, enum ops_store store, const char *config) {
    ops_open(o, store, config);
    ops_expect(o, 200, "POST", "/v1/config",
               "{\"set\":{\"limits.runs\":50,\"limiters.anthropic.max_running\":50,"
               "\"agents.claude.slots\":50}}");
}

/* A task of the project `web` with a live run. */
static task_id given_run(struct ops *o, const char *members) {
    task_id task = ops_add(o, members);
    ops_turn(o);
    assert_non_null(fake_run_find(task));
    fake_run_starts(task);
    ops_turn(o);
    return task;
}

static const char *token_of(task_id task) {
    const struct fake_run *run = fake_run_find(task);
    assert_non_null(run);
    if (!run_token_is_valid(run->token))
        fail_msg("the run of task %u has no SLUICE_TOKEN", (unsigned)task);
    return run->token;
}

static void expect(struct ops *o, task_id run, int status, const char *path, const char *body,
                   const char *part) {
    struct reply r = ops_ask_as(o, token_of(run), body ? "POST" : "GET", path, body);
    if (r.status != status)
        fail_msg("%s %s: status %d, expected %d: %s", path, body ? body : "", r.status, status,
                 r.text);
    if (part && !strstr(r.text, part))
        fail_msg("%s %s does not say '%s': %s", path, body ? body : "", part, r.text);
    reply_finish(&r);
}

static void refused(struct ops *o, task_id run, const char *path, const char *body,
                    const char *part) {
    struct ops_trace before, after;
    ops_trace(o, &before);
    expect(o, run, 403, path, body, part);
    ops_trace(o, &after);
    if (memcmp(&before, &after, sizeof(before)) != 0)
        fail_msg("%s %s was refused and has left something", path, body ? body : "");
}

/* Adds one child with these members, which end with a comma. */
static task_id child_of(struct ops *o, task_id run, const char *members) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"tasks\":[{%s\"agent\":\"claude\",\"prompt\":\"go\"}]}", members);
    struct reply r = ops_ask_as(o, token_of(run), "POST", "/v1/tasks", strbuf_text(&body));
    if (r.status != 200)
        fail_msg("a child is refused: %s", r.text);
    task_id task = engine_find_task(o->engine, reply_text(&r, "tasks.0.id"), NULL);
    reply_finish(&r);
    return task;
}

/* --- the token ------------------------------------------------------------------------------- */

TEST(a_token_is_of_one_run_and_ends_with_it) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id first = given_run(&o, "\"project\":\"web\","), second = given_run(&o, "");
    char kept[RUN_TOKEN_SIZE];
    (void)snprintf(kept, sizeof(kept), "%.32s", token_of(first));
    assert_string_not_equal(kept, token_of(second));
    expect(&o, first, 200, "/v1/tasks/web-1", NULL, "\"id\":\"web-1\"");
    fake_run_ends(first, 0);
    ops_turn(&o);
    struct reply r = ops_ask_as(&o, kept, "GET", "/v1/tasks/web-1", NULL);
    assert_int_equal(r.status, 403);
    assert_non_null(strstr(reply_text(&r, "error.message"), "belongs to no live run"));
    reply_finish(&r);
    r = ops_ask_as(&o, "00000000000000000000000000000000", "GET", "/v1/tasks/web-1", NULL);
    assert_int_equal(r.status, 403);
    reply_finish(&r);
}

TEST(a_token_outlives_the_daemon_and_is_not_on_disk) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char kept[RUN_TOKEN_SIZE], command[200];
    open_roomy(&o, OPS_SQLITE, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)snprintf(kept, sizeof(kept), "%.32s", token_of(task));
    ops_restart(&o);
    struct reply r = ops_ask_as(&o, kept, "GET", "/v1/tasks/web-1", NULL);
    assert_int_equal(r.status, 200);
    reply_finish(&r);
    (void)snprintf(command, sizeof(command), "grep -rqF -e %s %s", kept, o.home);
    assert_int_not_equal(system(command), 0);
}

/* --- operations ------------------------------------------------------------------------------ */

static void answered(struct op_call *call, void *ctx) {
    *(int *)ctx = call->status;
    op_call_free(call);
}

TEST(operations_closed_to_runs_are_refused_to_them) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    struct ops_trace before, after;
    size_t closed = 0;
    ops_trace(&o, &before);
    for (size_t i = 0; op_table[i]; i++) {
        int status = 0;
        if (op_table[i]->reach != OP_REACH_NONE)
            continue;
        /* its parameters do not matter: the call is refused before they are read */
        struct op_call *call = op_call_new(op_table[i], o.engine, json_object(), "key-12345678");
        (void)snprintf(call->run.token, sizeof(call->run.token), "%s", token_of(task));
        call->answered = answered;
        call->ctx = &status;
        op_submit(call);
        ops_turn(&o);
        if (status != 403)
            fail_msg("%s answers a run with %d", op_table[i]->name, status);
        closed++;
    }
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    static const char *const never[] = { "config.set",    "daemon.pause",  "daemon.stop",
                                         "daemon.backup", "limiter.clear", "project.add",
                                         "project.set",   "task.priority", "task.approve",
                                         "task.delete",   "task.sling",    "group.close",
                                         "project.delete" };
    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (op_find(never[i])->reach != OP_REACH_NONE)
            fail_msg("%s is open to runs", never[i]);
    assert_true(closed >= ARRAY_SIZE(never));
}

TEST(a_run_sees_itself_and_its_descendants) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    task_id stranger = ops_add(&o, "\"project\":\"web\",");
    task_id child = child_of(&o, task, "");
    char path[64];
    static const char *const views[] = { "", "/why", "/runs", "/events", "/messages" };
    for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
        (void)snprintf(path, sizeof(path), "/v1/tasks/web-%u%s", (unsigned)child, views[i]);
        expect(&o, task, 200, path, NULL, NULL);
        (void)snprintf(path, sizeof(path), "/v1/tasks/web-%u%s", (unsigned)stranger, views[i]);
        refused(&o, task, path, NULL, "is not below 'web-1'");
        (void)snprintf(path, sizeof(path), "/v1/tasks/web-99%s", views[i]);
        refused(&o, task, path, NULL, "is not below 'web-1'"); /* nor whether it exists */
    }
    refused(&o, child, "/v1/tasks/web-1", NULL, "is not below"); /* nor its parent */
    refused(&o, task, "/v1/tasks?parent=web-2", NULL, "is not below");
    struct reply r = ops_ask_as(&o, token_of(task), "GET", "/v1/tasks?state=all", NULL);
    assert_int_equal(reply_count(&r, "items"), 2);
    assert_string_equal(reply_text(&r, "items.0.id"), "web-3");
    assert_string_equal(reply_text(&r, "items.1.id"), "web-1");
    reply_finish(&r);
    r = ops_ask_as(&o, token_of(task), "GET", "/v1/events?after=0&limit=1000", NULL);
    for (size_t i = 0; i < reply_count(&r, "items"); i++) {
        const char *id =
            json_string_value(json_object_get(json_array_get(reply_at(&r, "items"), i), "task"));
        if (!id || strcmp(id, "web-2") == 0)
            fail_msg("an event of somebody else: %s", r.text);
    }
    reply_finish(&r);
}

TEST(a_run_reports_and_posts_as_itself_alone) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)given_run(&o, "\"project\":\"api\",");
    expect(&o, task, 200, "/v1/report", "{\"tokens\":7}", NULL);
    expect(&o, task, 200, "/v1/report", "{\"task\":\"web-1\",\"attempt\":1,\"tokens\":9}", NULL);
    refused(&o, task, "/v1/report", "{\"task\":\"api-2\",\"tokens\":7}", "reports of itself");
    refused(&o, task, "/v1/tasks/api-2/messages", "{\"text\":\"x\"}", "is not below");
    refused(&o, task, "/v1/projects/api/messages", "{\"text\":\"x\"}", "belongs to project 'web'");
    expect(&o, task, 200, "/v1/tasks/web-1/messages", "{\"text\":\"\\u001b[2Jgone\\n---\"}", NULL);
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-1/messages", NULL, NULL);
    assert_string_equal(reply_text(&r, "items.0.run"), "web-1.1");
    reply_finish(&r);
}

TEST(a_run_cancels_only_its_descendants) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)ops_add(&o, "\"project\":\"web\",");
    (void)child_of(&o, task, "");
    refused(&o, task, "/v1/tasks/cancel", "{\"tasks\":[\"web-2\"]}", "is not below");
    refused(&o, task, "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}", "own task");
    refused(&o, task, "/v1/tasks/cancel", "{\"tasks\":[\"web-3\",\"web-2\"]}", "is not below");
    expect(&o, task, 200, "/v1/tasks/cancel", "{\"tasks\":[\"web-3\"]}", "\"web-3\"");
}

/* --- children -------------------------------------------------------------------------------- */

TEST(a_child_inherits_what_it_does_not_choose) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"api\",\"priority\":300,");
    task_id child = child_of(&o, task, "\"title\":\"part\",");
    struct task_spec spec;
    assert_true(core_task_spec(engine_core(o.engine), child, &spec));
    assert_int_equal(spec.parent, task);
    assert_int_equal(spec.parent_gate, PARENT_NONE);
    assert_int_equal(spec.priority, 300);
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/api-2", NULL, NULL);
    assert_string_equal(reply_text(&r, "project"), "api");
    assert_string_equal(reply_text(&r, "title"), "part");
    reply_finish(&r);
}

TEST(what_a_run_may_not_choose_is_refused) {
    static const struct {
        const char *members, *part;
    } rows[] = {
        { "\"argv\":[\"/bin/sh\",\"-c\",\"id\"]", "not a command" },
        { "\"checks\":[[\"id\"]]", "'checks'" },
        { "\"env\":{\"LD_PRELOAD\":\"/tmp/x.so\"}", "'env'" },
        { "\"workspace\":\"../../etc\"", "'workspace'" },
        { "\"cwd\":\"/etc\"", "'cwd'" },
        { "\"cwd\":\"/srv/../etc\"", "'cwd'" },
        { "\"stdin\":\"/etc/passwd\"", "'stdin'" },
        { "\"spawn\":\"../../spawn.yaml\"", "'spawn'" },
        { "\"artifact\":\"/etc/shadow\"", "'artifact'" },
        { "\"merge\":\"direct\"", "'merge'" },
        { "\"base_branch\":\"main\"", "'base_branch'" },
        { "\"limiter\":\"anthropic\"", "'limiter'" },
        { "\"external_id\":\"x\"", "'external_id'" },
        { "\"memory_mb\":1", "'memory_mb'" },
        { "\"executor\":\"slurm\"", "where its children are executed" },
        { "\"slurm\":{\"partition\":\"gpu\"}", "where its children are executed" },
        { "\"nice\":-5", "'nice'" },
        { "\"iteration\":7", "'iteration'" },
        { "\"priority\":99", "'priority'" },
        { "\"kind\":\"urgent\"", "'kind'" },
        { "\"project\":\"api\"", "'project'" },
        { "\"parent\":\"web-2\"", "'parent'" },
        { "\"parent\":\"web-1/../web-2\"", "'parent'" },
        { "\"parent_gate\":\"done\"", "'parent_gate'" },
        { "\"until\":\"external\"", "'until'" },
        { "\"depends_on\":[\"web-2\"]", "'depends_on'" },
        { "\"no_such_thing\":1", "'no_such_thing'" },
        /* Under another name, or in another form. */
        { "\"memory\":\"1GB\"", "'memory'" },
        { "\"run\":\"make\"", "'run'" },
        { "\"check\":\"make\"", "'check'" },
        { "\"priority\":\"99\"", "'priority'" },
        { "\"needs\":\"web-2\"", "'depends_on'" },
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, "kinds: {urgent: {base: 101}}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)ops_add(&o, "\"project\":\"web\",");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_printf(&body, "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",%s}]}",
                      rows[i].members);
        struct reply r = ops_ask_as(&o, token_of(task), "POST", "/v1/tasks", strbuf_text(&body));
        if (r.status < 400 || !strstr(r.text, rows[i].part))
            fail_msg("%s: %d %s", rows[i].members, r.status, r.text);
        if (r.status != 403)
            fail_msg("%s is refused with %d, not 403: %s", rows[i].members, r.status, r.text);
        reply_finish(&r);
    }
    static const char one[] = "[{\"agent\":\"claude\",\"prompt\":\"go\"}]";
    char body[200];
    (void)snprintf(body, sizeof(body), "{\"force\":true,\"tasks\":%s}", one);
    refused(&o, task, "/v1/tasks", body, "'force'");
    (void)snprintf(body, sizeof(body), "{\"group\":\"night\",\"tasks\":%s}", one);
    refused(&o, task, "/v1/tasks", body, "'group'");
    (void)snprintf(body, sizeof(body), "{\"new_group\":true,\"tasks\":%s}", one);
    refused(&o, task, "/v1/tasks", body, "'new_group'");
    assert_int_equal(engine_last_task(o.engine), 2);
}

/* The answer that a run gets when it names this task, with the name removed. */
static char *answer_about(struct ops *o, task_id run, const char *member, const char *name) {
    char body[200];
    (void)snprintf(body, sizeof(body),
                   "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",\"%s\":\"%s\"}]}", member,
                   name);
    struct reply r = ops_ask_as(o, token_of(run), "POST", "/v1/tasks", body);
    struct strbuf answer = STRBUF_INIT;
    strbuf_printf(&answer, "%d ", r.status);
    const char *at = strstr(r.text, name);
    strbuf_add(&answer, r.text, at ? (size_t)(at - r.text) : strlen(r.text));
    strbuf_puts(&answer, at ? at + strlen(name) : "");
    reply_finish(&r);
    return strbuf_take(&answer);
}

TEST(a_run_does_not_learn_which_tasks_exist) {
    static const char *const members[] = { "depends_on", "parent" };
    static const char *const foreign[] = {
        "web-2", "api-3", "web-99", "nowhere-1", "web-x", "a b"
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)ops_add(&o, "\"project\":\"web\",");
    (void)ops_add(&o, "\"project\":\"api\",");
    for (size_t m = 0; m < ARRAY_SIZE(members); m++) {
        char *there = answer_about(&o, task, members[m], foreign[0]);
        assert_int_equal(strncmp(there, "403 ", 4), 0);
        for (size_t i = 1; i < ARRAY_SIZE(foreign); i++) {
            char *other = answer_about(&o, task, members[m], foreign[i]);
            assert_string_equal(there, other);
            free(other);
        }
        free(there);
    }
    char *own = answer_about(&o, task, "depends_on", "web-1"); /* its own tasks it may name */
    assert_int_equal(strncmp(own, "200 ", 4), 0);
    free(own);
}

TEST(a_child_takes_no_longer_than_its_agent) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY,
               "agents.claude.timeout_s: 60\ntasks: {idle_timeout_s: 30}\n"
               "agents.mine: {command: [mine]}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    (void)child_of(&o, task, "\"timeout_s\":60,\"idle_timeout_s\":30,");
    (void)child_of(&o, task, "");
    refused(&o, task, "/v1/tasks",
            "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",\"timeout_s\":60.5}]}",
            "'timeout_s': the maximum for a child is 60 s, that of its agent");
    refused(&o, task, "/v1/tasks",
            "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",\"timeout\":\"2m\"}]}",
            "'timeout_s': the maximum for a child is 60 s, that of its agent");
    refused(&o, task, "/v1/tasks",
            "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",\"idle_timeout_s\":31}]}",
            "'idle_timeout_s': the maximum for a child is 30 s");
    expect(&o, task, 200, "/v1/tasks",
           "{\"tasks\":[{\"agent\":\"mine\",\"prompt\":\"go\",\"timeout_s\":7200}]}", NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks", /* the owner is not restricted */
               "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\",\"timeout_s\":7200}]}");
}

TEST(commands_of_runs_are_a_setting) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, "capability: {commands: true}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    expect(&o, task, 200, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"true\"]}]}", "web-2");
    refused(&o, task, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"true\"],\"env\":{\"A\":\"b\"}}]}",
            "'env'");
}

TEST(escape_codes_in_titles_are_refused_or_harmless) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    static const char *const titles[] = { "\\u001b[2J", "\\u009b2J", "\\u202eexe.gnp", "\\u2066x" };
    for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
        char body[160];
        (void)snprintf(body, sizeof(body),
                       "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"x\",\"title\":\"%s\"}]}",
                       titles[i]);
        expect(&o, task, 400, "/v1/tasks", body, "title");
    }
    refused(&o, task, "/v1/tasks", "{\"tasks\":[{\"agent\":\"../../bin/sh\",\"prompt\":\"x\"}]}",
            "'agent'");
    refused(&o, task, "/v1/tasks", "{\"tasks\":[{\"agent\":\"codex\",\"prompt\":\"x\"}]}",
            "agent 'codex' is not configured");
}

TEST(depth_number_and_slots_of_children_have_limits) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, "capability: {depth: 2, children: 4, running: 2}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    task_id child = child_of(&o, task, "");
    ops_turn(&o);
    task_id grandchild = child_of(&o, child, "");
    ops_turn(&o);
    static const char one[] = "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\"}]}";
    refused(&o, grandchild, "/v1/tasks", one, "capability.depth");
    refused(&o, child, "/v1/tasks",
            "{\"tasks\":[{\"name\":\"a\",\"prompt\":\"x\"},{\"parent\":\"a\",\"prompt\":\"x\"}]}",
            "capability.depth"); /* nor in one step */
    refused(&o, task, "/v1/tasks",
            "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"x\"},{\"agent\":\"claude\",\"prompt\":"
            "\"x\"},{\"agent\":\"claude\",\"prompt\":\"x\"}]}",
            "2 are left (capability.children)"); /* all or none */
    (void)child_of(&o, task, "");
    task_id last = child_of(&o, task, "");
    refused(&o, task, "/v1/tasks", one, "0 are left (capability.children)");
    refused(&o, child, "/v1/tasks", one, "capability.children"); /* on all levels together */
    ops_turn(&o);
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-5/why", NULL, NULL);
    assert_int_equal(last, 5);
    if (!strstr(r.text, "below:web-1")) /* two of its siblings run */
        fail_msg("the third child does not wait for a slot: %s", r.text);
    reply_finish(&r);
    fake_run_ends(child, 0);
    ops_turn(&o);
    ops_turn(&o);
    assert_non_null(fake_run_find(last));
}

static int64_t left_of(struct ops *o, task_id task) {
    return engine_budget_left(o->engine, task).tokens;
}

TEST(tokens_of_children_are_taken_from_their_parent) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_SQLITE, "fair: {run_tokens: 100}\ncapability: {depth: 3, tokens: 1000}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    task_id child = child_of(&o, task, "\"tokens\":600,");
    assert_int_equal(left_of(&o, task), 400);
    assert_int_equal(left_of(&o, child), 600);
    refused(&o, task, "/v1/tasks",
            "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"x\","
            "\"tokens\":401}]}",
            "'web-1' has 400 left");
    (void)child_of(&o, task, ""); /* without a budget: the estimate of a run */
    assert_int_equal(left_of(&o, task), 300);
    ops_turn(&o);
    task_id grandchild = child_of(&o, child, "\"tokens\":500,");
    assert_int_equal(left_of(&o, child), 100);
    ops_restart(&o);
    assert_int_equal(left_of(&o, task), 300);
    assert_int_equal(left_of(&o, child), 100);
    assert_int_equal(left_of(&o, grandchild), 500);
}

TEST(a_run_over_its_budget_is_stopped_and_held) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, "capability: {tokens: 1000}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    task_id child = child_of(&o, task, "\"tokens\":600,");
    ops_turn(&o);
    fake_run_starts(child);
    ops_turn(&o);
    expect(&o, child, 200, "/v1/report", "{\"tokens\":600}", NULL);
    assert_false(fake_run_find(child)->stopped);
    struct reply r = { 0 };
    ops_begin_as(&o, token_of(child), "/v1/report", "{\"tokens\":601}", &r);
    ops_turn(&o);
    assert_true(fake_run_find(child)->stopped);
    assert_false(fake_run_find(task)->stopped);
    fake_run_ends(child, 1);
    ops_turn(&o);
    ops_wait(&o, &r);
    reply_finish(&r);
    struct task_view view;
    assert_true(core_task(engine_core(o.engine), child, &view));
    assert_int_equal(view.state, TASK_HELD);
    assert_int_equal(view.hold, HOLD_BUDGET);
}

/* --- races ----------------------------------------------------------------------------------- */

/* Both requests in one turn. */
static void race(struct ops *o, task_id run, bool cancel_first, struct reply *add) {
    struct reply cancel = { 0 };
    static const char child[] = "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\"}]}";
    if (cancel_first)
        ops_begin(o, "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}", NULL, &cancel);
    ops_begin_as(o, token_of(run), "/v1/tasks", child, add);
    if (!cancel_first)
        ops_begin(o, "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}", NULL, &cancel);
    ops_turn(o);
    ops_wait(o, add);
    for (int i = 0; i < 3; i++)
        ops_turn(o);
    if (cancel.answered)
        reply_finish(&cancel);
    else if (cancel.call)
        op_abandon(cancel.call);
}

TEST(a_child_added_before_its_ancestor_is_canceled_never_starts) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply add = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    race(&o, task, false, &add);
    assert_int_equal(add.status, 200);
    struct task_view view;
    assert_true(core_task(engine_core(o.engine), 2, &view));
    assert_int_equal(view.state, TASK_CANCELED);
    assert_null(fake_run_find(2));
    reply_finish(&add);
}

TEST(a_child_added_after_its_ancestor_is_canceled_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply add = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    race(&o, task, true, &add);
    assert_int_equal(add.status, 403);
    assert_non_null(strstr(add.text, "is canceled"));
    assert_int_equal(engine_last_task(o.engine), 1);
    reply_finish(&add);
}

TEST(cancel_includes_tasks_that_runs_have_added) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    task_id child = child_of(&o, task, "");
    ops_turn(&o);
    task_id grandchild = child_of(&o, child, "\"hold\":true,");
    task_id own = ops_add(&o, "\"project\":\"web\",\"parent\":\"web-1\","); /* added by a person */
    struct reply cancel = { 0 };
    ops_begin(&o, "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}", NULL, &cancel);
    ops_turn(&o);
    struct task_view view;
    assert_true(core_task(engine_core(o.engine), grandchild, &view));
    assert_int_equal(view.state, TASK_CANCELED);
    assert_true(fake_run_find(child)->stopped);
    assert_true(core_task(engine_core(o.engine), own, &view));
    assert_int_equal(view.state, TASK_WAITING);
    refused(&o, child, "/v1/tasks", "{\"tasks\":[{\"prompt\":\"go\"}]}", "is canceled");
    if (cancel.answered)
        reply_finish(&cancel);
    else if (cancel.call)
        op_abandon(cancel.call);
}

TEST(a_key_of_a_run_is_its_own) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    static const char body[] = "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\"}]}";
    struct reply r = ops_ask(&o, "POST", "/v1/tasks", body, "the-same-key");
    assert_int_equal(r.status, 200);
    reply_finish(&r);
    r = ops_ask_as_key(&o, token_of(task), "/v1/tasks", body, "the-same-key");
    assert_int_equal(r.status, 200);
    assert_false(r.replayed);
    reply_finish(&r);
    r = ops_ask_as_key(&o, token_of(task), "/v1/tasks", body, "the-same-key");
    assert_true(r.replayed);
    reply_finish(&r);
    assert_int_equal(engine_last_task(o.engine), 3);
}
