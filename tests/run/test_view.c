/* test_view.c: what a command sees, and that it sees nothing else. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/patience.h"
#include "harness/test.h"
#include "run/stage.h"

BOTH_WAYS(it_has_three_descriptors) {
    struct stage *stage = STAGE(state);
    /* Of the test: neither may reach the command. */
    int open_one = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int leaked = fcntl(open_one, F_DUPFD, 50);
    assert_true(leaked >= 50);
    struct run_spec spec = stage_spec(stage, HOSTILE("fds"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "fd 0\nfd 1\nfd 2\n");
    close(open_one);
    close(leaked);
    stage_free(stage);
}

ONE_WAY(its_environment_is_exactly_the_spec) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("env"));
    spec.env = ARGV("B=2", "A=1", "EMPTY=", "ODD= a=b\"'\\ \xff");
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "B=2\nA=1\nEMPTY=\nODD= a=b\"'\\ \xff\n");
    spec.env = (const char *const[]){ NULL };
    assert_int_equal(stage_run(stage, 2, &spec)->code, 0);
    assert_string_equal(stage_file(stage, 2, "out.log"), "");
    stage_free(stage);
}

static void expect_line(const struct stage *stage, const char *line) {
    if (!strstr(stage_file(stage, 1, "out.log"), line))
        fail_msg("no line '%s' in:\n%s", line, stage_file(stage, 1, "out.log"));
}

static int own_oom_score(void) {
    int score = 0;
    FILE *stream = fopen("/proc/self/oom_score_adj", "re");
    assert_true(stream && fscanf(stream, "%d", &score) == 1);
    (void)fclose(stream);
    return score;
}

ONE_WAY(it_is_its_own_group_with_default_signals) {
    struct stage *stage = STAGE(state);
    char line[STAGE_PATH + 16];
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    (void)signal(SIGPIPE, SIG_IGN); /* neither may be inherited */
    mode_t mask = umask(027);
    struct run_spec spec = stage_spec(stage, HOSTILE("ids"));
    /* An ordinary user can raise what this test itself was started with, and not lower it. */
    int nice = getpriority(PRIO_PROCESS, 0), oom = own_oom_score();
    spec.nice = nice > 5 ? nice : 5;
    spec.oom_score_adj = oom > 500 ? oom : 500;
    spec.open_files = 123;
    const struct run_end *end = stage_run(stage, 1, &spec);
    umask(mask);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(end->code, 0);
    expect_line(stage, "leader 1\n");
    expect_line(stage, "session 1\n"); /* the shim's */
    (void)snprintf(line, sizeof(line), "nice %d\n", spec.nice);
    expect_line(stage, line);
    expect_line(stage, "core 0\n");
    expect_line(stage, "files 123\n");
    expect_line(stage, "umask 27\n"); /* the daemon's, not the shim's */
    expect_line(stage, "death 9\n");
    (void)snprintf(line, sizeof(line), "oom %d\n", spec.oom_score_adj);
    expect_line(stage, line);
    expect_line(stage, "SigBlk:\t0000000000000000\n");
    expect_line(stage, "SigIgn:\t0000000000000000\n");
    (void)snprintf(line, sizeof(line), "cwd %s\n", stage->home);
    expect_line(stage, line);
    assert_non_null(strstr(end->applied, "nice"));
    assert_non_null(strstr(end->applied, "oom_score_adj"));
    stage_free(stage);
}

/* The score is the command's alone. When memory is short, the shim must survive to report it. */
ONE_WAY(its_shim_keeps_its_own_oom_score) {
    struct stage *stage = STAGE(state);
    char own[16];
    int oom = own_oom_score();
    (void)snprintf(own, sizeof(own), "%d", oom);
    struct run_spec spec = stage_spec(
        stage, ARGV("sh", "-c",
                    "until read -r s </proc/$PPID/oom_score_adj && [ $s = $0 ]; do :; done", own));
    spec.oom_score_adj = oom > 500 ? 1000 : 500;
    spec.command.timeout = patience_ms();
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    stage_free(stage);
}

ONE_WAY(its_input_is_empty_or_the_prompt_or_a_file) {
    struct stage *stage = STAGE(state);
    static char prompt[300000]; /* more than fits into an argument */
    memset(prompt, 'p', sizeof(prompt));
    prompt[10] = '\0';
    struct run_spec spec = stage_spec(stage, HOSTILE("stdin"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->out_bytes, 0);

    spec.prompt = prompt;
    spec.prompt_size = sizeof(prompt);
    assert_int_equal(stage_run(stage, 2, &spec)->out_bytes, sizeof(prompt));
    assert_memory_equal(stage_file(stage, 2, "out.log"), prompt, sizeof(prompt));

    spec = stage_spec(stage, HOSTILE("stdin"));
    spec.stdin_path = "/proc/sys/kernel/random/boot_id";
    assert_int_equal(stage_run(stage, 3, &spec)->code, 0);
    assert_memory_equal(stage_file(stage, 3, "out.log"), executor_boot_id(stage->ex), 36);
    stage_free(stage);
}

ONE_WAY(output_and_errors_are_apart) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo out; echo err >&2; exit 4"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->code, 4);
    assert_string_equal(stage_file(stage, 1, "out.log"), "out\n");
    assert_string_equal(stage_file(stage, 1, "err.log"), "err\n");
    assert_int_equal(end->out_bytes, 4);
    assert_int_equal(end->err_bytes, 4);
    stage_free(stage);
}

/* TMPDIR goes, what a link in it points at stays. */
ONE_WAY(its_temporary_folder_is_deleted_afterwards) {
    struct stage *stage = STAGE(state);
    char outside[STAGE_PATH], kept[STAGE_PATH], variable[STAGE_PATH + 8], tmp[STAGE_PATH];
    (void)snprintf(outside, sizeof(outside), "%.200s/outside", stage->home);
    (void)snprintf(kept, sizeof(kept), "%.200s/outside/kept", stage->home);
    stage_path(stage, 1, "tmp", tmp);
    (void)snprintf(variable, sizeof(variable), "TMPDIR=%s", tmp);
    assert_int_equal(mkdir(outside, 0700), 0);
    assert_int_equal(mkdir(kept, 0700), 0);
    struct run_spec spec = stage_spec(stage, HOSTILE("litter", outside));
    spec.env = ARGV(variable);
    stage_start(stage, 1, &spec);
    assert_int_equal(access(tmp, F_OK), 0);
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    assert_int_equal(access(tmp, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    stage_free(stage);
}

ONE_WAY(its_files_are_for_the_owner_only) {
    struct stage *stage = STAGE(state);
    static const char *const files[] = { "", "lock", "out.log", "err.log", "end.json", "prompt" };
    mode_t mask = umask(0);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    spec.prompt = "secret";
    spec.prompt_size = 6;
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    umask(mask);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[STAGE_PATH];
        struct stat st;
        stage_path(stage, 1, files[i], path);
        if (stat(path, &st) < 0 || (st.st_mode & 077) != 0)
            fail_msg("'%s' is not there or can be read by others", path);
    }
    stage_free(stage);
}

static long shim_kilobytes(pid_t pid) {
    char path[64], line[256];
    long kilobytes = -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kilobytes = strtol(line + 6, NULL, 10);
    if (status)
        (void)fclose(status);
    return kilobytes;
}

ONE_WAY(a_shim_needs_less_than_a_megabyte) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.log_head = spec.log_tail = 1 << 20;
    spec.idle_timeout = HOURS(1);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    long kilobytes = shim_kilobytes(stage_who(stage, 1).shim);
    print_message("the shim has %ld kB resident\n", kilobytes);
    assert_in_range(kilobytes, 1, 1024);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}
