/* parts.h: the parts of the engine, in the order in which each step of a turn calls them. Private
 * to engine/.
 *
 * A part is one subject (budgets, alerts, worktrees, …). It owns its state, which the engine
 * allocates zeroed and which only the files of the part access (`static inline struct X *X_of(e)`),
 * and does its share of each step in a hook. engine.c, turn.c, load.c and recovery.c iterate over
 * the parts; they do not name them.
 *
 * Adding a part:
 *   1. src/engine/NAME.c (a folder, if it has several files) exports `const struct engine_part
 *   NAME_part`
 *   2. one line in ENGINE_PARTS, where its hooks fit into the order
 *   3. meson.build, and a unit test of its rules
 *
 * README.md shows the steps of a turn. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/time_ms.h"
#include "store/store.h"

struct engine;

/* The order matters within a step. Where two parts have hooks in the same step, the reason is given
 * here. STEP_FREE runs backwards: the parts that still answer requests (stopping, await, forecast,
 * backups) are last in the list and are freed first, while everything that an answer may read still
 * exists; `redaction` is first, because every answer is redacted. Helper processes (stuck,
 * workspaces) return their cgroups to `executors`. */
#define ENGINE_PARTS(X)                                                                            \
    X(redaction)                                                                                   \
    X(sandboxes)                                                                                   \
    X(data_folder)                                                                                 \
    X(projects)                                                                                    \
    /* sorted before `recovery` records ends */                                                    \
    X(allowances)                                                                                  \
    X(sessions)                                                                                    \
    X(accounts)                                                                                    \
    X(trouble)                                                                                     \
    X(access)                                                                                      \
    X(page_codes)                                                                                  \
    X(external_ids)                                                                                \
    /* the disk is measured before anything is decided, and `prune` may be due because of it */    \
    X(host)                                                                                        \
    /* ends and starts of runs come before all other facts of a turn */                            \
    X(runs)                                                                                        \
    X(recovery)                                                                                    \
    X(executors)                                                                                   \
    X(partitions)                                                                                  \
    X(unreachable_hosts)                                                                           \
    X(store_name)                                                                                  \
    X(data_place)                                                                                  \
    X(blocked)                                                                                     \
    X(groups)                                                                                      \
    /* after the decision: what it has caused, as alerts, then as lines of the log */              \
    X(alerts)                                                                                      \
    X(journal)                                                                                     \
    /* after the commit: worktrees of final tasks, folders of deleted ones, then starts */         \
    X(workspaces)                                                                                  \
    X(secrets)                                                                                     \
    X(iterations)                                                                                  \
    X(deleted)                                                                                     \
    /* a run that was seen to start is not late, so `launch` checks after `runs` */                \
    X(launch)                                                                                      \
    /* its cursors go into a batch that is not empty, so it is the last one that writes */         \
    X(follow)                                                                                      \
    X(tally)                                                                                       \
    X(watch)                                                                                       \
    X(listen)                                                                                      \
    X(stuck)                                                                                       \
    /* before the decision: waits that are over, tasks that expire, then who may spend what */     \
    X(await)                                                                                       \
    X(prune)                                                                                       \
    X(budget)                                                                                      \
    X(live_snapshot)                                                                               \
    X(outlook)                                                                                     \
    X(forecast)                                                                                    \
    X(stopping)                                                                                    \
    X(maintenance)

enum engine_part_id {
#define PART_ID(name) PART_##name,
    ENGINE_PARTS(PART_ID)
#undef PART_ID
        PART_MAX,
};

/* Hooks that take only the engine. */
enum engine_step {
    STEP_INIT,   /* the engine is new; nothing is loaded */
    STEP_UNLOAD, /* the core is about to be rebuilt from the rows: drop what came from them */
    STEP_LOADED, /* every row was read and is in the core */
    STEP_START,  /* the runs of the previous daemon were found; once */

    STEP_BEGIN,         /* a turn begins */
    STEP_FACTS,         /* external facts; skipped while a failed commit waits for its retry */
    STEP_BEFORE_DECIDE, /* the requests have run */
    STEP_AFTER_DECIDE,  /* the rows are in the batch; the last chance to write */
    STEP_STORED,        /* the commit is on disk; no effect yet */
    STEP_CARRY_OUT,     /* stops were sent and requests answered: effects of this commit */
    STEP_UNDONE,        /* the commit failed: roll back the turn */
    STEP_ROUND_END,     /* the end of every round of the loop, with or without a turn */

    STEP_CONFIGURED, /* the configuration was replaced, inside a turn */
    STEP_FREE,       /* backwards */
    STEP_MAX,
};

struct engine_part {
    size_t state_size; /* 0: no state */
    void (*at[STEP_MAX])(struct engine *e);
    void (*load_note)(struct engine *e,
                      const struct note_row *row); /* notes of other parts are ignored */
    void (*publish)(struct engine *e, const struct event_row *event); /* a committed event */
    bool (*has_work)(const struct engine *e);                         /* a turn is needed now */
    time_ms (*next_wakeup)(const struct engine *e);                   /* when a turn is needed */
    bool (*is_launching)(const struct engine *e); /* a start order is not carried out yet */
};

#define PART_DECLARATION(name) extern const struct engine_part name##_part;
ENGINE_PARTS(PART_DECLARATION)
#undef PART_DECLARATION

void parts_step(struct engine *e, enum engine_step step);
void parts_load_note(struct engine *e, const struct note_row *row);
void parts_publish(struct engine *e, const struct event_row *event);
bool parts_have_work(const struct engine *e);
time_ms parts_next_wakeup(const struct engine *e);
bool parts_are_launching(const struct engine *e);
