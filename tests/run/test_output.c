/* test_output.c: output of any amount stays within its part of the disk, and no writer is blocked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "run/stage.h"

#define MEGABYTE (1u << 20)

static uint64_t bytes_on_disk(const struct stage *stage, const char *file, uint64_t *ret_size) {
    char path[STAGE_PATH];
    struct stat st;
    stage_path(stage, 1, file, path);
    if (stat(path, &st) < 0)
        return 0;
    if (ret_size)
        *ret_size = (uint64_t)st.st_size;
    return (uint64_t)st.st_blocks * 512;
}

/* A small disk may have no room for a flood that is not held back. */
static bool has_room(const struct stage *stage) {
    struct statvfs disk;
    assert_int_equal(statvfs(stage->home, &disk), 0);
    return (uint64_t)disk.f_bavail * disk.f_frsize >= 2048ull * MEGABYTE;
}

struct peak {
    uint64_t bytes, size;
};

/* However slow the disk is: as long as the log grows, its writer was not blocked. */
static bool follow_disk(struct stage *stage, void *ctx) {
    struct peak *peak = ctx;
    uint64_t size = peak->size, bytes = bytes_on_disk(stage, "out.log", &size);
    if (size > peak->size)
        stage_be_patient(stage);
    peak->size = size;
    peak->bytes = bytes > peak->bytes ? bytes : peak->bytes;
    return stage->runs[1].ended;
}

static void expect_text_at(const struct stage *stage, off_t offset, const char *text) {
    char path[STAGE_PATH], got[64] = "";
    stage_path(stage, 1, "out.log", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (offset < 0)
        offset += lseek(fd, 0, SEEK_END);
    assert_true(pread(fd, got, strlen(text), offset) == (ssize_t)strlen(text));
    close(fd);
    assert_string_equal(got, text);
}

/* The writer waits for the shim, which a busy machine may keep from its work for any time: how often it
 * looks, and what a flood of a given speed comes to, is asked by test_logs.c. */
ONE_WAY(a_flood_is_held_back_and_its_ends_are_kept) {
    struct stage *stage = STAGE(state);
    struct peak peak = { 0 };
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", "600", "32")); /* MB */
    spec.log_head = MEGABYTE;
    spec.log_tail = 4 * MEGABYTE;
    stage_start(stage, 1, &spec);
    stage_await(stage, follow_disk, &peak, "the end of the flood");
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0); /* it was never blocked, never refused */
    uint64_t size = 0, bytes = bytes_on_disk(stage, "out.log", &size);
    assert_int_equal(size, end->out_bytes); /* offsets stay true */
    assert_true(size > 600ull * MEGABYTE);
    print_message("600 MB written: at most %u MB on disk, %u MB kept\n",
                  (unsigned)(peak.bytes / MEGABYTE), (unsigned)(bytes / MEGABYTE));
    assert_true(peak.bytes <= (5 + 64) * MEGABYTE);
    assert_true(bytes <= 5 * MEGABYTE + 16384);
    assert_non_null(strstr(end->applied, "log.punch"));
    expect_text_at(stage, 0, "first line\n");
    expect_text_at(stage, -10, "last line\n");
    stage_free(stage);
}

/* However quick it is: at the end only what is kept is on disk. Less than what ends a run no matter for how
 * short a time (src/shim/logs.c), because the shim may get no processor before the flood is over. */
ONE_WAY(a_flood_at_full_speed_ends_small) {
    struct stage *stage = STAGE(state);
    struct peak peak = { 0 };
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", has_room(stage) ? "400" : "100"));
    spec.log_head = spec.log_tail = MEGABYTE;
    stage_start(stage, 1, &spec);
    stage_await(stage, follow_disk, &peak, "the end of the flood");
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_true(bytes_on_disk(stage, "out.log", NULL) <= 2 * MEGABYTE + 16384);
    stage_free(stage);
}

ONE_WAY(a_short_log_keeps_every_byte) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", "4"));
    spec.log_head = MEGABYTE;
    spec.log_tail = 4 * MEGABYTE;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->out_bytes, 4 * MEGABYTE + 21);
    assert_true(bytes_on_disk(stage, "out.log", NULL) >= 4 * MEGABYTE);
    assert_null(strstr(end->applied, "log."));
    stage_free(stage);
}

ONE_WAY(without_a_limit_everything_is_kept) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", "20"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->code, 0);
    assert_true(bytes_on_disk(stage, "out.log", NULL) >= 20 * MEGABYTE);
    stage_free(stage);
}

ONE_WAY(a_check_is_held_back_too) {
    struct stage *stage = STAGE(state);
    static const char *const flood[] = { HOSTILE_PATH, "flood", "40", NULL };
    static const struct run_command checks[] = { { flood, 0 } };
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    spec.log_head = spec.log_tail = MEGABYTE;
    spec.checks = checks;
    spec.check_count = 1;
    assert_int_equal(stage_run(stage, 1, &spec)->kind, RUN_END_EXIT);
    uint64_t size = 0;
    assert_true(bytes_on_disk(stage, "check.log", &size) <= 2 * MEGABYTE + 16384);
    assert_true(size >= 40 * MEGABYTE);
    stage_free(stage);
}

static struct stage *stage_without_holes(const char *fault) {
    char home[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(home, "run");
    struct stage *stage = stage_new_in(home, WITHOUT_CGROUP, FAULTY_PATH);
    (void)snprintf(path, sizeof(path), "%s/runs/fault", home);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs(fault, stream);
    assert_int_equal(fclose(stream), 0);
    return stage;
}

/* Where holes cannot be punched the run ends before the disk is full. */
ONE_WAY(without_holes_a_flood_ends_the_run) {
    struct stage *stage = stage_without_holes("fallocate 95\n"); /* EOPNOTSUPP */
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", "100", "0", "stay"));
    spec.log_head = spec.log_tail = MEGABYTE;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_OUTPUT);
    assert_non_null(strstr(end->applied, "log.limit"));
    assert_true(bytes_on_disk(stage, "out.log", NULL) >= 64 * MEGABYTE);
    stage_free(stage);
}

ONE_WAY(a_flood_that_cannot_be_held_back_ends_the_run) {
    struct stage *stage =
        stage_without_holes("fallocate 5\n"); /* EIO: it should work, but does not */
    /* Very much ends it at once, less after 10 s. */
    const char *much = has_room(stage) ? "600" : "100";
    struct run_spec spec = stage_spec(stage, HOSTILE("flood", much, "0", "stay"));
    spec.log_head = spec.log_tail = MEGABYTE;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_OUTPUT);
    assert_int_equal(end->signal, 9);
    assert_non_null(strstr(end->message, "faster"));
    stage_free(stage);
}

static uint64_t switches_of(pid_t pid) {
    char path[64], line[256];
    uint64_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            count = strtoull(line + 24, NULL, 10);
    if (status)
        (void)fclose(status);
    return count;
}

#define SILENCE 600 /* ms: ten times as long as the shim ever rests between two looks */

struct silence {
    pid_t shim;
    uint64_t switches;
    time_ms until;
};

/* Its first looks at the log come to rest, when it gets a processor: then nothing happens for a while. One
 * that looked from time to time would never come to this. */
static bool is_silent(struct stage *stage, void *ctx) {
    struct silence *silence = ctx;
    time_ms now = loop_now_steady(stage->loop);
    uint64_t switches = switches_of(silence->shim);
    if (switches != silence->switches || switches == 0) /* 0: it has never come to rest yet */
        silence->until = now + SILENCE;
    silence->switches = switches;
    return now >= silence->until;
}

/* Everything that could wake it is on: cap, idle time-out, deadline. */
ONE_WAY(a_silent_run_wakes_no_process) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.log_head = spec.log_tail = MEGABYTE;
    spec.idle_timeout = HOURS(1);
    spec.command.timeout = HOURS(1);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    struct silence silence = { .shim = stage_who(stage, 1).shim };
    stage_await(stage, is_silent, &silence, "silence: nothing may wake a shim whose run is silent");
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}
