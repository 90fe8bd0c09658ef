/* hosts.h: runs on unreachable hosts, whose daemon is not the active one.
 *
 * A local run belongs to the host that started it: its lock, processes and boot mean nothing on
 * another machine. While the active daemon is on another host, the run is unreachable: it stays
 * live, keeps its slots and its charge, and is not replaced. Its shim enforces its deadlines, and a
 * stop is remembered. When the daemon of its host is active again, it adopts the run as after any
 * restart.
 *
 * Only a person can know that a host is lost for good: engine_forget_host ends its runs as lost. If
 * the host returns, what is still running of them there is killed. */
#pragma once

#include "engine/engine.h"

struct verdict;

struct engine_host_state {
    const char *name;
    uint32_t runs;            /* live runs there */
    bool is_ours;             /* this daemon's host; all others are unreachable */
    time_ms since;            /* when another daemon took over; 0: ours */
    time_ms forgotten_at;     /* most recently; 0: never */
    const char *forgotten_by; /* NULL: unknown */
};
/* Ours first, then those with live runs or forgotten ones, in the order in which they became so. */
size_t engine_host_count(const struct engine *engine);
struct engine_host_state engine_host_at(const struct engine *engine, size_t index);

uint32_t engine_unreachable_count(const struct engine *engine);
/* Whether the live run of this task is on an unreachable host, and on which. */
bool engine_unreachable_run(const struct engine *engine, task_id task,
                            struct engine_host_state *ret);
/* How many holders of slots of this closed gate are unreachable; *ret_host: one of their hosts. */
uint32_t engine_unreachable_holders(const struct engine *engine, const struct verdict *verdict,
                                    const char **ret_host);

/* Inside a turn: ends its runs as lost; their tasks continue as after any loss. `by`: who asked, or
 * NULL. 1: already forgotten, with no runs. -EBUSY: our own host; -ENOENT: unknown host. */
int engine_forget_host(struct engine *engine, const char *name, const char *by, uint32_t *ret_runs,
                       struct error *err);
