/* test_postgres_await.c: waiting for a store that is in use, and the name of its holder. Needs
 * SLUICE_TEST_POSTGRES. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "kit.h"
#include "os/clock.h"
#include "store/await.h"

static size_t schema;
static char url[256], value[256];
static struct loop *loop;
static struct loop_timer *timer;
static struct store *holder;
static struct store_await *await;
static struct error last_error;
static int times, result;

static int set_up(void **state) {
    (void)state;
    schema++;
    kit_postgres_url(schema, url);
    times = 0;
    last_error = (struct error){ 0 };
    return loop_new(&loop, &last_error);
}

static int tear_down(void **state) {
    (void)state;
    await = store_await_cancel(await);
    holder = store_close(holder);
    loop_timer_free(loop, timer);
    timer = NULL;
    loop = loop_free(loop);
    return 0;
}

static void hold(const char *who) {
    struct store_options options = { .url = url, .who = who };
    struct error err = { 0 };
    if (store_open(&options, &holder, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void is_free(void *ctx, int r, const struct error *err) {
    (void)ctx;
    times++;
    result = r;
    last_error = err ? *err : (struct error){ 0 };
    loop_stop(loop);
}

static void wait_for_it(void) {
    struct error err = { 0 };
    if (store_await(loop, url, is_free, NULL, &await, &err) < 0)
        fail_msg("%s", err.text);
}

/* Calls the function from the loop; the wait must not end before. */
static void soon(loop_due due) {
    timer = loop_timer_new(loop, due, NULL);
    loop_timer_set(loop, timer, clock_read_steady() + 400);
}

static void run_loop(void) {
    struct error err = { 0 };
    assert_int_equal(loop_run(loop, &err), 0);
    assert_int_equal(times, 1);
}

static void let_go(void *ctx) {
    (void)ctx;
    assert_int_equal(times, 0);
    holder = store_close(holder);
}

static void break_off(void *ctx) {
    (void)ctx;
    assert_int_equal(times, 0);
    kit_postgres_run(schema, "SELECT pg_terminate_backend(holder_pid) FROM store", value);
    assert_string_equal(value, "t");
}

/* Opens the store with the connection that waited: no other process can get it in between. */
static void take_over(uint64_t epoch, bool was_unclean) {
    struct store_options options = { .url = url, .awaited = await };
    struct store_report report = { 0 };
    struct store *mine = NULL, *other = NULL;
    struct error err = { 0 };
    await = NULL;
    if (store_open(&options, &mine, &report, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(report.epoch, epoch);
    assert_int_equal(report.was_unclean, was_unclean);
    assert_int_equal(store_open(&(struct store_options){ .url = url }, &other, NULL, &err), -EBUSY);
    struct store_batch *batch = store_batch_new();
    store_put_note(batch, &(struct note_row){ .name = "mine", .text = "noted" });
    kit_commit(mine, batch);
    store_batch_free(batch);
    store_close(mine);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(who_waits_has_it_when_it_is_closed) {
    hold("");
    wait_for_it();
    soon(let_go);
    run_loop();
    assert_int_equal(result, 0);
    take_over(2, false);
}

FIXTURE_TEST(who_waits_has_it_when_the_holder_is_lost) {
    hold("");
    wait_for_it();
    soon(break_off);
    run_loop();
    assert_int_equal(result, 0);
    take_over(2, true);
}

FIXTURE_TEST(a_store_that_is_not_in_use_is_free) {
    wait_for_it();
    run_loop();
    assert_int_equal(result, 0);
    take_over(1, false);
}

/* In the callback itself, as a daemon may do it. */
static void take_at_once(void *ctx, int r, const struct error *err) {
    is_free(ctx, r, err);
    take_over(1, false);
}

FIXTURE_TEST(the_callback_may_open_the_store) {
    struct error err = { 0 };
    assert_int_equal(store_await(loop, url, take_at_once, NULL, &await, &err), 0);
    run_loop();
}

FIXTURE_TEST(a_canceled_wait_is_not_called_back) {
    hold("");
    wait_for_it();
    await = store_await_cancel(await);
    wait_for_it(); /* a second wait, which succeeds */
    soon(let_go);
    run_loop();
    assert_int_equal(result, 0);
}

FIXTURE_TEST(an_unreachable_server_is_reported) {
    struct error err = { 0 };
    int r = store_await(loop, "postgresql://me@127.0.0.1:1/x", is_free, NULL, &await, &err);
    if (r == 0) {
        run_loop();
        r = result;
    }
    assert_int_equal(r, -ECONNREFUSED);
}

static int ticks;

static void tick(void *ctx) {
    (void)ctx;
    ticks++;
    assert_int_equal(times, 0);
}

/* The frozen host accepts connections and sends nothing. The wait continues with the next host, and the loop is not
 * blocked meanwhile. */
FIXTURE_TEST(a_frozen_host_is_left_for_the_next_one) {
    char frozen[32];
    int fd = kit_postgres_frozen(frozen);
    kit_postgres_second(schema, frozen, url);
    ticks = 0;
    wait_for_it();
    soon(tick);
    run_loop();
    assert_int_equal(result, 0);
    assert_int_equal(ticks, 1);
    take_over(1, false);
    int tried = kit_postgres_tried(fd);
    close(fd);
    assert_int_equal(tried,
                     2); /* by the wait and by the opener that comes too late; not by the reader */
}

/* The first host refuses the connection at once, the second one times out. */
FIXTURE_TEST(when_no_host_can_be_used_the_last_one_is_reported) {
    char frozen[32], words[128];
    int fd = kit_postgres_frozen(frozen);
    (void)snprintf(url, sizeof(url), "postgresql://me:s3cret@127.0.0.1:1,%s/x?connect_timeout=2",
                   frozen);
    (void)snprintf(words, sizeof(words), "2 hosts were tried, the last one was '%s': ", frozen);
    wait_for_it();
    run_loop();
    close(fd);
    assert_int_equal(result, -ETIMEDOUT);
    assert_non_null(strstr(last_error.text, words));
    assert_null(strstr(last_error.text, "s3cret"));
}

FIXTURE_TEST(a_frozen_host_does_not_hide_who_has_it) {
    char frozen[32], who[STORE_WHO_MAX] = "";
    struct error err = { 0 };
    hold("here/17");
    int fd = kit_postgres_frozen(frozen);
    kit_postgres_second(schema, frozen, url);
    if (store_holder(url, who, &err) < 0)
        fail_msg("%s", err.text);
    close(fd);
    assert_string_equal(who, "here/17");
}

static bool no_watches; /* as if the user had reached max_user_watches */

/* Replaces the function of the C library. */
int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    if (no_watches && operation == EPOLL_CTL_ADD) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, set, operation, fd, event);
}

/* The caller has no handle yet, so a callback would be for a wait that it cannot cancel. */
FIXTURE_TEST(a_wait_that_cannot_begin_only_returns_an_error) {
    struct error err = { 0 };
    no_watches = true;
    int r = store_await(loop, url, is_free, NULL, &await, &err);
    no_watches = false;
    assert_int_equal(r, -ENOSPC);
    assert_non_null(strstr(err.text, "cannot watch the connection"));
    assert_null(await);
    assert_int_equal(times, 0);
}

static void forbid_watches(void *ctx) {
    (void)ctx;
    no_watches = true;
}

/* The connection is watched again when it is up. */
FIXTURE_TEST(a_wait_that_cannot_continue_fails_once) {
    wait_for_it();
    timer = loop_timer_new(loop, forbid_watches, NULL);
    loop_timer_set(loop, timer, clock_read_steady());
    run_loop();
    no_watches = false;
    assert_int_equal(result, -ENOSPC);
    await = store_await_cancel(await);
}

static const char *awaited_name;

static void stop_when_known(void *ctx) {
    (void)ctx;
    char who[STORE_WHO_MAX] = "";
    if (store_await_holder(await, who) == 0 && strcmp(who, awaited_name) == 0)
        loop_stop(loop);
}

static void run_until_known(const char *name) {
    struct error err = { 0 };
    awaited_name = name;
    loop_set_round(loop, stop_when_known, NULL);
    assert_int_equal(loop_run(loop, &err), 0);
    loop_set_round(loop, NULL, NULL);
    assert_int_equal(times, 0);
}

/* Over the connection that waits: the query does not block. */
FIXTURE_TEST(who_waits_hears_who_has_it) {
    char who[STORE_WHO_MAX] = "x";
    hold("here/17 unix:/run/sluice.sock");
    wait_for_it();
    assert_int_equal(store_await_holder(await, who), -EAGAIN);
    run_until_known("here/17 unix:/run/sluice.sock");
    kit_postgres_run(schema, "UPDATE store SET holder = 'there/18'", value);
    run_until_known("there/18");
    soon(let_go); /* and still gets the store */
    run_loop();
    assert_int_equal(result, 0);
}

FIXTURE_TEST(a_holder_without_a_table_has_no_name) {
    hold("here/17");
    kit_postgres_run(schema, "ALTER TABLE store RENAME TO hidden", value);
    wait_for_it();
    run_until_known("");
    kit_postgres_run(schema, "ALTER TABLE hidden RENAME TO store", value);
    soon(let_go);
    run_loop();
    assert_int_equal(result, 0);
}

FIXTURE_TEST(who_has_it_says_so) {
    char who[STORE_WHO_MAX] = "x";
    struct error err = { 0 };
    assert_int_equal(store_holder(url, who, &err), 0);
    assert_string_equal(who, ""); /* not even a schema */
    hold("here/17 unix:/run/sluice.sock");
    assert_int_equal(store_holder(url, who, &err), 0);
    assert_string_equal(who, "here/17 unix:/run/sluice.sock");
    struct store *other = NULL;
    assert_int_equal(store_open(&(struct store_options){ .url = url }, &other, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.text, "in use by here/17 unix:/run/sluice.sock"));
    holder = store_close(holder);
    assert_int_equal(store_holder(url, who, &err), 0);
    assert_string_equal(who, "");
}

/* The row of a holder that died does not count. */
FIXTURE_TEST(a_holder_that_has_ended_does_not_count) {
    char who[STORE_WHO_MAX] = "x";
    struct error err = { 0 };
    hold("here/17");
    wait_for_it();
    soon(break_off);
    run_loop();
    await = store_await_cancel(await);
    holder = store_close(holder);
    hold(NULL);
    assert_int_equal(store_holder(url, who, &err), 0);
    assert_string_equal(who, "");
}

int main(void) {
    if (!kit_postgres())
        return 77; /* skipped: no server */
    int failed = tests_run();
    kit_postgres_finish();
    return failed;
}
