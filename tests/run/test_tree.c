/* test_tree.c: nothing that a command has started outlives its run, and what was left is counted. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

/* stage_free asks in each of these whether a registered process lives. */

BOTH_WAYS(what_is_left_behind_is_killed_and_counted) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "5", "7"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    assert_int_equal(end->leftover, 5);
    assert_int_equal(stage_registered(stage), 5);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

BOTH_WAYS(the_end_of_a_killed_command_is_the_end_of_its_tree) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "3", "die"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_SIGNAL);
    assert_int_equal(end->signal, SIGKILL);
    assert_int_equal(end->leftover, 3);
    stage_free(stage);
}

BOTH_WAYS(a_stop_reaches_those_with_their_own_session) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "20", "stay"));
    spec.grace = 100;
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 21);
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

BOTH_WAYS(a_large_tree_is_killed_whole) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("tree", "5", "3"));
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 1 + 5 + 25 + 125);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

BOTH_WAYS(a_chain_deeper_than_any_walk_is_killed) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("tree", "1", "60"));
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 61);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

BOTH_WAYS(children_of_other_threads_are_found) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("threads"));
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 2);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

/* Processes that live for a fraction of a millisecond and always have a child: only a kill of the complete
 * cgroup is sure to catch them. */
BOTH_WAYS(processes_that_detach_are_caught) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("runaway"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    if (!strstr(end->applied, "cgroup.kill"))
        print_message("killed without a cgroup: %s\n", end->applied);
    stage_free(stage);
}

/* Slots are used again; one that was killed must not hurt the next run. */
BOTH_WAYS(a_kill_does_not_reach_the_next_run) {
    struct stage *stage = STAGE(state);
    struct run_spec leave = stage_spec(stage, HOSTILE("leave", "1", "0"));
    struct run_spec good = stage_spec(stage, HOSTILE("exit", "8"));
    for (task_id task = 1; task < 12; task += 2) {
        assert_int_equal(stage_run(stage, task, &leave)->leftover, 1);
        const struct run_end *end = stage_run(stage, task + 1, &good);
        assert_int_equal(end->kind, RUN_END_EXIT);
        assert_int_equal(end->code, 8);
    }
    stage_free(stage);
}

BOTH_WAYS(the_way_of_killing_is_reported) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "1", "0"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    const struct executor_feature *features;
    size_t count = executor_features(stage->ex, &features);
    bool by_cgroup = false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(features[i].name, "cgroup.kill") == 0)
            by_cgroup = features[i].there;
    if (!strstr(end->applied, by_cgroup ? "cgroup.kill" : "subreaper.kill"))
        fail_msg("applied does not say how it was killed: '%s'", end->applied);
    stage_free(stage);
}
