/* followers.c: do 64 or 1,000 dashboard pages that follow the events slow down starts?
 *
 * The same queue is drained without and with them, alternating. A separate process reads the events, as browsers
 * would. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_bench.h"

#define FOLLOWERS_MAX 1000
#define TASKS         1000
#define ROUNDS        5

static const char request[] =
    "GET /v1/events HTTP/1.1\r\nHost: sluice\r\nAccept: text/event-stream\r\n\r\n";

static int follow(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0
        || write(fd, request, strlen(request)) < 0 || read(fd, &byte, 1) != 1)
        exit(1);
    return fd;
}

/* The reader process: reads until it is killed. Writes to `ready` when all connections follow. */
static void read_all(const char *path, int followers, int ready) {
    static char buffer[256 * 1024];
    int poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[FOLLOWERS_MAX];
    /* Browsers are other programs: their processing of events is not measured. */
    (void)setpriority(PRIO_PROCESS, 0, 10);
    for (int i = 0; i < followers; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.fd = follow(path) };
        (void)epoll_ctl(poller, EPOLL_CTL_ADD, event.data.fd, &event);
    }
    (void)!write(ready, "", 1);
    for (;;) {
        int count = epoll_wait(poller, events, FOLLOWERS_MAX, -1);
        for (int i = 0; i < count; i++)
            if (read(events[i].data.fd, buffer, sizeof(buffer)) <= 0)
                exit(0); /* the daemon has exited */
    }
}

static pid_t start_followers(const char *path, int followers) {
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0)
        read_all(path, followers, ready[1]);
    close(ready[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1) {
        fprintf(stderr, "bench: the followers do not get their streams\n");
        exit(1);
    }
    close(ready[0]);
    return pid;
}

/* Processor time of a process so far, in seconds. */
static double used_by(pid_t pid) {
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file) {
        (void)!fgets(text, sizeof(text), file);
        (void)fclose(file);
    }
    const char *behind = strrchr(text, ')');
    if (behind)
        (void)sscanf(behind + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                     &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double drain(int count, double *ret_used) {
    struct rig rig;
    bench_open(&rig, "limits: {runs: 8}\nhttp: {connections: 1100, streams: 1050}\n");
    (void)bench_bulk(&rig, TASKS);
    pid_t followers = count > 0 ? start_followers(rig.socket, count) : 0;
    double began = bench_now(), used = used_by(rig.daemon);
    bench_pause(&rig, false);
    bench_wait_drained(&rig);
    double rate = TASKS / (bench_now() - began);
    *ret_used = (used_by(rig.daemon) - used) / TASKS;
    if (followers) {
        (void)kill(followers, SIGKILL);
        (void)waitpid(followers, NULL, 0);
    }
    rig_close(&rig);
    return rate;
}

static void measure(int followers, double least) {
    double part[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double own, more;
        double alone = drain(0, &own), followed = drain(followers, &more);
        bench_say("alone %.0f   with %d %.0f   the daemon's own work for a run: %.0f us, %.0f us",
                  alone, followers, followed, own * 1e6, more * 1e6);
        part[i] = followed / alone;
    }
    double share = bench_median(part, ROUNDS);
    bench_goal(share >= least, "%d followers: %.0f %% of the rate without (at least %.0f %%)",
               followers, share * 100, least * 100);
}

void bench_followers(void) {
    printf("runs of /bin/true per second, with streams of events that are read\n");
    measure(64, 0.97);
    measure(FOLLOWERS_MAX, 0.85);
}
