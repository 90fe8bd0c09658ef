/* test_os_loop.c: the loop calls back for every ready descriptor, runs timers in order, and does not poll. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "os/loop.h"

struct world {
    struct loop *loop;
    int fds[2];
    struct loop_watch *watch, *other;
    struct loop_timer *timers[3];
    int order[8];
    int count, rounds, reads;
};

static int setup(void **state) {
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    assert_int_equal(loop_new(&w->loop, NULL), 0);
    assert_int_equal(pipe2(w->fds, O_CLOEXEC | O_NONBLOCK), 0);
    *state = w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    loop_free(w->loop);
    close(w->fds[0]);
    close(w->fds[1]);
    free(w);
    return 0;
}

static void stop(void *ctx) {
    struct world *w = ctx;
    loop_stop(w->loop);
}

static void run(struct world *w) {
    struct error err = { 0 };
    assert_int_equal(loop_run(w->loop, &err), 0);
}

/* --- timers ---------------------------------------------------------------------------------- */

#define NOTE(n)                                                                                    \
    static void note_##n(void *ctx) {                                                              \
        struct world *w = ctx;                                                                     \
        w->order[w->count++] = n;                                                                  \
    }
NOTE(0)
NOTE(1)

static void note_2_and_stop(void *ctx) {
    struct world *w = ctx;
    w->order[w->count++] = 2;
    loop_stop(w->loop);
}

#define LOOP_TEST(name_) TEST_WITH(name_, setup, teardown)

LOOP_TEST(timers_come_by_time_and_then_as_they_were_set) {
    struct world *w = *state;
    time_ms now = loop_now_steady(w->loop);
    w->timers[0] = loop_timer_new(w->loop, note_0, w);
    w->timers[1] = loop_timer_new(w->loop, note_1, w);
    w->timers[2] = loop_timer_new(w->loop, note_2_and_stop, w);
    loop_timer_set(w->loop, w->timers[2], now + 2);
    loop_timer_set(w->loop, w->timers[1], now);
    loop_timer_set(w->loop, w->timers[0], now);
    run(w);
    assert_int_equal(w->count, 3);
    assert_int_equal(w->order[0], 1);
    assert_int_equal(w->order[1], 0);
    assert_int_equal(w->order[2], 2);
}

LOOP_TEST(a_cleared_timer_stays_silent) {
    struct world *w = *state;
    time_ms now = loop_now_steady(w->loop);
    w->timers[0] = loop_timer_new(w->loop, note_0, w);
    w->timers[1] = loop_timer_new(w->loop, note_2_and_stop, w);
    loop_timer_set(w->loop, w->timers[0], now);
    loop_timer_set(w->loop, w->timers[1], now + 1);
    loop_timer_clear(w->loop, w->timers[0]);
    run(w);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->order[0], 2);
}

static void set_again_at_once(void *ctx) {
    struct world *w = ctx;
    if (++w->count == 3)
        loop_stop(w->loop);
    else
        loop_timer_set(w->loop, w->timers[0], loop_now_steady(w->loop));
}

static void count_round(void *ctx) {
    struct world *w = ctx;
    w->rounds++;
}

/* Otherwise a timer that sets itself again would starve the descriptors. */
LOOP_TEST(a_timer_that_is_due_again_waits_for_the_next_round) {
    struct world *w = *state;
    loop_set_round(w->loop, count_round, w);
    w->timers[0] = loop_timer_new(w->loop, set_again_at_once, w);
    loop_timer_set(w->loop, w->timers[0], loop_now_steady(w->loop));
    run(w);
    assert_int_equal(w->count, 3);
    assert_int_equal(w->rounds, 4); /* one before the first sleep, one per timer */
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void read_one(void *ctx, int fd, unsigned events) {
    struct world *w = ctx;
    char byte;
    assert_true(events & LOOP_READ);
    assert_int_equal(read(fd, &byte, 1), 1);
    w->reads++;
    loop_stop(w->loop);
}

LOOP_TEST(a_readable_descriptor_calls_back) {
    struct world *w = *state;
    assert_int_equal(loop_watch(w->loop, w->fds[0], LOOP_READ, read_one, w, &w->watch), 0);
    assert_int_equal(write(w->fds[1], "x", 1), 1);
    run(w);
    assert_int_equal(w->reads, 1);
    loop_unwatch(w->loop, w->watch);
}

static void remove_other(void *ctx, int fd, unsigned events) {
    struct world *w = ctx;
    (void)fd;
    (void)events;
    w->reads++;
    loop_unwatch(w->loop, w->watch);
    loop_unwatch(w->loop, w->other);
    loop_stop(w->loop);
}

/* Both are ready. The first callback removes the other watch, which must not be called. */
LOOP_TEST(a_callback_may_remove_others_that_are_ready_too) {
    struct world *w = *state;
    int copy = fcntl(w->fds[0], F_DUPFD_CLOEXEC, 3);
    assert_true(copy >= 0);
    assert_int_equal(loop_watch(w->loop, w->fds[0], LOOP_READ, remove_other, w, &w->watch), 0);
    assert_int_equal(loop_watch(w->loop, copy, LOOP_READ, remove_other, w, &w->other), 0);
    assert_int_equal(write(w->fds[1], "x", 1), 1);
    run(w);
    assert_int_equal(w->reads, 1);
    close(copy);
}

LOOP_TEST(a_hang_up_is_reported_as_the_requested_event) {
    struct world *w = *state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    close(fds[1]);
    assert_int_equal(loop_watch(w->loop, fds[0], LOOP_READ, remove_other, w, &w->watch), 0);
    run(w);
    assert_int_equal(w->reads, 1);
    close(fds[0]);
}

/* --- signals and rounds ---------------------------------------------------------------------- */

static void signaled(void *ctx, int signal) {
    struct world *w = ctx;
    w->order[w->count++] = signal;
    if (w->count == 2)
        loop_stop(w->loop);
}

LOOP_TEST(signals_come_as_events) {
    struct world *w = *state;
    assert_int_equal(loop_signal(w->loop, SIGUSR1, signaled, w, NULL), 0);
    assert_int_equal(loop_signal(w->loop, SIGUSR2, signaled, w, NULL), 0);
    assert_int_equal(kill(getpid(), SIGUSR2), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    run(w);
    assert_int_equal(w->order[0] + w->order[1], SIGUSR1 + SIGUSR2);
}

static void again_three_times(void *ctx) {
    struct world *w = ctx;
    if (++w->rounds < 4)
        loop_again(w->loop);
    else
        loop_stop(w->loop);
}

LOOP_TEST(again_gives_a_round_without_a_sleep) {
    struct world *w = *state;
    loop_set_round(w->loop, again_three_times, w);
    run(w);
    assert_int_equal(w->rounds, 4);
    assert_int_equal(loop_wakeups(w->loop), 0);
}

/* The state letter after the name in /proc/PID/stat. */
static void wait_until_asleep(pid_t pid) {
    char path[64], text[512], state = 'R';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (state != 'S') {
        FILE *file = fopen(path, "re");
        if (!file || !fgets(text, sizeof(text), file))
            _exit(2);
        state = strrchr(text, ')')[2];
        (void)fclose(file);
    }
}

/* A distant timer and a silent descriptor: one sleep, one wake-up, by the byte that ends it. */
LOOP_TEST(idle_means_asleep) {
    struct world *w = *state;
    w->timers[0] = loop_timer_new(w->loop, stop, w);
    loop_timer_set(w->loop, w->timers[0], loop_now_steady(w->loop) + HOURS(1));
    assert_int_equal(loop_watch(w->loop, w->fds[0], LOOP_READ, read_one, w, &w->watch), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wait_until_asleep(getppid());
        _exit(write(w->fds[1], "x", 1) == 1 ? 0 : 1);
    }
    run(w);
    assert_int_equal(w->reads, 1);
    assert_int_equal(loop_wakeups(w->loop), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    loop_unwatch(w->loop, w->watch);
}
