/* standby.h: the time in which another daemon has the store.
 *
 * Waits beside the loop, tells clients which daemon is active (api/server.h: server_standby), and
 * calls `free` when this daemon has the store. A store that cannot be reached is tried again, first
 * soon, then every two seconds.
 *
 * Life: standby_new → `free` → standby_take → store_open → standby_free, or standby_again when that
 * failed */
#pragma once

#include "api/server.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "os/home.h"

struct config;
struct loop;
struct standby;
struct store_await;

/* Who this daemon is: "host/pid address address", for store_options.who. */
void standby_print_who(const struct home *home, const struct config *config, struct strbuf *out);

struct standby_options {
    struct loop *loop;
    const struct home *home;
    const char *url; /* of the store */
    time_ms pause;   /* before the first try */
    bool was_active; /* it has lost the store; else it is about to see it for the first time */
    void (*free)(void *ctx); /* from the loop */
    void *ctx;
};

/* `config`: borrowed. Refused: a store that cannot be waited for (-ENOTSUP). */
int standby_new(const struct standby_options *options, const struct config *config,
                struct standby **ret_standby, struct error *err);
struct standby *standby_free(struct standby *standby); /* accepts NULL, returns NULL */

/* What store_open wants as `awaited`; once. It is of `standby_url`, whatever the configuration says
 * by now. */
struct store_await *standby_take(struct standby *standby);
const char *standby_url(const struct standby *standby);
/* The open failed after all. */
void standby_again(struct standby *standby, const struct error *why);
/* The configuration has changed. */
void standby_set_config(struct standby *standby, const struct config *config);
void standby_describe(struct standby *standby, struct server_standby *ret);

/* Does this result of store_open mean that another daemon has the store, or that it is unreachable
 * now? */
bool standby_can_wait(int result);
/* A standby also keeps waiting when the store takes no writes, or none from this daemon: that may
 * pass (a server that is about to become the primary, a right that is being granted), and another
 * daemon may have the store meanwhile. */
bool standby_can_go_on(int result);
