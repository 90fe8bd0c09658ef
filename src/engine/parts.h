/* parts.h: the parts of the engine, in the order in which each step of a turn calls them. Private
 * to engine/.
 *
 * A part is one subject (budgets, alerts, worktrees, …). It owns its state, which the engine
 * allocates zeroed and which only the files of the part access (PART_STATE), and does its share of
 * each step in a hook. engine.c, turn.c, rows.c, load.c and configure.c call
 * the hooks of all parts; they do not name a part.
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

#include "base/error.h"
#include "base/time_ms.h"
#include "core/core.h"
#include "store/store.h"

struct config;
struct engine;
struct engine_request;
struct live_run;

/* The order matters within a step. Where two parts have hooks in the same step, the reason is given
 * here. STEP_FREE runs backwards: the parts that still answer requests (stopping, await, forecast,
 * backups) are last in the list and are freed first, while everything that an answer may read still
 * exists; `redaction` is first, because every answer is redacted. Helper processes (stuck,
 * probes, workspaces) return their cgroups to `executors`. */
#define ENGINE_PARTS(X)                                                                            \
    X(redaction)                                                                                   \
    X(sandboxes)                                                                                   \
    X(data_folder)                                                                                 \
    X(projects)                                                                                    \
    X(agents)                                                                                      \
    /* sorted before `recovery` records ends */                                                    \
    X(allowances)                                                                                  \
    X(costs)                                                                                       \
    X(sessions)                                                                                    \
    X(escalations)                                                                                 \
    X(accounts)                                                                                    \
    X(trouble)                                                                                     \
    X(quotas)                                                                                      \
    X(access)                                                                                      \
    X(page_codes)                                                                                  \
    X(external_ids)                                                                                \
    /* the disk is measured before anything is decided, and `prune` may be due because of it */    \
    X(host)                                                                                        \
    X(runs)                                                                                        \
    /* ends and starts of runs come before all other facts of a turn */                            \
    X(run_ends)                                                                                    \
    X(recovery)                                                                                    \
    X(executors)                                                                                   \
    X(partitions)                                                                                  \
    X(unreachable_hosts)                                                                           \
    X(store_name)                                                                                  \
    X(data_place)                                                                                  \
    X(blocked)                                                                                     \
    X(groups)                                                                                      \
    /* what it answers or withdraws is in the events that `alerts` and `follow` see */             \
    X(questions)                                                                                   \
    X(follow_ups)                                                                                  \
    X(takeover)                                                                                    \
    X(edits)                                                                                       \
    X(imports)                                                                                     \
    /* after the decision: what it has caused, as alerts, then as lines of the log */              \
    X(alerts)                                                                                      \
    X(journal)                                                                                     \
    /* it reads questions and candidates */                                                        \
    X(attention)                                                                                   \
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
    /* after the ends of runs, which may leave a pending check */                                  \
    X(probes)                                                                                      \
    /* before the decision: what closes now starts nothing, */                                     \
    X(opening_hours)                                                                               \
    /* and tasks that are due are added, so everything below sees them; */                         \
    X(schedules)                                                                                   \
    /* none of them is a task whose candidates work, which must not start; */                      \
    X(best_of)                                                                                     \
    /* waits that are over, tasks that expire, then who may spend what */                          \
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
    STEP_STOP,          /* the API has its events: send the stops, before requests are answered */
    STEP_CARRY_OUT,     /* requests were answered: the other effects of this commit */
    STEP_UNDONE,        /* the commit failed: roll back the turn */
    STEP_REBUILT,       /* the core was rebuilt after that: write again what is still true */
    STEP_TURN_END,      /* the commit is carried out or undone; engine_stats has the duration */
    STEP_ROUND_END,     /* the end of every round of the loop, with or without a turn */

    STEP_CONFIGURED, /* the configuration was replaced, inside a turn */
    STEP_FREE,       /* backwards */
    STEP_MAX,
};

/* Hooks that may fail. The first failure ends the step. */
enum engine_try {
    TRY_OPEN,         /* engine_new, before anything is loaded */
    TRY_CHECK_CONFIG, /* may the engine use its configuration? Changes nothing */
    TRY_TAKE_CONFIG,  /* the core has it: add rows for what is new in it */
    TRY_START,        /* engine_start: the rows are loaded, no run has been looked for */
    TRY_MAX,
};

/* Hooks that every part may have, as X(result, name, parameters). Facts, orders and rows come by the
 * thousand, and most parts do not react to them. So each of these hooks has a list of the parts that
 * have it, in order and NULL-terminated. */
/* clang-format off */
#define LISTED_HOOKS(X) \
    /* engine_apply, before and after the core has changed. Without a change, only the first. */ \
    X(void, applying, (struct engine *e, const struct fact *fact)) \
    X(void, applied, (struct engine *e, const struct fact *fact)) \
    /* The first of `count` orders that are left of a decision; its event is written. */ \
    X(void, ordered, (struct engine *e, const struct order *orders, size_t count)) \
    /* A committed event. */ \
    X(void, publish, (struct engine *e, const struct event_row *event)) \
    /* True: the part has the request now, and calls `done` later. Abandoned: drops it, if held. */ \
    X(bool, holds_answer, (struct engine *e, struct engine_request *request)) \
    X(bool, abandoned, (struct engine *e, struct engine_request *request)) \
    /* Rows, while they are loaded. A task is not in the core yet, and its spec may be adjusted. \
     * A note goes to every part, which ignores those of others. */ \
    X(int, load_project, (struct engine *e, const struct project_row *row, struct error *err)) \
    X(void, load_group, (struct engine *e, const struct group_row *row)) \
    X(void, load_external, (struct engine *e, const struct external_row *row)) \
    X(void, load_task, (struct engine *e, struct task_spec *spec)) \
    X(void, load_run, (struct engine *e, struct live_run *run, const struct run_row *row)) \
    X(void, load_note, (struct engine *e, const struct note_row *row)) \
    X(int, load_totals, (struct engine *e, const struct store_totals *totals, struct error *err)) \
    /* Rows, when they are written after the decision. `spec` NULL: the task was deleted. */ \
    X(void, task_changed, (struct engine *e, task_id task, const struct task_spec *spec)) \
    X(void, limiter_changed, (struct engine *e, const struct limiter_row *row)) \
    X(void, agent_changed, (struct engine *e, const struct agent_row *row)) \
    X(void, run_ended, (struct engine *e, const struct spent_row *spent, enum outcome outcome)) \
    /* The engine has a new configuration, which is not checked yet. */ \
    X(void, config_replaced, (struct engine *e, const struct config *old)) \
    /* The names of a new configuration are in the core; a refusal brings back the old one. */ \
    X(int, apply_config, (struct engine *e, struct error *err)) \
    /* The same with a configuration that is only tried, and a copy of the core. */ \
    X(int, apply_to_copy, (const struct engine *e, const struct config *config, \
                           struct core *copy, struct error *err)) \
    /* A turn is needed now; when one is needed; a start order is not carried out yet. */ \
    X(bool, has_work, (const struct engine *e)) \
    X(time_ms, next_wakeup, (const struct engine *e)) \
    X(bool, is_launching, (const struct engine *e))
/* clang-format on */

/* Every hook may be NULL. */
struct engine_part {
    size_t state_size; /* 0: no state */
    void (*at[STEP_MAX])(struct engine *e);
    int (*try[TRY_MAX])(struct engine *e, struct error *err);
#define HOOK_MEMBER(result, name, parameters) result(*name) parameters;
    LISTED_HOOKS(HOOK_MEMBER)
#undef HOOK_MEMBER
};

/* Defines `accessor(e)`, which returns the state of a part. */
#define PART_STATE(part_name, type, accessor)                                                      \
    static inline type *accessor(const struct engine *e) {                                         \
        return e->part[PART_##part_name];                                                          \
    }

#define PART_DECLARATION(name) extern const struct engine_part name##_part;
ENGINE_PARTS(PART_DECLARATION)
#undef PART_DECLARATION

extern struct parts_with {
#define HOOK_LIST(result, hook, parameters) const struct engine_part *hook[PART_MAX + 1];
    LISTED_HOOKS(HOOK_LIST)
#undef HOOK_LIST
} parts_with;

/* Calls a hook of every part that has it: PARTS_CALL(applied, e, fact); */
#define PARTS_CALL(hook, ...)                                                                      \
    for (const struct engine_part *const *part_ = parts_with.hook; *part_; part_++)                \
    (*part_)->hook(__VA_ARGS__)
/* The same while `r` is 0: PARTS_TRY(r, apply_config, e, err); */
#define PARTS_TRY(r, hook, ...)                                                                    \
    for (const struct engine_part *const *part_ = parts_with.hook; *part_ && (r) == 0; part_++)    \
    (r) = (*part_)->hook(__VA_ARGS__)

void parts_step(struct engine *e, enum engine_step step);
int parts_try(struct engine *e, enum engine_try step, struct error *err);
bool parts_hold_answer(struct engine *e, struct engine_request *request);
bool parts_have_work(const struct engine *e);
time_ms parts_next_wakeup(const struct engine *e);
bool parts_are_launching(const struct engine *e);
