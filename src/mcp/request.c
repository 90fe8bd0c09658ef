/* request.c: what a client waits for, from its message to its one answer.
 *
 * A request is in the list of its client until it is answered or given up. The questions it has asked are
 * dropped with it, so that no answer ever finds a request that is gone. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp_internal.h"

struct mcp_request *request_new(struct mcp *mcp, const json_t *id, json_t *params,
                                struct mcp_batch *batch) {
    struct mcp_request *request = xcalloc(1, sizeof(*request));
    request->mcp = mcp;
    request->id = json_incref((json_t *)id);
    request->params = params ? json_incref(params) : json_object();
    request->batch = batch;
    if (batch)
        batch->open++;
    request->next = mcp->requests;
    if (request->next)
        request->next->previous = request;
    mcp->requests = request;
    mcp->open++;
    return request;
}

/* The last of a batch sends them all. */
void request_leave_batch(struct mcp *mcp, struct mcp_batch *batch) {
    if (--batch->open > 0)
        return;
    if (json_array_size(batch->answers) > 0)
        message_send(mcp, MCP_ANSWER, batch->answers);
    else
        json_decref(batch->answers);
    free(batch);
}

static void drop_asks(struct mcp_request *request) {
    struct mcp *mcp = request->mcp;
    while (request->asks) {
        struct mcp_ask *ask = request->asks;
        request->asks = ask->next;
        mcp->backend.drop(mcp->backend.ctx, ask);
        json_decref(ask->params);
        free(ask);
    }
}

/* Out of the list; nothing is sent. */
static void release(struct mcp_request *request) {
    struct mcp *mcp = request->mcp;
    drop_asks(request);
    if (request->previous)
        request->previous->next = request->next;
    else
        mcp->requests = request->next;
    if (request->next)
        request->next->previous = request->previous;
    mcp->open--;
    mcp->ended++;
    wait_free(request->wait);
    subscription_free(request->subscription);
    json_decref(request->id);
    json_decref(request->params);
    free(request);
}

void request_free(struct mcp_request *request) {
    struct mcp *mcp = request->mcp;
    struct mcp_batch *batch = request->batch;
    release(request);
    if (batch)
        request_leave_batch(mcp, batch);
    request_watch(mcp);
}

struct mcp_request *request_find(const struct mcp *mcp, const json_t *id) {
    for (struct mcp_request *request = mcp->requests; request; request = request->next)
        if (json_equal(request->id, id))
            return request;
    return NULL;
}

/* Takes the message. The request goes before anything is sent: whoever is told may end everything. */
static void answer(struct mcp_request *request, json_t *message) {
    struct mcp *mcp = request->mcp;
    struct mcp_batch *batch = request->batch;
    release(request);
    request_watch(mcp);
    if (batch) {
        (void)json_array_append_new(batch->answers, message);
        request_leave_batch(mcp, batch);
    } else {
        message_send(mcp, MCP_ANSWER, message);
    }
}

void request_result(struct mcp_request *request, json_t *result) {
    if (request->modern)
        (void)json_object_set_new(result, "resultType", json_string("complete"));
    request->mcp->status = 200;
    answer(request, message_result(request->id, result));
}

void request_cacheable(struct mcp_request *request, json_t *result, json_int_t ttl_ms,
                       const char *scope) {
    if (request->modern) {
        (void)json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
        (void)json_object_set_new(result, "cacheScope", json_string(scope));
    }
    request_result(request, result);
}

/* What is wrong with the request as such has a status of its own. Older clients look for errors in the
 * body alone, and so does everybody once the method has begun. */
static int status_of(const struct mcp_request *request, int code) {
    if (code == RPC_HEADERS || code == RPC_VERSION || code == RPC_CAPABILITY || code == RPC_REQUEST)
        return 400;
    if (!request->modern)
        return 200;
    return code == RPC_METHOD ? 404 : code == RPC_PARAMS && !request->begun ? 400 : 200;
}

void request_fail(struct mcp_request *request, int code, json_t *data, const char *format, ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    request->mcp->status = status_of(request, code);
    answer(request, message_error(request->id, code, text, data));
}

/* --- questions ------------------------------------------------------------------------------- */

void request_ask(struct mcp_request *request, const char *op, json_t *params, size_t index,
                 void (*answered)(struct mcp_request *, size_t, const struct mcp_reply *)) {
    struct mcp *mcp = request->mcp;
    struct mcp_ask *ask = xcalloc(1, sizeof(*ask));
    ask->op = mcp_op_find(op);
    ask->params = params;
    ask->request = request;
    ask->index = index;
    ask->answered = answered;
    ask->next = request->asks;
    request->asks = ask;
    mcp->backend.ask(mcp->backend.ctx, ask);
}

void mcp_answer(struct mcp_ask *ask, const struct mcp_reply *reply, time_ms now) {
    struct mcp_request *request = ask->request;
    struct mcp_ask **link = &request->asks;
    while (*link != ask)
        link = &(*link)->next;
    *link = ask->next;
    request->mcp->now = now;
    void (*answered)(struct mcp_request *, size_t, const struct mcp_reply *) = ask->answered;
    size_t index = ask->index;
    json_decref(ask->params);
    free(ask);
    answered(request, index, reply);
}

void request_watch(struct mcp *mcp) {
    bool wanted = subscribed_any(mcp);
    for (const struct mcp_request *r = mcp->requests; r && !wanted; r = r->next)
        wanted = r->wait || r->subscription;
    if (wanted == mcp->watching)
        return;
    mcp->watching = wanted;
    mcp->backend.watch(mcp->backend.ctx, wanted);
}
