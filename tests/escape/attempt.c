/* attempt.c: see attempt.h. Usage: attempt NAME, or attempt --list. */
#include "escape/attempt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct attempt *const all[] = { file_attempts, process_attempts, channel_attempts };

const char *target(const char *name) {
    char variable[64];
    (void)snprintf(variable, sizeof(variable), "ESCAPE_%s", name);
    const char *value = getenv(variable);
    if (!value) {
        printf("broken: %s is not set\n", variable);
        (void)fflush(stdout);
        _exit(BROKEN);
    }
    return value;
}

int target_number(const char *name) {
    return (int)strtol(target(name), NULL, 10);
}

const char *path_of(const char *directory, const char *name) {
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, PATH_MAX, "%s/%s", directory, name);
    return path;
}

int held(const char *what) {
    printf("held: %s: %s\n", what, strerror(errno));
    return HELD;
}

int reached(const char *what) {
    printf("reached: %s\n", what);
    return REACHED;
}

int write_mark_to(int fd, const char *path) {
    const char *mark = target("MARK");
    if (fd < 0)
        return held(path);
    ssize_t put = write(fd, mark, strlen(mark));
    int code = put > 0 ? reached(path) : held(path);
    close(fd);
    return code;
}

int write_mark(const char *path) {
    return write_mark_to(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0700), path);
}

/* Like memmem: NUL is an ordinary byte. */
static bool print_secret(const char *bytes, size_t size) {
    const char *at = memmem(bytes, size, SECRET, strlen(SECRET));
    if (!at)
        return false;
    for (size_t left = size - (size_t)(at - bytes); left > 0; left--, at++) {
        if (!isalnum((unsigned char)*at) && *at != '-')
            break;
        (void)putchar(*at);
    }
    (void)putchar('\n');
    return true;
}

int read_secret_from(int fd, const char *path) {
    static char bytes[1 << 20];
    if (fd < 0)
        return held(path);
    ssize_t got;
    bool found = false;
    while (!found && (got = read(fd, bytes, sizeof(bytes))) > 0)
        found = print_secret(bytes, (size_t)got);
    int code = found ? reached(path) : held(path);
    close(fd);
    return code;
}

int read_secret(const char *path) {
    return read_secret_from(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
}

int each_visible_process(int (*visit)(int pid)) {
    DIR *proc = opendir("/proc");
    int code = HELD;
    for (struct dirent *entry; proc && code != REACHED && (entry = readdir(proc));) {
        int pid = (int)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != getpid())
            code = visit(pid);
    }
    if (proc)
        closedir(proc);
    return code;
}

int each_process(int (*visit)(int pid)) {
    char path[64], name[16] = "";
    int victim = target_number("VICTIM");
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", victim);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, name, sizeof(name) - 1);
        close(fd);
    }
    return strcmp(name, "victim\n") == 0 ? visit(victim) : each_visible_process(visit);
}

int main(int argc, char **argv) {
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    /* The daemon may have closed the connection before the request is written. */
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (const struct attempt *a = all[i]; a->name; a++) {
            if (list) {
                puts(a->name);
            } else if (argc == 2 && strcmp(argv[1], a->name) == 0) {
                int code = a->run();
                (void)fflush(stdout);
                return code;
            }
        }
    if (list)
        return 0;
    printf("broken: there is no attempt '%s'\n", argc > 1 ? argv[1] : "");
    return BROKEN;
}
