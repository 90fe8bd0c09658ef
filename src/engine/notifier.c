/* notifier.c: see notifier.h. */
#include "engine/notifier.h"

#include <errno.h>

#include "engine/engine_internal.h"

void engine_set_notifier(struct engine *e, engine_notify_test test, void *notifier) {
    e->notify_test = test;
    e->notifier = notifier;
}

int engine_test_notify(struct engine *e, engine_notify_tested tested, void *ctx,
                       struct error *err) {
    if (!e->notify_test)
        return error_set(err, -ENOTSUP, "this daemon tells nobody of anything");
    return e->notify_test(e->notifier, tested, ctx, err);
}
