/* test_config_presets.c: each preset has the numbers of the scheduler that it reproduces.
 *
 * A test with a number (f050_…) covers that row of the list of capabilities. */
#include <string.h>

#include "base/macros.h"
#include "base/time_ms.h"
#include "config/config.h"
#include "config/config_show.h"
#include "config/presets.h"
#include "harness/test.h"

static void config_done(struct config **config) {
    config_free(*config);
}

#define PRESET(variable, name) _cleanup_(config_done) struct config *variable = with_preset(name)

static struct config *with_preset(const char *name) {
    struct config *config = config_new();
    assert_int_equal(config_set(config, "preset", name, "test", NULL), 0);
    assert_string_equal(config_preset(config), name);
    return config;
}

static void core_done(struct core **core) {
    core_free(*core);
}

static struct kind_spec kind_of(const struct config *config, const char *name) {
    _cleanup_(core_done) struct core *core = core_new();
    struct kind_spec kind;
    config_kind_spec(config, core, name, &kind);
    return kind;
}

static void assert_retry(const struct retry_policy *retry, amount max, time_ms delay,
                         int64_t factor_milli, time_ms cap, int64_t jitter_milli) {
    assert_int_equal(retry->max, max);
    assert_int_equal(retry->delay, delay);
    assert_int_equal(retry->factor_milli, factor_milli);
    assert_int_equal(retry->cap, cap);
    assert_int_equal(retry->jitter_milli, jitter_milli);
}

static void assert_same_retry(const struct retry_policy *a, const struct retry_policy *b) {
    assert_retry(a, b->max, b->delay, b->factor_milli, b->cap, b->jitter_milli);
}

/* ---- sluice ---- */

#define SAME(field) assert_int_equal(a->field, b.field)

TEST(a_new_config_is_the_default_policy) {
    _cleanup_(config_done) struct config *config = config_new();
    const struct policy *a = config_policy(config);
    struct policy b;
    policy_default(&b);
    SAME(order);
    SAME(fair);
    SAME(fair_window);
    SAME(guarantee);
    SAME(run_tokens);
    SAME(budget_counts_reserved);
    SAME(max_wait);
    SAME(score.age_per_minute);
    SAME(score.age_max);
    SAME(score.per_depth);
    SAME(score.per_retry);
    SAME(score.retry_max);
    SAME(score.base);
    SAME(runs);
    SAME(roots);
    for (int i = 0; i < RETRY_CLASS_MAX; i++)
        assert_same_retry(&a->retry[i], &b.retry[i]);
    SAME(count_launches);
    SAME(failed_is_unfinished);
    SAME(launch_is_failed);
    SAME(lost_requeue);
    SAME(breaker.reset);
    SAME(breaker.reset_max);
    SAME(breaker.agent_max);
    SAME(pace.batch);
    SAME(pace.spawn_delay);
    SAME(pace.tick);
    SAME(queue.soft);
    SAME(queue.hard);
    SAME(host.disk_min_mb);
    SAME(host.memory_min_mb);
    SAME(host.load_max_milli);
    SAME(drain);
    SAME(drain_active_only);
    SAME(dependency_fails);
    SAME(until);
    SAME(parent_gate);
    SAME(serial);
    SAME(limiter.max_running);
    SAME(limiter.initial);
    SAME(limiter.max);
    SAME(limiter.recovery);
    SAME(limiter.probe);
    SAME(limiter.any_success);
}

TEST(sluice_takes_the_best_of_each) {
    _cleanup_(config_done) struct config *config = config_new();
    const struct policy *p = config_policy(config);
    assert_string_equal(config_preset(config), "sluice");
    assert_int_equal(p->order, ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_OVERDUE
                                   | ORDER_BY_PRIORITY | ORDER_BY_SCORE | ORDER_BY_CREATED);
    assert_int_equal(p->fair, FAIR_RESERVE);
    assert_int_equal(p->guarantee, GUARANTEE_START);
    assert_int_equal(p->fair_window, HOURS(24));
    assert_int_equal(p->max_wait, HOURS(1));
    assert_int_equal(p->runs, 8);
    assert_int_equal(p->until, UNTIL_EXIT);
    assert_int_equal(p->queue.soft, 100000);
    assert_int_equal(p->queue.hard, 2000000);
    assert_int_equal(p->host.disk_min_mb, 5000);
    assert_int_equal(p->breaker.reset, MINUTES(30));
    assert_int_equal(p->breaker.reset_max, HOURS(24));
    assert_int_equal(p->breaker.agent_max, 5);
    assert_true(p->lost_requeue);
    assert_retry(&p->retry[RETRY_UNFINISHED], 100, SECONDS(1), 1000, SECONDS(1), 0);
    assert_retry(&p->retry[RETRY_FAILED], 5, SECONDS(30), 2000, SECONDS(300), 100);
    assert_int_equal(p->retry[RETRY_LAUNCH].max, 3);
    assert_int_equal(p->retry[RETRY_LOST].max, 3);
    assert_int_equal(config_budget(config), UNLIMITED);
    assert_int_equal(kind_of(config, "plan").max_running, UNLIMITED);
}

TEST(f074_default_backoff_5_to_120_recovery_30) {
    _cleanup_(config_done) struct config *config = config_new();
    const struct limiter_policy *l = &config_policy(config)->limiter;
    assert_int_equal(l->max_running, 10);
    assert_int_equal(l->initial, SECONDS(5));
    assert_int_equal(l->max, SECONDS(120));
    assert_int_equal(l->recovery, SECONDS(30));
    assert_true(l->probe);
    assert_false(l->any_success);
}

TEST(f028_base_priority_by_kind) {
    PRESET(loopr, "loopr");
    assert_int_equal(kind_of(loopr, "plan").base, 40);
    assert_int_equal(kind_of(loopr, "spec").base, 60);
    assert_int_equal(kind_of(loopr, "phase").base, 80);
    assert_int_equal(kind_of(loopr, "ralph").base, 100);
    assert_int_equal(kind_of(loopr, "anything").base, 100);
}

TEST(the_default_preset_knows_no_kind_of_another_system) {
    PRESET(sluice, "sluice");
    assert_int_equal(config_kind_count(sluice), 0);
    assert_int_equal(kind_of(sluice, "plan").base, 100);
}

TEST(f029_f030_f031_score_numbers) {
    PRESET(config, "loopr");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->score.age_per_minute, 1);
    assert_int_equal(p->score.age_max, 50);
    assert_int_equal(p->score.per_depth, 10);
    assert_int_equal(p->score.per_retry, 5);
    assert_int_equal(p->score.retry_max, 30);
}

/* ---- loopr ---- */

static void assert_not_fair(const struct policy *p) {
    assert_int_equal(p->fair, FAIR_OFF);
    assert_int_equal(p->guarantee, GUARANTEE_OFF);
    assert_int_equal(p->max_wait, TIME_NEVER);
}

TEST(loopr_orders_by_score_and_repeats_until_valid) {
    PRESET(config, "loopr");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->order, ORDER_BY_SCORE | ORDER_BY_CREATED);
    assert_not_fair(p);
    assert_int_equal(p->until, UNTIL_VALIDATE);
    assert_int_equal(config_until(config, "plan"), UNTIL_VALIDATE);
    assert_int_equal(config_until(config, "anything"), UNTIL_VALIDATE);
    assert_int_equal(p->parent_gate, PARENT_DONE);
    assert_int_equal(p->queue.soft, UNLIMITED);
    assert_int_equal(p->queue.hard, UNLIMITED);
}

TEST(f048_loopr_runs_50) {
    PRESET(config, "loopr");
    assert_int_equal(config_policy(config)->runs, 50);
    /* 0 slots: nothing runs */
    assert_int_equal(config_set(config, "limits.runs", "0", "test", NULL), 0);
    assert_int_equal(config_policy(config)->runs, 0);
}

TEST(f049_loopr_10_api_calls) {
    PRESET(config, "loopr");
    assert_int_equal(config_policy(config)->limiter.max_running, 10);
}

TEST(f050_loopr_caps_by_kind) {
    PRESET(config, "loopr");
    assert_int_equal(kind_of(config, "plan").max_running, 2);
    assert_int_equal(kind_of(config, "spec").max_running, 5);
    assert_int_equal(kind_of(config, "phase").max_running, 20);
    assert_int_equal(kind_of(config, "ralph").max_running, 50);
    assert_int_equal(kind_of(config, "anything").max_running, UNLIMITED);
}

TEST(f067_loopr_disk_floor) {
    PRESET(config, "loopr");
    assert_int_equal(config_policy(config)->host.disk_min_mb, 5000);
    assert_int_equal(config_set(config, "host.disk_free_gb", "0.5", "test", NULL), 0);
    assert_int_equal(config_policy(config)->host.disk_min_mb, 500);
}

TEST(f071_f072_loopr_backoff_2_to_64_and_any_success_clears) {
    PRESET(config, "loopr");
    const struct limiter_policy *l = &config_policy(config)->limiter;
    assert_int_equal(l->initial, SECONDS(2));
    assert_int_equal(l->max, SECONDS(64));
    assert_int_equal(l->recovery, 0);
    assert_false(l->probe);
    assert_true(l->any_success);
}

TEST(f087_loopr_tick_1_s) {
    PRESET(config, "loopr");
    assert_int_equal(config_policy(config)->pace.tick, SECONDS(1));
    assert_int_equal(config_policy(config)->pace.batch, UNLIMITED);
}

TEST(f162_loopr_loops_sink_but_never_drop_out) {
    PRESET(config, "loopr");
    const struct retry_policy *retry = &config_policy(config)->retry[RETRY_UNFINISHED];
    assert_int_equal(retry->max, UNLIMITED);
    assert_int_equal(retry->delay, 0);
}

/* ---- conductor ---- */

TEST(conductor_takes_tasks_as_they_come) {
    PRESET(config, "conductor");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->order, 0); /* seq alone */
    assert_not_fair(p);
    assert_int_equal(p->until, UNTIL_DONE);
    assert_int_equal(p->parent_gate, PARENT_NONE);
    assert_true(p->lost_requeue);
    assert_int_equal(p->retry[RETRY_LOST].delay, SECONDS(5));
    assert_int_equal(p->retry[RETRY_LOST].max, 100);
}

TEST(f051_f052_conductor_numbers_up_to_0_mean_unlimited) {
    static const char *const numbers[] = { "0", "-1", "-7", "-9223372036854775808", "unlimited" };
    PRESET(config, "conductor");
    assert_int_equal(config_policy(config)->runs, UNLIMITED);
    assert_int_equal(config_policy(config)->roots, UNLIMITED);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        assert_int_equal(config_set(config, "limits.runs", "3", "test", NULL), 0);
        assert_int_equal(config_set(config, "limits.roots", "4", "test", NULL), 0);
        assert_int_equal(config_policy(config)->runs, 3);
        assert_int_equal(config_policy(config)->roots, 4);
        assert_int_equal(config_set(config, "limits.runs", numbers[i], "test", NULL), 0);
        assert_int_equal(config_set(config, "limits.roots", numbers[i], "test", NULL), 0);
        assert_int_equal(config_policy(config)->runs, UNLIMITED);
        assert_int_equal(config_policy(config)->roots, UNLIMITED);
    }
    assert_true(config_set(config, "kinds.plan.max_running", "-1", "test", NULL) < 0);
}

TEST(f076_conductor_100_launches_1_s_apart) {
    PRESET(config, "conductor");
    const struct policy *p = config_policy(config);
    assert_retry(&p->retry[RETRY_UNFINISHED], 100, SECONDS(1), 1000, SECONDS(1), 0);
    assert_true(p->count_launches);
    assert_true(p->failed_is_unfinished);
}

TEST(f078_conductor_drains_active_children_300_s) {
    PRESET(config, "conductor");
    assert_int_equal(config_policy(config)->drain, SECONDS(300));
    assert_true(config_policy(config)->drain_active_only);
}

/* ---- gastown ---- */

TEST(gastown_is_first_come_first_served) {
    PRESET(config, "gastown");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->order, ORDER_BY_CREATED);
    assert_not_fair(p);
    assert_int_equal(p->until, UNTIL_EXIT);
}

TEST(f055_gastown_0_and_minus_1_are_direct) {
    PRESET(config, "gastown");
    assert_int_equal(config_policy(config)->runs, UNLIMITED);
    assert_int_equal(config_set(config, "limits.runs", "5", "test", NULL), 0);
    assert_int_equal(config_policy(config)->runs, 5);
    assert_int_equal(config_set(config, "limits.runs", "-1", "test", NULL), 0);
    assert_int_equal(config_policy(config)->runs, UNLIMITED);
    assert_int_equal(config_set(config, "limits.runs", "0", "test", NULL), 0);
    assert_int_equal(config_policy(config)->runs, UNLIMITED);
    assert_true(config_set(config, "limits.runs", "-2", "test", NULL) < 0);
    assert_int_equal(config_set(config, "limits.roots", "0", "test", NULL), 0);
    assert_int_equal(config_policy(config)->roots, 0);
    assert_true(config_set(config, "limits.roots", "-1", "test", NULL) < 0);
}

TEST(f057_f088_gastown_one_start_every_180_s) {
    PRESET(config, "gastown");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->pace.batch, 1);
    assert_int_equal(p->pace.spawn_delay, 0);
    assert_int_equal(p->pace.tick, SECONDS(180));
}

TEST(f084_gastown_breaker_3_without_reset) {
    PRESET(config, "gastown");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->retry[RETRY_LAUNCH].max, 3);
    assert_int_equal(p->retry[RETRY_LAUNCH].delay, 0);
    assert_int_equal(p->breaker.reset, TIME_NEVER);
    assert_false(p->launch_is_failed);
}

TEST(negative_numbers_are_no_caps_elsewhere) {
    static const char *const others[] = { "sluice", "loopr", "agency", "agent-queue" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        PRESET(config, others[i]);
        assert_int_equal(config_set(config, "limits.runs", "0", "test", NULL), 0);
        assert_int_equal(config_policy(config)->runs, 0);
        assert_true(config_set(config, "limits.runs", "-1", "test", NULL) < 0);
        assert_true(config_set(config, "limits.roots", "-1", "test", NULL) < 0);
    }
}

/* ---- agency ---- */

TEST(f058_agency_one_run_and_one_per_kind) {
    PRESET(config, "agency");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->order, ORDER_BY_ENQUEUED);
    assert_not_fair(p);
    assert_int_equal(p->runs, 1);
    assert_int_equal(kind_of(config, "implement").max_running, 1);
    assert_int_equal(kind_of(config, "review").max_running, 1);
    assert_int_equal(kind_of(config, "research").max_running, 1);
    assert_int_equal(kind_of(config, "implement").base, 100);
}

TEST(f061_agency_serial_by_default) {
    PRESET(agency, "agency");
    PRESET(sluice, "sluice");
    assert_true(config_policy(agency)->serial);
    assert_false(config_policy(sluice)->serial);
}

TEST(f068_f069_agency_queue_limits_follow_the_runs) {
    PRESET(config, "agency");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->queue.soft, 8); /* 4, but at least 8 */
    assert_int_equal(p->queue.hard, 16);
    assert_int_equal(config_set(config, "limits.runs", "10", "test", NULL), 0);
    assert_int_equal(p->queue.soft, 40);
    assert_int_equal(p->queue.hard, 80);
    assert_int_equal(config_set(config, "queue.soft", "7", "test", NULL), 0);
    assert_int_equal(p->queue.hard, 14);
    assert_int_equal(config_set(config, "queue.soft", "auto", "test", NULL), 0);
    assert_int_equal(config_set(config, "limits.runs", "unlimited", "test", NULL), 0);
    assert_int_equal(p->queue.soft, UNLIMITED);
    assert_int_equal(p->queue.hard, UNLIMITED);
}

TEST(f079_agency_backoff_30_s_doubling_to_300_s) {
    PRESET(config, "agency");
    assert_retry(&config_policy(config)->retry[RETRY_FAILED], 5, SECONDS(30), 2000, SECONDS(300),
                 100);
}

TEST(f083_agency_launch_failure_takes_the_same_backoff) {
    PRESET(config, "agency");
    assert_true(config_policy(config)->launch_is_failed);
}

TEST(f112_agency_lost_runs_fail) {
    PRESET(config, "agency");
    assert_false(config_policy(config)->lost_requeue);
}

/* ---- agent-queue ---- */

TEST(f038_f039_f041_agent_queue_order) {
    PRESET(config, "agent-queue");
    const struct policy *p = config_policy(config);
    assert_int_equal(p->order,
                     ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_POSITION | ORDER_BY_PRIORITY);
    assert_int_equal(p->fair, FAIR_DOCUMENT);
    assert_int_equal(p->guarantee, GUARANTEE_COMPLETION);
    assert_int_equal(p->max_wait, TIME_NEVER);
    assert_int_equal(p->runs, UNLIMITED);
    assert_int_equal(p->until, UNTIL_EXIT);
}

TEST(f043_agent_queue_window_24_h) {
    PRESET(config, "agent-queue");
    assert_int_equal(config_policy(config)->fair_window, HOURS(24));
}

TEST(f064_agent_queue_budgets_count_what_was_used) {
    PRESET(config, "agent-queue");
    assert_false(config_policy(config)->budget_counts_reserved);
    assert_int_equal(config_budget(config), UNLIMITED);
    assert_int_equal(config_set(config, "budget", "0", "test", NULL), 0);
    assert_int_equal(config_budget(config), 0);
}

/* ---- all ---- */

TEST(a_preset_replaces_what_was_set_before) {
    PRESET(config, "loopr");
    assert_int_equal(config_set(config, "limits.runs", "3", "test", NULL), 0);
    assert_int_equal(config_set(config, "projects.web.weight", "2", "test", NULL), 0);
    assert_int_equal(config_set(config, "preset", "agency", "test", NULL), 0);
    assert_int_equal(config_policy(config)->runs, 1);
    assert_int_equal(config_project_count(config), 0);
    assert_int_equal(kind_of(config, "plan").base, 100);
}

TEST(every_preset_is_the_same_from_every_other) {
    for (size_t i = 0; i < presets_count; i++)
        for (size_t k = 0; k < presets_count; k++) {
            PRESET(direct, presets[i].name);
            PRESET(detour, presets[k].name);
            assert_int_equal(config_set(detour, "preset", presets[i].name, "test", NULL), 0);
            _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
            config_show(direct, false, &a);
            config_show(detour, false, &b);
            assert_string_equal(strbuf_text(&a), strbuf_text(&b));
        }
}
