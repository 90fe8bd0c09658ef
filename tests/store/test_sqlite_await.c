/* test_sqlite_await.c: waiting for a store file that is in use, until its lock is released. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "kit.h"
#include "os/loop.h"
#include "store/await.h"

struct fixture {
    char *folder, *path;
    struct loop *loop;
    struct loop_timer *timer;
    struct store *holder; /* closed by the timer */
    struct error err;
    int calls, result;
};

static int set_up(void **state) {
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->folder = kit_folder();
    f->path = kit_path(f->folder, "store.db");
    assert_int_equal(loop_new(&f->loop, &f->err), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    store_close(f->holder);
    loop_timer_free(f->loop, f->timer);
    loop_free(f->loop);
    kit_remove_folder(f->folder);
    free(f->folder);
    free(f->path);
    free(f);
    return 0;
}

static void is_free(void *ctx, int r, const struct error *err) {
    struct fixture *f = ctx;
    f->calls++;
    f->result = r;
    assert_true(r == 0 || err);
    loop_stop(f->loop);
}

static void let_go(void *ctx) {
    struct fixture *f = ctx;
    assert_int_equal(f->calls, 0); /* not before */
    f->holder = store_close(f->holder);
}

static int open_as(struct fixture *f, const char *who, struct store_await *awaited,
                   struct store **ret) {
    struct store_options options = {
        .url = f->path, .who = who, .awaited = awaited, .reserve_bytes = -1
    };
    return store_open(&options, ret, NULL, &f->err);
}

static void hold(struct fixture *f, const char *who) {
    assert_int_equal(open_as(f, who, NULL, &f->holder), 0);
}

#define CASE(name_) TEST_WITH(name_, set_up, tear_down)

CASE(test_who_waits_gets_it_when_it_is_free) {
    struct fixture *f = *state;
    struct store_await *await = NULL;
    struct store *store = NULL;
    hold(f, "a/1");
    assert_int_equal(store_await(f->loop, f->path, is_free, f, &await, &f->err), 0);
    f->timer = loop_timer_new(f->loop, let_go, f);
    loop_timer_set(f->loop, f->timer, loop_now_steady(f->loop) + 250);
    assert_int_equal(loop_run(f->loop, &f->err), 0);
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->result, 0);
    assert_int_equal(open_as(f, "c/3", NULL, &store),
                     -EBUSY); /* no other process gets it in between */
    assert_int_equal(open_as(f, "b/2", await, &store), 0);
    store_close(store);
}

CASE(test_who_gives_up_waiting_holds_nothing) {
    struct fixture *f = *state;
    struct store_await *await = NULL;
    hold(f, "a/1");
    assert_int_equal(store_await(f->loop, f->path, is_free, f, &await, &f->err), 0);
    assert_null(store_await_cancel(await));
    f->holder = store_close(f->holder);
    hold(f, "b/2");
    assert_int_equal(f->calls, 0);
}

CASE(test_the_holder_is_named_when_it_is_in_use) {
    struct fixture *f = *state;
    struct store *store = NULL;
    char who[STORE_WHO_MAX] = "?";
    assert_int_equal(store_holder(f->path, who, &f->err), 0);
    assert_string_equal(who, "");
    hold(f, "a/1 unix:/run/a.sock");
    assert_int_equal(store_holder(f->path, who, &f->err), 0);
    assert_string_equal(who, "a/1 unix:/run/a.sock");
    assert_int_equal(open_as(f, "b/2", NULL, &store), -EBUSY);
    assert_non_null(strstr(f->err.text, "a/1 unix:/run/a.sock"));
    struct store_await *await = NULL;
    who[0] = '?';
    assert_int_equal(store_await(f->loop, f->path, is_free, f, &await, &f->err), 0);
    assert_int_equal(store_await_holder(await, who), 0);
    assert_string_equal(who, "a/1 unix:/run/a.sock");
    await = store_await_cancel(await);
    f->holder = store_close(f->holder);
    assert_int_equal(store_holder(f->path, who, &f->err), 0);
    assert_string_equal(who, "");
}

/* Whatever the file contains, a dead process holds no lock. */
CASE(test_a_dead_holder_is_none) {
    struct fixture *f = *state;
    char who[STORE_WHO_MAX] = "?";
    pid_t child = fork();
    if (child == 0) {
        hold(f, "a/1");
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(store_holder(f->path, who, &f->err), 0);
    assert_string_equal(who, "");
    struct store_await *await = NULL;
    assert_int_equal(store_await(f->loop, f->path, is_free, f, &await, &f->err), 0);
    assert_int_equal(loop_run(f->loop, &f->err), 0);
    assert_int_equal(f->result, 0);
    assert_int_equal(open_as(f, "b/2", await, &f->holder), 0);
}

CASE(test_a_store_in_memory_cannot_be_waited_for) {
    struct fixture *f = *state;
    struct store_await *await = NULL;
    char who[STORE_WHO_MAX];
    assert_int_equal(store_await(f->loop, "memory:", is_free, f, &await, &f->err), -ENOTSUP);
    assert_int_equal(store_holder("memory:", who, &f->err), -ENOTSUP);
}
