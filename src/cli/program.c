/* program.c: posix_spawn, read until the end, wait. */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int cannot_run(const char *path, int code, struct error *err) {
    return error_set(err, -code, "cannot run '%s': %s", path, strerror(code));
}

static int spawn(const char *path, const char *const *argv, enum program_take take, int out,
                 pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    if (take != PROGRAM_TAKE_NOTHING)
        r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (r == 0 && take == PROGRAM_TAKE_BOTH)
        r = posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn(ret_pid, path, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

static void read_all(int fd, struct strbuf *out) {
    char piece[4096];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        if (out->length < PROGRAM_OUTPUT_MAX)
            strbuf_add(out, piece, (size_t)n);
    }
}

int program_run(const char *path, const char *const *argv, enum program_take take,
                struct strbuf *out, int *ret_status, struct error *err) {
    int ends[2] = { -1, -1 };
    bool piped = take != PROGRAM_TAKE_NOTHING;
    if (piped && pipe2(ends, O_CLOEXEC) < 0)
        return cannot_run(path, errno, err);
    (void)fflush(stdout); /* what we said comes before what it says */
    pid_t pid;
    int r = spawn(path, argv, take, ends[1], &pid);
    if (piped)
        (void)close(ends[1]);
    if (r == 0 && piped)
        read_all(ends[0], out);
    if (piped)
        (void)close(ends[0]);
    if (r != 0)
        return cannot_run(path, r, err);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cannot_run(path, errno, err);
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

int program_leave(const char *path, const char *const *argv, struct error *err) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int r = posix_spawn_file_actions_init(&actions);
    if (r == 0)
        r = posix_spawnattr_init(&attributes);
    if (r != 0)
        return cannot_run(path, r, err);
    for (int fd = 0; fd <= 2 && r == 0; fd++)
        r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (r == 0)
        r = posix_spawn(&pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? 0 : cannot_run(path, r, err);
}
