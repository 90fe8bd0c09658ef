/* Two hosts take turns at random, while runs begin, end, are canceled, and hosts are forgotten.
 *
 * Invariants: no task has two runs at once (except for runs of a forgotten host), no cap is exceeded, no
 * attempt is started twice, and every end is recorded once. A failing seed is printed with its step. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "engine/hosts.h"
#include "engine_kit.h"
#include "harness/test.h"

#define CONFIG(host)                                                                               \
    KIT_CALM "limits: {runs: 3}\n"                                                                 \
             "retry: {lost: {delay_s: 0, max: 1000}}\nlost: requeue\ndaemon: {host: " host "}\n"
#define SEEDS    10
#define STEPS    60
#define PLACES   3u
#define RUNS_MAX 512u

static const char *const names[] = { "hosta", "hostb" };
static const char *const configs[] = { CONFIG("hosta"), CONFIG("hostb") };

/* The actual state of the hosts, whether a daemon sees it or not. */
struct real_run {
    struct run_key key;
    int host;
    bool lives, was_stopped, is_forgotten;
};

static struct kit kit;
static struct real_run runs[RUNS_MAX];
static size_t run_count, seen_starts, seen_stops;
static int here; /* whose daemon is active */
static uint64_t seed, dice;
static int step;

static unsigned roll(unsigned sides) {
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % sides;
}

static void broken(const char *rule, task_id task) {
    fail_msg("%s: task %llu (seed %llu, step %d)", rule, (unsigned long long)task,
             (unsigned long long)seed, step);
}

static struct real_run *find(struct run_key key) {
    for (size_t i = 0; i < run_count; i++)
        if (runs[i].key.task == key.task && runs[i].key.attempt == key.attempt)
            return &runs[i];
    return NULL;
}

static struct run_end end_of(const struct real_run *run) {
    struct run_end end = fake_exit(0);
    if (run->was_stopped)
        end.kind = RUN_END_STOPPED, end.code = -1;
    return end;
}

/* --- what the daemon did --------------------------------------------------------------------- */

static void see_start(const struct fake_start *start) {
    if (find(start->run))
        broken("an attempt was started twice", start->run.task);
    unsigned live = 0;
    for (size_t i = 0; i < run_count; i++) {
        live += runs[i].lives && !runs[i].is_forgotten;
        if (runs[i].key.task == start->run.task && runs[i].lives && !runs[i].is_forgotten)
            broken("a task has two runs at once", start->run.task);
    }
    if (live >= PLACES)
        broken("more runs than places", start->run.task);
    assert_true(run_count < RUNS_MAX);
    runs[run_count++] = (struct real_run){ .key = start->run, .host = here, .lives = true };
    fake_report_started(start->run);
}

static void see_stop(const struct fake_stop *stop) {
    struct real_run *run = find(stop->run);
    if (!run || run->host != here)
        broken("a run of another host was stopped from here", stop->run.task);
    if (!run->lives)
        return;
    run->lives = false;
    run->was_stopped = true;
    struct run_end end = end_of(run);
    fake_report_ended(run->key, &end);
}

static void settle(void) {
    struct core_counts counts;
    do {
        kit_settle(&kit);
        while (seen_starts < fake_start_count())
            see_start(fake_start_at(seen_starts++));
        while (seen_stops < fake_stop_count())
            see_stop(fake_stop_at(seen_stops++));
        kit_settle(&kit);
    } while (seen_starts < fake_start_count() || seen_stops < fake_stop_count());
    core_count(engine_core(kit.engine), &counts);
    if (counts.runs_used > PLACES)
        broken("more places are taken than there are", 0);
}

/* --- what happens ---------------------------------------------------------------------------- */

static void go_to(int host) {
    here = host;
    fake_forget_everything();
    seen_starts = seen_stops = 0;
    for (size_t i = 0; i < run_count; i++) {
        struct engine_run live;
        if (runs[i].host != host || !engine_live_run(kit.engine, runs[i].key.task, &live)
            || live.attempt != runs[i].key.attempt)
            continue;
        struct run_end end = end_of(&runs[i]);
        fake_will_adopt(runs[i].key, runs[i].lives ? ADOPTED_ALIVE : ADOPTED_ENDED, &end);
    }
    kit.config_text = configs[host];
    kit_restart(&kit);
}

static void end_one(struct real_run *run) {
    if (!run->lives || run->is_forgotten)
        return;
    run->lives = false;
    struct run_end end = end_of(run);
    if (run->host == here)
        fake_report_ended(run->key, &end);
}

static int forget(struct engine *engine, struct kit_ask *ask) {
    uint32_t lost = 0;
    return engine_forget_host(engine, ask->text, NULL, &lost, &ask->err);
}

static void forget_other(void) {
    uint32_t unreachable = engine_unreachable_count(kit.engine);
    int r = kit_run(&kit, forget, names[!here]);
    assert_true(unreachable > 0 ? r == 0 : r != 0);
    for (size_t i = 0; i < run_count; i++)
        runs[i].is_forgotten = runs[i].is_forgotten || runs[i].host != here;
}

static void happen(void) {
    task_id last = engine_last_task(kit.engine);
    switch (roll(10)) {
    case 0:
    case 1:
    case 2:
        (void)kit_web(&kit, "{\"argv\":[\"a\"]}");
        break;
    case 3:
    case 4:
    case 5:
        if (run_count > 0)
            end_one(&runs[roll((unsigned)run_count)]);
        break;
    case 6:
        if (last > 0)
            (void)kit_apply(&kit, FACT_CANCEL, 1 + roll((unsigned)last));
        break;
    case 7:
        go_to(here);
        break;
    case 8:
        go_to(!here);
        break;
    default:
        if (roll(3) == 0)
            forget_other();
        break;
    }
    settle();
}

static unsigned unfinished(void) {
    struct core_counts counts;
    core_count(engine_core(kit.engine), &counts);
    return counts.by_state[TASK_WAITING] + counts.by_state[TASK_READY]
           + counts.by_state[TASK_STARTING] + counts.by_state[TASK_RUNNING]
           + counts.by_state[TASK_HELD];
}

/* Ends all runs on all hosts; then the hosts take turns until nothing is left. */
static void finish_all(void) {
    for (int turn = 0; turn < 100 && unfinished() > 0; turn++) {
        for (size_t i = 0; i < run_count; i++)
            end_one(&runs[i]);
        settle();
        go_to(!here);
        settle();
    }
    if (unfinished() > 0)
        broken("something is left for ever", 0);
    for (task_id task = 1; task <= engine_last_task(kit.engine); task++) {
        size_t started = 0;
        for (size_t i = 0; i < run_count; i++)
            started += runs[i].key.task == task;
        if (kit_events(&kit, "run.ended", task) != started)
            broken("an end is missing, or there twice", task);
    }
}

TEST(two_hosts_take_turns) {
    for (seed = 1; seed <= SEEDS; seed++) {
        dice = seed;
        run_count = seen_starts = seen_stops = 0;
        here = 0;
        kit_open(&kit, configs[here]);
        for (step = 0; step < STEPS; step++)
            happen();
        finish_all();
        kit_close(&kit);
    }
}
