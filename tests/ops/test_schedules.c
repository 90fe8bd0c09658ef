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
    assert_true(reply_is_null(&r, "next_at"));
    reply_finish(&r);
    r = ops_ask(&o, "POST", "/v1/schedules/nightly/resume", NULL, NULL);
    assert_false(reply_bool(&r, "paused"));
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
        { "\"cron\":\"0 2 * * *\"", "'task' or 'file' is required" },
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

TEST(schedules_cannot_be_added_over_tcp) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply r = ops_ask_by(&o, ACCESS_ADMIN, "/v1/schedules", NIGHTLY, NULL);
    assert_int_equal(r.status, 403);
    reply_finish(&r);
}
