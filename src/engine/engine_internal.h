/* engine_internal.h: what the turn keeps: the queue of requests, what happened since the last turn, and what
 * this turn will write. Private to engine/. The core knows the tasks; the parts know everything else (parts.h). */
#pragma once

#include "base/alloc.h"
#include "base/arena.h"
#include "base/id_map.h"
#include "base/slab.h"
#include "engine/engine.h"
#include "engine/live_run.h"
#include "engine/loops.h"
#include "engine/notifier.h"
#include "engine/parts.h"
#include "engine/telemetry.h"
#include "executor/executor.h"
#include "os/loop.h"

struct project {
    struct engine_project view;
};

struct group {
    struct engine_group view;
};

/* Growing lists. */
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
    task_id rewired;     /* the task whose dependencies have changed too */
    LIST(struct order) starts, stops;
    LIST(task_id) finals;            /* tasks that have become final */
    LIST(struct event_row) events;   /* in the arena */
    struct engine_request *requests; /* of this turn, in order */
    struct engine_request *current;
    size_t told;             /* of what happened, how much this turn has told the core */
    struct engine_spans ran; /* of them */
    unsigned ends;           /* of runs, among them */
    bool configured;         /* the configuration was replaced */
    int64_t began_us;
};

/* What the turn itself needs. Everything else belongs to a part: parts.h. */
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
    /* the clock: wall-clock time when the daemon started, moved on by the steady clock */
    time_ms wall_at_start, steady_at_start, now;

    struct engine_request *queue, **queue_end;
    LIST(struct happening) happened;  /* reported by executors; kept until a commit has it */
    LIST(struct happening) late_ends; /* the store is asked what their tasks spawn */
    struct turn turn;
    struct loop_timer *timer;
    bool committing, started, ending;
    bool start_pending; /* a turn is needed, whatever there is to do */
    task_id last_task;
    uint64_t first_event, last_event, committed_event;
    bool paused;
    struct engine_pause pause; /* with paused; its text is owned */

    struct error broken;  /* code 0: it is not */
    time_ms retry_at;     /* after a failed commit: not before; 0: now */
    unsigned retries;     /* commits that failed since the last good one, */
    struct error refused; /* why the last of them failed, */
    time_ms rebuild;      /* and how long it took to build the core again */

    struct engine_report report;
    struct engine_stats stats;

    /* Callbacks of other folders. */
    engine_spawn_tasks spawn;
    void *spawn_ctx;
    engine_notify_test notify_test; /* notifier.h; NULL: none */
    void *notifier;
    engine_run_variables run_variables; /* telemetry.h; NULL: none */
    void *run_variables_ctx;
    engine_published publish;
    void (*after_turn)(void *ctx);
    void *publish_ctx, *after_turn_ctx;
};

/* --- turn.c ---------------------------------------------------------------------------------- */

/* Text that lives as long as the turn. */
char *turn_text(struct engine *e, const char *text);
void turn_wake(struct engine *e);          /* there is something to do */
void turn_refuse_queued(struct engine *e); /* at the end */
/* Takes a request out of a list; false: it is not in it. */
bool request_unlink(struct engine_request **list, struct engine_request *request);
void turn_finish(struct engine *e);
/* Nothing is decided any more; the daemon ends. */
void turn_break(struct engine *e, const struct error *why);
/* The store is not ours any more, or cannot be relied on: nothing is started and nothing stopped from now on. What was
 * committed before is for the next daemon to do. */
bool turn_is_over(const struct engine *e);
void turn_wrote(struct engine *e); /* the batch holds something that must be committed */
void turn_write_state(struct engine *e, const struct order *order); /* its event */

/* --- pauses --------------------------------------------------------------------------------- */

/* Owns a copy of the name. */
void pause_set(struct engine_pause *pause, const char *by, time_ms at);
/* As the present core is told it. */
int pause_load(struct engine *e, const struct pause_row *row, struct error *err);

/* --- load.c: rows → core --------------------------------------------------------------------- */

/* A new core that knows what the store knows; live runs become the list `live`. */
int load_core(struct engine *e, struct error *err);

/* --- rows.c: core → rows --------------------------------------------------------------------- */

/* Everything that changed in this turn but the runs. */
void rows_write_all(struct engine *e);
/* What users see of a task, as one number: it differs when they would see a change (columns.h: COLUMN_SEEN). */
uint64_t rows_look(const struct task_spec *spec);
void rows_write_task(struct engine *e, task_id task); /* one that was there before this turn */
void rows_write_run(struct engine *e, const struct live_run *run);
void rows_write_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                      enum outcome outcome);

/* --- projects.c ------------------------------------------------------------------------------ */

size_t project_count(const struct engine *e);
struct project *project_at(const struct engine *e, size_t index);
struct project *project_find(struct engine *e, const char *name);
struct project *project_of_symbol(const struct engine *e, sym symbol);
/* The project whose prefix an id has, whether there is a task of that id or not; NULL: none. */
struct project *project_of_id(const struct engine *e, const char *id);
/* From a row, or new: known to the core from now on. */
int project_register(struct engine *e, const struct project_row *row, struct error *err);
int project_tell(struct engine *e, struct project *project, struct error *err);
/* After a new core or a new configuration. */
int projects_tell_all(struct engine *e, struct error *err);
/* Could those of the configuration that have no row yet be added? Changes nothing. */
int projects_check(const struct engine *e, struct error *err);
int projects_from_config(struct engine *e, struct error *err); /* adds them */

/* --- host.c ---------------------------------------------------------------------------------- */

struct host {
    time_ms read_at, disk_read_at;                    /* memory and load; the disk */
    int64_t memory_free_mb, load_milli, disk_free_mb; /* -1: unknown */
    bool disk_low;                                    /* below host.disk_free_gb */
    bool full;                                        /* below store.min_free_mb */
};

static inline struct host *host_of(const struct engine *e) {
    return e->part[PART_host];
}

/* --- prune.c --------------------------------------------------------------------------------- */

/* Forgets old finished tasks, events, keys and usage, a few per turn. */
void prune_now(struct engine *e); /* the next look is due */
