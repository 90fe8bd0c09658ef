/* opening_hours.h: the hours in which projects, agents and accounts take tasks (`hours`).
 *
 * The configuration has the hours; nothing is stored. The core gets FACT_HOURS when they open and
 * close, and knows no calendar. Times here are those of the wall clock, in ms. */
#pragma once

#include "engine/engine.h"

struct engine_hours {
    enum lease_kind scope; /* LEASE_PROJECT, LEASE_AGENT or LEASE_LIMITER */
    const char *name;
    const char *text;     /* as configured */
    const char *timezone; /* "": that of the system */
    bool open;
    time_ms until; /* when they close or open; TIME_NEVER: never */
};

/* False: it has no hours. */
bool engine_hours(const struct engine *engine, enum lease_kind scope, const char *name,
                  struct engine_hours *ret);
/* All of them: projects, agents, limiters, each in the order of the configuration. */
size_t engine_hours_count(const struct engine *engine);
void engine_hours_at(const struct engine *engine, size_t index, struct engine_hours *ret);
