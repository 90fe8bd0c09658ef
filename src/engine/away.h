/* away.h: runs on hosts whose daemon is not the active one.
 *
 * A local run belongs to the host that started it: its lock, its processes and its boot say nothing to
 * another machine. While the active daemon is on another host, such a run is *away*: it stays live and
 * keeps its places and its charge, nothing is started in its stead, its deadlines are its shim's own, and a stop is
 * remembered. When the daemon of its host is active again, it is adopted as after any restart.
 *
 * Only a person can know that a host is gone for good: engine_forget_host ends its runs as lost. If it
 * comes back all the same, what still lives of them there is killed. */
#pragma once

#include "engine/engine.h"

struct verdict;

struct engine_host_state {
    const char *name;
    uint32_t runs;            /* that live there */
    bool is_ours;             /* of this daemon: the others are unreachable */
    time_ms since;            /* when another daemon took over; 0: it is ours */
    time_ms forgotten_at;     /* the last time; 0: never */
    const char *forgotten_by; /* with it; NULL: nobody knows */
};
/* Ours first, then those that have live runs or were forgotten, in the order in which they became so. */
size_t engine_host_count(const struct engine *engine);
struct engine_host_state engine_host_at(const struct engine *engine, size_t index);

uint32_t engine_unreachable_count(const struct engine *engine);
/* Is the live run of this task away, and where? */
bool engine_unreachable_run(const struct engine *engine, task_id task,
                            struct engine_host_state *ret);
/* How many of those that hold places of this closed gate are away; *ret_host: one of their hosts. */
uint32_t engine_unreachable_holders(const struct engine *engine, const struct verdict *verdict,
                                    const char **ret_host);

/* Inside a turn: its runs end as lost, and their tasks go on as after any loss. `by`: who says it, or NULL.
 * 1: that was said before, and there are none. -EBUSY: it is our own; -ENOENT: nobody knows it. */
int engine_forget_host(struct engine *engine, const char *name, const char *by, uint32_t *ret_runs,
                       struct error *err);
