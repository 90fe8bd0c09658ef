/* test_kill_daemon.c: the daemon is killed (SIGKILL) at random times while runs are active and tasks are submitted.
 *
 * Checked afterwards: every acknowledged task exists; each attempt ran at most once; the recorded exit code
 * is the one the process returned; according to the diary of the runs no cap was exceeded at any instant. A run that
 * was
 * canceled just before the kill is stopped by the next daemon.
 *
 * test_kill_daemon [KILLS [SEED]]: KILLS defaults to 200. The seed is printed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acked.h"
#include "base/hash.h"
#include "harness/patience.h"

#define RUNS_MAX 20

static const char config[] =
    "limits:\n  runs: 20\n"
    "projects:\n  left: {weight: 3, max_running: 12}\n  right: {weight: 1}\n"
    /* On a slow machine a run that was ordered but not launched yet can be lost again and again. */
    "retry:\n  failed: {max: 1, delay_s: 0}\n  lost: {max: 1000}\n"
    "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

struct test {
    struct rig rig;
    struct rng rng;
    struct acked_list acked;
};

/* The acknowledged tasks. */
static struct acked *submit(struct test *t, struct client *client, int milliseconds, int code) {
    json_t *task = rig_task(&t->rig, milliseconds, code);
    json_object_set_new(task, "project", json_string(rng_below(&t->rng, 3) ? "left" : "right"));
    struct error err = { 0 };
    char id[40];
    int status = rig_submit(client, task, id, &err);
    rig_expect(status == 200, "a submit was refused: %d %s", status, err.text);
    return status == 200 ? acked_add(&t->acked, id, code) : NULL;
}

static void submit_one(struct test *t, struct client *client) {
    static const int codes[] = { 0, 0, 0, 0, 0, 1, 7, 42 };
    (void)submit(t, client, (int)rng_below(&t->rng, 400), codes[rng_below(&t->rng, 8)]);
}

/* The next daemon has to stop this run: the cancel is answered before the signal is sent. The run would outlast the
 * test. */
static void cancel_one(struct test *t, struct client *client) {
    struct acked *acked = submit(t, client, 2 * patience_ms(), 0);
    json_t *answer = NULL;
    struct error err = { 0 };
    if (!acked)
        return;
    json_t *body = json_pack("{s:[s]}", "tasks", acked->id);
    int status = client_call(client, "POST", "/v1/tasks/cancel", body, &answer, &err);
    rig_expect(status == 200, "a cancel was refused: %d %s", status, err.text);
    acked->canceled = true;
    json_decref(answer);
}

static void one_life(struct test *t) {
    struct client *client = rig_client(&t->rig);
    unsigned submits = (unsigned)rng_below(&t->rng, 16);
    for (unsigned i = 0; i < submits; i++)
        submit_one(t, client);
    rig_pause((int)rng_below(&t->rng, 40));
    if (rng_below(&t->rng, 4) == 0)
        cancel_one(t, client);
    rig_kill(&t->rig);
    client_close(client);
}

int main(int argc, char **argv) {
    int kills = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    struct test t = { .rng = { .state = seed } };
    t.acked.rules = "--cap left=12";
    signal(SIGPIPE, SIG_IGN);
    printf("  %d kills, seed %llu\n", kills, (unsigned long long)seed);
    rig_open(&t.rig, config);
    for (int i = 0; i < kills && rig_failures() < 20; i++)
        one_life(&t);
    rig_expect(rig_wait_drained(&t.rig), "not everything ended");
    acked_check(&t.acked, &t.rig, RUNS_MAX);
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop cleanly");
    rig_close(&t.rig);
    acked_finish(&t.acked);
    if (rig_failures() > 0)
        printf("  repeat with: test_kill_daemon %d %llu\n", kills, (unsigned long long)seed);
    return rig_failures() > 0;
}
