/* client_tls.h: one connection to a daemon, encrypted. Private to cli/.
 *
 * The peer's certificate must be trusted and be that of the host that was asked for; there is no switch that
 * turns this off. OpenSSL is looked for only when an address of https: is asked. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/time_ms.h"

struct client_tls;

struct client_tls_peer {
    const char *address; /* for sentences */
    const char *host;    /* a name, or an address without brackets */
    const char *ca;      /* file of certificates that are trusted; NULL: the system's */
};

/* The descriptor does not block, is connected, and stays the caller's. Until the handshake is over. */
int client_tls_new(int fd, const struct client_tls_peer *peer, time_ms deadline,
                   struct client_tls **ret_tls, struct error *err);
struct client_tls *client_tls_free(struct client_tls *tls); /* accepts NULL, returns NULL */

/* As recv and send of a socket that does not block. */
ssize_t client_tls_read(struct client_tls *tls, void *bytes, size_t size);
ssize_t client_tls_write(struct client_tls *tls, const void *bytes, size_t size);
/* After EAGAIN: what it waits for, POLLIN or POLLOUT. */
short client_tls_waits_for(const struct client_tls *tls);
