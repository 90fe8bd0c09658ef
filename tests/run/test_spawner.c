/* test_spawner.c: processes are started beside the loop, in order, with what they were given and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/spawner.h"
#include "harness/test.h"
#include "os/loop.h"

#define ORDERS 20

static struct loop *loop;
static struct spawner *spawner;
static unsigned reported; /* their number */
static pid_t pids[ORDERS];
static int errors[ORDERS];

static int set_up(void **state) {
    struct error err = { 0 };
    (void)state;
    reported = 0;
    assert_int_equal(loop_new(&loop, &err), 0);
    assert_int_equal(spawner_new(loop, &spawner, &err), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    spawner = spawner_free(spawner);
    loop = loop_free(loop);
    return 0;
}

static void is_done(void *ctx, pid_t pid, int error) {
    assert_int_equal((uintptr_t)ctx, reported); /* in the order of the orders */
    pids[reported] = pid;
    errors[reported++] = error;
    if (spawner_pending(spawner) == 0)
        loop_stop(loop);
}

/* The words of the order are gone when it is carried out. */
static void order(const char *program, const char *script, int out, int in) {
    static unsigned number;
    char text[256], shell[64], pair[32];
    (void)snprintf(text, sizeof(text), "%s", script);
    (void)snprintf(shell, sizeof(shell), "%s", program);
    (void)snprintf(pair, sizeof(pair), "NAME=value");
    const char *const argv[] = { shell, "-c", text, NULL };
    const char *const env[] = { pair, NULL };
    const struct spawn spawn = { .program = shell,
                                 .argv = argv,
                                 .env = env,
                                 .cwd = "/",
                                 .fds = { in, out, SPAWN_NULL },
                                 .fd_count = 3 };
    number = reported == 0 && spawner_pending(spawner) == 0 ? 0 : number + 1;
    spawner_start(spawner, &spawn, is_done, (void *)(uintptr_t)number);
    memset(text, 'x', sizeof(text) - 1);
    memset(shell, 'x', sizeof(shell) - 1);
    memset(pair, 'x', sizeof(pair) - 1);
}

static void await_all(void) {
    struct error err = { 0 };
    if (spawner_pending(spawner) > 0)
        assert_int_equal(loop_run(loop, &err), 0);
}

static int code_of(pid_t pid) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What it wrote, until every copy of the pipe is closed. */
static void read_all(int fd, char text[256]) {
    size_t size = 0;
    for (ssize_t got; size < 255 && (got = read(fd, text + size, 255 - size)) > 0;)
        size += (size_t)got;
    text[size] = '\0';
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_process_has_what_was_ordered) {
    int ends[2];
    char text[256];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int kept = fcntl(ends[0], F_DUPFD_CLOEXEC, 20); /* not inherited */
    order("/bin/sh", "echo $NAME $PWD; ls /proc/self/fd | wc -l; exit 3", ends[1], SPAWN_NULL);
    assert_int_equal(reported, 0); /* never from inside */
    await_all();
    assert_int_equal(errors[0], 0);
    read_all(ends[0], text);                   /* ends: the spawner has closed its copy */
    assert_string_equal(text, "value /\n4\n"); /* three and the one of ls */
    assert_int_equal(code_of(pids[0]), 3);
    close(ends[0]);
    close(kept);
}

FIXTURE_TEST(a_missing_program_is_reported_with_its_errno) {
    order("/no/such/program", "", SPAWN_NULL, SPAWN_NULL);
    order("/dev/null", "", SPAWN_NULL, SPAWN_NULL);
    order("/bin/sh", "exit 7", SPAWN_NULL, SPAWN_NULL);
    await_all();
    assert_int_equal(errors[0], ENOENT);
    assert_int_equal(errors[1], EACCES);
    assert_int_equal(errors[2], 0);
    assert_int_equal(code_of(pids[2]), 7);
}

FIXTURE_TEST(all_are_reported_in_their_order) {
    for (int i = 0; i < ORDERS; i++)
        order("/bin/sh", "exit 0", SPAWN_NULL, SPAWN_NULL);
    assert_int_equal(spawner_pending(spawner), ORDERS);
    await_all();
    for (int i = 0; i < ORDERS; i++)
        assert_int_equal(code_of(pids[i]), 0);
}

/* A daemon that ends: its runs begin all the same. */
FIXTURE_TEST(what_was_ordered_is_started_before_the_end) {
    int ends[2];
    char text[256];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < 10; i++)
        order("/bin/sh", "echo .", fcntl(ends[1], F_DUPFD_CLOEXEC, 0), SPAWN_NULL);
    close(ends[1]);
    spawner = spawner_free(spawner);
    assert_int_equal(reported, 0);
    read_all(ends[0], text);
    assert_int_equal(strlen(text), 20);
    close(ends[0]);
    while (wait(NULL) > 0) /* all of them are ours */
        ;
}

/* What `cat FILE` prints about itself. */
static void read_own(const char *file, bool ignores_pipe, char text[4096]) {
    int ends[2];
    pid_t pid = -1;
    size_t size = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const char *const argv[] = { "cat", file, NULL };
    const char *const env[] = { NULL };
    const struct spawn spawn = { .program = "/bin/cat",
                                 .argv = argv,
                                 .env = env,
                                 .fds = { SPAWN_NULL, ends[1], SPAWN_NULL },
                                 .fd_count = 3,
                                 .is_session = true,
                                 .blocks = true,
                                 .ignores_pipe = ignores_pipe };
    assert_int_equal(spawn_process(&spawn, &pid), 0);
    close(ends[1]);
    for (ssize_t got; size < 4095 && (got = read(ends[0], text + size, 4095 - size)) > 0;)
        size += (size_t)got;
    text[size] = '\0';
    close(ends[0]);
    assert_int_equal(code_of(pid), 0);
}

static uint64_t bit_of(int signal) {
    return UINT64_C(1) << (signal - 1);
}

static uint64_t mask_of(const char *text, const char *name) {
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoull(at + strlen(name), NULL, 16);
}

/* As if our parent had ignored them: libc neither shows nor resets these two. Before the first start,
 * which looks at what was inherited. */
__attribute__((constructor)) static void ignore_reserved_signals(void) {
    const unsigned long ignored[8] = { (unsigned long)(uintptr_t)SIG_IGN };
    for (int signal = 32; signal <= 33; signal++)
        (void)syscall(SYS_rt_sigaction, signal, ignored, NULL, (NSIG - 1) / 8);
}

/* A shim: nothing may end it before it reads its signals, and nothing of ours may reach its command. */
FIXTURE_TEST(a_blocked_process_ignores_nothing_and_leads_its_session) {
    char text[4096];
    static const int wanted[] = { SIGTERM, SIGUSR1, SIGCHLD, SIGHUP, SIGINT, SIGPIPE };
    long pid = 0, session = 0;
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    read_own("/proc/self/status", false, text);
    assert_int_equal(mask_of(text, "SigIgn:"), 0);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_true(mask_of(text, "SigBlk:") & bit_of(wanted[i]));
    read_own("/proc/self/status", true, text);
    assert_int_equal(mask_of(text, "SigIgn:"), bit_of(SIGPIPE));
    read_own("/proc/self/stat", false, text);
    assert_int_equal(sscanf(text, "%ld (cat) %*c %*d %*d %ld", &pid, &session), 2);
    assert_int_equal(session, pid);
}

FIXTURE_TEST(a_blocked_process_that_cannot_be_executed_leaves_nothing) {
    pid_t pid = -1;
    const char *const argv[] = { "none", NULL };
    const char *const env[] = { NULL };
    const struct spawn spawn = { .program = "/no/such/program",
                                 .argv = argv,
                                 .env = env,
                                 .fds = { SPAWN_NULL },
                                 .fd_count = 1,
                                 .blocks = true };
    assert_int_equal(spawn_process(&spawn, &pid), ENOENT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* A shim whose daemon has exited sees that its pipe has no reader. A new shim that still had a copy
 * of the daemon's end would hide that. */
FIXTURE_TEST(a_started_process_has_no_copy_of_our_descriptors) {
    const char *const argv[] = { "true", NULL };
    const char *const env[] = { NULL };
    for (unsigned round = 0; round < 500; round++) {
        const struct spawn spawn = { .program = "/bin/true",
                                     .argv = argv,
                                     .env = env,
                                     .fds = { SPAWN_NULL },
                                     .fd_count = 1,
                                     .is_session = true,
                                     .blocks = true };
        int ends[2];
        pid_t pid = -1;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(spawn_process(&spawn, &pid), 0);
        close(ends[0]);
        struct pollfd writer = { .fd = ends[1] };
        int ready = poll(&writer, 1, 0);
        close(ends[1]);
        assert_int_equal(code_of(pid), 0);
        if (ready != 1 || !(writer.revents & POLLERR))
            fail_msg("round %u: the pipe still has a reader", round);
    }
}
