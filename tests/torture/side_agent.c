/* side_agent: a run that keeps its own diary, so that the scheduler's word can be checked.
 *
 * side_agent FILE MILLISECONDS CODE: appends one line when it starts and one when it ends, each with
 * one write, and exits with CODE. The times are of the machine's steady clock, so that all diaries can
 * be laid on one line. */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int note(int fd, const char *what, int code) {
    char line[256];
    const char *task = getenv("SLUICE_TASK"), *attempt = getenv("SLUICE_ATTEMPT");
    int length = snprintf(line, sizeof(line), "%s %s %s %d %d %lld\n", what, task ? task : "?",
                          attempt ? attempt : "0", (int)getpid(), code, now_us());
    return write(fd, line, (size_t)length) == length ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 99;
    int code = atoi(argv[3]);
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || note(fd, "start", code) < 0)
        return 98;
    (void)poll(NULL, 0, atoi(argv[2])); /* its work */
    return note(fd, "end", code) < 0 ? 97 : code;
}
