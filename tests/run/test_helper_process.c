/* Helper processes: short commands of the daemon itself. Each ends once, in time, with the tail of its output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/helper_process.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/clock.h"
#include "os/loop.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct scene {
    struct loop *loop;
    struct loop_timer *late;
    struct helper_process *helper;
    int ended;
    struct helper_end end;
    char *output;
    bool inside; /* of helper_start */
};

static void too_late(void *ctx) {
    (void)ctx;
    fail_msg("the helper process does not end: its time-out or its pidfd is not seen");
}

static void ended(void *ctx, const struct helper_end *end) {
    struct scene *s = ctx;
    assert_false(s->inside);
    s->ended++;
    s->end = *end;
    s->output = strdup(end->output);
    assert_int_equal(strlen(end->output), end->size);
    loop_stop(s->loop);
}

static int setup(void **state) {
    struct scene *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    assert_int_equal(loop_new(&s->loop, NULL), 0);
    s->late = loop_timer_new(s->loop, too_late, s);
    *state = s;
    return 0;
}

static int teardown(void **state) {
    struct scene *s = *state;
    loop_timer_free(s->loop, s->late);
    loop_free(s->loop);
    free(s->output);
    free(s);
    return 0;
}

static void begin(struct scene *s, const struct helper_spec *spec) {
    struct error err = { 0 };
    free(s->output);
    s->output = NULL;
    s->ended = 0;
    s->inside = true;
    if (helper_start(s->loop, spec, ended, s, &s->helper, &err) < 0)
        fail_msg("%s", err.text);
    s->inside = false;
}

static void await(struct scene *s) {
    loop_timer_set(s->loop, s->late, loop_now_steady(s->loop) + 2 * patience_ms());
    assert_int_equal(loop_run(s->loop, NULL), 0);
    assert_int_equal(s->ended, 1);
}

static void run(struct scene *s, struct helper_spec spec) {
    if (spec.timeout == 0)
        spec.timeout = patience_ms();
    begin(s, &spec);
    await(s);
}

static bool lives(pid_t pid) {
    char path[64], state = 'Z';
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    (void)fscanf(file, "%*d %*s %c", &state);
    (void)fclose(file);
    return state != 'Z' && state != 'X';
}

static void await_death(pid_t pid) {
    time_ms deadline = clock_read_steady() + patience_ms();
    while (lives(pid)) /* SIGKILL was sent; the kernel needs a moment */
        if (clock_read_steady() > deadline)
            fail_msg("process %d is still there: the group was not killed", (int)pid);
}

TEST_WITH(it_tells_code_and_output, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){
               .argv = ARGV("sh", "-c", "pwd; echo $WORD; echo err >&2; cat; exit 7"),
               .cwd = "/usr",
               .env = ARGV("WORD=here", "PATH=/usr/bin:/bin"),
           });
    assert_int_equal(s->end.code, 7);
    assert_int_equal(s->end.signal, 0);
    assert_int_equal(s->end.error, 0);
    assert_false(s->end.timed_out);
    assert_string_equal(s->output, "/usr\nhere\nerr\n");
}

TEST_WITH(it_gets_nothing_of_ours, setup, teardown) {
    struct scene *s = *state;
    assert_int_equal(setenv("SECRET_OF_THE_DAEMON", "1", 1), 0);
    run(s, (struct helper_spec){ .argv = ARGV("sh", "-c", "env | grep -c SECRET; ls /proc/$$/fd"),
                                 .env = ARGV("PATH=/usr/bin:/bin") });
    assert_string_equal(s->output, "0\n0\n1\n2\n");
}

TEST_WITH(a_missing_program_is_an_end_with_its_errno, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){ .argv = ARGV("no-such-program-anywhere") });
    assert_int_equal(s->end.error, ENOENT);
    assert_int_equal(s->end.code, -1);
    assert_string_equal(s->output, "");
}

TEST_WITH(a_missing_folder_is_an_end_with_its_errno, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){ .argv = ARGV("true"), .cwd = "/no/such/folder" });
    assert_int_equal(s->end.error, ENOENT);
}

TEST_WITH(a_signal_is_reported, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){ .argv = ARGV("sh", "-c", "echo before; kill -SEGV $$") });
    assert_int_equal(s->end.code, -1);
    assert_int_equal(s->end.signal, SIGSEGV);
    assert_string_equal(s->output, "before\n");
}

TEST_WITH(a_time_out_kills_the_children_too, setup, teardown) {
    struct scene *s = *state;
    int child = 0;
    /* A time-out that comes before the shell has started its child proves nothing: then with more time. */
    for (time_ms timeout = 300; child == 0 && timeout < patience_ms(); timeout *= 2) {
        run(s, (struct helper_spec){
                   .argv = ARGV("sh", "-c",
                                "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $!; wait"),
                   .env = ARGV("PATH=/usr/bin:/bin"),
                   .timeout = timeout,
               });
        assert_true(s->end.timed_out);
        assert_int_equal(s->end.signal, SIGKILL);
        (void)sscanf(s->output, "%d", &child);
    }
    assert_true(child > 0);
    await_death(child);
}

TEST_WITH(what_it_leaves_in_its_group_is_killed, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){ .argv = ARGV("sh", "-c", "tail -f /dev/null & echo $!"),
                                 .env = ARGV("PATH=/usr/bin:/bin") });
    assert_int_equal(s->end.code, 0);
    int child = 0;
    assert_int_equal(sscanf(s->output, "%d", &child), 1);
    await_death(child);
}

TEST_WITH(of_huge_output_the_end_is_kept, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){
               .argv = ARGV("sh", "-c", "yes 0123456789abcdef | head -c 20000000; echo the end"),
               .env = ARGV("PATH=/usr/bin:/bin"),
               .output_max = 1000,
           });
    assert_int_equal(s->end.code, 0);
    assert_int_equal(s->end.size, 1000);
    assert_string_equal(s->output + 1000 - strlen("the end\n"), "the end\n");
}

TEST_WITH(a_killed_helper_reports_nothing_and_is_reaped, setup, teardown) {
    struct scene *s = *state;
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16], script[200];
    scratch_make(folder, "aside");
    (void)snprintf(path, sizeof(path), "%s/pids", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)snprintf(script, sizeof(script), "tail -f /dev/null & echo $! $$ >%s; wait", path);
    begin(s, &(struct helper_spec){ .argv = ARGV("sh", "-c", script),
                                    .env = ARGV("PATH=/usr/bin:/bin"),
                                    .timeout = patience_ms() });
    int child = 0, leader = 0;
    char text[64] = "";
    struct pollfd begun = { .fd = fd, .events = POLLIN };
    assert_int_equal(poll(&begun, 1, patience_ms()), 1);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_int_equal(sscanf(text, "%d %d", &child, &leader), 2);
    close(fd);
    scratch_remove(folder);
    assert_null(helper_kill(s->helper));
    await_death(leader);
    await_death(child);
    assert_int_equal(s->ended, 0);
    assert_null(helper_kill(NULL));
}

/* It changes what is not ours: half a change would be worse than a late one. What it says afterwards has
 * no reader, and does not end it. */
TEST_WITH(one_that_outlives_goes_on_without_us, setup, teardown) {
    struct scene *s = *state;
    int go[2], reported[2];
    char line[8] = "", number[16];
    (void)signal(SIGPIPE, SIG_IGN); /* as the daemon has it */
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(reported, O_CLOEXEC), 0);
    (void)snprintf(number, sizeof(number), "%d", (int)getpid());
    char script[160];
    (void)snprintf(script, sizeof(script),
                   "read x </proc/%s/fd/%d; echo nobody hears; echo done >/proc/%s/fd/%d", number,
                   go[0], number, reported[1]);
    struct helper_spec spec = { .argv = ARGV("sh", "-c", script),
                                .env = ARGV("PATH=/usr/bin:/bin"),
                                .timeout = patience_ms(),
                                .outlives = true };
    begin(s, &spec);
    assert_null(helper_kill(s->helper));
    assert_int_equal(write(go[1], "\n", 1), 1);
    assert_int_equal(read(reported[0], line, 5), 5);
    assert_string_equal(line, "done\n");
    assert_int_equal(s->ended, 0);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(reported[i]);
    }
    (void)signal(SIGPIPE, SIG_DFL);
}

TEST_WITH(those_of_a_killed_daemon_are_found_by_their_mark, setup, teardown) {
    struct scene *s = *state;
    struct strbuf mark = STRBUF_INIT;
    char home[SCRATCH_PATH], shorter[SCRATCH_PATH];
    scratch_make(home, "aside");
    (void)snprintf(shorter, sizeof(shorter), "%.*s", (int)strlen(home) - 1, home);
    helper_mark(home, &mark);
    begin(s, &(struct helper_spec){ .argv = ARGV("sleep", "1000"),
                                    .env = ARGV("PATH=/usr/bin:/bin", strbuf_text(&mark)),
                                    .timeout = patience_ms() });
    assert_int_equal(helper_sweep(shorter), 0);
    /* A program that is just being loaded has no environment yet. */
    unsigned found = 0;
    time_ms deadline = clock_read_steady() + patience_ms();
    while (found == 0 && clock_read_steady() < deadline)
        found = helper_sweep(home);
    assert_int_equal(found, 1);
    await(s);
    assert_int_equal(s->end.signal, SIGKILL);
    assert_false(s->end.timed_out);
    strbuf_finish(&mark);
    scratch_remove(home);
}

TEST_WITH(who_reads_gets_the_beginning_of_standard_output_alone, setup, teardown) {
    struct scene *s = *state;
    run(s,
        (struct helper_spec){ .argv = ARGV("sh", "-c", "echo no >&2; echo yes"), .reads = true });
    assert_int_equal(s->end.code, 0);
    assert_string_equal(s->output, "yes\n");
    assert_false(s->end.cut);
}

TEST_WITH(a_command_that_says_more_than_is_read_is_ended, setup, teardown) {
    struct scene *s = *state;
    run(s, (struct helper_spec){
               .argv = ARGV("sh", "-c", "printf first; yes"), .reads = true, .output_max = 1000 });
    assert_true(s->end.cut);
    assert_false(s->end.timed_out);
    assert_int_equal(s->end.size, 1000);
    assert_memory_equal(s->output, "firsty\ny\n", 9);
}
