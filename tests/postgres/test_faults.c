/* Acknowledged batches are in PostgreSQL, whatever fails.
 *
 * Random histories are written to a server and to the reference in memory. The connection is cut at every COMMIT, before and
 * after it; the opening is cut at every message; the server is killed, stopped and restarted. After each fault the store is
 * opened again: a batch with the outcome OK is there, a FAILED batch is not, an UNKNOWN batch is completely there or not at
 * all. The same seed gives the same history.
 *   test_faults [SEED]      needs SLUICE_TEST_POSTGRES=postgresql://… and POSTGRES_SERVER (run it by `make test-postgres`) */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cutter.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "os/clock.h"
#include "own_server.h"
#include "store/history.h"

#define STEPS  24
#define ROUNDS 12 /* of a server that is killed */

static int64_t seed = 4711;
static const char *server; /* its URL; others use it too */
static struct cutter *cutter;

/* A store, and the reference with the expected contents. */
struct play {
    char url[512];
    struct history history;
    struct store *store, *reference;
    struct store_batch *batch;
    unsigned played; /* batches of the history whose outcome is known */
};

static void dump(struct store *store, struct strbuf *out) {
    strbuf_clear(out);
    kit_dump(store, out);
}

/* The server may not have noticed yet that the last connection has ended. */
static int try_open(struct play *play, struct error *err) {
    struct store_options options = { .url = play->url, .reserve_bytes = -1 };
    time_ms deadline = clock_read_steady() + patience_ms();
    int r;
    do
        r = store_open(&options, &play->store, NULL, err);
    while (r == -EBUSY && clock_read_steady() < deadline);
    return r;
}

static void open_again(struct play *play) {
    struct error err = { 0 };
    play->store = store_close(play->store);
    if (try_open(play, &err) < 0)
        fail_msg("after %u batches the store does not open again: %s", play->played, err.text);
}

/* A separate schema. */
static void begin(struct play *play, const char *url, const char *more) {
    static unsigned number;
    *play = (struct play){ .history = history_begin((uint64_t)seed + number, true),
                           .reference = kit_open("memory:", NULL),
                           .batch = store_batch_new() };
    (void)snprintf(play->url, sizeof(play->url), "%s?schema=faults_%d_%u%s", url, (int)getpid(),
                   number++, more);
}

static void finish(struct play *play) {
    store_close(play->store);
    store_close(play->reference);
    store_batch_free(play->batch);
}

/* Fills the next batch for either store; it is repeated until its outcome is known. */
static enum store_outcome commit_next(struct play *play, struct store *store, struct error *err) {
    struct history next = play->history;
    history_next(&next, play->batch);
    return kit_try(store, play->batch, err);
}

static enum store_outcome decide(struct play *play) {
    struct error err = { 0 };
    enum store_outcome outcome = commit_next(play, play->reference, &err);
    history_next(&play->history, play->batch);
    store_batch_clear(play->batch);
    play->played++;
    return outcome;
}

/* The store equals the reference, before the next batch or (true) after it. */
static bool is_there(struct play *play, const char *what) {
    _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT, before = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf behind = STRBUF_INIT;
    dump(play->store, &now);
    dump(play->reference, &before);
    if (strcmp(strbuf_text(&now), strbuf_text(&before)) == 0)
        return false;
    (void)decide(play);
    dump(play->reference, &behind);
    if (strcmp(strbuf_text(&now), strbuf_text(&behind)) != 0)
        fail_msg("%s: after %u batches the store holds\n%s\ninstead of\n%s\nor\n%s", what,
                 play->played - 1, strbuf_text(&now), strbuf_text(&before), strbuf_text(&behind));
    return true;
}

/* A batch without a fault. */
static void play_one(struct play *play) {
    struct error err = { 0 };
    enum store_outcome outcome = commit_next(play, play->store, &err);
    enum store_outcome expected = decide(play);
    if (outcome != expected)
        fail_msg("batch %u is %s (%s), the reference says %s", play->played,
                 store_outcome_name(outcome), err.text, store_outcome_name(expected));
}

/* A constraint failed, not the connection. */
static bool is_refusal(enum store_outcome outcome, const struct error *err) {
    return outcome == STORE_FAILED && (err->code == -EEXIST || err->code == -ENOENT);
}

static void expect_silent(struct play *play) {
    struct store_info info;
    struct error err = { 0 };
    store_info(play->store, &info);
    assert_true(info.broken);
    assert_string_not_equal(store_outcome_name(commit_next(play, play->store, &err)), "ok");
    assert_true(err.text[0] != '\0');
}

/* Checks the contents after a batch with a fault against the outcome that was reported. */
static bool settle(struct play *play, enum store_outcome outcome, const struct error *err,
                   const char *what) {
    if (outcome == STORE_OK || is_refusal(outcome, err)) {
        enum store_outcome expected = decide(play);
        if (outcome != expected)
            fail_msg("%s: a batch is %s (%s), the reference says %s", what,
                     store_outcome_name(outcome), err->text, store_outcome_name(expected));
    }
    if (outcome == STORE_UNKNOWN)
        expect_silent(play);
    open_again(play);
    unsigned before = play->played;
    bool there = is_there(play, what);
    if (there && outcome != STORE_UNKNOWN)
        fail_msg("%s: batch %u is %s (%s), and the store holds one more", what, before,
                 store_outcome_name(outcome), err->text);
    return there || outcome == STORE_OK;
}

/* --- the connection ------------------------------------------------------------------------------- */

/* Whether the server has committed if the connection is cut there. */
static bool server_has_it(enum cut cut) {
    return cut == CUT_AFTER || cut == CUT_IN_ANSWER || cut == CUT_BEHIND || cut == CUT_STALL_ANSWER;
}

static void cut_one(struct play *play, enum cut cut, bool reset) {
    struct error err = { 0 };
    unsigned before = play->played;
    cutter_set(cutter, cut, 1, reset);
    enum store_outcome outcome = commit_next(play, play->store, &err);
    if (!cutter_wait(cutter, patience_ms()))
        fail_msg("cut %s: no COMMIT came by at batch %u, which is %s", cut_name(cut), before,
                 store_outcome_name(outcome));
    if (outcome == STORE_OK && cut != CUT_BEHIND)
        fail_msg("cut %s: batch %u is OK, and nothing said so", cut_name(cut), before);
    bool there = settle(play, outcome, &err, cut_name(cut));
    if (there != server_has_it(cut) && play->played != before) /* not one that is refused anyway */
        fail_msg("cut %s: batch %u is %s in the store", cut_name(cut), before, there ? "" : "not ");
    if (play->played == before)
        play_one(play);
}

static void cut_every_commit(enum cut cut) {
    for (int reset = 0; reset < 2; reset++) {
        struct play play;
        begin(&play, cutter_url(cutter), "");
        cutter_set(cutter, CUT_NONE, 0, false);
        open_again(&play);
        while (play.played < STEPS)
            cut_one(&play, cut, reset);
        finish(&play);
    }
}

static int start_own(void **state);

TEST_GROUP(start_own, NULL)

TEST(a_commit_that_does_not_reach_the_server_is_not_there) {
    cut_every_commit(CUT_BEFORE);
}

TEST(half_a_commit_is_none) {
    cut_every_commit(CUT_IN_REQUEST);
}

TEST(a_commit_without_an_answer_is_unknown_and_there) {
    cut_every_commit(CUT_AFTER);
}

TEST(half_an_answer_is_none) {
    cut_every_commit(CUT_IN_ANSWER);
}

TEST(an_answer_with_nothing_behind_it_is_believed_or_not) {
    cut_every_commit(CUT_BEHIND);
}

/* The connection is up, but no data arrives: only a timeout detects it. */
static void stall_one(enum cut cut) {
    struct play play;
    struct error err = { 0 };
    begin(&play, cutter_url(cutter), "&answer_timeout=1");
    cutter_set(cutter, CUT_NONE, 0, false);
    open_again(&play);
    while (play.played < 3)
        play_one(&play);
    cutter_set(cutter, cut, 1, false);
    enum store_outcome outcome = commit_next(&play, play.store, &err);
    assert_true(cutter_is_done(cutter));
    assert_string_equal(store_outcome_name(outcome), "unknown");
    bool there = settle(&play, outcome, &err, cut_name(cut));
    if (there != server_has_it(cut))
        fail_msg("%s: the batch is %sin the store", cut_name(cut), there ? "" : "not ");
    play_one(&play);
    finish(&play);
}

TEST(a_server_that_says_nothing_is_not_waited_for) {
    stall_one(CUT_STALL);
    stall_one(CUT_STALL_ANSWER);
}

static void give_up_waiting(int number) {
    static const char text[] =
        "loading still waits for a server that is silent: each wait needs a deadline\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
        (void)raise(SIGTERM); /* whose handler stops the server */
    _exit(1);
}

/* A table is six messages: the start of the copy, two with rows, the end of the copy, its completion, and ready. */
TEST(a_load_does_not_wait_for_a_server_that_says_nothing) {
    struct play play;
    begin(&play, cutter_url(cutter), "&answer_timeout=1");
    cutter_set(cutter, CUT_NONE, 0, false);
    signal(SIGALRM, give_up_waiting);
    (void)alarm((unsigned)patience_s());
    for (uint64_t nth = 1; nth <= 6; nth++) {
        struct store_totals totals;
        struct error err = { 0 };
        open_again(&play);
        cutter_set(cutter, CUT_STALL_REPLY, nth, false);
        int r = store_load(play.store, &(struct store_reader){ 0 }, &totals, &err);
        assert_true(cutter_is_done(cutter));
        if (r != -ETIMEDOUT || !strstr(err.text, "has not answered"))
            fail_msg("silent at message %u: %d, %s", (unsigned)nth, r, err.text);
        assert_non_null(store_why_broken(play.store));
    }
    (void)alarm(0);
    finish(&play);
}

/* --- the opening ---------------------------------------------------------------------------------- */

/* Opens with a cut at the n-th message; false: it has fewer messages. */
static bool cut_opening(struct play *play, enum cut cut, uint64_t nth) {
    struct error err = { 0 };
    play->store = store_close(play->store);
    cutter_set(cutter, cut, nth, nth % 2);
    int r = try_open(play, &err);
    bool done = cutter_is_done(cutter);
    if (r < 0 && !done)
        fail_msg("%s %u: it does not open: %s", cut_name(cut), (unsigned)nth, err.text);
    if (r < 0 && err.text[0] == '\0')
        fail_msg("%s %u: it does not open and does not say why", cut_name(cut), (unsigned)nth);
    cutter_set(cutter, CUT_NONE, 0, false);
    open_again(play);
    if (is_there(play, cut_name(cut)))
        fail_msg("%s %u: the opening has written a batch", cut_name(cut), (unsigned)nth);
    return done;
}

/* Each of the first ten messages, then in growing steps: a hundred similar statements are prepared after them. */
static uint64_t next_of(uint64_t nth) {
    return nth + 1 + nth / 10;
}

static void cut_every_opening(enum cut cut, unsigned least) {
    struct play play, fresh;
    uint64_t nth = 1;
    begin(&play, cutter_url(cutter), "");
    cutter_set(cutter, CUT_NONE, 0, false);
    open_again(&play);
    while (play.played < STEPS)
        play_one(&play);
    while (cut_opening(&play, cut, nth))
        nth = next_of(nth);
    if (nth < least)
        fail_msg("%s: an opening has only %u messages", cut_name(cut), (unsigned)nth);
    finish(&play);
    bool again = true; /* an opening that creates the schema first */
    for (nth = 1; again; nth = next_of(nth)) {
        begin(&fresh, cutter_url(cutter), "");
        again = cut_opening(&fresh, cut, nth);
        finish(&fresh);
    }
}

TEST(an_opening_that_is_cut_anywhere_leaves_a_store_that_opens) {
    cut_every_opening(CUT_MESSAGE, 5);
    cut_every_opening(CUT_REPLY, 10);
}

/* --- the server ----------------------------------------------------------------------------------- */

static const char *own; /* URL of a server that this test may kill */

static int start_own(void **state) {
    (void)state;
    own = own_server_start();
    return 0;
}

/* Commits without pauses until the server has stopped, waits for the process that stops it, and starts it again. */
static void play_until_broken(struct play *play, const char *verb, pid_t taker) {
    struct error err = { 0 };
    enum store_outcome outcome;
    int status = 0;
    for (;;) {
        outcome = commit_next(play, play->store, &err);
        if (outcome == STORE_UNKNOWN || (outcome == STORE_FAILED && !is_refusal(outcome, &err)))
            break;
        if (decide(play) != outcome)
            fail_msg("%s: a batch is %s (%s)", verb, store_outcome_name(outcome), err.text);
    }
    while (waitpid(taker, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_int_equal(status, 0);
    assert_int_equal(own_server_do("restart"), 0);
    (void)settle(play, outcome, &err, verb);
}

static void lose_the_server(const char *verb, int rounds) {
    struct play play;
    struct rng rng = { (uint64_t)seed };
    begin(&play, own, "");
    open_again(&play);
    for (int i = 0; i < rounds; i++)
        play_until_broken(&play, verb, own_server_begin(verb, NULL, (int)rng_below(&rng, 40)));
    if (play.played < (unsigned)rounds)
        fail_msg("%s: only %u batches were committed: it came too early", verb, play.played);
    finish(&play);
}

TEST(a_server_that_is_killed_loses_nothing) {
    lose_the_server("kill", ROUNDS);
}

TEST(a_server_that_is_stopped_loses_nothing) {
    lose_the_server("stop", ROUNDS / 2);
}

TEST(without_a_server_an_opening_says_so) {
    struct play play;
    struct error err = { 0 };
    begin(&play, own, "");
    assert_int_equal(own_server_do("stop"), 0);
    int r = try_open(&play, &err);
    assert_int_equal(own_server_do("start"), 0);
    assert_true(r < 0 && r != -EBUSY);
    assert_non_null(strstr(err.text, "127.0.0.1"));
    open_again(&play);
    finish(&play);
}

int main(int argc, char **argv) {
    struct error err = { 0 };
    server = getenv("SLUICE_TEST_POSTGRES");
    if (!server || (argc > 1 && number_parse_int(argv[1], &seed, &err) < 0)) {
        (void)fprintf(stderr, "test_faults: run it by `make test-postgres T=postgres_faults` %s\n",
                      err.text);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    cutter = cutter_new(server);
    int failed = tests_run();
    cutter = cutter_free(cutter);
    return failed;
}
