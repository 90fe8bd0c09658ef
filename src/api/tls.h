/* tls.h: TLS for connections; wraps OpenSSL. Private to api/.
 *
 * Life:  tls_server_new → tls_new for each connection → tls_free → tls_server_free
 * TLS 1.2 and 1.3 only; no renegotiation, compression or session resumption. Never blocks: reading
 * also advances the handshake. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct tls;
struct tls_server;

/* PEM files; the certificate file includes its chain. `key` "": in the same file. Refuses files
 * that cannot be read or do not match, and a key that others can read. */
int tls_server_new(const char *certificate, const char *key, struct tls_server **ret_server,
                   struct error *err);
struct tls_server *tls_server_free(struct tls_server *server); /* accepts NULL, returns NULL */

/* The caller keeps ownership of the descriptor. */
struct tls *tls_new(struct tls_server *server, int fd);
struct tls *tls_free(struct tls *tls); /* sends close_notify if it does not block; accepts NULL */

/* Like recv and send of a non-blocking socket: -1 with EAGAIN, or the connection is broken. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t size);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t size);
bool tls_is_up(const struct tls *tls);       /* the handshake is complete */
bool tls_wants_write(const struct tls *tls); /* continues when the socket is writable */
