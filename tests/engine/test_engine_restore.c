/* After a restore, tasks have an earlier state, but run folders do not. No work is done twice, and no
 * number is given twice. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/alert.h"
#include "engine/engine_internal.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"
#include "rundir/rundir.h"

#define CALM KIT_CALM "retry: {failed: {delay_s: 0}}\n"

static struct kit kit;

static int open_calm(void **state) {
    (void)state;
    kit_open(&kit, CALM);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

/* As in a backup that was made before it started. */
static task_id queued(void) {
    assert_true(kit_pause(&kit, true) >= 0);
    return kit_web(&kit, "{\"argv\":[\"a\"]}");
}

static struct run_key key_of(task_id task, uint32_t attempt) {
    return (struct run_key){ .task = task, .attempt = attempt };
}

/* The folder that was left by a daemon that knew more. */
static void left_over(task_id task, uint32_t attempt, enum adopted what,
                      const struct run_end *end) {
    char id[ENGINE_ID_MAX];
    fake_has_folder(engine_task_id(kit.engine, task, id), attempt);
    fake_will_adopt(key_of(task, attempt), what, end);
}

static void left_lost(task_id task, uint32_t attempt) {
    left_over(task, attempt, ADOPTED_LOST, &(struct run_end){ .kind = RUN_END_LOST, .code = -1 });
}

/* What would start, starts. */
static void go_on(void) {
    assert_true(kit_pause(&kit, false) >= 0);
    kit_settle(&kit);
}

static void end_with(task_id task, uint32_t attempt, int code) {
    struct run_end end = fake_exit(code);
    fake_report_ended(key_of(task, attempt), &end);
}

static void take_first(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    *(struct run_row *)ctx = answer->count > 0 ? answer->runs[0] : (struct run_row){ 0 };
}

static struct run_row run_on_record(task_id task, uint32_t attempt) {
    struct run_row row = { 0 };
    struct store_query question = {
        .kind = QUERY_RUNS, .task = task, .before = attempt + 1, .limit = 1
    };
    store_query(kit.store, &question, take_first, &row);
    if (row.attempt != attempt)
        fail_msg("attempt %u of task %u is not on record", attempt, (unsigned)task);
    return row;
}

/* --- one run of a task that was queued -------------------------------------------------------- */

#define RESTORE_TEST(name_) TEST_WITH(name_, open_calm, close_it)

RESTORE_TEST(a_run_that_lives_is_the_run_of_its_task) {
    task_id task = queued();
    left_over(task, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 1);
    assert_int_equal(kit.report.adopted, 1);
    assert_int_equal(kit.report.external, 0);
    assert_string_equal(fake_adopted(0), "1.1=alive");
    go_on();
    assert_int_equal(fake_start_count(), 0); /* not beside itself */
    fake_report_started(key_of(task, 1));
    kit_wait_state(&kit, task, TASK_RUNNING);
    assert_false(run_on_record(task, 1).ended);
    assert_int_equal(kit_events(&kit, "run.found", task), 1);
    end_with(task, 1, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(run_on_record(task, 1).outcome, OUTCOME_OK);
    assert_int_equal(fake_start_count(), 0);
}

/* Its spec says so: the rows do not know that a person took the task over. */
static void write_taken_spec(task_id task, uint32_t attempt) {
    const char *argv[] = { "agent", NULL }, *env[] = { NULL };
    char id[ENGINE_ID_MAX];
    struct run_spec spec = { .run = "web-1.1",
                             .command = { .argv = argv, .timeout = SECONDS(1) },
                             .env = env,
                             .cwd = "/",
                             .grace = SECONDS(1),
                             .stop_signal = SIGTERM,
                             .terminal = "/nowhere/take.sock" };
    struct rundir_open opened = { -1, -1 };
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    rundir_name(&folder, engine_task_id(kit.engine, task, id), attempt);
    assert_int_equal(mkdir(kit.engine->runs_folder, 0700), 0);
    int root = openat(AT_FDCWD, kit.engine->runs_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || rundir_create_at(root, strbuf_text(&folder), &spec, &opened, &err) < 0)
        fail_msg("%s: %s", kit.engine->runs_folder, err.text);
    close(opened.dir);
    close(opened.lock);
    close(root);
}

RESTORE_TEST(the_session_of_a_person_is_not_taken_for_the_work_of_an_agent) {
    task_id task = queued();
    write_taken_spec(task, 1);
    left_over(task, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    go_on();
    fake_report_started(key_of(task, 1));
    kit_wait_state(&kit, task, TASK_RUNNING);
    end_with(task, 1, 0);
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(kit_view(&kit, task).hold, HOLD_TAKEN);
    assert_int_equal(fake_start_count(), 0);
}

RESTORE_TEST(it_can_be_canceled) {
    task_id task = queued();
    left_over(task, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(fake_stop_count(), 1);
    assert_int_equal(fake_stop_at(0)->run.attempt, 1);
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1, .started_at = 1 };
    fake_report_ended(key_of(task, 1), &end);
    kit_wait_state(&kit, task, TASK_CANCELED);
}

RESTORE_TEST(what_it_did_meanwhile_is_not_done_again) {
    task_id task = queued();
    struct run_end end = fake_exit(0);
    left_over(task, 1, ADOPTED_ENDED, &end);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 1);
    assert_int_equal(kit.report.ended, 1);
    assert_int_equal(kit.report.swept, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    go_on();
    assert_int_equal(fake_start_count(), 0);
    assert_int_equal(run_on_record(task, 1).outcome, OUTCOME_OK);
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
}

RESTORE_TEST(after_a_failure_the_next_attempt_follows) {
    task_id task = queued();
    struct run_end end = fake_exit(3);
    left_over(task, 1, ADOPTED_ENDED, &end);
    kit_restart(&kit);
    assert_true(kit_pause(&kit, false) >= 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(fake_start_at(0)->run.attempt, 2);
    assert_int_equal(kit_view(&kit, task).failures, 1);
}

RESTORE_TEST(one_that_left_nothing_is_lost) {
    task_id task = queued();
    left_lost(task, 1);
    kit_restart(&kit);
    assert_int_equal(kit.report.lost, 1);
    assert_true(kit_pause(&kit, false) >= 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(fake_start_at(0)->run.attempt, 2);
    assert_int_equal(kit_view(&kit, task).losses, 1);
}

/* --- other states ------------------------------------------------------------------------------ */

RESTORE_TEST(a_draft_that_was_started_since_runs) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.state = TASK_DRAFT;
    assert_int_equal(kit_do(&kit, &add), 0);
    left_over(add.first, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit_state(&kit, add.first), TASK_STARTING);
    end_with(add.first, 1, 0);
    kit_wait_state(&kit, add.first, TASK_DONE);
}

/* The one before it was done, which the rows do not know either. */
RESTORE_TEST(what_waited_for_another_runs) {
    task_id first = queued(), next = 0;
    struct run_end end = fake_exit(0);
    assert_int_equal(kit_add_after(&kit, first, &next), 0);
    left_over(first, 1, ADOPTED_ENDED, &end);
    left_over(next, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 2);
    kit_wait_state(&kit, first, TASK_DONE);
    go_on();
    assert_int_equal(fake_start_count(), 0);
    end_with(next, 1, 0);
    kit_wait_state(&kit, next, TASK_DONE);
}

static task_id running(void) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    fake_report_started(key_of(task, 1));
    kit_wait_state(&kit, task, TASK_RUNNING);
    return task;
}

RESTORE_TEST(a_later_attempt_takes_the_place_of_one_that_is_over) {
    task_id task = running();
    struct run_end end = fake_exit(3);
    fake_has_folder("web-1", 1);
    fake_will_adopt(key_of(task, 1), ADOPTED_ENDED, &end);
    left_over(task, 2, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 1);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1); /* of before */
    assert_int_equal(kit_view(&kit, task).attempt, 2);
    assert_true(run_on_record(task, 1).ended);
    assert_false(run_on_record(task, 2).ended);
    kit_restart(&kit); /* the rows say it themselves now */
    assert_int_equal(kit.report.found, 0);
    end_with(task, 2, 0);
    kit_wait_state(&kit, task, TASK_DONE);
}

RESTORE_TEST(beside_one_that_lives_no_other_is_ours) {
    task_id task = running();
    fake_will_adopt(key_of(task, 1), ADOPTED_ALIVE, NULL);
    fake_has_folder("web-1", 2);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 0);
    assert_int_equal(kit.report.swept, 1);
    assert_int_equal(kit_view(&kit, task).attempt, 1);
    end_with(task, 1, 0);
    kit_wait_state(&kit, task, TASK_DONE);
}

RESTORE_TEST(a_finished_task_stays_finished) {
    task_id task = running();
    end_with(task, 1, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    fake_has_external("web-1"); /* it was run again after the backup */
    kit_restart(&kit);
    assert_int_equal(kit.report.external, 1);
    assert_int_equal(kit.report.found, 0);
    assert_int_equal(kit_state(&kit, task), TASK_DONE);
}

/* --- attempts between ---------------------------------------------------------------------------- */

static void write_end(const char *folder, const struct run_end *end) {
    char path[256], text[RUN_RECORD_MAX];
    snprintf(path, sizeof(path), "%s/runs", kit.home);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/web-1", kit.home);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/%s", kit.home, folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/runs/%s/end.json", kit.home, folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    size_t size = run_end_format(end, NULL, text, sizeof(text));
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

RESTORE_TEST(the_newest_attempt_counts_and_the_others_are_on_record) {
    task_id task = queued();
    struct run_end end = fake_exit(7);
    write_end("web-1/1", &end);
    left_over(task, 3, ADOPTED_ALIVE, NULL);
    left_over(task, 1, ADOPTED_ENDED, &end);
    left_lost(task, 2);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 1);
    go_on();
    assert_int_equal(fake_start_count(), 0);
    assert_int_equal(kit_view(&kit, task).attempt, 3);
    assert_int_equal(run_on_record(task, 1).exit_code, 7);
    assert_int_equal(run_on_record(task, 2).outcome, OUTCOME_LOST);
    assert_false(run_on_record(task, 3).ended);
    assert_int_equal(kit_view(&kit, task).failures, 0); /* as the backup says */
    end_with(task, 3, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(kit_events(&kit, "run.ended", task), 3);
}

/* --- crashes ------------------------------------------------------------------------------------- */

RESTORE_TEST(a_crash_before_the_first_commit_changes_nothing) {
    task_id task = queued();
    left_over(task, 1, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    kit_restart(&kit); /* no turn was made */
    assert_int_equal(kit.report.found, 1);
    kit_settle(&kit);
    kit_restart(&kit);
    assert_int_equal(kit.report.found, 0);
    assert_int_equal(kit.report.adopted, 1);
    assert_int_equal(kit_events(&kit, "run.found", task), 1);
    go_on();
    assert_int_equal(fake_start_count(), 0);
}

RESTORE_TEST(a_first_commit_that_fails_changes_nothing) {
    task_id task = queued();
    struct run_end end = fake_exit(0);
    left_over(task, 1, ADOPTED_ENDED, &end);
    fake_has_folder("web-40", 1);
    kit_stop(&kit);
    kit_start(&kit);
    fault_set(FAULT_FULL_ALWAYS, true, 0);
    kit_wait_failures(&kit, 1);
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
    fault_set(FAULT_NONE, 0, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    go_on();
    assert_int_equal(fake_start_count(), 0);
    assert_int_equal(kit_events(&kit, "run.found", task), 1);
    assert_int_equal(kit_web(&kit, "{\"argv\":[\"a\"]}"), 41);
}

/* --- numbers and places ---------------------------------------------------------------------------- */

RESTORE_TEST(no_number_is_given_that_a_folder_has) {
    fake_has_folder("web-40", 1);
    fake_has_folder("gone-39", 2);
    fake_has_folder("notes", 1);
    fake_has_folder("x-9999999999999999", 1); /* no daemon has made it */
    kit_restart(&kit);
    assert_int_equal(kit.report.swept, 4);
    kit_settle(&kit);
    fake_forget_everything(); /* the folders are gone */
    kit_restart(&kit);
    assert_int_equal(kit_web(&kit, "{\"argv\":[\"a\"]}"), 41);
}

/* The backup is older than `again`: the task is done in it, and its second run is alive. */
RESTORE_TEST(a_finished_task_is_not_started_beside_its_living_run) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    end_with(task, 1, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    fake_has_external("web-1"); /* its ninth attempt */
    kit_restart(&kit);
    assert_int_equal(kit.report.external, 1);
    assert_int_equal(kit_state(&kit, task), TASK_DONE);
    assert_int_equal(engine_external_attempt(kit.engine, task), 9);
    kit_settle(&kit);
    kit_restart(&kit); /* it is still not ours */
    assert_int_equal(engine_external_attempt(kit.engine, task), 9);
    fake_external_ends("web-1");
    assert_int_equal(engine_external_attempt(kit.engine, task), 0);
    assert_int_equal(kit_apply(&kit, FACT_AGAIN, task), 0);
    kit_wait_starts(&kit, 2);
    assert_int_equal(fake_start_at(1)->run.attempt, 10); /* its folder is another one */
}

RESTORE_TEST(a_run_of_an_unknown_project_keeps_its_place) {
    kit_close(&kit);
    kit_open(&kit, CALM "limits: {runs: 1}\n");
    fake_has_external("gone-77");
    kit_restart(&kit);
    assert_int_equal(kit.report.external, 1);
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0); /* the only slot is in use */
    fake_external_ends("gone-77");
    kit_wait_starts(&kit, 1);
}

int main(void) {
    fault_install();
    return tests_run();
}
