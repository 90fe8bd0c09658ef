/* door.c: what is refused whatever it asks for.
 *
 * Names are compared whole and with a fixed list: servers of this kind were broken into by a prefix
 * comparison, by comparing Host with Origin (both are the attacker's), and by checking POST but not
 * DELETE. So: no prefix, no comparison of two values of the request, no method left out. */
#include "api/door.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 255

static bool is_simple_host(const char *host) {
    size_t length = 0;
    for (; host[length]; length++)
        if (!isalnum((unsigned char)host[length]) && !strchr("-._:[]", host[length]))
            return false;
    return length <= HOST_MAX;
}

static bool is_listed(const char *const *list, const char *value) {
    for (; list && *list; list++)
        if (strcasecmp(*list, value) == 0)
            return true;
    return false;
}

static bool is_known_host(const struct door *door, const char *host) {
    if (!door->hosts)
        return is_simple_host(host);
    return is_listed(door->hosts, host);
}

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t length = sizeof(json) - 1;
    if (!type || strncasecmp(type, json, length) != 0)
        return false;
    type += length + strspn(type + length, " \t");
    return *type == '\0' || *type == ';';
}

static bool has_known_method(const struct http_request *request) {
    return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0
           || strcmp(request->method, "POST") == 0;
}

static bool has_header(const struct http_request *request, const char *name, const char *value) {
    const char *header = http_request_header(request, name);
    return header && strcasecmp(header, value) == 0;
}

/* A person goes there, in a window of its own: a page of another site sees nothing of the answer, and cannot send a
 * token along. */
static bool is_visit(const struct door *door, const struct http_request *request) {
    return door->entrance && strcmp(request->method, "GET") == 0
           && strcmp(request->path, door->entrance) == 0 && !request->query
           && has_header(request, "sec-fetch-mode", "navigate")
           && has_header(request, "sec-fetch-dest", "document");
}

struct door_verdict door_check(const struct door *door, const struct http_request *request) {
    const char *host = http_request_header(request, "host");
    const char *site = http_request_header(request, "sec-fetch-site");
    bool is_post = strcmp(request->method, "POST") == 0;
    if (!is_known_host(door, host ? host : ""))
        return (struct door_verdict){ 403, "refused", "this Host is not served here" };
    const char *origin = http_request_header(request, "origin");
    if (origin && !is_listed(door->origins, origin))
        return (struct door_verdict){ 403, "refused", "requests of web pages are not served here" };
    if (site && strcasecmp(site, "none") != 0 && strcasecmp(site, "same-origin") != 0
        && !is_visit(door, request))
        return (struct door_verdict){ 403, "refused",
                                      "requests of other web sites are not served" };
    if (!has_known_method(request))
        return (struct door_verdict){ 405, "bad_method", "only GET, HEAD and POST are served" };
    if (request->has_body && !is_post)
        return (struct door_verdict){ 400, "bad_request", "only a POST has a body" };
    if (request->has_body && !is_json(http_request_header(request, "content-type")))
        return (struct door_verdict){ 415, "bad_type",
                                      "a body needs the header Content-Type: application/json" };
    return (struct door_verdict){ 0 };
}
