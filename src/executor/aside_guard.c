/* aside_guard.c: starts the shim above a helper process, and reads what it reports.
 *
 * The spec goes through a memory file: nothing else can open it, because the guard is not dumpable. It is replaced by
 * the report at the end. */
#include "executor/aside_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "executor/spawn_process.h"
#include "os/files.h"
#include "rundir/guard_report.h"
#include "rundir/record.h"
#include "rundir/rundir.h"

#define LOW_DESCRIPTORS 10
#define MARK            "SLUICE_ASIDE="

/* One that dies with the daemon carries its mark, so that the next daemon finds it (aside_sweep). */
static const char *mark_of(const struct aside_spec *spec) {
    for (const char *const *pair = spec->env; pair && *pair && !spec->outlives; pair++)
        if (strncmp(*pair, MARK, strlen(MARK)) == 0)
            return *pair;
    return NULL;
}

static void format_spec(const struct aside_spec *spec, struct strbuf *out) {
    static const char *const none[] = { NULL };
    struct run_spec full = *spec->guard->spec;
    full.command = (struct run_command){ .argv = spec->argv };
    full.env = spec->env ? spec->env : none;
    full.cwd = spec->cwd ? spec->cwd : "/";
    full.checks = NULL;
    full.check_count = 0;
    full.prompt = full.stdin_path = NULL;
    full.idle_timeout = 0;
    full.grace = spec->guard->grace ? spec->guard->grace : GUARD_GRACE;
    full.stop_signal = SIGTERM;
    full.log_head = full.log_tail = 0;
    run_spec_format(&full, out);
}

static int write_all(int file, const char *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        ssize_t done = pwrite(file, bytes + at, size - at, (off_t)at);
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += (size_t)done;
    }
    return 0;
}

/* A memory file with the spec, above the descriptors of the guard. The caller closes it, also after an error. */
static int write_spec(const struct aside_spec *spec, int *ret_file) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    format_spec(spec, &text);
    if (text.length > RUN_SPEC_MAX)
        return E2BIG;
    _cleanup_(fd_closep) int low = memfd_create("sluice-guard", MFD_CLOEXEC);
    *ret_file = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    return *ret_file < 0 ? errno : write_all(*ret_file, text.text, text.length);
}

int guard_spawn(const struct aside_spec *spec, int out, int *ret_file, pid_t *ret_pid) {
    static const char *const nothing[] = { NULL };
    char parent[16];
    (void)snprintf(parent, sizeof(parent), "%d", spec->outlives ? 0 : (int)getpid());
    const char *const argv[] = { "sluice-shim",          "--guard",     parent,
                                 spec->guard->spec->run, mark_of(spec), NULL };
    int error = write_spec(spec, ret_file);
    struct spawn order = {
        .program = spec->guard->shim,
        .argv = argv,
        .env = nothing,
        .fds = { SPAWN_NULL, out, spec->reads ? SPAWN_NULL : out, *ret_file, SPAWN_NULL,
                 spec->guard->daemon, spec->guard->cgroup },
        .fd_count = 7,
        .is_session = true,
        .blocks = true, /* as in any shim */
        .ignores_pipe = spec->outlives,
    };
    return error ? error : spawn_process(&order, ret_pid);
}

void guard_stop(pid_t guard) {
    (void)kill(guard, SIGTERM);
    (void)kill(guard, SIGCONT); /* something below it may have stopped it */
}

void guard_read(int file, struct guard_report *ret) {
    char text[RUN_RECORD_MAX];
    ssize_t size = pread(file, text, sizeof(text), 0);
    struct record_in in = { .at = text, .end = text + (size > 0 ? size : 0) };
    const char *name, *value;
    *ret = (struct guard_report){ 0 };
    if (!record_next(&in, &name, &value) || strcmp(name, GUARD_REPORT) != 0)
        return;
    ret->is_there = true;
    while (record_next(&in, &name, &value)) {
        int64_t number;
        if (strcmp(name, GUARD_ERRNO) == 0 && record_number(value, 1, 4095, &number))
            ret->error = (int)number;
        else if (strcmp(name, GUARD_MESSAGE) == 0)
            (void)snprintf(ret->message, sizeof(ret->message), "%s", value);
        else if (strcmp(name, GUARD_CGROUP_KILLED) == 0)
            ret->cgroup_killed = true;
    }
}
