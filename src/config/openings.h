/* openings.h: the opening hours of a configuration: projects, agents and limiters whose `hours` are
 * set, each with its time zone.
 *
 * Life:  openings_read → opening_at … → openings_finish. The list is independent of the
 *        configuration, so another thread may use it. */
#pragma once

#include "base/time_ms.h"
#include "calendar/hours.h"
#include "config/config.h"
#include "config/zones.h"

struct opening {
    enum lease_kind scope; /* LEASE_PROJECT, LEASE_AGENT or LEASE_LIMITER */
    char *name;
    char *text, *zone_name; /* the settings */
    struct hours hours;
    const struct zone *zone;
};

struct openings {
    struct opening *items; /* projects, agents, limiters; each in the order of the configuration */
    size_t count, capacity;
    struct zones zones;
};

/* Errors name the key. */
int openings_read(const struct config *config, struct openings *ret, struct error *err);
void openings_finish(struct openings *openings); /* safe on a zeroed one; usable with _cleanup_ */

struct opening_state {
    bool open;
    time_ms until; /* when it closes or opens; TIME_NEVER: never */
};
/* At a time of the wall clock. */
struct opening_state opening_at(const struct opening *opening, time_ms wall);
