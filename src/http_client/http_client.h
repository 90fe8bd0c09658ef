/* http_client.h: one POST to somebody else's server, over TCP or a Unix socket.
 *
 * Waits: call it from a thread of its own, never from the loop. One deadline covers everything but the
 * look-up of the name, which the C library does in its own time; whoever wants to end earlier makes
 * `cancel` readable. One connection per request, no TLS (docs/decisions), no redirects.
 *
 * Answers are read as strictly as requests: it may be anybody who listens there. Only a whole head is an
 * answer; a connection that ends before is an error, whatever its first bytes looked like. */
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

/* Refused with a sentence: user names and passwords, fragments, blanks, control characters. */
int http_url_parse(const char *text, struct http_url *ret, struct error *err);
void http_url_finish(struct http_url *url); /* safe on a zeroed one; usable with _cleanup_ */

struct http_post {
    const char *const
        *headers; /* "Name: value"; ends with NULL. Host, Content-Length and Connection
                                   come by themselves */
    const char *body;
    size_t size;
    time_ms timeout; /* span */
    int cancel;      /* -ECANCELED when it becomes readable; -1: nobody cancels */
};

struct http_answer {
    int status;                            /* 200 to 599 */
    time_ms retry_after;                   /* span that the server asks for; 0: it does not */
    char text[HTTP_CLIENT_ANSWER_MAX + 1]; /* how its body begins; printable, on one line */
};

/* 0: there was an answer, whatever it says. -ETIMEDOUT, -ECANCELED, -EPROTO (no HTTP), -ECONNRESET
 * (ended without an answer) or what the connection failed with. Not for tls: -ENOTSUP. */
int http_client_post(const struct http_url *url, const struct http_post *post,
                     struct http_answer *ret, struct error *err);

/* --- pure parts, for their tests --------------------------------------------------------------- */

/* The head of an answer at the beginning of `bytes`. 1: whole, and *ret_size is where the body begins;
 * 0: more must come; -EPROTO: it is none. */
int http_client_read_head(const char *bytes, size_t size, int *ret_status, size_t *ret_size);

/* What Retry-After says, seconds or a date, as a span of at most HTTP_RETRY_AFTER_MAX; 0: nothing, or now. */
time_ms http_retry_after(const char *value, size_t size, time_ms now);
/* The same for a whole head. */
time_ms http_head_retry_after(const char *head, size_t size, time_ms now);
