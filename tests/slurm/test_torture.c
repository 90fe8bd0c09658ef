/* Parts of the cluster and the daemon fail at random moments while runs are active and work comes in.
 *
 * The controller is restarted and killed, a node is drained, jobs are canceled and requeued manually, the keys are missing,
 * the daemon is killed: alone, and while the controller is away. Afterwards what holds after kills of the daemon must
 * hold: every acknowledged task is there and has ended as it must; each attempt ran at most once; what a process
 * returned is on record; no cap was exceeded at any instant, by the runs' own diary.
 *
 * test_torture [FAULTS [SEED]]: 24 faults by default; the seed is printed. Run by `make test-slurm`. */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "torture/acked.h"

#define RUNS_MAX 12
#define LONG_MS  300000 /* longer than this test waits */

static const char config[] =
    "limits:\n  runs: 12\n"
    "projects:\n  left: {weight: 3, max_running: 8}\n  right: {weight: 1}\n"
    "retry:\n  failed: {max: 1, delay_s: 0}\n"
    "  lost: {max: 40, delay_s: 0.1}\n"
    "tasks: {executor: slurm}\nslurm: {poll_s: 0.3, poll_idle_s: 2}\n"
    "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

enum fault {
    RESTART_CTLD,
    KILL_CTLD,
    KILL_CTLD_AND_DAEMON,
    KILL_DAEMON,
    KILL_MUNGE,
    DRAIN,
    CANCEL_JOB,
    REQUEUE_JOB,
    FAULT_MAX
};
static const char *const fault_names[FAULT_MAX] = {
    "controller restarted",  "controller killed",   "controller and daemon killed",
    "daemon killed",         "keys away",           "node drained",
    "job cancelled by hand", "job requeued by hand"
};

struct test {
    struct rig rig;
    struct rng rng;
    struct acked_list acked;
    int faults[FAULT_MAX];
};

/* --- the cluster ----------------------------------------------------------------------------- */

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...) {
    char words[700], line[800];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    snprintf(line, sizeof(line), "{ %s; } >/dev/null 2>&1", words);
    return system(line); /* NOLINT: words of our own */
}

static void cluster(const char *verb, const char *part) {
    int code =
        shell("'%s' %s '%s' %s", getenv("SLURM_CLUSTER"), verb, getenv("SLUICE_TEST_SLURM"), part);
    rig_expect(code == 0, "slurm-cluster %s %s ended with %d", verb, part, code);
}

/* A killed controller gives the numbers of forgotten jobs to others, and the nodes that remember them are drained; an
 * administrator gives them back. */
static pid_t administrator_start(void) {
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        (void)shell("'%s' resume '%s'", getenv("SLURM_CLUSTER"), getenv("SLUICE_TEST_SLURM"));
        (void)poll(NULL, 0, 1000);
    }
}

static void administrator_end(pid_t pid) {
    rig_expect(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid,
               "the administrator ended by itself");
}

/* To one of the jobs that run now, if there is one. */
static void to_some_job(struct test *t, const char *what) {
    (void)shell("job=$(squeue --me -h -t RUNNING -o %%i | sed -n %up); [ -z \"$job\" ] || { %s; }",
                1 + (unsigned)rng_below(&t->rng, 6), what);
}

/* --- the work -------------------------------------------------------------------------------- */

static struct acked *submit(struct test *t, struct client *client, int milliseconds, int code) {
    json_t *task = rig_task(&t->rig, milliseconds, code);
    json_object_set_new(task, "project", json_string(rng_below(&t->rng, 3) ? "left" : "right"));
    struct error err = { 0 };
    char id[40];
    int status = rig_submit(client, task, id, &err);
    rig_expect(status == 200, "a submit was refused: %d %s", status, err.text);
    return status == 200 ? acked_add(&t->acked, id, code) : NULL;
}

static void submit_some(struct test *t, struct client *client) {
    static const int codes[] = { 0, 0, 0, 0, 0, 1, 7, 42 };
    unsigned count = 2 + (unsigned)rng_below(&t->rng, 8);
    for (unsigned i = 0; i < count; i++)
        (void)submit(t, client, (int)rng_below(&t->rng, 3000), codes[rng_below(&t->rng, 8)]);
}

static void cancel_one(struct test *t, struct client *client) {
    struct acked *acked = submit(t, client, LONG_MS, 0);
    json_t *answer = NULL;
    struct error err = { 0 };
    if (!acked)
        return;
    rig_pause((int)rng_below(&t->rng, 1000));
    int status = client_call(client, "POST", "/v1/tasks/cancel",
                             json_pack("{s:[s]}", "tasks", acked->id), &answer, &err);
    rig_expect(status == 200, "a cancel was refused: %d %s", status, err.text);
    acked->canceled = true;
    json_decref(answer);
}

/* --- faults ---------------------------------------------------------------------------------- */

static void pause_some(struct test *t) {
    rig_pause((int)rng_below(&t->rng, 2000));
}

static void do_fault(struct test *t, enum fault fault) {
    switch (fault) {
    case RESTART_CTLD:
        cluster("restart", "ctld");
        break;
    case KILL_CTLD:
    case KILL_CTLD_AND_DAEMON:
        cluster("kill", "ctld");
        pause_some(t);
        if (fault == KILL_CTLD_AND_DAEMON)
            rig_kill(&t->rig);
        cluster("start-part", "ctld");
        break;
    case KILL_DAEMON:
        rig_kill(&t->rig);
        break;
    case KILL_MUNGE:
        cluster("kill", "munge");
        pause_some(t);
        cluster("start-part", "munge");
        break;
    case DRAIN:
        (void)shell("scontrol update NodeName=n1 State=DRAIN Reason=test");
        pause_some(t);
        (void)shell("scontrol update NodeName=n1 State=RESUME");
        break;
    case CANCEL_JOB:
        to_some_job(t, "scancel $job");
        break;
    case REQUEUE_JOB:
        to_some_job(t, "scontrol update JobId=$job Requeue=1 && scontrol requeue $job");
        break;
    case FAULT_MAX:
        break;
    }
    t->faults[fault]++;
}

static void one_fault(struct test *t, enum fault fault) {
    struct client *client = rig_client(&t->rig);
    submit_some(t, client);
    if (rng_below(&t->rng, 4) == 0)
        cancel_one(t, client);
    client_close(client);
    pause_some(t);
    do_fault(t, fault);
}

int main(int argc, char **argv) {
    int faults = argc > 1 ? atoi(argv[1]) : 24;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    struct test t = { .rng = { .state = seed } };
    signal(SIGPIPE, SIG_IGN);
    if (!getenv("SLUICE_TEST_SLURM") || !getenv("SLURM_CLUSTER")) {
        fprintf(stderr, "there is no cluster: run it by `make test-slurm T=slurm_torture`\n");
        return 77;
    }
    printf("  %d faults, seed %llu\n", faults, (unsigned long long)seed);
    cluster("mend", "");
    rig_open(&t.rig, config);
    for (int i = 0; i < faults && rig_failures() < 20; i++)
        one_fault(&t, i < FAULT_MAX ? (enum fault)i : (enum fault)rng_below(&t.rng, FAULT_MAX));
    pid_t administrator = administrator_start();
    rig_expect(rig_wait_drained(&t.rig), "not everything ended");
    administrator_end(administrator);
    for (int i = 0; i < FAULT_MAX; i++)
        printf("  %d times: %s\n", t.faults[i], fault_names[i]);
    acked_check(&t.acked, &t.rig, RUNS_MAX);
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop in good order");
    rig_close(&t.rig);
    acked_finish(&t.acked);
    cluster("mend", "");
    if (rig_failures() > 0)
        printf("  repeat with: test_torture %d %llu\n", faults, (unsigned long long)seed);
    return rig_failures() > 0;
}
