/* rundir.h: the files between the daemon and a shim, one folder per run.
 *
 *   lock      locked (flock) from before the shim is spawned until it is gone: alive = lock held. Three
 *             records: `started` at 0, who the shim is and what became of the command; `end` at
 *             RUN_LOCK_END, see below; the spec at RUN_LOCK_SPEC, what to run, written by the daemon
 *             before the shim lives
 *   prompt    the command's standard input, when it has one
 *   out.log err.log   the command's output, written by the command itself; holes are punched into the
 *             middle of what is too long, so offsets stay true
 *   check.log output of the check commands
 *   prepare.log output of the command that prepares the worktree, when there is one
 *   tmp/      TMPDIR of the command. The shim empties it at the end (tmp.left: it could not), the
 *             daemon takes it away
 *   end.json  how it ended: durable (file and folder fsynced) before anybody hears of it. The only file
 *             that outlives a reboot for certain. A part of it is no end
 *
 * and of a run that was handed over to Slurm:
 *   slurm     what sbatch is told, written before it is; whose folder this is
 *   job       the number of its job, once it is known
 *   begin     a symbolic link that is made once: by the shim that begins ("job 17 …"), or by the daemon
 *             that gives the run up ("closed"). Whoever comes second does nothing
 *
 * Version 1 had the spec in a file of that name. Since version 3 the three records have a tag (tag.h) when the run has a
 * key. A reader that has the key takes a record without the right tag for none; one that has no key (NULL) takes it as
 * it is: the run began before there were keys, is in Slurm, or is not in the store.
 *
 * A shim of an older version lives while a newer daemon starts, so this is a protocol:
 *   1. add records and members, never rename or reuse one; a reader skips what it does not know
 *   2. raise RUNDIR_VERSION and keep reading every version since RUNDIR_OLDEST
 *   3. add a folder of the new version to tests/fixtures/rundir/ and to the tests
 *
 * A record is a row of NUL-terminated texts: name, value, name, value. When end.json cannot be written
 * (full disk), the shim puts the same text into the record `end` of its lock file, whose block is
 * already there.
 *
 * This folder is compiled twice: with the daemon, and statically with musl for the shim. It uses no
 * heap in what the shim calls (spec_parse, started_format, end_format). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/launch_cause.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "rundir/run_spec.h"
#include "rundir/tag.h"

#define RUNDIR_VERSION 3
#define RUNDIR_OLDEST  1

#define RUN_RECORD_MAX 4096 /* what run_started_format and run_end_format need at most */
#define RUN_LOCK_END   1024 /* where in the lock file the record `end` would be */
#define RUN_LOCK_SPEC  4096 /* where in the lock file the spec is */

/* Who lives in a folder; read from its lock file. */
struct run_started {
    uint32_t version;
    char boot_id[40];
    pid_t shim;      /* its number is its own as long as the lock is held */
    pid_t command;   /* 0: not yet, or it could not be started */
    int exec_errno;  /* 0: it runs */
    time_ms at;      /* wall clock */
    bool validating; /* the command has ended well, its checks run */
};

enum run_end_kind {
    RUN_END_EXIT,    /* the command ended by itself: code */
    RUN_END_SIGNAL,  /* a signal that nobody of us sent: signal */
    RUN_END_TIMEOUT, /* the deadline, or no output for too long (`idle`) */
    RUN_END_STOPPED, /* the daemon asked for it */
    RUN_END_OUTPUT,  /* it wrote more than could be held back */
    RUN_END_CHECK, /* the command succeeded, check number `check` failed: code or signal or timeout */
    RUN_END_LAUNCH, /* it never ran: cause, exec_errno, message */
    RUN_END_LOST,   /* no end was recorded and nobody lives: never written, only concluded */
    RUN_END_KIND_MAX,
};
const char *run_end_kind_name(enum run_end_kind kind);

struct run_end {
    enum run_end_kind kind;
    int code;   /* exit code of the command (or the check); -1: none */
    int signal; /* that ended it; 0: none */
    int exec_errno;
    enum launch_cause cause; /* with RUN_END_LAUNCH */
    int check;               /* from 0 */
    bool idle, core_dumped;
    bool durable; /* the record was fsynced */
    time_ms started_at, ended_at;
    int64_t cpu_ms, memory_kb;     /* of the whole tree that was waited for */
    uint64_t out_bytes, err_bytes; /* ever written */
    uint32_t leftover;             /* processes that were still there at the end and were killed */
    char applied
        [256]; /* words: "cgroup memory.max …" what was really in force; src/shim/README.md */
    char message[256]; /* one sentence, or "" */
};

/* --- daemon's side --------------------------------------------------------------------------- */

/* Makes the folder (and its parents below `root`), the lock with the spec, the prompt and tmp/. `folder` is
 * relative to `root`. Nothing is fsynced: it matters only within one boot. */
int rundir_create(const char *root, const char *folder, const struct run_spec *spec,
                  struct error *err);

/* 0; -ENOENT: no end there; -EPROTO: not readable as one, or not tagged with the key (the message says why). `key` may
 * be NULL, here and below. */
int rundir_read_end(const char *root, const char *folder, const struct tag_key *key,
                    struct run_end *ret, struct error *err);
int rundir_read_started(const char *root, const char *folder, const struct tag_key *key,
                        struct run_started *ret, struct error *err);
/* Does somebody hold the lock? <0: cannot say. */
int rundir_is_locked(const char *root, const char *folder);
/* Opens and locks; the caller hands the descriptor to the shim. -EBUSY: somebody lives here. */
int rundir_lock(const char *root, const char *folder, int *ret_fd, struct error *err);

int rundir_make_at(int root, const char *folder, struct error *err); /* empty; -EEXIST */
/* The same for callers that keep the root open, and the lock: they hand it to the shim. */
struct rundir_open {
    int dir, lock;
};
int rundir_create_at(int root, const char *folder, const struct run_spec *spec,
                     struct rundir_open *ret, struct error *err);
/* The same in three steps: the folder with its empty files can be made before anybody knows the run, and
 * be renamed into its place when the run is known and in order. Preparing again completes what is there. */
int rundir_prepare_at(int parent, const char *name);
int rundir_check(const char *folder, const struct run_spec *spec, struct error *err);
int rundir_fill_at(int root, const char *folder, const struct run_spec *spec,
                   struct rundir_open *ret, struct error *err);
int rundir_lock_at(int dir, int *ret_fd, struct error *err);
int rundir_open_at(int root, const char *folder, int *ret_dir, struct error *err);
int rundir_read_end_at(int dir, const struct tag_key *key, struct run_end *ret, struct error *err);
int rundir_read_started_at(int dir, const struct tag_key *key, struct run_started *ret,
                           struct error *err);
int rundir_is_locked_at(int dir);
/* The text of an end.json that came by another way. */
int run_end_parse(const char *text, size_t size, const struct tag_key *key, struct run_end *ret,
                  struct error *err);
/* "web-17/2": where the run of this task and attempt is. */
void rundir_name(struct strbuf *out, const char *task, uint32_t attempt);

/* --- runs on another host -------------------------------------------------------------------- */

#define RUN_BEGIN_MAX    256
#define RUN_BEGIN_CLOSED "closed" /* by a daemon: no shim begins here any more */
/* What a shim on a node ends with when nothing was run. */
enum {
    RUN_NODE_NO_FOLDER = 66, /* the folder of the run is not there */
    RUN_NODE_NO_WRITE = 73,  /* nothing can be written into it */
    RUN_NODE_BEGUN = 75,     /* it was begun before, or given up */
};
/* 0: it is ours, now or from before; -EEXIST: somebody else has it; another error: nobody can say. */
int rundir_begin_at(int dir, const char *who);
int rundir_read_begin_at(int dir, char ret_who[RUN_BEGIN_MAX]); /* -ENOENT: nobody has it yet */

/* --- both sides ------------------------------------------------------------------------------ */

/* The spec of a run that was. For the daemon only: it allocates. */
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

/* Bytes written, without the NUL; never more than `size`. */
size_t run_started_format(const struct run_started *started, const struct tag_key *key, char *out,
                          size_t size);
size_t run_end_format(const struct run_end *end, const struct tag_key *key, char *out, size_t size);
