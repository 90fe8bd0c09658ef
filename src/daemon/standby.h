/* standby.h: the time in which another daemon has the store.
 *
 * Waits beside the loop, tells whoever asks who is active (api/server.h: server_standby), and calls `free` when the store
 * is ours. A store that cannot be reached is tried again, first soon, then every two seconds.
 *
 * Life: standby_new → `free` → standby_take → store_open → standby_free, or standby_again when that failed */
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

/* What store_open wants as `awaited`; once. It is of `standby_url`, whatever the configuration says by now. */
struct store_await *standby_take(struct standby *standby);
const char *standby_url(const struct standby *standby);
/* It could not be opened after all. */
void standby_again(struct standby *standby, const struct error *why);
/* Another configuration. */
void standby_set_config(struct standby *standby, const struct config *config);
void standby_describe(struct standby *standby, struct server_standby *ret);

/* Is this the result of store_open because somebody else has it, or because it cannot be reached now? */
bool standby_can_wait(int result);
/* Who stands by already goes on also when the store takes no writes, or not from us: that may pass (a server that is
 * about to become the primary, a right that is being given back), and another daemon may have it meanwhile. */
bool standby_can_go_on(int result);
