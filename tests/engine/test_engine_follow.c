/* Followers get every event, in order, also across crashes of the daemon. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/follow.h"
#include "engine_kit.h"
#include "harness/test.h"
#include "late_store.h"

#define CALM KIT_CALM "limits: {runs: 50}\n"
#define MOST 4096

/* The events that a follower got, and whether it finishes them later. */
struct received {
    const char *name;
    struct follower *follower;
    uint64_t seqs[MOST];
    char blocked[2048]; /* data of the task.blocked events, joined by blanks */
    size_t count;
    bool slow; /* says nothing by itself */
};

static struct kit kit;
static struct received quick, slow;
static bool with_slow;

static void receive(void *ctx, const struct event_row *event) {
    struct received *h = ctx;
    assert_true(h->count < MOST);
    h->seqs[h->count++] = event->seq;
    if (strcmp(event->kind, "task.blocked") == 0) {
        size_t used = strlen(h->blocked);
        snprintf(h->blocked + used, sizeof(h->blocked) - used, "%" PRIu64 "%s ", event->task,
                 event->data);
    }
    if (!h->slow)
        follower_done(h->follower, event->seq);
}

static void make_followers(struct kit *k) {
    quick.follower = follower_new(k->engine, "quick", receive, &quick);
    if (with_slow)
        slow.follower = follower_new(k->engine, "slow", receive, &slow);
}

static void forget(void) {
    quick = (struct received){ 0 };
    slow = (struct received){ .slow = true };
}

static int open_with(const char *config, bool late) {
    forget();
    with_slow = true;
    /* The first start has none: a new follower begins after the last event. */
    if (late)
        kit_open_late(&kit, config);
    else
        kit_open(&kit, config);
    kit_settle(&kit);
    kit.before_start = make_followers;
    kit_restart(&kit);
    kit_settle(&kit);
    return 0;
}

static int open_it(void **state) {
    (void)state;
    return open_with(CALM, false);
}

static int open_late(void **state) {
    (void)state;
    return open_with(CALM, true);
}

static int open_all(void **state) {
    (void)state;
    return open_with(CALM "bus: {lifecycle: all}\n", false);
}

static int close_it(void **state) {
    (void)state;
    if (late_has_commit())
        late_finish_commit(STORE_OK);
    kit_close(&kit);
    return 0;
}

static bool has_received(struct kit *k, void *ctx) {
    (void)k;
    const struct received *h = ctx;
    return h->count > 0 && h->seqs[h->count - 1] == engine_last_event(kit.engine);
}

static void wait_received(struct received *h) {
    kit_wait(&kit, has_received, h, "a follower has received of the last event");
}

static void expect_dense(const struct received *h, uint64_t first) {
    for (size_t i = 0; i < h->count; i++)
        if (h->seqs[i] != first + i)
            fail_msg("the event at position %zu is %" PRIu64 ", not %" PRIu64, i, h->seqs[i],
                     first + i);
}

/* At least this many more events. */
static void make_events(size_t count) {
    uint64_t before = engine_last_event(kit.engine);
    while (engine_last_event(kit.engine) < before + count)
        assert_int_equal(kit_pause(&kit, !engine_is_paused(kit.engine)), 0);
}

/* --- order ----------------------------------------------------------------------------------- */

#define FOLLOW_TEST(name_) TEST_WITH(name_, open_it, close_it)
#define LATE_TEST(name_)   TEST_WITH(name_, open_late, close_it)
#define ALL_TEST(name_)    TEST_WITH(name_, open_all, close_it)

FOLLOW_TEST(a_new_follower_hears_everything_from_its_first_start_on_in_order) {
    assert_true(quick.count > 0);
    assert_true(quick.seqs[0] > 1); /* the daemon that had none wrote some before */
    make_events(50);
    wait_received(&quick);
    expect_dense(&quick, quick.seqs[0]);
}

/* --- crashes --------------------------------------------------------------------------------- */

FOLLOW_TEST(nothing_is_missed_over_a_crash) {
    quick.slow = true; /* it gets events and does not finish them */
    make_events(40);
    uint64_t first = slow.seqs[0];
    forget();
    kit_restart(&kit);
    wait_received(&quick);
    expect_dense(&quick, first);
}

FOLLOW_TEST(what_was_done_after_the_cursor_was_written_is_handled_again) {
    uint64_t first = quick.seqs[0];
    make_events(30); /* too few to be written */
    forget();
    kit_restart(&kit);
    wait_received(&quick);
    expect_dense(&quick, first);
    make_events(200); /* it goes along with one of these commits */
    uint64_t last = engine_last_event(kit.engine);
    forget();
    kit_restart(&kit);
    wait_received(&quick);
    assert_true(quick.seqs[0] + 100 > last);
    assert_true(quick.seqs[0] <= last + 1);
}

static bool is_quiet(struct kit *k, void *ctx) {
    (void)ctx;
    return !follow_is_busy(k->engine);
}

FOLLOW_TEST(an_end_in_good_order_leaves_nothing_to_be_handled_again) {
    slow.slow = false; /* from now on; what it has received is done now */
    for (size_t i = 0; i < slow.count; i++)
        follower_done(slow.follower, slow.seqs[i]);
    make_events(5);
    follow_end(kit.engine);
    kit_wait(&kit, is_quiet, NULL, "the cursors are written");
    uint64_t last = engine_last_event(kit.engine);
    forget();
    kit_restart(&kit);
    wait_received(&quick);
    expect_dense(&quick, last + 1);
    assert_int_equal(slow.seqs[0], last + 1);
}

FOLLOW_TEST(after_the_end_was_announced_nothing_is_handed_out) {
    follow_end(kit.engine);
    size_t received = quick.count;
    make_events(3);
    assert_int_equal(quick.count, received);
    kit_restart(&kit);
    wait_received(&quick);
    expect_dense(&quick, quick.seqs[0]);
}

LATE_TEST(a_failed_commit_reaches_no_follower) {
    make_events(100); /* a cursor is in the batch that fails, now or at the next */
    late_fail_commit(1);
    size_t received = quick.count;
    assert_int_equal(kit_pause(&kit, !engine_is_paused(kit.engine)), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    kit_wait_failures(&kit, 1);
    assert_int_equal(quick.count, received);
    make_events(100);
    wait_received(&quick);
    expect_dense(&quick, quick.seqs[0]);
}

FOLLOW_TEST(an_idle_daemon_is_not_woken_for_a_cursor) {
    make_events(5);
    kit_settle(&kit);
    struct engine_stats before = kit_stats(&kit);
    kit_settle(&kit);
    assert_int_equal(kit_stats(&kit).commits, before.commits);
}

/* --- followers that must not repeat an event -------------------------------------------------- */

static unsigned saves;

static void count_save(void *ctx) {
    (void)ctx;
    saves++;
}

static bool is_saved(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return saves > 0;
}

FOLLOW_TEST(what_was_saved_is_not_handled_again_after_a_crash) {
    make_events(3); /* too few to be written by themselves */
    wait_received(&quick);
    uint64_t last = engine_last_event(kit.engine);
    saves = 0;
    assert_false(follower_save(quick.follower, count_save));
    kit_wait(&kit, is_saved, NULL, "the cursor is on disk");
    assert_true(follower_save(quick.follower, count_save));
    forget();
    kit_restart(&kit);
    wait_received(&quick);
    expect_dense(&quick, last + 1);
    assert_int_equal(saves, 1);
}

LATE_TEST(what_could_not_be_saved_is_not_reported_as_saved) {
    make_events(3);
    wait_received(&quick);
    saves = 0;
    late_fail_commit(1);
    assert_false(follower_save(quick.follower, count_save));
    kit_wait_failures(&kit, 1);
    assert_int_equal(saves, 0);
    kit_wait(&kit, is_saved, NULL, "the cursor is written with the next commit");
}

FOLLOW_TEST(the_end_does_not_wait_for_one_that_rests) {
    make_events(3);
    follow_end(kit.engine);
    assert_true(follow_is_ending(kit.engine));
    kit_settle(&kit);
    assert_true(follow_is_busy(kit.engine)); /* the slow one */
    follower_rest(slow.follower, true);
    kit_wait(&kit, is_quiet, NULL, "only the cursors count");
}

/* --- a slow one ------------------------------------------------------------------------------ */

FOLLOW_TEST(a_slow_follower_holds_back_no_other) {
    make_events(3 * FOLLOW_AHEAD);
    wait_received(&quick);
    expect_dense(&quick, quick.seqs[0]);
    assert_int_equal(slow.count, FOLLOW_AHEAD); /* and no more, until it comes to them */
    /* Done out of order: what is in front decides. */
    for (size_t i = FOLLOW_AHEAD; i > 1; i--)
        follower_done(slow.follower, slow.seqs[i - 1]);
    kit_settle(&kit);
    assert_int_equal(slow.count, FOLLOW_AHEAD);
    follower_done(slow.follower, slow.seqs[0]);
    slow.slow = false;
    wait_received(&slow);
    expect_dense(&slow, slow.seqs[0]);
}

FOLLOW_TEST(one_that_is_far_behind_reads_page_by_page) {
    uint64_t first = slow.seqs[0];
    make_events(5 * FOLLOW_AHEAD);
    forget();
    slow.slow = false;
    kit_restart(&kit);
    wait_received(&slow);
    expect_dense(&slow, first);
}

LATE_TEST(answers_that_come_late_change_no_order) {
    uint64_t first = slow.seqs[0];
    make_events(2 * FOLLOW_AHEAD);
    forget();
    slow.slow = false;
    late_hold_answers(true);
    kit_restart(&kit);
    kit_settle(&kit);
    make_events(10);
    assert_int_equal(slow.count, 0); /* the older ones come first */
    late_hold_answers(false);
    late_give_answers();
    wait_received(&slow);
    expect_dense(&slow, first);
}

/* --- pruned events --------------------------------------------------------------------------- */

static uint64_t first_kept;

static void prune(struct store_batch *batch) {
    store_prune_events(batch, first_kept);
}

static void pruned(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)ctx;
    (void)err;
    assert_int_equal(outcome, STORE_OK);
}

FOLLOW_TEST(pruned_events_are_skipped) {
    make_events(2 * FOLLOW_AHEAD);
    uint64_t last = engine_last_event(kit.engine);
    kit_stop(&kit);
    first_kept = last - 20;
    kit_store(&kit, prune);
    forget();
    slow.slow = false;
    kit_start(&kit);
    wait_received(&slow);
    expect_dense(&slow, first_kept);
}

FOLLOW_TEST(what_is_pruned_in_front_of_a_slow_one_is_skipped_too) {
    make_events(2 * FOLLOW_AHEAD);
    assert_int_equal(slow.count, FOLLOW_AHEAD);
    first_kept = engine_last_event(kit.engine) - 5;
    struct store_batch *batch = store_batch_new();
    prune(batch);
    store_commit(kit.store, batch, pruned, NULL);
    store_batch_free(batch);
    slow.slow = false;
    /* One is done: the window has room, but the numbers of events have a gap. */
    follower_done(slow.follower, slow.seqs[0]);
    kit_settle(&kit);
    assert_int_equal(slow.count, FOLLOW_AHEAD);
    for (size_t i = 1; i < FOLLOW_AHEAD; i++)
        follower_done(slow.follower, slow.seqs[i]);
    wait_received(&slow);
    assert_int_equal(slow.seqs[FOLLOW_AHEAD], first_kept);
}

/* --- task.blocked ---------------------------------------------------------------------------- */

static struct kit_ask two_needs(const task_id needs[2]) {
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"c\"]}");
    ask.draft.spec.depends_on = needs;
    ask.draft.spec.depends_on_count = 2;
    return ask;
}

static void end_run(size_t start) {
    struct run_end end = fake_exit(0);
    fake_report_started(fake_start_at(start)->run);
    fake_report_ended(fake_start_at(start)->run, &end);
}

ALL_TEST(f022_the_blockers_are_an_event_when_they_change_and_only_then) {
    task_id needs[2];
    needs[0] = kit_web(&kit, "{\"argv\":[\"a\"]}");
    needs[1] = kit_web(&kit, "{\"argv\":[\"b\"]}");
    struct kit_ask ask = two_needs(needs);
    assert_int_equal(kit_do(&kit, &ask), 0);
    kit_wait_starts(&kit, 2);
    char want[256];
    snprintf(want, sizeof(want), "%" PRIu64 "{\"blockers\":[\"web-1\",\"web-2\"],\"count\":2} ",
             ask.first);
    wait_received(&quick);
    assert_string_equal(quick.blocked, want);
    make_events(4); /* looked at again and again */
    end_run(0);
    kit_wait_state(&kit, needs[0], TASK_DONE);
    end_run(1);
    kit_wait_state(&kit, needs[1], TASK_DONE);
    kit_wait_starts(&kit, 3);
    wait_received(&quick);
    size_t used = strlen(want);
    snprintf(want + used, sizeof(want) - used,
             "%" PRIu64 "{\"blockers\":[\"web-2\"],\"count\":1} %" PRIu64
             "{\"blockers\":[],\"count\":0} ",
             ask.first, ask.first);
    assert_string_equal(quick.blocked, want);
}

ALL_TEST(f022_two_that_end_together_are_one_event) {
    task_id needs[2];
    needs[0] = kit_web(&kit, "{\"argv\":[\"a\"]}");
    needs[1] = kit_web(&kit, "{\"argv\":[\"b\"]}");
    struct kit_ask ask = two_needs(needs);
    assert_int_equal(kit_do(&kit, &ask), 0);
    kit_wait_starts(&kit, 2);
    wait_received(&quick);
    quick.blocked[0] = '\0';
    end_run(0);
    end_run(1);
    kit_wait_starts(&kit, 3);
    wait_received(&quick);
    char want[256];
    snprintf(want, sizeof(want), "%" PRIu64 "{\"blockers\":[],\"count\":0} ", ask.first);
    assert_string_equal(quick.blocked, want);
}

ALL_TEST(f022_a_task_slung_while_another_ends_has_its_event) {
    struct kit_ask other = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    other.draft.spec.review = true;
    assert_int_equal(kit_do(&kit, &other), 0);
    task_id needs[2] = { kit_web(&kit, "{\"argv\":[\"b\"]}"), kit_web(&kit, "{\"argv\":[\"c\"]}") };
    struct kit_ask draft = two_needs(needs);
    draft.draft.spec.state = TASK_DRAFT;
    assert_int_equal(kit_do(&kit, &draft), 0);
    kit_wait_starts(&kit, 3);
    end_run(0);
    kit_wait_state(&kit, other.first, TASK_HELD);
    wait_received(&quick);
    assert_string_equal(quick.blocked, "");
    struct kit_ask approve = kit_ask_apply(FACT_APPROVE, other.first);
    struct kit_ask sling = kit_ask_apply(FACT_SLING, draft.first);
    kit_send(&kit, &approve);
    assert_int_equal(kit_do(&kit, &sling), 0); /* in the same turn */
    assert_int_equal(kit_state(&kit, other.first), TASK_DONE);
    wait_received(&quick);
    char want[256];
    snprintf(want, sizeof(want), "%" PRIu64 "{\"blockers\":[\"web-2\",\"web-3\"],\"count\":2} ",
             draft.first);
    assert_string_equal(quick.blocked, want);
}

FOLLOW_TEST(without_a_bus_that_reports_everything_it_costs_nothing) {
    task_id needs[2] = { kit_web(&kit, "{\"argv\":[\"a\"]}"), kit_web(&kit, "{\"argv\":[\"b\"]}") };
    struct kit_ask ask = two_needs(needs);
    assert_int_equal(kit_do(&kit, &ask), 0);
    wait_received(&quick);
    assert_string_equal(quick.blocked, "");
}
