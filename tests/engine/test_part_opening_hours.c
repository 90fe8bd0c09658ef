/* test_part_opening_hours.c: the facts that opening hours apply, without the rest of the engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/opening_hours.h"
#include "harness/test.h"
#include "part_kit.h"

#define FRIDAY (HOURS(480000)) /* 2024-10-04 00:00 UTC, a Friday */

static void take_config(struct part_kit *kit) {
    struct error err = { 0 };
    assert_int_equal(config_apply(kit->engine.config, kit->engine.core, &err), 0);
    int r = opening_hours_part.try[TRY_CHECK_CONFIG](&kit->engine, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(opening_hours_part.try[TRY_TAKE_CONFIG](&kit->engine, &err), 0);
}

/* Both clocks move, unless the wall clock is set. */
static void turn_at(struct part_kit *kit, time_ms wall, time_ms now) {
    part_log.wall = wall;
    kit->engine.now = now;
    assert_int_equal(
        core_apply(kit->engine.core, &(struct fact){ .kind = FACT_CLOCK, .now = now }, NULL), 0);
    part_kit_step(kit, STEP_BEFORE_DECIDE);
    part_kit_step(kit, STEP_STORED);
}

static void turn(struct part_kit *kit, time_ms wall) {
    time_ms passed = part_log.wall ? wall - part_log.wall : 0;
    turn_at(kit, wall, kit->engine.now + passed);
}

/* Project "web" with these hours, at 2024-10-04 00:00 UTC. */
static void begin(struct part_kit *kit, const char *hours, const char *zone) {
    part_kit_new(kit, &opening_hours_part, PART_opening_hours);
    part_kit_set(kit, "timezone", zone);
    part_kit_set(kit, "projects.web.hours", hours);
    take_config(kit);
    turn(kit, FRIDAY);
}

/* How long the gate of the task's project stays closed; 0: open. */
static time_ms closed_for(struct part_kit *kit, task_id task) {
    struct verdict verdicts[VERDICT_MAX];
    size_t count = core_explain(kit->engine.core, task, verdicts);
    for (size_t i = 0; i < count; i++)
        if (verdicts[i].gate == GATE_HOURS)
            return verdicts[i].open ? 0 : verdicts[i].opens_at - kit->engine.now;
    return 0;
}

static time_ms next_wakeup(const struct part_kit *kit) {
    return opening_hours_part.next_wakeup(&kit->engine);
}

TEST(hours_open_and_close) {
    struct part_kit kit;
    begin(&kit, "mon-fri 22:00-07:00", "UTC");
    part_kit_add_task(&kit, 1, 0);
    assert_int_equal(closed_for(&kit, 1), 0);
    assert_int_equal(part_log.events, 0); /* a start is not a change */
    assert_int_equal(next_wakeup(&kit), kit.engine.now + HOURS(7));
    turn(&kit, FRIDAY + HOURS(7) - 1);
    assert_int_equal(closed_for(&kit, 1), 0);
    turn(&kit, FRIDAY + HOURS(7));
    assert_int_equal(closed_for(&kit, 1), HOURS(15));
    assert_int_equal(part_log.events, 1);
    assert_string_equal(part_log.event_kind, "hours.closed");
    assert_non_null(strstr(part_log.event_data, "\"project\":\"web\""));
    assert_int_equal(next_wakeup(&kit), kit.engine.now + HOURS(15));
    assert_int_equal(part_kit_decide(&kit), 0); /* it stays ready */
    turn(&kit, FRIDAY + HOURS(22));
    assert_int_equal(closed_for(&kit, 1), 0);
    assert_string_equal(part_log.event_kind, "hours.opened");
    assert_true(part_kit_decide(&kit) > 0);
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    struct engine_hours shown;
    assert_true(engine_hours(&kit.engine, LEASE_PROJECT, "web", &shown));
    assert_true(shown.open);
    assert_int_equal(shown.until, FRIDAY + HOURS(31));
    assert_string_equal(shown.text, "mon-fri 22:00-07:00");
    assert_false(engine_hours(&kit.engine, LEASE_AGENT, "web", &shown));
    part_kit_free(&kit);
}

/* Closed from 08:00 to 20:00 local time. 2024-10-27 has 25 hours in Berlin, 2025-03-30 has 23. */
TEST(hours_follow_the_local_clock_over_both_changes) {
    static const struct {
        time_ms closes, opens; /* UTC, since FRIDAY */
    } days[] = {
        { DAYS(22) + HOURS(6), DAYS(22) + HOURS(18) },   /* 26 October, summer time */
        { DAYS(23) + HOURS(7), DAYS(23) + HOURS(19) },   /* the day of the change, after it */
        { DAYS(176) + HOURS(7), DAYS(176) + HOURS(19) }, /* 29 March */
        { DAYS(177) + HOURS(6), DAYS(177) + HOURS(18) }, /* the day of the change, after it */
    };
    struct part_kit kit;
    begin(&kit, "20:00-08:00", "Europe/Berlin");
    part_kit_add_task(&kit, 1, 0);
    for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
        turn(&kit, FRIDAY + days[i].closes - SECONDS(1));
        assert_int_equal(closed_for(&kit, 1), 0);
        assert_int_equal(next_wakeup(&kit) - kit.engine.now, SECONDS(1));
        turn(&kit, FRIDAY + days[i].closes);
        assert_int_equal(closed_for(&kit, 1), days[i].opens - days[i].closes);
        turn(&kit, FRIDAY + days[i].opens);
        assert_int_equal(closed_for(&kit, 1), 0);
    }
    part_kit_free(&kit);
}

/* Open from 02:15 to 02:45: in spring that time does not exist, in autumn it occurs twice. */
TEST(hours_inside_the_change_are_open_while_the_clock_shows_them) {
    struct part_kit kit;
    begin(&kit, "02:15-02:45", "Europe/Berlin");
    part_kit_add_task(&kit, 1, 0);
    turn(&kit, FRIDAY + DAYS(23) + MINUTES(15));
    assert_int_equal(closed_for(&kit, 1), 0);
    turn(&kit, FRIDAY + DAYS(23) + MINUTES(45));
    assert_int_equal(closed_for(&kit, 1), MINUTES(30)); /* 02:15 again, in winter time */
    turn(&kit, FRIDAY + DAYS(23) + MINUTES(75));
    assert_int_equal(closed_for(&kit, 1), 0);
    turn(&kit, FRIDAY + DAYS(177) + MINUTES(45)); /* 01:45, a quarter of an hour before the jump */
    assert_true(closed_for(&kit, 1) > HOURS(23)); /* not on this day */
    part_kit_free(&kit);
}

TEST(a_clock_that_is_set_closes_and_opens) {
    struct part_kit kit;
    begin(&kit, "mon-fri 22:00-07:00", "UTC"); /* Friday, open */
    part_kit_add_task(&kit, 1, 0);
    time_ms now = kit.engine.now;
    assert_false(opening_hours_part.has_work(&kit.engine));
    part_log.wall = FRIDAY + DAYS(1); /* Saturday 00:00: still that of Friday */
    assert_true(opening_hours_part.has_work(&kit.engine));
    turn_at(&kit, FRIDAY + DAYS(1) + HOURS(8), now);
    assert_int_equal(closed_for(&kit, 1), DAYS(2) - HOURS(8) + HOURS(22)); /* until Monday 22:00 */
    assert_false(opening_hours_part.has_work(&kit.engine));
    assert_int_equal(next_wakeup(&kit) - now, DAYS(2) - HOURS(8) + HOURS(22));
    turn_at(&kit, FRIDAY + HOURS(8), now); /* back by a day */
    assert_int_equal(closed_for(&kit, 1), HOURS(14));
    turn_at(&kit, FRIDAY - HOURS(1), now);
    assert_int_equal(closed_for(&kit, 1), 0);
    turn_at(&kit, FRIDAY - HOURS(1) + 999, now); /* adjusted */
    assert_false(opening_hours_part.has_work(&kit.engine));
    part_kit_free(&kit);
}

TEST(a_clock_that_drifts_opens_nothing_early) {
    struct part_kit kit;
    begin(&kit, "22:00-07:00", "UTC");
    part_kit_add_task(&kit, 1, 0);
    turn(&kit, FRIDAY + HOURS(8));
    turn_at(&kit, FRIDAY + HOURS(22) - 300, kit.engine.now + HOURS(14)); /* 0.3 s behind */
    assert_int_equal(closed_for(&kit, 1), 300);
    turn_at(&kit, FRIDAY + HOURS(22), kit.engine.now + 300);
    assert_int_equal(closed_for(&kit, 1), 0);
    part_kit_free(&kit);
}

TEST(a_suspend_for_a_week_is_one_change) {
    struct part_kit kit;
    begin(&kit, "mon-fri 22:00-07:00", "UTC");
    part_kit_add_task(&kit, 1, 0);
    turn(&kit, FRIDAY + DAYS(7) + HOURS(8));
    assert_int_equal(closed_for(&kit, 1), HOURS(14));
    assert_int_equal(part_log.events, 1);
    turn(&kit, FRIDAY + DAYS(14) + HOURS(8)); /* it has opened and closed meanwhile */
    assert_int_equal(closed_for(&kit, 1), HOURS(14));
    assert_int_equal(part_log.events, 1);
    part_kit_free(&kit);
}

TEST(after_a_failed_commit_the_change_is_announced_again) {
    struct part_kit kit;
    begin(&kit, "mon-fri 22:00-07:00", "UTC");
    part_log.wall = FRIDAY + HOURS(7);
    kit.engine.now += HOURS(7);
    part_kit_step(&kit, STEP_BEFORE_DECIDE); /* and its commit fails */
    assert_int_equal(part_log.events, 1);
    part_kit_step(&kit, STEP_UNLOAD);
    take_config(&kit);
    assert_true(opening_hours_part.has_work(&kit.engine));
    kit.engine.retry_at = kit.engine.now + 1;
    assert_false(opening_hours_part.has_work(&kit.engine));
    kit.engine.retry_at = 0;
    turn(&kit, FRIDAY + HOURS(7) + 5);
    assert_int_equal(part_log.events, 2);
    part_kit_step(&kit, STEP_UNLOAD);
    take_config(&kit);
    turn(&kit, FRIDAY + HOURS(7) + 10);
    assert_int_equal(part_log.events, 2); /* the last one is stored */
    part_kit_add_task(&kit, 1, 0);
    assert_true(closed_for(&kit, 1) > 0);
    part_kit_free(&kit);
}

TEST(a_new_configuration_opens_and_closes) {
    struct part_kit kit;
    begin(&kit, "mon-fri 22:00-07:00", "UTC");
    part_kit_add_task(&kit, 1, 0);
    part_kit_set(&kit, "projects.web.hours", "sat,sun");
    take_config(&kit);
    turn(&kit, FRIDAY + MINUTES(1));
    assert_int_equal(closed_for(&kit, 1), DAYS(1) - MINUTES(1));
    assert_string_equal(part_log.event_kind, "hours.closed");
    part_kit_set(&kit, "projects.web.hours", "");
    take_config(&kit);
    turn(&kit, FRIDAY + MINUTES(2));
    assert_int_equal(closed_for(&kit, 1), 0);
    assert_int_equal(next_wakeup(&kit), TIME_NEVER);
    part_kit_free(&kit);
}

TEST(agents_and_accounts_have_hours_too) {
    struct part_kit kit;
    struct limiter_view limiter;
    struct agent_spec agent;
    part_kit_new(&kit, &opening_hours_part, PART_opening_hours);
    part_kit_set(&kit, "agents.claude.hours", "22:00-07:00");
    part_kit_set(&kit, "agents.claude.timezone", "UTC");
    part_kit_set(&kit, "limiters.anthropic.hours", "sat");
    part_kit_set(&kit, "limiters.anthropic.timezone", "Asia/Tokyo");
    take_config(&kit);
    turn(&kit, FRIDAY + HOURS(8));
    const struct symbol_table *names = core_symbols(kit.engine.core);
    assert_true(core_agent_spec(kit.engine.core, symbol_find(names, "claude", 6), &agent));
    assert_true(agent.hours);
    assert_int_equal(agent.hours_until, kit.engine.now + HOURS(14));
    assert_true(core_limiter(kit.engine.core, symbol_find(names, "anthropic", 9), &limiter));
    assert_int_equal(limiter.hours_until, kit.engine.now + HOURS(7)); /* Saturday 00:00 in Tokyo */
    part_kit_free(&kit);
}

TEST(an_unknown_zone_is_refused_with_its_key) {
    struct part_kit kit;
    struct error err = { 0 };
    part_kit_new(&kit, &opening_hours_part, PART_opening_hours);
    part_kit_set(&kit, "projects.web.hours", "sat");
    part_kit_set(&kit, "projects.web.timezone", "Mars/Olympus");
    assert_true(opening_hours_part.try[TRY_CHECK_CONFIG](&kit.engine, &err) < 0);
    assert_non_null(strstr(err.text, "key 'projects.web.timezone': there is no time zone"));
    part_kit_free(&kit);
}

/* One wake-up for each moment at which something changes, however many change. */
TEST(a_thousand_projects_cost_no_wakeups_in_between) {
    struct part_kit kit;
    unsigned wakeups = 0;
    part_kit_new(&kit, &opening_hours_part, PART_opening_hours);
    part_kit_set(&kit, "timezone", "America/New_York");
    for (int i = 0; i < 1000; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "projects.p%d.hours", i);
        part_kit_set(&kit, key, i % 2 ? "mon-fri 22:00-07:00" : "09:00-17:00");
    }
    take_config(&kit);
    turn(&kit, FRIDAY);
    time_ms until = kit.engine.now + DAYS(7);
    for (time_ms at; (at = next_wakeup(&kit)) < until; wakeups++) {
        assert_false(opening_hours_part.has_work(&kit.engine));
        assert_true(at > kit.engine.now);
        turn(&kit, part_log.wall + at - kit.engine.now);
    }
    assert_int_equal(wakeups, 7 * 2 + 5 * 2);
    assert_int_equal(part_log.events, 500 * 7 * 2 + 500 * 5 * 2);
    part_kit_free(&kit);
}
