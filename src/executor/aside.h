/* aside.h: short commands of the daemon itself: git, a merge, a notification.
 *
 * They run beside the loop, with nothing of the daemon's but what is named here; standard input is
 * /dev/null, both outputs go into one bounded buffer. When the time is over the whole process group is
 * killed. `ended` is called once, from the loop, never from inside helper_start. A daemon that ends
 * kills them: what they were for is still to be done then, and is begun again. Not those that change what
 * is not ours (`outlives`): half a change would be worse.
 *
 * A command that may execute what a run wrote has a guard: a shim above it (src/shim/guard.c). Everything that it
 * starts counts as a run then, has the limits and the sandbox of the guard's spec, and is killed as a whole. A
 * guarded aside dies with the daemon even if the daemon is killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct aside;
struct loop;
struct run_spec;

/* What became of the guard, when the daemon does not watch it any more. */
enum guard_over {
    GUARD_ENDED,        /* its whole tree has ended */
    GUARD_CGROUP_SPENT, /* the same; and nothing may be born into its cgroup any more */
    GUARD_LOST,         /* it was killed: some of its tree may live */
    GUARD_LEFT,         /* it outlives the daemon */
};

struct helper_guard {
    const char *shim; /* the program sluice-shim */
    /* Name, limits and sandbox. The command, its environment and its folder are those of the aside. */
    const struct run_spec *spec;
    int cgroup; /* folder of spec->cgroup, which the guard keeps open; -1: none. The caller closes its own */
    int daemon; /* a pipe that ends with the daemon: a guard that outlives it removes the cgroup; -1: none. 10 or above */
    time_ms
        grace; /* between TERM and KILL when it is stopped; 0: 3 s, for git to remove its locks */
    /* Called once, before `ended`, from helper_kill, or from an helper_start that fails. `guard` 0: none was started. */
    void (*over)(void *ctx, pid_t guard, enum guard_over how);
    void *ctx;
};

struct helper_spec {
    const char *const *argv; /* ends with NULL; the first is looked for in PATH */
    const char *cwd;         /* NULL: / */
    const char *const *env;  /* the whole environment, ends with NULL */
    time_ms timeout;         /* span */
    size_t output_max;       /* bytes that are kept, of the end; 0: 64 kB */
    bool outlives;           /* helper_kill leaves it alone */
    bool
        reads; /* standard output alone counts, and of it the beginning: a command that says more is killed */
    const struct helper_guard *guard; /* NULL: it executes nothing that a run wrote */
};

struct helper_end {
    int code;        /* -1: none */
    int signal;      /* 0: none */
    int error;       /* errno of a program that could not be run */
    const char *why; /* the same in a sentence, if there is one; else "" */
    bool timed_out;
    bool cut;           /* `reads`: there was more */
    const char *output; /* NUL-terminated; lives as long as the call */
    size_t size;
};

typedef void (*helper_ended)(void *ctx, const struct helper_end *end);

/* The specification is copied. */
int helper_start(struct loop *loop, const struct helper_spec *spec, helper_ended ended, void *ctx,
                 struct aside **ret_aside, struct error *err);
/* Its end is near, and `ended` tells it as ever. Not of one that outlives. */
void helper_stop(struct aside *aside);
/* The same, and it is waited for; `ended` is not called. Accepts NULL. One that outlives goes on without us. */
struct aside *helper_kill(struct aside *aside);

/* A daemon that was killed has left its asides behind. One whose environment has this variable is killed
 * by the next daemon of that home, at its start, with all that it has started. */
void helper_mark(const char *home, struct strbuf *out);
unsigned helper_sweep(const char *home); /* how many there were; they are gone */
