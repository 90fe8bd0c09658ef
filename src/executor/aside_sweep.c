/* aside_sweep.c: helper processes of a daemon that was killed.
 *
 * A daemon that is killed cannot kill them. Whoever must not meet one of those again marks the
 * environment (aside_mark) and looks for the mark at its start (aside_sweep). A guard has the mark on its
 * command line, since its environment cannot be read; it ends by itself when its daemon dies, and is waited for. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "executor/aside_guard.h"
#include "os/clock.h"
#include "os/proc.h"

#define GONE_AFTER SECONDS(2) /* a process that got KILL */
#define MANY       256        /* those that are waited for */

void aside_mark(const char *home, struct strbuf *out) {
    strbuf_printf(out, "SLUICE_ASIDE=%s", home);
}

static bool is_guard(void *mark, pid_t pid) {
    return proc_has_text(pid, "cmdline", mark, "sluice-shim");
}

static bool is_command(void *mark, pid_t pid) {
    return proc_has_text(pid, "environ", mark, NULL);
}

/* A second git must not find one of them at work. */
static void await_all(const struct proc_swept *swept, time_ms patience, int signal) {
    time_ms deadline = clock_read_steady() + patience;
    for (unsigned i = 0; i < swept->count; i++) {
        struct pollfd gone = { .fd = swept->fds[i], .events = POLLIN };
        time_ms left = deadline - clock_read_steady();
        if (poll(&gone, 1, left > 0 ? (int)left : 0) != 1 && signal != 0)
            (void)proc_signal(swept->fds[i], signal);
    }
}

static unsigned sweep(bool (*wanted)(void *ctx, pid_t pid), struct strbuf *mark, int signal) {
    int fds[MANY];
    struct proc_swept swept = { .fds = fds, .max = MANY };
    unsigned count = proc_sweep(wanted, mark->text, signal, &swept);
    for (unsigned i = 0; i < swept.count; i++)
        (void)proc_signal(fds[i], SIGCONT); /* a stopped process would get it too late */
    if (signal != SIGKILL)                  /* a guard has its grace period before it is killed */
        await_all(&swept, GUARD_GRACE + GUARD_MARGIN, SIGKILL);
    await_all(&swept, GONE_AFTER, 0);
    for (unsigned i = 0; i < swept.count; i++)
        close(fds[i]);
    return count;
}

unsigned aside_sweep(const char *home) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    aside_mark(home, &mark);
    /* Guards are asked to end, and end their commands, which remove their locks then. The commands that are left have no
     * guard, or theirs was killed. */
    unsigned guards = sweep(is_guard, &mark, SIGTERM);
    return guards + sweep(is_command, &mark, SIGKILL);
}
