/* test_part_takeover.c: who has taken a task over, from the request to its return, without the rest of the engine. */
#include <errno.h>
#include <string.h>

#include "engine/follow_ups.h"
#include "engine/takeover.h"
#include "harness/test.h"
#include "part_kit.h"

static void open_kit(struct part_kit *kit) {
    part_kit_new(kit, &takeover_part, PART_takeover);
    part_kit_add_part(kit, &follow_ups_part, PART_follow_ups);
    part_kit_add_task(kit, 1, 0);
}

static int take(struct part_kit *kit, const char *by) {
    struct engine_taken how = { .task = 1,
                                .by = (char *)(uintptr_t)by,
                                .terminal = (char *)(uintptr_t) "/run/take-1",
                                .term = (char *)(uintptr_t) "xterm",
                                .has_prompt = true };
    return engine_take(&kit->engine, &how, NULL);
}

static struct task_view view_of(const struct part_kit *kit) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    return view;
}

static struct live_run run_of(const struct part_kit *kit) {
    return (struct live_run){ .task = 1, .view = { .attempt = view_of(kit).attempt } };
}

TEST(a_task_that_waits_starts_as_the_run_of_the_person) {
    struct part_kit kit;
    open_kit(&kit);
    assert_int_equal(take(&kit, "ann"), 0);
    assert_string_equal(part_log.event_kind, "task.taken");
    assert_string_equal(part_log.event_data, "{\"by\":\"ann\"}");
    (void)part_kit_decide(&kit);
    struct live_run run = run_of(&kit);
    assert_true(takeover_is_run(&kit.engine, &run));
    run.view.attempt++;
    assert_false(takeover_is_run(&kit.engine, &run));
    assert_string_equal(engine_taken(&kit.engine, 1)->terminal, "/run/take-1");
    part_kit_free(&kit);
}

TEST(its_end_leaves_it_held_and_taken_whatever_it_was) {
    static const enum outcome outcomes[] = { OUTCOME_TAKEN, OUTCOME_OK, OUTCOME_FAILED,
                                             OUTCOME_LAUNCH, OUTCOME_LOST };
    for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
        struct part_kit kit;
        open_kit(&kit);
        assert_int_equal(take(&kit, "ann"), 0);
        (void)part_kit_decide(&kit);
        part_kit_run(&kit, 1, outcomes[i]);
        (void)part_kit_decide(&kit);
        struct task_view view = view_of(&kit);
        assert_int_equal(view.state, TASK_HELD);
        assert_int_equal(view.hold, HOLD_TAKEN);
        assert_int_equal(view.failures + view.launch_failures + view.losses, 0);
        assert_non_null(engine_taken(&kit.engine, 1));
        part_kit_free(&kit);
    }
}

TEST(a_live_run_is_stopped_first_and_its_success_counts) {
    struct part_kit kit;
    open_kit(&kit);
    (void)part_kit_decide(&kit);
    assert_int_equal(take(&kit, "ann"), 0);
    (void)part_kit_decide(&kit);
    assert_non_null(engine_taken(&kit.engine, 1)); /* while it is being stopped */
    assert_int_equal(take(&kit, "bob"), -EBUSY);
    part_kit_run(&kit, 1, OUTCOME_OK);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_string_equal(part_log.event_kind, "task.returned");
    assert_string_equal(part_log.event_data, "{\"by\":\"ann\",\"to\":\"done\"}");
    assert_null(engine_taken(&kit.engine, 1));
    part_kit_free(&kit);
}

TEST(it_is_given_back_with_a_message) {
    static const struct {
        const char *message, *text;
    } rows[] = { { "Tidy up.", "Tidy up." }, { NULL, TAKEOVER_PROMPT } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct part_kit kit;
        open_kit(&kit);
        assert_int_equal(take(&kit, "ann"), 0);
        (void)part_kit_decide(&kit);
        part_kit_run(&kit, 1, OUTCOME_TAKEN);
        (void)part_kit_decide(&kit);
        assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
        engine_give_back(&kit.engine, 1, rows[i].message, "ann");
        assert_string_equal(engine_follow_up(&kit.engine, 1)->text, rows[i].text);
        (void)part_kit_decide(&kit);
        struct live_run run = run_of(&kit);
        assert_false(takeover_is_run(&kit.engine, &run));
        assert_null(engine_taken(&kit.engine, 1));
        part_kit_free(&kit);
    }
}

TEST(a_message_that_was_not_read_is_not_replaced) {
    struct part_kit kit;
    open_kit(&kit);
    engine_put_follow_up(&kit.engine, 1, "Read me.", "bob");
    assert_int_equal(take(&kit, "ann"), 0);
    (void)part_kit_decide(&kit);
    part_kit_run(&kit, 1, OUTCOME_TAKEN);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
    engine_give_back(&kit.engine, 1, NULL, "ann");
    assert_string_equal(engine_follow_up(&kit.engine, 1)->text, "Read me.");
    part_kit_free(&kit);
}

TEST(the_note_brings_back_who_it_was) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    open_kit(&kit);
    assert_int_equal(take(&kit, "ann"), 0);
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_taken(&kit.engine, 1));
    part_kit_load_note(&kit);
    assert_string_equal(engine_taken(&kit.engine, 1)->by, "ann");
    assert_string_equal(engine_taken(&kit.engine, 1)->term, "xterm");
    assert_true(engine_taken(&kit.engine, 1)->has_prompt);
    assert_true(engine_explain_taken(&kit.engine, 1, &text));
    assert_string_equal(strbuf_text(&text), "taken over by ann");
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(a_deleted_task_is_forgotten) {
    struct part_kit kit;
    open_kit(&kit);
    assert_int_equal(take(&kit, NULL), 0);
    assert_int_equal(part_kit_apply(&kit, FACT_CANCEL, 1), 0);
    (void)part_kit_decide(&kit);
    assert_null(engine_taken(&kit.engine, 1)); /* already with the cancel */
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_null(engine_taken(&kit.engine, 1));
    part_kit_free(&kit);
}
