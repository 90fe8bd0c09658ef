/* test_bus_poster.c: posts from a worker thread: in order, each answered once; shutdown does not wait for a lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/macros.h"
#include "bus/poster.h"
#include "bus/reader.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/loop.h"

#define MANY 500

struct answers {
    struct loop *loop;
    unsigned count, wanted; /* the loop stops after the last expected answer */
    int results[MANY];
};

static char home[SCRATCH_PATH], web[96];
static struct loop *loop;
static struct bus_poster *poster;
static struct answers answers;

static int open_home(void **state) {
    (void)state;
    scratch_make(home, "bus");
    if (loop_new(&loop, NULL) < 0)
        return -1;
    snprintf(web, sizeof(web), "%s/bus/web.md", home);
    answers = (struct answers){ .loop = loop };
    return bus_poster_new(loop, home, &poster, NULL);
}

static int close_home(void **state) {
    (void)state;
    poster = bus_poster_free(poster);
    loop = loop_free(loop);
    scratch_remove(home);
    return 0;
}

static void answered(void *ctx, int result, const char *id, const struct error *err) {
    struct answers *a = ctx;
    assert_true((result == 0) == (id != NULL) && (result < 0) == (err != NULL));
    a->results[a->count++] = result;
    if (a->count == a->wanted)
        loop_stop(a->loop);
}

static void post(const char *id, const char *body) {
    struct bus_message message = { .id = id, .type = "FACT", .project = "web", .body = body };
    message.at = id ? 1731667252000 : 0;
    bus_post(poster, &message, id != NULL, answered, &answers);
}

static void wait_answers(unsigned count) {
    answers.wanted = count;
    if (answers.count < count)
        assert_int_equal(loop_run(loop, NULL), 0);
    assert_int_equal(answers.count, count);
}

static unsigned read_in_order(void) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    unsigned count = 0;
    char want[16];
    assert_int_equal(bus_reader_open(&reader, web, NULL), 0);
    while (bus_reader_next(&reader, &message, NULL) > 0) {
        snprintf(want, sizeof(want), "%u", count++);
        assert_string_equal(message->body, want);
    }
    return count;
}

#define POSTER_TEST(name_) TEST_WITH(name_, open_home, close_home)

POSTER_TEST(messages_are_appended_in_order_and_answered_once) {
    char body[16];
    assert_true(bus_poster_is_idle(poster));
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(body, sizeof(body), "%u", i);
        post(NULL, body); /* the caller may change the text at once */
    }
    assert_false(bus_poster_is_idle(poster));
    wait_answers(MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(answers.results[i], 0);
    assert_true(bus_poster_is_idle(poster));
    assert_int_equal(read_in_order(), MANY);
}

POSTER_TEST(a_duplicate_message_is_reported_as_such) {
    post("E1", "0");
    post("E1", "0");
    wait_answers(2);
    assert_int_equal(answers.results[0], 0);
    assert_int_equal(answers.results[1], 1);
    assert_int_equal(read_in_order(), 1);
}

POSTER_TEST(an_error_is_the_answer_of_its_message_alone) {
    struct bus_message message = { .type = "FACT", .project = "", .body = "x" };
    bus_post(poster, &message, false, answered, &answers);
    post(NULL, "0");
    wait_answers(2);
    assert_int_equal(answers.results[0], -EINVAL);
    assert_int_equal(answers.results[1], 0);
}

POSTER_TEST(shutdown_answers_everything_and_waits_for_no_lock) {
    post(NULL, "0");
    wait_answers(1);
    int held = open(web, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    for (unsigned i = 0; i < 10; i++)
        post(NULL, "never");
    poster = bus_poster_free(poster);
    assert_int_equal(answers.count, 11);
    for (unsigned i = 1; i < 11; i++)
        assert_true(answers.results[i] == -ESHUTDOWN || answers.results[i] == -ECANCELED);
    assert_int_equal(read_in_order(), 1);
    close(held);
}

/* --- several files ---------------------------------------------------------------------------- */

static void post_to_task(const char *task, const char *body) {
    struct bus_message message = { .type = "FACT", .project = "web", .task = task, .body = body };
    bus_post(poster, &message, false, answered, &answers);
}

POSTER_TEST(a_wait_for_a_lock_delays_no_other_answer) {
    post_to_task("web-1", "0");
    wait_answers(1);
    char path[128];
    snprintf(path, sizeof(path), "%s/bus/web/web-1.md", home);
    int held = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    post(NULL, "0");
    post_to_task("web-1", "1");
    wait_answers(2); /* the lock is still held */
    assert_int_equal(answers.results[1], 0);
    close(held);
    wait_answers(3);
    assert_int_equal(answers.results[2], 0);
}

POSTER_TEST(the_file_of_a_task_is_removed_after_its_pending_posts) {
    char path[128];
    snprintf(path, sizeof(path), "%s/bus/web/web-1.md", home);
    post_to_task("web-1", "0");
    bus_remove_later(poster, "web", "web-1");
    post(NULL, "0");
    wait_answers(2);
    assert_int_equal(answers.results[0], 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(read_in_order(), 1);
}

POSTER_TEST(the_thread_sleeps_if_the_files_do_not_exist) {
    bus_remove_later(poster, "web", "web-1");
    bus_retire_later(poster, "web", 1731667252000);
    assert_true(bus_poster_is_idle(poster));
}

POSTER_TEST(an_old_file_is_moved_in_its_turn) {
    post("E1", "0"); /* at 1731667252000 */
    bus_retire_later(poster, "web", 1731667252001);
    post(NULL, "0");
    wait_answers(2);
    assert_int_equal(read_in_order(), 1);
    snprintf(web, sizeof(web), "%s/bus/.old/web.md", home);
    assert_int_equal(read_in_order(), 1);
}
