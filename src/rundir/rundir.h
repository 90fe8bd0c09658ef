/* rundir.h: the files between the daemon and a shim, one directory per run.
 *
 *   lock      locked (flock) from before the shim is spawned until it exits: alive = lock held.
 *             Three records: `started` at 0, identity of the shim and state of the command; `end`
 *             at RUN_LOCK_END; the spec at RUN_LOCK_SPEC, written by the daemon before the shim
 *             starts
 *   prompt    standard input of the command, if any
 *   out.log err.log   written by the command itself; the middle of a long log is punched out, so
 *             offsets stay valid
 *   order     in which order the two grew: lines with the size of out.log and of err.log, each when
 *             the command went back from its errors to its output. Between two lines is first
 *             output, then errors. Missing: the command never went back, or it is not known
 *   check.log output of the check commands
 *   prepare.log output of the command that prepares the worktree, if any
 *   tmp/      TMPDIR of the command. The shim empties it at the end (tmp.left: it could not), the
 *             daemon takes it away
 *   end.json  how it ended, unless a daemon has stored that (RUN_OFFERS_END): durable (file and
 *             directory fsynced) before the shim exits. The only file that is certain to survive a
 *             reboot. A partial file does not count
 *
 * For a run that was submitted to Slurm also:
 *   slurm     arguments of sbatch, written before it is called; marks the directory as Slurm's
 *   job       the job number, once it is known
 *   begin     a symlink that is created once: by the shim that begins ("job 17 …"), or by the
 *             daemon that gives the run up ("closed"). The second one does nothing
 *
 * Version 1 had the spec in a separate file. Since version 3 the three records have a tag (run_spec.h)
 * if the run has a key. A reader with the key ignores records without the right tag; a reader
 * without a key (NULL) accepts them: the run began before there were keys, is in Slurm, or is not
 * in the store.
 *
 * A shim of an older version may be alive when a newer daemon starts, so this is a protocol:
 *   1. add records and members, never rename or reuse one; readers skip unknown ones
 *   2. raise RUNDIR_VERSION and keep reading every version since RUNDIR_OLDEST
 *   3. add a directory of the new version to tests/fixtures/rundir/ and to the tests
 *
 * A record is a sequence of NUL-terminated strings: name, value, name, value. The record `end` of
 * the lock file has the text of end.json. It is written in place into an allocated block: before
 * the end is offered to the daemon, or if end.json cannot be written (full disk).
 *
 * This folder is compiled twice: with the daemon, and statically with musl for the shim. Functions
 * for the shim (spec_parse, started_format, end_format) use no heap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "rundir/run_spec.h"

/* An argument of the shim after the handle of its run: the daemon stores ends and says so. Then the
 * shim writes the end into the lock file without a sync, offers it through the pipe ("over") and
 * waits for SIGUSR2. Without that signal it writes end.json, as it does without the argument. */
#define RUN_OFFERS_END "offers-end"

#define RUNDIR_VERSION 3
#define RUNDIR_OLDEST  1

#define RUN_ORDER_NAME "order"
#define RUN_ORDER_MAX  ((size_t)256 << 10) /* bytes of it */

#define RUN_RECORD_MAX 4096 /* maximum output of run_started_format and run_end_format */
#define RUN_LOCK_END   1024 /* offset of the record `end` in the lock file */
#define RUN_LOCK_SPEC  4096 /* offset of the spec in the lock file */

/* The processes of a run directory, from its lock file. */
struct run_started {
    uint32_t version;
    char boot_id[40];
    pid_t shim;      /* its pid is not reused while the lock is held */
    pid_t command;   /* 0: not yet, or it could not be started */
    int exec_errno;  /* 0: running */
    time_ms at;      /* wall clock */
    bool validating; /* the command succeeded, its checks run */
};

/* Why a run could not be launched. Set where the failure is found: by the shim, an executor or the
 * engine. The names are in end.json and in events, and never change once released. */
enum launch_cause {
    /* the agent: its program, settings or secrets; or it ended at once without output */
    LAUNCH_PROGRAM,
    LAUNCH_TASK,      /* of the task: its command, standard input or checks */
    LAUNCH_WORKSPACE, /* its worktree could not be created */
    LAUNCH_CWD,       /* its working directory */
    LAUNCH_PREPARE,   /* projects.P.prepare */
    LAUNCH_PROJECT,   /* settings or secrets of its project */
    LAUNCH_SANDBOX,   /* its directory cannot be used in a sandbox */
    LAUNCH_HOST,      /* the run directory, the shim, the store, the cluster */
    LAUNCH_CAUSE_MAX,
};
const char *launch_cause_name(enum launch_cause cause);
/* LAUNCH_CAUSE_MAX: unknown name. `name` may be NULL. */
enum launch_cause launch_cause_find(const char *name);

enum run_end_kind {
    RUN_END_EXIT,    /* the command ended by itself: code */
    RUN_END_SIGNAL,  /* killed by a signal that we did not send: signal */
    RUN_END_TIMEOUT, /* the deadline, or no output for too long (`idle`) */
    RUN_END_STOPPED, /* at the request of the daemon */
    RUN_END_OUTPUT,  /* it wrote more than the limit */
    /* the command succeeded, check number `check` failed: code or signal or timeout */
    RUN_END_CHECK,
    RUN_END_LAUNCH, /* it never ran: cause, exec_errno, message */
    RUN_END_LOST,   /* no end was recorded and no process is alive: never written, only derived */
    RUN_END_KIND_MAX,
};
const char *run_end_kind_name(enum run_end_kind kind);

struct run_end {
    enum run_end_kind kind;
    int code;   /* exit status of the command (or the check); -1: none */
    int signal; /* that ended it; 0: none */
    int exec_errno;
    enum launch_cause cause; /* with RUN_END_LAUNCH */
    int check;               /* from 0 */
    bool idle, core_dumped;
    bool durable; /* the record was fsynced */
    time_ms started_at, ended_at;
    int64_t cpu_ms, memory_kb;     /* of the complete tree that was waited for */
    uint64_t out_bytes, err_bytes; /* total ever written */
    uint32_t leftover;             /* processes that were killed at the end */
    /* Words such as "cgroup memory.max": what was really in force; src/shim/README.md. */
    char applied[256];
    char message[256]; /* or "" */
};

/* --- daemon side ----------------------------------------------------------------------------- */

/* Creates the directory (and its parents below `root`), the lock with the spec, the prompt and
 * tmp/. `folder` is relative to `root`. Nothing is fsynced: it matters only within one boot. */
struct rundir_open {
    int dir, lock; /* the caller passes both to the shim, and closes its own */
};
int rundir_create_at(int root, const char *folder, const struct run_spec *spec,
                     struct rundir_open *ret, struct error *err);
/* 0; -ENOENT: no end; -EPROTO: malformed, or not tagged with the key (the message has the reason).
 * `key` may be NULL in all these functions. */
int rundir_read_end(const char *root, const char *folder, const struct tag_key *key,
                    struct run_end *ret, struct error *err);
int rundir_read_started(const char *root, const char *folder, const struct tag_key *key,
                        struct run_started *ret, struct error *err);
/* Is the lock held? <0: unknown. */
int rundir_is_locked(const char *root, const char *folder);

int rundir_make_at(int root, const char *folder, struct error *err); /* empty; -EEXIST */
/* rundir_create_at in three steps: the directory with its empty files can be created in advance, and renamed
 * into place when the run is known and valid. Preparing again completes it. `tmp`: an empty directory
 * in `parent` that becomes its tmp/, or NULL. */
int rundir_prepare_at(int parent, const char *name, const char *tmp);
int rundir_check(const char *folder, const struct run_spec *spec, struct error *err);
int rundir_fill_at(int root, const char *folder, const struct run_spec *spec,
                   struct rundir_open *ret, struct error *err);
/* Opens and locks the lock file. -EBUSY: a process holds the lock. */
int rundir_lock_at(int dir, int *ret_fd, struct error *err);
int rundir_open_at(int root, const char *folder, int *ret_dir, struct error *err);
int rundir_read_end_at(int dir, const struct tag_key *key, struct run_end *ret, struct error *err);
int rundir_read_started_at(int dir, const struct tag_key *key, struct run_started *ret,
                           struct error *err);
int rundir_is_locked_at(int dir);
/* Parses the text of an end.json from another source. */
int run_end_parse(const char *text, size_t size, const struct tag_key *key, struct run_end *ret,
                  struct error *err);
/* "web-17/2": directory of this task and attempt. */
void rundir_name(struct strbuf *out, const char *task, uint32_t attempt);

/* --- runs on another host -------------------------------------------------------------------- */

#define RUN_BEGIN_MAX    256
#define RUN_BEGIN_CLOSED "closed" /* by a daemon: no shim begins here any more */
/* Exit status of a shim on a node that ran nothing. */
enum {
    RUN_NODE_NO_FOLDER = 66, /* the run directory does not exist */
    RUN_NODE_NO_WRITE = 73,  /* it is not writable */
    RUN_NODE_BEGUN = 75,     /* already begun, or given up */
};
/* 0: it is ours, now or since before; -EEXIST: another process has it; other errors: unknown. */
int rundir_begin_at(int dir, const char *who);
int rundir_read_begin_at(int dir, char ret_who[RUN_BEGIN_MAX]); /* -ENOENT: not begun */

/* --- both sides ------------------------------------------------------------------------------ */

/* The spec of a past run. For the daemon only: it allocates. */
struct run_spec_read {
    struct run_spec spec;
    struct run_spec_words words;
    char *text;
};
int rundir_read_spec(const char *root, const char *folder, const struct tag_key *key,
                     struct run_spec_read **ret, struct error *err);
int rundir_read_spec_at(int dir, const struct tag_key *key, struct run_spec_read **ret,
                        struct error *err);
void run_spec_read_free(struct run_spec_read **read);

/* Returns the bytes written, without the NUL; never more than `size`. */
size_t run_started_format(const struct run_started *started, const struct tag_key *key, char *out,
                          size_t size);
size_t run_end_format(const struct run_end *end, const struct tag_key *key, char *out, size_t size);
