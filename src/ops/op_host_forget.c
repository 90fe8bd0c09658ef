/* op_host_forget.c: a person says that a host is gone for good.
 *
 * Nobody else can know it: a host that does not answer may be working all the same. So it is named, word
 * for word, and nothing else is asked. */
#include "engine/away.h"
#include "ops/print.h"

static int run(struct op_call *call) {
    const char *name = op_text(call, "name");
    uint32_t runs = 0;
    int r = engine_forget_host(call->engine, name, op_actor(call), &runs, &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    print_text(&w, "name", name);
    print_int(&w, "runs", runs);
    print_bool(&w, "already", r == 1);
    return op_end(&w);
}

const struct op op_host_forget = {
    OP("host.forget", "POST", "/v1/hosts/{name}/forget",
       "say that a host is gone for good: its runs are lost"),
    .text = "Their tasks go on as after any lost run (`lost`, `retry.lost`), and their slots are "
            "free. The host of this daemon is refused. If the host comes back all the same and its "
            "daemon is the active one, what still lives there of these runs is killed. The event "
            "is `host.forgotten`, with who did it.",
    .params = PARAMS(PARAM(TEXT, PATH, "name", .text = "the host, as `host.list` names it",
                           .required = true, .min = 1, .max = 253)),
    .answers =
        ANSWERS({ "name", T_TEXT, "the host", "box1" }, { "runs", T_INT, "how many runs it had" },
                { "already", T_BOOL, "it was said before, and there were none" }),
    .right = OP_ADMIN,
    .writes = true,
    .run = run,
};
