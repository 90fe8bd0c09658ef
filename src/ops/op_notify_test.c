/* op_notify_test.c: do notifications arrive? A sample through every way, and what each said. */
#include <errno.h>

#include "engine/notifier.h"
#include "ops/op_internal.h"

static void take(void *ctx, const char *json) {
    struct op_call *call = ctx;
    if (json)
        strbuf_printf(&call->answer, "{\"ways\":%s}", json);
    op_wake(call, json ? 0 : -ESHUTDOWN, NULL);
}

static int run(struct op_call *call) {
    int waits = op_wait(call, op_done);
    int r = engine_test_notify(call->engine, take, call, &call->err);
    return r < 0 ? r : waits;
}

/* It changes nothing here, so it takes no key: who asks twice is told twice. */
/* clang-format off */
static const struct shape way_shape = { "Way", "a way of notification", .members = SHAPE_ROWS(
    { "way", T_TEXT, "its setting", "notify.webhook" },
    { "ok", T_BOOL, "the sample went through" },
    { "text", T_TEXT, "what came of it", "answered 204 in 12 ms" }) };
/* clang-format on */

const struct op op_notify_test = {
    OP("notify.test", "POST", "/v1/notify/test",
       "send a sample through every configured way of notification"),
    .text = "Answered when all of them have ended; that may take as long as their time-outs. One "
            "at a time: another one meanwhile is refused.",
    .answers = ANSWERS({ "ways", T_OBJECT | T_LIST, "those that are configured", &way_shape }),
    .right = OP_ADMIN,
    .run = run,
};
