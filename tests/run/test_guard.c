/* test_guard.c: a helper process with a guard counts as a run, and nothing of it survives.
 *
 * Each attack is first tried on a helper process without a guard, where it succeeds. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/cgroup.h"
#include "executor/helper_process.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "os/clock.h"
#include "run/stage.h"

/* Prints the names of all processes above it, and "end". */
#define ABOVE                                                                                      \
    "pid=$$; while [ \"$pid\" -gt 1 ]; do cat /proc/$pid/comm; "                                   \
    "pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$pid/status); done; echo end"

static const char *const plain_env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };

struct scene {
    struct stage *stage;
    struct run_spec spec;
    struct helper_process *helper;
    struct cgroup_slot *slot;
    bool without; /* a guard */
    time_ms grace;
    int ended, overs;
    enum guard_over over;
    pid_t guard;
    struct helper_end end;
    char output[4096], why[256], cgroup[512];
};

static void over(void *ctx, pid_t guard, enum guard_over how) {
    struct scene *s = ctx;
    s->overs++;
    s->over = how;
    s->guard = guard;
    executor_slot_give_back(s->stage->ex, s->slot, guard, how);
    s->slot = NULL;
}

static void ended(void *ctx, const struct helper_end *end) {
    struct scene *s = ctx;
    s->ended++;
    s->end = *end;
    s->helper = NULL;
    (void)snprintf(s->output, sizeof(s->output), "%s", end->output);
    (void)snprintf(s->why, sizeof(s->why), "%s", end->why);
}

static bool has_ended(struct stage *stage, void *ctx) {
    (void)stage;
    return ((struct scene *)ctx)->ended > 0;
}

static struct scene *scene_new(struct stage *stage) {
    struct scene *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->stage = stage;
    s->spec = (struct run_spec){ .run = "web-1.1" };
    return s;
}

static void scene_free(struct scene *s) {
    stage_free(s->stage);
    free(s);
}

static void begin(struct scene *s, struct helper_spec what) {
    struct error err = { 0 };
    struct executor_slot slot = { .folder = -1, .daemon = -1 };
    struct run_spec spec = s->spec;
    s->ended = s->overs = 0;
    s->slot =
        executor_slot_take(s->stage->ex, spec.memory_max > 0 || spec.processes_max > 0, &slot);
    spec.cgroup = slot.path;
    (void)snprintf(s->cgroup, sizeof(s->cgroup), "%s", slot.path ? slot.path : "");
    const struct helper_guard guard = { .shim = SHIM_PATH,
                                        .spec = &spec,
                                        .cgroup = slot.folder,
                                        .daemon = slot.daemon,
                                        .grace = s->grace,
                                        .over = over,
                                        .ctx = s };
    if (!s->without)
        what.guard = &guard;
    if (!what.env)
        what.env = plain_env;
    if (what.timeout == 0)
        what.timeout = 2 * patience_ms();
    if (helper_start(s->stage->loop, &what, ended, s, &s->helper, &err) < 0)
        fail_msg("%s", err.text);
    if (slot.folder >= 0)
        close(slot.folder);
    if (s->without)
        over(s, 0, GUARD_ENDED);
}

static void await(struct scene *s) {
    stage_await(s->stage, has_ended, s, "the helper process ends");
    assert_int_equal(s->ended, 1);
    assert_int_equal(s->overs, 1);
}

static void run(struct scene *s, struct helper_spec what) {
    begin(s, what);
    await(s);
}

static void shell(struct scene *s, const char *script) {
    run(s, (struct helper_spec){ .argv = ARGV("sh", "-c", script), .cwd = s->stage->home });
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

/* A file that the command writes into, and that is whole when it ends with a newline. */
static int number_in(const struct scene *s, const char *name) {
    char path[STAGE_PATH + 32], text[32] = "";
    (void)snprintf(path, sizeof(path), "%s/%s", s->stage->home, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    bool is_whole = fgets(text, sizeof(text), file) && strchr(text, '\n');
    (void)fclose(file);
    return is_whole ? (int)strtol(text, NULL, 10) : 0;
}

static bool has_number(struct stage *stage, void *ctx) {
    const struct scene *s = ctx;
    (void)stage;
    return number_in(s, "pid") > 0;
}

static pid_t await_pid(struct scene *s) {
    stage_await(s->stage, has_number, s, "the command writes its number");
    return number_in(s, "pid");
}

static void forget_pid(const struct scene *s) {
    char path[STAGE_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/pid", s->stage->home);
    (void)unlink(path);
}

static bool is_dead(struct stage *stage, void *ctx) {
    (void)stage;
    return !lives(*(const pid_t *)ctx);
}

static void await_death(struct scene *s, pid_t pid) {
    stage_await(s->stage, is_dead, &pid, "the process is killed");
}

/* --- what a command gets --------------------------------------------------------------------- */

BOTH_WAYS(it_tells_code_and_output) {
    struct scene *s = scene_new(STAGE(state));
    run(s,
        (struct helper_spec){
            .argv = ARGV("sh", "-c", "pwd; echo $WORD; echo err >&2; cat; ls /proc/$$/fd; exit 7"),
            .cwd = "/usr",
            .env = ARGV("WORD=here", "PATH=/usr/bin:/bin"),
        });
    assert_int_equal(s->end.code, 7);
    assert_int_equal(s->end.signal, 0);
    assert_int_equal(s->end.error, 0);
    assert_string_equal(s->output, "/usr\nhere\nerr\n0\n1\n2\n");
    assert_int_equal(s->over, GUARD_ENDED);
    scene_free(s);
}

BOTH_WAYS(a_shim_is_above_it) {
    struct scene *s = scene_new(STAGE(state));
    s->without = true;
    shell(s, ABOVE);
    assert_null(strstr(s->output, "sluice-shim"));
    assert_non_null(strstr(s->output, "end"));
    s->without = false;
    shell(s, ABOVE);
    assert_non_null(strstr(s->output, "\nsluice-shim\n"));
    scene_free(s);
}

BOTH_WAYS(whatever_it_starts_is_below_the_shim) {
    struct scene *s = scene_new(STAGE(state));
    shell(s, "(setsid sh -c '(" ABOVE ") >above.part; mv above.part above' &) ; "
             "while [ ! -e above ]; do :; done; cat above");
    assert_int_equal(s->end.code, 0);
    assert_non_null(strstr(s->output, "\nsluice-shim\n"));
    scene_free(s);
}

BOTH_WAYS(a_signal_is_reported) {
    struct scene *s = scene_new(STAGE(state));
    shell(s, "echo before; kill -SEGV $$");
    assert_int_equal(s->end.code, -1);
    assert_int_equal(s->end.signal, SIGSEGV);
    assert_string_equal(s->output, "before\n");
    assert_int_not_equal(s->over, GUARD_LOST);
    shell(s, "kill -KILL $$");
    assert_int_equal(s->end.signal, SIGKILL);
    assert_int_not_equal(s->over, GUARD_LOST);
    scene_free(s);
}

BOTH_WAYS(a_missing_program_is_an_end_with_its_errno) {
    struct scene *s = scene_new(STAGE(state));
    run(s, (struct helper_spec){ .argv = ARGV("no-such-program-anywhere") });
    assert_int_equal(s->end.error, ENOENT);
    assert_int_equal(s->end.code, -1);
    assert_non_null(strstr(s->why, "no-such-program-anywhere"));
    run(s, (struct helper_spec){ .argv = ARGV("true"), .cwd = "/no/such/folder" });
    assert_int_equal(s->end.error, ENOENT);
    assert_non_null(strstr(s->why, "/no/such/folder"));
    scene_free(s);
}

BOTH_WAYS(a_limit_of_its_spec_holds) {
    struct scene *s = scene_new(STAGE(state));
    const char *script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait";
    s->spec.processes_max = 5;
    shell(s, script);
    assert_int_not_equal(s->end.code, 0);
    s->spec.processes_max = 0;
    s->spec.nice = 7;
    shell(s, "nice");
    assert_string_equal(s->output, "7\n");
    scene_free(s);
}

/* --- nothing survives ------------------------------------------------------------------------ */

#define LEAVE_ONE                                                                                  \
    "(setsid sh -c 'trap \"\" TERM; echo $$ >pid.part; mv pid.part pid; exec sleep 1000' "         \
    "</dev/null >/dev/null 2>&1 &) ; while [ ! -e pid ]; do :; done"

static const char stop_guard[] = "kill -STOP $PPID; " LEAVE_ONE "; sleep 1000";

BOTH_WAYS(what_it_leaves_is_killed) {
    struct scene *s = scene_new(STAGE(state));
    s->without = true;
    shell(s, LEAVE_ONE);
    pid_t pid = number_in(s, "pid");
    assert_true(pid > 1 && lives(pid)); /* without a guard it continues */
    assert_int_equal(kill(pid, SIGKILL), 0);
    forget_pid(s);
    s->without = false;
    shell(s, LEAVE_ONE);
    assert_int_equal(s->end.code, 0);
    assert_false(lives(number_in(s, "pid")));
    scene_free(s);
}

/* Begins again with more time while the time-out came before the command was ready. */
BOTH_WAYS(a_time_out_kills_all_of_it) {
    struct scene *s = scene_new(STAGE(state));
    for (time_ms timeout = 300; number_in(s, "pid") == 0; timeout *= 2)
        run(s,
            (struct helper_spec){ .argv = ARGV("sh", "-c", LEAVE_ONE "; trap '' TERM; sleep 1000"),
                                  .cwd = s->stage->home,
                                  .timeout = timeout });
    assert_true(s->end.timed_out);
    assert_int_equal(s->end.signal, SIGKILL);
    assert_int_not_equal(s->over, GUARD_LOST);
    assert_false(lives(number_in(s, "pid")));
    scene_free(s);
}

BOTH_WAYS(a_stop_is_reported_as_an_end) {
    struct scene *s = scene_new(STAGE(state));
    begin(s, (struct helper_spec){ .argv = ARGV("sh", "-c", LEAVE_ONE "; sleep 1000"),
                                   .cwd = s->stage->home });
    pid_t pid = await_pid(s);
    helper_stop(s->helper);
    await(s);
    assert_int_equal(s->end.signal, SIGTERM);
    assert_false(s->end.timed_out);
    assert_false(lives(pid));
    scene_free(s);
}

/* As git does with its locks. */
#define WITH_LOCK                                                                                  \
    "echo 1 >lock; trap 'rm lock; exit 3' TERM; echo $$ >pid.part; mv pid.part pid; "              \
    "sleep 1000 & wait"

BOTH_WAYS(a_stop_leaves_the_command_time_to_clean_up) {
    struct scene *s = scene_new(STAGE(state));
    s->grace = patience_ms();
    begin(s, (struct helper_spec){ .argv = ARGV("sh", "-c", WITH_LOCK), .cwd = s->stage->home });
    (void)await_pid(s);
    assert_int_equal(number_in(s, "lock"), 1);
    helper_stop(s->helper);
    await(s);
    assert_int_equal(s->end.code, 3);
    assert_int_equal(number_in(s, "lock"), 0);
    scene_free(s);
}

BOTH_WAYS(a_killed_helper_reports_nothing_and_is_reaped) {
    struct scene *s = scene_new(STAGE(state));
    begin(s, (struct helper_spec){ .argv = ARGV("sh", "-c", LEAVE_ONE "; sleep 1000"),
                                   .cwd = s->stage->home });
    pid_t pid = await_pid(s);
    assert_null(helper_kill(s->helper));
    assert_int_equal(s->ended, 0);
    assert_int_equal(s->overs, 1);
    assert_int_not_equal(s->over, GUARD_LOST);
    assert_false(lives(pid));
    scene_free(s);
}

/* The command stops its own guard, so that it could not kill anything. */
BOTH_WAYS(a_guard_that_was_stopped_still_ends) {
    struct scene *s = scene_new(STAGE(state));
    begin(s, (struct helper_spec){ .argv = ARGV("sh", "-c", stop_guard), .cwd = s->stage->home });
    pid_t pid = await_pid(s);
    helper_stop(s->helper);
    await(s);
    await_death(s, pid);
    scene_free(s);
}

static bool is_empty(struct stage *stage, void *ctx) {
    (void)stage;
    return !cgroup_is_populated(((const struct scene *)ctx)->cgroup);
}

/* The command kills its own guard. What it has put into a session of its own has no shim above it then. With a cgroup
 * it is found all the same. */
BOTH_WAYS(what_a_killed_guard_has_left_is_killed) {
    struct scene *s = scene_new(STAGE(state));
    shell(s, LEAVE_ONE "; kill -KILL $PPID; sleep 1000");
    assert_int_equal(s->end.code, -1);
    assert_int_equal(s->end.signal, SIGKILL);
    assert_int_equal(s->over, GUARD_LOST);
    pid_t pid = number_in(s, "pid");
    if (s->cgroup[0] != '\0') {
        await_death(s, pid);
        stage_await(s->stage, is_empty, s, "the kernel takes it out of its cgroup");
    } else {
        (void)kill(pid, SIGKILL); /* it has left the session, too */
    }
    scene_free(s);
}

BOTH_WAYS(what_a_killed_guard_has_left_in_its_session_is_killed) {
    struct scene *s = scene_new(STAGE(state));
    shell(s, "(sh -c 'echo $$ >pid.part; mv pid.part pid; exec sleep 1000' </dev/null >/dev/null "
             "2>&1 &) ; "
             "while [ ! -e pid ]; do :; done; kill -KILL $PPID; sleep 1000");
    assert_int_equal(s->over, GUARD_LOST);
    await_death(s, number_in(s, "pid"));
    stage_await(s->stage, is_empty, s, "the kernel takes it out of its cgroup");
    scene_free(s);
}

/* --- the daemon dies ------------------------------------------------------------------------- */

/* A process in the place of the daemon, which starts a helper process and is killed. */
static void die_beside(struct scene *s, struct helper_spec what) {
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* what it leaves becomes our child */
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0) {
        struct loop *loop = NULL;
        struct helper_process *helper = NULL;
        const struct helper_guard guard = { .shim = SHIM_PATH,
                                            .spec = &s->spec,
                                            .cgroup = -1,
                                            .daemon = -1,
                                            .grace = s->grace,
                                            .over = over,
                                            .ctx = s };
        if (!s->without)
            what.guard = &guard;
        what.cwd = s->stage->home;
        if (loop_new(&loop, NULL) == 0)
            (void)helper_start(loop, &what, ended, s, &helper, NULL);
        for (;;)
            (void)pause();
    }
    (void)await_pid(s);
    (void)kill(daemon, SIGKILL);
    assert_int_equal(waitpid(daemon, NULL, 0), daemon);
}

/* Takes what has lost its parent; `kills`: it must be ended first. */
static void reap_orphans(bool kills) {
    siginfo_t info = { 0 };
    time_ms deadline = clock_read_steady() + patience_ms();
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0) {
        char path[64], line[256] = "";
        (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
        FILE *file = kills ? fopen(path, "re") : NULL;
        if (file && fgets(line, sizeof(line), file))
            for (char *at = line, *end; (end = strchr(at, ' ')); at = end + 1)
                (void)kill((pid_t)strtol(at, NULL, 10), SIGKILL);
        if (file)
            (void)fclose(file);
        if (clock_read_steady() > deadline)
            fail_msg("processes are left: %s", line);
    }
}

BOTH_WAYS(it_dies_with_a_daemon_that_is_killed) {
    struct scene *s = scene_new(STAGE(state));
    const struct helper_spec what = { .argv = ARGV("sh", "-c", LEAVE_ONE "; sleep 1000"),
                                      .env = plain_env };
    s->without = true;
    die_beside(s, what);
    assert_true(lives(number_in(s, "pid"))); /* without a guard it continues */
    reap_orphans(true);
    forget_pid(s);
    s->without = false;
    die_beside(s, what);
    await_death(s, number_in(s, "pid"));
    reap_orphans(false);
    scene_free(s);
}

BOTH_WAYS(the_end_of_the_daemon_leaves_it_that_time_too) {
    struct scene *s = scene_new(STAGE(state));
    s->grace = patience_ms();
    die_beside(s, (struct helper_spec){ .argv = ARGV("sh", "-c", WITH_LOCK), .env = plain_env });
    reap_orphans(false);
    assert_int_equal(number_in(s, "lock"), 0);
    scene_free(s);
}

/* A sweep must not be quicker than the guard. */
BOTH_WAYS(so_does_the_sweep_of_the_next_daemon) {
    struct scene *s = scene_new(STAGE(state));
    s->grace = patience_ms();
    struct strbuf mark = STRBUF_INIT;
    time_ms took;
    helper_mark(s->stage->home, &mark);
    do { /* again if the machine was slower than the patience of the sweep */
        forget_pid(s);
        die_beside(s,
                   (struct helper_spec){ .argv = ARGV("sh", "-c", WITH_LOCK),
                                         .env = ARGV("PATH=/usr/bin:/bin", strbuf_text(&mark)) });
        time_ms began = clock_read_steady();
        (void)helper_sweep(s->stage->home);
        took = clock_read_steady() - began;
        reap_orphans(false);
    } while (number_in(s, "lock") != 0 && took >= SECONDS(8));
    assert_int_equal(number_in(s, "lock"), 0);
    strbuf_finish(&mark);
    scene_free(s);
}

BOTH_WAYS(one_that_outlives_does_not) {
    struct scene *s = scene_new(STAGE(state));
    char path[STAGE_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/go", s->stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    int go = open(path, O_RDWR | O_CLOEXEC);
    assert_true(go >= 0);
    die_beside(
        s, (struct helper_spec){
               .argv = ARGV("sh", "-c",
                            "echo $$ >pid; read -r _ <go; echo 1 >done.part; mv done.part done"),
               .env = plain_env,
               .outlives = true });
    assert_int_equal(write(go, "\n", 1), 1);
    close(go);
    time_ms deadline = clock_read_steady() + patience_ms();
    while (number_in(s, "done") == 0)
        if (clock_read_steady() > deadline)
            fail_msg("a helper process that outlives the daemon was ended with it");
    reap_orphans(false);
    scene_free(s);
}

/* The guard cannot notice that its daemon has died while it is stopped. */
BOTH_WAYS(the_next_daemon_finds_it_by_its_mark) {
    struct scene *s = scene_new(STAGE(state));
    struct strbuf mark = STRBUF_INIT;
    helper_mark(s->stage->home, &mark);
    die_beside(s, (struct helper_spec){
                      .argv = ARGV("env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", stop_guard),
                      .env = ARGV("PATH=/usr/bin:/bin", strbuf_text(&mark)) });
    pid_t pid = number_in(s, "pid");
    assert_true(lives(pid));
    assert_int_equal(helper_sweep(s->stage->home), 1);
    assert_false(lives(pid)); /* the sweep has waited for the guard, and the guard for this */
    reap_orphans(false);
    strbuf_finish(&mark);
    scene_free(s);
}
