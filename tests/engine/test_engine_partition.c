/* With slurm.follow, the slots of a partition follow the free resources that sinfo reports. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "engine/executors.h"
#include "engine_kit.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"

static struct kit kit;
static char folder[SCRATCH_PATH];
static char config[1024];

static void write_in(const char *name, const char *text) {
    char path[96];
    struct error err = { 0 };
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (file_write(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

/* What sinfo says from now on. */
static void partitions_are(const char *lines) {
    write_in("answer", lines);
}

static void open_with(const char *lines, const char *more) {
    char path[96], script[256];
    scratch_make(folder, "part");
    snprintf(script, sizeof(script), "#!/bin/sh\ncat %s/answer\nr=$?\n: >%s/asked\nexit $r\n",
             folder, folder);
    write_in("sinfo", script);
    snprintf(path, sizeof(path), "%s/sinfo", folder);
    assert_int_equal(chmod(path, 0700), 0);
    if (lines)
        partitions_are(lines);
    snprintf(config, sizeof(config), KIT_CALM "slurm: {programs: %s, follow_s: 1, %s}\n", folder,
             more);
    kit_open(&kit, config);
}

static int close_it(void **state) {
    (void)state;
    kit_close(&kit);
    scratch_remove(folder);
    return 0;
}

/* The text about the slots of this key; "": nothing. */
static void size_of(const char *key, char ret[256]) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    (void)engine_partition_size(kit.engine, key, &text);
    snprintf(ret, 256, "%s", strbuf_text(&text));
}

static bool has_room(struct kit *k, void *ctx) {
    char text[256], *comma;
    (void)k;
    size_of("slurm:gpu", text);
    comma = strstr(text, ", as sinfo said");
    if (comma)
        *comma = '\0';
    return strcmp(text, ctx) == 0;
}

static void wait_room(const char *expected) {
    char text[256];
    snprintf(text, sizeof(text), "%s", expected);
    kit_wait(&kit, has_room, text, expected);
}

static bool was_asked(struct kit *k, void *ctx) {
    char path[96];
    (void)k;
    (void)ctx;
    snprintf(path, sizeof(path), "%s/asked", folder);
    return access(path, F_OK) == 0;
}

static task_id add(const char *key) {
    const char *keys[] = { key };
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    ask.draft.resource_names = (struct submission_names){ keys, 1 };
    assert_int_equal(kit_do(&kit, &ask), 0);
    return ask.first;
}

static void end(task_id task) {
    struct run_end end = fake_exit(0);
    fake_report_ended((struct run_key){ .task = task, .attempt = 1 }, &end);
    kit_wait_state(&kit, task, TASK_DONE);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, NULL, close_it)

FIXTURE_TEST(as_many_start_as_there_is_room_for) {
    open_with("gpu|up|3/2/7/12|1/1/1/3\nall*|up|0/1/0/1|0/1/0/1\n",
              "follow: cpus}\ntasks: {slurm: [cpus=2]");
    wait_room("the partition 'gpu' has 5 CPUs that can be used, 2 for each run");
    task_id tasks[3];
    for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
        tasks[i] = add("slurm:gpu");
    kit_wait_starts(&kit, 2);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 2);
    assert_int_equal(kit_state(&kit, tasks[2]), TASK_READY);
    end(tasks[0]);
    kit_wait_starts(&kit, 3);
    /* One is let in where less than one run fits: Slurm knows better. */
    (void)add("slurm:*");
    kit_wait_starts(&kit, 4);
    (void)add("slurm:*");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 4);
}

FIXTURE_TEST(nodes_can_be_counted_instead) {
    open_with("gpu|up|3/2/7/12|1/1/1/3\n", "follow: nodes");
    wait_room("the partition 'gpu' has 2 nodes that can be used");
}

FIXTURE_TEST(a_smaller_partition_stops_no_run_and_starts_none) {
    open_with("gpu|up|0/2/0/2|0/2/0/2\n", "follow: cpus");
    wait_room("the partition 'gpu' has 2 CPUs that can be used, 1 for each run");
    task_id first = add("slurm:gpu"), second = add("slurm:gpu"), third = add("slurm:gpu");
    kit_wait_starts(&kit, 2);
    partitions_are("gpu|up|1/0/1/2|1/0/1/2\n");
    wait_room("the partition 'gpu' has 1 CPUs that can be used, 1 for each run");
    assert_int_equal(fake_stop_count(), 0);
    end(first);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 2);
    end(second);
    kit_wait_starts(&kit, 3);
    end(third);
}

FIXTURE_TEST(a_partition_that_comes_back_is_noticed) {
    open_with("gpu|down|0/2/0/2|0/2/0/2\n", "follow: cpus");
    wait_room("the partition 'gpu' has 0 CPUs that can be used, 1 for each run");
    task_id task = add("slurm:gpu");
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, task), TASK_READY);
    partitions_are("gpu|up|0/2/0/2|0/2/0/2\n");
    kit_wait_starts(&kit, 1);
}

FIXTURE_TEST(a_configured_limit_counts_when_it_is_less) {
    open_with("gpu|up|0/8/0/8|0/2/0/2\nall*|up|0/9/0/9|0/1/0/1\n",
              "follow: cpus}\nlimits: {resource: {'slurm:gpu': 1}");
    char text[256] = "";
    while (!engine_partition_at(kit.engine, 0))
        kit_settle(&kit);
    size_of("slurm:gpu", text);
    assert_string_equal(text, ""); /* nor does the text name the partition as the reason */
    (void)add("slurm:gpu");
    (void)add("slurm:gpu");
    kit_wait_starts(&kit, 1);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1);
}

FIXTURE_TEST(without_an_answer_there_is_no_limit) {
    open_with(NULL, "follow: cpus"); /* its script fails */
    kit_wait(&kit, was_asked, NULL, "sinfo is asked");
    for (int i = 0; i < 4; i++)
        (void)add("slurm:gpu");
    kit_wait_starts(&kit, 4);
    assert_null(engine_partition_at(kit.engine, 0));
}

FIXTURE_TEST(what_is_no_partition_is_not_believed) {
    open_with("no\nsense|here\n|up|1/1/1/1|1/1/1/1\nx|up|a/b|1/1\ny|up|-1/0/0/1|1/1/1/1\n",
              "follow: cpus");
    kit_wait(&kit, was_asked, NULL, "sinfo is asked");
    (void)add("slurm:x");
    (void)add("slurm:y");
    kit_wait_starts(&kit, 2);
    assert_null(engine_partition_at(kit.engine, 0));
}

FIXTURE_TEST(without_slurm_follow_sinfo_is_not_called) {
    open_with("gpu|up|0/1/0/1|0/1/0/1\n", "follow: off");
    (void)add("slurm:gpu");
    (void)add("slurm:gpu");
    kit_wait_starts(&kit, 2);
    assert_null(engine_partition_at(kit.engine, 0));
    assert_false(was_asked(&kit, NULL));
}
