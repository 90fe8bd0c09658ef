/* mcp_exchange.c: POST /mcp: one MCP message, answered by the operations of this daemon.
 *
 * The protocol is in mcp/, which knows nothing of HTTP but three headers. This file provides
 * operations by name, the events of the engine, and the time. An answer alone is one JSON object;
 * if a notification precedes it, the answer is a stream of events. A disconnect cancels what the
 * client waited for, because the exchange is freed with its connection. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/server_internal.h"
#include "base/alloc.h"
#include "engine/redaction.h"
#include "mcp/mcp.h"
#include "os/outside.h"

#define STREAM_TYPE "text/event-stream"
#define JSON_TYPE   "application/json"

/* A pending operation of the protocol. */
struct mcp_call {
    struct mcp_call *next;
    struct mcp_exchange *owner;
    struct mcp_question *question;
    struct op_call *call;
};

struct mcp_exchange {
    struct stream stream; /* first: fill gets it back */
    struct exchange *exchange;
    struct mcp_exchange *next, *previous;
    struct mcp *mcp;
    struct mcp_call *calls;
    struct exchange_caller caller;
    struct strbuf out; /* unsent bytes of the stream */
    struct loop_timer *timer;
    time_ms sent_at; /* when something was last sent */
    bool watching;
    bool begun; /* the answer is a stream */
    bool over;  /* complete */
    bool slow;  /* the client does not read fast enough */
};

static struct server *server_of(const struct mcp_exchange *m) {
    return m->exchange->connection->server;
}

static time_ms now_of(const struct mcp_exchange *m) {
    return loop_now_steady(server_of(m)->loop);
}

/* --- out ------------------------------------------------------------------------------------- */

static enum stream_state stream_fill(struct stream *stream) {
    struct mcp_exchange *m = (struct mcp_exchange *)stream;
    if (m->slow)
        return STREAM_DROPPED;
    if (m->out.length > 0) {
        exchange_send(m->exchange, m->out.text, m->out.length);
        strbuf_finish(&m->out);
        return STREAM_GOES_ON;
    }
    if (!m->over)
        return STREAM_WAITS;
    exchange_send(m->exchange, "", 0);
    return STREAM_ENDED;
}

static void stream_free(struct stream *stream) {
    (void)stream;
}

static void begin_stream(struct mcp_exchange *m) {
    const char *why = stream_share_take(m->exchange->connection, STREAM_OF_MCP, &m->caller.token);
    if (why) {
        exchange_fail(m->exchange, 503, "busy", why);
        m->over = true;
        return;
    }
    m->begun = true;
    exchange_begin_stream(m->exchange, STREAM_TYPE, "X-Accel-Buffering: no\r\n", &m->stream);
}

static void on_send(void *ctx, enum mcp_kind kind, const char *text, size_t size) {
    struct mcp_exchange *m = ctx;
    struct connection *c = m->exchange->connection;
    if (m->over)
        return;
    if (kind == MCP_NOTICE && !m->begun)
        begin_stream(m);
    if (m->begun) {
        m->slow |= m->out.length > server_of(m)->options.queue_max;
        strbuf_puts(&m->out, "event: message\ndata: ");
        strbuf_add(&m->out, text, size);
        strbuf_puts(&m->out, "\n\n");
        m->sent_at = now_of(m);
    } else if (!m->over) {
        exchange_answer(m->exchange, mcp_status(m->mcp), JSON_TYPE, text, size);
        m->over = true;
    }
    connection_wake(c);
}

/* Checks whether the answer is complete, and sets the timer. */
static void settle(struct mcp_exchange *m) {
    struct server *server = server_of(m);
    if (mcp_open_requests(m->mcp) == 0 && !m->over) {
        m->over = true;
        if (!m->begun)
            exchange_answer(m->exchange, mcp_status(m->mcp), JSON_TYPE, "", 0);
        connection_wake(m->exchange->connection);
    }
    time_ms next = m->over ? TIME_NEVER : mcp_next_tick(m->mcp);
    if (m->begun && !m->over)
        next = time_min(next, time_add(m->sent_at, server->options.comment_every));
    if (next == TIME_NEVER)
        loop_timer_clear(server->loop, m->timer);
    else
        loop_timer_set(server->loop, m->timer, next);
}

static void on_due(void *ctx) {
    struct mcp_exchange *m = ctx;
    time_ms now = now_of(m);
    mcp_tick(m->mcp, now);
    if (m->begun && !m->over && now >= time_add(m->sent_at, server_of(m)->options.comment_every)) {
        strbuf_puts(&m->out, ":\n\n"); /* keep-alive */
        m->sent_at = now;
        connection_wake(m->exchange->connection);
    }
    settle(m);
}

/* --- operations ------------------------------------------------------------------------------ */

static void on_watch(void *ctx, bool wanted) {
    struct mcp_exchange *m = ctx;
    m->watching = wanted;
}

static void mcp_call_free(struct mcp_call *pending) {
    struct mcp_call **link = &pending->owner->calls;
    while (*link != pending)
        link = &(*link)->next;
    *link = pending->next;
    free(pending);
}

static void on_drop(void *ctx, struct mcp_question *question) {
    struct mcp_call *pending = question->own;
    (void)ctx;
    if (!pending)
        return;
    op_abandon(pending->call);
    mcp_call_free(pending);
}

/* A part of a log, redacted. No file: no output. */
static void read_part(const struct op_call *call, const char *path, struct redact_range range,
                      struct strbuf *out) {
    struct engine_run run;
    off_t size = 0;
    range.grows =
        engine_live_run(call->engine, call->log.task, &run) && run.attempt == call->log.attempt;
    char *space = xmalloc(REDACT_FILE_SPACE(range.size));
    const char *bytes = space;
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, &size, NULL);
    if (range.offset < 0)
        range.offset = size > -range.offset ? size + range.offset : 0;
    ssize_t n = fd >= 0 ? engine_read_log(call->engine, fd, &range, space, &bytes) : -1;
    strbuf_add(out, bytes, n > 0 ? (size_t)n : 0);
    free(space);
}

/* The tail of a log; of merged ones the tail of each. */
static void read_log(const struct op_call *call, struct strbuf *out) {
    const char *path = call->log.path, *slash = strrchr(path, '/');
    if (!call->log.order || !slash) {
        read_part(call, path, (struct redact_range){ (off_t)call->log.offset, MCP_LOG_MAX }, out);
        return;
    }
    size_t half = MCP_LOG_MAX / 2;
    if (call->log.tail > 0 && call->log.tail / 2 < half)
        half = call->log.tail / 2 + 1;
    const struct redact_range end = { -(off_t)half, half };
    _cleanup_(freep) char *errors = xasprintf("%.*s/err.log", (int)(slash - path), path);
    read_part(call, path, end, out);
    read_part(call, errors, end, out);
}

static void on_answered(struct op_call *call, void *ctx) {
    struct mcp_call *pending = ctx;
    struct mcp_exchange *m = pending->owner;
    struct mcp_question *question = pending->question;
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    struct mcp_reply reply = { .code = call->err.code, .message = call->err.text, .index = -1 };
    mcp_call_free(pending);
    question->own = NULL;
    m->caller.token = call->run; /* the run was resolved from the token */
    if (reply.code < 0) {
        reply.index = call->index;
    } else if (call->op->answer == OP_ANSWER_LOG || call->op->answer == OP_ANSWER_FILE) {
        read_log(call, &bytes);
        reply.bytes = strbuf_text(&bytes);
        reply.size = bytes.length;
    } else {
        reply.value = json_loadb(strbuf_text(&call->answer), call->answer.length, 0, NULL);
    }
    if (reply.code == 0 && !reply.bytes && !reply.value) {
        reply.code = -EIO;
        reply.message = "the answer of the operation is not JSON";
    }
    mcp_answer(question, &reply, now_of(m));
    json_decref(reply.value);
    op_call_free(call);
    settle(m);
}

/* As if they had come over HTTP: parameters of the body go through its parser. */
static int take_params(const struct mcp_question *question, const struct op *op, json_t *params,
                       struct error *err) {
    json_t *body = json_object(), *value;
    const char *name;
    json_object_foreach(question->params, name, value) {
        const struct mcp_param *param = mcp_param_find(question->op->params, name);
        bool in_body = !param || strcmp(param->place, "body") == 0;
        (void)json_object_set(in_body ? body : params, name, value);
    }
    char *text = json_object_size(body) > 0
                     ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15))
                     : NULL;
    int r = text ? op_take_body(op, text, strlen(text), params, err) : 0;
    free(text);
    json_decref(body);
    return r < 0 ? r : op_check(op, params, err);
}

static void on_ask(void *ctx, struct mcp_question *question) {
    struct mcp_exchange *m = ctx;
    const struct op *op = op_find(question->op->name);
    json_t *params = json_object();
    struct error err = { 0 };
    int r = op ? take_params(question, op, params, &err)
               : error_set(&err, -ENOTSUP, "there is no operation '%s' here", question->op->name);
    if (r < 0) {
        json_decref(params);
        mcp_answer(question, &(struct mcp_reply){ .code = r, .message = err.text, .index = -1 },
                   now_of(m));
        return;
    }
    struct mcp_call *pending = xcalloc(1, sizeof(*pending));
    *pending = (struct mcp_call){ .next = m->calls, .owner = m, .question = question };
    m->calls = pending;
    question->own = pending;
    pending->call = op_call_new(op, server_of(m)->engine, params, NULL);
    exchange_set_caller(pending->call, m->exchange, &m->caller);
    pending->call->answered = on_answered;
    pending->call->ctx = pending;
    op_submit(pending->call);
}

/* --- life ------------------------------------------------------------------------------------ */

void mcp_exchange_begin(struct exchange *exchange, const struct http_request *request) {
    struct server *server = exchange->connection->server;
    struct mcp_exchange *m = xcalloc(1, sizeof(*m));
    const struct mcp_headers headers = {
        .version = http_request_header(request, "mcp-protocol-version"),
        .method = http_request_header(request, "mcp-method"),
        .name = http_request_header(request, "mcp-name"),
    };
    m->stream = (struct stream){ stream_fill, stream_free };
    m->exchange = exchange;
    exchange->mcp = m;
    LIST_PUSH(server->mcp_exchanges, m);
    m->timer = loop_timer_new(server->loop, on_due, m);
    exchange_take_caller(exchange, request, &m->caller);
    const struct mcp_backend backend = { on_ask, on_drop, on_watch, on_send, m };
    const struct mcp_options options = { .run = m->caller.run, .headers = &headers };
    m->mcp = mcp_new(&backend, &options);
    mcp_receive(m->mcp, strbuf_text(&request->body), request->body.length, now_of(m));
    if (server->stopping)
        mcp_stop(m->mcp, now_of(m));
    settle(m);
}

void mcp_exchange_free(struct mcp_exchange *m) {
    if (!m)
        return;
    struct server *server = server_of(m);
    m->over = true;
    mcp_free(m->mcp);
    loop_timer_free(server->loop, m->timer);
    if (m->begun)
        stream_share_give(m->exchange->connection);
    LIST_REMOVE(server->mcp_exchanges, m);
    exchange_caller_finish(&m->caller);
    strbuf_finish(&m->out);
    free(m);
}

void mcp_publish(struct server *server, const struct event_row *event) {
    char buffer[ENGINE_ID_MAX];
    const char *id = NULL;
    for (struct mcp_exchange *m = server->mcp_exchanges; m; m = m->next) {
        if (!m->watching || !op_run_sees(server->engine, &m->caller.token, event->task))
            continue;
        if (!id)
            id = event->task ? engine_task_id(server->engine, event->task, buffer) : "";
        mcp_event(m->mcp, id, now_of(m));
        settle(m);
    }
}

void mcp_exchange_stop(struct server *server) {
    for (struct mcp_exchange *m = server->mcp_exchanges; m; m = m->next) {
        mcp_stop(m->mcp, now_of(m));
        settle(m);
    }
}
