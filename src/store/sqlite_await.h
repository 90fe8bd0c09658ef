/* sqlite_await.h: waiting for a file that another process has open. Private to store/. See await.h. */
#pragma once

#include "store/await.h"
#include "store/place.h"

int sqlite_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                 struct store_await **ret_await, struct error *err);
void sqlite_await_cancel(struct store_await *await);
int sqlite_await_holder(struct store_await *await, char ret_who[STORE_WHO_MAX]);
/* Ends it; the place is the caller's, with its lock if that was free. 0. */
int sqlite_await_take(struct store_await *await, struct place *ret_place);
int sqlite_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
