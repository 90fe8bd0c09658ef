/* http_client.h: one POST to another program's server, over TCP, TLS or a Unix socket.
 *
 * Waits: call it from a worker, never from the loop. One deadline covers everything but the lookup
 * of the name, which the C library does in its own time; to end it earlier, make `cancel` readable.
 * One connection per request, no redirects.
 *
 * Answers are read as strictly as requests (http_wire.h). Only a complete head is an answer; a
 * connection that ends before is an error, whatever its first bytes looked like. */
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
    /* "Name: value"; ends with NULL. Host, Content-Length and Connection are added. */
    const char *const *headers;
    const char *body;
    size_t size;
    time_ms timeout;        /* span */
    int cancel;             /* -ECANCELED when it becomes readable; -1: none */
    const char *ca;         /* file of certificates that https trusts; NULL: the system's */
    const char *ca_setting; /* that names such a file, for messages */
    const char *proxy;      /* "http://[USER:PASSWORD@]HOST:PORT", for https only; NULL: none */
};

struct http_answer {
    int status;                            /* 200 to 599 */
    time_ms retry_after;                   /* span that the server asks for; 0: it does not */
    char text[HTTP_CLIENT_ANSWER_MAX + 1]; /* how its body begins; printable, on one line */
};

/* 0: there was an answer, whatever it says. -ETIMEDOUT, -ECANCELED, -EPROTO (not HTTP), -ECONNRESET
 * (ended without an answer), -EACCES (its certificate is not trusted) or what the connection failed
 * with. */
int http_client_post(const struct http_url *url, const struct http_post *post,
                     struct http_answer *ret, struct error *err);

/* The proxy for this URL, as the environment of the daemon has it: https_proxy, else all_proxy,
 * unless no_proxy names the host; each in small letters first, then in capitals. Borrowed; NULL:
 * none. */
const char *http_proxy_find(const struct http_url *url,
                            const char *(*variable)(const void *ctx, const char *name),
                            const void *ctx);

/* What Retry-After says, seconds or a date, as a span of at most HTTP_RETRY_AFTER_MAX; 0: nothing,
 * or now. */
time_ms http_retry_after(const char *value, size_t size, time_ms now);
