/* test_part_quotas.c: when the use of an account is an event, without the rest of the engine. */
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "harness/test.h"
#include "part_kit.h"

#define LIMITER "account"

static struct live_run run = { .task = 1 };

/* A live run of an agent with an account, of which 20 % is reserved. */
static void begin(struct part_kit *kit) {
    part_kit_new(kit, &quotas_part, PART_quotas);
    part_kit_set(kit, "limiters." LIMITER ".reserve", "20");
    part_kit_set(kit, "agents.bot.limiter", LIMITER);
    part_kit_step(kit, STEP_LOADED);
    struct symbol_table *symbols = core_symbols(kit->engine.core);
    struct task_spec spec = { .id = 1,
                              .project = symbol_intern(symbols, "web", 3),
                              .agent = symbol_intern(symbols, "bot", 3),
                              .created_at = kit->engine.now,
                              .ready_since = kit->engine.now,
                              .iteration = 1,
                              .state = TASK_WAITING,
                              .retry_max = -1 };
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    assert_int_equal(engine_apply(&kit->engine, &fact, NULL), 0);
    assert_int_equal(part_kit_decide(kit), 1);
    part_log.events = 0;
}

static struct limiter_view account(const struct part_kit *kit) {
    struct limiter_view view = { 0 };
    struct symbol_table *symbols = core_symbols(kit->engine.core);
    assert_true(
        core_limiter(kit->engine.core, symbol_find(symbols, LIMITER, strlen(LIMITER)), &view));
    return view;
}

static void report(struct part_kit *kit, int32_t used_milli, time_ms left) {
    struct agent_quota quota[AGENT_WINDOW_MAX] = { 0 };
    quota[AGENT_WINDOW_FIVE_HOUR] =
        (struct agent_quota){ true, used_milli, left ? loop_now(kit->engine.loop) + left : 0 };
    quota_report(&kit->engine, &run, quota);
    (void)part_kit_decide(kit);
}

static void pass_to(struct part_kit *kit, time_ms now) {
    kit->engine.now = now;
    assert_int_equal(
        core_apply(kit->engine.core, &(struct fact){ .kind = FACT_CLOCK, .now = now }, NULL), 0);
    part_kit_step(kit, STEP_BEFORE_DECIDE);
}

static void expect_event(unsigned count, const char *data) {
    assert_int_equal(part_log.events, count);
    assert_string_equal(part_log.event_kind, "limiter.used");
    if (!strstr(part_log.event_data, data))
        fail_msg("expected '%s' in: %s", data, part_log.event_data);
}

TEST(a_whole_percent_is_an_event_and_less_is_none) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 410, HOURS(2));
    expect_event(1, "\"window\":\"five_hour\",\"used\":41,\"reserve\":20,\"resets_at\":");
    report(&kit, 414, HOURS(2));
    expect_event(1, "\"used\":41");
    report(&kit, 300, HOURS(2)); /* late */
    expect_event(1, "\"used\":41");
    report(&kit, 421, HOURS(2));
    expect_event(2, "\"used\":42");
    assert_non_null(strstr(part_log.event_data, "\"reserved\":false"));
    part_kit_free(&kit);
}

TEST(the_gate_closes_with_an_event_and_opens_with_one_when_the_window_ends) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 820, HOURS(2));
    expect_event(1, "\"used\":82,\"reserve\":20");
    assert_non_null(strstr(part_log.event_data, "\"reserved\":true"));
    time_ms end = account(&kit).reserved_until;
    assert_in_range(end, kit.engine.now + HOURS(2) - 1000, kit.engine.now + HOURS(2) + 1000);
    pass_to(&kit, end - 1);
    assert_int_equal(part_log.events, 1);
    pass_to(&kit, end);
    expect_event(2, "\"used\":0,\"reserve\":20,\"reserved\":false");
    pass_to(&kit, end + 1);
    assert_int_equal(part_log.events, 2);
    part_kit_free(&kit);
}

TEST(what_was_stored_is_no_news_after_a_restart) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 820, HOURS(2));
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_step(&kit, STEP_LOADED);
    report(&kit, 820, HOURS(2)); /* the log is read again */
    assert_int_equal(part_log.events, 1);
    pass_to(&kit, account(&kit).reserved_until);
    expect_event(2, "\"reserved\":false");
    part_kit_free(&kit);
}

TEST(an_end_that_was_guessed_is_corrected_by_one_that_is_reported) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 820, 0);
    assert_int_equal(account(&kit).reserved_until, kit.engine.now + HOURS(5));
    report(&kit, 810, HOURS(2));
    time_ms end = account(&kit).reserved_until;
    assert_in_range(end, kit.engine.now + HOURS(2) - 1000, kit.engine.now + HOURS(2) + 1000);
    report(&kit, 830, HOURS(1)); /* late: the end that is known was reported */
    assert_int_equal(account(&kit).reserved_until, end);
    part_kit_free(&kit);
}

TEST(an_end_that_was_guessed_is_one_after_a_restart) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 820, 0);
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    part_kit_step(&kit, STEP_LOADED);
    report(&kit, 830, HOURS(2));
    time_ms end = account(&kit).reserved_until;
    assert_in_range(end, kit.engine.now + HOURS(2) - 1000, kit.engine.now + HOURS(2) + 1000);
    part_kit_free(&kit);
}

TEST(another_reserve_and_clearing_are_events) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 500, HOURS(2));
    part_log.events = 0;
    part_kit_set(&kit, "limiters." LIMITER ".reserve", "60");
    part_kit_step(&kit, STEP_CONFIGURED);
    assert_true(part_log.events > 0);
    assert_true(account(&kit).reserved_until > 0);
    part_log.events = 0;
    struct fact fact = { .kind = FACT_LIMITER_CLEAR };
    fact.limiter_clear = symbol_find(core_symbols(kit.engine.core), LIMITER, strlen(LIMITER));
    assert_int_equal(engine_apply(&kit.engine, &fact, NULL), 0);
    (void)part_kit_decide(&kit);
    assert_true(part_log.events > 0);
    assert_int_equal(account(&kit).reserved_until, 0);
    part_kit_free(&kit);
}

TEST(a_window_never_ends_later_than_its_length_from_now) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 820, DAYS(900));
    assert_int_equal(account(&kit).reserved_until, kit.engine.now + HOURS(5));
    part_kit_free(&kit);
    begin(&kit);
    report(&kit, 820, 0); /* unknown */
    assert_int_equal(account(&kit).reserved_until, kit.engine.now + HOURS(5));
    part_kit_free(&kit);
}

TEST(a_report_without_an_end_is_about_the_current_window) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 500, HOURS(2));
    time_ms end = account(&kit).windows[QUOTA_FIVE_HOUR].quota.resets_at;
    report(&kit, 820, 0);
    assert_int_equal(account(&kit).windows[QUOTA_FIVE_HOUR].quota.used_milli, 820);
    assert_int_equal(account(&kit).reserved_until, end);
    part_kit_free(&kit);
}

TEST(a_window_that_has_ended_changes_nothing) {
    struct part_kit kit;
    begin(&kit);
    report(&kit, 990, -SECONDS(1));
    assert_int_equal(part_log.events, 0);
    assert_int_equal(account(&kit).reserved_until, 0);
    part_kit_free(&kit);
}
