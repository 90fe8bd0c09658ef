/* guard.c: refuses requests regardless of the operation.
 *
 * Names are compared completely and with a fixed list: similar servers were compromised by a prefix
 * comparison, by comparing Host with Origin (the attacker chooses both), and by checking POST but
 * not DELETE. So: no prefixes, no comparison of two values from the request, no exempt methods. */
#include "api/guard.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

#define HOST_MAX 255

static bool is_listed(const char *const *list, const char *value) {
    for (; list && *list; list++)
        if (strcasecmp(*list, value) == 0)
            return true;
    return false;
}

static bool is_known_host(const struct guard *guard, const char *host) {
    if (!guard->hosts) {
        size_t length = 0;
        for (; host[length]; length++)
            if (!isalnum((unsigned char)host[length]) && !strchr("-._:[]", host[length]))
                return false;
        return length <= HOST_MAX;
    }
    return is_listed(guard->hosts, host);
}

/* Is it this media type, with or without parameters? */
static bool is_type(const char *type, const char *wanted) {
    size_t length = strlen(wanted);
    if (!type || strncasecmp(type, wanted, length) != 0)
        return false;
    type += length + strspn(type + length, " \t");
    return *type == '\0' || *type == ';';
}

static bool has_header(const struct http_request *request, const char *name, const char *value) {
    const char *header = http_request_header(request, name);
    return header && strcasecmp(header, value) == 0;
}

static bool is_link(const struct guard *guard, const struct http_request *request) {
    return guard->link && strncmp(request->path, guard->link, strlen(guard->link)) == 0;
}

/* A page elsewhere has a link to here, and a person follows it. */
static bool is_followed(const struct guard *guard, const struct http_request *request) {
    bool is_entrance = guard->entrance && strcmp(request->path, guard->entrance) == 0;
    return (is_entrance || is_link(guard, request)) && strcmp(request->method, "GET") == 0
           && !request->query && has_header(request, "sec-fetch-mode", "navigate")
           && has_header(request, "sec-fetch-dest", "document");
}

struct guard_verdict guard_check(const struct guard *guard, const struct http_request *request) {
    const char *host = http_request_header(request, "host");
    const char *site = http_request_header(request, "sec-fetch-site");
    bool is_post = strcmp(request->method, "POST") == 0;
    if (!is_known_host(guard, host ? host : ""))
        return (struct guard_verdict){ 403, "refused", "this Host is not served here" };
    const char *origin = http_request_header(request, "origin");
    if (origin && !is_listed(guard->origins, origin))
        return (struct guard_verdict){ 403, "refused",
                                       "requests of web pages are not served here" };
    if (site && strcasecmp(site, "none") != 0 && strcasecmp(site, "same-origin") != 0
        && !is_followed(guard, request))
        return (struct guard_verdict){ 403, "refused",
                                       "requests of other web sites are not served" };
    if (!(strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0
          || strcmp(request->method, "POST") == 0))
        return (struct guard_verdict){ 405, "bad_method", "only GET, HEAD and POST are served" };
    if (request->has_body && !is_post)
        return (struct guard_verdict){ 400, "bad_request", "only a POST has a body" };
    const char *type = http_request_header(request, "content-type");
    if (request->has_body && !is_type(type, "application/json")
        && !(is_link(guard, request) && is_type(type, GUARD_FORM_TYPE)))
        return (struct guard_verdict){ 415, "bad_type",
                                       "a body needs the header Content-Type: application/json" };
    return (struct guard_verdict){ 0 };
}

bool guard_is_form(const struct http_request *request) {
    return is_type(http_request_header(request, "content-type"), GUARD_FORM_TYPE);
}

/* A web page anywhere can make a browser send requests to a name that resolves to this machine (DNS
 * rebinding). Such a request has that name as its Host, and the page's address as its Origin. So
 * both must be one of a few exact names; only the port is free, where no list fixes it. */

static bool is_loopback(const char *host) {
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        size_t digits = host[length] == ':' ? strspn(host + length + 1, "0123456789") : 0;
        if (!host[length] || (digits > 0 && digits <= 5 && !host[length + 1 + digits]))
            return true;
    }
    return false;
}

/* For a Unix socket, which has no name: the names of this machine, at any port. */
static struct guard_verdict check_names(const struct http_request *request) {
    const char *host = http_request_header(request, "host");
    const char *origin = http_request_header(request, "origin");
    const char *site = http_request_header(request, "sec-fetch-site");
    /* "sluice" is the Host of the command line: a Unix socket has no name. */
    if (!host || !(is_loopback(host) || strcmp(host, "sluice") == 0))
        return (struct guard_verdict){ 403, "refused", "this Host is not served here" };
    if (origin && !(strncmp(origin, "http://", 7) == 0 && is_loopback(origin + 7)))
        return (struct guard_verdict){ 403, "refused", "this Origin is not served here" };
    if (site && strcasecmp(site, "cross-site") == 0)
        return (struct guard_verdict){ 403, "refused",
                                       "requests of other web sites are not served" };
    return (struct guard_verdict){ 0 };
}

struct guard_verdict guard_check_mcp(const struct guard *guard,
                                     const struct http_request *request) {
    struct guard_verdict verdict =
        guard->hosts ? guard_check(guard, request) : check_names(request);
    if (verdict.status != 0)
        return verdict;
    if (strcmp(request->method, "POST") != 0)
        return (struct guard_verdict){ 405, "bad_method", "this path takes POST alone" };
    if (!is_type(http_request_header(request, "content-type"), "application/json"))
        return (struct guard_verdict){ 415, "bad_type",
                                       "a body needs the header Content-Type: application/json" };
    return (struct guard_verdict){ 0 };
}
