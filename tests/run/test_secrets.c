/* test_secrets.c: secrets reach the command and its checks, and nothing else.
 *
 * Each search is first shown to find the value where it was handed over in the usual way, as a variable of the spec. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "run/stage.h"

#define KEY  "sk-0123456789-abcdef"
#define PAIR "API_KEY=" KEY

#define SECRETS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- where is it? ---------------------------------------------------------------------------- */

static bool file_has(const char *path, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    struct stat st;
    if (stat(path, &st) < 0 || S_ISDIR(st.st_mode) || file_read(path, 1 << 20, &bytes, NULL) < 0)
        return false;
    return bytes.length > 0 && memmem(bytes.text, bytes.length, text, strlen(text));
}

/* Some file of the run, or `file` of some process. */
static bool folder_has(const char *folder, const char *file, const char *text) {
    bool found = false;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; !found && (entry = readdir(dir));) {
        char path[STAGE_PATH];
        (void)snprintf(path, sizeof(path), "%.150s/%.60s%s", folder, entry->d_name, file);
        found = file_has(path, text);
    }
    closedir(dir);
    return found;
}

static bool run_has(const struct stage *stage, task_id task, const char *text) {
    char path[STAGE_PATH];
    stage_path(stage, task, "", path);
    return folder_has(path, "", text);
}

/* --- the tests ------------------------------------------------------------------------------- */

static const char *const check_key[] = {
    "sh",
    "-c",
    "[ \"$API_KEY\" = " KEY " ] && echo checked",
    NULL,
};
static const char *const print_key[] = { "sh", "-c", "echo \"<$API_KEY>\"", NULL };

BOTH_WAYS(the_command_and_its_checks_have_them) {
    struct stage *stage = STAGE(state);
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "[ \"$API_KEY\" = " KEY " ] && echo \"$WHO$MORE\""));
    const struct run_command checks[] = { { check_key, 0 } };
    spec.secrets = SECRETS(PAIR, "MORE=!");
    spec.checks = checks;
    spec.check_count = 1;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "test!\n");
    assert_string_equal(stage_file(stage, 1, "check.log"), "checked\n");
    stage_free(stage);
}

ONE_WAY(they_are_stronger_than_other_variables) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "env | grep WHO"));
    spec.secrets = SECRETS("WHO=me");
    (void)stage_run(stage, 1, &spec);
    assert_string_equal(stage_file(stage, 1, "out.log"), "WHO=me\n");
    stage_free(stage);
}

/* While the run lives. */
ONE_WAY(no_file_and_no_command_line_has_them) {
    struct stage *stage = STAGE(state);
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo ready; exec tail -f /dev/null"));
    const char *const env[] = { "PATH=/usr/bin:/bin", PAIR, NULL };
    struct run_spec open = spec;
    open.env = env;
    open.command.argv = ARGV("sh", "-c", "echo ready; exec tail -f /dev/null # " KEY);
    stage_start(stage, 1, &open);
    stage_await_text(stage, 1, "out.log", "ready");
    assert_true(run_has(stage, 1, KEY)); /* the search works */
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 1);

    spec.secrets = SECRETS(PAIR);
    stage_start(stage, 2, &spec);
    stage_await_text(stage, 2, "out.log", "ready");
    assert_false(run_has(stage, 2, KEY));
    assert_false(folder_has("/proc", "/cmdline", KEY));
    stage_stop(stage, 2, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 2);
    assert_false(run_has(stage, 2, KEY));
    stage_free(stage);
}

ONE_WAY(the_command_has_no_descriptor_of_them) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "ls -l /proc/self/fd"));
    spec.secrets = SECRETS(PAIR);
    (void)stage_run(stage, 1, &spec);
    assert_non_null(strstr(stage_file(stage, 1, "out.log"), "out.log")); /* it lists them */
    assert_null(strstr(stage_file(stage, 1, "out.log"), "memfd"));
    stage_free(stage);
}

/* In the form of JSON, too. */
ONE_WAY(what_was_printed_is_replaced_at_the_end) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(
        stage, ARGV("sh", "-c",
                    "echo \"<$API_KEY>\"; printf '%s\\n' '{\"a\":\"line\\none-two\"}' >&2; "
                    "read -r _ <fifo"));
    char path[STAGE_PATH];
    const struct run_command checks[] = { { print_key, 0 } };
    (void)snprintf(path, sizeof(path), "%.200s/fifo", stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    spec.secrets = SECRETS(PAIR, "TWO=line\none-two");
    spec.checks = checks;
    spec.check_count = 1;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "<" KEY ">"); /* as the command wrote it */
    stage_await_text(stage, 1, "err.log", "one-two");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "go\n", 3), 3);
    assert_int_equal(close(fd), 0);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "<[redacted API_KEY]**>\n");
    assert_string_equal(stage_file(stage, 1, "err.log"), "{\"a\":\"*************\"}\n");
    assert_string_equal(stage_file(stage, 1, "check.log"), "<[redacted API_KEY]**>\n");
    assert_int_equal(end->out_bytes, strlen("<" KEY ">\n"));
    stage_free(stage);
}

/* A file of the user that has the value is not the log of the run, whatever it is linked to. */
ONE_WAY(other_files_are_left_alone) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(
        stage, ARGV("sh", "-c",
                    "echo " PAIR " >victim; ln -f victim \"$FOLDER/out.log\"; "
                    "rm \"$FOLDER/err.log\"; ln -s \"$PWD/victim\" \"$FOLDER/err.log\""));
    char folder[STAGE_PATH], variable[STAGE_PATH + 16], path[STAGE_PATH];
    stage_path(stage, 1, "", folder);
    (void)snprintf(variable, sizeof(variable), "FOLDER=%s", folder);
    const char *const env[] = { "PATH=/usr/bin:/bin", variable, NULL };
    spec.env = env;
    spec.secrets = SECRETS(PAIR);
    (void)stage_run(stage, 1, &spec);
    (void)snprintf(path, sizeof(path), "%.200s/victim", stage->home);
    assert_true(file_has(path, KEY));
    stage_free(stage);
}

ONE_WAY(without_them_nothing_runs) {
    char home[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(home, "run");
    (void)snprintf(path, sizeof(path), "%s/shim", home);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs("#!/bin/sh\nexec 7</dev/null\nexec " SHIM_PATH " \"$@\"\n", stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0700), 0);
    struct stage *stage = stage_new_in(home, *(const int *)*state, path);
    struct run_spec spec = stage_spec(stage, ARGV("touch", "ran"));
    const struct run_end *end = stage_run(stage, 1, &spec); /* that needs none */
    assert_int_equal(end->kind, RUN_END_EXIT);
    spec.secrets = SECRETS(PAIR);
    spec.command.argv = ARGV("rm", "ran");
    end = stage_run(stage, 2, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_string_equal(end->message, "the secrets of this run did not reach its shim");
    (void)snprintf(path, sizeof(path), "%s/ran", home);
    assert_int_equal(access(path, F_OK), 0);
    stage_free(stage);
}

static void refused(const struct stage *stage, const char *const *secrets, const char *message) {
    struct error err = { 0 };
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    spec.secrets = secrets;
    int r = executor_start(stage->ex, (struct run_key){ 1, 1 }, "test-1/1", &spec, &err);
    assert_int_equal(r, -E2BIG);
    assert_non_null(strstr(err.text, message));
    assert_null(strstr(err.text, "vvvv"));
}

/* NAME=vvv…, with a NUL at the end. */
static void fill_pair(char *pair, size_t size, const char *name) {
    int length = snprintf(pair, size, "%s=", name);
    memset(pair + length, 'v', size - 1 - (size_t)length);
    pair[size - 1] = '\0';
}

ONE_WAY(there_are_limits) {
    struct stage *stage = STAGE(state);
    static char large[RUN_SECRET_BYTES + 1], small[64], half[RUN_SECRET_BYTES - 8];
    const char *many[RUN_SECRETS_MAX + 2] = { NULL };
    fill_pair(large, sizeof(large), "LARGE");
    refused(stage, SECRETS(large), "secret 'LARGE' has more than 16384 bytes");
    fill_pair(half, sizeof(half), "HALF");
    refused(stage, SECRETS(half, half, half, half, half), "too many secrets");
    fill_pair(small, sizeof(small), "SMALL");
    for (size_t i = 0; i <= RUN_SECRETS_MAX; i++)
        many[i] = small;
    refused(stage, many, "too many secrets");
    stage_free(stage);
}

/* The largest that may be, with all descriptors and the log of a check. */
ONE_WAY(the_largest_arrive) {
    struct stage *stage = STAGE(state);
    static char large[RUN_SECRET_BYTES];
    fill_pair(large, sizeof(large), "LARGE");
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo ${#LARGE}; echo \"$LARGE\"; echo end"));
    spec.secrets = SECRETS(large, PAIR);
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    const char *log = stage_file(stage, 1, "out.log");
    assert_non_null(strstr(log, "16377\n"));
    assert_non_null(strstr(log, "\n[redacted LARGE]****"));
    assert_null(strstr(log, "vv"));
    stage_free(stage);
}
