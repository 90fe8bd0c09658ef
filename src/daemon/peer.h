/* peer.h: who is at the other end of the owner's socket? For server_options.identify and .identities. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "api/server.h"

struct engine;

/* `engine` may be NULL: a standby knows no runs, and refuses their processes all the same. */
enum server_peer peer_identify(struct engine *engine, pid_t pid);
uint64_t peer_identities(struct engine *engine);
