/* command_start.c: see command_start.h. */
#include "command_start.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture/rig.h"

#define PATIENCE_MS 30000

extern char **environ;

static pid_t start(char **argv) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0) {
        fprintf(stderr, "bench: %s cannot be started\n", argv[0]);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static void finish(pid_t pid, const char *name) {
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench: %s failed\n", name);
        exit(1);
    }
}

double command_started_ms(int fifo, long long began_us) {
    struct pollfd fd = { .fd = fifo, .events = POLLIN };
    char line[32] = "";
    if (poll(&fd, 1, PATIENCE_MS) != 1 || read(fifo, line, sizeof(line) - 1) <= 0) {
        fprintf(stderr, "bench: nothing was started\n");
        exit(1);
    }
    return (double)(atoll(line) - began_us) / 1000.0;
}

double command_start_ms(int fifo, char **argv) {
    long long began = rig_now_us();
    pid_t pid = start(argv);
    double ms = command_started_ms(fifo, began);
    finish(pid, argv[0]);
    return ms;
}

void command_run(char **argv) {
    finish(start(argv), argv[0]);
}
