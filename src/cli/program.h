/* program.h: runs another program and waits for it, or detaches it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

#define PROGRAM_OUTPUT_MAX (1u << 20)

/* Which output goes to the buffer instead of ours. */
enum program_take { PROGRAM_TAKE_NOTHING, PROGRAM_TAKE_OUTPUT, PROGRAM_TAKE_BOTH };

/* argv[0] is its name; NULL-terminated. At most PROGRAM_OUTPUT_MAX bytes are kept, the rest is
 * dropped. *ret_status: its exit code, or 128 + the signal. */
int program_run(const char *path, const char *const *argv, enum program_take take,
                struct strbuf *out, int *ret_status, struct error *err);

/* Runs a program of the user and calls `line` for each line of its standard output, without the
 * newline, as it comes. What it prints on standard error is passed on; `tail` gets the last line of
 * it. It may run as long as it likes; Ctrl-C ends both. A line longer than `line_max`, or a negative
 * result of `line`, ends the program and everything that it has started, and is the result here. Its exit counts, not the end of its
 * output: a child that it left behind is not waited for. */
struct program_lines {
    int (*line)(void *ctx, char *text, size_t size, struct error *err);
    void *ctx;
    size_t line_max;
};
int program_read_lines(const char *path, const char *const *argv, const struct program_lines *lines,
                       struct strbuf *tail, int *ret_status, struct error *err);

/* Starts it without a terminal and our outputs, and does not wait: a browser may run for days. */
int program_leave(const char *path, const char *const *argv, struct error *err);

/* How a child process is started. */
struct program_streams {
    int fds[4];       /* its descriptors 0 to 3; -1: ours; PROGRAM_NULL: /dev/null */
    bool own_session; /* without a terminal; no signal is blocked */
    bool is_daemon;   /* default signals, the folder /, and no other descriptor of ours */
};
#define PROGRAM_NULL (-2)
/* 0, or an errno. `argv` as above. */
int program_spawn(const char *path, const char *const *argv, const struct program_streams *streams,
                  pid_t *ret_pid);

struct program_job {
    const char *path;        /* NULL: skip */
    const char *const *argv; /* as above */
    bool drop_errors;        /* keep only its standard output */
    struct strbuf out;       /* owned by the caller */
    int status; /* its exit code, or 128 + the signal; negative errno: not started, -ETIMEDOUT */
};
/* Runs all in parallel, in their own sessions without input. After `timeout`, or PROGRAM_OUTPUT_MAX
 * bytes, its process group is killed. */
void program_run_all(struct program_job *jobs, size_t count, time_ms timeout);
