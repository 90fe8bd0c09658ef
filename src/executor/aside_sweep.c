/* aside_sweep.c: helper processes of a daemon that was killed.
 *
 * A daemon that is killed cannot kill them. Whoever must not meet one of those again marks the
 * environment (aside_mark) and looks for the mark at its start (aside_sweep). A guard has the mark on its
 * command line, since its environment cannot be read; it ends by itself when its daemon dies, and is waited for. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "base/strbuf.h"
#include "executor/aside.h"
#include "os/clock.h"
#include "os/files.h"

#define TEXT_MAX  (1u << 20)
#define GONE_MS   2000
#define MANY      256 /* those that are waited for */
#define SHIM_NAME "sluice-shim"

enum kind {
    GUARDS, /* asked to end, and waited for: they end their commands, which remove their locks then */
    COMMANDS, /* what has no guard, or whose guard was killed */
};

struct found {
    int fds[MANY];
    unsigned count, waiting;
};

void aside_mark(const char *home, struct strbuf *out) {
    strbuf_printf(out, "SLUICE_ASIDE=%s", home);
}

/* Is it one of the texts in this file of the process? Each ends with NUL. */
static bool has_text(const char *pid, const char *file, const char *wanted, const char *first) {
    char path[64];
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
    if (file_read(path, TEXT_MAX, &text, NULL) < 0 || text.length == 0)
        return false; /* another user's, or gone */
    if (first && strcmp(text.text, first) != 0)
        return false;
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1)
        if (strcmp(text.text + at, wanted) == 0)
            return true;
    return false;
}

static bool send_signal(int pidfd, int signal) {
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
}

/* Ends it if it has the mark. The pidfd comes first: then it is the process that is looked at. */
static bool end_marked(enum kind kind, const char *name, const char *mark, struct found *found) {
    int64_t pid = 0;
    if (strspn(name, "0123456789") != strlen(name) || number_parse_int(name, &pid, NULL) < 0
        || pid <= 1 || pid == getpid())
        return false;
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return false;
    bool is_ended = kind == GUARDS
                        ? has_text(name, "cmdline", mark, SHIM_NAME) && send_signal(fd, SIGTERM)
                              && send_signal(fd, SIGCONT)
                        : has_text(name, "environ", mark, NULL) && send_signal(fd, SIGKILL);
    if (is_ended && found->waiting < MANY)
        found->fds[found->waiting++] = fd;
    else
        fd_closep(&fd);
    return is_ended;
}

/* A second git must not find one of them at work. */
static void await_all(const struct found *found, int signal) {
    time_ms deadline = clock_read_steady() + GONE_MS;
    for (unsigned i = 0; i < found->waiting; i++) {
        struct pollfd gone = { .fd = found->fds[i], .events = POLLIN };
        time_ms left = deadline - clock_read_steady();
        if (poll(&gone, 1, left > 0 ? (int)left : 0) != 1 && signal != 0)
            (void)send_signal(found->fds[i], signal);
    }
}

static unsigned sweep(enum kind kind, const char *mark) {
    struct found found = { 0 };
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        found.count += end_marked(kind, entry->d_name, mark, &found);
    if (dir)
        closedir(dir);
    await_all(&found, SIGKILL); /* a guard that does not end */
    await_all(&found, 0);
    for (unsigned i = 0; i < found.waiting; i++)
        fd_closep(&found.fds[i]);
    return found.count;
}

unsigned aside_sweep(const char *home) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    aside_mark(home, &mark);
    unsigned guards = sweep(GUARDS, strbuf_text(&mark));
    return guards + sweep(COMMANDS, strbuf_text(&mark));
}
