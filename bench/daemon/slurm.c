/* slurm.c: the cost of sending 2,000 jobs through Sluice to Slurm, compared with sbatch.
 *
 * Without Sluice: a loop of sbatch, and one sbatch with an array. Every measurement uses a new cluster
 * (scripts/slurm-cluster), because a controller remembers completed jobs and gets slower. The clock
 * runs from the first submit until all programs know that the last job has completed. The cluster shares the
 * processors of
 * this machine with the submitter, so all work that Sluice does per job slows down the jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon_bench.h"

#define JOBS       2000 /* BENCH_SLURM_JOBS: for a quick run */
#define FACTOR_MAX 1.10 /* maximum duration, relative to the loop */
#define AGAIN      50   /* polling interval in ms */
#define COMMAND    "/bin/true"

static const char *folder;
static int jobs = JOBS;

static void must(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void cluster(const char *verb) {
    char line[512];
    snprintf(line, sizeof(line), "'%s' %s '%s'", getenv("BENCH_SLURM_CLUSTER"), verb, folder);
    must(system(line) == 0, line); /* NOLINT: a script of ours, in a folder of ours */
}

static void fresh_cluster(void) {
    char line[512];
    cluster("stop");
    snprintf(line, sizeof(line), "rm -rf '%s/state' '%s/spool' '%s/log'", folder, folder, folder);
    must(system(line) == 0, line); /* NOLINT */
    cluster("start");
}

/* Counts lines of a file of the cluster that contain a text: "log/jobs" has one for each completed job. Also the
 * times of the
 * first and the last one, if the lines begin with a time. */
static unsigned count_lines(const char *file, const char *text, double *ret_first,
                            double *ret_last) {
    char path[256], line[4096];
    unsigned count = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *stream = fopen(path, "re");
    while (stream && fgets(line, sizeof(line), stream)) {
        struct tm tm = { .tm_isdst = -1 };
        if (!strstr(line, text))
            continue;
        count++;
        const char *rest = strptime(line, "[%Y-%m-%dT%H:%M:%S", &tm);
        double at = rest ? (double)mktime(&tm) + strtod(rest, NULL) : 0;
        if (count == 1 && ret_first)
            *ret_first = at;
        if (ret_last)
            *ret_last = at;
    }
    if (stream)
        (void)fclose(stream);
    return count;
}

static void wait_over(void) {
    while (count_lines("log/jobs", "JobId=", NULL, NULL)
           < (unsigned)jobs + 1) /* and the script of the cluster */
        rig_pause(AGAIN);
}

/* Submits per second, as seen by the controller. */
static double submit_rate(void) {
    double first = 0, last = 0;
    unsigned count = count_lines("log/ctld.log", "_slurm_rpc_submit_batch_job", &first, &last);
    (void)count_lines("log/ctld.log", "_slurm_rpc_submit_batch_job: JobId=2 ", &first, NULL);
    return last > first ? (count - 2) / (last - first) : 0;
}

/* --- variants -------------------------------------------------------------------------------- */

#define SBATCH                                                                                     \
    "sbatch --parsable --no-requeue --chdir=/ --output=/dev/null --wrap='exec " COMMAND "'"

static double by_loop(void) {
    char line[512];
    fresh_cluster();
    snprintf(line, sizeof(line),
             "i=0; while [ $i -lt %d ]; do " SBATCH " >/dev/null || exit 1; i=$((i + 1)); done",
             jobs);
    double began = bench_now();
    must(system(line) == 0, "sbatch failed"); /* NOLINT: words of our own */
    wait_over();
    return bench_now() - began;
}

static double by_array(void) {
    char line[512];
    fresh_cluster();
    snprintf(line, sizeof(line), SBATCH " --array=1-%d >/dev/null", jobs);
    double began = bench_now();
    must(system(line) == 0, "sbatch failed"); /* NOLINT: words of our own */
    wait_over();
    return bench_now() - began;
}

static double by_sluice(void) {
    struct rig rig;
    fresh_cluster();
    bench_open(&rig, "tasks: {executor: slurm}\nlimits: {runs: 256}\n");
    double began = bench_now();
    (void)bench_bulk(&rig, (size_t)jobs);
    bench_pause(&rig, false);
    bench_wait_drained(&rig);
    double seconds = bench_now() - began;
    unsigned submits = count_lines("log/ctld.log", "_slurm_rpc_submit_batch_job", NULL, NULL) - 1;
    if (submits != (unsigned)jobs)
        bench_say("%u submits for %d tasks: an answer of sbatch was lost", submits, jobs);
    rig_close(&rig);
    return seconds;
}

void bench_slurm(void) {
    double part[BENCH_ROUNDS];
    folder = getenv("BENCH_SLURM");
    must(folder && getenv("BENCH_SLURM_CLUSTER"), "run it by `make bench T=slurm`");
    if (getenv("BENCH_SLURM_JOBS"))
        jobs = atoi(getenv("BENCH_SLURM_JOBS"));
    must(jobs > 1, "BENCH_SLURM_JOBS is no number of jobs");
    printf("%d jobs of " COMMAND " through Slurm, in seconds until the last is over\n", jobs);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double array = by_array();
        double loop = by_loop(), loop_rate = submit_rate();
        double sluice = by_sluice(), sluice_rate = submit_rate();
        bench_say("sbatch --array %.1f   loop of sbatch %.1f (%.0f submits a second)   "
                  "through Sluice %.1f (%.0f)",
                  array, loop, loop_rate, sluice, sluice_rate);
        part[i] = sluice / loop;
    }
    double share = bench_median(part, BENCH_ROUNDS);
    bench_goal(share <= FACTOR_MAX, "through Sluice: %.2f times a loop of sbatch (at most %.2f)",
               share, FACTOR_MAX);
}
