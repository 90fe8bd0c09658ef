/* test_sandbox.c: a command inside a sandbox starts, is signalled and ends like any other.
 *
 * With the real bubblewrap (scripts/setup --test installs it) and short lines for it; what the daemon puts into
 * such a line is tested elsewhere. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

#define BWRAP  "/usr/bin/bwrap"
#define INSIDE "/proc/self/fd/4" /* how the shim finds itself in there */
#define LINE   BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"
#define APART  "--unshare-pid", "--die-with-parent", "--"

static const char *const no_words[] = { NULL };

/* Can write in its own folder alone. */
static struct run_spec boxed(const struct stage *stage, const char *const *argv) {
    static const char *words[16];
    const char *const line[] = { LINE, "--bind", stage->home, stage->home, APART, NULL };
    memcpy(words, line, sizeof(line));
    struct run_spec spec = stage_spec(stage, argv);
    spec.wrap = words;
    spec.wrap_env = no_words;
    spec.enter = INSIDE;
    spec.sandbox = "bubblewrap";
    return spec;
}

static bool mentions(const char *pid, const char *file, const char *text) {
    char path[64], content[8192];
    (void)snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
    ssize_t size = strcmp(file, "cwd") == 0 ? readlink(path, content, sizeof(content) - 1) : -1;
    int fd = size < 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        size = read(fd, content, sizeof(content) - 1);
        close(fd);
    }
    return size > 0 && memmem(content, (size_t)size, text, strlen(text));
}

/* Processes inside have other numbers there, so they cannot register: they are known by their folder. */
static unsigned survivors(const struct stage *stage) {
    unsigned count = 0;
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9'
            && strtol(entry->d_name, NULL, 10) != getpid())
            count += mentions(entry->d_name, "cmdline", stage->home)
                     || mentions(entry->d_name, "cwd", stage->home);
    (void)closedir(dir);
    return count;
}

static void finish(struct stage *stage) {
    if (survivors(stage) != 0)
        fail_msg("%u processes have survived the sandbox", survivors(stage));
    stage_free(stage);
}

/* --- a start ----------------------------------------------------------------------------------- */

BOTH_WAYS(a_command_runs_inside) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, ARGV("sh", "-c", "echo pid $$; exit 7"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    assert_int_equal(end->leftover, 0);
    assert_non_null(strstr(end->applied, "bubblewrap"));
    assert_string_equal(stage_file(stage, 1, "out.log"), "pid 2\n");
    assert_true(stage->runs[1].started);
    finish(stage);
}

ONE_WAY(it_gets_what_a_command_gets) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("fds"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "fd 0\nfd 1\nfd 2\n");
    spec = boxed(stage, HOSTILE("env"));
    spec.env = ARGV("B=2", "EMPTY=", "ODD= a=b\"'\\ \xff");
    assert_int_equal(stage_run(stage, 2, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 2, "out.log"), "B=2\nEMPTY=\nODD= a=b\"'\\ \xff\n");
    spec = boxed(stage, HOSTILE("stdin"));
    spec.prompt = "a prompt\n";
    spec.prompt_size = strlen(spec.prompt);
    assert_int_equal(stage_run(stage, 3, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 3, "out.log"), "a prompt\n");
    mode_t mask = umask(027);
    spec = boxed(stage, HOSTILE("ids"));
    spec.open_files = 123;
    assert_int_equal(stage_run(stage, 4, &spec)->code, 0);
    umask(mask);
    const char *seen = stage_file(stage, 4, "out.log");
    static const char *const lines[] = { "leader 1\n", "umask 27\n", "files 123\n",
                                         "SigBlk:\t0000000000000000\n",
                                         "SigIgn:\t0000000000000000\n" };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!strstr(seen, lines[i]))
            fail_msg("no line '%s' in:\n%s", lines[i], seen);
    finish(stage);
}

ONE_WAY(checks_are_inside_too) {
    struct stage *stage = STAGE(state);
    static const char *const inside[] = { "sh", "-c", "test $$ = 2", NULL };
    static const char *const fails[] = { "sh", "-c", "echo $$; exit 5", NULL };
    static const struct run_command checks[] = { { inside, 0 }, { fails, 0 } };
    struct run_spec spec = boxed(stage, ARGV("true"));
    spec.checks = checks;
    spec.check_count = 2;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 1);
    assert_int_equal(end->code, 5);
    assert_string_equal(stage_file(stage, 1, "check.log"), "2\n");
    finish(stage);
}

/* The line of the sandbox names the folder of the command. */
ONE_WAY(what_prepares_has_its_own_folder_inside) {
    struct stage *stage = STAGE(state);
    char sub[STAGE_PATH + 8], seen[STAGE_PATH + 16];
    (void)snprintf(sub, sizeof(sub), "%s/sub", stage->home);
    assert_int_equal(mkdir(sub, 0700), 0);
    const char *const line[] = { LINE,      "--bind", stage->home, stage->home,
                                 "--chdir", sub,      APART,       NULL };
    struct run_spec spec = boxed(stage, ARGV("pwd"));
    spec.wrap = line;
    spec.cwd = sub;
    spec.prepare.argv = ARGV("sh", "-c", "test $$ = 2 && pwd");
    spec.prepare_cwd = stage->home;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->code, 0);
    assert_non_null(strstr(end->applied, "prepared"));
    (void)snprintf(seen, sizeof(seen), "%s\n", stage->home);
    assert_string_equal(stage_file(stage, 1, "prepare.log"), seen);
    (void)snprintf(seen, sizeof(seen), "%s\n", sub);
    assert_string_equal(stage_file(stage, 1, "out.log"), seen);
    assert_int_equal(rmdir(sub), 0);
    finish(stage);
}

ONE_WAY(secrets_reach_it) {
    struct stage *stage = STAGE(state);
    static const char *const secrets[] = { "KEY=a secret of the run", NULL };
    static const char *const check[] = { "sh", "-c", "test \"$KEY\" = 'a secret of the run'",
                                         NULL };
    static const struct run_command checks[] = { { check, 0 } };
    struct run_spec spec = boxed(stage, check);
    assert_int_equal(stage_run(stage, 1, &spec)->code, 1);
    spec = boxed(stage, check);
    spec.secrets = secrets;
    spec.prepare.argv = check;
    spec.checks = checks;
    spec.check_count = 1;
    const struct run_end *end = stage_run(stage, 2, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    finish(stage);
}

ONE_WAY(a_program_without_descriptors_of_ours_gets_the_command) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo $WRAPPED $WHO"));
    spec.wrap = ARGV("env", "WRAPPED=yes");
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "yes test\n");
    finish(stage);
}

/* --- no start ---------------------------------------------------------------------------------- */

static void expect_refused(struct stage *stage, task_id task, const struct run_spec *spec,
                           const char *words) {
    const struct run_end *end = stage_run(stage, task, spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_true(end->exec_errno > 0);
    assert_false(stage->runs[task].started);
    if (!strstr(end->message, words))
        fail_msg("no '%s' in: %s", words, end->message);
}

BOTH_WAYS(a_sandbox_that_cannot_be_made_is_a_failed_launch) {
    struct stage *stage = STAGE(state);
    char mark[STAGE_PATH + 16];
    (void)snprintf(mark, sizeof(mark), "touch %.200s/ran", stage->home);
    struct run_spec spec = boxed(stage, ARGV("sh", "-c", mark));
    spec.wrap = ARGV(LINE, "--bind", "/no-such-folder", "/tmp", APART);
    expect_refused(stage, 1, &spec,
                   "create the sandbox with '" BWRAP "': bwrap: Can't find source");
    spec.wrap = ARGV("/no-such-program", "--");
    expect_refused(stage, 2, &spec, "cannot run '/no-such-program': No such file");
    spec.wrap = ARGV("true");
    expect_refused(stage, 3, &spec, "create the sandbox with 'true'");
    spec.enter = "/no-such-shim";
    spec.wrap = boxed(stage, NULL).wrap;
    expect_refused(stage, 4, &spec, "/no-such-shim");
    (void)snprintf(mark, sizeof(mark), "%.200s/ran", stage->home);
    assert_int_equal(access(mark, F_OK), -1);
    finish(stage);
}

ONE_WAY(what_is_missing_inside_is_named) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, ARGV("no-such-program"));
    expect_refused(stage, 1, &spec, "cannot run 'no-such-program': No such file");
    expect_refused(stage, 2, &spec, "no folder of PATH has it");
    spec = boxed(stage, ARGV("true"));
    spec.cwd = "/no-such-folder";
    expect_refused(stage, 3, &spec, "cannot enter folder '/no-such-folder'");
    finish(stage);
}

/* --- ends -------------------------------------------------------------------------------------- */

BOTH_WAYS(signals_reach_the_command_and_not_the_sandbox) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3);
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot TERM\n");
    spec.stop_signal = SIGINT;
    stage_start(stage, 2, &spec);
    stage_await_text(stage, 2, "out.log", "ready");
    stage_stop(stage, 2, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 2)->code, 3);
    assert_string_equal(stage_file(stage, 2, "out.log"), "ready\ngot INT\n");
    spec = boxed(stage, HOSTILE("stopped"));
    stage_start(stage, 3, &spec);
    stage_await_text(stage, 3, "out.log", "ready");
    stage_stop(stage, 3, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 3)->code, 3);
    finish(stage);
}

BOTH_WAYS(who_ignores_the_stop_is_killed) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("tree", "3", "3"));
    spec.grace = 100;
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 4);
    assert_true(survivors(stage) >= 4); /* this way of counting sees them */
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->signal, SIGKILL);
    finish(stage);
}

BOTH_WAYS(a_stop_may_come_at_any_moment_of_the_start) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("ignore"));
    spec.grace = 0;
    for (task_id task = 1; task <= 16; task++) {
        stage_start(stage, task, &spec);
        for (task_id i = 0; task > 4 && i < task * 500; i++)
            (void)sched_yield();
        stage_stop(stage, task, task % 2 ? STOP_GRACEFULLY : STOP_IMMEDIATELY);
    }
    for (task_id task = 1; task <= 16; task++)
        assert_int_equal(stage_await_end(stage, task)->kind, RUN_END_STOPPED);
    finish(stage);
}

BOTH_WAYS(what_it_leaves_behind_ends_with_it) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("leave", "3", "4"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 4);
    finish(stage);
}

/* bubblewrap ends with 128 and the number of the signal, as shells do. */
ONE_WAY(a_signal_becomes_an_exit_code) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("signal", "11"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 128 + SIGSEGV);
    finish(stage);
}

BOTH_WAYS(it_dies_with_its_shim) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("leave", "2", "stay"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    assert_int_equal(kill(stage_who(stage, 1).shim, SIGKILL), 0);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    finish(stage);
}

BOTH_WAYS(limits_are_about_the_command) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = boxed(stage, HOSTILE("drip", "1", "1200"));
    spec.processes_max = 1;
    spec.idle_timeout = SECONDS(2);
    spec.grace = 0;
    assert_int_equal(stage_run(stage, 1, &spec)->kind, RUN_END_TIMEOUT); /* not for its processes */
    finish(stage);
}

/* --- attacks ----------------------------------------------------------------------------------- */

/* Each first succeeds where nothing is in its way. */

ONE_WAY(an_environment_reaches_the_command_alone) {
    struct stage *stage = STAGE(state);
    char loot[STAGE_PATH + 16];
    (void)snprintf(loot, sizeof(loot), "LOOT=%.200s/loot", stage->home);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    spec.env = ARGV("PATH=/usr/bin:/bin", "LD_PRELOAD=" PRELOAD_PATH, loot);
    spec.wrap = ARGV(LINE, APART); /* inside nothing can be written */
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_int_equal(unlink(loot + strlen("LOOT=")), 0); /* the sandbox program was taken over */
    spec.enter = INSIDE;
    assert_int_equal(stage_run(stage, 2, &spec)->code, 0);
    assert_int_equal(access(loot + strlen("LOOT="), F_OK), -1);
    finish(stage);
}

ONE_WAY(standard_input_is_opened_inside) {
    struct stage *stage = STAGE(state);
    char folder[STAGE_PATH], secret[STAGE_PATH + 16];
    (void)snprintf(folder, sizeof(folder), "%.200s/private", stage->home);
    (void)snprintf(secret, sizeof(secret), "%s/key", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *stream = fopen(secret, "we");
    assert_true(stream && fputs("secret\n", stream) > 0 && fclose(stream) == 0);
    struct run_spec spec = boxed(stage, HOSTILE("stdin"));
    spec.stdin_path = secret;
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "secret\n");
    spec.wrap = ARGV(LINE, "--tmpfs", folder, APART);
    expect_refused(stage, 2, &spec, "cannot read");
    assert_string_equal(stage_file(stage, 2, "out.log"), "");
    finish(stage);
}

static int listen_abstract(char name[64]) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(name, 64, "sluice-test-%d", (int)getpid());
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 8) == 0);
    return fd;
}

ONE_WAY(abstract_sockets_are_out_of_reach) {
    struct stage *stage = STAGE(state);
    char name[64];
    int server = listen_abstract(name);
    struct run_spec spec = boxed(stage, HOSTILE("abstract", name));
    struct run_spec plain = spec;
    plain.enter = NULL; /* bubblewrap alone does not keep it from there */
    plain.env = ARGV("PATH=/usr/bin:/bin");
    assert_int_equal(stage_run(stage, 1, &plain)->code, 0);
    const struct run_end *end = stage_run(stage, 2, &spec);
    bool scoped = strstr(end->applied, "landlock") != NULL; /* Linux 6.12 and later */
    assert_int_equal(end->code, scoped ? EPERM : 0);
    spec.wrap = ARGV(LINE, "--unshare-net", APART);
    assert_int_not_equal(stage_run(stage, 3, &spec)->code, 0);
    close(server);
    finish(stage);
}

int main(void) {
    if (access(BWRAP, X_OK) < 0) {
        (void)fprintf(stderr, "%s is not there; run: scripts/setup --test\n", BWRAP);
        return 1;
    }
    return tests_run();
}
