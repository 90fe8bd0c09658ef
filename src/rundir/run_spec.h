/* run_spec.h: what a shim has to run, its encoding and its tag, and the report of a guard.
 *
 * The text is in the lock file of the run (rundir.h), or in the memory file of a guard. It is part
 * of the protocol between versions: members are added, never renamed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

/* --- tags ------------------------------------------------------------------------------------- */

/* They authenticate the records that the daemon and the shim of a run write. A run can write its
 * own directory. So each run has a key that only the daemon, its store and the shim know, and each
 * record ends with a tag: HMAC-SHA-256 of its kind and of all bytes before the tag. */

/* Passes the key to the shim: the only variable of its environment. */
#define TAG_VARIABLE "SLUICE_SHIM_KEY"
#define TAG_NAME     "tag" /* of the record, or of the member of end.json */

#define TAG_RECORD_SIZE (sizeof(TAG_NAME) + SHA256_HEX_SIZE)

struct tag_key {
    uint8_t bytes[SHA256_SIZE];
};

/* A record of one kind cannot be used as another. */
enum tag_kind { TAG_SPEC, TAG_STARTED, TAG_END, TAG_KIND_MAX };

void tag_print(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
               char ret_tag[SHA256_HEX_SIZE]);
bool tag_is_right(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                  const char *tag);

/* --- the spec --------------------------------------------------------------------------------- */

#define RUN_ARGS_MAX   512 /* arguments of one command */
#define RUN_ENV_MAX    512
#define RUN_CHECKS_MAX 32
#define RUN_WRAP_MAX   1024       /* arguments of a sandbox */
#define RUN_SPEC_MAX   (1u << 20) /* bytes of a spec */

#define RUN_SECRETS_MAX   64          /* secrets of one run */
#define RUN_SECRETS_BYTES (64u << 10) /* total bytes, with names and NULs */
#define RUN_SECRET_BYTES  (16u << 10) /* bytes of one secret */

struct run_command {
    const char *const *argv; /* NULL-terminated */
    time_ms timeout;         /* duration; 0: none */
};

/* Request to a batch system, besides the memory and the timeout of the run. NULL and 0: its
 * default. */
struct run_place {
    const char *partition, *account, *qos, *gres, *constraint;
    int64_t cpus;         /* for the one process of the run */
    int64_t memory_bytes; /* of its node */
    const char *extra;    /* more arguments for sbatch, separated by blanks */
};

/* What a shim has to run, and what the executor needs to start it. */
struct run_spec {
    const char *run; /* "web-17.2": task and attempt; shown by ps */
    struct run_command command;
    const char *const *env; /* complete environment, KEY=VALUE, NULL-terminated */
    /* More variables, overriding `env`; or NULL. The spec has only their names. The executor passes
     * the values to the shim through a descriptor; they are in no file. */
    const char *const *secrets;
    const char *secret_names; /* in a parsed spec: separated by blanks; NULL: none */
    const char *cwd;
    const char *prompt; /* text for standard input; NULL: /dev/null. Not in the spec */
    size_t prompt_size;
    const char *stdin_path; /* a file for standard input instead; or NULL */
    /* A person has taken the run over: the Unix socket on which `sluice take` waits. The command
     * gets a terminal. NULL: none */
    const char *terminal;
    /* Run before the command, in the same way; argv NULL: none. If it fails, the run is a launch
     * failure. If it succeeds, `applied` of the end contains `prepared`. */
    struct run_command prepare;
    const char *prepare_cwd; /* its directory; NULL: that of the command */
    const struct run_command
        *checks; /* run in order after exit status 0; the first failure ends it */
    size_t check_count;
    time_ms idle_timeout;        /* maximum time without output; 0: none */
    time_ms grace;               /* grace period: between the stop signal and SIGKILL */
    int stop_signal;             /* SIGTERM or SIGINT */
    uint64_t log_head, log_tail; /* bytes kept at each end of a log; 0, 0: everything */
    const char *cgroup;          /* absolute path of this run's cgroup v2; or NULL */
    int64_t memory_max;          /* bytes; 0: none */
    int64_t processes_max;       /* 0: none */
    int nice;
    int oom_score_adj;
    int64_t open_files;  /* soft limit; 0: the daemon's */
    const char *boot_id; /* of this boot, so that the shim need not read it; or NULL */
    /* Arguments of a sandbox program around the command and each check, which executes the rest of
     * its command line. `enter`: the path of the shim inside. Then the rest is the shim, which gets
     * command and environment through a descriptor, reports that it is inside, and becomes the
     * command; the program itself gets only `wrap_env`. NULL: the rest is the command, and the
     * program gets its environment. */
    const char *const *wrap; /* NULL-terminated; or NULL: none */
    const char *const *wrap_env;
    const char *enter;
    const char *sandbox;      /* its name, for `applied`; or NULL */
    const char *sandbox_root; /* the writable directory in it; for a daemon that adopts the run */
    /* For an executor that submits the run elsewhere; not in the spec of the shim. */
    struct run_place place;
    const char *name;  /* the task's id, for display; or NULL */
    const char *token; /* "sluice:STORE:TASK:ATTEMPT", globally unique; or NULL */
    bool unlocked;     /* its lock is never examined: the file system need not support locks */
    const struct tag_key *key; /* key of the tags on its records; or NULL */
};

void run_spec_format(const struct run_spec *spec, struct strbuf *out);

/* Parses a spec in place: `ret` points into the text and into `words`. */
struct run_spec_words {
    const char *argv[RUN_ARGS_MAX + 1];
    const char *env[RUN_ENV_MAX + 1];
    struct run_command checks[RUN_CHECKS_MAX];
    const char *check_argv[RUN_ARGS_MAX + RUN_CHECKS_MAX];
    const char *wrap[RUN_WRAP_MAX + 1];
    const char *wrap_env[RUN_ENV_MAX + 1];
    const char *prepare_argv[RUN_ARGS_MAX + 1];
};
int run_spec_parse(const char *text, size_t size, const struct tag_key *key,
                   struct run_spec_words *words, struct run_spec *ret, struct error *err);

/* --- the report of a guard -------------------------------------------------------------------- */

/* What a guard (src/shim/guard.c) reports when it ends, besides its exit status: a record whose
 * first pair identifies it. */
#define GUARD_REPORT         "guard"
#define GUARD_REPORT_VERSION "1"
#define GUARD_ERRNO          "errno"         /* the command could not be started */
#define GUARD_MESSAGE        "message"       /* its message */
#define GUARD_CGROUP_KILLED  "cgroup_killed" /* no process may be created in its cgroup any more */
