/* mcp.h: the Model Context Protocol, modern and older. Bytes in, bytes out; no I/O.
 *
 * Life:    mcp_new → mcp_receive … mcp_event … mcp_tick … → mcp_free
 *          On stdio one per process; over HTTP one per POST, with one message.
 * Eras:    a request with the modern `_meta` (2026-07-28) is self-contained. `initialize` begins
 *          the older protocol (2024-11-05 to 2025-11-25). Both may be mixed, even on one stdio.
 * Tools:   these and resources come from the table of operations (catalog.h). The backend executes
 *          operations by name; a failure is a result with `isError`, not a protocol error.
 * Time:    `now` is a monotonic clock in ms. mcp_next_tick returns when mcp_tick is due.
 * Order:   the backend may answer inside `ask` or later, in any order. Every function may call
 *          `send`; arguments of the backend's functions are not used after mcp_free. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_ms.h"
#include "mcp/catalog.h"

#define MCP_MESSAGE_MAX ((size_t)1024 * 1024)
#define MCP_LOG_MAX     ((size_t)64 * 1024) /* bytes of a log in one answer, from its end */

struct mcp_reply;
struct mcp_request;

/* A call of an operation. */
struct mcp_question {
    const struct mcp_op *op;
    json_t *params; /* all parameters by name; owned by the question */
    void *own;      /* for the backend, until answered or dropped */
    /* Private: */
    struct mcp_request *request;
    struct mcp_question *next;
    size_t index;
    void (*answered)(struct mcp_request *request, size_t index, const struct mcp_reply *reply);
};

/* The result. Borrowed during mcp_answer. */
struct mcp_reply {
    json_t *value;     /* JSON, or NULL */
    const char *bytes; /* log bytes, or NULL */
    size_t size;
    int code;            /* 0, or a negative errno */
    const char *message; /* if code is set */
    int64_t index;       /* if code is set: the invalid list item; -1: none */
    bool absent;         /* if code is set: the daemon did not answer; retry */
};

enum mcp_kind {
    MCP_ANSWER, /* to a request or batch */
    MCP_NOTICE, /* a notification: more follows */
};

struct mcp_backend {
    void (*ask)(void *ctx, struct mcp_question *question);
    /* The question was dropped: do not call mcp_answer for it. */
    void (*drop)(void *ctx, struct mcp_question *question);
    /* Turns mcp_event calls on or off. */
    void (*watch)(void *ctx, bool wanted);
    /* One message: a line without its newline. */
    void (*send)(void *ctx, enum mcp_kind kind, const char *text, size_t size);
    void *ctx;
};

/* Headers of an HTTP request; NULL: missing. */
struct mcp_headers {
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
};

struct mcp_options {
    const char *run;                   /* the run we are in, "web-17.2"; or NULL */
    const struct mcp_headers *headers; /* over HTTP; or NULL */
};

struct mcp;

/* Copies its arguments, but not what `backend.ctx` points to. */
struct mcp *mcp_new(const struct mcp_backend *backend, const struct mcp_options *options);
struct mcp *mcp_free(struct mcp *mcp); /* accepts NULL, returns NULL; open questions are dropped */

/* One message. Longer ones than MCP_MESSAGE_MAX are refused. */
void mcp_receive(struct mcp *mcp, const char *bytes, size_t size, time_ms now);
/* Reports a message that was too long to buffer. */
void mcp_refuse_long(struct mcp *mcp);

/* Unanswered requests. Over HTTP, 0 means that the exchange is complete. */
size_t mcp_open_requests(const struct mcp *mcp);
/* The HTTP status, with or without an answer: 200, 202, 400, 404. */
int mcp_status(const struct mcp *mcp);

/* Frees the question. */
void mcp_answer(struct mcp_question *question, const struct mcp_reply *reply, time_ms now);
/* Task "web-17" changed; NULL: any task, or events may have been missed. */
void mcp_event(struct mcp *mcp, const char *task, time_ms now);
void mcp_tick(struct mcp *mcp, time_ms now);
time_ms mcp_next_tick(const struct mcp *mcp); /* TIME_NEVER: not needed */
/* Answers all waiting and listening requests before the server exits. */
void mcp_stop(struct mcp *mcp, time_ms now);
