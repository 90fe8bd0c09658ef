/* mcp_internal.h: a client and its open requests. Private to mcp/.
 *
 * mcp.c        JSON-RPC, requests, versions and methods, events, timers
 * tools.c      the tools and their calls; wait.c: task_wait
 * resources.c  URIs, reading, subscriptions
 *
 * A function that answers a request frees it. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "mcp/mcp.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LATEST "2025-11-25" /* latest version with initialize */
/* last version with batches; HTTP default without a version header */
#define MCP_BATCHING "2025-03-26"
#define MCP_OPEN_MAX 64     /* per client */
#define LIST_TTL_MS  300000 /* how long clients may cache a list */

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_NO_RESOURCE = -32002, /* up to 2025-11-25 */
    RPC_HEADERS = -32020,
    RPC_CAPABILITY = -32021, /* no tool here needs a client capability; see docs/guide/mcp.md */
    RPC_VERSION = -32022,
};

struct mcp_batch {
    json_t *answers;
    size_t open; /* open requests, plus one while reading */
};

struct mcp {
    struct mcp_backend backend;
    char *task; /* of the run we are in, "web-17"; or NULL */
    int64_t attempt;
    bool http;
    char *header_version, *header_method, *header_name;
    const char *version; /* negotiated by initialize; NULL: not yet */
    struct mcp_request *requests;
    size_t open;
    uint64_t ended;                      /* requests answered so far */
    struct mcp_subscription *subscribed; /* by resources/subscribe; or NULL */
    bool watching;
    int status;
    time_ms now;
};

struct mcp_request {
    struct mcp_request *next, *previous;
    struct mcp *mcp;
    struct mcp_batch *batch; /* or NULL */
    json_t *id, *params;     /* params: never NULL */
    const char *method;      /* borrowed from the message, until the method has begun */
    bool modern, begun;
    const char *version;
    struct mcp_question *questions;
    const struct mcp_tool *tool;           /* tools/call */
    struct mcp_wait *wait;                 /* task_wait */
    struct mcp_subscription *subscription; /* subscriptions/listen */
};

/* --- mcp.c ----------------------------------------------------------------------------------- */

/* Does not answer. */
void request_free(struct mcp_request *request);
/* Takes `params`. `answered` is called once, perhaps before this returns: do not use the request
 * after. */
void request_ask(struct mcp_request *request, const char *op, json_t *params, size_t index,
                 void (*answered)(struct mcp_request *, size_t, const struct mcp_reply *));
/* Each answers and frees the request; `result` and `data` are taken. */
void request_result(struct mcp_request *request, json_t *result);
/* Modern clients also get how long a list or resource may be cached. */
void request_cacheable(struct mcp_request *request, json_t *result, json_int_t ttl_ms,
                       const char *scope);
bool request_refuses_cursor(struct mcp_request *request);
void request_fail(struct mcp_request *request, int code, json_t *data, const char *format, ...)
    _printf_(4, 5);
/* Informs the backend when the need for events has changed. */
void request_watch(struct mcp *mcp);

/* `message` and `params` are taken. */
void message_send(struct mcp *mcp, enum mcp_kind kind, json_t *message);
void message_notify(struct mcp *mcp, const char *method, json_t *params);
/* Sanitizes any bytes: invalid UTF-8 and control characters become U+FFFD. */
json_t *message_text(const char *bytes, size_t size);
json_t *message_dump(const json_t *value);

/* --- tools.c --------------------------------------------------------------------------------- */

enum { HINT_READS = 1u << 0, HINT_DESTROYS = 1u << 1, HINT_REPEATS = 1u << 2 };

struct mcp_tool {
    const char *name, *title;
    const char *op;                  /* the operation it is derived from */
    const char *text;                /* NULL: the operation's text */
    const char *hidden;              /* parameters of the operation that are hidden */
    const struct mcp_param *members; /* members of a task that it adds; or NULL */
    unsigned hints;
    /* NULL: the operation's parameters. */
    void (*describe)(const struct mcp_tool *tool, json_t *properties, json_t *required);
    /* Converts arguments to parameters of `*op`, which it may change. NULL: they are the same. */
    int (*prepare)(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                   const char **op, struct error *err);
    /* Replaces the single call of an operation. */
    void (*begin)(struct mcp_request *request, json_t *arguments);
};

extern const struct mcp_tool mcp_tools[]; /* sorted by name; ends with name NULL */

void tools_list(struct mcp_request *request);
void tools_call(struct mcp_request *request);
/* Answers with a result that describes a failure. */
void tools_fail(struct mcp_request *request, const char *format, ...) _printf_(2, 3);
/* Answers with `value`, which is taken. */
void tools_done(struct mcp_request *request, json_t *value);

/* --- wait.c ---------------------------------------------------------------------------------- */

void wait_describe(const struct mcp_tool *tool, json_t *properties, json_t *required);
void wait_begin(struct mcp_request *request, json_t *arguments);
void wait_event(struct mcp_request *request, const char *task);
void wait_tick(struct mcp_request *request);
time_ms wait_next(const struct mcp_request *request);
void wait_stop(struct mcp_request *request);
void wait_free(struct mcp_wait *wait);

/* --- resources.c ----------------------------------------------------------------------------- */

/* Compares task ids; only the number counts. */
bool resource_same_task(const char *a, const char *b);

void resources_list(struct mcp_request *request);
void resources_templates(struct mcp_request *request);
void resources_read(struct mcp_request *request);

/* A subscription of a request, or of an older client: then `request` is NULL. All accept
 * NULL as the subscription. */
void subscription_event(struct mcp *mcp, struct mcp_subscription *subscription,
                        const struct mcp_request *request, const char *task);
/* Sends the notifications that are due. */
void subscription_notify(struct mcp *mcp, struct mcp_subscription *subscription,
                         const struct mcp_request *request);
time_ms subscription_next(const struct mcp_subscription *subscription);
bool subscription_is_empty(const struct mcp_subscription *subscription);
void subscription_free(struct mcp_subscription *subscription);

void subscription_begin(struct mcp_request *request);
void subscription_stop(struct mcp_request *request);
void subscribe_begin(struct mcp_request *request);
void unsubscribe_begin(struct mcp_request *request);
