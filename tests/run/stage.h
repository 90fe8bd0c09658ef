/* stage.h: a folder, a loop, an executor and real shims, for the tests of this folder.
 *
 * Every test has its own stage. stage_free checks what every test must leave behind: no shim, no
 * process that a command has registered, no cgroup. Waiting is always for an event, with a deadline that
 * fails the test with a message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "executor/executor.h"
#include "executor/slurm.h"
#include "harness/test.h"
#include "os/loop.h"

#define STAGE_RUNS   256
#define STAGE_PATH   256
#define STAGE_HELPER HOSTILE_PATH /* tests/run/hostile.c */

struct stage_run {
    bool started, validating, ended;
    unsigned ended_times;
    struct run_end end;
};

struct stage {
    char home[STAGE_PATH]; /* of this test: cwd of the commands */
    char root[STAGE_PATH]; /* run folders */
    struct loop *loop;
    struct loop_timer *timer;
    struct executor *ex;
    struct executor_options options;
    struct executor_slurm_options slurm; /* when it is `on_slurm` */
    bool on_slurm;
    bool answers; /* an end is stored as soon as it is reported: stage_store_ends */
    struct executor_events events;
    struct stage_run runs[STAGE_RUNS]; /* by number of the task; attempt 1 */
    unsigned externals, externals_ended;
    bool done, late;
    time_ms deadline;
    bool (*condition)(struct stage *stage, void *ctx);
    void *ctx;
};

enum { WITHOUT_CGROUP, WITH_CGROUP };

struct stage *stage_new(int cgroup);
struct stage *stage_new_in(const char *home, int cgroup, const char *shim);
/* With the executor of Slurm, and these programs; `base` is filled in. */
struct stage *stage_new_slurm(const struct executor_slurm_options *options);
void stage_free(struct stage *stage);
/* As if the daemon were killed and started again: nothing of the old one is asked. */
void stage_restart(struct stage *stage);

/* From here on the shims offer their ends to a caller that stores them, or only says so. */
void stage_store_ends(struct stage *stage, bool answers);
/* Until every shim has exited. */
void stage_await_shims(struct stage *stage);

/* A spec with everything a run needs; the caller changes what its test is about. */
struct run_spec stage_spec(const struct stage *stage, const char *const *argv);
#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
/* hostile.c, in one of its ways. */
#define HOSTILE(...) ARGV(STAGE_HELPER, __VA_ARGS__)

void stage_start(struct stage *stage, task_id task, const struct run_spec *spec);
const struct run_end *stage_await_end(struct stage *stage, task_id task);
/* Start and end in one. */
const struct run_end *stage_run(struct stage *stage, task_id task, const struct run_spec *spec);
/* The same for a run that its time-out ends: again with twice the time as long as it was over before the command
 * had written "ready" to the file, which proves nothing. `time` is a member of the spec. Gives the task. */
task_id stage_run_timed(struct stage *stage, const struct run_spec *spec, time_ms *time,
                        const char *file);
void stage_stop(struct stage *stage, task_id task, enum stop_how how);

/* Runs the loop until it is true. */
void stage_await(struct stage *stage, bool (*condition)(struct stage *stage, void *ctx), void *ctx,
                 const char *what);
/* From inside `condition`: something has moved, so the time that is given begins again. */
void stage_be_patient(struct stage *stage);
/* Until a file of the run has this text in it. */
void stage_await_text(struct stage *stage, task_id task, const char *file, const char *text);
void stage_await_started(struct stage *stage, task_id task);
void stage_await_validating(struct stage *stage, task_id task);

/* A file of the run, whole; "" when it is not there. Static memory, until the next call. */
const char *stage_file(const struct stage *stage, task_id task, const char *file);
void stage_path(const struct stage *stage, task_id task, const char *file, char out[STAGE_PATH]);
void stage_folder(task_id task, char out[STAGE_PATH]);
struct run_started stage_who(const struct stage *stage, task_id task);

unsigned stage_cgroups(const struct stage *stage);
/* Removes those without processes, as another program might. */
void stage_remove_cgroups(const struct stage *stage);

/* Processes that commands of this stage have registered, and how many of them live. */
unsigned stage_registered(const struct stage *stage);
unsigned stage_survivors(const struct stage *stage);
void stage_kill_survivors(const struct stage *stage);
void stage_await_registered(struct stage *stage, unsigned count);

/* One test, run with a cgroup and without: both ways of finding and killing must give the same. */
extern int stage_with, stage_without;
#define BOTH_WAYS(name_)                                                                           \
    TEST_FUNCTION(name_);                                                                          \
    TEST_REGISTER(name_, name_##_with, #name_ " (cgroup)", NULL, NULL, &stage_with);               \
    TEST_REGISTER(name_, name_##_without, #name_ " (no cgroup)", NULL, NULL, &stage_without);      \
    TEST_FUNCTION(name_)
#define ONE_WAY(name_)                                                                             \
    TEST_FUNCTION(name_);                                                                          \
    TEST_REGISTER(name_, name_, #name_, NULL, NULL, &stage_with);                                  \
    TEST_FUNCTION(name_)
#define WITHOUT_CGROUP(name_)                                                                      \
    TEST_FUNCTION(name_);                                                                          \
    TEST_REGISTER(name_, name_, #name_, NULL, NULL, &stage_without);                               \
    TEST_FUNCTION(name_)
/* The stage of such a test. */
#define STAGE(state) stage_new(*(const int *)*(state))

/* A run folder without a run: `folder` is relative to `root`. */
int stage_create_folder(const char *root, const char *folder, const struct run_spec *spec,
                        struct error *err);
/* Opens and locks its lock file. */
int stage_lock_folder(const char *root, const char *folder, int *ret_fd, struct error *err);
