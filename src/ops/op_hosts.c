/* op_hosts.c: the hosts that have runs.
 *
 * Only a person can know that a host is lost for good: one that does not respond may still be
 * working. */
#include "engine/hosts.h"
#include "ops/print.h"

/* clang-format off */
#define HOST(X) \
    X(json_put_string, "name", T_TEXT, "its name", "box1", host.name) \
    X(json_put_bool, "active", T_BOOL, "that of this daemon", NULL, host.is_ours) \
    X(json_put_bool, "reachable", T_BOOL, "its daemon is the active one", NULL, host.is_ours) \
    X(json_put_int, "runs", T_INT, "live runs", NULL, host.runs) \
    X(print_time, "unreachable_since", T_TIME | T_NULL, "when another daemon took over", NULL, host.since) \
    X(print_time, "forgotten_at", T_TIME | T_NULL, "when it was forgotten", NULL, host.forgotten_at) \
    X(json_put_string, "forgotten_by", T_TEXT | T_NULL, "the user who removed it", "ann", host.forgotten_by)
static const struct shape host_shape = { "Host", "a host that has runs", .members = SHAPE_ALL(HOST) };
/* clang-format on */

static void print_at(struct json_writer *w, struct op_call *call, size_t index) {
    struct engine_host_state host = engine_host_at(call->engine, index);
    SHAPE_OBJECT(HOST)
}

static int run_list(struct op_call *call) {
    return names_list(call, engine_host_count(call->engine), print_at);
}

const struct op op_host_list = {
    OP("host.list", "GET", "/v1/hosts", "list the hosts that have runs"),
    .text = "That of this daemon first. The others are those whose daemon is not the active one: "
            "while runs live there, they keep their slots and are not started a second time. One "
            "that was forgotten is shown until its own daemon is active again.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&host_shape)),
    OP_READS(READ, NONE, run_list),
};

static int run_forget(struct op_call *call) {
    const char *name = op_text(call, "name");
    uint32_t runs = 0;
    int r = engine_forget_host(call->engine, name, op_actor(call), &runs, &call->err);
    return r < 0 ? r
                 : op_answer(call, "s:s, s:I, s:b", "name", name, "runs", (int64_t)runs, "already",
                             r == 1);
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
    OP_WRITES(ADMIN, NONE, run_forget),
};
