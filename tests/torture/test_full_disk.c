/* test_full_disk.c: the disk of a home is full while tasks run and wait.
 *
 * Checked: new tasks are refused with an error message; runs continue, end and are recorded as long as the
 * reserve lasts; records that do not fit even then are kept and stored when there is space; nothing is
 * started meanwhile; no acknowledged task is lost; the daemon recovers without intervention. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/small_disk.h"
#include "rig.h"

#define DISK_MB   260 /* the reserve is created if the free space is twice its size */
#define RESERVE   (64LL << 20)
#define LIVE      5
#define WAITING   3
#define SKIPPED   77
#define EXIT_CODE 7

#define COMMAND_FAILED 1 /* exit code of sluice */

static const char config[] = "limits: {runs: 5}\nretry:\n  failed: {max: 0}\n"
                             "host: {disk_free_gb: 0.1}\nstore: {min_free_mb: 90}\n";

struct test {
    struct rig rig;
    char gate[128]; /* a FIFO on another disk: each line lets one run end */
    int gate_fd;
    char ids[LIVE + WAITING][40];
};

static json_t *held_task(const struct test *t) {
    char command[256];
    snprintf(command, sizeof(command), "read line <%s; exit %d", t->gate, EXIT_CODE);
    return json_pack("{s:[s,s,s], s:s}", "argv", "sh", "-c", command, "cwd", "/");
}

static void let_one_end(const struct test *t) {
    if (write(t->gate_fd, "\n", 1) != 1)
        perror("gate");
}

static int count_of(struct client *client, const char *state) {
    json_t *answer = NULL;
    struct error err = { 0 };
    int count = -1;
    if (client_get(client, &answer, &err, "/v1/status") == 200)
        count = (int)json_integer_value(json_object_get(json_object_get(answer, "counts"), state));
    json_decref(answer);
    return count;
}

struct wish {
    const char *state;
    int count;
};

static bool has_count(struct client *client, void *ctx) {
    const struct wish *wish = ctx;
    return count_of(client, wish->state) == wish->count;
}

static void wait_count(struct test *t, const char *state, int count) {
    struct wish wish = { state, count };
    rig_expect(rig_wait(&t->rig, has_count, &wish), "never %d tasks in state %s", count, state);
}

static void set_up(struct test *t) {
    struct error err = { 0 };
    struct client *client = rig_client(&t->rig);
    for (int i = 0; i < LIVE + WAITING; i++)
        rig_expect(rig_submit(client, held_task(t), t->ids[i], &err) == 200, "submit: %s",
                   err.text);
    client_close(client);
    wait_count(t, "running", LIVE);
}

static void new_work_is_refused(struct test *t) {
    char id[40] = "";
    struct error err = { 0 };
    struct client *client = rig_client(&t->rig);
    int status = rig_submit(client, held_task(t), id, &err);
    rig_expect(status == 507, "a full disk answered %d", status);
    rig_expect(strstr(err.text, "disk") && strstr(err.text, "full"), "the message is: %s",
               err.text);
    client_close(client);
    int ended = system("\"$SLUICE\" add -- true >/dev/null 2>&1");
    rig_expect(WIFEXITED(ended) && WEXITSTATUS(ended) == COMMAND_FAILED,
               "the command ended with %d", ended);
}

/* The reserve is for the ends of runs, and for the commands of an operator who frees space. */
static void the_reserve_serves(struct test *t) {
    struct error err = { 0 };
    json_t *answer = NULL;
    for (int i = 0; i < LIVE - 2; i++)
        let_one_end(t);
    wait_count(t, "failed", LIVE - 2);
    struct client *client = rig_client(&t->rig);
    json_t *body = json_pack("{s:[s],s:i}", "tasks", t->ids[LIVE], "priority", 5);
    int status = client_call(client, "POST", "/v1/tasks/priority", body, &answer, &err);
    rig_expect(status == 200, "priority: %d %s", status, err.text);
    json_decref(answer);
    rig_expect(count_of(client, "ready") == WAITING, "something started on a full disk");
    client_close(client);
}

/* Another program uses the space that the reserve has freed. */
static void what_cannot_be_stored_is_kept(struct test *t) {
    small_disk_fill(t->rig.home, "filler-2");
    let_one_end(t);
    struct client *client = rig_client(&t->rig);
    rig_expect(count_of(client, "failed") >= LIVE - 2, "the daemon does not answer");
    client_close(client);
}

static void remove_fillers(struct test *t) {
    char path[128];
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof(path), "%s/filler-%d", t->rig.home, i);
        rig_expect(unlink(path) == 0, "no %s", path);
    }
}

static void check_record(struct client *client, const char *id) {
    json_t *task = NULL, *run;
    struct error err = { 0 };
    size_t index;
    int status = client_get(client, &task, &err, "/v1/tasks/%s", id);
    rig_expect(status == 200, "%s was acknowledged and is missing: %s", id, err.text);
    const json_t *runs = json_object_get(task, "runs");
    rig_expect(json_array_size(runs) == 1, "%s has %zu runs on record", id, json_array_size(runs));
    json_array_foreach(runs, index, run) {
        int code = (int)json_integer_value(json_object_get(run, "exit_code"));
        rig_expect(code == EXIT_CODE, "%s: exit code %d is on record", id, code);
    }
    rig_expect(json_integer_value(json_object_get(task, "changed_at")) > 0,
               "%s: the time of its change is missing", id);
    json_decref(task);
}

static void everything_goes_on(struct test *t) {
    char id[40] = "";
    struct error err = { 0 };
    for (int i = 0; i < WAITING + 1; i++)
        let_one_end(t);
    rig_expect(rig_wait_drained(&t->rig), "not everything ended");
    struct client *client = rig_client(&t->rig);
    for (int i = 0; i < LIVE + WAITING; i++)
        check_record(client, t->ids[i]);
    rig_expect(rig_submit(client, rig_task(&t->rig, 1, 0), id, &err) == 200, "submit: %s",
               err.text);
    client_close(client);
    rig_expect(rig_wait_drained(&t->rig), "the new one does not end");
    char reserve[128];
    struct stat st = { 0 };
    snprintf(reserve, sizeof(reserve), "%s/sluice.db-reserve", t->rig.home);
    rig_expect(stat(reserve, &st) == 0 && st.st_size >= RESERVE, "there is no reserve again");
}

/* On a completely full disk the daemon refuses to start, with an error message. With space it starts and has all
 * tasks. */
static void a_start_without_room_says_so(struct test *t) {
    rig_kill(&t->rig);
    rig_expect(!rig_try_start(&t->rig), "it started on a disk without room");
    rig_expect(strstr(t->rig.ready_text, "disk is full") != NULL, "it reported: %s",
               t->rig.ready_text);
}

int main(void) {
    struct test t = { 0 };
    char outside[SCRATCH_PATH];
    signal(SIGPIPE, SIG_IGN);
    rig_make_home(&t.rig);
    scratch_make(outside, "gate");
    if (!small_disk_mount(t.rig.home, DISK_MB)) {
        printf("  skipped: the kernel lets us mount nothing\n");
        return SKIPPED;
    }
    rig_write_config(&t.rig, config);
    snprintf(t.gate, sizeof(t.gate), "%s/gate", outside);
    snprintf(t.rig.diary, sizeof(t.rig.diary), "%s/diary", outside);
    if (mkfifo(t.gate, 0600) < 0 || (t.gate_fd = open(t.gate, O_RDWR | O_CLOEXEC)) < 0
        || !rig_start(&t.rig))
        return 1;
    set_up(&t);
    small_disk_fill(t.rig.home, "filler-1");
    new_work_is_refused(&t);
    the_reserve_serves(&t);
    new_work_is_refused(&t);
    what_cannot_be_stored_is_kept(&t);
    a_start_without_room_says_so(&t);
    remove_fillers(&t);
    rig_expect(rig_start(&t.rig), "it does not start with room");
    everything_goes_on(&t);
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop cleanly");
    small_disk_unmount(t.rig.home);
    rig_close(&t.rig);
    close(t.gate_fd);
    return rig_failures() > 0;
}
