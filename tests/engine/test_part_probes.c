/* test_part_probes.c: when the commands of gates are called, and what their answers do (docs/guide/probes.md). The test stands
 * for the helper processes. Pending checks are tested with the daemon. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/launch/launch_internal.h"
#include "engine/probes/probes_internal.h"
#include "engine/redaction.h"
#include "harness/test.h"
#include "part_kit.h"
#include "rundir/rundir.h"

/* --- fakes ------------------------------------------------------------------------------------ */

static struct {
    unsigned calls, stopped;
    struct call {
        helper_ended ended;
        void *ctx;
        char command[64], folder[64];
    } live[8];
    unsigned count;
    int refuse; /* the next call cannot be started */
} helpers;

int guard_start(struct engine *e, const struct guard_call *call, struct helper_process **ret_helper,
                struct error *err) {
    (void)e;
    if (helpers.refuse)
        return error_set(err, helpers.refuse, "no more processes");
    struct call *c = &helpers.live[helpers.count++];
    *c = (struct call){ .ended = call->ended, .ctx = call->ctx };
    snprintf(c->command, sizeof(c->command), "%s", call->command.argv[0]);
    snprintf(c->folder, sizeof(c->folder), "%s", call->command.cwd);
    helpers.calls++;
    *ret_helper = (struct helper_process *)c;
    return 0;
}

struct helper_process *helper_kill(struct helper_process *helper) {
    (void)helper;
    return NULL;
}

void helper_stop(struct helper_process *helper) {
    (void)helper;
    helpers.stopped++;
}

void helper_mark(const char *home, struct strbuf *out) {
    strbuf_printf(out, "MARK=%s", home);
}

bool turn_is_over(const struct engine *e) {
    (void)e;
    return false;
}

void turn_break(struct engine *e, const struct error *why) {
    (void)e;
    fail_msg("%s", why->text);
}

int rundir_read_spec(const char *root, const char *folder, const struct tag_key *key,
                     struct run_spec_read **ret, struct error *err) {
    (void)root, (void)folder, (void)key, (void)ret;
    return error_set(err, -ENOENT, "no such run");
}

void run_spec_read_free(struct run_spec_read **read) {
    (void)read;
}

void rundir_name(struct strbuf *out, const char *task, uint32_t attempt) {
    strbuf_printf(out, "%s/%u", task, attempt);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the real one changes it
void engine_redact_in_place(const struct engine *engine, char *text) {
    (void)engine, (void)text;
}

const char *const *secrets_check_env(const struct engine *e, struct run_key key,
                                     const struct run_spec *spec, struct arena *arena) {
    (void)e, (void)key, (void)arena;
    return spec->env;
}

/* No project has secrets. */
struct secrets *secrets_of_project(struct engine *e, const char *project, void (*ready)(void *ctx),
                                   void *ctx) {
    (void)e, (void)project, (void)ready, (void)ctx;
    return NULL;
}

bool secrets_are_complete(const struct secrets *secrets) {
    (void)secrets;
    return true;
}

int secrets_add_to(const struct secrets *secrets, const char *const *env, struct arena *arena,
                   const char *const **ret_env, struct error *err) {
    (void)secrets, (void)arena, (void)err;
    *ret_env = env;
    return 0;
}

struct secrets *secrets_free_project(struct secrets *secrets) {
    (void)secrets;
    return NULL;
}

/* --- the kit ---------------------------------------------------------------------------------- */

static struct part_kit kit;

static void begin(void) {
    static char path[] = "PATH=/bin", data[] = "/data";
    static char *environment[] = { path, NULL };
    memset(&helpers, 0, sizeof(helpers));
    part_kit_new(&kit, &probes_part, PART_probes);
    kit.engine.options.environment = environment;
    kit.engine.started = true;
    kit.engine.data = data;
}

static void finish(void) {
    kit.engine.data = NULL;
    part_kit_free(&kit);
}

/* One turn and the end of its round. */
static void turn(time_ms later) {
    kit.engine.now += later;
    part_kit_step(&kit, STEP_FACTS);
    (void)part_kit_decide(&kit);
    part_kit_step(&kit, STEP_ROUND_END);
}

/* A waiting task with this gate, whose spec was read. */
static void add_task(task_id task, task_id after, const char *gate) {
    char json[256];
    snprintf(json, sizeof(json), "{\"gate\":%s}", gate);
    part_kit_add_task(&kit, task, after);
    struct fact fact = { .kind = FACT_PROBE, .task = task, .probe_open = false };
    assert_int_equal(core_apply(kit.engine.core, &fact, NULL), 0);
    probe_want(&kit.engine, task);
    turn(0);
    struct spec_row row = { .id = task, .json = json, .json_size = strlen(json) };
    part_kit_answer(&(struct store_answer){ .count = 1, .specs = &row });
    turn(0);
}

static void end_call(int code, const char *output) {
    assert_true(helpers.count > 0);
    struct call c = helpers.live[0];
    memmove(helpers.live, helpers.live + 1, --helpers.count * sizeof(c));
    c.ended(c.ctx, &(struct helper_end){
                       .code = code, .output = output, .size = strlen(output), .why = "" });
    turn(0);
}

static const char *why(task_id task) {
    static char text[256];
    struct strbuf out = STRBUF_INIT;
    (void)engine_explain_probe(&kit.engine, task, &out);
    snprintf(text, sizeof(text), "%s", strbuf_text(&out));
    strbuf_finish(&out);
    return text;
}

#define EACH_MINUTE "{\"argv\":[\"ask\"]}"

/* --- answers ---------------------------------------------------------------------------------- */

TEST(the_exit_code_is_the_answer_and_the_last_line_the_reason) {
    static const struct {
        struct helper_end end;
        enum probe_answer answer;
        const char *reason;
    } rows[] = {
        { { .code = 0, .output = "merged\n" }, PROBE_YES, "merged" },
        { { .code = 75, .output = "a\n2 pending\n\n" }, PROBE_PENDING, "2 pending" },
        { { .code = 1, .output = "\x1b[31mred\x1b[0m\n" }, PROBE_NO, "red" },
        { { .code = 3, .output = "" }, PROBE_NO, "exit code 3" },
        { { .code = -1, .signal = 9, .output = "" }, PROBE_NO, "signal 9" },
        { { .code = 75, .output = "" }, PROBE_PENDING, "" },
        { { .code = -1, .timed_out = true, .output = "half" }, PROBE_NO, "took too long" },
        { { .code = -1, .error = ENOENT, .output = "" },
          PROBE_NO,
          "cannot be run: No such file or directory" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct helper_end end = rows[i].end;
        struct strbuf reason = STRBUF_INIT;
        end.size = strlen(end.output);
        end.why = "";
        assert_int_equal(probe_answer_of(&end, &reason), rows[i].answer);
        assert_string_equal(strbuf_text(&reason), rows[i].reason);
        strbuf_finish(&reason);
    }
}

TEST(a_long_line_is_cut_between_characters) {
    char output[1001] = { 0 };
    for (size_t i = 0; i < 1000; i++)
        output[i] = i % 2 == 0 ? '\xc3' : '\xa4';
    struct strbuf reason = STRBUF_INIT;
    struct helper_end end = { .code = 75, .output = output + 1, .size = 999, .why = "" };
    assert_int_equal(probe_answer_of(&end, &reason), PROBE_PENDING);
    assert_true(reason.length <= PROBE_LINE_MAX && reason.length > PROBE_LINE_MAX - 4);
    assert_int_not_equal((unsigned char)reason.text[reason.length - 1], 0xc3);
    strbuf_finish(&reason);
}

TEST(the_pause_doubles_up_to_its_limit_and_never_shrinks) {
    assert_int_equal(probe_pause(SECONDS(60), MINUTES(10), 0), SECONDS(60));
    assert_int_equal(probe_pause(SECONDS(60), MINUTES(10), 1), SECONDS(120));
    assert_int_equal(probe_pause(SECONDS(60), MINUTES(10), 4), MINUTES(10));
    assert_int_equal(probe_pause(SECONDS(60), MINUTES(10), UINT32_MAX), MINUTES(10));
    assert_int_equal(probe_pause(MINUTES(30), MINUTES(10), 7), MINUTES(30));
}

/* --- gates ------------------------------------------------------------------------------------ */

TEST(yes_opens_the_gate) {
    begin();
    add_task(1, 0, EACH_MINUTE);
    assert_int_equal(helpers.calls, 1);
    assert_string_equal(helpers.live[0].command, "ask");
    assert_int_equal(part_kit_state(&kit, 1), TASK_WAITING);
    end_call(0, "ok\n");
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    turn(HOURS(1));
    assert_int_equal(helpers.calls, 1);
    finish();
}

TEST(not_yet_and_no_are_asked_again_with_growing_pauses_until_the_answer_changes) {
    begin();
    add_task(1, 0, EACH_MINUTE);
    end_call(75, "1 pending\n");
    assert_string_equal(why(1), "its gate says not yet: 1 pending");
    unsigned events = part_log.events;
    turn(SECONDS(59));
    assert_int_equal(helpers.calls, 1);
    turn(SECONDS(1));
    assert_int_equal(helpers.calls, 2);
    end_call(75, "1 pending\n");
    assert_int_equal(part_log.events, events); /* nothing has changed */
    turn(SECONDS(119));
    assert_int_equal(helpers.calls, 2);
    turn(SECONDS(1));
    assert_int_equal(helpers.calls, 3);
    end_call(1, "1 failed\n");
    assert_string_equal(why(1), "its gate says no: 1 failed");
    assert_int_equal(part_log.events, events + 1);
    assert_string_equal(part_log.event_kind, "task.probe");
    turn(SECONDS(60));
    assert_int_equal(helpers.calls, 4);
    assert_int_equal(part_kit_state(&kit, 1), TASK_WAITING);
    end_call(0, "");
    finish();
}

TEST(equal_gates_are_asked_once) {
    begin();
    part_kit_set(&kit, "limits.runs", "100");
    for (task_id task = 1; task <= 20; task++)
        add_task(task, 0, EACH_MINUTE);
    assert_int_equal(helpers.calls, 1);
    end_call(75, "");
    turn(SECONDS(60));
    assert_int_equal(helpers.calls, 2);
    end_call(0, "");
    for (task_id task = 2; task <= 20; task++)
        assert_int_not_equal(part_kit_state(&kit, task), TASK_WAITING);
    finish();
}

TEST(at_most_max_running_calls_at_once) {
    begin();
    part_kit_set(&kit, "probes.max_running", "2");
    add_task(1, 0, "{\"argv\":[\"a\"]}");
    add_task(2, 0, "{\"argv\":[\"b\"]}");
    add_task(3, 0, "{\"argv\":[\"c\"]}");
    assert_int_equal(helpers.calls, 2);
    end_call(75, "");
    assert_int_equal(helpers.calls, 3);
    assert_int_equal(helpers.count, 2);
    end_call(75, "");
    end_call(75, "");
    finish();
}

TEST(a_gate_is_not_asked_before_the_dependencies_are_done) {
    begin();
    part_kit_add_task(&kit, 1, 0);
    add_task(2, 1, EACH_MINUTE);
    assert_int_equal(helpers.calls, 0);
    part_kit_run(&kit, 1, OUTCOME_OK);
    turn(0);
    turn(0);
    assert_int_equal(helpers.calls, 1);
    end_call(0, "");
    assert_int_equal(part_kit_state(&kit, 2), TASK_STARTING);
    finish();
}

TEST(a_gate_that_does_not_say_yes_in_time_fails_its_task) {
    begin();
    add_task(1, 0, "{\"argv\":[\"ask\"],\"timeout_s\":90}");
    end_call(75, "waiting\n");
    turn(SECONDS(60));
    end_call(75, "waiting\n");
    turn(SECONDS(30)); /* once more at the end, before the next period */
    assert_int_equal(helpers.calls, 3);
    assert_int_equal(part_kit_state(&kit, 1), TASK_WAITING);
    end_call(75, "still waiting\n");
    assert_int_equal(part_kit_state(&kit, 1), TASK_FAILED);
    assert_string_equal(why(1), "its gate did not say yes in time: still waiting");
    finish();
}

TEST(a_command_that_cannot_be_started_is_no) {
    begin();
    helpers.refuse = -EAGAIN;
    add_task(1, 0, EACH_MINUTE);
    turn(0);
    assert_string_equal(why(1), "its gate says no: no more processes");
    helpers.refuse = 0;
    turn(SECONDS(60));
    assert_int_equal(helpers.calls, 1);
    end_call(0, "");
    assert_int_equal(part_kit_state(&kit, 1), TASK_STARTING);
    finish();
}

TEST(a_canceled_task_stops_its_call) {
    begin();
    add_task(1, 0, EACH_MINUTE);
    assert_int_equal(part_kit_apply(&kit, FACT_CANCEL, 1), 0);
    turn(0);
    assert_int_equal(helpers.stopped, 1);
    end_call(0, "");
    assert_int_equal(part_kit_state(&kit, 1), TASK_CANCELED);
    struct engine_probe_counts counts;
    engine_count_probes(&kit.engine, &counts);
    assert_int_equal(counts.tasks + counts.commands + counts.running, 0);
    finish();
}
