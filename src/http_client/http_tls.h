/* http_tls.h: one encrypted connection to a server.
 *
 * The certificate of the server must be trusted and match the requested host; this cannot be
 * disabled. OpenSSL is loaded with the first connection. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct http_tls;

struct http_tls_peer {
    const char *address; /* for messages */
    const char *host;    /* a name, or an address without brackets */
    const char *ca;      /* file of trusted certificates; NULL: the system's */
    const char *setting; /* setting that names the file, for messages */
};

/* The descriptor is non-blocking and connected; the caller keeps it. */
int http_tls_new(int fd, const struct http_tls_peer *peer, struct http_tls **ret_tls,
                 struct error *err);
/* 1: done; 0: wait for http_tls_waits_for; -EACCES: not trusted; -EPROTO. */
int http_tls_handshake(struct http_tls *tls, const struct http_tls_peer *peer, struct error *err);
struct http_tls *http_tls_free(struct http_tls *tls); /* accepts NULL, returns NULL */

/* As recv and send on a non-blocking socket. */
ssize_t http_tls_read(struct http_tls *tls, void *bytes, size_t size);
ssize_t http_tls_write(struct http_tls *tls, const void *bytes, size_t size);
/* After EAGAIN: POLLIN or POLLOUT. */
short http_tls_waits_for(const struct http_tls *tls);
