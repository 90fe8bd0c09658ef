/* test_part_follow_ups.c: the life of a message, without the rest of the engine. */
#include <string.h>

#include "engine/follow_ups.h"
#include "harness/test.h"
#include "part_kit.h"

static void end_run(struct part_kit *kit, enum outcome outcome) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    struct fact started = { .kind = FACT_RUN_STARTED, .task = 1, .attempt = view.attempt };
    assert_int_equal(engine_apply(&kit->engine, &started, NULL), 0);
    struct fact ended = { .kind = FACT_RUN_ENDED, .task = 1, .attempt = view.attempt };
    ended.ended.outcome = outcome;
    ended.ended.tokens = ended.ended.money = -1;
    assert_int_equal(engine_apply(&kit->engine, &ended, NULL), 0);
}

/* Task 1 is done, and continued with a message. */
static void begin(struct part_kit *kit) {
    part_kit_new(kit, &follow_ups_part, PART_follow_ups);
    part_kit_add_task(kit, 1, 0);
    (void)part_kit_decide(kit);
    end_run(kit, OUTCOME_OK);
    (void)part_kit_decide(kit);
    assert_int_equal(part_kit_apply(kit, FACT_AGAIN, 1), 0);
    engine_put_follow_up(&kit->engine, 1, "go on", "ann");
}

static struct live_run run_of(const struct part_kit *kit) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    return (struct live_run){ .task = 1, .view = { .attempt = view.attempt } };
}

static bool has_message(const struct part_kit *kit) {
    struct live_run run = run_of(kit);
    const char *text = follow_up_of_run(&kit->engine, &run);
    return text && strcmp(text, "go on") == 0;
}

static bool has_context(const struct part_kit *kit) {
    struct live_run run = run_of(kit);
    struct strbuf out = STRBUF_INIT;
    follow_up_context(&kit->engine, &run, &out);
    bool found = strstr(strbuf_text(&out), "go on\n") != NULL;
    strbuf_finish(&out);
    return found;
}

TEST(the_next_attempt_gets_the_message_and_no_other_one) {
    struct part_kit kit;
    begin(&kit);
    assert_string_equal(part_log.event_kind, "task.followed_up");
    assert_string_equal(part_log.event_data, "{\"message\":\"go on\",\"by\":\"ann\"}");
    assert_false(has_message(&kit)); /* the attempt before it */
    (void)part_kit_decide(&kit);
    assert_true(has_message(&kit));
    end_run(&kit, OUTCOME_OK);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    const struct engine_follow_up *f = engine_follow_up(&kit.engine, 1);
    assert_true(f->is_used && f->is_over);
    assert_int_equal(f->attempt, 2);
    assert_int_equal(part_kit_apply(&kit, FACT_AGAIN, 1), 0); /* without a message */
    (void)part_kit_decide(&kit);
    assert_false(has_message(&kit));
    assert_false(has_context(&kit));
    part_kit_free(&kit);
}

TEST(a_person_who_takes_the_task_over_leaves_the_message_to_the_agent) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_TAKE, 1), 0);
    (void)part_kit_decide(&kit);
    assert_false(has_message(&kit));
    end_run(&kit, OUTCOME_TAKEN);
    assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
    (void)part_kit_decide(&kit);
    assert_true(has_message(&kit));
    part_kit_free(&kit);
}

TEST(an_attempt_that_may_not_have_read_it_leaves_it_to_the_next) {
    static const enum outcome unread[] = { OUTCOME_LOST, OUTCOME_LAUNCH, OUTCOME_LIMITED,
                                           OUTCOME_NEW_SESSION };
    for (size_t i = 0; i < ARRAY_SIZE(unread); i++) {
        struct part_kit kit;
        begin(&kit);
        (void)part_kit_decide(&kit);
        assert_true(has_message(&kit));
        end_run(&kit, unread[i]);
        assert_false(engine_follow_up(&kit.engine, 1)->is_used);
        assert_int_equal(engine_follow_up(&kit.engine, 1)->attempt, 2);
        part_kit_free(&kit);
    }
}

/* A retry begins a new session, which knows neither the task nor the message. */
TEST(until_the_task_is_final_a_new_session_gets_it_with_the_task) {
    struct part_kit kit;
    begin(&kit);
    (void)part_kit_decide(&kit);
    assert_true(has_context(&kit));
    end_run(&kit, OUTCOME_FAILED);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_HELD);
    assert_true(engine_follow_up(&kit.engine, 1)->is_used);
    assert_true(has_context(&kit));
    assert_int_equal(part_kit_apply(&kit, FACT_CANCEL, 1), 0);
    (void)part_kit_decide(&kit);
    assert_false(has_context(&kit));
    part_kit_free(&kit);
}

TEST(a_message_survives_a_restart_and_ends_with_its_task) {
    struct part_kit kit;
    begin(&kit);
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_follow_up(&kit.engine, 1));
    part_kit_load_note(&kit);
    const struct engine_follow_up *f = engine_follow_up(&kit.engine, 1);
    assert_string_equal(f->text, "go on");
    assert_string_equal(f->by, "ann");
    (void)part_kit_decide(&kit);
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    assert_true(has_message(&kit)); /* of the attempt that was ordered before the restart */
    end_run(&kit, OUTCOME_OK);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_null(engine_follow_up(&kit.engine, 1));
    assert_string_equal(part_log.note_text, "");
    part_kit_free(&kit);
}
