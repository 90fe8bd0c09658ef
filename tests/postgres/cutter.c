/* cutter.c: a proxy that breaks a connection at a chosen message.
 *
 * Between a COMMIT and its answer the outcome is unknown. Killing the server rarely hits that moment; the proxy always
 * does, because it parses the messages that it forwards. It is one poll loop over pairs of sockets, in a separate
 * process, so that a test can block in its store while the proxy works. The plan and the observed messages are in shared
 * memory; a byte in a pipe reports that the plan is done.
 */
#include "cutter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cutter_wire.h"

struct cutter {
    pid_t process;
    int done_fd;
    struct wire_plan *plan;
    char *url;
};

static const char *const names[] = {
    [CUT_NONE] = "none",
    [CUT_BEFORE] = "before",
    [CUT_IN_REQUEST] = "in-request",
    [CUT_AFTER] = "after",
    [CUT_IN_ANSWER] = "in-answer",
    [CUT_BEHIND] = "behind",
    [CUT_STALL] = "stall",
    [CUT_STALL_ANSWER] = "stall-answer",
    [CUT_MESSAGE] = "message",
    [CUT_REPLY] = "reply",
    [CUT_STALL_REPLY] = "stall-reply",
};
_Static_assert(sizeof(names) / sizeof(*names) == CUT_MAX, "a cut has no name");

const char *cut_name(enum cut cut) {
    return names[cut];
}

bool cut_parse(const char *name, enum cut *ret_cut) {
    for (enum cut cut = CUT_NONE; cut < CUT_MAX; cut++)
        if (strcmp(name, names[cut]) == 0) {
            *ret_cut = cut;
            return true;
        }
    return false;
}

static _Noreturn void die(const char *what) {
    (void)fprintf(stderr, "cutter: %s: %s\n", what, strerror(errno));
    _exit(1);
}

/* --- the two ends of a wire --------------------------------------------------------------------- */

static void no_delay(int fd) {
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int listen_here(uint16_t *ret_port) {
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(here);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, size) < 0 || listen(fd, 64) < 0
        || getsockname(fd, (struct sockaddr *)&here, &size) < 0)
        die("cannot listen on loopback");
    *ret_port = ntohs(here.sin_port);
    return fd;
}

static int connect_there(const struct sockaddr_in *server) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)server, sizeof(*server)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* --- the process -------------------------------------------------------------------------------- */

#define WIRES_MAX 64

struct carrier {
    int listener, done_fd;
    struct sockaddr_in server;
    struct wire_plan *plan;
    struct wire wires[WIRES_MAX];
    size_t count;
};

static void take_connection(struct carrier *c) {
    int client = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    int server = c->count < WIRES_MAX ? connect_there(&c->server) : -1;
    if (server < 0) { /* like a port without a server */
        close(client);
        return;
    }
    no_delay(client);
    no_delay(server);
    wire_init(&c->wires[c->count++], client, server);
    c->plan->connections++;
}

/* Forwards what both ends of one connection have sent. */
static void serve_wire(struct carrier *c, size_t index, const struct pollfd fds[2]) {
    bool alive = true;
    for (int side = 0; side < 2 && alive; side++)
        if (fds[side].revents)
            alive = wire_carry(&c->wires[index], (enum wire_side)side, c->plan);
    if (!alive) {
        wire_finish(&c->wires[index], c->plan->reset);
        c->wires[index] = c->wires[--c->count];
    }
    if (c->plan->done && !c->plan->reported_done) {
        c->plan->reported_done = true;
        if (write(c->done_fd, "", 1) != 1)
            die("the test is gone");
    }
}

static void serve(struct carrier *c) {
    struct pollfd fds[1 + 2 * WIRES_MAX];
    for (;;) {
        fds[0] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
        for (size_t i = 0; i < 2 * c->count; i++)
            fds[1 + i] = (struct pollfd){ .fd = c->wires[i / 2].fd[i % 2], .events = POLLIN };
        size_t watched = c->count;
        if (poll(fds, 1 + 2 * watched, -1) < 0 && errno != EINTR)
            die("poll");
        for (size_t i = watched; i-- > 0;) /* backwards: the last entry replaces a removed one */
            serve_wire(c, i, &fds[1 + 2 * i]);
        if (fds[0].revents)
            take_connection(c);
    }
}

/* --- the test's side ---------------------------------------------------------------------------- */

/* Splits the URL into the part before the host, the host, the port, and the rest. */
static void split_url(const char *url, struct sockaddr_in *ret_server, size_t *ret_before,
                      const char **ret_behind) {
    char host[64];
    unsigned port;
    const char *begin = strchr(url, '@');
    begin = begin ? begin + 1 : url;
    int length = 0;
    if (sscanf(begin, "%63[0-9.]:%u%n", host, &port, &length) != 2 || port > UINT16_MAX
        || inet_pton(AF_INET, host, &ret_server->sin_addr) != 1) {
        (void)fprintf(stderr, "cutter: '%s' has no address and port, as 127.0.0.1:5432\n", begin);
        exit(1);
    }
    ret_server->sin_family = AF_INET;
    ret_server->sin_port = htons((uint16_t)port);
    *ret_before = (size_t)(begin - url);
    *ret_behind = begin + length;
}

static _Noreturn void live(struct carrier *carrier, pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    signal(SIGPIPE, SIG_IGN);
    /* An inherited descriptor would keep a connection of the test open after the test closes it. */
    for (int fd = 3; fd < 1024; fd++)
        if (fd != carrier->listener && fd != carrier->done_fd)
            close(fd);
    serve(carrier);
    _exit(0);
}

struct cutter *cutter_new(const char *url) {
    struct cutter *cutter = xcalloc(1, sizeof(*cutter));
    struct carrier *carrier = xcalloc(1, sizeof(*carrier));
    size_t before = 0;
    const char *behind = NULL;
    uint16_t port = 0;
    int done[2];
    split_url(url, &carrier->server, &before, &behind);
    carrier->listener = listen_here(&port);
    cutter->plan = mmap(NULL, sizeof(*cutter->plan), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cutter->plan == MAP_FAILED || pipe2(done, O_CLOEXEC) < 0)
        die("cannot begin");
    carrier->plan = cutter->plan;
    carrier->done_fd = done[1];
    cutter->done_fd = done[0];
    pid_t parent = getpid();
    cutter->process = fork();
    if (cutter->process < 0)
        die("fork");
    if (cutter->process == 0)
        live(carrier, parent);
    close(carrier->listener);
    close(carrier->done_fd);
    free(carrier);
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%.*s127.0.0.1:%u%s", (int)before, url, port, behind);
    cutter->url = strbuf_take(&text);
    return cutter;
}

struct cutter *cutter_free(struct cutter *cutter) {
    if (!cutter)
        return NULL;
    kill(cutter->process, SIGKILL);
    (void)waitpid(cutter->process, NULL, 0);
    close(cutter->done_fd);
    (void)munmap(cutter->plan, sizeof(*cutter->plan));
    free(cutter->url);
    free(cutter);
    return NULL;
}

const char *cutter_url(const struct cutter *cutter) {
    return cutter->url;
}

void cutter_set(struct cutter *cutter, enum cut cut, uint64_t nth, bool reset) {
    struct wire_plan *plan = cutter->plan;
    char byte;
    struct pollfd fd = { .fd = cutter->done_fd, .events = POLLIN };
    plan->cut = CUT_NONE;
    while (poll(&fd, 1, 0) > 0 && read(cutter->done_fd, &byte, 1) == 1)
        ;
    plan->done = plan->reported_done = false;
    plan->connections = plan->commits = plan->messages = plan->replies = 0;
    plan->nth = nth;
    plan->reset = reset;
    plan->cut = cut;
}

bool cutter_wait(struct cutter *cutter, int milliseconds) {
    struct pollfd fd = { .fd = cutter->done_fd, .events = POLLIN };
    (void)poll(&fd, 1, milliseconds);
    return cutter_is_done(cutter);
}

bool cutter_is_done(const struct cutter *cutter) {
    return cutter->plan->done;
}

struct cutter_counts cutter_counts(const struct cutter *cutter) {
    const struct wire_plan *plan = cutter->plan;
    return (struct cutter_counts){ plan->connections, plan->commits, plan->messages,
                                   plan->replies };
}
