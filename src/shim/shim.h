/* shim.h: one run, from its spec to its end. Private to shim/.
 *
 * One thread, no heap, no stdio. Everything it knows is one struct in static memory, so nothing that
 * fails while a run lives can keep the shim from telling how it ended. All signals are blocked for
 * good; TERM (stop politely), USR1 (kill) and CHLD are fetched; on a node of Slurm also USR2 (stop
 * politely), because TERM is Slurm's own word there. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rundir/rundir.h"

/* What the daemon hands over. */
#define FD_FOLDER  3
#define FD_LOCK    4
#define FD_DAEMON  5
#define FIRST_FREE 16 /* above every number that a descriptor of ours has or gets */
#define FD_CGROUP  6  /* folder of its cgroup, with our lock on it; a file: none */

#define FD_SECRETS 7 /* variables that are in no file */

#define SHIM_LOGS_MAX 2

/* Why the shim itself ended a command. */
enum verdict {
    VERDICT_NONE, /* it ended by itself */
    VERDICT_STOPPED,
    VERDICT_TIMEOUT,
    VERDICT_IDLE,
    VERDICT_OUTPUT,
    VERDICT_MEMORY,
    VERDICT_PROCESSES,
};

/* A file that a command writes; src/shim/logs.c. */
struct shim_log {
    int fd;
    const char *name;
    uint64_t size;    /* when it was last looked at */
    uint64_t punched; /* everything between the head and here is a hole */
};

struct shim {
    struct run_spec spec;
    struct run_spec_words words;
    struct run_started started;
    struct run_end end;

    struct tag_key key_bytes;
    const struct tag_key *key; /* what it records is tagged with it; NULL: the daemon gave none */
    const char *handle; /* how the daemon calls this run on its pipe; NULL: there is no pipe */
    pid_t self;
    mode_t command_umask;
    int cgroup;         /* folder of the run's cgroup; -1: none */
    bool cgroup_kill;   /* it can be killed as a whole */
    bool cgroup_killed; /* it was */
    bool watch_memory, watch_processes;
    struct {
        int file;     /* oom_score_adj of this process; -1: none */
        bool is_lent; /* the last command was started with that of the spec */
        char own[8];  /* what it is otherwise */
    } oom;
    bool cannot_punch;
    time_ms looked_at, over_since, look_rest; /* at the logs; steady clock */

    /* The process that runs now, and whether somebody asked to end it. */
    pid_t leader; /* 0: it has been reaped, `status` is its */
    /* In a sandbox the leader is the sandbox program, and the command a process below it. */
    struct {
        pid_t command;   /* 0: not inside yet, or no sandbox */
        int handle;      /* its pidfd; -1: none */
        pid_t parent;    /* its parent, if that belongs to the sandbox program; or 0 */
        char words[160]; /* why it could not be made */
    } inside;
    const char *line[RUN_WRAP_MAX + RUN_ARGS_MAX + 1]; /* the sandbox with what follows it */
    int status;
    bool stop_wanted, kill_wanted;
    time_ms kill_wait; /* on a node: how long Slurm waits after its TERM; 0: on the daemon's host */
    time_ms hurry_at;  /* all must be over then; steady clock; TIME_NEVER: no hurry */
    time_ms deadline;  /* of it; steady clock; TIME_NEVER: none */
};

/* node.c */
/* Started by Slurm with the name of a folder: makes it look as if the daemon had started us, and
 * begins the run. 0, or the exit code of a shim that has nothing to run here. */
int node_enter(struct shim *s, const char *folder, const char *kill_wait);
/* What Slurm has put into our environment belongs to the command, too. */
void node_add_env(struct shim *s);

/* command.c */
struct command_files {
    const char *stdin_path; /* NULL: the prompt of the run, or nothing */
    bool prompt;
    int out, err;
};
struct command_failure {
    const char *what; /* "run", "enter folder" … */
    const char *subject;
    int error;
    const char *words; /* what says more than the error; or NULL */
    enum launch_cause cause;
};
/* Starts `argv` in its own process group. 0 and s->leader; or -1, and nothing runs. The error is
 * ECANCELED when somebody stopped it before it ran, ETIME when its deadline came first. */
int command_start(struct shim *s, const char *const *argv, const struct command_files *files,
                  struct command_failure *ret_failure);

/* Inside a sandbox: becomes the command. */
_Noreturn void enter_sandbox(void);

/* limits.c */
/* The first call of all: the file belongs to root when this process cannot be dumped any more. */
void limits_oom_open(struct shim *s);
/* This process has the score of the spec meanwhile, and what it starts keeps that. */
void limits_oom_lend(struct shim *s);
void limits_oom_take_back(struct shim *s);
void limits_open(struct shim *s);
void limits_close(struct shim *s); /* nobody else removes the cgroup of a daemon that is gone */
void limits_note(struct shim *s, const char *word); /* into `applied`, once */
bool limits_were_hit(const struct shim *s);         /* the kernel killed for memory */

/* logs.c */
/* Of the run folder; log->fd is -1 with errno when it cannot be opened. */
void logs_open(struct shim_log *log, const char *name);
/* Looks at them and punches. Returns the span until the next look, and the verdict if they grow
 * faster than they can be held back. */
time_ms logs_look(struct shim *s, struct shim_log *logs, unsigned count, enum verdict *ret_verdict);
void logs_finish(struct shim *s, struct shim_log *logs, unsigned count);
/* Adds them to the environment of the command and of its checks. */
int secrets_take(struct shim *s, struct error *err);
/* Replaces them in a log that nobody writes any more. */
void secrets_cover(const struct shim_log *log);

/* tree.c */
/* Takes everybody who has ended. false: nobody is left. */
bool tree_reap(struct shim *s);
/* To the process group of the command; never to a sandbox program, which would end by it. */
void tree_signal_group(const struct shim *s, int signal);
void tree_kill(struct shim *s);
/* Kills what is left and waits until it is gone. */
void tree_end(struct shim *s);
struct tree_sum {
    uint32_t processes;
    int64_t memory; /* bytes that are only theirs */
};
struct tree_sum tree_measure(const struct shim *s);

/* watch.c */
struct watch {
    time_ms idle_timeout; /* 0: none */
    struct shim_log *logs;
    unsigned log_count;
};
/* Until the leader has been reaped. */
enum verdict watch_leader(struct shim *s, const struct watch *watch);
/* Fetches a stop that came while nobody watched. */
void watch_signals(struct shim *s);

/* run.c */
void run_all(struct shim *s);
void run_refuse(struct shim *s, int error, const char *why); /* it never ran */
void run_refuse_command(struct shim *s, const struct command_failure *failure);

/* guard.c */
/* The whole life of a guard; `text` takes the spec. Returns its exit code. */
int guard_main(struct shim *s, const char *parent, char *text, size_t size);

/* report.c */
void report_self(
    struct shim *s); /* before anything else: whoever finds the lock can ask us to stop */
void report_started(struct shim *s);
void report_validating(struct shim *s);
void report_end(struct shim *s);
