/* test_part_tally.c: the sums for metrics, without the rest of the engine. */
#include <stdio.h>

#include "engine/alerts/alerts_internal.h"
#include "harness/test.h"
#include "part_kit.h"

static void end_run(struct part_kit *kit, const char *project, int64_t tokens) {
    struct spent_row spent = {
        .project = project, .agent = "claude", .runs = 1, .tokens_in = tokens
    };
    tally_part.run_ended(&kit->engine, &spent, OUTCOME_OK);
}

TEST(ends_count_once_their_commit_is_on_disk) {
    struct part_kit kit;
    part_kit_new(&kit, &tally_part, PART_tally);
    end_run(&kit, "web", 10);
    assert_int_equal(engine_tally_count(&kit.engine), 0);
    part_kit_step(&kit, STEP_STORED);
    assert_int_equal(engine_tally_count(&kit.engine), 1);
    assert_int_equal(engine_tally_at(&kit.engine, 0)->tokens_in, 10);
    assert_int_equal(engine_outcome_count(&kit.engine, OUTCOME_OK), 1);
    part_kit_free(&kit);
}

TEST(ends_of_a_failed_commit_do_not_count) {
    struct part_kit kit;
    part_kit_new(&kit, &tally_part, PART_tally);
    end_run(&kit, "web", 10);
    part_kit_step(&kit, STEP_UNDONE);
    end_run(&kit, "web", 10);
    part_kit_step(&kit, STEP_STORED);
    assert_int_equal(engine_tally_at(&kit.engine, 0)->runs, 1);
    part_kit_free(&kit);
}

TEST(too_many_pairs_become_one) {
    struct part_kit kit;
    char name[16];
    part_kit_new(&kit, &tally_part, PART_tally);
    for (unsigned i = 0; i < TALLY_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        end_run(&kit, name, 1);
        part_kit_step(&kit, STEP_STORED);
    }
    assert_int_equal(engine_tally_count(&kit.engine), TALLY_MAX);
    const struct spent_row *other = engine_tally_at(&kit.engine, TALLY_MAX - 1);
    assert_string_equal(other->project, "other");
    assert_int_equal(other->runs, 11);
    part_kit_free(&kit);
}
