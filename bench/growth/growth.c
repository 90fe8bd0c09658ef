/* growth FILE TASKS DAYS: does the cost of a task depend on how many tasks are stored, and does a daemon grow from day to day?
 *
 * The engine and its SQLite store, with runs that start and end at once without a process, syncs that return at once, and
 * virtual time. Costs are processor time of this program, so that other load of the machine counts little.
 * Each figure is judged as a ratio to the same figure with few tasks. Exit code 1: a goal was missed. */
#include <dirent.h>
#include <ftw.h>
#include <malloc.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_kit.h"
#include "goal.h"
#include "harness/no_waits.h"
#include "os/log.h"

#define BATCH       1000
#define SUBMITS     400
#define RUNS        2000
#define REPEATS     5
#define FEWEST      100
#define DAY_RUNS    100000
#define DAY_BATCHES (DAY_RUNS / BATCH)
#define MARGIN      1.25 /* of measurement, beside log n */
#define WEEK_MARGIN 1.10
#define TASK        "{\"argv\":[\"/bin/true\"],\"cwd\":\"/\"}"
#define COSTS                                                                                      \
    KIT_CALM "limits: {runs: 16}\nqueue: {soft: unlimited, hard: unlimited}\n"                     \
             "retention: {tasks: 4000000, days: never}\n"
/* Events of less than a day, so that every limit of retention is reached by the third. */
#define WEEK                                                                                       \
    KIT_CALM "limits: {runs: 16}\nqueue: {soft: unlimited, hard: unlimited}\n"                     \
             "events: {keep: 500000}\n"

static struct kit kit;

static double processor_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- work ------------------------------------------------------------------------------------ */

static void add(size_t count) {
    for (size_t left = count, some; left > 0; left -= some) {
        struct kit_ask ask = kit_ask_add(&kit, "web", TASK);
        some = ask.count = left < BATCH ? left : BATCH;
        if (kit_do(&kit, &ask) < 0 || ask.outcome != STORE_OK) {
            fprintf(stderr, "growth: %s\n", ask.err.text);
            exit(1);
        }
    }
}

static bool has_ended(struct kit *k, void *ctx) {
    if (fake_start_count()
        > BATCH) /* all ended or are about to: their reports are kept elsewhere */
        fake_forget_calls();
    return kit_stats(k).ends >= *(uint64_t *)ctx;
}

/* Waits for `count` more ends. */
static void run(size_t count) {
    for (size_t left = count, some; left > 0; left -= some) {
        some = left < BATCH ? left : BATCH;
        uint64_t ends = kit_stats(&kit).ends + some;
        kit_wait(&kit, has_ended, &ends, "runs end");
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values) {
    qsort(values, REPEATS, sizeof(*values), by_value);
    return values[REPEATS / 2];
}

/* Microseconds per submit, each with its own request and commit. The queue is paused. */
static double submit_cost(void) {
    double costs[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        double began = processor_us();
        for (int k = 0; k < SUBMITS / REPEATS; k++)
            add(1);
        costs[i] = (processor_us() - began) * REPEATS / SUBMITS;
    }
    return median_of(costs);
}

/* Microseconds per run, from the decision to the stored end. */
static double run_cost(void) {
    double costs[REPEATS];
    (void)kit_pause(&kit, false);
    for (int i = 0; i < REPEATS; i++) {
        uint64_t ends = kit_stats(&kit).ends;
        double began = processor_us();
        run(RUNS / REPEATS);
        costs[i] = (processor_us() - began) / (double)(kit_stats(&kit).ends - ends);
    }
    (void)kit_pause(&kit, true);
    return median_of(costs);
}

/* --- the cost of a task ---------------------------------------------------------------------- */

enum { POINTS_MAX = 8 };

static struct series {
    const char *name;
    size_t count, tasks[POINTS_MAX];
    double submit_us[POINTS_MAX], run_us[POINTS_MAX];
} waiting = { .name = "waiting" }, finished = { .name = "finished" };

static void note(struct series *series, size_t tasks) {
    size_t i = series->count++;
    series->tasks[i] = tasks;
    series->submit_us[i] = submit_cost();
    add(RUNS); /* so that the runs do not use up what waits */
    series->run_us[i] = run_cost();
    printf("  %8zu %-9s a submit %6.1f us   a run %6.1f us\n", tasks, series->name,
           series->submit_us[i], series->run_us[i]);
    (void)fflush(stdout);
}

static void measure_waiting(size_t most) {
    size_t stored = 0;
    kit_open(&kit, COSTS);
    fake_end_all_with(0);
    (void)kit_pause(&kit, true);
    for (size_t tasks = FEWEST; tasks <= most; tasks *= 10) {
        add(tasks - stored);
        note(&waiting, tasks);
        stored = tasks;
    }
    kit_close(&kit);
}

static void measure_finished(size_t most) {
    size_t stored = 0;
    kit_open(&kit, COSTS);
    fake_end_all_with(0);
    for (size_t tasks = FEWEST; tasks <= most; tasks *= 10) {
        for (; stored < tasks; stored += BATCH) {
            size_t some = tasks - stored < BATCH ? tasks - stored : BATCH;
            add(some);
            run(some);
            stored -= BATCH - some;
        }
        (void)kit_pause(&kit, true);
        note(&finished, tasks);
        (void)kit_pause(&kit, false);
    }
    kit_close(&kit);
}

static void judge(const struct series *series, const char *what, const double *costs) {
    double base = fmin(costs[0], series->count > 1 ? costs[1] : costs[0]);
    for (size_t i = 1; i < series->count; i++) {
        double log_ratio = log((double)series->tasks[i]) / log((double)series->tasks[0]);
        double ratio = costs[i] / base;
        bench_goal(ratio <= MARGIN * log_ratio, "%s with %zu %s: %.2f times (at most %.2f)", what,
                   series->tasks[i], series->name, ratio, MARGIN * log_ratio);
    }
}

/* --- days ------------------------------------------------------------------------------------ */

static struct day {
    double run_us;
    size_t heap, resident, disk, descriptors;
} days[60];
static size_t day_count, disk_sum;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)path, (void)type, (void)where;
    disk_sum += (size_t)st->st_blocks * 512;
    return 0;
}

static size_t disk_used(void) {
    disk_sum = 0;
    (void)nftw(kit.home, add_size, 16, FTW_PHYS);
    return disk_sum;
}

static size_t resident(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t descriptors(void) {
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

/* A day: bursts of tasks, and after each the time until the next, in steps in which every timer has its turn. */
static void live_a_day(struct day *day) {
    double began = processor_us();
    for (int i = 0; i < DAY_BATCHES; i++) {
        add(BATCH);
        run(BATCH);
        long long step = 24LL * 3600 * 1000 / DAY_BATCHES / 8;
        for (int k = 0; k < 8; k++) {
            clock_skip(step);
            kit_settle(&kit);
        }
    }
    day->run_us = (processor_us() - began) / DAY_RUNS;
    (void)malloc_trim(0);
    day->heap = mallinfo2().uordblks;
    day->resident = resident();
    day->disk = disk_used();
    day->descriptors = descriptors();
}

static void measure_days(size_t count) {
    kit_open(&kit, WEEK);
    fake_end_all_with(0);
    for (size_t i = 0; i < count; i++) {
        struct day *day = &days[day_count++];
        live_a_day(day);
        printf("  day %zu: %.1f us a run, heap %.1f MB, resident %.1f MB, disk %.1f MB, %zu "
               "descriptors\n",
               i + 1, day->run_us, (double)day->heap / 1e6, (double)day->resident / 1e6,
               (double)day->disk / 1e6, day->descriptors);
        (void)fflush(stdout);
    }
    kit_close(&kit);
}

static double most_of(size_t member, size_t from) {
    size_t most = 0;
    for (size_t i = from; i < day_count; i++) {
        size_t value = *(const size_t *)(const void *)((const char *)&days[i] + member);
        most = value > most ? value : most;
    }
    return (double)most;
}

/* Retention keeps the tasks of about a day; from the third on each is like the one before. */
static void judge_days(void) {
    if (day_count < 4)
        return;
    const struct day *base = &days[2];
    double heap = most_of(offsetof(struct day, heap), 3) / (double)base->heap;
    double disk = most_of(offsetof(struct day, disk), 3) / (double)base->disk;
    size_t open = (size_t)most_of(offsetof(struct day, descriptors), 3);
    bench_goal(heap <= WEEK_MARGIN, "heap after %zu days: %.2f times that of day 3 (at most %.2f)",
               day_count, heap, WEEK_MARGIN);
    bench_goal(disk <= WEEK_MARGIN, "disk after %zu days: %.2f times that of day 3 (at most %.2f)",
               day_count, disk, WEEK_MARGIN);
    bench_goal(open <= base->descriptors, "descriptors after %zu days: %zu, on day 3 %zu",
               day_count, open, base->descriptors);
}

/* --- the result ------------------------------------------------------------------------------ */

static void write_series(FILE *file, const struct series *series) {
    for (size_t i = 0; i < series->count; i++)
        fprintf(file,
                "  {\"stored\": \"%s\", \"tasks\": %zu, \"submit_us\": %.2f, \"run_us\": %.2f}%s\n",
                series->name, series->tasks[i], series->submit_us[i], series->run_us[i],
                i + 1 < series->count || series == &waiting ? "," : "");
}

static void write_result(const char *path) {
    FILE *file = fopen(path, "we");
    char date[16];
    double load = 0;
    time_t now = time(NULL); /* not moved by no_waits.c */
    struct tm tm;
    (void)getloadavg(&load, 1);
    (void)strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
    if (!file) {
        perror(path);
        exit(1);
    }
    fprintf(file,
            "{\"kind\": \"growth\", \"date\": \"%s\", \"machine\": {\"processors\": %ld, \"load\": "
            "%.1f},\n \"points\": [\n",
            date, sysconf(_SC_NPROCESSORS_ONLN), load);
    write_series(file, &waiting);
    write_series(file, &finished);
    fprintf(file, " ],\n \"day_runs\": %d,\n \"days\": [\n", DAY_RUNS);
    for (size_t i = 0; i < day_count; i++)
        fprintf(file,
                "  {\"run_us\": %.2f, \"heap\": %zu, \"resident\": %zu, \"disk\": %zu, "
                "\"descriptors\": %zu}%s\n",
                days[i].run_us, days[i].heap, days[i].resident, days[i].disk, days[i].descriptors,
                i + 1 < day_count ? "," : "");
    fprintf(file, " ]}\n");
    if (fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4 || atol(argv[2]) < FEWEST || atol(argv[3]) < 0
        || (size_t)atol(argv[3]) > sizeof(days) / sizeof(*days)) {
        fprintf(stderr, "usage: growth FILE TASKS DAYS (100 tasks or more, 60 days at most)\n");
        return 2;
    }
    log_set_level(LOG_WARNING_LEVEL);
    printf("processor time of the engine and its store, by the number of stored tasks\n");
    measure_waiting((size_t)atol(argv[2]));
    measure_finished((size_t)atol(argv[2]));
    printf("days of %d runs\n", DAY_RUNS);
    measure_days((size_t)atol(argv[3]));
    write_result(argv[1]);
    judge(&waiting, "a submit", waiting.submit_us);
    judge(&waiting, "a run", waiting.run_us);
    judge(&finished, "a submit", finished.submit_us);
    judge(&finished, "a run", finished.run_us);
    judge_days();
    return bench_missed() > 0;
}
