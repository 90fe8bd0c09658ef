/* owner_socket.h: may the process at the other end of the owner's socket ask? Private to api/.
 *
 * Asked when it connects, and again at its next request when what is known of processes has changed since
 * (server_options.identities). Connections over TCP and at the socket of the runs are known by their tokens. */
#pragma once

#include <stdbool.h>

struct connection;
struct server;

/* What a run is told here. */
#define OWNERS_DOOR "this is the owner's socket: a run asks at SLUICE_SOCKET, with its SLUICE_TOKEN"

/* Of a socket that is connected. NULL: it may; else the message that it is refused with. */
const char *owner_socket_refusal(const struct server *server, int fd);
/* It was just let in, here or elsewhere. */
void owner_socket_note(struct connection *connection);
/* At the head of a request. false: it was refused, and the connection ends. */
bool owner_socket_check(struct connection *connection);
/* Ends all connections of this socket. */
void owner_socket_close(struct server *server);
