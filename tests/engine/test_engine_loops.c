/* Loops across crashes and failed commits: children are added once, feedback and awaited files are not lost,
 * and a task that is marked done is not launched. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/loops.h"
#include "engine/tasks/tasks_internal.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"
#include "late_store.h"
#include "os/clock.h"

#define CALM                                                                                       \
    KIT_CALM "limits: {runs: 20}\n"                                                                \
             "retry: {unfinished: {delay_s: 0}}\n"
#define SPAWNS "{\"argv\":[\"a\"],\"spawn\":\"next.yaml\"}"

static struct kit kit;
static unsigned spawned; /* how often children were requested */

/* Two children, whatever the file says; none when it is called bad.yaml. */
static int spawn_two(void *ctx, struct engine *engine, const struct engine_spawn *spawn,
                     struct error *err) {
    (void)ctx;
    spawned += !spawn->check_only;
    if (strcmp(spawn->shown, "bad.yaml") == 0)
        return error_set(err, -EINVAL, "bad.yaml:1: it is bad");
    if (spawn->check_only)
        return 0;
    struct submission tasks[2];
    for (size_t i = 0; i < 2; i++) {
        tasks[i] = kit_ask_add(&kit, "web", "{\"argv\":[\"child\"]}").draft;
        tasks[i].spec.parent = spawn->task;
    }
    int r = engine_add_tasks(engine, tasks, 2, err);
    return r < 0 ? r : 2;
}

static int open_calm(void **state) {
    (void)state;
    spawned = 0;
    kit_open(&kit, CALM);
    engine_set_spawner(kit.engine, spawn_two, NULL);
    return 0;
}

static int open_late(void **state) {
    (void)state;
    spawned = 0;
    kit_open_late(&kit, CALM);
    engine_set_spawner(kit.engine, spawn_two, NULL);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static void disk_is_full(bool full) {
    fault_set(full ? FAULT_FULL_ALWAYS : FAULT_NONE, full, 0);
}

static struct run_key run_of(size_t start) {
    return fake_start_at(start)->run;
}

/* A task that runs; the test reports its end. */
static task_id running(const char *json, enum until until) {
    struct kit_ask add = kit_ask_add(&kit, "web", json);
    add.draft.spec.until = until;
    assert_int_equal(kit_do(&kit, &add), 0);
    kit_wait_starts(&kit, 1);
    fake_report_started(run_of(0));
    kit_wait_state(&kit, add.first, TASK_RUNNING);
    return add.first;
}

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", kit.home, name);
    return path;
}

static bool is_there(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

static void make_file(const char *name) {
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* --- children -------------------------------------------------------------------------------- */

static int open_unfinished(void **state);

#define LOOP_TEST(name_) TEST_WITH(name_, open_calm, close_it)

LOOP_TEST(children_come_in_the_commit_that_has_the_end_of_their_parent) {
    task_id parent = running(SPAWNS, UNTIL_EXIT);
    struct run_end end = fake_exit(0);
    fake_report_ended(run_of(0), &end);
    kit_wait_starts(&kit, 3);
    assert_int_equal(kit_state(&kit, parent), TASK_DONE);
    assert_int_equal(engine_last_task(kit.engine), parent + 2);
    assert_int_equal(kit_view(&kit, parent + 1).parent, parent);
    assert_int_equal(spawned, 1);
    assert_int_equal(kit_events(&kit, "task.spawned", parent), 1);
}

LOOP_TEST(a_commit_that_failed_has_added_none_and_the_next_adds_them_once) {
    task_id parent = running(SPAWNS, UNTIL_EXIT);
    struct run_end end = fake_exit(0);
    disk_is_full(true);
    fake_report_ended(run_of(0), &end);
    kit_wait_failures(&kit, 1);
    assert_int_equal(engine_last_task(kit.engine), parent);
    assert_int_equal(kit_state(&kit, parent), TASK_RUNNING);
    disk_is_full(false);
    kit_wait_starts(&kit, 3);
    assert_int_equal(kit_state(&kit, parent), TASK_DONE);
    assert_int_equal(engine_last_task(kit.engine), parent + 2);
    assert_true(spawned >= 2);
}

LOOP_TEST(a_run_that_ended_while_no_daemon_was_there_has_its_children) {
    task_id parent = running(SPAWNS, UNTIL_EXIT);
    struct run_end end = fake_exit(0);
    fake_will_adopt(run_of(0), ADOPTED_ENDED, &end);
    kit_restart(&kit);
    engine_set_spawner(kit.engine, spawn_two, NULL);
    kit_wait_state(&kit, parent, TASK_DONE);
    assert_int_equal(engine_last_task(kit.engine), parent + 2);
    kit_restart(&kit);
    engine_set_spawner(kit.engine, spawn_two, NULL);
    kit_settle(&kit);
    assert_int_equal(engine_last_task(kit.engine), parent + 2);
    assert_int_equal(spawned, 1);
}

TEST_WITH(an_end_waits_for_a_store_that_answers_late, open_late, close_it) {
    task_id parent = running(SPAWNS, UNTIL_EXIT);
    task_id other = 0;
    late_fail_commit(1); /* the core is built again: what the launch knew is forgotten */
    assert_int_equal(kit_add(&kit, "web", "{\"argv\":[\"refused\"]}", &other), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    late_hold_answers(true);
    struct run_end end = fake_exit(0);
    fake_report_ended(run_of(0), &end);
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, parent), TASK_RUNNING);
    late_hold_answers(false);
    late_give_answers();
    kit_wait_state(&kit, parent, TASK_DONE);
    assert_int_equal(spawned, 1);
}

LOOP_TEST(a_bad_spawn_file_is_a_failed_run_with_its_message) {
    task_id task = running("{\"argv\":[\"a\"],\"spawn\":\"bad.yaml\"}", UNTIL_EXIT);
    struct run_end end = fake_exit(0);
    fake_report_ended(run_of(0), &end);
    kit_wait_state(&kit, task, TASK_HELD);
    struct run_row row;
    assert_true(kit_last_run(&kit, task, &row));
    assert_int_equal(row.outcome, OUTCOME_FAILED);
    assert_string_equal(row.message, "bad.yaml:1: it is bad");
}

LOOP_TEST(with_checks_it_is_feedback_for_the_next_iteration) {
    running("{\"argv\":[\"a\"],\"spawn\":\"bad.yaml\"}", UNTIL_VALIDATE);
    struct run_end end = fake_exit(0);
    fake_report_ended(run_of(0), &end);
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(fake_start_at(1)->env, "SLUICE_ITERATION=2"));
    assert_non_null(strstr(fake_start_at(1)->env, "/002/feedback.md"));
}

/* --- feedback -------------------------------------------------------------------------------- */

LOOP_TEST(feedback_is_there_before_the_iteration_that_needs_it) {
    task_id task = running("{\"argv\":[\"a\"],\"checks\":[[\"c\"]]}", UNTIL_VALIDATE);
    struct run_end end = fake_exit(3);
    end.kind = RUN_END_CHECK;
    disk_is_full(true);
    fake_report_ended(run_of(0), &end);
    kit_wait_failures(&kit, 1);
    assert_int_equal(kit_view(&kit, task).iteration, 1);
    disk_is_full(false);
    kit_wait_starts(&kit, 2);
    assert_int_equal(kit_view(&kit, task).iteration, 2);
    assert_true(is_there("tasks/web-1/iterations/002/feedback.md"));
    assert_non_null(strstr(fake_start_at(1)->env, "SLUICE_FEEDBACK="));
    assert_null(strstr(fake_start_at(0)->env, "SLUICE_FEEDBACK="));
}

static int open_unfinished(void **state) {
    (void)state;
    kit_open(&kit, CALM "loop: {failed: unfinished}\n");
    return 0;
}

TEST_WITH(a_failed_run_is_feedback_where_an_iteration_follows, open_unfinished, close_it) {
    running("{\"argv\":[\"a\"]}", UNTIL_DONE);
    struct run_end end = fake_exit(3);
    end.out_bytes = 10;
    fake_report_ended(run_of(0), &end);
    kit_wait_starts(&kit, 2);
    assert_true(is_there("tasks/web-1/iterations/002/feedback.md"));
    fake_report_started(run_of(1));
    end = fake_exit(0); /* only not finished: there is nothing to say */
    fake_report_ended(run_of(1), &end);
    kit_wait_starts(&kit, 3);
    assert_false(is_there("tasks/web-1/iterations/003/feedback.md"));
}

/* --- markers and artifacts ------------------------------------------------------------------- */

LOOP_TEST(what_is_marked_already_is_not_launched) {
    make_file("done/web-1");
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.until = UNTIL_DONE;
    assert_int_equal(kit_do(&kit, &add), 0);
    kit_wait_state(&kit, add.first, TASK_DONE);
    assert_int_equal(fake_start_count(), 0);
}

LOOP_TEST(a_folder_in_the_place_of_a_marker_is_reported) {
    assert_int_equal(mkdir(path_of("done/web-1"), 0700), 0);
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.until = UNTIL_DONE;
    assert_int_equal(kit_do(&kit, &add), 0);
    kit_wait_state(&kit, add.first, TASK_HELD);
    assert_int_equal(fake_start_count(), 0);
    struct task_spec spec;
    assert_true(core_task_spec(engine_core(kit.engine), add.first, &spec));
    assert_int_equal(spec.hold, HOLD_MARKER);
    assert_int_equal(spec.attempt + spec.restarts + spec.failures + spec.launch_failures, 0);
    assert_int_equal(rmdir(path_of("done/web-1")), 0);
    kit_wait_starts(&kit, 1); /* by itself */
}

static task_id waits_for(const char *artifact) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    char json[512];
    snprintf(json, sizeof(json), "{\"argv\":[\"a\"],\"artifact\":\"%s\"}", artifact);
    add.draft.stored = json;
    add.draft.artifact = artifact;
    assert_int_equal(kit_do(&kit, &add), 0);
    assert_int_equal(kit_state(&kit, add.first), TASK_WAITING);
    return add.first;
}

LOOP_TEST(an_artifact_that_is_seen_when_the_disk_is_full_is_seen_again) {
    task_id task = waits_for(path_of("plan.md"));
    disk_is_full(true);
    make_file("plan.md");
    kit_wait_failures(&kit, 1);
    assert_int_equal(kit_state(&kit, task), TASK_WAITING);
    disk_is_full(false);
    kit_wait_starts(&kit, 1);
}

LOOP_TEST(an_artifact_may_come_with_its_folders_and_after_them) {
    waits_for(path_of("a/b/plan.md"));
    assert_int_equal(mkdir(path_of("a"), 0700), 0);
    kit_settle(&kit);
    assert_int_equal(mkdir(path_of("a/b"), 0700), 0);
    kit_settle(&kit);
    assert_int_equal(rmdir(path_of("a/b")), 0);
    kit_settle(&kit);
    assert_int_equal(mkdir(path_of("a/b"), 0700), 0);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0);
    make_file("a/b/plan.md");
    kit_wait_starts(&kit, 1);
}

LOOP_TEST(many_wait_for_one_folder) {
    char name[64];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "plan-%u", i);
        waits_for(path_of(name));
    }
    make_file("plan-7");
    kit_wait_starts(&kit, 1);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1);
    assert_int_equal(run_of(0).task, 8);
}

LOOP_TEST(who_is_deleted_waits_no_more) {
    task_id task = waits_for(path_of("plan.md"));
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, task), 0);
    make_file("plan.md");
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, task), TASK_ABSENT);
}

/* The clock that file systems take their times from moves on. */
static void await_tick(void) {
    const struct timespec begin = clock_read_tick();
    struct timespec now;
    do
        now = clock_read_tick();
    while (now.tv_sec == begin.tv_sec && now.tv_nsec == begin.tv_nsec);
}

static ino_t inode_of(const char *name) {
    struct stat st;
    if (stat(path_of(name), &st) < 0)
        fail_msg("%s: %s", path_of(name), strerror(errno));
    return st.st_ino;
}

/* What the run of a task leaves in a folder, as if it had never been there. */
static void leave_hidden(const char *folder, const char *file) {
    struct stat before;
    assert_int_equal(stat(path_of(folder), &before), 0);
    make_file(file);
    const struct timespec times[] = { before.st_atim, before.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, path_of(folder), times, 0), 0);
}

LOOP_TEST(the_next_task_gets_folders_in_which_nothing_is_left) {
    static const char *const left[] = { "", "/iterations", "/iterations/001",
                                        "/iterations/001/artifacts" };
    ino_t inode = 0;
    for (unsigned task = 1; task <= 2 * ARRAY_SIZE(left) + 2; task++) {
        char folder[64], artifacts[64], file[80];
        struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
        await_tick();
        assert_int_equal(kit_do(&kit, &add), 0);
        kit_wait_starts(&kit, task);
        snprintf(artifacts, sizeof(artifacts), "tasks/web-%u%s", task, left[3]);
        ino_t found = inode_of(artifacts);
        if (task % 2 == 0 && task > 2)      /* the first one finds no place for spare folders */
            assert_int_equal(found, inode); /* of the one before, which left nothing */
        inode = found;
        for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
            snprintf(file, sizeof(file), "tasks/web-%u%s/left", task, left[i]);
            assert_false(is_there(file));
        }
        snprintf(folder, sizeof(folder), "tasks/web-%u%s", task, left[task / 2 % ARRAY_SIZE(left)]);
        snprintf(file, sizeof(file), "%s/left", folder);
        if (task % 2 == 0)
            leave_hidden(folder, file);
        fake_report_started(run_of(task - 1));
        await_tick();
        struct run_end end = fake_exit(0);
        fake_report_ended(run_of(task - 1), &end);
        kit_wait_state(&kit, add.first, TASK_DONE);
        kit_settle(&kit);
        if (task % 2 == 0)
            assert_true(is_there(file));
    }
}

/* --- without the kernel's help ----------------------------------------------------------------- */

static void remove_watches(void) {
    struct watch *w = watch_of(kit.engine);
    loop_unwatch(kit.loop, w->ready);
    close(w->fd);
    w->ready = NULL;
    w->fd = w->done_wd = -1;
}

static void a_minute_goes_by(void) {
    assert_true(watch_of(kit.engine)->poll_at != TIME_NEVER);
    assert_true(watch_of(kit.engine)->poll_at > kit.engine->now + SECONDS(50));
    watch_of(kit.engine)->poll_at = kit.engine->now;
    turn_wake(kit.engine);
}

LOOP_TEST(without_watches_artifacts_are_looked_for_once_a_minute) {
    remove_watches();
    waits_for(path_of("plan.md"));
    kit_settle(&kit);
    make_file("plan.md");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0);
    a_minute_goes_by();
    kit_wait_starts(&kit, 1);
}

LOOP_TEST(without_watches_markers_are_looked_for_once_a_minute) {
    remove_watches();
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.until = UNTIL_DONE;
    add.draft.spec.state = TASK_HELD;
    assert_int_equal(kit_do(&kit, &add), 0);
    task_id other = 0;
    assert_int_equal(kit_add(&kit, "web", "{\"argv\":[\"b\"]}", &other), 0);
    make_file("done/web-1");
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, add.first), TASK_HELD);
    a_minute_goes_by();
    kit_wait_state(&kit, add.first, TASK_DONE);
    assert_int_equal(fake_start_count(), 1);
}

LOOP_TEST(without_watches_nothing_is_polled_while_no_task_waits) {
    remove_watches();
    task_id task = running("{\"argv\":[\"a\"]}", UNTIL_EXIT);
    struct run_end end = fake_exit(0);
    fake_report_ended(run_of(0), &end);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, task), 0);
    assert_true(watch_of(kit.engine)->poll_at == TIME_NEVER);
}

int main(void) {
    fault_install();
    return tests_run();
}
