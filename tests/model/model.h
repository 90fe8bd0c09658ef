/* model.h: the rules of docs/internals/rules.md a second time, as slowly and plainly as they can be written.
 *
 * Takes the same facts as the core and gives the same orders. It keeps no counter, no index and no
 * list in order: which tasks hold a slot, which depend on which, what a project used and who is next is
 * found by looking at everything, each time. So it can be compared with the rules, line by
 * line, and a mistake in the core's bookkeeping cannot be repeated here.
 *
 * Life: model_new → model_apply … → model_decide → model_free. Only tests link it. */
#pragma once

#include "base/error.h"
#include "core/fact.h"
#include "core/order.h"

struct model;

struct model *model_new(void);
void model_free(struct model *m);
DEFINE_FREEP(struct model, model_free);

/* 0: applied. 1: ignored. <0: refused, nothing changed. */
int model_apply(struct model *m, const struct fact *fact, struct error *err);

/* All orders since the last call, then what starts now. Valid until the next call of either. */
const struct order *model_decide(struct model *m, size_t *ret_count);

/* The first closed gate of a task. */
struct model_block {
    enum gate gate;
    enum lease_kind lease; /* with GATE_LEASE */
    sym key;               /* what the lease, limiter, agent or project is called */
    sym key_project;       /* with LEASE_SERIAL */
    sym key_kind;          /* with LEASE_SERIAL */
};
bool model_blocked(const struct model *m, task_id task, struct model_block *ret);

/* A task as it is now. */
struct model_view {
    task_id id, parent;
    enum task_state state;
    enum hold hold;
    enum run_phase phase;
    enum until until;
    bool stopping;
    uint32_t depth, iteration, attempt;
    uint16_t failures, launch_failures, losses, restarts;
    int32_t priority, score;
    time_ms not_before; /* held or draining: when that ends by itself; 0 = never */
    time_ms waited;     /* ready only */
    bool overdue;       /* ready only */
};
size_t model_task_count(const struct model *m);
struct model_view model_task_at(const struct model *m, size_t index); /* in the order added */

/* Its place among those that wait; 1: the next. It must be waiting or ready. */
amount model_position(const struct model *m, task_id task);
bool model_has_overdue(const struct model *m); /* then a place in the queue is an estimate */

/* What a restart does not keep (docs/internals/invariants.md, I23) is gone. */
void model_restart(struct model *m);

time_ms model_now(const struct model *m);
time_ms model_backoff_until(const struct model *m, sym limiter); /* 0: none */

/* Tokens and starts of a project in the window. */
struct model_share {
    int64_t money, money_reserved;
    uint32_t priced, unpriced;
    int64_t tokens;   /* of ended runs */
    int64_t reserved; /* charged to live and external runs */
    uint32_t starts, completions;
};
bool model_knows_project(const struct model *m, sym project);
struct model_share model_share(const struct model *m, sym project);
