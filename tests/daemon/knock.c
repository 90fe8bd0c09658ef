/* knock.c: sends requests to the Unix socket of a daemon, as a program other than `sluice`.
 *
 *   knock SOCKET METHOD PATH   retries to connect without a pause until a process listens, then prints the status of
 *                              the response
 *   knock SOCKET               the same with a request for each line "METHOD PATH" of its standard input, all on one
 *                              connection; prints "connected" first
 *
 * Prints "closed" if the connection ends without a response. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "harness/patience.h"

static time_t now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int try_connect(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int knock(const char *path) {
    time_t deadline = now_s() + patience_s();
    for (;;) {
        int fd = try_connect(path);
        if (fd >= 0)
            return fd;
        if (now_s() > deadline) {
            (void)fprintf(stderr, "knock: nobody listens at %s\n", path);
            exit(1);
        }
    }
}

/* Reads a complete response: the head and Content-Length bytes. 0: the connection has ended. */
static int read_status(int fd) {
    char text[1 << 16];
    size_t size = 0;
    for (;;) {
        ssize_t got = recv(fd, text + size, sizeof(text) - 1 - size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
        text[size] = '\0';
        const char *body = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        if (body && length && length < body
            && size >= (size_t)(body + 4 - text) + strtoul(length + 16, NULL, 10))
            break;
    }
    text[size] = '\0';
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? (int)strtol(text + 9, NULL, 10) : 0;
}

static int ask(int fd, const char *method, const char *path) {
    char request[1024];
    bool post = strcmp(method, "POST") == 0;
    int size = snprintf(
        request, sizeof(request), "%s %s HTTP/1.1\r\nHost: sluice\r\n%s\r\n%s", method, path,
        post ? "Content-Type: application/json\r\nContent-Length: 2\r\n" : "", post ? "{}" : "");
    (void)!send(fd, request, (size_t)size,
                MSG_NOSIGNAL); /* a refused connection already has its response */
    return read_status(fd);
}

static void print(int status) {
    if (status)
        (void)printf("%d\n", status);
    else
        (void)puts("closed");
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    char method[16], path[512];
    if (argc != 2 && argc != 4)
        return 2;
    int fd = knock(argv[1]);
    if (argc == 4) {
        print(ask(fd, argv[2], argv[3]));
        return 0;
    }
    (void)puts("connected");
    (void)fflush(stdout);
    while (scanf("%15s %511s", method, path) == 2)
        print(ask(fd, method, path));
    return 0;
}
