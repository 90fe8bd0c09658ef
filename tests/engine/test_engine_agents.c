/* The result that an agent reports decides: recorded runs of real agents, and the runs that follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/strbuf.h"
#include "engine/alert.h"
#include "engine_kit.h"
#include "harness/test.h"
#include "os/files.h"

#define PROMPT "{\"prompt\":\"mend it\"}"
/* No wait is longer than the test. */
#define QUICK                                                                                      \
    "limiter: {margin_s: 0, jitter_s: 0, initial_s: 0.2, max_s: 0.2}\n"                            \
    "retry: {failed: {delay_s: 0.1, cap_s: 0.1}}\n"

/* The times in the recording of a limited plan. */
#define RECORDED_RESET "1794716932"

static struct kit kit;

static int teardown(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

/* --- recorded runs --------------------------------------------------------------------------- */

static void read_recorded(const char *scenario, const char *file, struct strbuf *out) {
    char path[512];
    struct error err = { 0 };
    snprintf(path, sizeof(path), "%s/%s/%s", getenv("RECORDINGS"), scenario, file);
    if (file_read(path, 16 << 20, out, &err) < 0)
        fail_msg("%s", err.text);
}

static void replace(struct strbuf *text, const char *from, const char *to) {
    struct strbuf out = STRBUF_INIT;
    const char *at = strbuf_text(text), *hit;
    for (; (hit = strstr(at, from)); at = hit + strlen(from)) {
        strbuf_add(&out, at, (size_t)(hit - at));
        strbuf_puts(&out, to);
    }
    strbuf_puts(&out, at);
    strbuf_finish(text);
    *text = out;
}

static void write_log(size_t start, const char *log, const struct strbuf *text) {
    char path[512];
    struct error err = { 0 };
    snprintf(path, sizeof(path), "%s/runs", kit.home);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/%s", kit.home, fake_start_at(start)->folder);
    *strrchr(path, '/') = '\0';
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/runs/%s", kit.home, fake_start_at(start)->folder);
    (void)mkdir(path, 0700);
    strncat(path, "/", sizeof(path) - strlen(path) - 1);
    strncat(path, log, sizeof(path) - strlen(path) - 1);
    if (file_write(path, strbuf_text(text), text->length, &err) < 0)
        fail_msg("%s", err.text);
}

/* The run with that number prints the recording; a reset time is given in ms from now. */
static void prints(size_t start, const char *scenario, time_ms resets_in) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, err = STRBUF_INIT;
    char reset[32];
    read_recorded(scenario, "stdout", &out);
    read_recorded(scenario, "stderr", &err);
    snprintf(reset, sizeof(reset), "%lld",
             (long long)((loop_now(kit.loop) + resets_in + 999) / 1000));
    if (resets_in)
        replace(&out, RECORDED_RESET, reset);
    write_log(start, "out.log", &out);
    write_log(start, "err.log", &err);
}

static void ends(size_t start, int code) {
    struct run_end end = fake_exit(code);
    fake_report_started(fake_start_at(start)->run);
    fake_report_ended(fake_start_at(start)->run, &end);
}

static void plays(size_t start, const char *scenario, time_ms resets_in) {
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    read_recorded(scenario, "exit", &code);
    prints(start, scenario, resets_in);
    ends(start, atoi(strbuf_text(&code)));
}

/* --- queries --------------------------------------------------------------------------------- */

static task_id ask(const char *agent) {
    task_id task = 0;
    if (kit_add_for(&kit, agent, PROMPT, &task) < 0)
        fail_msg("%s", kit.err.text);
    return task;
}

static const char *command(size_t start) {
    return fake_start_at(start)->command;
}

static struct limiter_view account(const char *name) {
    struct limiter_view view = { 0 };
    struct symbol_table *symbols = core_symbols((struct core *)engine_core(kit.engine));
    (void)core_limiter(engine_core(kit.engine), symbol_find(symbols, name, strlen(name)), &view);
    return view;
}

static bool account_is_reserved(struct kit *k, void *name) {
    (void)k;
    return account(name).reserved_until > 0;
}

struct ended {
    struct run_row row;
    task_id task;
    uint32_t attempt;
    char session[128], result[32], model[64];
};

static void take_run(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct ended *ended = ctx;
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++)
        if (answer->runs[i].attempt == ended->attempt) {
            ended->row = answer->runs[i];
            snprintf(ended->session, sizeof(ended->session), "%s",
                     ended->row.session ? ended->row.session : "");
            snprintf(ended->result, sizeof(ended->result), "%s",
                     ended->row.result ? ended->row.result : "");
            snprintf(ended->model, sizeof(ended->model), "%s",
                     ended->row.model ? ended->row.model : "");
        }
}

static struct ended run_of(task_id task, uint32_t attempt) {
    struct ended ended = { .task = task, .attempt = attempt };
    struct store_query question = { .kind = QUERY_RUNS, .task = task };
    store_query(kit.store, &question, take_run, &ended);
    return ended;
}

static bool has_ended(struct kit *k, void *ctx) {
    (void)k;
    struct ended *wanted = ctx;
    return run_of(wanted->task, wanted->attempt).row.ended;
}

static struct ended wait_end(task_id task, uint32_t attempt) {
    struct ended wanted = { .task = task, .attempt = attempt };
    kit_wait(&kit, has_ended, &wanted, "the run has ended");
    return run_of(task, attempt);
}

/* --- agents that need no configuration ------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, NULL, teardown)

FIXTURE_TEST(known_agents_need_no_configuration) {
    kit_open(&kit, "{}\n");
    (void)ask("claude");
    kit_wait_starts(&kit, 1);
    assert_true(strncmp(command(0), "claude ", 7) == 0);
    assert_non_null(strstr(command(0), "stream-json"));
    assert_string_equal(fake_start_at(0)->prompt, "mend it");
    assert_non_null(strstr(fake_start_at(0)->env, "SLUICE_ADAPTER=claude\n"));
    assert_true(config_has_limiter(engine_config(kit.engine), "claude"));
    assert_int_equal(account("claude").used, 1);
    kit_restart(&kit); /* lost: it is started again, by the same account */
    kit_wait_starts(&kit, 2);
    assert_int_equal(account("claude").used, 1);
}

FIXTURE_TEST(every_known_agent_has_the_adapter_of_its_name) {
    const char *agent;
    kit_open(&kit, "{}\n");
    for (size_t i = 0; (agent = agent_builtin(i)); i++) {
        const struct config *config = engine_config(kit.engine);
        assert_string_equal(config_text(config, "agents.A.adapter", agent), agent);
    }
}

FIXTURE_TEST(an_own_command_is_nobodys_output) {
    kit_open(&kit, "agents: {claude: {command: [mine]}}\n");
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    assert_string_equal(command(0), "mine");
    ends(0, 0);
    kit_wait_state(&kit, task, TASK_DONE);
}

FIXTURE_TEST(model_and_words_of_the_configuration_are_in_the_command) {
    kit_open(&kit, "agents: {fast: {adapter: claude, model: small, args: [--max-turns, \"9\"]}}\n");
    (void)ask("fast");
    kit_wait_starts(&kit, 1);
    assert_non_null(strstr(command(0), "--model small"));
    assert_non_null(strstr(command(0), "--max-turns 9"));
}

/* --- outcomes -------------------------------------------------------------------------------- */

FIXTURE_TEST(a_good_run_has_its_tokens_and_its_last_word) {
    kit_open(&kit, QUICK);
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/ok-stream", 0);
    kit_wait_state(&kit, task, TASK_DONE);
    struct ended ended = run_of(task, 1);
    assert_string_equal(ended.result, "ok");
    assert_true(ended.row.tokens_in > 0 && ended.row.tokens_out > 0 && ended.row.tokens_cached > 0);
    assert_true(ended.row.cost_micro_usd > 0);
    assert_true(ended.session[0] && ended.model[0]);
}

/* Agents that were interrupted end with 0. */
FIXTURE_TEST(exit_code_0_alone_is_no_success) {
    kit_open(&kit, QUICK "agents: {claude: {slots: 1}}\n");
    task_id first = ask("claude");
    kit_wait_starts(&kit, 1);
    prints(0, "claude/sigterm", 0); /* no final message */
    ends(0, 0);
    struct ended ended = wait_end(first, 1);
    assert_int_equal(ended.row.outcome, OUTCOME_FAILED);
    assert_string_equal(ended.result, "crashed");
    kit_wait_starts(&kit, 2);
    plays(1, "claude/ok-stream", 0);
    kit_wait_state(&kit, first, TASK_DONE);
}

FIXTURE_TEST(an_account_that_is_refused_is_closed_until_a_person_clears_it) {
    kit_open(&kit, QUICK "limits: {runs: 1}\n");
    task_id first = ask("claude"), second = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/403", 0);
    struct ended ended = wait_end(first, 1);
    assert_int_equal(ended.row.outcome, OUTCOME_CLOSED);
    assert_true(account("claude").closed);
    assert_int_equal(kit_view(&kit, first).failures, 0);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1); /* nor does the other start */
    assert_int_equal(kit_state(&kit, second), TASK_READY);
    kit_restart(&kit);
    assert_true(account("claude").closed);
    kit_clear_limiter(&kit, "claude");
    kit_wait_starts(&kit, 2);
}

/* --- limits and sessions --------------------------------------------------------------------- */

FIXTURE_TEST(a_limit_costs_no_retry_and_the_session_goes_on) {
    kit_open(&kit, QUICK);
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", HOURS(1));
    struct ended first = wait_end(task, 1);
    assert_int_equal(first.row.outcome, OUTCOME_LIMITED);
    assert_string_equal(first.result, "limited");
    assert_int_equal(kit_state(&kit, task), TASK_READY);
    assert_int_equal(kit_view(&kit, task).failures, 0);
    assert_true(account("claude").backoff_until > loop_now(kit.loop));
    assert_int_equal(fake_start_count(), 1);
    kit_restart(&kit); /* as kill -9 does it */
    assert_true(account("claude").backoff_until > loop_now(kit.loop));
    kit_clear_limiter(&kit, "claude");
    kit_wait_starts(&kit, 2);
    char resume[160];
    snprintf(resume, sizeof(resume), "--resume %s", first.session);
    if (!strstr(command(1), resume))
        fail_msg("expected '%s' in: %s", resume, command(1));
    assert_non_null(strstr(fake_start_at(1)->prompt, "mend it"));
    plays(1, "claude/ok-stream", 0);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_true(run_of(task, 2).row.resumed);
}

FIXTURE_TEST(one_run_goes_first_after_a_limit) {
    kit_open(&kit, QUICK);
    task_id task = ask("claude");
    (void)ask("claude");
    kit_wait_starts(&kit, 2);
    plays(0, "claude/limit-oauth", SECONDS(1));
    plays(1, "claude/limit-oauth", SECONDS(1));
    (void)wait_end(task, 1);
    kit_wait_starts(&kit, 3);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 3);
    plays(2, "claude/ok-stream", 0);
    kit_wait_starts(&kit, 4);
}

FIXTURE_TEST(a_reserve_parks_at_the_reported_use_and_opens_at_the_reset) {
    kit_open(&kit, QUICK "limits: {runs: 1}\nlimiters: {claude: {reserve: 20}}\n");
    task_id first = ask("claude"), second = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/warn-oauth", SECONDS(4)); /* 93 % of five hours, 41 % of the week */
    kit_wait_state(&kit, first, TASK_DONE);
    struct limiter_view l = account("claude");
    assert_true(l.reserved_until > 0);
    assert_int_equal(l.backoff_until, 0);
    assert_int_equal(l.windows[QUOTA_FIVE_HOUR].quota.used_milli, 930);
    assert_true(l.windows[QUOTA_FIVE_HOUR].reserved);
    size_t events = kit_events(&kit, "limiter.used", 0); /* the week may be over, too */
    assert_in_range(events, 1, 2);
    kit_restart(&kit); /* as kill -9 does it */
    assert_int_equal(account("claude").reserved_until, l.reserved_until);
    assert_int_equal(fake_start_count(), 1);
    assert_int_equal(kit_state(&kit, second), TASK_READY);
    kit_wait_starts(&kit, 2);
    assert_true(engine_now(kit.engine) >= l.reserved_until);
    assert_int_equal(kit_events(&kit, "limiter.used", 0), events + 1);
}

FIXTURE_TEST(a_live_run_closes_its_account_and_goes_on) {
    kit_open(&kit, QUICK "limiters: {claude: {reserve_five_hour: 7}}\n");
    task_id first = ask("claude");
    kit_wait_starts(&kit, 1);
    prints(0, "claude/allowed-oauth", HOURS(1));
    fake_report_started(fake_start_at(0)->run);
    kit_wait(&kit, account_is_reserved, (void *)(uintptr_t) "claude", "its reserve is reached");
    assert_int_equal(kit_state(&kit, first), TASK_RUNNING);
    (void)ask("claude");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1);
    kit_clear_limiter(&kit, "claude");
    kit_wait_starts(&kit, 2);
}

FIXTURE_TEST(without_a_reserve_the_use_is_only_known) {
    kit_open(&kit, QUICK);
    task_id first = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/warn-oauth", HOURS(1));
    kit_wait_state(&kit, first, TASK_DONE);
    assert_int_equal(account("claude").windows[QUOTA_FIVE_HOUR].quota.used_milli, 930);
    (void)ask("claude");
    kit_wait_starts(&kit, 2);
}

FIXTURE_TEST(margin_and_jitter_are_added_to_the_reported_time) {
    kit_open(&kit, "limiter: {margin_s: 100, jitter_s: 50}\n");
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    time_ms reset_at = loop_now(kit.loop) + SECONDS(1000);
    plays(0, "claude/limit-oauth", SECONDS(1000));
    (void)wait_end(task, 1);
    assert_in_range(account("claude").backoff_until - reset_at, SECONDS(100), SECONDS(151));
}

FIXTURE_TEST(who_must_wait_too_long_waits_for_a_person) {
    kit_open(&kit, QUICK "limiters: {claude: {max_wait_s: 60}}\n");
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", SECONDS(3600));
    struct ended ended = wait_end(task, 1);
    assert_int_equal(ended.row.outcome, OUTCOME_CLOSED);
    assert_true(account("claude").closed);
    assert_int_equal(kit_view(&kit, task).failures, 0);
    assert_int_equal(engine_alert_count(kit.engine), 1);
    assert_string_equal(engine_alert_at(kit.engine, 0)->text,
                        "account 'claude' is limited for longer than limiter.max_wait_s allows: "
                        "nothing that uses it starts; when it works again, 'sluice limiter clear "
                        "claude'");
}

FIXTURE_TEST(a_session_that_was_deleted_is_begun_afresh_once) {
    kit_open(&kit, QUICK);
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", SECONDS(1));
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(command(1), "--resume"));
    plays(1, "claude/resume-missing", 0);
    kit_wait_starts(&kit, 3);
    assert_int_equal(run_of(task, 2).row.outcome, OUTCOME_NEW_SESSION);
    assert_int_equal(kit_view(&kit, task).failures, 0);
    assert_null(strstr(command(2), "--resume"));
    plays(2, "claude/ok-stream", 0);
    kit_wait_state(&kit, task, TASK_DONE);
}

FIXTURE_TEST(a_command_of_its_own_goes_on_as_it_says) {
    kit_open(&kit, QUICK "agents:\n"
                         "  mine:\n"
                         "    command: [./mine, --new, '{session}']\n"
                         "    resume_command: [./mine, '--again={session}', '{prompt}']\n"
                         "    prompt: argument\n"
                         "    adapter: claude\n"
                         "    limiter: claude\n");
    task_id task = ask("mine");
    kit_wait_starts(&kit, 1);
    if (strncmp(command(0), "./mine --new ", 13) != 0 || strchr(command(0), '{'))
        fail_msg("expected a new session in: %s", command(0));
    plays(0, "claude/limit-oauth", SECONDS(1));
    kit_wait_starts(&kit, 2);
    char again[256];
    snprintf(again, sizeof(again), "./mine --again=%s You were interrupted.",
             run_of(task, 1).session);
    if (strncmp(command(1), again, strlen(again)) != 0)
        fail_msg("expected '%s' in: %s", again, command(1));
    plays(1, "claude/ok-stream", 0);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_true(run_of(task, 2).row.resumed);
}

FIXTURE_TEST(without_one_it_begins_afresh) {
    kit_open(&kit, QUICK "agents: {mine: {command: [./mine], adapter: claude, limiter: claude}}\n");
    (void)ask("mine");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", SECONDS(1));
    kit_wait_starts(&kit, 2);
    assert_string_equal(command(1), command(0));
}

FIXTURE_TEST(who_takes_over_has_its_own_command_and_session) {
    kit_open(&kit, QUICK "agents: {claude: {failover: [codex]}}\n");
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", HOURS(1));
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(command(1), "codex exec"));
    assert_null(strstr(command(1), "resume"));
    plays(1, "codex/401", 0);
    (void)wait_end(task, 2);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 2); /* both are closed until the first is open again */
    assert_true(account("codex").closed);
    kit_clear_limiter(&kit, "claude");
    kit_wait_starts(&kit, 3);
    char resume[160];
    snprintf(resume, sizeof(resume), "--resume %s", run_of(task, 1).session);
    if (!strstr(command(2), resume))
        fail_msg("expected '%s' in: %s", resume, command(2));
    plays(2, "claude/ok-stream", 0);
    kit_wait_state(&kit, task, TASK_DONE);
}

FIXTURE_TEST(sessions_are_not_resumed_where_that_is_switched_off) {
    task_id task = 0;
    kit_open(&kit, QUICK "agents: {claude: {resume: never}}\n");
    (void)ask("claude");
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", SECONDS(1));
    kit_wait_starts(&kit, 2);
    assert_null(strstr(command(1), "--resume"));
    kit_close(&kit);
    kit_open(&kit, QUICK);
    assert_int_equal(
        kit_add_for(&kit, "claude", "{\"prompt\":\"mend it\",\"resume\":\"never\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    plays(0, "claude/limit-oauth", SECONDS(1));
    kit_wait_starts(&kit, 2);
    assert_null(strstr(command(1), "--resume"));
}

/* The agent counts the complete session: 4312 in the first run, 8624 at the end of the second. */
FIXTURE_TEST(tokens_of_a_session_are_booked_once) {
    kit_open(&kit, QUICK "prices: {gpt: {in: 2, out: 8, cached: 1}}\n"
                         "agents: {codex: {model: gpt}}\n");
    task_id task = ask("codex");
    kit_wait_starts(&kit, 1);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, limit = STRBUF_INIT;
    read_recorded("codex/resume-1", "stdout", &out);
    read_recorded("codex/usage-limit", "stdout", &limit);
    const char *failed = strstr(strbuf_text(&limit), "{\"type\":\"turn.failed\"");
    assert_non_null(failed);
    strbuf_puts(&out, "{\"type\":\"turn.started\"}\n");
    strbuf_puts(&out, failed);
    write_log(0, "out.log", &out);
    ends(0, 1);
    struct ended first = wait_end(task, 1);
    assert_int_equal(first.row.outcome, OUTCOME_LIMITED);
    assert_int_equal(first.row.tokens_in, 4312);
    kit_restart(&kit);
    kit_clear_limiter(&kit, "codex"); /* its message names a time of that day */
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(command(1), first.session));
    plays(1, "codex/resume-2", 0);
    kit_wait_state(&kit, task, TASK_DONE);
    struct ended second = run_of(task, 2);
    assert_int_equal(second.row.tokens_in, 8624 - 4312);
    assert_int_equal(second.row.tokens_out, 25);
    /* 312 new at 2 dollars a million, 4000 from the cache at 1, 25 written at 8 */
    assert_int_equal(second.row.cost_micro_usd, 312 * 2 + 4000 + 25 * 8);
}

FIXTURE_TEST(a_cost_that_was_not_reported_stays_unknown) {
    kit_open(&kit, QUICK);
    task_id task = ask("codex");
    kit_wait_starts(&kit, 1);
    plays(0, "codex/ok-json", 0);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(run_of(task, 1).row.cost_micro_usd, -1);
}

static int64_t booked_for(const char *config, const char *cost) {
    kit_open(&kit, config);
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    read_recorded("claude/ok-json", "stdout", &out);
    replace(&out, "\"total_cost_usd\":0.001424", cost);
    write_log(0, "out.log", &out);
    ends(0, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    return run_of(task, 1).row.cost_micro_usd;
}

FIXTURE_TEST(a_cost_that_cannot_be_is_bounded_or_not_booked) {
#define NAIVE QUICK "report: {run_usd: unlimited, usd_per_min: unlimited}\n"
    assert_int_equal(booked_for(NAIVE, "\"total_cost_usd\":9e99"), INT64_C(1000000000000000));
    kit_close(&kit);
    assert_int_equal(booked_for(QUICK, "\"total_cost_usd\":1000000"), -1);
    assert_true(engine_alert_is_open(kit.engine, "usage:web-1"));
}

/* --- watchdogs ------------------------------------------------------------------------------- */

static bool has_stop(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return fake_stop_count() > 0;
}

FIXTURE_TEST(who_stays_after_its_result_is_asked_to_go) {
    kit_open(&kit, QUICK "agents: {claude: {linger_s: 0.1}}\n");
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    fake_report_started(fake_start_at(0)->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    prints(0, "claude/ok-stream", 0);
    kit_wait(&kit, has_stop, NULL, "the run is asked to go");
    assert_int_equal(fake_stop_at(0)->how, STOP_GRACEFULLY);
    struct run_end end = { .kind = RUN_END_STOPPED,
                           .code = -1,
                           .signal = 15,
                           .started_at = loop_now(kit.loop),
                           .ended_at = loop_now(kit.loop),
                           .out_bytes = 1 };
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_string_equal(run_of(task, 1).result, "ok");
}

/* A shutdown of the machine is neither a result nor a failure. */
FIXTURE_TEST(who_is_stopped_from_outside_goes_on_later) {
    kit_open(&kit, QUICK);
    task_id task = ask("claude");
    kit_wait_starts(&kit, 1);
    fake_report_started(fake_start_at(0)->run);
    prints(0, "claude/sigterm", 0);
    struct run_end end = { .kind = RUN_END_STOPPED,
                           .code = 143,
                           .started_at = loop_now(kit.loop),
                           .ended_at = loop_now(kit.loop),
                           .out_bytes = 1 };
    fake_report_ended(fake_start_at(0)->run, &end);
    assert_int_equal(wait_end(task, 1).row.outcome, OUTCOME_LOST);
    kit_wait_starts(&kit, 2);
    assert_non_null(strstr(command(1), "--resume"));
}

FIXTURE_TEST(the_same_failure_again_and_again_is_given_up) {
    kit_open(&kit, "retry: {same_text: 2, failed: {delay_s: 0.1, cap_s: 0.1}}\n");
    task_id task = ask("claude");
    for (size_t i = 0; i < 2; i++) {
        kit_wait_starts(&kit, i + 1);
        plays(i, "claude/refusal", 0);
        (void)wait_end(task, (uint32_t)i + 1);
    }
    assert_int_equal(kit_state(&kit, task), TASK_FAILED);
    assert_int_equal(kit_view(&kit, task).reason, REASON_STUCK);
    assert_non_null(strstr(run_of(task, 2).result, "refused"));
}

static bool has_tokens(struct kit *k, void *ctx) {
    struct engine_run run;
    return engine_live_run(k->engine, *(task_id *)ctx, &run) && run.tokens_in > 0;
}

FIXTURE_TEST(tokens_are_known_while_it_runs) {
    kit_open(&kit, QUICK);
    task_id task = ask("opencode");
    kit_wait_starts(&kit, 1);
    fake_report_started(fake_start_at(0)->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    prints(0, "opencode/ok", 0);
    kit_wait(&kit, has_tokens, &task, "the tokens of the live run");
    kit_restart(&kit); /* and of one that a daemon finds alive, once more from its log */
    assert_int_equal(kit_view(&kit, task).attempt, 1);
}
