/* wire.c: see wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define TITLE "a title of usual length for a task"

extern char **environ;

void wire_fail(const char *what, const char *detail) {
    fprintf(stderr, "peer_client: %s: %.200s\n", what, detail);
    exit(1);
}

static int try_connect(const char *address) {
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in loopback = { .sin_family = AF_INET,
                                    .sin_port = htons((unsigned short)atoi(address)),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool by_path = address[0] == '/';
    int on = 1, fd = socket(by_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(local.sun_path, sizeof(local.sun_path), "%s", address);
    int r = by_path ? connect(fd, (struct sockaddr *)&local, sizeof(local))
                    : connect(fd, (struct sockaddr *)&loopback, sizeof(loopback));
    if (r == 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on AF_UNIX */
        return fd;
    }
    close(fd);
    return -1;
}

struct wire wire_open(const char *address, bool patient) {
    int fd = try_connect(address);
    for (int left = patient ? 60000 : 0; fd < 0 && left > 0; left--) {
        (void)poll(NULL, 0, 1);
        fd = try_connect(address);
    }
    if (fd < 0)
        wire_fail(address, strerror(errno));
    return (struct wire){ .fd = fd };
}

void wire_close(struct wire *wire) {
    close(wire->fd);
    strbuf_finish(&wire->received);
}

void wire_send(struct wire *wire, const char *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t n = write(wire->fd, bytes + sent, size - sent);
        if (n <= 0)
            wire_fail("cannot send", strerror(errno));
        sent += (size_t)n;
    }
}

const char *wire_answer(struct wire *wire, size_t (*check)(const char *text, size_t length)) {
    static char chunk[1 << 16];
    for (;;) {
        const char *text = strbuf_text(&wire->received) + wire->used;
        size_t size = wire->received.length > wire->used
                          ? check(text, wire->received.length - wire->used)
                          : 0;
        if (size > 0) {
            wire->used += size;
            return text;
        }
        if (wire->used == wire->received.length) {
            strbuf_clear(&wire->received);
            wire->used = 0;
        }
        ssize_t n = read(wire->fd, chunk, sizeof(chunk));
        if (n <= 0)
            wire_fail("the server closed the connection", n < 0 ? strerror(errno) : "end of file");
        strbuf_add(&wire->received, chunk, (size_t)n);
    }
}

void wire_run_job(const char *job, size_t length) {
    char text[512], *argv[8] = { NULL }, *rest = NULL;
    size_t words = 0;
    snprintf(text, sizeof(text), "%.*s", (int)length, job);
    text[strcspn(text, "\n")] = '\0';
    for (char *word = strtok_r(text, " ", &rest); word && words < 7;
         word = strtok_r(NULL, " ", &rest))
        argv[words++] = word;
    pid_t pid;
    int status;
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        wire_fail(argv[0], "cannot be started");
    if (waitpid(pid, &status, 0) != pid || status != 0)
        wire_fail(argv[0], "failed");
}

/* --- Sluice -------------------------------------------------------------------------------- */

static void sluice_task(struct strbuf *body, const char *job) {
    strbuf_puts(body, "{\"argv\":[\"");
    for (; *job; job++)
        if (*job == ' ')
            strbuf_puts(body, "\",\"");
        else
            strbuf_putc(body, *job);
    strbuf_puts(body, "\"],\"title\":\"" TITLE "\",\"cwd\":\"/\"}");
}

static void sluice_request(struct strbuf *request, const char *what, const char *body) {
    strbuf_printf(request,
                  "%s HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
                  "Content-Length: %zu\r\n\r\n%s",
                  what, strlen(body), body);
}

static void sluice_submit(struct strbuf *request, const char *job, size_t count) {
    struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":[");
    for (size_t i = 0; i < count; i++) {
        strbuf_puts(&body, i ? "," : "");
        sluice_task(&body, job);
    }
    strbuf_puts(&body, "]}");
    sluice_request(request, "POST /v1/tasks", strbuf_text(&body));
    strbuf_finish(&body);
}

static size_t sluice_check(const char *text, size_t length) {
    const char *end = memmem(text, length, "\r\n\r\n", 4);
    if (!end)
        return 0;
    if (strncmp(text, "HTTP/1.1 200", 12) != 0)
        wire_fail("refused", text);
    const char *size = strstr(text, "Content-Length: ");
    size_t all = (size_t)(end - text) + 4 + (size && size < end ? strtoul(size + 16, NULL, 10) : 0);
    return length < all ? 0 : all;
}

static const char *sluice_call(struct wire *wire, const char *what) {
    struct strbuf request = STRBUF_INIT;
    sluice_request(&request, what, "");
    wire_send(wire, strbuf_text(&request), request.length);
    strbuf_finish(&request);
    return wire_answer(wire, sluice_check);
}

static void sluice_pause(struct wire *wire, bool paused) {
    (void)sluice_call(wire, paused ? "POST /v1/pause" : "POST /v1/resume");
}

static size_t sluice_queued(struct wire *wire) {
    static const char *const states[] = { "\"waiting\":", "\"ready\":", "\"starting\":",
                                          "\"running\":", "\"held\":" };
    const char *counts = strstr(sluice_call(wire, "GET /v1/status"), "\"counts\":");
    size_t sum = 0;
    if (!counts)
        wire_fail("status", "it has no counts");
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        const char *state = strstr(counts, states[i]);
        sum += state ? strtoul(state + strlen(states[i]), NULL, 10) : 0;
    }
    return sum;
}

/* --- beanstalkd ------------------------------------------------------------------------------ */

static void beanstalkd_submit(struct strbuf *request, const char *job, size_t count) {
    size_t size = strlen(job) + 1 + strlen(TITLE);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(request, "put 0 0 600 %zu\r\n%s\n" TITLE "\r\n", size, job);
}

static size_t line_length(const char *text, size_t length) {
    const char *end = memmem(text, length, "\r\n", 2);
    return end ? (size_t)(end - text) + 2 : 0;
}

static size_t beanstalkd_line(const char *text, size_t length) {
    size_t line = line_length(text, length);
    if (line > 0 && strncmp(text, "INSERTED", 8) != 0 && strncmp(text, "DELETED", 7) != 0)
        wire_fail("refused", text);
    return line;
}

/* RESERVED id bytes, OK bytes, or TIMED_OUT. */
static size_t beanstalkd_body(const char *text, size_t length) {
    size_t line = line_length(text, length), size = 0;
    unsigned long long id;
    if (line == 0)
        return 0;
    if (strncmp(text, "TIMED_OUT", 9) == 0)
        return line;
    if (sscanf(text, "RESERVED %llu %zu", &id, &size) != 2 && sscanf(text, "OK %zu", &size) != 1)
        wire_fail("refused", text);
    return length < line + size + 2 ? 0 : line + size + 2;
}

static void beanstalkd_work(struct wire *wire, bool forever) {
    const char *more = forever ? "reserve\r\n" : "reserve-with-timeout 0\r\n";
    char request[96];
    wire_send(wire, more, strlen(more));
    for (;;) {
        const char *job = wire_answer(wire, beanstalkd_body);
        unsigned long long id;
        size_t size;
        if (sscanf(job, "RESERVED %llu %zu", &id, &size) != 2)
            return;
        wire_run_job(strstr(job, "\r\n") + 2, size);
        int length = snprintf(request, sizeof(request), "delete %llu\r\n%s", id, more);
        wire_send(wire, request, (size_t)length);
        (void)wire_answer(wire, beanstalkd_line);
    }
}

static size_t beanstalkd_queued(struct wire *wire) {
    wire_send(wire, "stats-tube default\r\n", 20);
    const char *ready = strstr(wire_answer(wire, beanstalkd_body), "current-jobs-ready: ");
    return ready ? strtoul(ready + 20, NULL, 10) : 0;
}

/* --- gearmand -------------------------------------------------------------------------------- */

enum packet {
    CAN_DO = 1,
    PRE_SLEEP = 4,
    NOOP = 6,
    JOB_CREATED = 8,
    GRAB_JOB = 9,
    NO_JOB = 10,
    JOB_ASSIGN = 11,
    WORK_COMPLETE = 13,
    SUBMIT_JOB_BG = 18,
};

static void gearman_packet(struct strbuf *request, enum packet kind, const char *data,
                           size_t size) {
    unsigned char head[12] = { 0, 'R', 'E', 'Q', 0, 0, 0, (unsigned char)kind };
    head[10] = (unsigned char)(size >> 8);
    head[11] = (unsigned char)size;
    strbuf_add(request, (const char *)head, sizeof(head));
    strbuf_add(request, data, size);
}

static void gearman_submit(struct strbuf *request, const char *job, size_t count) {
    static unsigned number;
    char data[512];
    for (size_t i = 0; i < count; i++) {
        /* A persistent queue stores one job for each unique key. */
        int size = snprintf(data, sizeof(data), "run%c%d-%u%c%s\n" TITLE, 0, (int)getpid(),
                            number++, 0, job);
        gearman_packet(request, SUBMIT_JOB_BG, data, (size_t)size);
    }
}

static unsigned gearman_kind(const char *packet) {
    return (unsigned char)packet[7];
}

static size_t gearman_size(const char *packet) {
    return (size_t)(unsigned char)packet[10] << 8 | (unsigned char)packet[11];
}

static size_t gearman_check(const char *text, size_t length) {
    if (length < 12)
        return 0;
    unsigned kind = gearman_kind(text);
    if (kind != JOB_CREATED && kind != NO_JOB && kind != JOB_ASSIGN && kind != NOOP)
        wire_fail("refused", length > 12 ? text + 12 : "");
    return length < 12 + gearman_size(text) ? 0 : 12 + gearman_size(text);
}

static void gearman_send(struct wire *wire, enum packet kind, const char *data, size_t size) {
    struct strbuf request = STRBUF_INIT;
    gearman_packet(&request, kind, data, size);
    wire_send(wire, strbuf_text(&request), request.length);
    strbuf_finish(&request);
}

/* JOB_ASSIGN: handle NUL function NUL job. */
static void gearman_run(struct wire *wire, const char *packet) {
    const char *handle = packet + 12;
    size_t length = strlen(handle);
    const char *job = handle + length + 1;
    job += strlen(job) + 1;
    char complete[128]; /* the next answer overwrites the buffer */
    snprintf(complete, sizeof(complete), "%s", handle);
    wire_run_job(job, gearman_size(packet) - (size_t)(job - handle));
    gearman_send(wire, WORK_COMPLETE, complete, length + 1);
}

static void gearman_work(struct wire *wire, bool forever) {
    gearman_send(wire, CAN_DO, "run", 3);
    for (;;) {
        gearman_send(wire, GRAB_JOB, "", 0);
        const char *packet = wire_answer(wire, gearman_check);
        while (gearman_kind(packet) == NOOP) /* woken for a job that it already has */
            packet = wire_answer(wire, gearman_check);
        if (gearman_kind(packet) == JOB_ASSIGN) {
            gearman_run(wire, packet);
            continue;
        }
        if (!forever)
            return;
        gearman_send(wire, PRE_SLEEP, "", 0);
        (void)wire_answer(wire, gearman_check);
    }
}

static size_t gearman_status(const char *text, size_t length) {
    const char *end = memmem(text, length, "\n.\n", 3);
    return end ? (size_t)(end - text) + 3 : length >= 2 && text[0] == '.' ? 2 : 0;
}

static size_t gearman_queued(struct wire *wire) {
    wire_send(wire, "status\n", 7);
    const char *text = wire_answer(wire, gearman_status);
    return strncmp(text, "run\t", 4) == 0 ? strtoul(text + 4, NULL, 10) : 0;
}

/* --- the table ------------------------------------------------------------------------------- */

const struct protocol *protocol_find(const char *name) {
    static const struct protocol protocols[] = {
        { "sluice", true, sluice_submit, sluice_check, NULL, sluice_pause, sluice_queued },
        { "beanstalkd", false, beanstalkd_submit, beanstalkd_line, beanstalkd_work, NULL,
          beanstalkd_queued },
        { "gearmand", false, gearman_submit, gearman_check, gearman_work, NULL, gearman_queued },
    };
    for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
        if (strcmp(protocols[i].name, name) == 0)
            return &protocols[i];
    return NULL;
}
