/* test_runs.c: a run on a node is like a run here: started, followed, stopped, found again, and its end is reported once. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness/test.h"
#include "slurm/cluster.h"

#define MANY 200

TEST_GROUP(cluster_is_there, cluster_mend)

TEST(a_run_happens_on_a_node_and_its_end_comes_back) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, SHELL("echo out on $SLURMD_NODENAME $WHO; echo err >&2; pwd; exit 7"));
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    assert_true(end->durable);
    assert_true(end->started_at > 0 && end->ended_at >= end->started_at);
    assert_non_null(strstr(end->applied, "slurm"));
    assert_true(stage->runs[1].started);
    assert_non_null(strstr(stage_file(stage, 1, "out.log"), "out on n"));
    assert_non_null(strstr(stage_file(stage, 1, "out.log"), " test\n"));
    assert_non_null(strstr(stage_file(stage, 1, "out.log"), stage->home));
    assert_string_equal(stage_file(stage, 1, "err.log"), "err\n");
    stage_free(stage);
}

TEST(a_signal_is_a_signal) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, SHELL("kill -SEGV $$"));
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_SIGNAL);
    assert_int_equal(end->signal, SIGSEGV);
    stage_free(stage);
}

TEST(a_command_that_is_not_there_is_a_launch_failure) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, ARGV("/nowhere/at/all"));
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, ENOENT);
    assert_false(stage->runs[1].started);
    stage_free(stage);
}

TEST(the_prompt_is_read_and_the_checks_decide) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, SHELL("cat"));
    const struct run_command checks[] = { { .argv = SHELL("echo first; exit 0") },
                                          { .argv = SHELL("echo second; exit 3") } };
    spec.prompt = "do it\n";
    spec.prompt_size = strlen(spec.prompt);
    spec.checks = checks;
    spec.check_count = 2;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 1);
    assert_int_equal(end->code, 3);
    assert_string_equal(stage_file(stage, 1, "out.log"), "do it\n");
    assert_non_null(strstr(stage_file(stage, 1, "check.log"), "second\n"));
    stage_free(stage);
}

TEST(the_deadline_of_the_task_holds_on_the_node) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, HOSTILE("polite"));
    spec.command.timeout = 500;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot TERM\n");
    stage_free(stage);
}

/* --- stops ----------------------------------------------------------------------------------- */

TEST(a_running_one_is_asked_to_stop) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, HOSTILE("polite"));
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3); /* its own exit code is reported, too */
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot TERM\n");
    cluster_await_state(stage, 1, "COMPLETED");
    stage_free(stage);
}

TEST(who_ignores_the_stop_is_killed) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, HOSTILE("ignore"));
    spec.grace = 300;
    stage_start(stage, 1, &spec);
    spec = cluster_spec(stage, 2, HOSTILE("ignore"));
    spec.grace = HOURS(1);
    stage_start(stage, 2, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_await_text(stage, 2, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    stage_stop(stage, 2, STOP_IMMEDIATELY);
    for (task_id task = 1; task <= 2; task++) {
        const struct run_end *end = stage_await_end(stage, task);
        assert_int_equal(end->kind, RUN_END_STOPPED);
        assert_int_equal(end->signal, SIGKILL);
    }
    stage_free(stage);
}

/* Node s1 has two CPUs: a run that wants both waits for one that has one. */
static struct run_spec on_s1(struct stage *stage, task_id task, int64_t cpus,
                             const char *const *argv) {
    struct run_spec spec = cluster_spec(stage, task, argv);
    spec.place.partition = "small";
    spec.place.cpus = cpus;
    return spec;
}

TEST(one_that_waits_in_slurm_is_stopped_and_never_begins) {
    struct stage *stage = cluster_stage();
    struct run_spec first = on_s1(stage, 1, 1, HOSTILE("polite"));
    struct run_spec second = on_s1(stage, 2, 2, SHELL("echo ran >>ran"));
    stage_start(stage, 1, &first);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_start(stage, 2, &second);
    cluster_await_doing(stage, 2, "Resources");
    stage_stop(stage, 2, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 2)->kind, RUN_END_STOPPED);
    assert_false(stage->runs[2].started);
    cluster_await_state(stage, 2, "CANCELLED");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(cluster_lines(stage, "ran"), 0);
    stage_free(stage);
}

TEST(a_stop_right_after_the_start_is_kept) {
    struct stage *stage = cluster_stage();
    for (task_id task = 1; task <= 10; task++) {
        cluster_start(stage, task, HOSTILE("ignore"));
        stage_stop(stage, task, task % 2 ? STOP_GRACEFULLY : STOP_IMMEDIATELY);
    }
    for (task_id task = 1; task <= 10; task++)
        assert_int_equal(stage_await_end(stage, task)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

/* --- what Slurm is asked for ----------------------------------------------------------------- */

TEST(a_job_is_what_the_run_asked_for) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = on_s1(stage, 1, 2, HOSTILE("polite"));
    spec.place.memory_bytes = 64 << 20;
    spec.command.timeout = MINUTES(90);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    const char *job = cluster_say("scontrol show job --oneliner %lu", cluster_job(stage, 1));
    static const char *const wanted[] = { " JobName=test-1 ",   " Partition=small ",
                                          " NumCPUs=2 ",        " MinMemoryNode=64M ",
                                          " Requeue=0 ",        " NodeList=s1 ",
                                          " StdOut=/dev/null ", " JobState=RUNNING " };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (!strstr(job, wanted[i]))
            fail_msg("the job is not%s: %s", wanted[i], job);
    assert_null(
        strstr(job, " TimeLimit=UNLIMITED")); /* a node that hangs does not keep it for ever */
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 1);
    stage_free(stage);
}

TEST(what_slurm_refuses_is_a_launch_failure_in_its_words) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, SHELL("true"));
    spec.place.partition = "nowhere";
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    if (!strstr(end->message, "nvalid partition"))
        fail_msg("Slurm is not quoted: %s", end->message);
    spec = cluster_spec(stage, 2, SHELL("true"));
    spec.place.gres = "gold:1";
    end = stage_run(stage, 2, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    stage_free(stage);
}

/* --- many, and again ------------------------------------------------------------------------- */

static bool all_have_ended(struct stage *stage, void *ctx) {
    unsigned ended = 0, *before = ctx;
    for (task_id task = 1; task <= MANY; task++)
        ended += stage->runs[task].ended;
    if (ended > *before)
        stage_be_patient(stage);
    *before = ended;
    return ended == MANY;
}

TEST(two_hundred_end_once_each_with_their_own_code) {
    struct stage *stage = cluster_stage();
    unsigned ended = 0;
    for (task_id task = 1; task <= MANY; task++) {
        char code[8];
        (void)snprintf(code, sizeof(code), "%d", (int)task % 4);
        cluster_start(stage, task,
                      ARGV("/bin/sh", "-c", "echo $0 >>ran; echo $0; exit $1", "x", code));
    }
    stage_await(stage, all_have_ended, &ended, "the end of all runs");
    for (task_id task = 1; task <= MANY; task++) {
        assert_int_equal(stage->runs[task].ended_times, 1);
        assert_int_equal(stage->runs[task].end.kind, RUN_END_EXIT);
        assert_int_equal(stage->runs[task].end.code, task % 4);
        assert_string_equal(stage_file(stage, task, "out.log"), "x\n");
    }
    assert_int_equal(cluster_lines(stage, "ran"), MANY);
    stage_free(stage);
}

static enum adopted adopt(struct stage *stage, task_id task) {
    char folder[STAGE_PATH];
    stage_folder(task, folder);
    return executor_adopt(stage->ex, (struct run_key){ task, 1 }, folder,
                          &(struct executor_known){ .boot_id = "slurm:sluicetest" });
}

TEST(the_next_executor_finds_all_runs_again) {
    struct stage *stage = cluster_stage();
    enum { OVER = 1, LIVES, WAITS, SUBMITTED };
    struct run_spec lives = on_s1(stage, LIVES, 1, HOSTILE("polite"));
    struct run_spec waits = on_s1(stage, WAITS, 2, SHELL("echo w >>ran; exit 4"));
    cluster_start(stage, OVER, SHELL("echo o >>ran; exit 2"));
    stage_start(stage, LIVES, &lives);
    stage_await_text(stage, LIVES, "out.log", "ready");
    stage_start(stage, WAITS, &waits);
    cluster_await_state(stage, WAITS, "PENDING");
    cluster_await_state(stage, OVER, "COMPLETED");
    cluster_start(stage, SUBMITTED, SHELL("echo s >>ran; exit 5")); /* and its sbatch is at work */
    stage_restart(stage);
    assert_int_equal(adopt(stage, OVER), ADOPTED_ENDED);
    assert_int_equal(adopt(stage, LIVES), ADOPTED_ALIVE);
    assert_int_equal(adopt(stage, WAITS), ADOPTED_ALIVE);
    assert_int_equal(adopt(stage, SUBMITTED), ADOPTED_ALIVE);
    assert_int_equal(stage_await_end(stage, OVER)->code, 2);
    stage_await_started(stage, LIVES);
    stage_stop(stage, LIVES, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, LIVES)->kind, RUN_END_STOPPED);
    assert_int_equal(stage_await_end(stage, WAITS)->code, 4);
    assert_int_equal(stage_await_end(stage, SUBMITTED)->code, 5);
    assert_int_equal(cluster_lines(stage, "ran"), 3);
    stage_free(stage);
}

int main(int argc, char **argv) {
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run();
}
