/* standby.c: the answers of a standby daemon, which waits for the store of an active one.
 *
 * It reports that it is a standby, and the address of the active daemon. Everything about the
 * queue, including tokens, is in the store; so over TCP no client can be authenticated, and the
 * answer is only that this is a standby. Nonexistent paths get the same answer: the client
 * continues with the active daemon, which reports the error. */
#include <string.h>

#include "api/response.h"
#include "api/server_internal.h"
#include "base/metric.h"

#define JSON_TYPE "application/json"
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void answer(struct connection *c, int status, const char *type, const struct strbuf *body) {
    route_answer(
        c, &(struct response){
               .status = status, .type = type, .body = strbuf_text(body), .size = body->length });
}

static void print_refusal(const char *message, const char *active, struct strbuf *out) {
    response_print_error("standby", message, out);
    if (!active)
        return;
    out->length -= strlen("}\n");
    strbuf_printf(out, ",\"active\":%s}\n", active);
}

static void print_metrics(struct strbuf *out) {
    metric_gauge(out, "active", 0, "1: this daemon decides; 0: it is a standby.");
}

static void answer_anyone(struct connection *c, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    if (strcmp(path, "/healthz") == 0) {
        strbuf_puts(&body, "{\"ok\":true,\"role\":\"standby\"}\n");
        answer(c, 200, JSON_TYPE, &body);
    } else if (strcmp(path, "/metrics") == 0) {
        print_metrics(&body);
        answer(c, 200, TEXT_TYPE, &body);
    } else {
        print_refusal("this daemon is a standby: ask the active one", NULL, &body);
        answer(c, 503, JSON_TYPE, &body);
    }
}

static void answer_owner(struct connection *c, const struct http_request *request) {
    struct server *server = c->server;
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    struct server_standby standby = { 0 };
    bool is_post = strcmp(request->method, "POST") == 0;
    server->options.standby(server->options.ctx, &standby);
    if (!is_post
        && (strcmp(request->path, "/healthz") == 0 || strcmp(request->path, "/v1/daemon") == 0)) {
        strbuf_printf(&body, "%s\n", standby.status);
        answer(c, 200, JSON_TYPE, &body);
    } else if (!is_post && strcmp(request->path, "/metrics") == 0) {
        print_metrics(&body);
        answer(c, 200, TEXT_TYPE, &body);
    } else if (is_post && strcmp(request->path, "/v1/shutdown") == 0
               && server->options.stop_asked) {
        strbuf_puts(&body, "{\"ok\":true}\n");
        answer(c, 200, JSON_TYPE, &body);
        server->options.stop_asked(server->options.ctx);
    } else {
        print_refusal(standby.message, standby.active, &body);
        answer(c, 503, JSON_TYPE, &body);
    }
}

bool standby_answer(struct connection *c) {
    const struct http_request *request = &c->parser.request;
    if (c->server->engine || !c->server->options.standby)
        return false;
    if (c->tcp || c->of_run)
        answer_anyone(c, request->path);
    else
        answer_owner(c, request);
    return true;
}
