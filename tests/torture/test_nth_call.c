/* test_nth_call.c: one system call or allocation of the daemon fails, each time another one; or one and all that follow.
 *
 * A short history is played once to count the calls (harness/nth_call.c), then once for each chosen call: tasks are added, run and
 * canceled. With the fault a request is answered or refused, and the daemon continues, or ends with a message. It does not crash or hang. After
 * EIO for the database or its log nothing is acknowledged any more, not the request of that moment either. The
 * next daemon, without a fault, starts; every acknowledged task exists and ends as it should, and no attempt ran twice.
 *
 * test_nth_call [POINTS [SEED [GROUP]]]: POINTS random calls of each group, default 1; 0 is every call. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acked.h"
#include "base/hash.h"
#include "harness/nth_call.h"
#include "harness/patience.h"
#include "harness/scratch.h"

#define TASKS    4
#define RUNS_MAX 3

#define ALL_ADDED    ((1u << TASKS) - 1)
#define STORE_BROKEN 75 /* exit status of a daemon whose store does not answer any more */

static const char config[] = "limits:\n  runs: 3\n"
                             "retry:\n  failed: {max: 0}\n  lost: {max: 1000, delay_s: 0}\n"
                             "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

static const struct {
    const char *name;
    int error;
    bool always;
} groups[] = {
    { "write", ENOSPC, false },  { "write", ENOSPC, true },   { "write", EIO, false },
    { "write", EIO, true },      { "fsync", EIO, false },     { "fsync", EIO, true },
    { "open", EMFILE, false },   { "open", EIO, false },      { "spawn", EAGAIN, false },
    { "pipe", EMFILE, false },   { "rename", EIO, false },    { "mkdir", ENOSPC, false },
    { "thread", EAGAIN, false }, { "malloc", ENOMEM, false },
};

struct test {
    struct rig rig;
    struct acked_list acked;
    struct rng rng;
    const char *library;
    uint64_t store_faults; /* played with EIO for the database or its log */
};

static void set_fault(const struct test *t, size_t group, uint64_t number) {
    char text[64], path[128];
    snprintf(text, sizeof(text), "%s %llu %d%s", groups[group].name, (unsigned long long)number,
             groups[group].error, groups[group].always ? " always" : "");
    snprintf(path, sizeof(path), "%s/../calls", t->rig.home);
    setenv("SLUICE_TEST_CALL", text, 1);
    setenv("SLUICE_TEST_CALLS", path, 1);
    setenv("LD_PRELOAD", t->library, 1);
}

static void clear_fault(void) {
    unsetenv("LD_PRELOAD");
    unsetenv("SLUICE_TEST_CALL");
    unsetenv("SLUICE_TEST_CALLS");
}

static void read_calls(const struct test *t, struct nth_calls *ret) {
    char path[128];
    *ret = (struct nth_calls){ 0 };
    snprintf(path, sizeof(path), "%s/../calls", t->rig.home);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, ret, sizeof(*ret)) != (ssize_t)sizeof(*ret))
        rig_expect(false, "the calls were not counted");
    if (fd >= 0)
        close(fd);
    (void)unlink(path);
}

/* True: it was answered with the id of the task. */
static bool submit(struct test *t, struct client *client, unsigned number) {
    static const int codes[TASKS] = { 0, 7, 0, 0 };
    struct error err = { 0 };
    char id[40], key[40];
    bool stays = number == TASKS - 1; /* it is canceled */
    snprintf(key, sizeof(key), "nth-call-%u", number);
    client_set_key(client, key);
    int status = rig_submit(client, rig_task(&t->rig, stays ? 2 * patience_ms() : 5, codes[number]),
                            id, &err);
    if (status != 200)
        return false;
    struct acked *acked = acked_add(&t->acked, id, codes[number]);
    snprintf(acked->key, sizeof(acked->key), "%s", key);
    acked->canceled = stays;
    return true;
}

static bool cancel(struct client *client, const char *id) {
    json_t *answer = NULL;
    struct error err = { 0 };
    int status = client_call(client, "POST", "/v1/tasks/cancel", json_pack("{s:[s]}", "tasks", id),
                             &answer, &err);
    json_decref(answer);
    return status == 200;
}

/* Each request may fail. Returns which tasks were acknowledged, as bits. */
static unsigned play_with_fault(struct test *t) {
    struct client_options options = { .timeout = patience_ms() / 2 };
    struct client *client = NULL;
    struct error err = { 0 };
    unsigned added = 0;
    if (client_open(t->rig.socket, &options, &client, &err) < 0)
        return 0;
    for (unsigned i = 0; i < TASKS; i++)
        added |= (unsigned)submit(t, client, i) << i;
    if (added >> (TASKS - 1))
        (void)cancel(client, t->acked.items[t->acked.count - 1].id);
    for (unsigned i = 0; i < 20; i++) /* lets runs end with the fault, too */
        (void)rig_open_tasks(client);
    client_close(client);
    return added;
}

/* A daemon that cannot go on says why; only an allocation may abort it (base/alloc.c). */
static void check_end(const struct test *t, const char *name, int code) {
    bool crashed = code == 128 + SIGSEGV || code == 128 + SIGBUS || code == 128 + SIGFPE
                   || code == 128 + SIGILL || code == 128 + SIGKILL
                   || (code == 128 + SIGABRT && strcmp(name, "malloc") != 0);
    rig_expect(!crashed, "the daemon ended with %d, see %s", code, t->rig.log);
}

/* After an error the state on disk is unknown. On a full disk SQLite rolls back, and the daemon may continue. */
static void check_answers(struct test *t, size_t group, const struct nth_calls *calls,
                          unsigned added, int code) {
    if (groups[group].error != EIO || !calls->store_failed)
        return;
    t->store_faults++;
    for (size_t i = 0; i < t->acked.count; i++)
        rig_expect(!memmem(calls->answers, calls->answers_size, t->acked.items[i].id,
                           strlen(t->acked.items[i].id)),
                   "%s was acknowledged after an error of the store", t->acked.items[i].id);
    rig_expect(added == ALL_ADDED || code == STORE_BROKEN,
               "the store failed, and the daemon ended with %d", code);
}

static void play_point(struct test *t, size_t group, uint64_t number, uint64_t *ret_calls) {
    const char *name = groups[group].name;
    int failures = rig_failures();
    struct nth_calls calls;
    rig_open(&t->rig, config);
    set_fault(t, group, number);
    bool started = rig_try_start(&t->rig);
    clear_fault();
    if (started) {
        unsigned added = play_with_fault(t);
        int code = rig_stop(&t->rig);
        check_end(t, name, code);
        rig_expect(number != 0 || added == ALL_ADDED, "without a fault a request failed");
        read_calls(t, &calls);
        check_answers(t, group, &calls, added, code);
        struct client *client = rig_client(&t->rig); /* starts the next daemon */
        for (unsigned i = 0; i < TASKS; i++)
            rig_expect((added >> i & 1) || submit(t, client, i),
                       "task %u is refused after the fault", i);
        for (size_t i = 0; i < t->acked.count; i++)
            rig_expect(!t->acked.items[i].canceled || cancel(client, t->acked.items[i].id),
                       "the cancel is refused after the fault");
        client_close(client);
        rig_expect(rig_wait_drained(&t->rig), "not everything ended");
        acked_check(&t->acked, &t->rig, RUNS_MAX);
    } else {
        check_end(t, name, t->rig.code);
        rig_expect(*t->rig.ready_text || strcmp(name, "malloc") == 0,
                   "the daemon did not start and said nothing");
        read_calls(t, &calls);
        rig_expect(rig_start(&t->rig), "the daemon does not start after the fault");
    }
    *ret_calls = calls.count;
    if (t->rig.daemon > 0)
        rig_expect(rig_stop(&t->rig) == 0, "the daemon did not stop cleanly");
    acked_finish(&t->acked);
    if (rig_failures() > failures)
        fprintf(stderr, "  that was call %llu of '%s' with errno %d%s\n",
                (unsigned long long)number, name, groups[group].error,
                groups[group].always ? ", and all that follow" : "");
    else
        scratch_remove(t->rig.home);
}

int main(int argc, char **argv) {
#ifdef __SANITIZE_ADDRESS__
    (void)argc, (void)argv, (void)play_point;
    printf("the address sanitizer does not start behind another malloc\n");
    return 77;
#else
    unsigned points = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us(), played = 0;
    struct test t = { .rng = { .state = seed }, .library = getenv("NTH_CALL") };
    (void)signal(SIGPIPE, SIG_IGN);
    (void)unsetenv(
        "SLUICE_TEST_ANSWERS"); /* the daemon's comparison of answers needs memory itself */
    if (!t.library || access(t.library, R_OK) < 0) {
        fprintf(stderr, "NTH_CALL must name the library (run it by `make test`)\n");
        return 1;
    }
    printf("  seed %llu\n", (unsigned long long)seed);
    for (size_t group = 0; group < sizeof(groups) / sizeof(*groups); group++) {
        uint64_t calls = 0, ignored;
        if (argc > 3 && strcmp(argv[3], groups[group].name) != 0)
            continue;
        play_point(&t, group, 0, &calls);
        rig_expect(calls > 0, "no call of '%s'", groups[group].name);
        uint64_t count = points && points < calls ? points : calls;
        for (uint64_t i = 1; i <= count && calls && rig_failures() < 20; i++, played++)
            play_point(&t, group, count == calls ? i : 1 + rng_below(&t.rng, calls), &ignored);
        printf("  %s with errno %d%s: %llu of %llu calls failed\n", groups[group].name,
               groups[group].error, groups[group].always ? " from one on" : "",
               (unsigned long long)count, (unsigned long long)calls);
        (void)fflush(stdout);
    }
    printf("  %llu faults\n", (unsigned long long)played);
    printf("  %llu of them made the state unknown\n", (unsigned long long)t.store_faults);
    return rig_failures() > 0;
#endif
}
