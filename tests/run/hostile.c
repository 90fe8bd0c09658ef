/* hostile.c: a command that behaves badly, in the way that its first argument names.
 *
 * Its processes register in the file `pids` of the current folder (number and start time), so that a
 * test can ask later whether anybody is left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(99);
}

static void enroll(void) {
    char text[1024] = "", line[64];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        _exit(98);
    close(fd);
    unsigned long long since = 0;
    const char *rest = strrchr(text, ')');
    if (!rest
        || sscanf(rest + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
                  " %*d %*d %llu",
                  &since)
               != 1)
        _exit(98);
    int length = snprintf(line, sizeof(line), "%d %llu\n", (int)getpid(), since);
    fd = open("pids", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        _exit(98);
    close(fd);
}

static void wait_for_ever(void) {
    for (;;)
        pause();
}

static void ignore_stops(void) {
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

static long number(int argc, char **argv, int index, long standard) {
    return index < argc ? strtol(argv[index], NULL, 10) : standard;
}

/* --- ways to end ----------------------------------------------------------------------------- */

static int do_exit(int argc, char **argv) {
    return (int)number(argc, argv, 2, 0);
}

static int do_signal(int argc, char **argv) {
    enroll();
    return raise((int)number(argc, argv, 2, SIGKILL));
}

static int do_ignore(int argc, char **argv) {
    (void)argc;
    (void)argv;
    ignore_stops();
    enroll();
    say("ready\n");
    wait_for_ever();
    return 0;
}

static void on_signal(int signal) {
    say(signal == SIGINT ? "got INT\n" : "got TERM\n");
    _exit(3);
}

static int do_polite(int argc, char **argv) {
    (void)argc;
    (void)argv;
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    enroll();
    say("ready\n");
    wait_for_ever();
    return 0;
}

static int do_stopped(int argc, char **argv) {
    (void)argc;
    (void)argv;
    (void)signal(SIGTERM, on_signal);
    enroll();
    say("ready\n");
    (void)raise(SIGSTOP);
    wait_for_ever();
    return 0;
}

/* --- families -------------------------------------------------------------------------------- */

/* A descendant that no signal to the group reaches and whose parent is gone. */
static void leave_one(void) {
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        if (fork() == 0) {
            (void)setsid();
            ignore_stops();
            enroll();
            wait_for_ever();
        }
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

static unsigned enrolled(void) {
    int fd = open("pids", O_RDONLY | O_CLOEXEC);
    char text[65536];
    unsigned count = 0;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
        for (ssize_t i = 0; i < got; i++)
            count += text[i] == '\n';
    if (fd >= 0)
        close(fd);
    return count;
}

/* N descendants; then "exit CODE", or "stay", or "die" (KILL for itself). */
static int do_leave(int argc, char **argv) {
    long count = number(argc, argv, 2, 1);
    unsigned before = enrolled();
    for (long i = 0; i < count; i++)
        leave_one();
    while (enrolled() < before + count)
        (void)sched_yield();
    say("ready\n");
    const char *then = argc > 3 ? argv[3] : "0";
    if (strcmp(then, "stay") == 0) {
        ignore_stops();
        enroll();
        wait_for_ever();
    }
    if (strcmp(then, "die") == 0)
        (void)raise(SIGKILL);
    return (int)strtol(then, NULL, 10);
}

/* A tree of WIDTH children on each of DEPTH levels, all of whom stay. */
static int do_tree(int argc, char **argv) {
    long width = number(argc, argv, 2, 2), depth = number(argc, argv, 3, 2);
    ignore_stops();
    enroll();
    for (long level = 0; level < depth; level++) {
        bool child = false;
        for (long i = 0; i < width && !child; i++)
            child = fork() == 0;
        if (!child)
            break;
        (void)setsid();
        enroll();
    }
    wait_for_ever();
    return 0;
}

/* Each child has a child and goes, as quickly as it can: no process exists for long. */
static int do_runaway(int argc, char **argv) {
    (void)argc;
    (void)argv;
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            (void)setsid();
            for (;;) {
                pid_t child = fork();
                if (child != 0)
                    _exit(0);
            }
        }
    }
    say("ready\n");
    return 0;
}

/* Children hang on the thread that made them: one that is not the first must be looked at too. */
static void *make_child_and_stay(void *unused) {
    if (fork() == 0) {
        ignore_stops();
        enroll();
    }
    wait_for_ever();
    return unused;
}

static int do_threads(int argc, char **argv) {
    pthread_t thread;
    (void)argc;
    (void)argv;
    ignore_stops();
    enroll();
    if (pthread_create(&thread, NULL, make_child_and_stay, NULL) != 0)
        return 89;
    wait_for_ever();
    return 0;
}

/* --- output ---------------------------------------------------------------------------------- */

/* Until our output is held back: its file has no more than this on disk. */
static void await_hole(long megabytes) {
    const struct timespec pause_ = { 0, 1000000 };
    struct stat st;
    while (fstat(STDOUT_FILENO, &st) == 0 && (st.st_blocks * 512) >> 20 >= megabytes)
        (void)nanosleep(&pause_, NULL);
}

/* N megabytes (0: for ever), as quickly as it can, or M at a time: then it waits until as much is off the disk. "stay": then a line
 * now and then, for ever. */
static int do_flood(int argc, char **argv) {
    static char block[1 << 20];
    long megabytes = number(argc, argv, 2, 0), step = number(argc, argv, 3, 0);
    memset(block, 'x', sizeof(block));
    block[sizeof(block) - 1] = '\n';
    say("first line\n");
    for (long i = 0; megabytes == 0 || i < megabytes; i++) {
        if (write(STDOUT_FILENO, block, sizeof(block)) != (ssize_t)sizeof(block))
            return 97;
        if (step > 0 && i % step == step - 1)
            await_hole(step);
    }
    say("last line\n");
    while (argc > 4 && strcmp(argv[4], "stay") == 0) {
        const struct timespec pause_ = { 0, 50000000 };
        (void)nanosleep(&pause_, NULL);
        say("more\n");
    }
    return 0;
}

static int do_close(int argc, char **argv) {
    (void)argc;
    (void)argv;
    enroll();
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    wait_for_ever();
    return 0;
}

/* One line every MS milliseconds, COUNT times, and "ready"; then silence. */
static int do_drip(int argc, char **argv) {
    long count = number(argc, argv, 2, 3), ms = number(argc, argv, 3, 100);
    const struct timespec pause_ = { ms / 1000, (ms % 1000) * 1000000 };
    enroll();
    for (long i = 0; i < count; i++) {
        say("drip\n");
        (void)nanosleep(&pause_, NULL);
    }
    say("ready\n");
    wait_for_ever();
    return 0;
}

/* --- what it sees ---------------------------------------------------------------------------- */

static int do_fds(int argc, char **argv) {
    (void)argc;
    (void)argv;
    DIR *dir = opendir("/proc/self/fd");
    int own = dir ? dirfd(dir) : -1;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != own)
            printf("fd %s\n", entry->d_name);
    return 0;
}

extern char **environ;

static int do_env(int argc, char **argv) {
    (void)argc;
    (void)argv;
    for (char **at = environ; *at; at++)
        puts(*at);
    return 0;
}

static int do_ids(int argc, char **argv) {
    (void)argc;
    (void)argv;
    struct rlimit core, files;
    int death = 0;
    char cwd[4096] = "", line[256];
    mode_t mask = umask(0);
    (void)getrlimit(RLIMIT_CORE, &core);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    (void)prctl(PR_GET_PDEATHSIG, &death);
    printf("leader %d\n", getpgrp() == getpid());
    printf("session %d\n", getsid(0) == getppid());
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    printf("core %d\n", (int)core.rlim_cur);
    printf("files %d\n", (int)files.rlim_cur);
    printf("umask %o\n", (unsigned)mask);
    printf("death %d\n", death);
    printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
            printf("%s", line);
    FILE *oom = fopen("/proc/self/oom_score_adj", "re");
    if (oom && fgets(line, sizeof(line), oom))
        printf("oom %s", line);
    return 0;
}

static int do_stdin(int argc, char **argv) {
    char text[65536];
    ssize_t got;
    (void)argc;
    (void)argv;
    while ((got = read(STDIN_FILENO, text, sizeof(text))) > 0)
        if (write(STDOUT_FILENO, text, (size_t)got) != got)
            return 96;
    return 0;
}

/* Things in TMPDIR that are hard to delete; and a link to what must not be. */
static int do_litter(int argc, char **argv) {
    const char *folder = getenv("TMPDIR");
    if (argc < 3 || !folder || chdir(folder) < 0 || symlink(argv[2], "link") < 0)
        return 95;
    for (int i = 0; i < 200; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "file %d\n*", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
        if (fd < 0)
            return 94;
        close(fd);
    }
    for (int i = 0; i < 100; i++)
        if (mkdir("deep", 0700) < 0 || chdir("deep") < 0)
            return 93;
    if (mkdir("shut", 0700) < 0 || mkdir("shut/inner", 0700) < 0 || chmod("shut", 0) < 0)
        return 92;
    return 0;
}

static int do_eat(int argc, char **argv) {
    size_t size = (size_t)number(argc, argv, 2, 100) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 91;
    enroll();
    memset(memory, 1, size);
    wait_for_ever();
    return 0;
}

/* Fills the file system of the current folder, then exits with CODE. */
static int do_fill(int argc, char **argv) {
    static char block[4096];
    int fd = open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return 90;
    while (write(fd, block, sizeof(block)) > 0)
        ;
    while (write(fd, block, 1) > 0)
        ;
    return (int)number(argc, argv, 2, 0);
}

/* To the abstract socket NAME: 0, or the errno. */
static int do_abstract(int argc, char **argv) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t length = argc > 2 ? strlen(argv[2]) : 0;
    if (fd < 0 || length + 1 > sizeof(address.sun_path))
        return 88;
    memcpy(address.sun_path + 1, argv[2], length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} ways[] = {
    { "exit", do_exit },     { "signal", do_signal },     { "ignore", do_ignore },
    { "polite", do_polite }, { "stopped", do_stopped },   { "leave", do_leave },
    { "tree", do_tree },     { "runaway", do_runaway },   { "threads", do_threads },
    { "flood", do_flood },   { "close", do_close },       { "drip", do_drip },
    { "fds", do_fds },       { "env", do_env },           { "ids", do_ids },
    { "stdin", do_stdin },   { "litter", do_litter },     { "eat", do_eat },
    { "fill", do_fill },     { "abstract", do_abstract },
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run(argc, argv);
    return 100;
}
