/* test_part_stopping.c: answers to a cancel wait for the shims, without the rest of the engine. */
#include "engine/runs/runs_internal.h"
#include "harness/test.h"
#include "part_kit.h"

static unsigned answered;

static void done(struct engine *e, struct engine_request *request, enum store_outcome outcome,
                 const struct error *err) {
    (void)e;
    (void)request;
    (void)err;
    answered += outcome == STORE_OK;
}

TEST(a_cancel_is_answered_when_every_shim_has_replied) {
    struct part_kit kit;
    struct live_run one = { 0 }, other = { 0 };
    struct engine_request request = { .done = done, .cancels = true };
    part_kit_new(&kit, &stopping_part, PART_stopping);
    answered = 0;
    assert_false(stopping_part.holds_answer(&kit.engine, &request));
    stopping_sent(&kit.engine, &one);
    stopping_sent(&kit.engine, &other);
    assert_true(stopping_part.holds_answer(&kit.engine, &request));
    stopping_confirmed(&kit.engine, &one);
    assert_int_equal(answered, 0);
    stopping_confirmed(&kit.engine, &other);
    assert_int_equal(answered, 1);
    part_kit_free(&kit);
}

TEST(a_run_whose_command_was_seen_holds_nothing_back) {
    struct part_kit kit;
    struct live_run run = { .view = { .started_at = 1 } };
    struct engine_request request = { .done = done, .cancels = true };
    part_kit_new(&kit, &stopping_part, PART_stopping);
    stopping_sent(&kit.engine, &run);
    assert_false(stopping_part.holds_answer(&kit.engine, &request));
    part_kit_free(&kit);
}

TEST(other_requests_do_not_wait_and_an_abandoned_one_is_dropped) {
    struct part_kit kit;
    struct live_run run = { 0 };
    struct engine_request cancel = { .done = done, .cancels = true }, other = { .done = done };
    part_kit_new(&kit, &stopping_part, PART_stopping);
    answered = 0;
    stopping_sent(&kit.engine, &run);
    assert_false(stopping_part.holds_answer(&kit.engine, &other));
    assert_true(stopping_part.holds_answer(&kit.engine, &cancel));
    assert_true(stopping_part.abandoned(&kit.engine, &cancel));
    part_kit_free(&kit);
    assert_int_equal(answered, 0);
}

TEST(the_end_of_the_daemon_answers_all) {
    struct part_kit kit;
    struct live_run run = { 0 };
    struct engine_request request = { .done = done, .cancels = true };
    part_kit_new(&kit, &stopping_part, PART_stopping);
    answered = 0;
    stopping_sent(&kit.engine, &run);
    assert_true(stopping_part.holds_answer(&kit.engine, &request));
    part_kit_free(&kit);
    assert_int_equal(answered, 1);
}
