/* peer.c: see peer.h. */
#include "daemon/peer.h"

#include "engine/engine.h"
#include "executor/executor.h"

enum server_peer peer_identify(struct engine *engine, pid_t pid) {
    switch (executor_kin(engine ? engine_executor(engine) : NULL, pid)) {
    case KIN_NONE:
        return SERVER_PEER_OWNER;
    case KIN_RUN:
        return SERVER_PEER_RUN;
    case KIN_UNKNOWN:
        break;
    }
    return SERVER_PEER_UNKNOWN;
}

/* A standby that takes over has another value at once. */
uint64_t peer_identities(struct engine *engine) {
    return engine ? 1 + executor_kin_epoch(engine_executor(engine)) : 0;
}
