/* test_failover.c: two daemons with one store. The active daemon is killed, stopped or disconnected again and again
 * under load.
 *
 * Clients try each address of the list, and repeat a lost request with the same idempotency key. Checked afterwards:
 * exactly the acknowledged tasks exist; each attempt ran at most once; the recorded exit code is the one the process
 * returned; according to the diary of the runs no cap was exceeded at any instant; the events have no gap. The test
 * also prints the
 * failover time: from the end of the active daemon to the first start that its successor ordered.
 *
 * test_failover [TIMES [SEED]]: TIMES defaults to 10, or 50 on PostgreSQL (SLUICE_TEST_STORE, as `make test-postgres`
 * sets
 * it). The seed is printed. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acked.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "harness/patience.h"

#define RUNS_MAX 20
#define CLIENTS  3
/* Goal for the median failover time: a single failover may coincide with other load on the
 * machine. Scaled with the patience of the tests for slow machines. */
#define GOAL_MS   (5000 * (1 + patience_s() / 120))
#define TIMES_MAX 1000

enum how { KILL, STOP, DISCONNECT, HOW_MAX };

struct test {
    struct rig rigs[2];
    const char *addresses[2];
    char text[2][128];
    const char *server; /* NULL: SQLite */
    char name[40]; /* PostgreSQL schema, and application_name of all connections of the daemons */
    int connections_ended; /* by pg_terminate_backend */
    struct rng rng;
    bool over; /* protected by the mutex */
    pthread_mutex_t mutex;
    struct acked_list acked; /* protected by the mutex */
    int count[HOW_MAX], changes;
    long long ends[TIMES_MAX]; /* wall-clock ms: when the active daemon ended */
    long long took[TIMES_MAX]; /* failover times in ms, in the order of the events */
    int found;
};

struct submitter {
    struct test *test;
    pthread_t thread;
    struct rng rng;
    unsigned number;
};

static long long wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- clients ------------------------------------------------------------------------------------ */

static void find_peers(void *ctx, struct client_peers *ret) {
    const struct test *t = ctx;
    ret->addresses = t->addresses;
    ret->count = 2;
}

static struct client *open_client(struct test *t, unsigned first) {
    struct client_options options = { .peers = find_peers, .ctx = t };
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    struct client *client = NULL;
    struct error err = { 0 };
    while (client_open(t->rigs[first % 2].socket, &options, &client, &err) < 0)
        if (rig_now_us() > deadline) {
            rig_expect(false, "no daemon answers: %s", err.text);
            return NULL;
        }
    return client;
}

/* Repeats the request with the same key until it is answered. */
static bool submit(struct submitter *s, struct client *client, int milliseconds, int code) {
    struct test *t = s->test;
    char key[40], id[40] = "";
    struct error err = { 0 };
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    int status;
    snprintf(key, sizeof(key), "failover-%016llx", (unsigned long long)rng_next(&s->rng));
    do {
        client_set_key(client, key);
        status = rig_submit(client, rig_task(&t->rigs[0], milliseconds, code), id, &err);
    } while ((status < 0 || status >= 500) && rig_now_us() < deadline);
    rig_expect(status == 200, "a submit was refused: %d %s", status, err.text);
    pthread_mutex_lock(&t->mutex);
    if (status == 200)
        (void)acked_add(&t->acked, id, code);
    bool more = status == 200 && !t->over;
    pthread_mutex_unlock(&t->mutex);
    return more;
}

static void *submit_all(void *ctx) {
    static const int codes[] = { 0, 0, 0, 0, 0, 1, 7, 42 };
    struct submitter *s = ctx;
    struct client *client = open_client(s->test, s->number);
    while (client && submit(s, client, (int)rng_below(&s->rng, 300), codes[rng_below(&s->rng, 8)]))
        rig_pause((int)rng_below(&s->rng, 60));
    client_close(client);
    return NULL;
}

/* --- daemons ------------------------------------------------------------------------------------ */

static bool is_active(const struct rig *rig) {
    struct client *client = NULL;
    struct error err = { 0 };
    json_t *answer = NULL;
    bool active = client_open(rig->socket, NULL, &client, &err) == 0
                  && client_get(client, &answer, &err, "/healthz") == 200
                  && strcmp(json_string_value(json_object_get(answer, "role")), "active") == 0;
    json_decref(answer);
    client_close(client);
    return active;
}

/* Index of the active daemon; -1: neither became active before the deadline. */
static int find_active(const struct test *t) {
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    do {
        for (int i = 0; i < 2; i++)
            if (t->rigs[i].daemon > 0 && is_active(&t->rigs[i]))
                return i;
        rig_pause(5);
    } while (rig_now_us() < deadline);
    rig_expect(false, "neither daemon became active within %d s; see %s and %s", patience_s(),
               t->rigs[0].log, t->rigs[1].log);
    return -1;
}

/* Terminates the connections of both daemons. Other tests use the same server at the same time. */
static void disconnect(struct test *t) {
    char command[1024];
    snprintf(command, sizeof(command),
             "psql -XAtq -d '%s' -c \"SELECT count(pg_terminate_backend(pid)) FROM "
             "pg_stat_activity WHERE application_name = '%s'\"",
             t->server, t->name);
    FILE *psql = popen(command, "re");
    char line[32] = "";
    bool answered = psql && fgets(line, sizeof(line), psql);
    rig_expect(psql && pclose(psql) == 0 && answered, "it failed: %s", command);
    t->connections_ended += atoi(line);
}

static bool one_change(struct test *t) {
    int active = find_active(t);
    if (active < 0)
        return false;
    rig_pause((int)rng_below(&t->rng, 300));
    enum how how = (enum how)rng_below(&t->rng, 10);
    how = how == 0 ? STOP : how <= 2 && t->server ? DISCONNECT : KILL;
    t->count[how]++;
    t->ends[t->changes++] = wall_ms();
    struct rig *rig = &t->rigs[active];
    if (how == DISCONNECT) {
        disconnect(t);
        return true;
    }
    if (how == KILL)
        rig_kill(rig);
    else
        rig_expect(rig_stop(rig) == 0, "the active daemon did not stop cleanly");
    if (find_active(t) < 0)
        return false;
    return rig_start(rig); /* it becomes the standby */
}

static void make_homes(struct test *t) {
    char config[1400], store[400], folder[100];
    const char *server = getenv("SLUICE_TEST_STORE");
    t->server = server && *server ? server : NULL;
    for (int i = 0; i < 2; i++) {
        rig_make_home(&t->rigs[i]);
        snprintf(t->text[i], sizeof(t->text[i]), "unix:%s", t->rigs[i].socket);
        t->addresses[i] = t->text[i];
    }
    snprintf(folder, sizeof(folder), "%s/shared", t->rigs[0].home);
    snprintf(t->name, sizeof(t->name), "failover_%llx", rig_now_us());
    if (t->server)
        snprintf(store, sizeof(store), "%s?schema=%s&application_name=%s", t->server, t->name,
                 t->name);
    else
        snprintf(store, sizeof(store), "%s/shared.db", t->rigs[0].home);
    snprintf(config, sizeof(config),
             "limits: {runs: %d}\nretry: {failed: {max: 1, delay_s: 0}, lost: {max: 1000}}\nhost: "
             "{disk_free_gb: 0}\n"
             "store: {url: \"%s\", min_free_mb: 1}\ndata: {folder: \"%s\"}\n"
             "daemon: {standby: true, host: one, addresses: [\"%s\", \"%s\"]}\n",
             RUNS_MAX, store, folder, t->text[0], t->text[1]);
    for (int i = 0; i < 2; i++)
        rig_write_config(&t->rigs[i], config);
    memcpy(t->rigs[1].diary, t->rigs[0].diary, sizeof(t->rigs[1].diary));
}

/* --- checks ------------------------------------------------------------------------------------- */

/* Measures failover times: from the end of a daemon to the first start that its successor ordered, according to the
 * events. */
struct reading {
    struct test *test;
    long long seq;     /* of the last event */
    long long started; /* when the daemon started; 0: it has ordered a start since then */
    int next;          /* the first end that has no start yet */
};

static void read_event(struct reading *r, const json_t *event) {
    struct test *t = r->test;
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const char *to = json_string_value(json_object_get(json_object_get(event, "data"), "to"));
    long long seq = json_integer_value(json_object_get(event, "seq"));
    long long at = json_integer_value(json_object_get(event, "at"));
    rig_expect(seq == r->seq + 1, "event %lld comes behind event %lld", seq, r->seq);
    r->seq = seq;
    if (strcmp(kind, "daemon.started") == 0)
        r->started = at;
    if (!r->started || !to || strcmp(to, "starting") != 0)
        return;
    /* Of several ends before this start (a connection that was cut twice) the first one counts. */
    if (r->next < t->changes && t->ends[r->next] <= at)
        t->took[t->found++] = at - t->ends[r->next];
    while (r->next < t->changes && t->ends[r->next] <= at)
        r->next++;
    r->started = 0;
}

static void read_events(struct test *t, struct client *client) {
    struct reading r = { .test = t };
    for (bool more = true; more;) {
        json_t *answer = NULL, *event;
        struct error err = { 0 };
        size_t i;
        int status = client_get(client, &answer, &err, "/v1/events?after=%lld&limit=1000", r.seq);
        rig_expect(status == 200, "no events: %d %s", status, err.text);
        const json_t *items = json_object_get(answer, "items");
        json_array_foreach(items, i, event) {
            read_event(&r, event);
        }
        more = json_array_size(items) > 0;
        json_decref(answer);
    }
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void report_times(struct test *t) {
    rig_expect(t->found > t->changes / 2, "only %d of %d changes are seen in the events", t->found,
               t->changes);
    if (t->found == 0)
        return;
    qsort(t->took, (size_t)t->found, sizeof(*t->took), compare);
    long long most = t->took[t->found - 1];
    printf(
        "  %d changes (%d kills, %d stops, %d disconnected): the first start after %lld ms in the "
        "middle, %lld ms at the most\n",
        t->changes, t->count[KILL], t->count[STOP], t->count[DISCONNECT], t->took[t->found / 2],
        most);
    rig_expect(t->took[t->found / 2] <= GOAL_MS, "a change took %lld ms, %d were promised",
               t->took[t->found / 2], GOAL_MS);
}

static bool is_drained(struct test *t, struct client *client) {
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    (void)t;
    while (rig_open_tasks(client) != 0) {
        if (rig_now_us() > deadline)
            return false;
        rig_pause(50);
    }
    return true;
}

static void check_all(struct test *t) {
    struct client *client = open_client(t, 0);
    if (!client)
        return;
    rig_expect(is_drained(t, client), "not everything ended");
    rig_expect(t->count[DISCONNECT] == 0 || t->connections_ended > 0,
               "no connection was ended in %d tries", t->count[DISCONNECT]);
    read_events(t, client);
    report_times(t);
    client_close(client);
    int active = find_active(t);
    if (active < 0)
        return;
    rig_expect(rig_stop(&t->rigs[1 - active]) == 0, "the standby did not stop cleanly");
    acked_check(&t->acked, &t->rigs[active], RUNS_MAX);
    rig_expect(rig_stop(&t->rigs[active]) == 0, "the daemon did not stop cleanly");
}

int main(int argc, char **argv) {
    struct test t = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct submitter submitters[CLIENTS];
    make_homes(&t);
    int times = argc > 1 ? atoi(argv[1]) : t.server ? 50 : 10;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    t.rng.state = seed;
    signal(SIGPIPE, SIG_IGN);
    printf("  %d changes, seed %llu\n", times, (unsigned long long)seed);
    if (times > TIMES_MAX || !rig_start(&t.rigs[0]) || !rig_start(&t.rigs[1]))
        return 1;
    for (unsigned i = 0; i < CLIENTS; i++) {
        submitters[i] = (struct submitter){ .test = &t, .number = i };
        submitters[i].rng.state = rng_next(&t.rng);
        if (pthread_create(&submitters[i].thread, NULL, submit_all, &submitters[i]) != 0)
            return 1;
    }
    for (int i = 0; i < times && rig_failures() < 20 && one_change(&t); i++)
        continue;
    pthread_mutex_lock(&t.mutex);
    t.over = true;
    pthread_mutex_unlock(&t.mutex);
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(submitters[i].thread, NULL);
    check_all(&t);
    for (int i = 0; i < 2; i++)
        rig_close(&t.rigs[i]);
    acked_finish(&t.acked);
    if (rig_failures() > 0)
        printf("  repeat with: test_failover %d %llu\n", times, (unsigned long long)seed);
    return rig_failures() > 0;
}
