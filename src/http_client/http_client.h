/* http_client.h: one POST to a server, over TCP, TLS or a Unix socket.
 *
 * Blocks: call it from a worker, never from the loop. One deadline covers everything except the
 * name lookup, which only the C library controls; to end it earlier, make `cancel` readable. One
 * connection per request, no redirects.
 *
 * Answers are parsed as strictly as requests (http_wire.h). Only a complete head is an answer; a
 * connection that closes before is an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/time_ms.h"

#define HTTP_CLIENT_URL_MAX    2048u
#define HTTP_CLIENT_ANSWER_MAX 160u /* bytes of a body that are kept, for the log */
#define HTTP_RETRY_AFTER_MAX   HOURS(1)

/* http://HOST[:PORT][/PATH]   https://…   unix:/SOCKET[:/PATH] */
struct http_url {
    bool tls;
    char *socket;    /* NULL: host and port */
    char *host;      /* without the brackets of an IPv6 address */
    char *port;      /* digits */
    char *authority; /* for the header Host, as it was written */
    char *path;      /* with its query; begins with / */
};

/* Refused: user names and passwords, fragments, blanks, control characters. */
int http_url_parse(const char *text, struct http_url *ret, struct error *err);
void http_url_finish(struct http_url *url); /* safe on a zeroed one; usable with _cleanup_ */

struct http_post {
    /* "Name: value"; NULL-terminated. Host, Content-Length and Connection are added. */
    const char *const *headers;
    const char *body;
    size_t size;
    time_ms timeout;        /* duration */
    int cancel;             /* -ECANCELED when it becomes readable; -1: none */
    const char *ca;         /* file of trusted certificates for https; NULL: the system's */
    const char *ca_setting; /* setting that names the file, for messages */
    const char *proxy;      /* "http://[USER:PASSWORD@]HOST:PORT", for https only; NULL: none */
};

struct http_answer {
    int status;                            /* 200 to 599 */
    time_ms retry_after;                   /* duration requested by the server; 0: none */
    char text[HTTP_CLIENT_ANSWER_MAX + 1]; /* start of its body; printable, on one line */
};

/* 0: there was an answer, with any status. -ETIMEDOUT, -ECANCELED, -EPROTO (not HTTP), -ECONNRESET
 * (closed without an answer), -EACCES (untrusted certificate) or the error of the connection. */
int http_client_post(const struct http_url *url, const struct http_post *post,
                     struct http_answer *ret, struct error *err);

/* The proxy for this URL from the daemon's environment: https_proxy, else all_proxy, unless
 * no_proxy matches the host; each in lower case first, then in upper case. Borrowed; NULL: none. */
const char *http_proxy_find(const struct http_url *url,
                            const char *(*variable)(const void *ctx, const char *name),
                            const void *ctx);

/* Parses Retry-After, seconds or a date, as a duration of at most HTTP_RETRY_AFTER_MAX; 0: none, or
 * now. */
time_ms http_retry_after(const char *value, size_t size, time_ms now);
