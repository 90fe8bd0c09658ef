/* engine_internal.h: what the engine keeps between turns. Private to engine/.
 *
 * The core knows the tasks; here is only what it does not: the names of projects and groups, the runs
 * that live, what happened since the last turn, and what this turn will write. */
#pragma once

#include "base/arena.h"
#include "base/id_map.h"
#include "base/slab.h"
#include "engine/allowance.h"
#include "engine/engine.h"
#include "engine/live_run.h"
#include "engine/loops.h"
#include "engine/notifier.h"
#include "engine/store_name.h"
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

/* An account that is limited: agent_end.c. */
struct limited_since {
    char *limiter;
    time_ms at; /* 0: nobody knows */
    bool out;   /* it was closed because it was limited for too long */
};

/* Answers that wait: stopping.c. */
struct stopping {
    struct engine_request *held;
    uint32_t unheard; /* live runs that are so */
    struct loop_timer *timer;
};

struct turn {
    struct store_batch *batch;
    struct arena arena;  /* texts of this turn */
    task_id first_added; /* tasks from here on are new in this turn */
    task_id rewired;     /* the task whose dependencies have changed too */
    LIST(char *) gone;   /* ids of tasks that are no more: their folders go too */
    LIST(struct order) starts, stops;
    LIST(task_id) finals;            /* tasks that have become final */
    size_t free_groups;              /* so many places may be taken: no order is about them */
    LIST(task_id) blocked;           /* those whose blockers have changed; while that is told */
    LIST(struct event_row) events;   /* in the arena */
    struct engine_request *requests; /* of this turn, in order */
    struct engine_request *current;
    size_t told;                    /* of what happened, how much this turn has told the core */
    struct engine_spans ran;        /* of them */
    unsigned ends;                  /* of runs, among them */
    bool configured, tells_blocked; /* it is another since this turn; see blocked_internal.h */
    int64_t began_us;
};

/* What may go, found out by asking the store; it answers now or later. */
struct pruning {
    time_ms at; /* when to look again */
    bool asking_tasks, asking_events;
    LIST(task_id) expired; /* finished tasks that are too old, or too many */
    size_t asked;          /* for how many */
    bool more_tasks;       /* there may be others behind them */
    uint64_t needed;       /* those before them that others need */
    time_ms old_before;
    uint64_t low, middle, high; /* the first event that is not old is one of low … high */
    uint64_t first_kept;        /* found: those before it may go */
};

struct engine {
    struct engine_options options;
    struct config *config;
    struct store *store;
    struct executor *executor;   /* of this machine */
    struct executors *executors; /* and the others: executors_internal.h */
    struct loop *loop;
    struct core *core;
    struct task_names names;
    char *home, *data, *runs_folder, *config_file, *socket_path, *run_socket_path, *shim_path,
        *version;
    char id_buffer[ENGINE_ID_MAX];
    struct store_name store_name;
    struct data_place *places;   /* data_place.h */
    struct sandboxes *sandboxes; /* sandboxes_internal.h */
    /* the clock: the wall when the daemon started, moved on by the steady one */
    time_ms wall_at_start, steady_at_start, now;
    LIST(struct project) projects;
    uint32_t *project_of; /* by symbol: index + 1 */
    size_t project_of_capacity;
    LIST(struct group) groups; /* by id - 1 */
    struct id_map group_names;
    LIST(uint32_t) free_groups;      /* ids of those that are gone */
    uint64_t last_group;             /* the highest number in a name that was made */
    struct slab runs;                /* struct live_run */
    struct id_map run_of;            /* task → handle */
    LIST(uint32_t) live;             /* handles */
    LIST(task_id) launches;          /* start orders that are on disk; */
    size_t launched, launches_asked; /* so many are carried out; questions about others */
    time_ms launch_look;             /* no launch is late before */
    LIST(struct external) externals; /* living runs that are not ours */
    struct external_ids *external_ids;
    LIST(struct away_host) away; /* hosts whose runs are not seen: away.h */
    LIST(struct allowance) allowances;
    LIST(task_id) spent;       /* tasks that have used up their own budget: budget.c */
    LIST(task_id) relook;      /* those whose budget is another since the last decision */
    LIST(struct claim) claims; /* runs that the rows do not know: recover_internal.h */
    task_id last_folder;       /* the highest number that a run folder has */
    LIST(struct happening) happened;
    LIST(struct happening) late_ends; /* the store is asked what their tasks spawn */
    engine_spawn_tasks spawn;
    void *spawn_ctx;
    engine_notify_test notify_test; /* notifier.h; NULL: there is none */
    void *notifier;
    engine_run_variables run_variables; /* telemetry.h; NULL: nobody adds any */
    void *run_variables_ctx;
    char *gone_before; /* ids that the daemon before had to forget: gone_internal.h */
    engine_forgotten forgotten;
    void *forgotten_ctx;
    struct watch *watch; /* files that somebody waits for: watch.h */
    struct engine_request *queue, **queue_end;
    struct stopping stopping;
    LIST(struct follower *) followers;
    struct error broken;       /* code 0: it is not */
    time_ms retry_at;          /* after a failed commit: not before; 0: now */
    unsigned retries;          /* commits that failed since the last good one, */
    struct error refused;      /* what the last of them was refused for, and how long */
    time_ms rebuild;           /* it took to build the core again */
    uint32_t spare_iterations; /* bit N: HOME/tasks/.spare/N is there */
    bool committing, started, ending, gone_is_noted, gone_is_noting, data_mark_is_due;
    bool start_pending;          /* the first turn, whatever there is to do */
    bool paused, full, disk_low; /* the last: below host.disk_free_gb */
    struct loop_timer *timer;
    struct turn turn;

    task_id last_task;
    uint64_t first_event, last_event, committed_event;
    struct engine_pause pause; /* with paused; its text is owned */
    time_ms host_read_at, disk_read_at;
    int64_t memory_free_mb, load_milli, disk_free_mb; /* -1: unknown */
    struct pruning prune;
    struct engine_forecast_state *forecast;
    struct engine_outlook_state *outlook;
    struct live_snapshot *live_snapshot;
    struct tally *tally;
    struct workspaces *workspaces; /* workspace_internal.h */
    struct alerts *alerts;
    struct journal *journal;
    struct listening *listening;
    struct sessions *sessions;
    struct secrets *secrets; /* of runs that are launched or live: secrets.h */
    struct redaction *redaction;
    LIST(struct engine_await *) awaits; /* who waits for tasks: await.h */
    bool await_news;                    /* which runs wait may have changed */
    struct accesses *access;            /* NULL: nobody ever had one */
    struct page_codes *page_codes;      /* NULL: no code was ever made */
    LIST(struct limited_since) limited;
    struct troubles *troubles;  /* NULL: there was none */
    LIST(struct stuck *) stuck; /* whose work tree is looked at: stuck.c */
    struct engine_report report;
    struct engine_stats stats;
    engine_published publish;
    void (*after_turn)(void *ctx);
    void *publish_ctx, *after_turn_ctx;
    struct loop_timer *care_timer; /* the store's own work after commits */
    time_ms commit_steady;         /* when the last one was */
};

/* --- turn.c ---------------------------------------------------------------------------------- */

/* Text that lives as long as the turn. */
char *turn_text(struct engine *e, const char *text);
void turn_wake(struct engine *e); /* there is something to do */
void turn_finish(struct engine *e);
/* Nothing is decided any more; the daemon ends. */
void turn_break(struct engine *e, const struct error *why);
/* The store is not ours any more, or cannot be relied on: nothing is started and nothing stopped from now on. What was
 * committed before is for the next daemon to do. */
bool turn_is_over(const struct engine *e);
void turn_wrote(struct engine *e); /* the batch holds something that must be committed */
void turn_write_state(struct engine *e, const struct order *order); /* its event */

/* --- pause.c --------------------------------------------------------------------------------- */

/* Owns a copy of the name. */
void pause_set(struct engine_pause *pause, const char *by, time_ms at);
/* As the present core is told it. */
struct pause pause_told(struct core *core, const struct engine_pause *pause);
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
void projects_free(struct engine *e);

/* --- host.c ---------------------------------------------------------------------------------- */

/* Reads the disk, and memory and load if they are older than a second and somebody asks; tells the core. */
void host_look(struct engine *e);
time_ms host_next_look(const struct engine *e);

/* --- prune.c --------------------------------------------------------------------------------- */

/* Forgets old finished tasks, events, keys and usage, a few per turn. */
void prune_some(struct engine *e);
void prune_now(struct engine *e); /* the next look is due */
time_ms prune_next(const struct engine *e);

#include "engine/groups_internal.h"
#include "engine/runs_internal.h"
