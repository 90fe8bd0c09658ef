/* mcp.c: what comes in: messages, events, time.
 *
 * A message that is none gets an error and changes nothing; a request that cannot be begun is answered
 * at once. Batches exist only where the version of the client has them (until 2025-03-26). */
#include "mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "mcp/mcp_internal.h"

#define BATCH_MAX 64

const struct mcp_op *mcp_op_find(const char *name) {
    for (const struct mcp_op *op = mcp_ops; op->name; op++)
        if (strcmp(op->name, name) == 0)
            return op;
    return NULL;
}

const struct mcp_param *mcp_param_find(const struct mcp_param *params, const char *name) {
    for (; params->name; params++)
        if (strcmp(params->name, name) == 0)
            return params;
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------ */

static char *copy(const char *text) {
    return text ? xstrdup(text) : NULL;
}

/* "web-17.2": the task, and the attempt behind the last point. */
static void take_run(struct mcp *mcp, const char *run) {
    const char *point = run ? strrchr(run, '.') : NULL;
    if (!point || number_parse_int(point + 1, &mcp->attempt, NULL) < 0 || mcp->attempt < 1)
        return;
    mcp->task = xstrndup(run, (size_t)(point - run));
}

struct mcp *mcp_new(const struct mcp_backend *backend, const struct mcp_options *options) {
    struct mcp *mcp = xcalloc(1, sizeof(*mcp));
    const struct mcp_headers *headers = options ? options->headers : NULL;
    mcp->backend = *backend;
    mcp->status = 202;
    mcp->http = headers != NULL;
    take_run(mcp, options ? options->run : NULL);
    if (headers) {
        mcp->header_version = copy(headers->version);
        mcp->header_method = copy(headers->method);
        mcp->header_name = copy(headers->name);
    }
    return mcp;
}

struct mcp *mcp_free(struct mcp *mcp) {
    if (!mcp)
        return NULL;
    for (struct mcp_request *request = mcp->requests; request; request = request->next)
        if (request->batch) /* half a batch is not sent */
            json_array_clear(request->batch->answers);
    subscription_free(mcp->subscribed);
    mcp->subscribed = NULL;
    while (mcp->requests)
        request_free(mcp->requests);
    request_watch(mcp);
    free(mcp->task);
    free(mcp->header_version);
    free(mcp->header_method);
    free(mcp->header_name);
    free(mcp);
    return NULL;
}

size_t mcp_open(const struct mcp *mcp) {
    return mcp->open;
}

int mcp_status(const struct mcp *mcp) {
    return mcp->status;
}

/* --- messages -------------------------------------------------------------------------------- */

static bool is_id(const json_t *id) {
    return json_is_string(id) || json_is_integer(id);
}

/* There is no request to be answered. */
static void refuse(struct mcp *mcp, struct mcp_batch *batch, const json_t *id, int code,
                   const char *text) {
    json_t *message = message_error(is_id(id) ? id : NULL, code, text, NULL);
    mcp->status = 400;
    if (batch)
        (void)json_array_append_new(batch->answers, message);
    else
        message_send(mcp, MCP_ANSWER, message);
}

void mcp_refuse_long(struct mcp *mcp) {
    refuse(mcp, NULL, NULL, RPC_REQUEST, "a message has more than 1 MiB");
}

/* Over HTTP the client goes away instead. */
static void take_notification(struct mcp *mcp, const char *method, const json_t *params) {
    if (strcmp(method, "notifications/cancelled") != 0)
        return;
    struct mcp_request *request = request_find(mcp, json_object_get(params, "requestId"));
    if (request)
        request_free(request);
}

static void take_request(struct mcp *mcp, const json_t *message, struct mcp_batch *batch) {
    const json_t *id = json_object_get(message, "id");
    json_t *params = json_object_get(message, "params");
    if (!is_id(id)) {
        refuse(mcp, batch, NULL, RPC_REQUEST, "an id must be a text or a whole number");
    } else if (params && !json_is_object(params)) {
        refuse(mcp, batch, id, RPC_PARAMS, "params must be an object");
    } else if (request_find(mcp, id)) {
        refuse(mcp, batch, id, RPC_REQUEST, "a request with this id is not answered yet");
    } else if (mcp->open >= MCP_OPEN_MAX) {
        refuse(mcp, batch, id, RPC_INTERNAL, "64 requests are open: wait for one of them");
        mcp->status = 200;
    } else {
        struct mcp_request *request = request_new(mcp, id, params, batch);
        request->method = json_string_value(json_object_get(message, "method"));
        method_begin(request);
    }
}

/* One without a method: what a client answers. Nothing is ever asked of it. */
static void take_other(struct mcp *mcp, const json_t *message, struct mcp_batch *batch) {
    bool answers = json_object_get(message, "result") || json_object_get(message, "error");
    bool modern = mcp->header_version && strcmp(mcp->header_version, MCP_MODERN) == 0;
    if (!answers || modern)
        refuse(mcp, batch, json_object_get(message, "id"), RPC_REQUEST,
               answers ? "a server of this version asks nothing: this is no answer"
                       : "a message needs a method");
}

static void take_message(struct mcp *mcp, const json_t *message, struct mcp_batch *batch) {
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    const json_t *method = json_object_get(message, "method");
    if (!json_is_object(message) || !version || strcmp(version, "2.0") != 0)
        refuse(mcp, batch, json_object_get(message, "id"), RPC_REQUEST,
               "a message must be an object with \"jsonrpc\": \"2.0\"");
    else if (method && !json_is_string(method))
        refuse(mcp, batch, json_object_get(message, "id"), RPC_REQUEST, "a method must be a text");
    else if (!method)
        take_other(mcp, message, batch);
    else if (json_object_get(message, "id"))
        take_request(mcp, message, batch);
    else
        take_notification(mcp, json_string_value(method), json_object_get(message, "params"));
}

static bool has_batches(const struct mcp *mcp) {
    const char *version = mcp->http ? mcp->header_version : mcp->version;
    return version ? strcmp(version, MCP_BATCHING) <= 0 : mcp->http;
}

static void take_batch(struct mcp *mcp, const json_t *list) {
    size_t count = json_array_size(list);
    if (!has_batches(mcp)) {
        refuse(mcp, NULL, NULL, RPC_REQUEST,
               "this version has no batches: send one message at a time");
        return;
    }
    if (count == 0 || count > BATCH_MAX) {
        refuse(mcp, NULL, NULL, RPC_REQUEST, "a batch has 1 to 64 messages");
        return;
    }
    struct mcp_batch *batch = xcalloc(1, sizeof(*batch));
    batch->answers = json_array();
    batch->open = 1;
    for (size_t i = 0; i < count; i++)
        take_message(mcp, json_array_get(list, i), batch);
    if (json_array_size(batch->answers) > 0 || batch->open > 1)
        mcp->status = 200;
    request_leave_batch(mcp, batch);
}

void mcp_take(struct mcp *mcp, const char *bytes, size_t size, time_ms now) {
    mcp->now = now;
    if (size > MCP_MESSAGE_MAX) {
        mcp_refuse_long(mcp);
        return;
    }
    json_t *message = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!message) {
        refuse(mcp, NULL, NULL, RPC_PARSE, "this is no JSON, or a member is there twice");
        return;
    }
    if (json_is_array(message))
        take_batch(mcp, message);
    else
        take_message(mcp, message, NULL);
    json_decref(message);
}

/* --- events and time ------------------------------------------------------------------------- */

/* What one of these does may answer its request, and nothing else. */
void mcp_event(struct mcp *mcp, const char *task, time_ms now) {
    mcp->now = now;
    for (struct mcp_request *r = mcp->requests, *next; r; r = next) {
        next = r->next;
        if (r->wait)
            wait_event(r, task);
        else if (r->subscription)
            subscription_event(r, task);
    }
    subscribed_event(mcp, task);
}

void mcp_tick(struct mcp *mcp, time_ms now) {
    mcp->now = now;
    for (struct mcp_request *r = mcp->requests, *next; r; r = next) {
        next = r->next;
        if (r->wait)
            wait_tick(r);
        else if (r->subscription)
            subscription_tick(r);
    }
    subscribed_tick(mcp);
}

time_ms mcp_next(const struct mcp *mcp) {
    time_ms next = subscribed_next(mcp);
    for (const struct mcp_request *r = mcp->requests; r; r = r->next)
        next = time_min(next, r->wait           ? wait_next(r)
                              : r->subscription ? subscription_next(r)
                                                : TIME_NEVER);
    return next;
}

void mcp_stop(struct mcp *mcp, time_ms now) {
    mcp->now = now;
    for (struct mcp_request *r = mcp->requests, *next; r; r = next) {
        next = r->next;
        if (r->wait)
            wait_stop(r);
        else if (r->subscription)
            subscription_stop(r);
    }
}
