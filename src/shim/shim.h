/* shim.h: one run, from its spec to its end. Private to shim/.
 *
 * One thread, no heap, no stdio. All state is one struct in static memory, so no failure during a
 * run can keep the shim from reporting the end. All signals stay blocked; SIGTERM (stop), SIGUSR1
 * (kill) and SIGCHLD are fetched. On a Slurm node SIGUSR2 also stops, because Slurm itself sends
 * SIGTERM there. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rundir/rundir.h"

/* Passed by the daemon. */
#define FD_FOLDER  3
#define FD_LOCK    4
#define FD_DAEMON  5
#define FD_CGROUP  6 /* directory of its cgroup, with our lock on it; a file: none */
#define FD_SECRETS 7 /* variables that are in no file */
#define FIRST_FREE 8 /* above all that are passed */

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
    VERDICT_HANGUP, /* the person who has taken the run over is gone */
};

/* A file that a command writes; src/shim/logs.c. */
struct shim_log {
    int fd;
    const char *name;
    uint64_t size;    /* when last trimmed */
    uint64_t punched; /* everything from the head to here is a hole */
};

/* In which order the two logs of a command grew, for RUN_ORDER_NAME; src/shim/logs.c. */
struct log_order {
    int fd;                /* 0: nothing was recorded yet; -1: nothing more is recorded */
    uint64_t out, err;     /* sizes when last looked at */
    uint64_t recorded_err; /* of the last line that was written */
    size_t size;           /* of the file */
    time_ms mixed_until;   /* both were written to lately: they are looked at more often; steady */
};

struct shim {
    struct run_spec spec;
    struct run_spec_words words;
    struct run_started started;
    struct run_end end;

    struct tag_key key_bytes;
    const struct tag_key *key; /* key of the tags on its records; NULL: none */
    const char *handle;        /* name of this run on the daemon's pipe; NULL: no pipe */
    bool offers_end;           /* the daemon stores ends: report_offer */
    pid_t self;
    mode_t command_umask;
    int cgroup;         /* directory of the run's cgroup; -1: none */
    bool cgroup_kill;   /* cgroup.kill is available */
    bool cgroup_killed; /* cgroup.kill was used */
    bool watch_memory, watch_processes;
    struct {
        int file;     /* oom_score_adj of this process; -1: none */
        bool is_lent; /* the last command was started with the spec's score */
        char own[8];  /* its score otherwise */
    } oom;
    bool cannot_punch;
    time_ms trimmed_at, over_since, trim_pause; /* for the logs; steady clock */
    struct log_order order;                     /* of the logs of the command */

    /* The current process, and whether a stop was requested. */
    pid_t leader; /* 0: reaped, with `status` */
    /* In a sandbox the leader is the sandbox program, and the command is its descendant. */
    struct {
        pid_t command;   /* 0: not inside yet, or no sandbox */
        int handle;      /* its pidfd; -1: none */
        pid_t parent;    /* its parent, if it belongs to the sandbox program; or 0 */
        char words[160]; /* why the sandbox failed */
    } inside;
    /* arguments of the sandbox and of the command */
    const char *line[RUN_WRAP_MAX + RUN_ARGS_MAX + 1];
    int status;
    bool stop_wanted, kill_wanted;
    /* on a node: how long Slurm waits after its SIGTERM; 0: on the daemon's host */
    time_ms kill_wait;
    time_ms hurry_at; /* deadline for everything; steady clock; TIME_NEVER: none */
    time_ms deadline; /* of the current step; steady clock; TIME_NEVER: none */
};

/* main.c */
/* What all shims do first: signals, subreaper, limits, umask. */
void shim_init(struct shim *s);
/* Reads the spec from a descriptor, starting at `offset`, and parses it. */
int shim_read_spec(struct shim *s, int fd, off_t offset, struct error *err);

/* node.c */
/* Started by Slurm with the name of a directory: sets up what the daemon would have passed, and
 * begins the run. 0, or the exit status of a shim that has nothing to run here. */
int node_enter(struct shim *s, const char *folder, const char *kill_wait);
/* Adds Slurm's environment variables to the command's. */
void node_add_env(struct shim *s);

/* command.c */
struct command_files {
    const char *stdin_path; /* NULL: the prompt of the run, or /dev/null */
    bool prompt;
    int out, err;
    int terminal; /* of the command, for all three; 0: none */
};
struct command_failure {
    const char *what; /* "run", "enter folder" … */
    const char *subject;
    int error;
    const char *words; /* more specific than the error; or NULL */
    enum launch_cause cause;
};
/* Starts `argv` in its own process group. 0 and s->leader; or -1, and nothing runs. The error is
 * ECANCELED if it was stopped before it ran, ETIME if its deadline came first. */
int command_start(struct shim *s, const char *const *argv, const struct command_files *files,
                  struct command_failure *ret_failure);

/* Moves a descriptor, or a failed open, to a number that no dup2 of the child overwrites. */
int dup_high(int fd);
/* Inside a sandbox: becomes the command. */
_Noreturn void enter_sandbox(void);

/* limits.c */
/* Must be called first: the file belongs to root once this process is not dumpable. */
void limits_oom_open(struct shim *s);
/* Meanwhile this process has the score of the spec, and its children keep it. */
void limits_oom_lend(struct shim *s);
void limits_oom_take_back(struct shim *s);
void limits_open(struct shim *s);
void limits_close(struct shim *s); /* also removes the cgroup if the daemon is dead */
void limits_note(struct shim *s, const char *word); /* adds to `applied`, once */
bool limits_were_hit(const struct shim *s);         /* the kernel killed a process for memory */

/* logs.c */
/* In the run directory; log->fd is -1 with errno on failure. */
void logs_open(struct shim_log *log, const char *name);
/* Checks and punches them. Returns the time until the next call, and the verdict if they grow
 * faster than they can be punched. */
time_ms logs_trim(struct shim *s, struct shim_log *logs, unsigned count, enum verdict *ret_verdict);
/* Records in which order the logs of the command have grown, after logs_trim. `err_first`: what was
 * added to err.log since the last call was written before what was added to out.log. Returns the
 * maximum time until the next call. */
time_ms logs_note_order(struct shim *s, const struct shim_log logs[SHIM_LOGS_MAX], bool err_first);
void logs_finish(struct shim *s, struct shim_log *logs, unsigned count);
/* Adds the secrets to the environment of the command and its checks. */
int secrets_take(struct shim *s, struct error *err);

/* tree.c */
/* Reaps all ended children. false: none is left. */
bool tree_reap(struct shim *s);
/* To the process group of the command; never to a sandbox program, which the signal would end. */
void tree_signal_group(const struct shim *s, int signal);
void tree_kill(struct shim *s);
/* Kills all remaining processes and waits for them. */
void tree_end(struct shim *s);
struct tree_sum {
    uint32_t processes;
    int64_t memory; /* bytes of private memory */
};
struct tree_sum tree_measure(const struct shim *s);

/* watch.c */
struct watch {
    time_ms idle_timeout; /* 0: none */
    struct shim_log *logs;
    unsigned log_count;
};
/* Returns when the leader was reaped. */
enum verdict watch_leader(struct shim *s, const struct watch *watch);
/* Fetches a stop that came between two watches. */
void watch_signals(struct shim *s);
/* Waits for this signal, which is blocked. False: it did not come in time. */
bool watch_for_signal(int signal, time_ms span);

/* run.c */
void run_all(struct shim *s);
void run_refuse(struct shim *s, int error, const char *why); /* it never ran */
void run_refuse_command(struct shim *s, const struct command_failure *failure);

/* guard.c */
/* The life of a guard. Returns its exit status. */
int guard_main(struct shim *s, const char *parent);

/* terminal.c */
bool terminal_is_wanted(const struct shim *s);
/* Connects to the person and makes the terminal of the command, which is also recorded in `log`.
 * Returns the end for the command, or -1. */
int terminal_open(struct shim *s, int log, struct command_failure *ret_failure);
struct pollfd;
void terminal_poll(struct pollfd *fds); /* two: what terminal_relay waits for */
void terminal_relay(struct shim *s);
bool terminal_is_hung_up(void);
void terminal_close(void); /* of the command; sends the rest of its output */
void terminal_disconnect(void);

/* report.c */
/* Must come first: a daemon that finds the lock can then ask us to stop. */
void report_self(struct shim *s);
void report_started(struct shim *s);
void report_validating(struct shim *s);
/* Offers the end to a daemon that stores it. False: it does not, or cannot be reached. */
bool report_offer(struct shim *s);
/* Waits for its answer. False: none came in time, so the shim must record the end. */
bool report_is_stored(void);
void report_end(struct shim *s);
