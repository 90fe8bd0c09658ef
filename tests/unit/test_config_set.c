/* test_config_set.c: sets one value at a time, checks the messages, and what the core receives. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/time_ms.h"
#include "config/config.h"
#include "harness/test.h"

struct fixture {
    struct config *config;
    struct core *core;
};

static struct fixture f;

static int set_up(void **state) {
    (void)state;
    f.config = config_new();
    f.core = core_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    f.config = config_free(f.config);
    core_free(f.core);
    return 0;
}

static void set(const char *key, const char *value) {
    struct error err = { 0 };
    if (config_set(f.config, key, value, "test", &err) < 0)
        fail_msg("%s", err.text);
}

static void refused(const char *key, const char *value, const char *message) {
    struct error err = { 0 };
    assert_int_equal(config_set(f.config, key, value, "test", &err), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.text, message);
}

static const struct policy *policy(void) {
    return config_policy(f.config);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(spans_may_name_their_unit) {
    set("drain_s", "3s");
    assert_int_equal(config_number(f.config, "drain_s", NULL), SECONDS(3));
    set("drain_s", "1.5h");
    assert_int_equal(config_number(f.config, "drain_s", NULL), MINUTES(90));
    set("fair.window_h", "2d"); /* an explicit unit counts */
    assert_int_equal(policy()->fair_window, HOURS(48));
    struct error err = { 0 };
    assert_int_equal(config_set(f.config, "drain_s", "s", "test", &err), -EINVAL);
    assert_int_equal(config_set(f.config, "drain_s", "-3s", "test", &err), -EINVAL);
    assert_int_equal(config_set(f.config, "limits.runs", "3s", "test", &err), -EINVAL);
}

/* ---- messages ---- */

FIXTURE_TEST(each_type_says_what_it_expects) {
    refused("limits.runs", "many",
            "key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got "
            "'many'");
    refused("limits.runs", "-1",
            "key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got "
            "'-1'");
    refused("limits.runs", "1.5",
            "key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got "
            "'1.5'");
    refused("queue.soft", "few",
            "key 'queue.soft': expected a whole number from 0 to 1000000000, unlimited or auto, "
            "got 'few'");
    refused("score.age_max", "-1",
            "key 'score.age_max': expected a whole number from 0 to 1000000, got '-1'");
    refused("max_wait_s", "1y",
            "key 'max_wait_s': expected seconds from 1 to 315360000 (up to three decimals) or "
            "never, got '1y'");
    refused("drain_s", "never",
            "key 'drain_s': expected seconds from 0 to 315360000 (up to three decimals), got "
            "'never'");
    refused("fair.window_h", "0.0999",
            "key 'fair.window_h': expected hours from 0.1 to 87600 (up to three decimals), got "
            "'0.0999'");
    refused("retry.failed.factor", "0.999",
            "key 'retry.failed.factor': expected a number from 1 to 100 (up to three decimals), "
            "got '0.999'");
    refused("limiter.probe", "yes", "key 'limiter.probe': expected true or false, got 'yes'");
    refused("lost", "ignore", "key 'lost': expected one of fail, requeue, got 'ignore'");
    refused("agents.a.limiter", "",
            "key 'agents.a.limiter': expected a name of 1 to 128 bytes without control "
            "characters, got ''");
    refused("preset", "gasoline",
            "key 'preset': expected one of sluice, loopr, conductor, gastown, agency, "
            "agent-queue, got 'gasoline'");
}

FIXTURE_TEST(an_order_is_in_the_order_of_comparison) {
    static const char *const bad[] = {
        "score, priority", "score, score", "seq, score", "age", "", ",", "score;seq"
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char message[ERROR_TEXT_MAX];
        (void)snprintf(message, sizeof(message),
                       "key 'order': expected some of guarantee, deficit, position, overdue, "
                       "priority, score, enqueued_at, created_at, seq in this order, got '%s'",
                       bad[i]);
        refused("order", bad[i], message);
    }
    set("order", "seq");
    assert_int_equal(policy()->order, 0);
    set("order", " priority,score ,  seq");
    assert_int_equal(policy()->order, ORDER_BY_PRIORITY | ORDER_BY_SCORE);
    set("order", "guarantee deficit position overdue priority score enqueued_at created_at");
    assert_int_equal(policy()->order, 0xff);
}

FIXTURE_TEST(unknown_keys_name_the_nearest) {
    refused("limits.rnus", "1", "unknown key 'limits.rnus'; did you mean 'limits.runs'?");
    refused("kinds.plan.bas", "1", "unknown key 'kinds.plan.bas'; did you mean 'kinds.plan.base'?");
    refused("runs", "1", "unknown key 'runs'; did you mean 'limits.runs'?");
    refused("colour", "red", "unknown key 'colour'; 'sluice config keys' lists them");
    refused("", "red", "unknown key ''; 'sluice config keys' lists them");
    refused("limits", "1", "key 'limits': expected keys below it, got '1'");
}

FIXTURE_TEST(names_are_checked) {
    char key[200], name[130];
    memset(name, 'x', sizeof(name));
    name[128] = '\0';
    (void)snprintf(key, sizeof(key), "projects.%s.weight", name);
    set(key, "1");
    name[128] = 'x';
    name[129] = '\0';
    (void)snprintf(key, sizeof(key), "projects.%s.weight", name);
    assert_int_equal(config_set(f.config, key, "1", "test", NULL), -EINVAL);
    refused("kinds..base", "1",
            "key 'kinds..base': expected a name of 1 to 128 bytes without control characters");
    refused("kinds.a\nb.base", "1",
            "key 'kinds.a?b.base': expected a name of 1 to 128 bytes without control characters");
    refused("kinds. .base", "1",
            "key 'kinds. .base': expected a name of 1 to 128 bytes without control characters");
    assert_int_equal(config_project_count(f.config), 1);
}

FIXTURE_TEST(long_and_wild_values_stay_readable) {
    char value[300];
    memset(value, 'y', sizeof(value));
    value[1] = '\033';
    value[299] = '\0';
    struct error err = { 0 };
    assert_int_equal(config_set(f.config, "limits.runs", value, "test", &err), -EINVAL);
    assert_null(strchr(err.text, '\033'));
    assert_non_null(strstr(err.text, "got 'y?yy"));
    assert_non_null(strstr(err.text, "...'"));
}

FIXTURE_TEST(a_refused_value_changes_nothing) {
    set("limits.runs", "3");
    assert_true(config_set(f.config, "limits.runs", "x", "test", NULL) < 0);
    assert_true(config_set(f.config, "projects.web.weight", "x", "test", NULL) < 0);
    assert_true(config_set(f.config, "preset", "x", "test", NULL) < 0);
    assert_int_equal(policy()->runs, 3);
    assert_int_equal(config_project_count(f.config), 0);
}

/* ---- values ---- */

FIXTURE_TEST(spans_have_fractions_to_the_millisecond) {
    set("pace.spawn_delay_s", "0.25");
    assert_int_equal(policy()->pace.spawn_delay, 250);
    set("pace.spawn_delay_s", "1.001");
    assert_int_equal(policy()->pace.spawn_delay, 1001);
    set("fair.window_h", "1.5");
    assert_int_equal(policy()->fair_window, MINUTES(90));
    set("max_wait_s", "never");
    assert_int_equal(policy()->max_wait, TIME_NEVER);
    set("retry.failed.jitter", "0.25");
    assert_int_equal(policy()->retry[RETRY_FAILED].jitter_milli, 250);
    set("host.load", "3.5");
    assert_int_equal(policy()->host.load_max_milli, 3500);
    set("host.disk_free_gb", "20");
    assert_int_equal(policy()->host.disk_min_mb, 20000);
}

FIXTURE_TEST(words_reach_their_fields) {
    set("retry.launch.as", "failed");
    assert_true(policy()->launch_is_failed);
    set("loop.count", "launches");
    assert_true(policy()->count_launches);
    set("loop.failed", "unfinished");
    assert_true(policy()->failed_is_unfinished);
    set("lost", "fail");
    assert_false(policy()->lost_requeue);
    set("dependencies.on_failure", "fail");
    assert_true(policy()->dependency_fails);
    set("drain_children", "active");
    assert_true(policy()->drain_active_only);
    set("tasks.parallelizable", "false");
    assert_true(policy()->serial);
    set("tasks.parent_gate", "none");
    assert_int_equal(policy()->parent_gate, PARENT_NONE);
    set("fair.mode", "document");
    assert_int_equal(policy()->fair, FAIR_DOCUMENT);
    set("fair.guarantee", "completion");
    assert_int_equal(policy()->guarantee, GUARANTEE_COMPLETION);
}

FIXTURE_TEST(breaker_max_is_the_launch_row) {
    set("breaker.max", "7");
    assert_int_equal(policy()->retry[RETRY_LAUNCH].max, 7);
    assert_true(config_set(f.config, "retry.launch.max", "7", "test", NULL) < 0);
    set("breaker.reset_s", "never");
    assert_int_equal(policy()->breaker.reset, TIME_NEVER);
}

FIXTURE_TEST(a_delay_is_never_cut_by_a_smaller_cap) {
    set("retry.unfinished.delay_s", "5"); /* its cap is 1 s by default */
    assert_int_equal(policy()->retry[RETRY_UNFINISHED].cap, SECONDS(5));
    set("retry.launch.delay_s", "2");
    assert_int_equal(policy()->retry[RETRY_LAUNCH].cap, SECONDS(2));
    set("retry.unfinished.delay_s", "0.5");
    assert_int_equal(policy()->retry[RETRY_UNFINISHED].cap, SECONDS(1));
}

/* ---- named things ---- */

FIXTURE_TEST(projects_come_in_the_order_of_their_first_mention) {
    set("projects.web.weight", "2.5");
    set("projects.api.max_running", "3");
    set("projects.web.budget", "1000");
    assert_int_equal(config_project_count(f.config), 2);
    assert_string_equal(config_project_name(f.config, 0), "web");
    assert_string_equal(config_project_name(f.config, 1), "api");
}

FIXTURE_TEST(f012_projects_have_weight_caps_and_status) {
    struct project_spec spec;
    config_project_spec(f.config, f.core, "anything", &spec);
    assert_int_equal(spec.weight_milli, 1000);
    assert_int_equal(spec.max_running, UNLIMITED);
    assert_int_equal(spec.budget, UNLIMITED);
    assert_int_equal(spec.workspaces, UNLIMITED);
    assert_int_equal(spec.review, UNLIMITED);
    assert_true(spec.active);
    assert_false(spec.paused);
    assert_false(spec.workspaces_kept);
    set("projects.web.weight", "2.5");
    set("projects.web.max_running", "3");
    set("projects.web.budget", "1000");
    set("projects.web.active", "false");
    set("projects.web.paused", "true");
    set("projects.web.workspaces", "4");
    set("projects.web.workspace_mode", "worktree");
    set("projects.web.review", "2");
    config_project_spec(f.config, f.core, "web", &spec);
    assert_string_equal(symbol_name(core_symbols(f.core), spec.id), "web");
    assert_int_equal(spec.weight_milli, 2500);
    assert_int_equal(spec.max_running, 3);
    assert_int_equal(spec.budget, 1000);
    assert_false(spec.active);
    assert_true(spec.paused);
    assert_int_equal(spec.workspaces, 4);
    assert_true(spec.workspaces_kept);
    assert_int_equal(spec.review, 2);
}

FIXTURE_TEST(kinds_inherit_what_they_do_not_say) {
    struct kind_spec spec;
    set("score.base", "70");
    set("tasks.until", "done");
    set("kinds.own.until", "external");
    config_kind_spec(f.config, f.core, "own", &spec);
    assert_int_equal(spec.base, 70);
    assert_int_equal(spec.max_running, UNLIMITED);
    assert_int_equal(config_until(f.config, "own"), UNTIL_EXTERNAL);
    assert_int_equal(config_until(f.config, "other"), UNTIL_DONE);
    assert_int_equal(config_until(f.config, NULL), UNTIL_DONE);
}

FIXTURE_TEST(limiters_inherit_what_they_do_not_say) {
    struct limiter_spec spec;
    set("limiter.max_s", "90");
    set("limiters.anthropic.max_running", "3");
    set("limiters.anthropic.probe", "false");
    config_limiter_spec(f.config, f.core, "anthropic", &spec);
    assert_int_equal(spec.policy.max_running, 3);
    assert_int_equal(spec.policy.initial, SECONDS(5));
    assert_int_equal(spec.policy.max, SECONDS(90));
    assert_false(spec.policy.probe);
    assert_int_equal(spec.backoff_until, 0);
    assert_false(spec.closed);
    config_limiter_spec(f.config, f.core, "openai", &spec);
    assert_int_equal(spec.policy.max_running, 10);
    assert_true(spec.policy.probe);
}

FIXTURE_TEST(agents_name_their_limiter) {
    struct agent_spec spec;
    set("agents.claude.slots", "2");
    set("agents.claude.limiter", "me@example.com");
    set("agents.claude.roster", "true");
    config_agent_spec(f.config, f.core, "claude", &spec);
    assert_int_equal(spec.slots, 2);
    assert_string_equal(symbol_name(core_symbols(f.core), spec.limiter), "me@example.com");
    assert_true(spec.roster);
    assert_true(spec.idle);
    config_agent_spec(f.config, f.core, "other", &spec);
    assert_int_equal(spec.slots, UNLIMITED);
    assert_int_equal(spec.limiter, 0);
    assert_false(spec.roster);
}

FIXTURE_TEST(agents_name_who_takes_over) {
    struct agent_spec spec;
    set("agents.claude.failover", "codex gemini");
    config_agent_spec(f.config, f.core, "claude", &spec);
    assert_int_equal(spec.failover_count, 2);
    assert_string_equal(symbol_name(core_symbols(f.core), spec.failover[1]), "gemini");
    config_agent_spec(f.config, f.core, "codex", &spec);
    assert_int_equal(spec.failover_count, 0);
}

/* As with `limiter.*`, which applies to every account: one that is only named has all defaults. */
FIXTURE_TEST(a_limiter_that_an_agent_names_is_known) {
    struct error err = { 0 };
    set("agents.claude.limiter", "anthropic");
    assert_true(config_has_limiter(f.config, "anthropic"));
    if (config_apply(f.config, f.core, &err) < 0)
        fail_msg("%s", err.text);
    amount used, cap;
    sym symbol = symbol_find(core_symbols(f.core), "anthropic", strlen("anthropic"));
    assert_true(core_lease(f.core, LEASE_LIMITER, symbol, &used, &cap));
    assert_int_equal(cap, 10);
}

static void assert_cap(enum lease_kind kind, const char *name, amount expected) {
    amount used, cap;
    sym symbol = name ? symbol_find(core_symbols(f.core), name, strlen(name)) : 0;
    assert_true(core_lease(f.core, kind, symbol, &used, &cap));
    assert_int_equal(cap, expected);
}

FIXTURE_TEST(the_core_gets_everything_that_has_a_name) {
    set("preset", "loopr");
    set("limits.runs", "7");
    set("limits.resource.gpu", "1");
    set("limiters.anthropic.max_running", "3");
    set("agents.claude.slots", "2");
    set("agents.claude.limiter", "anthropic");
    set("projects.web.max_running", "4");
    struct error err = { 0 };
    if (config_apply(f.config, f.core, &err) < 0)
        fail_msg("%s", err.text);
    assert_cap(LEASE_RUNS, NULL, 7);
    assert_cap(LEASE_RESOURCE, "gpu", 1);
    assert_cap(LEASE_KIND, "plan", 2);
    assert_cap(LEASE_KIND, "ralph", 50);
    assert_cap(LEASE_LIMITER, "anthropic", 3);
    assert_cap(LEASE_AGENT, "claude", 2);
    assert_cap(LEASE_PROJECT, "web", 4);
}
