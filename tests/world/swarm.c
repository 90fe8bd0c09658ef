/* swarm.c: see swarm.h. */
#include "swarm.h"

#include "base/macros.h"

/* Names, and how many of a hundred seeds have it. */
static const struct {
    const char *name;
    unsigned percent;
} switches[] = {
    [HAS_CAPS] = { "caps", 60 },
    [HAS_WEIGHTS] = { "weights", 50 },
    [HAS_PARENTS] = { "parents", 60 },
    [HAS_FREE_CHILDREN] = { "free-children", 50 },
    [HAS_DEPENDENCIES] = { "dependencies", 60 },
    [HAS_SERIAL] = { "serial", 40 },
    [HAS_WISHES] = { "wishes", 40 },
    [HAS_RESOURCES] = { "resources", 40 },
    [HAS_REVIEW] = { "review", 40 },
    [HAS_UNTIL] = { "until", 50 },
    [HAS_GROUPS] = { "groups", 50 },
    [HAS_AGENTS] = { "agents", 50 },
    [HAS_LIMITERS] = { "limiters", 60 },
    [HAS_ROSTER] = { "roster", 15 },
    [HAS_BUDGETS] = { "budgets", 35 },
    [HAS_KEPT_PLACES] = { "kept-places", 40 },
    [HAS_OUTSIDERS] = { "outsiders", 35 },
    [HAS_HOST] = { "host", 30 },
    [HAS_PACE] = { "pace", 30 },
    [HAS_ROOTS] = { "roots", 30 },
    [HAS_ARTIFACTS] = { "artifacts", 40 },
    [HAS_PROBES] = { "probes", 30 },
    [HAS_HOURS] = { "hours", 40 },
    [HAS_RESERVES] = { "reserves", 40 },
    [HAS_DRAFTS] = { "drafts", 40 },
    [HAS_FORWARD] = { "forward", 30 },
    [HAS_MAX_WAIT] = { "max-wait", 40 },
    [HAS_DOCUMENT_SHARES] = { "document-shares", 25 },
    [HAS_STRICT_RULES] = { "strict-rules", 30 },
    [HAS_BURSTS] = { "bursts", 40 },
    [RUNS_START_SLOWLY] = { "start-slowly", 50 },
    [RUNS_FAIL_TO_LAUNCH] = { "fail-to-launch", 50 },
    [RUNS_FAIL] = { "fail", 60 },
    [RUNS_STAY_UNFINISHED] = { "stay-unfinished", 50 },
    [RUNS_ARE_INVALID] = { "invalid", 50 },
    [RUNS_TIME_OUT] = { "time-out", 40 },
    [RUNS_ARE_LIMITED] = { "limited", 60 },
    [RUNS_CLOSE_ACCOUNTS] = { "close-accounts", 25 },
    [RUNS_SPEND_BUDGETS] = { "spend-budgets", 30 },
    [RUNS_ARE_LOST] = { "lost", 50 },
    [RUNS_ARE_CANCELED] = { "canceled", 30 },
    [RUNS_CONFLICT] = { "conflict", 30 },
    [RUNS_ARE_DENIED] = { "denied", 30 },
    [RUNS_ASK] = { "ask", 30 },
    [RUNS_WAIT_FOR_CHECKS] = { "wait-for-checks", 30 },
    [RUNS_REPORT_NOTHING] = { "report-nothing", 40 },
    [RUNS_STOP_LATE] = { "stop-late", 50 },
    [RUNS_WAIT] = { "wait", 40 },
    [ORDERS_ARE_REFUSED] = { "orders-refused", 40 },
    [FACTS_COME_TWICE] = { "facts-twice", 50 },
    [FACTS_COME_LATE] = { "facts-late", 50 },
    [FACTS_ARE_NONSENSE] = { "nonsense", 50 },
    [CLOCK_JUMPS] = { "clock-jumps", 40 },
    [DAEMON_CRASHES] = { "crashes", 50 },
    [DAEMON_CRASHES_BEFORE_COMMIT] = { "crashes-before-commit", 40 },
    [PEOPLE_PAUSE] = { "pause", 40 },
    [PEOPLE_HOLD] = { "hold", 60 },
    [PEOPLE_JUDGE] = { "judge", 60 },
    [PEOPLE_TAKE_OVER] = { "take-over", 40 },
    [PEOPLE_DELETE] = { "delete", 50 },
    [PEOPLE_REORDER] = { "reorder", 50 },
    [PEOPLE_CONFIGURE] = { "configure", 50 },
};
_Static_assert(ARRAY_SIZE(switches) == SWITCHES && SWITCHES <= 64, "a switch has no name");

void swarm_draw(struct swarm *swarm, struct rng *rng) {
    swarm->on = 0;
    for (unsigned i = 0; i < SWITCHES; i++) {
        if (rng_below(rng, 100) < switches[i].percent)
            swarm->on |= UINT64_C(1) << i;
    }
    if (swarm_has(swarm, HAS_ROSTER))
        swarm->on |= UINT64_C(1) << HAS_AGENTS;
    if (swarm_has(swarm, RUNS_WAIT)) /* else no task needs to borrow */
        swarm->on |= UINT64_C(1) << HAS_CAPS;
}

void swarm_print(const struct swarm *swarm, struct strbuf *out) {
    for (unsigned i = 0; i < SWITCHES; i++) {
        if (swarm_has(swarm, (enum swarm_switch)i))
            strbuf_printf(out, " %s", switches[i].name);
    }
}
