/* test_many_clients.c: 64 clients submit, cancel and read concurrently; then their histories are checked against the
 * daemon and
 * against the diary of the runs.
 *
 *   no acknowledged task is lost, and no task exists that was not submitted
 *   a canceled task does not start after the answer
 *   reads are monotonic: a client that has seen a final state or attempt n never sees an earlier one
 *   a client reads its own writes */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "diary.h"
#include "rig.h"

#define CLIENTS  64
#define STEPS    24
#define OWN_MAX  STEPS
#define RUNS_MAX 8

static const char config[] = "limits: {runs: 8}\nretry:\n  failed: {max: 0}\n"
                             "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n";

enum what { DID_SUBMIT, DID_CANCEL, DID_LOOK, DID_LIST };

/* One answered request of one client. */
struct step {
    enum what what;
    int status;
    char id[40];
    char state[16];
    int attempt;
    long long asked_us, answered_us;
};

struct own {
    char id[40];
    bool canceled, seen_final;
    int attempt;
};

struct one {
    struct rig *rig;
    struct client *client;
    struct rng rng;
    struct own own[OWN_MAX];
    size_t count;
    int log;
};

static void write_step(struct one *c, const struct step *step) {
    if (write(c->log, step, sizeof(*step)) != (ssize_t)sizeof(*step))
        _exit(3);
}

static void do_submit(struct one *c) {
    struct step step = { .what = DID_SUBMIT, .asked_us = rig_now_us() };
    struct error err = { 0 };
    json_t *task = rig_task(c->rig, (int)rng_below(&c->rng, 15), 0);
    json_object_set_new(task, "priority", json_integer((json_int_t)rng_below(&c->rng, 200)));
    step.status = rig_submit(c->client, task, step.id, &err);
    step.answered_us = rig_now_us();
    if (step.status == 200)
        snprintf(c->own[c->count++].id, 40, "%s", step.id);
    else
        fprintf(stderr, "  submit: %d %s\n", step.status, err.text);
    write_step(c, &step);
}

static void do_cancel(struct one *c, struct own *own) {
    struct step step = { .what = DID_CANCEL, .asked_us = rig_now_us() };
    struct error err = { 0 };
    json_t *answer = NULL;
    snprintf(step.id, sizeof(step.id), "%s", own->id);
    step.status = client_call(c->client, "POST", "/v1/tasks/cancel",
                              json_pack("{s:[s]}", "tasks", own->id), &answer, &err);
    step.answered_us = rig_now_us();
    const char *state = json_string_value(
        json_object_get(json_array_get(json_object_get(answer, "tasks"), 0), "state"));
    snprintf(step.state, sizeof(step.state), "%s", state ? state : "");
    own->canceled = own->canceled || step.status == 200;
    json_decref(answer);
    write_step(c, &step);
}

static bool is_final(const char *state) {
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0
           || strcmp(state, "canceled") == 0;
}

static void do_look(struct one *c, struct own *own) {
    struct step step = { .what = DID_LOOK, .asked_us = rig_now_us() };
    struct error err = { 0 };
    json_t *answer = NULL;
    snprintf(step.id, sizeof(step.id), "%s", own->id);
    step.status = client_get(c->client, &answer, &err, "/v1/tasks/%s", own->id);
    step.answered_us = rig_now_us();
    const char *state = json_string_value(json_object_get(answer, "state"));
    snprintf(step.state, sizeof(step.state), "%s", state ? state : "");
    step.attempt = (int)json_integer_value(json_object_get(answer, "attempt"));
    json_decref(answer);
    write_step(c, &step);
}

static void do_list(struct one *c) {
    struct step step = { .what = DID_LIST, .asked_us = rig_now_us() };
    struct error err = { 0 };
    step.status = client_get(c->client, NULL, &err, "/v1/tasks?state=all&limit=50");
    step.answered_us = rig_now_us();
    write_step(c, &step);
}

static void live(struct rig *rig, unsigned number, uint64_t seed, int log) {
    struct one c = { .rig = rig, .rng = { .state = seed + number }, .log = log };
    c.client = rig_client(rig);
    for (unsigned i = 0; i < STEPS; i++) {
        struct own *own = c.count ? &c.own[rng_below(&c.rng, c.count)] : NULL;
        switch (own ? rng_below(&c.rng, 4) : 0) {
        case 0:
            do_submit(&c);
            break;
        case 1:
            do_cancel(&c, own);
            break;
        case 2:
            do_look(&c, own);
            break;
        default:
            do_list(&c);
            break;
        }
    }
    client_close(c.client);
    _exit(0);
}

/* --- checks ---------------------------------------------------------------------------------- */

struct judge {
    struct rig *rig;
    struct client *client;
    struct diary diary;
    size_t submitted, canceled, looks;
};

static void judge_final(struct judge *j, const struct own *own) {
    json_t *task = NULL;
    struct error err = { 0 };
    int status = client_get(j->client, &task, &err, "/v1/tasks/%s", own->id);
    const char *state = json_string_value(json_object_get(task, "state"));
    rig_expect(status == 200, "%s was acknowledged and is missing: %s", own->id, err.text);
    rig_expect(state && is_final(state), "%s never ended: %s", own->id, state ? state : "?");
    if (state && !own->canceled)
        rig_expect(strcmp(state, "done") == 0, "%s was not canceled and is %s", own->id, state);
    json_decref(task);
}

static struct own *find_own(struct own *own, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(own[i].id, id) == 0)
            return &own[i];
    return NULL;
}

static void judge_step(struct judge *j, const struct step *step, struct own *own) {
    rig_expect(step->status == 200, "an answer was %d (%s)", step->status, step->id);
    if (!own || step->status != 200)
        return;
    if (step->what == DID_CANCEL) {
        own->canceled = true;
        j->canceled++;
        const struct diary_run *run = diary_find(&j->diary, own->id, 1);
        rig_expect(!run || run->born_us <= step->answered_us,
                   "%s started %lld us after its cancel was answered", own->id,
                   run ? run->born_us - step->answered_us : 0);
    }
    if (step->what == DID_LOOK) {
        j->looks++;
        rig_expect(!own->seen_final || is_final(step->state), "%s was final and is %s", own->id,
                   step->state);
        rig_expect(step->attempt >= own->attempt, "%s went back from attempt %d to %d", own->id,
                   own->attempt, step->attempt);
        own->seen_final = is_final(step->state);
        own->attempt = step->attempt;
    }
}

static void judge_client(struct judge *j, const char *path) {
    struct own own[OWN_MAX] = { 0 };
    size_t count = 0;
    struct step step;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, &step, sizeof(step)) == (ssize_t)sizeof(step)) {
        if (step.what == DID_SUBMIT && step.status == 200)
            snprintf(own[count++].id, 40, "%s", step.id);
        judge_step(j, &step, find_own(own, count, step.id));
    }
    rig_expect(fd >= 0, "no history at %s", path);
    close(fd);
    for (size_t i = 0; i < count; i++)
        judge_final(j, &own[i]);
    j->submitted += count;
}

static void judge_counts(struct judge *j) {
    json_t *status = NULL;
    const char *state;
    json_t *count;
    long long all = 0;
    struct error err = { 0 };
    rig_expect(client_get(j->client, &status, &err, "/v1/status") == 200, "status: %s", err.text);
    json_object_foreach(json_object_get(status, "counts"), state, count) all +=
        json_integer_value(count);
    rig_expect(all == (long long)j->submitted, "%zu tasks were acknowledged, %lld are there",
               j->submitted, all);
    rig_expect(diary_peak(&j->diary) <= RUNS_MAX, "%zu runs at one instant, the cap is %d",
               diary_peak(&j->diary), RUNS_MAX);
    rig_expect(j->diary.twice == 0, "%zu attempts started twice", j->diary.twice);
    json_decref(status);
}

static void path_of(const struct rig *rig, unsigned number, char ret[128]) {
    snprintf(ret, 128, "%s/client-%u", rig->home, number);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)rig_now_us();
    struct rig rig;
    char path[128];
    signal(SIGPIPE, SIG_IGN);
    printf("  %d clients, seed %llu\n", CLIENTS, (unsigned long long)seed);
    (void)fflush(stdout);
    rig_open(&rig, config);
    if (!rig_start(&rig))
        return 1;
    for (unsigned i = 0; i < CLIENTS; i++) {
        path_of(&rig, i, path);
        int log = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fork() == 0)
            live(&rig, i, seed, log);
        close(log);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        int status = 0;
        pid_t pid = wait(&status);
        rig_expect(pid != rig.daemon, "the daemon died");
        rig_expect(status == 0, "a client ended with %d", status);
    }
    rig_expect(rig_wait_drained(&rig), "not everything ended");
    struct judge judge = { .rig = &rig, .client = rig_client(&rig) };
    rig_expect(diary_read(&judge.diary, rig.diary), "no diary");
    for (unsigned i = 0; i < CLIENTS; i++) {
        path_of(&rig, i, path);
        judge_client(&judge, path);
    }
    judge_counts(&judge);
    printf("  %zu tasks, %zu cancels, %zu looks, %zu runs\n", judge.submitted, judge.canceled,
           judge.looks, judge.diary.count);
    rig_expect(judge.submitted > 0 && judge.canceled > 0 && judge.looks > 0, "nothing was tried");
    client_close(judge.client);
    diary_free(&judge.diary);
    rig_close(&rig);
    return rig_failures() > 0;
}
