/* aside.h: short commands of the daemon itself: git, a merge, a notification.
 *
 * They run beside the loop, with nothing of the daemon's but what is named here; standard input is
 * /dev/null, both outputs go into one bounded buffer. When the time is over the whole process group is
 * killed. `ended` is called once, from the loop, never from inside aside_start. A daemon that ends
 * kills them: what they were for is still to be done then, and is begun again. Not those that change what
 * is not ours (`outlives`): half a change would be worse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct aside;
struct loop;

struct aside_spec {
    const char *const *argv; /* ends with NULL; the first is looked for in PATH */
    const char *cwd;         /* NULL: / */
    const char *const *env;  /* the whole environment, ends with NULL */
    time_ms timeout;         /* span */
    size_t output_max;       /* bytes that are kept, of the end; 0: 64 kB */
    bool outlives;           /* aside_kill leaves it alone */
    bool
        reads; /* standard output alone counts, and of it the beginning: a command that says more is killed */
};

struct aside_end {
    int code;   /* -1: none */
    int signal; /* 0: none */
    int error;  /* errno of a program that could not be run */
    bool timed_out;
    bool cut;           /* `reads`: there was more */
    const char *output; /* NUL-terminated; lives as long as the call */
    size_t size;
};

typedef void (*aside_ended)(void *ctx, const struct aside_end *end);

/* The specification is copied. */
int aside_start(struct loop *loop, const struct aside_spec *spec, aside_ended ended, void *ctx,
                struct aside **ret_aside, struct error *err);
/* Nobody is told; accepts NULL. One that outlives goes on without us. */
struct aside *aside_kill(struct aside *aside);

/* A daemon that was killed has left its asides behind. One whose environment has this variable is killed
 * by the next daemon of that home, at its start, with all that it has started. */
void aside_mark(const char *home, struct strbuf *out);
unsigned aside_sweep(const char *home); /* how many there were; they are gone */
