/* test_sim_play.c: simulates small queues whose result can be worked out manually. */
#include <stdlib.h>

#include "harness/test.h"
#include "test_sim_fixture.h"

/* Every run takes a minute and uses 1,000 tokens. */
#define MINUTE_RUNS "\"sim\": {\"kinds\": {\"*\": {\"duration_s\": 60, \"tokens\": 1000}}}"

TEST(four_minutes_of_work_on_two_slots_take_two) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 1000000, \"config\": {\"limits\": {\"runs\": 2}}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\"}, {\"id\": \"a-2\"}, {\"id\": \"a-3\"},"
                  "{\"id\": \"a-4\"}]}",
                  NULL, NULL);
    const struct sim_result *r = &t.result;
    assert_int_equal(r->makespan, SECONDS(120));
    assert_int_equal(r->how, SIM_DRAINED);
    assert_int_equal(r->peak, 2);
    assert_int_equal(r->attempts, 4);
    assert_int_equal(r->by_state[TASK_DONE], 4);
    assert_int_equal(r->tokens, 4000);
    assert_true(r->utilisation > 0.9999 && r->utilisation < 1.0001);
    assert_int_equal(r->waits.count, 4);
    assert_true(r->waits.mean > 29999 && r->waits.mean < 30001);
    assert_int_equal(r->waits.p50, 0);
    assert_int_equal(r->waits.p95, SECONDS(60));
    assert_int_equal(r->waits.max, SECONDS(60));
    assert_int_equal(sim_test_start(&t, "a-3", 1), SECONDS(60));
    assert_int_equal(r->left_count, 0);
    sim_test_finish(&t);
}

TEST(half_empty_slots_are_half_used) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 4}}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\"}, {\"id\": \"a-2\"}]}",
                  NULL, NULL);
    assert_true(t.result.utilisation > 0.4999 && t.result.utilisation < 0.5001);
    sim_test_finish(&t);
    /* without a cap, utilisation is relative to the peak */
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"limits\": {\"runs\": \"unlimited\"}}, " MINUTE_RUNS
                  ", \"tasks\": [{\"id\": \"a-1\"}, {\"id\": \"a-2\"}]}",
                  NULL, NULL);
    assert_true(t.result.utilisation > 0.9999);
    sim_test_finish(&t);
}

TEST(a_chain_runs_one_after_the_other_and_does_not_wait) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, " MINUTE_RUNS ", \"tasks\": [{\"id\": \"a-1\"},"
                  "{\"id\": \"a-2\", \"depends_on\": [\"a-1\"]},"
                  "{\"id\": \"a-3\", \"depends_on\": [\"a-2\"]}]}",
                  NULL, NULL);
    assert_int_equal(t.result.makespan, SECONDS(180));
    assert_int_equal(t.result.peak, 1);
    assert_int_equal(t.result.waits.max, 0); /* it was not ready before */
    sim_test_finish(&t);
}

TEST(a_retry_comes_after_its_backoff) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"retry\": {\"failed\": {\"max\": 2, \"delay_s\": 10,"
                  "\"factor\": 2, \"jitter\": 0}}},"
                  "\"tasks\": [{\"id\": \"a-1\", \"sim\": {\"duration_s\": 60, \"failure_rate\": "
                  "1}}]}",
                  NULL, NULL);
    assert_int_equal(sim_test_start(&t, "a-1", 2), SECONDS(70));
    assert_int_equal(sim_test_start(&t, "a-1", 3), SECONDS(150));
    assert_int_equal(t.result.makespan, SECONDS(210));
    assert_int_equal(t.result.retries, 2);
    assert_int_equal(t.result.failed_attempts, 3);
    assert_int_equal(t.result.by_state[TASK_FAILED], 1);
    assert_int_equal(t.result.how, SIM_DRAINED);
    sim_test_finish(&t);
}

TEST(a_loop_that_fails_its_checks_begins_again) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"retry\": {\"unfinished\": {\"max\": 1,"
                  "\"delay_s\": 1}}},"
                  "\"tasks\": [{\"id\": \"a-1\", \"until\": \"validate\","
                  "\"sim\": {\"duration_s\": 60, \"failure_rate\": 1}}]}",
                  NULL, NULL);
    assert_int_equal(sim_test_run(&t, "a-1", 1)->outcome, OUTCOME_INVALID);
    assert_int_equal(sim_test_start(&t, "a-1", 2), SECONDS(61));
    assert_int_equal(t.result.by_state[TASK_FAILED], 1);
    assert_int_equal(t.result.attempts, 2);
    sim_test_finish(&t);
}

TEST(a_kind_is_capped) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 4},"
                  "\"kinds\": {\"plan\": {\"max_running\": 1}}}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\", \"kind\": \"plan\"},"
                  "{\"id\": \"a-2\", \"kind\": \"plan\"}, {\"id\": \"a-3\", \"kind\": \"plan\"},"
                  "{\"id\": \"a-4\", \"kind\": \"spec\"}]}",
                  NULL, NULL);
    assert_int_equal(t.result.makespan, SECONDS(180));
    assert_int_equal(t.result.kind_count, 2);
    assert_string_equal(t.result.kinds[0].name, "plan");
    assert_int_equal(t.result.kinds[0].peak, 1);
    assert_int_equal(t.result.kinds[0].runs, 3);
    assert_int_equal(sim_test_start(&t, "a-4", 1), 0);
    sim_test_finish(&t);
}

TEST(a_rate_limit_closes_its_account_for_longer_and_longer) {
    struct sim_test t;
    const struct sim_options options = { 1, SECONDS(60), TIME_NEVER, 0 };
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"limiters\": {\"x\": {\"initial_s\": 5,"
                  "\"max_s\": 120}}}, \"limiters\": [{\"id\": \"x\"}],"
                  "\"tasks\": [{\"id\": \"a-1\", \"limiter\": \"x\","
                  "\"sim\": {\"duration_s\": 10, \"limited_rate\": 1}}]}",
                  NULL, &options);
    assert_int_equal(sim_test_start(&t, "a-1", 2), SECONDS(15)); /* 10 + 5 */
    assert_int_equal(sim_test_start(&t, "a-1", 3), SECONDS(35)); /* 25 + 10 */
    assert_int_equal(t.result.attempts, 3);                      /* the next is at 45 + 20 */
    assert_int_equal(t.result.limited, 3);
    assert_int_equal(t.result.retries, 0);
    assert_int_equal(t.result.how, SIM_HORIZON);
    assert_int_equal(t.result.left_count, 1);
    assert_string_equal(t.result.left[0].code, "limiter");
    sim_test_finish(&t);
}

TEST(without_an_account_nothing_is_limited) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"tasks\": [{\"id\": \"a-1\","
                  "\"sim\": {\"duration_s\": 10, \"limited_rate\": 1}}]}",
                  NULL, NULL);
    assert_int_equal(t.result.limited, 0);
    assert_int_equal(t.result.makespan, SECONDS(10));
    sim_test_finish(&t);
}

TEST(live_runs_continue) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 1000000, \"config\": {\"limits\": {\"runs\": 1}}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\", \"state\": \"running\"},"
                  "{\"id\": \"a-2\"}]}",
                  NULL, NULL);
    assert_int_equal(sim_test_end(&t, "a-1", 1), SECONDS(60));
    assert_int_equal(sim_test_start(&t, "a-2", 1), SECONDS(60));
    assert_int_equal(t.result.makespan, SECONDS(120));
    assert_int_equal(t.result.waits.count, 1); /* only the second one waited for its first start */
    assert_true(t.result.utilisation < 1.0001);
    sim_test_finish(&t);
}

TEST(a_workspace_is_free_when_the_run_that_locked_it_ends) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"workspaces\": {\"w\": \"a-1\"}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\", \"state\": \"running\", \"workspace\": \"w\"},"
                  "{\"id\": \"a-2\", \"workspace\": \"w\"}]}",
                  NULL, NULL);
    assert_int_equal(sim_test_start(&t, "a-2", 1), SECONDS(60));
    assert_int_equal(t.result.how, SIM_DRAINED);
    sim_test_finish(&t);
}

static const char review_queue[] =
    "{\"now\": 0, " MINUTE_RUNS ", \"tasks\": [{\"id\": \"a-1\", \"review\": true},"
    "{\"id\": \"a-2\", \"depends_on\": [\"a-1\"]}]}";

TEST(what_waits_for_a_person_stays_and_is_reported) {
    struct sim_test t;
    sim_test_play(&t, review_queue, NULL, NULL);
    assert_int_equal(t.result.how, SIM_STUCK);
    assert_int_equal(t.result.makespan, SECONDS(60));
    assert_int_equal(t.result.left_count, 2);
    assert_string_equal(t.result.left[0].code, "held:review");
    assert_string_equal(t.result.left[1].code, "dependency");
    assert_int_equal(t.result.left[1].count, 1);
    sim_test_finish(&t);
}

TEST(what_waits_for_a_person_is_approved_when_asked_for) {
    struct sim_test t;
    const struct sim_options options = { 1, DAYS(30), MINUTES(10), 0 };
    sim_test_play(&t, review_queue, NULL, &options);
    assert_int_equal(t.result.how, SIM_DRAINED);
    assert_int_equal(sim_test_start(&t, "a-2", 1), MINUTES(11));
    assert_int_equal(t.result.makespan, MINUTES(12));
    sim_test_finish(&t);
}

TEST(a_parent_that_is_done_leaves_what_its_children_need) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, " MINUTE_RUNS ", \"tasks\": [{\"id\": \"a-1\"},"
                  "{\"id\": \"a-2\", \"parent\": \"a-1\", \"artifact_present\": false}]}",
                  NULL, NULL);
    assert_int_equal(t.result.how, SIM_DRAINED);
    assert_int_equal(sim_test_start(&t, "a-2", 1), SECONDS(60));
    sim_test_finish(&t);
}

TEST(the_horizon_cuts_what_still_runs) {
    struct sim_test t;
    const struct sim_options options = { 1, SECONDS(90), TIME_NEVER, 0 };
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 1}}, " MINUTE_RUNS ","
                  "\"tasks\": [{\"id\": \"a-1\"}, {\"id\": \"a-2\"}, {\"id\": \"a-3\"}]}",
                  NULL, &options);
    assert_int_equal(t.result.how, SIM_HORIZON);
    assert_int_equal(t.result.makespan, SECONDS(90));
    assert_true(sim_test_run(&t, "a-2", 1)->live);
    assert_int_equal(sim_test_end(&t, "a-2", 1), SECONDS(90));
    assert_int_equal(t.result.tokens, 1000);
    assert_int_equal(t.result.left_count, 2);
    assert_string_equal(t.result.left[0].code, "running");
    assert_string_equal(t.result.left[1].code, "lease:runs");
    sim_test_finish(&t);
}

TEST(too_many_steps_end_the_simulation) {
    struct sim_test t;
    const struct sim_options options = { 1, DAYS(30), TIME_NEVER, 500 };
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"retry\": {\"failed\": {\"max\": \"unlimited\"}}},"
                  "\"tasks\": [{\"id\": \"a-1\", \"sim\": {\"duration_s\": 0,"
                  "\"failure_rate\": 1}}]}",
                  NULL, &options);
    assert_int_equal(t.result.how, SIM_STEPS);
    sim_test_finish(&t);
}

TEST(nothing_to_do_takes_no_time) {
    struct sim_test t;
    sim_test_play(&t, "{\"now\": 5, \"tasks\": [{\"id\": \"a-1\", \"state\": \"done\"}]}", NULL,
                  NULL);
    assert_int_equal(t.result.makespan, 0);
    assert_int_equal(t.result.tasks, 0);
    assert_int_equal(t.result.how, SIM_DRAINED);
    assert_true(t.result.utilisation < 0.0001);
    sim_test_finish(&t);
}

/* --- shares and random outcomes -------------------------------------------------------------- */

static char *two_projects(unsigned tasks, const char *weights[2]) {
    struct strbuf out = STRBUF_INIT;
    strbuf_printf(
        &out,
        "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 4}},"
        "\"projects\": [{\"id\": \"a\", \"weight\": %s}, {\"id\": \"b\", \"weight\": %s}],"
        "\"sim\": {\"kinds\": {\"*\": {\"duration_s\": [30, 90], \"tokens\": [500, "
        "1500], \"failure_rate\": 0.1}}}, \"tasks\": [",
        weights[0], weights[1]);
    for (unsigned i = 0; i < tasks; i++)
        strbuf_printf(&out,
                      "%s{\"id\": \"a-%u\", \"project\": \"a\"},"
                      "{\"id\": \"b-%u\", \"project\": \"b\"}",
                      i ? "," : "", i, i);
    strbuf_puts(&out, "]}");
    return strbuf_take(&out);
}

TEST(projects_get_tokens_three_to_one) {
    struct sim_test t;
    char *json = two_projects(400, (const char *[]){ "3", "1" });
    const struct sim_options options = { 1, HOURS(1), TIME_NEVER, 0 };
    sim_test_play(&t, json, NULL, &options);
    const struct sim_group_result *a = &t.result.projects[0];
    assert_true(a->target > 0.7499 && a->target < 0.7501);
    assert_true(a->share > 0.73 && a->share < 0.77);
    assert_true(a->contested_share > 0.73 && a->contested_share < 0.77);
    assert_true(a->contested_target > 0.7499 && a->contested_target < 0.7501);
    sim_test_finish(&t);
    /* to the end: both used the same in total, but not while they competed */
    sim_test_play(&t, json, NULL, NULL);
    assert_int_equal(t.result.how, SIM_DRAINED);
    a = &t.result.projects[0];
    assert_true(a->share > 0.45 && a->share < 0.55);
    assert_true(a->contested_share > 0.73 && a->contested_share < 0.77);
    assert_true(t.result.projects[0].mean_wait < t.result.projects[1].mean_wait);
    sim_test_finish(&t);
    free(json);
}

TEST(projects_without_weights_share_equally) {
    struct sim_test t;
    char *json = two_projects(100, (const char *[]){ "0", "0" });
    sim_test_play(&t, json, NULL, NULL);
    assert_true(t.result.projects[0].target > 0.4999 && t.result.projects[0].target < 0.5001);
    double target = t.result.projects[0].contested_target;
    assert_true(target > 0.4999 && target < 0.5001);
    sim_test_finish(&t);
    free(json);
}

TEST(the_same_seed_gives_the_same_bytes) {
    char *json = two_projects(60, (const char *[]){ "2", "1" });
    struct strbuf text[3] = { STRBUF_INIT, STRBUF_INIT, STRBUF_INIT };
    for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
        struct sim_test t;
        const struct sim_options options = { i < 2 ? 7 : 8, DAYS(30), TIME_NEVER, 0 };
        sim_test_play(&t, json, NULL, &options);
        report_json(&t.c, NULL, NULL, &text[i]);
        sim_test_finish(&t);
    }
    assert_string_equal(strbuf_text(&text[0]), strbuf_text(&text[1]));
    assert_string_not_equal(strbuf_text(&text[0]), strbuf_text(&text[2]));
    for (size_t i = 0; i < ARRAY_SIZE(text); i++)
        strbuf_finish(&text[i]);
    free(json);
}

TEST(another_setting_does_not_change_the_random_outcomes_of_a_task) {
    char *json = two_projects(60, (const char *[]){ "2", "1" });
    struct sim_test t, other;
    sim_test_play(&t, json, NULL, NULL);
    sim_test_play(&other, json, "limits.runs=17", NULL);
    assert_true(other.result.makespan < t.result.makespan);
    assert_int_equal(other.play.run_count, t.play.run_count);
    for (size_t i = 0; i < t.play.run_count; i++) {
        const struct sim_run *run = &t.play.runs[i];
        const char *name = snapshot_task_name(t.snapshot, run->task);
        const struct sim_run *same = sim_test_run(&other, name, run->attempt);
        assert_int_equal(same->end - same->start, run->end - run->start);
        assert_int_equal(same->tokens, run->tokens);
        assert_int_equal(same->outcome, run->outcome);
    }
    sim_test_finish(&other);
    sim_test_finish(&t);
    free(json);
}

/* --- what is coming -------------------------------------------------------------------------- */

#define HALF_HOURS "\"sim\": {\"kinds\": {\"*\": {\"duration_s\": 1800, \"tokens\": 1000}}}"
/* 1970-01-01 is a Thursday. */
#define NIGHT                                                                                      \
    "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 1}, \"timezone\": \"UTC\", \"projects\": "   \
    "{\"web\": {\"hours\": \"02:00-03:00\"}}}, " HALF_HOURS ", \"tasks\": ["                       \
    "{\"id\": \"a-1\", \"project\": \"web\"}, {\"id\": \"a-2\", \"project\": \"web\"},"            \
    "{\"id\": \"a-3\", \"project\": \"web\"}]}"

TEST(hours_open_and_close_during_a_play) {
    struct sim_test t;
    sim_test_play(&t, NIGHT, NULL, NULL);
    assert_int_equal(sim_test_start(&t, "a-1", 1), HOURS(2));
    assert_int_equal(sim_test_start(&t, "a-2", 1), HOURS(2) + MINUTES(30));
    assert_int_equal(sim_test_start(&t, "a-3", 1), HOURS(26)); /* the next night */
    assert_int_equal(t.result.how, SIM_DRAINED);
    assert_int_equal(t.result.makespan, HOURS(26) + MINUTES(30));
    sim_test_finish(&t);
}

TEST(other_hours_can_be_tried) {
    struct sim_test t;
    sim_test_play(&t, NIGHT, "projects.web.hours=fri", NULL);
    assert_int_equal(sim_test_start(&t, "a-1", 1), HOURS(24));
    assert_int_equal(sim_test_start(&t, "a-3", 1), HOURS(25));
    sim_test_finish(&t);
    sim_test_play(&t, NIGHT, "projects.web.hours=", NULL);
    assert_int_equal(sim_test_start(&t, "a-1", 1), 0);
    sim_test_finish(&t);
}

TEST(hours_of_an_idle_project_do_not_keep_a_play_going) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"config\": {\"timezone\": \"UTC\", \"projects\": {\"web\": "
                  "{\"hours\": \"02:00-03:00\"}, \"api\": {\"weight\": 1}}}, " HALF_HOURS
                  ", \"tasks\": [{\"id\": \"a-1\", \"project\": \"api\", \"state\": \"held\"}]}",
                  NULL, NULL);
    assert_int_equal(t.result.how, SIM_STUCK);
    sim_test_finish(&t);
}

/* Firings at 1:00, 1:10 and 2:00; each task takes half an hour. */
#define FIRINGS(overlap)                                                                           \
    "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 4}, \"schedules\": {\"nightly\": "           \
    "{\"overlap\": \"" overlap "\"}}}, " HALF_HOURS ", \"tasks\": ["                               \
    "{\"id\": \"c\", \"arrives_at\": 7200000, \"schedule\": \"nightly\"},"                         \
    "{\"id\": \"a\", \"arrives_at\": 3600000, \"schedule\": \"nightly\"},"                         \
    "{\"id\": \"b\", \"arrives_at\": 4200000, \"schedule\": \"nightly\"},"                         \
    "{\"id\": \"other\", \"arrives_at\": 4200000}]}"

TEST(tasks_arrive_and_overlap_as_their_schedule_says) {
    struct sim_test t;
    sim_test_play(&t, FIRINGS("skip"), NULL, NULL);
    assert_int_equal(sim_test_start(&t, "a", 1), HOURS(1));
    assert_int_equal(sim_test_start(&t, "c", 1), HOURS(2));
    assert_int_equal(sim_test_start(&t, "other", 1), MINUTES(70));
    assert_int_equal(t.play.run_count, 3); /* b is skipped */
    assert_int_equal(t.result.how, SIM_DRAINED);
    sim_test_finish(&t);
    sim_test_play(&t, FIRINGS("queue"), NULL, NULL);
    assert_int_equal(sim_test_start(&t, "b", 1), MINUTES(70));
    assert_int_equal(t.play.run_count, 4);
    assert_int_equal(t.result.by_state[TASK_DONE], 4);
    sim_test_finish(&t);
    sim_test_play(&t, FIRINGS("replace"), NULL, NULL);
    assert_int_equal(sim_test_start(&t, "b", 1), MINUTES(70));
    assert_int_equal(t.result.by_state[TASK_CANCELED], 1);
    assert_int_equal(t.result.by_state[TASK_DONE], 3);
    sim_test_finish(&t);
}

TEST(a_task_of_the_last_firing_is_open) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, " HALF_HOURS ", \"tasks\": [{\"id\": \"a\", \"schedule\": \"s\"},"
                  "{\"id\": \"b\", \"schedule\": \"s\", \"arrives_at\": 60000}]}",
                  NULL, NULL);
    assert_int_equal(t.play.run_count, 1);
    sim_test_finish(&t);
}
