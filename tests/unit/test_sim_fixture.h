/* test_sim_fixture.h: simulates a snapshot given as text. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim_report.h"

struct sim_test {
    struct snapshot *snapshot;
    struct sim_world world;
    struct sim_options options;
    struct sim_play play;
    struct sim_result result;
    struct sim_case c;
};

/* Simulates until the horizon of `options`; NULL: seed 1, 30 days, without approvals. `override` may be
 * NULL. Call sim_test_finish at the end. */
static inline void sim_test_play(struct sim_test *t, const char *json, const char *override,
                                 const struct sim_options *options) {
    struct error err = { 0 };
    *t = (struct sim_test){ .options = { 1, DAYS(30), TIME_NEVER, 0 } };
    if (options)
        t->options = *options;
    const struct snapshot_options read = { &override, override ? 1 : 0 };
    char *copy = strdup(json);
    FILE *in = fmemopen(copy, strlen(json), "r");
    if (snapshot_read(in, "test", &read, &t->snapshot, &err) < 0)
        fail_msg("snapshot: %s", err.text);
    (void)fclose(in);
    free(copy);
    world_from_snapshot(t->snapshot, &t->world);
    if (sim_play_run(&t->world, &t->options, &t->play, &err) < 0)
        fail_msg("play: %s", err.text);
    sim_result_build(&t->world, &t->options, &t->play, &t->result);
    t->c = (struct sim_case){ override ? override : "test", &t->world, &t->play, &t->result };
}

static inline void sim_test_finish(struct sim_test *t) {
    sim_result_finish(&t->result);
    sim_play_finish(&t->play);
    t->snapshot = snapshot_free(t->snapshot);
}

/* The n-th attempt (from 1) of a task; the test fails if it does not exist. */
static inline const struct sim_run *sim_test_run(const struct sim_test *t, const char *task,
                                                 unsigned n) {
    task_id id = snapshot_find(t->snapshot, task);
    for (size_t i = 0; i < t->play.run_count; i++)
        if (t->play.runs[i].task == id && --n == 0)
            return &t->play.runs[i];
    fail_msg("task '%s' has no such run", task);
    return NULL;
}

static inline time_ms sim_test_start(const struct sim_test *t, const char *task, unsigned n) {
    return sim_test_run(t, task, n)->start - t->play.begin;
}

static inline time_ms sim_test_end(const struct sim_test *t, const char *task, unsigned n) {
    return sim_test_run(t, task, n)->end - t->play.begin;
}
