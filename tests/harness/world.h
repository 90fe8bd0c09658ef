/* world.h: short histories, applied to the real core.
 *
 * Usage:     world_new("loopr") → world_set, world_add, … → world_decide → ASSERT_… → world_free
 * A world is a core, its configuration and a virtual clock that only world_pass and world_sleep advance.
 * Tasks have names. A name gets its number when it is first mentioned, and numbers are the order of
 * arrival. A project, kind, limiter or agent is created from the configuration when a task
 * first names it.
 * A fact that the core refuses or ignores fails the test; world_try and world_apply return the error instead.
 * A failed assertion prints what was expected, the orders of the last decision, and why
 * each task has not started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "config/config.h"
#include "core/core.h"
#include "harness/test.h"

#define WORLD_BEGIN DAYS(20000)
#define WORLD_LIST  12

struct world {
    struct core *core;
    struct config *config;
    struct symbol_table tasks; /* names; the symbol is the task number */
    time_ms now;
    struct order *orders; /* of the last decision */
    size_t order_count, order_capacity;
    task_id *starts; /* of all decisions, in order */
    size_t start_count, start_capacity;
    size_t started; /* in the last decision */
    struct error err;
};

struct world *world_new(const char *preset);
void world_free(struct world *w);
DEFINE_FREEP(struct world, world_free);

/* Most tests need only this line for their setup. */
#define WORLD(name, preset) _cleanup_(world_freep) struct world *name = world_new(preset)

/* --- the world ------------------------------------------------------------------------------- */

/* Changes a setting and applies it to the core, as if the configuration file had been edited. */
void world_set(struct world *w, const char *key, const char *value);
/* Advances the clock. Decides nothing. */
void world_pass(struct world *w, time_ms span);
/* Advances the clock to the next wakeup of the core, then decides. Fails if no wakeup is due. */
void world_sleep(struct world *w);
/* Returns the number of tasks started. */
size_t world_decide(struct world *w);

sym world_sym(struct world *w, const char *name);
task_id world_number(struct world *w, const char *task);
const char *world_name(const struct world *w, task_id task);
/* A formatted text that is freed with the world: world_text(w, "leaf-%d", i). */
const char *world_text(struct world *w, const char *format, ...) _printf_(2, 3);

void world_pause(struct world *w);
void world_resume(struct world *w);
void world_tick(struct world *w);
void world_external(struct world *w, const char *project, unsigned running);
void world_workspace(struct world *w, const char *workspace, const char *locked_by);
void world_disk(struct world *w, int64_t free_mb);
/* Adds or updates a worker. Workers get tasks in the order in which they were added. */
void world_worker(struct world *w, const char *agent, bool idle);
/* Records usage of a project, `ago` in the past, as `completions` runs. */
void world_usage(struct world *w, const char *project, int64_t tokens, unsigned completions,
                 time_ms ago);

/* --- tasks ----------------------------------------------------------------------------------- */

enum choice { AS_CONFIGURED, YES, NO };

/* Omitted members are those of a plain task of the preset. */
struct given {
    const char *project; /* default "main" */
    const char *kind, *agent, *limiter, *workspace, *phase, *parent;
    const char *after[WORLD_LIST]; /* dependencies */
    const char *needs[WORLD_LIST]; /* resources */
    int32_t priority;              /* 0 means 100 */
    time_ms created_ago, ready_ago;
    uint32_t iteration, parent_iteration, attempt;
    enum task_state state; /* TASK_ABSENT means waiting */
    enum hold hold;
    time_ms held_for;
    enum run_phase run_phase;
    const char *until, *parent_gate;
    enum choice parallel;
    bool review, artifact_missing, keeps;
    int32_t retries; /* 0: as configured; -1: no retries */
    uint16_t failures, launch_failures, restarts;
    uint32_t group;
};

void world_add(struct world *w, const char *task, struct given given);
/* As world_add, but returns the result of the core. `spoil` may corrupt the spec first. */
int world_try_add(struct world *w, const char *task, struct given given,
                  void (*spoil)(struct task_spec *spec));

/* Facts that have only a task and its current attempt. */
void world_apply_kind(struct world *w, enum fact_kind kind, const char *task);
int world_try(struct world *w, enum fact_kind kind, const char *task);
int world_apply(struct world *w, const struct fact *fact);

void world_hold(struct world *w, const char *task, time_ms span);
void world_depend(struct world *w, const char *task, const char *on);
int world_try_depend(struct world *w, const char *task, const char *on);
void world_artifact(struct world *w, const char *task, bool present);

/* --- runs ------------------------------------------------------------------------------------ */

struct ending {
    enum outcome outcome;
    int64_t tokens; /* -1: not reported */
    time_ms retry_after, reset_at;
    bool output;
};

/* Ends the run. Starts it first, unless it has started or the launch failed. */
void world_end_as(struct world *w, const char *task, struct ending ending);
void world_end(struct world *w, const char *task, enum outcome outcome, int64_t tokens);
/* world_end, then world_decide. */
size_t world_ends(struct world *w, const char *task, enum outcome outcome);
void world_tokens(struct world *w, const char *task, int64_t so_far);
void world_validating(struct world *w, const char *task);

/* --- views ----------------------------------------------------------------------------------- */

struct task_view world_view(struct world *w, const char *task);
struct share_view world_share(struct world *w, const char *project);
struct limiter_view world_limiter(struct world *w, const char *limiter);
/* The n-th start order of the last decision, counted from 0. */
const struct order *world_start(struct world *w, size_t n);

/* --- assertions ------------------------------------------------------------------------------ */

struct place {
    const char *file;
    int line;
};

#define HERE       ((struct place){ __FILE__, __LINE__ })
#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Exactly these tasks started in the last decision, in this order. */
#define ASSERT_STARTED(w, ...)   expect_started((w), NAMES(__VA_ARGS__), HERE)
#define ASSERT_NONE_STARTED(w)   expect_started((w), (const char *const[]){ NULL }, HERE)
#define ASSERT_START_COUNT(w, n) expect_start_count((w), (n), HERE)
/* Exactly these tasks were ordered to stop since the decision before the last one. */
#define ASSERT_STOPPED(w, ...) expect_stopped((w), NAMES(__VA_ARGS__), HERE)
/* Exactly these tasks entered the state, in this order. */
#define ASSERT_BECAME(w, state, ...) expect_became((w), (state), NAMES(__VA_ARGS__), HERE)
/* The code of the first closed gate: "lease:kind:plan". */
#define ASSERT_BLOCKED(w, task, code)   expect_blocked((w), (task), (code), HERE)
#define ASSERT_STATE(w, task, state)    expect_state((w), (task), (state), HERE)
#define ASSERT_REASON(w, task, reason)  expect_reason((w), (task), (reason), HERE)
#define ASSERT_FAILED(w, task, reason)  expect_failed((w), (task), (reason), HERE)
#define ASSERT_HELD(w, task, why, span) expect_held((w), (task), (why), (span), HERE)
#define ASSERT_SCORE(w, task, score)    expect_score((w), (task), (score), HERE)
/* The core wants to be woken in `span` ms; TIME_NEVER: never. */
#define ASSERT_WAKES_IN(w, span)               expect_wakes_in((w), (span), HERE)
#define ASSERT_PLACES(w, kind, name, used_cap) expect_places((w), (kind), (name), (used_cap), HERE)

void expect_started(struct world *w, const char *const *tasks, struct place place);
void expect_start_count(struct world *w, size_t count, struct place place);
void expect_stopped(struct world *w, const char *const *tasks, struct place place);
void expect_became(struct world *w, enum task_state state, const char *const *tasks,
                   struct place place);
void expect_blocked(struct world *w, const char *task, const char *code, struct place place);
void expect_state(struct world *w, const char *task, enum task_state state, struct place place);
void expect_reason(struct world *w, const char *task, enum reason reason, struct place place);
void expect_failed(struct world *w, const char *task, enum reason reason, struct place place);
void expect_held(struct world *w, const char *task, enum hold hold, time_ms span,
                 struct place place);
void expect_score(struct world *w, const char *task, int32_t score, struct place place);
void expect_wakes_in(struct world *w, time_ms span, struct place place);
/* `used_cap`: "2 of 5", "7 of unlimited". */
void expect_places(struct world *w, enum lease_kind kind, const char *name, const char *used_cap,
                   struct place place);
