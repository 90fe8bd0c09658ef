/* sim_report.h: reports of a play: numbers, tables, charts, JSON.
 *
 * Life:       sim_play_run → sim_result_build → print → sim_result_finish
 * Borrowed:   names belong to the world's core, so the world must outlive the result. */
#pragma once

#include "base/strbuf.h"
#include "sim/player.h"

/* From when a task was ready (not before the beginning) to its first start; of started tasks. */
struct sim_waits {
    size_t count;
    double mean;
    time_ms p50, p95, max;
};

struct sim_group_result {
    const char *name; /* "-": tasks without a kind */
    int64_t weight;   /* projects: thousandths; -1: paused or not active */
    uint32_t tasks, done, failed;
    uint32_t runs, peak;
    int64_t tokens;
    time_ms busy;  /* total duration of its runs */
    double share;  /* of all tokens, 0..1 */
    double target; /* projects: its part of the weights of all projects with tasks, 0..1 */
    /* The same for the runs that started while at least two projects had ready tasks; -1: none did.
     * Only these shares can be decided by the scheduler. */
    double contested_share, contested_target;
    double mean_wait, mean_run;
    uint32_t waited; /* tasks in mean_wait */
};

/* Tasks that are not final, by the first gate that stops them. */
struct sim_left {
    char *code; /* "dependency", "lease:kind:plan", "held:review", "running", "draft" */
    uint32_t count;
    task_id example; /* the first of them */
    char *message;   /* why that task waits; "" if it does not */
};

struct sim_result {
    uint64_t seed;
    time_ms makespan;
    enum sim_end how;
    amount runs_cap; /* UNLIMITED */
    uint32_t peak;
    time_ms busy;
    double utilisation; /* busy / (slots · makespan), 0..1 */
    struct sim_waits waits;
    uint32_t tasks; /* neither final nor drafts at the beginning */
    uint32_t by_state[TASK_STATE_MAX];
    uint32_t attempts;
    uint32_t retries; /* attempts after the first of a task, except after a rate limit */
    uint32_t limited, failed_attempts, stopped;
    int64_t tokens;
    uint64_t steps;
    struct sim_group_result *projects, *kinds;
    size_t project_count, kind_count;
    struct sim_left *left; /* most tasks first */
    size_t left_count;
};

void sim_result_build(const struct sim_world *world, const struct sim_options *options,
                      const struct sim_play *play, struct sim_result *ret_result);
void sim_result_finish(struct sim_result *result); /* safe on a zeroed one; usable with _cleanup_ */

/* Did the attempt fail? False if it was limited or stopped. */
bool sim_outcome_failed(enum outcome outcome);

/* --- text chart --------------------------------------------------------------------------------
 *
 * Up to 40 tasks: one row each, with its waits and failed attempts. More: one lane per project whose
 * height is the number of runs. */

#define GANTT_ROWS_MAX 40

struct gantt_style {
    unsigned width; /* columns of a line */
    bool unicode;   /* else ASCII */
    bool colour;
};

/* `span`: the time that the width represents; 0: that of the play. */
void gantt_print(const struct sim_world *world, const struct sim_play *play, time_ms span,
                 const struct gantt_style *style, struct strbuf *out);

/* --- reports --------------------------------------------------------------------------------- */

struct sim_case {
    const char *title; /* "night.json", "with limits.runs=8" */
    const struct sim_world *world;
    const struct sim_play *play;
    const struct sim_result *result;
};

/* Numbers, tables, chart. */
void report_print(const struct sim_case *c, const struct gantt_style *style, struct strbuf *out);
/* The numbers of both and their differences, then both charts on one time scale. */
void report_compare(const struct sim_case *now, const struct sim_case *with,
                    const struct gantt_style *style, struct strbuf *out);

/* Everything as one JSON object (docs/reference/cli/sim.md). `with` may be NULL; `overrides` are
 * the KEY=VALUE pairs of its play, ending with NULL. */
void report_json(const struct sim_case *now, const struct sim_case *with,
                 const char *const *overrides, struct strbuf *out);

/* --- SVG ---------------------------------------------------------------------------------------
 *
 * A self-contained file without scripts: light or dark as the viewer prefers, with tooltips. Two
 * cases are drawn below each other on one time scale. Up to 60 tasks: one row each. More: the runs
 * of a project packed on lanes. Far more: its number of runs as an area. */

/* `with` may be NULL. */
void svg_print(const struct sim_case *now, const struct sim_case *with, struct strbuf *out);
