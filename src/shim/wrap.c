/* wrap.c: a command inside a sandbox: what the shim passes in, and what it hears from there.
 *
 * The sandbox is another program (bubblewrap), which the shim starts in place of the command. Inside runs
 * the shim again (enter.c), which becomes the command. Three descriptors reach it through the sandbox program: a
 * socket to the shim, the program of the shim, and a file in memory with command and environment. The sandbox
 * program does not get that environment: LD_PRELOAD of a task would run code outside the sandbox.
 *
 * The first message carries the process number as this side counts (SCM_CREDENTIALS). Its sender waits
 * until the shim has a pidfd of it, so the number cannot belong to another process by then. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/proc.h"
#include "rundir/record.h"
#include "shim/child.h"

#define MEMORY_CLOEXEC 1u /* MFD_CLOEXEC */
#define PARTS          64 /* texts in one write */
#define WORDS_READ     1024

/* --- what is passed in ------------------------------------------------------------------------- */

/* name NUL value NUL …, many at once. */
struct words_out {
    int fd;
    struct iovec parts[PARTS];
    int count;
    bool failed;
};

static void flush_words(struct words_out *out) {
    size_t size = 0;
    for (int i = 0; i < out->count; i++)
        size += out->parts[i].iov_len;
    if (out->count > 0 && writev(out->fd, out->parts, out->count) != (ssize_t)size)
        out->failed = true;
    out->count = 0;
}

static void add_text(struct words_out *out, const char *text) {
    if (out->count == PARTS)
        flush_words(out);
    out->parts[out->count++] = (struct iovec){ (void *)(uintptr_t)text, strlen(text) + 1 };
}

static void add_words(struct words_out *out, const char *name, const char *const *words) {
    for (; words && *words; words++) {
        add_text(out, name);
        add_text(out, *words);
    }
}

static int make_words(const struct shim *s, const struct child *child) {
    struct words_out out = { .fd = (int)syscall(SYS_memfd_create, "words", MEMORY_CLOEXEC) };
    if (out.fd < 0)
        return -1;
    add_words(&out, "arg", child->argv);
    add_words(&out, "env", s->spec.env);
    add_text(&out, "cwd"); /* the line of the sandbox has that of the command */
    add_text(&out, s->spec.cwd);
    if (child->files->stdin_path) {
        add_text(&out, "stdin");
        add_text(&out, child->files->stdin_path);
    }
    flush_words(&out);
    if (!out.failed)
        return out.fd;
    close(out.fd);
    errno = ENOMEM;
    return -1;
}

/* To a number that no dup2 of the child overwrites. */
static int move_up(int fd) {
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (fd >= 0)
        close(fd);
    return high;
}

void wrap_close_passed(struct child *child) {
    for (int i = 0; i < INSIDE_COUNT; i++)
        if (child->passed[i] >= 0)
            close(child->passed[i]);
}

static int open_passed(const struct shim *s, struct child *child, int *ret_report) {
    int pair[2], on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    (void)setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    child->passed[0] = move_up(pair[1]);
    child->passed[1] = move_up(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    child->passed[2] = move_up(make_words(s, child));
    for (int i = 0; i < INSIDE_COUNT; i++)
        if (child->passed[i] < 0) {
            int error = errno;
            close(pair[0]);
            wrap_close_passed(child);
            errno = error;
            return -1;
        }
    child->report = child->passed[0];
    *ret_report = pair[0];
    return 0;
}

int wrap_open(struct shim *s, struct child *child, int *ret_report) {
    static const char inside[] = "--enter";
    size_t count = 0;
    for (const char *const *word = s->spec.wrap; *word; word++)
        s->line[count++] = *word;
    child->enters = s->spec.enter != NULL;
    if (child->enters) {
        if (open_passed(s, child, ret_report) < 0)
            return -1;
        s->line[count++] = s->spec.enter;
        s->line[count++] = inside;
        child->env = s->spec.wrap_env;
    } else {
        int report[2];
        if (pipe2(report, O_CLOEXEC) < 0)
            return -1;
        child->report = report[1];
        *ret_report = report[0];
        for (const char *const *word = child->argv; *word; word++)
            s->line[count++] = *word;
    }
    s->line[count] = NULL;
    child->argv = s->line;
    return 0;
}

/* --- what is heard ----------------------------------------------------------------------------- */

void wrap_forget(struct shim *s) {
    if (s->inside.command > 0 && s->inside.handle >= 0)
        close(s->inside.handle);
    s->inside.command = s->inside.parent = 0;
    s->inside.handle = -1;
    s->inside.words[0] = '\0';
}

static void take_entered(struct shim *s, int report, pid_t pid) {
    struct proc_stat stat;
    if (pid <= 1 || s->inside.command != 0)
        return;
    s->inside.command = pid;
    s->inside.handle = proc_open(pid);
    if (proc_read("/proc", pid, &stat) == 0 && stat.parent != s->leader && stat.parent != s->self)
        s->inside.parent = stat.parent;
    (void)!send(report, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* it may go on */
}

ssize_t wrap_hear(struct shim *s, int report, struct child_news *ret) {
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control = { .bytes = "" };
    struct iovec part = { ret, sizeof(*ret) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    ssize_t size = recvmsg(report, &message, MSG_CMSG_CLOEXEC);
    if (size != (ssize_t)sizeof(*ret) || ret->step != STEP_ENTERED || s->stop_wanted
        || s->kill_wanted)
        return size;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    struct ucred who = { 0 };
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&who, CMSG_DATA(head), sizeof(who));
        take_entered(s, report, who.pid);
    }
    return size;
}

/* --- why there is no sandbox ------------------------------------------------------------------- */

void wrap_read_words(struct shim *s, int fd, off_t from) {
    char path[32] = "/proc/self/fd/", text[WORDS_READ];
    struct stat st;
    struct record_out name = { .text = path, .size = sizeof(path) - 1, .length = strlen(path) };
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= from)
        return;
    record_put_number(&name, fd);
    path[name.length] = '\0';
    int log = open(path, O_RDONLY | O_CLOEXEC); /* ours can only be written */
    if (st.st_size - from > (off_t)sizeof(text))
        from = st.st_size - (off_t)sizeof(text);
    ssize_t size = log < 0 ? 0 : pread(log, text, sizeof(text), from);
    if (log >= 0)
        close(log);
    while (size > 0 && text[size - 1] == '\n')
        size--;
    ssize_t begin = size > 0 ? size : 0;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    size_t used = 0;
    for (ssize_t i = begin; i < size && used + 1 < sizeof(s->inside.words); i++)
        s->inside.words[used++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    s->inside.words[used] = '\0';
}
