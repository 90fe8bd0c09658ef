/* await.h: a store that somebody else has (store_open said -EBUSY): who has it, and when is it free?
 *
 * Life:  store_await → `free` is called, once, from the loop → store_open with the handle as `awaited`
 *        store_await_cancel any time before that, and instead of store_open
 * Both the lock of a file and that of PostgreSQL are tried a few times a second: the kernel tells nobody that
 * one is free, and who waits inside a server keeps it from cleaning up (postgres.c). */
#pragma once

#include "base/error.h"

#define STORE_WHO_MAX 256u

struct loop;
struct store_await;

/* r = 0: it is ours now, and nobody else's; <0: it cannot be waited for, now (the server is away). */
typedef void (*store_is_free)(void *ctx, int r, const struct error *err);

/* -ENOTSUP: this kind cannot be waited for. Does not wait for anything itself. */
int store_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                struct store_await **ret_await, struct error *err);
struct store_await *store_await_cancel(struct store_await *await); /* accepts NULL, returns NULL */

/* Who has it, as the wait has heard: a second ago at the most, while it hears anything. -EAGAIN: nothing yet.
 * Does not wait for anything. */
int store_await_holder(struct store_await *await, char ret_who[STORE_WHO_MAX]);

/* Who has it open: what was told as `who` in the options; "": nobody, or he did not say. -ENOTSUP: this
 * kind does not know. Changes nothing; waits for 2 s at the most, so it is for a start, and for tools. */
int store_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
