/* store.h: durable storage; what is acknowledged is on disk.
 *
 * Life:      store_open → store_load (once) → store_commit, store_query … → store_close
 * Writing:   a batch is filled with rows and committed atomically: one transaction, one fsync. The
 *            outcome comes by callback, now (memory, SQLite on a fast disk) or later (a slow disk,
 *            a network database); meanwhile no other batch may be committed, but queries may be
 *            asked.
 *   OK       it is on disk.
 *   FAILED   nothing of it is; the store continues. -ENOSPC: the disk is full; -EEXIST: a number, a
 *            key or an external id is taken; -ENOENT: a task to be changed does not exist.
 *   UNKNOWN  it may be or not; the store answers nothing more. The daemon must restart.
 * Reading:   store_query (query.h); at most STORE_ANSWER_MAX rows. Answers show committed state.
 * Exclusive: one process has a store open; a second open fails with -EBUSY, and may wait (await.h).
 *
 * Adding a backend
 *   1. src/store/NAME.c with its `const struct store_backend`, one line in store.c
 *   2. one line in tests/store/suite_main.c: the suite runs on every backend
 * Adding a column: columns.h */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/metric.h"
#include "store/columns.h"
#include "store/query.h"
#include "store/rows.h"

#define STORE_RESERVE ((int64_t)64 << 20)

struct loop;
struct store;
struct store_await;
struct store_batch;

enum store_outcome { STORE_OK, STORE_FAILED, STORE_UNKNOWN, STORE_OUTCOME_MAX };
const char *store_outcome_name(enum store_outcome outcome);

enum store_use {
    STORE_USE_WORK,
    /* Read-only: not migrated (an older version: -EPROTO), not counted. Missing: -ENOENT. */
    STORE_USE_READ,
    STORE_USE_COPY, /* destination of a possibly unfinished copy: see copy.h */
};

struct store_options {
    /* The path of the SQLite file, postgresql://…, "memory:", or "memory:NAME", which stays in the
     * process when it is closed, and can be opened again. */
    const char *url;
    /* Delivers later answers; must outlive the store. NULL: every call blocks for its answer. */
    struct loop *loop;
    /* Called before each blocking step of a long start (check, migration, load); may be NULL. */
    void (*progress)(void *ctx, const char *what, unsigned percent);
    /* Messages of the database for the program's log; may be NULL. */
    void (*log)(void *ctx, const char *text);
    void *ctx;
    /* Reserved disk space, so that ends of runs can be stored on a full disk; 0: STORE_RESERVE, <0:
     * none. */
    int64_t reserve_bytes;
    struct store_await *awaited; /* see await.h: consumed, whatever store_open returns; or NULL */
    const char *who; /* "host/pid address", shown to others that find the store in use; or NULL */
    enum store_use use;
    bool is_slow;         /* SQLite: commits in the thread, as if they were slow (tests) */
    int64_t small_bytes;  /* SQLite: a file up to this size is always checked; 0: 128 MB (tests) */
    uint64_t epoch_above; /* the new epoch is above this one of another store */
};

/* What opening found. */
struct store_report {
    bool created;           /* it did not exist */
    bool was_unclean;       /* the last user did not close it */
    uint32_t migrated_from; /* 0: no migration */
    char backup[512];       /* made before the migration; "": none */
    uint64_t epoch;         /* increases with every open */
};

/* Checks, migrates (after a backup) and locks. Errors: -EBUSY another process has it, -EPROTO a
 * newer version wrote it, -EUCLEAN it is damaged (the message names the restore command), -ENOTSUP
 * the file system is unsuitable. */
int store_open(const struct store_options *options, struct store **ret_store,
               struct store_report *ret_report, struct error *err);
struct store *store_close(struct store *store); /* accepts NULL, returns NULL */

/* Inspects a store that is not in use (-EBUSY) without changing it: nothing is migrated, created or
 * counted. Checked completely; errors as those of store_open. */
struct store_summary {
    bool there; /* otherwise nothing else is known */
    bool was_unclean;
    bool unfinished;  /* an unfinished copy: store_load refuses it */
    uint32_t version; /* of its schema; older: the next store_open migrates it */
    uint64_t tasks, last_event;
};
int store_summary(const char *url, struct store_summary *ret_summary, struct error *err);

/* --- start ----------------------------------------------------------------------------------- */

/* Loads everything once; a callback that returns <0 stops it. Tasks by number, after projects (in
 * creation order), limiters, agents, groups, usage (by time), waits and notes; then the external
 * ids of tasks, in any order, and the runs that have not ended. Equal projects, kinds, agents and
 * limiters are equal pointers in SQLite. */
struct store_reader {
    int (*project)(void *ctx, const struct project_row *row, struct error *err);
    int (*limiter)(void *ctx, const struct limiter_row *row, struct error *err);
    int (*agent)(void *ctx, const struct agent_row *row, struct error *err);
    int (*group)(void *ctx, const struct group_row *row, struct error *err);
    int (*usage)(void *ctx, const struct usage_row *row, struct error *err);
    int (*wait)(void *ctx, const struct wait_row *row, struct error *err);
    int (*note)(void *ctx, const struct note_row *row, struct error *err);
    int (*task)(void *ctx, const struct task_row *row, struct error *err);
    int (*external)(void *ctx, const struct external_row *row, struct error *err);
    int (*run)(void *ctx, const struct run_row *row, struct error *err); /* not ended */
    /* Instead of all of these, for scan.c; `kind`: enum row_kind. */
    int (*any)(void *ctx, unsigned kind, const void *row, struct error *err);
    void *ctx;
};

struct store_totals {
    task_id last_task;                /* the highest number ever assigned */
    uint64_t first_event, last_event; /* oldest stored, 0: none; highest number ever assigned */
    uint64_t tasks;
    struct pause_row pause; /* its text is valid until the next commit */
};

/* -EINPROGRESS: an unfinished copy. */
int store_load(struct store *store, const struct store_reader *reader,
               struct store_totals *ret_totals, struct error *err);

/* --- writing --------------------------------------------------------------------------------- */

struct store_batch *store_batch_new(void);
struct store_batch *store_batch_free(struct store_batch *batch); /* accepts NULL, returns NULL */
void store_batch_clear(struct store_batch *batch);               /* keeps the memory */
size_t store_batch_count(const struct store_batch *batch);

/* The writes of a batch happen in order, specs last. An empty name is stored as NULL. */

/* A new row and its dependencies. */
void store_add_task(struct store_batch *batch, const struct task_row *row);
/* By default only scheduling state changes: project, resources and created_at stay. */
enum store_task_change {
    STORE_CHANGE_NEEDS = 1, /* also writes depends_on */
    STORE_CHANGE_SEEN = 2,  /* a user-visible change: also writes changed_at */
};
void store_change_task(struct store_batch *batch, const struct task_row *row, unsigned what);
/* Ignored if its task does not exist at the end of the batch. */
void store_add_spec(struct store_batch *batch, const struct spec_row *row);
/* Replaces the context of a task; NULL: removes it. Ignored if its task does not exist. */
void store_put_context(struct store_batch *batch, task_id task, const char *context);
/* Replaces the title and the submission of a task. Ignored if its task does not exist. */
void store_edit_spec(struct store_batch *batch, task_id task, const char *title, const char *json);
/* Deletes the task, its spec, dependencies, runs and the link from its events. A no-op if
 * missing. */
void store_delete_task(struct store_batch *batch, task_id task);
/* Marks numbers up to this one as assigned, though no row has them. */
void store_assign_numbers(struct store_batch *batch, task_id last);
void store_put_run(struct store_batch *batch, const struct run_row *row);
/* Copies a row of an answer; end with free. */
struct run_row *run_row_clone(const struct run_row *row);
void store_add_event(struct store_batch *batch, const struct event_row *row);
void store_prune_events(struct store_batch *batch, uint64_t first_kept);
/* An existing project keeps its prefix and created_at. */
void store_put_project(struct store_batch *batch, const struct project_row *row);
void store_put_group(struct store_batch *batch, const struct group_row *row);
/* It must be empty; a missing group is not an error. */
void store_delete_group(struct store_batch *batch, uint32_t group);
void store_put_limiter(struct store_batch *batch, const struct limiter_row *row);
void store_put_agent(struct store_batch *batch, const struct agent_row *row);
void store_add_usage(struct store_batch *batch, const struct usage_row *row);
void store_put_wait(struct store_batch *batch, const struct wait_row *row);
void store_prune_usage(struct store_batch *batch, time_ms before);
/* Added to the sums of its hour and day (UTC), which outlive tasks and runs. */
void store_add_spent(struct store_batch *batch, const struct spent_row *row);
/* Deletes sums of hours, or of days, that began before. */
void store_prune_spent(struct store_batch *batch, bool days, time_ms before);
void store_add_key(struct store_batch *batch, const struct key_row *row);
void store_prune_keys(struct store_batch *batch, time_ms before);
void store_put_pause(struct store_batch *batch, const struct pause_row *row);
void store_put_note(struct store_batch *batch, const struct note_row *row);

/* Optional: a part of a large batch is final. A store behind a network can work on it while the
 * rest is prepared. The batch must be the next to be committed. */
void store_send_ahead(struct store *store, const struct store_batch *batch);

typedef void (*store_committed)(void *ctx, enum store_outcome outcome, const struct error *err);
/* The store owns the batch until the callback. An empty batch is OK immediately. */
void store_commit(struct store *store, struct store_batch *batch, store_committed done, void *ctx);

/* --- maintenance ----------------------------------------------------------------------------- */

/* Checkpoints when due, and does the next piece of a backup; `idle_ms`: since the last commit.
 * Returns the delay until the next call, or TIME_NEVER. */
time_ms store_maintain(struct store *store, time_ms idle_ms);

/* An openable copy: checked, fsynced, renamed into place. store_maintain makes it, call by call,
 * while commits and queries continue; it holds everything that was committed when it began, and
 * may hold more. `done` is called once; `err` not NULL: it failed, and nothing of it is left. One
 * at a time: -EBUSY. */
typedef void (*store_copied)(void *ctx, const struct error *err);
void store_backup(struct store *store, const char *path, store_copied done, void *ctx);
/* Cancels the backup in progress, if any, with -ESHUTDOWN. store_close does it too. */
void store_backup_cancel(struct store *store);
/* Replaces the store at `url` by a copy; refused while it is in use. The old files are kept beside
 * it (`ret_kept`). */
int store_restore(const char *url, const char *path, char ret_kept[512], struct error *err);

struct store_info {
    const char *backend; /* "sqlite" */
    const char *place;
    uint64_t commits, rows;
    int64_t bytes, log_bytes; /* file and write-ahead log; -1: none */
    int64_t last_commit_us, slowest_commit_us;
    struct latency latency; /* of commits */
    bool broken;            /* answered UNKNOWN */
    bool reserve_used;      /* the disk was full: the reserve is in use */
};
void store_info(const struct store *store, struct store_info *ret);
/* A URL for display: without a password. */
#define STORE_SHOWN_MAX 512u
void store_show_url(const char *url, char ret_shown[STORE_SHOWN_MAX]);
/* Abandons what is in progress: a commit ends with UNKNOWN, queries with `why`, before this
 * returns, and the store is broken. For exiting without waiting for answers. */
void store_give_up(struct store *store, const struct error *why);
/* Why it answers nothing more; NULL: it does. Free. */
const struct error *store_why_broken(const struct store *store);
