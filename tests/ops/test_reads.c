/* test_reads.c: lists, single tasks, the status overview, events, logs and health checks. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"
#include "os/files.h"

static struct reply get(struct ops *o, const char *path) {
    struct reply r = ops_ask(o, "GET", path, NULL, NULL);
    if (r.status != 200)
        fail_msg("GET %s: %s", path, r.text);
    return r;
}

/* "t-1 t-2": the ids of a page. */
static const char *ids(struct ops *o, const char *path) {
    static char text[1024];
    _cleanup_(reply_finish) struct reply r = get(o, path);
    size_t i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach(reply_at(&r, "items"), i, item) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
                       json_string_value(json_object_get(item, "id")));
    }
    return text;
}

static void begin(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL);
    (void)ops_add(o, "\"project\":\"web\",\"kind\":\"plan\","); /* 1 and 2 start */
    (void)ops_add(o, "\"project\":\"web\",");
    (void)ops_add(o, "\"project\":\"api\",\"agent\":\"claude\",");
    (void)ops_add(o, "\"project\":\"api\",\"parent\":\"3\",");
    (void)ops_add(o, "\"draft\":true,");
    (void)ops_add(o, "\"hold\":true,");
    (void)ops_add(o, "\"priority\":1,");
    ops_expect(o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"6\"]}");
}

TEST(a_list_shows_what_is_open_newest_first) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    assert_string_equal(ids(&o, "/v1/tasks"), "t-7 t-5 api-4 api-3 web-2 web-1");
    assert_string_equal(ids(&o, "/v1/tasks?order=old"), "web-1 web-2 api-3 api-4 t-5 t-7");
    assert_string_equal(ids(&o, "/v1/tasks?order=queue"), "t-7 api-3 api-4");
    assert_string_equal(ids(&o, "/v1/tasks?state=all&order=old"),
                        "web-1 web-2 api-3 api-4 t-5 t-6 t-7");
}

TEST(a_list_is_filtered) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    assert_string_equal(ids(&o, "/v1/tasks?state=canceled"), "t-6");
    assert_string_equal(ids(&o, "/v1/tasks?state=draft,canceled"), "t-6 t-5");
    assert_string_equal(ids(&o, "/v1/tasks?state=starting,running"), "web-2 web-1");
    assert_string_equal(ids(&o, "/v1/tasks?state=starting&order=old"), "web-1 web-2");
    assert_string_equal(ids(&o, "/v1/tasks?project=api"), "api-4 api-3");
    assert_string_equal(ids(&o, "/v1/tasks?kind=plan"), "web-1");
    assert_string_equal(ids(&o, "/v1/tasks?kind=implement"), "");
    assert_string_equal(ids(&o, "/v1/tasks?agent=claude"), "api-3");
    assert_string_equal(ids(&o, "/v1/tasks?parent=api-3"), "api-4");
    ops_refused(&o, 400, "/v1/tasks?state=runing", NULL,
                "there is no state 'runing'; did you mean 'running'?");
    ops_refused(&o, 404, "/v1/tasks?project=wbe", NULL,
                "there is no project 'wbe'; did you mean 'web'?");
    ops_refused(&o, 404, "/v1/tasks?group=g", NULL, "there is no group 'g'");
    ops_refused(&o, 404, "/v1/tasks?parent=99", NULL, "there is no task '99'");
}

TEST(a_list_is_sorted_by_a_member_and_of_equal_ones_the_newest_are_first) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    assert_string_equal(ids(&o, "/v1/tasks?sort=project"), "api-4 api-3 t-7 t-5 web-2 web-1");
    assert_string_equal(ids(&o, "/v1/tasks?sort=project&reverse=true"),
                        "web-1 web-2 t-5 t-7 api-3 api-4");
    assert_string_equal(ids(&o, "/v1/tasks?sort=priority&limit=1"), "t-7");
    assert_string_equal(ids(&o, "/v1/tasks?sort=agent&limit=1"), "api-3"); /* those without last */
    assert_string_equal(ids(&o, "/v1/tasks?sort=state&state=all&limit=2"), "t-5 api-4");
    ops_refused(&o, 400, "/v1/tasks?sort=agent&text=a", NULL,
                "'sort' and 'text' cannot be used together");
    ops_refused(&o, 400, "/v1/tasks?reverse=true", NULL, "'reverse' needs 'sort'");
    ops_refused(&o, 400, "/v1/tasks?sort=priority&cursor=s99", NULL,
                "the last task of the page before was deleted: begin again");
    ops_expect(&o, 400, "GET", "/v1/tasks?sort=title", NULL);
}

TEST(a_selection_has_the_ids_and_what_can_be_done_to_all_of_them) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    reply_expect(ops_ask(&o, "GET", "/v1/selection?project=api", NULL, NULL), 200,
                 "\"ids\":[\"api-4\",\"api-3\"]");
    struct reply r = ops_ask(&o, "GET", "/v1/selection?state=open,canceled&limit=3", NULL, NULL);
    assert_int_equal(reply_count(&r, "ids"), 3);
    assert_int_equal(reply_count(&r, "actions"), 0); /* of a ready, a canceled and a draft task */
    assert_string_equal(reply_text(&r, "next"), "n4");
    reply_finish(&r);
    reply_expect(ops_ask(&o, "GET", "/v1/selection?state=canceled,draft", NULL, NULL), 200,
                 "\"actions\":[\"delete\"]");
    r = ops_ask(&o, "GET", "/v1/selection?state=open&cursor=n4", NULL, NULL);
    assert_int_equal(reply_count(&r, "ids"), 4);
    assert_true(reply_is_null(&r, "next"));
    reply_finish(&r);
    ops_expect(&o, 400, "GET", "/v1/selection?limit=10001", NULL);
    ops_expect(&o, 404, "GET", "/v1/selection?project=nothing", NULL);
}

TEST(pages_follow_each_other_without_a_gap) {
    static const char *const lists[] = { "/v1/tasks?state=all&order=new",
                                         "/v1/tasks?state=all&order=old",
                                         "/v1/tasks?order=queue",
                                         "/v1/tasks?state=starting,running",
                                         "/v1/tasks?state=ready&order=queue",
                                         "/v1/tasks?state=all&sort=state",
                                         "/v1/tasks?sort=project&reverse=true" };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    for (int i = 0; i < 23; i++)
        (void)ops_add(&o, "");
    static const size_t wanted[] = { 23, 23, 21, 2, 21, 23, 23 };
    for (size_t list = 0; list < ARRAY_SIZE(lists); list++) {
        bool seen[24] = { false };
        size_t count = 0, pages = 0;
        char cursor[64] = "";
        do {
            char path[160];
            (void)snprintf(path, sizeof(path), "%s&limit=%d%s%s", lists[list], list == 3 ? 1 : 5,
                           *cursor ? "&cursor=" : "", cursor);
            struct reply r = get(&o, path);
            for (size_t i = 0; i < reply_count(&r, "items"); i++, count++) {
                char at[32];
                (void)snprintf(at, sizeof(at), "items.%zu.id", i);
                unsigned long number = strtoul(reply_text(&r, at) + 2, NULL, 10);
                assert_true(number >= 1 && number <= 23 && !seen[number]);
                seen[number] = true;
            }
            cursor[0] = '\0';
            if (!reply_is_null(&r, "next"))
                (void)snprintf(cursor, sizeof(cursor), "%s", reply_text(&r, "next"));
            reply_finish(&r);
        } while (*cursor && ++pages < 50);
        assert_int_equal(count, wanted[list]);
    }
    ops_refused(&o, 400, "/v1/tasks?cursor=x7", NULL,
                "'x7' is not a cursor of this list: take `next` of its answer");
    ops_refused(&o, 400, "/v1/tasks?order=old&cursor=n7", NULL,
                "'n7' is not a cursor of this list: take `next` of its answer");
}

/* The fast path reads only the first tasks of each class; it must give the same order as a scan of all tasks. */
TEST(the_first_of_the_queue_are_found_without_the_others) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    for (int i = 0; i < 60; i++) {
        char members[80];
        (void)snprintf(members, sizeof(members), "\"project\":\"%s\",\"priority\":%d,%s",
                       i % 2 ? "web" : "api", 50 - i * 7 % 5,
                       i % 3 ? "" : "\"resources\":[\"gpu\"],");
        (void)ops_add(&o, members);
    }
    char whole[1024];
    (void)snprintf(whole, sizeof(whole), "%s", ids(&o, "/v1/tasks?order=queue&limit=60"));
    for (int first = 0, at = 0; first < 60; first += 12) {
        char path[80];
        (void)snprintf(path, sizeof(path), "/v1/tasks?state=ready&order=queue&limit=12&cursor=q%d",
                       first);
        const char *page = ids(&o, path);
        assert_memory_equal(whole + at, page, strlen(page));
        at += (int)strlen(page) + 1;
        assert_true(first == 48 ? whole[at - 1] == '\0' : whole[at - 1] == ' ');
    }
}

/* A call scans a limited number of tasks; then its page may be empty, with a cursor for the next one. */
TEST(a_list_of_a_few_among_many_comes_in_short_steps) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    (void)ops_add(&o, "\"hold\":true,");
    for (int batch = 0; batch < 3; batch++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_puts(&body, "{\"tasks\":[{\"argv\":[\"a\"]}");
        strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 9999);
        strbuf_puts(&body, "]}");
        ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
    }
    _cleanup_(reply_finish) struct reply a = get(&o, "/v1/tasks?state=held");
    assert_int_equal(reply_count(&a, "items"), 0);
    assert_string_equal(reply_text(&a, "next"), "n10001");
    assert_string_equal(ids(&o, "/v1/tasks?state=held&cursor=n10001"), "t-1");
    _cleanup_(reply_finish) struct reply s = get(&o, "/v1/status");
    assert_false(reply_bool(&s, "partial"));
    assert_string_equal(reply_text(&s, "waiting_by_gate.0.gate"), "paused");
    assert_int_equal(reply_int(&s, "waiting_by_gate.0.count"), 30000);
    assert_string_equal(reply_text(&s, "waiting_by_gate.0.examples.0"), "t-2");
}

/* A task far down the list is counted, and found unless it is too far down. */
TEST(status_counts_at_every_gate_and_shows_who_waits_there) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL); /* 2 runs at a time */
    char members[128], gate[128];
    snprintf(members, sizeof(members), "\"workspace\":\"%s\",", o.home);
    snprintf(gate, sizeof(gate), "lease:workspace:%s", o.home);
    (void)ops_add(&o, members);
    (void)ops_add(&o, "");
    for (int i = 0; i < 300; i++)
        (void)ops_add(&o, "");
    (void)ops_add(&o, members);
    (void)ops_add(&o, "\"depends_on\":\"1\",");
    _cleanup_(reply_finish) struct reply s = get(&o, "/v1/status");
    assert_false(reply_bool(&s, "partial"));
    assert_string_equal(reply_text(&s, "waiting_by_gate.0.gate"), "lease:runs");
    assert_int_equal(reply_int(&s, "waiting_by_gate.0.count"), 300);
    assert_int_equal(reply_count(&s, "waiting_by_gate.0.examples"), 3);
    assert_non_null(strstr(reply_text(&s, "waiting_by_gate.0.why"), "runs"));
    assert_string_equal(reply_text(&s, "waiting_by_gate.1.gate"), "dependency");
    assert_string_equal(reply_text(&s, "waiting_by_gate.1.examples.0"), "t-304");
    assert_string_equal(reply_text(&s, "waiting_by_gate.2.gate"), gate);
    assert_int_equal(reply_int(&s, "waiting_by_gate.2.count"), 1);
    assert_string_equal(reply_text(&s, "waiting_by_gate.2.examples.0"), "t-303");
    assert_int_equal(reply_count(&s, "waiting_by_gate"), 3);
}

TEST(a_list_item_says_why_it_waits) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks?order=queue");
    assert_string_equal(reply_text(&r, "items.0.state"), "ready");
    assert_string_equal(reply_text(&r, "items.0.gate"), "lease:runs");
    assert_true(strlen(reply_text(&r, "items.0.why")) > 0);
    assert_int_equal(reply_int(&r, "items.0.priority"), 1);
    assert_true(reply_is_null(&r, "items.0.run"));
    assert_string_equal(reply_text(&r, "items.2.gate"), "parent");
    _cleanup_(reply_finish) struct reply live = get(&o, "/v1/tasks?state=starting");
    assert_true(reply_is_null(&live, "items.0.gate"));
    assert_int_equal(reply_int(&live, "items.0.run.attempt"), 1);
    assert_string_equal(reply_text(&live, "items.0.run.phase"), "starting");
}

TEST(why_lists_every_gate_and_names_the_first) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/api-3/why");
    assert_string_equal(reply_text(&r, "id"), "api-3");
    assert_string_equal(reply_text(&r, "first"), "lease:runs");
    assert_true(reply_count(&r, "gates") > 10);
    assert_string_equal(reply_text(&r, "gates.0.gate"), "paused");
    assert_true(reply_bool(&r, "gates.0.open"));
    assert_int_equal(reply_int(&r, "queue_position"), 2);
    assert_int_equal(reply_int(&r, "forecast.ahead"), 1);
    assert_string_equal(reply_text(&r, "forecast.text"), "if runs take as long as usual");
    assert_true(reply_int(&r, "forecast.starts_at") >= engine_now(o.engine));
    _cleanup_(reply_finish) struct reply draft = get(&o, "/v1/tasks/5/why");
    assert_true(reply_is_null(&draft, "first"));
    assert_string_equal(reply_text(&draft, "summary"), "a draft: sling it to have it scheduled");
    assert_int_equal(reply_count(&draft, "gates"), 0);
    assert_true(reply_is_null(&draft, "forecast"));
    _cleanup_(reply_finish) struct reply live = get(&o, "/v1/tasks/1/why");
    assert_string_equal(reply_text(&live, "summary"), "its command is being started");
}

TEST(why_of_a_failed_task_says_how_its_last_run_ended) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    task_id task = ops_add(&o, "\"retries\":0,");
    fake_run_starts(task);
    ops_turn(&o);
    fake_run_ends(task, 7);
    ops_turn(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/1/why");
    assert_string_equal(reply_text(&r, "summary"),
                        "failed: retry it when the cause is gone; its last run: exit code 7");
}

TEST(a_task_is_shown_with_its_runs) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    task_id task = ops_add(&o, "\"external_id\":\"card 1\",\"retries\":5,");
    for (int run = 0; run < 3; run++) {
        if (run > 0) {
            ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\"]}");
            ops_expect(&o, 200, "POST", "/v1/tasks/retry", "{\"tasks\":[\"1\"]}");
        }
        fake_run_starts(task);
        ops_turn(&o);
        if (run == 2)
            break;
        fake_run_ends(task, 1);
        ops_turn(&o);
    }
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/1");
    assert_string_equal(reply_text(&r, "state"), "running");
    assert_string_equal(reply_text(&r, "external_id"), "card 1");
    assert_int_equal(reply_int(&r, "attempt"), 3);
    assert_int_equal(reply_count(&r, "runs"), 3);
    assert_int_equal(reply_int(&r, "runs.0.attempt"), 3);
    assert_string_equal(reply_text(&r, "runs.0.phase"), "working");
    assert_true(reply_is_null(&r, "runs.0.outcome"));
    assert_string_equal(reply_text(&r, "runs.2.outcome"), "failed");
    assert_int_equal(reply_int(&r, "runs.2.exit_code"), 1);
    assert_int_equal(reply_int(&r, "counters.failures"), 0);
    _cleanup_(reply_finish) struct reply first = get(&o, "/v1/tasks/1/runs?limit=2");
    assert_int_equal(reply_count(&first, "items"), 2);
    assert_string_equal(reply_text(&first, "next"), "r2");
    _cleanup_(reply_finish) struct reply rest = get(&o, "/v1/tasks/1/runs?limit=2&cursor=r2");
    assert_int_equal(reply_count(&rest, "items"), 1);
    assert_int_equal(reply_int(&rest, "items.0.attempt"), 1);
    assert_true(reply_is_null(&rest, "next"));
}

TEST(events_are_read_forward_back_and_of_one_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply all = get(&o, "/v1/events?limit=1000");
    size_t count = reply_count(&all, "items");
    assert_true(count >= 8);
    int64_t last = reply_int(&all, "last_seq");
    char path[96];
    (void)snprintf(path, sizeof(path), "items.%zu.seq", count - 1);
    assert_int_equal(reply_int(&all, path), last);
    (void)snprintf(path, sizeof(path), "/v1/events?after=%" PRId64, last - 2);
    _cleanup_(reply_finish) struct reply after = get(&o, path);
    assert_int_equal(reply_count(&after, "items"), 2);
    assert_int_equal(reply_int(&after, "items.0.seq"), last - 1);
    (void)snprintf(path, sizeof(path), "/v1/events?before=%" PRId64 "&limit=2", last);
    _cleanup_(reply_finish) struct reply before = get(&o, path);
    assert_int_equal(reply_int(&before, "items.0.seq"), last - 2);
    assert_int_equal(reply_int(&before, "items.1.seq"), last - 1);
    _cleanup_(reply_finish) struct reply of = get(&o, "/v1/tasks/t-6/events?limit=1");
    assert_string_equal(reply_text(&of, "items.0.kind"), "task.added");
    assert_string_equal(reply_text(&of, "items.0.task"), "t-6");
    (void)snprintf(path, sizeof(path), "/v1/tasks/t-6/events?limit=1&cursor=%s",
                   reply_text(&of, "next"));
    _cleanup_(reply_finish) struct reply next = get(&o, path);
    assert_string_equal(reply_text(&next, "items.0.kind"), "task.state");
    assert_string_equal(reply_text(&next, "items.0.data.to"), "canceled");
    _cleanup_(reply_finish) struct reply filtered = get(&o, "/v1/events?task=6");
    assert_int_equal(reply_count(&filtered, "items"), 2);
    ops_refused(&o, 400, "/v1/events?after=1&before=5", NULL,
                "'after' and 'before' cannot be used together");
}

TEST(a_log_is_found_by_task_attempt_and_stream) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"hold\":true,");
    ops_refused(&o, 404, "/v1/tasks/1/log", NULL, "task '1' has not run yet");
    task_id task = ops_add(&o, "");
    fake_run_starts(task);
    ops_turn(&o);
    struct strbuf folder = STRBUF_INIT;
    engine_run_folder(o.engine, task, 1, &folder);
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    strbuf_printf(&file, "%s/out.log", strbuf_text(&folder));
    _cleanup_(reply_finish) struct reply before =
        get(&o, "/v1/tasks/2/log"); /* a live run may still write it */
    assert_string_equal(reply_text(&before, "path"), strbuf_text(&file));
    for (char *at = folder.text + strlen(o.home) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(folder.text, 0700);
    }
    (void)mkdir(strbuf_text(&folder), 0700);
    assert_int_equal(file_write(strbuf_text(&file), "0123456789", 10, NULL), 0);
    _cleanup_(reply_finish) struct reply tail = get(&o, "/v1/tasks/2/log?tail=3");
    assert_int_equal(reply_int(&tail, "offset"), 7);
    _cleanup_(reply_finish) struct reply all = get(&o, "/v1/tasks/2/log?tail=30");
    assert_int_equal(reply_int(&all, "offset"), 0);
    _cleanup_(reply_finish) struct reply from = get(&o, "/v1/tasks/2/log?offset=4&attempt=1");
    assert_int_equal(reply_int(&from, "offset"), 4);
    fake_run_ends(task, 0);
    ops_turn(&o);
    ops_refused(&o, 404, "/v1/tasks/2/log?stream=err", NULL,
                "there is no log of attempt 1 of task '2' (any more)");
    ops_refused(&o, 404, "/v1/tasks/2/log?attempt=2", NULL, "task '2' has had no such attempt");
    ops_refused(&o, 400, "/v1/tasks/2/log?offset=1&tail=1", NULL,
                "'offset' and 'tail' cannot be used together");
    strbuf_finish(&folder);
}

TEST(f121_status_has_everything_at_a_glance) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/status");
    assert_string_equal(reply_text(&r, "version"), "0.0-test");
    assert_int_equal(reply_int(&r, "pid"), getpid());
    assert_true(reply_int(&r, "now") >= reply_int(&r, "started_at"));
    assert_string_equal(reply_text(&r, "home"), o.home);
    assert_string_equal(reply_text(&r, "preset"), "sluice");
    assert_int_equal(reply_int(&r, "counts.starting"), 2);
    assert_int_equal(reply_int(&r, "counts.canceled"), 1);
    assert_int_equal(reply_int(&r, "ready"), 2);
    assert_int_equal(reply_count(&r, "running"), 2);
    assert_string_equal(reply_text(&r, "running.0.title"), "true");
    assert_string_equal(reply_text(&r, "waiting_by_gate.0.gate"), "lease:runs");
    assert_int_equal(reply_int(&r, "waiting_by_gate.0.count"), 2);
    assert_int_equal(reply_count(&r, "waiting_by_gate.0.examples"), 2);
    assert_false(reply_bool(&r, "partial"));
    assert_string_equal(reply_text(&r, "limits.0.key"), "runs");
    assert_int_equal(reply_int(&r, "limits.0.used"), 2);
    assert_int_equal(reply_int(&r, "limits.0.cap"), 2);
    assert_string_equal(reply_text(&r, "budgets.0.key"), "global");
    assert_string_equal(reply_text(&r, "limiters.0.state"), "open");
    assert_int_equal(reply_count(&r, "projects"), 3);
    assert_int_equal(reply_int(&r, "projects.0.running"), 2);
    assert_int_equal(reply_int(&r, "blocked_dependencies"), 0);
    assert_true(reply_count(&r, "events") <= 10);
    (void)reply_at(&r, "host.disk_free_mb");
    assert_false(reply_bool(&r, "store.full"));
}

TEST(a_dependency_that_failed_is_counted_apart) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"hold\":true,");
    (void)ops_add(&o, "\"depends_on\":\"1\",");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\"]}");
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/status");
    assert_int_equal(reply_int(&r, "blocked_dependencies"), 1);
    assert_string_equal(reply_text(&r, "waiting_by_gate.0.gate"), "dependency");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    _cleanup_(reply_finish) struct reply paused = get(&o, "/v1/status");
    assert_int_equal(reply_int(&paused, "blocked_dependencies"), 1);
    assert_string_equal(reply_text(&paused, "waiting_by_gate.0.gate"), "paused");
}

TEST(f132_metrics_have_help_and_type_and_no_ids) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/metrics");
    assert_non_null(strstr(r.text, "\nsluice_tasks{state=\"starting\"} 2\n"));
    assert_non_null(strstr(r.text, "\nsluice_limiter_open{limiter=\"anthropic\"} 1\n"));
    assert_non_null(strstr(r.text, "\nsluice_project_running{project=\"web\"} 2\n"));
    assert_non_null(strstr(r.text, "\nsluice_queue_latency_seconds_count 2\n"));
    assert_non_null(strstr(r.text, "\nsluice_run_duration_seconds_bucket{le=\"+Inf\"} 0\n"));
    assert_null(strstr(r.text, "web-1"));
    for (char *line = strtok(r.text, "\n"); line; line = strtok(NULL, "\n")) {
        static char name[128];
        if (sscanf(line, "# HELP %127s", name) == 1) {
            char *type = strtok(NULL, "\n");
            char expected[160];
            (void)snprintf(expected, sizeof(expected), "# TYPE %s ", name);
            if (!type || strncmp(type, expected, strlen(expected)) != 0)
                fail_msg("no type for %s", name);
        } else if (strncmp(line, name, strlen(name)) != 0
                   || !strchr("{ _", line[strlen(name)])) { /* '_': a histogram */
            fail_msg("'%s' has no help of its own", line);
        }
    }
}

TEST(health_and_doctor_name_what_is_missing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    _cleanup_(reply_finish) struct reply h = get(&o, "/healthz");
    assert_true(reply_bool(&h, "ok"));
    assert_string_equal(reply_text(&h, "store"), "sqlite");
    assert_int_equal(reply_count(&h, "degraded"), 1);
    assert_string_equal(reply_text(&h, "degraded.0"), "cgroup.kill");
    _cleanup_(reply_finish) struct reply d = get(&o, "/v1/doctor");
    assert_int_equal(reply_count(&d, "features"), 2);
    size_t i;
    json_t *check;
    bool socket = true, shim = false;
    json_array_foreach(reply_at(&d, "checks"), i, check) {
        const char *name = json_string_value(json_object_get(check, "name"));
        bool ok = json_is_true(json_object_get(check, "ok"));
        if (!ok && !json_is_string(json_object_get(check, "fix")))
            fail_msg("check '%s' is not ok and says nothing to do", name);
        socket = strcmp(name, "socket") == 0 ? ok : socket;
        shim = strcmp(name, "shim") == 0 ? ok : shim;
    }
    assert_false(socket); /* this test has no socket */
    assert_true(shim);
}

static const char *check_text(const struct reply *r, const char *wanted) {
    size_t i;
    json_t *check;
    json_array_foreach(reply_at(r, "checks"), i, check) {
        if (strcmp(json_string_value(json_object_get(check, "name")), wanted) == 0)
            return json_string_value(json_object_get(check, "text"));
    }
    return "";
}

TEST(doctor_says_which_cgroups_were_left) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply none = get(&o, "/v1/doctor");
    assert_string_equal(check_text(&none, "cgroups"), "none is left over from stopped daemons");
    fake_cgroups_left(19, 2);
    _cleanup_(reply_finish) struct reply some = get(&o, "/v1/doctor");
    fake_cgroups_left(0, 0);
    assert_string_equal(check_text(&some, "cgroups"),
                        "from stopped daemons: 19 removed, 2 with live runs");
}

TEST(agents_limiters_and_groups_are_listed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply a = get(&o, "/v1/agents");
    assert_string_equal(reply_text(&a, "items.0.name"), "claude");
    assert_string_equal(reply_text(&a, "items.0.command.1"), "-p");
    assert_int_equal(reply_int(&a, "items.0.slots"), 4);
    assert_string_equal(reply_text(&a, "items.0.limiter"), "anthropic");
    assert_true(reply_is_null(&a, "items.1.limiter"));
    assert_true(reply_bool(&a, "items.1.named"));
    assert_string_equal(reply_text(&a, "items.2.name"), "codex"); /* needs no configuration */
    assert_false(reply_bool(&a, "items.2.named"));
    assert_string_equal(reply_text(&a, "items.2.program"), "codex");
    assert_string_equal(reply_text(&a, "items.5.name"), "copilot");
    assert_true(reply_is_null(&a, "next"));
    _cleanup_(reply_finish) struct reply page = get(&o, "/v1/agents?limit=1");
    assert_string_equal(reply_text(&page, "next"), "i1");
    _cleanup_(reply_finish) struct reply rest = get(&o, "/v1/agents?limit=1&cursor=i1");
    assert_string_equal(reply_text(&rest, "items.0.name"), "mute");
    assert_string_equal(reply_text(&rest, "next"), "i2");
    _cleanup_(reply_finish) struct reply l = get(&o, "/v1/limiters");
    assert_int_equal(reply_int(&l, "items.0.cap"), 2);
}

static int report_use(struct engine *engine) {
    struct fact fact = { .kind = FACT_LIMITER_USED };
    fact.used.limiter =
        symbol_find(core_symbols((struct core *)engine_core(engine)), "anthropic", 9);
    fact.used.window = QUOTA_FIVE_HOUR;
    fact.used.quota = (struct quota){ 824, engine_now(engine) + HOURS(2) };
    return core_apply((struct core *)engine_core(engine), &fact, NULL);
}

TEST(an_account_has_its_windows_with_use_reserve_and_end) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply before = get(&o, "/v1/limiters/anthropic");
    assert_int_equal(reply_count(&before, "windows"), 0);
    ops_expect(&o, 200, "POST", "/v1/config",
               "{\"set\":{\"limiters.anthropic.reserve\":20,"
               "\"limiters.anthropic.reserve_weekly\":5}}");
    assert_int_equal(report_use(o.engine), 0);
    _cleanup_(reply_finish) struct reply l = get(&o, "/v1/limiters/anthropic");
    assert_string_equal(reply_text(&l, "state"), "reserved");
    assert_true(reply_int(&l, "opens_at") == reply_int(&l, "windows.0.resets_at"));
    assert_string_equal(reply_text(&l, "windows.0.window"), "five_hour");
    assert_int_equal(reply_int(&l, "windows.0.used_percent"), 82);
    assert_int_equal(reply_int(&l, "windows.0.reserve_percent"), 20);
    assert_true(reply_bool(&l, "windows.0.reserved"));
    assert_true(reply_is_null(&l, "windows.1.used_percent"));
    assert_int_equal(reply_int(&l, "windows.1.reserve_percent"), 5);
    assert_false(reply_bool(&l, "windows.1.reserved"));
    _cleanup_(reply_finish) struct reply t = ops_ask(
        &o, "POST", "/v1/tasks", "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"x\"}]}", NULL);
    char path[128];
    (void)snprintf(path, sizeof(path), "/v1/tasks/%s/why", reply_text(&t, "tasks.0.id"));
    _cleanup_(reply_finish) struct reply why = get(&o, path);
    assert_non_null(strstr(why.text, "\"limiter\":\"anthropic\""));
    _cleanup_(reply_finish) struct reply m = get(&o, "/metrics");
    assert_non_null(strstr(m.text, "sluice_limiter_open{limiter=\"anthropic\"} 0\n"));
    assert_non_null(strstr(m.text, "sluice_limiter_window_used_ratio{limiter=\"anthropic\","
                                   "window=\"five_hour\"} 0.824"));
    assert_non_null(strstr(m.text, "sluice_limiter_window_reserve_ratio{limiter=\"anthropic\","
                                   "window=\"weekly\"} 0.05"));
    assert_non_null(strstr(m.text, "sluice_limiter_window_reset_seconds{limiter=\"anthropic\","
                                   "window=\"five_hour\"} "));
    _cleanup_(reply_finish) struct reply c =
        ops_ask(&o, "POST", "/v1/limiters/anthropic/clear", "{}", NULL);
    assert_false(reply_bool(&c, "already"));
    _cleanup_(reply_finish) struct reply after = get(&o, "/v1/limiters/anthropic");
    assert_string_equal(reply_text(&after, "state"), "open");
    assert_true(reply_is_null(&after, "windows.0.used_percent"));
    ops_expect(&o, 404, "GET", "/v1/limiters/antropic", NULL);
}

TEST(groups_are_opened_and_closed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    _cleanup_(reply_finish) struct reply a =
        ops_ask(&o, "POST", "/v1/groups", "{\"name\":\"n\",\"owned\":true}", NULL); /* f147 */
    _cleanup_(reply_finish) struct reply b =
        ops_ask(&o, "POST", "/v1/groups", "{\"name\":\"n\"}", NULL);
    _cleanup_(reply_finish) struct reply c = ops_ask(&o, "POST", "/v1/groups", "{}", NULL);
    assert_false(reply_bool(&a, "already"));
    assert_true(reply_bool(&b, "already"));
    assert_string_equal(reply_text(&c, "name"), "group-2");
    ops_expect(&o, 200, "POST", "/v1/groups/n/close", "{}");
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply d = ops_ask(&o, "POST", "/v1/groups/n/close", "{}", NULL);
    assert_true(reply_bool(&d, "already"));
    _cleanup_(reply_finish) struct reply list = get(&o, "/v1/groups");
    assert_int_equal(reply_count(&list, "items"), 2);
    assert_true(reply_bool(&list, "items.0.closed") && reply_bool(&list, "items.0.owned"));
    ops_expect(&o, 404, "POST", "/v1/groups/saga/close", "{}");
}
