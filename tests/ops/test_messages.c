/* test_messages.c: messages over HTTP: the same as through the files, paged, and no request blocks on a lock. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/macros.h"
#include "fixture.h"
#include "harness/test.h"

static void post(struct ops *o, const char *path, const char *body) {
    struct reply r = { 0 };
    ops_begin(o, path, body, NULL, &r);
    ops_wait(o, &r);
    if (r.status != 200)
        fail_msg("%s: %d %s", path, r.status, r.text);
    assert_int_equal(strncmp(reply_text(&r, "msg_id"), "MSG-", 4), 0);
    reply_finish(&r);
}

TEST(what_is_posted_can_be_read) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    post(&o, "/v1/projects/web/messages",
         "{\"text\":\"one\\n\\n\",\"type\":\"FACT\",\"issue\":\"7\",\"meta\":{\"k\":1},"
         "\"links\":[\"x\"],\"parents\":[{\"msg_id\":\"M\"}]}");
    post(&o, "/v1/projects/web/messages", "{\"text\":\"---\"}");
    post(&o, "/v1/tasks/web-1/messages", "{\"text\":\"of the task\"}");
    struct reply r = ops_ask(&o, "GET", "/v1/projects/web/messages", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "items"), 2);
    assert_string_equal(reply_text(&r, "items.0.body"), "one");
    assert_string_equal(reply_text(&r, "items.0.type"), "FACT");
    assert_string_equal(reply_text(&r, "items.0.issue"), "7");
    assert_int_equal(reply_int(&r, "items.0.meta.k"), 1);
    assert_string_equal(reply_text(&r, "items.0.parents.0.msg_id"), "M");
    assert_string_equal(reply_text(&r, "items.1.body"), "---");
    assert_string_equal(reply_text(&r, "items.1.type"), "INFO");
    assert_true(reply_is_null(&r, "next"));
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/v1/tasks/1/messages", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 1);
    assert_string_equal(reply_text(&r, "items.0.task"), "web-1");
    reply_finish(&r);
}

TEST(pages_go_forward_from_any_end) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[64], path[128];
    ops_open(&o, OPS_MEMORY, NULL);
    for (int i = 0; i < 5; i++) {
        snprintf(body, sizeof(body), "{\"text\":\"%d\",\"type\":\"%s\"}", i,
                 i % 2 ? "ODD" : "EVEN");
        post(&o, "/v1/projects/web/messages", body);
    }
    struct reply r = ops_ask(&o, "GET", "/v1/projects/web/messages?limit=2", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 2); /* the last ones */
    assert_string_equal(reply_text(&r, "items.0.body"), "3");
    assert_true(reply_is_null(&r, "next"));
    snprintf(path, sizeof(path), "/v1/projects/web/messages?cursor=%s", reply_text(&r, "end"));
    reply_finish(&r);
    r = ops_ask(&o, "GET", path, NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 0);
    reply_finish(&r);
    post(&o, "/v1/projects/web/messages", "{\"text\":\"5\"}");
    r = ops_ask(&o, "GET", path, NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 1);
    assert_string_equal(reply_text(&r, "items.0.body"), "5");
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/v1/projects/web/messages?cursor=m0&limit=4&type=EVEN", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 3);
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/v1/projects/web/messages?cursor=m0&limit=4", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 4);
    assert_string_equal(reply_text(&r, "next"), reply_text(&r, "end"));
    reply_finish(&r);
    ops_expect(&o, 400, "GET", "/v1/projects/web/messages?cursor=m17", NULL);
    ops_expect(&o, 400, "GET", "/v1/projects/web/messages?cursor=e1", NULL);
}

TEST(a_bus_without_messages_is_empty) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply r = ops_ask(&o, "GET", "/v1/projects/api/messages", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "items"), 0);
    assert_string_equal(reply_text(&r, "end"), "m0");
    reply_finish(&r);
    ops_refused(&o, 404, "/v1/projects/wbe/messages", NULL,
                "there is no project 'wbe'; did you mean 'web'?");
    ops_refused(&o, 404, "/v1/tasks/web-9/messages", NULL, "there is no task 'web-9'");
}

TEST(bad_messages_are_refused_and_nothing_is_posted) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 400, "POST", "/v1/projects/web/messages", "{}");
    ops_expect(&o, 400, "POST", "/v1/projects/web/messages", "{\"text\":\"\"}");
    ops_expect(&o, 400, "POST", "/v1/projects/web/messages", "{\"text\":\"x\",\"meta\":[]}");
    ops_refused(&o, 400, "/v1/projects/web/messages", "{\"text\":\"\\n\"}", "the message is empty");
    ops_expect(&o, 400, "POST", "/v1/projects/web/messages", "{\"text\":\"x\",\"type\":\"A B\"}");
    ops_expect(&o, 404, "POST", "/v1/projects/wbe/messages", "{\"text\":\"x\"}");
    struct reply r = ops_ask(&o, "GET", "/v1/projects/web/messages", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 0);
    reply_finish(&r);
}

TEST(a_locked_file_blocks_no_other_request) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char path[128];
    ops_open(&o, OPS_MEMORY, NULL);
    post(&o, "/v1/projects/web/messages", "{\"text\":\"one\"}");
    snprintf(path, sizeof(path), "%s/bus/web.md", o.home);
    int held = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    struct reply waits = { 0 };
    ops_begin(&o, "/v1/projects/web/messages", "{\"text\":\"two\"}", NULL, &waits);
    struct reply r = ops_ask(&o, "GET", "/v1/projects/web/messages", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 1); /* read without the lock */
    reply_finish(&r);
    ops_add(&o, "\"project\":\"web\",");
    assert_false(waits.answered);
    close(held);
    ops_wait(&o, &waits);
    assert_int_equal(waits.status, 200);
    reply_finish(&waits);
}

TEST(shutdown_drops_a_message_that_waits_for_a_lock) {
    struct ops o = { 0 };
    char path[128];
    ops_open(&o, OPS_MEMORY, NULL);
    post(&o, "/v1/projects/web/messages", "{\"text\":\"one\"}");
    snprintf(path, sizeof(path), "%s/bus/web.md", o.home);
    int held = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    struct reply waits = { 0 };
    ops_begin(&o, "/v1/projects/web/messages", "{\"text\":\"two\"}", NULL, &waits);
    ops_turn(&o);
    ops_close(&o); /* does not wait for the lock */
    assert_true(waits.answered);
    assert_true(waits.status >= 500);
    reply_finish(&waits);
    close(held);
}
