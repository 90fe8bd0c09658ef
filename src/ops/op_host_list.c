/* op_host_list.c: which hosts have runs, and which of them can be seen? */
#include "engine/away.h"
#include "ops/print.h"

/* clang-format off */
#define HOST(X) \
    X(print_text, "name", T_TEXT, "its name", "box1", host.name) \
    X(print_bool, "active", T_BOOL, "that of this daemon", NULL, host.is_ours) \
    X(print_bool, "reachable", T_BOOL, "its daemon is the active one", NULL, host.is_ours) \
    X(print_int, "runs", T_INT, "live runs", NULL, host.runs) \
    X(print_time, "unreachable_since", T_TIME | T_NULL, "when another daemon took over", NULL, host.since) \
    X(print_time, "forgotten_at", T_TIME | T_NULL, "when it was forgotten", NULL, host.forgotten_at) \
    X(print_text, "forgotten_by", T_TEXT | T_NULL, "by whom", "ann", host.forgotten_by)
static const struct shape host_shape = { "Host", "a host that has runs", .members = SHAPE_ALL(HOST) };
/* clang-format on */

static void print_at(struct json_writer *w, struct op_call *call, size_t index) {
    struct engine_host_state host = engine_host_at(call->engine, index);
    json_write_object_begin(w);
    HOST(SHAPE_PRINT)
    json_write_object_end(w);
}

static int run(struct op_call *call) {
    return names_list(call, engine_host_count(call->engine), print_at);
}

const struct op op_host_list = {
    OP("host.list", "GET", "/v1/hosts", "list the hosts that have runs"),
    .text = "That of this daemon first. The others are those whose daemon is not the active one: "
            "while runs live there, they keep their slots and are not started a second time. One "
            "that was forgotten is shown until its own daemon is active again.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&host_shape)),
    .right = OP_READ,
    .run = run,
};
