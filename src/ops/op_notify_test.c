/* op_notify_test.c: do notifications arrive? A sample through every way, and what each said. */
#include "ops/op_internal.h"

static int print(struct op_call *call) {
    strbuf_printf(&call->answer, "{\"ways\":%s}", op_posted(call));
    return 0;
}

static int run(struct op_call *call) {
    return op_wait_notify(call, print);
}

/* It changes nothing here, so it takes no key: who asks twice is told twice. */
const struct op op_notify_test = {
    .name = "notify.test",
    .method = "POST",
    .path = "/v1/notify/test",
    .summary = "send a sample through every configured way of notification",
    .text = "Answered when all of them have ended; that may take as long as their time-outs. A way "
            "that is not configured is not in the list. One at a time: another one meanwhile is "
            "refused.",
    .result = "{\"ways\":[{\"way\":\"notify.webhook\",\"ok\":true,\"text\":\"answered 204 in 12 "
              "ms\"}]}",
    .right = OP_ADMIN,
    .run = run,
};
