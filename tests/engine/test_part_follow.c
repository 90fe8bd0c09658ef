/* test_part_follow.c: consumers of the event log, without the rest of the engine. */
#include <string.h>

#include "engine/follow.h"
#include "harness/test.h"
#include "part_kit.h"

static uint64_t last_handled;
static unsigned handled;

static void handle(void *ctx, const struct event_row *event) {
    (void)ctx;
    handled++;
    last_handled = event->seq;
}

static struct follower *begin(struct part_kit *kit, uint64_t last_event) {
    part_kit_new(kit, &follow_part, PART_follow);
    handled = 0;
    last_handled = 0;
    kit->engine.started = false;
    kit->engine.first_event = 1;
    kit->engine.last_event = kit->engine.committed_event = last_event;
    struct follower *f = follower_new(&kit->engine, "bus", handle, NULL);
    return f;
}

static void loaded(struct part_kit *kit) {
    part_kit_step(kit, STEP_LOADED);
    kit->engine.started = true;
}

static void publish(struct part_kit *kit, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        struct event_row event = { .seq = ++kit->engine.last_event, .kind = "x" };
        kit->engine.committed_event = event.seq;
        follow_part.publish(&kit->engine, &event);
    }
}

TEST(a_new_follower_begins_after_the_last_event) {
    struct part_kit kit;
    (void)begin(&kit, 10);
    loaded(&kit);
    publish(&kit, 2);
    assert_int_equal(handled, 2);
    assert_int_equal(last_handled, 12);
    part_kit_free(&kit);
}

TEST(a_stored_cursor_is_where_it_goes_on) {
    struct part_kit kit;
    (void)begin(&kit, 10);
    struct note_row note = { .name = "follow.bus", .text = "7" };
    follow_part.load_note(&kit.engine, &note);
    loaded(&kit);
    part_kit_step(&kit, STEP_ROUND_END);
    assert_int_equal(part_log.question.kind, QUERY_EVENTS);
    assert_int_equal(part_log.question.after, 7);
    const struct event_row rows[] = { { .seq = 8 }, { .seq = 9 }, { .seq = 10 } };
    part_kit_answer(&(struct store_answer){ .count = 3, .events = rows });
    assert_int_equal(handled, 3);
    publish(&kit, 1);
    assert_int_equal(last_handled, 11);
    part_kit_free(&kit);
}

TEST(an_unfinished_event_holds_back_those_beyond_the_window) {
    struct part_kit kit;
    struct follower *f = begin(&kit, 0);
    loaded(&kit);
    publish(&kit, FOLLOW_AHEAD + 5);
    assert_int_equal(handled, FOLLOW_AHEAD);
    follower_done(f, 2); /* the first one is still unfinished */
    publish(&kit, 1);
    assert_int_equal(handled, FOLLOW_AHEAD);
    follower_done(f, 1);
    part_kit_step(&kit, STEP_ROUND_END);
    assert_int_equal(part_log.question.after, FOLLOW_AHEAD);
    assert_int_equal(part_log.question.limit, 2);
    part_kit_free(&kit);
}

TEST(the_cursor_is_written_with_a_commit_that_is_made_anyway) {
    struct part_kit kit;
    struct follower *f = begin(&kit, 0);
    loaded(&kit);
    publish(&kit, 100);
    for (uint64_t seq = 1; seq <= 100; seq++)
        follower_done(f, seq);
    part_log.batch = 0;
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(part_log.notes, 0);
    part_log.batch = 1;
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_string_equal(part_log.note_name, "follow.bus");
    assert_string_equal(part_log.note_text, "100");
    part_kit_step(&kit, STEP_UNDONE); /* the commit failed: it is written again */
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(part_log.notes, 2);
    part_kit_step(&kit, STEP_STORED);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(part_log.notes, 2);
    part_kit_free(&kit);
}
