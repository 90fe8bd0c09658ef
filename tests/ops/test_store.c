/* test_store.c: a store that answers after the turn, as over a network, and a store that fails.
 *
 * The linker replaces functions of the store (--wrap): queries are held until the test releases
 * them, and a commit has the outcome that the test sets. */

#include <errno.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define KEY "a-key-of-mine"
#define ONE "{\"tasks\":[{\"argv\":[\"true\"]}]}"
#define CARD                                                                                       \
    "{\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"x\"},{\"argv\":[\"b\"],\"external_id\":"      \
    "\"y\"}]}"

/* Names given by the linker. */
void late_ask(struct store *store, const struct store_query *question, store_answered done,
              void *ctx) __asm__("__wrap_store_query");
void real_ask(struct store *store, const struct store_query *question, store_answered done,
              void *ctx) __asm__("__real_store_query");
void bad_commit(struct store *store, struct store_batch *batch, store_committed done,
                void *ctx) __asm__("__wrap_store_commit");
void real_commit(struct store *store, struct store_batch *batch, store_committed done,
                 void *ctx) __asm__("__real_store_commit");

static struct {
    bool late;
    enum store_outcome outcome; /* of each commit that is not empty */
    int code;
    unsigned commits; /* refused commits */
    bool slow;        /* the next commit that is not empty waits for end_commit */
    struct {
        struct store *store;
        struct store_batch *batch;
        store_committed done;
        void *ctx;
    } slow_one;
    struct {
        struct store *store;
        struct store_query question;
        store_answered done;
        void *ctx;
    } kept[16];
    size_t count;
} held;

void late_ask(struct store *store, const struct store_query *question, store_answered done,
              void *ctx) {
    if (!held.late) {
        real_ask(store, question, done, ctx);
        return;
    }
    assert_true(held.count < ARRAY_SIZE(held.kept));
    held.kept[held.count].store = store;
    held.kept[held.count].question = *question;
    held.kept[held.count].done = done;
    held.kept[held.count++].ctx = ctx;
}

void bad_commit(struct store *store, struct store_batch *batch, store_committed done, void *ctx) {
    if (held.slow && store_batch_count(batch) > 0) {
        held.slow_one.store = store;
        held.slow_one.batch = batch;
        held.slow_one.done = done;
        held.slow_one.ctx = ctx;
        held.slow = false;
        return;
    }
    if (held.outcome == STORE_OK || store_batch_count(batch) == 0) {
        real_commit(store, batch, done, ctx);
        return;
    }
    struct error err = { 0 };
    held.commits++;
    (void)error_set(&err, held.code, "the disk said no");
    done(ctx, held.outcome, &err);
}

static void end_commit(void) {
    bad_commit(held.slow_one.store, held.slow_one.batch, held.slow_one.done, held.slow_one.ctx);
}

/* Answers the oldest query. */
static void let_one_through(void) {
    assert_true(held.count > 0);
    bool late = held.late;
    held.late = false;
    real_ask(held.kept[0].store, &held.kept[0].question, held.kept[0].done, held.kept[0].ctx);
    held.late = late;
    memmove(held.kept, held.kept + 1, --held.count * sizeof(*held.kept));
}

static void fail_one(void) {
    struct store_answer nothing = { 0 };
    struct error err = { 0 };
    (void)error_set(&err, -EIO, "the store cannot be read");
    assert_true(held.count > 0);
    held.kept[0].done(held.kept[0].ctx, &nothing, &err);
    memmove(held.kept, held.kept + 1, --held.count * sizeof(*held.kept));
}

static void begin(struct ops *o) {
    memset(&held, 0, sizeof(held));
    ops_open(o, OPS_MEMORY, "limits: {roots: 0}\n"); /* the engine itself sends no query */
    held.late = true;
}

static void end(struct ops *o) {
    held.late = false;
    held.outcome = STORE_OK;
    assert_int_equal(held.count, 0);
    ops_close(o);
}

TEST(a_call_continues_in_the_turn_after_its_answer) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    struct reply r;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &r);
    ops_turn(&o);
    assert_false(r.answered);
    assert_int_equal(engine_last_task(o.engine), 0);
    let_one_through(); /* the key is unknown */
    assert_false(r.answered);
    assert_int_equal(engine_last_task(o.engine), 0); /* facts are applied only in a turn */
    ops_turn(&o);
    assert_true(r.answered);
    assert_int_equal(r.status, 200);
    assert_int_equal(engine_last_task(o.engine), 1);
    reply_finish(&r);
}

TEST(queries_of_one_call_run_one_after_the_other) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    ops_expect(&o, 200, "POST", "/v1/tasks", "{\"draft\":true,\"tasks\":[{\"argv\":[\"a\"]}]}");
    held.late = true;
    struct reply r;
    ops_begin(&o, "/v1/tasks/sling", "{\"tasks\":[\"1\"]}", KEY, &r);
    for (int question = 0; question < 2; question++) { /* for its key, and for the submitted task */
        ops_turn(&o);
        assert_false(r.answered);
        assert_int_equal(held.count, 1);
        let_one_through();
    }
    ops_turn(&o);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.result"), "slung");
    reply_finish(&r);
}

/* 'clear' reads what is stored of a task that has dependencies. */
TEST(a_task_that_is_deleted_before_the_answer_is_not_found) {
    _cleanup_(end) struct ops o = { 0 };
    struct task_view t;
    struct reply r;
    begin(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"name\":\"a\",\"argv\":[\"a\"],\"hold\":true},"
               "{\"argv\":[\"b\"],\"depends_on\":[\"a\"]}]}");
    ops_begin(&o, "/v1/tasks/clear", "{\"tasks\":[\"1\",\"2\"]}", NULL, &r);
    ops_turn(&o);
    assert_int_equal(held.count, 1);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"2\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"2\"]}");
    let_one_through();
    ops_turn(&o);
    assert_true(core_task(engine_core(o.engine), 1, &t));
    assert_int_equal(t.state, TASK_HELD); /* all or none */
    assert_int_equal(reply_int(&r, "error.index"), 1);
    reply_expect(r, 404, "task '#2' has been deleted");
}

TEST(external_ids_need_no_query) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    for (int round = 0; round < 2; round++) {
        struct reply r;
        ops_begin(&o, "/v1/tasks", CARD, NULL, &r);
        ops_turn(&o);
        assert_int_equal(held.count, 0);
        assert_int_equal(r.status, 200);
        assert_int_equal(reply_bool(&r, "tasks.1.already"), round == 1);
        reply_finish(&r);
    }
    assert_int_equal(engine_last_task(o.engine), 2);
}

TEST(a_concurrent_request_with_the_same_key_gets_the_same_answer) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    struct reply a, b, c;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_turn(&o);
    ops_begin(&o, "/v1/tasks", ONE, KEY, &b); /* a turn later the first still waits */
    ops_turn(&o);
    assert_int_equal(held.count, 1); /* it sends no query itself */
    let_one_through();
    ops_begin(&o, "/v1/tasks", ONE, KEY, &c); /* in the turn that completes the first */
    ops_turn(&o);
    assert_true(a.answered && b.answered && c.answered);
    assert_true(!a.replayed && b.replayed && c.replayed);
    assert_string_equal(a.text, b.text);
    assert_string_equal(a.text, c.text);
    assert_int_equal(engine_last_task(o.engine), 1);
    reply_finish(&a);
    reply_finish(&b);
    reply_finish(&c);
}

TEST(two_calls_that_bring_the_same_external_id_add_it_once) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    struct reply a, b;
    ops_begin(&o, "/v1/tasks", CARD, NULL, &a);
    ops_begin(&o, "/v1/tasks", CARD, NULL, &b);
    ops_turn(&o);
    ops_turn(&o);
    assert_true(a.answered && b.answered);
    assert_int_equal(engine_last_task(o.engine), 2);
    assert_true(reply_bool(&b, "tasks.0.already") && reply_bool(&b, "tasks.1.already"));
    reply_finish(&a);
    reply_finish(&b);
}

TEST(a_request_of_a_disconnected_client_is_applied) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    struct reply a, b;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_turn(&o);
    ops_begin(&o, "/v1/tasks", ONE, KEY, &b); /* a retry on another connection */
    ops_turn(&o);
    op_abandon(a.call);
    let_one_through();
    ops_turn(&o);
    assert_false(a.answered);
    assert_true(b.answered && b.replayed);
    assert_int_equal(b.status, 200);
    assert_string_equal(reply_text(&b, "tasks.0.id"), "t-1");
    assert_int_equal(engine_last_task(o.engine), 1);
    reply_finish(&b);
}

TEST(a_read_of_a_disconnected_client_is_not_continued) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    (void)ops_add(&o, "");
    held.late = true;
    struct reply r;
    ops_begin(&o, "/v1/tasks/hold", "{\"tasks\":[\"1\"]}", NULL, &r); /* sends no query */
    ops_turn(&o);
    assert_true(r.answered);
    reply_finish(&r);
    ops_begin_get(&o, "/v1/tasks", &r);
    ops_turn(&o);
    assert_int_equal(held.count, 1); /* the titles */
    op_abandon(r.call);
    let_one_through();
    ops_turn(&o);
    assert_false(r.answered);
    assert_int_equal(held.count, 0);
}

/* The state is in memory and the runs are in the store. */
TEST(a_task_that_ends_while_it_is_read_is_shown_with_the_end_of_its_run) {
    _cleanup_(end) struct ops o = { 0 };
    memset(&held, 0, sizeof(held));
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"retries\":0,");
    fake_run_starts(1);
    ops_turn(&o);
    held.late = true;
    struct reply r;
    ops_begin_get(&o, "/v1/tasks/t-1", &r);
    ops_turn(&o);
    let_one_through(); /* what was submitted */
    ops_turn(&o);
    let_one_through(); /* its runs: one that is live */
    held.late = false;
    fake_run_ends(1, 7);
    for (int turns = 0; !r.answered && turns < 4; turns++)
        ops_turn(&o);
    ops_wait(&o, &r);
    assert_string_equal(reply_text(&r, "state"), "failed");
    assert_int_equal(reply_count(&r, "runs"), 1);
    assert_int_equal(reply_int(&r, "runs.0.exit_code"), 7);
    reply_finish(&r);
}

TEST(a_store_that_cannot_be_read_fails_the_call_and_nothing_else) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    struct reply a;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_turn(&o);
    fail_one();
    assert_true(a.answered);
    assert_int_equal(a.status, 503);
    assert_string_equal(reply_text(&a, "error.message"), "the store cannot be read");
    assert_int_equal(engine_last_task(o.engine), 0);
    reply_finish(&a);
}

/* --- commits that fail ----------------------------------------------------------------------- */

TEST(a_full_disk_is_reported_and_changes_nothing) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    struct ops_trace before, after;
    ops_trace(&o, &before);
    struct reply a, b, look;
    held.outcome = STORE_FAILED;
    held.code = -ENOSPC;
    ops_begin(&o, "/v1/tasks", CARD, KEY, &a);
    ops_begin(&o, "/v1/tasks", CARD, KEY, &b); /* the same again */
    ops_begin(&o, "/v1/tasks/hold", "{\"tasks\":[\"9\"]}", NULL,
              &look); /* refused for its own reason */
    ops_turn(&o);
    held.outcome = STORE_OK;
    assert_int_equal(a.status, 507);
    assert_string_equal(reply_text(&a, "error.code"), "disk_full");
    assert_string_equal(reply_text(&a, "error.message"), "nothing was stored: the disk said no");
    assert_int_equal(b.status, 507);
    assert_false(b.replayed);
    assert_int_equal(look.status, 404);
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    reply_finish(&a);
    reply_finish(&b);
    reply_finish(&look);
}

/* Answers are prepared while the commit is in flight; its outcome decides whether they are sent. */
TEST(an_answer_waits_for_the_commit_and_says_what_became_of_it) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    struct reply kept, lost;
    held.slow = true;
    ops_begin(&o, "/v1/tasks", ONE, NULL, &kept);
    ops_turn(&o);
    assert_false(kept.answered);
    end_commit();
    assert_true(kept.answered);
    assert_int_equal(kept.status, 200);
    assert_int_equal(reply_count(&kept, "tasks"), 1);
    held.slow = true;
    ops_begin(&o, "/v1/tasks", ONE, NULL, &lost);
    ops_turn(&o);
    assert_false(lost.answered);
    held.outcome = STORE_FAILED;
    held.code = -ENOSPC;
    end_commit();
    held.outcome = STORE_OK;
    assert_int_equal(lost.status, 507);
    assert_string_equal(lost.text, "{\"error\":{\"code\":\"disk_full\",\"message\":"
                                   "\"nothing was stored: the disk said no\"}}");
    reply_finish(&kept);
    reply_finish(&lost);
}

TEST(a_failed_request_can_be_retried_with_its_key) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    held.outcome = STORE_FAILED;
    held.code = -EBADMSG; /* our own error: another request of the turn violated a constraint */
    struct reply a;
    ops_begin(&o, "/v1/pause", "{}", KEY, &a);
    ops_turn(&o);
    held.outcome = STORE_OK;
    assert_int_equal(a.status, 500);
    reply_finish(&a);
    assert_false(engine_is_paused(o.engine));
    _cleanup_(reply_finish) struct reply again = ops_ask(&o, "POST", "/v1/pause", "{}", KEY);
    assert_int_equal(again.status, 200);
    assert_false(again.replayed);
    assert_true(engine_is_paused(o.engine));
}

TEST(an_unknown_outcome_is_reported_as_unknown) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    held.outcome = STORE_UNKNOWN;
    held.code = -EIO;
    struct reply a;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_turn(&o);
    assert_int_equal(a.status, 503);
    assert_string_equal(reply_text(&a, "error.code"), "outcome_unknown");
    assert_true(engine_is_broken(o.engine));
    reply_finish(&a);
}

static void expect_refused(struct ops *o, unsigned commits) {
    struct reply r = ops_ask(o, "POST", "/v1/tasks", ONE, NULL);
    assert_int_equal(r.status, 507);
    assert_string_equal(reply_text(&r, "error.message"), "nothing was stored: the disk said no");
    reply_finish(&r);
    assert_int_equal(held.commits, commits);
}

TEST(a_failing_store_is_not_retried_for_every_request_when_rebuilds_are_slow) {
    _cleanup_(end) struct ops o = { 0 };
    begin(&o);
    held.late = false;
    held.outcome = STORE_FAILED;
    held.code = -ENOSPC;
    expect_refused(&o, 1);
    expect_refused(&o, 2);          /* rebuilding a small core takes no time */
    o.engine->rebuild = SECONDS(2); /* as with a million tasks */
    expect_refused(&o, 2);
    expect_refused(&o, 2);
    ops_expect(&o, 200, "GET", "/v1/tasks", NULL); /* reads are still answered */
    struct reply r = ops_ask(&o, "POST", "/v1/config/reload", "{}", NULL);
    reply_finish(&r);
    assert_int_equal(held.commits, 3); /* a new configuration may fix the store, so it is tried */
    o.engine->rebuild = SECONDS(2);
    o.engine->retry_at = o.engine->now; /* the retry is due */
    expect_refused(&o, 4);
    held.outcome = STORE_OK;
    o.engine->rebuild = SECONDS(2);
    o.engine->retry_at = o.engine->now;
    ops_expect(&o, 200, "POST", "/v1/tasks", ONE);
    ops_expect(&o, 200, "POST", "/v1/tasks", ONE); /* the store is used again */
}
