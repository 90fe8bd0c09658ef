/* tls.h: the bytes of a connection, encrypted. Private to api/. OpenSSL behind six functions.
 *
 * Life:  tls_server_new → tls_new for each connection → tls_free → tls_server_free
 * TLS 1.2 and 1.3, nothing older; no renegotiation, no compression, no session that is taken up
 * again. Never waits: reading carries the handshake on, too, as far as it goes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct tls;
struct tls_server;

/* PEM files; that of the certificate has its chain, too. `key` "": in the same file. Refuses files
 * that cannot be read or do not match, and a key that others can read. */
int tls_server_new(const char *certificate, const char *key, struct tls_server **ret_server,
                   struct error *err);
struct tls_server *tls_server_free(struct tls_server *server); /* accepts NULL, returns NULL */

/* The descriptor stays the caller's. */
struct tls *tls_new(struct tls_server *server, int fd);
struct tls *tls_free(struct tls *tls); /* says good-bye if that can be said at once; accepts NULL */

/* As recv and send of a non-blocking socket: -1 with EAGAIN, or the connection is broken. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t size);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t size);
bool tls_is_up(const struct tls *tls);       /* the handshake is over */
bool tls_wants_write(const struct tls *tls); /* it goes on when the socket can be written to */
