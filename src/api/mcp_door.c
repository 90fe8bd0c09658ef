/* mcp_door.c: Host and Origin of a request to /mcp.
 *
 * A web page anywhere can make a browser send requests to a name that it lets point at this machine (DNS
 * rebinding). Such a request carries that name as its Host, and the page's address as its Origin. So both
 * must be one of a few exact names; the port alone is free, where no list fixes it. */
#include "api/mcp_door.h"

#include <string.h>
#include <strings.h>

#include "base/macros.h"

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == '\0';
}

/* This machine's own names. */
static bool is_loopback(const char *host) {
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0
            && (host[length] == '\0' || (host[length] == ':' && is_port(host + length + 1))))
            return true;
    }
    return false;
}

/* "sluice" is what the command line writes: a Unix socket has no name. */
static bool is_known_host(const char *host) {
    return is_loopback(host) || strcmp(host, "sluice") == 0;
}

static bool is_known_origin(const char *origin) {
    static const char scheme[] = "http://";
    if (strncmp(origin, scheme, strlen(scheme)) != 0)
        return false;
    return is_loopback(origin + strlen(scheme));
}

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t length = strlen(json);
    if (!type || strncasecmp(type, json, length) != 0)
        return false;
    type += length + strspn(type + length, " \t");
    return *type == '\0' || *type == ';';
}

/* On a Unix socket, which has no name: that of this machine, at any port. */
static struct door_verdict check_names(const struct http_request *request) {
    const char *host = http_request_header(request, "host");
    const char *origin = http_request_header(request, "origin");
    const char *site = http_request_header(request, "sec-fetch-site");
    if (!is_known_host(host ? host : ""))
        return (struct door_verdict){ 403, "refused", "this Host is not served here" };
    if (origin && !is_known_origin(origin))
        return (struct door_verdict){ 403, "refused", "this Origin is not served here" };
    if (site && strcasecmp(site, "cross-site") == 0)
        return (struct door_verdict){ 403, "refused",
                                      "requests of other web sites are not served" };
    return (struct door_verdict){ 0 };
}

struct door_verdict mcp_door_check(const struct door *door, const struct http_request *request) {
    struct door_verdict verdict = door->hosts ? door_check(door, request) : check_names(request);
    if (verdict.status != 0)
        return verdict;
    if (strcmp(request->method, "POST") != 0)
        return (struct door_verdict){ 405, "bad_method", "this path takes POST alone" };
    if (!is_json(http_request_header(request, "content-type")))
        return (struct door_verdict){ 415, "bad_type",
                                      "a body needs the header Content-Type: application/json" };
    return (struct door_verdict){ 0 };
}
