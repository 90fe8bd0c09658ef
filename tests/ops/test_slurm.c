/* test_slurm.c: which setting decides whether and where a task runs in Slurm, and which requests are refused. */

#include <stdio.h>
#include <string.h>

#include "engine/executors.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

static const char config[] = "limits: {resource: {db: 4, 'slurm:gpu': 4}}\n"
                             "agents:\n"
                             "  farm: {command: [work], executor: slurm, slurm: [partition=farm]}\n"
                             "projects:\n"
                             "  cluster: {executor: slurm, slurm: [partition=long, account=c]}\n";

static void expect_place(struct ops *o, const char *members, const char *partition) {
    task_id task = ops_add(o, members);
    assert_int_equal(engine_executor_kind(o->engine, task), EXECUTOR_SLURM);
    const char *given = engine_partition(o->engine, task);
    if (strcmp(given ? given : "", partition) != 0)
        fail_msg("{%s} is for the partition '%s', not '%s'", members, given ? given : "",
                 partition);
}

TEST(a_task_says_where_it_runs_before_its_project_and_its_agent) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, config);
    assert_int_equal(engine_executor_kind(o.engine, ops_add(&o, "\"hold\":true,")), EXECUTOR_LOCAL);
    expect_place(&o, "\"hold\":true,\"executor\":\"slurm\",", "");
    expect_place(&o, "\"hold\":true,\"agent\":\"farm\",", "farm");
    expect_place(&o, "\"hold\":true,\"agent\":\"farm\",\"project\":\"cluster\",", "long");
    expect_place(&o,
                 "\"hold\":true,\"agent\":\"farm\",\"project\":\"cluster\","
                 "\"slurm\":{\"partition\":\"gpu\",\"cpus\":4},",
                 "gpu");
    task_id here = ops_add(&o, "\"hold\":true,\"project\":\"cluster\",\"executor\":\"local\",");
    assert_int_equal(engine_executor_kind(o.engine, here), EXECUTOR_LOCAL);
}

TEST(where_a_task_runs_is_decided_when_it_comes) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, config);
    task_id before = ops_add(&o, "\"hold\":true,\"project\":\"cluster\",");
    ops_expect(&o, 200, "POST", "/v1/config",
               "{\"set\":{\"projects.cluster.executor\":\"local\"}}");
    task_id after = ops_add(&o, "\"hold\":true,\"project\":\"cluster\",");
    assert_int_equal(engine_executor_kind(o.engine, before), EXECUTOR_SLURM);
    assert_int_equal(engine_executor_kind(o.engine, after), EXECUTOR_LOCAL);
    ops_restart(&o);
    assert_int_equal(engine_executor_kind(o.engine, before), EXECUTOR_SLURM);
    assert_string_equal(engine_partition(o.engine, before), "long");
    assert_int_equal(engine_executor_kind(o.engine, after), EXECUTOR_LOCAL);
}

TEST(unsupported_slurm_options_are_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, config);
    static const struct {
        const char *members, *message;
    } rows[] = {
        { "\"executor\":\"pbs\"", "'executor': expected one of local, slurm, got 'pbs'" },
        { "\"executor\":\"slurm\",\"slurm\":\"gpu\"",
          "'slurm': expected names and texts, got 'gpu'" },
        { "\"executor\":\"slurm\",\"slurm\":{\"partition\":[\"gpu\"]}",
          "'slurm': expected a text for 'partition', got a list" },
        { "\"executor\":\"slurm\",\"slurm\":{\"partition\":\"--wrap=x\"}",
          "'partition' of 'slurm' must be one name: letters, digits, '.', '_' and '-'" },
        { "\"executor\":\"slurm\",\"slurm\":{\"cpus\":0}",
          "'cpus' of 'slurm' must be a whole number from 1 to 100000" },
        { "\"executor\":\"slurm\",\"slurm\":{\"nodes\":2}",
          "'slurm' has no 'nodes'; it has partition, account, qos, gres, constraint, cpus and "
          "options" },
        { "\"slurm\":{\"partition\":\"gpu\"}",
          "'slurm' is for tasks that run in Slurm, and this one runs on this machine; say "
          "'executor': slurm" },
        { "\"resources\":[\"slurm:gpu\"]",
          "'resources': 'slurm:gpu' is of those that run in that partition; say 'executor': slurm "
          "and 'slurm': {\"partition\": …}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_printf(&body, "{\"tasks\":[{\"argv\":[\"true\"],%s}]}", rows[i].members);
        ops_refused(&o, 400, "/v1/tasks", strbuf_text(&body), rows[i].message);
    }
}

TEST(one_resource_less_is_left_for_a_task_in_slurm) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY,
             "limits: {resource: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1,"
             " l: 1, m: 1, n: 1, o: 1, p: 1}}\n");
    expect_place(
        &o, "\"hold\":true,\"executor\":\"slurm\",\"resources\":\"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o\",",
        "");
    ops_refused(&o, 400, "/v1/tasks",
                "{\"tasks\":[{\"argv\":[\"true\"],\"executor\":\"slurm\","
                "\"resources\":\"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p\"}]}",
                "'resources': a task that runs in Slurm may name 15");
}

/* --- while a job exists ------------------------------------------------------------------------- */

TEST(show_and_why_say_where_it_is_and_what_it_waits_for) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, config);
    task_id task = ops_add(&o, "\"executor\":\"slurm\",\"slurm\":{\"partition\":\"gpu\"},");
    ops_turn(&o);
    assert_true(fake_run_is_in_slurm(task));
    struct reply shown = ops_ask(&o, "GET", "/v1/tasks/t-1", NULL, NULL);
    assert_string_equal(reply_text(&shown, "state"), "starting");
    assert_string_equal(reply_text(&shown, "executor"), "slurm");
    assert_string_equal(reply_text(&shown, "partition"), "gpu");
    assert_string_equal(reply_text(&shown, "run.doing"), "pending in Slurm: Resources");
    assert_string_equal(reply_text(&shown, "runs.0.executor"), "slurm");
    reply_finish(&shown);
    struct reply why = ops_ask(&o, "GET", "/v1/tasks/t-1/why", NULL, NULL);
    assert_string_equal(reply_text(&why, "summary"), "pending in Slurm: Resources");
    reply_finish(&why);
    task_id here = ops_add(&o, "\"hold\":true,");
    assert_int_equal(here, 2);
    shown = ops_ask(&o, "GET", "/v1/tasks/t-2", NULL, NULL);
    assert_string_equal(reply_text(&shown, "executor"), "local");
    assert_true(reply_is_null(&shown, "partition"));
    reply_finish(&shown);
}

TEST(children_of_a_run_in_slurm_run_there_too) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, config);
    task_id task = ops_add(&o, "\"executor\":\"slurm\",\"slurm\":{\"partition\":\"gpu\"},");
    ops_turn(&o);
    fake_run_starts(task);
    ops_turn(&o);
    struct reply r = ops_ask_as(&o, fake_run_find(task)->token, "POST", "/v1/tasks",
                                "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\"}]}");
    if (r.status != 200)
        fail_msg("the child is refused: %s", r.text);
    task_id child = engine_find_task(o.engine, reply_text(&r, "tasks.0.id"), NULL);
    assert_int_equal(engine_executor_kind(o.engine, child), EXECUTOR_SLURM);
    assert_string_equal(engine_partition(o.engine, child), "gpu");
    reply_finish(&r);
}
