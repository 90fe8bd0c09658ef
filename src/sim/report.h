/* report.h: a play, or two of them side by side, for people and for programs. */
#pragma once

#include "sim/gantt.h"
#include "sim/result.h"

/* One play and all that belongs to it. */
struct sim_case {
    const char *title; /* "night.json", "with limits.runs=8" */
    const struct sim_world *world;
    const struct sim_play *play;
    const struct sim_result *result;
};

/* Numbers, tables, chart. */
void report_print(const struct sim_case *c, const struct gantt_style *style, struct strbuf *out);
/* The numbers of both and how they differ, then both charts on one time scale. */
void report_compare(const struct sim_case *now, const struct sim_case *with,
                    const struct gantt_style *style, struct strbuf *out);

/* Everything as one JSON object (docs/cli/sim.md). `with` may be NULL; `overrides` are the
 * KEY=VALUE pairs it was played with, NULL at the end. */
void report_json(const struct sim_case *now, const struct sim_case *with,
                 const char *const *overrides, struct strbuf *out);
