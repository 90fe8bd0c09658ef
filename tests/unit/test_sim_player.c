/* test_sim_player.c: the simulation against a core that follows a script.
 *
 * The functions of core.h are implemented here, so that the core can do what the real one never
 * does: ask for an immediate wakeup forever, or stop a run halfway. */
#include <errno.h>
#include <string.h>

#include "harness/test.h"
#include "sim/player.h"

struct core {
    struct symbol_table symbols;
    time_ms now;
    struct order orders[4];
    size_t order_count;
    bool always_awake; /* asks for an immediate wakeup, and never does anything */
    bool stops;        /* stops the run ten seconds after its start */
    struct fact ended;
    time_ms ended_at;
    unsigned decisions;
    enum task_state state;
};

static struct core script;

struct symbol_table *core_symbols(struct core *core) {
    return &core->symbols;
}

int core_apply(struct core *core, const struct fact *fact, struct error *err) {
    (void)err;
    if (fact->kind == FACT_CLOCK)
        core->now = fact->now;
    if (fact->kind == FACT_RUN_ENDED) {
        core->ended = *fact;
        core->ended_at = core->now;
        core->state = fact->ended.outcome == OUTCOME_OK ? TASK_DONE : TASK_CANCELED;
    }
    return 0;
}

const char *fact_kind_name(enum fact_kind kind) {
    (void)kind;
    return "fact";
}

const struct order *core_decide(struct core *core, size_t *ret_count) {
    core->order_count = 0;
    if (core->decisions++ == 0 && !core->always_awake)
        core->orders[core->order_count++] =
            (struct order){ .kind = ORDER_START, .task = 1, .attempt = 1 };
    if (core->stops && core->now == SECONDS(10))
        core->orders[core->order_count++] =
            (struct order){ .kind = ORDER_STOP, .task = 1, .attempt = 1 };
    *ret_count = core->order_count;
    return core->orders;
}

time_ms core_next_wakeup(const struct core *core) {
    if (core->always_awake)
        return core->now;
    return core->stops && core->now < SECONDS(10) ? SECONDS(10) : TIME_NEVER;
}

bool core_task(const struct core *core, task_id task, struct task_view *ret) {
    *ret = (struct task_view){ .id = task, .state = core->state };
    return true;
}

size_t core_explain(const struct core *core, task_id task, struct verdict ret[VERDICT_MAX]) {
    (void)core;
    (void)task;
    (void)ret;
    return 0;
}

static const char *name_of(const void *ctx, task_id task) {
    (void)ctx;
    (void)task;
    return "a-1";
}

static void hint_of(const void *ctx, task_id task, struct sim_hint *ret) {
    (void)ctx;
    (void)task;
    *ret = (struct sim_hint){ .duration_min = SECONDS(60), .duration_max = SECONDS(60) };
}

bool core_share(const struct core *core, sym project, struct share_view *ret) {
    (void)core;
    (void)project;
    *ret = (struct share_view){ .weight_milli = 1000, .open = true };
    return true;
}

static int play(struct sim_play *ret, struct error *err) {
    script.state = TASK_READY;
    const struct sim_world world = {
        .core = &script,
        .task_count = 1,
        .runs_cap = UNLIMITED,
        .name = name_of,
        .hint = hint_of,
    };
    const struct sim_options options = { 1, DAYS(30), TIME_NEVER, 0 };
    return sim_play_run(&world, &options, ret, err);
}

TEST(a_core_that_never_sleeps_is_an_error_and_no_hang) {
    script = (struct core){ .always_awake = true };
    struct sim_play result = { 0 };
    struct error err = { 0 };
    assert_int_equal(play(&result, &err), -ENOTRECOVERABLE);
    assert_non_null(strstr(err.text, "internal error"));
    assert_true(script.decisions < 100);
}

TEST(a_run_that_is_stopped_ends_as_canceled_after_the_grace) {
    script = (struct core){ .stops = true };
    struct sim_play result = { 0 };
    assert_int_equal(play(&result, NULL), 0);
    assert_int_equal(script.ended.ended.outcome, OUTCOME_CANCELED);
    assert_int_equal(script.ended_at, SECONDS(10) + SIM_STOP_DURATION);
    assert_int_equal(result.runs[0].end, SECONDS(10) + SIM_STOP_DURATION);
    sim_play_finish(&result);
}

TEST(a_run_that_is_left_alone_ends_by_its_hint) {
    script = (struct core){ 0 };
    struct sim_play result = { 0 };
    assert_int_equal(play(&result, NULL), 0);
    assert_int_equal(script.ended.ended.outcome, OUTCOME_OK);
    assert_int_equal(script.ended_at, SECONDS(60));
    assert_int_equal(result.how, SIM_DRAINED);
    sim_play_finish(&result);
}
