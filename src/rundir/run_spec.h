/* run_spec.h: what a shim is told to run, and its text.
 *
 * The text is in the lock file of the run (rundir.h), or in the memory file of a guard. It is a part of the protocol between
 * versions: members are added, never renamed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "rundir/tag.h"

#define RUN_ARGS_MAX   512 /* words of one command */
#define RUN_ENV_MAX    512
#define RUN_CHECKS_MAX 32
#define RUN_WRAP_MAX   1024       /* words of a sandbox */
#define RUN_SPEC_MAX   (1u << 20) /* bytes of a spec */

#define RUN_SECRETS_MAX   64          /* secrets of one run, */
#define RUN_SECRETS_BYTES (64u << 10) /* bytes of all of them, with their names and NULs, */
#define RUN_SECRET_BYTES  (16u << 10) /* and of one */

struct run_command {
    const char *const *argv; /* ends with NULL */
    time_ms timeout;         /* span; 0: none */
};

/* What a batch system is asked for, beside the memory and the time-out of the run. NULL and 0: its own
 * default decides. */
struct run_place {
    const char *partition, *account, *qos, *gres, *constraint;
    int64_t cpus;         /* for the one process of the run */
    int64_t memory_bytes; /* of its node */
    time_ms time;         /* span after which it may be killed from outside; 0: none is asked for */
    const char *extra;    /* more words for sbatch, between blanks */
};

/* What a shim is told, and what the executor must know to get it there. */
struct run_spec {
    const char *run; /* "web-17.2": task and attempt; shown by ps */
    struct run_command command;
    const char *const *env; /* the whole environment, KEY=VALUE, ends with NULL */
    /* More variables, stronger than `env`; or NULL. Not in the spec, which has their names, nor in any
     * other file: the executor hands them to the shim through a descriptor. */
    const char *const *secrets;
    const char *secret_names; /* of a spec that was read: between blanks; NULL: none */
    const char *cwd;
    const char *prompt; /* text for the standard input; NULL: /dev/null. Not in the spec */
    size_t prompt_size;
    const char *stdin_path; /* a file for the standard input instead; or NULL */
    /* Run before the command, as the command is; argv NULL: nothing is. Unless it succeeds, the run is not
     * launched. When it has succeeded, `applied` of the end has the word `prepared`. */
    struct run_command prepare;
    const char *prepare_cwd; /* its folder; NULL: that of the command */
    const struct run_command
        *checks; /* run in order after exit code 0; the first failure ends it */
    size_t check_count;
    time_ms idle_timeout;        /* no output for so long; 0: none */
    time_ms grace;               /* between the stop signal and KILL */
    int stop_signal;             /* SIGTERM or SIGINT */
    uint64_t log_head, log_tail; /* bytes kept of each log at its two ends; 0, 0: everything */
    const char *cgroup;          /* absolute folder of a cgroup v2 made for this run; or NULL */
    int64_t memory_max;          /* bytes; 0: none */
    int64_t processes_max;       /* 0: none */
    int nice;
    int oom_score_adj;
    int64_t open_files;  /* how many it may have open (soft limit); 0: as many as the daemon */
    const char *boot_id; /* of this boot, so that not every shim has to look; or NULL */
    /* A sandbox around the command and each check: the words of a program that runs what follows them.
     * `enter`: the path of the shim inside it. Then the shim follows the words, gets command and
     * environment by a descriptor, says that it is inside, and becomes the command; the program itself gets
     * `wrap_env` alone. NULL: the command follows the words, and the program gets its environment. */
    const char *const *wrap; /* ends with NULL; or NULL: none */
    const char *const *wrap_env;
    const char *enter;
    const char *sandbox; /* its name, for `applied`; or NULL */
    const char
        *sandbox_root; /* the folder that may be written in it; for a daemon that adopts the run */
    /* For an executor that hands the run over to somebody else; none of it is in the spec of the shim. */
    struct run_place place;
    const char *name;  /* the task's id, for people; or NULL */
    const char *token; /* "sluice:STORE:TASK:ATTEMPT": no other run anywhere has it; or NULL */
    bool unlocked;     /* nobody asks for its lock: a shared file system need not know any */
    const struct tag_key *key; /* its records are tagged with it; or NULL */
};

void run_spec_format(const struct run_spec *spec, struct strbuf *out);

/* Takes the text of a spec apart, in place: `ret` points into it and into `words`. */
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
