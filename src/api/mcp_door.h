/* mcp_door.h: may this request to /mcp be looked at? Pure. Private to api/.
 *
 * Stricter than door.h about who is meant, and less strict about who asks: clients that run in a browser
 * on this machine send an Origin, which is let in when it is this machine's. */
#pragma once

#include "api/door.h"

#define MCP_PATH "/mcp"

/* Status 403: Host or Origin of somewhere else; 405: not POST; 415: no JSON. */
struct door_verdict mcp_door_check(const struct door *door, const struct http_request *request);
