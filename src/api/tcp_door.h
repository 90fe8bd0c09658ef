/* tcp_door.h: the door by TCP: by which names it is known, and who guesses tokens there. Private to api/.
 *
 * Anybody on the machine, any web page that somebody looks at, and with TLS anybody on the network can knock at it. So
 * every request of every method passes door.h with fixed lists of hosts and origins, and then shows a token; what needs
 * none says nothing of the queue. */
#pragma once

#include <stdbool.h>

#include "api/door.h"
#include "api/tls.h"
#include "base/time_ms.h"
#include "os/tcp.h"

#define TCP_DOOR_FAILURES                                                                          \
    10u /* of a peer in TCP_DOOR_WINDOW; from then on each refusal comes late */
#define TCP_DOOR_WINDOW MINUTES(1)
#define TCP_DOOR_DELAY  SECONDS(1)

struct tcp_door;

/* `hosts`: more names, ends with NULL; or NULL. `tls` is taken; NULL: none. */
struct tcp_door *tcp_door_new(const struct tcp_address *address, const char *const *hosts,
                              struct tls_server *tls);
struct tcp_door *tcp_door_free(struct tcp_door *door); /* accepts NULL, returns NULL */

const struct door *tcp_door_door(const struct tcp_door *door);
struct tls_server *tcp_door_tls(const struct tcp_door *door); /* NULL: none */
/* "https://127.0.0.1:7878" */
const char *tcp_door_url(const struct tcp_door *door);

/* Somebody at this address has shown a wrong token. True: he has done so too often, and waits for his answer. */
bool tcp_door_failed(struct tcp_door *door, const struct tcp_address *peer, time_ms now);
