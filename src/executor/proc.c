/* proc.c: what /proc says of a process; and those that a dead shim has left, found without a cgroup.
 *
 * By session: its number is not given to another process while somebody is in it. So if nobody has the
 * number as its own, everybody who has it as session is of the old one.
 * By environment: who has made a session of its own still has the TMPDIR of the run that it was born in,
 * unless it took care to lose it. */
#include "executor/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "executor/folder.h"
#include "os/files.h"

#define ENVIRONMENT_MAX  (4u << 20)
#define COMMAND_LINE_MAX (64u << 10)

/* The name is in parentheses and may hold anything, parentheses too. */
static bool parse_stat(const char *text, struct process *ret) {
    const char *name = strchr(text, '('), *rest = strrchr(text, ')');
    struct process process = { 0 };
    if (!name || !rest || rest < name)
        return false;
    size_t length = (size_t)(rest - name - 1);
    if (length >= sizeof(process.name))
        length = sizeof(process.name) - 1;
    memcpy(process.name, name + 1, length);
    int parent = 0, session = 0;
    /* state parent group session, 15 others, the start */
    if (sscanf(rest + 1,
               " %c %d %*d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
               &process.state, &parent, &session, &process.start)
        != 4)
        return false;
    process.parent = parent;
    process.session = session;
    *ret = process;
    return true;
}

int proc_read(const char *proc, pid_t pid, struct process *ret) {
    char path[256], text[1024];
    (void)snprintf(path, sizeof(path), "%.200s/%d/stat", proc, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    int error = size < 0 ? -errno : -ESRCH; /* it ended after the file was opened */
    close(fd);
    if (size <= 0)
        return error;
    text[size] = '\0';
    return parse_stat(text, ret) ? 0 : -EPROTO;
}

bool proc_is_shim(pid_t pid, const char *run) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(path, COMMAND_LINE_MAX, &text, NULL) < 0 || text.length == 0)
        return false;
    size_t name = strlen(text.text) + 1;
    return strcmp(text.text, "sluice-shim") == 0 && name < text.length
           && strcmp(text.text + name, run) == 0;
}

/* --- killing --------------------------------------------------------------------------------- */

struct wanted {
    pid_t session;        /* 0: any */
    const char *variable; /* NULL: any */
};

/* The environment that it was started with; unreadable for processes of others. */
static bool has_variable(pid_t pid, const char *variable) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(path, ENVIRONMENT_MAX, &text, NULL) < 0)
        return false;
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1)
        if (strcmp(text.text + at, variable) == 0)
            return true;
    return false;
}

static bool is_wanted(pid_t pid, const struct wanted *wanted) {
    struct process process = { 0 };
    if (proc_read("/proc", pid, &process) < 0 || process.state == 'Z')
        return false;
    return wanted->variable ? has_variable(pid, wanted->variable)
                            : process.session == wanted->session;
}

/* Held by a pidfd and looked at again before the signal, so that nobody else gets it. */
static bool kill_if_wanted(pid_t pid, const struct wanted *wanted) {
    if (pid <= 1 || pid == getpid() || !is_wanted(pid, wanted))
        return false;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool still = pidfd >= 0 && is_wanted(pid, wanted)
                 && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
    if (pidfd >= 0)
        close(pidfd);
    return still;
}

static unsigned kill_all(const struct wanted *wanted) {
    struct folder processes;
    (void)folder_open(&processes, AT_FDCWD, "/proc");
    unsigned count = 0;
    for (const char *name; (name = folder_next(&processes));)
        if (isdigit((unsigned char)name[0]))
            count += kill_if_wanted((pid_t)strtol(name, NULL, 10), wanted);
    folder_close(&processes);
    return count;
}

unsigned proc_kill_marked(const char *variable) {
    return kill_all(&(struct wanted){ .variable = variable });
}

unsigned proc_kill_session(pid_t leader) {
    struct process process = { 0 };
    if (leader <= 1 || (proc_read("/proc", leader, &process) == 0 && process.state != 'Z'))
        return 0;
    return kill_all(&(struct wanted){ .session = leader });
}
