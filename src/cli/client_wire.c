/* client_wire.c: one connection to the daemon, as bytes.
 *
 * The socket does not block and every wait has a deadline, so that a daemon that is stuck cannot hang a
 * command. The answer is read with the same care as the daemon reads requests: it may be anybody
 * who listens there. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client_internal.h"
#include "os/clock.h"

#define HEAD_MAX ((size_t)64 * 1024)

/* Milliseconds for poll: -1 for ever, 0 when it is over. */
static int time_left(time_ms deadline) {
    if (deadline == TIME_NEVER)
        return -1;
    time_ms left = deadline - clock_read_steady();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* --- the connection -------------------------------------------------------------------------- */

void wire_close(struct client *client) {
    client->tls = client_tls_free(client->tls);
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    client->in.length = client->in_taken = 0;
}

static ssize_t send_some(struct client *client, const char *bytes, size_t size) {
    const size_t most =
        (size_t)16 * 1024; /* what TLS was asked to send must be sent the same again */
    if (client->tls)
        return client_tls_write(client->tls, bytes, size < most ? size : most);
    return send(client->fd, bytes, size, MSG_NOSIGNAL);
}

int wire_send(struct client *client, const char *bytes, size_t size, time_ms deadline) {
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send_some(client, bytes + sent, size - sent);
        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return errno == ECONNRESET ? -EPIPE : -errno;
        struct pollfd poller = { .fd = client->fd,
                                 .events =
                                     client->tls ? client_tls_waits_for(client->tls) : POLLOUT };
        if (poll(&poller, 1, time_left(deadline)) == 0)
            return -ETIMEDOUT;
    }
    return 0;
}

int wire_read(struct client *client, time_ms deadline) {
    char buffer
        [16
         * 1024]; /* no smaller: a record of TLS fits, so nothing stays behind that poll does not see */
    for (;;) {
        ssize_t n = client->tls ? client_tls_read(client->tls, buffer, sizeof(buffer))
                                : recv(client->fd, buffer, sizeof(buffer), 0);
        if (n > 0)
            strbuf_add(&client->in, buffer, (size_t)n);
        if (n >= 0)
            return (int)n;
        if (errno != EAGAIN)
            return errno == EINTR ? -EINTR : -ECONNRESET;
        struct pollfd pollers[] = {
            { .fd = client->fd,
              .events = client->tls ? client_tls_waits_for(client->tls) : POLLIN },
            { .fd = client->streaming ? client->reader : -1 }, /* an error or a hang-up is told */
        };
        int ready = poll(pollers, ARRAY_SIZE(pollers), time_left(deadline));
        if (ready == 0)
            return -ETIMEDOUT;
        if (ready < 0)
            return -errno;
        if (pollers[1].revents)
            return -EPIPE;
    }
}

static size_t unread(const struct client *client) {
    return client->in.length - client->in_taken;
}

static void take(struct client *client, size_t size) {
    client->in_taken += size;
    if (client->in_taken == client->in.length)
        client->in.length = client->in_taken = 0;
}

/* --- the head -------------------------------------------------------------------------------- */

const char *client_header(const struct client *client, const char *name) {
    for (size_t i = 0; i < client->header_count; i++)
        if (strcasecmp(client->headers[i].name, name) == 0)
            return client->headers[i].value;
    return NULL;
}

/* "HTTP/1.1 200 OK" */
static int parse_status(const char *line) {
    if (strncmp(line, "HTTP/1.", 7) != 0 || strspn(line + 7, "01") != 1 || line[8] != ' ')
        return -EPROTO;
    int status = 0;
    for (int i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return -EPROTO;
        status = status * 10 + (line[i] - '0');
    }
    return status >= 100 && (line[12] == ' ' || line[12] == '\0') ? status : -EPROTO;
}

static int parse_number(const char *text, unsigned base, uint64_t *ret) {
    uint64_t value = 0;
    char *end = NULL;
    errno = 0;
    if (!*text || !strchr("0123456789abcdefABCDEF", *text))
        return -EPROTO;
    value = strtoull(text, &end, (int)base);
    if (errno != 0 || *end)
        return -EPROTO;
    *ret = value;
    return 0;
}

static int parse_framing(struct client *client) {
    const char *length = client_header(client, "content-length");
    const char *coding = client_header(client, "transfer-encoding");
    const char *connection = client_header(client, "connection");
    client->keep_alive = !connection || strcasecmp(connection, "close") != 0;
    client->left = 0;
    if (coding && (length || strcasecmp(coding, "chunked") != 0))
        return -EPROTO;
    client->body = coding ? BODY_CHUNK_SIZE : length ? BODY_LENGTH : BODY_TO_END;
    if (length && parse_number(length, 10, &client->left) < 0)
        return -EPROTO;
    return 0;
}

/* `client->head` holds whole lines. */
static int parse_head(struct client *client) {
    client->header_count = 0;
    char *line = client->head.text;
    for (bool first = true; *line; first = false) {
        char *end = strstr(line, "\r\n");
        if (!end)
            return -EPROTO;
        *end = '\0';
        if (first) {
            int status = parse_status(line);
            if (status < 0)
                return status;
            client->status = status;
        } else if (*line) {
            char *colon = strchr(line, ':');
            if (!colon || client->header_count == CLIENT_HEADERS_MAX)
                return -EPROTO;
            *colon = '\0';
            client->headers[client->header_count].name = line;
            client->headers[client->header_count++].value = colon + 1 + strspn(colon + 1, " \t");
        }
        line = end + 2;
    }
    return parse_framing(client);
}

int wire_read_head(struct client *client, time_ms deadline) {
    for (;;) {
        const char *begin = strbuf_text(&client->in) + client->in_taken;
        const char *end = unread(client) ? memmem(begin, unread(client), "\r\n\r\n", 4) : NULL;
        if (end) {
            size_t size = (size_t)(end - begin) + 4;
            strbuf_clear(&client->head);
            strbuf_add(&client->head, begin, size);
            take(client, size);
            if (memchr(client->head.text, '\0', size))
                return -EPROTO;
            int r = parse_head(client);
            if (r < 0 || client->status >= 200)
                return r;
            continue; /* 100 Continue: the real one follows */
        }
        if (unread(client) > HEAD_MAX)
            return -EPROTO;
        int r = wire_read(client, deadline);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            return r == 0 ? -ECONNRESET : r;
    }
}

/* --- the body -------------------------------------------------------------------------------- */

/* A size line, when it is there as a whole. 1: taken. */
static int take_chunk_size(struct client *client) {
    const char *begin = client->in.text + client->in_taken;
    const char *end = memmem(begin, unread(client), "\r\n", 2);
    char digits[20];
    if (!end)
        return unread(client) >= sizeof(digits) ? -EPROTO : 0;
    size_t size = (size_t)(end - begin);
    if (size == 0 || size >= sizeof(digits))
        return -EPROTO;
    memcpy(digits, begin, size);
    digits[size] = '\0';
    if (parse_number(digits, 16, &client->left) < 0)
        return -EPROTO;
    take(client, size + 2);
    client->body = client->left > 0 ? BODY_CHUNK : BODY_LAST;
    return 1;
}

static int take_line_end(struct client *client, enum client_body next) {
    if (unread(client) < 2)
        return 0;
    if (memcmp(client->in.text + client->in_taken, "\r\n", 2) != 0)
        return -EPROTO;
    take(client, 2);
    client->body = next;
    return 1;
}

static int take_data(struct client *client, client_sink sink, void *ctx) {
    size_t size = unread(client);
    if (client->body != BODY_TO_END && size > client->left)
        size = (size_t)client->left;
    if (size == 0)
        return 0;
    int r = sink(ctx, client->in.text + client->in_taken, size);
    take(client, size);
    client->left -= client->body != BODY_TO_END ? size : 0;
    if (client->left == 0 && client->body == BODY_CHUNK)
        client->body = BODY_CHUNK_END;
    return r < 0 ? r : r > 0 ? 2 : 1;
}

int wire_take_body(struct client *client, client_sink sink, void *ctx) {
    for (;;) {
        int r = 0; /* 0: needs more; 1: go on */
        if (client->body == BODY_LENGTH && client->left == 0)
            client->body = BODY_DONE;
        switch (client->body) {
        case BODY_DONE:
            return 1;
        case BODY_LENGTH:
        case BODY_CHUNK:
        case BODY_TO_END:
            r = take_data(client, sink, ctx);
            break;
        case BODY_CHUNK_SIZE:
            r = unread(client) ? take_chunk_size(client) : 0;
            break;
        case BODY_CHUNK_END:
            r = take_line_end(client, BODY_CHUNK_SIZE);
            break;
        case BODY_LAST:
            r = take_line_end(client, BODY_DONE);
            break;
        }
        if (r != 1)
            return r;
    }
}

int wire_take_end(struct client *client) {
    bool complete = client->body == BODY_TO_END || client->body == BODY_DONE;
    client->body = BODY_DONE;
    client->keep_alive = false;
    return complete ? 0 : -ECONNRESET;
}
