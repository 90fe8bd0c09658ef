/* test_slurm_run.c: a run that is handed over to Slurm ends like one on this host, and is found again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/fake.h"

#define FOREVER ARGV("tail", "-f", "/dev/null")

/* --- to its end ------------------------------------------------------------------------------ */

#define FIXTURE_TEST(name_) TEST_WITH(name_, fake_open, fake_close)

FIXTURE_TEST(a_run_ends_with_its_code_and_its_output) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "echo $WHO; exit 3"));
    const struct run_end *end = stage_run(fake->stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 3);
    assert_true(fake->stage->runs[1].started);
    assert_non_null(strstr(end->applied, "slurm"));
    assert_string_equal(stage_file(fake->stage, 1, "out.log"), "test\n");
    assert_string_equal(stage_file(fake->stage, 1, "job"), "1\n");
    assert_int_equal(fake_jobs(fake), 1);
}

FIXTURE_TEST(what_slurm_tells_its_jobs_the_command_hears) {
    struct fake *fake = *state;
    static const char *const env[] = { "PATH=/usr/bin:/bin", "SLURMD_NODENAME=mine", NULL };
    struct run_spec spec =
        stage_spec(fake->stage, ARGV("sh", "-c", "echo $SLURM_JOB_ID $SLURMD_NODENAME $HOME."));
    spec.env = env;
    (void)stage_run(fake->stage, 1, &spec);
    assert_string_equal(stage_file(fake->stage, 1, "out.log"), "1 mine .\n"); /* its own wins */
}

FIXTURE_TEST(a_prompt_and_checks_work_as_at_home) {
    struct fake *fake = *state;
    const struct run_command checks[] = { { ARGV("true"), 0 }, { ARGV("sh", "-c", "exit 4"), 0 } };
    struct run_spec spec = stage_spec(fake->stage, ARGV("cat"));
    spec.prompt = "do it";
    spec.prompt_size = 5;
    spec.checks = checks;
    spec.check_count = 2;
    const struct run_end *end = stage_run(fake->stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 1);
    assert_int_equal(end->code, 4);
    assert_string_equal(stage_file(fake->stage, 1, "out.log"), "do it");
}

FIXTURE_TEST(the_shim_keeps_the_time_out) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    spec.command.timeout = 50;
    assert_int_equal(stage_run(fake->stage, 1, &spec)->kind, RUN_END_TIMEOUT);
    assert_non_null(strstr(fake_job(fake, 1, "words"), "--time=2\n"));
}

static bool all_have_ended(struct stage *stage, void *ctx) {
    for (unsigned i = 1; i <= *(unsigned *)ctx; i++)
        if (!stage->runs[i].ended)
            return false;
    return true;
}

FIXTURE_TEST(many_are_submitted_side_by_side_and_each_once) {
    struct fake *fake = *state;
    unsigned count = 20;
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    for (task_id task = 1; task <= count; task++)
        stage_start(fake->stage, task, &spec);
    stage_await(fake->stage, all_have_ended, &count, "the end of all runs");
    for (unsigned i = 1; i <= count; i++) {
        assert_int_equal(fake->stage->runs[i].ended_times, 1);
        assert_int_equal(fake->stage->runs[i].end.code, 0);
    }
    assert_int_equal(fake_jobs(fake), count);
}

FIXTURE_TEST(sbatch_gets_the_requirements_of_the_run) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    spec.place.partition = "gpu";
    spec.name = "web-1";
    spec.token = "sluice:abc:1:1";
    (void)stage_run(fake->stage, 1, &spec);
    static const char *const words[] = {
        "--partition=gpu\n", "--job-name=web-1\n", "--comment=sluice:abc:1:1\n",
        "--no-requeue\n",    "--export=ALL\n",     "--parsable\n"
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!strstr(fake_job(fake, 1, "words"), words[i]))
            fail_msg("sbatch was not told '%s'", words[i]);
}

/* --- stopped --------------------------------------------------------------------------------- */

FIXTURE_TEST(a_polite_stop_reaches_the_shim_alone) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, HOSTILE("polite"));
    stage_start(fake->stage, 1, &spec);
    stage_await_text(fake->stage, 1, "out.log", "ready");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3); /* it ended itself */
    assert_string_equal(stage_file(fake->stage, 1, "out.log"), "ready\ngot TERM\n");
    assert_int_equal(fake_calls(fake, "scancel --quiet --batch --signal=USR2 1"), 1);
}

FIXTURE_TEST(at_once_is_not_polite) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, HOSTILE("ignore"));
    spec.grace = HOURS(1);
    stage_start(fake->stage, 1, &spec);
    stage_await_text(fake->stage, 1, "out.log", "ready");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    stage_stop(fake->stage, 1, STOP_IMMEDIATELY);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->signal, SIGKILL);
}

FIXTURE_TEST(a_pending_run_is_stopped_before_it_begins) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "echo ran"));
    fake_start_pending(fake, 1, &spec);
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_false(fake->stage->runs[1].started);
    fake_await_job(fake, 1, "state", "CANCELLED"); /* and its job goes, too */
}

FIXTURE_TEST(a_run_that_was_not_submitted_yet_is_stopped_without_slurm) {
    struct fake *fake = *state;
    fake_set(fake, "away", "");
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "slurmctld is away: submitting again in");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(fake_jobs(fake), 0);
}

FIXTURE_TEST(a_stop_while_sbatch_is_at_work_takes_its_job_back) {
    struct fake *fake = *state;
    fake_set(fake, "hold", "");
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "being submitted");
    stage_stop(fake->stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    fake_await_job(fake, 1, "state", "CANCELLED");
}

FIXTURE_TEST(a_run_that_is_over_cannot_be_stopped) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    (void)stage_run(fake->stage, 1, &spec);
    assert_int_equal(executor_stop(fake->stage->ex, (struct run_key){ 1, 1 }, STOP_GRACEFULLY),
                     -ENOENT);
}

/* --- found again ----------------------------------------------------------------------------- */

FIXTURE_TEST(a_living_run_is_found_again) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    stage_restart(fake->stage);
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    assert_false(fake->stage->runs[1].started); /* never from inside the call */
    stage_await_started(fake->stage, 1);
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
}

FIXTURE_TEST(an_end_that_no_daemon_saw_is_reported) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "exit 5"));
    (void)stage_run(fake->stage, 1, &spec);
    stage_restart(fake->stage);
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ENDED);
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 5);
    assert_true(fake->stage->runs[1].started);
}

FIXTURE_TEST(what_an_earlier_daemon_could_not_submit_is_submitted) {
    struct fake *fake = *state;
    fake_set(fake, "away", "");
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "exit 6"));
    spec.place.partition = "gpu";
    stage_start(fake->stage, 1, &spec);
    fake_await_calls(fake, "sbatch", 1);
    stage_restart(fake->stage);
    fake_clear(fake, "away");
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 6);
    assert_int_equal(fake_jobs(fake), 1);
    assert_non_null(strstr(fake_job(fake, 1, "words"), "--partition=gpu\n"));
}

/* sbatch continues without the daemon that called it. */
FIXTURE_TEST(a_run_whose_daemon_ended_during_sbatch_has_one_job) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "exit 7"));
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "being submitted");
    stage_restart(fake->stage);
    assert_int_not_equal(fake_adopt(fake, 1), ADOPTED_LOST);
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 7);
    assert_int_equal(fake_jobs(fake), 1);
}

FIXTURE_TEST(a_run_without_its_folder_is_lost) {
    struct fake *fake = *state;
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_LOST);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_non_null(strstr(end->message, "folder is gone"));
}

/* The daemon that ordered it may still be there, without the store, and about to start it. */
FIXTURE_TEST(a_run_that_was_reported_lost_is_never_started) {
    struct fake *fake = *state;
    struct error err = { 0 };
    struct run_spec spec = stage_spec(fake->stage, ARGV("true"));
    char folder[STAGE_PATH];
    stage_folder(1, folder);
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_LOST);
    (void)stage_await_end(fake->stage, 1);
    stage_restart(fake->stage);
    assert_int_equal(executor_start(fake->stage->ex, (struct run_key){ 1, 1 }, folder, &spec, &err),
                     -EEXIST);
    assert_int_equal(executor_live(fake->stage->ex), 0);
}

/* --- swept ----------------------------------------------------------------------------------- */

static bool knows_nothing(void *ctx, const char *task, uint32_t attempt) {
    (void)ctx;
    (void)task;
    (void)attempt;
    return false;
}

static void count_external(void *ctx, const char *task, uint32_t attempt,
                           const struct run_started *who) {
    struct stage *stage = ctx;
    (void)who;
    assert_string_equal(task, "test-1");
    assert_int_equal(attempt, 1);
    stage->externals++;
}

static void count_external_end(void *ctx, const char *task, uint32_t attempt) {
    struct stage *stage = ctx;
    (void)task;
    (void)attempt;
    stage->externals_ended++;
}

static bool external_has_ended(struct stage *stage, void *ctx) {
    (void)ctx;
    return stage->externals_ended == 1;
}

FIXTURE_TEST(a_live_run_that_is_unknown_keeps_its_folder) {
    struct fake *fake = *state;
    struct stage *stage = fake->stage;
    struct executor_sweep sweep = { knows_nothing, count_external, count_external_end, stage, 0 };
    struct run_spec spec = stage_spec(stage, FOREVER);
    stage_start(stage, 1, &spec);
    stage_await_started(stage, 1);
    stage_restart(stage);
    assert_int_equal(executor_sweep(stage->ex, &sweep, NULL), 0);
    assert_int_equal(sweep.removed, 0);
    assert_int_equal(stage->externals, 1);
    fake_call(fake, "scancel", "--signal=USR2 1");
    stage_await(stage, external_has_ended, NULL, "the end of the external run");
    assert_int_equal(executor_sweep(stage->ex, &sweep, NULL), 0); /* now its folder is not needed */
    assert_int_equal(sweep.removed, 1);
    assert_string_equal(stage_file(stage, 1, "slurm"), "");
}

/* No lock shows that a run on a node is alive: the local executor must not remove its folder. */
FIXTURE_TEST(the_sweep_of_this_host_leaves_runs_of_slurm_alone) {
    struct fake *fake = *state;
    struct stage *stage = fake->stage;
    struct executor *local = NULL;
    struct error err = { 0 };
    struct executor_sweep sweep = { knows_nothing, count_external, count_external_end, stage, 0 };
    struct run_spec spec = stage_spec(stage, FOREVER);
    fake_start_pending(fake, 1, &spec);
    if (executor_local_new(stage->loop, &stage->options, &stage->events, &local, &err) < 0)
        fail_msg("no local executor: %s", err.text);
    assert_int_equal(executor_sweep(local, &sweep, NULL), 0);
    assert_int_equal(sweep.removed, 0);
    assert_int_equal(sweep.left, 1);
    assert_int_equal(stage->externals, 0);
    local = executor_free(local);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 1);
}

/* The rows of runs in Slurm name the daemon's host, too. */
FIXTURE_TEST(the_host_is_called_as_in_the_rows_of_other_runs) {
    struct fake *fake = *state;
    fake->stage->options.host = "head";
    stage_restart(fake->stage);
    assert_string_equal(executor_host(fake->stage->ex), "head");
}
