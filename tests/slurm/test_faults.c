/* test_faults.c: whatever fails in the cluster, a run ends once, with the right word, and its command runs at most once.
 *
 * A controller that is restarted keeps its jobs; one that is killed forgets those that it had accepted a moment before,
 * and starts others again. Commands say in a file that they have run. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "slurm/cluster.h"

#define BATCH 40

/* It ran once in all, and ended by itself. */
static void ends_well_once(struct stage *stage, task_id task, unsigned ran) {
    const struct run_end *end = cluster_await_end(stage, task);
    if (end->kind != RUN_END_EXIT || end->code != 0)
        fail_msg("run %d ended with '%s' and not by itself: %s", (int)task,
                 run_end_kind_name(end->kind), end->message);
    assert_int_equal(cluster_lines(stage, "ran"), ran);
}

static void is_lost_because(struct stage *stage, task_id task, const char *text) {
    const struct run_end *end = cluster_await_end(stage, task);
    if (end->kind != RUN_END_LOST || !strstr(end->message, text))
        fail_msg("run %d should be lost (%s) and ended with '%s', code %d, signal %d (%s): %s",
                 (int)task, text, run_end_kind_name(end->kind), end->code, end->signal,
                 end->applied, end->message);
}

/* A run that ends when it can read a line from the fifo `go`. */
#define UNTIL_GO "echo ran >>ran; echo ready; read line <go"

static struct stage *stage_with_fifo(int *ret_go) {
    struct stage *stage = cluster_stage();
    char path[STAGE_PATH + 8];
    (void)snprintf(path, sizeof(path), "%s/go", stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    *ret_go = open(path, O_RDWR | O_CLOEXEC); /* does not block, and keeps what is written */
    assert_true(*ret_go >= 0);
    return stage;
}

static void let_go(int go) {
    assert_int_equal(write(go, "\n", 1), 1);
}

/* --- the controller -------------------------------------------------------------------------- */

#define FAULT(name_) TEST_WITH(name_, cluster_mend, NULL)

TEST_GROUP(cluster_is_there, cluster_mend)

FAULT(without_a_controller_submits_wait_and_come_through) {
    struct stage *stage = cluster_stage();
    cluster_part("kill", "ctld");
    for (task_id task = 1; task <= 5; task++)
        cluster_start(stage, task, SHELL("echo ran >>ran"));
    cluster_await_doing(stage, 5, "again");
    assert_false(stage->runs[1].ended);
    cluster_part("start-part", "ctld");
    for (task_id task = 1; task <= 5; task++)
        (void)cluster_await_end(stage, task);
    for (task_id task = 1; task <= 5; task++)
        ends_well_once(stage, task, 5);
    stage_free(stage);
}

FAULT(an_end_is_reported_while_the_controller_is_unreachable) {
    int go = -1;
    struct stage *stage = stage_with_fifo(&go);
    cluster_start(stage, 1, SHELL(UNTIL_GO));
    stage_await_text(stage, 1, "out.log", "ready");
    cluster_part("kill", "ctld");
    let_go(go);
    ends_well_once(stage, 1, 1);
    (void)close(go);
    stage_free(stage);
}

FAULT(a_restarted_controller_changes_nothing) {
    int go = -1;
    struct stage *stage = stage_with_fifo(&go);
    cluster_start(stage, 1, SHELL(UNTIL_GO));
    stage_await_text(stage, 1, "out.log", "ready");
    cluster_await_state(stage, 1, "RUNNING");
    cluster_part("restart", "ctld");
    cluster_await_state(stage, 1, "RUNNING");
    assert_false(stage->runs[1].ended);
    let_go(go);
    ends_well_once(stage, 1, 1);
    (void)close(go);
    stage_free(stage);
}

/* A controller that forgets a job before it has started reports only that it is lost. */
static bool has_started_or_ended(struct stage *stage, void *ctx) {
    const struct stage_run *run = &stage->runs[*(task_id *)ctx];
    return run->started || run->ended;
}

/* Killed while it takes jobs in and hands them out: it forgets some, and hands out others again. What a run was asked to
 * do may be cut off then; it is never done twice, and a run that says that it has ended well has done it. */
FAULT(a_killed_controller_runs_nothing_twice) {
    struct stage *stage = cluster_stage();
    char file[24];
    for (task_id task = 1; task <= BATCH; task++) {
        (void)snprintf(file, sizeof(file), "ran-%d", (int)task);
        cluster_start(stage, task, ARGV("/bin/sh", "-c", "echo ran >>$0", file));
        if (task % 16 == 0) {
            task_id earlier = task - 12;
            stage_await(stage, has_started_or_ended, &earlier, "the start or loss of the run");
            cluster_part("kill", "ctld");
            cluster_part("start-part", "ctld");
        }
    }
    unsigned well = 0;
    for (task_id task = 1; task <= BATCH; task++) {
        const struct run_end *end = cluster_await_end(stage, task);
        (void)snprintf(file, sizeof(file), "ran-%d", (int)task);
        unsigned ran = cluster_lines(stage, file);
        bool good = end->kind == RUN_END_EXIT && end->code == 0;
        if (!good && end->kind != RUN_END_LOST)
            fail_msg("run %d ended with '%s': %s", (int)task, run_end_kind_name(end->kind),
                     end->message);
        if (ran > 1 || (good && ran != 1))
            fail_msg("the command of run %d ran %u times (%s)", (int)task, ran,
                     run_end_kind_name(end->kind));
        well += good;
    }
    assert_true(well >= BATCH / 2);
    stage_free(stage);
}

FAULT(without_munge_everything_waits) {
    int go = -1;
    struct stage *stage = stage_with_fifo(&go);
    cluster_start(stage, 1, SHELL(UNTIL_GO));
    stage_await_text(stage, 1, "out.log", "ready");
    cluster_part("kill", "munge");
    cluster_start(stage, 2, SHELL("echo ran >>ran"));
    cluster_await_doing(stage, 2, "again");
    let_go(go);
    ends_well_once(stage, 1, 1); /* its folder has the end */
    cluster_part("start-part", "munge");
    ends_well_once(stage, 2, 2);
    (void)close(go);
    stage_free(stage);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct run_spec on_node(struct stage *stage, task_id task, const char *node,
                               const char *const *argv) {
    static char words[4][32];
    struct run_spec spec = cluster_spec(stage, task, argv);
    (void)snprintf(words[task % 4], sizeof(words[0]), "--nodelist=%s", node);
    spec.place.extra = words[task % 4];
    return spec;
}

FAULT(a_drained_node_finishes_what_it_has_and_takes_nothing) {
    int go = -1;
    struct stage *stage = stage_with_fifo(&go);
    struct run_spec first = on_node(stage, 1, "n2", SHELL(UNTIL_GO));
    struct run_spec second = on_node(stage, 2, "n2", SHELL("echo ran >>ran"));
    stage_start(stage, 1, &first);
    stage_await_text(stage, 1, "out.log", "ready");
    (void)cluster_say("scontrol update NodeName=n2 State=DRAIN Reason=test");
    stage_start(stage, 2, &second);
    cluster_await_state(stage, 2, "PENDING");
    cluster_await_doing(stage, 2, "pending in Slurm");
    let_go(go);
    ends_well_once(stage, 1, 1);
    assert_false(stage->runs[2].started);
    (void)cluster_say("scontrol update NodeName=n2 State=RESUME");
    ends_well_once(stage, 2, 2);
    (void)close(go);
    stage_free(stage);
}

FAULT(a_node_that_is_declared_down_loses_its_runs) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = on_node(stage, 1, "n2", HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    (void)cluster_say("scontrol update NodeName=n2 State=DOWN Reason=test");
    is_lost_because(stage, 1, "n2");
    stage_free(stage);
}

/* As if the machine of a run were off: its job records no end. */
static void switch_off(pid_t shim) {
    char path[64], text[512] = "";
    int parent = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)shim);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    (void)fclose(file);
    assert_int_equal(sscanf(strrchr(text, ')'), ") %*c %d", &parent), 1);
    assert_int_equal(kill(parent, SIGKILL), 0); /* slurmstepd */
    assert_int_equal(kill(shim, SIGKILL), 0);
}

/* No process on that node reports anything any more; Slurm notices after SlurmdTimeout. The command may continue there: until then
 * the run counts as running, and keeps its place. */
FAULT(a_node_that_is_silent_loses_its_runs) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = on_node(stage, 1, "n2", HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    cluster_part("kill", "n2");
    switch_off(stage_who(stage, 1).shim);
    is_lost_because(stage, 1, "n2");
    stage_free(stage);
}

/* --- behind our back ------------------------------------------------------------------------- */

FAULT(a_job_that_a_user_cancels_is_lost) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, HOSTILE("polite"));
    stage_await_text(stage, 1, "out.log", "ready");
    (void)cluster_say("scancel %lu", cluster_job(stage, 1));
    is_lost_because(stage, 1, "cancelled in Slurm");
    struct run_spec spec = cluster_spec(stage, 2, SHELL("echo ran >>ran"));
    spec.place.extra = "--begin=now+1hour";
    stage_start(stage, 2, &spec);
    (void)cluster_say("scancel %lu", cluster_job(stage, 2));
    is_lost_because(stage, 2, "cancelled in Slurm");
    assert_int_equal(cluster_lines(stage, "ran"), 0);
    stage_free(stage);
}

FAULT(a_job_that_is_killed_at_once_is_lost) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, HOSTILE("polite"));
    stage_await_text(stage, 1, "out.log", "ready");
    (void)cluster_say("scancel --full --signal=KILL %lu", cluster_job(stage, 1));
    is_lost_because(stage, 1, "");
    stage_free(stage);
}

/* An operator may insist, and make Slurm run it again: the shim does not. */
FAULT(a_job_that_is_requeued_does_not_run_twice) {
    struct stage *stage = cluster_stage();
    cluster_start(stage, 1, SHELL("echo ran >>ran; echo ready; exec tail -f /dev/null"));
    stage_await_text(stage, 1, "out.log", "ready");
    unsigned long job = cluster_job(stage, 1);
    (void)cluster_say("scontrol update JobId=%lu Requeue=1", job);
    (void)cluster_say("scontrol requeue %lu", job);
    is_lost_because(stage, 1, "");
    assert_int_equal(cluster_lines(stage, "ran"), 1);
    stage_free(stage);
}

FAULT(a_preempted_run_is_lost) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, HOSTILE("polite"));
    spec.place.partition = "small";
    spec.place.cpus = 2;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    spec = cluster_spec(stage, 2, SHELL("echo ran >>ran"));
    spec.place.partition = "urgent";
    spec.place.cpus = 2;
    stage_start(stage, 2, &spec);
    is_lost_because(stage, 1, "preempted");
    ends_well_once(stage, 2, 1);
    stage_free(stage);
}

/* The partition ends it after its minute; the task has no deadline. */
FAULT(the_time_limit_of_slurm_is_a_time_out) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, HOSTILE("polite"));
    spec.place.partition = "short";
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    const struct run_end *end = cluster_await_end(stage, 1);
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot TERM\n"); /* Slurm's own */
    if (end->kind != RUN_END_TIMEOUT)
        fail_msg("it should be a time-out and is '%s': %s", run_end_kind_name(end->kind),
                 end->message);
    stage_free(stage);
}

/* --- lost answers ---------------------------------------------------------------------------- */

struct bad {
    char home[SCRATCH_PATH], how[16], path[256], conf[256], calls[80], late[80];
    char programs[SCRATCH_PATH + 8];
    const char *env[8];
    struct executor_slurm_options options;
};

/* A folder with this sbatch, and with the other programs of the cluster. */
static void link_programs(struct bad *bad) {
    char command[512];
    (void)snprintf(bad->programs, sizeof(bad->programs), "%s/bin", bad->home);
    (void)snprintf(command, sizeof(command),
                   "mkdir '%1$s' && ln -s '%2$s' '%1$s/sbatch' && for name in squeue sacct scancel "
                   "scontrol sinfo; do ln -s \"$(command -v $name)\" '%1$s/' || exit 1; done",
                   bad->programs, BAD_SBATCH);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c,concurrency-mt-unsafe): a test
}

static void bad_sbatch(struct bad *bad, const char *how) {
    *bad = (struct bad){ 0 };
    scratch_make(bad->home, "bad");
    (void)snprintf(bad->how, sizeof(bad->how), "BAD=%s", how);
    (void)snprintf(bad->path, sizeof(bad->path), "PATH=%.200s", getenv("PATH"));
    (void)snprintf(bad->conf, sizeof(bad->conf), "SLURM_CONF=%.200s", getenv("SLURM_CONF"));
    (void)snprintf(bad->calls, sizeof(bad->calls), "CALLS=%s/calls", bad->home);
    (void)snprintf(bad->late, sizeof(bad->late), "LATE=%s/late", bad->home);
    assert_int_equal(mkfifo(bad->late + strlen("LATE="), 0600), 0);
    const char *const env[] = { bad->how, bad->path, bad->conf, bad->calls, bad->late };
    memcpy(bad->env, env, sizeof(env));
    link_programs(bad);
    bad->options = (struct executor_slurm_options){ .programs = bad->programs, .env = bad->env };
}

static unsigned bad_finish(struct bad *bad) {
    unsigned calls = 0;
    int c;
    FILE *file = fopen(bad->calls + strlen("CALLS="), "re");
    while (file && (c = getc(file)) != EOF)
        calls += c == '\n';
    if (file)
        (void)fclose(file);
    scratch_remove(bad->home);
    return calls;
}

FAULT(a_lost_answer_makes_no_second_job) {
    static const char *const ways[] = { "hangs", "dies", "breaks" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct bad bad;
        bad_sbatch(&bad, ways[i]);
        struct stage *stage = cluster_stage_with(&bad.options);
        cluster_start(stage, 1, SHELL("echo ran >>ran"));
        struct run_spec waits = cluster_spec(stage, 2, SHELL("echo ran >>ran"));
        waits.place.extra = "--begin=now+8"; /* found by its token alone: nothing begins yet */
        stage_start(stage, 2, &waits);
        (void)cluster_await_end(stage, 2);
        ends_well_once(stage, 1, 2);
        ends_well_once(stage, 2, 2);
        assert_int_equal(cluster_jobs(stage, 1), 1);
        assert_int_equal(cluster_jobs(stage, 2), 1);
        stage->ex = executor_free(stage->ex);
        assert_int_equal(bad_finish(&bad), 2);
        stage_restart(stage);
        stage_free(stage);
    }
}

/* The executor is gone before sbatch has answered; the next one finds the job by its token. */
FAULT(the_next_executor_finds_a_submission_without_answer) {
    struct bad bad;
    char folder[STAGE_PATH];
    bad_sbatch(&bad, "late");
    struct stage *stage = cluster_stage_with(&bad.options);
    struct run_spec spec = cluster_spec(stage, 1, SHELL("echo ran >>ran"));
    spec.place.extra = "--begin=now+8";
    stage_start(stage, 1, &spec);
    (void)cluster_job(stage, 1);
    stage_restart(stage);
    stage_folder(1, folder);
    assert_int_equal(executor_adopt(stage->ex, (struct run_key){ 1, 1 }, folder,
                                    &(struct executor_known){ .boot_id = "slurm:x" }),
                     ADOPTED_ALIVE);
    ends_well_once(stage, 1, 1);
    assert_int_equal(cluster_jobs(stage, 1), 1);
    int late = open(bad.late + strlen("LATE="), O_RDWR | O_CLOEXEC);
    assert_true(late >= 0);
    close(late);
    stage_free(stage);
    assert_int_equal(bad_finish(&bad), 1);
}

/* The comment of a job is its owner's to change, and a site's rules may change it: its number and its name are left. */
FAULT(a_job_whose_comment_was_changed_is_still_followed) {
    struct stage *stage = cluster_stage();
    struct run_spec spec = cluster_spec(stage, 1, SHELL("echo ran >>ran"));
    spec.place.extra = "--hold";
    stage_start(stage, 1, &spec);
    unsigned long job = cluster_job(stage, 1);
    cluster_await_doing(stage, 1, "JobHeldUser");
    (void)cluster_say("scontrol update jobid=%lu comment=mine", job);
    (void)cluster_say("scontrol update jobid=%lu starttime=now+3600", job);
    (void)cluster_say("scontrol release %lu", job);
    cluster_await_doing(stage, 1, "BeginTime");
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(cluster_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(cluster_lines(stage, "ran"), 0);
    stage_free(stage);
}

int main(int argc, char **argv) {
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run();
}
