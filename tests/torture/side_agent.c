/* side_agent: the command of a run that writes its own diary, so that the daemon's records can be checked.
 *
 * side_agent FILE MILLISECONDS CODE: appends one line when it starts and one when it ends, each with
 * one write, and exits with CODE. Times are monotonic, so that the diaries of all runs are comparable.
 * A start also has the time of the fork according to the kernel: on a busy machine
 * any amount of time may pass between the fork and the first line. */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* When this process was forked, rounded down to a clock tick of the kernel. */
static long long born_us(void) {
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    /* The clocks differ by the time that the machine was suspended; in this order the difference is never too small. */
    long long steady = now_us(CLOCK_MONOTONIC), slept = now_us(CLOCK_BOOTTIME) - steady;
    return at ? strtoll(at, NULL, 10) * (1000000 / sysconf(_SC_CLK_TCK)) - slept : 0;
}

static int note(int fd, const char *what, int code) {
    char line[256];
    const char *task = getenv("SLUICE_TASK"), *attempt = getenv("SLUICE_ATTEMPT");
    int length =
        snprintf(line, sizeof(line), "%s %s %s %d %d %lld %lld\n", what, task ? task : "?",
                 attempt ? attempt : "0", (int)getpid(), code, now_us(CLOCK_MONOTONIC), born_us());
    return write(fd, line, (size_t)length) == length ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 99;
    int code = atoi(argv[3]);
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || note(fd, "start", code) < 0)
        return 98;
    (void)poll(NULL, 0, atoi(argv[2])); /* simulated work */
    return note(fd, "end", code) < 0 ? 97 : code;
}
