/* guard.h: checks a request before it is routed. Pure.
 *
 * Runs for every request of every method, before routing: a check in one handler would be missing
 * in the next. Browsers cannot reach a Unix socket, but their requests are refused there too, so
 * that the same rules hold for the TCP listener, which has a list of exact host names. */
#pragma once

#include <stdbool.h>

#include "api/http_parser.h"

#define MCP_PATH        "/mcp"
#define GUARD_FORM_TYPE "application/x-www-form-urlencoded"

struct guard {
    /* Accepted Host values, compared completely, including the port ("127.0.0.1:7700"); ends with
     * NULL. NULL: any simple name (a Unix socket has none). There is no wildcard. */
    const char *const *hosts;
    /* Accepted Origin values, compared completely ("http://127.0.0.1:7700"); ends with NULL. NULL:
     * none. */
    const char *const *origins;
    /* The only path that a browser may open from another page, as the file of `sluice dash` does;
     * the page reveals nothing about the queue. NULL: none. */
    const char *entrance;
    /* Paths that begin with this may be opened from another page, too, and take the form of their
     * own page: what follows is a secret, and opening one changes nothing. NULL: none. */
    const char *link;
};

struct guard_verdict {
    int status;          /* 0: pass; 400, 403, 405 or 415 */
    const char *word;    /* of the error object */
    const char *message; /* human-readable */
    const char *headers; /* of the answer; or NULL */
};

struct guard_verdict guard_check(const struct guard *guard, const struct http_request *request);
/* Is the body a form? Only where guard_check allows it. */
bool guard_is_form(const struct http_request *request);
/* The same for MCP_PATH: stricter about Host, less strict about Origin. Clients that run in a
 * browser on this machine send an Origin, which is allowed when it is this machine's. 403: Host or
 * Origin of another machine; 405: not POST; 415: not JSON. */
struct guard_verdict guard_check_mcp(const struct guard *guard, const struct http_request *request);
