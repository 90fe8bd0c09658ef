/* guard.c: a shim as the parent of a helper process of the daemon (src/executor/helper_process.h).
 *
 * Some helpers may execute what a run wrote: checks after a merge, git in a worktree. Below a shim
 * they count as a run: the owner's socket refuses them, and the spec's limits and sandbox apply.
 *
 * sluice-shim --guard PARENT RUN [MARK]
 *   0, 1, 2   those of the command
 *   3         a memory file: the spec, replaced by the report when the command has ended
 *   6         the cgroup, as for a run
 * PARENT is the daemon; the guard stops when it dies, or outlives it if 0. RUN and MARK are for
 * `ps` and helper_sweep.
 *
 * A guard has no directory and no end.json: its exit status is that of the command, and the next
 * daemon starts the helper again. A guard that was killed leaves no report: then the daemon kills
 * the rest. */
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rundir/record.h"
#include "shim/shim.h"

#define FD_SPEC      3
#define EXIT_NOT_RUN 127

/* The stop signal of a shim comes when the daemon dies; if it died earlier, no signal comes. A
 * polite stop, because a killed git leaves locks behind. */
static bool outlives_or_has_parent(const char *word) {
    int64_t parent = 0;
    if (!record_number(word, 0, INT32_MAX, &parent))
        return false;
    if (parent == 0)
        return true;
    return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == (pid_t)parent;
}

static void report(const struct shim *s) {
    char text[RUN_RECORD_MAX];
    struct record_out out = { .text = text, .size = sizeof(text) };
    record_add(&out, GUARD_REPORT, GUARD_REPORT_VERSION);
    if (s->end.exec_errno != 0)
        record_add_number(&out, GUARD_ERRNO, s->end.exec_errno);
    if (s->end.message[0] != '\0')
        record_add(&out, GUARD_MESSAGE, s->end.message);
    if (s->cgroup_killed)
        record_add(&out, GUARD_CGROUP_KILLED, "1");
    if (ftruncate(FD_SPEC, 0) == 0)
        (void)!pwrite(FD_SPEC, text, out.length, 0);
}

static int exit_code(int status) {
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    (void)sigaction(number, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    (void)kill(getpid(), number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number; /* a signal that does not end a process */
}

int guard_main(struct shim *s, const char *parent) {
    static const struct command_files files = { .out = STDOUT_FILENO, .err = STDERR_FILENO };
    static const struct watch watch = { 0 };
    struct error err = { 0 };
    shim_init(s);
    (void)!chdir("/");
    if (!outlives_or_has_parent(parent))
        return EXIT_NOT_RUN;
    int r = shim_read_spec(s, FD_SPEC, 0, &err);
    if (r < 0) {
        run_refuse(s, -r, err.text);
        report(s);
        return EXIT_NOT_RUN;
    }
    struct command_failure failure;
    limits_open(s);
    if (command_start(s, s->spec.command.argv, &files, &failure) < 0) {
        run_refuse_command(s, &failure);
        report(s);
        return EXIT_NOT_RUN;
    }
    (void)watch_leader(s, &watch);
    tree_end(s);
    report(s);
    limits_close(s);
    return exit_code(s->status);
}
