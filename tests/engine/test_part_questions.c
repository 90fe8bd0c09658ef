/* test_part_questions.c: the life of a question, without the rest of the engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/questions.h"
#include "harness/test.h"
#include "part_kit.h"

static unsigned over;

static void count_over(void *ctx, bool is_ending) {
    (void)ctx;
    (void)is_ending;
    over++;
}

static void turn(struct part_kit *kit) {
    part_kit_step(kit, STEP_BEFORE_DECIDE);
    (void)part_kit_decide(kit);
    part_kit_step(kit, STEP_AFTER_DECIDE);
    part_kit_step(kit, STEP_ROUND_END);
}

/* Task 1 runs. */
static void begin(struct part_kit *kit) {
    part_kit_new(kit, &questions_part, PART_questions);
    over = 0;
    part_kit_add_task(kit, 1, 0);
    turn(kit);
    assert_int_equal(part_kit_state(kit, 1), TASK_STARTING);
}

static int ask(struct part_kit *kit, const char *text, time_ms deadline, const char *fallback) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    struct engine_question q = { .task = 1,
                                 .attempt = view.attempt,
                                 .text = (char *)text,
                                 .deadline = deadline ? kit->engine.now + deadline : 0,
                                 .fallback = (char *)fallback };
    struct error err = { 0 };
    return engine_ask(&kit->engine, &q, &err);
}

/* The run ends; the outcome is `asked` if the part says so. */
static void end_run(struct part_kit *kit) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    struct live_run run = { .task = 1, .view = { .attempt = view.attempt } };
    bool asked = question_of_end(&kit->engine, &run) != NULL;
    struct fact started = { .kind = FACT_RUN_STARTED, .task = 1, .attempt = view.attempt };
    assert_int_equal(engine_apply(&kit->engine, &started, NULL), 0);
    struct fact ended = { .kind = FACT_RUN_ENDED, .task = 1, .attempt = view.attempt };
    ended.ended.outcome = asked ? OUTCOME_ASKED : OUTCOME_OK;
    ended.ended.tokens = ended.ended.money = -1;
    assert_int_equal(engine_apply(&kit->engine, &ended, NULL), 0);
    turn(kit);
}

static void pass(struct part_kit *kit, time_ms span) {
    kit->engine.now += span;
    struct fact clock = { .kind = FACT_CLOCK, .now = kit->engine.now };
    (void)core_apply(kit->engine.core, &clock, NULL);
    turn(kit);
}

static const char *prompt_of(struct part_kit *kit, struct strbuf *out) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, 1, &view);
    struct live_run run = { .task = 1, .view = { .attempt = view.attempt } };
    strbuf_clear(out);
    (void)question_prompt(&kit->engine, &run, out);
    return strbuf_text(out);
}

TEST(a_task_waits_for_its_answer_and_goes_on_with_it) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    begin(&kit);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 0);
    assert_string_equal(part_log.event_kind, "task.asked");
    assert_int_equal(engine_question_count(&kit.engine), 1);
    end_run(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_HELD);
    assert_true(engine_explain_question(&kit.engine, 1, &text));
    assert_non_null(strstr(strbuf_text(&text), "sluice answer t-1 TEXT"));
    assert_int_equal(engine_answer(&kit.engine, 1, "the blue one", "ann", &err), 0);
    assert_string_equal(part_log.event_kind, "task.answered");
    turn(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    assert_non_null(strstr(prompt_of(&kit, &text), "You asked: Which one?"));
    assert_non_null(strstr(strbuf_text(&text), "The answer of ann: the blue one"));
    assert_true(engine_answer(&kit.engine, 1, "the red one", "bob", &err) == -EBUSY);
    end_run(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_null(engine_question(&kit.engine, 1));
    assert_string_equal(part_log.note_text, "");
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(an_answer_before_the_end_of_the_run_is_for_the_next_attempt) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    assert_int_equal(engine_answer(&kit.engine, 1, "blue", NULL, NULL), 0);
    turn(&kit);
    end_run(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    assert_non_null(strstr(prompt_of(&kit, &text), "The answer: blue"));
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(a_call_that_waits_uses_the_answer) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    (void)engine_answer_wait_begin(&kit.engine, 1, HOURS(1), count_over, NULL);
    turn(&kit);
    assert_int_equal(over, 0);
    (void)engine_answer(&kit.engine, 1, "blue", "ann", NULL);
    turn(&kit);
    assert_int_equal(over, 1);
    engine_use_answer(&kit.engine, 1);
    end_run(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    part_kit_free(&kit);
    assert_int_equal(over, 1);
}

TEST(a_wait_ends_with_the_daemon_and_when_it_is_canceled) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    engine_answer_wait_end(&kit.engine,
                           engine_answer_wait_begin(&kit.engine, 1, HOURS(1), count_over, NULL));
    engine_answer_wait_end(&kit.engine, NULL);
    (void)engine_answer_wait_begin(&kit.engine, 1, HOURS(1), count_over, NULL);
    part_kit_free(&kit);
    assert_int_equal(over, 1);
}

TEST(one_question_at_a_time_and_the_same_one_again_is_the_same) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 0);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 1);
    assert_int_equal(ask(&kit, "And when?", 0, NULL), -EBUSY);
    (void)engine_answer(&kit.engine, 1, "blue", "ann", NULL);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 1);
    assert_int_equal(ask(&kit, "And when?", 0, NULL), -EBUSY);
    engine_use_answer(&kit.engine, 1);
    assert_int_equal(ask(&kit, "And when?", 0, NULL), 0);
    part_kit_free(&kit);
}

TEST(an_attempt_that_asks_what_its_prompt_answers_gets_that_answer) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    (void)engine_answer(&kit.engine, 1, "blue", "ann", NULL);
    end_run(&kit);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 1);
    assert_string_equal(engine_question(&kit.engine, 1)->answer, "blue");
    engine_use_answer(&kit.engine, 1);
    assert_int_equal(ask(&kit, "Which one?", 0, NULL), 0); /* once */
    assert_int_equal(engine_question_count(&kit.engine), 1);
    part_kit_free(&kit);
}

TEST(a_new_session_gets_earlier_questions_and_answers) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    (void)engine_answer(&kit.engine, 1, "blue", "ann", NULL);
    end_run(&kit);
    (void)ask(&kit, "And when?", 0, NULL);
    (void)engine_answer(&kit.engine, 1, "today", "ann", NULL);
    end_run(&kit);
    struct live_run run = { .task = 1, .view = { .attempt = 3 } };
    question_context(&kit.engine, &run, false, &text);
    const char *first = strstr(strbuf_text(&text), "Question: Which one?\nAnswer: blue\n");
    assert_non_null(first);
    assert_non_null(strstr(first, "Question: And when?\nAnswer: today\n"));
    strbuf_clear(&text);
    question_context(&kit.engine, &run, true, &text);
    assert_int_equal(text.length, 0);
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(only_a_choice_is_an_answer) {
    struct part_kit kit;
    struct error err = { 0 };
    begin(&kit);
    struct engine_question q = { .task = 1,
                                 .attempt = 1,
                                 .text = (char *)"Delete it?",
                                 .choices = { (char *)"yes", (char *)"no" } };
    assert_int_equal(engine_ask(&kit.engine, &q, &err), 0);
    assert_int_equal(engine_answer(&kit.engine, 1, "maybe", NULL, &err), -EINVAL);
    assert_string_equal(err.text, "'maybe' is not one of the choices: 'yes', 'no'");
    assert_int_equal(engine_answer(&kit.engine, 1, "no", NULL, &err), 0);
    part_kit_free(&kit);
}

TEST(at_the_deadline_the_default_is_the_answer) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    begin(&kit);
    (void)ask(&kit, "Which one?", HOURS(1), "red");
    end_run(&kit);
    assert_int_equal(questions_part.next_wakeup(&kit.engine), kit.engine.now + HOURS(1));
    pass(&kit, HOURS(1) - 1);
    assert_int_equal(part_kit_state(&kit, 1), TASK_HELD);
    pass(&kit, 1);
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    assert_string_equal(engine_question(&kit.engine, 1)->by, QUESTION_BY_DEADLINE);
    assert_non_null(strstr(prompt_of(&kit, &text), "your default is the answer: red"));
    assert_true(questions_part.next_wakeup(&kit.engine) == TIME_NEVER);
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(without_a_default_the_task_fails_at_the_deadline) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which one?", HOURS(1), NULL);
    pass(&kit, HOURS(2)); /* it runs: it fails when the run has ended */
    assert_true(questions_part.next_wakeup(&kit.engine) == TIME_NEVER);
    end_run(&kit);
    turn(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_FAILED);
    struct task_view view;
    assert_true(core_task(kit.engine.core, 1, &view));
    assert_int_equal(view.reason, REASON_UNANSWERED);
    assert_int_equal(engine_question_count(&kit.engine), 0);
    part_kit_free(&kit);
}

TEST(a_release_withdraws_the_question) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    end_run(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
    turn(&kit);
    assert_string_equal(part_log.event_kind, "task.question_withdrawn");
    assert_int_equal(engine_question_count(&kit.engine), 0);
    assert_int_equal(engine_answer(&kit.engine, 1, "blue", NULL, NULL), -EBUSY);
    assert_non_null(strstr(prompt_of(&kit, &text), "withdrawn without an answer"));
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(a_lost_attempt_does_not_use_the_answer) {
    struct part_kit kit;
    struct strbuf text = STRBUF_INIT;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    (void)engine_answer(&kit.engine, 1, "blue", "ann", NULL);
    end_run(&kit);
    struct fact lost = { .kind = FACT_RUN_ENDED, .task = 1, .attempt = 2 };
    lost.ended.outcome = OUTCOME_LOST;
    lost.ended.tokens = lost.ended.money = -1;
    assert_int_equal(engine_apply(&kit.engine, &lost, NULL), 0);
    pass(&kit, HOURS(1));
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    assert_non_null(strstr(prompt_of(&kit, &text), "The answer of ann: blue"));
    end_run(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    strbuf_finish(&text);
    part_kit_free(&kit);
}

TEST(a_question_survives_a_restart) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which \"one\"?", HOURS(1), "red");
    end_run(&kit);
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_question(&kit.engine, 1));
    part_kit_load_note(&kit);
    part_kit_step(&kit, STEP_LOADED);
    const struct engine_question *q = engine_question(&kit.engine, 1);
    assert_non_null(q);
    assert_string_equal(q->text, "Which \"one\"?");
    assert_string_equal(q->fallback, "red");
    assert_int_equal(engine_question_count(&kit.engine), 1);
    pass(&kit, HOURS(2)); /* the deadline has passed meanwhile */
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    part_kit_step(&kit, STEP_LOADED);
    struct live_run run = { .task = 1, .view = { .attempt = 2 } };
    assert_string_equal(question_answer(&kit.engine, &run), "red");
    part_kit_free(&kit);
}

TEST(a_link_answers_its_question_once) {
    struct part_kit kit;
    struct error err = { 0 };
    char code[QUESTION_LINK_SIZE], other[QUESTION_LINK_SIZE];
    begin(&kit);
    assert_false(engine_add_link(&kit.engine, 1, kit.engine.now, code));
    (void)ask(&kit, "Which one?", 0, NULL);
    time_ms asked_at = engine_question(&kit.engine, 1)->asked_at;
    assert_false(engine_add_link(&kit.engine, 1, asked_at - 1, code));
    assert_true(engine_add_link(&kit.engine, 1, asked_at, code));
    assert_true(engine_add_link(&kit.engine, 1, asked_at, other));
    assert_null(strstr(part_log.note_text, code));
    assert_null(strstr(part_log.note_text, other));
    assert_int_equal(engine_link_question(&kit.engine, code)->task, 1);
    assert_null(engine_link_question(&kit.engine, ""));
    assert_null(engine_link_question(&kit.engine, "sl_code"));
    part_kit_step(&kit, STEP_UNLOAD); /* a restart */
    part_kit_load_note(&kit);
    part_kit_step(&kit, STEP_LOADED);
    assert_non_null(engine_link_question(&kit.engine, other));
    assert_int_equal(engine_answer_link(&kit.engine, code, "blue", &err), 0);
    assert_string_equal(engine_question(&kit.engine, 1)->by, QUESTION_BY_LINK);
    assert_int_equal(engine_answer_link(&kit.engine, code, "red", &err), -ENOENT);
    assert_int_equal(engine_answer_link(&kit.engine, other, "red", &err), -ENOENT);
    assert_null(engine_link_question(&kit.engine, other));
    assert_null(strstr(part_log.note_text, "links"));
    engine_use_answer(&kit.engine, 1);
    (void)ask(&kit, "And when?", 0, NULL);
    assert_null(engine_link_question(&kit.engine, code)); /* not the next question either */
    part_kit_free(&kit);
}

TEST(a_question_has_a_few_links_and_they_end_with_it) {
    struct part_kit kit;
    char codes[QUESTION_LINKS_MAX + 1][QUESTION_LINK_SIZE];
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    for (unsigned i = 0; i <= QUESTION_LINKS_MAX; i++)
        assert_true(engine_add_link(&kit.engine, 1, kit.engine.now, codes[i]));
    assert_null(engine_link_question(&kit.engine, codes[0]));
    for (unsigned i = 1; i <= QUESTION_LINKS_MAX; i++)
        assert_non_null(engine_link_question(&kit.engine, codes[i]));
    engine_end_link(&kit.engine, codes[3]);
    engine_end_link(&kit.engine, codes[0]);
    assert_null(engine_link_question(&kit.engine, codes[3]));
    assert_non_null(engine_link_question(&kit.engine, codes[4]));
    end_run(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
    turn(&kit);
    assert_null(engine_link_question(&kit.engine, codes[4]));
    part_kit_free(&kit);
}

TEST(a_canceled_task_has_no_question) {
    struct part_kit kit;
    begin(&kit);
    (void)ask(&kit, "Which one?", 0, NULL);
    end_run(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_CANCEL, 1), 0);
    turn(&kit);
    assert_null(engine_question(&kit.engine, 1));
    assert_int_equal(engine_question_count(&kit.engine), 0);
    part_kit_free(&kit);
}

/* Asks, and the run gets the default at the deadline. */
static int ask_in_vain(struct part_kit *kit, unsigned number) {
    char text[32];
    (void)snprintf(text, sizeof(text), "Is it %u?", number);
    int r = ask(kit, text, SECONDS(1), "no");
    if (r < 0)
        return r;
    pass(kit, SECONDS(2));
    engine_use_answer(&kit->engine, 1);
    return r;
}

TEST(a_run_that_asks_in_a_loop_is_refused_until_a_person_has_answered) {
    struct part_kit kit;
    begin(&kit);
    for (unsigned i = 1; i <= 10; i++)
        assert_int_equal(ask_in_vain(&kit, i), 0);
    unsigned events = part_log.events;
    assert_int_equal(ask_in_vain(&kit, 11), -EBUSY);
    assert_int_equal(part_log.events, events);
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    part_kit_step(&kit, STEP_LOADED);
    assert_int_equal(ask_in_vain(&kit, 12), -EBUSY);
    part_kit_free(&kit);

    begin(&kit);
    for (unsigned i = 1; i <= 9; i++)
        assert_int_equal(ask_in_vain(&kit, i), 0);
    assert_int_equal(ask(&kit, "Are you there?", 0, NULL), 0);
    assert_int_equal(engine_answer(&kit.engine, 1, "yes", "ann", NULL), 0);
    engine_use_answer(&kit.engine, 1);
    for (unsigned i = 1; i <= 10; i++)
        assert_int_equal(ask_in_vain(&kit, i), 0);
    assert_int_equal(ask_in_vain(&kit, 11), -EBUSY);
    part_kit_free(&kit);
}
