/* common.c: clocks, medians, goals, and the daemon under test. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "daemon_bench.h"

#define BULK 1000

double bench_now(void) {
    return (double)rig_now_us() / 1e6;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *values, size_t count, double part) {
    qsort(values, count, sizeof(*values), by_value);
    size_t index = (size_t)((double)(count - 1) * part + 0.5);
    return values[index];
}

double bench_median(double *values, size_t count) {
    return bench_percentile(values, count, 0.5);
}

void bench_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("  ", stdout);
    vprintf(format, args);
    fputc('\n', stdout);
    (void)fflush(stdout);
    va_end(args);
}

static void must(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

void bench_open(struct rig *rig, const char *config) {
    struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n");
    strbuf_puts(&text, config ? config : "");
    rig_open(rig, strbuf_text(&text));
    strbuf_finish(&text);
    must(rig_start(rig), "the daemon does not start");
    bench_pause(rig, true);
}

void bench_pause(struct rig *rig, bool paused) {
    struct client *client = rig_client(rig);
    struct error err = { 0 };
    int status = client_call(client, "POST", paused ? "/v1/pause" : "/v1/resume", NULL, NULL, &err);
    must(status == 200, err.text);
    client_close(client);
}

/* Polls less often the more tasks are left. */
void bench_wait_drained(struct rig *rig) {
    struct client *client = rig_client(rig);
    for (long long left; (left = rig_open_tasks(client)) != 0;) {
        must(left > 0, "the daemon does not answer");
        rig_pause((int)(left / 4) + 2);
    }
    client_close(client);
}

/* --- bulk requests, built here: the client must not be measured --------------------------- */

static int connect_to(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, path);
    return fd;
}

static void build_request(struct strbuf *request, size_t tasks, const char *cwd) {
    struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":[");
    for (size_t i = 0; i < tasks; i++)
        strbuf_printf(&body,
                      "%s{\"argv\":[\"/bin/true\"],\"title\":\"task number %zu\",\"cwd\":\"%s\"}",
                      i ? "," : "", i, cwd);
    strbuf_puts(&body, "]}");
    strbuf_printf(request,
                  "POST /v1/tasks HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
                  "Content-Length: %zu\r\n\r\n",
                  body.length);
    strbuf_add(request, body.text, body.length);
    strbuf_finish(&body);
}

static void exchange(int fd, const struct strbuf *request, char *buffer, size_t size) {
    for (size_t sent = 0; sent < request->length;) {
        ssize_t n = write(fd, request->text + sent, request->length - sent);
        must(n > 0, "the daemon closed the connection");
        sent += (size_t)n;
    }
    size_t got = 0, whole = SIZE_MAX;
    while (got < whole) {
        ssize_t n = read(fd, buffer + got, size - 1 - got);
        must(n > 0, "the daemon closed the connection");
        got += (size_t)n;
        buffer[got] = '\0';
        char *end = strstr(buffer, "\r\n\r\n");
        char *length = strstr(buffer, "Content-Length: ");
        if (whole == SIZE_MAX && end && length)
            whole = (size_t)(end + 4 - buffer) + strtoul(length + 16, NULL, 10);
    }
    must(strncmp(buffer, "HTTP/1.1 200", 12) == 0, buffer);
}

double bench_bulk_in(struct rig *rig, size_t tasks, const char *cwd) {
    static char buffer[4 << 20];
    struct strbuf request = STRBUF_INIT;
    int fd = connect_to(rig->socket);
    double seconds = 0;
    for (size_t left = tasks; left > 0;) {
        size_t now = left < BULK ? left : BULK;
        strbuf_clear(&request);
        build_request(&request, now, cwd);
        double began = bench_now();
        exchange(fd, &request, buffer, sizeof(buffer));
        seconds += bench_now() - began;
        left -= now;
    }
    close(fd);
    strbuf_finish(&request);
    return seconds;
}

double bench_bulk(struct rig *rig, size_t tasks) {
    return bench_bulk_in(rig, tasks, "/");
}

/* --- processes ------------------------------------------------------------------------------- */

static long status_number(pid_t pid, const char *name) {
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name) + 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return value;
}

long bench_resident_kb(pid_t pid) {
    return status_number(pid, "VmRSS");
}

long bench_wakeups(pid_t pid) {
    return status_number(pid, "voluntary_ctxt_switches");
}

/* Searches by parent process: /proc/PID/task/TID/children has only the children of one thread. */
pid_t bench_child(pid_t parent, const char *name) {
    char path[64], comm[64];
    pid_t found = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *one; all && !found && (one = readdir(all));) {
        pid_t pid = (pid_t)strtol(one->d_name, NULL, 10);
        if (pid == 0 || status_number(pid, "PPid") != parent)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        FILE *file = fopen(path, "re");
        if (file && fgets(comm, sizeof(comm), file) && strncmp(comm, name, strlen(name)) == 0)
            found = pid;
        if (file)
            (void)fclose(file);
    }
    if (all)
        (void)closedir(all);
    return found;
}
