/* http_client.c: one POST, and what was answered, or why nothing was.
 *
 * The socket does not block, and every wait is a poll with the rest of the time and the descriptor that
 * cancels: a server that hangs costs its caller no more than the time-out, an ending daemon nothing.
 *
 * While the request goes out the answer is looked for already: one who refuses it (413) may answer before it
 * has read everything, and close. */
#include "http_client/http_client.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "os/clock.h"
#include "os/files.h"

#define HEAD_MAX  ((size_t)16 * 1024)
#define DRAIN_MAX ((size_t)64 * 1024)
#define DRAIN_FOR 500 /* ms for the rest of an answer that nobody needs */

struct exchange {
    const struct http_url *url;
    const struct http_post *post;
    time_ms deadline; /* steady */
    int fd;
    struct strbuf out; /* the request; */
    size_t sent;       /* how much of it has gone */
    struct strbuf in;
    struct error *err;
};

/* --- waiting --------------------------------------------------------------------------------- */

/* 0: the socket is ready; else a negative errno. */
static int wait_until(const struct exchange *x, short events, time_ms deadline) {
    struct pollfd pollers[] = { { .fd = x->fd, .events = events },
                                { .fd = x->post->cancel, .events = POLLIN } };
    for (;;) {
        time_ms left = deadline - clock_read_steady();
        int span = left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
        int ready = poll(pollers, 2, span);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return -errno;
        if (pollers[1].revents)
            return -ECANCELED;
        return ready == 0 ? -ETIMEDOUT : 0;
    }
}

static int fail(const struct exchange *x, int code, const char *what) {
    const char *where = x->url->socket ? x->url->socket : x->url->authority;
    if (code == -ETIMEDOUT)
        return error_set(x->err, code, "'%s' %s within %" PRId64 " ms", where, what,
                         x->post->timeout);
    if (code == -ECANCELED)
        return error_set(x->err, code, "given up, because the daemon ends");
    return error_set(x->err, code, "'%s' %s: %s", where, what, strerror(-code));
}

/* --- the connection -------------------------------------------------------------------------- */

static int connect_to(struct exchange *x, const struct sockaddr *address, socklen_t size,
                      time_ms deadline) {
    int error = 0;
    socklen_t length = sizeof(error);
    x->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (x->fd < 0)
        return -errno;
    int r = connect(x->fd, address, size) < 0 ? -errno : 0;
    if (r == -EINPROGRESS || r == -EINTR) {
        r = wait_until(x, POLLOUT, deadline);
        if (r == 0 && getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
            r = -errno;
        else if (r == 0)
            r = -error;
    }
    if (r < 0) {
        close(x->fd);
        x->fd = -1;
    }
    return r;
}

static int connect_unix(struct exchange *x) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(x->url->socket) >= sizeof(address.sun_path))
        return fail(x, -ENAMETOOLONG, "is no path that a socket can have");
    memcpy(address.sun_path, x->url->socket, strlen(x->url->socket) + 1);
    int r = connect_to(x, (const struct sockaddr *)&address, sizeof(address), x->deadline);
    return r < 0 ? fail(x, r, "could not be reached") : 0;
}

/* Each address gets its part of the time that is left: one that swallows everything must not hide a
 * good one. */
static int connect_tcp(struct exchange *x) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
    struct addrinfo *list = NULL;
    int64_t count = 0;
    int found = getaddrinfo(x->url->host, x->url->port, &hints, &list);
    if (found == EAI_ADDRFAMILY || found == EAI_NONAME) { /* a machine with nothing but loopback */
        hints.ai_flags = 0;
        found = getaddrinfo(x->url->host, x->url->port, &hints, &list);
    }
    if (found != 0)
        return error_set(x->err, -EHOSTUNREACH, "the name '%s' is not known: %s", x->url->host,
                         gai_strerror(found));
    for (const struct addrinfo *at = list; at; at = at->ai_next)
        count++;
    int r = -EHOSTUNREACH;
    for (const struct addrinfo *at = list; at && r < 0 && r != -ECANCELED; at = at->ai_next) {
        time_ms now = clock_read_steady();
        r = connect_to(x, at->ai_addr, at->ai_addrlen, now + (x->deadline - now) / count--);
    }
    freeaddrinfo(list);
    return r < 0
               ? fail(x, r, r == -ETIMEDOUT ? "did not take a connection" : "could not be reached")
               : 0;
}

/* --- the request ----------------------------------------------------------------------------- */

static void write_request(struct exchange *x) {
    strbuf_printf(&x->out, "POST %s HTTP/1.1\r\nHost: %s\r\n", x->url->path, x->url->authority);
    for (const char *const *header = x->post->headers; header && *header; header++)
        strbuf_printf(&x->out, "%s\r\n", *header);
    strbuf_printf(&x->out, "Content-Length: %zu\r\nConnection: close\r\n\r\n", x->post->size);
    strbuf_add(&x->out, x->post->body, x->post->size);
}

/* 1: the other side takes nothing any more; perhaps it has answered. */
static int send_some(struct exchange *x) {
    ssize_t n =
        send(x->fd, x->out.text + x->sent, x->out.length - x->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
        x->sent += (size_t)n;
        return 0;
    }
    if (errno == EPIPE || errno == ECONNRESET)
        return 1;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* How many bytes; 0: the end. */
static ssize_t read_some(struct exchange *x) {
    char bytes[4096];
    ssize_t n = recv(x->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    strbuf_add(&x->in, bytes, (size_t)n);
    return n;
}

/* 1: the final head is there; its body begins at *ret_size. Answers that only say "go on" are left out. */
static int look_at_head(struct exchange *x, int *ret_status, size_t *ret_size) {
    for (;;) {
        size_t size = 0;
        int r = http_client_read_head(strbuf_text(&x->in), x->in.length, ret_status, &size);
        if (r < 0 || (r == 0 && x->in.length > HEAD_MAX))
            return fail(x, -EPROTO, "answered something that is no HTTP");
        if (r == 0)
            return 0;
        *ret_size = size;
        if (*ret_status >= 200)
            return 1;
        memmove(x->in.text, x->in.text + size, x->in.length - size + 1);
        x->in.length -= size;
    }
}

static int exchange_bytes(struct exchange *x, int *ret_status, size_t *ret_size) {
    bool sending = true;
    for (;;) {
        int r = wait_until(x, (short)(POLLIN | (sending ? POLLOUT : 0)), x->deadline);
        if (r < 0)
            return fail(x, r, "did not answer");
        r = sending ? send_some(x) : 0;
        if (r < 0)
            return fail(x, r, "did not take the request");
        sending = sending && r == 0 && x->sent < x->out.length;
        ssize_t n = read_some(x);
        if (n == -EAGAIN || n == -EINTR)
            continue;
        if (n <= 0)
            return error_set(x->err, -ECONNRESET, "'%s' closed the connection without an answer",
                             x->url->socket ? x->url->socket : x->url->authority);
        r = look_at_head(x, ret_status, ret_size);
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

/* A server that still writes its answer should come to its end. */
static void drain(struct exchange *x) {
    time_ms until = time_min(x->deadline, clock_read_steady() + DRAIN_FOR);
    while (x->in.length < DRAIN_MAX && wait_until(x, POLLIN, until) == 0) {
        ssize_t n = read_some(x);
        if (n <= 0 && n != -EAGAIN && n != -EINTR)
            return;
    }
}

static void keep_text(const struct exchange *x, size_t from, struct http_answer *ret) {
    size_t size = x->in.length - from, at = 0;
    for (; at < size && at < HTTP_CLIENT_ANSWER_MAX; at++) {
        unsigned char c = (unsigned char)x->in.text[from + at];
        ret->text[at] = c >= 0x20 && c < 0x7f ? (char)c : ' ';
    }
    while (at > 0 && ret->text[at - 1] == ' ')
        at--;
    ret->text[at] = '\0';
}

int http_client_post(const struct http_url *url, const struct http_post *post,
                     struct http_answer *ret, struct error *err) {
    struct exchange x = { .url = url,
                          .post = post,
                          .deadline = time_add(clock_read_steady(), post->timeout),
                          .fd = -1,
                          .err = err };
    int status = 0;
    size_t body = 0;
    if (url->tls)
        return error_set(err, -ENOTSUP, "https is not spoken here");
    int r = url->socket ? connect_unix(&x) : connect_tcp(&x);
    if (r == 0) {
        write_request(&x);
        r = exchange_bytes(&x, &status, &body);
    }
    if (r == 0) {
        drain(&x);
        ret->status = status;
        ret->retry_after = http_head_retry_after(strbuf_text(&x.in), body, clock_read());
        keep_text(&x, body, ret);
    }
    fd_closep(&x.fd);
    strbuf_finish(&x.out);
    strbuf_finish(&x.in);
    return r;
}
