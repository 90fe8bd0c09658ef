/* test_hosts.c: runs on an unreachable host: how they are shown, and which hosts can be forgotten. */

#include <string.h>

#include "fixture.h"
#include "harness/test.h"
#include "os/files.h"

/* Three tasks, two slots: the first two have runs on boxa, and this host is boxb. */
static void open_on_boxb(struct ops *o) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    ops_open(o, OPS_SQLITE, "daemon.host: boxa\nrunaway.pause_s: 0\n");
    for (int i = 0; i < 3; i++)
        (void)ops_add(o, "\"project\":\"web\",");
    ops_turn(o);
    assert_int_equal(file_read(o->config_file, 65536, &text, NULL), 0);
    memcpy(strstr(text.text, "boxa"), "boxb", 4);
    assert_int_equal(file_write(o->config_file, text.text, text.length, NULL), 0);
    ops_restart(o);
}

static struct reply get(struct ops *o, const char *path) {
    return ops_ask(o, "GET", path, NULL, NULL);
}

TEST(hosts_are_listed_ours_first) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_on_boxb(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/hosts");
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "items"), 2);
    assert_string_equal(reply_text(&r, "items.0.name"), "boxb");
    assert_true(reply_bool(&r, "items.0.active"));
    assert_int_equal(reply_int(&r, "items.0.runs"), 0);
    assert_true(reply_is_null(&r, "items.0.unreachable_since"));
    assert_string_equal(reply_text(&r, "items.1.name"), "boxa");
    assert_false(reply_bool(&r, "items.1.reachable"));
    assert_int_equal(reply_int(&r, "items.1.runs"), 2);
    assert_true(reply_int(&r, "items.1.unreachable_since") > 0);
    ops_refused(&o, 400, "/v1/hosts?cursor=x", NULL, NULL);
}

TEST(an_unreachable_run_names_its_host) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_on_boxb(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/1");
    assert_string_equal(reply_text(&r, "run.unreachable_host"), "boxa");
    assert_true(reply_int(&r, "run.unreachable_since") > 0);
    assert_non_null(strstr(reply_text(&r, "run.doing"), "host 'boxa' unreachable since 20"));
    _cleanup_(reply_finish) struct reply why = get(&o, "/v1/tasks/1/why");
    assert_non_null(strstr(reply_text(&why, "summary"), "sluice host forget boxa"));
    _cleanup_(reply_finish) struct reply other = get(&o, "/v1/tasks/3");
    assert_true(reply_is_null(&other, "run"));
    ops_refused(&o, 409, "/v1/tasks/1/log", NULL,
                "the log of attempt 1 of task '1' is on host 'boxa', which is unreachable; with "
                "'data.folder' on a file system of both it would be here");
}

TEST(a_task_that_waits_for_its_slot_names_the_host) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_on_boxb(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/3");
    assert_string_equal(reply_text(&r, "gate"), "lease:runs");
    assert_non_null(strstr(reply_text(&r, "why"),
                           "2 of the places are held on host 'boxa', which is unreachable"));
}

TEST(a_cancel_says_that_it_will_take_time) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_on_boxb(&o);
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\",\"3\"]}", NULL);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(reply_text(&r, "tasks.0.note"), "its run is on host 'boxa'"));
    assert_null(json_object_get(reply_at(&r, "tasks.1"), "note"));
}

TEST(a_host_is_forgotten_by_its_name_and_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_on_boxb(&o);
    ops_refused(&o, 409, "/v1/hosts/boxb/forget", "{}",
                "host 'boxb' is this one, and its runs are seen; cancel what shall not go on");
    ops_refused(&o, 404, "/v1/hosts/boxc/forget", "{}",
                "no run is on host 'boxc'; 'sluice host list' shows the hosts");
    ops_refused(&o, 400, "/v1/hosts/boxa/forget", "{\"force\":true}", NULL);
    _cleanup_(reply_finish) struct reply first =
        ops_ask(&o, "POST", "/v1/hosts/boxa/forget", "{}", "forget-key-1");
    assert_int_equal(first.status, 200);
    assert_int_equal(reply_int(&first, "runs"), 2);
    assert_false(reply_bool(&first, "already"));
    _cleanup_(reply_finish) struct reply same =
        ops_ask(&o, "POST", "/v1/hosts/boxa/forget", "{}", "forget-key-1");
    assert_true(same.replayed);
    assert_int_equal(reply_int(&same, "runs"), 2);
    _cleanup_(reply_finish) struct reply again =
        ops_ask(&o, "POST", "/v1/hosts/boxa/forget", "{}", NULL);
    assert_int_equal(reply_int(&again, "runs"), 0);
    assert_true(reply_bool(&again, "already"));
    _cleanup_(reply_finish) struct reply run = get(&o, "/v1/tasks/1/runs");
    assert_string_equal(reply_text(&run, "items.1.outcome"), "lost");
    assert_non_null(strstr(reply_text(&run, "items.1.message"), "host 'boxa' was forgotten"));
}
