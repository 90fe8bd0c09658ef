/* loopback.h: accepts JSON that local programs POST over TCP, and nothing else.
 *
 * Some clients cannot use a Unix socket. Every local user and every open web page can connect
 * to a port, so every request gets 404 before its body is read, unless its path is known:
 * a path contains a secret. Only then are other errors reported: 400, 413, 415, 429.
 *
 * Life:   loopback_new → the loop runs → loopback_free before the loop
 * Bounds: connections, the size of a body, and the time for a request; a client that does not read
 *         its answer is dropped. Without connections there is no timer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/time_ms.h"

struct loop;
struct loopback;

struct loopback_options {
    const char *address; /* "127.0.0.1:4318" or "[::1]:4318"; port 0: any free one */
    /* 0: the default in the comment. */
    unsigned connections_max; /* 128; the one idle longest is closed for another */
    size_t body_max;          /* 1 MiB */
    time_ms request_timeout;  /* 10 s from the first byte of a request to its last */
    time_ms idle_timeout;     /* 120 s between requests */
    /* Is this path served? Called before a body is read. */
    bool (*knows)(void *ctx, const char *path);
    /* A complete body for such a path. 0: answered with 200 and {}; -ENOENT: 404; -EAGAIN: 429;
     * else 400 with the message. */
    int (*take)(void *ctx, const char *path, const char *body, size_t size, struct error *err);
    void *ctx;
};

/* Refuses addresses other than loopback (-EINVAL), and what the kernel refuses. */
int loopback_new(struct loop *loop, const struct loopback_options *options,
                 struct loopback **ret_loopback, struct error *err);
struct loopback *loopback_free(struct loopback *loopback); /* accepts NULL, returns NULL */

/* With its port: "127.0.0.1:40123". */
const char *loopback_address(const struct loopback *loopback);
