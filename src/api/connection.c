/* connection.c: when a connection reads, writes, waits and ends.
 *
 * Every event of a connection (bytes or buffer space arrived, a call was answered, a timer is due)
 * ends in the pump. It moves answers out, sends, and parses input until no progress is possible,
 * and only then decides what to wait for. So no state depends on the order of events, and a
 * connection is freed in one place.
 *
 * The kernel's hang-up distinguishes a client that has disconnected from one that has only finished
 * sending: the latter still gets its answers. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/server_internal.h"
#include "base/alloc.h"

size_t connection_unsent(const struct connection *c) {
    return c->out.length - c->out_sent;
}

static size_t unparsed(const struct connection *c) {
    return c->in.length - c->in_taken;
}

void connection_free(struct connection *c) {
    struct server *server = c->server;
    for (struct exchange *exchange; (exchange = QUEUE_TAKE(&c->exchanges));)
        exchange_free(exchange);
    loop_unwatch(server->loop, c->watch);
    loop_timer_free(server->loop, c->timer);
    c->tls = tls_free(c->tls);
    close(c->fd);
    json_decref(c->params);
    http_parser_finish(&c->parser);
    strbuf_finish(&c->in);
    strbuf_finish(&c->out);
    server->body_bytes -= c->body_counted;
    server->stats.connections--;
    server->run_connections -= c->of_run;
    server->tcp_connections -= c->tcp != NULL;
    LIST_REMOVE(server->connections, c);
    free(c);
}

void connection_queue(struct connection *c, struct exchange *exchange) {
    QUEUE_ADD(&c->exchanges, exchange);
    c->in_flight++;
}

/* --- out ------------------------------------------------------------------------------------- */

static void send_out(struct connection *c) {
    while (connection_unsent(c) > 0 && !c->dead) {
        const char *bytes = c->out.text + c->out_sent;
        size_t size = connection_unsent(c);
        ssize_t n = c->tls ? tls_write(c->tls, bytes, size)
                           : send(c->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            c->out_sent += (size_t)n;
            c->sent += (uint64_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            break;
        } else if (n == 0 || errno != EINTR) {
            c->dead = true;
        }
    }
    if (connection_unsent(c) == 0) {
        http_buffer_empty(&c->out);
        c->out_sent = 0;
    } else if (c->out_sent > OUT_HIGH) {
        memmove(c->out.text, c->out.text + c->out_sent, connection_unsent(c));
        c->out.length -= c->out_sent;
        c->out_sent = 0;
    }
}

static void pop_exchange(struct connection *c) {
    struct exchange *exchange = QUEUE_TAKE(&c->exchanges);
    c->in_flight--;
    if (exchange->kind != EXCHANGE_PLAIN)
        c->streaming = c->stalled = false;
    exchange_free(exchange);
}

/* Lets the stream at the front add bytes while there is room. True: it has ended. */
static bool fill_from(struct connection *c, struct stream *stream) {
    c->stalled = false;
    while (connection_unsent(c) < OUT_LOW && !c->dead) {
        enum stream_state state = stream->fill(stream);
        if (state == STREAM_BROKEN)
            c->dead = true;
        if (state == STREAM_DROPPED)
            c->closing = true;
        if (state == STREAM_ENDED || state == STREAM_DROPPED)
            return true;
        if (state == STREAM_WAITS)
            return false;
        send_out(c);
        if (state == STREAM_PAUSES)
            break;
    }
    c->stalled = true;
    return false;
}

/* Answers leave in the order of their requests. True: something moved. */
static bool move_answers(struct connection *c) {
    bool moved = false;
    while (c->exchanges.first && c->exchanges.first->ready && !c->dead) {
        struct exchange *exchange = c->exchanges.first;
        if (exchange->bytes.length > 0) {
            strbuf_add(&c->out, exchange->bytes.text, exchange->bytes.length);
            strbuf_finish(&exchange->bytes);
            moved = true;
        }
        if (exchange->stream && !fill_from(c, exchange->stream))
            break;
        pop_exchange(c);
        moved = true;
    }
    if (c->owes_continue && !c->exchanges.first) {
        c->owes_continue = false;
        strbuf_puts(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
        moved = true;
    }
    return moved;
}

/* --- in -------------------------------------------------------------------------------------- */

static bool may_parse(const struct connection *c) {
    return !c->dead && !c->closing && !c->streaming && c->in_flight < IN_FLIGHT_MAX
           && connection_unsent(c) < OUT_HIGH;
}

static void count_body(struct connection *c) {
    struct server *server = c->server;
    size_t size = c->parser.request.body.length;
    server->body_bytes += size - c->body_counted;
    c->body_counted = size;
    if (c->parser.step == HTTP_BODY && server->body_bytes > server->options.bodies_max)
        route_refuse(c, 503, "busy", "too many large bodies at once: try again in a moment", true);
}

/* True: there may be more to do. */
static bool parse_step(struct connection *c) {
    struct http_parser *parser = &c->parser;
    if (unparsed(c) > 0)
        c->in_taken += http_parser_feed(parser, c->in.text + c->in_taken, unparsed(c));
    count_body(c);
    switch (parser->step) {
    case HTTP_GOT_HEAD:
        route_head(c);
        return true;
    case HTTP_COMPLETE:
        c->owes_continue = false; /* it did not wait for it */
        c->requests++;
        route_request(c);
        http_parser_next(parser);
        count_body(c);
        return true;
    case HTTP_BROKEN:
        route_refuse(c, parser->status, parser->status == 413 ? "too_large" : "bad_request",
                     parser->problem, true);
        return false;
    case HTTP_HEAD:
    case HTTP_BODY:
        return unparsed(c) > 0;
    }
    return false;
}

static bool parse_requests(struct connection *c) {
    uint64_t before = c->requests + c->closing;
    while (may_parse(c) && parse_step(c))
        ;
    if (unparsed(c) == 0) {
        http_buffer_empty(&c->in);
        c->in_taken = 0;
    }
    return c->requests + c->closing != before;
}

static bool is_hung_up(const struct connection *c) {
    struct pollfd poller = { .fd = c->fd };
    return poll(&poller, 1, 0) > 0 && (poller.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void read_in(struct connection *c) {
    char *buffer = c->server->buffer;
    /* A TLS record is smaller than the buffer. */
    ssize_t n =
        c->tls ? tls_read(c->tls, buffer, READ_SIZE) : recv(c->fd, buffer, READ_SIZE, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0 && !c->lingering)
        strbuf_add(&c->in, buffer, (size_t)n);
    if (n > 0)
        return;
    c->eof = true;
    /* Over TCP the kernel does not know; no client stops sending and then follows a stream. */
    if (n < 0 || c->lingering || is_hung_up(c) || (c->tcp && c->streaming))
        c->dead = true;
}

/* --- what to wait for ------------------------------------------------------------------------ */

static bool wants_read(const struct connection *c) {
    if (c->eof)
        return false;
    if (c->lingering)
        return true;
    /* During a stream only to detect a disconnect. */
    return unparsed(c) == 0 && (may_parse(c) || c->streaming);
}

static bool is_greeting(const struct connection *c) {
    return c->tls && !tls_is_up(c->tls);
}

static enum connection_phase phase_of(const struct connection *c) {
    const struct exchange *exchange = c->exchanges.first;
    if (is_greeting(c))
        return PHASE_HEAD;
    if (c->lingering)
        return PHASE_LINGER;
    if (exchange && exchange->hurry)
        return PHASE_WRITE;
    if (exchange && (exchange->stream || connection_unsent(c) == 0))
        return PHASE_BUSY;
    if (connection_unsent(c) > 0)
        return PHASE_WRITE;
    if (c->parser.step == HTTP_BODY)
        return PHASE_BODY;
    return http_parser_is_fresh(&c->parser) ? PHASE_IDLE : PHASE_HEAD;
}

static time_ms deadline_of(const struct connection *c) {
    const struct server_options *options = &c->server->options;
    switch (c->phase) {
    case PHASE_IDLE:
        return time_add(c->since, options->idle_timeout);
    case PHASE_HEAD:
        return time_add(c->since, options->head_timeout);
    case PHASE_BODY:
        return time_add(c->since, options->body_timeout
                                      + (time_ms)c->parser.request.body.length * 1000 / 1024);
    case PHASE_WRITE:
        return time_add(c->since, options->write_timeout);
    case PHASE_LINGER:
        return time_add(c->since, options->linger_timeout);
    case PHASE_BUSY:
        break;
    }
    return c->access_until; /* a stream ends when its token expires */
}

/* A phase lasts until a request is complete, or the client has read bytes. */
static void set_timer(struct connection *c) {
    enum connection_phase phase = phase_of(c);
    uint64_t mark = phase == PHASE_WRITE ? c->sent : c->requests;
    if (phase != c->phase || mark != c->phase_mark) {
        c->phase = phase;
        c->phase_mark = mark;
        c->since = loop_now_steady(c->server->loop);
    }
    time_ms deadline = deadline_of(c);
    if (deadline == c->deadline)
        return;
    c->deadline = deadline;
    loop_timer_set(c->server->loop, c->timer, deadline);
}

static void wait_for_more(struct connection *c) {
    bool wants_write =
        connection_unsent(c) > 0 || c->stalled || c->woken || (c->tls && tls_wants_write(c->tls));
    loop_watch_change(c->server->loop, c->watch,
                      (wants_read(c) ? LOOP_READ : 0u) | (wants_write ? LOOP_WRITE : 0u));
    set_timer(c);
}

static void finish_if_done(struct connection *c) {
    if (c->exchanges.first || connection_unsent(c) > 0 || c->lingering)
        return;
    if (c->closing && c->broken && !c->eof) {
        /* Closing now would discard the answer while the client is still sending. */
        c->lingering = true;
        (void)shutdown(c->fd, SHUT_WR);
    } else if (c->closing || c->eof) {
        c->dead = true;
    }
}

void connection_pump(struct connection *c) {
    if (c->pumping) {
        c->woken = true; /* answered during the call */
        return;
    }
    c->pumping = true;
    bool more = true;
    while (more && !c->dead) {
        c->woken = false;
        more = move_answers(c);
        send_out(c);
        more |= parse_requests(c);
        more |= c->woken;
    }
    c->pumping = false;
    finish_if_done(c);
    if (c->dead)
        connection_free(c);
    else
        wait_for_more(c);
}

void connection_wake(struct connection *c) {
    c->woken = true;
    if (!c->pumping && !c->dead)
        wait_for_more(c);
}

/* The kernel does not copy the file: all sockets that it is sent to hold the same pages. */
static ssize_t send_file(int fd, int file, const struct iovec *parts, size_t count) {
    off_t at = 0;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].iov_len;
    return sendfile(fd, file, &at, size);
}

bool connection_send_now(struct connection *c, const struct iovec *parts, size_t count, int file) {
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = count };
    if (c->tls || c->dead || c->pumping || connection_unsent(c) > 0)
        return false;
    ssize_t n = file >= 0 ? send_file(c->fd, file, parts, count)
                          : sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
        return false;
    size_t sent = (size_t)n;
    c->sent += sent;
    for (size_t i = 0; i < count; i++) {
        size_t taken = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        strbuf_add(&c->out, (const char *)parts[i].iov_base + taken, parts[i].iov_len - taken);
        sent -= taken;
    }
    if (connection_unsent(c) > 0)
        wait_for_more(c);
    return true;
}

/* --- events ---------------------------------------------------------------------------------- */

static void connection_ready(void *ctx, int fd, unsigned events) {
    struct connection *c = ctx;
    (void)fd;
    if ((events & LOOP_READ || is_greeting(c)) && wants_read(c))
        read_in(c);
    else if (is_hung_up(c))
        c->dead = true;
    connection_pump(c);
}

static void connection_due(void *ctx) {
    struct connection *c = ctx;
    c->deadline = TIME_NEVER;
    c->server->stats.timeouts += c->phase != PHASE_IDLE && c->phase != PHASE_LINGER;
    if ((c->phase == PHASE_HEAD || c->phase == PHASE_BODY) && !is_greeting(c))
        route_refuse(c, 408, "timeout", "the request did not come in time", true);
    else
        c->dead = true;
    connection_pump(c);
}

void connection_stop(struct connection *c) {
    c->closing = true;
    connection_pump(c);
}

void connection_new(struct listener *listener, int fd, const char *user) {
    struct server *server = listener->server;
    struct connection *c = xcalloc(1, sizeof(*c));
    c->server = server;
    c->user = user;
    owner_socket_note(c);
    c->of_run = listener->of_runs;
    c->tcp = listener->tcp;
    c->fd = fd;
    c->deadline = c->access_until = TIME_NEVER;
    c->phase = PHASE_BUSY; /* the first check starts its own phase */
    http_parser_init(&c->parser);
    if (loop_watch(server->loop, fd, LOOP_READ, connection_ready, c, &c->watch) < 0) {
        close(fd);
        free(c);
        return;
    }
    if (c->tcp)
        (void)tcp_peer(fd, &c->peer);
    if (c->tcp && c->tcp->tls)
        c->tls = tls_new(c->tcp->tls, fd);
    c->timer = loop_timer_new(server->loop, connection_due, c);
    LIST_PUSH(server->connections, c);
    server->stats.connections++;
    server->run_connections += c->of_run;
    server->tcp_connections += c->tcp != NULL;
    wait_for_more(c);
}
