/* mcp.c: JSON-RPC, open requests, versions and methods.
 *
 * An invalid message gets an error and changes nothing; a request that cannot be started is
 * answered at once. Batches exist only in versions up to 2025-03-26.
 *
 * A request whose `_meta` names a version is self-contained and modern. Over HTTP the header may
 * name it, too, and then a missing `_meta` is an error, not an older client. Everything else is the
 * older protocol, which needs no session here: what a client negotiated does not change what it may
 * ask for. */
#include "mcp/mcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/queue.h"
#include "base/utf8.h"
#include "mcp/mcp_internal.h"

#define BATCH_MAX         64
#define ENCODED_BEGIN     "=?base64?"
#define ENCODED_END       "?="
#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

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

/* --- sending ---------------------------------------------------------------------------------- */

/* Every message is one line of valid UTF-8: a log or title may contain any bytes, and a client that
 * reads lines must never see a second one. */

static json_t *message_error(const json_t *id, int code, const char *text, json_t *data) {
    return json_pack("{s:s, s:O?, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id", id, "error", "code",
                     code, "message", text, "data", data);
}

void message_send(struct mcp *mcp, enum mcp_kind kind, json_t *message) {
    /* 15 digits: 0.1 stays 0.1 instead of 0.10000000000000001 */
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(message);
    if (!text)
        return; /* cannot fail: only values packed here are dumped */
    mcp->backend.send(mcp->backend.ctx, kind, text, strlen(text));
    free(text);
}

void message_notify(struct mcp *mcp, const char *method, json_t *params) {
    message_send(
        mcp, MCP_NOTICE,
        json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

static bool is_plain(const char *text, size_t length) {
    unsigned char first = (unsigned char)text[0];
    if (length == 1)
        return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
    return !(length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0); /* C1 controls */
}

json_t *message_text(const char *bytes, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(bytes + at, size - at);
        if (length > 0 && is_plain(bytes + at, length))
            strbuf_add(&clean, bytes + at, length);
        else if (bytes[at] != '\r' && bytes[at] != '\0') /* a hole in a log reads as NULs */
            strbuf_puts(&clean, "\xEF\xBF\xBD");
        at += length ? length : 1;
    }
    return json_stringn(strbuf_text(&clean), clean.length);
}

json_t *message_dump(const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_t *string = json_string(text ? text : "null");
    free(text);
    return string;
}

/* --- requests --------------------------------------------------------------------------------- */

/* A request is in its client's list until it is answered or given up. Its questions are dropped
 * with it, so no answer ever finds a freed request. */

static struct mcp_request *request_new(struct mcp *mcp, const json_t *id, json_t *params,
                                       struct mcp_batch *batch) {
    struct mcp_request *request = xcalloc(1, sizeof(*request));
    request->mcp = mcp;
    request->id = json_incref((json_t *)id);
    request->params = params ? json_incref(params) : json_object();
    request->batch = batch;
    if (batch)
        batch->open++;
    LIST_PUSH(mcp->requests, request);
    mcp->open++;
    return request;
}

static void request_leave_batch(struct mcp *mcp, struct mcp_batch *batch) {
    if (--batch->open > 0)
        return;
    if (json_array_size(batch->answers) > 0)
        message_send(mcp, MCP_ANSWER, batch->answers);
    else
        json_decref(batch->answers);
    free(batch);
}

/* Removes the request from the list and frees it; sends nothing. */
static void release(struct mcp_request *request) {
    struct mcp *mcp = request->mcp;
    while (request->questions) {
        struct mcp_question *question = request->questions;
        request->questions = question->next;
        mcp->backend.drop(mcp->backend.ctx, question);
        json_decref(question->params);
        free(question);
    }
    LIST_REMOVE(mcp->requests, request);
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

static struct mcp_request *request_find(const struct mcp *mcp, const json_t *id) {
    for (struct mcp_request *request = mcp->requests; request; request = request->next)
        if (json_equal(request->id, id))
            return request;
    return NULL;
}

/* Takes the message. Frees the request before sending: the receiver may free the client. */
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
    answer(request,
           json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", request->id, "result", result));
}

void request_cacheable(struct mcp_request *request, json_t *result, json_int_t ttl_ms,
                       const char *scope) {
    if (request->modern) {
        (void)json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
        (void)json_object_set_new(result, "cacheScope", json_string(scope));
    }
    request_result(request, result);
}

/* A malformed request gets its own HTTP status. Older clients look for other errors only in the
 * body, and so do all clients once the method has begun. */
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
    struct mcp_question *question = xcalloc(1, sizeof(*question));
    question->op = mcp_op_find(op);
    question->params = params;
    question->request = request;
    question->index = index;
    question->answered = answered;
    question->next = request->questions;
    request->questions = question;
    mcp->backend.ask(mcp->backend.ctx, question);
}

void mcp_answer(struct mcp_question *question, const struct mcp_reply *reply, time_ms now) {
    struct mcp_request *request = question->request;
    struct mcp_question **link = &request->questions;
    while (*link != question)
        link = &(*link)->next;
    *link = question->next;
    request->mcp->now = now;
    void (*answered)(struct mcp_request *, size_t, const struct mcp_reply *) = question->answered;
    size_t index = question->index;
    json_decref(question->params);
    free(question);
    answered(request, index, reply);
}

void request_watch(struct mcp *mcp) {
    bool wanted = mcp->subscribed && !subscription_is_empty(mcp->subscribed);
    for (const struct mcp_request *r = mcp->requests; r && !wanted; r = r->next)
        wanted = r->wait || r->subscription;
    if (wanted == mcp->watching)
        return;
    mcp->watching = wanted;
    mcp->backend.watch(mcp->backend.ctx, wanted);
}

/* --- HTTP headers must match the body --------------------------------------------------------- */

/* A proxy may have inspected only the headers; a different body would bypass it. */

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* False if invalid. Padding is required. */
static bool decode_base64(const char *text, size_t size, struct strbuf *out) {
    if (size % 4 != 0)
        return false;
    for (size_t at = 0; at < size; at += 4) {
        unsigned bits = 0, padding = 0;
        for (size_t i = 0; i < 4; i++) {
            bool pad = text[at + i] == '=' && at + 4 == size && i >= 2;
            int digit = pad ? 0 : base64_digit(text[at + i]);
            if (digit < 0 || (padding > 0 && !pad))
                return false;
            padding += pad;
            bits = bits << 6 | (unsigned)digit;
        }
        const char bytes[] = { (char)(bits >> 16), (char)(bits >> 8 & 0xff), (char)(bits & 0xff) };
        strbuf_add(out, bytes, 3 - padding);
    }
    return true;
}

/* Plain, or encoded as in RFC 2047. */
static bool decode_value(const char *value, struct strbuf *out) {
    size_t length = strlen(value), begin = strlen(ENCODED_BEGIN), end = strlen(ENCODED_END);
    if (length >= begin + end && strncmp(value, ENCODED_BEGIN, begin) == 0
        && strcmp(value + length - end, ENCODED_END) == 0)
        return decode_base64(value + begin, length - begin - end, out);
    strbuf_puts(out, value);
    return true;
}

/* The expected value of Mcp-Name; NULL: none. */
static const char *named_by(const struct mcp_request *request) {
    static const struct {
        const char *method, *member;
    } names[] = {
        { "tools/call", "name" },
        { "resources/read", "uri" },
        { "prompts/get", "name" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i].method, request->method) == 0)
            return json_string_value(json_object_get(request->params, names[i].member));
    return NULL;
}

static bool headers_are_valid(struct mcp_request *request) {
    const struct mcp *mcp = request->mcp;
    if (!mcp->http)
        return true;
    if (!mcp->header_method || strcmp(mcp->header_method, request->method) != 0) {
        request_fail(request, RPC_HEADERS, NULL, "the header Mcp-Method %s",
                     mcp->header_method ? "is not the method of the body" : "is missing");
        return false;
    }
    const char *name = named_by(request);
    _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
    if (!name /* the method reports the missing member */
        || (mcp->header_name && decode_value(mcp->header_name, &value)
            && strlen(name) == value.length
            && memcmp(strbuf_text(&value), name, value.length) == 0))
        return true;
    request_fail(request, RPC_HEADERS, NULL, "the header Mcp-Name %s",
                 mcp->header_name ? "is not the name in the body" : "is missing");
    return false;
}

/* --- versions and methods --------------------------------------------------------------------- */

static const char *const versions[] = { MCP_MODERN,   MCP_LATEST,   "2025-06-18",
                                        MCP_BATCHING, "2024-11-05", NULL };

static const char instructions[] = "Sluice runs coding agents and commands as tasks, durably: what "
                                   "is queued survives restarts, runs "
                                   "under limits, and is repeated until it is done. Queue work "
                                   "with queue_task, follow it with task_wait "
                                   "or task_status, and ask why when a task does not start. Inside "
                                   "a run of Sluice add_children makes "
                                   "subtasks, post_message writes to the task's bus, and "
                                   "report_done says that the task is finished.";

static const char *method_version(const char *text) {
    for (const char *const *v = versions; text && *v; v++)
        if (strcmp(*v, text) == 0)
            return *v;
    return NULL;
}

static json_t *method_versions(void) {
    json_t *list = json_array();
    for (const char *const *v = versions; *v; v++)
        (void)json_array_append_new(list, json_string(*v));
    return list;
}

static json_t *server_info(void) {
    return json_pack("{s:s, s:s, s:s}", "name", "sluice", "title", "Sluice", "version",
                     SLUICE_VERSION);
}

/* Lists have one page. True: the client sent a cursor, and is answered. */
bool request_refuses_cursor(struct mcp_request *request) {
    if (!json_object_get(request->params, "cursor"))
        return false;
    request_fail(request, RPC_PARAMS, NULL, "there is one page: no cursor is known");
    return true;
}

/* --- protocol methods ------------------------------------------------------------------------- */

/* Answers with the requested version, or ours: the client decides whether to continue. */
static void initialize(struct mcp_request *request) {
    const json_t *asked = json_object_get(request->params, "protocolVersion");
    if (!json_is_string(asked)) {
        request_fail(request, RPC_PARAMS, NULL, "protocolVersion must be a text");
        return;
    }
    const char *version = method_version(json_string_value(asked));
    if (!version || strcmp(version, MCP_MODERN) == 0)
        version = MCP_LATEST; /* modern clients do not send initialize */
    request->mcp->version = version;
    json_t *result =
        json_pack("{s:s, s:{s:{}, s:{s:b}}, s:o, s:s}", "protocolVersion", version, "capabilities",
                  "tools", "resources", "subscribe", !request->mcp->http, "serverInfo",
                  server_info(), "instructions", instructions);
    request_result(request, result);
}

static void ping(struct mcp_request *request) {
    request_result(request, json_object());
}

static void discover(struct mcp_request *request) {
    json_t *result =
        json_pack("{s:o, s:{s:{}, s:{s:b}}, s:s, s:{s:o}}", "supportedVersions", method_versions(),
                  "capabilities", "tools", "resources", "subscribe", 1, "instructions",
                  instructions, "_meta", META_SERVER, server_info());
    request_cacheable(request, result, LIST_TTL_MS, "public");
}

/* --- the table ------------------------------------------------------------------------------- */

enum { OLDER = 1u << 0, MODERN = 1u << 1 };

static const struct method {
    const char *name;
    unsigned eras;
    void (*begin)(struct mcp_request *request);
} methods[] = {
    { "initialize", OLDER, initialize },
    { "ping", OLDER, ping },
    { "resources/list", OLDER | MODERN, resources_list },
    { "resources/read", OLDER | MODERN, resources_read },
    { "resources/subscribe", OLDER, subscribe_begin },
    { "resources/templates/list", OLDER | MODERN, resources_templates },
    { "resources/unsubscribe", OLDER, unsubscribe_begin },
    { "server/discover", MODERN, discover },
    { "subscriptions/listen", MODERN, subscription_begin },
    { "tools/call", OLDER | MODERN, tools_call },
    { "tools/list", OLDER | MODERN, tools_list },
};

static const struct method *method_find(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

/* --- modern and older requests --------------------------------------------------------------- */

static void refuse_version(struct mcp_request *request, const char *asked) {
    json_t *data = json_pack("{s:o, s:o}", "supported", method_versions(), "requested",
                             message_text(asked, strlen(asked)));
    request_fail(request, RPC_VERSION, data, "unsupported protocol version '%s'",
                 utf8_quote(asked).text);
}

/* False: already answered. */
static bool modern_is_valid(struct mcp_request *request, const json_t *meta) {
    const char *version = json_string_value(json_object_get(meta, META_VERSION));
    const json_t *client = json_object_get(meta, META_CLIENT);
    const char *header = request->mcp->header_version;
    const char *problem = !version ? "_meta needs " META_VERSION ", a text"
                          : !json_is_object(json_object_get(meta, META_CAPABILITIES))
                              ? "_meta needs " META_CAPABILITIES ", an object"
                          : client && !json_is_object(client) ? META_CLIENT
                              " in _meta must be an object"
                                                              : NULL;
    if (problem) {
        request_fail(request, RPC_PARAMS, NULL, "%s", problem);
        return false;
    }
    if (request->mcp->http && (!header || strcmp(header, version) != 0)) {
        request_fail(request, RPC_HEADERS, NULL,
                     "the header MCP-Protocol-Version and _meta do not name the same version");
        return false;
    }
    if (strcmp(version, MCP_MODERN) != 0) { /* older versions start with initialize */
        refuse_version(request, version);
        return false;
    }
    request->version = MCP_MODERN;
    return headers_are_valid(request);
}

static bool older_is_valid(struct mcp_request *request) {
    const char *header = request->mcp->header_version;
    if (header && !method_version(header)) {
        refuse_version(request, header);
        return false;
    }
    request->version = header                  ? method_version(header)
                       : request->mcp->version ? request->mcp->version
                       : request->mcp->http    ? MCP_BATCHING
                                               : MCP_LATEST;
    return true;
}

static void method_begin(struct mcp_request *request) {
    const json_t *meta = json_object_get(request->params, "_meta");
    const char *header = request->mcp->header_version;
    const struct method *method = method_find(request->method);
    request->modern = json_object_get(meta, META_VERSION)
                      || (header && strcmp(header, MCP_MODERN) == 0)
                      || (method && method->eras == MODERN);
    if (!(request->modern ? modern_is_valid(request, meta) : older_is_valid(request)))
        return;
    if (!method || !(method->eras & (request->modern ? MODERN : OLDER))) {
        request_fail(request, RPC_METHOD, NULL, "there is no method '%s' in %s",
                     utf8_quote(request->method).text, request->version);
        return;
    }
    request->begun = true;
    method->begin(request);
}

/* --- life ------------------------------------------------------------------------------------ */

static char *copy(const char *text) {
    return text ? xstrdup(text) : NULL;
}

struct mcp *mcp_new(const struct mcp_backend *backend, const struct mcp_options *options) {
    struct mcp *mcp = xcalloc(1, sizeof(*mcp));
    const struct mcp_headers *headers = options ? options->headers : NULL;
    mcp->backend = *backend;
    mcp->status = 202;
    mcp->http = headers != NULL;
    /* "web-17.2": the task, and the attempt after the last dot. */
    const char *run = options ? options->run : NULL, *dot = run ? strrchr(run, '.') : NULL;
    if (dot && number_parse_int(dot + 1, &mcp->attempt, NULL) == 0 && mcp->attempt >= 1)
        mcp->task = xstrndup(run, (size_t)(dot - run));
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
        if (request->batch) /* do not send a partial batch */
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

size_t mcp_open_requests(const struct mcp *mcp) {
    return mcp->open;
}

int mcp_status(const struct mcp *mcp) {
    return mcp->status;
}

/* --- receiving ------------------------------------------------------------------------------- */

static bool is_id(const json_t *id) {
    return json_is_string(id) || json_is_integer(id);
}

/* For an error without a request. */
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

/* Over HTTP, the client disconnects instead. */
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

/* A message without a method is a response, but we never send requests. */
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

static void take_batch(struct mcp *mcp, const json_t *list) {
    const char *version = mcp->http ? mcp->header_version : mcp->version;
    size_t count = json_array_size(list);
    if (version ? strcmp(version, MCP_BATCHING) > 0 : !mcp->http) {
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

void mcp_receive(struct mcp *mcp, const char *bytes, size_t size, time_ms now) {
    mcp->now = now;
    if (size > MCP_MESSAGE_MAX) {
        mcp_refuse_long(mcp);
        return;
    }
    json_t *message = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!message) {
        refuse(mcp, NULL, NULL, RPC_PARSE, "this is not JSON, or a member is there twice");
        return;
    }
    if (json_is_array(message))
        take_batch(mcp, message);
    else
        take_message(mcp, message, NULL);
    json_decref(message);
}

/* --- events and time ------------------------------------------------------------------------- */

/* A call may answer and free its own request, but no other. */
void mcp_event(struct mcp *mcp, const char *task, time_ms now) {
    mcp->now = now;
    for (struct mcp_request *r = mcp->requests, *next; r; r = next) {
        next = r->next;
        if (r->wait)
            wait_event(r, task);
        else
            subscription_event(mcp, r->subscription, r, task);
    }
    subscription_event(mcp, mcp->subscribed, NULL, task);
}

void mcp_tick(struct mcp *mcp, time_ms now) {
    mcp->now = now;
    for (struct mcp_request *r = mcp->requests, *next; r; r = next) {
        next = r->next;
        if (r->wait)
            wait_tick(r);
        else
            subscription_notify(mcp, r->subscription, r);
    }
    subscription_notify(mcp, mcp->subscribed, NULL);
}

time_ms mcp_next_tick(const struct mcp *mcp) {
    time_ms next = subscription_next(mcp->subscribed);
    for (const struct mcp_request *r = mcp->requests; r; r = r->next)
        next = time_min(next, r->wait ? wait_next(r) : subscription_next(r->subscription));
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
