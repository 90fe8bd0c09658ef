/* route.c: turns a request into a call, and its outcome into an answer.
 *
 * Nothing here is specific to an operation: method, path, parameters, rights and the kind of answer
 * come from the table. What can be refused without a body is refused at the head, so that a client
 * cannot make the daemon hold 16 MiB for a path that does not exist. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/guard.h"
#include "api/page_key.h"
#include "api/response.h"
#include "api/server_internal.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "engine/executors.h"

#define JSON_TYPE  "application/json"
#define TEXT_TYPE  "text/plain; version=0.0.4; charset=utf-8" /* requested by Prometheus */
#define HTML_TYPE  "text/html; charset=utf-8"
#define CALLER_MAX 200
#define BEARER     "Bearer "

/* A page of its own: without scripts, in no frame, and its form goes back to where it came from. The
 * address is a secret; it is sent back to us alone, which a form needs for its Origin. */
#define LINK_HEADERS                                                                               \
    "Content-Security-Policy: default-src 'none'; form-action 'self'; base-uri 'none'; "           \
    "frame-ancestors 'none'\r\n"                                                                   \
    "Referrer-Policy: same-origin\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                                \
    "X-Frame-Options: DENY\r\n"                                                                    \
    "X-Robots-Tag: noindex\r\n"

/* --- answers --------------------------------------------------------------------------------- */

static struct exchange *exchange_new(struct connection *c) {
    const struct http_request *request = &c->parser.request;
    struct exchange *exchange = xcalloc(1, sizeof(*exchange));
    exchange->connection = c;
    exchange->old = request->old;
    exchange->close = !request->keep_alive || c->server->stopping;
    exchange->head_only = request->method && strcmp(request->method, "HEAD") == 0;
    c->server->stats.requests++;
    return exchange;
}

void exchange_free(struct exchange *exchange) {
    if (exchange->call)
        op_abandon(exchange->call);
    if (exchange->stream)
        exchange->stream->free(exchange->stream);
    mcp_exchange_free(exchange->mcp);
    loop_timer_free(exchange->connection->server->loop, exchange->delay);
    strbuf_finish(&exchange->bytes);
    free(exchange);
}

static void answer(struct exchange *exchange, struct response *response) {
    struct server_stats *stats = &exchange->connection->server->stats;
    stats->client_errors += response->status >= 400 && response->status < 500;
    stats->server_errors += response->status >= 500;
    response->old = exchange->old;
    response->close = exchange->close;
    response->head_only = exchange->head_only;
    response_print(response, &exchange->bytes);
    exchange->ready = true;
}

void exchange_answer(struct exchange *exchange, int status, const char *type, const char *body,
                     size_t size) {
    answer(exchange,
           &(struct response){ .status = status, .type = type, .body = body, .size = size });
}

static void delay_over(void *ctx) {
    struct exchange *exchange = ctx;
    exchange->ready = true;
    connection_pump(exchange->connection);
}

void exchange_delay(struct exchange *exchange, time_ms span) {
    struct loop *loop = exchange->connection->server->loop;
    exchange->ready = false;
    exchange->delay = loop_timer_new(loop, delay_over, exchange);
    loop_timer_set(loop, exchange->delay, time_add(loop_now_steady(loop), span));
}

/* Answers to repeated wrong tokens are delayed. */
static void refuse_guess(struct exchange *exchange) {
    struct connection *c = exchange->connection;
    if (tcp_guard_failed(c->tcp, &c->peer, loop_now_steady(c->server->loop)))
        exchange_delay(exchange, c->server->options.refusal_delay);
}

void exchange_fail(struct exchange *exchange, int status, const char *word, const char *message) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    response_print_error(word, message, &body);
    exchange_answer(exchange, status, JSON_TYPE, strbuf_text(&body), body.length);
}

void exchange_begin_stream(struct exchange *exchange, const char *type, const char *headers,
                           struct stream *stream) {
    exchange->close |= exchange->old; /* the end of the connection marks its end */
    answer(exchange,
           &(struct response){ .status = 200, .type = type, .headers = headers, .stream = true });
    exchange->connection->closing |= exchange->close;
    if (exchange->head_only)
        stream->free(stream);
    else
        exchange->stream = stream;
}

void exchange_send(struct exchange *exchange, const char *bytes, size_t size) {
    response_print_chunk(bytes, size, exchange->old, &exchange->connection->out);
}

/* The bytes as a chunk. Returns the number of parts. */
#define CHUNK_PARTS 3u
static size_t chunk_parts(const char *bytes, size_t size, bool old, char head[RESPONSE_CHUNK_HEAD],
                          struct iovec parts[CHUNK_PARTS]) {
    const char *tail;
    size_t length = response_frame_chunk(size, old, head, &tail);
    parts[0] = (struct iovec){ head, length };
    parts[1] = (struct iovec){ (char *)bytes, size };
    parts[2] = (struct iovec){ (char *)tail, strlen(tail) };
    return CHUNK_PARTS;
}

bool exchange_send_now(struct exchange *exchange, const char *bytes, size_t size, int file) {
    char head[RESPONSE_CHUNK_HEAD];
    struct iovec parts[CHUNK_PARTS];
    size_t count = chunk_parts(bytes, size, exchange->old, head, parts);
    return exchange->connection->exchanges.first == exchange && exchange->bytes.length == 0
           && connection_send_now(exchange->connection, parts, count, exchange->old ? -1 : file);
}

int exchange_chunk_file(const char *bytes, size_t size) {
    char head[RESPONSE_CHUNK_HEAD];
    struct iovec parts[CHUNK_PARTS];
    size_t count = chunk_parts(bytes, size, false, head, parts);
    int file = memfd_create("events", MFD_CLOEXEC);
    size_t length = parts[0].iov_len + size + parts[2].iov_len;
    if (file >= 0 && writev(file, parts, (int)count) == (ssize_t)length)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static void answer_call(struct exchange *exchange, struct op_call *call) {
    if (call->answer.length == 0 && call->err.code != 0)
        op_print_error(&call->err, &call->answer);
    int status = call->status     ? call->status
                 : call->err.code ? op_error_status(call->err.code)
                                  : 200;
    bool is_text = call->op->answer == OP_ANSWER_TEXT && status < 400;
    bool is_page = call->op->answer == OP_ANSWER_PAGE;
    if (is_text)
        server_print_metrics(exchange->connection->server, &call->answer);
    else if (is_page && call->err.code != 0)
        op_print_error_page(&call->err, &call->answer);
    else if (!is_page)
        strbuf_putc(&call->answer, '\n');
    answer(exchange, &(struct response){ .status = status,
                                         .type = is_text   ? TEXT_TYPE
                                                 : is_page ? HTML_TYPE
                                                           : JSON_TYPE,
                                         .headers = is_page          ? LINK_HEADERS
                                                    : call->replayed ? "Idempotent-Replay: true\r\n"
                                                                     : NULL,
                                         .body = strbuf_text(&call->answer),
                                         .size = call->answer.length });
    bool is_guess = status == 401 || (is_page && status == 404);
    if (is_guess && exchange->connection->tcp)
        refuse_guess(exchange);
}

static void call_answered(struct op_call *call, void *ctx) {
    struct exchange *exchange = ctx;
    struct connection *c = exchange->connection;
    struct server *server = c->server;
    bool failed = call->err.code != 0;
    bool stops = call->stops_daemon && !failed;
    exchange->call = NULL;
    if (exchange->kind == EXCHANGE_EVENTS && !failed)
        events_begin(exchange, call);
    else if (exchange->kind == EXCHANGE_LOG && !failed)
        log_begin(exchange, call);
    else
        answer_call(exchange, call);
    connection_pump(c);
    op_call_free(call); /* after the answer: freeing ten thousand tasks takes a while */
    if (stops && server->options.stop_asked)
        server->options.stop_asked(server->options.ctx);
}

/* --- refusals -------------------------------------------------------------------------------- */

static struct exchange *queue_answer(struct connection *c, struct response *response) {
    struct exchange *exchange = exchange_new(c);
    c->closing |= exchange->close;
    exchange->close = c->closing;
    answer(exchange, response);
    connection_queue(c, exchange);
    return exchange;
}

static void refuse(struct connection *c, const struct guard_verdict *verdict, const char *allow) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    bool is_stale = verdict->headers != NULL; /* signed by its key: no guess */
    response_print_error(verdict->word, verdict->message, &body);
    struct exchange *exchange = queue_answer(
        c, &(struct response){ .status = verdict->status,
                               .type = JSON_TYPE,
                               .allow = allow,
                               .headers = is_stale                 ? verdict->headers
                                          : verdict->status == 401 ? "WWW-Authenticate: Bearer\r\n"
                                                                   : NULL,
                               .body = strbuf_text(&body),
                               .size = body.length });
    if (verdict->status == 401 && !is_stale)
        refuse_guess(exchange);
}

/* A request that is answered at its head: if it has a body, the connection ends without reading
 * it. */
static void skip_body(struct connection *c) {
    if (c->parser.request.has_body)
        c->closing = c->broken = true;
    else
        http_parser_take_body(&c->parser, 0);
}

void route_answer(struct connection *c, struct response *response) {
    skip_body(c);
    (void)queue_answer(c, response);
}

void route_refuse(struct connection *c, int status, const char *word, const char *message,
                  bool close) {
    if (close) {
        c->closing = c->broken = true;
        c->owes_continue = false;
    }
    refuse(c, &(struct guard_verdict){ status, word, message }, NULL);
}

/* --- the head -------------------------------------------------------------------------------- */

/* Large batches are accepted from clients that may add tasks. */
static size_t body_max(const struct connection *c, const struct op *op) {
    const struct server *server = c->server;
    bool trusted = c->tcp ? c->access.access.scope >= ACCESS_SUBMIT : !c->of_run;
    bool bulk = trusted && strcmp(op->method, "POST") == 0 && strcmp(op->path, "/v1/tasks") == 0;
    return bulk ? server->options.bulk_body_max : server->options.body_max;
}

static void refuse_head(struct connection *c, const struct guard_verdict *verdict,
                        const char *allow) {
    skip_body(c);
    refuse(c, verdict, allow);
}

/* The owner's socket takes no token; the runs' socket requires one. */
static struct guard_verdict check_token(const struct connection *c,
                                        const struct http_request *request) {
    const char *header = http_request_header(request, "authorization");
    if (!c->of_run && header)
        return (struct guard_verdict){ 403, "refused", OWNER_SOCKET_REFUSAL };
    if (c->of_run
        && (!header || strncasecmp(header, BEARER, strlen(BEARER)) != 0
            || strlen(header) - strlen(BEARER) >= sizeof(((struct op_run *)NULL)->token)
            || header[strlen(BEARER)] == '\0'))
        return (struct guard_verdict){ 403, "refused",
                                       "this socket is for runs: the header Authorization: Bearer "
                                       "with a SLUICE_TOKEN is missing" };
    return (struct guard_verdict){ 0 };
}

/* The session that has signed the request, or NULL. With the `boot` of another daemon it is stale:
 * the answer says which one to use, and the page tries again. */
static const struct engine_access *find_signer(struct connection *c,
                                               const struct http_request *request,
                                               const char *value, struct guard_verdict *verdict) {
    struct server *server = c->server;
    struct page_key_header header;
    const char *host = http_request_header(request, "host");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    /* Without TLS the name says nothing: another program may listen at ::1 and pass on what a browser
     * sends to it. */
    bool is_named = !c->tls && host && strncasecmp(host, "localhost", strlen("localhost")) == 0;
    const struct engine_access *page = !is_named && page_key_parse(value, &header)
                                           ? engine_find_page(server->engine, header.id)
                                           : NULL;
    if (!page)
        return NULL;
    page_key_text(request, &header, &text);
    if (!page_key_verify(page->key, text.text, text.length, header.signature))
        return NULL;
    if (strcmp(header.boot, engine_boot(server->engine)) != 0) {
        if (!server->boot_header)
            server->boot_header = xasprintf("WWW-Authenticate: Sluice-Key\r\nX-Sluice-Boot: %s\r\n",
                                            engine_boot(server->engine));
        *verdict = (struct guard_verdict){
            401, "stale", "this request was signed for another start of the daemon: sign it again",
            server->boot_header
        };
        return NULL;
    }
    memcpy(c->signed_body, header.body, sizeof(header.body));
    return page;
}

/* Over TCP: finds the owner of the token, or of the key. Some operations need none. */
static struct guard_verdict check_access(struct connection *c, const struct http_request *request) {
    const char *header = http_request_header(request, "authorization");
    struct engine *engine = c->server->engine;
    struct tcp_end end;
    c->access = (struct exchange_caller){ .access = { .remote = true } };
    c->access_until = TIME_NEVER;
    c->signed_body[0] = '\0';
    const char *token =
        header && strncasecmp(header, BEARER, strlen(BEARER)) == 0 ? header + strlen(BEARER) : NULL;
    struct guard_verdict stale = { 0 };
    const struct engine_access *found = token    ? engine_find_access(engine, token)
                                        : header ? find_signer(c, request, header, &stale)
                                                 : NULL;
    if (stale.status != 0)
        return stale;
    /* A run on another machine, placed there by Slurm or left there by a failover, can only connect
     * over TCP. Its token has the same rights as at the runs' socket; the token of a run on this
     * machine is refused here. */
    if (!found && token && engine_run_is_remote(engine, token)) {
        (void)snprintf(c->access.token.token, sizeof(c->access.token.token), "%s", token);
        return (struct guard_verdict){ 0 };
    }
    /* Only programs of this user may exchange a code for a token. */
    bool is_open = !found && !header && c->op && c->op->open;
    if (is_open && c->op->writes && !c->op->form && tcp_peer_end(c->fd, &end) == 0
        && end.user != geteuid() && end.user != 0)
        return (struct guard_verdict){ 403, "refused",
                                       "this link is for programs of the user that asked for it" };
    if (is_open)
        return (struct guard_verdict){ 0 };
    if (!found)
        return (struct guard_verdict){
            401, "unauthorized",
            header ? "this token is none, or has ended: run 'sluice dash' again, or make one with "
                     "'sluice token add'"
                   : "the header Authorization: Bearer with a token is missing: 'sluice token add' "
                     "makes one"
        };
    time_ms left = engine_access_left(engine, found);
    c->access.access.scope = found->scope;
    memcpy(c->access.access.id, found->id, sizeof(found->id));
    (void)snprintf(c->access.name, sizeof(c->access.name), "token %s", found->name);
    if (left != TIME_NEVER)
        c->access_until = time_add(loop_now_steady(c->server->loop), left);
    engine_use_access(engine, found->id);
    return (struct guard_verdict){ 0 };
}

static void take_body(struct connection *c, size_t max) {
    http_parser_take_body(&c->parser, max);
    c->owes_continue = c->parser.request.expects_continue && c->parser.step == HTTP_BODY;
}

void route_head(struct connection *c) {
    struct http_request *request = &c->parser.request;
    const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
    const char *allowed = NULL;
    c->op = NULL;
    c->mcp = strcmp(request->path, MCP_PATH) == 0;
    if (!owner_socket_check(c))
        return;
    const struct guard *guard = c->tcp ? &c->tcp->guard : &c->server->guard;
    struct guard_verdict verdict =
        c->mcp ? guard_check_mcp(guard, request) : guard_check(guard, request);
    if (verdict.status == 0 && !c->tcp)
        verdict = check_token(c, request);
    if (verdict.status == 0 && (standby_answer(c) || page_answer(c)))
        return;
    if (verdict.status == 0 && !c->mcp)
        c->op = op_route(method, request->path, &c->params, &allowed);
    if (verdict.status == 0 && c->tcp)
        verdict = check_access(c, request);
    if (verdict.status != 0) {
        const char *methods = c->mcp ? "POST" : "GET, HEAD, POST";
        json_decref(c->params);
        c->params = NULL;
        c->op = NULL;
        c->mcp = false;
        refuse_head(c, &verdict, verdict.status == 405 ? methods : NULL);
    } else if (c->mcp) {
        take_body(c, c->server->options.body_max);
    } else if (!c->op && allowed) {
        verdict = (struct guard_verdict){ 405, "bad_method", "this path takes another method" };
        refuse_head(c, &verdict, strcmp(allowed, "GET") == 0 ? "GET, HEAD" : allowed);
    } else if (!c->op) {
        verdict = (struct guard_verdict){ 404, "not_found", "there is nothing at this path" };
        refuse_head(c, &verdict, NULL);
    } else {
        take_body(c, body_max(c, c->op));
    }
}

static int check_caller(const struct http_request *request, struct error *err) {
    const char *run = http_request_header(request, "x-sluice-run");
    size_t length = 0;
    while (run && isgraph((unsigned char)run[length]))
        length++;
    if (run && (length == 0 || length > CALLER_MAX || run[length]))
        return error_set(err, -EINVAL, "the header X-Sluice-Run is not the name of a run");
    return 0;
}

static int take_params(const struct op *op, const struct http_request *request, json_t *params,
                       struct error *err) {
    const char *key = http_request_header(request, "idempotency-key");
    if (key && !op_key_is_valid(key))
        return error_set(err, -EINVAL,
                         "the header Idempotency-Key needs 8 to 128 printable characters");
    int r = check_caller(request, err);
    if (r >= 0 && request->query)
        r = op_take_query(op, request->query, params, err);
    if (r >= 0 && request->body.length > 0)
        r = (op->form && guard_is_form(request) ? op_take_form : op_take_body)(
            op, request->body.text, request->body.length, params, err);
    return r;
}

/* --- who asks -------------------------------------------------------------------------------- */

void exchange_take_caller(const struct exchange *exchange, const struct http_request *request,
                          struct exchange_caller *ret) {
    const char *run = http_request_header(request, "x-sluice-run");
    *ret = exchange->connection->access; /* empty unless over TCP */
    ret->run = run ? xstrdup(run) : NULL;
    if (exchange->connection->of_run)
        (void)snprintf(ret->token.token, sizeof(ret->token.token), "%s",
                       http_request_header(request, "authorization") + strlen(BEARER));
}

void exchange_caller_finish(struct exchange_caller *caller) {
    free(caller->run);
}

void exchange_set_caller(struct op_call *call, const struct exchange *exchange,
                         const struct exchange_caller *caller) {
    call->caller = caller->run ? xstrdup(caller->run) : NULL;
    call->user = xstrdup(caller->name[0]              ? caller->name
                         : exchange->connection->user ? exchange->connection->user
                                                      : "over TCP");
    call->run = caller->token;
    call->access = caller->access;
}

static enum exchange_kind kind_of(const struct op *op, const struct http_request *request) {
    const char *accept = http_request_header(request, "accept");
    if (op->answer == OP_ANSWER_LOG || op->answer == OP_ANSWER_FILE)
        return EXCHANGE_LOG;
    if (op->answer == OP_ANSWER_EVENTS && accept && http_value_has(accept, "text/event-stream"))
        return EXCHANGE_EVENTS;
    return EXCHANGE_PLAIN;
}

static void submit(struct connection *c, struct exchange *exchange, json_t *params) {
    const struct http_request *request = &c->parser.request;
    const char *key = http_request_header(request, "idempotency-key");
    struct exchange_caller caller;
    struct op_call *call = op_call_new(c->op, c->server->engine, params, key);
    call->answered = call_answered;
    call->ctx = exchange;
    call->find_peer = c->tcp ? server_find_peer : NULL;
    exchange_take_caller(exchange, request, &caller);
    exchange_set_caller(call, exchange, &caller);
    exchange_caller_finish(&caller);
    exchange->call = call;
    c->streaming = exchange->kind != EXCHANGE_PLAIN;
    op_submit(call);
}

static void refuse_params(struct exchange *exchange, const struct op *op, const struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    bool is_page = op->answer == OP_ANSWER_PAGE;
    if (is_page) {
        op_print_error_page(err, &body);
    } else {
        op_print_error(err, &body);
        strbuf_putc(&body, '\n');
    }
    answer(exchange, &(struct response){ .status = op_error_status(err->code),
                                         .type = is_page ? HTML_TYPE : JSON_TYPE,
                                         .headers = is_page ? LINK_HEADERS : NULL,
                                         .body = strbuf_text(&body),
                                         .size = body.length });
}

void route_request(struct connection *c) {
    const struct http_request *request = &c->parser.request;
    json_t *params = TAKE_PTR(c->params);
    bool is_mcp = c->mcp;
    c->mcp = false;
    if (!c->op && !is_mcp) /* refused at its head */
        return;
    struct error err = { 0 };
    struct exchange *exchange = exchange_new(c);
    c->closing |= exchange->close;
    connection_queue(c, exchange);
    if (c->tcp && c->signed_body[0] && !page_key_body_fits(request, c->signed_body)) {
        json_decref(params);
        exchange_fail(exchange, 401, "unauthorized", "the body is not the one that was signed");
        refuse_guess(exchange);
        return;
    }
    if (is_mcp && check_caller(request, &err) < 0) {
        exchange_fail(exchange, 400, "bad_request", err.text);
        return;
    }
    if (is_mcp) { /* one message; later requests wait, as behind a stream */
        exchange->kind = EXCHANGE_MCP;
        c->streaming = true;
        mcp_exchange_begin(exchange, request);
        return;
    }
    assert(params);
    int r = take_params(c->op, request, params, &err);
    enum exchange_kind kind = kind_of(c->op, request);
    if (r >= 0 && kind == EXCHANGE_EVENTS)
        r = events_prepare(exchange, request, params, &err);
    if (r >= 0)
        r = op_check(c->op, params, &err);
    if (r < 0) {
        json_decref(params);
        refuse_params(exchange, c->op, &err);
        return;
    }
    exchange->kind = kind;
    submit(c, exchange, params);
}
