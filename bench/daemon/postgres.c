/* postgres.c: throughput with PostgreSQL as the store, compared with queues made for PostgreSQL.
 *
 * All use one server (BENCH_POSTGRES), in turn, each with a new database or schema, and run the same number of the
 * same
 * small jobs. In the other queues a job is a handler in the worker process; in Sluice it is a process with a shim, a
 * folder and a
 * log. So the others are measured twice: with a handler that does nothing, and with one that starts /bin/true. The
 * same daemon
 * on SQLite is measured too: decisions must not cost more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_bench.h"

#define BULK    60000
#define SINGLE  1000
#define RUNS    2000
#define AT_ONCE 32

enum figure { BY_BULK, BY_ONE, NOTHING, PROCESSES, CPU, FIGURE_MAX };

struct queue {
    const char *name;
    bool ours, on_server;
    double figures[FIGURE_MAX][BENCH_ROUNDS];
};

static struct queue queues[] = {
    { .name = "Sluice, PostgreSQL", .ours = true, .on_server = true },
    { .name = "Sluice, SQLite", .ours = true },
    { .name = "graphile-worker", .on_server = true },
    { .name = "pg-boss", .on_server = true },
};
#define QUEUES     (sizeof(queues) / sizeof(*queues))
#define FIRST_PEER 2

/* --- Sluice ---------------------------------------------------------------------------------- */

static void submit_singly(struct rig *rig) {
    struct client *client = rig_client(rig);
    char id[40];
    struct error err = { 0 };
    for (int i = 0; i < SINGLE; i++) {
        json_t *task = json_pack("{s:[s],s:s}", "argv", "/bin/true", "cwd", "/");
        if (rig_submit(client, task, id, &err) != 200) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
    }
    client_close(client);
}

/* Processor seconds of a process, without its children. */
static double processor_seconds(pid_t pid) {
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(text, sizeof(text), file)) {
        const char *rest = strrchr(text, ')');
        if (!rest
            || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                      &system)
                   != 2)
            user = system = 0;
    }
    if (file)
        (void)fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void measure_ours(struct queue *queue, int round, const char *url) {
    struct rig rig;
    char config[64];
    if (queue->on_server)
        setenv("SLUICE_TEST_STORE", url, 1);
    else
        unsetenv("SLUICE_TEST_STORE");
    snprintf(config, sizeof(config), "limits: {runs: %d}\n", AT_ONCE);
    bench_open(&rig, config);
    (void)bench_bulk(&rig, RUNS);
    double began = bench_now(), used = processor_seconds(rig.daemon);
    bench_pause(&rig, false);
    bench_wait_drained(&rig);
    queue->figures[PROCESSES][round] = RUNS / (bench_now() - began);
    queue->figures[CPU][round] = (processor_seconds(rig.daemon) - used) / RUNS * 1e6;
    bench_pause(&rig, true);
    queue->figures[BY_BULK][round] = BULK / bench_bulk(&rig, BULK);
    began = bench_now();
    submit_singly(&rig);
    queue->figures[BY_ONE][round] = SINGLE / (bench_now() - began);
    rig_close(&rig);
    unsetenv("SLUICE_TEST_STORE");
}

/* --- other queues ---------------------------------------------------------------------------- */

static void measure_peer(struct queue *queue, int round, const char *url, const char *folder) {
    char command[1024], line[256] = "";
    double *f[] = { &queue->figures[BY_BULK][round], &queue->figures[BY_ONE][round],
                    &queue->figures[NOTHING][round], &queue->figures[PROCESSES][round] };
    snprintf(command, sizeof(command), "cd '%s' && exec node queues.mjs %s '%s' rates %d %d %d %d",
             folder, queue->name, url, BULK, SINGLE, RUNS, AT_ONCE);
    FILE *pipe = popen(command, "re");
    bool applied = pipe && fgets(line, sizeof(line), pipe)
                   && sscanf(line, "%lf %lf %lf %lf", f[0], f[1], f[2], f[3]) == 4;
    if (!pipe || pclose(pipe) != 0 || !applied) {
        fprintf(stderr, "bench: %s could not be measured\n", queue->name);
        exit(1);
    }
}

/* --- the table ------------------------------------------------------------------------------- */

static double figure(struct queue *queue, enum figure which) {
    return bench_median(queue->figures[which], BENCH_ROUNDS);
}

static double best_peer(enum figure which) {
    double best = 0;
    for (size_t i = FIRST_PEER; i < QUEUES; i++)
        if (figure(&queues[i], which) > best)
            best = figure(&queues[i], which);
    return best;
}

static void put(char text[16], double value) {
    if (value > 0)
        snprintf(text, 16, "%.0f", value);
    else
        snprintf(text, 16, "-");
}

static void print_table(void) {
    bench_say("%-20s %12s %12s %14s %14s %16s", "medians per second", "bulk", "one by one",
              "empty handlers", "/bin/true", "daemon us/run");
    for (size_t i = 0; i < QUEUES; i++) {
        char text[FIGURE_MAX][16];
        for (enum figure f = 0; f < FIGURE_MAX; f++)
            put(text[f], figure(&queues[i], f));
        bench_say("%-20s %12s %12s %14s %14s %16s", queues[i].name, text[BY_BULK], text[BY_ONE],
                  text[NOTHING], text[PROCESSES], text[CPU]);
    }
}

void bench_postgres(void) {
    const char *url = getenv("BENCH_POSTGRES"), *peers = getenv("BENCH_PEERS");
    if (!url || !peers) {
        fprintf(stderr, "bench: run it by `make bench T=postgres`\n");
        exit(2);
    }
    printf("state in PostgreSQL, one server, fsync on\n");
    for (int round = 0; round < BENCH_ROUNDS; round++)
        for (size_t i = 0; i < QUEUES; i++) {
            struct queue *queue = &queues[i];
            if (queue->ours)
                measure_ours(queue, round, url);
            else
                measure_peer(queue, round, url, peers);
            bench_say("%-20s bulk %.0f   one by one %.0f   /bin/true %.0f", queue->name,
                      queue->figures[BY_BULK][round], queue->figures[BY_ONE][round],
                      queue->figures[PROCESSES][round]);
        }
    print_table();
    struct queue *ours = &queues[0], *sqlite = &queues[1];
    for (size_t i = FIRST_PEER; i < QUEUES; i++)
        bench_say("bulk submits: %.2f times those of %s",
                  figure(ours, BY_BULK) / figure(&queues[i], BY_BULK), queues[i].name);
    double bulk = figure(ours, BY_BULK) / best_peer(BY_BULK);
    double one = figure(ours, BY_ONE) / best_peer(BY_ONE);
    double runs = figure(ours, PROCESSES) / best_peer(PROCESSES);
    bench_goal(bulk >= 1, "bulk submits: %.2f times the best of the others (at least 1)", bulk);
    bench_goal(one >= 0.5, "one by one: %.2f times the best of the others (at least 0.5)", one);
    bench_goal(runs >= 0.5,
               "runs of /bin/true, with shim, folder and log: %.2f times the best of the others "
               "(at least 0.5)",
               runs);
    double cpu = figure(ours, CPU) / figure(sqlite, CPU);
    bench_goal(cpu <= 1.5,
               "processor time of the daemon per run: %.2f times that on SQLite (at most 1.5)",
               cpu);
}
