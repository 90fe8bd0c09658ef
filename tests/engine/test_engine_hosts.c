/* A run belongs to its host: how a daemon on another host treats it, and what happens when its host is back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/alert.h"
#include "engine/executors.h"
#include "engine/hosts.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"

#define CALM                                                                                       \
    KIT_CALM                                                                                       \
    "tasks: {launch_s: 1}\nretry: {lost: {delay_s: 0}}\n"
#define ON_A CALM "limits.runs: 1\ndaemon.host: hosta\n"
#define ON_B CALM "limits.runs: 1\ndaemon.host: hostb\n"

static struct kit kit;

static int open_on_a(void **state) {
    (void)state;
    kit_open(&kit, ON_A);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static void go_to(const char *config) {
    kit.config_text = config;
    kit_restart(&kit);
    kit_settle(&kit);
}

static struct run_key last_run(void) {
    return fake_start_at(fake_start_count() - 1)->run;
}

static task_id running(void) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, fake_start_count() > 0 ? fake_start_count() : 1);
    fake_report_started(last_run());
    kit_wait_state(&kit, task, TASK_RUNNING);
    return task;
}

static int forget(struct engine *engine, struct kit_ask *ask) {
    uint32_t runs = 0;
    int r = engine_forget_host(engine, ask->text, "ann", &runs, &ask->err);
    return r < 0 ? r : (int)runs;
}

static struct engine_host_state host_of(task_id task) {
    struct engine_host_state host = { 0 };
    assert_true(engine_unreachable_run(kit.engine, task, &host));
    return host;
}

/* --- unreachable ----------------------------------------------------------------------------- */

#define ON_HOST_A(name_) TEST_WITH(name_, open_on_a, close_it)

ON_HOST_A(a_run_of_another_host_stays_live_and_keeps_its_places) {
    task_id task = running(), next = kit_web(&kit, "{\"argv\":[\"b\"]}");
    go_to(ON_B);
    assert_int_equal(kit.report.unreachable, 1);
    assert_int_equal(kit.report.lost, 0);
    assert_null(fake_adopted(0)); /* a lock of another host says nothing */
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    assert_int_equal(kit_state(&kit, next), TASK_READY);
    assert_int_equal(fake_start_count(), 1);
    assert_string_equal(host_of(task).name, "hosta");
    assert_true(host_of(task).since > 0);
    assert_int_equal(engine_host_at(kit.engine, 0).runs, 0);
    assert_int_equal(engine_host_at(kit.engine, 1).runs, 1);

    struct verdict first;
    const char *host = NULL;
    assert_true(core_blocked(engine_core(kit.engine), next, &first));
    assert_int_equal(first.lease, LEASE_RUNS);
    assert_int_equal(engine_unreachable_holders(kit.engine, &first, &host), 1);
    assert_string_equal(host, "hosta");
}

ON_HOST_A(since_when_it_is_unreachable_outlives_the_daemon) {
    task_id task = running();
    go_to(ON_B);
    time_ms since = host_of(task).since;
    go_to(ON_B);
    assert_int_equal(host_of(task).since, since);
}

ON_HOST_A(it_is_an_alert_once_and_when_it_is_over) {
    (void)running();
    go_to(ON_B);
    assert_true(engine_alert_is_open(kit.engine, "host:hosta"));
    go_to(ON_B);
    assert_int_equal(kit_events(&kit, "alert", 0), 1);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    go_to(ON_A);
    assert_false(engine_alert_is_open(kit.engine, "host:hosta"));
    assert_int_equal(kit_events(&kit, "alert.cleared", 0), 1);
}

static int report_tokens(struct engine *engine, struct kit_ask *ask) {
    struct engine_usage usage = { .tokens_in = 7, .tokens_out = 1, .cost_micro_usd = -1 };
    return engine_report_usage(engine, 1, &usage, &ask->err);
}

ON_HOST_A(its_row_keeps_its_host_whatever_is_written) {
    task_id task = running();
    go_to(ON_B);
    assert_int_equal(kit_run(&kit, report_tokens, NULL), 0); /* it reaches us over TCP */
    struct run_row run;
    assert_true(kit_last_run(&kit, task, &run));
    assert_int_equal(run.tokens_in, 7);
    go_to(ON_B);
    assert_string_equal(host_of(task).name, "hosta");
}

static bool has_stopped_one(struct kit *one, void *ctx) {
    (void)one;
    (void)ctx;
    return fake_stop_count() > 0;
}

ON_HOST_A(it_may_come_in_over_tcp_while_it_is_unreachable) {
    char token[64] = "";
    (void)running();
    const char *at = strstr(fake_start_at(0)->env, "SLUICE_TOKEN=");
    assert_non_null(at);
    snprintf(token, sizeof(token), "%.*s", (int)strcspn(at + 13, "\n"), at + 13);
    assert_false(engine_run_is_remote(kit.engine, token));
    go_to(ON_B);
    assert_true(engine_run_is_remote(kit.engine, token));
}

/* Two runs were ordered and not seen to start. Only the one on this host is given up. */
ON_HOST_A(its_launch_is_not_late) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    go_to(CALM "limits.runs: 2\ndaemon.host: hostb\n");
    task_id mine = kit_web(&kit, "{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2);
    kit_wait(&kit, has_stopped_one, NULL, "the launch that takes too long");
    assert_int_equal(fake_stop_count(), 1);
    assert_int_equal(fake_stop_at(0)->run.task, mine);
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
}

/* --- back ------------------------------------------------------------------------------------ */

ON_HOST_A(the_daemon_of_its_host_adopts_it_and_its_end_counts_once) {
    task_id task = running();
    go_to(ON_B);
    struct run_end end = fake_exit(0);
    fake_will_adopt(last_run(), ADOPTED_ENDED, &end);
    go_to(ON_A);
    assert_string_equal(fake_adopted(0), "1.1=ended");
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
    assert_int_equal(engine_host_count(kit.engine), 1); /* our own */
    go_to(ON_A);
    assert_int_equal(engine_host_count(kit.engine), 1);
    assert_int_equal(fake_start_count(), 1);
}

ON_HOST_A(a_stop_is_remembered_until_its_host_is_back) {
    task_id task = running();
    go_to(ON_B);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(fake_stop_count(), 0);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    go_to(ON_A);
    assert_int_equal(fake_stop_count(), 1);
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1, .started_at = 1 };
    fake_report_ended(last_run(), &end);
    kit_wait_state(&kit, task, TASK_CANCELED);
}

/* --- forgotten ------------------------------------------------------------------------------- */

ON_HOST_A(the_runs_of_a_forgotten_host_are_lost_and_their_tasks_run_again) {
    task_id task = running();
    go_to(ON_B);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 1);
    kit_wait_starts(&kit, 2);
    assert_int_equal(last_run().attempt, 2);
    assert_int_equal(kit_view(&kit, task).losses, 1);
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
    assert_int_equal(kit_events(&kit, "host.forgotten", 0), 1);
    assert_int_equal(engine_unreachable_count(kit.engine), 0);
    assert_false(engine_alert_is_open(kit.engine, "host:hosta"));
    struct run_end end = fake_exit(0);
    fake_report_ended(last_run(), &end);
    kit_wait_state(&kit, task, TASK_DONE);
}

ON_HOST_A(what_was_canceled_stays_so_when_its_host_is_forgotten) {
    task_id task = running();
    go_to(ON_B);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 1);
    kit_wait_state(&kit, task, TASK_CANCELED);
    assert_int_equal(fake_start_count(), 1);
}

ON_HOST_A(a_host_is_forgotten_once_and_never_our_own) {
    (void)running();
    go_to(ON_B);
    assert_int_equal(kit_run(&kit, forget, "hostb"), -EBUSY);
    assert_int_equal(kit_run(&kit, forget, "hostc"), -ENOENT);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 1);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 0);
    assert_int_equal(kit_events(&kit, "host.forgotten", 0), 1);
    struct engine_host_state host = engine_host_at(kit.engine, 1);
    assert_string_equal(host.forgotten_by, "ann");
    assert_true(host.forgotten_at > 0);
}

ON_HOST_A(forgetting_that_could_not_be_stored_has_not_happened) {
    task_id task = running();
    go_to(ON_B);
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    (void)kit_run(&kit, forget, "hosta");
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    assert_string_equal(host_of(task).name, "hosta");
    fault_set(FAULT_NONE, 0, 0);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 1);
    assert_int_equal(kit.outcome, STORE_OK);
    kit_wait_starts(&kit, 2);
}

/* A folder whose lock is held, as by a shim that did not notice. */
static int hold_lock(const char *folder) {
    char path[256];
    snprintf(path, sizeof(path), "%s/runs", kit.home);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/web-1", kit.home);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/%s", kit.home, folder);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/%s/lock", kit.home, folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
}

ON_HOST_A(what_a_forgotten_host_still_runs_is_killed_when_it_is_back) {
    task_id task = running();
    struct run_key forgotten = last_run();
    int lock = hold_lock("web-1/1");
    go_to(ON_B);
    assert_int_equal(kit_run(&kit, forget, "hosta"), 1);
    kit_wait_starts(&kit, 2);
    fake_report_started(last_run());
    kit_wait_state(&kit, task, TASK_RUNNING);
    fake_will_adopt(forgotten, ADOPTED_ALIVE, NULL);
    go_to(ON_A); /* its second run is on hostb, which is unreachable now */
    assert_int_equal(kit.report.killed, 1);
    assert_int_equal(kit.report.unreachable, 1);
    assert_int_equal(fake_stop_count(), 1);
    assert_int_equal(fake_stop_at(0)->run.attempt, 1);
    assert_int_equal(fake_stop_at(0)->how, STOP_IMMEDIATELY);
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1, .started_at = 1 };
    fake_report_ended(forgotten, &end);
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING); /* the second one */
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
    close(lock);
    go_to(ON_A);
    assert_int_equal(kit.report.killed, 0);
}

int main(void) {
    fault_install();
    return tests_run();
}
