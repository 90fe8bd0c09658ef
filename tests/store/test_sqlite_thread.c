/* test_sqlite_thread.c: a slow commit runs in a worker thread, and its changes are not visible before they are on disk. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "fault_vfs.h"
#include "harness/test.h"
#include "kit.h"

struct scene {
    struct kit_file *file;
    struct store *store;
    struct store_batch *batch;
    bool committed, answered, copied;
    unsigned turn, committed_turn, answered_turn; /* which came first */
    enum store_outcome outcome;
    int commit_error, ask_error, copy_error;
    size_t answers;
    unsigned words; /* of SQLite's */
};

static void keep_message(void *ctx, const char *text) {
    (void)text;
    ((struct scene *)ctx)->words++;
}

static void open_store(struct scene *s, bool is_slow) {
    struct error err = { 0 };
    const struct store_options options = { .url = s->file->path,
                                           .loop = kit_loop,
                                           .log = keep_message,
                                           .ctx = s,
                                           .reserve_bytes = -1,
                                           .is_slow = is_slow };
    if (store_open(&options, &s->store, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static int set_up(void **state) {
    struct error err = { 0 };
    struct scene *s = xcalloc(1, sizeof(*s));
    fault_set(FAULT_NONE, 0, 0);
    assert_int_equal(loop_new(&kit_loop, &err), 0);
    void *file = NULL;
    (void)kit_file_open(&file);
    s->file = file;
    s->batch = store_batch_new();
    open_store(s, true);
    *state = s;
    return 0;
}

static int set_up_faulty(void **state) {
    static bool is_installed;
    if (!is_installed)
        fault_install();
    is_installed = true;
    return set_up(state);
}

static int tear_down(void **state) {
    struct scene *s = *state;
    void *file = s->file;
    fault_set(FAULT_NONE, 0, 0);
    store_close(s->store);
    store_batch_free(s->batch);
    (void)kit_file_close(&file);
    kit_loop = loop_free(kit_loop);
    free(s);
    return 0;
}

static void look(struct scene *s) {
    if (s->committed && s->answered)
        loop_stop(kit_loop);
}

static void has_committed(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct scene *s = ctx;
    assert_false(s->committed);
    s->committed = true;
    s->committed_turn = ++s->turn;
    s->outcome = outcome;
    s->commit_error = err ? err->code : 0;
    look(s);
}

static void has_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct scene *s = ctx;
    assert_false(s->answered);
    s->answered = true;
    s->answered_turn = ++s->turn;
    s->answers = answer->count;
    s->ask_error = err ? err->code : 0;
    look(s);
}

static void has_copied(void *ctx, const struct error *err) {
    struct scene *s = ctx;
    s->copied = true;
    s->copy_error = err ? err->code : 0;
}

static void commit(struct scene *s, task_id id) {
    struct task_row row = kit_task(id);
    struct spec_row spec = kit_spec(id);
    store_batch_clear(s->batch);
    store_add_task(s->batch, &row);
    store_add_spec(s->batch, &spec);
    s->committed = false;
    store_commit(s->store, s->batch, has_committed, s);
}

/* The strings of the query are freed before it is answered. */
static void ask(struct scene *s, task_id id) {
    task_id tasks[] = { id };
    s->answered = false;
    store_query(s->store,
                &(struct store_query){ .kind = QUERY_SPECS, .tasks = tasks, .task_count = 1 },
                has_answered, s);
    tasks[0] = 0;
}

static void run(struct scene *s) {
    struct error err = { 0 };
    if (!s->committed || !s->answered)
        assert_int_equal(loop_run(kit_loop, &err), 0);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up_faulty, tear_down)

/* Must be the first test: SQLite accepts a log callback only before another VFS is installed. */
TEST_WITH(a_failed_constraint_is_reported_and_the_store_continues, set_up, tear_down) {
    struct scene *s = *state;
    commit(s, 1);
    s->answered = true;
    run(s);
    commit(s, 1);
    ask(s, 1);
    run(s);
    assert_int_equal(s->outcome, STORE_FAILED);
    assert_int_equal(s->commit_error, -EEXIST);
    assert_true(s->words > 0); /* messages of SQLite in the worker thread reached the log */
    assert_int_equal(s->answers, 1);
    commit(s, 2);
    s->answered = true;
    run(s);
    assert_int_equal(s->outcome, STORE_OK);
}

FIXTURE_TEST(a_question_waits_for_the_commit_before_it) {
    struct scene *s = *state;
    commit(s, 1);
    assert_false(s->committed);
    ask(s, 1);
    assert_false(s->answered); /* however much is already written */
    run(s);
    assert_int_equal(s->outcome, STORE_OK);
    assert_int_equal(s->ask_error, 0);
    assert_int_equal(s->answers, 1);
    ask(s, 1); /* now it is answered at once */
    assert_true(s->answered);
}

FIXTURE_TEST(a_quick_commit_is_made_in_the_loop) {
    struct scene *s = *state;
    s->store = store_close(s->store);
    open_store(s, false);
    commit(s, 1);
    assert_true(s->committed);
}

FIXTURE_TEST(a_large_batch_is_not) {
    struct scene *s = *state;
    s->store = store_close(s->store);
    open_store(s, false);
    for (uint64_t seq = 1; seq <= 1000; seq++) {
        struct event_row event = kit_event(seq, 0);
        store_add_event(s->batch, &event);
    }
    store_commit(s->store, s->batch, has_committed, s);
    assert_false(s->committed);
    s->answered = true;
    run(s);
    assert_int_equal(s->outcome, STORE_OK);
}

/* At each disk operation of a commit. */
FIXTURE_TEST(what_the_disk_refuses_there_stops_the_store) {
    struct scene *s = *state;
    task_id id = 0;
    unsigned stopped = 0;
    for (uint64_t at = 1;; at++) {
        fault_set(FAULT_EIO, at, 1);
        commit(s, ++id);
        ask(s, id);
        run(s);
        if (!fault_happened())
            break; /* the commit has no more operations */
        assert_int_equal(s->outcome, STORE_UNKNOWN);
        assert_true(s->commit_error < 0 && s->ask_error < 0);
        assert_int_equal(s->answers, 0);
        stopped++;
        fault_set(FAULT_NONE, 0, 0);
        s->store = store_close(s->store);
        open_store(s, true);
        id += 100; /* the batch may be there or not */
    }
    assert_true(stopped >= 2); /* at least a write and a sync */
    assert_int_equal(s->outcome, STORE_OK);
}

FIXTURE_TEST(a_backup_that_is_ordered_meanwhile_has_what_is_committed) {
    struct scene *s = *state;
    _cleanup_(freep) char *copy = kit_path(s->file->folder, "copy.db");
    commit(s, 1);
    store_backup(s->store, copy, has_copied, s);
    assert_false(s->copied);
    s->answered = true;
    run(s);
    while (!s->copied)
        (void)store_maintain(s->store, 0);
    assert_int_equal(s->copy_error, 0);
    struct store *other = kit_open(copy, NULL);
    assert_int_equal(kit_load(other, &(struct store_reader){ 0 }).tasks, 1);
    store_close(other);
}

FIXTURE_TEST(one_that_is_called_off_before_it_began_makes_no_copy) {
    struct scene *s = *state;
    _cleanup_(freep) char *copy = kit_path(s->file->folder, "copy.db");
    commit(s, 1);
    store_backup(s->store, copy, has_copied, s);
    store_backup_cancel(s->store);
    assert_true(s->copied);
    assert_int_equal(s->copy_error, -ESHUTDOWN);
    s->answered = true;
    run(s);
    (void)store_maintain(s->store, 0);
    struct store_summary found = { 0 };
    assert_int_equal(store_summary(copy, &found, NULL), 0);
    assert_false(found.there);
}

FIXTURE_TEST(a_store_that_is_given_up_has_nothing_on_its_way) {
    struct scene *s = *state;
    struct error why = { 0 };
    (void)error_set(&why, -EIO, "the daemon ends");
    commit(s, 1);
    ask(s, 1);
    store_give_up(s->store, &why);
    assert_true(s->committed && s->answered);
    assert_int_equal(s->ask_error, -EIO);
    s->store = store_close(s->store);
    open_store(s, true);
    s->answered = false;
    ask(s, 1);
    assert_int_equal(s->answers, 1); /* the commit was made nevertheless */
}
