/* stamp FIFO: writes the time of its start to the fifo. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct timespec t;
    char line[32];
    clock_gettime(CLOCK_MONOTONIC, &t);
    int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CLOEXEC) : -1;
    int length =
        snprintf(line, sizeof(line), "%lld\n", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    return fd >= 0 && write(fd, line, (size_t)length) == length ? 0 : 1;
}
