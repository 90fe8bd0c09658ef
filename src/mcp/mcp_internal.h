/* mcp_internal.h: one client, its open requests, and how they are answered. Private to mcp/.
 *
 * mcp.c        JSON-RPC, open requests, versions and methods, events, time
 * tools.c      the tools and their calls; wait.c: task_wait
 * resources.c  addresses, reading, subscriptions
 *
 * A function that answers a request frees it: the caller must not use it afterwards. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "mcp/mcp.h"

#define MCP_MODERN   "2026-07-28"
#define MCP_LATEST   "2025-11-25" /* with initialize */
#define MCP_BATCHING "2025-03-26" /* the last version with batches; HTTP without a version header */
#define MCP_OPEN_MAX 64           /* requests of one client at once */
#define LIST_TTL_MS  300000       /* how long a client may keep a list */

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_NO_RESOURCE = -32002, /* until 2025-11-25 */
    RPC_HEADERS = -32020,
    RPC_CAPABILITY = -32021, /* no tool here needs one of the client's; see docs/mcp.md */
    RPC_VERSION = -32022,
};

struct mcp_batch {
    json_t *answers;
    size_t open; /* requests of it, and one while it is read */
};

struct mcp {
    struct mcp_backend backend;
    char *task; /* of the run that asks, "web-17"; or NULL */
    int64_t attempt;
    bool http;
    char *header_version, *header_method, *header_name;
    const char *version; /* agreed on by initialize; NULL: not yet */
    struct mcp_request *requests;
    size_t open;
    uint64_t ended;                      /* requests, ever */
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
    const char *method;      /* of the message; valid while it is begun */
    bool modern, begun;
    const char *version;
    struct mcp_question *asks;
    const struct mcp_tool *tool;           /* tools/call */
    struct mcp_wait *wait;                 /* task_wait */
    struct mcp_subscription *subscription; /* subscriptions/listen */
};

/* --- mcp.c ----------------------------------------------------------------------------------- */

/* Without an answer. */
void request_free(struct mcp_request *request);
/* `params` is taken. `answered` is called once, perhaps before this returns: leave the request alone
 * afterwards. */
void request_ask(struct mcp_request *request, const char *op, json_t *params, size_t index,
                 void (*answered)(struct mcp_request *, size_t, const struct mcp_reply *));
/* Each answers and frees the request. `result`, `data` are taken. */
void request_result(struct mcp_request *request, json_t *result);
/* A list or something that was read: tells a modern client how long it holds. */
void request_cacheable(struct mcp_request *request, json_t *result, json_int_t ttl_ms,
                       const char *scope);
void request_fail(struct mcp_request *request, int code, json_t *data, const char *format, ...)
    _printf_(4, 5);
/* Does anybody need events? Tells the backend when that has changed. */
void request_watch(struct mcp *mcp);

/* `message` and `params` are taken. */
void message_send(struct mcp *mcp, enum mcp_kind kind, json_t *message);
void message_notify(struct mcp *mcp, const char *method, json_t *params);
/* A text of any bytes: what is no UTF-8 or steers a terminal becomes U+FFFD. */
json_t *message_text(const char *bytes, size_t size);
/* JSON as the text of an answer. */
json_t *message_dump(const json_t *value);
/* What a client wrote, safe to be shown in a message. */
struct message_quoted {
    char text[80];
};
struct message_quoted message_quote(const char *text);

/* --- tools.c --------------------------------------------------------------------------------- */

enum { HINT_READS = 1u << 0, HINT_DESTROYS = 1u << 1, HINT_REPEATS = 1u << 2 };

struct mcp_tool {
    const char *name, *title;
    const char *op;                  /* the operation it is derived from */
    const char *text;                /* NULL: what the operation says */
    const char *hidden;              /* parameters of the operation that are not offered */
    const struct mcp_param *members; /* of a task that it adds; or NULL */
    unsigned hints;
    /* NULL: the parameters of the operation. */
    void (*describe)(const struct mcp_tool *tool, json_t *properties, json_t *required);
    /* From arguments to the parameters of `*op`, which may be changed. NULL: they are the same. */
    int (*prepare)(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                   const char **op, struct error *err);
    /* Instead of one question. */
    void (*begin)(struct mcp_request *request, json_t *arguments);
};

extern const struct mcp_tool mcp_tools[]; /* by name; ends with name NULL */

void tools_list(struct mcp_request *request);
void tools_call(struct mcp_request *request);
/* A result that describes a failure; answers the request. */
void tools_fail(struct mcp_request *request, const char *format, ...) _printf_(2, 3);
/* A result; `value` is taken. */
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

/* Two ids of tasks; their number alone decides. */
bool resource_same_task(const char *a, const char *b);

void resources_list(struct mcp_request *request);
void resources_templates(struct mcp_request *request);
void resources_read(struct mcp_request *request);

void subscription_begin(struct mcp_request *request);
void subscription_event(struct mcp_request *request, const char *task);
void subscription_tick(struct mcp_request *request);
time_ms subscription_next(const struct mcp_request *request);
void subscription_stop(struct mcp_request *request);
void subscription_free(struct mcp_subscription *subscription);
/* Of older clients: for all that they have subscribed to. */
void subscribe_begin(struct mcp_request *request);
void unsubscribe_begin(struct mcp_request *request);
bool subscribed_any(const struct mcp *mcp);
void subscribed_event(struct mcp *mcp, const char *task);
void subscribed_tick(struct mcp *mcp);
time_ms subscribed_next(const struct mcp *mcp);
