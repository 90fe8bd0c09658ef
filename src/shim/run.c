/* run.c: prepare, command, checks; and the resulting end.
 *
 * The complete process tree of a step is dead before the next step begins: a check never competes
 * with leftovers of the command, and no end is reported while a process is alive. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "rundir/record.h"
#include "shim/shim.h"

/* --- the end ---------------------------------------------------------------------------------- */

static void set_message(struct shim *s, const char *text) {
    size_t length = strlen(text);
    if (length >= sizeof(s->end.message))
        length = sizeof(s->end.message) - 1;
    memcpy(s->end.message, text, length);
    s->end.message[length] = '\0';
}

void run_refuse(struct shim *s, int error, const char *why) {
    s->end.kind = RUN_END_LAUNCH;
    s->end.exec_errno = error;
    s->end.cause = LAUNCH_HOST;
    s->end.ended_at = clock_read();
    set_message(s, why);
}

void run_refuse_command(struct shim *s, const struct command_failure *failure) {
    struct error err = { 0 };
    const char *hint = "";
    bool run = strcmp(failure->what, "run") == 0;
    if (run && failure->error == ENOENT)
        hint = strchr(failure->subject, '/') ? "; or the program named in its first line is missing"
                                             : ": no folder of PATH has it";
    else if (run && failure->error == ENOEXEC)
        hint = ": no program, and no '#!' line";
    else if (failure->error == E2BIG)
        hint = ": put the long text into a file or the standard input";
    else if (failure->cause == LAUNCH_CWD)
        hint = "; create it, or change the folder of the task (--cwd) or of its project";
    (void)error_set(&err, -failure->error, "cannot %s '%.120s': %s%s", failure->what,
                    failure->subject, failure->words ? failure->words : strerror(failure->error),
                    hint);
    run_refuse(s, failure->error, err.text);
    s->end.cause = failure->cause;
    if (failure->error == ECANCELED || failure->error == ETIME) {
        s->end.kind = failure->error == ECANCELED ? RUN_END_STOPPED : RUN_END_TIMEOUT;
        s->end.exec_errno = 0;
        set_message(s, "it was ended before its program ran");
    }
}

/* What `verdict` means for the end; RUN_END_KIND_MAX: it follows from the exit status. */
static const struct {
    enum run_end_kind kind;
    const char *message;
} verdict_ends[] = {
    [VERDICT_NONE] = { RUN_END_KIND_MAX, "" },
    [VERDICT_STOPPED] = { RUN_END_STOPPED, "" },
    [VERDICT_TIMEOUT] = { RUN_END_TIMEOUT, "it took longer than its time-out" },
    [VERDICT_IDLE] = { RUN_END_TIMEOUT, "it wrote nothing for longer than its idle time-out" },
    [VERDICT_OUTPUT] = { RUN_END_OUTPUT, "it wrote faster than its log could be kept small" },
    [VERDICT_MEMORY] = { RUN_END_KIND_MAX, "its processes used more memory than memory_max" },
    [VERDICT_HANGUP] = { RUN_END_STOPPED, "the terminal of its person was closed" },
    [VERDICT_PROCESSES] = { RUN_END_KIND_MAX, "it had more processes than processes_max" },
};

static void take_status(struct shim *s, enum verdict verdict) {
    bool by_signal = WIFSIGNALED(s->status);
    s->end.kind = verdict_ends[verdict].kind;
    if (s->end.kind == RUN_END_KIND_MAX)
        s->end.kind = by_signal ? RUN_END_SIGNAL : RUN_END_EXIT;
    s->end.code = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;
    s->end.signal = by_signal ? WTERMSIG(s->status) : 0;
    s->end.core_dumped = by_signal && WCOREDUMP(s->status);
    s->end.idle = verdict == VERDICT_IDLE;
    set_message(s, verdict == VERDICT_NONE && s->end.signal == SIGKILL && limits_were_hit(s)
                       ? "the kernel killed it: it used more memory than memory_max"
                       : verdict_ends[verdict].message);
}

static void take_usage(struct shim *s) {
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    s->end.cpu_ms = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000
                    + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    s->end.memory_kb = usage.ru_maxrss;
}

static void set_deadline(struct shim *s, time_ms timeout) {
    s->deadline = timeout > 0 ? time_add(clock_read_steady(), timeout) : TIME_NEVER;
}

/* Waits for the started command and ends its tree. */
static enum verdict finish_step(struct shim *s, const struct watch *watch) {
    enum verdict verdict = watch_leader(s, watch);
    tree_end(s);
    return verdict;
}

static bool has_succeeded(const struct shim *s, enum verdict verdict) {
    return verdict == VERDICT_NONE && WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0;
}

/* Runs a command that writes one log. false: it could not be started. */
static bool run_step(struct shim *s, const struct run_command *command, struct shim_log *log,
                     struct command_failure *ret_failure, enum verdict *ret_verdict) {
    const struct command_files files = { .out = log->fd, .err = log->fd };
    const struct watch watch = { .logs = log, .log_count = 1 };
    set_deadline(s, command->timeout);
    if (command_start(s, command->argv, &files, ret_failure) < 0)
        return false;
    *ret_verdict = finish_step(s, &watch);
    return true;
}

/* --- checks ------------------------------------------------------------------------------------ */

/* true: passed */
static bool run_check(struct shim *s, size_t index, struct shim_log *log) {
    struct command_failure failure;
    enum verdict verdict;
    if (!run_step(s, &s->spec.checks[index], log, &failure, &verdict)) {
        run_refuse_command(s, &failure);
        s->end.kind = failure.error == ECANCELED ? RUN_END_STOPPED : RUN_END_CHECK;
        s->end.check = (int)index;
        s->end.code = -1;
        return false;
    }
    if (has_succeeded(s, verdict))
        return true;
    take_status(s, verdict);
    s->end.check = (int)index;
    if (verdict != VERDICT_STOPPED)
        s->end.kind = RUN_END_CHECK;
    return false;
}

static void run_checks(struct shim *s) {
    struct shim_log log;
    logs_open(&log, "check.log");
    if (log.fd < 0) {
        struct command_failure failure = { "write", "check.log", errno, NULL };
        run_refuse_command(s, &failure);
        s->end.kind = RUN_END_CHECK;
        s->end.code = -1;
        return;
    }
    report_validating(s);
    bool passed = true;
    for (size_t i = 0; passed && i < s->spec.check_count; i++) {
        watch_signals(s);
        if (s->stop_wanted || s->kill_wanted) {
            s->end.kind = RUN_END_STOPPED;
            s->end.check = (int)i;
            break;
        }
        passed = run_check(s, i, &log);
    }
    logs_finish(s, &log, 1);
}

/* --- prepare ---------------------------------------------------------------------------------- */

#define PREPARE_LOG   "prepare.log"
#define PREPARE_SHOWN 100 /* bytes of the command in a message */
#define PREPARE_HINT  "; 'sluice logs --prepare' shows its output"

static void fail_prepare(struct shim *s, enum verdict verdict) {
    char words[PREPARE_SHOWN + 1] = "";
    struct record_out out = { .text = words, .size = PREPARE_SHOWN };
    struct error err = { 0 };
    take_status(s, verdict);
    s->end.ended_at = clock_read();
    if (verdict == VERDICT_STOPPED) {
        set_message(s, "it was stopped before its worktree was prepared");
        return;
    }
    for (const char *const *word = s->spec.prepare.argv; *word && !out.full; word++) {
        record_puts(&out, out.length > 0 ? " " : "");
        record_puts(&out, *word);
    }
    s->end.kind = RUN_END_LAUNCH;
    s->end.cause = LAUNCH_PREPARE;
    if (s->end.message[0]) /* it was ended by a limit */
        (void)error_set(&err, -ECHILD, "prepare '%s' failed: %s" PREPARE_HINT, words,
                        s->end.message);
    else
        (void)error_set(&err, -ECHILD, "prepare '%s' failed with %s %d" PREPARE_HINT, words,
                        s->end.signal ? "signal" : "exit code",
                        s->end.signal ? s->end.signal : s->end.code);
    set_message(s, err.text);
}

static void refuse_prepare(struct shim *s, const struct command_failure *failure) {
    struct error err = { 0 };
    run_refuse_command(s, failure);
    if (s->end.kind == RUN_END_STOPPED)
        return;
    (void)error_set(&err, -failure->error, "prepare: %s", s->end.message);
    s->end.kind = RUN_END_LAUNCH;
    s->end.cause = LAUNCH_PREPARE;
    set_message(s, err.text);
}

/* true: succeeded. Its directory may differ from that of the command. */
static bool run_prepare(struct shim *s) {
    struct shim_log log;
    struct command_failure failure = { "write", PREPARE_LOG, 0 };
    const char *cwd = s->spec.cwd;
    logs_open(&log, PREPARE_LOG);
    if (log.fd < 0) {
        failure.error = errno;
        refuse_prepare(s, &failure);
        return false;
    }
    s->spec.cwd = s->spec.prepare_cwd ? s->spec.prepare_cwd : cwd;
    enum verdict verdict = VERDICT_NONE;
    bool started = run_step(s, &s->spec.prepare, &log, &failure, &verdict);
    if (!started)
        refuse_prepare(s, &failure);
    logs_finish(s, &log, 1);
    s->spec.cwd = cwd;
    bool good = started && has_succeeded(s, verdict);
    if (good)
        limits_note(s, "prepared");
    else if (started)
        fail_prepare(s, verdict);
    return good;
}

/* --- command ---------------------------------------------------------------------------------- */

static void run_command(struct shim *s, struct shim_log logs[SHIM_LOGS_MAX]) {
    struct command_files files = { .stdin_path = s->spec.stdin_path,
                                   .prompt = s->spec.prompt != NULL,
                                   .out = logs[0].fd,
                                   .err = logs[1].fd };
    struct command_failure failure;
    set_deadline(s, s->spec.command.timeout);
    if (terminal_is_wanted(s)) {
        int fd = terminal_open(s, logs[0].fd, &failure);
        if (fd < 0) {
            run_refuse_command(s, &failure);
            return;
        }
        files = (struct command_files){ .out = fd, .err = fd, .terminal = fd };
    }
    int r = command_start(s, s->spec.command.argv, &files, &failure);
    if (files.terminal) /* else its last process would not be seen to close it */
        close(files.terminal);
    if (r < 0) {
        s->started.exec_errno = failure.error;
        report_started(s);
        run_refuse_command(s, &failure);
        return;
    }
    const struct watch watch = { .idle_timeout = s->spec.idle_timeout,
                                 .logs = logs,
                                 .log_count = SHIM_LOGS_MAX };
    s->started.command = s->leader;
    report_started(s);
    s->end.started_at = s->started.at;
    take_status(s, finish_step(s, &watch));
    terminal_close();
    logs_finish(s, logs, SHIM_LOGS_MAX);
    s->end.out_bytes = logs[0].size;
    s->end.err_bytes = logs[1].size;
}

void run_all(struct shim *s) {
    struct shim_log logs[SHIM_LOGS_MAX];
    limits_open(s);
    if (s->spec.prepare.argv && !run_prepare(s)) {
        take_usage(s);
        return;
    }
    logs_open(&logs[0], "out.log");
    logs_open(&logs[1], "err.log");
    if (logs[0].fd < 0 || logs[1].fd < 0) {
        struct command_failure failure = { "write", "out.log", errno, NULL };
        run_refuse_command(s, &failure);
        return;
    }
    run_command(s, logs);
    if (s->end.kind == RUN_END_EXIT && s->end.code == 0 && s->spec.check_count > 0
        && !terminal_is_wanted(s)) /* the person decides; they are for a later merge */
        run_checks(s);
    s->end.ended_at = clock_read();
    take_usage(s);
}
