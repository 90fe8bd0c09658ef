/* peer_client: submits, works and measures as a client of one server; peers.py starts it. Prints one JSON object.
 *
 * All verbs measure the same work on every server. Those that take time stop after SECONDS, so that a slow server does not
 * delay the others. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command_start.h"
#include "torture/rig.h"
#include "wire.h"

#define BATCH   1000
#define WORK    "/bin/true"
#define REST_MS 5 /* between two measurements of latency, so that the queue is idle */
#define SAMPLES 1000

static const struct protocol *protocol;
static const char *address;

static const char usage[] =
    "usage: peer_client SYSTEM ADDRESS VERB\n"
    "       one SECONDS                     submits one job after the other, each acknowledged\n"
    "       many SECONDS CLIENTS            the same on CLIENTS connections at once\n"
    "       bulk SECONDS                    submits in batches of 1,000\n"
    "       fill COUNT                      submits COUNT jobs in batches\n"
    "       latency SAMPLES SECONDS STAMP FIFO   from a submit to the first instruction of STAMP\n"
    "       drain COUNT AT_ONCE             runs COUNT jobs of " WORK ", submitted before\n"
    "       pause                           starts nothing from now on (only Sluice)\n"
    "       queued                          waits until the server answers; number of its jobs\n"
    "       peer_client command FIFO VERB COMMAND...   with a command that submits its last words\n"
    "       one SECONDS MAX                 starts COMMAND and waits for its end, at most MAX "
    "times\n"
    "       latency SAMPLES SECONDS         from the start of COMMAND to that of the stamp\n";

static double now(void) {
    return (double)rig_now_us() / 1e6;
}

static void print_rate(size_t count, double seconds) {
    printf("{\"count\": %zu, \"seconds\": %.6f}\n", count, seconds);
}

static void print_samples(const double *samples, size_t count) {
    printf("{\"samples_ms\": [");
    for (size_t i = 0; i < count; i++)
        printf("%s%.3f", i ? ", " : "", samples[i]);
    printf("]}\n");
}

/* --- submits --------------------------------------------------------------------------------- */

static void submit(struct wire *wire, const char *job, size_t count) {
    struct strbuf request = STRBUF_INIT;
    protocol->submit(&request, job, count);
    wire_send(wire, strbuf_text(&request), request.length);
    for (size_t left = protocol->batches ? 1 : count; left > 0; left--)
        (void)wire_answer(wire, protocol->check_answer);
    strbuf_finish(&request);
}

static size_t submit_for(struct wire *wire, double seconds, size_t batch) {
    size_t count = 0;
    for (double end = now() + seconds; now() < end; count += batch)
        submit(wire, WORK, batch);
    return count;
}

static void measure_rate(double seconds, size_t batch) {
    struct wire wire = wire_open(address, false);
    double began = now();
    size_t count = submit_for(&wire, seconds, batch);
    print_rate(count, now() - began);
    wire_close(&wire);
}

static void submit_batches(struct wire *wire, size_t count) {
    for (size_t left = count, some; left > 0; left -= some) {
        some = left < BATCH ? left : BATCH;
        submit(wire, WORK, some);
    }
}

static void fill(size_t count) {
    struct wire wire = wire_open(address, false);
    double began = now();
    submit_batches(&wire, count);
    print_rate(count, now() - began);
    wire_close(&wire);
}

/* --- several processes ----------------------------------------------------------------------- */

/* Forks `count` processes that connect, wait for each other, and then call `run`. Returns the seconds from then to the
 * end of the last one; `ret_sum`: of their results. */
static double run_together(size_t count, size_t (*run)(struct wire *wire, double argument),
                           double argument, size_t *ret_sum) {
    int gate[2], ready[2], results[2];
    if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0 || pipe2(results, O_CLOEXEC) < 0)
        wire_fail("pipe", "no descriptor");
    (void)fflush(stdout);
    for (size_t i = 0; i < count; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(gate[1]);
            struct wire wire = wire_open(address, false);
            char c = 0;
            bool ok = write(ready[1], &c, 1) == 1 && read(gate[0], &c, 1) == 0;
            size_t result = ok ? run(&wire, argument) : 0;
            _exit(ok && write(results[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
        }
    for (size_t i = 0; i < count; i++) {
        char c;
        if (read(ready[0], &c, 1) != 1)
            wire_fail("a client", "did not start");
    }
    double began = now();
    close(gate[1]);
    *ret_sum = 0;
    int status, bad = 0;
    for (size_t i = 0, one; i < count; i++) {
        if (wait(&status) < 0 || status != 0 || read(results[0], &one, sizeof(one)) < 0)
            bad++;
        else
            *ret_sum += one;
    }
    double seconds = now() - began;
    if (bad > 0)
        wire_fail("a client", "failed");
    close(gate[0]);
    close(ready[0]), close(ready[1]);
    close(results[0]), close(results[1]);
    return seconds;
}

static size_t submit_singly(struct wire *wire, double seconds) {
    return submit_for(wire, seconds, 1);
}

static size_t work_until_empty(struct wire *wire, double unused) {
    (void)unused;
    protocol->work(wire, false);
    return 0;
}

static void measure_many(double seconds, size_t clients) {
    size_t count;
    double took = run_together(clients, submit_singly, seconds, &count);
    print_rate(count, took);
}

/* Polls less often the more jobs are left. */
static void wait_empty(struct wire *wire) {
    for (size_t left; (left = protocol->queued(wire)) > 0;)
        rig_pause((int)(left / 4) + 2);
}

static void measure_drain(size_t count, size_t at_once) {
    struct wire wire = wire_open(address, false);
    if (protocol->pause)
        protocol->pause(&wire, true);
    submit_batches(&wire, count);
    double seconds;
    size_t sum;
    if (protocol->work) {
        seconds = run_together(at_once, work_until_empty, 0, &sum);
    } else {
        double began = now();
        protocol->pause(&wire, false);
        wait_empty(&wire);
        seconds = now() - began;
    }
    if (protocol->queued(&wire) != 0)
        wire_fail("drain", "jobs are left");
    print_rate(count, seconds);
    wire_close(&wire);
}

/* --- latency --------------------------------------------------------------------------------- */

static pid_t start_worker(void) {
    if (!protocol->work)
        return 0;
    (void)fflush(stdout);
    pid_t worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct wire wire = wire_open(address, false);
        protocol->work(&wire, true);
        _exit(1);
    }
    return worker;
}

static void measure_latency(size_t samples, double seconds, const char *stamp, const char *fifo) {
    static double values[SAMPLES];
    char job[400];
    size_t count = 0;
    int fd = open(fifo, O_RDWR | O_CLOEXEC);
    pid_t worker = start_worker();
    struct wire wire = wire_open(address, false);
    snprintf(job, sizeof(job), "%s %s", stamp, fifo);
    for (double end = now() + seconds; count < samples && count < SAMPLES && now() < end;) {
        rig_pause(REST_MS);
        long long began = rig_now_us();
        submit(&wire, job, 1);
        values[count++] = command_started_ms(fd, began);
    }
    if (worker > 0) {
        kill(worker, SIGKILL);
        waitpid(worker, NULL, 0);
    }
    close(fd);
    wire_close(&wire);
    print_samples(values, count);
}

/* --- commands -------------------------------------------------------------------------------- */

static void command_rate(double seconds, size_t most, char **command) {
    size_t count = 0;
    double began = now(), end = began + seconds;
    for (; count < most && now() < end; count++)
        command_run(command);
    print_rate(count, now() - began);
}

static void command_latency(const char *fifo, size_t samples, double seconds, char **command) {
    static double values[SAMPLES];
    size_t count = 0;
    int fd = open(fifo, O_RDWR | O_CLOEXEC);
    for (double end = now() + seconds; count < samples && count < SAMPLES && now() < end;) {
        rig_pause(REST_MS);
        values[count++] = command_start_ms(fd, command);
    }
    close(fd);
    print_samples(values, count);
}

static bool measure_command(int argc, char **argv) {
    const char *verb = argc > 6 ? argv[3] : "";
    if (strcmp(verb, "one") == 0)
        command_rate(atof(argv[4]), (size_t)atoi(argv[5]), argv + 6);
    else if (strcmp(verb, "latency") == 0)
        command_latency(argv[2], (size_t)atoi(argv[4]), atof(argv[5]), argv + 6);
    else
        return false;
    return true;
}

static bool measure_server(int argc, char **argv) {
    const char *verb = argv[3];
    if (strcmp(verb, "one") == 0 && argc == 5)
        measure_rate(atof(argv[4]), 1);
    else if (strcmp(verb, "bulk") == 0 && argc == 5)
        measure_rate(atof(argv[4]), BATCH);
    else if (strcmp(verb, "many") == 0 && argc == 6)
        measure_many(atof(argv[4]), (size_t)atoi(argv[5]));
    else if (strcmp(verb, "fill") == 0 && argc == 5)
        fill((size_t)atoi(argv[4]));
    else if (strcmp(verb, "drain") == 0 && argc == 6)
        measure_drain((size_t)atoi(argv[4]), (size_t)atoi(argv[5]));
    else if (strcmp(verb, "latency") == 0 && argc == 8)
        measure_latency((size_t)atoi(argv[4]), atof(argv[5]), argv[6], argv[7]);
    else if (strcmp(verb, "pause") == 0 && argc == 4 && protocol->pause) {
        struct wire wire = wire_open(address, false);
        protocol->pause(&wire, true);
        printf("{}\n");
        wire_close(&wire);
    } else if (strcmp(verb, "queued") == 0 && argc == 4) {
        struct wire wire = wire_open(address, true);
        printf("{\"queued\": %zu}\n", protocol->queued(&wire));
        wire_close(&wire);
    } else
        return false;
    return true;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool known = false;
    if (argc > 3 && strcmp(argv[1], "command") == 0) {
        known = measure_command(argc, argv);
    } else if (argc > 3 && (protocol = protocol_find(argv[1]))) {
        address = argv[2];
        known = measure_server(argc, argv);
    }
    if (!known)
        (void)fputs(usage, stderr);
    return known ? 0 : 2;
}
