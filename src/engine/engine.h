/* engine.h: facts → store → core → orders → effects, one turn at a time.
 *
 * Life:      engine_new → engine_start (load, recover) → requests and turns → engine_free
 * Turn:      engine_turn runs at the end of each round of the loop. If there is work it applies the
 *            time and what happened to the core, runs the queued requests, lets the core decide,
 *            writes everything in one commit, and only then answers and stops. Starts follow, a
 *            few runs in each round.
 * Requests:  engine_request queues one. `run` is called inside the turn and may read, apply facts
 *            and write; `decided` (or NULL) while the commit is in flight, if that takes time;
 *            `done` after the commit, with its outcome.
 * Failure: if a commit FAILED, nothing of the turn has happened: the core is rebuilt from the rows,
 *            and writing requests get the error. If UNKNOWN, the daemon must end: engine_is_broken.
 *
 * Requests may call what is listed under "inside a turn". Only the engine applies facts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "core/core.h"
#include "engine/projects.h"
#include "store/store.h"

struct engine;
struct loop;
struct executor;
struct submission;

struct engine_options {
    struct loop *loop;
    struct config *config; /* read by the engine; replaced by engine_set_config */
    struct store *store;
    const char *home;        /* data folder */
    const char *config_file; /* where changed settings are written; may not exist */
    const char *socket_path, *run_socket_path; /* the owner's; SLUICE_SOCKET, NULL: the same */
    const char *shim_path;
    const char *version;
    int64_t open_files;       /* limit of open files of a run; 0: as the daemon */
    struct bus_poster *bus;   /* posts messages (engine_bus); NULL: none */
    char *const *environment; /* source of the variables that tasks.env names; NULL: none */
};

/* What the start found; also the first event. For `unreachable` and `killed` see hosts.h. */
struct engine_report {
    uint64_t tasks, unfinished;
    uint32_t adopted, ended, lost, external, swept, requeued, unreachable, killed;
    uint32_t found; /* of the first three: those unknown to the store */
    time_ms took;
};

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct error *err);
struct engine *engine_free(struct engine *engine); /* runs continue without it; accepts NULL */
int engine_start(struct engine *engine, struct engine_report *ret_report, struct error *err);
void engine_turn(struct engine *engine);
bool engine_is_broken(const struct engine *engine);
const char *engine_why_broken(const struct engine *engine);
/* While a commit is in flight, neither the engine nor its store may be freed. */
bool engine_is_committing(const struct engine *engine);
/* The store refuses commits. Each one costs a rebuild of the core from all rows: 2 s with a million
 * tasks, in which no client is served. If that is slow, writing requests fail with `ret_why` until
 * the store is tried again, so that at most a tenth of the time is lost (turn.c). Meanwhile reports
 * of runs are kept, and reading requests are served. */
bool engine_is_failing(const struct engine *engine, struct error *ret_why);
/* Start orders are on disk, not carried out yet: the next daemon would take these runs for lost. */
bool engine_is_launching(const struct engine *engine);

/* --- requests -------------------------------------------------------------------------------- */

struct engine_request {
    /* Inside the turn. <0: refused; then it must not have applied or written anything. */
    int (*run)(struct engine *engine, struct engine_request *request);
    void (*decided)(struct engine *engine, struct engine_request *request);
    /* After the commit. STORE_OK also if it only read or was refused. */
    void (*done)(struct engine *engine, struct engine_request *request, enum store_outcome outcome,
                 const struct error *err);
    struct engine_request *next; /* owned by the engine */
    bool wrote, cancels;         /* set by the engine: it applied or wrote something; a cancel */
};
void engine_request(struct engine *engine, struct engine_request *request);
/* Before `done`, which is then not called (the client has disconnected). Its effects stay. */
void engine_request_abandon(struct engine *engine, struct engine_request *request);

/* --- inside a turn: reading ------------------------------------------------------------------ */

const struct core *engine_core(const struct engine *engine);
const struct config *engine_config(const struct engine *engine);
struct store *engine_store(struct engine *engine);
struct executor *engine_executor(struct engine *engine);
struct bus_poster *engine_bus(const struct engine *engine);
time_ms engine_now(const struct engine *engine); /* of this turn */
time_ms engine_started_at(const struct engine *engine);
const char *engine_home(const struct engine *engine);
const char *engine_config_file(const struct engine *engine);
const char *engine_version(const struct engine *engine);
const char *engine_socket_path(const struct engine *engine);
const char *engine_shim_path(const struct engine *engine);
const struct task_names *engine_names(const struct engine *engine);
uint64_t engine_first_event(const struct engine *engine);
uint64_t engine_last_event(const struct engine *engine);
task_id engine_last_task(const struct engine *engine);
bool engine_is_paused(const struct engine *engine);
const struct engine_pause *engine_paused(const struct engine *engine); /* NULL: not paused */
bool engine_is_full(const struct engine *engine); /* too little disk space for new work */

/* Read now; -1: unknown. */
struct engine_host_values {
    int64_t disk_free_mb, memory_free_mb, load_milli;
};
void engine_host(const struct engine *engine, struct engine_host_values *ret);

/* "web-17", "17", "#17" or an external id → 17. 0: unknown, or ambiguous (-ENOTUNIQ). */
task_id engine_find_task(const struct engine *engine, const char *word, struct error *err);
task_id engine_task_of_id(const struct engine *e, const char *id, struct error *err); /* ids only */
#define ENGINE_ID_MAX 160 /* "web-17" with the NUL. Unknown tasks by number: "#17". */
const char *engine_task_id(const struct engine *engine, task_id task, char buf[ENGINE_ID_MAX]);

struct engine_group {
    uint32_t id;
    const char *name;
    bool owned, closed;
    time_ms created_at, closed_at;
    uint32_t total, open, failed; /* failed: final, and not done */
};
size_t engine_group_count(const struct engine *engine); /* a deleted one has the name "" */
const struct engine_group *engine_group_at(const struct engine *engine, size_t index);
const struct engine_group *engine_find_group(const struct engine *engine, const char *name);

struct engine_run {
    uint32_t attempt;
    const char *folder; /* relative to the runs folder */
    time_ms ordered_at, started_at;
    int64_t tokens_in, tokens_out; /* -1: not reported */
};
bool engine_live_run(const struct engine *engine, task_id task, struct engine_run *ret);
/* The tasks that have a live run, in ascending order: at most `max`; returns the total. */
size_t engine_live_tasks(const struct engine *engine, task_id *ret_tasks, size_t max);
/* What is being done around the task's run (workspace, merge), as text; NULL: nothing. */
const char *engine_run_doing(const struct engine *engine, task_id task);
/* Where a task works or has worked. The caller owns the texts: engine_workspace_finish. */
struct engine_workspace {
    char *path;          /* NULL: no workspace */
    char *branch, *base; /* of a worktree; else NULL */
    char *merge;         /* "none" "local" "direct" "mr"; with branch */
    char *conflict;      /* the commit of `base` that its work conflicts with, until repaired */
    bool iterates;       /* on_conflict: iterate */
};
void engine_workspace(const struct engine *engine, task_id task, struct engine_workspace *ret);
void engine_workspace_finish(struct engine_workspace *workspace);
/* Which live task works in this path of a pool; 0: none. */
task_id engine_workspace_holder(const struct engine *engine, const char *path);
/* Worktrees that belong to no task and are kept because they contain work. */
size_t engine_leftover_count(const struct engine *engine);
const char *engine_leftover_at(const struct engine *engine, size_t index, const char **ret_why);
/* Absolute. */
void engine_run_folder(const struct engine *engine, task_id task, uint32_t attempt,
                       struct strbuf *out);

/* --- inside a turn: changing ----------------------------------------------------------------- */

/* The number of the next added task; a batch gets consecutive numbers. */
task_id engine_next_task(const struct engine *engine);
/* Adds those that are new (submission_is_new), all or none, and sets the id in their spec. Names
 * must be known: projects by engine_find_project, agents and kinds by the configuration. */
int engine_add_tasks(struct engine *engine, struct submission *tasks, size_t count,
                     struct error *err);

/* The context of a slung task: a JSON object (launch/context.c), or NULL. Written with the turn. */
void engine_put_context(struct engine *engine, task_id task, const char *context);

/* Applies a fact to the core and writes what changed. 1: no change. */
int engine_apply(struct engine *engine, const struct fact *fact, struct error *err);
/* `data`: a JSON object or NULL. */
void engine_event(struct engine *engine, const char *kind, task_id task, uint32_t attempt,
                  const char *data);
/* `by`: who asks; NULL: unknown. 1: no change. */
int engine_pause(struct engine *engine, bool paused, const char *by, struct error *err);
/* A new group, or the open one of this name. `name` NULL: "group-N". */
int engine_open_group(struct engine *engine, const char *name, bool owned, uint32_t *ret_id,
                      struct error *err);
int engine_close_group(struct engine *engine, const char *name, struct error *err);
/* Removes a group that was opened in the same request, unless it has a task: its tasks were
 * refused. 0: no-op. */
void engine_take_back_group(struct engine *engine, uint32_t id);
/* The next stop order for its live run kills at once; call before FACT_CANCEL. */
void engine_stop_at_once(struct engine *engine, task_id task);
/* Reported from inside a run or on its behalf. -1: not given. 1: part of it is not booked
 * (agents/usage.c), and `err` has the reason. */
struct engine_usage {
    int64_t tokens_in, tokens_out, cost_micro_usd, tokens_total; /* total: 0 = not given */
};
int engine_report_usage(struct engine *engine, task_id task, const struct engine_usage *usage,
                        struct error *err);
/* Creates the DONE marker of a task, as its run would; 1: already exists. */
int engine_mark_done(struct engine *engine, task_id task, struct error *err);
/* The client's idempotency key and its answer, written with the turn. */
void engine_store_answer(struct engine *engine, const char *key, int status, const char *answer);

/* Applies the changes to the core and frees the old configuration. */
int engine_set_config(struct engine *engine, struct config *config, struct error *err);

/* What would start now, and later in the same tick if nothing changes. `with_tick`: tick now. */
typedef void (*engine_would_start)(void *ctx, const struct order *order, time_ms at);
void engine_planned_starts(struct engine *e, bool with_tick, engine_would_start each, void *ctx);

/* See store_backup; `path` is absolute. Cancel: the daemon is about to end. */
void engine_backup(struct engine *engine, const char *path, store_copied done, void *ctx);
void engine_backup_cancel(struct engine *engine);

/* When tasks would start if everything went well, computed in a thread. True: the result is
 * complete; false: `ready` is called when it is. Valid for ten seconds. */
typedef void (*engine_forecast_ready)(void *ctx);
bool engine_forecast(struct engine *engine, engine_forecast_ready ready, void *ctx);
time_ms engine_forecast_start(const struct engine *engine, task_id task); /* or TIME_NEVER */

/* Called for every committed event, in order; for streams. */
typedef void (*engine_published)(void *ctx, const struct event_row *event);
void engine_set_publisher(struct engine *engine, engine_published publish, void *ctx);
/* Called at the end of every round of the loop, after the turn if there was one. */
typedef void (*engine_after_turn)(void *ctx);
void engine_set_after_turn(struct engine *engine, engine_after_turn after, void *ctx);

/* Notifications, which the daemon sends. `json`: [{"way":"notify.webhook","ok":true,"text":"answered
 * 204 in 12 ms"}], one for each configured way; valid during the call. NULL: unknown, the daemon is
 * ending. */
typedef void (*engine_notify_tested)(void *ctx, const char *json);
/* Sends a sample through every way. `tested` is called once, perhaps from inside; not on error. */
typedef int (*engine_notify_test)(void *notifier, engine_notify_tested tested, void *ctx,
                                  struct error *err);

void engine_set_notifier(struct engine *engine, engine_notify_test test, void *notifier);
/* -ENOTSUP: no notifier. -EBUSY: a test is in progress. */
int engine_test_notify(struct engine *engine, engine_notify_tested tested, void *ctx,
                       struct error *err);

/* --- statistics ------------------------------------------------------------------------------- */

/* A histogram of durations: count, sum, and count up to each bound. */
#define ENGINE_BOUNDS 10u
extern const time_ms engine_bounds[ENGINE_BOUNDS];
struct engine_spans {
    uint64_t count, up_to[ENGINE_BOUNDS];
    int64_t sum_ms;
};
void spans_add(struct engine_spans *spans, time_ms span);
void spans_add_all(struct engine_spans *spans, const struct engine_spans *more);

struct engine_stats {
    struct engine_spans queued, ran; /* ready until ordered to start; started until ended */
    uint64_t turns, facts, orders, starts, ends, commits, failed_commits;
    int64_t last_turn_us, slowest_turn_us;
};
void engine_stats(const struct engine *engine, struct engine_stats *ret);
