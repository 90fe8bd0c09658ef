/* engine_internal.h: the state of the turn: queued requests, and what this turn will write. The core
 * knows the tasks; the parts know everything else (parts.h). Private to engine/. */
#pragma once

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/id_map.h"
#include "base/slab.h"
#include "engine/engine.h"
#include "engine/live_run.h"
#include "engine/loops.h"
#include "engine/parts.h"
#include "engine/schedules.h"
#include "engine/telemetry.h"
#include "executor/executor.h"
#include "os/loop.h"

#define LIST(type)                                                                                 \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }
#define LIST_ADD(list)                                                                             \
    ((list)->items =                                                                               \
         xgrow((list)->items, &(list)->capacity, (list)->count + 1, sizeof(*(list)->items)),       \
     &(list)->items[(list)->count++])

struct turn {
    struct store_batch *batch;
    struct arena arena;  /* texts of this turn */
    task_id first_added; /* tasks from here on are new in this turn */
    task_id rewired;     /* the task whose dependencies changed too */
    LIST(struct order) starts, stops;
    LIST(task_id) finals;            /* tasks that became final */
    LIST(struct event_row) events;   /* texts in the arena */
    struct engine_request *requests; /* of this turn, in order */
    struct engine_request *current;
    struct engine_spans ran; /* how long the runs took that have ended in this turn */
    unsigned ends;           /* how many have ended */
    bool configured;         /* the configuration was replaced */
    int64_t began_us;
};

/* Only what the turn itself needs. Everything else belongs to a part: parts.h. */
struct engine {
    struct engine_options options;
    struct config *config;
    struct store *store;
    struct executor *executor; /* of this machine */
    struct loop *loop;
    struct core *core;
    void *part[PART_MAX]; /* the state of each part */
    struct task_names names;
    char *home, *data, *runs_folder, *config_file, *socket_path, *run_socket_path, *shim_path,
        *version;
    char id_buffer[ENGINE_ID_MAX];
    /* clock: wall-clock time when the daemon started, advanced by the monotonic clock */
    time_ms wall_at_start, steady_at_start, now;

    struct engine_request *queue, **queue_end;
    struct turn turn;
    struct loop_timer *timer;
    bool committing, started, ending;
    bool start_pending; /* a turn is needed even if no work is queued */
    task_id last_task;
    uint64_t first_event, last_event, committed_event;

    struct error broken;  /* code 0: not broken */
    time_ms retry_at;     /* no turn before this after a failed commit; 0: none */
    unsigned retries;     /* failed commits since the last success, */
    struct error refused; /* why the last one failed, */
    time_ms rebuild;      /* and how long rebuilding the core took */

    struct engine_report report;
    struct engine_stats stats;

    /* Callbacks of other folders. */
    engine_spawn_tasks spawn;
    void *spawn_ctx;
    engine_fire_tasks fire; /* schedules.h; NULL: none */
    void *fire_ctx;
    engine_notify_test notify_test; /* NULL: none */
    void *notifier;
    engine_run_variables run_variables; /* telemetry.h; NULL: none */
    void *run_variables_ctx;
    engine_published publish;
    engine_after_turn after_turn;
    void *publish_ctx, *after_turn_ctx;
};

/* The environment of the daemon, as NULL-terminated NAME=VALUE. */
static inline const char *const *daemon_env(const struct engine *e) {
    return (const char *const *)e->options.environment;
}

/* --- names ----------------------------------------------------------------------------------- */

/* NULL: no symbol. */
static inline const char *name_of(const struct engine *e, sym symbol) {
    return symbol ? symbol_name(core_symbols(e->core), symbol) : NULL;
}

/* The symbol of a name; 0: the core does not have it. */
static inline sym symbol_known(const struct engine *e, const char *name) {
    return symbol_find(core_symbols(e->core), name, strlen(name));
}

/* The symbol of a name, which may be new; 0: no name. */
static inline sym symbol_of(const struct engine *e, const char *name) {
    return name && *name ? symbol_intern(core_symbols(e->core), name, strlen(name)) : 0;
}

/* TASK_ABSENT: there is no such task. */
static inline enum task_state state_of(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) ? view.state : TASK_ABSENT;
}

/* --- turn.c ---------------------------------------------------------------------------------- */

/* The wall clock, for what follows the calendar; `now` of the engine ignores that it was set. */
time_ms turn_wall_clock(const struct engine *e);
/* How far it is ahead of the engine's clock. */
time_ms turn_clock_offset(const struct engine *e);
/* Valid until the end of the turn. */
char *turn_text(struct engine *e, const char *text);
void turn_wake(struct engine *e);          /* schedules a turn */
void turn_refuse_queued(struct engine *e); /* when the daemon ends */
/* Removes a request from a list; false: not in it. */
bool request_unlink(struct engine_request **list, struct engine_request *request);
void turn_finish(struct engine *e);
/* Nothing is decided any more; the daemon ends. */
void turn_break(struct engine *e, const struct error *why);
/* The store is no longer ours or cannot be trusted: nothing is started or stopped any more. The
 * next daemon carries out what was committed before. */
bool turn_is_over(const struct engine *e);
void turn_wrote(struct engine *e); /* the batch is not empty and must be committed */
void turn_write_state(struct engine *e, const struct order *order); /* writes its event */

/* --- load.c: rows → core --------------------------------------------------------------------- */

/* A new core with what the store knows, and live runs from their rows. */
int load_core(struct engine *e, struct error *err);

/* --- rows.c: core → rows --------------------------------------------------------------------- */

/* Copies, or adds, the sums of a row: the columns with COLUMN_SUM of a list in store/columns.h. */
#define SUMS_COPY(columns, to, from) columns(SUM_COPY, (to, from))
#define SUMS_ADD(columns, to, from)  columns(SUM_ADD, (to, from))
#define SUM_COPY(pair, since, name, type, place, member, usual, flags)                             \
    SUM_COPY_##flags(member, SUM_TO pair, SUM_FROM pair)
#define SUM_ADD(pair, since, name, type, place, member, usual, flags)                              \
    SUM_ADD_##flags(member, SUM_TO pair, SUM_FROM pair)
#define SUM_COPY_COLUMN_KEY(member, to, from)
#define SUM_COPY_COLUMN_SUM(member, to, from) (to)->member = (from)->member;
#define SUM_ADD_COLUMN_KEY(member, to, from)
#define SUM_ADD_COLUMN_SUM(member, to, from) (to)->member += (from)->member;
#define SUM_TO(to, from)                     to
#define SUM_FROM(to, from)                   from

/* Everything that changed in this turn except runs. */
void rows_write_all(struct engine *e);
/* A hash of what users see of a task (columns.h: COLUMN_SEEN). */
uint32_t rows_digest(const struct task_spec *spec);
#define PACE_NOTE "pace" /* the name of the note that keeps the progress of the tick */
void rows_write_task(struct engine *e, task_id task); /* one that existed before this turn */
void rows_write_run(struct engine *e, const struct live_run *run);
void rows_write_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                      enum outcome outcome);

/* --- configure.c ----------------------------------------------------------------------------- */

/* Applies the differences of this configuration to a copy of the engine's core. */
int configure_copy(const struct engine *e, const struct config *config, struct core *copy,
                   struct error *err);

/* --- projects.c ------------------------------------------------------------------------------ */

struct engine_project *project_at(const struct engine *e, size_t index);
struct engine_project *project_of_symbol(const struct engine *e, sym symbol);
struct engine_project *project_of_task(const struct engine *e, task_id task); /* NULL: no task */
/* The project whose prefix an id has, whether or not the task exists; NULL: none. */
struct engine_project *project_of_id(const struct engine *e, const char *id);

/* --- host.c ---------------------------------------------------------------------------------- */

struct host {
    time_ms read_at, disk_read_at;                    /* memory and load; the disk */
    int64_t memory_free_mb, load_milli, disk_free_mb; /* -1: unknown */
    bool disk_low;                                    /* below host.disk_free_gb */
    bool full;                                        /* below store.min_free_mb */
};

PART_STATE(host, struct host, host_of)

/* --- forecast.c ------------------------------------------------------------------------------ */

struct coming;
/* Hours of the configuration and coming firings of schedules. */
int engine_coming(struct engine *e, const struct config *config, time_ms horizon,
                  struct coming *ret, struct error *err);

/* Learns the duration of a run that ended by itself, for its project and kind. */
void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens,
                    int64_t money);

/* --- prune.c --------------------------------------------------------------------------------- */

/* Deletes old finished tasks, events, keys and usage, a few per turn. */
void prune_now(struct engine *e); /* the next pass is due now */
