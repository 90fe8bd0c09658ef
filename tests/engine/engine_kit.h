/* engine_kit.h: an engine with a real store and runs that the test controls.
 *
 * Life: kit_open → kit_add, kit_apply … → kit_close. kit_restart ends the engine without a shutdown, like
 * a crash, and starts another one on the same store. */
#pragma once

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/submission.h"
#include "fake_executor.h"
#include "os/loop.h"

struct kit {
    char home[64];
    char url[96];
    const char *config_text;
    bool late;                             /* late_store.h instead of SQLite */
    void (*before_start)(struct kit *kit); /* with an engine that has not started; or NULL */
    struct loop *loop;
    struct store *store;
    struct engine *engine;
    struct engine_report report;
    /* of the last request that the kit waited for */
    enum store_outcome outcome;
    struct error err;
    int result;
};

/* The beginning of each configuration: no gate depends on the disk of the test machine. */
#define KIT_CALM "host: {disk_free_gb: 0}\nstore: {min_free_mb: 0}\n"

/* `config_text`: sluice.yaml. */
void kit_open(struct kit *kit, const char *config_text);
void kit_open_late(struct kit *kit, const char *config_text);
void kit_close(struct kit *kit);
void kit_restart(struct kit *kit);
/* The two halves of a restart. Between them the test may change the store. */
void kit_stop(struct kit *kit);
void kit_start(struct kit *kit);
/* While the engine is down: opens the store, lets `write` fill a batch, commits it. */
void kit_store(struct kit *kit, void (*write)(struct store_batch *batch));

/* Runs the loop until `until` holds; fails the test after 20 s with `what` in the message. */
void kit_wait(struct kit *kit, bool (*until)(struct kit *kit, void *ctx), void *ctx,
              const char *what);
void kit_wait_state(struct kit *kit, task_id task, enum task_state state);
void kit_wait_starts(struct kit *kit, size_t starts);
void kit_wait_failures(struct kit *kit, uint64_t failed_commits);
/* Runs a few rounds of the loop: enough for queued work, without waiting. */
void kit_settle(struct kit *kit);
/* Runs the loop until the engine itself stops it, as after a fatal error. */
void kit_wait_broken(struct kit *kit);

/* --- requests -------------------------------------------------------------------------------- */

struct kit_ask {
    struct engine_request request; /* first */
    struct kit *kit;
    int (*run)(struct engine *engine, struct kit_ask *ask); /* the result */
    struct submission draft;
    size_t count; /* number of copies of the draft */
    struct fact fact;
    const char *text; /* for `run` */
    task_id first;    /* of the added tasks */
    bool answered;
    enum store_outcome outcome;
    struct error err;
    int result;
};

struct kit_ask kit_ask_add(struct kit *kit, const char *project, const char *json);
struct kit_ask kit_ask_apply(enum fact_kind kind, task_id task);
/* Queues the request; `ask` must stay valid until it is answered. */
void kit_send(struct kit *kit, struct kit_ask *ask);
/* Sends the request and waits; returns the result. */
int kit_do(struct kit *kit, struct kit_ask *ask);

/* Each is one request in its own turn: returns the result, and sets kit->outcome to that of the commit. */
int kit_add(struct kit *kit, const char *project, const char *json, task_id *ret_task);
int kit_add_for(struct kit *kit, const char *agent, const char *json, task_id *ret_task);
int kit_add_after(struct kit *kit, task_id before, task_id *ret_task);
int kit_apply(struct kit *kit, enum fact_kind kind, task_id task);
void kit_clear_limiter(struct kit *kit, const char *name); /* as a person does it */
int kit_run(struct kit *kit, int (*run)(struct engine *engine, struct kit_ask *ask),
            const char *text);
int kit_pause(struct kit *kit, bool paused);
/* Adds a task to project "web"; fails the test if that is not committed. */
task_id kit_web(struct kit *kit, const char *json);

/* --- queries --------------------------------------------------------------------------------- */

enum task_state kit_state(struct kit *kit, task_id task);
struct task_view kit_view(struct kit *kit, task_id task);
struct engine_stats kit_stats(struct kit *kit);
/* The number of stored events of this kind (and task, if it is not 0). */
size_t kit_events(struct kit *kit, const char *kind, task_id task);
/* The newest stored run; false: no run is stored. Strings are copied. */
bool kit_last_run(struct kit *kit, task_id task, struct run_row *ret);
