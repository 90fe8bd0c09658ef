/* http_tls.h: one connection to a server, encrypted.
 *
 * The certificate of the server must be trusted and be that of the host that was asked for; there
 * is no switch that turns this off. OpenSSL is loaded with the first connection. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct http_tls;

struct http_tls_peer {
    const char *address; /* for messages */
    const char *host;    /* a name, or an address without brackets */
    const char *ca;      /* file of certificates that are trusted; NULL: the system's */
    const char *setting; /* that names such a file, for messages */
};

/* The descriptor does not block, is connected, and stays the caller's. */
int http_tls_new(int fd, const struct http_tls_peer *peer, struct http_tls **ret_tls,
                 struct error *err);
/* 1: done; 0: it waits for http_tls_waits_for; -EACCES: not trusted; -EPROTO. */
int http_tls_shake_hands(struct http_tls *tls, const struct http_tls_peer *peer, struct error *err);
struct http_tls *http_tls_free(struct http_tls *tls); /* accepts NULL, returns NULL */

/* As recv and send of a socket that does not block. */
ssize_t http_tls_read(struct http_tls *tls, void *bytes, size_t size);
ssize_t http_tls_write(struct http_tls *tls, const void *bytes, size_t size);
/* After EAGAIN: POLLIN or POLLOUT. */
short http_tls_waits_for(const struct http_tls *tls);
