/* helper_process.h: short child processes of the daemon: git, a merge, a notification.
 *
 * They run outside the loop and inherit only what is listed here. Standard input is /dev/null, or
 * `input`; both outputs go into one bounded buffer. On timeout the process group is killed. `ended` is called
 * once, from the loop, never from inside helper_start. A daemon that exits kills its helpers, and
 * their work is started again later. The exception is helpers that change something external
 * (`outlives`), because half a change would be worse.
 *
 * A command that may execute what a run wrote has a guard: a shim as its parent (src/shim/guard.c).
 * Its processes then count as a run, with the limits and sandbox of the guard's spec, and are
 * killed together. A guarded helper dies with the daemon even if the daemon is killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct helper_process;
struct loop;
struct run_spec;

/* State of the guard when the daemon stops watching it. */
enum guard_over {
    GUARD_ENDED,        /* its tree has ended */
    GUARD_CGROUP_SPENT, /* same, and no process may be created in its cgroup any more */
    GUARD_LOST,         /* it was killed: part of its tree may be alive */
    GUARD_LEFT,         /* it outlives the daemon */
};

struct helper_guard {
    const char *shim; /* path of sluice-shim */
    /* Name, limits and sandbox. Command, environment and directory come from struct helper_spec. */
    const struct run_spec *spec;
    /* Directory of spec->cgroup, kept open by the guard; -1: none. The caller closes its own
     * descriptor. */
    int cgroup;
    /* Pipe that closes when the daemon exits; a guard that outlives it then removes the cgroup. At
     * least 10, or -1: none. */
    int daemon;
    /* Grace period: between SIGTERM and SIGKILL when it is stopped. 0: 3 s, so that git can remove
     * its locks. */
    time_ms grace;
    /* Called once: before `ended`, from helper_kill, or from a helper_start that fails. `guard` is
     * 0 if none was started. NULL: nothing to do. */
    void (*over)(void *ctx, pid_t guard, enum guard_over how);
    void *ctx;
};

#define HELPER_INPUT_MAX 65536u /* a pipe holds as much */

struct helper_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH */
    const char *cwd;         /* NULL: / */
    const char *const *env;  /* complete environment, NULL-terminated */
    /* For standard input: what must not be in arguments or the environment, which other processes
     * can read. At most HELPER_INPUT_MAX bytes; NULL: none. Not for a guard. */
    const char *input;
    time_ms timeout;   /* duration */
    size_t output_max; /* bytes kept from the end of the output; 0: 64 kB */
    bool outlives;     /* helper_kill leaves it running */
    /* Keep only standard output, from its beginning; a command that writes more is killed. */
    bool reads;
    const struct helper_guard *guard; /* NULL: the command executes nothing that a run wrote */
};

struct helper_end {
    int code;        /* -1: none */
    int signal;      /* 0: none */
    int error;       /* errno if the program could not be executed */
    const char *why; /* message for `error`, or "" */
    bool timed_out;
    bool cut;           /* `reads`: output was truncated */
    const char *output; /* NUL-terminated; valid during the call */
    size_t size;
};

typedef void (*helper_ended)(void *ctx, const struct helper_end *end);

/* The spec is copied. */
int helper_start(struct loop *loop, const struct helper_spec *spec, helper_ended ended, void *ctx,
                 struct helper_process **ret_helper, struct error *err);
/* Stops it; `ended` follows as usual. No effect with `outlives`. */
void helper_stop(struct helper_process *helper);
/* Stops it and waits; `ended` is not called. Accepts NULL. A helper with `outlives` keeps
 * running. */
struct helper_process *helper_kill(struct helper_process *helper);

/* A killed daemon leaves its helpers behind. The next daemon of the same home kills those that have
 * this variable in their environment, with their descendants, when it starts. */
void helper_mark(const char *home, struct strbuf *out);
unsigned helper_sweep(const char *home); /* number of processes found and ended */

/* Does a sandbox work on this machine? Runs the command of the spec with a guard, in its sandbox,
 * and waits: only while the daemon starts, when blocking is harmless. 0: exit status 0. */
int sandbox_trial(const char *shim_path, const struct run_spec *spec, struct error *err);
