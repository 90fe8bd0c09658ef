/* acked.c: see acked.h. */
#include "acked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "diary.h"

struct acked *acked_add(struct acked_list *list, const char *id, int code) {
    struct acked acked = { .code = code };
    (void)snprintf(acked.id, sizeof(acked.id), "%s", id);
    list->items = xgrow(list->items, &list->capacity, list->count + 1, sizeof(acked));
    list->items[list->count] = acked;
    return &list->items[list->count++];
}

void acked_finish(struct acked_list *list) {
    free(list->items);
    *list = (struct acked_list){ 0 };
}

/* Compares the record of each attempt with the diary. */
static void check_runs(const struct diary *diary, const struct acked *acked, const json_t *runs,
                       bool power) {
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
            rig_expect(power || !written || written->end_us == 0,
                       "%s attempt %u is called lost, but it ended with %d", acked->id, attempt,
                       written ? written->code : 0);
            continue;
        }
        if (strcmp(outcome, "launch") == 0 && !written) /* it could not be launched */
            continue;
        rig_expect(written != NULL, "%s attempt %u is on record and never ran", acked->id, attempt);
        if (written)
            rig_expect(written->code == code && written->end_us != 0,
                       "%s attempt %u returned %d, the record says %d (%s)", acked->id, attempt,
                       written->code, code, outcome);
    }
}

static void check_task(struct client *client, const struct diary *diary, const struct acked *acked,
                       bool power) {
    json_t *task = NULL;
    struct error err = { 0 };
    int status = client_get(client, &task, &err, "/v1/tasks/%s", acked->id);
    rig_expect(status == 200, "%s was acknowledged and is missing: %d %s", acked->id, status,
               err.text);
    if (status == 200) {
        const char *state = json_string_value(json_object_get(task, "state"));
        const char *due = acked->canceled ? "canceled" : acked->code == 0 ? "done" : "failed";
        rig_expect(state && strcmp(state, due) == 0, "%s returns %d and is %s", acked->id,
                   acked->code, state ? state : "?");
        check_runs(diary, acked, json_object_get(task, "runs"), power);
    }
    json_decref(task);
}

/* A request that a client sent twice must have created its task once. */
static void check_count(struct client *client, const struct acked_list *list) {
    json_t *answer = NULL, *count;
    struct error err = { 0 };
    const char *state;
    long long tasks = 0;
    int status = client_get(client, &answer, &err, "/v1/status");
    rig_expect(status == 200, "no status: %d %s", status, err.text);
    json_object_foreach(json_object_get(answer, "counts"), state, count) tasks +=
        json_integer_value(count);
    rig_expect(tasks == (long long)list->count, "%lld tasks are there, %zu were acknowledged",
               tasks, list->count);
    json_decref(answer);
}

/* Writes what the clients know, for the checker. */
static void write_list(const struct acked_list *list, const char *path) {
    FILE *file = fopen(path, "we");
    if (!file) {
        rig_expect(false, "cannot write %s", path);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct acked *acked = &list->items[i];
        fprintf(file, "{\"id\":\"%s\",\"key\":\"%s\",\"code\":%d,\"canceled\":%s}\n", acked->id,
                acked->key, acked->code, acked->canceled ? "true" : "false");
    }
    rig_expect(fclose(file) == 0, "cannot write %s", path);
}

static void judge_from_outside(const struct acked_list *list, const struct rig *rig,
                               size_t runs_max) {
    const char *checker = getenv("HISTORY_CHECKER");
    char path[128], command[1024];
    (void)snprintf(path, sizeof(path), "%s/acked.jsonl", rig->home);
    write_list(list, path);
    (void)snprintf(command, sizeof(command),
                   "exec python3 '%s' --socket '%s' --acked '%s' --side '%s' --cap runs=%zu %s %s",
                   checker ? checker : "HISTORY_CHECKER is not set", rig->socket, path, rig->diary,
                   runs_max, list->rules ? list->rules : "", list->power ? "--power" : "");
    (void)fflush(stdout);
    rig_expect(system(command) == 0, "the history is wrong"); // NOLINT(cert-env33-c): no user text
}

void acked_check(const struct acked_list *list, struct rig *rig, size_t runs_max) {
    struct diary diary;
    rig_expect(diary_read(&diary, rig->diary), "no diary at %s", rig->diary);
    struct client *client = rig_client(rig);
    for (size_t i = 0; i < list->count; i++)
        check_task(client, &diary, &list->items[i], list->power);
    check_count(client, list);
    client_close(client);
    rig_expect(diary.twice == 0, "%zu attempts started twice", diary.twice);
    rig_expect(diary.strange == 0, "%zu lines of the diary make no sense", diary.strange);
    rig_expect(diary_peak(&diary) <= runs_max, "%zu runs at one instant, the cap is %zu",
               diary_peak(&diary), runs_max);
    rig_expect(rig->starts < 50 || diary_peak(&diary) > runs_max / 2,
               "at most %zu runs at once: the test did not exercise what it should",
               diary_peak(&diary));
    printf("  %d starts of the daemon, %zu tasks acknowledged, %zu runs, at most %zu at once\n",
           rig->starts, list->count, diary.count, diary_peak(&diary));
    size_t due = 0;
    for (size_t i = 0; i < list->count; i++)
        due += !list->items[i].canceled;
    rig_expect(diary.count >= due, "tasks were done without a run");
    judge_from_outside(list, rig, runs_max);
    diary_free(&diary);
}
