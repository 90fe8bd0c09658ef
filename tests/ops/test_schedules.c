/* test_schedules.c: schedules are edits of the configuration, and bad ones change nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/external_ids.h"
#include "engine/schedules.h"
#include "fixture.h"
#include "harness/test.h"

#define NIGHTLY                                                                                    \
    "{\"name\":\"nightly\",\"cron\":\"0 2 * * *\",\"timezone\":\"Europe/Berlin\","                 \
    "\"task\":\"{\\\"argv\\\":[\\\"true\\\"],\\\"project\\\":\\\"web\\\"}\"}"

static char *file_text(const struct ops *o) {
    static char text[65536];
    FILE *file = fopen(o->config_file, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

TEST(a_schedule_is_added_shown_and_removed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    struct reply r = ops_ask(&o, "POST", "/v1/schedules", NIGHTLY, NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "cron"), "0 2 * * *");
    assert_true(reply_int(&r, "next_due") > engine_now(o.engine));
    assert_int_equal(reply_int(&r, "next_due"), reply_int(&r, "next_at"));
    assert_true(reply_is_null(&r, "last_task"));
    reply_finish(&r);
    assert_non_null(strstr(file_text(&o), "nightly"));
    ops_expect(&o, 409, "POST", "/v1/schedules", NIGHTLY);
    r = ops_ask(&o, "GET", "/v1/schedules", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 1);
    assert_string_equal(reply_text(&r, "items.0.timezone"), "Europe/Berlin");
    reply_finish(&r);
    ops_restart(&o);
    r = ops_ask(&o, "GET", "/v1/schedules/nightly/next?count=3", NULL, NULL);
    assert_int_equal(reply_count(&r, "due"), 3);
    int64_t day = reply_int(&r, "due.1") - reply_int(&r, "due.0");
    assert_true(day >= HOURS(23) && day <= HOURS(25));
    reply_finish(&r);
    ops_expect(&o, 200, "POST", "/v1/schedules/nightly/remove", NULL);
    assert_null(strstr(file_text(&o), "nightly"));
    ops_expect(&o, 404, "GET", "/v1/schedules/nightly", NULL);
}

TEST(a_run_by_a_person_adds_its_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    struct reply r = ops_ask(&o, "POST", "/v1/schedules/nightly/run", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "tasks"), 1);
    assert_string_equal(reply_text(&r, "tasks.0"), "web-1");
    reply_finish(&r);
    const char *external = engine_external_id(o.engine, 1);
    assert_non_null(external);
    assert_true(strncmp(external, "nightly@run-", 12) == 0);
    r = ops_ask(&o, "GET", "/v1/schedules/nightly", NULL, NULL);
    assert_string_equal(reply_text(&r, "last_task"), "web-1");
    assert_int_equal(reply_int(&r, "fired"), 1);
    assert_true(reply_bool(&r, "open"));
    reply_finish(&r);
}

TEST(a_pause_is_kept) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    ops_expect(&o, 200, "POST", "/v1/schedules/nightly/pause", NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules/nightly/pause", NULL);
    ops_restart(&o);
    struct reply r = ops_ask(&o, "GET", "/v1/schedules/nightly", NULL, NULL);
    assert_true(reply_bool(&r, "paused"));
    assert_string_equal(reply_text(&r, "actions.0"), "resume");
    assert_true(reply_is_null(&r, "next_at"));
    reply_finish(&r);
    r = ops_ask(&o, "POST", "/v1/schedules/nightly/resume", NULL, NULL);
    assert_false(reply_bool(&r, "paused"));
    assert_string_equal(reply_text(&r, "actions.0"), "pause");
    assert_false(reply_is_null(&r, "next_at"));
    reply_finish(&r);
}

TEST(a_changed_time_begins_anew) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    struct reply r = ops_ask(&o, "POST", "/v1/schedules/nightly/set",
                             "{\"cron\":\"*/5 * * * *\",\"overlap\":\"queue\"}", NULL);
    assert_int_equal(r.status, 200);
    assert_true(reply_int(&r, "next_due") <= engine_now(o.engine) + MINUTES(6));
    assert_string_equal(reply_text(&r, "overlap"), "queue");
    assert_int_equal(reply_int(&r, "skipped"), 0);
    reply_finish(&r);
}

TEST(bad_definitions_are_refused_and_change_nothing) {
#define TASK "\"task\":\"{\\\"argv\\\":[\\\"true\\\"]}\""
    static const struct {
        const char *members, *says;
    } bad[] = {
        { "\"cron\":\"0 2 * * *\"", "'task', 'file', 'formula' or 'backup' is required" },
        { TASK, "exactly one of" },
        { "\"cron\":\"0 2 * * *\",\"every\":\"1h\"," TASK, "exactly one of" },
        { "\"cron\":\"0 99 * * *\"," TASK, "hour 99 is out of range" },
        { "\"cron\":\"0 2 30 2 *\"," TASK, "no month has such a day" },
        { "\"every\":\"1500ms\"," TASK, "expected seconds" },
        { "\"every\":1.5," TASK, "whole seconds" },
        { "\"at\":\"tomorrow\"," TASK, "is not a time" },
        { "\"at\":\"2020-01-01 00:00\"," TASK, "is never due" },
        { "\"every\":\"1h\",\"timezone\":\"Mars/Base\"," TASK, "there is no time zone" },
        { "\"every\":\"1h\",\"timezone\":\"/etc/passwd\"," TASK, "the name of a time zone" },
        { "\"every\":\"1h\",\"task\":\"[]\"", "not a JSON object" },
        { "\"every\":\"1h\",\"task\":\"{\"", "not a JSON object" },
        { "\"every\":\"1h\",\"task\":\"{}\"", "argv" },
        { "\"every\":\"1h\",\"task\":\"{\\\"argv\\\":[\\\"x\\\"],\\\"colour\\\":1}\"", "colour" },
        { "\"every\":\"1h\",\"task\":\"{\\\"argv\\\":[\\\"x\\\"],\\\"external_id\\\":\\\"y\\\"}\"",
          "the schedule sets it" },
        { "\"every\":\"1h\",\"task\":\"{\\\"argv\\\":[\\\"x\\\"],\\\"project\\\":\\\"no\\\"}\"",
          "there is no project 'no'" },
        { "\"every\":\"1h\",\"file\":\"/nonexistent/tasks.yaml\"", "/nonexistent/tasks.yaml" },
        { "\"every\":\"1h\",\"file\":\"tasks.yaml\"", "an absolute path" },
        { "\"every\":\"1h\",\"file\":\"/nonexistent\"," TASK, "cannot be used together" },
        { "\"every\":\"1h\",\"overlap\":\"maybe\"," TASK, "skip, queue, replace" },
        { "\"every\":\"1h\",\"jitter_s\":\"-1\"," TASK, "expected seconds" },
        { "\"every\":\"1h\",\"speed\":\"1\"," TASK, "speed" },
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(freep) char *before = xstrdup(file_text(&o));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{\"name\":\"bad\",%s}", bad[i].members);
        struct reply r = ops_ask(&o, "POST", "/v1/schedules", body, NULL);
        if (r.status < 400 || r.status >= 500 || !strstr(r.text, bad[i].says))
            fail_msg("%s: %d %s", body, r.status, r.text);
        reply_finish(&r);
        assert_string_equal(before, file_text(&o));
    }
    assert_int_equal(engine_schedule_count(o.engine), 0);
    assert_int_equal(engine_last_task(o.engine), 0);
}

TEST(a_dry_run_shows_due_times_and_changes_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    _cleanup_(freep) char *before = xstrdup(file_text(&o));
    struct reply r = ops_ask(&o, "POST", "/v1/schedules",
                             "{\"name\":\"new\",\"dry_run\":true,\"every\":\"6h\",\"timezone\":"
                             "\"Asia/Tokyo\",\"task\":\"{\\\"argv\\\":[\\\"true\\\"]}\"}",
                             "dry-run-1");
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "due"), 10);
    assert_int_equal(reply_int(&r, "due.1") - reply_int(&r, "due.0"), HOURS(6));
    assert_int_equal(reply_int(&r, "next_due"), reply_int(&r, "due.0"));
    assert_string_equal(reply_text(&r, "zone"), "Asia/Tokyo");
    assert_true(reply_is_null(&r, "last_task"));
    reply_finish(&r);
    r = ops_ask(&o, "POST", "/v1/schedules",
                "{\"name\":\"new\",\"dry_run\":true,\"every\":\"6h\",\"timezone\":"
                "\"Asia/Tokyo\",\"task\":\"{\\\"argv\\\":[\\\"true\\\"]}\"}",
                "dry-run-1"); /* sent again */
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "due"), 10);
    reply_finish(&r);
    reply_expect(ops_ask(&o, "POST", "/v1/schedules",
                         "{\"name\":\"new\",\"dry_run\":true,\"every\":\"6h\",\"task\":\"{}\"}",
                         NULL),
                 400, "argv");
    assert_string_equal(before, file_text(&o));
    assert_int_equal(engine_schedule_count(o.engine), 0);

    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    ops_expect(&o, 200, "POST", "/v1/schedules/nightly/run", NULL);
    r = ops_ask(&o, "POST", "/v1/schedules/nightly/set",
                "{\"dry_run\":true,\"cron\":\"\",\"every\":\"1h\"}", NULL);
    assert_int_equal(r.status, 200);
    assert_true(reply_is_null(&r, "cron"));
    assert_int_equal(reply_int(&r, "due.1") - reply_int(&r, "due.0"), HOURS(1));
    assert_string_equal(reply_text(&r, "last_task"), "web-1");
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/v1/schedules/nightly", NULL, NULL);
    assert_string_equal(reply_text(&r, "cron"), "0 2 * * *");
    reply_finish(&r);
}

TEST(an_empty_text_removes_a_setting) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    struct reply r = ops_ask(&o, "POST", "/v1/schedules/nightly/set",
                             "{\"cron\":\"\",\"at\":\"\",\"every\":\"2h\"}", NULL);
    assert_int_equal(r.status, 200);
    assert_true(reply_is_null(&r, "cron"));
    assert_int_equal(reply_int(&r, "every"), HOURS(2));
    reply_finish(&r);
    assert_null(strstr(file_text(&o), "cron"));
    reply_expect(ops_ask(&o, "POST", "/v1/schedules/nightly/set", "{\"every\":\"\"}", NULL), 400,
                 "exactly one of");
}

TEST(tasks_are_listed_by_their_schedule) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules", NIGHTLY);
    ops_expect(&o, 200, "POST", "/v1/schedules",
               "{\"name\":\"by-nightly\",\"every\":\"1h\",\"overlap\":\"queue\","
               "\"task\":\"{\\\"argv\\\":[\\\"true\\\"],\\\"project\\\":\\\"web\\\"}\"}");
    ops_expect(&o, 200, "POST", "/v1/schedules/nightly/run", NULL);
    ops_expect(&o, 200, "POST", "/v1/schedules/by-nightly/run", NULL);
    (void)ops_add(&o, "\"project\":\"web\",");
    struct reply r = ops_ask(&o, "GET", "/v1/tasks?state=all&schedule=nightly", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 1);
    assert_string_equal(reply_text(&r, "items.0.id"), "web-1");
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/v1/tasks?state=all&schedule=night", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 0);
    reply_finish(&r);
}

/* The scope `admin` may add any task, so it may add a schedule of one. A file is read as the owner. */
TEST(over_tcp_admins_alone_change_schedules_but_not_their_files) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/schedules", NIGHTLY, NULL), 403,
                 "needs 'admin'");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules",
                            "{\"name\":\"x\",\"every\":\"1h\",\"file\":\"/tmp/t.yaml\"}", NULL),
                 403, "cannot be changed over TCP");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules", NIGHTLY, NULL), 200, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules/nightly/set",
                            "{\"file\":\"/tmp/t.yaml\",\"task\":\"\"}", NULL),
                 403, "cannot be changed over TCP");
    reply_expect(
        ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules/nightly/set", "{\"cron\":\"0 3 * * *\"}", NULL),
        200, "0 3 * * *");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules/nightly/pause", "{}", NULL), 200,
                 NULL);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/config", "{\"unset\":[\"schedules\"]}", NULL),
                 403, "cannot be changed over TCP");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/config",
                            "{\"set\":{\"timezone\":\"Europe/Paris\"}}", NULL),
                 403, "cannot be changed over TCP");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules/nightly/remove", "{}", NULL), 200,
                 NULL);
    assert_int_equal(engine_schedule_count(o.engine), 0);
}
