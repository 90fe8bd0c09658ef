/* submit.c: acknowledged submits per second, compared with bare loops of SQLite on the same disk: one
 * commit for each row, and one for the rows of a thousand tasks. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_bench.h"

#define SINGLE     1000
#define CLIENTS    64
#define EACH       60
#define BULK_TASKS 60000

#define BULK_COMMIT  1000 /* tasks of one request of bench_bulk */
#define ROWS_OF_TASK 4

static void execute(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

/* Inserts rows as long as that of a task, the same number in each commit, with one fsync. Returns rows
 * per second. */
static double bare_rows(const char *home, int rows, int in_commit) {
    char path[160];
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    snprintf(path, sizeof(path), "%s/bare.db", home);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        exit(1);
    execute(db, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
    execute(db, "CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT)");
    sqlite3_prepare_v2(db, "INSERT INTO row(text) VALUES (printf('%200s', 'x'))", -1, &insert,
                       NULL);
    double began = bench_now();
    for (int i = 0; i < rows; i++) {
        if (in_commit > 1 && i % in_commit == 0)
            execute(db, "BEGIN");
        if (sqlite3_step(insert) != SQLITE_DONE)
            exit(1);
        sqlite3_reset(insert);
        if (in_commit > 1 && (i + 1) % in_commit == 0)
            execute(db, "COMMIT");
    }
    double seconds = bench_now() - began;
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return rows / seconds;
}

static double bare_commits(const char *home) {
    return bare_rows(home, SINGLE, 1);
}

/* A task is three rows (task, text, event) and one in an index. */
static double bare_tasks(const char *home) {
    return bare_rows(home, BULK_TASKS * ROWS_OF_TASK, BULK_COMMIT * ROWS_OF_TASK) / ROWS_OF_TASK;
}

static void submit_some(struct rig *rig, int count) {
    struct client *client = rig_client(rig);
    char id[40];
    struct error err = { 0 };
    for (int i = 0; i < count; i++) {
        json_t *task = json_pack("{s:[s],s:s}", "argv", "/bin/true", "cwd", "/");
        if (rig_submit(client, task, id, &err) != 200) {
            fprintf(stderr, "bench: %s\n", err.text);
            _exit(1);
        }
    }
    client_close(client);
}

static double by_one(struct rig *rig) {
    double began = bench_now();
    submit_some(rig, SINGLE);
    return SINGLE / (bench_now() - began);
}

static double by_many(struct rig *rig) {
    double began = bench_now();
    for (int i = 0; i < CLIENTS; i++)
        if (fork() == 0) {
            submit_some(rig, EACH);
            _exit(0);
        }
    for (int i = 0; i < CLIENTS; i++)
        wait(NULL);
    return CLIENTS * EACH / (bench_now() - began);
}

void bench_submit(void) {
    struct rig rig;
    double bare[BENCH_ROUNDS], one[BENCH_ROUNDS], many[BENCH_ROUNDS];
    double part[BENCH_ROUNDS], bulk_part[BENCH_ROUNDS], best = 0;
    printf("durable submits per second\n");
    bench_open(&rig, NULL);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        bare[i] = bare_commits(rig.home);
        one[i] = by_one(&rig);
        many[i] = by_many(&rig);
        double rows = bare_tasks(rig.home), bulk = BULK_TASKS / bench_bulk(&rig, BULK_TASKS);
        part[i] = one[i] / bare[i];
        bulk_part[i] = bulk / rows;
        best = bulk > best ? bulk : best;
        bench_say("bare SQLite commits %.0f   1 client %.0f   %d clients %.0f", bare[i], one[i],
                  CLIENTS, many[i]);
        bench_say("bare SQLite inserts for tasks %.0f   bulk %.0f", rows, bulk);
    }
    rig_close(&rig);
    double share = bench_median(part, BENCH_ROUNDS), single = bench_median(one, BENCH_ROUNDS);
    double several = bench_median(many, BENCH_ROUNDS);
    double bulk_share = bench_median(bulk_part, BENCH_ROUNDS);
    bench_goal(share >= 0.65, "1 client: %.0f %% of a bare loop of commits (at least 65 %%)",
               share * 100);
    bench_goal(several >= 3 * single, "%d clients: %.1f times one client (at least 3)", CLIENTS,
               several / single);
    bench_goal(bulk_share >= 0.30, "bulk: %.0f %% of a bare loop of inserts (at least 30 %%)",
               bulk_share * 100);
    /* The fastest round: an absolute figure says what else the machine had to do. */
    bench_goal(best >= 150000, "bulk: %.0f tasks a second in the fastest round (at least 150,000)",
               best);
}
