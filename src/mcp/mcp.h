/* mcp.h: the Model Context Protocol, both eras. Bytes in, bytes out; no socket, no clock, no engine.
 *
 * Life:    mcp_new → mcp_receive … mcp_event … mcp_tick … → mcp_free
 *          On stdio one for the process; over HTTP one for each POST, which takes one message.
 * Eras:    a request with the modern `_meta` (2026-07-28) stands for itself. `initialize` begins the older
 *          way (2024-11-05 to 2025-11-25). Both may come mixed, also on one stdio.
 * Tools and resources come from the table of operations (catalog.h). What a tool does is asked from the
 *          backend by the operation's name; a failure is a result with `isError`, not an error.
 * Time:    `now` is any clock that does not go back, in ms. mcp_next_tick tells when mcp_tick is wanted.
 * Order:   the backend may answer inside `ask` or later, in any order. Everything may call `send`; nothing
 *          that the backend's functions are called with is kept after mcp_free. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_ms.h"
#include "mcp/catalog.h"

#define MCP_MESSAGE_MAX ((size_t)1024 * 1024)
#define MCP_LOG_MAX     ((size_t)64 * 1024) /* of a log in one answer: its end */

struct mcp_reply;
struct mcp_request;

/* One question to the operations. */
struct mcp_question {
    const struct mcp_op *op;
    json_t *params; /* all of them by name, wherever they belong; owned by the question */
    void *own;      /* the backend's, until it is answered or dropped */
    /* Private from here on. */
    struct mcp_request *request;
    struct mcp_question *next;
    size_t index;
    void (*answered)(struct mcp_request *request, size_t index, const struct mcp_reply *reply);
};

/* What came of it. Borrowed during mcp_answer. */
struct mcp_reply {
    json_t *value;     /* JSON; or NULL */
    const char *bytes; /* of a log; or NULL */
    size_t size;
    int code;            /* 0, or a negative errno */
    const char *message; /* with a code */
    int64_t index;       /* with a code: which of a list was wrong; -1: none of them */
    bool absent;         /* with a code: the daemon did not answer; try again */
};

enum mcp_kind {
    MCP_ANSWER, /* of a request, or of a batch */
    MCP_NOTICE, /* a notification: more will follow */
};

struct mcp_backend {
    void (*ask)(void *ctx, struct mcp_question *ask);
    /* Nobody waits for it any more: mcp_answer must not be called. */
    void (*drop)(void *ctx, struct mcp_question *ask);
    /* Whether mcp_event is to be called for events from now on. */
    void (*watch)(void *ctx, bool wanted);
    /* One message: one line without its newline. */
    void (*send)(void *ctx, enum mcp_kind kind, const char *text, size_t size);
    void *ctx;
};

/* Headers of an HTTP request; NULL: not there. */
struct mcp_headers {
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
};

struct mcp_options {
    const char *run;                   /* inside a run which one, "web-17.2"; or NULL */
    const struct mcp_headers *headers; /* over HTTP; or NULL */
};

struct mcp;

/* Copies what it is given, but not what `backend.ctx` points to. */
struct mcp *mcp_new(const struct mcp_backend *backend, const struct mcp_options *options);
struct mcp *mcp_free(struct mcp *mcp); /* accepts NULL, returns NULL; open questions are dropped */

/* One message. At most MCP_MESSAGE_MAX bytes are looked at: more is refused. */
void mcp_receive(struct mcp *mcp, const char *bytes, size_t size, time_ms now);
/* A message was too long to be kept. */
void mcp_refuse_long(struct mcp *mcp);

/* Requests without an answer. Over HTTP: none is left = the exchange is complete. */
size_t mcp_open_requests(const struct mcp *mcp);
/* Over HTTP, with the answer or without any: 200, 202, 400, 404. */
int mcp_status(const struct mcp *mcp);

/* The answer of a question, which is freed. */
void mcp_answer(struct mcp_question *ask, const struct mcp_reply *reply, time_ms now);
/* Something happened to the task "web-17"; NULL: to any, or events may have been missed. */
void mcp_event(struct mcp *mcp, const char *task, time_ms now);
/* Time went by. */
void mcp_tick(struct mcp *mcp, time_ms now);
time_ms mcp_next_tick(const struct mcp *mcp); /* TIME_NEVER: not needed */
/* The server ends: what waits or listens is answered. */
void mcp_stop(struct mcp *mcp, time_ms now);
