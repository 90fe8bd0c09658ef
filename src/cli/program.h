/* program.h: runs another program and waits for it, or leaves it alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

#define PROGRAM_OUTPUT_MAX (1u << 20)

/* Whose output goes to the buffer instead of where ours goes. */
enum program_take { PROGRAM_TAKE_NOTHING, PROGRAM_TAKE_OUTPUT, PROGRAM_TAKE_BOTH };

/* argv[0] is its name, NULL ends it. At most PROGRAM_OUTPUT_MAX bytes are taken, the rest is
 * dropped. *ret_status: its exit code, or 128 + the signal. */
int program_run(const char *path, const char *const *argv, enum program_take take,
                struct strbuf *out, int *ret_status, struct error *err);

/* Starts it without a terminal and without our outputs, and does not wait for it: a browser may stay for days. */
int program_leave(const char *path, const char *const *argv, struct error *err);

/* One program of program_run_all. */
struct program_job {
    const char *path;        /* NULL: nothing is run */
    const char *const *argv; /* as above */
    bool drop_errors;        /* only its standard output is taken */
    struct strbuf out;       /* the caller finishes it */
    int status; /* its exit code, or 128 + the signal; negative errno: not started, -ETIMEDOUT */
};
/* Runs all of them at the same time, in sessions of their own without input. What has not ended after `timeout`, or
 * has printed PROGRAM_OUTPUT_MAX bytes, is killed, with everything in its process group. */
void program_run_all(struct program_job *jobs, size_t count, time_ms timeout);
