/* Two executors: a task runs in its own executor, and the next daemon recovers its run from that one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "engine/alert.h"
#include "engine/executors.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"
#include "os/files.h"

#define CALM KIT_CALM "limits: {runs: 50}\n"

static struct kit kit;

static int open_calm(void **state) {
    (void)state;
    kit_open(&kit, CALM "tasks: {launch_s: 1, slurm: [qos=low, cpus=2]}\n"
                        "projects: {web: {slurm: [account=w]}}\n"
                        "agents: {bot: {command: [bot], adapter: claude}}\n"
                        "daemon: {addresses: ['https://two:7878', 'unix:/b/sluice.sock', "
                        "'unix:/e/sluice.sock']}\n"
                        "slurm: {address: ['https://head:7878', 'https://two:7878']}\n");
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static task_id in_slurm(const char *json) {
    const char *keys[] = { "slurm:gpu" };
    struct kit_ask ask = kit_ask_add(&kit, "web", json);
    ask.draft.resource_names = (struct submission_names){ keys, 1 };
    assert_int_equal(kit_do(&kit, &ask), 0);
    assert_int_equal(kit.outcome, STORE_OK);
    return ask.first;
}

static const struct fake_start *start_of(task_id task) {
    for (size_t i = fake_start_count(); i-- > 0;)
        if (fake_start_at(i)->run.task == task)
            return fake_start_at(i);
    fail_msg("task %u was not started", (unsigned)task);
    return NULL;
}

/* "sluice:0123456789abcdef:": what is before the number of the task. */
static void name_of_store(const char *token, char ret[32]) {
    size_t length = strlen("sluice:") + 16;
    assert_int_equal(strncmp(token, "sluice:", strlen("sluice:")), 0);
    assert_true(strlen(token) > length && token[length] == ':');
    assert_int_equal(strspn(token + strlen("sluice:"), "0123456789abcdef"), 16);
    snprintf(ret, 32, "%.*s", (int)length, token);
}

/* --- where --------------------------------------------------------------------------------------- */

static int open_with_folder(void **state);

#define FIXTURE_TEST(name_) TEST_WITH(name_, open_calm, close_it)
#define NAME_TEST(name_)    TEST_WITH(name_, open_with_folder, close_it)

FIXTURE_TEST(without_such_tasks_slurm_costs_nothing) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    assert_false(start_of(task)->in_slurm);
    kit_restart(&kit);
    assert_int_equal(fake_slurm_made(), 0);
}

FIXTURE_TEST(a_task_runs_where_it_belongs) {
    task_id far =
        in_slurm("{\"argv\":[\"a\"],\"timeout_s\":60,\"grace_s\":5,\"memory_mb\":3,"
                 "\"checks\":[{\"argv\":[\"c\"],\"timeout_s\":10}],"
                 "\"slurm\":{\"gres\":\"gpu:1\",\"cpus\":8,\"options\":\"--exclusive\"}}");
    task_id near = kit_web(&kit, "{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2);
    const struct fake_start *start = start_of(far);
    char expected[64], store[32];
    assert_true(start->in_slurm);
    /* 60 + 5 for the command, 10 + 5 for the check, and a minute to report it */
    assert_string_equal(start->place,
                        "partition=gpu account=w qos=low gres=gpu:1 extra=--exclusive "
                        "cpus=8 memory=3145728 time=140000");
    name_of_store(start->token, store);
    snprintf(expected, sizeof(expected), "%s:%u:1", store, (unsigned)far);
    assert_string_equal(start->token, expected);
    snprintf(expected, sizeof(expected), "web-%u", (unsigned)far);
    assert_string_equal(start->name, expected);
    assert_non_null(strstr(start->env, "\nSLUICE_SOCKET=https://head:7878,https://two:7878\n"));
    assert_false(start_of(near)->in_slurm);
    assert_string_equal(start_of(near)->token, "");
    assert_null(strstr(start_of(near)->env, "https://head:7878"));
    /* Another daemon of this machine listens beside the socket of this one. */
    assert_non_null(strstr(start_of(near)->env, "\nSLUICE_PEERS=unix:/b/sock,unix:/e/sock\n"));
    assert_null(strstr(start->env, "\nSLUICE_PEERS="));

    struct run_row row;
    assert_true(kit_last_run(&kit, far, &row));
    assert_string_equal(row.executor, "slurm");
    assert_string_equal(row.boot_id, "slurm:test");
    assert_true(kit_last_run(&kit, near, &row));
    assert_string_equal(row.executor, "local");
    assert_string_equal(row.boot_id, "boot-1");
}

FIXTURE_TEST(without_a_time_out_slurm_is_asked_for_none) {
    task_id endless = in_slurm("{\"argv\":[\"a\"]}");
    task_id check = in_slurm("{\"argv\":[\"a\"],\"timeout_s\":60,\"checks\":[[\"c\"]]}");
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(start_of(endless)->place, "cpus=2 memory=0 time=0"));
    assert_non_null(strstr(start_of(check)->place, "time=0"));
}

FIXTURE_TEST(a_stop_goes_to_the_executor_that_has_the_run) {
    task_id far = in_slurm("{\"argv\":[\"a\"]}"), near = kit_web(&kit, "{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2);
    fake_report_started(start_of(far)->run);
    fake_report_started(start_of(near)->run);
    kit_wait_state(&kit, far, TASK_RUNNING);
    kit_wait_state(&kit, near, TASK_RUNNING);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, far), 0);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, near), 0);
    assert_int_equal(fake_stop_count(), 2);
    assert_true(fake_stop_at(0)->in_slurm);
    assert_int_equal(fake_stop_at(0)->run.task, far);
    assert_false(fake_stop_at(1)->in_slurm);
}

/* --- waiting in its queue ------------------------------------------------------------------------ */

static bool is_stopped(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return fake_stop_count() > 0;
}

FIXTURE_TEST(a_run_may_wait_in_slurm_for_longer_than_a_launch_may_take) {
    task_id far = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    (void)kit_web(&kit, "{\"argv\":[\"b\"]}"); /* later, so its deadline is the later one */
    kit_wait(&kit, is_stopped, NULL, "the launch on this machine is ended");
    assert_int_equal(fake_stop_count(), 1);
    assert_false(fake_stop_at(0)->in_slurm);
    assert_int_equal(kit_state(&kit, far), TASK_STARTING);
    fake_will_adopt(start_of(far)->run, ADOPTED_ALIVE, NULL);
    kit_restart(&kit); /* nor does the next daemon count its own time */
    kit_wait_state(&kit, far, TASK_STARTING);
    fake_report_started(start_of(far)->run);
    kit_wait_state(&kit, far, TASK_RUNNING);
}

FIXTURE_TEST(what_slurm_says_of_a_run_can_be_asked_for) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    task_id far = in_slurm("{\"argv\":[\"a\"]}"), near = kit_web(&kit, "{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2);
    fake_slurm_says("pending in Slurm: Resources");
    assert_false(engine_executor_activity(kit.engine, near, &text));
    assert_true(engine_executor_activity(kit.engine, far, &text));
    assert_string_equal(strbuf_text(&text), "pending in Slurm: Resources");
}

/* --- the next daemon ----------------------------------------------------------------------------- */

FIXTURE_TEST(the_row_says_who_is_asked) {
    task_id far = in_slurm("{\"argv\":[\"a\"]}"), near = kit_web(&kit, "{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2);
    char expected[2][64];
    snprintf(expected[0], sizeof(expected[0]), "slurm %u.1=alive", (unsigned)far);
    snprintf(expected[1], sizeof(expected[1]), "%u.1=alive", (unsigned)near);
    fake_will_adopt(start_of(far)->run, ADOPTED_ALIVE, NULL);
    fake_will_adopt(start_of(near)->run, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_string_equal(fake_adopted(0), expected[0]);
    assert_string_equal(fake_adopted(1), expected[1]);
    assert_null(fake_adopted(2));
}

/* Nothing lives there, and no folder is left: the key of its partition shows it. */
FIXTURE_TEST(a_task_that_was_in_slurm_is_enough_to_ask_slurm) {
    task_id task = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct run_end end = fake_exit(0);
    fake_report_ended(start_of(task)->run, &end);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(fake_slurm_made(), 1);
    kit_restart(&kit);
    assert_int_equal(fake_slurm_made(), 2);
}

static void forget_runs(struct store_batch *batch) {
    struct run_row row = { .task = 1, .attempt = 1, .executor = "local", .folder = "web-1/1" };
    row.ended = true;
    row.outcome = OUTCOME_LOST;
    store_put_run(batch, &row);
}

FIXTURE_TEST(a_run_in_slurm_that_a_backup_does_not_know_is_adopted_there) {
    task_id far = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct run_key younger = { .task = far, .attempt = 2 };
    kit_stop(&kit);
    kit_store(&kit, forget_runs);
    fake_has_slurm_folder("web-1", 2);
    fake_will_adopt(younger, ADOPTED_ALIVE, NULL);
    kit_start(&kit);
    kit_settle(&kit);
    char expected[64];
    snprintf(expected, sizeof(expected), "slurm %u.2=alive", (unsigned)far);
    bool found = false;
    for (size_t i = 0; fake_adopted(i); i++)
        found = found || strcmp(fake_adopted(i), expected) == 0;
    assert_true(found);
    struct run_row row;
    assert_true(kit_last_run(&kit, far, &row));
    assert_int_equal(row.attempt, 2);
    assert_string_equal(row.executor, "slurm");
}

/* Nothing in the rows names Slurm: the folder does. */
FIXTURE_TEST(a_run_in_slurm_of_a_lost_store_keeps_its_slot) {
    assert_int_equal(kit_add(&kit, "web", "{\"argv\":[\"a\"]}", &(task_id){ 0 }), 0);
    kit_stop(&kit);
    fake_has_slurm_external("web-77");
    assert_int_equal(fake_slurm_made(), 0);
    kit_start(&kit);
    assert_int_equal(fake_slurm_made(), 1);
    assert_int_equal(kit.report.external, 1);
    assert_string_equal(engine_external_at(kit.engine, 0), "web-77");
}

/* --- the name of the store ----------------------------------------------------------------------- */

static int open_with_folder(void **state) {
    (void)state;
    kit_open(&kit, CALM "data: {folder: here}\n");
    return 0;
}

/* As the token of a new job has it. */
static void name_in_use(char ret[32]) {
    size_t before = fake_start_count();
    task_id task = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, before + 1);
    const struct fake_start *start = start_of(task);
    name_of_store(start->token, ret);
    fake_will_adopt(start->run, ADOPTED_ALIVE, NULL);
}

/* What the data folder says; "" if it has no name yet. */
static void mark(char ret[32]) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    strbuf_printf(&path, "%s/here/.sluice-data", kit.home);
    assert_int_equal(file_read(strbuf_text(&path), 64, &text, NULL), 0);
    size_t length = strcspn(strbuf_text(&text), "\n");
    snprintf(ret, 32, "%s%.*s", length > 0 ? "sluice:" : "", (int)length, strbuf_text(&text));
}

/* Of the jobs, of the folder, and after the next start. */
static void expect_one_name(void) {
    char first[32], second[32], folder[32];
    name_in_use(first);
    mark(folder);
    assert_string_equal(folder, first);
    kit_restart(&kit);
    name_in_use(second);
    assert_string_equal(second, first);
}

NAME_TEST(jobs_and_the_data_folder_have_the_same_name_for_ever) {
    expect_one_name();
}

NAME_TEST(a_name_that_could_not_be_stored_is_stored_with_the_next_commit) {
    char folder[32];
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    kit_wait_failures(&kit, 1);
    mark(folder);
    assert_string_equal(folder, ""); /* nothing has a name that the rows do not have */
    fault_set(FAULT_NONE, 0, 0);
    expect_one_name();
}

/* As the version before has left them. */
static void of_folder(struct store_batch *batch) {
    store_put_note(batch, &(struct note_row){ .name = "store.name" });
    store_put_note(batch, &(struct note_row){ .name = "data.store", .text = "00000000000000bb" });
}

static void of_both(struct store_batch *batch) {
    of_folder(batch);
    store_put_note(batch, &(struct note_row){ .name = "slurm.store", .text = "00000000000000aa" });
}

/* A start with a folder that has the mark of another store is refused. */
static void start_with_old_names(void (*write)(struct store_batch *batch)) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    kit_stop(&kit);
    kit_store(&kit, write);
    strbuf_printf(&path, "%s/here/.sluice-data", kit.home);
    assert_int_equal(file_write(strbuf_text(&path), "00000000000000bb\n", 17, NULL), 0);
    kit_start(&kit);
}

NAME_TEST(a_store_keeps_the_name_on_its_data_folder) {
    char name[32];
    start_with_old_names(of_folder);
    name_in_use(name);
    assert_string_equal(name, "sluice:00000000000000bb");
    kit_restart(&kit);
    name_in_use(name);
    assert_string_equal(name, "sluice:00000000000000bb");
}

NAME_TEST(of_two_names_that_of_the_jobs_is_kept_and_the_folder_is_known) {
    char name[32];
    start_with_old_names(of_both);
    name_in_use(name);
    assert_string_equal(name, "sluice:00000000000000aa");
    kit_restart(&kit); /* the mark is still that of before */
    name_in_use(name);
    assert_string_equal(name, "sluice:00000000000000aa");
}

/* --- what goes wrong ----------------------------------------------------------------------------- */

FIXTURE_TEST(a_lost_node_is_no_failure_of_the_task) {
    task_id task = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    fake_report_started(start_of(task)->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    struct run_end end = { .kind = RUN_END_LOST, .code = -1, .started_at = 1 };
    snprintf(end.message, sizeof(end.message), "node n3 failed");
    fake_report_ended(start_of(task)->run, &end);
    kit_wait_starts(&kit, 2);
    assert_int_equal(kit_view(&kit, task).losses, 1);
    assert_int_equal(kit_view(&kit, task).failures, 0);
    assert_true(start_of(task)->in_slurm);
    assert_int_equal(start_of(task)->run.attempt, 2);
    assert_non_null(strstr(start_of(task)->token, ":2")); /* never the token of another attempt */
}

/* Slurm does not know when it began, nor what it has printed: it was seen to live all the same. */
FIXTURE_TEST(an_agent_that_slurm_kills_for_its_memory_was_launched_well) {
    const char *keys[] = { "slurm:gpu" };
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    ask.draft.agent = "bot";
    ask.draft.resource_names = (struct submission_names){ keys, 1 };
    assert_int_equal(kit_do(&kit, &ask), 0);
    kit_wait_starts(&kit, 1);
    fake_report_started(start_of(ask.first)->run);
    kit_wait_state(&kit, ask.first, TASK_RUNNING);
    struct run_end end = { .kind = RUN_END_SIGNAL, .code = -1, .signal = 9 };
    end.ended_at = loop_now(kit.loop) + SECONDS(3);
    fake_report_ended(start_of(ask.first)->run, &end);
    kit_wait_state(&kit, ask.first, TASK_HELD);
    struct run_row row;
    assert_true(kit_last_run(&kit, ask.first, &row));
    assert_int_equal(row.outcome, OUTCOME_FAILED);
    assert_int_equal(kit_view(&kit, ask.first).failures, 1);
}

FIXTURE_TEST(the_time_limit_of_slurm_is_a_time_out) {
    task_id task = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct run_end end = { .kind = RUN_END_TIMEOUT, .code = -1, .started_at = 1, .ended_at = 2 };
    fake_report_ended(start_of(task)->run, &end);
    kit_wait_state(&kit, task, TASK_HELD); /* until it is tried again */
    struct run_row row;
    assert_true(kit_last_run(&kit, task, &row));
    assert_int_equal(row.outcome, OUTCOME_TIMEOUT);
}

FIXTURE_TEST(a_slurm_that_cannot_be_used_is_a_failed_launch_that_says_so) {
    fake_refuse_slurm(-ENOENT);
    task_id task = in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_state(&kit, task, TASK_HELD); /* behind its breaker */
    struct run_row row;
    assert_true(kit_last_run(&kit, task, &row));
    assert_int_equal(row.outcome, OUTCOME_LAUNCH);
    assert_string_equal(row.message, "cannot use Slurm: the test has no Slurm");
    fake_refuse_slurm(0);
}

/* A daemon may be started with any environment. */
FIXTURE_TEST(a_variable_that_is_there_often_counts_once) {
    static char path[] = "PATH=/bin";
    static char *many[101];
    char **was = environ;
    for (size_t i = 0; i < ARRAY_SIZE(many) - 1; i++)
        many[i] = path;
    environ = many;
    kit_restart(&kit);
    (void)in_slurm("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    environ = was;
}

int main(void) {
    fault_install();
    return tests_run();
}
