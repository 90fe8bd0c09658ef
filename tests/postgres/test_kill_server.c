/* PostgreSQL is repeatedly killed, stopped and cut off under a busy daemon.
 *
 * The daemon exits when the state of its store is unknown, and is restarted as a supervisor would do it; the server recovers
 * from its log. Clients repeat their requests with the same key. Afterwards the same rules hold as after kills of the daemon:
 * nothing acknowledged is lost, nothing was done twice, no cap was exceeded, and recorded exit codes are those of the
 * processes.
 *
 * test_kill_server [FAULTS [SEED]]: 40 faults by default; the seed is printed. Run by `make test-postgres`. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "cutter.h"
#include "harness/patience.h"
#include "own_server.h"
#include "torture/acked.h"

#define RUNS_MAX 20
#define LONG_MS  300000 /* longer than this test waits */

static const char config[] =
    "limits:\n  runs: 20\n"
    "projects:\n  left: {weight: 3, max_running: 12}\n  right: {weight: 1}\n"
    "retry:\n  failed: {max: 1, delay_s: 0}\n"
    "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

enum fault { KILL_SERVER, STOP_SERVER, CUT_WIRE, KILL_DAEMON, FAULT_MAX };

struct test {
    struct rig rig;
    struct rng rng;
    struct acked_list acked;
    struct cutter *cutter;
    int faults[FAULT_MAX], cuts, repeated;
};

/* --- the work ----------------------------------------------------------------------------------- */

/* Repeats the request with the same key until there is a response: a client that loses its daemon does not know the outcome. */
static int call(struct test *t, const char *path, json_t *body, json_t **ret_answer,
                struct error *err) {
    char key[40];
    int status = 0;
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    snprintf(key, sizeof(key), "kill-server-%016llx", (unsigned long long)rng_next(&t->rng));
    do {
        struct client *client = rig_client(&t->rig);
        client_set_key(client, key);
        json_incref(body);
        t->repeated += status != 0;
        status = client_call(client, "POST", path, body, ret_answer, err);
        client_close(client);
    } while ((status < 0 || status >= 500) && rig_now_us() < deadline);
    json_decref(body);
    return status;
}

static struct acked *submit(struct test *t, int milliseconds, int code) {
    json_t *task = rig_task(&t->rig, milliseconds, code), *answer = NULL;
    struct error err = { 0 };
    json_object_set_new(task, "project", json_string(rng_below(&t->rng, 3) ? "left" : "right"));
    int status = call(t, "/v1/tasks", json_pack("{s:[o]}", "tasks", task), &answer, &err);
    const char *id = json_string_value(
        json_object_get(json_array_get(json_object_get(answer, "tasks"), 0), "id"));
    rig_expect(status == 200 && id, "a submit was refused: %d %s", status, err.text);
    struct acked *acked = status == 200 && id ? acked_add(&t->acked, id, code) : NULL;
    json_decref(answer);
    return acked;
}

static void submit_some(struct test *t, unsigned count) {
    static const int codes[] = { 0, 0, 0, 0, 0, 1, 7, 42 };
    for (unsigned i = 0; i < count; i++)
        (void)submit(t, (int)rng_below(&t->rng, 400), codes[rng_below(&t->rng, 8)]);
}

static void cancel_one(struct test *t) {
    struct acked *acked = submit(t, LONG_MS, 0);
    struct error err = { 0 };
    if (!acked)
        return;
    int status = call(t, "/v1/tasks/cancel", json_pack("{s:[s]}", "tasks", acked->id), NULL, &err);
    rig_expect(status == 200, "a cancel was refused: %d %s", status, err.text);
    acked->canceled = true;
}

static void one_fault(struct test *t) {
    static const enum cut cuts[] = { CUT_BEFORE, CUT_IN_REQUEST, CUT_AFTER, CUT_IN_ANSWER,
                                     CUT_BEHIND };
    enum fault fault = (enum fault)rng_below(&t->rng, FAULT_MAX);
    pid_t pid = 0;
    submit_some(t, (unsigned)rng_below(&t->rng, 16));
    t->faults[fault]++;
    if (fault == KILL_SERVER || fault == STOP_SERVER)
        pid = own_server_begin(fault == KILL_SERVER ? "kill" : "stop", "restart", 0);
    else if (fault == CUT_WIRE)
        cutter_set(t->cutter, cuts[rng_below(&t->rng, sizeof(cuts) / sizeof(*cuts))],
                   1 + rng_below(&t->rng, 5), rng_below(&t->rng, 2));
    else
        rig_kill(&t->rig);
    submit_some(t, 4 + (unsigned)rng_below(&t->rng, 8));
    if (rng_below(&t->rng, 4) == 0)
        cancel_one(t);
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    rig_expect(status == 0, "the server did not come back");
    if (fault == CUT_WIRE)
        t->cuts += cutter_wait(t->cutter, patience_ms());
}

int main(int argc, char **argv) {
    int faults = argc > 1 ? atoi(argv[1]) : 40;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    struct test t = { .rng = { .state = seed } };
    signal(SIGPIPE, SIG_IGN);
    printf("  %d faults, seed %llu\n", faults, (unsigned long long)seed);
    t.cutter = cutter_new(own_server_start());
    setenv("SLUICE_TEST_STORE", cutter_url(t.cutter), 1);
    rig_open(&t.rig, config);
    for (int i = 0; i < faults && rig_failures() < 20; i++)
        one_fault(&t);
    cutter_set(t.cutter, CUT_NONE, 0, false);
    rig_expect(rig_wait_drained(&t.rig), "not everything ended");
    acked_check(&t.acked, &t.rig, RUNS_MAX);
    printf("  server killed %d times, stopped %d, wire cut %d of %d, daemon killed %d; %d calls "
           "repeated\n",
           t.faults[KILL_SERVER], t.faults[STOP_SERVER], t.cuts, t.faults[CUT_WIRE],
           t.faults[KILL_DAEMON], t.repeated);
    rig_expect(t.cuts == t.faults[CUT_WIRE],
               "no COMMIT came by: the test did not try what it should");
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop in good order");
    rig_close(&t.rig);
    acked_finish(&t.acked);
    cutter_free(t.cutter);
    if (rig_failures() > 0)
        printf("  repeat with: test_kill_server %d %llu\n", faults, (unsigned long long)seed);
    return rig_failures() > 0;
}
