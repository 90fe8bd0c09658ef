/* test_no_waits.c: harness/no_waits.c skips a sleep only if nothing outside the single thread of the test can end it.
 *
 * The clocks of this program can jump, so the tests compare them with those of the kernel. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/test.h"
#include "os/loop.h"

#define LONG_MS  ((int)HOURS(1)) /* longer than any test may take */
#define SHORT_MS 50

static time_ms kernel_ms(void) {
    struct timespec t;
    assert_int_equal(syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t), 0);
    return (time_ms)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void stop(void *ctx) {
    loop_stop(ctx);
}

static void wait_in_loop(int span) {
    struct loop *loop = NULL;
    struct error err = { 0 };
    assert_int_equal(loop_new(&loop, &err), 0);
    struct loop_timer *timer = loop_timer_new(loop, stop, loop);
    loop_timer_set(loop, timer, loop_now_steady(loop) + span);
    assert_int_equal(loop_run(loop, &err), 0);
    loop_timer_free(loop, timer);
    loop_free(loop);
}

static void wait_in_poll(int span) {
    assert_int_equal(poll(NULL, 0, span), 0);
}

static void (*const waits[])(int span) = { wait_in_loop, wait_in_poll };

static void expect_skipped(void) {
    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        time_ms began = kernel_ms();
        waits[i](LONG_MS);
        assert_true(kernel_ms() - began < LONG_MS);
    }
}

static void expect_slept(void) {
    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        time_ms began = kernel_ms();
        waits[i](SHORT_MS);
        assert_true(kernel_ms() - began >= SHORT_MS - 1); /* both are rounded down */
    }
}

TEST(a_sleep_that_nothing_can_end_is_skipped) {
    expect_skipped();
}

/* The server behind a socket is neither a child nor a thread of the test. */
TEST(a_socket_may_be_answered) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    expect_slept();
    close(fds[0]);
    close(fds[1]);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(tcp >= 0);
    expect_slept();
    close(tcp);
    expect_skipped();
}

TEST(a_child_process_may_do_something) {
    int fds[2];
    char byte;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(fds[1]);
        _exit(read(fds[0], &byte, 1) == 0 ? 0 : 1); /* until the test closes its end */
    }
    close(fds[0]);
    expect_slept();
    close(fds[1]);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_skipped();
}

static void *read_byte(void *ctx) {
    char byte;
    return (void *)(intptr_t)read(*(int *)ctx, &byte, 1);
}

/* A joined thread may be listed in /proc for another moment, so no sleep is skipped here afterwards. */
TEST(a_thread_may_do_something) {
    int fds[2];
    pthread_t thread;
    void *end = NULL;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_byte, &fds[0]), 0);
    expect_slept();
    close(fds[1]);
    assert_int_equal(pthread_join(thread, &end), 0);
    assert_null(end);
    close(fds[0]);
}
