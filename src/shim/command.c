/* command.c: turns an argument list into a process that inherits nothing of the shim.
 *
 * The child reports failures through a CLOEXEC pipe: the errno, never an exit status 127 that a
 * program could also have chosen.
 *
 * Until exec the child shares the memory of the shim, on its own stack: copying it would cost more
 * than the rest of a start. Unlike vfork, the shim does not sleep meanwhile: while exec hangs on a
 * dead file system it must still be able to give up. Until the pipe is closed it changes nothing
 * that the child reads. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env_text.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "rundir/record.h"
#include "shim/shim.h"

enum child_step {
    STEP_NONE,
    STEP_FORK,
    STEP_CWD,
    STEP_STDIN,
    STEP_EXEC,
    STEP_NICE,
    STEP_ENDED,
    STEP_ENTERED, /* in a sandbox; `error` has flags */
    STEP_SANDBOX, /* the sandbox ended before anything ran inside it */
};

/* Message from the child: at most one per step. */
struct child_report {
    int step, error;
};

#define ENTERED_SCOPED 1 /* Landlock blocks abstract sockets and outside processes */

/* Descriptors of the shim that runs inside a sandbox. */
enum {
    FD_INSIDE_REPORT = 3, /* a socket to the shim outside */
    FD_INSIDE_SELF,       /* this program, which need not be visible inside */
    FD_INSIDE_WORDS,      /* a memory file: what to run */
    FD_INSIDE_END,
};
#define INSIDE_COUNT (FD_INSIDE_END - FD_INSIDE_REPORT)

struct child {
    const struct shim *shim;
    const char *const *argv, *const *env; /* of the program to execute */
    const struct command_files *files;
    int report; /* closed by exec */
    bool join_cgroup;
    bool enters;              /* sandbox: standard input is opened inside */
    int passed[INSIDE_COUNT]; /* descriptors for FD_INSIDE_…, in that order, if it enters */
};

/* --- the child before exec -------------------------------------------------------------------- */

/* Runs in the child until exec. It may share the memory of the shim, so it changes nothing there
 * but errno, and does not allocate. Failures are reported through the pipe. */

#define RANGE_CLOEXEC (1u << 2) /* CLOSE_RANGE_CLOEXEC */
#define LIBC_FIRST    32
#define LIBC_LAST     34
#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin"

static void report_step(int report, enum child_step step) {
    struct child_report got = { .step = step, .error = errno };
    (void)!write(report, &got, sizeof(got));
}

/* Reports errno. */
static _Noreturn void child_give_up(int report, enum child_step step) {
    report_step(report, step);
    _exit(127);
}

static void set_files(const struct child *child, int report) {
    const struct command_files *files = child->files;
    int in = STDIN_FILENO; /* /dev/null, set by the daemon */
    /* a file that is not visible inside must not be read either */
    if (files->stdin_path && child->enters)
        in = STDIN_FILENO;
    else if (files->stdin_path)
        in = open(files->stdin_path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    else if (files->prompt)
        in = openat(FD_FOLDER, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || (in != STDIN_FILENO && dup2(in, STDIN_FILENO) < 0))
        child_give_up(report, STEP_STDIN);
    if (files->terminal && dup2(files->terminal, STDIN_FILENO) < 0)
        child_give_up(report, STEP_STDIN);
    if (dup2(files->out, STDOUT_FILENO) < 0 || dup2(files->err, STDERR_FILENO) < 0)
        child_give_up(report, STEP_STDIN);
}

/* Sets CLOEXEC on all descriptors from `first` on. */
static void child_close_others(int first) {
    if (syscall(SYS_close_range, (unsigned)first, ~0u, RANGE_CLOEXEC) == 0)
        return;
    for (int fd = first; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Ignored signals stay ignored across exec. The daemon resets those that libc lets it touch
 * (src/executor/spawner.c); here are the few that both libcs reserve, by raw system calls. */
static void reset_signals(void) {
    static const uint64_t standard[8]; /* all zero means "default" in every layout */
    for (int signal = LIBC_FIRST; signal <= LIBC_LAST; signal++)
        (void)syscall(SYS_rt_sigaction, signal, standard, NULL, (NSIG - 1) / 8);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns the most specific errno: a program that was found but may not be executed wins over
 * ENOENT. */
static int child_exec(const char *const *argv, const char *const *env) {
    char *const *words = (char *const *)(uintptr_t)argv;
    char *const *variables = (char *const *)(uintptr_t)env;
    if (strchr(argv[0], '/') || argv[0][0] == '\0') {
        (void)execve(argv[0], words, variables);
        return errno;
    }
    int error = ENOENT;
    size_t name = strlen(argv[0]);
    const char *path = env_find(env, "PATH");
    for (const char *at = path ? path : STANDARD_PATH;; at++) {
        size_t length = strcspn(at, ":");
        char file[PATH_MAX];
        if (length + name + 2 <= sizeof(file)) {
            memcpy(file, at, length);
            file[length] = '/';
            size_t start = length == 0; /* an empty entry is the current directory */
            memcpy(file + length + 1, argv[0], name + 1);
            (void)execve(file + start, words, variables);
            if (errno == EACCES)
                error = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR)
                return errno;
        }
        at += length;
        if (*at == '\0')
            return error;
    }
}

static _Noreturn void child_run(const struct child *child) {
    const struct shim *s = child->shim;
    int report = child->report;
    /* Dies with the shim; if the shim died before this call, no signal would come. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->self)
        _exit(127);
    bool has_terminal = child->files->terminal && !child->enters;
    if (has_terminal)
        (void)setsid();
    else
        (void)setpgid(0, 0);
    if (child->join_cgroup) {
        int fd = openat(s->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)!write(fd, "0", 1);
    }
    if (chdir(s->spec.cwd) < 0)
        child_give_up(report, STEP_CWD);
    if (s->spec.nice != 0 && setpriority(PRIO_PROCESS, 0, s->spec.nice) < 0)
        report_step(report, STEP_NICE);
    set_files(child, report);
    if (has_terminal)
        (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    for (int i = 0; child->enters && i < INSIDE_COUNT; i++) /* they are above their targets */
        if (dup2(child->passed[i], FD_INSIDE_REPORT + i) < 0)
            child_give_up(report, STEP_FORK);
    child_close_others(child->enters ? FD_INSIDE_END : STDERR_FILENO + 1);
    rlim_t files = (rlim_t)s->spec.open_files;
    struct rlimit limit;
    if (files > 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && files <= limit.rlim_max)
        (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ files, limit.rlim_max });
    (void)umask(s->command_umask);
    reset_signals();
    errno = child_exec(child->argv, child->env);
    child_give_up(report, STEP_EXEC);
}

/* --- outside the sandbox ---------------------------------------------------------------------- */

/* A command inside a sandbox: what the shim passes in, and what is reported from there.
 *
 * The shim starts the sandbox program (bubblewrap) instead of the command. Inside, the shim runs
 * again (enter_sandbox) and becomes the command. It gets three descriptors through the sandbox
 * program: a socket to the outer shim, the shim's executable, and a memory file with command and
 * environment. The sandbox program does not get that environment: LD_PRELOAD of a task would run
 * code outside the sandbox.
 *
 * The first message carries the pid as seen outside (SCM_CREDENTIALS). Its sender waits until the
 * shim has opened a pidfd, so the pid cannot be reused before. */

#define MEMORY_CLOEXEC 1u /* MFD_CLOEXEC */
#define PARTS          64 /* strings per write */
#define WORDS_READ     1024

/* --- input of the sandbox --------------------------------------------------------------------- */

/* Batches "name NUL value NUL …". */
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
    add_text(&out, "cwd"); /* the sandbox's arguments set the command's directory */
    add_text(&out, s->spec.cwd);
    if (child->files->terminal) {
        add_text(&out, "terminal");
        add_text(&out, "1");
    }
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

int dup_high(int fd) {
    if (fd >= FIRST_FREE)
        return fd;
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (fd >= 0)
        close(fd);
    return high;
}

static void wrap_close_passed(struct child *child) {
    for (int i = 0; i < INSIDE_COUNT; i++)
        fd_closep(&child->passed[i]);
}

static int open_passed(const struct shim *s, struct child *child, int *ret_report) {
    int pair[2], on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    (void)setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    child->passed[0] = dup_high(pair[1]);
    child->passed[1] = dup_high(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    child->passed[2] = dup_high(make_words(s, child));
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

/* Sets what the child runs instead of `child->argv` if there is a sandbox, and the pipe or socket for
 * its reports. */
static int open_report(struct shim *s, struct child *child, int *ret_report) {
    static const char inside[] = "--enter";
    size_t count = 0;
    int report[2];
    for (const char *const *word = s->spec.wrap; word && *word; word++)
        s->line[count++] = *word;
    child->enters = s->spec.wrap && s->spec.enter;
    if (child->enters) {
        if (open_passed(s, child, ret_report) < 0)
            return -1;
        s->line[count++] = s->spec.enter;
        s->line[count++] = inside;
        child->env = s->spec.wrap_env;
    } else {
        if (pipe2(report, O_CLOEXEC) < 0)
            return -1;
        child->report = report[1];
        *ret_report = report[0];
        for (const char *const *word = child->argv; s->spec.wrap && *word; word++)
            s->line[count++] = *word;
    }
    s->line[count] = NULL;
    if (s->spec.wrap)
        child->argv = s->line;
    return 0;
}

/* --- messages from inside --------------------------------------------------------------------- */

/* Forgets the previous command inside. */
static void wrap_forget(struct shim *s) {
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
    (void)!send(report, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* let it continue */
}

/* Returns the size of the next message from inside; 0: no more; -1: error. */
static ssize_t receive_report(struct shim *s, int report, struct child_report *ret) {
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

/* --- why the sandbox failed ------------------------------------------------------------------- */

/* The last line that the sandbox program wrote after this offset. */
static void wrap_read_words(struct shim *s, int fd, off_t from) {
    char path[32] = "/proc/self/fd/", text[WORDS_READ];
    struct stat st;
    struct record_out name = { .text = path, .size = sizeof(path) - 1, .length = strlen(path) };
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= from)
        return;
    record_put_number(&name, fd);
    path[name.length] = '\0';
    _cleanup_(fd_closep) int log = open(path, O_RDONLY | O_CLOEXEC); /* ours is write-only */
    if (st.st_size - from > (off_t)sizeof(text))
        from = st.st_size - (off_t)sizeof(text);
    ssize_t size = log < 0 ? 0 : pread(log, text, sizeof(text), from);
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

/* --- starting --------------------------------------------------------------------------------- */

#define BORN_IN_CGROUP 0x200000000ull /* CLONE_INTO_CGROUP */
#define EXEC_POLL_MS   200
#define STACK_BYTES    (64u << 10) /* two pages of it are touched */

/* Kernel ABI; this libc has no header for it. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

#ifdef SHIM_SHARES_MEMORY
static _Alignas(64) char child_stack[STACK_BYTES];

_Noreturn static void enter_child(const struct child *child) {
    child_run(child);
}

/* The child runs on its own stack, so that the two never return into each other's frames. */
static long clone_sharing(struct clone_arguments *arguments, const struct child *child) {
    register long result __asm__("rax") = SYS_clone3;
    arguments->flags |= CLONE_VM;
    arguments->stack = (uint64_t)(uintptr_t)child_stack;
    arguments->stack_size = sizeof(child_stack);
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %[child], %%rdi\n\t"
                     "call *%[enter]\n\t"
                     "1:"
                     : "+r"(result)
                     : "D"(arguments),
                       "S"(sizeof(*arguments)), [child] "b"(child), [enter] "r"(enter_child)
                     : "rcx", "r11", "cc", "memory");
    return result;
}
#else
static long clone_sharing(struct clone_arguments *arguments, const struct child *child) {
    long pid = syscall(SYS_clone3, arguments, sizeof(*arguments));
    if (pid == 0)
        child_run(child);
    return pid;
}
#endif

/* Created directly in the cgroup if the kernel supports it; else the child joins first. Some
 * kernels (6.18 is one) kill processes created in a cgroup that was ever killed: then it joins,
 * too. */
static pid_t start_child(const struct shim *s, struct child *child) {
    struct clone_arguments arguments = { .exit_signal = SIGCHLD };
    child->join_cgroup = s->cgroup >= 0;
    if (s->cgroup >= 0 && !s->cgroup_killed) {
        arguments.flags = BORN_IN_CGROUP;
        arguments.cgroup = (uint64_t)s->cgroup;
        child->join_cgroup = false;
        long pid = clone_sharing(&arguments, child);
        if (pid >= 0)
            return (pid_t)pid;
        child->join_cgroup = true;
    }
    arguments = (struct clone_arguments){ .exit_signal = SIGCHLD };
    long pid = clone_sharing(&arguments, child);
    if (pid >= 0)
        return (pid_t)pid;
    pid = fork(); /* a kernel or seccomp filter without clone3 */
    if (pid == 0)
        child_run(child);
    return (pid_t)pid;
}

static void note_cgroup(struct shim *s, bool joined) {
    if (s->cgroup < 0)
        return;
    char text[1024];
    /* Is the child in the cgroup that it tried to join? If not, killing the cgroup would miss it. */
    if (joined && proc_file(s->cgroup, "cgroup.procs", text, sizeof(text)) <= 0) {
        close(s->cgroup);
        s->cgroup = -1;
        s->cgroup_kill = false;
        return;
    }
    limits_note(s, joined ? "cgroup.procs" : "cgroup");
}

/* Must a pending exec (a dead network disk) be given up? Returns the reason, or 0. */
static int why_end(struct shim *s) {
    watch_signals(s);
    if (s->stop_wanted || s->kill_wanted)
        return ECANCELED;
    return clock_read_steady() >= s->deadline ? ETIME : 0;
}

static void apply_report(struct shim *s, const struct child_report *got,
                         struct child_report *ret_failed) {
    if (got->step == STEP_NICE)
        s->spec.nice = 0;
    else if (got->step == STEP_ENTERED && (got->error & ENTERED_SCOPED))
        limits_note(s, "landlock");
    else if (got->step != STEP_ENTERED)
        *ret_failed = *got;
}

/* Waits until the child has executed its program or has reported why not. */
static struct child_report await_exec(struct shim *s, int report) {
    struct child_report failed = { .step = STEP_NONE };
    for (;;) {
        struct pollfd ready = { .fd = report, .events = POLLIN };
        struct child_report got = { .step = STEP_NONE };
        if (poll(&ready, 1, EXEC_POLL_MS) == 0) {
            int reason = why_end(s);
            if (reason != 0) {
                failed = (struct child_report){ .step = STEP_ENDED, .error = reason };
                /* A sandbox program may have children by now: without a cgroup they are found from
                 * the shim. */
                if (s->spec.enter)
                    tree_kill(s);
                else
                    (void)kill(s->leader, SIGKILL);
            }
        } else if ((s->spec.enter ? receive_report(s, report, &got)
                                  : read(report, &got, sizeof(got)))
                   == (ssize_t)sizeof(got)) {
            apply_report(s, &got, &failed);
        } else {
            break;
        }
    }
    if (failed.step == STEP_NONE && s->spec.enter && s->inside.command == 0)
        failed = (struct child_report){ .step = STEP_SANDBOX, .error = EOPNOTSUPP };
    return failed;
}

static void describe(const struct shim *s, const char *program, const struct child_report *got,
                     struct command_failure *ret) {
    const char *stdin_path = s->spec.stdin_path ? s->spec.stdin_path : "prompt";
    /* Before anything runs inside, the failed program is the sandbox program. */
    if (s->spec.wrap && s->inside.command == 0)
        program = s->spec.wrap[0];
    int error = got->error;
    const char *words = s->inside.words[0] ? s->inside.words : NULL;
    *ret = (struct command_failure){ .what = "run", .subject = program, .error = error };
    if (got->step == STEP_CWD)
        *ret = (struct command_failure){ "enter folder", s->spec.cwd, error, NULL, LAUNCH_CWD };
    else if (got->step == STEP_STDIN)
        *ret = (struct command_failure){ "read", stdin_path, error, NULL, LAUNCH_TASK };
    else if (got->step == STEP_SANDBOX)
        *ret = (struct command_failure){ "create the sandbox with", program, error, words,
                                         LAUNCH_SANDBOX };
}

/* Closes what the child has duplicated. */
static void close_childs(struct child *child) {
    if (child->enters)
        wrap_close_passed(child);
    else
        close(child->report);
}

/* No process may remain, including those of a sandbox program. */
static void end_start(struct shim *s, pid_t pid) {
    while (s->leader != 0 && tree_reap(s))
        (void)waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    uint32_t leftover = s->end.leftover; /* of the command, if this is a check */
    if (s->spec.enter)
        tree_end(s);
    s->end.leftover = leftover;
}

static void note_started(struct shim *s, bool joined) {
    note_cgroup(s, joined);
    if (s->spec.nice != 0)
        limits_note(s, "nice");
    if (s->oom.is_lent)
        limits_note(s, "oom_score_adj");
    if (s->spec.wrap && s->spec.sandbox)
        limits_note(s, s->spec.sandbox);
}

int command_start(struct shim *s, const char *const *argv, const struct command_files *files,
                  struct command_failure *ret_failure) {
    int report = -1;
    struct child child = { .shim = s, .argv = argv, .env = s->spec.env, .files = files };
    struct child_report got = { .step = STEP_FORK };
    struct stat before = { 0 };
    pid_t pid = -1;
    wrap_forget(s);
    /* A stop that came earlier: the command must not begin after the stop was acknowledged. */
    int reason = why_end(s);
    if (reason != 0) {
        got = (struct child_report){ .step = STEP_ENDED, .error = reason };
        describe(s, argv[0], &got, ret_failure);
        return -1;
    }
    if (s->spec.wrap)
        (void)fstat(files->err, &before);
    bool opened = open_report(s, &child, &report) == 0;
    if (opened) {
        limits_oom_lend(s);
        pid = start_child(s, &child);
    }
    if (pid < 0) {
        got.error = errno;
        limits_oom_take_back(s);
        describe(s, argv[0], &got, ret_failure);
        if (opened) {
            close(report);
            close_childs(&child);
        }
        return -1;
    }
    s->leader = pid;
    close_childs(&child);
    got = await_exec(s, report);
    /* not before exec: a process that shares its memory shares its score */
    limits_oom_take_back(s);
    close(report);
    if (got.step != STEP_NONE) {
        end_start(s, pid);
        if (got.step == STEP_SANDBOX)
            wrap_read_words(s, files->err, before.st_size);
        describe(s, argv[0], &got, ret_failure);
        return -1;
    }
    note_started(s, child.join_cgroup);
    return 0;
}

/* --- inside the sandbox ----------------------------------------------------------------------- */

/* The last process inside a sandbox before the command.
 *
 * It is this program again, started by the sandbox program with three descriptors. It reports that
 * it is inside, waits until the shim has noted it, and becomes the command. It does what the
 * sandbox program cannot: a process group, which receives signals; a keyring; and a Landlock
 * domain, which blocks abstract sockets even with the network of the host. */

#define LANDLOCK_VERSION       1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define LANDLOCK_SCOPES_SINCE  6  /* ABI */
#define SCOPE_ABSTRACT_SOCKETS 1u
#define SCOPE_SIGNALS          2u
#define KEYRING_JOIN_NEW       1 /* KEYCTL_JOIN_SESSION_KEYRING */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* Kernel ABI; not every libc has a header for it. */
struct landlock_attributes {
    uint64_t files, net, scopes;
};

static struct run_spec_words words;
static const char *cwd, *stdin_path; /* or NULL */
static bool has_terminal;

/* Private mapping: the strings stay in it until exec. */
static void read_words(void) {
    struct stat st;
    if (fstat(FD_INSIDE_WORDS, &st) < 0)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
    const char *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, FD_INSIDE_WORDS, 0);
    if (text == MAP_FAILED)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
    struct record_in in = { .at = text, .end = text + st.st_size };
    const char *name, *value;
    size_t args = 0, envs = 0;
    while (record_next(&in, &name, &value)) {
        if (strcmp(name, "arg") == 0 && args < RUN_ARGS_MAX)
            words.argv[args++] = value;
        else if (strcmp(name, "env") == 0 && envs < RUN_ENV_MAX)
            words.env[envs++] = value;
        else if (strcmp(name, "cwd") == 0)
            cwd = value;
        else if (strcmp(name, "stdin") == 0)
            stdin_path = value;
        else if (strcmp(name, "terminal") == 0)
            has_terminal = true;
    }
    errno = EPROTO;
    if (args == 0)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}

static bool apply_scopes(void) {
    const struct landlock_attributes wanted = { .scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS };
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    if (version < LANDLOCK_SCOPES_SINCE)
        return false;
    _cleanup_(fd_closep) int rules =
        (int)syscall(SYS_landlock_create_ruleset, &wanted, sizeof(wanted), 0);
    return rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
           && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

/* No answer means that the shim is dead: then nothing must run. */
static void report_entered(bool scoped) {
    struct child_report got = { .step = STEP_ENTERED, .error = scoped ? ENTERED_SCOPED : 0 };
    char answer;
    if (write(FD_INSIDE_REPORT, &got, sizeof(got)) != (ssize_t)sizeof(got)
        || recv(FD_INSIDE_REPORT, &answer, 1, 0) != 1)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}

_Noreturn void enter_sandbox(void) {
    read_words();
    if (has_terminal) { /* a session of its own, whose terminal it is */
        (void)setsid();
        (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    } else
        (void)setpgid(0, 0);
    (void)syscall(SYS_keyctl, KEYRING_JOIN_NEW, NULL);
    report_entered(apply_scopes());
    if (cwd && chdir(cwd) < 0)
        child_give_up(FD_INSIDE_REPORT, STEP_CWD);
    int fd = stdin_path ? open(stdin_path, O_RDONLY | O_NOCTTY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0 || (fd != STDIN_FILENO && dup2(fd, STDIN_FILENO) < 0))
        child_give_up(FD_INSIDE_REPORT, STEP_STDIN);
    child_close_others(FD_INSIDE_REPORT);
    errno = child_exec(words.argv, words.env);
    child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}
