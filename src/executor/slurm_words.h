/* slurm_words.h: what Slurm's programs are told, and what their words mean. Private to executor/.
 *
 * Pure: texts in, values out. Nothing here runs anything or keeps anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "rundir/rundir.h"

#define SLURM_NODE_MAX   64
#define SLURM_REASON_MAX 64
#define SLURM_WORDS_MAX  128 /* of one sbatch */
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

/* What is kept in the folder of a run, so that whoever comes later can submit it, too. */
struct slurm_order {
    char *token;
    char **words; /* options for sbatch, ends with NULL */
    time_ms grace;
};
void slurm_order_finish(struct slurm_order *order); /* safe on a zeroed one */
/* -EINVAL: a name cannot be a word of sbatch, `err` says which. */
int slurm_order_make(const struct run_spec *spec, const char *token, struct slurm_order *ret,
                     struct error *err);
/* Of the job; "": it has none. */
const char *slurm_order_name(const struct slurm_order *order);
void slurm_order_format(const struct slurm_order *order, struct strbuf *out);
/* -EPROTO: it stops before its end, or is none. */
int slurm_order_parse(const char *text, size_t size, struct slurm_order *ret);

/* "exec 'SHIM' --in 'FOLDER' WAIT": the script of the job, for any folder name. */
void slurm_script(struct strbuf *out, const char *shim, const char *folder, time_ms kill_wait);

/* What the end of an sbatch proves. */
enum slurm_answer {
    ANSWER_ACCEPTED, /* there is a job */
    ANSWER_REFUSED,  /* there is none, and asking again would change nothing */
    ANSWER_AWAY,     /* nobody was reached: there is none */
    ANSWER_UNCLEAR,  /* there may be one */
};
/* `good`: it ended by itself with code 0. `ret_why`: its own sentences without "sbatch: error:", cut. */
enum slurm_answer slurm_answer_read(const char *output, bool good, uint64_t *ret_job, char *ret_why,
                                    size_t why_size);

/* --- what is listed -------------------------------------------------------------------------- */

enum slurm_job_state {
    JOB_UNKNOWN,
    JOB_PENDING,
    JOB_RUNNING, /* also: being prepared, suspended, stopped */
    JOB_ENDING,  /* its processes are being ended */
    /* over: */
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_TIMEOUT,
    JOB_OUT_OF_MEMORY,
    JOB_NODE_FAIL,
    JOB_PREEMPTED,
    JOB_STATE_MAX,
};
enum slurm_job_state slurm_job_state_parse(const char *text); /* also "CANCELLED by 1000" */
static inline bool slurm_job_is_over(enum slurm_job_state state) {
    return state >= JOB_COMPLETED;
}

struct slurm_job {
    uint64_t id;
    enum slurm_job_state state;
    int code, signal;              /* that its script ended with; 0: none */
    int64_t cancelled_by;          /* user number; -1: not said */
    char reason[SLURM_REASON_MAX]; /* why it waits; "" */
    char node[SLURM_NODE_MAX];     /* "": none yet */
    char name[SLURM_NODE_MAX];     /* cut; "": not listed */
};

/* The columns that slurm_job_read reads, for squeue -O and for sacct -o, which needs no names. */
#define SLURM_SQUEUE_COLUMNS "JobID:|,State:|,exit_code:|,NodeList:|,Reason:|,Comment:|,Name:|"
#define SLURM_SACCT_COLUMNS  "JobIDRaw,State%64,ExitCode,NodeList,Reason,Comment"
/* Takes the next line of a list apart, in place. `ret_token` points into it. false: at its end. Lines that
 * are none are skipped. */
bool slurm_job_read(char **list, struct slurm_job *ret, const char **ret_token);
/* It has the number of our job: is it ours, though its comment is another one? By its name, unless the comment is the token
 * of somebody else's run. */
bool slurm_job_is_renamed(const struct slurm_job *job, const char *comment,
                          const struct slurm_order *order);

/* From `scontrol show config`; what is not there stays as it is. */
struct slurm_config {
    char cluster[64];
    time_ms kill_wait;
    bool accounting;
};
void slurm_config_read(const char *text, struct slurm_config *config);
