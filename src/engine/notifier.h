/* notifier.h: lets operations test the notifications. The daemon provides the notifier. */
#pragma once

#include "engine/engine.h"

/* `json`: [{"way":"notify.webhook","ok":true,"text":"answered 204 in 12 ms"}], one for each
 * configured way; valid during the call. NULL: unknown, the daemon is ending. */
typedef void (*engine_notify_tested)(void *ctx, const char *json);
/* Sends a sample through every way. `tested` is called once, perhaps from inside; not on error. */
typedef int (*engine_notify_test)(void *notifier, engine_notify_tested tested, void *ctx,
                                  struct error *err);

void engine_set_notifier(struct engine *engine, engine_notify_test test, void *notifier);
/* -ENOTSUP: no notifier. -EBUSY: a test is in progress. */
int engine_test_notify(struct engine *engine, engine_notify_tested tested, void *ctx,
                       struct error *err);
