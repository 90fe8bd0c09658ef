/* Alerts: raised in the commit of their cause, once, and known again after a crash or a failed commit. */
#include <string.h>

#include "engine/alert.h"
#include "engine_kit.h"
#include "harness/test.h"

static struct kit kit;

static int open_it(void **state) {
    (void)state;
    kit_open(&kit, KIT_CALM "projects: {web: }\nagents: {bot: {command: [cat], limiter: account}}\n"
                            "limiters: {account: {max_running: 4}}\n");
    return 0;
}

static int open_late(void **state) {
    (void)state;
    kit_open_late(&kit, KIT_CALM "projects: {web: }\nalerts: {stuck_s: 0.1}\n");
    return 0;
}

static int close_it(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

static const struct engine_alert *alert_of(const char *key) {
    for (size_t i = 0; i < engine_alert_count(kit.engine); i++)
        if (strcmp(engine_alert_at(kit.engine, i)->key, key) == 0)
            return engine_alert_at(kit.engine, i);
    return NULL;
}

static bool is_open(struct kit *k, void *key) {
    (void)k;
    return alert_of(key) != NULL;
}

static bool is_over(struct kit *k, void *key) {
    (void)k;
    return alert_of(key) == NULL;
}

static void wait_open(const char *key) {
    kit_wait(&kit, is_open, (void *)(uintptr_t)key, key);
}

static void wait_over(const char *key) {
    kit_wait(&kit, is_over, (void *)(uintptr_t)key, "an alert that is over");
}

static int end_with_closed_account(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = 1, .attempt = 1 };
    fact.ended.outcome = OUTCOME_CLOSED;
    fact.ended.tokens = -1;
    return engine_apply(engine, &fact, &ask->err);
}

static int clear_account(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_LIMITER_CLEAR };
    fact.limiter_clear =
        symbol_find(core_symbols((struct core *)engine_core(engine)), "account", 7);
    return engine_apply(engine, &fact, &ask->err);
}

static int open_crowded(void **state);

TEST_WITH(f070_a_closed_account_is_reported_once_until_it_is_cleared, open_it, close_it) {
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"hello\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_run(&kit, end_with_closed_account, NULL), 0);
    wait_open("account:account");
    assert_non_null(strstr(alert_of("account:account")->text, "sluice limiter clear account"));
    kit_restart(&kit);
    wait_open("account:account");
    assert_int_equal(kit_events(&kit, "alert", 0), 1);
    assert_int_equal(kit_run(&kit, clear_account, NULL), 0);
    wait_over("account:account");
    assert_int_equal(kit_events(&kit, "alert.cleared", 0), 1);
}

static int limit_account(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_RUN_LIMITED, .task = 1, .attempt = 1 };
    fact.limited.retry_after = HOURS(1);
    return engine_apply(engine, &fact, &ask->err);
}

TEST_WITH(an_account_that_begins_to_wait_is_an_event_and_its_later_hits_are_none, open_it,
          close_it) {
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"hello\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_run(&kit, limit_account, NULL), 0);
    assert_int_equal(kit_events(&kit, "limiter.limited", 0), 1);
    time_ms before = engine_now(kit.engine);
    while (engine_now(kit.engine) == before) /* in a turn of another time */
        (void)kit_pause(&kit, !engine_is_paused(kit.engine));
    assert_true(kit_run(&kit, limit_account, NULL) >= 0);
    kit_restart(&kit);
    assert_int_equal(kit_events(&kit, "limiter.limited", 0), 1);
}

TEST_WITH(f022_what_waits_too_long_is_found_by_a_store_that_answers_late, open_late, close_it) {
    task_id first = kit_web(&kit, "{\"argv\":[\"true\"]}"), second = 0;
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_add_after(&kit, first, &second), 0);
    wait_open("run:web-1");
    wait_open("stuck:dependency");
    assert_int_equal(alert_of("stuck:dependency")->task, second);
    assert_int_equal(kit_events(&kit, "alert", second), 1);
}

static int open_crowded(void **state) {
    (void)state;
    kit_open(&kit,
             KIT_CALM "projects: {web: }\nkinds: {slow: {max_running: 0}}\nlimits: {runs: 0}\n"
                      "alerts: {stuck_s: 1}\n");
    return 0;
}

static task_id add_with(int32_t priority, const char *kind) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.priority = priority;
    add.draft.kind = kind;
    assert_int_equal(kit_do(&kit, &add), 0);
    return add.first;
}

/* Tasks of one priority form a class. Each of them may wait for something else. */
TEST_WITH(f022_who_is_stuck_is_found_behind_any_number_of_classes, open_crowded, close_it) {
    for (int32_t priority = 0; priority < 450; priority++)
        (void)add_with(priority, NULL);
    task_id last = add_with(1000, "slow");
    wait_open("stuck:lease:runs");
    wait_open("stuck:lease:kind:slow");
    assert_int_equal(alert_of("stuck:lease:kind:slow")->task, last);
    assert_int_equal(kit_events(&kit, "alert", 0), 2);
}
