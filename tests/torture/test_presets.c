/* test_presets.c: each preset drains a graph of tasks while the daemon is killed (SIGKILL) again and again.
 *
 * The tasks belong to five projects and are generated from a seed (dag.h): some fail, some loop, some are children,
 * some
 * spawn children, some cannot be launched, some leave processes behind. Checked afterwards
 * (history.h): every acknowledged task exists and has ended as expected, or waits for
 * a failed task; each attempt ran once; no cap and no lock was exceeded at any instant;
 * no task began before its dependencies had ended; no process is left.
 *
 * test_presets [TASKS [SEED [PRESET]]]: TASKS per preset defaults to 120, and is 1,000 in
 * `make soak`. The seed is printed. The settings are those of the presets, except for lower caps (so that
 * they are reached) and shorter delays (so that the test is fast). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "dag.h"
#include "diary.h"
#include "history.h"
#include "rig.h"

#define SHORT_PAUSES                                                                               \
    "retry.failed: {max: 2, delay_s: 0.03, cap_s: 0.1}\n"                                          \
    "retry.unfinished: {max: 4, delay_s: 0.02, cap_s: 0.02}\n"                                     \
    "retry.lost: {max: 40, delay_s: 0.05}\n"
#define PROJECTS                                                                                   \
    "projects:\n  p0: {weight: 3, max_running: 3}\n  p1: {weight: 2}\n  p2: {max_running: 2}\n"    \
    "  p3: {}\n  p4: {max_running: 5}\n"
#define COMMON                                                                                     \
    SHORT_PAUSES PROJECTS "limits.resource.db: 2\n"                                                \
                          "host.disk_free_gb: 0\nstore.min_free_mb: 1\n"
#define PROJECT_CAPS .project_cap = { 3, 0, 2, 0, 5 }
#define KINDS                                                                                      \
    "kinds:\n  plan: {max_running: 2}\n  spec: {max_running: 3}\n"                                 \
    "  phase: {max_running: 4}\n  ralph: {max_running: 6}\n"
#define KIND_CAPS .kinds = { "plan", "spec", "phase", "ralph" }, .kind_caps = { 2, 3, 4, 6 }

static const struct dag_rules presets[] = {
    { .name = "sluice",
      .config = "preset: sluice\nlimits.runs: 10\nbreaker.reset_s: never\n" KINDS COMMON,
      KIND_CAPS,
      PROJECT_CAPS,
      .runs = 10,
      .until = END_EXIT,
      .failures = 3,
      .launches = 5,
      .children_wait = true },
    { .name =
          "loopr", /* caps of its own for spec and plan; phase and ralph have none that matters */
      .config = "preset: loopr\nlimits.runs: 12\npace.tick_s: 0.1\nbreaker.reset_s: never\n" COMMON,
      .kinds = { "plan", "spec", "phase", "ralph" },
      .kind_caps = { 2, 5, 20, 50 },
      PROJECT_CAPS,
      .runs = 12,
      .until = END_VALIDATE,
      .failures = 3,
      .launches = 5,
      .angry = true,
      .children_wait = true },
    { .name = "conductor",
      .config = "preset: conductor\nlimits: {runs: 12, roots: 8}\n" KINDS COMMON,
      KIND_CAPS,
      PROJECT_CAPS,
      .runs = 12,
      .roots = 8,
      .until = END_DONE,
      .failures = 3,
      .launches = 4, /* here max: 4 counts all launches */
      .angry = true },
    { .name = "gastown",
      .config = "preset: gastown\nlimits.runs: 10\npace: {tick_s: 0.03, batch: 6}\n" KINDS COMMON,
      KIND_CAPS,
      PROJECT_CAPS,
      .runs = 10,
      .until = END_EXIT,
      .failures = 3,
      .launches = 5,
      .children_wait = true },
    { .name = "agency", /* deferred tasks are submitted again, lost ones retried manually */
      .config = "preset: agency\nlimits.runs: 16\nqueue: {soft: 30, hard: 60}\n"
                "kinds:\n  implement: {max_running: 4}\n  review: {max_running: 3}\n"
                "  research: {max_running: 2}\n" COMMON,
      .kinds = { "implement", "review", "research" },
      .kind_caps = { 4, 3, 2 },
      PROJECT_CAPS,
      .runs = 16,
      .until = END_EXIT,
      .failures = 3,
      .launches = 5,
      .serial = true,
      .children_wait = true,
      .lost_fails = true,
      .short_queue = true },
    { .name = "agent-queue",
      .config = "preset: agent-queue\nlimits.runs: 10\nbreaker.reset_s: never\n" KINDS COMMON,
      KIND_CAPS,
      PROJECT_CAPS,
      .runs = 10,
      .until = END_EXIT,
      .failures = 3,
      .launches = 5,
      .children_wait = true },
};

#define PRESETS (sizeof(presets) / sizeof(*presets))

struct test {
    struct rig rig;
    struct dag dag;
    struct rng rng;       /* for the times of kills and pauses; the graph has its own */
    unsigned acked_count; /* number of acknowledged tasks */
    unsigned kills, deferrals, retries;
    unsigned resource_peak; /* runs at once with the resource */
};

/* False: not accepted now. */
static bool submit_batch(struct test *t, struct client *client) {
    unsigned count = 1 + (unsigned)rng_below(&t->rng, 16);
    if (count > t->dag.count - t->acked_count)
        count = t->dag.count - t->acked_count;
    json_t *answer = NULL;
    struct error err = { 0 };
    json_t *body = dag_batch(&t->dag, t->acked_count, count, getenv("LOOP_AGENT"), t->rig.home);
    int status = client_call(client, "POST", "/v1/tasks", body, &answer, &err);
    bool taken = status == 200 && dag_learn(&t->dag, t->acked_count, count, answer);
    if (taken)
        t->acked_count += count;
    t->deferrals += status == 429;
    rig_expect(taken || status == 429, "a batch was refused: %d %s", status, err.text);
    json_decref(answer);
    return taken;
}

static long long count_of(const json_t *counts, const char *state) {
    return json_integer_value(json_object_get(counts, state));
}

/* No task can start any more: all remaining tasks wait for a failed one. */
static bool is_drained(struct client *client, void *ctx) {
    const struct test *t = ctx;
    json_t *answer = NULL;
    struct error err = { 0 };
    bool drained = false;
    if (client_get(client, &answer, &err, "/v1/status") == 200) {
        const json_t *counts = json_object_get(answer, "counts");
        drained = count_of(counts, "ready") + count_of(counts, "starting")
                          + count_of(counts, "running") + count_of(counts, "held")
                      == 0
                  && count_of(counts, "waiting") == dag_due_count(&t->dag, DUE_WAITING);
    }
    json_decref(answer);
    return drained;
}

/* Retries the tasks that a lost run has failed, as an operator would. */
static void retry_lost(struct test *t, struct client *client) {
    json_t *answer = NULL, *ids = json_array();
    struct error err = { 0 };
    int status = client_get(client, &answer, &err, "/v1/tasks?state=failed&limit=1000");
    rig_expect(status == 200, "no list: %d %s", status, err.text);
    const json_t *items = json_object_get(answer, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *task = json_array_get(items, i);
        const char *reason = json_string_value(json_object_get(task, "reason"));
        if (reason && strcmp(reason, "lost") == 0)
            json_array_append(ids, json_object_get(task, "id"));
    }
    json_decref(answer);
    answer = NULL;
    t->retries += (unsigned)json_array_size(ids);
    if (json_array_size(ids) > 0) {
        status = client_call(client, "POST", "/v1/tasks/retry", json_pack("{s:O}", "tasks", ids),
                             &answer, &err);
        rig_expect(status == 200, "a retry was refused: %d %s", status, err.text);
        json_decref(answer);
    }
    json_decref(ids);
}

/* One life of the daemon, from start to kill. True: all tasks ended before the kill. */
static bool one_life(struct test *t) {
    struct client *client = rig_client(&t->rig);
    if (t->dag.rules->lost_fails)
        retry_lost(t, client);
    unsigned batches = (unsigned)rng_below(&t->rng, t->dag.rules->short_queue ? 30 : 8);
    while (t->acked_count < t->dag.count && batches-- > 0 && submit_batch(t, client))
        ;
    rig_pause((int)rng_below(&t->rng, 500));
    bool over = t->acked_count == t->dag.count && is_drained(client, t);
    if (!over) {
        rig_kill(&t->rig);
        t->kills++;
    }
    client_close(client);
    return over;
}

/* After the kills: submits the remaining tasks and waits until all have ended. */
static bool last_life(struct test *t) {
    struct client *client = rig_client(&t->rig);
    int before = rig_failures();
    if (t->dag.rules->lost_fails)
        retry_lost(t, client);
    while (t->acked_count < t->dag.count && rig_failures() == before)
        if (!submit_batch(t, client))
            rig_pause(20);
    client_close(client);
    return rig_wait(&t->rig, is_drained, t);
}

static void check(struct test *t) {
    struct diary diary;
    rig_expect(diary_read(&diary, t->rig.diary), "no diary at %s", t->rig.diary);
    struct client *client = rig_client(&t->rig);
    history_find_spawned(client, &t->dag);
    history_check_tasks(client, &t->dag, &diary);
    struct history_peaks peaks = history_check_limits(&t->dag, &diary);
    history_check_order(&t->dag, &diary);
    unsigned events = history_check_events(client, &t->dag);
    client_close(client);
    rig_expect(peaks.runs >= 3, "at most %u runs at once: the test did not exercise what it should",
               peaks.runs);
    t->resource_peak = peaks.resource;
    printf(
        "  %-11s %4u tasks: %u done, %u failed, %u wait for ever; %u kills, %zu runs, at most %u "
        "at once, %u events, %u batches deferred, %u retried\n",
        t->dag.rules->name, t->dag.count, dag_due_count(&t->dag, DUE_DONE),
        dag_due_count(&t->dag, DUE_FAILED), dag_due_count(&t->dag, DUE_WAITING), t->kills,
        diary.count, peaks.runs, events, t->deferrals, t->retries);
    (void)fflush(stdout);
    diary_free(&diary);
}

/* Returns the largest number of runs at once with the resource. */
static unsigned try_preset(const struct dag_rules *rules, unsigned tasks, uint64_t seed) {
    struct test t = { .rng = { .state = seed + 1 } };
    unsigned lives = 5 + tasks / 15;
    int before = rig_failures();
    dag_make(&t.dag, rules, tasks, seed);
    rig_open(&t.rig, rules->config);
    bool over = false;
    while (!over && rig_failures() == before && lives-- > 0)
        over = one_life(&t);
    if (!over && rig_failures() == before)
        over = last_life(&t);
    rig_expect(over || rig_failures() > before, "%s: not everything ended", rules->name);
    if (over)
        check(&t);
    if (rig_failures() > before)
        client_close(rig_client(&t.rig));
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop cleanly");
    unsigned left = history_count_processes(&t.rig);
    rig_expect(left == 0, "%s: %u processes are left", rules->name, left);
    rig_close(&t.rig);
    dag_free(&t.dag);
    return t.resource_peak;
}

int main(int argc, char **argv) {
    unsigned tasks = argc > 1 ? (unsigned)atoi(argv[1]) : 120;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    signal(SIGPIPE, SIG_IGN);
    const char *agent = getenv("LOOP_AGENT");
    if (!agent || access(agent, X_OK) < 0) {
        fprintf(stderr, "torture: LOOP_AGENT must name a program (run it by `make test`)\n");
        return 1;
    }
    printf("  %u tasks, seed %llu\n", tasks, (unsigned long long)seed);
    unsigned most_held = 0;
    for (size_t i = 0; i < PRESETS; i++) {
        if (argc > 3 && strcmp(argv[3], presets[i].name) != 0)
            continue;
        int before = rig_failures();
        unsigned held = try_preset(&presets[i], tasks, seed);
        most_held = held > most_held ? held : most_held;
        if (rig_failures() > before)
            printf("  repeat with: test_presets %u %llu %s\n", tasks, (unsigned long long)seed,
                   presets[i].name);
    }
    /* In one of them: a few tasks on slow nodes may not compete in each. */
    rig_expect(argc > 3 || most_held == DAG_RESOURCE_CAP,
               "at most %u with the resource: no task has waited for it", most_held);
    return rig_failures() > 0;
}
