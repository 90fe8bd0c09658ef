/* fake_executor.h: the executor's interface without processes; the test controls the runs.
 *
 * Linked in place of src/executor. Calls are recorded in order; starts and ends are reported through the
 * loop, as by the real one. There is one instance at a time. */
#pragma once

#include "executor/executor.h"

struct fake_start {
    struct run_key run;
    char folder[160];
    char command[1024]; /* words joined by blanks */
    char env[4096];     /* KEY=VALUE lines */
    char cwd[256];
    char prompt[256];
    time_ms timeout;
    int stop_signal;
    bool has_key;
    struct tag_key key; /* with has_key */
    bool in_slurm;      /* then also: */
    char name[64], token[96];
    char place[512]; /* "partition=gpu cpus=4 …": the requested resources */
};

struct fake_stop {
    struct run_key run;
    enum stop_how how;
    bool in_slurm;
};

size_t fake_start_count(void);
const struct fake_start *fake_start_at(size_t index);
size_t fake_stop_count(void);
const struct fake_stop *fake_stop_at(size_t index);
/* For more starts or stops than fit: drops those recorded so far. */
void fake_forget_calls(void);
/* The number of runs that were started or adopted and have not ended. */
size_t fake_live(void);

/* The next calls of executor_start fail with this errno (negative); 0: they succeed. */
void fake_fail_starts(int code);
/* Every run starts and ends with this exit code by itself; -1: the test controls it. */
void fake_end_all_with(int code);

/* Reported in the next round of the loop. */
void fake_report_started(struct run_key run);
void fake_report_ended(struct run_key run, const struct run_end *end);
struct run_end fake_exit(int code);

/* The result of executor_adopt for a run; the default is ADOPTED_LOST. */
void fake_will_adopt(struct run_key run, enum adopted what, const struct run_end *end);
const char *fake_adopted(
    size_t index); /* "task.attempt=alive"; NULL behind the last. In Slurm: "slurm 1.1=…" */

/* What the engine passed for the last adopted run. */
struct fake_known {
    bool has_key;
    struct tag_key key;
    pid_t pid;
    uint64_t start, space;
    char cgroup[64];
};
const struct fake_known *fake_known(void);
/* The identity of the shim of every run; pid 0: unknown. */
void fake_shim_is(pid_t pid, uint64_t start, const char *cgroup);

/* Every later sweep finds the folder of a dead run, and removes it unless the engine knows the run. For a run
 * that the engine knows, fake_will_adopt sets whether it is alive. */
void fake_has_folder(const char *task, uint32_t attempt);
/* The next sweep finds a live run that the engine does not know; it ends later. */
void fake_has_external(const char *task);
void fake_external_ends(const char *task);
/* The last id that executor_forget was called with; "": none. */
size_t fake_stored_ends(void); /* reported to the executor as stored */
const char *fake_forgotten(void);

void fake_forget_everything(void);

/* --- Slurm ------------------------------------------------------------------------------------- */

size_t fake_slurm_made(void); /* how often its executor was created */
/* Creating it fails with this errno (negative); 0: it succeeds. */
void fake_refuse_slurm(int code);
/* The text that it reports for every run; NULL: none. */
void fake_slurm_says(const char *doing);
/* Like fake_has_folder, for a run in Slurm. */
void fake_has_slurm_folder(const char *task, uint32_t attempt);
/* A live run in Slurm that the engine does not know. */
void fake_has_slurm_external(const char *task);
