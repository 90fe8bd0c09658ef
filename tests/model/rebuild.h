/* rebuild.h: a core that loads the rows of another one, and a comparison of the two.
 *
 * What a daemon has in its configuration is read from the old core's memory; what it has in its rows
 * is asked for with the functions a daemon uses. Afterwards the cores must be the same, but for what
 * docs/internals/invariants.md, I23, says a restart does not keep.
 *
 * Life: rebuild_begin → rebuild_tell (limiters, agents), rebuild_world, rebuild_tell (usage, waits),
 *       rebuild_task … → rebuild_end. Or all of it from one core: rebuild. */
#pragma once

#include "base/strbuf.h"
#include "core/core.h"

/* The row of one task, as a store would have it. */
struct stored_task {
    struct task_spec spec;
    task_id depends_on[8];
    sym resources[8];
    int64_t tokens, money; /* reported by its live run; -1: none */
    int64_t expected;      /* cost of its live run; 0: unknown */
};

/* False: the core does not know it. */
bool stored_task_read(const struct core *core, task_id task, struct stored_task *ret);

struct rebuilder {
    const struct core *old; /* for what is in no row */
    struct core *core;
    void (*observe)(void *ctx, const struct fact *fact); /* of each fact; may be NULL */
    void *ctx;
    int r; /* 0, or the first refusal */
    struct error err;
};

/* Names, clock, policy, projects, kinds. `old` and `heard` are set. */
void rebuild_begin(struct rebuilder *rb);
void rebuild_apply(struct rebuilder *rb, struct fact fact);
void rebuild_world(struct rebuilder *rb); /* caps, locks, the host, what runs outside */
void rebuild_task(struct rebuilder *rb, const struct stored_task *row);
/* The new core; NULL: something was refused, see err. */
struct core *rebuild_end(struct rebuilder *rb);

struct core *rebuild(const struct core *old, struct error *err);

/* True: they are the same. Else *difference says in what. `all`: also what a restart does not keep. */
bool core_compare(const struct core *a, const struct core *b, bool all, struct strbuf *difference);
