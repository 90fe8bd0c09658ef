/* http_wire.c: see http_wire.h. */
#include "http_client/http_wire.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_client/http_client.h"
#include "os/clock.h"

#define AGAIN_MS      10 /* between two attempts while the backlog of a socket is full */
#define HANDSHAKE_MAX SECONDS(5)
#define SEND_MAX      ((size_t)16 * 1024) /* TLS must get the same bytes again */

/* 0: one of `events` is ready. */
static int wait_for(const struct http_wire *wire, short events, int reader, time_ms deadline) {
    struct pollfd pollers[] = { { .fd = wire->fd, .events = events },
                                { .fd = wire->cancel, .events = POLLIN },
                                { .fd = reader } }; /* an error or a hang-up is reported */
    time_ms left = deadline == TIME_NEVER ? -1 : time_max(0, deadline - clock_read_steady());
    int ready = poll(pollers, ARRAY_SIZE(pollers), (int)time_min(left, INT_MAX));
    if (ready < 0)
        return -errno;
    if (pollers[1].revents)
        return -ECANCELED;
    return ready == 0 ? -ETIMEDOUT : pollers[2].revents ? -EPIPE : 0;
}

static short poll_events(const struct http_wire *wire, short events) {
    return wire->tls ? http_tls_waits_for(wire->tls) : events;
}

/* --- the connection --------------------------------------------------------------------------- */

void http_wire_close(struct http_wire *wire) {
    wire->tls = http_tls_free(wire->tls);
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
    wire->in.length = wire->in_taken = 0;
}

void http_wire_finish(struct http_wire *wire) {
    http_wire_close(wire);
    strbuf_finish(&wire->in);
    strbuf_finish(&wire->head);
}

static int connect_to(struct http_wire *wire, const struct sockaddr *address, socklen_t size,
                      time_ms deadline) {
    int code = 0, one = 1;
    socklen_t length = sizeof(code);
    wire->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (wire->fd < 0)
        return -errno;
    int r;
    while ((r = connect(wire->fd, address, size) < 0 ? -errno : 0) == -EAGAIN
           && clock_read_steady() < deadline)
        (void)poll(NULL, 0, AGAIN_MS);
    if (r == -EINPROGRESS || r == -EINTR) {
        do
            r = wait_for(wire, POLLOUT, -1, deadline);
        while (r == -EINTR);
        if (r == 0)
            r = getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0 ? -errno : -code;
    }
    if (r == 0 && address->sa_family != AF_UNIX)
        (void)setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (r < 0)
        http_wire_close(wire);
    return r;
}

static int connect_unix(struct http_wire *wire, const char *path, time_ms deadline) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_to(wire, (const struct sockaddr *)&address, sizeof(address), deadline);
}

/* An address that drops packets must not hide a working one. */
static int connect_tcp(struct http_wire *wire, const struct http_url *url, time_ms deadline,
                       const char **ret_why) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
    struct addrinfo *list = NULL;
    int64_t count = 0;
    int found = getaddrinfo(url->host, url->port, &hints, &list);
    if (found == EAI_ADDRFAMILY || found == EAI_NONAME) { /* a machine with only loopback */
        hints.ai_flags = 0;
        found = getaddrinfo(url->host, url->port, &hints, &list);
    }
    int r = -EHOSTUNREACH;
    if (found != 0) {
        *ret_why = gai_strerror(found);
        return r;
    }
    for (const struct addrinfo *at = list; at; at = at->ai_next)
        count++;
    for (const struct addrinfo *at = list; at && r < 0 && r != -ECANCELED; at = at->ai_next) {
        time_ms now = clock_read_steady();
        r = connect_to(wire, at->ai_addr, at->ai_addrlen, now + (deadline - now) / count--);
    }
    freeaddrinfo(list);
    return r;
}

int http_wire_connect(struct http_wire *wire, const struct http_url *url, time_ms deadline,
                      const char **ret_why) {
    http_wire_close(wire);
    *ret_why = NULL;
    int r = url->socket ? connect_unix(wire, url->socket, deadline)
                        : connect_tcp(wire, url, deadline, ret_why);
    if (r < 0 && !*ret_why)
        *ret_why = strerror(-r);
    return r;
}

int http_wire_start_tls(struct http_wire *wire, const struct http_tls_peer *peer, time_ms deadline,
                        struct error *err) {
    int r = http_tls_new(wire->fd, peer, &wire->tls, err);
    deadline = time_min(deadline, time_add(clock_read_steady(), HANDSHAKE_MAX));
    while (r == 0 && (r = http_tls_handshake(wire->tls, peer, err)) == 0) {
        do
            r = wait_for(wire, http_tls_waits_for(wire->tls), -1, deadline);
        while (r == -EINTR);
        if (r == -ETIMEDOUT) /* as if nothing listened there */
            r = error_set(err, -ECONNREFUSED, "'%s' does not start TLS", peer->address);
        else if (r < 0)
            error_set(err, r, "'%s': %s", peer->address, strerror(-r));
    }
    if (r < 0)
        http_wire_close(wire);
    return r < 0 ? r : 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static size_t unread(const struct http_wire *wire) {
    return wire->in.length - wire->in_taken;
}

static void consume(struct http_wire *wire, size_t size) {
    wire->in_taken += size;
    if (wire->in_taken == wire->in.length)
        wire->in.length = wire->in_taken = 0;
}

/* Reads what is available: the size; 0: end; -EAGAIN, -EINTR, -ECONNRESET. */
static int read_some(struct http_wire *wire) {
    char buffer[16 * 1024]; /* at least one TLS record, so that poll sees all that is left */
    ssize_t n = wire->tls ? http_tls_read(wire->tls, buffer, sizeof(buffer))
                          : recv(wire->fd, buffer, sizeof(buffer), 0);
    if (n > 0)
        strbuf_add(&wire->in, buffer, (size_t)n);
    if (n >= 0)
        return (int)n;
    return errno == EAGAIN || errno == EINTR ? -errno : -ECONNRESET;
}

int http_wire_read(struct http_wire *wire, time_ms deadline) {
    for (;;) {
        int r = read_some(wire);
        if (r != -EAGAIN)
            return r;
        r = wait_for(wire, poll_events(wire, POLLIN), wire->reader, deadline);
        if (r < 0)
            return r;
    }
}

/* --- the head --------------------------------------------------------------------------------- */

#define PROTOCOL "HTTP/1."

/* "HTTP/1.1 200" followed by a blank or the end of the line. */
static int read_status(const char *line, size_t size, int *ret_status) {
    const char *version = line + strlen(PROTOCOL), *code = version + 2;
    size_t length = strlen(PROTOCOL "1 200");
    if (size < length || memcmp(line, PROTOCOL, strlen(PROTOCOL)) != 0
        || (*version != '0' && *version != '1') || version[1] != ' '
        || strspn(code, "0123456789") != 3 || (size > length && line[length] != ' '))
        return -EPROTO;
    int status = 100 * (code[0] - '0') + 10 * (code[1] - '0') + (code[2] - '0');
    if (status < 100 || status > 599)
        return -EPROTO;
    *ret_status = status;
    return 0;
}

static bool is_text(const char *line, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
            return false;
    return true;
}

int http_head_check(const char *bytes, size_t size, int *ret_status, size_t *ret_size) {
    int status = 0;
    size_t at = 0;
    size_t known = size < strlen(PROTOCOL) ? size : strlen(PROTOCOL);
    if (memcmp(bytes, PROTOCOL, known) != 0) /* these bytes cannot become a head any more */
        return -EPROTO;
    for (unsigned lines = 0;; lines++) {
        const char *newline = at < size ? memchr(bytes + at, '\n', size - at) : NULL;
        if (!newline)
            return 0;
        const char *line = bytes + at;
        size_t length = (size_t)(newline - line);
        if (length == 0 || line[length - 1] != '\r')
            return -EPROTO;
        length--;
        at = (size_t)(newline - bytes) + 1;
        if (!is_text(line, length) || (lines == 0 && read_status(line, length, &status) < 0))
            return -EPROTO;
        if (lines > 0 && length == 0)
            break;
        if (lines > 0 && !memchr(line, ':', length))
            return -EPROTO;
    }
    *ret_status = status;
    *ret_size = at;
    return 1;
}

const char *http_wire_header(const struct http_wire *wire, const char *name) {
    for (size_t i = 0; i < wire->header_count; i++)
        if (strcasecmp(wire->headers[i].name, name) == 0)
            return wire->headers[i].value;
    return NULL;
}

static int parse_number(const char *text, unsigned base, uint64_t *ret) {
    char *end = NULL;
    errno = 0;
    if (!*text || !strchr("0123456789abcdefABCDEF", *text))
        return -EPROTO;
    uint64_t value = strtoull(text, &end, (int)base);
    if (errno != 0 || *end)
        return -EPROTO;
    *ret = value;
    return 0;
}

static int parse_framing(struct http_wire *wire) {
    const char *length = http_wire_header(wire, "content-length");
    const char *coding = http_wire_header(wire, "transfer-encoding");
    const char *connection = http_wire_header(wire, "connection");
    wire->keep_alive = !connection || strcasecmp(connection, "close") != 0;
    wire->left = 0;
    if (coding && (length || strcasecmp(coding, "chunked") != 0))
        return -EPROTO;
    wire->body = coding ? BODY_CHUNK_SIZE : length ? BODY_LENGTH : BODY_TO_END;
    if (length && parse_number(length, 10, &wire->left) < 0)
        return -EPROTO;
    return 0;
}

/* `wire->head` has a head that was checked. */
static int parse_head(struct http_wire *wire) {
    wire->header_count = 0;
    char *line = strstr(wire->head.text, "\r\n") + 2; /* after the status line */
    for (char *end; (end = strstr(line, "\r\n")) != line; line = end + 2) {
        char *colon = strchr(line, ':');
        if (wire->header_count == HTTP_HEADERS_MAX)
            return -EPROTO;
        *colon = *end = '\0';
        for (char *last = end - 1; last > colon && (*last == ' ' || *last == '\t'); last--)
            *last = '\0';
        wire->headers[wire->header_count].name = line;
        wire->headers[wire->header_count++].value = colon + 1 + strspn(colon + 1, " \t");
    }
    return parse_framing(wire);
}

/* 1: consumed the final head. Skips interim (1xx) answers. */
static int take_head(struct http_wire *wire) {
    for (;;) {
        const char *begin = strbuf_text(&wire->in) + wire->in_taken;
        size_t size = 0;
        int r = http_head_check(begin, unread(wire), &wire->status, &size);
        if (r <= 0)
            return r == 0 && unread(wire) > HTTP_HEAD_MAX ? -EPROTO : r;
        strbuf_clear(&wire->head);
        strbuf_add(&wire->head, begin, size);
        consume(wire, size);
        r = parse_head(wire);
        if (r < 0 || wire->status >= 200)
            return r < 0 ? r : 1;
    }
}

int http_wire_read_head(struct http_wire *wire, time_ms deadline) {
    for (;;) {
        int r = take_head(wire);
        if (r != 0)
            return r < 0 ? r : 0;
        r = http_wire_read(wire, deadline);
        if (r <= 0 && r != -EINTR)
            return r == 0 ? -ECONNRESET : r;
    }
}

/* --- the request ------------------------------------------------------------------------------ */

/* A server that refuses a request may answer before it has read all of it, and stop reading. 1: it
 * has answered, or closed. */
static int has_answered(struct http_wire *wire) {
    int status = 0, r = read_some(wire);
    size_t size = 0;
    if (r == -EAGAIN || r == -EINTR)
        return 0;
    return r <= 0 || http_head_check(wire->in.text, wire->in.length, &status, &size) < 0
           || status >= 200;
}

int http_wire_send(struct http_wire *wire, const char *bytes, size_t size, time_ms deadline) {
    for (size_t sent = 0; sent < size;) {
        size_t part = size - sent < SEND_MAX ? size - sent : SEND_MAX;
        ssize_t n = wire->tls ? http_tls_write(wire->tls, bytes + sent, part)
                              : send(wire->fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return errno == ECONNRESET ? -EPIPE : -errno;
        int r = wait_for(wire, (short)(poll_events(wire, POLLOUT) | POLLIN), -1, deadline);
        if (r < 0 && r != -EINTR)
            return r;
        if (has_answered(wire))
            return -EPIPE;
    }
    return 0;
}

/* --- the body --------------------------------------------------------------------------------- */

/* A complete size line. 1: consumed. */
static int take_chunk_size(struct http_wire *wire) {
    const char *begin = wire->in.text + wire->in_taken;
    const char *end = memmem(begin, unread(wire), "\r\n", 2);
    char digits[20];
    if (!end)
        return unread(wire) >= sizeof(digits) ? -EPROTO : 0;
    size_t size = (size_t)(end - begin);
    if (size == 0 || size >= sizeof(digits))
        return -EPROTO;
    memcpy(digits, begin, size);
    digits[size] = '\0';
    if (parse_number(digits, 16, &wire->left) < 0)
        return -EPROTO;
    consume(wire, size + 2);
    wire->body = wire->left > 0 ? BODY_CHUNK : BODY_LAST;
    return 1;
}

static int take_line_end(struct http_wire *wire, enum http_body next) {
    if (unread(wire) < 2)
        return 0;
    if (memcmp(wire->in.text + wire->in_taken, "\r\n", 2) != 0)
        return -EPROTO;
    consume(wire, 2);
    wire->body = next;
    return 1;
}

static int take_data(struct http_wire *wire, http_sink sink, void *ctx) {
    size_t size = unread(wire);
    if (wire->body != BODY_TO_END && size > wire->left)
        size = (size_t)wire->left;
    if (size == 0)
        return 0;
    int r = sink(ctx, wire->in.text + wire->in_taken, size);
    consume(wire, size);
    wire->left -= wire->body != BODY_TO_END ? size : 0;
    if (wire->left == 0 && wire->body == BODY_CHUNK)
        wire->body = BODY_CHUNK_END;
    return r < 0 ? r : r > 0 ? 2 : 1;
}

int http_wire_take_body(struct http_wire *wire, http_sink sink, void *ctx) {
    for (;;) {
        int r = 0; /* 0: needs more; 1: continue */
        if (wire->body == BODY_LENGTH && wire->left == 0)
            wire->body = BODY_DONE;
        switch (wire->body) {
        case BODY_DONE:
            return 1;
        case BODY_LENGTH:
        case BODY_CHUNK:
        case BODY_TO_END:
            r = take_data(wire, sink, ctx);
            break;
        case BODY_CHUNK_SIZE:
            r = unread(wire) ? take_chunk_size(wire) : 0;
            break;
        case BODY_CHUNK_END:
            r = take_line_end(wire, BODY_CHUNK_SIZE);
            break;
        case BODY_LAST:
            r = take_line_end(wire, BODY_DONE);
            break;
        }
        if (r != 1)
            return r;
    }
}

int http_wire_take_end(struct http_wire *wire) {
    bool complete = wire->body == BODY_TO_END || wire->body == BODY_DONE;
    wire->body = BODY_DONE;
    wire->keep_alive = false;
    return complete ? 0 : -ECONNRESET;
}
