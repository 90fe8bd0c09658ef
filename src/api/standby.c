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

bool standby_answer(struct connection *c) {
    const struct http_request *request = &c->parser.request;
    const struct server_options *options = &c->server->options;
    const char *path = request->path;
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    struct server_standby standby = { .status = "{\"ok\":true,\"role\":\"standby\"}",
                                      .message = "this daemon is a standby: ask the active one" };
    if (c->server->engine || !options->standby)
        return false;
    bool is_owner = !c->tcp && !c->of_run, is_post = strcmp(request->method, "POST") == 0;
    bool reads = !is_post || !is_owner;
    if (is_owner)
        options->standby(options->ctx, &standby);
    if (reads && (strcmp(path, "/healthz") == 0 || (is_owner && strcmp(path, "/v1/daemon") == 0))) {
        strbuf_printf(&body, "%s\n", standby.status);
        answer(c, 200, JSON_TYPE, &body);
    } else if (reads && strcmp(path, "/metrics") == 0) {
        metric_gauge(&body, "active", 0, "1: this daemon decides; 0: it is a standby.");
        answer(c, 200, TEXT_TYPE, &body);
    } else if (!reads && strcmp(path, "/v1/shutdown") == 0 && options->stop_asked) {
        strbuf_puts(&body, "{\"ok\":true}\n");
        answer(c, 200, JSON_TYPE, &body);
        options->stop_asked(options->ctx);
    } else {
        response_print_error("standby", standby.message, &body);
        if (standby.active) {
            body.length -= strlen("}\n");
            strbuf_printf(&body, ",\"active\":%s}\n", standby.active);
        }
        answer(c, 503, JSON_TYPE, &body);
    }
    return true;
}
