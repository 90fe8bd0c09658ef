/* stream_share.h: who may have one more endless stream? Private to api/.
 *
 * Streams of one kind are counted together; there are streams_max of them. One token, of a client or of a run, has an
 * eighth at most, one address over TCP half, all runs together half. An eighth is left for the owner's socket, whatever
 * others do. */
#pragma once

#include <stdbool.h>

#include "ops/op.h"

struct connection;

enum stream_kind { STREAM_OF_NOTHING, STREAM_OF_EVENTS, STREAM_OF_MCP };

struct stream_share {
    enum stream_kind kind;
    char token[ACCESS_TOKEN_SIZE]; /* whose it is, by an id or by a run's token; "": the owner's */
};

/* NULL: it has one now, until stream_share_give. Else why not, in one sentence. */
const char *stream_share_take(struct connection *connection, enum stream_kind kind,
                              const struct op_run *run);
void stream_share_give(struct connection *connection); /* it has none: nothing happens */
