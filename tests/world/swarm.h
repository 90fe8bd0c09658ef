/* swarm.h: what can happen in a world. Each seed switches a random part of it on: a world in which
 * everything happens at once hides the faults that need one thing to happen a hundred times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"

enum swarm_switch {
    /* features */
    HAS_CAPS,
    HAS_WEIGHTS,
    HAS_PARENTS,
    HAS_FREE_CHILDREN, /* parent_gate: none */
    HAS_DEPENDENCIES,
    HAS_SERIAL,
    HAS_WISHES, /* for a workspace */
    HAS_RESOURCES,
    HAS_REVIEW,
    HAS_UNTIL,
    HAS_GROUPS,
    HAS_AGENTS,
    HAS_LIMITERS,
    HAS_ROSTER,
    HAS_BUDGETS,
    HAS_KEPT_PLACES,
    HAS_OUTSIDERS, /* runs and locks of others */
    HAS_HOST,
    HAS_PACE,
    HAS_ROOTS,
    HAS_ARTIFACTS,
    HAS_PROBES,
    HAS_HOURS,
    HAS_RESERVES,
    HAS_DRAFTS,
    HAS_FORWARD, /* tasks that name others before they come */
    HAS_MAX_WAIT,
    HAS_DOCUMENT_SHARES,
    HAS_STRICT_RULES, /* count_launches, launch_is_failed, dependency_fails, … */
    HAS_BURSTS,       /* several facts in one turn */
    /* how runs go */
    RUNS_START_SLOWLY,
    RUNS_FAIL_TO_LAUNCH,
    RUNS_FAIL,
    RUNS_STAY_UNFINISHED,
    RUNS_ARE_INVALID,
    RUNS_TIME_OUT,
    RUNS_ARE_LIMITED,
    RUNS_CLOSE_ACCOUNTS,
    RUNS_SPEND_BUDGETS,
    RUNS_ARE_LOST,
    RUNS_ARE_CANCELED,
    RUNS_CONFLICT,
    RUNS_ARE_DENIED,
    RUNS_ASK,
    RUNS_WAIT_FOR_CHECKS,
    RUNS_REPORT_NOTHING,
    RUNS_STOP_LATE,
    RUNS_WAIT, /* for tasks below them, which then have more parents that live */
    /* what goes wrong between */
    ORDERS_ARE_REFUSED,
    FACTS_COME_TWICE,
    FACTS_COME_LATE,
    FACTS_ARE_NONSENSE,
    CLOCK_JUMPS,
    DAEMON_CRASHES,
    DAEMON_CRASHES_BEFORE_COMMIT,
    /* what people do */
    PEOPLE_PAUSE,
    PEOPLE_HOLD,  /* hold, release, clear, cancel */
    PEOPLE_JUDGE, /* approve, reject, again, retry, marker */
    PEOPLE_TAKE_OVER,
    PEOPLE_DELETE,
    PEOPLE_REORDER, /* priorities, dependencies */
    PEOPLE_CONFIGURE,
    SWITCHES,
};

struct swarm {
    uint64_t on;
};

void swarm_draw(struct swarm *swarm, struct rng *rng);
void swarm_print(const struct swarm *swarm, struct strbuf *out);

static inline bool swarm_has(const struct swarm *swarm, enum swarm_switch which) {
    return (swarm->on >> which) & 1u;
}
