/* standby.h: waits while another daemon has the store.
 *
 * Waits outside the loop, reports the active daemon to clients (api/server.h: server_standby), and
 * calls `free` when this daemon has the store. An unreachable store is retried, with backoff up to
 * two seconds.
 *
 * Life: standby_new → `free` → standby_take → store_open → standby_free, or standby_again on
 * failure */
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

/* Identity of this daemon, "host/pid address address", for store_options.who. */
void standby_print_who(const struct home *home, const struct config *config, struct strbuf *out);

struct standby_options {
    struct loop *loop;
    const struct home *home;
    const char *url;         /* of the store */
    time_ms pause;           /* before the first attempt */
    bool was_active;         /* it has lost the store; else it waits for the first time */
    void (*free)(void *ctx); /* from the loop */
    void *ctx;
};

/* `config` is borrowed. -ENOTSUP: this store cannot be waited for. */
int standby_new(const struct standby_options *options, const struct config *config,
                struct standby **ret_standby, struct error *err);
struct standby *standby_free(struct standby *standby); /* accepts NULL, returns NULL */

/* The `awaited` for store_open; once. It belongs to *ret_url, even if the configuration has
 * changed. */
struct store_await *standby_take(struct standby *standby, const char **ret_url);
/* The open failed. */
void standby_again(struct standby *standby, const struct error *why);
/* The configuration has changed. */
void standby_set_config(struct standby *standby, const struct config *config);
void standby_describe(struct standby *standby, struct server_standby *ret);

/* Does this result of store_open mean that another daemon has the store, or that it is unreachable
 * now? */
bool standby_can_wait(int result);
/* A standby also keeps waiting while the store refuses writes, or those of this daemon: that may be
 * temporary (a server that is about to become the primary, a privilege that is being granted), and
 * another daemon may have the store meanwhile. */
bool standby_can_go_on(int result);
