/* command.c: from an argument list to a process that has nothing of ours.
 *
 * The child tells through a pipe that closes by itself (CLOEXEC) what it could not do: the errno, never
 * an exit code 127 that a program could also have chosen.
 *
 * Until its exec the child shares the memory of the shim, on a stack of its own: to copy it would cost
 * more than all the rest of a start. The shim does not sleep meanwhile, as with vfork: while exec hangs
 * on a dead file system it must still be able to give it up. Until the pipe is closed it changes
 * nothing that the child reads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "shim/child.h"

#define BORN_IN_CGROUP 0x200000000ull /* CLONE_INTO_CGROUP */
#define EXEC_LOOK_MS   200
#define STACK_BYTES    (64u << 10) /* touched: two pages of it */

/* As the kernel takes it; this libc has no header for it. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

#ifdef SHIM_SHARES_MEMORY
static _Alignas(64) char child_stack[STACK_BYTES];

_Noreturn static void enter_child(const struct child *child) {
    child_run(child);
}

/* The new process begins on its own stack, so that the two never return into each other's frames. */
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

/* Straight into the cgroup where the kernel can; else the child joins before it does anything. Some
 * kernels (6.18 is one) kill whoever is born into a cgroup that was ever killed: then it joins, too. */
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
    pid = fork(); /* a kernel, or a filter of system calls, without clone3 */
    if (pid == 0)
        child_run(child);
    return (pid_t)pid;
}

/* Is the child in the cgroup that it tried to join? Without that the kill by cgroup would miss it. */
static bool is_in_cgroup(const struct shim *s) {
    char text[1024];
    int fd = openat(s->cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    return size > 0;
}

static void note_cgroup(struct shim *s, bool joined) {
    if (s->cgroup < 0)
        return;
    if (joined && !is_in_cgroup(s)) {
        close(s->cgroup);
        s->cgroup = -1;
        s->cgroup_kill = false;
        return;
    }
    limits_note(s, joined ? "cgroup.procs" : "cgroup");
}

/* Must a program that does not come (a dead network disk) be given up? The reason, or 0. */
static int why_end(struct shim *s) {
    watch_signals(s);
    if (s->stop_wanted || s->kill_wanted)
        return ECANCELED;
    return clock_read_steady() >= s->deadline ? ETIME : 0;
}

static void take_news(struct shim *s, const struct child_news *news,
                      struct child_news *ret_failed) {
    if (news->step == STEP_NICE)
        s->spec.nice = 0;
    else if (news->step == STEP_ENTERED && (news->error & ENTERED_SCOPED))
        limits_note(s, "landlock");
    else if (news->step != STEP_ENTERED)
        *ret_failed = *news;
}

/* A sandbox program may have started others by now; without its cgroup they are found from the shim. */
static void give_up_start(struct shim *s) {
    if (s->spec.enter)
        tree_kill(s);
    else
        (void)kill(s->leader, SIGKILL);
}

/* Until the child runs its program or has told why not. */
static struct child_news await_exec(struct shim *s, int report) {
    struct child_news failed = { .step = STEP_NONE };
    for (;;) {
        struct pollfd ready = { .fd = report, .events = POLLIN };
        struct child_news news = { .step = STEP_NONE };
        if (poll(&ready, 1, EXEC_LOOK_MS) == 0) {
            int reason = why_end(s);
            if (reason != 0) {
                failed = (struct child_news){ .step = STEP_ENDED, .error = reason };
                give_up_start(s);
            }
        } else if ((s->spec.enter ? wrap_hear(s, report, &news) : read(report, &news, sizeof(news)))
                   == (ssize_t)sizeof(news)) {
            take_news(s, &news, &failed);
        } else {
            break;
        }
    }
    if (failed.step == STEP_NONE && s->spec.enter && s->inside.command == 0)
        failed = (struct child_news){ .step = STEP_SANDBOX, .error = EOPNOTSUPP };
    return failed;
}

static void describe(const struct shim *s, const char *program, const struct child_news *news,
                     struct command_failure *ret) {
    const char *stdin_path = s->spec.stdin_path ? s->spec.stdin_path : "prompt";
    /* Before somebody is inside, what could not be run is the sandbox program. */
    if (s->spec.wrap && s->inside.command == 0)
        program = s->spec.wrap[0];
    *ret = (struct command_failure){ .what = "run", .subject = program, .error = news->error };
    if (news->step == STEP_CWD)
        *ret =
            (struct command_failure){ "enter folder", s->spec.cwd, news->error, NULL, LAUNCH_CWD };
    else if (news->step == STEP_STDIN)
        *ret = (struct command_failure){ "read", stdin_path, news->error, NULL, LAUNCH_TASK };
    else if (news->step == STEP_SANDBOX)
        *ret =
            (struct command_failure){ "create the sandbox with", program, news->error,
                                      s->inside.words[0] ? s->inside.words : NULL, LAUNCH_SANDBOX };
}

static int open_report(struct shim *s, struct child *child, int *ret_report) {
    int report[2];
    if (s->spec.wrap)
        return wrap_open(s, child, ret_report);
    if (pipe2(report, O_CLOEXEC) < 0)
        return -1;
    child->report = report[1];
    *ret_report = report[0];
    return 0;
}

/* What the child has of its own by now. */
static void close_childs(struct child *child) {
    if (child->enters)
        wrap_close_passed(child);
    else
        close(child->report);
}

/* Nothing of it may be left, of a sandbox program either. */
static void end_start(struct shim *s, pid_t pid) {
    while (s->leader != 0 && tree_reap(s))
        (void)waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    uint32_t leftover = s->end.leftover; /* of the command, when this is a check */
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
    struct child_news news = { .step = STEP_FORK };
    struct stat before = { 0 };
    pid_t pid = -1;
    wrap_forget(s);
    /* A stop that came before: who was told so must not see it begin. */
    int reason = why_end(s);
    if (reason != 0) {
        news = (struct child_news){ .step = STEP_ENDED, .error = reason };
        describe(s, argv[0], &news, ret_failure);
        return -1;
    }
    (void)fstat(files->err, &before);
    bool opened = open_report(s, &child, &report) == 0;
    if (opened) {
        limits_oom_lend(s);
        pid = start_child(s, &child);
    }
    if (pid < 0) {
        news.error = errno;
        limits_oom_take_back(s);
        describe(s, argv[0], &news, ret_failure);
        if (opened) {
            close(report);
            close_childs(&child);
        }
        return -1;
    }
    s->leader = pid;
    close_childs(&child);
    news = await_exec(s, report);
    limits_oom_take_back(s); /* not before exec: what shares its memory has its score */
    close(report);
    if (news.step != STEP_NONE) {
        end_start(s, pid);
        if (news.step == STEP_SANDBOX)
            wrap_read_words(s, files->err, before.st_size);
        describe(s, argv[0], &news, ret_failure);
        return -1;
    }
    note_started(s, child.join_cgroup);
    return 0;
}
