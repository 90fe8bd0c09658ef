/* notifier.h: who tells people of what happens, as far as others may ask it: does that work?
 *
 * Given to the engine by whoever puts the daemon together; the operations find it there. */
#pragma once

#include "engine/engine.h"

/* `json`: [{"way":"notify.webhook","ok":true,"text":"answered 204 in 12 ms"}], one for each way that is
 * configured; it lives as long as the call. NULL: the daemon ends, nobody knows. */
typedef void (*engine_notify_tested)(void *ctx, const char *json);
/* Sends a sample through every way. `tested` is called once, perhaps from inside; not after an error. */
typedef int (*engine_notify_test)(void *notifier, engine_notify_tested tested, void *ctx,
                                  struct error *err);

void engine_set_notifier(struct engine *engine, engine_notify_test test, void *notifier);
/* -ENOTSUP: there is none. -EBUSY: a test is on its way. */
int engine_test_notify(struct engine *engine, engine_notify_tested tested, void *ctx,
                       struct error *err);
