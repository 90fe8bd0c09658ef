/* await.h: waits for a store that another process has open (store_open returned -EBUSY).
 *
 * Life:  store_await → `free` is called once, from the loop → store_open with the handle as
 *        `awaited`. store_await_cancel: any time before that, or instead of store_open
 * File locks and PostgreSQL locks are polled a few times a second: the kernel does not notify when
 * one is free, and a waiting statement keeps a server from vacuuming (postgres.c). */
#pragma once

#include "base/error.h"

#define STORE_WHO_MAX 256u

struct loop;
struct store_await;

/* r = 0: this process has the lock now; <0: waiting is currently impossible (the server is
 * unreachable). */
typedef void (*store_is_free)(void *ctx, int r, const struct error *err);

/* -ENOTSUP: this kind cannot be waited for. Does not block. */
int store_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                struct store_await **ret_await, struct error *err);
struct store_await *store_await_cancel(struct store_await *await); /* accepts NULL, returns NULL */

/* The holder, at most a second old while the wait gets answers. -EAGAIN: not known yet. Does not
 * block. */
int store_await_holder(struct store_await *await, char ret_who[STORE_WHO_MAX]);

/* The holder: `who` of its options; "": none, or unknown. -ENOTSUP: this kind does not record it.
 * Changes nothing; blocks up to 2 s, so use it only at startup and in tools. */
int store_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
