/* The daemon is killed (KILL) at random moments while runs are active and work comes in.
 *
 * Afterwards: every acknowledged task is there; each attempt ran at most once; the exit code on record
 * is the one the process returned; no cap was exceeded at any instant, by the runs' own diary. What was
 * canceled a moment before the kill is stopped by the next daemon.
 *
 * test_kill_daemon [KILLS [SEED]]: 200 kills when nothing is said; the seed is printed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "diary.h"
#include "rig.h"

#define RUNS_MAX 20
#define LONG_MS  300000 /* longer than this test waits */

static const char config[] =
    "limits:\n  runs: 20\n"
    "projects:\n  left: {weight: 3, max_running: 12}\n  right: {weight: 1}\n"
    "retry:\n  failed: {max: 1, delay_s: 0}\n"
    "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

struct acked {
    char id[40];
    int code;
    bool canceled;
};

struct test {
    struct rig rig;
    struct rng rng;
    struct acked *acked;
    size_t count, capacity;
};

/* What the client was told it has. */
static struct acked *submit(struct test *t, struct client *client, int milliseconds, int code) {
    json_t *task = rig_task(&t->rig, milliseconds, code);
    json_object_set_new(task, "project", json_string(rng_below(&t->rng, 3) ? "left" : "right"));
    struct error err = { 0 };
    struct acked acked = { .code = code };
    int status = rig_submit(client, task, acked.id, &err);
    rig_expect(status == 200, "a submit was refused: %d %s", status, err.text);
    if (status != 200)
        return NULL;
    t->acked = xgrow(t->acked, &t->capacity, t->count + 1, sizeof(acked));
    t->acked[t->count] = acked;
    return &t->acked[t->count++];
}

static void submit_one(struct test *t, struct client *client) {
    static const int codes[] = { 0, 0, 0, 0, 0, 1, 7, 42 };
    (void)submit(t, client, (int)rng_below(&t->rng, 400), codes[rng_below(&t->rng, 8)]);
}

/* The next daemon has to stop it: the answer comes before the signal is sent. */
static void cancel_one(struct test *t, struct client *client) {
    struct acked *acked = submit(t, client, LONG_MS, 0);
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

/* Each attempt's record against the diary. */
static void check_runs(const struct diary *diary, const struct acked *acked, const json_t *runs) {
    size_t index;
    json_t *run;
    json_array_foreach(runs, index, run) {
        unsigned attempt = (unsigned)json_integer_value(json_object_get(run, "attempt"));
        const char *outcome = json_string_value(json_object_get(run, "outcome"));
        int code = (int)json_integer_value(json_object_get(run, "exit_code"));
        const struct diary_run *written = diary_find(diary, acked->id, attempt);
        if (!outcome || (acked->canceled && strcmp(outcome, "canceled") == 0))
            continue;
        if (strcmp(outcome, "lost") == 0) {
            rig_expect(!written || written->end_us == 0,
                       "%s attempt %u is called lost, but it ended with %d", acked->id, attempt,
                       written ? written->code : 0);
            continue;
        }
        rig_expect(written != NULL, "%s attempt %u is on record and never ran", acked->id, attempt);
        if (written)
            rig_expect(written->code == code && written->end_us != 0,
                       "%s attempt %u returned %d, the record says %d (%s)", acked->id, attempt,
                       written->code, code, outcome);
    }
}

static void check_task(struct client *client, const struct diary *diary,
                       const struct acked *acked) {
    json_t *task = NULL;
    struct error err = { 0 };
    int status = client_get(client, &task, &err, "/v1/tasks/%s", acked->id);
    rig_expect(status == 200, "%s was acknowledged and is gone: %d %s", acked->id, status,
               err.text);
    if (status == 200) {
        const char *state = json_string_value(json_object_get(task, "state"));
        const char *due = acked->canceled ? "canceled" : acked->code == 0 ? "done" : "failed";
        rig_expect(state && strcmp(state, due) == 0, "%s returns %d and is %s", acked->id,
                   acked->code, state ? state : "?");
        check_runs(diary, acked, json_object_get(task, "runs"));
    }
    json_decref(task);
}

static void check_all(struct test *t) {
    struct diary diary;
    rig_expect(diary_read(&diary, t->rig.diary), "no diary at %s", t->rig.diary);
    struct client *client = rig_client(&t->rig);
    for (size_t i = 0; i < t->count; i++)
        check_task(client, &diary, &t->acked[i]);
    client_close(client);
    rig_expect(diary.twice == 0, "%zu attempts started twice", diary.twice);
    rig_expect(diary.strange == 0, "%zu lines of the diary make no sense", diary.strange);
    rig_expect(diary_peak(&diary) <= RUNS_MAX, "%zu runs at one instant, the cap is %d",
               diary_peak(&diary), RUNS_MAX);
    rig_expect(t->rig.starts < 50 || diary_peak(&diary) > RUNS_MAX / 2,
               "at most %zu runs at once: the test did not try what it should", diary_peak(&diary));
    printf("  %d starts of the daemon, %zu tasks acknowledged, %zu runs, at most %zu at once\n",
           t->rig.starts, t->count, diary.count, diary_peak(&diary));
    size_t due = 0;
    for (size_t i = 0; i < t->count; i++)
        due += !t->acked[i].canceled;
    rig_expect(diary.count >= due, "tasks were done without a run");
    diary_free(&diary);
}

int main(int argc, char **argv) {
    int kills = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    struct test t = { .rng = { .state = seed } };
    signal(SIGPIPE, SIG_IGN);
    printf("  %d kills, seed %llu\n", kills, (unsigned long long)seed);
    rig_open(&t.rig, config);
    for (int i = 0; i < kills && rig_failures() < 20; i++)
        one_life(&t);
    rig_expect(rig_wait_drained(&t.rig, 120), "not everything ended");
    check_all(&t);
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop in good order");
    rig_close(&t.rig);
    free(t.acked);
    if (rig_failures() > 0)
        printf("  repeat with: test_kill_daemon %d %llu\n", kills, (unsigned long long)seed);
    return rig_failures() > 0;
}
