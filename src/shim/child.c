/* child.c: what a process of ours does until it is the command.
 *
 * It may share the memory of the shim (command.c), so it changes nothing there but errno, and allocates
 * nothing. What it could not do it tells through the pipe. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/child.h"

#define RANGE_CLOEXEC (1u << 2) /* CLOSE_RANGE_CLOEXEC */
#define LIBC_FIRST    32
#define LIBC_LAST     34
#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin"

static void tell(int report, enum child_step step) {
    struct child_news news = { .step = step, .error = errno };
    (void)!write(report, &news, sizeof(news));
}

_Noreturn void child_give_up(int report, enum child_step step) {
    tell(report, step);
    _exit(127);
}

static void set_files(const struct child *child, int report) {
    const struct command_files *files = child->files;
    int in = STDIN_FILENO;                  /* the daemon has made it /dev/null */
    if (files->stdin_path && child->enters) /* what cannot be seen inside cannot be read either */
        in = STDIN_FILENO;
    else if (files->stdin_path)
        in = open(files->stdin_path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    else if (files->prompt)
        in = openat(FD_FOLDER, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || (in != STDIN_FILENO && dup2(in, STDIN_FILENO) < 0))
        child_give_up(report, STEP_STDIN);
    if (dup2(files->out, STDOUT_FILENO) < 0 || dup2(files->err, STDERR_FILENO) < 0)
        child_give_up(report, STEP_STDIN);
}

void child_close_others(int first) {
    if (syscall(SYS_close_range, (unsigned)first, ~0u, RANGE_CLOEXEC) == 0)
        return;
    for (int fd = first; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* What was ignored stays so over an exec. The daemon has seen to all signals that a libc lets it touch
 * (src/executor/spawn.c); here are the few that both libcs keep for themselves, by raw calls. */
static void reset_signals(void) {
    static const uint64_t standard[8]; /* all zero is "default" in every layout */
    for (int signal = LIBC_FIRST; signal <= LIBC_LAST; signal++)
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

/* Gives the errno that tells most: a program that was found but may not be run is named before one that
 * was not found. */
int child_exec(const char *const *argv, const char *const *env) {
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

/* They are above the numbers that they get (wrap.c). */
static void pass_descriptors(const struct child *child, int report) {
    for (int i = 0; i < INSIDE_COUNT; i++)
        if (dup2(child->passed[i], FD_INSIDE_REPORT + i) < 0)
            child_give_up(report, STEP_FORK);
}

static void set_open_files(int64_t most) {
    struct rlimit limit;
    if (most == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)most > limit.rlim_max)
        return;
    limit.rlim_cur = (rlim_t)most;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

_Noreturn void child_run(const struct child *child) {
    const struct shim *s = child->shim;
    int report = child->report;
    /* Dies with the shim; if that died before this line, nobody would notice. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->self)
        _exit(127);
    (void)setpgid(0, 0);
    if (child->join_cgroup) {
        int fd = openat(s->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)!write(fd, "0", 1);
    }
    if (chdir(s->spec.cwd) < 0)
        child_give_up(report, STEP_CWD);
    if (s->spec.nice != 0 && setpriority(PRIO_PROCESS, 0, s->spec.nice) < 0)
        tell(report, STEP_NICE);
    set_files(child, report);
    if (child->enters)
        pass_descriptors(child, report);
    child_close_others(child->enters ? FD_INSIDE_END : STDERR_FILENO + 1);
    set_open_files(s->spec.open_files);
    (void)umask(s->command_umask);
    reset_signals();
    errno = child_exec(child->argv, child->env);
    child_give_up(report, STEP_EXEC);
}
