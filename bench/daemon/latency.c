/* latency.c: time from the call of the client to the first instruction of the command, in an idle queue,
 * compared with task-spooler. Both include the start of the client program. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command_start.h"
#include "daemon_bench.h"

#define TIMES 150

static void report(const char *name, double *values) {
    bench_say("%-8s p50 %.2f ms   p99 %.2f ms", name, bench_percentile(values, TIMES, 0.5),
              bench_percentile(values, TIMES, 0.99));
}

void bench_latency(const struct bench_programs *p) {
    struct rig rig;
    static double ours[TIMES], theirs[TIMES];
    char fifo[128], tsp_socket[128];
    printf("from the client's start to the command's start\n");
    bench_open(&rig, NULL);
    bench_pause(&rig, false);
    snprintf(fifo, sizeof(fifo), "%s/fifo", rig.home);
    snprintf(tsp_socket, sizeof(tsp_socket), "%s/tsp", rig.home);
    setenv("TS_SOCKET", tsp_socket, 1);
    setenv("TMPDIR", rig.home, 1);
    int fd = mkfifo(fifo, 0600) < 0 ? -1 : open(fifo, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "bench: cannot make %s\n", fifo);
        exit(1);
    }
    char *add[] = { (char *)p->sluice, (char *)"add", (char *)"--", (char *)p->stamp, fifo, NULL };
    char *tsp[] = { (char *)p->tsp, (char *)p->stamp, fifo, NULL };
    char *tsp_end[] = { (char *)p->tsp, (char *)"-K", NULL };
    for (int i = 0; i < TIMES; i++) {
        ours[i] = command_start_ms(fd, add);
        theirs[i] = p->tsp ? command_start_ms(fd, tsp) : 0;
    }
    report("sluice", ours);
    if (p->tsp) {
        report("tsp", theirs);
        command_run(tsp_end);
        double ratio = bench_median(ours, TIMES) / bench_median(theirs, TIMES);
        bench_goal(ratio <= 1.5, "p50 is %.2f times that of task-spooler (at most 1.5)", ratio);
    } else {
        bench_goal(false, "task-spooler is not installed: scripts/setup --bench");
    }
    close(fd);
    unsetenv("TMPDIR");
    rig_close(&rig);
}
