/* test_part_redaction.c: which values are not shown, without the rest of the engine. */
#include <string.h>

#include "engine/redaction.h"
#include "harness/test.h"
#include "part_kit.h"

#define PAIR "PASSWORD=correct horse battery"

static bool shows(struct part_kit *kit, const char *text, const char *word) {
    return strstr(redaction_turn_text(&kit->engine, text), word) != NULL;
}

TEST(a_value_is_replaced_by_its_name) {
    struct part_kit kit;
    part_kit_new(&kit, &redaction_part, PART_redaction);
    redaction_add(&kit.engine, PAIR);
    assert_false(shows(&kit, "it is correct horse battery!", "horse"));
    assert_true(shows(&kit, "it is correct horse battery!", "[redacted PASSWORD]"));
    assert_true(shows(&kit, "it is another horse", "horse"));
    part_kit_free(&kit);
}

TEST(the_value_of_an_ended_run_stays_secret_and_a_worthless_one_does_not) {
    struct part_kit kit;
    part_kit_new(&kit, &redaction_part, PART_redaction);
    redaction_add(&kit.engine, PAIR);
    redaction_add(&kit.engine, PAIR);
    redaction_release(&kit.engine, PAIR, true);
    assert_false(shows(&kit, "correct horse battery", "horse")); /* another run has it */
    redaction_release(&kit.engine, PAIR, false);
    assert_false(shows(&kit, "correct horse battery", "horse"));
    redaction_add(&kit.engine, PAIR);
    redaction_release(&kit.engine, PAIR, true);
    assert_true(shows(&kit, "correct horse battery", "horse"));
    part_kit_free(&kit);
}

TEST(a_short_value_is_too_common_to_be_replaced) {
    struct part_kit kit;
    part_kit_new(&kit, &redaction_part, PART_redaction);
    redaction_add(&kit.engine, "ANSWER=42");
    assert_true(shows(&kit, "42 tasks", "42"));
    part_kit_free(&kit);
}

TEST(a_value_is_found_in_json_too) {
    struct part_kit kit;
    part_kit_new(&kit, &redaction_part, PART_redaction);
    redaction_add(&kit.engine, "KEY=with \"quotes\" inside");
    assert_false(shows(&kit, "{\"text\":\"with \\\"quotes\\\" inside\"}", "quotes"));
    part_kit_free(&kit);
}
