/* command.c: from an argument list to a process that has nothing of ours.
 *
 * The child tells through a pipe that closes by itself (CLOEXEC) what it could not do: the errno, never
 * an exit code 127 that a program could also have chosen. fork, not vfork: while exec hangs on a dead
 * file system the shim must still be able to kill it, and a process of some dozen pages is copied
 * quickly. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "rundir/record.h"
#include "shim/shim.h"

#define BORN_IN_CGROUP 0x200000000ull /* CLONE_INTO_CGROUP */
#define RANGE_CLOEXEC  (1u << 2)      /* CLOSE_RANGE_CLOEXEC */
#define STANDARD_PATH  "/usr/local/bin:/usr/bin:/bin"
#define EXEC_LOOK_MS   200

/* As the kernel takes it; this libc has no header for it. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

enum step {
    STEP_NONE,
    STEP_FORK,
    STEP_CWD,
    STEP_STDIN,
    STEP_EXEC,
    STEP_NICE,
    STEP_OOM,
    STEP_ENDED
};

/* What the child sends: at most one of each step. */
struct news {
    int step, error;
};

/* --- the child ------------------------------------------------------------------------------- */

static void tell(int report, enum step step) {
    struct news news = { .step = step, .error = errno };
    (void)!write(report, &news, sizeof(news));
}

static void give_up(int report, enum step step) {
    tell(report, step);
    _exit(127);
}

static void set_oom_score(int score, int report) {
    char text[16];
    struct record_out out = { .text = text, .size = sizeof(text) };
    record_put_number(&out, score);
    /* The file belongs to root as long as the process cannot be dumped. exec makes it dumpable. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, out.length) < 0)
        tell(report, STEP_OOM);
}

static void set_files(const struct command_files *files, int report) {
    int in = STDIN_FILENO; /* the daemon has made it /dev/null */
    if (files->stdin_path)
        in = open(files->stdin_path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    else if (files->prompt)
        in = openat(FD_FOLDER, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || (in != STDIN_FILENO && dup2(in, STDIN_FILENO) < 0))
        give_up(report, STEP_STDIN);
    if (dup2(files->out, STDOUT_FILENO) < 0 || dup2(files->err, STDERR_FILENO) < 0)
        give_up(report, STEP_STDIN);
}

/* Nothing but 0, 1 and 2 survives exec. */
static void close_others(void) {
    if (syscall(SYS_close_range, 3u, ~0u, RANGE_CLOEXEC) == 0)
        return;
    for (int fd = 3; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Raw calls: both libcs keep a few signals for themselves and would leave them ignored. */
static void reset_signals(void) {
    static const uint64_t standard[8]; /* all zero is "default" in every layout */
    for (int signal = 1; signal < NSIG; signal++)
        (void)syscall(SYS_rt_sigaction, signal, standard, NULL, (NSIG - 1) / 8);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *path_of(const char *const *env) {
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return STANDARD_PATH;
}

/* Returns only when it failed, with the errno that tells most: a program that was found but may not
 * be run is named before one that was not found. */
static int exec_from_path(const char *const *argv, const char *const *env) {
    char *const *words = (char *const *)(uintptr_t)argv;
    char *const *variables = (char *const *)(uintptr_t)env;
    if (strchr(argv[0], '/') || argv[0][0] == '\0') {
        (void)execve(argv[0], words, variables);
        return errno;
    }
    int error = ENOENT;
    size_t name = strlen(argv[0]);
    for (const char *at = path_of(env);; at++) {
        size_t length = strcspn(at, ":");
        char file[PATH_MAX];
        if (length + name + 2 <= sizeof(file)) {
            memcpy(file, at, length);
            file[length] = '/';
            size_t start = length == 0; /* an empty one is the current folder */
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

static void run_child(struct shim *s, const char *const *argv, const struct command_files *files,
                      int report, bool join_cgroup) {
    /* Dies with the shim; if that died before this line, nobody would notice. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->self)
        _exit(127);
    (void)setpgid(0, 0);
    if (join_cgroup) {
        int fd = openat(s->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)!write(fd, "0", 1);
    }
    if (chdir(s->spec.cwd) < 0)
        give_up(report, STEP_CWD);
    if (s->spec.nice != 0 && setpriority(PRIO_PROCESS, 0, s->spec.nice) < 0)
        tell(report, STEP_NICE);
    if (s->spec.oom_score_adj != 0)
        set_oom_score(s->spec.oom_score_adj, report);
    set_files(files, report);
    close_others();
    (void)umask(s->command_umask);
    reset_signals();
    errno = exec_from_path(argv, s->spec.env);
    give_up(report, STEP_EXEC);
}

/* --- the shim -------------------------------------------------------------------------------- */

/* Straight into the cgroup where the kernel can; else the child joins before it does anything. Some
 * kernels (6.18 is one) kill whoever is born into a cgroup that was ever killed: then it joins, too. */
static pid_t clone_child(struct shim *s, bool *ret_join) {
    struct clone_arguments arguments = { .exit_signal = SIGCHLD };
    *ret_join = s->cgroup >= 0;
    if (s->cgroup >= 0 && !s->cgroup_killed) {
        arguments.flags = BORN_IN_CGROUP;
        arguments.cgroup = (uint64_t)s->cgroup;
        long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
        if (pid >= 0) {
            *ret_join = false;
            return (pid_t)pid;
        }
    }
    return fork();
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

static void take_news(struct shim *s, const struct news *news, struct news *ret_failed) {
    if (news->step == STEP_NICE)
        s->spec.nice = 0;
    else if (news->step == STEP_OOM)
        s->spec.oom_score_adj = 0;
    else
        *ret_failed = *news;
}

/* Until the child runs its program or has told why not. */
static struct news await_exec(struct shim *s, int report) {
    struct news failed = { .step = STEP_NONE };
    for (;;) {
        struct pollfd ready = { .fd = report, .events = POLLIN };
        struct news news;
        if (poll(&ready, 1, EXEC_LOOK_MS) == 0) {
            int reason = why_end(s);
            if (reason != 0) {
                failed = (struct news){ .step = STEP_ENDED, .error = reason };
                (void)kill(s->leader, SIGKILL);
            }
        } else if (read(report, &news, sizeof(news)) == (ssize_t)sizeof(news)) {
            take_news(s, &news, &failed);
        } else {
            return failed;
        }
    }
}

static void describe(const struct shim *s, const char *program, const struct news *news,
                     struct command_failure *ret) {
    const char *stdin_path = s->spec.stdin_path ? s->spec.stdin_path : "prompt";
    *ret = (struct command_failure){ .what = "run", .subject = program, .error = news->error };
    if (news->step == STEP_CWD)
        *ret = (struct command_failure){ "enter folder", s->spec.cwd, news->error };
    else if (news->step == STEP_STDIN)
        *ret = (struct command_failure){ "read", stdin_path, news->error };
}

int command_start(struct shim *s, const char *const *argv, const struct command_files *files,
                  struct command_failure *ret_failure) {
    int report[2];
    bool join_cgroup = false;
    struct news news = { .step = STEP_FORK };
    pid_t pid = -1;
    bool piped = pipe2(report, O_CLOEXEC) == 0;
    if (piped)
        pid = clone_child(s, &join_cgroup);
    if (pid == 0)
        run_child(s, argv, files, report[1], join_cgroup);
    if (pid < 0) {
        news.error = errno;
        describe(s, argv[0], &news, ret_failure);
        if (piped) {
            close(report[0]);
            close(report[1]);
        }
        return -1;
    }
    s->leader = pid;
    close(report[1]);
    news = await_exec(s, report[0]);
    close(report[0]);
    if (news.step != STEP_NONE) {
        while (s->leader != 0 && tree_reap(s))
            (void)waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
        describe(s, argv[0], &news, ret_failure);
        return -1;
    }
    note_cgroup(s, join_cgroup);
    if (s->spec.nice != 0)
        limits_note(s, "nice");
    if (s->spec.oom_score_adj != 0)
        limits_note(s, "oom_score_adj");
    return 0;
}
