/* test_wait.c: task_wait answers at the end of a task, or of its time, and never looks without a reason. */
#include "kit.h"

#include <errno.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/test.h"

static void wait_for(struct kit *k, const char *arguments, const char *meta) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"task_wait\",\"arguments\":%s%s}}",
                  arguments, meta);
    kit_say(k, strbuf_text(&text));
}

#define TOKEN ",\"_meta\":{\"progressToken\":\"p\"}"
#define WAITING                                                                                    \
    "{\"id\":\"web-1\",\"state\":\"waiting\",\"why\":\"all places are taken\",\"runs\":[]}"
#define RUNNING "{\"id\":\"web-1\",\"state\":\"running\",\"why\":null,\"runs\":[{\"attempt\":1}]}"
#define DONE(id)                                                                                   \
    "{\"id\":\"" id "\",\"state\":\"done\",\"runs\":[{\"attempt\":1,\"exit_code\":1},"             \
    "{\"attempt\":2,\"exit_code\":0}]}"

TEST(what_has_ended_is_answered_at_once) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    assert_true(k.watching); /* before the look: nothing can be missed */
    kit_answer(&k, "task.show", DONE("web-1"));
    const json_t *m = kit_answer_of(&k);
    assert_true(kit_true(m, "result|structuredContent|ended"));
    ASSERT_TEXT(m, "result|structuredContent|tasks|0|state", "done");
    ASSERT_INT(m, "result|structuredContent|tasks|0|run|exit_code", 0);
    assert_false(k.watching);
}

TEST(it_looks_again_when_something_happened) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    kit_answer(&k, "task.show", WAITING);
    kit_silent(&k); /* the client did not ask for progress */
    mcp_event(k.mcp, "web-2", k.now);
    mcp_event(k.mcp, "", k.now);
    assert_int_equal(k.ask_count, 0);
    mcp_event(k.mcp, "web-1", k.now);
    mcp_event(k.mcp, "web-1", k.now);
    assert_int_equal(k.ask_count, 1); /* one at a time */
    kit_answer(&k, "task.show", RUNNING);
    assert_int_equal(k.ask_count, 1); /* and once more for what came meanwhile */
    kit_answer(&k, "task.show", DONE("web-1"));
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(the_time_ends_it) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":5}", "");
    kit_answer(&k, "task.show", RUNNING);
    assert_int_equal(mcp_next_tick(k.mcp), k.now + 5000);
    mcp_tick(k.mcp, k.now + 4999);
    kit_silent(&k);
    mcp_tick(k.mcp, k.now + 5000);
    const json_t *m = kit_answer_of(&k);
    assert_true(kit_false(m, "result|structuredContent|ended"));
    assert_true(kit_false(m, "result|isError"));
    ASSERT_TEXT(m, "result|structuredContent|tasks|0|state", "running");
}

TEST(no_time_is_a_look) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":0}", "");
    mcp_tick(k.mcp, k.now);
    kit_silent(&k);
    assert_true(mcp_next_tick(k.mcp) > k.now); /* and nothing spins until the answer comes */
    kit_answer(&k, "task.show", RUNNING);
    assert_true(kit_false(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(all_or_any) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\",\"web-2\"]}", "");
    kit_answer(&k, "task.show", DONE("web-1"));
    kit_silent(&k);
    kit_answer(&k, "task.show", DONE("web-2"));
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
    wait_for(&k, "{\"tasks\":[\"web-1\",\"web-2\"],\"until\":\"any\"}", "");
    kit_answer(&k, "task.show", DONE("web-1"));
    const json_t *m = kit_answer_of(&k);
    assert_true(kit_true(m, "result|structuredContent|ended"));
    ASSERT_TEXT(m, "result|structuredContent|tasks|1|id", "web-2");
    assert_true(kit_false(m, "result|structuredContent|tasks|1|ended"));
    assert_int_equal(k.dropped, 1); /* the question for the other task */
}

TEST(progress_rises) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":60}", TOKEN);
    kit_answer(&k, "task.show", WAITING);
    const json_t *m = kit_notice_of(&k, "notifications/progress");
    ASSERT_TEXT(m, "params|progressToken", "p");
    ASSERT_TEXT(m, "params|message", "web-1 is waiting (all places are taken)");
    double first = json_number_value(kit_at(m, "params|progress"));
    mcp_event(k.mcp, "web-1", k.now);
    kit_answer(&k, "task.show", RUNNING); /* in the same millisecond */
    m = kit_notice_of(&k, "notifications/progress");
    double second = json_number_value(kit_at(m, "params|progress"));
    assert_true(second > first);
    mcp_event(k.mcp, "web-1", k.now);
    kit_answer(&k, "task.show", RUNNING);
    kit_silent(&k); /* nothing has changed */
    assert_int_equal(mcp_next_tick(k.mcp), k.now + 10000);
    mcp_tick(k.mcp, k.now + 10000);
    m = kit_notice_of(&k, "notifications/progress");
    assert_true(json_number_value(kit_at(m, "params|progress")) > second);
    k.now += 10000;
    mcp_event(k.mcp, "web-1", k.now);
    kit_answer(&k, "task.show", DONE("web-1"));
    (void)kit_answer_of(&k); /* the answer is the last message */
}

TEST(without_a_token_silence_costs_nothing) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":60}", "");
    kit_answer(&k, "task.show", RUNNING);
    mcp_tick(k.mcp, k.now + 10000);
    assert_true(mcp_next_tick(k.mcp) > k.now + 10000);
    kit_silent(&k);
}

TEST(an_unreachable_daemon_is_waited_for) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":60}", "");
    kit_refuse(&k, "task.show", -ECONNREFUSED, "no daemon runs", true);
    kit_silent(&k);
    assert_int_equal(mcp_next_tick(k.mcp), k.now + 1000);
    mcp_tick(k.mcp, k.now + 1000);
    kit_answer(&k, "task.show", RUNNING);
    mcp_event(k.mcp, NULL, k.now); /* events may have been missed */
    kit_answer(&k, "task.show", DONE("web-1"));
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(a_task_that_is_not_there_ends_it) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\",\"web-9\"]}", "");
    kit_answer(&k, "task.show", RUNNING);
    kit_refuse(&k, "task.show", -ENOENT, "there is no task 'web-9'", false);
    const json_t *m = kit_answer_of(&k);
    assert_true(kit_true(m, "result|isError"));
    ASSERT_TEXT(m, "result|content|0|text", "there is no task 'web-9'");
}

TEST(a_canceled_wait_is_dropped) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":1}}");
    assert_int_equal(k.dropped, 1);
    assert_false(k.watching);
    assert_int_equal(mcp_next_tick(k.mcp), TIME_NEVER);
}

TEST(the_end_of_the_server_ends_a_wait) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    kit_answer(&k, "task.show", RUNNING);
    mcp_stop(k.mcp, k.now);
    assert_true(kit_false(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(what_needs_a_person_is_an_answer) {
    KIT(k);
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    kit_answer(&k, "task.show",
               "{\"id\":\"web-1\",\"state\":\"held\",\"not_before\":1700000000000}");
    kit_silent(&k); /* it continues by itself */
    mcp_event(k.mcp, "web-1", k.now);
    kit_answer(&k, "task.show", "{\"id\":\"web-1\",\"state\":\"held\",\"not_before\":null}");
    const json_t *m = kit_answer_of(&k);
    assert_true(kit_false(m, "result|structuredContent|ended"));
    assert_true(kit_true(m, "result|structuredContent|tasks|0|needs_person"));
}

/* --- inside a run ---------------------------------------------------------------------------- */

#define LENT "{\"tasks\":[],\"timed_out\":false,\"waited_ms\":1}"

TEST(a_run_lends_while_it_waits_and_is_answered_when_its_place_is_back) {
    KIT(k, .run = "web-7.1");
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":5}", "");
    kit_asked(&k, "task.wait", "{\"any\":false,\"tasks\":[\"web-1\"],\"timeout_s\":5}");
    kit_answer(&k, "task.show", RUNNING);
    mcp_event(k.mcp, "web-1", k.now);
    kit_answer(&k, "task.show", DONE("web-1"));
    kit_silent(&k); /* its place is not back yet */
    kit_answer(&k, "task.wait", LENT);
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(the_place_is_waited_for_no_longer_than_the_time) {
    KIT(k, .run = "web-7.1");
    wait_for(&k, "{\"tasks\":[\"web-1\"],\"timeout_s\":5}", "");
    kit_answer(&k, "task.show", DONE("web-1"));
    kit_silent(&k);
    k.now += SECONDS(5);
    mcp_tick(k.mcp, k.now);
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
    assert_int_equal(k.dropped, 1);
}

TEST(who_may_not_lend_waits_all_the_same) {
    KIT(k, .run = "web-7.1");
    wait_for(&k, "{\"tasks\":[\"web-7\"]}", "");
    kit_refuse(&k, "task.wait", -EACCES, "its own task", false);
    kit_answer(&k, "task.show", RUNNING);
    assert_int_equal(k.ask_count, 0);
    mcp_event(k.mcp, "web-7", k.now);
    kit_answer(&k, "task.show", DONE("web-7"));
    assert_true(kit_true(kit_answer_of(&k), "result|structuredContent|ended"));
}

TEST(it_lends_again_when_the_daemon_is_back) {
    KIT(k, .run = "web-7.1");
    wait_for(&k, "{\"tasks\":[\"web-1\"]}", "");
    kit_answer(&k, "task.show", RUNNING);
    kit_refuse(&k, "task.wait", -ECONNREFUSED, "no daemon", true);
    assert_int_equal(k.ask_count, 0);
    assert_int_equal(mcp_next_tick(k.mcp), k.now + SECONDS(1));
    k.now += SECONDS(1);
    mcp_tick(k.mcp, k.now);
    kit_asked(&k, "task.wait", "{\"any\":false,\"tasks\":[\"web-1\"],\"timeout_s\":49}");
    mcp_stop(k.mcp, k.now);
    (void)kit_answer_of(&k);
    assert_int_equal(k.dropped, 1);
}

TEST(bad_arguments_are_reported) {
    static const char *const bad[] = {
        "{}",
        "{\"tasks\":\"web-1\"}",
        "{\"tasks\":[]}",
        "{\"tasks\":[7]}",
        "{\"tasks\":[\"\"]}",
        "{\"tasks\":[\"a\"],\"timeout_s\":-1}",
        "{\"tasks\":[\"a\"],\"timeout_s\":3601}",
        "{\"tasks\":[\"a\"],\"timeout_s\":\"5\"}",
        "{\"tasks\":[\"a\"],\"until\":\"some\"}",
        "{\"tasks\":[\"a\"],\"other\":1}",
    };
    KIT(k);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        wait_for(&k, bad[i], "");
        assert_true(kit_true(kit_answer_of(&k), "result|isError"));
    }
}
