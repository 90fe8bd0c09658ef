/* test_front.c: what the front of the store guarantees for every backend.
 *
 * The fake backend answers when the test says so, as a database on the network would. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "kit.h"
#include "store/store_internal.h"

static struct {
    unsigned commits, asks, cares, closes;
    size_t last_limit;
} seen;

static int later_open(const struct store_options *options, struct store **ret_store,
                      struct store_report *ret_report, struct error *err) {
    if (strcmp(options->url, "nowhere") == 0)
        return error_set(err, -ENOENT, "there is no such place");
    ret_report->epoch = 9;
    *ret_store = xcalloc(1, sizeof(struct store));
    return 0;
}

static void later_close(struct store *store) {
    seen.closes++;
    free(store);
}

static int later_load(struct store *store, const struct store_reader *reader,
                      struct store_totals *ret_totals, struct error *err) {
    (void)store;
    (void)reader;
    ret_totals->tasks = 1;
    return error_set(err, -EIO, "it cannot be read");
}

static void later_commit(struct store *store, const struct store_batch *batch) {
    (void)store;
    assert_true(batch->in_flight);
    seen.commits++;
}

static void later_query(struct store *store, const struct store_query *question,
                        store_answered done, void *ctx) {
    (void)store;
    seen.asks++;
    seen.last_limit = question->limit;
    done(ctx, &(struct store_answer){ 0 }, NULL);
}

static time_ms later_maintain(struct store *store, time_ms idle_ms) {
    (void)store;
    seen.cares++;
    return idle_ms + 1;
}

static void later_info(const struct store *store, struct store_info *ret) {
    (void)store;
    ret->place = "later";
}

static const struct store_backend later = {
    .name = "later",
    .open = later_open,
    .close = later_close,
    .load = later_load,
    .commit = later_commit,
    .query = later_query,
    .maintain = later_maintain,
    .info = later_info,
};

struct fixture {
    struct store *store;
    struct store_batch *batch;
    unsigned answers;
    enum store_outcome outcome;
    struct error err;
};

static int set_up(void **state) {
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct store_options options = { .url = "somewhere" };
    memset(&seen, 0, sizeof(seen));
    f->batch = store_batch_new();
    *state = f;
    return store_open_backend(&later, &options, &f->store, NULL, NULL);
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    store_batch_free(f->batch);
    store_close(f->store);
    free(f);
    return seen.closes == 1 ? 0 : -1;
}

static void committed(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct fixture *f = ctx;
    f->answers++;
    f->outcome = outcome;
    f->err = err ? *err : (struct error){ 0 };
}

static void answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct fixture *f = ctx;
    assert_int_equal(answer->count, 0);
    f->answers++;
    f->err = err ? *err : (struct error){ 0 };
}

static void commit(struct fixture *f) {
    store_put_pause(f->batch, &(struct pause_row){ .paused = true });
    store_commit(f->store, f->batch, committed, f);
}

TEST_WITH(an_answer_may_come_later, set_up, tear_down) {
    struct fixture *f = *state;
    commit(f);
    assert_int_equal(seen.commits, 1);
    assert_int_equal(f->answers, 0);
    /* Meanwhile queries are answered; maintenance waits. */
    store_query(f->store, &(struct store_query){ .kind = QUERY_EVENTS }, answered, f);
    assert_int_equal(f->answers, 1);
    assert_true(store_maintain(f->store, 0) == TIME_NEVER);
    assert_int_equal(seen.cares, 0);
    store_finish_commit(f->store, STORE_OK, NULL);
    assert_int_equal(f->answers, 2);
    assert_int_equal(f->outcome, STORE_OK);
    assert_int_equal(store_maintain(f->store, 5), 6);

    struct store_info info;
    store_info(f->store, &info);
    assert_int_equal(info.commits, 1);
    assert_int_equal(info.rows, 1);
    assert_string_equal(info.place, "later");
    assert_string_equal(info.backend, "later");
}

/* Runs in a child process, which must fail an assertion. */
static void expect_abort(void (*act)(struct fixture *f), struct fixture *f) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
        (void)close(STDERR_FILENO);
        act(f);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void commit_twice(struct fixture *f) {
    struct store_batch *second = store_batch_new();
    commit(f);
    store_put_pause(second, &(struct pause_row){ .paused = true });
    store_commit(f->store, second, committed, f);
}

static void change_in_flight(struct fixture *f) {
    commit(f);
    store_put_pause(f->batch, &(struct pause_row){ .paused = false });
}

static void close_in_flight(struct fixture *f) {
    commit(f);
    store_close(f->store);
}

static void add_task_without_number(struct fixture *f) {
    struct task_row row = kit_task(1);
    row.id = 0;
    store_add_task(f->batch, &row);
}

TEST_WITH(mistakes_of_the_caller_do_not_pass, set_up, tear_down) {
    struct fixture *f = *state;
    expect_abort(commit_twice, f);
    expect_abort(change_in_flight, f);
    expect_abort(close_in_flight, f);
    expect_abort(add_task_without_number, f);
}

TEST_WITH(an_empty_batch_is_ok_at_once, set_up, tear_down) {
    struct fixture *f = *state;
    store_commit(f->store, f->batch, committed, f);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->outcome, STORE_OK);
    assert_int_equal(seen.commits, 0);
}

TEST_WITH(a_failed_commit_is_not_the_end, set_up, tear_down) {
    struct fixture *f = *state;
    struct error err = { 0 };
    error_set(&err, -ENOSPC, "the disk is full");
    commit(f);
    store_finish_commit(f->store, STORE_FAILED, &err);
    assert_int_equal(f->outcome, STORE_FAILED);
    assert_int_equal(f->err.code, -ENOSPC);
    store_batch_clear(f->batch);
    commit(f);
    store_finish_commit(f->store, STORE_OK, NULL);
    assert_int_equal(f->outcome, STORE_OK);
    struct store_info info;
    store_info(f->store, &info);
    assert_int_equal(info.commits, 1);
    assert_false(info.broken);
}

static void copied(void *ctx, const struct error *err) {
    *(struct error *)ctx = *err;
}

TEST_WITH(after_an_unknown_outcome_nothing_is_answered, set_up, tear_down) {
    struct fixture *f = *state;
    struct error err = { 0 };
    error_set(&err, -EIO, "the disk is broken");
    commit(f);
    store_finish_commit(f->store, STORE_UNKNOWN, &err);
    assert_int_equal(f->outcome, STORE_UNKNOWN);
    struct store_info info;
    store_info(f->store, &info);
    assert_true(info.broken);

    store_batch_clear(f->batch);
    commit(f);
    assert_int_equal(seen.commits, 1); /* the backend is no longer called */
    assert_int_equal(f->outcome, STORE_UNKNOWN);
    assert_string_equal(f->err.text, "the store has stopped: the disk is broken");
    store_query(f->store, &(struct store_query){ .kind = QUERY_EVENTS }, answered, f);
    assert_int_equal(seen.asks, 0);
    assert_int_equal(f->err.code, -EIO);
    struct store_totals totals = { 0 };
    assert_int_equal(store_load(f->store, &(struct store_reader){ 0 }, &totals, &f->err), -EIO);
    assert_true(store_maintain(f->store, 0) == TIME_NEVER);
    assert_int_equal(seen.cares, 0);
    store_backup(f->store, "copy", copied, &f->err);
    assert_int_equal(f->err.code, -EIO);
    store_batch_clear(f->batch);
    store_commit(f->store, f->batch, committed, f); /* not even an empty one is OK */
    assert_int_equal(f->outcome, STORE_UNKNOWN);
}

static void commit_again(void *ctx, enum store_outcome outcome, const struct error *err) {
    committed(ctx, outcome, err);
    store_batch_clear(((struct fixture *)ctx)->batch);
    commit(ctx);
}

TEST_WITH(the_next_commit_may_come_from_the_answer, set_up, tear_down) {
    struct fixture *f = *state;
    store_put_pause(f->batch, &(struct pause_row){ .paused = true });
    store_commit(f->store, f->batch, commit_again, f);
    store_finish_commit(f->store, STORE_OK, NULL);
    assert_int_equal(seen.commits, 2);
    assert_int_equal(f->answers, 1);
    store_finish_commit(f->store, STORE_OK, NULL);
    assert_int_equal(f->answers, 2);
}

TEST_WITH(a_question_has_a_limit, set_up, tear_down) {
    struct fixture *f = *state;
    struct store_query question = { .kind = QUERY_EVENTS };
    store_query(f->store, &question, answered, f);
    assert_int_equal(seen.last_limit, STORE_ANSWER_MAX);
    question.limit = 7;
    store_query(f->store, &question, answered, f);
    assert_int_equal(seen.last_limit, 7);
    question.limit = SIZE_MAX;
    store_query(f->store, &question, answered, f);
    assert_int_equal(seen.last_limit, STORE_ANSWER_MAX);
}

TEST_WITH(outputs_are_untouched_on_failure, set_up, tear_down) {
    struct fixture *f = *state;
    struct error err = { 0 };
    struct store_totals totals = { .tasks = 99 };
    assert_int_equal(store_load(f->store, &(struct store_reader){ 0 }, &totals, &err), -EIO);
    assert_int_equal(totals.tasks, 99);
    struct store *store = NULL;
    struct store_report report = { .epoch = 99 };
    struct store_options options = { .url = "nowhere" };
    assert_int_equal(store_open_backend(&later, &options, &store, &report, &err), -ENOENT);
    assert_null(store);
    assert_int_equal(report.epoch, 99);
    options.url = "";
    assert_int_equal(store_open(&options, &store, &report, &err), -EINVAL);
    assert_null(store);
}

TEST_WITH(what_a_backend_cannot_do_is_an_error, set_up, tear_down) {
    struct fixture *f = *state;
    struct error err = { 0 };
    char kept[512];
    store_backup(f->store, "copy", copied, &err);
    assert_int_equal(err.code, -ENOTSUP);
    assert_string_equal(err.text, "a store in later cannot be copied");
    assert_int_equal(store_restore("memory:", "copy", kept, &err), -ENOTSUP);
}

TEST_WITH(every_outcome_has_a_name, set_up, tear_down) {
    for (unsigned i = 0; i < STORE_OUTCOME_MAX; i++)
        assert_true(strlen(store_outcome_name((enum store_outcome)i)) > 0);
}
