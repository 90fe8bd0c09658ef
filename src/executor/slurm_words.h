/* slurm_words.h: arguments for Slurm's programs, and parsing of their output. Private to executor/.
 *
 * Pure functions without state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "rundir/rundir.h"

#define SLURM_NODE_MAX   64
#define SLURM_REASON_MAX 64
#define SLURM_WORDS_MAX  128 /* per sbatch */
#define SLURM_ORDER_MAX  (64u << 10)

enum slurm_program {
    PROGRAM_SBATCH,
    PROGRAM_SQUEUE,
    PROGRAM_SACCT,
    PROGRAM_SCANCEL,
    PROGRAM_SCONTROL,
    PROGRAM_SINFO,
    SLURM_PROGRAM_MAX,
};
const char *slurm_program_name(enum slurm_program program);

/* --- to submit ------------------------------------------------------------------------------- */

/* The arguments of sbatch. Stored in the directory of a run, so that a later daemon can submit it,
 * too. */
struct slurm_order {
    char *token;
    char **words; /* options for sbatch, NULL-terminated */
    time_ms grace;
};
void slurm_order_finish(struct slurm_order *order); /* safe on a zeroed one */
/* How long a run may need its job; 0: unlimited. A backstop: the shim ends a command at its
 * timeout, reports why, and needs a while for that. So Slurm gets the sum of all timeouts, and a minute. */
time_ms slurm_time_limit(const struct run_spec *spec);
/* -EINVAL: a name cannot be an argument of sbatch; `err` names it. */
int slurm_order_make(const struct run_spec *spec, const char *token, struct slurm_order *ret,
                     struct error *err);
void slurm_order_format(const struct slurm_order *order, struct strbuf *out);
/* -EPROTO: truncated or malformed. */
int slurm_order_parse(const char *text, size_t size, struct slurm_order *ret);

/* "exec 'SHIM' --in 'FOLDER' WAIT": the script of the job, for any folder name. */
void slurm_script(struct strbuf *out, const char *shim, const char *folder, time_ms kill_wait);

/* What the end of an sbatch proves. */
enum slurm_answer {
    ANSWER_ACCEPTED,    /* a job exists */
    ANSWER_REFUSED,     /* no job exists, and retrying would not help */
    ANSWER_UNREACHABLE, /* Slurm was not reached: no job exists */
    ANSWER_UNCLEAR,     /* a job may exist */
};
/* `good`: exit status 0. `ret_why`: its messages without "sbatch: error:", truncated. */
enum slurm_answer slurm_answer_read(const char *output, bool good, uint64_t *ret_job, char *ret_why,
                                    size_t why_size);

/* --- job lists ------------------------------------------------------------------------------- */

enum slurm_job_state {
    JOB_UNKNOWN,
    JOB_PENDING,
    JOB_RUNNING, /* also: being prepared, suspended, stopped */
    JOB_ENDING,  /* its processes are being terminated */
    /* over: */
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_CANCELED,
    JOB_TIMEOUT,
    JOB_OUT_OF_MEMORY,
    JOB_NODE_FAIL,
    JOB_PREEMPTED,
    JOB_STATE_MAX,
};
enum slurm_job_state slurm_job_state_parse(const char *text); /* also with "by 1000" after it */
static inline bool slurm_job_is_over(enum slurm_job_state state) {
    return state >= JOB_COMPLETED;
}

struct slurm_job {
    uint64_t id;
    enum slurm_job_state state;
    int code, signal;              /* of its script; 0: none */
    int64_t canceled_by;           /* user id; -1: unknown */
    char reason[SLURM_REASON_MAX]; /* why it waits; "" */
    char node[SLURM_NODE_MAX];     /* "": none yet */
    char name[SLURM_NODE_MAX];     /* truncated; "": not listed */
};

/* The columns that slurm_job_read parses, for squeue -O and for sacct -o, which needs no names. */
#define SLURM_SQUEUE_COLUMNS "JobID:|,State:|,exit_code:|,NodeList:|,Reason:|,Comment:|,Name:|"
#define SLURM_SACCT_COLUMNS  "JobIDRaw,State%64,ExitCode,NodeList,Reason,Comment"
/* Splits the next line of a list, in place. `ret_token` points into it. false: end of the list.
 * Malformed lines are skipped. */
bool slurm_job_read(char **list, struct slurm_job *ret, const char **ret_token);
/* The job has our number but another comment: is it ours? Decided by its name, unless the comment
 * is the token of another run. */
bool slurm_job_is_renamed(const struct slurm_job *job, const char *comment,
                          const struct slurm_order *order);

/* From `scontrol show config`; missing values are unchanged. */
struct slurm_config {
    char cluster[64];
    time_ms kill_wait;
    bool accounting;
};
void slurm_config_read(const char *text, struct slurm_config *config);
