/* store.h: what is acknowledged is on disk.
 *
 * Life:      store_open → store_load (once) → store_commit, store_ask … → store_close
 * Writing:   a batch is filled with rows and committed whole: one transaction, one fsync. The outcome
 *            comes by callback, now (memory, SQLite on a quick disk) or later (a slow one, a network
 *            database); meanwhile no other batch may be committed, questions may be asked.
 *   OK       it is on disk.
 *   FAILED   nothing of it is; the store goes on. -ENOSPC: the disk is full; -EEXIST: a number, a
 *            key or an external id is taken; -ENOENT: a task to be changed is not there.
 *   UNKNOWN  it may be or not; the store answers nothing more. The daemon ends and starts again.
 * Reading:   store_ask (question.h); at most STORE_ANSWER_MAX rows. Answers show what was committed.
 * Alone:     one process has a store open; a second open fails with -EBUSY, and may wait (await.h).
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
#include "store/question.h"
#include "store/rows.h"

#define STORE_RESERVE ((int64_t)64 << 20)

struct loop;
struct store;
struct store_await;
struct store_batch;

enum store_outcome { STORE_OK, STORE_FAILED, STORE_UNKNOWN, STORE_OUTCOME_MAX };
const char *store_outcome_name(enum store_outcome outcome);

/* What a store is opened for. */
enum store_use {
    STORE_USE_WORK,
    /* Nothing is written: not migrated (an older version: -EPROTO), not counted. None there: -ENOENT. */
    STORE_USE_READ,
    STORE_USE_COPY, /* what is copied into it may be unfinished: see copy.h */
};

struct store_options {
    /* The path of the SQLite file, postgresql://…, "memory:", or "memory:NAME": that one stays in the
     * process when it is closed, and can be opened again. */
    const char *url;
    /* Brings answers that come later; it must outlive the store. NULL: every call waits for its answer. */
    struct loop *loop;
    /* Asked to step before each wait of a long start (check, migration, load); may be NULL. */
    void (*progress)(void *ctx, const char *what, unsigned percent);
    /* What the database says by the way, for the log of the program; may be NULL. */
    void (*log)(void *ctx, const char *text);
    void *ctx;
    /* Disk kept aside, so that ends can be recorded when it is full; 0: STORE_RESERVE, <0: none. */
    int64_t reserve_bytes;
    struct store_await *awaited; /* see await.h: taken, whatever store_open returns; or NULL */
    const char *who; /* "host/pid address", told to whoever finds the store in use; or NULL */
    enum store_use use;
    bool
        is_slow; /* SQLite: commits are made beside the loop as if the last one had been slow (tests) */
    uint64_t epoch_above; /* the epoch becomes higher than this one, which another store has had */
};

/* What the start found. */
struct store_report {
    bool created;           /* there was none */
    bool was_unclean;       /* the last user did not close it */
    uint32_t migrated_from; /* 0: no migration */
    char backup[512];       /* made before the migration; "": none */
    uint64_t epoch;         /* one more with every open */
};

/* Checks, migrates (after a backup) and locks. Errors: -EBUSY somebody else has it, -EPROTO a newer version
 * wrote it, -EUCLEAN it is damaged (the sentence names the restore command), -ENOTSUP the file
 * system cannot be trusted. */
int store_open(const struct store_options *options, struct store **ret_store,
               struct store_report *ret_report, struct error *err);
struct store *store_close(struct store *store); /* accepts NULL, returns NULL */

/* Looks at a store that nobody has open (-EBUSY) and leaves it as it is: nothing is migrated, made or
 * counted. Checked wholly; errors as those of store_open. */
struct store_look {
    bool there; /* else nothing else is known */
    bool was_unclean;
    bool unfinished;  /* a copy into it: store_load refuses it */
    uint32_t version; /* of its schema; older: the next store_open migrates it */
    uint64_t tasks, last_event;
};
int store_look(const char *url, struct store_look *ret_look, struct error *err);

/* --- start ----------------------------------------------------------------------------------- */

/* Everything, once; a callback that returns <0 ends it. Tasks in the order of their numbers, after
 * projects (as they were made), limiters, agents, groups, usage (by time), waits and notes; then the external ids of
 * tasks, in any order, and the runs that have not ended. SQLite brings the same project, kind, agent or limiter as the same pointer. */
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
    void *ctx;
};

struct store_totals {
    task_id last_task;                /* the highest number ever given */
    uint64_t first_event, last_event; /* that is there, 0: none; the highest number ever given */
    uint64_t tasks;
    struct pause_row pause; /* its text lives until the next commit */
};

/* -EINPROGRESS: a copy into it was begun and is not whole. */
int store_load(struct store *store, const struct store_reader *reader,
               struct store_totals *ret_totals, struct error *err);

/* --- writing --------------------------------------------------------------------------------- */

struct store_batch *store_batch_new(void);
struct store_batch *store_batch_free(struct store_batch *batch); /* accepts NULL, returns NULL */
void store_batch_clear(struct store_batch *batch);               /* keeps the memory */
size_t store_batch_count(const struct store_batch *batch);

/* The writes of a batch happen in their order, specs last. "" is no name: it is kept as NULL. */

/* New: the row and its dependencies. */
void store_add_task(struct store_batch *batch, const struct task_row *row);
/* Else only what scheduling changes: project, resources and created_at stay as they are. */
enum store_task_change {
    STORE_CHANGE_NEEDS = 1, /* depends_on is written, too */
    STORE_CHANGE_SEEN = 2,  /* users see a difference: changed_at is written, too */
};
void store_change_task(struct store_batch *batch, const struct task_row *row, unsigned what);
/* Left out when its task is not there at the end of the batch. */
void store_add_spec(struct store_batch *batch, const struct spec_row *row);
/* Replaces the context of a task; NULL: it has none. Left out when its task is not there. */
void store_put_context(struct store_batch *batch, task_id task, const char *context);
/* The task, its spec, dependencies, runs and events' link are gone. None there: nothing happens. */
void store_delete_task(struct store_batch *batch, task_id task);
/* Numbers up to this one are given already, though no row has them. */
void store_take_numbers(struct store_batch *batch, task_id last);
void store_put_run(struct store_batch *batch, const struct run_row *row);
/* A row of an answer that must live longer than that: end with free. */
struct run_row *run_row_clone(const struct run_row *row);
void store_add_event(struct store_batch *batch, const struct event_row *row);
void store_prune_events(struct store_batch *batch, uint64_t first_kept);
/* One that is there keeps its prefix and created_at. */
void store_put_project(struct store_batch *batch, const struct project_row *row);
void store_put_group(struct store_batch *batch, const struct group_row *row);
/* No task is in it; one that is not there is no error. */
void store_delete_group(struct store_batch *batch, uint32_t group);
void store_put_limiter(struct store_batch *batch, const struct limiter_row *row);
void store_put_agent(struct store_batch *batch, const struct agent_row *row);
void store_add_usage(struct store_batch *batch, const struct usage_row *row);
void store_put_wait(struct store_batch *batch, const struct wait_row *row);
void store_prune_usage(struct store_batch *batch, time_ms before);
/* Added to the sums of its hour and of its day (of UTC), which stay when tasks and runs are gone. */
void store_add_spent(struct store_batch *batch, const struct spent_row *row);
/* Sums of hours, or of days, that began before. */
void store_prune_spent(struct store_batch *batch, bool days, time_ms before);
void store_add_key(struct store_batch *batch, const struct key_row *row);
void store_prune_keys(struct store_batch *batch, time_ms before);
void store_put_pause(struct store_batch *batch, const struct pause_row *row);
void store_put_note(struct store_batch *batch, const struct note_row *row);

/* Optional: a part of a large batch is there and will not change. A store behind a network can work on it
 * while the rest is made. The batch is the next to be committed. */
void store_send_ahead(struct store *store, const struct store_batch *batch);

typedef void (*store_committed)(void *ctx, enum store_outcome outcome, const struct error *err);
/* The batch belongs to the store until the callback. An empty batch is OK at once. */
void store_commit(struct store *store, struct store_batch *batch, store_committed done, void *ctx);

/* --- care ------------------------------------------------------------------------------------ */

/* Checkpoints when it is time, and does the next piece of a backup; `idle_ms`: since the last commit.
 * Returns when to call again, as a span, or TIME_NEVER. */
time_ms store_maintain(struct store *store, time_ms idle_ms);

/* A copy that can be opened: checked, fsynced, renamed into place. It is made by store_maintain, call by
 * call, while commits and questions go on; it holds everything that was committed when it was begun, and
 * may hold more. `done` is called once; `err` not NULL: there is none, and nothing of it is left. One at a
 * time: -EBUSY. */
typedef void (*store_copied)(void *ctx, const struct error *err);
void store_backup(struct store *store, const char *path, store_copied done, void *ctx);
/* The one that goes on ends now, with -ESHUTDOWN; none does: nothing happens. store_close does it too. */
void store_backup_cancel(struct store *store);
/* Puts a copy in the place of the store at `url`; refused while somebody has it open. The old files are kept
 * beside it (`ret_kept`). */
int store_restore(const char *url, const char *path, char ret_kept[512], struct error *err);

struct store_info {
    const char *backend; /* "sqlite" */
    const char *place;
    uint64_t commits, rows;
    int64_t bytes, log_bytes; /* file and write-ahead log; -1: none */
    int64_t last_commit_us, slowest_commit_us;
    struct latency latency; /* of commits */
    bool broken;            /* answered UNKNOWN */
    bool reserve_used;      /* the disk was full: what was kept aside is in use */
};
void store_info(const struct store *store, struct store_info *ret);
/* A URL as people may see it: without a password. */
#define STORE_SHOWN_MAX 512u
void store_show_url(const char *url, char ret_shown[STORE_SHOWN_MAX]);
/* Nobody waits any more for what is on its way: a commit ends with UNKNOWN, questions with `why`, before this returns, and the
 * store is broken. For whoever ends without the patience to hear the answers. */
void store_give_up(struct store *store, const struct error *why);
/* Why it answers nothing more, whether somebody asked or not; NULL: it does. Costs nothing. */
const struct error *store_why_broken(const struct store *store);
