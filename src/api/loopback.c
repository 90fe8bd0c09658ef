/* loopback.c: see loopback.h.
 *
 * Requests of one connection are answered one at a time, before the next is read. An answer is
 * short, so it fits into the kernel's buffer of a client that reads; for one that does not, nothing
 * is buffered here. */
#include "api/loopback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "base/alloc.h"

#define BACKLOG      64
#define PIECE_SIZE   16384
#define READS_EACH   16         /* per client and round, for fairness */
#define ACCEPT_PAUSE SECONDS(1) /* when file descriptors run out */

struct client {
    struct client *next;
    struct loopback *loopback;
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer;
    time_ms since; /* since when it has been idle */
    struct http_parser parser;
    bool known;  /* the path of the current request is served */
    bool closes; /* after the next answer */
};

struct loopback {
    struct listener listener; /* first: listener_accept passes it back */
    struct loop *loop;
    struct loopback_options options;
    char address[TCP_TEXT_MAX];
    struct client *clients;
    unsigned count;
};

/* --- clients --------------------------------------------------------------------------------- */

static void client_free(struct loopback *lb, struct client *c) {
    loop_unwatch(lb->loop, c->watch);
    loop_timer_free(lb->loop, c->timer);
    http_parser_finish(&c->parser);
    close(c->fd);
    struct client **at = &lb->clients;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    lb->count--;
    free(c);
}

static void client_late(void *ctx) {
    struct client *c = ctx;
    client_free(c->loopback, c);
}

static void set_deadline(struct client *c, time_ms span) {
    struct loop *loop = c->loopback->loop;
    loop_timer_set(loop, c->timer, time_add(loop_now_steady(loop), span));
}

static void set_idle(struct client *c) {
    c->since = loop_now_steady(c->loopback->loop);
    set_deadline(c, c->loopback->options.idle_timeout);
}

static bool send_all(struct client *c, const char *bytes, size_t size) {
    ssize_t n = send(c->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 && (size_t)n == size;
}

static bool answer(struct client *c, int status, const char *word, const char *message) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT, out = STRBUF_INIT;
    if (status == 200)
        strbuf_puts(&body, "{}");
    else
        response_print_error(word, message, &body);
    struct response response = { .status = status,
                                 .type = "application/json",
                                 .body = strbuf_text(&body),
                                 .size = body.length,
                                 .close = c->closes };
    response_print(&response, &out);
    return send_all(c, strbuf_text(&out), out.length) && !c->closes;
}

/* The same answer for every error, so a client learns nothing. The connection ends, because its
 * body is not read. */
static bool refuse(struct client *c) {
    c->closes = true;
    return answer(c, 404, "not_found", "nothing is served here");
}

static bool is_accepted(const struct client *c) {
    const struct http_request *request = &c->parser.request;
    const char *const hosts[] = { c->loopback->address, NULL };
    struct guard guard = { .hosts = hosts };
    struct guard_verdict verdict = guard_check(&guard, request);
    return (verdict.status == 0 || verdict.status == 415) && strcmp(request->method, "POST") == 0
           && !request->query
           && c->loopback->options.knows(c->loopback->options.ctx, request->path);
}

/* At GOT_HEAD. False: the client disconnected. */
static bool take_head(struct client *c) {
    const struct http_request *request = &c->parser.request;
    const char *type = http_request_header(request, "content-type");
    const char *coding = http_request_header(request, "content-encoding");
    if (!is_accepted(c))
        return refuse(c);
    c->known = true;
    c->closes = !request->keep_alive || request->old;
    if (!http_value_has(type ? type : "", "application/json")
        || (coding && strcasecmp(coding, "identity") != 0)) {
        c->closes = true;
        return answer(c, 415, "bad_type",
                      "only JSON is taken, not compressed: OTEL_EXPORTER_OTLP_PROTOCOL=http/json");
    }
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (request->expects_continue && !send_all(c, interim, strlen(interim)))
        return false;
    http_parser_take_body(&c->parser, c->loopback->options.body_max);
    return true;
}

/* At COMPLETE. False: the client disconnected. */
static bool take_request(struct client *c) {
    const struct loopback_options *options = &c->loopback->options;
    const struct http_request *request = &c->parser.request;
    struct error err = { 0 };
    int r = options->take(options->ctx, request->path, strbuf_text(&request->body),
                          request->body.length, &err);
    bool stays = r == -ENOENT   ? refuse(c)
                 : r == -EAGAIN ? answer(c, 429, "too_often", "send less often")
                 : r < 0        ? answer(c, 400, "bad_request", err.text)
                                : answer(c, 200, NULL, NULL);
    if (!stays)
        return false;
    http_parser_next(&c->parser);
    c->known = false;
    set_idle(c);
    return true;
}

static bool feed(struct client *c, const char *bytes, size_t size) {
    if (http_parser_is_fresh(&c->parser))
        set_deadline(c, c->loopback->options.request_timeout);
    for (;;) {
        size_t taken = http_parser_feed(&c->parser, bytes, size);
        bool stays = true;
        bytes += taken;
        size -= taken;
        switch (c->parser.step) {
        case HTTP_GOT_HEAD:
            stays = take_head(c);
            break;
        case HTTP_COMPLETE:
            stays = take_request(c);
            break;
        case HTTP_BROKEN:
            c->closes = true;
            stays = c->known ? answer(c, c->parser.status,
                                      c->parser.status == 413 ? "too_large" : "bad_request",
                                      c->parser.problem)
                             : refuse(c);
            break;
        case HTTP_HEAD:
        case HTTP_BODY:
            break;
        }
        if (!stays)
            return false;
        bool waits = c->parser.step == HTTP_HEAD || c->parser.step == HTTP_BODY;
        if (waits && size == 0)
            return true;
        if (http_parser_is_fresh(&c->parser) && size > 0)
            set_deadline(c, c->loopback->options.request_timeout);
    }
}

static void client_ready(void *ctx, int fd, unsigned events) {
    struct client *c = ctx;
    char bytes[PIECE_SIZE];
    (void)events;
    for (int i = 0; i < READS_EACH; i++) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0 || !feed(c, bytes, (size_t)n)) {
            client_free(c->loopback, c);
            return;
        }
    }
}

/* --- the listener ---------------------------------------------------------------------------- */

/* Closes the client that has been idle longest. Clients in the middle of a request stay; if all
 * are, the request deadline makes room. */
static bool make_room(struct loopback *lb) {
    struct client *idlest = NULL;
    if (lb->count < lb->options.connections_max)
        return true;
    for (struct client *c = lb->clients; c; c = c->next)
        if (http_parser_is_fresh(&c->parser) && (!idlest || c->since <= idlest->since))
            idlest = c;
    if (!idlest)
        return false;
    client_free(lb, idlest);
    return true;
}

static void client_new(struct listener *listener, int fd) {
    struct loopback *lb = (struct loopback *)listener;
    if (!make_room(lb)) {
        close(fd);
        return;
    }
    struct client *c = xcalloc(1, sizeof(*c));
    c->loopback = lb;
    c->fd = fd;
    c->next = lb->clients;
    lb->clients = c;
    lb->count++;
    http_parser_init(&c->parser);
    c->timer = loop_timer_new(lb->loop, client_late, c);
    set_idle(c);
    if (loop_watch(lb->loop, fd, LOOP_READ, client_ready, c, &c->watch) < 0)
        client_free(lb, c);
}

static void accept_ready(void *ctx, int fd, unsigned events) {
    (void)fd, (void)events;
    listener_accept(ctx, ACCEPT_PAUSE, client_new);
}

static int open_socket(struct loopback *lb, const char *text, struct error *err) {
    struct tcp_address address;
    int fd = -1;
    if (tcp_parse(text, &address, NULL) < 0 || !tcp_is_loopback(&address))
        return error_set(err, -EINVAL,
                         "'%s' is not an address of this machine alone (example: 127.0.0.1:4318)",
                         text);
    int r = tcp_listen(&address, BACKLOG, &fd, err);
    if (r < 0)
        return r;
    if (tcp_local(fd, &address) == 0) /* with the actual port */
        (void)tcp_print(&address, lb->address);
    return listener_begin(&lb->listener, fd, text, accept_ready, err);
}

int loopback_new(struct loop *loop, const struct loopback_options *options,
                 struct loopback **ret_loopback, struct error *err) {
    struct loopback *lb = xcalloc(1, sizeof(*lb));
    lb->loop = loop;
    lb->options = *options;
    lb->options.address = NULL;
    lb->options.connections_max = options->connections_max ? options->connections_max : 128;
    lb->options.body_max = options->body_max ? options->body_max : (size_t)1024 * 1024;
    lb->options.request_timeout = options->request_timeout ? options->request_timeout : SECONDS(10);
    lb->options.idle_timeout = options->idle_timeout ? options->idle_timeout : SECONDS(120);
    lb->listener = (struct listener){ .loop = loop, .fd = -1 };
    int r = open_socket(lb, options->address, err);
    if (r < 0) {
        loopback_free(lb);
        return r;
    }
    *ret_loopback = lb;
    return 0;
}

struct loopback *loopback_free(struct loopback *lb) {
    if (!lb)
        return NULL;
    for (struct client *c = lb->clients, *next; c; c = next) {
        next = c->next;
        client_free(lb, c);
    }
    listener_finish(&lb->listener);
    free(lb);
    return NULL;
}

const char *loopback_address(const struct loopback *lb) {
    return lb->address;
}
