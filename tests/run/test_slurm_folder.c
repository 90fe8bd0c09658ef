/* test_slurm_folder.c: a folder that cannot be read or closed keeps no run of Slurm for ever. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/fake.h"

#define MARK ARGV("sh", "-c", "echo ran; exit 9")

/* A folder in the place of a file: it can be neither read nor created, not even by root. */
static void spoil(const struct fake *fake, task_id task, const char *file) {
    char path[STAGE_PATH];
    stage_path(fake->stage, task, file, path);
    (void)unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void mend(const struct fake *fake, task_id task, const char *file) {
    char path[STAGE_PATH];
    stage_path(fake->stage, task, file, path);
    assert_int_equal(rmdir(path), 0);
}

static void remove_file(const struct fake *fake, task_id task, const char *file) {
    char path[STAGE_PATH];
    stage_path(fake->stage, task, file, path);
    assert_int_equal(unlink(path), 0);
}

/* Complete, unknown to the store, and not submitted. */
static void start_unsubmitted(struct fake *fake) {
    fake_set(fake, "away", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "slurmctld is away: submitting again in");
}

static void start_pending(struct fake *fake) {
    fake_set(fake, "hold", "");
    struct run_spec spec = stage_spec(fake->stage, MARK);
    stage_start(fake->stage, 1, &spec);
    fake_await_doing(fake, 1, "pending in Slurm: Resources (job 1)");
}

/* --- found again ----------------------------------------------------------------------------- */

static void expect_lost_for_its_folder(struct fake *fake) {
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE); /* not known yet */
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_non_null(strstr(end->message, "does not say what to submit"));
    assert_int_equal(fake->stage->runs[1].ended_times, 1);
    assert_int_equal(fake_jobs(fake), 0);
}

TEST(a_run_without_an_order_in_a_folder_that_cannot_be_closed_is_lost) {
    struct fake *fake = fake_new();
    start_unsubmitted(fake);
    stage_restart(fake->stage);
    fake_clear(fake, "away");
    remove_file(fake, 1, "slurm");
    spoil(fake, 1, "begin");
    expect_lost_for_its_folder(fake);
    fake_free(fake);
}

TEST(a_run_whose_order_cannot_be_read_is_lost_once_slurm_has_no_job_of_it) {
    struct fake *fake = fake_new();
    start_unsubmitted(fake);
    stage_restart(fake->stage);
    spoil(fake, 1, "slurm");
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    fake_await_calls(fake, "squeue", 3);
    assert_false(fake->stage->runs[1].ended); /* silence says nothing */
    fake_clear(fake, "away");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_non_null(strstr(end->message, "does not say what to submit"));
    assert_int_equal(fake_jobs(fake), 0);
    fake_free(fake);
}

TEST(an_order_that_can_be_read_again_is_submitted) {
    struct fake *fake = fake_new();
    char path[STAGE_PATH], kept[2 * STAGE_PATH];
    start_unsubmitted(fake);
    stage_restart(fake->stage);
    stage_path(fake->stage, 1, "slurm", path);
    (void)snprintf(kept, sizeof(kept), "%s.kept", path);
    assert_int_equal(rename(path, kept), 0);
    spoil(fake, 1, "slurm");
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    fake_await_calls(fake, "squeue", 3);
    mend(fake, 1, "slurm");
    assert_int_equal(rename(kept, path), 0);
    fake_clear(fake, "away");
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 9);
    assert_int_equal(fake_jobs(fake), 1);
    fake_free(fake);
}

/* Its token is that of every run of this store: it need not be read. */
TEST(a_job_is_found_although_the_folder_does_not_name_it) {
    struct fake *fake = fake_new();
    start_pending(fake);
    stage_restart(fake->stage);
    spoil(fake, 1, "slurm");
    remove_file(fake, 1, "job");
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    fake_await_doing(fake, 1, "pending in Slurm: Resources (job 1)");
    fake_call(fake, "scontrol", "release 1");
    assert_int_equal(stage_await_end(fake->stage, 1)->code, 9);
    assert_int_equal(fake_calls(fake, "sbatch"), 1);
    fake_free(fake);
}

TEST(a_stop_ends_a_run_whose_folder_cannot_be_closed) {
    struct fake *fake = fake_new();
    start_unsubmitted(fake);
    stage_restart(fake->stage);
    spoil(fake, 1, "begin");
    assert_int_equal(fake_adopt(fake, 1), ADOPTED_ALIVE);
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    fake_clear(fake, "away");
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(fake_jobs(fake), 0); /* and is not submitted for it */
    fake_free(fake);
}

/* --- refused, stopped, canceled -------------------------------------------------------------- */

TEST(a_refused_run_has_failed_although_its_folder_cannot_be_closed) {
    struct fake *fake = fake_new();
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_set(fake, "refuse", "Invalid account");
    stage_start(fake->stage, 1, &spec);
    spoil(fake, 1, "begin");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_string_equal(end->message, "sbatch refused it: Invalid account");
    assert_int_equal(fake_calls(fake, "sbatch"), 1); /* and is not submitted again and again */
    fake_free(fake);
}

TEST(a_refused_run_has_failed_although_its_folder_cannot_be_made_again) {
    struct fake *fake = fake_new();
    char command[2 * STAGE_PATH];
    struct run_spec spec = stage_spec(fake->stage, MARK);
    fake_set(fake, "refuse", "Invalid account");
    stage_start(fake->stage, 1, &spec);
    (void)snprintf(command, sizeof(command), "cd %s && rm -r test-1 && touch test-1",
                   fake->stage->root);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the test's own words
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_string_equal(end->message, "sbatch refused it: Invalid account");
    assert_int_equal(fake_calls(fake, "sbatch"), 1);
    fake_free(fake);
}

TEST(without_sbatch_a_folder_that_cannot_be_closed_changes_nothing) {
    struct executor_slurm_options options = { .programs = "/nonexistent" };
    struct fake fake = { .stage = stage_new_slurm(&options) };
    struct run_spec spec = stage_spec(fake.stage, MARK);
    stage_start(fake.stage, 1, &spec);
    spoil(&fake, 1, "begin");
    const struct run_end *end = stage_await_end(fake.stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, ENOENT);
    stage_free(fake.stage);
}

TEST(a_job_that_was_canceled_ends_its_run_although_it_cannot_be_closed) {
    struct fake *fake = fake_new();
    start_pending(fake);
    spoil(fake, 1, "begin");
    fake_call(fake, "scancel", "1");
    const struct run_end *end = stage_await_end(fake->stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_string_equal(end->message, "job 1 was cancelled in Slurm");
    fake_free(fake);
}

TEST(a_stop_takes_the_job_of_a_folder_that_cannot_be_closed) {
    struct fake *fake = fake_new();
    start_pending(fake);
    spoil(fake, 1, "begin");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    fake_await_job(fake, 1, "state", "CANCELLED");
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED);
    fake_free(fake);
}

TEST(a_stop_submits_nothing_where_the_folder_cannot_be_closed) {
    struct fake *fake = fake_new();
    start_unsubmitted(fake);
    spoil(fake, 1, "begin");
    stage_stop(fake->stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(fake->stage, 1)->kind, RUN_END_STOPPED); /* without Slurm */
    fake_clear(fake, "away");
    assert_int_equal(fake_jobs(fake), 0);
    fake_free(fake);
}
