/* cluster.c: see cluster.h. Commands of Slurm are run and waited for; each within the patience of the test. */
#include "slurm/cluster.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/patience.h"
#include "os/clock.h"

#define ANSWER_MAX (1u << 20)
#define ASK_EVERY  150 /* ms */
/* A time limit is looked at twice a minute, a node is missed after SlurmdTimeout, and a controller that was killed
 * looks for batch jobs that it does not find after some minutes. */
#define SLURM_NOTICES MINUTES(6)

static char answer[ANSWER_MAX];

int cluster_is_there(void **state) {
    (void)state;
    if (getenv("SLUICE_TEST_SLURM") && getenv("SLURM_CONF") && getenv("SLURM_CLUSTER"))
        return 0;
    fprintf(stderr, "there is no cluster: run it by `make test-slurm`\n");
    exit(77);
}

/* --- commands -------------------------------------------------------------------------------- */

static int run_line(const char *line) {
    FILE *stream = popen(line, "re");
    assert_non_null(stream);
    size_t size = fread(answer, 1, sizeof(answer) - 1, stream);
    answer[size] = '\0';
    if (size > 0 && answer[size - 1] == '\n')
        answer[size - 1] = '\0';
    int status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int __attribute__((format(printf, 1, 0))) run_format(const char *format, va_list args) {
    char words[1024], line[1200];
    (void)vsnprintf(words, sizeof(words), format, args);
    (void)snprintf(line, sizeof(line), "exec timeout %d %s 2>&1", patience_s(), words);
    return run_line(line);
}

int cluster_try(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = run_format(format, args);
    va_end(args);
    return code;
}

const char *cluster_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = run_format(format, args);
    va_end(args);
    if (code != 0)
        fail_msg("'%s' ended with %d: %.500s", format, code, answer);
    return answer;
}

void cluster_part(const char *verb, const char *part) {
    (void)cluster_say("'%s' %s '%s' %s", getenv("SLURM_CLUSTER"), verb, getenv("SLUICE_TEST_SLURM"),
                      part);
}

int cluster_mend(void **state) {
    (void)state;
    cluster_part("mend", "");
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------ */

struct stage *cluster_stage_with(const struct executor_slurm_options *options) {
    struct executor_slurm_options with = *options;
    if (with.poll_busy == 0)
        with.poll_busy = 300;
    if (with.poll_idle == 0)
        with.poll_idle = SECONDS(2);
    if (with.patience == 0)
        with.patience = SECONDS(5);
    return stage_new_slurm(&with);
}

struct stage *cluster_stage(void) {
    return cluster_stage_with(&(struct executor_slurm_options){ 0 });
}

static void token_of(const struct stage *stage, task_id task, char out[64]) {
    (void)snprintf(out, 64, "sluice:%s:%d:1", strrchr(stage->home, '-') + 1, (int)task);
}

struct run_spec cluster_spec(struct stage *stage, task_id task, const char *const *argv) {
    static char tokens[STAGE_RUNS][64], names[STAGE_RUNS][24];
    struct run_spec spec = stage_spec(stage, argv);
    assert_true(task < STAGE_RUNS);
    token_of(stage, task, tokens[task]);
    (void)snprintf(names[task], sizeof(names[task]), "test-%d", (int)task);
    spec.token = tokens[task];
    spec.name = names[task];
    return spec;
}

void cluster_start(struct stage *stage, task_id task, const char *const *argv) {
    struct run_spec spec = cluster_spec(stage, task, argv);
    stage_start(stage, task, &spec);
}

struct late {
    task_id task;
    time_ms until;
};

static bool has_ended(struct stage *stage, void *ctx) {
    const struct late *late = ctx;
    if (clock_read_steady() < late->until)
        stage_be_patient(stage);
    return stage->runs[late->task].ended;
}

const struct run_end *cluster_await_end(struct stage *stage, task_id task) {
    struct late late = { task, clock_read_steady() + SLURM_NOTICES };
    stage_await(stage, has_ended, &late, "the end of the run");
    assert_int_equal(stage->runs[task].ended_times, 1);
    return &stage->runs[task].end;
}

/* --- what Slurm says ------------------------------------------------------------------------- */

/* Without a controller there is no answer, and the question is asked again. */
static const char *list_of(const struct stage *stage, task_id task, const char *column) {
    char token[64];
    token_of(stage, task, token);
    if (cluster_try("squeue --noheader --states=all --Format='%s:|,Comment:|' | grep -F '|%s|'",
                    column, token)
        > 1)
        answer[0] = '\0';
    return answer;
}

/* Asking costs as much as a small job: not in every round of the loop. */
static bool may_ask(void) {
    static time_ms asked;
    time_ms now = clock_read_steady();
    if (now - asked < ASK_EVERY)
        return false;
    asked = now;
    return true;
}

static bool has_job(struct stage *stage, void *ctx) {
    return may_ask() && strtoul(list_of(stage, *(task_id *)ctx, "JobID"), NULL, 10) > 0;
}

unsigned long cluster_job(struct stage *stage, task_id task) {
    stage_await(stage, has_job, &task, "the job of the run in Slurm");
    return strtoul(answer, NULL, 10);
}

unsigned cluster_jobs(const struct stage *stage, task_id task) {
    unsigned count = 0;
    for (const char *at = list_of(stage, task, "JobID"); at && *at; count++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return count;
}

struct wanted {
    task_id task;
    const char *text;
    time_ms until; /* Slurm may take so long */
};

static bool is_in_state(struct stage *stage, void *ctx) {
    const struct wanted *wanted = ctx;
    if (!may_ask())
        return false;
    const char *list = list_of(stage, wanted->task, "State");
    return strncmp(list, wanted->text, strlen(wanted->text)) == 0;
}

void cluster_await_state(struct stage *stage, task_id task, const char *job_state) {
    struct wanted wanted = { .task = task, .text = job_state };
    stage_await(stage, is_in_state, &wanted, job_state);
}

/* A program of Slurm that finds no munge tries for 50 s before it says so. */
static bool does(struct stage *stage, void *ctx) {
    const struct wanted *wanted = ctx;
    if (clock_read_steady() < wanted->until)
        stage_be_patient(stage);
    struct strbuf text = STRBUF_INIT;
    bool there = executor_describe_run(stage->ex, (struct run_key){ wanted->task, 1 }, &text)
                 && strstr(strbuf_text(&text), wanted->text);
    strbuf_finish(&text);
    return there;
}

void cluster_await_doing(struct stage *stage, task_id task, const char *text) {
    struct wanted wanted = { task, text, clock_read_steady() + SLURM_NOTICES };
    stage_await(stage, does, &wanted, text);
}

unsigned cluster_lines(const struct stage *stage, const char *file) {
    char path[STAGE_PATH + 64];
    unsigned count = 0;
    int c;
    (void)snprintf(path, sizeof(path), "%s/%s", stage->home, file);
    FILE *stream = fopen(path, "re");
    while (stream && (c = getc(stream)) != EOF)
        count += c == '\n';
    if (stream)
        (void)fclose(stream);
    return count;
}
