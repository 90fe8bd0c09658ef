/* test_part_best_of.c: what becomes of a task with its candidates, without the rest of the engine. Task 1 has the
 * candidates 2, 3 and 4, and the chooser 5 if there is one. */
#include <errno.h>
#include <string.h>

#include "engine/allowance.h"
#include "engine/best_of.h"
#include "engine/descendants.h"
#include "engine/redaction.h"
#include "engine/worktrees.h"
#include "harness/test.h"
#include "part_kit.h"

/* --- the other parts -------------------------------------------------------------------------- */

static struct {
    unsigned merges, grants, contexts;
    task_id merged;
    merge_ready ready;
    void *ctx;
    int merge_error;
    struct engine_amounts left, granted;
} others;

int engine_merge(struct engine *e, const struct merge_question *q, merge_ready ready, void *ctx,
                 struct error *err) {
    (void)e, (void)err;
    if (others.merge_error)
        return others.merge_error;
    others.merges++;
    others.merged = q->task;
    others.ready = ready;
    others.ctx = ctx;
    return 0;
}

int engine_diff(struct engine *e, const struct diff_question *q, diff_ready ready, void *ctx,
                struct error *err) {
    (void)e, (void)q, (void)ready, (void)ctx, (void)err;
    return -1; /* no worktree */
}

bool engine_changes(const struct engine *e, task_id task, struct delivery_changes *ret) {
    (void)e, (void)task, (void)ret;
    return false;
}

const char *engine_project_merge(const struct config *config, const char *project) {
    (void)config, (void)project;
    return "local";
}

void engine_put_context(struct engine *e, task_id task, const char *context) {
    (void)e;
    assert_int_equal(task, 5);
    assert_non_null(strstr(context, "Candidate t-2"));
    others.contexts++;
}

void engine_cancel_descendants(struct engine *e, task_id task, bool now) {
    (void)e, (void)task, (void)now;
}

struct engine_amounts engine_budget_left(const struct engine *e, task_id task) {
    (void)e, (void)task;
    return others.left;
}

void engine_grant_budget(struct engine *e, task_id parent, task_id child,
                         struct engine_amounts amounts) {
    (void)e, (void)parent, (void)child;
    others.grants++;
    others.granted = amounts;
}

void engine_set_limits(struct engine *e, task_id task, const struct engine_limits *limits) {
    (void)e, (void)task, (void)limits;
}

void engine_budget(const struct engine *e, task_id task, struct engine_budget *ret) {
    (void)e, (void)task;
    *ret = (struct engine_budget){ 0 };
}

bool engine_redact(const struct engine *e, const char *text, size_t size, struct strbuf *out) {
    (void)e, (void)text, (void)size, (void)out;
    return false;
}

/* Ends the merges that are under way, as the end of the daemon does. */
static void close_kit(struct part_kit *kit) {
    if (others.ready)
        others.ready(others.ctx, NULL);
    others.ready = NULL;
    part_kit_free(kit);
}

/* --- the story -------------------------------------------------------------------------------- */

static void settle(struct part_kit *kit) {
    part_kit_step(kit, STEP_BEFORE_DECIDE);
    (void)part_kit_decide(kit);
    part_kit_step(kit, STEP_CARRY_OUT);
    part_kit_step(kit, STEP_BEFORE_DECIDE);
    (void)part_kit_decide(kit);
}

static enum hold hold_of(const struct part_kit *kit, task_id task) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, task, &view);
    return view.state == TASK_HELD ? view.hold : HOLD_NONE;
}

static void begin(struct part_kit *kit, struct engine_best_of best_of) {
    memset(&others, 0, sizeof(others));
    others.left = (struct engine_amounts){ 300, ALLOWANCE_NONE };
    part_kit_new(kit, &best_of_part, PART_best_of);
    for (task_id task = 1; task <= 4 + (best_of.chooser != 0); task++)
        part_kit_add_task(kit, task, 0);
    if (best_of.chooser)
        assert_int_equal(part_kit_apply(kit, FACT_HOLD, 5), 0);
    best_of.task = 1;
    best_of.count = 3;
    for (size_t i = 0; i < best_of.count; i++)
        best_of.candidates[i] = i + 2;
    engine_add_best_of(&kit->engine, &best_of);
    settle(kit);
    assert_int_equal(hold_of(kit, 1), HOLD_CANDIDATES);
}

/* A run that fails is repeated until its task has failed. */
static void ends(struct part_kit *kit, task_id task, enum outcome outcome) {
    for (int i = 0; i < 20 && !task_state_is_final(part_kit_state(kit, task)); i++) {
        if (part_kit_state(kit, task) == TASK_STARTING)
            part_kit_run(kit, task, outcome);
        else if (part_kit_state(kit, task) == TASK_HELD)
            (void)part_kit_apply(kit, FACT_RELEASE, task);
        (void)part_kit_decide(kit);
    }
}

static int pick(struct part_kit *kit, task_id candidate, bool by_person, struct error *err) {
    struct engine_pick p = { 1, candidate, .by = "ann", .by_person = by_person };
    return engine_pick(&kit->engine, &p, err);
}

TEST(each_candidate_gets_its_share_of_the_budget) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ 0 });
    assert_int_equal(others.grants, 3);
    assert_int_equal(others.granted.tokens, 100);
    assert_int_equal(others.granted.usd, ALLOWANCE_NONE);
    close_kit(&kit);
}

TEST(without_a_candidate_that_is_done_the_task_fails) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ 0 });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_FAILED);
    settle(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_FAILED);
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    assert_true(engine_explain_candidates(&kit.engine, 1, &why));
    assert_non_null(strstr(strbuf_text(&why), "none of its 3 candidates has succeeded"));
    close_kit(&kit);
}

TEST(the_only_candidate_that_is_done_is_picked) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .chooser = 5 });
    ends(&kit, 2, OUTCOME_FAILED);
    ends(&kit, 3, OUTCOME_OK);
    ends(&kit, 4, OUTCOME_FAILED);
    settle(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_int_equal(engine_best_of(&kit.engine, 1)->picked, 3);
    assert_string_equal(engine_best_of(&kit.engine, 1)->by, BEST_OF_BY_CHECKS);
    assert_int_equal(part_kit_state(&kit, 5), TASK_CANCELED); /* not needed */
    close_kit(&kit);
}

TEST(with_a_review_a_person_picks_also_the_only_one) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .review = true });
    ends(&kit, 2, OUTCOME_FAILED);
    ends(&kit, 3, OUTCOME_OK);
    ends(&kit, 4, OUTCOME_FAILED);
    settle(&kit);
    assert_int_equal(hold_of(&kit, 1), HOLD_REVIEW);
    close_kit(&kit);
}

TEST(several_that_are_done_wait_for_a_person) {
    struct part_kit kit;
    struct error err = { 0 };
    begin(&kit, (struct engine_best_of){ 0 });
    ends(&kit, 2, OUTCOME_OK);
    assert_int_equal(hold_of(&kit, 1), HOLD_CANDIDATES);
    assert_int_equal(pick(&kit, 3, true, &err), -EBUSY); /* it is not done */
    assert_int_equal(pick(&kit, 9, true, &err), -EINVAL);
    ends(&kit, 3, OUTCOME_OK);
    ends(&kit, 4, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(hold_of(&kit, 1), HOLD_REVIEW);
    assert_int_equal(others.merges, 0);
    assert_int_equal(pick(&kit, 3, true, &err), 0);
    assert_int_equal(pick(&kit, 3, true, &err), 1);
    assert_int_equal(pick(&kit, 2, true, &err), -EBUSY);
    settle(&kit);
    assert_int_equal(others.merges, 1); /* once, though it was settled twice */
    assert_int_equal(others.merged, 3);
    assert_int_equal(engine_result_of(&kit.engine, 1), 3);
    close_kit(&kit);
}

TEST(a_pick_by_an_agent_is_not_merged_unless_the_project_merges) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .chooser = 5 });
    ends(&kit, 2, OUTCOME_OK);
    ends(&kit, 3, OUTCOME_OK);
    assert_int_equal(hold_of(&kit, 5), HOLD_PERSON); /* until all have ended */
    ends(&kit, 4, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(others.contexts, 1);
    assert_int_equal(hold_of(&kit, 5), HOLD_NONE);
    assert_int_equal(pick(&kit, 4, false, NULL), 0);
    settle(&kit);
    assert_int_equal(others.merges, 0);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    close_kit(&kit);
}

TEST(the_run_of_a_chooser_that_has_picked_ends_by_itself) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .chooser = 5 });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(part_kit_state(&kit, 5), TASK_STARTING);
    assert_int_equal(pick(&kit, 4, false, NULL), 0);
    settle(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    ends(&kit, 5, OUTCOME_OK);
    assert_int_equal(part_kit_state(&kit, 5), TASK_DONE);
    close_kit(&kit);
}

TEST(a_chooser_that_ends_without_a_pick_leaves_it_to_a_person) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .chooser = 5 });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    ends(&kit, 5, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(hold_of(&kit, 1), HOLD_REVIEW);
    close_kit(&kit);
}

TEST(a_pick_of_the_daemon_before_is_merged_by_this_one) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ 0 });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(pick(&kit, 2, true, NULL), 0);
    part_kit_step(&kit, STEP_UNLOAD); /* before anything is merged */
    assert_null(engine_best_of(&kit.engine, 1));
    part_kit_load_note(&kit);
    assert_int_equal(engine_best_of(&kit.engine, 1)->picked, 2);
    settle(&kit);
    assert_int_equal(others.merges, 1);
    assert_int_equal(others.merged, 2);
    close_kit(&kit);
}

TEST(a_merge_that_is_busy_is_tried_again) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ 0 });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    others.merge_error = -EBUSY;
    assert_int_equal(pick(&kit, 2, true, NULL), 0);
    settle(&kit);
    assert_int_equal(others.merges, 0);
    assert_int_equal(engine_best_of(&kit.engine, 1)->picked, 2);
    others.merge_error = 0;
    kit.engine.now += SECONDS(2);
    part_kit_step(&kit, STEP_BEGIN);
    settle(&kit);
    assert_int_equal(others.merges, 1);
    close_kit(&kit);
}

TEST(a_task_that_is_done_again_is_done_by_all_candidates) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .merge = (char *)"local" });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(pick(&kit, 2, true, NULL), 0);
    settle(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_int_equal(part_kit_apply(&kit, FACT_AGAIN, 1), 0);
    settle(&kit);
    assert_int_equal(hold_of(&kit, 1), HOLD_CANDIDATES);
    assert_int_equal(engine_best_of(&kit.engine, 1)->picked, 0);
    for (task_id task = 2; task <= 4; task++)
        assert_int_not_equal(part_kit_state(&kit, task), TASK_DONE);
    close_kit(&kit);
}

TEST(what_is_deleted_is_deleted_with_its_candidates) {
    struct part_kit kit;
    begin(&kit, (struct engine_best_of){ .merge = (char *)"local" });
    for (task_id task = 2; task <= 4; task++)
        ends(&kit, task, OUTCOME_OK);
    settle(&kit);
    assert_int_equal(pick(&kit, 2, true, NULL), 0);
    settle(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_null(engine_best_of(&kit.engine, 1));
    assert_int_equal(part_kit_state(&kit, 3), TASK_ABSENT);
    assert_int_equal(engine_candidate_of(&kit.engine, 3), 0);
    close_kit(&kit);
}
