/* test_slurm_fault.c: what goes wrong between Sluice and Slurm costs no run and runs none twice. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/fake.h"

#define FOREVER ARGV("tail", "-f", "/dev/null")

/* Every run of these tests says so when it runs. */
#define MARK ARGV("sh", "-c", "echo ran >>ran; exit 0")

static unsigned times_run(const struct fake *fake) {
    char path[2 * STAGE_PATH], text[256];
    (void)snprintf(path, sizeof(path), "%s/ran", fake->stage->home);
    FILE *stream = fopen(path, "re");
    unsigned count = 0;
    while (stream && fgets(text, sizeof(text), stream))
        count++;
    if (stream)
        (void)fclose(stream);
    return count;
}

/* --- submitting ------------------------------------------------------------------------------ */

#define FIXTURE_TEST(name_) TEST_WITH(name_, fake_open, fake_close)
#define ACCOUNTED(name_)    TEST_WITH(name_, fake_open_accounting, fake_close)

FIXTURE_TEST(a_submission_whose_answer_was_lost_is_found_by_its_token) {
    struct fake *fake = *state;
    fake_set(fake, "lose", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_start_pending(fake, 1, &spec);
    fake_call(fake, "scontrol", "release 1");
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 0);
    assert_int_equal(fake_calls(fake, "sbatch"), 1);
    assert_int_equal(times_run(fake), 1);
}

FIXTURE_TEST(a_submission_that_was_not_made_is_made_again) {
    struct fake *fake = *state;
    fake_set(fake, "fall", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    assert_int_equal(stage_run(fake->stage, 1, &spec)->code, 0);
    assert_int_equal(fake_calls(fake, "sbatch"), 2);
    assert_int_equal(fake_jobs(fake), 1);
    assert_int_equal(times_run(fake), 1);
}

/* It may have been accepted: only a successful list can show that, and none comes. */
FIXTURE_TEST(in_doubt_nothing_is_submitted_while_slurm_cannot_be_asked) {
    struct fake *fake = *state;
    fake_set(fake, "deaf", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "perhaps submitted to Slurm: looking for its job; slurmctld is away");
    fake_await_calls(fake, "squeue", 3);
    assert_int_equal(fake_calls(fake, "sbatch"), 1);
    fake_clear(fake, "deaf");
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 0);
    assert_int_equal(fake_calls(fake, "sbatch"), 2);
    assert_int_equal(times_run(fake), 1);
}

FIXTURE_TEST(a_run_that_ends_before_sbatch_answers_has_ended) {
    struct fake *fake = *state;
    fake_set(fake, "slow", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    assert_int_equal(stage_run(fake->stage, 1, &spec)->code, 0);
    unsigned asked = fake_calls(fake, "squeue");
    spec = stage_spec(fake->stage, FOREVER); /* a run to poll */
    fake_clear(fake, "slow");
    stage_start(fake->stage, 2, &spec);
    fake_await_calls(fake, "squeue", asked + 3);
    assert_int_equal(fake->stage->runs[1].ended_times, 1); /* and is not followed any more */
    stage_stop(fake->stage, 2, STOP_IMMEDIATELY);
    (void)stage_await_end(fake->stage, 2);
}

FIXTURE_TEST(an_unreachable_controller_is_waited_for) {
    struct fake *fake = *state;
    fake_set(fake, "away", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    stage_start(fake->stage, 1, &spec);
    stage_start(fake->stage, 2, &spec);
    fake_await_doing(fake, 2, "slurmctld is away: submitting again in");
    assert_false(fake->stage->runs[1].ended); /* it has not failed */
    fake_clear(fake, "away");
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 0);
    assert_int_equal(stage_await_end(fake->stage, 2)->code, 0);
    assert_int_equal(times_run(fake), 2);
}

FIXTURE_TEST(a_refusal_is_a_launch_failure_in_slurms_words) {
    struct fake *fake = *state;
    fake_set(fake, "refuse", "Invalid partition name specified");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    const struct run_end *end = stage_run(fake->stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_string_equal(end->message, "sbatch refused it: Invalid partition name specified");
}

TEST(without_sbatch_the_message_says_what_to_do) {
    struct executor_slurm_options options = { .programs = "/nonexistent" };
    struct stage *stage = stage_new_slurm(&options);
    struct run_spec spec = stage_spec(stage, MARK);
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, ENOENT);
    assert_non_null(strstr(end->message, "cannot run '/nonexistent/sbatch'"));
    assert_non_null(strstr(end->message, "install"));
    stage_free(stage);
}

/* --- begun once ------------------------------------------------------------------------------ */

FIXTURE_TEST(a_job_that_slurm_starts_again_does_nothing) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, MARK);
    assert_int_equal(stage_run(fake->stage, 1, &spec)->code, 0);
    fake_await_job(fake, 1, "state", "COMPLETED");
    fake_call(fake, "scontrol", "requeue 1");
    fake_await_job(fake, 1, "state", "FAILED");
    assert_string_equal(fake_job(fake, 1, "code"), "19200\n"); /* RUN_NODE_BEGUN */
    assert_int_equal(times_run(fake), 1);
}

FIXTURE_TEST(a_job_that_comes_after_its_run_was_given_up_does_nothing) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_start_pending(fake, 1, &spec);
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    fake_await_job(fake, 1, "state", "CANCELLED");
    fake_call(fake, "scontrol", "release 1");
    fake_await_job(fake, 1, "state", "FAILED");
    assert_int_equal(times_run(fake), 0);
}

FIXTURE_TEST(of_two_jobs_of_one_run_one_begins_and_the_other_goes) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    fake_start_pending(fake, 1, &spec);
    /* The same once more, as an sbatch that was believed dead would do it. */
    char words[2 * STAGE_PATH];
    (void)snprintf(words, sizeof(words),
                   "--comment=sluice:fake:1:1 \"$(grep '^--wrap=' %s/jobs/1/words)\"", fake->dir);
    fake_call(fake, "sbatch", words);
    fake_call(fake, "scontrol", "release 2");
    fake_await_doing(fake, 1, "on node n1 (job 2)"); /* the run is where it began */
    fake_await_job(fake, 1, "state", "CANCELLED");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
}

/* A controller that was killed forgets a job that it had accepted, and its number is another one's. */
FIXTURE_TEST(a_number_that_slurm_gives_out_twice_belongs_to_the_later_run) {
    struct fake *fake = *state;
    char forget[2 * STAGE_PATH];
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    fake_start_pending(fake, 1, &spec);
    (void)snprintf(forget, sizeof(forget), "rm -r %s/jobs/1", fake->dir);
    assert_int_equal(system(forget), 0); // NOLINT(cert-env33-c): the test's own words
    fake_clear(fake, "hold");
    stage_start(fake->stage, 2, &spec);
    stage_await_started(fake->stage, 2);
    assert_string_equal(stage_file(fake->stage, 2, "job"), "1\n");
    stage_stop(fake->stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    unsigned asked = fake_calls(fake, "squeue");
    fake_await_calls(fake, "squeue", asked + 3);
    assert_false(fake->stage->runs[2].ended); /* the stop was not meant for it */
    assert_int_equal(fake_calls(fake, "scancel"), 0);
    stage_stop(fake->stage, 2, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(fake->stage, 2)->kind, RUN_END_STOPPED);
}

/* A site's own rules may put something else there (job_submit.lua), or a person (scontrol update). */
FIXTURE_TEST(a_job_whose_comment_is_another_one_is_known_by_its_number_and_name) {
    struct fake *fake = *state;
    fake_set(fake, "hold", "");
    fake_set(fake, "rewrite", "charged to physics");
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "pending in Slurm: Resources (job 1)");
    fake_call(fake, "scontrol", "release 1");
    stage_await_started(fake->stage, 1);
    fake_put(fake, 1, "comment", "charged to chemistry");
    unsigned asked = fake_calls(fake, "squeue");
    fake_await_calls(fake, "squeue", asked + 5);
    assert_false(
        fake->stage->runs[1].ended); /* else it would be started a second time, beside this one */
    assert_int_equal(fake_calls(fake, "sbatch"), 1);
    stage_stop(fake->stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(fake_calls(fake, "scancel --quiet --batch --signal=USR1 1"), 1);
}

/* The job of another Sluice, which may call its tasks the same, is not ours because it has our old number. */
FIXTURE_TEST(a_job_with_the_token_of_another_run_is_not_ours) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    fake_put(fake, 1, "comment", "sluice:other:1:1");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_int_equal(fake_calls(fake, "scancel"), 0);
    fake_call(fake, "scancel", "1");
}

/* --- followed -------------------------------------------------------------------------------- */

struct ending {
    const char *state; /* what Slurm lists */
    enum run_end_kind kind;
    const char *message;
};

/* The shim is killed with its job, so there is no record. */
FIXTURE_TEST(the_state_of_a_job_tells_how_a_run_without_a_record_ended) {
    static const struct ending endings[] = {
        { "NODE_FAIL", RUN_END_LOST, "node 'n1' failed" },
        { "BOOT_FAIL", RUN_END_LOST, "node 'n1' failed" },
        { "PREEMPTED", RUN_END_LOST, "preempted" },
        { "CANCELLED", RUN_END_LOST, "cancelled in Slurm" },
        { "TIMEOUT", RUN_END_TIMEOUT, "time limit" },
        { "OUT_OF_MEMORY", RUN_END_SIGNAL, "more memory" },
        { "COMPLETED", RUN_END_LOST, "recorded no end" },
        { "FAILED", RUN_END_LOST, "recorded no end" },
    };
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    for (unsigned i = 0; i < ARRAY_SIZE(endings); i++) {
        stage_start(fake->stage, i + 1, &spec);
        stage_await_started(fake->stage,
                            i + 1); /* one by one: the numbers of the jobs are theirs */
    }
    for (unsigned i = 0; i < ARRAY_SIZE(endings); i++) {
        fake_put(fake, i + 1, "state", endings[i].state);
        (void)kill(stage_who(fake->stage, i + 1).shim, SIGKILL);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(endings); i++) {
        const struct run_end *end = stage_await_end(fake->stage, i + 1);
        if (end->kind != endings[i].kind || !strstr(end->message, endings[i].message))
            fail_msg("%s is told as %s: %s", endings[i].state, run_end_kind_name(end->kind),
                     end->message);
    }
}

/* A controller that comes back may end what it does not remember to have started, and start it again; the second shim
 * begins nothing. */
FIXTURE_TEST(a_job_that_slurm_ended_and_started_again_is_reported_as_that) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    fake_set(fake, "away", "");
    fake_await_calls(fake, "squeue",
                     fake_calls(fake, "squeue") + 2); /* what was asked before has answered */
    (void)kill(stage_who(fake->stage, 1).shim, SIGKILL);
    fake_await_job(fake, 1, "state", "FAILED");
    fake_put(fake, 1, "code", "19200"); /* RUN_NODE_BEGUN */
    fake_clear(fake, "away");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_non_null(strstr(end->message, "Slurm ended job 1 and started it again"));
}

/* Slurm says TERM to everybody in the job; the shim records that it was stopped, but not by us. */
FIXTURE_TEST(a_run_that_slurm_ended_is_not_called_stopped) {
    static const struct ending endings[] = {
        { "PREEMPTED", RUN_END_LOST, "preempted" },
        { "TIMEOUT", RUN_END_TIMEOUT, "time limit" },
        { "CANCELLED", RUN_END_LOST, "cancelled in Slurm" },
    };
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    for (unsigned i = 0; i < ARRAY_SIZE(endings); i++) {
        stage_start(fake->stage, i + 1, &spec);
        stage_await_started(fake->stage, i + 1);
        fake_put(fake, i + 1, "state", endings[i].state);
        (void)kill(stage_who(fake->stage, i + 1).shim, SIGTERM);
        const struct run_end *end = stage_await_end(fake->stage, i + 1);
        if (end->kind != endings[i].kind || !strstr(end->message, endings[i].message))
            fail_msg("%s is told as %s: %s", endings[i].state, run_end_kind_name(end->kind),
                     end->message);
        assert_true(end->started_at > 0); /* what the record says otherwise is kept */
    }
}

/* The kernel kills without a word; Slurm knows for what. */
FIXTURE_TEST(a_command_that_was_killed_for_memory_says_so) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    static const char *const states[] = { "OUT_OF_MEMORY", "COMPLETED" };
    for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
        stage_start(fake->stage, i + 1, &spec);
        stage_await_started(fake->stage, i + 1);
        fake_put(fake, i + 1, "state", states[i]);
        (void)kill(stage_who(fake->stage, i + 1).command, SIGKILL);
        const struct run_end *end = stage_await_end(fake->stage, i + 1);
        assert_int_equal(end->kind, RUN_END_SIGNAL);
        assert_int_equal(end->signal, SIGKILL);
        assert_true((strstr(end->message, "memory") != NULL) == (i == 0));
    }
}

FIXTURE_TEST(an_end_is_reported_although_its_reason_is_unknown) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_start(fake->stage, 2, &spec);
    stage_await_started(fake->stage, 1);
    stage_await_started(fake->stage, 2);
    fake_set(fake, "away", "");
    (void)kill(stage_who(fake->stage, 1).command, SIGKILL);
    (void)kill(stage_who(fake->stage, 2).shim, SIGTERM);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_SIGNAL);
    const struct run_end *end = stage_await_end(fake->stage, 2);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_non_null(strstr(end->message, "Slurm told job"));
}

/* Each process of the job gets the signal, in no order. What a command makes of it is not its end. */
FIXTURE_TEST(a_command_that_ends_itself_when_slurm_says_so_is_not_at_fault) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, HOSTILE("polite"));
    stage_start(fake->stage, 1, &spec);
    stage_await_text(fake->stage, 1, "out.log", "ready");
    stage_await_started(fake->stage, 1); /* only then its lock file names the command */
    struct run_started who = stage_who(fake->stage, 1);
    assert_true(who.command > 1 && who.shim > 1);
    fake_put(fake, 1, "state", "PREEMPTED");
    (void)kill(who.command, SIGTERM);
    (void)kill(who.shim, SIGTERM);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_int_equal(end->code, 3);
}

/* Slurm kills after a while of its own: what ignores TERM must be over before, whatever its grace. */
FIXTURE_TEST(slurms_hurry_is_the_runs_hurry) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, HOSTILE("ignore"));
    spec.grace = HOURS(1);
    stage_start(fake->stage, 1, &spec);
    stage_await_text(fake->stage, 1, "out.log", "ready");
    fake_call(fake, "scancel", "1");
    const struct run_end *end = stage_await_end(fake->stage, 1); /* KillWait is 4 s */
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_int_equal(end->signal, SIGKILL);
    assert_non_null(strstr(end->applied, "slurm.term"));
}

FIXTURE_TEST(a_node_without_the_shim_is_named) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_start_pending(fake, 1, &spec);
    fake_put(fake, 1, "script", "exec /nonexistent/sluice-shim");
    fake_call(fake, "scontrol", "release 1");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_non_null(strstr(end->message, "cannot run the shim"));
    assert_non_null(strstr(end->message, "on node 'n1'"));
}

FIXTURE_TEST(a_node_that_does_not_see_the_folder_is_named) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_start_pending(fake, 1, &spec);
    fake_put(fake, 1, "script", "exec " SHIM_PATH " --in /nonexistent/folder 1000");
    fake_call(fake, "scontrol", "release 1");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_non_null(strstr(end->message, "shared file system"));
}

FIXTURE_TEST(a_running_run_outlives_an_unreachable_controller) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, ARGV("sh", "-c", "read x <fifo; exit 8"));
    char fifo[2 * STAGE_PATH];
    (void)snprintf(fifo, sizeof(fifo), "mkfifo %s/fifo", fake->stage->home);
    assert_int_equal(system(fifo), 0); // NOLINT(cert-env33-c): the test's own words
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    fake_set(fake, "away", "");
    fake_await_doing(fake, 1, "slurmctld is away");
    (void)snprintf(fifo, sizeof(fifo), "echo >%s/fifo", fake->stage->home);
    assert_int_equal(system(fifo), 0);                          // NOLINT(cert-env33-c)
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 8); /* its record needs no Slurm */
}

/* A list that does not have it: once is nothing, and no list is nothing at all. */
FIXTURE_TEST(a_job_that_slurm_forgot_is_lost_after_some_time) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    (void)kill(stage_who(fake->stage, 1).shim, SIGKILL);
    fake_await_job(fake, 1, "state", "FAILED");
    fake_put(fake, 1, "state.kept", "");
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/jobs/1/state", fake->dir);
    assert_int_equal(unlink(path), 0);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
}

ACCOUNTED(accounting_knows_what_the_controller_forgot) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    fake_start_pending(fake, 1, &spec);
    fake_set(fake, "acct/1", "1|CANCELLED by 1000|0:0|None assigned|None|\n");
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/jobs/1/state", fake->dir);
    assert_int_equal(unlink(path), 0);
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_string_equal(end->message, "job 1 was cancelled in Slurm by user 1000");
}

/* A stop that does not reach Slurm is repeated when the controller answers again. */
FIXTURE_TEST(a_stop_while_the_controller_is_unreachable_comes_later) {
    struct fake *fake = *state;
    struct run_spec spec = stage_spec(fake->stage, FOREVER);
    stage_start(fake->stage, 1, &spec);
    stage_await_started(fake->stage, 1);
    fake_set(fake, "away", "");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    fake_await_calls(fake, "scancel", 1);
    fake_clear(fake, "away");
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
}
