/* fake.c: how the tests of the Slurm executor set up and spoil the fake Slurm. */
#include "run/fake.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/scratch.h"

#define TEXT_MAX (256u << 10)

static void run(const char *format, ...) _printf_(1, 2);
static void run(const char *format, ...) {
    char command[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0) // NOLINT(cert-env33-c): the test's own words
        fail_msg("'%s' failed", command);
}

/* --- life ------------------------------------------------------------------------------------ */

static struct fake *make(bool accounting) {
    static char programs[STAGE_PATH + 16];
    struct fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    scratch_make(fake->dir, "fake");
    /* What stays with a job still writes when the run is over: stage_free waits for it, too. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    run("%s install %s", FAKE_SLURM, fake->dir);
    if (accounting)
        fake_set(fake, "accounting", "");
    (void)snprintf(programs, sizeof(programs), "%s/bin", fake->dir);
    const struct executor_slurm_options options = {
        .programs = programs,
        .cluster = "fake",
        .poll_busy = 20,
        .poll_idle = 100,
        .patience = FAKE_PATIENCE,
        .retry = 50,
        .use_sacct = accounting,
    };
    fake->stage = stage_new_slurm(&options);
    return fake;
}

struct fake *fake_new(void) {
    return make(false);
}

struct fake *fake_new_accounting(void) {
    return make(true);
}

void fake_free(struct fake *fake) {
    stage_free(fake->stage);
    scratch_remove(fake->dir);
    free(fake);
}

int fake_open(void **state) {
    *state = fake_new();
    return 0;
}

int fake_open_accounting(void **state) {
    *state = fake_new_accounting();
    return 0;
}

int fake_close(void **state) {
    fake_free(*state);
    return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *read_text(const char *path) {
    static char text[TEXT_MAX];
    FILE *stream = fopen(path, "re");
    size_t size = stream ? fread(text, 1, sizeof(text) - 1, stream) : 0;
    if (stream)
        (void)fclose(stream);
    text[size] = '\0';
    return text;
}

static void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

void fake_set(const struct fake *fake, const char *file, const char *text) {
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/%s", fake->dir, file);
    write_text(path, text);
}

void fake_clear(const struct fake *fake, const char *file) {
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/%s", fake->dir, file);
    assert_int_equal(unlink(path), 0);
}

const char *fake_job(const struct fake *fake, unsigned job, const char *file) {
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/jobs/%u/%s", fake->dir, job, file);
    return read_text(path);
}

void fake_put(const struct fake *fake, unsigned job, const char *file, const char *text) {
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/jobs/%u/%s", fake->dir, job, file);
    write_text(path, text);
}

unsigned fake_jobs(const struct fake *fake) {
    char path[2 * STAGE_PATH];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "%s/jobs", fake->dir);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

unsigned fake_calls(const struct fake *fake, const char *begins) {
    char path[2 * STAGE_PATH];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "%s/calls", fake->dir);
    for (const char *at = read_text(path); *at;) {
        count += strncmp(at, begins, strlen(begins)) == 0;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return count;
}

void fake_call(const struct fake *fake, const char *program, const char *arguments) {
    run("%s/bin/%s %s", fake->dir, program, arguments);
}

/* --- waiting --------------------------------------------------------------------------------- */

struct wanted {
    struct fake *fake;
    unsigned number;
    task_id task;
    const char *file, *text;
};

static bool job_has_text(struct stage *stage, void *ctx) {
    const struct wanted *wanted = ctx;
    (void)stage;
    return strstr(fake_job(wanted->fake, wanted->number, wanted->file), wanted->text) != NULL;
}

void fake_await_job(struct fake *fake, unsigned job, const char *file, const char *text) {
    struct wanted wanted = { fake, job, 0, file, text };
    stage_await(fake->stage, job_has_text, &wanted, text);
}

static bool has_calls(struct stage *stage, void *ctx) {
    const struct wanted *wanted = ctx;
    (void)stage;
    return fake_calls(wanted->fake, wanted->text) >= wanted->number;
}

void fake_await_calls(struct fake *fake, const char *begins, unsigned count) {
    struct wanted wanted = { fake, count, 0, NULL, begins };
    stage_await(fake->stage, has_calls, &wanted, begins);
}

static bool does(struct stage *stage, void *ctx) {
    const struct wanted *wanted = ctx;
    _cleanup_(strbuf_finish) struct strbuf doing = STRBUF_INIT;
    (void)executor_describe_run(stage->ex, (struct run_key){ wanted->task, 1 }, &doing);
    return strstr(strbuf_text(&doing), wanted->text) != NULL;
}

void fake_await_doing(struct fake *fake, task_id task, const char *text) {
    struct wanted wanted = { fake, 0, task, NULL, text };
    stage_await(fake->stage, does, &wanted, text);
}

void fake_start_pending(struct fake *fake, task_id task, const struct run_spec *spec) {
    fake_set(fake, "hold", "");
    stage_start(fake->stage, task, spec);
    fake_await_doing(fake, task, "pending in Slurm: Resources (job ");
}

enum adopted fake_adopt(struct fake *fake, task_id task) {
    char folder[STAGE_PATH];
    stage_folder(task, folder);
    return executor_adopt(fake->stage->ex, (struct run_key){ task, 1 }, folder,
                          &(struct executor_known){ .boot_id = "slurm:fake" });
}
